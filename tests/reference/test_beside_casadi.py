"""The package's own expression graph beside CasADi: values and operations of what is derived from the problems.

`benchmarks/derivatives.py` counts and times all of them; it is run here once with each kind, in processes of their own.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("casadi")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "derivatives.py"
SOME = ("pendulum", "seven-body", "scotch-yoke", "car-axis", "heavy-top", "kepler", "index-2-pair", "chain of 20 rods")
# rows that repeat each other, all of them kept: what is solved with these is not determined
REPEATING = {"four-bar-spatial": ("FIELD", "REFINED", "POS_SOLVE", "VEL_SOLVE", "FULL_SOLVE")}


def compared(only):
    found = []
    for kind in ("own", "casadi"):
        command = [sys.executable, str(SCRIPT), "--child", kind, "--values", *(["--only", ",".join(only)] if only else [])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def check(own, theirs):
    assert own.keys() == theirs.keys()
    for name, mine in own.items():
        other = theirs[name]
        assert mine["counts"].keys() == other["counts"].keys() and mine["values"].keys() == other["values"].keys(), name
        for function, count in other["counts"].items():
            assert mine["counts"][function] <= max(1.15 * count, count + 3), (name, function)
        for function, values in other["values"].items():
            if function not in REPEATING.get(name, ()):
                right, ours = np.array(values), np.array(mine["values"][function])
                assert np.array_equal(np.isnan(right), np.isnan(ours)), (name, function)  # none where λ has no solution
                gap, size = np.nan_to_num(np.abs(right - ours)), np.nan_to_num(np.abs(right))
                assert np.max(gap, initial=0.0) <= 1e-11 * np.max(size, initial=1e-300), (name, function)
    total = [sum(sum(each["counts"].values()) for each in kind.values()) for kind in (own, theirs)]
    assert total[0] <= 1.01 * total[1]


def test_values_and_operations_of_some_problems():
    check(*compared(SOME))


@pytest.mark.slow
def test_values_and_operations_of_all_problems():
    own, theirs = compared(None)
    assert len(own) >= 43
    check(own, theirs)
