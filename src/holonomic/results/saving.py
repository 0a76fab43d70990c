"""Runs as files: NetCDF-3 through SciPy.

Reactions, outputs, drift and energy are computed before they are saved: a file needs no model to be read.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..files import readable, reading, writable, written
from ..kernels.signatures import Fn
from ..model.extra_states import NONE, Extras
from ..starting.impulse import as_array
from . import acting as acts
from . import checksum, drawn, report, switching
from .naming import multiplier_labels, order_of
from .provenance import Provenance, provenance
from .quantities import EventLogs
from .sampling import unknowns, values_along
from .solution import EventLog, Solution
from .tables import Variables, labels, slug, state_name, variables
from .trail import Trail

FORMAT = 2
WITHOUT_CHECKSUM = 1  # the format of files that have none
OTHERS = (".csv", ".txt", ".json", ".npz", ".npy", ".mat", ".pkl", ".h5", ".hdf5", ".xlsx", ".zarr", ".png", ".html")
LARGEST = 2**32 - 4  # bytes of one variable in NetCDF-3 with 64-bit offsets


@dataclass(frozen=True)
class Labels:
    """Names and sizes of a model; what is left of it in a file."""

    nq: int
    nv: int
    is_ode: bool
    order: int
    has_potential: bool
    coordinates: list[str]
    turns: list[bool]
    constraint_labels: list[str]
    nonholonomic_labels: list[str]
    invariant_labels: list[str]
    output_shapes: dict[str, tuple[int, ...]]
    extras: Extras = NONE

    @property
    def levels(self) -> int:
        """How many levels of its constraints a state holds as rows of their own."""
        return self.order

    @classmethod
    def of(cls, model) -> Labels:
        known = {name: getattr(model, name) for name in cls.__dataclass_fields__ if name != "order"}
        known["turns"] = [bool(turns) for turns in known["turns"]]
        listed = {name: list(names) for name, names in known.items() if isinstance(names, Sequence)}
        return cls(order=order_of(model), **known | listed)

    @classmethod
    def read(cls, said: dict[str, Any]) -> Labels:
        """The labels as they come out of a file."""
        kinds = {kind: tuple((name, size) for name, size in parts) for kind, parts in said.get("extras", {}).items()}
        shapes = {name: tuple(shape) for name, shape in said["output_shapes"].items()}
        return cls(**said | {"output_shapes": shapes, "extras": Extras(**kinds)})

    @property
    def ns(self) -> int:
        return self.extras.ns

    @property
    def nw(self) -> int:
        return self.extras.nw

    @property
    def nc(self) -> int:
        return self.nq - len(self.extras)

    @property
    def row_labels(self) -> list[str]:
        return self.constraint_labels + self.nonholonomic_labels

    @property
    def n_constraints(self) -> int:
        return len(self.constraint_labels)

    @property
    def n_lam(self) -> int:
        return 0 if self.is_ode else len(self.row_labels)

    @property
    def n_invariants(self) -> int:
        return len(self.invariant_labels)


@dataclass(frozen=True)
class SavedPlan:
    """What ran, in words."""

    model: Labels
    events: dict[str, None]
    text: str
    reason: str
    rows = None

    def why(self) -> str:
        """Say in plain words what ran and why."""
        return self.reason

    def __repr__(self) -> str:
        return self.text


def save(sol: Solution, path: str | Path) -> None:
    """Write a run to a NetCDF-3 file; a file of that name is replaced when the new one is complete."""
    from scipy.io import netcdf_file

    if not len(sol.trail.arrays[0]):
        raise BadArgument("there is nothing to save: the run has no times.")
    if sol.trail.parent is not None:
        raise BadArgument("sol(t) is part of a run: save the run itself.")
    target = writable(path, "save")
    if target.suffix.lower() in OTHERS:
        csv = "; text is written by sol.to_csv" if target.suffix.lower() in (".csv", ".txt") else ""
        raise BadArgument(f"save writes NetCDF, which {target.name} does not look like. Name it {target.stem}.nc{csv}.")
    model = sol.plan.model
    arrays = {"time": (("time",), sol.trail.arrays[0], "time, s")} | variables(sol)
    said, acting = acts.entries(sol)
    arrays |= _rates(sol) | _event_variables(sol) | _drawn_variables(sol) | _unknown_variables(sol) | acting
    too_large = [name for name, (_, values, _) in arrays.items() if values.nbytes > LARGEST]
    if too_large:
        raise BadArgument(f"{too_large[0]!r} is larger than NetCDF-3 holds (4 GiB). Keep fewer times: save_at=.")
    known = {
        "labels": asdict(Labels.of(model)), "facts": report.facts(sol) | {"why": sol.plan.why()}, "stats": sol.stats,
        "ended": sol.ended, "steps_kept": sol.trail.steps_kept, "span": sol.span, "events": list(sol.plan.events),
        "maps": [name for name, log in sol.events.items() if log.by_row is not None],
        "scene": drawn.scene(sol), "stopped": sol.trail.stopped, "unknowns": _unknown_sizes(sol),
        "end": [sol.end.t, *(getattr(sol.end, part).tolist() for part in ("q", "v", "a", "lam", "s", "w"))],
        "provenance": provenance(sol).to_dict(), "switches": switching.in_words(sol.switches),
    } | said  # fmt: skip
    with written(target) as draft:
        with netcdf_file(draft, "w", version=2) as file:
            checksum.reserve(file)
            for dim, names in labels(model).items():
                _put_text(file, dim, names)
            for name, (dims, values, text) in arrays.items():
                for dim, size in zip(dims, values.shape, strict=True):
                    if dim not in file.dimensions:
                        file.createDimension(dim, size)
                variable = file.createVariable(name, "d", dims)
                variable[...] = values
                variable.long_name = text.encode()
            file.title = b"A run of holonomic"
            file.holonomic_format = np.int32(FORMAT)
            file.plan = sol.plan.why().encode()
            file.versions = ", ".join(f"{k} {v}" for k, v in report.facts(sol)["versions"].items()).encode()
            file.run = json.dumps(known, ensure_ascii=False).encode()
        checksum.seal(draft)


def _put_text(file, dim: str, names: list[str]) -> None:
    """Labels of a dimension as rows of characters, which is all that NetCDF-3 has for text."""
    coded = [name.encode() for name in names]
    width = max(map(len, coded))
    file.createDimension(dim, len(coded))
    file.createDimension(f"{dim}_letters", width)
    variable = file.createVariable(dim, "c", (dim, f"{dim}_letters"))
    variable[...] = np.array(coded, dtype=f"S{width}").view("S1").reshape(len(coded), width)
    variable._Encoding = b"utf-8"


def _rates(sol) -> Variables:
    """q' where it is not v: for an Ode and with kinematics; interpolation needs it."""
    model = sol.plan.model
    if sol.trail.data is None:
        values = sol.trail.slopes
    elif model.is_ode or model.system.kinematics is not None or len(model.extras):
        values = values_along(sol, Fn.FIELD)[:, : model.nq]
    else:
        values = None
    return (
        {}
        if values is None
        else {"rate": (("time", "position" if len(model.extras) else "coordinate"), values, "time derivative of the positions")}
    )


def _event_variables(sol) -> Variables:
    found: Variables = {}
    speed = "coordinate" if sol.plan.model.nv == sol.plan.model.nc else "speed"
    last = {"t": (), "q": ("coordinate",), "v": (speed,), "a": (speed,), "lam": ("constraint",)}
    last |= {"s": ("state",), "w": ("algebraic",), "by_row": ("constraint", speed)}
    for index, (name, log) in enumerate(sol.events.items()):
        for part, dims in last.items():
            values = getattr(log, part)
            if part == "by_row" and values is not None:
                values = np.array([as_array(each) for each in values])
            if values is not None and values.size:
                found[f"event_{index}_{part}"] = ((f"event_{index}_times", *dims), values, f"event {name}: {part}")
    return found


def _unknown_sizes(sol) -> dict[str, int] | None:
    """How many numbers each unknown of the formulation has; None of a run that was loaded from an early file."""
    if sol.trail.data is None and sol.trail.unknowns is None:
        return None
    return {name: values.shape[1] for name, values in unknowns(sol).items()}


def _unknown_variables(sol) -> Variables:
    text = "what the formulation solved for beside q and v"
    return {
        f"unknown_{name}": (("time", f"unknown_{name}_row"), unknowns(sol)[name], f"{name}: {text}")
        for name, size in (_unknown_sizes(sol) or {}).items()
        if size
    }


def _drawn_variables(sol) -> Variables:
    """What moves the drawing: forces of joints, corners of lines."""
    words = {"forces": "forces of the joints on their second bodies, N", "lines": "corners of the drawn lines, m"}
    more = words | {"time": "times of frames, s", "q": "positions in frames"}
    dims = {name: (f"drawn_{name}_number", "drawn_axis") for name in words} | {"time": (), "q": ("coordinate",)}
    found = {f"drawn_{name}": (("time", *dims[name]), values, words[name]) for name, values in drawn.arrays(sol).items()}
    found |= {f"frame_{name}": (("frame", *dims[name]), values, more[name]) for name, values in drawn.frames(sol).items()}
    return {name: entry for name, entry in found.items() if entry[1].size}


def load(path: str | Path) -> Solution:
    """Read a run saved by `Solution.save`.

    The result holds all arrays, drift, energy, outputs and reactions, bit for bit, and every body, joint, drive and force of a
    mechanism by name, but no model: between the saved times `sol(t)` is cubic.

    Parameters
    ----------
    path : str or Path
        A file that `sol.save(path)` or `holonomic run --save` wrote.

    Returns
    -------
    Solution
        Without a model; print(sol) says so.

    Raises
    ------
    BadArgument
        There is no such file, or it is no run, or it is damaged: files have a checksum.
    FileFailed
        It may not be read.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import load, simulate
    >>> from holonomic.problems import pendulum
    >>> sol = simulate(pendulum(), 1.0)
    >>> sol.save("run.nc")
    >>> np.array_equal(load("run.nc").q, sol.q)
    True
    """
    from scipy.io import netcdf_file

    path = readable(path, "load")
    with reading(path):
        sealed = checksum.matches(path)
    if sealed is False:
        raise BadArgument(
            f"{path} is damaged: its content is not what was saved, the checksum differs. Take another copy of it, or save "
            "the run again with sol.save(path)."
        )
    try:
        with reading(path), netcdf_file(str(path), "r", mmap=False) as file:
            arrays = {name: np.array(v[...]) for name, v in file.variables.items()}
            attributes = dict(file._attributes)
    # what SciPy's reader raises, depending on where a file ends or what it holds instead
    except (
        TypeError,
        ValueError,
        KeyError,
        IndexError,
        EOFError,
        OverflowError,
        MemoryError,
        AttributeError,
        struct.error,
    ) as problem:
        raise BadArgument(
            f"{path} cannot be read: it is no NetCDF-3 file, or its end is missing ({problem}). "
            "Save the run again with sol.save(path)."
        ) from problem
    if "holonomic_format" not in attributes or "run" not in attributes:
        raise BadArgument(f"{path} is a NetCDF file, but not a run saved by holonomic.")
    if int(attributes["holonomic_format"]) > FORMAT:
        raise BadArgument(
            f"{path} was written by a newer holonomic (format {int(attributes['holonomic_format'])}, "
            f"known up to {FORMAT}). Update holonomic to read it."
        )
    if sealed is None and int(attributes["holonomic_format"]) != WITHOUT_CHECKSUM:
        raise BadArgument(f"{path} is damaged: its checksum is missing. Save the run again with sol.save(path).")
    try:
        known = json.loads(attributes["run"].decode())
        if "mechanism" in known or not (known.get("scene") or {}).get("bodies"):
            return _rebuilt(known, arrays)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as problem:
        raise BadArgument(f"{path} is damaged: {problem!r}. Save the run again with sol.save(path).") from problem
    raise BadArgument(
        f"{path} was written by an early holonomic, without the parts of its mechanism: forces of joints cannot be read from it. "
        "Run the mechanism again and save it with sol.save(path)."
    )


def _provenance(known: dict[str, Any]) -> Provenance:
    """Where a run comes from; files from before this was written down have versions alone."""
    return Provenance.from_dict(known.get("provenance", {"versions": known["facts"]["versions"]}))


def _rebuilt(known: dict[str, Any], arrays: dict[str, np.ndarray]) -> Solution:
    model = Labels.read(known["labels"])
    rows = len(arrays["time"])

    def get(name: str, *shape: int, length: int = rows) -> np.ndarray:
        if name not in arrays:
            return np.zeros((length, *shape))
        return np.ascontiguousarray(arrays[name], dtype=float).reshape(length, *shape)

    nq, nv, nl = model.nc, model.nv, len(multiplier_labels(model))
    ns, nw = model.ns, model.nw
    x = np.hstack([get(state_name(model), nq), get("s", ns), get("w", nw), get("v", nv)])
    a, lam = get("a", nv), get("lam", nl)
    facts = known["facts"]
    events = EventLogs()
    for index, name in enumerate(known["events"]):
        n = len(arrays.get(f"event_{index}_t", ()))
        sizes = {"t": (), "q": (nq,), "v": (nv,), "lam": (nl,), "a": (nv,), "s": (ns,), "w": (nw,)}
        mapped: dict[str, Any] = {}
        if name in known.get("maps", ()):
            mapped = {"by_row": get(f"event_{index}_by_row", nl, nv, length=n), "row_labels": tuple(model.row_labels)}
        events[name] = EventLog(**{part: get(f"event_{index}_{part}", *s, length=n) for part, s in sizes.items()}, **mapped)
    t_end, *last = known["end"]
    end_q, end_v, end_a, end_lam, *more = (np.array(part, dtype=float) for part in last)
    acting = acts.restored(known, arrays)
    trail = Trail(
        SavedPlan(model, dict.fromkeys(known["events"]), facts["plan"], facts["why"]),
        data=None,
        steps_kept=known["steps_kept"],
        start=(known["span"][0], x[0]),
        stop=(t_end, np.concatenate([end_q, *more, end_v]), np.concatenate([end_a, end_lam])),
        stopped=tuple(known["stopped"]) if known.get("stopped") else None,
        rows=(get("time"), x, np.hstack([a, lam])),
        slopes=get("rate", model.nq) if "rate" in arrays else None,
        frames={name[6:]: np.array(values) for name, values in arrays.items() if name.startswith("frame_")},
        kept=acting.kept,
        pairs=acting.pairs,
        unknowns=None if known.get("unknowns") is None
        else {name: get(f"unknown_{name}", size) for name, size in known["unknowns"].items()},
        known={
            "facts": facts, "stats": known["stats"], "events": events, "multipliers": lam, "reactions": get("reactions", nv),
            "switches": switching.out_of_words(known.get("switches", {})),
            "energies": np.stack([get("energy_kinetic"), get("energy_potential")], axis=1), "settled": get("w", nw),
            "residuals": np.hstack([
                get("drift_position", model.n_constraints), get("drift_invariant", model.n_invariants),
                get("drift_velocity", model.n_lam),
            ]),
            "outputs": {name: get(f"output_{slug(name)}", *shape) for name, shape in model.output_shapes.items()},
            "provenance": _provenance(known), "scene": known.get("scene"), "mechanism": acting.mechanism, "impact": acting.impact,
            "drawn": {name[6:]: np.array(values) for name, values in arrays.items() if name.startswith("drawn_")},
        },
    )  # fmt: skip
    return Solution(trail, known["ended"])
