"""Adams-Bashforth: its start, its order, and its drift."""

import numpy as np
import pytest

from holonomic import AdamsBashforth2, Ode, S_both, problems, simulate
from holonomic.testing import check_integrator


def test_adams_bashforth_does_what_it_declares():
    check_integrator(AdamsBashforth2())


def test_adams_bashforth_begins_with_euler_and_looks_one_step_back():
    ode, h = Ode(lambda t, y: np.cos(t) - y), 0.1
    y, before = 1.0, None
    for n in range(3):
        f = np.cos(n * h) - y
        y += h * f if before is None else h * (1.5 * f - 0.5 * before)
        before = f
    # the last step is half as long: its weights follow from the line through the two slopes
    f = np.cos(3 * h) - y
    y += 0.5 * h * (1.25 * f - 0.25 * before)
    sol = simulate(ode, 3.5 * h, y0=[1.0], integrator=AdamsBashforth2(), step=h)
    assert sol.y[-1, 0] == pytest.approx(y, abs=1e-15)


def test_slider_crank_drifts_as_recomputed_for_example_4():
    """[ascher-chin-reich-1992] Example 4: h = .1, (3.9) with (4.8); the Euler start leaves a spike in the drift."""
    run = {"integrator": AdamsBashforth2(), "step": 0.1}
    both = simulate(problems.slider_crank(), 10.0, **run, stabilization=S_both())
    g, gv = (np.max(np.abs(both.drift[level]), axis=1) for level in ("position", "velocity"))
    assert np.max(g) == pytest.approx(2.22e-7, rel=0.02) and np.max(gv) == pytest.approx(7.48e-4, rel=0.02)
    assert g[1] > 5 * g[2] and gv[1] > 5 * gv[2]
    free = simulate(problems.slider_crank(), 10.0, **run, stabilization=None)
    assert np.max(np.abs(free.drift["position"])) == pytest.approx(0.0111, rel=0.02)
