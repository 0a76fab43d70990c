"""What marks mean to Numba, and the options under which it compiles.

Numba is asked for nothing but typing and lowering. It meets our functions as plain objects; here it learns that a leaf is a
function to compile, that a slot call goes through an address, that a view is a pointer.
"""

from __future__ import annotations

import functools

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, overload, register_jitable, type_callable, typeof_impl

from . import abi
from .marks import MARKED, Inner, Instead, Kernel, Leaf, SlotCall, View, call_model_at, leave_room, numbers_at, take_room, whole_at

# contract: a product and a sum may be rounded once instead of twice; nothing else is relaxed.
# _nrt=False: no reference is counted, and a kernel that would allocate does not compile at all.
OPTIONS = {"error_model": "numpy", "nogil": True, "fastmath": {"contract"}, "_nrt": False}

_taught = 0  # how many of the marks Numba knows


@functools.cache
def dispatcher(marked: Leaf | Kernel):
    """The dispatcher by which Numba compiles a leaf or kernel; one for each."""
    return numba.njit(**OPTIONS)(marked.py)


def teach() -> None:
    """Tell Numba of all marks that were made since the last time."""
    global _taught
    while _taught < len(MARKED):
        mark = MARKED[_taught]
        _taught += 1
        if isinstance(mark, Inner):
            options = OPTIONS | ({"forceinline": True} if mark.inline else {})
            register_jitable(**options)(mark.function)
        elif isinstance(mark, Instead):
            _replace(mark)
        elif isinstance(mark, SlotCall):
            _call_through_address(mark)
        elif isinstance(mark, View):
            _see(mark)


@typeof_impl.register(Leaf)
def _type_of_leaf(leaf, _):
    return types.Dispatcher(dispatcher(leaf))


def _replace(mark: Instead) -> None:
    @overload(mark.function, jit_options=OPTIONS, strict=False)
    def compiled(*arguments):
        return mark.replacement


def _call_through_address(mark: SlotCall) -> None:
    wanted = [abi.numba_type(kind) for kind in mark.signature.arguments]
    returned = abi.numba_type(mark.signature.returns)

    @intrinsic
    def at_address(typingctx, address, arguments):
        def codegen(context, builder, outer, args):
            values = cgutils.unpack_tuple(builder, args[1])
            cast = [
                context.cast(builder, value, have, want)
                for value, have, want in zip(values, outer.args[1].types, wanted, strict=True)
            ]
            return abi.call_slot(context, builder, mark.signature, args[0], cast)

        return returned(address, arguments), codegen

    index = mark.index

    @overload(mark.call, jit_options=OPTIONS)
    def compiled(slots, *arguments):
        def through_address(slots, *arguments):
            return at_address(slots[index], arguments)

        return through_address


def _see(mark: View) -> None:
    kind, row = abi.numba_type(mark.layout.type), mark.row

    @intrinsic
    def pointed_at(typingctx, numbers, index):
        def codegen(context, builder, signature, args):
            first = context.make_array(signature.args[0])(context, builder, args[0]).data
            return builder.bitcast(builder.gep(first, [args[1]]), context.get_value_type(kind))

        return kind(numbers, types.int64), codegen

    @overload(mark.seen, jit_options=OPTIONS)
    def compiled(numbers):
        if row is None:
            return lambda numbers: pointed_at(numbers, 0)
        return lambda numbers: pointed_at(numbers, row * numbers.shape[1])


@intrinsic
def _call_pointer(typingctx, address, context_address, mode, t, a, at_a, b, at_b, data, out, at_out):
    double, whole = ir.DoubleType(), ir.IntType(64)
    pointer = double.as_pointer()
    byte_pointer = ir.IntType(8).as_pointer()

    def codegen(context, builder, signature, args):
        def start(position, offset=None):
            array_type = signature.args[position]
            first = context.make_array(array_type)(context, builder, args[position]).data
            return first if offset is None else builder.gep(first, [args[offset]])

        function_type = ir.FunctionType(whole, [byte_pointer, whole, double, pointer, pointer, pointer, pointer])
        function = builder.inttoptr(args[0], function_type.as_pointer())
        held = builder.inttoptr(args[1], byte_pointer)
        return builder.call(function, [held, *args[2:4], start(4, 5), start(6, 7), start(8), start(9, 10)])

    i = types.int64
    return i(i, i, i, types.float64, a, i, b, i, data, out, i), codegen


@overload(call_model_at, jit_options=OPTIONS)
def _call_model_at(address, context, mode, t, a, at_a, b, at_b, data, out, at_out):
    def through_address(address, context, mode, t, a, at_a, b, at_b, data, out, at_out):
        return _call_pointer(address, context, mode, t, a, at_a, b, at_b, data, out, at_out)

    return through_address


def _sees_array(function, kind) -> None:
    """Let kernels see numbers at an address as an array. No function of theirs may return one: this is no function there."""
    whole = types.Array(kind, 1, "C")

    @type_callable(function)
    def typing(context):
        return lambda address, n: whole

    @lower_builtin(function, types.Integer, types.Integer)
    def lowered(context, builder, signature, args):
        made = context.make_array(whole)(context, builder)
        size = context.get_constant(types.intp, 8)
        context.populate_array(
            made, data=builder.inttoptr(args[0], made.data.type), shape=cgutils.pack_array(builder, [args[1]]),
            strides=cgutils.pack_array(builder, [size]), itemsize=size, meminfo=None,
        )  # fmt: skip
        return made._getvalue()


_sees_array(numbers_at, types.float64)
_sees_array(whole_at, types.int64)


@intrinsic
def _malloc(typingctx, n):
    def codegen(context, builder, signature, args):
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(pointer, [word]), "malloc")
        return builder.ptrtoint(builder.call(function, [builder.mul(args[0], word(8))]), word)

    return types.int64(types.int64), codegen


@intrinsic
def _free(typingctx, address):
    def codegen(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [pointer]), "free")
        builder.call(function, [builder.inttoptr(args[0], pointer)])
        return args[0]

    return types.int64(types.int64), codegen


@overload(take_room, jit_options=OPTIONS)
def _take_room(n):
    return lambda n: _malloc(n)


@overload(leave_room, jit_options=OPTIONS)
def _leave_room(address):
    return lambda address: _free(address)
