"""Gauss's methods: their order where theory gives it, the reduction where theory takes it away, and what is conserved."""

from functools import cache

import numpy as np
import pytest
from test_implicit_orders import errors, made

from holonomic import (
    DOP853,
    GGL,
    BadArgument,
    Dae,
    GaussLegendre,
    GaussLegendre4,
    ImplicitMidpoint,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    Ode,
    Overdetermined,
    ProjectedInvariants,
    Projection,
    StateSpace,
    StepFailed,
    StrangenessFree,
    System,
    UnderlyingODE,
    problems,
    simulate,
)
from holonomic.problems import Problem
from holonomic.study.order import observed_order
from holonomic.testing import SLACK, bead


def orders(name, formulation, stabilization=None, n=40):
    coarse, fine = (errors(name, GaussLegendre4(), formulation, k, stabilization) for k in (n, 2 * n))
    return {part: np.log2(coarse[part] / fine[part]) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("stabilization", [None, Projection()], ids=repr)
@pytest.mark.parametrize("formulation", [Index1(), UnderlyingODE()], ids=repr)
@pytest.mark.parametrize("name", ["circle", "moving pendulum", "moving wire", "skate", "top"])
def test_index_0_and_1_have_order_4(name, formulation, stabilization):
    found = orders(name, formulation, stabilization)
    assert min(found.values()) >= 4 - SLACK, found


@pytest.mark.parametrize("name", ["moving wire", "top"])
def test_index_2_leaves_order_2_for_velocities_and_multipliers(name):
    """Collocation with an even number s of stages: order s, [HW96] Table VII.4.1; q is integrated from v and keeps 4."""
    found = orders(name, Index2())
    assert abs(found["v"] - 2) <= SLACK and abs(found["lam"] - 2) <= SLACK and found["q"] >= 4 - SLACK, found


@pytest.mark.parametrize("formulation", [GGL(), ProjectedInvariants("Pb")], ids=repr)
def test_both_levels_in_the_stages_leave_order_2(formulation):
    found = orders("moving wire", formulation)
    assert all(abs(order - 2) <= SLACK for order in found.values()), found


@pytest.mark.parametrize("formulation", [StrangenessFree(), StateSpace(), ProjectedInvariants("Pc"), Overdetermined()], ids=repr)
@pytest.mark.parametrize(("where", "order"), [("stage", 1), ("end", 2)])
def test_one_stage_that_keeps_more_than_it_can_has_order_1_and_at_the_end_order_2(formulation, where, order):
    """With different masses, where projecting along G and along M⁻¹Gᵀ differ."""
    ellipse = System(mass=np.diag([2.0, 5.0]), force=[1.0, -49.0], constraint=lambda q: q @ q - 1)
    start = {"q0": [0.6, -0.8], "v0": [0.4, 0.3], "formulation": formulation}
    exact = simulate(ellipse, 1.0, q0=[0.6, -0.8], v0=[0.4, 0.3], rtol=1e-11, atol=1e-12).q[-1]
    coarse, fine = (
        np.abs(simulate(ellipse, 1.0, integrator=ImplicitMidpoint(where), step=1 / n, **start).q[-1] - exact).max()
        for n in (200, 400)
    )
    assert abs(np.log2(coarse / fine) - order) <= SLACK


@pytest.mark.parametrize("formulation", [Index2(), GGL(), ProjectedInvariants("Pa"), ProjectedInvariants("Pb")], ids=repr)
def test_the_projected_method_has_order_4_again(formulation):
    found = orders("moving wire", formulation, Projection())
    assert min(found.values()) >= 4 - SLACK, found


def weighted_bead(heavy):
    """A bead that is heavier one way than the other: M⁻¹Gᵀ and Gᵀ are different directions."""
    system = System(mass=np.diag([1.0, heavy]), force=[0.0, -3.0 * heavy], constraint=lambda q: (q[0] / 1.5) ** 2 + q[1] ** 2 - 1)
    return Problem("bead", "Weighted bead", system, 1.0, q0=(1.5, 0.0), v0=(0.0, 0.5))


def uneven_bead():
    """The same with a mass matrix that is neither constant nor diagonal, on a wire that moves."""
    system = System(
        mass=lambda q: np.array([[1.0 + 0.3 * q[1] ** 2, 0.2], [0.2, 4.0]]), force=[0.0, -12.0], velocity_terms=True,
        constraint=lambda t, q: (q[0] / 1.5) ** 2 + (q[1] - 0.3 * np.sin(t)) ** 2 - 1,
    )  # fmt: skip
    return Problem("uneven", "Uneven bead", system, 1.0, q0=(1.5, 0.0), v0=(0.0, 0.3))


ALONG = [
    Index2(), GGL(), GGL(D="mass"), ProjectedInvariants("Pa"), ProjectedInvariants("Pb"), ProjectedInvariants("Pa", D="mass"),
    ProjectedInvariants("Pb", D="mass"),
]  # fmt: skip


@pytest.mark.parametrize("formulation", ALONG, ids=repr)
def test_the_projection_goes_along_the_multipliers_by_itself(formulation):
    """[ascher-petzold-1993] projects along B: M⁻¹Gᵀ where multipliers are forces, D where they move positions."""
    steps = [1 / n for n in (40, 60, 80)]
    study = observed_order(uneven_bead(), GaussLegendre4(), Projection(), steps, formulation=formulation)
    assert abs(study.order - 4) <= SLACK, study
    assert min(study.error[part].order for part in ("q", "v", "lam")) >= 4 - SLACK, study


@pytest.mark.parametrize(("metric", "order"), [("mass", 4), ((1.0,) * 4, 2)])
def test_a_metric_that_is_asked_for_stays_as_it_is(metric, order):
    steps = [1 / n for n in (40, 60, 80)]
    study = observed_order(weighted_bead(4.0), GaussLegendre4(), Projection(metric=metric), steps, formulation=Index2())
    assert abs(study.order - order) <= SLACK, study


def test_velocities_of_a_body_in_space_are_projected_along_the_multipliers():
    found = orders("top", Index2(), Projection())
    assert min(found.values()) >= 4 - SLACK, found


def test_a_dae_is_projected_along_its_own_multipliers():
    """x' = f - B y with B far from Gᵀ."""

    def made(stabilization):
        system = Dae(
            f=lambda t, x: np.array([x[1] + t, -x[0]]), B=lambda x: np.array([[1.0], [3.0 + 0.3 * x[0]]]),
            g=lambda t, x: x[0] ** 2 + x[1] - np.cos(t), order=1,
        )  # fmt: skip
        return [simulate(system, 1.0, x0=[0.0, 1.0], formulation=Index2(), integrator=GaussLegendre4(), step=1 / n,
                         stabilization=stabilization).x[-1] for n in (20, 40, 80)]  # fmt: skip

    a, b, c = made("auto")
    assert abs(np.log2(np.abs(a - b).max() / np.abs(b - c).max()) - 4) <= SLACK
    a, b, c = made(Projection(D="orthogonal"))
    assert abs(np.log2(np.abs(a - b).max() / np.abs(b - c).max()) - 2) <= SLACK


def test_index_3_is_refused_because_velocities_do_not_converge():
    with pytest.raises(IncompatibleMethods, match=r"velocities and multipliers do not converge.*GGL\(\)"):
        simulate(made("moving wire"), formulation=Index3(), integrator=GaussLegendre4(), step=0.01)


def test_quadratic_invariants_are_kept_to_rounding_and_energy_does_not_creep():
    def rhs(y):
        return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])

    # an orbit of period 2π and eccentricity 0.36, 40 turns of 60 steps
    sol = simulate(Ode(rhs), 80 * np.pi, y0=[0.64, 0, 0, 1.4577], integrator=GaussLegendre4(), step=2 * np.pi / 60)
    momentum = sol.y[:, 0] * sol.y[:, 3] - sol.y[:, 1] * sol.y[:, 2]
    assert np.ptp(momentum) < 1e-11  # 2400 steps, each to a few roundings
    energy = (sol.y[:, 2:] ** 2).sum(axis=1) / 2 - 1 / np.linalg.norm(sol.y[:, :2], axis=1)
    early, late = (np.ptp(part) for part in (energy[:600], energy[-600:]))
    assert late < 1.01 * early < 1e-4


@pytest.mark.parametrize("formulation", [GGL(), StrangenessFree()], ids=repr)
def test_constraints_that_hold_in_the_stages_alone_are_projected_unless_told_otherwise(formulation):
    pendulum = problems.pendulum()
    run = {"formulation": formulation, "integrator": GaussLegendre4(), "step": 0.01}
    own, none = (simulate(pendulum, 0.5, **run, **given).drift for given in ({}, {"stabilization": None}))
    assert np.abs(none["position"]).max() > 1e-6  # h² times a constant
    # what is promised where nothing is said: 1e-10 as a distance, and |∂g/∂q| = 2
    assert np.abs(own["position"]).max() < 2e-10 and np.abs(own["velocity"]).max() < 1e-9


# any number of stages

LONG = {1: 200, 2: 60, 3: 24, 4: 20, 5: 24, 6: 14}  # steps of the coarser run: errors clear of rounding, leading terms ruling


@cache
def exact(problem):
    return simulate(problem(), integrator=DOP853(), rtol=1e-13, atol=1e-13, save_at=81)


def heavy_bead():
    return bead(speed=0.5, rise=2.0, g=3.0, t_end=2.0, heavy=3.0)


def errors_of(stages, n, between=False, **methods):
    """Largest errors of the bead that is heavier one way, at ends of steps or, half a step fewer, between them."""
    known, step, wanted = exact(heavy_bead), 2.0 / (n - 0.5 * between), 81 if between else None
    # atol: Newton's method goes on until it leaves less of λ than is measured here
    run = simulate(heavy_bead(), integrator=GaussLegendre(stages=stages), step=step, save_at=wanted, atol=1e-12, **methods)
    at, other = (slice(None), slice(None)) if between else (slice(None, None, n // 4), slice(None, None, 20))
    return {part: float(np.abs(getattr(run, part)[at] - getattr(known, part)[other]).max()) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("methods", [
    {"formulation": Index1(), "stabilization": None}, {"formulation": Index1()}, {"formulation": Index2()}, {"formulation": GGL()},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
def test_order_is_twice_the_number_of_stages(stages, methods):
    n = 4 * -(-LONG[stages] // 4)
    coarse, fine = (errors_of(stages, k, **methods) for k in (n, 2 * n))
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) >= 2 * stages - SLACK or fine[part] < 1e-12, (part, coarse, fine)


@pytest.mark.parametrize("stages", [3, 4, 5, 6])
def test_states_between_steps_are_as_good_as_those_at_their_ends(stages):
    n = LONG[stages]
    coarse, fine = (errors_of(stages, k, between=True, formulation=Index1(), stabilization=None) for k in (n, 2 * n))
    ends = errors_of(stages, 4 * -(-2 * n // 4), formulation=Index1(), stabilization=None)
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) >= 2 * stages - 3 * SLACK or fine[part] < 1e-11, (part, coarse, fine)
        assert fine[part] < 100.0 * ends[part] + 1e-11, (part, fine, ends)


@pytest.mark.parametrize("stages", [8, 10, 12])
def test_many_stages_reach_rounding_in_a_few_steps(stages):
    found = errors_of(stages, 16, formulation=Index1(), stabilization=None)
    assert max(found["q"], found["v"]) < 1e-11, found


@pytest.mark.parametrize("stages, q, v", [(2, 4, 2), (3, 4, 4), (4, 6, 4), (5, 6, 6)])
def test_index_2_without_projection_has_the_orders_of_theory(stages, q, v):
    """[HW96] Table VII.4.1: y has order s + 1 for odd s, s for even s; here q, integrated from v, has at least as much."""
    n = 4 * -(-2 * LONG[stages] // 4)
    coarse, fine = (errors_of(stages, k, formulation=Index2(), stabilization=None) for k in (n, 2 * n))
    found = {part: np.log2(coarse[part] / fine[part]) for part in coarse}
    assert abs(found["v"] - v) <= 2 * SLACK and (found["q"] >= q - 2 * SLACK or fine["q"] < 1e-12), (found, fine)


def test_two_stages_are_the_method_of_order_4():
    one, other = (simulate(heavy_bead(), integrator=i, step=0.02) for i in (GaussLegendre(stages=2), GaussLegendre4()))
    assert np.array_equal(one.q, other.q) and np.array_equal(one.v, other.v)
    assert GaussLegendre(stages=2).order == 4 and repr(GaussLegendre()) == "GaussLegendre(stages=3)"


def test_steps_too_long_for_newtons_method_are_no_answers():
    """An iteration that falls unevenly is not taken for one that has come to rounding: with 10 steps it left 1e-6."""
    for n in (8, 12, 16):
        try:
            found = errors_of(10, n, formulation=GGL())
        except StepFailed:
            continue
        assert max(found["q"], found["v"]) < 1e-8, (n, found)


@pytest.mark.parametrize("stages", [0, 13, 2.0, True, "3", None])
def test_no_number_of_stages_is_refused(stages):
    with pytest.raises(BadArgument, match="must be a whole number from 1 to 12; the order is twice as much"):
        GaussLegendre(stages=stages)
