"""Throughput of sweeps of mechanisms as tables on a GPU, beside code of the whole mechanism and threads.

    python benchmarks/gpu_tables.py [members] [names ...] > result.json

Members differ in one mass; RK45 with Projection to t = 0.2, rtol 1e-5, end state saved. "first" is the first sweep, compiled or
taken from disk, "kernel" the time the GPU is busy, "sweep" the whole call with all results on the device.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import holonomic as h
from gpu import machine
from holonomic.multibody import Mechanism, rod
from holonomic.problems.delta_robot import delta_robot_mechanism

T_END, FEW, ON_THREADS = 0.2, 64, 2000
AS_CODE = ("chain of 5", "three four-bars")  # what compiles in a minute


def chain(n: int) -> Mechanism:
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * n, 0)), links=n, mass=0.1 * n, first=m.ground)
    return m


def four_bars(n: int) -> Mechanism:
    m = Mechanism(gravity=(0, -9.81))
    for i in range(n):
        A, B, C, D = ((3.0 * i + x, y) for x, y in ((0, 0), (0.3, 0.5), (1.2, 0.7), (1.0, 0)))
        a, b, c = (
            m.body(f"{name}{i}", rod(*ends, mass=mass))
            for name, ends, mass in (("a", (A, B), 1.0), ("b", (B, C), 2.0), ("c", (D, C), 1.5))
        )
        for name, first, second, at in (("A", m.ground, a, A), ("B", a, b, B), ("C", b, c, C), ("D", c, m.ground, D)):
            m.revolute(f"{name}{i}", first, second, at=at)
    return m


CASES = {
    "chain of 4": lambda: chain(4), "chain of 5": lambda: chain(5), "chain of 20": lambda: chain(20),
    "three four-bars": lambda: four_bars(3), "delta robot": delta_robot_mechanism,
}  # fmt: skip


def measure(name: str, how: str, members: int) -> dict:
    def given(n: int) -> dict:
        mass = next(each for each in m.params if each.endswith("mass"))
        return {
            "params": {mass: float(m.params[mass]) * np.linspace(0.8, 1.2, n)}, "compile": how, "integrator": h.RK45(),
            "rtol": 1e-5, "save_at": [T_END], "progress": False,
        }  # fmt: skip

    m = CASES[name]()
    first = time.perf_counter()
    h.sweep(m, T_END, on="cuda", **given(min(256, members)))
    first = time.perf_counter() - first
    few = [h.sweep(m, T_END, on=on, **given(FEW)) for on in ("cuda", "threads")]
    whole, busy = np.inf, np.inf
    for _ in range(2):
        begin = time.perf_counter()
        runs = h.sweep(m, T_END, on="cuda", **given(members))
        whole, busy = min(whole, time.perf_counter() - begin), min(busy, runs.source.engine.seconds)
    begin = time.perf_counter()
    h.sweep(m, T_END, workers=2, **given(ON_THREADS))
    threads = time.perf_counter() - begin
    return {
        "case": name, "compile": how, "members": members, "first call s": first, "kernel runs/s": members / max(busy, 1e-9),
        "sweep runs/s": members / whole, "two threads runs/s": ON_THREADS / threads, "steps": float(np.mean(few[0].steps)),
        "apart": float(np.max(np.abs(few[0].q - few[1].q))), "same steps": bool(np.array_equal(few[0].steps, few[1].steps)),
        "failed": len(runs.failed), "on the processor": runs.source.engine.aside,
    }  # fmt: skip


if __name__ == "__main__":
    members = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 17
    names = sys.argv[2:] or list(CASES)
    rows = [(name, "never") for name in names] + [(name, "now") for name in names if name in AS_CODE]
    json.dump({"machine": machine(), "runs": [measure(*row, members) for row in rows]}, sys.stdout, indent=1)
