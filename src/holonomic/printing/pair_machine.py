"""Machine code of plain Python functions whose real numbers are pairs, through LLVM.

What is printed is what the `Specializer` writes, and `pair_functions`: assignments, loops over `range`, conditions, arithmetic,
entries of arrays, calls of each other. Every function is made once for the types that it is called with.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from . import pair_functions
from .pair_arithmetic import DOUBLE, PAIR, WORD, PairArithmetic
from .pair_types import FLOAT, LLVM, REAL, ArrayPlace, ArrayType, Type, Unprintable, llvm_type, stored
from .pair_values import Valued


class PairMachine:
    """Writes functions into a module.

    Parameters
    ----------
    module : ir.Module
    functions : dict
        Functions of the program by name, as trees.
    """

    def __init__(self, module: ir.Module, functions: dict[str, ast.FunctionDef] | None = None):
        self.module, self.pairs, self.called = module, PairArithmetic(module), PairArithmetic(module, inline=False)
        self.functions = functions or {}
        self.outside: dict[str, Callable] = {}  # what writes a call of a name itself: (builder, machine, node arguments)
        self._made: dict[tuple, tuple[ir.Function, Type]] = {}
        self._tables: dict[int, ArrayPlace] = {}

    def function(self, name: str, types: tuple[Type, ...], elementary: bool = False) -> tuple[ir.Function, Type]:
        """Return a function for arguments of these types, and the type of what it gives."""
        key = (name, types, elementary)
        if key not in self._made:
            if not elementary and name not in self.functions:
                raise Unprintable(name)
            node = _elementary(name) if elementary else self.functions[name]
            self._made[key] = _Function(self, node, types, elementary, f"{name}_{len(self._made)}").write()
        return self._made[key]

    def apply(self, builder: ir.IRBuilder, name: str, *given: ir.Value) -> Any:
        """Call an elementary function of pairs."""
        made, _ = self.function(name, (REAL,) * len(given), True)
        return builder.call(made, given)

    def constant(self, number: float, low: float = 0.0) -> ir.Constant:
        """A pair that stands in the program."""
        return ir.Constant(PAIR, [ir.Constant(DOUBLE, number), ir.Constant(DOUBLE, low)])

    def table(self, values: np.ndarray) -> ArrayPlace:
        """A table of doubles, or of pairs where it has two columns."""
        if id(values) not in self._tables:
            pairs = values.ndim == 2
            entries = [self.constant(*row) if pairs else ir.Constant(DOUBLE, row) for row in values.tolist()]
            made = ir.Constant(ir.ArrayType(PAIR if pairs else DOUBLE, len(entries)), entries)
            kept: Any = ir.GlobalVariable(self.module, made.type, f"table_{len(self._tables)}")
            kept.initializer, kept.linkage, kept.global_constant = made, "internal", True
            zero = ir.Constant(WORD, 0)
            kind = ArrayType(REAL if pairs else FLOAT, 1)
            self._tables[id(values)] = ArrayPlace(kind, kept.gep([zero, zero]), (ir.Constant(WORD, len(entries)),))
        return self._tables[id(values)]


def _elementary(name: str) -> ast.FunctionDef:
    function = getattr(pair_functions, name)
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]  # type: ignore[return-value]


class _Function(Valued):
    """Writes one function for arguments of certain types."""

    def __init__(self, machine: PairMachine, node: ast.FunctionDef, types, elementary: bool, name: str):
        self.machine, self.node, self.elementary, self.name = machine, node, elementary, name
        self.pairs = machine.pairs
        self.arguments = dict(zip((each.arg for each in node.args.args), map(stored, types), strict=True))
        self.types: dict[str, Type] = dict(self.arguments)
        self.result: Type = None
        self.places: dict[str, Any] = {}
        self.views: dict[str, ArrayPlace] = {}
        self.loops: list[tuple[ir.Block, ir.Block]] = []
        self.builder: Any = None  # while it is written

    def write(self) -> tuple[ir.Function, Type]:
        """Return the function and the type of its result."""
        while True:  # until the types of all variables are found
            before = dict(self.types), self.result
            self._look_at(self.node.body)
            if before == (self.types, self.result):
                break
        parameters = []
        for kind in self.arguments.values():
            if isinstance(kind, ArrayType):
                parameters += [LLVM[kind.kind].as_pointer(), *[WORD] * kind.axes]
            else:
                parameters.append(llvm_type(kind))
        given_back = ir.VoidType() if self.result is None else llvm_type(self.result)
        made = ir.Function(self.machine.module, ir.FunctionType(given_back, parameters), self.name)
        made.linkage = "internal"
        self.builder = ir.IRBuilder(made.append_basic_block())
        given = list(made.args)
        for name, kind in self.arguments.items():
            if isinstance(kind, ArrayType):
                pointer, *lengths = given[: 1 + kind.axes]
                self.views[name] = ArrayPlace(kind, pointer, tuple(lengths))
                del given[: 1 + kind.axes]
            else:
                self._declare(name)
                self.builder.store(given.pop(0), self.places[name])
        for name, kind in self.types.items():
            if name not in self.arguments and not isinstance(kind, ArrayType):
                self._declare(name)
        self._block(self.node.body)
        if not self.builder.block.is_terminated:
            if self.result is None:
                self.builder.ret_void()
            else:
                self.builder.unreachable()
        return made, self.result

    def _declare(self, name: str) -> None:
        self.places[name] = self.builder.alloca(llvm_type(self.types[name]), name=name)

    def _block(self, body: list[ast.stmt]) -> None:
        for node in body:
            if self.builder.block.is_terminated:
                return
            writer = getattr(self, f"_{type(node).__name__.lower()}", None)
            if writer is None:
                raise Unprintable(ast.unparse(node))
            writer(node)

    def _pass(self, node):
        pass

    def _expr(self, node):
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def _break(self, node):
        self.builder.branch(self.loops[-1][1])

    def _continue(self, node):
        self.builder.branch(self.loops[-1][0])

    def _return(self, node):
        if node.value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(self._packed(self.value(node.value), self.type_of(node.value), self.result))

    def _assign(self, node):
        (target,) = node.targets
        kind = self.type_of(node.value)
        if isinstance(kind, ArrayType):
            self.views[target.id] = self.value(node.value)
        elif isinstance(target, ast.Tuple):
            for name, value, each in zip(target.elts, self.value(node.value), kind, strict=True):
                if isinstance(each, ArrayType):
                    self.views[name.id] = value
                else:
                    self._put(name, value, each)
        else:
            self._put(target, self.value(node.value), kind)

    def _put(self, target, value, kind) -> None:
        if isinstance(target, ast.Name):
            self.builder.store(self.turned(value, kind, self.types[target.id]), self.places[target.id])
        else:
            pointer, wanted = self._entry(target)
            self.builder.store(self.turned(value, kind, wanted), pointer)

    def _augassign(self, node):
        kind = self.type_of(node.target)
        right, of_right = self.value(node.value), self.type_of(node.value)
        if isinstance(node.target, ast.Name):
            pointer = self.places[node.target.id]
        else:
            pointer, kind = self._entry(node.target)
        value = self._operation(self.builder.load(pointer, typ=llvm_type(kind)), kind, node.op, right, of_right)
        self.builder.store(self.turned(value, self._of_operation(kind, node.op, of_right), kind), pointer)

    def _if(self, node):
        test = self.truth(node.test)
        then, behind = self._new_block(), self._new_block()
        other = self._new_block() if node.orelse else behind
        self.builder.cbranch(test, then, other)
        for block, body in ((then, node.body), (other, node.orelse)):
            if body:
                self.builder.position_at_end(block)
                self._block(body)
                if not self.builder.block.is_terminated:
                    self.builder.branch(behind)
        self.builder.position_at_end(behind)

    def _while(self, node):
        test, body, behind = self._new_block(), self._new_block(), self._new_block()
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(self.truth(node.test), body, behind)
        self._loop(body, node.body, test, behind)

    def _loop(self, body, statements, further, behind) -> None:
        self.builder.position_at_end(body)
        self.loops.append((further, behind))
        self._block(statements)
        self.loops.pop()
        if not self.builder.block.is_terminated:
            self.builder.branch(further)
        self.builder.position_at_end(behind)

    def _for(self, node):
        if node.orelse or not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            raise Unprintable(ast.unparse(node))
        given = node.iter.args
        low, high = (ast.Constant(0), given[0]) if len(given) == 1 else given[:2]
        step = ast.literal_eval(given[2]) if len(given) == 3 else 1
        begin, end = self.value(low), self.value(high)
        with self.builder.goto_entry_block():
            counter = self.builder.alloca(WORD)
        self.builder.store(begin, counter)
        test, body, further, behind = (self._new_block() for _ in range(4))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        now = self.builder.load(counter)
        self.builder.cbranch(self.builder.icmp_signed("<" if step > 0 else ">", now, end), body, behind)
        self.builder.position_at_end(body)
        self.builder.store(now, self.places[node.target.id])
        self._loop(body, node.body, further, behind)
        self.builder.position_at_end(further)
        self.builder.store(self.builder.add(self.builder.load(counter), ir.Constant(WORD, step)), counter)
        self.builder.branch(test)
        self.builder.position_at_end(behind)
