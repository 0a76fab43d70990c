"""What must hold for every mechanism: names, frames and cuts change nothing; linkages stay closed or are refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holonomic import InconsistentState, SingularPosition, simulate
from holonomic.multibody import Mechanism, box, rod

RTOL = 1e-8
few = settings(max_examples=6, deadline=None, derandomize=True)


def linkage(turn=0.0, shift=(0.0, 0.0), names=("a", "b", "c"), order=(0, 1, 2), flip=False):
    """A four-bar with a spring, drawn anywhere, its bodies in any order and under any names."""
    c, s = np.cos(turn), np.sin(turn)
    put = lambda x, y: (shift[0] + c * x - s * y, shift[1] + s * x + c * y)
    P = {"A": put(0, 0), "B": put(0, 0.5), "C": put(1.2, 0.9), "D": put(1.5, 0)}
    m = Mechanism(gravity=(9.81 * s, -9.81 * c))
    ends = (("A", "B"), ("B", "C"), ("D", "C"))
    for i in order:
        m.body(names[i], rod(P[ends[i][0]], P[ends[i][1]], mass=1.0 + i))
    pairs = (("A", "ground", names[0]), ("B", names[0], names[1]), ("C", names[1], names[2]), ("D", "ground", names[2]))
    for joint, first, second in pairs:
        first, second = (second, first) if flip else (first, second)
        m.revolute(joint, first, second, at=P[joint])
    m.spring("s", m.ground, names[1], at=(put(0.5, 2.0), put(0.6, 0.7)), stiffness=30.0)
    return m, (c, s)


def run(m):
    return simulate(m, 1.0, rtol=RTOL, save_at=5)


@given(turn=st.floats(-3, 3), x=st.floats(-2, 2), y=st.floats(-2, 2))
@few
def test_another_frame_changes_nothing(turn, x, y):
    here, _ = linkage()
    there, (c, s) = linkage(turn, (x, y))
    one, other = run(here), run(there)
    back = np.array([[c, -s], [s, c]])
    for name in "ABCD":
        force = one[name].force
        np.testing.assert_allclose(other[name].force @ back, force, atol=10 * RTOL * 1e2 * np.abs(force).max())
    inside = (other["b"].position - (x, y)) @ back
    np.testing.assert_allclose(inside, one["b"].position, atol=10 * RTOL)


@given(order=st.permutations(range(3)), flip=st.booleans())
@few
def test_relabelling_and_reordering_change_nothing(order, flip):
    plain, _ = linkage()
    renamed, _ = linkage(names=("third", "first", "second"), order=order, flip=flip)
    one, other = run(plain), run(renamed)
    np.testing.assert_allclose(other["first"].position, one["b"].position, atol=10 * RTOL)
    sign = -1.0 if flip else 1.0
    for name in "ABCD":
        # Newton's third law: the other body feels the opposite
        np.testing.assert_allclose(sign * other[name].force, one[name].force, atol=1e-4)


@given(share=st.floats(0.2, 0.8))
@few
def test_splitting_a_body_into_two_welded_ones_changes_nothing(share):
    whole = Mechanism()
    whole.revolute("O", whole.ground, whole.body("bar", rod((0, 0), (1, 0), mass=2.0)), at=(0, 0))
    cut = (share, 0)
    split = Mechanism()
    split.body("left", rod((0, 0), cut, mass=2.0 * share))
    split.body("right", rod(cut, (1, 0), mass=2.0 * (1 - share)))
    split.revolute("O", split.ground, "left", at=(0, 0))
    split.fixed("weld", "left", "right", at=cut)
    one, other = run(whole), run(split)
    np.testing.assert_allclose(other["O"].angle, one["O"].angle, atol=10 * RTOL)
    np.testing.assert_allclose(other["O"].force, one["O"].force, atol=1e-5)


@given(speed=st.lists(st.floats(-2, 2), min_size=6, max_size=6))
@few
def test_free_bodies_with_a_spring_between_them_keep_momentum_and_energy(speed):
    m = Mechanism(gravity=(0, 0))
    m.body("a", box((0, 0), (0.5, 0.2), mass=1.0))
    m.body("b", box((1, 0), (0.3, 0.4), mass=2.0))
    m.spring("s", "a", "b", at=((0.2, 0.05), (0.9, -0.1)), stiffness=20.0)
    sol = simulate(m, 1.0, q0=m.assembly.q, v0=speed, rtol=RTOL, save_at=5)
    momentum = 1.0 * sol["a"].velocity + 2.0 * sol["b"].velocity
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=10 * RTOL)
    spin = sum(
        mass * (sol[n].position[:, 0] * sol[n].velocity[:, 1] - sol[n].position[:, 1] * sol[n].velocity[:, 0])
        + m.params[f"{n}.inertia"] * sol[n].speed
        for n, mass in (("a", 1.0), ("b", 2.0))
    )
    np.testing.assert_allclose(spin, spin[0], atol=100 * RTOL)
    assert np.ptp(sol["energy"].total) < 100 * RTOL * (1 + sol["energy"].total[0])


@given(lengths=st.tuples(*[st.floats(0.3, 2.0)] * 3), base=st.floats(0.3, 2.0), angle=st.floats(0.2, 2.9))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_random_linkages_assemble_and_stay_closed_or_are_refused_for_a_reason(lengths, base, angle):
    crank, coupler, rocker = lengths
    m = Mechanism()
    B = (crank * np.cos(angle), crank * np.sin(angle))
    m.body("crank", rod((0, 0), B, mass=1.0))
    m.body("coupler", rod(B, (B[0] + coupler, B[1]), mass=1.0))
    m.body("rocker", rod((base, 0), (base, rocker), mass=1.0))
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=B)
    m.revolute("D", m.ground, "rocker", at=(base, 0))
    m.revolute("C", "coupler", "rocker", at=((B[0] + coupler, B[1]), (base, rocker)))
    longest = max(crank, coupler, rocker, base)
    can_close = longest <= crank + coupler + rocker + base - longest
    try:
        m.assemble()
    except InconsistentState as refusal:
        assert "cannot be closed" in str(refusal)
        # a linkage that can close may still be missed from far away, but never one far from its limits
        assert not can_close or 2 * longest > 0.9 * (crank + coupler + rocker + base)
        return
    assert can_close
    try:
        sol = simulate(m, 0.3)
    except SingularPosition:
        return
    gap = sol["coupler"].position - sol["B"].place
    assert np.abs(np.linalg.norm(gap, axis=1) - coupler / 2).max() < 1e-8
    assert np.abs(sol.drift.position).max() < 1e-8


def test_the_drawing_knows_every_shape_in_its_bodys_frame():
    m, _ = linkage(turn=0.7)
    shapes = m.to_system()[0].resolver.drawing()
    assert {name: [part["kind"] for part in parts] for name, parts in shapes.items()} == {n: ["rod"] for n in "abc"}
    for parts in shapes.values():
        assert parts[0]["axes"] == pytest.approx(0.0)
        assert np.abs(parts[0]["centre"]).max() < 1e-12
