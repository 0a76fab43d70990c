"""No unit decides: the same motion in micrometres, in megaseconds or in SI takes the same steps, by every family of methods."""

import warnings

import numpy as np
import pytest

import holonomic as h

UNITS = [(1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6), (1e-6, 1e6)]  # numbers per metre, per second
EXPLICIT = [
    {"integrator": integrator, "stabilization": stabilization}
    for integrator in (h.RK23(), h.RK45(), h.DOP853())
    for stabilization in (None, h.Projection(), h.S_both2())
]
IMPLICIT = [
    {"integrator": integrator, "formulation": formulation()}
    for integrator in (h.Radau(), h.Radau(order=13), h.BDF())
    for formulation in (h.Index1, h.Index2, h.Index3, h.GGL, h.StateSpace, h.ProjectedInvariants)
] + [{"integrator": h.GeneralizedAlpha(), "formulation": formulation(), "rtol": 1e-4} for formulation in (h.Index2, h.Index3)]


def pendulum(length, time):
    system = h.System(
        mass=np.diag([1.0, 3.0]), force=lambda v: np.array([-0.1 * v[0] / time, -29.43 * length / time**2]),
        constraint={"rod": lambda q: q @ q / length - length},
    )  # fmt: skip
    return system, 2 * time, {"q0": [length, 0.0], "v0": [0.0, 0.5 * length / time]}


def slider_crank(time):
    """Angles and a length: it is the unit of time that varies."""
    angle = -np.arcsin(np.sin(0.5) / 2)
    system = h.System(
        mass=np.diag([0.4, 0.3, 1.0]),
        force=lambda q: -4.905 / time**2 * np.array([np.cos(q[0]), np.cos(q[1]), 0.0]),
        constraint={"along": lambda q: np.cos(q[0]) + 2 * np.cos(q[1]) - q[2], "across": lambda q: np.sin(q[0]) + 2 * np.sin(q[1])},
        coordinates={"crank": "angle", "rod": "angle", "slider": "length"},
    )
    return system, 2 * time, {"q0": [0.5, angle, np.cos(0.5) + 2 * np.cos(angle)], "v0": [0.0, 0.0, 0.0]}


def stiff_slider(length, time):
    """A stiff damped spring, driven: at first it swings in, then nearly rests."""
    push = lambda t, q, v: np.array(
        [-1e6 / time**2 * (q[0] - length) - 2e3 / time * v[0] + 10 * length / time**2 * np.sin(3 * t / time)]
    )
    return h.System(mass=np.eye(1), force=push), 2 * time, {"q0": [1.001 * length], "v0": [0.0]}


def orbit(length, time):
    """Positions and velocities in one y, as an Ode has them."""
    pull = length**3 / time**2

    def rhs(y):
        r = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return np.array([y[2], y[3], -pull * y[0] / r, -pull * y[1] / r])

    return h.Ode(rhs), 6 * time, {"y0": [length, 0.0, 0.0, 1.1 * length / time]}


def pushed(length, time):
    """From rest at the origin, by a force that itself begins at zero: no size is known at the start."""
    return h.System(mass=np.eye(1), force=lambda t: np.array([length / time**3 * t])), 2 * time, {"q0": [0.0], "v0": [0.0]}


def steps(made, **options):
    system, t_end, start = made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", h.StiffnessWarning)
        sol = h.simulate(system, t_end, **start, **options)
    return sol.stats["steps"], sol.q[-1] if "q0" in start else sol.y[-1]


def same(found, wanted):
    return abs(found - wanted) <= max(2, 0.2 * wanted)


@pytest.mark.parametrize("methods", EXPLICIT + IMPLICIT, ids=str)
def test_a_pendulum_takes_the_same_steps_in_all_units(methods):
    wanted, end = steps(pendulum(1.0, 1.0), **methods)
    for length, time in UNITS:
        found, other = steps(pendulum(length, time), **methods)
        assert same(found, wanted), f"{length:g} per m, {time:g} per s: {found} steps, not {wanted}"
        assert other / length == pytest.approx(end, abs=2e-3)  # BDF with index 3 and rtol 1e-6 is wrong by 6e-4, whatever the unit


@pytest.mark.parametrize("methods", [{}, *IMPLICIT], ids=str)
def test_a_slider_crank_takes_the_same_steps_in_ms_and_in_s(methods):
    wanted, _ = steps(slider_crank(1.0), **methods)
    for time in (1e-6, 1e-3, 1e3, 1e6):
        found, _ = steps(slider_crank(time), **methods)
        assert same(found, wanted), f"{time:g} per s: {found} steps, not {wanted}"


@pytest.mark.parametrize("make", [stiff_slider, orbit, pushed])
@pytest.mark.parametrize("methods", [{}, {"integrator": h.RK45()}, {"integrator": h.Radau()}], ids=str)
def test_what_is_stiff_or_an_ode_or_begins_at_rest_takes_the_same_steps_in_all_units(make, methods):
    if make is stiff_slider and methods == {"integrator": h.RK45()}:
        pytest.skip("stability limits its steps")
    wanted, end = steps(make(1.0, 1.0), **methods)
    for length, time in UNITS:
        found, other = steps(make(length, time), **methods)
        assert same(found, wanted), f"{length:g} per m, {time:g} per s: {found} steps, not {wanted}"
        units = [length, length, length / time, length / time] if make is orbit else [length]
        assert other / units == pytest.approx(end, rel=1e-4, abs=1e-5)


def test_nothing_known_at_the_start_makes_no_step_collapse():
    for methods in ({"integrator": h.BDF()}, {"integrator": h.Radau()}, {"integrator": h.RK23()}, {}):
        count, end = steps(pushed(1.0, 1.0), **methods)
        assert count < 1000 and end[0] == pytest.approx(8 / 6, rel=1e-4)


def test_the_report_tells_the_default_from_a_given_tolerance():
    system, t_end, start = pendulum(1.0, 1.0)
    assert "atol 1e-09 of the size of the motion" in str(h.simulate(system, t_end, **start))
    assert "atol 1e-08 of the size of the motion" in str(h.simulate(system, t_end, **start, rtol=1e-5))
    assert "atol 1e-09\n" in str(h.simulate(system, t_end, **start, atol=1e-9)).replace(" \n", "\n")
    mixed = str(h.simulate(system, t_end, **start, atol={"v": 1e-8}))
    assert "atol 1e-08 to 1e-08 by component, else 1e-09 of the size of the motion" in mixed


@pytest.mark.parametrize("lanes", ["never", "at once"])
def test_sweeps_take_the_default_as_single_runs_do(lanes, monkeypatch):
    monkeypatch.setattr("holonomic.sweeping.side_by_side.WHEN", lanes)
    system, t_end, start = pendulum(1e-6, 1.0)
    v0 = [[0.0, speed * 1e-6] for speed in np.linspace(0.1, 1.0, 16)]
    for methods in ({"integrator": h.DOP853()}, {"integrator": h.Radau(), "formulation": h.Index3()}):
        swept = h.sweep(system, t_end, q0=start["q0"], v0=v0, save_at=3, progress=False, **methods)
        single = [h.simulate(system, t_end, q0=start["q0"], v0=v, save_at=3, **methods) for v in v0]
        assert [int(count) for count in swept.steps] == [sol.stats["steps"] + sol.stats["rejected"] for sol in single]
        for m, sol in enumerate(single):
            assert np.array_equal(swept.q[m], sol.q)


def test_a_stepper_takes_the_default_as_a_single_run_does():
    system, t_end, start = pendulum(1e-6, 1.0)
    stepper = h.Stepper(system, **start, integrator=h.DOP853())
    stepper.step(t_end)
    sol = h.simulate(system, t_end, **start, integrator=h.DOP853())
    assert np.array_equal(stepper.q, sol.q[-1])


@pytest.mark.parametrize("methods", [{}, {"integrator": h.RK45()}, {"integrator": h.Radau()}], ids=str)
@pytest.mark.parametrize("at", [1e-17, -1e-12, 1e-8])
def test_a_start_where_a_coordinate_passes_zero_takes_steps_as_any_other(methods, at):
    spring = h.System(mass=np.eye(1), force=lambda q: -100.0 * q)
    sol = h.simulate(spring, 3.0, q0=[at], v0=[-1.0], **methods)
    usual = h.simulate(spring, 3.0, q0=[0.05], v0=[-1.0], **methods)
    assert sol.stats["steps"] < 1.3 * usual.stats["steps"] + 12
    assert sol.q[-1, 0] == pytest.approx(at * np.cos(30.0) - 0.1 * np.sin(30.0), abs=1e-5)
