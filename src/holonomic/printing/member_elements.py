"""Elements of one member of a sweep where its model is tables: one after the other, no eight of them at once.

Every kind of element has its own loop, in which its sizes are numbers and its function, printed from the same tape as the machine
code of other runs, is called by name. How many elements there are and where their numbers stand is read from words that all
members share, so mechanisms of the same kinds of elements run one program. Columns stand lump after lump, rows in the order of
pivots.

Written into the programs of a GPU alone, and so not compiled here.
"""

from __future__ import annotations

from ..kernels.elements import BODY, ROWS
from .word_places import AT_A, AT_B, AT_F, AT_LINE, COUNT, ENDS, FIRST, GIVEN, N_COLUMNS, NUMBERS, PART, PLACES, SETTLED, WRITES


def number(tables, place):
    """A number of the model: of all members, or one's own."""
    if place >= 0:
        return tables.common[place]
    return tables.own[-2 - place]


def evaluate(tables, k, e, t, x, at_x, out, at):
    """Call the function of one element, whose settled numbers all members share or which are made here."""
    words, common, room = tables.words, tables.common, tables.room
    base = tables.parts_at + PART * k
    places, numbers = words[base + PLACES] + e * tables.arguments[k], words[words[base + NUMBERS] + e]
    if numbers >= 0:
        tables.function[k](t, x, at_x, words, places, common, numbers, out, at)
    else:
        given, settled = words[base + GIVEN], words[base + SETTLED]
        for i in range(tables.given[k]):
            room[given + i] = number(tables, words[-1 - numbers + i])
        tables.settling[k](room, given, room, settled)
        tables.function[k](t, x, at_x, words, places, room, settled, out, at)


def clear(x, at, n):
    """x = 0"""
    for i in range(n):
        x[at + i] = 0.0


def add_forces(tables, k, t, x, at_x):
    """f += forces of one kind."""
    words, room, widths = tables.words, tables.room, tables.widths[k]
    base, line, f = tables.parts_at + PART * k, words[tables.head + AT_LINE], words[tables.head + AT_F]
    for e in range(words[base + COUNT]):
        evaluate(tables, k, e, t, x, at_x, room, line)
        given, ends = line, words[base + ENDS] + e * tables.ends[k]
        for j in range(tables.ends[k]):
            to = f + words[ends + j]
            for i in range(widths[j]):
                room[to + i] += room[given + i]
            given += widths[j]


def weigh(tables, k, O, at_O):
    """a = W⁻¹ f of bodies of one kind, f with what is on them by themselves."""
    words, room, width, full = tables.words, tables.room, tables.columns[k], tables.full[k]
    base, f, a = tables.parts_at + PART * k, words[tables.head + AT_F], words[tables.head + AT_A]
    for e in range(words[base + COUNT]):
        W, column = at_O + words[base + WRITES] + e * tables.lengths[k], words[words[base + ENDS] + e * tables.ends[k]]
        for i in range(width):
            room[f + column + i] += O[W + tables.weights[k] + i]
        for i in range(width):
            if full:
                total = 0.0
                for j in range(width):
                    total += O[W + i * width + j] * room[f + column + j]
                room[a + column + i] = total
            else:
                room[a + column + i] = O[W + i] * room[f + column + i]


def weighed(tables, k, O, at_O, at_u, less):
    """b = W⁻¹ u of bodies of one kind, or, with `less`, a - W⁻¹ u."""
    words, room, width, full = tables.words, tables.room, tables.columns[k], tables.full[k]
    base, a, b = tables.parts_at + PART * k, words[tables.head + AT_A], words[tables.head + AT_B]
    for e in range(words[base + COUNT]):
        W, column = at_O + words[base + WRITES] + e * tables.lengths[k], words[words[base + ENDS] + e * tables.ends[k]]
        for i in range(width):
            total = 0.0
            if full:
                for j in range(width):
                    total += O[W + i * width + j] * room[at_u + column + j]
            else:
                total = O[W + i] * room[at_u + column + i]
            room[b + column + i] = room[a + column + i] - total if less else total


def all_weighed(tables, O, at_O, at_u, less):
    """b = W⁻¹ u, or, with `less`, a - W⁻¹ u."""
    for k in range(tables.n_parts):
        if tables.what[k] == BODY:
            weighed(tables, k, O, at_O, at_u, less)


def give_bodies(tables, k, x, at_x, O, at_O, at_v, out, at_out):
    """q' and v' of bodies of one kind, where the model has them."""
    words, room = tables.words, tables.room
    base, wide, width = tables.parts_at + PART * k, tables.wide[k], tables.columns[k]
    for e in range(words[base + COUNT]):
        q, column = words[base + PLACES] + e * tables.arguments[k], words[words[base + ENDS] + e * tables.ends[k]]
        rates = at_O + words[base + WRITES] + e * tables.lengths[k] + tables.weights[k] + width
        for i in range(wide):
            if tables.rates[k]:
                out[at_out + words[q + i]] = O[rates + i]
            else:
                out[at_out + words[q + i]] = x[at_x + words[q + wide + i]]
        for i in range(width):
            out[at_out + words[q + wide + i]] = room[at_v + column + i]


def give_states(tables, k, t, x, at_x, out, at_out):
    """Rates of states of one kind."""
    words, room = tables.words, tables.room
    base, line = tables.parts_at + PART * k, words[tables.head + AT_LINE]
    for e in range(words[base + COUNT]):
        evaluate(tables, k, e, t, x, at_x, room, line)
        q = words[base + PLACES] + e * tables.arguments[k] + tables.before[k]
        for i in range(tables.lengths[k]):
            out[at_out + words[q + i]] = room[line + i]


def along(tables, k, O, at_O, u, r, gamma):
    """r = G u of rows of one kind, with γ where that is asked for."""
    words, room, widths, m, columns = tables.words, tables.room, tables.widths[k], tables.rows[k], tables.columns[k]
    base = tables.parts_at + PART * k
    for e in range(words[base + COUNT]):
        row, ends = words[words[base + FIRST] + e], words[base + ENDS] + e * tables.ends[k]
        at = at_O + words[base + WRITES] + e * tables.lengths[k]
        for i in range(m):
            total = O[at + 2 * m + i] if gamma else 0.0
            G = at + 3 * m + i * columns
            for j in range(tables.ends[k]):
                column = u + words[ends + j]
                for c in range(widths[j]):
                    total += O[G + c] * room[column + c]
                G += widths[j]
            room[r + row + i] = total


def all_along(tables, O, at_O, u, r, gamma):
    """r = G u, with γ where that is asked for."""
    for k in range(tables.n_parts):
        if tables.what[k] >= ROWS:
            along(tables, k, O, at_O, u, r, gamma)


def add_pulls(tables, k, O, at_O, r, u):
    """u += Gᵀ r of rows of one kind."""
    words, room, widths, m, columns = tables.words, tables.room, tables.widths[k], tables.rows[k], tables.columns[k]
    base = tables.parts_at + PART * k
    for e in range(words[base + COUNT]):
        row, ends = words[words[base + FIRST] + e], words[base + ENDS] + e * tables.ends[k]
        at = at_O + words[base + WRITES] + e * tables.lengths[k] + 3 * m
        for i in range(m):
            G, value = at + i * columns, room[r + row + i]
            for j in range(tables.ends[k]):
                column = u + words[ends + j]
                for c in range(widths[j]):
                    room[column + c] += O[G + c] * value
                G += widths[j]


def pulls(tables, O, at_O, r, u):
    """u = Gᵀ r"""
    clear(tables.room, u, tables.words[tables.head + N_COLUMNS])
    for k in range(tables.n_parts):
        if tables.what[k] >= ROWS:
            add_pulls(tables, k, O, at_O, r, u)


def bend(tables, k, O, at_O, by_g, by_rate):
    """γ + by_rate g' + by_g g in the place of γ, of rows of one kind."""
    words, m = tables.words, tables.rows[k]
    base = tables.parts_at + PART * k
    if by_g != 0.0 or by_rate != 0.0:
        for e in range(words[base + COUNT]):
            at = at_O + words[base + WRITES] + e * tables.lengths[k]
            for i in range(m):
                O[at + 2 * m + i] += O[at + m + i] * by_rate + O[at + i] * by_g
