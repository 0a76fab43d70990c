"""The types of what is printed as machine code of pairs.

Types follow from what a function is called with: a whole number, a truth, a pair, a double (what `high` and `low` give), a number
that stands in the text (a double, which becomes a pair where it is stored or meets another one), arrays of these, and several of
them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from . import pair_functions
from .pair_arithmetic import BIT, DOUBLE, PAIR, WORD

WHOLE, TRUTH, REAL, FLOAT, TEXT = "whole", "truth", "real", "float", "text"
LLVM = {WHOLE: WORD, TRUTH: BIT, REAL: PAIR, FLOAT: DOUBLE, TEXT: DOUBLE}
RANK = (TRUTH, WHOLE, TEXT, FLOAT, REAL)
# elementary functions that are written out, and no words of the printer
OWN = {name for name, each in vars(pair_functions).items() if getattr(each, "__module__", "") == pair_functions.__name__}


class Unprintable(Exception):
    """A piece of Python that has no machine code of pairs; its text says which."""


@dataclass(frozen=True)
class ArrayType:
    """An array of wholes, reals or floats with one axis or two."""

    kind: str
    axes: int


Type = Any  # one of the names above, an ArrayType, a tuple of types; None where nothing is known yet


@dataclass
class ArrayPlace:
    """An array in the program: where it begins, and the length of each axis."""

    type: ArrayType
    pointer: ir.Value
    lengths: tuple[ir.Value, ...]


def joined(a: Type, b: Type) -> Type:
    """The type of a variable that is given both."""
    if a is None or a == b:
        return b
    if b is None:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(joined(*both) for both in zip(a, b, strict=True))
    if isinstance(a, ArrayType | tuple) or isinstance(b, ArrayType | tuple):
        raise Unprintable(f"a variable of the types {a} and {b}")
    return max(a, b, key=RANK.index)


def stored(kind: Type) -> Type:
    """The type in which a variable keeps a value: numbers of the text become pairs."""
    if isinstance(kind, tuple):
        return tuple(map(stored, kind))
    return REAL if kind == TEXT else kind


def llvm_type(kind: Type) -> ir.Type:
    """How a value is handed on."""
    if isinstance(kind, tuple):
        return ir.LiteralStructType([llvm_type(each) for each in kind])
    return LLVM[kind]


class Typed:
    """What a function knows of the types of its variables and expressions.

    Attributes
    ----------
    machine : PairMachine
    elementary : bool
        Whether it is one of `pair_functions`.
    types : dict
        Of each variable, as far as it is found.
    result : Type
        Of what it returns.
    """

    machine: Any
    elementary: bool
    types: dict[str, Type]
    result: Type

    def _look_at(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.Assign):
                self._give(node.targets[0], self.type_of(node.value))
            elif isinstance(node, ast.AugAssign):
                self._give(node.target, self._of_operation(self.type_of(node.target), node.op, self.type_of(node.value)))
            elif isinstance(node, ast.For):
                self._give(node.target, WHOLE)
                self._look_at(node.body)
            elif isinstance(node, ast.While):
                self._look_at(node.body)
            elif isinstance(node, ast.If):
                self._look_at(node.body)
                self._look_at(node.orelse)
            elif isinstance(node, ast.Return) and node.value is not None:
                self.result = joined(self.result, stored(self.type_of(node.value)))

    def _give(self, target, kind: Type) -> None:
        if kind is None:
            return
        if isinstance(target, ast.Tuple):
            for name, each in zip(target.elts, kind, strict=True):
                self._give(name, each)
        elif isinstance(target, ast.Name):
            self.types[target.id] = joined(self.types.get(target.id), stored(kind))

    def type_of(self, node) -> Type:
        """The type of an expression, as far as the types of the variables are known."""
        return getattr(self, f"_type_{type(node).__name__.lower()}", self._untyped)(node)

    def _untyped(self, node):
        raise Unprintable(ast.unparse(node))

    def _type_constant(self, node):
        value = node.value
        return TRUTH if isinstance(value, bool) else WHOLE if isinstance(value, int) else TEXT

    def _type_name(self, node):
        if node.id in self.types:
            return self.types[node.id]
        if node.id in ("nan", "inf"):
            return TEXT
        value = getattr(pair_functions, node.id, None) if self.elementary else None
        if isinstance(value, float):
            return TEXT
        if isinstance(value, int):
            return WHOLE
        if isinstance(value, np.ndarray):
            return ArrayType(REAL if value.ndim == 2 else FLOAT, 1)
        return None

    def _type_tuple(self, node):
        kinds = tuple(map(self.type_of, node.elts))
        return None if None in kinds else kinds

    def _type_unaryop(self, node):
        return TRUTH if isinstance(node.op, ast.Not) else self.type_of(node.operand)

    def _type_binop(self, node):
        return self._of_operation(self.type_of(node.left), node.op, self.type_of(node.right))

    @staticmethod
    def _of_operation(left, op, right):
        if left is None or right is None:
            return None
        kinds = {left, right}
        if REAL in kinds:
            return REAL
        if FLOAT in kinds:
            return FLOAT
        if TEXT in kinds or isinstance(op, ast.Div):
            return REAL
        return WHOLE

    def _type_compare(self, node):
        return TRUTH

    _type_boolop = _type_compare

    def _type_ifexp(self, node):
        return joined(stored(self.type_of(node.body)), stored(self.type_of(node.orelse)))

    def _type_subscript(self, node):
        if isinstance(node.value, ast.Attribute):  # .shape
            return WHOLE
        kind = self.type_of(node.value)
        if kind is None or isinstance(node.slice, ast.Slice):
            return kind
        left = kind.axes - (len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1)
        return ArrayType(kind.kind, left) if left else kind.kind

    def _type_call(self, node):
        name = ast.unparse(node.func)
        if name in ("high", "low", "two_to", "nearest"):
            return FLOAT
        if self.elementary and name in ("math.floor", "math.log", "math.atan2"):
            return FLOAT
        if name in ("pair", "exactly", "root", "nothing", "infinity", "math.sqrt", "float"):
            return REAL
        if name in ("int", "len"):
            return WHOLE
        if name in ("math.isnan", "math.isfinite"):
            return TRUTH
        kinds = tuple(map(self.type_of, node.args))
        if None in kinds:
            return None
        if self._is_elementary(name):
            return REAL
        if name in ("abs", "min", "max", "math.copysign"):
            found = None
            for each in kinds:
                found = joined(found, each)
            return stored(found) if name == "math.copysign" else found
        if name in self.machine.outside:
            return None
        return self.machine.function(name, self._handed(kinds), self.elementary)[1]

    def _is_elementary(self, name: str) -> bool:
        """Whether a kernel means a function of pairs by the name of one of Python's `math`."""
        return not self.elementary and name.startswith("math.") and name.removeprefix("math.") in OWN

    @staticmethod
    def _handed(kinds):
        return tuple(map(stored, kinds))
