"""S = G W⁻¹ Gᵀ of one member of a sweep, assembled and eliminated by words, entry by entry; see `elimination_words`.

Pivots are judged as in `front_groups`. Written into the programs of a GPU alone, and so not compiled here.
"""

from __future__ import annotations

from ..kernels.front_groups import SEVERAL, TINY
from ..kernels.table_products import small_part
from .member_elements import clear
from .word_places import AT_DIAGONAL, AT_LINE, N_ENTRIES, N_ROWS, N_TOUCHES, OTHER, POINTS, REDUNDANT, TOUCH, TOUCHES


def add_touch(tables, at, O, at_O, at_L, line):
    """Add G_i W⁻¹ G_jᵀ of an element's end and all before it at its lump; return where words go on."""
    words, room = tables.words, tables.room
    G, step, rows, W, width, full, many = (
        at_O + words[at], words[at + 1], words[at + 2], at_O + words[at + 3], words[at + 4], words[at + 5], words[at + 6]
    )  # fmt: skip
    others = at + TOUCH
    to = others + OTHER * many
    for i in range(rows):
        for c in range(width):
            if full == 0:
                room[line + c] = O[G + c] * O[W + c]
            else:
                total = 0.0
                for d in range(width):
                    total += O[G + d] * O[W + d * width + c]
                room[line + c] = total
        for o in range(many):
            H, stride = at_O + words[others + OTHER * o], words[others + OTHER * o + 1]
            last = i + 1 if o == many - 1 else words[others + OTHER * o + 2]
            for _ in range(last):
                total = 0.0
                for c in range(width):
                    total += room[line + c] * O[H + c]
                O[at_L + words[to]] += total
                to += 1
                H += stride
        G += step
    return to


def assemble(tables, O, at_O, at_L):
    """S, its lower triangle column by column; its diagonal aside, and ε on it where rows repeat others. Return ε."""
    words, room, head = tables.words, tables.room, tables.head
    n, line, diagonal, points = (words[head + N_ROWS], words[head + AT_LINE], words[head + AT_DIAGONAL], words[head + POINTS])
    clear(O, at_L, words[head + N_ENTRIES])
    at = words[head + TOUCHES]
    for _ in range(words[head + N_TOUCHES]):
        at = add_touch(tables, at, O, at_O, at_L, line)
    whole = 0.0
    for p in range(n):
        room[diagonal + p] = O[at_L + words[points + 2 * p]]
        whole += room[diagonal + p]
    eps = 0.0
    if words[head + REDUNDANT] != 0:
        eps = small_part(max(1, n)) * whole / n
        for p in range(n):
            O[at_L + words[points + 2 * p]] += eps
    return eps


def factor(tables, L, at_L, eps):
    """L D Lᵀ in the place of S, pivots inverted; return ρ of pivots above `TINY`, and how many are not."""
    words, room, head = tables.words, tables.room, tables.head
    diagonal, points = words[head + AT_DIAGONAL], words[head + POINTS]
    least, tiny = 1.0, 0
    for p in range(words[head + N_ROWS]):
        start, at = at_L + words[points + 2 * p], words[points + 2 * p + 1]
        many, pivot = words[at], L[start]
        one = (pivot - SEVERAL * eps) / room[diagonal + p]
        if one < TINY:
            tiny += 1
        elif one < least or one != one:  # NaN is kept
            least = one
        inverse = 1.0 / pivot
        L[start] = inverse
        to = at + 1 + many
        for i in range(many):
            value = L[start + 1 + i]
            L[start + 1 + i] = value * inverse
            for j in range(i + 1):
                L[at_L + words[to]] -= L[start + 1 + j] * value
                to += 1
    return least, tiny


def solve(tables, L, at_L, z):
    """z <- S⁻¹ z"""
    words, room, head = tables.words, tables.room, tables.head
    n, points = words[head + N_ROWS], words[head + POINTS]
    for p in range(n):
        start, at, value = at_L + words[points + 2 * p], words[points + 2 * p + 1], room[z + p]
        for i in range(words[at]):
            room[z + words[at + 1 + i]] -= L[start + 1 + i] * value
    for p in range(n - 1, -1, -1):
        start, at = at_L + words[points + 2 * p], words[points + 2 * p + 1]
        value = room[z + p] * L[start]
        for i in range(words[at]):
            value -= L[start + 1 + i] * room[z + words[at + 1 + i]]
        room[z + p] = value
