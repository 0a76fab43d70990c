"""The order in which a long Newton's matrix is eliminated: as far as that is sparse; what is left is full and goes by dense LU.

Local as in `newton_factors`, over the entries alone that there are: of the pivots that are large enough in all examples the one
that fills least, looked for in the columns with the fewest entries. Where all is coupled with all, looking for it would take
longer than it gains: there coordinates alone are eliminated, by the rows of q', each of which has one of them.

References
----------
[duff-erisman-reid-2017] Ch. 7 (local pivotal strategies: Markowitz's count with a threshold), Ch. 10 (switching to full code).
"""

from __future__ import annotations

import heapq

import numpy as np

from .newton_factors import THRESHOLD, Order

COUPLED = 0.1  # part of all entries from which on a matrix counts as full
FULL = 0.3  # the same of what is left, seen from the row and column of the best pivot
LOOKED = 6  # columns in which a pivot is looked for
MOST_PRODUCTS = 300_000  # taken for an order, 2 µs each; behind them what is left goes by dense LU


def sparse_order(n: int, nq: int, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> Order:
    """Return the pivots in the order of elimination, as many as are worth it.

    Parameters
    ----------
    n, nq : int
        Unknowns; coordinates among them, which come first.
    rows, columns : (m,) arrays
        Entries that may differ from zero.
    values : (examples, m) array
        Their values in examples; those that are not finite are left out.
    """
    if len(rows) > COUPLED * n * n:
        return coordinates_alone(nq, rows, columns)
    values = values[np.all(np.isfinite(values), axis=1)]
    if not len(values):
        return []
    return _Elimination(n, rows, columns, _scaled(n, rows, columns, values)).order()


def coordinates_alone(nq: int, rows: np.ndarray, columns: np.ndarray) -> Order:
    """Those coordinates that stand alone, beside unknowns of other kinds, in the row of their rate."""
    among = columns < nq
    count = np.bincount(rows[among], minlength=nq)
    own = np.zeros(nq, dtype=bool)
    own[rows[among & (rows == columns)]] = True
    return [(i, i) for i in np.flatnonzero(own & (count[:nq] == 1)).tolist()]


def _scaled(n: int, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sizes, rows and columns brought to the size of 1."""
    sizes = np.abs(values)
    for _ in range(4):
        for places in (rows, columns):
            for example in sizes:
                largest = np.zeros(n)
                np.maximum.at(largest, places, example)
                example /= np.sqrt(np.where(largest > 0.0, largest, 1.0))[places]
    return np.copysign(sizes, values)


class _Elimination:
    """A matrix that is being eliminated: rows of what is left, by column the examples' values."""

    def __init__(self, n: int, rows: np.ndarray, columns: np.ndarray, values: np.ndarray):
        self.rows: list[dict[int, np.ndarray]] = [{} for _ in range(n)]
        self.columns: list[set[int]] = [set() for _ in range(n)]
        for i, j, value in zip(rows.tolist(), columns.tolist(), values.T.copy(), strict=True):
            self.rows[i][j] = value
            self.columns[j].add(i)
        self.waiting = [(len(column), j) for j, column in enumerate(self.columns)]
        heapq.heapify(self.waiting)

    def order(self) -> Order:
        """Eliminate."""
        order: Order = []
        left, products = len(self.rows), 0
        while left:
            best = self._best()
            if best is None:
                break
            cost, i, j = best
            if cost > FULL * (left - 1) ** 2 or products + cost > MOST_PRODUCTS:
                break
            self._eliminate(i, j)
            products, left = products + cost, left - 1
            order.append((i, j))
        return order

    def _best(self) -> tuple[int, int, int] | None:
        """The pivot that fills least, and how many entries it touches."""
        taken, best = [], None
        while self.waiting and len(taken) < LOOKED:
            count, j = heapq.heappop(self.waiting)
            column = self.columns[j]
            if count != len(column) or (taken and taken[-1][1] == j):  # an old count; it stands there once more
                continue
            taken.append((count, j))
            if not column:
                continue
            there = list(column)
            sizes = np.abs([self.rows[i][j] for i in there])
            largest = sizes.max(axis=0)
            if not np.all(largest > 0.0):
                continue
            share = (sizes / largest).min(axis=1)
            allowed = share >= min(THRESHOLD, share.max()) if share.max() > 1e-6 else np.zeros(len(there), dtype=bool)
            for k in np.flatnonzero(allowed):
                found = ((len(self.rows[there[k]]) - 1) * (count - 1), -share[k], there[k], j)
                if best is None or found < best:
                    best = found
            if best is not None and best[0] <= (count - 1) ** 2:
                break  # columns behind have more entries
        for each in taken:
            heapq.heappush(self.waiting, each)
        return None if best is None else (best[0], best[2], best[3])

    def _eliminate(self, i: int, j: int) -> None:
        """Take the pivot (i, j) out."""
        row = self.rows[i]
        pivot = row.pop(j)
        below = self.columns[j]
        below.discard(i)
        self.columns[j] = set()
        for u in row:
            self.columns[u].discard(i)
        for k in below:
            other = self.rows[k]
            factor = other.pop(j) / pivot
            for u, value in row.items():
                known = other.get(u)
                if known is None:
                    other[u] = -factor * value
                    self.columns[u].add(k)
                else:
                    other[u] = known - factor * value
        self.rows[i] = {}
        for u in row:
            heapq.heappush(self.waiting, (len(self.columns[u]), u))
