"""Kernels for one plan alone: everything known beforehand is worked out, the rest is written as Python source.

The kernels of this package take their sizes, tableaus and methods as arrays and addresses, so that one compiled loop
serves every plan. A GPU wants the opposite: one program in which sizes are numbers, methods are called by name and
nothing is looked up. `Specializer` makes that program out of the same functions. It follows the calls from an entry,
binds arguments that are known (sizes `n`, integers `ip`, coefficients `fp`, tables of functions), folds what follows
from them, drops branches that cannot be taken, unrolls loops that walk along known coefficients and joins loops over
the same components. What is left is plain Python for a printer to put into another language: `cuda`, `javascript`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections import Counter
from typing import Any

import numpy as np

from ..errors import OK
from ..native.marks import Kernel, Leaf
from .fold import PLAIN, Array, Folding, Known, Parts, Table, as_code, plain, uniform
from .loop_fusion import fused

FEW = 2  # rounds of a loop that is always written out


class Specializer:
    """Writes the functions a program needs, each once for every set of known arguments."""

    def __init__(self, instead: dict | None = None, prefix: str = "", numbers: dict[str, float] | None = None, words: tuple = ()):
        self.instead = instead or {}  # functions that are not to be called, and what takes the place of their results
        self.words = words  # functions whose calls the printer writes itself
        self.numbers = numbers or {}  # global numbers of kernels that have another value here, by name
        self.functions: list[ast.FunctionDef] = []  # in order of definition: callees first
        self.calls: dict[int, list[ast.Call]] = {}  # of model functions, by number
        self.prefix = prefix  # of all names, where two of these write one program
        self._made: dict[tuple, tuple[str, list[str]]] = {}
        self._count: Counter[str] = Counter()

    def function(self, function, bound: dict[str, Any]) -> tuple[str, list[str]]:
        """Return the name of a specialized function and the parameters it still takes."""
        python = function.py if isinstance(function, Leaf | Kernel) else function
        tree = _tree(python)
        parameters = [argument.arg for argument in tree.args.args]
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        changed = _assigned(tree.body)
        bound = {name: value for name, value in bound.items() if name in used and not (changed[name] and isinstance(value, Known))}
        key = (python, *((name, _key(value)) for name, value in bound.items()))
        if key not in self._made:
            self._count[python.__name__] += 1
            name = f"{self.prefix}{python.__name__}_{self._count[python.__name__]}"
            body = _Body(self, python, dict(bound), changed).statements(tree.body) or [ast.Pass()]
            used = {node.id for stmt in body for node in ast.walk(stmt) if isinstance(node, ast.Name)}
            left = [each for each in parameters if each in used and not isinstance(bound.get(each), Known | Table | Parts)]
            parts = [value for value in bound.values() if isinstance(value, Parts)]
            left += [each for each in dict.fromkeys(name for part in parts for name in part.variables) if each in used]
            head = ast.FunctionDef(name=name, args=_arguments(left), body=body, decorator_list=[], type_params=[])
            self.functions.append(head)
            self._made[key] = name, left
        return self._made[key]

    def calls_model(self, node) -> bool:
        """Whether an expression is the call of a model function."""
        return any(node is call for calls in self.calls.values() for call in calls)


class _Body(Folding):
    """Rewrites the statements of one function."""

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
        return [] if isinstance(value, Known) else [ast.Expr(as_code(value))]

    def _pass(self, node):
        return []

    def _break(self, node):
        return [node]

    _continue = _break

    def _return(self, node):
        return [ast.Return(as_code(self.fold(node.value)) if node.value is not None else None)]

    def _assign(self, node):
        if len(node.targets) > 1:  # a = b = value
            return [made for target in node.targets for made in self._assign(ast.Assign([target], node.value))]
        (target,) = node.targets
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            apart = [(name, part) for name, part in zip(target.elts, node.value.elts, strict=True) if not self._same(name, part)]
            if not apart:
                return []
            if len(apart) < len(target.elts):
                names, parts = zip(*apart, strict=True)
                target = names[0] if len(apart) == 1 else ast.Tuple(list(names), ast.Store())
                return self._assign(ast.Assign([target], parts[0] if len(apart) == 1 else ast.Tuple(list(parts), ast.Load())))
        elif self._same(target, node.value):
            return []
        value = self.fold(node.value)
        if self.program.calls_model(value):  # straight-line code has no other status
            return [ast.Expr(value), *self._bind(target, Known(OK))]
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

    def _same(self, target, node) -> bool:
        """Whether a name stands for an array or parts of the program from here on: nothing is to be done then."""
        value = self.value(node)
        named = isinstance(value, Parts | Table) or (isinstance(value, Array) and value.name is not None)
        if not (named and isinstance(target, ast.Name) and self.changed[target.id] == 1):
            return False
        self.known[target.id] = value
        return True

    def _bind(self, target, value) -> list[ast.stmt]:
        if isinstance(target, ast.Name) and self.changed[target.id] == 1:
            if isinstance(value, Known):
                self.known[target.id] = value
                return []
            self.known.pop(target.id, None)
        return [ast.Assign([self._target(target)], as_code(value))]

    def _augassign(self, node):
        return [ast.AugAssign(self._target(node.target), node.op, as_code(self.fold(node.value)))]

    def _target(self, node):
        if isinstance(node, ast.Name):
            return ast.Name(self.renamed.get(node.id, node.id), ast.Store())
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._target(each) for each in node.elts], ast.Store())
        if isinstance(node, ast.Attribute):
            return self.value(node.value).fields[node.attr].code(ast.Store())
        return ast.Subscript(as_code(self.fold(node.value)), as_code(self.fold(node.slice)), ast.Store())

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
        return [ast.While(as_code(test), body, [])]

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
        return [ast.For(ast.Name(self.renamed.get(name, name), ast.Store()), as_code(steps), body, [])]

    def _walks_known(self, body, name) -> bool:
        """Whether the loop variable picks out of something known: then every round is another piece of code."""

        def has(node):
            return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))

        for node in (each for stmt in body for each in ast.walk(stmt)):
            if isinstance(node, ast.Subscript) and has(node.slice):
                value = self.value(node.value)
                if isinstance(value, Known) and not uniform(value.value):
                    return True
            if isinstance(node, ast.Call) and any(has(each) for each in node.args):
                values = [self.value(each) for each in node.args]
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


@functools.cache  # read, never changed
def _tree(function) -> ast.FunctionDef:
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[return-value]


def _arguments(names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def _key(value):
    if isinstance(value, Known):
        return value.value if isinstance(value.value, PLAIN) else id(value.value)
    if isinstance(value, Array):
        return value.shape, tuple(value.entries.items())
    return id(value)


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
