"""Single runs, members of a sweep, interpreted runs and programs of a GPU begin alike: the first row is that of the equations."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import holonomic as h

Q, V, G = np.array([0.6, -0.8]), np.array([1.6, 1.2]), 9.81
T0 = 0.5


def constraint(q):
    return q @ q - 1


PENDULUM = {"mass": np.eye(2), "force": [0.0, -G], "constraint": constraint}
TRACED, PLAIN = h.System(**PENDULUM), h.System(**PENDULUM, trace=False)
# λ and v' that [M Gᵀ; G 0](v', λ) = (f, -γ) has for G = 2 qᵀ, γ = 2 v·v
LAM = (V @ V - G * Q[1]) / 2
A = np.array([0.0, -G]) - 2 * LAM * Q
ASKED = {"q0": Q, "v0": V, "integrator": h.RK45(), "stabilization": h.Projection()}
TIMES = [T0, T0 + 0.1]


def first_of_a_run(system, **asked):
    sol = h.simulate(system, (T0, T0 + 0.1), **ASKED, **asked)
    return sol.t[0], sol.q[0], sol.v[0], sol.lam[0], sol.a[0]


def first_of_members(on):
    runs = h.sweep(TRACED, (T0, T0 + 0.1), **ASKED | {"v0": [V, V]}, save_at=TIMES, on=on, progress=False)
    return runs.t[0], runs.q[1, 0], runs.v[1, 0], runs.lam[1, 0], runs["a"][1, 0]


def check(found, rounding=1e-13):
    t, q, v, lam, a = found
    assert t == T0
    for ours, known in ((q, Q), (v, V), (lam, [LAM]), (a, A)):
        np.testing.assert_allclose(ours, known, rtol=0, atol=rounding)


@pytest.mark.parametrize("asked", [{}, {"save_at": TIMES}], ids=["every step", "saved times"])
def test_a_single_run_begins_where_it_is_told(asked):
    check(first_of_a_run(TRACED, **asked))


@pytest.mark.parametrize("asked", [{}, {"save_at": TIMES}], ids=["every step", "saved times"])
def test_an_interpreted_run_begins_where_it_is_told(asked):
    check(first_of_a_run(PLAIN, **asked), 1e-11)  # γ comes from differences; it was 7e-13


def test_a_member_of_a_sweep_begins_where_it_is_told():
    check(first_of_members("threads"))


def test_a_member_on_the_simulated_gpu_begins_where_it_is_told():
    pytest.importorskip("numba_cuda", reason="needs the extra gpu")
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}  # read when Numba is imported: a process of its own
    done = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    check(json.loads(done.stdout))


if __name__ == "__main__":
    print(json.dumps([np.asarray(part).tolist() for part in first_of_members("cuda")]))
