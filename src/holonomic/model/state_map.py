"""The map of an event as an operator of the model: all of the new state of the old one."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from .dae import Dae
from .tape import Tape

AS_IT_WAS = ("in", 1)  # an entry of a, which is x


def state_map(call: str, model, name: str, then, place: str) -> Tape:
    """Return the tape of `then` of an event: the new state (q, s, v) of a = (q, s, v), with parameters in b.

    `call` and `place` are for messages: what the user called, and where there is no Python.
    """
    what = f"{call}: then of event {name!r}"
    if model.nw or isinstance(model.system, Dae):
        raise BadArgument(f"{what} maps a state of which a part is solved for; that is done in Python alone.")
    tape, shapes, why = model.map_tape(then, f"then of event {name!r}")
    if tape is None:
        raise BadArgument(f"{what} cannot be traced, and {place} has no Python: {why}.")
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
