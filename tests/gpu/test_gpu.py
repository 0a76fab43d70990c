"""Sweeps on a GPU give what sweeps on threads give: logic on Numba's simulator, and where there is one, on a real GPU."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holonomic as h

pytest.importorskip("numba_cuda", reason="needs the extra gpu")


def both_engines(simulated: bool) -> dict:
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": str(int(simulated))}
    script = Path(__file__).with_name("both_engines.py")
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    return both_engines(simulated=True)


def agree(results: dict, rounding: float) -> None:
    assert len(results) > 30
    for name, result in results.items():
        if name == "stiff":
            continue
        # a few dozen steps with states and multipliers of size 1 to 30
        assert result["states"] <= rounding, name
        assert result["multipliers"] <= 30 * rounding, name
        assert result["reached"] <= rounding, name
        assert result["same steps"] and result["same saved"], name
        assert result["failed"][0] == result["failed"][1], name


def test_every_explicit_method_gives_what_threads_give(found):
    # A step's length follows from a small difference of slopes, in which rounding is magnified; two runs then differ by that
    # share of their own error: up to 6e-13, on an H200, where rtol is 1e-6
    agree(found, 1e-12)


def test_events_are_found_at_the_same_times(found):
    for name, count in (("terminal event", 3), ("event", 6), ("fast event", 3 * 8)):  # 25 rad and up to 0.3 rad from 1.2 rad on
        assert found[name]["events"] == [count, count]
        assert found[name]["event times"] <= 1e-13


def test_only_doubtful_starts_are_left_to_the_processor(found):
    assert found["starts off"]["aside"] == 2
    assert all(result["aside"] == 0 for name, result in found.items() if name not in ("starts off", "stiff"))


def test_stiff_members_are_named_with_a_way_out(found):
    told = found["stiff"]
    ((member, kind, text),) = told["noted"]
    assert (member, kind) == (1, "StiffnessWarning") and told["plan"] == "Index1() + DOP853() + None"
    assert "limits the steps of DOP853: at t = 2 the fastest part of the equations decays with 3e+03 1/s" in text
    assert 'With on="threads" and integrator= left open an implicit method takes over there.' in text
    assert told["same"]
    ((member, text),) = told["failed"]
    assert member == 1 and text.startswith("max_steps = 350 steps were used up: stability, not accuracy,")
    assert 'on="threads"' in text


def has_gpu() -> bool:
    from numba import cuda

    return cuda.is_available()


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="there is no GPU here")
def test_a_real_gpu_gives_what_threads_give():
    agree(both_engines(simulated=False), 1e-10)


def test_without_a_gpu_the_message_names_a_way_out():
    swing = h.System(mass=np.eye(2), potential=lambda q: q[1], constraint=lambda q: q @ q - 1)
    if has_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises(h.HolonomicError, match=r'(no GPU|pip install "holonomic\[gpu\]")'):
        h.sweep(swing, 1.0, q0=[0, -1], v0=np.array([[1.0, 0.0], [2.0, 0.0]]), on="cuda")


def test_results_are_on_a_device_only_after_a_sweep_there():
    swing = h.System(mass=np.eye(2), potential=lambda q: q[1], constraint=lambda q: q @ q - 1)
    runs = h.sweep(swing, 0.1, q0=[0, -1], v0=np.array([[1.0, 0.0], [2.0, 0.0]]), progress=False)
    with pytest.raises(h.BadArgument, match='on="cuda"'):
        runs.on_device


SINCOS = """
import os
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import json, math, sys
import numpy as np
from holonomic.gpu.trig import sincos
function = sincos.fn if hasattr(sincos, "fn") else sincos
rng = np.random.default_rng(0)
angles = np.concatenate([rng.uniform(-10, 10, 4000), rng.uniform(-1e5, 1e5, 4000), np.pi / 2 * np.arange(-400, 400)])
angles = np.concatenate([angles, rng.uniform(-1e9, 1e9, 500)])  # beyond what is reduced here
worst = 0.0
import mpmath
mpmath.mp.dps = 40
for x in angles.tolist():
    s, c = function(x)
    worst = max(worst, abs(float(mpmath.sin(x) - s)), abs(float(mpmath.cos(x) - c)))
print(worst)
"""


def test_sine_and_cosine_together_are_good_to_rounding():
    done = subprocess.run([sys.executable, "-c", SINCOS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # 1.5 units in the last place of 1; without fused products the reduction loses a little more than on a GPU
    assert float(done.stdout) <= 3.4e-16
    assert not math.isnan(float(done.stdout))
