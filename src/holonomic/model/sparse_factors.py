"""Lists by which `kernels.sparse_elimination` factors Newton's matrix, where straight-line code would be too long."""

from __future__ import annotations

import heapq

import numpy as np

from ..kernels.signatures import Fn
from ..kernels.sparse_elimination import SPARSE, factor_by_lists, factor_complex_by_lists, solve_by_lists, solve_complex_by_lists
from .function_sets import CompiledFunctions
from .newton_factors import UNROLLED, Order, is_long, pattern_of
from .tape import Tape

KERNELS = {
    Fn.NEWTON_FACTOR: factor_by_lists, Fn.NEWTON_SOLVE: solve_by_lists,
    Fn.COMPLEX_FACTOR: factor_complex_by_lists, Fn.COMPLEX_SOLVE: solve_complex_by_lists,
}  # fmt: skip


def eliminated(pattern: list[list[int]], order: Order, pivots: int) -> list[list[int]]:
    """Return for each pivot the columns of its row when the rows before it have been eliminated, as numbers of their pivots.

    Only so many pivots are eliminated; of the rows behind them there are the columns of these pivots.
    """
    place = {column: k for k, (_, column) in enumerate(order)}
    filled: list[list[int]] = []
    for k, (row, _) in enumerate(order):
        open_ = {place[j] for j in pattern[row]}
        waiting = [j for j in open_ if j < min(k, pivots)]
        heapq.heapify(waiting)
        while waiting:
            j = heapq.heappop(waiting)
            for u in filled[j]:
                if u > j and u not in open_:
                    open_.add(u)
                    if u < min(k, pivots):
                        heapq.heappush(waiting, u)
        filled.append(sorted(open_ if k < pivots else (j for j in open_ if j < pivots)))
    return filled


class Remembering:
    """A function, and what it returned last; None before."""

    def __init__(self, function):
        self.function, self.last = function, None

    def __call__(self, *arguments):
        self.last = self.function(*arguments)
        return self.last


def long_elimination(made: dict[Fn, Tape], order: Order | None) -> dict | None:
    """Return what is kept of an elimination among recorded functions that goes by lists; None: there is none."""
    if order is None or not set(UNROLLED) & set(made) or not is_long(made[Fn.BY_Y], made[Fn.BY_SLOPE], order):
        return None
    pattern = pattern_of(made[Fn.BY_Y], made[Fn.BY_SLOPE], len(order))
    return {"pattern": [np.flatnonzero(row).tolist() for row in pattern], "order": [list(pivot) for pivot in order]}


def with_lists(found: CompiledFunctions, wanted, kept: dict | None) -> CompiledFunctions:
    """Return functions with those added that eliminate by lists."""
    if kept is None:
        return found
    lists, own = SparseElimination(kept["pattern"], kept["order"]), [fn for fn in wanted if fn in KERNELS]
    return CompiledFunctions(
        found.addresses | {fn: KERNELS[fn].address for fn in own}, found.lengths | {fn: lists.lengths[fn] for fn in own},
        found.contexts | dict.fromkeys(own, lists.context), (*found.held, lists),
    )  # fmt: skip


class SparseElimination:
    """The lists of one elimination, as the context of its operators.

    Parameters
    ----------
    pattern : list
        For each row of Newton's matrix the columns that may differ from zero.
    order : Order
        Rows and columns of the pivots; where there are fewer than rows, what is left goes by dense LU.
    """

    def __init__(self, pattern: list[list[int]], order: Order):
        n, pivots = len(pattern), len(order)
        order = [*order, *zip(_others(n, [i for i, _ in order]), _others(n, [j for _, j in order]), strict=True)]
        filled = eliminated(pattern, order, pivots)
        at = [k for row in filled for k in row]
        first = np.concatenate([[0], np.cumsum([len(row) for row in filled])])
        middle = [first[k] + (row.index(k) if k < pivots else len(row)) for k, row in enumerate(filled)]
        known = [set(row) for row in pattern]
        sources = [
            row * n + order[k][1] if order[k][1] in known[row] else -1 for (row, _), columns in zip(order, filled, strict=True)
            for k in columns
        ]  # fmt: skip
        lists = {
            "rows": [row for row, _ in order], "columns": [column for _, column in order], "first": first, "middle": middle,
            "at": at, "sources": sources,
            "sources_left": [
                row * n + column if column in known[row] else -1 for row, _ in order[pivots:] for _, column in order[pivots:]
            ],
        }  # fmt: skip
        self.memory = SPARSE.new()
        self._held = {name: np.array(each, dtype=np.int64) for name, each in lists.items()}
        for name, each in self._held.items():
            setattr(self.memory, name, each.ctypes.data)
        self.memory.n, self.memory.pivots, self.memory.entries = n, pivots, len(at)
        self.context = self.memory.array.ctypes.data
        entries, left = len(at), n - pivots
        self.lengths = {
            Fn.NEWTON_FACTOR: 1 + entries + left * (left + 1), Fn.NEWTON_SOLVE: n,
            Fn.COMPLEX_FACTOR: 1 + 2 * entries + left * (2 * left + 1), Fn.COMPLEX_SOLVE: 2 * n,
        }  # fmt: skip


def _others(n: int, taken: list[int]) -> list[int]:
    return sorted(set(range(n)) - set(taken))
