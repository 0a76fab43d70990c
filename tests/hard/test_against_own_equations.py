"""Motions, reactions, events and impulses of small mechanisms against equations written down apart from the package.

References are closed forms, or SciPy's solve_ivp in minimal coordinates with rtol 1e-12. Runs have rtol 1e-9 and atol 1e-11;
what is allowed is a hundred times that for states and, because forces have up to some 50 N, ten thousand times for forces.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import BDF, GGL, Event, Index2, Radau, System, load, simulate
from holonomic.multibody import Mechanism, rod

g = 9.81
FINE = {"rtol": 1e-9, "atol": 1e-11}
STATE, FORCE = 1e-7, 1e-5


def reference(rhs, t_end, y0, event=None):
    return solve_ivp(rhs, (0.0, t_end), y0, rtol=1e-12, atol=1e-13, dense_output=True, events=event)


def near(found, exact, allowed):
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=allowed)


def test_a_ladder_leaves_the_wall_where_two_thirds_of_its_height_are_left():
    """θ'' = 3 g/(2 L) sin θ from rest at θ0; the wall's force is zero where cos θ = 2/3 cos θ0."""
    L, m, begins = 2.0, 3.0, 0.3
    walls = {"wall": lambda q: q[0] - L / 2 * np.sin(q[2]), "floor": lambda q: q[1] - L / 2 * np.cos(q[2])}
    ladder = System(np.diag([m, m, m * L**2 / 12]), potential=lambda q: m * g * q[1], constraint=walls)
    start = {"q0": [L / 2 * np.sin(begins), L / 2 * np.cos(begins), begins], "v0": [0, 0, 0]}
    sol = simulate(ladder, 5.0, **start, **FINE, events={"off": Event(lambda lam: lam[0], terminal=True)})
    near(np.cos(sol.end.q[2]), 2 / 3 * np.cos(begins), STATE)
    t = np.linspace(0, sol.end.t, 57)
    th, w = reference(lambda t, y: [y[1], 1.5 * g / L * np.sin(y[0])], sol.end.t, [begins, 0]).sol(t)
    turn, there = 1.5 * g / L * np.sin(th), sol(t)
    near(there.q[:, 2], th, STATE)
    near(there.reaction("wall")[:, 0], m * L / 2 * (turn * np.cos(th) - w**2 * np.sin(th)), FORCE)
    near(there.reaction("floor")[:, 1], m * g - m * L / 2 * (turn * np.sin(th) + w**2 * np.cos(th)), FORCE)


def test_a_bead_on_a_whirling_arm_flies_out_as_cosh_and_the_drive_pays_for_it():
    """r'' = ω² r; the arm pushes with 2 m ω r', the drive's torque is that times r."""
    m = Mechanism(gravity=(0, 0))
    m.body("arm", rod((0, 0), (1, 0), mass=2.0))
    m.body("bead", at=(0.2, 0), mass=0.7)
    m.revolute("O", "ground", "arm", at=(0, 0))
    m.prismatic("S", "arm", "bead", at=(0.2, 0), axis=(1, 0))
    m.drive("O", speed=3.0)
    t = np.linspace(0, 0.6, 31)
    there, r, out = simulate(m, 0.6, **FINE)(t), 0.2 * np.cosh(3 * t), 0.6 * np.sinh(3 * t)
    near(np.linalg.norm(there["bead"].position, axis=1), r, STATE)
    near(np.linalg.norm(there["S"].force, axis=1), 2 * 0.7 * 3 * out, FORCE)
    near(there["O drive"].torque, 2 * 0.7 * 3 * out * r, FORCE)
    near(there["power"].total, 2 * 0.7 * 9 * out * r, FORCE)


def test_a_rope_that_is_hauled_in_and_let_out():
    """(l² θ')' = -g l sin θ; the tension is m (g cos θ + l θ'² - l'')."""
    m, begins = Mechanism(gravity=(0, -g)), (np.sin(0.5), -np.cos(0.5))
    m.body("bob", at=begins, mass=1.3)
    m.distance("rope", "ground", "bob", at=((0, 0), begins), length=lambda t: 1.0 + 0.2 * np.sin(2 * t))
    start = {"q0": [*begins, 0.0], "v0": [0.4 * begins[0], 0.4 * begins[1], 0]}
    sol = simulate(m, 4.0, **start, **FINE, events={"low": Event(lambda q: q[0])})
    rhs = lambda t, y: [y[1], (-g * np.sin(y[0]) - 0.8 * np.cos(2 * t) * y[1]) / (1 + 0.2 * np.sin(2 * t))]
    exact, t = reference(rhs, 4.0, [0.5, 0], lambda t, y: np.sin(y[0])), np.linspace(0, 4, 77)
    (th, w), length, there = exact.sol(t), 1 + 0.2 * np.sin(2 * t), sol(t)
    near(there["bob"].position, np.stack([length * np.sin(th), -length * np.cos(th)], axis=1), STATE)
    near(there["rope"].tension, 1.3 * (g * np.cos(th) + length * w**2 + 0.8 * np.sin(2 * t)), FORCE)
    near(sol.events["low"].t, exact.t_events[0], STATE)


@pytest.mark.parametrize(
    "methods",
    [{}, {"integrator": BDF(), "formulation": GGL()}, {"integrator": Radau(), "formulation": Index2()}],
    ids=["auto", "BDF", "Radau"],
)
def test_a_bead_on_a_turning_hoop_in_space(methods):
    """θ'' = ω² sin θ cos θ - g/R sin θ, R = 1; forces along the radius and across the hoop."""
    om, begins = 4.0, 0.6
    rows = {"sphere": lambda q: q @ q - 1, "plane": lambda t, q: q[1] * np.cos(om * t) - q[0] * np.sin(om * t)}
    hoop = System(0.5 * np.eye(3), potential=lambda q: 0.5 * g * q[2], constraint=rows)
    start = {"q0": [np.sin(begins), 0, -np.cos(begins)], "v0": [0, om * np.sin(begins), 0]}
    sol = simulate(hoop, 3.0, **start, **FINE, **methods, events={"level": Event(lambda q: q[2] + 0.7)})
    rhs = lambda t, y: [y[1], om**2 * np.sin(y[0]) * np.cos(y[0]) - g * np.sin(y[0])]
    exact, t = reference(rhs, 3.0, [begins, 0], lambda t, y: 0.7 - np.cos(y[0])), np.linspace(0.01, 3, 66)
    (th, w), there = exact.sol(t), sol(t)
    across = np.stack([-np.sin(om * t), np.cos(om * t), 0 * t], axis=1)
    near(there.q[:, 2], -np.cos(th), STATE)
    near((there.reaction("plane") * across).sum(axis=1), om * w * np.cos(th), FORCE)
    inward = 0.5 * (g * np.cos(th) + w**2 + om**2 * np.sin(th) ** 2)
    near(-(there.reaction("sphere") * there.q).sum(axis=1), inward, FORCE)
    near(sol.events["level"].t, exact.t_events[0], STATE)


def test_the_drive_of_a_slider_crank_gives_what_its_bodies_take():
    r, length, w = 0.3, 1.0, 8.0
    m, A, B = Mechanism(gravity=(0, 0)), (r, 0), (r + length, 0)
    m.body("crank", rod((0, 0), A, mass=1.0))
    m.body("link", rod(A, B, mass=2.0))
    m.body("slider", at=B, mass=1.5)
    m.revolute("O", "ground", "crank", at=(0, 0))
    m.revolute("A", "crank", "link", at=A)
    m.revolute("B", "link", "slider", at=B)
    m.prismatic("guide", "ground", "slider", at=B, axis=(1, 0))
    m.drive("O", speed=w)
    t = np.linspace(0.05, 0.95, 41)
    there, ph = simulate(m, 1.0, **FINE)(t), w * t
    be = np.arcsin(-r * np.sin(ph) / length)
    turn = -r * w * np.cos(ph) / (length * np.cos(be))
    turning = (r * w**2 * np.sin(ph) / length + turn**2 * np.sin(be)) / np.cos(be)
    ends = -r * w**2 * np.cos(ph) - length * (turning * np.sin(be) + turn**2 * np.cos(be))  # x'' of the slider
    v = np.array([-r * w * np.sin(ph) - length / 2 * turn * np.sin(be), r * w * np.cos(ph) + length / 2 * turn * np.cos(be)])
    a = np.array([
        -r * w**2 * np.cos(ph) - length / 2 * (turning * np.sin(be) + turn**2 * np.cos(be)),
        -r * w**2 * np.sin(ph) + length / 2 * (turning * np.cos(be) - turn**2 * np.sin(be)),
    ])  # fmt: skip
    speed = -r * w * np.sin(ph) - length * turn * np.sin(be)
    power = 1.5 * speed * ends + 2.0 * (v * a).sum(axis=0) + 2.0 * length**2 / 12 * turn * turning
    near(there["slider"].position[:, 0], r * np.cos(ph) + length * np.cos(be), STATE)
    near(there["O drive"].torque, power / w, FORCE)
    near(there["B"].force[:, 0], 1.5 * ends, FORCE)


def test_a_rod_on_a_ball_joint_goes_round_a_cone():
    """Steady precession with Ω: (J_across - J_along) Ω² cos θ = m g L/2 about the joint."""
    length, om, mass = 1.0, 5.0, 2.0
    drawn = Mechanism(gravity=(0, 0, -g))
    drawn.body("rod", rod((0, 0, 0), (0, 0, -length), mass=mass))
    J = sorted(float(drawn.params[f"rod.inertia.{i}{i}"]) for i in "xyz")
    th = np.arccos(mass * g * length / 2 / ((J[2] + mass * length**2 / 4 - J[0]) * om**2))
    end = np.array([length * np.sin(th), 0, -length * np.cos(th)])
    m = Mechanism(gravity=(0, 0, -g))
    m.body("rod", rod((0, 0, 0), tuple(end), mass=mass))
    m.spherical("O", "ground", "rod", at=(0, 0, 0))
    spin = m.bodies["rod"].rotation.T @ np.array([0, 0, om])
    first = simulate(m, 0.01)
    start = {"q0": first.q[0], "v0": [*np.cross([0, 0, om], end / 2), *spin]}
    sol = simulate(m, 3.0, **start, **FINE, events={"round": Event(lambda q: q[1], direction="rising")})
    near(sol["rod"].position[:, 2], end[2] / 2, STATE)
    near(sol["O"].force[:, 2], mass * g, FORCE)
    near(np.hypot(*sol["O"].force[:, :2].T), mass * om**2 * length / 2 * np.sin(th), FORCE)
    near(np.diff(sol.events["round"].t), 2 * np.pi / om, STATE)


def test_the_pin_of_a_bar_that_is_struck_gives_what_the_blow_does_not(tmp_path):
    """A bar falls from rest and is struck as it hangs, at 0.8 m from its pin, so that it goes back with half its speed.

    m L/2 Δω = blow + X, and the blow is J Δω/d: zero for d = 2 L/3, where nothing is felt at the pin.
    """
    length, mass, d = 1.0, 2.0, 0.8
    M = np.diag([mass, mass, mass * length**2 / 12])
    pin = lambda q: np.array([q[0] - length / 2 * np.cos(q[2]), q[1] - length / 2 * np.sin(q[2])])
    bar = System(M, potential=lambda q: mass * g * q[1], constraint={"pin": pin})

    def struck(q, v):
        blow = -1.5 * v[2] * mass * length**2 / 3 / d
        return q, v + np.linalg.solve(M, [blow, 0, blow * (d - length / 2)])

    hangs = {"hit": Event(lambda q: q[2] + np.pi / 2, direction="falling", then=struck)}
    sol = simulate(bar, 1.2, q0=[length / 2, 0, 0], v0=[0, 0, 0], events=hangs, **FINE)
    log, w = sol.events["hit"], -np.sqrt(3 * g / length)
    X = -1.5 * w * (mass * length / 2 - mass * length**2 / 3 / d)
    near(log.v[0, 2], w, STATE)
    near(sol.v[np.flatnonzero(np.diff(sol.t) == 0)[0] + 1, 2], -0.5 * w, STATE)
    near(log.impulse("pin")[0], [X, 0, -X * length / 2], STATE)
    sol.save(tmp_path / "bar.nc")
    np.testing.assert_array_equal(load(tmp_path / "bar.nc").events["hit"].impulses, log.impulses)
