"""The seven-body mechanism against hand-written C, in one run.

    python benchmarks/seven_body.py

Builds limit_seven_body.c with gcc -O3 -march=native -ffast-math and prints ratios: one evaluation of the
accelerations, and whole runs to t = 0.03 without and with projection. Needs gcc.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from holonomic import DOP853, RK45, Projection, simulate
from holonomic.kernels.signatures import FIELD, Fn, call_function
from holonomic.native.marks import leaf
from holonomic.planning.reuse import model_of
from holonomic.problems import seven_body

HERE = Path(__file__).parent
REPEAT = 101
# at t = 0.03, from two extrapolation runs in quadruple precision that agree to 20 digits
Q_END = np.array(
    [15.810771195153707, -15.756371058411839, 0.0408222401196458, -0.5347301163420796, 0.5244099658799541,
     0.5347301163420796, 1.0480807410419379]
)  # fmt: skip


@leaf
def many(fns, x, data, out, count):
    """Evaluate the accelerations `count` times."""
    for _ in range(count):
        x[0] += 1e-12
        call_function(fns, FIELD, 0.0, x, 0, x, 0, data, out, 0)
    return out[7]


def c_limit() -> tuple[dict[str, float], dict[tuple[str, float], dict]]:
    """Return nanoseconds per evaluation by variant, and the rows of whole runs."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "limit"
        source = HERE / "limit_seven_body.c"
        subprocess.run(["gcc", "-O3", "-march=native", "-ffast-math", str(source), "-o", str(program), "-lm"], check=True)
        text = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    per_call, rows = {}, {}
    for line in text.splitlines():
        if line.startswith("LIMIT"):
            name = "dense" if "dense" in line else "structured"
            per_call[name] = float(line.split(":")[1].split()[0])
        elif line.startswith("ROW"):
            row = json.loads(line[4:])
            rows[row["variant"], row["tol"]] = row
    return per_call, rows


def per_evaluation() -> float:
    """Return nanoseconds per evaluation of our compiled accelerations."""
    problem = seven_body()
    q, v = np.array(problem.q0, dtype=float), np.array(problem.v0, dtype=float)
    model = model_of(problem.system, q, v, 0.0)
    fns, lengths = model.table((Fn.FIELD,))
    x, out, data = np.concatenate([q, v]), np.zeros(lengths[Fn.FIELD]), model.data()
    many(fns, x, data, out, 10)
    times = []
    for _ in range(11):
        began = time.perf_counter()
        many(fns, x, data, out, 100_000)
        times.append((time.perf_counter() - began) / 1e5)
    return float(np.median(times)) * 1e9


def whole_run(integrator, stabilization, tol: float) -> tuple[float, float, int, float, float]:
    """Return milliseconds, error, evaluations and largest residuals of one run."""
    problem = seven_body()
    choice = {"integrator": integrator, "stabilization": stabilization, "rtol": tol, "atol": tol}
    simulate(problem, 0.03, **choice)
    times = []
    for _ in range(REPEAT):
        began = time.perf_counter()
        sol = simulate(problem, 0.03, **choice)
        times.append(time.perf_counter() - began)
    error = np.max(np.abs(sol.q[-1] - Q_END) / np.maximum(1.0, np.abs(Q_END)))
    drift = sol.drift
    worst = [float(np.max(np.abs(drift[level]))) for level in ("position", "velocity")]
    return float(np.median(times)) * 1e3, float(error), sol.stats["field evaluations"], *worst


def main() -> None:
    """Print everything as Markdown."""
    per_call, rows = c_limit()
    ours = per_evaluation()
    print("| one evaluation of the accelerations | ns | ratio to ours |")
    print("|---|---|---|")
    print(f"| holonomic, emitted from NumPy | {ours:.0f} | 1 |")
    for name, value in per_call.items():
        print(f"| C, {name} | {value:.0f} | {value / ours:.2f} |")
    print("\n| whole run to t = 0.03 | tolerance | ms | error | evaluations | max g | max Gv |")
    print("|---|---|---|---|---|---|---|")
    for tol in (1e-5, 1e-7, 1e-9):
        for variant in ("DOPRI5 structured", "DOPRI5 structured+projection", "DOPRI5 dense LU+projection"):
            row = rows[variant, tol]
            print(f"| C, {variant} | {tol:g} | {row['ms']:.3f} | {row['err']:.1e} | {row['nfev']} | {row['g']:.0e} | "
                  f"{row['gv']:.0e} |")  # fmt: skip
        limit = rows["DOPRI5 structured+projection", tol]["ms"]
        for integrator in (RK45(), DOP853()):
            for stabilization in (None, Projection()):
                ms, error, count, g, gv = whole_run(integrator, stabilization, tol)
                note = f" ({ms / limit:.2f} of C with projection)" if stabilization else ""
                print(f"| holonomic, {type(integrator).__name__}, {'Projection' if stabilization else 'none'}{note} | "
                      f"{tol:g} | {ms:.3f} | {error:.1e} | {count} | {g:.0e} | {gv:.0e} |")  # fmt: skip


if __name__ == "__main__":
    main()
