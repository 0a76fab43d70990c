"""stay_apart(): keeps a device function from being copied into every place it is called from.

A model function has hundreds of operations and is called a dozen times in a step. Copied into each of these places,
the program no longer fits the instruction cache and takes several times longer to compile.
"""

from __future__ import annotations

from numba import types
from numba.core import config

if not config.ENABLE_CUDASIM:
    from numba.cuda.extending import intrinsic

    @intrinsic
    def stay_apart(typingctx):
        """Mark the function this is called in as one to be called, not copied."""

        def codegen(context, builder, signature, args):
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.none(), codegen

else:

    def stay_apart():
        """Nothing: the simulator calls everything."""
