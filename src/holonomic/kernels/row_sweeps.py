"""The Jacobian of a tape, swept back row by row: for equations so long that neither deriving nor compiling it pays.

All operations are played once, and every result is kept. A row then goes back through those operations alone that it is made of,

    (adjoint of x) += (adjoint of f) ∂f/∂x

where ∂f/∂x is the result of an operation, too. A row of n numbers takes the time of a few of its own evaluations, and what a row
does not depend on takes none; which operations these are is found once, before any number is known.

References
----------
[griewank-walther-2008] Ch. 3 (reverse mode), Ch. 7 (sparse rows).
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import kernel, leaf, leave_room, numbers_at, take_room, whole_at
from ..native.types import i8, ints
from .dense_operators import OPERATOR
from .played import LOW, SECOND, play

SWEPT = Layout(
    "SWEPT",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("code", "address of the operations, as `played` has them; no register is used twice"),
            ("operations", "how many"),
            ("registers", "how many; one more takes what nobody asks for"),
            ("constants", "address of the constants"),
            ("at_constants", "their registers"),
            ("n_constants", "how many"),
            ("inputs", "address: t, a, b or data as 0 to 3, and below bit 32 the number there"),
            ("at_inputs", "their registers"),
            ("n_inputs", "how many"),
            ("na", "numbers of a that are read"),
            ("nb", "numbers of b"),
            ("nd", "numbers of data"),
            ("operands", "address: registers of both operands of each register, the one more where nothing depends on them"),
            ("weights", "registers of the derivatives by them"),
            ("roots", "register of each row, -1 where it depends on nothing"),
            ("first", "first entry of each row in the list; one number more"),
            ("list", "registers that a row is made of, operands first"),
            ("first_column", "first column of each row; one number more"),
            ("columns", "columns in which rows may differ from zero, and below bit 32 the registers that stand for them"),
            ("rows", "how many rows"),
            ("width", "how many columns"),
        )
    ],
)
see = view_as(SWEPT)


@leaf
def find_entries(operands: ints, active: ints, roots: ints, first: ints, list_: ints, seen: ints, stack: ints, room: i8):
    """List for every row the registers it is made of, each behind its operands, symbols among them; return how many there are.

    Those behind the first `room` are counted alone.
    """
    count = 0
    for row in range(roots.shape[0]):
        first[row] = count
        if roots[row] < 0 or active[roots[row]] == 0:
            continue
        top = 0
        stack[0] = roots[row]
        while top >= 0:
            at = stack[top]
            if seen[at] == row + 1:
                top -= 1
                continue
            x, y = operands[at] & LOW, operands[at] >> SECOND
            if active[x] != 0 and seen[x] != row + 1:
                top += 1
                stack[top] = x
            elif active[y] != 0 and seen[y] != row + 1:
                top += 1
                stack[top] = y
            else:
                seen[at] = row + 1
                if count < room:
                    list_[count] = at
                count += 1
                top -= 1
    first[roots.shape[0]] = count
    return count


@leaf
def mark_active(operands: ints, active: ints, last: i8):
    """Mark registers that depend on marked ones."""
    for k in range(last):
        if active[operands[k] & LOW] != 0 or active[operands[k] >> SECOND] != 0:
            active[k] = 1


@leaf
def sweep_back(T, D, operands, weights, list_, begin, end):
    """Hand the adjoints of a row's registers down, the last of them first."""
    for e in range(end - 1, begin - 1, -1):
        at = list_[e]
        g = D[at]
        if g != 0.0:
            both, by = operands[at], weights[at]
            D[at] = 0.0
            D[both & LOW] += g * T[by & LOW]
            D[both >> SECOND] += g * T[by >> SECOND]


@leaf
def clear(O, n):
    """O = 0"""
    for i in range(n):
        O[i] = 0.0


@leaf
def rows_back(T, D, operands, weights, roots, first, list_, first_column, columns, rows, width, O):
    """All rows of the Jacobian."""
    for i in range(rows):
        if first_column[i + 1] > first_column[i]:
            D[roots[i]] = 1.0
            sweep_back(T, D, operands, weights, list_, first[i], first[i + 1])
            for e in range(first_column[i], first_column[i + 1]):
                at = columns[e] & LOW
                O[i * width + (columns[e] >> SECOND)] = D[at]
                D[at] = 0.0


@kernel(OPERATOR)
def swept(context, mode, t, a, b, data, out):
    """BY_Y, BY_SLOPE: the Jacobian of what the tape of the context computes, dense, row by row."""
    head = see(numbers_at(context, 1))
    n = head.registers + 1
    address = take_room(2 * n)
    if address == 0:
        return NOT_FINITE
    T, D, O = numbers_at(address, n), numbers_at(address + 8 * n, n), numbers_at(out, head.rows * head.width)
    x, y, numbers = numbers_at(a, head.na), numbers_at(b, head.nb), numbers_at(data, head.nd)
    constants, at_constants = numbers_at(head.constants, head.n_constants), whole_at(head.at_constants, head.n_constants)
    inputs, at_inputs = whole_at(head.inputs, head.n_inputs), whole_at(head.at_inputs, head.n_inputs)
    for i in range(head.n_constants):
        T[at_constants[i]] = constants[i]
    for i in range(head.n_inputs):
        which, k = inputs[i] >> SECOND, inputs[i] & LOW
        if which == 1:
            T[at_inputs[i]] = x[k]
        elif which == 2:
            T[at_inputs[i]] = y[k]
        elif which == 3:
            T[at_inputs[i]] = numbers[k]
        else:
            T[at_inputs[i]] = t
    play(whole_at(head.code, 2 * head.operations), head.operations, T)
    T[n - 1] = 0.0
    clear(D, n)
    clear(O, head.rows * head.width)
    first, first_column = whole_at(head.first, head.rows + 1), whole_at(head.first_column, head.rows + 1)
    rows_back(
        T, D, whole_at(head.operands, n), whole_at(head.weights, n), whole_at(head.roots, head.rows), first,
        whole_at(head.list, first[head.rows]), first_column, whole_at(head.columns, first_column[head.rows]), head.rows,
        head.width, O,
    )  # fmt: skip
    leave_room(address)
    return OK
