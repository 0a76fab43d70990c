"""The step loop may return between any two steps or rows: splitting a run changes no bit of it."""

import numpy as np
import pytest

from holonomic import DOP853, RK4, RK45, Event, System, simulate
from holonomic.planning.workspace import Workspace
from holonomic.running.run import Run

PENDULUM = dict(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1.0)
SYSTEMS = {"compiled": System(**PENDULUM), "interpreted": System(**PENDULUM, trace=False)}
EVENTS = {"bottom": Event(lambda q: q[0]), "pull": Event(lambda lam: lam[0] - 10.0, direction="rising")}
RUNS = {
    "every step": dict(integrator=DOP853()),
    "at times": dict(integrator=RK45(), save_at=40),
    "fixed step": dict(integrator=RK4(), step=0.02, save_at=np.linspace(0.0, 2.5, 17)),
    "events": dict(integrator=RK45(), events=EVENTS),
}


def run(system, quota, rows, monkeypatch, **how):
    """Simulate with a loop that returns after `quota` attempts, into buffers of `rows` rows."""
    with monkeypatch.context() as patch:
        if quota is not None:
            fixed = property(lambda self: quota, lambda self, value: None)
            patch.setattr(Run, "_quota", fixed, raising=False)
        if rows is not None:
            made = Workspace.__init__

            def small(self, plan):
                made(self, plan)
                self.rows = tuple(part[:rows].copy() for part in self.rows)

            patch.setattr(Workspace, "__init__", small)
        system.made.models.clear()  # plans keep workspaces of earlier runs
        return simulate(system, 2.5, q0=[1, 0], v0=[0, 0], **how)


@pytest.mark.parametrize("mode", SYSTEMS)
@pytest.mark.parametrize("kind", RUNS)
def test_splitting_a_run_changes_no_bit(mode, kind, monkeypatch):
    system, how = SYSTEMS[mode], RUNS[kind]
    whole = run(system, 10**9, None, monkeypatch, **how)
    assert whole.stats["steps"] > 20
    for quota, rows in ((1, None), (7, None), (10**9, 1), (3, 2)):
        split = run(system, quota, rows, monkeypatch, **how)
        for name in ("t", "q", "v", "a", "lam"):
            np.testing.assert_array_equal(getattr(split, name), getattr(whole, name))
        assert split.stats == whole.stats
        for name in whole.events:
            np.testing.assert_array_equal(split.events[name].t, whole.events[name].t)
            np.testing.assert_array_equal(split.events[name].q, whole.events[name].q)
    if kind == "events":
        assert all(len(log.t) for log in whole.events.values())
