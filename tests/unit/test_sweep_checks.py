"""What `simulate` refuses or warns of is refused or told for every member of a sweep, in the same words."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from holonomic import (
    RK4,
    BadArgument,
    ForwardEulerStabilization,
    HolonomicError,
    InvariantWarning,
    Ode,
    SingularMass,
    System,
    UnstableWarning,
    simulate,
    sweep,
)

FREE = {"q0": [0.0, 1.0], "v0": [1.0, 0.0]}
SYSTEMS = {
    "negative mass": (System(mass=lambda p: np.diag([p.a, 2.0]), params={"a": 1.0}), {"a": [1.0, -1.0, 2.0]}, FREE),
    "no mass": (System(mass=lambda p: np.diag([p.a, 2.0]), params={"a": 1.0}), {"a": [1.0, 0.0, 2.0]}, FREE),
    "indefinite mass": (
        System(mass=lambda p: np.array([[1.0, p.a], [p.a, 1.0]]), params={"a": 0.0}), {"a": [0.0, 1.5, 0.5]}, FREE,
    ),
    "asymmetric mass": (
        System(mass=lambda p: np.array([[2.0, p.a], [0.5, 2.0]]), params={"a": 0.5}), {"a": [0.5, 0.7, 0.5]}, FREE,
    ),
    "asymmetric mass away from the start": (
        System(mass=lambda q, p: np.array([[2.0, p.a * q[0]], [0.0, 2.0]]), params={"a": 0.0}, velocity_terms=False),
        {"a": [0.0, 0.7, 0.0]}, FREE,
    ),
    "asymmetric mass behind a corner": (
        System(mass=lambda p: np.array([[2.0, np.maximum(p.a, 0.0)], [0.0, 2.0]]), params={"a": -5.0}),
        {"a": [-5.0, 0.7, -1.0]}, FREE,
    ),
    "forgotten Coriolis terms": (
        System(mass=lambda q, p: np.array([[1 + p.a * q[1] ** 2, 0.0], [0.0, 1.0]]), force=[0, 0], params={"a": 0.0}),
        {"a": [0.0, 0.5, 0.0]}, FREE,
    ),
    "massless on the tangent space": (
        System(mass=lambda p: np.diag([p.a, p.b]), constraint={"line": lambda q: q[1] - 1}, params={"a": 1.0, "b": 0.0}),
        {"a": [1.0, 0.0, 2.0]}, FREE,
    ),
    "an invariant that is none": (
        Ode(lambda y, p: np.array([y[1], -p.k * y[0]]), invariants={"energy": lambda y: y @ y}, params={"k": 1.0}),
        {"k": [1.0, 2.0, 1.0]}, {"y0": [1.0, 0.5]},
    ),
    "a function that is not finite": (
        System(mass=np.eye(2), force=lambda p: np.array([np.sqrt(p.a), 0.0]), params={"a": 1.0}), {"a": [1.0, -1.0, 2.0]}, FREE,
    ),
    "an unstable gain": (
        Ode(lambda y: np.array([y[1], -y[0]]), invariants={"energy": lambda y, p: p.k * (y @ y)}, params={"k": 0.1}),
        {"k": [0.1, 9.0, 0.2]},
        {"y0": [1.0, 0.5], "integrator": RK4(), "step": 0.01,
         "stabilization": ForwardEulerStabilization(alpha=0.5, F="1.14")},
    ),
}  # fmt: skip


def one(system, name, value, call, t_end=0.5):
    """What simulate says of one member."""
    with pytest.raises(HolonomicError) as told:
        simulate(system.with_params(**{name: value}), t_end, **call)
    return str(told.value)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_member_that_simulate_refuses_is_refused(name):
    system, params, call = SYSTEMS[name]
    runs = sweep(system, 0.5, **call, params=params)
    assert [failure.member for failure in runs.failed] == [1], runs.failed
    [parameter] = params
    said = one(system, parameter, params[parameter][1], call)
    if name != "a function that is not finite":  # seen when it is run, and told in one line
        near = " M[" if name.endswith("away from the start") else None  # points near by are not the same
        assert runs.failed[0].why.partition(near or "\n")[0] == said.partition(near or "\n")[0]
    assert runs.ok.tolist() == [True, False, True]


def test_members_without_the_user_s_functions_are_checked_too():
    system, params, call = SYSTEMS["negative mass"]
    with ProcessPoolExecutor(1) as pool:
        runs = sweep(system, 0.5, **call, params=params, on=pool)
    assert [failure.member for failure in runs.failed] == [1]


def test_a_mass_that_no_member_has_is_refused_at_once():
    system = System(mass=np.diag([1.0, 0.0]), potential=lambda q, p: p.g * q[0], params={"g": 1.0})
    with pytest.raises(SingularMass, match=r"q\[1\] can move and has no mass"):
        sweep(system, 0.5, **FREE, params={"g": [1.0, 2.0]})


def test_a_mass_that_inputs_or_starts_change_is_looked_at():
    by_input = System(mass=lambda u: np.diag([u.m, 1.0]), inputs={"m": 1.0})
    runs = sweep(by_input, 0.5, **FREE, inputs={"m": [1.0, -2.0]})
    assert [failure.member for failure in runs.failed] == [1]
    by_start = System(mass=lambda q: np.diag([q[1], 1.0]), velocity_terms=True)
    runs = sweep(by_start, 0.01, q0=[[0.0, 1.0], [0.0, -1.0]], v0=[0.0, 0.0])
    assert [failure.member for failure in runs.failed] == [1]


def test_initial_free_is_as_free_as_for_one_run():
    system, params, call = SYSTEMS["an invariant that is none"]
    assert sweep(system, 0.5, **call, params=params, initial="free", stabilization=None).ok.all()


def test_inputs_are_there_when_starts_are_checked():
    """A rod whose length is an input, another one for each member."""
    rod = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q, u: q @ q - u.L**2}, inputs={"L": 1.0})
    runs = sweep(rod, 0.5, q0=[[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]], v0=[0, 0], inputs={"L": [1.0, 2.0, 3.0]})
    assert [failure.member for failure in runs.failed] == [2]
    assert np.allclose(np.linalg.norm(runs.q[:2, -1], axis=1), [1.0, 2.0], atol=1e-9)


def test_an_invariant_that_is_changed_on_the_way_is_told():
    late = Ode(
        lambda y, p: np.array([y[1], -y[0] - p.c * y[2] ** 2 * y[1], 1.0]), invariants={"energy": lambda y: y[0] ** 2 + y[1] ** 2},
        params={"c": 0.0},
    )  # fmt: skip
    with pytest.warns(InvariantWarning, match=r"1 of 3 members. Member 1: invariant 'energy' was kept"):
        runs = sweep(late, 1.0, y0=[1.0, 0.0, 0.0], params={"c": [0.0, 1.0, 0.0]})
    with pytest.warns(InvariantWarning) as told:
        simulate(late.with_params(c=1.0), 1.0, y0=[1.0, 0.0, 0.0])
    assert [(note.member, note.text) for note in runs.noted] == [(1, str(told[0].message))]


def test_a_fixed_step_that_bursts_is_told():
    stiff = Ode(lambda y, p: -p.k * y, params={"k": 1.0})
    call = {"y0": [1.0], "integrator": RK4(), "step": 0.1}
    with pytest.warns(UnstableWarning, match=r"1 of 3 members. Member 1: the state grew"):
        runs = sweep(stiff, 10.0, params={"k": [1.0, 50.0, 2.0]}, **call)
    with pytest.warns(UnstableWarning) as told:
        simulate(stiff.with_params(k=50.0), 10.0, **call)
    assert [(note.member, note.text) for note in runs.noted] == [(1, str(told[0].message))]


def test_what_cannot_differ_is_not_looked_at_again():
    swing = System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1], constraint=lambda q: q @ q - 1,
        params={"m": 1.0, "g": 9.81},
    )  # fmt: skip
    start = {"q0": [1, 0], "v0": [0, 0]}
    assert not sweep(swing, 0.1, **start, params={"g": [1.0, 2.0]}).job.checks
    assert sweep(swing, 0.1, **start, params={"m": [1.0, 2.0]}).job.checks.mass


def test_a_bad_argument_is_refused_for_the_whole_sweep():
    system, params, call = SYSTEMS["negative mass"]
    with pytest.raises(BadArgument, match="initial="):
        sweep(system, 0.5, **call, params=params, initial="maybe")
