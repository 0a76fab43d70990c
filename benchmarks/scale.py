"""Mechanisms of any size: tables beside code that is compiled for all of a mechanism. Writes docs/scale.md.

    python benchmarks/scale.py [--page] [--peers PYTHON] [names ...]

Every row is a mechanism drawn from nothing. "first result" is the time from there to the end of a run of one step, kernels and
kinds of elements being compiled already; "evaluation" the best of many calls of the field, by the number of bodies; "1 s" the
run with DOP853 and Projection at rtol 1e-6, with its steps, the change of its energy, the largest |g| and |G v|. Code, where
it is compiled at all: the time to its first result, and its evaluation.
"""

from __future__ import annotations

import argparse
import contextlib
import time
import warnings
from pathlib import Path

import numpy as np
from large_mechanisms import CASES, TITLES, ball_chain, chain, drawn_chain, stiff_chain
from scale_peers import BESIDE, BESIDE_HEAD, beside_rows
from stamp import stamp
from table_timing import evaluation, first_result

from holonomic import BDF, DOP853, RK4, GeneralizedAlpha, Index2, Index3, Projection, Radau, simulate
from holonomic.native import cachefolder
from holonomic.planning.workspace import Workspace

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
LIMIT = 41  # bodies, up to which code is compiled, too
LONG = 1200  # bodies, up to which 1 s is run
# what is aimed at: first result, evaluation in ns a body, 1 s
GOALS = {
    ("chain", 10): ("", "45", ""), ("chain", 100): ("", "15", ""), ("chain", 1000): ("", "13", "100 ms"),
    ("drawn chain", 100_000): ("500 ms", "40", ""), ("branches", 1000): ("", "60", ""), ("ball chain", 100): ("", "60", ""),
    ("four-bars", 400): ("", "60", "30 ms"), ("four-bars", 4000): ("", "60", "300 ms"),
    ("net", 30): ("", "1000", ""), ("net", 100): ("", "1000", ""), ("delta", 1): ("30 ms", "", ""),
    ("driven delta", 1): ("30 ms", "", ""), ("spatial loops", 300): ("", "400", ""), ("hinge chain", 100): ("", "150", ""),
}  # fmt: skip


@contextlib.contextmanager
def nothing_kept():
    """As if no model had been compiled before."""
    read = cachefolder.read
    cachefolder.read = lambda folder, name: None if folder == "models" else read(folder, name)
    try:
        yield
    finally:
        cachefolder.read = read


def seconds(value: float) -> str:
    return f"{1e3 * value:.0f} ms" if value < 1 else f"{value:.1f} s"


def row(name: str, n: int) -> str:
    """One line of the table."""
    make = CASES[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first_result(make, 4, "never")  # kinds of elements, kernels
        m, first = first_result(make, n, "never")
        bodies = len(m.bodies)
        took = evaluation(m, "never")
        run = ["", "", "", "", ""]
        if bodies <= LONG and name != "net":  # which comes to singular positions
            explicit = {"compile": "never", "integrator": DOP853(), "save_at": 3}
            simulate(m, 1e-9, **explicit)  # loads the method
            began = time.perf_counter()
            sol = simulate(m, 1.0, **explicit)
            drift = [f"{np.abs(sol.drift[level]).max():.0e}" for level in ("position", "velocity")]
            run = [seconds(time.perf_counter() - began), str(sol.stats["steps"]), f"{np.abs(sol.energy_error).max():.0e}", *drift]
        code = ["", ""]
        if bodies <= LIMIT:
            with nothing_kept():
                made, compiled = first_result(make, n, "now")
            code = [seconds(compiled), f"{1e9 * evaluation(made, 'now') / bodies:.0f}"]
    goals = GOALS.get((name, n), ("", "", ""))
    cells = [TITLES[name], str(bodies), seconds(first), f"{1e9 * took / bodies:.0f}", *run, *code, " / ".join(goals).strip(" /")]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


HEAD = """# Mechanisms of any size

This page compares [tables](mechanisms.md#tables) with code that is compiled for all of a mechanism. `python
benchmarks/scale.py --page --peers PYTHON` makes it, on one core of a shared machine, where a time may be off by a factor of
two. Every mechanism is drawn from nothing.

- "First result" is the time until a run of one step has ended. With code this run compiles.
- "Evaluation" is one call of the field by the number of bodies.
- "1 s" is a run with DOP853 and Projection at rtol 1e-6, with the change of its energy beside its largest part and the
  largest |g| and |G v| at three times.
- "Goal" has first result, evaluation and 1 s, in this order.

| mechanism | bodies | first result | evaluation (ns) | 1 s | steps | energy | g | G v | code: first | evaluation (ns) | goal |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""


# of implicit methods: what is drawn, how many bodies, how long, and whether explicit steps are tried for a hundredth of that
IMPLICIT = {
    "planar chain": (chain, (100, 1000, 10_000), 1.0, False),
    "planar chain, `m.chain`": (drawn_chain, (100_000,), 1.0, False),
    "ball chain in space": (ball_chain, (100, 1000), 1.0, False),
    "planar chain, stiff springs and dampers": (stiff_chain, (100, 1000), 0.1, True),
}
METHODS = {"Radau": (Radau(), Index2()), "BDF": (BDF(), Index2()), "generalized-α": (GeneralizedAlpha(), Index3())}


def implicit_row(title: str, make, n: int, long: float, explicit: bool, method: str = "Radau") -> str:
    """One line of the table of implicit methods, with DOP853 where that is tried."""
    how = {"compile": "never", "save_at": 3, "rtol": 1e-3, "atol": 1e-2, "stabilization": Projection()}
    integrator, formulation = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = make(n)
        used = {"integrator": integrator, "formulation": formulation, **how}
        began = time.perf_counter()
        simulate(m, 1e-9, **used)
        first = time.perf_counter() - began
        began = time.perf_counter()
        sol = simulate(m, long, **used)
        took = time.perf_counter() - began
        steps = sol.stats["steps"]
        ratio = ""
        if explicit:
            began = time.perf_counter()
            simulate(m, 0.01 * long, integrator=DOP853(), **how)
            ratio = f"{100 * (time.perf_counter() - began) / took:.0f}"
    kept = 8e-3 * sum(part.size for part in Workspace(sol.plan).loop.state) / n
    drift = [f"{np.abs(sol.drift[level]).max():.0e}" for level in ("position", "velocity")]
    cells = [title, str(n), method, seconds(first), f"{long:g} s", seconds(took), str(steps)]
    cells += [f"{1e9 * took / steps / n:.0f}", f"{kept:.1f}"]
    cells += [f"{np.abs(sol.energy_error).max():.0e}", *drift, ratio]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


def implicit_rows() -> list[str]:
    """All of them: Radau everywhere, the others on a chain of 10⁴ rods."""
    cases = [(title, make, n, *more) for title, (make, sizes, *more) in IMPLICIT.items() for n in sizes]
    cases += [("planar chain", chain, 10_000, 1.0, False, method) for method in METHODS if method != "Radau"]
    return [implicit_row(*case) for case in cases]


IMPLICIT_HEAD = """

## Implicit methods

Radau and BDF run with `Index2`, generalized-α with `Index3`, all with `Projection()`, rtol 1e-3, atol 1e-2.

- "First" is the time until the first step has ended, with the order of elimination found.
- "Run" is the length of a run. Then come its time, steps, ns by steps and bodies, and kB of its arrays by bodies.
- Energy, |g| and |G v| are as above. "DOP853" is how many times longer it would take, by a hundredth of the run.

| mechanism | bodies | method | first | run | time | steps | step (ns) | kB | energy | g | G v | DOP853 |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


LONG_HEAD = """

## Long chains

`m.chain` in the plane. The columns have processor time to draw it, until a run of one step of RK4 with Projection has ended,
and for a further step. Then come the memory that the process has taken by then, in kB a body, and the largest |g|. The goal
for a step of 10⁶ links is 1 s.

| links | drawn | first result | step | kB | g |
| ---: | ---: | ---: | ---: | ---: | ---: |
"""


def memory() -> int:
    """Bytes that this process has in memory."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def long_row(n: int) -> str:
    """One line of the table of long chains."""
    how = {"step": 1e-4, "integrator": RK4(), "stabilization": Projection(), "compile": "never", "save_at": 2}
    first_result(drawn_chain, 4, "never")
    before, began = memory(), time.process_time()
    m = drawn_chain(n)
    drawn = time.process_time() - began
    sol = simulate(m, 1e-4, **how)
    first, taken = time.process_time() - began, memory() - before
    g, took = np.abs(sol.drift["position"]).max(), []
    for steps in (1, 4):
        began = time.process_time()
        simulate(m, 1e-4 * steps, **how)
        took.append(time.process_time() - began)
    cells = [str(n), seconds(drawn), seconds(first), seconds((took[1] - took[0]) / 3), f"{1e-3 * taken / n:.1f}", f"{g:.0e}"]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--page", action="store_true", help="write docs/scale.md")
    parser.add_argument("--peers", metavar="PYTHON", help="of an environment with mujoco, exudyn and pin, to measure them beside")
    given = parser.parse_args()
    if given.page and (given.names or not given.peers):
        parser.error("the page is written whole: --page --peers PYTHON, without names")
    rows = [row(name, n) for name, (_, sizes) in CASES.items() if not given.names or name in given.names for n in sizes]
    implicit = [] if given.names else implicit_rows()
    long = [] if given.names else [long_row(n) for n in (10_000, 100_000, 1_000_000)]
    beside = [] if not given.peers else [
        line for name, sizes in BESIDE.items() if not given.names or name in given.names for n in sizes
        for line in beside_rows(name, n, given.peers)
    ]  # fmt: skip
    if given.page:
        tables = "\n".join(rows) + LONG_HEAD + "\n".join(long) + IMPLICIT_HEAD + "\n".join(implicit)
        tables += BESIDE_HEAD + "\n".join(beside)
        text = HEAD + tables + f"\n\nMeasured on {stamp()}.\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
