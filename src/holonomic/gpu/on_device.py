"""Results that stay on the GPU until somebody reads them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sweeping.ensemble_sources import Whole
from ..sweeping.job import Chunk, Job

if TYPE_CHECKING:
    from .engine import Cuda


class OnDevice:
    """x and k of all members on the GPU, copied when they are asked for."""

    def __init__(self, job: Job, engine: Cuda):
        self.job, self.engine = job, engine
        self._late: list[Chunk] = []  # members that never ran there

    def add(self, chunk: Chunk) -> None:
        if len(chunk.x):
            self._late.append(chunk)

    @cached_property
    def _whole(self):
        whole = Whole(self.job)
        for batch in self.engine.batches:
            here = slice(batch.first, batch.last)
            whole.x[here], whole.k[here] = (np.moveaxis(array.copy_to_host(), 2, 0) for array in (batch.x, batch.k))
        for chunk in self._late:
            whole.add(chunk)
        return whole

    def on_device(self) -> list[dict[str, Any]]:
        """Device arrays of the batches: "x" and "k", (time, entry, member), and which members they hold."""
        return [{"members": (batch.first, batch.last), "x": batch.x, "k": batch.k} for batch in self.engine.batches]

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole, name)

    def __str__(self) -> str:
        return f"on the GPU; {self.engine.aside} members ran on the processor"
