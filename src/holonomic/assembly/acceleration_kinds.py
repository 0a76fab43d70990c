"""What one kind of element gives to equations with accelerations w among the unknowns: what it adds to them, and their derivatives.

Where constraints stand at the level of accelerations beside others, M⁻¹ in G M⁻¹(f - Gᵀλ) + γ is no sum over elements; with w as an
unknown of its own everything is one. Projected invariants and the overdetermined form are so,

    q:  q' - Z v + (∂g/∂q)ᵀμ (+ Lᵀτ)           q' - Z v
    v:  v' - w + Gᵀτ                           M v' - f + Gᵀλ
    τ:  G v + g_t                              G v + g_t
    μ:  g                                      g
    w:  M w - f + Gᵀλ                          M w - f + Gᵀλ
    λ:  G w + γ                                G w + γ

with L = ∂(G v + g_t)/∂q in Pc. Equations are called by these letters, and so are unknowns; the overdetermined form has no μ and no
τ, and its differential equations hold in the sense of least squares. `acceleration_tables` makes the matrix of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.elements import BODY, FORCE, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import LOADED
from ..kernels.table_with_accelerations import LETTERS

# levels of a formulation: this one first says that accelerations are unknowns; the last one what else is special
ACCELERATIONS, TRANSPOSED, LEAST_SQUARES = "accelerations", "transposed", "least squares"
PLAIN, SLOPE, OF_SQUARES = range(3)  # entries: as they are, times c, and those of what least squares leave


class AccelerationKind(NamedTuple):
    """What a kind gives."""

    equations: Any  # a = (q, v), b = v', w of ends, multipliers that it reads -> what it adds
    blocks: Any  # a, b -> the entries
    entries: np.ndarray  # of each: PLAIN, SLOPE or OF_SQUARES, letter of the row, row, letter of the column, column
    adds: tuple[str, ...]  # letters of the equations
    reads: tuple[str, ...]  # letters of the multipliers


def acceleration_kind(
    what: int, d, made: Callable, levels: Sequence[str], states: Sequence[int], widths, followed=None
) -> AccelerationKind:
    """Derive it for the System of one element; `made(out, b)` compiles what it gives of (q, v) and b.

    `states` are the lengths of the states that it sees, its own first; `widths` coordinates and velocities of its ends;
    `followed` are its switches.
    """
    from ..model.symbolics import SX, densify, jacobian, vertcat

    e, least = d.e, LEAST_SQUARES in levels
    nq, nv, rows = e.q.numel(), e.v.numel(), d.n_lam if what in (ROWS, SPEEDS) else 0
    slope, w, tau, mu = (SX.sym(name, size) for name, size in (("slope", nv), ("w", nv), ("tau", rows), ("mu", rows)))
    lam = SX.sym("lam", rows) if rows else e.lam
    left: dict[str, Any] = {}
    if what == BODY:
        left["q"], left["w"] = -d.q_dot, e.mass @ w - d.force
        if least:
            left["v"] = e.mass @ slope - d.force
    elif what == STATE:
        before = sum(width for width, _ in widths[: len(widths) - len(states)])
        left["q"] = vertcat(SX.zeros(before, 1), -e.states[: states[0]], SX.zeros(nq - before - states[0], 1))
    elif what in (FORCE, LOADED):
        left["w"] = -d.force if followed is None else followed.unless_along(-d.force)
        if least:
            left["v"] = -d.force
    else:
        left["v"], left["w"] = d.G.T @ (lam if least else tau), d.G.T @ lam
        if what == ROWS and not least:
            left["q"] = jacobian(e.constraint, e.q).T @ mu
        if TRANSPOSED in levels:
            left["q"] = left.get("q", SX.zeros(nq, 1)) + jacobian(d.velocity_rows, e.q).T @ tau
        left["τ"], left["λ"] = d.velocity_rows, d.G @ w + d.gamma
        if what == ROWS:
            left["μ"] = e.constraint
    unknowns = {"q": e.q, "v": e.v, "w": w}
    read = {} if least else {"τ": tau} | ({"μ": mu} if what == ROWS else {}) if rows else {}
    if rows or what == LOADED:
        read["λ"] = lam
    found, values = [], []

    def add(code: int, row: str, column: str, matrix) -> None:
        for i, j in matrix.sparsity().places:
            found.append((code, LETTERS.index(row), i, LETTERS.index(column), j))
            values.append(matrix[i, j])

    adds = tuple(letter for letter in LETTERS if letter in left)
    for letter in adds:
        for column, symbol in (unknowns | read).items():
            if symbol.numel():
                add(PLAIN, letter, column, jacobian(left[letter], symbol))
        if nv:
            add(SLOPE, letter, "v", jacobian(left[letter], slope))
    if what in (BODY, STATE):
        own = SX.eye(nq)
        if what == STATE:
            among = slice(before, before + states[0])
            own = own[:, among] @ own[among, :]
        add(SLOPE, "q", "q", own)
        if least:
            add(OF_SQUARES, "q", "q", -own)
    if what == BODY and least:
        add(OF_SQUARES, "v", "v", -SX.eye(nv))
    elif what == BODY:
        add(SLOPE, "v", "v", SX.eye(nv))
        add(PLAIN, "v", "w", -SX.eye(nv))
    reads = tuple(letter for letter in LETTERS if letter in read)
    b = vertcat(slope, w, *(read[letter] for letter in reads))
    return AccelerationKind(
        made(vertcat(*(densify(left[letter]) for letter in adds)), b), made(vertcat(*values), b),
        np.array(found, dtype=np.int64).reshape(-1, 5), adds, reads,
    )  # fmt: skip
