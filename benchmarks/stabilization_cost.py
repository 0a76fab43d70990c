"""What each stabilization does to order and drift, and what it costs.

    python benchmarks/stabilization_cost.py                            # prints both tables
    python benchmarks/stabilization_cost.py --page docs/order-and-drift.md

Order and drift: the two-link arm over one second, fixed steps, every stabilization with every integrator.
Cost: the seven-body mechanism with a fixed step, time per step less that of the unstabilized step, in units of
one stage (one evaluation of the accelerations inside that integrator). Times are the shortest of many
repetitions, taken in turn, so that a busy machine disturbs all methods alike.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np

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
from holonomic.problems import seven_body, two_link_arm
from holonomic.study.names import short_name
from holonomic.study.order import Fit, observed_order
from holonomic.study.table import Table

INTEGRATORS = (Euler(), Heun(), Midpoint(), RK23(), RK4(), RK45(), DOP853())
STABILIZATIONS = (
    None, Baumgarte(alpha=5), S_vel(), S_pos(), S_both(), S_both2(), S_full(),
    PostStabilization("both", 2, metric="mass"), Projection(), Projection(metric="mass"),
)  # fmt: skip
# steps of the order studies in one second, by order: small enough for the leading term, large enough to stay
# above roundoff
STEPS = {1: (500, 1000, 2000), 2: (100, 200, 400), 3: (50, 100, 200), 4: (25, 50, 100), 5: (20, 40, 80), 8: (10, 20, 40)}
TIMED = (RK4(), RK45(), DOP853())
STEP, SPAN, ROUNDS = 1e-5, 0.03, 25


def orders() -> Table:
    """Return observed orders of error and drift of every combination."""
    rows = []
    problem = two_link_arm("II", t_end=1.0)
    for integrator in INTEGRATORS:
        steps = [1.0 / n for n in STEPS[integrator.order]]
        for stabilization in STABILIZATIONS:
            try:
                study = observed_order(problem, integrator, stabilization, steps)
            except HolonomicError as problem_met:
                rows.append((short_name(integrator), short_name(stabilization), *[type(problem_met).__name__] * 4, ""))
                continue
            fits = (study.error["q"], study.error["v"], study.drift["position"], study.drift["velocity"])
            declared = study.stabilization.drift_order.replace("p", str(integrator.order))
            rows.append((short_name(integrator), short_name(stabilization), *map(shown, fits), declared))
    columns = ("integrator", "stabilization", "error q", "error v", "drift position", "drift velocity", "declared drift")
    return Table("", columns, tuple(rows))


def shown(fit: Fit) -> str:
    """Return an observed order: a number, 'at least' where roundoff ends the fall early, or 'exact'."""
    if fit.exact:
        return "exact"
    if np.isnan(fit.order):
        return "roundoff"
    return f"≥ {fit.order:.1f}" if fit.used.sum() == 1 else f"{fit.order:.2f}"


def costs() -> Table:
    """Return the cost of each stabilization on the seven-body mechanism."""
    rows = []
    problem = seven_body()
    for integrator in TIMED:
        best = shortest(problem, integrator)
        stages = integrator.lower().ip[0]
        plain = best[0]
        for stabilization, seconds in zip(STABILIZATIONS, best, strict=True):
            per_step = seconds / (SPAN / STEP) * 1e9
            extra = (seconds - plain) / plain
            cells = (f"{per_step:.0f}", f"{seconds / plain:.2f}", f"{extra * stages:.2f}")
            rows.append((short_name(integrator), short_name(stabilization), *cells))
    columns = ("integrator", "stabilization", "ns per step", "relative to none", "extra cost in stages")
    return Table("", columns, tuple(rows))


def shortest(problem, integrator) -> list[float]:
    """Return the shortest time of each stabilization; the rounds go over all of them in turn."""
    best = [np.inf] * len(STABILIZATIONS)
    for _ in range(ROUNDS):
        for k, stabilization in enumerate(STABILIZATIONS):
            began = time.perf_counter()
            simulate(problem, SPAN, integrator=integrator, stabilization=stabilization, step=STEP, save_at=2)
            best[k] = min(best[k], time.perf_counter() - began)
    return best


PAGE = """# Order and drift

What a stabilization does to the order of the error, to the drift, and to the time a step takes; measured by

```sh
python benchmarks/stabilization_cost.py --page docs/order-and-drift.md
```

p is the order of the integrator. Drift is the largest scaled residual of the constraint: |g|/‖G‖ at position
level, |G v + g_t|/‖G‖ at velocity level.

## Orders

Two-link arm with its tip at a moving height, one second, three fixed steps. *exact*: at roundoff with every
step; *≥*: the next step is at roundoff already, so that only a lower bound is seen; *roundoff*: only the
smallest step is above roundoff. The last column is what the method declares (`holonomic methods`).

{orders}

- Without stabilization the residuals are as wrong as the solution: order p.
- One sweep on position and velocity (S_both) leaves the order p + 1 at velocity level, because correcting q
  changes G v; the second sweep (S_both2) and the full Jacobian (S_full) remove that and leave 2(p + 1).
- Correcting positions alone leaves the drift of the velocities at order p; the other way round as well.
- The order of the solution itself stays p whatever is corrected.

## Cost

Seven-body mechanism, {steps} fixed steps of {step:g} s. *extra cost in stages* is the additional time per step
over the time of one stage of the same integrator, so that 1 means "as much as one more evaluation of the
accelerations". The papers claim that S_both2 costs well below one stage.

{costs}

Shortest of {rounds} rounds each; {machine}; holonomic {version}, NumPy {numpy}. Ratios matter, not nanoseconds.
"""


def page() -> str:
    """Return the page of the documentation."""
    return PAGE.format(
        orders=orders().markdown(), costs=costs().markdown(), steps=round(SPAN / STEP), step=STEP, rounds=ROUNDS,
        machine=f"{platform.system()}, {platform.machine()}, Python {platform.python_version()}",
        version=holonomic.__version__, numpy=np.__version__,
    )  # fmt: skip


def main() -> None:
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description="Order, drift and cost of the stabilizations.")
    parser.add_argument("--page", type=Path, help="write the page of the documentation there")
    parser.add_argument("--only", choices=("orders", "costs"), help="one of the two tables")
    given = parser.parse_args()
    if given.page is not None:
        given.page.write_text(page(), encoding="utf-8")
        return
    for name, table in (("orders", orders), ("costs", costs)):
        if given.only in (None, name):
            print(table().text(), end="\n\n")


if __name__ == "__main__":
    main()
