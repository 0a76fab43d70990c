"""The one door to CasADi: what the package asks of it, by name. No other file imports it, so it could be replaced here.

It takes 0.04 s to load and is needed only where a system is traced for the first time: files that are loaded with the
package import this one inside the functions that need it.

Three types are CasADi's own:

`SX`
    An expression: a matrix of nodes of a graph, with a sparsity pattern; vectors are columns. It is made by ``SX(number)``,
    ``SX(rows, columns)`` (nothing in the pattern), ``SX(pattern)``, ``SX(pattern, entries)``, ``SX.sym(name, n)``, ``SX.zeros``,
    ``SX.eye``, ``SX.nan`` and ``SX.triplet``. It has arithmetic, comparisons, ``@``, ``.T`` and indexing, and says of itself
    ``shape``, ``numel``, ``nnz``, ``nonzeros``, ``sparsity``, ``is_zero``, ``is_constant``, ``is_scalar`` and ``name``.
`DM`
    The same with numbers for nodes: what a function of expressions returns for numbers. ``np.array`` and ``full`` read it.
`Sparsity`
    A pattern, where a matrix may differ from zero: ``row``, ``colind``, ``has_nz``, ``is_symmetric``, ``nnz``; made by
    ``Sparsity.upper`` and ``Sparsity.dense``.

Vectors are joined with `vertcat`, not with NumPy, and a product of matrices leaves out what the pattern says is zero.

Calls of functions that are no expressions (`call`) are ours: their results stand in a graph as symbols of their own, and what
asks a graph for derivatives, symbols, values or operations looks behind them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import casadi
import numpy as np
from casadi import DM, SX, Sparsity

from .calls_in_order import in_order

__all__ = ["DM", "SX", "Sparsity"]  # CasADi's own; everything else is defined below

VERSION: str = casadi.__version__

if hasattr(casadi.GlobalOptions, "setNumpyMode"):  # older releases have no such mode
    casadi.GlobalOptions.setNumpyMode(-1)  # otherwise users see a FutureWarning of casadi's about NumPy

# ---- joining, splitting, reshaping ----------------------------------------------------------------------------


def vertcat(*parts) -> SX:
    """Parts below one another; of numbers alone, a DM."""
    return casadi.vertcat(*parts)


def horzcat(*parts: SX) -> SX:
    """Parts beside one another."""
    return casadi.horzcat(*parts)


def diagcat(*blocks: SX) -> SX:
    """Blocks along a diagonal."""
    return casadi.diagcat(*blocks)


def vertsplit(column: SX) -> list[SX]:
    """The entries of a column, each by itself."""
    return casadi.vertsplit(column)


def vec(A: SX) -> SX:
    """The columns of A below one another."""
    return casadi.vec(A)


def reshape(A: SX, rows: int, columns: int) -> SX:
    """The entries of A, column by column, in another shape."""
    return casadi.reshape(A, rows, columns)


def matrix_of(rows) -> SX:
    """A constant matrix of numbers, from its rows."""
    return SX(DM([list(row) for row in rows]))


def diag(A: SX) -> SX:
    """The diagonal of a matrix, or the diagonal matrix of a column."""
    return casadi.diag(A)


def mirrored(A: SX) -> SX:
    """The symmetric matrix whose upper triangle is that of A."""
    return casadi.triu2symm(casadi.triu(A))


# ---- sparsity -------------------------------------------------------------------------------------------------


def densify(A: SX) -> SX:
    """The same with every entry in its pattern."""
    return casadi.densify(A)


def sparsify(A: SX) -> SX:
    """The same without entries that are exactly zero in its pattern."""
    return casadi.sparsify(A)


def ones_like(A: SX) -> DM:
    """1 wherever A has an entry in its pattern."""
    return DM(A.sparsity(), 1)


def sprank(A: SX) -> int:
    """The largest rank that a matrix of this pattern can have."""
    return casadi.sprank(A)


# ---- graphs: derivatives, symbols, what depends on what -------------------------------------------------------


def jacobian(y: SX, x: SX) -> SX:
    """∂y/∂x, with its own pattern."""
    total = casadi.jacobian(y, x)
    for results, slope in _slopes(y, lambda part: casadi.jacobian(part, x)):
        total = total + casadi.jacobian(y, results) @ slope
    return total


def jacobian_sparsity(y: SX, x: SX) -> Sparsity:
    """The pattern of ∂y/∂x, without its entries."""
    return jacobian(y, x).sparsity() if calls_in(y) else casadi.jacobian_sparsity(y, x)


def jtimes(y: SX, x: SX, direction: SX) -> SX:
    """∂y/∂x times a direction, without ∂y/∂x being formed."""
    total = casadi.jtimes(y, x, direction)
    for results, slope in _slopes(y, lambda part: casadi.jtimes(part, x, direction)):
        total = total + casadi.jtimes(y, results, slope)
    return total


def substitute(y: SX, x: SX, values: SX) -> SX:
    """An expression with values in the place of the symbols x."""
    for made in calls_in(y):
        if casadi.depends_on(made.arguments, x):
            values = casadi.vertcat(values, call(made.function, casadi.substitute(made.arguments, x, values)))
            x = casadi.vertcat(x, made.results)
    return casadi.substitute(y, x, values)


def depends_on(y: SX, x: SX) -> bool:
    """Whether an expression contains one of the symbols x."""
    return casadi.depends_on(_with_arguments(y), x)


def symvar(y: SX) -> list[SX]:
    """The symbols that an expression contains."""
    found = casadi.symvar(_with_arguments(y))
    return [symbol for symbol in found if not symbol.name().startswith(RESULT)] if _calls else found


def is_equal(a: SX, b: SX, depth: int) -> bool:
    """Whether two expressions are the same graph, compared so far down."""
    return casadi.is_equal(a, b, depth)


def function_of(inputs: list[SX], outputs: list[SX]) -> casadi.Function | _Stepwise:
    """A function that evaluates expressions of symbols, given numbers or other expressions; no other symbol may be in them.

    Called, it gives one DM or SX, or a tuple of them where there are several outputs; ``numel_in(i)`` says how many numbers
    the input i takes.
    """
    calls = calls_in(*outputs)
    return _Stepwise(inputs, outputs, calls) if calls else casadi.Function("f", inputs, outputs)


def instructions(inputs: list[SX], outputs: list[SX]) -> Iterator[tuple[str, list[int], list[int], Any]]:
    """Walk through the graph of expressions in the order of evaluation: (operation, sources, targets, number).

    Sources and targets are places in memory; for "input" the source, for "output" the target is (which, entry of its
    pattern). The number is that of "const"; of "call" it is the function that is called.
    """
    calls = calls_in(*outputs)
    if not calls:
        return _walk(casadi.Function("f", inputs, outputs))
    results = casadi.vertcat(*(made.results for made in calls))
    arguments = casadi.vertcat(*(made.arguments for made in calls))
    walk = _walk(casadi.Function("f", [*inputs, results], [arguments, *outputs]))
    return in_order(walk, len(inputs), [made.function for made in calls])


def _walk(function: casadi.Function) -> Iterator[tuple[str, list[int], list[int], Any]]:
    names = _operation_names()
    for k in range(function.n_instructions()):
        name = names[function.instruction_id(k)]
        number = float(function.instruction_constant(k)) if name == "const" else None
        yield name, function.instruction_input(k), function.instruction_output(k), number


@functools.cache
def _operation_names() -> dict[int, str]:
    """CasADi's numbers of operations, with our names for them."""
    found = {name[3:].lower(): getattr(casadi, name) for name in dir(casadi) if name.startswith("OP_")}
    return {number: name for name, number in found.items() if isinstance(number, int)}


# ---- calls of functions that are no expressions ---------------------------------------------------------------

RESULT = "result "  # how the symbols of results are named; ours alone
RECENT = 30  # calls of one function among which the same one is looked for: 10 µs each
_DEPTH = 8  # how far down arguments are compared


class _Call:
    """One call: what it is given, and the symbols that stand for what it gives."""

    def __init__(self, function, arguments: SX):
        self.function, self.arguments = function, arguments
        self.results = casadi.vertcat(*(SX.sym(f"{RESULT}{len(_calls)} {i}") for i in range(function.m)))

    def slope(self) -> SX:
        """∂ results / ∂ arguments."""
        f = self.function
        return casadi.reshape(call(f.derivative, self.arguments), f.n, f.m).T


_calls: list[_Call] = []  # of this process; those in the arguments of one come before it
_of_function: dict[str, list[_Call]] = {}


def call(function, arguments: SX) -> SX:
    """What a function gives for a column of expressions: one with n, m, key, derivative and on_numbers as `OutsideFunction` has."""
    arguments = casadi.densify(arguments)
    known = _of_function.setdefault(function.key, [])
    for made in reversed(known[-RECENT:]):
        if casadi.is_equal(made.arguments, arguments, _DEPTH):
            return made.results
    made = _Call(function, arguments)
    _calls.append(made)
    known.append(made)
    return made.results


def calls_in(*expressions: SX) -> list[_Call]:
    """The calls that expressions stand on, in the order of evaluation."""
    if not _calls:
        return []
    found: dict[int, _Call] = {}
    waiting = list(expressions)
    while waiting:
        symbols = casadi.symvar(casadi.vertcat(SX(0, 1), *(casadi.vec(each) for each in waiting)))
        numbers = {int(name.split()[1]) for name in (symbol.name() for symbol in symbols) if name.startswith(RESULT)}
        waiting = [_calls[number].arguments for number in numbers - found.keys()]
        found |= {number: _calls[number] for number in numbers}
    return [found[number] for number in sorted(found)]


def _with_arguments(y: SX) -> SX:
    """An expression, and those that it hands to calls."""
    calls = calls_in(y)
    return casadi.vertcat(casadi.vec(y), *(made.arguments for made in calls)) if calls else y


def _slopes(y: SX, along: Callable[[SX], SX]) -> list[tuple[SX, SX]]:
    """Results of the calls in y, and their derivatives; `along` gives those of expressions, calls apart."""
    found: list[tuple[SX, SX]] = []
    for made in calls_in(y):
        slope = along(made.arguments)
        for results, before in found:
            slope = slope + casadi.jacobian(made.arguments, results) @ before
        if slope.nnz():
            found.append((made.results, made.slope() @ slope))
    return found


class _Stepwise:
    """A function with calls in it: the expressions before each call, the call, and so on."""

    def __init__(self, inputs: list[SX], outputs: list[SX], calls: list[_Call]):
        self.calls, results = calls, [made.results for made in calls]
        self.before = [casadi.Function("f", [*inputs, *results[:k]], [made.arguments]) for k, made in enumerate(calls)]
        self.last = casadi.Function("f", [*inputs, *results], outputs)

    def numel_in(self, i: int) -> int:
        return self.last.numel_in(i)

    def __call__(self, *given):
        known = list(given)
        for made, before in zip(self.calls, self.before, strict=True):
            arguments = before(*known)
            symbolic = isinstance(arguments, SX)
            known.append(call(made.function, arguments) if symbolic else made.function.on_numbers(np.array(arguments).ravel()))
        return self.last(*known)


# ---- scalars --------------------------------------------------------------------------------------------------
# Nodes by name: SX.unary and SX.binary take 2 µs, SX's own operators 13 µs.


@functools.cache
def unary(name: str) -> Callable[[SX], SX]:
    """The operation of this name on one scalar, such as "sqrt": the names that `instructions` gives."""
    op = getattr(casadi, "OP_" + name.upper())
    return lambda x: SX.unary(op, x)


@functools.cache
def binary(name: str) -> Callable[[SX, SX], SX]:
    """The operation of this name on two scalars, such as "add"."""
    op = getattr(casadi, "OP_" + name.upper())
    return lambda x, y: SX.binary(op, x, y)


def if_else(condition: SX, a, b) -> SX:
    """a where a condition holds, b elsewhere; what is not taken may be NaN."""
    return casadi.if_else(condition, a, b)


def logic_or(a: SX, b: SX) -> SX:
    """Whether one of two conditions holds."""
    return casadi.logic_or(a, b)


def fmin(a, b) -> SX:
    """The smaller of two, entry by entry."""
    return casadi.fmin(a, b)


def fmax(a, b) -> SX:
    """The larger of two, entry by entry."""
    return casadi.fmax(a, b)


def fabs(a: SX) -> SX:
    """Absolute values."""
    return casadi.fabs(a)


# ---- vectors and matrices -------------------------------------------------------------------------------------


def dot(a: SX, b: SX) -> SX:
    """The sum of products of two columns."""
    return casadi.dot(a, b)


def row_sums(A: SX) -> SX:
    """The sum of each row."""
    return casadi.sum2(A)


def norm_2(a: SX) -> SX:
    """The length of a row or column."""
    return casadi.norm_2(a)


def norm_inf(a: SX) -> SX:
    """The largest absolute value."""
    return casadi.norm_inf(a)


def norm_fro(A: SX) -> SX:
    """The root of the sum of all squares."""
    return casadi.norm_fro(A)


def det(A: SX) -> SX:
    """The determinant, by expansion: for a few rows."""
    return casadi.det(A)


def inv(A: SX) -> SX:
    """The inverse."""
    return casadi.inv(A)


def solve(A: SX, b: SX) -> SX:
    """A⁻¹ b; by substitution where A is triangular."""
    return casadi.solve(A, b)


def ldl(A: SX) -> tuple[SX, SX, list[int]]:
    """D, Lᵀ and the order p of a symmetric A = L D Lᵀ in that order; p keeps the factors sparse and looks at no number."""
    return casadi.ldl(A, True)


def ldl_solve(b: SX, D: SX, LT: SX, p: list[int]) -> SX:
    """A⁻¹ b with the factors that `ldl` gives."""
    return casadi.ldl_solve(b, D, LT, p)


def qr(A: SX) -> tuple[SX, SX]:
    """Q and R of A = Q R."""
    return casadi.qr(A)
