"""Plausible mistakes of people who come from elsewhere: what is said names what to write here."""

import re

import numpy as np
import pytest

from holonomic import RK4, Event, Ode, PostStabilization, Projection, SingularPosition, System, UnknownName, simulate, sweep
from holonomic.errors import BadArgument, RedundancyWarning, UnknownArgument, WrongShape
from holonomic.multibody import Mechanism, rod
from holonomic.multibody.lower import UnitsWarning

CIRCLE = Ode(lambda y: np.array([y[1], -y[0]]), {"radius": lambda y: y @ y}, params={"k": 1.0})
Y0 = {"y0": [1.0, 0.0]}


@pytest.fixture(scope="module")
def turned():
    return simulate(CIRCLE, 1.0, **Y0)


@pytest.fixture(scope="module")
def link():
    m = Mechanism(gravity=(0, -9.81))
    m.revolute("A", m.ground, m.body("link", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
    return m


# from SciPy


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("sol", "sol(t)"), ("t_events", "sol.events[name].t"), ("nfev", 'sol.stats["field evaluations"]'),
        ("invariants", "sol.drift, by name"), ("message", "sol.failure"),
    ],
)  # fmt: skip
def test_what_scipy_calls_otherwise_is_translated(turned, name, there):
    with pytest.raises(AttributeError, match="a Solution has no") as caught:
        getattr(turned, name)
    assert str(caught.value) == f"a Solution has no {name!r}; here it is {there}."
    assert "field evaluations" in turned.stats and turned.failure == ""


def test_other_attributes_are_missed_as_python_misses_them(turned):
    with pytest.raises(AttributeError, match="'Solution' object has no attribute 'colour'"):
        turned.colour


def test_terminal_and_direction_as_attributes_of_a_function():
    def half(t, y):
        return y[0] - 0.5

    half.terminal, half.direction = True, -1.0
    sol = simulate(CIRCLE, 20.0, **Y0, events={"half": half})
    assert sol.ended == "half" and sol.t[-1] == pytest.approx(np.pi / 3, abs=1e-6)
    half.direction = 1.0
    assert simulate(CIRCLE, 20.0, **Y0, events={"half": half}).t[-1] == pytest.approx(5 * np.pi / 3, abs=1e-6)
    half.terminal = 3
    with pytest.raises(BadArgument, match="event 'half' has terminal = 3: a run ends at the first occurrence"):
        simulate(CIRCLE, 1.0, **Y0, events={"half": half})


def test_arguments_that_are_not_needed_are_called_that():
    with pytest.raises(UnknownArgument, match=r"no argument 'dense_output' and needs none: sol\(t\) always works\."):
        simulate(CIRCLE, 1.0, **Y0, dense_output=True)


def test_a_function_in_the_place_of_an_ode():
    with pytest.raises(BadArgument, match=r"got function\. For y' = f\(t, y\) write Ode\(f\)\."):
        simulate(lambda t, y: -y, 1.0, y0=[1.0])


def test_times_off_by_rounding_are_the_ends_of_the_run():
    times = 0.1 * np.arange(4)
    assert times[-1] > 0.3
    assert simulate(CIRCLE, 0.3, **Y0, save_at=times).t[-1] == 0.3
    with pytest.raises(BadArgument, match=r"save_at reaches from 0 to 1\.0000001, outside the run \(0, 1\)"):
        simulate(CIRCLE, 1.0, **Y0, save_at=[0.0, 1.0000001])


def test_complex_numbers_are_refused_as_such():
    with pytest.raises(BadArgument, match=r"y0 is complex: .* Give real and imaginary parts"):
        simulate(CIRCLE, 1.0, y0=[1.0 + 0j, 0.0])


# what is read of a run


def test_a_solution_is_read_by_name(turned):
    with pytest.raises(UnknownName, match=r"read by name, got 0\. Rows are sol\.y\[0\], a state at a time is sol\(t\)"):
        turned[0]
    with pytest.raises(UnknownName, match=r"'radius' is an invariant: its change along the run is sol.drift\['radius'\]"):
        turned["radius"]


def test_a_name_that_a_mechanism_does_not_have_lists_its_parts(link):
    with pytest.raises(UnknownName, match="Parts of the mechanism: link, A, energy, power"):
        simulate(link, 0.1)["hinge"]


# equations


def test_invariants_that_depend_on_each_other_are_named():
    twice = Ode(lambda y: np.array([y[1], -y[0]]), {"r": lambda y: y @ y, "R": lambda y: 2 * (y @ y)})
    with pytest.warns(RedundancyWarning, match=r"invariant 'R' is not corrected where .* \(from t = 0 on.* Keep fewer"):
        sol = simulate(twice, 1.0, **Y0)
    assert abs(sol.drift["R"]).max() < 1e-12
    along = Projection(D=lambda y: np.stack([y, y], axis=1))  # other directions than the gradients: there is no way
    with pytest.raises(SingularPosition, match=r"gradients of the invariants 'r', 'R' are dependent.* Keep fewer"):
        simulate(twice, 1.0, **Y0, stabilization=along)


def test_then_that_returns_nothing():
    with pytest.raises(WrongShape, match=r"then of event 'half' returned nothing at t = 0.5: is a `return` missing"):
        simulate(CIRCLE, 1.0, **Y0, events={"half": Event(lambda t: t - 0.5, then=lambda y: None)})


def test_a_number_for_a_mass_matrix():
    with pytest.raises(WrongShape, match=r"expected \(2, 2\)\. Is np\.eye\(2\) times it meant"):
        simulate(System(mass=2.0), 1.0, q0=[0, 0], v0=[0, 0])


def test_coordinates_that_do_not_match_the_start():
    with pytest.raises(BadArgument, match=r"q0 has 2 entries, but coordinates= names 3: x, y, z\. Give one number for each"):
        simulate(System(mass=np.eye(2), coordinates=["x", "y", "z"]), 1.0, q0=[0, 0], v0=[0, 0])


def test_a_parameter_that_was_misspelt():
    with pytest.raises(BadArgument, match=r"unknown parameter 'kk'. Did you mean 'k'"):
        CIRCLE.with_params(kk=2.0)


FREE = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"constraint": lambda q: q @ q == 1}, r"constraint\(\) returns True or False, but .* write q @ q - 1 in the place"),
        ({"nonholonomic": lambda q: np.array([1.0, q[0]])}, r"does not depend on v: write what is to be zero, Â\(t, q\) v \+ b"),
        ({"potential": lambda v: v @ v}, r"potential\(\) depends on v, but it is a function of t and q"),
        ({"mass": lambda v: np.eye(2) * (1 + v @ v)}, r"mass\(\) depends on v, but it is a function of t and q"),
    ],
)
def test_functions_that_mean_something_else(trace, given, text):
    with pytest.raises(BadArgument, match=text):
        simulate(System(**({"mass": np.eye(2), "trace": trace} | given)), 1.0, **FREE)


@pytest.mark.parametrize("trace", [True, False])
def test_a_function_may_name_velocities_that_it_does_not_use(trace):
    spring = System(mass=lambda q, v: np.eye(2), potential=lambda t, q, v: 0.5 * q @ q, trace=trace)
    assert simulate(spring, 1.0, **FREE).q[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-5)


def test_kinds_of_coordinates_are_spelt_right():
    with pytest.raises(BadArgument, match="gives 'x' the kind 'angel'; kinds are 'angle', 'length', 'quaternion'"):
        simulate(System(mass=np.eye(2), coordinates={"x": "angel", "y": "length"}), 1.0, **FREE)


def test_a_tolerance_of_the_projection_is_positive():
    for tol in (-1.0, 0.0, np.inf, np.nan):
        with pytest.raises(BadArgument, match="must be a positive number; leave it out"):
            Projection(tol=tol)


# going on


def test_a_whole_solution_is_no_start(turned):
    with pytest.raises(BadArgument, match=r"y0 is a whole Solution: pass y0=sol\.end to go on from where it ended"):
        simulate(CIRCLE, 2.0, y0=turned)


def test_the_end_of_the_next_run_is_a_time_and_no_duration(turned):
    with pytest.raises(BadArgument, match=r"ended at t = 1, after t_end = 0\.5, a time .* the pair \(1, 0\.5\) to run backwards"):
        simulate(CIRCLE, 0.5, y0=turned.end)
    back = simulate(CIRCLE, (1.0, 0.0), y0=turned.end)
    assert np.allclose(back.y[-1], Y0["y0"], atol=1e-5)


# mechanisms


def test_degrees_are_noticed(link):
    with pytest.warns(UnitsWarning, match=r"joint 'A' is asked for 90 rad, 14.3 turns. Angles are in radians: np.radians\(90\)"):
        link.assemble({"A": 90})
    link.assemble({"A": 3.0})


def test_joint_values_without_names(link):
    with pytest.raises(BadArgument, match=r"values are given by joint, .* got \[1.0\]"):
        link.assemble([1.0])


def test_gravity_is_a_vector():
    with pytest.raises(BadArgument, match=r"gravity is a vector, \(0, -9.81\) in the plane or \(0, 0, -9.81\) in space, got 9.81"):
        Mechanism(gravity=9.81)


def test_events_of_a_mechanism_see_its_parts_through_a_quantity(link):
    with pytest.raises(BadArgument, match=r"event 'low' asks for 'A', a part of the mechanism: .* m\.quantity\(lambda A: \.\.\.\)"):
        simulate(link, 1.0, events={"low": lambda A: A.angle})


def test_a_start_of_a_dae_for_a_mechanism(link):
    with pytest.raises(BadArgument, match="x0, dx0 and ddx0 belong to a Dae; a System starts from q0 and v0"):
        simulate(link, 1.0, x0=[0.0])


# sweeps


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"params": {"k": 2.0}}, r"params\['k'\] has shape \(\); expected \(members,\), .* system.with_params\(k=\.\.\.\)"),
        ({"params": {"k": [[1.0], [2.0]]}}, r"params\['k'\] has shape \(2, 1\); expected \(members,\), one for each member\.$"),
        ({"params": [{"k": 1.0}]}, "params= is a mapping .* got list"),
        ({"params": {"k": ["a"]}}, r"params\['k'\] must be numbers"),
        ({"params": {"kk": [1.0]}}, "no such parameter. Did you mean 'k'"),
        ({"params": {"k": [1.0]}, "n_jobs": 4}, "sweep has no argument 'n_jobs'; here it is called workers"),
        ({"params": {"k": [1.0]}, "worker": 4}, "sweep has no argument 'worker'. Did you mean 'workers'"),
        ({"params": {"k": [1.0]}, "workers": "all"}, "workers='all' must be a whole number"),
        ({"params": {"k": [1.0]}, "outputs": {"a": abs}}, "sweep keeps outputs by name"),
        ({"y0": np.zeros((2, 2, 2))}, r"y0 has shape \(2, 2, 2\), expected one row for all members, or \(members, entries\)"),
    ],
)
def test_sweeps_say_what_they_need(given, text):
    with pytest.raises((BadArgument, UnknownArgument), match=text):
        sweep(CIRCLE, 1.0, **(Y0 | given))


@pytest.mark.parametrize("make, said", [
    (lambda: RK4(step=0.01), r"RK4\(\) has no settings. step= goes to simulate\(..., step=...\)"),
    (lambda: RK4(0.01), r"RK4\(\) has no settings, got 0.01. A step goes to simulate"),
    (lambda: Projection(rtol=1e-6), r"Projection has no argument 'rtol'. It goes to simulate\(..., rtol=...\)"),
    (lambda: PostStabilization(sweep=2), r"Did you mean 'sweeps'"),
    (lambda: Event(lambda q: q[0], terminate=True), r"Event has no argument 'terminate'. Did you mean 'terminal'"),
])  # fmt: skip
def test_a_method_is_told_which_settings_are_its_own(make, said):
    with pytest.raises(UnknownArgument, match=said):
        make()


DATES = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")


@pytest.mark.parametrize(
    "given, says",
    [
        ({"y0": ["1", "0"]}, "y0 must be numbers, got ['1', '0']."),
        ({"y0": DATES}, "y0 must be numbers, got array(['2020-01-01', '2020-01-02'], dtype='datetime64[D]')."),
        ({"y0": DATES - DATES[0]}, "y0 must be numbers, got array([0, 1], dtype='timedelta64[D]')."),
        ({"t_end": "1"}, "t_end must be a number or a pair (t0, t_end), got '1'."),
        ({"step": "0.1"}, "step='0.1' must be a positive number."),
        ({"atol": ["1", "2"]}, "atol must be numbers, got ['1', '2']."),
    ],
)
def test_text_and_dates_are_no_numbers(given, says):
    """NumPy makes numbers of them: of a date, days since 1970."""
    with pytest.raises(BadArgument, match=f"^{re.escape(says)}$"):
        simulate(CIRCLE, **{"t_end": 1.0} | Y0 | given)


def test_text_and_dates_are_no_numbers_in_sweeps():
    with pytest.raises(BadArgument, match=r"^params\['k'\] must be numbers, one \(or one array\) per member, got \['1', '2'\]\.$"):
        sweep(CIRCLE, 1.0, **Y0, params={"k": ["1", "2"]})
    with pytest.raises(BadArgument, match=r"^y0 must be numbers, a row for each member, got "):
        sweep(CIRCLE, 1.0, y0=np.array([[0.0, 1.0], [0.0, "1"]], dtype=object))
