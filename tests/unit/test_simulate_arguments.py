"""Arguments of simulate(): what is accepted, and what is said about the rest."""

import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from holonomic import DOP853, RK4, RK45, Dae, FixedBDF, Ode, Projection, System, gradient, problems, simulate, sweep
from holonomic.arguments import GivenStart, brought, opened
from holonomic.errors import BadArgument, UnknownArgument

BALL = System(mass=np.eye(2), force=[0, -9.81], coordinates=["x", "y"])
START = {"q0": [0.0, 0.0], "v0": [1.0, 1.0]}


def refused(kind=BadArgument, *args, system=BALL, **more):
    with pytest.raises(kind) as caught:
        simulate(system, *(args or (1.0,)), **{**START, **more})
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("method", "simulate has no argument 'method'; here it is called integrator."),
        ("t_span", "simulate has no argument 't_span'; here it is called t_end (a number, or a pair (t0, t_end))."),
        ("t_eval", "simulate has no argument 't_eval'; here it is called save_at."),
        ("dt", "simulate has no argument 'dt'; here it is called step."),
        ("stablization", "simulate has no argument 'stablization'. Did you mean 'stabilization'?"),
    ],
)
def test_other_names_are_translated(name, text):
    assert refused(UnknownArgument, **{name: 1}) == text


def test_an_unknown_name_lists_the_known_ones():
    text = refused(UnknownArgument, colour="red")
    assert text.startswith("simulate has no argument 'colour'. Known: system, t_end, q0, v0, ")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"rtol": 0}, "rtol=0 must be a positive number."),
        ({"rtol": "fine"}, "rtol='fine' must be a positive number."),
        ({"rtol": 2}, "rtol=2 must lie between 1e-14 and 1; double precision has 16 digits."),
        ({"rtol": 1e-17}, "rtol=1e-17 must lie between 1e-14 and 1; double precision has 16 digits."),
        ({"atol": -1e-6}, "atol=-1e-06 must be a positive number, or 0."),
        ({"atol": np.nan}, "atol=nan must be a positive number, or 0."),
        ({"atol": [1e-6, 1e-6]}, "atol has 2 entries, expected 4."),
        ({"atol": [1e-6, 1e-6, -1.0, 1e-6]}, "atol[2]=-1 must be a positive number, or 0."),
        ({"atol": {"z": 1e-6}}, "atol['z']: known are 'q', 'v' and x, y."),
        (
            {"atol": np.inf},
            "atol=inf must be finite: no error would ever be too large. Give a number, or step= for steps without error control.",
        ),
        (
            {"atol": {"q": np.inf}},
            "atol['q']=inf must be finite: no error would ever be too large. Give a number, or step= "
            "for steps without error control.",
        ),
        ({"atol": True}, "atol=True must be a positive number, or 0."),
        (
            {"atol": [[1e-6] * 4]},
            "atol has shape (1, 4), expected one row of numbers, (4,). Pass np.ravel(atol) if all its "
            "entries are meant, in that order.",
        ),
        ({"rtol": np.inf}, "rtol=inf must lie between 1e-14 and 1; double precision has 16 digits."),
        ({"rtol": np.nan}, "rtol=nan must be a positive number."),
        ({"rtol": -1e-6}, "rtol=-1e-06 must be a positive number."),
        (
            {"constraint_tol": np.inf},
            "constraint_tol=inf must be finite: no distance would ever be too large. Give a number, or "
            "stabilization=None to leave the constraints alone.",
        ),
        ({"step": np.inf, "integrator": RK4()}, "step=inf must be finite: the run is divided into steps of this length."),
        ({"save_at": []}, "save_at is empty: nothing would be kept. Leave it out, or pass save_at=[t_end] to keep the end alone."),
        (
            {"save_at": [[0.0, 0.5], [0.6, 1.0]]},
            "save_at has shape (2, 2), expected one row of numbers, (4,). Pass "
            "np.ravel(save_at) if all its entries are meant, in that order.",
        ),
        (
            {"q0": [[0.0, 0.0]]},
            "q0 has shape (1, 2), expected one row of numbers, (2,). Pass np.ravel(q0) if all its entries "
            "are meant, in that order. Many starts at once are for sweep().",
        ),
        (
            {"v0": [[1.0], [1.0]]},
            "v0 has shape (2, 1), expected one row of numbers, (2,). Pass np.ravel(v0) if all its entries "
            "are meant, in that order. Many starts at once are for sweep().",
        ),
        ({"constraint_tol": 0.0}, "constraint_tol=0.0 must be a positive number."),
        (
            {"step": 0.1, "rtol": 1e-6, "integrator": RK4()},
            "step= fixes the step, rtol= and atol= choose it by error: give one or the other.",
        ),
        ({"step": -0.1, "integrator": RK4()}, "step=-0.1 must be a positive number."),
        ({"max_steps": 0}, "max_steps=0 must be a whole number, at least 1."),
        ({"max_steps": 10.5}, "max_steps=10.5 must be a whole number, at least 1."),
        ({"max_steps": "many"}, "max_steps='many' must be a whole number, at least 1."),
        ({"max_step": 0}, "max_step=0 must be a positive number."),
        ({"first_step": -1.0}, "first_step=-1.0 must be a positive number."),
        ({"save_at": 1}, "save_at=1: a number of times must be a whole number, at least 2."),
        ({"save_at": "all"}, "save_at='all': a number of times must be a whole number, at least 2."),
        ({"save_at": [0.0, 2.0]}, "save_at reaches from 0 to 2, outside the run (0, 1)."),
        ({"save_at": [0.5, 0.2]}, "save_at must go from t0 to t_end without repeating a time."),
        ({"save_at": [0.5, 0.5]}, "save_at must go from t0 to t_end without repeating a time."),
        ({"initial": "guess"}, 'initial=\'guess\': choose "check", "project", "impact" or "free".'),
        ({"redundant": "ignore"}, 'redundant=\'ignore\': choose "minimum-norm" or "drop".'),
        ({"hold": "x"}, 'hold= goes with initial="project".'),
        ({"hold": "z", "initial": "project"}, "hold='z' is no coordinate; known: x, y, or 0 to 1."),
        ({"hold": [2], "initial": "project"}, "hold=2 is no coordinate; known: x, y, or 0 to 1."),
        ({"q0": [0, np.inf]}, "q0[1] is not finite: [ 0. inf]."),
        ({"q0": "here"}, "q0 must be numbers, got 'here'."),
        ({"q0": [], "v0": []}, "q0 is empty: there is nothing to simulate."),
        ({"q0": None}, "simulate needs q0: initial positions and velocities are q0= and v0=."),
        ({"v0": None}, "simulate needs v0: initial positions and velocities are q0= and v0=."),
        ({"y0": [1.0]}, "a System starts from q0 and v0; y0 belongs to an Ode."),
        ({"lam0": [1.0]}, "lam0 has 1 entries, expected 0."),
        ({"integrator": "RK45"}, "integrator='RK45': pass an object, for example integrator=RK45()."),
        ({"integrator": "ode45"}, "integrator='ode45': pass an object, for example integrator=DOP853()."),
        ({"integrator": "rk45"}, "integrator='rk45': pass an object, for example integrator=RK45()."),
        ({"integrator": None}, "integrator=None is not an integrator; for example integrator=DOP853()."),
        (
            {"stabilization": 3},
            "stabilization=3 is not a stabilization; for example stabilization=Projection(), or None for without.",
        ),
        ({"integrator": RK4()}, "RK4 has no error estimate: give step=, or use RK45 or DOP853."),
    ],
)
def test_values_that_cannot_be_meant(given, text):
    assert refused(**given) == text


@pytest.mark.parametrize(
    ("t_end", "text"),
    [
        (None, "simulate needs t_end: a number, or a pair (t0, t_end)."),
        (0.0, "the interval is empty: it begins and ends at t = 0."),
        ((1.0, 1.0), "the interval is empty: it begins and ends at t = 1."),
        (np.inf, "the interval (0.0, inf) must be finite."),
        ((0, 1, 2), "t_end must be a number or a pair (t0, t_end), got (0, 1, 2)."),
        ("soon", "t_end must be a number or a pair (t0, t_end), got 'soon'."),
    ],
)
def test_intervals_that_cannot_be_meant(t_end, text):
    assert refused(BadArgument, t_end) == text


def test_something_else_than_a_system():
    with pytest.raises(BadArgument, match=r"simulate needs a System, an Ode, .* got function"):
        simulate(lambda t, y: -y, 1.0, y0=[1.0])


def test_an_ode_says_what_it_starts_from():
    decay = Ode(lambda y: -y)
    with pytest.raises(BadArgument, match=r"simulate needs y0, the initial state of the Ode\."):
        simulate(decay, 1.0)
    with pytest.raises(BadArgument, match="an Ode starts from y0 alone; v0 belongs to a System"):
        simulate(decay, 1.0, y0=[1.0], v0=[1.0])


def test_starts_of_other_kinds_are_rows_too():
    with pytest.raises(BadArgument, match=r"y0 has shape \(1, 2\), expected one row of numbers, \(2,\)"):
        simulate(Ode(lambda y: -y), 1.0, y0=[[1.0, 2.0]])
    pair = Dae(order=1, f=lambda x: -x, B=[[1.0], [0.0]], g=lambda x: x[0])
    with pytest.raises(BadArgument, match=r"x0 has shape \(2, 1\), expected one row"):
        simulate(pair, 1.0, x0=[[0.0], [1.0]])
    motor = System(mass=[[1.0]], states={"i": lambda i: -i})
    with pytest.raises(BadArgument, match=r"s0\['i'\] has shape \(1, 2\), expected one row"):
        simulate(motor, 1.0, q0=[0.0], v0=[0.0], s0={"i": [[1.0, 2.0]]})


def test_a_class_without_brackets_is_accepted():
    sol = simulate(BALL, 1.0, **START, integrator=RK45)
    assert sol.plan.choice.integrator == RK45()


def test_defaults_are_those_that_are_promised():
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    choice = simulate(pendulum, 5.0, q0=[1, 0], v0=[0, 0]).plan.choice
    assert (choice.rtol, choice.atol, choice.constraint_tol) == (1e-6, None, 1e-10)
    assert choice.integrator == DOP853() and choice.stabilization == Projection()


def test_tolerances_by_level_and_by_name():
    by_name = simulate(BALL, 1.0, **START, atol={"q": 1e-3, "v": 1e-4, "y": 1e-5})
    assert by_name.plan.choice.atol == (1e-3, 1e-5, 1e-4, 1e-4)
    other_order = simulate(BALL, 1.0, **START, atol={"y": 1e-5, "v": 1e-4, "q": 1e-3})
    assert other_order.plan.choice.atol == by_name.plan.choice.atol
    by_entry = simulate(BALL, 1.0, **START, atol=[1e-3, 1e-5, 1e-4, 1e-4])
    assert by_entry.plan.choice.atol == by_name.plan.choice.atol


def test_saved_times_are_exactly_those_asked_for():
    times = np.array([0.0, 0.1, 0.35, 1.0])
    sol = simulate(BALL, 1.0, **START, save_at=times)
    assert np.array_equal(sol.t, times)
    assert np.allclose(sol.q[:, 1], times - 9.81 / 2 * times**2, atol=1e-12)
    assert np.array_equal(simulate(BALL, 1.0, **START, save_at=5).t, np.linspace(0, 1, 5))


def test_saved_times_may_leave_out_both_ends():
    sol = simulate(BALL, 1.0, **START, save_at=[0.25, 0.5])
    assert sol.t.tolist() == [0.25, 0.5]
    assert sol.end.t == 1.0
    assert np.allclose(sol.end.q[1], 1 - 9.81 / 2)


def test_backward_runs_and_backward_saved_times():
    ahead = simulate(BALL, 1.0, **START)
    back = simulate(BALL, (1.0, 0.0), q0=ahead.end.q, v0=ahead.end.v, save_at=[1.0, 0.5, 0.0])
    assert back.t.tolist() == [1.0, 0.5, 0.0]
    assert np.allclose(back.q[-1], START["q0"], atol=1e-12)


def test_limits_of_the_step_are_kept():
    sol = simulate(BALL, 1.0, **START, max_step=0.03, first_step=0.01)
    assert np.isclose(sol.t[1], 0.01)
    assert np.max(np.diff(sol.t)) <= 0.03 * (1 + 1e-12)


def test_a_fixed_step_ends_exactly_at_the_end():
    sol = simulate(BALL, 1.0, **START, integrator=RK4(), step=0.3)
    assert np.allclose(sol.t, [0, 0.3, 0.6, 0.9, 1.0])
    assert sol.t[-1] == 1.0
    many = simulate(BALL, 1.0, **START, integrator=RK4(), step=0.1)
    assert len(many.t) == 11  # no extra step of rounding


def test_a_run_can_be_continued_from_its_end():
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    whole = simulate(pendulum, 2.0, q0=[1, 0], v0=[0, 0], rtol=1e-9)
    half = simulate(pendulum, 1.0, q0=[1, 0], v0=[0, 0], rtol=1e-9)
    rest = simulate(pendulum, 2.0, q0=half.end, rtol=1e-9)
    assert rest.t[0] == 1.0
    assert np.allclose(rest.end.q, whole.end.q, atol=1e-7)


def test_reading_the_arguments_of_a_short_call_is_a_handful_of_python_calls():
    """Two objects, three vectors and limits, an interval: 18 frames; conversions through NumPy's own Python made it 44."""
    simulate(BALL, 1.0, **START)
    frames, inside = [], []

    def watch(frame, event, _):
        name = frame.f_code.co_qualname
        if event == "call" and (inside or "/holonomic/arguments/" in frame.f_code.co_filename.replace(os.sep, "/")):
            inside.append(name)
            frames.append(name)
        elif event == "return" and inside:
            inside.pop()

    sys.setprofile(watch)
    try:
        simulate(BALL, 1.0, **START)
    finally:
        sys.setprofile(None)
    assert len(frames) <= 18, frames


def test_a_problem_brings_its_start_and_end():
    problem = problems.pendulum()
    sol = simulate(problem)
    assert sol.t[-1] == problem.t_end
    assert np.array_equal(sol.q[0], problem.q0)
    assert simulate(problem, 0.5).t[-1] == 0.5


def test_the_arguments_come_out_as_they_went_in():
    q0, v0, times = np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([0.0, 0.5, 1.0])
    events = {"top": lambda v: v[1]}
    simulate(BALL, 1.0, q0=q0, v0=v0, save_at=times, events=events)
    assert q0.tolist() == [0, 0] and v0.tolist() == [1, 1] and times.tolist() == [0, 0.5, 1] and list(events) == ["top"]


def test_progress_is_silent_without_a_terminal_and_shown_when_asked_for(capfd):
    simulate(BALL, 1.0, **START)
    assert capfd.readouterr().err == ""
    simulate(BALL, 20.0, **START, integrator=RK4(), step=1e-5, save_at=3, max_steps=10**8, progress=True)
    capfd.readouterr()  # what a bar looks like depends on the terminal; that it does no harm is what counts


def test_a_problem_goes_on_from_the_end_of_a_run():
    problem = problems.pendulum()
    whole = simulate(problem, 1.0, rtol=1e-9)
    half = simulate(problem, 0.5, rtol=1e-9)
    rest = simulate(problem, 1.0, q0=half.end, rtol=1e-9)  # not with the velocity that the problem starts with
    assert rest.t[0] == 0.5
    assert np.allclose(rest.q[-1], whole.q[-1], atol=1e-7)
    orbit = problems.kepler()
    for name in ("q0", "y0"):
        part = simulate(orbit, 1.0, rtol=1e-9)
        assert np.allclose(simulate(orbit, 2.0, **{name: part.end}).y[0], part.y[-1])


def test_a_problem_brings_the_same_start_to_a_run_and_to_a_sweep():
    problem = problems.get("wheelset-testset") if "wheelset-testset" in problems.catalogue() else problems.pendulum()
    turned = replace(problem, system=replace(problem.system, params={**problem.system.params, "unused": 1.0}))
    q0 = np.array(problem.q0)
    runs = [opened("simulate", turned, 0.1, GivenStart(q0=start)) for start in (None, q0)]
    assert np.array_equal(runs[0].q, runs[1].q)  # q0 alone does not drop s0, w0 and v0
    found = brought(turned, 0.1, GivenStart(q0=q0))[2]
    assert found.v0 == problem.v0 and found.s0 is problem.s0 and found.w0 is problem.w0


@pytest.mark.parametrize("run", [simulate, sweep])
def test_a_start_in_the_third_place_as_solve_ivp_has_it_is_told_its_name(run):
    decay = Ode(lambda y: -y)
    for system, args, names in (
        (decay, ([1.0],), "y0=..."),
        (BALL, ([1.0, 0.0], [0.0, 0.0]), "q0=..., v0=..."),
        (problems.kepler(), ([1.0, 0.0, 0.0, 1.0],), "y0=..."),
        (Dae(order=2, f=lambda x: -x, B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1), ([1.0, 0.0],), "x0=..., dx0=..."),
    ):
        with pytest.raises(BadArgument) as found:
            run(system, (0, 1), *args)
        assert f"{run.__name__}(system, t_end, {names})" in str(found.value)
        assert f"{len(args)} more" in str(found.value)
    with pytest.raises(BadArgument, match=r"Ode\(f\)"):
        run(lambda t, y: -y, (0, 1), [1.0])
    with pytest.raises(BadArgument, match=r"Write the start with its name: gradient\(loss, system, t_end, y0=\.\.\.\)"):
        gradient(lambda sol: sol.y[-1], decay, (0, 1), [1.0], wrt="y0")
    with pytest.raises(UnknownArgument, match="rtoll"):  # names are still looked for among those that can be written
        run(decay, (0, 1), y0=[1.0], rtoll=1e-3)


def test_arrays_may_lie_in_memory_as_they_like():
    """Strides, directions, byte orders and protection of what is given change nothing."""
    swing = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda q: q @ q - 1)
    times = np.linspace(0.0, 1.0, 9)
    plain = simulate(swing, 1.0, q0=[0, -1], v0=[1, 0], save_at=times[::2].copy())
    columns, foreign = np.zeros((4, 3)), np.array([0, -1], dtype=">f8")
    columns[:, 1] = [0, -1, 1, 0]
    foreign.setflags(write=False)
    for given in (
        {"q0": columns[:2, 1], "v0": columns[2:, 1], "save_at": times[::2]},
        {"q0": foreign, "v0": np.array([1, 0], dtype=np.int8), "save_at": times[::2].astype(">f8")},
    ):
        np.testing.assert_array_equal(simulate(swing, 1.0, **given).q, plain.q)
    back = {"q0": plain.end.q, "v0": plain.end.v, "save_at": times[::-2]}
    for methods in ({}, {"integrator": FixedBDF(3), "step": 0.001}):
        sol = simulate(swing, (1.0, 0.0), **back, **methods)
        np.testing.assert_allclose(sol.q[::-1], plain.q, atol=1e-5)
        np.testing.assert_allclose(sol(times[::-1]).q[::2], sol.q, atol=1e-9)
