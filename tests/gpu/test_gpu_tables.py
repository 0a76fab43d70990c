"""Mechanisms as tables on a GPU give what they give on threads, and those of the same kinds run one program."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda", reason="needs the extra gpu")

REFUSED = {
    "a large one": r"has room for 16384 numbers here; this one needs 1[78]\d\d\d\. Use on=\"threads\"",
    "a huge one": r"has room for 16384 numbers here; this one needs 120000\. Use on=\"threads\"",
    "friction": r"without accelerations from the whole matrix, which friction .* need\. Use compile=\"now\", or on=\"threads\"",
    "metric": r"without what Projection\(metric='mass'\) with RK45\(\) asks for\. Use compile=\"now\"",
    "half-explicit": r"without what Projection\(\) with PHEM56\(\) asks for\. Use compile=\"now\"",
    "implicit": r"on=\"cuda\" runs explicit integrators",
}
FIXED = ("fixed steps", "at the new point", "S_both2", "Baumgarte")
CODE = ("compiled", "by itself as code")


def on_both(simulated: bool, *names: str) -> dict:
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": str(int(simulated))}
    script = Path(__file__).with_name("tables_on_both.py")
    done = subprocess.run([sys.executable, script, *names], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def found():
    return on_both(simulated=True)


def agree(results: dict, rounding: float) -> None:
    for name, result in results.items():
        if name == "refused":
            continue
        # RK45 and DOP853 choose steps by small differences of slopes, which magnify rounding: see `test_gpu`. On threads alone runs
        # with masses that differ by some 1e-16 come out as far apart: up to 4e-12, where rtol is 1e-6
        allowed = min(rounding, 1e-14) if name in FIXED else rounding
        assert result["states"] <= allowed * result["largest"], name
        assert result["same steps"] and result["reached"] <= 1e-15 and result["failed"] == 0, name
        assert result["tiers"][1] == ("code" if name in CODE else "tables"), name
        assert result.get("aside", 0) == 0, name


def test_tables_give_what_threads_give(found):
    assert len(found) >= 18
    agree(found, 4e-12)


def test_members_are_different_ones(found):
    for name, result in found.items():
        if name not in ("refused", "a gear", "outputs"):  # wheels that are not driven go on as they go
            assert result["spread"] > 1e-4, name


def test_mechanisms_of_the_same_kinds_run_one_program(found):
    assert [found[name]["programs"] for name in ("masses", "another chain", "gravity")] == [1, 1, 1]
    assert found["no stabilization"]["programs"] == 2  # another plan is another program


def test_events_are_found_at_the_same_times(found):
    for name in ("events", "terminal event"):
        assert found[name]["events"] == [3, 3] and found[name]["event times"] <= 1e-14


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_with_a_way_out(found, name):
    assert re.search(REFUSED[name], found["refused"][name]), found["refused"][name]


def has_gpu() -> bool:
    from numba import cuda

    return cuda.is_available()


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="there is no GPU here")
def test_a_real_gpu_gives_what_threads_give():
    agree(on_both(False, "masses", "another chain", "in space", "rows that repeat others", "terminal event", "states"), 1e-11)
