"""Tables of elements: one small function per kind, called row by row; and products with G and W⁻¹, which lie where these wrote.

A context is memory of the layout `TABLES`: sizes, and the addresses of tables. Elements are bodies, forces and rows of
constraints; a kind of them has one function, compiled once for all mechanisms, and a table: the lumps at its ends, the places of
its numbers in data, its first row. Its function takes a = (q of its ends, v of its ends) and these numbers, and writes

    body     W⁻¹ (its diagonal or the whole), f, and q' where that is not v
    force    f on all ends
    rows     g, g', γ, G: of positions; SPEEDS of velocities, without g; NORMS, invariants of q, have g and G by q alone

A lump is what one block of the mass matrix belongs to: a body, or some that share inertia. Inside, coordinates are ordered
lump by lump. Rooms for numbers are taken at every call and given back, as many runs share one context.
"""

from __future__ import annotations

from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, leaf, numbers_at, whole_at
from .signatures import NO_MODE

BODY, FORCE, ROWS, SPEEDS, NORMS = 0, 1, 2, 3, 4
# words of a kind: what it is, its function, elements, ends, numbers, rows, numbers that it writes, place of these, whether W⁻¹ is
# a whole matrix, whether it writes q', addresses of the tables of lumps, places in data, first rows
KIND = 13
# words of a lump: place and number of its q, of its v, of its columns; place of W⁻¹, whether that is a whole matrix
LUMP = 8

TABLES = Layout(
    "TABLES",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("kinds", "address of the kinds, `KIND` words each"),
            ("n_kinds", "how many"),
            ("lumps", "address of the lumps, `LUMP` words each"),
            ("n_lumps", "how many"),
            ("order_q", "address: place among the model's coordinates of each coordinate here"),
            ("order_v", "address: the same of velocities"),
            ("order_c", "address: the same of what columns of the rows stand for"),
            ("nq", "coordinates"),
            ("nv", "velocities"),
            ("nc", "columns of the rows"),
            ("n_rows", "rows of constraints at velocity level, or those that are eliminated"),
            ("n_position", "rows at position level"),
            ("program", "address of the program of elimination"),
            ("order", "address: place of each front in it"),
            ("fronts", "how many"),
            ("redundant", "rows that repeat others; -1: not known yet"),
            ("metric", "address: place in data of a length by which columns are weighed, or -1"),
            ("factors", "address: factors of that length's square, as numbers"),
            ("room", "numbers of room that a call takes"),
            ("at_q", "places in that room: coordinates, lump by lump"),
            ("at_v", "velocities"),
            ("at_f", "forces, columns"),
            ("at_a", "accelerations, columns"),
            ("at_r", "rows"),
            ("at_s", "rows"),
            ("at_g", "rows"),
            ("at_c", "rows"),
            ("at_arg", "arguments of an element"),
            ("at_data", "numbers of an element"),
            ("at_front", "the front"),
            ("at_row", "a row of G W⁻¹"),
            ("at_diagonal", "diagonal of S"),
            ("at_left", "what fronts leave"),
            ("at_kept", "what kinds write, W⁻¹ and panels"),
        )
    ],
)
see = view_as(TABLES)


@leaf
def gather(order, x, at_x, K, at, n):
    """Numbers of the model in the order of the tables."""
    for i in range(n):
        K[at + i] = x[at_x + order[i]]


@leaf
def scatter(order, K, at, out, at_out, n, factor):
    """Numbers of the tables in the order of the model, times a factor."""
    for i in range(n):
        out[at_out + order[i]] = factor * K[at + i]


@leaf
def arguments(lumps, ends, first, many, T, at_q, at_v, at):
    """(q, v) of an element's ends, and their numbers, from `at` on."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_q + lumps[own]
        for i in range(lumps[own + 1]):
            T[at] = T[start + i]
            at += 1
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_v + lumps[own + 2]
        for i in range(lumps[own + 3]):
            T[at] = T[start + i]
            at += 1


@leaf
def numbers(places, first, many, data, D):
    """An element's own numbers."""
    for i in range(many):
        D[i] = data[places[first + i]]


@leaf
def add_forces(lumps, ends, first, many, O, at, T, at_f):
    """Forces of an element to those of its ends."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_f + lumps[own + 2]
        for i in range(lumps[own + 3]):
            T[start + i] += O[at]
            at += 1


@inner
def evaluate_kinds(head, address, t, data, T, O):
    """Call the functions of all elements; what bodies and rows give goes to O, forces are summed in T."""
    kinds, lumps = whole_at(head.kinds, KIND * head.n_kinds), whole_at(head.lumps, LUMP * head.n_lumps)
    D = numbers_at(address + 8 * head.at_data, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        what, function, count, many, n_data = kinds[base], kinds[base + 1], kinds[base + 2], kinds[base + 3], kinds[base + 4]
        written, at = kinds[base + 6], kinds[base + 7]
        ends, places = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 11], 1)
        for e in range(count):
            arguments(lumps, ends, e * many, many, T, head.at_q, head.at_v, head.at_arg)
            numbers(places, e * n_data, n_data, data, D)
            call_model_at(function, 0, NO_MODE, t, T, head.at_arg, T, head.at_arg, D, O, at)
            if what == FORCE:
                add_forces(lumps, ends, e * many, many, O, at, T, head.at_f)
            else:
                at += written


@leaf
def start_forces(kinds, n_kinds, lumps, O, T, at_f):
    """Forces of bodies by themselves: gravity, gyroscopic torques."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] != BODY:
            continue
        ends = whole_at(kinds[base + 10], 1)
        for e in range(kinds[base + 2]):
            own = LUMP * ends[e]
            width = lumps[own + 3]
            at = kinds[base + 7] + e * kinds[base + 6] + (width * width if kinds[base + 8] else width)
            for i in range(width):
                T[at_f + lumps[own + 2] + i] += O[at + i]


@leaf
def rates(kinds, n_kinds, lumps, order, O, T, at_v, nv, out):
    """q' in the order of the model: v, or what bodies have written."""
    plain = True
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] != BODY or kinds[base + 9] == 0:
            continue
        plain = False
        ends = whole_at(kinds[base + 10], 1)
        for e in range(kinds[base + 2]):
            own = LUMP * ends[e]
            width = lumps[own + 3]
            at = kinds[base + 7] + e * kinds[base + 6] + (width * width if kinds[base + 8] else width) + width
            for i in range(lumps[own + 1]):
                out[order[lumps[own] + i]] = O[at + i]
    if plain:
        for i in range(nv):
            out[order[i]] = T[at_v + i]


@leaf
def times_G(kinds, n_kinds, lumps, O, u, at_u, r, at_r):
    """r = G u"""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        many, m, written, at = kinds[base + 3], kinds[base + 5], kinds[base + 6], kinds[base + 7] + 3 * kinds[base + 5]
        ends, first = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 12], 1)
        for e in range(kinds[base + 2]):
            place = at
            for i in range(m):
                total = 0.0
                for j in range(many):
                    own = LUMP * ends[e * many + j]
                    start = at_u + lumps[own + 4]
                    for c in range(lumps[own + 5]):
                        total += O[place] * u[start + c]
                        place += 1
                r[at_r + first[e] + i] = total
            at += written


@leaf
def times_GT(kinds, n_kinds, lumps, O, r, at_r, u, at_u, n):
    """u = Gᵀ r"""
    for i in range(n):
        u[at_u + i] = 0.0
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        many, m, written, at = kinds[base + 3], kinds[base + 5], kinds[base + 6], kinds[base + 7] + 3 * kinds[base + 5]
        ends, first = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 12], 1)
        for e in range(kinds[base + 2]):
            place = at
            for i in range(m):
                value = r[at_r + first[e] + i]
                for j in range(many):
                    own = LUMP * ends[e * many + j]
                    start = at_u + lumps[own + 4]
                    for c in range(lumps[own + 5]):
                        u[start + c] += O[place] * value
                        place += 1
            at += written


@leaf
def over_weights(lumps, n_lumps, O, at_o, u, at_u, v, at_v):
    """v = W⁻¹ u, lump by lump; W⁻¹ lies in O from `at_o` on. Where it is diagonal, v may be u."""
    for k in range(n_lumps):
        own = LUMP * k
        start, width, W = lumps[own + 4], lumps[own + 5], at_o + lumps[own + 6]
        for i in range(width):
            if lumps[own + 7] == 0:
                v[at_v + start + i] = O[W + i] * u[at_u + start + i]
            else:
                total = 0.0
                for j in range(width):
                    total += O[W + i * width + j] * u[at_u + start + j]
                v[at_v + start + i] = total


@leaf
def rows_of(kinds, n_kinds, O, level, out, at_out):
    """What rows have written: 0 g, 1 g', 2 γ."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS or kinds[base] == (SPEEDS if level == 0 else NORMS):
            continue
        m, at, first = kinds[base + 5], kinds[base + 7], whole_at(kinds[base + 12], 1)
        for e in range(kinds[base + 2]):
            for i in range(m):
                out[at_out + first[e] + i] = O[at + e * kinds[base + 6] + level * m + i]


@leaf
def mean_diagonal(kinds, n_kinds, lumps, O, n):
    """The mean of the diagonal of G W⁻¹ Gᵀ."""
    whole = 0.0
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        many, m, at = kinds[base + 3], kinds[base + 5], kinds[base + 7] + 3 * kinds[base + 5]
        ends = whole_at(kinds[base + 10], 1)
        for e in range(kinds[base + 2]):
            place = at + e * kinds[base + 6]
            for _ in range(m):
                for j in range(many):
                    own = LUMP * ends[e * many + j]
                    width, W = lumps[own + 5], lumps[own + 6]
                    for c in range(width):
                        if lumps[own + 7] == 0:
                            whole += O[place + c] * O[place + c] * O[W + c]
                            continue
                        for d in range(width):
                            whole += O[place + c] * O[W + c * width + d] * O[place + d]
                    place += width
    return whole / n


@leaf
def judged(T, at_r, at_g, at_lam, at_diagonal, n):
    """The largest ratio of what is left of a row, r, to the parts it is summed from.

    The parts of a row are G M⁻¹ f + γ, and S λ, of which the diagonal is known; a row that has nothing else is measured by a
    part of what the others have.
    """
    most = 0.0
    for i in range(n):
        part = abs(T[at_g + i]) + T[at_diagonal + i] * abs(T[at_lam + i])
        if part > most:
            most = part
    found = 0.0
    for i in range(n):
        part = abs(T[at_g + i]) + T[at_diagonal + i] * abs(T[at_lam + i]) + 1e-2 * most
        left = abs(T[at_r + i])
        if not left <= found * part:  # NaN is found
            found = left / part
    return found


@leaf
def largest(x, at, n):
    """max |x|; NaN where there is one."""
    found = 0.0
    for i in range(n):
        if not abs(x[at + i]) <= found:
            found = abs(x[at + i])
    return found


@leaf
def plus(x, at_x, y, at_y, n):
    """x += y"""
    for i in range(n):
        x[at_x + i] += y[at_y + i]


@leaf
def minus(x, at_x, y, at_y, n, z, at_z):
    """z = x - y"""
    for i in range(n):
        z[at_z + i] = x[at_x + i] - y[at_y + i]


@leaf
def clear(x, at, n):
    """x = 0"""
    for i in range(n):
        x[at + i] = 0.0


