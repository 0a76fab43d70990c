"""Members of a sweep meet hard places like single runs."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    Baumgarte,
    HandedOverWarning,
    NearSingularWarning,
    ProjectedInvariants,
    Radau,
    S_both2,
    problems,
    simulate,
    sweep,
)

ROW = problems.four_bars(2)
START = {"q0": ROW.q0, "v0": ROW.v0, "save_at": 3}


def test_members_pass_their_singular_positions():
    problem = problems.four_bars(2)
    g = np.linspace(8.0, 11.0, 7)
    runs = sweep(problem.system, 5.0, q0=problem.q0, v0=problem.v0, params={"g": g}, save_at=11, rtol=1e-8, atol=1e-11)
    assert not runs.failed
    for m, value in enumerate(g):
        exact = problems.four_bars(2, g=value).exact(5.0)
        assert np.max(np.abs(runs.q[m, -1] - exact[0])) < 1e-5  # κ rtol
    system = replace(problem.system, params={**problem.system.params, "g": g[3]})
    alone = simulate(system, 5.0, q0=problem.q0, v0=problem.v0, save_at=11, rtol=1e-8, atol=1e-11)
    assert np.array_equal(runs.q[3], alone.q)


def test_members_in_other_processes_pass_them_too():
    problem = problems.four_bars(2)
    given = {"q0": problem.q0, "v0": problem.v0, "params": {"g": [9.0, 9.81]}, "save_at": 3, "rtol": 1e-6, "atol": 1e-9}
    here = sweep(problem.system, 2.0, **given)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = sweep(problem.system, 2.0, on=pool, **given)
    assert not there.failed
    assert np.array_equal(here.q, there.q)


@pytest.mark.parametrize(
    "way",
    [
        {"integrator": Radau(), "formulation": ProjectedInvariants()},
        {"integrator": BDF(), "formulation": GGL()},
        {"integrator": DOP853(), "stabilization": S_both2()},
    ],
    ids=["Radau", "BDF", "S_both2"],
)
def test_members_are_led_over_singular_positions_as_single_runs_are(way):
    g = [0.1, 9.81, 10.5]  # the first does not come so far
    with pytest.warns(HandedOverWarning, match=r"2 of 3 members\. Member 1: at t = .* a singular position of the constraints"):
        runs = sweep(ROW.system, 0.9, params={"g": g}, rtol=1e-5, **START, **way)
    assert not runs.failed and [(note.member, note.kind) for note in runs.noted] == [
        (1, "HandedOverWarning"), (2, "HandedOverWarning")
    ]  # fmt: skip
    for m, value in enumerate(g):
        alone = simulate(replace(ROW.system, params={**ROW.system.params, "g": value}), 0.9, rtol=1e-5, **START, **way)
        assert np.array_equal(runs.q[m], alone.q) and np.array_equal(runs.lam[m], alone.lam), m


WITHOUT = {"integrator": DOP853(), "stabilization": Baumgarte(30.0)}


def test_members_whose_method_has_no_passage_say_where_they_went_by():
    g = [0.1, 9.81, 10.5]  # the first does not come so far
    with pytest.warns(NearSingularWarning, match=r"2 of 3 members\. Member 1: the run went by a singular position"):
        runs = sweep(ROW.system, 0.9, params={"g": g}, **START, **WITHOUT)
    assert [(note.member, note.kind) for note in runs.noted] == [(1, "NearSingularWarning"), (2, "NearSingularWarning")]
    with pytest.warns(NearSingularWarning) as said:
        simulate(ROW.system, 0.9, **START, **WITHOUT)
    assert runs.noted[0].text == str(said[0].message)


def test_members_of_other_processes_say_it_too():
    given = {"params": {"g": [9.0, 9.81]}, **WITHOUT, **START}
    with pytest.warns(NearSingularWarning):
        here = sweep(ROW.system, 0.9, **given)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool, pytest.warns(NearSingularWarning):
        there = sweep(ROW.system, 0.9, on=pool, **given)
    assert here.noted == there.noted and len(here.noted) == 2


def test_methods_with_a_passage_have_nothing_to_say():
    assert not sweep(ROW.system, 0.9, params={"g": [9.0, 9.81]}, integrator=DOP853(), **START).noted
