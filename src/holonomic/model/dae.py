"""What a user states: a differential-algebraic equation of order m and index m + 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..errors import BadArgument, InconsistentState
from ..kernels.signatures import Fn
from .call_by_name import BASIC, refuses_unknown, wanted
from .extra_states import NONE, Extras, allowed
from .freeze import freeze
from .given_numbers import is_whole, vector
from .statement import check_statement, labelled
from .system import Ode

DERIVATIVES = ("x", "dx", "ddx")  # names of x, x', x''
NEWTON_STEPS = 30


@refuses_unknown
@dataclass(frozen=True, eq=False, repr=False)
class Dae(Ode):
    """A differential-algebraic equation in which constraints are kept by algebraic unknowns y.

    x^(m) = f(t, x, x', .., x^(m-1)) - B(t, x) y,   0 = g(t, x),   m = 1, 2 or 3

    It has index m + 1. With G = ∂g/∂x and G B regular, the m-th derivative of the constraint gives y and with it
    an ordinary differential equation for z = (x, x', .., x^(m-1)),

    G B y = d^m g/dt^m with y = 0,   h = (g, g', .., g^(m-1)) = 0 along solutions

    which is what is integrated; every stabilization keeps h. Functions name what they need of `t, x, dx, ddx, p, u`
    (`dx` is x', `ddx` is x''); outputs and events also of `y`.

    Parameters
    ----------
    order : {1, 2, 3}
        m.
    f : function
        Right-hand side without constraint, as long as x. It may also depend on `y`, as friction does on normal forces;
        B y is then the part that is there without friction. Where y then has several solutions, `lam0=` of `simulate` is a
        guess that chooses.
    B : array or function
        Matrix of the algebraic unknowns, rows as in x, one column per constraint.
    g : function or {name: function}
        Constraints, functions of t and x.
    invariants, params, inputs, outputs, coordinates, drawing
        As for `Ode`; coordinates name the entries of x, and the drawing names `t, x, dx, ddx, p`.
    trace, derivatives
        Nothing to choose: the equations are differentiated m times, which needs tracing.

    References
    ----------
    [ascher-chin-reich-1992] (1.1) - (1.3), (1.11).

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import Dae, simulate
    >>> pendulum = Dae(order=2, f=lambda x: np.array([0, -9.81]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1)
    >>> sol = simulate(pendulum, 1.0, x0=[0, -1], dx0=[3, 0])
    >>> round(float(2 * sol.y[0, 0]), 6)  # tension of the rod
    18.81
    """

    letter: ClassVar[str] = "x"
    rhs: Any = field(default=None, init=False, repr=False)
    invariants: Mapping[str, Callable] | None = field(default=None, kw_only=True)
    order: int = field(kw_only=True)
    f: Any = field(kw_only=True)
    B: Any = field(kw_only=True)
    g: Any = field(kw_only=True)

    def __post_init__(self):
        if not is_whole(self.order, 1) or self.order > 3:
            raise BadArgument(f"order={self.order!r}: a Dae has order 1, 2 or 3.")
        check_statement(self)
        if not self.trace:
            raise BadArgument(
                "a Dae is differentiated as often as its order says, so its functions have to be traced. Leave out trace=False: "
                "where one cannot be traced, the error names it, the line and what to write instead."
            )
        state = ("t", *DERIVATIVES[: self.order], "p", "u")
        if callable(self.f):
            wanted(self.f, "f()", (*state, "y"))
        if callable(self.B):
            wanted(self.B, "B()", state)
        for label, function in labelled(self.g, "g").items():
            if not callable(function):
                raise BadArgument(f"constraint {label!r} is the constant {function!r}. Write it as a function of x.")
            wanted(function, f"constraint {label!r}", ("t", "x", "p", "u"))
        for label, function in labelled(self.invariants, "invariant").items():
            wanted(function, f"invariant {label!r}", state)
        for label, function in (self.outputs or {}).items():
            if callable(function):
                wanted(function, f"output {label!r}", (*state, "y"))
        freeze(self, "f", "B")

    @classmethod
    def linear(cls, A, B, C, *, f=None, r=None, **more) -> Dae:
        """Make a linear equation from its matrices, constant or functions of time.

            x^(m) = A₀ x + A₁ x' + .. + f - B y,   0 = C x + r

        Parameters
        ----------
        A : array or function of t, p, u, or list of m of them
            One for each of x, x', ..; None leaves a term out. Their number is the order m.
        B, C : array or function of t, p, u
            Matrix of the algebraic unknowns, (n, ny), and of the constraints, (ny, n).
        f, r : array or function of t, p, u, optional
            What drives the equation and what moves the constraints.
        **more
            Further arguments of Dae, such as params and outputs.
        """
        from .linear_equations import linear_dae

        return linear_dae(cls, A, B, C, f=f, r=r, **more)

    @property
    def names(self) -> tuple[str, ...]:
        """What functions of the state may name."""
        return ("t", *DERIVATIVES[: self.order], "p", "u")


def asks_for_y(system: Dae) -> bool:
    """Whether f() names y: then y is solved for by Newton's method."""
    return callable(system.f) and "y" in wanted(system.f, "f()", (*system.names, "y"))


def needs_tracing(system) -> str:
    """Why a system cannot run as plain Python, or nothing."""
    if isinstance(system, Dae):
        return "A Dae is differentiated as often as its order says, so it cannot run as plain Python."
    if isinstance(system, Ode):
        return ""
    if system.kinetic is not None:
        return "Energies are differentiated, so the system cannot run as plain Python: state mass= and force= for that."
    if callable(system.force) and "lam" in wanted(system.force, "force()", (*allowed(system, "force", BASIC), "lam")):
        return "force() asks for lam, so the system cannot run as plain Python."
    return ""


def state_values(system, q, v, extras: Extras = NONE) -> dict[str, Any]:
    """Return the state under the names that a system's functions use; q holds the extras, too."""
    if isinstance(system, Dae):
        n = len(q) // system.order
        return {name: q[i * n : (i + 1) * n] for i, name in enumerate(DERIVATIVES[: system.order])}
    if isinstance(system, Ode):
        return {"y": q}
    return {"q": q[: len(q) - len(extras)], "v": v} | extras.values(q)


def start_of(call: str, system: Dae, x0, dx0, ddx0, z0) -> np.ndarray:
    """Return z, the initial values joined; `call` is the function that was called, for messages."""
    if z0 is not None:
        given = vector(z0, "y0")
        if x0 is not None or len(given) % system.order:
            raise BadArgument(f"y0 stands for (x, x', ..) of a Dae: {system.order} parts of one length, and no x0.")
        return given
    parts = []
    for name, given in zip(DERIVATIVES, (x0, dx0, ddx0), strict=True):
        if DERIVATIVES.index(name) >= system.order:
            if given is not None:
                raise BadArgument(f"{name}0 is not part of the state of a Dae of order {system.order}.")
            continue
        if given is None:
            raise BadArgument(f"{call} needs {name}0: a Dae of order {system.order} starts from {_starts(system)}.")
        parts.append(vector(given, f"{name}0"))
        if len(parts[-1]) != len(parts[0]):
            raise BadArgument(f"{name}0 has {len(parts[-1])} entries, x0 has {len(parts[0])}.")
    return np.concatenate(parts)


def _starts(system: Dae) -> str:
    return ", ".join(f"{name}0" for name in DERIVATIVES[: system.order])


def level_labels(labels: list[str], order: int) -> list[str]:
    """Return the labels of g, g', .., level by level."""
    return [label + "'" * level for level in range(order) for label in labels]


def consistent(model, t: float, z: np.ndarray, data: np.ndarray, tol: float, initial: str) -> np.ndarray:
    """Return z on all levels of the constraints: checked, or moved there along the shortest way.

    Raises
    ------
    InconsistentState
        Where a level is missed by more than `tol` (over max(1, ‖z‖)), or cannot be reached.
    """
    nothing, n = np.zeros(0), model.n_constraints
    x = z.copy()
    for _ in range(NEWTON_STEPS if initial == "project" else 1):
        F = model.evaluate(Fn.POS_FACTOR, t, x, nothing, data)
        r = model.evaluate(Fn.RESIDUAL, t, x, nothing, data)
        r[n:] = 0.0  # invariants are kept at their value at the start, whatever it is
        distance = np.abs(r[:n]) * F[1 : 1 + n] / max(1.0, float(np.linalg.norm(x)))
        worst = int(np.argmax(distance))
        if distance[worst] <= (1e-2 * tol + 1e-15 if initial == "project" else max(tol, 1e-10)):
            return x
        x = x - model.evaluate(Fn.POS_SOLVE, t, F, r, data)
    label = model.constraint_labels[worst]
    if initial == "project":
        if distance[worst] <= tol:
            return x
        raise InconsistentState(
            f"the start cannot be moved onto the constraints: {NEWTON_STEPS} Newton steps leave {label!r} at "
            f"{abs(r[worst]):.1e}. Start closer."
        )
    raise InconsistentState(
        f"the start misses constraint {label!r} by {abs(r[worst]):.1e} (allowed {tol:.1e}). Correct "
        f'{_starts(model.system)}, or pass initial="project" to move them by about {np.linalg.norm(x - z):.1e}.'
    )
