"""Instructions of straight-line code as lines of text, beside those that llvmlite makes as objects.

Reads, writes and sums are nearly all of a tape. An object of llvmlite's takes 25 µs from its making to its text, a line 2 µs: more
than half of the time in which a model of a thousand operations was compiled. Both stand in one block, and each may use the
values of the other.
"""

from __future__ import annotations

from llvmlite import ir

DOUBLE = ir.DoubleType()
ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


class Line:
    """One instruction, or a constant: what llvmlite asks of a value."""

    __slots__ = ("reference", "text", "type")

    def __init__(self, reference: str, text: str = "", type=DOUBLE):
        self.reference, self.text, self.type = reference, text, type

    def __str__(self) -> str:
        return self.text

    def get_reference(self) -> str:
        """How other instructions name it."""
        return self.reference


class Lines:
    """Writes lines at the end of the block that a builder is in.

    Parameters
    ----------
    builder : ir.IRBuilder
        At the end of the one block of a function.
    flags : tuple of str
        Of arithmetic.
    lanes : int
        Of how many elements a value holds the numbers. An array has those of one index side by side, and those of the next behind.
    """

    def __init__(self, builder: ir.IRBuilder, flags: tuple[str, ...], lanes: int = 1):
        self._builder, self._flags, self.lanes = builder, " ".join(flags), lanes
        self._instructions = builder.block.instructions
        self.type = DOUBLE if lanes == 1 else ir.VectorType(DOUBLE, lanes)
        self._type = str(self.type)

    @property
    def builder(self) -> ir.IRBuilder:
        """llvmlite's own, behind the last line."""
        self._builder.position_at_end(self._builder.block)
        return self._builder

    def constant(self, number: float) -> Line:
        """A number."""
        value = ir.Constant(self.type, number if self.lanes == 1 else [number] * self.lanes)
        return Line(value.get_reference(), type=self.type)

    def load(self, array: ir.Value, index: int, alone: bool = False) -> Line:
        """An entry of an array; `alone`, it is not read together with others.

        Two numbers that were just written one by one cannot be read as one pair without waiting for the memory.
        """
        how = "load volatile" if alone else "load"
        return self._value(f"{how} {self._type}, {self._type}* {self._element(array, index)}{self._alignment}")

    def store(self, value, array: ir.Value, index: int) -> None:
        """Put a value into an entry of an array."""
        where = f"{self._type}* {self._element(array, index)}{self._alignment}"
        self._instructions.append(Line("", f"store {self._type} {value.get_reference()}, {where}"))

    def arithmetic(self, name: str, x, y) -> Line:
        """x + y, x - y, x * y or x / y, by the names of a tape."""
        return self._value(f"{ARITHMETIC[name]} {self._flags} {self._type} {x.get_reference()}, {y.get_reference()}")

    def negative(self, x) -> Line:
        """-x."""
        return self._value(f"fneg {self._type} {x.get_reference()}")

    def spread(self, value) -> Line:
        """One number for all."""
        if self.lanes == 1:
            return value
        one = self._value(f"insertelement {self._type} undef, double {value.get_reference()}, i32 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self._value(f"shufflevector {self._type} {one.reference}, {self._type} undef, {zeros}")

    @property
    def _alignment(self) -> str:
        return "" if self.lanes == 1 else ", align 8"

    def _element(self, array: ir.Value, index: int) -> str:
        place = f"getelementptr inbounds double, double* {array.get_reference()}, i64 {index * self.lanes}"
        found = self._value(place).reference
        return found if self.lanes == 1 else self._value(f"bitcast double* {found} to {self._type}*").reference

    def _value(self, what: str) -> Line:
        name = f'%"line {len(self._instructions)}"'
        made = Line(name, f"{name} = {what}", self.type)
        self._instructions.append(made)
        return made
