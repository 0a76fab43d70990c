"""Work and precision of the implicit half, beside other packages and beside RADAU5 and PHEM56.

    python benchmarks/implicit.py [--venvs DIR]          print
    python benchmarks/implicit.py [--venvs DIR] --page   write docs/implicit-speed.md

Takes about three minutes. Peers run in virtual environments DIR/NAME made by hand: scikit-sundae (numpy scipy numba
scikit-sundae), scipy-dae (scipy-dae numba), casadi (casadi numpy); those that are missing are left out and named. Times
are the shortest of several runs, each a complete call from Python.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import holonomic as h
from holonomic import BDF, DOP853, GGL, Index1, Index2, Index3, Radau, simulate
from holonomic.problems import get

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]
PAGE = HERE.parent / "docs" / "implicit-speed.md"
PEERS = {  # name: (folders that may hold its environment, script)
    "scikit-sundae": (("scikit-sundae", "v_sundae"), "implicit_ida.py"),
    "scipy-dae": (("scipy-dae", "v_scipydae"), "implicit_scipy_dae.py"),
    "casadi": (("casadi", "v_casadi"), "implicit_idas.py"),
}
TITLES = {"seven-body": "Seven-body mechanism to t = 0.03 s", "car-axis": "Car axis to t = 3 s", "wheelset": "Wheelset to t = 1 s"}
ERRORS = {"seven-body": (1e-4, 1e-6, 1e-8), "car-axis": (1e-4, 1e-6, 1e-7), "wheelset": (1e-3, 1e-4, 1e-5)}
TOLERANCES = {
    "seven-body": [10.0**-k for k in range(3, 12)],
    "car-axis": [10.0**-k for k in range(3, 12)],
    "wheelset": [10.0**-k for k in range(4, 10)],
}
POSITIONS = {"seven-body": 7, "car-axis": 4, "wheelset": 5}


def methods(name: str) -> list[tuple]:
    """Return the pairs of formulation, integrator and stabilization that are run."""
    if name == "wheelset":
        return [(form, way(), None) for form in (Index1(), Index2()) for way in (Radau, BDF)]
    found = [(form, way(), None) for form in (Index2(), GGL(), Index3()) for way in (Radau, BDF)]
    found += [(Index1(), way(), "auto") for way in (Radau, BDF)]
    found += [(Index2(), way, None) for way in (Radau(order="variable"), BDF(coefficients="variable"))]
    return [*found, (Index2(), BDF(coefficients="fixed-leading"), None)]


def explicit(name: str) -> list[tuple]:
    """Return the same for the explicit and half-explicit methods beside PHEM56."""
    found = [(Index1(), DOP853(), "auto")]
    if hasattr(h, "PHEM56"):
        found += [("auto", h.PHEM56(), None), ("auto", h.PHEM56(), "auto")]
    return found


def label(form, way, pull) -> str:
    """Return a method's name."""
    name = "" if form == "auto" else f"{type(form).__name__} + "
    return f"{name}{way!r}".removesuffix("()") + (" + Projection" if pull == "auto" else "")


def error_of(name: str, q, known) -> float:
    """Return the largest error of a position over 1 + |position|; of the wheelset, over its largest displacement."""
    n = POSITIONS[name]
    q, known = np.asarray(q)[:n], np.asarray(known)[:n]
    size = np.abs(known).max() if name == "wheelset" else 1.0 + np.abs(known)
    return float(np.max(np.abs(q - known) / size))


def reference(name: str, t_end: float) -> np.ndarray:
    """Return the positions at the end; those of the wheelset by Radau IIA with a tolerance of 1e-11."""
    if name == "wheelset":
        return simulate(get(name), t_end, formulation=Index2(), integrator=Radau(), stabilization=None, rtol=1e-11, atol=1e-11).x[
            -1
        ]
    return get(name).reference(t_end).q


def ours(name: str, t_end: float, known, pairs) -> list[dict]:
    """Run holonomic over methods and tolerances."""
    rows = []
    problem = get(name)
    for form, way, pull in pairs:
        for tol in TOLERANCES[name]:
            given = {"formulation": form, "integrator": way, "stabilization": pull, "rtol": tol, "atol": tol}
            row = {"peer": "holonomic", "variant": label(form, way, pull), "problem": name, "tol": tol}
            try:
                sol = simulate(problem, t_end, **given)
                best, spent, count = np.inf, 0.0, 0
                while spent < 0.1 or count < 5:
                    began = time.perf_counter()
                    sol = simulate(problem, t_end, **given)
                    used = time.perf_counter() - began
                    best, spent, count = min(best, used), spent + used, count + 1
            except h.HolonomicError as problem_met:
                rows.append(row | {"failed": str(problem_met).splitlines()[0]})
                continue
            q = sol.x[-1] if name == "wheelset" else sol.q[-1]
            stats = sol.stats
            implicit = stats["residuals"] > 0
            rows.append(row | {
                "error": error_of(name, q, known), "s": best, "steps": stats["steps"],
                "evaluations": stats["residuals"] if implicit else stats["field evaluations"],
                "factorizations": stats["factorizations"] if implicit else stats["field evaluations"],
            })  # fmt: skip
    return rows


def run_peer(name: str, venvs: Path, folder: Path) -> list[dict]:
    """Run one peer's script in its environment."""
    places, script = PEERS[name]
    python = next((venvs / p / "bin" / "python" for p in places if (venvs / p / "bin" / "python").exists()), None)
    if python is None:
        print(f"left out: {name} (no environment {venvs / places[0]})", file=sys.stderr)
        return []
    environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    environment.pop("PYTHONPATH", None)
    command = [str(python), script, str(folder)]
    done = subprocess.run(command, cwd=HERE / "peers", env=environment, capture_output=True, text=True, timeout=600)
    return [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW ")]


def at(rows: list[dict], error: float, cost: str) -> float:
    """Return the cost at which a curve over tolerances reaches an error: interpolated, or its first run if that does."""
    good = sorted((row for row in rows if row.get("error")), key=lambda row: -row["tol"])
    if good and good[0]["error"] <= error:
        return good[0][cost]
    for a, b in itertools.pairwise(good):
        if a["error"] > error >= b["error"]:
            part = np.log(a["error"] / error) / np.log(a["error"] / b["error"])
            return float(np.exp(np.log(a[cost]) + part * np.log(b[cost] / a[cost])))
    return np.nan


def curves(rows: list[dict], name: str) -> dict[tuple[str, str], list[dict]]:
    """Return the rows of a problem by peer and variant."""
    found: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        if row["problem"] == name:
            found.setdefault((row["peer"], row["variant"]), []).append(row)
    return found


def against_peers(rows: list[dict], name: str) -> str:
    """Return the time of each method at equal errors, and its ratio to our fastest, as Markdown."""
    errors = ERRORS[name]
    known = curves(rows, name)
    best = [
        min((t for (peer, _), runs in known.items() if peer == "holonomic" and (t := at(runs, e, "s")) > 0), default=np.nan)
        for e in errors
    ]
    lines = [f"| {TITLES[name]} | " + " | ".join(f"error {e:g}" for e in errors) + " |", "|---" * (len(errors) + 1) + "|"]
    for (peer, variant), runs in known.items():
        cells = []
        for e, fastest in zip(errors, best, strict=True):
            t = at(runs, e, "s")
            note = "" if peer == "holonomic" else f", **{t / fastest:.1f}**"
            cells.append(f"{1e3 * t:.2f} ms{note}" if t > 0 else "-")
        if all(cell == "-" for cell in cells):
            why = next((row["failed"] for row in runs if "failed" in row), "not that accurate")
            cells[0] = f"fails: {why[:60]}"
        lines.append(f"| {peer}, {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def factors(rows: list[dict]) -> dict[str, list[float]]:
    """Return the ratios of the fastest variant of each peer to our fastest, over problems and errors."""
    found: dict[str, list[float]] = {}
    for name, errors in ERRORS.items():
        for e in errors:
            times: dict[str, float] = {}
            for (peer, _), runs in curves(rows, name).items():
                t = at(runs, e, "s")
                if t > 0:
                    times[peer] = min(t, times.get(peer, np.inf))
            for peer, t in times.items():
                if peer != "holonomic" and "holonomic" in times:
                    found.setdefault(peer, []).append(t / times["holonomic"])
    return found


def machine() -> float:
    """Return how much longer the C program takes here than on the machine of the Fortran codes."""
    from fortran_codes import C_PROGRAM
    from seven_body import c_limit

    _, rows = c_limit()
    here = {tol: row["ms"] for (what, tol), row in rows.items() if what == "DOPRI5 structured"}
    common = [here[tol] / ms for tol, ms in C_PROGRAM.items() if tol in here]
    return float(np.exp(np.mean(np.log(common)))) if common else 1.0


def against_fortran(rows: list[dict], scale: float) -> str:
    """Return evaluations, factorizations and times over those of the Fortran codes at the same digits, as Markdown."""
    from fortran_codes import CODES

    lines = ["| problem | code | ours | digits | evaluations | factorizations | time |", "|---" * 7 + "|"]
    for (name, code), runs in CODES.items():
        known = np.array(runs)
        for (peer, variant), mine in curves(rows, name).items():
            half_explicit = not any(way in variant for way in ("Radau", "BDF"))
            if peer != "holonomic" or half_explicit != code.startswith("PHEM56"):
                continue
            found = []
            for row in mine:
                digits = -np.log10(row["error"]) if row.get("error") else np.nan
                if known[0, 1] <= digits <= known[-1, 1]:
                    their = [np.exp(np.interp(digits, known[:, 1], np.log(known[:, k]))) for k in (2, 3, 4)]
                    found.append((digits, row["evaluations"] / their[0], row["factorizations"] / their[1],
                                  row["s"] / (scale * their[2])))  # fmt: skip
            if found:
                digits, *ratios = np.array(found).T
                cells = [f"{digits.min():.1f} to {digits.max():.1f}"]
                cells += [f"{np.median(r):.2f} ({r.min():.2f} to {r.max():.2f})" for r in ratios]
                lines.append(f"| {name} | {code} | {variant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def measured(venvs: Path) -> tuple[list[dict], float]:
    """Run everything."""
    from implicit_make import T_END
    from implicit_make import main as make

    known = {name: reference(name, t_end) for name, t_end in T_END.items()}
    rows = []
    for name, t_end in T_END.items():
        rows += ours(name, t_end, known[name], methods(name))
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        for peer in PEERS:
            for row in run_peer(peer, venvs, Path(folder)):
                if "q" in row:
                    row["error"] = error_of(row["problem"], row["q"], known[row["problem"]])
                rows.append(row)
    return rows, machine()


def page(venvs: Path) -> str:
    """Return the page."""
    from implicit_make import T_END
    from speed_page import measured_on
    from stamp import stamp

    rows, scale = measured(venvs)
    name = "seven-body"
    beside = ours(name, T_END[name], reference(name, T_END[name]), explicit(name))
    ratios = factors(rows)
    in_words = "; ".join(f"{peer} {min(r):.0f} to {max(r):.0f} times (median {np.median(r):.0f})" for peer, r in ratios.items())
    parts = [
        "# Speed of the implicit methods",
        f"Measured on {stamp()}: {measured_on()} "
        "One core; `python benchmarks/implicit.py --page` writes this page. All rows of a table come from one run. On a "
        "shared machine a time may be off by a factor of two, and the shortest of several helps short runs more than long "
        "ones: run it on a quiet machine.",
        "## Beside other packages, at equal error",
        "The table has times of complete calls, interpolated between tolerances to the error at the head of the column. "
        "The error is the largest of a position over 1 + |position|; of the wheelset, over its largest displacement. In "
        "bold: how many times our fastest.\n\n"
        "The peers get the same equations, written out as C by CasADi and compiled with gcc -O3, with exact Jacobians "
        "where they work. IDA and scipy-dae get the stabilized index-2 form (the wheelset: index 2). Their error test "
        "leaves out the multipliers; with them they stop at once. IDAS gets the index-1 form, which drifts.",
        *(against_peers(rows, name) for name in ERRORS),
        f"The fastest variant of each peer takes, over all problems and errors: {in_words}.",
        "## Beside RADAU5 and PHEM56",
        "The table has ratios of ours to those of the public Fortran codes, interpolated to the digits of each of our "
        "runs (rtol 1e-3 to 1e-11, where there is something to compare with). It gives median and range of evaluations of "
        "the equations, factorizations of Newton's matrix (of the half-explicit method: saddle-point solves), and time.\n\n"
        f"The Fortran codes ran on another machine. Their times are multiplied by {scale:.2f}, by which the C program "
        "`limit_seven_body.c` takes longer here than it took there. They are good to a factor of two.",
        against_fortran(rows + beside, scale),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Print the page or write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", type=Path, default=HERE / "peers" / "venvs")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    text = page(options.venvs)
    if options.page:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE}")
    else:
        print(text)


if __name__ == "__main__":
    main()
