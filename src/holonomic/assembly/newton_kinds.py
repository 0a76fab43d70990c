"""What implicit methods ask of one kind of element: its part of R(t, y, y') = 0, and the entries of ∂R/∂y and ∂R/∂y'.

Entries that are zero for every number are left out. All of it is derived from the System of one element, as G and γ are. An
element adds to the rows of its ends and to its own rows,

    body     q' - Z v,  M v' - f                     force    -f                     rows     Gᵀλ,  G v + g_t
    state    s' - h

with g of positions, or G v' + γ, in the place of G v + g_t where the constraints stand at another level; that v' is the slope of
v, so that M v' = f - Gᵀλ makes of it what elements cannot do, G M⁻¹(f - Gᵀλ) + γ. With two levels rows of positions have a second
multiplier, and add (∂g/∂q)ᵀμ to the equations of q' and g to their own: then coordinates stay in the matrix.

A force that follows a joint's reaction depends on λ of that joint.

Unknowns of a kind are numbered: velocities, end by end; its own multipliers λ, or its own state; μ; coordinates, end by end.
Columns of `BY_Q` are coordinates alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.elements import BODY, FORCE, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import ACROSS, BY_LAM, BY_Q, BY_V, JACOBIAN, LOADED, MASS
from .acceleration_kinds import ACCELERATIONS

Levels = tuple[str, ...]  # of the constraints: those of λ; "position" behind another level: those of μ
VELOCITY: Levels = ("velocity",)


class NewtonKind(NamedTuple):
    """What a kind gives to implicit methods."""

    equations: Any  # a = (q, v), b = v' of bodies, λ of rows -> q̇ where that is not v, and its part of the equations
    blocks: Any  # a, b -> first ∂q̇/∂q and Z of coordinates that turn, row by row; then the entries
    entries: np.ndarray  # what, row, column of each
    turned: tuple[int, ...]  # coordinates of a body whose rates are not single velocities
    spun: tuple[int, ...]  # the velocities that these rates are made of
    multipliers: int = 1  # of each of its rows
    sees_slopes: bool = False  # whether b has v' of its ends behind λ and μ


def levels_of(what: int, levels: Levels) -> Levels:
    """Levels that make a difference to such elements."""
    if levels[0] == ACCELERATIONS or what == ROWS or (what == BODY and len(levels) > 1):
        return levels
    return levels[:1] if what == SPEEDS and levels[0] == "acceleration" else VELOCITY


def newton_kind(what: int, d, rates: bool, made: Callable, levels: Levels, states: Sequence[int] = (), followed=None) -> NewtonKind:
    """Derive it for the System of one element; `made(out, b)` compiles what it gives of (q, v) and b.

    `states` are the lengths of the states that it sees, its own first.
    """
    from ..model.symbolics import SX, densify, jacobian, vec, vertcat

    e = d.e
    nv = e.v.numel()
    found: list[tuple[int, int, int]] = []
    values: list = []

    def add(code: int, matrix, first_row: int = 0, first_column: int = 0) -> None:
        for row, column in matrix.sparsity().places:
            found.append((code, first_row + row, first_column + column))
            values.append(matrix[row, column])

    turned, spun, head, multipliers, sees = (), (), SX(0, 1), 1, False
    if what == BODY:
        b = SX.sym("slope", nv)
        left = e.mass @ b - d.force
        if rates:
            turned, spun = turning(d.q_dot, e.q, e.v)
        if len(levels) > 1:
            add(MASS, SX.eye(e.q.numel()), nv, nv)
            add(BY_V, -jacobian(d.q_dot, e.v), nv)
            add(BY_Q, -jacobian(d.q_dot, e.q), nv)
        elif rates:
            own = d.q_dot[list(turned)]
            by_q, by_v = jacobian(own, e.q)[:, list(turned)], jacobian(own, e.v)[:, list(spun)]
            head = vertcat(vec(densify(by_q).T), vec(densify(by_v).T))
        add(MASS, e.mass)
        equations = vertcat(*([d.q_dot] if rates else []), left)
    elif what == FORCE:
        b, left = SX.sym("none", 0), -d.force
        equations = None
    elif what == STATE:
        own = states[0]
        b, left, equations = SX.sym("none", 0), -e.states[:own], None
        add(MASS, SX.eye(own), nv, nv)
    elif what == LOADED:  # its rows are those of the joint that it follows
        b, left = e.lam, -d.force if followed is None else followed.unless_along(-d.force)
        add(BY_LAM, jacobian(left, b), 0, nv)
        equations = left
    else:
        lam, slopes = SX.sym("lam", d.n_lam), SX.sym("slope", nv)
        b, left, sees = lam, d.G.T @ lam, levels[0] == "acceleration"
        if levels[0] == "position" and what == ROWS:
            own = e.constraint
            add(ACROSS, d.G, nv)
        elif sees:
            own = d.G @ slopes + d.gamma
            add(ACROSS, d.G, nv)
            add(MASS, d.G, nv)
            add(BY_V, jacobian(own, e.v), nv)
        else:
            own = d.velocity_rows
            add(JACOBIAN, d.G, nv)
        add(BY_Q, jacobian(own, e.q), nv)
        equations = vertcat(left, own)
        if len(levels) > 1 and what == ROWS:
            mu, by_q = SX.sym("mu", d.n_lam), jacobian(e.constraint, e.q)
            moved, multipliers = by_q.T @ mu, 2
            b, equations = vertcat(b, mu), vertcat(equations, e.constraint, moved)
            coordinates = nv + 2 * d.n_lam
            add(JACOBIAN, by_q, nv + d.n_lam, coordinates)
            add(BY_Q, jacobian(moved, e.q), coordinates)
        if sees:
            b = vertcat(b, slopes)
    first = nv if what == STATE else 0
    add(BY_V, jacobian(left, e.v), first)
    add(BY_Q, jacobian(left, e.q), first)
    entries = np.array(found, dtype=np.int64).reshape(-1, 3)
    return NewtonKind(
        None if equations is None else made(densify(equations), b),
        made(vertcat(head, *values), b),
        entries,
        turned,
        spun,
        multipliers,
        sees,
    )


def turning(q_dot, q, v) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Coordinates whose rates are not single velocities, and the velocities that these rates are made of."""
    from ..model.symbolics import jacobian

    by_q, by_v = jacobian(q_dot, q), jacobian(q_dot, v)
    rows = [[] for _ in range(q_dot.numel())]
    for row, column in by_v.sparsity().places:
        rows[row].append(column)
    turns = set(by_q.sparsity().row())
    turned = tuple(i for i, columns in enumerate(rows) if i in turns or len(columns) != 1 or not by_v[i, columns[0]].is_one())
    spun = tuple(sorted({column for i in turned for column in rows[i]}))
    for some in (turned, spun):  # they lie one behind the other, which kernels count on
        assert some == tuple(range(some[0], some[-1] + 1))
    return turned, spun
