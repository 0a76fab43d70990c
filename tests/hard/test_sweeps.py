"""Members of a sweep meet hard places like single runs."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from holonomic import problems, simulate, sweep


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
