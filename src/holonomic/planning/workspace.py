"""The arrays that the step loop works on, sized by a plan."""

from __future__ import annotations

import math

import numpy as np

from ..kernels import sizes
from ..kernels.signatures import Events, Inside, Loop, Passing, Scale, State
from ..loop import event_search, kept_steps
from ..loop.from_python import flat
from ..passage import path
from ..stabilizations.projection import tightened
from .plan import Plan

CHUNK_NUMBERS = 200_000  # size of one recording buffer
PATHS = 4  # paths over singular positions that the loop may write down before Python takes them


class Workspace:
    """The arrays of one run; a plan keeps those of finished runs, so that short runs need not make them.

    What changes while a run goes on lies in one piece, `arena`: its copy is the run's state, but for memory and data.
    """

    def __init__(self, plan: Plan, paths: int = PATHS):
        size, lowered, nev = plan.size, plan.integrator, plan.n_watched
        nx, nrow, nk = size.nx, size.nrow, size.nk
        self.plan = plan
        # rows of K also keep an integrator's own numbers (the order of BDF and the like), up to 16 of them; the last two are
        # for state and slope at the smallest pivot ratio
        width = max(nx, nrow, 16)
        found, path_rows = event_search.MOST * nev, path.ROWS if plan.crosses else 0
        self.arena, parts = _in_one_piece(
            (nx,), (nx,), (nx,), (lowered.rows + 2, width), (max(1, lowered.errors), nx), (size.work_end + 8,), (nx,), (1, nrow),
            (path_rows, width if plan.crosses else 0), (event_search.MARKS, nev), (event_search.VALUES, nev), (2 * nev,), (found,),
            (found,),
        )  # fmt: skip
        *parts, led, marks, values, rates, theta, which = parts
        state, inside = State(*parts[:6]), Inside(*parts[6:])
        if plan.crosses:
            sp, nodes = tightened(plan.sp), lowered.nodes
            kept = np.zeros((paths * path.KEPT, width))
        else:
            sp, nodes, kept = np.zeros(0), np.zeros(0), np.zeros((0, 0))
        self.loop = Loop(state, inside, Scale(plan.atol, plan.kinds), Passing(led, kept, sp, nodes))
        self.sizes = state.W[size.at_sizes : size.at_newton]  # how large the motion has been, then the absolute tolerances in force
        self.flat = flat(self.loop)
        self.columns = kept_steps.columns(lowered.dense_rows, width)
        rows = max(2, min(2048, CHUNK_NUMBERS // (nx + nk + 1 + self.columns)))
        self.rows = (np.empty(rows), np.empty((rows, nx)), np.empty((rows, nk)), np.empty((rows, self.columns)))
        rows = 2 * found
        self.events = Events(
            marks.view(np.int64), values, rates, theta, which.view(np.int64), np.zeros(rows), np.zeros(rows, dtype=np.int64),
            np.zeros((rows, nx)), np.zeros((rows, nk)),
        )  # fmt: skip
        self.events.marks[event_search.DIRECTION] = [event.sign for event in plan.events.values()] + [0] * len(plan.switches)
        self.events.marks[event_search.STOPS] = [event.stops for event in plan.events.values()] + [
            event_search.CORNER if switch.corner else event_search.HOLDS_AT_ZERO if switch.at_zero else event_search.AS_SWITCH
            for switch in plan.switches
        ]

    @classmethod
    def of(cls, plan: Plan) -> Workspace:
        """Return a workspace for a run of a plan: that of a finished run, where there is one."""
        try:
            return plan.spare.pop()
        except IndexError:
            return cls(plan)

    def go_on_from(self, other: Workspace, states: int) -> np.ndarray:
        """Take over how large the motion has been, and the tolerances of states that have a size of their own; return it."""
        here, before, first, (atol, old) = self.sizes, other.sizes, sizes.TOLERANCES, (self.plan.atol, other.plan.atol)
        own = np.flatnonzero((self.plan.kinds[:states] == sizes.OWN) & (atol[:states] < 0.0))
        here[:first], here[first:] = before[:first], 0.0
        here[first + own] = before[first + own] * atol[own] / old[own]
        return here.copy()

    def given(self, plan: Plan, data: np.ndarray, memory, save_t: np.ndarray) -> tuple:
        """What a run of a plan with these data, memory and times to keep works on, as `run_compiled` takes it."""
        return (plan.fns, plan.size, data, memory, *self.flat, *self.rows, save_t, plan.slots, *plan.method, *self.events)


def _in_one_piece(*shapes: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return one array of zeros, and its parts of these shapes, one behind the other."""
    sizes = [math.prod(shape) for shape in shapes]
    whole, parts, at = np.zeros(sum(sizes)), [], 0
    for shape, size in zip(shapes, sizes, strict=True):
        parts.append(whole[at : at + size].reshape(shape))
        at += size
    return whole, parts
