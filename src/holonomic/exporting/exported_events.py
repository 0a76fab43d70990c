"""Events of an exported run: which end it, and the maps of those that change its state as operators of the model."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..loop.after_events import ENDS, MANY_IMPACTS, MAPS, TOLD, WAIT, Impacts
from ..model.dae import Dae
from ..model.tape import Tape

LOGGED = 64  # events of one call that are told with their times; more are counted
AS_IT_WAS = ("in", 1)  # an entry of a, which is x


def map_of(call: str, model, name: str, then) -> Tape:
    """Return the tape of a map: all of the new state (q, s, w, v) of the old one."""
    what = f"{call}: then of event {name!r}"
    if model.nw or isinstance(model.system, Dae):
        raise BadArgument(f"{what} maps a state of which a part is solved for; that is done in Python alone.")
    tape, shapes, why = model.map_tape(then, f"then of event {name!r}")
    if tape is None:
        raise BadArgument(f"{what} cannot be traced, and a library has no Python: {why}.")
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = [model.nq] if model.is_ode else [model.nc, model.nv, model.ns]
    if sizes != parts[: len(sizes)] or len(sizes) < min(len(parts), 2):
        wanted = "y" if model.is_ode else "(q, v)" if not model.ns else "(q, v) or (q, v, s)"
        raise BadArgument(f"{what} must return {wanted}.")
    if model.is_ode:
        return tape
    nodes, out = list(tape.nodes), list(tape.outputs)
    q, v, s = out[: model.nc], out[model.nc : model.nc + model.nv], out[model.nc + model.nv :]
    if not s:
        s = list(range(len(nodes), len(nodes) + model.ns))
        nodes += [(*AS_IT_WAS, model.nc + i) for i in range(model.ns)]
    return Tape(tuple(nodes), (*q, *s, *v))


def impacts_of(events: dict, t0: float, nx: int, first_map: int, several: bool) -> Impacts:
    """Return what a run remembers of its events, at its start."""
    n = len(events)
    kinds = [ENDS if each.terminal else TOLD if each.then is None else MAPS for each in events.values()]
    waits = np.zeros((n, WAIT + MANY_IMPACTS))
    waits[:, 0] = t0
    logged = LOGGED if n else 0
    return Impacts(
        np.array(kinds, dtype=np.int64), np.zeros(n, np.int64), waits, np.zeros(logged), np.zeros(logged, np.int64),
        np.zeros(1 + n, np.int64), np.zeros(nx + 2), np.array([first_map, several], dtype=np.int64),
    )  # fmt: skip
