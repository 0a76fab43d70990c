"""What the bytecode of a function says before it is run: what it reads outside itself, and whether it decides, remembers, or
builds classes.

Modules are read by attributes that stand in the code (`np.linalg.norm`); that is all that can be told of them. Of a module that
is handed on (`self.xp = np`) any name of the code may be read. Code that looks things up by names it makes, imports, defines
classes, or changes variables of others is not told at all.
"""

from __future__ import annotations

import dis
import functools
import types
from dataclasses import dataclass, field

Chain = tuple[str, ...]  # attributes that follow a name

_READ_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
_READ_AROUND = {"LOAD_DEREF", "LOAD_CLASSDEREF"}
_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR"}
_REFUSED = {
    "IMPORT_NAME": "an import inside a function", "LOAD_BUILD_CLASS": "a class inside a function",
    "STORE_GLOBAL": "a function that sets a global", "DELETE_GLOBAL": "a function that deletes a global",
    "LOAD_LOCALS": "a class inside a function", "LOAD_FROM_DICT_OR_GLOBALS": "a class inside a function",
    "LOAD_FROM_DICT_OR_DEREF": "a class inside a function",
}  # fmt: skip
# Attributes by which code gets at names, frames and code; of those with two underscores only these are harmless.
_DOORS = {
    "format", "format_map", "gi_frame", "cr_frame", "ag_frame", "f_globals", "f_locals", "f_builtins", "f_back", "ctypes", "base",
}  # fmt: skip
_CHANGING = {
    "add", "append", "clear", "discard", "extend", "fill", "insert", "pop", "popitem", "put", "remove", "reverse", "setdefault",
    "sort", "update", "write",
}  # fmt: skip  # methods by which code changes lists, tables and arrays
_HARMLESS = {"__init__", "__post_init__", "__setattr__", "__delattr__", "__class__", "__len__", "__getitem__", "__call__"}
# `is None` is no decision on a value
_DECIDES = frozenset(
    code for name, code in dis.opmap.items()
    if ("JUMP" in name and "IF" in name and "NONE" not in name) or name in ("UNARY_NOT", "CONTAINS_OP")
)  # fmt: skip
_SET_GLOBALS = frozenset(dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_SET_CELLS = frozenset(dis.opmap[name] for name in ("STORE_DEREF", "DELETE_DEREF"))


@dataclass
class Reads:
    """Names with the attributes that are taken of them; `refused` says why nothing can be known.

    `changes`: whether the code may change objects, its own or others.
    """

    names: set[str] = field(default_factory=set)  # all attributes that it may take of anything
    outside: dict[str, set[Chain]] = field(default_factory=dict)
    around: dict[str, set[Chain]] = field(default_factory=dict)
    refused: str | None = None
    changes: bool = False


def code_parts(code: types.CodeType):
    """The code of a function, and of the functions, classes and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_parts(constant)


@functools.lru_cache(maxsize=4096)
def reads(code: types.CodeType) -> Reads:
    """Return what code reads, inner functions included."""
    found, free = Reads(), set(code.co_freevars)
    for part in code_parts(code):
        _collect(part, free, found)
    return found


def _collect(code: types.CodeType, free: set[str], found: Reads) -> None:
    found.names.update(code.co_names)
    found.names.update(name for each in code.co_consts if type(each) is tuple for name in each if type(name) is str)  # `match`
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE", "NOP")]
    for at, step in enumerate(steps):
        name = step.opname
        if name in _REFUSED:
            found.refused = _REFUSED[name]
        elif name == "STORE_DEREF" and step.argval in free:
            found.refused = "a function that sets a variable of the one around it"
        elif name in _ATTRIBUTE:
            attribute = str(step.argval)
            found.changes |= name in ("STORE_ATTR", "DELETE_ATTR") or attribute in _CHANGING
            if attribute in _DOORS or (attribute.startswith("__") and attribute not in _HARMLESS):
                found.refused = f"the attribute {attribute}"
        elif name in _READ_GLOBALS:
            found.outside.setdefault(step.argval, set()).add(_chain(steps, at))
        elif name in _READ_AROUND:
            found.around.setdefault(step.argval, set()).add(_chain(steps, at))


def _chain(steps: list[dis.Instruction], at: int) -> Chain:
    names = []
    for step in steps[at + 1 :]:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        names.append(str(step.argval))
    return tuple(names)


@functools.lru_cache(4096)
def branches(code: types.CodeType) -> bool:
    """Tell whether a function has an `if` of its own; a generator decides together with its caller."""
    lazy = code.co_flags & (0x20 | 0x80 | 0x200)  # generators and coroutines
    return not lazy and any(_DECIDES & set(part.co_code[::2]) for part in code_parts(code))


@functools.lru_cache(4096)
def keeps_memory(code: types.CodeType) -> str | None:
    """Return which name outside itself a function sets, if any: the global 'x', or 'x' of the function around it."""
    for part in code_parts(code):
        held = set(part.co_code[::2])
        if not held & (_SET_GLOBALS | _SET_CELLS):
            continue
        for step in dis.get_instructions(part):
            if step.opcode in _SET_GLOBALS:
                return f"the global {step.argval!r}"
            if step.opcode in _SET_CELLS and step.argval in code.co_freevars and step.argval in part.co_freevars:
                return f"{step.argval!r} of the function around it"
    return None


@functools.lru_cache(4096)
def builds_classes(code: types.CodeType) -> tuple[str, ...]:
    """Return the names that classes inside a function may look up while they are built."""
    build = dis.opmap["LOAD_BUILD_CLASS"]
    found: set[str] = set()
    if any(build in part.co_code[::2] for part in code_parts(code)):
        for part in code_parts(code):
            found.update(part.co_names)
    return tuple(sorted(found))
