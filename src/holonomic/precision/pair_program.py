"""The step loop of one plan in pairs of doubles: written by the `Specializer`, printed by `pair_machine`, kept by content.

The kernels are those of every run: begin, drive, the methods' slots. What is known of a plan are its sizes and its methods;
coefficients, tolerances and data are memory, so that the tableau comes with all its digits. Where kernels speak of rounding, by
EPS and ROUNDING, they mean the rounding of pairs here.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import hashlib
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from ..errors import OK
from ..kernels.evaluate import judge_field
from ..kernels.memory import RUN, SIZE
from ..kernels.newton_operators import factor_dense, factor_dense_pair, scale_dense, solve_dense, solve_dense_pair
from ..kernels.signatures import CAREFUL, ENERGY, RESIDUAL, Events, Fn, Inside, Method, Model, Record, Scale, State, call_model
from ..kernels.vectors import EPS as EPS_OF_DOUBLES
from ..kernels.vectors import ROUNDING
from ..loop.begin import begin
from ..loop.drive import drive
from ..loop.starts import PROJECT
from ..model.model_base import PLAIN
from ..model.tape import Tape
from ..native import cachefolder, host
from ..native.layout import REAL, WHOLE, Memory
from ..passage.alarm import ask_for_passage
from ..planning.plan import Plan
from ..printing.fold import Array, Known, Parts, Place, Table
from ..printing.pair_arithmetic import EPS, PAIR, WORD
from ..printing.pair_machine import PairMachine
from ..printing.pair_tapes import tape_function
from ..printing.pair_types import ArrayType, Unprintable
from ..printing.ready import ready
from ..printing.specialize import Specializer
from .refused import refuse_factors

REALS, WHOLES = "run_reals", "run_wholes"
# Newton's method has twice as far to go, and to its corrections the growth of an elimination in a fixed order leaves digits enough
NUMBERS = {"EPS": EPS, "ROUNDING": ROUNDING / EPS_OF_DOUBLES * EPS, "GROWTH": 1e20, "MOST_ITERATIONS": 90}
DENSE_LU = {factor_dense: 1, factor_dense_pair: 1, scale_dense: 0, solve_dense: 0, solve_dense_pair: 0}  # fails where it is asked
# fields of a run that never change, and what no run has here: paths over singular positions, dense output in doubt
FIXED = (
    "exponent", "beta", "safety", "factor_min", "factor_max", "keeps_below", "fixed", "last_stage", "keep_steps", "steers",
    "advises", "order", "at_lam", "remembers", "foresees",
)  # fmt: skip
NEVER = ("h_sure", "event_field", "crosses", "guided", "doubts", "along", "uneven")
# arrays of the loop by name: kind and axes
ARRAYS = {
    "model_data": (REAL, 1), "method_fp": (REAL, 1), "method_sp": (REAL, 1), REALS: (REAL, 1), WHOLES: (WHOLE, 1),
    "state_x": (REAL, 1), "state_xn": (REAL, 1), "state_xs": (REAL, 1), "state_K": (REAL, 2), "state_E": (REAL, 2),
    "state_W": (REAL, 1), "inside_x": (REAL, 1), "inside_K": (REAL, 2), "scale_atol": (REAL, 1), "record_t": (REAL, 1),
    "record_x": (REAL, 2), "record_k": (REAL, 2), "record_save_t": (REAL, 1), "start_W": (REAL, 1), "start_asked": (REAL, 1),
}  # fmt: skip


START_ASKS = ("t", "tol", "least")  # what `start_asked` holds


def residuals(model, t, x, W):
    """Residuals at (t, x) into a workspace, from its beginning on."""
    call_model(model, RESIDUAL, t, x, 0, x, 0, W, 0)
    return OK


def energies(model, t, x, W):
    """Kinetic and potential energy at (t, x) into a workspace."""
    call_model(model, ENERGY, t, x, 0, x, 0, W, 0)
    return OK


@dataclass(frozen=True)
class PairProgram:
    """Machine code of one plan; every entry takes an array of addresses and lengths, see `words`."""

    entries: dict[str, Any]

    def call(self, name: str, words: np.ndarray) -> int:
        """Call an entry; return its status."""
        return self.entries[name](words.ctypes.data)


def words(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Addresses of the loop's arrays and the lengths of their axes, as entries take them; pairs have a last axis of two."""
    given = []
    for name, (_, axes) in ARRAYS.items():
        array = arrays[name]
        given += [array.ctypes.data, *array.shape[:axes]]
    return np.array(given, dtype=np.int64)


def program_of(plan: Plan, memory) -> PairProgram:
    """Return the program of a plan for runs that begin with this memory; plans that differ in tolerances alone share one."""
    known = _programs.setdefault(plan.model, {})
    key = (
        plan.variant, bytes(plan.size), plan.integrator.ip.tobytes(), *_kernels(plan), *_numbers_known(plan).items(),
        *(getattr(memory, name) for name in FIXED),
    )  # fmt: skip
    if key not in known:
        known[key] = _made(plan, memory)
    return known[key]


_programs: weakref.WeakKeyDictionary[Any, dict[tuple, PairProgram]] = weakref.WeakKeyDictionary()


def _kernels(plan: Plan) -> list:
    """The methods' kernels in the order of `Slot`."""
    named = [plan.integrator.slots[name] for name in ("advance", "finish", "accept", "dense", "interpolate")]
    return [*named, plan.stabilization.pull, plan.stabilization.tangent, None, ask_for_passage]


def _numbers_known(plan: Plan) -> dict[int, float]:
    """Numbers of the stabilization that are part of the program; tolerances are told to it."""
    return {i: float(value) for i, value in enumerate(plan.sp) if i not in plan.stabilization.told}


def _made(plan: Plan, memory) -> PairProgram:
    """The program of a plan, from the cache where it is there.

    Its entries are `begin` and `drive`; where they have a meaning, `ready`, which moves a start onto the constraints, and
    `residuals` and `energies` of a state.
    """
    run, start = Specializer({ask_for_passage: OK, **DENSE_LU}, numbers=NUMBERS), Specializer(prefix="start_", numbers=NUMBERS)
    bound, of_run, of_start = _bound(plan, memory), _tapes(plan), start_tapes(plan)
    refuse_factors(of_run)
    entries = {"begin": run.function(begin, bound), "drive": run.function(drive, bound)}
    if of_start:
        model = Parts(bound["model"].fields | {"size": _known(start_size(plan, of_start))})
        entries |= {name: start.function(each, {"model": model}) for name, each, fn in ASKED if fn in of_start}
        if Fn.VEL_FACTOR in of_start:
            entries["ready"] = start.function(ready, {"model": model, "mode": Known(PROJECT)})
    functions = {each.name: ast.fix_missing_locations(each) for writer in (run, start) for each in writer.functions}
    tapes = {
        f"{writer.prefix}model_{number}": own[Fn(number)]
        for writer, own in ((run, of_run), (start, of_start))
        for number in sorted(writer.calls)
    }
    name = _content(functions, tapes, entries)
    if name not in _loaded:
        names = tuple(f"pairs_{entry}" for entry in entries)
        code = cachefolder.read("models", name + ".o")
        found = None if code is None else host.load(code, names)
        if found is None:
            code = _compiled(functions, tapes, entries)
            cachefolder.write("models", name + ".o", code)
            found = host.load(code, names)
            if found is None:
                raise RuntimeError("compiled machine code could not be loaded")
        form = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        _loaded[name] = PairProgram({entry: form(found[f"pairs_{entry}"]) for entry in entries})
    return _loaded[name]


_loaded: dict[str, PairProgram] = {}


@functools.cache
def _makers() -> bytes:
    """The hash of what turns functions and tapes into machine code."""
    digest = hashlib.sha256(host.identity().encode())
    printing = Path(__file__).parent.with_name("printing")
    for path in (*sorted(printing.glob("pair_*.py")), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.digest()


def _content(functions, tapes: dict[str, Tape], entries) -> str:
    digest = hashlib.sha256(_makers())
    for function in functions.values():
        digest.update(ast.unparse(function).encode())
    for name, tape in tapes.items():
        digest.update(f"{name} {tape.text()}".encode())
    digest.update(repr(entries).encode())
    return digest.hexdigest()[:32]


def _tapes(plan: Plan) -> dict[Fn, Tape]:
    """Model functions that a run of the plan calls."""
    return dict(plan.model.tapes(_functions(plan), plan.variant))


def _functions(plan: Plan) -> tuple[Fn, ...]:
    """Which these are."""
    others = (Fn.CAREFUL, Fn.REFINED, Fn.TERMS, Fn.EVENTS, Fn.EVENT_RATES)
    return tuple(fn for fn in Fn if plan.fns[2 * fn] and fn not in others)


def start_tapes(plan: Plan) -> dict[Fn, Tape]:
    """Model functions that make a start consistent, in the plain metric."""
    model = plan.model
    wanted: tuple[Fn, ...] = (Fn.RESIDUAL,) if model.n_lam + plan.n_position else ()
    if not model.is_ode:
        wanted += (Fn.ENERGY,)
    if model.n_lam and not model.is_ode:
        wanted += (Fn.VEL_FACTOR, Fn.VEL_SOLVE)
        wanted += (Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT) if plan.n_position else ()
    return dict(model.tapes(wanted, PLAIN)) if wanted else {}


def start_size(plan: Plan, tapes: dict[Fn, Tape]) -> Memory:
    """The sizes of a plan with places for the workspace of a start."""
    size = plan.size.copy()
    long = {fn: len(tape.outputs) for fn, tape in tapes.items()}
    size.shared, at = 0, 0
    for place, length in (
        ("at_position", long.get(Fn.POS_FACTOR, 0)), ("at_velocity", long.get(Fn.VEL_FACTOR, 0)),
        ("at_residual", size.n_position + size.nl + 1), ("at_correction", size.nq + size.nv + 1),
        ("at_multipliers", size.nq + size.nv + size.n_position + size.nl + 1), ("at_state", size.nx), ("work_end", 0),
    ):  # fmt: skip
        setattr(size, place, at)
        at += length
    return size


ASKED = (("residuals", residuals, Fn.RESIDUAL), ("energies", energies, Fn.ENERGY))


def _known(size: Memory) -> Parts:
    """Sizes as numbers of the program."""
    return Parts({name: Known(getattr(size, name)) for name in SIZE.fields})


def _bound(plan: Plan, memory) -> dict[str, Any]:
    """What is known of the parameters of the kernels."""
    size, lowered = plan.size, plan.integrator

    def apart(kind: type, **known) -> Parts:
        """A tuple whose fields are in variables `kind_field`, but for those that are known."""
        word = kind.__name__.lower()
        names = {name: f"{word}_{name}" for name in kind._fields if name not in known}
        return Parts({name: Array(None, {}, at) for name, at in names.items()} | known)

    fields: dict[str, Any] = {}
    for kind, array in ((REAL, REALS), (WHOLE, WHOLES)):
        fields |= {name: Place(array, place) for name, place in RUN.places(kind).items()}
    known = {name: Known(getattr(memory, name)) for name in FIXED} | {name: Known(0) for name in NEVER}
    return {
        "slots": Table(dict(enumerate(_kernels(plan)))),
        "model": apart(
            Model, fns=Table({int(fn): True for fn in _functions(plan)} | {2 * CAREFUL: judge_field}), size=_known(size)
        ),
        "method": apart(Method, ip=Known(np.asarray(lowered.ip)), sp=Array((len(plan.sp),), _numbers_known(plan), "method_sp")),
        "run": Parts(fields, known),
        "loop": Parts({
            "state": apart(State), "inside": apart(Inside), "scale": apart(Scale, kinds=Known(plan.kinds)), "passing": Parts({}),
        }),
        "record": apart(Record, dense=Array((0, 0), {}, "record_dense")), "events": apart(Events),
    }  # fmt: skip


def _compiled(functions, tapes: dict[str, Tape], entries) -> bytes:
    """Machine code of the functions with these entries."""
    target = host.machine()
    module = ir.Module("pairs")
    module.triple = target.triple
    machine = PairMachine(module, functions)
    written: dict[str, ir.Function] = {}  # equal tapes once: levels often have the same factors, and so has the start
    for model, tape in tapes.items():
        text = tape.text()
        if text not in written:
            written[text] = tape_function(machine, tape, model)
        machine.outside[model] = functools.partial(_model_call, written[text])
    for entry, (name, left) in entries.items():
        _write_entry(machine, entry, name, left)
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = options.slp_vectorization = options.loop_vectorization = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(compiled, passes)
    return target.emit_object(compiled)


def _model_call(made: ir.Function, writer, node) -> None:
    """A call of a model function: (t, a, at_a, b, at_b, data, out, at_out), each array from its offset on."""
    builder = writer.builder
    t, *arrays = node.args
    given = [writer.turned(writer.value(t), writer.type_of(t), "real")]
    for array, at in ((arrays[0], arrays[1]), (arrays[2], arrays[3]), (arrays[4], None), (arrays[5], arrays[6])):
        pointer = writer.value(array).pointer
        given.append(pointer if at is None else builder.gep(pointer, [writer.value(at)], inbounds=True, source_etype=PAIR))
    builder.call(made, given)


def _write_entry(machine: PairMachine, entry: str, name: str, left: list[str]) -> None:
    """An entry: take arrays out of the words, and call a function with those it needs."""
    kinds = {REAL: "real", WHOLE: "whole"}
    places, at = {}, 0
    for array, (_, axes) in ARRAYS.items():
        places[array] = at
        at += 1 + axes
    renamed = {"x": "state_x", "W": "start_W"}
    types: list[Any] = []
    for each in left:
        kind, axes = ARRAYS.get(renamed.get(each, each), (None, 0))
        if kind is None and each not in START_ASKS:
            raise Unprintable(f"{entry} asks for {each}")
        types.append("real" if kind is None else ArrayType(kinds[kind], axes))
    made, result = machine.function(name, tuple(types))
    function = ir.Function(machine.module, ir.FunctionType(WORD, [WORD.as_pointer()]), f"pairs_{entry}")
    builder = ir.IRBuilder(function.append_basic_block())
    word = lambda at: builder.load(builder.gep(function.args[0], [ir.Constant(WORD, at)]), typ=WORD)

    def pointer(array):
        kind = PAIR if ARRAYS[array][0] == REAL else WORD
        return builder.inttoptr(word(places[array]), kind.as_pointer())

    given: list[ir.Value] = []
    for each, kind in zip(left, types, strict=True):
        if kind == "real":
            index = ir.Constant(WORD, START_ASKS.index(each))
            given.append(builder.load(builder.gep(pointer("start_asked"), [index]), typ=PAIR))
        else:
            array = renamed.get(each, each)
            given += [pointer(array), *(word(places[array] + 1 + axis) for axis in range(kind.axes))]
    status = builder.call(made, given)
    builder.ret(status if result == "whole" else builder.zext(status, WORD))
