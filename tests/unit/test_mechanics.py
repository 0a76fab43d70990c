"""Systems of every kind against exact motions: nonholonomic, quaternions, driven, with inputs, from energies."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import RK4, RK45, Ode, System, simulate
from holonomic.errors import BadArgument, InconsistentState

G = 9.81


def test_a_skate_on_a_slope_moves_sideways_on_the_average():
    # ẋ sin φ = ẏ cos φ, gravity along x: cycloids, y growing although the force is along x
    m, J, omega, g = 2.0, 0.3, 1.5, 4.0
    skate = System(
        mass=np.diag([m, m, J]), force=[m * g, 0, 0], nonholonomic={"edge": lambda q, v: v[0] * np.sin(q[2]) - v[1] * np.cos(q[2])}
    )
    sol = simulate(skate, 10.0, q0=[0, 0, 0], v0=[0, 0, omega], rtol=1e-9, atol=1e-11)
    wt, size = omega * sol.t, g / (2 * omega**2)
    exact = np.stack([size * np.sin(wt) ** 2, size * (wt - np.sin(2 * wt) / 2), wt], axis=1)
    assert np.max(np.abs(sol.q - exact)) < 1e-7
    assert np.max(np.abs(sol.v[:, 0] * np.sin(sol.q[:, 2]) - sol.v[:, 1] * np.cos(sol.q[:, 2]))) < 1e-10
    # the edge takes the force at right angles to itself and the centripetal one: -m g sin φ + m v φ' = 0 along it
    across = -np.sin(sol.q[:, 2]) * sol.reactions[:, 0] + np.cos(sol.q[:, 2]) * sol.reactions[:, 1]
    speed = np.hypot(sol.v[:, 0], sol.v[:, 1]) * np.sign(np.sin(wt))
    assert np.allclose(across, m * speed * omega + m * g * np.sin(wt), atol=1e-5)


def test_a_rolling_disk_runs_in_a_circle():
    R, spin, turn = 0.5, 4.0, 0.8
    disk = System(
        mass=np.diag([1.0, 1.0, 0.1, 0.2]), force=np.zeros(4), coordinates=["x", "y", "heading", "roll"],
        nonholonomic={
            "rolling x": lambda q, v: v[0] - R * v[3] * np.cos(q[2]),
            "rolling y": lambda q, v: v[1] - R * v[3] * np.sin(q[2]),
        },
    )  # fmt: skip
    sol = simulate(disk, 20.0, q0=[0, 0, 0, 0], v0=[R * spin, 0, turn, spin], rtol=1e-9, atol=1e-11)
    radius = R * spin / turn
    exact = np.stack([radius * np.sin(turn * sol.t), radius * (1 - np.cos(turn * sol.t))], axis=1)
    assert np.max(np.abs(sol.q[:, :2] - exact)) < 1e-6
    assert np.allclose(sol.q[:, 3], spin * sol.t, atol=1e-6)
    with pytest.raises(InconsistentState, match="velocity level of constraint 'rolling x'"):
        simulate(disk, 1.0, q0=[0, 0, 0, 0], v0=[0, 0, turn, spin])


def rates(q):
    """Z of a quaternion (scalar first) and body rates: q' = ½ q ⊗ (0, ω)."""
    w, x, y, z = q
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


def turned(q):
    """Rotation matrix, body to space."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def body(inertia, **more):
    inertia = np.array(inertia)
    return System(
        mass=np.diag(inertia), force=lambda v: -np.cross(v, inertia * v), kinematics=rates,
        invariants={"norm": lambda q: q @ q}, **more,
    )  # fmt: skip


@pytest.mark.parametrize("rtol", [1e-5, 1e-9])
def test_a_free_body_keeps_its_quaternion_energy_and_momentum(rtol):
    inertia = np.array([1.0, 2.0, 3.5])
    sol = simulate(body(inertia), 30.0, q0=[1, 0, 0, 0], v0=[0.1, 2.0, 0.05], rtol=rtol, atol=rtol / 10)
    # the norm is kept by projection, whatever rtol
    assert np.max(np.abs(np.linalg.norm(sol.q, axis=1) - 1)) < 1e-10
    momentum = np.array([turned(q) @ (inertia * v) for q, v in zip(sol.q, sol.v, strict=True)])
    assert np.max(np.abs(momentum - momentum[0])) < 1e4 * rtol
    assert np.max(np.abs(sol.energy.kinetic - sol.energy.kinetic[0])) < 1e3 * rtol


def test_a_free_symmetric_body_precesses_as_it_must():
    # I = (1, 1, 2): ω₁ + iω₂ turns with (I₃ - I₁) ω₃/I₁; the axis of the body turns about L with |L|/I₁
    sol = simulate(body([1.0, 1.0, 2.0]), 10.0, q0=[1, 0, 0, 0], v0=[0.6, 0.0, 1.5], rtol=1e-10, atol=1e-12)
    wobble = 0.6 * np.exp(1j * 1.5 * sol.t)
    assert np.allclose(sol.v[:, 0] + 1j * sol.v[:, 1], wobble, atol=1e-8)
    L = np.array([0.6, 0.0, 3.0])
    axis = np.array([turned(q)[:, 2] for q in sol.q])
    n = L / np.linalg.norm(L)
    angle = np.linalg.norm(L) * sol.t
    start = np.array([0.0, 0.0, 1.0])
    exact = (
        np.outer(np.cos(angle), start) + np.outer(np.sin(angle), np.cross(n, start)) + np.outer(1 - np.cos(angle), n * (n @ start))
    )
    assert np.max(np.abs(axis - exact)) < 1e-8


def test_an_asymmetric_body_agrees_with_an_independent_code():
    inertia = np.array([1.0, 2.0, 3.5])

    def rhs(t, y):
        return np.concatenate([rates(y[:4]) @ y[4:], -np.cross(y[4:], inertia * y[4:]) / inertia])

    start = np.array([1.0, 0, 0, 0, 0.1, 2.0, 0.05])
    other = solve_ivp(rhs, (0, 8.0), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    sol = simulate(body(inertia), 8.0, q0=start[:4], v0=start[4:], rtol=1e-10, atol=1e-12)
    assert np.allclose(np.concatenate([sol.q[-1], sol.v[-1]]), other, atol=1e-7)


def test_a_heavy_top_keeps_energy_and_both_momenta():
    # the potential is pulled back through Z: torque -Zᵀ∂V/∂q
    inertia, mgl = np.array([1.0, 1.0, 0.4]), 2.0
    top = body(inertia, potential=lambda q: mgl * (1 - 2 * (q[1] ** 2 + q[2] ** 2)))
    tilt = 0.5
    q0 = [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    sol = simulate(top, 10.0, q0=q0, v0=[0.2, 0.1, 6.0], rtol=1e-9, atol=1e-11)
    assert np.max(np.abs(sol.energy.total - sol.energy.total[0])) < 1e-6
    assert np.ptp(sol.energy.potential) > 0.1  # it does nutate
    assert np.max(np.abs(sol.v[:, 2] - 6.0)) < 1e-8
    vertical = np.array([(turned(q) @ (inertia * v))[2] for q, v in zip(sol.q, sol.v, strict=True)])
    assert np.max(np.abs(vertical - vertical[0])) < 1e-6


def test_a_body_on_a_string_is_held_by_quaternion_and_position():
    # a point of the body is fixed by three constraints: the body swings about it as a physical pendulum
    arm = np.array([0.0, 0.0, -1.0])
    m, J = 2.0, 0.3

    def wide(q):
        return np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((4, 3)), rates(q[3:])]])

    hung = System(
        mass=np.diag([m, m, m, J, J, J]), potential=lambda q: m * G * q[2], kinematics=wide,
        force=np.zeros(6), constraint={"pin": lambda q: q[:3] - turned(q[3:]) @ arm},
        invariants={"norm": lambda q: q[3:] @ q[3:]},
    )  # fmt: skip
    half = 0.1  # half the angle of release, about y
    q = np.array([np.cos(half), 0, np.sin(half), 0])
    q0 = np.concatenate([turned(q) @ arm, q])
    sol = simulate(hung, 5.0, q0=q0, v0=np.zeros(6), rtol=1e-9, atol=1e-11)
    assert np.max(np.abs(np.linalg.norm(sol.q[:, 3:], axis=1) - 1)) < 1e-9
    assert np.max(np.abs(sol.q[:, :3] - np.array([turned(q[3:]) @ arm for q in sol.q]))) < 1e-9
    # θ'' = -m g l sin θ/(J + m l²)
    other = solve_ivp(lambda t, y: [y[1], -m * G * np.sin(y[0]) / (J + m)], (0, 5.0), [0.2, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]
    angle = 2 * np.arctan2(sol.q[-1, 5], sol.q[-1, 3])
    assert np.isclose(angle, other[0], atol=1e-6)


def test_projecting_a_rough_start_keeps_the_norm_of_a_quaternion():
    arm = np.array([0.0, 0.0, -1.0])
    pinned = System(
        mass=np.eye(6), force=np.zeros(6), invariants={"norm": lambda q: q[3:] @ q[3:]},
        kinematics=lambda q: np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((4, 3)), rates(q[3:])]]),
        constraint={"pin": lambda q: q[:3] - turned(q[3:]) @ arm},
    )  # fmt: skip
    sol = simulate(pinned, 0.1, q0=[0.1, 0.05, -0.9, 1, 0, 0, 0], v0=np.zeros(6), initial="project")
    assert np.isclose(np.linalg.norm(sol.q[0, 3:]), 1.0, atol=1e-11)
    assert np.allclose(sol.q[0, :3], turned(sol.q[0, 3:]) @ arm, atol=1e-11)


def test_a_driven_pendulum_follows_its_pivot():
    # pivot at (a sin Ωt, 0): θ'' = -g sin θ + a Ω² sin Ωt cos θ
    a, w = 0.3, 3.0
    driven = System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda t, q: (q[0] - a * np.sin(w * t)) ** 2 + q[1] ** 2 - 1})
    sol = simulate(driven, 6.0, q0=[0, -1], v0=[a * w, 0], rtol=1e-9, atol=1e-11)
    other = solve_ivp(
        lambda t, y: [y[1], -G * np.sin(y[0]) + a * w**2 * np.sin(w * t) * np.cos(y[0])],
        (0, 6.0), [0.0, 0.0], rtol=1e-11, atol=1e-12,
    ).y[:, -1]  # fmt: skip
    exact = [a * np.sin(w * 6.0) + np.sin(other[0]), -np.cos(other[0])]
    assert np.allclose(sol.q[-1], exact, atol=1e-6)
    with pytest.raises(InconsistentState, match="velocity level of constraint 'rod'"):
        # at rest while the pivot moves: only the part along the rod is refused, and here that is all of it
        simulate(driven, 1.0, q0=[1, 0], v0=[0, 0])


def test_a_crank_that_is_turned_by_its_constraint_needs_the_right_torque():
    # angle = Ω t on a wheel with friction: the reaction is the driving torque c Ω
    wheel = System(mass=[[2.0]], force=lambda v: -0.7 * v, constraint={"drive": lambda t, q: q[0] - 5.0 * t})
    sol = simulate(wheel, 1.0, q0=[0.0], v0=[5.0])
    assert np.allclose(sol.reactions[:, 0], 0.7 * 5.0)
    assert np.allclose(sol.q[:, 0], 5.0 * sol.t, atol=1e-10)


TABLE = (np.array([0.0, 0.3, 0.31, 1.7, 2.5]), np.array([0.0, 2.0, -1.0, 4.0, 0.5]))


@pytest.mark.parametrize("integrator", ["auto", RK45()])
def test_tables_of_inputs_are_linear_in_between_and_steps_end_on_their_times(integrator):
    pushed = Ode(lambda u: np.array([u.push]), inputs={"push": TABLE})
    sol = simulate(pushed, (0.0, 4.0), y0=[0.0], integrator=integrator)
    assert set(TABLE[0]) <= set(sol.t)
    # the trapezoidal rule is exact for it, and behind the table the last value holds
    grid = np.concatenate([TABLE[0], [4.0]])
    values = np.concatenate([TABLE[1], [0.5]])
    exact = np.sum(np.diff(grid) * (values[1:] + values[:-1]) / 2)
    assert np.allclose(sol.y[-1], exact, atol=1e-12)
    back = simulate(pushed, (4.0, 0.0), y0=sol.y[-1], integrator=integrator)
    assert np.allclose(back.y[-1], 0.0, atol=1e-12)


def test_breaks_of_inputs_do_not_cost_the_order():
    errors = []
    for step in (0.1, 0.05):
        spring = Ode(lambda y, u: np.array([y[1], u.push - y[0]]), inputs={"push": TABLE})
        sol = simulate(spring, 2.0, y0=[1.0, 0.0], integrator=RK4(), step=step)
        errors.append(sol.y[-1])
    fine = simulate(spring, 2.0, y0=[1.0, 0.0], rtol=1e-13, atol=1e-13).y[-1]
    errors = [np.max(np.abs(each - fine)) for each in errors]
    assert np.log2(errors[0] / errors[1]) > 3.7


def test_inputs_may_be_numbers_and_functions():
    both = Ode(lambda u: np.array([u.steady + u.wave]), inputs={"steady": 2.0, "wave": lambda t: np.cos(t)})
    sol = simulate(both, 3.0, y0=[0.0], rtol=1e-10)
    assert np.allclose(sol.y[:, 0], 2 * sol.t + np.sin(sol.t), atol=1e-8)


def test_inputs_with_different_numbers_share_one_model():
    for slope in (1.0, 2.0):
        pushed = System(mass=[[1.0]], force=lambda u: np.array([u.push]), inputs={"push": ([0, 1], [0, slope])})
        sol = simulate(pushed, 1.0, q0=[0.0], v0=[0.0])
        assert np.allclose(sol.v[-1], slope / 2)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (([0, 1], [1, 2, 3]), r"input 'push' must be a pair \(times, values\) of equal length, at least 2"),
        (([0, 0], [1, 2]), "the times of input 'push' must increase"),
        (([0], [1]), r"input 'push' must be a pair \(times, values\)"),
        ("hard", r"input 'push' must be a number, a function of t, or a pair \(times, values\)"),
        (([0, 1], [1, np.nan]), "input 'push' is not finite"),
    ],
)
def test_inputs_that_cannot_be_meant(given, text):
    with pytest.raises(BadArgument, match=text):
        simulate(Ode(lambda u: np.array([u.push]), inputs={"push": given}), 1.0, y0=[0.0])


def double_pendulum_by_hand(m1, m2, l1, l2):
    def mass(q):
        c = m2 * l1 * l2 * np.cos(q[0] - q[1])
        return np.array([[(m1 + m2) * l1**2, c], [c, m2 * l2**2]])

    def force(q, v):
        s = m2 * l1 * l2 * np.sin(q[0] - q[1])
        return np.array([-s * v[1] ** 2 - (m1 + m2) * G * l1 * np.sin(q[0]), s * v[0] ** 2 - m2 * G * l2 * np.sin(q[1])])

    return System(mass=mass, force=force)


def double_pendulum_from_energies(m1, m2, l1, l2):
    def kinetic(q, v):
        first = (l1 * v[0]) ** 2
        second = first + (l2 * v[1]) ** 2 + 2 * l1 * l2 * v[0] * v[1] * np.cos(q[0] - q[1])
        return 0.5 * m1 * first + 0.5 * m2 * second

    return System.from_energies(kinetic, lambda q: -(m1 + m2) * G * l1 * np.cos(q[0]) - m2 * G * l2 * np.cos(q[1]))


def test_energies_give_the_equations_that_are_written_by_hand():
    sizes = (1.0, 0.7, 0.9, 1.3)
    start = {"q0": [1.2, -0.4], "v0": [0.3, 0.8]}
    by_hand = simulate(double_pendulum_by_hand(*sizes), 5.0, **start, rtol=1e-11, atol=1e-12)
    from_energies = simulate(double_pendulum_from_energies(*sizes), 5.0, **start, rtol=1e-11, atol=1e-12)
    assert np.allclose(by_hand.a[0], from_energies.a[0], rtol=1e-13)
    assert np.allclose(by_hand.q[-1], from_energies.q[-1], atol=1e-8)
    assert np.max(np.abs(from_energies.energy_error)) < 1e-9


def test_minimal_and_redundant_coordinates_agree():
    m1, m2, l1, l2 = 1.0, 0.7, 0.9, 1.3
    angles, speeds = np.array([1.2, -0.4]), np.array([0.3, 0.8])

    def joints(angles, speeds):
        p1 = l1 * np.array([np.sin(angles[0]), -np.cos(angles[0])])
        p2 = p1 + l2 * np.array([np.sin(angles[1]), -np.cos(angles[1])])
        v1 = l1 * speeds[0] * np.array([np.cos(angles[0]), np.sin(angles[0])])
        v2 = v1 + l2 * speeds[1] * np.array([np.cos(angles[1]), np.sin(angles[1])])
        return np.concatenate([p1, p2]), np.concatenate([v1, v2])

    points = System(
        mass=np.diag([m1, m1, m2, m2]),
        potential=lambda q: G * (m1 * q[1] + m2 * q[3]),
        constraint={"first": lambda q: q[:2] @ q[:2] - l1**2, "second": lambda q: (q[2:] - q[:2]) @ (q[2:] - q[:2]) - l2**2},
    )
    q0, v0 = joints(angles, speeds)
    redundant = simulate(points, 3.0, q0=q0, v0=v0, rtol=1e-10, atol=1e-12)
    minimal = simulate(double_pendulum_from_energies(m1, m2, l1, l2), 3.0, q0=angles, v0=speeds, rtol=1e-10, atol=1e-12)
    assert np.allclose(redundant.q[-1], joints(minimal.q[-1], minimal.v[-1])[0], atol=1e-7)


def test_a_moving_frame_comes_in_through_the_kinetic_energy():
    # a bead on a rod turned at Ω: T = ½ m (ṙ² + Ω² r²) gives r'' = Ω² r
    bead = System.from_energies(lambda q, v: 0.5 * 3.0 * (v[0] ** 2 + 4.0 * q[0] ** 2))
    sol = simulate(bead, 1.0, q0=[1.0], v0=[0.0], rtol=1e-10)
    assert np.allclose(sol.q[-1], np.cosh(2.0), atol=1e-8)
    # the same with T(t, q, v) that has a term linear in v: a cart frame that accelerates, x = s + ½ a t²
    cart = System.from_energies(lambda t, v: 0.5 * (v[0] + 2.0 * t) ** 2)
    sol = simulate(cart, 1.0, q0=[0.0], v0=[0.0], rtol=1e-10)
    assert np.allclose(sol.q[-1], -1.0, atol=1e-9)
