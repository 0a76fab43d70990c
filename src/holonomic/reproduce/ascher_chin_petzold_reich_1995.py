"""[ascher-chin-petzold-reich-1995]: amplification, the two-link arm, the seven-body mechanism.

The paper's Baum(α₁, α₀) is Baumgarte(gains=(α₁, α₀)) here, and Baum(0, 0) no stabilization at all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ..errors import NotFinite, StepFailed
from ..integrators.runge_kutta import DOP853, RK45, Euler, Heun
from ..model.system import System
from ..problems import seven_body, two_link_arm
from ..simulate import simulate
from ..stabilizations.baumgarte import Baumgarte
from ..stabilizations.post import PostStabilization, S_both, S_both2, S_full, S_pos, S_vel
from ..stabilizations.projection import Projection
from ..study.order import observed_order
from ..study.reference import largest_drift
from .ascher_chin_reich_1992 import error_over_gamma
from .paper import Curve, Drawing, FigurePanel
from .rules import BlowUp, Spread

BEYOND = 1e8  # the state of a run that blew up

METHODS = {
    "Baum(0,0)": None,
    "Baum(12,70)": Baumgarte(gains=(12, 70)),
    "Baum(200,10000)": Baumgarte(gains=(200, 10000)),
    "S-full": S_full(),
    "S-both": S_both(),
    "S-vel": S_vel(),
    "S-pos": S_pos(),
    "S-pos, 5 sweeps": PostStabilization("position", 5),
    "Baumgarte(gamma = 10)": Baumgarte(gamma=10),
}


# Example 1: the matrix that takes (g, G v) over one step of forward Euler


def amplification(row) -> dict:
    """Return norms of B, the matrix by which one step multiplies the residuals of a linear constraint."""
    h, eye = 0.01, np.eye(2)
    if row["method"] == "Baumgarte, any gains":
        worst = 0.0
        for a1, a0 in ((12.0, 70.0), (2 / h, 1 / h**2)):
            formula = np.block([[eye, h * eye], [-a0 * h * eye, (1 - a1 * h) * eye]])
            worst = max(worst, np.abs(step_matrix(Baumgarte(gains=(a1, a0)), h) - formula).max())
        return {"largest |B - formula|": float(worst)}
    method = {
        "Baumgarte(2/h, 1/h²)": Baumgarte(gains=(2 / h, 1 / h**2)),
        "Baumgarte(12, 70)": Baumgarte(gains=(12, 70)),
        "none": None,
        "post-stabilization, alpha = 1": PostStabilization("both", 1),
    }[row["method"]]
    B = step_matrix(method, h)
    return {
        "norm of B": float(np.linalg.norm(B, np.inf)),
        "norm of B²": float(np.linalg.norm(B @ B, np.inf)),
        "spectral radius": float(np.abs(np.linalg.eigvals(B)).max()),
    }


def step_matrix(stabilization, h: float) -> np.ndarray:
    """Return B of one step: each column from a start with a single residual of size one."""
    random = np.random.default_rng(1995)
    root = random.standard_normal((5, 5))
    M, G = root @ root.T + 5 * np.eye(5), random.standard_normal((2, 5))
    system = System(mass=M, constraint=lambda q: G @ q)
    inverse = np.linalg.pinv(G)
    columns = []
    for k in range(4):
        residual = np.zeros(4)
        residual[k] = 1.0
        sol = simulate(
            system, h, q0=inverse @ residual[:2], v0=inverse @ residual[2:], integrator=Euler(), step=h,
            stabilization=stabilization, initial="free",
        )  # fmt: skip
        columns.append(np.concatenate([G @ sol.q[-1], G @ sol.v[-1]]))
    return np.array(columns).T


# Example 2: the two-link arm with Heun's method


@cache
def arm_drift(case: str, h: float, method: str) -> dict[str, float | BlowUp]:
    """Return the largest drift of one run by level, or that it blew up."""
    if method == "S-both²":
        stabilization = PostStabilization("both", 2, freeze="inverse")
    elif method == "Baumgarte(gamma = 1/h)":
        stabilization = Baumgarte(gamma=1 / h)
    else:
        stabilization = METHODS[method]
    try:
        sol = simulate(two_link_arm(case), integrator=Heun(), step=h, stabilization=stabilization)
    except (NotFinite, StepFailed) as problem:
        return dict.fromkeys(("position", "velocity"), BlowUp(float(problem.solution.t[-1])))
    beyond = ~(np.max(np.abs(np.hstack([sol.q, sol.v])), axis=1) < BEYOND)
    if beyond.any():
        return dict.fromkeys(("position", "velocity"), BlowUp(float(sol.t[beyond.argmax()])))
    return largest_drift(sol)


def drift_table(case: str):
    """Return the computation of Table 6.1 (case I) or 6.2 (case II)."""

    def compute(row) -> dict:
        found = arm_drift(case, row["h"], row["method"])
        return {"velocity drift": found["velocity"], "position drift": found["position"]}

    return compute


def arm_claims(row) -> dict:
    """Return drifts and their ratios to those of another method, or drift orders."""
    method, case = row["method"], row["case"]
    if "h" not in row:
        stabilization = {"S-both": S_both(), "S-full": S_full(), "S-both², F frozen": S_both2()}[method]
        study = observed_order(
            two_link_arm(case, t_end=10.0), Heun(), stabilization, [0.04, 0.02, 0.01, 0.005], constraint_tol=1e-10
        )
        return {"order of the velocity drift": study.drift["velocity"].order}
    found = arm_drift(case, row["h"], method)
    ours = {"velocity drift": found["velocity"], "position drift": found["position"]}
    if isinstance(found["velocity"], BlowUp):
        return ours
    for other in ("Baum(12,70)", "S-pos"):
        known = arm_drift(case, row["h"], other)
        if isinstance(known["velocity"], float):
            ours |= {f"{level} drift over that of {other}": found[level] / known[level] for level in found}
    return ours


# Table 6.3: the arm over a long time, where the motion is chaotic

ENSEMBLE = np.logspace(-4, -2, 21)  # first steps
MOST_STEPS = 300_000


def adaptive(method: str):
    """Return a method as the paper's adaptive program has it."""
    if method == "S-both²":
        return PostStabilization("both", 2, freeze="stage", estimate="whole")
    return METHODS[method]


def long_arm(row) -> dict:
    """Return steps and drift over an ensemble of runs that differ in their first step."""
    problem = two_link_arm("II", omega=row["omega"], t_end=100.0)
    problem = replace(problem, system=replace(problem.system, coordinates=("theta1", "theta2")))
    found = []
    for first in ENSEMBLE:
        try:
            sol = simulate(
                problem, integrator=RK45(), stabilization=adaptive(row["method"]), rtol=1e-5, atol=1e-6,
                first_step=first, max_steps=MOST_STEPS,
            )  # fmt: skip
        except StepFailed as problem_met:
            sol = problem_met.solution
        drift = largest_drift(sol)
        found.append((sol.stats["steps"] + sol.stats["rejected"], drift["position"], drift["velocity"]))
    columns = np.array(found).T
    names = ("steps", "position drift", "velocity drift")
    return {
        name: Spread(float(np.min(values)), float(np.median(values)), float(np.max(values)))
        for name, values in zip(names, columns, strict=True)
    }


# Table 6.4: the seven-body mechanism

# q at t = 0.3, by another program, good to 1.2e-6
Q_END = (636.737019, -636.457746, 0.163291407, -0.320228564, 0.524979708, 0.320228564, 1.06988927)


def seven_bodies(row) -> dict:
    """Return steps, drift and the error at the end; or how well the model agrees with its reference."""
    if row["method"] == "the model":
        problem = seven_body()
        sol = simulate(problem, integrator=DOP853(), stabilization=Projection(), rtol=1e-11, atol=1e-13)
        error = np.abs(sol.q[-1] - problem.reference().q).max()
        return {
            "largest |g| at the start": float(np.abs(sol.drift["position"][0]).max()),
            "error of q at t = 0.03, rtol 1e-11": float(error),
        }
    problem = seven_body(t_end=0.3)
    # the paper's error norm knows nothing of angles that count turns
    problem = replace(problem, system=replace(problem.system, coordinates=tuple(problem.system.coordinates)))
    sol = simulate(problem, integrator=RK45(), stabilization=adaptive(row["method"]), rtol=1e-5, atol=1e-6, first_step=1e-4)
    drift = largest_drift(sol)
    return {
        "steps": sol.stats["steps"] + sol.stats["rejected"],
        "position drift": drift["position"],
        "velocity drift": drift["velocity"],
        "error of q at t_f": float(np.abs(sol.q[-1] - Q_END).max()),
    }


COMPUTE = {
    "example-1": amplification,
    "6.1": drift_table("I"),
    "6.2": drift_table("II"),
    "example-2": arm_claims,
    "6.3": long_arm,
    "6.4": seven_bodies,
}


# Figures


def path_panel(case: str, title: str) -> FigurePanel:
    """Return the path of the arm's tip."""
    sol = simulate(two_link_arm(case), integrator=DOP853(), stabilization=Projection(), rtol=1e-9, atol=1e-12, save_at=4000)
    return FigurePanel(title, [Curve(*sol["tip"].T)], "x₂  (m)", "y₂  (m)")


def seven_body_panels() -> list[list[FigurePanel]]:
    """Return the angles of the seven-body mechanism between 0 and 2π."""
    problem = seven_body(t_end=0.3)
    sol = simulate(problem, integrator=DOP853(), stabilization=Projection(), rtol=1e-10, atol=1e-12, save_at=6000)
    angles = np.mod(sol.q, 2 * np.pi)
    angles[1:][np.abs(np.diff(angles, axis=0)) > np.pi] = np.nan  # a turn is no line across the picture
    curves = [Curve(sol.t, column, name) for name, column in zip(problem.system.coordinates, angles.T, strict=True)]
    room = (-0.2, 8.2)  # for the names above
    return [
        [FigurePanel("turning, modulo 2π", curves[:2], y="rad", limits=room)],
        [FigurePanel("swinging, modulo 2π", curves[2:], y="rad", limits=room)],
    ]


DRAWINGS = [
    Drawing(
        "figure-2.1", "Figure 2.1",
        "A sketch of the error over γ: the solid line is good, the dashed line is bad. Example 2 of [ascher-petzold-1993] "
        "gives the dashed one, the same with GGᵀ instead of GM⁻¹Gᵀ the solid one.",
        "That example computed: Baumgarte's error leaves the picture beyond γ = 300, the other two stay at 1.4e-5.",
        lambda: [[error_over_gamma()]],
    ),
    Drawing(
        "figures-6.2-6.3", "Figures 6.2 and 6.3",
        "The paths of the tip in both cases; in Case II the forces of the constraint become large at a few distinct times. No "
        "numbers.",
        "The paths up to t = 40 and t = 10, by DOP853 with rtol = 1e-9: a parabola, and a height that rises and falls between "
        "0 and 1 m while the tip wanders sideways.",
        lambda: [[path_panel("I", "6.2  Case I"), path_panel("II", "6.3  Case II")]],
    ),
    Drawing(
        "figure-6.4", "Figure 6.4",
        "The solution components of the seven-body mechanism up to t = 0.3, modulo 2π. No numbers.",
        "The same by DOP853 with rtol = 1e-10: beta and theta make a hundred turns, the other five swing, two of them about 0.",
        seven_body_panels,
    ),
]  # fmt: skip
