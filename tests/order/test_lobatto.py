"""Lobatto IIIA-IIIB for constraints: order 2s - 2 of q, v and λ on unequal masses, both constraints, the way back, energy."""

import numpy as np
import pytest
from test_rattle import reference, two_rods

from holonomic import RATTLE, BadArgument, IncompatibleMethods, LobattoIIIAB, StepFailed, System, simulate
from holonomic.integrators.lobatto import table
from holonomic.problems import Problem
from holonomic.testing import SLACK, bead

# steps of the coarser run, by number of stages: errors clear of rounding, their leading terms ruling
COARSE = {2: 192, 3: 60, 4: 36, 5: 24, 6: 24}


def heavy_bead() -> Problem:
    return bead(speed=0.5, rise=2.0, g=3.0, t_end=2.0, heavy=3.0)


PROBLEMS = {"bead": (heavy_bead, 1), "two rods": (two_rods, 4)}


def errors(name: str, stages: int, steps: int, between: bool) -> dict[str, float]:
    """Largest errors at common times, which are ends of steps or, one step fewer, lie between them."""
    problem, known = PROBLEMS[name][0](), reference(name)
    sol = simulate(problem, integrator=LobattoIIIAB(stages=stages), step=problem.t_end / (steps - between), save_at=13)
    return {part: float(np.abs(getattr(sol, part) - getattr(known, part)).max()) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("stages", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_q_v_and_multipliers_have_order_2s_minus_2(name, stages):
    n = COARSE[stages] * PROBLEMS[name][1]
    coarse, fine = (errors(name, stages, k, False) for k in (n, 2 * n))
    for part in coarse:
        found = np.log2(coarse[part] / fine[part])
        assert found >= 2 * stages - 2 - SLACK or fine[part] < 2e-11, (part, found, coarse, fine)


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_states_between_steps_have_that_order_up_to_6(stages):
    n = 2 * COARSE[stages]
    coarse, fine = (errors("two rods", stages, k, True) for k in (n, 2 * n))
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) >= 2 * stages - 2 - 3 * SLACK, (part, coarse, fine)


def test_two_stages_are_rattle():
    one, other = (simulate(two_rods(), integrator=i, step=0.01) for i in (LobattoIIIAB(stages=2), RATTLE()))
    assert np.abs(one.q - other.q).max() < 1e-12 and np.abs(one.v - other.v).max() < 1e-11


@pytest.mark.parametrize("stages", [2, 3, 4, 5, 6])
def test_weights_are_those_of_lobatto(stages):
    """Σ b_i c_i^(k-1) = 1/k up to k = 2s - 2 [HLW06 Sec. II.1.3], and a â of the first row and the last column vanishes."""
    numbers, s = table(stages), stages
    c, both, b = numbers[:s], numbers[s : s + s * s].reshape(s, s), numbers[s + s * s : 2 * s + s * s]
    assert np.allclose([b @ c**k for k in range(2 * s - 2)], [1 / (k + 1) for k in range(2 * s - 2)], rtol=1e-13)
    assert np.abs(both[0]).max() < 1e-15 and np.abs(both[:, -1]).max() < 1e-14
    assert np.allclose(both.sum(axis=1), c**2 / 2, atol=1e-14)


@pytest.mark.parametrize("stages", [2, 3, 4, 5, 6])
def test_constraints_hold_to_rounding_at_both_levels_and_the_way_back_leads_to_the_start(stages):
    problem, methods = two_rods(), {"integrator": LobattoIIIAB(stages=stages), "step": 0.01}
    there = simulate(problem, **methods)
    assert there.drift.max()["position"] < 1e-13 and there.drift.max()["velocity"] < 1e-12, there.drift.max()
    back = simulate(problem.system, (problem.t_end, 0.0), q0=there.q[-1], v0=there.v[-1], **methods)
    assert np.abs(back.q[-1] - problem.q0).max() < 1e-11 and np.abs(back.v[-1] - problem.v0).max() < 1e-10


@pytest.mark.parametrize("stages, step, swing", [(3, 0.2, 1e-4), (4, 0.4, 1e-5)])
def test_energy_swings_and_does_not_creep(stages, step, swing):
    system = System(mass=2.0 * np.eye(2), potential=lambda q: 2.0 * q[1], constraint=lambda q: q @ q - 1)
    sol = simulate(system, 3000.0, q0=[1.0, 0.0], v0=[0.0, 0.0], integrator=LobattoIIIAB(stages=stages), step=step)
    lost = np.abs(sol.energy_error)
    first, last = lost[sol.t <= 100].max(), lost[sol.t >= 2900].max()
    assert last < 1.05 * first and first < swing, (first, last)


def test_steps_that_do_not_resolve_a_stiff_force_are_refused_in_words():
    system = System(mass=np.eye(2), potential=lambda q: 0.5e6 * q[0] ** 2, constraint=lambda q: q @ q - 1)
    with pytest.raises(StepFailed, match="Newton's iteration did not converge"):
        simulate(system, 1.0, q0=[0.6, 0.8], v0=[0.0, 0.0], integrator=LobattoIIIAB(), step=0.05)


def test_forces_of_velocities_and_masses_that_change_are_refused():
    start = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "integrator": LobattoIIIAB(), "step": 0.01}
    damped = System(mass=np.eye(2), force=lambda v: -v, constraint=lambda q: q @ q - 1)
    with pytest.raises(IncompatibleMethods, match="of order 4 for forces of t and q alone, but here they depend on v"):
        simulate(damped, 1.0, **start)
    changing = System(
        mass=lambda q: (1.0 + q @ q) * np.eye(2), force=[0.0, -1.0], constraint=lambda q: q @ q - 1, velocity_terms=True
    )
    with pytest.raises(IncompatibleMethods, match="needs a constant mass matrix"):
        simulate(changing, 1.0, **start)


@pytest.mark.parametrize("stages", [1, 7, 3.0, True, "3", None])
def test_other_numbers_of_stages_are_refused(stages):
    with pytest.raises(BadArgument, match="must be a whole number from 2 to 6; the order is 2 stages - 2"):
        LobattoIIIAB(stages=stages)
