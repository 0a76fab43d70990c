"""Matrices of expressions joined, split, reshaped, and their patterns made fuller or sparser."""

from __future__ import annotations

from .matrix import SX, as_sx, from_columns
from .nodes import ONE, ZERO, Node
from .sparsity import Sparsity


def vertcat(*parts) -> SX:
    """Parts below one another; numbers are expressions, too."""
    parts = [as_sx(part) for part in parts]
    parts = [part for part in parts if part.shape != (0, 0)] if any(part.shape != (0, 0) for part in parts) else parts[:1]
    if not parts:
        return SX(0, 1)
    if len(parts) == 1:
        return parts[0]
    width = max(part.shape[1] for part in parts)
    for part in parts:
        if part.shape[1] != width and part.numel():
            raise ValueError(f"parts of {[each.shape for each in parts]} below one another")
    if width == 1 and all(part.sparsity().is_dense for part in parts):
        every = [node for part in parts for node in part.nodes]
        return SX.of(Sparsity.dense(len(every), 1), every)
    columns: list[dict[int, Node]] = [{} for _ in range(width)]
    at = 0
    for part in parts:
        for column, entries in zip(columns, part.columns(), strict=False):
            column.update((at + i, node) for i, node in entries)
        at += part.shape[0]
    return from_columns(at, columns)


def horzcat(*parts: SX) -> SX:
    """Parts beside one another."""
    m = max((part.shape[0] for part in parts), default=0)
    starts, rows, entries = [0], [], []
    for part in parts:
        if part.shape[0] != m and part.numel():
            raise ValueError(f"parts of {[each.shape for each in parts]} beside one another")
        starts += [len(rows) + start for start in part.sparsity().starts[1:]]
        rows += part.sparsity().row()
        entries += part.nodes
    return SX.of(Sparsity(m, len(starts) - 1, starts, rows), entries)


def diagcat(*blocks: SX) -> SX:
    """Blocks along a diagonal."""
    columns: list[dict[int, Node]] = []
    at = 0
    for block in blocks:
        columns += [{at + i: node for i, node in column} for column in block.columns()]
        at += block.shape[0]
    return from_columns(at, columns)


def vertsplit(column: SX) -> list[SX]:
    """The entries of a column, each by itself."""
    return [column[i] for i in range(column.shape[0])]


def vec(A: SX) -> SX:
    """The columns of A below one another."""
    return reshape(A, A.numel(), 1)


def reshape(A: SX, rows: int, columns: int) -> SX:
    """The entries of A, column by column, in another shape."""
    if rows * columns != A.numel():
        raise ValueError(f"a matrix of {A.shape} as one of {(rows, columns)}")
    if A.shape == (rows, columns):
        return A
    if A.sparsity().is_dense:
        return SX.of(Sparsity.dense(rows, columns), A.nodes)
    made: list[dict[int, Node]] = [{} for _ in range(columns)]
    m = A.shape[0]
    for j, column in enumerate(A.columns()):
        for i, node in column:
            k = j * m + i
            made[k // rows][k % rows] = node
    return from_columns(rows, made)


def diag(A: SX) -> SX:
    """The diagonal of a matrix, or the diagonal matrix of a column."""
    m, n = A.shape
    if n == 1 and m != 1:
        rows = A.sparsity().row()
        return SX.of(Sparsity.of_places(m, m, [(i, i) for i in rows]), A.nodes)
    places = A.sparsity().places
    return from_columns(min(m, n), [{i: A.nodes[places[i, i]] for i in range(min(m, n)) if (i, i) in places}])


def mirrored(A: SX) -> SX:
    """The symmetric matrix whose upper triangle is that of A."""
    columns: list[dict[int, Node]] = [{} for _ in range(A.shape[1])]
    for j, column in enumerate(A.columns()):
        for i, node in column:
            if i <= j:
                columns[j][i] = columns[i][j] = node
    return from_columns(A.shape[0], columns)


def densify(A: SX) -> SX:
    """The same with every entry in its pattern."""
    return A if A.sparsity().is_dense else SX.of(Sparsity.dense(*A.shape), A.dense_nodes())


def sparsify(A: SX) -> SX:
    """The same without entries that are exactly zero in its pattern."""
    if not any(node is ZERO for node in A.nodes):
        return A
    return from_columns(A.shape[0], [{i: node for i, node in column if node is not ZERO} for column in A.columns()])


def ones_like(A: SX) -> SX:
    """1 wherever A has an entry in its pattern."""
    return SX.of(A.sparsity(), [ONE] * A.nnz())
