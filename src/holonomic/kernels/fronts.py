"""Elimination by fronts: factors of S = G W⁻¹ Gᵀ + ε, blocks found once, numbers at every call.

Rows come in nodes (the rows of one joint), columns in lumps (the velocities of one body). A lump adds G_i W⁻¹ G_jᵀ to all pairs
of nodes that touch it. A node is eliminated in a front: a small dense matrix of its own rows and of the later rows that are
coupled with them by then, summed from lumps that nobody has added before, and from what earlier fronts left. Order, places and
who adds what are the program, integers that `assembly.elimination` writes; see `FRONT`, `LUMP` and `CHILD` for its words.

ρ is the smallest pivot beside the diagonal of S that it started from: without care for roundoff digits are lost as 1/ρ. ε, one
number for all rows, keeps pivots of rows that repeat others away from zero.
"""

from __future__ import annotations

from ..native.marks import leaf

FRONT = 7  # own rows, all rows, lumps, children, place of the panel, place of what is left, class; then the numbers of all rows
ANY, LINK = 0, 1  # classes: any front; a pin in the plane, between one body that is new and at most one front before it
LUMP = 4  # place of W⁻¹, width, whether it is a full matrix, nodes; then of each node: place of G, stride, rows, place in the front
TINY = 1e-9  # pivot beside its diagonal, below which a row counts as one that repeats others; they leave 1e-12 or less
SEVERAL = 1e3  # a row that is a sum of others with factors c has a pivot of ε (1 + c²)
CHILD = 2  # place of what it left, rows; then the place of each in this front


@leaf
def eliminate(program, fronts, K, T, at_front, at_row, at_diagonal, rows, eps):
    """Factor S into the panels in K; return ρ of pivots above `TINY`, and how many are not.

    K has G and W⁻¹ where the program says, T is room: the front, a row of G W⁻¹, the diagonal, and what fronts leave.
    """
    for i in range(rows):
        T[at_diagonal + i] = 0.0
    least, tiny, at = 1.0, 0, 0
    for _ in range(fronts):
        m, n, lumps, children = program[at], program[at + 1], program[at + 2], program[at + 3]
        panel, left, class_, names = program[at + 4], program[at + 5], program[at + 6], at + FRONT
        at = names + n
        if class_ == LINK:
            ratio = _link(program, names, children, panel, left, K, T, at_diagonal, eps)
            at += LUMP + 8 + (CHILD + 2) * children
            if ratio < TINY:
                tiny += 1
            elif not ratio >= least:
                least = ratio
            continue
        for i in range(n):
            for j in range(i + 1):
                T[at_front + i * n + j] = 0.0
        for _ in range(lumps):
            at = _add_lump(program, at, names, K, T, at_front, at_row, at_diagonal, n)
        for _ in range(children):
            at = _add_child(program, at, T, at_front, n)
        for p in range(m):
            before = T[at_diagonal + program[names + p]]
            d = T[at_front + p * n + p] + eps
            ratio = (d - SEVERAL * eps) / before
            if ratio < TINY:
                tiny += 1
            elif not ratio >= least:  # NaN is kept
                least = ratio
            inverse, own = 1.0 / d, panel + p * n
            K[own + p] = inverse
            for i in range(p + 1, n):
                K[own + i] = T[at_front + i * n + p] * inverse
            for i in range(p + 1, n):
                factor, row = K[own + i], at_front + i * n
                for j in range(p + 1, i + 1):
                    T[row + j] -= factor * T[at_front + j * n + p]
        rest = n - m
        for i in range(rest):
            for j in range(i + 1):
                T[left + i * rest + j] = T[at_front + (m + i) * n + m + j]
    return least, tiny


@leaf
def _link(program, names, children, panel, left, K, T, at_diagonal, eps):
    """The whole of a front of class LINK, whose numbers stay in registers; return its smaller pivot ratio."""
    at = names + 4
    weights, here, there, stride, step = program[at], program[at + 4], program[at + 8], program[at + 5], program[at + 9]
    x, y, z = K[weights], K[weights + 1], K[weights + 2]
    a0, a1, a2 = K[here], K[here + 1], K[here + 2]
    b0, b1, b2 = K[here + stride], K[here + stride + 1], K[here + stride + 2]
    c0, c1, c2 = K[there], K[there + 1], K[there + 2]
    d0, d1, d2 = K[there + step], K[there + step + 1], K[there + step + 2]
    s00 = a0 * x * a0 + a1 * y * a1 + a2 * z * a2
    s11 = b0 * x * b0 + b1 * y * b1 + b2 * z * b2
    s22 = c0 * x * c0 + c1 * y * c1 + c2 * z * c2
    s33 = d0 * x * d0 + d1 * y * d1 + d2 * z * d2
    s10 = b0 * x * a0 + b1 * y * a1 + b2 * z * a2
    s20 = c0 * x * a0 + c1 * y * a1 + c2 * z * a2
    s21 = c0 * x * b0 + c1 * y * b1 + c2 * z * b2
    s30 = d0 * x * a0 + d1 * y * a1 + d2 * z * a2
    s31 = d0 * x * b0 + d1 * y * b1 + d2 * z * b2
    s32 = d0 * x * c0 + d1 * y * c1 + d2 * z * c2
    own, next_ = at_diagonal + program[names], at_diagonal + program[names + 1]
    T[own] += s00
    T[next_] += s11
    T[at_diagonal + program[names + 2]] += s22
    T[at_diagonal + program[names + 3]] += s33
    if children > 0:
        child = program[at + LUMP + 8]
        s00 += T[child]
        s10 += T[child + 2]
        s11 += T[child + 3]
    p0 = s00 + eps
    i0 = 1.0 / p0
    l1, l2, l3 = s10 * i0, s20 * i0, s30 * i0
    p1 = s11 - l1 * s10 + eps
    i1 = 1.0 / p1
    e2, e3 = s21 - l2 * s10, s31 - l3 * s10
    m2, m3 = e2 * i1, e3 * i1
    K[panel], K[panel + 1], K[panel + 2], K[panel + 3] = i0, l1, l2, l3
    K[panel + 5], K[panel + 6], K[panel + 7] = i1, m2, m3
    T[left] = s22 - l2 * s20 - m2 * e2
    T[left + 2] = s32 - l3 * s20 - m3 * e2
    T[left + 3] = s33 - l3 * s30 - m3 * e3
    first, second = (p0 - SEVERAL * eps) / T[own], (p1 - SEVERAL * eps) / T[next_]
    return first if not second <= first else second


@leaf
def _add_lump(program, at, names, K, T, at_front, at_row, at_diagonal, n):
    """Add G_i W⁻¹ G_jᵀ of one lump to a front; return where the program goes on."""
    weights, width, full, nodes = program[at], program[at + 1], program[at + 2], program[at + 3]
    at += LUMP
    for a in range(nodes):
        one = at + 4 * a
        G, stride, rows, here = program[one], program[one + 1], program[one + 2], program[one + 3]
        for i in range(rows):
            row = G + i * stride
            for k in range(width):
                if full == 0:
                    T[at_row + k] = K[row + k] * K[weights + k]
                else:
                    total = 0.0
                    for c in range(width):
                        total += K[row + c] * K[weights + c * width + k]
                    T[at_row + k] = total
            for b in range(a + 1):
                other = at + 4 * b
                H, step, more, there = program[other], program[other + 1], program[other + 2], program[other + 3]
                last = i + 1 if a == b else more
                for j in range(last):
                    total = 0.0
                    for k in range(width):
                        total += T[at_row + k] * K[H + j * step + k]
                    T[at_front + (here + i) * n + there + j] += total
                    if a == b and j == i:
                        T[at_diagonal + program[names + here + i]] += total
    return at + 4 * nodes


@leaf
def _add_child(program, at, T, at_front, n):
    """Add what an earlier front left; return where the program goes on."""
    left, rows = program[at], program[at + 1]
    at += CHILD
    for i in range(rows):
        here = program[at + i]
        for j in range(i + 1):
            there = program[at + j]
            value = T[left + i * rows + j]
            if here >= there:
                T[at_front + here * n + there] += value
            else:
                T[at_front + there * n + here] += value
    return at + rows


@leaf
def substitute(program, order, fronts, K, r, at_r):
    """r <- S⁻¹ r with the panels in K; `order` has the place of every front in the program."""
    for k in range(fronts):
        at = order[k]
        m, n, panel, names = program[at], program[at + 1], program[at + 4], at + FRONT
        for p in range(m):
            value, own = r[at_r + program[names + p]], panel + p * n
            for i in range(p + 1, n):
                r[at_r + program[names + i]] -= K[own + i] * value
    for k in range(fronts - 1, -1, -1):
        at = order[k]
        m, n, panel, names = program[at], program[at + 1], program[at + 4], at + FRONT
        for p in range(m - 1, -1, -1):
            own = panel + p * n
            value = r[at_r + program[names + p]] * K[own + p]
            for i in range(p + 1, n):
                value -= K[own + i] * r[at_r + program[names + i]]
            r[at_r + program[names + p]] = value
