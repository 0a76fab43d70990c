"""Results by name: signs, places, balance of every body, power and energy."""

import copy
import csv

import numpy as np
import pytest

from holonomic import Event, load, simulate, sweep
from holonomic.errors import BadArgument, UnknownName
from holonomic.multibody import Mechanism, box, disk, rod
from holonomic.view.panels import panel
from holonomic.view.scene import scene_of

from .machines import four_bar, pendulum, slider_crank

ROUNDING = 1e-9  # relative; forces come from multipliers by a few products


def balance(sol, m):
    """Largest |sum of forces - m a| and |sum of torques - J α| over bodies and times, by their own size."""
    g = np.array([m.params["gravity.x"], m.params["gravity.y"]])
    worst = 0.0
    for name, body in m.bodies.items():
        mass, view = body.mass, sol[name]
        force = mass * g - mass * view.acceleration
        torque = -m.params.get(f"{name}.inertia", 0.0) * view.angular_acceleration
        scale = np.abs(mass * g).max() + np.abs(force).max()
        for joint in m.joints.values():
            sign = 1 if joint.second is body else -1 if joint.first is body else 0
            if sign:
                on, arm = sign * sol[joint.name].force, sol[joint.name].place - view.position
                force = force + on
                torque = torque + sign * sol[joint.name].torque + arm[:, 0] * on[:, 1] - arm[:, 1] * on[:, 0]
        for acting in m.forces.values():
            indices = [mark[0] for mark in acting.marks]
            if body.index in indices:
                sign = 1 if indices[-1] == body.index else -1
                on = sign * sol[acting.name].force
                ends = sol[acting.name]._ends() if acting.on is None and len(acting.marks) == 2 else None
                force, torque = force + on, torque + sign * sol[acting.name].torque
                if ends is not None:
                    arm = np.stack(ends[indices.index(body.index)], axis=-1) - view.position
                    torque = torque + arm[:, 0] * on[:, 1] - arm[:, 1] * on[:, 0]
        worst = max(worst, np.abs(force).max() / scale, np.abs(torque).max() / scale)
    return worst


def test_a_hanging_mass_reads_plus_m_g():
    m = Mechanism()
    load = m.body("load", at=(0, -1), mass=3.0)
    m.fixed("hook", m.ground, load, at=(0, 0))
    sol = simulate(m, 0.1)
    np.testing.assert_allclose(sol["hook"].force, np.broadcast_to([0, 3 * 9.81], (len(sol.t), 2)), atol=1e-12)


def test_a_load_on_the_side_reads_its_moment_too():
    m = Mechanism()
    load = m.body("load", box((0.5, 0), (0.1, 0.1), mass=2.0))
    m.fixed("wall", m.ground, load, at=(0, 0))
    sol = simulate(m, 0.1)
    # the wall holds 2 g up, and turns the load back against its weight half a metre away
    assert sol["wall"].torque[-1] == pytest.approx(2 * 9.81 * 0.5)


def test_the_ground_as_second_body_reads_the_opposite():
    m = Mechanism()
    load = m.body("load", box((0.5, 0), (0.1, 0.1), mass=2.0))
    m.fixed("wall", load, m.ground, at=(0, 0))
    sol = simulate(m, 0.1)
    assert sol["wall"].force[-1] == pytest.approx([0, -2 * 9.81])
    assert sol["wall"].torque[-1] == pytest.approx(-2 * 9.81 * 0.5)


def test_every_body_of_the_driven_slider_crank_is_in_balance():
    m = slider_crank(speed=10.0)
    sol = simulate(m, 0.5, save_at=50)
    assert balance(sol, m) < ROUNDING


def test_every_body_of_a_four_bar_with_springs_and_a_motor_is_in_balance():
    m = four_bar()
    m.spring("s", m.ground, m["b"], at=((1.0, 3.0), (1.0, 1.5)), stiffness=40.0, damping=2.0)
    m.motor("A", torque=lambda t, speed: 3 * np.sin(t) - 0.1 * speed)
    m.torsion_spring("C", stiffness=2.0, damping=0.3)
    m.friction("D", coulomb=0.4)
    sol = simulate(m, 1.0, save_at=40)
    assert balance(sol, m) < ROUNDING


def test_the_power_of_forces_and_drives_is_the_change_of_energy():
    m = slider_crank(speed=10.0)
    m.damper("d", m.ground, m["slider"], at=((3.0, 0.0), (1.686, 0)), damping=5.0)
    sol = simulate(m, 1.0, rtol=1e-10, save_at=2001)
    power = sol["power"].total
    work = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(sol.t))])
    change = sol["energy"].total - sol["energy"].total[0]
    # trapezoidal rule with 2000 intervals: h² P''/12 with P'' about (30/s)² P
    assert np.abs(work - change).max() < 1e-4 * np.abs(change).max()
    assert set(sol["power"].by_kind) == {"damper", "drive"}
    assert np.all(sol["power"].damper <= 0.0)


def test_energy_by_kind_is_the_energy_of_the_system():
    m = four_bar()
    m.spring("s", m.ground, m["b"], at=((1.0, 3.0), (1.0, 1.5)), stiffness=40.0)
    sol = simulate(m, 1.0, save_at=20)
    np.testing.assert_allclose(sol["energy"].kinetic, sol.energy.kinetic, atol=1e-12)
    np.testing.assert_allclose(sol["energy"].gravity + sol["energy"].elastic, sol.energy.potential, atol=1e-12)
    np.testing.assert_allclose(sol["s"].energy, sol["energy"].elastic, atol=1e-12)
    np.testing.assert_allclose(sol["s"].tension, 40.0 * (sol["s"].length - 1.5), atol=1e-11)


def test_velocity_and_acceleration_of_points_are_derivatives_of_their_position():
    m = four_bar()
    m.point("tip", "b", (1.0, 2.0))
    sol = simulate(m, 1.0, rtol=1e-11, atol=1e-12, save_at=2001)
    h = sol.t[1] - sol.t[0]
    for name in ("tip", "b"):
        view = sol[name]
        # central differences: h²/6 times the third derivative, about 1e3 here
        np.testing.assert_allclose(np.gradient(view.position, h, axis=0)[2:-2], view.velocity[2:-2], atol=1e-4)
        np.testing.assert_allclose(np.gradient(view.velocity, h, axis=0)[2:-2], view.acceleration[2:-2], atol=1e-3)


def test_a_driven_crank_counts_its_turns():
    sol = simulate(slider_crank(speed=10.0), 4.0)
    assert sol["O"].angle[-1] - sol["O"].angle[0] == pytest.approx(40.0, abs=1e-8)
    assert sol["O"].angle[0] == pytest.approx(np.arctan2(0.433, 0.25))


def test_reactions_in_the_frame_of_a_body_have_the_same_length():
    sol = simulate(slider_crank(speed=10.0), 0.3, save_at=7)
    seen = sol["A"].reaction(frame="link")
    np.testing.assert_allclose(np.linalg.norm(seen.force, axis=1), np.linalg.norm(sol["A"].force, axis=1))
    along = np.einsum("tij,tj->ti", np.swapaxes(sol["link"].rotation, 1, 2), sol["A"].force)
    np.testing.assert_allclose(seen.force, along, atol=1e-12 * np.abs(along).max())


def test_a_single_time_gives_arrays_without_time():
    sol = simulate(slider_crank(speed=10.0), 0.3)
    assert sol(0.1)["A"].force.shape == (2,)
    assert sol(0.1)["O"].torque.shape == ()


def test_a_joint_without_an_angle_says_what_it_has():
    sol = simulate(slider_crank(speed=10.0), 0.1)
    with pytest.raises(AttributeError, match="joint 'guide' is prismatic and has no angle; it has a position"):
        sol["guide"].angle


def test_a_rolling_disk_has_the_textbook_acceleration_and_friction():
    slope = 0.3
    u, n = np.array([np.cos(slope), -np.sin(slope)]), np.array([np.sin(slope), np.cos(slope)])
    m = Mechanism()
    m.body("wheel", disk(0.2 * n, 0.2, mass=1.5))
    m.rolling("roll", m.ground, "wheel", at=((0, 0), 0.2 * n), axis=u, radius=0.2)
    sol = simulate(m, 1.0)
    # s = g sin(slope) t²/3; friction m g sin(slope)/3 up the slope
    assert sol["wheel"].position[-1] @ u == pytest.approx(9.81 * np.sin(slope) / 3, rel=1e-9)
    assert sol["roll"].force[-1] @ u == pytest.approx(-1.5 * 9.81 * np.sin(slope) / 3, rel=1e-9)
    assert sol["roll"].force[-1] @ n == pytest.approx(1.5 * 9.81 * np.cos(slope), rel=1e-9)


def test_inverse_dynamics_of_a_driven_pendulum():
    m = pendulum()
    m.drive("O", angle=lambda t: 0.3 * np.sin(2 * t))
    sol = simulate(m, 2.0, save_at=11)
    angle, acceleration = 0.3 * np.sin(2 * sol.t), -1.2 * np.sin(2 * sol.t)
    wanted = 2.0 / 3 * acceleration + 2.0 * 9.81 * 0.5 * np.cos(angle)
    np.testing.assert_allclose(sol["O"].torque, wanted, atol=1e-7)  # rtol 1e-6 of the run in velocities
    np.testing.assert_allclose(sol["O drive"].torque, wanted, atol=1e-7)


def test_names_of_rods_and_points_reach_the_labels():
    m = slider_crank()
    assert list(m.to_system()[0].coordinates)[:3] == ["crank x", "crank y", "crank angle"]
    sol = simulate(m, 0.1)
    assert sol["crank angle"].shape == sol.t.shape
    assert rod(*((0, 0), (1, 0))).kind == "rod"


def test_outputs_and_events_are_functions_of_named_things():
    m = slider_crank()
    m.assemble({"O": 1.0}, speeds={"O": 5.0})
    m.output("lead", lambda slider, O: slider.position[0] - np.cos(O.angle))
    top = Event(m.quantity(lambda O: O.angle - 2.0), terminal=True)
    sol = simulate(m, 2.0, events={"top": top}, rtol=1e-9)
    assert sol["O"].angle[-1] == pytest.approx(2.0, abs=1e-9)
    np.testing.assert_allclose(sol["lead"], sol["slider"].position[:, 0] - np.cos(sol["O"].angle), atol=1e-12)
    with pytest.raises(ValueError, match="used twice"):
        m.output("slider", lambda O: O.angle)


def test_copies_of_a_mechanism_and_of_its_run_give_the_same_results():
    m = slider_crank(speed=10.0)
    sol = simulate(m, 0.05)
    twin = copy.deepcopy(m)
    twin.params["link.mass"] = 9.0
    assert m.params["link.mass"] != 9.0
    assert np.array_equal(copy.deepcopy(sol)["A"].force, sol["A"].force)
    assert np.array_equal(simulate(copy.deepcopy(m), 0.05)["A"].force, sol["A"].force)


def test_constraints_are_kept_as_well_after_a_thousand_turns():
    """The size of an angle that counts turns is no excuse; rounding of 2 pi 1000 leaves 1e-12."""
    m = slider_crank()
    m.assemble(speeds={"O": 8.0})
    q = m.assembly.q.copy()
    q[2] += 2000 * np.pi
    sol = simulate(m, 1.0, q0=q, v0=m.assembly.v)
    assert np.abs(sol.drift.position).max() < 5e-12
    assert sol["O"].angle[0] == pytest.approx(m.assembly.values["O"] + 2000 * np.pi)


def test_quantities_are_read_by_dotted_name_and_parts_show_what_they_have():
    sol = simulate(slider_crank(speed=5.0), 0.3)
    np.testing.assert_array_equal(sol["A.force"], sol["A"].force)
    assert repr(sol["A"]).startswith("<revolute joint 'A' in a run: .angle, .ends, .force")
    assert ".position" in repr(sol["guide"]) and ".angle" not in repr(sol["guide"])
    with pytest.raises(AttributeError, match=r"body 'slider' has no 'positon'. Did you mean .position"):
        sol["slider"].positon
    with pytest.raises(AttributeError, match="revolute and has no tension"):
        sol["A"].tension
    with pytest.raises(UnknownName, match=r"no quantity 'A\.fors'"):
        sol["A.fors"]


def test_tables_hold_the_forces_of_joints(tmp_path):
    sol = simulate(slider_crank(speed=5.0), 0.3)
    sol.to_csv(tmp_path / "all.csv")
    head = (tmp_path / "all.csv").read_text().splitlines()[0].split(",")
    assert {"A.force x", "A.force y", "O.torque", "O drive.torque"} <= set(head)
    sol.to_csv(tmp_path / "some.csv", "A.force", "slider.position", "O.angle", "lam")
    head, *rows = (tmp_path / "some.csv").read_text().splitlines()
    wanted = ["t", "A.force x", "A.force y", "slider.position x", "slider.position y", "O.angle", "lam[O[x]]"]
    assert head.split(",")[: len(wanted)] == wanted
    numbers = np.array([row.split(",") for row in rows], dtype=float)
    np.testing.assert_array_equal(numbers[:, 1:3], sol["A"].force)
    np.testing.assert_array_equal(numbers[:, 6:], sol.lam)
    sol(0.1).to_csv(tmp_path / "one.csv", "A.force")  # a single time is a table of one row
    assert len((tmp_path / "one.csv").read_text().splitlines()) == 2
    with pytest.raises(BadArgument, match="'A' is a whole part of the mechanism"):
        sol.to_csv(tmp_path / "some.csv", "A")


def test_xarray_holds_the_forces_of_joints():
    pytest.importorskip("xarray")
    sol = simulate(slider_crank(speed=5.0), 0.3)
    data = sol.to_xarray()
    np.testing.assert_array_equal(data["A.force"].sel(axis="y"), sol["A"].force[:, 1])
    assert data["O drive.torque"].dims == ("time",)


def hoist(dimension):
    """A driven arm with a motor and friction on its hinge, and a slide with a motor alone."""
    z = (0.0,) * (dimension - 2)
    m = Mechanism(gravity=(0, -9.81, *z))
    m.body("arm", rod((0, 0, *z), (1, 0, *z), mass=2.0))
    m.body("sled", at=(0, 3, *z), mass=2.0, inertia=1.0 if dimension == 2 else (1, 1, 1))
    m.revolute("O", "ground", "arm", at=(0, 0, *z), **({} if dimension == 2 else {"axis": (0, 0, -1)}))
    m.prismatic("S", "ground", "sled", at=(0, 3, *z), axis=(0, 1, *z))
    m.drive("O", angle=lambda t: 0.2 * t * t)
    m.motor("O", torque=1.5)
    m.friction("O", viscous=2.0, coulomb=0.0)
    m.motor("S", force=lambda t: 30.0 + t)
    return m


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("compile", ["now", "never"])
def test_the_effort_of_a_joint_is_what_drive_and_motors_give_along_its_axis(dimension, compile, tmp_path):
    m = hoist(dimension)
    sol = simulate(m, 1.0, save_at=5, compile=compile)
    side = 1.0 if dimension == 2 else -1.0  # about (0, 0, -1) the arm turns down
    needed = 2 / 3 * 0.4 + side * 2.0 * 9.81 * 0.5 * np.cos(0.2 * sol.t**2) + 2.0 * 0.4 * sol.t  # J φ'' + weight + friction
    sol.save(tmp_path / "run.nc")
    runs = sweep(m, 1.0, params={"arm.mass": [2.0]}, save_at=5, compile=compile)
    for run in (sol, load(tmp_path / "run.nc"), {name: sol[name] for name in ("O", "S", "O drive", "O motor", "O friction")}):
        np.testing.assert_allclose(run["O"].effort, needed, atol=1e-8)
        np.testing.assert_allclose(run["O drive"].effort, needed - 1.5, atol=1e-8)
        np.testing.assert_allclose(run["O motor"].effort, 1.5)
        np.testing.assert_allclose(run["O friction"].effort, -2.0 * 0.4 * sol.t, atol=1e-8)
        np.testing.assert_allclose(run["S"].effort, 30.0 + sol.t)
    np.testing.assert_allclose(runs["O"].effort[0], needed, atol=1e-7)
    table = to_columns(sol, tmp_path)
    np.testing.assert_allclose(table["O.effort"], needed, atol=1e-8)
    np.testing.assert_allclose(table["S motor.effort"], 30.0 + sol.t)
    assert panel(sol, "O.effort").heading == "O: effort  (N m)" and panel(sol, "S motor.effort").unit == "N"
    assert "effort" not in repr(simulate(slider_crank(), 0.01)["A"])
    offered = {signal.name for signal in scene_of(sol, frames=5).tracks[0].signals}
    assert {"O.effort", "S.effort"} <= offered


def to_columns(sol, folder):
    """What a CSV file has."""
    sol.to_csv(folder / "run.csv")
    with open(folder / "run.csv") as file:
        names = next(csv.reader(file))
    return dict(zip(names, np.loadtxt(folder / "run.csv", delimiter=",", skiprows=1, ndmin=2).T, strict=True))


def test_what_has_no_axis_has_no_effort():
    m = slider_crank(speed=3.0)
    m.point("tip", "link", (1, 0))
    m.spring("s", "ground", "slider", at=((3, 0), (1.686, 0)), stiffness=1.0)
    sol = simulate(m, 0.01)
    assert np.all(sol["A"].effort == 0.0)
    with pytest.raises(AttributeError, match="'s' does not act on a joint and has no effort along an axis"):
        _ = sol["s"].effort
    m = Mechanism(gravity=(0, 0, 0))
    m.body("a", at=(0, 0, 0), mass=1.0, inertia=(1, 1, 1))
    m.spherical("ball", "ground", "a", at=(0, 0, 1))
    with pytest.raises(AttributeError, match="'ball' is spherical and has neither an angle nor a position, so no effort"):
        _ = simulate(m, 0.01)["ball"].effort


def test_a_bushing_has_no_line_along_which_it_pulls():
    m = Mechanism()
    m.body("a", at=(0, 0), mass=1.0, inertia=1.0)
    m.bushing("pad", "ground", "a", at=(0, 0.1), stiffness=(100, 100, 10))
    sol = simulate(m, 0.01)
    assert "tension" not in repr(sol["pad"]) and "length" not in repr(sol["pad"])
    with pytest.raises(AttributeError, match="'pad' does not act along a line"):
        _ = sol["pad"].tension
