"""Every branch of the decision guide of [ascher-petzold-1993] Sec. 4 and 5 is taken, and for its own reason."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    RK45,
    Index1,
    Index2,
    ProjectedInvariants,
    Projection,
    Radau,
    System,
    diagnose,
    problems,
    simulate,
)

RTOL = 1e-6


def methods(sol):
    c = sol.plan.choice
    return type(c.formulation), getattr(c.formulation, "kind", None), type(c.integrator)


def bathed_chain(links=5, rate=1e5):
    """A chain in a bath so thick that every point follows its force: frozen stiffness, G hardly turns."""
    lengths = 1.0 / links

    def constraint(q):
        r = q.reshape(links, 2)
        before = np.concatenate([np.zeros((1, 2)), r[:-1]])
        return np.sum((r - before) ** 2, axis=1) - lengths**2

    system = System(
        mass=np.eye(2 * links),
        force=lambda v, p: np.tile([0.0, -9.81], links) - p.rate * v,
        constraint=constraint,
        params={"rate": rate},
    )
    q0 = np.column_stack([np.arange(1, links + 1) * lengths, np.zeros(links)]).ravel()
    return system, {"q0": q0, "v0": np.zeros(2 * links)}


def with_oscillators(problem, count=8):
    """A problem beside masses on springs that have nothing to do with it: the same case, with more velocities."""
    own = problem.system

    def mass(t, p):
        M = own.mass(t, p)
        top = np.concatenate([M, np.zeros((2, count))], axis=1)
        return np.concatenate([top, np.concatenate([np.zeros((count, 2)), np.eye(count)], axis=1)], axis=0)

    return System(
        mass=mass,
        force=lambda t, q, v, p: np.concatenate([own.force(t, v[:2], p), -q[2:]]),
        constraint={"g": lambda t, q: own.constraint["g"](t, q[:2])},
        params=dict(own.params),
    )


def turning(nu):
    """A point on a rod that turns with nu about (e^t, e^t), where it can stay: C = (sin nu t, cos nu t)."""
    return System(
        mass=np.eye(2),
        force=lambda t, v: 2 * np.exp(t) - v,
        constraint={"g": lambda t, q, p: np.sin(p.nu * t) * (q[0] - np.exp(t)) + np.cos(p.nu * t) * (q[1] - np.exp(t))},
        params={"nu": nu},
    )


EXPLICIT = [(Index1, None, DOP853), (Index1, None, RK45)]  # the second where the run is short


def test_nonstiff_motion_is_explicit_and_projected():
    for problem in (problems.pendulum_a01(), problems.slider_crank(), problems.double_pendulum()):
        sol = simulate(problem, problem.t_end / 4)
        assert methods(sol) in EXPLICIT and sol.plan.choice.stabilization.acts == "step"
        assert diagnose(problem).kind == "nonstiff"


def test_constraints_that_turn_far_faster_than_a_motion_that_is_not_stiff():
    problem = problems.rapid_pair(nu=1000.0)
    sol = simulate(problem)
    assert methods(sol) == (ProjectedInvariants, "Pa", BDF)
    assert np.abs(sol.y[:, 0]).size and sol.end.q == pytest.approx(np.exp([1.0, 1.0]), rel=10 * RTOL)
    assert sol.stats["steps"] < 167 / 2  # explicit steps, which follow the constraint
    assert "the constraints turn with 1e+03 1/s" in sol.plan.why()
    times = np.linspace(0.0, 1.0, 257)
    assert np.abs(sol(times).x / np.exp(times)[:, None] - 1.0).max() < 10 * RTOL  # between the steps as well


def test_a_point_on_a_turning_rod_flies_outward_and_is_not_damped_by_long_steps():
    # r'' = nu² r along the rod: what grows with nu must be followed
    sol = simulate(turning(1000.0), 0.004, q0=[1.0, 1.0], v0=[1.0, 1.0])
    assert methods(sol) in EXPLICIT
    away = simulate(turning(1000.0), 0.004, q0=[1.0 + 1e-3, 1.0], v0=[1.0, 1.0 - 1e-3 * 1000.0])
    r = np.linalg.norm(away.end.q - np.exp(0.004))
    assert r == pytest.approx(1e-3 * np.cosh(4.0), rel=1e-2)  # v' = -v changes it by 0.4 %


def test_explicit_steps_that_follow_the_constraints_are_kept_while_they_are_few():
    sol = simulate(problems.rapid_pair(nu=100.0))
    assert methods(sol) == (Index1, None, DOP853)
    found = diagnose(problems.rapid_pair(nu=100.0))
    assert found.kind == "rapid constraints" and "DOP853" in found.recommended[0].method


def test_a_tight_tolerance_follows_the_constraints():
    # BDF would fall into steps that follow them, too, and needs 8 times as many as DOP853
    assert methods(simulate(problems.rapid_pair(nu=1000.0), rtol=1e-9)) == (Index1, None, DOP853)


def test_frozen_stiffness_of_many_velocities_goes_to_a_stable_form_of_index_2():
    system, start = bathed_chain()
    sol = simulate(system, 100.0, **start)
    assert methods(sol) == (Index2, None, Radau) and diagnose(system, q0=start["q0"], v0=start["v0"]).kind == "stiff"
    assert isinstance(sol.plan.choice.stabilization, Projection)
    assert "Index2() + Radau() + Projection()" in diagnose(system, q0=start["q0"], v0=start["v0"]).recommended[0].method
    assert np.abs(sol.drift["position"]).max() < 1e-9
    fine = simulate(system, 100.0, **start, rtol=1e-9, atol=1e-12, integrator=BDF(), formulation=ProjectedInvariants("Pa"))
    assert np.abs(sol.end.q - fine.end.q).max() < 10 * RTOL


def test_frozen_stiffness_of_few_velocities_goes_to_projected_invariants():
    sol = simulate(problems.suspension(), 0.02)
    assert methods(sol) == (ProjectedInvariants, "Pa", Radau)


@pytest.mark.parametrize("damping", [0.0, 1.0])
def test_heterogeneous_masses_never_go_to_a_form_that_treats_their_part_explicitly(damping):
    problem = problems.heterogeneous_masses(nu=1000.0, damping=damping)
    assert methods(simulate(problem)) == (ProjectedInvariants, "Pa", Radau)  # a short run
    assert diagnose(problem).kind == "variable-coefficient stiff"
    # so many velocities that Index2 would be taken, were it not for ‖F C'‖
    more = with_oscillators(problem)
    sol = simulate(more, 1.0, q0=np.append([1.0, 1.0], np.full(8, 0.1)), v0=np.append([1.0, 1.0], np.zeros(8)))
    assert methods(sol)[:2] == (ProjectedInvariants, "Pa") and sol.end.q[:2] == pytest.approx(np.exp([1.0, 1.0]), rel=1e-5)
    assert sol.end.q[2:] == pytest.approx(0.1 * np.cos(np.ones(8)), rel=1e-5)


def test_damping_that_cancels_the_stiffness_of_heterogeneous_masses_is_not_stiff():
    assert methods(simulate(problems.heterogeneous_masses(nu=1000.0, damping=2.0))) in EXPLICIT


def test_stiff_motion_under_constraints_that_turn_holds_both_levels():
    for nu in (100.0, 1000.0):
        sol = simulate(problems.rapid_constraint(nu=nu))
        assert methods(sol) == (ProjectedInvariants, "Pc", BDF)
        assert sol.end.v == pytest.approx(np.exp([1.0, 1.0]), rel=10 * RTOL)


def test_no_branch_leaves_constraints_to_differentiation_alone_or_corrects_along_the_masses():
    for name in ("pendulum", "suspension", "heterogeneous-masses", "rapid-pair", "rapid-constraint", "spring-pendulum"):
        sol = simulate(problems.get(name), 0.01 if name == "suspension" else None)
        c = sol.plan.choice
        keeps = c.stabilization.acts == "step" or {"position", "velocity"} <= set(c.formulation.keeps)
        assert keeps and 'metric="mass"' not in repr(c) and "mass" not in repr(getattr(c.formulation, "D", ""))


def test_variation_at_rest_is_that_of_the_speed_to_come():
    falling = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    found = diagnose(falling, q0=[1, 0], v0=[0, 0])
    # the rod turns with v/L, v = h g after one accurate step h
    assert found.indicators.at_rest and found.indicators.turning == pytest.approx(found.indicators.step * 9.81, rel=1e-3)
    assert "at rest, with the speed of one accurate step later: G turns" in repr(found)
    moving = diagnose(falling, q0=[1, 0], v0=[0, 3.0])
    assert not moving.indicators.at_rest and moving.indicators.turning == pytest.approx(3.0, rel=1e-3)
