"""Machine code of a program for members side by side: its functions, the model's, and an entry that takes addresses of arrays."""

from __future__ import annotations

import ast
import functools

import llvmlite.binding as llvm
from llvmlite import ir

from ..model.emit import FUNCTION, timed
from ..model.machine_code import module_of
from ..model.tape import Tape
from ..native import host
from .lane_machine import LaneMachine, Word
from .lane_memory import DOUBLE, LANES, REAL, SHARED, TRUTH, WHOLE, WORD, LaneArray, LaneNumber, LanePlace

ENTRY = "run_lanes"


def compiled(
    functions: dict[str, ast.FunctionDef], tapes: dict[str, Tape], entry: str, given: list[str],
    arrays: dict[str, LaneArray], width: int,
) -> bytes:  # fmt: skip
    """Return an object file with ENTRY(words), which calls `entry` with those `given` of the arrays.

    The words have for each array its address and, for SHARED, the lengths of its axes. Model functions are optimized by
    themselves, as they are for one member: what they compute is the same to the last bit.
    """
    target = host.machine()
    module = ir.Module("lanes")
    module.triple = target.triple
    machine = LaneMachine(module, width, functions, fuses())
    machine.words |= {"next_of": Word(_next_of, LaneNumber(WHOLE, True)), "lane": Word(_lane, LaneNumber(WHOLE, True))}
    written: dict[str, ir.Function] = {}  # equal tapes once: levels often have the same factors
    own: dict[str, Tape] = {}
    for name, tape in tapes.items():
        text = tape.text()
        if text not in written:
            own[name] = tape
            written[text] = _for_some(machine, tape, name)
        machine.words[name] = Word(functools.partial(_model_call, written[text]))
    _write_entry(machine, entry, given, arrays)
    whole = llvm.parse_assembly(str(module))
    whole.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_unrolling = options.slp_vectorization = options.loop_vectorization = False
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(whole, passes)
    whole.link_in(module_of(own, target, width, own_times=True))
    return target.emit_object(whole)


def fuses() -> bool:
    """Whether this processor rounds a product and a sum once."""
    return bool(dict(llvm.get_host_cpu_features()).get("fma")) or target_is_arm()


def target_is_arm() -> bool:
    """Whether this is a processor by ARM, which always does."""
    return llvm.get_default_triple().startswith(("aarch64", "arm64"))


def _for_some(machine: LaneMachine, tape: Tape, name: str) -> ir.Function:
    """A model function that writes for the lanes of a mask alone."""
    memory, many = machine.memory, len(tape.outputs)
    made = ir.Function(machine.module, timed(FUNCTION, machine.width, True), name)
    form = ir.FunctionType(ir.VoidType(), [memory.mask, memory.vector(REAL), *[DOUBLE.as_pointer()] * 4])
    function = ir.Function(machine.module, form, f"{name} for some")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    room = builder.alloca(memory.vector(REAL), many)
    mask, t, a, b, data, out = function.args
    before = [ir.Constant(ir.IntType(8).as_pointer(), None), ir.Constant(WORD, 0), t, a, b, data]
    with builder.if_else(memory.all(builder, mask)) as (everyone, some):
        with everyone:
            builder.call(made, [*before, out])
        with some:
            builder.call(made, [*before, builder.bitcast(room, DOUBLE.as_pointer())])
            target = LanePlace(LaneArray(REAL, LANES, (many,)), out, (ir.Constant(WORD, many),))
            for i in range(many):
                at = ir.Constant(WORD, i)
                memory.store(builder, target, [at], builder.load(builder.gep(room, [at])), mask)
    builder.ret_void()
    return function


def _model_call(made: ir.Function, writer, node: ast.Call) -> None:
    """A call of a model function: (t, a, at_a, b, at_b, data, out, at_out), each array from its offset on."""
    builder, memory = writer.builder, writer.memory
    t, *arrays = node.args
    given = [writer.mask(), writer.real(t)]
    for array, at in ((arrays[0], arrays[1]), (arrays[2], arrays[3]), (arrays[4], None), (arrays[5], arrays[6])):
        begin = writer.value(array).begin
        if at is not None:
            words = builder.mul(writer.value(at), ir.Constant(WORD, memory.width))
            begin = builder.gep(begin, [words], inbounds=True, source_etype=DOUBLE)
        given.append(begin)
    builder.call(made, given)


def _next_of(writer, node: ast.Call) -> ir.Value:
    """Each lane at work takes the next member that waits: next_of(place, members)."""
    builder, memory = writer.builder, writer.memory
    place, members = (writer.value(each) for each in node.args)
    mask = writer.mask()
    with builder.goto_entry_block():
        room = builder.alloca(memory.vector(WHOLE))
    builder.store(memory.all_of(WHOLE, -1), room)
    for k in range(memory.width):
        lane = ir.Constant(ir.IntType(32), k)
        with builder.if_then(builder.extract_element(mask, lane)):
            taken = builder.load(place.begin)
            with builder.if_then(builder.icmp_signed("<", taken, members.lengths[0])):
                number = builder.load(builder.gep(members.begin, [taken], source_etype=WORD))
                builder.store(builder.insert_element(builder.load(room), number, lane), room)
                builder.store(builder.add(taken, ir.Constant(WORD, 1)), place.begin)
    return builder.load(room)


def _lane(writer, node: ast.Call) -> ir.Constant:
    """The number of each lane."""
    return ir.Constant(writer.memory.vector(WHOLE), list(range(writer.memory.width)))


def _write_entry(machine: LaneMachine, name: str, given: list[str], arrays: dict[str, LaneArray]) -> None:
    """The entry: take arrays out of the words that are given, and call the program with those it needs."""
    function = ir.Function(machine.module, ir.FunctionType(ir.VoidType(), [WORD.as_pointer()]), ENTRY)
    builder = ir.IRBuilder(function.append_basic_block())
    word = lambda at: builder.load(builder.gep(function.args[0], [ir.Constant(WORD, at)]), typ=WORD)
    places, at = {}, 0
    for array, kind in arrays.items():
        places[array] = at
        at += 1 + (len(kind.shape) if kind.layout == SHARED else 0)
    handed: list[ir.Value] = [machine.memory.all_of(TRUTH, 1)]
    for each in given:
        kind = arrays[each]
        handed.append(builder.inttoptr(word(places[each]), (DOUBLE if kind.kind == REAL else WORD).as_pointer()))
        if kind.layout == SHARED:
            handed += [word(places[each] + 1 + axis) for axis in range(len(kind.shape))]
    builder.call(machine.function(name, tuple(arrays[each] for each in given)), handed)
    builder.ret_void()
