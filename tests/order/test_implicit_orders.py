"""Orders of every formulation with every implicit integrator, for q, v and λ: theory minus 0.2.

    backward Euler    1       trapezoidal, midpoint    2       BDF of order k    k

for q, v and λ(q, v) alike, from the first step on. The λ that a method solves for itself has its order with index 2 and 3
from the step on at which the past of a multistep method is its own; with the trapezoidal rule and index 3 it need not
converge: its error is summed up, with alternating sign, from the start.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RATTLE,
    BackwardEuler,
    FixedBDF,
    GeneralizedAlpha,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    Overdetermined,
    ProjectedInvariants,
    Projection,
    Radau,
    StateSpace,
    StrangenessFree,
    System,
    Trapezoidal,
    UnderlyingODE,
    problems,
    simulate,
)
from holonomic.problems import Problem
from holonomic.testing import SLACK, bead, moving_pendulum, skate

EVERYWHERE = [
    Index1(),
    Index2(),
    Index3(),
    GGL(),
    GGL(D="mass"),
    ProjectedInvariants("Pa"),
    ProjectedInvariants("Pa", D="mass"),
    ProjectedInvariants("Pb"),
    ProjectedInvariants("Pc"),
    UnderlyingODE(),
    Overdetermined(),
]
HOLONOMIC = [  # q' = v and holonomic constraints only
    StrangenessFree("null-space"),
    StrangenessFree("rows"),
    StrangenessFree("constant"),
    StateSpace("tangent"),
    StateSpace("partition"),
]
INTEGRATORS = [BackwardEuler(), Trapezoidal(), ImplicitMidpoint(), ImplicitMidpoint("stage"), FixedBDF(2), FixedBDF(3)]


def top() -> Problem:
    """A body with quaternions whose centre hangs on a point: q' = Z v, three constraints."""

    def kinematics(q):
        e, o = q[3:], 0 * q[0]
        turn = [[-e[1], -e[2], -e[3]], [e[0], -e[3], e[2]], [e[3], e[0], -e[1]], [-e[2], e[1], e[0]]]
        rows = [[o + (i == j) for j in range(6)] for i in range(3)]
        return np.array(rows + [[o, o, o, *(part / 2 for part in row)] for row in turn])

    def axis(e):
        a, b, c, d = e
        return np.array([2 * (b * d + a * c), 2 * (c * d - a * b), a * a - b * b - c * c + d * d])

    J = np.diag([1.0, 1.2, 0.5])
    w = np.array([0.3, 0.2, 5.0])
    system = System(
        mass=np.diag([2.0, 2.0, 2.0, 1.0, 1.2, 0.5]),
        force=lambda v: np.concatenate([np.array([0 * v[0], 0 * v[0], -19.6 + 0 * v[0]]), -np.cross(v[3:], J @ v[3:])]),
        kinematics=kinematics,
        constraint={"pin": lambda q: q[:3] - axis(q[3:]) / 2},
    )
    v0 = (*np.cross(w, [0, 0, 0.5]), *w)
    return Problem("top", "Top", system, 0.5, q0=(0, 0, 0.5, 1, 0, 0, 0), v0=v0)


PROBLEMS = {
    "circle": lambda: problems.unit_circle(t_end=1.2),
    "longer way round the circle": lambda: problems.unit_circle(t_end=2.4),
    "moving pendulum": lambda: moving_pendulum(t_end=0.8),
    "moving wire": lambda: bead(speed=0.5, rise=2.0, g=3.0, t_end=1.0),
    "skate": skate,
    "top": top,
}
# Steps of the coarser run, by order: few enough for λ of index 3 to stay above its rounding ε/h², many enough for the
# leading term to rule
COARSE = {1: 400, 2: 200, 3: 100, 4: 160, 5: 120, 6: 100}
SYSTEMS = ("circle", "moving pendulum", "moving wire", "skate", "top")
CASES = [(name, f) for name in SYSTEMS for f in EVERYWHERE + HOLONOMIC * (name not in ("skate", "top"))]


@cache
def made(name: str) -> Problem:
    return PROBLEMS[name]()


@cache
def reference(name: str):
    if "circle" in name:
        t = np.linspace(0, made(name).t_end, 21)
        q, v = made(name).exact(t)
        return SimpleNamespace(t=t, q=q.T, v=v.T, lam=(np.sin(t) * np.cos(t))[:, None])
    return simulate(made(name), integrator=DOP853(), rtol=1e-13, atol=1e-13, save_at=21)


def errors(name, integrator, formulation, n, stabilization=None):
    """Largest errors of q, v and λ in a run of n steps, and of the method's own λ in its last three quarters."""
    problem, known = made(name), reference(name)
    sol = simulate(problem, formulation=formulation, integrator=integrator, stabilization=stabilization, step=problem.t_end / n)
    at = np.arange(21) * n // 20
    assert np.allclose(sol.t[at], known.t, rtol=1e-12)
    off = {part: np.abs(getattr(sol, part)[at] - getattr(known, part)).max() for part in ("q", "v", "lam")}
    if "lam" in sol.unknowns and not integrator.multipliers_in_stages:
        off["own lam"] = np.abs(sol.unknowns["lam"][at] - known.lam)[5:].max()
    return off


def observed(name, integrator, formulation, stabilization=None, more=1):
    n = more * COARSE[integrator.order]
    coarse, fine = (errors(name, integrator, formulation, k, stabilization) for k in (n, 2 * n))
    return {part: np.inf if coarse[part] < 1e-11 else np.log2(coarse[part] / fine[part]) for part in coarse}, coarse


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
@pytest.mark.parametrize(("name", "formulation"), CASES, ids=lambda x: x if isinstance(x, str) else repr(x))
def test_q_v_and_multipliers_have_the_order_of_the_integrator(name, formulation, integrator):
    if integrator == ImplicitMidpoint("stage") and formulation.index > 1:
        pytest.skip("Gauss's method: constraints hold in the stages alone, which needs a projection")
    orders, sizes = observed(name, integrator, formulation)
    if isinstance(integrator, Trapezoidal) and isinstance(formulation, Index3):
        orders.pop("own lam")
    assert all(order >= integrator.order - SLACK for order in orders.values()), (orders, sizes)


@pytest.mark.parametrize("formulation", EVERYWHERE + HOLONOMIC, ids=repr)
@pytest.mark.parametrize("order", [4, 5, 6])
def test_bdf_of_high_order(order, formulation):
    # where λ is integrated, too, errors are larger and the next term shows longer: twice as many steps
    more = 2 if isinstance(formulation, UnderlyingODE) else 1
    orders, sizes = observed("longer way round the circle", FixedBDF(order), formulation, more=more)
    if isinstance(formulation, Index3):
        orders.pop("own lam")  # ε/h² is larger than h^6 here
    assert all(value >= order - SLACK for value in orders.values()), (orders, sizes)


@pytest.mark.parametrize("integrator", [BackwardEuler(), Trapezoidal(), FixedBDF(3)], ids=repr)
@pytest.mark.parametrize("formulation", [Index1(), Index2(), UnderlyingODE()], ids=repr)
@pytest.mark.parametrize("name", ["moving wire", "top"])
def test_projection_keeps_the_order(name, formulation, integrator):
    orders, sizes = observed(name, integrator, formulation, Projection())
    assert all(order >= integrator.order - SLACK for order in orders.values()), (orders, sizes)


@pytest.mark.parametrize("formulation", [Index2(), ProjectedInvariants("Pa"), ProjectedInvariants("Pb")], ids=repr)
def test_gauss_method_with_projection_has_order_2(formulation):
    orders, sizes = observed("moving wire", ImplicitMidpoint("stage"), formulation, Projection())
    assert min(orders["q"], orders["v"]) >= 2 - SLACK, (orders, sizes)


@pytest.mark.parametrize(
    ("integrator", "formulation"), [(GeneralizedAlpha(), Index2()), (GeneralizedAlpha(), Index3()), (RATTLE(), Index3())], ids=repr
)
@pytest.mark.parametrize("name", ["moving pendulum", "moving wire"])
def test_methods_of_mechanics_have_order_2(name, integrator, formulation):
    orders, sizes = observed(name, integrator, formulation)
    assert all(order >= 2 - SLACK for order in orders.values()), (orders, sizes)


def test_own_multipliers_of_index_3_do_not_converge_with_the_trapezoidal_rule():
    """g' alternates with an amplitude h² from the start on, and λ sums it up over 1/h steps of h."""
    orders, sizes = observed("top", Trapezoidal(), Index3())
    assert min(orders["q"], orders["v"], orders["lam"]) >= 2 - SLACK
    assert abs(orders["own lam"]) < 0.2 and sizes["own lam"] > 0.1, (orders, sizes)


def test_first_own_multiplier_of_index_3_has_an_error_that_does_not_shrink():
    """Backward Euler: the second difference of q over the first two steps is not q'' but half of it and all of it."""
    off = []
    for n in (100, 200):
        sol = simulate(made("circle"), formulation=Index3(), integrator=BackwardEuler(), stabilization=None, step=1.2 / n)
        off.append(np.abs(sol.unknowns["lam"][:, 0] - np.sin(sol.t) * np.cos(sol.t)))
        assert np.abs(sol.lam[:, 0] - np.sin(sol.t) * np.cos(sol.t))[:4].max() < 1e-3  # 4e-4 where λ(q, v) is reported
    assert off[0][1] > 0.1 and off[1][1] > 0.1
    assert off[1][3:].max() < 0.03


# adaptive methods

ADAPTIVE = {"pendulum": lambda: problems.pendulum_a01(t_end=2.0), "seven-body": problems.seven_body, "car axis": problems.car_axis}


@cache
def adaptive_reference(name):
    problem = ADAPTIVE[name]()
    sol = simulate(problem, integrator=DOP853(), rtol=1e-12, atol=1e-12)
    return problem, sol.q[-1], sol.v[-1], sol.lam[-1]


SQUARE = [f for f in EVERYWHERE + HOLONOMIC if not f.overdetermined]


@pytest.mark.parametrize("formulation", SQUARE, ids=repr)
@pytest.mark.parametrize("integrator", [BDF(), BDF(max_order=6), Radau()], ids=repr)
@pytest.mark.parametrize("name", ADAPTIVE)
def test_errors_follow_the_tolerance(name, integrator, formulation):
    if integrator == BDF(max_order=6) and not isinstance(formulation, Index1 | UnderlyingODE):
        pytest.skip("order 6 is refused there")
    problem, q, v, lam = adaptive_reference(name)
    off = []
    for rtol in (1.25e-4, 1e-4, 0.8e-4, 1e-8):
        sol = simulate(problem, formulation=formulation, integrator=integrator, stabilization=None, rtol=rtol, atol=rtol)
        found = ((sol.q[-1], q), (sol.v[-1], v), (sol.lam[-1], lam))
        off.append([np.abs(a - b).max() / max(1.0, np.abs(b).max()) for a, b in found])
    # the largest of three: drift of the underlying ODE changes its sign, and is 30 times smaller at one than at another
    coarse, fine = np.max(off[:3], axis=0), np.array(off[3])
    # Four decades of tolerance are at least two of the error of q and v, and one of λ, which loses powers of h in
    # index 2 and 3. The underlying ODE on the car axis, where drift adds up, leaves the most.
    assert np.all(fine <= np.maximum(np.array([1e-2, 1e-2, 1e-1]) * coarse, 1e-8)), (coarse, fine)
    assert np.all(fine <= [1e-3, 1e-3, 1e-2]), (coarse, fine)


@pytest.mark.parametrize("formulation", [Index1(), Index2(), Index3(), UnderlyingODE()], ids=repr)
@pytest.mark.parametrize("integrator", [BDF(), Radau()], ids=repr)
def test_projection_holds_the_constraints_inside_adaptive_steps(integrator, formulation):
    problem, q, _, _ = adaptive_reference("car axis")
    sol = simulate(problem, formulation=formulation, integrator=integrator, stabilization=Projection(), rtol=1e-6)
    assert np.abs(sol.drift["position"]).max() < 1e-8
    assert np.abs(sol.drift["velocity"]).max() < 1e-8
    assert np.abs(sol.q[-1] - q).max() < 1e-2
