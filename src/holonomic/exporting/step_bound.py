"""Real time: how much one fixed step can cost at most."""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.signatures import Fn
from ..sweeping.program import MORE
from .exported_run import ExportedRun

FEW = 4  # iterations of an implicit step whose Jacobian is formed once: a pendulum's take 4, with steps of 0.01 s


@dataclass(frozen=True)
class StepBound:
    """What a fixed step costs at most: it is never taken again, and its iterations are limited.

    Attributes
    ----------
    step : float
        Length of a step, s.
    evaluations : int
        Of the field; of an implicit method, of the equations of a step.
    rounds : int
        Of the stabilization.
    operations : int
        Of the model's functions, all together, at most: sums, products, square roots, sines.
    usual : int
        The same away from singular positions, and where the first correction of the stabilization suffices; with as many iterations
        of an implicit method as steps mostly take.
    solves : int
        Dense solves with pivoting: at singular positions alone, and of an implicit method in every iteration.
    order : int
        Unknowns of such a solve.
    iterations : int
        Of Newton's method; 0: the method is explicit.
    """

    step: float
    evaluations: int
    rounds: int
    operations: int
    usual: int
    solves: int
    order: int
    iterations: int = 0

    def __str__(self) -> str:
        pulls = f" and {self.rounds} rounds of the stabilization" if self.rounds else ""
        usual = f" ({self.usual} where one round suffices)" if self.rounds else ""
        if self.iterations:
            return (
                f"real time: each step of {self.step:g} s takes at most {self.iterations} iterations of Newton's method{pulls}, "
                f"{self.evaluations} evaluations of the equations, {self.operations} operations of the model's functions "
                f"({self.usual} where {FEW} iterations suffice) and {self.solves} dense solves of order {self.order}"
            )
        solves = f" and, at singular positions alone, {self.solves} dense solves of order {self.order}" if self.solves else ""
        return (
            f"real time: each step of {self.step:g} s takes at most {self.evaluations} evaluations of the field{pulls}, "
            f"{self.operations} operations of the model's functions{usual}{solves}"
        )


def _of_implicit(run: ExportedRun) -> StepBound:
    """The bound of an implicit method of one stage: in every iteration the equations, their Jacobian, its factors and a solve."""
    plan, choice = run.plan, run.plan.choice
    length = {fn: len(tape) for group in ("run", *MORE.values()) for fn, tape in run.groups.get(group, {}).items()}
    points, most = choice.integrator.points, choice.integrator.iterations
    equations = points * length[Fn.EQUATIONS]
    jacobian = points * length.get(Fn.BY_Y, 0) + sum(
        length.get(fn, 0) for fn in (Fn.BY_SLOPE, Fn.LINEARIZED, Fn.GRADIENTS, Fn.NEWTON_FACTOR)
    )
    solve = length.get(Fn.NEWTON_SOLVE, 0)
    rounds = choice.stabilization.rounds if plan.stabilization.needs else 0
    pull = sum(length[fn] for fn in plan.stabilization.needs if not fn.name.endswith("TANGENT"))
    settled = length.get(Fn.SETTLED, 0)
    field = length[Fn.FIELD]  # at the new point, for what is shown of it; once more where inputs have changed
    extra = sum(length.get(fn, 0) for fn in MORE)
    return StepBound(
        float(choice.step), points * most, rounds,
        most * (equations + jacobian + solve) + 2 * (field + extra) + (rounds + 1) * pull + settled,
        FEW * (equations + solve) + jacobian + 2 * field + 2 * pull * bool(rounds) + settled, most, plan.size.ny, most,
    )  # fmt: skip


def step_bound(run: ExportedRun) -> StepBound | None:
    """Return what a step costs at most; None: steps are chosen by error, iterate without a bound, or are looked into for events."""
    plan, choice = run.plan, run.plan.choice
    if choice.step is None or plan.events:
        return None
    if choice.integrator.implicit:
        return _of_implicit(run) if choice.integrator.iterations and plan.size.n_equations == plan.size.ny else None
    if choice.integrator.takes != "ode":
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
