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
    job, model = runs.job, runs.plan.model
    variables = {}
    for name in runs.source.kept():
        values = runs.source.lazily(name)
        variables[name] = (dimensions(job.program, name, values.ndim), values)
    for name, values in runs.params.items():
        variables[f"param_{name}"] = (("member", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
    variables["ok"] = (("member",), runs.ok)
    variables["steps"] = (("member",), runs.steps)
    variables["reached"] = (("member",), runs.reached)
    if runs.plan.events:
        first = np.stack([log.first for log in runs.events.values()], axis=1)
        count = np.stack([log.count for log in runs.events.values()], axis=1)
        variables["event_first"] = (("member", "event"), first)
        variables["event_count"] = (("member", "event"), count)
    made = xarray.Dataset(variables, coords={"time": runs.t, "member": np.arange(len(runs))})
    for dimension, labels in (
        ("coordinate", list(model.coordinates)), ("row", model.row_labels), ("event", list(runs.plan.events)),
    ):  # fmt: skip
        if made.sizes.get(dimension) == len(labels):
            made = made.assign_coords({dimension: labels})
    return made
