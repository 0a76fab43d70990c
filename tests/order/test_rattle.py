"""RATTLE and its compositions: their orders on unequal masses, at steps and between them, and what they keep."""

from functools import cache

import numpy as np
import pytest

from holonomic import DOP853, RATTLE, BadArgument, System, simulate
from holonomic.integrators.rattle import composition
from holonomic.problems import Problem
from holonomic.testing import SLACK, bead

# steps of the coarser run, by order: errors clear of rounding, their leading terms ruling
COARSE = {2: 200, 4: 60, 6: 48}


def two_rods(t_end: float = 1.0) -> Problem:
    """Masses of 1 and 5 kg on two rods, the first of which hangs on a point that moves."""

    def rods(t, q):
        first, second = q[:2] - np.array([0.3 * t, 0.1 * t * t]), q[2:] - q[:2]
        return np.array([first @ first - 1.0, second @ second - 0.49])

    system = System(
        mass=np.diag([1.0, 1.0, 5.0, 5.0]), potential=lambda q: 9.81 * q[1] + 5.0 * (9.81 * q[3] + 2.0 * q[2] ** 2), constraint=rods
    )
    return Problem("two-rods", "Two rods", system, t_end, q0=(1.0, 0.0, 1.0, -0.7), v0=(0.3, 0.5, 0.6, 0.5))


PROBLEMS = {"bead": lambda: bead(speed=0.5, rise=2.0, g=3.0, t_end=2.0, heavy=3.0), "two rods": two_rods}


@cache
def reference(name: str):
    return simulate(PROBLEMS[name](), integrator=DOP853(), rtol=1e-13, atol=1e-13, save_at=13)


def errors(name: str, order: int, steps: int, between: bool) -> dict[str, float]:
    """Largest errors at common times, which are ends of steps or, one step fewer, lie between them."""
    problem, known = PROBLEMS[name](), reference(name)
    sol = simulate(problem, integrator=RATTLE(order=order), step=problem.t_end / (steps - between), save_at=13)
    return {part: float(np.abs(getattr(sol, part) - getattr(known, part)).max()) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("between", [False, True], ids=["at steps", "between steps"])
@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_q_v_and_multipliers_have_the_order_over_the_whole_run(name, order, between):
    n = COARSE[order] * (2 if name == "two rods" else 1)  # its light mass whips round
    coarse, fine = (errors(name, order, k, between) for k in (n, 2 * n))
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) >= order - SLACK, (part, coarse, fine)


@pytest.mark.parametrize("order", [4, 6])
def test_shares_meet_the_conditions_of_the_order(order):
    """[HLW06] Sec. V.3.2: Σ γ = 1, Σ γ³ = 0, and Σ γ⁵ = 0 with order 6."""
    shares = composition(order)
    assert np.array_equal(shares, shares[::-1])
    assert abs(shares.sum() - 1) < 1e-15
    for power in range(3, order, 2):
        assert abs(np.sum(shares**power)) < 1e-15


@pytest.mark.parametrize("order", [2, 4, 6])
def test_constraints_hold_to_rounding_at_both_levels(order):
    sol = simulate(two_rods(), integrator=RATTLE(order=order), step=0.01)
    assert sol.drift.max()["position"] < 1e-13 and sol.drift.max()["velocity"] < 1e-12, sol.drift.max()


@pytest.mark.parametrize("order", [2, 4, 6])
def test_a_run_back_ends_where_it_began(order):
    problem = two_rods()
    there = simulate(problem, integrator=RATTLE(order=order), step=0.01).end
    back = simulate(problem.system, (problem.t_end, 0.0), q0=there.q, v0=there.v, integrator=RATTLE(order=order), step=0.01)
    assert np.abs(back.q[-1] - problem.q0).max() < 1e-12 and np.abs(back.v[-1] - problem.v0).max() < 1e-11


@pytest.mark.parametrize("order, swing", [(2, 6e-2), (4, 1e-3), (6, 2e-4)])
def test_energy_swings_and_does_not_creep(order, swing):
    """Over 500 swings of a pendulum in the plane the energy of the last swings is off no more than that of the first."""
    system = System(mass=2.0 * np.eye(2), potential=lambda q: 2.0 * q[1], constraint=lambda q: q @ q - 1)
    step = 0.1 * {2: 1, 4: 2.5, 6: 4.5}[order]
    sol = simulate(system, 3000.0, q0=[1.0, 0.0], v0=[0.0, 0.0], integrator=RATTLE(order=order), step=step)
    lost = np.abs(sol.energy_error)
    first, last = lost[sol.t <= 100].max(), lost[sol.t >= 2900].max()
    assert last < 1.05 * first and first < swing, (first, last)


@pytest.mark.parametrize("order", [3, 8, True, "4", None])
def test_other_orders_are_refused_with_those_there_are(order):
    with pytest.raises(BadArgument, match="RATTLE has order 2, 4 or 6"):
        RATTLE(order=order)
