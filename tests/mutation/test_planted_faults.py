"""Faults that are planted are noticed: a sample of them here, all of them by `python tests/mutation/planted.py`."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from faults import FAULTS
from planted import PAGE, ROOT, all_planted, is_found

PACKAGE = ROOT / "src" / "holonomic"
SEED, SAMPLE = 16, 3
COMPILED = ("kernels", "loop", "passage", "integrators", "stabilizations", "errors")  # rooms where a fault compiles kernels anew


def rooms() -> set[str]:
    files = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")}
    return files | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def test_every_room_has_a_fault_and_forty_are_there():
    assert {fault.room for fault in FAULTS} == rooms()
    assert len(FAULTS) >= 40
    assert len({fault.what for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: re.sub(r"\W+", "_", fault.what))
def test_a_fault_can_be_planted(fault):
    """Its text stands once in its file, which still is Python with the fault in it, and the tests that it names are there."""
    text = (PACKAGE / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1 and fault.old != fault.new
    assert ast.dump(ast.parse(text.replace(fault.old, fault.new))) != ast.dump(ast.parse(text))
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(encoding="utf-8")


def test_the_page_tells_of_every_fault_and_each_was_found():
    table = PAGE.read_text(encoding="utf-8").partition("<!-- table -->")[2]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) == len(FAULTS)
    for fault in FAULTS:
        (row,) = [row for row in rows if f"| {fault.what} |" in row and f"`{fault.file}`" in row]
        assert not row.endswith("| nobody |")


@pytest.mark.slow
def test_a_fault_in_the_beginning_turns_single_runs_sweeps_interpreted_runs_and_the_gpu_red():
    (fault,) = [fault for fault in FAULTS if fault.each]
    (found,) = all_planted([fault])
    assert Path(fault.file) == Path("loop/begin.py") and len(fault.tests) == 4
    assert is_found(found), found.by


@pytest.mark.slow
def test_a_sample_of_planted_faults_is_noticed():
    light = [fault for fault in FAULTS if fault.room not in COMPILED]
    chosen = [light[i] for i in np.random.default_rng(SEED).choice(len(light), SAMPLE, replace=False)]
    assert [found.fault.what for found in all_planted(chosen) if not is_found(found)] == []
