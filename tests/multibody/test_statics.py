"""Equilibrium with reactions; eigenfrequencies and damping on the constraints."""

from itertools import pairwise

import numpy as np
import pytest

from holonomic import StepFailed, simulate
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, disk, equilibrium, linearize, rod, statics
from holonomic.multibody.statics import Statics

from .machines import four_bar, pendulum, slider_crank


def test_a_pendulum_hangs_down_and_its_hinge_carries_it():
    rest = equilibrium(pendulum())
    assert rest["O"].angle == pytest.approx(-np.pi / 2)
    assert rest["O"].force == pytest.approx([0, 2.0 * 9.81])
    assert rest.stable


def test_small_swings_have_the_frequency_of_the_physical_pendulum():
    m = pendulum()
    found = linearize(m)
    assert found.frequencies == pytest.approx([np.sqrt(1.5 * 9.81) / (2 * np.pi)], rel=1e-7)
    assert found.damping == pytest.approx([0.0], abs=1e-9)


def test_damping_is_that_of_the_oscillator():
    m = Mechanism(gravity=(0, 0))
    m.prismatic("rail", m.ground, m.body("car", at=(1, 0), mass=2.0), at=(1, 0), axis=(1, 0))
    m.spring("s", m.ground, "car", at=((0, 0), (1, 0)), stiffness=8.0, damping=0.8, length=0.7)
    found = linearize(m)
    assert found.frequencies == pytest.approx([2.0 / (2 * np.pi)], rel=1e-7)
    assert found.damping == pytest.approx([0.1], rel=1e-6)
    assert equilibrium(m)["car"].position[0] == pytest.approx(0.7)


def test_the_double_pendulum_of_point_masses_has_its_two_frequencies():
    m = Mechanism()
    for name, y in (("up", -1.0), ("low", -2.0)):
        m.body(name, at=(0, y), mass=1.0)
    m.distance("first", m.ground, "up", at=((0, 0), (0, -1)))
    m.distance("second", "up", "low", at=((0, -1), (0, -2)))
    found = linearize(m)
    # ω² = (2 ± √2) g/l; the free rotations of the point masses have frequency zero
    wanted = np.sqrt((2 + np.array([-1, 1]) * np.sqrt(2)) * 9.81) / (2 * np.pi)
    assert found.frequencies[-2:] == pytest.approx(wanted, rel=1e-6)


def test_a_run_started_off_rest_swings_with_the_linearized_frequency():
    m = four_bar()
    rest = equilibrium(m)
    found = linearize(m, rest)
    mode = found.modes[:, 0].real
    m.assemble(near=rest.q + 1e-4 * mode)
    period = 1.0 / found.frequencies[0]
    sol = simulate(m, 3 * period, rtol=1e-10, atol=1e-13, save_at=301)
    away = (sol.q - rest.q) @ mode / (mode @ mode)
    np.testing.assert_allclose(away, 1e-4 * np.cos(2 * np.pi * sol.t / period), atol=2e-7)  # squares of 1e-4, times a few


def test_reactions_at_rest_balance_every_body_with_a_spring_and_an_input():
    m = slider_crank()
    m.input("push", 12.0)
    m.force("hand", "slider", value=lambda u: (-u.push, 0))
    m.spring("s", m.ground, "slider", at=((3.0, 0), (1.686, 0)), stiffness=60.0)
    rest = equilibrium(m)
    total = rest["B"].force + rest["guide"].force + rest["s"].force + rest["hand"].force + [0, -9.81]
    assert total == pytest.approx([0, 0], abs=1e-7)


def test_what_only_falls_has_no_equilibrium():
    m = Mechanism()
    m.body("stone", rod((0, 0), (1, 0), mass=1.0))
    with pytest.raises(StepFailed, match="no equilibrium near the start"):
        equilibrium(m)


def test_a_driven_mechanism_cannot_vibrate():
    with pytest.raises(BadArgument, match="no degree of freedom"):
        linearize(slider_crank(angle=0.5))


def test_an_upside_down_pendulum_is_left_for_the_stable_side():
    m = pendulum()
    m.assemble({"O": np.pi / 2 - 0.05})
    assert equilibrium(m)["O"].angle == pytest.approx(-np.pi / 2)


def chain_between(n: int, span: float, length: float = 0.1, mass: float = 0.1):
    """n rods of one length between two pins at one height, drawn as a V."""
    m = Mechanism(gravity=(0, -9.81))
    slope = np.arccos(span / (n * length))
    angles = np.where(np.arange(n) < n // 2, -slope, slope)
    points = np.concatenate([[[0, 0]], np.cumsum(length * np.stack([np.cos(angles), np.sin(angles)], axis=1), axis=0)])
    before = m.ground
    for i, (start, end) in enumerate(pairwise(points)):
        before_here, before = before, m.body(f"rod {i}", rod(start, end, mass=mass))
        m.revolute(f"pin {i}", before_here, before, at=start)
    m.revolute("end", before, m.ground, at=points[-1])
    return m


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_a_cable_hangs_as_the_forces_on_its_links_ask_for(n):
    """Beyond 40 bodies without a matrix of all of it."""
    span, length, mass = 0.077 * n, 0.1, 0.1
    rest = equilibrium(chain_between(n, span))
    # Link by link: the horizontal force H is the same everywhere, the vertical one grows by a weight from link to link, and each
    # link points along the mean of the forces at its ends. H makes the chain as wide as its span.
    vertical = (np.arange(n) - (n - 1) / 2) * mass * 9.81
    low, high = 1e-3, 1e3
    for _ in range(200):
        H = np.sqrt(low * high)
        low, high = (H, high) if length * np.sum(H / np.hypot(H, vertical)) < span else (low, H)
    heights = length * np.cumsum(vertical / np.hypot(H, vertical))
    assert rest.stable
    assert rest.q[1::3] + 0.5 * length * np.sin(rest.q[2::3]) == pytest.approx(heights, abs=1e-10 * n)
    assert abs(rest["end"].force[0]) == pytest.approx(H, rel=1e-7)


def test_a_rope_drawn_level_hangs_down_from_its_one_end():
    """Steps that are too long for its joints to be closed are halved."""
    n = 60
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * n, 0)), links=n, mass=0.1 * n, first=m.ground)
    rest = equilibrium(m)
    assert rest.stable
    assert rest.q[1::3] == pytest.approx(-0.1 * (np.arange(n) + 0.5), abs=1e-9) and abs(rest.q[::3]).max() < 1e-9


def test_exact_stiffness_and_damping_are_those_of_differences_in_space():
    m = Mechanism(gravity=(0, 0, -9.81))
    arm = m.body("arm", at=(0.5, 0, 0), mass=1.0, inertia=(0.01, 0.1, 0.1))
    m.spherical("O", m.ground, arm, at=(0, 0, 0))
    m.spring("s", m.ground, arm, at=((0.6, 0.3, 1.0), (1.0, 0, 0)), stiffness=30.0, damping=2.0, length=0.8)
    traced, differences = Statics(m), Statics(m)
    differences.traced = None
    q, lam = m.assembly.q, np.array([0.3, -0.2, 4.0])
    assert traced.traced is not None
    assert traced.stiffness(q, lam) == pytest.approx(differences.stiffness(q, lam), abs=1e-6)
    assert traced.damping(q, lam) == pytest.approx(differences.damping(q, lam), abs=1e-8)
    for exact, by_differences in zip(traced.forces_and_rows(q), differences.forces_and_rows(q), strict=True):
        assert exact == pytest.approx(by_differences, abs=1e-12)


def test_a_force_that_cannot_be_traced_is_balanced_by_differences():
    m = pendulum()
    m.force("wind", "rod", value=lambda rod: (10.0 + 0.0 * float(f"{rod.angle:.3f}"), 0.0))
    rest = equilibrium(m)
    assert Statics(m).traced is None
    assert rest["O"].angle == pytest.approx(np.arctan2(-2.0 * 9.81, 10.0), abs=1e-8)


def hub(n: int = 6) -> Mechanism:
    """Pendulums on a wheel with a spring."""
    m, random = Mechanism(gravity=(0, -9.81)), np.random.default_rng(0)
    m.revolute("axle", m.ground, m.body("wheel", disk((0, 0), 0.2, mass=1.0)), at=(0, 0.1))
    m.torsion_spring("axle", stiffness=2.0)
    for i in range(n):
        at, turn = 0.15 * np.array([np.cos(i), np.sin(i)]), random.uniform(-3, 3)
        m.body(f"b{i}", rod(at, at + [np.cos(turn), np.sin(turn)], mass=0.3))
        m.revolute(f"j{i}", "wheel", f"b{i}", at=at)
    return m


def frame_of_loops() -> Mechanism:
    """Two four-bars in space on hinges, three of whose rows repeat others, and a spring across."""
    m = Mechanism(gravity=(0, 0, -9.81))
    for k in range(2):
        y = 1.0 * k
        down, far = (0.3, y, -1.0), (1.3, y, -1.2)
        for name, at, to in (("A", (0, y, 0), down), ("B", down, far), ("C", (1.0, y, 0), far)):
            m.body(f"{name}{k}", rod(at, to, mass=1.0, width=0.05))
        for name, one, other, at in (("a", "ground", f"A{k}", (0, y, 0)), ("b", f"A{k}", f"B{k}", down),
                                     ("c", f"B{k}", f"C{k}", far), ("d", "ground", f"C{k}", (1.0, y, 0))):  # fmt: skip
            m.revolute(f"{name}{k}", one, other, at=at, axis=(0, 1, 0))
    m.spring("s", "A0", "C1", at=((0.3, 0, -1.0), (1.3, 1.0, -1.2)), stiffness=20.0, length=1.0)
    return m


def pushed() -> Mechanism:
    """A pendulum with a force that follows it and has no potential, an input among what it is made of."""
    m = pendulum()
    m.input("wind", 3.0)
    m.force("push", "rod", value=lambda rod, u: (-u.wind * rod.angle, 2.0))
    return m


@pytest.mark.parametrize("make", [hub, frame_of_loops, pushed], ids=lambda make: make.__name__)
def test_rest_by_tables_is_that_by_matrices_of_all(make, monkeypatch):
    by_matrices = equilibrium(make())
    monkeypatch.setattr(statics, "LARGE", 0)
    monkeypatch.setattr(statics, "_rest_by_matrices", lambda m, near: None)
    by_tables = equilibrium(make())
    assert by_tables.q == pytest.approx(by_matrices.q, abs=1e-10)
    close = 1e-5 if make is frame_of_loops else 1e-8  # the smallest of rows that repeat others, which tables know to some 1e-6
    assert by_tables.lam == pytest.approx(by_matrices.lam, abs=close)
    assert by_tables.left < 1e-9 and by_tables.stable == by_matrices.stable


def test_rods_in_space_do_not_rest_before_they_hang():
    """Away from rest the stiffness of what turns in space is not symmetric, which is no sign of forces without a potential."""
    m = Mechanism(gravity=(0, 0, -9.81))
    before = "ground"
    for i in range(8):
        m.body(f"b{i}", rod((0.1 * i, 0, 0), (0.1 * i + 0.1, 0, 0), mass=0.1, width=0.01))
        m.spherical(f"j{i}", before, f"b{i}", at=(0.1 * i, 0, 0))
        before = f"b{i}"
    rest = equilibrium(m)
    assert rest.stable and rest.left < 1e-9
    assert rest.q.reshape(-1, 7)[:, 2] == pytest.approx(-0.1 * (np.arange(8) + 0.5), abs=1e-9)


def test_a_rope_that_stands_upright_rests_there_and_is_not_stable():
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0, 6.0)), links=60, mass=6.0, first=m.ground)
    upright = equilibrium(m)
    assert upright.stable is False and upright.q[1::3] == pytest.approx(0.1 * (np.arange(60) + 0.5))
    beside = upright.q + 1e-3 * np.random.default_rng(1).standard_normal(180)
    below = equilibrium(m, near=beside)
    assert below.stable and below.q[1::3] == pytest.approx(-0.1 * (np.arange(60) + 0.5), abs=1e-9)


def test_a_rope_that_nothing_holds_has_no_rest():
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (6.0, 0)), links=60, mass=6.0)
    with pytest.raises(StepFailed, match="no equilibrium near the start"):
        equilibrium(m)


def test_a_jump_of_a_force_is_no_rest_of_a_large_mechanism(monkeypatch):
    """Steps become short there, and the force is left over."""
    monkeypatch.setattr(statics, "LARGE", 0)
    monkeypatch.setattr(statics, "_rest_by_matrices", lambda m, near: None)
    m = Mechanism(gravity=(0, 0))
    m.prismatic("rail", m.ground, m.body("car", at=(1, 0), mass=1.0), at=(1, 0), axis=(1, 0))
    m.force("trap", "car", value=lambda car: (np.where(car.position[0] > 0.3, -1.0, 1.0), 0))
    with pytest.raises(StepFailed, match="a force of 1 N is left over"):
        equilibrium(m)


@pytest.mark.parametrize("stiffness", [1e2, 1e5, 1e8])
def test_a_push_that_follows_a_column_is_seen_among_stiff_bodies(stiffness):
    """Such a force has no potential, and the column may flutter: the stiffness alone does not say whether it is stable."""
    m = Mechanism()
    for name, before, x in (("low", "ground", 0.0), ("high", "low", 1.0)):
        m.body(name, rod((x, 0), (x + 1, 0), mass=1.0))
        m.revolute(f"{name} hinge", before, name, at=(x, 0))
        m.torsion_spring(f"{name} hinge", stiffness=10.0)
    m.force("push", "high", at=(2, 0), value=lambda high: (-30.0 * np.cos(high.angle), -30.0 * np.sin(high.angle)))
    for i in range(60):
        m.body(f"b{i}", rod((2 * i, 3), (2 * i, 4), mass=1.0))
        m.revolute(f"j{i}", "ground", f"b{i}", at=(2 * i, 3))
        m.torsion_spring(f"j{i}", stiffness=stiffness)
    assert equilibrium(m).stable is None
