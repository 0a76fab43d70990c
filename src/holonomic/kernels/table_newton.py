"""Implicit methods on tables: R(t, y, y') of index 2 or 3, what it is linearized to, and Newton's matrix in fronts.

    q' - Z v,   M v' - f + Gᵀλ,   G v + g_t (of index 3 g)

Elements write their parts, and the entries of their Jacobians that are not zero; no matrix of the whole system is there. Rows
that were found to repeat others are left out: there R is λ.

Factors are: growth, c (real and imaginary part), how often solutions are refined, by what δq follows δv (1/c unless a method
says otherwise), the linearized equations, then N and
(c - ∂q̇/∂q)⁻¹ of coordinates that turn, and the panels of `saddle_fronts`. Where a pivot has cancelled, what they
are worth is measured at once, by a solution that is known: where it misses by more than `GOOD` of its parts it is refined, where
that does not help the growth says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from ..native.types import f8, i8
from .elements import BODY, FORCE, LUMP, STATE, arguments, clear, gather, numbers, scatter
from .saddle_fronts import (
    FactorRoom,
    Matrix,
    SaddleProgram,
    factor_fronts,
    row_gradients,
    size_of,
    substitute_fronts,
    take_coordinates,
    take_product,
)
from .signatures import NO_MODE

# what entries of a kind belong to: c M, by velocities, by coordinates, G and Gᵀ, by multipliers of a joint, Gᵀ alone
MASS, BY_V, BY_Q, JACOBIAN, BY_LAM, ACROSS = range(6)
LOADED = 5  # a kind of element: a force that follows the multipliers of a joint, whose rows are its own here
OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)
# words of a kind: what it is, elements, ends, rows, coordinates of its ends, velocities; then of the equations and of what they are
# linearized to function, numbers it reads, numbers it writes, place of the first, address of places in data; addresses of
# the lumps at its ends and of its first rows; whether it writes q̇; of rows, what gives their accelerations: function, numbers
# it reads, address of places in data; which of its ends a state is itself
KIND = 23
TELLS = 5  # numbers that factors begin with
ENOUGH = 1e-5  # the smallest pivot ratio up to which solutions are not tried: they lose about 1e-16 over it
GOOD, BEARABLE, SEVERAL = 1e-9, 1e-5, 4  # what solutions miss beside their parts; the most refinements

NEWTON = Layout(
    "NEWTON",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("kinds", "address of the kinds, `KIND` words each"),
            ("n_kinds", "how many"),
            ("lumps", "address of the lumps, `LUMP` words each"),
            ("n_lumps", "how many"),
            ("order_q", "address: place among the model's coordinates of each coordinate here"),
            ("order_v", "address: the same of velocities"),
            ("plain", "address: of each coordinate the velocity that is its rate, or -1"),
            ("dropped", "address: 1 for rows that repeat others"),
            ("nq", "coordinates"),
            ("nv", "velocities"),
            ("n_rows", "rows of constraints"),
            ("states", "numbers of states, the last coordinates; as variables of the matrix they follow the velocities"),
            ("n_linear", "numbers of the linearized equations"),
            ("loaded", "whether forces follow multipliers"),
            ("turning", "lumps with coordinates that turn"),
            ("turned", "how many of these each has"),
            ("spun", "velocities that they are made of"),
            (
                "turns",
                "address: of each such lump its first coordinate, its first velocity, its place in the linearized equations",
            ),
            ("heads", "address of the fronts, `HEAD` words each"),
            ("fronts", "how many"),
            ("names", "address of the numbers of their variables"),
            ("entries", "address of their entries"),
            ("entry_turns", "address: row of N of each entry by a coordinate that turns"),
            ("children", "address of what earlier fronts leave to each"),
            ("panels", "numbers of all panels"),
            ("left", "numbers of room for what fronts leave"),
            ("largest", "variables of the largest front"),
            ("most_arguments", "numbers of the arguments of an element"),
            ("most_data", "numbers of an element"),
            ("most_written", "numbers that an element writes"),
            ("looks", "what small pivots are looked for: 0 none, 1 rows that repeat others, 2 rows that go too early"),
        )
    ],
)
see = view_as(NEWTON)


class Solving(NamedTuple):
    """A solution, and what refines it."""

    x: Any
    right: Any  # right hand side
    rest: Any  # what x leaves of it
    sizes: Any  # of the parts that this is summed from
    front: Any  # room for the variables of a front


@inner
def program_of(head):
    """The fronts."""
    return SaddleProgram(
        whole_at(head.heads, 1),
        head.fronts,
        whole_at(head.names, 1),
        whole_at(head.entries, 1),
        whole_at(head.entry_turns, 1),
        whole_at(head.children, 1),
    )


@leaf
def multipliers_of(first, rows, dropped, lam, at, T, to):
    """Multipliers of an element's rows; none of those that are left out."""
    for i in range(rows):
        T[to + i] = 0.0 if dropped[first + i] == 1 else lam[at + first + i]


@leaf
def slopes_of(lumps, own, s, at_s, T, to):
    """v' of a lump."""
    start = at_s + lumps[own + 2]
    for i in range(lumps[own + 3]):
        T[to + i] = s[start + i]


@leaf
def add_to_ends(lumps, ends, first, many, T, at, r, at_r):
    """What an element does to the velocities of its ends."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_r + lumps[own + 2]
        for i in range(lumps[own + 3]):
            r[start + i] += T[at]
            at += 1


@inner
def prepare(head, y, slope, T):
    """q, v and v' lump by lump, from the beginning of T on."""
    nq, nv = head.nq, head.nv
    gather(whole_at(head.order_q, nq), y, 0, T, 0, nq)
    gather(whole_at(head.order_v, nv), y, nq, T, nq, nv)
    gather(whole_at(head.order_v, nv), slope, nq, T, nq + nv, nv)


@inner
def element_arguments(head, kinds, base, e, y, T, at):
    """a and b of an element, from `at` on."""
    lumps, ends = whole_at(head.lumps, 1), whole_at(kinds[base + 16], 1)
    many, nq, nv = kinds[base + 2], head.nq, head.nv
    arguments(lumps, ends, e * many, many, T, 0, nq, at)
    b = at + kinds[base + 4] + kinds[base + 5]
    if kinds[base] == BODY:
        slopes_of(lumps, LUMP * ends[e], T, nq + nv, T, b)
    elif kinds[base] > FORCE:
        first = whole_at(kinds[base + 17], 1)
        multipliers_of(first[e], kinds[base + 3], whole_at(head.dropped, 1), y, nq + nv, T, b)
    return b


@inner
def equations_room(head):
    """Numbers of room that `equations_of` takes, and `linearized_of`."""
    return 2 * head.nq + 3 * head.nv + head.most_arguments + head.most_data + head.most_written


@inner
def equations_of(head, address, t, y, slope, given, r):
    """R at (y, y'), with the room at an address."""
    nq, nv, n = head.nq, head.nv, head.n_rows
    at_f, at_rate = nq + 2 * nv, nq + 3 * nv
    at_arg = at_rate + nq
    at_data, at_out = at_arg + head.most_arguments, at_arg + head.most_arguments + head.most_data
    T, D = numbers_at(address, 1), numbers_at(address + 8 * at_data, 1)
    prepare(head, y, slope, T)
    clear(T, at_f, nv)
    kinds, lumps, dropped = whole_at(head.kinds, 1), whole_at(head.lumps, 1), whole_at(head.dropped, 1)
    order_q, order_v, plain = whole_at(head.order_q, 1), whole_at(head.order_v, 1), whole_at(head.plain, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        what, many, rows, function, n_data = kinds[base], kinds[base + 2], kinds[base + 3], kinds[base + 6], kinds[base + 7]
        ends, places = whole_at(kinds[base + 16], 1), whole_at(kinds[base + 10], 1)
        if function == 0:
            continue
        for e in range(kinds[base + 1]):
            at_b = element_arguments(head, kinds, base, e, y, T, at_arg)
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, T, at_out)
            if what == FORCE:
                for i in range(kinds[base + 5]):
                    T[at_out + i] = -T[at_out + i]
                add_to_ends(lumps, ends, e * many, many, T, at_out, T, at_f)
            elif what == BODY:
                at = at_out
                if kinds[base + 18] == 1:
                    own = LUMP * ends[e]
                    for i in range(lumps[own + 1]):
                        T[at_rate + lumps[own] + i] = T[at]
                        at += 1
                add_to_ends(lumps, ends, e, 1, T, at, T, at_f)
            elif what == STATE:
                own = LUMP * ends[e * many + kinds[base + 22]]
                for i in range(lumps[own + 1]):
                    T[at_rate + lumps[own] + i] = T[at_out + i]
            else:
                add_to_ends(lumps, ends, e * many, many, T, at_out, T, at_f)
                if what == LOADED:
                    continue
                first = whole_at(kinds[base + 17], 1)[e]
                for i in range(rows):
                    r[nq + nv + first + i] = T[at_out + kinds[base + 5] + i]
    for i in range(nq):
        r[order_q[i]] = slope[order_q[i]] - (T[nq + plain[i]] if plain[i] >= 0 else T[at_rate + i])
    scatter(order_v, T, at_f, r, nq, nv, 1.0)
    for i in range(n):
        if dropped[i] == 1:
            r[nq + nv + i] = y[nq + nv + i]


@inner
def linearized_of(head, address, t, y, slope, given, L):
    """What all elements write of the linearized equations."""
    nq, nv = head.nq, head.nv
    at_arg = nq + 2 * nv
    T, D = numbers_at(address, 1), numbers_at(address + 8 * (at_arg + head.most_arguments), 1)
    prepare(head, y, slope, T)
    kinds = whole_at(head.kinds, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        function, n_data, written, at = kinds[base + 11], kinds[base + 12], kinds[base + 13], kinds[base + 14]
        places = whole_at(kinds[base + 15], 1)
        if function == 0:
            continue
        for e in range(kinds[base + 1]):
            at_b = element_arguments(head, kinds, base, e, y, T, at_arg)
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, L, at + e * written)


@kernel(OPERATOR)
def table_equations(context, mode, t, a, b, data, out):
    """EQUATIONS: a = y, b = y' -> R."""
    head = see(numbers_at(context, 1))
    address = take_room(equations_room(head))
    if address == 0:
        return NOT_FINITE
    equations_of(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_linearized(context, mode, t, a, b, data, out):
    """LINEARIZED: a = y, b = y' -> what all elements write."""
    head = see(numbers_at(context, 1))
    address = take_room(equations_room(head))
    if address == 0:
        return NOT_FINITE
    linearized_of(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_gradients(context, mode, t, a, b, data, out):
    """GRADIENTS: a = LINEARIZED -> 1 / length² of the rows of constraints."""
    head = see(numbers_at(context, 1))
    nq, nv, n = head.nq, head.nv, head.n_rows
    free = nv + head.states
    address = take_room(free + n + 1)
    if address == 0:
        return NOT_FINITE
    lengths, found = numbers_at(address, 1), numbers_at(out, 1)
    clear(lengths, 0, free + n)
    row_gradients(program_of(head), numbers_at(a, 1), free, lengths)
    for i in range(n):
        found[nq + nv + i] = 1.0 / lengths[free + i] if lengths[free + i] > 0.0 else 0.0
    leave_room(address)
    return OK


@leaf
def turn(turns, lumps, turned, spun, F, at_l, c, N, A):
    """A = (c - ∂q̇/∂q)⁻¹ and N = A Z of every lump whose coordinates turn; its numbers in F are ∂q̇/∂q and Z."""
    block = turned * turned
    for k in range(lumps):
        at, own = at_l + turns[3 * k + 2], k * block
        # A: Gauss and Jordan, the pivots being c plus what is small or skew
        for i in range(turned):
            for j in range(turned):
                A[own + i * turned + j] = -F[at + i * turned + j]
            A[own + i * turned + i] += c
        for p in range(turned):
            inverse = 1.0 / A[own + p * turned + p]
            for j in range(turned):
                if j != p:
                    A[own + p * turned + j] *= inverse
            A[own + p * turned + p] = inverse
            for i in range(turned):
                if i != p:
                    factor = A[own + i * turned + p]
                    for j in range(turned):
                        if j != p:
                            A[own + i * turned + j] -= factor * A[own + p * turned + j]
                    A[own + i * turned + p] = -factor * inverse
        for i in range(turned):
            for j in range(spun):
                total = A[own] * 0.0
                for p in range(turned):
                    total += A[own + i * turned + p] * F[at + block + p * spun + j]
                N[(k * turned + i) * spun + j] = total


@leaf
def known_solution(x, n):
    """Numbers of no pattern that a solution is tried with."""
    for i in range(n):
        x[i] = 1.0 + 0.1 * ((7 * i) % 11)


@leaf
def worst(r, sizes, n):
    """The largest of r beside the parts it was summed from."""
    found = 0.0
    for i in range(n):
        part = size_of(r[i])
        if part > 0.0 and not part <= found * sizes[i]:
            found = part / sizes[i] if sizes[i] > 0.0 else 1e300
    return found


@leaf
def negated(r, x, n):
    """x = -r"""
    for i in range(n):
        x[i] = -r[i]


@leaf
def add_on(x, z, n):
    """x += z"""
    for i in range(n):
        x[i] += z[i]


@leaf
def tried(program, matrix, P, solving, dropped, free, n):
    """How often solutions are to be refined, so that they miss by `GOOD` at most; and what they miss by then."""
    x, right, rest, sizes, front = solving
    known_solution(x, n)
    for i in range(n):
        right[i], sizes[i], rest[i] = 0.0, 0.0, 0.0
        if i >= free and dropped[i - free] == 1:
            x[i] = 0.0
    take_product(program, matrix, x, right, sizes)
    negated(right, rest, n)  # A x
    negated(right, right, n)
    substitute_fronts(program, P, rest, front)
    for i in range(n):
        x[i] = rest[i]
    before = 1e300
    for times in range(SEVERAL + 1):
        for i in range(n):
            rest[i], sizes[i] = right[i], size_of(right[i])
        take_product(program, matrix, x, rest, sizes)
        missed = worst(rest, sizes, n)
        if missed <= GOOD or not missed < 0.5 * before or times == SEVERAL:
            return times, missed
        before = missed
        substitute_fronts(program, P, rest, front)
        add_on(x, rest, n)
    return SEVERAL, before


@leaf
def take_linearized(a, F, n):
    """The linearized equations beside the factors."""
    for i in range(n):
        F[TELLS + i] = a[i]


@leaf
def tiny_part(looks):
    """Part of what its diagonal was summed from, below which a pivot is replaced."""
    return 1e-11 if looks == 0 else 1e-9 if looks == 1 else 1e-4


@leaf
def judge(F, times, missed):
    """What factors begin with."""
    F[0] = 1.0 if missed <= BEARABLE else 1e300
    F[3] = times
    return OK


@inner
def factored(head, t, over, a, out):
    """Real factors with c = t, δq following δv `over` times."""
    n, largest, dim = head.nv + head.states + head.n_rows, head.largest, head.turning * head.turned
    room = largest * largest + head.left + 2 * n + 2 * largest + 3 * n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F = numbers_at(out, 1)
    F[1], F[2], F[3], F[4] = t, 0.0, 0.0, over
    take_linearized(numbers_at(a, 1), F, head.n_linear)
    at = out + 8 * (TELLS + head.n_linear)
    N, A, P = (
        numbers_at(at, 1),
        numbers_at(at + 8 * dim * head.spun, 1),
        numbers_at(at + 8 * dim * (head.spun + head.turned), 1),
    )
    turn(whole_at(head.turns, 1), head.turning, head.turned, head.spun, F, TELLS, t, N, A)
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, t, over)
    parts = numbers_at(address, 1)
    own, scales = numbers_at(address + 8 * n, 1), numbers_at(address + 8 * (n + largest), 1)
    at = address + 8 * (n + 2 * largest)
    X, left = numbers_at(at, 1), numbers_at(at + 8 * largest * largest, 1)
    clear(parts, 0, n)
    least = factor_fronts(program, matrix, P, FactorRoom(X, left, parts, own, scales), head.nv + head.states, tiny_part(head.looks))
    at += 8 * (largest * largest + head.left)
    x, right, rest = numbers_at(at, 1), numbers_at(at + 8 * n, 1), numbers_at(at + 16 * n, 1)
    times, missed = 0, 0.0
    if not least > ENOUGH:
        solving = Solving(x, right, rest, parts, X)
        times, missed = tried(program, matrix, P, solving, whole_at(head.dropped, 1), head.nv + head.states, n)
    judge(F, times, missed)
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_newton_factor(context, mode, t, a, b, data, out):
    """NEWTON_FACTOR: factors of ∂R/∂y + t ∂R/∂y'."""
    return factored(see(numbers_at(context, 1)), t, 1.0 / t, a, out)


@kernel(OPERATOR)
def table_motion_factor(context, mode, t, a, b, data, out):
    """MOTION_FACTOR: the same with δq = b δv, of bodies in the plane."""
    return factored(see(numbers_at(context, 1)), t, numbers_at(b, 1)[0], a, out)


@kernel(OPERATOR)
def table_complex_factor(context, mode, t, a, b, data, out):
    """COMPLEX_FACTOR: the same of ∂R/∂y + (t + i b) ∂R/∂y'."""
    head = see(numbers_at(context, 1))
    n, largest, dim = head.nv + head.states + head.n_rows, head.largest, head.turning * head.turned
    room = 2 * largest * largest + 2 * head.left + n + 2 * largest + 6 * n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, c = numbers_at(out, 1), complex(t, numbers_at(b, 1)[0])
    F[1], F[2], F[3], F[4] = c.real, c.imag, 0.0, 0.0
    take_linearized(numbers_at(a, 1), F, head.n_linear)
    at = out + 8 * (TELLS + head.n_linear)
    N = numbers_at(at, 2).view(np.complex128)
    A = numbers_at(at + 16 * dim * head.spun, 2).view(np.complex128)
    P = numbers_at(at + 16 * dim * (head.spun + head.turned), 2).view(np.complex128)
    turn(whole_at(head.turns, 1), head.turning, head.turned, head.spun, F, TELLS, c, N, A)
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, 1.0 / c)
    parts = numbers_at(address, 1)
    own, scales = numbers_at(address + 8 * n, 1), numbers_at(address + 8 * (n + largest), 1)
    at = address + 8 * (n + 2 * largest)
    X = numbers_at(at, 2).view(np.complex128)
    left = numbers_at(at + 16 * largest * largest, 2).view(np.complex128)
    clear(parts, 0, n)
    least = factor_fronts(program, matrix, P, FactorRoom(X, left, parts, own, scales), head.nv + head.states, tiny_part(head.looks))
    at += 16 * (largest * largest + head.left)
    x, right, rest = (
        numbers_at(at, 2).view(np.complex128),
        numbers_at(at + 16 * n, 2).view(np.complex128),
        numbers_at(at + 32 * n, 2).view(np.complex128),
    )
    times, missed = 0, 0.0
    if not least > ENOUGH:
        solving = Solving(x, right, rest, parts, X)
        times, missed = tried(program, matrix, P, solving, whole_at(head.dropped, 1), head.nv + head.states, n)
    judge(F, times, missed)
    leave_room(address)
    return OK


@leaf
def eliminate_coordinates(rq, plain, nq, c, turns, lumps, turned, A, s, st):
    """s = (c - ∂q̇/∂q)⁻¹ r_q, by velocities where q' = v, in `st` where coordinates turn."""
    over = 1.0 / c
    for i in range(nq):
        if plain[i] >= 0:
            s[plain[i]] = rq[i] * over
    for k in range(lumps):
        first, own = turns[3 * k], k * turned * turned
        for i in range(turned):
            total = rq[first] * 0.0
            for j in range(turned):
                total += A[own + i * turned + j] * rq[first + j]
            st[k * turned + i] = total


@leaf
def coordinates_of(rq, plain, nq, c, turns, lumps, turned, spun, N, s, st, z):
    """δq in the place of r_q."""
    over = 1.0 / c
    for i in range(nq):
        if plain[i] >= 0:
            rq[i] = s[plain[i]] + over * z[plain[i]]
    for k in range(lumps):
        first, velocity = turns[3 * k], turns[3 * k + 1]
        for i in range(turned):
            total = st[k * turned + i]
            for j in range(spun):
                total += N[(k * turned + i) * spun + j] * z[velocity + j]
            rq[first + i] = total


@leaf
def refined(program, matrix, P, solving, n, times):
    """x <- A⁻¹ of the right hand side, with so many refinements."""
    x, right, rest, sizes, front = solving
    for i in range(n):
        x[i] = right[i]
    substitute_fronts(program, P, x, front)
    for _ in range(times):
        for i in range(n):
            rest[i] = right[i]
        take_product(program, matrix, x, rest, sizes)
        substitute_fronts(program, P, rest, front)
        add_on(x, rest, n)


@leaf
def moved(x, at_x, y, at_y, n):
    """Copy n numbers."""
    for i in range(n):
        y[at_y + i] = x[at_x + i]


@leaf
def take_right(b, at, to, order, n):
    """Part of a right hand side in the order of the tables."""
    for i in range(n):
        to[i] = b[at + order[i]]


@kernel(OPERATOR)
def table_newton_solve(context, mode, t, a, b, data, out):
    """NEWTON_SOLVE: a = factors, b = r -> solution."""
    head = see(numbers_at(context, 1))
    nq, nv, rows, dim = head.nq, head.nv, head.n_rows, head.turning * head.turned
    ns = head.states
    n = nv + ns + rows
    room = nq + nv + dim + 4 * n + head.largest
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c, times = F[1], int(F[3])
    at = a + 8 * (TELLS + head.n_linear)
    N, A, P = (
        numbers_at(at, 1),
        numbers_at(at + 8 * dim * head.spun, 1),
        numbers_at(at + 8 * dim * (head.spun + head.turned), 1),
    )
    rq, s, st = numbers_at(address, 1), numbers_at(address + 8 * nq, 1), numbers_at(address + 8 * (nq + nv), 1)
    at = address + 8 * (nq + nv + dim)
    z, x, rest, sizes = (
        numbers_at(at, 1),
        numbers_at(at + 8 * n, 1),
        numbers_at(at + 16 * n, 1),
        numbers_at(at + 24 * n, 1),
    )
    front = numbers_at(at + 32 * n, 1)
    order_q, order_v, plain, dropped = (
        whole_at(head.order_q, 1),
        whole_at(head.order_v, 1),
        whole_at(head.plain, 1),
        whole_at(head.dropped, 1),
    )
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, F[4])
    take_right(r, 0, rq, order_q, nq)
    take_right(r, nq, z, order_v, nv)
    moved(rq, nq - ns, z, nv, ns)
    moved(r, nq + nv, z, nv + ns, rows)
    eliminate_coordinates(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, A, s, st)
    take_coordinates(program, matrix, s, st, z)
    refined(program, matrix, P, Solving(x, z, rest, sizes, front), n, times)
    coordinates_of(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, head.spun, N, s, st, x)
    moved(x, nv, rq, nq - ns, ns)
    scatter(order_q, rq, 0, found, 0, nq, 1.0)
    scatter(order_v, x, 0, found, nq, nv, 1.0)
    for i in range(rows):
        found[nq + nv + i] = r[nq + nv + i] if dropped[i] == 1 else x[nv + ns + i]
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_motion_times(context, mode, t, a, b, data, out):
    """MOTION_TIMES: the matrix of real factors times a vector, in the rows of dynamics and of constraints."""
    head = see(numbers_at(context, 1))
    nq, nv, rows = head.nq, head.nv, head.n_rows
    free = nv + head.states
    n = free + rows
    address = take_room(3 * n + 1)
    if address == 0:
        return NOT_FINITE
    F, given, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    x, r, sizes = numbers_at(address, 1), numbers_at(address + 8 * n, 1), numbers_at(address + 16 * n, 1)
    N = numbers_at(a + 8 * (TELLS + head.n_linear), 1)
    order_v = whole_at(head.order_v, 1)
    take_right(given, nq, x, order_v, nv)
    clear(x, nv, head.states)
    moved(given, nq + nv, x, free, rows)
    clear(r, 0, n)
    clear(sizes, 0, n)
    take_product(program_of(head), Matrix(F, TELLS, N, head.spun, F[1], F[4]), x, r, sizes)
    clear(found, 0, nq)
    scatter(order_v, r, 0, found, nq, nv, -1.0)
    for i in range(rows):
        found[nq + nv + i] = -r[free + i]
    leave_room(address)
    return OK


@leaf
def take_right_pair(b, at, apart, to, order, n):
    """The same of a complex one."""
    for i in range(n):
        to[i] = complex(b[at + order[i]], b[apart + at + order[i]])


@leaf
def scatter_pair(order, x, out, at, apart, n):
    """Real parts, then imaginary parts, in the order of the model."""
    for i in range(n):
        out[at + order[i]] = x[i].real
        out[apart + at + order[i]] = x[i].imag


@kernel(OPERATOR)
def table_complex_solve(context, mode, t, a, b, data, out):
    """COMPLEX_SOLVE: the same with real parts, then imaginary parts."""
    head = see(numbers_at(context, 1))
    nq, nv, rows, dim = head.nq, head.nv, head.n_rows, head.turning * head.turned
    ns = head.states
    n, ny = nv + ns + rows, nq + nv + rows
    room = 2 * (nq + nv + dim + 3 * n + head.largest) + n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c, times = complex(F[1], F[2]), int(F[3])
    at = a + 8 * (TELLS + head.n_linear)
    N = numbers_at(at, 2).view(np.complex128)
    A = numbers_at(at + 16 * dim * head.spun, 2).view(np.complex128)
    P = numbers_at(at + 16 * dim * (head.spun + head.turned), 2).view(np.complex128)
    rq = numbers_at(address, 2).view(np.complex128)
    s = numbers_at(address + 16 * nq, 2).view(np.complex128)
    st = numbers_at(address + 16 * (nq + nv), 2).view(np.complex128)
    at = address + 16 * (nq + nv + dim)
    z, x = numbers_at(at, 2).view(np.complex128), numbers_at(at + 16 * n, 2).view(np.complex128)
    rest, sizes = numbers_at(at + 32 * n, 2).view(np.complex128), numbers_at(at + 48 * n, 1)
    front = numbers_at(at + 56 * n, 2).view(np.complex128)
    order_q, order_v, plain, dropped = (
        whole_at(head.order_q, 1),
        whole_at(head.order_v, 1),
        whole_at(head.plain, 1),
        whole_at(head.dropped, 1),
    )
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, 1.0 / c)
    take_right_pair(r, 0, ny, rq, order_q, nq)
    take_right_pair(r, nq, ny, z, order_v, nv)
    for i in range(rows):
        z[nv + ns + i] = complex(r[nq + nv + i], r[ny + nq + nv + i])
    moved(rq, nq - ns, z, nv, ns)
    eliminate_coordinates(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, A, s, st)
    take_coordinates(program, matrix, s, st, z)
    refined(program, matrix, P, Solving(x, z, rest, sizes, front), n, times)
    coordinates_of(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, head.spun, N, s, st, x)
    moved(x, nv, rq, nq - ns, ns)
    scatter_pair(order_q, rq, found, 0, ny, nq)
    scatter_pair(order_v, x, found, nq, ny, nv)
    for i in range(rows):
        at = nq + nv + i
        found[at] = r[at] if dropped[i] == 1 else x[nv + ns + i].real
        found[ny + at] = r[ny + at] if dropped[i] == 1 else x[nv + ns + i].imag
    leave_room(address)
    return OK
