"""Energy over 10⁵ periods of a pendulum and of a heavy top: does it creep? Said by a fitted slope with its uncertainty.

    python benchmarks/energy.py                              # prints the table; some minutes
    python benchmarks/energy.py --page docs/energy.md
    python benchmarks/energy.py --page docs/energy.md --only "heavy top `RATTLE(order=6)`"
    python benchmarks/energy.py --periods 1000 --check       # exit code 1 where a method that keeps energy loses some

Energy is looked at at 5000 ends of steps. Means of a hundred blocks of the run, in which what swings averages out, are fitted
with a straight line; its uncertainty is the standard error that their scatter around the line gives. A run whose blocks
scatter by chance has |slope| below three of these in 99.7 of 100 cases; one whose roundings add up as a random walk does less
often.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from stamp import stamp

import holonomic
from holonomic import (
    DOP853,
    RATTLE,
    GaussLegendre,
    GaussLegendre4,
    Index1,
    Index3,
    Projection,
    SymmetricProjection,
    System,
    simulate,
)
from holonomic.study.table import Table

BLOCKS, LOOKS = 100, 5000
KEPT = Path(__file__).with_suffix(".json")  # the rows of the page, so that one of them can be measured again


class Case(NamedTuple):
    """A motion, and the length of its period."""

    name: str
    system: System
    q0: np.ndarray
    v0: np.ndarray
    period: float


def pendulum() -> Case:
    """Two kilograms on a rod of one metre, let go at the height of its support: 4 K(1/√2) √(L/g) for a swing there and back."""
    system = System(mass=2.0 * np.eye(2), potential=lambda q: 2.0 * 9.81 * q[1], constraint={"rod": lambda q: q @ q - 1.0})
    return Case("pendulum", system, np.array([1.0, 0.0]), np.zeros(2), 4.0 * 1.8540746773013719 / np.sqrt(9.81))


def heavy_top() -> Case:
    """Lagrange's top by the nine entries of its rotation, whose mass matrix is constant: columns of unit length, at right angles.

    Moments 1, 1 and 0.5 kg m², weight times lever 4.905 N m, spin 8 rad/s, 0.5 rad from upright. A period is one of nutation.
    """
    spread = np.repeat([0.25, 0.25, 0.75], 3)  # ½ Σ d_k |R'_k|², columns R_k of R; I_1 = d_2 + d_3

    def columns(q):
        a, b, c = q[:3], q[3:6], q[6:]
        return np.array([a @ a - 1.0, b @ b - 1.0, c @ c - 1.0, a @ b, b @ c, c @ a])

    system = System(mass=np.diag(spread), potential=lambda q: 4.905 * q[8], constraint=columns)
    tilt = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(0.5), -np.sin(0.5)], [0.0, np.sin(0.5), np.cos(0.5)]])
    across = np.array([[0.0, -8.0, 0.0], [8.0, 0.0, 0.0], [0.0, 0.0, 0.0]])  # R' = R ω̂, ω = (0, 0, 8)
    q0, v0 = tilt.T.ravel(), (tilt @ across).T.ravel()
    short = simulate(system, 20.0, q0=q0, v0=v0, integrator=DOP853(), rtol=1e-10, atol=1e-10, save_at=20001)
    height = short.q[:, 8]
    tops = np.flatnonzero((height[1:-1] > height[:-2]) & (height[1:-1] >= height[2:])) + 1
    return Case("heavy top", system, q0, v0, float(np.diff(short.t[tops]).mean()))


class Method(NamedTuple):
    """Methods, and the steps of a period of each motion; 0: it is not run."""

    formulation: object
    integrator: object
    stabilization: object
    steps: dict[str, int]
    keeps: bool = True  # whether its energy is to have no trend


METHODS = (
    Method(Index3(), RATTLE(), None, {"pendulum": 100, "heavy top": 0}),
    Method(Index3(), RATTLE(order=4), None, {"pendulum": 80, "heavy top": 40}),
    Method(Index3(), RATTLE(order=6), None, {"pendulum": 60, "heavy top": 48}),
    Method(Index1(), GaussLegendre4(), SymmetricProjection(), {"pendulum": 60, "heavy top": 30}),
    Method(Index1(), GaussLegendre(stages=4), SymmetricProjection(), {"pendulum": 20, "heavy top": 0}),
    Method(Index1(), GaussLegendre4(), Projection(), {"pendulum": 60, "heavy top": 30}, keeps=False),
)


class Found(NamedTuple):
    """What a run shows, of the energy that moves."""

    swing: float  # half of the distance between the largest and smallest error, in the first hundredth
    slope: float  # per period
    uncertainty: float
    last: float  # change between the first and the last block
    seconds: float


def measured(case: Case, method: Method, periods: int) -> Found:
    """Run it, and fit the line."""
    each = method.steps[case.name]
    step, apart = case.period / each, max(1, each * periods // LOOKS)
    apart += 1 - apart % 2  # odd: not always at the same place of the motion
    t = step * apart * np.arange(1, each * periods // apart + 1)
    began = time.process_time()
    sol = simulate(
        case.system, t[-1], q0=case.q0, v0=case.v0, formulation=method.formulation, integrator=method.integrator,
        stabilization=method.stabilization, step=step, save_at=t, max_steps=10**10, progress=False,
    )  # fmt: skip
    took = time.process_time() - began
    error, at = np.asarray(sol.energy_error), sol.t / case.period
    slope, uncertainty, means = line(at, error)
    first = error[: max(50, len(error) // BLOCKS)]
    return Found(float(np.ptp(first)) / 2.0, slope, uncertainty, float(means[-1] - means[0]), took)


def line(at: np.ndarray, error: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Slope of the means of blocks and its standard error; the means."""
    n = len(error) // BLOCKS * BLOCKS
    where, means = (part[:n].reshape(BLOCKS, -1).mean(axis=1) for part in (at, error))
    centred = where - where.mean()
    slope = centred @ means / (centred @ centred)
    left = means - means.mean() - slope * centred
    return float(slope), float(np.sqrt(left @ left / (BLOCKS - 2) / (centred @ centred))), means


def creeps(found: Found, steps: int, periods: int) -> bool:
    """Whether the energy has a trend beyond chance, beyond roundings, two at most, that fall the same way in every step, and
    beyond what samples that meet the same places of the motion again and again leave of the swing: a hundredth of it."""
    by_chance = max(4.0 * found.uncertainty, 2.0 * np.finfo(float).eps * steps)
    return abs(found.slope) > by_chance and abs(found.slope) * periods > 0.01 * found.swing


HEAD = """# Energy over 10⁵ periods

This page shows how much energy is lost by methods made to keep it. The motions are a pendulum released at the height of its
support, and a heavy top whose axis nutates. This command writes the page:

```sh
python benchmarks/energy.py --page docs/energy.md
```

The energy error swings with the motion.

- *Swing* is its amplitude, relative to the energy that moves.
- *Slope* is that of a straight line through the means of a hundred blocks of the run, per period, with its standard error.
- *Last − first* is the change of the mean from the first block to the last.

A method without trend has a slope that its error explains, or one that is rounding: less than two roundings, 4e-16, a step.
Times are processor times of one core of a busy machine.

With `Projection()` in the place of `SymmetricProjection()` Gauss's method changes its energy equally in every period: see the
last row of each table. The others are symmetric, and RATTLE and its compositions symplectic as well.
"""


COLUMNS = ("method", "steps a period", "periods", "swing", "slope per period", "last − first", "time [s]")


def page(cases, rows: dict[str, dict[str, list[str]]], made: str) -> str:
    """The page, of the rows that are there."""
    parts = [HEAD.rstrip()]
    for case in cases:
        table = Table("", COLUMNS, tuple(tuple(rows[case.name][name]) for name in map(named, METHODS) if name in rows[case.name]))
        parts += [f"## {case.name.capitalize()}\n\nA period takes {case.period:.4g} s.", table.markdown()]
    return "\n\n".join((*parts, made)) + "\n"


def named(method: Method) -> str:
    """Integrator and stabilization."""
    return f"`{method.integrator!r}`" + (f", `{method.stabilization!r}`" if method.stabilization else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page")
    parser.add_argument("--periods", type=int, default=100_000)
    parser.add_argument("--only", default="", help="a part of the name of a motion or of a method; the other rows are those kept")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    cases, wrong = (pendulum(), heavy_top()), []
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if given.page and KEPT.exists() else {}
    rows = kept.get("rows", {case.name: {} for case in cases})
    for case in cases:
        for method in METHODS:
            name, steps = named(method), method.steps[case.name]
            if not steps or given.only not in f"{case.name} {name}":
                continue
            found = measured(case, method, given.periods)
            rows[case.name][name] = [
                name, f"{steps}", f"{given.periods:,}", f"{found.swing:.1e}", f"{found.slope:+.1e} ± {found.uncertainty:.0e}",
                f"{found.last:+.1e}", f"{found.seconds:.0f}",
            ]  # fmt: skip
            print(case.name, *rows[case.name][name], flush=True)
            if method.keeps and creeps(found, steps, given.periods):
                wrong.append(f"{case.name}, {name}: {found}")
    made = f"Measured on {stamp()}, with holonomic {holonomic.__version__}."
    if given.page:
        KEPT.write_text(json.dumps({"rows": rows, "made": made}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        Path(given.page).write_text(page(cases, rows, made), encoding="utf-8")
    print("\n".join(wrong) or "no method that keeps energy has a trend")
    return 1 if given.check and wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
