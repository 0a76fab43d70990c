"""Where driven mechanisms start: on their laws, at their rates, whatever these are and whenever the run begins."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from holonomic import Stepper, load, opaque, simulate, sweep
from holonomic.errors import NotFinite
from holonomic.multibody import Mechanism, rod

ROUNDING = 1e-12  # of a rate: derivatives are exact, velocities are found by a least-squares step


def arm(dimension=2, **drive):
    """A rod on a driven hinge."""
    z = (0.0,) * (dimension - 2)
    m = Mechanism(gravity=(0, -9.81, *z))
    m.revolute("O", "ground", m.body("arm", rod((0, 0, *z), (1, 0, *z), mass=1.0)), at=(0, 0, *z))
    m.drive("O", **drive)
    return m


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("rate", [180.0, 1e4])
def test_a_hinge_starts_at_any_rate(dimension, rate, compile):
    for law in ({"speed": rate}, {"speed": lambda t: rate + 0 * t}, {"angle": lambda t: rate * t}):
        sol = simulate(arm(dimension, **law), 0.5 / rate, compile=compile)
        assert sol["O"].speed[0] == pytest.approx(rate, rel=ROUNDING)


@pytest.mark.parametrize("kind", ["position", "length", "path"])
@pytest.mark.parametrize("frequency", [20.0, 50.0, 1000.0, 40e3])
def test_a_shaker_starts_at_any_frequency(kind, frequency):
    w = 2 * np.pi * frequency
    m = Mechanism(gravity=(0, 0))
    m.body("b", at=(1.0, 0), mass=1.0, inertia=1.0)
    if kind == "position":
        m.prismatic("J", "ground", "b", at=(1.0, 0), axis=(1, 0))
        m.drive("J", position=lambda t: 1e-3 * np.sin(w * t))
    elif kind == "length":
        m.distance("J", "ground", "b", at=((0, 0), (1.0, 0)), length=lambda t: 1.0 + 1e-3 * np.sin(w * t))
    else:
        m.point("p", "b", (1.0, 0))
        m.drive("p", path=lambda t: (1.0 + 1e-3 * np.sin(w * t), 0.0 * t))
    assert simulate(m, 1 / frequency).v[0, 0] == pytest.approx(1e-3 * w, rel=ROUNDING)


CORNERS = {
    "interp": lambda t: np.interp(t, [0, 1, 2], [0.0, 3.0, 3.0]),
    "if": lambda t: 3 * t if t > 0 else 0 * t,
    "max": lambda t: 3 * max(t, 0.0),
    "other max": lambda t: 3 * max(0.0, t),
    "maximum": lambda t: 3 * np.maximum(0.0, t),
    "where": lambda t: np.where(t > 0, 3 * t * (1 + t), 0.0),
    "abs": lambda t: 3 * abs(t),
}


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("law", CORNERS)
def test_a_law_with_a_corner_starts_with_the_rate_of_its_side(law, compile):
    m = arm(angle=CORNERS[law])
    sol = simulate(m, 0.5, compile=compile)
    assert sol["O"].speed[0] == pytest.approx(3.0, rel=ROUNDING)
    assert sol["O"].angle[-1] == pytest.approx(float(CORNERS[law](0.5)), abs=1e-7)
    assert abs(sol.drift["velocity"]).max() < 1e-6
    back = simulate(m, -0.5, compile=compile)
    assert back["O"].speed[0] == pytest.approx(-3.0 if law == "abs" else 0.0, abs=ROUNDING)
    assert back["O"].angle[-1] == pytest.approx(float(CORNERS[law](-0.5)), abs=1e-7)
    runs = sweep(m, 0.5, params={"arm.mass": [1.0, 2.0]}, save_at=2, compile=compile)
    assert not runs.failed
    np.testing.assert_allclose(runs["O"].speed[:, 0], 3.0, rtol=1e-9)


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("span", [(1.0, 1.3), (2.0, 1.8), (-1.0, -0.5), (20.0, 20.2)])
def test_a_run_begins_where_its_drives_are_then(span, dimension, compile):
    for key, law in (("angle", lambda t: np.sin(3 * t) + t), ("speed", 7.0)):
        sol = simulate(arm(dimension, **{key: law}), span, save_at=4, compile=compile)
        wanted = 7.0 * sol.t if key == "speed" else law(sol.t)
        wanted = wanted - 2 * np.pi * (round((wanted[0] - sol["O"].angle[0]) / (2 * np.pi)) if dimension == 3 else 0)
        np.testing.assert_allclose(sol["O"].angle, wanted, atol=1e-6)
        further = simulate(arm(dimension, **{key: law}), (span[1], 2 * span[1] - span[0]), q0=sol.end, save_at=2, compile=compile)
        np.testing.assert_allclose(further["O"].speed[0], sol["O"].speed[-1], atol=1e-9)


def test_a_linkage_begins_in_its_own_closure_at_any_time():
    """A four-bar with a driven crank: going there in one run, or beginning there."""

    def machine():
        m = Mechanism()
        for name, a, b in (("crank", (0, 0), (0, 1)), ("coupler", (0, 1), (2, 2)), ("rocker", (2.5, 0), (2, 2))):
            m.body(name, rod(a, b, mass=1.0))
        for name, one, other, at in (("A", "ground", "crank", (0, 0)), ("B", "crank", "coupler", (0, 1)),
                                     ("C", "coupler", "rocker", (2, 2)), ("D", "ground", "rocker", (2.5, 0))):  # fmt: skip
            m.revolute(name, one, other, at=at)
        m.drive("A", angle=lambda t: np.pi / 2 + 4 * t)
        return m

    m = machine()
    whole, late = simulate(m, 3.0, rtol=1e-10), simulate(m, (3.0, 3.1))
    np.testing.assert_allclose(late.q[0], whole.q[-1], atol=1e-7)
    np.testing.assert_allclose(late.v[0], whole.v[-1], atol=1e-6)
    assert m.assembly.values["A"] == pytest.approx(np.pi / 2)


def test_a_large_mechanism_begins_at_any_time():
    m = Mechanism(gravity=(0, -9.81))
    m.body("sled", at=(0, 0), mass=1.0, inertia=1.0)
    m.prismatic("rail", "ground", "sled", at=(0, 0), axis=(1, 0))
    m.drive("rail", position=lambda t: 3 * max(0.0, t - 1.0) - 0.2 * t)
    m.chain("rope", at=((0, 0), (0, -30)), links=120, mass=1.0, first="sled")
    sol = simulate(m, (1.0, 1.01))
    np.testing.assert_allclose(sol["sled"].position[0], (-0.2, 0.0), atol=1e-9)
    np.testing.assert_allclose(sol["sled"].velocity[0], (2.8, 0.0), atol=1e-9)


def test_a_law_that_is_no_number_is_named():
    with pytest.raises(NotFinite, match=r"the rate of 'O drive' is not finite at t = 0\."):
        simulate(arm(angle=lambda t: np.sqrt(t)), 1.0)
    with pytest.raises(NotFinite, match=r"the second derivative of constraint 'O drive' is not finite at the start, t = 2"):
        simulate(arm(angle=lambda t: np.sqrt(abs(t - 2.0))), (2.0, 3.0))


def test_steppers_and_loaded_runs_begin_the_same(tmp_path):
    m = arm(angle=lambda t: 3 * t if t > 0 else 0 * t)
    stepper = Stepper(m)
    stepper.step(0.1)
    assert stepper.now["O"].angle[-1] == pytest.approx(0.3, abs=1e-9)
    sol = simulate(m, 0.5)
    sol.save(tmp_path / "run.nc")
    assert abs(load(tmp_path / "run.nc").drift["velocity"]).max() < 1e-6


@pytest.mark.filterwarnings("ignore:divide by zero")  # by the law itself, where it is asked for zero
def test_a_law_need_not_begin_at_zero():
    m = arm(angle=lambda t: np.log(t))
    np.testing.assert_allclose(simulate(m, (2.0, 3.0), save_at=3)["O"].angle, np.log([2.0, 2.5, 3.0]), atol=1e-7)
    np.testing.assert_allclose(simulate(m, (2.0, 3.0), save_at=3, compile="never")["O"].angle, np.log([2.0, 2.5, 3.0]), atol=1e-7)
    with pytest.raises(NotFinite, match=r"'O drive' is not finite at t = 0\. Check what its function of time gives there\."):
        simulate(m, 1.0)


@pytest.mark.parametrize("given", [{}, {"jac": lambda t: 3 * np.cos(3 * t)}])
def test_an_opaque_law_has_the_rate_that_the_run_sees(given):
    law = opaque(lambda t: np.sin(3 * t), **given)
    for compile in ("now", "never"):
        sol = simulate(arm(angle=lambda t: law(t)), (0.2, 0.6), compile=compile)
        assert sol["O"].speed[0] == pytest.approx(3 * np.cos(0.6), rel=1e-7 if not given else ROUNDING)


def test_a_tabulated_law_and_one_of_parameters_start_at_their_rates():
    spline = CubicSpline([0, 1, 2], [0, 1, 0.5])
    assert simulate(arm(angle=lambda t: spline(t)), (0.3, 0.6))["O"].speed[0] == pytest.approx(spline(0.3, 1), rel=1e-12)
    m = arm(angle=lambda t, p: p.A * np.sin(p.w * t))
    m.parameter("A", 0.5)
    m.parameter("w", 4.0)
    runs = sweep(m, (0.5, 1.0), params={"w": [4.0, 40.0]}, save_at=3)
    np.testing.assert_allclose(runs["O"].speed[:, 0], [2.0 * np.cos(2.0), 20.0 * np.cos(20.0)], rtol=1e-9)
