"""A start with initial="impact": constraints catch a moving system by impulses -GᵀΛ, in the mass metric."""

import numpy as np
import pytest

from holonomic import (
    BadArgument,
    Event,
    InconsistentState,
    Ode,
    Radau,
    System,
    UnknownName,
    compare,
    diagnose,
    gradient,
    load,
    simulate,
    sweep,
)
from holonomic.multibody import Mechanism, box, rod

ROUNDING = 1e-12  # of a solve with a handful of unknowns


def pin(q):
    return np.array([q[0] - 0.5 * np.cos(q[2]), q[1] - 0.5 * np.sin(q[2])])


BAR = System(mass=np.diag([2, 2, 2 / 12]), force=[0, 0, 0], constraint={"pin": pin})
START = {"q0": [0.5, 0, 0], "v0": [0, -4.0, 0]}


def test_a_falling_bar_that_a_pin_catches_at_its_end_swings_on_with_three_quarters_of_its_speed():
    """Angular momentum about the pin: m v l/2 = J ω with J = m l²/3, so ω = 3 v/(2 l) = 6 rad/s; the pin gives m v/4."""
    sol = simulate(BAR, 0.01, **START, initial="impact")
    np.testing.assert_allclose(sol.v[0], [0, -3, -6], atol=ROUNDING)
    np.testing.assert_allclose(sol.impulses, [0, 2.0, -1.0], atol=ROUNDING)
    np.testing.assert_allclose(sol.impulse("pin"), sol.impulses, atol=ROUNDING)
    np.testing.assert_allclose(sol.impulse("pin[1]"), sol.impulses, atol=ROUNDING)
    np.testing.assert_allclose(sol(0.005).impulses, sol.impulses, atol=ROUNDING)
    assert "an impact: impulses of the constraints changed v by 6.1e+00" in repr(sol)


def test_a_mechanism_reads_the_impulse_by_the_name_of_its_joint():
    m = Mechanism(gravity=(0, -9.81))
    m.body("bar", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("P", m.ground, "bar", at=(0, 0))
    m.spring("s", m.ground, "bar", at=((0, 1), (1, 0)), stiffness=3.0)
    sol = simulate(m, 0.1, **START, initial="impact", save_at=[0.05, 0.1])
    np.testing.assert_allclose(sol["P"].impulse, [0, 2.0], atol=ROUNDING)
    np.testing.assert_allclose(sol["P"].angular_impulse, 0.0, atol=ROUNDING)
    np.testing.assert_allclose(sol["P.impulse"], [0, 2.0], atol=ROUNDING)
    assert ".impulse" in repr(sol["P"])
    plain = simulate(m, 0.1)
    assert ".impulse" not in repr(plain["P"])
    with pytest.raises(AttributeError, match="revolute joint 'P' has no impulse: that comes with a run that begins with initial="):
        plain["P"].impulse


def test_impulses_of_joints_in_space_are_the_change_of_momentum_of_every_body():
    """Two boxes that fly are caught by a hinge between them, a drive in it and a ball joint to the ground."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("a", box((0, 0, 0), (1.0, 0.3, 0.2), mass=2.0))
    m.body("b", box((1.0, 0.2, 0), (0.8, 0.2, 0.4), mass=3.0))
    m.spherical("O", m.ground, "a", at=(-0.5, 0.1, 0))
    m.revolute("A", "a", "b", at=(0.5, 0, 0), axis=(0, 1, 1))
    m.drive("A", speed=1.5)
    before = np.array([1.0, 2, -3, 0.3, -0.2, 4, -1.0, 0.5, 2, 1.0, 2, 3])
    sol = simulate(m, 0.01, v0=before, initial="impact")
    after, at = sol.v[0], {name: sol[name].position[0] for name in "ab"}
    J = {name: np.diag([m.params[f"{name}.inertia.{i}{i}"] for i in "xyz"]) for name in "ab"}
    for k, (name, signs) in enumerate({"a": (("O", 1), ("A", -1)), "b": (("A", 1),)}.items()):
        push = sum(sign * sol[joint].impulse for joint, sign in signs)
        turn = sum(
            sign * (sol[joint].angular_impulse + np.cross(sol[joint].place[0] - at[name], sol[joint].impulse))
            for joint, sign in signs
        )
        change = after[6 * k : 6 * k + 6] - before[6 * k : 6 * k + 6]
        np.testing.assert_allclose(push, m.bodies[name].mass * change[:3], atol=1e-10)
        np.testing.assert_allclose(turn, J[name] @ change[3:], atol=1e-10)  # drawn along the ground's axes
    axis = np.array([0, 1, 1]) / np.sqrt(2)
    assert axis @ sol["A"].angular_impulse == pytest.approx(axis @ sol["A drive"].angular_impulse)
    assert sol["A"].speed[0] == pytest.approx(1.5)


@pytest.mark.parametrize("seed", range(3))
def test_energy_lost_is_that_of_the_change_of_velocity_and_moving_constraints_are_met(seed):
    """Carnot's theorem, T⁻ - T⁺ = T(v⁺ - v⁻), where constraints stand still; any M, any G."""
    random = np.random.default_rng(seed)
    root, G = random.normal(size=(5, 5)), random.normal(size=(2, 5))
    M = root @ root.T + 0.1 * np.eye(5)
    still = System(mass=M, force=np.zeros(5), constraint={"g": lambda q: G @ q})
    v = random.normal(size=5)
    sol = simulate(still, 0.1, q0=np.zeros(5), v0=v, initial="impact")
    change = sol.v[0] - v
    assert v @ M @ v - sol.v[0] @ M @ sol.v[0] == pytest.approx(change @ M @ change)
    np.testing.assert_allclose(sol.impulses, M @ change, atol=1e-10)
    moving = System(mass=M, force=np.zeros(5), constraint={"g": lambda q, t: G @ q - 3.0 * t})
    sol = simulate(moving, 0.1, q0=np.zeros(5), v0=v, initial="impact")
    np.testing.assert_allclose(G @ sol.v[0], 3.0, atol=1e-11)
    np.testing.assert_allclose(np.linalg.solve(M, sol.impulses), sol.v[0] - v, atol=1e-10)


def test_rows_that_repeat_each_other_share_the_impulse_or_carry_none():
    twice = {"pin": pin, "again": lambda q: 2.0 * pin(q)}
    doubled = System(mass=BAR.mass, force=[0, 0, 0], constraint=twice)
    with pytest.warns(UserWarning, match="not unique"):
        shared = simulate(doubled, 0.01, **START, initial="impact", redundant="minimum-norm")
    np.testing.assert_allclose(shared.v[0], [0, -3, -6], atol=ROUNDING)
    # Λ shortest: Λ' = 2 Λ, and Λ + 2 Λ' = -2
    np.testing.assert_allclose(shared.impulse("again"), 4 * shared.impulse("pin"), atol=1e-10)
    np.testing.assert_allclose(shared.impulses, [0, 2, -1], atol=1e-10)
    with pytest.warns(UserWarning):
        dropped = simulate(doubled, 0.01, **START, initial="impact", redundant="drop")
    np.testing.assert_allclose(dropped.impulses, [0, 2, -1], atol=1e-10)
    assert min(np.abs(dropped.impulse(name)).max() for name in twice) == 0.0


def test_members_of_a_sweep_are_caught_as_single_runs_are():
    random = np.random.default_rng(4)
    v0, masses = random.normal(size=(12, 3)), np.linspace(0.5, 4, 12)
    bar = System(mass=lambda p: np.diag([p.m, p.m, p.m / 12 + 0.1]), force=[0, 0, 0], constraint={"pin": pin}, params={"m": 1.0})
    runs = sweep(bar, 0.01, q0=START["q0"], v0=v0, params={"m": masses}, initial="impact", save_at=2)
    assert not runs.failed
    for m in range(12):
        alone = simulate(bar.with_params(m=masses[m]), 0.01, q0=START["q0"], v0=v0[m], initial="impact")
        np.testing.assert_allclose(runs.v[m, 0], alone.v[0], atol=1e-11)


def test_impulses_of_members_are_those_of_single_runs():
    random = np.random.default_rng(5)
    v0, masses, wind = random.normal(size=(5, 3)), np.linspace(0.5, 4, 5), random.normal(size=5)
    bar = System(
        mass=lambda p: np.diag([p.m, p.m, p.m / 12 + 0.1]), force=[0, 0, 0], params={"m": 1.0}, inputs={"wind": 0.0},
        constraint={"pin": pin, "turn": lambda q, t, u: q[2] - 0.3 * t}, coordinates=["x", "y", "angle"],
    )  # fmt: skip
    start = np.array([[0.5, 0, 0]] * 5)
    start[4] += 0.1  # off its constraints
    runs = sweep(bar, 0.01, q0=start, v0=v0, params={"m": masses}, inputs={"wind": wind}, initial="impact", save_at=2)
    assert [each.member for each in runs.failed] == [4]
    for m in range(4):
        alone = simulate(bar.with_params(m=masses[m]), 0.01, q0=start[m], v0=v0[m], initial="impact")
        np.testing.assert_allclose(runs.impulses[m], alone.impulses, atol=ROUNDING)
        np.testing.assert_allclose(runs.impulse("pin")[m], alone.impulse("pin"), atol=ROUNDING)
        np.testing.assert_allclose(runs[m].impulses, alone.impulses, atol=ROUNDING)
        np.testing.assert_allclose(runs[m].impulse("turn"), alone.impulse("turn"), atol=ROUNDING)
    assert np.isnan(runs.impulses[4]).all()
    with pytest.raises(UnknownName, match=r"the solution has no constraint 'pinn'. Did you mean 'pin'\?"):
        runs.impulse("pinn")
    with pytest.raises(BadArgument, match="the members did not begin with an impact: impulses come with sweep"):
        sweep(BAR, 0.01, q0=[START["q0"]], v0=[0, 0, 0]).impulses


def test_members_of_a_mechanism_read_impulses_by_the_names_of_joints():
    m = Mechanism(gravity=(0, -9.81))
    m.body("bar", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("P", m.ground, "bar", at=(0, 0))
    v0 = np.array([[0, -4.0, 0], [0, -2.0, 0], [0, 0, 0]])
    given = {"q0": START["q0"], "v0": v0, "params": {"bar.mass": [2.0, 8.0, 1.0]}}
    runs = sweep(m, 0.1, **given, initial="impact")
    wanted = [[0, 2.0], [0, 4.0], [0, 0]]  # a quarter of the momentum
    np.testing.assert_allclose(runs["P"].impulse, wanted, atol=ROUNDING)
    np.testing.assert_allclose(runs["P"].angular_impulse, 0.0, atol=ROUNDING)
    np.testing.assert_allclose(runs[1]["P"].impulse, wanted[1], atol=ROUNDING)
    np.testing.assert_allclose(sweep(m, 0.1, **given, initial="impact", outputs=["P.impulse"])["P.impulse"], wanted, atol=ROUNDING)
    with pytest.raises(AttributeError, match="'P' has no impulse: that comes with a run that begins with initial="):
        sweep(m, 0.1, **given | {"v0": [0, 0, 0]})["P"].impulse


def test_outputs_that_members_do_not_have_are_refused_before_they_run():
    m = Mechanism(gravity=(0, -9.81))
    m.body("bar", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("P", m.ground, "bar", at=(0, 0))
    for name, text in (
        ("P.impluse", "outputs='P.impluse': the revolute joint 'P' has no 'impluse'. It has .angle,"),
        ("P", "outputs='P' has several quantities: name one, as <revolute joint 'P' in a run: .angle, "),
    ):
        with pytest.raises(BadArgument) as refused:
            sweep(m, 0.1, params={"bar.mass": [2.0, 8.0]}, outputs=[name])
        assert str(refused.value).startswith(text)


def test_members_that_stand_elsewhere_are_named():
    away = sweep(BAR, 0.01, q0=[0.5, 0.1, 0], v0=np.ones((12, 3)), initial="impact", save_at=2)
    assert len(away.failed) == 12
    assert "an impact changes velocities alone" in away.failed[0].why
    assert "an impact changes velocities alone" in away.failed[11].why


def test_an_impact_differentiates():
    """ω after the impact is 3/2 of the speed before, so its derivative by v0[1] is 3/2."""
    value, grad = gradient(lambda sol: sol.v[0, 2], BAR, 0.01, **START, wrt="v0", initial="impact", save_at=2)
    assert value == pytest.approx(-6.0)
    np.testing.assert_allclose(grad["v0"], [0, 1.5, 0.25], atol=1e-8)


def test_where_an_event_was_located_is_near_enough_and_further_off_is_refused():
    near = simulate(BAR, 0.01, q0=[0.5, 4e-9, 0], v0=START["v0"], initial="impact")
    assert np.abs(pin(near.q[0])).max() < 1e-10
    with pytest.raises(InconsistentState) as refused:
        simulate(BAR, 0.01, q0=[0.5, 1e-3, 0], v0=START["v0"], initial="impact")
    assert str(refused.value) == (
        "q0 misses constraint 'pin[1]' by 8.9e-04 (allowed 1.0e-08). Correct q0: an impact changes velocities alone. The "
        "constraints are met about 8.9e-04 away."
    )


def test_an_event_that_maps_the_velocity_gives_what_an_impact_gives():
    hit = Event(lambda t: t - 0.5, then=lambda q, v: (q, v + np.array([0.3, -4.0, 0.2])))
    sol = simulate(BAR, 1.0, q0=START["q0"], v0=[0, 0, 0], events={"hit": hit})
    alone = simulate(BAR, 0.1, q0=START["q0"], v0=[0.3, -4.0, 0.2], initial="impact")
    np.testing.assert_allclose(sol.v[np.flatnonzero(np.diff(sol.t) == 0)[0] + 1], alone.v[0], atol=ROUNDING)
    np.testing.assert_allclose(sol.events["hit"].impulses, [alone.impulses], atol=ROUNDING)


def test_an_event_that_maps_the_velocity_keeps_its_impulses(tmp_path):
    """A bar on a pin that is struck at a quarter of a turn: what the pin gives is the change of momentum less the blow."""
    blow = np.array([1.0, -3.0, 0.5])
    hit = Event(lambda q: q[2] + 0.25, direction="falling", then=lambda q, v: (q, v + np.linalg.solve(BAR.mass, blow)))
    given = {"q0": START["q0"], "v0": [0, -0.5, -1.0], "events": {"hit": hit, "seen": Event(lambda q: q[0] - 0.49)}}
    sol = simulate(BAR, 1.0, **given)
    at = np.flatnonzero(np.diff(sol.t) == 0)[0]
    log = sol.events["hit"]
    np.testing.assert_allclose(log.impulses, [BAR.mass @ (sol.v[at + 1] - sol.v[at]) - blow], atol=1e-11)
    np.testing.assert_allclose(log.impulse("pin[0]") + log.impulse("pin[1]"), log.impulse("pin"), atol=ROUNDING)
    sol.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc").events["hit"]
    np.testing.assert_array_equal(again.impulses, log.impulses)
    np.testing.assert_array_equal(again.impulse("pin[1]"), log.impulse("pin[1]"))
    with pytest.raises(BadArgument, match=r"this event has no impulses: they come with Event\(..., then=\) of a System"):
        sol.events["seen"].impulses
    with pytest.raises(UnknownName, match="has no constraint 'pni'"):
        log.impulse("pni")
    stiff = simulate(BAR, 1.0, **given, integrator=Radau())  # joined or not, whatever the method
    np.testing.assert_allclose(stiff.events["hit"].impulses, log.impulses, atol=1e-4)
    free = simulate(System(mass=np.eye(3), force=[0, 0, 0]), 1.0, **given | {"v0": [0, 0, -1.0]})
    np.testing.assert_array_equal(free.events["hit"].impulses, np.zeros((1, 3)))


def test_rows_that_are_dropped_carry_no_impulse_of_an_event():
    doubled = System(mass=BAR.mass, force=[0, 0, 0], constraint={"pin": pin, "again": lambda q: 2.0 * pin(q)})
    hit = Event(lambda t: t - 0.5, then=lambda q, v: (q, v + np.array([0.3, -4.0, 0.2])))
    with pytest.warns(UserWarning):
        shared, dropped = (
            simulate(doubled, 1.0, q0=START["q0"], v0=[0, 0, 0], events={"hit": hit}, redundant=way).events["hit"]
            for way in ("minimum-norm", "drop")
        )
    np.testing.assert_allclose(shared.impulse("again"), 4 * shared.impulse("pin"), atol=1e-10)
    np.testing.assert_allclose(dropped.impulses, shared.impulses, atol=1e-10)
    assert min(np.abs(dropped.impulse(name)).max() for name in ("pin", "again")) == 0.0


def test_a_system_without_constraints_is_not_moved():
    free = System(mass=np.eye(2), force=[0, 0])
    sol = simulate(free, 1.0, q0=[0, 0], v0=[1, 2], initial="impact")
    np.testing.assert_array_equal(sol.v[0], [1, 2])
    np.testing.assert_array_equal(sol.impulses, [0, 0])


def test_rows_that_ask_for_different_velocities_are_refused():
    torn = System(mass=np.eye(2), force=[0, 0], constraint={"one": lambda q, t: q[0] - t, "two": lambda q, t: q[0] - 2 * t})
    with pytest.raises(InconsistentState, match=r"no impulse meets the velocity level of constraint '(one|two)' at t = 0"):
        simulate(torn, 1.0, q0=[0, 0], v0=[0, 0], initial="impact", redundant="minimum-norm")


def test_what_an_impact_is_not_for_is_said():
    with pytest.raises(BadArgument, match='initial="impact" is for a System or a Mechanism: an Ode has no mass'):
        simulate(Ode(lambda y: -y), 1.0, y0=[1.0], initial="impact")
    with pytest.raises(BadArgument, match='hold= goes with initial="project"'):
        simulate(BAR, 1.0, **START, initial="impact", hold=[0])
    with pytest.raises(BadArgument) as refused:
        simulate(BAR, 1.0, **START, initial="impulse")
    assert str(refused.value) == 'initial=\'impulse\': choose "check", "project", "impact" or "free".'
    with pytest.raises(BadArgument, match="the run did not begin with an impact: impulses come with simulate"):
        simulate(BAR, 0.1, q0=START["q0"], v0=[0, 0, 0]).impulses


def test_diagnose_and_compare_take_it_too():
    assert diagnose(BAR, **START, initial="impact").freedom == 1
    table = compare(BAR, 0.1, **START, initial="impact", rtol=[1e-5, 1e-6])
    assert "failed" not in repr(table)
