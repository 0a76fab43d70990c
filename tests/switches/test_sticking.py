"""Static friction above that of sliding: what is said at a value holds while the motion stays there, and anew each time."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import DOP853, RK45, Radau, System, simulate, sweep
from holonomic.errors import BadArgument, StepFailed
from holonomic.multibody import Mechanism

from .reference import instants
from .runners import RUNNERS

STATIC, SLIDING, STIFF, SPEED = 3.0, 2.0, 100.0, 0.1  # N, N, N/m, m/s: a block of 1 kg on a belt, held by a spring
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def by_sign(rel, pull):
    return np.clip(pull, -STATIC, STATIC) if rel == 0 else -SLIDING * np.sign(rel)


def in_three(rel, pull):
    if rel == 0:
        return np.clip(pull, -STATIC, STATIC)
    elif rel > 0:
        return -SLIDING
    return SLIDING


def the_rest(rel, pull):
    if rel > 0:
        return -SLIDING
    elif rel < 0:
        return SLIDING
    else:
        return np.clip(pull, -STATIC, STATIC)


def unless(rel, pull):
    if rel != 0:
        return -SLIDING * np.sign(rel)
    return max(-STATIC, min(pull, STATIC))


def where(rel, pull):
    return np.where(rel == 0, np.clip(pull, -STATIC, STATIC), -SLIDING * np.sign(rel))


def select(rel, pull):
    return np.select([rel > 0, rel < 0], [-SLIDING, SLIDING], default=np.clip(pull, -STATIC, STATIC))


def level(rel, pull):
    return -(STATIC if rel == 0 else SLIDING) * np.sign(rel)


def inside(rel, pull):
    if rel == 0:
        if abs(pull) <= STATIC:
            return pull
        return STATIC * np.sign(pull)
    return -SLIDING * np.sign(rel)


SPELLINGS = (by_sign, in_three, the_rest, unless, where, select, level, inside)


def exactly(t, static=STATIC, sliding=SLIDING, stiff=STIFF, speed=SPEED):
    """Position and velocity from x = 0 at the belt's speed: it sticks to static/stiff, slips half a wave, and sticks again."""
    w, more = np.sqrt(stiff), (static - sliding) / stiff
    slips = 2.0 / w * (np.pi - np.arctan(more * w / speed))
    s = np.mod(t - static / stiff / speed, slips + 2.0 * more / speed)
    x = np.where(
        s <= slips, sliding / stiff + more * np.cos(w * s) + speed / w * np.sin(w * s), sliding / stiff - more + speed * (s - slips)
    )
    v = np.where(s <= slips, speed * np.cos(w * s) - more * w * np.sin(w * s), speed)
    first = t <= static / stiff / speed
    return np.stack([np.where(first, speed * t, x), np.where(first, speed, v)], axis=1)


def block(law):
    return SimpleNamespace(f=lambda t, q, v: law(v - SPEED, STIFF * q) - STIFF * q, end=3.0, start=(0.0, SPEED), law=None)


@pytest.mark.parametrize("runner", [name for name in RUNNERS if name != "input"])
@pytest.mark.parametrize("law", SPELLINGS)
def test_a_block_on_a_belt_sticks_up_to_static_friction(law, runner):
    """Three periods of 0.6712 s; implicit methods say by line that they cannot follow it."""
    run, more, allowed = RUNNERS[runner]
    if runner.startswith(("Radau", "BDF", "generalized")):
        with pytest.raises(StepFailed, match="cannot follow"):
            run(block(law), more)
        return
    assert np.max(np.abs(run(block(law), more).states - exactly(np.asarray(instants(3.0))))) < 0.3 * allowed


def test_belts_of_all_kinds_have_their_period():
    """Drawn at random, among them such as stick for a very short and for a very long time."""
    r = np.random.default_rng(5)
    for _ in range(40):
        sliding, more, stiff, speed = r.uniform(0.5, 3), 10 ** r.uniform(-3, 0.5), 10 ** r.uniform(0, 3), 10 ** r.uniform(-1.5, 0.5)
        given = {"static": sliding + more, "sliding": sliding, "stiff": stiff, "speed": speed}
        law = lambda q, v, p: [
            (np.clip(p.stiff * q[0], -p.static, p.static) if v[0] == p.speed else -p.sliding * np.sign(v[0] - p.speed))
            - p.stiff * q[0]
        ]
        end = 4 * (2 * np.pi / np.sqrt(stiff) + 2 * more / stiff / speed) + given["static"] / stiff / speed
        sol = simulate(System(mass=np.eye(1), force=law, params=given), end, q0=[0.0], v0=[speed], integrator=DOP853(), **TIGHT)
        t = np.linspace(0, end, 101)
        exact = exactly(t, **given)
        assert np.max(np.abs(sol(t).q[:, 0] - exact[:, 0])) < 1e-6 * np.max(np.abs(exact[:, 0])), given


def test_what_holds_is_what_the_branch_at_the_value_says():
    """A push that grows from nothing: at rest up to 3 N, then 2 N of friction; at every kept step v' is the plain law's."""
    law = lambda t, v: [t - (np.clip(t, -3.0, 3.0) if v[0] == 0 else 2.0 * np.sign(v[0]))]
    for integrator in (DOP853(), RK45()):
        sol = simulate(System(mass=np.eye(1), force=law), 5.0, q0=[0.0], v0=[0.0], integrator=integrator, **TIGHT)
        assert sol(2.99).v[0] == 0.0
        assert sol.v[-1, 0] == pytest.approx((25 - 9) / 2 - 2 * 2, abs=1e-7)
        kept = [(t, v, a) for t, v, a in zip(sol.t, sol.v, sol.a[:, 0], strict=True) if abs(t - 3.0) > 1e-6]
        assert all(a == pytest.approx(law(t, v)[0], abs=1e-9) for t, v, a in kept)


def test_a_value_that_nothing_else_asks_for_is_as_it_was():
    """sin(x)/x by a guard: no switch, no step more."""
    guarded = System(mass=np.eye(1), force=lambda q: [-np.where(q[0] == 0, 1.0, np.sin(q[0]) / np.where(q[0] == 0, 1.0, q[0]))])
    sol = simulate(guarded, 5.0, q0=[1.0], v0=[0.0])
    assert not sol.switches and not sol.plan.switches


def stack(masses, static, sliding, spring, push):
    m = Mechanism(gravity=(0, 0))
    for i, mass in enumerate(masses):
        m.body(f"b{i}", at=(0, 0.1 * i), mass=mass, inertia=1.0)
        m.prismatic(f"r{i}", f"b{i - 1}" if i else "ground", f"b{i}", at=(0, 0.1 * i), axis=(1, 0))
        m.friction(f"r{i}", coulomb=sliding[i], static=static[i], hold=True)
    m.motor("r0", force=lambda t, position: push(t) - spring * position)
    return m


def moved(masses, static, sliding, spring, push, times):
    """Positions of blocks on each other: an own simulation from one change of sticking to the next, by SciPy."""
    n, M = len(masses), np.array(masses)
    stuck, sign = [True] * n, [0.0] * n

    def solved(t, x, stuck, sign):
        A, b = np.zeros((2 * n, 2 * n)), np.zeros(2 * n)
        for i in range(n):
            A[i, i], A[i, n + i] = M[i], -1.0
            if i + 1 < n:
                A[i, n + i + 1] = 1.0
            b[i] = push(t) - spring * x[0] if i == 0 else 0.0
            if stuck[i]:
                A[n + i, i] = 1.0
                if i:
                    A[n + i, i - 1] = -1.0
            else:
                A[n + i, n + i], b[n + i] = 1.0, -sliding[i] * sign[i]
        found = np.linalg.solve(A, b)
        return found[:n], found[n:]

    def settle(t, x):
        for _ in range(3 * n):
            _, f = solved(t, x, stuck, sign)
            over = [i for i in range(n) if stuck[i] and abs(f[i]) > static[i] * (1 + 1e-9)]
            if not over:
                return
            worst = max(over, key=lambda i: abs(f[i]) / static[i])
            stuck[worst], sign[worst] = False, -np.sign(f[worst])

    t, x, kept = 0.0, np.zeros(2 * n), {}
    settle(t, x)
    while t < times[-1]:
        events = []
        for i in range(n):
            if stuck[i]:
                event = lambda t, x, i=i: static[i] * (1 + 1e-12) - abs(solved(t, x, stuck, sign)[1][i])
                event.direction = -1
            else:
                slips = lambda x, i=i: sign[i] * (x[n + i] - (x[n + i - 1] if i else 0.0))
                event = lambda t, x, slips=slips, began=t: slips(x) + (1e-13 if t == began else 0.0)
                event.direction = -1
            event.terminal = True
            events.append(event)
        began = t
        found = solve_ivp(
            lambda t, x: [*x[n:], *solved(t, x, stuck, sign)[0]], (t, times[-1]), x, method="DOP853", rtol=1e-11, atol=1e-13,
            events=events, dense_output=True, max_step=0.05,
        )  # fmt: skip
        t, x = found.t[-1], found.y[:, -1].copy()
        kept |= {s: found.sol(s)[:n] for s in times if began <= s <= t}
        for i, at in enumerate(found.t_events):
            if not len(at):
                continue
            if stuck[i]:
                stuck[i], sign[i] = False, -np.sign(solved(t, x, stuck, sign)[1][i])
            else:
                x[n + i :] -= x[n + i] - (x[n + i - 1] if i else 0.0)
                tried = [*stuck[:i], True, *stuck[i + 1 :]]
                stuck[i] = abs(solved(t, x, tried, sign)[1][i]) <= static[i]
                sign[i] = 0.0 if stuck[i] else -sign[i]
        settle(t, x)
    return np.array([kept[s] for s in times])


STACKS = {
    "one": ((1.0,), (3.0,), (2.0,), 50.0, lambda t: 8 * np.sin(3 * t)),
    "two": ((1.0, 2.0), (6.0, 3.0), (4.0, 2.0), 50.0, lambda t: 15 * np.sin(3 * t)),
    "three": ((1.0, 2.0, 1.5), (9.0, 5.0, 2.0), (6.0, 3.5, 1.2), 40.0, lambda t: 22 * np.sin(2.5 * t)),
    "three, no peak": ((1.0, 2.0, 1.5), (9.0, 5.0, 2.0), (9.0, 5.0, 2.0), 40.0, lambda t: 25 * np.sin(2.5 * t)),
}


@pytest.mark.parametrize("tier", ["now", "never"])
@pytest.mark.parametrize("name", STACKS)
def test_blocks_on_each_other_stick_and_slip(name, tier):
    masses, *_, spring, push = given = STACKS[name]
    sol = simulate(stack(*given), 4.0, compile=tier, **TIGHT)
    times = np.linspace(0.02, 4.0, 100)
    assert sol(times).q[:, ::3] == pytest.approx(moved(*given, times), abs=2e-6)
    assert sum(len(log.along) for log in sol.switches.values()) >= 2
    for at in (sol, sol(times)):  # efforts by Newton's law, sticking or not
        needed = np.cumsum((np.array(masses) * at.a[:, ::3])[:, ::-1], axis=1)[:, ::-1]
        needed[:, 0] -= push(at.t) - spring * at.q[:, 0]
        for i in range(len(masses)):
            assert at[f"r{i} friction"].effort == pytest.approx(needed[:, i], abs=1e-9)
            held = np.abs(at[f"r{i}"].speed) < 1e-9
            assert np.max(np.abs(at[f"r{i} friction"].effort[held])) <= given[1][i] * (1 + 1e-6)


def test_friction_that_holds_runs_in_sweeps():
    m = stack(*STACKS["two"])
    runs = sweep(m, 4.0, params={"r1 friction.static": [2.0, 3.0, 5.0]}, save_at=[2.0, 4.0], progress=False, **TIGHT)
    for j, static in enumerate((2.0, 3.0, 5.0)):
        masses, at_rest, *rest = STACKS["two"]
        exact = moved(masses, (at_rest[0], static), *rest, np.array([2.0, 4.0]))
        assert runs.q[j, :, ::3] == pytest.approx(exact, abs=2e-6)


def incline(slope, push=None):
    m = Mechanism(gravity=(0, -9.81))
    m.body("b", at=(0, 0), mass=2.0, inertia=1.0)
    m.prismatic("rail", "ground", "b", at=(0, 0), axis=(np.cos(slope), np.sin(slope)))
    m.friction("rail", coefficient=0.3, static=0.5, hold=True)
    if push is not None:
        m.motor("rail", force=push)
    return m


@pytest.mark.parametrize("tier", ["now", "never"])
def test_friction_under_the_reaction_holds_up_to_its_static_coefficient(tier):
    for steep in (0.45, 0.55):
        slope = np.arctan(steep)
        sol = simulate(incline(slope), 1.0, compile=tier, **TIGHT)
        slides = -0.5 * 9.81 * (np.sin(slope) - 0.3 * np.cos(slope)) if steep > 0.5 else 0.0
        assert sol["rail"].position[-1] == pytest.approx(slides, abs=1e-12)
        held = 2 * 9.81 * (np.sin(slope) if steep < 0.5 else 0.3 * np.cos(slope))
        assert sol["rail friction"].effort[-1] == pytest.approx(held, abs=1e-9)


@pytest.mark.parametrize("tier", ["now", "never"])
def test_friction_under_the_reaction_sticks_and_slips(tier):
    slope = np.arctan(0.2)
    push, load, weight = (lambda t: 25 * np.sin(2 * t)), 2 * 9.81 * np.cos(slope), 2 * 9.81 * np.sin(slope)
    times = np.linspace(0.05, 6.0, 120)
    exact = moved((2.0,), (0.5 * load,), (0.3 * load,), 0.0, lambda t: push(t) - weight, times)
    sol = simulate(incline(slope, push), 6.0, compile=tier, **TIGHT)
    assert sol(times)["rail"].position == pytest.approx(exact[:, 0], abs=1e-6)


@pytest.mark.parametrize("speed", [0.0, 300.0])
def test_what_holds_is_told_on_a_fast_cart_too(speed):
    """A block that never slips on a cart that brakes: its friction is m a, whatever the speed of both."""
    m = Mechanism(gravity=(0, 0))
    m.body("cart", at=(0, 0), mass=2.0, inertia=1.0)
    m.prismatic("rail", "ground", "cart", at=(0, 0), axis=(1, 0))
    m.body("block", at=(0, 0.1), mass=1.0, inertia=1.0)
    m.prismatic("top", "cart", "block", at=(0, 0.1), axis=(1, 0))
    m.friction("top", coulomb=2.0, static=3.0, hold=True)
    m.motor("rail", force=lambda t: -6.0)
    sol = simulate(m, 1.0, v0=[speed, 0, 0, speed, 0, 0])
    assert sol["top friction"].effort == pytest.approx(-2.0, abs=1e-9)


def test_friction_holds_or_creeps():
    m = Mechanism(gravity=(0, 0))
    m.body("b", at=(0, 0), mass=1.0, inertia=1.0)
    m.prismatic("rail", "ground", "b", at=(0, 0), axis=(1, 0))
    with pytest.raises(BadArgument, match=r"hold=True sticks, smoothing=0\.02 creeps"):
        m.friction("rail", coulomb=1.0, hold=True, smoothing=0.02)


@pytest.mark.parametrize("integrator", [DOP853(), RK45(), Radau()])
def test_a_guard_keeps_a_law_from_dividing_by_zero(integrator):
    """Beside other comparisons of the same value, at a start exactly there."""

    def spring(q):
        if q[0] == 0:
            return [0.0]
        return [-(np.abs(q[0]) ** 1.5) * q[0] / np.abs(q[0])]

    def reference(t, x):
        return [x[1], -(abs(x[0]) ** 1.5) * np.sign(x[0])]

    sol = simulate(System(mass=np.eye(1), force=spring), 5.0, q0=[0.0], v0=[1.0], integrator=integrator, rtol=1e-9, atol=1e-12)
    exact = solve_ivp(reference, (0, 5), [0.0, 1.0], method="DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    assert [sol.q[-1, 0], sol.v[-1, 0]] == pytest.approx(exact, abs=1e-6)
