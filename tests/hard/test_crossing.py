"""Singular positions in the way of methods without a passage: another plan leads over them and hands back.

IFToMM A02 lies flat twice in a turn, and its exact motion is known; 10 s hold ten such positions. Another branch is 0.5 away.
"""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RK45,
    Baumgarte,
    Event,
    Index2,
    Index3,
    PostStabilization,
    Radau,
    S_both2,
    S_pos,
    System,
    problems,
    simulate,
)
from holonomic.errors import HandedOverWarning, SingularPosition, StepFailed

MAKERS = {"by hand": problems.four_bars, "from bodies": problems.four_bars_from_bodies}


def run(problem, rtol, t_end=10.0, **more):
    return simulate(problem.system, t_end, q0=problem.q0, v0=problem.v0, rtol=rtol, atol=rtol / 1000, **more)


def error(problem, sol):
    q, v = problem.exact(float(sol.t[-1]))
    return max(np.max(np.abs(sol.q[-1] - q)), np.max(np.abs(sol.v[-1] - v)))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("formulation", ["auto", GGL(), Index2(), Index3()], ids=repr)
@pytest.mark.parametrize(("integrator", "share"), [(Radau(), 3e3), (BDF(), 1e5)], ids=["Radau", "BDF"])
def test_implicit_methods_pass_ten_positions(make, formulation, integrator, share):
    """κ of 10 s is 30 to 200 for Radau with 1e-6, up to 1200 with 1e-8 (Index3), 10000 to 80000 for BDF."""
    problem = make(2)
    for rtol in (1e-6, 1e-8):
        sol = run(problem, rtol, integrator=integrator, formulation=formulation)
        assert error(problem, sol) < share * rtol, rtol
        assert len(sol.trail.parts) == 21 and sol.plan.choice.integrator == integrator
        assert sum(len(part.trail.paths) for part in sol.trail.parts) == 10
        assert abs(sol.drift["position"]).max() < 1e-8  # BDF alone leaves 3e-9 with 1e-6, the others less than 1e-10
    assert "a singular position lay ahead" in repr(sol) and "9 more on the way" in sol.plan.why()


@pytest.mark.parametrize("kind", ["variable", "fixed-leading"])
def test_other_coefficients_of_bdf_begin_anew_behind_a_position(kind):
    problem = problems.four_bars(2)
    sol = run(problem, 1e-6, integrator=BDF(coefficients=kind), formulation=Index2())
    assert error(problem, sol) < 2e5 * 1e-6
    assert sum(len(part.trail.paths) for part in sol.trail.parts) == 10


@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=repr)
@pytest.mark.parametrize("stabilization", [S_both2(), S_pos(), PostStabilization(on="full")], ids=repr)
def test_post_stabilization_passes_them(stabilization, integrator):
    problem = problems.four_bars_from_bodies(2)
    for rtol in (1e-6, 1e-8):
        sol = run(problem, rtol, integrator=integrator, stabilization=stabilization)
        assert error(problem, sol) < 1e3 * rtol, rtol  # measured: 10 to 300, as with a projection
        assert sol.plan.choice.stabilization == stabilization


def test_who_led_over_a_position_is_told_where_methods_were_named():
    problem = problems.four_bars(2)
    with pytest.warns(HandedOverWarning) as said:
        sol = run(problem, 1e-6, 3.0, integrator=Radau(), formulation=GGL())
    first, behind = sol.trail.parts[1].t[[0, -1]]
    assert len(said) == 1 and str(said[0].message) == (
        f"at t = {first:.6g} a singular position of the constraints lay ahead, which GGL() + Radau() + Projection() does not "
        f"pass: DOP853() + Projection() led over it until t = {behind:.6g} ({len(sol.trail.parts[1].t) - 1} steps), and so 2 more "
        "times. To have one method throughout, ask for that one."
    )
    assert behind - first < 0.3  # of the 0.5 s to the next one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(problem, 1e-6, 3.0)


def test_a_field_that_is_bent_is_told_the_remedy():
    problem = problems.four_bars_from_bodies(2)
    with pytest.raises((SingularPosition, StepFailed), match=r"DOP853\(\) with Projection\(\)"):
        run(problem, 1e-8, integrator=RK45(), stabilization=Baumgarte(alpha=10))


def test_events_and_saved_times_are_found_across():
    problem = problems.four_bars(2)
    times = np.linspace(0.0, 4.0, 401)
    events = {"flat": Event(lambda q: q[1]), "past": Event(lambda q: q[1] - 0.9, direction="rising")}
    ours, theirs = (run(problem, 1e-8, 4.0, integrator=i, events=events) for i in (Radau(), DOP853()))
    for name in events:
        assert len(ours.events[name].t) == len(theirs.events[name].t) > 0
        assert np.max(np.abs(ours.events[name].t - theirs.events[name].t)) < 1e-6  # κ rtol of both
    saved = run(problem, 1e-8, 4.0, integrator=Radau(), save_at=times)
    exact = np.array([np.concatenate(problem.exact(t)) for t in times])
    for found in (saved, ours(times)):
        assert np.max(np.abs(np.hstack([found.q, found.v]) - exact)) < 5e-6


def test_a_terminal_event_close_to_the_position_ends_the_run():
    problem = problems.four_bars(2)
    sol = run(problem, 1e-8, integrator=BDF(), events={"past": Event(lambda q: q[1] + 0.01, terminal=True)})
    assert sol.ended == "past" and abs(sol.q[-1, 1] + 0.01) < 1e-12


def test_backwards_too():
    problem = problems.four_bars(2)
    q, v = problem.exact(3.0)
    back = simulate(problem.system, (3.0, 0.0), q0=q, v0=v, initial="project", rtol=1e-8, atol=1e-11, integrator=Radau())
    assert np.max(np.abs(back.q[-1] - problem.q0)) < 1e-5


def test_a_stiff_motion_passes_too():
    """A state that follows y with 1e5 1/s beside the flat parallelogram: explicit steps alone would be 2e5."""
    problem = problems.four_bars(1)
    system = replace(problem.system, states={"lag": lambda lag, q: -1e5 * (lag - q[1])})
    sol = simulate(system, 3.0, q0=problem.q0, v0=problem.v0, s0={"lag": problem.q0[1]}, integrator=Radau(), rtol=1e-6)
    q, _ = problem.exact(3.0)
    assert np.max(np.abs(sol.q[-1] - q)) < 1e-3
    assert abs(sol.s[-1, 0] - q[1]) < 1e-3
    assert sol.stats["steps"] < 30000  # the passages are short


def test_a_dip_that_is_no_position_costs_nothing_but_a_detour():
    """Bars that come close to a line and turn back: pivot ratios fall to a thousandth, and rise again."""
    arm = System(
        mass=np.eye(4), force=[0.0, -1.0, 0.0, -1.0],
        constraint={"a": lambda q: q[:2] @ q[:2] - 1, "b": lambda q: (q[2:] - q[:2]) @ (q[2:] - q[:2]) - 1,
                    "c": lambda q: (q[2] - 1.98) ** 2 + q[3] ** 2 - 1e-2},
    )  # fmt: skip
    q = np.array([0.95, np.sqrt(1 - 0.95**2), 1.9, 0.0])
    start = {"q0": q, "v0": np.zeros(4), "initial": "project"}
    ours = simulate(arm, 1.0, **start, integrator=Radau(), rtol=1e-8, atol=1e-11)
    theirs = simulate(arm, 1.0, **start, integrator=DOP853(), rtol=1e-11, atol=1e-13)
    assert np.max(np.abs(ours.q[-1] - theirs.q[-1])) < 1e-5
