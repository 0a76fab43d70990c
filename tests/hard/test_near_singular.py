"""Runs that go by a singular position with a method that has no passage of its own say so; others say nothing."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    RK4,
    RK45,
    GeneralizedAlpha,
    Index1,
    Index3,
    NearSingularWarning,
    PostStabilization,
    ProjectedInvariants,
    Radau,
    problems,
    simulate,
)
from holonomic.kernels.memory import AHEAD, INSIDE
from holonomic.passage.alarm import alarm
from holonomic.running import near_singular

WAYS = {
    "no stabilization": {"integrator": DOP853(), "formulation": Index1(), "stabilization": None},
    "fixed step": {"integrator": RK4(), "step": 0.01},
    "generalized-alpha": {"integrator": GeneralizedAlpha(), "formulation": Index3(), "step": 0.01},
}


@pytest.mark.parametrize("save_at", [None, 3], ids=["steps kept", "times kept"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_method_without_a_passage_says_where_branches_meet(way, save_at):
    row = problems.four_bars(2)
    with pytest.warns(NearSingularWarning) as said:
        simulate(row.system, 1.5, q0=row.q0, v0=row.v0, save_at=save_at, **way)
    assert len(said) == 1
    text = str(said[0].message)
    t = float(re.search(r"closest near t = ([0-9.]+)", text)[1])
    # flat at 0.7144 and 1.2282; without stabilization the lengths, and with them the time, creep a little
    assert min(abs(t - 0.7144), abs(t - 1.2282)) < 2e-2
    assert "'bar 1'" in text and "'bar 2'" in text and "Use DOP853() with Projection()" in text
    assert float(re.search(r"scaled G ([0-9.e-]+),", text)[1]) < 1e-2  # 0.7 at the start


def silent(problem, t_end, **way):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NearSingularWarning)
        simulate(problem, t_end, **way)


PASSING = {
    "DOP853": {"integrator": DOP853()},
    "RK45": {"integrator": RK45()},
    "post-stabilization": {"integrator": DOP853(), "stabilization": PostStabilization()},
    "BDF": {"integrator": BDF(), "formulation": ProjectedInvariants()},
    "Radau": {"integrator": Radau(), "formulation": ProjectedInvariants(), "rtol": 1e-4},
}


@pytest.mark.parametrize("save_at", [None, 3], ids=["steps kept", "times kept"])
@pytest.mark.parametrize("way", PASSING.values(), ids=PASSING)
def test_a_method_that_passes_or_is_led_over_has_nothing_to_say(way, save_at):
    silent(problems.four_bars(2), 3.0, save_at=save_at, **way)


# masses over six decades, rows that turn fast, mechanisms that fold far, a redundant row: ratios of pivots down to 2.5e-7
ORDINARY = ("heterogeneous-masses", "rapid-constraint", "seven-body", "jansen", "slider-crank", "two-link-arm-II", "scotch-yoke")


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("way", [{"integrator": Radau()}, {"integrator": DOP853(), "stabilization": None}], ids=["Radau", "none"])
def test_ordinary_problems_give_no_alarm(name, way):
    problem = problems.get(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", NearSingularWarning)
        simulate(problem, min(problem.t_end, 5.0), **way)


def test_functions_run_as_python_tell_the_same_place():
    row = problems.four_bars(2)
    told = []
    for trace in (True, False):
        with pytest.warns(NearSingularWarning) as said:
            simulate(replace(row.system, trace=trace), 0.9, q0=row.q0, v0=row.v0, integrator=RK4(), step=0.01)
        told.append(float(re.search(r"closest near t = ([0-9.]+)", str(said[0].message))[1]))
    assert np.ptp(told) < 1e-4


def test_pivot_ratios_of_one_attempt_tell_where_a_singular_position_lies():
    def told(*ratios, asked=1e300, most=1.0):
        return alarm(np.array(ratios)[:, None], len(ratios) - 1, 0, 1e-6, asked, most)

    assert told(0.5, 0.4, 0.5) == 0
    assert told(5e-3, 1e-3, 5e-3) == INSIDE  # far below both ends
    assert told(8e-3, 5e-3, 1e-3) == AHEAD  # fallen to an eighth
    assert told(8e-3, 5e-3, 3e-3) == 0
    assert told(8e-3, 5e-3, 1e-3, asked=2e-3) == 0  # asked before, not much further away
    assert told(5e-2, 2e-2, 5e-2) == INSIDE  # between two stages, and small beside what it has been
    assert told(5e-2, 2e-2, 5e-2, most=0.05) == 0  # it is always so small


def test_rows_that_stay_far_from_dependent_are_told_apart_in_compiled_code(monkeypatch):
    """Their pivot ratio falls by the masses alone; singular values at 72 places took 1.4 ms, six times the run."""
    looked = []
    monkeypatch.setattr(near_singular, "_closest", lambda *given: looked.append(given))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NearSingularWarning)
        sol = simulate(problems.get("heavy-top"), integrator=DOP853(), stabilization=None)
    place = near_singular._of_least_ratio(sol.trail.memory, sol.trail.noted)
    assert place is not None and not looked


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_rows_that_come_near_are_never_told_apart(way):
    row = problems.four_bars(2)
    with pytest.warns(NearSingularWarning):
        sol = simulate(row.system, 1.5, q0=row.q0, v0=row.v0, **way)
    place = near_singular._of_least_ratio(sol.trail.memory, sol.trail.noted)
    assert not near_singular._surely_apart(sol.plan.model, sol.plan, sol.trail.start, place, sol.trail.data)
