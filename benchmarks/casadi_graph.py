"""CasADi in the place of the package's own expression graphs: everything that `model/symbolics.py` lists, for comparing the two.

`install()` before anything of holonomic is imported, and all models of the process are traced and differentiated by CasADi.
Functions that are no expressions (`opaque`) are not part of the comparison.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import casadi
import numpy as np
from casadi import SX

Sparsity = casadi.Sparsity

if hasattr(casadi.GlobalOptions, "setNumpyMode"):  # older releases have no such mode
    casadi.GlobalOptions.setNumpyMode(-1)


def install() -> None:
    """Let holonomic ask CasADi."""
    loaded = [name for name in sys.modules if name.startswith("holonomic.")]
    if "holonomic.model.trace" in loaded:
        raise RuntimeError("holonomic has been loaded already")
    sys.modules["holonomic.model.symbolics"] = sys.modules[__name__]


def count(*expressions: SX) -> int:
    """How many nodes expressions are made of."""
    return casadi.Function("expressions", casadi.symvar(casadi.veccat(*expressions)), expressions).n_nodes()


# ---- joining, splitting, reshaping ----------------------------------------------------------------------------


def vertcat(*parts) -> SX:
    """Parts below one another."""
    return SX(casadi.vertcat(*parts))


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
    return SX(casadi.DM([list(row) for row in rows]))


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


def ones_like(A: SX) -> SX:
    """1 wherever A has an entry in its pattern."""
    return SX(casadi.DM(A.sparsity(), 1))


def sprank(A: SX) -> int:
    """The largest rank that a matrix of this pattern can have."""
    return casadi.sprank(A)


# ---- graphs ----------------------------------------------------------------------------------------------------

jacobian, jacobian_sparsity, jtimes = casadi.jacobian, casadi.jacobian_sparsity, casadi.jtimes
substitute, depends_on, symvar = casadi.substitute, casadi.depends_on, casadi.symvar


def is_equal(a: SX, b: SX) -> bool:
    """Whether two expressions are the same graph, compared so far down as is usual."""
    return casadi.is_equal(a, b, 8)


def call(function, arguments: SX) -> SX:
    """Functions that are no expressions are not compared."""
    raise NotImplementedError("opaque functions are not compared with CasADi")


def calls_in(*expressions: SX) -> list:
    """None."""
    return []


def function_of(inputs: list[SX], outputs: list[SX]) -> Callable:
    """A function that evaluates expressions of symbols, given numbers or other expressions."""
    f = casadi.Function("f", inputs, outputs)

    def called(*given):
        found = f(*given)
        if isinstance(found, tuple):
            return tuple(each if isinstance(each, SX) else np.array(each) for each in found)
        return found if isinstance(found, SX) else np.array(found)

    called.numel_in = f.numel_in
    return called


@functools.cache
def _names() -> dict[int, str]:
    found = {name[3:].lower(): getattr(casadi, name) for name in dir(casadi) if name.startswith("OP_")}
    return {number: name for name, number in found.items() if isinstance(number, int)}


def _steps(f: casadi.Function):
    for k in range(f.n_instructions()):
        name = _names()[f.instruction_id(k)]
        number = float(f.instruction_constant(k)) if name == "const" else None
        yield name, f.instruction_input(k), f.instruction_output(k), number


def operations(inputs: list[SX], output: SX) -> tuple[list[tuple], list[int]]:
    """What computes an expression, as a tape has it, and the number of what goes into each of its entries; equal ones merged."""
    tape: list[tuple] = []
    known: dict[tuple, int] = {}
    work: dict[int, int] = {}
    places = [0] * output.nnz()

    def add(node: tuple) -> int:
        if node[0] in ("add", "mul", "and", "or", "fmin", "fmax", "eq", "ne") and node[1] > node[2]:
            node = (node[0], node[2], node[1])
        if node not in known:
            known[node] = len(tape)
            tape.append(node)
        return known[node]

    for name, source, target, number in _steps(casadi.Function("f", inputs, [output])):
        if name == "output":
            places[target[1]] = work[source[0]]
        else:
            node = ("const", number) if name == "const" else ("in", source[0], source[1]) if name == "input" else None
            work[target[0]] = add(node or (name, *(work[i] for i in source)))
    return tape, places


def with_numbers_replaced(values: list[SX], number: Callable[[float], SX | None]) -> list[SX]:
    """Expressions with symbols in the place of numbers, as far as `number` gives one."""
    inputs = symvar(vertcat(*(vec(value) for value in values)))
    work: dict[int, Any] = {}
    entries: list[list[SX]] = [[SX(0)] * value.nnz() for value in values]
    for name, source, target, value in _steps(casadi.Function("f", [vertcat(SX(0, 1), *inputs)], values)):
        if name == "const":
            found = number(value)
            work[target[0]] = SX(value) if found is None else found
        elif name == "input":
            work[target[0]] = inputs[source[1]]
        elif name == "output":
            entries[target[0]][target[1]] = work[source[0]]
        elif len(source) == 1:
            work[target[0]] = unary(name)(work[source[0]])
        else:
            work[target[0]] = binary(name)(work[source[0]], work[source[1]])
    pairs = zip(values, entries, strict=True)
    return [SX(each.sparsity(), vertcat(*found)) if found else SX(each.sparsity()) for each, found in pairs]


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
