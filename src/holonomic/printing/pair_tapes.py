"""Model functions as machine code of pairs: a tape, operation by operation.

A long tape becomes a chain of pieces that hand values on in an array on the stack, as in `model.emit`: an operation of pairs is up
to twenty instructions, and the time of the compiler grows faster than the length of one piece.
"""

from __future__ import annotations

from llvmlite import ir

from ..model.tape import CALL, INPUTS, Tape
from .pair_arithmetic import DOUBLE, PAIR, PairArithmetic
from .pair_machine import PairMachine
from .pair_types import Unprintable

POINTER = PAIR.as_pointer()
FUNCTION = ir.FunctionType(ir.VoidType(), [PAIR, POINTER, POINTER, POINTER, POINTER])  # t, a, b, data, out
PIECE_FUNCTION = ir.FunctionType(ir.VoidType(), [PAIR, POINTER, POINTER, POINTER, POINTER, POINTER])
PIECE = 200  # operations of one piece
LONG = 3000  # operations of a tape from which on arithmetic is called: 8000 of them compile in seconds instead of a minute

ARITHMETIC = ("add", "sub", "mul", "div", "sqrt", "neg")
ELEMENTARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "atan": "atan",
    "asin": "asin", "acos": "acos", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "atan2": "atan2", "hypot": "hypot", "pow": "power", "constpow": "power", "floor": "floor", "ceil": "ceil",
    "fmod": "fmod",
}  # fmt: skip
TURNING = {"sin": 0, "cos": 1}  # both come from one function


def tape_function(machine: PairMachine, tape: Tape, name: str) -> ir.Function:
    """Add a tape to a module."""
    count = len(tape.nodes)
    bounds = [*range(0, count, PIECE), count] if count > PIECE + PIECE // 2 else [0, count]
    piece_of = {k: min(k // PIECE, len(bounds) - 2) for k in range(count)} if len(bounds) > 2 else dict.fromkeys(range(count), 0)
    crossing = {
        i
        for k, node in enumerate(tape.nodes)
        if node[0] not in ("in", "const")
        for i in node[1:]
        if piece_of[i] < piece_of[k] and tape.nodes[i][0] not in ("in", "const")
    }
    places = {node: place for place, node in enumerate(sorted(crossing))}
    pairs = machine.called if count > LONG else machine.pairs
    function = ir.Function(machine.module, FUNCTION, name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block())
    handed = builder.alloca(PAIR, max(1, len(crossing)))
    for number in range(len(bounds) - 1):
        piece = ir.Function(machine.module, PIECE_FUNCTION, f"{name}_piece_{number}")
        piece.linkage = "internal"
        piece.attributes.add("noinline")
        for argument in piece.args[1:]:
            argument.add_attribute("noalias")
        _Piece(machine, pairs, tape, piece, range(bounds[number], bounds[number + 1]), places, piece_of, number).write()
        builder.call(piece, [*function.args, handed])
    builder.ret_void()
    return function


class _Piece:
    """Writes the operations of one piece."""

    def __init__(
        self, machine: PairMachine, pairs: PairArithmetic, tape: Tape, function: ir.Function, nodes: range, places, piece_of,
        number: int,
    ):  # fmt: skip
        self.machine, self.pairs, self.tape, self.nodes, self.places = machine, pairs, tape, nodes, places
        self.piece_of, self.number = piece_of, number
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.t, *arrays, self.out, self.handed = function.args
        self.arrays = dict(zip(("a", "b", "data"), arrays, strict=True))
        self.known: dict[int, ir.Value] = {}
        self.turned: dict[int, ir.Value] = {}

    def write(self) -> None:
        """Write them, what is handed on, and the outputs that are found here."""
        for k in self.nodes:
            if self.tape.nodes[k][0] not in ("in", "const"):
                self[k]
            if k in self.places:
                self.builder.store(self[k], self._entry(self.handed, self.places[k]))
        for index, node in enumerate(self.tape.outputs):
            where = 0 if node is None else self.piece_of[node]
            if where == self.number:
                value = self.machine.constant(0.0) if node is None else self[node]
                self.builder.store(value, self._entry(self.out, index))
        self.builder.ret_void()

    def _entry(self, array, index: int):
        return self.builder.gep(array, [ir.Constant(ir.IntType(64), index)], inbounds=True)

    def __getitem__(self, k: int):
        if k not in self.known:
            self.known[k] = self._make(k)
        return self.known[k]

    def _make(self, k: int):
        name, *given = self.tape.nodes[k]
        if name == "in":
            which = INPUTS[given[0]]
            return self.t if which == "t" else self.builder.load(self._entry(self.arrays[which], given[1]))
        if name == "const":
            return self.machine.constant(given[0])
        if k in self.places and k not in self.nodes:
            return self.builder.load(self._entry(self.handed, self.places[k]))
        if name in TURNING:
            if given[0] not in self.turned:
                function, _ = self.machine.function("sincos", ("real",), True)
                self.turned[given[0]] = self.builder.call(function, [self[given[0]]])
            return self.builder.extract_value(self.turned[given[0]], TURNING[name])
        return self._operation(name, given)

    def _operation(self, name: str, given: list[int]):
        builder, pairs = self.builder, self.pairs
        if name in ("mul", "add") and any(self.tape.nodes[i][0] == "const" for i in given):
            number, other = sorted(given, key=lambda i: self.tape.nodes[i][0] != "const")
            return pairs.call(builder, f"{name}_double", self[other], ir.Constant(DOUBLE, self.tape.nodes[number][1]))
        values = [self[i] for i in given]
        if name in ARITHMETIC:
            return pairs.call(builder, name, *values)
        if name in ELEMENTARY:
            return self.machine.apply(builder, ELEMENTARY[name], *values)
        return self._other(name, values)

    def _other(self, name: str, values):
        builder, pairs, machine = self.builder, self.pairs, self.machine
        zero, one = machine.constant(0.0), machine.constant(1.0)
        x = values[0]
        y = values[1] if len(values) > 1 else None
        truth = lambda value: builder.not_(pairs.call(builder, "eq", value, zero))
        number = lambda bit: builder.select(bit, one, zero)
        if name == "sq":
            return pairs.call(builder, "mul", x, x)
        if name == "twice":
            return pairs.call(builder, "mul_double", x, ir.Constant(DOUBLE, 2.0))
        if name == "inv":
            return pairs.call(builder, "div", one, x)
        if name == "assign":
            return x
        if name == "fabs":
            return pairs.call(builder, "abs", x)
        if name in ("lt", "le", "eq"):
            return number(pairs.call(builder, name, x, y))
        if name == "ne":
            return number(builder.not_(pairs.call(builder, "eq", x, y)))
        if name == "not":
            return number(pairs.call(builder, "eq", x, zero))
        if name in ("and", "or"):
            return number((builder.and_ if name == "and" else builder.or_)(truth(x), truth(y)))
        if name == "choose":
            return builder.select(truth(x), y, values[2])
        if name == "if_else_zero":
            return builder.select(truth(x), y, zero)
        if name in ("fmin", "fmax"):  # NaN if either is
            less = pairs.call(builder, "lt", *((x, y) if name == "fmin" else (y, x)))
            itself = pairs.call(builder, "eq", x, x)
            return builder.select(itself, builder.select(less, x, y), x)
        if name == "sign":
            negative = builder.select(pairs.call(builder, "lt", x, zero), machine.constant(-1.0), x)
            return builder.select(pairs.call(builder, "lt", zero, x), one, negative)
        if name == "copysign":
            size, low = pairs.call(builder, "abs", x), pairs.parts(builder, y)[0]
            below = builder.icmp_signed("<", builder.bitcast(low, ir.IntType(64)), ir.Constant(ir.IntType(64), 0))
            return builder.select(below, pairs.call(builder, "neg", size), size)
        raise Unprintable("an opaque function" if name.startswith(CALL) else name)
