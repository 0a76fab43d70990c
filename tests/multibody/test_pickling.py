"""Mechanisms, their systems and their results travel to other processes, and are known there without being traced."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from holonomic import simulate, sweep
from holonomic.model.compiled import Model
from holonomic.multibody import Mechanism, box, rod

from .machines import slider_crank


def blow(t, tip):
    return (np.sin(t) - 0.1 * tip.velocity[0], 0.0)


def everything_planar():
    """A mechanism with a force of every kind."""
    m = slider_crank()
    m.point("tip", "link", (0.9, 0.3))
    m.spring("coil", "slider", m.ground, at=((1.686, 0), (3.0, 0)), stiffness=50.0, damping=1.0)
    m.damper("dash", "link", m.ground, at=((1.0, 0.2), (1.0, -1.0)), damping=0.5)
    m.torsion_spring("A", stiffness=2.0, damping=0.1)
    m.motor("O", curve=([-10.0, 0.0, 10.0], [3.0, 2.0, 0.5]))
    m.friction("guide", coulomb=0.1, smoothing=0.1)
    m.stop("O", lower=-10.0, upper=10.0, stiffness=100.0)
    m.bushing("rubber", "crank", m.ground, at=(0.1, 0.2), stiffness=(1.0, 1.0, 0.1))
    m.force("wind", "link", at="tip", value=blow)
    m.contact("floor", "slider", centre=(1.686, 0), radius=0.05, point=(0, -1), normal=(0, 1), stiffness=1e4)
    m.input("u", ([0.0, 1.0], [0.0, 1.0]))
    return m


def everything_spatial():
    m = Mechanism(gravity=(0, 0, -9.81))
    arm = m.body("arm", rod((0, 0, 0), (1, 0, 0), mass=1.0))
    plate = m.body("plate", box((1, 0, -0.5), (0.4, 0.1, 1.0), mass=2.0))
    m.revolute("shoulder", m.ground, arm, at=(0, 0, 0), axis=(0, 1, 0))
    m.universal("elbow", arm, plate, at=(1, 0, 0), axis=(1, 0, 0), other=(0, 1, 0))
    m.drive("shoulder", speed=1.0)
    return m


MADE = [everything_planar, everything_spatial]


@pytest.mark.parametrize("make", MADE)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copied_mechanism_moves_the_same(make, copied):
    m = make()
    twin = copied(m)
    assert dict(twin.params) == dict(m.params)
    one, other = simulate(m, 0.3), simulate(twin, 0.3)
    np.testing.assert_array_equal(one.q, other.q)
    twin.params["gravity.x"] = 1.0  # belongs to the copy alone
    assert m.params["gravity.x"] == 0.0


@pytest.mark.parametrize("make", MADE)
def test_a_pickled_system_has_the_content_of_the_original(make):
    """So that its compiled model is found and not made anew."""
    system, q, v = make().to_system()
    twin = pickle.loads(pickle.dumps(system))
    assert Model(system, q, v).content == Model(twin, q, v).content
    assert {key: getattr(rows, "row_names", None) for key, rows in twin.constraint.items()} == {
        key: getattr(rows, "row_names", None) for key, rows in system.constraint.items()
    }


READ = """
import pickle, sys
sol, m = pickle.load(open(sys.argv[1], "rb"))
from holonomic import simulate
print(repr(float(sol["A"].force[-1, 0])), repr(float(simulate(m, 0.1)["A"].force[-1, 0])))
"""


def test_another_process_reads_results_by_name_and_runs_on(tmp_path):
    m = slider_crank()
    sol = simulate(m, 0.1)
    path = tmp_path / "m.pickle"
    path.write_bytes(pickle.dumps((sol, m)))
    said = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True).stdout
    wanted = float(sol["A"].force[-1, 0])
    assert said.split() == [repr(wanted)] * 2


def test_an_ensemble_of_mechanisms_is_pickled():
    runs = sweep(slider_crank(), 0.1, params={"link.mass": [1.0, 2.0]}, save_at=3)
    twin = pickle.loads(pickle.dumps(runs))
    np.testing.assert_array_equal(runs.q, twin.q)
    np.testing.assert_array_equal(runs.lam, twin.lam)
    for each in (twin, pickle.loads(pickle.dumps(twin))):
        np.testing.assert_array_equal(runs["A"].force, each["A"].force)
        np.testing.assert_array_equal(runs["slider.position"], each["slider.position"])
        np.testing.assert_array_equal(runs.mean("A.force"), each.mean("A.force"))
        np.testing.assert_array_equal(runs["link.mass"], each["link.mass"])
