"""Bodies in space: rotations, joints, tops, rolling."""

import warnings

import numpy as np
import pytest

from holonomic import Ode, RedundancyWarning, load, simulate, sweep
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, TurnsWarning, box, cylinder, disk, equilibrium, linearize, rod, space, sphere

G = (0, 0, -9.81)


def free_box(spin, gravity=(0, 0, 0)):
    m = Mechanism(gravity=gravity)
    m.body("box", box((0, 0, 0), (0.3, 0.2, 0.1), mass=2.0))
    return m, np.array([0, 0, 0, 1, 0, 0, 0.0]), np.array([0, 0, 0, *spin])


def test_quaternions_give_back_every_rotation():
    random = np.random.default_rng(1)
    for _ in range(50):
        e = random.normal(size=4)
        e /= np.linalg.norm(e)
        R = np.array(space.rotation([0, 0, 0, *e], 0))
        assert np.allclose(R @ R.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert np.allclose(space.rotation([0, 0, 0, *space.quaternion(R)], 0), R, atol=1e-12)


def test_a_spinning_box_keeps_momentum_energy_and_the_norm():
    m, q, v = free_box((0.01, 8.0, 0.02))  # about its middle axis: it tumbles
    sol = simulate(m, 10.0, q0=q, v0=v, rtol=1e-9, save_at=51)
    R, w = sol["box"].rotation, sol.v[:, 3:]
    J = 2.0 / 12 * np.array([0.2**2 + 0.1**2, 0.3**2 + 0.1**2, 0.3**2 + 0.2**2])
    momentum = np.einsum("tij,tj->ti", R, w * J)
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-7 * np.abs(momentum).max())
    assert np.ptp(sol["energy"].kinetic) < 1e-7 * sol["energy"].kinetic[0]
    assert np.abs(np.linalg.norm(sol.q[:, 3:], axis=1) - 1).max() < 1e-9
    assert np.ptp(np.sign(w[:, 1])) == 2  # it did turn over


def test_forces_and_torques_off_the_centre_do_what_newton_and_euler_say():
    m, q, v = free_box((1.0, 2.0, 3.0))
    m.force("push", "box", at=(0.1, 0.05, 0.02), value=(1.0, -2.0, 0.5))
    m.torque("twist", "box", value=(0.1, 0.2, -0.3))
    sol = simulate(m, 1e-3, q0=q, v0=v)
    w = v[3:]
    J = 2.0 / 12 * np.array([0.05, 0.1, 0.13])
    moment = np.cross((0.1, 0.05, 0.02), (1.0, -2.0, 0.5)) + (0.1, 0.2, -0.3)
    np.testing.assert_allclose(sol.a[0, 3:], (moment - np.cross(w, J * w)) / J, rtol=1e-12)
    np.testing.assert_allclose(sol["box"].acceleration[0], np.array([1.0, -2.0, 0.5]) / 2, rtol=1e-12)


def heavy_top(spin=150.0, precession=-4.61538):
    """The top of many papers: 15 kg, 1 m from its tip."""
    m = Mechanism(gravity=G)
    m.body("top", at=(0, 1, 0), mass=15.0, inertia=(0.234375, 0.46875, 0.234375))
    m.spherical("tip", m.ground, "top", at=(0, 0, 0))
    w = np.array([0.0, spin, precession])
    return m, np.array([0, 1, 0, 1, 0, 0, 0.0]), np.concatenate([np.cross(w, (0, 1, 0)), w])


def top_in_minimal_form():
    """Euler's equations about the tip, and the quaternion."""
    J = np.array([15.234375, 0.46875, 15.234375])

    def rhs(y):
        e, w = y[:4], y[4:]
        R = space.rotation([0, 0, 0, *e], 0)
        down = (-9.81 * R[2][0], -9.81 * R[2][1], -9.81 * R[2][2])
        torque = (15.0 * down[2], 0.0, -15.0 * down[0])  # (0, 1, 0) x 15 down
        spin = (torque[0] - (J[2] - J[1]) * w[1] * w[2], torque[1] - (J[0] - J[2]) * w[0] * w[2],
                torque[2] - (J[1] - J[0]) * w[0] * w[1])  # fmt: skip
        rows = space.quaternion_rate((e[0], e[1], e[2], e[3]))
        rates = [row[0] * w[0] + row[1] * w[1] + row[2] * w[2] for row in rows]
        return np.array([*rates, spin[0] / J[0], spin[1] / J[1], spin[2] / J[2]])

    return Ode(rhs)


def test_the_heavy_top_is_that_of_eulers_equations():
    m, q, v = heavy_top()
    sol = simulate(m, 1.0, q0=q, v0=v, rtol=1e-10, atol=1e-11, save_at=11)
    known = simulate(top_in_minimal_form(), 1.0, y0=[1, 0, 0, 0, 0, 150.0, -4.61538], rtol=1e-12, atol=1e-13, save_at=11)
    wanted = [np.array(space.rotation([0, 0, 0, *e], 0))[:, 1] for e in known.y[:, :4]]
    np.testing.assert_allclose(sol["top"].position, wanted, atol=1e-7)
    assert np.ptp(sol["energy"].total) < 1e-7 * sol["energy"].total[0]


def test_the_heavy_top_precesses_steadily_where_it_must():
    # level symmetric top: J3 ω3 Ω = m g l, exactly, when its axis stays level
    spin = 100.0
    precession = 15.0 * 9.81 / (0.46875 * spin)
    m, q, v = heavy_top(spin, precession)
    sol = simulate(m, 2.0, q0=q, v0=v, rtol=1e-9, save_at=21)
    np.testing.assert_allclose(sol["top"].position[:, 2], 0.0, atol=1e-6)
    angle = np.arctan2(-sol["top"].position[:, 0], sol["top"].position[:, 1])
    np.testing.assert_allclose(np.unwrap(angle), precession * sol.t, atol=1e-6)
    np.testing.assert_allclose(sol["tip"].force[:, 2], 15.0 * 9.81, rtol=1e-6)


def test_a_spatial_pendulum_swings_like_the_planar_one_and_counts_turns():
    m = Mechanism(gravity=(0, -9.81, 0))
    m.revolute("O", m.ground, m.body("rod", rod((0, 0, 0), (1, 0, 0), mass=2.0)), at=(0, 0, 0))
    m.assemble(speeds={"O": 9.0})
    flat = Mechanism()
    flat.revolute("O", flat.ground, flat.body("rod", rod((0, 0), (1, 0), mass=2.0)), at=(0, 0))
    flat.assemble(speeds={"O": 9.0})
    runs = [simulate(each, 3.0, rtol=1e-9, save_at=61) for each in (m, flat)]
    assert runs[1]["O"].angle[-1] > 10.0
    np.testing.assert_allclose(runs[0]["O"].angle, runs[1]["O"].angle, atol=1e-7)
    np.testing.assert_allclose(runs[0]["O"].force[:, :2], runs[1]["O"].force, atol=1e-5)


def test_a_universal_joint_transmits_speed_by_hookes_formula():
    bend = 0.5
    m = Mechanism(gravity=(0, 0, 0))
    out = (np.cos(bend), np.sin(bend), 0)
    shaft = m.body("in", cylinder((-1, 0, 0), (0, 0, 0), 0.05, mass=1.0))
    other = m.body("out", cylinder((0, 0, 0), out, 0.05, mass=1.0))
    m.revolute("first", m.ground, shaft, at=(-1, 0, 0), axis=(1, 0, 0))
    m.universal("cardan", shaft, other, at=(0, 0, 0), axis=(0, 0, 1), other=(-np.sin(bend), np.cos(bend), 0))
    m.cylindrical("second", m.ground, other, at=out, axis=out)
    m.drive("first", speed=2.0)
    assert m.mobility().dof == 0
    with pytest.warns(RedundancyWarning):  # both shafts hold the cross in the plane
        sol = simulate(m, 2.0, rtol=1e-9, save_at=41)
    angle = 2.0 * sol.t
    # the fork of the driving shaft starts normal to the plane of the shafts: tan β' = cos(bend) tan β
    wanted = np.unwrap(np.arctan2(np.sin(angle) * np.cos(bend), np.cos(angle)))
    np.testing.assert_allclose(sol["second"].angle, wanted, atol=1e-7)


FREEDOM = {"spherical": 3, "revolute": 1, "cylindrical": 2, "prismatic": 1, "fixed": 0, "universal": 2, "planar": 3, "distance": 5}


@pytest.mark.parametrize("kind, freedom", FREEDOM.items())
def test_every_joint_in_space_leaves_its_freedom_and_does_no_work(kind, freedom):
    m = Mechanism(gravity=G)
    m.body("box", box((0.4, 0.1, 0), (0.3, 0.2, 0.1), mass=2.0))
    how = {"at": (0.1, 0, 0)}
    if kind in ("revolute", "cylindrical", "prismatic", "planar", "universal"):
        how["axis"] = (1, 2, 2)
    if kind == "universal":
        how["other"] = (2, 1, -2)
    if kind == "distance":
        how = {"at": ((0, 0, 0.5), (0.4, 0.1, 0.05))}
    getattr(m, kind)("joint", m.ground, "box", **how)
    found = m.mobility()
    assert (found.dof, found.redundant) == (freedom, {})
    sol = simulate(m, 1.0, rtol=1e-9, save_at=11)
    assert np.ptp(sol["energy"].total) < 1e-6
    np.testing.assert_allclose(sol["joint"].power, 0.0, atol=1e-9)
    # Newton and Euler on the box, in the ground frame
    force = sol["joint"].force + 2.0 * np.array(G)
    np.testing.assert_allclose(force, 2.0 * sol["box"].acceleration, atol=1e-9)
    R, w = sol["box"].rotation, sol.v[:, 3:]
    J = 2.0 / 12 * np.array([0.05, 0.1, 0.13])
    change = np.einsum("tij,tj->ti", R, J * sol.a[:, 3:] + np.cross(w, J * w))
    arm = sol["joint"].place - sol["box"].position
    np.testing.assert_allclose(sol["joint"].torque + np.cross(arm, sol["joint"].force), change, atol=1e-9)


def test_a_sphere_rolls_down_a_slope_without_slipping():
    slope = 0.4
    n = np.array([np.sin(slope), 0, np.cos(slope)])
    m = Mechanism(gravity=G)
    m.body("ball", sphere(0.1 * n, 0.1, mass=3.0))
    m.rolling("roll", m.ground, "ball", at=((0, 0, 0), 0.1 * n), radius=0.1, normal=n)
    sol = simulate(m, 1.0)
    down = np.array([np.cos(slope), 0, -np.sin(slope)])
    assert (sol["ball"].position[-1] - 0.1 * n) @ down == pytest.approx(5 / 7 * 9.81 * np.sin(slope) / 2, rel=1e-7)
    assert sol["roll"].force[-1] @ n == pytest.approx(3.0 * 9.81 * np.cos(slope), rel=1e-9)


def test_an_upright_disk_rolls_straight_on():
    m = Mechanism(gravity=G)
    m.body("disk", disk((0, 0, 0.2), 0.2, mass=1.0, axis=(0, 1, 0)))
    m.rolling("roll", m.ground, "disk", at=((0, 0, 0), (0, 0, 0.2)), axis=(0, 1, 0), radius=0.2)
    q, v = m.assembly.q, np.array([1.0, 0, 0, 5.0, 0, 0])  # the disk's x axis is its own axis, y
    sol = simulate(m, 2.0, q0=q, v0=v, rtol=1e-9)
    assert sol["disk"].position[-1] == pytest.approx([2.0, 0, 0.2], abs=1e-6)


def test_a_leaning_disk_rolls_steadily_on_a_circle():
    lean, r, R = 0.3, 0.2, 1.5  # its centre goes round at distance R
    m = Mechanism(gravity=G)
    axis, centre = np.array([0, np.cos(lean), np.sin(lean)]), (0, 0, r * np.cos(lean))
    m.body("disk", disk(centre, r, mass=1.0, axis=axis))
    m.rolling("roll", m.ground, "disk", at=((0, 0, 0), centre), axis=axis, radius=r)
    # moments about the centre: Ω² (A sin + C R/r + m r R) cos = m g r sin, with A = m r²/4 and C = m r²/2
    turn = np.sqrt(9.81 * r * np.tan(lean) / (r**2 / 4 * np.sin(lean) + r * R / 2 + r * R))
    w = np.array([0, 0, turn]) - turn * (R / r + np.sin(lean)) * axis
    axes = np.array(space.rotation(m.assembly.q, 0))
    v = np.concatenate([[-turn * R, 0, 0], axes.T @ w])
    sol = simulate(m, 3.0, q0=m.assembly.q, v0=v, rtol=1e-9, save_at=31)
    x, y, z = sol["disk"].position.T
    np.testing.assert_allclose(z, z[0], atol=1e-6)
    np.testing.assert_allclose(np.hypot(x, y + R), R, atol=1e-6)
    np.testing.assert_allclose(np.unwrap(np.arctan2(-x, y + R)), turn * sol.t, atol=1e-6)


def test_a_beam_on_a_hinge_and_a_spring_finds_its_equilibrium_and_frequency():
    m = Mechanism(gravity=G)
    beam = m.body("beam", rod((0, 0, 0), (1, 0, 0), mass=2.0))
    m.revolute("O", m.ground, beam, at=(0, 0, 0), axis=(0, 1, 0))
    m.spring("s", m.ground, beam, at=((1, 0, 1), (1, 0, 0)), stiffness=500.0, length=1.0 - 9.81 / 500.0)
    rest = equilibrium(m)
    assert rest["O"].angle == pytest.approx(0.0, abs=1e-9)
    assert rest["s"].tension == pytest.approx(9.81, rel=1e-9)
    assert rest["O"].force == pytest.approx([0, 0, 9.81], abs=1e-8)
    # (l²)'' = 2 with l = l' = 1, so l'' = 0 and the stiffness is k alone
    found = linearize(m, rest)
    assert found.frequencies[0] == pytest.approx(np.sqrt(500.0 / (2.0 / 3)) / (2 * np.pi), rel=1e-6)


def test_turns_that_cannot_be_counted_are_said():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.revolute("O", m.ground, m.body("rod", rod((0, 0, 0), (1, 0, 0), mass=1.0, width=0.1)), at=(0, 0, 0), axis=(0, 1, 0))
    m.assemble(speeds={"O": 9.0})  # over the top, faster below than above
    sol = simulate(m, 3.0)
    fine = sol(np.linspace(0, 3, 301))["O"].angle
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(sol(np.linspace(0, 3, 61))["O"].angle, fine[::5], atol=1e-9)
        np.testing.assert_allclose(sol(np.linspace(0, 3, 3))["O"].angle, fine[::150], atol=1e-9)  # by the steps of the run
        np.testing.assert_allclose(sol(3.0)["O"].angle, fine[-1], atol=1e-9)
    with pytest.warns(TurnsWarning, match=r"joint 'O' turns too far between the times that were kept"):
        _ = sweep(m, 3.0, params={"rod.mass": [1.0, 2.0]}, save_at=3)["O"].angle  # members have no steps


def test_turns_are_counted_by_steps_however_few_times_are_kept(tmp_path):
    """A hinge that stands still, and is not accelerated, at every time that is kept, and has turned once in between."""
    law = lambda t: 2 * np.pi * t - np.sin(2 * np.pi * t)
    m = Mechanism(gravity=(0, 0, -9.81))
    m.revolute("O", m.ground, m.body("rod", rod((0, 0, 0), (1, 0, 0), mass=1.0, width=0.1)), at=(0, 0, 0), axis=(0, 1, 0))
    m.drive("O", angle=law)
    for span in ((0.0, 5.0), (5.0, 0.0)):
        sol = simulate(m, span, save_at=6)
        turned = law(sol.t) - law(sol.t[0])
        np.testing.assert_allclose(sol["O"].angle - sol["O"].angle[0], turned, atol=1e-5)
        some = np.array([span[0], 2.5, span[1]])
        np.testing.assert_allclose(sol(some)["O"].angle - sol["O"].angle[0], law(some) - law(span[0]), atol=1e-5)
        sol.save(tmp_path / "run.nc")
        np.testing.assert_allclose(load(tmp_path / "run.nc")["O"].angle, sol["O"].angle, atol=1e-12)


def bob_welded_to_a_slanting_rod(compile, **bob):
    """A swing about an axis that is none of the rod's, with a bob whose axes are not those of the rod."""
    m, end = Mechanism(gravity=G), (0.5, 0.1, 0.2)
    m.body("rod", rod((0, 0, 0), end, mass=1.0, width=0.05))
    m.body("bob", at=end, mass=1.0, **bob)
    m.revolute("O", m.ground, "rod", at=(0, 0, 0), axis=(0, 1, 0.3))
    m.fixed("weld", "rod", "bob", at=end)
    return simulate(m, 0.3, compile=compile, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("compile", ["now", "never"])
def test_a_point_mass_welded_to_a_slanting_rod_adds_no_inertia_of_its_own(compile):
    sol = bob_welded_to_a_slanting_rod(compile)
    energy = sol["energy"].total
    assert np.abs(energy - energy[0]).max() < 1e-7 * sol["energy"].kinetic.max()
    assert np.abs(sol["weld"].torque).max() < 1e-9
    known = bob_welded_to_a_slanting_rod("now", inertia=(1e-9,) * 3)
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-7


def test_a_point_mass_that_frames_turn_against_its_holder_adds_no_inertia():
    m = Mechanism(gravity=G)
    m.body("rod", rod((0, 0, 0), (0.5, 0.1, 0.2), mass=1.0, width=0.05))
    m.body("bob", at=(0.5, 0.1, 0.2), mass=1.0)
    m.frame("tool", "rod", (0.5, 0.1, 0.2), axis=(0, 1, 0))
    m.frame("socket", "bob", (0.5, 0.1, 0.2), axis=(1, 1, 0))
    m.revolute("O", m.ground, "rod", at=(0, 0, 0), axis=(0, 1, 0.3))
    m.fixed("weld", "rod", "bob", at=("tool", "socket"))
    m.assemble()
    sol = simulate(m, 0.3, compile="now", rtol=1e-9, atol=1e-11)
    assert np.abs(sol["weld"].torque).max() < 1e-9


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("joint", [
    ("revolute", {"axis": (1, 0, 0.5)}), ("universal", {"axis": (1, 0, 0), "other": (0, 1, 0)}),
    ("cylindrical", {"axis": (1, 0, 0.5)}), ("planar", {"axis": (1, 0, 0.5)}),
], ids=lambda joint: joint[0])  # fmt: skip
def test_a_joint_that_turns_a_point_mass_at_its_centre_needs_an_inertia(joint, compile):
    """It was taken for one that lets it turn freely: an inertia of the size of the mechanism was added."""
    m, (method, how) = Mechanism(gravity=G), joint
    m.body("rod", rod((0, 0, 0), (0.5, 0.1, 0.2), mass=1.0, width=0.05))
    m.body("bob", at=(0.5, 0.1, 0.2), mass=1.0)
    m.revolute("O", m.ground, "rod", at=(0, 0, 0), axis=(0, 1, 0.3))
    getattr(m, method)("j", "rod", "bob", at=(0.5, 0.1, 0.2), **how)
    with pytest.raises(BadArgument, match=r"^body 'bob' has no inertia, but its joints let it turn\. Give inertia=, or a shape\.$"):
        simulate(m, 0.1, compile=compile)


def test_a_slot_or_a_torque_that_turns_a_point_mass_at_its_centre_needs_an_inertia():
    for turn in (
        lambda m: m.pin_in_slot("j", "bob", "rod", at=(0.5, 0.1), axis=(1, 0)),
        lambda m: (m.revolute("j", "rod", "bob", at=(0.5, 0.1)), m.torque("twist", "bob", value=0.1)),
    ):
        m = Mechanism()
        m.body("rod", rod((0, 0), (0.5, 0.1), mass=1.0))
        m.body("bob", at=(0.5, 0.1), mass=1.0)
        m.revolute("O", m.ground, "rod", at=(0, 0))
        turn(m)
        for compile in ("now", "never"):
            with pytest.raises(BadArgument, match=r"^body 'bob' has no inertia"):
                simulate(m, 0.1, compile=compile)
