"""Turn a status code of the step loop into an exception that says what, where, how much and what to do."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from ..errors import (
    ACCUMULATES,
    FACING,
    MANY_CROSSINGS,
    NO_CONVERGENCE,
    NO_PAST,
    NOT_FINITE,
    PULL_FAILED,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
    HolonomicError,
    IncompatibleMethods,
    NotFinite,
    SingularMass,
    SingularPosition,
    StepFailed,
)
from ..formulations.ggl import GGL
from ..kernels.newton import ROUNDED
from ..kernels.signatures import Fn
from ..loop.switches import MOST_AT_ONCE
from ..planning.fit import fits
from ..planning.gains import growing
from ..starting.rank import massless, rank_by_rows
from .causes import (
    culprit,
    growth_of_force,
    growth_of_multipliers,
    jumping,
    mass_and_rows,
    near_singular,
    suspects,
    too_long,
    vanishing_mass,
    way_past,
    without_multipliers,
)

NEARLY_MASSLESS = 1e-6  # of the masses of single coordinates: where a step fell to nothing, this is why
BOUND = 1e10  # growth of a state with a fixed step, beside 1 + its size at the start, that is worth a warning
UNBOUNDED = 1e6  # growth of the force since the start: where a step fell to nothing, this is why


def _more_steps(plan) -> str:
    return f"Raise max_steps, or {'loosen rtol' if plan.choice.step is None else 'take a larger step'}."


def facing(run, plan, sol) -> StepFailed:
    """Return the exception for a switch towards which the motion leads from both sides, where it cannot be followed."""
    name, memory = plan.switches[int(run.memory.switched) - 1], run.memory
    if memory.at_once > MOST_AT_ONCE * len(plan.switches):
        what = f"{name} changes again and again"
    elif plan.size.may_slide:
        what = f"the motion leads to the switch {name} from both sides while it goes along others, and their fields do not add up"
    else:
        what = f"the motion leads to the switch {name} from both sides"
    other = "" if plan.size.may_slide else "Explicit integrators such as DOP853() and RK45() follow the motion along one. "
    return StepFailed(
        f"at t = {run.t:.6g} {what}, which {type(plan.choice.integrator).__name__} cannot follow. {other}Dry friction is also "
        "m.friction(...) of a mechanism; or make the jump steep and smooth, such as np.tanh(v / 1e-3) for a sign. See "
        "error.solution.",
        sol,
    )


def explain(status: int, run, plan, sol, why: str = "") -> HolonomicError:
    """Return the exception for a run that had to stop; it carries the solution so far."""
    t = run.t
    cause = status
    if status == STEP_COLLAPSED and run.memory.t_failed == run.memory.t:
        cause = run.memory.last_status  # why the attempts from here failed, apart from their error
    if status == TOO_MANY_STEPS:
        return StepFailed(
            f"max_steps = {run.max_steps} steps were used up at t = {t:.6g} of {run.memory.t_stop:.6g} (last step "
            f"{abs(run.memory.h_used or run.memory.h):.1e}). {jumping(run, plan) or why or _more_steps(plan)} See "
            "error.solution.",
            sol,
        )
    if status == ACCUMULATES:
        return accumulating(list(plan.events)[run.memory.retake - 1], run, sol)
    if status == MANY_CROSSINGS:
        return crowded(list(plan.events)[run.memory.retake - 1], run, sol)
    if status == FACING:
        return facing(run, plan, sol)
    grew = growing(plan, sol)
    if grew is not None:
        return StepFailed(f"the run stopped at t = {t:.6g}: {grew}", sol)
    fails = cause in (NOT_FINITE, SINGULAR, PULL_FAILED, NO_CONVERGENCE)
    burst = unstable(plan, run.memory, run.start[1], run.x) if fails else None
    if burst is not None:  # functions fail there because of it
        return StepFailed(f"the run stopped at t = {t:.6g}: {burst} See error.solution.", sol)
    if cause in (NOT_FINITE, SINGULAR, PULL_FAILED, STEP_COLLAPSED) and plan.model.nw:
        unsolved = _unsolved(run, plan, sol, ahead=cause == STEP_COLLAPSED)
        if unsolved is not None:
            return unsolved
    if cause in (NOT_FINITE, SINGULAR) and plan.model.lam_in_force:
        where = without_multipliers(run, plan)
        if where is not None:
            if plan.model.is_ode:
                return SingularPosition(
                    f"near t = {where:.6g} the equations for y could not be solved on the branch that the run is on: ∂/∂y of them "
                    "is singular there or beyond, or Newton's iteration did not converge. Stop before with an event, or begin on "
                    "another branch (lam0=). See error.solution.",
                    sol,
                )
            return SingularPosition(
                f"at t = {where:.6g} the force depends on λ so strongly that λ is not unique or does not exist "
                "(Painlevé's paradox). Use less friction, or stop before with an event. See error.solution.",
                sol,
            )
    if cause in (NOT_FINITE, SINGULAR):
        # factors of a NaN look singular, so a function that is not finite comes first
        found = culprit(run, plan, ahead=cause == NOT_FINITE)
        if found is None and too_long(run, plan):
            near = near_singular(run, plan)
            return StepFailed(_no_convergence(run, plan), sol) if near is None else SingularPosition(near, sol)
        if found is not None or cause == NOT_FINITE:
            return NotFinite(_not_finite(run, plan, found), sol)
        return _singular(run, plan, sol)
    if cause == NO_PAST:
        return StepFailed(_no_past(run, plan), sol)
    if cause == NO_CONVERGENCE:
        near = near_singular(run, plan)
        if near is not None:
            return SingularPosition(near, sol)
        return StepFailed(_no_convergence(run, plan), sol)
    if cause == PULL_FAILED and status != STEP_COLLAPSED:
        return StepFailed(
            f"the projection onto the {'invariants' if plan.model.is_ode and not plan.model.n_constraints else 'constraints'} did "
            f"not converge at t = {t:.6g}{_shorter(run, plan, sol)}",
            sol,
        )
    if status == STEP_COLLAPSED:
        if growth_of_multipliers(plan, sol) is None:
            near = near_singular(run, plan)
            if near is not None:
                return SingularPosition(near, sol)
        return StepFailed(_collapsed(run, plan, sol), sol)
    return StepFailed(f"the run stopped at t = {t:.6g} (status {status}). See error.solution.", sol)


def _shorter(run, plan, sol) -> str:
    grew = growth_of_multipliers(plan, sol)
    if grew is None:
        return ". Use a smaller step. See error.solution."
    return f", and {grew}: the mechanism is near a singular position.{way_past(run)} See error.solution."


def stiff_since(t: float, method: str) -> str:
    """Say that a run with an explicit method met stiffness."""
    return (
        f"the step is limited by stability, not accuracy, since t = {t:.4g}: the problem is stiff for {method}. The result is "
        "right but slow; an implicit integrator would take fewer steps."
    )


def below_rounding(unknown: float, rtol: float) -> str:
    """Say that tolerances ask for more than rounding leaves of velocities."""
    better = f"{10.0 ** math.ceil(math.log10(unknown)):.0e}"
    return (
        f"rounding leaves {unknown:.0e} of the velocities here, in steps as short as the motion needs: rtol={rtol:g} cannot be "
        f'reached, and errors were held to that. Pass rtol={better}, or precision="double-double".'
    )


def unstable(plan, memory, start, end) -> str | None:
    """Say why a run with a fixed step may have blown up, if its state at the end is beyond all bounds."""
    if not memory.fixed:
        return None
    size = plan.model.nq + plan.model.nv
    first, last = (float(np.max(np.abs(x[:size]), initial=0.0)) for x in (start, end))
    return burst(plan, first, last, memory.h_fixed) if last > BOUND * (1.0 + first) else None


def burst(plan, first: float, last: float, step: float) -> str:
    """Say why a run whose state grew so much with a fixed step may have done so."""
    f, i = plan.choice.formulation, plan.choice.integrator
    text = f"the state grew from {first:.1e} to {last:.1e}: {i!r} with step {abs(step):g} is unstable here"
    if not i.implicit and plan.model.n_lam and plan.choice.stabilization.acts == "none":
        return text + ", and nothing keeps the constraints. Use stabilization=Projection(), or a smaller step."
    if not i.implicit:
        return text + ". Use a smaller step, or an implicit integrator such as BDF()."
    if f.has_field_terms and plan.choice.stabilization.acts == "field":
        return text + f". {plan.choice.stabilization!r} may be too strong or too weak: use ProjectedInvariants()."
    if f.index >= 2 and not f.implicit_in_direction:
        return text + (
            f". {f!r} treats the change of the constraints' direction as an explicit method does, which fails where they "
            "turn rapidly or masses differ widely. Use ProjectedInvariants(), or a smaller step."
        )
    return text + ". Use a smaller step, or another formulation such as ProjectedInvariants()."


def _no_convergence(run, plan) -> str:
    """Explain why Newton's iteration of an implicit step failed: how long the step was, and what may help."""
    h = abs(plan.choice.step or run.memory.h)
    below = _below_rounding(run, plan)
    if below is not None:
        return f"Newton's iteration came to rounding in a step of {h:.1e} from t = {run.t:.6g}: {below}"
    text = f"Newton's iteration did not converge in a step of {h:.1e} from t = {run.t:.6g}. "
    f = plan.choice.formulation
    gone = vanishing_mass(run, plan)
    if gone is not None:
        way = "formulation=GGL()" if fits(plan.choice, plan.model, formulation=GGL()) else "DOP853()"
        return text + f"{gone} {f!r} does not pass that here: use {way}. See error.solution."
    if f.index == 3:
        return text + (
            f"{f!r} needs consistent starting values, and its multipliers may grow: use a smaller step, or GGL(). See "
            "error.solution."
        )
    return text + "Use a smaller step, and see error.solution for a force that jumps or a singular position ahead."


def _no_past(run, plan) -> str:
    """Explain why a multistep method with a fixed step cannot begin with its order."""
    i = plan.choice.integrator
    return (
        f"{i!r} with step {abs(run.memory.h_fixed):g} cannot begin with its order at t = {run.t:.6g}: nothing leads there from "
        "before, and what follows is too stiff for the first steps, which DOP853 takes in up to 1024 pieces each. Use "
        "BDF(max_order=2), a smaller step, or rtol= in the place of step=."
    )


def accumulating(name: str, run, sol) -> StepFailed:
    """Return the exception for impacts that come in ever shorter order, or that leave no speed."""
    index = list(run.plan.events).index(name)
    impacts = sum(row[0] == index for row in run.watching.log)
    return StepFailed(
        f"event {name!r} becomes a lasting contact at t = {run.t:.9g} ({impacts} impact{'s' * (impacts != 1)} so far): "
        "then= leaves no speed to move away. Go on from error.solution.end with a system that rests there.",
        sol,
    )


def crowded(name: str, run, sol) -> StepFailed:
    """Return the exception for a fixed step with more events than there is room for."""
    memory = run.memory
    return StepFailed(
        f"event {name!r} happens so often that there is no room for all of it in the step of {abs(memory.h_used):.3g} from "
        f"t = {run.t:.6g}. Take step={0.5 * memory.looked * abs(memory.h_used):.1g}, or rtol= in the place of step=. See "
        "error.solution.",
        sol,
    )


def _below_rounding(run, plan) -> str | None:
    """Say where an implicit step is asked for more digits than there are, and how many there are; None where it is not."""
    if not (plan.integrator.wants_scales and plan.choice.step is None):
        return None
    scale = run.atol + run.memory.rtol * np.abs(run.x)
    at, worst = 0, (0.0, "", 0.0, 0.0)
    for block in plan.blocks[:2]:
        rows = slice(at, at + block.size)
        at += block.size
        size = float(np.max(np.abs(run.x[rows]), initial=0.0))
        known = ROUNDED * np.finfo(float).eps * size  # what is left of changes that have come to rounding
        least = float(np.min(scale[rows], initial=np.inf))
        worst = max(worst, (known / least, block.name, size, known))
    excess, name, size, known = worst
    if excess <= 1.0:
        return None
    letter = "y" if plan.model.is_ode and name == "q" else name
    return (
        f"{letter} is up to {size:.1e}, so that rounding leaves {known:.1e} of it, but rtol and atol allow less where one of its "
        f"entries passes zero. Use atol={10 * known:.0e} for {letter}, or more. See error.solution."
    )


def _collapsed(run, plan, sol) -> str:
    text = f"the step fell to {abs(run.memory.h):.1e} at t = {run.t:.6g}."
    below = _below_rounding(run, plan)
    if below is not None:
        return f"{text[:-1]}: {below}"
    model = plan.model
    scale = run.atol + run.memory.rtol * np.maximum(np.abs(run.x), np.abs(run.xn))
    worst = int(np.argmax(np.nan_to_num(np.abs(run.E[0]) / scale, nan=np.inf)))
    letter, at, name = _component(model, worst)
    named = f" ({name!r})" if name and not name.startswith(("q[", "y[", f"{letter}[")) else ""
    text += f" The largest error is in {letter}[{at}]{named}"
    grew = growth_of_multipliers(plan, sol)
    if grew is not None:
        return text + f" and {grew}: the mechanism is near a singular position.{way_past(run)} See error.solution."
    found = None
    with suppress(IncompatibleMethods):  # tables have no M and G of the whole
        found = None if model.is_ode else massless(model, *mass_and_rows(run, model), least=NEARLY_MASSLESS)
    if found is not None:
        return text + f", and {found} See error.solution."
    if not model.is_ode and len(sol.t) > 2 and (grown := growth_of_force(plan, sol, 0)) > UNBOUNDED:
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


def _unsolved(run, plan, sol, ahead: bool) -> SingularPosition | None:
    """Say where the algebraic equations have no solution, near where the last attempts failed; None: nowhere."""
    model, data = plan.model, run.data[: len(plan.model.data())]
    for t, x in suspects(run, ahead):
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


def _not_finite(run, plan, found) -> str:
    model = plan.model
    name, t, x = found or ("a function of the system", run.memory.t_failed, run.x)
    letter = "y" if model.is_ode else "q"
    where = np.array2string(x[: model.nc], precision=6, separator=", ", threshold=10)
    return (
        f"{name} gives NaN or infinity near t = {t:.6g}, {letter} = {where}. Check its domain (square roots, "
        "divisions, logarithms). See error.solution."
    )


def _singular(run, plan, sol) -> HolonomicError:
    """Explain a singular saddle-point matrix: the mass, the constraints, or unknown which."""
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
        M, G = mass_and_rows(run, model)
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
        f"singular position at t = {t:.6g}: {why}Multipliers are not defined there.{way_past(run)} See error.solution.", sol
    )
