"""The operators by which a run watches the switches of tables."""

from __future__ import annotations

import numpy as np

from ..kernels import table_switches as kernels
from ..kernels.signatures import Fn
from ..model.operators import Operator
from .collection import Collection, Context, KindTable


def watched_switches(c: Collection, events: dict[Fn, Operator]) -> dict[Fn, Operator]:
    """Return EVENTS, EVENT_RATES and BOUNDS of events, where there are any, and of the switches of a collection."""
    made = {}
    for fn, kernel, rows in (
        (Fn.EVENTS, kernels.table_events, 1), (Fn.EVENT_RATES, kernels.table_event_rates, 2), (Fn.BOUNDS, kernels.table_bounds, 4),
    ):  # fmt: skip
        context, own = _context(c, fn), events.get(fn)
        if own is not None:
            context.memory.events, context.memory.of_events = own.function, own.context
            context.memory.n_events = own.length // rows
        total = int(context.memory.n_events + context.memory.n_switches)
        c.watched["held", context.address] = context  # as long as its address is in use
        made[fn] = Operator(kernel.address, context.address, rows * total)
    return made


def _context(c: Collection, fn: Fn) -> Context:
    """The tables with switches, and what each of their elements sees of the model."""
    context = Context(kernels.WATCHED)
    head, words = context.memory, []
    for table in (table for table in c.tables if table.switches is not None):
        function, seen = table.kind.functions["rates" if fn is Fn.EVENT_RATES else "switches"], _seen(c, table)
        places, length, address, own = c.places(table, function), function.length, function.address, 0
        if fn is Fn.BOUNDS:
            bounds = function.bounds
            address, own, length = bounds.address, bounds.context, bounds.length
        words.append([
            len(table.ends), len(table.kind.switches), seen.shape[1], places.shape[1], address, own, context.hold(seen),
            context.hold(places), context.hold(table.switches),
        ])  # fmt: skip
        head.most_seen, head.most_data = max(head.most_seen, seen.shape[1]), max(head.most_data, places.shape[1])
        head.most_written = max(head.most_written, length)
    head.kinds, head.n_kinds, head.n_switches = context.hold(words), len(words), len(c.switches)
    head.nq = c.nq * c.n_bodies + c.n_states
    return context


def _seen(c: Collection, table: KindTable) -> np.ndarray:
    """Places in (q, v) of the model of what each element sees: coordinates of its ends, then velocities."""
    nq = c.nq * c.n_bodies + c.n_states
    rows = []
    for ends in table.ends.tolist():
        q, v = [], []
        for lump in ends:
            if lump >= len(c.lumps):
                q.append(c.state_places(lump))
                continue
            bodies = np.array(c.lumps[lump])
            q.append((c.nq * bodies[:, None] + np.arange(c.nq)).ravel())
            v.append(nq + (c.nv * bodies[:, None] + np.arange(c.nv)).ravel())
        rows.append(np.concatenate([*q, *v]))
    return np.array(rows, dtype=np.int64).reshape(len(table.ends), -1)
