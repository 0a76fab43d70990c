"""What `eight` means to Numba: a type of its own, kept in one vector of LLVM, and code for each of its functions.

Optimized bitcode keeps the vectors as they are; a processor with shorter registers takes two or four for one.
"""

from __future__ import annotations

import functools
import operator

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from . import eight as marks
from .numba_meaning import OPTIONS

WIDTH = 8
DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)
VECTOR = ir.VectorType(DOUBLE, WIDTH)
FLAGS = ("contract",)


class Eight(types.Type):
    """Eight numbers."""

    def __init__(self):
        super().__init__(name="Eight")


EIGHT = Eight()


@register_model(Eight)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def _lane(k: int) -> ir.Constant:
    return ir.Constant(ir.IntType(32), k)


def _data(context, builder, kind, value):
    return context.make_array(kind)(context, builder, value).data


def _vector_at(builder, data, at):
    return builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())


def _as_vector(builder, kind, value):
    if kind == EIGHT:
        return value
    if isinstance(kind, types.Integer):
        value = builder.sitofp(value, DOUBLE)
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), value, _lane(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), zeros)


def _implement(mark, code) -> None:
    """Let kernels call an intrinsic by the name of its mark."""
    names = code.arguments

    def typing(typingctx, *given):
        return code.returns(*given), code.generate

    source = f"def typed(typingctx, {', '.join(names)}):\n    return made(typingctx, {', '.join(names)})\n"
    source += f"def compiled({', '.join(names)}):\n    return lambda {', '.join(names)}: own({', '.join(names)})\n"
    space: dict = {"made": typing}
    exec(source, space)
    space["own"] = intrinsic(space["typed"])
    overload(mark, jit_options=OPTIONS)(space["compiled"])


class _Code:
    def __init__(self, arguments, returns, generate):
        self.arguments, self.returns, self.generate = arguments, returns, generate


def _load(context, builder, signature, args):
    return builder.load(_vector_at(builder, _data(context, builder, signature.args[0], args[0]), args[1]), align=8)


def _store(context, builder, signature, args):
    data = _data(context, builder, signature.args[0], args[0])
    builder.store(_as_vector(builder, signature.args[2], args[2]), _vector_at(builder, data, args[1]), align=8)
    return context.get_dummy_value()


def _two(name):
    def generate(context, builder, signature, args):
        x, y = (_as_vector(builder, kind, value) for kind, value in zip(signature.args, args, strict=True))
        return getattr(builder, name)(x, y, flags=FLAGS)

    return generate


def _chosen(sign):
    def generate(context, builder, signature, args):
        x, y = (_as_vector(builder, kind, value) for kind, value in zip(signature.args, args, strict=True))
        return builder.select(builder.fcmp_ordered(sign, y, x), y, x)

    return generate


def _intrinsic(name):
    def generate(context, builder, signature, args):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(VECTOR, [VECTOR]), name)
        return builder.call(function, [args[0]])

    return generate


def _none_below(context, builder, signature, args):
    fine = builder.fcmp_ordered(">=", args[0], _as_vector(builder, signature.args[1], args[1]))
    bits = ir.IntType(WIDTH)
    return builder.icmp_unsigned("==", builder.bitcast(fine, bits), ir.Constant(bits, 2**WIDTH - 1))


def _first_of(context, builder, signature, args):
    return builder.select(_first_of_eight(builder, args[1]), args[0], ir.Constant(VECTOR, [0.0] * WIDTH))


def _pick(context, builder, signature, args):
    x, places = (_data(context, builder, signature.args[k], args[k]) for k in (0, 2))
    sources = [builder.gep(x, [builder.add(args[1], place)]) for place in _places(builder, places, args[3])]
    return _gathered(builder, sources)


def _gathered(builder, sources):
    value = ir.Constant(VECTOR, ir.Undefined)
    for k, source in enumerate(sources):
        value = builder.insert_element(value, builder.load(source), _lane(k))
    return value


def _same(context, builder, signature, args):
    words = ir.VectorType(WORD, WIDTH)
    one, other = (
        builder.load(builder.bitcast(_vector_at(builder, _data(context, builder, signature.args[k], args[k]), args[k + 1]),
                                     words.as_pointer()), align=8)
        for k in (0, 2)
    )  # fmt: skip
    bits = ir.IntType(WIDTH)
    return builder.icmp_unsigned("==", builder.bitcast(builder.icmp_unsigned("!=", one, other), bits), ir.Constant(bits, 0))


# which of two vectors' entries stand in the one, and in the other, of a pair: single entries, pairs, fours change places
_STEPS = (
    (1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    (2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    (4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)


def _turned(builder, rows):
    """Entry i of vector k becomes entry k of vector i."""
    short = ir.VectorType(ir.IntType(32), WIDTH)
    for apart, low, high in _STEPS:
        made = list(rows)
        for k in range(WIDTH):
            if not k & apart:
                one, other = rows[k], rows[k + apart]
                made[k] = builder.shuffle_vector(one, other, ir.Constant(short, list(low)))
                made[k + apart] = builder.shuffle_vector(one, other, ir.Constant(short, list(high)))
        rows = made
    return rows


def _marked_places(builder, words, at):
    first, *others = _places(builder, words, at)
    return [builder.not_(first), *others]


def _turn(context, builder, signature, args):
    x, places, to = (_data(context, builder, signature.args[k], args[k]) for k in (0, 2, 4))
    begins = [builder.add(args[1], place) for place in _marked_places(builder, places, args[3])]
    rows = [builder.load(_vector_at(builder, x, begin), align=8) for begin in begins]
    for i, row in enumerate(_turned(builder, rows)):
        builder.store(row, _vector_at(builder, to, builder.add(args[5], WORD(WIDTH * i))), align=8)
    return context.get_dummy_value()


def _turn_back(context, builder, signature, args):
    x, places, to = (_data(context, builder, signature.args[k], args[k]) for k in (0, 2, 4))
    begins = [builder.add(args[5], place) for place in _marked_places(builder, places, args[3])]
    rows = [builder.load(_vector_at(builder, x, builder.add(args[1], WORD(WIDTH * i))), align=8) for i in range(WIDTH)]
    for begin, row in reversed(list(zip(begins, _turned(builder, rows), strict=True))):
        builder.store(row, _vector_at(builder, to, begin), align=8)
    return context.get_dummy_value()


def _exchange(context, builder, signature, args):
    words = _data(context, builder, signature.args[0], args[0])
    return builder.atomic_rmw("xchg", builder.gep(words, [args[1]]), args[2], "seq_cst")


def _places(builder, words, at):
    return [builder.load(builder.gep(words, [builder.add(at, WORD(k))])) for k in range(WIDTH)]


def _moved(each, row, alike=None):
    """Code that goes over numbers of eight elements: `row` where they follow one another, `each` where they do not.

    Both take the arrays, the place in the one, the place in the other; so does `alike`, where all eight are the same element, as in
    groups of one.
    """

    def generate(context, builder, signature, args):
        x, places, other = (_data(context, builder, signature.args[k], args[k]) for k in (0, 1, 5))
        at, start, many, at_other = args[2], args[3], args[4], args[6]
        count = args[7] if len(args) > 7 else None
        first = builder.load(builder.gep(places, [at]))
        counted = None if count is None else _first_of_eight(builder, count)
        with builder.if_else(builder.icmp_signed("<", first, WORD(0))) as (then, otherwise):
            with then:
                begin = builder.add(start, builder.not_(first))
                with cgutils.for_range(builder, many) as loop:
                    step = builder.mul(loop.index, WORD(WIDTH))
                    ends = [builder.add(begin, step), builder.add(at_other, step)]
                    row(builder, _vector_at(builder, x, ends[0]), _vector_at(builder, other, ends[1]), counted)
            with otherwise:
                if alike is None:
                    apart(builder, x, places, at, start, many, other, at_other, count)
                else:
                    with builder.if_else(_all_alike(builder, places, at, first)) as (then, otherwise):
                        with then, cgutils.for_range(builder, many) as loop:
                            step = builder.mul(loop.index, WORD(WIDTH))
                            source = builder.gep(x, [builder.add(builder.add(start, first), step)])
                            alike(builder, source, _vector_at(builder, other, builder.add(at_other, step)))
                        with otherwise:
                            apart(builder, x, places, at, start, many, other, at_other, count)
        return context.get_dummy_value()

    def apart(builder, x, places, at, start, many, other, at_other, count):
        own = [builder.add(start, place) for place in _places(builder, places, at)]
        with cgutils.for_range(builder, many) as loop:
            step = builder.mul(loop.index, WORD(WIDTH))
            ends = [builder.gep(x, [builder.add(place, step)]) for place in own]
            each(builder, ends, _vector_at(builder, other, builder.add(at_other, step)), count)

    return generate


def _eight_times(builder, word):
    words = ir.VectorType(WORD, WIDTH)
    one = builder.insert_element(ir.Constant(words, ir.Undefined), word, _lane(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(words, ir.Undefined), zeros)


def _first_of_eight(builder, count):
    """For each of eight whether it is among the first `count`."""
    numbers = ir.Constant(ir.VectorType(WORD, WIDTH), list(range(WIDTH)))
    return builder.icmp_signed("<", numbers, _eight_times(builder, count))


def _all_alike(builder, places, at, first):
    """Whether eight places are one and the same."""
    words = builder.bitcast(builder.gep(places, [at]), ir.VectorType(WORD, WIDTH).as_pointer())
    unlike = builder.icmp_signed("!=", builder.load(words, align=8), _eight_times(builder, first))
    bits = ir.IntType(WIDTH)
    return builder.icmp_unsigned("==", builder.bitcast(unlike, bits), ir.Constant(bits, 0))


def _collect_row(builder, source, target, counted):
    builder.store(builder.load(source, align=8), target, align=8)


def _collect_each(builder, sources, target, count):
    builder.store(_gathered(builder, sources), target, align=8)


def _collect_one(builder, source, target):
    builder.store(_as_vector(builder, types.float64, builder.load(source)), target, align=8)


def _distribute_row(builder, target, source, counted):
    given = builder.select(counted, builder.load(source, align=8), builder.load(target, align=8))
    builder.store(given, target, align=8)


def _distribute_each(builder, targets, source, count):
    value = builder.load(source, align=8)
    _one_by_one(builder, targets, count, lambda k, target: builder.store(builder.extract_element(value, _lane(k)), target))


def _add_row(builder, target, source, counted):
    before = builder.load(target, align=8)
    total = builder.fadd(before, builder.load(source, align=8))
    builder.store(builder.select(counted, total, before), target, align=8)


def _add_each(builder, targets, source, count):
    value = builder.load(source, align=8)

    def add(k, target):
        builder.store(builder.fadd(builder.load(target), builder.extract_element(value, _lane(k))), target)

    _one_by_one(builder, targets, count, add)


def _one_by_one(builder, targets, count, do):
    """Code that does something with the first `count` of eight."""
    done = builder.append_basic_block("done")
    for k, target in enumerate(targets):
        more = builder.append_basic_block("one")
        builder.cbranch(builder.icmp_signed("<", WORD(k), count), more, done)
        builder.position_at_end(more)
        do(k, target)
    builder.branch(done)
    builder.position_at_end(done)


def _none(*given):
    return types.void(*given)


def _one(*given):
    return EIGHT(*given)


@functools.cache
def teach() -> None:
    """Tell Numba of all of them."""
    moved = ("x", "places", "at", "start", "many", "other", "at_other")
    _implement(marks.eight, _Code(("x", "at"), _one, _load))
    _implement(marks.put, _Code(("x", "at", "value"), _none, _store))
    _implement(marks.exchange, _Code(("words", "at", "value"), lambda *given: types.int64(*given), _exchange))
    _implement(marks.spread, _Code(("value",), _one, lambda c, b, s, a: _as_vector(b, s.args[0], a[0])))
    _implement(marks.lesser, _Code(("a", "b"), _one, _chosen("<")))
    _implement(marks.greater, _Code(("a", "b"), _one, _chosen(">")))
    _implement(marks.size_of, _Code(("a",), _one, _intrinsic("llvm.fabs.v8f64")))
    _implement(marks.root_of, _Code(("a",), _one, _intrinsic("llvm.sqrt.v8f64")))
    _implement(marks.none_below, _Code(("a", "least"), lambda *given: types.boolean(*given), _none_below))
    _implement(marks.first_of, _Code(("a", "count"), _one, _first_of))
    _implement(marks.pick, _Code(("x", "at", "places", "first"), _one, _pick))
    turned = ("x", "at", "places", "first", "to", "at_to")
    _implement(marks.turn, _Code(turned, _none, _turn))
    _implement(marks.turn_back, _Code(turned, _none, _turn_back))
    _implement(marks.same, _Code(("x", "at", "y", "at_y"), lambda *given: types.boolean(*given), _same))
    _implement(marks.collect, _Code(moved, _none, _moved(_collect_each, _collect_row, _collect_one)))
    _implement(marks.distribute, _Code((*moved, "count"), _none, _moved(_distribute_each, _distribute_row)))
    _implement(marks.add_to, _Code((*moved, "count"), _none, _moved(_add_each, _add_row)))
    for sign, name in (
        (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv"),
        (operator.iadd, "fadd"), (operator.isub, "fsub"), (operator.imul, "fmul"),
    ):  # fmt: skip
        _arithmetic(sign, name)


def _arithmetic(sign, name: str) -> None:
    @intrinsic
    def computed(typingctx, a, b):
        return EIGHT(a, b), _two(name)

    @overload(sign, jit_options=OPTIONS)
    def compiled(a, b):
        if EIGHT in (a, b) and all(kind == EIGHT or isinstance(kind, types.Float | types.Integer) for kind in (a, b)):
            return lambda a, b: computed(a, b)
