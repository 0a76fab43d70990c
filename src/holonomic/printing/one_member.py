"""The program of one member: its whole life, from its start to its last saved row, for a printer to put into a language."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NEED_TERMS, OK
from ..kernels.evaluate import evaluate_carefully, may_look, weigh
from ..kernels.memory import FIXED, RUN, SIZE
from ..kernels.saddle import dense_saddle, dense_short
from ..kernels.signatures import CAREFUL, Events, Fn, Inside, Method, Model, Record, Scale, State
from ..loop.after_events import MANY_IMPACTS, WAIT
from ..loop.batch import Log, Tables, run_member
from ..loop.event_bounds import find_bounded
from ..loop.event_search import MARKS, MOST, VALUES
from ..model.emit import python_source
from ..model.model_base import PLAIN
from ..model.tape import INPUTS, Tape
from ..native.layout import REAL, WHOLE, Memory
from ..sweeping.job import Job
from ..sweeping.start_room import MODES
from .fold import Array, Known, Parts, Place, Table
from .ready import ready
from .specialize import Specializer
from .tape_passes import evaluate, settle
from .with_maps import FIRST_MAP, IMPACT_DISTANCE, IMPACT_FACTOR, IMPACT_RESIDUAL, IMPACT_SOLVE, MapRoom, run_with_maps

# where a member keeps the fields of a run: one array for each kind
REALS, WHOLES = "run_reals", "run_wholes"

# what no program of a member has: it plays no bounds of its events, and looks at them point by point
NOT_BOUNDED = {find_bounded: 0}

PARAMETERS = ("t", "a", "at_a", "b", "at_b", "data", "out", "at_out")


@dataclass(frozen=True)
class MemberProgram:
    """The functions of a program, callees first, and what it wants worked out beforehand.

    A printer adds the entry: it makes the arrays of `local`, enters a member's numbers and makes the `calls`, each a name
    with the names of what it is given. All but the last tell whether a member is ready; the last one returns its status.
    """

    models: dict[str, str]  # model functions by name, as Python source
    functions: tuple[ast.FunctionDef, ...]
    calls: tuple[tuple[str, tuple[str, ...]], ...]
    local: dict[str, tuple[tuple[int, ...], str]]  # memory of a member: shape and type of each array
    own: tuple[int, ...]  # places in data that differ between members
    settled: tuple[Tape, ...]
    readies: bool  # whether members come as they are, to be made ready by the program

    def common(self, data: np.ndarray) -> np.ndarray:
        """Numbers that all members share: data, and what follows from it."""
        return np.concatenate([data, *(evaluate(tape, data) for tape in self.settled)])


def own_places(job: Job) -> tuple[int, ...]:
    """Places in data that differ between members: swept parameters, and what invariants are at the start."""
    model = job.program.model
    places = [i for where in job.places.values() for i in range(where.start, where.stop)]
    places += range(model.at_invariants, model.at_invariants + model.n_invariants)
    return tuple(sorted(set(places)))


def program_of(
    job: Job, rewritten: Callable[[Tape], Tape] | None = None, moved: tuple[int, ...] = (), always: bool = False,
    maps: Mapping[int, Tape] | None = None,
) -> MemberProgram:  # fmt: skip
    """Write the program of a job.

    `rewritten` may give model functions another form that suits a machine better; `moved` are places in data that are told to
    it besides those that differ between members. With `always` members are made ready by the program also where a
    metric measures the moves of its stabilization (starts are measured without, by functions of their own), and where
    invariants are kept, whose values at the start are told to it. `maps` are those of events, by number: see `with_maps`.
    """
    program, own = job.program, tuple(sorted({*own_places(job), *moved}))
    tapes: dict[int, Tape] = {
        Fn[name]: Tape.from_text(text) for group in ("run", "events") for name, text in program.tapes.get(group, {}).items()
    }
    weighed = job.plan.variant.metric is not None
    starts = _of_start(job) if always or not (weighed or program.model.n_invariants) else {}
    readies = bool(starts) or (program.model.n_lam == 0 and program.model.n_invariants == 0)
    if not weighed:
        tapes |= starts
    size = sizes_of(job, tapes)
    local = local_of(job, size)
    if maps:
        impacts = _of_impacts(job)
        tapes |= impacts | {FIRST_MAP + k: tape for k, tape in maps.items()}
        local |= _map_local(job, impacts)
    bound = bound_of(job, size, local) | ({"room": _map_room(job, impacts, maps, local)} if maps else {})
    # pivoting is left to the processor, and what asks for it besides the pivot ratio
    instead = {dense_saddle: NEED_TERMS, dense_short: NEED_TERMS, weigh: OK, may_look: 0, **NOT_BOUNDED}
    written = Specializer(instead)
    parts = [(written, tapes)]
    calls = []
    if readies:
        begins, room, model = written, "state_W", bound["model"]
        if weighed and starts:
            begins, room, own_size = Specializer(instead, prefix="start_"), "start_W", sizes_of(job, starts)
            local["start_W"] = ((own_size.work_end + 1,), "float64")
            known = Parts({name: Known(getattr(own_size, name)) for name in SIZE.fields})
            model = Parts(model.fields | {"size": known})
            parts.insert(0, (begins, starts))
        more = {"model": model, "mode": Known(MODES[job.initial]), "x": Array(local["state_x"][0]), "W": Array(local[room][0])}
        name, left = begins.function(ready, bound | more)
        given = {"t": f"REALS0[{RUN.places(REAL)['t']}]", "x": "state_x", "W": room}
        calls.append((name, tuple(given.get(each, each) for each in left)))
    name, left = written.function(run_with_maps if maps else run_member, bound)
    calls.append((name, tuple(left)))
    models, settled, at = {}, [], len(job.data)
    for writer, of_it in parts:
        for number, sites in _distinct(writer, of_it).items():
            tape = of_it[number]
            before, tape = settle(tape if rewritten is None else rewritten(tape), frozenset(own), at)
            settled.append(before)
            at += len(before.outputs)
            name = f"{writer.prefix}model_{number}"
            models[name] = model_source(name, tape, own, sites)
    functions = tuple(function for writer, _ in parts for function in writer.functions)
    return MemberProgram(models, functions, tuple(calls), local, own, tuple(settled), readies)


def _distinct(writer: Specializer, tapes: Mapping[int, Tape]) -> dict[int, list[ast.Call]]:
    """Calls by model function, equal functions taken as one."""
    calls = writer.calls
    first: dict[str, int] = {}
    found: dict[int, list[ast.Call]] = {}
    for number in sorted(calls):
        same = first.setdefault(tapes[number].text(), number)
        for call in calls[number]:
            call.func = ast.Name(f"{writer.prefix}model_{same}", ast.Load())
        found.setdefault(same, []).extend(calls[number])
    return found


def can_ready(job: Job) -> bool:
    """Whether the program of a job can make a start consistent: plain constraints, nothing held, no further states."""
    model = job.program.model
    if model.is_ode or len(model.extras) or job.held.any() or job.plan.rows is not None:
        return False
    return model.n_lam > 0 and job.initial != "impact"  # that goes by the mass matrix, whose factors the program does not have


def _of_start(job: Job) -> dict[Fn, Tape]:
    """Functions that make a member ready, where the program can do it."""
    program, plan = job.program, job.plan
    if not can_ready(job):
        return {}
    variant = plan.variant if plan.variant.metric is None else PLAIN
    wanted = [Fn.RESIDUAL, Fn.VEL_FACTOR, Fn.VEL_SOLVE]
    wanted += [Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT] if program.size.n_position else []
    return dict(plan.model.tapes(tuple(wanted), variant))


def _of_impacts(job: Job) -> dict[int, Tape]:
    """Functions by which an impulse makes velocities consistent, by their numbers."""
    model = job.plan.model
    if not model.n_lam:
        return {}
    plain = model.tapes((Fn.RESIDUAL, Fn.VEL_FACTOR), PLAIN)
    weighed = model.tapes((Fn.VEL_FACTOR, Fn.VEL_SOLVE), replace(PLAIN, metric="mass"))
    return {
        IMPACT_RESIDUAL: plain[Fn.RESIDUAL], IMPACT_DISTANCE: plain[Fn.VEL_FACTOR], IMPACT_FACTOR: weighed[Fn.VEL_FACTOR],
        IMPACT_SOLVE: weighed[Fn.VEL_SOLVE],
    }  # fmt: skip


def _map_local(job: Job, impacts: Mapping[int, Tape]) -> dict[str, tuple]:
    """Memory of a member whose state is mapped."""
    nev, room = len(job.program.events), sum(len(tape.outputs) for tape in impacts.values()) + 1
    real = "float64"
    return {
        "maproom_fired": ((nev,), "int64"), "maproom_waits": ((nev, WAIT + MANY_IMPACTS), real),
        "maproom_new": ((job.program.size.nx + 1,), real), "maproom_W": ((room,), real),
    }  # fmt: skip


def _map_room(job: Job, impacts: Mapping[int, Tape], maps: Mapping[int, Tape], local: dict[str, tuple]) -> Parts:
    """What is known of the room of mapped states."""
    ends = [k for k, each in enumerate(job.plan.events.values()) if each.terminal]
    mapping = [k for k in maps if k not in ends]
    places = np.cumsum([len(tape.outputs) for tape in impacts.values()])
    at = dict(zip(("at_distance", "at_factor", "at_change"), [*map(int, places), 0, 0, 0], strict=False))
    known = {"ends": np.array(ends), "maps": np.array(mapping), "n_ends": len(ends), "n_maps": len(mapping), **at}
    known = {name: Known(value) for name, value in known.items()}
    names = [name for name in MapRoom._fields if name not in known]
    return Parts({name: Array(local[f"maproom_{name}"][0], {}, f"maproom_{name}") for name in names} | known)


def sizes_of(job: Job, tapes: Mapping[Fn, Any]) -> Memory:
    """Sizes, and offsets without room for the dense solve, which the processor does; of tapes, or numbers that they write."""
    size = job.program.size.copy()
    long = {fn: tape if isinstance(tape, int) else len(tape.outputs) for fn, tape in tapes.items()}
    at = 0
    for place, fn in (("at_position", Fn.POS_FACTOR), ("at_velocity", Fn.VEL_FACTOR), ("at_full", Fn.FULL_FACTOR)):
        setattr(size, place, at)
        if not (fn is Fn.POS_FACTOR and size.shared):
            at += long.get(fn, 0)
    state, residuals = size.nq + size.nv, size.n_position + size.nl + 1
    newton, size.at_curve = (size.at_curve or size.work_end) - size.at_newton, 0  # nothing is bounded
    for place, length in (
        ("at_residual", residuals), ("at_correction", state + 1), ("at_multipliers", max(state, residuals) + 1),
        ("at_state", size.nx), ("at_sizes", size.at_newton - size.at_sizes), ("at_newton", newton), ("work_end", 0),
    ):  # fmt: skip
        setattr(size, place, at)
        at += length
    size.at_rates = size.at_newton - size.ny if size.at_rates else 0
    return size


def local_of(job: Job, size: Memory) -> dict[str, tuple]:
    """Memory of a member: shape and type of each array."""
    lowered = job.program.integrator
    nx, nrow, nk, nev = size.nx, size.nrow, size.nk, size.n_events
    real, whole = "float64", "int64"
    local = {
        REALS: ((len(RUN.places(REAL)),), real), WHOLES: ((len(RUN.places(WHOLE)),), whole), "state_x": ((nx,), real),
        "state_xn": ((nx,), real), "state_xs": ((nx,), real), "state_K": ((lowered.rows, max(nx, nrow, 8)), real),
        "state_E": ((max(1, lowered.errors), nx), real), "state_W": ((size.work_end + 1,), real),
        "inside_x": ((nx,), real), "inside_K": ((1, nrow), real),
    }  # fmt: skip
    if nev:
        found, rows = MOST * nev, (MOST + 1) * nev  # a step's, and those that end a run
        local |= {
            "events_marks": ((MARKS, nev), whole), "events_values": ((VALUES, nev), real), "events_rates": ((2 * nev,), real),
            "events_theta": ((found,), real), "events_found": ((found,), whole), "events_t": ((rows,), real),
            "events_index": ((rows,), whole), "events_x": ((rows, nx), real), "events_k": ((rows, nk), real),
        }  # fmt: skip
    return local


def bound_of(job: Job, size: Memory, local) -> dict[str, Any]:
    """What is known of the parameters of the kernels."""
    program, lowered = job.program, job.program.integrator
    sp = {i: float(v) for i, v in enumerate(program.sp) if i not in program.told}

    def apart(kind: type, **known) -> Parts:
        """A tuple whose fields are in variables `kind_field`, but for those that are known."""
        word = kind.__name__.lower()
        names = {name: f"{word}_{name}" for name in kind._fields if name not in known}
        return Parts({name: Array(local.get(at, (None,))[0], {}, at) for name, at in names.items()} | known)

    return {
        "slots": Table(dict(enumerate(program.slot_kernels()))),
        "model": apart(
            Model, fns=Table({2 * CAREFUL: evaluate_carefully}),
            size=Parts({name: Known(getattr(size, name)) for name in SIZE.fields}),
        ),
        "method": apart(
            Method, ip=Known(np.asarray(lowered.ip)), fp=Known(np.asarray(lowered.fp)),
            sp=Array((len(program.sp),), sp, "method_sp"),
        ),
        "run": _run_apart(job.memory),
        "loop": Parts({
            "state": apart(State), "inside": apart(Inside), "scale": apart(Scale, kinds=Known(program.kinds)),
            "passing": Parts({}),
        }),
        "record": apart(Record, dense=Array((0, 0), {}, "record_dense")), "events": apart(Events),
        "tables": apart(Tables, at=Array((0,), {}, "tables_at"), stops=Array((1,), {}, "tables_stops")),
        "looks": Parts({"wanted": Known(False)}), "halt": Array((0,)), "log": apart(Log),  # methods do not change here
    }  # fmt: skip


def _run_apart(memory: Memory) -> Parts:
    """The fields of a run: those that never change as numbers, the others in a member's arrays."""
    fields: dict[str, Any] = {}
    for kind, array in ((REAL, REALS), (WHOLE, WHOLES)):
        fields |= {name: Place(array, place) for name, place in RUN.places(kind).items()}
    known = {name: Known(getattr(memory, name)) for name in FIXED}
    known["stiff_bound"] = Known(0.0)  # nobody is told of stiffness here
    known["notes"] = Known(0)  # nor of the smallest pivot ratio, for whose state the stages have no room
    return Parts(fields, known)


def model_source(name: str, tape: Tape, own: tuple[int, ...], calls: list[ast.Call]) -> str:
    """A model function with the parameters it needs; calls lose the others."""
    used = {INPUTS[node[1]] for node in tape.nodes if node[0] == "in"} | {"out"}
    kept = []
    for i, each in enumerate(PARAMETERS):
        if each.startswith("at_"):
            needed = each[3:] in used and any(ast.unparse(call.args[i]) != "0" for call in calls)
        else:
            needed = each in used
        kept += [i] if needed else []
    for call in calls:
        call.args = [call.args[i] for i in kept]
    head = [PARAMETERS[i] for i in kept]
    place = {index: k for k, index in enumerate(own)}

    def read(which: str, index: int) -> str:
        if which == "data":
            return f"data[1][{place[index]}]" if index in place else f"data[0][{index}]"
        return f"{which}[at_{which} + {index}]" if f"at_{which}" in head else f"{which}[{index}]"

    write = "out[at_out + {}]" if "at_out" in head else "out[{}]"
    return python_source(tape, name, ", ".join(head), read, write, "sincos")
