"""A tape as machine code (through LLVM) or as Python source, from one table of operations.

Machine code is built straight from the tape with llvmlite, the library below Numba: the same optimizer and
the same instructions as a Numba function would give, without its type inference, so that 500 operations
compile in well under a tenth of a second. Python source is for reading, for interpreted runs and for the GPU.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from llvmlite import ir

from ..errors import OK
from .lines import ARITHMETIC, Line, Lines
from .outside_functions import FORM, KNOWN, at
from .sines import in_groups, of_a_vector, of_vectors, sines_and_cosines
from .tape import CALL, INPUTS, Tape

# name: Python expression of x, y. Comparisons and logic give 0.0 or 1.0, as in the graph.
PYTHON = {
    "add": "x + y", "sub": "x - y", "mul": "x * y", "div": "x / y", "neg": "-x", "sq": "x * x",
    "twice": "x + x", "inv": "1.0 / x", "sqrt": "math.sqrt(x)", "exp": "math.exp(x)", "log": "math.log(x)",
    "pow": "x**y", "constpow": "x**y", "sin": "math.sin(x)", "cos": "math.cos(x)", "tan": "math.tan(x)",
    "asin": "math.asin(x)", "acos": "math.acos(x)", "atan": "math.atan(x)", "sinh": "math.sinh(x)",
    "cosh": "math.cosh(x)", "tanh": "math.tanh(x)", "asinh": "math.asinh(x)", "acosh": "math.acosh(x)",
    "atanh": "math.atanh(x)", "atan2": "math.atan2(x, y)", "hypot": "math.hypot(x, y)",
    "expm1": "math.expm1(x)", "log1p": "math.log1p(x)", "erf": "math.erf(x)", "fabs": "abs(x)",
    "floor": "math.floor(x)", "ceil": "math.ceil(x)", "fmod": "math.fmod(x, y)",
    "sign": "(1.0 if x > 0 else (-1.0 if x < 0 else x))", "copysign": "math.copysign(x, y)",
    "lt": "(1.0 if x < y else 0.0)", "le": "(1.0 if x <= y else 0.0)", "eq": "(1.0 if x == y else 0.0)",
    "ne": "(1.0 if x != y else 0.0)", "not": "(1.0 if x == 0 else 0.0)",
    "and": "(1.0 if x != 0 and y != 0 else 0.0)", "or": "(1.0 if x != 0 or y != 0 else 0.0)",
    "if_else_zero": "(y if x != 0 else 0.0)", "fmin": "(x if x < y or x != x else y)",
    "fmax": "(x if x > y or x != x else y)",
    "assign": "x", "choose": "(y if x != 0 else z)",
}  # fmt: skip

# name: C function of the mathematics library, or LLVM intrinsic
LIBRARY = {
    "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "atan2": "atan2", "hypot": "hypot",
    "expm1": "expm1", "log1p": "log1p", "erf": "erf", "fmod": "fmod",
}  # fmt: skip
INTRINSIC = {
    "sqrt": "llvm.sqrt", "exp": "llvm.exp", "log": "llvm.log", "pow": "llvm.pow", "constpow": "llvm.pow",
    "fabs": "llvm.fabs", "floor": "llvm.floor", "ceil": "llvm.ceil",
    "copysign": "llvm.copysign",
}  # fmt: skip

TURNING = {"sin": 0, "cos": 1}  # place of each in what `sines_and_cosines` gives

# Multiplications and additions may be fused (contract): one rounding less. Nothing else is relaxed.
FLAGS = ("contract",)
DOUBLE = ir.DoubleType()
POINTER = DOUBLE.as_pointer()
STATUS = ir.IntType(64)
# status = f(context, mode, t, a, b, data, out), as in `kernels.signatures`; straight-line code looks at neither of the first two
FUNCTION = ir.FunctionType(STATUS, [ir.IntType(8).as_pointer(), STATUS, DOUBLE, POINTER, POINTER, POINTER, POINTER])


PIECE_FUNCTION = ir.FunctionType(ir.VoidType(), [DOUBLE, POINTER, POINTER, POINTER, POINTER, POINTER])
PIECE = 500  # nodes of one piece of a long tape


def python_source(
    tape: Tape, name: str, head: str = "t, a, b, data, out", read=None, write="out[{}]", sincos: str | None = None
) -> str:
    """Return the tape as a Python function `name(head)`.

    `read(which, index)` says how an entry of a, b or data is read, `write` how one of out is written. `sincos` names a
    function that gives sine and cosine together.
    """
    read = read or (lambda which, index: f"{which}[{index}]")
    lines, places, pairs = [f"def {name}({head}):"], {}, set()
    for k, node in enumerate(tape.nodes):
        if node[0] == "const":
            places[k] = repr(node[1]) if math.isfinite(node[1]) else f"float('{node[1]}')"
            continue
        if sincos and node[0] in ("sin", "cos"):
            if node[1] not in pairs:
                lines.append(f"    s{node[1]}, c{node[1]} = {sincos}({places[node[1]]})")
                pairs.add(node[1])
            places[k] = f"{node[0][0]}{node[1]}"
            continue
        places[k] = f"w{k}"
        if node[0] == "in":
            which = INPUTS[node[1]]
            expression = which if which == "t" else read(which, node[2])
        else:
            expression = _substitute(PYTHON[node[0]], [places[i] for i in node[1:]])
        lines.append(f"    w{k} = {expression}")
    for index, node in enumerate(tape.outputs):
        lines.append(f"    {write.format(index)} = {'0.0' if node is None else places[node]}")
    return "\n".join(lines) + "\n"


def _substitute(expression: str, operands: list[str]) -> str:
    """Put operands, names or numbers, in the places of x, y and z; inside names these letters stay."""
    values = dict(zip("xyz", operands, strict=False))
    return re.sub(r"\b[xyz]\b", lambda match: f"({values[match.group()]})", expression)


def llvm_function(module: ir.Module, tape: Tape, name: str, lanes: int = 1, own_times: bool = False) -> ir.Function:
    """Add the tape to an LLVM module as the operator `name`, whose status is always 0.

    With several `lanes` it is computed for so many elements at once: a, b, data and out hold the first number of all, then the
    second of all; t is one for all, or a vector where they have times of their own. A long tape becomes a chain of pieces that
    hand values on in an array on the stack: the time of the compiler grows faster than the length of one piece.
    """
    if len(tape.nodes) > PIECE + PIECE // 2:
        return _in_pieces(module, tape, name, lanes, own_times)
    function = ir.Function(module, timed(FUNCTION, lanes, own_times), name)
    _no_alias(function)
    lines = Lines(ir.IRBuilder(function.append_basic_block()), FLAGS, lanes)
    _, _, t, a, b, data, out = function.args
    values = _Values(module, lines, tape, {"t": t, "a": a, "b": b, "data": data}, range(len(tape.nodes)))
    for k in range(len(tape.nodes)):
        values[k]
    _store_outputs(lines, tape, range(len(tape.outputs)), values, out)
    lines.builder.ret(ir.Constant(STATUS, OK))
    return function


class _Values:
    """Values of nodes inside one function: computed in order, or read from where an earlier piece left them.

    Sines and cosines whose arguments do not wait for each other are computed together.
    """

    def __init__(self, module, lines: Lines, tape, sources, nodes: range, handed=None, places=None):
        self.module, self.lines, self.tape, self.sources = module, lines, tape, sources
        self.handed, self.places = handed, places or {}
        self.known: dict[int, ir.Value | Line] = {}
        self.angles = _independent_angles(tape, nodes)
        self.turned: dict[int, tuple] = {}  # argument: its sine and cosine
        self.calls: dict[tuple, ir.Value] = {}  # where the numbers of a call are

    def __getitem__(self, k: int) -> ir.Value:
        if k not in self.known:
            self.known[k] = self._make(k)
        return self.known[k]

    def _make(self, k: int) -> ir.Value | Line:
        node = self.tape.nodes[k]
        if node[0] == "in":
            which = INPUTS[node[1]]
            if which == "t":
                t = self.sources["t"]
                return self.lines.spread(t) if t.type == DOUBLE else t
            return self.lines.load(self.sources[which], node[2])
        if node[0] == "const":
            return self.lines.constant(node[1])
        if k in self.places:
            return self.lines.load(self.handed, self.places[k])
        if node[0] in TURNING:
            if node[1] not in self.turned:
                self._turn(self.angles[node[1]])
            return self.turned[node[1]][TURNING[node[0]]]
        if node[0].startswith(CALL):
            return self._of_call(node[0].split(), node[1:])
        return _operation(self.module, self.lines, node[0], *(self[i] for i in node[1:]))

    def _of_call(self, name: list[str], given: tuple[int, ...]) -> Line:
        """One number of what an outside function gives; it is called for the first of them."""
        _, key, m, index = name
        lanes, function = self.lines.lanes, KNOWN[key]
        one = lanes == 1 and m == "1" and function.by_value != 0
        if (key, given) not in self.calls and one:
            form = ir.FunctionType(DOUBLE, [DOUBLE] * len(given))
            arguments = [self[node] for node in given]
            self.calls[key, given] = self.lines.builder.call(at(self.lines.builder, function.by_value, form), arguments)
        elif (key, given) not in self.calls:
            arguments, missing = [self[node] for node in given], self.lines.constant(math.nan)
            builder = self.lines.builder
            x, out = (builder.alloca(DOUBLE, lanes * size) for size in (len(given), int(m)))
            by_value = lanes == 1 and function.by_value != 0
            for place, value in enumerate(() if by_value else arguments):
                self.lines.store(value, x, place)
            for place in range(int(m)):  # should it write nothing, nobody takes that for numbers
                self.lines.store(missing, out, place)
            builder = self.lines.builder
            if by_value:
                form = ir.FunctionType(ir.VoidType(), [*[DOUBLE] * len(given), POINTER])
                builder.call(at(builder, function.by_value, form), [*arguments, out])
            elif lanes == 1:
                builder.call(at(builder, function.address, FORM), [x, out])
            else:
                builder.call(_call_of_each(self.module, key, len(given), int(m), lanes), [x, out])
            self.calls[key, given] = out
        return self.calls[key, given] if one else self.lines.load(self.calls[key, given], int(index), alone=lanes == 1)

    def _turn(self, angles: list[int]) -> None:
        """Compute sines and cosines of a group, and before them what its angles are made of, in the tape's order."""
        missing, look_at = set(), list(angles)
        while look_at:
            k = look_at.pop()
            if k not in self.known and k not in missing:
                missing.add(k)
                if self.tape.nodes[k][0] not in ("in", "const") and k not in self.places:
                    look_at.extend(self.tape.nodes[k][1:])
        for k in sorted(missing):
            self[k]
        values = [self[k] for k in angles]
        if self.sources["t"].type != DOUBLE:
            self.turned.update(zip(angles, of_vectors(self.module, self.lines.builder, values), strict=True))
            return
        if self.lines.lanes > 1:
            for k, value in zip(angles, values, strict=True):
                self.turned[k] = of_a_vector(self.module, self.lines.builder, value)
            return
        pairs = sines_and_cosines(self.module, self.lines.builder, values)
        self.turned.update(zip(angles, pairs, strict=True))


def _independent_angles(tape: Tape, nodes: range) -> dict[int, list[int]]:
    """Return for each argument of a sine or cosine among these nodes those it is computed with."""
    depth: dict[int, int] = {}  # sines and cosines on the longest way to a node
    levels: dict[int, dict[int, None]] = {}
    for k in nodes:
        name, *operands = tape.nodes[k]
        if name not in ("in", "const"):
            depth[k] = max(depth.get(i, 0) for i in operands)
        if name in TURNING:
            levels.setdefault(depth[k], {})[operands[0]] = None
            depth[k] += 1
    return {angle: group for level in levels.values() for group in in_groups(list(level)) for angle in group}


def _call_of_each(module: ir.Module, key: str, given: int, m: int, lanes: int) -> ir.Function:
    """Return the function that calls one of outside for each element; not again where it is given what it was given before."""
    name = f"each {key} {given} {m}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER]), name)
    function.linkage = "internal"
    x, out = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    own, found = builder.alloca(DOUBLE, given), builder.alloca(DOUBLE, m)
    number = lambda k: ir.Constant(ir.IntType(64), k)
    for lane in range(lanes):
        same = ir.Constant(ir.IntType(1), int(lane > 0))
        for i in range(given):
            value = builder.load(builder.gep(x, [number(i * lanes + lane)]))
            if lane:
                same = builder.and_(same, builder.fcmp_ordered("==", value, builder.load(builder.gep(own, [number(i)]))))
            builder.store(value, builder.gep(own, [number(i)]))
        with builder.if_then(builder.not_(same)):
            for i in range(m):
                builder.store(ir.Constant(DOUBLE, math.nan), builder.gep(found, [number(i)]))
            builder.call(at(builder, KNOWN[key].address, FORM), [own, found])
        for i in range(m):
            builder.store(builder.load(builder.gep(found, [number(i)])), builder.gep(out, [number(i * lanes + lane)]))
    builder.ret_void()
    return function


def timed(form: ir.FunctionType, lanes: int, own_times: bool) -> ir.FunctionType:
    """A function's type with a time for each element."""
    if not own_times:
        return form
    vector = ir.VectorType(DOUBLE, lanes)
    return ir.FunctionType(form.return_type, [vector if kind == DOUBLE else kind for kind in form.args])


def _in_pieces(module: ir.Module, tape: Tape, name: str, lanes: int, own_times: bool) -> ir.Function:
    bounds = [*range(0, len(tape.nodes), PIECE), len(tape.nodes)]
    piece_of = [k // PIECE for k in range(len(tape.nodes))]
    finished = [0] * len(tape.outputs)  # the piece that writes an output
    for index, node in enumerate(tape.outputs):
        finished[index] = 0 if node is None else piece_of[node]
    crossing = sorted(
        {
            i
            for k, node in enumerate(tape.nodes)
            if node[0] not in ("in", "const")
            for i in node[1:]
            if piece_of[i] < piece_of[k] and tape.nodes[i][0] not in ("in", "const")
        }
    )
    places = {node: place for place, node in enumerate(crossing)}
    pieces = []
    for number, (first, last) in enumerate(pairwise(bounds)):
        piece = ir.Function(module, timed(PIECE_FUNCTION, lanes, own_times), f"{name}_piece_{number}")
        piece.linkage = "internal"
        piece.attributes.add("noinline")
        _no_alias(piece)
        lines = Lines(ir.IRBuilder(piece.append_basic_block()), FLAGS, lanes)
        t, a, b, data, out, handed = piece.args
        before = {node: place for node, place in places.items() if node < first}
        sources = {"t": t, "a": a, "b": b, "data": data}
        values = _Values(module, lines, tape, sources, range(first, last), handed, before)
        for k in range(first, last):
            if tape.nodes[k][0] not in ("in", "const"):
                values[k]
            if k in places:
                lines.store(values[k], handed, places[k])
        here = [index for index, where in enumerate(finished) if where == number]
        _store_outputs(lines, tape, here, values, out)
        lines.builder.ret_void()
        pieces.append(piece)
    function = ir.Function(module, timed(FUNCTION, lanes, own_times), name)
    builder = ir.IRBuilder(function.append_basic_block())
    handed = builder.alloca(DOUBLE, lanes * max(1, len(crossing)))
    for piece in pieces:
        builder.call(piece, [*function.args[2:], handed])
    builder.ret(ir.Constant(STATUS, OK))
    return function


def _store_outputs(lines: Lines, tape: Tape, indices, values, out) -> None:
    zero = lines.constant(0.0)
    for index in indices:
        node = tape.outputs[index]
        lines.store(zero if node is None else values[node], out, index)


def _no_alias(function: ir.Function) -> None:
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType) and argument.type == POINTER:
            argument.add_attribute("noalias")


def _operation(module, lines: Lines, name, x, y=None, z=None):
    if name in ARITHMETIC:
        return lines.arithmetic(name, x, y)
    if name == "neg":
        return lines.negative(x)
    if name == "sq":
        return lines.arithmetic("mul", x, x)
    if name == "twice":
        return lines.arithmetic("add", x, x)
    if name == "inv":
        return lines.arithmetic("div", lines.constant(1.0), x)
    if name == "assign":
        return x
    builder, kind, one, zero = lines.builder, lines.type, lines.constant(1.0), lines.constant(0.0)
    if name in INTRINSIC:
        arguments = [x] if y is None else [x, y]
        suffix = "f64" if lines.lanes == 1 else f"v{lines.lanes}f64"
        intrinsic = _declared(module, f"{INTRINSIC[name]}.{suffix}", kind, len(arguments))
        return builder.call(intrinsic, arguments)
    if name in LIBRARY:
        arguments = [x] if y is None else [x, y]
        known = _declared(module, LIBRARY[name], DOUBLE, len(arguments))
        return _of_each(builder, known, arguments) if lines.lanes > 1 else builder.call(known, arguments)
    truth = lambda value: builder.fcmp_unordered("!=", value, zero)
    number = lambda bit: builder.uitofp(bit, kind)
    ordered = {"lt": "<", "le": "<=", "eq": "=="}
    if name in ordered:
        return number(builder.fcmp_ordered(ordered[name], x, y))
    if name == "ne":
        return number(builder.fcmp_unordered("!=", x, y))
    if name == "not":
        return number(builder.fcmp_ordered("==", x, zero))
    if name == "and":
        return number(builder.and_(truth(x), truth(y)))
    if name == "or":
        return number(builder.or_(truth(x), truth(y)))
    if name == "choose":
        return builder.select(truth(x), y, z)
    if name == "if_else_zero":
        return builder.select(truth(x), y, zero)
    if name in ("fmin", "fmax"):  # NaN if either is, as in np.minimum: a NaN y loses the comparison and stays
        smaller = builder.select(builder.fcmp_ordered("<" if name == "fmin" else ">", x, y), x, y)
        return builder.select(builder.fcmp_unordered("uno", x, x), x, smaller)
    if name == "sign":
        minus = lines.constant(-1.0)
        negative = builder.select(builder.fcmp_ordered("<", x, zero), minus, x)
        return builder.select(builder.fcmp_ordered(">", x, zero), one, negative)
    raise NotImplementedError(f"operation {name!r} of the expression graph has no machine code")


def _declared(module: ir.Module, name: str, kind, arguments: int) -> ir.Function:
    """A function from outside the module that takes and gives values of one kind."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind] * arguments), name)


def _of_each(builder: ir.IRBuilder, function, arguments):
    """A function of the library, of each number of vectors."""
    kind = arguments[0].type
    value = ir.Constant(kind, ir.Undefined)
    for k in range(kind.count):
        lane = ir.Constant(ir.IntType(32), k)
        value = builder.insert_element(value, builder.call(function, [builder.extract_element(x, lane) for x in arguments]), lane)
    return value
