"""A run as tables: every array with its dimensions and labels, for files, xarray, pandas and text."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import BadArgument, MissingExtra
from ..files import writable, written
from . import report, sampling
from .named_rows import dimensions, labels_of
from .naming import is_dae, multiplier_labels
from .provenance import provenance

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes cells that begin with one of these
Variables = dict[str, tuple[tuple[str, ...], np.ndarray, str]]  # name -> dimensions, array, description


def labels(model) -> dict[str, list[str]]:
    """Return the dimensions that have labels, and these; `speed` where v and q have different lengths."""
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
    _, x, k = sol.trail.arrays
    if model.is_ode:
        found: Variables = {
            state_name(model): (("time", "coordinate"), x[:, : model.nq], "state"),
            "lam": (("time", "constraint"), sampling.multipliers(sol), "algebraic unknowns"),
        }
    else:
        found = {
            "q": (("time", "coordinate"), x[:, : model.nc], "positions"),
            "s": (("time", "state"), x[:, model.nc : model.nc + model.ns], "states"),
            "w": (("time", "algebraic"), sampling.algebraic_variables(sol), "algebraic variables"),
            "v": (("time", speed), x[:, model.nq : model.nq + model.nv], "velocities"),
            "a": (("time", speed), k[:, : model.nv], "accelerations"),
            "lam": (("time", "constraint"), sampling.multipliers(sol), "multipliers"),
        }
        if model.n_lam:
            found["reactions"] = (("time", speed), sampling.forces(sol), "-G^T lam, force of the constraints on the system")
        kinetic, potential = sampling.energies(sol).T
        found["energy_kinetic"] = ("time",), kinetic, "kinetic energy, J"
        found["energy_potential"] = ("time",), potential, "potential energy, J"
    if first or model.n_lam:
        r = sampling.residuals(sol)
        found["drift_position"] = ("time", holonomic), r[:, :n], "g"
        found["drift_velocity"] = ("time", "constraint"), r[:, first:], "G v + g_t"
        found["drift_invariant"] = (("time", "invariant"), r[:, n:first], "change of the invariants since the start")
    for name, values in sampling.outputs(sol).items():
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
    if sol.trail.named is not None:
        return _named_dataset(xarray, sol)
    data = {}
    for name, (dims, values, text) in variables(sol).items():
        data[name] = xarray.Variable(dims, values, {"long_name": text})
    for name in model.output_shapes:
        if f"output_{slug(name)}" in data:
            free = name if name not in data and name not in labels(model) and name != "time" else f"output {name}"
            data[free] = data.pop(f"output_{slug(name)}")
    for name, values in parts(sol).items():
        dims = ("time",) if values.shape[1] == 1 else ("time", "axis")
        text = WHAT[name.rpartition(".")[2]]
        data[name] = xarray.Variable(dims, values[:, 0] if values.shape[1] == 1 else values, {"long_name": text})
    axes = {"axis": list("xyz"[: sol.trail.mechanism.dimension])} if any("axis" in data[n].dims for n in data) else {}
    time = xarray.Variable("time", sol.trail.arrays[0], {"units": "s"})
    attributes = {"plan": sol.plan.why(), "versions": str(report.facts(sol)["versions"]), "ended": sol.ended}
    attributes["provenance"] = json.dumps(provenance(sol.source).to_dict())
    return xarray.Dataset(data, {"time": time} | axes | labels(model), attributes)


def _named_dataset(xarray, sol):
    """What a run kept by name; of a store, read when it is used."""
    shelf, labels = sol.trail.named.shelf, labels_of(sol.plan.model)
    attributes = {"plan": sol.plan.why(), "ended": sol.ended, "provenance": json.dumps(provenance(sol.source).to_dict())}
    made = shelf.as_dataset(xarray)
    if made is None:
        data = {name: (("time", *dimensions(name, shape, labels)), shelf.values(name)) for name, shape in shelf.shapes.items()}
        made = xarray.Dataset(data, {"time": ("time", shelf.times(), {"units": "s"})})
    there = {name: each for name, each in labels.items() if name in made.sizes}
    return made.assign_coords(there).assign_attrs(attributes)


def groups(sol) -> dict[str, dict[str, np.ndarray]]:
    """Return every component under a name of its own, beta, v[beta], a[beta], lam[rod], reaction[beta], by kind."""
    model = sol.plan.model
    names = [re.sub(r"^[qy]\[(\d+)\]$", r"\1", name) for name in model.coordinates]
    speeds = names if model.nv == model.nc else [str(i) for i in range(model.nv)]
    _, x, k = sol.trail.arrays

    def each(labels, values, letter=""):
        return {f"{letter}[{name}]" if letter else name: column for name, column in zip(labels, values.T, strict=True)}

    found = {state_name(model): each(model.coordinates, x[:, : model.nc])}
    if not model.is_ode:
        found["v"] = each(speeds, x[:, model.nq : model.nq + model.nv], "v")
        found["a"] = each(speeds, k[:, : model.nv], "a")
        found["s"] = each(model.extras.state_labels, x[:, model.nc : model.nc + model.ns])
        found["w"] = each(model.extras.algebraic_labels, sampling.algebraic_variables(sol))
    found["lam"] = each(multiplier_labels(model), sampling.multipliers(sol), "lam")
    if model.n_lam:
        found["reactions"] = each(speeds, sampling.forces(sol), "reaction")
    return found


WHAT = {
    "force": "on the second body, ground frame, N", "torque": "on the second body, ground frame, N m",
    "effort": "torque about the joint's axis, N m, or force along it, N",
}  # fmt: skip


def parts(sol) -> dict[str, np.ndarray]:
    """Forces, torques and efforts of the joints, drives and forces of a mechanism: "A.force", (time, axis)."""
    resolver = sol.trail.mechanism
    if resolver is None:
        return {}
    record, found = resolver.record(sol), {}
    for name in (*resolver.joints, *resolver.drives, *resolver.forces):
        view = resolver.view_of(record, name)
        for key in ("force", "torque", *({"effort"} & {*resolver.quantities(view)})):
            found[f"{name}.{key}"] = np.asarray(getattr(view, key), dtype=float).reshape(len(record.t), -1)
    return found


def columns(sol, names: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Return one column per component: of the whole run, or of the quantities that are named."""
    if sol.trail.named is not None:
        return _named_columns(sol, names)
    kinds = groups(sol)
    if names:
        found: dict[str, np.ndarray] = {}
        for name in names:
            if not isinstance(name, str):
                raise BadArgument(f'columns are named by texts, one after the other, as in sol.to_csv(path, "q"), got {name!r}.')
            found |= kinds[name] if name in kinds else _parted(name, _numbers(sol, name))
        return found
    found = {name: values for kind in kinds.values() for name, values in kind.items()}
    for name, values in sampling.outputs(sol).items():
        found |= _parted(f"output[{name}]" if name in found else name, values)
    for name, values in parts(sol).items():
        found |= _parted(name, values)
    return found


def _named_columns(sol, names: Sequence[str]) -> dict[str, np.ndarray]:
    rows, found = sol.trail.named, {}
    for name in names or rows.names:
        found |= _parted(name, _numbers(sol, name))
    return found


def _numbers(sol, name: str) -> np.ndarray:
    values = sol[name]
    if not isinstance(values, np.ndarray | np.generic | float):
        raise BadArgument(f'{name!r} is a whole part of the mechanism: name one of its quantities, as in "A.force". {values}')
    values = np.asarray(values, dtype=float)
    return values[None] if sol.trail.single else values


def _parted(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of one quantity: "A.force x" of a part of a mechanism, out[0,1] of anything else."""
    inner = values.shape[1:]
    if "." in name and inner in ((1,), (2,), (3,)):
        return {name + (f" {'xyz'[i]}" if inner[0] > 1 else ""): values[:, i] for i in range(inner[0])}
    at = {place: f"[{','.join(map(str, place))}]" if place else "" for place in np.ndindex(inner)}
    return {name + text: values[(slice(None), *place)] for place, text in at.items()}


def to_dataframe(sol, names: Sequence[str] = ()):
    """Return a pandas DataFrame with the times as index."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra('to_dataframe needs pandas: pip install "holonomic[xarray]".') from None
    return pandas.DataFrame(columns(sol, names), index=pandas.Index(np.atleast_1d(sol.t), name="t"))


def to_csv(sol, path: str | Path, names: Sequence[str] = ()) -> None:
    """Write the columns as comma-separated text; numbers read back bit for bit."""
    target = writable(path, "to_csv", devices=True)
    table = columns(sol, names)
    for name in table:
        if name.startswith(FORMULA):
            raise BadArgument(
                f"to_csv: a spreadsheet takes the column {name!r} for a formula, because it begins with {name[0]!r}. Rename it, or "
                "name the columns to write: sol.to_csv(path, ...)."
            )
    with written(target) as draft, open(draft, "w", newline="", encoding="utf-8") as file:
        import csv

        writer = csv.writer(file)
        writer.writerow(["t", *table])
        writer.writerows(np.column_stack([np.atleast_1d(sol.t), *table.values()]).tolist())
