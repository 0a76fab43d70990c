"""What is said about what a system states: names of arguments, mappings, parameters, invariants."""

import numpy as np
import pytest

from holonomic import RATTLE, Dae, GeneralizedAlpha, InvariantWarning, Ode, System, compare, essential_ode, simulate, sweep
from holonomic.errors import BadArgument, HolonomicError, NotFinite, StepFailed, UnknownArgument, UntraceableFunction

START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
PENDULUM = {"mass": np.eye(2), "force": [0, -9.81], "constraint": lambda q: q @ q - 1}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: System(**PENDULUM, param={"g": 1}), "System has no argument 'param'. Did you mean 'params'?"),
        (lambda: Ode(lambda y: -y, invariant={}), "Ode has no argument 'invariant'. Did you mean 'invariants'?"),
        (lambda: Dae(output=1), "Dae has no argument 'output'. Did you mean 'outputs'?"),
    ],
)
def test_an_unknown_argument_of_a_system_names_the_nearest(make, text):
    with pytest.raises(UnknownArgument) as caught:
        make()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ({"params": [9.81]}, "params= is a mapping {name: value}"),
        ({"params": {"g": np.nan}}, "parameter 'g' is not a number: nan"),
        ({"outputs": [lambda q: q]}, "outputs= is a mapping {name: function}, got list"),
        ({"inputs": [1.0]}, "inputs= is a mapping"),
        ({"constraint": [lambda q: q @ q - 1]}, "several functions are given by name"),
    ],
)
def test_what_is_no_mapping_is_refused(stated, text):
    with pytest.raises(BadArgument) as caught:
        System(**{**PENDULUM, **stated})
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ({"mass": "heavy"}, "mass= must be a number, an array of numbers or a function, got 'heavy'."),
        ({"force": [0, 1j]}, "force= must be a number, an array of numbers or a function, got [0, 1j]."),
        ({"potential": np.nan}, "potential= must be finite, got nan."),
        ({"states": {1: lambda q: q[0]}}, "states={1: ...}: a state is called by a text."),
        ({"coordinates": 2}, 'coordinates= is a list of names, ["x", "y"], or {name: kind}, got 2 (int).'),
        ({"coordinates": [0, 1]}, "coordinates= has the name 0: a coordinate is called by a text."),
        ({"velocity_terms": "yes"}, "velocity_terms='yes': choose True, False or None."),
        ({"trace": "yes"}, "trace='yes': choose \"auto\", True or False."),
        ({"inputs": {"push": np.inf}}, "input 'push' must be finite, got inf."),
        ({"inputs": {"push": lambda x: x}}, "input 'push' asks for 'x'; it can have t, p (chosen by name)."),
        ({"derivatives": [1], "trace": False}, "derivatives= is a mapping {name: function}, got list."),
        ({"outputs": {"height": "tall"}}, "outputs['height'] must be a number, an array of numbers or a function, got 'tall'."),
        ({"drawing": 1}, "drawing= is a function of what it names of t, q, v, p, got 1."),
    ],
)
def test_what_a_system_cannot_mean_is_refused_when_it_is_stated(stated, text):
    with pytest.raises(BadArgument) as caught:
        System(**{**PENDULUM, **stated})
    assert str(caught.value) == text


@pytest.mark.parametrize("trace", [True, False])
def test_complex_numbers_are_not_taken_by_half(trace):
    system = System(mass=1.0, force=lambda q: np.exp(1j) * np.array([1.0]), trace=trace)
    with pytest.raises(HolonomicError, match="complex"):
        simulate(system, 1.0, q0=[1.0], v0=[0.0])


def test_an_ode_says_that_its_right_hand_side_is_a_function():
    with pytest.raises(BadArgument) as caught:
        Ode(3.0)
    assert str(caught.value) == "rhs() must be a function, got 3.0."
    with pytest.raises(BadArgument, match=r"derivatives= goes with trace=False"):
        Ode(lambda y: -y, derivatives={"H": lambda y: y})


@pytest.mark.parametrize("rolling", [lambda v: v[0], lambda q, v: q @ v, lambda q, v: v])
def test_a_constraint_on_velocities_is_sent_to_nonholonomic(rolling):
    with pytest.raises(BadArgument, match=r"nonholonomic=|neither q nor t"):
        simulate(System(**{**PENDULUM, "constraint": rolling}), 1.0, **START)


def test_a_mass_that_is_not_finite_says_where():
    with pytest.raises(NotFinite, match=r"mass\(\) is nan in M\[0,1\] at the start"):
        simulate(System(**{**PENDULUM, "mass": [[1, np.nan], [np.nan, 1]]}), 1.0, **START)


def test_what_is_refused_in_an_input_names_the_input():
    pushed = {"force": lambda u: [u.push, -9.81], "inputs": {"push": lambda t: float(round(t))}, "trace": True}
    with pytest.raises(UntraceableFunction, match=r"^input 'push' rounds t"):
        simulate(System(**{**PENDULUM, **pushed}), 1.0, **START)


def test_too_many_fixed_steps_ask_for_a_larger_step():
    with pytest.raises(StepFailed, match="take a larger step"):
        simulate(System(**PENDULUM), 1.0, **START, step=1e-3, max_steps=5)
    with pytest.raises(StepFailed, match="loosen rtol"):
        simulate(System(**PENDULUM), 1.0, **START, max_steps=3)


def test_an_argument_nobody_knows_stops_a_comparison():
    with pytest.raises(UnknownArgument, match=r"'integratr'\. Did you mean 'integrator'"):
        compare(System(**PENDULUM), 1.0, **START, integratr=RATTLE())


def test_results_are_read_by_name_and_from_runs(tmp_path):
    sol = simulate(System(**PENDULUM), 0.1, **START)
    with pytest.raises(BadArgument, match="shown by name"):
        sol.plot(3)
    with pytest.raises(BadArgument, match="there is no folder"):
        sol.to_csv(tmp_path / "nowhere" / "run.csv")
    with pytest.raises(BadArgument, match="path="):
        sol.view("page.html")
    with pytest.raises(BadArgument, match="reads the solution of simulate"):
        essential_ode(System(**PENDULUM))


@pytest.mark.parametrize("integrator", [RATTLE(), GeneralizedAlpha()])
def test_integrators_of_index_3_get_it_when_the_formulation_is_left_open(integrator):
    sol = simulate(System(**PENDULUM), 0.1, **START, integrator=integrator, step=0.01)
    assert repr(sol.plan).startswith("Index3()")


DAMPED = {"rhs": lambda y: np.array([y[1], -y[0] - 0.5 * y[1]]), "invariants": {"energy": lambda y: y @ y / 2}}


@pytest.mark.parametrize("trace", [True, False])
def test_an_invariant_that_the_equations_change_is_refused(trace):
    """d/dt (y·y/2) = -0.5 y₁² = -0.02."""
    with pytest.raises(BadArgument, match=r"invariant 'energy' is none: .* change it by -0.02 per second"):
        simulate(Ode(**DAMPED, trace=trace), 1.0, y0=[1.0, 0.2], rtol=1e-4)


def test_an_invariant_that_changes_later_is_told():
    """At rest the energy does not change; held there, the motion would go on undamped."""
    with pytest.warns(InvariantWarning, match="'energy' was kept, but the equations change it"):
        simulate(Ode(**DAMPED), 1.0, y0=[1.0, 0.0])


@pytest.mark.filterwarnings("error")
def test_invariants_of_moving_and_of_computed_states_pass():
    """With explicit time, and where the invariant holds on its manifold alone."""
    simulate(Ode(lambda t, y: 3 * t**2 + 0 * y, invariants={"h": lambda t, y: y[0] - t**3}), 1.0, y0=[0.0])
    rod = {"rod": lambda y: y[:2] @ y[:2], "speed": lambda y: y[:2] @ y[2:]}

    def pendulum(y):
        pull = (y[2:] @ y[2:] - 9.81 * y[1]) / (y[:2] @ y[:2])
        return np.concatenate([y[2:], np.array([0.0, -9.81]) - pull * y[:2]])

    simulate(Ode(pendulum, invariants=rod), 5.0, y0=[1.0, 0.0, 0.0, 0.0])


def test_a_sweep_refuses_an_invariant_that_the_equations_change():
    shrinking = Ode(lambda y: -y, invariants={"size": lambda y: y @ y})
    with pytest.raises(BadArgument, match="invariant 'size' is none"):
        sweep(shrinking, 1.0, y0=np.array([[1.0, 2.0], [2.0, 1.0]]), progress=False)
