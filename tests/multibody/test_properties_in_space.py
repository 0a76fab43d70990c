"""What must hold for every mechanism in space: frames, names, cuts; third law at every joint; loops stay closed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holonomic import InconsistentState, Projection, SingularPosition, simulate
from holonomic.model.call_by_name import param_names
from holonomic.multibody import Mechanism, box, disk, rod
from holonomic.multibody.results import MechanismRecord

RTOL = 1e-8
few = settings(max_examples=3, deadline=None, derandomize=True)
ANGLES = st.tuples(*[st.floats(0.1, 3)] * 3)  # not 0: zeros make other equations, which are compiled anew


def rotation(angles):
    """Rotation about x, then y, then z."""
    made = np.eye(3)
    for axis, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[i, i], turn[i, j], turn[j, i], turn[j, j] = c, -s, s, c
        made = turn @ made
    return made


def chain(R=None, shift=(0, 0, 0), names=("a", "b"), order=(0, 1), flip=False):
    """A hinge, a universal joint and a spring, drawn anywhere, bodies in any order and under any names."""
    R = np.eye(3) if R is None else R
    put = lambda *x: tuple(R @ np.array(x, dtype=float) + shift)
    turn = lambda *x: tuple(R @ np.array(x, dtype=float))
    m = Mechanism(gravity=turn(0.3, 0.2, -9.81))
    parts = [
        lambda: m.body(names[0], box(put(0.4, 0.1, 0.2), (0.9, 0.2, 0.3), mass=2.0, axes=R)),
        lambda: m.body(names[1], box(put(0.9, 0.2, -0.3), (0.2, 0.3, 1.0), mass=1.5, axes=R)),
    ]
    for i in order:
        parts[i]()
    pair = (names[0], "ground") if flip else ("ground", names[0])
    m.revolute("A", *pair, at=put(0, 0, 0), axis=turn(0.2, 1, 0.1))
    m.universal("B", names[0], names[1], at=put(0.8, 0.1, 0.2), axis=turn(1, 0, 0), other=turn(0, 1, 0))
    m.spring("s", "ground", names[1], at=(put(1.5, 0.5, 0), put(0.9, 0.2, -0.8)), stiffness=30.0)
    return m


def run(m):
    return simulate(m, 0.5, rtol=RTOL, save_at=4)


@pytest.fixture(scope="module")
def plain():
    return run(chain())


@given(angles=ANGLES, shift=ANGLES)
@few
def test_another_frame_changes_nothing(plain, angles, shift):
    R = rotation(angles)
    there = run(chain(R, shift))
    np.testing.assert_allclose((there["b"].position - shift) @ R, plain["b"].position, atol=10 * RTOL)
    for name in "AB":
        np.testing.assert_allclose(there[name].force @ R, plain[name].force, atol=1e-4)  # up to 60 N, second derivatives
        np.testing.assert_allclose(there[name].torque @ R, plain[name].torque, atol=1e-4)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("flip", [False, True])
def test_names_order_and_sides_change_nothing(plain, order, flip):
    other = run(chain(names=("second", "first"), order=order, flip=flip))
    np.testing.assert_allclose(other["first"].position, plain["b"].position, atol=10 * RTOL)
    sign = -1.0 if flip else 1.0
    np.testing.assert_allclose(sign * other["A"].force, plain["A"].force, atol=1e-4)
    np.testing.assert_allclose(sign * other["A"].angle, plain["A"].angle, atol=10 * RTOL)


@given(share=st.floats(0.2, 0.8))
@few
def test_splitting_a_body_into_two_welded_ones_changes_nothing(share):
    runs = []
    for cut in (None, share):
        m = Mechanism(gravity=(0, 0, -9.81))
        if cut is None:
            m.body("left", box((0.5, 0, 0), (1.0, 0.2, 0.1), mass=2.0))
        else:
            m.body("left", box((cut / 2, 0, 0), (cut, 0.2, 0.1), mass=2.0 * cut))
            m.body("right", box(((1 + cut) / 2, 0, 0), (1 - cut, 0.2, 0.1), mass=2.0 * (1 - cut)))
            m.fixed("weld", "left", "right", at=(cut, 0, 0))
        m.revolute("A", m.ground, "left", at=(0, 0, 0), axis=(0, 1, 0.3))
        runs.append(run(m))
    np.testing.assert_allclose(runs[1]["A"].angle, runs[0]["A"].angle, atol=10 * RTOL)
    np.testing.assert_allclose(runs[1]["A"].force, runs[0]["A"].force, atol=1e-5)


@given(speed=st.lists(st.floats(-2, 2), min_size=12, max_size=12))
@few
def test_free_bodies_on_a_ball_joint_keep_momentum_and_energy(speed):
    m = Mechanism(gravity=(0, 0, 0))
    m.body("a", box((0, 0, 0), (0.5, 0.2, 0.3), mass=1.0))
    m.body("b", box((1, 0, 0), (0.3, 0.4, 0.2), mass=2.0))
    m.spherical("ball", "a", "b", at=(0.4, 0.1, 0))
    m.spring("s", "a", "b", at=((0.2, 0.05, 0.1), (0.9, -0.1, 0)), stiffness=20.0)
    sol = simulate(m, 0.5, q0=m.assembly.q, v0=speed, initial="project", rtol=RTOL, save_at=4)
    momentum = 1.0 * sol["a"].velocity + 2.0 * sol["b"].velocity
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=10 * RTOL)
    spin = 0.0
    for name, mass in (("a", 1.0), ("b", 2.0)):
        J = np.diag([m.params[f"{name}.inertia.{axis}"] for axis in ("xx", "yy", "zz")])
        R = sol[name].rotation
        spin = spin + mass * np.cross(sol[name].position, sol[name].velocity)
        spin = spin + np.einsum("tij,jk,tlk,tl->ti", R, J, R, sol[name].angular_velocity)
    np.testing.assert_allclose(spin, np.broadcast_to(spin[0], spin.shape), atol=100 * RTOL)
    assert np.ptp(sol["energy"].total) < 100 * RTOL * (1 + sol["energy"].total[0])


KINDS = {
    "revolute": {"axis": (0.2, 1, 0)}, "prismatic": {"axis": (0.2, 1, 0)}, "fixed": {}, "spherical": {},
    "cylindrical": {"axis": (0.2, 1, 0)}, "universal": {"axis": (1, 0, 0), "other": (0, 1, 0)},
    "planar": {"axis": (0, 0, 1)}, "pin_in_slot": {"axis": (1, 0, 0)},
    "distance": {"at": ((0.3, 0, 0), (0.8, 0.1, 0.1))}, "gear": {"ratio": 2.0, "axis": ((0, 0, 1), (1, 0, 0))},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [2, 3])
def test_every_joint_pushes_its_first_body_as_it_pushes_its_second(kind, dimension):
    """Newton's third law: opposite forces, and opposite torques about one point. A ratio has its housing between."""
    if dimension == 2 and kind in ("spherical", "cylindrical", "universal", "planar", "gear"):
        pytest.skip("in space only, or with a housing")
    cut = lambda point: point[:dimension]
    m = Mechanism(gravity=cut((0.3, -9.81, -3.0)))
    m.body("a", box(cut((0, 0, 0)), cut((0.6, 0.4, 0.3)), mass=2.0))
    m.body("b", box(cut((1, 0.2, 0.1)), cut((0.5, 0.3, 0.2)), mass=1.0))
    m.spring("s", m.ground, "b", at=(cut((1.0, 1.5, 0.4)), cut((1.2, 0.1, 0.0))), stiffness=40.0)
    more = {key: value if key == "ratio" else cut(value) if np.ndim(value) == 1 else tuple(map(cut, value))
            for key, value in KINDS[kind].items()}  # fmt: skip
    if dimension == 2 and kind == "revolute":
        more = {}
    if kind != "gear":
        more.setdefault("at", cut((0.5, 0.1, 0)))
    getattr(m, kind)("J", "a", "b", **more)
    sol = simulate(m, 0.3, save_at=3)
    resolver, model = sol.plan.model.system.resolver, sol.plan.model
    p = resolver._with_built_in(param_names(sol.trail.data, model.places))
    record = MechanismRecord(resolver, sol.t, sol.q, sol.v, sol.a, sol.lam, p, {})
    joint, point = resolver.joints["J"], record.place(resolver.joints["J"].marks[1])[0]
    wrenches = [record.kit.wrench_at(record.q, k, record.generalized_reaction(joint, k), point) for k in (0, 1)]
    assert np.abs(record.lam).max() > 1e-3  # it carries something
    for one, other in zip(*wrenches, strict=True) if kind != "gear" else [(wrenches[0][0], wrenches[1][0])]:
        np.testing.assert_allclose(np.array(one), -np.array(other), atol=1e-10)


@given(lengths=st.tuples(*[st.floats(0.3, 1.5)] * 3), axis=ANGLES, base=st.floats(0.4, 1.5), up=st.floats(-0.6, 0.6))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_random_spatial_linkages_stay_closed_or_are_refused_for_a_reason(lengths, axis, base, up):
    """A crank and a rocker on hinges askew, and a rod with balls at both ends between them."""
    crank, coupler, rocker = lengths
    tilt = rotation(axis)
    D = np.array([base, 0.1, up])
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("crank", rod((0, 0, 0), (crank, 0, 0), mass=1.0, width=0.1))
    m.body("coupler", rod((crank, 0, 0), (crank, coupler, 0.1), mass=1.0, width=0.1))
    m.body("rocker", rod(D, D + rocker * tilt[:, 0], mass=1.0, width=0.1))
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=(0.1, 0.2, 1))
    m.revolute("D", m.ground, "rocker", at=D, axis=tilt[:, 2])
    m.spherical("B", "crank", "coupler", at=(crank, 0, 0))
    m.spherical("C", "coupler", "rocker", at=((crank, coupler, 0.1), D + rocker * tilt[:, 0]))
    length = np.hypot(coupler, 0.1)
    near, far = reach(crank, (0.1, 0.2, 1), D, rocker, tilt)
    try:
        m.assemble()
    except InconsistentState as refusal:
        assert "cannot be closed" in str(refusal)
        assert not 1.05 * near < length < 0.95 * far
        return
    assert 0.99 * near <= length <= 1.01 * far  # reach() is sampled
    try:
        # weights that do not depend on the lengths: one compiled model for all examples
        sol = simulate(m, 0.2, stabilization=Projection(metric=(1.0,) * (7 + 6) * 3))
    except SingularPosition:
        return
    ends = sol["B"].place, sol["C"].place
    np.testing.assert_allclose(np.linalg.norm(ends[1] - ends[0], axis=1), length, atol=1e-8)
    assert np.abs(sol.drift.position).max() < 1e-8


def reach(crank, axis, D, rocker, tilt):
    """Smallest and largest distance between the ends of crank and rocker over both turns."""
    n = np.array(axis) / np.linalg.norm(axis)
    angles = np.linspace(0, 2 * np.pi, 181)
    x = np.array([crank, 0, 0])
    B = [x * np.cos(a) + np.cross(n, x) * np.sin(a) + n * (n @ x) * (1 - np.cos(a)) for a in angles]
    C = [D + rocker * (tilt[:, 0] * np.cos(a) + tilt[:, 1] * np.sin(a)) for a in angles]
    apart = np.linalg.norm(np.array(B)[:, None] - np.array(C)[None], axis=2)
    return apart.min(), apart.max()


def test_a_body_rolling_on_the_ground_is_pushed_by_what_the_ground_gives():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("wheel", disk((0, 0, 0.5), 0.5, mass=2.0, axis=(0, 1, 0)))
    m.rolling("road", m.ground, "wheel", at=((0, 0, 0), (0, 0, 0.5)), axis=(0, 1, 0), radius=0.5)
    m.force("pull", "wheel", value=(3.0, 0, 0))
    sol = simulate(m, 0.5, save_at=3)
    total = sol["road"].force + np.array([3.0, 0, -2.0 * 9.81])
    np.testing.assert_allclose(total, 2.0 * sol["wheel"].acceleration, atol=1e-8)
