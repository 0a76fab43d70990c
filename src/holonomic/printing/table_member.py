"""Operators of a model that is tables, for one member of a sweep on a GPU: one element after the other, no eight of them at once.

Every kind of element has its own loop, in which its sizes are numbers and its function, printed from the same tape as the machine
code of other runs, is called by name. How many elements there are, where their numbers stand and how S = G W⁻¹ Gᵀ is eliminated is
read from `words`, which all members share and `table_words` writes. So mechanisms of the same kinds of elements run one program.
A context is one set of rows with its elimination; columns stand lump after lump, rows in the order of pivots.

Written into the programs of a GPU alone, and so not compiled here; what tells `table_evaluation` and `table_moves`, too, what a
solution is worth is taken from there.
"""

from __future__ import annotations

import math

from ..kernels.elements import BODY, FORCE, NORMS, ROWS, STATE
from ..kernels.front_groups import SEVERAL, TINY
from ..kernels.table_evaluation import CANCELLED, LOST, MOST_REFINEMENTS, REFINED
from ..kernels.table_products import small_part

# words of a context
HEAD = (
    "N_Q", "N_V", "N_ROWS", "N_POSITION", "N_COLUMNS", "N_ENTRIES", "REDUNDANT", "TOUCHES", "N_TOUCHES", "POINTS", "ROW_ORDER",
    "COLUMN_ORDER", "METRIC", "FACTORS", "GAINS", "AT_F", "AT_A", "AT_B", "AT_G", "AT_LAM", "AT_R", "AT_DIAGONAL", "AT_LINE",
    "AT_O", "AT_W", "AT_L",
)  # fmt: skip
(
    N_Q, N_V, N_ROWS, N_POSITION, N_COLUMNS, N_ENTRIES, REDUNDANT, TOUCHES, N_TOUCHES, POINTS, ROW_ORDER, COLUMN_ORDER, METRIC,
    FACTORS, GAINS, AT_F, AT_A, AT_B, AT_G, AT_LAM, AT_R, AT_DIAGONAL, AT_LINE, AT_O, AT_W, AT_L,
) = range(len(HEAD))  # fmt: skip
# words of a kind in it: elements; address of the places of their arguments in x, of what they have for numbers, of the first
# columns of their ends, of their first rows; where they write; places of their given and of their settled numbers in room
COUNT, PLACES, NUMBERS, ENDS, FIRST, WRITES, GIVEN, SETTLED = range(8)
PART = 8
TOUCH, OTHER = 7, 3  # words of an element's end at a lump, and of each before it
NONE = -1  # place of a number that is 1


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


def all_along(tables, O, at_O, u, r, gamma):
    """r = G u, with γ where that is asked for."""
    for k in range(tables.n_parts):
        if tables.what[k] >= ROWS:
            along(tables, k, O, at_O, u, r, gamma)


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
            for j in range(last):
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
    n, line, diagonal, points = words[head + N_ROWS], words[head + AT_LINE], words[head + AT_DIAGONAL], words[head + POINTS]
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


def judged(tables, floor):
    """The largest ratio of what is left of a row, r, to the parts it is summed from; NaN where there is one."""
    words, room, head = tables.words, tables.room, tables.head
    n, g, lam, r, diagonal = (
        words[head + N_ROWS], words[head + AT_G], words[head + AT_LAM], words[head + AT_R], words[head + AT_DIAGONAL]
    )  # fmt: skip
    little, most = True, 0.0
    for p in range(n):
        part = abs(room[g + p]) + room[diagonal + p] * abs(room[lam + p])
        if not abs(room[r + p]) <= REFINED * part:
            little = False
        most = max(most, part)
    if little:
        return 0.0
    most = max(1e-2 * most, floor, 1e-300)
    found = 0.0
    for p in range(n):
        part = abs(room[g + p]) + room[diagonal + p] * abs(room[lam + p])
        ratio = abs(room[r + p]) / (part + most)
        if not ratio <= found and found == found:
            found = ratio
    return found


def all_weighed(tables, O, at_O, at_u, less):
    """b = W⁻¹ u, or, with `less`, a - W⁻¹ u."""
    for k in range(tables.n_parts):
        if tables.what[k] == BODY:
            weighed(tables, k, O, at_O, at_u, less)


def consistent(tables, O, at_O, at_L):
    """Take out of G M⁻¹ f + γ what no λ can give; beside the constraints rows that repeat others disagree."""
    words, room, head = tables.words, tables.room, tables.head
    n, f, b, g, given, r = (
        words[head + N_ROWS], words[head + AT_F], words[head + AT_B], words[head + AT_G], words[head + AT_LAM],
        words[head + AT_R],
    )  # fmt: skip
    before = 0.0
    for p in range(n):
        room[given + p] = 0.0
        room[r + p] = room[g + p]
    for refinement in range(MOST_REFINEMENTS):
        solve(tables, O, at_L, r)
        pulls(tables, O, at_O, r, f)
        all_weighed(tables, O, at_O, f, False)
        all_along(tables, O, at_O, b, r, False)
        change, size = 0.0, 0.0
        for p in range(n):
            if not abs(room[r + p]) <= change:
                change = abs(room[r + p])
            room[given + p] += room[r + p]
            room[r + p] = room[g + p] - room[given + p]
            size = max(size, abs(room[given + p]))
        if not change > 1e-15 * size or (refinement > 0 and not change < 0.5 * before):
            break
        before = change
    for p in range(n):
        room[g + p] = room[given + p]


def refine(tables, O, at_O, at_L):
    """λ = S⁻¹ (G M⁻¹ f + γ), corrected by what b = M⁻¹ f - M⁻¹ Gᵀ λ leaves of G b + γ; return how much that is."""
    words, room, head = tables.words, tables.room, tables.head
    n, nc, f, a, b, g, lam, r = (
        words[head + N_ROWS], words[head + N_COLUMNS], words[head + AT_F], words[head + AT_A], words[head + AT_B],
        words[head + AT_G], words[head + AT_LAM], words[head + AT_R],
    )  # fmt: skip
    for p in range(n):
        room[lam + p] = room[g + p]
    solve(tables, O, at_L, lam)
    left, before, floor = 0.0, 0.0, 0.0
    for refinement in range(MOST_REFINEMENTS):
        if refinement > 0:
            solve(tables, O, at_L, r)
            for p in range(n):
                room[lam + p] += room[r + p]
        pulls(tables, O, at_O, lam, f)
        if words[head + REDUNDANT] > 0:
            all_weighed(tables, O, at_O, f, False)
            all_along(tables, O, at_O, b, r, False)
            for p in range(n):
                room[r + p] = room[g + p] - room[r + p]
            for i in range(nc):
                room[b + i] = room[a + i] - room[b + i]
        else:
            all_weighed(tables, O, at_O, f, True)
            all_along(tables, O, at_O, b, r, True)
        left = judged(tables, floor)
        if floor == 0.0 and left > REFINED:
            for i in range(nc):
                floor = max(floor, CANCELLED * abs(room[a + i]))
            left = judged(tables, floor)
        if not left > REFINED or (refinement > 0 and not left < 0.5 * before):
            break
        before = left
    return left


def field(tables, t, a, at_a, out, at_out):
    """FIELD: (q', v', λ, ρ)."""
    words, room, head = tables.words, tables.room, tables.head
    at_O, at_L, line = words[head + AT_O], words[head + AT_L], words[head + AT_LINE]
    n, behind = words[head + N_ROWS], at_out + words[head + N_Q] + words[head + N_V]
    clear(room, words[head + AT_F], words[head + N_COLUMNS])
    for k in range(tables.n_parts):
        base = tables.parts_at + PART * k
        if tables.what[k] == FORCE:
            add_forces(tables, k, t, a, at_a)
        elif tables.what[k] == STATE:
            give_states(tables, k, t, a, at_a, out, at_out)
        else:
            for e in range(words[base + COUNT]):
                evaluate(tables, k, e, t, a, at_a, room, at_O + words[base + WRITES] + e * tables.lengths[k])
    for k in range(tables.n_parts):
        if tables.what[k] == BODY:
            weigh(tables, k, room, at_O)
    least, found = 1.0, words[head + AT_A]
    if tables.has_rows:
        gains = words[head + GAINS]
        by_g, by_rate = number(tables, gains), number(tables, gains + 1)
        for k in range(tables.n_parts):
            if tables.what[k] >= ROWS:
                bend(tables, k, room, at_O, by_g, by_rate)
        all_along(tables, room, at_O, words[head + AT_A], words[head + AT_G], True)
        least, tiny = factor(tables, room, at_L, assemble(tables, room, at_O, at_L))
        if tiny > max(words[head + REDUNDANT], 0):
            least = 0.0
        if words[head + REDUNDANT] > 0:
            consistent(tables, room, at_O, at_L)
        left = refine(tables, room, at_O, at_L)
        if not left <= LOST:
            least = 0.0 if left > LOST else left  # NaN stays one
        for p in range(n):
            out[behind + words[words[head + ROW_ORDER] + p]] = room[words[head + AT_LAM] + p]
        found = words[head + AT_B]
    for k in range(tables.n_parts):
        if tables.what[k] == BODY:
            give_bodies(tables, k, a, at_a, room, at_O, found, out, at_out)
    out[behind + n] = least


def bend(tables, k, O, at_O, by_g, by_rate):
    """γ + by_rate g' + by_g g in the place of γ, of rows of one kind."""
    words, m = tables.words, tables.rows[k]
    base = tables.parts_at + PART * k
    if by_g != 0.0 or by_rate != 0.0:
        for e in range(words[base + COUNT]):
            at = at_O + words[base + WRITES] + e * tables.lengths[k]
            for i in range(m):
                O[at + 2 * m + i] += O[at + m + i] * by_rate + O[at + i] * by_g


def residual(tables, t, a, at_a, out, at_out):
    """RESIDUAL: position rows, then velocity rows."""
    words, room, head = tables.words, tables.room, tables.head
    line, second = words[head + AT_LINE], at_out + words[head + N_POSITION]
    for k in range(tables.n_parts):
        base, m = tables.parts_at + PART * k, tables.rows[k]
        for e in range(words[base + COUNT]):
            evaluate(tables, k, e, t, a, at_a, room, line)
            row = words[words[base + FIRST] + e]
            for i in range(m):
                if tables.what[k] == ROWS or tables.what[k] == NORMS:
                    out[at_out + row + i] = room[line + i]
                if tables.what[k] != NORMS:
                    out[second + row + i] = room[line + m + i]


def factor_rows(tables, t, a, at_a, out, at_out):
    """FACTOR: F of the rows at x: ρ, 1/‖rows‖, what rows write, W⁻¹, L D Lᵀ."""
    words, head = tables.words, tables.head
    at_O, at_L, metric, factors = at_out + words[head + AT_O], at_out + words[head + AT_L], words[head + METRIC], words[head + FACTORS]
    weights = at_O + words[head + AT_W]
    for i in range(words[head + N_COLUMNS]):
        place, size = words[metric + i], 1.0
        if place != NONE:
            size = number(tables, place)
        out[weights + i] = 1.0 / (tables.common[factors + i] * size * size)
    for k in range(tables.n_parts):
        base, m, columns = tables.parts_at + PART * k, tables.rows[k], tables.columns[k]
        for e in range(words[base + COUNT]):
            at, row = at_O + words[base + WRITES] + e * tables.lengths[k], words[words[base + FIRST] + e]
            evaluate(tables, k, e, t, a, at_a, out, at)
            for i in range(m):
                G, total = at + 3 * m + i * columns, 0.0
                for c in range(columns):
                    total += out[G + c] * out[G + c]
                out[at_out + 1 + words[words[head + ROW_ORDER] + row + i]] = 1.0 / max(math.sqrt(total), 1e-300)
    least, tiny = factor(tables, out, at_L, assemble(tables, out, at_O, at_L))
    if tiny > max(words[head + REDUNDANT], 0):
        least = -1.0 * tiny  # below zero: how many rows repeat others
    out[at_out] = least


def way_back(tables, F, at_F, out, at_out):
    """W⁻¹Gᵀ S⁻¹ r, r in room, in the order of the model."""
    words, room, head = tables.words, tables.room, tables.head
    at_O, at_L, n, nc = at_F + words[head + AT_O], at_F + words[head + AT_L], words[head + N_ROWS], words[head + N_COLUMNS]
    weights, r, lam, left = at_O + words[head + AT_W], words[head + AT_R], words[head + AT_LAM], words[head + AT_G]
    f, a = words[head + AT_F], words[head + AT_A]
    clear(room, a, nc)
    size, before = 0.0, 0.0
    for p in range(n):
        room[left + p] = room[r + p]
        size = max(size, abs(room[r + p]))
    for refinement in range(MOST_REFINEMENTS):
        solve(tables, F, at_L, left)
        pulls(tables, F, at_O, left, f)
        for i in range(nc):
            room[a + i] += F[weights + i] * room[f + i]
        if words[head + REDUNDANT] == 0:
            break
        all_along(tables, F, at_O, a, left, False)
        most = 0.0
        for p in range(n):
            room[left + p] = room[r + p] - room[left + p]
            if not abs(room[left + p]) <= most:
                most = abs(room[left + p])
        if not most > REFINED * size or (refinement > 0 and not most < 0.5 * before):
            break
        before = most
    for i in range(nc):
        out[at_out + words[words[head + COLUMN_ORDER] + i]] = room[a + i]


def solve_rows(tables, a, at_a, b, at_b, out, at_out):
    """SOLVE: a = F, b = r -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ r."""
    words, room, head = tables.words, tables.room, tables.head
    for p in range(words[head + N_ROWS]):
        room[words[head + AT_R] + p] = b[at_b + words[words[head + ROW_ORDER] + p]]
    way_back(tables, a, at_a, out, at_out)


def tangent_rows(tables, a, at_a, b, at_b, out, at_out):
    """TANGENT: a = F, b = e -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ G e."""
    words, room, head = tables.words, tables.room, tables.head
    for i in range(words[head + N_COLUMNS]):
        room[words[head + AT_F] + i] = b[at_b + words[words[head + COLUMN_ORDER] + i]]
    all_along(tables, a, at_a + words[head + AT_O], words[head + AT_F], words[head + AT_R], False)
    way_back(tables, a, at_a, out, at_out)
