"""Friction under a joint's own reaction: the law, its power, and where there is no one reaction."""

import numpy as np
import pytest

from holonomic import Index2, Radau, simulate, sweep
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, box, equilibrium, linearize, rod

from .machines import four_bar, pendulum, slider_crank
from .random_machines import Machine


def test_a_slide_under_its_weight_and_a_push_is_slowed_by_mu_n():
    m = Mechanism()
    m.body("car", box((0, 0), (0.4, 0.2), mass=2.0))
    m.prismatic("rail", m.ground, "car", at=(0, 0), axis=(1, 0))
    m.force("push", "car", value=(0, -10.0))
    m.friction("rail", coefficient=0.3, smoothing=1e-3)
    sol = simulate(m, 0.2, q0=[0, 0, 0], v0=[1.5, 0, 0], save_at=3)
    N = 2.0 * 9.81 + 10.0
    np.testing.assert_allclose(sol["rail friction"].force[:, 0], -0.3 * N, rtol=1e-9)
    np.testing.assert_allclose(sol["car"].velocity[:, 0], 1.5 - 0.3 * N / 2.0 * sol.t, atol=1e-6)


def test_a_bearing_brakes_by_its_radius_and_reaction_and_takes_the_energy():
    m = pendulum()
    m.friction("O", coefficient=0.2, radius=0.05, static=0.4, stribeck=0.02, smoothing=1e-2)
    sol = simulate(m, 1.0, rtol=1e-9, save_at=401)
    slide = 0.05 * sol["O"].speed
    mu = (0.2 + 0.2 * np.exp(-((slide / 0.02) ** 2))) * np.tanh(slide / 1e-2)
    wanted = -mu * 0.05 * np.linalg.norm(sol["O"].force, axis=1)
    np.testing.assert_allclose(sol["O friction"].torque, wanted, atol=1e-9)
    work = np.trapezoid(sol["power"].friction, sol.t)
    # the trapezoidal rule at 400 steps leaves about 1e-5 of the work
    assert np.ptp(sol["energy"].total[[0, -1]]) == pytest.approx(-work, rel=1e-4)


def test_a_bearing_in_space_brakes_like_that_in_the_plane():
    flat, space = pendulum(), Mechanism(gravity=(0, -9.81, 0))
    # equal inertia about the hinge: that of a rod
    space.revolute("O", space.ground, space.body("rod", rod((0, 0, 0), (1, 0, 0), mass=2.0)), at=(0, 0, 0))
    for m in (flat, space):
        m.friction("O", coefficient=0.3, radius=0.05)
    one, other = (simulate(m, 1.0, rtol=1e-9, save_at=5) for m in (flat, space))
    np.testing.assert_allclose(other["O"].angle, one["O"].angle, atol=1e-7)
    np.testing.assert_allclose(other["O friction"].torque[:, 2], one["O friction"].torque, atol=1e-7)


def test_a_closed_loop_with_friction_in_every_joint_agrees_with_an_implicit_method():
    m = slider_crank()
    for name in "OAB":
        m.friction(name, coefficient=0.1, radius=0.02, smoothing=0.05)
    m.friction("guide", coefficient=0.1, smoothing=0.05)
    m.motor("O", torque=15.0)
    one = simulate(m, 0.3, rtol=1e-8, save_at=3)
    other = simulate(m, 0.3, rtol=1e-7, save_at=3, formulation=Index2(), integrator=Radau())
    np.testing.assert_allclose(other["O"].angle, one["O"].angle, atol=1e-5)


def test_coefficients_are_swept_and_more_friction_swings_less_far():
    m = pendulum()
    m.friction("O", coefficient=0.1, radius=0.05)
    runs = sweep(m, 0.6, params={"O friction.coefficient": [0.0, 0.2, 0.4]}, save_at=2)
    speed = -runs["O"].speed[:, -1]
    assert speed[0] > speed[1] > speed[2]


def test_friction_at_rest_neither_holds_nor_moves_but_damps():
    m = pendulum()
    m.friction("O", coefficient=0.1, radius=0.05, smoothing=1e-2)
    eq = equilibrium(m)
    assert eq["O"].force[1] == pytest.approx(2.0 * 9.81)
    # at small speeds the torque is mu r N r/eps times the rate; the rod's inertia about its hinge is 2/3
    modes = linearize(m, eq)
    assert modes.C[0, 0] / modes.M[0, 0] == pytest.approx(0.1 * 0.05**2 / 1e-2 * 2.0 * 9.81 / (2 / 3), rel=1e-4)


def test_a_reaction_that_redundant_joints_share_is_refused():
    m = four_bar(dimension=3)
    m.friction("B", coefficient=0.1, radius=0.02)
    with pytest.raises(BadArgument, match=r"'B friction' follows the reaction of joint 'B', which is not unique"):
        m.to_system()


def test_what_is_missing_or_too_much_is_said():
    m = slider_crank()
    with pytest.raises(BadArgument, match=r"Give radius=, that of the bearing"):
        m.friction("A", coefficient=0.1)
    with pytest.raises(BadArgument, match=r"A slide has no radius=; leave it out"):
        m.friction("guide", coefficient=0.1, radius=0.02)
    with pytest.raises(BadArgument, match=r"give coulomb=, the torque or force of a known load, or coefficient="):
        m.friction("A")
    with pytest.raises(BadArgument, match=r"give numbers; coefficient= already follows"):
        m.friction("A", coulomb=lambda lam: lam[0])


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("mass", [1e-12, 1e-7, 1.0, 1e6])
def test_a_block_is_braked_by_mu_g_whatever_it_weighs(mass, compile):
    m = Mechanism(gravity=(0, -10.0))
    m.body("block", at=(0, 0), mass=mass, inertia=mass)
    m.prismatic("slide", "ground", "block", at=(0, 0), axis=(1, 0))
    m.friction("slide", coefficient=0.5, smoothing=1e-3)
    sol = simulate(m, 0.05, q0=[0, 0, 0], v0=[1.0, 0, 0], compile=compile)
    assert (1 - sol.v[-1, 0]) / 0.05 == pytest.approx(5.0, rel=1e-6)


@pytest.mark.parametrize("compile", ["now", "never"])
def test_a_load_may_go_through_zero(compile):
    """A block pushed against its slide from both sides in turn: v' = -μ |5 sin 7t| while it slides."""
    m = Mechanism(gravity=(0, 0))
    m.body("block", at=(0, 0), mass=1.0, inertia=1.0)
    m.prismatic("slide", "ground", "block", at=(0, 0), axis=(1, 0))
    m.friction("slide", coefficient=0.2, smoothing=1e-3)
    m.force("push", "block", value=lambda t: (0.0, 5 * np.sin(7 * t)))
    sol = simulate(m, 2 * np.pi / 7, q0=[0, 0, 0], v0=[2.0, 0, 0], compile=compile, rtol=1e-9)
    assert sol.v[-1, 0] == pytest.approx(2.0 - 0.2 * 5 * 4 / 7, abs=1e-7)


class Rubbing(Machine):
    """Random machines with friction under their reactions, so strong that Newton's method takes seven steps."""

    def _actuators(self):
        for name, (kind, _, _) in self.hinges.items():
            if self.rng.random() < 0.8:
                mu = float(self.rng.uniform(0.5, 3))
                bearing = {} if kind == "prismatic" else {"radius": float(self.rng.uniform(0.1, 1.0))}
                self.m.friction(name, coefficient=mu, smoothing=float(self.rng.choice([1e-3, 1e-2, 1e-1])), **bearing)

    def _couplings(self):
        pass

    def _gears(self):
        pass


@pytest.mark.parametrize("seed", [134, 139])
def test_strong_friction_that_leaves_one_reaction_runs_as_code_as_it_does_as_tables(seed):
    one, other = (simulate(Rubbing(seed, 2).m, 0.3, compile=compile, save_at=3, rtol=1e-8) for compile in ("now", "never"))
    np.testing.assert_allclose(one.q, other.q, atol=1e-5)
