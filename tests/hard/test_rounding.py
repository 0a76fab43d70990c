"""What rounding leaves: of tolerances below it, of atol=0, of times like seconds since 1970."""

import warnings

import numpy as np
import pytest

import holonomic as h

EPOCH = 1e9


def on_a_spring(stiffness):
    def force(q):
        length = np.sqrt(q @ q)
        return np.array([0.0, -9.81]) - stiffness * (length - 1.0) * q / length

    return h.System(mass=np.eye(2), force=force)


@pytest.mark.parametrize("stiffness", [1e8, 1e10])
@pytest.mark.parametrize("integrator", ["auto", h.Radau(order=13)], ids=repr)
def test_what_rounding_leaves_is_told_in_the_place_of_a_run_that_never_ends(stiffness, integrator):
    start = {"q0": [1.0, 0.0], "v0": [0.0, 0.3], "integrator": integrator, "save_at": 2, "max_steps": 30_000}
    t_end = 3000 / np.sqrt(stiffness)
    usual = h.simulate(on_a_spring(stiffness), t_end, **start, rtol=1e-8)
    text = r"rounding leaves \de-1\d of the velocities here, .* rtol=1e-13 cannot be reached"
    with pytest.warns(h.RoundingWarning, match=text) as said:
        tight = h.simulate(on_a_spring(stiffness), t_end, **start, rtol=1e-13)  # 60 000 steps were used up in 2 % of it
    assert "Pass rtol=1e-" in str(said[0].message) and 'precision="double-double"' in str(said[0].message)
    assert tight.stats["steps"] < 3 * usual.stats["steps"]
    assert tight.q[-1] == pytest.approx(usual.q[-1], abs=1e-6)


def test_a_sweep_tells_what_rounding_leaves():
    with pytest.warns(h.RoundingWarning, match="Member 0: rounding leaves"):
        h.sweep(
            on_a_spring(1e8), 0.03, q0=[1.0, 0.0], v0=[[0.0, 0.3], [0.0, 0.4]], save_at=2, rtol=1e-13, integrator=h.DOP853(),
            progress=False,
        )  # fmt: skip


def test_tolerances_that_can_be_had_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h.simulate(on_a_spring(1e6), 0.3, q0=[1.0, 0.0], v0=[0.0, 0.3], rtol=1e-11)
        h.simulate(h.problems.get("seven-body"), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("integrator", ["auto", h.RK45(), h.Radau(), h.BDF()], ids=repr)
def test_atol_may_be_zero(integrator):
    """Coordinates and velocities pass zero, and some begin there."""
    swing = h.System(mass=np.eye(2), force=lambda: [0.0, -9.81], constraint={"rod": lambda q: q @ q - 1.0})
    found = h.simulate(swing, 5.0, q0=[1.0, 0.0], v0=[0.0, 0.0], integrator=integrator, atol=0, save_at=2)
    known = h.simulate(swing, 5.0, q0=[1.0, 0.0], v0=[0.0, 0.0], rtol=1e-11, save_at=2)
    assert found.q[-1] == pytest.approx(known.q[-1], abs=2e-3 if integrator == h.BDF() else 2e-5)
    turn = h.simulate(h.Ode(lambda y: np.array([-y[1], y[0]])), 10.0, y0=[1.0, 0.0], integrator=integrator, atol=0)
    assert turn.y[-1] == pytest.approx([np.cos(10.0), np.sin(10.0)], abs=1e-4)


def test_atol_may_be_zero_for_some():
    swing = h.System(mass=np.eye(2), force=lambda: [0.0, -9.81], constraint={"rod": lambda q: q @ q - 1.0})
    for atol in ({"v": 0.0}, [1e-9, 0.0, 1e-9, 0.0]):
        assert h.simulate(swing, 2.0, q0=[1.0, 0.0], v0=[0.0, 0.0], atol=atol).ended == "end"
    with pytest.raises(h.BadArgument, match=r"atol=-1.0 must be a positive number, or 0\."):
        h.simulate(swing, 2.0, q0=[1.0, 0.0], v0=[0.0, 0.0], atol=-1.0)


@pytest.mark.parametrize("stiffness", [1e4, 1e8])
@pytest.mark.parametrize("integrator", ["auto", h.Radau(), h.BDF()], ids=repr)
def test_a_mass_at_rest_on_a_spring_is_not_followed_in_its_rounding(stiffness, integrator):
    at_rest = {"q0": [0.0, -1.0 - 9.81 / stiffness], "v0": [0.0, 0.0]}
    sol = h.simulate(on_a_spring(stiffness), 10.0, **at_rest, integrator=integrator)
    assert sol.stats["steps"] < 2000 and sol.q[-1] == pytest.approx(at_rest["q0"], abs=1e-12)


# times like seconds since 1970, where a double is known to 1e-7

METHODS = [
    {}, {"integrator": h.RK45()}, {"integrator": h.Radau()}, {"integrator": h.Radau(order=13)},
    {"integrator": h.BDF(), "formulation": h.GGL(), "rtol": 1e-8},
    {"integrator": h.GeneralizedAlpha(), "formulation": h.Index3(), "rtol": 1e-4}, {"integrator": h.PHEM56()},
    {"integrator": h.RATTLE(), "step": 0.01}, {"integrator": h.RK4(), "step": 0.01},
]  # fmt: skip


def round_a_circle(t0, methods, **more):
    circle = h.System(mass=np.eye(2), force=lambda: [0.0, 0.0], constraint={"rod": lambda q: q @ q - 1.0})
    options = {"rtol": 1e-10} | methods if "step" not in methods else methods
    return h.simulate(circle, (t0, t0 + 10.0), q0=[1.0, 0.0], v0=[0.0, 1.0], **options, **more)


def missed(sol, t0):
    t = sol.t - t0
    return np.max(np.abs(sol.q - np.stack([np.cos(t), np.sin(t)], axis=1)))


@pytest.mark.parametrize("methods", METHODS, ids=str)
def test_seconds_since_1970_cost_no_accuracy(methods):
    own = missed(round_a_circle(0.0, methods), 0.0)
    allowed = 2 * own + 2e-11  # 4e-7 by DOP853 and 8e-6 by Radau, where steps were not as long as the time that passed
    far = round_a_circle(EPOCH, methods)
    assert missed(far, EPOCH) < allowed
    assert missed(far(EPOCH + np.linspace(0.1, 9.9, 37)), EPOCH) < 2 * allowed
    assert missed(round_a_circle(EPOCH, methods, save_at=101), EPOCH) < 2 * allowed


def test_events_are_found_as_well_in_seconds_since_1970():
    for methods in METHODS[:4]:
        sol = round_a_circle(EPOCH, methods, events={"up": lambda q: q[0]}, save_at=2)
        found = np.asarray(sol.events["up"].t) - EPOCH
        assert found == pytest.approx(np.pi * (0.5 + np.arange(len(found))), abs=2e-7)  # a double is known to 1.2e-7
        assert len(found) == 3
