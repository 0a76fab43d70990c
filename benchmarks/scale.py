"""Mechanisms of any size: tables beside code that is compiled for all of a mechanism. Writes docs/scale.md.

    python benchmarks/scale.py [--page] [names ...]

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
from stamp import stamp

from holonomic import DOP853, RK4, Projection, simulate
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import invoke
from holonomic.multibody import Mechanism, rod
from holonomic.native import cachefolder
from holonomic.planning.reuse import model_of

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
LIMIT = 41  # bodies, up to which code is compiled, too
LONG = 1200  # bodies, up to which 1 s is run


def chain(n: int) -> Mechanism:
    """Rods of 0.1 m and 0.1 kg on pins, released level."""
    m, before = Mechanism(), "ground"
    for i in range(n):
        m.body(f"b{i}", rod((0.1 * i, 0), (0.1 * i + 0.1, 0), mass=0.1))
        m.revolute(f"j{i}", before, f"b{i}", at=(0.1 * i, 0))
        before = f"b{i}"
    return m


def branches(n: int) -> Mechanism:
    """Unequal rods, a branch at every tenth, a spring on every joint."""
    m, before, at, random = Mechanism(), "ground", np.zeros(2), np.random.default_rng(0)
    for i in range(n):
        step = random.uniform(0.05, 0.15) * np.array([1.0, 0.3 * (-1) ** i])
        m.body(f"b{i}", rod(at, at + step, mass=random.uniform(0.05, 0.2)))
        m.revolute(f"j{i}", before, f"b{i}", at=at)
        m.torsion_spring(f"j{i}", stiffness=0.5)
        if i % 10:
            before, at = f"b{i}", at + step
    return m


def ball_chain(n: int) -> Mechanism:
    """Rods of 0.1 m in space on ball joints, released level, with a first turn."""
    m, before = Mechanism(gravity=(0, 0, -9.81)), "ground"
    for i in range(n):
        at, to = (0.1 * i, 0, 0), (0.1 * i + 0.1, 0, 0)
        m.body(f"b{i}", rod(at, to, mass=0.1, width=0.01))
        m.spherical(f"j{i}", before, f"b{i}", at=at)
        before = f"b{i}"
    return m


def four_bars(n: int) -> Mechanism:
    """A row of n four-bar linkages of 1 m and 1 kg, hanging, released at 45 degrees."""
    m, d = Mechanism(), np.array([np.sqrt(0.5), -np.sqrt(0.5)])
    for i in range(n + 1):
        m.body(f"u{i}", rod((i, 0), (i, 0) + d, mass=1.0))
        m.revolute(f"A{i}", m.ground, f"u{i}", at=(i, 0))
    for i in range(n):
        m.body(f"c{i}", rod((i, 0) + d, (i + 1, 0) + d, mass=1.0))
        m.revolute(f"B{i}", f"u{i}", f"c{i}", at=(i, 0) + d)
        m.revolute(f"C{i}", f"c{i}", f"u{i + 1}", at=(i + 1, 0) + d)
    return m


def net(n: int) -> Mechanism:
    """n x n point masses on rods of 0.1 m, held at one corner."""
    m = Mechanism()
    for i in range(n):
        for j in range(n):
            m.body(f"p{i}-{j}", at=(0.1 * i, -0.1 * j), mass=0.01)
    for i in range(n):
        for j in range(n):
            for k, l in ((i + 1, j), (i, j + 1)):
                if k < n and l < n:
                    ends = ((0.1 * i, -0.1 * j), (0.1 * k, -0.1 * l))
                    m.distance(f"r{i}-{j}-{k}-{l}", f"p{i}-{j}", f"p{k}-{l}", at=ends)
    m.revolute("held", m.ground, "p0-0", at=(0, 0))
    return m


CASES = {
    "chain": (chain, (10, 40, 100, 1000, 10_000)), "branches": (branches, (1000,)), "ball chain": (ball_chain, (10, 100, 1000)),
    "four-bars": (four_bars, (5, 400)), "net": (net, (5, 15)),
}  # fmt: skip
TITLES = {
    "chain": "planar chain", "branches": "unequal rods, branches, springs", "ball chain": "ball chain in space",
    "four-bars": "row of four-bars", "net": "net of rods",
}  # fmt: skip


def evaluation(m: Mechanism, how: str) -> float:
    """Seconds of one call of the field, the best of many."""
    system, q, v = m.to_system(compile=how)
    model = model_of(system, q, v, 0.0)
    fns, lengths = model.table((Fn.FIELD,))
    x, out, data, best = np.concatenate([q, v]), np.empty(lengths[Fn.FIELD]), model.data(), np.inf
    many = max(2, 2000 // len(m.bodies))
    for _ in range(30):
        began = time.perf_counter()
        for _ in range(many):
            invoke(fns, int(Fn.FIELD), 0.0, x, x, data, out)
        best = min(best, (time.perf_counter() - began) / many)
    return best


def first_result(make, n: int, how: str) -> tuple[Mechanism, float]:
    """A mechanism drawn and run for one step; and the time that took."""
    began = time.perf_counter()
    m = make(n)
    simulate(m, 1e-4, step=1e-4, integrator=RK4(), stabilization=Projection(), compile=how, save_at=2)
    return m, time.perf_counter() - began


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
            began = time.perf_counter()
            sol = simulate(m, 1.0, compile="never", integrator=DOP853(), save_at=3)
            drift = [f"{np.abs(sol.drift[level]).max():.0e}" for level in ("position", "velocity")]
            run = [seconds(time.perf_counter() - began), str(sol.stats["steps"]), f"{np.abs(sol.energy_error).max():.0e}", *drift]
        code = ["", ""]
        if bodies <= LIMIT:
            with nothing_kept():
                made, compiled = first_result(make, n, "now")
            code = [seconds(compiled), f"{1e9 * evaluation(made, 'now') / bodies:.0f}"]
    cells = [TITLES[name], str(bodies), seconds(first), f"{1e9 * took / bodies:.0f}", *run, *code]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


HEAD = """# Mechanisms of any size

[Tables](mechanisms.md#tables) beside code that is compiled for all of a mechanism. `python benchmarks/scale.py --page` makes this
page: one core of a shared machine, on which a time may be off by a factor of two; code's first result is that of a run that
compiles. Every mechanism is drawn from nothing; "first result" is the time until a run of one step has ended, "evaluation" one
call of the field by the number of bodies, "1 s" a run with DOP853 and Projection at rtol 1e-6, with the change of its energy
beside its largest part and the largest |g| and |G v| at three times.

| mechanism | bodies | first result | evaluation (ns) | 1 s | steps | energy | g | G v | code: first result | evaluation (ns) |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--page", action="store_true", help="write docs/scale.md")
    given = parser.parse_args()
    rows = [row(name, n) for name, (_, sizes) in CASES.items() if not given.names or name in given.names for n in sizes]
    if given.page:
        PAGE.write_text(HEAD + "\n".join(rows) + f"\n\nMeasured on {stamp()}.\n", encoding="utf-8")


if __name__ == "__main__":
    main()
