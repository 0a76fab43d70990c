"""Measure the tables of docs/which-method.md and write them between its markers.

python tools/measure_methods.py            all tables
python tools/measure_methods.py stiff      one of them
"""

from __future__ import annotations

import platform
import re
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RATTLE,
    RK4,
    RK45,
    BackwardEuler,
    Baumgarte,
    GeneralizedAlpha,
    HolonomicError,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    ProjectedInvariants,
    Projection,
    Radau,
    S_both,
    S_both2,
    StateSpace,
    StrangenessFree,
    System,
    simulate,
    work_precision,
)
from holonomic.problems import chain, double_pendulum, four_bar, jansen, pendulum, seven_body, slider_crank, two_link_arm
from holonomic.problems.ascher_petzold import heterogeneous_masses, rapid_constraint

PAGE = Path(__file__).parents[1] / "docs" / "which-method.md"
WANTED = 1e-6  # error of q at the end
REPEAT = 9
LENGTH = 0.4  # m, of the suspension's arm
# other orders of Radau, other coefficients of BDF
OTHERS = {
    "Radau of variable order, Projection": (Index1(), Radau(order="variable"), Projection()),
    "BDF with variable coefficients, Projection": (Index1(), BDF(coefficients="variable"), Projection()),
    "BDF with fixed leading coefficient, Projection": (Index1(), BDF(coefficients="fixed-leading"), Projection()),
}


def row(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def table(head, rows) -> str:
    return "\n".join([row(*head), row(*["---"] + ["---:"] * (len(head) - 1)), *(row(*cells) for cells in rows)])


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.2g}" if seconds < 0.1 else f"{1e3 * seconds:.0f}"


def best_time(call) -> float:
    """The shortest of several calls in seconds of processor time, which other programs do not stretch.

    The first call compiles and does not count.
    """
    call()
    found = np.inf
    for _ in range(REPEAT):
        began = time.thread_time()
        call()
        found = min(found, time.thread_time() - began)
    return found


def smooth() -> str:
    """Time to an error of 1e-6, by problem and method."""
    problems = (pendulum(t_end=10.0), slider_crank(), two_link_arm(), seven_body(), jansen(), chain(16))
    methods = {
        "DOP853, Projection": (Index1(), DOP853(), Projection()), "DOP853, S_both2": (Index1(), DOP853(), S_both2()),
        "RK45, Projection": (Index1(), RK45(), Projection()), "Radau, Projection": (Index1(), Radau(), Projection()),
        "Radau, GGL": (GGL(), Radau(), None), "BDF, Projection": (Index1(), BDF(), Projection()), **OTHERS,
    }  # fmt: skip
    rows = []
    for name, (formulation, integrator, stabilization) in methods.items():
        cells = [name]
        for problem in problems:
            study = work_precision(
                problem, formulation=formulation, integrator=integrator, stabilization=stabilization,
                rtol=[10.0**-k for k in range(4, 12)], repeat=1,
            )  # fmt: skip
            good = [found.rtol for found in study if found.ok and found.error_q <= WANTED]
            if not good:
                cells.append("not reached")
                continue
            given = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
            given |= {"rtol": max(good), "atol": max(good) / 1000}
            cells.append(milliseconds(best_time(lambda p=problem, g=given: simulate(p, **g))))
        rows.append(cells)
    return table(["method", *(problem.name for problem in problems)], rows)


def fixed() -> str:
    """Stabilizations at a fixed step: error, drift, time."""
    rows = []
    for problem, step in ((two_link_arm(), 0.02), (seven_body(), 1e-4)):
        plain = None
        for stabilization in (None, Baumgarte(alpha=0.2 / step), S_both(), S_both2(), Projection()):
            given = {"integrator": RK4(), "step": step, "stabilization": stabilization}
            sol = simulate(problem, **given)
            took = best_time(lambda given=given, problem=problem: simulate(problem, **given))
            plain = plain or took
            known = problem.reference().q
            error = np.max(np.abs(sol.q[-1] - known) / np.maximum(1, np.abs(known)))
            drift = sol.drift.max()
            name = "none" if stabilization is None else repr(stabilization)
            name = {"PostStabilization": "S_both2"}.get(name.partition("(")[0], name) if stabilization != S_both() else "S_both"
            name = re.sub(r"\(\)$", "", name)
            rows.append([
                f"{problem.name}, h = {step:g}", name, f"{error:.0e}", f"{drift['position']:.0e}", f"{drift['velocity']:.0e}",
                f"{took / plain:.2f}",
            ])  # fmt: skip
    return table(["run", "stabilization", "error of q", "drift of g", "drift of G v", "time"], rows)


def suspension(k: float, c: float) -> System:
    """The arm of the tutorial on stiff systems."""
    road = lambda t: 0.03 * np.tanh(20 * (t - 0.5))
    inner = lambda q: np.array([q[0] - LENGTH / 2 * np.cos(q[2]), q[1] - LENGTH / 2 * np.sin(q[2])])

    def force(t, q, v, p):
        speed = np.array([v[0] + LENGTH / 2 * np.sin(q[2]) * v[2], v[1] - LENGTH / 2 * np.cos(q[2]) * v[2]])
        bush = -p.k * inner(q) - p.c * speed
        torque = LENGTH / 2 * (np.sin(q[2]) * bush[0] - np.cos(q[2]) * bush[1])
        return np.array([bush[0], bush[1], torque, 0, -2.5e4 * q[4] - 1.5e3 * v[4] - 2.0e5 * (q[4] - road(t))])

    joint = lambda q: np.array([q[3] - q[0] - LENGTH / 2 * np.cos(q[2]), q[4] - q[1] - LENGTH / 2 * np.sin(q[2])])
    return System(
        mass=np.diag([3.0, 3.0, 0.05, 30.0, 30.0]), force=force, constraint={"ball joint": joint}, params={"k": k, "c": c}
    )


def stiff() -> str:
    """Steps and time on the suspension as its bushing gets stiffer."""
    methods = {
        "DOP853, Projection": (Index1(), DOP853(), Projection()), "Radau, Projection": (Index1(), Radau(), Projection()),
        "Radau, GGL": (GGL(), Radau(), None), "BDF, Projection": (Index1(), BDF(), Projection()),
        "BDF, GGL": (GGL(), BDF(), None), **OTHERS,
    }  # fmt: skip
    cases = ((1e6, 1e3), (1e8, 1e5), (1e10, 1e7))
    start = {"q0": [LENGTH / 2, 0, 0, LENGTH, 0], "v0": [0] * 5, "progress": False, "max_steps": 10_000_000}
    rows = []
    for name, (formulation, integrator, stabilization) in methods.items():
        cells = [name]
        for k, c in cases:
            given = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization, **start}
            system = suspension(k, c)
            t_end = 1.0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name.startswith("DOP853") and c > 1e6:
                    t_end = 0.01  # and extrapolated: it would take minutes
                sol = simulate(system, t_end, **given)
                took = best_time(lambda s=system, g=given, t=t_end: simulate(s, t, **g))
            about = "about " if t_end < 1 else ""
            cells.append(f"{about}{sol.stats['steps'] / t_end:.0f} steps, {about}{milliseconds(took / t_end)} ms")
        rows.append(cells)
    return table(["method", *(f"k = {k:.0e} N/m, c = {c:.0e} N s/m" for k, c in cases)], rows)


def rapid() -> str:
    """Backward Euler with steps much longer than what is fast, by formulation."""
    cases = ((heterogeneous_masses(nu=1000.0), 0.01), (rapid_constraint(nu=100.0), 0.1))
    methods = {
        "ProjectedInvariants('Pa')": (ProjectedInvariants("Pa"), None),
        "ProjectedInvariants('Pc')": (ProjectedInvariants("Pc"), None),
        "Index1, Projection": (Index1(), Projection()),
        "StateSpace": (StateSpace(), None),
        "StrangenessFree": (StrangenessFree(), None),
        "GGL": (GGL(), None),
        "Index2": (Index2(), None),
        "Index1, Baumgarte(alpha=100)": (Index1(), Baumgarte(alpha=100.0)),
    }
    rows = []
    for name, (formulation, stabilization) in methods.items():
        cells = [name]
        for problem, step in cases:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    sol = simulate(
                        problem, formulation=formulation, integrator=BackwardEuler(), step=step, stabilization=stabilization
                    )
                known = problem.reference()
                gaps = (np.abs(sol.q[-1] - known.q).max(), np.abs(sol.v[-1] - known.v).max())
                cells += [f"{gap:.0e}" if gap < 1e3 else "blows up" for gap in gaps]
            except HolonomicError as problem_met:
                cells += [type(problem_met).__name__] * 2
        rows.append(cells)
    head = [f"{problem.name}, h = {step:g}: error of {letter}" for problem, step in cases for letter in "qv"]
    return table(["formulation", *head], rows)


def long() -> str:
    """Energy of a pendulum over 1000 periods, at equal steps."""
    problem = pendulum(t_end=2000.0)
    methods = {
        "RATTLE": (Index3(), RATTLE(), None),
        "GeneralizedAlpha(rho=0.8)": (Index3(), GeneralizedAlpha(), None),
        "ImplicitMidpoint, Projection": (Index1(), ImplicitMidpoint(), Projection()),
        "RK4, Projection": (Index1(), RK4(), Projection()),
    }
    rows = []
    for name, (formulation, integrator, stabilization) in methods.items():
        given = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization, "step": 0.02}
        sol = simulate(problem, **given, progress=False)
        lost = np.abs(sol.energy_error)
        first, last = lost[sol.t <= 20].max(), lost[sol.t >= 1980].max()
        took = best_time(lambda g=given: simulate(problem, **g, progress=False))
        rows.append([name, f"{first:.0e}", f"{last:.0e}", milliseconds(took)])
    sol = simulate(problem, rtol=1e-10, progress=False)
    lost = np.abs(sol.energy_error)
    took = best_time(lambda: simulate(problem, rtol=1e-10, progress=False))
    rows.append(["DOP853, Projection, rtol 1e-10", f"{lost[sol.t <= 20].max():.0e}", f"{lost[-1]:.0e}", milliseconds(took)])
    return table(["method", "energy error, first 20 s", "last 20 s", "time in ms"], rows)


def energy() -> str:
    """prefer="energy" beside runs that ask for rtol alone, over some thousand swings."""
    cases = [(pendulum(), 2000.0), (double_pendulum(), 2000.0), (chain(), 1000.0), (four_bar(), 1000.0)]
    rows = []
    for problem, t_end in cases:
        for rtol in (1e-4, 1e-6, 1e-8):
            lost, took = [], []
            for prefer in ("energy", None):
                given = {"prefer": prefer, "rtol": rtol, "save_at": 4000, "progress": False}
                lost.append(np.abs(simulate(problem, t_end, **given).energy_error).max())
                took.append(best_time(lambda g=given, p=problem, t=t_end: simulate(p, t, **g)))
            name = f"{problem.name}, {t_end:g} s"
            rows.append([name, f"{rtol:.0e}", *(f"{x:.1e}" for x in lost), *map(milliseconds, took)])
    return table(["problem", "rtol", 'energy error, `prefer="energy"`', "without", "time in ms", "without"], rows)


TABLES = {"smooth": smooth, "fixed": fixed, "stiff": stiff, "rapid": rapid, "long": long, "energy": energy}


def write(name: str, text: str) -> None:
    """Put a table between its markers."""
    page = PAGE.read_text(encoding="utf-8")
    pattern = rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)"
    assert re.search(pattern, page, flags=re.DOTALL), f"no markers for {name}"
    PAGE.write_text(re.sub(pattern, lambda m: f"{m.group(1)}\n{text}\n\n{m.group(2)}", page, flags=re.DOTALL), encoding="utf-8")


def main(names) -> None:
    for name in names or TABLES:
        text = TABLES[name]()
        print(f"{name}\n{text}\n", flush=True)
        if PAGE.exists():
            write(name, text)
    print(platform.machine(), platform.python_version())


if __name__ == "__main__":
    main(sys.argv[1:])
