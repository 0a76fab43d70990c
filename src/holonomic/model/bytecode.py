"""What the bytecode of a function says before it is run: whether it decides, remembers, or builds classes."""

from __future__ import annotations

import dis
import functools
import types

# `is None` is no decision on a value
DECIDES = frozenset(
    code for name, code in dis.opmap.items()
    if ("JUMP" in name and "IF" in name and "NONE" not in name) or name in ("UNARY_NOT", "CONTAINS_OP")
)  # fmt: skip
_GLOBALS = frozenset(dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_CELLS = frozenset(dis.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))


def parts(code: types.CodeType):
    """The code of a function, and of the functions, classes and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from parts(constant)


@functools.lru_cache(4096)
def branches(code: types.CodeType) -> bool:
    """Tell whether a function has an `if` of its own; a generator decides with whoever asks it for values."""
    lazy = code.co_flags & (0x20 | 0x80 | 0x200)  # generators and coroutines
    return not lazy and any(DECIDES & set(part.co_code[::2]) for part in parts(code))


@functools.lru_cache(4096)
def keeps_memory(code: types.CodeType) -> str | None:
    """Return which name outside itself a function sets, if any: the global 'x', or 'x' of the function around it."""
    for part in parts(code):
        held = set(part.co_code[::2])
        if not held & (_GLOBALS | _CELLS):
            continue
        for step in dis.get_instructions(part):
            if step.opcode in _GLOBALS:
                return f"the global {step.argval!r}"
            if step.opcode in _CELLS and step.argval in code.co_freevars and step.argval in part.co_freevars:
                return f"{step.argval!r} of the function around it"
    return None


@functools.lru_cache(4096)
def builds_classes(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that classes inside a function may look up while they are built."""
    build = dis.opmap["LOAD_BUILD_CLASS"]
    found: set[str] = set()
    if any(build in part.co_code[::2] for part in parts(code)):
        for part in parts(code):
            found.update(part.co_names)
    return tuple(sorted(found))
