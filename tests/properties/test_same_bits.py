"""What is the same bit for bit, and what is not: the claims of docs/reproducible.md."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic import DOP853, GGL, RK45, Radau, System, simulate, sweep

PENDULUM = System(
    mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81},
    outputs={"swing": lambda q: np.arctan2(q[0], -q[1])},
)  # fmt: skip
START = {"q0": [1, 0], "v0": [0, 0]}
METHODS = {"left open": {}, "explicit": {"integrator": RK45()}, "implicit": {"integrator": Radau(), "formulation": GGL()}}

SCRIPT = """
import sys
import llvmlite.binding as llvm
level = sys.argv[1]
if level != "this":  # as if this computer had no more than that
    features, has = llvm.get_host_cpu_features(), {"cx8", "fxsr", "mmx", "sse", "sse2", "64bit"}
    if level == "x86-64-v3":
        has |= set("cx16 sahf popcnt sse3 ssse3 sse4.1 sse4.2 avx avx2 bmi bmi2 f16c fma lzcnt movbe".split())
    for name in features:
        features[name] = name in has
    llvm.get_host_cpu_features, llvm.get_host_cpu_name = lambda: features, lambda: level
import numpy as np
from holonomic import GGL, RK45, Radau, System, simulate
pendulum = System(
    mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81},
    outputs={"swing": lambda q: np.arctan2(q[0], -q[1])},
)
for given in ({}, {"integrator": RK45()}, {"integrator": Radau(), "formulation": GGL()}):
    sol = simulate(pendulum, 5.0, q0=[1, 0], v0=[0, 0], **given)
    print(*(value.hex() for value in sol.q[-1]), len(sol.t))
print(sol.provenance.level)
"""


def elsewhere(level="this", cache=None, **environment) -> list[str]:
    """The ends of three runs in another process."""
    environment = os.environ | {"PYTHONPATH": str(Path(holonomic.__file__).parents[1])} | environment
    if cache is not None:
        environment["HOLONOMIC_CACHE"] = str(cache)
    done = subprocess.run([sys.executable, "-c", SCRIPT, level], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def bits(sol):
    return [part.tobytes() for part in sol.trail.arrays]


@pytest.mark.parametrize("methods", METHODS.values(), ids=METHODS)
def test_the_same_call_gives_the_same_bits(methods):
    first = simulate(PENDULUM, 5.0, **START, **methods)
    again = System(
        mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81},
        outputs={"swing": lambda q: np.arctan2(q[0], -q[1])},
    )  # fmt: skip
    assert bits(simulate(PENDULUM, 5.0, **START, **methods)) == bits(first) == bits(simulate(again, 5.0, **START, **methods))


def test_another_process_gives_the_same_bits_whatever_its_hash_seed():
    here = [simulate(PENDULUM, 5.0, **START, **methods) for methods in METHODS.values()]
    said = elsewhere(PYTHONHASHSEED="17")
    assert said[:-1] == [f"{sol.q[-1, 0].hex()} {sol.q[-1, 1].hex()} {len(sol.t)}" for sol in here]


@pytest.mark.parametrize("methods", METHODS.values(), ids=METHODS)
def test_times_kept_and_limits_do_not_change_the_steps(methods):
    whole = simulate(PENDULUM, 5.0, **START, **methods)
    few = simulate(PENDULUM, 5.0, **START, **methods, save_at=[0.0, 5.0], max_time=600.0)
    assert np.array_equal(few.q[-1], whole.q[-1]) and few.stats["steps"] == whole.stats["steps"]


@pytest.mark.parametrize("methods", ["left open", "explicit"])
def test_events_that_are_written_down_do_not_change_explicit_steps(methods):
    low = {"low": lambda q: q[0]}
    watched = simulate(PENDULUM, 5.0, **START, **METHODS[methods], events=low)
    assert len(watched.events["low"]) == 4 and bits(watched) == bits(simulate(PENDULUM, 5.0, **START, **METHODS[methods]))


@pytest.mark.parametrize("methods", METHODS.values(), ids=METHODS)
def test_threads_and_pieces_do_not_change_members(methods):
    g = np.linspace(1, 20, 70)
    runs = [sweep(PENDULUM, 5.0, **START, **methods, params={"g": values}, workers=workers)
            for values, workers in ((g, 1), (g, 3), (g[::-1], 2))]  # fmt: skip
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].q, runs[2].q[::-1])
    alone = simulate(PENDULUM.with_params(g=g[7]), 5.0, **START, **methods, save_at=2)
    assert np.array_equal(runs[0].q[7], alone.q)


def test_plain_python_agrees_to_rounding():
    """Compiled code may fuse a multiplication with an addition, which rounds once where Python rounds twice."""
    plain = {"mass": np.eye(2), "force": lambda q: -np.sin(q)}
    given = {"q0": [1, 0.3], "v0": [0, 0], "integrator": DOP853(), "save_at": 11}
    compiled, python = (simulate(System(**plain, trace=trace), 5.0, **given) for trace in (True, False))
    assert python.stats["steps"] == compiled.stats["steps"]
    assert np.allclose(python.q, compiled.q, rtol=0, atol=1e-13)  # of values of 1; measured 2e-15


X86 = pytest.mark.skipif("x86-64-v" not in simulate(PENDULUM, 0.01, **START).provenance.level, reason="levels of x86-64")


@pytest.mark.slow
@X86
def test_processors_of_x86_with_fma_have_the_same_bits_and_those_without_others(tmp_path):
    here = elsewhere(cache=tmp_path / "this")
    if ", FMA" not in here[-1]:
        pytest.skip("this processor has no FMA")
    third = elsewhere("x86-64-v3", tmp_path / "third")
    assert third[-1] == "x86-64-v3 (x86-64-v3), FMA" and third[:-1] == here[:-1]
    first = elsewhere("x86-64", tmp_path / "first")
    assert first[-1] == "x86-64-v1 (x86-64), no FMA" and first[:-1] != here[:-1]
    for mine, other in zip(here[:-1], first[:-1], strict=True):
        ends = [[float.fromhex(value) for value in line.split()[:2]] for line in (mine, other)]
        assert np.allclose(*ends, rtol=0, atol=1e-9)  # rtol 1e-6: rounding moves steps, not the answer
