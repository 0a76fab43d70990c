"""The name of what was traced: every change of the equations changes it, nothing else does, in every process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic import Dae, Ode, System
from holonomic.model.compiled import Model

SOURCE = str(Path(holonomic.__file__).parents[1])


def named(system, q=(1.0, 0.0), v=(0.0, 0.0)):
    model = Model(system, np.array(q), np.array(v))
    return model.structure, model.content


def pendulum(k=2.5, **changes):
    given = {
        "mass": np.diag([k, 1.7]), "force": lambda q, v: np.array([-k * v[0], -9.81]),
        "constraint": {"rod": lambda q: q @ q - 1.0}, "outputs": {"height": lambda q: k * q[1]},
    }  # fmt: skip
    return System(**{**given, **changes})


def test_equal_equations_have_equal_names_whatever_they_are_written_with():
    class Holder:
        k = 2.5

    holder = Holder()
    by_object = pendulum(force=lambda q, v: np.array([-holder.k * v[0], -9.81]))
    by_loop = pendulum(constraint={"rod": lambda q: sum(x * x for x in q) - 1.0})
    assert named(pendulum()) == named(pendulum()) == named(by_object)
    assert named(by_loop)[0]  # a sum from left to right may be another tape; it has a name of its own


@pytest.mark.parametrize(
    "changed",
    [
        {"force": lambda q, v: np.array([-2.5 * v[0], -9.82])},
        {"force": lambda q, v: np.array([-2.5 * v[1], -9.81])},
        {"force": lambda q, v: np.array([-2.5 * v[0], -9.81 + 0.3 * np.sin(q[0])])},
        {"force": lambda q, v: np.array([-2.5 * v[0], 9.81])},
        {"mass": np.diag([2.5, 1.8])},
        {"mass": np.array([[2.5, 0.1], [0.1, 1.7]])},
        {"constraint": {"bar": lambda q: q @ q - 1.0}},
        {"constraint": {"rod": lambda q: q @ q - 1.0, "more": lambda q: q[0] - 2 * q[1]}},
        {"outputs": {"depth": lambda q: 2.5 * q[1]}},
        {"outputs": {"height": lambda q: np.array([2.5 * q[1], 1.0])}},
        {"outputs": {}},
        {"potential": lambda q: 0.0 * q[0]},
        {"params": {"m": 1.0}},
    ],
)
def test_a_change_of_the_equations_changes_the_name(changed):
    assert named(pendulum(**changed))[1] != named(pendulum())[1]


def test_numbers_are_in_the_content_and_not_in_the_structure():
    one, other = named(pendulum(2.5)), named(pendulum(2.6))
    assert one[0] == other[0] and one[1] != other[1]
    assert named(pendulum(1.0))[0] != one[0]  # 0 and ±1 decide which operations there are


def test_systems_of_another_kind_have_another_name():
    oscillator = lambda y: np.array([y[1], -y[0]])
    names = {
        named(Ode(oscillator), (1.0, 0.0), ())[1],
        named(Ode(oscillator, invariants={"energy": lambda y: y @ y}), (1.0, 0.0), ())[1],
        named(Dae(f=lambda x: -x, B=lambda x: np.eye(2), g=lambda x: x - 1.0, order=1), (1.0, 1.0), ())[1],
    }
    assert len(names) == 3


SCRIPT = """
import numpy as np
from holonomic import System
from holonomic.model.compiled import Model
table = {"a": np.arange(3.0), "b": {1.5, 2.5, 3.5}, "c": {"x", "y", "z"}}
force = lambda q: -np.array([np.sin(q[0]) * sum(sorted(table["b"])), len(table["c"]) * q[1] + 0.7])
model = Model(System(np.diag([1.0, 2.0]), force, lambda q: q @ q - 1.0), np.array([1.0, 0.0]), np.zeros(2))
print(model.content)
"""


def test_the_name_is_the_same_in_every_process():
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": SOURCE, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout and len(runs[0].stdout) == 33
