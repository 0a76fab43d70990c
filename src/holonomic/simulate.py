"""simulate(): the walk from a user's call to a Solution, top to bottom."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from . import failure
from .choice import Choice, make_choice
from .choosing import Choosing, told
from .errors import (
    DONE,
    EVENT,
    MORE,
    OK,
    BadArgument,
    HolonomicError,
    InconsistentState,
    StiffnessWarning,
    UnknownArgument,
    UnstableWarning,
)
from .events import Event
from .gains import check_gain
from .impact import after_event
from .initial import Start, position_jacobian, prepare
from .inputs import InputTables
from .joined import join
from .kernels import state as s
from .kernels.signatures import Fn
from .model.compiled import Model
from .model.dae import Dae, start_of
from .model.extra import NONE, Extras, start_of_extras
from .model.interpreted import InterpretedModel
from .model.system import Ode, System
from .naming import rows_of
from .plan import Plan
from .preferring import preferred
from .progress import Progress
from .running import Run, announce
from .solution import Solution
from .starting import start_multistep

FOREIGN = {
    "method": "integrator", "t_span": "t_end (a number, or a pair (t0, t_end))", "t_eval": "save_at",
    "dt": "step", "h": "step", "max_step_size": "max_step", "y_0": "y0",
    "dense_output": "nothing: sol(t) always works", "args": "params of the System", "jac": "nothing: derivatives "
    "are exact", "tol": "rtol and atol", "n_steps": "max_steps", "h0": "first_step", "vectorized": "nothing",
}  # fmt: skip

START_NAMES = {System: "a System starts from q0 and v0", Ode: "an Ode starts from y0"}


def simulate(
    system,
    t_end: float | tuple[float, float] | None = None,
    *,
    q0=None,
    v0=None,
    y0=None,
    s0=None,
    w0=None,
    x0=None,
    dx0=None,
    ddx0=None,
    lam0=None,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    prefer: str | None = None,
    rtol: float | None = None,
    atol=None,
    step: float | None = None,
    constraint_tol: float | None = None,
    save_at=None,
    events: Mapping[str, Any] | None = None,
    initial: str = "check",
    hold=None,
    redundant: str | None = None,
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    first_step: float | None = None,
    progress: bool | None = None,
    **unknown,
) -> Solution:
    """Simulate a system from consistent initial values.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        What to simulate; a problem brings its own start and end, a mechanism its start.
    t_end : float or (float, float)
        End time, or (t0, t_end); the end may lie before the start. Seconds.
    q0, v0 : array_like
        Initial positions and velocities of a System (or another run's `sol.end`, given as `q0=sol.end`).
    y0 : array_like
        Initial state of an Ode.
    s0, w0 : mapping or array_like
        Initial values of a System's states, and a first guess of its algebraic variables, which are solved for: by
        name, or one number each in their order.
    x0, dx0, ddx0 : array_like
        Initial x, x', x'' of a Dae, as many as its order (or another run's `sol.end`, given as `x0=sol.end`).
    lam0 : array_like, optional
        Multipliers you expect at the start; checked against those that follow from the equations. With
        initial="free", where λ is an unknown of the formulation, those the run begins with.
    integrator, stabilization, formulation
        Objects (a class without brackets is accepted); "auto": we choose, None: without. With the integrator left open
        the choice follows from the equations, and may change on the way; `sol.plan.why()` tells the numbers.
    prefer : {"speed", "accuracy", "energy"}, optional
        What the automatic choice aims at: the fastest method (as without it), steps controlled to a tenth of rtol, or a
        method whose energy does not creep, with a fixed step.
    rtol, atol : float
        Tolerances of the error per step, 1e-6 and 1e-9; `atol` may be an array over (q, v), or a mapping with
        "q", "v", "s", "w" or names of coordinates, states and algebraic variables.
    step : float, optional
        Fixed step instead of error control.
    constraint_tol : float, optional
        Largest distance from the constraints; min(1e-10, rtol/10).
    save_at : int or array_like, optional
        Number of equidistant times, or times, to keep; otherwise every accepted step is kept.
    events : {name: Event or function}, optional
        Zeros to locate.
    initial : {"check", "project", "free"}
        Check the initial values, or move them onto the constraints, leaving coordinates `hold` in place. "free" takes
        them as they are, to watch a stabilization pull: constraints and invariants both to zero.
    redundant : {None, "minimum-norm", "drop"}
        What to do about redundant constraint rows; None refuses them by name.
    max_steps, max_step, first_step
        Limits of the step control.
    progress : bool, optional
        Show a bar; by default when the run takes longer than about two seconds in a terminal.

    Returns
    -------
    Solution
        Raises a `HolonomicError` with `.solution`, the run so far, when it has to stop.
    """
    if unknown:
        _refuse_unknown(unknown)
    system, t0, t1, q, v, extras = opened(system, t_end, q0, v0, y0, s0, w0, x0, dx0, ddx0)
    model = model_of(system, q, v, t0, extras)
    note = None
    if prefer is not None:
        methods = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
        start = {"y0": q} if model.is_ode else {"q0": q[: model.nc], "v0": v}
        aim = preferred(prefer, simulate, model, (t0, t1), start, methods, step, rtol, atol)
        note, step, rtol, atol = aim.note, aim.step, aim.rtol, aim.atol
        formulation, integrator, stabilization = (aim.methods[role] for role in methods)
    choice = choose(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol)
    if prefer == "energy":
        choice = replace(choice, chosen=())
    watched = _events(events, system)
    data = model.data()
    tables = InputTables(model)
    tables.set(data, t0, 1.0 if t1 >= t0 else -1.0)
    begin = prepare(
        model, t0, q, v, data, tol=choice.constraint_tol, initial=initial, hold=hold,
        redundant=redundant or getattr(system, "redundant", None),
    )
    choice = _settled(choice, model, t0, begin.q, data)
    plan = plan_of(model, choice, watched, begin.rows)
    choosing = None
    is_open = prefer != "energy" and "integrator" not in choice.chosen and not choice.integrator.implicit
    if is_open and step is None and not model.interpreted and initial != "free":
        given = {"formulation": formulation, "stabilization": stabilization}
        choosing = Choosing(model, given, choice, t1, lambda other: plan_of(model, other, watched, begin.rows))
    plan.enter_gains(data, 1.0 if t1 >= t0 else -1.0)
    z0 = np.concatenate([begin.q, begin.v])
    if initial != "free":
        _set_invariants(model, t0, z0, data)
    data = plan.extended(data)
    check_gain(plan, t0, z0, data)
    save_t = save_times(save_at, t0, t1)
    run = Run(plan, data, t0, z0, t1, save_t=save_t, **_limits(max_steps, max_step, first_step))
    if initial == "free" and lam0 is not None:
        run.lam0, lam0 = _free_multipliers(plan, lam0), None
    sol = _walk(run, plan, tables, begin, t0, t1, lam0, progress, free=initial == "free", choosing=choosing)
    if note is not None:
        sol._story = told(sol._story, note)
    return sol


def opened(system, t_end, q0, v0, y0, s0, w0, x0, dx0, ddx0, endless: bool = False):
    """Return (system, t0, t1, q, v, extras) of what is to be simulated: a Mechanism and a Problem bring their own start.

    With `endless`, the interval may be an infinite one.
    """
    if hasattr(system, "to_system"):  # a Mechanism, from where it was assembled
        system, q, v = system.to_system()
        q0, v0 = q if q0 is None else q0, v if q0 is None and v0 is None else v0
    if hasattr(system, "system") and hasattr(system, "t_end"):  # a Problem
        problem, system = system, system.system
        t_end = problem.t_end if t_end is None else t_end
        if isinstance(system, Ode):
            y0 = problem.y0 if y0 is None else y0
        else:
            own = q0 is None
            q0, v0 = problem.q0 if q0 is None else q0, problem.v0 if v0 is None else v0
            s0, w0 = problem.s0 if own and s0 is None else s0, problem.w0 if own and w0 is None else w0
    if not isinstance(system, System | Ode):
        raise BadArgument(f"simulate needs a System, an Ode, a Dae or a Problem, got {type(system).__name__}.")
    more, extras = start_of_extras(system, s0, w0, q0 if hasattr(q0, "t") else None)
    if isinstance(system, Dae):
        t0, q = start_of(system, x0, dx0, ddx0, y0)
        v = np.zeros(0)
    else:
        if x0 is not None or dx0 is not None or ddx0 is not None:
            raise BadArgument(f"x0, dx0 and ddx0 belong to a Dae; {START_NAMES[type(system)]}.")
        t0, q, v = start_values(system, q0, v0, y0, t_end)
    q = np.concatenate([q, more])
    if endless and t_end == (0.0, np.inf):
        return system, 0.0 if t0 is None else t0, np.inf, q, v, extras
    return system, *interval(t0, t_end), q, v, extras


def _walk(
    run: Run, plan: Plan, tables, begin: Start, t0, t1, lam0, progress, free: bool = False,
    choosing: Choosing | None = None,
) -> Solution:  # fmt: skip
    """Run the stretches between breaks of inputs, events and changes of plan; wrap whatever there is at the end."""
    bar = Progress(t0, t1, progress)
    ended = "end"
    parts: list[Solution] = []
    status = run.begin()
    if choosing is not None and status == OK:
        run, status = _take_over(run, choosing.at_start(run), choosing, begin, parts, started=False)
    if status == OK and lam0 is not None:
        _check_multipliers(plan, run, lam0)
    if status == OK and plan.integrator.starting_points:
        start_multistep(run, begin, t1, free)
    try:
        while status == OK:
            run.stop_at(tables.next_break(run.t, t1))
            status = run.go(bar.tell, None if choosing is None else choosing.look)
            if choosing is not None and status not in (OK, DONE, EVENT):
                other = choosing.on_the_way(run) if status == MORE else choosing.failed(run, failure.reason(status, plan))
                if status == MORE or other is not None:
                    run, status = _take_over(run, other, choosing, begin, parts)
            elif status == EVENT:
                stop, status = _happened(run, begin, parts, choosing)
                if stop:
                    ended, status = stop, DONE
                    break
            elif status == DONE:
                if run.t == t1:
                    ended = _ended(run, run.plan)
                    break
                tables.set(run.data, run.t, run.direction)
                run.field_changed()
                status = OK
    except KeyboardInterrupt:
        bar.interrupted(run.t)
        ended, status = "interrupted", DONE
    except HolonomicError as problem:
        _with_reason(problem, t1)
        raise
    finally:
        bar.close()
    plan = run.plan
    sol = _wrapped(run, begin, ended if status == DONE else "failed", parts, choosing)
    if choosing is None and run.I[s.IS_STIFF]:
        warnings.warn(
            f"the step is limited by stability, not accuracy, since t = {run.S[s.T_STIFF]:.4g}: the problem is stiff "
            f"for {type(plan.choice.integrator).__name__}. The result is right but slow; an implicit integrator "
            "would take fewer steps.",
            StiffnessWarning,
            stacklevel=3,
        )
    if status != DONE:
        raise _with_reason(failure.explain(status, run, plan, sol), t1)
    text = failure.unstable(run, plan)
    if text is not None:
        warnings.warn(text, UnstableWarning, stacklevel=3)
    run.release()
    return sol


def _with_reason(problem: HolonomicError, t1: float) -> HolonomicError:
    """Let the solution so far know why it goes no further."""
    if problem.solution is not None:
        problem.solution._stopped = (f"{type(problem).__name__}: {problem}", t1)
    return problem


def _take_over(run: Run, other: Choice | None, choosing, begin: Start, parts: list, started=True) -> tuple[Run, int]:
    """Let another plan go on from where a run stands, if there is one; return the run that goes on."""
    if other is None:
        return run, OK
    if started:
        parts.append(Solution.from_run(run, run.plan, begin, "changed"))
    return run.handed_to(choosing.plan_for(other), choosing.t_end, started)


def _wrapped(run: Run, begin: Start, ended: str, parts: list, choosing) -> Solution:
    """Return the solution of a run, with those of the plans before it."""
    sol = Solution.from_run(run, run.plan, begin, ended)
    if parts:
        sol = join([*parts, sol])
    if choosing is not None:
        sol._story = choosing.story()
    return sol


def _happened(run: Run, begin: Start, parts: list, choosing) -> tuple[str | None, int]:
    """Deal with the events at the current time: end the run, or map the state and go on."""
    plan = run.plan
    names, fired = list(plan.events), run.happened()
    stopping = [k for k in fired if plan.events[names[k]].stops]
    for k in stopping:
        if plan.events[names[k]].terminal:
            return names[k], DONE
    spurious = run.by_rounding(stopping)
    if spurious:
        run.forget(spurious)
        stopping = [k for k in stopping if k not in spurious]
    x = run.x[: plan.model.nq + plan.model.nv].copy()
    for k in stopping:
        if run.accumulates(k):
            raise failure.accumulating(names[k], run, _wrapped(run, begin, "failed", parts, choosing))
        try:
            x = after_event(plan.model, plan.events[names[k]], names[k], run.t, x, run.data)
        except HolonomicError as problem:
            problem.solution = _wrapped(run, begin, "failed", parts, choosing)
            raise
    _set_invariants(plan.model, run.t, x, run.data)
    return None, run.restart(x, tuple(fired))


def _ended(run: Run, plan: Plan) -> str:
    """Count events at the very end of the run; a terminal one is what ended it."""
    names = list(plan.events)
    stops = [names[k] for k in run.ends_on_zero() if plan.events[names[k]].terminal]
    return stops[0] if stops else "end"


def _set_invariants(model, t: float, x: np.ndarray, data: np.ndarray) -> None:
    """Enter the values at which the invariants are kept from here on: those of this state."""
    if model.n_invariants:
        places = model.data_places["invariants"]
        data[places] = 0.0
        r = model.evaluate(Fn.RESIDUAL, t, x, np.zeros(0), data)
        data[places] = r[model.n_constraints : model.n_constraints + model.n_invariants]


def model_of(system, q, v, t0, extras: Extras = NONE) -> Model | InterpretedModel:
    """Return the model of a system at these sizes, made once and anew where what its functions read has changed."""
    known = system.__dict__.setdefault("_models", {})
    key = (len(q), len(v), extras)
    model = known.get(key)
    if model is None or model.outdated():
        kind = Model if system.trace else InterpretedModel
        model = known[key] = kind(system, q, v, t0, extras)
    return model


def plan_of(model, choice: Choice, events: dict[str, Event], rows) -> Plan:
    """Return the plan of a choice, made once per model (runs with events make their own)."""
    known = model.__dict__.setdefault("_plans", {})
    key = (choice, rows) if not events else None
    try:
        plan = known.get(key)
    except TypeError:
        plan = key = None
    if plan is not None:
        return plan
    if not model.interpreted:
        announce()
    plan = Plan(model, choice, events, rows)
    if key is not None:
        known[key] = plan
    return plan


def _refuse_unknown(unknown: dict[str, Any]) -> None:
    name = next(iter(unknown))
    if name in FOREIGN:
        raise UnknownArgument(f"simulate has no argument {name!r}; here it is called {FOREIGN[name]}.")
    import difflib
    import inspect

    known = [n for n in inspect.signature(simulate).parameters if n != "unknown"]
    near = difflib.get_close_matches(name, known, 1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
    raise UnknownArgument(f"simulate has no argument {name!r}. {hint}")


def _vector(values, n: int | None, what: str) -> np.ndarray:
    try:
        vector = np.array(values, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} must be numbers, got {values!r}.") from None
    if n is not None and len(vector) != n:
        raise BadArgument(f"{what} has {len(vector)} entries, expected {n}.")
    if what in ("q0", "y0") and not len(vector):
        raise BadArgument(f"{what} is empty: there is nothing to simulate.")
    if not np.isfinite(vector).all():
        raise BadArgument(f"{what}[{int(np.flatnonzero(~np.isfinite(vector))[0])}] is not finite: {vector}.")
    return vector


def start_values(system, q0, v0, y0, t_end):
    """Return (t0 or None, q, v) from the given start; an earlier run's end may stand for it."""
    if isinstance(system, Ode):
        given = y0 if y0 is not None else q0
        if hasattr(given, "y") and hasattr(given, "t"):
            return float(given.t), _vector(given.y, None, "y0"), np.zeros(0)
        if given is None:
            raise BadArgument("simulate needs y0, the initial state of the Ode.")
        if v0 is not None:
            raise BadArgument("an Ode starts from y0 alone; v0 belongs to a System.")
        return None, _vector(given, None, "y0"), np.zeros(0)
    if y0 is not None:
        raise BadArgument("a System starts from q0 and v0; y0 belongs to an Ode.")
    if hasattr(q0, "q") and hasattr(q0, "t"):
        return float(q0.t), _vector(q0.q, None, "q0"), _vector(q0.v if v0 is None else v0, None, "v0")
    if q0 is None or v0 is None:
        missing = "q0" if q0 is None else "v0"
        raise BadArgument(f"simulate needs {missing}: initial positions and velocities are q0= and v0=.")
    q, v = _vector(q0, None, "q0"), _vector(v0, None, "v0")
    if system.kinematics is None and len(q) != len(v):
        raise BadArgument(f"q0 has {len(q)} entries but v0 has {len(v)}; they must agree unless kinematics= is given.")
    return None, q, v


def interval(t0, t_end) -> tuple[float, float]:
    if t_end is None:
        raise BadArgument("simulate needs t_end: a number, or a pair (t0, t_end).")
    if np.ndim(t_end) == 1 and len(t_end) == 2:
        t0, t_end = t_end
    elif np.ndim(t_end) != 0:
        raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.")
    try:
        t0, t1 = float(0.0 if t0 is None else t0), float(t_end)
    except (TypeError, ValueError):
        raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.") from None
    if not (np.isfinite(t0) and np.isfinite(t1)):
        raise BadArgument(f"the interval ({t0}, {t1}) must be finite.")
    if t0 == t1:
        raise BadArgument(f"the interval is empty: it begins and ends at t = {t0:g}.")
    return t0, t1


def _positive(value, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"{name}={value!r} must be a positive number.") from None
    if not number > 0:
        raise BadArgument(f"{name}={value!r} must be a positive number.")
    return number


def _is_whole(value, least: int) -> bool:
    try:
        return int(value) == value and value >= least
    except (TypeError, ValueError):
        return False


def _limits(max_steps, max_step, first_step) -> dict[str, Any]:
    """Check the limits of the step control."""
    if not _is_whole(max_steps, 1):
        raise BadArgument(f"max_steps={max_steps!r} must be a whole number, at least 1.")
    first = None if first_step is None else _positive(first_step, "first_step")
    return {"max_steps": int(max_steps), "max_step": _positive(max_step, "max_step"), "first": first}


def choose(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol) -> Choice:
    if step is not None:
        if rtol is not None or atol is not None:
            raise BadArgument("step= fixes the step, rtol= and atol= choose it by error: give one or the other.")
        step = _positive(step, "step")
    rtol = 1e-6 if rtol is None else _positive(rtol, "rtol")
    if rtol >= 1.0 or rtol < 1e-14:
        raise BadArgument(f"rtol={rtol:g} must lie between 1e-14 and 1; double precision has 16 digits.")
    if model.interpreted and rtol < model.attainable_rtol and step is None:
        raise BadArgument(
            f"rtol={rtol:g} cannot be reached: {' and '.join(model.inexact)} come from differences, good to "
            f"{model.attainable_rtol:g}. Give them as derivatives={{'{model.inexact[0]}': ...}}, or rtol >= "
            f"{model.attainable_rtol:g}."
        )
    atol = _tolerance(model, 1e-9 if atol is None else atol)
    tol = max(min(1e-10, rtol / 10), 1e-14) if constraint_tol is None else _positive(constraint_tol, "constraint_tol")
    return make_choice(model, formulation, integrator, stabilization, step, rtol, atol, tol)


def _tolerance(model, atol):
    if isinstance(atol, Mapping):
        values = np.full(model.nq + model.nv, 1e-9)
        parts = {"q": slice(0, model.nc), "v": slice(model.nq, None)}
        if model.is_ode:
            parts["y"] = parts["q"]
        if len(model.extras):
            parts |= {"s": slice(model.nc, model.nc + model.ns), "w": slice(model.nc + model.ns, model.nq)}
        labels = [*model.coordinates, *model.extras.state_labels, *model.extras.algebraic_labels]
        for name in sorted(atol, key=lambda name: name not in parts):  # single coordinates come last
            value = _positive(atol[name], f"atol[{name!r}]")
            rows = rows_of(name, labels)
            if name not in parts and not rows:
                parts = [part for part in parts if part != "y"]
                raise BadArgument(f"atol[{name!r}]: known are {', '.join(map(repr, parts))} and {', '.join(labels)}.")
            values[parts.get(name, rows)] = value
        return tuple(values)
    if np.ndim(atol) == 0:
        return _positive(atol, "atol")
    values = _vector(atol, model.nc + model.nv, "atol")
    if not values.min() > 0.0:
        raise BadArgument(f"atol[{int(np.argmin(values))}]={values.min():g} must be a positive number.")
    return tuple(np.insert(values, model.nc, np.full(len(model.extras), 1e-9)))


def save_times(save_at, t0, t1) -> np.ndarray | None:
    if save_at is None:
        return None
    if np.ndim(save_at) == 0:
        if not _is_whole(save_at, 2):
            raise BadArgument(f"save_at={save_at!r}: a number of times must be a whole number, at least 2.")
        return np.linspace(t0, t1, int(save_at))
    times = _vector(save_at, None, "save_at")
    forward = 1.0 if t1 >= t0 else -1.0
    if np.any(np.diff(times) * forward <= 0):
        raise BadArgument("save_at must go from t0 to t_end without repeating a time.")
    if len(times) and ((times[0] - t0) * forward < 0 or (times[-1] - t1) * forward > 0):
        raise BadArgument(f"save_at reaches from {times[0]:g} to {times[-1]:g}, outside the run ({t0:g}, {t1:g}).")
    return times


def _events(events, system) -> dict[str, Event]:
    if events is None:
        return {}
    if not isinstance(events, Mapping):
        raise BadArgument('events= is a mapping {name: Event(...)}, for example {"slack": Event(lambda lam: lam[0])}.')
    given = {name: event if isinstance(event, Event) else Event(event) for name, event in events.items()}
    return {name: event.of(name, system.outputs or {}) for name, event in given.items()}


def _settled(choice: Choice, model, t0: float, q, data) -> Choice:
    """Let a formulation choose what it chooses at the start."""

    def jacobian():
        if model.is_ode:
            raise BadArgument('D="unit" is for a System. For a Dae give an array, one column per constraint.')
        return position_jacobian(model, t0, q, data)[:, : model.nc]

    formulation = choice.formulation.settled(jacobian)
    return choice if formulation is choice.formulation else replace(choice, formulation=formulation)


def _free_multipliers(plan: Plan, lam0) -> np.ndarray:
    """Return the multipliers that a run begins with, consistent or not."""
    for block in plan.blocks:
        if block.name == "lam":
            return _vector(lam0, block.size, "lam0")
    raise BadArgument(
        f"lam0 with initial=\"free\" is where λ is an unknown; {plan.choice.formulation!r} with "
        f"{type(plan.choice.integrator).__name__} solves for it. Leave it out."
    )


def _check_multipliers(plan: Plan, run: Run, lam0) -> None:
    first = plan.model.nq + plan.model.nv
    lam = run.K[0, first : first + plan.n_lam]
    given = _vector(lam0, len(lam), "lam0")
    gap = np.abs(given - lam)
    worst = int(np.argmax(gap)) if len(gap) else 0
    if len(gap) and gap[worst] > 1e-6 * (1.0 + np.abs(lam).max()):
        raise InconsistentState(
            f"lam0 misses the acceleration level: {plan.model.row_labels[worst]!r} needs {lam[worst]:.6g}, given "
            f"{given[worst]:.6g}. Leave lam0 out; it is computed."
        )
