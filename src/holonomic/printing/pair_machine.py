"""Machine code of plain Python functions whose real numbers are pairs, through LLVM.

What is printed is what the `Specializer` writes, and `pair_functions`: assignments, loops over `range`, conditions, arithmetic,
entries of arrays, calls of each other. Types follow from what a function is called with: a whole number, a truth, a pair, a
double (what `high` and `low` give), a number that stands in the text (a double, which becomes a pair where it is stored or meets
another one), arrays of these, and several of them. Every function is made once for the types that it is called with.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from . import pair_functions
from .pair_arithmetic import BIT, DOUBLE, PAIR, WORD, PairArithmetic

WHOLE, TRUTH, REAL, FLOAT, TEXT = "whole", "truth", "real", "float", "text"
LLVM = {WHOLE: WORD, TRUTH: BIT, REAL: PAIR, FLOAT: DOUBLE, TEXT: DOUBLE}
RANK = (TRUTH, WHOLE, TEXT, FLOAT, REAL)
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
ON_REALS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
ON_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
ON_WHOLES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_"}
OF_FLOATS = {"floor": "llvm.floor", "log": "llvm.log", "nearest": "llvm.rint"}


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


class _Function:
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

    # types

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

    # statements

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

    def _packed(self, value, kind, wanted):
        """A value as it is handed on, of the wanted type."""
        if not isinstance(wanted, tuple):
            return self.turned(value, kind, wanted)
        whole = ir.Constant(llvm_type(wanted), ir.Undefined)
        for at, (each, one, other) in enumerate(zip(value, kind, wanted, strict=True)):
            whole = self.builder.insert_value(whole, self._packed(each, one, other), at)
        return whole

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

    def _new_block(self) -> ir.Block:
        return self.builder.append_basic_block()

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

    # values

    def value(self, node):
        """An expression as a value of its type; a list where it has several, a `ArrayPlace` where it is an array."""
        return getattr(self, f"_on_{type(node).__name__.lower()}", self._untyped)(node)

    def truth(self, node) -> Any:
        """An expression as a condition."""
        value, kind = self.value(node), self.type_of(node)
        if kind == TRUTH:
            return value
        if kind == WHOLE:
            return self.builder.icmp_signed("!=", value, ir.Constant(WORD, 0))
        raise Unprintable(f"a condition of {kind}: {ast.unparse(node)}")

    def turned(self, value, kind, wanted):
        """A value as one of a wider type."""
        if kind == wanted or (kind == TEXT and wanted == FLOAT):
            return value
        if kind == TRUTH:
            value, kind = self.builder.zext(value, WORD), WHOLE
        if wanted == WHOLE and kind == WHOLE:
            return value
        if kind == WHOLE:
            value, kind = self.builder.sitofp(value, DOUBLE), FLOAT
        if wanted == REAL and kind in (FLOAT, TEXT):
            return self.pairs.joined(self.builder, value, ir.Constant(DOUBLE, 0.0))
        if wanted in (FLOAT, TEXT) and kind in (FLOAT, TEXT):
            return value
        raise Unprintable(f"{kind} as {wanted} in {self.name}")

    def _on_constant(self, node):
        return ir.Constant(LLVM[self.type_of(node)], node.value)

    def _on_name(self, node):
        name = node.id
        if name in self.views:
            return self.views[name]
        if name in self.places:
            kind = self.types[name]
            value = self.builder.load(self.places[name], typ=llvm_type(kind))
            return self._apart(value, kind)
        if name in ("nan", "inf"):
            return ir.Constant(DOUBLE, float(name))
        value = getattr(pair_functions, name)
        if isinstance(value, np.ndarray):
            return self.machine.table(value)
        return ir.Constant(LLVM[self.type_of(node)], value)

    def _apart(self, value, kind):
        """What was handed on, as `value` gives it."""
        if not isinstance(kind, tuple):
            return value
        return [self._apart(self.builder.extract_value(value, at), each) for at, each in enumerate(kind)]

    def _on_tuple(self, node):
        return [self.value(each) for each in node.elts]

    def _on_unaryop(self, node):
        if isinstance(node.op, ast.Not):
            return self.builder.not_(self.truth(node.operand))
        value, kind = self.value(node.operand), self.type_of(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if not isinstance(node.op, ast.USub):
            raise Unprintable(ast.unparse(node))
        if kind == REAL:
            return self.pairs.call(self.builder, "neg", value)
        return self.builder.neg(value) if kind == WHOLE else self.builder.fneg(value)

    def _on_binop(self, node):
        if isinstance(node.op, ast.Pow):
            return self._power(node)
        left, right = self.value(node.left), self.value(node.right)
        return self._operation(left, self.type_of(node.left), node.op, right, self.type_of(node.right))

    def _power(self, node):
        base = self.turned(self.value(node.left), self.type_of(node.left), REAL)
        if isinstance(node.right, ast.Constant) and node.right.value == 2:
            return self.pairs.call(self.builder, "mul", base, base)
        exponent = self.turned(self.value(node.right), self.type_of(node.right), REAL)
        return self.machine.apply(self.builder, "power", base, exponent)

    def _operation(self, left, of_left, op, right, of_right):
        builder, kind = self.builder, self._of_operation(of_left, op, of_right)
        if kind == WHOLE:
            if type(op) in ON_WHOLES:
                return getattr(builder, ON_WHOLES[type(op)])(left, right)
            if not isinstance(op, ast.FloorDiv | ast.Mod):
                raise Unprintable(ast.dump(op))
            rest = builder.srem(left, right)
            zero = ir.Constant(WORD, 0)
            other = builder.icmp_signed("<", builder.xor(rest, right), zero)
            down = builder.and_(other, builder.icmp_signed("!=", rest, zero))
            if isinstance(op, ast.Mod):
                return builder.select(down, builder.add(rest, right), rest)
            return builder.sub(builder.sdiv(left, right), builder.zext(down, WORD))
        if kind == FLOAT:
            pair = [self.turned(left, of_left, FLOAT), self.turned(right, of_right, FLOAT)]
            return getattr(builder, ON_FLOATS[type(op)])(*pair)
        if type(op) not in ON_REALS:
            raise Unprintable(ast.dump(op))
        name = ON_REALS[type(op)]
        short = {of_left, of_right} & {TEXT, FLOAT}
        if short and REAL in (of_left, of_right) and name in ("add", "mul", "sub"):
            if of_left == REAL:
                double = builder.fneg(right) if name == "sub" else right
                return self.pairs.call(builder, "mul_double" if name == "mul" else "add_double", left, double)
            pair = self.pairs.call(builder, "neg", right) if name == "sub" else right
            return self.pairs.call(builder, "mul_double" if name == "mul" else "add_double", pair, left)
        return self.pairs.call(builder, name, self.turned(left, of_left, REAL), self.turned(right, of_right, REAL))

    def _on_compare(self, node):
        ends = [node.left, *node.comparators]
        values = [(self.value(each), self.type_of(each)) for each in ends]
        found = None
        for (left, of_left), op, (right, of_right) in zip(values, node.ops, values[1:], strict=False):
            one = self.compared(COMPARED[type(op)], left, of_left, right, of_right)
            found = one if found is None else self.builder.and_(found, one)
        return found

    def compared(self, sign, left, of_left, right, of_right) -> Any:
        """A comparison."""
        builder = self.builder
        kind = joined(of_left, of_right)
        if kind in (WHOLE, TRUTH):
            return builder.icmp_signed(sign, self.turned(left, of_left, WHOLE), self.turned(right, of_right, WHOLE))
        if kind != REAL:
            left, right = self.turned(left, of_left, FLOAT), self.turned(right, of_right, FLOAT)
            return builder.fcmp_unordered(sign, left, right) if sign == "!=" else builder.fcmp_ordered(sign, left, right)
        left, right = self.turned(left, of_left, REAL), self.turned(right, of_right, REAL)
        if sign in (">", ">="):
            left, right, sign = right, left, sign.replace(">", "<")
        if sign == "!=":
            return builder.not_(self.pairs.call(builder, "eq", left, right))
        return self.pairs.call(builder, {"<": "lt", "<=": "le", "==": "eq"}[sign], left, right)

    def _on_boolop(self, node):
        ends = isinstance(node.op, ast.Or)
        behind = self._new_block()
        came = []
        for each in node.values[:-1]:
            test = self.truth(each)
            further = self._new_block()
            came.append((ir.Constant(BIT, ends), self.builder.block))
            self.builder.cbranch(test, *((behind, further) if ends else (further, behind)))
            self.builder.position_at_end(further)
        came.append((self.truth(node.values[-1]), self.builder.block))
        self.builder.branch(behind)
        self.builder.position_at_end(behind)
        found = self.builder.phi(BIT)
        for value, block in came:
            found.add_incoming(value, block)
        return found

    def _on_ifexp(self, node):
        kind = self.type_of(node)
        then, other, behind = (self._new_block() for _ in range(3))
        self.builder.cbranch(self.truth(node.test), then, other)
        came = []
        for block, each in ((then, node.body), (other, node.orelse)):
            self.builder.position_at_end(block)
            came.append((self._packed(self.value(each), self.type_of(each), kind), self.builder.block))
            self.builder.branch(behind)
        self.builder.position_at_end(behind)
        found = self.builder.phi(llvm_type(kind))
        for value, block in came:
            found.add_incoming(value, block)
        return self._apart(found, kind)

    def _entry(self, node) -> tuple[ir.Value, Type]:
        """Where an entry of an array stands, and its type."""
        view = self.value(node.value)
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        at = self.value(given[0])
        if view.type.axes == 2:
            at = self.builder.mul(at, view.lengths[1])
            if len(given) == 2:
                at = self.builder.add(at, self.value(given[1]))
        pointer = self.builder.gep(view.pointer, [at], inbounds=True, source_etype=LLVM[view.type.kind])
        left = view.type.axes - len(given)
        return pointer, ArrayType(view.type.kind, left) if left else view.type.kind

    def _on_subscript(self, node):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self.value(node.value.value).lengths[node.slice.value]
        if isinstance(node.slice, ast.Slice):
            return self._piece(self.value(node.value), node.slice)
        pointer, kind = self._entry(node)
        if isinstance(kind, ArrayType):
            return ArrayPlace(kind, pointer, self.value(node.value).lengths[1:])
        return self.builder.load(pointer, typ=LLVM[kind])

    def _piece(self, view: ArrayPlace, piece: ast.Slice) -> ArrayPlace:
        """Entries of an array with one axis, from one on and up to another."""
        if view.type.axes != 1 or piece.step is not None:
            raise Unprintable(f"a piece {ast.unparse(piece)} of an array")
        first = ir.Constant(WORD, 0) if piece.lower is None else self.value(piece.lower)
        behind = view.lengths[0] if piece.upper is None else self.value(piece.upper)
        pointer = self.builder.gep(view.pointer, [first], inbounds=True, source_etype=LLVM[view.type.kind])
        return ArrayPlace(view.type, pointer, (self.builder.sub(behind, first),))

    def _on_call(self, node):
        name = ast.unparse(node.func)
        if name in self.machine.outside:
            return self.machine.outside[name](self, node)
        if self._is_elementary(name):
            return self.machine.apply(self.builder, name.removeprefix("math."), *map(self._real, node.args))
        own = getattr(self, f"_call_{name.removeprefix('math.')}", None)
        if own is not None and (name.startswith("math.") or not (self.elementary and name in OWN)):
            return own(node)
        kinds = tuple(map(self.type_of, node.args))
        made, result = self.machine.function(name, self._handed(kinds), self.elementary)
        given = []
        for each, kind in zip(node.args, kinds, strict=True):
            value = self.value(each)
            if isinstance(kind, ArrayType):
                given += [value.pointer, *value.lengths]
            else:
                given.append(self._packed(value, kind, stored(kind)))
        return self._apart(self.builder.call(made, given), result)

    def _real(self, node):
        return self.turned(self.value(node), self.type_of(node), REAL)

    def _float(self, node):
        value, kind = self.value(node), self.type_of(node)
        return self.pairs.parts(self.builder, value)[0] if kind == REAL else self.turned(value, kind, FLOAT)

    def _call_high(self, node):
        return self.pairs.parts(self.builder, self._real(node.args[0]))[0]

    def _call_low(self, node):
        return self.pairs.parts(self.builder, self._real(node.args[0]))[1]

    def _call_pair(self, node):
        return self._real(node.args[0])

    def _call_float(self, node):
        value = node.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):  # 'nan', 'inf'
            return self.machine.constant(float(value.value))
        return self._real(value)

    def _call_exactly(self, node):
        return self.pairs.joined(self.builder, *self.pairs.two_product(self.builder, *map(self._float, node.args)))

    def _call_two_to(self, node):
        biased = self.builder.add(self.value(node.args[0]), ir.Constant(WORD, 1023))
        return self.builder.bitcast(self.builder.shl(biased, ir.Constant(WORD, 52)), DOUBLE)

    def _of_float(self, node):
        name = ast.unparse(node.func).removeprefix("math.")
        function = self.machine.module.declare_intrinsic(OF_FLOATS[name], [DOUBLE])
        return self.builder.call(function, [self._float(node.args[0])])

    _call_nearest = _call_floor = _call_log = _of_float

    def _call_atan2(self, node):
        module = self.machine.module
        known = module.globals.get("atan2") or ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE] * 2), "atan2")
        return self.builder.call(known, [self._float(each) for each in node.args])

    def _call_nothing(self, node):
        return self.machine.constant(float("nan"))

    def _call_infinity(self, node):
        return self.machine.constant(float("inf"))

    def _call_root(self, node):
        return self.pairs.call(self.builder, "sqrt", self._real(node.args[0]))

    _call_sqrt = _call_root

    def _call_int(self, node):
        value, kind = self.value(node.args[0]), self.type_of(node.args[0])
        if kind in (WHOLE, TRUTH):
            return self.turned(value, kind, WHOLE)
        return self.builder.fptosi(self._float(node.args[0]), WORD)

    def _call_len(self, node):
        return self.value(node.args[0]).lengths[0]

    def _call_isnan(self, node):
        value = self._real(node.args[0])
        return self.builder.not_(self.pairs.call(self.builder, "eq", value, value))

    def _call_isfinite(self, node):
        value = self.pairs.call(self.builder, "abs", self._real(node.args[0]))
        return self.pairs.call(self.builder, "le", value, self.machine.constant(1.7976931348623157e308))

    def _call_abs(self, node):
        value, kind = self.value(node.args[0]), self.type_of(node.args[0])
        if kind == REAL:
            return self.pairs.call(self.builder, "abs", value)
        if kind == WHOLE:
            below = self.builder.icmp_signed("<", value, ir.Constant(WORD, 0))
            return self.builder.select(below, self.builder.neg(value), value)
        return self.builder.call(self.machine.module.declare_intrinsic("llvm.fabs", [DOUBLE]), [value])

    def _extreme(self, node):
        sign = "<" if ast.unparse(node.func) == "min" else ">"
        wanted = self.type_of(node)
        found = self.turned(self.value(node.args[0]), self.type_of(node.args[0]), wanted)
        for each in node.args[1:]:
            other = self.turned(self.value(each), self.type_of(each), wanted)
            found = self.builder.select(self.compared(sign, other, wanted, found, wanted), other, found)
        return found

    _call_min = _call_max = _extreme

    def _call_copysign(self, node):
        size, sign = (self._real(each) for each in node.args)
        low = self.builder.bitcast(self.pairs.parts(self.builder, sign)[0], WORD)
        size = self.pairs.call(self.builder, "abs", size)
        below = self.builder.icmp_signed("<", low, ir.Constant(WORD, 0))
        return self.builder.select(below, self.pairs.call(self.builder, "neg", size), size)


