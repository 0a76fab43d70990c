"""The arguments of simulate, read and checked: start, interval, tolerances, limits, times to keep, events."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .errors import BadArgument, InconsistentState, UnknownArgument
from .events import Event, of_function
from .model.arguments import FULL, nearest
from .model.dae import Dae, start_of
from .model.extra import start_of_extras
from .model.given import axes, beyond_memory, is_whole, positive, vector
from .model.system import Ode, System
from .model.taking import taken
from .planning.choice import Choice, make_choice
from .planning.plan import Plan
from .results.naming import rows_of
from .running.run import Run
from .starting.initial import position_jacobian

FOREIGN = {
    "method": "integrator", "t_span": "t_end (a number, or a pair (t0, t_end))", "t_eval": "save_at",
    "dt": "step", "h": "step", "max_step_size": "max_step", "y_0": "y0",
    "dense_output": "nothing: sol(t) always works", "args": "params of the System or Ode", "jac": "nothing: derivatives "
    "are exact", "tol": "rtol and atol", "n_steps": "max_steps", "h0": "first_step", "vectorized": "nothing",
}  # fmt: skip
OF_SWEEPS = {
    "n_jobs": "workers", "threads": "workers", "num_workers": "workers", "device": "on", "backend": "on", "path": "store",
    "x0": "y0, (x, x', ..) in one row", "first_step": "nothing: it is chosen", "lam0": "nothing: it is computed",
}  # fmt: skip
ENDS = {
    "end": "a run reaches its end", "interrupted": "Ctrl-C ended it", "failed": "it failed", "changed": "methods change",
}  # fmt: skip
MOST_STEPS = 2**62  # steps are counted in 64 bits
ROUNDING = 4e-16  # of the longest time: 3 * 0.1 is meant where the run ends at 0.3
NO_CONTROL = "no error would ever be too large. Give a number, or step= for steps without error control."
NO_CONSTRAINT = "no distance would ever be too large. Give a number, or stabilization=None to leave the constraints alone."


def unpacked(system, t_end, q0, v0, y0, s0, w0, *, elsewhere: bool = False, varying=()):
    """Return (system, t_end, q0, v0, y0, s0, w0) with what a Mechanism or a Problem brings in the place of None.

    An earlier run's end in the place of q0 or y0 is a whole start: nothing of the problem's own is mixed into it. `elsewhere`
    says that the start is given by other arguments; `varying` names parameters that a sweep changes.
    """
    for name, given in (("q0", q0), ("y0", y0)):
        if hasattr(given, "end") and hasattr(given, "t"):
            raise BadArgument(f"{name} is a whole Solution: pass {name}=sol.end to go on from where it ended.")
    if hasattr(system, "to_system"):  # a Mechanism, from where it was assembled
        s0 = system.start_states(s0, q0)
        system, q, v = system.to_system(varying=varying)
        q0, v0 = q if q0 is None else q0, v if q0 is None and v0 is None else v0
    if hasattr(system, "system") and hasattr(system, "t_end"):  # a Problem
        problem, system = system, system.system
        t_end = problem.t_end if t_end is None else t_end
        if elsewhere or any(hasattr(start, "t") for start in (q0, y0)):
            return system, t_end, q0, v0, y0, s0, w0
        if isinstance(system, Ode):
            y0 = problem.y0 if y0 is None and q0 is None else y0
        else:
            q0, v0 = problem.q0 if q0 is None else q0, problem.v0 if v0 is None else v0
            s0, w0 = problem.s0 if s0 is None else s0, problem.w0 if w0 is None else w0
    return system, t_end, q0, v0, y0, s0, w0


def opened(system, t_end, q0, v0, y0, s0, w0, x0, dx0, ddx0, endless: bool = False):
    """Return (system, t0, t1, q, v, extras) of what is to be simulated: a Mechanism and a Problem bring their own start.

    With `endless`, the interval may be an infinite one.
    """
    system, t_end, q0, v0, y0, s0, w0 = unpacked(system, t_end, q0, v0, y0, s0, w0, elsewhere=x0 is not None)
    if not isinstance(system, System | Ode):
        hint = " For y' = f(t, y) write Ode(f)." if callable(system) and not isinstance(system, type) else ""
        raise BadArgument(f"simulate needs a System, an Ode, a Dae or a Problem, got {type(system).__name__}.{hint}")
    more, extras = start_of_extras(system, s0, w0, q0 if hasattr(q0, "t") else None)
    if isinstance(system, Dae):
        t0, q = start_of(system, x0, dx0, ddx0, y0)
        v = np.zeros(0)
    else:
        if x0 is not None or dx0 is not None or ddx0 is not None:
            own = "an Ode starts from y0" if isinstance(system, Ode) else "a System starts from q0 and v0"
            raise BadArgument(f"x0, dx0 and ddx0 belong to a Dae; {own}.")
        t0, q, v = start_values(system, q0, v0, y0)
    q = np.concatenate([q, more])
    if endless and t_end == (0.0, np.inf):
        return system, 0.0 if t0 is None else t0, np.inf, q, v, extras
    return system, *interval(t0, t_end), q, v, extras


def refuse_unknown(unknown: dict[str, Any], function: Callable, positional: tuple = (), system=None) -> None:
    """Say what an argument is called here that a function does not have, or that came without its name."""
    mine = function.__name__
    if positional:
        _refuse_positional(positional, mine, getattr(system, "system", system))
    name = next(iter(unknown))
    known = [n for n in inspect.signature(function).parameters if n not in ("unknown", "positional")]
    foreign = FOREIGN | (OF_SWEEPS if "workers" in known else {})
    if name not in foreign:
        raise UnknownArgument(f"{mine} has no argument {name!r}. {nearest(name, known)}")
    if foreign[name].startswith("nothing"):
        raise UnknownArgument(f"{mine} has no argument {name!r} and needs none{foreign[name].removeprefix('nothing')}.")
    raise UnknownArgument(f"{mine} has no argument {name!r}; here it is called {foreign[name]}.")


def _refuse_positional(positional: tuple, mine: str, system) -> None:
    """Say how the start is written: solve_ivp(f, t_span, y0) has it in the third place."""
    if isinstance(system, Dae):
        names = ["x0", "dx0", "ddx0"][: system.order]
    elif isinstance(system, Ode) or (callable(system) and not isinstance(system, type)):
        names = ["y0"]
    else:
        names = ["q0", "v0"]
    start = ", ".join(f"{name}=..." for name in names)
    hint = "" if isinstance(system, System | Ode) or not callable(system) else " For y' = f(t, y) also write Ode(f)."
    first = "loss, " if mine == "gradient" else ""
    raise BadArgument(
        f"{mine} takes {first}system and t_end without a name; {len(positional)} more "
        f"{'was' if len(positional) == 1 else 'were'} given. Write the start with its name: "
        f"{mine}({first}system, t_end, {start}).{hint}"
    )


def _start(values, what: str) -> np.ndarray:
    found = vector(values, what)
    if what in ("q0", "y0") and not len(found):
        raise BadArgument(f"{what} is empty: there is nothing to simulate.")
    return found


def start_values(system, q0, v0, y0):
    """Return (t0 or None, q, v) from the given start; an earlier run's end may stand for it."""
    if isinstance(system, Ode):
        if y0 is not None and q0 is not None:
            raise BadArgument("an Ode starts from y0 alone; q0 belongs to a System.")
        given = y0 if y0 is not None else q0
        if hasattr(given, "y") and hasattr(given, "t"):
            return float(given.t), _start(given.y, "y0"), np.zeros(0)
        if given is None:
            raise BadArgument("simulate needs y0, the initial state of the Ode.")
        if v0 is not None:
            raise BadArgument("an Ode starts from y0 alone; v0 belongs to a System.")
        return None, _start(given, "y0"), np.zeros(0)
    if y0 is not None:
        raise BadArgument("a System starts from q0 and v0; y0 belongs to an Ode.")
    if hasattr(q0, "q") and hasattr(q0, "t"):
        return float(q0.t), _start(q0.q, "q0"), _start(q0.v if v0 is None else v0, "v0")
    if q0 is None or v0 is None:
        missing = "q0" if q0 is None else "v0"
        raise BadArgument(f"simulate needs {missing}: initial positions and velocities are q0= and v0=.")
    q, v = _start(q0, "q0"), _start(v0, "v0")
    if system.kinematics is None and len(q) != len(v):
        raise BadArgument(f"q0 has {len(q)} entries but v0 has {len(v)}; they must agree unless kinematics= is given.")
    return None, q, v


def interval(t0, t_end) -> tuple[float, float]:
    if t_end is None:
        raise BadArgument("simulate needs t_end: a number, or a pair (t0, t_end).")
    before = t0
    if axes(t_end) == 1 and len(t_end) == 2:
        t0, t_end = t_end
        before = None
    elif axes(t_end) != 0:
        raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.")
    try:
        if any(isinstance(each, bool | np.bool_) for each in (t0, t_end)):
            raise TypeError
        t0, t1 = float(0.0 if t0 is None else t0), float(t_end)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"t_end must be a number or a pair (t0, t_end), got {t_end!r}.") from None
    if not (np.isfinite(t0) and np.isfinite(t1)):
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


def limits_of(max_steps, max_step, first_step) -> dict[str, Any]:
    """Check the limits of the step control."""
    if not is_whole(max_steps, 1):
        raise BadArgument(f"max_steps={max_steps!r} must be a whole number, at least 1.")
    if max_steps > MOST_STEPS:
        raise BadArgument(f"max_steps={max_steps!r} is more than can be counted. Use max_steps=10**15 for as many as it takes.")
    first = None if first_step is None else positive(first_step, "first_step", "leave it out, and the first step is chosen.")
    return {"max_steps": int(max_steps), "max_step": positive(max_step, "max_step"), "first": first}


ONE_OR_THE_OTHER = "step= fixes the step, rtol= and atol= choose it by error: give one or the other."


def relative_tolerance(rtol) -> float:
    """Return a relative tolerance that can be met; 1e-6 for None."""
    rtol = 1e-6 if rtol is None else positive(rtol, "rtol")
    if rtol >= 1.0 or rtol < 1e-14:
        raise BadArgument(f"rtol={rtol:g} must lie between 1e-14 and 1; double precision has 16 digits.")
    return rtol


def choose(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol) -> Choice:
    """Return what the arguments amount to; made once per model, for short calls."""
    given = (formulation, integrator, stabilization, rtol, atol, step, constraint_tol)
    known = model.__dict__.setdefault("_choices", {})
    try:
        found = known.get(given)
    except TypeError:  # arrays among them
        return _chosen(model, *given)
    if found is None:
        found = known[given] = _chosen(model, *given)
    return found


def _chosen(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol) -> Choice:
    if step is not None:
        if rtol is not None:
            raise BadArgument(ONE_OR_THE_OTHER)
        step = positive(step, "step", "the run is divided into steps of this length.")
    rtol = relative_tolerance(rtol)
    if model.interpreted and rtol < model.attainable_rtol and step is None:
        raise BadArgument(
            f"rtol={rtol:g} cannot be reached: {' and '.join(model.inexact)} come from differences, good to "
            f"{model.attainable_rtol:g}. Give them as derivatives={{'{model.inexact[0]}': ...}}, or rtol >= "
            f"{model.attainable_rtol:g}."
        )
    sized = atol is not None
    atol = absolute_tolerance(model, atol)
    tol = max(min(1e-10, rtol / 10), 1e-14) if constraint_tol is None else positive(constraint_tol, "constraint_tol", NO_CONSTRAINT)
    choice = make_choice(model, formulation, integrator, stabilization, step, rtol, atol, tol)
    if step is not None and sized and not choice.integrator.implicit:
        raise BadArgument(ONE_OR_THE_OTHER)
    return choice


def absolute_tolerance(model, atol):
    """Return an absolute tolerance, or one for each position and velocity; 1e-9 for None."""
    atol = 1e-9 if atol is None else atol
    if isinstance(atol, Mapping):
        values = np.full(model.nq + model.nv, 1e-9)
        parts = {"q": slice(0, model.nc), "v": slice(model.nq, None)}
        if model.is_ode:
            parts["y"] = parts["q"]
        if len(model.extras):
            parts |= {"s": slice(model.nc, model.nc + model.ns), "w": slice(model.nc + model.ns, model.nq)}
        labels = [*model.coordinates, *model.extras.state_labels, *model.extras.algebraic_labels]
        for name in sorted(atol, key=lambda name: name not in parts):  # single coordinates come last
            value = positive(atol[name], f"atol[{name!r}]", NO_CONTROL)
            rows = rows_of(name, labels)
            if name not in parts and not rows:
                parts = [part for part in parts if part != "y"]
                raise BadArgument(f"atol[{name!r}]: known are {', '.join(map(repr, parts))} and {', '.join(labels)}.")
            values[parts.get(name, rows)] = value
        return tuple(values)
    if axes(atol) == 0:
        return positive(atol, "atol", NO_CONTROL)
    values = vector(atol, "atol", model.nc + model.nv)
    if not values.min() > 0.0:
        raise BadArgument(f"atol[{int(np.argmin(values))}]={values.min():g} must be a positive number.")
    return tuple(np.insert(values, model.nc, np.full(len(model.extras), 1e-9)))


def save_times(save_at, t0, t1, width: int = 1) -> np.ndarray | None:
    """Return the times to keep, None for all steps; `width` is how many numbers are kept at each."""
    if save_at is None:
        return None
    if axes(save_at) == 0:
        if not is_whole(save_at, 2):
            raise BadArgument(f"save_at={save_at!r}: a number of times must be a whole number, at least 2.")
        too_much = beyond_memory(8.0 * int(save_at) * width)
        if too_much is not None:
            raise BadArgument(f"save_at={save_at!r}: what is kept takes {too_much}. Keep fewer times.")
        return np.linspace(t0, t1, int(save_at))
    times = vector(save_at, "save_at")
    if not len(times):
        raise BadArgument(
            "save_at is empty: nothing would be kept. Leave it out, or pass save_at=[t_end] to keep the end alone."
        )
    forward = 1.0 if t1 >= t0 else -1.0
    if np.any(np.diff(times) * forward <= 0):
        raise BadArgument("save_at must go from t0 to t_end without repeating a time.")
    slack = ROUNDING * max(abs(t0), abs(t1))
    if (times[0] - t0) * forward < -slack or (times[-1] - t1) * forward > slack:
        raise BadArgument(f"save_at reaches from {times[0]:.12g} to {times[-1]:.12g}, outside the run ({t0:.12g}, {t1:.12g}).")
    return np.clip(times, min(t0, t1), max(t0, t1))


def events_of(events, system) -> dict[str, Event]:
    if events is None:
        return {}
    if not isinstance(events, Mapping):
        example = "y: y[0]" if isinstance(system, Ode) else "lam: lam[0]"
        raise BadArgument(f'events= is a mapping {{name: Event(...)}}, for example {{"slack": Event(lambda {example})}}.')
    for name in events:
        if not isinstance(name, str) or name in ENDS:
            ends = f" sol.ended is {name!r} where {ENDS[name]}." if isinstance(name, str) else ""
            raise BadArgument(f"an event cannot be called {name!r}.{ends} Give it another name, a text.")
    given = {name: event if isinstance(event, Event) else of_function(event, name) for name, event in events.items()}
    for name, event in given.items():
        _refuse_parts(name, event, system)
    return {name: event.of(name, system.outputs or {}) for name, event in given.items()}


def _refuse_parts(name: str, event: Event, system) -> None:
    """Say how an event of a mechanism asks for its bodies and joints."""
    resolver = getattr(system, "resolver", None)
    if resolver is None or not callable(event.f):
        return
    takes = taken(event.f, f"event {name!r}", (*FULL, *resolver.names))
    asked = [one.name for one in takes.parameters if one.name in resolver.names]
    if asked:
        raise BadArgument(
            f"event {name!r} asks for {asked[0]!r}, a part of the mechanism: events see such parts through "
            f"m.quantity(lambda {asked[0]}: ...)."
        )


def settled(choice: Choice, model, t0: float, q, data) -> Choice:
    """Let a formulation choose what it chooses at the start."""

    def jacobian():
        if model.is_ode:
            raise BadArgument('D="unit" is for a System. For a Dae give an array, one column per constraint.')
        return position_jacobian(model, t0, q, data)[:, : model.nc]

    formulation = choice.formulation.settled(jacobian)
    return choice if formulation is choice.formulation else replace(choice, formulation=formulation)


def free_multipliers(plan: Plan, lam0) -> np.ndarray:
    """Return the multipliers that a run begins with, consistent or not."""
    for block in plan.blocks:
        if block.name == "lam":
            return vector(lam0, "lam0", block.size)
    raise BadArgument(
        f"lam0 with initial=\"free\" is where λ is an unknown; {plan.choice.formulation!r} with "
        f"{type(plan.choice.integrator).__name__} solves for it. Leave it out."
    )


def check_multipliers(plan: Plan, run: Run, lam0) -> None:
    first = plan.model.nq + plan.model.nv
    lam = run.K[0, first : first + plan.n_lam]
    given = vector(lam0, "lam0", len(lam))
    gap = np.abs(given - lam)
    worst = int(np.argmax(gap)) if len(gap) else 0
    if len(gap) and gap[worst] > 1e-6 * (1.0 + np.abs(lam).max()):
        raise InconsistentState(
            f"lam0 misses the acceleration level: {plan.model.row_labels[worst]!r} needs {lam[worst]:.6g}, given "
            f"{given[worst]:.6g}. Leave lam0 out; it is computed."
        )
