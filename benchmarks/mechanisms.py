"""Mechanisms out of bodies: what absolute coordinates cost, what compiling costs, and an hour of turning.

    python benchmarks/mechanisms.py [bodies] [peers] [size] [hour] [--venvs DIR]

bodies: the seven-body mechanism built of bodies beside the equations written by hand, at equal accuracy.
peers:  Exudyn, MuJoCo and Pinocchio on the same mechanism, out of benchmarks/peers.
size:   first run (seconds of one core) and later runs of a hanging chain of N rods.
hour:   Jansen's linkage, crank driven at one turn a second for an hour: what the joints lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ERRORS = (1e-3, 1e-6, 1e-9)
TOLERANCES = 10.0 ** -np.arange(3, 13)
SIZES = (1, 2, 5, 10, 20, 40, 80, 120, 200)  # rods


def best(run, repeats: int = 9) -> float:
    """Shortest of several runs, s: the others were disturbed."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def angles(sol) -> np.ndarray:
    """The seven published angles at the end, from the angles of the bodies."""
    if sol.q.shape[1] == 7:
        return sol.q[-1]
    K = [sol[f"K{k}"].angle[-1] for k in range(1, 8)]
    return np.array([K[0], K[1] - K[0], K[2], K[3] - K[4], K[4], K[5] - K[6], K[6]])


def bodies() -> dict[str, list[tuple[float, float]]]:
    """(error, seconds) of the mechanism by hand and from bodies, over tolerances."""
    from holonomic import simulate
    from holonomic.problems import seven_body, seven_body_from_bodies

    by_hand = seven_body()
    exact = by_hand.reference().q
    found: dict[str, list[tuple[float, float]]] = {}
    for name, problem in (("by hand", by_hand), ("from bodies", seven_body_from_bodies())):
        for tol in TOLERANCES:
            run = lambda p=problem, tol=tol: simulate(p, rtol=tol, atol=tol)
            error = float(np.max(np.abs(angles(run()) - exact) / np.maximum(1.0, np.abs(exact))))
            found.setdefault(name, []).append((error, best(run)))
    return found


def show_bodies() -> None:
    print("| seven-body mechanism, 7 + 6 unknowns by hand, 21 + 20 from bodies | " + " | ".join(
        f"error <= {e:g}" for e in ERRORS) + " |\n|---|---|---|---|")  # fmt: skip
    found, fastest = bodies(), {}
    for name, runs in found.items():
        fastest[name] = [min((s for e, s in runs if e <= error), default=np.nan) for error in ERRORS]
        print(f"| {name} | " + " | ".join(f"{1e3 * s:.3g} ms" for s in fastest[name]) + " |")
    ratios = np.array(fastest["from bodies"]) / np.array(fastest["by hand"])
    print("| ratio | " + " | ".join(f"{r:.2g}" for r in ratios) + " |")


def show_peers(venvs: Path) -> None:
    sys.path.insert(0, str(HERE / "peers"))
    from run import run_peer

    print("| peer | " + " | ".join(f"error <= {e:g}" for e in ERRORS) + " |\n|---|---|---|---|")
    for name in ("exudyn", "mujoco", "pinocchio"):
        rows = [row for row in run_peer(name, venvs) if row["prob"] == "P2" and row.get("err") is not None]
        cells = []
        for error in ERRORS:
            good = min((row for row in rows if row["err"] <= error), key=lambda row: row["ms"], default=None)
            cells.append("-" if good is None else f"{good['ms']:.3g} ms ({good['variant']}, {good['tol']})")
        print(f"| {name} | {' | '.join(cells)} |")


CHAIN = """
import sys, time
import numpy as np
from holonomic import RK4, simulate
from holonomic.multibody import Mechanism, rod
n = int(sys.argv[1])
warm = Mechanism()
warm.revolute("A", warm.ground, warm.body("rod", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
simulate(warm, 0.01)
began = time.process_time()
m = Mechanism()
for k in range(n):
    m.body(f"rod {k}", rod((k * 0.6, -k * 0.8), ((k + 1) * 0.6, -(k + 1) * 0.8), mass=1.0))
    m.revolute(f"pin {k}", m.ground if k == 0 else f"rod {k - 1}", f"rod {k}", at=(k * 0.6, -k * 0.8))
system, q, v = m.to_system()
drawn = time.process_time() - began
choice = {"integrator": RK4(), "step": 1e-3}
first = time.process_time()
simulate(m, 0.01, **choice)
first = time.process_time() - first
times = []
for _ in range(5):
    began = time.perf_counter()
    simulate(m, 0.1, **choice)
    times.append(time.perf_counter() - began)
print(drawn, first, min(times) / 100)
"""


def show_size() -> None:
    print("| rods | coordinates, rows | drawn and assembled | first run | later, a step of RK4 |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        kernels = dict(os.environ, HOLONOMIC_CACHE=folder)
        for n in SIZES:
            done = subprocess.run([sys.executable, "-c", CHAIN, str(n)], env=kernels, capture_output=True, text=True, timeout=1800)
            if done.returncode:
                print(f"| {n} | {3 * n}, {2 * n} | {done.stderr.strip().splitlines()[-1][:100]} | | |")
                continue
            drawn, first, step = map(float, done.stdout.split())
            print(f"| {n} | {3 * n}, {2 * n} | {drawn:.2g} s | {first:.2g} s | {1e6 * step:.3g} µs |", flush=True)


def show_hour(hours: float = 1.0) -> None:
    from holonomic import simulate
    from holonomic.problems.from_bodies import jansen_mechanism

    m = jansen_mechanism(speed=2 * np.pi)
    simulate(m, 1.0)
    began = time.perf_counter()
    sol = simulate(m, 3600.0 * hours, save_at=61)
    took = time.perf_counter() - began
    position, velocity = np.abs(sol.drift.position)[-1].max(), np.abs(sol.drift.velocity)[-1].max()
    back = np.abs(sol["tip"].position[-1] - sol["tip"].position[0]).max()
    turns = sol["axle 1"].angle[-1] / (2 * np.pi)
    print(f"{turns:.6f} turns in {took:.2f} s: joints open by {position:.1e} m, velocities by {velocity:.1e} m/s; the foot "
          f"is back to {back:.1e} m; energy changed by {np.ptp(sol['energy'].total):.1e} J")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[[], "bodies", "peers", "size", "hour"], default=["bodies", "size", "hour"])
    parser.add_argument("--venvs", type=Path, default=Path("venvs"))
    given = parser.parse_args()
    parts = {"bodies": show_bodies, "peers": lambda: show_peers(given.venvs), "size": show_size, "hour": show_hour}
    for what in given.what:
        parts[what]()


if __name__ == "__main__":
    main()
