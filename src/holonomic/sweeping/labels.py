"""Dimensions of what an ensemble keeps, for labelled arrays in memory and in a store."""

from __future__ import annotations

import numpy as np


def dimensions(program, name: str, ndim: int) -> tuple[str, ...]:
    """Names of the axes of a quantity: member, time and its own."""
    model = program.model
    own = {
        "q": ("coordinate",), "v": ("coordinate" if model.nv == model.nc else "rate",),
        "a": ("coordinate" if model.nv == model.nc else "rate",), "s": ("state",), "w": ("algebraic",), "lam": ("row",),
        "y": ("row" if model.is_dae else "coordinate",),
    }  # fmt: skip
    if name in own and ndim == 3:
        return ("member", "time", *own[name])
    return ("member", "time", *(f"{name}_{i}" for i in range(ndim - 2)))


def dataset(xarray, runs):
    """Return an xarray Dataset of what an ensemble keeps."""
    job, source = runs.job, runs.source
    made = source.as_dataset(xarray)
    if made is None:
        made = xarray.Dataset(_variables(runs))
    more = {"ok": (("member",), runs.ok), "steps": (("member",), runs.steps), "reached": (("member",), runs.reached)}
    if runs.plan.events:
        first = np.stack([log.first for log in runs.events.values()], axis=1)
        count = np.stack([log.count for log in runs.events.values()], axis=1)
        more |= {"event_first": (("member", "event"), first), "event_count": (("member", "event"), count)}
    made = made.assign(more).assign_coords(time=runs.t)
    labels = {"coordinate": job.program.model.coordinates, "row": runs.plan.model.row_labels, "event": runs.plan.events}
    fitting = {name: list(given) for name, given in labels.items() if made.sizes.get(name) == len(given)}
    return made.assign_coords(fitting)


def _variables(runs) -> dict:
    """What is kept in memory, with its dimensions, and the parameters."""
    found = {}
    for name in runs.source.kept():
        values = runs.source.values(name)
        found[name] = (dimensions(runs.job.program, name, values.ndim), values)
    for name, values in runs.params.items():
        found[f"param_{name}"] = (("member", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
    return found
