"""Equations of an implicit formulation that are too long for their Jacobian to be derived: it is swept back instead."""

from __future__ import annotations

import numpy as np

from ..kernels.signatures import N_FUNCTIONS, Fn
from ..loop.from_python import invoke
from .elimination_order import sparse_order
from .newton_factors import MOST_UNKNOWNS, WEIGHTS, Order, sample_points
from .played_jacobians import MOST_ENTRIES, SweptTape, is_swept
from .tape import Tape, record

SHORT = 3000  # operations, symbols and numbers of equations of few unknowns whose Jacobian is derived in any case
# operations gone back through by all rows together, from which on nothing is derived: compiling takes 75 µs for each of them
LONGEST_DERIVED = 30_000


def long_equations(request: tuple, wanted) -> LongEquations | None:
    """Return the equations among functions that are asked for, where they are long; `request` is what `graphs` takes."""
    if Fn.BY_Y not in wanted or Fn.BY_SLOPE not in wanted:
        return None
    from .graphs import angles_by_parts, graphs
    from .symbolics import count

    graph = graphs(request[0], (Fn.EQUATIONS,), *request[2:])[Fn.EQUATIONS]
    width = graph[1].numel()
    few = width <= MOST_UNKNOWNS
    if few and count(graph[4]) <= SHORT:
        return None
    tape = angles_by_parts(record(*graph))
    if not is_swept(tape):
        return None
    swept = SweptTape(tape)
    found, room = {}, MOST_ENTRIES
    for fn, which in ((Fn.BY_Y, "a"), (Fn.BY_SLOPE, "b")):
        found[fn] = swept.jacobian(which, width, room)
        if found[fn] is None:
            return None
        room -= found[fn].entries
    if few and MOST_ENTRIES - room <= LONGEST_DERIVED:
        return None
    return LongEquations(tape, width, found)


class LongEquations:
    """The tape of the equations, and operators that give their Jacobians.

    Attributes
    ----------
    tape : Tape
        R(t, y, y').
    jacobians : dict
        ∂R/∂y and ∂R/∂y'.
    pattern : list
        For each row of Newton's matrix the columns that may differ from zero.
    """

    def __init__(self, tape: Tape, width: int, jacobians: dict):
        self.tape, self.width, self.jacobians = tape, width, jacobians
        known = [set() for _ in tape.outputs]
        for each in jacobians.values():
            for i, j in zip(each.rows.tolist(), each.columns.tolist(), strict=True):
                known[i].add(j)
        self.pattern = [sorted(columns) for columns in known]

    @property
    def is_square(self) -> bool:
        """Whether there are as many equations as unknowns."""
        return len(self.tape.outputs) == self.width

    @property
    def operations(self) -> int:
        """How many there would be, derivatives written out."""
        return len(self.tape) + sum(each.entries for each in self.jacobians.values())

    def order(self, nq: int, t0: float, x0: np.ndarray, data: np.ndarray) -> Order:
        """Pivots, by values at the start of a motion and beside it; as many as are worth it."""
        n = self.width
        rows = np.repeat(np.arange(n), [len(columns) for columns in self.pattern])
        columns = np.array([j for each in self.pattern for j in each], dtype=np.int64)
        values = []
        for y, slope in sample_points(x0, n):
            A, B = (self._evaluated(fn, t0, y, slope, data)[rows * n + columns] for fn in (Fn.BY_Y, Fn.BY_SLOPE))
            values += [A + weight * B for weight in WEIGHTS]
        return sparse_order(n, nq, rows, columns, np.array(values))

    def _evaluated(self, fn: Fn, t: float, y: np.ndarray, slope: np.ndarray, data: np.ndarray) -> np.ndarray:
        fns, out = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), np.empty(self.jacobians[fn].length)
        fns[2 * fn], fns[2 * fn + 1] = self.jacobians[fn].address, self.jacobians[fn].context
        invoke(fns, int(fn), float(t), y, slope, data, out)
        return out
