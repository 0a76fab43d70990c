"""Motion along several switches at once: masses beside and upon each other, each with its dry friction."""

import numpy as np
import pytest

from holonomic import DOP853, RK45, Ode, Radau, StepFailed, System, load, simulate

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def by_if(v):
    if v > 0:
        return 1.0
    return -1.0


LAWS = {"if": by_if, "sign": np.sign, "where": lambda v: np.where(v > 0, 1.0, -1.0)}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("integrator", [DOP853(), RK45(), None], ids=["DOP853", "RK45", "left open"])
def test_two_masses_stick_and_slip_each_as_if_it_were_alone(law, integrator):
    sign = LAWS[law]
    pushes = [lambda t: 3.0 * np.sin(t), lambda t: 2.5 * np.sin(1.3 * t + 0.4)]
    friction = [2.0, 1.5]
    alone = []
    for push, mu in zip(pushes, friction, strict=True):
        one = System(mass=np.eye(1), force=lambda t, v, push=push, mu=mu: [push(t) - mu * sign(v[0])])
        alone.append(simulate(one, 20.0, q0=[0.0], v0=[0.0], integrator=DOP853(), rtol=1e-10, atol=1e-12).q[-1, 0])
    both = System(mass=np.eye(2), force=lambda t, v: [pushes[i](t) - friction[i] * sign(v[i]) for i in range(2)])
    given = {} if integrator is None else {"integrator": integrator}
    sol = simulate(both, 20.0, q0=[0.0, 0.0], v0=[0.0, 0.0], **TIGHT, **given)
    assert sol.q[-1] == pytest.approx(alone, abs=5e-9)
    assert all(len(log.along) >= 6 for log in sol.switches.values())


def stack(masses, friction, law, ground):
    """Masses upon each other on a ground that moves, with dry friction between neighbours."""

    def force(t, v):
        below = [v[0] - ground(t), *(v[i] - v[i - 1] for i in range(1, len(masses)))]
        f = [-mu * law(rel) for mu, rel in zip(friction, below, strict=True)]
        return np.array([f[i] - (f[i + 1] if i + 1 < len(masses) else 0.0) for i in range(len(masses))])

    return System(mass=np.diag(masses), force=force)


@pytest.mark.parametrize("law", ["if", "sign"])
@pytest.mark.parametrize(
    ("masses", "friction"),
    [((1.0, 1.0), (3.0, 1.2)), ((1.0, 2.0, 0.5), (4.0, 1.1, 0.6)), ((1.0, 1.0, 1.0, 1.0), (3.0, 2.33, 1.67, 1.0))],
    ids=["two", "three", "four"],
)
def test_a_stack_of_masses_does_what_a_steep_smooth_law_does(masses, friction, law):
    n, ground = len(masses), lambda t: 2.0 * np.cos(3.0 * t) + 0.5 * np.sin(7.0 * t)
    start = {"q0": np.zeros(n), "v0": np.zeros(n)}
    sharp = simulate(stack(masses, friction, LAWS[law], ground), 5.0, integrator=DOP853(), **start, **TIGHT)
    smooth = stack(masses, friction, lambda v: np.tanh(v / 1e-6), ground)
    reference = simulate(smooth, 5.0, integrator=Radau(), rtol=1e-9, atol=1e-12, max_steps=10**6, **start)
    assert sharp.q[-1] == pytest.approx(reference.q[-1], abs=1e-5)
    assert sharp.stats["steps"] < 400


def test_a_switch_at_its_zero_beside_one_that_is_gone_along_is_watched():
    """The second mass lies at its stop, exactly and without any push, while the first one sticks; then it is pushed."""

    def force(t, q, v):
        push = 2.0 * (t - 2.0) ** 3 if t > 2.0 else 0.0
        stop = -1e3 * q[1] if q[1] > 0.0 else 0.0
        return [0.5 - (1.0 if v[0] > 0 else -1.0), push + stop]

    pushed = System(mass=np.eye(2), force=force)
    one = System(mass=np.eye(1), force=lambda t, q: [2.0 * (t - 2.0) ** 3 - 1e3 * q[0]])
    sol = simulate(pushed, 4.0, q0=[0.0, 0.0], v0=[0.2, 0.0], integrator=DOP853(), **TIGHT)
    alone = simulate(one, (2.0, 4.0), q0=[0.0], v0=[0.0], integrator=DOP853(), **TIGHT)
    assert sol.q[-1, 1] == pytest.approx(alone.q[-1, 0], abs=1e-6)


def test_six_at_once_end_where_all_are_zero():
    many = Ode(lambda y: [-1.0 if y[i] > 0 else 1.0 for i in range(6)])
    sol = simulate(many, 3.0, y0=[0.3 * (i + 1) for i in range(6)], integrator=DOP853())
    assert np.max(np.abs(sol.y[-1])) < 1e-9


def saved(sol, path):
    sol.save(path)
    return load(path)


def test_files_keep_switches(tmp_path):
    sol = simulate(System(mass=np.eye(1), force=lambda t, v: 3.0 * np.sin(t) - 2.0 * np.sign(v)), 9.0, q0=[0.0], v0=[1.0])
    still = simulate(System(mass=np.eye(1), force=[1.0]), 1.0, q0=[0], v0=[0])
    assert saved(still, tmp_path / "still.nc").switches == {}
    back = saved(sol, tmp_path / "run.nc")
    for each in (back, saved(back, tmp_path / "again.nc")):
        assert list(each.switches) == list(sol.switches)
        for name, log in sol.switches.items():
            assert each.switches[name].line == log.line and len(log.along) > 0
            for part in ("t", "true", "along"):
                assert np.array_equal(getattr(each.switches[name], part), getattr(log, part))


def test_a_comparison_that_is_much_faster_than_the_steps_is_followed():
    sol = simulate(Ode(lambda t: [1.0 if np.sin(1e5 * t) > 0 else 0.0]), 1.0, y0=[0.0], integrator=DOP853())
    assert len(next(iter(sol.switches.values())).t) == int(1e5 / np.pi)
    turns = int(1e5 / (2 * np.pi))  # of which the last, begun one is half over
    assert sol.y[-1, 0] == pytest.approx(turns * np.pi / 1e5 + min(1.0 - turns * 2 * np.pi / 1e5, np.pi / 1e5), abs=1e-10)


def test_changes_that_no_longer_add_up_on_the_way_end_the_run():
    def sign(v):
        return 1.0 if v > 0 else -1.0

    def rhs(t, y):
        one, other = sign(y[0]), sign(y[1])
        return [-one, -other, 1.0 + max(0.0, t - 1.0) * one * other]  # what the mean of the product is nothing determines

    for integrator in (DOP853(), RK45()):
        with pytest.raises(StepFailed, match="fields do not add up") as told:
            simulate(Ode(rhs), 3.0, y0=[0.3, 0.4, 0.0], integrator=integrator)
        sol = told.value.solution
        assert 0.9 < sol.t[-1] < 1.3 and abs(sol.y[-1, 2] - sol.t[-1]) < 1e-6  # all that is kept is right
