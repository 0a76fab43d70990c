"""Folding: what an expression of a kernel comes to where some of its names are known beforehand."""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections import Counter
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ..kernels.signatures import call_field, call_model, has_function
from ..native.marks import MARKED, Kernel, Leaf, SlotCall, View


@functools.cache
def mark_of(function, kind: type) -> Any:
    """Return the mark of this kind that a function has; None: it has none."""
    return next((mark for mark in MARKED if isinstance(mark, kind) and mark[0] is function), None)


@dataclass(frozen=True)
class Known:
    """A value that is there before the program runs."""

    value: Any


@dataclass(frozen=True, eq=False)
class Array:
    """An array of the program of which something is known: its shape, and some entries that never change.

    `name` is the variable that holds it where that is the same in all functions; None: the parameter that it is given to.
    """

    shape: tuple[int, ...] | None = None
    entries: dict[int, float] = field(default_factory=dict)
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A table of functions: slots by number, or model functions by number."""

    functions: dict[int, Any]


@dataclass(frozen=True, eq=False)
class Place:
    """Where a field that changes stands."""

    array: str
    index: int

    def code(self, context: ast.expr_context) -> ast.Subscript:
        return ast.Subscript(ast.Name(self.array, ast.Load()), ast.Constant(self.index), context)


@dataclass(frozen=True, eq=False)
class Parts:
    """A tuple or a record whose fields stand apart in the program; of some of those with a place the value is `known`.

    The variables that hold them are the same in all functions of the program; functions that use them have them as
    parameters.
    """

    fields: dict[str, Any]  # Known, Table, Array, Place or Parts
    known: dict[str, Known] = field(default_factory=dict)

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, each once."""
        found: list[str] = []
        for value in self.fields.values():
            if isinstance(value, Parts):
                found += value.variables
            elif isinstance(value, Array) and value.name is not None:
                found.append(value.name)
            elif isinstance(value, Place):
                found.append(value.array)
        return tuple(dict.fromkeys(found))


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
        value = self.program.numbers.get(name, self.globals.get(name))
        if isinstance(value, PLAIN):
            return Known(plain(value))
        if value is not None and (callable(value) or isinstance(value, ModuleType)):
            return Known(value)
        if name in FOLDED:
            return Known(FOLDED[name])
        return None

    def value(self, node):
        """Return what is known of an expression: an array, a table, parts or a value; None: nothing."""
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute):
            whole = self.value(node.value)
            if isinstance(whole, Parts):
                return whole.known.get(node.attr) or whole.fields[node.attr]
        if isinstance(node, ast.Call) and len(node.args) == 1:
            function, numbers = self.value(node.func), self.value(node.args[0])
            view = mark_of(function.value, View) if isinstance(function, Known) and isinstance(numbers, Array) else None
            if view is not None:
                return self._seen(view.layout, numbers, self.fold(node.args[0]).id)
        return None

    def _seen(self, layout, numbers: Array, name: str) -> Parts:
        """An array of numbers as memory of a layout."""
        fields = {each: Place(name, i) for i, each in enumerate(layout.fields)}
        known = {each: Known(plain(numbers.entries[i])) for i, each in enumerate(fields) if i in numbers.entries}
        return Parts(fields, known)

    def _on_name(self, node):
        value = self._name(node.id)
        if isinstance(value, Known):
            return value
        if isinstance(value, Array) and value.name is not None:
            return ast.Name(value.name, ast.Load())
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
                if not any(isinstance(part, ast.Call) for one in left for part in ast.walk(one)):
                    return Known(ends)  # whatever comes before
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
        value = self.value(node)
        if isinstance(value, Known):
            return value
        if isinstance(value, Place):
            return value.code(ast.Load())
        if isinstance(value, Array):
            return ast.Name(value.name, ast.Load())
        owner = self.value(node.value)
        if node.attr == "shape" and isinstance(owner, Array) and owner.shape is not None:
            return Known(owner.shape)
        if isinstance(owner, Known) and isinstance(owner.value, ModuleType):
            return Known(getattr(owner.value, node.attr))
        return ast.Attribute(as_code(self.fold(node.value)), node.attr, ast.Load())

    def _on_subscript(self, node):
        index = self.fold(node.slice)
        value = self.value(node.value)
        if value is None:
            value = self.fold(node.value)
        if isinstance(index, Known):
            if isinstance(value, Array) and index.value in value.entries:
                return Known(plain(value.entries[index.value]))
            if isinstance(value, Known):
                return Known(plain(value.value[index.value]))
        elif isinstance(value, Known) and uniform(value.value):
            return Known(plain(value.value[0]))
        return ast.Subscript(as_code(self.fold(node.value)), as_code(index), ast.Load())

    def _on_slice(self, node):
        ends = [None if end is None else as_code(self.fold(end)) for end in (node.lower, node.upper, node.step)]
        return ast.Slice(*ends)

    def _on_call(self, node):
        function = self.fold(node.func)
        if not isinstance(function, Known):
            return ast.Call(function, [as_code(self.fold(each)) for each in node.args], [])
        target = function.value
        if target in self.program.instead:
            return Known(self.program.instead[target])
        if target in self.program.words:
            given = [as_code(self.fold(each)) for each in node.args]
            return ast.Call(ast.Name(target.__name__, ast.Load()), given, [])
        if target is has_function:
            functions = self.value(node.args[0]).fields["fns"].functions
            return Known(functions.get(self.fold(node.args[1]).value) is not None)
        if target is call_field:
            return self._field(*node.args)
        if target is call_model:
            return self._model(*node.args)
        through = mark_of(target, SlotCall)
        if through is not None:  # a call through a table: its first argument
            kernel = self._table(node.args[0]).functions[through.index]
            return self._call(kernel, node.args[1:])
        arguments = [self.fold(each) for each in node.args]
        if target in FOLDED.values() or getattr(target, "__module__", "") == "math":
            if all(isinstance(each, Known) for each in arguments):
                return Known(target(*(each.value for each in arguments)))
            owner = "math." if getattr(target, "__module__", "") == "math" else ""
            return ast.Call(ast.Name(owner + target.__name__, ast.Load()), [as_code(each) for each in arguments], [])
        return self._call(target, node.args)

    def _table(self, node) -> Table:
        return self.value(node)

    def _call(self, function, nodes):
        """A call of one of our own functions, with what is known of its arguments."""
        python = function.py if isinstance(function, Leaf | Kernel) else function
        names = list(inspect.signature(python).parameters)
        bound, codes = {}, {}
        for name, node in zip(names, nodes, strict=True):
            value = self.value(node)
            if isinstance(value, Table | Parts):
                bound[name] = value
                continue
            code = self.fold(node)
            if isinstance(value, Array):
                bound[name] = Array(value.shape, value.entries)
            elif isinstance(code, Known):
                bound[name] = code
            codes[name] = as_code(code) if not isinstance(code, Known) or isinstance(code.value, PLAIN) else None
        name, left = self.program.function(python, bound)
        given = [codes[each] if each in codes else ast.Name(each, ast.Load()) for each in left]
        return ast.Call(ast.Name(name, ast.Load()), given, [])

    def _field(self, model, which, t, x, K, row):
        t, x, K, row = (as_code(self.fold(each)) for each in (t, x, K, row))
        zero = ast.Constant(0)
        return self._to_model(which, [t, x, zero, x, zero, self._data(model), ast.Subscript(K, row, ast.Load()), zero])

    def _model(self, model, which, t, a, at_a, b, at_b, out, at_out):
        given = [as_code(self.fold(t))]
        for array, at in ((a, at_a), (b, at_b)):
            given += self._place(array, at)
        given.append(self._data(model))
        return self._to_model(which, given + self._place(out, at_out))

    def _data(self, model) -> ast.expr:
        return self.fold(ast.Attribute(model, "data", ast.Load()))

    def _to_model(self, which, given):
        number = self.fold(which).value
        call = ast.Call(ast.Name(f"{self.program.prefix}model_{number}", ast.Load()), given, [])
        self.program.calls.setdefault(number, []).append(call)
        return call

    def _place(self, array, at) -> list[ast.expr]:
        """An array and the offset from which it is read or written; of a matrix, the row and the offset in it."""
        code, offset = as_code(self.fold(array)), self.fold(at)
        value = self.value(array)
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
        return ast.Call(ast.Name("range", ast.Load()), [ast.Constant(number.start), ast.Constant(number.stop)], [])
    if isinstance(number, float) and not math.isfinite(number):
        name = ast.Name("nan" if number != number else "inf", ast.Load())
        return ast.UnaryOp(ast.USub(), name) if number < 0 else name
    if not isinstance(number, PLAIN):
        raise TypeError(f"{number!r} cannot stand in a program")
    return ast.Constant(number)
