"""Loops written out before they are compiled: of one source a function for each of some small numbers, its values in registers.

    def product(m, x, at):
        f = entries()
        ...
    product_2, product_3 = written_out(product, 2, 3)

The first arguments are numbers that are known by then; they, what is computed from whole numbers alone, and loops and choices by
these are gone from what is compiled, but for loops over `running`. f[i, j], of a name that has `entries`, is a value of its own.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from typing import Any

from .marks import MARKED, Instead


class _Written(Instead):
    """What stands for a function where kernels are compiled; it is written when that is done."""

    @property
    def replacement(self):
        return _written(*self[1])


def entries() -> Any:
    """Say that a name has entries, each of which is a value of its own where loops are written out."""
    raise NotImplementedError("loops are written out where kernels are compiled")


def running(*bounds) -> range:
    """A range that is not written out: the loop stays one, of which the inside is."""
    return range(*bounds)


def written_out(function, *given):
    """Return a function for each of the given numbers, or tuples of them, in the place of the first arguments."""
    made = [_placeholder(function) for _ in given]
    MARKED.extend(
        _Written(one, (function, each if isinstance(each, tuple) else (each,))) for one, each in zip(made, given, strict=True)
    )
    return made


def _placeholder(function):
    def called(*given):
        raise NotImplementedError(f"compiled kernels alone call {function.__name__}")

    return called


def _written(function, numbers):
    """Return a function with its first arguments known and its loops written out."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    (whole,) = tree.body
    assert isinstance(whole, ast.FunctionDef)
    names = [each.arg for each in whole.args.args]
    whole.args.args = whole.args.args[len(numbers) :]
    whole.body = _Writer(dict(zip(names, numbers, strict=False))).block(whole.body)
    whole.name = "_".join([function.__name__, *map(str, numbers)])
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    space: dict = {}
    exec(compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec"), function.__globals__, space)
    return space[whole.name]


class _Writer(ast.NodeTransformer):
    """Writes statements with what is known of whole numbers."""

    def __init__(self, known: dict[str, int]):
        self.known = known
        self.entries: set[str] = set()

    def block(self, statements) -> list[ast.stmt]:
        return [made for each in statements for made in self._statement(each)]

    def _statement(self, given: ast.stmt) -> list[ast.stmt]:
        if isinstance(given, ast.For):
            if not (isinstance(given.target, ast.Name) and isinstance(given.iter, ast.Call)):
                raise ValueError(f"'{ast.unparse(given.iter)}' is no range: loops over ranges alone are written out")
            if ast.unparse(given.iter.func) == "running":
                bounds = [self.visit(copy.deepcopy(each)) for each in given.iter.args]
                called = ast.Call(ast.Name("range", ast.Load()), bounds, [])
                return [ast.For(copy.deepcopy(given.target), called, self.block(given.body), [])]
            bounds = [self._whole(each) for each in given.iter.args]
            written = []
            for value in range(*bounds):
                self.known[given.target.id] = value
                written += self.block(given.body)
            self.known.pop(given.target.id, None)
            return written
        if isinstance(given, ast.If):
            return self.block(given.body if self._whole(given.test) else given.orelse)
        if isinstance(given, ast.Assign) and ast.unparse(given.value) == "entries()":
            self.entries.update(ast.unparse(each) for each in given.targets)
            return []
        if isinstance(given, ast.Assign) and isinstance(given.targets[0], ast.Name):
            try:
                self.known[given.targets[0].id] = self._whole(given.value)
                return []
            except ValueError:
                pass
        return [self.visit(copy.deepcopy(given))]

    def _whole(self, node: ast.expr) -> int:
        """Return what is known of an expression, or raise ValueError."""
        inside = list(ast.walk(node))
        unknown = any(isinstance(each, ast.Name) and each.id not in self.known for each in inside)
        if unknown or any(isinstance(each, ast.Call | ast.Subscript) for each in inside):
            raise ValueError(f"'{ast.unparse(node)}' is not known where loops are written out")
        value = eval(compile(ast.Expression(node), "known", "eval"), {}, dict(self.known))
        if not isinstance(value, int):
            raise ValueError(f"'{ast.unparse(node)}' is no whole number")
        return value

    def visit(self, node):
        if isinstance(node, ast.BinOp) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
            try:
                return ast.copy_location(ast.Constant(self._whole(node)), node)
            except ValueError:
                pass
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.entries:
            indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            name = "_".join([node.value.id, *(str(self._whole(each)) for each in indices)])
            return ast.copy_location(ast.Name(name, node.ctx), node)
        return super().visit(node)
