"""Products with G and W⁻¹, which lie where the elements wrote them, eight elements at a time; see `eights` for what lies where."""

from __future__ import annotations

from ..native.eight import add_to, collect, eight, put
from ..native.marks import leaf, part, whole_at
from ..native.written_out import entries, written_out
from .eights import KIND, SHELF, clear, written_at
from .elements import ROWS


def joined(m, width, gamma, O, G, u, one, other, r, to):
    """r = G u, or G u + γ, of rows with two ends alike, u of the ends at `one` and `other`."""
    x = entries()
    for c in range(width):
        x[c] = eight(u, one + 8 * c)
        x[width + c] = eight(u, other + 8 * c)
    for i in range(m):
        total = eight(O, G + 16 * width * i) * x[0]
        for c in range(1, 2 * width):
            total += eight(O, G + 8 * (2 * width * i + c)) * x[c]
        if gamma:
            total += eight(O, G - 8 * (m - i))
        put(r, to + 8 * i, total)


def joined_diagonal(m, width, O, G, one, other, T, to):
    """The diagonal of G W⁻¹ Gᵀ of rows with two ends alike, W⁻¹ of the ends at `one` and `other`."""
    w = entries()
    for c in range(width):
        w[c] = eight(O, one + 8 * c)
        w[width + c] = eight(O, other + 8 * c)
    for i in range(m):
        entry = eight(O, G + 16 * width * i)
        total = entry * w[0] * entry
        for c in range(1, 2 * width):
            entry = eight(O, G + 8 * (2 * width * i + c))
            total += entry * w[c] * entry
        put(T, to + 8 * i, total)


def joined_both(m, width, O, G, u, one, other, W_one, W_other, r, to, T, to_diagonal):
    """r = G u + γ and the diagonal of G W⁻¹ Gᵀ at once, each entry of G read once."""
    x = w = entries()
    for c in range(width):
        x[c] = eight(u, one + 8 * c)
        x[width + c] = eight(u, other + 8 * c)
        w[c] = eight(O, W_one + 8 * c)
        w[width + c] = eight(O, W_other + 8 * c)
    for i in range(m):
        entry = eight(O, G + 16 * width * i)
        total, diagonal = entry * x[0], entry * w[0] * entry
        for c in range(1, 2 * width):
            entry = eight(O, G + 8 * (2 * width * i + c))
            total += entry * x[c]
            diagonal += entry * w[c] * entry
        put(r, to + 8 * i, total + eight(O, G - 8 * (m - i)))
        put(T, to_diagonal + 8 * i, diagonal)


def joined_back(m, width, O, G, r, at, u, one, other):
    """u += Gᵀ r at both ends."""
    y = entries()
    for i in range(m):
        y[i] = eight(r, at + 8 * i)
    for c in range(2 * width):
        total = eight(O, G + 8 * c) * y[0]
        for i in range(1, m):
            total += eight(O, G + 8 * (2 * width * i + c)) * y[i]
        place = one + 8 * c if c < width else other + 8 * (c - width)
        put(u, place, eight(u, place) + total)


joined_2_3, joined_3_6, joined_5_6 = written_out(joined, (2, 3, 0), (3, 6, 0), (5, 6, 0))
joined_2_3_gamma, joined_3_6_gamma, joined_5_6_gamma = written_out(joined, (2, 3, 1), (3, 6, 1), (5, 6, 1))
diagonal_2_3, diagonal_3_6, diagonal_5_6 = written_out(joined_diagonal, (2, 3), (3, 6), (5, 6))
both_2_3, both_3_6, both_5_6 = written_out(joined_both, (2, 3), (3, 6), (5, 6))
joined_back_2_3, joined_back_3_6, joined_back_5_6 = written_out(joined_back, (2, 3), (3, 6), (5, 6))


@leaf
def alike(m, many, widths):
    """Which loops are written out: 1 of pins, 2 of balls, 3 of hinges, 0 none."""
    if many != 2 or widths[2] != widths[5]:
        return 0
    if widths[2] == 3:
        return 1 if m == 2 else 0
    return 0 if widths[2] != 6 else 2 if m == 3 else 3 if m == 5 else 0


@leaf
def times_G(kinds, n_kinds, O, u, at_u, r, at_r, T, at_arg, gamma):
    """r = G u, or G u + γ"""
    for k in range(n_kinds):
        if kinds[KIND * k] >= ROWS:
            times_G_of(kinds, KIND * k, O, u, at_u, r, at_r, T, at_arg, gamma, 0, kinds[KIND * k + 13])


@leaf
def times_G_of(kinds, base, O, u, at_u, r, at_r, T, at_arg, gamma, begin, end):
    """The same of some groups of one kind of rows."""
    many, m, written, columns = kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
    starts, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1)
    at, to, form = kinds[base + 7] + 24 * m + written * begin, at_r + kinds[base + 12] + 8 * m * begin, alike(m, many, widths)
    for g in range(begin, end):
        one, place = 3 * g * many + 2, at_arg
        if form > 0 and starts[one] < 0 and starts[one + 3] < 0:
            _joined(form, O, at, u, at_u + ~starts[one], at_u + ~starts[one + 3], r, to, gamma)
            at += written
            to += 8 * m
            continue
        for j in range(many):
            collect(u, starts, written_at(starts, one + 3 * j), at_u, widths[3 * j + 2], T, place)
            place += 8 * widths[3 * j + 2]
        _times(m, columns, O, at, T, at_arg, r, to)
        for i in range(m if gamma else 0):
            put(r, to + 8 * i, eight(r, to + 8 * i) + eight(O, at - 8 * (m - i)))
        at += written
        to += 8 * m


@part
def _joined(form, O, G, u, one, other, r, to, gamma):
    """Rows with two ends alike."""
    if form == 1:
        if gamma:
            joined_2_3_gamma(O, G, u, one, other, r, to)
        else:
            joined_2_3(O, G, u, one, other, r, to)
    elif form == 2:
        if gamma:
            joined_3_6_gamma(O, G, u, one, other, r, to)
        else:
            joined_3_6(O, G, u, one, other, r, to)
    elif gamma:
        joined_5_6_gamma(O, G, u, one, other, r, to)
    else:
        joined_5_6(O, G, u, one, other, r, to)


@part
def _times(m, columns, O, at, u, at_u, r, at_r):
    """r = G u of eight elements"""
    for i in range(m):
        row = at + 8 * i * columns
        total = eight(O, row) * eight(u, at_u)
        for c in range(1, columns):
            total += eight(O, row + 8 * c) * eight(u, at_u + 8 * c)
        put(r, at_r + 8 * i, total)


@leaf
def times_GT(kinds, n_kinds, O, r, at_r, u, at_u, n, T, at_arg):
    """u = Gᵀ r"""
    clear(u, at_u, n)
    for k in range(n_kinds):
        if kinds[KIND * k] >= ROWS:
            add_GT_of(kinds, KIND * k, O, r, at_r, u, at_u, T, at_arg, 0, kinds[KIND * k + 13])


@leaf
def add_GT_of(kinds, base, O, r, at_r, u, at_u, T, at_arg, begin, end):
    """u += Gᵀ r of some groups of one kind of rows."""
    count, many, m, written, columns = kinds[base + 2], kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
    starts, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1)
    at, of, form = kinds[base + 7] + 24 * m + written * begin, at_r + kinds[base + 12] + 8 * m * begin, alike(m, many, widths)
    for g in range(begin, end):
        first, place, some = 3 * g * many + 2, at_arg, (count - g - 1) // kinds[base + 13] + 1
        if form > 0 and some == 8 and starts[first] < 0 and starts[first + 3] < 0:
            one, other = at_u + ~starts[first], at_u + ~starts[first + 3]
            if form == 1:
                joined_back_2_3(O, at, r, of, u, one, other)
            elif form == 2:
                joined_back_3_6(O, at, r, of, u, one, other)
            else:
                joined_back_5_6(O, at, r, of, u, one, other)
            at += written
            of += 8 * m
            continue
        _transposed_times(m, columns, O, at, r, of, T, at_arg)
        for j in range(many):
            add_to(u, starts, written_at(starts, first + 3 * j), at_u, widths[3 * j + 2], T, place, some)
            place += 8 * widths[3 * j + 2]
        at += written
        of += 8 * m


@part
def _transposed_times(m, columns, O, at, r, at_r, u, at_u):
    """u = Gᵀ r of eight elements"""
    for c in range(columns):
        total = eight(O, at + 8 * c) * eight(r, at_r)
        for i in range(1, m):
            total += eight(O, at + 8 * (i * columns + c)) * eight(r, at_r + 8 * i)
        put(u, at_u + 8 * c, total)


@leaf
def over_weights(shelves, n_shelves, O, u, at_u, v, at_v, less, at_from):
    """v = W⁻¹ u, lump by lump, or, with `less`, what stands at `at_from` in v less this. Where W⁻¹ is diagonal, v may be u."""
    for k in range(n_shelves):
        over_weights_of(shelves, SHELF * k, O, u, at_u, v, at_v, less, at_from, 0, shelves[SHELF * k])


@leaf
def over_weights_of(shelves, own, O, u, at_u, v, at_v, less, at_from, begin, end):
    """The same of some groups of one shelf."""
    width, place, W, step, full = shelves[own + 3], shelves[own + 6], shelves[own + 7], 8 * shelves[own + 8], shelves[own + 9]
    place += 8 * width * begin
    W += step * begin
    for _ in range(begin, end):
        if full == 0:
            for i in range(width):
                total = eight(O, W + 8 * i) * eight(u, at_u + place + 8 * i)
                put(v, at_v + place + 8 * i, eight(v, at_from + place + 8 * i) - total if less else total)
        else:
            for i in range(width):
                row = W + 8 * i * width
                total = eight(O, row) * eight(u, at_u + place)
                for j in range(1, width):
                    total += eight(O, row + 8 * j) * eight(u, at_u + place + 8 * j)
                put(v, at_v + place + 8 * i, eight(v, at_from + place + 8 * i) - total if less else total)
        place += 8 * width
        W += step


@leaf
def diagonal_of_S(kinds, n_kinds, weights_of, O, T, at_arg, at_diagonal):
    """The diagonal of G W⁻¹ Gᵀ. `weights_of` has the places of W⁻¹ of the ends of all elements with rows."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] >= ROWS:
            diagonal_of(kinds, base, weights_of, O, T, at_arg, at_diagonal, 0, kinds[base + 13])


@leaf
def diagonal_of(kinds, base, weights_of, O, T, at_arg, at_diagonal, begin, end):
    """The same of some groups of one kind of rows."""
    whole, many, m, written, columns = kinds[base + 8], kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
    widths = whole_at(kinds[base + 14], 1)
    at, to, form = kinds[base + 7] + 24 * m, at_diagonal + kinds[base + 12] + 8 * m * begin, alike(m, many, widths)
    at += written * begin
    ends = kinds[base + 20] + many * begin
    for _ in range(begin, end):
        if form > 0 and whole == 0 and weights_of[ends] < 0 and weights_of[ends + 1] < 0:
            one, other = ~weights_of[ends], ~weights_of[ends + 1]
            if form == 1:
                diagonal_2_3(O, at, one, other, T, to)
            elif form == 2:
                diagonal_3_6(O, at, one, other, T, to)
            else:
                diagonal_5_6(O, at, one, other, T, to)
            ends += 2
            at += written
            to += 8 * m
            continue
        column = 0
        for j in range(many):
            width, full = widths[3 * j + 2], (whole >> j) & 1
            collect(O, weights_of, written_at(weights_of, ends), 0, width * width if full else width, T, at_arg)
            for i in range(m):
                row = at + 8 * (i * columns + column)
                total = eight(O, row) * 0.0
                for c in range(width):
                    if full == 0:
                        total += eight(O, row + 8 * c) * eight(T, at_arg + 8 * c) * eight(O, row + 8 * c)
                    else:
                        part = eight(T, at_arg + 8 * c * width) * eight(O, row)
                        for d in range(1, width):
                            part += eight(T, at_arg + 8 * (c * width + d)) * eight(O, row + 8 * d)
                        total += eight(O, row + 8 * c) * part
                if j > 0:
                    total += eight(T, to + 8 * i)
                put(T, to + 8 * i, total)
            column += width
            ends += 1
        at += written
        to += 8 * m


@leaf
def both_of(kinds, base, weights_of, O, T, at_u, at_r, at_arg, at_diagonal, begin, end):
    """G u + γ and the diagonal of G W⁻¹ Gᵀ of some groups of one kind of rows."""
    whole, many, m, written = kinds[base + 8], kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6]
    starts, widths, ends = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1), kinds[base + 20]
    form = alike(m, many, widths) if whole == 0 else 0
    for g in range(begin, end):
        at, one, W = kinds[base + 7] + 24 * m + written * g, 6 * g + 2, ends + 2 * g
        if form == 0 or starts[one] >= 0 or starts[one + 3] >= 0 or weights_of[W] >= 0 or weights_of[W + 1] >= 0:
            diagonal_of(kinds, base, weights_of, O, T, at_arg, at_diagonal, g, g + 1)
            times_G_of(kinds, base, O, T, at_u, T, at_r, T, at_arg, True, g, g + 1)
            continue
        place, first, other = kinds[base + 12] + 8 * m * g, at_u + ~starts[one], at_u + ~starts[one + 3]
        W_one, W_other = ~weights_of[W], ~weights_of[W + 1]
        if form == 1:
            both_2_3(O, at, T, first, other, W_one, W_other, T, at_r + place, T, at_diagonal + place)
        elif form == 2:
            both_3_6(O, at, T, first, other, W_one, W_other, T, at_r + place, T, at_diagonal + place)
        else:
            both_5_6(O, at, T, first, other, W_one, W_other, T, at_r + place, T, at_diagonal + place)
