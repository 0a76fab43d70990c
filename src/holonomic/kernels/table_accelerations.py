"""Accelerations of tables from the whole matrix in fronts, for what blocks of M⁻¹ cannot do.

    M v' + Gᵀλ = f(λ),   Ḡ v' + s = 0

M may be singular where constraints hold what has no inertia, Ḡ may be that of another point, as half-explicit methods have it,
and forces may follow multipliers: then the same equations are solved by Newton's method. Pivots are looked for inside fronts,
see `saddle_fronts`; entries of Ḡ stand behind those of the linearized equations.
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.marks import call_model_at, inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import FORCE, arguments, clear, numbers
from .newton_memory import KIND, LOADED, OPERATOR, program_of, see
from .saddle_fronts import FactorRoom, Matrix, factor_fronts, substitute_fronts, take_product
from .signatures import NO_MODE
from .table_equations import equations_of, equations_room, linearized_of, prepare

ENOUGH, LOST = 1e-13, 1e-9  # parts of rows that may be left over: to end with, and to end with at all where no solution helps
LEAST_SUM = 1e-6  # of the largest sum of parts of a row: what each is measured by at least
CLOSE, MANY = 1e-13, 40  # change beside the solution at which it is found; the most solutions where forces follow multipliers


@inner
def accelerations_room(head):
    """Numbers of room that `accelerations_of` takes."""
    n, ny, largest = head.nv + head.states + head.n_rows, head.nq + head.nv + head.n_rows, head.largest
    return equations_room(head) + 3 * ny + head.n_linear + head.panels + largest * largest + head.left + 2 * largest + 5 * n + 8


@leaf
def beside_first(L, half, other, at):
    """Entries of Ḡ behind the linearized equations."""
    for i in range(half):
        L[half + i] = other[at + i]


@leaf
def take_right_side(r, nq, order_v, nv, free, s, at_s, rest, dropped, rows, z):
    """What the equations leave of dynamics and rows; nothing of states, which stay as they are."""
    for i in range(nv):
        z[i] = -r[nq + order_v[i]]
    for i in range(nv, free):
        z[i] = 0.0
    for i in range(rows):
        z[free + i] = 0.0 if dropped[i] == 1 else rest[free + i] - s[at_s + i]


@leaf
def largest_of(z, n):
    """The largest of n numbers."""
    found = 0.0
    for i in range(n):
        found = max(found, abs(z[i]))
    return found


@leaf
def part_left(z, sizes, begin, end):
    """The largest part of rows that is left over: of what each is summed from, at least of a millionth of the largest sum."""
    most = found = 0.0
    for i in range(begin, end):
        most = max(most, sizes[i])
    for i in range(begin, end):
        part = abs(z[i]) / max(sizes[i], LEAST_SUM * most, 1e-300)
        if part > found or part != part:  # NaN is kept
            found = part
    return found


@leaf
def take_solution(z, x, nv, free, rows, nq, order_v, slope, y):
    """Add a change; return its size beside that of the solution, of v' or of λ, the larger."""
    moved, size, pushed, load = 0.0, 0.0, 0.0, 0.0
    for i in range(nv):
        x[i] += z[i]
        slope[nq + order_v[i]] = x[i]
        moved, size = max(moved, abs(z[i])), max(size, abs(x[i]))
    for i in range(free, free + rows):
        x[i] += z[i]
        y[nq + nv + i - free] = x[i]
        pushed, load = max(pushed, abs(z[i])), max(load, abs(x[i]))
    return max(moved / max(size, 1e-300), pushed / max(load, 1e-300))


@inner
def accelerations_of(head, address, t, given_x, s, at_s, given, half, other, at_other, out):
    """v' and λ for a state; s and, where `half` says so, Ḡ are given. What is given of rows are the entries of `LINEARIZED`."""
    nq, nv, rows = head.nq, head.nv, head.n_rows
    free = nv + head.states
    n, ny, largest, written = free + rows, nq + nv + rows, head.largest, head.n_linear // 2
    at = address + 8 * equations_room(head)
    y, slope, r = numbers_at(at, 1), numbers_at(at + 8 * ny, 1), numbers_at(at + 16 * ny, 1)
    at += 24 * ny
    L, P = numbers_at(at, 1), numbers_at(at + 8 * head.n_linear, 1)
    at += 8 * (head.n_linear + head.panels)
    X, left = numbers_at(at, 1), numbers_at(at + 8 * largest * largest, 1)
    at += 8 * (largest * largest + head.left)
    own, scales, parts = numbers_at(at, 1), numbers_at(at + 8 * largest, 1), numbers_at(at + 16 * largest, 1)
    at += 8 * (2 * largest + n)
    z, x, rest, sizes = numbers_at(at, 1), numbers_at(at + 8 * n, 1), numbers_at(at + 16 * n, 1), numbers_at(at + 24 * n, 1)
    order_v, dropped = whole_at(head.order_v, 1), whole_at(head.dropped, 1)
    program, matrix = program_of(head), Matrix(L, 0, L, 1, 1.0, 1.0)
    for i in range(nq + nv):
        y[i] = given_x[i]
    clear(y, nq + nv, rows)
    clear(slope, 0, ny)
    clear(x, 0, n)
    least, found, forces, before = 1.0, False, 0.0, 0.0
    for trial in range(MANY):
        equations_of(head, address, t, y, slope, given, r, False)
        if trial == 0 or head.loaded == 1:
            linearized_of(head, address, t, y, slope, given, L)
            if half:
                beside_first(L, written, other, at_other)
            else:
                beside_first(L, written, L, 0)
            clear(parts, 0, n)
            least = factor_fronts(program, matrix, P, FactorRoom(X, left, parts, own, scales), free, 1e-11, True)
        clear(rest, 0, n)
        clear(sizes, 0, n)
        take_product(program, matrix, x, rest, sizes)
        take_right_side(r, nq, order_v, nv, free, s, at_s, rest, dropped, rows, z)
        left_over = largest_of(z, nv)
        if trial == 0:
            forces = left_over
        elif head.loaded == 0:
            # pivots that were replaced take several solutions; what none of them takes away is told by the ratio
            part = max(part_left(z, sizes, 0, nv), part_left(z, sizes, free, n))
            if not part > ENOUGH or trial == MANY - 1 or (trial > 1 and not part < 0.5 * before):
                found = not part > LOST
                break
            before = part
        substitute_fronts(program, P, z, X)
        change = take_solution(z, x, nv, free, rows, nq, order_v, slope, y)
        # where v' and λ vanish they are rounding, and so are their changes
        if head.loaded == 1 and (not change > CLOSE or (trial > 0 and not left_over > CLOSE * forces)):
            found = True
            break
    for i in range(nq):
        out[i] = -r[i]
    for i in range(nv):
        out[nq + order_v[i]] = x[i]
    for i in range(rows):
        out[nq + nv + i] = x[free + i]
    out[ny] = least if found else 0.0


@inner
def rows_now(head, address, t, y, given, level, out):
    """Of all rows their rates (level 1), or what the motion makes of their accelerations (2), with Baumgarte's terms."""
    by_g, by_rate = given[head.at_gains], given[head.at_gains + 1]
    nq, nv = head.nq, head.nv
    at_arg = nq + 2 * nv
    at_data, at_out = at_arg + head.most_arguments, at_arg + head.most_arguments + head.most_data
    T, D = numbers_at(address, 1), numbers_at(address + 8 * at_data, 1)
    prepare(head, y, y, T)
    kinds, lumps = whole_at(head.kinds, 1), whole_at(head.lumps, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        if kinds[base] <= FORCE or kinds[base] == LOADED:
            continue
        many, rows, n_data = kinds[base + 2], kinds[base + 3], kinds[base + 20]
        ends, places, first = whole_at(kinds[base + 16], 1), whole_at(kinds[base + 21], 1), whole_at(kinds[base + 17], 1)
        for e in range(kinds[base + 1]):
            arguments(lumps, ends, e * many, many, T, 0, nq, at_arg)
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(kinds[base + 19], 0, NO_MODE, t, T, at_arg, T, at_arg, D, T, at_out)
            for i in range(rows):
                out[first[e] + i] = T[at_out + level * rows + i]
                if level == 2 and (by_g != 0.0 or by_rate != 0.0):
                    out[first[e] + i] += by_rate * T[at_out + rows + i] + by_g * T[at_out + i]


@kernel(OPERATOR)
def table_saddle_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    room = accelerations_room(head)
    address = take_room(room + head.n_rows + 1)
    if address == 0:
        return NOT_FINITE
    x, given, found = numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1)
    gamma = numbers_at(address + 8 * room, 1)
    rows_now(head, address, t, x, given, 2, gamma)
    accelerations_of(head, address, t, x, gamma, 0, given, False, gamma, 0, found)
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_half_explicit(context, mode, t, a, b, data, out):
    """HALF_EXPLICIT: a = x, b = (s, Ḡ as VELOCITY wrote it) -> (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    address = take_room(accelerations_room(head))
    if address == 0:
        return NOT_FINITE
    other = numbers_at(b, 1)
    accelerations_of(
        head, address, t, numbers_at(a, 1), other, 0, numbers_at(data, 1), True, other, head.n_rows, numbers_at(out, 1)
    )
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_velocity(context, mode, t, a, b, data, out):
    """VELOCITY: velocity rows, then the linearized equations, G among them."""
    head = see(numbers_at(context, 1))
    room, ny = equations_room(head), head.nq + head.nv + head.n_rows
    address = take_room(room + 2 * ny)
    if address == 0:
        return NOT_FINITE
    x, given, found = numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1)
    y, slope = numbers_at(address + 8 * room, 1), numbers_at(address + 8 * (room + ny), 1)
    for i in range(head.nq + head.nv):
        y[i] = x[i]
    clear(y, head.nq + head.nv, head.n_rows)
    clear(slope, 0, ny)
    rows_now(head, address, t, x, given, 1, found)
    linearized_of(head, address, t, y, slope, given, numbers_at(out + 8 * head.n_rows, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_kinematics(context, mode, t, a, b, data, out):
    """KINEMATICS: q'."""
    head = see(numbers_at(context, 1))
    room, ny = equations_room(head), head.nq + head.nv + head.multipliers
    address = take_room(room + 3 * ny)
    if address == 0:
        return NOT_FINITE
    x, found = numbers_at(a, 1), numbers_at(out, 1)
    y, slope = numbers_at(address + 8 * room, 1), numbers_at(address + 8 * (room + ny), 1)
    r = numbers_at(address + 8 * (room + 2 * ny), 1)
    for i in range(head.nq + head.nv):
        y[i] = x[i]
    clear(y, head.nq + head.nv, head.multipliers)
    clear(slope, 0, ny)
    equations_of(head, address, t, y, slope, numbers_at(data, 1), r, True)
    for i in range(head.nq):
        found[i] = -r[i]
    leave_room(address)
    return OK
