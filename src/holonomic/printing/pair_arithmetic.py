"""Numbers of 31 digits as LLVM: an unevaluated sum of two doubles, of which the second is at most half a unit of the first.

Sums and products of doubles leave errors that are doubles themselves,

    a + b = s + e        s = fl(a + b), e by six additions in any order of sizes ([knuth-1998] Sec. 4.2.2), by three if |a| >= |b|
    a b   = p + e        p = fl(a b),   e = fma(a, b, -p)

and from them follow sum, product, quotient and root of pairs, with errors of at most 3, 4, 15 and 25/8 times u², u = 2⁻⁵³
([joldes-2017] algorithms 6, 12, 17; [lefevre-2023] for the root). That holds as the operations are written: nothing here may be
reordered or contracted, so no instruction carries a flag. Results below 1e-290, whose errors are no doubles any more, have the
absolute accuracy of doubles there; infinities become NaN, but where they are only compared.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

DOUBLE, WORD, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
PAIR = ir.LiteralStructType([DOUBLE, DOUBLE])
EPS = 2.0**-104  # what takes the place of 2⁻⁵² where kernels speak of rounding


class PairArithmetic:
    """Functions of pairs in a module, made when they are first asked for.

    Parameters
    ----------
    module : ir.Module
    inline : bool
        Whether the optimizer puts them in where they are called: twice as fast, and twenty times as much to compile.
    """

    def __init__(self, module: ir.Module, inline: bool = True):
        self.module, self.inline = module, inline
        self._made: dict[str, ir.Function] = {}

    def call(self, builder: ir.IRBuilder, name: str, *given):
        """Call an operation: add, add_double, sub, mul, mul_double, div, sqrt, neg, abs, lt, le, eq."""
        if name not in self._made:
            self._made[name] = self._make(name, getattr(self, f"_{name}"), [value.type for value in given])
        return builder.call(self._made[name], given)

    def _make(self, name: str, write: Callable, types) -> ir.Function:
        result = BIT if name in ("lt", "le", "eq") else PAIR
        function = ir.Function(self.module, ir.FunctionType(result, types), f"pair_{name}{'' if self.inline else '_called'}")
        function.linkage = "internal"
        function.attributes.add("alwaysinline" if self.inline else "noinline")
        builder = ir.IRBuilder(function.append_basic_block())
        builder.ret(write(builder, *function.args))
        return function

    def fma(self, builder, a, b, c):
        """a b + c, rounded once."""
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * 3)
        return builder.call(self.module.declare_intrinsic("llvm.fma", [DOUBLE], kind), [a, b, c])

    def root(self, builder, a):
        """The root of a double."""
        return builder.call(self.module.declare_intrinsic("llvm.sqrt", [DOUBLE]), [a])

    @staticmethod
    def parts(builder, x):
        """The two doubles of a pair."""
        return builder.extract_value(x, 0), builder.extract_value(x, 1)

    @staticmethod
    def joined(builder, high, low):
        """A pair of two doubles."""
        return builder.insert_value(builder.insert_value(ir.Constant(PAIR, ir.Undefined), high, 0), low, 1)

    def two_sum(self, builder, a, b):
        """a + b and its error."""
        s = builder.fadd(a, b)
        of_a = builder.fsub(s, b)
        of_b = builder.fsub(s, of_a)
        return s, builder.fadd(builder.fsub(a, of_a), builder.fsub(b, of_b))

    def fast_two_sum(self, builder, a, b):
        """The same where |a| >= |b|."""
        s = builder.fadd(a, b)
        return s, builder.fsub(b, builder.fsub(s, a))

    def two_product(self, builder, a, b):
        """a b and its error."""
        p = builder.fmul(a, b)
        return p, self.fma(builder, a, b, builder.fneg(p))

    def _add(self, builder, x, y):
        (xh, xl), (yh, yl) = self.parts(builder, x), self.parts(builder, y)
        sh, sl = self.two_sum(builder, xh, yh)
        th, tl = self.two_sum(builder, xl, yl)
        vh, vl = self.fast_two_sum(builder, sh, builder.fadd(sl, th))
        return self.joined(builder, *self.fast_two_sum(builder, vh, builder.fadd(tl, vl)))

    def _add_double(self, builder, x, y):
        xh, xl = self.parts(builder, x)
        sh, sl = self.two_sum(builder, xh, y)
        return self.joined(builder, *self.fast_two_sum(builder, sh, builder.fadd(xl, sl)))

    def _neg(self, builder, x):
        xh, xl = self.parts(builder, x)
        return self.joined(builder, builder.fneg(xh), builder.fneg(xl))

    def _sub(self, builder, x, y):
        return self._add(builder, x, self._neg(builder, y))

    def _mul(self, builder, x, y):
        (xh, xl), (yh, yl) = self.parts(builder, x), self.parts(builder, y)
        p, e = self.two_product(builder, xh, yh)
        cross = self.fma(builder, xl, yh, self.fma(builder, xh, yl, builder.fmul(xl, yl)))
        return self.joined(builder, *self.fast_two_sum(builder, p, builder.fadd(e, cross)))

    def _mul_double(self, builder, x, y):
        xh, xl = self.parts(builder, x)
        p, e = self.two_product(builder, xh, y)
        return self.joined(builder, *self.fast_two_sum(builder, p, self.fma(builder, xl, y, e)))

    def _div(self, builder, x, y):
        (xh, xl), (yh, _) = self.parts(builder, x), self.parts(builder, y)
        q = builder.fdiv(xh, yh)
        rh, rl = self.parts(builder, self._mul_double(builder, y, q))
        left = builder.fadd(builder.fsub(xh, rh), builder.fsub(xl, rl))
        return self.joined(builder, *self.fast_two_sum(builder, q, builder.fdiv(left, yh)))

    def _sqrt(self, builder, x):
        xh, xl = self.parts(builder, x)
        zero = ir.Constant(DOUBLE, 0.0)
        s = self.root(builder, xh)
        left = builder.fadd(xl, self.fma(builder, builder.fneg(s), s, xh))
        more = builder.fdiv(left, builder.fmul(ir.Constant(DOUBLE, 2.0), s))
        high, low = self.fast_two_sum(builder, s, more)
        empty = builder.fcmp_ordered("==", xh, zero)
        return self.joined(builder, builder.select(empty, xh, high), builder.select(empty, zero, low))

    def _abs(self, builder, x):
        high, _ = self.parts(builder, x)
        below = builder.fcmp_ordered("<", high, ir.Constant(DOUBLE, 0.0))
        return builder.select(below, self._neg(builder, x), x)

    def _compared(self, builder, sign, x, y):
        (xh, xl), (yh, yl) = self.parts(builder, x), self.parts(builder, y)
        same = builder.and_(builder.fcmp_ordered("==", xh, yh), builder.fcmp_ordered(sign, xl, yl))
        return same if sign == "==" else builder.or_(builder.fcmp_ordered("<", xh, yh), same)

    def _lt(self, builder, x, y):
        return self._compared(builder, "<", x, y)

    def _le(self, builder, x, y):
        return self._compared(builder, "<=", x, y)

    def _eq(self, builder, x, y):
        return self._compared(builder, "==", x, y)
