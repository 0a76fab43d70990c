"""Grids of parameters over which members turn stiff, on the way or from the start; measured by `many.py stiff`."""

from __future__ import annotations

import time
import warnings

import numpy as np

from holonomic import DOP853, Ode, Radau, System, simulate, sweep
from holonomic.sweeping.remarks import begun

MEMBERS = 24
LIMIT = 200_000  # steps of one member


def robertson():
    """Robertson's kinetics, rate constant 3e3 to 3e8."""

    def rates(y, p):
        made, used = 0.04 * y[0] - 1e4 * y[1] * y[2], p.b * y[1] ** 2
        return np.array([-made, made - used, used])

    return Ode(rates, params={"b": 3e7}), 40.0, {"y0": [1.0, 0, 0]}, {"b": np.geomspace(3e3, 3e8, MEMBERS)}


def van_der_pol():
    """Van der Pol's oscillator, µ 1 to 1000."""
    system = Ode(lambda y, p: np.array([y[1], p.mu * (1 - y[0] ** 2) * y[1] - y[0]]), params={"mu": 1.0})
    return system, 200.0, {"y0": [2.0, 0]}, {"mu": np.geomspace(1, 1000, MEMBERS)}


def bar():
    """A bar that falls onto a damped stop, stiffness 1e3 to 1e9."""

    def force(q, v, p):
        depth = np.maximum(0.0, -0.5 - q[1])
        return np.array([0, -9.81 + p.k * depth * (1.0 - 10 * v[1])])

    system = System(mass=np.eye(2), force=force, constraint=lambda q: q @ q - 1, params={"k": 1e4})
    return system, 5.0, {"q0": [1.0, 0], "v0": [0.0, 0]}, {"k": np.geomspace(1e3, 1e9, MEMBERS)}


def suspension():
    """Suspension of a wheel, tyre 1e4 to 1e10 N/m."""

    def force(t, q, v, p):
        spring = 2e4 * (q[0] - q[1]) + 1.5e3 * (v[0] - v[1])
        return np.array([-spring, spring - p.k * (q[1] - 0.05 * np.sin(3 * t)) - 0.02 * p.k * v[1]])

    system = System(mass=np.diag([250.0, 30.0]), force=force, params={"k": 2e5})
    return system, 5.0, {"q0": [0.0, 0], "v0": [0.0, 0]}, {"k": np.geomspace(1e4, 1e10, MEMBERS)}


def following():
    """y' = -r (t - 1)₊ (y - cos t) - sin t, r 1 to 1e6."""
    system = Ode(lambda t, y, p: -p.r * np.maximum(0.0, t - 1.0) * (y - np.cos(t)) - np.sin(t), params={"r": 1.0})
    return system, 10.0, {"y0": [1.0]}, {"r": np.geomspace(1, 1e6, MEMBERS)}


def fastest(go, repeat: int = 3):
    """The shortest of several times, and what came out."""
    best, found = np.inf, None
    for _ in range(repeat):
        began = time.perf_counter()
        found = go()
        best = min(best, time.perf_counter() - began)
    return best, found


def measure() -> tuple[list[str], list[list]]:
    """Head and rows of the table."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for grid in (robertson, van_der_pol, bar, suspension, following):
            rows.append([grid.__doc__.rstrip("."), *_row(*grid())])
    head = [
        f"{MEMBERS} members", "stiff from the start", "changed on the way", "sweep, s", "loop of simulate, s",
        "DOP853 for all, s", "failed there", "largest error, sweep", "of DOP853",
    ]  # fmt: skip
    return head, rows


def _row(system, t_end, start, params) -> list:
    given = {"params": params, "save_at": 9, "max_steps": LIMIT, "progress": False, **start}

    def each(**more):
        own = [{name: values[m] for name, values in params.items()} for m in range(MEMBERS)]
        return np.array([simulate(system.with_params(**p), t_end, save_at=9, **start, **more).q for p in own])

    exact = each(integrator=Radau(), rtol=1e-9, atol=1e-12)
    size = np.abs(exact).max(axis=1, keepdims=True)
    sweep(system, t_end, **given)
    ours, runs = fastest(lambda: sweep(system, t_end, **given))
    loop, alone = fastest(each)
    assert np.array_equal(alone, runs.q)
    plain, explicit = fastest(lambda: sweep(system, t_end, integrator=DOP853(), **given), 1)
    off = [np.nanmax(np.abs(found.q - exact) / size) for found in (runs, explicit)]
    changed = {change.member for change in runs.changed}
    starts = begun(runs.job, runs._log.way, runs._log.changes, runs.steps > 0)
    stiff = sum(count for (_, why), count in starts.items() if "stiff" in why)
    return [stiff, len(changed), f"{ours:.3f}", f"{loop:.3f}", f"{plain:.3f}", len(explicit.failed), *(f"{e:.0e}" for e in off)]
