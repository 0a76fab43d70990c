"""Eight fronts of a joint between two neighbours, as links of a chain make them, with loops written out.

All of their rows are m own ones, m of the one neighbour, m of the other. What is summed is two *edges*, of the joint and one
neighbour each: a lump that touches both, or what an earlier front left of them; an edge is a triangle of 2 m rows, number after
number. The neighbours are coupled by this elimination alone.
"""

from __future__ import annotations

from ..native.eight import collect, distribute, eight, put
from ..native.marks import leaf
from ..native.written_out import entries, written_out

HEAD, LUMP, TOUCH, CHILD = 9, 11, 11, 17  # words, as in `front_groups`


@leaf
def width_of(m):
    """Velocities of a body whose joints have so many rows, of those that are written out: pins, balls, hinges."""
    return 3 if m == 2 else 6


@leaf
def link_height(words, head):
    """Own rows of a group of such fronts, as its words tell; 0: they are others."""
    m, n, lumps, children = words[head], words[head + 1], words[head + 3], words[head + 4]
    if n != 3 * m or (m != 2 and m != 3 and m != 5) or lumps + children != 2:
        return 0
    at, sides = head + HEAD + 8 * n, 0
    for k in range(2):
        if k < lumps:
            second = at + LUMP + TOUCH
            if words[at] != width_of(m) or words[at + 1] != 0 or words[at + 2] != 2:
                return 0
            if words[at + LUMP + 1] != m or words[second + 1] != m or words[at + LUMP + 2] != 0:
                return 0
            side = words[second + 2]
            at = second + TOUCH
        else:
            if words[at] != 2 * m:
                return 0
            at += CHILD
            side = words[at + m]
            for i in range(m):
                if words[at + i] != i or words[at + m + i] != side + i:
                    return 0
            at += 2 * m
        if side != m and side != 2 * m:
            return 0
        sides += side
    return m if sides == 3 * m else 0


def edge(m, width, x, W, G, G_step, H, H_step, T, to):
    """The triangle of (G, H) W⁻¹ (G, H)ᵀ, W⁻¹ diagonal."""
    w = g = u = h = entries()
    for k in range(width):
        w[k] = eight(x, W + 8 * k)
    for i in range(m):
        for k in range(width):
            g[i, k] = eight(x, G + 8 * (i * G_step + k))
            u[k] = g[i, k] * w[k]
        for j in range(i + 1):
            total = u[0] * g[j, 0]
            for k in range(1, width):
                total += u[k] * g[j, k]
            put(T, to + 8 * (i * (i + 1) // 2 + j), total)
    for i in range(m):
        row = (m + i) * (m + i + 1) // 2
        for k in range(width):
            h[i, k] = eight(x, H + 8 * (i * H_step + k))
            u[k] = h[i, k] * w[k]
        for j in range(m):
            total = u[0] * g[j, 0]
            for k in range(1, width):
                total += u[k] * g[j, k]
            put(T, to + 8 * (row + j), total)
        for j in range(i + 1):
            total = u[0] * h[j, 0]
            for k in range(1, width):
                total += u[k] * h[j, k]
            put(T, to + 8 * (row + m + j), total)


def eliminated(m, one, two, T, K, panel, pivots, left, eps):
    """Sum two edges and eliminate the rows of the joint."""
    f = c = entries()
    n = 3 * m
    for i in range(m):
        for j in range(i + 1):
            place = 8 * (i * (i + 1) // 2 + j)
            f[i, j] = eight(T, one + place) + eight(T, two + place)
    for i in range(m, 2 * m):
        for j in range(i + 1):
            place = 8 * (i * (i + 1) // 2 + j)
            other = j if j < m else m + j
            f[i, j] = eight(T, one + place)
            f[m + i, other] = eight(T, two + place)
    for p in range(m):
        pivot = f[p, p] + eps
        inverse = 1.0 / pivot
        put(T, pivots + 8 * p, pivot)
        put(K, panel + 8 * (p * n + p), inverse)
        for i in range(p + 1, n):
            c[i] = f[i, p] * inverse
            put(K, panel + 8 * (p * n + i), c[i])
        for i in range(p + 1, n):
            for j in range(p + 1, i + 1):
                if p == 0 and i >= 2 * m and m <= j and j < 2 * m:
                    f[i, j] = 0.0 - c[i] * f[j, p]
                else:
                    f[i, j] = f[i, j] - c[i] * f[j, p]
    for i in range(m, n):
        for j in range(m, i + 1):
            put(T, left + 8 * ((i - m) * (i - m + 1) // 2 + j - m), f[i, j])


def forward(m, children, own, one, two, T, K, panel, side):
    """The first half of a solution: the joint's rows, and what the right hand sides of its neighbours get of them."""
    y = entries()
    n = 3 * m
    for i in range(m):
        y[i] = eight(T, own + 8 * i)
        if children:
            y[i] = y[i] + eight(T, one + 8 * i) + eight(T, two + 8 * i)
            y[m + i] = eight(T, one + 8 * (m + i))
            y[2 * m + i] = eight(T, two + 8 * (m + i))
    for p in range(m):
        put(T, side + 8 * p, y[p])
        for i in range(p + 1, n):
            if p > 0 or i < m or children:
                y[i] = y[i] - eight(K, panel + 8 * (p * n + i)) * y[p]
            else:
                y[i] = 0.0 - eight(K, panel + 8 * (p * n + i)) * y[p]
    for i in range(m, n):
        put(T, side + 8 * i, y[i])


def backward(m, one, two, T, K, panel, side, own):
    """The second half."""
    x = entries()
    n = 3 * m
    for i in range(m):
        x[m + i] = eight(T, one + 8 * i)
        x[2 * m + i] = eight(T, two + 8 * i)
    for q in range(m):
        p = m - 1 - q
        value = eight(T, side + 8 * p) * eight(K, panel + 8 * (p * n + p))
        for i in range(p + 1, n):
            value -= eight(K, panel + 8 * (p * n + i)) * x[i]
        x[p] = value
    for i in range(m):
        put(T, own + 8 * i, x[i])


edge_2, edge_3, edge_5 = written_out(edge, (2, 3), (3, 6), (5, 6))
eliminated_2, eliminated_3, eliminated_5 = written_out(eliminated, 2, 3, 5)
forward_2, forward_3, forward_5 = written_out(forward, (2, 0), (3, 0), (5, 0))
forward_2_of_fronts, forward_3_of_fronts, forward_5_of_fronts = written_out(forward, (2, 1), (3, 1), (5, 1))
backward_2, backward_3, backward_5 = written_out(backward, 2, 3, 5)


@leaf
def edge_of(program, at, m, K, T, at_block, to):
    """The edge of a lump."""
    one, other = at + LUMP, at + LUMP + TOUCH
    G_step, H_step = program[one], program[other]
    if program[at + 3] < 0 and program[one + 3] < 0 and program[other + 3] < 0:
        W, G, H = ~program[at + 3], ~program[one + 3], ~program[other + 3]
        if m == 2:
            edge_2(K, W, G, G_step, H, H_step, T, to)
        elif m == 3:
            edge_3(K, W, G, G_step, H, H_step, T, to)
        else:
            edge_5(K, W, G, G_step, H, H_step, T, to)
        return 0
    width = width_of(m)
    collect(K, program, at + 3, 0, width, T, at_block)
    G = at_block + 8 * width
    for i in range(m):
        collect(K, program, one + 3, 8 * i * G_step, width, T, G + 8 * i * width)
        collect(K, program, other + 3, 8 * i * H_step, width, T, G + 8 * (m + i) * width)
    if m == 2:
        edge_2(T, at_block, G, width, G + 8 * m * width, width, T, to)
    elif m == 3:
        edge_3(T, at_block, G, width, G + 8 * m * width, width, T, to)
    else:
        edge_5(T, at_block, G, width, G + 8 * m * width, width, T, to)
    return 0


@leaf
def eliminate_link(program, at, head, K, T, at_front, at_block, at_left, eps):
    """Factor eight links; return where the program goes on. The pivots are left where fronts are."""
    m, lumps, children, panel, left = program[head], program[head + 3], program[head + 4], program[head + 5], program[head + 6]
    one = two = at_front + 8 * m
    size = 8 * m * (2 * m + 1)
    free = one
    for k in range(lumps + children):
        if k < lumps:
            edge_of(program, at, m, K, T, at_block, free)
            first = program[at + LUMP + TOUCH + 2] == m
            given, free = free, free + size
            at += LUMP + 2 * TOUCH
        else:
            if program[at + 1] < 0:
                given = at_left + ~program[at + 1]
            else:
                collect(T, program, at + 1, at_left, m * (2 * m + 1), T, free)
                given, free = free, free + size
            first = program[at + CHILD + m] == m
            at += CHILD + 2 * m
        if first:
            one = given
        else:
            two = given
    if m == 2:
        eliminated_2(one, two, T, K, panel, at_front, at_left + left, eps)
    elif m == 3:
        eliminated_3(one, two, T, K, panel, at_front, at_left + left, eps)
    else:
        eliminated_5(one, two, T, K, panel, at_front, at_left + left, eps)
    return at


@leaf
def rows_of_node(program, names, m, T, at_r, room):
    """Where the numbers of a joint's rows stand, eight by eight; they are collected where they do not."""
    if program[names] < 0:
        return at_r + ~program[names]
    for i in range(m):
        collect(T, program, names + 8 * i, at_r, 1, T, room + 8 * i)
    return room


@leaf
def links_forward(program, head, K, T, at_r, at_block, at_sides):
    """The first half of a solution for eight links."""
    m, lumps, children, panel = program[head], program[head + 3], program[head + 4], program[head + 5]
    names, side = head + HEAD, at_sides + program[head + 7]
    own = rows_of_node(program, names, m, T, at_r, at_block)
    free = at_block + 8 * m
    one = two = free
    if children > 0:
        if children == 1:
            for i in range(2 * m):
                put(T, free + 8 * i, 0.0)
            free += 16 * m
        at = names + 24 * m + (LUMP + 2 * TOUCH) * lumps
        for _ in range(children):
            if program[at + 9] < 0:
                given = at_sides + ~program[at + 9]
            else:
                collect(T, program, at + 9, at_sides, 2 * m, T, free)
                given, free = free, free + 16 * m
            at += CHILD
            if program[at + m] == m:
                one = given
            else:
                two = given
            at += 2 * m
        if m == 2:
            forward_2_of_fronts(own, one, two, T, K, panel, side)
        elif m == 3:
            forward_3_of_fronts(own, one, two, T, K, panel, side)
        else:
            forward_5_of_fronts(own, one, two, T, K, panel, side)
    elif m == 2:
        forward_2(own, one, two, T, K, panel, side)
    elif m == 3:
        forward_3(own, one, two, T, K, panel, side)
    else:
        forward_5(own, one, two, T, K, panel, side)
    return 0


@leaf
def links_backward(program, head, K, T, at_r, at_block, at_sides):
    """The second half."""
    m, count, panel = program[head], program[head + 2], program[head + 5]
    names, side = head + HEAD, at_sides + program[head + 7]
    one = rows_of_node(program, names + 8 * m, m, T, at_r, at_block)
    two = rows_of_node(program, names + 16 * m, m, T, at_r, at_block + 8 * m)
    whole = count == 8 and program[names] < 0
    own = at_r + ~program[names] if whole else at_block + 16 * m
    if m == 2:
        backward_2(one, two, T, K, panel, side, own)
    elif m == 3:
        backward_3(one, two, T, K, panel, side, own)
    else:
        backward_5(one, two, T, K, panel, side, own)
    if not whole:
        for i in range(m):
            distribute(T, program, names + 8 * i, at_r, 1, T, own + 8 * i, count)
    return 0
