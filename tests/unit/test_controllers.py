"""Sampled controllers: looks at even times, answers that are held, delays, noise and states; in runs, sweeps and steppers."""

import itertools
import warnings

import numpy as np
import pytest

from holonomic import (
    BDF,
    GGL,
    RK4,
    BadArgument,
    Controller,
    Event,
    NotFinite,
    Ode,
    StepFailed,
    Stepper,
    System,
    UnknownArgument,
    UnknownName,
    WrongShape,
    simulate,
    sweep,
)

START = {"q0": [0.0, np.sin(0.05), np.cos(0.05)], "v0": [0.0, 0.0, 0.0]}
GAINS = np.array([2.728, 42.69, 4.236, 13.02])  # of the discrete LQR with Q = diag(1, 1, 0.1, 0.1), R = 0.1, T = 1/32


def cart_pole(**more):
    """A cart at x with a pole of length 1 to a mass at (px, py): redundant coordinates, one constraint."""
    return System(
        mass=np.diag([1.0, 0.2, 0.2]), force=lambda q, u: [u.push, 0.0, -0.2 * 9.81],
        constraint={"pole": lambda q: (q[1] - q[0]) ** 2 + q[2] ** 2 - 1.0}, inputs={"push": 0.0},
        outputs={"angle": lambda q: np.arctan2(q[1] - q[0], q[2]), "push": lambda u: u.push,
                 "miss": lambda a, lam, q, u: a[0] - 2 * (q[1] - q[0]) * lam[0] - u.push},
        **more,
    )  # fmt: skip


def law(q, v):
    angle = np.arctan2(q[1] - q[0], q[2])
    rate = ((v[1] - v[0]) * q[2] - (q[1] - q[0]) * v[2]) / (q[2] ** 2 + (q[1] - q[0]) ** 2)
    return GAINS @ np.array([q[0], angle, v[0], rate])


def by_hand(period, t_end, **methods):
    """The same run, restarted at every look with the input held: no word of a controller."""
    q, v, us = np.array(START["q0"]), np.zeros(3), []
    for k in range(round(t_end / period)):
        us.append(law(q, v))
        sol = simulate(cart_pole(), (k * period, (k + 1) * period), q0=q, v0=v, inputs={"push": us[-1]}, **methods)
        q, v = sol.end.q, sol.end.v
    return q, v, np.array(us)


def test_a_run_is_that_of_restarts_by_hand_at_every_look_bit_for_bit():
    period, step = 1 / 32, 1 / 128  # exact in binary: no time is rounded
    sol = simulate(cart_pole(), 4.0, **START, controllers={"push": Controller(law, period=period)}, integrator=RK4, step=step)
    q, v, us = by_hand(period, 4.0, integrator=RK4, step=step)
    samples = sol.controls["push"]
    assert np.array_equal(samples.u, us) and np.array_equal(sol.end.q, q) and np.array_equal(sol.end.v, v)
    assert np.array_equal(samples.t, period * np.arange(128)) and np.array_equal(samples.applied, samples.t)
    assert abs(sol["angle"][-1]) < 5e-3 < abs(sol["angle"][0])  # it balances


@pytest.mark.parametrize("methods", [{}, {"integrator": BDF, "formulation": GGL}])
def test_steps_chosen_by_error_agree_with_restarts_to_the_tolerance(methods):
    sol = simulate(cart_pole(), 2.0, **START, controllers={"push": Controller(law, period=0.02)}, **methods)
    q, _, us = by_hand(0.02, 2.0, rtol=1e-12)
    bound = 1e-4 if methods else 1e-7  # 0.1 rtol; BDF makes 100 beginnings of first order
    np.testing.assert_allclose(sol.end.q, q, atol=bound)
    np.testing.assert_allclose(sol.controls["push"].u, us, atol=100 * bound)  # GAINS
    assert np.abs(sol["miss"]).max() < 1e-9  # v', λ and u of one row belong together


def test_answers_are_read_back_everywhere():
    sol = simulate(cart_pole(), 1.0, **START, controllers={"push": Controller(law, period=0.1, delay=0.03)}, save_at=5)
    samples = sol.controls["push"]
    t = np.array([0.01, 0.03, 0.129, 0.13, 0.6, 0.999])
    expected = np.append(0.0, samples.u)[np.searchsorted(samples.applied, t, side="right")]
    assert np.array_equal(sol(t)["push"], expected)
    np.testing.assert_allclose(samples.applied - samples.t, 0.03)
    np.testing.assert_allclose([law(*each) for each in zip(sol(samples.t).q, sol(samples.t).v, strict=True)], samples.u, atol=1e-6)
    assert np.array_equal(samples.seen["q"][0], sol.q[0])


def exact(looks, applied, u, t_end, start=(1.0, 0.0)):
    """A mass under held forces: position and speed at the looks and at the end."""
    edges = np.unique(np.concatenate([looks, applied, [0.0, t_end]]))
    (q, v), found = start, []
    for a, b in itertools.pairwise(edges):
        if a in looks:
            found.append((q, v))
        if a >= t_end:
            break
        h, push = b - a, np.append(0.0, u)[np.searchsorted(applied, a, side="right")]
        q, v = q + v * h + 0.5 * push * h * h, v + push * h
    return np.array(found), (q, v)


MASS = System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0})
ALONE = {"q0": [1.0], "v0": [0.0]}


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.3, 0.25])
def test_delays_hold_the_answer_back(delay):
    controller = Controller(lambda q, v: -0.5 * q[0] - v[0], period=0.1, delay=delay)
    sol = simulate(MASS, 3.0, **ALONE, controllers={"push": controller})
    s = sol.controls["push"]
    assert len(s.t) == 30
    np.testing.assert_allclose(s.applied, s.t + delay, atol=1e-15)
    states, end = exact(s.t, s.applied, s.u, 3.0)
    np.testing.assert_allclose(s.u, -0.5 * states[:, 0] - states[:, 1], atol=1e-12)
    assert (sol.end.q[0], sol.end.v[0]) == pytest.approx(end, abs=1e-12)
    stepper = Stepper(MASS, **ALONE, controllers={"push": controller})
    for _ in range(7):
        stepper.step(3.0 / 7)
    assert (stepper.q[0], stepper.v[0]) == pytest.approx(end, abs=1e-12)


def test_noise_is_seeded_and_of_each_member():
    def noisy(seed=3, **more):
        return {"push": Controller(lambda q, v: -q[0] - 1.5 * v[0], period=0.05, noise={"q": 0.1, "v": [0.2]}, seed=seed, **more)}

    sol, again = (simulate(MASS, 100.0, **ALONE, controllers=noisy()) for _ in range(2))
    assert np.array_equal(sol.controls["push"].u, again.controls["push"].u)
    assert not np.array_equal(sol.controls["push"].u, simulate(MASS, 100.0, **ALONE, controllers=noisy(4)).controls["push"].u)
    s = sol.controls["push"]
    noise = np.hstack([s.seen["q"] - sol(s.t).q, s.seen["v"] - sol(s.t).v])
    # 2000 looks: standard deviations to 5 %, means to 5 deviations of a mean
    np.testing.assert_allclose(noise.std(axis=0), [0.1, 0.2], rtol=0.05)
    assert np.all(np.abs(noise.mean(axis=0)) < 5 * np.array([0.1, 0.2]) / np.sqrt(2000))
    runs = sweep(MASS, 100.0, q0=[[1.0], [1.0]], v0=[0.0], controllers=noisy())
    assert np.array_equal(runs.controls["push"].u[0], s.u) and not np.array_equal(runs.controls["push"].u[1], s.u)
    stepper = Stepper(MASS, **ALONE, controllers=noisy())
    stepper.step(100.0)
    assert stepper.q[0] == pytest.approx(sol.end.q[0], abs=1e-9)


def test_a_law_with_a_state_integrates():
    def pi(q, v, state):
        state = state + 0.05 * (q[0] - 0.5)
        return -2.0 * (q[0] - 0.5) - 1.5 * v[0] - 0.4 * state[0], state

    loaded = System(mass=np.eye(1), force=lambda u: [u.push - 1.0], inputs={"push": 0.0})
    controller = {"push": Controller(pi, period=0.05, state=[0.0])}
    sol = simulate(loaded, 60.0, **ALONE, controllers=controller)
    assert sol.end.q[0] == pytest.approx(0.5, abs=1e-3)  # no error is left, whatever the load
    s = sol.controls["push"]
    np.testing.assert_allclose(s.state[:, 0], np.cumsum(0.05 * (s.seen["q"][:, 0] - 0.5)), atol=1e-12)
    stepper = Stepper(loaded, **ALONE, controllers=controller)
    stepper.step(1.02)
    kept, other = stepper.state(), stepper.copy()
    stepper.step(2.0)
    there = (*stepper.q, *stepper.v)
    stepper.restore(kept)
    stepper.step(2.0)
    other.step(2.0)
    assert (*stepper.q, *stepper.v) == there == (*other.q, *other.v)
    stepper.reset()
    assert stepper.q[0] == 1.0


def test_a_law_may_write_into_what_it_is_given():
    def writes(q, state):
        state += q[0]
        q[:] = 7.0
        return -state[0], state

    controller = {"push": Controller(writes, period=0.1, state=[0.0])}
    sol = simulate(MASS, 1.0, **ALONE, controllers=controller)
    s = sol.controls["push"]
    assert s.seen["q"][0, 0] == 1.0 and np.allclose(s.state[:, 0], np.cumsum(s.seen["q"][:, 0]))
    stepper = Stepper(MASS, **ALONE, controllers=controller)
    kept = stepper.state()
    stepper.step(1.0)
    there = stepper.q[0]
    stepper.restore(kept)
    stepper.step(1.0)
    assert stepper.q[0] == there == pytest.approx(sol.end.q[0], abs=1e-12)


def test_laws_name_outputs_accelerations_multipliers_and_inputs():
    seen = []

    def look(angle, a, lam, u, p, t):
        seen.append((t, angle, a[0], lam[0], u.push, p.k))
        return p.k * angle

    system = System(**{name: getattr(cart_pole(), name) for name in ("mass", "force", "constraint", "inputs", "outputs")},
                    params={"k": 3.0})  # fmt: skip
    sol = simulate(system, 0.5, **START, controllers={"push": Controller(look, period=0.1)})
    t, angle, a, lam, push, _ = np.array(seen).T
    np.testing.assert_allclose(angle, sol(t)["angle"], atol=1e-12)
    assert np.array_equal(push, [0.0, *sol.controls["push"].u[:-1]])  # inputs as they were before the look
    q = sol(t).q
    np.testing.assert_allclose(a, 2 * (q[:, 1] - q[:, 0]) * lam + push, atol=1e-9)


def test_redundant_rows_leave_outputs_and_no_multipliers():
    twice = System(
        mass=np.eye(2), force=lambda u: [u.push, -9.81], inputs={"push": 0.0},
        constraint={"rod": lambda q: q @ q - 1.0, "again": lambda q: 2.0 * (q @ q - 1.0)},
        outputs={"lean": lambda q, a: q[0] + 0.0 * a[0], "pull": lambda lam: lam[0]},
    )  # fmt: skip
    start = {"q0": [0.6, -0.8], "v0": [0.0, 0.0], "redundant": "minimum-norm"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sol = simulate(twice, 1.0, **start, controllers={"push": Controller(lambda lean: -lean, period=0.1)})
        assert np.array_equal(sol.controls["push"].u, -sol(sol.controls["push"].t).q[:, 0])
        for law, what in ((lambda lam: lam[0], "lam"), (lambda pull: pull, "pull")):
            with pytest.raises(BadArgument) as problem:
                simulate(twice, 1.0, **start, controllers={"push": Controller(law, period=0.1)})
            assert str(problem.value) == (
                f"controller 'push' looks at {what}, but constraint rows are redundant and their multipliers not unique. Look at a "
                "force or an acceleration instead, or remove the redundant rows."
            )


def test_two_controllers_of_different_periods_and_one_that_sets_two_inputs():
    pair = System(mass=np.eye(2), force=lambda u: [u.left, u.right], inputs={"left": 0.0, "right": 0.0})
    start = {"q0": [1.0, -1.0], "v0": [0.0, 0.0]}
    apart = {"left": Controller(lambda q, v: -q[0] - v[0], period=0.1), "right": Controller(lambda q, v: -q[1] - v[1], period=0.3)}
    sol = simulate(pair, 3.0, **start, controllers=apart)
    assert len(sol.controls["left"].t) == 30 and len(sol.controls["right"].t) == 10
    both = Controller(lambda q, v: -q - v, period=0.1, sets=["left", "right"])
    sol = simulate(pair, 3.0, **start, controllers={"pd": both})
    assert sol.controls["pd"].u.shape == (30, 2) and sol.controls["pd"].inputs == ("left", "right")
    assert sol.end.q[0] == pytest.approx(-sol.end.q[1], abs=1e-15)


def test_events_end_the_looks_and_maps_go_on():
    controller = {"push": Controller(lambda q: -1.0, period=0.1)}
    sol = simulate(MASS, 5.0, **ALONE, controllers=controller, events={"floor": Event(lambda q: q[0], terminal=True)})
    assert sol.end.t == pytest.approx(np.sqrt(2.0)) and len(sol.controls["push"].t) == 15
    bounce = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -v))
    sol = simulate(MASS, 5.0, **ALONE, controllers=controller, events={"floor": bounce})
    assert len(sol.controls["push"].t) == 50 and len(sol.events["floor"].t) == 2
    switched = simulate(
        MASS, 3.0, **ALONE, controllers={"push": Controller(lambda t: 1.0 if t < 0.45 else -1.0, period=0.1)},
        events={"turned": Event(lambda u: u.push, direction="falling")},
    )  # fmt: skip
    np.testing.assert_allclose(switched.events["turned"].t, [0.5])


@pytest.mark.parametrize("trace", [True, False])
def test_odes_and_systems_that_run_as_python_have_controllers(trace):
    decay = Ode(lambda y, u: [u.push - y[0]], inputs={"push": 0.0}, trace=trace)
    sol = simulate(decay, 1.0, y0=[1.0], controllers={"push": Controller(lambda y: -y[0], period=0.25)})
    y = 1.0
    for _ in range(4):
        y = -y + (y - -y) * np.exp(-0.25)
    assert sol.end.y[0] == pytest.approx(y, abs=1e-6)


def test_members_of_a_sweep_are_single_runs():
    system = System(mass=lambda p: p.m * np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0}, params={"m": 1.0},
                    outputs={"power": lambda u, v: u.push * v[0]})  # fmt: skip
    controllers = {"push": Controller(lambda q, v: -q[0] - v[0], period=0.1, delay=0.05)}
    masses = np.array([0.5, 1.0, 3.0])
    runs = sweep(system, 2.0, **ALONE, params={"m": masses}, controllers=controllers, save_at=9)
    kept = sweep(system, 2.0, **ALONE, params={"m": masses}, controllers=controllers, save_at=9, outputs=["power"])
    for m, mass in enumerate(masses):
        alone = simulate(system.with_params(m=mass), 2.0, **ALONE, controllers=controllers, save_at=9)
        assert np.array_equal(runs.q[m], alone.q) and np.array_equal(runs["power"][m], alone["power"])
        assert np.array_equal(kept["power"][m], alone["power"])
        assert np.array_equal(runs.controls["push"].u[m], alone.controls["push"].u)


def test_a_law_that_fails_leaves_the_run_so_far():
    for given, kind, text in [
        (lambda t: 1.0 if t < 0.45 else np.nan, NotFinite, "controller 'push' at t = 0.5 gives nan. See error.solution."),
        (lambda t: 1.0 if t < 0.45 else int("no"), StepFailed,
         "controller 'push' failed at t = 0.5: ValueError: invalid literal for int() with base 10: 'no'. See error.solution."),
        (lambda t: 1.0 if t < 0.45 else [1.0, 2.0], WrongShape,
         "controller 'push' at t = 0.5 gives 2 numbers, expected 1, one for push."),
        (lambda t: 1.0 if t < 0.45 else None, WrongShape, "controller 'push' at t = 0.5 must be numbers, got None."),
        (lambda t: 1.0 if t < 0.45 else "full", WrongShape, "controller 'push' at t = 0.5 must be numbers, got 'full'."),
    ]:  # fmt: skip
        with pytest.raises(kind) as problem:
            simulate(MASS, 1.0, **ALONE, controllers={"push": Controller(given, period=0.1)})
        assert str(problem.value) == text
        assert problem.value.solution.end.t == pytest.approx(0.5) and len(problem.value.solution.controls["push"].t) == 5
    runs = sweep(MASS, 1.0, q0=[[1.0], [2.0]], v0=[0.0],
                 controllers={"push": Controller(lambda q, t: 1.0 if t < 0.45 or q[0] > 2 else np.nan, period=0.1)})  # fmt: skip
    assert [each.member for each in runs.failed] == [0] and "gives nan" in runs.failed[0].why


@pytest.mark.parametrize(
    ("controllers", "text"),
    [
        ([1],
         'controllers= is a mapping {name: Controller(...)}, for example {"push": Controller(lambda q, v: -q[0], period=0.01)}.'),
        ({"push": law}, "controllers['push'] must be a Controller(law, period=...), got function."),
        ({"pull": Controller(law, period=0.1)},
         "controller 'pull' sets 'pull': the system has no such input; known: push. Name them with sets=[...]."),
        ({"pd": Controller(law, period=0.1, sets=["pull"])},
         "controller 'pd' sets 'pull': the system has no such input; known: push."),
        ({"a": Controller(law, period=0.1, sets="push"), "b": Controller(law, period=0.1, sets="push")},
         "input 'push' is set by two controllers, 'a' and 'b'."),
        ({"push": Controller(lambda q, w: q[0], period=0.1)},
         "controller 'push' asks for 'w'; it can have t, q, v, p, u, a, lam, angle, push, miss (chosen by name)."),
        ({"push": Controller(lambda q: q[0], period=0.1, noise={"v": 1.0})},
         "controller 'push': noise['v'] is on nothing that the law measures; it measures q."),
        ({"push": Controller(lambda q: q[0], period=0.1, noise={"q": [1.0, 2.0]})},
         "controller 'push': noise['q'] has shape (2,), q has (3,)."),
        ({"push": Controller(lambda q, state: q[0], period=0.1, state=0.0)},
         "controller 'push' at t = 0 has a state: it must return a pair (inputs, next state), got float64."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", [lambda **more: simulate(cart_pole(), 1.0, **more), lambda **more: Stepper(cart_pole(), **more)])
def test_bad_controllers_get_plain_words(call, controllers, text):
    with pytest.raises((BadArgument, WrongShape)) as problem:
        call(**START, controllers=controllers)
    assert str(problem.value) == text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"law": 3.0}, "a Controller needs a law, a function such as lambda q, v: -q[0] - v[0], got 3.0."),
        ({"period": 0.0}, "period=0.0 must be a positive number."),
        ({"period": np.inf}, "period=inf must be finite: the law looks at the run once in that time, s."),
        ({"delay": -1.0}, "delay=-1.0 must be a time in s, 0 or more."),
        ({"noise": 0.1}, 'noise= is a mapping {name: standard deviation}, for example {"q": 0.001}, got 0.1.'),
        ({"noise": {"q": -0.1}}, "noise['q'] is a standard deviation, 0 or more, got -0.1."),
        ({"seed": 1.5}, "seed=1.5 must be a whole number, 0 or more."),
        ({"state": "on"}, "state must be numbers, got 'on'."),
        ({"sets": ["a", "a"]}, "sets=['a', 'a']: give the names of inputs, each once, for example sets=[\"left\", \"right\"]."),
    ],
)
def test_a_controller_that_cannot_be_is_refused_where_it_is_stated(given, text):
    with pytest.raises(BadArgument) as problem:
        Controller(**{"law": law, "period": 0.1} | given)
    assert str(problem.value) == text


def test_what_does_not_go_together_is_said():
    one = {"push": Controller(lambda q: q[0], period=0.1)}
    with pytest.raises(UnknownArgument, match="Controller has no argument 'rate'"):
        Controller(law, rate=0.1)
    with pytest.raises(BadArgument, match="input 'push' is given in inputs= and set by controller 'push': leave out one of them"):
        simulate(MASS, 1.0, **ALONE, controllers=one, inputs={"push": 1.0})
    with pytest.raises(BadArgument, match=r"controllers look at a run forward in time; \(1, 0\) goes backward"):
        simulate(MASS, (1.0, 0.0), **ALONE, controllers=one)
    with pytest.raises(BadArgument, match="is a function of t in the system"):
        simulate(System(mass=1.0, force=lambda u: [u.push], inputs={"push": lambda t: t}), 1.0, **ALONE, controllers=one)
    with pytest.raises(BadArgument, match='use on="threads", without store='):
        sweep(MASS, 1.0, q0=[[1.0]], v0=[0.0], controllers=one, store="nowhere")
    with pytest.raises(UnknownName, match="the solution has no controller 'pull'"):
        simulate(MASS, 1.0, **ALONE, controllers=one).controls["pull"]
    with pytest.raises(BadArgument, match="has no input 'push' that can be set"):
        Stepper(MASS, **ALONE, controllers=one).step(0.1, u={"push": 1.0})
