"""States of a run between its steps: as accurate as the run, on the constraints, over jumps and breaks of inputs."""

from dataclasses import replace

import numpy as np
import pytest

import holonomic
from holonomic import (
    BDF,
    DOP853,
    RK4,
    RK45,
    BackwardEuler,
    BadArgument,
    Baumgarte,
    Event,
    FixedBDF,
    GeneralizedAlpha,
    Index1,
    Index2,
    Ode,
    Radau,
    System,
    simulate,
)
from holonomic.integrators.base import Integrator
from holonomic.problems import kepler, pendulum
from holonomic.results import sampling, trail

TIMES = np.linspace(0.013, 1.987, 97)  # inside a run of 2 s, on no step
INTEGRATORS = [made() for made in vars(holonomic).values() if isinstance(made, type) and issubclass(made, Integrator)]


@pytest.fixture(scope="module")
def exact():
    """The same motion from elliptic functions, 15 digits."""
    known = [pendulum().exact(t) for t in TIMES]
    return np.array([q for q, _ in known]), np.array([v for _, v in known])


def ball(**options):
    system = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], coordinates=["x", "y"])
    bounce = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q * [1, 0], v * [1, -0.8]))
    return simulate(system, 1.5, q0=[0, 1], v0=[1, 0], events={"bounce": bounce}, **options)


# states between steps


def test_sol_t_is_as_accurate_as_the_run(swing, exact):
    there = swing(TIMES)
    at_steps = np.max(np.abs(swing.q - [pendulum().exact(t)[0] for t in swing.t]))
    # the dense output of order 7 follows steps of order 8 within a small factor, where these are better than rtol = 1e-6
    assert np.max(np.abs(there.q - exact[0])) < 6 * at_steps
    assert np.max(np.abs(there.q - exact[0])) < 2e-6


def test_dense_output_of_dop853_has_order_7(exact):
    errors = []
    for h in (1 / 10, 1 / 20):
        sol = simulate(pendulum(), 2.0, integrator=DOP853(), step=h)
        errors.append(np.max(np.abs(np.hstack([sol(TIMES).q, sol(TIMES).v]) - np.hstack(exact))))
    assert errors[1] > 1e-13  # not yet rounding
    assert np.log2(errors[0] / errors[1]) > 7 - 0.2


@pytest.mark.parametrize("integrator, order", [(RK4(), 3), (RK45(), 4)])
def test_dense_output_has_the_order_of_the_method(integrator, order, exact):
    errors = []
    for h in (1 / 20, 1 / 40):
        sol = simulate(pendulum(), 2.0, integrator=integrator, step=h)
        errors.append(np.max(np.abs(sol(TIMES).q - exact[0])))
    assert np.log2(errors[0] / errors[1]) > order - 0.2


def test_sol_t_lies_on_the_constraints(swing):
    largest = swing(TIMES).drift.max()
    # |g| is at most 2 ‖q‖ = 2 times the distance, which is kept to 1e-10; velocities to rounding
    assert largest["position"] <= 2.0e-10
    assert largest["velocity"] < 1e-13
    # accelerations and multipliers belong to the state there
    assert np.max(np.abs(swing(TIMES).drift.acceleration)) < 1e-12


def test_at_recorded_times_the_recorded_rows_come_back(swing):
    again = swing(swing.t)
    for name in ("t", "q", "v", "a", "lam"):
        assert np.array_equal(getattr(again, name), getattr(swing, name)), name


def test_between_neighbouring_times_the_curve_is_continuous(swing):
    t = swing.t[5]
    # 1e-9 s at a speed below 6 m/s
    assert swing(t + 1e-9).q == pytest.approx(swing(t).q, abs=1e-8)
    assert swing(t - 1e-9).q == pytest.approx(swing(t).q, abs=1e-8)


def test_a_number_gives_arrays_without_time_axis(swing):
    there = swing(0.25)
    assert there.q.shape == there.v.shape == there.a.shape == there.reactions.shape == (2,)
    assert there.lam.shape == (1,)
    assert np.ndim(there.t) == 0 and there.t == 0.25
    assert there.drift["position"].shape == (1,)
    assert there.energy.total.shape == ()
    assert there.drift.worst("position").t == 0.25


def test_times_come_back_in_the_order_asked_for(swing):
    there = swing([1.5, 0.25, 1.5])
    assert there.t.tolist() == [1.5, 0.25, 1.5]
    assert np.array_equal(there.q[1], swing(0.25).q)
    assert np.array_equal(there.q[0], there.q[2])
    assert swing([]).q.shape == (0, 2)


def test_a_solution_at_times_asks_the_run_again(swing):
    assert np.array_equal(swing([0.1, 0.2])(0.7).q, swing(0.7).q)


@pytest.mark.parametrize("t", [-0.1, 2.5, np.nan])
def test_times_outside_the_run_are_refused(swing, t):
    with pytest.raises(BadArgument, match="outside the run, which covers 0 to 2 s"):
        swing([0.5, t])


def test_an_end_off_by_rounding_is_the_end(swing):
    assert np.array_equal(swing(np.nextafter(2.0, 3.0)).q, swing.q[-1])
    with pytest.raises(BadArgument, match="one time or a row of times"):
        swing([[0.5]])
    with pytest.raises(BadArgument, match="in seconds"):
        swing("end")


def test_runs_backward_are_sampled_too(exact):
    q, v = pendulum().exact(2.0)
    sol = simulate(pendulum(), (2.0, 0.0), q0=q, v0=v, rtol=1e-10, atol=1e-12)
    # tolerance 1e-10 over one period; measured 1e-9
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-8
    assert sol.span == (2.0, 0.0)


def test_with_save_at_the_run_is_repeated_between_kept_times(swing, exact):
    sol = simulate(pendulum(), 2.0, save_at=[0.5, 1.0])
    inside = TIMES[TIMES < 1.9]
    error = np.max(np.abs(swing(TIMES).q - exact[0]))
    # before the first, between and after the kept times; another sequence of steps of the same tolerance
    assert np.max(np.abs(sol(inside).q - exact[0][TIMES < 1.9])) < 4 * error
    assert np.array_equal(sol(1.0).q, sol.q[1])
    assert sol(TIMES).drift.max()["position"] <= 2.0e-10
    assert sol.span == (0.0, 2.0)
    assert sol.end.t == 2.0
    assert np.array_equal(sol(2.0).q, sol.end.q)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_with_save_at_sol_t_gives_the_numbers_of_the_run_itself(integrator):
    """The run is made again, and its steps are the same; a step of changing length that is taken again begins at t and ends
    at t + h to rounding."""
    given = {"integrator": integrator} | ({} if integrator.adaptive else {"step": 0.02})
    few, there = uneven(1.0, save_at=[0.3, 1.0], **given), uneven(1.0, save_at=TIMES / 2, **given)
    # Radau keeps steps short enough for the times that are saved inside: within its error, rtol = 1e-6. The first step of
    # FixedBDF, whose past is not its own, is taken again without it: 3e-7 of v
    allowed = 3e-6 if isinstance(integrator, Radau) else 1e-7 if isinstance(integrator, FixedBDF) else 1e-12
    for part in ("q", "v"):
        np.testing.assert_allclose(getattr(few(TIMES / 2), part), getattr(there, part), rtol=0.0, atol=allowed)
    np.testing.assert_allclose(few(TIMES / 2).lam, there.lam, rtol=0.0, atol=100 * allowed)  # λ has some ten times their size


def test_with_save_at_a_run_is_made_again_once(monkeypatch):
    sol = uneven(1.0, save_at=3)
    first = sol(0.3).q
    monkeypatch.setattr(sol.trail, "again", None)
    assert np.array_equal(sol([0.3, 0.7]).q[0], first)


def test_steps_that_do_not_fit_into_memory_are_made_again_for_the_times_asked_for(monkeypatch):
    whole, few = uneven(1.0)(TIMES / 2), uneven(1.0, save_at=3)
    monkeypatch.setattr(sampling, "STEPS_BYTES", 0)
    np.testing.assert_allclose(few(TIMES / 2).q, whole.q, rtol=0.0, atol=1e-12)
    assert "every step" not in few.trail.known


def test_multipliers_that_a_free_run_began_with_are_taken_again():
    given = {"q0": [1e-4, 1.0001], "v0": [0.999, 0.001], "lam0": [-3.0], "initial": "free"}
    given |= {"formulation": Index1(), "integrator": BackwardEuler(), "stabilization": None, "step": 0.02}
    system = System(mass=np.eye(2), force=[0.0, 0.0], constraint=lambda q: q @ q - 1.0)
    few, there = (simulate(system, 0.1, **given, save_at=times) for times in ([0.0, 0.1], [0.005, 0.013, 0.05]))
    np.testing.assert_array_equal(few(there.t).unknowns["lam"], there.unknowns["lam"])


def test_a_first_step_that_was_given_is_taken_again():
    given = {"first_step": 1e-3, "integrator": RK45(), "rtol": 1e-4}
    few, there = uneven(1.0, save_at=3, **given), uneven(1.0, save_at=TIMES / 2, **given)
    np.testing.assert_allclose(few(TIMES / 2).q, there.q, rtol=0.0, atol=1e-12)


def test_runs_that_events_or_changes_of_method_cut_are_made_again_as_they_were():
    """A stiff spring is switched on at t = 0.5; the run is left to us, and stops where it is half stretched."""
    stiff = System(mass=np.eye(1), force=lambda t, q, v: np.where(t > 0.5, -1e6 * (q - np.cos(t)) - 2e3 * v, 0.0 * q))
    stop = {"stop": Event(lambda t: t - 3.0, terminal=True)}
    few, every = (simulate(stiff, 5.0, q0=[1.0], v0=[0.1], events=stop, save_at=save) for save in ([0.0, 2.0], None))
    assert few.ended == "stop" and few.span[1] == 3.0
    times = np.linspace(0.01, 2.99, 200)
    np.testing.assert_allclose(few(times).q, every(times).q, rtol=0.0, atol=3e-6)  # Radau among them, rtol = 1e-6


def test_fixed_steps_with_save_at(exact):
    sol = simulate(pendulum(), 2.0, integrator=DOP853(), step=0.02, save_at=4)
    # order 8 with steps of 0.02: far below 1e-9
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-9


def test_baumgarte_runs_are_sampled_with_their_gains(exact):
    sol = simulate(pendulum(), 2.0, rtol=1e-9, atol=1e-11, stabilization=Baumgarte(alpha=10))
    # rtol 1e-9; a replay without gains would leave an acceleration-level error of α²g ~ 1e-7 as well
    assert np.max(np.abs(sol(TIMES).q - exact[0])) < 1e-7


def test_interpreted_runs_are_sampled_alike(swing):
    interpreted = simulate(replace(pendulum().system, trace=False), 2.0, q0=[1, 0], v0=[0, 0])
    there = interpreted(TIMES[::8])
    # γ comes from differences, good to about 1e-9, by which steps differ a little: so do their errors, which are some 1e-7
    assert there.q == pytest.approx(swing(TIMES[::8]).q, abs=1e-7)
    assert there.drift.max()["position"] <= 2.0e-10
    assert interpreted.reactions[5] == pytest.approx(interpreted(interpreted.t[5]).reactions, abs=1e-12)


# jumps


def test_at_a_mapped_event_the_later_state_counts():
    sol = ball()
    t = sol.events["bounce"].t[0]
    assert t == pytest.approx(np.sqrt(2 / 9.81), abs=1e-12)
    rows = np.flatnonzero(sol.t == t)
    assert len(rows) == 2
    fall = 9.81 * t
    assert sol.v[rows, 1] == pytest.approx([-fall, 0.8 * fall], rel=1e-12)
    assert sol(t).v[1] == sol.v[rows[1], 1]
    # 1e-6 s away the velocity has changed by 1e-5, not by half the jump of 8
    assert sol(t - 1e-6).v[1] == pytest.approx(-fall, abs=2e-5)
    assert sol(t + 1e-6).v[1] == pytest.approx(0.8 * fall, abs=2e-5)


def test_jumps_between_kept_times_are_repeated():
    every, some = ball(), ball(save_at=3)
    t = np.linspace(0, 1.5, 60)
    # free flight is a parabola, exact for both up to the location of the bounces (1e-14 s)
    assert some(t).q == pytest.approx(every(t).q, abs=1e-11)
    assert some(t).v == pytest.approx(every(t).v, abs=1e-11)


def test_a_time_kept_at_a_bounce_does_not_lose_the_bounce():
    t = float(ball().events["bounce"].t[0])
    sol = ball(save_at=[0.0, t, 1.5])
    # the row kept at t is the state before the mapping; 0.1 s later the ball must be above ground
    assert sol(t + 0.1).q == pytest.approx(ball()(t + 0.1).q, abs=1e-11)


@pytest.mark.parametrize("options", [{}, {"save_at": 40}])
def test_replay_knows_the_invariants_of_before_and_after_a_jump(options):
    # at y[0] = 0 the velocity grows by a tenth: another orbit, other energy and momentum
    kick = Event(lambda y: y[0], direction="falling", then=lambda y: y * np.array([1, 1, 1.1, 1.1]))
    sol = simulate(kepler(), 8.0, events={"kick": kick}, **options)
    assert len(sol.events["kick"]) >= 1
    for there in (sol, sol(np.linspace(0, 8, 201))):
        # kept to 1e-10 as a distance; the gradients are below 10 on these orbits
        assert max(there.drift.max().values()) < 1e-9
    y = sol(np.linspace(0, 8, 201)).y
    momentum = y[:, 0] * y[:, 3] - y[:, 1] * y[:, 2]
    assert np.ptp(momentum) > 0.05  # the kicks are there


def test_end_is_the_end_of_the_run_not_the_last_kept_time():
    hit = Event(lambda q: q[0] - 0.5, terminal=True)
    sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1], save_at=4, events={"hit": hit})
    assert sol.ended == "hit"
    assert sol.t.tolist() == [0.0, 1 / 3]
    assert sol.end.t == pytest.approx(0.5, abs=1e-14)
    assert sol(0.4).q == pytest.approx([0.4], abs=1e-14)
    assert sol(sol.end.t).q == pytest.approx([0.5], abs=1e-14)


# inputs


def test_replay_uses_the_piece_of_the_table_that_held():
    times, values = np.array([0.0, 0.4, 0.7, 1.0]), np.array([0.0, 2.0, -1.0, 0.5])
    system = System(
        mass=np.eye(1), force=lambda u: np.array([u.push]), inputs={"push": (times, values)}, outputs={"push": lambda u: u.push}
    )
    t = np.linspace(0, 1.2, 50)

    def velocity(t):  # integral of the table
        fine = np.union1d(np.linspace(0, 1.2, 4801), [*times, t])
        u = np.interp(fine, times, values)
        return np.append(0.0, np.cumsum(np.diff(fine) * (u[1:] + u[:-1]) / 2))[np.searchsorted(fine, t)]

    for options in ({}, {"save_at": 3}, {"integrator": RK4(), "step": 0.05}):
        sol = simulate(system, 1.2, q0=[0], v0=[0], **options)
        # piecewise quadratic: every method here is exact
        assert sol(t).v[:, 0] == pytest.approx([velocity(s) for s in t], abs=1e-12)
        assert sol(t)["push"] == pytest.approx(np.interp(t, times, values), abs=1e-14)
    back = simulate(system, (1.2, 0.0), q0=[0], v0=[0])
    assert back(t)["push"] == pytest.approx(np.interp(t, times, values), abs=1e-14)
    assert back["push"] == pytest.approx(np.interp(back.t, times, values), abs=1e-14)


def test_the_end_starts_the_next_run(swing, exact):
    first = simulate(pendulum(), 0.7, rtol=1e-10, atol=1e-12)
    rest = simulate(pendulum().system, 2.0, q0=first.end, rtol=1e-10, atol=1e-12)
    # two runs of tolerance 1e-10
    assert rest(TIMES[-1]).q == pytest.approx(exact[0][-1], abs=1e-8)


def test_rotations_with_kinematics_are_sampled_on_the_unit_sphere():
    def rates(q):  # q' = Z(q) v of a unit quaternion
        w, x, y, z = q
        return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])

    def gyroscopic(v):
        return np.array([-1.0 * v[1] * v[2], 1.0 * v[0] * v[2], 0.0])

    top = System(mass=np.diag([1.0, 1.0, 2.0]), force=gyroscopic, kinematics=rates, invariants={"norm": lambda q: q @ q})
    sol = simulate(top, 2.0, q0=[1, 0, 0, 0], v0=[0.3, 0.1, 4.0])
    there = sol(np.linspace(0, 2, 41))
    # the invariant is kept to 1e-10 as a distance, q @ q doubles it
    assert np.max(np.abs(there.drift["norm"])) <= 2.0e-10
    assert there.q.shape == (41, 4) and there.v.shape == (41, 3)


# methods that look back on earlier steps: dense output from what the steps left


LOOKING_BACK = {
    "BDF": {"formulation": Index2(), "integrator": BDF()},
    "BDF, variable": {"formulation": Index2(), "integrator": BDF(coefficients="variable")},
    "BDF, fixed steps": {"formulation": Index2(), "integrator": BDF(), "step": 0.01},
    "Radau": {"formulation": Index2(), "integrator": Radau()},
    "generalized-α": {"formulation": Index2(), "integrator": GeneralizedAlpha(), "step": 0.01},
}


def uneven(t_end=2.0, **options):
    """A pendulum whose multiplier moves, M being no multiple of the identity."""
    system = System(mass=np.diag([1.0, 3.0]), force=[0.0, -29.43], constraint=lambda q: q @ q - 1.0)
    return simulate(system, t_end, q0=[1, 0], v0=[0, 0], **options)


@pytest.fixture(scope="module")
def right():
    return uneven(rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["BDF", "BDF, variable", "BDF, fixed steps", "generalized-α"])
def test_sol_t_is_what_save_at_gives_bit_for_bit(name):
    sol, saved = uneven(**LOOKING_BACK[name]), uneven(save_at=TIMES, **LOOKING_BACK[name])
    there = sol(TIMES)
    for part in ("q", "v", "a", "lam"):
        np.testing.assert_array_equal(getattr(there, part), getattr(saved, part))
    for part, values in there.unknowns.items():
        np.testing.assert_array_equal(values, saved.unknowns[part])


@pytest.mark.parametrize("name", LOOKING_BACK)
def test_between_its_steps_a_run_is_as_accurate_as_at_them(name, right):
    sol = uneven(**LOOKING_BACK[name])
    between, at_steps = sol(TIMES), right(sol.t)
    # both largest errors are of one run and one method, looked for at different times; Radau's dense output is allowed half the
    # tolerance of its own, rtol = 1e-6
    more = 0.5e-6 if name == "Radau" else 0.0
    assert np.max(np.abs(between.q - right(TIMES).q)) < 1.2 * np.max(np.abs(sol.q - at_steps.q)) + more
    assert np.max(np.abs(between.lam - right(TIMES).lam)) < 1.2 * np.max(np.abs(sol.lam - at_steps.lam)) + 100 * more


@pytest.mark.parametrize("name", LOOKING_BACK)
def test_sol_t_joins_the_steps(name):
    sol = uneven(**LOOKING_BACK[name])
    inner = np.arange(20, 60)
    beside = sol(sol.t[inner] - 1e-9 * np.diff(sol.t)[inner - 1])
    # over 1e-9 of a step nothing moves by more than 1e-9 of what it moves over the step, and rounding
    np.testing.assert_allclose(beside.q, sol.q[inner], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(beside.lam, sol.lam[inner], rtol=0.0, atol=1e-6)


def test_states_inside_are_asked_of_no_new_run(monkeypatch):
    sol = uneven(**LOOKING_BACK["BDF"])
    monkeypatch.setattr(sampling, "_repeated", None)
    assert np.all(np.isfinite(sol(TIMES).lam))


def test_a_step_in_doubt_is_taken_anew():
    # Radau steps over what is at rest: right at the ends of a step, wrong by far more than the tolerance between them
    stiff = Ode(lambda t, y: -1e6 * (y - np.cos(t)) - np.sin(t))
    sol = simulate(stiff, 10.0, y0=[1.0], integrator=Radau())
    times = np.linspace(0.01, 9.99, 200)
    assert not np.all(sampling.right_inside(sol, np.arange(len(sol.t) - 1)))
    assert np.max(np.abs(sol(times).y[:, 0] - np.cos(times))) < 3e-6  # rtol = 1e-6, as with save_at


def test_a_run_that_left_too_much_is_repeated(monkeypatch):
    whole = uneven(**LOOKING_BACK["BDF"])
    monkeypatch.setattr(trail, "DENSE_BYTES", 10_000)
    sol = uneven(**LOOKING_BACK["BDF"])
    assert sol.trail.dense.shape[1] == 0
    np.testing.assert_array_equal(sol.q, whole.q)
    np.testing.assert_array_equal(sol(TIMES).q, whole(TIMES).q)


def test_an_event_that_moves_the_state_begins_a_new_history():
    system = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], coordinates=["x", "y"])
    bounce = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q * [1, 0], v * [1, -0.8]))
    run = dict(q0=[0, 1], v0=[1, 0], events={"bounce": bounce}, integrator=BDF())
    sol, exact = simulate(system, 1.5, **run), simulate(system, 1.5, **{**run, "integrator": DOP853()})
    times = np.linspace(0.01, 1.49, 200)
    np.testing.assert_allclose(sol(times).q, exact(times).q, rtol=0.0, atol=3e-4)
