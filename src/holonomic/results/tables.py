"""A run as tables: every array with its dimensions and labels, for files, xarray, pandas and text."""

from __future__ import annotations

import csv
import re
import zlib
from pathlib import Path

import numpy as np

from ..errors import BadArgument, MissingExtra
from .naming import is_dae, multiplier_labels

Variables = dict[str, tuple[tuple[str, ...], np.ndarray, str]]  # name -> dimensions, array, description


def labels(model) -> dict[str, list[str]]:
    """Return the dimensions that have labels, and these; `speed` where v has not the length of q."""
    found = {"coordinate": list(model.coordinates)}
    if model.ns:
        found["state"] = model.extras.state_labels
    if model.nw:
        found["algebraic"] = model.extras.algebraic_labels
    if model.nv and model.nv != model.nc:
        found["speed"] = [f"v[{i}]" for i in range(model.nv)]
    if multiplier_labels(model):
        found["constraint"] = multiplier_labels(model)
    if model.n_constraints and model.n_constraints != len(multiplier_labels(model)):
        found["holonomic"] = list(model.constraint_labels)
    if model.n_invariants:
        found["invariant"] = list(model.invariant_labels)
    return found


def state_name(model) -> str:
    """q and v of a System, y of an Ode; a Dae's y are its multipliers, its state (x, x', ..) is z."""
    return "z" if is_dae(model) else "y" if model.is_ode else "q"


def variables(sol) -> Variables:
    """Return every array of a solution with its dimensions; those without entries are left out."""
    model = sol.plan.model
    speed = "coordinate" if model.nv == model.nc else "speed"
    holonomic = "constraint" if model.n_constraints == len(multiplier_labels(model)) else "holonomic"
    n, first = model.n_constraints, model.n_constraints + model.n_invariants
    _, x, k = sol._arrays
    if model.is_ode:
        found: Variables = {
            state_name(model): (("time", "coordinate"), x[:, : model.nq], "state"),
            "lam": (("time", "constraint"), sol._multipliers, "algebraic unknowns"),
        }
    else:
        found = {
            "q": (("time", "coordinate"), x[:, : model.nc], "positions"),
            "s": (("time", "state"), x[:, model.nc : model.nc + model.ns], "states"),
            "w": (("time", "algebraic"), sol._settled, "algebraic variables"),
            "v": (("time", speed), x[:, model.nq : model.nq + model.nv], "velocities"),
            "a": (("time", speed), k[:, : model.nv], "accelerations"),
            "lam": (("time", "constraint"), sol._multipliers, "multipliers"),
        }
        if model.n_lam:
            found["reactions"] = (
                ("time", speed),
                sol._forces,
                "-G^T lam, force of the constraints on the system",
            )
        kinetic, potential = sol._energies.T
        found["energy_kinetic"] = ("time",), kinetic, "kinetic energy, J"
        found["energy_potential"] = ("time",), potential, "potential energy, J"
    if first or model.n_lam:
        r = sol._residuals
        found["drift_position"] = ("time", holonomic), r[:, :n], "g"
        found["drift_velocity"] = ("time", "constraint"), r[:, first:], "G v + g_t"
        found["drift_invariant"] = (
            ("time", "invariant"),
            r[:, n:first],
            "change of the invariants since the start",
        )
    for name, values in sol._outputs.items():
        axes = tuple(f"output_{slug(name)}_{i}" for i in range(values.ndim - 1))
        found[f"output_{slug(name)}"] = ("time", *axes), values, f"output {name}"
    return {name: entry for name, entry in found.items() if entry[1].size}


def slug(name: str) -> str:
    """A name that every reader of NetCDF takes; different names stay different."""
    if re.fullmatch(r"\w+", name, re.ASCII):
        return name
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") + f"_{zlib.crc32(name.encode()):08x}"


def to_xarray(sol):
    """Return an xarray Dataset."""
    try:
        import xarray
    except ImportError:
        raise MissingExtra('to_xarray needs xarray: pip install "holonomic[xarray]".') from None
    model = sol.plan.model
    data = {}
    for name, (dims, values, text) in variables(sol).items():
        data[name] = xarray.Variable(dims, values, {"long_name": text})
    for name in model.output_shapes:
        if f"output_{slug(name)}" in data:
            free = (
                name
                if name not in data and name not in labels(model) and name != "time"
                else f"output {name}"
            )
            data[free] = data.pop(f"output_{slug(name)}")
    time = xarray.Variable("time", sol._arrays[0], {"units": "s"})
    attributes = {"plan": sol.plan.why(), "versions": str(sol._facts["versions"]), "ended": sol.ended}
    return xarray.Dataset(data, {"time": time} | labels(model), attributes)


def columns(sol) -> dict[str, np.ndarray]:
    """Return every component under a name of its own: beta, v[beta], a[beta], lam[rod], reaction[beta]."""
    model = sol.plan.model
    names = [re.sub(r"^[qy]\[(\d+)\]$", r"\1", name) for name in model.coordinates]
    speeds = names if model.nv == model.nc else [str(i) for i in range(model.nv)]
    _, x, k = sol._arrays
    found = dict(zip(model.coordinates, x[:, : model.nc].T, strict=True))
    if not model.is_ode:
        v = x[:, model.nq : model.nq + model.nv]
        found |= {f"v[{name}]": values for name, values in zip(speeds, v.T, strict=True)}
        found |= {f"a[{name}]": values for name, values in zip(speeds, k[:, : model.nv].T, strict=True)}
        found |= dict(zip(model.extras.state_labels, x[:, model.nc : model.nc + model.ns].T, strict=True))
        found |= dict(zip(model.extras.algebraic_labels, sol._settled.T, strict=True))
    lam = zip(multiplier_labels(model), sol._multipliers.T, strict=True)
    found |= {f"lam[{name}]": values for name, values in lam}
    if model.n_lam:
        found |= {f"reaction[{name}]": values for name, values in zip(speeds, sol._forces.T, strict=True)}
    for name, values in sol._outputs.items():
        own = f"output[{name}]" if name in found else name
        for place in np.ndindex(values.shape[1:]):
            at = f"[{','.join(map(str, place))}]" if place else ""
            found[own + at] = values[(slice(None), *place)]
    return found


def to_dataframe(sol):
    """Return a pandas DataFrame with the times as index."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra('to_dataframe needs pandas: pip install "holonomic[xarray]".') from None
    return pandas.DataFrame(columns(sol), index=pandas.Index(sol._arrays[0], name="t"))


def to_csv(sol, path: str | Path) -> None:
    """Write the columns as comma-separated text; numbers read back bit for bit."""
    path = Path(path)
    if not path.resolve().parent.is_dir():
        raise BadArgument(f"there is no folder {path.resolve().parent} to write {path.name} in.")
    table = columns(sol)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["t", *table])
        writer.writerows(np.column_stack([sol._arrays[0], *table.values()]).tolist())
