"""Turn a status code of the step loop into an exception that says what, where, how much and what to do."""

from __future__ import annotations

import numpy as np

from ..errors import (
    ACCUMULATES,
    NO_CONVERGENCE,
    NOT_FINITE,
    PULL_FAILED,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
    HolonomicError,
    NotFinite,
    SingularMass,
    SingularPosition,
    StepFailed,
)
from ..formulations.index1 import Index1
from ..formulations.projected_invariants import ProjectedInvariants
from ..kernels import state as s
from ..kernels.signatures import Fn
from ..model.base import Variant
from ..planning.gains import growing
from ..starting.rank import massless, rank_by_rows, terms

NEARLY_MASSLESS = 1e-6  # of the masses of single coordinates: where a step fell to nothing, this is why
NEARLY_SINGULAR = 0.02  # of the smallest singular value at the start
TINY = 1e-5  # of the interval: steps so short have a reason
BOUND = 1e10  # growth of a state with a fixed step, beside 1 + its size at the start, that is worth a warning
UNBOUNDED = 1e6  # growth of the force since the start: where a step fell to nothing, this is why
PROBES = 24  # points ahead of the last state at which functions are tried, each four times as far


def _more_steps(plan) -> str:
    return f"Raise max_steps, or {'loosen rtol' if plan.choice.step is None else 'take a larger step'}."


def explain(status: int, run, plan, sol, why: str = "") -> HolonomicError:
    """Return the exception for a run that had to stop; it carries the solution so far."""
    t = run.t
    cause = status
    if status == STEP_COLLAPSED and run.S[s.T_FAILED] == run.S[s.T]:
        cause = int(run.I[s.LAST_STATUS])  # what the attempts from here failed of, other than their error
    if status == TOO_MANY_STEPS:
        return StepFailed(
            f"max_steps = {run.max_steps} steps were used up at t = {t:.6g} of {run.S[s.T_STOP]:.6g} (last step "
            f"{abs(run.S[s.H_USED] or run.S[s.H]):.1e}). {_jumping(run, plan) or why or _more_steps(plan)} See "
            "error.solution.",
            sol,
        )
    if status == ACCUMULATES:
        return accumulating(list(plan.events)[int(run.I[s.RETAKE]) - 1], run, sol)
    grew = growing(plan, sol)
    if grew is not None:
        return StepFailed(f"the run stopped at t = {t:.6g}: {grew}", sol)
    if cause in (NOT_FINITE, SINGULAR, PULL_FAILED) and plan.model.nw:
        unsolved = _unsolved(run, plan, sol)
        if unsolved is not None:
            return unsolved
    if cause in (NOT_FINITE, SINGULAR) and plan.model.lam_in_force:
        where = _without_multipliers(run, plan)
        if where is not None:
            return SingularPosition(
                f"at t = {where:.6g} the force depends on λ so strongly that λ is not unique or does not exist "
                "(Painlevé's paradox). Use less friction, or stop before with an event. See error.solution.",
                sol,
            )
    if cause in (NOT_FINITE, SINGULAR):
        # factors of a NaN look singular, so a function that is not finite comes first
        found = _culprit(run, plan, ahead=cause == NOT_FINITE)
        if found is not None or cause == NOT_FINITE:
            return NotFinite(_not_finite(run, plan, found), sol)
        return _singular(run, plan, sol)
    if cause == NO_CONVERGENCE:
        near = _near_singular(run, plan)
        if near is not None:
            return SingularPosition(near, sol)
        return StepFailed(_no_convergence(run, plan), sol)
    if cause == PULL_FAILED and status != STEP_COLLAPSED:
        return StepFailed(
            f"the projection onto the {'invariants' if plan.model.is_ode and not plan.model.n_constraints else 'constraints'} did "
            f"not converge at t = {t:.6g}{_shorter(plan, sol)}", sol
        )
    if status == STEP_COLLAPSED:
        if _growth(plan, sol) is None:
            near = _near_singular(run, plan)
            if near is not None:
                return SingularPosition(near, sol)
        return StepFailed(_collapsed(run, plan, sol), sol)
    return StepFailed(f"the run stopped at t = {t:.6g} (status {status}). See error.solution.", sol)


def _near_singular(run, plan) -> str | None:
    """Say which rows of G become dependent where a run ended, if they do: much more so than at its start."""
    model = plan.model
    if model.is_ode or not model.n_lam or plan.rows is not None:
        return None
    values, rows = [], None
    for t, x in (run.start, (run.t, run.x)):
        x = np.asarray(x)
        try:
            G = terms(model, float(t), x[: model.nq], x[model.nq : model.nq + model.nv], run.data)[2]
            values.append(np.linalg.svd(G / np.linalg.norm(G, axis=1)[:, None], compute_uv=False)[-1])
            rows = rank_by_rows(G)[1]
        except (np.linalg.LinAlgError, HolonomicError, ValueError):
            return None
    if not values[1] < NEARLY_SINGULAR * values[0]:
        return None
    way = "" if run.I[s.CROSSES] else " Use DOP853() with Projection(), which passes such positions."
    return (
        f"singular position close to t = {run.t:.6g}: the row of {model.row_labels[int(rows[-1])]!r} becomes a combination "
        f"of the others (smallest singular value of the scaled G {values[1]:.1e}, {values[0]:.1e} at the start), and "
        f"{plan.choice.integrator!r} cannot pass it.{way} See error.solution."
    )


def _jumping(run, plan) -> str | None:
    """Say which acceleration jumps where steps have become tiny: a force that switches back and forth."""
    model, h = plan.model, abs(float(run.S[s.H_USED] or run.S[s.H]))
    if h > TINY * abs(run.S[s.T_STOP] - run.start[0]):
        return None
    first, size = (0, model.nq) if model.is_ode else (model.nq, model.nv)
    slope = run.K[0, : model.nq + model.nv]

    def at(k):
        x = run.x[: model.nq + model.nv] + k * h * slope
        return model.evaluate(Fn.FIELD, run.t + k * h, x, np.zeros(0), run.data[: len(model.data())])[first : first + size]

    try:
        places = [-64.0, -16.0, -4.0, -1.0, 0.0, 1.0, 4.0, 16.0, 64.0]
        seen = np.array([at(k) for k in places])
        wide = np.abs(np.diff(seen, axis=0)) / (np.max(np.abs(seen), axis=0) + 1e-300)
        where, which = np.unravel_index(np.argmax(wide), wide.shape)
        low, high = places[where : where + 2]
        ends = [seen[where, which], seen[where + 1, which]]
        for _ in range(30):  # a jump stays, however close its two sides
            middle = 0.5 * (low + high)
            value = at(middle)[which]
            if abs(value - ends[0]) > abs(ends[1] - value):
                high, ends[1] = middle, value
            else:
                low, ends[0] = middle, value
    except (HolonomicError, ValueError):
        return None
    if not abs(ends[1] - ends[0]) > max(0.1 * np.max(np.abs(seen[:, which])), 1e-3 * np.max(np.abs(seen))):
        return None
    what, name = ("the derivative", f"y[{which}]") if model.is_ode else ("the acceleration", model.coordinates[which])
    return (
        f"There {what} of {name} jumps between {min(ends):.3g} and {max(ends):.3g}: a force that "
        "switches back and forth (chattering, as dry friction does at rest). Smooth the switch, for example by "
        "np.tanh(v / 1e-3), or stop at an event and go on with another system."
    )


def _shorter(plan, sol) -> str:
    grew = _growth(plan, sol)
    if grew is None:
        return ". Use a smaller step. See error.solution."
    return f", and {grew}: the mechanism is near a singular position. See error.solution."


def reason(status: int) -> str:
    """Say in one line what a status means, where no run is at hand to look into."""
    words = {
        NOT_FINITE: "a function of the system gave NaN or infinity",
        SINGULAR: "the constraints lost rank: a singular position",
        PULL_FAILED: "the projection onto the constraints did not converge",
        STEP_COLLAPSED: "the step fell to rounding level",
        TOO_MANY_STEPS: "max_steps were used up",
        NO_CONVERGENCE: "Newton's iteration did not converge",
    }
    return words.get(status, f"it stopped with status {status}")


def unstable(run, plan) -> str | None:
    """Say why a run with a fixed step may have blown up, if its state at the end is beyond all bounds."""
    if not run.I[s.FIXED]:
        return None
    size = plan.model.nq + plan.model.nv
    first, last = (float(np.max(np.abs(x[:size]), initial=0.0)) for x in (run.start[1], run.x))
    if last <= BOUND * (1.0 + first):
        return None
    f, i = plan.choice.formulation, plan.choice.integrator
    text = f"the state grew from {first:.1e} to {last:.1e}: {i!r} with step {abs(run.S[s.H_FIXED]):g} is unstable here"
    if not i.implicit:
        return text + ". Use a smaller step, or an implicit integrator such as BDF()."
    way = getattr(f, "D", None)
    if isinstance(f, Index1) and plan.choice.stabilization.acts == "field":
        return text + f". {plan.choice.stabilization!r} may be too strong or too weak: use ProjectedInvariants()."
    if f.index >= 2 and not (isinstance(f, ProjectedInvariants) and way == "G"):
        return text + (
            f". {f!r} treats the change of the constraints' direction as an explicit method does, which fails where they "
            "turn rapidly or masses differ widely. Use ProjectedInvariants(), or a smaller step."
        )
    return text + ". Use a smaller step, or another formulation such as ProjectedInvariants()."


def _no_convergence(run, plan) -> str:
    """Newton's iteration of an implicit step failed: how long the step was, and what may help."""
    h = abs(plan.choice.step or run.S[s.H])
    text = (
        f"Newton's iteration did not converge in a step of {h:.1e} from t = {run.t:.6g}: the equations have "
        "no solution near the last point. "
    )
    f = plan.choice.formulation
    if f.index == 3:
        return text + (
            f"{f!r} needs consistent starting values, and its multipliers may grow: use a smaller step, or GGL(). See "
            "error.solution."
        )
    return text + "Use a smaller step, and see error.solution for a force that jumps or a singular position ahead."


def accumulating(name: str, run, sol) -> StepFailed:
    """Return the exception for impacts that come in ever shorter order, or that leave no speed."""
    index = list(run.plan.events).index(name)
    impacts = sum(row[0] == index for row in run.watching.log)
    return StepFailed(
        f"event {name!r} becomes a lasting contact at t = {run.t:.9g} ({impacts} impact{'s' * (impacts != 1)} so far): "
        "then= leaves no speed to move away. Go on from error.solution.end with a system that rests there.",
        sol,
    )


def _collapsed(run, plan, sol) -> str:
    text = f"the step fell to {abs(run.S[s.H]):.1e} at t = {run.t:.6g}."
    model = plan.model
    scale = run.atol + run.S[s.RTOL] * np.maximum(np.abs(run.x), np.abs(run.xn))
    worst = int(np.argmax(np.nan_to_num(np.abs(run.E[0]) / scale, nan=np.inf)))
    letter, at, name = _component(model, worst)
    named = f" ({name!r})" if name and not name.startswith(("q[", "y[", f"{letter}[")) else ""
    text += f" The largest error is in {letter}[{at}]{named}"
    grew = _growth(plan, sol)
    if grew is not None:
        return text + f" and {grew}: the mechanism is near a singular position. See error.solution."
    found = None if model.is_ode else massless(model, *_mass_and_rows(run, model), least=NEARLY_MASSLESS)
    if found is not None:
        return text + f", and {found} See error.solution."
    if not model.is_ode and len(sol.t) > 2 and (grown := _force_growth(plan, sol, 0)) > UNBOUNDED:
        return text + f". The force has grown {grown:.0e} times since the start: it has no bounds there. See error.solution."
    jumps = "rhs()" if model.is_ode and not model.n_constraints else "the force"
    return text + f". The solution may have a singularity there, or {jumps} a jump; see error.solution."


def _component(model, i: int) -> tuple[str, int, str]:
    """Letter, place and name of an entry of (q, s, w, v)."""
    extras = model.extras
    parts = (
        ("y" if model.is_ode else "q", model.nc, model.coordinates), ("s", model.ns, extras.state_labels),
        ("w", model.nw, extras.algebraic_labels), ("v", model.nv, model.coordinates),
    )  # fmt: skip
    for letter, size, names in parts:
        if i < size:
            return letter, i, names[i] if i < len(names) else ""
        i -= size
    return "v", i, ""


def _unsolved(run, plan, sol) -> SingularPosition | None:
    """Say where the algebraic equations have no solution, near where the last attempts failed; None: nowhere."""
    model, data = plan.model, run.data[: len(plan.model.data())]
    for t, x in _suspects(run, ahead=False):
        state = x[: model.nq + model.nv]
        if not np.all(np.isfinite(state)) or np.all(np.isfinite(model.evaluate(Fn.SETTLED, t, state, np.zeros(0), data))):
            continue
        flat = model.evaluate(Fn.ALGEBRAIC, t, state, np.zeros(0), data)
        if not np.all(np.isfinite(flat)):
            continue
        first = model.evaluate(Fn.ALGEBRAIC, run.start[0], run.start[1][: len(state)], np.zeros(0), data)
        before, least = (
            np.linalg.svd(each[model.nw :].reshape(model.nw, model.nw), compute_uv=False)[-1] for each in (first, flat)
        )
        names = ", ".join(map(repr, model.extras.algebraic_labels))
        return SingularPosition(
            f"near t = {t:.6g} the algebraic equations cannot be solved for {names}: the smallest singular value of ∂k/∂w "
            f"went from {before:.1e} at the start to {least:.1e}. Where it vanishes, w is not unique or does not exist. See "
            "error.solution.",
            sol,
        )
    return None


def _mass_and_rows(run, model) -> tuple[np.ndarray, np.ndarray]:
    """M and G at the last state."""
    M, _, G, _ = terms(model, run.t, run.x[: model.nq], run.x[model.nq : model.nq + model.nv], run.data)
    return M, G


def _growth(plan, sol) -> str | None:
    """Say by how much λ has grown at the end of a run, if that points to a singular position."""
    if plan.model.is_ode or not plan.model.n_lam or len(sol.t) < 3:
        return None
    size = np.max(np.abs(sol.lam), axis=1)
    for factor, word in ((1e6, "a millionfold"), (1e4, "ten thousandfold")):
        small = np.flatnonzero(size <= size[-1] / factor)
        # a λ that merely passes through zero does not count, nor one that follows a force without bounds
        if 0.0 < size[-1] and len(small) and np.median(size) <= size[-1] / 1e3:
            grew = _force_growth(plan, sol, small[-1])
            return None if grew > np.sqrt(factor) else f"λ grew {word} in {len(size) - 1 - small[-1]} steps"
    return None


def _force_growth(plan, sol, first: int) -> float:
    """Size of the force at the end of a run beside its size at an earlier step; 1 where that cannot be told."""
    model = plan.model
    t, x, _ = sol._arrays
    try:
        before, after = (
            np.max(np.abs(terms(model, t[i], x[i, : model.nq], x[i, model.nq : model.nq + model.nv], sol._data)[1]))
            for i in (first, -1)
        )
    except (HolonomicError, ValueError):
        return 1.0
    return float(after / before) if before > 0.0 else 1.0


def _without_multipliers(run, plan) -> float | None:
    """Return a time at which the equations for λ have no unique solution, near where the last attempts failed."""
    model = plan.model
    for t, x in _suspects(run, ahead=True):
        state = x[: model.nq + model.nv]
        if np.all(np.isfinite(state)):
            rho = model.evaluate(Fn.FIELD, t, state, np.zeros(0), run.data[: len(model.data())])[-1]
            if not rho > 0.0 and model.blame(t, state, run.data) is None:
                return float(t)
    return None


def _culprit(run, plan, ahead: bool):
    """Find a function that is not finite where the last attempts failed; return (its name, t, x) or None."""
    model = plan.model
    for t, x in _suspects(run, ahead):
        if np.all(np.isfinite(x)):
            name = model.blame(t, x, run.data) or _blamed_event(run, plan, t, x)
            if name is not None:
                return name, t, x
    return None


def _suspects(run, ahead: bool):
    """Points at which the last attempt may have failed: stages, the start, and (if asked) further ahead."""
    t, h = float(run.S[s.T_FAILED]), float(run.S[s.H])
    tried = int(run.I[s.ACCEPTED] + run.I[s.REJECTED] + run.I[s.FAILED]) > 0
    if tried:
        yield t, run.xs
        yield t + h, run.xn
    yield t, run.x
    if ahead and tried:
        slope = run.K[0, : len(run.x)]
        for k in range(PROBES):
            distance = 4.0**k * h
            if abs(distance) <= abs(run.S[s.T_STOP] - t):
                yield t + distance, run.x + distance * slope


def _blamed_event(run, plan, t, x) -> str | None:
    if not plan.events:
        return None
    model = plan.model
    variant = Variant(rows=plan.rows, events={name: event.f for name, event in plan.events.items()})
    field = model.evaluate(Fn.FIELD, t, x, np.zeros(0), run.data, Variant(rows=plan.rows))
    values = model.evaluate(Fn.EVENTS, t, x, field[model.nq : -1], run.data, variant)
    bad = np.flatnonzero(np.isnan(values))
    return f"event {list(plan.events)[bad[0]]!r}" if len(bad) else None


def _not_finite(run, plan, found) -> str:
    model = plan.model
    culprit, t, x = found or ("a function of the system", float(run.S[s.T_FAILED]), run.x)
    letter = "y" if model.is_ode else "q"
    where = np.array2string(x[: model.nc], precision=6, separator=", ", threshold=10)
    return (
        f"{culprit} gives NaN or infinity near t = {t:.6g}, {letter} = {where}. Check its domain (square roots, "
        "divisions, logarithms). See error.solution."
    )


def _singular(run, plan, sol) -> HolonomicError:
    """A singular saddle-point matrix: the mass, the constraints, or neither can be told."""
    model, t = plan.model, run.t
    why = "the constraint Jacobian loses rank. "
    if model.is_ode:
        why = "G B of the Dae is singular, its y not defined. See error.solution."
        if not model.n_constraints:
            names = ", ".join(map(repr, model.invariant_labels))
            why = (
                f"the gradients of the invariants {names} are dependent, so that there is no way to correct them one by one. Keep "
                "fewer (as an entry of outputs= one is watched, not kept), or pass stabilization=None. See error.solution."
            )
        return SingularPosition(f"at t = {t:.6g} {why}", sol)
    try:
        M, G = _mass_and_rows(run, model)
        found = massless(model, M, G)
        if found is not None:
            return SingularMass(f"at t = {t:.6g} {found} See error.solution.", sol)
        if len(G):
            dependent = model.row_labels[int(rank_by_rows(G)[1][-1])]
            smallest = np.linalg.svd(G / np.linalg.norm(G, axis=1)[:, None], compute_uv=False)[-1]
            why = (
                f"the row of {dependent!r} becomes a combination of the others (smallest singular value of the scaled "
                f"G {smallest:.1e}). "
            )
    except (np.linalg.LinAlgError, HolonomicError, ValueError, IndexError):
        pass
    return SingularPosition(
        f"singular position at t = {t:.6g}: {why}Multipliers are not defined there. See error.solution.", sol
    )
