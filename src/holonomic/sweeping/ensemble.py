"""Ensemble: the record of many runs, labelled, member by member."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError
from ..naming import is_dae
from ..solution import Solution
from .job import Job


@dataclass(frozen=True)
class Failure:
    """One member that did not reach the end."""

    member: int
    t: float
    why: str


class Ensemble:
    """What many runs computed: arrays with the member as first axis, time as second."""

    def __init__(self, job: Job, x, k, status, reached, steps, failed):
        self.job, self.plan, self.t = job, job.plan, job.save_t
        self._x, self._k = x, k
        self._status, self.reached, self.steps = status, reached, steps
        self.params: dict[str, np.ndarray] = job.params
        self.failed: list[Failure] = failed

    def __len__(self) -> int:
        return self.job.count

    @cached_property
    def _data(self) -> np.ndarray:
        return self.job.members(0, self.job.count).data

    @property
    def ok(self) -> np.ndarray:
        """Which members reached the end."""
        good = np.ones(len(self), dtype=bool)
        good[[failure.member for failure in self.failed]] = False
        return good

    @property
    def q(self) -> np.ndarray:
        """Positions, (member, time, coordinate); NaN where a member had stopped."""
        return self._x[:, :, : self.plan.model.nq]

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, (member, time, component); algebraic unknowns of a Dae, (member, time, row)."""
        return self.lam if is_dae(self.plan.model) else self.q

    @property
    def v(self) -> np.ndarray:
        """Velocities, (member, time, coordinate)."""
        nq, nv = self.plan.model.nq, self.plan.model.nv
        return self._x[:, :, nq : nq + nv]

    @property
    def a(self) -> np.ndarray:
        """Accelerations."""
        return self._k[:, :, : self.plan.model.nv]

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers (y of a Dae), (member, time, row)."""
        if len(self.plan.blocks) == 2 and not self.plan.model.is_ode:
            return self._k[:, :, self.plan.model.nv :]
        return np.array([self._member(m)._multipliers for m in range(len(self))])

    def _member(self, m: int) -> Solution:
        """One run, at the saved times."""
        x, k = self._x[m], self._k[m]
        return Solution._of(
            plan=self.plan, ended="end", _data=self._data[m], _arrays=(self.t, x, k), _events=(), _begin=None,
            _first=(float(self.t[0]), x[0]), _final=(float(self.t[-1]), x[-1], k[-1]), _steps_kept=False,
        )  # fmt: skip

    @cached_property
    def outputs(self) -> dict[str, np.ndarray]:
        """All named outputs, (member, time, ...)."""
        found = [self._member(m)._outputs for m in range(len(self))]
        return {name: np.array([each[name] for each in found]) for name in self.plan.model.output_shapes}

    def __getitem__(self, name: str) -> np.ndarray:
        resolver = getattr(self.plan.model.system, "resolver", None)
        if resolver is not None and name in resolver:  # bodies, joints and forces of a mechanism
            return resolver.view_members(self, name)
        if name in self.plan.model.coordinates:
            return self.q[:, :, self.plan.model.coordinates.index(name)]
        if name in self.plan.model.output_shapes:
            return self.outputs[name]
        if name in self.params:
            return self.params[name]
        known = [*self.plan.model.coordinates, *self.plan.model.output_shapes, *self.params]
        raise BadArgument(f"there is no {name!r} in this ensemble; there is: {', '.join(known)}.")

    def mean(self, name: str) -> np.ndarray:
        """Mean over the members that reached the end, (time, ...)."""
        return np.nanmean(self[name][self.ok], axis=0)

    def quantiles(self, name: str, q=(0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles over the members that reached the end, (quantile, time, ...)."""
        return np.nanquantile(self[name][self.ok], q, axis=0)

    def extremes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest over the members that reached the end, (time, ...) each."""
        values = self[name][self.ok]
        return np.nanmin(values, axis=0), np.nanmax(values, axis=0)

    def to_xarray(self):
        """Return a Dataset with dimensions member, time and coordinate."""
        try:
            import xarray
        except ImportError:
            raise HolonomicError('to_xarray needs xarray: pip install "holonomic[xarray]".') from None
        model = self.plan.model
        variables: dict[str, Any] = {"q": (("member", "time", "coordinate"), self.q)}
        if model.nv:
            last = "coordinate" if model.nv == model.nq else "rate"
            variables["v"] = (("member", "time", last), self.v)
        for name, values in self.outputs.items():
            more = tuple(f"{name}_{i}" for i in range(values.ndim - 2))
            variables[name] = (("member", "time", *more), values)
        for name, values in self.params.items():
            variables[f"param_{name}"] = (("member", *(f"{name}_{i}" for i in range(values.ndim - 1))), values)
        return xarray.Dataset(variables, coords={"time": self.t, "coordinate": list(model.coordinates)})

    def __repr__(self) -> str:
        lines = [
            f"Ensemble of {len(self)} runs, t = {self.t[0]:g} .. {self.t[-1]:g}, {len(self.t)} times saved",
            f"  {self.plan!r}",
            f"  over: {', '.join(self.params) or 'initial values'}",
            f"  {int(np.sum(self.steps))} steps; {len(self.failed)} failed",
        ]
        lines += [f"    member {f.member} at t = {f.t:.6g}: {f.why}" for f in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"    ... and {len(self.failed) - 5} more")
        return "\n".join(lines)
