"""Runs sweeps of mechanisms as tables on CUDA and on threads, and prints how far apart they are, as JSON.

A program of its own for the same reason as `both_engines`; names of cases may follow, else all are run.
"""

import json
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")  # 0: a real GPU
sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import holonomic as h
from holonomic.gpu import engine
from holonomic.multibody import Mechanism
from tests.multibody.machines import four_bar, planetary_gear, slider_crank
from tests.multibody.test_tables import ball_chain, warm_arm

warnings.simplefilter("ignore")


def rope(links):
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * links, 0)), links=links, mass=0.1 * links, first=m.ground)
    m.torsion_spring("rope pin 1", stiffness=0.02, damping=0.001)
    return m


def crank():
    m = slider_crank()
    m.output("lead", lambda slider: slider.position[0])
    return m


MASSES = {"rope 0.mass": [0.1, 0.2, 0.4]}
ROD = {"first mass": np.array([0.9, 1.0, 1.2])}  # times that of the first parameter with such a name
FIXED = {"integrator": h.RK4(), "step": 0.01, "rtol": None}
AT = h.Event(lambda q: q[1] + 0.01)
ENDS = h.Event(lambda q: q[1] + 0.01, terminal=True)

CASES = {
    "masses": (lambda: rope(4), 0.1, {"params": MASSES}),
    "another chain": (lambda: rope(5), 0.1, {"params": MASSES}),
    "gravity": (lambda: rope(4), 0.1, {"params": {"gravity.y": [-9.81, -5.0]}}),
    "no stabilization": (lambda: rope(3), 0.1, {"params": MASSES, "stabilization": None, "integrator": h.DOP853()}),
    "fixed steps": (lambda: rope(3), 0.1, {"params": MASSES, **FIXED}),
    "at the new point": (lambda: rope(3), 0.05, {"params": MASSES, "stabilization": h.Projection(at="new"), **FIXED}),
    "S_both2": (lambda: rope(3), 0.1, {"params": MASSES, "stabilization": h.S_both2(), **FIXED}),
    "Baumgarte": (lambda: rope(3), 0.1, {"params": MASSES, "stabilization": h.Baumgarte(10.0), **FIXED}),
    "events": (lambda: rope(3), 0.1, {"params": MASSES, "events": {"low": AT}}),
    "terminal event": (lambda: rope(3), 0.1, {"params": MASSES, "events": {"low": ENDS}}),
    "outputs": (crank, 0.1, {"params": ROD, "outputs": ["lead"]}),
    "in space": (lambda: ball_chain(3), 0.1, {"params": ROD}),
    "loop": (slider_crank, 0.1, {"params": ROD}),
    "rows that repeat others": (lambda: four_bar(3), 0.1, {"params": ROD}),
    "a gear": (lambda: planetary_gear(0.2), 0.1, {"params": {"sun.mass": [1.0, 1.1]}}),
    "states": (warm_arm, 0.1, {"params": ROD}),
    "by itself": (lambda: rope(14), 0.05, {"params": MASSES, "compile": None}),
    "by itself as code": (lambda: rope(14), 0.02, {"params": MASSES, "compile": None, "stabilization": h.Projection(metric="mass")}),
    "compiled": (lambda: four_bar(3), 0.1, {"params": ROD, "compile": "now"}),
}  # fmt: skip


def compared(make, t_end, given):
    """Both engines' states, and what else has to agree."""
    m = make()
    options = {"compile": "never", "integrator": h.RK45(), "rtol": 1e-6, "save_at": 4, "progress": False} | given
    if "first mass" in options["params"]:
        name = next(name for name in m.params if name.endswith("mass"))
        options["params"] = {name: options["params"]["first mass"] * m.params[name]}
    cpu, gpu = (h.sweep(m, t_end, on=engine, **options) for engine in ("threads", "cuda"))
    names = options.get("outputs")
    states = [(cpu[name], gpu[name]) for name in names] if names else [(cpu.q, gpu.q), (cpu.v, gpu.v)]
    found = {
        "states": max(float(np.nanmax(np.abs(a - b))) for a, b in states),
        "largest": max(float(np.nanmax(np.abs(a))) for a, _ in states),
        "same steps": bool(np.array_equal(cpu.steps, gpu.steps)),
        "failed": len(cpu.failed) + len(gpu.failed), "reached": float(np.max(np.abs(cpu.reached - gpu.reached))),
        "tiers": [runs.plan.tier for runs in (cpu, gpu)],
    }  # fmt: skip
    if not names:
        found["aside"] = gpu.source.engine.aside
        found["spread"] = float(np.nanmax(np.abs(gpu.q[0] - gpu.q[-1])))
    if options.get("events"):
        times = [runs.events["low"].t for runs in (cpu, gpu)]
        found["events"] = [len(t) for t in times]
        found["event times"] = float(np.max(np.abs(times[0] - times[1]), initial=0.0))
    return found


def refusal(m, **given):
    """What is said instead of a sweep."""
    try:
        h.sweep(m, 0.01, params=MASSES, compile="never", on="cuda", progress=False, **({"integrator": h.RK45()} | given))
    except h.HolonomicError as refused:
        return str(refused)


def main():
    results = {}
    for name in sys.argv[1:] or CASES:
        results[name] = compared(*CASES[name])
        results[name]["programs"] = len(engine._modules)
    if not sys.argv[1:]:
        loaded = rope(3)
        loaded.friction("rope pin 1", coefficient=0.1, radius=0.01)
        results["refused"] = {
            "a large one": refusal(rope(60), integrator=h.DOP853()), "a huge one": refusal(rope(2000)),
            "friction": refusal(loaded), "metric": refusal(rope(3), stabilization=h.Projection(metric="mass")),
            "half-explicit": refusal(rope(3), integrator=h.PHEM56()), "implicit": refusal(rope(3), integrator=h.Radau()),
        }  # fmt: skip
    json.dump(results, sys.stdout)


main()
