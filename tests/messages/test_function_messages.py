"""What is said about the user's functions: shapes, names, domains, tracing."""

import numpy as np
import pytest

from holonomic import Dae, Event, Ode, System, simulate
from holonomic.errors import BadArgument, ForgottenVelocityTerms, NotFinite, UntraceableFunction, WrongShape

START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def point(**more):
    return System(**{"mass": np.eye(2), "force": [0, -9.81], **more})


def message(kind, system, t_end=1.0, **more):
    with pytest.raises(kind) as caught:
        simulate(system, t_end, **{**START, **more})
    return str(caught.value)


def many_springs(q):
    F = np.zeros(8)
    for i in range(8):
        if q[i] > 0:
            F[i] = -q[i]
    return F


def test_more_ways_than_are_followed():
    springs = System(mass=np.eye(8), force=many_springs, trace=True)
    assert message(UntraceableFunction, springs, q0=np.ones(8), v0=np.zeros(8)) == (
        'force() decides by values in more than 64 ways ("if q[i] > 0"). Put the body of a loop that decides into a function '
        "of its own, use np.where(condition, a, b), np.maximum or np.clip, or give an iteration a fixed number of turns."
    )


def test_what_is_remembered_between_calls():
    count = 0

    def force(q):
        nonlocal count
        count += 1
        return -q

    assert message(UntraceableFunction, point(force=force, trace=True)) == (
        "force() sets 'count' of the function around it in force(), so that its value depends on earlier calls. Leave that out, "
        "or state what it remembers as a state, System(..., states=...)."
    )


def test_ways_that_return_different_things():
    assert message(UntraceableFunction, point(force=lambda q: q if q[0] > 0 else 0.0, trace=True)) == (
        "force() returns things of different kinds or lengths, depending on values. Return numbers or arrays of the same shape "
        "on every way."
    )


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: point(force=[0, 0, 0]), "force() returned shape (3,), expected (2,), as v0 has 2 entries."),
        (lambda: point(mass=np.eye(3)), "mass() returned shape (3, 3), expected (2, 2), as v0 has 2 entries."),
        (lambda: point(mass=[1, 1]), "mass() returned shape (2,), expected (2, 2). Is np.diag(...) of it meant?"),
        (lambda: point(potential=lambda q: q), "potential() returned 2 numbers; it must return one."),
        (
            lambda: point(kinematics=lambda q: np.eye(3)),
            "kinematics() returned shape (3, 3), expected (2, 2), as v0 has 2 entries.",
        ),
    ],
)
def test_wrong_shapes(made, text):
    assert message(WrongShape, made()) == text


def test_event_that_is_not_one_number():
    assert message(WrongShape, point(), events={"pair": lambda q: q}) == ("event 'pair' returned 2 numbers; it must return one.")


def test_rhs_of_the_wrong_size():
    with pytest.raises(WrongShape, match=r"rhs\(\) returned shape \(2,\), expected \(3,\)"):
        simulate(Ode(lambda y: y[:2]), 1.0, y0=[1, 2, 3])


def test_nan_at_the_start():
    assert message(NotFinite, point(force=lambda q: np.array([np.sqrt(-q[0]), 0]))) == (
        "force() is nan at the start, t = 0, q = [1., 0.]."
    )


def test_nan_on_the_way_names_function_time_and_place_and_keeps_the_solution():
    # x = 1 - t²: the square root ends at t = 1
    edge = point(force=lambda q: np.array([-2.0, 1e-3 * np.sqrt(q[0])]))
    with pytest.raises(NotFinite, match=r"^force\(\) gives NaN or infinity near t = (0\.99|1|1\.0)\d*, q = \[") as caught:
        simulate(edge, 2.0, **START)
    assert str(caught.value).endswith("Check its domain (square roots, divisions, logarithms). See error.solution.")
    sol = caught.value.solution
    assert sol.ended == "failed"
    assert 0.9 < sol.t[-1] <= 1.0
    assert np.allclose(sol.q[:, 0], 1 - sol.t**2, atol=1e-6)


def test_a_function_that_raises_on_purpose_ends_the_run_at_its_place_with_what_it_said():
    def checked(q):
        if q[0] < 0.5:
            raise RuntimeError("below the floor")
        return np.array([-2.0, 0.0])

    def asserted(q):
        assert q[0] > 0.5, "too low"
        return np.array([-2.0, 0.0])

    for law, said in ((checked, "RuntimeError: below the floor"), (asserted, "AssertionError: too low")):
        with pytest.raises(NotFinite) as caught:
            simulate(point(force=law), 2.0, **START)
        assert str(caught.value).startswith(f"force() (it raises {said}) gives NaN or infinity near t = 0.7")  # 1 - t² = 0.5
        assert 0.5 <= caught.value.solution.q[-1, 0] < 0.51


def test_nan_in_an_event():
    logarithm = {"low": lambda q: np.log(q[0]) + 5}
    with pytest.raises(NotFinite, match=r"^event 'low' gives NaN or infinity near t = 1, ") as caught:
        simulate(point(force=[-2.0, 0.0]), 2.0, **START, events=logarithm)
    assert 0.9 < caught.value.solution.t[-1] <= 1.0
    assert message(NotFinite, point(), q0=[-1.0, 0.0], events=logarithm) == (
        "event 'low' is nan at the start, t = 0, q = [-1.,  0.]."
    )


def test_constraint_that_depends_on_nothing():
    assert message(BadArgument, point(constraint={"idle": lambda q: 0 * q[0]})) == (
        "constraint 'idle' depends on nothing: neither t nor q enters its value."
    )
    assert message(BadArgument, point(constraint={"clock": lambda t: t})) == (
        "constraint 'clock' depends on no coordinate: only t enters its value."
    )
    with pytest.raises(BadArgument, match="constraint 'idle' depends on nothing: it names neither q nor t"):
        point(constraint={"idle": lambda p: 1.0})
    with pytest.raises(BadArgument, match=r"constraint 'idle' is the constant 0\.0: it depends on nothing"):
        point(constraint={"idle": 0.0})


def test_force_that_asks_for_the_multipliers():
    with pytest.raises(BadArgument) as caught:
        point(force=lambda q, lam: -0.1 * lam[0] * q, constraint=lambda q: q @ q - 1, trace=False)
    assert str(caught.value) == (
        "force() asks for 'lam': forces that depend on the multipliers, such as friction, need trace=True. With "
        "trace=False it can have t, q, v, p, u."
    )


def test_names_that_functions_cannot_have():
    with pytest.raises(BadArgument, match=r"^force\(\) asks for 'velocity'; it can have t, q, v, p, u, lam \(chosen by name\)"):
        point(force=lambda velocity: velocity)
    assert message(BadArgument, point(), events={"odd": lambda z: z}) == (
        "event 'odd' asks for 'z'; it can have t, q, v, p, u, a, lam (chosen by name)."
    )
    with pytest.raises(BadArgument, match=r"^event 'odd' asks for 'lam'; it can have t, y, p \(chosen"):
        simulate(Ode(lambda y: -y), 1.0, y0=[1.0], events={"odd": lambda lam: lam[0]})


def test_arguments_by_position_only():
    def force(q, /):
        return -q

    with pytest.raises(BadArgument) as caught:
        point(force=force)
    assert str(caught.value) == ("force() takes 'q' by position only, but arguments are chosen by name. Leave out the /.")


def test_a_function_that_fails_on_symbols_only():
    def force(q):
        if type(q[0]) is not np.float64:
            raise LookupError("no such type.\nDetails follow.")
        return -q

    assert message(UntraceableFunction, point(force=force, trace=True)) == (
        'force() cannot be run on symbols ("raise LookupError("no such type.\\nDetails follow.")"): LookupError: no such type. '
        "Write it with NumPy functions of its arguments, or call what needs numbers through opaque(f)."
    )


def test_a_mistake_in_a_function_is_shown_as_it_is():
    """An error that has nothing to do with symbols keeps its own type and place."""
    with pytest.raises(IndexError, match="index 5 is out of bounds") as caught:
        simulate(point(force=lambda q: [q[5], 0.0]), 1.0, **START)
    assert caught.value.__notes__ == ["raised by force() at the start, t = 0, q = [1., 0.]"]


def test_unknown_parameters_and_inputs():
    assert message(BadArgument, point(force=lambda p: [0, -p.gravity], params={"g": 9.81})) == (
        "force() uses unknown parameter or input 'gravity'. Known: g."
    )
    assert message(BadArgument, point(force=lambda u: [0, u.push], inputs={"pull": 1.0})) == (
        "force() uses unknown parameter or input 'push'. Known: pull."
    )
    with pytest.raises(BadArgument, match=r"unknown parameter 'gravity'\. Known: g\."):
        point(params={"g": 9.81}).with_params(gravity=1.0)


def test_forgotten_coriolis_terms_and_both_ways_out():
    arm = {"mass": lambda q: np.array([[1 + q[1] ** 2, 0], [0, 1]]), "force": [0, 0]}
    assert message(ForgottenVelocityTerms, System(**arm)) == (
        "mass() depends on q, but force() has no term quadratic in v, although the Coriolis and centrifugal terms of "
        "this mass matrix are not zero. Pass velocity_terms=True to add them, or velocity_terms=False if force() is meant "
        "as it stands."
    )
    # polar coordinates (angle, radius - with 1 + r² as inertia): angular momentum is kept only with the terms
    start = {"q0": [0.0, 1.0], "v0": [1.0, 0.5]}
    momentum = lambda sol: (1 + sol.q[:, 1] ** 2) * sol.v[:, 0]
    right = simulate(System(**arm, velocity_terms=True), 1.0, **start, rtol=1e-9)
    assert np.ptp(momentum(right)) < 1e-7
    as_it_stands = simulate(System(**arm, velocity_terms=False), 1.0, **start)
    assert np.ptp(momentum(as_it_stands)) > 0.1


def test_inconsistent_sizes():
    assert message(BadArgument, point(), q0=[1, 0, 0]) == (
        "q0 has 3 entries but v0 has 2; they must agree unless kinematics= is given."
    )
    assert message(BadArgument, point(coordinates=["x"])) == (
        "q0 has 2 entries, but coordinates= names 1: x. Give one number for each."
    )
    assert message(BadArgument, point(coordinates=["x", "x"])) == (
        "coordinates= has the name 'x' twice; every coordinate needs its own."
    )


def test_nonholonomic_constraints_must_be_linear_in_v():
    assert message(BadArgument, point(nonholonomic=lambda v: v @ v)) == (
        "nonholonomic constraints must be linear in v: Â(t, q) v + b(t, q)."
    )


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (lambda q: q, "then of event 'half' must return (q, v), got ndarray at t = 0.5."),
        (lambda q, v: (q, v[:1]), "then of event 'half': v has 1 entries at t = 0.5, expected 2."),
        (lambda q, v: (q * np.nan, v), "then of event 'half': q is not finite at t = 0.5: [nan nan]."),
        (lambda q, v: (q, "fast"), "then of event 'half': v must be numbers, got 'fast' at t = 0.5."),
        (
            lambda q, v: (2 * q, v),
            "then of event 'half' moves q off constraint 'rod' by 7.5e-01 at t = 0.5 (allowed 2.0e-08). Return a "
            "position on the constraints.",
        ),
        (lambda q, v: 1 / 0, "then of event 'half' failed at t = 0.5: ZeroDivisionError: division by zero. See error.solution."),
        (lambda lam: lam, "then of event 'half' asks for 'lam'; it can have t, p, q, v (chosen by name)."),
    ],
)
def test_what_then_must_return_is_said_and_the_solution_kept(then, text):
    pendulum = point(constraint={"rod": lambda q: q @ q - 1})
    with pytest.raises(Exception) as caught:
        simulate(pendulum, 1.0, **START, events={"half": Event(lambda t: t - 0.5, then=then)})
    assert str(caught.value) == text
    assert caught.value.solution.t[-1] == 0.5


def test_events_must_be_named_and_made_of_functions():
    assert message(BadArgument, point(), events=[lambda q: q[0]]) == (
        'events= is a mapping {name: Event(...)}, for example {"slack": Event(lambda lam: lam[0])}.'
    )
    assert message(BadArgument, point(), events={"five": 5}) == ("an Event needs a function or the name of an output, got 5.")
    assert message(BadArgument, point(), events={"slack": Event("tension")}) == (
        "event 'slack': the system has no output 'tension'; known: none."
    )
    with pytest.raises(BadArgument, match="direction='up': choose 'both', 'rising' or 'falling'"):
        Event(lambda q: q[0], direction="up")
    with pytest.raises(BadArgument, match="either ends the run"):
        Event(lambda q: q[0], terminal=True, then=lambda q, v: (q, v))
    with pytest.raises(BadArgument, match="then= must be a function of the state, got 3"):
        Event(lambda q: q[0], then=3)


@pytest.mark.parametrize("trace", [True, False])
def test_rows_that_come_as_a_matrix(trace):
    text = (
        "{} returned shape (2, 2), expected a number or one row of numbers. Return np.ravel(...) of the matrix if each of its "
        "entries is meant, or the entries that are, such as those above the diagonal of a symmetric one."
    )
    square = point(constraint={"square": lambda q: np.outer(q, q) - np.diag([1, 0])}, trace=trace)
    assert message(WrongShape, square) == text.format("constraint 'square'")
    turn = Ode(lambda y: np.array([-y[1], y[0]]), {"both": lambda y: np.outer(y, y)}, trace=trace)
    with pytest.raises(WrongShape) as caught:
        simulate(turn, 1.0, y0=[1.0, 0.0])
    assert str(caught.value) == text.format("invariant 'both'")


@pytest.mark.parametrize("trace", [True, False])
def test_a_column_of_constraints_is_a_row_of_them(trace):
    held = point(constraint=lambda q: (q - [1, 0]).reshape(2, 1), trace=trace)
    assert np.array_equal(simulate(held, 1.0, **START).q[-1], [1, 0])


@pytest.mark.parametrize("trace", [True, False])
def test_events_that_cannot_have_a_zero(trace):
    system = point(trace=trace, params={"limit": 2.0})
    assert message(BadArgument, system, events={"far": lambda q: q[0] > 1}) == (
        "event 'far' returns True or False, which crosses no zero. Return a number that changes its sign there: q[0] - 1 in "
        "the place of q[0] > 1."
    )
    assert message(BadArgument, system, events={"ever": lambda p: p.limit - 1}) == (
        "event 'ever' depends on nothing that changes: it is 1 throughout, so it never crosses zero. Write it as a function "
        "of t or of the state."
    )
    nothing = message((WrongShape, UntraceableFunction), system, events={"none": lambda q: None})
    assert nothing == "event 'none' returned nothing: is a `return` missing?"


def test_an_event_whose_symbols_cancel_is_a_constant():
    assert "is 3 throughout" in message(BadArgument, point(), events={"three": lambda q: 3.0 + 0 * q[0]})


def test_functions_that_return_nothing_without_tracing():
    def constraint(q):
        q @ q - 1

    assert message(WrongShape, point(constraint=constraint, trace=False)) == (
        "constraint() returned nothing: is a `return` missing?"
    )


def test_what_then_returns_is_no_matrix():
    with pytest.raises(WrongShape, match=r"then of event 'half': q has shape \(1, 2\) at t = 0.5, expected \(2,\)"):
        simulate(point(), 1.0, **START, events={"half": Event(lambda t: t - 0.5, then=lambda q, v: ([q], v))})


def test_kinematics_beside_a_kinetic_energy_may_be_any_matrix():
    # q' = Z v with a Z that is not symmetric; T is that of unit masses in q' = Z v: q'' = -g e_y whatever Z
    Z = np.array([[1.0, 2.0], [0.0, 1.0]])
    made = System.from_energies(lambda v: 0.5 * (Z @ v) @ (Z @ v), lambda q: 9.81 * q[1], kinematics=lambda q: Z + 0 * q[0])
    sol = simulate(made, 1.0, q0=[0.0, 0.0], v0=[0.0, 0.0])
    assert np.allclose(sol.q[-1], [0.0, -9.81 / 2], atol=1e-9)


def fails_on_symbols(x):
    if type(x[0]) is not np.float64:
        raise LookupError("no such type")
    return -x


NAMED = 'cannot be run on symbols ("raise LookupError("no such type")"): LookupError: no such type. Write it with NumPy functions'


@pytest.mark.parametrize("trace", ["auto", True])
def test_what_has_to_be_traced_names_the_function_and_the_line_and_no_way_that_is_none(trace):
    """trace=False is no remedy for a Dae or for energies, so it is not offered."""
    energies = System.from_energies(lambda v: 0.5 * v @ v, force=lambda q: fails_on_symbols(q), trace=trace)
    dae = Dae(order=1, f=lambda x: fails_on_symbols(x), B=[[0.0], [1.0]], g=lambda x: x[1], trace=trace)
    for role, system, start in (("force()", energies, START), ("f()", dae, {"x0": [1.0, 0.0]})):
        with pytest.raises(UntraceableFunction) as caught:
            simulate(system, 1.0, **start)
        said = str(caught.value)
        assert said.startswith(f"{role} {NAMED} of its arguments, or call what needs numbers through opaque(f).")
        assert "trace=False" not in said


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (lambda: System.from_energies(lambda v: v @ v, trace=False), "energies are differentiated, so their functions"),
        (
            lambda: Dae(order=1, f=[0.0], B=[[1.0]], g=lambda x: x[0], trace=False),
            "a Dae is differentiated as often as its order says, so its functions",
        ),
    ],
)
def test_what_has_to_be_traced_says_where_the_line_is_named(state, words):
    with pytest.raises(BadArgument) as caught:
        state()
    assert str(caught.value).startswith(f"{words} have to be traced. Leave out trace=False: where one cannot be traced, the error")
