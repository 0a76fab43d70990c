"""Sparsity: where a matrix may differ from zero, column by column; what follows from that alone.

References
----------
[duff-erisman-reid-2017] Ch. 2 (columns one after the other), Ch. 6 (matchings, block triangular form), Ch. 7 (minimum degree).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property


class Sparsity:
    """A pattern of m by n: `rows` of all entries, column by column and in order, and where each column begins.

    Parameters
    ----------
    m, n : int
        Rows and columns.
    starts : list of int
        n + 1 numbers: the entries of column j are those from starts[j] to starts[j + 1].
    rows : list of int
        The row of each entry.
    """

    __slots__ = ("__dict__", "_rows", "m", "n", "starts")

    def __init__(self, m: int, n: int, starts: list[int], rows: list[int]):
        self.m, self.n, self.starts, self._rows = m, n, starts, rows

    @classmethod
    def dense(cls, m: int, n: int = 1) -> Sparsity:
        """Every entry."""
        return cls(m, n, list(range(0, m * n + 1, m)) if m else [0] * (n + 1), list(range(m)) * n)

    @classmethod
    def upper(cls, n: int) -> Sparsity:
        """The upper triangle with its diagonal."""
        return cls.of_columns(n, [range(j + 1) for j in range(n)])

    @classmethod
    def of_columns(cls, m: int, columns: Iterable[Iterable[int]]) -> Sparsity:
        """From the rows of each column, in order."""
        starts, rows = [0], []
        for column in columns:
            rows += column
            starts.append(len(rows))
        return cls(m, len(starts) - 1, starts, rows)

    @classmethod
    def of_places(cls, m: int, n: int, places: Iterable[tuple[int, int]]) -> Sparsity:
        """From places (row, column) in any order."""
        columns: list[list[int]] = [[] for _ in range(n)]
        for i, j in places:
            columns[j].append(i)
        return cls.of_columns(m, [sorted(set(column)) for column in columns])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.m, self.n

    def nnz(self) -> int:
        """How many entries there are."""
        return len(self._rows)

    def row(self) -> list[int]:
        """The row of each entry."""
        return list(self._rows)

    def colind(self) -> list[int]:
        """Where each column begins, and the end of the last one."""
        return list(self.starts)

    def column(self, j: int) -> list[int]:
        """The rows of one column."""
        return self._rows[self.starts[j] : self.starts[j + 1]]

    @property
    def is_dense(self) -> bool:
        """Whether every entry is there."""
        return len(self._rows) == self.m * self.n

    @cached_property
    def places(self) -> dict[tuple[int, int], int]:
        """Which entry stands at (row, column)."""
        rows, found, k = self._rows, {}, 0
        for j in range(self.n):
            for k in range(self.starts[j], self.starts[j + 1]):
                found[rows[k], j] = k
        return found

    def has_nz(self, i: int, j: int) -> bool:
        """Whether there is an entry at row i, column j."""
        return (i, j) in self.places

    def is_symmetric(self) -> bool:
        """Whether each entry has one across the diagonal."""
        return self.m == self.n and all((j, i) in self.places for i, j in self.places)

    def __eq__(self, other) -> bool:
        return isinstance(other, Sparsity) and (self.m, self.starts, self._rows) == (other.m, other.starts, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def transposed(self) -> tuple[Sparsity, list[int]]:
        """The pattern of the transpose, and which entry each of its own comes from."""
        columns: list[list[int]] = [[] for _ in range(self.m)]
        origin: list[list[int]] = [[] for _ in range(self.m)]
        for j in range(self.n):
            for k in range(self.starts[j], self.starts[j + 1]):
                columns[self._rows[k]].append(j)
                origin[self._rows[k]].append(k)
        return Sparsity.of_columns(self.n, columns), [k for column in origin for k in column]

    # ---- what follows -------------------------------------------------------------------------------------------------

    def matching(self) -> list[int]:
        """For each column a row of its own in which it has an entry, or -1; as many as there can be."""
        of_row, of_column = [-1] * self.m, [-1] * self.n
        for start in range(self.n):
            seen: set[int] = set()
            path: list[tuple[int, Iterable[int]]] = [(start, iter(self.column(start)))]
            chosen: list[int] = []
            while path:
                _, rows = path[-1]
                for i in rows:
                    if i in seen:
                        continue
                    seen.add(i)
                    chosen.append(i)
                    if of_row[i] < 0:
                        for (j, _), row in zip(path, chosen, strict=True):
                            of_row[row], of_column[j] = j, row
                        path = []
                    else:
                        path.append((of_row[i], iter(self.column(of_row[i]))))
                    break
                else:
                    path.pop()
                    if chosen:
                        chosen.pop()
        return of_column

    def blocks(self) -> list[tuple[list[int], list[int]]]:
        """Rows and columns of the diagonal blocks of a square matrix, in an order in which each needs only those before it.

        One block of everything where no order of rows and columns makes all of the diagonal differ from zero.
        """
        row_of = self.matching()
        if -1 in row_of:
            return [(list(range(self.m)), list(range(self.n)))]
        column_of = {i: j for j, i in enumerate(row_of)}
        needs: list[list[int]] = [[] for _ in range(self.n)]  # columns in the row that belongs to a column
        for i, j in self.places:
            needs[column_of[i]].append(j)
        return [([row_of[j] for j in group], group) for group in map(sorted, _strong_components(needs))]

    def amd(self) -> list[int]:
        """An order of elimination of a symmetric matrix that keeps its factors sparse: the row with fewest neighbours first.

        Of several such rows the one that has to wait for fewest others, so that much can be computed side by side, and of these
        the last. With the first, the loss of digits in a linkage of light rods was shared by several pivots, none of which
        showed it: the smallest one beside its diagonal was 3e-4 where accelerations were wrong by 7e-10, and 2e-7 with the last.
        """
        beside: list[set[int]] = [set() for _ in range(self.n)]
        for i, j in self.places:
            if i != j:
                beside[i].add(j)
                beside[j].add(i)
        left, order, waits = set(range(self.n)), [], [0] * self.n
        while left:
            best = min(left, key=lambda i: (len(beside[i]), waits[i], -i))
            left.remove(best)
            order.append(best)
            around = beside[best]
            for i in around:
                waits[i] = max(waits[i], waits[best] + 1)
                beside[i] |= around
                beside[i] -= {i, best}
        return order


def _strong_components(needs: list[list[int]]) -> list[list[int]]:
    """Groups of a directed graph that need each other, those first that need no others (Tarjan 1972)."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    waiting: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(needs)):
        if root in number:
            continue
        path = [(root, iter(needs[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        waiting.add(root)
        while path:
            here, following = path[-1]
            for there in following:
                if there not in number:
                    number[there] = low[there] = len(number)
                    stack.append(there)
                    waiting.add(there)
                    path.append((there, iter(needs[there])))
                    break
                if there in waiting:
                    low[here] = min(low[here], number[there])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[here])
                if low[here] == number[here]:
                    group = []
                    while True:
                        group.append(stack.pop())
                        waiting.remove(group[-1])
                        if group[-1] == here:
                            break
                    found.append(group)
    return found
