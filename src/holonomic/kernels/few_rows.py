"""Eight fronts with few own rows, whatever touches them: loops over own rows, and over the width of a body, are written out.

The front is a triangle in room, row after row, as `front_groups` sums it. Own rows are eliminated together: what they take away
from an entry is computed at once, while factors of its row are in registers, and what is left goes where the next front finds it.
"""

from __future__ import annotations

from ..native.eight import eight, put
from ..native.marks import leaf
from ..native.written_out import entries, running, written_out

TOUCH = 11  # words, as in `front_groups`
MOST = 6  # own rows up to which they are written out


def own_rows(m, n, front, T, K, panel, pivots, left, eps):
    """Eliminate m of n rows."""
    f = c = inverse = entries()
    for p in range(m):
        for i in range(p, m):
            f[i, p] = eight(T, front + 8 * (i * (i + 1) // 2 + p))
            for q in range(p):
                f[i, p] = f[i, p] - c[i, q] * f[p, q]
        pivot = f[p, p] + eps
        inverse[p] = 1.0 / pivot
        put(T, pivots + 8 * p, pivot)
        put(K, panel + 8 * (p * n + p), inverse[p])
        for i in range(p + 1, m):
            c[i, p] = f[i, p] * inverse[p]
            put(K, panel + 8 * (p * n + i), c[i, p])
    to = left
    for i in running(m, n):
        row = front + 4 * i * (i + 1)
        for p in range(m):
            f[p] = eight(T, row + 8 * p)
            for q in range(p):
                f[p] = f[p] - c[q] * f[p, q]
            c[p] = f[p] * inverse[p]
            put(T, row + 8 * p, f[p])
            put(K, panel + 8 * (p * n + i), c[p])
        for j in running(m, i + 1):
            value = eight(T, row + 8 * j)
            for p in range(m):
                value = value - c[p] * eight(T, front + 4 * j * (j + 1) + 8 * p)
            put(T, to, value)
            to += 8


def products(width, program, at, nodes, T, front, W, G):
    """Add the products of all pairs of rows of G of a lump, W⁻¹ diagonal, to the front; at `at` are the words of its nodes."""
    u = entries()
    first = G
    for a in running(nodes):
        one = at + TOUCH * a
        here = program[one + 2]
        for i in running(program[one + 1]):
            for k in range(width):
                u[k] = eight(T, first + 8 * k) * eight(T, W + 8 * k)
            second, to = G, front + 4 * (here + i) * (here + i + 1)
            for b in running(a + 1):
                other = at + TOUCH * b
                there, rows = to + 8 * program[other + 2], program[other + 1]
                for j in running(i + 1 if a == b else rows):
                    total = eight(T, there + 8 * j)
                    for k in range(width):
                        total += u[k] * eight(T, second + 8 * k)
                    put(T, there + 8 * j, total)
                    second += 8 * width
            first += 8 * width


products_3, products_6 = written_out(products, 3, 6)
own_rows_1, own_rows_2, own_rows_3, own_rows_4, own_rows_5, own_rows_6 = written_out(own_rows, 1, 2, 3, 4, 5, 6)


@leaf
def eliminate_few(m, n, front, T, K, panel, pivots, left, eps):
    """Eliminate m of n rows, m up to `MOST`."""
    if m == 1:
        own_rows_1(n, front, T, K, panel, pivots, left, eps)
    elif m == 2:
        own_rows_2(n, front, T, K, panel, pivots, left, eps)
    elif m == 3:
        own_rows_3(n, front, T, K, panel, pivots, left, eps)
    elif m == 4:
        own_rows_4(n, front, T, K, panel, pivots, left, eps)
    elif m == 5:
        own_rows_5(n, front, T, K, panel, pivots, left, eps)
    else:
        own_rows_6(n, front, T, K, panel, pivots, left, eps)
