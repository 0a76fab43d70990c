"""Linear equations solved in expressions: substitution, LDLᵀ, QR, determinants. No number is looked at, so nothing is pivoted.

References
----------
[golub-van-loan-2013] Sec. 4.1 (LDLᵀ), 5.2.8 (modified Gram-Schmidt).
"""

from __future__ import annotations

from . import nodes
from .matrix import SX, each_entry, from_columns
from .nodes import ONE, ZERO, Node, add, div, mul, neg, sub

Column = dict[int, Node]
SMALL = 3  # up to as many unknowns by Cramer's rule


def sprank(A: SX) -> int:
    """The largest rank that a matrix of this pattern can have."""
    return sum(row >= 0 for row in A.sparsity().matching())


def ldl(A: SX) -> tuple[SX, SX, list[int]]:
    """D, Lᵀ and the order p of a symmetric A = L D Lᵀ in that order; p keeps the factors sparse.

    Only the upper triangle of A in that order is read; Lᵀ is given without its diagonal of ones.
    """
    n = A.shape[0]
    p = A.sparsity().amd()
    place = {i: k for k, i in enumerate(p)}
    below: list[Column] = [{} for _ in range(n)]  # of each column, in the order p
    for j, column in enumerate(A.columns()):
        for i, node in column:
            r, c = place[i], place[j]
            if r <= c:
                below[r][c] = node
    D: list[Node] = []
    for k in range(n):
        pivot = below[k].pop(k, ZERO)
        D.append(pivot)
        rows = sorted(below[k])
        scaled = {i: div(below[k][i], pivot) for i in rows}
        for at, j in enumerate(rows):
            target, factor = below[j], scaled[j]
            for i in rows[at:]:
                less = mul(below[k][i], factor)
                known = target.get(i)
                target[i] = neg(less) if known is None else sub(known, less)
        below[k] = scaled
    columns: list[Column] = [{} for _ in range(n)]
    for k in range(n):
        for i, node in below[k].items():
            columns[i][k] = node
    return SX.of(nodes_pattern(n), D), from_columns(n, columns), p


def nodes_pattern(n: int):
    """A dense column."""
    from .sparsity import Sparsity

    return Sparsity.dense(n, 1)


def ldl_solve(b: SX, D: SX, LT: SX, p: list[int]) -> SX:
    """A⁻¹ b with the factors that `ldl` gives."""
    n = len(p)
    place = {i: k for k, i in enumerate(p)}
    rows: list[list[tuple[int, Node]]] = [[] for _ in range(n)]  # of Lᵀ: what stands below the diagonal of L in a column
    for j, column in enumerate(LT.columns()):
        for i, node in column:
            if i < j and node is not ZERO:
                rows[i].append((j, node))
    pivots = [D[k].nodes[0] if D[k].nnz() else ZERO for k in range(n)]
    found = []
    for column in b.columns():
        x: Column = {place[i]: node for i, node in column if node is not ZERO}
        for k in range(n):
            value = x.get(k)
            if value is not None:
                for i, factor in rows[k]:
                    _subtract(x, i, mul(factor, value))
        x = {k: div(value, pivots[k]) for k, value in x.items()}
        for k in range(n - 1, -1, -1):
            for i, factor in reversed(rows[k]):  # what is known longest comes first
                value = x.get(i)
                if value is not None:
                    _subtract(x, k, mul(factor, value))
        found.append({p[k]: value for k, value in x.items()})
    return from_columns(n, found)


def _subtract(x: Column, i: int, less: Node) -> None:
    known = x.get(i)
    x[i] = neg(less) if known is None else sub(known, less)


def qr(A: SX) -> tuple[SX, SX]:
    """Q and R of A = Q R, by modified Gram-Schmidt."""
    n = A.shape[1]
    Q: list[Column] = []
    R: list[Column] = []
    for column in A.columns():
        rest, r = {i: node for i, node in column if node is not ZERO}, {}
        for k, q in enumerate(Q):
            along = _dot(q, rest)
            if along is not ZERO:
                r[k] = along
                for i, node in q.items():
                    _subtract(rest, i, mul(along, node))
        size = nodes.sqrt(_dot(rest, rest))
        r[len(Q)] = size
        Q.append({i: div(node, size) for i, node in rest.items() if node is not ZERO})
        R.append(r)
    return from_columns(A.shape[0], Q), from_columns(n, R)


def _dot(a: Column, b: Column) -> Node:
    total = ZERO
    for i in sorted(a):
        if i in b:
            total = add(total, mul(a[i], b[i]))
    return total


def solve(A: SX, b: SX) -> SX:
    """A⁻¹ b: block by block where A can be ordered so, by substitution where blocks are single entries, else by QR."""
    if A.shape[0] != A.shape[1] or A.shape[0] != b.shape[0]:
        raise ValueError(f"a matrix of {A.shape} and a right-hand side of {b.shape}")
    entries: dict[tuple[int, int], Node] = {
        (i, j): node for j, column in enumerate(A.columns()) for i, node in column if node is not ZERO
    }
    A = from_columns(A.shape[0], [{i: node for i, node in column if node is not ZERO} for column in A.columns()])
    rest = [{i: node for i, node in column if node is not ZERO} for column in b.columns()]
    found: list[Column] = [{} for _ in rest]
    by_row: list[list[int]] = [[] for _ in range(A.shape[0])]
    for i, j in entries:
        by_row[i].append(j)
    for rows, columns in A.sparsity().blocks():
        inside = set(columns)
        right: list[Column] = []
        for x, c in zip(found, rest, strict=True):
            here: Column = {}
            for at, i in enumerate(rows):
                value = c.get(i, ZERO)
                for j in sorted(by_row[i]):
                    if j not in inside and j in x:
                        value = sub(value, mul(entries[i, j], x[j]))
                if value is not ZERO:
                    here[at] = value
            right.append(here)
        for x, solved in zip(found, _of_block(rows, columns, entries, right), strict=True):
            x.update((columns[k], node) for k, node in solved.items())
    return from_columns(A.shape[0], found)


def _of_block(rows: list[int], columns: list[int], entries: dict, right: list[Column]) -> list[Column]:
    n = len(rows)
    if n == 1:
        pivot = entries.get((rows[0], columns[0]), ZERO)
        return [{0: div(b[0], pivot)} if b else {} for b in right]
    block = from_columns(
        n, [{i: entries[row, column] for i, row in enumerate(rows) if (row, column) in entries} for column in columns]
    )
    if n <= SMALL:
        inverse = _by_minors(block)
        return [dict(column) for column in (inverse @ from_columns(n, right)).columns()] if right else []
    Q, R = qr(block)
    turned = (Q.T @ from_columns(n, right)).columns()
    return [_upward(R, dict(column)) for column in turned]


def _upward(R: SX, x: Column) -> Column:
    """R⁻¹ x, R an upper triangle."""
    columns = R.columns()
    for j in range(len(columns) - 1, -1, -1):
        value = x.get(j)
        if value is None:
            continue
        above = dict(columns[j])
        x[j] = value = div(value, above.pop(j, ZERO))
        for i, node in above.items():
            _subtract(x, i, mul(node, value))
    return x


def inv(A: SX) -> SX:
    """The inverse."""
    return solve(A, SX.eye(A.shape[0]))


def _by_minors(A: SX) -> SX:
    """The inverse by minors and the determinant."""
    n = A.shape[0]
    over = nodes.inv(det(A).nodes[0])
    columns: list[Column] = [{} for _ in range(n)]
    for i in range(n):
        for j in range(n):
            others = A[[k for k in range(n) if k != j], [k for k in range(n) if k != i]]
            minor = det(others).nodes[0]
            if minor is not ZERO:
                columns[j][i] = mul(minor if (i + j) % 2 == 0 else neg(minor), over)
    return from_columns(n, columns)


def det(A: SX) -> SX:
    """The determinant, by expansion along rows: for a few of them."""
    n = A.shape[0]
    minors: dict[tuple[int, ...], Node] = {(): ONE}  # determinants of the rows so far, by the columns they use
    for i in range(n):
        larger: dict[tuple[int, ...], Node] = {}
        for used, minor in minors.items():
            for j in range(n):
                entry = A[i, j]
                if j in used or not entry.nnz() or entry.nodes[0] is ZERO:
                    continue
                key = tuple(sorted((*used, j)))
                term = mul(entry.nodes[0], minor)
                known = larger.get(key, ZERO)
                larger[key] = add(known, term) if (len(used) - key.index(j)) % 2 == 0 else sub(known, term)
        minors = larger
    return SX.scalar(minors.get(tuple(range(n)), ZERO))


# ---- lengths and sums -----------------------------------------------------------------------------------------------


def dot(a: SX, b: SX) -> SX:
    """The sum of products of two columns."""
    return SX.scalar(_total(a * b))


def row_sums(A: SX) -> SX:
    """The sum of each row."""
    total: Column = {}
    for column in A.columns():
        for i, node in column:
            known = total.get(i)
            total[i] = node if known is None else add(known, node)
    return from_columns(A.shape[0], [total])


def _total(A: SX) -> Node:
    total = ZERO
    for node in A.nodes:
        total = add(total, node)
    return total


def norm_2(a: SX) -> SX:
    """The length of a row or column."""
    return norm_fro(a)


def norm_fro(A: SX) -> SX:
    """The root of the sum of all squares."""
    return SX.scalar(nodes.sqrt(_total(each_entry(nodes.sq, A, keeps_zero=True))))


def norm_inf(a: SX) -> SX:
    """The largest absolute value."""
    largest, larger = ZERO, nodes.binary("fmax")
    for k, node in enumerate(a.nodes):
        size = nodes.fabs(node)
        largest = size if k == 0 else larger(largest, size)
    return SX.scalar(largest)
