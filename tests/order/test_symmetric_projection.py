"""SymmetricProjection: order, constraints to rounding, a way back that leads to the start, and energy that does not creep."""

from functools import cache

import numpy as np
import pytest

from holonomic import (
    DOP853,
    GGL,
    RK4,
    BadArgument,
    Dae,
    GaussLegendre,
    GaussLegendre4,
    ImplicitMidpoint,
    IncompatibleMethods,
    Index1,
    Index2,
    Ode,
    ProjectedInvariants,
    Projection,
    Radau,
    StateSpace,
    StepFailed,
    SymmetricProjection,
    System,
    UnderlyingODE,
    simulate,
    sweep,
)
from holonomic.testing import SLACK, bead

SYMMETRIC = [
    (Index1(), GaussLegendre4(), 60), (Index1(), GaussLegendre(stages=3), 24), (Index1(), ImplicitMidpoint(), 160),
    (Index1(), ImplicitMidpoint("stage"), 160), (Index2(), GaussLegendre4(), 60), (Index2(), GaussLegendre(stages=4), 20),
    (GGL(), GaussLegendre4(), 60), (ProjectedInvariants("Pa"), GaussLegendre4(), 60),
    (ProjectedInvariants("Pb"), GaussLegendre4(), 60),
]  # fmt: skip


def heavy_bead():
    return bead(speed=0.5, rise=2.0, g=3.0, t_end=2.0, heavy=3.0)


@cache
def exact():
    return simulate(heavy_bead(), integrator=DOP853(), rtol=1e-13, atol=1e-13, save_at=81)


def errors(formulation, integrator, n, between=False):
    step = 2.0 / (n - 0.5 * between)
    run = simulate(
        heavy_bead(), formulation=formulation, integrator=integrator, stabilization=SymmetricProjection(), step=step,
        save_at=81 if between else None,
    )  # fmt: skip
    known, at = exact(), slice(None) if between else slice(None, None, n // 4)
    other = slice(None) if between else slice(None, None, 20)
    return {part: float(np.abs(getattr(run, part)[at] - getattr(known, part)[other]).max()) for part in ("q", "v", "lam")}


@pytest.mark.parametrize("between", [False, True], ids=["at steps", "between steps"])
@pytest.mark.parametrize(("formulation", "integrator", "n"), SYMMETRIC, ids=str)
def test_the_order_of_a_symmetric_method_stays(formulation, integrator, n, between):
    if between and integrator.order > 4 and formulation != Index1():
        pytest.skip("between steps the curve is made of points that are not projected: docs/limits-of-runners.md")
    coarse, fine = (errors(formulation, integrator, k, between) for k in (n, 2 * n))
    slack = SLACK if not between else 2 * SLACK
    for part in coarse:
        assert np.log2(coarse[part] / fine[part]) >= integrator.order - slack or fine[part] < 1e-10, (part, coarse, fine)


@pytest.mark.parametrize(("formulation", "integrator", "n"), SYMMETRIC, ids=str)
def test_both_levels_hold_to_rounding(formulation, integrator, n):
    run = simulate(heavy_bead(), formulation=formulation, integrator=integrator, stabilization=SymmetricProjection(), step=2.0 / n)
    assert run.drift.max()["position"] < 5e-15 and run.drift.max()["velocity"] < 5e-14, run.drift.max()


def way_back(stabilization, formulation, integrator):
    """By how much a run back misses the start."""
    problem, methods = heavy_bead(), {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
    there = simulate(problem, **methods, step=0.02).end
    back = simulate(problem.system, (2.0, 0.0), q0=there.q, v0=there.v, **methods, step=0.02)
    return max(np.abs(back.q[-1] - problem.q0).max(), np.abs(back.v[-1] - problem.v0).max())


@pytest.mark.parametrize(("formulation", "integrator", "n"), SYMMETRIC, ids=str)
def test_the_way_back_leads_to_the_start(formulation, integrator, n):
    assert way_back(SymmetricProjection(), formulation, integrator) < 1e-11


def test_the_way_back_of_a_plain_projection_does_not():
    assert way_back(Projection(), Index1(), GaussLegendre4()) > 1e-9


def pendulum():
    return System(mass=2.0 * np.eye(2), potential=lambda q: 2.0 * 9.81 * q[1], constraint=lambda q: q @ q - 1)


def energy_slope(stabilization, formulation, integrator, t_end=400.0):
    """Loss of energy per second, with the standard error of the fit."""
    methods = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization, "step": 0.02}
    run = simulate(pendulum(), t_end, q0=[1.0, 0.0], v0=[0.0, 0.0], **methods)
    slope, covariance = np.polyfit(run.t, run.energy_error, 1, cov=True)
    return slope[0], covariance[0, 0] ** 0.5


@pytest.mark.parametrize("formulation", [Index1(), Index2()], ids=repr)
def test_gauss_keeps_the_energy_that_a_plain_projection_loses(formulation):
    lost, _ = energy_slope(Projection(), formulation, GaussLegendre4())
    kept, error = energy_slope(SymmetricProjection(), formulation, GaussLegendre4())
    assert lost < -3e-9  # a period takes 2.4 s
    assert abs(kept) < max(1e-12, 5.0 * error), (kept, error)


def test_invariants_of_an_ode_are_kept_at_both_ends():
    def rhs(y):
        return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])

    def energy(y):
        return y[2:] @ y[2:] / 2 - 1 / np.sqrt(y[:2] @ y[:2])

    orbit = Ode(rhs, invariants={"energy": energy})
    start = {"y0": [0.64, 0.0, 0.0, 1.4577], "integrator": GaussLegendre4(), "stabilization": SymmetricProjection()}
    there = simulate(orbit, 12.0, **start, step=0.05)
    assert there.drift.max()["energy"] < 1e-14
    back = simulate(orbit, (12.0, 0.0), **start | {"y0": there.y[-1]}, step=0.05)
    assert np.abs(back.y[-1] - start["y0"]).max() < 1e-11


def test_members_of_a_sweep_are_single_runs_and_starts_are_as_they_were():
    system = System(mass=np.diag([1.0, 3.0]), force=lambda p: [0, -p.g], constraint=lambda q: q @ q - 1, params={"g": 9.81})
    run = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "integrator": GaussLegendre4(), "stabilization": SymmetricProjection(), "step": 0.01}
    runs = sweep(system, 1.0, params={"g": np.array([3.7, 9.81])}, save_at=11, on="threads", progress=False, **run)
    alone = simulate(system.with_params(g=3.7), 1.0, save_at=11, **run)
    assert np.array_equal(runs.q[0], alone.q)
    whole = simulate(system, 1.0, **run)
    halves = [simulate(system, (0.0, 0.5), **run)]
    halves.append(simulate(system, (0.5, 1.0), **run | {"q0": halves[0].q[-1], "v0": halves[0].v[-1]}))
    assert np.abs(halves[1].q[-1] - whole.q[-1]).max() < 1e-14


def test_a_projection_that_needs_more_rounds_says_so():
    with pytest.raises(StepFailed, match="projection onto the constraints did not converge"):
        simulate(
            heavy_bead(), formulation=Index1(), integrator=GaussLegendre4(), step=0.1,
            stabilization=SymmetricProjection(max_iterations=1),
        )  # fmt: skip


REFUSED = [
    (Index1(), RK4(), r"RK4 is none\. Use ImplicitMidpoint\(\) or GaussLegendre4\(\), or Projection\(\)\."),
    (Index1(), Radau(), r"Radau is none"),
    (Index2(), GaussLegendre(stages=3), r"held in the stages of GaussLegendre\(stages=3\), which turns what is moved"),
    (Index2(), ImplicitMidpoint(), r"imposed at the end of a step alone, is not symmetric\. Use formulation=Index1\(\), or"),
    (UnderlyingODE(), GaussLegendre4(), r"integrates multipliers, which stay where they are"),
    (StateSpace(), GaussLegendre4(), r"chooses coordinates by the start of a step"),
]


@pytest.mark.parametrize(("formulation", "integrator", "message"), REFUSED, ids=str)
def test_what_is_not_symmetric_is_refused_with_a_way_out(formulation, integrator, message):
    with pytest.raises(IncompatibleMethods, match=message):
        simulate(heavy_bead(), formulation=formulation, integrator=integrator, step=0.02, stabilization=SymmetricProjection())


def test_a_dae_whose_multipliers_act_along_its_own_directions_is_refused():
    system = Dae(
        f=lambda t, x: np.array([x[1] + t, -x[0]]), B=lambda x: np.array([[1.0], [3.0 + 0.3 * x[0]]]),
        g=lambda t, x: x[0] ** 2 + x[1] - np.cos(t), order=1,
    )  # fmt: skip
    with pytest.raises(BadArgument, match=r"does not move the x of a Dae along its B: use Projection\(\)"):
        simulate(
            system, 1.0, x0=[0.0, 1.0], formulation=Index2(), integrator=GaussLegendre4(), step=0.05,
            stabilization=SymmetricProjection(),
        )  # fmt: skip


@pytest.mark.parametrize("rounds", [0, 1001, 2.5, True, "3"])
def test_a_number_of_rounds_that_is_none_is_refused(rounds):
    with pytest.raises(BadArgument, match="must be a whole number between 1 and 1000"):
        SymmetricProjection(max_iterations=rounds)
