"""LU by fronts of Newton's matrix of tables, real or complex: pivots are looked for inside a front, the order of fronts is fixed.

With q eliminated, what is left of Newton's matrix are the rows of bodies and those of constraints,

    [ c M - f_v + K N    Gᵀ ] [ δv ]
    [     G + L N         0 ] [ δλ ],      K = ∂(M v' - f + Gᵀλ)/∂q,  L = ∂(G v)/∂q,  δq = N δv + ...

N = 1/c where q' = v. Variables are numbered: velocities body by body, then rows. A front is a small dense matrix of
the variables that it eliminates, its own, and of later ones that are coupled with them by then. It is summed from entries of the
linearized equations and from what earlier fronts left. `assembly.saddle_program` writes which; see `HEAD` for its words.

Rows change places inside a front alone. A pivot that cancels to a tiny part of what its diagonal was summed from is replaced
by `REPLACED` of that: a row eliminated too early, before all bodies that hold it, costs digits, not the run. What solutions are
worth is measured, and refinement gives the digits back, see `refined_fronts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native.marks import leaf, part

# own variables, all, place of their numbers, of entries, how many of them are constant in q, by q, by coordinates that turn,
# place of children, how many, place of the panel, place of what is left, place of the rows of N of the last entries
HEAD = 12
# an entry: what it is, row and column in the front, place in the linearized equations, all in one word
BITS, WIDEST = 14, 1 << 14
PLAIN, BY_SLOPE = 0, 1  # what: as it is, or times c
REPLACED = 1e-8
ENOUGH = 0.03  # of the largest entry of a column, beside those of its row, with which a diagonal entry stays the pivot


class SaddleProgram(NamedTuple):
    """The fronts, in the order of elimination: whole numbers that `assembly.saddle_program` writes."""

    heads: Any  # `HEAD` words each
    fronts: Any  # how many
    names: Any  # numbers of their variables
    entries: Any
    turns: Any  # row of N of each entry by a coordinate that turns
    children: Any  # what earlier fronts left to each


class Matrix(NamedTuple):
    """What Newton's matrix is summed from."""

    L: Any  # the linearized equations
    at: Any  # where in L they begin
    N: Any  # of coordinates that turn, row by row
    width: Any  # of its rows
    c: Any
    over: Any  # what entries by coordinates count times, where these are integrals of velocities: 1/c, if q' = v


class FactorRoom(NamedTuple):
    """Room to factor in."""

    X: Any  # a front
    left: Any  # what fronts leave
    parts: Any  # of each variable, sizes that its diagonal is summed from, zero at the beginning
    own: Any  # the same of each row of a front
    scales: Any  # of each row of a front, 1 / its largest entry


@leaf
def size_of(x):
    """|re| + |im|"""
    return abs(x.real) + abs(x.imag)


@leaf
def assemble(program, h, matrix, X, n):
    """Entries of one front."""
    heads, entries, turns = program.heads, program.entries, program.turns
    L, at_l, N, width, c, over = matrix
    for i in range(n * n):
        X[i] = 0.0
    at, plain, by_q, turning = heads[h + 3], heads[h + 4], heads[h + 5], heads[h + 6]
    for e in range(at, at + plain):
        word = entries[e]
        place = ((word >> (1 + BITS)) & (WIDEST - 1)) * n + ((word >> 1) & (WIDEST - 1))
        value = L[at_l + (word >> (1 + 2 * BITS))]
        if word & 1 == BY_SLOPE:
            X[place] += c * value
        else:
            X[place] += value
    for e in range(at + plain, at + plain + by_q):
        word = entries[e]
        place = ((word >> (1 + BITS)) & (WIDEST - 1)) * n + ((word >> 1) & (WIDEST - 1))
        X[place] += over * L[at_l + (word >> (1 + 2 * BITS))]
    at, row = at + plain + by_q, heads[h + 11]
    for e in range(turning):
        word = entries[at + e]
        place = ((word >> (1 + BITS)) & (WIDEST - 1)) * n + ((word >> 1) & (WIDEST - 1))
        value = L[at_l + (word >> (1 + 2 * BITS))]
        for k in range(width):
            X[place + k] += value * N[turns[row + e] * width + k]


@leaf
def add_children(program, h, X, n, left):
    """What earlier fronts left."""
    heads, children = program.heads, program.children
    at = heads[h + 7]
    for _ in range(heads[h + 8]):
        place, rows = children[at], children[at + 1]
        at += 2
        for i in range(rows):
            row = children[at + i] * n
            for j in range(rows):
                X[row + children[at + j]] += left[place + i * rows + j]
        at += rows


@part
def eliminate_front(room, m, n, names, at_names, P, at_pivots, nv, tiny, exchanging):
    """Eliminate the own variables of a front; return its smallest pivot ratio."""
    X, _, parts, own, scales = room
    least = 1.0
    for p in range(m):
        best, row = size_of(X[p * n + p]) * scales[p] / ENOUGH, p
        for i in range(p + 1, m if exchanging else 0):
            beside = size_of(X[i * n + p]) * scales[i]
            if beside > best:
                best, row = beside, i
        P[at_pivots + p] = row
        if row != p:
            for j in range(n):
                held = X[p * n + j]
                X[p * n + j] = X[row * n + j]
                X[row * n + j] = held
            scales[row], own[row], own[p] = scales[p], size_of(X[row * n + row]), size_of(X[p * n + p])
        pivot = X[p * n + p]
        if not size_of(pivot) >= least * own[p]:
            least = size_of(pivot) / own[p]
        if not size_of(pivot) > tiny * own[p]:
            enough = REPLACED * own[p] if own[p] > 0.0 else REPLACED / scales[p]
            pivot = X[p * n + p] * 0.0 + (enough if names[at_names + p] < nv else -enough)
            P[at_pivots + p] = row + 0.5  # a mark, which `substitute_fronts` does not see
            least = 0.0
        inverse = 1.0 / pivot
        X[p * n + p] = inverse
        for i in range(p + 1, n):
            factor = X[i * n + p]
            if size_of(factor) == 0.0:
                continue
            factor = factor * inverse
            X[i * n + p] = factor
            for j in range(p + 1, n):
                X[i * n + j] -= factor * X[p * n + j]
            if i < m:
                own[i] += size_of(factor * X[p * n + i])
            else:
                parts[names[at_names + i]] += size_of(factor * X[p * n + i])
    return least


@leaf
def factor_fronts(program, matrix, P, room, nv, tiny, exchanging):
    """Factor into the panels P; return the smallest pivot beside what its diagonal was summed from, 0 where one was replaced.

    The first `nv` variables are velocities; `tiny` is by what pivots are told that have cancelled. `exchanging`: rows change
    places; they must not where pivots are to tell which rows repeat others: what an exchanged one was summed from is not known.
    """
    heads, names = program.heads, program.names
    X, left, parts, own, scales = room
    least = 1.0
    for k in range(program.fronts):
        h = HEAD * k
        m, n, at_names, panel = heads[h], heads[h + 1], heads[h + 2], heads[h + 9]
        assemble(program, h, matrix, X, n)
        for i in range(m):
            own[i] = size_of(X[i * n + i])
        add_children(program, h, X, n, left)
        for i in range(m):
            own[i] += parts[names[at_names + i]]
            largest = 0.0
            for j in range(n):
                largest = max(largest, size_of(X[i * n + j]))
            scales[i] = 1.0 / largest if largest > 0.0 else 1.0
        at_pivots = panel + m * n + (n - m) * m
        if m == 5 and n == 8:  # a planar body on a pin: the numbers of its loops are known when this is compiled
            ratio = eliminate_front(room, 5, 8, names, at_names, P, at_pivots, nv, tiny, exchanging)
        elif m == 9 and n == 15:  # a body in space on a ball
            ratio = eliminate_front(room, 9, 15, names, at_names, P, at_pivots, nv, tiny, exchanging)
        else:
            ratio = eliminate_front(room, m, n, names, at_names, P, at_pivots, nv, tiny, exchanging)
        if not ratio >= least:
            least = ratio
        for i in range(m * n):
            P[panel + i] = X[i]
        rest, below = n - m, panel + m * n
        for i in range(rest):
            for p in range(m):
                P[below + i * m + p] = X[(m + i) * n + p]
        at_left = heads[h + 10]
        for i in range(rest):
            for j in range(rest):
                left[at_left + i * rest + j] = X[(m + i) * n + m + j]
    return least


@part
def forward_front(P, panel, below, y, m, n):
    """y <- L⁻¹ y"""
    for i in range(1, m):
        total = y[i]
        for p in range(i):
            total -= P[panel + i * n + p] * y[p]
        y[i] = total
    for i in range(n - m):
        total = y[m + i]
        for p in range(m):
            total -= P[below + i * m + p] * y[p]
        y[m + i] = total


@part
def backward_front(P, panel, y, m, n):
    """y <- U⁻¹ y; what was found last is taken off last, so that the rest does not wait for it"""
    for p in range(m - 1, -1, -1):
        total = y[p]
        for j in range(n - 1, p, -1):
            total -= P[panel + p * n + j] * y[j]
        y[p] = total * P[panel + p * n + p]


@leaf
def substitute_fronts(program, P, z, y):
    """z <- A⁻¹ z, with room for the variables of one front."""
    heads, fronts, names = program.heads, program.fronts, program.names
    for k in range(fronts):
        h = HEAD * k
        m, n, at, panel = heads[h], heads[h + 1], heads[h + 2], heads[h + 9]
        at_pivots, below = panel + m * n + (n - m) * m, panel + m * n
        for i in range(n):
            y[i] = z[names[at + i]]
        for p in range(m):
            row = int(P[at_pivots + p].real)
            if row != p:
                held = y[p]
                y[p] = y[row]
                y[row] = held
        if m == 5 and n == 8:  # as in `factor_fronts`
            forward_front(P, panel, below, y, 5, 8)
        elif m == 9 and n == 15:
            forward_front(P, panel, below, y, 9, 15)
        else:
            forward_front(P, panel, below, y, m, n)
        for i in range(n):
            z[names[at + i]] = y[i]
    for k in range(fronts - 1, -1, -1):
        h = HEAD * k
        m, n, at, panel = heads[h], heads[h + 1], heads[h + 2], heads[h + 9]
        for i in range(n):
            y[i] = z[names[at + i]]
        if m == 5 and n == 8:
            backward_front(P, panel, y, 5, 8)
        elif m == 9 and n == 15:
            backward_front(P, panel, y, 9, 15)
        else:
            backward_front(P, panel, y, m, n)
        for p in range(m):
            z[names[at + p]] = y[p]


@leaf
def take_product(program, matrix, x, r, sizes):
    """r -= A x; sizes += |A| |x|"""
    heads, names, entries, turns = program.heads, program.names, program.entries, program.turns
    L, at_l, N, width, c, over = matrix
    for k in range(program.fronts):
        h = HEAD * k
        at_names, at, plain, by_q, turning = heads[h + 2], heads[h + 3], heads[h + 4], heads[h + 5], heads[h + 6]
        for e in range(at, at + plain + by_q):
            word = entries[e]
            row, column = (names[at_names + ((word >> (1 + BITS)) & (WIDEST - 1))], names[at_names + ((word >> 1) & (WIDEST - 1))])
            part = L[at_l + (word >> (1 + 2 * BITS))] * x[column]
            if e >= at + plain:
                part = part * over
            elif word & 1 == BY_SLOPE:
                part = part * c
            r[row] -= part
            sizes[row] += size_of(part)
        at, rows = at + plain + by_q, heads[h + 11]
        for e in range(turning):
            word = entries[at + e]
            row, column = (names[at_names + ((word >> (1 + BITS)) & (WIDEST - 1))], names[at_names + ((word >> 1) & (WIDEST - 1))])
            part = x[column] * 0.0
            for j in range(width):
                part += N[turns[rows + e] * width + j] * x[column + j]
            part = part * L[at_l + (word >> (1 + 2 * BITS))]
            r[row] -= part
            sizes[row] += size_of(part)


@leaf
def take_coordinates(program, matrix, s, turned, z):
    """z -= K s and L s: what coordinates bring, s by velocities where q' = v, `turned` elsewhere."""
    heads, names, entries, turns = program.heads, program.names, program.entries, program.turns
    L, at_l = matrix.L, matrix.at
    for k in range(program.fronts):
        h = HEAD * k
        at_names, by_q, turning = heads[h + 2], heads[h + 5], heads[h + 6]
        at = heads[h + 3] + heads[h + 4]
        for e in range(at, at + by_q):
            word = entries[e]
            row, column = (names[at_names + ((word >> (1 + BITS)) & (WIDEST - 1))], names[at_names + ((word >> 1) & (WIDEST - 1))])
            z[row] -= L[at_l + (word >> (1 + 2 * BITS))] * s[column]
        at, rows = at + by_q, heads[h + 11]
        for e in range(turning):
            word = entries[at + e]
            row = names[at_names + ((word >> (1 + BITS)) & (WIDEST - 1))]
            z[row] -= L[at_l + (word >> (1 + 2 * BITS))] * turned[turns[rows + e]]


@leaf
def row_gradients(program, L, nv, lengths):
    """lengths += the squares of entries of rows of constraints, by q and by v."""
    heads, names, entries = program.heads, program.names, program.entries
    for k in range(program.fronts):
        h = HEAD * k
        at_names, at = heads[h + 2], heads[h + 3]
        for e in range(at, at + heads[h + 4] + heads[h + 5] + heads[h + 6]):
            word = entries[e]
            row = names[at_names + ((word >> (1 + BITS)) & (WIDEST - 1))]
            if row >= nv:
                lengths[row] += L[word >> (1 + 2 * BITS)] ** 2
