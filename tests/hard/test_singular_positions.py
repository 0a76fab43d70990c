"""Positions in which rows of G become dependent at an instant: passed on the branch, with the energy, or refused by name.

IFToMM A02 lies flat twice in a turn; its exact motion is known. Its errors grow with time (κ about 100 in 20 s), so they
are compared with 1000 rtol.
"""

from dataclasses import replace

import numpy as np
import pytest

from holonomic import DOP853, RK45, Event, NotFinite, StepFailed, System, problems, simulate


def run(problem, rtol, t_end=20.0, **more):
    more = {"integrator": DOP853(), **more}
    return simulate(problem.system, t_end, q0=problem.q0, v0=problem.v0, rtol=rtol, atol=rtol / 1000, **more)


def error(problem, sol):
    q, v = problem.exact(float(sol.t[-1]))
    return max(np.max(np.abs(sol.q[-1] - q)), np.max(np.abs(sol.v[-1] - v)))


MAKERS = {"by hand": problems.four_bars, "from bodies": problems.four_bars_from_bodies}


@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=repr)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_twenty_passages_keep_branch_and_energy_at_every_tolerance(make, integrator):
    problem = make(2)
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12):
        sol = run(problem, rtol, integrator=integrator)
        # κ of 20 s is 3000 for DOP853 and 25000 for RK45, with and without passages; another branch is 0.5 away; rounding,
        # magnified by 1/ρ in each of 20 passages, leaves 1e-8 at the tightest
        assert error(problem, sol) < max(5e4 * rtol, 1e-7), rtol
        total = sol.energy.total
        assert np.ptp(total) < max(1e3 * rtol, 1e-8) * np.max(np.abs(sol.energy.kinetic)), rtol


@pytest.mark.parametrize("rtol", [1.03e-10, 1.09e-10, 1.12e-10, 1.24e-10, 1.66e-10])
def test_a_path_of_another_length_is_found_where_the_first_is_not(rtol):
    """With one length of a path these runs ended before a position, with three the last one still did."""
    problem = problems.four_bars_from_bodies(2)
    assert error(problem, run(problem, rtol, integrator=RK45())) < 5e4 * rtol  # κ as above


@pytest.mark.slow
def test_forty_loops_pass_twenty_singular_positions():
    problem = problems.four_bars(40)
    for rtol in (1e-6, 1e-8, 1e-10):
        assert error(problem, run(problem, rtol)) < 2e3 * rtol


def test_ten_loops_lose_ten_ranks_at_once_and_go_on():
    problem = problems.four_bars(10)
    sol = run(problem, 1e-8, 3.0)
    assert error(problem, sol) < 1e-5
    assert len(sol.trail.paths) == 3


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_states_between_steps_and_at_saved_times_are_as_good_as_the_steps(make):
    problem = make(2)
    times = np.linspace(0.0, 4.0, 801)
    exact = np.array([np.concatenate(problem.exact(t)) for t in times])
    dense = run(problem, 1e-8, 4.0)(times)
    saved = run(problem, 1e-8, 4.0, save_at=times)
    for found in (dense, saved):
        states = np.hstack([found.q, found.v])
        assert np.max(np.abs(states - exact)) < 5e-6  # κ rtol, as at the ends of steps
    # the same path, read in two ways
    assert np.max(np.abs(dense.q - saved.q)) < 1e-7


def test_an_event_on_the_singular_position_is_found_and_passed():
    problem = problems.four_bars(2)
    sol = run(problem, 1e-9, 10.0, events={"flat": Event(lambda q: q[1])})
    found = sol.events["flat"].t
    assert len(found) == 10
    heights = [problem.exact(t)[0][1] for t in found]
    assert np.max(np.abs(heights)) < 1e-6  # κ rtol
    assert error(problem, sol) < 1e-6


def test_a_run_may_end_on_an_event_right_behind_a_singular_position():
    problem = problems.four_bars_from_bodies(2)
    sol = run(problem, 1e-9, 10.0, events={"past": Event(lambda q: q[1] + 0.01, terminal=True)})
    assert sol.ended == "past"
    assert error(problem, sol) < 1e-7
    assert abs(sol.q[-1, 1] + 0.01) < 1e-13


@pytest.mark.parametrize("end", [0.7143, 0.7144, 0.715, 0.72])
def test_a_run_may_end_close_to_a_singular_position(end):
    problem = problems.four_bars_from_bodies(2)  # flat at 0.714355
    assert error(problem, run(problem, 1e-8, end)) < 1e-6


def test_backwards_through_the_positions_to_the_start():
    problem = problems.four_bars(2)
    q, v = problem.exact(5.0)
    back = simulate(problem.system, (5.0, 0.0), q0=q, v0=v, initial="project", rtol=1e-9, atol=1e-12, integrator=DOP853())
    assert len(back.trail.paths) == 5
    assert np.max(np.abs(back.q[-1] - problem.q0)) < 1e-6


def test_interpreted_runs_pass_too():
    problem = problems.four_bars(1)
    sol = simulate(
        replace(problem.system, trace=False), 1.5, q0=problem.q0, v0=problem.v0, rtol=1e-6, atol=1e-8, integrator=DOP853()
    )
    assert error(problem, sol) < 1e-3


def test_interpreted_runs_take_the_same_paths():
    problem = problems.four_bars(2)
    ends = [run(replace(problem, system=replace(problem.system, trace=trace)), 1e-8, 1.5) for trace in (True, False)]
    assert [len(sol.trail.paths) for sol in ends] == [2, 2]
    for sol in ends:
        assert error(problem, sol) < 5e-6  # κ rtol
    # pivot ratios of other factors: steps may differ, answers by no more than their error
    assert np.max(np.abs(ends[0].q[-1] - ends[1].q[-1])) < 5e-6


def test_an_event_inside_the_last_piece_of_a_path_ends_on_the_path():
    problem = problems.four_bars(2)
    path = run(problem, 1e-8, 1.0).trail.paths[0]
    late = path.t + 0.99 * path.h  # behind all other ends of steps along it
    height = float(problem.exact(late)[0][1])
    sol = run(problem, 1e-8, 1.0, events={"late": Event(lambda q: q[1] - height, terminal=True, direction="falling")})
    assert sol.ended == "late"
    assert abs(sol.t[-1] - late) < 1e-6
    assert error(problem, sol) < 1e-6
    assert abs(sol.trail.paths[0].used - 0.99) < 1e-4


def test_more_paths_than_are_written_down_at_once_are_all_kept():
    problem = problems.four_bars(2)
    sol = run(problem, 1e-6, 10.0)
    starts = [path.t for path in sol.trail.paths]
    assert len(starts) == 10 and np.all(np.diff(starts) > 0)  # the loop has room for four
    for path in sol.trail.paths:
        inside = sol(path.t + 0.5 * path.h * path.used)
        exact = np.concatenate(problem.exact(float(inside.t)))
        assert np.max(np.abs(np.concatenate([inside.q, inside.v]) - exact)) < 2e-3  # κ rtol


@pytest.mark.parametrize("trace", [True, False], ids=["compiled", "interpreted"])
def test_an_event_that_is_nan_on_a_path_ends_the_run_as_anywhere_else(trace):
    problem = problems.four_bars(2)
    problem = replace(problem, system=replace(problem.system, trace=trace))
    root = Event(lambda q: np.sqrt(q[1] + 0.02) - 0.1)  # no number 4 ms behind the position
    with pytest.raises(NotFinite, match="'root'") as caught:
        run(problem, 1e-6, 3.0, events={"root": root}, max_steps=2000)
    sol = caught.value.solution
    assert len(sol.trail.paths) == 1 and 0.0 < sol.trail.paths[0].used < 1.0
    # so close to it as a state between two steps is known
    assert abs(sol.q[-1, 1] + 0.02) < 1e-5


def test_a_saved_row_that_is_nan_on_a_path_ends_the_run_as_anywhere_else():
    problem = problems.four_bars(2)
    path = run(problem, 1e-8, 1.0).trail.paths[0]
    heights = [float(problem.exact(path.t + theta * path.h)[0][1]) for theta in (0.701, 0.699)]
    hole = lambda q: np.sqrt(np.where((q[1] > heights[0]) & (q[1] < heights[1]), -1.0, 0.0))
    system = replace(problem.system, force=lambda q: [hole(q)] + [0.0] * (len(problem.q0) - 1))
    assert error(problem, run(replace(problem, system=system), 1e-8, 1.0)) < 1e-6  # no point of the path is in the hole
    times = [0.1, path.t + 0.7 * path.h, 1.0]
    with pytest.raises(NotFinite) as caught:
        run(replace(problem, system=system), 1e-8, 1.0, save_at=times, max_steps=2000)
    assert list(caught.value.solution.t) == times[:1]


@pytest.mark.parametrize("max_step", [1e-2, 1e-3, 1e-4])
def test_no_step_along_a_path_is_longer_than_max_step(max_step):
    problem = problems.four_bars(2)
    sol = run(problem, 1e-9, 1.5, max_step=max_step)
    assert len(sol.trail.paths) == 2
    steps = np.diff(sol.t)
    assert np.max(steps) < max_step + 1e-12  # rounding of t, and of parts of the path
    assert np.min(steps) > 0.05 * max_step  # divided evenly
    exact = np.array([np.concatenate(problem.exact(t)) for t in sol.t])
    assert np.max(np.abs(np.hstack([sol.q, sol.v]) - exact)) < 1e-6  # κ rtol, close to the position too
    back = simulate(
        problem.system, (1.0, 0.0), q0=problem.exact(1.0)[0], v0=problem.exact(1.0)[1], initial="project", rtol=1e-9,
        atol=1e-12, integrator=DOP853(), max_step=max_step,
    )  # fmt: skip
    assert len(back.trail.paths) == 1 and np.max(-np.diff(back.t)) < max_step + 1e-12


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("max_step", [1e-5, 2e-6])
def test_very_short_steps_find_the_path_before_it_is_too_late(max_step, rtol):
    problem = problems.four_bars(2)
    q, v = problem.exact(0.71)  # 4 ms before
    sol = simulate(
        problem.system, (0.71, 0.72), q0=q, v0=v, initial="project", rtol=rtol, atol=rtol / 1000, integrator=DOP853(),
        max_step=max_step,
    )  # fmt: skip
    assert len(sol.trail.paths) == 1
    assert np.max(np.diff(sol.t)) < max_step + 1e-12
    assert error(problem, sol) < max(rtol, 1e-9)  # rounding, magnified by 1/ρ, leaves 1e-10


def test_steps_along_a_path_count():
    problem = problems.four_bars(2)
    limited = lambda **more: run(problem, 1e-8, 0.8, max_step=1e-3, **more)
    whole = limited()
    (path,) = whole.trail.paths
    before, inside = (np.sum((whole.t > low) & (whole.t <= high)) for low, high in ((0.0, path.t), (path.t, path.t + path.h)))
    assert inside > 2
    with pytest.raises(StepFailed, match="max_steps = ") as caught:
        limited(max_steps=int(before + whole.stats["rejected"] + whole.stats["failed attempts"] + inside - 1))
    assert path.t < caught.value.solution.t[-1] < path.t + path.h


@pytest.mark.parametrize("trace", [True, False], ids=["compiled", "interpreted"])
def test_a_force_that_is_nan_where_a_step_along_a_path_ends_is_told(trace):
    problem = problems.four_bars(2)
    whole = run(replace(problem, system=replace(problem.system, trace=trace)), 1e-8, 1.0)
    (path,) = whole.trail.paths
    ends = whole.t[(whole.t > path.t) & (whole.t < path.t + path.h)]
    t = float(ends[-1])
    height, speed = (float(part[1]) for part in problem.exact(t))
    wide = 1e-5 * abs(speed)  # 20 µs: no point of the path is in it, only this end
    hole = lambda q: np.sqrt(np.where((q[1] > height - wide) & (q[1] < height + wide), -1.0, 0.0))
    system = replace(problem.system, force=lambda q: [hole(q)] + [0.0] * (len(problem.q0) - 1), trace=trace)
    with pytest.raises(NotFinite, match="force") as caught:
        run(replace(problem, system=system), 1e-8, 1.0, max_steps=2000)
    assert abs(caught.value.solution.t[-1] - t) < 1e-3


def test_max_step_finds_every_event_along_a_path():
    problem = problems.four_bars(2)
    wave = Event(lambda q: np.sin(3000 * q[1]))  # a zero every 0.2 ms close to the position
    sol = run(problem, 1e-9, 0.8, events={"wave": wave}, max_step=1e-4)
    (path,) = sol.trail.paths
    found = sol.events["wave"].t
    found = found[(found > path.t) & (found < path.t + path.h)]
    # y falls all along it
    first, last = (3000 * float(problem.exact(t)[0][1]) / np.pi for t in (path.t, path.t + path.h))
    assert len(found) == np.floor(first) - np.floor(last)


# a parallelogram whose ground is a little too short: its branches do not meet, the motion turns from one to the other

MASS = np.eye(4) + 0.25 * np.array([[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]])
NEARLY = System(
    mass=MASS,
    potential=lambda q: 9.81 * (q[1] + q[3]),
    constraint={
        "left": lambda q: q[0] ** 2 + q[1] ** 2 - 1,
        "coupler": lambda q: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1,
        "right": lambda q, p: (q[2] - p.ground) ** 2 + q[3] ** 2 - 1,
    },
    params={"ground": 1.0},
)


def miss_by(gap, rtol, **more):
    system, more = replace(NEARLY, params={"ground": 1.0 - gap}), {"integrator": DOP853(), **more}
    return simulate(system, 1.5, q0=[0, 1, 1, 1], v0=[1, 0, 1, 0], initial="project", rtol=rtol, atol=rtol / 100, **more)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_branches_that_miss_each_other_narrowly_are_not_crossed(gap):
    reference = miss_by(gap, 1e-11, max_step=1e-3)
    straight = miss_by(0.0, 1e-9)
    # on the other branch from 0.8 s on: far from what goes straight on
    assert np.max(np.abs(reference.q[-1] - straight.q[-1])) > 0.1
    for integrator in (DOP853(), RK45()):
        for rtol in (1e-5, 1e-7):
            sol = miss_by(gap, rtol, integrator=integrator)
            # the turn takes √gap seconds with accelerations of 1/√gap: κ grows to some 1000
            assert np.max(np.abs(sol.q[-1] - reference.q[-1])) < 1e3 * rtol, (integrator, rtol)


@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=repr)
@pytest.mark.parametrize("gap", [1e-8, 1e-10])
def test_no_series_of_steps_jumps_over_a_narrow_miss(gap, integrator):
    """A tenth of these runs did: their stages lay evenly around the turn, or just before and behind it."""
    reference = miss_by(gap, 1e-11, max_step=1e-3).q[-1]
    for rtol in (1e-5, 2e-6):
        for first in np.geomspace(1e-4, 0.2, 60)[:50]:
            sol = miss_by(gap, rtol, integrator=integrator, first_step=float(first))
            assert np.max(np.abs(sol.q[-1] - reference)) < 1e3 * rtol, (rtol, first)  # κ as above


def test_branches_closer_than_rounding_are_taken_to_meet():
    exact, near = miss_by(0.0, 1e-8), miss_by(1e-15, 1e-8)
    assert np.max(np.abs(exact.q[-1] - near.q[-1])) < 1e-6


@pytest.mark.parametrize("more", [{}, {"save_at": 100}, {"error": True}], ids=["every step", "saved times", "error"])
def test_a_select_that_sleeps_does_not_disturb_a_passage(more):
    problem = problems.four_bars(2)
    idle = replace(problem.system, force=lambda q: [1e-20 * abs(q[1] + 5.0)] + [0.0] * (len(problem.q0) - 1))
    plain = run(problem, 1e-8, 3.0, **more)
    sol = run(replace(problem, system=idle), 1e-8, 3.0, **more)
    assert len(plain.trail.paths) == len(sol.trail.paths) > 0
    assert len(plain.t) == len(sol.t) and error(problem, sol) < 1000 * 1e-8
