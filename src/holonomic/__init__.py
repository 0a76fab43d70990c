"""Simulate constrained mechanical systems so that the answer stays on its constraints."""

from ._version import __version__
from .errors import (
    BadArgument,
    ForgottenVelocityTerms,
    HolonomicError,
    IncompatibleMethods,
    InconsistentState,
    MissingExtra,
    NotFinite,
    RedundancyWarning,
    RedundantConstraints,
    SingularMass,
    SingularPosition,
    StepFailed,
    StiffnessWarning,
    UnknownArgument,
    UnknownName,
    UntraceableFunction,
    WrongShape,
)
from .events import Event
from .formulations.index1 import Index1
from .integrators.adams import AdamsBashforth2
from .integrators.runge_kutta import DOP853, RK4, RK23, RK45, Euler, Heun, Midpoint
from .model.dae import Dae
from .model.system import Ode, System
from .saving import load
from .simulate import simulate
from .solution import Solution
from .stabilizations.baumgarte import Baumgarte
from .stabilizations.euler_pulls import BackwardEulerStabilization, ForwardEulerStabilization
from .stabilizations.invariant import InvariantStabilization
from .stabilizations.post import PostStabilization, S_both, S_both2, S_full, S_pos, S_vel
from .stabilizations.projection import Projection
from .study.compare import Comparison, compare
from .study.work_precision import WorkPrecision, work_precision

__all__ = [
    "DOP853",
    "RK4",
    "RK23",
    "RK45",
    "AdamsBashforth2",
    "BackwardEulerStabilization",
    "BadArgument",
    "Baumgarte",
    "Comparison",
    "Dae",
    "Euler",
    "Event",
    "ForgottenVelocityTerms",
    "ForwardEulerStabilization",
    "Heun",
    "HolonomicError",
    "IncompatibleMethods",
    "InconsistentState",
    "Index1",
    "InvariantStabilization",
    "Midpoint",
    "MissingExtra",
    "NotFinite",
    "Ode",
    "PostStabilization",
    "Projection",
    "RedundancyWarning",
    "RedundantConstraints",
    "S_both",
    "S_both2",
    "S_full",
    "S_pos",
    "S_vel",
    "SingularMass",
    "SingularPosition",
    "Solution",
    "StepFailed",
    "StiffnessWarning",
    "System",
    "UnknownArgument",
    "UnknownName",
    "UntraceableFunction",
    "WorkPrecision",
    "WrongShape",
    "__version__",
    "compare",
    "load",
    "simulate",
    "work_precision",
]
