"""Where a thread of a GPU keeps the fields of its run."""

from __future__ import annotations

import ast

from holonomic.printing.one_member import REALS, WHOLES
from holonomic.printing.shared_memory import BLOCK, ROOM, in_shared_memory, shared_fields

PROGRAM = """
def step(run_reals, run_wholes, x):
    run_reals[0] += run_reals[3] * x[0]
    run_wholes[2] += 1
    run_wholes[5] = -1099511627776
    run_wholes[7] = run_wholes[5]
    run_wholes[8] += 1
    return run_wholes[2] < run_wholes[4] and run_wholes[7] < 0


def loop(run_reals, run_wholes, x):
    while step(run_reals, run_wholes, x):
        x[1] = run_reals[0]
"""


def functions(text=PROGRAM):
    return tuple(ast.parse(text).body)


def test_fields_that_change_are_each_thread_s_own_and_others_stand_once():
    shared = shared_fields(functions(), set(), narrow=True)
    assert shared.code(REALS, 0) == "own_reals[0]" and shared.code(WHOLES, 2) == "own_wholes[0]"
    assert shared.code(REALS, 3) == "same_reals[0]" and shared.code(WHOLES, 4) == "same_wholes[0]"
    assert f"    own_wholes = cuda.shared.array((1, {BLOCK}), int32)[:, cuda.threadIdx.x]" in shared.lines()
    assert "    same_wholes = cuda.shared.array(1, int64)" in shared.lines()


def test_what_four_bytes_cannot_hold_and_what_nobody_reads_stays():
    shared = shared_fields(functions(), set(), narrow=True)
    assert [shared.code(WHOLES, i) for i in (5, 7, 8)] == [f"{WHOLES}[5]", f"{WHOLES}[7]", f"{WHOLES}[8]"]
    assert shared_fields(functions(), {(WHOLES, 8)}, narrow=True).code(WHOLES, 8) == "own_wholes[1]"
    assert shared_fields(functions(), {(WHOLES, 8)}, narrow=False).code(WHOLES, 8) == f"{WHOLES}[8]"


def test_arrays_are_handed_on_and_the_program_does_the_same():
    shared = shared_fields(functions(), set(), narrow=True)
    text = "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in in_shared_memory(functions(), shared))
    before, after = {}, {}
    exec(PROGRAM, before)
    exec(text, after)
    x, y = [0.5, 0.0], [0.5, 0.0]
    before["loop"]([0.0, 0.0, 0.0, 2.0], [0, 0, 0, 0, 9, 0, 0, 0, 0], x)
    own = {"own_reals": [0.0], "same_reals": [2.0], "own_wholes": [0], "same_wholes": [9]}
    after["loop"](run_reals=[], run_wholes=[0] * 9, x=y, **own)
    assert x == y == [0.5, 8.0]
    assert own["own_wholes"] == [9]


def test_a_block_takes_no_more_than_it_may():
    many = 40  # times 256 threads and 8 bytes: 80 kB
    text = "def f(run_reals):\n" + "".join(f"    run_reals[{i}] = run_reals[{i}] + 1.0\n" for i in range(many))
    places = shared_fields(functions(text), set(), narrow=True).places
    assert len(places) == ROOM // (8 * BLOCK) < many
