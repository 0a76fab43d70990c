"""The program of one member for a GPU: one thread runs it, Python source for numba-cuda (or its simulator) to compile."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..kernels.memory import RUN
from ..loop.batch import UNREADY
from ..loop.event_search import DIRECTION, STOPS
from ..native.layout import REAL, WHOLE
from ..sweeping.job import Job
from .one_member import REALS, WHOLES, MemberProgram, program_of
from .shared_memory import NARROW, SharedFields, in_shared_memory, shared_fields
from .table_program import TableProgram, is_tables, table_program_of
from .tape_passes import one_division

HEAD = '''"""One thread, one member. Made by holonomic; changes here are lost."""

import math

from numba import cuda, float64, int32, int64

from holonomic.gpu.inlining import copied, kernel, stay_apart
from holonomic.gpu.trig import sincos

inf, nan = math.inf, math.nan
'''
# Of a thread whose model is tables: it waits for numbers from memory, and the more threads there are the less that matters.
REGISTERS = 128
# Functions that run once in a while: called, not copied. None of them is given the memory of the run.
APART = ("ready", "first_step", "state_inside", "worst_component")


@dataclass(frozen=True)
class Source:
    """Source of a program, whose entry is `run(members, ...)`."""

    text: str
    program: MemberProgram


def source_of(job: Job) -> Source:
    """Write the program of a job."""
    program = table_program_of(job) if is_tables(job) else program_of(job, one_division)
    parts = [HEAD]
    for text in program.models.values():
        head, body = text.split("\n", 1)
        parts.append(f"@cuda.jit(device=True)\n{head}\n    stay_apart()\n{body}")
    reals, wholes = RUN.places(REAL), RUN.places(WHOLE)
    asked = {(REALS, reals["t"])} | {(WHOLES, wholes[name]) for name in ("accepted", "rejected", "rows")}
    shared = shared_fields(program.functions, asked, narrow=narrow_counters(job))
    for function in in_shared_memory(program.functions, shared):
        text = ast.unparse(ast.fix_missing_locations(function))
        head, body = text.split("\n", 1)
        apart = function.name.rpartition("_")[0] in APART
        parts.append(f"@cuda.jit(device=True)\n{head}\n    stay_apart()\n{body}\n" if apart else f"@copied\n{text}\n")
    parts.append(_entry(job, program, shared))
    return Source("\n\n".join(parts), program)


def narrow_counters(job: Job) -> bool:
    """Whether no run takes more steps than four bytes can count."""
    return job.limits["max_steps"] < NARROW


def _entry(job: Job, program: MemberProgram, shared: SharedFields) -> str:
    """The kernel: memory of a thread, its member's numbers, the run, and what it leaves behind."""
    tables = isinstance(program, TableProgram)  # their sizes are told to the program
    times, nx, nk = ("save_t.shape[0]", "OUT_X.shape[1]", "OUT_K.shape[1]") if tables else job.shape
    given = {
        "model_data": f"(common, OWN[:, m]{', words, room' if tables else ''})", "method_sp": "sp",
        "scale_atol": "atol", "tables_stops": "stops", "record_t": "save_t", "record_x": "OUT_X[:, :, m]",
        "record_k": "OUT_K[:, :, m]", "record_save_t": "save_t", "log_ended": "ENDED", "log_count": "EV_N", "log_t": "EV_T",
        "log_index": "EV_I", "log_x": "EV_X", "log_k": "EV_K",
    }  # fmt: skip
    lines = [
        f"@kernel(cache=True, registers={REGISTERS})" if tables else "@cuda.jit(cache=True)",
        "def run(members, tol, least, X0, common, OWN, REALS0, WHOLES0, sp, atol, stops, save_t, OUT_X, OUT_K, STATUS,",
        f"        REACHED, STEPS, ROWS, ENDED, EV_N, EV_T, EV_I, EV_X, EV_K{', words, scale_kinds' if tables else ''}):",
        "    m = cuda.grid(1)",
        "    if m >= members:",
        "        return",
    ]
    for array, (shape, kind) in program.local.items():
        lines.append(f"    {array} = cuda.local.array({shape if len(shape) > 1 else shape[0]}, {kind})")
    lines += shared.lines()
    # one by one: an array that a loop walks along cannot live in registers
    lines.append("    j = m if X0.shape[1] > 1 else 0  # one start for all, or one for each")
    if tables:
        lines += [f"    for i in range({nx}):", "        state_x[i] = X0[i, j]"]
    else:
        lines += [f"    state_x[{i}] = X0[{i}, j]" for i in range(nx)]
    reals, wholes = RUN.places(REAL), RUN.places(WHOLE)
    lines += [f"    {shared.code(REALS, i)} = REALS0[{i}]" for i in reals.values()]
    lines += [f"    {shared.code(WHOLES, i)} = WHOLES0[{i}]" for i in wholes.values()]
    for k, event in enumerate(job.program.events.values()):
        lines += [f"    events_marks[{DIRECTION}, {k}] = {event.sign}", f"    events_marks[{STOPS}, {k}] = {int(event.stops)}"]
    given |= {array: ", ".join(shared.given(array)) for array in (REALS, WHOLES)}
    *first, (name, left) = [(name, ", ".join(given.get(each, each) for each in left)) for name, left in program.calls]
    rows = shared.code(WHOLES, wholes["rows"])
    for check, arguments in first:
        lines += [f"    if not {check}({arguments}):", f"        STATUS[m] = {UNREADY}", "        return"]
    lines += [
        f"    STATUS[m] = {name}({left})",
        f"    REACHED[m] = {shared.code(REALS, reals['t'])}",
        f"    STEPS[m] = {shared.code(WHOLES, wholes['accepted'])} + {shared.code(WHOLES, wholes['rejected'])}",
        f"    ROWS[m] = {rows}",
        f"    for row in range({rows}, {times}):",
        f"        for i in range({nx}):", "            OUT_X[row, i, m] = nan",
        f"        for i in range({nk}):", "            OUT_K[row, i, m] = nan",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
