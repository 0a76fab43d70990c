"""Member: one run of an ensemble, read as a Solution is, with time as the first axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadArgument
from .member_quantities import impulses


class Member:
    """One run of an ensemble, `runs[3]`: what the sweep kept of it, time first.

    It has what was saved and no more. For what a Solution has beside (`sol(t)`, drift, energy, plots), run it again:
    `simulate(system.with_params(**runs[3].params), ...)`.
    """

    def __init__(self, runs, number: int):
        self._runs, self.number = runs, number
        self.t: np.ndarray = runs.t
        self.params: dict[str, Any] = {name: values[number] for name, values in runs.params.items()}
        self.reached, self.steps = float(runs.reached[number]), int(runs.steps[number])
        self.ended: str = runs.ended[number]
        self.ok: bool = bool(runs.ok[number])

    @property
    def changed(self) -> list:
        """Its changes of methods on the way, where the integrator was left open."""
        return [change for change in self._runs.changed if change.member == self.number]

    @property
    def noted(self) -> list:
        """What `simulate` would warn of."""
        return [note for note in self._runs.noted if note.member == self.number]

    @property
    def failure(self) -> str:
        """Why it failed; "" where it did not."""
        return next((failure.why for failure in self._runs.failed if failure.member == self.number), "")

    @property
    def impulses(self) -> np.ndarray:
        """-GᵀΛ of its start with initial="impact", (nv,)."""
        return impulses(self._runs.job, self.number, self.number + 1)[0]

    def impulse(self, label: str) -> np.ndarray:
        """-GᵀΛ of one constraint alone, (nv,), at a start with initial="impact"."""
        return impulses(self._runs.job, self.number, self.number + 1, label)[0]

    def __getitem__(self, name: str):
        """A quantity by name, as in the ensemble: coordinates, outputs, parameters, parts of a mechanism."""
        if not isinstance(name, str):
            raise BadArgument(f"a member is read by names, got {name!r}: runs[{self.number}]['q'], or runs.q[{self.number}].")
        if name in self.params and name not in self._runs.source.names():
            return self.params[name]
        found = self._runs.source.of_member(name, self.number)
        return found[0] if isinstance(found, np.ndarray) else _View(found)

    def __getattr__(self, name: str):
        if name in ("q", "v", "a", "lam", "y", "s", "w"):
            return self._runs.source.array(name, self.number)[0]
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"a member of an ensemble has no {name!r}: it has t, q, v, a, lam, y, s, w, params, events and named quantities. "
            f"For all that a Solution has, simulate it again with its params: {vars(self).get('params')}."
        )

    @property
    def events(self) -> dict[str, Any]:
        """Its events by name: `.t`, `.q` and `.v` where it happened."""
        return {name: log.of_member(self.number) for name, log in self._runs.events.items()}

    def __repr__(self) -> str:
        text = ", ".join(f"{name} = {value:g}" for name, value in self.params.items() if np.ndim(value) == 0)
        ended = f"failed at t = {self.reached:g}: {self.failure}" if not self.ok else f"ended at t = {self.reached:g}"
        ended += f" by event {self.ended!r}" if self.ended not in ("end", "failed") else ""
        return f"member {self.number} of {len(self._runs)}{': ' if text else ''}{text}; {len(self.t)} times saved; {ended}"


class _View:
    """A body, joint or force of one member: what it is in the ensemble, without the axis of members."""

    def __init__(self, view):
        self._view = view

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._view, name)
        return found[0] if isinstance(found, np.ndarray) else found
