"""[steinbrecher-2003]: five forms of the equations of motion from a start that misses every level of the constraint.

The unit circle by the trapezoidal rule. The paper's forms are formulations here: uODE UnderlyingODE, EoM1 Index1, EoM2
Index2, EoM Index3, sfEoM StrangenessFree. Its figures carry no numbers; the rules are from runs of another program.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..errors import StepFailed
from ..formulations.ggl import GGL
from ..formulations.index1 import Index1
from ..formulations.index2 import Index2
from ..formulations.index3 import Index3
from ..formulations.overdetermined import Overdetermined
from ..formulations.strangeness_free import StrangenessFree
from ..formulations.underlying_ode import UnderlyingODE
from ..integrators.fixed_steps import BackwardEuler, Trapezoidal
from ..model.system import System
from ..problems import unit_circle
from ..simulate import simulate
from ..study.order import observed_order
from .paper import Curve, Drawing, FigurePanel

STEP, STEPS = 0.005, 1000
FORMS = {
    "uODE": UnderlyingODE(),
    "EoM1": Index1(),
    "EoM2": Index2(),
    "EoM": Index3(),
    "sfEoM, rows": StrangenessFree("rows"),
    "sfEoM, null space": StrangenessFree("null-space"),
    "sfEoM, constant null space": StrangenessFree("constant"),
    "GGL": GGL(),
    "overdetermined": Overdetermined(),
}


@cache
def run(form: str, consistent: bool = False) -> dict[str, np.ndarray]:
    """Return times, states and residuals of one run; of a run that fails, up to where it stopped."""
    given = {"formulation": FORMS[form], "integrator": Trapezoidal(), "stabilization": None, "step": STEP}
    if not consistent:
        given |= {"q0": [1e-4, 1.0001], "v0": [0.999, 0.001], "lam0": [-1e-4], "initial": "free"}
    try:
        sol = simulate(unit_circle(), STEPS * STEP, **given)
    except StepFailed as problem:
        sol = problem.solution
    return measured(sol)


def measured(sol) -> dict[str, np.ndarray]:
    """Return the residuals with the method's own λ, and the errors."""
    t, q, v, lam = sol.t, sol.q, sol.v, sol.unknowns["lam"][:, 0]
    force = np.array([-q[:, 0] - 2 * q[:, 0] * v[:, 0] * v[:, 1], -v[:, 0] + 2 * q[:, 0] * q[:, 1] ** 2]).T
    exact_q, exact_v = np.array([np.sin(t), np.cos(t)]).T, np.array([np.cos(t), -np.sin(t)]).T
    length = (q * q).sum(axis=1)
    found = {
        "t": t,
        "lam": lam,
        "p": q,
        "v": v,
        "g": length - 1,
        "gI": 2 * (q * v).sum(axis=1),
        "gII": 2 * (v * v).sum(axis=1) + 2 * (q * force).sum(axis=1) - 4 * lam * length,
        "error of p": np.abs(q - exact_q).max(axis=1),
        "error of v": np.abs(v - exact_v).max(axis=1),
        "error of lam": np.abs(lam - np.sin(t) * np.cos(t)),
    }
    return found | {name: values[:, 0] for name, values in sol.unknowns.items() if name == "mu"}


def alternating(values: np.ndarray) -> np.ndarray:
    """Return the part of a sequence that changes sign every step, at all entries but the ends."""
    return np.abs(values[2:] - 2 * values[1:-1] + values[:-2]) / 4


def start(row) -> dict:
    """Return the residuals of the start."""
    found = run("EoM1")
    return {name: float(found[name][0]) for name in ("g", "gI", "gII")}


def figure(row) -> dict:
    """Return every number that any of the figures is about."""
    form = row["method"]
    found = run(form)
    t, lam = found["t"], found["lam"]
    values = {}
    for name in ("g", "gI", "gII"):
        for at in (0, 1, 200, 400, 600, 800, 1000):
            if at < len(t):
                values[f"{name}({at * STEP:g})"] = float(found[name][at])
        values[f"largest |{name}|, t > 0"] = float(np.abs(found[name][1:]).max())
        values[f"largest |{name}|, 0 < t <= 3"] = float(np.abs(found[name][1:601]).max())
    for name in ("p", "v", "lam"):
        values[f"largest error of {name}"] = float(found[f"error of {name}"].max())
    swing = alternating(lam[1:])  # entry k belongs to step k + 2
    values["alternating part of lambda"] = float(swing.max())
    for name, at in (("start", 0), ("middle", len(swing) // 2), ("end", len(swing) - 1)):
        values[f"alternating part of lambda, {name}"] = float(swing[at])
    for at in (100, 200, 400, 600):
        if at - 2 < len(swing):
            values[f"alternating part of lambda, t = {at * STEP:g}"] = float(swing[at - 2])
    for n in range(1, 6):
        values[f"lambda, step {n}"], values[f"gI, step {n}"] = float(lam[n]), float(found["gI"][n])
    signs = np.sign(np.diff(lam[1:602]))
    values["share of steps in which lambda turns, 0 < t <= 3"] = float(np.mean(signs[1:] != signs[:-1]))
    if "mu" in found:
        values["alternating part of mu"] = float(alternating(found["mu"]).max())
    return values


def consistent(row) -> dict:
    """Return errors, or the order, from the start of the exact solution."""
    form = row["method"]
    if form == "EoM":
        found = run(form, consistent=True)
        return {f"largest error of {name}": float(found[f"error of {name}"].max()) for name in ("p", "v", "lam")}
    steps = [5.0 / n for n in (125, 250, 500, 1000)]
    study = observed_order(unit_circle(), Trapezoidal(), None, steps, formulation=FORMS[form])
    sizes = np.maximum(study.error["q"].sizes, study.error["v"].sizes)
    return {"order": float(np.log2(sizes[-2] / sizes[-1])), "largest error, 1000 steps": float(sizes[-1])}


def classes(row) -> dict:
    """Return what Table 1 of the paper says in words, as numbers."""
    found = run(row["method"])
    values = {}
    for name in ("g", "gI", "gII"):
        values[f"degree of {name} in t"] = degree(found["t"][1:], found[name][1:])
    values["alternating part of lambda"] = float(alternating(found["lam"][1:]).max())
    values["alternating part of v"] = float(alternating(found["v"][1:]).max())
    return values


def degree(t: np.ndarray, values: np.ndarray) -> float:
    """Return the degree of the polynomial of lowest degree that meets all values within 2 % of their size; NaN for none."""
    size = np.abs(values).max()
    for n in range(4):
        off = np.abs(np.polyval(np.polyfit(t, values, n), t) - values).max()
        if off <= 0.02 * size:
            return float(n)
    return float("nan")


# Linear equations of motion with matrices of time, (22) of the paper; G', G'' and Z' for (25e) by hand
MASS = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 1.5]])
SPRINGS = np.array([[-3.0, 0.5, 0.0], [0.5, -2.0, 0.2], [0.0, 0.2, -4.0]])
DAMPING = np.array([[-0.2, 0.1, 0.0], [-0.1, -0.3, 0.0], [0.0, 0.0, -0.1]])


def matrix_G(t):
    return np.array([[np.sin(t), -np.cos(t), 1.0 + 0 * t]])


def matrix_Z(t):
    return np.array([[1.0 + 0 * t, 0.2 * t, 0 * t], [0 * t, 1.0 + 0.1 * t, 0.3 + 0 * t], [0.1 + 0 * t, 0 * t, 1.0 + 0 * t]])


def linear_equations(row) -> dict:
    """Return order, residuals and one-iteration steps of Algorithm 13."""
    system = System.linear(MASS, SPRINGS, DAMPING, matrix_G, Z=matrix_Z)
    form = {"formulation": FORMS[row["method"]], "stabilization": None}
    given = {"t_end": 2.0, "q0": [1.0, 0.5, 0.5], "v0": [0.0, 1.0, 0.0]}
    steps = [2.0 / n for n in (50, 100, 200)]
    study = observed_order(system, Trapezoidal(), None, steps, formulation=form["formulation"], **given)
    sol = simulate(system, **given, **form, integrator=Trapezoidal(), step=0.01)
    gII = [acceleration_level(*state) for state in zip(sol.t, sol.q, sol.v, sol.unknowns["lam"], strict=True)]
    once, often = (simulate(system, **given, **form, integrator=BackwardEuler(once=way), step=0.01) for way in (True, False))
    return {
        "order": study.order,
        "order of lambda": study.error["lam"].order,
        "largest |g|": float(np.abs(sol.drift["position"]).max()),
        "largest |gI|": float(np.abs(sol.drift["velocity"]).max()),
        "largest |gII|, (25e)": float(np.abs(gII).max()),
        "one Newton iteration and many, difference": float(np.abs(once.q - often.q).max()),
    }


def acceleration_level(t, p, v, lam) -> np.ndarray:
    """Return (25e) of the paper."""
    G, Z = matrix_G(t), matrix_Z(t)
    G1, G2 = np.array([[np.cos(t), np.sin(t), 0.0]]), np.array([[-np.sin(t), np.cos(t), 0.0]])
    Z1 = np.array([[0.0, 0.2, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.0]])
    rows = G @ Z @ np.linalg.inv(MASS)
    return (G2 + rows @ SPRINGS) @ p + (2 * G1 @ Z + G @ Z1 + rows @ DAMPING) @ v - rows @ Z.T @ G.T @ lam


COMPUTE = {
    "algorithm-13": linear_equations,
    "start": start,
    "1": classes,
    **{f"figure-{n}": figure for n in range(1, 6)},
    "other-forms": figure,
    "consistent": consistent,
}


# Figures


def figure_panels(form: str, free: int) -> list[list[FigurePanel]]:
    """Return solution and residuals of one form.

    `free` is how many derivatives of the residuals the form leaves as they are at the start: g is expected to be a
    polynomial of that many coefficients, gI and gII its derivatives.
    """
    found = run(form)
    t, s = found["t"], np.linspace(0, STEP * STEPS, 201)
    start = np.array([found[name][0] for name in ("g", "gI", "gII")])
    start[free:] = 0.0
    expected = {"g": start[0] + start[1] * s + start[2] * s**2 / 2, "gI": start[1] + start[2] * s, "gII": start[2] + 0 * s}
    exact = {
        "p": np.array([np.sin(s), np.cos(s)]).T, "v": np.array([np.cos(s), -np.sin(s)]).T,
        "lam": (np.sin(s) * np.cos(s))[:, None],
    }  # fmt: skip
    above = [
        FigurePanel(
            title, [*(Curve(s, y, faint=True) for y in exact[name].T), *(Curve(t, y) for y in np.atleast_2d(found[name].T))]
        )
        for name, title in (("p", "p"), ("v", "v"), ("lam", "λ"))
    ]
    below = [FigurePanel(name, [Curve(s, expected[name], faint=True), Curve(t[1:], found[name][1:])]) for name in expected]
    return [above, below]


def figure_of(number: int, form: str, free: int, printed: str, ours: str) -> Drawing:
    """Return the drawing of one figure."""
    wide = "The wide line is the exact solution above, and below the residual that the paper predicts. "
    return Drawing(f"figure-{number}", f"Figure {number}", printed, wide + ours, lambda: figure_panels(form, free))


DRAWINGS = [
    figure_of(
        1, "uODE", 3,
        "g deviates quadratically and gI linearly, as predicted; gII is almost constant; nothing oscillates.",
        "The same.",
    ),
    figure_of(
        2, "EoM1", 2,
        "gII jumps from -0.0013956 to 0 in the first step and stays; g is linear, gI constant; nothing oscillates.",
        "The same (the start is left out of the residuals); gI is constant to 0.2 %.",
    ),
    figure_of(
        3, "EoM2", 1,
        "gI is kept; gII is not, because λ oscillates; g stays as predicted.",
        "The same; g grows by 3 % in the first step, in which gI falls to zero, and by 0.1 % afterwards.",
    ),
    figure_of(
        4, "EoM", 0,
        "λ oscillates extremely and v visibly, so that gI and gII are violated; g is kept, and there is no deviation.",
        "The same up to t = 3.5, where our run ends: the equations of a step have no solution near the last point any more. The "
        "text does not say how far the print's run goes.",
    ),
    figure_of(
        5, "sfEoM, rows", 0,
        "No deviation from the manifold and no oscillation.",
        "The same: all three residuals are rounding, below 2e-15.",
    ),
]  # fmt: skip
