"""Numbers and arrays of several members side by side, as LLVM code: types, and entries of arrays read and written.

A number is one for all lanes (uniform), or one for each (varying), a vector. An array is

    LANES    memory of the lanes themselves: entry i of all of them side by side, then entry i + 1
    SHARED   one array for all
    OWN      an array for each lane, wherever it begins; its entries lie `step` words apart

so that an entry under a uniform index is one vector of LANES and one number of SHARED. Everything else is gathered number by
number. What is written is written for the lanes of a mask alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

TRUTH, WHOLE, REAL = "truth", "whole", "real"
BIT, WORD, DOUBLE = ir.IntType(1), ir.IntType(64), ir.DoubleType()
SCALAR = {TRUTH: BIT, WHOLE: WORD, REAL: DOUBLE}
RANK = (TRUTH, WHOLE, REAL)
LANES, SHARED, OWN = "lanes", "shared", "own"
BYTES = 8  # of a word


@dataclass(frozen=True)
class LaneNumber:
    """A truth, a whole or a real number."""

    kind: str
    varying: bool = False


@dataclass(frozen=True)
class LaneArray:
    """An array of wholes or reals with one axis or two or three.

    The shape of LANES is part of the type; the lengths of others are told to the program. `shape` has None for those.
    """

    kind: str
    layout: str
    shape: tuple[int | None, ...]
    step: int = 1


@dataclass
class LanePlace:
    """An array in the program: the pointer to its first number, or for OWN the addresses as a vector, and its lengths."""

    type: LaneArray
    begin: ir.Value
    lengths: tuple[ir.Value, ...]


Type = Any  # a LaneNumber, an LaneArray, a tuple of types; None where nothing is known yet


class LaneMemory:
    """Vectors of one width, and access to arrays of them."""

    def __init__(self, module: ir.Module, width: int):
        self.module, self.width = module, width
        self.mask = ir.VectorType(BIT, width)
        self.bits = ir.IntType(width)

    def type_of(self, kind: Type) -> ir.Type:
        """How a value is handed on."""
        if isinstance(kind, tuple):
            return ir.LiteralStructType([self.type_of(each) for each in kind])
        scalar = SCALAR[kind.kind]
        return ir.VectorType(scalar, self.width) if kind.varying else scalar

    def vector(self, kind: str) -> ir.VectorType:
        """The vector of numbers of a kind."""
        return ir.VectorType(SCALAR[kind], self.width)

    def all_of(self, kind: str, number) -> ir.Constant:
        """One number in every lane."""
        return ir.Constant(self.vector(kind), [number] * self.width)

    def spread(self, builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
        """A number of the program in every lane."""
        kind = ir.VectorType(value.type, self.width)
        if isinstance(value, ir.Constant):
            return ir.Constant(kind, [value.constant] * self.width)
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def any(self, builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
        """Whether a mask has a lane."""
        return builder.icmp_unsigned("!=", builder.bitcast(mask, self.bits), ir.Constant(self.bits, 0))

    def all(self, builder: ir.IRBuilder, mask: ir.Value) -> ir.Value:
        """Whether a mask has all lanes."""
        return builder.icmp_unsigned("==", builder.bitcast(mask, self.bits), ir.Constant(self.bits, 2**self.width - 1))

    # entries

    def index(self, builder: ir.IRBuilder, place: LanePlace, at: list[ir.Value]) -> tuple[ir.Value, bool]:
        """The number of words, of one lane, to an entry or to the part under a first index; whether it differs by lanes."""
        varying = any(isinstance(each.type, ir.VectorType) for each in at)
        wide = (
            (lambda value: value if isinstance(value.type, ir.VectorType) else self.spread(builder, value))
            if varying
            else (lambda value: value)
        )
        whole = wide(at[0])
        for axis in range(1, len(place.lengths)):
            whole = builder.mul(whole, wide(place.lengths[axis]))
            if axis < len(at):
                whole = builder.add(whole, wide(at[axis]))
        return whole, varying

    def part(self, builder: ir.IRBuilder, place: LanePlace, at: list[ir.Value]) -> LanePlace:
        """What is left of an array under its first indices."""
        whole, varying = self.index(builder, place, at)
        kind, left = place.type, place.type.shape[len(at) :]
        lengths = place.lengths[len(at) :]
        if kind.layout != OWN and not varying:
            step = self.width if kind.layout == LANES else 1
            begin = self._at(builder, place, builder.mul(whole, ir.Constant(WORD, step)))
            return LanePlace(LaneArray(kind.kind, kind.layout, left, kind.step), begin, lengths)
        step = self.width if kind.layout == LANES else kind.step
        return LanePlace(LaneArray(kind.kind, OWN, left, step), self._addresses(builder, place, whole), lengths)

    def stretch(self, builder: ir.IRBuilder, place: LanePlace, first: ir.Value, last: ir.Value) -> LanePlace:
        """A stretch of an array along its first axis, between uniform bounds."""
        kind = LaneArray(place.type.kind, place.type.layout, (None, *place.type.shape[1:]), place.type.step)
        whole, _ = self.index(builder, place, [first])
        lengths = (builder.sub(last, first), *place.lengths[1:])
        if kind.layout == OWN:
            return LanePlace(kind, self._addresses(builder, place, whole), lengths)
        step = self.width if kind.layout == LANES else 1
        return LanePlace(kind, self._at(builder, place, builder.mul(whole, ir.Constant(WORD, step))), lengths)

    def load(self, builder: ir.IRBuilder, place: LanePlace, at: list[ir.Value], mask: ir.Value) -> ir.Value:
        """An entry: uniform of SHARED under a uniform index, varying otherwise."""
        whole, varying = self.index(builder, place, at)
        kind = place.type
        if kind.layout == LANES and not varying:
            return builder.load(self._row(builder, place, whole), align=BYTES)
        if kind.layout == SHARED and not varying:
            return builder.load(self._at(builder, place, whole))
        return self._gathered(builder, kind.kind, self._addresses(builder, place, whole), mask)

    def store(self, builder: ir.IRBuilder, place: LanePlace, at: list[ir.Value], value: ir.Value, mask: ir.Value) -> None:
        """Write a varying value into an entry of the lanes of a mask."""
        whole, varying = self.index(builder, place, at)
        if place.type.layout == LANES and not varying:
            row = self._row(builder, place, whole)
            builder.store(builder.select(mask, value, builder.load(row, align=BYTES)), row, align=BYTES)
            return
        pointers = self._pointers(builder, place.type.kind, self._addresses(builder, place, whole))
        function = self._intrinsic("scatter", place.type.kind)
        builder.call(function, [value, pointers, ir.Constant(ir.IntType(32), BYTES), mask])

    def gathers(self, place: LanePlace, at: list[ir.Value]) -> bool:
        """Whether reading an entry gives a varying value."""
        return place.type.layout != SHARED or any(isinstance(each.type, ir.VectorType) for each in at)

    def _at(self, builder, place: LanePlace, words) -> ir.Value:
        return builder.gep(place.begin, [words], inbounds=True, source_etype=SCALAR[place.type.kind])

    def _row(self, builder, place: LanePlace, whole) -> ir.Value:
        pointer = self._at(builder, place, builder.mul(whole, ir.Constant(WORD, self.width)))
        return builder.bitcast(pointer, self.vector(place.type.kind).as_pointer())

    def _addresses(self, builder, place: LanePlace, whole) -> ir.Value:
        """Addresses of an entry in every lane."""
        if not isinstance(whole.type, ir.VectorType):
            whole = self.spread(builder, whole)
        layout = place.type.layout
        step = self.width if layout == LANES else place.type.step if layout == OWN else 1
        away = builder.mul(whole, self.all_of(WHOLE, BYTES * step))
        if layout == OWN:
            return builder.add(place.begin, away)
        begin = self.spread(builder, builder.ptrtoint(place.begin, WORD))
        if layout == LANES:
            begin = builder.add(begin, ir.Constant(self.vector(WHOLE), [BYTES * lane for lane in range(self.width)]))
        return builder.add(begin, away)

    def _pointers(self, builder, kind: str, addresses) -> ir.Value:
        return builder.inttoptr(addresses, ir.VectorType(SCALAR[kind].as_pointer(), self.width))

    def _gathered(self, builder, kind: str, addresses, mask) -> ir.Value:
        pointers = self._pointers(builder, kind, addresses)
        zero = self.all_of(kind, 0.0 if kind == REAL else 0)
        return builder.call(self._intrinsic("gather", kind), [pointers, ir.Constant(ir.IntType(32), BYTES), mask, zero])

    def _intrinsic(self, what: str, kind: str) -> ir.Function:
        word = f"v{self.width}{'f64' if kind == REAL else 'i64'}"
        name = f"llvm.masked.{what}.{word}.v{self.width}p0{'f64' if kind == REAL else 'i64'}"
        if name in self.module.globals:
            return self.module.globals[name]
        vector = self.vector(kind)
        pointers, align = ir.VectorType(SCALAR[kind].as_pointer(), self.width), ir.IntType(32)
        if what == "gather":
            form = ir.FunctionType(vector, [pointers, align, self.mask, vector])
        else:
            form = ir.FunctionType(ir.VoidType(), [vector, pointers, align, self.mask])
        return ir.Function(self.module, form, name)
