"""States of a mechanism: a motor's current, the integral of a controller."""

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import Event, simulate, sweep
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, disk, equilibrium, rod

PINS = {"O": (0.0, 0.0), "A": (0.0, 0.2), "B": (0.7, 0.5), "C": (0.6, 0.0)}
RODS = {"crank": ("O", "A", 0.5), "link": ("A", "B", 1.0), "rocker": ("C", "B", 1.0)}
MOTOR = {"R": 1.0, "L": 0.02, "k": 0.3}


def current_rate(current, u, p, O):
    return (u.voltage - p.R * current - p.k * O.speed) / p.L


def motor_torque(current, p):
    return p.k * current


def four_bar():
    """A four-bar whose crank is turned by a DC motor with inductance."""
    m = Mechanism()
    for name, (start, end, mass) in RODS.items():
        m.body(name, rod(PINS[start], PINS[end], mass=mass))
    pairs = ("ground", "crank"), ("crank", "link"), ("link", "rocker"), ("ground", "rocker")
    for name, pair in zip("OABC", pairs, strict=True):
        m.revolute(name, *pair, at=PINS[name])
    for name, value in MOTOR.items():
        m.parameter(name, value)
    m.input("voltage", 12.0)
    m.state("current", rate=current_rate, start=0.5)
    m.motor("O", torque=motor_torque)
    return m


def by_hand(t_end, R, L, k):
    """The same machine as (x, y, angle) of three rods, multipliers solved for; angle and speed of the crank, current."""
    ends = [(np.array(PINS[a]), np.array(PINS[b]), mass) for a, b, mass in RODS.values()]
    halves = [np.linalg.norm(b - a) / 2 for a, b, _ in ends]
    q0 = np.concatenate([[*((a + b) / 2), np.arctan2(*(b - a)[::-1])] for a, b, _ in ends])
    M = np.diag(np.concatenate([[mass, mass, mass * h**2 / 3] for (_, _, mass), h in zip(ends, halves, strict=True)]))
    weight = np.concatenate([[0.0, -9.81 * mass, 0.0] for _, _, mass in ends])
    loops = [((0, -1),), ((0, 1), (1, -1)), ((1, 1), (2, 1)), ((2, -1),)]  # of each pin: the rods and their ends there

    def rhs(t, y):
        q, v, current = y[:9], y[9:18], y[18]
        G, gamma = np.zeros((8, 9)), np.zeros(8)
        for row, loop in enumerate(loops):
            for sign, (body, end) in zip((1, -1), loop, strict=False):
                angle, spin, h = q[3 * body + 2], v[3 * body + 2], sign * end * halves[body]
                G[2 * row : 2 * row + 2, 3 * body : 3 * body + 2] += sign * np.eye(2)
                G[2 * row : 2 * row + 2, 3 * body + 2] += h * np.array([-np.sin(angle), np.cos(angle)])
                gamma[2 * row : 2 * row + 2] -= h * spin**2 * np.array([np.cos(angle), np.sin(angle)])
        f = weight.copy()
        f[2] += k * current
        K = np.block([[M, G.T], [G, np.zeros((8, 8))]])
        a = np.linalg.solve(K, np.concatenate([f, -gamma]))[:9]
        return np.concatenate([v, a, [(12.0 - R * current - k * v[2]) / L]])

    found = solve_ivp(rhs, (0, t_end), np.concatenate([q0, np.zeros(9), [0.5]]), "DOP853", rtol=1e-11, atol=1e-12)
    return found.y[2, -1] - q0[2], found.y[11, -1], found.y[18, -1]


def test_a_motor_with_inductance_turns_a_four_bar_as_integrated_by_hand():
    sol = simulate(four_bar(), 1.0, rtol=1e-9, atol=1e-11)
    angle, speed, current = by_hand(1.0, **MOTOR)
    # errors per step of 1e-9 grow by the motion, of size 1 to 30 here
    assert abs(sol["O"].angle[-1] - sol["O"].angle[0] - angle) < 1e-6
    assert abs(sol["O"].speed[-1] - speed) < 1e-5
    assert abs(sol["current"][-1] - current) < 1e-6
    assert sol["current"][0] == 0.5


def test_a_motors_torque_and_power_are_those_of_its_current():
    sol = simulate(four_bar(), 0.5)
    np.testing.assert_allclose(sol["O motor"].torque, 0.3 * sol["current"], rtol=1e-14)
    np.testing.assert_allclose(sol["power"].motor, 0.3 * sol["current"] * sol["O"].speed, rtol=1e-12, atol=1e-12)


def test_sweeps_vary_the_numbers_of_a_state_by_name():
    runs = sweep(four_bar(), 0.5, params={"R": [1.0, 3.0]}, save_at=6, rtol=1e-9)
    m = four_bar()
    m.params["R"] = 3.0
    alone = simulate(m, 0.5, save_at=6, rtol=1e-9)
    assert abs(runs["current"][0, -1] - runs["current"][1, -1]) > 0.1
    np.testing.assert_allclose(runs["current"][1], alone["current"], atol=1e-7)  # both to their tolerance
    np.testing.assert_allclose(runs["O motor"].torque, 0.3 * runs["current"], rtol=1e-14)


def test_a_run_goes_on_with_the_states_of_the_one_before():
    m = four_bar()
    whole = simulate(m, 0.6, rtol=1e-9)
    first = simulate(m, 0.3, rtol=1e-9)
    second = simulate(m, 0.6, q0=first.end, rtol=1e-9)
    assert second["current"][0] == first["current"][-1]
    assert abs(second["current"][-1] - whole["current"][-1]) < 1e-6  # two runs of tolerance 1e-9
    assert simulate(m, 0.1, s0={"current": 2.0})["current"][0] == 2.0


def wheel():
    """A wheel with a load, and a PI controller of its speed through a motor with a delay: rates name each other."""
    m = Mechanism(gravity=(0, 0))
    m.revolute("axle", m.ground, m.body("wheel", disk((0, 0), radius=0.2, mass=5.0)), at=(0, 0))
    for name, value in {"wanted": 8.0, "kp": 0.5, "ki": 2.0, "load": 0.4, "delay": 0.05}.items():
        m.parameter(name, value)
    m.state("torque", lambda torque, integral, p, axle: (p.kp * (p.wanted - axle.speed) + p.ki * integral - torque) / p.delay)
    m.state("integral", lambda p, axle: p.wanted - axle.speed)
    m.motor("axle", torque=lambda torque, p: torque - p.load)
    return m


def test_an_integrator_holds_the_wanted_speed_under_load():
    sol = simulate(wheel(), 6.0, rtol=1e-9, atol=1e-11)
    inertia = 5.0 * 0.2**2 / 2
    A = np.array([[0, 1 / inertia, 0], [-0.5 / 0.05, -1 / 0.05, 2 / 0.05], [-1, 0, 0]])  # of speed, torque, integral
    b = np.array([-0.4 / inertia, 0.5 * 8.0 / 0.05, 8.0])
    rest = -np.linalg.solve(A, b)
    values, vectors = np.linalg.eig(A)
    exact = rest + (vectors * np.exp(values * 6.0) @ np.linalg.solve(vectors, -rest)).real
    found = [sol["axle"].speed[-1], sol["torque"][-1], sol["integral"][-1]]
    np.testing.assert_allclose(found, exact, atol=1e-6)  # a hundred times the tolerance of a speed of 8
    np.testing.assert_allclose(rest, [8.0, 0.4, 0.2], rtol=1e-12)


def test_a_vector_state_and_forces_springs_and_events_that_ask_for_states():
    m = Mechanism(gravity=(0, 0))
    m.body("block", at=(1, 0), mass=2.0)
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.state("wave", rate=lambda wave: [wave[1], -9.0 * wave[0]], start=[1.0, 0.0])
    m.spring("coil", m.ground, "block", at=((0, 0), (1, 0)), force=lambda stretch, wave: 50.0 * stretch - wave[0])
    m.force("push", "block", value=lambda wave: (wave[1], 0.0))
    m.output("pair", lambda wave, rail: wave[0] + rail.position)
    crossed = Event(m.quantity(lambda wave: wave[0]), direction="falling", terminal=True)
    sol = simulate(m, 3.0, events={"zero": crossed}, rtol=1e-9, atol=1e-11)
    assert abs(sol.end.t - np.pi / 6) < 1e-8  # cos 3t
    np.testing.assert_allclose(sol["wave"][:, 0], np.cos(3 * sol.t), atol=1e-8)
    np.testing.assert_allclose(sol["coil"].tension, 50 * sol["rail"].position - sol["wave"][:, 0], atol=1e-12)
    np.testing.assert_allclose(sol["pair"], sol["wave"][:, 0] + sol["rail"].position, atol=1e-14)


def test_a_mechanism_with_states_travels_and_runs_the_same():
    m = pickle.loads(pickle.dumps(four_bar()))
    there, here = simulate(m, 0.2), simulate(four_bar(), 0.2)
    np.testing.assert_array_equal(there["current"], here["current"])
    again = pickle.loads(pickle.dumps(here))
    np.testing.assert_array_equal(again["O motor"].torque, here["O motor"].torque)


def test_states_that_cannot_be_are_refused_by_name():
    m = four_bar()
    for name, words in (("current", "used twice"), ("speed", "one word"), ("two words", "one word"), ("crank", "used twice"),
                        ("voltage", "input 'voltage'")):  # fmt: skip
        with pytest.raises(BadArgument, match=words):
            m.state(name, lambda t: t)
    with pytest.raises(BadArgument, match="rate is a function"):
        m.state("flux", 2.0)
    with pytest.raises(BadArgument, match="finite"):
        m.state("flux", lambda flux: flux, start=np.nan)
    with pytest.raises(BadArgument, match="state 'current' already"):
        m.input("current", 1.0)
    with pytest.raises(BadArgument, match="a parameter 'R' already"):
        m.parameter("R", 1.0)
    with pytest.raises(BadArgument, match=r"not with states .current."):
        equilibrium(m)
    m.state("flux", lambda fluks: fluks)
    with pytest.raises(BadArgument, match=r"flux.*asks for 'fluks'"):
        simulate(m, 0.1)
