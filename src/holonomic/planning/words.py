"""In plain words: which methods a plan runs, why those that were left open, and what a status means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import MANY_CROSSINGS, NO_CONVERGENCE, NO_PAST, NOT_FINITE, PULL_FAILED, SINGULAR, STEP_COLLAPSED, TOO_MANY_STEPS

Earlier = Sequence[tuple[Any, float]]  # plans that ran before, each with the time (s) at which the next one took over
FEW = 3  # plans of a run that are told one by one; of more, the first and the last


def methods(plan, earlier: Earlier = ()) -> list[str]:
    """Say in plain words which methods run, why those that were left open, and which ran before."""
    each = [_methods(one) for one, _ in earlier] + [_methods(plan)]
    names = dict.fromkeys(name for one in each for name in one)
    return [f"{name}: {_in_turn([one.get(name) for one in each], [t for _, t in earlier])}" for name in names]


def in_short(plan, earlier: Earlier = ()) -> str:
    """Return the names of the methods that run, and of those that ran before."""
    choices = [*(one.choice for one, _ in earlier), plan.choice]
    names = [f"{c.formulation!r} + {c.integrator!r} + {c.stabilization!r}" for c in choices]
    return _in_turn(names, [t for _, t in earlier])


def _in_turn(texts: Sequence[str | None], until: Sequence[float]) -> str:
    """Join what was so one after the other, each but the last with the time to which it was."""
    told = [
        f"{'' if text is None else text} until t = {t:.6g} s"
        for text, after, t in zip(texts, texts[1:], until, strict=False)
        if text != after and text is not None
    ]
    if len(told) >= FEW:
        told = [told[0], f"{len(told) - 1} more changes"]
    return ", then ".join([*told, *([] if texts[-1] is None else [texts[-1]])])


def _methods(plan) -> dict[str, str]:
    """What runs, by the names of lines."""
    c, model = plan.choice, plan.model
    named = {"formulation": repr(c.formulation), "integrator": repr(c.integrator), "stabilization": repr(c.stabilization)}
    solved = "algebraic unknowns are" if model.is_ode else "accelerations are"
    if model.n_lam:
        solved = "accelerations and multipliers are"
    because = {
        "formulation": f"{solved} solved for at every point"
        if "ode" in c.formulation.gives
        else (f"index {c.formulation.index}, constraints are among the equations"),
        "integrator": c.integrator.chosen_for,
        "stabilization": "the constraints hold to the tolerance after every step",
    }
    if model.is_ode and not model.n_constraints:
        because["formulation"] = "the equations are integrated as they stand"
    if not (model.n_lam or model.n_constraints or model.n_invariants):
        because["stabilization"] = "there is no constraint and no invariant to keep"
    elif c.stabilization.acts == "none":
        because["stabilization"] = "the formulation keeps the constraints itself"
        if "velocity" not in c.formulation.keeps:
            because["stabilization"] = "the formulation keeps positions; velocities miss by no more than a step's error"
    lines = {role: f"{text}, {'as asked' if role in c.chosen else because[role]}" for role, text in named.items()}
    if plan.tier == "tables":
        lines["model"] = f"tables of {model.system.contents}, nothing compiled for it"
    if c.precision != "double":
        lines["precision"] = f"{c.precision}, 31 digits; shown rounded, sol.exact has them"
    lines["step"] = f"{c.step:g}, fixed" if c.step is not None else "chosen by error, " + tolerance_of(c)
    return lines


def tolerance_of(choice) -> str:
    """What steps are controlled to."""
    if choice.kept_rtol == choice.rtol:
        return f"rtol {choice.rtol:g}"
    return f"{choice.kept_rtol / choice.rtol:.2g} of rtol {choice.rtol:g}"


def reason(status: int) -> str:
    """Say in one line what a status means, where no run is at hand to look into."""
    words = {
        NOT_FINITE: "a function of the system gave NaN or infinity",
        SINGULAR: "the constraints lost rank: a singular position",
        PULL_FAILED: "the projection onto the constraints did not converge",
        STEP_COLLAPSED: "the step fell to rounding level",
        TOO_MANY_STEPS: "max_steps were used up",
        NO_CONVERGENCE: "Newton's iteration did not converge",
        MANY_CROSSINGS: "an event happens more often in a fixed step than there is room for",
        NO_PAST: "the motion is too stiff for the first steps of a multistep method with a fixed step",
    }
    return words.get(status, f"it stopped with status {status}")
