"""Where chunks go and values are read from: held in memory, whole or by name, or summed up on the way."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import DONE, EVENT, BadArgument
from ..model.given_numbers import beyond_memory
from .job import Chunk, Job
from .member_quantities import Quantities
from .sketch import Summary

STRETCH = 4096  # members looked at together


class Source:
    """Where the values of an ensemble are; None stands for what a source does not have."""

    def values(self, name: str) -> Any:
        """Return a quantity of all members, the member first."""
        raise NotImplementedError(f"{type(self).__name__} does not say how values are read")

    def of_member(self, name: str, m: int) -> Any:
        """Return a quantity of one member, with an axis of length 1 for it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how one member is read")

    def array(self, name: str, m: int | None = None) -> np.ndarray:
        """Return q, v, a, ... of all members, or of one with an axis of length 1, also where something else has that name."""
        return self.values(name) if m is None else self.of_member(name, m)

    def stretches(self, name: str) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield (first, last, values) for stretches of members that together are all."""
        raise NotImplementedError(f"{type(self).__name__} does not say how members are gone through")

    def names(self) -> list[str]:
        """Return what can be read."""
        raise NotImplementedError(f"{type(self).__name__} does not say what can be read")

    def summary(self, name: str) -> Summary | None:
        """Return what was summed up of a quantity on the way."""
        return None

    def on_device(self) -> list[dict[str, Any]] | None:
        """Return the device arrays, one dict per batch."""
        return None

    def provenance(self) -> dict[str, Any] | None:
        """Return what the numbers come from, where that is kept beside them."""
        return None

    def as_dataset(self, xarray) -> Any:
        """Return an xarray Dataset that reads when it is used."""
        return None


class Whole(Source):
    """x and k of all members in memory: everything can be read of them."""

    def __init__(self, job: Job):
        times, nx, nk = job.shape
        self.job = job
        check_memory(8 * job.count * times * (nx + nk), job)
        self.x, self.k = np.empty((job.count, times, nx)), np.empty((job.count, times, nk))

    def add(self, chunk: Chunk) -> None:
        self.x[chunk.first : chunk.last], self.k[chunk.first : chunk.last] = chunk.x, chunk.k

    @cached_property
    def _all(self) -> Quantities:
        return Quantities(self.job, 0, self.job.count, self.x, self.k)

    def values(self, name: str):
        return self._all[name]

    def _of_one(self, m: int) -> Quantities:
        return Quantities(self.job, m, m + 1, self.x[m : m + 1], self.k[m : m + 1])

    def of_member(self, name: str, m: int):
        return self._of_one(m)[name]

    def array(self, name: str, m: int | None = None) -> np.ndarray:
        return getattr(self._all if m is None else self._of_one(m), name)

    def stretches(self, name: str) -> Iterator[tuple[int, int, np.ndarray]]:
        for first in range(0, self.job.count, STRETCH):
            last = min(first + STRETCH, self.job.count)
            yield first, last, Quantities(self.job, first, last, self.x[first:last], self.k[first:last])[name]

    def names(self) -> list[str]:
        return self._all.names()

    def kept(self) -> list[str]:
        model = self.job.program.model
        return ["q", *(["v"] if model.nv else []), *model.output_shapes]

    def __str__(self) -> str:
        return ""


class Named(Source):
    """The chosen quantities of all members in memory."""

    def __init__(self, job: Job):
        self.job, self.held = job, {}

    def add(self, chunk: Chunk) -> None:
        for name, values in chunk.kept.items():
            if name not in self.held:
                check_memory(8 * self.job.count * int(np.prod(values.shape[1:])), self.job)
                self.held[name] = np.empty((self.job.count, *values.shape[1:]))
            self.held[name][chunk.first : chunk.last] = values

    def values(self, name: str) -> np.ndarray:
        if name not in self.held:
            raise not_kept(name, self.held)
        return self.held[name]

    def of_member(self, name: str, m: int) -> np.ndarray:
        return self.values(name)[m : m + 1]

    def stretches(self, name: str) -> Iterator[tuple[int, int, np.ndarray]]:
        values = self.values(name)
        for first in range(0, self.job.count, STRETCH):
            yield first, min(first + STRETCH, self.job.count), values[first : first + STRETCH]

    def names(self) -> list[str]:
        return list(self.held)

    kept = names

    def __str__(self) -> str:
        return f"kept: {', '.join(self.held)}"


class Summed(Source):
    """Mean, extremes and quantiles of the chosen quantities; no trajectory is held."""

    def __init__(self, job: Job):
        self.job, self.sums = job, {}
        self.next, self.waiting = 0, []  # chunks are taken in order of members, so that sums do not depend on luck

    def add(self, chunk: Chunk) -> None:
        good = ((chunk.status == DONE) | (chunk.status == EVENT)) & ~np.isin(np.arange(chunk.first, chunk.last), list(chunk.why))
        heapq.heappush(self.waiting, (chunk.first, chunk.last, good, chunk.kept))
        while self.waiting and self.waiting[0][0] == self.next:
            _, self.next, good, kept = heapq.heappop(self.waiting)
            for name, values in kept.items():
                if name not in self.sums:
                    self.sums[name] = Summary(values.shape[1:])
                self.sums[name].add(values[good])

    def values(self, name: str):
        raise BadArgument(
            f"this ensemble keeps no trajectories, only summaries: read mean({name!r}), extremes({name!r}) or "
            f'quantiles({name!r}), or sweep with keep="all".'
        )

    def of_member(self, name: str, m: int):
        return self.values(name)

    def stretches(self, name: str):
        return iter(())

    def summary(self, name: str) -> Summary | None:
        if name not in self.sums:
            raise not_kept(name, self.sums)
        return self.sums[name]

    def names(self) -> list[str]:
        return list(self.sums)

    def kept(self) -> list[str]:
        return []

    def __str__(self) -> str:
        return f"summed up: {', '.join(self.sums)}"


def check_memory(needed: int, job: Job) -> None:
    """Refuse results that cannot fit, before anything is computed."""
    too_much, what = beyond_memory(needed), f"the results of {job.count} runs at {len(job.save_t)} times take"
    remedy = 'Name what you need in outputs=, pass keep="summary", or stream them to store=.'
    if too_much is not None:
        raise BadArgument(f"{what} {too_much}. {remedy}")
    job.halt.held += needed
    if job.halt.budget is not None:
        job.halt.budget.refuse(job.halt.held, what, remedy)


def not_kept(name: str, held) -> BadArgument:
    return BadArgument(f"{name!r} was not kept; kept: {', '.join(held)}. Name it in outputs= of sweep.")
