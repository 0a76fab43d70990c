"""Many parts drawn by one call are the parts that are drawn one by one."""

import pickle

import numpy as np
import pytest

from holonomic import RK4, BadArgument, Projection, Stepper, simulate, sweep
from holonomic.errors import UnknownName
from holonomic.multibody import Mechanism, box, disk, equilibrium, rod

STEPS = {"step": 1e-3, "integrator": RK4(), "stabilization": Projection(), "save_at": 3}


def zigzag(n, dimension=2):
    points = np.zeros((n + 1, dimension))
    points[:, 0] = 0.1 * np.arange(n + 1)
    points[:, 1] = 0.03 * (np.arange(n + 1) % 2)
    return points


def gravity(dimension):
    return (0.0, -9.81) if dimension == 2 else (0.0, 0.0, -9.81)


def chains(n, dimension=2):
    """Unequal rods on pins with springs between their centres, drawn one by one and by arrays."""
    points, mass = zigzag(n, dimension), 0.1 + 0.01 * np.arange(n)
    width = None if dimension == 2 else 0.01
    one, many = Mechanism(gravity(dimension)), Mechanism(gravity(dimension))
    for i in range(n):
        one.body(f"link {i}", rod(points[i], points[i + 1], mass=mass[i], width=width))
    for m in (one, many):
        if m is many:
            rods = many.rods("link", points[:-1], points[1:], mass, width=width)
        (m.revolute if dimension == 2 else m.spherical)("held", m.ground, "link 0", at=points[0])
    for i in range(n - 1):
        join = one.revolute if dimension == 2 else one.spherical
        join(f"pin {i}", f"link {i}", f"link {i + 1}", at=points[i + 1])
    (many.revolute if dimension == 2 else many.spherical)("pin", rods[:-1], rods[1:], at=points[1:-1])
    centres, stiffness = (points[1:] + points[:-1]) / 2, 10.0 + np.arange(n - 1)
    for i in range(n - 1):
        one.spring(f"coil {i}", f"link {i}", f"link {i + 1}", at=(centres[i], centres[i + 1]), stiffness=stiffness[i], damping=0.1)
    many.spring("coil", rods[:-1], rods[1:], at=(centres[:-1], centres[1:]), stiffness=stiffness, damping=0.1)
    for m in (one, many):
        m.force("load", f"link {n - 1}", value=(1.0, 0.5) if dimension == 2 else (1.0, 0.5, 0.2), at=points[-1])
    return one, many


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("compile", ["now", "never"])
def test_arrays_draw_what_is_drawn_one_by_one(dimension, compile):
    one, many = chains(5, dimension)
    assert dict(many.params) == pytest.approx(dict(one.params), abs=1e-15)
    assert list(many.bodies) == list(one.bodies) and list(many.joints) == list(one.joints) and list(many.forces) == list(one.forces)
    runs = [simulate(m, 0.02, compile=compile, **STEPS) for m in (one, many)]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13) and np.allclose(runs[0].lam, runs[1].lam, rtol=1e-9, atol=1e-10)
    for name, what in (("pin 2", "force"), ("link 3", "position"), ("coil 1", "tension"), ("load", "force")):
        assert np.allclose(getattr(runs[0][name], what), getattr(runs[1][name], what), rtol=1e-9, atol=1e-10)
    assert np.allclose(runs[0]["energy"].total, runs[1]["energy"].total, rtol=1e-12)
    labels = [run.plan.model.row_labels for run in runs]
    assert list(labels[0]) == list(labels[1]) and list(runs[0].plan.model.coordinates) == list(runs[1].plan.model.coordinates)
    assert np.array_equal(runs[1]["link 4 x"], runs[1].q[:, runs[1].plan.model.coordinates.index("link 4 x")])


@pytest.mark.parametrize("dimension", [2, 3])
def test_many_parts_are_made_when_they_are_asked_for(dimension):
    _, many = chains(300, dimension)
    assert len(many.bodies) == 300 and len(many.joints) == 300 and len(many.forces) == 300
    body, pin = many.bodies["link 17"], many.joints["pin 17"]
    assert body is many["link 17"] and (body.index, pin.first, pin.second.name) == (17, body, "link 18")
    assert body.mass == pytest.approx(0.27) and body.position == pytest.approx(tuple(zigzag(300, dimension)[17:19].mean(axis=0)))
    assert "link 300" not in many.bodies and "link 017" not in many.bodies and "pin 299" not in many.joints
    assert body.shapes[0].kind == "rod" and many.params["coil 7.stiffness"] == 17.0
    sol = simulate(many, 2e-3, **STEPS)
    assert sol.plan.tier == "tables" and np.isfinite(sol["link 299"].position).all()
    assert sol["pin 100"].force.shape == (3, dimension)


def test_a_number_of_one_part_can_be_set_and_swept():
    one, many = chains(4)
    for m in (one, many):
        m.params["link 2.mass"] = 0.5  # the inertia of a shape grows with its mass
        m.params["link 1.inertia"] = 1e-3
        m.params["link 1.mass"] = 0.3  # and stays where it was set
        m.params["coil 1.stiffness"] = 99.0
    assert dict(many.params) == pytest.approx(dict(one.params), rel=1e-12)
    for compile in ("now", "never"):
        runs = [simulate(m, 0.02, compile=compile, **STEPS) for m in (one, many)]
        assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)
        given = {"link 3.mass": [0.1, 0.4], "coil 0.stiffness": [5.0, 50.0]}
        swept = [sweep(m, 0.01, params=given, save_at=2, compile=compile) for m in (one, many)]
        assert np.allclose(swept[0].q, swept[1].q, rtol=0, atol=1e-9)
    with pytest.raises(UnknownName, match=r"there is no parameter 'link 4.mass'"):
        many.params["link 4.mass"]
    with pytest.raises(BadArgument, match=r"link 2.mass = -1 must be positive"):
        many.params["link 2.mass"] = -1.0


def test_a_parameter_that_is_set_reaches_tables_that_were_made():
    one, many = chains(4)
    for m in (one, many):
        simulate(m, 2e-3, compile="never", **STEPS)
        m.params["link 2.mass"] = 0.5
    runs = [simulate(m, 0.02, compile="never", **STEPS) for m in (one, many)]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-13)


def test_copies_are_bodies_at_many_places():
    at, angle = np.array([[0.0, 0.0], [0.5, 0.1], [1.0, 0.3]]), np.array([0.1, 0.2, 0.3])
    shapes = box((0.05, 0.0), (0.1, 0.05), mass=0.2), disk((0.1, 0.02), 0.02, mass=0.1)
    one, many = Mechanism(), Mechanism()
    for i in range(3):
        one.body(f"part {i}", *shapes, at=at[i], angle=angle[i])
    many.copies("part", *shapes, at=at, angle=angle)
    assert dict(many.params) == pytest.approx(dict(one.params), rel=1e-13, abs=1e-15)
    for i in range(3):
        a, b = one.bodies[f"part {i}"], many.bodies[f"part {i}"]
        assert a.rotation == pytest.approx(b.rotation) and a.size == pytest.approx(b.size)
        for s, t in zip(a.shapes, b.shapes, strict=True):
            assert s.kind == t.kind and s.centre == pytest.approx(t.centre) and s.axes == pytest.approx(t.axes)
    space = Mechanism(gravity=(0, 0, -9.81))
    balls = space.copies("ball", at=np.eye(3), mass=[1.0, 2.0, 3.0], inertia=(0.1, 0.2, 0.25))
    assert balls[1].mass == 2.0 and np.allclose(balls.position, np.eye(3)) and space.params["ball 2.inertia.yy"] == 0.2


@pytest.mark.parametrize("stiffness", [None, 200.0])
def test_a_net_is_its_knots_and_ties(stiffness):
    rows, columns, one, many = 3, 4, Mechanism(), Mechanism()
    damping = None if stiffness is None else 0.01
    ties = {"stiffness": stiffness, "damping": damping}
    knots = many.net("net", at=((0, 0), (0, -0.2), (0.3, 0)), size=(rows, columns), mass=0.12, **ties)
    place = lambda k: (0.1 * (k % columns), -0.1 * (k // columns))
    for k in range(rows * columns):
        one.body(f"net {k}", at=place(k), mass=0.01)
    pairs = [(k, other) for k in range(12) for other, there in ((k + 4, k + 4 < 12), (k + 1, k % 4 < 3)) if there]
    for number, (k, other) in enumerate(pairs):
        ends = {"at": (place(k), place(other))}
        if stiffness is None:
            one.distance(f"net rod {number}", f"net {k}", f"net {other}", **ends)
        else:
            one.spring(f"net spring {number}", f"net {k}", f"net {other}", stiffness=stiffness, damping=damping, **ends)
    for m in (one, many):
        m.revolute("held", m.ground, "net 0", at=(0, 0))
    assert dict(many.params) == pytest.approx(dict(one.params), rel=1e-12, abs=1e-15) and len(knots) == 12
    for compile in ("now", "never"):
        runs = [simulate(m, 0.01, compile=compile, **STEPS) for m in (one, many)]
        assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_unit_is_repeated_with_its_joints_and_forces(dimension):
    up = lambda x, y: (x, y) if dimension == 2 else (x, 0.0, y)
    axis = {} if dimension == 2 else {"axis": (0, 1, 0)}

    def draw(m, x, names):
        crank, bar = (m.body(name, rod(up(x + a, b), up(x + c, d), mass=w, width=0.05)) for name, a, b, c, d, w in (
            (names("crank"), 0, 0, 0.5, -0.6, 1.0), (names("bar"), 0.5, -0.6, 1.3, -0.6, 0.5)))  # fmt: skip
        m.revolute(names("A"), m.ground, crank, at=up(x, 0), **axis)
        m.revolute(names("B"), crank, bar, at=up(x + 0.5, -0.6), **axis)
        m.spring(names("coil"), m.ground, bar, at=(up(x + 0.6, -1.2), up(x + 0.9, -0.6)), stiffness=40.0, damping=0.3)
        m.torsion_spring(names("B"), stiffness=2.0)

    unit, one, many = (Mechanism(gravity(dimension)) for _ in range(3))
    draw(unit, 0.0, lambda name: name)
    row = many.repeat("row", unit, times=3, step=up(1, 0))
    for i in range(3):
        draw(one, float(i), lambda name, i=i: f"row {name} {i}")
    at = np.array([up(i + 1.0, -1.0) for i in range(2)])
    springs = many.damper("soft", row["bar"][:-1], row["crank"][1:], at=(at, at + np.array(up(0.1, 0.4))), damping=2.0)
    for i in range(2):
        one.damper(f"soft {i}", f"row bar {i}", f"row crank {i + 1}", at=(at[i], at[i] + np.array(up(0.1, 0.4))), damping=2.0)
    assert len(springs) == 2 and springs[1].name == "soft 1"
    assert dict(many.params) == pytest.approx(dict(one.params), rel=1e-12, abs=1e-15)
    for m in (one, many):
        m.params["row B 1.x"] += 1e-5  # the spring on the joint moves with it
    order = [list(one.bodies).index(name) for name in many.bodies]
    for compile in ("now", "never"):
        runs = [simulate(m, 0.01, compile=compile, **STEPS) for m in (one, many)]
        nq = runs[0].q.shape[1] // 6
        mine = runs[1].q.reshape(3, 6, nq)
        assert np.allclose(runs[0].q.reshape(3, 6, nq)[:, order], mine, rtol=0, atol=1e-12)
        assert np.allclose(runs[0]["row B 2"].force, runs[1]["row B 2"].force, rtol=1e-9, atol=1e-10)


def test_springs_on_joints_in_a_row():
    one, many = chains(5)
    pins = many.revolute("extra", many.bodies_in("link")[:2], many.bodies_in("link")[2:4], at=np.zeros((2, 2)) + 0.3)
    for i in range(2):
        one.revolute(f"extra {i}", f"link {i}", f"link {i + 2}", at=(0.3, 0.3))
        one.torsion_spring(f"extra {i}", stiffness=3.0 + i, damping=0.1)
    many.torsion_spring(pins, stiffness=[3.0, 4.0], damping=0.1)
    assert dict(many.params) == pytest.approx(dict(one.params), abs=1e-13) and "extra 1 spring" in many.forces
    runs = [simulate(m, 0.005, compile="never", **STEPS) for m in (one, many)]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-11)
    assert np.allclose(runs[0]["extra 1 spring"].torque, runs[1]["extra 1 spring"].torque, atol=1e-9)


def test_other_parts_are_joined_to_some_of_many():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (12, 0)), links=120, mass=1.2, first=m.ground)
    weight = m.body("weight", at=(6.05, 0), mass=2.0, inertia=0.1)
    m.revolute("hook", "rope 60", weight, at=(6.05, 0))
    m.point("tip", "rope 119", at=(12, 0))
    m.motor("rope pin 5", torque=0.2)
    m.friction("rope pin 7", coulomb=0.01)
    m.force("air", "rope 30", value=lambda tip: -0.01 * tip.velocity)
    sol = simulate(m, 5e-3, **STEPS)
    assert sol.plan.tier == "tables" and sol["tip"].position[0] == pytest.approx([12, 0]) and sol["hook"].force.shape == (3, 2)
    assert abs(sol["rope pin 5 motor"].torque[0]) == pytest.approx(0.2)
    whole = simulate(m, 5e-3, compile="never", step=1e-3, integrator=RK4(), stabilization=Projection())
    assert np.allclose(whole.q[-1], sol.q[-1], atol=1e-13)
    m.drive("rope pin 0", speed=2.0)
    assert simulate(m, 2e-3, **STEPS)["rope 0"].angular_velocity[-1] == pytest.approx(2.0)


def test_mechanisms_and_solutions_with_series_travel():
    _, many = chains(120)
    again = pickle.loads(pickle.dumps(many))
    assert again.bodies["link 5"].mass == many.bodies["link 5"].mass
    sol = simulate(again, 2e-3, **STEPS)
    back = pickle.loads(pickle.dumps(sol))
    assert np.array_equal(back.q, simulate(many, 2e-3, **STEPS).q) and np.allclose(back["pin 3"].force, sol["pin 3"].force)
    stepper = Stepper(many, stabilization=Projection())
    stepper.step(1e-3)
    assert np.isfinite(stepper.q).all()


def test_saved_runs_have_the_parts_of_series(tmp_path):
    from holonomic import load

    _, many = chains(4)
    sol = simulate(many, 5e-3, **STEPS)
    sol.save(tmp_path / "run.nc")
    back = load(tmp_path / "run.nc")
    assert np.allclose(back["pin 2"].force, sol["pin 2"].force) and np.allclose(back["link 3"].position, sol["link 3"].position)


def test_statics_and_mobility_know_series():
    one, many = chains(3)
    assert str(many.mobility()) == str(one.mobility())
    for m in (one, many):
        m.params["load.value.x"] = 0.0
    assert np.allclose(equilibrium(many).q, equilibrium(one).q, atol=1e-8)


def test_many_bodies_are_counted_and_sliced():
    m = Mechanism()
    rods = m.chain("rope", at=((0, 0), (1, 0)), links=10, mass=1.0)
    assert len(rods) == 10 and [body.name for body in rods[::3]] == ["rope 0", "rope 3", "rope 6", "rope 9"]
    assert rods[-1].name == "rope 9" and repr(rods[2:4]) == "Bodies('rope 2' .. 'rope 3': 2)"
    assert repr(m) == "Mechanism(planar: 10 bodies, 9 joints)"
    assert "rope 0.mass .. rope 9.mass" in repr(m.params)


POINTS = zigzag(3)
PAIRS = {"at": (POINTS[:2], POINTS[1:3])}


def rods(m):
    return m.bodies_in("a")


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda m: m.rods("r", POINTS[:2], POINTS[:2], 1.0), r"body 'r 0': both ends of this rod are at \(0.0, 0.0\)"),
        (lambda m: m.rods("r", POINTS[:-1], POINTS[1:], [1.0, -2.0, 1.0]), r"mass of 'r 1' = -2 must be positive"),
        (lambda m: m.rods("r", POINTS[:-1], POINTS[1:], [1.0, np.nan, 1.0]), r"mass of 'r 1' must be finite, got nan"),
        (lambda m: m.rods("r", POINTS[:-1], POINTS[1:], [1.0, 2.0]), r"an array of shape \(2,\) for 3 parts"),
        (lambda m: m.rods("r", POINTS[:-1], POINTS[1:], "heavy"), r"must be a number, got 'heavy'"),
        (lambda m: m.rods("r", POINTS[:2], POINTS, 1.0), r"'r': 2 of one and 4 of the other"),
        (lambda m: m.rods("r", POINTS[:, :1], POINTS, 1.0),
         r"an array of shape \(4, 1\); points of 2 numbers stand in one of \(n, 2\)"),
        (lambda m: m.rods("r", POINTS + [[0, 0], [np.inf, 0], [0, 0], [0, 0]], POINTS, 1.0),
         r"start of 'r': point 1 is not finite"),
        (lambda m: m.rods("r", np.zeros((0, 2)), POINTS, 1.0), r"'r': there are none"),
        (lambda m: m.rods("a", POINTS[:-1], POINTS[1:], 1.0), r"the name 'a 0' is used twice: there is a body 'a 0' already"),
        (lambda m: m.rods("b", POINTS[:-1], POINTS[1:], 1.0), r"the name 'b 2' is used twice: there is a body 'b 2' already"),
        (lambda m: m.body("a 1", at=(0, 0), mass=1.0), r"the name 'a 1' is used twice"),
        (lambda m: m.copies("c", at=POINTS), r"body 'c' has no mass"),
        (lambda m: m.revolute("p", rods(m), rods(m)[:2], at=POINTS[:3]), r"'p': 3 of one and 2 of the other|2 of one"),
        (lambda m: m.revolute("p", rods(m), m.bodies["a 1"], at=POINTS[:3]), r"joint 'p 1' joins body 'a 1' with itself"),
        (lambda m: m.revolute("p", rods(m)[:2], rods(m)[1:], at=POINTS), r"at of 'p' has 4 points for 2 elements"),
        (lambda m: m.spring("s", rods(m)[:2], rods(m)[1:], at=(POINTS[:2], POINTS[:2]), stiffness=1.0, length=0.1),
         r"spring 's 0' is drawn with its ends in one place"),
        (lambda m: m.spring("s", rods(m)[:2], rods(m)[1:], stiffness=[1.0, -1.0], **PAIRS),
         r"'s 1.stiffness' = -1 must not be negative"),
        (lambda m: m.spring("s", rods(m)[:2], rods(m)[1:], at=POINTS[:2], stiffness=1.0), r"'s' needs two rows of points"),
        (lambda m: m.revolute("p", rods(m), Mechanism().ground, at=POINTS[:3]), r"belongs to another mechanism"),
        (lambda m: m.gear("g", rods(m), m.ground, at=(POINTS[0], POINTS[1]), radii=(1, 1)),
         r"3 bodies where one is asked for"),
        (lambda m: m.chain("c", at=((0, 0), (1, 0)), links=3, mass=-1.0), r"mass of 'c 0' = -0.333333 must be positive"),
        (lambda m: m.net("n", at=((0, 0), (0, 1), (1, 0)), size=(2, 0), mass=1.0), r"size=\(2, 0\) is a pair of whole numbers"),
        (lambda m: m.net("n", at=((0, 0), (0, 1)), size=(2, 2), mass=1.0), r"at= is three points"),
        (lambda m: m.net("n", at=((0, 0), (0, 0), (1, 0)), size=(2, 2), mass=1.0), r"net 'n' has a row or a column without extent"),
        (lambda m: m.net("n", at=((0, 0), (0, 1), (1, 0)), size=(2, 2), mass=1.0, damping=1.0), r"damping= goes with stiffness="),
        (lambda m: m.repeat("u", m, times=2, step=(1, 0)), r"repeat 'u' needs another Mechanism of 2 dimensions"),
        (lambda m: m.repeat("u", Mechanism(), times=2, step=(1, 0)), r"repeat 'u': the unit has no bodies"),
        (lambda m: m.repeat("u", Mechanism(gravity=(0, 0, 0)), times=2, step=(1, 0)), r"of 2 dimensions"),
    ],
)  # fmt: skip
def test_bad_arrays_are_refused_with_the_name_of_the_part(draw, says):
    m = Mechanism()
    m.rods("a", POINTS[:-1], POINTS[1:], 1.0)
    m.body("b 2", at=(0, 0), mass=1.0)
    before = len(m.bodies), len(m.params)
    with pytest.raises(BadArgument, match=says):
        draw(m)
    assert (len(m.bodies), len(m.params)) == before  # nothing is left of what was refused


def test_open_joints_in_a_row_are_named():
    from holonomic.errors import InconsistentState

    m = Mechanism()
    rods = m.rods("r", zigzag(120)[:-1], zigzag(120)[1:], 0.1)
    at = zigzag(120)[1:-1]
    moved = at.copy()
    moved[7] += 2.0
    m.revolute("p", rods[:-1], rods[1:], at=(at, moved))
    m.revolute("held", m.ground, rods[0], at=(0, 0))
    with pytest.raises(InconsistentState, match=r"joint 'p 7' is open by 2.83 in the drawing"):
        simulate(m, 1e-3)


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda m: m.chain("c", at=((0, 0), (1, 0)), links=10**12, mass=1.0),
         r"chain 'c': 1000000000000 bodies take about 190000.0 GB, and"),
        (lambda m: m.net("n", at=((0, 0), (0, 1), (1, 0)), size=(10**6, 10**6), mass=1.0),
         r"net 'n': 1000000000000 bodies take about"),
        (lambda m: m.repeat("u", one_rod(), times=10**12, step=(1, 0)), r"repeat 'u': 1000000000000 bodies take about"),
    ],
)  # fmt: skip
def test_more_bodies_than_memory_holds_are_refused_before_they_are_drawn(draw, says):
    with pytest.raises(BadArgument, match=says):
        draw(Mechanism())


def one_rod():
    m = Mechanism()
    m.body("a", rod((0, 0), (1, 0), mass=1.0))
    return m


def test_tables_that_memory_does_not_hold_are_refused_before_they_are_made(monkeypatch):
    from holonomic.model import given_numbers

    m = Mechanism()
    m.chain("rope", at=((0, 0), (1, 0)), links=1000, mass=1.0)
    monkeypatch.setattr(given_numbers.os, "sysconf", lambda name: 1000 if name == "SC_PHYS_PAGES" else 4096)
    with pytest.raises(BadArgument, match=r"this mechanism as tables: 1000 bodies take about 0.0 GB, and this machine has 0.0 GB"):
        simulate(m, 1e-3)


def test_a_net_of_many_springs_is_at_once():
    m = Mechanism()
    knots = m.net("net", at=((0, 0), (0, -9.9), (9.9, 0)), size=(100, 100), mass=1.0, stiffness=10.0)
    m.revolute("held", m.ground, knots[0], at=(0, 0))
    assert m.assembly.gaps == {} and len(m.forces) == 2 * 100 * 99  # no force is looked at by itself, which took seconds


@pytest.mark.parametrize("dimension", [2, 3])
def test_energies_of_parts_in_rows_are_those_of_the_model(dimension):
    _, many = chains(6, dimension)
    sol = simulate(many, 0.02, compile="never", **STEPS)
    parts = sol["energy"]
    assert np.allclose(parts.kinetic, sol.energy.kinetic, rtol=1e-12) and parts.elastic[-1] > 0
    assert np.allclose(parts.gravity + parts.elastic, sol.energy.potential, rtol=1e-12)
    swept = sweep(many, 0.02, params={"link 3.mass": [0.13, 0.3], "coil 1.stiffness": [11.0, 40.0]}, save_at=3, compile="never")
    alone = many.params["link 3.mass"], many.params["coil 1.stiffness"]
    assert alone == pytest.approx((0.13, 11.0))
    assert np.allclose(swept["energy"].total[0], simulate(many, 0.02, compile="never", save_at=3)["energy"].total, rtol=1e-6)


def test_mobility_of_large_mechanisms_is_counted_by_tables():
    m = Mechanism()
    rods = m.chain("rope", at=((0, 0), (40, 0)), links=400, mass=4.0, first=m.ground)
    assert str(m.mobility()) == "400 degrees of freedom; 800 of 800 rows independent"
    m.revolute("again", rods[:2], rods[1:3], at=[(0.1, 0), (0.2, 0)])  # two pins that are there already
    found = m.mobility()
    assert (found.dof, found.rows, found.rank, found.redundant) == (400, 804, 800, {"again 0": 2, "again 1": 2})
    still = Mechanism()
    still.net("net", at=((0, 0), (0, -1.9), (1.9, 0)), size=(20, 20), mass=1.0, stiffness=3.0)
    assert still.mobility().dof == 1200


def test_springs_on_very_many_hinges_in_space_are_those_of_each():
    points, runs = np.zeros((130, 3)), []
    points[:, 0] = 0.1 * np.arange(130)
    one, many = Mechanism(gravity=(0, 0, -9.81)), Mechanism(gravity=(0, 0, -9.81))
    rods = many.rods("b", points[:-1], points[1:], 0.1, width=0.01)
    many.torsion_spring(many.revolute("h", rods[:-1], rods[1:], at=points[1:-1], axis=(0, 1, 0)), stiffness=2.0, damping=0.01)
    for i in range(129):
        one.body(f"b {i}", rod(points[i], points[i + 1], mass=0.1, width=0.01))
    for i in range(128):
        one.revolute(f"h {i}", f"b {i}", f"b {i + 1}", at=points[i + 1], axis=(0, 1, 0))
        one.torsion_spring(f"h {i}", stiffness=2.0, damping=0.01)
    for m in (one, many):
        m.revolute("held", m.ground, "b 0", at=points[0], axis=(0, 1, 0))
        runs.append(simulate(m, 5e-3, **STEPS))
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-11)


def test_messages_about_many_elements_have_the_name_that_was_given():
    m = Mechanism()
    knots = m.copies("b", at=[(0, 0), (1, 0)], mass=1.0)
    with pytest.raises(BadArgument, match=r"revolute 'j': a hinge in the plane turns in the plane"):
        m.revolute("j", m.ground, knots, at=[(0, 0), (1, 0)], axis=(1, 0))
    with pytest.raises(UnknownName, match=r"'b 1' has b 1.mass, b 1.x, b 1.y\."):
        m.params["b 1.weight"]


@pytest.mark.parametrize("compile", ["never", "now"])
def test_laws_that_ask_for_all_parameters_are_read_in_results(compile):
    found = []
    for m in chains(3):
        m.parameter("k", 2.0)
        m.motor("pin 1", torque=lambda p, angle: -p.k * np.sin(angle) - p["link 2.mass"])
        sol = simulate(m, 0.05, compile=compile, **STEPS)
        runs = sweep(m, 0.05, params={"k": [2.0, 3.0]}, compile=compile, progress=False, **STEPS)
        found.append([sol["pin 1 motor"].torque, sol["power"].motor, runs["pin 1 motor"].torque])
    for one, many in zip(*found, strict=True):
        assert one == pytest.approx(many, abs=1e-11)
    assert found[0][2][0] == pytest.approx(found[0][0], abs=1e-11)


@pytest.mark.parametrize(("draw", "says"), [
    (lambda m, b: m.distance("d", b[:-1], b[1:], at=(zigzag(3)[:2], zigzag(3)[1:3]), length=lambda t: 0.1 + t),
     "distance 'd': length= of many is a number or an array; draw actuators one by one."),
    (lambda m, b: m.torsion_spring(m.distance("d", b[:-1], b[1:], at=(zigzag(3)[:2], zigzag(3)[1:3])), stiffness=1.0),
     "spring of joint 'd': a distance joint has neither one angle nor one position."),
    (lambda m, b: m.motor(m.revolute("d", b[:-1], b[1:], at=zigzag(3)[1:3]), torque=1.0),
     "motor: 2 joints where one is asked for. Springs on joints are drawn in a row, by torsion_spring; for anything else take "
     "one of them, joints[0]."),
    (lambda m, b: b["link 1"],
     "Bodies('link 0' .. 'link 2': 3) takes a number, a slice or a row of numbers in brackets, got 'link 1'."),
    (lambda m, b: b[1.5], "Bodies('link 0' .. 'link 2': 3) takes a number, a slice or a row of numbers in brackets, got 1.5."),
])  # fmt: skip
def test_what_many_parts_do_not_take_is_said(draw, says):
    m, points = Mechanism(), zigzag(3)
    rods = m.rods("link", points[:-1], points[1:], mass=1.0)
    with pytest.raises(BadArgument) as told:
        draw(m, rods)
    assert str(told.value) == says


def test_a_chain_that_is_refused_leaves_nothing_behind():
    m = Mechanism()
    with pytest.raises(BadArgument, match=r"^there is no body 'nobody'"):
        m.chain("rope", at=((0, 0), (1, 0)), links=3, mass=1.0, first="nobody")
    assert not len(m.bodies) and not len(m.joints)
