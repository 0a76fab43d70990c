"""What each stabilization does to order and drift, and what it costs.

    python benchmarks/stabilization_cost.py                            # prints all tables
    python benchmarks/stabilization_cost.py --page docs/order-and-drift.md

Order and drift: a bead on an elliptic wire that moves, fixed steps, every stabilization with every integrator.
Cost: the seven-body mechanism with a fixed step, time per step less that of the unstabilized step, in units of
one stage (one evaluation of the accelerations inside that integrator). Times are the shortest of many
repetitions, taken in turn, so that a busy machine disturbs all methods alike.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from pathlib import Path

import numpy as np
from stamp import stamp

import holonomic
from holonomic import (
    DOP853,
    RK4,
    RK23,
    RK45,
    Baumgarte,
    Euler,
    Heun,
    HolonomicError,
    Index1,
    Midpoint,
    PostStabilization,
    Projection,
    S_both,
    S_both2,
    S_full,
    S_pos,
    S_vel,
    simulate,
)
from holonomic.integrators.adams import AdamsBashforth2
from holonomic.integrators.fixed_steps import BackwardEuler, ImplicitMidpoint
from holonomic.kernels.linalg import lu_factor, lu_solve
from holonomic.kernels.signatures import TERMS, Fn, call_function
from holonomic.native.marks import leaf
from holonomic.planning.reuse import model_of
from holonomic.problems import seven_body
from holonomic.stabilizations.euler_pulls import BackwardEulerStabilization, ForwardEulerStabilization
from holonomic.stabilizations.invariant import InvariantStabilization
from holonomic.study.order import Fit, observed_order
from holonomic.study.table import Table, short_name
from holonomic.testing import bead

INTEGRATORS = (Euler(), BackwardEuler(), Heun(), Midpoint(), AdamsBashforth2(), ImplicitMidpoint(), RK23(), RK4(), RK45(), DOP853())
STABILIZATIONS = (
    None, Baumgarte(alpha=3), InvariantStabilization(gain=3), ForwardEulerStabilization(), BackwardEulerStabilization(),
    S_vel(), S_pos(), S_both(), S_both2(), PostStabilization(freeze="inverse"), PostStabilization(freeze="stage"),
    PostStabilization(keep=10), PostStabilization("cheap-full", 1), S_full(), Projection(), Projection(at="new"),
)  # fmt: skip
IN_MASS_METRIC = (PostStabilization(metric="mass"), Projection(metric="mass"))  # same orders, other cost
COARSEST = {1: 80, 2: 30, 3: 20, 4: 14, 5: 12, 8: 8}  # steps in two seconds, by order of the integrator
REFINED = (1, 1.5, 2, 3, 4, 6, 8, 12, 16)
SIZES = ("q", "position", "velocity")
FLOOR = 2e-13  # sizes below are too near roundoff for a slope
TIMED = (RK4(), RK45(), DOP853())
STEP, SPAN, ROUNDS = 1e-5, 0.01, 200


def orders() -> dict[str, Table]:
    """Return observed orders of error and drift: tables of stabilizations by integrators."""
    cells: dict[str, list] = {name: [] for name in SIZES}
    problem = bead(speed=0.3, rise=0.5)
    for stabilization in STABILIZATIONS:
        found = [one_pair(problem, integrator, stabilization) for integrator in INTEGRATORS]
        for name, rows in cells.items():
            rows.append((short_name(stabilization), *(pair[name] for pair in found)))
    columns = ("stabilization", *map(short_name, INTEGRATORS))
    return {name: Table("", columns, tuple(rows)) for name, rows in cells.items()}


def one_pair(problem, integrator, stabilization) -> dict[str, str]:
    """Return the observed orders of one integrator with one stabilization."""
    steps = [problem.t_end / round(COARSEST[integrator.order] * factor) for factor in REFINED]
    try:
        study = observed_order(problem, integrator, stabilization, steps, formulation=Index1())
    except HolonomicError:
        return dict.fromkeys(SIZES, "-")
    return {name: slope((study.error | study.drift)[name], integrator.order) for name in SIZES}


def slope(fit: Fit, order: int) -> str:
    """Return the order over the four smallest steps whose size is clear of roundoff.

    'exact' where none is. Where one alone is, '≥' and what the fall to the floor at the next step proves, or
    'roundoff' where that is not even p + 1.
    """
    clear = np.flatnonzero(np.isfinite(fit.sizes) & (fit.sizes > FLOOR))[-4:]
    if not len(clear):
        return "exact"
    if len(clear) == 1:
        least = np.log(fit.sizes[clear[0]] / FLOOR) / np.log(fit.steps[clear[0]] / fit.steps[clear[0] + 1])
        return f"≥ {least:.1f}" if least >= order + 1 else "roundoff"
    return f"{np.polyfit(np.log(fit.steps[clear]), np.log(fit.sizes[clear]), 1)[0]:.1f}"


def costs() -> Table:
    """Return the cost of each stabilization on the seven-body mechanism."""
    rows = []
    problem = seven_body()
    dense = dense_stage(problem)
    for integrator in TIMED:
        best = [seconds / (SPAN / STEP) * 1e9 for seconds in shortest(problem, integrator)]
        stage = best[0] / int(integrator.lower().ip[0])
        for stabilization, per_step in zip(STABILIZATIONS + IN_MASS_METRIC, best, strict=True):
            extra = per_step - best[0]
            cells = (f"{per_step:.0f}", f"{per_step / best[0]:.2f}", f"{extra / stage:.2f}", f"{extra / dense:.2f}")
            rows.append((short_name(integrator), short_name(stabilization), *cells))
    columns = (
        "integrator", "stabilization", "ns per step", "relative to none", "extra cost in stages",
        "extra cost in dense stages",
    )  # fmt: skip
    return Table("", columns, tuple(rows), (f"a dense stage takes {dense:.0f} ns",))


@leaf
def dense_stages(fns, x, data, terms, A, pivots, b, nq, nv, nl, count):
    """Evaluate M, f, G, γ and solve the saddle-point system by dense LU with pivoting, `count` times."""
    at_f = nq + nv * nv
    at_G = at_f + nv
    for _ in range(count):
        x[0] += 1e-12
        call_function(fns, TERMS, 0.0, x, 0, x, 0, data, terms, 0)
        for i in range(nv):
            b[i] = terms[at_f + i]
            for j in range(nv):
                A[i, j] = terms[nq + i * nv + j]
        for k in range(nl):
            b[nv + k] = -terms[at_G + nl * nv + k]
            for j in range(nv):
                A[nv + k, j] = A[j, nv + k] = terms[at_G + k * nv + j]
            for j in range(nl):
                A[nv + k, nv + j] = 0.0
        lu_factor(A, pivots)
        lu_solve(A, pivots, b)
    return b[0]


def dense_stage(problem) -> float:
    """Return nanoseconds of one stage by dense algebra, as programs of the papers' time had it."""
    q, v = np.array(problem.q0, dtype=float), np.linspace(1.0, 2.0, 7)
    model = model_of(problem.system, q, v, 0.0)
    fns, lengths = model.table((Fn.TERMS,))
    nq, nv, nl = model.nq, model.nv, model.n_lam
    size = nv + nl
    work = (np.empty(lengths[Fn.TERMS]), np.empty((size, size)), np.empty(size, dtype=np.int64), np.empty(size))
    arguments = (fns, np.concatenate([q, v]), model.data(), *work, nq, nv, nl)
    dense_stages(*arguments, 1)
    best = np.inf
    for _ in range(ROUNDS):
        began = time.perf_counter()
        dense_stages(*arguments, 3000)
        best = min(best, (time.perf_counter() - began) / 3000)
    return best * 1e9


def shortest(problem, integrator) -> list[float]:
    """Return the shortest time of each stabilization; the rounds go over all of them in turn."""
    best = [np.inf] * len(STABILIZATIONS + IN_MASS_METRIC)
    for _ in range(ROUNDS):
        for k, stabilization in enumerate(STABILIZATIONS + IN_MASS_METRIC):
            began = time.perf_counter()
            simulate(problem, SPAN, integrator=integrator, stabilization=stabilization, step=STEP, save_at=2)
            best[k] = min(best[k], time.perf_counter() - began)
    return best


PAGE = """# Order and drift

This page shows what a stabilization does to the order of the error, to the drift, and to the time of a step. This command
measures it:

```sh
python benchmarks/stabilization_cost.py --page docs/order-and-drift.md
```

## Orders

A bead on an elliptic wire that moves runs two seconds with fixed steps. The tables have the slope of size over step, taken at
the four smallest steps that are clear of roundoff. p is the order of the integrator.

- *exact*: at roundoff with every step;
- *roundoff*: with every step but the largest;
- *≥*: the same, but the fall after the largest step still gives a bound;
- a dash: does not apply (freeze="stage" needs a last stage at the end of the step).

### Error of q

{q}

The order of the solution stays p whatever is corrected.

### Drift at position level, |g|/‖G‖

{position}

### Drift at velocity level, |G v + g_t|/‖G‖

{velocity}

- Without stabilization, and with those inside the field (Baumgarte, InvariantStabilization), the residuals are as
  wrong as the solution: order p. A gain bounds them in time; it does not raise the order.
- The Euler pulls leave p + 1 at both levels.
- One sweep of S_both leaves p + 1 at velocity level, because moving q changes G v; the second sweep of S_both2,
  the coupling in "cheap-full" and the whole Jacobian of S_full remove that and leave at least 2(p + 1).
- Correcting one level alone leaves the other at order p.
- Factors that are kept (keep=10, or frozen at a stage) cost orders: what F is off by stays behind.

## Cost

Seven-body mechanism, {steps} fixed steps of {step:g} s. *extra cost in stages* is the additional time per step over
the time of one stage of the same integrator: 1 means "as much as one more evaluation of the accelerations". *Dense
stages* are evaluations by dense LU, for comparison.

{costs}

{verdict}

Shortest of {rounds} rounds each, taken in turn; {machine}; holonomic {version}, NumPy {numpy};
{stamp}.
Ratios matter, not nanoseconds; on a machine shared with other work, extra costs of repeated runs differed by up to
half a stage.
"""


def page() -> str:
    """Return the page of the documentation."""
    tables = {name: table.markdown() for name, table in orders().items()}
    cost = costs()
    return PAGE.format(
        **tables, costs=cost.markdown(), verdict=verdict(cost), steps=round(SPAN / STEP), step=STEP, rounds=ROUNDS,
        machine=f"{platform.system()}, {platform.machine()}, Python {platform.python_version()}",
        version=holonomic.__version__, numpy=np.__version__, stamp=stamp(),
    )  # fmt: skip


def verdict(cost: Table) -> str:
    """Return what S_both2 costs, in words."""
    found = {row[0]: (float(row[4]), float(row[5])) for row in cost.rows if row[1] == "S_both2"}
    ours = ", ".join(f"{value:.1f} with {name}" for name, (value, _) in found.items())
    dense = " to ".join(f"{pick(value for _, value in found.values()):.2f}" for pick in (min, max))
    held = all(value < 1 for value, _ in found.values())
    return (
        f"The papers claim that S_both2 costs well below one stage. Measured in our own stages the claim "
        f"{'holds' if held else 'does not hold'}: {ours}. A stage here is unrolled sparse code, while a correction "
        f"evaluates the sines and cosines of the mechanism three times. In stages that evaluate M, G and f and solve "
        f"the saddle-point system by dense LU with pivoting, which is nearer to what a program of that time did "
        f"({cost.footer[0]}), it costs {dense}."
    )


def main() -> None:
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description="Order, drift and cost of the stabilizations.")
    parser.add_argument("--page", type=Path, help="write the page of the documentation there")
    parser.add_argument("--only", choices=("orders", "costs"), help="one of the two parts")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.page is not None:
        given.page.write_text(page(), encoding="utf-8")
        return
    if given.only != "costs":
        for name, table in orders().items():
            print(f"order of {name}\n{table.text()}\n")
    if given.only != "orders":
        print(costs().text())


if __name__ == "__main__":
    main()
