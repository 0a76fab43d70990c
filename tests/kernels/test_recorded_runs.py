"""What the loop does is known to the step: interpreted runs take the steps that are recorded, and end where they ended."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RECORDED = json.loads((BENCHMARKS / "recorded.json").read_text(encoding="utf-8"))["runs"]


@pytest.fixture(scope="module")
def recorded():
    spec = importlib.util.spec_from_file_location("recorded", BENCHMARKS / "recorded.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["recorded"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["recorded"]


@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("interpreted")])
def test_an_interpreted_run_takes_the_recorded_steps(recorded, name):
    """A change that is meant to alter numbers records them anew: python benchmarks/recorded.py record."""
    found, known = recorded.described(recorded.cases()[name]()), RECORDED[name]
    assert {key: found[key] for key in ("plan", "counts", "rows", "events")} == {
        key: known[key] for key in ("plan", "counts", "rows", "events")
    }
    ours, theirs = (np.array([float.fromhex(each) for each in run["end"]]) for run in (found, known))
    # other machines have other libraries of mathematical functions; a thousandth of the tolerance of these runs
    np.testing.assert_allclose(ours, theirs, rtol=1e-3 * recorded.RTOL, atol=1e-3 * recorded.ATOL)
