"""BDF with three kinds of coefficients on the stiff problems of the library: time at equal error; writes docs/bdf.md.

    python benchmarks/bdf_coefficients.py            measure and print
    python benchmarks/bdf_coefficients.py --page     measure and write the page
    python benchmarks/bdf_coefficients.py car het    these problems alone (parts of names)

Runs from rtol 1e-3 to 1e-9, atol = rtol, the kinds by turns, the shortest of several; errors are the largest of q and v over
1 + |value| at all steps. The time at an error is the least of all runs that are at least as accurate; times of two kinds are
compared at 25 errors over the range that both have, and the geometric mean counts.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

from holonomic import BDF, DOP853, Index1, Index2, Index3, ProjectedInvariants, Projection, Radau, problems, simulate
from holonomic.errors import HolonomicError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "bdf.md"
KINDS = ("quasi-constant", "variable", "fixed-leading")
TOLERANCES = 10.0 ** -np.arange(3.0, 9.01, 0.25)
SECONDS = 0.03  # spent on one run, at least three times
WORST = 1.3


def cases() -> dict:
    """Return the stiff problems and the formulation each is run with, by name."""
    found = {
        "car axis": (problems.car_axis(), Index2(), None),
        "car axis, index 3": (problems.car_axis(), Index3(), None),
        "car axis, projected": (problems.car_axis(), Index1(), Projection()),
        "seven-body": (problems.seven_body(), Index2(), None),
        "seven-body, projected": (problems.seven_body(), Index1(), Projection()),
        "wheelset to 1 s": (problems.wheelset(t_end=1.0), Index2(), None),
        "wheelset to 1 s, index 1": (problems.wheelset(t_end=1.0), Index1(), None),
        "double wishbone to 0.3 s": (problems.double_wishbone(t_end=0.3), Index2(), None),
    }
    for k, c in ((1e6, 1e3), (1e8, 1e5), (1e10, 1e7)):
        found[f"suspension, k = {k:g}"] = (problems.suspension(k=k, c=c), Index2(), None)
    for k, c in ((1e6, 1e3), (1e8, 1e4)):
        found[f"spring pendulum, k = {k:g}"] = (problems.spring_pendulum(k=k, c=c), Index2(), None)
    for nu in (100.0, 1000.0):
        found[f"index-2 pair, ν = {nu:g}"] = (problems.index2_pair(nu=nu), ProjectedInvariants("Pa"), None)
        found[f"rapid pair, ν = {nu:g}"] = (problems.rapid_pair(nu=nu), ProjectedInvariants("Pa"), None)
        found[f"rapid constraint, ν = {nu:g}"] = (problems.rapid_constraint(nu=nu), ProjectedInvariants("Pc"), None)
        for damping in (0.0, 1.0):
            problem = problems.heterogeneous_masses(nu=nu, damping=damping)
            found[f"heterogeneous masses, ν = {nu:g}, damping {damping:g}"] = (problem, ProjectedInvariants("Pa"), None)
    return found


def states(sol) -> np.ndarray:
    """Return (q, v) at the steps."""
    return np.hstack([sol.q, sol.v])


def reference(problem):
    """Return times -> (q, v)."""
    if problem.exact is not None:
        return lambda times: np.array([np.concatenate([np.ravel(part) for part in problem.exact(t)]) for t in times])
    try:
        sol = simulate(problem, integrator=DOP853(), rtol=1e-12, atol=1e-12, max_steps=100_000, progress=False)
    except HolonomicError:
        sol = simulate(problem, integrator=Radau(), rtol=1e-11, atol=1e-11, progress=False)
    return lambda times: states(sol(times))


def measured(problem, formulation, stabilization, ways: dict) -> dict:
    """Return rows (error, seconds, steps, residuals, factorizations) by tolerance for each integrator."""
    known, found = reference(problem), {name: [] for name in ways}
    for rtol in TOLERANCES:
        runs = {}
        for name, integrator in ways.items():
            given = {
                "formulation": formulation, "integrator": integrator, "stabilization": stabilization, "rtol": rtol, "atol": rtol,
                "progress": False,
            }  # fmt: skip
            try:
                runs[name] = (simulate(problem, **given), given)
            except HolonomicError:
                found[name].append(None)
        seconds = dict.fromkeys(runs, np.inf)
        began, turns = time.perf_counter(), 0
        while turns < 3 or time.perf_counter() - began < SECONDS * len(runs):
            turns += 1
            for name, (_, given) in runs.items():
                start = time.process_time()
                simulate(problem, **given)
                took = time.process_time() - start
                seconds[name] = min(seconds[name], took) if took > 0 else seconds[name]
        for name, (sol, _) in runs.items():
            true = known(sol.t)
            error = float(np.max(np.abs(states(sol) - true) / (1.0 + np.abs(true))))
            stats = sol.stats
            found[name].append((error, seconds[name], stats["steps"], stats["residuals"], stats["factorizations"]))
    return found


def fastest(rows, error: float, column: int) -> float:
    """Return the least cost of the runs with at most this error."""
    return min(row[column] for row in rows if row is not None and row[0] <= error)


def ratio(new, old, column: int = 1) -> float:
    """Return the cost at equal error, new over old: the mean over the errors that both have."""
    errors = [[row[0] for row in rows if row is not None] for rows in (new, old)]
    levels = np.geomspace(max(map(min, errors)), min(map(max, errors)), 25)
    found = [np.log(fastest(new, level, column) / fastest(old, level, column)) for level in levels]
    return float(np.exp(np.mean(found)))


TEXT = """# BDF: three kinds of coefficients

`BDF` has three kinds of coefficients. On equal steps they are one formula.

- `coefficients="quasi-constant"`, the default, interpolates the past to equal steps where the step changes, as MATLAB's and
  SciPy's codes do.
- `"variable"` takes the points as they are, as the programs of Eich and of many others do.
- `"fixed-leading"` takes the slope of the polynomial through them. It leaves the leading coefficient as it is on equal steps,
  as DASSL and IDA do.

```python
from holonomic import BDF, Index2, simulate
from holonomic.problems import car_axis

sol = simulate(car_axis(), formulation=Index2(), integrator=BDF(coefficients="variable"), rtol=1e-6)
assert sol.plan.choice.integrator.coefficients == "variable"
```

| | quasi-constant | variable | fixed-leading |
| --- | --- | --- | --- |
| past where the step changes | interpolated to equal steps | as it is | as it is |
| h α | γ_k = 1 + 1/2 + .. + 1/k | s_1 + .. + s_k | γ_k |
| error of the step over d = y1 - y_p | 1/(k + 1) | s_(k+1) / (s_1 + .. + s_k) | max(s_(k+1), \\|s_(k+1) + Σ s_j - γ_k\\|) |
| the step grows from | 1.2 | 1.5 | 1.5 |
| it is shortened | after k + 1 steps, or a failure | as soon as its error would come to exceed 1 | likewise |

Here s_j = h / (t1 - t_(n+1-j)), 1/j on equal steps. The variable coefficients estimate the local error of y. The estimates of the
others are γ_k times as large, 2.3 times with order 5. So with the same rtol the variable ones take longer steps, and err more.

## The rule for the default

The default becomes another kind where, over all stiff problems of the library, the median of its times at equal error is at
most 0.97 of those of the present one, and none is more than {worst} times. Of two such kinds it is the one with the smaller
median. Times closer than 3 % cannot be told apart.

The rule is older than the table below, but not than all runs: the constants of step control were chosen on these
problems, with medians near 1, and the limit of growth, 1.5, on Eich's pendulum.

Some problems are those for which the automatic choice takes an implicit method, with parameters that make them stiff. The
others are those on which implicit programs are compared: car axis, seven-body mechanism, wheelset and double wishbone.

## Measured

`python benchmarks/bdf_coefficients.py --page` makes this page. rtol and atol go from 1e-3 to 1e-9 by quarters of a decade.
The kinds run alternately, and the shortest of several runs counts.

- The error of a run is the largest of q and v over 1 + |value| at all steps.
- The time at an error is the least of all runs that are at least as accurate. Times are compared at 25 errors over the range
  that both kinds have (geometric mean).
- The first columns have milliseconds at the error in the middle of the range.
- The last two have ratios of time, of evaluations of the equations and of factorizations. The latter two do not depend on the
  machine.

| problem | error | quasi-constant | variable | fixed-leading | variable: time, evaluations, factors | fixed-leading |
| --- | ---: | ---: | ---: | ---: | --- | --- |
{rows}
| **median** | | | | | {medians} |
| **largest** | | | | | {largest} |

{verdict}

## An oscillation that lasts

The pendulum of Eich runs over 50 periods in index 1 with order 6; errors are measured in TOL times the largest |q| and |v|.
The table has steps, and what is left of |x² + y² - 1| or, with projection, of y at the end. On even steps errors cancel over
a period; every change of the step leaves some. The fewer changes, the better: 1.5 in the place of 1.2 divides the error of
the variable ones by 10 at 1e-9.

{pendulum}

## Beside RADAU5 on the car axis

The table has evaluations of the equations and factorizations of Newton's matrix, relative to those of RADAU5 at the digits of
each of our runs. It gives median and range for rtol 1e-3 to 1e-11, as in [speed of the implicit methods](implicit-speed.md).
The largest numbers are those of three digits, where Jacobians change from step to step. With Index2 and six digits
evaluations are 0.9 to 1.0 times and factorizations 0.5 to 0.8 times those of RADAU5.

{radau5}
"""


def lasting() -> str:
    """Return steps and errors of the pendulum after 50 periods, as Markdown."""
    problem, rows = problems.pendulum(), []
    for tol in (1e-7, 1e-8, 1e-9):
        for name, pull in (("", None), (", projected", Projection(tol=1e-13, on="full", at="new"))):
            cells = []
            for kind in KINDS:
                sol = simulate(
                    problem, formulation=Index1(), integrator=BDF(6, coefficients=kind), stabilization=pull, progress=False,
                    rtol=max(1e-3 * tol, 1e-13), atol={"q": tol, "v": 5.244 * tol},
                )  # fmt: skip
                x, y = sol.q[-1]
                cells.append(f"{sol.stats['steps']}, {abs(y) if pull else abs(x * x + y * y - 1):.1e}")
            rows.append(f"| {tol:g}{name} | {' | '.join(cells)} |")
    return "\n".join([f"| TOL | {' | '.join(KINDS)} |", "| --- " * 4 + "|", *rows])


def beside_radau5() -> str:
    """Return counts on the car axis over those of RADAU5, as Markdown."""
    from implicit import against_fortran, ours
    from implicit import reference as end_of

    name, t_end = "car-axis", problems.car_axis().t_end
    ways = [
        (formulation, BDF(coefficients=kind), pull)
        for formulation, pull in ((Index2(), None), (Index3(), None), (Index1(), "auto"))
        for kind in KINDS
    ]
    rows = against_fortran(ours(name, t_end, end_of(name, t_end), ways), 1.0).splitlines()
    return "\n".join(row.rstrip("|").rpartition("|")[0] + "|" for row in rows)


def page(found: dict) -> str:
    """Return the page."""
    rows, ratios = [], {kind: [] for kind in KINDS[1:]}
    for name, runs in found.items():
        old = runs[KINDS[0]]
        errors = [[row[0] for row in runs[kind] if row is not None] for kind in KINDS]
        middle = float(np.sqrt(max(map(min, errors)) * min(map(max, errors))))
        times = " | ".join(f"{1e3 * fastest(runs[kind], middle, 1):.2f}" for kind in KINDS)
        for kind in KINDS[1:]:
            ratios[kind].append([ratio(runs[kind], old, column) for column in (1, 3, 4)])
        told = " | ".join(", ".join(f"{x:.2f}" for x in ratios[kind][-1]) for kind in KINDS[1:])
        rows.append(f"| {name} | {middle:.0e} | {times} | {told} |")

    def over(all_of) -> str:
        return " | ".join(", ".join(f"{x:.2f}" for x in all_of(ratios[kind], axis=0)) for kind in KINDS[1:])

    taken = {kind: np.median([row[0] for row in ratios[kind]]) for kind in KINDS[1:]}
    passing = {kind: m for kind, m in taken.items() if m <= 0.97 and max(row[0] for row in ratios[kind]) <= WORST}
    if passing:
        verdict = f'By the rule the default is `"{min(passing, key=passing.get)}"`.'
    else:
        verdict = 'By the rule the default stays `"quasi-constant"`.'
    return TEXT.format(
        worst=WORST, rows="\n".join(rows), medians=over(np.median), largest=over(np.max), verdict=verdict,
        radau5=beside_radau5(), pendulum=lasting(),
    )  # fmt: skip


def main() -> None:
    """Measure; print, or write the page."""
    warnings.simplefilter("ignore")
    words = [word for word in sys.argv[1:] if not word.startswith("--")] or [""]
    ways, found = {kind: BDF(coefficients=kind) for kind in KINDS}, {}
    for name, case in cases().items():
        if any(word in name for word in words):
            found[name] = measured(*case, ways)
            print(name, *(f"{kind} {ratio(found[name][kind], found[name][KINDS[0]]):.2f}" for kind in KINDS[1:]), flush=True)
    if "--page" in sys.argv:
        PAGE.write_text(page(found))
    else:
        print(page(found))


if __name__ == "__main__":
    main()
