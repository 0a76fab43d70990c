"""Operators of a model that is tables, for one member of a sweep on a GPU.

What a solution is worth is told as in `table_evaluation` and `table_moves`, whose numbers these are. Written into the programs of a
GPU alone, and so not compiled here.
"""

from __future__ import annotations

import math

from ..kernels.elements import BODY, FORCE, NORMS, ROWS, STATE
from ..kernels.table_evaluation import CANCELLED, LOST, MOST_REFINEMENTS, REFINED
from .member_elements import (
    add_forces,
    all_along,
    all_weighed,
    bend,
    clear,
    evaluate,
    give_bodies,
    give_states,
    number,
    pulls,
    weigh,
)
from .member_elimination import assemble, factor, solve
from .word_places import (
    AT_A,
    AT_B,
    AT_DIAGONAL,
    AT_F,
    AT_G,
    AT_L,
    AT_LAM,
    AT_LINE,
    AT_O,
    AT_R,
    AT_W,
    COLUMN_ORDER,
    COUNT,
    FACTORS,
    FIRST,
    GAINS,
    METRIC,
    N_COLUMNS,
    N_POSITION,
    N_Q,
    N_ROWS,
    N_V,
    NONE,
    PART,
    REDUNDANT,
    ROW_ORDER,
    WRITES,
)


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
    at_O, at_L = words[head + AT_O], words[head + AT_L]
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
    at_O, at_L = at_out + words[head + AT_O], at_out + words[head + AT_L]
    metric, factors = words[head + METRIC], words[head + FACTORS]
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
    at_O, at_L, n, nc = (at_F + words[head + AT_O], at_F + words[head + AT_L], words[head + N_ROWS], words[head + N_COLUMNS])
    weights, r, left = at_O + words[head + AT_W], words[head + AT_R], words[head + AT_G]
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
