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

from holonomic import DOP853, RK4, Index2, Projection, Radau, simulate
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import invoke
from holonomic.multibody import Mechanism, disk, rod
from holonomic.native import cachefolder
from holonomic.planning.reuse import model_of
from holonomic.planning.workspace import Workspace

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
    """A row of n four-bar linkages of 1 m and 1 kg, hanging, released at 45 degrees; a unit that is repeated."""
    unit, m, d = Mechanism(), Mechanism(), np.array([np.sqrt(0.5), -np.sqrt(0.5)])
    unit.body("u", rod((0, 0), d, mass=1.0))
    unit.body("c", rod(d, (1, 0) + d, mass=1.0))
    unit.revolute("A", unit.ground, "u", at=(0, 0))
    unit.revolute("B", "u", "c", at=d)
    row = m.repeat("row", unit, times=n, step=(1, 0))
    last = m.body("last", rod((n, 0), (n, 0) + d, mass=1.0))
    m.revolute("A", m.ground, last, at=(n, 0))
    if n > 1:
        m.revolute("C", row["c"][:-1], row["u"][1:], at=np.arange(1, n)[:, None] * [1.0, 0.0] + d)
    m.revolute("C last", row["c"][-1], last, at=(n, 0) + d)
    return m


def net(n: int) -> Mechanism:
    """n x n point masses on rods of 0.1 m, held at one corner; drawn by one call."""
    m, side = Mechanism(), 0.1 * (n - 1)
    knots = m.net("net", at=((0, 0), (0, -side), (side, 0)), size=(n, n), mass=0.01 * n * n)
    m.revolute("held", m.ground, knots[0], at=(0, 0))
    return m


def drawn_chain(n: int) -> Mechanism:
    """The same as `chain`, drawn with one call."""
    m = Mechanism()
    m.chain("rope", at=((0, 0), (0.1 * n, 0)), links=n, mass=0.1 * n, first=m.ground)
    return m


def tree(n: int) -> Mechanism:
    """Unequal rods, each on one of the last ten before it."""
    m, ends, random = Mechanism(), [("ground", np.zeros(2))], np.random.default_rng(1)
    for i in range(n):
        before, at = ends[random.integers(max(0, len(ends) - 10), len(ends))]
        to = at + random.uniform(0.05, 0.15) * np.array([1.0, random.uniform(-0.5, 0.5)])
        m.body(f"b{i}", rod(at, to, mass=random.uniform(0.05, 0.2)))
        m.revolute(f"j{i}", before, f"b{i}", at=at)
        ends.append((f"b{i}", to))
    return m


def gears(n: int) -> Mechanism:
    """A train of wheels on the ground, each in gear with the next; a weight turns the first."""
    m = Mechanism()
    for i in range(n):
        m.body(f"w{i}", disk((0.2 * i, 0), 0.1, mass=0.5))
        m.revolute(f"A{i}", m.ground, f"w{i}", at=(0.2 * i, 0))
        if i:
            ends = ((0.2 * i - 0.2, 0), (0.2 * i, 0))
            m.gear(f"g{i}", f"w{i - 1}", f"w{i}", at=ends, radii=(0.1, 0.1))
    m.torque("turn", "w0", value=0.05)
    return m


def hinge_chain(n: int) -> Mechanism:
    """Rods in space on hinges whose axes turn by a right angle from one to the next."""
    m, before = Mechanism(gravity=(0, 0, -9.81)), "ground"
    for i in range(n):
        at, to = (0.1 * i, 0, 0), (0.1 * i + 0.1, 0, 0)
        m.body(f"b{i}", rod(at, to, mass=0.1, width=0.01))
        m.revolute(f"j{i}", before, f"b{i}", at=at, axis=(0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        before = f"b{i}"
    return m


def arm(n: int) -> Mechanism:
    """Links in space on hinges, each with a motor whose law is the user's."""
    m = hinge_chain(n)
    for i in range(n):
        m.motor(f"j{i}", torque=lambda angle, speed, i=i: -2.0 * np.sin(angle - 0.1) - 0.05 * speed)
    return m


CASES = {
    "chain": (chain, (10, 40, 100, 1000, 10_000)), "drawn chain": (drawn_chain, (10_000, 100_000)),
    "branches": (branches, (1000,)),
    "tree": (tree, (1000,)), "ball chain": (ball_chain, (10, 100, 1000)), "hinge chain": (hinge_chain, (10, 100)),
    "arm": (arm, (6,)), "gears": (gears, (20,)), "four-bars": (four_bars, (5, 400, 4000)), "net": (net, (5, 15, 30, 100)),
}  # fmt: skip
TITLES = {
    "chain": "planar chain", "drawn chain": "planar chain, `m.chain`", "branches": "unequal rods, branches, springs",
    "tree": "random tree of unequal rods", "ball chain": "ball chain in space", "hinge chain": "hinge chain in space",
    "arm": "arm with motors by laws of one's own", "gears": "train of gears", "four-bars": "row of four-bars, `m.repeat`",
    "net": "net of rods, `m.net`",
}  # fmt: skip
# what is aimed at: first result, evaluation in ns a body, 1 s
GOALS = {
    ("chain", 10): ("", "45", ""), ("chain", 100): ("", "15", ""), ("chain", 1000): ("", "13", "100 ms"),
    ("drawn chain", 100_000): ("500 ms", "40", ""), ("branches", 1000): ("", "60", ""), ("ball chain", 100): ("", "60", ""),
    ("four-bars", 400): ("", "60", "30 ms"), ("four-bars", 4000): ("", "60", "300 ms"),
    ("net", 30): ("", "1000", ""), ("hinge chain", 100): ("", "150", ""),
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
    goals = GOALS.get((name, n), ("", "", ""))
    cells = [TITLES[name], str(bodies), seconds(first), f"{1e9 * took / bodies:.0f}", *run, *code, " / ".join(goals).strip(" /")]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


HEAD = """# Mechanisms of any size

[Tables](mechanisms.md#tables) beside code that is compiled for all of a mechanism. `python benchmarks/scale.py --page` makes this
page: one core of a shared machine, on which a time may be off by a factor of two; code's first result is that of a run that
compiles. Every mechanism is drawn from nothing; "first result" is the time until a run of one step has ended, "evaluation" one
call of the field by the number of bodies, "1 s" a run with DOP853 and Projection at rtol 1e-6, with the change of its energy
beside its largest part and the largest |g| and |G v| at three times. The last column has what is aimed at: first result,
evaluation, 1 s, in this order.

| mechanism | bodies | first result | evaluation (ns) | 1 s | steps | energy | g | G v | code: first | evaluation (ns) | aim |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""


def stiff_chain(n: int) -> Mechanism:
    """The chain with a torsion spring and a damper on every pin that decay within microseconds."""
    m = chain(n)
    for i in range(n):
        m.torsion_spring(f"j{i}", stiffness=5e3, damping=50.0)
    return m


# of implicit methods: what is drawn, how many bodies, how long, and whether explicit steps are tried for a hundredth of that
IMPLICIT = {
    "planar chain": (chain, (100, 1000, 10_000), 1.0, False),
    "planar chain, `m.chain`": (drawn_chain, (100_000,), 1.0, False),
    "ball chain in space": (ball_chain, (100, 1000), 1.0, False),
    "planar chain, stiff springs and dampers": (stiff_chain, (100, 1000), 0.1, True),
}  # fmt: skip


def implicit_row(title: str, make, n: int, long: float, explicit: bool) -> str:
    """One line of the table of implicit methods: Radau with Index2, and DOP853 where that is tried."""
    how = {"compile": "never", "save_at": 3, "rtol": 1e-3, "atol": 1e-2, "stabilization": Projection()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m = make(n)
        radau = {"integrator": Radau(), "formulation": Index2(), **how}
        began = time.perf_counter()
        simulate(m, 1e-9, **radau)
        first = time.perf_counter() - began
        began = time.perf_counter()
        sol = simulate(m, long, **radau)
        took = time.perf_counter() - began
        steps = sol.stats["steps"]
        ratio = ""
        if explicit:
            began = time.perf_counter()
            simulate(m, 0.01 * long, integrator=DOP853(), **how)
            ratio = f"{100 * (time.perf_counter() - began) / took:.0f}"
    kept = 8e-3 * sum(part.size for part in Workspace(sol.plan).loop.state) / n
    drift = [f"{np.abs(sol.drift[level]).max():.0e}" for level in ("position", "velocity")]
    cells = [title, str(n), seconds(first), f"{long:g} s", seconds(took), str(steps)]
    cells += [f"{1e9 * took / steps / n:.0f}", f"{kept:.1f}"]
    cells += [f"{np.abs(sol.energy_error).max():.0e}", *drift, ratio]
    print(" | ".join(cells), flush=True)
    return "| " + " | ".join(cells) + " |"


IMPLICIT_HEAD = """

## Implicit methods

`Radau()` with `Index2()` and `Projection()`, rtol 1e-3, atol 1e-2: "first" is the time until its first step has ended, the order of
elimination found; then a run of so long, its time, steps, ns by steps and bodies, kB of its arrays by bodies, energy, |g| and |G v|
as above. "DOP853" is how many times longer it would take, by a hundredth of the run.

| mechanism | bodies | first | run | time | steps | step (ns) | kB | energy | g | G v | DOP853 |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


LONG_HEAD = """

## Long chains

`m.chain` in the plane: drawn, the time until a run of one step of RK4 with Projection has ended, and a further step, in
seconds of the processor; memory that the process has taken by then, in kB a body; the largest |g|. A step of 10⁶ links is to take
1 s.

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
    given = parser.parse_args()
    rows = [row(name, n) for name, (_, sizes) in CASES.items() if not given.names or name in given.names for n in sizes]
    implicit = [] if given.names else [
        implicit_row(title, make, n, long, explicit) for title, (make, sizes, long, explicit) in IMPLICIT.items() for n in sizes
    ]  # fmt: skip
    long = [] if given.names else [long_row(n) for n in (10_000, 100_000, 1_000_000)]
    if given.page:
        tables = "\n".join(rows) + LONG_HEAD + "\n".join(long) + IMPLICIT_HEAD + "\n".join(implicit)
        text = HEAD + tables + f"\n\nMeasured on {stamp()}.\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
