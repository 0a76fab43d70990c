"""Dae: elimination of y, all levels kept, starts and messages; orders 1, 2 and 3."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    RK4,
    RK45,
    BackwardEulerStabilization,
    BadArgument,
    Baumgarte,
    Dae,
    Euler,
    Event,
    ForwardEulerStabilization,
    InconsistentState,
    Index3,
    InvariantStabilization,
    PostStabilization,
    Projection,
    Radau,
    SingularPosition,
    StateSpace,
    StrangenessFree,
    System,
    simulate,
)


def circle(order, **more):
    """Uniform motion on the unit circle, x = (cos t, sin t), with as many derivatives as wanted."""
    f = {
        1: lambda x: np.array([-x[1], x[0]]) + 0.3 * x,  # y = .3 takes the radial part away
        2: lambda x, dx: 0.5 * np.array([-dx[1], dx[0]]),  # y = 1/2: half of the force is there already
        3: lambda x, dx, ddx: -dx + 0.2 * x,
    }[order]
    return Dae(order=order, f=f, B=lambda x: x.reshape(2, 1), g={"circle": lambda x: x @ x - 1}, **more)


START = {
    1: {"x0": [1.0, 0.0]},
    2: {"x0": [1.0, 0.0], "dx0": [0.0, 1.0]},
    3: {"x0": [1.0, 0.0], "dx0": [0.0, 1.0], "ddx0": [-1.0, 0.0]},
}
MULTIPLIER = {1: 0.3, 2: 0.5, 3: 0.2}


@pytest.mark.parametrize("order", [1, 2, 3])
def test_solution_and_multipliers_of_uniform_motion(order):
    sol = simulate(circle(order), 3.0, **START[order], rtol=1e-10, atol=1e-12)
    exact = np.stack([np.cos(sol.t), np.sin(sol.t)], axis=1)
    np.testing.assert_allclose(sol.x, exact, atol=1e-8)  # 100 times the tolerance of a step
    np.testing.assert_allclose(sol.y, MULTIPLIER[order], atol=1e-7)
    if order > 1:
        np.testing.assert_allclose(sol.dx, np.stack([-np.sin(sol.t), np.cos(sol.t)], axis=1), atol=1e-8)
    if order > 2:
        np.testing.assert_allclose(sol.ddx, -exact, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "stabilization",
    [
        Baumgarte(gamma=5.0),
        InvariantStabilization(gain=5.0),
        InvariantStabilization(gain=5.0, D="B"),
        InvariantStabilization(gain=5.0, integral=True),
        InvariantStabilization(gain=0.2, F="1.14"),
        ForwardEulerStabilization(),
        BackwardEulerStabilization(alpha=3.0),
        PostStabilization(),
        PostStabilization(D="blocks"),
        PostStabilization(D="B"),
        Projection(at="new"),
    ],
    ids=repr,
)
def test_every_stabilization_works_and_keeps_the_order(order, stabilization):
    errors = []
    for h in (0.05, 0.025):
        sol = simulate(circle(order), 1.0, **START[order], integrator=RK4(), step=h, stabilization=stabilization)
        errors.append(np.max(np.abs(sol.x[-1] - [np.cos(1), np.sin(1)])))
    assert errors[1] < 1e-5
    assert np.log2(errors[0] / errors[1]) > 3.7  # order 4 of RK4, two steps only


def test_a_direction_of_the_user_names_the_state_of_a_dae():
    """D = Gᵀ written as a function is the orthogonal projection; for order 2 with one block per level, D = "blocks"."""

    def blocks(x, dx):
        return 2 * np.array([[x[0], 0], [x[1], 0], [0, x[0]], [0, x[1]]])

    run = {"integrator": RK4(), "step": 0.1}
    own = simulate(circle(2), 1.0, **START[2], **run, stabilization=PostStabilization(D=blocks))
    named = simulate(circle(2), 1.0, **START[2], **run, stabilization=PostStabilization(D="blocks"))
    np.testing.assert_allclose(own.x, named.x, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_baumgarte_of_order_m_damps_all_levels_by_one_polynomial(order):
    """From a start that misses the constraint, g^(m) + .. = 0 with (τ + γ)^m: g = p(t) exp(-γt), degree m - 1."""
    gamma, z = 4.0, np.array([1.05, 0.02, 0.03, 1.1, -0.9, 0.05])[: 2 * order]
    sol = simulate(
        circle(order), 1.0, y0=z, initial="free", integrator=RK45(), rtol=1e-11, atol=1e-12, stabilization=Baumgarte(gamma=gamma)
    )
    levels = [sol.drift[level][:, 0] for level in ("position", "velocity", "acceleration")[:order]]
    g0 = [level[0] for level in levels] + [0.0, 0.0]
    c = [g0[0], g0[1] + gamma * g0[0], (g0[2] + 2 * gamma * g0[1] + gamma**2 * g0[0]) / 2][:order]
    want = np.polynomial.polynomial.polyval(sol.t, c) * np.exp(-gamma * sol.t)
    np.testing.assert_allclose(levels[0], want, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_invariant_stabilization_damps_level_by_level(order):
    """h' = (h₂, .., h_m, 0) - γ h: the last level decays by itself."""
    gain, z = 4.0, np.array([1.05, 0.02, 0.03, 1.1, -0.9, 0.05])[: 2 * order]
    sol = simulate(
        circle(order), 1.0, y0=z, initial="free", integrator=RK45(), rtol=1e-11, atol=1e-12,
        stabilization=InvariantStabilization(gain=gain),
    )  # fmt: skip
    last = sol.drift[("position", "velocity", "acceleration")[order - 1]][:, 0]
    np.testing.assert_allclose(last, last[0] * np.exp(-gain * sol.t), atol=1e-8)


def test_gains_are_given_from_the_highest_derivative_down():
    run = {"y0": [1.05, 0.02, 0.03, 1.1], "initial": "free", "integrator": RK4(), "step": 0.01}
    one = simulate(circle(2), 1.0, **run, stabilization=Baumgarte(gains=(8.0, 16.0)))
    two = simulate(circle(2), 1.0, **run, stabilization=Baumgarte(gamma=4.0))
    np.testing.assert_allclose(one.x, two.x, atol=1e-14)
    with pytest.raises(BadArgument, match=r"gains=\(8.0, 16.0\) are 2, but the constraint is differentiated 3 times"):
        simulate(circle(3), 1.0, **START[3], integrator=RK4(), step=0.01, stabilization=Baumgarte(gains=(8, 16)))
    with pytest.raises(BadArgument, match="beta= is for order 2"):
        simulate(circle(1), 1.0, **START[1], integrator=RK4(), step=0.01, stabilization=Baumgarte(alpha=8, beta=1))


def test_order_2_is_the_mechanical_system():
    """M = I, B = Gᵀ: the same motion as a System, and y = λ."""
    kepler_on_sphere = {"constraint": lambda q: q @ q - 1}
    system = System(mass=np.eye(3), force=[0.3, 0.0, -9.81], **kepler_on_sphere)
    dae = Dae(order=2, f=[0.3, 0.0, -9.81], B=lambda x: 2 * x.reshape(3, 1), g=lambda x: x @ x - 1)
    run = {"integrator": RK4(), "step": 0.01, "stabilization": None}
    one = simulate(system, 1.0, q0=[1, 0, 0], v0=[0, 1, 0], **run)
    two = simulate(dae, 1.0, x0=[1, 0, 0], dx0=[0, 1, 0], **run)
    np.testing.assert_allclose(two.x, one.q, atol=1e-13)
    np.testing.assert_allclose(two.y, one.lam, atol=1e-11)
    np.testing.assert_allclose(two.drift["velocity"], one.drift["velocity"], atol=1e-13)


def test_several_constraints_with_a_nonsymmetric_gb():
    """G B = [[2, 1], [0, 1]] is far from symmetric; y against NumPy."""
    B = np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 3.0]])
    dae = Dae(order=1, f=lambda t, x: np.array([x[2], np.sin(t), 1.0]), B=B, g={"a": lambda x: x[0], "b": lambda x: x[1]})
    sol = simulate(dae, 1.0, x0=[0, 0, 1], rtol=1e-10, atol=1e-12)
    for t, x, y in zip(sol.t, sol.x, sol.y, strict=True):
        np.testing.assert_allclose(y, np.linalg.solve(B[:2], [x[2], np.sin(t)]), atol=1e-13)
    assert np.max(np.abs(sol.drift["position"])) < 1e-10


def test_parameters_inputs_outputs_and_events_know_the_names_of_a_dae():
    dae = Dae(
        order=2, f=lambda x, dx, p, u: np.array([0.0, -p.g]) + u.push * x, B=lambda x: 2 * x.reshape(2, 1),
        g=lambda x: x @ x - 1, params={"g": 9.81}, inputs={"push": 0.0},
        outputs={"tension": lambda y: 2 * y[0], "speed": lambda dx: np.sqrt(dx @ dx)}, coordinates=["east", "up"],
    )  # fmt: skip
    sol = simulate(dae, 2.0, x0=[1, 0], dx0=[0, 0], events={"lowest": Event(lambda x: x[0], terminal=True)})
    assert sol.ended == "lowest" and sol.x[-1, 0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(sol["tension"], 2 * sol.y[:, 0], atol=1e-12)
    np.testing.assert_allclose(sol["speed"][-1], np.sqrt(2 * 9.81), rtol=1e-6)  # energy over a height of 1
    assert sol.plan.model.coordinates == ["east", "up", "deast", "dup"]
    light = simulate(dae.with_params(g=1.0), 1.0, x0=[1, 0], dx0=[0, 0])
    assert abs(light.dx[-1]).max() < 1.5


def test_a_run_goes_on_from_its_end_and_can_be_asked_in_between():
    first = simulate(circle(2), 1.0, **START[2])
    second = simulate(circle(2), (1.0, 2.0), x0=first.end)
    assert second.t[0] == 1.0
    np.testing.assert_allclose(second.x[-1], [np.cos(2), np.sin(2)], atol=1e-5)
    np.testing.assert_allclose(first(0.321).x, [np.cos(0.321), np.sin(0.321)], atol=1e-5)
    np.testing.assert_allclose(first(0.321).y, 0.5, atol=1e-4)


def test_start_is_checked_on_every_level_or_moved_there():
    for level, start in (("circle", {"x0": [1.1, 0], "dx0": [0, 1]}), ("circle'", {"x0": [1, 0], "dx0": [0.1, 1]})):
        with pytest.raises(InconsistentState, match=f"misses constraint .{level}. by .* Correct x0, dx0"):
            simulate(circle(2), 1.0, **start)
    moved = simulate(circle(2), 0.1, x0=[1.1, 0.1], dx0=[0.1, 1], initial="project")
    for level in ("position", "velocity"):
        assert abs(moved.drift[level][0, 0]) < 1e-10
    assert np.linalg.norm(moved.x[0] - [1.1, 0.1]) < 0.3


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"x0": [1, 0]}, "needs dx0: a Dae of order 2 starts from x0, dx0"),
        ({"x0": [1, 0], "dx0": [0, 1], "ddx0": [0, 0]}, "ddx0 is not part of the state"),
        ({"x0": [1, 0], "dx0": [0]}, "dx0 has 1 entries, x0 has 2"),
        ({"x0": [np.nan, 0], "dx0": [0, 1]}, r"x0\[0\] is not finite"),
    ],
)
def test_incomplete_starts_are_refused_by_name(start, message):
    with pytest.raises(BadArgument, match=message):
        simulate(circle(2), 1.0, **start)


def test_the_end_of_a_run_is_a_whole_start():
    end = simulate(circle(2), 1.0, **START[2]).end
    with pytest.raises(BadArgument, match=r"^x0=sol\.end is a whole start: leave out dx0, ddx0 and y0, or give numbers"):
        simulate(circle(2), 2.0, x0=end, dx0=[0.0, 1.0])


def test_x0_belongs_to_a_dae():
    with pytest.raises(BadArgument, match="a System starts from q0 and v0"):
        simulate(System(mass=np.eye(1), force=[0.0]), 1.0, x0=[0.0])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"order": 4}, "order=4: a Dae has order 1, 2 or 3"),
        ({"g": lambda x, dx: x @ x}, "asks for 'dx'"),
        ({"g": 0.0}, "is the constant 0.0"),
        ({"f": lambda x, dx: x}, "asks for 'dx'"),
        ({"trace": False}, "have to be traced"),
    ],
)
def test_daes_that_cannot_be_meant_are_refused(more, message):
    given = {"order": 1, "f": lambda x: x, "B": lambda x: x.reshape(2, 1), "g": lambda x: x @ x - 1} | more
    with pytest.raises(BadArgument, match=message):
        Dae(**given)


@pytest.mark.parametrize("integrator", [BDF(), Radau()], ids=repr)
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_index_three_counts_every_derivative_by_its_own_index(integrator, rtol):
    """x' is of index 2 there: its error in one step is known to h alone, and must count times h."""
    damped = Dae(order=2, f=lambda x, dx: -x - 0.1 * dx, B=lambda x: 2 * x.reshape(2, 1), g=lambda x: x @ x - 1)
    exact = simulate(damped, 3.0, **START[2], rtol=1e-12).x[-1]
    sol = simulate(damped, 3.0, **START[2], integrator=integrator, formulation=Index3(), rtol=rtol, stabilization=None)
    # some hundred steps, and BDF of order 2 to 5 lets errors of one sign add up
    assert np.max(np.abs(sol.x[-1] - exact)) < 50 * rtol


def test_b_along_the_constraint_is_a_singular_position():
    """G B = cos t vanishes at π/2: y is not defined there."""
    turning = Dae(order=1, f=[1.0, 0.0], B=lambda t: np.array([[np.cos(t)], [np.sin(t)]]), g=lambda x: x[0])
    with pytest.raises(SingularPosition, match="G B of the Dae is singular") as caught:
        simulate(turning, 3.0, x0=[0, 0], integrator=Euler(), step=np.pi / 20)
    assert caught.value.solution.t[-1] == pytest.approx(np.pi / 2 - np.pi / 20)


# linear equations that change with time, and selectors that are chosen on the way


def turning(order):
    """C(t) x = 0 with C = (cos t, sin t) turns once in 2π: no row of the identity selects well all the way."""
    A = [None] * (order - 1) + [[[0.0, 1.0], [-1.0, 0.5]]]
    return Dae.linear(
        A,
        lambda t: np.array([[np.cos(t)], [np.sin(t)]]),
        lambda t: np.array([[np.cos(t), np.sin(t)]]),
        f=lambda t: np.array([0.0, np.sin(2 * t)]),
    )


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "formulation", [StrangenessFree("null-space"), StrangenessFree("rows"), StrangenessFree("constant"),
                    StateSpace("partition"), StateSpace("tangent")], ids=repr
)  # fmt: skip
def test_selectors_of_a_dae_are_chosen_anew_by_the_monitor(order, formulation):
    system = turning(order)
    names = ("x0", "dx0", "ddx0")[:order]
    # C x = 0 and its derivatives: x = a (-sin, cos) with a = 1 + t at the start
    start = dict(zip(names, ([0, 1], [-1, 1], [-2, -1]), strict=False))
    exact = simulate(system, 7.0, integrator=DOP853(), rtol=1e-11, atol=1e-12, **start)
    sol = simulate(system, 7.0, integrator=Radau(), formulation=formulation, rtol=1e-8, atol=1e-10, **start)
    size = 1 + np.abs(exact.end.q).max()
    assert np.abs(sol.end.q - exact.end.q).max() < 1e-5 * size
    assert np.abs(sol.y[-1] - exact.y[-1]).max() < 1e-4 * (1 + np.abs(exact.y).max())
    assert max(sol.drift.max().values()) < 1e-7 * size


def test_a_linear_dae_says_what_it_lacks():
    with pytest.raises(BadArgument, match="A holds 4 matrices"):
        Dae.linear([np.eye(2)] * 4, np.eye(2), np.eye(2))
    with pytest.raises(BadArgument, match=r"B\(\) asks for 'x'"):
        Dae.linear(np.eye(2), lambda x: x, np.eye(2))
