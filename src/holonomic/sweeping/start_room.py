"""What the compiled look at starts is given, see `loop.starts`: what is to be done about them, and room to do it in."""

from __future__ import annotations

import numpy as np

from ..kernels.signatures import Fn
from ..loop import starts
from ..native.layout import Memory
from ..starting.impulse import OFF
from ..starting.initial import LEAST_TOLERANCE
from .program import Program

MODES = {"check": starts.CHECK, "project": starts.PROJECT, "impact": starts.IMPACT, "free": starts.FREE}


def start_memory(program: Program, initial: str) -> Memory:
    """Return sizes and tolerances of starts, and what is done about them."""
    model, start = program.model, starts.START.new()
    start.nq, start.nv, start.nl, start.exact = model.nq, model.nv, model.n_lam, model.exact
    start.kept = model.n_lam if program.rows is None else len(program.rows)
    start.n_constraints, start.n_invariants, start.at_invariants = model.n_constraints, model.n_invariants, model.at_invariants
    start.mode, start.tol = MODES[initial], program.tol
    start.least = OFF if initial == "impact" else max(program.tol, LEAST_TOLERANCE)
    return start


def start_room(program: Program, held: np.ndarray, lengths: dict[Fn, int]) -> starts.Room:
    """Return workspace for one start; `lengths` are those of what the model's functions write."""
    model = program.model
    nq, nv, nl, n = model.nq, model.nv, model.n_lam, model.n_constraints + model.n_invariants
    free_q = np.flatnonzero(~held)
    free_v = free_q if nv == nq else np.arange(nv)
    if not model.dense:  # starts that are only looked at need no matrices
        free_q = free_v = free_q[:0]
    most = max(nq, nv, n, nl) + 1

    def qr(rows, columns):
        return np.zeros((rows, columns)), np.zeros(min(rows, columns)), np.zeros(columns, np.int64), np.zeros(3 * columns)

    return starts.Room(
        np.zeros(nq + nv), np.zeros(nq), *(np.zeros(lengths[Fn.RESIDUAL] + 1) for _ in range(3)),
        np.zeros(lengths.get(Fn.TERMS, 0) + 1), np.zeros(lengths.get(Fn.VEL_FACTOR, 0) + 1), np.zeros((n * model.dense, nq)),
        np.zeros((nv * model.dense, nv)), np.zeros(most), np.zeros(most), free_q, free_v, qr(len(free_q), n),
        qr(len(free_v), nl), qr(nv * model.dense, nl),
    )  # fmt: skip
