"""Members side by side in the lanes of vectors, where enough of a sweep is left to make a program for it.

The program of one plan for eight members at once takes seconds to compile and runs them three to four times as fast. So a sweep
begins one by one, and measures. Where the members that are left would take longer than that, the program is made on a thread
beside the others, kept on disk and, with the plan, in this process; the pieces that come then go by it. What a member computes
is the same either way, to the last bit. A member that needs anything unusual is run again by itself.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..entries import entry
from ..errors import DONE
from ..kernels.memory import FIXED, RUN
from ..loop.batch import HALTED
from ..native.layout import REAL, WHOLE, Memory
from ..notices import notice
from ..planning.plan import Plan
from .job import Chunk, Job
from .members import Members
from .open import HANDED_OVER_FOR, STIFF, Way
from .program import Program

# Seconds of every thread, one by one, from which on a program is made: compiling takes two, and more for long models
WORTH, FOR_EACH = 2.0, 2e-4  # FOR_EACH operation of the model
# For tests and measurements: "at once", a sweep makes the program before its first members and waits for it; or "never"
WHEN = "worth it"
TRIED, MOST_LEFT = 64, 0.25  # members after which it is given up where more than this share were run again
TOLD = ("status", "reached", "steps", "rows")  # of a member, beside what is saved


@dataclass
class Lanes:
    """What is known of one plan's program, for all sweeps of this process."""

    program: Any = None
    asked: bool = False  # whether it is being made, or has been tried
    spent: float = 0.0  # seconds of threads, one by one
    checked: bool = False  # whether a piece has had the same bits both ways
    tried: int = 0  # members
    left: int = 0  # of them, run again by themselves

    @property
    def useful(self) -> bool:
        """Whether pieces go by the program."""
        return self.program is not None and (self.tried < TRIED or self.left <= MOST_LEFT * self.tried)


_known: dict[bytes, Lanes] = {}  # by what the program is made of
_of_plan: WeakKeyDictionary[Plan, dict[tuple, Lanes]] = WeakKeyDictionary()  # the same, found without reading it


class SideBySide:
    """Decides for one sweep, on so many threads, which of its pieces are run in lanes."""

    def __init__(self, job: Job, workers: int):
        self.job, self.workers = job, workers
        self.left = job.count  # members that have not run
        self._trials: dict[tuple[int, int], Chunk] = {}  # pieces that are run both ways
        self._lock, self._making = threading.Lock(), threading.Lock()

    def run(
        self, way: Way, number: int, memory: Memory, members: Members, todo: np.ndarray, given: dict[str, np.ndarray], chunk: Chunk
    ) -> np.ndarray:
        """Run members of a piece in lanes, where there is a program; return those that are left to run one by one."""
        lanes = self._lanes(way, number, memory) if suits(self.job, way, number) else None
        if lanes is None or not lanes.useful or len(todo) < lanes.program.width:
            return todo
        if not lanes.checked:
            own = replace(chunk, x=chunk.x.copy(), k=chunk.k.copy(), **{name: getattr(chunk, name).copy() for name in TOLD})
            self._run(lanes.program, way, memory, members, todo, given | {name: given[name].copy() for name in given}, own)
            self._trials[chunk.first, number] = own
            return todo
        self._run(lanes.program, way, memory, members, todo, given, chunk)
        done = np.isin(chunk.status[todo], [DONE, HALTED])
        chunk.x[todo[~done]] = chunk.k[todo[~done]] = np.nan
        chunk.in_lanes += int(np.count_nonzero(chunk.status[todo] == DONE))
        with self._lock:
            lanes.tried += len(todo)
            lanes.left += int(np.count_nonzero(~done))
            self.left -= int(np.count_nonzero(done))
        return todo[~done]

    def _run(self, program, way: Way, memory: Memory, members: Members, todo: np.ndarray, given, chunk: Chunk) -> None:
        values = lambda kind, dtype: np.array([getattr(memory, name) for name in RUN.places(kind)], dtype=dtype)
        program.run(given | {
            "method_sp": way.program.sp, "scale_atol": way.program.atol, "record_save_t": self.job.save_t,
            "halt": self.job.halt.flag, "stops": self.job.stops, "waiting_place": np.zeros(1, dtype=np.int64),
            "waiting_members": todo, "waiting_data": members.data, "waiting_x": members.starts,
            "waiting_reals": values(REAL, np.float64), "waiting_wholes": values(WHOLE, np.int64),
            "results_t": np.empty((program.width, len(self.job.save_t))), "results_x": chunk.x, "results_k": chunk.k,
            "results_status": chunk.status, "results_reached": chunk.reached, "results_steps": chunk.steps,
            "results_rows": chunk.rows,
        })  # fmt: skip

    def took(self, way: Way, number: int, memory: Memory, chunk: Chunk, todo: np.ndarray, seconds: float) -> None:
        """Note what members took one by one; have the program made, where those that are left are worth it."""
        many = len(todo)
        if not many or not suits(self.job, way, number):
            return
        lanes = self._lanes(way, number, memory)
        own = self._trials.pop((chunk.first, number), None)
        if own is not None and not self.job.halt.stopped:
            self._compare(lanes, way, todo, own, chunk)
        with self._lock:
            self.left -= many
            lanes.spent += seconds
            worth = WORTH + FOR_EACH * _operations(way.program)
            wanted = not lanes.asked and lanes.spent + seconds / many * self.left > worth * self.workers
            lanes.asked = lanes.asked or wanted
        if wanted:
            threading.Thread(target=self._make, args=(lanes, way, number, memory), name="holonomic-lanes").start()

    def _compare(self, lanes: Lanes, way: Way, todo: np.ndarray, own: Chunk, chunk: Chunk) -> None:
        """Look whether members have had the same bits side by side as one by one; without that lanes are of no use."""
        done = todo[own.status[todo] == DONE]
        same = all(getattr(own, name)[done].tobytes() == getattr(chunk, name)[done].tobytes() for name in ("x", "k", *TOLD))
        with self._lock:
            lanes.tried += len(todo)
            lanes.left += len(todo) - len(done)
            lanes.checked = lanes.checked or (same and len(done) > 0)
            if not same:
                lanes.program = None
        if not same:
            notice(f"members are run one by one: side by side those of {way.program.plan!r} round differently on this processor.")

    def _lanes(self, way: Way, number: int, memory: Memory) -> Lanes:
        plan = way.program.plan
        assert plan is not None
        key = (number, self.job.open is None, *(getattr(memory, name) for name in FIXED))
        with self._lock:
            found = _of_plan.setdefault(plan, {})
            if key not in found:
                found[key] = _known.setdefault(_content(way.program, key), Lanes())
            lanes = found[key]
            now = WHEN == "at once" and not lanes.asked
            lanes.asked = lanes.asked or now
        if WHEN == "at once":
            with self._making:
                if now:
                    self._make(lanes, way, number, memory)
        return lanes

    def _make(self, lanes: Lanes, way: Way, number: int, memory: Memory) -> None:
        make: Callable = entry("members side by side")
        job = replace(self.job, program=way.program, memory=memory)
        try:
            lanes.program = make(job, HANDED_OVER_FOR.get(number, 0), self.job.open is not None)
        except Exception as problem:  # a sweep goes on without
            notice(f"members are run one by one, not side by side: {type(problem).__name__}: {problem}")


def forget() -> None:
    """Forget all programs of this process; those on disk stay."""
    _known.clear()
    _of_plan.clear()


def _content(program: Program, key: tuple) -> bytes:
    """The hash of what a program is made of: the model's functions, sizes, methods and what never changes in a run."""
    plan, digest = program.plan, hashlib.sha256(repr(key).encode())
    assert plan is not None
    for name, text in program.tapes["run"].items():
        digest.update(f"{name} {text}".encode())
    kernels = [(kernel.__module__, kernel.__qualname__) for kernel in program.slot_kernels()]
    known = [(i, float(value)) for i, value in enumerate(plan.sp) if i not in plan.stabilization.told]
    digest.update(repr((kernels, known, len(plan.sp), program.model, bytes(plan.size))).encode())
    for numbers in (plan.integrator.ip, plan.integrator.fp):
        digest.update(np.ascontiguousarray(numbers).tobytes())
    return digest.digest()


def suits(job: Job, way: Way, number: int) -> bool:
    """Whether lanes do what members of this way ask for: explicit methods on a compiled model, without events and tables."""
    program = way.program
    plan = program.plan
    if plan is None or program.by_python or number == STIFF or WHEN == "never":
        return False
    if plan.n_watched or len(job.tables.at) or len(job.stops) != 1 or plan.size.at_selectors:
        return False
    if not plan.choice.integrator.on_gpu or not plan.model.dense:
        return False
    return _operations(program) > 0


def _operations(program: Program) -> int:
    """How many operations the functions of a run have; 0 where one is no tape, or none that is compiled."""
    if program.operations is None:
        plan = program.plan
        program.operations = 0
        if not np.any(plan.fns[1::2]) and not plan.model.is_long:  # played tapes, dense solves and tables have a context
            tapes = plan.model.tapes(*program.groups()["run"]).values()
            if not any(tape.calls for tape in tapes):
                program.operations = sum(map(len, tapes))
    return program.operations
