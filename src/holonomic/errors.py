"""Exception classes, and the status codes that kernels return instead of raising."""

from __future__ import annotations

# What a kernel returns. 0 is success; the loop's own results come first, then what a step can die of.
OK = 0
DONE = 1  # the end was reached
MORE = 2  # quota used or buffer full: call again
EVENT = 3  # a terminal or mapping event was reached
NEED_REFINED = 10  # the refined twin of the field is wanted and not compiled yet
NEED_TERMS = 11  # the dense terms M, f, G, γ are wanted and not compiled yet
NEED_PASSAGE = 12  # the kernel that passes a singular position is wanted and not compiled yet
NEED_SWITCHES = 13  # what is watched of selects is wanted and not compiled yet
NOT_FINITE = 20  # a model function gave NaN or infinity
SINGULAR = 21  # the saddle-point matrix is singular: a singular position
PULL_FAILED = 22  # the stabilization did not converge
STEP_COLLAPSED = 23  # the step fell below rounding
TOO_MANY_STEPS = 24  # max_steps reached
ACCUMULATES = 25  # an event that maps the state happens again at once
NO_CONVERGENCE = 26  # Newton's iteration of an implicit step did not converge
NO_PAST = 27  # a multistep method with a fixed step finds no points to begin with
MOVED_START = 29  # a stabilization has moved the start of a step, which is to be taken again from there
MANY_CROSSINGS = 28  # an event happens more often in a fixed step than there is room for
FACING = 30  # the field points towards a switch from both sides


class HolonomicError(Exception):
    """Base of all errors raised on purpose. `solution` holds what was computed before, or None."""

    def __init__(self, message: str = "", solution=None):
        super().__init__(message)
        self.solution = solution


class BadArgument(HolonomicError, ValueError):
    """An argument that makes no sense: wrong size, wrong name, contradiction."""


class UnknownArgument(HolonomicError, TypeError):
    """An argument name that does not exist here."""


class UnknownName(HolonomicError, KeyError):
    """A name that a solution does not know: no output, no coordinate, no constraint."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


class MissingExtra(HolonomicError, ImportError):
    """An optional library is not installed."""


class FileFailed(HolonomicError, OSError):
    """A file that cannot be written or read: no room, no permission."""


class UntraceableFunction(HolonomicError, TypeError):
    """A user function that cannot be run on symbols."""


class WrongShape(HolonomicError, ValueError):
    """A user function returned something of the wrong size."""


class NotFinite(HolonomicError, ArithmeticError):
    """A user function returned NaN or infinity."""


class InconsistentState(HolonomicError, ValueError):
    """Initial values that miss a constraint."""


class RedundantConstraints(HolonomicError, ValueError):
    """Rows of the constraint Jacobian that repeat each other."""


class SingularMass(HolonomicError, ValueError):
    """A mass matrix that is not symmetric, or not positive definite on the tangent space."""


class ForgottenVelocityTerms(HolonomicError, ValueError):
    """M depends on q, but the force has no terms quadratic in v."""


class IncompatibleMethods(HolonomicError, ValueError):
    """A formulation, integrator and stabilization that do not fit together."""


class StepFailed(HolonomicError, RuntimeError):
    """The run had to stop. `solution` holds everything up to there."""


class SingularPosition(StepFailed):
    """The mechanism is in a singular position: its constraints lost rank."""


class LimitReached(HolonomicError, RuntimeError):
    """max_time or max_memory is used up. `solution` holds everything up to there."""


class Cancelled(HolonomicError, RuntimeError):
    """Another thread has set what was given as cancel=. `solution` holds everything up to there."""


class StiffnessWarning(UserWarning):
    """An explicit integrator met stiffness: its steps are limited by stability."""


class RoundingWarning(UserWarning):
    """Tolerances ask for more digits than rounding leaves; errors were held to what it leaves."""


class UnstableWarning(UserWarning):
    """A run with a fixed step whose state grew beyond all bounds: the discretization is unstable."""


class InvariantWarning(UserWarning):
    """An invariant was kept that the equations change: the answer is not that of the equations."""


class HandedOverWarning(UserWarning):
    """Another method led over a singular position that the one asked for by name does not pass."""


class EventWarning(UserWarning):
    """An event's function cannot be followed between the steps: not all of its zeros are found."""


class OtherSolutionWarning(UserWarning):
    """The equations for a Dae's y have another solution near the one that is taken."""


class NearSingularWarning(UserWarning):
    """A run passed a singular position, or close by one, with a method that may leave its branch there."""


class UntracedWarning(UserWarning):
    """A function cannot be traced: the system runs as plain Python, slower and without implicit methods."""


class RedundancyWarning(UserWarning):
    """Redundant constraints are simulated, so that some reactions are not unique; or dependent invariants are."""
