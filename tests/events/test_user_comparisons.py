"""Comparisons of the user's functions are switches: located like events, and no step has a corner inside."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Event, Ode, Radau, StepFailed, System, simulate, sweep
from holonomic.errors import MORE
from holonomic.multibody import Mechanism
from holonomic.running.run import Run

G, K = 9.81, 1e4


def bounce(q):
    if q[0] < 0:
        return [-G - K * q[0]]
    return [-G]


def ball(force=bounce):
    return System(mass=np.eye(1), force=force)


def exact_bounce(end):
    """Height of the ball that begins at rest, 1 m up, on its one-sided spring: parabolas and arcs, one after the other."""
    t, speed, w = np.sqrt(2 / G), np.sqrt(2 * G), np.sqrt(K)
    if end <= t:
        return 1 - G / 2 * end**2
    below, phase = G / K, np.arctan2(speed / w, G / K)
    contact, flight = (2 * np.pi - 2 * phase) / w, 2 * speed / G
    while True:
        if end <= t + contact:
            s = w * (end - t)
            return -below + below * np.cos(s) - speed / w * np.sin(s)
        t += contact
        if end <= t + flight:
            return speed * (end - t) - G / 2 * (end - t) ** 2
        t += flight


@pytest.mark.parametrize(
    ("integrator", "most"), [(DOP853(), 1.3e-6), (RK45(), 1.1e-5), (Radau(), 1.7e-6)], ids=["DOP853", "RK45", "Radau"]
)
def test_a_one_sided_spring_costs_no_accuracy(integrator, most):
    sol = simulate(ball(), 5.0, q0=[1.0], v0=[0.0], integrator=integrator)
    assert abs(sol.q[-1, 0] - exact_bounce(5.0)) < most  # as selects 2.8e-5, 4.0e-4 and 3.2e-5
    (log,) = sol.switches.values()
    assert len(log) == 10 and log.true.tolist() == [True, False] * 5
    assert sol.stats["rejected"] <= 20  # as selects 99, 81 and 59


def test_the_error_follows_the_tolerance():
    errors = []
    for rtol in (1e-6, 1e-8, 1e-10):
        sol = simulate(ball(), 5.0, q0=[1.0], v0=[0.0], integrator=DOP853(), rtol=rtol, atol=1e-3 * rtol)
        errors.append(abs(sol.q[-1, 0] - exact_bounce(5.0)) / rtol)
    assert max(errors) < 2.0  # as selects up to 28


def test_times_lines_and_directions_are_told():
    sol = simulate(ball(), 1.0, q0=[1.0], v0=[0.0])
    ((name, log),) = sol.switches.items()
    assert "if q[0] < 0" in name and log.role == "force()" and log.text == "if q[0] < 0"
    assert log.t[0] == pytest.approx(np.sqrt(2 / G), abs=1e-7) and log.true[0]
    assert f'switches       2: 2 at "if q[0] < 0" in force(), line {log.line}' in str(sol)
    assert np.all(np.diff(sol.t) > 0)  # a switch adds no second row at its time
    with pytest.raises(KeyError, match="switch"):
        sol.switches["contact"]


def test_a_function_without_comparisons_has_no_switches():
    assert simulate(ball(lambda q: [-G]), 0.1, q0=[1.0], v0=[0.0]).switches == {}


def test_dense_output_and_saved_times_agree_and_cross_no_switch():
    times = np.linspace(0.0, 3.0, 301)
    kept = simulate(ball(), 3.0, q0=[1.0], v0=[0.0], rtol=1e-9, atol=1e-12)
    saved = simulate(ball(), 3.0, q0=[1.0], v0=[0.0], rtol=1e-9, atol=1e-12, save_at=times)
    exact = [exact_bounce(t) for t in times]
    assert np.max(np.abs(kept(times).q[:, 0] - exact)) < 1e-7
    assert np.max(np.abs(saved.q[:, 0] - exact)) < 1e-7
    assert np.max(np.abs(saved(times[:-1] + 0.005).q - kept(times[:-1] + 0.005).q)) < 1e-7
    (log,) = kept.switches.values()
    below = kept.q[:, 0] < -1e-6
    assert np.allclose(kept.a[below, 0], -G - K * kept.q[below, 0], atol=1e-6)
    assert kept(log.t[0]).a[0] == pytest.approx(-G, abs=1e-6)


def test_a_branch_that_is_not_taken_stops_nothing_even_where_it_is_nan():
    def nested(q, t):
        force = -G
        if q[0] < 0:
            force -= K * q[0]
            if np.sqrt(-q[0]) > 0.005:  # NaN in flight
                force -= 1.0
        return [force]

    sol = simulate(ball(nested), 2.0, q0=[1.0], v0=[0.0])
    outer, inner = sol.switches.values()
    assert len(inner) > 0
    for t, true in zip(inner.t, inner.true, strict=True):  # only while the outer one holds
        assert np.sum(outer.t < t) % 2 == 1 and true == (np.sum(inner.t < t) % 2 == 0)


def test_a_law_without_values_beyond_its_switch_runs():
    def hertz(q):
        if q[0] < 0:
            return [-G + 1e5 * (-q[0]) ** 1.5]
        return [-G]

    sols = [simulate(ball(hertz), 3.0, q0=[1.0], v0=[0.0], integrator=each, rtol=1e-9) for each in (DOP853(), RK45(), Radau())]
    for sol in sols:
        assert sol.q[-1, 0] == pytest.approx(sols[0].q[-1, 0], abs=1e-6) and len(next(iter(sol.switches.values()))) == 6


def test_thresholds_in_time_are_met_exactly_in_both_directions():
    pushed = ball(lambda t: [1.0 if t < 1 else 0.0])
    forward = simulate(pushed, 3.0, q0=[0.0], v0=[0.0])
    assert forward.q[-1, 0] == pytest.approx(2.5, abs=1e-13)
    assert next(iter(forward.switches.values())).t == pytest.approx(1.0, abs=1e-15)
    backward = simulate(pushed, (3.0, 0.0), q0=[2.5], v0=[1.0])
    assert abs(backward.q[-1, 0]) < 1e-13
    for when in (0.0, 3.0):  # at the very start and at the very end
        sol = simulate(ball(lambda t, w=when: [1.0 if t < w else 0.0]), 3.0, q0=[0.0], v0=[0.0])
        assert sol.q[-1, 0] == pytest.approx(when**2 / 2, abs=1e-12)


def test_two_switches_of_one_instant_change_together():
    def both(t, q):
        first = 1.0 if t < 1 else 0.0
        second = 2.0 if q[0] < 1.5 else 0.0  # q = 3 t² / 2 up to there
        return [first + second]

    sol = simulate(ball(both), 3.0, q0=[0.0], v0=[0.0])
    assert sol.q[-1, 0] == pytest.approx(1.5 + 3.0 * 2.0, abs=1e-10)
    assert [len(log) for log in sol.switches.values()] == [1, 1]


def test_a_mode_at_zero_is_that_of_the_direction_of_the_field():
    for start, sign in ((0.0, 1.0), (0.0, -1.0)):
        sol = simulate(ball(lambda q, s=sign: [s * 2.0 if q[0] > 0 else s * 1.0]), 1.0, q0=[start], v0=[0.0])
        assert sol.q[-1, 0] == pytest.approx(1.0 if sign > 0 else -0.5, abs=1e-12)


def test_contact_that_only_touches_changes_nothing():
    push = lambda q: [2.0 - (1e3 * q[0] if q[0] < 0 else 0.0)]
    for speed, most in ((-2.0, 1e-9), (-1.999, 1e-9)):
        sol = simulate(ball(push), 4.0, q0=[1.0], v0=[speed])
        assert sol.q[-1, 0] == pytest.approx(1 + 4 * speed + 16, abs=most)
    deeper = simulate(ball(push), 4.0, q0=[1.0], v0=[-2.01], rtol=1e-10, atol=1e-13)
    assert len(next(iter(deeper.switches.values()))) == 2


def test_thousands_of_switches_are_exact():
    sol = simulate(ball(lambda q: [-100.0 if q[0] > 0 else 100.0]), 500.0, q0=[1.0], v0=[0.0], rtol=1e-9, atol=1e-12)
    period = 4 * np.sqrt(2 / 100)
    phase = 500.0 % period
    quarter, rest = divmod(phase, period / 4)
    exact = {0: 1 - 50 * rest**2, 3: 1 - 50 * (period / 4 - rest) ** 2}.get(int(quarter))
    exact = exact if exact is not None else {1: -(1 - 50 * (period / 4 - rest) ** 2), 2: -(1 - 50 * rest**2)}[int(quarter)]
    assert len(next(iter(sol.switches.values()))) == int((500.0 + period / 4) // (period / 2))
    # times are known to some 30 units in the last place of t, and each of them moves the speed by 200 m/s² as long
    assert sol.q[-1, 0] == pytest.approx(exact, abs=1e-6)


def test_events_at_a_switch_are_counted_and_obeyed():
    touch = Event(lambda q: q[0], direction="falling")
    sol = simulate(ball(), 3.0, q0=[1.0], v0=[0.0], events={"touch": touch})
    assert len(sol.events["touch"].t) == 3 and list(sol.events) == ["touch"]
    ended = simulate(ball(), 3.0, q0=[1.0], v0=[0.0], events={"touch": Event(lambda q: q[0], terminal=True)})
    assert ended.ended == "touch" and ended.t[-1] == pytest.approx(np.sqrt(2 / G), abs=1e-7)
    mapped = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.5 * v))
    back = simulate(ball(), 1.0, q0=[1.0], v0=[0.0], events={"touch": mapped})  # it never gets into the spring
    assert len(back.events["touch"].t) == 2 and np.min(back.q) > -1e-9


def test_fixed_steps_end_on_switches_too():
    errors = [
        abs(simulate(ball(), 1.0, q0=[1.0], v0=[0.0], integrator=RK45(), step=h).q[-1, 0] - exact_bounce(1.0)) for h in (4e-3, 2e-3)
    ]
    assert errors[0] / errors[1] > 16  # order 5; with a corner inside a step 4 at most


def test_members_of_a_sweep_do_what_single_runs_do():
    system = System(mass=np.eye(1), force=lambda q, p: [-G - (p.k * q[0] if q[0] < 0 else 0.0)], params={"k": K})
    runs = sweep(system, 3.0, q0=[1.0], v0=[0.0], params={"k": [1e3, 1e4, 1e5]}, save_at=20)
    for m, k in enumerate((1e3, 1e4, 1e5)):
        alone = simulate(system.with_params(k=k), 3.0, q0=[1.0], v0=[0.0], save_at=20)
        assert np.array_equal(runs.q[m], alone.q) and np.array_equal(runs.v[m], alone.v)


def test_an_ode_an_input_and_a_mechanism_have_switches():
    ode = Ode(lambda t, y: [y[1], -4 * y[0] - (100 * y[0] if y[0] > 0.5 else 0.0)])
    stop = simulate(ode, 5.0, y0=[0.0, 2.0], rtol=1e-9, atol=1e-12)
    energy = lambda y: y[1] ** 2 / 2 + 2 * y[0] ** 2 + 50 * max(y[0] ** 2 - 0.25, 0.0) * (y[0] > 0.5)
    assert energy(stop.y[-1]) == pytest.approx(2.0, abs=1e-7) and len(stop.switches) == 1

    driven = System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": lambda t: 1.0 if t < 1 else 0.0})
    assert simulate(driven, 3.0, q0=[0.0], v0=[0.0]).q[-1, 0] == pytest.approx(2.5, abs=1e-12)

    m = Mechanism(gravity=(0, -G))
    mass = m.body("mass", mass=1.0, inertia=0.1, at=(0, 1))
    m.prismatic("guide", m.ground, mass, at=(0, 1), axis=(0, 1))
    m.spring("pad", m.ground, mass, at=((0, -1), (0, 1)), length=1.0, force=lambda stretch: 1e4 * stretch if stretch < 0 else 0.0)
    sol = simulate(m, 2.0)
    assert sum(map(len, sol.switches.values())) >= 2


def test_guards_and_selects_are_no_switches():
    def central(q):
        r = np.sqrt(q @ q)
        if r == 0:
            return [0.0, 0.0]
        return -q / r**3 * np.maximum(r, 0.1) / np.where(r > 0.1, r, 0.1)

    assert simulate(System(mass=np.eye(2), force=central), 1.0, q0=[1.0, 0], v0=[0, 1.0]).switches == {}


def test_what_reads_multipliers_or_parameters_alone_is_no_switch():
    rod = System(
        mass=np.eye(2),
        force=lambda lam, p: [0.0, -G if lam[0] < 1e9 and p.on > 0 else 0.0],
        constraint=lambda q: q @ q - 1,
        params={"on": 1.0},
    )
    assert simulate(rod, 0.2, q0=[1, 0], v0=[0, 0]).switches == {}


def test_a_start_after_the_end_goes_on_as_if_nothing_had_been():
    whole = simulate(ball(), 2.0, q0=[1.0], v0=[0.0], rtol=1e-10, atol=1e-12)
    (log,) = whole.switches.values()
    first = simulate(ball(), float(log.t[0]), q0=[1.0], v0=[0.0], rtol=1e-10, atol=1e-12)  # ends on the switch
    second = simulate(ball(), (float(log.t[0]), 2.0), q0=first.q[-1], v0=first.v[-1], rtol=1e-10, atol=1e-12)
    assert second.q[-1, 0] == pytest.approx(whole.q[-1, 0], abs=1e-8)


@pytest.mark.parametrize("integrator", [DOP853(), RK45(), Radau(), BDF()], ids=["DOP853", "RK45", "Radau", "BDF"])
def test_the_same_call_again_gives_the_same_bits(integrator):
    """The arrays of a run that is over are used again, and had the steps with which that run left its switches."""
    system = ball()
    first, *others = (simulate(system, 5.0, q0=[1.0], v0=[0.0], integrator=integrator) for _ in range(3))
    for other in others:
        assert np.array_equal(other.t, first.t) and np.array_equal(other.q, first.q)


def test_checkpoints_and_backward_runs_keep_modes(tmp_path):
    there = simulate(ball(), 2.0, q0=[1.0], v0=[0.0], rtol=1e-10, atol=1e-12)
    back = simulate(ball(), (2.0, 0.0), q0=there.q[-1], v0=there.v[-1], rtol=1e-10, atol=1e-12)
    assert back.q[-1, 0] == pytest.approx(1.0, abs=1e-7)
    path = tmp_path / "run.ckpt"
    kept = simulate(ball(), 2.0, q0=[1.0], v0=[0.0], rtol=1e-10, atol=1e-12, checkpoint=path)
    assert np.array_equal(kept.q, there.q) and np.array_equal(kept(1.234).q, there(1.234).q)


def rubbing(t, v):
    push = 3.0 * np.sin(t)
    if v[0] > 0:
        return [push - 2.0]
    return [push + 2.0]


def resting(t, v):
    push = 3.0 * np.sin(t)
    if v[0] > 0:
        return [push - 2.0]
    elif v[0] < 0:
        return [push + 2.0]
    return [push]


def exact_stick_slip(end):
    """Position of a unit mass under 3 sin t and dry friction 2: it sticks, breaks away at 3 sin t = 2, slips to rest, and so on."""
    from scipy.optimize import brentq

    x, start, sign = 0.0, np.arcsin(2 / 3), 1.0
    while start < end:
        speed = lambda t, a=start, s=sign: 3 * (np.cos(a) - np.cos(t)) - 2 * s * (t - a)
        rest = brentq(speed, start + 1e-3, start + np.pi)
        last = min(rest, end)
        x += 3 * np.cos(start) * (last - start) - 3 * (np.sin(last) - np.sin(start)) - sign * (last - start) ** 2
        k = np.ceil((rest - np.arcsin(2 / 3)) / np.pi)
        start, sign = np.arcsin(2 / 3) + k * np.pi, (1.0 if k % 2 == 0 else -1.0)
    return x


@pytest.mark.parametrize("force", [rubbing, resting])
@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=["DOP853", "RK45"])
def test_dry_friction_sticks_and_slips(force, integrator):
    sol = simulate(ball(force), 20.0, q0=[0.0], v0=[0.0], integrator=integrator, rtol=1e-9, atol=1e-11)
    assert sol.q[-1, 0] == pytest.approx(exact_stick_slip(20.0), abs=2e-8)
    held = 3.5 + np.linspace(0.0, 0.3, 7)  # it came to rest at 3.32 and breaks away at 3.87
    assert np.max(np.abs(sol(held).v)) < 1e-12 and np.max(np.abs(sol(held).a)) < 1e-9
    assert sum(len(log.along) for log in sol.switches.values()) >= 6
    saved = simulate(ball(force), 20.0, q0=[0.0], v0=[0.0], integrator=integrator, rtol=1e-9, atol=1e-11, save_at=held)
    assert np.max(np.abs(saved.v)) < 1e-12


def test_dry_friction_of_constrained_motion_holds_its_place():
    """A bead on a tilted line, of which the friction carries more than its weight: G v = 0 and no motion."""
    slope = np.array([0.6, 0.8])

    def force(v):
        along = v @ slope
        return np.array([0.0, -G]) - (9.0 if along > 0 else -9.0) * slope

    line = System(mass=np.eye(2), force=force, constraint=lambda q: q @ np.array([0.8, -0.6]))
    sol = simulate(line, 3.0, q0=[0, 0], v0=1.2 * slope)
    stop = 1.2 / (9.0 + 0.8 * G)
    (log,) = sol.switches.values()
    assert log.along == pytest.approx([stop], abs=1e-9)
    assert sol.q[-1] == pytest.approx(1.2 * stop / 2 * slope, abs=1e-9) and np.max(np.abs(sol.v[-1])) < 1e-10


def test_filippovs_motion_of_an_ode_goes_along_its_switch():
    """x' = (1, ∓1 + 0.4) towards y = 0 from both sides, on which it goes with x' = mean of both."""
    ode = Ode(lambda y: [2.0, -1.0 + 0.4] if y[1] > 0 else [1.0, 1.0 + 0.4])
    sol = simulate(ode, 2.0, y0=[0.0, 0.6])
    share = 1.4 / 2.0  # of the upper field: 0.7 (-0.6) + 0.3 · 1.4 = 0
    assert sol.y[-1] == pytest.approx([2.0 * 1.0 + (2 * share + (1 - share)) * 1.0, 0.0], abs=1e-9)


def test_members_of_a_sweep_stick_as_single_runs_do():
    system = System(mass=np.eye(1), force=lambda t, v, p: [p.F * np.sin(t) - (2.0 if v[0] > 0 else -2.0)], params={"F": 3.0})
    runs = sweep(system, 10.0, q0=[0.0], v0=[0.0], params={"F": [1.5, 3.0, 4.0]}, save_at=9, integrator=DOP853())
    for m, F in enumerate((1.5, 3.0, 4.0)):
        alone = simulate(system.with_params(F=F), 10.0, q0=[0.0], v0=[0.0], save_at=9, integrator=DOP853())
        assert np.array_equal(runs.q[m], alone.q)
    assert np.max(np.abs(runs.q[0])) < 1e-12  # it never moves, but for rounding of its accelerations


def test_what_cannot_be_followed_along_a_switch_is_refused_by_line():
    chattering = Ode(lambda y: [-1.0 if y[0] > 0 else 1.0])
    assert simulate(chattering, 3.0, y0=[1.0]).y[-1, 0] == pytest.approx(0.0, abs=1e-12)
    said = r'leads to the switch ".*y\[0\] > 0.*" in rhs\(\), line \d+ from both sides, which Radau cannot follow. Explicit'
    with pytest.raises(StepFailed, match=said) as stop:
        simulate(chattering, 3.0, y0=[1.0], integrator=Radau())
    assert stop.value.solution.t[-1] == pytest.approx(1.0, abs=1e-9)

    def twisted(y):
        """What one switch changes depends on the other."""
        a, b = (1.0 if y[0] > 0 else -1.0), (1.0 if y[1] > 0 else -1.0)
        return [-a + 0.2 * a * b, -b + 0.3 * a * b]

    with pytest.raises(StepFailed, match="from both sides while it goes along others, and their fields do not add up"):
        simulate(Ode(twisted), 9.0, y0=[1.0, 2.0])


def test_bdf_follows_switches():
    sol = simulate(ball(), 5.0, q0=[1.0], v0=[0.0], integrator=BDF(), rtol=1e-8, atol=1e-11)
    assert abs(sol.q[-1, 0] - exact_bounce(5.0)) < 2e-5 and len(next(iter(sol.switches.values()))) == 10


def test_a_run_knows_nothing_of_the_runs_before_it():
    """The arrays of a finished run are used again: the steps with which it left its modes are not."""
    tight = {"rtol": 1e-9, "atol": 1e-12}
    forward = simulate(ball(), 1.2, q0=[1.0], v0=[0.0], **tight)
    fresh = simulate(ball(), (1.2, 0.0), q0=forward.q[-1], v0=forward.v[-1], **tight)
    used = ball()
    for _ in range(2):
        again = simulate(used, 1.2, q0=[1.0], v0=[0.0], **tight)
        assert np.array_equal(again.t, forward.t) and np.array_equal(again.q, forward.q)
    back = simulate(used, (1.2, 0.0), q0=forward.q[-1], v0=forward.v[-1], max_steps=1000, **tight)
    assert np.array_equal(back.t, fresh.t) and np.array_equal(back.q, fresh.q)
    assert back.q[-1, 0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("others", [(DOP853(), RK45()), (RK45(), DOP853())], ids=["to RK45", "to DOP853"])
def test_a_method_that_takes_over_where_a_switch_has_changed_goes_on_in_its_mode(others):
    """There the sign of the switch is rounding: read anew, it would be that of the branch just left."""
    given = {"q0": [1.0], "v0": [0.0], "rtol": 1e-9, "atol": 1e-12}
    fell = ball()
    first, second = (simulate(fell, 3.0, integrator=each, **given) for each in others)
    places, on_a_switch = first.plan.model.data_places["modes"], 0
    for steps in range(1, first.stats["steps"]):
        data = first.plan.extended(first.plan.model.data().copy())
        whole = {"save_t": None, "max_steps": 10_000, "max_step": np.inf, "first": None}
        run = Run(first.plan, data, 0.0, np.array([1.0, 0.0]), 3.0, **whole)
        run.begin()
        assert run.go(most=steps) == MORE
        on_a_switch += any(t == run.t for _, t, _, _ in run.watching.log)
        other, _ = run.handed_to(second.plan, 3.0)
        assert np.array_equal(other.data[places], run.data[places])
        other.go()
        assert other.x[0] == pytest.approx(exact_bounce(3.0), abs=1e-6), steps
    assert on_a_switch >= 6


def test_a_comparison_that_changes_where_the_state_or_an_input_jumps_is_told():
    def driven(q, u):
        return [u["lift"] - 1.0 if u["lift"] > 0.5 else -q[0]]

    lift = ([0.0, 0.3, 1.0], [0.0, 1.5, 0.2], "hold")
    sol = simulate(System(mass=np.eye(1), force=driven, inputs={"lift": lift}), 2.0, q0=[0.0], v0=[0.1])
    (log,) = sol.switches.values()
    assert log.t.tolist() == [0.3, 1.0] and log.true.tolist() == [True, False]

    def nested(q):
        if q[0] > 0.5:
            return [-1.0 if q[0] > 0.7 else -2.0]
        return [0.0]

    moved = {"moved": Event(lambda q: q[0] - 0.3, direction=1, then=lambda q, v: (q + 0.3, v))}
    outer, inner = simulate(System(mass=np.eye(1), force=nested), 0.5, q0=[0.0], v0=[1.0], events=moved).switches.values()
    assert outer.t == pytest.approx([0.3]) and outer.true.tolist() == [True]
    assert not np.any(inner.t == outer.t[0])  # it counts from there on
