"""Tables of elements, eight of a kind at once; and products with G and W⁻¹, which lie where the elements wrote them.

A context is memory of the layout `EIGHTS`: sizes, and the addresses of tables. Elements are bodies, forces and rows of
constraints; a kind of them has one function, compiled once for all mechanisms, which takes eight elements, and a table: the lumps
at their ends, the places of their numbers in data. The function takes a = (q of the ends, v of the ends) and these numbers, and
writes

    body     W⁻¹ (its diagonal or the whole), f, and q' where that is not v
    force    f on all ends
    rows     g, g', γ, G: of positions; SPEEDS of velocities, without g; NORMS, invariants of q, have g and G by q alone

A lump is what one block of the mass matrix belongs to: a body, or some that share inertia. Lumps that are alike stand on one
*shelf*. Coordinates, rows and what elements write are ordered inside as vectors want it: number i of eight elements side by side,
then number i + 1, then the next eight elements; see `native.eight`. A table is cut into eight pieces of equal length, of which each
group of eight has one element each; a group without one of the last pieces has copies of its last element, which are computed as
well and used by nobody.
"""

from __future__ import annotations

from ..native.eight import add_to, collect, eight, greater, pick, put, root_of, size_of, spread
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, leaf, numbers_at, part, whole_at
from .elements import BODY, FORCE, NORMS, ROWS, SPEEDS
from .signatures import NO_MODE

# words of a kind: what it is, its function, elements, ends, numbers, rows, numbers that it writes, place of these, whether W⁻¹ is
# a whole matrix, whether it writes q', addresses of the places of its ends (of q, v and columns, for each end of eight elements)
# and of its numbers in data, place of its first row, groups of eight, address of the widths of its ends (the same three), columns
# of its rows, shelf of a body
KIND = 17
# words of a shelf: groups of eight, widths of q, v, columns, their places, place of W⁻¹, numbers from a group's W⁻¹ to the next,
# whether it is a whole matrix
SHELF = 10

EIGHTS = Layout(
    "EIGHTS",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("kinds", "address of the kinds, `KIND` words each"),
            ("n_kinds", "how many"),
            ("shelves", "address of the shelves, `SHELF` words each"),
            ("n_shelves", "how many"),
            ("into_q", "address: which of the model's coordinates stands at each place here"),
            ("into_v", "address: the same of velocities"),
            ("into_c", "address: the same of what columns of the rows stand for"),
            ("from_q", "address: place here of each of the model's coordinates"),
            ("from_v", "address: the same of velocities"),
            ("from_c", "address: the same of what columns of the rows stand for"),
            ("from_rows", "address: place here of each of the model's rows at velocity level, or of those that are eliminated"),
            ("from_position", "address: the same of rows at position level"),
            ("nq", "coordinates"),
            ("nv", "velocities"),
            ("nc", "columns of the rows"),
            ("n_rows", "rows of constraints at velocity level, or those that are eliminated"),
            ("n_position", "rows at position level"),
            ("places_q", "places of coordinates here, those of copies among them"),
            ("places_v", "the same of velocities"),
            ("places_c", "the same of columns"),
            ("places_rows", "the same of rows"),
            ("program", "address of the program of elimination"),
            ("order", "address: place of each group of fronts in it"),
            ("groups", "how many"),
            ("redundant", "rows that repeat others; -1: not known yet"),
            ("weights_of", "address: for each end of eight elements with rows, whether its W⁻¹ is whole, and eight places of it"),
            ("metric", "address: place in data of a length by which columns are weighed, or -1"),
            ("factors", "address: factors of that length's square, as numbers"),
            ("at_weights", "place of W⁻¹ where it is that of projections"),
            ("room", "numbers of room that a call takes"),
            ("own_room", "address of a room that belongs to the context"),
            ("spare", "the same while no call has it, then 0: the one word here that is written, as one that another thread reads"),
            ("at_q", "places in that room: coordinates"),
            ("at_v", "velocities"),
            ("at_f", "forces, columns"),
            ("at_a", "accelerations, columns"),
            ("at_b", "columns, rates"),
            ("at_r", "rows"),
            ("at_s", "rows"),
            ("at_g", "rows"),
            ("at_c", "rows"),
            ("at_arg", "arguments of eight elements"),
            ("at_data", "numbers of eight elements"),
            ("at_front", "eight fronts"),
            ("at_block", "blocks of G and W⁻¹ of eight lumps"),
            ("at_diagonal", "diagonal of S"),
            ("at_left", "what fronts leave"),
            ("at_sides", "right hand sides of fronts"),
            ("at_kept", "what kinds write, W⁻¹ and panels"),
        )
    ],
)
see = view_as(EIGHTS)
SPARE = list(EIGHTS.fields).index("spare")


@leaf
def rearranged(places, x, at_x, y, at_y, n):
    """y[i] = x[places[i]]"""
    some = n - n % 8
    for i in range(0, some, 8):
        put(y, at_y + i, pick(x, at_x, places, i))
    for i in range(some, n):
        y[at_y + i] = x[at_x + places[i]]


@leaf
def placed(places, x, at_x, y, at_y, n):
    """y[places[i]] = x[i]"""
    for i in range(n):
        y[at_y + places[i]] = x[at_x + i]


@inner
def evaluate_kinds(head, address, t, data, T, O):
    """Call the functions of all elements; what bodies and rows give goes to O, forces are summed in T."""
    kinds = whole_at(head.kinds, KIND * head.n_kinds)
    D = numbers_at(address + 8 * head.at_data, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        what, function, count, many, n_data = kinds[base], kinds[base + 1], kinds[base + 2], kinds[base + 3], kinds[base + 4]
        written, at = 8 * kinds[base + 6], kinds[base + 7]
        starts, places, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 11], 1), whole_at(kinds[base + 14], 1)
        for g in range(kinds[base + 13]):
            to, end = head.at_arg, 24 * g * many
            for j in range(many):
                collect(T, starts, end + 24 * j, head.at_q, widths[3 * j], T, to)
                to += 8 * widths[3 * j]
            for j in range(many):
                collect(T, starts, end + 24 * j + 8, head.at_v, widths[3 * j + 1], T, to)
                to += 8 * widths[3 * j + 1]
            for i in range(n_data):
                collect(data, places, 8 * (g * n_data + i), 0, 1, D, 8 * i)
            call_model_at(function, 0, NO_MODE, t, T, head.at_arg, T, head.at_arg, D, O, at)
            if what == FORCE:
                place, some = at, (count - g - 1) // kinds[base + 13] + 1
                for j in range(many):
                    add_to(T, starts, end + 24 * j + 8, head.at_f, widths[3 * j + 1], O, place, some)
                    place += 8 * widths[3 * j + 1]
            else:
                at += written


@leaf
def start_forces(kinds, n_kinds, shelves, O, T, at_f):
    """Forces of bodies by themselves: gravity, gyroscopic torques."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] != BODY:
            continue
        own = SHELF * kinds[base + 16]
        width, to = shelves[own + 2], at_f + shelves[own + 5]
        at = kinds[base + 7] + 8 * (width * width if kinds[base + 8] else width)
        for _ in range(kinds[base + 13]):
            for i in range(width):
                put(T, to + 8 * i, eight(T, to + 8 * i) + eight(O, at + 8 * i))
            to += 8 * width
            at += 8 * kinds[base + 6]


@leaf
def rates(kinds, n_kinds, shelves, from_q, nq, O, T, at_v, at_b, out):
    """q' in the order of the model: v, or what bodies have written."""
    plain = True
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] != BODY or kinds[base + 9] == 0:
            continue
        plain = False
        own = SHELF * kinds[base + 16]
        width, wide = shelves[own + 2], shelves[own + 1]
        to, at = at_b + shelves[own + 4], kinds[base + 7] + 8 * ((width * width if kinds[base + 8] else width) + width)
        for _ in range(kinds[base + 13]):
            for i in range(wide):
                put(T, to + 8 * i, eight(O, at + 8 * i))
            to += 8 * wide
            at += 8 * kinds[base + 6]
    rearranged(from_q, T, at_v if plain else at_b, out, 0, nq)


@leaf
def times_G(kinds, n_kinds, O, u, at_u, r, at_r, T, at_arg):
    """r = G u"""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        many, m, written, columns = kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
        starts, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1)
        at, to = kinds[base + 7] + 24 * m, at_r + kinds[base + 12]
        for g in range(kinds[base + 13]):
            end, place = 24 * g * many + 16, at_arg
            for j in range(many):
                collect(u, starts, end + 24 * j, at_u, widths[3 * j + 2], T, place)
                place += 8 * widths[3 * j + 2]
            if m == 2 and columns == 6:  # pins and balls: the same loops, written out by the compiler
                _times(2, 6, O, at, T, at_arg, r, to)
            elif m == 3 and columns == 12:
                _times(3, 12, O, at, T, at_arg, r, to)
            else:
                _times(m, columns, O, at, T, at_arg, r, to)
            at += written
            to += 8 * m


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
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        count, many, m, written, columns = kinds[base + 2], kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
        starts, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1)
        at, of = kinds[base + 7] + 24 * m, at_r + kinds[base + 12]
        for g in range(kinds[base + 13]):
            if m == 2 and columns == 6:
                _transposed_times(2, 6, O, at, r, of, T, at_arg)
            elif m == 3 and columns == 12:
                _transposed_times(3, 12, O, at, r, of, T, at_arg)
            else:
                _transposed_times(m, columns, O, at, r, of, T, at_arg)
            end, place, some = 24 * g * many + 16, at_arg, (count - g - 1) // kinds[base + 13] + 1
            for j in range(many):
                add_to(u, starts, end + 24 * j, at_u, widths[3 * j + 2], T, place, some)
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
def over_weights(shelves, n_shelves, O, u, at_u, v, at_v):
    """v = W⁻¹ u, lump by lump. Where it is diagonal, v may be u."""
    for k in range(n_shelves):
        own = SHELF * k
        width, place, W, step, full = shelves[own + 3], shelves[own + 6], shelves[own + 7], 8 * shelves[own + 8], shelves[own + 9]
        for _ in range(shelves[own]):
            if full == 0:
                for i in range(width):
                    put(v, at_v + place + 8 * i, eight(O, W + 8 * i) * eight(u, at_u + place + 8 * i))
            else:
                for i in range(width):
                    row = W + 8 * i * width
                    total = eight(O, row) * eight(u, at_u + place)
                    for j in range(1, width):
                        total += eight(O, row + 8 * j) * eight(u, at_u + place + 8 * j)
                    put(v, at_v + place + 8 * i, total)
            place += 8 * width
            W += step


@leaf
def rows_of(kinds, n_kinds, O, level, out, at_out):
    """What rows have written: 0 g, 1 g', 2 γ."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS or kinds[base] == (SPEEDS if level == 0 else NORMS):
            continue
        m, at, to = kinds[base + 5], kinds[base + 7], at_out + kinds[base + 12]
        for _ in range(kinds[base + 13]):
            for i in range(m):
                put(out, to + 8 * i, eight(O, at + 8 * (level * m + i)))
            at += 8 * kinds[base + 6]
            to += 8 * m


@leaf
def diagonal_of_S(kinds, n_kinds, shelves, weights_of, O, T, at_arg, at_diagonal):
    """The diagonal of G W⁻¹ Gᵀ. `weights_of` has, for the ends of all elements with rows, whether W⁻¹ is whole, and its places."""
    at_ends = 0
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        many, m, written, columns = kinds[base + 3], kinds[base + 5], 8 * kinds[base + 6], kinds[base + 15]
        widths = whole_at(kinds[base + 14], 1)
        at, to = kinds[base + 7] + 24 * m, at_diagonal + kinds[base + 12]
        for _ in range(kinds[base + 13]):
            column = 0
            for j in range(many):
                width, full = widths[3 * j + 2], weights_of[at_ends]
                collect(O, weights_of, at_ends + 1, 0, width * width if full else width, T, at_arg)
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
                at_ends += 9
            at += written
            to += 8 * m


@leaf
def lengths(kinds, n_kinds, O, T, at):
    """1/‖row‖ of every row."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        m, columns = kinds[base + 5], kinds[base + 15]
        row, to = kinds[base + 7] + 24 * m, at + kinds[base + 12]
        for _ in range(kinds[base + 13]):
            for i in range(m):
                total = spread(0.0)
                for c in range(columns):
                    entry = eight(O, row + 8 * (i * columns + c))
                    total += entry * entry
                put(T, to + 8 * i, 1.0 / greater(root_of(total), 1e-300))
            row += 8 * kinds[base + 6]
            to += 8 * m


@leaf
def inverse_metric(metric, factors, data, O, at, n):
    """W⁻¹ of every column."""
    for i in range(n):
        size = 1.0 if metric[i] < 0 else data[metric[i]]
        O[at + i] = 1.0 / (factors[i] * size * size)


@leaf
def mean(from_rows, n, x, at):
    """The mean of numbers of rows."""
    whole = 0.0
    for i in range(n):
        whole += x[at + from_rows[i]]
    return whole / n


@leaf
def judged(kinds, n_kinds, T, at_r, at_g, at_lam, at_diagonal, at_arg):
    """The largest ratio of what is left of a row, r, to the parts it is summed from; NaN where there is one.

    The parts of a row are G M⁻¹ f + γ, and S λ, of which the diagonal is known; a row that has nothing else is measured by a
    part of what the others have.
    """
    most = found = wrong = 0.0
    for turn in range(2):
        top, sum_ = spread(0.0), spread(0.0)
        for k in range(n_kinds):
            base = KIND * k
            if kinds[base] < ROWS:
                continue
            groups, m, first = kinds[base + 13], kinds[base + 5], kinds[base + 12]
            whole = first + 8 * m * max(0, kinds[base + 2] - 7 * groups)  # where copies begin to stand beside rows
            for i in range(first, whole, 8):
                part = size_of(eight(T, at_g + i)) + eight(T, at_diagonal + i) * size_of(eight(T, at_lam + i))
                if turn == 0:
                    top = greater(top, part)
                else:
                    ratio = size_of(eight(T, at_r + i)) / (part + most)
                    top = greater(top, ratio)
                    sum_ += ratio * 0.0
            for place in range(whole, first + 8 * m * groups, 8 * m):
                some = (kinds[base + 2] - (place - first) // (8 * m) - 1) // groups + 1
                for at in range(place, place + 8 * m, 8):
                    for i in range(at, at + some):
                        part = abs(T[at_g + i]) + T[at_diagonal + i] * abs(T[at_lam + i])
                        if turn == 0:
                            most = max(most, part) if part == part else most
                        else:
                            ratio = abs(T[at_r + i]) / (part + most)
                            found = max(found, ratio) if ratio == ratio else found
                            wrong += ratio * 0.0
        put(T, at_arg, top)
        put(T, at_arg + 8, sum_)
        for i in range(8):
            if turn == 0:
                most = max(most, T[at_arg + i])
            else:
                found = max(found, T[at_arg + i])
                wrong += T[at_arg + 8 + i]
        if turn == 0:
            most = max(1e-2 * most, 1e-300)
    return found + wrong


@leaf
def largest(from_rows, x, at, n):
    """max |x| of rows; NaN where there is one."""
    found = 0.0
    for k in range(n):
        i = at + from_rows[k]
        if not abs(x[i]) <= found:
            found = abs(x[i])
    return found


@leaf
def plus(x, at_x, y, at_y, n):
    """x += y, n a multiple of eight, as below."""
    for i in range(0, n, 8):
        put(x, at_x + i, eight(x, at_x + i) + eight(y, at_y + i))


@leaf
def minus(x, at_x, y, at_y, n, z, at_z):
    """z = x - y"""
    for i in range(0, n, 8):
        put(z, at_z + i, eight(x, at_x + i) - eight(y, at_y + i))


@leaf
def copied(x, at_x, n, y, at_y):
    """y = x"""
    for i in range(0, n, 8):
        put(y, at_y + i, eight(x, at_x + i))


@leaf
def clear(x, at, n):
    """x = 0"""
    for i in range(0, n, 8):
        put(x, at + i, 0.0)
