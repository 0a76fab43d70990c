"""Expressions as values of lanes: what a function that is printed for several members computes with."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir

from .lane_memory import BIT, DOUBLE, REAL, SCALAR, TRUTH, WHOLE, WORD, LaneArray, LaneNumber, LanePlace
from .lane_types import NoLaneCode

FLAGS = ("contract",)  # as kernels are compiled everywhere: a product and a sum may be rounded once
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
ON_REALS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
ON_WHOLES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and_"}


class LaneValues:
    """Writes the expressions of one function; who inherits it writes the statements, and has what is named here."""

    machine: Any  # LaneMachine
    memory: Any  # LaneMemory
    found: Any  # LaneTypes of the function
    name: str
    types: dict[str, Any]  # of variables
    type_of: Any  # of expressions
    places: dict[str, ir.Value]  # of variables
    views: dict[str, LanePlace]
    at_work: ir.Value  # where the mask stands
    builder: Any

    def mask(self) -> ir.Value:
        """The lanes that are at work here."""
        return self.builder.load(self.at_work)

    def _new_block(self) -> ir.Block:
        return self.builder.append_basic_block()

    def value(self, node):
        """An expression as a value of its type; a list where it has several, an `LanePlace` where it is an array."""
        return getattr(self, f"_on_{type(node).__name__.lower()}", self._unknown)(node)

    def _unknown(self, node):
        raise NoLaneCode(ast.unparse(node))

    def real(self, node) -> ir.Value:
        """An expression as a real number of each lane."""
        return self.turned(self.value(node), self.type_of(node), LaneNumber(REAL, True))

    def truth(self, node) -> ir.Value:
        """An expression as a condition."""
        kind = self.type_of(node)
        return self.turned(self.value(node), kind, LaneNumber(TRUTH, kind.varying))

    def turned(self, value, kind: LaneNumber, wanted: LaneNumber) -> ir.Value:
        """A value as one of a wider type."""
        if isinstance(wanted, tuple):
            return [self.turned(*each) for each in zip(value, kind, wanted, strict=True)]
        if kind.kind != wanted.kind:
            value = self._of_kind(value, kind, wanted.kind)
        if wanted.varying and not kind.varying:
            return self.memory.spread(self.builder, value)
        if kind.varying and not wanted.varying:
            raise NoLaneCode(f"{kind} as {wanted} in {self.name}")
        return value

    def _of_kind(self, value, kind: LaneNumber, wanted: str):
        builder, form = self.builder, self.memory.type_of(LaneNumber(wanted, kind.varying))
        if isinstance(value, ir.Constant) and not kind.varying and (kind.kind, wanted) != (REAL, WHOLE):
            if wanted == TRUTH:
                return ir.Constant(form, int(value.constant != 0))
            return ir.Constant(form, float(value.constant) if wanted == REAL else int(value.constant))
        if wanted == TRUTH and kind.kind == WHOLE:
            return builder.icmp_signed("!=", value, self.memory.all_of(WHOLE, 0) if kind.varying else ir.Constant(WORD, 0))
        if kind.kind == TRUTH and wanted == WHOLE:
            return builder.zext(value, form)
        if kind.kind == TRUTH and wanted == REAL:
            return builder.uitofp(value, form)
        if kind.kind == WHOLE and wanted == REAL:
            return builder.sitofp(value, form)
        raise NoLaneCode(f"{kind} as {wanted} in {self.name}")

    def _on_constant(self, node):
        kind = self.type_of(node).kind
        return ir.Constant(SCALAR[kind], int(node.value) if kind == TRUTH else node.value)

    def _on_name(self, node):
        name = node.id
        if name in self.views:
            return self.views[name]
        if name in self.places:
            return self._apart(self.builder.load(self.places[name]), self.types[name])
        return ir.Constant(DOUBLE, float(name))  # nan, inf

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
            raise NoLaneCode(ast.unparse(node))
        if isinstance(value, ir.Constant) and not kind.varying:
            return ir.Constant(value.type, -value.constant)
        return self.builder.neg(value) if kind.kind == WHOLE else self.builder.fneg(value)

    def _on_binop(self, node):
        if isinstance(node.op, ast.Pow):
            return self._power(node)
        kind = self.type_of(node)
        if kind.kind == REAL and isinstance(node.op, ast.Add | ast.Sub) and _of_number(node.right) and not _of_number(node.left):
            total = self.turned(self.value(node.left), self.type_of(node.left), kind)
            return self._summed(total, [node.right.left, node.right.right], kind, isinstance(node.op, ast.Sub))
        left, right = self.value(node.left), self.value(node.right)
        return self._operation(left, self.type_of(node.left), node.op, right, self.type_of(node.right))

    def _power(self, node):
        kind = self.type_of(node)
        base = self.turned(self.value(node.left), self.type_of(node.left), kind)
        if isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
            return self._whole_power(base, node.right.value)
        exponent = self.turned(self.value(node.right), self.type_of(node.right), kind)
        return self._by_library("pow", [base, exponent], kind)

    def _whole_power(self, base, n: int):
        """By squares, as Numba does it."""
        if n < 1:
            raise NoLaneCode(f"power {n} in {self.name}")
        found = None
        while n:
            if n & 1:
                found = base if found is None else self.builder.fmul(found, base, flags=FLAGS)
            n >>= 1
            if n:
                base = self.builder.fmul(base, base, flags=FLAGS)
        return found

    def _by_library(self, name: str, given: list, kind: LaneNumber):
        if kind.varying:
            return self.builder.call(self.machine.each(name, len(given)), [self.mask(), *given])
        return self.builder.call(self.machine.scalar(name, len(given)), given)

    def _operation(self, left, of_left, op, right, of_right):
        builder, kind = self.builder, self.found._of_operation(of_left, op, of_right)
        left, right = self.turned(left, of_left, kind), self.turned(right, of_right, kind)
        if kind.kind == REAL:
            if type(op) not in ON_REALS:
                raise NoLaneCode(ast.dump(op))
            return getattr(builder, ON_REALS[type(op)])(left, right, flags=FLAGS)
        if type(op) in ON_WHOLES:
            return getattr(builder, ON_WHOLES[type(op)])(left, right)
        if not isinstance(op, ast.FloorDiv | ast.Mod):
            raise NoLaneCode(ast.dump(op))
        rest = builder.srem(left, right)
        zero = ir.Constant(rest.type, [0] * self.machine.width if kind.varying else 0)
        other = builder.icmp_signed("<", builder.xor(rest, right), zero)
        down = builder.and_(other, builder.icmp_signed("!=", rest, zero))
        if isinstance(op, ast.Mod):
            return builder.select(down, builder.add(rest, right), rest)
        return builder.sub(builder.sdiv(left, right), builder.zext(down, rest.type))

    def _on_compare(self, node):
        apart = self.type_of(node).varying
        ends = [node.left, *node.comparators]
        values = [(self.value(each), self.type_of(each)) for each in ends]
        found = None
        for (left, of_left), op, (right, of_right) in zip(values, node.ops, values[1:], strict=False):
            kind = LaneNumber(REAL if REAL in (of_left.kind, of_right.kind) else WHOLE, apart)
            one = self._compared(COMPARED[type(op)], self.turned(left, of_left, kind), self.turned(right, of_right, kind), kind)
            found = one if found is None else self.builder.and_(found, one)
        return found

    def _compared(self, sign, left, right, kind: LaneNumber):
        if kind.kind == WHOLE:
            return self.builder.icmp_signed(sign, left, right)
        if sign == "!=":
            return self.builder.fcmp_unordered(sign, left, right)
        return self.builder.fcmp_ordered(sign, left, right)

    def _on_boolop(self, node):
        return self._one_by_one(node.values, isinstance(node.op, ast.Or), self.type_of(node))

    def _one_by_one(self, nodes, ends: bool, wanted: LaneNumber):
        """What comes after the first is looked at by those lanes alone that it does not decide for."""
        builder, kind = self.builder, self.type_of(nodes[0])
        first = self.truth(nodes[0])
        if len(nodes) == 1:
            return self.turned(first, kind, wanted)
        if not kind.varying:
            known = self.memory.all_of(TRUTH, int(ends)) if wanted.varying else ir.Constant(BIT, int(ends))
            here, further, behind = builder.block, self._new_block(), self._new_block()
            builder.cbranch(first, *((behind, further) if ends else (further, behind)))
            builder.position_at_end(further)
            rest, came_from = self._one_by_one(nodes[1:], ends, wanted), builder.block
            builder.branch(behind)
            builder.position_at_end(behind)
            found = builder.phi(self.memory.type_of(wanted))
            found.add_incoming(known, here)
            found.add_incoming(rest, came_from)
            return found
        before = self.mask()
        builder.store(builder.and_(before, builder.not_(first) if ends else first), self.at_work)
        rest = self._one_by_one(nodes[1:], ends, wanted)
        builder.store(before, self.at_work)
        return builder.or_(first, rest) if ends else builder.and_(first, rest)

    def _on_ifexp(self, node):
        builder, wanted, kind = self.builder, self.type_of(node), self.type_of(node.test)
        test = self.truth(node.test)
        if not kind.varying:
            then, other, behind = (self._new_block() for _ in range(3))
            builder.cbranch(test, then, other)
            came = []
            for block, each in ((then, node.body), (other, node.orelse)):
                builder.position_at_end(block)
                came.append((self.turned(self.value(each), self.type_of(each), wanted), builder.block))
                builder.branch(behind)
            builder.position_at_end(behind)
            found = builder.phi(self.memory.type_of(wanted))
            for value, block in came:
                found.add_incoming(value, block)
            return found
        before, values = self.mask(), []
        for mine, each in ((test, node.body), (builder.not_(test), node.orelse)):
            builder.store(builder.and_(before, mine), self.at_work)
            values.append(self.turned(self.value(each), self.type_of(each), wanted))
        builder.store(before, self.at_work)
        return builder.select(test, *values)

    def _entry(self, node) -> tuple[LanePlace, list[ir.Value]]:
        """An array, and the indices of one of its entries."""
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return self.value(node.value), [self.value(each) for each in given]

    def _on_subscript(self, node):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self.value(node.value.value).lengths[node.slice.value]
        if isinstance(node.slice, ast.Slice):
            bounds = [self.value(each) for each in (node.slice.lower, node.slice.upper)]
            return self.memory.stretch(self.builder, self.value(node.value), *bounds)
        place, at = self._entry(node)
        if len(at) < len(place.lengths):
            return self.memory.part(self.builder, place, at)
        return self.memory.load(self.builder, place, at, self.mask())

    def _on_call(self, node):
        name = ast.unparse(node.func)
        if name in self.machine.words:
            return self.machine.words[name].write(self, node)
        own = getattr(self, f"_call_{name.removeprefix('math.')}", None)
        if own is not None:
            return own(node)
        kinds = tuple(map(self.type_of, node.args))
        made = self.machine.function(name, kinds)
        given: list[ir.Value] = [self.mask()]
        for each, kind in zip(node.args, kinds, strict=True):
            value = self.value(each)
            if isinstance(kind, LaneArray):
                given.append(value.begin)
                given += [length for length, known in zip(value.lengths, kind.shape, strict=True) if known is None]
            else:
                given.append(value)
        return self._apart(self.builder.call(made, given), self.machine.types(name, kinds).result)

    def _given(self, node) -> list[ir.Value]:
        kind = self.type_of(node)
        return [self.turned(self.value(each), self.type_of(each), LaneNumber(REAL, kind.varying)) for each in node.args]

    def _vectors(self, name: str, many: int, kind: LaneNumber) -> ir.Function:
        """An intrinsic of LLVM that processors have for vectors."""
        form = self.memory.type_of(LaneNumber(REAL, kind.varying))
        full = f"llvm.{name}.{f'v{self.machine.width}f64' if kind.varying else 'f64'}"
        known = self.machine.module.globals.get(full)
        return known or ir.Function(self.machine.module, ir.FunctionType(form, [form] * many), full)

    def _call_sqrt(self, node):
        return self.builder.call(self._vectors("sqrt", 1, self.type_of(node)), self._given(node))

    def _call_copysign(self, node):
        return self.builder.call(self._vectors("copysign", 2, self.type_of(node)), self._given(node))

    def _elementary(self, node):
        name = ast.unparse(node.func).removeprefix("math.")
        return self._by_library(name, self._given(node), self.type_of(node))

    _call_exp = _call_log = _elementary

    def _call_float(self, node):
        value = node.args[0]
        if isinstance(value, ast.Constant) and isinstance(value.value, str):  # 'nan', 'inf'
            return ir.Constant(DOUBLE, float(value.value))
        return self._given(node)[0]

    def _call_int(self, node):
        value, kind = self.value(node.args[0]), self.type_of(node.args[0])
        if kind.kind == REAL:
            return self.builder.fptosi(value, self.memory.type_of(LaneNumber(WHOLE, kind.varying)))
        return self.turned(value, kind, LaneNumber(WHOLE, kind.varying))

    def _call_len(self, node):
        return self.value(node.args[0]).lengths[0]

    def _call_isnan(self, node):
        (value,) = [self.value(each) for each in node.args]
        return self.builder.fcmp_unordered("uno", value, value)

    def _call_isfinite(self, node):
        kind = LaneNumber(REAL, self.type_of(node).varying)
        size = self.builder.call(self._vectors("fabs", 1, kind), [self.value(node.args[0])])
        largest = self.turned(ir.Constant(DOUBLE, 1.7976931348623157e308), LaneNumber(REAL), kind)
        return self.builder.fcmp_ordered("<=", size, largest)

    def _call_abs(self, node):
        value, kind = self.value(node.args[0]), self.type_of(node.args[0])
        if kind.kind == WHOLE:
            zero = self.turned(ir.Constant(WORD, 0), LaneNumber(WHOLE), kind)
            return self.builder.select(self.builder.icmp_signed("<", value, zero), self.builder.neg(value), value)
        return self.builder.call(self._vectors("fabs", 1, kind), [value])

    def _extreme(self, node):
        sign, wanted = "<" if ast.unparse(node.func) == "min" else ">", self.type_of(node)
        found, *others = (self.turned(self.value(each), self.type_of(each), wanted) for each in node.args)
        for other in others:
            found = self.builder.select(self._compared(sign, other, found, wanted), other, found)
        return found

    _call_min = _call_max = _extreme

    def _factors(self, node) -> list | None:
        """The factors of a product that is added to a sum."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return [node.left, node.right]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return [node.left] if isinstance(node.right, ast.Constant) and node.right.value == 2 else None
        return None

    def _summed(self, total, factors: list, kind: LaneNumber, minus: bool):
        """A sum with one more product.

        Rounded once where the processor can, as in the kernels of one member. There a product stands in a loop over
        summands, or has a factor from memory; here, where loops are written out and such factors are numbers of the program,
        the optimizer would choose another product to round, or find it twice and round both.
        """
        product = [self.turned(self.value(each), self.type_of(each), kind) for each in factors]
        a, b = product if len(product) == 2 else product * 2
        if not self.machine.fused:
            changed = self.builder.fmul(a, b, flags=FLAGS)
            return (self.builder.fsub if minus else self.builder.fadd)(total, changed, flags=FLAGS)
        return self.builder.call(self._vectors("fma", 3, kind), [self.builder.fneg(a) if minus else a, b, total])


def _of_number(node) -> bool:
    """Whether an expression is a product with a number of the program."""
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    return product and any(isinstance(each, ast.Constant) for each in (node.left, node.right))
