"""What is copied into every place it is called from, and what is not.

A model function has hundreds of operations and is called a dozen times in a step. Copied into each of these places, the
program no longer fits the instruction cache: twice as slow on an H200, and three times as long to compile.
"""

from __future__ import annotations

from numba import cuda, types
from numba.core import config

if config.ENABLE_CUDASIM:

    def copied(function):
        """A device function; the simulator calls everything."""
        return cuda.jit(device=True)(function)

    def stay_apart():
        """Nothing."""

    def kernel(cache, registers):
        """A kernel; the simulator has no registers."""
        return cuda.jit(cache=cache)

else:
    from numba.cuda.extending import intrinsic

    def copied(function):
        """Mark a device function as one to be copied to where it is called from."""
        return cuda.jit(device=True, forceinline=True)(function)

    def kernel(cache, registers):
        """Mark a kernel whose threads have so many registers at most, so that more of them run at once."""
        return cuda.jit(cache=cache, max_registers=registers)

    @intrinsic
    def stay_apart(typingctx):
        """Mark the function this is called in as one to be called, not copied."""

        def codegen(context, builder, signature, args):
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.none(), codegen
