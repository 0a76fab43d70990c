"""The program of one member where the model is tables: one text for all mechanisms of the same kinds of elements.

Sizes are read from `words`, which members share, and the arrays of a member have room for more than they need, by a ladder of few
rungs. So a program depends on the kinds of elements there are, on the plan, on events and on the rungs; a mechanism of the same
kinds with more bodies, other loops or other numbers finds it compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..assembly.collection import Collection
from ..assembly.table_system import TableSystem
from ..errors import OK, HolonomicError, IncompatibleMethods
from ..kernels.elements import BODY, FORCE, ROWS, SPEEDS, STATE
from ..kernels.evaluate import judge_field, may_look, weigh
from ..kernels.memory import RUN, SIZE
from ..kernels.saddle import dense_saddle, dense_short
from ..kernels.signatures import CAREFUL, Fn
from ..loop.batch import run_member
from ..model.emit import python_source
from ..model.tape import Tape
from ..native.layout import REAL, Memory
from ..sweeping.job import Job
from ..sweeping.start_room import MODES
from .fold import Array, Known, Parts, Place, Table
from .one_member import NOT_BOUNDED, MemberProgram, bound_of, can_ready, local_of, model_source, own_places, sizes_of
from .ready import ready
from .specialize import Specializer
from .table_member import factor_rows, field, residual, solve_rows, tangent_rows
from .table_words import ContextTables, TableWords, WantedContext, shapes_of

ROOM = 1 << 14  # numbers of a member: 128 kB, and a GPU holds a quarter of a million members at once
STEADY = (
    "nw", "n_events", "n_switches", "n_selects", "n_timed", "n_errors", "shared", "dense", "n_velocity", "at_selectors", "selector",
    "may_slide", "n_middle",
)  # fmt: skip # sizes that belong to the plan
OPERATORS: dict[str, Callable] = {
    "FIELD": field, "RESIDUAL": residual, "FACTOR": factor_rows, "SOLVE": solve_rows, "TANGENT": tangent_rows,
}  # fmt: skip
HERE = (
    Fn.FIELD, Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT, Fn.EVENTS,
    Fn.EVENT_RATES,
)  # fmt: skip
ARRAYS = ("common", "own", "words", "room")  # what operators are given of a member, and of all
WAY_OUT = 'Use compile="now", or on="threads".'


@dataclass(frozen=True)
class TableProgram(MemberProgram):
    """The same of tables, with what its members share."""

    tables: TableWords

    def common(self, data: np.ndarray) -> np.ndarray:
        return self.tables.common(data)


def is_tables(job: Job) -> bool:
    """Whether the model of a job is tables."""
    return isinstance(job.plan.model.system, TableSystem)


def check_tables(job: Job) -> None:
    """Refuse what the program of tables does not have, naming a way out."""
    program, plan = job.program, job.plan
    c = plan.model.system.collection
    least = program.size.nx * (program.integrator.rows + 3)  # of the stages alone: words of large mechanisms are not written
    if least > ROOM:
        raise too_large(least)
    if c.whole:
        raise _missing(
            "accelerations from the whole matrix, which friction that follows reactions, bodies without mass and masses far "
            "apart need"
        )
    if any(function.calls for table in c.tables for function in table.kind.functions.values()):
        raise _missing("functions of outside, whose code is for the processor")
    wanted = {Fn[name] for name in _names(job)}
    variant = plan.variant
    lacking = sorted(fn.name for fn in wanted if fn not in HERE)
    if variant.metric is not None or variant.mass_at is not None or variant.bend is not None or lacking:
        raise _missing(f"what {plan.choice.stabilization!r} with {plan.choice.integrator!r} asks for")


def _names(job: Job) -> list[str]:
    """Names of the operators that a run calls."""
    return [fn.name for group in ("run", "events") for fn in job.program.groups().get(group, ((),))[0]]


def _missing(what: str) -> IncompatibleMethods:
    return IncompatibleMethods(f'on="cuda" runs mechanisms as tables without {what}. {WAY_OUT}')


def too_large(numbers: int, room: int = ROOM) -> HolonomicError:
    """A member that does not fit a thread."""
    return HolonomicError(
        f'on="cuda" runs each member of a mechanism as tables in a thread of its own, which has room for {room} numbers here; '
        f'this one needs {numbers}. Use on="threads".'
    )


def numbers_of(program: MemberProgram) -> int:
    """Numbers that a thread has room for in a program."""
    return _numbers(program.local)


def rung(wide: int, work: int) -> tuple[int, int]:
    """Room for a state or a stage, and for what is worked on: (32, 256), or that as often doubled as it takes."""
    k = 0
    while wide > 32 << k or work > 256 << k:
        k += 1
    return 32 << k, 256 << k


def table_program_of(job: Job) -> TableProgram:
    """Write the program of a job whose model is tables."""
    program, plan = job.program, job.plan
    system, own = plan.model.system, own_places(job)
    tables = TableWords(system.collection, own, len(job.data), len(SIZE.fields))
    written = tables.contexts(_contexts(system.collection))
    checks = can_ready(job) and (not program.model.n_invariants or kept_values(job) is not None)
    readies = checks or (program.model.n_lam == 0 and program.model.n_invariants == 0)
    size = _sizes(job, written)
    for k, name in enumerate(SIZE.fields):
        tables.words[k] = int(getattr(size, name))
    wide, work = max(int(size.nx), int(size.nrow), 8), max(int(size.work_end) + 1, tables.room)
    local = _local(job, size, *rung(wide, work))
    if _numbers(local) > ROOM:  # it may fit by itself
        local = _local(job, size, wide, work)
    if _numbers(local) > ROOM:
        raise too_large(_numbers(local))
    bound = _bound(job, size, local)
    writer = Specializer({dense_saddle: OK, dense_short: OK, weigh: OK, may_look: 0, **NOT_BOUNDED})
    calls = []
    if checks:
        more = {"mode": Known(MODES[job.initial]), "x": Array(local["state_x"][0]), "W": Array(local["state_W"][0])}
        name, left = writer.function(ready, bound | more)
        given = {"t": f"REALS0[{RUN.places(REAL)['t']}]", "x": "state_x", "W": "state_W"}
        calls.append((name, tuple(given.get(each, each) for each in left)))
    name, left = writer.function(run_member, bound)
    calls.append((name, tuple(left)))
    events = plan.model.event_tapes(plan.with_events.events) if program.events else {}
    models = _models(job, writer, written, events, own)
    return TableProgram(models, tuple(writer.functions), tuple(calls), local, own, (), readies, tables)


def _contexts(c: Collection) -> dict[str, WantedContext]:
    """What is arranged; POS where position rows have other columns than velocity rows."""
    rows = [(table, "main") for table in c.of(ROWS, SPEEDS)]
    norms = [] if c.norms is None else [(c.norms, "position")]
    found = {
        "FIELD": WantedContext([(table, "main") for table in c.of(BODY, STATE, FORCE, ROWS, SPEEDS)], "mass"),
        "RESIDUAL": WantedContext([*((table, "rows") for table in c.of(ROWS, SPEEDS)), *norms]),
        "VEL": WantedContext(rows, "metric"),
    }
    if TableSystem._own_positions(c):
        found["POS"] = WantedContext(TableSystem._rows_by_q(c), "metric", by_q=True)
    return found


def _sizes(job: Job, contexts: dict[str, ContextTables]) -> Memory:
    """Sizes and places in the workspace, with factors as they are here."""
    lengths = {Fn.VEL_FACTOR: contexts["VEL"].length}
    if "POS" in contexts:
        lengths[Fn.POS_FACTOR] = contexts["POS"].length
    return sizes_of(job, lengths)


def _local(job: Job, size: Memory, wide: int, work: int) -> dict[str, tuple]:
    """Arrays of a member."""
    large = size.copy()
    large.nx, large.nrow, large.nk, large.work_end = wide, wide, wide, work - 1
    return local_of(job, large) | {"room": ((work,), "float64")}


def _numbers(local: dict[str, tuple]) -> int:
    """How many numbers there are in these arrays."""
    return sum(int(np.prod(shape)) for shape, _ in local.values())


def _bound(job: Job, size: Memory, local) -> dict[str, Any]:
    """What is known of the parameters of the kernels; most sizes are words."""
    bound = bound_of(job, size, local)
    known = {name: int(getattr(size, name)) for name in SIZE.fields}
    fields: dict[str, Any] = {
        name: Known(value) if name in STEADY or value == 0 else Place("words", k) for k, (name, value) in enumerate(known.items())
    }
    model, loop, method = bound["model"], bound["loop"], bound["method"]
    scale = loop.fields["scale"]
    more = {"fns": Table({2 * CAREFUL: judge_field}), "size": Parts(fields)}
    sp = method.fields["sp"]
    return bound | {
        "model": Parts(model.fields | more),
        "loop": Parts(loop.fields | {"scale": Parts(scale.fields | {"kinds": Array(None, {}, "scale_kinds")})}),
        "method": Parts(method.fields | {"sp": Array(None, sp.entries, sp.name)}),
    }


def _models(
    job: Job, writer: Specializer, contexts: dict[str, ContextTables], events: dict[Fn, Tape], own: tuple[int, ...]
) -> dict[str, str]:
    """Model functions by name: those of elements, operators made of them, and events."""
    models: dict[str, str] = {}
    stubs: dict[str, Stub] = {}
    known = {name: _known(context, stubs) for name, context in contexts.items()}
    writer.words = tuple(stubs.values())
    wrappers: dict[str, str] = {}
    for number, calls in sorted(writer.calls.items()):
        fn = Fn(number)
        if fn in events:
            for call in calls:
                call.func.id = f"model_{number}"
            models[f"model_{number}"] = model_source(f"model_{number}", events[fn], own, calls)
            continue
        level, _, what = fn.name.rpartition("_")
        if level == "POS" and "POS" not in contexts:
            level = "VEL"
        name = f"model_{level}_{what}" if level else f"model_{what}"
        for call in calls:
            call.func.id = name
        if name not in wrappers:
            wrappers[name] = _operator(writer, name, OPERATORS[what], known[level or what])
    functions = {stub.__name__: stub.text for stub in stubs.values()}
    return models | functions | wrappers


def _known(context: ContextTables, stubs: dict[str, Stub]) -> Parts:
    """What is known of a context, functions of its kinds among it."""
    known: dict[str, Any] = {name: Known(value) for name, value in shapes_of(context).items()}
    copies = [part.shape.settling or f"{len(part.function.sources)} numbers" for part in context.parts]
    known["function"] = Known(tuple(_stub(part.shape.function, _element, stubs) for part in context.parts))
    known["settling"] = Known(tuple(_stub(text, _settling, stubs) for text in copies))
    return Parts(known | {name: Array(None, {}, name) for name in ARRAYS})


def _operator(writer: Specializer, name: str, function: Callable, tables: Parts) -> str:
    """The function by which the loop calls an operator."""
    made, left = writer.function(function, {"tables": tables})
    return (
        f"def {name}(t, a, at_a, b, at_b, data, out, at_out):\n"
        "    common, own, words, room = data[0], data[1], data[2], data[3]\n"
        f"    {made}({', '.join(left)})\n"
    )


class Stub:
    """What stands for a function of a kind while programs are written: its name, and its text."""

    def __init__(self, name: str, text: str):
        self.__name__, self.text = name, text

    def __call__(self, *_):
        raise NotImplementedError("it stands in programs alone")


def _stub(text: str, write: Callable[[str, str], str], stubs: dict[str, Stub]) -> Stub:
    return stubs.setdefault(text, Stub(f"kind_{len(stubs)}", write(f"kind_{len(stubs)}", text)))


def _element(name: str, text: str) -> str:
    """A function of one element: what it sees of x is looked up."""
    tape = Tape.from_text(text)
    read = lambda which, i: f"x[at_x + words[places + {i}]]" if which == "a" else f"data[at_data + {i}]"
    head = "t, x, at_x, words, places, data, at_data, out, at_out"
    return python_source(tape, name, head, read, "out[at_out + {}]", "sincos")


def _settling(name: str, text: str) -> str:
    """The function that makes settled numbers of an element; it copies them where there is nothing to make."""
    head = "data, at_data, out, at_out"
    if text.endswith(" numbers"):
        copies = [f"    out[at_out + {i}] = data[at_data + {i}]\n" for i in range(int(text.split()[0]))]
        return f"def {name}({head}):\n" + ("".join(copies) or "    return\n")
    return python_source(Tape.from_text(text), name, head, lambda _, i: f"data[at_data + {i}]", "out[at_out + {}]", "sincos")


def kept_values(job: Job) -> np.ndarray | None:
    """What invariants, lengths of quaternions, are at the start of all members; None: the processor finds out for each."""
    model = job.plan.model
    kept = slice(model.data_places["invariants"].start, model.data_places["invariants"].start + model.n_invariants)
    if job.initial == "free":
        return job.data[kept]
    if len(job.q0) > 1 or len(job.v0) > 1:
        return None
    data = job.data.copy()
    data[kept] = 0.0
    x = np.concatenate([job.q0[0], job.v0[0]])
    return model.evaluate(Fn.RESIDUAL, job.t0, x, x, data)[model.n_constraints : model.n_constraints + model.n_invariants]


def told_of_tables(job: Job, program: MemberProgram) -> tuple[np.ndarray, ...]:
    """What a program of tables is told besides: words, and the kinds of unknowns."""
    if not isinstance(program, TableProgram):
        return ()
    return program.tables.array(), job.program.kinds
