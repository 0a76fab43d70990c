"""The program of one member as a function of JavaScript, and the numbers that it is called with."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..kernels.memory import RUN
from ..loop.batch import UNREADY
from ..loop.event_search import DIRECTION, STOPS
from ..model.state_map import state_map
from ..model.tape import INPUTS, Tape
from ..native.layout import REAL, WHOLE
from ..starting.initial import LEAST_TOLERANCE
from ..sweeping.chunk_run import EVENTS_OF_ONE
from ..sweeping.job import Job
from .javascript import functions_as_javascript
from .one_member import REALS, WHOLES, MemberProgram, program_of

MAPPED = 500  # events of each kind for which a run has room that goes on over them
# what the entry of a program is given: see `numbers`
GIVEN = "x0, REALS0, WHOLES0, sp, atol, tol, least, stops, save_t, OUT_X, OUT_K"


@dataclass(frozen=True)
class PageProgram:
    """A program whose entry is made by `(C, P) => run`: C are numbers that all runs share, P those that are moved."""

    text: str
    program: MemberProgram

    def numbers(self, job: Job) -> dict[str, Any]:
        """What a run begins with, of a job that has this program: arrays and two tolerances, by the names of the entry."""
        begin = {kind: np.array([getattr(job.memory, name) for name in RUN.places(kind)], dtype=float) for kind in (REAL, WHOLE)}
        members = job.members(0, 1)
        if members.unable:
            raise BadArgument(f"the run cannot start: {members.unable[0]}")
        return {
            "x0": members.starts[0], "C": self.program.common(members.data[0]), "P": members.data[0, list(self.program.own)],
            "D": members.data[0], "REALS0": begin[REAL], "WHOLES0": begin[WHOLE], "sp": np.array(job.program.sp, dtype=float),
            "atol": np.array(job.program.atol), "tol": job.program.tol, "least": max(job.program.tol, LEAST_TOLERANCE),
            "stops": np.array([job.t1]), "save_t": np.array(job.save_t),
        }  # fmt: skip


def why_not_in_page(job: Job) -> str | None:
    """Say why a page cannot run a job; None: it can."""
    program, plan = job.program, job.plan
    if not plan.choice.integrator.on_gpu:
        return f"{plan.choice.integrator!r} solves equations in every step; pages run explicit integrators"
    if program.model.is_dae:
        return "the unknowns y of a Dae are found by iterations that pages do not have"
    if program.rows is not None:
        return "its constraints are redundant, and pages do not choose among rows"
    if maps_of(plan) and job.t1 < job.t0:
        return "an event with then= maps its state, and it runs backward in time"
    if maps_of(plan) and any(not label.startswith("norm ") for label in plan.model.invariant_labels):
        return "an event with then= maps its state, which may change its invariants"
    if plan.integrator.starting_points > 0:
        return f"{plan.choice.integrator!r} begins with points that Python finds"
    outside = program.opaque()
    if outside is not None:
        return f"opaque {outside!r} is no expression that a page could have"
    if np.any(np.diff(job.tables.first) > 1):
        return "an input is a table; pages take numbers and functions of t"
    return None


def maps_of(plan) -> dict[int, Any]:
    """Functions that map the state at events, by the numbers of these."""
    return {k: event.then for k, event in enumerate(plan.events.values()) if event.then is not None}


def _map_tapes(plan) -> dict[int, Tape]:
    """The same traced: a = x, and parameters among the data."""
    names, place = list(plan.events), INPUTS.index("data")
    moved = lambda node: ("in", place, node[2]) if node[0] == "in" and INPUTS[node[1]] == "b" else node
    found = {k: state_map("view", plan.model, names[k], then, "a page") for k, then in maps_of(plan).items()}
    return {k: Tape(tuple(map(moved, tape.nodes)), tape.outputs) for k, tape in found.items()}


def page_program(job: Job, moved: tuple[int, ...] = (), begins_elsewhere: bool = True) -> PageProgram:
    """Print the program of a job for a page; `moved` are further places in data that it is told.

    Only where a run `begins_elsewhere` its start has to be made consistent again.
    """
    program = program_of(job, moved=moved, always=begins_elsewhere, maps=_map_tapes(job.plan))
    models = [ast.parse(text).body[0] for text in program.models.values()]
    functions = [ast.fix_missing_locations(each) for each in program.functions]
    made = functions_as_javascript([*models, *functions])
    return PageProgram(f"(C, P) => {{\n{made}\n{_entry(job, program)}}}", program)


def _entry(job: Job, program: MemberProgram) -> str:
    """Memory that all runs share, and the function that enters a start, runs it and tells what it left behind."""
    reals, wholes = RUN.places(REAL), RUN.places(WHOLE)
    nx, nk = job.program.shape
    events = job.program.events
    room = (MAPPED if maps_of(job.plan) else EVENTS_OF_ONE) * len(events) if events else 1
    given = {
        "m": "0", "model_data": "null", "method_sp": "sp", "scale_atol": "atol", "tables_stops": "stops",
        "record_t": "RECORD_T", "record_x": "OUT_X", "record_k": "OUT_K", "record_save_t": "save_t", "log_ended": "ENDED",
        "log_count": "EV_N", "log_t": "EV_T", "log_index": "EV_I", "log_x": "EV_X", "log_k": "EV_K",
    }  # fmt: skip
    lines = []
    for name, (shape, _) in program.local.items():
        made = f"matrix({shape[0]}, {shape[1]})" if len(shape) > 1 else f"new Float64Array({shape[0]})"
        lines.append(f"const {name} = {made};")
    lines += [
        "const ENDED = new Float64Array(1), EV_N = new Float64Array(1);",
        f"const EV_T = matrix(1, {room}), EV_I = matrix(1, {room}), EV_X = [matrix({room}, {nx})], EV_K = [matrix({room}, {nk})];",
    ]
    lines += [
        f"events_marks[{DIRECTION}][{k}] = {event.sign}; events_marks[{STOPS}][{k}] = {int(event.stops)};"
        for k, event in enumerate(events.values())
    ]
    *checks, (name, left) = [(name, ", ".join(given.get(each, each) for each in left)) for name, left in program.calls]
    lines += [
        f"return function run({GIVEN}) {{",
        " const RECORD_T = new Float64Array(save_t.length);",
        f" state_x.fill(0); state_x.set(x0); {REALS}.set(REALS0); {WHOLES}.set(WHOLES0);",
        f" const ended = status => ({{ status, t: {REALS}[{reals['t']}], rows: {WHOLES}[{wholes['rows']}],",
        f"  accepted: {WHOLES}[{wholes['accepted']}], rejected: {WHOLES}[{wholes['rejected']}], x: Array.from(state_x),",
        "  event: ENDED[0], events: Array.from({ length: EV_N[0] }, (_, k) => [EV_I[0][k], EV_T[0][k]]) });",
        " ENDED[0] = -1; EV_N[0] = 0;",
        *(f" if (!{check}({arguments})) return ended({UNREADY});" for check, arguments in checks),
        f" return ended({name}({left}));",
        "};",
    ]
    return "\n".join(lines) + "\n"
