"""Operators of implicit methods on tables, and which rows they leave out."""

from __future__ import annotations

import numpy as np

from ..kernels import table_newton as kernels
from ..kernels.signatures import N_FUNCTIONS, Fn
from ..loop.from_python import invoke
from ..model.operators import Operator
from .collection import Collection, Context
from .newton_tables import NewtonTables

SHORT = 1e10  # 1/h at which rows that repeat others are looked for: forces do not count then
TRIALS = 8  # orders that are tried: rows whose pivots are not there yet wait for all their bodies


def newton_operators(c: Collection) -> tuple[dict[Fn, Operator], Context]:
    """Return the operators, and the context that they are called with."""
    dropped = np.zeros(c.n_rows, dtype=bool)
    data = np.concatenate([c.values, c.numbers, np.zeros(3 * c.n_inputs + len(c.lumps) + 1)])
    bare = NewtonTables(c, dropped)
    linear = _called(kernels.table_linearized, bare.context, bare.n_linear, 0.0, _at_rest(c), data)
    waits = np.zeros(c.n_rows, dtype=bool)

    def replaced(looked: NewtonTables) -> np.ndarray:
        return looked.replaced(_called(kernels.table_newton_factor, looked.context, looked.real, SHORT, linear, data))

    if c.redundant != 0 and c.n_rows:
        dropped = replaced(NewtonTables(c, dropped, linear, ~waits, looks=1))
    for _ in range(TRIALS):
        early = replaced(NewtonTables(c, dropped, linear, waits, looks=2))
        if not (early & ~waits).any():
            break
        waits |= early
    made = NewtonTables(c, dropped, linear, waits)
    context, size = made.context, c.n_bodies * (c.nq + c.nv) + c.n_rows
    lengths = {
        Fn.EQUATIONS: (kernels.table_equations, size),
        Fn.LINEARIZED: (kernels.table_linearized, made.n_linear),
        Fn.NEWTON_FACTOR: (kernels.table_newton_factor, made.real),
        Fn.NEWTON_SOLVE: (kernels.table_newton_solve, size),
        Fn.COMPLEX_FACTOR: (kernels.table_complex_factor, made.complex),
        Fn.COMPLEX_SOLVE: (kernels.table_complex_solve, 2 * size),
        Fn.GRADIENTS: (kernels.table_gradients, size),
    }
    return {fn: Operator(kernel.address, context.address, n) for fn, (kernel, n) in lengths.items()}, context


def _at_rest(c: Collection) -> np.ndarray:
    return np.concatenate([c.start, np.zeros(c.n_bodies * c.nv + c.n_rows)])


def _called(kernel, context: Context, length: int, t: float, a: np.ndarray, data: np.ndarray) -> np.ndarray:
    """What one operator writes; slopes are zero."""
    fns, out = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), np.empty(length)
    fns[:2] = kernel.address, context.address
    invoke(fns, 0, t, a, np.zeros(len(a)), data, out)
    return out
