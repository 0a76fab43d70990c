"""GaussLegendre4: order 4 where theory gives it, the reduction where theory takes it away, and what is conserved."""

import numpy as np
import pytest
from test_implicit_orders import errors, made

from holonomic import (
    GGL,
    Dae,
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
    StrangenessFree,
    System,
    UnderlyingODE,
    problems,
    simulate,
)
from holonomic.problems import Problem
from holonomic.study.order import observed_order
from holonomic.testing import SLACK


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


@pytest.mark.parametrize("formulation", [
    StrangenessFree(), StateSpace(), ProjectedInvariants("Pc"), Overdetermined(),
], ids=repr)  # fmt: skip
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
    system = System(
        mass=np.diag([1.0, heavy]), force=[0.0, -3.0 * heavy], constraint=lambda q: (q[0] / 1.5) ** 2 + q[1] ** 2 - 1
    )
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
