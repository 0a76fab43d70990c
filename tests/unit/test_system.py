"""System and Ode as values: frozen, copied, pickled, whatever happens to what they were made of."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holonomic import BadArgument, Ode, System, simulate


def circle(q):
    return q @ q - 1.0


def decay(y, p):
    return -p.rate * y


def pendulum(**more):
    return System(mass=np.eye(2), force=[0.0, -9.81], constraint=circle, params={"L": [1.0, 2.0]}, **more)


def end(system):
    return simulate(system, 0.5, q0=[1.0, 0.0], v0=[0.0, 0.0]).end.q


@pytest.mark.parametrize("trace", [True, False])
def test_arrays_that_are_changed_afterwards_do_not_change_the_system(trace):
    mass, force = np.eye(2), [0.0, -9.81]
    system = System(mass=mass, force=force, constraint=circle, trace=trace)
    before = end(system)
    mass[0, 0], force[1] = 5.0, 1.0
    assert np.array_equal(end(system), before)


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda system: pickle.loads(pickle.dumps(system))])
def test_a_copy_runs_like_the_original(simulated, copied):
    system = pendulum()
    if simulated:
        end(system)
    twin = copied(system)
    assert np.array_equal(end(twin), end(system))
    assert not twin.params["L"].flags.writeable


def test_an_ode_is_pickled_with_its_parameters():
    ode = Ode(decay, params={"rate": 2.0})
    twin = pickle.loads(pickle.dumps(ode))
    assert twin.params == ode.params
    assert np.array_equal(*(simulate(each, 1.0, y0=[1.0]).end.y for each in (ode, twin)))


SCRIPT = """
import pickle, sys
sys.path.insert(0, sys.argv[2])
sol = pickle.load(open(sys.argv[1], "rb"))
print(sol.end.q.tolist(), sol(0.3).q.tolist(), sol.reactions[-1].tolist())
"""


def test_a_solution_is_understood_in_another_process(tmp_path):
    """Addresses of machine code must not travel: there they would point anywhere."""
    sol = simulate(pendulum(), 0.5, q0=[1.0, 0.0], v0=[0.0, 0.0])
    path = tmp_path / "sol.pickle"
    path.write_bytes(pickle.dumps(sol))
    command = [sys.executable, "-c", SCRIPT, path, Path(__file__).parent]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == f"{sol.end.q.tolist()} {sol(0.3).q.tolist()} {sol.reactions[-1].tolist()}"


TIMES, VALUES = [0.0, 1.0, 2.0], [0.0, 1.0, 0.0]


@pytest.mark.parametrize("table", [(TIMES, VALUES), [TIMES, VALUES], np.array([TIMES, VALUES]), (np.array(TIMES), tuple(VALUES))])
def test_a_table_of_inputs_may_be_any_pair_of_rows(table):
    system = System(mass=1.0, force=lambda u: [u.push], inputs={"push": table})
    # v(2) is the area under the table
    assert simulate(system, 2.0, q0=[0.0], v0=[0.0]).end.v[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("table", [(TIMES, ["a", "b", "c"]), (TIMES,), [TIMES, VALUES, VALUES], "hard"])
def test_an_input_that_is_no_table_is_refused_by_name(table):
    with pytest.raises(BadArgument, match="input 'push' must be a number, a function of t, or a pair"):
        System(mass=1.0, force=lambda u: [u.push], inputs={"push": table})


def test_a_system_shows_what_was_stated_and_nothing_else():
    swing = System(mass=lambda p: p.m * np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, params={"m": 1.5})
    assert repr(swing) == "System(mass=function of p, force=[0, -9.81], constraint={'rod'}, params={'m': 1.5})"
    assert repr(Ode(lambda t, y: -y, invariants={"E": lambda y: y @ y})) == "Ode(rhs=function of t, y, invariants={'E'})"
