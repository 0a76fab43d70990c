"""Every formulation with every implicit integrator and every stabilization: the right answer, or a refusal that is true.

The steps are so short that a pair which works has an error far below the bounds; one that does not work is wrong by
orders of magnitude, or does not come to its end.
"""

import re
from functools import cache

import numpy as np
import pytest
from allowed import listed
from catalogue import EXPLICIT, FORMULATIONS, INTEGRATORS, STABILIZATIONS

import holonomic
from holonomic import (
    BDF,
    DOP853,
    RK4,
    BackwardEuler,
    FixedBDF,
    ForwardEulerStabilization,
    GaussLegendre4,
    ImplicitMidpoint,
    IncompatibleMethods,
    Index1,
    Index3,
    ProjectedInvariants,
    Projection,
    Radau,
    S_both2,
    StepFailed,
    System,
    problems,
    simulate,
)

OFFER = re.compile(r"Index\d|GGL|Projection|PostStabilization|Radau|BDF|RK45|StrangenessFree|BackwardEuler|stabilization=None")


@cache
def known(name):
    problem = MADE[name]()
    return problem, simulate(problem, integrator=DOP853(), rtol=1e-11, atol=1e-12)


MADE = {
    "pendulum": lambda: problems.pendulum_a01(t_end=0.2),
    "car axis": lambda: problems.car_axis(t_end=0.5),
    "seven-body": lambda: problems.seven_body(t_end=0.005),
}
STEPS = {"pendulum": 0.002, "car axis": 5e-4, "seven-body": 1e-5}


def falls_to_order_1(formulation, integrator, stabilization) -> bool:
    """Constraints in the stage alone, and a projection in another direction than its moves: docs/limits-of-runners.md."""
    return (
        stabilization is not None
        and integrator == ImplicitMidpoint(constraints="stage")
        and formulation == ProjectedInvariants(kind="Pc")
    )


def check(name, formulation, integrator, stabilizations, loose=1.0):
    problem, truth = known(name)
    for stabilization in stabilizations:
        for adaptive in {False, integrator.adaptive}:
            run = {"rtol": 1e-6, "atol": 1e-8} if adaptive else {"step": STEPS[name]}
            said = f"{formulation!r}, {integrator!r}, {stabilization!r}, {run}"
            try:
                sol = simulate(
                    problem, formulation=formulation, integrator=integrator, stabilization=stabilization, **run, max_steps=20000
                )
            except IncompatibleMethods as refusal:
                assert OFFER.search(str(refusal)), f"{said}: no way out in {refusal}"
                fits = listed("pendulum", formulation, integrator, stabilization)
                of_the_system = name == "seven-body" and "a constant mass matrix, but this one changes" in str(refusal)
                assert not fits or of_the_system, f"{said} is in allowed.csv, but {refusal}"
                continue
            off = max(
                np.abs(sol.q[-1] - truth.q[-1]).max() / max(1.0, np.abs(truth.q[-1]).max()),
                np.abs(sol.v[-1] - truth.v[-1]).max() / max(1.0, np.abs(truth.v[-1]).max()),
            )
            # of order 1: about 1e-2 with these steps; of order 2 and more, and with rtol = 1e-6: below 1e-3
            bound = 3e-2 if integrator.order == 1 or falls_to_order_1(formulation, integrator, stabilization) else 1e-3
            assert off <= loose * bound, f"{said}: off by {off:.1e}"


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
def test_a_pendulum_comes_out_right_or_the_combination_is_refused(formulation, integrator):
    check("pendulum", formulation, integrator, STABILIZATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
@pytest.mark.parametrize("name", ["car axis", "seven-body"])
def test_larger_systems_come_out_right_or_the_combination_is_refused(name, formulation, integrator):
    some = [s for s in STABILIZATIONS if s in (None, Projection(), Projection(on="full"), S_both2(), STABILIZATIONS[13])]
    check(name, formulation, integrator, some, loose=10.0)


def test_index_3_is_not_projected_as_a_whole_because_velocities_come_from_differences():
    with pytest.raises(IncompatibleMethods, match=r"a move δ of a position returns as δ/h.*Use Projection\(\)"):
        simulate(known("pendulum")[0], formulation=Index3(), integrator=BDF(), stabilization=Projection(on="full"))


@pytest.mark.parametrize(("integrator", "limit"), [(BDF(), 0.46), (FixedBDF(4), 0.78), (FixedBDF(6), 0.3)], ids=repr)
def test_a_correction_by_the_old_point_has_a_limit_with_multistep_formulas(integrator, limit):
    """Above it the residuals grow: the roots of the formula with the correction added leave the unit circle."""
    problem = known("pendulum")[0]
    run = {"integrator": integrator, "formulation": Index1(), "step": 0.002}
    with pytest.raises(IncompatibleMethods, match=rf"only up to α = {limit}"):
        simulate(problem, **run, stabilization=ForwardEulerStabilization(alpha=limit + 0.01))
    below = simulate(problem, **run, stabilization=ForwardEulerStabilization(alpha=0.5 * limit))
    assert np.abs(below.q[-1] - known("pendulum")[1].q[-1]).max() < 1e-5


def test_a_plain_correction_that_is_too_strong_is_refused_with_one_that_is_not():
    problem = known("pendulum")[0]
    with pytest.raises(IncompatibleMethods, match=r"largest eigenvalue of α H D is 4 >= 2 at the start") as refusal:
        simulate(problem, integrator=RK4(), step=0.01, stabilization=ForwardEulerStabilization(alpha=1.0, F="1.14"))
    alpha = float(re.search(r"alpha <= ([\d.]+)", str(refusal.value))[1])
    sol = simulate(problem, integrator=RK4(), step=0.01, stabilization=ForwardEulerStabilization(alpha=alpha / 4, F="1.14"))
    assert np.abs(sol.q[-1] - known("pendulum")[1].q[-1]).max() < 1e-4


def test_a_plain_correction_that_becomes_too_strong_says_so_when_it_fails():
    """H contains velocities: on the way down its eigenvalues grow."""
    with pytest.raises(StepFailed, match=r"became unstable: the largest eigenvalue of α H D is [\d.]+ >= 2 at t = 0\.\d+"):
        simulate(
            problems.pendulum_a01(t_end=0.5), integrator=RK4(), step=0.005,
            stabilization=ForwardEulerStabilization(alpha=0.45, F="1.14"),
        )  # fmt: skip


@pytest.mark.parametrize("integrator", [BackwardEuler(), Radau(), BDF(), GaussLegendre4()], ids=repr)
@pytest.mark.parametrize("formulation", [f for f in FORMULATIONS if f != Index3()], ids=repr)
def test_without_constraints_every_formulation_is_the_equation_itself(formulation, integrator):
    free = System(mass=np.eye(2), force=[0, -10.0])
    sol = simulate(free, 1.0, q0=[0, 0], v0=[1, 2], formulation=formulation, integrator=integrator, step=0.01)
    # backward Euler falls by h/2 g t further
    assert sol.q[-1] == pytest.approx([1.0, -3.0], abs=1e-9 if integrator.order > 1 else 0.051)


def test_all_of_the_catalogue_is_walked():
    kinds = {type(thing) for thing in (*FORMULATIONS, *INTEGRATORS, *EXPLICIT)}
    everything = [getattr(holonomic, name) for name in holonomic.__all__]
    left_out = [
        kind for kind in everything
        if isinstance(kind, type) and (hasattr(kind, "gives") or hasattr(kind, "takes")) and kind not in kinds
    ]  # fmt: skip
    assert left_out == []
