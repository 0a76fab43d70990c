"""holonomic beside its peers: the same two problems, one table of the fastest run that reaches an error.

    python benchmarks/peers/run.py [--venvs DIR] [NAME ...]

P1 is the pendulum over 50 periods (error of the whole state at t = 100 s), P2 the seven-body mechanism to
t = 0.03 s (error of the angles). Every peer runs in a virtual environment DIR/NAME of its own, made by hand
with the packages below; those that are missing are left out and named. C programs need gcc and, for SUNDIALS,
its Debian packages. Times are medians after a warm-up; drift is the largest residual at any step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = {  # name: (script, packages)
    "scipy": ("scipy_ivp.py", "numpy scipy numba"),
    "scikit-sundae": ("scikit_sundae.py", "numpy scipy numba scikit-sundae"),
    "scipy-dae": ("scipy_dae_ggl.py", "scipy-dae numba"),
    "casadi": ("casadi_idas.py", "casadi numpy"),
    "numbalsoda": ("numbalsoda_ode.py", "numbalsoda numba numpy"),
    "diffrax": ("diffrax_ode.py", "diffrax jax equinox"),
    "exudyn": ("exudyn_alpha.py", "exudyn"),
    "mujoco": ("mujoco_rk4.py", "mujoco"),
    "pinocchio": ("pinocchio_dop853.py", "pin scipy"),
    "sympy": ("sympy_mechanics.py", "sympy scipy"),
    "drake": ("drake_rk5.py", "drake"),
}
SUNDIALS = (
    "gcc -O3 -march=native $(pkg-config --cflags ompi-c) {source} -o {out} -lsundials_cvode -lsundials_ida "
    "-lsundials_nvecserial -lsundials_sunmatrixdense -lsundials_sunlinsoldense -lsundials_sunnonlinsolfixedpoint -lm"
)
ERRORS = {"P1": (1e-1, 1e-3, 1e-6), "P2": (1e-3, 1e-6, 1e-9)}
DRIFT = 1e-10
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)


def ours() -> list[dict]:
    """Run holonomic over tolerances, explicit integrators and projection, with plain `simulate` calls."""
    import numpy as np

    sys.path.insert(0, str(HERE))
    import common

    from holonomic import DOP853, RK45, Projection, System, simulate
    from holonomic.problems import seven_body

    pendulum = System(mass=np.eye(2), force=[0, -common.G0], constraint=lambda q: q @ q - 1)
    mechanism = seven_body()
    rows = []
    for name in ("P1", "P2"):
        system, t_end = (pendulum, common.P1_T) if name == "P1" else (mechanism.system, common.P2_T)
        q0, v0 = ([1, 0], [0, 0]) if name == "P1" else (mechanism.q0, mechanism.v0)
        for integrator in (RK45(), DOP853()):
            for stabilization in (None, Projection()):
                for tol in TOLERANCES:
                    choice = {"integrator": integrator, "stabilization": stabilization, "rtol": tol, "atol": tol}
                    run = lambda c=choice, s=system, e=t_end, q=q0, v=v0: simulate(s, e, q0=q, v0=v, **c)  # noqa: E731
                    run()
                    times = []
                    for _ in range(15):
                        began = time.perf_counter()
                        sol = run()
                        times.append(time.perf_counter() - began)
                    y = np.concatenate([sol.q[-1], sol.v[-1]])
                    error = common.pend_err(y) if name == "P1" else common.andrews_err(y)
                    drift = [float(np.max(np.abs(sol.drift[level]))) for level in ("position", "velocity")]
                    rows.append(
                        {
                            "peer": "holonomic", "variant": f"{type(integrator).__name__}"
                            f"{' + Projection' if stabilization else ''}", "prob": name, "tol": tol, "err": error,
                            "g": drift[0], "gv": drift[1], "ms": 1e3 * statistics.median(times), "note": "",
                        }
                    )  # fmt: skip
    return rows


def rows_of(text: str) -> list[dict]:
    """Collect the ROW lines a script printed."""
    rows = []
    for line in text.splitlines():
        if line.startswith("ROW "):
            try:
                rows.append(json.loads(line[4:]))
            except ValueError:
                continue
    return rows


def run_peer(name: str, venvs: Path) -> list[dict]:
    """Run one peer's script in its environment."""
    python = venvs / name / "bin" / "python"
    script, packages = PEERS[name]
    if not python.exists():
        print(f"left out: {name} (make {python.parent.parent} with: {packages})", file=sys.stderr)
        return []
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    environment.pop("PYTHONPATH", None)
    try:
        done = subprocess.run(
            [str(python), script], cwd=HERE, env=environment, capture_output=True, text=True, timeout=900
        )
    except subprocess.TimeoutExpired as late:
        return rows_of((late.stdout or b"").decode(errors="replace"))
    return rows_of(done.stdout)


def run_sundials() -> list[dict]:
    """Compile and run CVODE and IDA from C."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "sundials"
        build = SUNDIALS.format(source=HERE / "sundials.c", out=program)
        if subprocess.run(build, shell=True, capture_output=True, cwd=HERE).returncode:
            print("left out: SUNDIALS C (needs gcc and libsundials-dev)", file=sys.stderr)
            return []
        return rows_of(subprocess.run([str(program)], capture_output=True, text=True).stdout)


def table(rows: list[dict], problem: str, stabilized: bool) -> str:
    """Return the fastest run of each peer that reaches an error, as Markdown."""
    errors = ERRORS[problem]
    names = list(dict.fromkeys(row["peer"] for row in rows if row["prob"] == problem))
    lines = [
        f"| {problem}, {'g and Gv below 1e-10' if stabilized else 'any drift'} | "
        + " | ".join(f"error <= {error:g}" for error in errors) + " |",
        "|---" * (len(errors) + 1) + "|",
    ]  # fmt: skip
    found = []
    for peer in names:
        cells, best = [], []
        for error in errors:
            good = [
                row
                for row in rows
                if row["prob"] == problem and row["peer"] == peer and row.get("err") is not None
                and row["ms"] is not None and row["err"] <= error
                and (not stabilized or max(row["g"], row["gv"]) <= DRIFT)
            ]  # fmt: skip
            fastest = min(good, key=lambda row: row["ms"], default=None)
            best.append(fastest["ms"] if fastest else float("inf"))
            cells.append("-" if fastest is None else f"{fastest['ms']:.3g} ms ({fastest['variant']}, {fastest['tol']})")
        if any(cell != "-" for cell in cells):
            found.append((best[-1], best[0], f"| {peer} | " + " | ".join(cells) + " |"))
    return "\n".join(lines + [line for _, _, line in sorted(found)])


def main() -> None:
    """Run everything that can be run and print four tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, default=HERE / "venvs")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    rows = ours()
    if not options.names or "sundials" in options.names:
        rows += run_sundials()
    for name in options.names or PEERS:
        if name in PEERS:
            rows += run_peer(name, options.venvs)
    for problem in ("P1", "P2"):
        for stabilized in (True, False):
            print(table(rows, problem, stabilized), end="\n\n")


if __name__ == "__main__":
    main()
