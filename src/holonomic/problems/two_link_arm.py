"""Two-link planar arm whose tip follows a prescribed path."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.system import System
from .problem import Problem, Reference, choose

START = (70.0, -140.0)  # degrees

# kg, m, m/s²; beta puts the start on the parabola
ARM = {"m1": 36.0, "m2": 36.0, "l1": 1.0, "l2": 1.0, "g": 9.81}
PARAMS = {"I": {**ARM, "beta": float((2 * np.cos(np.deg2rad(START[0]))) ** 2)}, "II": {**ARM, "omega": 0.5}}


def two_link_arm(case: str = "I", *, t_end: float | None = None, **params: float) -> Problem:
    """Return the arm of [ascher-chin-petzold-reich-1995], Example 2: two uniform rods, angles θ1 and θ2.

    Case I: the tip stays on the parabola y2 = x2² - beta, up to t = 40.
    Case II: the tip is raised and lowered by y2 = sin²(omega t), up to t = 10.
    Both start at rest from (70°, -140°). Outputs: 'tip' and 'path force', the force of the path on the tip.

    Parameters
    ----------
    case : {"I", "II"}
        Which path.
    t_end : float, optional
        End in seconds; by default the published one.
    **params
        m1, m2, l1, l2, g and beta (case I) or omega (case II).
    """
    if case not in PARAMS:
        raise BadArgument(f"The two-link arm has no case {case!r}. Choose 'I' (parabola) or 'II' (moving height).")
    name = "two-link-arm" if case == "I" else "two-link-arm-II"
    params, published = choose(PARAMS[case], params, name)
    if case == "I":
        path = {"parabola": lambda q, p: tip(q, p)[1] - tip(q, p)[0] ** 2 + p.beta}
        path_force = lambda q, lam, p: np.array([2 * tip(q, p)[0] * lam[0], -lam[0]])
        about = "tip on a parabola"
    else:
        path = {"height": lambda t, q, p: tip(q, p)[1] - np.sin(p.omega * t) ** 2}
        path_force = lambda lam: np.array([0, -lam[0]])
        about = "tip at a moving height"
    return Problem(
        name=name,
        title=f"Two-link arm, {about}",
        system=System(
            mass=mass,
            force=velocity_terms,
            potential=weight,
            constraint=path,
            coordinates={"theta1": "angle", "theta2": "angle"},
            outputs={"tip": lambda q, p: tip(q, p), "path force": path_force},
            params=params,
            drawing=drawing,
        ),
        t_end=(40.0 if case == "I" else 10.0) if t_end is None else t_end,
        q0=tuple(float(np.deg2rad(angle)) for angle in START),
        v0=(0.0, 0.0),
        references=REFERENCES[case] if published else (),
        source="[ascher-chin-petzold-reich-1995] Example 2",
        notes=NOTES[case],
    )


def drawing(q, p):
    """Return both rods and the tip."""
    elbow = (p.l1 * np.cos(q[0]), p.l1 * np.sin(q[0]))
    return {"upper arm": [(0, 0), elbow], "forearm": [elbow, tip(q, p)], "tip": [tip(q, p)]}


def tip(q, p):
    """Return the tip (x2, y2)."""
    return np.array([p.l1 * np.cos(q[0]) + p.l2 * np.cos(q[0] + q[1]), p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[0] + q[1])])


def mass(q, p):
    """Return M(q) of two uniform rods."""
    c2 = np.cos(q[1])
    m11 = p.m1 * p.l1**2 / 3 + p.m2 * (p.l1**2 + p.l2**2 / 3 + p.l1 * p.l2 * c2)
    m12 = p.m2 * (p.l2**2 / 3 + p.l1 * p.l2 * c2 / 2)
    m22 = p.m2 * p.l2**2 / 3
    return np.array([[m11, m12], [m12, m22]])


def velocity_terms(q, v, p):
    """Return the centrifugal and Coriolis terms, as a force."""
    c = p.m2 * p.l1 * p.l2 * np.sin(q[1]) / 2
    return np.array([c * (2 * v[0] * v[1] + v[1] ** 2), -c * v[0] ** 2])


def weight(q, p):
    """Return the potential of gravity."""
    return p.g * (p.m1 * p.l1 * np.sin(q[0]) / 2 + p.m2 * (p.l1 * np.sin(q[0]) + p.l2 * np.sin(q[0] + q[1]) / 2))


NOTES = {
    "I": "One degree of freedom and conserved energy: errors grow slowly, as a phase.",
    "II": "The arm passes through its stretched position; a perturbation grows about 1e5 times in 10 s.",
}

SOURCE = (
    "own extrapolation runs in 80-bit arithmetic with projection, two step sizes and two orders; "
    "up to t = 10 checked in Cartesian coordinates of elbow and tip"
)

REFERENCES = {
    "I": (
        Reference(
            5.0,
            q=(0.84566294055424915, -2.5982073746903571),
            v=(2.7784267365058307, 0.62856995069158013),
            lam=(-34.67659274093871,),
            digits={"q": 15, "v": 14, "lam": 14},
            source=SOURCE,
        ),
        Reference(
            40.0,
            q=(0.7805930280116149, -2.6117104326898649),
            v=(-3.042352909891113, -0.5776320931197368),
            lam=(-51.0143096622826,),
            digits={"q": 14, "v": 14, "lam": 13},
            source=SOURCE,
        ),
    ),
    "II": (
        Reference(
            2.0,
            q=(3.0576302141690714, -0.5901569754859715),
            v=(6.184750424076582, -14.655218270181251),
            lam=(-1593.1212511358094,),
            digits={"q": 15, "v": 14, "lam": 15},
            source=SOURCE,
        ),
        Reference(
            5.0,
            q=(3.820968174289369, -2.085524577121455),
            v=(2.44177405446029, -11.106296466727087),
            lam=(-2646.310462111646,),
            digits={"q": 14, "v": 13, "lam": 13},
            source=SOURCE,
        ),
        Reference(
            10.0,
            q=(1.10653563425227, 2.00967137196427),
            v=(5.59750717466622, -2.81825086780932),
            lam=(17.3196053437331,),
            digits={"q": 13, "v": 12, "lam": 12},
            source=SOURCE,
        ),
    ),
}
