"""Checkpoints of a long run: a file from which it goes on after whatever ended its process.

The file has everything that the next steps depend on and every row so far, also of plans that another one has replaced. It is
written as a draft that takes its name when it is complete, so that there is a whole checkpoint at any moment; it holds numbers
and text, no code. Whoever goes on repeats the call: the file says what it was made with, and another call is refused.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._version import __version__
from ..automatic.decide import Choosing
from ..errors import BadArgument
from ..files import reading, written
from ..kernels.signatures import Fn
from ..model.input_tables import InputTables
from ..native.sources import kernels_stamp
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..results.identity import hashed, of_events, refuse_other
from ..results.solution import Solution
from ..results.trail import Trail, WrittenRows
from ..starting.initial import Start
from .detour import Crossing
from .plain_text import Packing, Unpacking
from .run import Run, RunState

FORMAT = 1
WORDS = {"tables": "tables", "operators": "operators", "Python": "plain Python"}  # for tiers that have no key
MAGIC = b"a checkpoint of a run of holonomic\n"  # then the length of a text, the text, arrays, and a checksum of all that


class Resumed(NamedTuple):
    """A run as a checkpoint has it."""

    run: Run
    parts: list[Solution]
    ended: str | None  # None where it goes on


class Checkpoints:
    """Writes checkpoints of one run, and reads the last one.

    Parameters
    ----------
    path : Path
        The file.
    every : float
        Seconds from one checkpoint to the next.
    identity : dict
        What the run was made with, see `identity_of`.
    choice : Choice
        What the call amounts to.
    plan_for : callable
        Makes the plan of a choice.
    begin : Start
        The consistent start.
    inputs : InputTables
        What drives the run.
    """

    def __init__(
        self, path: Path, every: float, identity: dict[str, Any], choice: Choice, plan_for: Callable[[Choice], Plan], begin: Start,
        inputs: InputTables,
    ):  # fmt: skip
        self.path, self.every, self.identity = path, every, identity
        self.choice, self.plan_for, self.begin, self.inputs = choice, plan_for, begin, inputs
        self._due = time.perf_counter() + every

    @property
    def is_due(self) -> bool:
        """Whether it is time for another one."""
        return time.perf_counter() >= self._due

    def write(
        self, run: Run, parts: list[Solution], choosing: Choosing | None, crossing: Crossing, ended: str | None = None
    ) -> None:
        """Write down a run that stands between two stretches, or has `ended`."""
        packing = Packing(self.choice)
        content = {
            "identity": self.identity, "ended": ended, "left": run.left,
            "run": packing(_of_run(run)), "arrays": packing((run.work.arena,)), "data": packing(run.data),
            "watching": packing(run.watching.memories()),
            "parts": [packing(_of_part(part)) for part in parts],
            "choosing": None if choosing is None else packing(choosing.memories()), "crossing": packing(crossing.memories()),
        }  # fmt: skip
        head = json.dumps(content).encode()
        with written(self.path) as draft, open(draft, "wb") as file:
            check = 0
            for part in (MAGIC, len(head).to_bytes(8, "little"), head, *packing.arrays):
                check = zlib.crc32(part, check)
                file.write(part)
            file.write(check.to_bytes(4, "little"))
        self._due = time.perf_counter() + self.every

    def read(self, choosing: Choosing | None, crossing: Crossing, t_end: float) -> Resumed | None:
        """Return the run of the last checkpoint; None where there is none."""
        if not self.path.exists():
            return None
        content, numbers = self._content()
        refuse_other(f"checkpoint={str(self.path)!r}", content["identity"], json.loads(json.dumps(self.identity)), "another file")
        unpacked = Unpacking(self.choice, numbers, self.plan_for)
        known = unpacked(content["run"])
        run = Run(
            known["plan"], unpacked(content["data"]), *known["start"], t_end, save_t=None if known["keeps"] else known["save_t"],
            inputs=self.inputs, max_steps=known["max_steps"], max_step=np.inf, first=known["first"],
        )  # fmt: skip
        (arena,) = unpacked(content["arrays"])
        run.restore(RunState(arena.tobytes(), bytes(known["memory"]), run.data.tobytes()))
        run.noted[:], run.lam0, run.left = known["noted"], known["lam0"], content["left"]
        run.modes, run.sizes_before = known["modes"], known["sizes_before"]
        run.record = _rows(known["record"])
        run.passages.recall(known["paths"])
        run.watching.recall(unpacked(content["watching"]))
        if choosing is not None:
            choosing.recall(unpacked(content["choosing"]))
        crossing.recall(unpacked(content["crossing"]))
        parts = [self._part(unpacked(part), run) for part in content["parts"]]
        return Resumed(run, parts, content["ended"])

    def _content(self) -> tuple[dict[str, Any], memoryview]:
        """What the file says in words, and the bytes of its arrays."""
        with reading(self.path):
            whole = memoryview(self.path.read_bytes())
        words = len(MAGIC) + 8
        if whole[: len(MAGIC)] != MAGIC:
            raise BadArgument(f"checkpoint={str(self.path)!r} is no checkpoint of a run. Take another name.")
        if zlib.crc32(whole[:-4]) != int.from_bytes(whole[-4:], "little"):
            raise BadArgument(
                f"checkpoint={str(self.path)!r} is damaged: its content is not what was written. Put it back from a copy, or begin "
                "again with another name."
            )
        length = int.from_bytes(whole[len(MAGIC) : words], "little")
        return json.loads(bytes(whole[words : words + length])), whole[words + length : -4]

    def _part(self, known: dict[str, Any], run: Run) -> Solution:
        trail = Trail(
            known["plan"], known["data"], known["keeps"], self.begin, run.watching.log, known["memory"], known["noted"],
            _rows(known["record"]), known["start"], known["stop"], known["paths"], impacts=run.watching.impacts,
            first_step=known["first"], lam0=known["lam0"], inputs=self.inputs, modes=known["modes"],
            sizes_before=known["sizes_before"], sizes=known["sizes"],
        )  # fmt: skip
        return Solution(trail, "changed")


def identity_of(plan: Plan, choice: Choice, start, save_t, t0: float, t1: float, tables, limits: dict[str, Any]) -> dict[str, Any]:
    """Return what the numbers of a run follow from, hashed part by part; refuses what cannot be compared."""
    model = plan.model
    watched = model.tapes((Fn.EVENTS, Fn.EVENT_RATES), plan.with_events) if plan.events and model.content is not None else {}
    outside = model.outside or any(tape.calls for tape in watched.values())
    if model.content is None or outside:
        what = "opaque functions" if outside else f"a system that runs as {WORDS[model.tier]}"
        remedy = ' Ask for compile="now".' if model.tier == "tables" else ""
        raise BadArgument(f"checkpoint= does not go with {what}: nobody can tell whether it is what it was.{remedy}")
    return {
        "format": FORMAT,
        "version": __version__,
        "kernels": kernels_stamp(),
        "system": hashed(model.content, *(tape.text() for tape in watched.values())),
        "methods": f"{choice!r} {sorted(limits.items())}",
        "times": hashed(save_t, t0, t1),
        "starts": hashed(*start),
        "params": {name: hashed(np.asarray(value)) for name, value in (model.system.params or {}).items()},
        "inputs": hashed(*(part for table in tables.tables for part in table)),
        "events": of_events(plan),
    }


def _of_run(run: Run) -> dict[str, Any]:
    return {
        "plan": run.plan, "start": run.start, "keeps": bool(run.memory.keep_steps), "save_t": run.save_t,
        "max_steps": run.max_steps, "first": run.first, "memory": run.memory, "noted": run.noted, "lam0": run.lam0,
        "sizes_before": run.sizes_before,
        "record": _chunks(run.record), "paths": run.passages.finished, "modes": run.modes,
    }  # fmt: skip


def _of_part(part: Solution) -> dict[str, Any]:
    """What a run of another plan has left behind."""
    trail = part.trail
    assert trail.record is not None
    return {
        "plan": trail.plan, "data": trail.data, "keeps": trail.steps_kept, "memory": trail.memory, "noted": trail.noted,
        "record": _chunks(trail.record), "start": trail.start, "stop": trail.stop, "paths": list(trail.paths),
        "first": trail.first_step, "lam0": trail.lam0, "modes": trail.modes, "sizes_before": trail.sizes_before,
        "sizes": trail.sizes,
    }  # fmt: skip


def _chunks(record: WrittenRows) -> dict[str, Any]:
    if record.t:
        record.joined()
    return {"t": record.t, "x": record.x, "k": record.k, "dense": record.dense, "too_much": record.too_much}


def _rows(known: dict[str, Any]) -> WrittenRows:
    return WrittenRows(**known)
