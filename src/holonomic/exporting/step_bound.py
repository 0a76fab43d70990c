"""Real time: how much one fixed step can cost at most."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.signatures import Fn
from ..sweeping.program import MORE
from .exported_run import ExportedRun


@dataclass(frozen=True)
class StepBound:
    """What a fixed step costs at most: it is never taken again, and its iterations are limited.

    Attributes
    ----------
    step : float
        Length of a step, s.
    evaluations : int
        Of the field.
    rounds : int
        Of the stabilization.
    operations : int
        Of the model's functions, all together, at most: sums, products, square roots, sines.
    usual : int
        The same away from singular positions, and where the first correction of the stabilization suffices.
    solves : int
        Dense solves with pivoting, at singular positions alone.
    order : int
        Unknowns of such a solve.
    """

    step: float
    evaluations: int
    rounds: int
    operations: int
    usual: int
    solves: int
    order: int

    def __str__(self) -> str:
        pulls = f" and {self.rounds} rounds of the stabilization" if self.rounds else ""
        usual = f" ({self.usual} where one round suffices)" if self.rounds else ""
        solves = f" and, at singular positions alone, {self.solves} dense solves of order {self.order}" if self.solves else ""
        return (
            f"real time: each step of {self.step:g} s takes at most {self.evaluations} evaluations of the field{pulls}, "
            f"{self.operations} operations of the model's functions{usual}{solves}"
        )


def step_bound(run: ExportedRun) -> StepBound | None:
    """Return what a step costs at most; None: steps are chosen by error, solve equations, or are looked into for events."""
    plan, choice = run.plan, run.plan.choice
    if choice.step is None or choice.integrator.implicit or choice.integrator.takes != "ode" or plan.events:
        return None
    length = {fn: len(tape) for group in ("run", *MORE.values()) for fn, tape in run.groups.get(group, {}).items()}
    evaluations = int(plan.integrator.ip[0]) + 1  # the last stage stands at the new point; one more where inputs have changed
    rounds = choice.stabilization.rounds if plan.stabilization.needs else 0
    pull = sum(length[fn] for fn in plan.stabilization.needs if not fn.name.endswith("TANGENT"))
    settled = length.get(Fn.SETTLED, 0)  # algebraic variables, once
    extra = sum(length.get(fn, 0) for fn in MORE)
    solves = evaluations if Fn.TERMS in length else 0
    return StepBound(
        float(choice.step), evaluations, rounds, evaluations * (length[Fn.FIELD] + extra) + (rounds + 1) * pull + settled,
        evaluations * length[Fn.FIELD] + 2 * pull * bool(rounds) + settled, solves, plan.model.nv + plan.n_lam,
    )  # fmt: skip
