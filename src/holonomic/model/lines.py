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

    __slots__ = ("reference", "text")
    type = DOUBLE

    def __init__(self, reference: str, text: str = ""):
        self.reference, self.text = reference, text

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
    """

    def __init__(self, builder: ir.IRBuilder, flags: tuple[str, ...]):
        self._builder, self._flags = builder, " ".join(flags)
        self._instructions = builder.block.instructions

    @property
    def builder(self) -> ir.IRBuilder:
        """llvmlite's own, behind the last line."""
        self._builder.position_at_end(self._builder.block)
        return self._builder

    def constant(self, number: float) -> Line:
        """A number."""
        return Line(ir.Constant(DOUBLE, number).get_reference())

    def load(self, array: ir.Value, index: int) -> Line:
        """An entry of an array."""
        return self._value(f"load double, double* {self._element(array, index)}")

    def store(self, value, array: ir.Value, index: int) -> None:
        """Put a value into an entry of an array."""
        self._instructions.append(Line("", f"store double {value.get_reference()}, double* {self._element(array, index)}"))

    def arithmetic(self, name: str, x, y) -> Line:
        """x + y, x - y, x * y or x / y, by the names of a tape."""
        return self._value(f"{ARITHMETIC[name]} {self._flags} double {x.get_reference()}, {y.get_reference()}")

    def negative(self, x) -> Line:
        """-x."""
        return self._value(f"fneg double {x.get_reference()}")

    def _element(self, array: ir.Value, index: int) -> str:
        return self._value(f"getelementptr inbounds double, double* {array.get_reference()}, i64 {index}").reference

    def _value(self, what: str) -> Line:
        name = f'%"line {len(self._instructions)}"'
        made = Line(name, f"{name} = {what}")
        self._instructions.append(made)
        return made
