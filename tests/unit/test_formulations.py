"""Formulations: what they impose, where they start, and what they leave to a step."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    GGL,
    RK4,
    BackwardEuler,
    BadArgument,
    Dae,
    FixedBDF,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    ProjectedInvariants,
    Projection,
    StateSpace,
    StrangenessFree,
    System,
    Trapezoidal,
    UnderlyingODE,
    problems,
    simulate,
)
from holonomic.kernels.signatures import Fn
from holonomic.testing import bead, moving_pendulum

ALL = [
    Index1(),
    Index2(),
    Index3(),
    GGL(),
    GGL(D="mass"),
    GGL(D="unit"),
    ProjectedInvariants("Pa"),
    ProjectedInvariants("Pb"),
    ProjectedInvariants("Pc"),
    UnderlyingODE(),
    StrangenessFree("null-space"),
    StrangenessFree("rows"),
    StrangenessFree("constant"),
    StateSpace("tangent"),
    StateSpace("partition"),
    Overdetermined(),
]
FIXED = [BackwardEuler(), Trapezoidal(), ImplicitMidpoint(), FixedBDF(2)]


def run(problem, formulation, integrator=None, **given):
    given = {"stabilization": None, "step": problem.t_end / 50} | given
    return simulate(problem, formulation=formulation, integrator=integrator or BackwardEuler(), **given)


# what they impose


@pytest.mark.parametrize("integrator", FIXED, ids=repr)
@pytest.mark.parametrize("formulation", ALL, ids=repr)
def test_the_levels_a_formulation_keeps_hold_to_rounding(formulation, integrator):
    sol = run(bead(speed=0.5, rise=2.0, g=3.0, t_end=1.0), formulation, integrator)
    levels = {"position": sol.drift["position"], "velocity": sol.drift["velocity"]}
    for level, residuals in levels.items():
        if level in formulation.keeps:
            assert np.abs(residuals).max() < 1e-13, level  # Newton iteration goes to rounding
        else:
            assert np.abs(residuals[1:]).max() > 1e-8, level  # and nothing else keeps them


@pytest.mark.parametrize("formulation", [f for f in ALL if not f.overdetermined], ids=repr)
def test_jacobians_are_derivatives_of_the_residual(formulation):
    sol = run(bead(speed=0.5, rise=2.0, g=3.0, t_end=1.0), formulation)
    model, variant = sol.plan.model, sol.plan.variant
    data = sol.plan.extended(sol.plan.data())
    if formulation.selector is not None:
        data[len(sol.plan.data()) :] = np.array([0.6, -0.8, 0.3, 0.9, 1.0])  # S_p, S_v, and that they are chosen
    random = np.random.default_rng(5)
    y, slope = random.standard_normal((2, sum(block.size for block in sol.plan.blocks)))

    def R(y, slope):
        return model.evaluate(Fn.EQUATIONS, 0.3, y, slope, data, variant)

    n = len(y)
    for which, fn in (("y", Fn.BY_Y), ("slope", Fn.BY_SLOPE)):
        J = model.evaluate(fn, 0.3, y, slope, data, variant).reshape(n, n)
        for j in range(n):
            e = 1e-6 * (np.arange(n) == j)
            ends = [R(y + s * e, slope) if which == "y" else R(y, slope + s * e) for s in (1, -1)]
            # central differences: rounding 1e-16/1e-6 and truncation 1e-12, of numbers up to about 100
            np.testing.assert_allclose(J[:, j], (ends[0] - ends[1]) / 2e-6, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("formulation", [GGL(), ProjectedInvariants("Pb"), ProjectedInvariants("Pc")], ids=repr)
def test_added_multipliers_vanish_with_the_step(formulation):
    problem = moving_pendulum(t_end=0.5)
    sizes = []
    for n in (100, 200):
        found = run(problem, formulation, step=0.5 / n).unknowns
        sizes.append(max(np.abs(found[name][1:]).max() for name in ("mu", "tau") if name in found))
    assert sizes[0] > 1e-6
    assert sizes[1] < 0.6 * sizes[0]  # of first order: they undo the error of a step over h


def test_direction_by_name_array_and_function_are_the_same():
    problem = moving_pendulum(t_end=0.5)
    named = run(problem, GGL(D="G")).q

    def normal(t, q, p):
        return np.array([[2 * (q[0] - p.speed * t)], [2 * (q[1] - p.rise * t**2 / 2)]])

    np.testing.assert_allclose(run(problem, GGL(D=normal)).q, named, rtol=0, atol=1e-14)
    # the rod is horizontal at the start: x is what the constraint depends on
    chosen, given = run(problem, GGL(D="unit")), run(problem, GGL(D=[[1.0], [0.0]]))
    assert chosen.plan.choice.formulation == given.plan.choice.formulation
    assert np.array_equal(chosen.q, given.q)
    assert np.abs(chosen.q - named).max() > 1e-5  # and a different way it is


def test_a_direction_that_is_the_mass_metric_is_projection_in_it():
    """[ascher-petzold-1993] (4.22): backward Euler on Pa is coordinate projection, exactly for a linear constraint."""
    from holonomic import PostStabilization

    problem = problems.heterogeneous_masses(nu=10.0)
    for D, metric in (("G", None), ("mass", "mass")):
        pa = run(problem, ProjectedInvariants("Pa", D=D), step=0.01)
        projected = run(problem, Index1(), step=0.01, stabilization=PostStabilization("position", 1, metric=metric))
        np.testing.assert_allclose(pa.q, projected.q, rtol=1e-11)


def test_overdetermined_agrees_with_strangeness_free_to_second_order():
    problem = bead(t_end=1.0)
    gaps = []
    for n in (50, 100):
        pair = [run(problem, f, Trapezoidal(), step=1.0 / n) for f in (Overdetermined(), StrangenessFree())]
        gaps.append(max(np.abs(pair[0].q - pair[1].q).max(), np.abs(pair[0].v - pair[1].v).max()))
    assert 0 < gaps[1] < gaps[0] / 3.5


def test_given_rows_of_a_state_space_are_the_partition_while_they_are_good():
    problem = problems.unit_circle(t_end=0.5)  # x is free as long as y is the larger one
    ours, chosen = run(problem, StateSpace(R=[[1, 0]])), run(problem, StateSpace("partition"))
    np.testing.assert_allclose(ours.q, chosen.q, rtol=0, atol=1e-14)


def test_strangeness_free_is_algorithm_13_for_linear_equations():
    """p' = v, M v' = C p + D v - Gᵀλ, G(t) p = 0: its algebraic part is the one printed for linear systems."""
    system = System(
        mass=np.diag([1.0, 2.0]),
        force=lambda q, v: np.array([-3 * q[0] - 0.1 * v[0], -q[1]]),
        constraint=lambda t, q: np.cos(t) * q[0] + np.sin(t) * q[1],
    )
    sol = simulate(
        system, 1.0, q0=[0.0, 1.0], v0=[-1.0, 0.3], formulation=StrangenessFree(), integrator=Trapezoidal(), step=0.01,
        stabilization=None,
    )  # fmt: skip
    t, p, v, lam = sol.t[-1], sol.q[-1], sol.v[-1], sol.lam[-1]
    G, dG, ddG = (np.array([a, b]) for a, b in ((np.cos(t), np.sin(t)), (-np.sin(t), np.cos(t)), (-np.cos(t), -np.sin(t))))
    inverse, C, D = np.diag([1.0, 0.5]), np.diag([-3.0, -1.0]), np.diag([-0.1, 0.0])
    assert abs(G @ p) < 1e-14 and abs(G @ v + dG @ p) < 1e-14
    third = (ddG + G @ inverse @ C) @ p + (2 * dG + G @ inverse @ D) @ v - G @ inverse @ G * lam[0]
    assert abs(third) < 1e-13


def test_selectors_of_the_dynamics_are_watched_where_masses_differ():
    """G turns slowly, but S_v M N changes its sign where the light mass takes over: S_p alone would not notice."""
    system = System(mass=np.diag([1.0, 100.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
    given = {"q0": [1, 0], "v0": [0, 0.8]}
    known = simulate(system, 6.0, **given, rtol=1e-11, atol=1e-11, save_at=301)
    for formulation in (StrangenessFree("constant"), StateSpace("tangent")):
        off = []
        for n in (2400, 4800):
            sol = simulate(
                system, 6.0, **given, formulation=formulation, integrator=Trapezoidal(), step=6.0 / n, stabilization=None
            )
            off.append(np.abs(sol.q[:: n // 300] - known.q).max())
        assert off[1] < 5e-3 and off[1] < off[0] / 3, formulation


def test_a_formulation_that_keeps_both_levels_needs_no_stabilization():
    problem = bead(t_end=0.2)
    for formulation in (GGL(), ProjectedInvariants("Pb"), StrangenessFree(), StateSpace(), Overdetermined()):
        sol = simulate(problem, formulation=formulation, integrator=BackwardEuler(), step=0.01)
        assert sol.plan.choice.stabilization.acts == "none"
        assert "keeps the constraints itself" in sol.plan.why()
    for formulation in (Index1(), Index2(), ProjectedInvariants("Pa")):
        sol = simulate(problem, formulation=formulation, integrator=BackwardEuler(), step=0.01)
        assert sol.plan.choice.stabilization == Projection()


def test_index_3_is_left_alone():
    """Its velocities miss along M⁻¹Gᵀ; projecting them along Gᵀ would cost the order of q."""
    sol = simulate(bead(t_end=0.2), formulation=Index3(), integrator=BackwardEuler(), step=0.01)
    assert sol.plan.choice.stabilization.acts == "none" and "keeps positions" in sol.plan.why()


# a Dae


def test_a_dae_is_solved_as_it_is_given_and_by_projected_invariants():
    problem = problems.rapid_pair(nu=2.0)
    for formulation in (Index1(), Index2(), ProjectedInvariants("Pa"), StateSpace(R=[[0, 1]])):
        sizes = []
        for n in (100, 200):
            sol = run(problem, formulation, Trapezoidal(), step=1.0 / n)
            sizes.append(np.abs(sol.q - np.exp(sol.t)[:, None]).max())
            # the paper's y has the other sign, so has B
            assert sol.y[-1, 0] == pytest.approx(-np.exp(1.0), rel=1e-3)
        assert sizes[0] / sizes[1] == pytest.approx(4.0, rel=0.1), formulation


@pytest.mark.parametrize("formulation", [Index2(), Index3(), ProjectedInvariants("Pb"), StateSpace(R=[[0, 1]])], ids=repr)
def test_a_dae_of_order_2_is_the_system_it_describes(formulation):
    pendulum = Dae(order=2, f=lambda: np.array([0, -9.81]), B=lambda x: np.array([[2 * x[0]], [2 * x[1]]]), g=lambda x: x @ x - 1)
    system = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    given = {"formulation": formulation, "integrator": FixedBDF(2), "stabilization": None, "step": 0.01}
    as_dae = simulate(pendulum, 0.3, x0=[1, 0], dx0=[0, 0], **given)
    as_system = simulate(system, 0.3, q0=[1, 0], v0=[0, 0], **given)
    np.testing.assert_allclose(as_dae.x, as_system.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(as_dae.dx, as_system.v, rtol=0, atol=1e-11)


# where they start


def test_multipliers_may_start_anywhere_where_nothing_is_checked():
    problem = problems.unit_circle(t_end=0.1)
    given = {"q0": [1e-4, 1.0001], "v0": [0.999, 0.001], "initial": "free", "integrator": Trapezoidal()}
    sol = run(problem, Index1(), step=0.005, lam0=[-1e-4], **given)
    assert sol.unknowns["lam"][0, 0] == -1e-4
    # one step later the acceleration level holds again
    own = run(problem, Index1(), step=0.005, **given)
    assert abs(sol.unknowns["lam"][1, 0] - own.lam[1, 0]) < 1e-5
    assert sol.lam[0, 0] == own.lam[0, 0]  # what the state needs, whatever the formulation began with
    with pytest.raises(BadArgument, match="lam0 has 2 entries, expected 1"):
        run(problem, Index1(), step=0.005, lam0=[0.0, 0.0], **given)
    with pytest.raises(BadArgument, match="where λ is an unknown"):
        run(problem, Index1(), step=0.005, lam0=[0.0], **(given | {"integrator": RK4()}))


def test_starting_points_of_a_multistep_method_are_kept_like_the_others():
    problem = moving_pendulum(t_end=0.5)
    whole = run(problem, Index2(), FixedBDF(4), step=0.01)
    assert np.allclose(np.diff(whole.t), 0.01) and len(whole.t) == 51
    q, v = (np.array(part) for part in zip(*(problem.exact(t) for t in whole.t[:4]), strict=True))
    np.testing.assert_allclose(whole.q[:4], q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(whole.v[:4], v, rtol=0, atol=1e-12)
    some = run(problem, Index2(), FixedBDF(4), step=0.01, save_at=[0.0, 0.015, 0.02, 0.3, 0.5])
    np.testing.assert_array_equal(some.q[[2, 3, 4]], whole.q[[2, 30, 50]])
    np.testing.assert_allclose(some.q[1], problem.exact(0.015)[0], rtol=0, atol=1e-12)
    back = simulate(
        problem.system, (0.5, 0.0), q0=whole.q[-1], v0=whole.v[-1], initial="project", formulation=Index2(),
        integrator=FixedBDF(4), step=0.01, stabilization=None,
    )  # fmt: skip
    assert np.abs(back.q[-1] - [1.0, 0.0]).max() < 1e-4


def test_states_inside_steps_of_a_multistep_method():
    problem = moving_pendulum(t_end=0.5)
    sol = run(problem, Index2(), FixedBDF(3), step=0.01)
    times = np.array([0.0123, 0.1717, 0.4999])

    def off(found):
        return np.abs(found.q - [problem.exact(t)[0] for t in found.t]).max()

    # a cubic between two points and their slopes: its own error is about 1e-8 here
    assert off(sol(times)) < 1.02 * off(sol)
    some = run(problem, Index2(), FixedBDF(3), step=0.01, save_at=3)  # made again from its own starting points
    np.testing.assert_allclose(some(times).q, sol(times).q, rtol=0.0, atol=1e-12)


def test_midpoint_multipliers_are_those_of_the_ends():
    sol = run(problems.unit_circle(t_end=1.0), Index2(), ImplicitMidpoint(), step=0.01)
    ends = np.sin(sol.t) * np.cos(sol.t)
    assert np.abs(sol.lam[:, 0] - ends).max() < 1e-4
    middle = sol.unknowns["lam"][1:, 0]
    assert np.abs(middle - ends[1:]).max() > 1e-3  # half a step away
    between = sol.t[1:] - 0.005
    assert np.abs(middle - np.sin(between) * np.cos(between)).max() < 1e-4


def test_one_iteration_is_exact_for_linear_equations():
    problem = problems.rapid_constraint(nu=10.0)
    for formulation in (GGL(), ProjectedInvariants("Pc"), Index2()):
        once = run(problem, formulation, BackwardEuler(once=True), step=0.01)
        np.testing.assert_allclose(once.q, run(problem, formulation, step=0.01).q, rtol=1e-11)
    nonlinear = bead(t_end=0.2)
    once = run(nonlinear, Index3(), BackwardEuler(once=True), step=0.01)
    assert 1e-12 < np.abs(once.drift["position"]).max() < 1e-3


@pytest.mark.parametrize("method", [*ALL, *FIXED, BDF(), BDF(max_order=6), BackwardEuler(once=True)], ids=repr)
def test_methods_are_equal_by_their_settings_and_shown_by_those_that_differ(method):
    import holonomic

    again = eval(repr(method), vars(holonomic))
    assert again == method and hash(again) == hash(method)
