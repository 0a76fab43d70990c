"""Where a run starts: values as they are given, what a mechanism or a problem brings, the interval, the multipliers."""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadArgument, InconsistentState
from ..model.dae import Dae, start_of
from ..model.extra_states import Extras, start_of_extras
from ..model.given_numbers import LOOKS_LIKE_ONE, TRUTH, axes, vector
from ..model.operators import Operators
from ..model.system import Ode, System
from ..planning.plan import Plan
from ..results.solution import Solution
from ..results.states import State
from ..results.trail import all_rows
from ..starting.rank import terms

NO_TIME = (*TRUTH, *LOOKS_LIKE_ONE)
AS_EXPECTED = 1e-6  # of multipliers that were given, beside 1 + the largest: they are read off a page, or typed
SYSTEMS = (System, Ode, Operators)  # what has a model
COMPILE = ("now", "never")


class GivenStart(NamedTuple):
    """The start of a run under the names and with the defaults of every call that makes one; see `simulate`."""

    q0: Any = None
    v0: Any = None
    y0: Any = None
    s0: Any = None
    w0: Any = None
    x0: Any = None
    dx0: Any = None
    ddx0: Any = None
    lam0: Any = None
    initial: str = "check"
    hold: Any = None
    redundant: str | None = None
    compile: str | None = None


class Opened(NamedTuple):
    """What is to be simulated, from when to when, and the numbers it starts with; q holds the extras, too."""

    system: System | Ode | Operators
    t0: float
    t1: float
    q: np.ndarray
    v: np.ndarray
    extras: Extras
    start: GivenStart  # with what a mechanism or a problem has brought


class Assembling:
    """What becomes a System when it is simulated, and brings its start: a Mechanism."""

    params: Any

    def to_system(self, varying=(), compile="now", t0=0.0, forward=1.0) -> tuple[System | Operators, np.ndarray, np.ndarray]:
        """Return (system, q0, v0); `varying` names parameters that a sweep changes, `compile` says as what it runs.

        The start is that of a run from t0, which goes forward or, -1, back.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what its system is")

    def tiers(self) -> Any:
        """Return what decides whether its next run is one of tables, which are there at once; None: its size decides."""
        return None

    @property
    def n_rows(self) -> int:
        """Rows of its constraints, by which the time goes that it takes to compile; 0: not known."""
        return 0

    def start_states(self, given=None, before: State | None = None) -> Any:
        """Return s0: what is given, else that of an earlier run's end, else its own."""
        raise NotImplementedError(f"{type(self).__name__} does not say where its states start")


class Posed:
    """A system with its start, its end and what is known of its answer: a Problem."""

    name: str
    title: str
    system: System | Ode
    t0: float
    t_end: float
    q0: Any
    v0: Any
    y0: Any
    s0: Any
    w0: Any
    exact: Any

    def reference(self, t: float | None = None) -> Any:
        """Return the known state at a time, by default at the end."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is known of its answer")


def brought(system, t_end, start: GivenStart, varying=(), by_size: bool = False) -> tuple[Any, Any, GivenStart]:
    """Return (system, t_end, start) with what a Mechanism or a Problem brings in the place of None.

    An earlier run's end in the place of q0, y0 or x0 is a whole start: nothing of the problem's own is mixed into it. Where nobody
    says as what a mechanism is to run, it is compiled, or as its size suggests, for calls that have use for tables (`by_size`).
    """
    q0, v0, y0, s0, w0, x0 = start[:6]
    check_compile(start.compile)
    if isinstance(system, Assembling):  # from where it was assembled
        s0 = system.start_states(s0, q0 if isinstance(q0, State) else None)
        t0, forward = _begins(t_end) if q0 is None else (0.0, 1.0)
        compile = start.compile if by_size else start.compile or "now"
        system, q, v = system.to_system(varying=varying, compile=compile, t0=t0, forward=forward)
        q0, v0 = q if q0 is None else q0, v if q0 is None and v0 is None else v0
    elif isinstance(system, Posed):
        problem, system = system, system.system
        t_end = problem.t_end if t_end is None else t_end
        if x0 is not None or isinstance(q0, State) or isinstance(y0, State):
            return system, t_end, start
        if isinstance(system, Ode):
            y0 = problem.y0 if y0 is None and q0 is None else y0
        else:
            q0, v0 = problem.q0 if q0 is None else q0, problem.v0 if v0 is None else v0
            s0, w0 = problem.s0 if s0 is None else s0, problem.w0 if w0 is None else w0
    return system, t_end, start._replace(q0=q0, v0=v0, y0=y0, s0=s0, w0=w0)


def _begins(t_end) -> tuple[float, float]:
    """When a run begins, and which way it goes; at zero where that cannot be told, which `opened` says in words."""
    try:
        t0, t1 = interval("", None, t_end)
    except BadArgument:
        return 0.0, 1.0
    return t0, 1.0 if t1 >= t0 else -1.0


def as_code(system, given: dict[str, Any]) -> dict[str, Any]:
    """Return what a run is given, so that a mechanism is code in it, where that is left open: runs are to be compared."""
    return {**given, "compile": "now"} if isinstance(system, Assembling) and given.get("compile") is None else given


def check_kind(call: str, system) -> None:
    """Refuse what cannot be simulated."""
    if not isinstance(system, SYSTEMS):
        hint = " For y' = f(t, y) write Ode(f)." if callable(system) and not isinstance(system, type) else ""
        raise BadArgument(f"{call} needs a System, an Ode, a Dae or a Problem, got {type(system).__name__}.{hint}")


def check_compile(given) -> None:
    """Refuse what `compile` cannot be."""
    if given is not None and not (isinstance(given, str) and given in COMPILE):
        raise BadArgument(f"compile={given!r}: choose 'now', 'never', or None to leave it to the size of the mechanism.")


def opened(call: str, system, t_end, start: GivenStart, endless: bool = False, by_size: bool = False) -> Opened:
    """Return what is to be simulated, as numbers; `call` is the function that was called, for messages.

    With `endless`, there need not be an end; `by_size` as for `brought`.
    """
    q0, v0, y0, s0, w0, x0, dx0, ddx0 = start[:8]
    if isinstance(q0, Solution) or isinstance(y0, Solution) or isinstance(x0, Solution):
        name = next(name for name in ("q0", "y0", "x0") if isinstance(getattr(start, name), Solution))
        raise BadArgument(f"{name} is a whole Solution: pass {name}=sol.end to go on from where it ended.")
    if not isinstance(system, SYSTEMS):
        system, t_end, start = brought(system, t_end, start, by_size=by_size)
        check_kind(call, system)
        q0, v0, y0, s0, w0 = start[:5]
    elif start.compile is not None:
        check_compile(start.compile)
    if start.compile == "never" and not isinstance(system, Operators):
        raise BadArgument(
            f'compile="never" is for a Mechanism, whose bodies and joints become tables; {type(system).__name__} has functions '
            "that are traced and compiled as a whole. Leave it out."
        )
    more, extras = start_of_extras(call, system, s0, w0, q0 if isinstance(q0, State) else None)
    if isinstance(system, Dae):
        t0, q = _of_dae(call, system, x0, dx0, ddx0, y0)
        v = np.zeros(0)
    else:
        if x0 is not None or dx0 is not None or ddx0 is not None:
            own = "an Ode starts from y0" if isinstance(system, Ode) else "a System starts from q0 and v0"
            raise BadArgument(f"x0, dx0 and ddx0 belong to a Dae; {own}.")
        t0, q, v = _of_system(call, system, q0, v0, y0)
    if len(more):
        q = np.concatenate([q, more])
    if endless and t_end is None:
        return Opened(system, 0.0 if t0 is None else t0, np.inf, q, v, extras, start)
    t0, t1 = interval(call, t0, t_end)
    return Opened(system, t0, t1, q, v, extras, start)


def _of_dae(call: str, system: Dae, x0, dx0, ddx0, y0) -> tuple[float | None, np.ndarray]:
    """Return (t0 or None, z); an earlier run's end stands for all of it."""
    if not isinstance(x0, State):
        return None, start_of(call, system, x0, dx0, ddx0, y0)
    if dx0 is not None or ddx0 is not None or y0 is not None:
        raise BadArgument("x0=sol.end is a whole start: leave out dx0, ddx0 and y0, or give numbers for each of them.")
    return float(x0.t), np.array(x0.q, dtype=float)


def _of_system(call: str, system: System | Ode, q0, v0, y0) -> tuple[float | None, np.ndarray, np.ndarray]:
    """Return (t0 or None, q, v) from the given start; an earlier run's end may stand for it."""
    t0 = None
    if isinstance(system, Ode):
        if y0 is not None and q0 is not None:
            raise BadArgument("an Ode starts from y0 alone; q0 belongs to a System.")
        given = q0 if y0 is None else y0
        if given is None:
            raise BadArgument(f"{call} needs y0, the initial state of the Ode.")
        if isinstance(given, State):
            t0, given = float(given.t), given.y
        elif v0 is not None:
            raise BadArgument("an Ode starts from y0 alone; v0 belongs to a System.")
        q, v = vector(given, "y0"), np.zeros(0)
        if not len(q):
            raise BadArgument("y0 is empty: there is nothing to simulate.")
        return t0, q, v
    if y0 is not None:
        raise BadArgument("a System starts from q0 and v0; y0 belongs to an Ode.")
    if isinstance(q0, State):
        t0, q0, v0 = float(q0.t), q0.q, q0.v if v0 is None else v0
    if q0 is None or v0 is None:
        missing = "q0" if q0 is None else "v0"
        raise BadArgument(f"{call} needs {missing}: initial positions and velocities are q0= and v0=.")
    q, v = vector(q0, "q0"), vector(v0, "v0")
    if not len(q):
        raise BadArgument("q0 is empty: there is nothing to simulate.")
    if len(q) != len(v) and system.kinematics is None:
        raise BadArgument(f"q0 has {len(q)} entries but v0 has {len(v)}; they must agree unless kinematics= is given.")
    return t0, q, v


def interval(call: str, before: float | None, t_end) -> tuple[float, float]:
    """Return (t0, t1); `before` is the end of the earlier run that this one continues, if any."""
    if t_end is None:
        raise BadArgument(f"{call} needs t_end: a number, or a pair (t0, t_end).")
    t0, t1 = before, t_end
    if type(t_end) is tuple and tuple(map(type, t_end)) == (float, float):
        t0, t1 = t_end
        before = None
    elif not isinstance(t_end, float | int):
        sides = axes(t_end)
        if sides == 1 and len(t_end) == 2:
            t0, t1 = t_end
            before = None
        elif sides != 0:
            raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.")
    try:
        if isinstance(t0, NO_TIME) or isinstance(t1, NO_TIME):
            raise TypeError
        t0, t1 = float(0.0 if t0 is None else t0), float(t1)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.") from None
    if not (isfinite(t0) and isfinite(t1)):
        raise BadArgument(f"the interval ({t0}, {t1}) must be finite.")
    if t0 == t1:
        on = f" t_end is a time, no duration: to go on for as long again, t_end={2 * t0:g}." if before else ""
        raise BadArgument(f"the interval is empty: it begins and ends at t = {t0:g}.{on}")
    if before is not None and t1 < t0:
        raise BadArgument(
            f"the run to go on from ended at t = {t0:g}, after t_end = {t1:g}, a time and no duration. Give a later one, or "
            f"the pair ({t0:g}, {t1:g}) to run backwards."
        )
    return t0, t1


def free_multipliers(plan: Plan, lam0) -> np.ndarray:
    """Return the multipliers that a run begins with, consistent or not."""
    for block in plan.blocks:
        if block.name == "lam":
            return vector(lam0, "lam0", block.size)
    raise BadArgument(
        f'lam0 with initial="free" is where λ is an unknown; {plan.choice.formulation!r} with '
        f"{type(plan.choice.integrator).__name__} solves for it. Leave it out."
    )


def check_multipliers(plan: Plan, lam: np.ndarray, lam0, at) -> None:
    """Refuse given multipliers lam0 that are not those which follow from the equations at the start, λ.

    `at` is where it is: t, x and the data of the model.
    """
    model, G = plan.model, None
    given = vector(lam0, "lam0", model.n_lam)
    if plan.rows is not None:
        t, x, data = at
        G = terms(model, t, x[: model.nq], x[model.nq : model.nq + model.nv], data)[2]
        lam = all_rows(lam, plan.rows, model.n_lam)
    text = missed_multipliers(model.row_labels, lam, given, G)
    if text is not None:
        raise InconsistentState(text)


def missed_multipliers(labels, lam: np.ndarray, given: np.ndarray, G: np.ndarray | None = None) -> str | None:
    """Say which of the multipliers that were expected is not the one that follows from the equations; None: all are.

    Where rows are redundant, `G` of all rows is given: then many λ are right, and Gᵀλ is compared.
    """
    if G is not None:
        labels, lam, given = [f"its reaction on velocity {i}" for i in range(G.shape[1])], -G.T @ lam, -G.T @ given
    gap = np.abs(given - lam)
    worst = int(np.argmax(gap)) if len(gap) else 0
    if not len(gap) or gap[worst] <= AS_EXPECTED * (1.0 + np.abs(lam).max()):
        return None
    needs = f"{labels[worst]!r} needs" if G is None else f"{labels[worst]} has to be"
    return (
        f"lam0 misses the acceleration level: {needs} {lam[worst]:.6g}, given {given[worst]:.6g}. Leave lam0 out; it is computed."
    )
