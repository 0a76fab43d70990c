"""Events with every kind of method, compiled and interpreted."""

import numpy as np
import pytest
from scipy.special import ellipk

from holonomic import BDF, GGL, PHEM56, RK4, RK23, Event, ImplicitMidpoint, Radau, StepFailed, System, Trapezoidal, simulate

G = 9.81
PERIOD = 4 * ellipk(0.5) / np.sqrt(G)  # of a pendulum released from the horizontal


def pendulum(trace=True):
    return System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda q: q @ q - 1}, trace=trace)


def wall():
    return {"wall": Event(lambda q: q[0], "falling", then=lambda q, v: (q, -v))}


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"integrator": RK23(), "rtol": 1e-8}, 1e-6),
        ({"integrator": RK4(), "step": 1e-2}, 1e-5),
        ({"integrator": PHEM56(), "rtol": 1e-8}, 1e-6),
        ({"integrator": BDF(), "rtol": 1e-7}, 1e-5),
        ({"integrator": BDF(coefficients="variable"), "rtol": 1e-7}, 1e-5),
        ({"integrator": BDF(coefficients="fixed-leading"), "rtol": 1e-7}, 1e-5),
        ({"integrator": Radau(), "rtol": 1e-7}, 1e-6),
        ({"integrator": BDF(), "formulation": GGL(), "rtol": 1e-7}, 1e-5),
        ({"integrator": Radau(), "formulation": GGL(), "rtol": 1e-7}, 1e-6),
        ({"integrator": Trapezoidal(), "step": 1e-3}, 1e-4),
        ({"integrator": ImplicitMidpoint(), "step": 1e-3}, 1e-4),
    ],
)
def test_impacts_of_a_pendulum_come_every_half_period(settings, error):
    sol = simulate(pendulum(), 4.0, q0=[1, 0], v0=[0, 0], events=wall(), **settings)
    exact = PERIOD * np.array([0.25, 0.75, 1.25])
    # the error of each method over 4 s, observed to be two to ten times smaller
    assert len(sol.events["wall"].t) == 3
    assert np.max(np.abs(sol.events["wall"].t - exact)) < error
    assert np.min(sol.q[:, 0]) > -1e-9


def test_interpreted_runs_find_the_same_events():
    events = {**wall(), "tension": lambda lam: lam[0] - 10.0, "level": Event(lambda q: q[1] + 0.5, "falling")}
    found = [simulate(pendulum(trace), 3.0, q0=[1, 0], v0=[0, 0], events=events, rtol=1e-6).events for trace in (True, False)]
    for name in events:
        assert len(found[0][name].t) == len(found[1][name].t) > 1
        # differences of the constraint instead of derivatives: good to about 1e-8
        assert np.allclose(found[0][name].t, found[1][name].t, atol=1e-6)


def test_interpreted_runs_notice_a_lasting_contact():
    ball = System(mass=[[1.0]], force=[-G], trace=False)
    floor = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (q, -0.3 * v))}
    with pytest.raises(StepFailed, match="lasting contact"):
        simulate(ball, 10.0, q0=[1.0], v0=[0.0], events=floor)
