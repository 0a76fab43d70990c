"""Runs in double-double: right to 25 digits and more, on their constraints to 29, and what does not run so is refused by name."""

import pickle

import mpmath
import numpy as np
import pytest

from holonomic import (
    DOP853,
    RK4,
    RK23,
    RK45,
    BackwardEulerStabilization,
    Baumgarte,
    Dae,
    ForwardEulerStabilization,
    Heun,
    ImplicitMidpoint,
    Ode,
    PostStabilization,
    Projection,
    Radau,
    S_both,
    S_full,
    S_pos,
    S_vel,
    System,
    opaque,
    simulate,
    sweep,
)
from holonomic.errors import BadArgument, IncompatibleMethods, UnknownArgument
from holonomic.multibody import Mechanism, rod
from holonomic.problems import kepler, seven_body
from holonomic.results.pairs import Pairs

PENDULUM = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda q: q @ q - 1)
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
MORE = {"precision": "double-double"}


def on_circle(q):
    return q @ q - 1


def size(pairs) -> float:
    return float(np.max(np.abs(pairs.high), initial=0.0))


@pytest.fixture(scope="module")
def swung():
    """The pendulum at t = 1 to 40 digits, from rest at 90 degrees: sin(θ/2) = k sn(ω t + K, k) with k = sin 45°."""
    with mpmath.workdps(40):
        k = mpmath.sin(mpmath.pi / 4)
        omega = mpmath.sqrt(mpmath.mpf(9.81))
        u = omega + mpmath.ellipk(k**2)
        half = k * mpmath.ellipfun("sn", u, k=k)
        theta = 2 * mpmath.asin(half)
        return mpmath.sin(theta), -mpmath.cos(theta)


@pytest.mark.parametrize(("rtol", "error"), [(1e-12, 1e-10), (1e-16, 1e-14), (1e-20, 1e-18), (1e-25, 1e-23), (1e-28, 1e-27)])
def test_the_error_follows_the_tolerance_down_to_rounding(swung, rtol, error):
    sol = simulate(PENDULUM, 1.0, **START, **MORE, rtol=rtol, save_at=[1.0])
    with mpmath.workdps(40):
        found = [mpmath.mpf(text) for text in sol.exact.q[-1].text()]
        assert max(abs(one - other) for one, other in zip(found, swung, strict=True)) < error


def test_constraints_and_energy_are_kept_to_29_digits():
    sol = simulate(PENDULUM, 5.0, **START, **MORE, rtol=1e-28)
    assert size(sol.exact.residuals) < 1e-28
    total = sol.exact.energy.sum(axis=1)
    assert size(total - total[0]) < 1e-26
    assert "31 digits" in str(sol)


def test_rows_that_are_shown_are_the_exact_ones_rounded():
    sol = simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-18, save_at=11)
    exact = sol.exact
    assert exact.q.shape == sol.q.shape == (11, 2)
    for name in ("t", "q", "v", "a", "lam"):
        assert np.array_equal(getattr(exact, name).high, getattr(sol, name))
        assert np.all(np.abs(getattr(exact, name).low) <= 2.0**-53 * np.abs(getattr(sol, name)))
    assert np.any(exact.q.low != 0.0)


@pytest.mark.parametrize("integrator", [RK4(), Heun(), RK23(), RK45(), DOP853()])
@pytest.mark.parametrize(
    "stabilization",
    [None, Projection(), Projection(at="new"), Projection(on="full"), S_vel(), S_pos(), S_both(), S_full(), PostStabilization(),
     Baumgarte(alpha=20), ForwardEulerStabilization(), BackwardEulerStabilization()],
    ids=repr,
)  # fmt: skip
def test_fixed_steps_are_those_of_double_to_rounding(integrator, stabilization):
    given = START | {"integrator": integrator, "stabilization": stabilization, "step": 0.01, "constraint_tol": 1e-14}
    there, here = simulate(PENDULUM, 1.0, **given), simulate(PENDULUM, 1.0, **given, **MORE)
    assert len(here.t) == len(there.t)
    np.testing.assert_allclose(here.q, there.q, rtol=0, atol=2e-13)
    np.testing.assert_allclose(here.v, there.v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(here.lam, there.lam, rtol=0, atol=1e-10)
    assert not np.array_equal(here.q, there.q)  # the doubles of both are not the same run


def test_between_steps_the_solution_is_that_of_a_finer_run():
    sol = simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-18)
    saved = simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-18, save_at=[0.123, 0.5, 0.987])
    fine = simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-24, save_at=[0.123, 0.5, 0.987])
    assert size(saved.exact.q - fine.exact.q) < 1e-15  # dense output is of order 7
    np.testing.assert_allclose(sol(fine.t).q, fine.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(saved([0.3, 0.7]).q, sol([0.3, 0.7]).q, rtol=0, atol=1e-14)


def test_seven_bodies_to_twenty_digits():
    ends = {rtol: simulate(seven_body(), **MORE, rtol=rtol, save_at=[0.03]).exact.q[-1] for rtol in (1e-16, 1e-20, 1e-24)}
    assert size(ends[1e-20] - ends[1e-24]) < 1e-18
    assert 1e-20 < size(ends[1e-16] - ends[1e-24]) < 1e-14


def test_elementary_functions_in_the_equations():
    wire = Ode(lambda t, y: np.array([np.cos(y[0]) * np.exp(-t) + np.sqrt(1 + t) + np.arctan2(t, 2.0)]))
    sol = simulate(wire, 1.0, y0=[0.5], **MORE, rtol=1e-26, save_at=[1.0])
    with mpmath.workdps(40):
        f = lambda t, y: mpmath.cos(y) * mpmath.exp(-t) + mpmath.sqrt(1 + t) + mpmath.atan2(t, 2)
        wanted = mpmath.odefun(f, 0, mpmath.mpf(0.5), tol=mpmath.mpf(10) ** -32)(1)
        assert abs(mpmath.mpf(sol.exact.y[-1, 0].text()) - wanted) < 1e-25


def test_invariants_keep_their_value_at_the_start():
    sol = simulate(kepler(), 10.0, **MORE, rtol=1e-22)
    assert size(sol.exact.residuals) < 1e-27


def test_a_start_off_its_constraints_by_rounding_is_moved_onto_them():
    third = np.sqrt(1.0 / 3.0)
    turning = System(mass=np.eye(3), force=[0, 0, -1.0], constraint=lambda q: q @ q - 1)
    sol = simulate(turning, 0.1, q0=[third] * 3, v0=[0, 0, 0], initial="project", **MORE)
    assert size(sol.exact.residuals) < 1e-28
    assert abs(float((sol.exact.q[0, 0] * sol.exact.q[0, 0] * 3.0 - 1.0).high)) < 1e-30
    free = simulate(turning, 0.1, q0=[third] * 3, v0=[0, 0, 0], initial="free", stabilization=None, **MORE)
    assert free.exact.q.low[0].tolist() == [0.0] * 3


def test_backwards_in_time_it_comes_back():
    there = simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-26)
    q, v = there.exact.q[-1], there.exact.v[-1]
    back = simulate(PENDULUM, (1.0, 0.0), q0=there.end, **MORE, rtol=1e-26)
    assert size(back.exact.q[-1] - np.array([1.0, 0.0])) < 1e-14  # it begins with doubles
    assert q.low.any() and v.low.any()


def test_a_mechanism_runs_too():
    m = Mechanism(gravity=(0, -9.81))
    crank = m.body("crank", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("O", m.ground, crank, at=(0, 0))
    sol = simulate(m, 1.0, **MORE, rtol=1e-18)
    total = sol.exact.energy.sum(axis=1)
    assert size(total - total[0]) < 1e-16
    np.testing.assert_allclose(sol["O"].force, simulate(m, 1.0, rtol=1e-12, atol=1e-12)(sol.t)["O"].force, atol=1e-8)


def test_limits_interruptions_and_failures_are_those_of_every_run():
    with pytest.raises(Exception, match="max_steps") as caught:
        simulate(PENDULUM, 10.0, **START, **MORE, max_steps=100)
    assert caught.value.solution.exact.q.shape[0] > 50
    with pytest.raises(Exception, match="max_time"):
        simulate(PENDULUM, 1e6, **START, **MORE, max_time=0.2, max_steps=10**9, save_at=2)


def test_a_run_can_be_pickled_without_its_machine_code():
    ball = System(mass=np.eye(2), force=[0, -9.81], constraint=on_circle)
    sol = pickle.loads(pickle.dumps(simulate(ball, 0.1, **START, **MORE)))
    assert sol.exact.q.low.any()
    with pytest.raises(BadArgument, match="process that ran them"):
        sol.exact.residuals


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"integrator": Radau()}, "Radau.. solves equations in every step"),
        ({"integrator": ImplicitMidpoint(), "step": 0.01}, "solves equations in every step.*Use GaussLegendre"),
    ],
)
def test_methods_that_do_not_run_are_refused_by_name(options, words):
    with pytest.raises(IncompatibleMethods, match=words):
        simulate(PENDULUM, 1.0, **START, **MORE, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"events": {"low": lambda q: q[0]}}, "events="), ({"prefer": "energy"}, "prefer="), ({"error": True}, "error=True"),
        ({"checkpoint": "run.ckpt"}, "checkpoint="), ({"initial": "project", "hold": [0]}, "hold="), ({"lam0": [1.0]}, "lam0="),
    ],
)  # fmt: skip
def test_what_a_call_cannot_ask_for_is_refused_by_name(options, words):
    with pytest.raises(BadArgument, match=words):
        simulate(PENDULUM, 1.0, **START, **MORE, **options)


def test_systems_that_do_not_run_are_refused_by_name():
    redundant = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: [q @ q - 1, 2 * (q @ q) - 2])
    with pytest.raises(IncompatibleMethods, match="redundant"):
        simulate(redundant, 1.0, **START, **MORE, redundant="minimum-norm")
    driven = System(mass=np.eye(1), force=lambda u: [u.f], inputs={"f": ([0.0, 1.0], [0.0, 1.0])})
    with pytest.raises(IncompatibleMethods, match="tables"):
        simulate(driven, 1.0, q0=[0.0], v0=[0.0], **MORE)
    untraced = System(mass=np.eye(1), force=lambda q: [-float(q[0])], trace=False)
    with pytest.raises(IncompatibleMethods, match="plain Python"):
        simulate(untraced, 1.0, q0=[1.0], v0=[0.0], **MORE)
    rubbing = System(mass=np.eye(2), force=lambda v, lam: [-0.1 * np.tanh(v[0]) * lam[0], -9.81], constraint=lambda q: q[1])
    with pytest.raises(IncompatibleMethods, match="lam"):
        simulate(rubbing, 1.0, q0=[0.0, 0.0], v0=[1.0, 0.0], **MORE)
    circle = Dae(f=lambda x: [-x[1], x[0]], B=lambda x: 2 * x[:, None], order=1, g=lambda x: x @ x - 1)
    with pytest.raises(IncompatibleMethods, match="Dae"):
        simulate(circle, 1.0, x0=[1.0, 0.0], **MORE)


def test_functions_that_are_not_known_with_31_digits_are_refused_by_name():
    push = opaque(lambda x: -(np.asarray(x) ** 3), jac=lambda x: [[-3 * x[0] ** 2]])
    wall = System(mass=np.eye(1), force=lambda q: push(q))
    with pytest.raises(IncompatibleMethods, match="an opaque function is not known with 31 digits"):
        simulate(wall, 1.0, q0=[1.0], v0=[0.0], **MORE)


def test_bad_words_and_tolerances_are_refused():
    with pytest.raises(BadArgument, match='choose "double" or "double-double"'):
        simulate(PENDULUM, 1.0, **START, precision="quad")
    with pytest.raises(BadArgument, match='choose "double" or "double-double"'):
        simulate(PENDULUM, 1.0, **START, precision=np.eye(2))
    with pytest.raises(BadArgument, match="31 digits"):
        simulate(PENDULUM, 1.0, **START, **MORE, rtol=1e-30)
    with pytest.raises(BadArgument, match="belongs to a run with"):
        simulate(PENDULUM, 1.0, **START).exact
    with pytest.raises(UnknownArgument):
        sweep(PENDULUM, 1.0, **START, precision="double-double", params={})


def test_double_is_the_run_without_a_word():
    one, other = simulate(PENDULUM, 1.0, **START), simulate(PENDULUM, 1.0, **START, precision="double")
    assert np.array_equal(one.q, other.q) and np.array_equal(one.t, other.t)


def test_pairs_print_and_compute():
    third = Pairs(1.0) / 3.0
    assert third.text(20) == "0.33333333333333333333"
    assert Pairs.from_exact("0.1").text(20) == "0.10000000000000000000"
    assert float((Pairs.from_exact("0.1") * 10.0 - 1.0).high) == pytest.approx(0.0, abs=1e-32)
    assert Pairs([2.0, 3.0]).sqrt().text(25) == ["1.414213562373095048801689", "1.732050807568877293527446"]
    assert (np.array([1.0, 2.0]) - Pairs([1.0, 1.0])).high.tolist() == [0.0, 1.0]
    assert abs(Pairs(-2.0)) > 1.0 and Pairs(1.0, 1e-20) > 1.0 and Pairs([1.0, 2.0]).sum().text() == "3"
    with pytest.raises(TypeError, match="squares"):
        Pairs(2.0) ** 3
