"""Eight fronts of a joint between two neighbours, as links of a chain make them, with loops written out.

All of their rows are m own ones, m of the one neighbour, m of the other. What is summed is two *edges*, of the joint and one
neighbour each: a lump that touches both, or what an earlier front left of them; an edge is a triangle of 2 m rows, number after
number. The neighbours are coupled by this elimination alone. At the *end* of a chain there is one neighbour: the second edge is
what an earlier front left of the joint's own rows, a triangle of m.

Where the eight numbers of all that is read and written stand side by side, the words of a group are few; see `JOINED`.
"""

from __future__ import annotations

from ..native.eight import collect, distribute, eight, put
from ..native.marks import leaf
from ..native.written_out import entries, written_out

HEAD, LUMP, TOUCH, CHILD = 9, 11, 11, 17  # words, as in `front_groups`
# Words of a group where everything stands side by side, behind its head: places of the rows of the joint, of the one neighbour, of
# the other; then of the edges with the one and the other: 0, places of W⁻¹, of G and its step, of H and its step, of a lump, or 1,
# places of what an earlier group left and of its sides. The head says -m, or -(10 + m) of ends.
EDGE = 6
END = 10
JOINED = HEAD + 3 + 2 * EDGE


@leaf
def width_of(m):
    """Velocities of a body whose joints have so many rows, of those that are written out: pins, balls, hinges."""
    return 3 if m == 2 else 6


@leaf
def link_height(words, head):
    """What the head of a group says of such fronts, as its words tell: own rows, END more at ends; 0: they are others."""
    m, n, lumps, children = words[head], words[head + 1], words[head + 3], words[head + 4]
    if (n != 3 * m and n != 2 * m) or (m != 2 and m != 3 and m != 5) or lumps + children != 2:
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
            rows = words[at]
            if rows != 2 * m and (rows != m or n != 2 * m):
                return 0
            at += CHILD
            side = words[at + m] if rows == 2 * m else 0
            for i in range(m):
                if words[at + i] != i or (rows == 2 * m and words[at + m + i] != side + i):
                    return 0
            at += rows
        if side != 0 and side != m and side != 2 * m:
            return 0
        sides += side
    if n == 3 * m:
        return m if sides == 3 * m else 0
    return END + m if sides == m else 0


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


def eliminated(m, sides, one, two, T, K, panel, pivots, left, eps):
    """Sum two edges and eliminate the rows of the joint: its columns first, then, entry by entry, what is left."""
    f = c = entries()
    n = (1 + sides) * m
    for p in range(m):
        for i in range(p, n):
            if i < m:
                place = 8 * (i * (i + 1) // 2 + p)
                f[i, p] = eight(T, one + place) + eight(T, two + place)
            elif i < 2 * m:
                f[i, p] = eight(T, one + 8 * (i * (i + 1) // 2 + p))
            else:
                f[i, p] = eight(T, two + 8 * ((i - m) * (i - m + 1) // 2 + p))
            for q in range(p):
                f[i, p] = f[i, p] - c[i, q] * f[p, q]
        pivot = f[p, p] + eps
        inverse = 1.0 / pivot
        put(T, pivots + 8 * p, pivot)
        put(K, panel + 8 * (p * n + p), inverse)
        for i in range(p + 1, n):
            c[i, p] = f[i, p] * inverse
            put(K, panel + 8 * (p * n + i), c[i, p])
    for i in range(m, n):
        for j in range(m, i + 1):
            if i < 2 * m:
                value = eight(T, one + 8 * (i * (i + 1) // 2 + j)) - c[i, 0] * f[j, 0]
            elif j >= 2 * m:
                value = eight(T, two + 8 * ((i - m) * (i - m + 1) // 2 + j - m)) - c[i, 0] * f[j, 0]
            else:
                value = 0.0 - c[i, 0] * f[j, 0]
            for p in range(1, m):
                value = value - c[i, p] * f[j, p]
            put(T, left + 8 * ((i - m) * (i - m + 1) // 2 + j - m), value)


def forward(m, sides, children, own, one, two, T, K, panel, side):
    """The first half of a solution: the joint's rows, and what the right hand sides of its neighbours get of them."""
    y = entries()
    n = (1 + sides) * m
    for i in range(m):
        y[i] = eight(T, own + 8 * i)
        if children:
            y[i] = y[i] + eight(T, one + 8 * i) + eight(T, two + 8 * i)
            y[m + i] = eight(T, one + 8 * (m + i))
            if sides == 2:
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


def backward(m, sides, one, two, T, K, panel, side, own):
    """The second half."""
    x = entries()
    n = (1 + sides) * m
    for i in range(m):
        x[m + i] = eight(T, one + 8 * i)
        if sides == 2:
            x[2 * m + i] = eight(T, two + 8 * i)
    for q in range(m):
        p = m - 1 - q
        value = eight(T, side + 8 * p) * eight(K, panel + 8 * (p * n + p))
        for i in range(p + 1, n):
            value -= eight(K, panel + 8 * (p * n + i)) * x[i]
        x[p] = value
    for i in range(m):
        put(T, own + 8 * i, x[i])


@leaf
def link_words(words, head, end):
    """Say in the head of a group whether it is such fronts, and write shorter words where that can be; return where they end."""
    form = link_height(words, head)
    words[head + 8] = form
    if form == 0:
        return end
    m, n, lumps, children, names = words[head], words[head + 1], words[head + 3], words[head + 4], head + HEAD
    sources, last = names + 8 * n, names + 8 * (n - m)
    at, joined = sources, words[names] < 0 and words[names + 8 * m] < 0 and words[last] < 0
    for i in range(1, m):  # a neighbour may be several elements with few rows each, which lie apart
        for first in (names, names + 8 * m, last):
            joined = joined and words[first + 8 * i] == words[first] - 8 * i
    for k in range(lumps + children):
        if k < lumps:
            joined = joined and words[at + 3] < 0 and words[at + LUMP + 3] < 0 and words[at + LUMP + TOUCH + 3] < 0
            at += LUMP + 2 * TOUCH
        else:
            joined = joined and words[at + 1] < 0 and words[at + 9] < 0
            at += CHILD + words[at]
    if not joined:
        return end
    words[names], words[names + 1], words[names + 2] = ~words[names], ~words[names + 8 * m], ~words[last]
    at = sources
    for k in range(lumps + children):
        if k < lumps:
            G, H = at + LUMP, at + LUMP + TOUCH
            to = names + 3 if words[H + 2] == m else names + 3 + EDGE
            words[to], words[to + 1], words[to + 2], words[to + 3] = 0, ~words[at + 3], ~words[G + 3], words[G]
            words[to + 4], words[to + 5] = ~words[H + 3], words[H]
            at += LUMP + 2 * TOUCH
        else:
            to = names + 3 if words[at] == 2 * m and words[at + CHILD + m] == m else names + 3 + EDGE
            words[to], words[to + 1], words[to + 2], rows = 1, ~words[at + 1], ~words[at + 9], words[at]
            at += CHILD + rows
    words[head + 8] = -form
    return head + JOINED


edge_2, edge_3, edge_5 = written_out(edge, (2, 3), (3, 6), (5, 6))
eliminated_2, eliminated_3, eliminated_5 = written_out(eliminated, (2, 2), (3, 2), (5, 2))
ended_2, ended_3, ended_5 = written_out(eliminated, (2, 1), (3, 1), (5, 1))
forward_2, forward_3, forward_5 = written_out(forward, (2, 2, 0), (3, 2, 0), (5, 2, 0))
forward_2_of_fronts, forward_3_of_fronts, forward_5_of_fronts = written_out(forward, (2, 2, 1), (3, 2, 1), (5, 2, 1))
forward_2_ended, forward_3_ended, forward_5_ended = written_out(forward, (2, 1, 1), (3, 1, 1), (5, 1, 1))
backward_2, backward_3, backward_5 = written_out(backward, (2, 2), (3, 2), (5, 2))
backward_2_ended, backward_3_ended, backward_5_ended = written_out(backward, (2, 1), (3, 1), (5, 1))


@leaf
def edge_of(m, x, W, G, G_step, H, H_step, T, to):
    """The edge of a lump."""
    if m == 2:
        edge_2(x, W, G, G_step, H, H_step, T, to)
    elif m == 3:
        edge_3(x, W, G, G_step, H, H_step, T, to)
    else:
        edge_5(x, W, G, G_step, H, H_step, T, to)


@leaf
def collected_edge(program, at, m, K, T, at_block, to):
    """The edge of a lump whose numbers are looked up."""
    width, one, other = width_of(m), at + LUMP, at + LUMP + TOUCH
    collect(K, program, at + 3, 0, width, T, at_block)
    G = at_block + 8 * width
    for i in range(m):
        collect(K, program, one + 3, 8 * i * program[one], width, T, G + 8 * i * width)
        collect(K, program, other + 3, 8 * i * program[other], width, T, G + 8 * (m + i) * width)
    edge_of(m, T, at_block, G, width, G + 8 * m * width, width, T, to)


@leaf
def eliminate_link(program, at, head, K, T, at_front, at_block, at_left, eps):
    """Factor eight links; return where the program goes on. The pivots are left where fronts are."""
    m, panel, left = program[head], program[head + 5], at_left + program[head + 6]
    one = two = free = at_front + 8 * m
    size = 8 * m * (2 * m + 1)
    if program[head + 8] < 0:
        for k in range(2):
            e = head + HEAD + 3 + EDGE * k
            if program[e] == 0:
                W, G, G_step, H, H_step = program[e + 1], program[e + 2], program[e + 3], program[e + 4], program[e + 5]
                edge_of(m, K, W, G, G_step, H, H_step, T, free)
                given, free = free, free + size
            else:
                given = at_left + program[e + 1]
            if k == 0:
                one = given
            else:
                two = given
        at = head + JOINED
    else:
        lumps = program[head + 3]
        for k in range(2):
            if k < lumps:
                collected_edge(program, at, m, K, T, at_block, free)
                first = program[at + LUMP + TOUCH + 2] == m
                at += LUMP + 2 * TOUCH
            else:
                rows = program[at]
                collect(T, program, at + 1, at_left, rows * (rows + 1) // 2, T, free)
                first = rows == 2 * m and program[at + CHILD + m] == m
                at += CHILD + rows
            if first:
                one = free
            else:
                two = free
            free += size
    if abs(program[head + 8]) > END:
        if m == 2:
            ended_2(one, two, T, K, panel, at_front, left, eps)
        elif m == 3:
            ended_3(one, two, T, K, panel, at_front, left, eps)
        else:
            ended_5(one, two, T, K, panel, at_front, left, eps)
    elif m == 2:
        eliminated_2(one, two, T, K, panel, at_front, left, eps)
    elif m == 3:
        eliminated_3(one, two, T, K, panel, at_front, left, eps)
    else:
        eliminated_5(one, two, T, K, panel, at_front, left, eps)
    return at


@leaf
def rows_of_node(program, names, m, T, at_r, room):
    """The numbers of a joint's rows, which are looked up."""
    for i in range(m):
        collect(T, program, names + 8 * i, at_r, 1, T, room + 8 * i)
    return room


@leaf
def links_forward(program, head, K, T, at_r, at_block, at_sides):
    """The first half of a solution for eight links."""
    m, lumps, children, panel = program[head], program[head + 3], program[head + 4], program[head + 5]
    names, side = head + HEAD, at_sides + program[head + 7]
    own, free = at_block, at_block + 8 * m
    one = two = free
    if children == 1:  # in the place of what the lump does not give
        for i in range(2 * m):
            put(T, free + 8 * i, 0.0)
        free += 16 * m
    if program[head + 8] < 0:
        own = at_r + program[names]
        if program[names + 3] == 1:
            one = at_sides + program[names + 5]
        if program[names + 3 + EDGE] == 1:
            two = at_sides + program[names + 5 + EDGE]
    else:
        rows_of_node(program, names, m, T, at_r, own)
        at = names + 8 * program[head + 1] + (LUMP + 2 * TOUCH) * lumps
        for _ in range(children):
            rows = program[at]
            collect(T, program, at + 9, at_sides, rows, T, free)
            if rows == 2 * m and program[at + CHILD + m] == m:
                one = free
            else:
                two = free
            free += 16 * m
            at += CHILD + rows
    if abs(program[head + 8]) > END:
        if m == 2:
            forward_2_ended(own, one, two, T, K, panel, side)
        elif m == 3:
            forward_3_ended(own, one, two, T, K, panel, side)
        else:
            forward_5_ended(own, one, two, T, K, panel, side)
    elif children > 0:
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


@leaf
def links_backward(program, head, K, T, at_r, at_block, at_sides):
    """The second half."""
    m, count, panel, joined = program[head], program[head + 2], program[head + 5], program[head + 8] < 0
    end = abs(program[head + 8]) > END
    names, side = head + HEAD, at_sides + program[head + 7]
    own, one, two = at_block, at_block + 8 * m, at_block + 16 * m
    if joined:
        one, two = at_r + program[names + 1], at_r + program[names + 2]
        if count == 8:
            own = at_r + program[names]
    else:
        rows_of_node(program, names + 8 * m, m, T, at_r, one)
        rows_of_node(program, names + (8 if end else 16) * m, m, T, at_r, two)
    if end:
        if m == 2:
            backward_2_ended(one, two, T, K, panel, side, own)
        elif m == 3:
            backward_3_ended(one, two, T, K, panel, side, own)
        else:
            backward_5_ended(one, two, T, K, panel, side, own)
    elif m == 2:
        backward_2(one, two, T, K, panel, side, own)
    elif m == 3:
        backward_3(one, two, T, K, panel, side, own)
    else:
        backward_5(one, two, T, K, panel, side, own)
    if joined and count < 8:
        for i in range(m):
            for lane in range(count):
                T[at_r + program[names] + 8 * i + lane] = T[own + 8 * i + lane]
    elif not joined:
        for i in range(m):
            distribute(T, program, names + 8 * i, at_r, 1, T, own + 8 * i, count)
