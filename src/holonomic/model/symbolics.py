"""What the package asks of expression graphs, by name; `holonomic.graph` answers. No other file imports from there.

It is needed only where a system is traced for the first time: files that are loaded with the package import this one inside the
functions that need it.

`SX` is a sparse matrix of expressions: nodes of a graph with a sparsity pattern; vectors are columns. It is made by
``SX(number)``, ``SX(rows, columns)`` (nothing in the pattern), ``SX(pattern)``, ``SX(pattern, entries)``, ``SX.sym(name, n)``,
``SX.zeros``, ``SX.eye``, ``SX.nan`` and ``SX.triplet``. It has arithmetic, comparisons, ``@``, ``.T`` and indexing, and says of
itself ``shape``, ``numel``, ``nnz``, ``nonzeros``, ``sparsity``, ``is_zero``, ``is_one``, ``is_constant``, ``is_scalar``,
``is_leaf`` and ``name``.
`Sparsity` is where it may differ from zero: ``row``, ``colind``, ``has_nz``, ``is_symmetric``, ``nnz``, ``amd``; made by
``Sparsity.upper`` and ``Sparsity.dense``.

Vectors are joined with `vertcat`, not with NumPy, and a product of matrices leaves out what the patterns say is zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..graph import nodes
from ..graph.derivatives import jacobian, jacobian_sparsity, jtimes, slopes
from ..graph.joining import densify, diag, diagcat, horzcat, mirrored, ones_like, reshape, sparsify, vec, vertcat, vertsplit
from ..graph.matrix import SX, each_entry, entrywise
from ..graph.sparsity import Sparsity
from ..graph.traversal import (
    called,
    calls_in,
    count,
    depends_on,
    function_of,
    is_equal,
    operations,
    substitute,
    symvar,
    with_numbers_replaced,
)
from ..graph.unrolled_solves import det, dot, inv, ldl, ldl_solve, norm_2, norm_fro, norm_inf, qr, row_sums, solve, sprank

__all__ = [
    "SX", "Sparsity", "binary", "call", "calls_in", "count", "densify", "depends_on", "det", "diag", "diagcat", "dot",
    "fabs", "fmax", "fmin", "function_of", "horzcat", "if_else", "inv", "is_equal", "jacobian", "jacobian_sparsity", "jtimes",
    "ldl", "ldl_solve", "logic_or", "matrix_of", "mirrored", "norm_2", "norm_fro", "norm_inf", "ones_like", "operations", "qr",
    "reshape", "row_sums", "slopes", "solve", "sparsify", "sprank", "substitute", "symvar", "unary", "vec", "vertcat", "vertsplit",
    "with_numbers_replaced",
]  # fmt: skip


def matrix_of(rows) -> SX:
    """A constant matrix of numbers, from its rows."""
    return SX([list(row) for row in rows])


def call(function, arguments: SX) -> SX:
    """What a function gives for a column of expressions: one with n, m, key, derivative and on_numbers as `OutsideFunction` has."""
    made = called(function, densify(arguments).nodes)
    return SX.of(Sparsity.dense(function.m, 1), list(made.results))


# ---- operations on scalars, and entry by entry --------------------------------------------------------------------


_NOTHING = [nodes.ZERO]  # the entry of what has none in its pattern


@functools.cache
def unary(name: str) -> Callable[[SX], SX]:
    """The operation of this name on one scalar, such as "sqrt": the names of a tape."""
    f, scalar = nodes.unary(name), SX.scalar
    return lambda x: scalar(f((x.nodes or _NOTHING)[0]))


@functools.cache
def binary(name: str) -> Callable[[SX, SX], SX]:
    """The operation of this name on two scalars, such as "add"."""
    f, scalar = nodes.binary(name), SX.scalar
    return lambda x, y: scalar(f((x.nodes or _NOTHING)[0], (y.nodes or _NOTHING)[0]))


def _entries(name: str, a, b) -> SX:
    a, b = (each if isinstance(each, SX) else SX(each) for each in (a, b))
    return entrywise(nodes.binary(name), a, b)


def if_else(condition: SX, a, b) -> SX:
    """a where a condition holds, b elsewhere; what is not taken may be NaN."""
    return _entries("if_else_zero", condition, a) + _entries("if_else_zero", each_entry(nodes.unary("not"), condition), b)


def logic_or(a: SX, b: SX) -> SX:
    """Whether one of two conditions holds."""
    return _entries("or", a, b)


def fmin(a, b) -> SX:
    """The smaller of two, entry by entry."""
    return _entries("fmin", a, b)


def fmax(a, b) -> SX:
    """The larger of two, entry by entry."""
    return _entries("fmax", a, b)


def fabs(a: SX) -> SX:
    """Absolute values."""
    return each_entry(nodes.fabs, a, keeps_zero=True)
