"""Sine and cosine together, of one argument or of several side by side, as LLVM code.

A mechanism's equations take the sine and the cosine of every angle; through the mathematics library that was a third of a
run of the seven-body mechanism. Here both come from one reduction of the argument, and up to eight arguments that do not wait
for each other share the vector registers: one evaluation of that mechanism went from 158 to 117 ns (AVX-512).

    n = x / (π/2) to the nearest integer,   r = x - n π/2 in two words,   then polynomials on |r| ≤ π/4

The reduction (π/2 in three parts of 33, 33 and 53 bits, so that n times a part is exact) and the polynomials are those of
fdlibm (Sun Microsystems 1993); errors of 0.74 units in the last place were the largest seen. Arguments beyond LARGEST,
infinite ones and NaN go to the mathematics library.
"""

from __future__ import annotations

from llvmlite import ir

DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
FUSED = ("contract",)  # in the polynomials; the reduction is exact only as it stands
LARGEST = 1e5  # n < 2^17: its products with 33 bits are exact
WIDTHS = (8, 4, 2, 1)
TO_INTEGER = 6755399441055744.0  # 1.5 · 2^52: what is added to it is rounded to an integer, whose bits are the lowest ones
TWO_OVER_PI = float.fromhex("0x1.45f306dc9c883p-1")
HALF_PI = tuple(map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69")))
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def in_groups(arguments: list) -> list[list]:
    """Divide arguments into groups of at most eight."""
    return [arguments[first : first + WIDTHS[0]] for first in range(0, len(arguments), WIDTHS[0])]


def sines_and_cosines(module: ir.Module, builder: ir.IRBuilder, arguments: list) -> list[tuple]:
    """Return the sine and the cosine of each of one to eight values."""
    width = min(w for w in WIDTHS if w >= len(arguments))
    function = _function(module, width)
    if width == 1:
        both = builder.call(function, arguments)
        return [(builder.extract_value(both, 0), builder.extract_value(both, 1))]
    packed = ir.Constant(ir.VectorType(DOUBLE, width), [0.0] * width)
    for lane, argument in enumerate(arguments):
        packed = builder.insert_element(packed, argument, _lane(lane))
    both = builder.call(function, [packed])
    parts = [builder.extract_value(both, which) for which in (0, 1)]
    return [tuple(builder.extract_element(part, _lane(k)) for part in parts) for k in range(len(arguments))]


def of_a_vector(module: ir.Module, builder: ir.IRBuilder, argument) -> tuple:
    """Return sines and cosines of all numbers of a vector."""
    both = builder.call(_function(module, argument.type.count), [argument])
    return tuple(builder.extract_value(both, which) for which in (0, 1))


def of_vectors(module: ir.Module, builder: ir.IRBuilder, arguments: list) -> list[tuple]:
    """The sines and cosines of one to eight vectors, each of which has one number of every member.

    What is computed for several members is what is computed for each, to the last bit. So the angles of one member go to the
    mathematics library together, whatever those of its neighbours are; and, as the optimizer orders the factors of a product by
    how far they are from calls and loads, sines of vectors are as many instructions from their call as those of numbers.
    """
    both = builder.call(_side_by_side(module, arguments[0].type, len(arguments)), arguments)
    parts = [builder.extract_value(both, which) for which in (0, 1)]
    if len(arguments) == 1:
        return [tuple(parts)]
    return [tuple(builder.extract_value(part, k) for part in parts) for k in range(len(arguments))]


def _side_by_side(module: ir.Module, vector: ir.VectorType, many: int) -> ir.Function:
    """The function of so many vectors: {all sines, all cosines}."""
    name = f"sines_and_cosines_{vector.count}_of_{many}"
    if name in module.globals:
        return module.globals[name]
    part = vector if many == 1 else ir.LiteralStructType([vector] * many)
    whole = ir.LiteralStructType([part, part])
    function = ir.Function(module, ir.FunctionType(whole, [vector] * many), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    near = None
    for x in function.args:
        one = _is_near(builder, vector, x)
        near = one if near is None else builder.and_(near, one)
    computed = [builder.call(_computed_alone(module, vector), [x]) for x in function.args]
    found = [[builder.extract_value(both, which) for which in (0, 1)] for both in computed]
    bits = ir.IntType(vector.count)
    all_near = builder.icmp_unsigned("==", builder.bitcast(near, bits), ir.Constant(bits, 2**vector.count - 1))
    with builder.if_then(builder.not_(all_near), likely=False):
        chosen = []
        for x, own in zip(function.args, found, strict=True):
            both = _by_library(module, builder, ir.LiteralStructType([vector, vector]), x, vector.count)
            chosen.append([builder.select(near, own[which], builder.extract_value(both, which)) for which in (0, 1)])
        builder.ret(_gathered(builder, whole, part, chosen))
    builder.ret(_gathered(builder, whole, part, found))
    return function


def _gathered(builder: ir.IRBuilder, whole, part, found: list):
    """{all sines, all cosines} of pairs."""
    parts = []
    for which in (0, 1):
        values = found[0][which] if len(found) == 1 else ir.Constant(part, ir.Undefined)
        for k, both in enumerate(found if len(found) > 1 else ()):
            values = builder.insert_value(values, both[which], k)
        parts.append(values)
    return _both(builder, whole, *parts)


def _computed_alone(module: ir.Module, vector: ir.VectorType) -> ir.Function:
    """The function of one vector of numbers up to LARGEST."""
    name = f"near_sines_and_cosines_{vector.count}"
    if name not in module.globals:
        whole = ir.LiteralStructType([vector, vector])
        function = ir.Function(module, ir.FunctionType(whole, [vector]), name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(_both(builder, whole, *_computed(builder, vector, function.args[0])))
    return module.globals[name]


def _is_near(builder: ir.IRBuilder, kind, x):
    """Whether numbers are no larger than LARGEST."""
    below = builder.fcmp_ordered("<=", x, _number(kind, LARGEST))
    return builder.and_(below, builder.fcmp_ordered(">=", x, _number(kind, -LARGEST)))


def _lane(k: int) -> ir.Constant:
    return ir.Constant(ir.IntType(32), k)


def _function(module: ir.Module, width: int) -> ir.Function:
    """Return the function of this width: {sines, cosines} of a number or of a vector."""
    name = f"sines_and_cosines_{width}"
    if name in module.globals:
        return module.globals[name]
    kind = DOUBLE if width == 1 else ir.VectorType(DOUBLE, width)
    function = ir.Function(module, ir.FunctionType(ir.LiteralStructType([kind, kind]), [kind]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")  # a model with many angles would compile for three times as long
    builder = ir.IRBuilder(function.append_basic_block())
    (x,) = function.args
    near = _is_near(builder, kind, x)
    if width > 1:
        bits = ir.IntType(width)
        near = builder.icmp_unsigned("==", builder.bitcast(near, bits), ir.Constant(bits, 2**width - 1))
    with builder.if_then(builder.not_(near), likely=False):
        builder.ret(_by_library(module, builder, function.return_value.type, x, width))
    builder.ret(_both(builder, function.return_value.type, *_computed(builder, kind, x)))
    return function


def _both(builder: ir.IRBuilder, kind, sine, cosine):
    both = builder.insert_value(ir.Constant(kind, ir.Undefined), sine, 0)
    return builder.insert_value(both, cosine, 1)


def _number(kind, value):
    return ir.Constant(kind, value if kind == DOUBLE else [value] * kind.count)


def _computed(builder: ir.IRBuilder, kind, x) -> tuple:
    """Return sine and cosine of numbers up to LARGEST."""
    number = lambda value: _number(kind, value)
    shifted = builder.fadd(builder.fmul(x, number(TWO_OVER_PI)), number(TO_INTEGER))
    n = builder.fsub(shifted, number(TO_INTEGER))
    first = builder.fsub(x, builder.fmul(n, number(HALF_PI[0])))  # exact
    product = builder.fmul(n, number(HALF_PI[1]))  # exact
    second = builder.fsub(first, product)
    lost = builder.fsub(builder.fsub(first, second), product)  # of the last difference
    rest = builder.fsub(builder.fmul(n, number(HALF_PI[2])), lost)
    r = builder.fsub(second, rest)
    tail = builder.fsub(builder.fsub(second, r), rest)
    sine, cosine = _sine(builder, number, r, tail), _cosine(builder, number, r, tail)

    words = WORD if kind == DOUBLE else ir.VectorType(WORD, kind.count)
    word = lambda value: ir.Constant(words, value if kind == DOUBLE else [value] * kind.count)
    quarter = builder.bitcast(shifted, words)
    odd = builder.icmp_unsigned("!=", builder.and_(quarter, word(1)), word(0))
    signed = lambda value, turns: builder.bitcast(
        builder.xor(builder.bitcast(value, words), builder.shl(builder.and_(turns, word(2)), word(62))), kind
    )
    return (
        signed(builder.select(odd, cosine, sine), quarter),
        signed(builder.select(odd, sine, cosine), builder.add(quarter, word(1))),
    )


def _polynomial(builder, number, coefficients, z):
    value = number(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = builder.fadd(builder.fmul(value, z, flags=FUSED), number(coefficient), flags=FUSED)
    return value


def _sine(builder, number, r, tail):
    """r - ((z (tail/2 - r³ P) - tail) - r³ S₁), z = r²"""
    z = builder.fmul(r, r)
    cube = builder.fmul(z, r)
    higher = builder.fmul(cube, _polynomial(builder, number, SINE[1:], z))
    of_tail = builder.fsub(builder.fmul(number(0.5), tail), higher, flags=FUSED)
    small = builder.fsub(builder.fmul(z, of_tail, flags=FUSED), tail, flags=FUSED)
    return builder.fsub(r, builder.fsub(small, builder.fmul(cube, number(SINE[0]), flags=FUSED), flags=FUSED))


def _cosine(builder, number, r, tail):
    """w + (((1 - w) - z/2) + (z² C - r tail)), w = 1 - z/2, z = r²"""
    z = builder.fmul(r, r)
    half = builder.fmul(number(0.5), z)
    w = builder.fsub(number(1.0), half)
    lost = builder.fsub(builder.fsub(number(1.0), w), half)
    higher = builder.fmul(builder.fmul(z, z), _polynomial(builder, number, COSINE, z), flags=FUSED)
    small = builder.fsub(higher, builder.fmul(r, tail, flags=FUSED), flags=FUSED)
    return builder.fadd(w, builder.fadd(lost, small))


def _by_library(module: ir.Module, builder: ir.IRBuilder, kind, x, width: int):
    """Return {sines, cosines} by the mathematics library."""
    of_one = ir.FunctionType(DOUBLE, [DOUBLE])
    sine, cosine = (module.declare_intrinsic(f"llvm.{name}", [DOUBLE], of_one) for name in ("sin", "cos"))
    if width == 1:
        return _both(builder, kind, builder.call(sine, [x]), builder.call(cosine, [x]))
    parts = [_number(kind.elements[0], 0.0)] * 2
    for k in range(width):
        one = builder.extract_element(x, _lane(k))
        parts = [
            builder.insert_element(part, builder.call(f, [one]), _lane(k)) for part, f in zip(parts, (sine, cosine), strict=True)
        ]
    return _both(builder, kind, *parts)
