"""The numbers behind a choice, in plain words."""

from __future__ import annotations

import numpy as np

from ..errors import HolonomicError
from ..loop.automatic_looks import DECAYS, STABLE
from ..results.story import changes
from .indicators import Indicators, indicators_at
from .rates import RAPID, TIGHT, Rates, stiff_from, too_stiff, varies

IN_SHORT = ". The run is short: order 8 would cross it in a few steps, and its error not follow rtol"


def reasons(sol) -> list[str]:
    """Return lines for `plan.why()`: what was looked at in this run, and the changes of plan."""
    lines = []
    if sol.trail.story is not None and sol.trail.story.preferred:
        lines.append("preferred: " + sol.trail.story.preferred)
    if sol.trail.story is not None and sol.trail.story.first is not None:
        lines.append("at the start: " + at_start(sol.trail.story.first, sol))
    found = of_start(sol)
    if found is not None:
        lines += described(found)
    return lines + changes(sol)


def of_start(sol) -> Indicators | None:
    """Return the indicators at the start of a run; None where there is no model, or they cannot be computed."""
    if sol.trail.data is None or sol.trail.parent is not None or sol.plan.model.interpreted or not sol.plan.model.dense:
        return None
    t, x = sol.trail.first
    plan, (t0, t1) = sol.plan, sol.span
    try:
        return indicators_at(
            plan.model, t, x, sol.trail.data, plan.rows, rtol=plan.choice.rtol, longest=abs(t1 - t0) or np.inf,
            direction=1.0 if t1 >= t0 else -1.0,
        )  # fmt: skip
    except (HolonomicError, np.linalg.LinAlgError, ValueError):
        return None


def at_start(rates: Rates, sol) -> str:
    """Say what the first look at a run found, beside the bounds by which it was decided."""
    if rates.turning:
        return (
            f"nothing in the equations is fast, but the constraints turn with {rates.turning:.3g} 1/s; times {rates.accurate:.2g} "
            f"s, the step accuracy allows, {rates.turning * rates.accurate:.3g} (explicit steps follow them, worth an implicit "
            f"method from {RAPID:g})"
        )
    if rates.fastest * rates.accurate < 1e-3:
        return "nothing in the equations is faster than the motion" + (IN_SHORT if rates.short else "")
    (t0, t1), choice = sol.span, sol.plan.choice
    short = rates.short and choice.rtol >= TIGHT
    bound = stiff_from(sol.plan.model, short)
    kind = "decays" if rates.decays else "grows" if rates.real > DECAYS * rates.fastest else "oscillates"
    product, verdict = rates.fastest * rates.accurate, "an explicit method fits"
    stiff = too_stiff(sol.plan.model, rates, abs(t1 - t0), short)
    if stiff:
        verdict = "too stiff for explicit steps"
    return (
        f"the fastest part of the equations {kind} with {rates.fastest:.3g} 1/s; times {rates.accurate:.2g} s, the step "
        f"accuracy allows, {product:.3g} (stable to {STABLE:g}, worth an implicit method from {bound:.3g}"
        f"{' in a short run' if short else ''}): {verdict}{IN_SHORT if short and not stiff else ''}"
    )


def described(found: Indicators) -> list[str]:
    """Return the indicators of a state as lines "name: words"."""
    lines = []
    h = found.step
    if found.damped or found.oscillating:
        lines.append(
            f"rates: fastest decay {found.damped:.3g} 1/s, fastest oscillation {found.oscillating:.3g} rad/s, at "
            f"t = {found.t:.4g} s; times the accurate step {h:.2g} s: {h * found.damped:.2g} and {h * found.oscillating:.2g}"
        )
    speed = "at rest, with the speed of one accurate step later: " if found.at_rest else ""
    if found.turning is not None and found.turning < 1e-9 / h:
        lines.append(f"variation: {speed}G does not change along the motion")
    elif found.turning is not None:
        text = f"variation: {speed}G turns with {found.turning:.3g} 1/s ({found.times('turning'):.2g} in an accurate step)"
        if found.explicit is not None and found.projected is not None:
            text += (
                f"; ‖F C'‖ = {found.explicit:.3g} 1/s ({found.times('explicit'):.2g}), along Gᵀ {found.projected:.3g} 1/s "
                f"({found.times('projected'):.2g})"
            )
        if varies(found):
            text += ": index-2 forms that keep M v' = f - Gᵀλ treat this part explicitly"
        lines.append(text)
    if found.angle is not None:
        text = f"masses: M⁻¹Gᵀ and Gᵀ are {found.angle:.2g}° apart"
        if found.masses is not None:
            text += f", largest over smallest mass {found.masses:.2g}"
        lines.append(text)
    if found.margin is not None:
        text = f"rank: {found.rank} of {found.rows} rows, smallest singular value of G (rows of length 1) {found.margin:.2g}"
        if found.singular_in is not None and found.singular_in < 1e3 * h:
            text += f", zero in {found.singular_in:.2g} s at its present rate"
        lines.append(text)
    return lines
