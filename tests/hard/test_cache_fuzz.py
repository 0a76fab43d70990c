"""A thousand closures over objects of made-up types: none stale, none foreign, in one process and in the next.

Right is what plain Python does: the end of q'' = -k q with the k that the function gives now.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from generated_types import BASES, CARRIERS, HIDDEN, HOLDS, make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holonomic
from holonomic import RK4, System, simulate
from holonomic.model.watch import Watch
from holonomic.native import cachefolder

FEW, ALL = 25, 1000
SOURCE = str(Path(holonomic.__file__).parents[1])
CHOICES = ([*BASES, *["object"] * 20], CARRIERS, HOLDS, HIDDEN)  # plain classes often: they alone can be known
VALUES = (1.3, 2.9, 0.7)  # of k; none is a number that stays in the code


def end(system) -> float:
    """Where q'' = -k q is after one unit of time: RK4 with 50 steps is right to 1e-7 for these k."""
    return float(simulate(system, 1.0, q0=[1.0], v0=[0.0], integrator=RK4(), step=0.02).end.q[0])


def right(k) -> float:
    return float(np.cos(np.sqrt(k)))


def check(case) -> None:
    one, other = make(*case, VALUES[0]), make(*case, VALUES[1])
    if one is None or other is None:  # Python has no such type
        return
    system, foreign = (System(mass=1.0, force=made[0]) for made in (one, other))
    assert end(system) == pytest.approx(right(VALUES[0]), abs=1e-6)
    assert end(foreign) == pytest.approx(right(VALUES[1]), abs=1e-6), "foreign"
    one[1](VALUES[2])
    assert end(system) == pytest.approx(right(VALUES[2]), abs=1e-6), "stale"
    assert end(foreign) == pytest.approx(right(VALUES[1]), abs=1e-6), "foreign"
    one[1](VALUES[0])
    assert end(system) == pytest.approx(right(VALUES[0]), abs=1e-6), "stale"


def cases():
    return st.tuples(*(st.sampled_from(list(choice)) for choice in CHOICES))


WAYS = {"deadline": None, "derandomize": True, "database": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=FEW, **WAYS)
@given(cases())
def test_no_closure_of_a_sample_is_stale_or_foreign(case):
    check(case)


@pytest.mark.slow
@settings(max_examples=ALL, **WAYS)
@given(cases())
def test_no_closure_of_a_thousand_is_stale_or_foreign(case):
    check(case)


def sample(count: int) -> list[tuple]:
    chance = random.Random(11)
    found = []
    while len(found) < count:
        case = tuple(chance.choice(list(choice)) for choice in CHOICES)
        if make(*case, 1.0) is not None:
            found.append(case)
    return found


def test_the_generator_makes_known_and_unknown_ones():
    unknown = [Watch(make(*case, 1.0)[0]).unknown for case in sample(200)]
    assert 20 < unknown.count(None) < 100


def in_a_process(cache, count: int, k: float) -> list[float]:
    script = f"import test_cache_fuzz as t; t.tell({count}, {k})"
    here = str(Path(__file__).parent)
    environment = os.environ | {"HOLONOMIC_CACHE": str(cache), "PYTHONPATH": os.pathsep.join([SOURCE, here])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def tell(count: int, k: float) -> None:
    """Print the ends of all cases with one k; for another process."""
    print(json.dumps([end(System(mass=1.0, force=make(*case, k)[0])) for case in sample(count)]))


@pytest.mark.parametrize("count", [FEW, pytest.param(ALL, marks=pytest.mark.slow)])
def test_no_closure_is_that_of_an_earlier_process(tmp_path, monkeypatch, count):
    """The same types, names and code in every process; only the number behind them is another."""
    usual = cachefolder.folder()
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    cachefolder.make(cachefolder.folder() / "kernels")
    shutil.copytree(usual / "kernels", cachefolder.folder() / "kernels", dirs_exist_ok=True, copy_function=shutil.copyfile)
    for k in VALUES[:2]:
        assert in_a_process(tmp_path, count, k) == pytest.approx([right(k)] * count, abs=1e-6)
