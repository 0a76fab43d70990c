"""Folding: what an expression of a kernel comes to where some of its names are known beforehand."""

from __future__ import annotations

import ast
import inspect
import math
from collections import Counter
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ..kernels.compile import Kernel
from ..kernels.signatures import call_field, call_model, has_function


@dataclass(frozen=True)
class Known:
    """A value that is there before the program runs."""

    value: Any


@dataclass(frozen=True, eq=False)
class Array:
    """An array of the program of which something is known: its shape, and some entries that never change."""

    shape: tuple[int, ...] | None = None
    entries: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Parts:
    """Something whose fields stand apart in the program, at `places`: code that reads and writes them; some are `known`.

    `variables` are the names in that code: they are the same in all functions of the program, and functions that use them
    take them as parameters.
    """

    known: dict[str, Known]
    places: dict[str, ast.Subscript] = field(default_factory=dict)
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """A table of functions: slots by number, or model functions by number."""

    functions: dict[int, Any]


PLAIN = (int, float, bool, np.integer, np.floating, np.bool_)
FOLDED = {"min": min, "max": max, "abs": abs, "int": int, "float": float, "range": range, "len": len}


def plain(value):
    """NumPy numbers as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


class Folding:
    """Rewrites the expressions of one function; `program` makes the functions that it calls."""

    def __init__(self, program, function, known: dict[str, Any], changed: Counter[str]):
        self.program = program
        self.known, self.changed = known, changed
        self.globals = function.__globals__
        self.renamed: dict[str, str] = {}  # locals of the round of an unrolled loop
        self._rounds = 0

    def fold(self, node):
        """Return an expression as `Known` where it is, or its code."""
        return getattr(self, "_on_" + type(node).__name__.lower())(node)

    def _name(self, name):
        if name in self.known:
            return self.known[name]
        if self.changed.get(name):
            return None
        value = self.globals.get(name)
        if isinstance(value, PLAIN):
            return Known(plain(value))
        if value is not None and (callable(value) or isinstance(value, ModuleType)):
            return Known(value)
        if name in FOLDED:
            return Known(FOLDED[name])
        return None

    def _on_name(self, node):
        value = self._name(node.id)
        if isinstance(value, Known):
            return value
        return ast.Name(self.renamed.get(node.id, node.id), ast.Load())

    def _on_constant(self, node):
        return Known(node.value)

    def _on_tuple(self, node):
        parts = [self.fold(each) for each in node.elts]
        if all(isinstance(each, Known) for each in parts):
            return Known(tuple(each.value for each in parts))
        return ast.Tuple([as_code(each) for each in parts], ast.Load())

    def _on_unaryop(self, node):
        value = self.fold(node.operand)
        if isinstance(value, Known):
            return Known(calculate(ast.UnaryOp(node.op, ast.Constant(plain(value.value)))))
        return ast.UnaryOp(node.op, value)

    def _on_binop(self, node):
        left, right = self.fold(node.left), self.fold(node.right)
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(calculate(ast.BinOp(as_code(left), node.op, as_code(right))))
        return ast.BinOp(as_code(left), node.op, as_code(right))

    def _on_compare(self, node):
        parts = [self.fold(node.left), *(self.fold(each) for each in node.comparators)]
        if all(isinstance(each, Known) for each in parts):
            first, *rest = (as_code(each) for each in parts)
            return Known(calculate(ast.Compare(first, node.ops, rest)))
        return ast.Compare(as_code(parts[0]), node.ops, [as_code(each) for each in parts[1:]])

    def _on_boolop(self, node):
        ends = isinstance(node.op, ast.Or)  # the value that decides
        left = []
        for each in node.values:
            value = self.fold(each)
            if not isinstance(value, Known):
                left.append(value)
            elif bool(value.value) == ends:
                if not left:
                    return Known(ends)
                left.append(ast.Constant(ends))
                break
        if not left:
            return Known(not ends)
        return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)

    def _on_ifexp(self, node):
        test = self.fold(node.test)
        if isinstance(test, Known):
            return self.fold(node.body if test.value else node.orelse)
        return ast.IfExp(test, as_code(self.fold(node.body)), as_code(self.fold(node.orelse)))

    def _on_attribute(self, node):
        value = self._name(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(value, Parts):
            return value.known.get(node.attr) or value.places[node.attr]
        if node.attr == "shape" and isinstance(value, Array) and value.shape is not None:
            return Known(value.shape)
        if isinstance(value, Known) and isinstance(value.value, ModuleType):
            return Known(getattr(value.value, node.attr))
        return ast.Attribute(as_code(self.fold(node.value)), node.attr, ast.Load())

    def _on_subscript(self, node):
        index = self.fold(node.slice)
        value = self._name(node.value.id) if isinstance(node.value, ast.Name) else self.fold(node.value)
        if isinstance(index, Known):
            if isinstance(value, Array) and index.value in value.entries:
                return Known(plain(value.entries[index.value]))
            if isinstance(value, Known):
                return Known(plain(value.value[index.value]))
        elif isinstance(value, Known) and uniform(value.value):
            return Known(plain(value.value[0]))
        return ast.Subscript(as_code(self.fold(node.value)), as_code(index), ast.Load())

    def _on_slice(self, node):
        return node

    def _on_call(self, node):
        function = self.fold(node.func)
        if not isinstance(function, Known):
            return ast.Call(function, [as_code(self.fold(each)) for each in node.args], [])
        target = function.value
        if target in self.program.instead:
            return Known(self.program.instead[target])
        if target is has_function:
            return Known(self._table(node.args[0]).functions.get(self.fold(node.args[1]).value) is not None)
        if target is call_field:
            return self._field(*node.args)
        if target is call_model:
            return self._model(*node.args)
        if getattr(target, "slot", None) is not None:  # a call through a table: its first argument
            kernel = self._table(node.args[0]).functions[target.slot]
            return self._call(kernel, node.args[1:])
        arguments = [self.fold(each) for each in node.args]
        if target in FOLDED.values() or getattr(target, "__module__", "") == "math":
            if all(isinstance(each, Known) for each in arguments):
                return Known(target(*(each.value for each in arguments)))
            owner = "math." if getattr(target, "__module__", "") == "math" else ""
            return ast.Call(ast.Name(owner + target.__name__, ast.Load()), [as_code(each) for each in arguments], [])
        return self._call(target, node.args)

    def _table(self, node) -> Table:
        return self.known[node.id]

    def _call(self, function, nodes):
        """A call of one of our own functions, with what is known of its arguments."""
        python = getattr(function, "py_func", None) or (function.py if isinstance(function, Kernel) else function)
        names = list(inspect.signature(python).parameters)
        bound, codes = {}, {}
        for name, node in zip(names, nodes, strict=True):
            value = self._name(node.id) if isinstance(node, ast.Name) else None
            if not isinstance(value, Array | Table | Parts):
                value = self.fold(node)
            if isinstance(value, Known | Array | Table | Parts):
                bound[name] = value
            codes[name] = node.id if isinstance(value, Table) else value
        name, left = self.program.function(python, bound)
        given = []
        for each in left:
            if each not in codes:  # a variable of the program
                given.append(ast.Name(each, ast.Load()))
                continue
            value = codes[each]
            given.append(self.fold_name(value, nodes[names.index(each)]))
        return ast.Call(ast.Name(name, ast.Load()), given, [])

    def fold_name(self, value, node):
        return as_code(self.fold(node)) if isinstance(value, Array) else as_code(value)

    def _field(self, fns, which, t, x, data, K, row):
        t, x, data, K, row = (as_code(self.fold(each)) for each in (t, x, data, K, row))
        zero = ast.Constant(0)
        return self._to_model(which, [t, x, zero, x, zero, data, ast.Subscript(K, row, ast.Load()), zero])

    def _model(self, fns, which, t, a, at_a, b, at_b, data, out, at_out):
        given = [as_code(self.fold(t))]
        for array, at in ((a, at_a), (b, at_b)):
            given += self._place(array, at)
        given.append(as_code(self.fold(data)))
        return self._to_model(which, given + self._place(out, at_out))

    def _to_model(self, which, given):
        number = self.fold(which).value
        call = ast.Call(ast.Name(f"model_{number}", ast.Load()), given, [])
        self.program.calls.setdefault(number, []).append(call)
        return call

    def _place(self, array, at) -> list[ast.expr]:
        """An array and the offset from which it is read or written; of a matrix, the row and the offset in it."""
        code, offset = as_code(self.fold(array)), self.fold(at)
        value = self._name(array.id) if isinstance(array, ast.Name) else None
        if isinstance(value, Array) and value.shape is not None and len(value.shape) == 2:
            width = value.shape[1]
            if isinstance(offset, Known):
                row, rest = divmod(offset.value, width)
                return [ast.Subscript(code, ast.Constant(row), ast.Load()), ast.Constant(rest)]
            row = ast.BinOp(offset, ast.FloorDiv(), ast.Constant(width))
            return [ast.Subscript(code, row, ast.Load()), ast.BinOp(offset, ast.Mod(), ast.Constant(width))]
        return [code, as_code(offset)]


def uniform(value) -> bool:
    """Whether an array has the same number everywhere."""
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0 and bool(np.all(value == value[0]))


def calculate(node):
    """The value of an expression of numbers."""
    expression = ast.fix_missing_locations(ast.Expression(node))
    return plain(eval(compile(expression, "known", "eval"), {"__builtins__": {}, "inf": math.inf, "nan": math.nan}))


def as_code(value):
    """An expression as code; a known number as a literal."""
    if not isinstance(value, Known):
        return value
    number = plain(value.value)
    if isinstance(number, tuple):
        return ast.Tuple([as_code(Known(each)) for each in number], ast.Load())
    if isinstance(number, range):
        return ast.Call(
            ast.Name("range", ast.Load()), [ast.Constant(number.start), ast.Constant(number.stop)], []
        )
    if isinstance(number, float) and not math.isfinite(number):
        name = ast.Name("nan" if number != number else "inf", ast.Load())
        return ast.UnaryOp(ast.USub(), name) if number < 0 else name
    if not isinstance(number, PLAIN):
        raise TypeError(f"{number!r} cannot stand in a program")
    return ast.Constant(number)
