"""Sixty-odd runs over all methods, recorded once and compared after every change that must not alter a number.

    python benchmarks/recorded.py record      writes benchmarks/recorded.json (with the commit)
    python benchmarks/recorded.py compare     exit 1 and a line for every run that differs

Interpreted runs must agree bit for bit. Compiled ones must take the same steps, evaluations and factorizations, and end within a
thousandth of the tolerance: a compiler may fuse products anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import holonomic as h
from holonomic import problems
from holonomic.cli.methods import classes

FILE = Path(__file__).with_name("recorded.json")
COUNTS = ("steps", "rejected", "failed attempts", "field evaluations", "residuals", "Jacobians", "factorizations", "pulls")
STEP = 0.01
RTOL, ATOL = 1e-6, 1e-9  # the defaults, by which ends are compared


def pendulum(trace: bool = True, **more) -> h.System:
    """A pendulum of two unequal masses' worth: M is no multiple of the identity."""
    return h.System(
        mass=np.diag([1.0, 3.0]), force=lambda q, v: np.array([-0.1 * v[0], -29.43 - 0.2 * q[1]]),
        constraint={"rod": lambda q: q @ q - 1.0}, trace=trace, **more,
    )  # fmt: skip


def swing(t_end=2.0, trace=True, **options) -> h.Solution:
    return h.simulate(pendulum(trace), t_end, q0=[1.0, 0.0], v0=[0.0, 0.5], **options)


def on(problem: str, **options) -> h.Solution:
    return h.simulate(problems.get(problem), **options)


def cases() -> dict[str, Callable[[], h.Solution]]:
    """Name -> a run; every integrator, formulation and stabilization is in one of them (a check says so)."""
    found: dict[str, Callable[[], h.Solution]] = {}
    for make in (h.Euler, h.Heun, h.Midpoint, h.RK4, h.AdamsBashforth2):
        found[f"{make.__name__}, steps"] = lambda make=make: swing(integrator=make(), step=STEP)
    for make in (h.RK23, h.RK45, h.DOP853):
        for stabilization in (None, h.Projection(), h.S_both2(), h.Baumgarte(alpha=5.0)):
            found[f"{make.__name__}, {stabilization}"] = lambda make=make, stabilization=stabilization: swing(
                integrator=make(), stabilization=stabilization
            )
    for make in (h.S_vel, h.S_pos, h.S_both, h.S_full):
        found[f"RK4, {make.__name__}"] = lambda make=make: swing(integrator=h.RK4(), stabilization=make(), step=STEP)
    found["RK4, PostStabilization, mass"] = lambda: swing(
        integrator=h.RK4(), stabilization=h.PostStabilization(metric="mass"), step=STEP
    )
    found["RK4, ForwardEuler"] = lambda: swing(integrator=h.RK4(), stabilization=h.ForwardEulerStabilization(alpha=0.5), step=STEP)
    found["RK4, BackwardEuler"] = lambda: swing(
        integrator=h.RK4(), stabilization=h.BackwardEulerStabilization(alpha=1.0), step=STEP
    )
    found["kepler, InvariantStabilization"] = lambda: on(
        "kepler", t_end=5.0, integrator=h.RK4(), stabilization=h.InvariantStabilization(gain=5.0), step=STEP
    )
    found["kepler, auto"] = lambda: on("kepler", t_end=5.0)
    for make in (h.Radau, h.BDF):
        for formulation in (h.Index1(), h.Index2(), h.Index3(), h.GGL(), h.StrangenessFree(), h.StateSpace(),
                            h.ProjectedInvariants(), h.UnderlyingODE()):  # fmt: skip
            found[f"{make.__name__}, {type(formulation).__name__}"] = lambda make=make, formulation=formulation: swing(
                integrator=make(), formulation=formulation
            )
    for make in (h.BackwardEuler, h.Trapezoidal, h.ImplicitMidpoint):
        found[f"{make.__name__}, GGL"] = lambda make=make: swing(integrator=make(), formulation=h.GGL(), step=STEP)
    found["BackwardEuler, Overdetermined"] = lambda: swing(integrator=h.BackwardEuler(), formulation=h.Overdetermined(), step=STEP)
    for kind in ("variable", "fixed-leading"):
        found[f"BDF, {kind}, Index2"] = lambda kind=kind: swing(integrator=h.BDF(coefficients=kind), formulation=h.Index2())
    found["FixedBDF(3), Index2"] = lambda: swing(integrator=h.FixedBDF(3), formulation=h.Index2(), step=STEP)
    found["GaussLegendre4, Index2"] = lambda: swing(integrator=h.GaussLegendre4(), formulation=h.Index2(), step=STEP)
    found["GeneralizedAlpha, Index3"] = lambda: swing(
        integrator=h.GeneralizedAlpha(0.8), formulation=h.Index3(), stabilization=None, step=STEP
    )
    found["RATTLE"] = lambda: on("pendulum", t_end=1.0, integrator=h.RATTLE(), step=STEP)
    found["RATTLE, order 4"] = lambda: on("pendulum", t_end=1.0, integrator=h.RATTLE(order=4), step=STEP)
    found["LobattoIIIAB"] = lambda: on("pendulum", t_end=1.0, integrator=h.LobattoIIIAB(), step=STEP)
    found["GaussLegendre, SymmetricProjection"] = lambda: swing(
        integrator=h.GaussLegendre(stages=3), stabilization=h.SymmetricProjection(), step=STEP
    )
    found["PHEM56"] = lambda: swing(integrator=h.PHEM56())
    for name, options in (
        ("seven-body", {}), ("seven-body", {"rtol": 1e-9, "integrator": h.RK45()}), ("car-axis", {"t_end": 1.0}),
        ("four-bars", {"t_end": 2.0}), ("heavy-top", {"t_end": 0.5}), ("rolling-disk", {"t_end": 2.0}),
        ("suspension", {}), ("spring-pendulum", {}), ("wheelset", {"t_end": 0.5}), ("index-2-pair", {}),
        ("jansen", {"t_end": 1.0}), ("slider-crank", {}), ("four-bar-spatial", {"t_end": 0.5}),
    ):  # fmt: skip
        also = "".join(f", {value}" for key, value in options.items() if key != "t_end")
        found[f"problem {name}{also}"] = lambda name=name, options=options: on(name, **options)
    found["saved times"] = lambda: swing(save_at=37)
    for order in (9, 13, "variable"):
        found[f"Radau of order {order}"] = lambda order=order: swing(
            integrator=h.Radau(order=order), formulation=h.GGL(), rtol=1e-9
        )
    found["saved times, Radau"] = lambda: swing(save_at=37, integrator=h.Radau(), formulation=h.GGL())
    found["events"] = lambda: swing(
        events={"low": h.Event(lambda q: q[0]), "slow": h.Event(lambda v: v[1] - 0.3, direction="falling")}
    )
    found["event with then"] = lambda: h.simulate(
        h.System(mass=np.eye(1), force=[-9.81]), 2.0, q0=[1.0], v0=[0.0],
        events={"floor": h.Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.8 * v))},
    )  # fmt: skip
    for name, options in (
        ("DOP853, Projection", {}), ("RK4, S_both2", {"integrator": h.RK4(), "stabilization": h.S_both2(), "step": STEP}),
        ("RK45, Baumgarte", {"integrator": h.RK45(), "stabilization": h.Baumgarte(alpha=5.0)}),
        ("events", {"events": {"low": h.Event(lambda q: q[0])}}), ("saved times", {"save_at": 37}),
    ):  # fmt: skip
        found[f"interpreted: {name}"] = lambda options=options: swing(t_end=0.5, trace=False, **options)
    return found


def described(sol: h.Solution) -> dict:
    """What is kept of a run: counts, events, and the last state to the bit."""
    end = sol.end
    state = np.concatenate([np.ravel(end.q), np.ravel(end.v)])
    return {
        "plan": str(sol.plan), "counts": {name: int(sol.stats[name]) for name in COUNTS}, "rows": len(sol.t),
        "events": {name: len(log.t) for name, log in sol.events.items()}, "end": [float(value).hex() for value in state],
    }  # fmt: skip


def swept(on_what: str) -> dict:
    """A sweep of sixteen members; its steps and ends."""
    system = pendulum(params={"k": 1.0}, outputs={"height": lambda q, p: p.k * q[1]})
    runs = h.sweep(
        system, 1.0, q0=[1.0, 0.0], v0=[0.0, 0.5], params={"k": np.linspace(1, 2, 16)}, save_at=5, on=on_what, progress=False,
        integrator=h.RK45(),
    )  # fmt: skip
    ends = np.ravel(runs.q[:, -1])
    return {
        "plan": "sweep", "counts": {"steps": int(np.sum(runs.steps))}, "rows": len(runs.q), "events": {},
        "end": [float(value).hex() for value in ends],
    }  # fmt: skip


def on_simulator() -> dict:
    """The same sweep on Numba's CUDA simulator, in a process of its own."""
    code = "import json, recorded; print('\\n' + json.dumps(recorded.swept('cuda')))"
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def all_runs() -> dict[str, dict]:
    """Run everything; a run that ends in an error is described by that error."""
    warnings.simplefilter("ignore")
    found = {}
    for name, run in cases().items():
        try:
            found[name] = described(run())
        except h.HolonomicError as problem:
            found[name] = {"error": f"{type(problem).__name__}: {problem}"}
    found["sweep on threads"] = swept("threads")
    found["sweep on the GPU simulator"] = on_simulator()
    return found


def missing(runs: dict[str, dict]) -> list[str]:
    """The methods that no run uses."""
    plans = " ".join(run.get("plan", "") for run in runs.values())
    names = [name for kind in ("formulation", "integrator", "stabilization") for name in classes(kind)]
    return [name for name in names if name not in plans and name != "Unstabilized"]  # a plan calls that one None


def differences(name: str, before: dict, now: dict) -> list[str]:
    """What differs between two descriptions beyond what a compiler may do."""
    if "error" in before or "error" in now:
        return [] if before == now else [f"{before.get('error', 'ran')} -> {now.get('error', 'runs')}"]
    found = [f"{key}: {before[key]} -> {now[key]}" for key in ("plan", "counts", "rows", "events") if before[key] != now[key]]
    old, new = (np.array([float.fromhex(value) for value in run["end"]]) for run in (before, now))
    if old.shape != new.shape:
        return [*found, f"end has {len(new)} numbers instead of {len(old)}"]
    allowed = 0.0 if name.startswith("interpreted") else 1e-3 * (ATOL + RTOL * np.abs(old))
    if not np.all(np.abs(new - old) <= allowed):
        found.append(f"end differs by {np.max(np.abs(new - old)):.2e}")
    return found


def main() -> int:
    """Record or compare, as asked."""
    asked = sys.argv[1] if len(sys.argv) > 1 else ""
    if asked not in ("record", "compare"):
        print(__doc__)
        return 2
    now = all_runs()
    failed = [name for name, run in now.items() if "error" in run]
    print(f"{len(now)} runs, {len(failed)} of them end in an error; methods in none of them: {missing(now) or 'none'}")
    for name in failed:
        print(f"  {name}: {now[name]['error'][:150]}")
    if asked == "record":
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=FILE.parent)
        FILE.write_text(json.dumps({"commit": commit.stdout.strip(), "runs": now}, indent=1) + "\n")
        return 0
    kept = json.loads(FILE.read_text())
    before, worse = kept["runs"], 0
    for name in sorted(set(before) | set(now)):
        told = differences(name, before[name], now[name]) if name in before and name in now else ["is not in both"]
        worse += bool(told)
        for line in told:
            print(f"{name}: {line}")
    print(f"{worse} of {len(now)} runs differ from those of {kept['commit']}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
