"""Where a thread of a GPU keeps the fields of its run: in the shared memory of its block, as far as they fit.

Most of these fields are asked for once or twice in a step. As registers they take the room of what a step computes with, and
the compiler spills them to local memory. There they come back from beyond the caches, which the arrays of all threads
together outgrow, and one such load that a branch waits for is 1 % of a step. Shared memory answers at once: on an H200 sweeps
of the seven-body mechanism are 1.2 times as fast with it.

Whole numbers take four bytes there; those that are set to more than that holds stay where they were. What nothing writes is
the same for all members, and stands there once for a block.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .one_member import REALS, WHOLES

BLOCK = 256  # threads of a block; with 255 registers each they just fit a multiprocessor
ROOM = 48 * 1024  # bytes of shared memory that a block may have without more ado
NARROW = 1 << 31  # from here on a whole number needs eight bytes
OWN = {REALS: ("own_reals", "float64", 8), WHOLES: ("own_wholes", "int32", 4)}  # name, type and bytes of an array
SAME = {REALS: ("same_reals", "float64", 8), WHOLES: ("same_wholes", "int64", 8)}

Field = tuple[str, int]  # array and index


@dataclass(frozen=True)
class SharedFields:
    """Which fields lie in shared memory, and where."""

    places: dict[Field, Field]

    def code(self, array: str, index: int) -> str:
        """Where a field stands, as it is written in the program."""
        array, index = self.places.get((array, index), (array, index))
        return f"{array}[{index}]"

    def lines(self) -> list[str]:
        """Statements of the entry that make the arrays."""
        out = []
        for name, kind, each in [(*OWN[array][:2], True) for array in OWN] + [(*SAME[array][:2], False) for array in SAME]:
            size = sum(array == name for array, _ in self.places.values())
            if size and each:
                out.append(f"    {name} = cuda.shared.array(({size}, {BLOCK}), {kind})[:, cuda.threadIdx.x]")
            elif size:
                out.append(f"    {name} = cuda.shared.array({size}, {kind})")
        return out

    def given(self, array: str) -> list[str]:
        """Names of the arrays that hold the fields of `array`, itself included."""
        return [array, *dict.fromkeys(new for (old, _), (new, _) in self.places.items() if old == array)]


def shared_fields(functions: tuple[ast.FunctionDef, ...], asked: set[Field], narrow: bool) -> SharedFields:
    """Choose the fields of a program; `asked` are read when it has ended, `narrow`: no counter needs eight bytes."""
    stored, read = set(), set(asked)
    for node, field in _fields(*functions):
        (stored if isinstance(node.ctx, ast.Store) else read).add(field)
    wide = _wide(functions)
    room, places, count = ROOM, {}, {}

    def place(field: Field, where: tuple[str, str, int], threads: int) -> None:
        nonlocal room
        name, _, size = where
        if size * threads <= room:
            room -= size * threads
            places[field] = name, count.get(name, 0)
            count[name] = count.get(name, 0) + 1

    for field in sorted(read - stored):
        place(field, SAME[field[0]], 1)
    for field in sorted(read & stored):
        if field[0] == REALS or (narrow and field not in wide):
            place(field, OWN[field[0]], BLOCK)
    return SharedFields(places)


def in_shared_memory(functions: tuple[ast.FunctionDef, ...], shared: SharedFields) -> list[ast.FunctionDef]:
    """The functions, with these fields taken from there."""
    moved = _Moved(shared)
    return [moved.visit(function) for function in functions]


class _Moved(ast.NodeTransformer):
    """Fields at their new places, and the arrays there handed on with those that held them."""

    def __init__(self, shared: SharedFields):
        self.shared = shared

    def visit_Subscript(self, node):
        self.generic_visit(node)
        place = self.shared.places.get(_field(node))
        return node if place is None else ast.Subscript(ast.Name(place[0], ast.Load()), ast.Constant(place[1]), node.ctx)

    def visit_Call(self, node):
        self.generic_visit(node)
        names = [self.shared.given(each.id) if isinstance(each, ast.Name) and each.id in OWN else [each] for each in node.args]
        handed = [ast.Name(each, ast.Load()) if isinstance(each, str) else each for part in names for each in part]
        return ast.Call(node.func, handed, node.keywords)

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        names = [self.shared.given(each.arg) if each.arg in OWN else [each.arg] for each in node.args.args]
        node.args.args = [ast.arg(each) for part in names for each in part]
        return node


def _field(node: ast.AST) -> Field | None:
    """The field that a subscript means."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in OWN:
        if isinstance(node.slice, ast.Constant):
            return node.value.id, node.slice.value
    return None


def _fields(*trees: ast.AST) -> Iterator[tuple[ast.Subscript, Field]]:
    for node in (each for tree in trees for each in ast.walk(tree)):
        field = _field(node)
        if field is not None:
            yield node, field  # type: ignore[misc]


def _wide(functions: tuple[ast.FunctionDef, ...]) -> set[Field]:
    """Fields that are set to large numbers, or to what such a field holds."""
    wide: set[Field] = set()
    while True:
        before = len(wide)
        for node in (each for function in functions for each in ast.walk(function)):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                numbers = [each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)]
                large = any(isinstance(each, int) and abs(each) >= NARROW for each in numbers)
                if large or any(field in wide for _, field in _fields(node.value)):
                    wide |= {field for _, field in _fields(*targets)}
        if len(wide) == before:
            return wide
