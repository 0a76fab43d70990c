"""The field of tables less what a stabilization of invariants takes away: z' - γ F h, of operators that are there.

F = D (H D)⁻¹   by factors and solutions, of the whole state or level by level
F = D           by the second halves of these moves
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, inner, kernel, leave_room, numbers_at, take_room
from .signatures import NO_MODE
from .table_operators import OPERATOR

OPERATORS = ("field", "residual", "factor_q", "solve_q", "factor_v", "solve_v", "curvature")
BENT = Layout(
    "BENT",
    [
        *((f"{name}{what}", WHOLE, "address of an operator, of its context") for name in OPERATORS for what in ("", "_context")),
        ("nq", WHOLE, "coordinates"),
        ("nv", WHOLE, "velocities"),
        ("n_position", WHOLE, "rows at position level"),
        ("n_constraints", WHOLE, "those of constraints"),
        ("n_rows", WHOLE, "rows at velocity level"),
        ("kept", WHOLE, "numbers of the larger factors"),
        ("at_gain", WHOLE, "place of γ in data"),
        ("whole", WHOLE, "whether the whole state is moved at once, by the operators of q"),
        ("plain", WHOLE, "whether F = D: solutions are second halves of moves"),
        ("coupled", WHOLE, "whether velocities know of how positions are moved"),
        ("integral", WHOLE, "whether h' is taken away first"),
    ],
)
see = view_as(BENT)


@inner
def _moved(factor, factor_context, solve, solve_context, plain, t, x, data, T, at_r, at_F, at_d):
    """F r; return whether the rows are independent."""
    if plain != 0:
        call_model_at(solve, solve_context, NO_MODE, t, x, 0, T, at_r, data, T, at_d)
        return True
    call_model_at(factor, factor_context, NO_MODE, t, x, 0, x, 0, data, T, at_F)
    if not T[at_F] > 0.0:
        return False
    call_model_at(solve, solve_context, NO_MODE, t, T, at_F, T, at_r, data, T, at_d)
    return True


@inner
def _taken(head, t, x, data, T, at_d, at_F):
    """γ F h, with `integral` also F h', from `at_d` on; return whether the rows are independent."""
    nq, first, gain = head.nq, head.n_position, data[head.at_gain]
    call_model_at(head.residual, head.residual_context, NO_MODE, t, x, 0, x, 0, data, T, 0)
    for i in range(first):
        T[i] *= gain
        if head.integral != 0 and i < head.n_constraints:
            T[i] += T[first + i]
    for i in range(first, first + head.n_rows):
        T[i] *= gain
    if head.whole != 0:
        return _moved(
            head.factor_q, head.factor_q_context, head.solve_q, head.solve_q_context, head.plain, t, x, data, T, 0, at_F, at_d
        )
    for i in range(nq):
        T[at_d + i] = 0.0
    independent = True
    if first > 0:
        independent = _moved(
            head.factor_q, head.factor_q_context, head.solve_q, head.solve_q_context, head.plain, t, x, data, T, 0, at_F, at_d
        )
    if head.coupled != 0:
        call_model_at(head.curvature, head.curvature_context, NO_MODE, t, x, 0, T, at_d, data, T, at_F)
        for i in range(head.n_rows):
            T[first + i] -= T[at_F + i]
    return independent and _moved(
        head.factor_v, head.factor_v_context, head.solve_v, head.solve_v_context, head.plain, t, x, data, T, first, at_F, at_d + nq
    )


@kernel(OPERATOR)
def table_bent_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ), bent."""
    head = see(numbers_at(context, 1))
    n, size = head.n_position + head.n_rows, head.nq + head.nv
    room = n + size + head.kept + head.n_rows
    address = take_room(room + 8)
    if address == 0:
        return NOT_FINITE
    T, x, given, found = numbers_at(address, room), numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1)
    status = call_model_at(head.field, head.field_context, NO_MODE, t, x, 0, x, 0, given, found, 0)
    if status == OK:
        if _taken(head, t, x, given, T, n, n + size):
            for i in range(size):
                found[i] -= T[n + i]
        else:
            found[size + head.n_rows] = 0.0
    leave_room(address)
    return status
