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

from ..native.eight import add_to, collect, eight, greater, pick, put, root_of, same, size_of, spread, turn, turn_back
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, leaf, numbers_at, whole_at
from .elements import BODY, FORCE, NORMS, ROWS, SPEEDS
from .signatures import NO_MODE

# words of a kind: what it is, its function, elements, ends, settled numbers, rows, numbers that it writes, place of these,
# whether W⁻¹ is a whole matrix (of a body; of rows a bit for each end), whether it writes q', addresses of the places of its ends
# (of q, v and columns, for each end of eight elements) and of its numbers in data, both with a word for eight, place of its first
# row, groups of eight, address of the widths of its ends (the same three), columns of its rows, shelf of a body, place of its
# settled numbers behind `at_numbers`, numbers that these are made of, the function that makes them or 0, place of its ends in
# `weights_of`
KIND = 21
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
            ("into_q", "address: which of the model's coordinates stands at each place here; see `into_places`"),
            ("into_v", "address: the same of velocities"),
            ("into_c", "address: the same of what columns of the rows stand for"),
            ("from_q", "address: place here of each of the model's coordinates"),
            ("from_v", "address: the same of velocities"),
            ("from_c", "address: the same of what columns of the rows stand for"),
            ("from_rows", "address: place here of each of the model's rows at velocity level, or of those that are eliminated"),
            ("from_position", "address: the same of rows at position level"),
            ("into_rows", "address: which row stands at each place, where one does"),
            ("into_position", "address: the same of rows at position level"),
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
            ("measured", "whether rows have written the squares of their lengths, in the place of g'"),
            ("at_gains", "place in data of the factors of g and of g' that accelerations of rows are bent by"),
            ("weights_of", "address: for each end of eight elements with rows a word for the places of its W⁻¹"),
            ("metric", "address: place in data of a length by which columns are weighed, or -1; 0 where bodies give W⁻¹"),
            ("factors", "address: factors of that length's square, as numbers"),
            ("at_weights", "place of W⁻¹ where it is that of projections; 0: bodies write it"),
            ("room", "numbers of room that a call takes"),
            ("own_room", "address of a room that all contexts of a mechanism share"),
            ("spare", "address of a word that is the same while no call has that room, then 0; other threads read it, too"),
            ("at_q", "places in that room: coordinates"),
            ("at_v", "velocities"),
            ("at_f", "forces, columns"),
            ("at_a", "accelerations, columns"),
            ("at_b", "columns, rates"),
            ("at_r", "rows"),
            ("at_s", "rows"),
            ("at_g", "rows"),
            ("at_arg", "arguments of eight elements"),
            ("at_numbers", "settled numbers of all elements, see `assembly.settled_numbers`, eight elements side by side"),
            ("at_known", "of the shared room: the data that these were taken from; eight places before, how often these changed"),
            ("first_known", "place in data of the first of them"),
            ("n_known", "how many, a multiple of eight but for the last"),
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


@leaf
def into_places(into, x, at_x, y, at_y, n):
    """Numbers of the model to where they stand here, y[i] = x[into[i]].

    Of 64 places that take eight neighbours each of eight pieces of the model, the first of `into` is a complement, ~p, and the
    first eight alone are looked at.
    """
    some = n - n % 64
    for block in range(0, some, 64):
        if into[block] < 0:
            turn(x, at_x, into, block, y, at_y + block)
        else:
            for i in range(block, block + 64, 8):
                put(y, at_y + i, pick(x, at_x, into, i))
    for i in range(some, n, 8):
        put(y, at_y + i, pick(x, at_x, into, i))


@leaf
def out_of_places(into, back, x, at_x, y, at_y, n):
    """The reverse, y[into[i]] = x[i]; what `back` does not name is left out: copies, and where nothing stands.

    `turn_back` writes copies before what they are copies of.
    """
    some = n - n % 64
    for block in range(0, n, 64):
        if block < some and into[block] < 0:
            turn_back(x, at_x + block, into, block, y, at_y)
        else:
            for i in range(block, min(n, block + 64)):
                if back[into[i]] == i:
                    y[at_y + into[i]] = x[at_x + i]


@leaf
def given_rows(into, back, x, y, at_y, n):
    """Numbers of rows to where they stand here; zero where there is none."""
    some = n - n % 64
    for block in range(0, n, 64):
        if block < some and into[block] < 0:
            turn(x, 0, into, block, y, at_y + block)
        else:
            for i in range(block, min(n, block + 64)):
                y[at_y + i] = x[into[i]] if back[into[i]] == i else 0.0


@leaf
def _known(data, first, n, T, at):
    """Whether data are those that were looked at last."""
    if n < 8:
        for i in range(n):
            if not data[first + i] == T[at + i]:
                return False
        return True
    for i in range(0, n - 7, 8):
        if not same(data, first + i, T, at + i):
            return False
    return same(data, first + n - 8, T, at + n - 8)


@leaf
def written_at(places, k):
    """Where eight places are written that have a word each, see `assembly.shelves.shortened`: there, or where the word tells."""
    return k if places[k] < 0 else places[k]


@inner
def numbers_of_kinds(head, address, data, T):
    """Settled numbers of all elements; the shared room keeps them as long as data are the same.

    Eight places before those of a kind is the time of their making, counted in changes of data.
    """
    own, changes = address == head.own_room, head.at_known - 8
    if own and not _known(data, head.first_known, head.n_known, T, head.at_known):
        T[changes] += 1.0
        for i in range(head.n_known):
            T[head.at_known + i] = data[head.first_known + i]
    kinds = whole_at(head.kinds, KIND * head.n_kinds)
    for k in range(head.n_kinds):
        base = KIND * k
        places, many, settling = whole_at(kinds[base + 11], 1), kinds[base + 18], kinds[base + 19]
        to = head.at_numbers + kinds[base + 17]
        made = to - 8
        if own and T[made] == T[changes]:
            continue
        T[made] = T[changes]
        for g in range(kinds[base + 13]):
            place = to if settling == 0 else head.at_arg
            for i in range(many):
                collect(data, places, written_at(places, g * many + i), 0, 1, T, place + 8 * i)
            if settling != 0:
                D = numbers_at(address + 8 * head.at_arg, 1)
                call_model_at(settling, 0, NO_MODE, 0.0, T, head.at_arg, T, head.at_arg, D, T, to)
            to += 8 * kinds[base + 4]


@inner
def evaluate_kinds(head, address, t, data, T, O):
    """Call the functions of all elements; what bodies and rows give goes to O, forces are summed in T."""
    numbers_of_kinds(head, address, data, T)
    kinds = whole_at(head.kinds, KIND * head.n_kinds)
    for k in range(head.n_kinds):
        evaluate_kind(head, address, t, T, O, KIND * k, 0, kinds[KIND * k + 13])


@inner
def evaluate_kind(head, address, t, T, O, base, begin, end):
    """Call the functions of some groups of one kind."""
    kinds = whole_at(head.kinds, 1)
    at_data = address + 8 * (head.at_numbers + kinds[base + 17])
    what, function, count, many, n_data = kinds[base], kinds[base + 1], kinds[base + 2], kinds[base + 3], kinds[base + 4]
    written, at = 8 * kinds[base + 6], kinds[base + 7]
    starts, widths = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 14], 1)
    if what != FORCE:
        at += begin * written
    for g in range(begin, end):
        to, place = head.at_arg, 3 * g * many
        for j in range(many):
            collect(T, starts, written_at(starts, place + 3 * j), head.at_q, widths[3 * j], T, to)
            to += 8 * widths[3 * j]
        for j in range(many):
            collect(T, starts, written_at(starts, place + 3 * j + 1), head.at_v, widths[3 * j + 1], T, to)
            to += 8 * widths[3 * j + 1]
        D = numbers_at(at_data + 64 * g * n_data, 1)
        call_model_at(function, 0, NO_MODE, t, T, head.at_arg, T, head.at_arg, D, O, at)
        if what == FORCE:
            given, some = at, (count - g - 1) // kinds[base + 13] + 1
            for j in range(many):
                add_to(T, starts, written_at(starts, place + 3 * j + 1), head.at_f, widths[3 * j + 1], O, given, some)
                given += 8 * widths[3 * j + 1]
        else:
            at += written


@leaf
def weighed_forces(kinds, base, shelves, O, T, at_f, at_a, begin, end):
    """a = M⁻¹ f of some groups of bodies, f with what is on them by themselves: gravity, gyroscopic torques."""
    own = SHELF * kinds[base + 16]
    width, full, W, written = shelves[own + 2], shelves[own + 9], kinds[base + 7], 8 * kinds[base + 6]
    to = shelves[own + 5] + 8 * width * begin
    W += written * begin
    at = W + 8 * (width * width if full else width)
    for _ in range(begin, end):
        for i in range(width):
            f = eight(T, at_f + to + 8 * i) + eight(O, at + 8 * i)
            if full == 0:
                put(T, at_a + to + 8 * i, eight(O, W + 8 * i) * f)
            else:
                put(T, at_f + to + 8 * i, f)
        for i in range(width if full else 0):
            row = W + 8 * i * width
            total = eight(O, row) * eight(T, at_f + to)
            for j in range(1, width):
                total += eight(O, row + 8 * j) * eight(T, at_f + to + 8 * j)
            put(T, at_a + to + 8 * i, total)
        to += 8 * width
        W += written
        at += written


@leaf
def rates(kinds, n_kinds, shelves, O, T, at_v, at_b):
    """q' of bodies and states; tell whether none has written it, and it is v."""
    plain = True
    for k in range(n_kinds):
        if kinds[KIND * k] <= BODY and kinds[KIND * k + 9] != 0:
            plain = False
    for k in range(0 if plain else n_kinds):
        base = KIND * k
        if kinds[base] > BODY:
            continue
        own = SHELF * kinds[base + 16]
        width, wide = shelves[own + 2], shelves[own + 1]
        if kinds[base + 9] == 0:  # q' = v
            copied(T, at_v + shelves[own + 5], 8 * kinds[base + 13] * width, T, at_b + shelves[own + 4])
            continue
        to, at = at_b + shelves[own + 4], kinds[base + 7] + 8 * ((width * width if kinds[base + 8] else width) + width)
        for _ in range(kinds[base + 13]):
            for i in range(wide):
                put(T, to + 8 * i, eight(O, at + 8 * i))
            to += 8 * wide
            at += 8 * kinds[base + 6]
    return plain


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
def bend_rows(kinds, base, O, by_g, by_rate, begin, end):
    """γ + by_rate g' + by_g g in the place of γ, of some groups of one kind of rows that keep positions or velocities."""
    if (by_g == 0.0 and by_rate == 0.0) or kinds[base] == NORMS:
        return
    m, written = kinds[base + 5], 8 * kinds[base + 6]
    at = kinds[base + 7] + written * begin
    for _ in range(begin, end):
        for i in range(at, at + 8 * m, 8):
            gamma = eight(O, i + 16 * m)
            put(O, i + 16 * m, gamma + eight(O, i + 8 * m) * by_rate + eight(O, i) * by_g)
        at += written


@leaf
def lengths(kinds, n_kinds, measured, O, T, at):
    """1/‖row‖ of every row."""
    for k in range(n_kinds):
        base = KIND * k
        if kinds[base] < ROWS:
            continue
        m, columns = kinds[base + 5], kinds[base + 15]
        row, to = kinds[base + 7] + 24 * m, at + kinds[base + 12]
        for _ in range(kinds[base + 13]):
            for i in range(m):
                total = eight(O, row + 8 * (i - 2 * m))
                if measured == 0:
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
def greatest(T, at, n, at_arg):
    """max |x| of n numbers, a multiple of eight."""
    top = spread(0.0)
    for i in range(0, n, 8):
        top = greater(top, size_of(eight(T, at + i)))
    put(T, at_arg, top)
    found = 0.0
    for i in range(8):
        found = max(found, T[at_arg + i])
    return found


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
