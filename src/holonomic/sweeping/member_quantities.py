"""What can be read of the runs of a stretch of members, by name: member first, then time; and the names of these axes.

Impulses with which members begin are not kept: they follow from the starts that were given.
"""

from __future__ import annotations

import json
import warnings
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError, RedundancyWarning
from ..kernels.signatures import Fn
from ..loop.batch import along_members, enter_tables
from ..model.input_tables import values_at
from ..native.callbacks import raise_what_was_raised
from ..results.naming import rows_of, stems, unknown
from ..results.sampling import smallest
from ..results.trail import all_rows
from ..starting.impulse import Impact, as_array
from ..starting.initial import prepare
from .job import Job
from .members import rows_of as starts_of

ARRAYS = ("q", "v", "a", "lam", "y", "s", "w")


class Quantities:
    """Arrays of members first .. last-1 out of x = (q, v, ...) and k = (v', λ)."""

    def __init__(self, job: Job, first: int, last: int, x: np.ndarray, k: np.ndarray):
        self.job, self.first, self.last, self.x, self.k = job, first, last, x, k
        self.model = job.program.model

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def plan(self):
        return self.job.plan

    @property
    def t(self) -> np.ndarray:
        return self.job.save_t

    @cached_property
    def _data(self) -> np.ndarray:
        return self.job.data_of(self.first, self.last)

    @property
    def inputs(self) -> dict[str, Any]:
        """The model's inputs; those that the sweep sets as values at all times of all members, in one row."""
        found, tables = dict(self.plan.model.inputs), self.job.tables
        tabled = [name for name, given in found.items() if not callable(given)]
        for j, name in enumerate(tabled):
            if name in self.job.inputs:
                times = tables.times[tables.first[j] : tables.first[j + 1]]
                rows = tables.values[j] if len(tables.values[j]) == 1 else tables.values[j][self.first : self.last]
                values = [values_at(times, row, self.t, self.job.forward) for row in np.broadcast_to(rows, (len(self), len(times)))]
                found[name] = np.array(values).reshape(-1)
        return found

    @property
    def q(self) -> np.ndarray:
        return self.x[:, :, : self.model.nc]

    @property
    def s(self) -> np.ndarray:
        """States beside q and v."""
        return self.x[:, :, self.model.nc : self.model.nc + self.model.extras.ns]

    @property
    def w(self) -> np.ndarray:
        """Algebraic variables."""
        return self.x[:, :, self.model.nc + self.model.extras.ns : self.model.nq]

    @property
    def v(self) -> np.ndarray:
        return self.x[:, :, self.model.nq : self.model.nq + self.model.nv]

    @property
    def a(self) -> np.ndarray:
        return self.k[:, :, : self.model.nv]

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, algebraic unknowns of a Dae."""
        return self.lam if self.model.is_dae else self.q

    @property
    def caught(self) -> bool:
        """Whether the members began with an impact."""
        return self.job.initial == "impact"

    def impact(self) -> Impact:
        """What caught the members, see `impact_of`."""
        return impact_of(self.job, self.first, self.last)

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers of all rows, those that were dropped as redundant included; see `sampling.multipliers`."""
        program, model = self.job.program, self.model
        if program.lam_in_x is not None:
            lam = self.x[:, :, program.lam_in_x]
        elif model.is_dae:
            return self._along("multipliers", Fn.MULTIPLIERS, self.k[:, :, :0])
        else:
            lam = self.k[:, :, model.nv :]
        if program.rows is None:
            return lam
        full = all_rows(lam, program.rows, model.n_lam)
        if program.redundant == "drop":
            return full
        terms = self._along("start", Fn.TERMS, self.k[:, :, :0])
        at = model.nq + model.nv**2 + model.nv
        G = terms[:, :, at : at + model.n_lam * model.nv].reshape(*lam.shape[:2], model.n_lam, model.nv)
        flat = smallest(G.reshape(-1, model.n_lam, model.nv), full.reshape(-1, model.n_lam), len(program.rows))
        return flat.reshape(full.shape)

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """All named outputs."""
        shapes, known = self.model.output_shapes, self.k
        if not shapes:
            return {}
        if self.job.program.rows is not None:
            known = np.concatenate([self.a, self.lam], axis=2)
        flat = self._along("outputs", Fn.OUTPUTS, known)
        found, at = {}, 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            found[name] = flat[:, :, at : at + size].reshape(*flat.shape[:2], *shape)
            at += size
        return found

    def _along(self, group: str, fn: Fn, b: np.ndarray) -> np.ndarray:
        fns, lengths = self.job.program.table(group)
        out = np.empty((len(self), len(self.t), lengths[fn]))
        tables = self.job.tables
        along_members(
            fns, int(fn), self.t, np.ascontiguousarray(self.x), np.ascontiguousarray(b), self._data,
            tables.for_kernels(tables.rows(self.first, self.last)),
            1.0 if self.job.t1 >= self.job.t0 else -1.0, np.empty(self._data.shape[1]), out,
        )  # fmt: skip
        raise_what_was_raised()
        return out

    @property
    def resolver(self):
        """What names mean in a mechanism; None where there is none, or where the user's functions are not at hand."""
        plan = self.job.program.plan
        return None if plan is None else plan.model.system.resolver

    def knows(self, name: str) -> bool:
        """Whether a name can be read here."""
        return (
            name in ARRAYS or name in self.model.coordinates or name in self.model.output_shapes
            or name in self.job.params or self._of_mechanism(name) is not None
            or self.model.extras.rows(name) is not None
        )  # fmt: skip

    def _of_mechanism(self, name: str) -> tuple[str, str] | None:
        """A body, joint or force, and perhaps one of its quantities: "A", or "A.force"."""
        if self.resolver is None or name in self.job.params:  # "link.mass" is a number that was swept
            return None
        for part, _, attribute in ((name, "", ""), name.rpartition(".")):
            if part in self.resolver:
                return part, attribute
        return None

    def has_own(self, name: str) -> bool:
        """Whether something of the user's has a name: a coordinate "v" or a spring "s" comes before the array."""
        model = self.model
        own = name in model.coordinates or name in model.output_shapes or model.extras.rows(name) is not None
        return own or self._of_mechanism(name) is not None

    def __getitem__(self, name: str):
        model = self.model
        if name in ARRAYS and not self.has_own(name):
            return getattr(self, name)
        named = self._of_mechanism(name)
        if named is not None:
            view = self.resolver.view_members(self, named[0])
            return getattr(view, named[1]) if named[1] else view
        if name in model.coordinates:
            return self.q[:, :, model.coordinates.index(name)]
        if name in model.output_shapes:
            return self.outputs[name]
        found = model.extras.rows(name)
        if found is not None:
            values = getattr(self, found[0])[:, :, found[1]]
            return values[:, :, 0] if len(found[1]) == 1 else values
        if name in self.job.params:
            return self.job.params[name][self.first : self.last]
        raise BadArgument(f"there is no {name!r} in this ensemble; there is: {', '.join(self.names())}.")

    def names(self) -> list[str]:
        """What can be read by name."""
        known = [] if self.resolver is None else self.resolver.names
        extras = self.model.extras
        own = [*extras.state_labels, *extras.algebraic_labels]
        return [*known, *self.model.coordinates, *own, *self.model.output_shapes, *self.job.params]


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
    return made.assign_coords(fitting).assign_attrs(provenance=json.dumps(runs.provenance.to_dict()))


def _variables(runs) -> dict:
    """What is kept in memory, with its dimensions, and the parameters."""
    found = {}
    for name in runs.source.kept():
        values = runs.source.values(name)
        found[name] = (dimensions(runs.job.program, name, values.ndim), values)
    for name, values in runs.params.items():
        found[f"param_{name}"] = (("member", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
    return found


def impact_of(job: Job, first: int, last: int) -> Impact:
    """Return what caught a stretch of members, with a last axis that runs along them; NaN where one cannot start."""
    if job.initial != "impact":
        raise BadArgument('the members did not begin with an impact: impulses come with sweep(..., initial="impact").')
    model, n = job.plan.model, last - first
    q, by_row = np.full((model.nq, n), np.nan), np.full((model.n_lam, model.nv, n), np.nan)
    DATA, tables = job.data_of(first, last), job.tables.for_kernels(job.tables.rows(first, last))
    Q, V = starts_of(job.q0, first, last), starts_of(job.v0, first, last)
    for m in range(n):
        if len(job.tables.at):
            enter_tables(m, job.t0, job.forward, DATA[m], tables)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RedundancyWarning)  # the sweep has warned of it
                begin = prepare(
                    model, job.t0, Q[m].copy(), V[m].copy(), DATA[m], tol=job.program.tol, initial="impact", hold=None,
                    redundant=job.program.redundant, forward=job.forward,
                )  # fmt: skip
        except HolonomicError:  # it is in runs.failed
            continue
        assert begin.impact is not None
        q[:, m], by_row[:, :, m] = begin.impact.q, as_array(begin.impact.by_row)
    return Impact(q, by_row)


def impulses(job: Job, first: int, last: int, label: str | None = None) -> np.ndarray:
    """-GᵀΛ of all rows, or of one constraint, on a stretch of members, (member, nv)."""
    rows: slice | list[int] = slice(None)
    if label is not None:
        labels = job.plan.model.row_labels if not job.plan.model.is_ode else []
        rows = rows_of(label, labels)
        if not rows:
            raise unknown(label, "constraint", {"constraints": stems(labels)})
    parts = [impact_of(job, begin, min(begin + job.chunk, last)).by_row for begin in range(first, last, job.chunk)]
    return np.concatenate([part[rows].sum(axis=0).T for part in parts])
