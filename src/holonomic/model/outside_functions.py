"""OutsideFunction: a function that is no expression, as compiled code calls it: n numbers in, m out, at an address.

It is one node in an expression graph. Its derivative is another such function: the user's own, or differences of order 4 of
this one, which are machine code, too. Addresses mean nothing elsewhere, so nothing that contains one is kept on disk.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cached_property

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from ..errors import BadArgument
from ..native import host
from ..native.callbacks import call_at
from .differences import FIRST, SECOND, Differences
from .opaque_code import Code

# Steps of differences of differences, in units of a coordinate's scale: where truncation, s⁴/30 each time, meets rounding,
# 1.5 ε/s each time. Largest errors of the four derivatives of a sine: 2e-13, 2e-10, 6e-9, 2e-6.
STEPS = (FIRST, SECOND, 2e-2, 5e-2)
THIRD_AND_LATER = (1e-8, 1e-5)  # their errors, which are not measured at the start
MOST_POINTS = 12  # at which steps are measured: of several calls in one system
SUITS = 1e-9  # error of a first derivative, relative, with which steps that were measured elsewhere are taken
WRONG_DERIVATIVE = 1e-4  # a given derivative further than this from differences is a mistake, not rounding
DOUBLE, INDEX, VOID = ir.DoubleType(), ir.IntType(64), ir.VoidType()
POINTER = DOUBLE.as_pointer()
FORM = ir.FunctionType(VOID, [POINTER, POINTER])

KNOWN: dict[str, OutsideFunction] = {}  # by key; machine code holds their addresses, so they live as long as the process


class OutsideFunction:
    """One function of n numbers.

    Parameters
    ----------
    name : str
        What the user calls it.
    n, m : int
        How many numbers it takes and gives.
    code : Code
    points : list of (n,) array
        Where it has been called: steps of differences are measured there.
    jac : OutsideFunction, optional
        ∂f/∂x, row by row.
    """

    def __init__(self, name: str, n: int, m: int, code: Code, points: list[np.ndarray], jac=None):
        self.key = os.urandom(8).hex()  # of this process alone: what is at an address cannot be told by its looks
        self.name, self.n, self.m, self._code, self._points = name, n, m, code, points
        self.address, self.by_value = code.address, code.by_value
        self._jac, self._nested = jac, (self, 0)
        KNOWN[self.key] = self
        if jac is not None:
            self._compare(jac)

    @property
    def calls_python(self) -> bool:
        """Whether it, or the derivative it was given with, may raise: what is compiled gives NaN there."""
        return self._code.calls_python or (self._jac is not None and self._jac.calls_python)

    @property
    def is_given(self) -> bool:
        """Whether its derivative is the user's own."""
        return self._jac is not None

    def __repr__(self) -> str:
        return f"OutsideFunction({self.name!r}, {self.key})"

    def on_numbers(self, x: np.ndarray) -> np.ndarray:
        """Call its code with numbers."""
        return call_at(self.address, x, self.m)

    @cached_property
    def derivative(self) -> OutsideFunction:
        """∂f/∂x, row by row, as a function of the same numbers."""
        if self._jac is not None:
            return self._jac
        first, level = self._nested
        if level == len(STEPS):
            raise BadArgument(
                f"opaque {self.name!r} would have to be differentiated {level + 1} times by differences. Give its derivative: "
                "opaque(f, jac=...)."
            )
        made = first
        for _ in range(level + 1):
            made = made._differenced(STEPS[level] * first._scales.scale)
        made._nested = first, level + 1
        return made

    def suits(self, points: list[np.ndarray]) -> bool:
        """Whether its derivatives by differences are good at these points, too; steps that are not measured yet will be there."""
        if self._jac is not None:
            return self._jac.suits(points)
        if "_scales" not in self.__dict__:
            self._points = [*self._points, *points][:MOST_POINTS]
            return True
        with np.errstate(all="ignore"):
            return self._scales.error_at(lambda t, x: self._quietly(x), [(0.0, x) for x in points]) <= max(
                SUITS, 10.0 * self._scales.error
            )

    def error(self, times: int) -> float:
        """Relative error to be expected of its derivative, taken so many times."""
        if self._jac is not None:
            return self._jac.error(times - 1) if times > 1 else 0.0
        if times > 2:
            return THIRD_AND_LATER[min(times, 4) - 3]
        return self._scales.error if times == 1 else self._scales.error_second if times == 2 else 0.0

    @cached_property
    def _scales(self) -> Differences:
        with np.errstate(all="ignore"):
            return Differences(lambda t, x: self._quietly(x), [(0.0, x) for x in self._points], False)

    def _quietly(self, x: np.ndarray) -> np.ndarray:
        """Its numbers, or NaN outside its domain."""
        try:
            return self.on_numbers(x)
        except Exception:  # whatever the user's function raises there
            return np.full(self.m, np.nan)

    def _differenced(self, steps: np.ndarray) -> OutsideFunction:
        steps = 2.0 ** np.round(np.log2(steps))  # so that x ± s is not rounded
        address = loaded(lambda module: _differences(module, self.address, self.n, self.m, steps))
        code = Code(address, self, calls_python=self._code.calls_python)
        return OutsideFunction(self.name, self.n, self.m * self.n, code, self._points)

    def _compare(self, jac: OutsideFunction) -> None:
        """Refuse a derivative that differences contradict."""
        steps = self._scales
        for x in self._points:
            with np.errstate(all="ignore"):
                theirs, mine = jac._quietly(x).reshape(self.m, self.n), steps.by_q(lambda t, x: self._quietly(x), 0.0, x)
            gap, size = np.abs(theirs - mine), max(1.0, float(np.max(np.abs(mine), initial=0.0)))
            if np.all(np.isfinite(gap)) and np.max(gap, initial=0.0) > WRONG_DERIVATIVE * size:
                i, j = np.unravel_index(np.argmax(gap), gap.shape)
                raise BadArgument(
                    f"jac of opaque {self.name!r} gives {theirs[i, j]:.6g} in entry [{i}, {j}], but differences {mine[i, j]:.6g}. "
                    f"Correct it: row {i} belongs to number {i} of what the function returns, column {j} to number {j} of what "
                    "it takes, all arguments one after the other."
                )


# machine code around a function


def loaded(build: Callable[[ir.Module], None]) -> int:
    """Compile one function named "call" and return its address."""
    machine, module = host.machine(), ir.Module("outside")
    module.triple = llvm.Target.from_default_triple().triple
    build(module)
    found = host.load(machine.emit_object(llvm.parse_assembly(str(module))), ("call",))
    if found is None:
        raise RuntimeError("compiled machine code could not be loaded")
    return found["call"]


def at(builder, address: int, form: ir.FunctionType) -> ir.Value:
    """A function at an address."""
    return builder.inttoptr(ir.Constant(INDEX, address), form.as_pointer())


def element(builder, pointer, index):
    """The address of an entry."""
    index = ir.Constant(INDEX, index) if isinstance(index, int) else index
    return builder.gep(pointer, [index], inbounds=True)


def adapted(address: int, n: int, takes: tuple[str, ...], gives: str, user_data: int) -> int:
    """Return the address of a C function in our form; what it takes: "double", "double *", "int", "long", "void *", "out"."""

    def build(module):
        types = {"double": DOUBLE, "int": ir.IntType(32), "long": INDEX, "void *": INDEX, "void": VOID}
        types |= {"double *": POINTER, "out": POINTER}
        function = ir.Function(module, FORM, "call")
        builder = ir.IRBuilder(function.append_basic_block())
        x, out = function.args
        numbers, pointers, given = iter(range(n)), iter((x, out)), []
        for kind in takes:
            if kind == "double":
                given.append(builder.load(element(builder, x, next(numbers))))
            elif kind == "double *":
                given.append(next(pointers))
            elif kind == "out":
                given.append(out)
            else:
                given.append(ir.Constant(types[kind], user_data if kind == "void *" else n))
        form = ir.FunctionType(types[gives], [types[kind] for kind in takes])
        result = builder.call(at(builder, address, form), given)
        if gives == "double":
            builder.store(result, out)
        builder.ret_void()

    return loaded(build)


def _differences(module: ir.Module, address: int, n: int, m: int, steps: np.ndarray) -> None:
    """∂f/∂x by (f(x - 2s) - 8 f(x - s) + 8 f(x + s) - f(x + 2s)) / 12 s, one coordinate after the other."""
    function = ir.Function(module, FORM, "call")
    b = ir.IRBuilder(function.append_basic_block())
    x, out = function.args
    moved, values = b.alloca(DOUBLE, n), b.alloca(DOUBLE, m)
    step = _table(module, b, "step", steps)
    shift, weight = _table(module, b, "shift", [-2.0, -1.0, 1.0, 2.0]), _table(module, b, "weight", [1.0, -8.0, 8.0, -1.0])
    zero, missing = ir.Constant(DOUBLE, 0.0), ir.Constant(DOUBLE, math.nan)
    with _Loop(b, n * m) as i:
        b.store(zero, element(b, out, i))
    with _Loop(b, n) as j:
        s = b.load(element(b, step, j))
        over = b.fdiv(ir.Constant(DOUBLE, 1.0 / 12.0), s)
        with _Loop(b, 4) as k:
            with _Loop(b, n) as i:
                b.store(b.load(element(b, x, i)), element(b, moved, i))
            here = element(b, moved, j)
            b.store(b.fadd(b.load(here), b.fmul(s, b.load(element(b, shift, k)))), here)
            with _Loop(b, m) as i:
                b.store(missing, element(b, values, i))
            b.call(at(b, address, FORM), [moved, values])
            factor = b.fmul(over, b.load(element(b, weight, k)))
            with _Loop(b, m) as i:
                entry = element(b, out, b.add(b.mul(i, ir.Constant(INDEX, n)), j))
                b.store(b.fadd(b.load(entry), b.fmul(factor, b.load(element(b, values, i)))), entry)
    b.ret_void()


def _table(module: ir.Module, builder, name: str, numbers) -> ir.Value:
    kind = ir.ArrayType(DOUBLE, len(numbers))
    table = ir.GlobalVariable(module, kind, name)
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(kind, [float(number) for number in numbers])
    return builder.bitcast(table, POINTER)


class _Loop:
    """for i in range(count), as LLVM has it."""

    def __init__(self, builder, count: int):
        self.builder, self.count = builder, ir.Constant(INDEX, count)

    def __enter__(self):
        b = self.builder
        before = b.block
        self.body, self.after = b.append_basic_block(), b.append_basic_block()
        b.branch(self.body)
        b.position_at_end(self.body)
        self.index = b.phi(INDEX)
        self.index.add_incoming(ir.Constant(INDEX, 0), before)
        return self.index

    def __exit__(self, *problem):
        b = self.builder
        following = b.add(self.index, ir.Constant(INDEX, 1))
        self.index.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, self.count), self.body, self.after)
        b.position_at_end(self.after)
