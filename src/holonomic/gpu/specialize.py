"""Kernels for one plan alone: everything known beforehand is worked out, the rest is written as Python source.

The kernels of this package take their sizes, tableaus and methods as arrays and addresses, so that one compiled loop
serves every plan. A GPU wants the opposite: one program in which sizes are numbers, methods are called by name and
nothing is looked up. `Specializer` makes that program out of the same functions. It follows the calls from an entry,
binds arguments that are known (sizes `n`, integers `ip`, coefficients `fp`, tables of functions), folds what follows
from them, drops branches that cannot be taken, unrolls loops that walk along known coefficients and joins loops over
the same components. What is left is plain Python for numba-cuda (or its simulator) to compile.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
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
class Table:
    """A table of functions: slots by number, or model functions by number."""

    functions: dict[int, Any]


FEW = 2  # rounds of a loop that is always written out
PLAIN = (int, float, bool, np.integer, np.floating, np.bool_)
FOLDED = {"min": min, "max": max, "abs": abs, "int": int, "float": float, "range": range, "len": len}


def plain(value):
    """NumPy numbers as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


class Specializer:
    """Writes the functions a program needs, each once for every set of known arguments."""

    def __init__(self, instead: dict | None = None):
        self.instead = instead or {}  # functions that are not to be called, and what takes the place of their results
        self.functions: list[ast.FunctionDef] = []  # in order of definition: callees first
        self.calls: dict[int, list[ast.Call]] = {}  # of model functions, by number
        self._made: dict[tuple, tuple[str, list[str]]] = {}
        self._count: Counter[str] = Counter()

    def function(self, function, bound: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the name of a specialized function and the parameters it still takes."""
        python = getattr(function, "py_func", None) or getattr(function, "py", None) or function
        tree = _tree(python)
        parameters = [argument.arg for argument in tree.args.args]
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        changed = _assigned(tree.body)
        bound = {
            name: value
            for name, value in bound.items()
            if name in used and not (changed[name] and isinstance(value, Known))
        }
        key = (python, *((name, _key(value)) for name, value in bound.items()))
        if key not in self._made:
            self._count[python.__name__] += 1
            name = f"{python.__name__}_{self._count[python.__name__]}"
            body = _Body(self, python, dict(bound), changed).statements(tree.body) or [ast.Pass()]
            used = {node.id for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.Name)}
            left = [each for each in parameters if each in used and not isinstance(bound.get(each), Known | Table)]
            head = ast.FunctionDef(name=name, args=_arguments(left), body=body, decorator_list=[], type_params=[])
            self.functions.append(head)
            self._made[key] = name, left
        return self._made[key]

    def sources(self) -> list[str]:
        """The functions as text."""
        return [ast.unparse(ast.fix_missing_locations(function)) for function in self.functions]


class _Body:
    """Rewrites the statements of one function."""

    def __init__(self, program: Specializer, function, known: dict[str, Any], changed: Counter[str]):
        self.program, self.function = program, function
        self.known, self.changed = known, changed
        self.globals = function.__globals__
        self.renamed: dict[str, str] = {}  # locals of the round of an unrolled loop
        self._rounds = 0

    # statements

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        """Return what is left of a list of statements."""
        out: list[ast.stmt] = []
        for node in nodes:
            made = getattr(self, "_" + type(node).__name__.lower())(node)
            out += made
            if out and isinstance(out[-1], ast.Return | ast.Continue | ast.Break):
                break
        return fused(out)

    def _expr(self, node):
        if isinstance(node.value, ast.Constant):  # a docstring
            return []
        value = self.fold(node.value)
        return [] if isinstance(value, Known) else [ast.Expr(_code(value))]

    def _pass(self, node):
        return []

    def _break(self, node):
        return [node]

    _continue = _break

    def _return(self, node):
        return [ast.Return(_code(self.fold(node.value)) if node.value is not None else None)]

    def _assign(self, node):
        if len(node.targets) > 1:  # a = b = value
            return [made for target in node.targets for made in self._assign(ast.Assign([target], node.value))]
        (target,) = node.targets
        value = self.fold(node.value)
        if not isinstance(target, ast.Tuple):
            return self._bind(target, value)
        if isinstance(value, Known):
            parts = [Known(plain(part)) for part in value.value]
        elif isinstance(value, ast.Tuple):
            parts = [self.fold(part) for part in value.elts]
        else:
            return [ast.Assign([self._target(target)], value)]
        left, right = [], []
        for name, part in zip(target.elts, parts, strict=True):
            made = self._bind(name, part)
            if made:
                left.append(made[0].targets[0])
                right.append(made[0].value)
        if not left:
            return []
        if len(left) == 1:
            return [ast.Assign(left, right[0])]
        return [ast.Assign([ast.Tuple(left, ast.Store())], ast.Tuple(right, ast.Load()))]

    def _bind(self, target, value) -> list[ast.stmt]:
        if isinstance(target, ast.Name) and self.changed[target.id] == 1:
            if isinstance(value, Known):
                self.known[target.id] = value
                return []
            self.known.pop(target.id, None)
        return [ast.Assign([self._target(target)], _code(value))]

    def _augassign(self, node):
        return [ast.AugAssign(self._target(node.target), node.op, _code(self.fold(node.value)))]

    def _target(self, node):
        if isinstance(node, ast.Name):
            return ast.Name(self.renamed.get(node.id, node.id), ast.Store())
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._target(each) for each in node.elts], ast.Store())
        return ast.Subscript(_code(self.fold(node.value)), _code(self.fold(node.slice)), ast.Store())

    def _if(self, node):
        test = self.fold(node.test)
        if isinstance(test, Known):
            return self.statements(node.body if test.value else node.orelse)
        before = dict(self.known)
        body = self.statements(node.body)
        self.known = dict(before)
        orelse = self.statements(node.orelse)
        self.known = before
        if not body and not orelse:
            return []
        return [ast.If(test, body or [ast.Pass()], orelse)]

    def _while(self, node):
        before = dict(self.known)
        test = self.fold(node.test)
        body = self.statements(node.body)
        self.known = before
        return [ast.While(_code(test), body, [])]

    def _for(self, node):
        steps = self.fold(node.iter)
        name = node.target.id
        if isinstance(steps, Known):
            if len(steps.value) <= FEW or self._walks_known(node.body, name):
                made = self._unrolled(node, name, steps.value)
                if made is not None:
                    return made
        before = dict(self.known)
        self.known.pop(name, None)
        body = self.statements(node.body)
        self.known = before
        if not body:
            return []
        return [ast.For(ast.Name(self.renamed.get(name, name), ast.Store()), _code(steps), body, [])]

    def _walks_known(self, body, name) -> bool:
        """Whether the loop variable picks out of something known: then every round is another piece of code."""

        def has(node):
            return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))

        for node in (each for stmt in body for each in ast.walk(stmt)):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and has(node.slice):
                value = self._name(node.value.id)
                if isinstance(value, Known) and not _uniform(value.value):
                    return True
            if isinstance(node, ast.Call) and any(has(each) for each in node.args):
                values = [self._name(each.id) for each in node.args if isinstance(each, ast.Name)]
                if any(isinstance(each, Table) or (isinstance(each, Known) and np.ndim(each.value)) for each in values):
                    return True
        return False

    def _unrolled(self, node, name, steps) -> list[ast.stmt] | None:
        """All rounds of a loop one after the other; None where a round may be left early, which only a loop can say."""
        out: list[ast.stmt] = []
        outer, before = dict(self.renamed), dict(self.known)
        own = [each for each, count in _assigned(node.body).items() if count == 1 and self.changed[each] == 1]
        for step in steps:
            self._rounds += 1
            self.renamed = {**outer, **{each: f"{each}_{self._rounds}" for each in own}}
            self.known[name] = Known(step)
            made = self.statements(node.body)
            if made and isinstance(made[-1], ast.Continue):
                made.pop()
            if any(isinstance(each, ast.Break | ast.Continue) for each in _same_loop(made)):
                self.renamed, self.known = outer, before
                return None
            out += made
            if made and isinstance(made[-1], ast.Return):
                break
        self.renamed = outer
        self.known.pop(name, None)
        return out

    # expressions

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
        return ast.Tuple([_code(each) for each in parts], ast.Load())

    def _on_unaryop(self, node):
        value = self.fold(node.operand)
        if isinstance(value, Known):
            return Known(_calculate(ast.UnaryOp(node.op, ast.Constant(plain(value.value)))))
        return ast.UnaryOp(node.op, value)

    def _on_binop(self, node):
        left, right = self.fold(node.left), self.fold(node.right)
        if isinstance(left, Known) and isinstance(right, Known):
            return Known(_calculate(ast.BinOp(_code(left), node.op, _code(right))))
        return ast.BinOp(_code(left), node.op, _code(right))

    def _on_compare(self, node):
        parts = [self.fold(node.left), *(self.fold(each) for each in node.comparators)]
        if all(isinstance(each, Known) for each in parts):
            first, *rest = (_code(each) for each in parts)
            return Known(_calculate(ast.Compare(first, node.ops, rest)))
        return ast.Compare(_code(parts[0]), node.ops, [_code(each) for each in parts[1:]])

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
        return ast.IfExp(test, _code(self.fold(node.body)), _code(self.fold(node.orelse)))

    def _on_attribute(self, node):
        value = self._name(node.value.id) if isinstance(node.value, ast.Name) else None
        if node.attr == "shape" and isinstance(value, Array) and value.shape is not None:
            return Known(value.shape)
        if isinstance(value, Known) and isinstance(value.value, ModuleType):
            return Known(getattr(value.value, node.attr))
        return ast.Attribute(_code(self.fold(node.value)), node.attr, ast.Load())

    def _on_subscript(self, node):
        index = self.fold(node.slice)
        value = self._name(node.value.id) if isinstance(node.value, ast.Name) else self.fold(node.value)
        if isinstance(index, Known):
            if isinstance(value, Array) and index.value in value.entries:
                return Known(plain(value.entries[index.value]))
            if isinstance(value, Known):
                return Known(plain(value.value[index.value]))
        elif isinstance(value, Known) and _uniform(value.value):
            return Known(plain(value.value[0]))
        return ast.Subscript(_code(self.fold(node.value)), _code(index), ast.Load())

    def _on_slice(self, node):
        return node

    def _on_call(self, node):
        function = self.fold(node.func)
        if not isinstance(function, Known):
            return ast.Call(function, [_code(self.fold(each)) for each in node.args], [])
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
            return ast.Call(ast.Name(owner + target.__name__, ast.Load()), [_code(each) for each in arguments], [])
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
            if not isinstance(value, Array | Table):
                value = self.fold(node)
            if isinstance(value, Known | Array | Table):
                bound[name] = value
            codes[name] = node.id if isinstance(value, Table) else value
        name, left = self.program.function(python, bound)
        given = []
        for each in left:
            value = codes[each]
            given.append(self.fold_name(value, nodes[names.index(each)]))
        return ast.Call(ast.Name(name, ast.Load()), given, [])

    def fold_name(self, value, node):
        return _code(self.fold(node)) if isinstance(value, Array) else _code(value)

    def _field(self, fns, which, t, x, data, K, row):
        t, x, data, K, row = (_code(self.fold(each)) for each in (t, x, data, K, row))
        zero = ast.Constant(0)
        return self._to_model(which, [t, x, zero, x, zero, data, ast.Subscript(K, row, ast.Load()), zero])

    def _model(self, fns, which, t, a, at_a, b, at_b, data, out, at_out):
        given = [_code(self.fold(t))]
        for array, at in ((a, at_a), (b, at_b)):
            given += self._place(array, at)
        given.append(_code(self.fold(data)))
        return self._to_model(which, given + self._place(out, at_out))

    def _to_model(self, which, given):
        number = self.fold(which).value
        call = ast.Call(ast.Name(f"model_{number}", ast.Load()), given, [])
        self.program.calls.setdefault(number, []).append(call)
        return call

    def _place(self, array, at) -> list[ast.expr]:
        """An array and the offset from which it is read or written; of a matrix, the row and the offset in it."""
        code, offset = _code(self.fold(array)), self.fold(at)
        value = self._name(array.id) if isinstance(array, ast.Name) else None
        if isinstance(value, Array) and value.shape is not None and len(value.shape) == 2:
            width = value.shape[1]
            if isinstance(offset, Known):
                row, rest = divmod(offset.value, width)
                return [ast.Subscript(code, ast.Constant(row), ast.Load()), ast.Constant(rest)]
            row = ast.BinOp(offset, ast.FloorDiv(), ast.Constant(width))
            return [ast.Subscript(code, row, ast.Load()), ast.BinOp(offset, ast.Mod(), ast.Constant(width))]
        return [code, _code(offset)]


def _tree(function) -> ast.FunctionDef:
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[return-value]


def _arguments(names):
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )


def _key(value):
    if isinstance(value, Known):
        return value.value if isinstance(value.value, PLAIN) else id(value.value)
    return id(value)


def _uniform(value) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0 and bool(np.all(value == value[0]))


def _calculate(node):
    expression = ast.fix_missing_locations(ast.Expression(node))
    return plain(eval(compile(expression, "known", "eval"), {"__builtins__": {}, "inf": math.inf, "nan": math.nan}))


def _code(value):
    """An expression as code; a known number as a literal."""
    if not isinstance(value, Known):
        return value
    number = plain(value.value)
    if isinstance(number, tuple):
        return ast.Tuple([_code(Known(each)) for each in number], ast.Load())
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


def _assigned(body) -> Counter[str]:
    """How often each name is assigned in these statements."""
    count: Counter[str] = Counter()
    for node in (each for stmt in body for each in ast.walk(stmt)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            count[node.id] += 1
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            count[node.target.id] += 1
    return count


def _same_loop(body):
    """Statements of a loop's own body, those of loops inside it left out."""
    for node in body:
        yield node
        if isinstance(node, ast.If):
            yield from _same_loop(node.body)
            yield from _same_loop(node.orelse)


# joining loops


def fused(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Join neighbouring loops over the same components, moving number assignments between them to the front."""
    out: list[ast.stmt] = []
    for node in statements:
        partner = _partner(out, node)
        if partner is None:
            out.append(node)
            continue
        at, between = partner
        first = out[at]
        out[at:] = [*between, ast.For(first.target, first.iter, first.body + node.body, [])]  # type: ignore
    return out


def _partner(out, node):
    if not isinstance(node, ast.For) or not _by_component(node):
        return None
    between: list[ast.stmt] = []
    for at in range(len(out) - 1, -1, -1):
        other = out[at]
        if isinstance(other, ast.For):
            same = ast.dump(other.target) == ast.dump(node.target) and ast.dump(other.iter) == ast.dump(node.iter)
            joined = ast.For(other.target, other.iter, other.body + node.body, [])
            if not same or not _by_component(joined) or any(_reads_any(each, _written(other)) for each in between):
                return None
            return at, between
        if not (isinstance(other, ast.Assign) and isinstance(other.targets[0], ast.Name) and _is_number(other.value)):
            return None
        between.insert(0, other)
    return None


def _is_number(node) -> bool:
    """Whether an expression is made of names and numbers only."""
    allowed = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
    return all(isinstance(each, allowed) for each in ast.walk(node))


def _written(loop) -> set[str]:
    return {
        target.value.id
        for node in loop.body
        for target in [node.targets[0] if isinstance(node, ast.Assign) else node.target]
    }


def _reads_any(node, names) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def _by_component(loop) -> bool:
    """Whether each round of a loop writes and reads the written arrays at its own component alone."""
    for node in loop.body:
        if not isinstance(node, ast.Assign | ast.AugAssign):
            return False
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            return False
        if any(isinstance(each, ast.Call) for each in ast.walk(node)):
            return False
    name, written = loop.target.id, _written(loop)
    for node in (each for stmt in loop.body for each in ast.walk(stmt)):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in written:
            index = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
            if not (isinstance(index, ast.Name) and index.id == name):
                return False
    return True
