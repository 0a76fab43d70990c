"""Room for a few numbers on the stack, as Numba has it: arrays that a jitted function takes, of numbers that come in registers.

Where it is inlined the room is gone, and its numbers never leave the registers.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@functools.cache
def room_for(count: int):
    """Return a function without arguments that gives a pointer to room for so many numbers."""

    def room(typing):
        def made(context, builder, signature, arguments):
            whole = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), count))
            return builder.bitcast(whole, ir.DoubleType().as_pointer())

        return types.CPointer(types.float64)(), made

    return intrinsic(room)


@intrinsic
def put(typing, pointer, place, value):
    """Put a number into its place."""

    def made(context, builder, signature, arguments):
        where, index, number = arguments
        builder.store(number, builder.gep(where, [index]))
        return context.get_dummy_value()

    return types.void(types.CPointer(types.float64), types.intp, types.float64), made
