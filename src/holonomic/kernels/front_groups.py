"""Elimination by fronts: factors of S = G W⁻¹ Gᵀ + ε, eight fronts at once; blocks found once, numbers at every call.

Rows come in nodes (the rows of one joint), columns in lumps (the velocities of one body). A lump adds G_i W⁻¹ G_jᵀ to all pairs
of nodes that touch it. Nodes are eliminated in a front: a small dense matrix of its own rows and of the later rows that are
coupled with them by then, summed from lumps that nobody has added before, and from what earlier fronts left. Up to eight fronts
of the same form that do not wait for each other are one *group*, whose numbers stand side by side, see `native.eight`; a group
of fewer has copies of its last. Order, places and who adds what are the program, integers that `assembly.front_program` writes; see
`HEAD`, `LUMP`, `TOUCH` and `CHILD` for its words.

ρ is the smallest pivot beside the diagonal of S that it started from: without care for roundoff digits are lost as 1/ρ. ε, one
number for all rows, keeps pivots of rows that repeat others away from zero.
"""

from __future__ import annotations

from ..native.eight import collect, distribute, eight, none_below, put, spread
from ..native.marks import inner, leaf, part
from .few_rows import MOST, eliminate_few, products_3, products_6
from .link_front import eliminate_link, links_backward, links_forward
from .lone_front import ALONE, LoneFront, backward, factor_front, first_place, forward, sum_front

# own rows, all rows, fronts, lumps, children, places of the panel, of what is left, of the sides, own rows again if these are
# links, less than zero if their words are others, else 0, see `link_front`; then eight places of each row
HEAD = 9
LUMP = 3 + 8  # width, whether W⁻¹ is a full matrix, nodes, eight places of W⁻¹; then of each node
TOUCH = 3 + 8  # numbers in a row of G, rows, place in the front, eight places of G
CHILD = 1 + 16  # rows, eight places of what it left, eight of its sides; then the place of each row in this front
TINY = 1e-9  # pivot beside its diagonal, below which a row counts as one that repeats others; they leave 1e-12 or less
SEVERAL = 1e3  # a row that is a sum of others with factors c has a pivot of ε (1 + c²)


@leaf
def eliminate(program, order, begin, end, K, T, at_front, at_block, at_diagonal, at_left, eps):
    """Factor some groups of S into the panels in K; return ρ of pivots above `TINY`, and how many are not.

    `order` has the place of every group in the program.
    K has G and W⁻¹ where the program says, T is room: the front, blocks of a lump, what fronts leave, and the diagonal of S.
    """
    least, tiny = 1.0, 0
    for k in range(begin, end):
        at = order[k]
        m, n, count, lumps, children = program[at], program[at + 1], program[at + 2], program[at + 3], program[at + 4]
        panel, left, names = program[at + 5], at_left + program[at + 6], at + HEAD
        at = names + 8 * n
        if n >= ALONE:
            at = sum_front(program, at, n, lumps, children, K, T, at_front, at_left)
            factor_front(m, n, panel, left, K, T, at_front, at_block, eps)
            wide = (n + 7) // 8 * 8
            for p in range(m):
                before = T[at_diagonal + first_place(program, names + 8 * p)]
                one = (T[at_front + p * wide + p] - SEVERAL * eps) / before
                if one < TINY:
                    tiny += 1
                elif one < least or one != one:
                    least = one
            continue
        if program[names - 1] != 0:
            at = eliminate_link(program, at, names - HEAD, K, T, at_front, at_block, at_left, eps)
            for p in range(m):
                pivot, before = eight(T, at_front + 8 * p), at_diagonal + program[names] + 8 * p
                if program[names - 1] > 0:
                    collect(T, program, names + 8 * p, at_diagonal, 1, T, at_block)
                    before = at_block
                least, tiny = _judged(pivot, before, count, eps, T, at_block, least, tiny)
            continue
        for i in range(0, 4 * n * (n + 1), 8):
            put(T, at_front + i, 0.0)
        for _ in range(lumps):
            at = _add_lump(program, at, K, T, at_front, at_block)
        for _ in range(children):
            at = _add_child(program, at, T, at_front, at_block, at_left)
        if m <= MOST:
            eliminate_few(m, n, at_front, T, K, panel, at_block, left, eps)
            for p in range(m):
                before = at_block + 8 * m
                collect(T, program, names + 8 * p, at_diagonal, 1, T, before)
                least, tiny = _judged(eight(T, at_block + 8 * p), before, count, eps, T, before, least, tiny)
            continue
        for p in range(m):
            diagonal = at_front + 4 * p * (p + 1) + 8 * p
            pivot = eight(T, diagonal) + eps
            collect(T, program, names + 8 * p, at_diagonal, 1, T, at_block)
            least, tiny = _judged(pivot, at_block, count, eps, T, at_block, least, tiny)
            inverse, own = spread(1.0) / pivot, panel + 8 * p * n
            put(K, own + 8 * p, inverse)
            for i in range(p + 1, n):
                put(K, own + 8 * i, eight(T, at_front + 4 * i * (i + 1) + 8 * p) * inverse)
            _take_away(p, n, K, own, T, at_front)
        to = left
        for i in range(m, n):
            row = at_front + 4 * i * (i + 1)
            for j in range(m, i + 1):
                put(T, to, eight(T, row + 8 * j))
                to += 8
    return least, tiny


@inner
def _judged(pivot, before, count, eps, T, at_block, least, tiny):
    """Compare a pivot with the diagonal that it started from; return the least ratio, and how many are tiny."""
    rest, diagonal = pivot - SEVERAL * eps, eight(T, before)
    if not none_below(rest - diagonal * max(TINY, least), 1e-300):
        put(T, at_block, rest / diagonal)
        for lane in range(count):
            one = T[at_block + lane]
            if one < TINY:
                tiny += 1
            elif one < least or one != one:  # NaN is kept
                least = one
    return least, tiny


@part
def _take_away(p, n, K, own, T, at_front):
    """Take the outer product of column p from what is left of eight fronts."""
    for i in range(p + 1, n):
        factor, row = eight(K, own + 8 * i), at_front + 4 * i * (i + 1)
        for j in range(p + 1, i + 1):
            put(T, row + 8 * j, eight(T, row + 8 * j) - factor * eight(T, at_front + 4 * j * (j + 1) + 8 * p))


@leaf
def _add_lump(program, at, K, T, at_front, at_block):
    """Add G_i W⁻¹ G_jᵀ of lumps to fronts; return where the program goes on."""
    width, full, nodes = program[at], program[at + 1], program[at + 2]
    at_row = at_block + 8 * (width * width if full else width)
    at_G = at_row + 8 * width
    collect(K, program, at + 3, 0, width * width if full else width, T, at_block)
    at += LUMP
    first = at_G
    for a in range(nodes):
        one = at + TOUCH * a
        for i in range(program[one + 1]):
            collect(K, program, one + 3, 8 * i * program[one], width, T, first)
            first += 8 * width
    if width == 3 and full == 0:  # bodies in the plane and in space
        products_3(program, at, nodes, T, at_front, at_block, at_G)
    elif width == 6 and full == 0:
        products_6(program, at, nodes, T, at_front, at_block, at_G)
    else:
        _products(program, at, nodes, width, full, T, at_front, at_block, at_row, at_G)
    return at + TOUCH * nodes


@part
def _products(program, at, nodes, width, full, T, at_front, at_block, at_row, at_G):
    """Add the products of all pairs of rows of G."""
    first = at_G
    for a in range(nodes):
        one = at + TOUCH * a
        here = program[one + 2]
        for i in range(program[one + 1]):
            for k in range(width):
                if full == 0:
                    put(T, at_row + 8 * k, eight(T, first + 8 * k) * eight(T, at_block + 8 * k))
                else:
                    total = eight(T, first) * eight(T, at_block + 8 * k)
                    for c in range(1, width):
                        total += eight(T, first + 8 * c) * eight(T, at_block + 8 * (c * width + k))
                    put(T, at_row + 8 * k, total)
            second, row = at_G, here + i
            to = at_front + 4 * row * (row + 1)
            for b in range(a + 1):
                other = at + TOUCH * b
                there = program[other + 2]
                last = i + 1 if a == b else program[other + 1]
                for j in range(last):
                    total = eight(T, to + 8 * (there + j))
                    for k in range(width):
                        total += eight(T, at_row + 8 * k) * eight(T, second + 8 * k)
                    put(T, to + 8 * (there + j), total)
                    second += 8 * width
            first += 8 * width


@leaf
def _add_child(program, at, T, at_front, at_block, at_left):
    """Add what earlier fronts left; return where the program goes on."""
    rows = program[at]
    collect(T, program, at + 1, at_left, rows * (rows + 1) // 2, T, at_block)
    at += CHILD
    given = at_block
    for i in range(rows):
        here = program[at + i]
        for j in range(i + 1):
            there = program[at + j]
            place = at_front + (4 * here * (here + 1) + 8 * there if here >= there else 4 * there * (there + 1) + 8 * here)
            put(T, place, eight(T, place) + eight(T, given))
            given += 8
    return at + rows


@leaf
def substitute(program, order, groups, K, T, at_r, at_block, at_sides):
    """r <- S⁻¹ r with the panels in K; `order` has the place of every group in the program."""
    way_ahead(program, order, 0, groups, K, T, at_r, at_block, at_sides)
    way_behind(program, order, groups, K, T, at_r, at_block, at_sides)


@leaf
def way_ahead(program, order, begin, end, K, T, at_r, at_block, at_sides):
    """The first half of a solution, of some groups."""
    for k in range(begin, end):
        at = order[k]
        m, n, lumps, children = program[at], program[at + 1], program[at + 3], program[at + 4]
        panel, names = program[at + 5], at + HEAD
        side = at_sides + program[at + 7]
        if program[at + 8] != 0:
            links_forward(program, at, K, T, at_r, at_block, at_sides)
            continue
        if n >= ALONE:
            at = names + 8 * n
            for _ in range(lumps):
                at += LUMP + TOUCH * program[at + 2]
            forward(program, LoneFront(m, n, names, panel, side), at, children, K, T, at_r, at_block, at_sides)
            continue
        for p in range(m):
            collect(T, program, names + 8 * p, at_r, 1, T, side + 8 * p)
        for i in range(m, n):
            put(T, side + 8 * i, 0.0)
        at = names + 8 * n
        for _ in range(lumps):
            at += LUMP + TOUCH * program[at + 2]
        for _ in range(children):
            rows = program[at]
            collect(T, program, at + 9, at_sides, rows, T, at_block)
            at += CHILD
            for i in range(rows):
                place = side + 8 * program[at + i]
                put(T, place, eight(T, place) + eight(T, at_block + 8 * i))
            at += rows
        for p in range(m):
            value, own = eight(T, side + 8 * p), panel + 8 * p * n
            for i in range(p + 1, n):
                put(T, side + 8 * i, eight(T, side + 8 * i) - eight(K, own + 8 * i) * value)


@leaf
def way_behind(program, order, groups, K, T, at_r, at_block, at_sides):
    """The second half, of all groups."""
    for k in range(groups - 1, -1, -1):
        at = order[k]
        m, n, panel, names = program[at], program[at + 1], program[at + 5], at + HEAD
        side = at_sides + program[at + 7]
        if program[at + 8] != 0:
            links_backward(program, at, K, T, at_r, at_block, at_sides)
            continue
        if n >= ALONE:
            backward(program, LoneFront(m, n, names, panel, side), K, T, at_r, at_block)
            continue
        for i in range(m, n):
            collect(T, program, names + 8 * i, at_r, 1, T, at_block + 8 * i)
        for p in range(m - 1, -1, -1):
            own = panel + 8 * p * n
            value = eight(T, side + 8 * p) * eight(K, own + 8 * p)
            for i in range(p + 1, n):
                value -= eight(K, own + 8 * i) * eight(T, at_block + 8 * i)
            put(T, at_block + 8 * p, value)
            distribute(T, program, names + 8 * p, at_r, 1, T, at_block + 8 * p, program[at + 2])
