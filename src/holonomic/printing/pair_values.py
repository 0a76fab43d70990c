"""Expressions as machine code of pairs."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from llvmlite import ir

from . import pair_functions
from .pair_arithmetic import BIT, DOUBLE, WORD, PairArithmetic
from .pair_types import (
    FLOAT,
    LLVM,
    OWN,
    REAL,
    TEXT,
    TRUTH,
    WHOLE,
    ArrayPlace,
    ArrayType,
    Type,
    Typed,
    Unprintable,
    joined,
    llvm_type,
    stored,
)

COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
ON_REALS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}
ON_FLOATS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
ON_WHOLES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_"}
OF_FLOATS = {"floor": "llvm.floor", "log": "llvm.log", "nearest": "llvm.rint"}


class Valued(Typed):
    """Writes expressions into a function.

    Attributes
    ----------
    pairs : PairArithmetic
    builder : ir.IRBuilder
        At the place that is written.
    places : dict
        Where variables stand.
    views : dict
        Variables that are arrays.
    """

    pairs: PairArithmetic
    builder: Any
    name: str
    places: dict[str, Any]
    views: dict[str, ArrayPlace]

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

    def _packed(self, value, kind, wanted):
        """A value as it is handed on, of the wanted type."""
        if not isinstance(wanted, tuple):
            return self.turned(value, kind, wanted)
        whole = ir.Constant(llvm_type(wanted), ir.Undefined)
        for at, (each, one, other) in enumerate(zip(value, kind, wanted, strict=True)):
            whole = self.builder.insert_value(whole, self._packed(each, one, other), at)
        return whole

    def _new_block(self) -> ir.Block:
        return self.builder.append_basic_block()
