"""Runs sweeps on CUDA and on threads, and prints how far apart they are, as JSON.

Numba's simulator, or a real GPU where NUMBA_ENABLE_CUDASIM=0: that has to be said before Numba is imported, so this is a
program of its own.
"""

import json
import os
import sys
import warnings

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")  # 0: a real GPU

import numpy as np

import holonomic as h

warnings.simplefilter("ignore")
SWING = h.System(
    mass=lambda p: p.m * np.eye(2),
    force=lambda q, v, p: np.array([-0.1 * v[0], -p.m * p.g - 0.1 * v[1]]),
    constraint={"rod": lambda q, p: q @ q - p.L**2},
    params={"m": 1.0, "g": 9.81, "L": 1.0},
    coordinates=["x", "y"],
)
KEPLER = h.Ode(
    rhs=lambda y: np.array([y[2], y[3], -y[0] / (y[0] ** 2 + y[1] ** 2) ** 1.5, -y[1] / (y[0] ** 2 + y[1] ** 2) ** 1.5]),
    invariants={"momentum": lambda y: y[0] * y[3] - y[1] * y[2]},
)
# a bar on three parallel links, one of which repeats the others
LEVEL = h.System(
    mass=np.diag([1.0, 1.0, 1 / 3]),
    force=[0.0, -9.81, 0.0],
    constraint={
        f"link {s:g}": (lambda q, s=s: (q[0] + s * np.cos(q[2]) - s) ** 2 + (q[1] + s * np.sin(q[2])) ** 2 - 1.0)
        for s in (-1.0, 0.0, 1.0)
    },
)
SPEEDS = np.array([[1.0, 0.0], [2.0, 0.0], [2.5, 0.0]])
LOWEST = {"q0": [0.0, -1.0], "v0": SPEEDS}

INTEGRATORS = [h.Euler(), h.Heun(), h.Midpoint(), h.RK4(), h.RK23(), h.RK45(), h.DOP853(), h.PHEM56()]
STABILIZATIONS = [
    None, h.Projection(), h.Projection(at="new"), h.Projection(on="full"), h.Projection(metric="mass"), h.S_vel(),
    h.S_pos(), h.S_both(), h.S_both2(), h.S_full(), h.PostStabilization(on="cheap-full"),
    h.PostStabilization(freeze="inverse"), h.PostStabilization(freeze="stage"), h.PostStabilization(keep=3),
    h.Baumgarte(10.0), h.InvariantStabilization(10.0), h.ForwardEulerStabilization(), h.BackwardEulerStabilization(),
]  # fmt: skip


def apart(system, t_end, **options):
    """Largest differences of states and multipliers between the two engines, and what else has to agree."""
    on = {}
    for engine in ("threads", "cuda"):
        on[engine] = h.sweep(system, t_end, on=engine, progress=False, **options)
    cpu, gpu = on["threads"], on["cuda"]
    found = {
        "states": float(np.nanmax(np.abs(cpu.q - gpu.q))),
        "multipliers": float(np.nanmax(np.abs(cpu.lam - gpu.lam), initial=0.0)),
        "same steps": bool(np.array_equal(cpu.steps, gpu.steps)),
        "same saved": bool(np.array_equal(np.isnan(cpu.q), np.isnan(gpu.q))),
        "failed": [[f.member for f in runs.failed] for runs in (cpu, gpu)],
        "reached": float(np.max(np.abs(cpu.reached - gpu.reached))),
        "aside": gpu.source.engine.aside,
    }
    if options.get("events"):
        name = next(iter(options["events"]))
        times = [runs.events[name].t for runs in (cpu, gpu)]
        found["events"] = [len(t) for t in times]
        found["event times"] = float(np.max(np.abs(times[0] - times[1]), initial=0.0))
    return found


def stiff():
    """What is told of members that turn stiff on their way."""
    follow = h.Ode(lambda t, y, p: -p.r * np.maximum(0.0, t - 1.0) * (y - np.cos(t)) - np.sin(t), params={"r": 1.0})
    given = {"y0": [1.0], "params": {"r": np.array([1.0, 3e3])}, "save_at": 4, "on": "cuda", "progress": False}
    slow, stopped = h.sweep(follow, 2.0, **given), h.sweep(follow, 2.0, max_steps=350, **given)
    named = h.sweep(follow, 2.0, outputs=["y"], **given)  # whose states do not stay on the device
    return {
        "noted": [[note.member, note.kind, note.text] for note in slow.noted], "plan": repr(slow.plan),
        "same": named.noted == slow.noted, "failed": [[f.member, f.why] for f in stopped.failed],
        "steps": slow.steps.tolist(),
    }  # fmt: skip


def main():
    results = {}
    for integrator in INTEGRATORS:
        step = None if integrator.adaptive else 0.02
        more = {"integrator": integrator, "step": step, "save_at": 4, **LOWEST}
        results[f"{integrator!r}"] = apart(SWING, 0.3, **more)
    for stabilization in STABILIZATIONS:
        results[f"{stabilization!r}"] = apart(SWING, 0.3, integrator=h.RK4(), step=0.02, stabilization=stabilization, **LOWEST)
    lengths = {"L": np.array([0.98, 1.0, 1.02])}
    results["projected starts"] = apart(SWING, 0.2, q0=[0.0, -1.0], v0=[1.0, 0.0], params=lengths, initial="project")
    falls = np.array([[1.0, -2.0], [0.5, 3.0]])  # caught by the string, which takes what goes along it
    results["impacts"] = apart(SWING, 0.2, q0=[0.0, -1.0], v0=falls, initial="impact")
    results["starts off"] = apart(SWING, 0.2, q0=[0.0, -1.0], v0=[1.0, 0.0], params=lengths)
    ends = {"side": h.Event(lambda q: q[0] - 0.3, terminal=True)}
    results["terminal event"] = apart(SWING, 1.0, events=ends, save_at=6, **LOWEST)
    passes = {"bottom": h.Event(lambda q: q[0])}
    results["event"] = apart(SWING, 1.5, events=passes, integrator=h.RK45(), **LOWEST)
    ticks = {"tick": h.Event(lambda t, q: np.sin(100.0 * t + 0.5 * q[0] + 1.2))}
    results["fast event"] = apart(SWING, 0.25, events=ticks, **LOWEST)
    starts = np.array([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.1]])
    results["invariants"] = apart(KEPLER, 1.0, y0=starts, save_at=3)
    results["backward"] = apart(SWING, (0.3, 0.0), **LOWEST)
    swings = np.array([[0.8, 0.6, 0.0], [1.6, 1.2, 0.0]])
    results["redundant rows"] = apart(LEVEL, 0.3, q0=[0.6, -0.8, 0.0], v0=swings, save_at=4, redundant="minimum-norm")
    results["stiff"] = stiff()
    json.dump(results, sys.stdout)


main()
