"""Algebraic variables beside positions, velocities and multipliers: solved at every point, in every formulation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import (
    BDF,
    GGL,
    RK4,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    ProjectedInvariants,
    Radau,
    StateSpace,
    StrangenessFree,
    System,
    Trapezoidal,
    simulate,
    sweep,
)
from holonomic.errors import HolonomicError


def slide(**more):
    """A bead on x = θ + 0.2 sin θ, y = cos θ; θ and the drag follow from implicit equations."""
    return System(
        np.eye(2), lambda v, drag: np.array([0, -9.81]) - drag * v,
        {"curve": lambda q, angle: q[1] - np.cos(angle)},
        algebraic={
            "drag": lambda drag, v: drag + drag**3 - 0.3 * (v @ v),
            "angle": lambda angle, q: angle + 0.2 * np.sin(angle) - q[0],
        },
        **more,
    )  # fmt: skip


BEAD = {"q0": [0.5 + 0.2 * np.sin(0.5), np.cos(0.5)], "v0": [0, 0], "w0": {"drag": 0.1, "angle": 0.3}}


@pytest.fixture(scope="module")
def bead():
    return slide()


@pytest.fixture(scope="module")
def slid():
    """θ and θ' at t = 1.5, from the equation in θ."""

    def rhs(t, y):
        th, om = y
        along = np.array([1 + 0.2 * np.cos(th), -np.sin(th)])
        bend = np.array([-0.2 * np.sin(th), -np.cos(th)])
        v = along * om
        roots = np.roots([1, 0, 1, -0.3 * (v @ v)])
        drag = roots[np.argmin(np.abs(roots.imag))].real
        return [om, along @ (np.array([0, -9.81]) - drag * v - bend * om**2) / (along @ along)]

    return solve_ivp(rhs, (0, 1.5), [0.5, 0.0], rtol=1e-11, atol=1e-12).y[:, -1]


def test_algebraic_variables_are_solved_at_every_point(bead, slid):
    sol = simulate(bead, 1.5, rtol=1e-9, **BEAD)
    assert sol.end.w[1] == pytest.approx(slid[0], abs=1e-8)
    assert sol["angle"][0] == pytest.approx(0.5, abs=1e-12)  # from the guess 0.3
    there = sol(np.linspace(0, 1.5, 50))
    drag, angle = there.w.T
    assert np.max(np.abs(drag + drag**3 - 0.3 * np.sum(there.v**2, axis=1))) < 1e-14
    assert np.max(np.abs(angle + 0.2 * np.sin(angle) - there.q[:, 0])) < 1e-14
    assert sol.drift.max()["position"] < 1e-10
    assert "w0 was off by 2.2e-01" in str(sol)


@pytest.mark.parametrize("integrator", [BDF(), Radau()])
@pytest.mark.parametrize(
    "formulation",
    [Index1(), Index2(), Index3(), GGL(), ProjectedInvariants("Pb"), StrangenessFree(), StateSpace("partition")],
    ids=repr,
)
def test_algebraic_variables_in_every_formulation(bead, slid, formulation, integrator):
    sol = simulate(bead, 1.5, rtol=1e-7, integrator=integrator, formulation=formulation, **BEAD)
    assert sol.end.w[1] == pytest.approx(slid[0], abs=5e-5)


@pytest.mark.parametrize("formulation", [Index1(), GGL(), StrangenessFree(), Overdetermined()], ids=repr)
def test_fixed_steps_keep_their_order_with_algebraic_variables(bead, slid, formulation):
    errors = [
        abs(simulate(bead, 1.5, integrator=Trapezoidal(), formulation=formulation, step=h, **BEAD).end.w[1] - slid[0])
        for h in (0.02, 0.01)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


def test_algebraic_variables_in_plain_python(bead):
    given = {"integrator": RK4(), "step": 0.02, **BEAD}
    ends = [simulate(system, 0.1, **given).end for system in (bead, slide(trace=False))]
    assert ends[0].q == pytest.approx(ends[1].q, abs=1e-8)
    assert ends[0].w == pytest.approx(ends[1].w, abs=1e-8)


def test_events_see_algebraic_variables(bead):
    sol = simulate(bead, 1.5, events={"fast": lambda drag: drag - 0.5}, **BEAD)
    assert sol.events["fast"].w[:, 0] == pytest.approx(0.5, abs=1e-9)


def test_sweeps_solve_for_algebraic_variables(bead):
    runs = sweep(bead, 0.3, **(BEAD | {"v0": [[0, 0], [0, 0]]}))
    assert runs["angle"][1, 0] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("method", [{}, {"integrator": BDF()}])
def test_variables_that_cease_to_exist_are_named(method):
    """z² = 0.09 - q ends at q = 0.09, where ∂k/∂z vanishes."""
    fold = {"algebraic": {"z": lambda z, q: z**2 + q[0] - 0.09}}
    system = System(np.eye(1), **fold)
    with pytest.raises(HolonomicError) as caught:
        simulate(system, 1.0, q0=[0], v0=[1], w0=[0.3], **method)
    assert caught.value.solution.end.t == pytest.approx(0.09, abs=1e-3)
    if not method:
        assert "the algebraic equations cannot be solved for 'z'" in str(caught.value)
