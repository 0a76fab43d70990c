"""Left to itself on stiff problems: what the look at the start costs, what is taken at which tolerance, and when it changes."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from holonomic import Index2, Ode, ProjectedInvariants, Projection, Radau, problems, simulate
from holonomic.automatic.decide import Choosing
from holonomic.automatic.indicators import constraints_vary, indicators_at
from holonomic.automatic.rates import varies
from holonomic.kernels.signatures import Fn
from holonomic.model.compiled import Model

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from stiff_choice import PROBLEMS


@cache
def made(name):
    return PROBLEMS[name]()


def run(name, rtol, share=1.0, **options):
    given = dict(made(name))
    given.pop("atol", None)
    return simulate(given.pop("system"), share * given.pop("t_end"), rtol=rtol, atol=1e-3 * rtol, **given, **options)


def changes(sol):
    return [] if sol.trail.story is None else list(sol.trail.story.changes)


@pytest.mark.parametrize("name", ["four-bar on a bushing", "beam"])
def test_the_look_at_a_stiff_start_evaluates_constraints_three_times_and_no_jacobian(name, monkeypatch):
    """With 9 and 30 coordinates it took 79 and 247 evaluations from Python, 1.4 and 3.4 ms: more than the whole run."""
    run(name, 1e-6, 0.01)
    counted, evaluate, look = [], Model.evaluate, Choosing.at_start

    def counting(self, fn, *arguments):
        counted.append(fn)
        return evaluate(self, fn, *arguments)

    def looking(self, run):
        counted.clear()
        choice = look(self, run)
        seen.extend(counted)
        return choice

    seen: list[Fn] = []
    monkeypatch.setattr(Model, "evaluate", counting)
    monkeypatch.setattr(Choosing, "at_start", looking)
    sol = run(name, 1e-6, 0.01)
    assert set(seen) <= {Fn.TERMS} and len(seen) <= 3
    choice = sol.plan.choice
    assert isinstance(choice.formulation, Index2) and isinstance(choice.stabilization, Projection)


@pytest.mark.parametrize("name", ["heterogeneous-masses", "suspension", "spring-pendulum", "seven-body", "car-axis", "chain"])
def test_whether_constraints_vary_is_what_all_indicators_say(name):
    problem = problems.get(name)
    sol = simulate(problem, 0.01 * problem.t_end)
    model, size = sol.plan.model, sol.plan.model.nq + sol.plan.model.nv
    for row in (1, len(sol.t) // 2, -1):
        t, x, data = float(sol.t[row]), np.concatenate([sol.q[row], sol.v[row]]), sol.trail.data[: len(model.data())]
        slope = np.append(model.evaluate(Fn.FIELD, t, x, np.zeros(0), data)[:size], 0.0)
        for longest in (1e-4, 1e-2, 1.0):
            found = indicators_at(model, t, x, data, longest=longest)
            if found.at_rest:
                continue
            assert constraints_vary(model, t, x, slope, data, None, found.step) == varies(found)


@pytest.mark.parametrize(("rtol", "integrator"), [(1e-4, Radau()), (1e-6, Radau(order=9)), (1e-8, Radau(order="variable"))])
def test_the_order_of_radau_follows_the_tolerance(rtol, integrator):
    sol = simulate(problems.suspension(), 0.02, rtol=rtol)
    assert sol.plan.choice.integrator == integrator


def test_a_tight_tolerance_does_not_stay_with_steps_far_below_the_limit_of_stability():
    """DOP853 takes 12 500 steps with |h λ| about 1, where no test of stability tells anything."""
    sol = run("driven slider", 1e-9)
    assert isinstance(sol.plan.choice.integrator, Radau) and changes(sol)[0].t < 0.01
    assert sol.stats["steps"] < 300
    exact = run("driven slider", 1e-11, integrator=Radau(order=13), formulation=ProjectedInvariants())
    assert np.max(np.abs(sol.end.q - exact.end.q)) < 30e-9


@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8])
def test_a_vibration_that_lasts_is_not_followed_by_many_changes(rtol):
    """There were up to 16: each time implicit steps had to follow it, too."""
    assert len(changes(run("crane", rtol))) <= 2


def test_what_is_stiff_between_jumps_alone_stays_explicit():
    """An oscillator of van der Pol's with mu = 4 takes DOP853 0.4 ms, and Radau 1.9."""
    oscillator = Ode(lambda y: np.array([y[1], 4.0 * (1 - y[0] ** 2) * y[1] - y[0]]))
    assert not changes(simulate(oscillator, 100.0, y0=[2.0, 0.0]))


def test_a_plan_that_hands_over_keeps_its_arrays_for_the_next_run():
    first = run("HIRES", 1e-6)
    plan = first.trail.parts[0].trail.plan
    assert len(plan.spare) == 1
    run("HIRES", 1e-6)
    assert len(plan.spare) <= 1
