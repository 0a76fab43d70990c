"""Generalized-α with steps chosen by their error: order 2 of q, v and λ while steps change, and stiffness that it damps."""

from functools import cache

import numpy as np
import pytest

from holonomic import DOP853, Event, GeneralizedAlpha, Index2, Index3, Radau, System, simulate
from holonomic.problems import pendulum
from holonomic.testing import bead

BOTH = [Index2(), Index3()]


def heavy_bead():
    return bead(speed=0.5, rise=2.0, g=3.0, t_end=2.0, heavy=3.0)


@cache
def exact():
    return simulate(heavy_bead(), integrator=DOP853(), rtol=1e-13, atol=1e-13)


@cache
def run(formulation, rho, rtol):
    methods = {"formulation": formulation, "integrator": GeneralizedAlpha(rho), "stabilization": None}
    return simulate(heavy_bead(), **methods, rtol=rtol, atol=rtol)


def errors(sol):
    """Largest errors over all steps of the run."""
    known = exact()(sol.t)
    return {part: float(np.abs(getattr(sol, part) - getattr(known, part)).max()) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_order_2_stays_while_steps_change(formulation, rho):
    coarse, fine = (run(formulation, rho, rtol) for rtol in (1e-5, 1e-7))
    lengths = np.diff(fine.t)
    assert lengths.max() > 3.0 * lengths.min()  # they do change
    first, second, more = errors(coarse), errors(fine), np.log(fine.stats["steps"] / coarse.stats["steps"])
    for part in first:
        assert np.log(first[part] / second[part]) / more >= 1.9, (part, first, second)


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_its_own_multipliers_have_order_2_in_the_length_of_the_step(formulation):
    """Of a step in the middle; right after a change their errors are up to some ten times as large, and fall as h² all the same."""
    typical, worst = [], []
    for rtol in (1e-5, 1e-7):
        sol = run(formulation, 0.8, rtol)
        lengths = np.diff(sol.t)
        off = np.abs(sol.unknowns["lam"] - exact()(sol.t).lam)[1:, 0]
        typical.append((np.median(off), sol.stats["steps"]))
        late = len(off) // 4
        worst.append((off[late:] / lengths[late:] ** 2).max() / np.median(off / lengths**2))
    (first, steps), (second, more) = typical
    assert np.log(first / second) / np.log(more / steps) >= 1.8
    assert worst[1] < 1.5 * worst[0] < 15.0, worst


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_a_last_step_that_is_shorter_is_as_good_as_the_others(formulation):
    """Fixed steps that do not go into the time: λ of the last step was of order 1."""
    off = []
    for step in (0.02, 0.01):
        methods = {"formulation": formulation, "integrator": GeneralizedAlpha(), "stabilization": None}
        sol = simulate(heavy_bead(), 1.0 + 0.4 * step, **methods, step=step)
        off.append(np.abs(sol.unknowns["lam"][-1] - exact()(sol.t[-1:]).lam[-1]).max())
    assert off[0] / off[1] > 3.0, off


@pytest.mark.parametrize("rho", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_errors_are_in_proportion_to_the_tolerance(formulation, rho):
    """On four mechanisms and rtol from 1e-3 to 1e-9 errors at the end were 0.2 to 28 rtol of q, 3 to 100 of v."""
    first, second = (errors(run(formulation, rho, rtol)) for rtol in (1e-4, 1e-8))
    assert 0.2 < first["q"] / 1e-4 < 30.0 and 2.0 < first["v"] / 1e-4 < 130.0, first
    assert first["q"] / second["q"] == pytest.approx(1e4, rel=0.2)
    assert first["v"] / second["v"] == pytest.approx(1e4, rel=0.2)


@pytest.mark.parametrize("rho", [0.8, 1.0])
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_what_a_start_misses_its_constraints_by_does_not_grow(formulation, rho):
    """With rho = 1 velocities at its first short step were wrong by 1e-12 over its length, and later ones by as much more as steps
    were longer squared: errors stayed at 5e-6."""
    methods = {"formulation": formulation, "integrator": GeneralizedAlpha(rho), "stabilization": None, "rtol": 1e-7}
    problem = pendulum(t_end=2.0)
    sound, off = (simulate(problem, q0=np.array(problem.q0) * (1.0 + part), **methods) for part in (0.0, 1e-12))
    assert off.stats["steps"] == pytest.approx(sound.stats["steps"], rel=0.01)
    known = simulate(problem, integrator=DOP853(), rtol=1e-13, atol=1e-13)
    assert np.abs(off.q[-1] - known.q[-1]).max() < 2e-7
    assert off.drift.max()["velocity"] < 1.05 * sound.drift.max()["velocity"] + 1e-10


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_multipliers_without_damping_have_order_2_with_fixed_steps(formulation):
    """With index 3 they were of order 1: v̈0 was taken from one difference, and nothing damped what it was wrong by."""
    off = []
    for step in (0.01, 0.005):
        methods = {"formulation": formulation, "integrator": GeneralizedAlpha(1.0), "stabilization": None}
        sol = simulate(heavy_bead(), **methods, step=step)
        off.append(np.abs(sol.unknowns["lam"][1:] - exact()(sol.t[1:]).lam).max())
    assert off[0] / off[1] > 3.4, off


def stiff_pendulum(stiffness):
    """Mass on a rod that swings slowly, beside a mass on a stiff spring across, pulled by it."""

    def force(q, v):
        return np.array([0.0, -9.81, -stiffness * (q[2] - 0.1 * q[0])])

    return System(mass=np.diag([1.0, 1.0, 0.5]), force=force, constraint={"rod": lambda q: q[0] ** 2 + q[1] ** 2 - 1.0})


@pytest.mark.parametrize(("stiffness", "rtol"), [(1e8, 1e-4), (1e6, 1e-5)])
@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_a_stiff_vibration_is_damped_and_does_not_hold_the_steps(formulation, stiffness, rtol):
    """With index 2 steps once fell to those of the vibration, and stayed there: 15 634 of them in the second case."""
    methods = {"formulation": formulation, "integrator": GeneralizedAlpha(0.5), "rtol": rtol, "atol": 0.01 * rtol}
    start = {"q0": [1.0, 0.0, 0.1], "v0": [0.0, 0.0, 0.0]}
    soft, hard = (simulate(stiff_pendulum(k), 3.0, **start, **methods).stats["steps"] for k in (1e2, stiffness))
    known = simulate(stiff_pendulum(stiffness), 3.0, **start, integrator=Radau(), rtol=1e-8, atol=1e-9)
    sol = simulate(stiff_pendulum(stiffness), 3.0, **start, **methods)
    assert hard < 1.2 * soft, (hard, soft)
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 30 * rtol


def crosses(q):
    return q[1]


def test_saved_times_and_events_lie_on_the_motion_and_positions_on_the_constraints():
    problem, known = heavy_bead(), exact()
    methods = {"formulation": Index3(), "integrator": GeneralizedAlpha(), "rtol": 1e-6, "atol": 1e-6}
    sol = simulate(problem, **methods, save_at=41, events={"level": Event(crosses)})
    assert np.abs(sol.q - known(sol.t).q).max() < 2e-3
    wanted = simulate(problem, rtol=1e-11, atol=1e-11, events={"level": Event(crosses)}).events["level"].t
    assert np.abs(sol.events["level"].t - wanted).max() < 2e-3
    assert run(Index3(), 0.8, 1e-5).drift.max()["position"] < 1e-9


def test_it_runs_without_a_step_and_with_one():
    assert GeneralizedAlpha().adaptive
    free = simulate(heavy_bead(), formulation=Index3(), integrator=GeneralizedAlpha())
    fixed = simulate(heavy_bead(), formulation=Index3(), integrator=GeneralizedAlpha(), step=0.01)
    assert free.stats["rejected"] >= 0 and np.ptp(np.diff(free.t)) > 1e-3
    assert np.ptp(np.diff(fixed.t)) < 1e-12 and fixed.stats["rejected"] == 0
