"""Generalized-α where q' = Z(q) v: order 2 of q, v and of its own λ from the first step on, on turns that do not commute."""

from functools import cache

import numpy as np
import pytest

from holonomic import DOP853, RATTLE, GeneralizedAlpha, Index2, Index3, LobattoIIIAB, System, simulate
from holonomic.errors import IncompatibleMethods
from holonomic.multibody import Mechanism, rod
from holonomic.problems import heavy_top

BOTH = [Index2(), Index3()]


def skewed():
    """A point on a curve, whose velocities are no rates of coordinates; nothing turns."""
    return System(
        mass=np.diag([1.0, 3.0]), force=lambda q: np.array([0.0 * q[0], -9.81 * q[1]]),
        kinematics=lambda q: np.array([[1.0 + 0.2 * q[1] ** 2, 0.3 * q[0]], [-0.1 + 0 * q[0], 1.0 + 0 * q[0]]]),
        constraint=lambda q: q[0] ** 2 + 2.0 * q[1] ** 2 + 0.3 * q[0] * q[1] - 1.0,
    )  # fmt: skip


CASES = {
    "heavy top": lambda: (heavy_top(t_end=0.05), {}),
    "skewed": lambda: (skewed(), {"q0": [0.8, 0.3], "v0": [0.5, 1.0], "initial": "project"}),
}
ENDS = {"heavy top": 0.05, "skewed": 1.0}


@cache
def known(name, points):
    system, start = CASES[name]()
    return simulate(system, ENDS[name], **start, integrator=DOP853(), rtol=1e-12, atol=1e-13, save_at=points)


def errors(name, n, **methods):
    system, start = CASES[name]()
    sol = simulate(system, ENDS[name], **start, step=ENDS[name] / n, **methods)
    other = known(name, n + 1)
    found = {part: np.abs(getattr(sol, part) - getattr(other, part)).max() for part in ("q", "v", "lam")}
    own = np.abs(sol.unknowns["lam"] - other.lam)
    return found | {"own lam": own.max(), "own lam at once": own[1:4].max()}


@pytest.mark.parametrize("rho", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
@pytest.mark.parametrize("name", list(CASES))
def test_q_v_and_multipliers_have_order_2_from_the_first_step_on(name, formulation, rho):
    """24 turns a second: with the mean velocity of a step alone λ of index 3 would have order 1, and errors 80 times as large."""
    how = {"integrator": GeneralizedAlpha(rho), "formulation": formulation}
    coarse, fine = (errors(name, n, **how) for n in (100, 200))
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) > 1.8, (part, coarse, fine)


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_errors_are_in_proportion_to_the_tolerance(formulation):
    for rtol in (1e-4, 1e-6):
        sol = simulate(heavy_top(t_end=0.05), integrator=GeneralizedAlpha(), formulation=formulation, rtol=rtol, save_at=5)
        other = known("heavy top", 5)
        assert np.abs(sol.q - other.q).max() < 20 * rtol and np.abs(sol.v - other.v).max() < 150 * 20 * rtol
        assert np.abs(sol.drift["position"]).max() < 1e-10  # norms of quaternions among them


def spinning():
    """Two rods on balls, spun about different axes."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("upper", rod((0, 0, 0), (0.3, 0, -0.1), mass=1.0, width=0.1))
    m.body("lower", rod((0.3, 0, -0.1), (0.4, 0.2, -0.3), mass=0.2, width=0.1))
    m.spherical("top", m.ground, "upper", at=(0, 0, 0))
    m.universal("joint", "upper", "lower", at=(0.3, 0, -0.1), axis=(1, 0, 0), other=(0, 1, 0))
    return m


@cache
def thrown():
    """Velocities that the joints allow."""
    v = np.zeros(12)
    v[3:6], v[9:12] = (8.0, 2.0, -5.0), (1.0, 6.0, -3.0)
    return simulate(spinning(), 1e-6, v0=v, initial="project", compile="never").v[0]


@pytest.mark.parametrize("integrator", [GeneralizedAlpha(), GeneralizedAlpha(rho=1.0)], ids=repr)
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_tables_take_the_steps_of_compiled_code(formulation, integrator):
    runs = {
        step: [
            simulate(spinning(), 0.2, v0=thrown(), compile=compiled, integrator=integrator, formulation=formulation, save_at=5,
                     **({"step": step} if step else {"rtol": 1e-5}))
            for compiled in ("never", "now")
        ]
        for step in (2e-3, None)
    }  # fmt: skip
    sol, other = runs[2e-3]
    assert sol.plan.tier == "tables" and sol.stats["steps"] == other.stats["steps"] == 100
    assert sol.q == pytest.approx(other.q, abs=1e-12) and sol.v == pytest.approx(other.v, abs=1e-9)
    assert sol.lam == pytest.approx(other.lam, rel=1e-8, abs=1e-8)
    sol, other = runs[None]  # rounding over h² in λ of index 3 may change a step
    assert abs(sol.stats["steps"] - other.stats["steps"]) <= 0.01 * other.stats["steps"]
    assert np.abs(sol.q - other.q).max() < 1e-6


def test_methods_for_forces_of_positions_say_why_bodies_that_turn_in_space_are_not_for_them():
    for integrator in (RATTLE(), LobattoIIIAB()):
        for compiled, way in (("never", r"( with formulation=Index2\(\))?"), ("now", "")):
            why = r"not for a system with kinematics= \(q' = Z v\)\. Use GaussLegendre4\(\) or ImplicitMidpoint\(\)" + way + r"\.$"
            with pytest.raises(IncompatibleMethods, match=why):
                simulate(spinning(), 0.1, step=1e-3, compile=compiled, integrator=integrator)
