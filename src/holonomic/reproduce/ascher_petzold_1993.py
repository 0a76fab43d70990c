"""[ascher-petzold-1993]: which formulation lets a stiff method behave as one.

The paper's p is our q, its C our G, B = M⁻¹Gᵀ. d-2 is Index2 here, (4.14), (4.16), (4.17) are ProjectedInvariants of kind
Pa, Pb and Pc, and S (4.15) is GGL.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..formulations.ggl import GGL
from ..formulations.index1 import Index1
from ..formulations.index2 import Index2
from ..formulations.projected_invariants import ProjectedInvariants
from ..formulations.state_space import StateSpace
from ..integrators.fixed_steps import BackwardEuler, FixedBDF, ImplicitMidpoint
from ..integrators.runge_kutta import RK4
from ..problems import heterogeneous_masses, index2_pair, rapid_constraint, rapid_pair
from ..simulate import simulate
from ..stabilizations.baumgarte import Baumgarte
from ..stabilizations.post import PostStabilization, S_vel
from ..stabilizations.projection import Projection
from ..study.reference import drift

END = np.exp(1.0)  # every component of the exact solution at t = 1
DIRECTIONS = {"D = B": "mass", "D = Cᵀ": "G", "D = unit": "unit"}


def error(values) -> float:
    """Return the largest error over the components at the end."""
    return float(np.abs(values[-1] - END).max())


def last_drift(sol, level: str = "position") -> float:
    """Return the residual of the constraint at the end."""
    return float(np.abs(drift(sol)[level][-1]).max())


# Tables 4.1 and 4.2: index 2


def index_2(problem):
    """Return the computation of a table of index-2 formulations."""

    def compute(row) -> dict:
        formulation, stabilization = {
            "Baumgarte": (Index1(), Baumgarte(gamma=row.get("gamma", 0))),
            "index 2": (Index2(), None),
            "projected invariant (4.7), D = Cᵀ": (ProjectedInvariants("Pa"), None),
            "state space, R = (1, 0)": (StateSpace(R=((1, 0),)), None),
        }[row["method"]]
        sol = simulate(problem(), formulation=formulation, integrator=BackwardEuler(), stabilization=stabilization, step=0.01)
        return {"error": error(sol.q), "drift": last_drift(sol)}

    return compute


# Tables 4.3 to 4.8: heterogeneous masses


def masses(formulation):
    """Return the computation of a table; `formulation` is a function of D."""

    def compute(row) -> dict:
        problem = heterogeneous_masses(nu=row["nu"], damping=row["damping"])
        method = row["method"]
        once = "note" in row  # where a step matrix is singular
        chosen = formulation(DIRECTIONS[method]) if method in DIRECTIONS else Index2()
        sol = simulate(problem, formulation=chosen, integrator=BackwardEuler(once), stabilization=None, step=0.01)
        found = {"error of p": error(sol.q), "error of v": error(sol.v)}
        if method not in DIRECTIONS:
            return found | {"drift": last_drift(sol)}
        return found | {"|mu|": float(abs(sol.unknowns["mu"][-1, 0])), "drift": last_drift(sol, "velocity")}

    return compute


def projected(D):
    """Pa with direction D."""
    return ProjectedInvariants("Pa", D=D)


# Table 4.9, and velocity projection


def both_levels(row) -> dict:
    """Return the errors of a formulation that keeps both levels."""
    formulation = GGL() if row["method"] == "S" else ProjectedInvariants(row["method"])
    sol = simulate(
        rapid_constraint(nu=row["nu"]), formulation=formulation, integrator=BackwardEuler(), stabilization=None, step=row["h"]
    )
    return {"error of p": error(sol.q), "error of v": error(sol.v)}


def velocity_projection(row) -> dict:
    """Return the errors of v with the velocity projected in every step, or at the end alone."""
    given = {"formulation": ProjectedInvariants("Pa"), "integrator": BackwardEuler(), "step": row["h"]}
    inside = simulate(rapid_constraint(), **given, stabilization=S_vel())
    after = simulate(rapid_constraint(), **given, stabilization=None)
    C = np.array([np.sin(100.0), np.cos(100.0)])  # |C| = 1
    v = after.v[-1] - C * drift(after)["velocity"][-1, 0]
    return {"error of v": error(inside.v), "error of v, output alone": float(np.abs(v - END).max())}


# Coordinate projection, projected collocation, BDF of higher order, an explicit method


def projections(row) -> dict:
    """Return errors of methods that project after every step."""
    method, nu = row["method"], row["nu"]
    if method.startswith("projection"):
        metric = "mass" if method.endswith("M") else None
        sol = simulate(
            heterogeneous_masses(nu=nu), formulation=Index1(), integrator=BackwardEuler(), step=0.01,
            stabilization=PostStabilization("position", 1, metric=metric),
        )  # fmt: skip
        return {"error of p": error(sol.q), "error of v": error(sol.v)}
    formulation, stabilization = (Index2(), Projection(D="B"))
    if "(4.7)" in method:
        formulation, stabilization = ProjectedInvariants("Pa"), Projection()
    sol = simulate(
        index2_pair(nu=nu), formulation=formulation, integrator=ImplicitMidpoint("stage"), step=0.01, stabilization=stabilization
    )
    return {"error": error(sol.q)}


def higher_order(row) -> dict:
    """Return errors of BDF methods of order k, or of RK4 with Baumgarte's method."""
    method = row["method"]
    if "k" in row:
        formulation = Index2() if method.endswith("index 2") else ProjectedInvariants("Pa")
        return {"error": error(bdf(formulation, row["k"]).q)}
    problem = rapid_pair if method.endswith("1") else index2_pair
    sol = simulate(problem(nu=row["nu"]), integrator=RK4(), step=0.01, stabilization=Baumgarte(gamma=1))
    return {"error": error(sol.q), "drift": last_drift(sol)}


@cache
def bdf(formulation, k: int):
    """Return a run of Example 2."""
    return simulate(index2_pair(), formulation=formulation, integrator=FixedBDF(k), stabilization=None, step=0.01)


COMPUTE = {
    "4.1": index_2(rapid_pair),
    "4.2": index_2(index2_pair),
    "4.3": masses(projected),
    "4.4": masses(GGL),
    "4.5": masses(projected),
    "4.6": masses(GGL),
    "4.7": masses(projected),
    "4.8": masses(GGL),
    "4.9": both_levels,
    "projection": projections,
    "higher-order": higher_order,
    "velocity": velocity_projection,
}

DRAWINGS = []  # the paper has no figures
