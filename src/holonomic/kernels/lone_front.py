"""A large front, always by itself: eight numbers of one row at once, where `front_groups` takes eight fronts.

The words of the program are those of a group, of whose eight places the first counts. The panel has one row of numbers for each
pivot, filled up to a multiple of eight. What it leaves stands number after number where it is large, so that it goes to another
large front, and else, as its sides do, like what a group's first front leaves. Four pivots are taken away from the rest of the
front at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native.eight import eight, put, spread
from ..native.marks import leaf

ALONE = 32  # rows from which on a front is large
BLOCK = 4
LUMP, TOUCH, CHILD = 11, 11, 17  # words, as in `front_groups`


class LoneFront(NamedTuple):
    """A factored front."""

    m: Any  # own rows
    n: Any  # all rows
    names: Any  # where the program has the places of rows
    panel: Any  # place of its numbers in K
    side: Any  # place of its right hand side


@leaf
def first_place(program, at):
    """The first of eight places."""
    return program[at] if program[at] >= 0 else ~program[at]


@leaf
def sum_front(program, at, n, lumps, children, K, T, at_front, at_left):
    """Add lumps, and what earlier fronts left; return where the program goes on."""
    wide = (n + 7) // 8 * 8
    for i in range(0, n * wide, 8):
        put(T, at_front + i, 0.0)
    for _ in range(lumps):
        width, full, nodes, weights = program[at], program[at + 1], program[at + 2], first_place(program, at + 3)
        at += LUMP
        for a in range(nodes):
            one = at + TOUCH * a
            G, stride, here = first_place(program, one + 3), program[one], program[one + 2]
            for i in range(program[one + 1]):
                for k in range(width):
                    weighed = 0.0
                    if full == 0:
                        weighed = K[G + 8 * (i * stride + k)] * K[weights + 8 * k]
                    else:
                        for c in range(width):
                            weighed += K[G + 8 * (i * stride + c)] * K[weights + 8 * (c * width + k)]
                    for b in range(a + 1):
                        other = at + TOUCH * b
                        H, step, there = first_place(program, other + 3), program[other], program[other + 2]
                        for j in range(i + 1 if a == b else program[other + 1]):
                            T[at_front + (here + i) * wide + there + j] += weighed * K[H + 8 * (j * step + k)]
        at += TOUCH * nodes
    for _ in range(children):
        rows, left = program[at], at_left + first_place(program, at + 1)
        step = 1 if rows >= ALONE else 8
        at += CHILD
        for i in range(rows):
            here = program[at + i]
            for j in range(i + 1):
                there = program[at + j]
                T[at_front + max(here, there) * wide + min(here, there)] += T[left]
                left += step
        at += rows
    return at


@leaf
def factor_front(m, n, panel, left, K, T, at_front, at_block, eps):
    """Eliminate the first m rows; the pivots stay on the front's diagonal."""
    wide = (n + 7) // 8 * 8
    for p in range(0, m, BLOCK):
        end = min(m, p + BLOCK)
        for k in range(BLOCK * wide):
            T[at_block + k] = 0.0
        for q in range(p, end):
            column, own = at_block + (q - p) * wide, panel + q * wide
            pivot = T[at_front + q * wide + q] + eps
            T[at_front + q * wide + q] = pivot
            inverse = 1.0 / pivot
            for i in range(wide):
                K[own + i] = 0.0
            K[own + q] = inverse
            for i in range(q + 1, n):
                value = T[at_front + i * wide + q]
                T[column + i] = value
                K[own + i] = value * inverse
            for other in range(q + 1, end):
                factor = T[column + other]
                for i in range(other, n):
                    T[at_front + i * wide + other] -= K[own + i] * factor
        first, own = end // 8 * 8, panel + p * wide  # columns that are done may be changed: nobody reads them again
        for i in range(end, n, 2):
            one, other = at_front + i * wide, at_front + min(i + 1, n - 1) * wide
            a, b, last = own + i, own + min(i + 1, n - 1), min(i + 2, n)
            f0, g0, f1, g1, f2, g2, f3, g3 = K[a], K[b], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            if end > p + 1:
                f1, g1 = K[a + wide], K[b + wide]
            if end > p + 2:
                f2, g2 = K[a + 2 * wide], K[b + 2 * wide]
            if end > p + 3:
                f3, g3 = K[a + 3 * wide], K[b + 3 * wide]
            if i + 1 == n:  # the last row alone, not twice
                g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0
            for j in range(first, last, 8):
                c0, c1 = eight(T, at_block + j), eight(T, at_block + wide + j)
                c2, c3 = eight(T, at_block + 2 * wide + j), eight(T, at_block + 3 * wide + j)
                top = eight(T, one + j) - c0 * f0 - c1 * f1 - c2 * f2 - c3 * f3
                low = eight(T, other + j) - c0 * g0 - c1 * g1 - c2 * g2 - c3 * g3
                put(T, other + j, low)
                put(T, one + j, top)
    to, step = left, 1 if n - m >= ALONE else 8
    for i in range(m, n):
        for j in range(m, i + 1):
            T[to] = T[at_front + i * wide + j]
            to += step


@leaf
def forward(program, front, at, children, K, T, at_r, at_block, at_sides):
    """The first half of a solution; `at` is where the children are."""
    m, n, names, panel, side = front
    wide = (n + 7) // 8 * 8
    y = at_block
    for i in range(wide):
        T[y + i] = T[at_r + first_place(program, names + 8 * i)] if i < m else 0.0
    for _ in range(children):
        rows, given = program[at], at_sides + first_place(program, at + 9)
        at += CHILD
        for i in range(rows):
            T[y + program[at + i]] += T[given + 8 * i]
        at += rows
    for p in range(m):
        value, own = T[y + p], panel + p * wide
        start = min(n, (p + 8) // 8 * 8)
        for i in range(p + 1, start):
            T[y + i] -= K[own + i] * value
        for i in range(start, n, 8):
            put(T, y + i, eight(T, y + i) - eight(K, own + i) * value)
    for i in range(n):
        T[side + 8 * i] = T[y + i]


@leaf
def backward(program, front, K, T, at_r, at_block):
    """The second half."""
    m, n, names, panel, side = front
    wide = (n + 7) // 8 * 8
    x = at_block
    for i in range(m, n):
        T[x + i] = T[at_r + first_place(program, names + 8 * i)]
    for i in range(n, wide):
        T[x + i] = 0.0
    for p in range(m - 1, -1, -1):
        own = panel + p * wide
        value = T[side + 8 * p] * K[own + p]
        start = min(n, (p + 8) // 8 * 8)
        for i in range(p + 1, start):
            value -= K[own + i] * T[x + i]
        total = spread(0.0)
        for i in range(start, n, 8):
            total += eight(K, own + i) * eight(T, x + i)
        put(T, x + wide, total)
        for i in range(8):
            value -= T[x + wide + i]
        T[x + p] = value
        T[at_r + first_place(program, names + 8 * p)] = value
