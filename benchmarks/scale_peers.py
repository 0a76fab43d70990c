"""Large mechanisms beside other packages: a table of docs/scale.md."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from large_mechanisms import CASES, TITLES
from table_timing import evaluation, first_result

from holonomic import DOP853, Index2, Projection, Radau, simulate
from holonomic.multibody import Mechanism

# of other packages: what is drawn, its bodies by n, and how the tip lies on the last body
BESIDE = {"chain": (10, 100, 1000), "ball chain": (10, 100), "four-bars": (10, 100, 400, 4000)}
PEERS = ("MuJoCo", "Exudyn", "Pinocchio")
GOOD = 1e-3  # m, of the tip after 1 s
BESIDE_HEAD = """

## Beside other packages

Each package builds the same mechanisms from nothing. `PYTHON` above is the Python of an environment that has `mujoco exudyn pin`.

- "First" is the time until its first evaluation (ours: until a first step has ended). "Evaluation" is one evaluation (Exudyn:
  one step of generalized-α).
- "1 s" is a run of 1 s at the loosest setting whose tip ends within 1 mm of a run of ours with rtol 1e-9; a plain
  `simulate(m, 1.0)` has the time in the first table. The others halve their steps (MuJoCo, Pinocchio: RK4; Exudyn:
  generalized-α). Ours divides tolerances by ten, with DOP853 and with Radau and `Index2`, both with Projection; the faster of
  the two counts.
- "Gap" is the largest distance between ends that a loop has to hold together, beside our |g|. Chains have no loops.
- A dash is what failed or took more than 20 s. Loops were not tried with Pinocchio, whose steps are a loop in Python.

| mechanism | bodies | package | first | evaluation | 1 s | gap |
| --- | ---: | --- | ---: | ---: | ---: | ---: |
"""


def tip_of(name: str, m: Mechanism, sol) -> np.ndarray:
    """The end of the last body, in the plane of the motion."""
    at = sol["last" if name == "four-bars" else f"b{len(m.bodies) - 1}"].position[-1]
    if name != "ball chain":
        half, turn = 0.5 if name == "four-bars" else 0.05, sol.q[-1, -1]
        return at + half * np.array([np.cos(turn), np.sin(turn)])
    a, b, c, d = sol.q[-1, -4:]
    return (at + 0.05 * np.array([a * a + b * b - c * c - d * d, 2 * (b * c + a * d), 2 * (b * d - a * c)]))[[0, 2]]


def short(value: float) -> str:
    """Seconds with their unit."""
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if value < 1000 * size:
            return f"{value / size:.{0 if value >= 10 * size else 1}f} {unit}"
    return f"{value:.1f} s"


def beside_rows(name: str, n: int, python: str) -> list[str]:
    """Ours and all others', one line each."""
    make = CASES[name][0]
    how = {"compile": "never", "save_at": 2, "stabilization": Projection()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first_result(make, 4, "never")
        m, first = first_result(make, n, "never")
        tip = tip_of(name, m, simulate(m, 1.0, rtol=1e-9, atol=1e-11, **how))
        took, gap = np.inf, 0.0
        for more in ({"integrator": DOP853()}, {"integrator": Radau(), "formulation": Index2()}):
            for rtol in 10.0 ** -np.arange(2, 8):
                both = {"rtol": rtol, "atol": 10 * rtol} | more | how
                simulate(m, 1e-9, **both)
                began = time.perf_counter()
                sol = simulate(m, 1.0, **both)
                one = time.perf_counter() - began
                if np.linalg.norm(tip_of(name, m, sol) - tip) <= GOOD:
                    if one < took:
                        took, gap = one, np.abs(sol.drift["position"]).max()
                    break
    bodies = len(m.bodies)
    lines = [[TITLES[name], str(bodies), "holonomic", short(first), short(evaluation(m, "never")), short(took), f"{gap:.0e}"]]
    for peer in PEERS:
        script = Path(__file__).absolute().parent / "peers" / "at_scale.py"
        command = [str(Path(python).absolute()), str(script), peer, name, str(n), *map(repr, map(float, tip))]
        try:  # away from here: MuJoCo writes a log
            told = subprocess.run(command, capture_output=True, timeout=240, cwd=tempfile.gettempdir()).stdout
        except subprocess.TimeoutExpired as stopped:
            told = stopped.stdout or b""
        lines_told = told.decode().strip().splitlines()
        found = json.loads(lines_told[-1]) if lines_told else {}
        cells = [short(found[each]) if each in found else "–" for each in ("first", "evaluation", "run")]
        lines.append(["", "", peer, *cells, f"{found['gap']:.0e}" if "gap" in found and name == "four-bars" else "–"])
    for line in lines:
        print(" | ".join(line), flush=True)
    return ["| " + " | ".join(line) + " |" for line in lines]
