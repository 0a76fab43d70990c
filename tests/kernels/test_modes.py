"""One source, two ways to run it: a compiled step and an interpreted one differ by rounding only."""

import numpy as np
import pytest

from holonomic import (
    DOP853,
    PHEM56,
    RK4,
    RK23,
    RK45,
    Baumgarte,
    Euler,
    Event,
    Heun,
    Midpoint,
    Ode,
    PostStabilization,
    Projection,
    System,
    simulate,
)

# Two points on rods, the upper pivot moving: constraints that depend on time, multipliers of both signs.
FUNCTIONS = dict(
    mass=np.diag([1.0, 1.0, 2.0, 2.0]),
    force=lambda q, v: np.array([0.0, -9.81, 0.0, -19.62]) - 0.1 * v * np.sin(q),
    constraint=lambda t, q: np.array(
        [(q[0] - 0.1 * np.sin(t)) ** 2 + q[1] ** 2 - 1.0, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 0.25]
    ),
)
DERIVATIVES = {
    "G": lambda t, q: np.array(
        [
            [2.0 * (q[0] - 0.1 * np.sin(t)), 2.0 * q[1], 0.0, 0.0],
            [2.0 * (q[0] - q[2]), 2.0 * (q[1] - q[3]), 2.0 * (q[2] - q[0]), 2.0 * (q[3] - q[1])],
        ]
    ),
    "g_t": lambda t, q: np.array([-0.2 * np.cos(t) * (q[0] - 0.1 * np.sin(t)), 0.0]),
    "gamma": lambda t, q, v: np.array(
        [
            2.0 * (v[0] - 0.1 * np.cos(t)) ** 2 + 2.0 * v[1] ** 2 + 0.2 * np.sin(t) * (q[0] - 0.1 * np.sin(t)),
            2.0 * (v[2] - v[0]) ** 2 + 2.0 * (v[3] - v[1]) ** 2,
        ]
    ),
}
TRACED = System(**FUNCTIONS)
PLAIN = System(**FUNCTIONS, trace=False, derivatives=DERIVATIVES)
START = dict(q0=[1.0, 0.0, 1.0, -0.5], v0=[0.1, 0.7, -0.3, 0.7])


def rhs(t, y):
    pull = -y[:2] / (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.array([y[2], y[3], *pull]) * (1.0 + 0.1 * np.sin(t))


MOMENTUM = {"momentum": lambda y: y[0] * y[3] - y[1] * y[2]}
GRADIENT = {"H": lambda y: np.array([[y[3], -y[2], -y[1], y[0]]])}

INTEGRATORS = [Euler(), Heun(), Midpoint(), RK4(), RK23(), RK45(), DOP853()]
STABILIZATIONS = {
    "none": None,
    "Baumgarte": Baumgarte(alpha=5.0, beta=3.0),
    "projection": Projection(),
    "projection, mass": Projection(metric="mass"),
    "projection, weights": Projection(metric=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)),
    "S_vel": PostStabilization("velocity", 1),
    "S_pos": PostStabilization("position", 1),
    "S_both": PostStabilization("both", 1),
    "S_both2": PostStabilization("both", 2),
    "S_full": PostStabilization("full", 1),
}

# A step is a few hundred operations on numbers of size 10 at most; the two ways differ in the order of
# summation and in fused products.
ROUNDING = 1e-12


def assert_rounding(a, b):
    for name in ("t", "q", "v", "a", "lam"):
        mine, theirs = getattr(a, name), getattr(b, name)
        size = 1.0 + np.max(np.abs(theirs), initial=0.0)
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=ROUNDING * size)


@pytest.mark.parametrize("stabilization", STABILIZATIONS)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_compiled_step_equals_interpreted_step(integrator, stabilization):
    how = dict(integrator=integrator, stabilization=STABILIZATIONS[stabilization], step=0.01)
    assert_rounding(simulate(PLAIN, 0.01, **START, **how), simulate(TRACED, 0.01, **START, **how))


@pytest.mark.parametrize("stabilization", ["none", "projection", "S_both2", "S_full"])
def test_compiled_half_explicit_step_equals_interpreted_step(stabilization):
    how = dict(integrator=PHEM56(), stabilization=STABILIZATIONS[stabilization], step=0.01)
    assert_rounding(simulate(PLAIN, 0.01, **START, **how), simulate(TRACED, 0.01, **START, **how))


@pytest.mark.parametrize(
    "stabilization", [None, Baumgarte(alpha=5.0), Projection(), PostStabilization()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_compiled_step_of_an_ode_equals_interpreted_step(integrator, stabilization):
    how = dict(y0=[0.4, 0.1, 0.3, 2.0], integrator=integrator, stabilization=stabilization, step=0.01)
    plain = simulate(Ode(rhs, MOMENTUM, trace=False, derivatives=GRADIENT), 0.01, **how)
    assert_rounding(plain, simulate(Ode(rhs, MOMENTUM), 0.01, **how))


@pytest.mark.parametrize("integrator", [RK23(), RK45(), DOP853(), PHEM56()], ids=repr)
def test_step_control_dense_output_and_events_are_the_same_in_both(integrator):
    how = dict(integrator=integrator, rtol=1e-7, atol=1e-9, save_at=11)
    how["events"] = {"level": Event(lambda q: q[1] + 0.3), "pull": Event(lambda lam: lam[1] - 5.0)}
    plain, traced = simulate(PLAIN, 0.5, **START, **how), simulate(TRACED, 0.5, **START, **how)
    assert plain.stats["steps"] == traced.stats["steps"]
    assert plain.stats["rejected"] == traced.stats["rejected"]
    # rounding of 1e-15 per step grows with the motion, less than a thousandfold in half a second
    np.testing.assert_allclose(plain.q, traced.q, rtol=0, atol=1e-12)
    assert len(traced.events["level"].t) > 0
    for name in traced.events:
        np.testing.assert_allclose(plain.events[name].t, traced.events[name].t, rtol=0, atol=1e-11)
