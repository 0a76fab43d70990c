"""Generalized-α with steps chosen by their error: order 2 of q, v and λ while steps change, and stiffness that it damps."""

from functools import cache

import numpy as np
import pytest

from holonomic import DOP853, Event, GeneralizedAlpha, Index2, Index3, Radau, System, simulate
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
    for rtol in (1e-6, 1e-8):
        sol = run(formulation, 0.8, rtol)
        off = np.abs(sol.unknowns["lam"] - exact()(sol.t).lam)[1:, 0]
        typical.append((np.median(off), sol.stats["steps"]))
        worst.append((off[len(off) // 4 :] / np.diff(sol.t)[len(off) // 4 :] ** 2).max())
    (first, steps), (second, more) = typical
    assert np.log(first / second) / np.log(more / steps) >= 1.8
    assert worst[1] < 3.0 * worst[0] < 600.0, worst


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_a_last_step_that_is_shorter_is_as_good_as_the_others(formulation):
    """Fixed steps that do not go into the time: λ of the last step was of order 1."""
    off = []
    for step in (0.02, 0.01):
        methods = {"formulation": formulation, "integrator": GeneralizedAlpha(), "stabilization": None}
        sol = simulate(heavy_bead(), 1.0 + 0.4 * step, **methods, step=step)
        off.append(np.abs(sol.unknowns["lam"][-1] - exact()(sol.t[-1:]).lam[-1]).max())
    assert off[0] / off[1] > 3.0, off


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_steps_follow_the_tolerance(formulation):
    """Local errors are controlled: those of the run fall as rtol to the power 2/3."""
    first, second = (errors(run(formulation, 0.8, rtol))["q"] for rtol in (1e-5, 1e-8))
    assert 0.55 < np.log(first / second) / np.log(1e3) < 0.8


def stiff_pendulum(stiffness):
    """Mass on a rod that swings slowly, beside a mass on a stiff spring across, pulled by it."""

    def force(q, v):
        return np.array([0.0, -9.81, -stiffness * (q[2] - 0.1 * q[0])])

    return System(mass=np.diag([1.0, 1.0, 0.5]), force=force, constraint={"rod": lambda q: q[0] ** 2 + q[1] ** 2 - 1.0})


@pytest.mark.parametrize("formulation", BOTH, ids=repr)
def test_a_stiff_vibration_is_damped_and_does_not_hold_the_steps(formulation):
    methods = {"formulation": formulation, "integrator": GeneralizedAlpha(0.5), "rtol": 1e-4, "atol": 1e-6}
    start = {"q0": [1.0, 0.0, 0.1], "v0": [0.0, 0.0, 0.0]}
    soft, hard = (simulate(stiff_pendulum(k), 3.0, **start, **methods).stats["steps"] for k in (1e2, 1e8))
    known = simulate(stiff_pendulum(1e8), 3.0, **start, integrator=Radau(), rtol=1e-8, atol=1e-9)
    sol = simulate(stiff_pendulum(1e8), 3.0, **start, **methods)
    assert hard < 3 * soft, (hard, soft)
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 2e-2


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
