"""States beside q and v: a motor's current, a bristle."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import (
    BDF,
    GGL,
    RK4,
    Baumgarte,
    Event,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    PostStabilization,
    ProjectedInvariants,
    Radau,
    StateSpace,
    StrangenessFree,
    System,
    Trapezoidal,
    UnderlyingODE,
    simulate,
    sweep,
)

MOTOR = {"m": 1.0, "g": 9.81, "R": 2.0, "K": 0.5, "inductance": 0.05, "V": 6.0}
START = {"q0": [0, -1], "v0": [0, 0], "s0": {"current": 0.0}}


def motor(**more):
    """A DC motor with inductance turns a pendulum in Cartesian coordinates."""
    return System(
        mass=lambda p: p.m * np.eye(2),
        potential=lambda q, p: p.m * p.g * q[1],
        force=lambda q, current, p: p.K * current * np.array([-q[1], q[0]]),
        constraint={"rod": lambda q: q @ q - 1},
        states={"current": lambda current, q, v, p: (p.V - p.R * current - p.K * (q[0] * v[1] - q[1] * v[0])) / p.inductance},
        params=MOTOR,
        **more,
    )


@pytest.fixture(scope="module")
def machine():
    return motor()


@pytest.fixture(scope="module")
def swing():
    """Angle, speed and current at t = 1 from the equation in the angle, by SciPy."""
    p = MOTOR

    def rhs(t, y):
        angle, speed, current = y
        back = (p["V"] - p["R"] * current - p["K"] * speed) / p["inductance"]
        return [speed, -p["g"] * np.sin(angle) + p["K"] * current, back]

    return solve_ivp(rhs, (0, 1), [0, 0, 0], method="Radau", rtol=1e-11, atol=1e-12).y[:, -1]


def off(sol, swing):
    """Largest error at the end, in position and current."""
    at = np.array([np.sin(swing[0]), -np.cos(swing[0]), swing[2]])
    return np.max(np.abs(np.concatenate([sol.end.q, sol.end.s]) - at))


def test_states_follow_their_equations_with_explicit_methods(machine, swing):
    sol = simulate(machine, 1.0, rtol=1e-9, **START)
    assert off(sol, swing) < 1e-8  # ten times the tolerance
    assert sol.s.shape == (len(sol.t), 1) and sol.q.shape[1] == 2
    assert np.array_equal(sol["current"], sol.s[:, 0])
    assert sol.drift.max()["position"] < 1e-10


@pytest.mark.parametrize("stabilization", [None, Baumgarte(alpha=10), PostStabilization(on="full")])
def test_states_with_every_kind_of_stabilization(machine, swing, stabilization):
    assert off(simulate(machine, 1.0, rtol=1e-9, stabilization=stabilization, **START), swing) < 1e-7


@pytest.mark.parametrize("integrator", [BDF(), Radau()])
@pytest.mark.parametrize(
    "formulation",
    [Index1(), Index2(), Index3(), GGL(), GGL("mass"), ProjectedInvariants("Pc"), StrangenessFree("rows"), StateSpace()],
    ids=repr,
)
def test_states_in_every_formulation(machine, swing, formulation, integrator):
    sol = simulate(machine, 1.0, rtol=1e-7, integrator=integrator, formulation=formulation, **START)
    assert off(sol, swing) < 2e-5  # 200 times the tolerance: BDF with index 3 is the loosest


def test_states_in_the_underlying_ode(machine, swing):
    sol = simulate(machine, 1.0, rtol=1e-8, integrator=Radau(), formulation=UnderlyingODE(), **START)
    assert off(sol, swing) < 1e-6


@pytest.mark.parametrize("integrator", [Trapezoidal(), ImplicitMidpoint()], ids=repr)
def test_fixed_steps_keep_their_order(machine, swing, integrator):
    errors = [
        off(simulate(machine, 1.0, integrator=integrator, formulation=Overdetermined(), step=h, **START), swing)
        for h in (0.02, 0.01)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_plain_python_gives_the_same(machine):
    ends = [simulate(s, 0.3, integrator=RK4(), step=0.01, **START).end for s in (machine, motor(trace=False))]
    assert ends[0].s == pytest.approx(ends[1].s, abs=1e-9)  # γ by differences, good to 1e-9
    assert ends[0].q == pytest.approx(ends[1].q, abs=1e-9)


def test_a_bristle_lets_a_block_stick_and_slide():
    """LuGre friction with σ0 = 1e3: below the break-away force the block creeps less than a bristle bends."""

    def rate(z, v):
        return v[0] - 1e3 * np.abs(v[0]) / 2.0 * z

    system = System([[1.0]], lambda z, t: [t - 1e3 * z], states={"z": rate})
    still = simulate(system, 1.9, q0=[0], v0=[0], s0=[0], integrator=Radau())
    assert abs(still.end.q[0]) < 3 * 2.0 / 1e3 and still.end.s[0] == pytest.approx(1.9 / 1e3, rel=0.1)
    assert simulate(system, 4.0, q0=[0], v0=[0], s0=[0], integrator=Radau()).end.q[0] > 0.3


def test_states_may_use_accelerations_and_multipliers():
    """The work of the rod's force and the change of speed, integrated: λ and v' reach s' wherever they come from."""
    system = System(
        np.eye(2), [0, -9.81], {"rod": lambda q: q @ q - 1}, states={"pull": lambda lam: 2 * lam[0], "speed": lambda a: a}
    )
    start = {"q0": [1, 0], "v0": [0, 0], "s0": {"pull": 0, "speed": [0, 0]}}
    for method in (
        {},
        {"integrator": Radau(), "formulation": Index1()},
        {"integrator": Radau(), "formulation": Index3()},
        {"integrator": Radau(), "formulation": StateSpace()},
        {"integrator": RK4(), "step": 1e-3},
    ):
        sol = simulate(system, 0.5, **start, **({"rtol": 1e-9} if "step" not in method else {}), **method)
        loss = 1e-4 if isinstance(method.get("formulation"), Index3) else 1e-6  # λ of index 3 counts times h² only
        assert sol["speed"][-1] == pytest.approx(sol.end.v, abs=loss)
        # the tension 2 λ is v² + g cos = 3 g |y|: its integral by quadrature over the dense output
        t = np.linspace(0, 0.5, 2001)
        assert sol["pull"][-1] == pytest.approx(np.trapezoid(-3 * 9.81 * sol(t).q[:, 1], t), rel=10 * loss)


def test_a_state_that_steers_a_constraint():
    """A servo pushes a mass along a screw: s' = cos s does not depend on the motion."""
    for trace in (True, False):
        system = System(
            np.eye(2), states={"feed": lambda feed: np.cos(feed)}, constraint={"screw": lambda q, feed: q[0] - feed}, trace=trace
        )
        sol = simulate(system, 1.0, q0=[0, 0], v0=[1, 0], s0=[0])
        assert sol.end.q[0] == pytest.approx(np.arcsin(np.tanh(1.0)), abs=1e-6)  # s' = cos s is solved by the Gudermannian
        assert sol.drift.max()["velocity"] < 1e-9


@pytest.mark.parametrize("formulation", [Index1(), Index2(), Index3(), GGL(), ProjectedInvariants("Pb")], ids=repr)
def test_a_state_steers_a_wheel_on_a_hill(formulation):
    """A holonomic constraint (the ground), a nonholonomic one (the wheel) and a state (the steering) side by side."""
    hill = System(
        np.eye(3), potential=lambda q: 9.81 * q[2],
        constraint={"ground": lambda q: q[2] - 0.2 * np.sin(q[0]) * np.cos(q[1])},
        nonholonomic={"wheel": lambda v, steer: v[0] * np.sin(steer) - v[1] * np.cos(steer)},
        states={"steer": lambda t, steer: 0.5 * np.cos(t) - 0.1 * steer},
    )  # fmt: skip
    start = {"q0": [0, 0, 0], "v0": [2, 0, 0.4], "s0": [0]}
    exact = simulate(hill, 2.0, rtol=1e-11, atol=1e-12, **start)
    sol = simulate(hill, 2.0, integrator=Radau(), formulation=formulation, rtol=1e-8, atol=1e-10, **start)
    assert sol.end.q == pytest.approx(exact.end.q, abs=1e-6)
    assert np.abs(sol.drift["velocity"]).max() < 5e-6  # index 3 leaves the velocity level to the error control
    assert np.abs(sol.energy_error).max() < 1e-6  # no force does work


def test_large_states_do_not_loosen_the_constraints():
    """A pressure of 1e7 Pa stands beside coordinates of the size of 1."""
    system = System(np.eye(2), [0, -9.81], lambda q: q @ q - 1, states={"pressure": lambda pressure: 1e7 - pressure})
    sol = simulate(system, 1.0, q0=[1, 0], v0=[0, 0], s0=[1e7])
    assert sol.drift.max()["position"] < 1e-10


# around a run


def test_events_see_and_map_states(machine):
    event = Event(lambda current: current - 1.0, direction="rising", then=lambda q, v, s: (q, v, 0.0 * s))
    sol = simulate(machine, 0.2, events={"trip": event}, **START)
    assert len(sol.events["trip"]) > 1 and np.all(np.abs(sol.events["trip"].s - 1.0) < 1e-9)
    assert sol["current"].max() < 1.0 + 1e-9


def test_an_earlier_end_starts_the_next_run(machine):
    whole = simulate(machine, 0.4, integrator=RK4(), step=0.01, **START)
    half = simulate(machine, 0.2, integrator=RK4(), step=0.01, **START)
    rest = simulate(machine, 0.4, q0=half.end, integrator=RK4(), step=0.01)
    assert rest.end.s == pytest.approx(whole.end.s, abs=1e-13)


def test_sweeps_over_parameters_and_states(machine):
    runs = sweep(machine, 0.3, params={"V": [2.0, 6.0]}, save_at=4, rtol=1e-8, **START)
    alone = simulate(machine.with_params(V=2.0), 0.3, rtol=1e-8, save_at=4, **START)
    assert runs["current"][0] == pytest.approx(alone["current"], abs=1e-12)
    runs = sweep(machine, 0.3, **(START | {"s0": [[0.0], [1.0], [2.0]]}))
    assert np.array_equal(runs.s[:, 0, 0], [0, 1, 2]) and not runs.failed


def test_tolerances_by_name(machine):
    loose = simulate(machine, 0.3, atol={"current": 1e-2, "q": 1e-3, "v": 1e-3}, rtol=1e-3, **START)
    assert loose.stats["steps"] < simulate(machine, 0.3, rtol=1e-8, **START).stats["steps"]


def test_trials_for_the_energy_go_on_from_the_states_of_an_earlier_run():
    """The spring holds the states: trials from other values would measure another motion, or none."""
    system = System(
        [[1.0]], lambda pull: [-pull], states={"z": lambda z, q: q[0] - z}, algebraic={"pull": lambda pull, z, q: pull - q[0] - z}
    )
    first = simulate(system, 1.0, q0=[1.0], v0=[0.0], s0={"z": 0.2}, w0=[1.2])
    on = simulate(system, 5.0, q0=first.end, prefer="energy", rtol=1e-8)
    assert "preferred: in a trial of" in on.plan.why()
    plain = simulate(system, 5.0, q0=first.end, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(on.end.s, plain.end.s, atol=1e-8)
