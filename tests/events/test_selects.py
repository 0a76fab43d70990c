"""Corners and jumps of selects, masks, abs, sign, max, min and clip: followed like an `if` once steps have failed over them."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Cancelled, Event, Ode, Radau, System, problems, simulate, sweep
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant
from holonomic.multibody import Mechanism
from holonomic.results.switching import mode_history
from holonomic.running.run import Run

G, K = 9.81, 1e4


def mass(force, **more):
    return System(mass=np.eye(1), force=force, **more)


def exact_bounce(end):
    """Height of the ball that begins at rest, 1 m up, on its one-sided spring."""
    t, speed, w = np.sqrt(2 / G), np.sqrt(2 * G), np.sqrt(K)
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


SPRINGS = {
    "max": lambda q: [-G + K * max(0, -q[0])],
    "np.maximum": lambda q: -G + K * np.maximum(0.0, -q),
    "where": lambda q: [-G + np.where(q[0] < 0, -K * q[0], 0.0)],
    "clip": lambda q: -G - K * np.clip(q, -10.0, 0.0),
    "min": lambda q: [-G - K * min(q[0], 0.0)],
    "mask": lambda q: -G - K * q * (q < 0),
    "masked": lambda q: -G - K * np.where(q <= 0, q, 0.0),
    "abs": lambda q: [-G + K * 0.5 * (abs(q[0]) - q[0])],
    "heaviside": lambda q: -G - K * q * np.heaviside(-q, 0.0),
    "select": lambda q: [-G + np.select([q[0] < 0], [-K * q[0]], 0.0)],
}
ALL = {"DOP853": DOP853(), "RK45": RK45(), "Radau": Radau(), "BDF": BDF(), "left open": None}
METHODS = {"DOP853": (DOP853(), 1.3e-6), "RK45": (RK45(), 1.1e-5), "Radau": (Radau(), 1.7e-6)}


@pytest.mark.parametrize("law", SPRINGS)
@pytest.mark.parametrize("method", METHODS)
def test_a_one_sided_spring_costs_what_it_costs_with_an_if(law, method):
    integrator, most = METHODS[method]
    sol = simulate(mass(SPRINGS[law]), 5.0, q0=[1.0], v0=[0.0], integrator=integrator)
    assert abs(sol.q[-1, 0] - exact_bounce(5.0)) < most  # 2.8e-5, 4.0e-4 and 3.2e-5 where it stays a select
    assert sol.stats["rejected"] <= 20  # 99, 81 and 59
    (log,) = sol.switches.values()
    assert len(log) == 10 and log.t[0] == pytest.approx(np.sqrt(2 / G), abs=1e-6)
    assert "switches       10: 10 at" in str(sol)


@pytest.mark.parametrize("law", ["max", "where", "clip"])
def test_at_a_loose_tolerance(law):
    sol = simulate(mass(SPRINGS[law]), 5.0, q0=[1.0], v0=[0.0], rtol=1e-4)
    assert abs(sol.q[-1, 0] - exact_bounce(5.0)) < 4e-4 and sol.stats["rejected"] <= 8


def rubbing(law):
    return mass(lambda t, v: [3.0 * np.sin(t) - 2.0 * law(v[0])])


SIGNS = {
    "sign": np.sign,
    "where": lambda v: np.where(v > 0, 1.0, -1.0),
    "where twice": lambda v: np.where(v > 0, 1.0, np.where(v < 0, -1.0, 0.0)),
    "masks": lambda v: 1.0 * (v > 0) - 1.0 * (v < 0),
    "copysign": lambda v: np.copysign(1.0, v),
}


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


TIGHT = {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("law", SIGNS)
@pytest.mark.parametrize("integrator", [DOP853(), RK45(), None], ids=["DOP853", "RK45", "left open"])
def test_dry_friction_by_a_sign_sticks_and_slips(law, integrator):
    """At the start it is at rest, exactly on its zero; the method that is chosen for that start is not the one that goes on."""
    given = {"q0": [0.0], "v0": [0.0], **TIGHT} | ({} if integrator is None else {"integrator": integrator})
    sol = simulate(rubbing(SIGNS[law]), 20.0, **given)
    assert sol.q[-1, 0] == pytest.approx(exact_stick_slip(20.0), abs=2e-8)
    held = 3.5 + np.linspace(0.0, 0.3, 7)
    assert np.max(np.abs(sol(held).v)) < 1e-12 and np.max(np.abs(sol(held).a)) < 1e-9
    assert sum(len(log.along) for log in sol.switches.values()) >= 6
    assert sol.stats["rejected"] < 50


@pytest.mark.parametrize("push", [0.5, 2.5])
def test_at_rest_it_stays_or_breaks_away_at_once(push):
    sol = simulate(mass(lambda v: push - 2.0 * np.sign(v)), 3.0, q0=[0.0], v0=[0.0], integrator=DOP853())
    assert sol.q[-1, 0] == pytest.approx(max(push - 2.0, 0.0) * 4.5, abs=1e-7)


def test_a_weak_corner_sleeps():
    """Drag |v| v has a corner in its second derivative: one step in a while fails over it, and locating it would cost more."""
    drag = System(mass=np.eye(2), force=lambda q, v: np.array([-q[0], -2 * q[1]]) - 0.3 * v * np.abs(v))
    assert simulate(drag, 50.0, q0=[1.0, 0.5], v0=[0.0, 0.3], integrator=RK45(), atol=1e-8).switches == {}


def test_corners_that_are_not_met_change_nothing():
    """All that selects are made of stands in the equations, and not one bit is another one."""
    far = lambda q: [-q[0] - 1e3 * max(q[0] - 5.0, 0.0) - np.where(q[0] < -5.0, 1e3 * (q[0] + 5.0), 0.0) + 0.0 * np.sign(q[0] + 9)]
    for integrator in (DOP853(), RK45(), Radau(), BDF()):
        with_corners = simulate(mass(far), 20.0, q0=[1.0], v0=[0.3], integrator=integrator)
        without = simulate(mass(lambda q: [-q[0]]), 20.0, q0=[1.0], v0=[0.3], integrator=integrator)
        assert with_corners.switches == {} and with_corners.stats == without.stats
        assert np.array_equal(with_corners.t, without.t) and np.array_equal(with_corners.q, without.q)


@pytest.mark.parametrize("integrator", ALL.values(), ids=ALL)
@pytest.mark.parametrize("save_at", [None, 20])
def test_the_same_call_again_gives_the_same_bits(integrator, save_at):
    given = {"q0": [1.0], "v0": [0.0], "save_at": save_at} | ({} if integrator is None else {"integrator": integrator})
    system = mass(SPRINGS["max"])
    first, *others = (simulate(system, 5.0, **given) for _ in range(4))
    for other in others:
        assert np.array_equal(other.t, first.t) and np.array_equal(other.q, first.q)
        assert [log.t.tolist() for log in other.switches.values()] == [log.t.tolist() for log in first.switches.values()]
    low = simulate(system, 0.2, **given)  # it never comes down
    assert low.switches == {} and np.array_equal(simulate(system, 5.0, **given).q, first.q)


@pytest.mark.parametrize("integrator", [DOP853(), None], ids=["DOP853", "left open"])
def test_members_of_a_sweep_do_what_single_runs_do(integrator):
    given = {} if integrator is None else {"integrator": integrator}
    spring = mass(lambda q, p: -G + p.k * np.maximum(0.0, -q), params={"k": K})
    runs = sweep(spring, 3.0, q0=[1.0], v0=[0.0], params={"k": [1e3, 1e4, 1e5]}, save_at=20, **given)
    for m, k in enumerate((1e3, 1e4, 1e5)):
        alone = simulate(spring.with_params(k=k), 3.0, q0=[1.0], v0=[0.0], save_at=20, **given)
        assert np.array_equal(runs.q[m], alone.q) and len(alone.switches) == 1
    friction = mass(lambda t, v, p: p.F * np.sin(t) - 2.0 * np.sign(v), params={"F": 3.0})
    runs = sweep(friction, 10.0, q0=[0.0], v0=[0.5], params={"F": [1.5, 3.0, 4.0]}, save_at=9, **given)
    for m, F in enumerate((1.5, 3.0, 4.0)):
        alone = simulate(friction.with_params(F=F), 10.0, q0=[0.0], v0=[0.5], save_at=9, **given)
        assert np.array_equal(runs.q[m], alone.q)


class Stop:
    """Cancel at a look."""

    def __init__(self, looks):
        self.left = looks

    def is_set(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("integrator", [DOP853(), None], ids=["DOP853", "left open"])
def test_a_run_goes_on_from_a_checkpoint_with_selects_that_are_awake(tmp_path, monkeypatch, integrator):
    make = Run.__init__

    def short(self, *given, **more):
        make(self, *given, **more)
        self._quota = 5  # attempts between looks

    monkeypatch.setattr(Run, "__init__", short)
    given = {"q0": [1.0], "v0": [0.0]} | ({} if integrator is None else {"integrator": integrator})
    whole, resumed = simulate(mass(SPRINGS["max"]), 3.0, **given), None
    for _ in range(200):
        try:  # another system each time, which knows nothing of what was compiled for the one before
            resumed = simulate(mass(SPRINGS["max"]), 3.0, checkpoint=tmp_path / "run", resume=True, cancel=Stop(1), **given)
            break
        except Cancelled:
            continue
    assert np.array_equal(resumed.t, whole.t) and np.array_equal(resumed.q, whole.q)
    assert [log.t.tolist() for log in resumed.switches.values()] == [log.t.tolist() for log in whole.switches.values()]


def test_backward_with_events_and_with_inputs():
    there = simulate(mass(SPRINGS["max"]), 2.0, q0=[1.0], v0=[0.0], rtol=1e-10, atol=1e-12)
    back = simulate(mass(SPRINGS["max"]), (2.0, 0.0), q0=there.q[-1], v0=there.v[-1], rtol=1e-10, atol=1e-12)
    assert back.q[-1, 0] == pytest.approx(1.0, abs=1e-7) and len(back.switches) == 1
    touch = {"touch": Event(lambda q: q[0], direction="falling"), "top": Event(lambda v: v[0], direction="falling")}
    sol = simulate(mass(SPRINGS["where"]), 3.0, q0=[1.0], v0=[0.0], events=touch)
    assert len(sol.events["touch"].t) == 3 and len(sol.events["top"].t) >= 3
    driven = mass(lambda q, u: [-q[0] + u.push], inputs={"push": lambda t: np.where(t < 1.0, 1.0, 0.0)})
    smooth = simulate(mass(lambda q: [1.0 - q[0]]), 1.0, q0=[0.0], v0=[0.0], **TIGHT)
    free = simulate(mass(lambda q: [-q[0]]), 2.0, q0=smooth.q[-1], v0=smooth.v[-1], **TIGHT)
    assert simulate(driven, 3.0, q0=[0.0], v0=[0.0], **TIGHT).q[-1] == pytest.approx(free.q[-1], abs=1e-8)


@pytest.mark.parametrize("integrator", [DOP853(), RK45(), Radau()], ids=["DOP853", "RK45", "Radau"])
def test_laws_that_are_nan_beyond_their_corner(integrator):
    laws = [
        lambda q: [-G + 1e5 * max(0.0, -q[0]) ** 1.5],
        lambda q: [-G + np.where(q[0] < 0, 1e5 * (-q[0]) ** 1.5, 0.0)],
        lambda q: [-G + 1e5 * np.sqrt(np.maximum(-q[0], 0.0)) ** 3],
    ][: 2 if integrator.implicit else 3]  # √0 has no derivative
    ends = [simulate(mass(law), 3.0, q0=[1.0], v0=[0.0], integrator=integrator, rtol=1e-9).q[-1, 0] for law in laws]
    assert ends == pytest.approx([ends[0]] * len(ends), abs=1e-6)


def test_a_method_that_cannot_follow_leaves_a_select_to_its_values():
    """An `if` is refused there by its line; nobody has asked a select to be followed."""
    sinking = Ode(lambda y: [-1.0 - 0.5 * np.sign(y[0] - 0.5) + 0.2 * np.sign(y[0])])
    sol = simulate(sinking, 2.0, y0=[1.0], integrator=Radau())  # passes both
    assert sol.y[-1, 0] == pytest.approx(0.5 - 0.3 * (2.0 - 0.5 / 1.3), abs=1e-5)


def test_functions_of_mechanisms_and_potentials_have_them():
    m = Mechanism(gravity=(0, -G))
    body = m.body("mass", mass=1.0, inertia=0.1, at=(0, 1))
    m.prismatic("guide", m.ground, body, at=(0, 1), axis=(0, 1))
    m.spring("pad", m.ground, body, at=((0, -1), (0, 1)), length=1.0, force=lambda stretch: 1e4 * min(stretch, 0.0))
    assert sum(map(len, simulate(m, 0.8, integrator=DOP853(), max_step=0.02).switches.values())) >= 1

    well = System(mass=np.eye(1), potential=lambda q: G * q[0] + 0.5 * K * np.minimum(q[0], 0.0) ** 2)
    sol = simulate(well, 5.0, q0=[1.0], v0=[0.0], integrator=DOP853())
    assert abs(sol.q[-1, 0] - exact_bounce(5.0)) < 1.3e-6 and np.ptp(sol.energy.total) < 1e-5


def test_more_selects_than_are_kept_room_for_run_all_the_same():
    bed = mass(lambda q: [-G + sum(50.0 * max(0.0, -q[0] - 1e-4 * i) for i in range(150))])
    sol = simulate(bed, 1.0, q0=[1.0], v0=[0.0], integrator=DOP853(), rtol=1e-8)
    reference = simulate(bed, 1.0, q0=[1.0], v0=[0.0], integrator=RK45(), rtol=1e-11, atol=1e-13, max_steps=10**6)
    assert sol.q[-1, 0] == pytest.approx(reference.q[-1, 0], abs=1e-5)


@pytest.mark.parametrize("integrator", [DOP853(), RK45()], ids=["DOP853", "RK45"])
def test_states_inside_steps_to_a_corner_beyond_which_there_are_no_numbers(integrator):
    """Such a step was taken with the values deciding, and is taken so again."""
    for law in (lambda q: [-G + 1e5 * max(0.0, -q[0]) ** 1.5], lambda q: [-G + (1e5 * (-q[0]) ** 1.5 if q[0] < 0 else 0.0)]):
        sol = simulate(mass(law), 40.0, q0=[1.0], v0=[0.0], integrator=integrator, rtol=1e-9)
        inside = sol(np.linspace(0.0, 40.0, 20001))
        energy = G * inside.q[:, 0] + 0.5 * inside.v[:, 0] ** 2 + 0.4e5 * np.maximum(0.0, -inside.q[:, 0]) ** 2.5
        assert np.max(np.abs(energy - G)) < 1e-4


def test_modes_of_a_run_that_changed_methods_are_those_of_its_values():
    sol = simulate(problems.jansen_walker(), 1.5)  # its contacts have no numbers beyond their zeros
    assert len(sol.trail.parts) > 1
    for part in sol.trail.parts:
        t, x, _ = part.trail.arrays
        changes, modes = mode_history(part)
        assert np.all(np.diff(changes) > 0.0)
        places, size = part.plan.model.data_places["modes"], part.plan.model.nq + part.plan.model.nv
        followed, decided = part.trail.data.copy(), part.trail.data.copy()
        decided[places] = 0.0
        for row in np.flatnonzero(~np.isin(t, changes))[::5]:
            followed[places] = modes[np.searchsorted(changes, t[row]) - 1]
            fields = [part.plan.model.evaluate(Fn.FIELD, t[row], x[row, :size], np.zeros(0), data) for data in (followed, decided)]
            assert np.allclose(*fields, rtol=1e-12, atol=1e-12)


def test_a_run_made_again_wakes_what_woke_in_its_first_step():
    """Where only some times are kept `sol(t)` makes the run again: it followed one branch for ever."""
    system = Ode(lambda t, y: [np.where(t > 4e-7, 1e3 * np.cos(t), 0.0) - 1e-3 * y[0], y[0]])
    sol = simulate(system, 2.0, y0=[0.0, 0.0], save_at=[0.0, 2.0])
    assert len(sol.switches) == 1
    times = np.linspace(0.0, 2.0, 9)
    assert np.array_equal(sol(times).y, simulate(system, 2.0, y0=[0.0, 0.0])(times).y)


def test_bounds_of_a_woken_select_are_those_of_its_function_also_about_zero():
    """That it has a value was open there: any part with the zero inside seemed to jump, and was cut to rounding."""
    sol = simulate(mass(SPRINGS["max"]), 0.6, q0=[1.0], v0=[0.0])
    model, data = sol.plan.model, sol.trail.data.copy()
    data[model.data_places["modes"]] = -np.inf
    curve = np.array([-0.2, 0.1, -3.0, -2.0, -3.0, -2.0, -G, -G])  # least, largest value and rate of q, of v
    whole_step = np.array([0.0, 0.0, 1.0, 0.1])
    found = model.evaluate(Fn.BOUNDS, 0.0, curve, whole_step, data, Variant(switching=True))
    assert found == pytest.approx([-0.2, 0.1, -3.0, -2.0])  # those of q
