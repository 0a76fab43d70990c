"""The engine on a GPU: one thread per member, members in batches, results on the device until asked for."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..errors import DONE, EVENT, TOO_MANY_STEPS, BadArgument, HolonomicError, IncompatibleMethods, MissingExtra, StiffnessWarning
from ..kernels.memory import RUN
from ..native import cachefolder
from ..native.layout import REAL, WHOLE
from ..notices import notice
from ..planning.switchless import refuse_comparisons
from ..printing import trig as near
from ..printing.cuda import Source, narrow_counters, source_of
from ..printing.one_member import own_places
from ..printing.shared_memory import BLOCK
from ..printing.table_program import check_tables, is_tables, kept_values, numbers_of, told_of_tables, too_large
from ..starting.initial import LEAST_TOLERANCE
from ..sweeping.chunk_run import EVENTS_OF_ONE, run_all, stretches
from ..sweeping.job import Chunk, Happenings, Job
from ..sweeping.members import Members, rows_of
from .indices import indices_as_they_are
from .on_device import OnDevice
from .stiff import MOST_LOOKS, remarks, suspects

BATCH = 1 << 21  # members launched together: a GPU holds 30 000 at once, and the last of them run alone
PREPARED = 1 << 18  # the same where the processor makes the starts: it does the next ones meanwhile
TABLES_BEYOND = 24  # rows of a mechanism that runs as tables by itself: to compile all of it takes longer
SET_ASIDE = 0.4  # of the memory of the device for what its threads work on
SHARE = 0.7  # of the free memory of the device that one batch may take


def device():
    """Return numba.cuda, or say what is missing."""
    try:
        from numba import cuda
    except ImportError:
        raise MissingExtra('on="cuda" needs numba-cuda: pip install "holonomic[gpu]".') from None
    if not _simulated():
        if importlib.util.find_spec("numba_cuda") is None:
            raise MissingExtra('on="cuda" needs numba-cuda: pip install "holonomic[gpu]".')
        if not cuda.is_available():
            raise HolonomicError(
                'on="cuda": no GPU of NVIDIA with a working driver was found here. Use on="threads", or a machine that has '
                "one (nvidia-smi shows it)."
            )
    return cuda


def _simulated() -> bool:
    from numba.core import config

    return bool(config.ENABLE_CUDASIM)


def _grid(threads: int) -> tuple[int, int]:
    """Blocks, and threads of each."""
    block = 1 if _simulated() else BLOCK  # the simulator mixes up the threads of a block
    return -(-threads // block), block


class Cuda:
    """Run members on the GPU; what it leaves (singular positions, doubtful starts) runs on the processor."""

    name = "cuda"
    halts = True  # between two batches
    tables_beyond = TABLES_BEYOND

    def __init__(self):
        self.cuda = device()
        self.hold = False  # whether x and k stay on the device
        self.batches: list[Batch] = []
        self.aside = 0  # members that the processor ran
        self.seconds = 0.0  # that the GPU was busy with members

    def whole(self, job: Job) -> OnDevice:
        """Where the whole state of all members is kept."""
        self.hold = True
        return OnDevice(job, self)

    @staticmethod
    def check(job: Job) -> None:
        """Refuse what a GPU does not run, naming a way out."""
        check(job)

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        check(job)
        source, run = compiled(job)
        if is_tables(job):
            self._refuse_large(source)
        most = min(self._most(job), BATCH if source.program.readies else PREPARED)
        waiting = None
        for group in _groups(pieces, most):
            if job.halt.asked:
                break
            batch = Batch(self.cuda, job, source, run, group)  # launched; the one before runs meanwhile
            if waiting is not None:
                yield from self._results(waiting)
            waiting = batch
        if waiting is not None:
            yield from self._results(waiting)

    def _results(self, batch: Batch) -> Iterator[Chunk]:
        batch.finish(self.hold)
        self.aside += batch.aside
        if batch.clock:
            self.seconds += 1e-3 * self.cuda.event_elapsed_time(*batch.clock)
        if self.hold:
            self.batches.append(batch)
        yield from batch.chunks(self.hold)

    def _most(self, job: Job) -> int:
        """Members that fit the device at once."""
        times, nx, nk = job.shape
        nev = len(job.program.events) * EVENTS_OF_ONE
        each = 8 * (times * (nx + nk) + nx + len(own_places(job)) + 8 + nev * (2 + nx + nk))
        if self.hold:
            each *= 1 + -(-job.count // PREPARED)  # earlier batches stay
        free = self._free()
        fit = SHARE * free / each
        if fit < 1.0:
            raise HolonomicError(
                f"one member needs {each / 1e9:.1f} GB on the GPU, which has {free / 1e9:.1f} GB free. Save fewer times, or "
                'use on="threads".'
            )
        return int(min(fit, job.count))

    def _refuse_large(self, source: Source) -> None:
        """Refuse members for which the device cannot set memory aside: it does so for all threads that it may hold."""
        if _simulated():
            return
        device = self.cuda.get_current_device()
        threads = device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR
        room = int(SET_ASIDE * self.cuda.current_context().get_memory_info()[1] / (8 * threads))
        if numbers_of(source.program) > room:
            raise too_large(numbers_of(source.program), room)

    def _free(self) -> float:
        return float(self.cuda.current_context().get_memory_info()[0])  # infinite in the simulator


def check(job: Job) -> None:
    """Refuse what a GPU does not run, naming a way out."""
    program, plan = job.program, job.plan
    if not plan.choice.integrator.on_gpu:
        raise IncompatibleMethods(
            f'on="cuda" runs explicit integrators; {plan.choice.integrator!r} solves equations in every step. Use DOP853() '
            'or RK45(), or on="threads".'
        )
    if program.by_python:
        raise IncompatibleMethods(
            'on="cuda" runs events that end a run or are written down; then=, which changes the state, and methods that '
            'need starting points need Python. Use on="threads".'
        )
    refuse_comparisons("on a GPU", plan.model.switches, plan.choice.step, job.limits["max_step"], '; on="threads" locates it')
    if is_tables(job):
        check_tables(job)
    outside = None if is_tables(job) else program.opaque("run", "events", "start")
    if outside is not None:
        raise IncompatibleMethods(f'on="cuda" cannot call opaque {outside!r}, whose code is for the processor. Use on="threads".')
    if len(job.tables.at):
        raise BadArgument('on="cuda" takes inputs as functions of t, not as tables. Use on="threads".')


def compiled(job: Job) -> tuple[Source, Any]:
    """Return the program of a job, compiled at its first launch and kept on disk."""
    kept = job.plan.on_gpu
    key = (own_places(job), job.initial, bool(job.held.any()), job.shape[0], narrow_counters(job), len(job.q0) == 1 == len(job.v0))
    if key not in kept:
        source = source_of(job)
        kept[key] = source, _loaded(source.text)
    return kept[key]


_modules: dict[str, Any] = {}


def _loaded(text: str):
    ours = (*(Path(__file__).with_name(f"{name}.py") for name in ("trig", "inlining", "indices")), Path(near.__file__))
    stamp = "".join(path.read_text() for path in ours)
    name = "gpu_" + hashlib.sha256(f"{__version__}{stamp}{text}".encode()).hexdigest()[:24]
    if name not in _modules:
        path = cachefolder.folder() / "gpu" / f"{name}.py"
        kept = cachefolder.write_source(path, text)
        if kept:
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
            sys.modules[name] = module
            spec.loader.exec_module(module)  # type: ignore[union-attr]
        else:  # nothing can be written here: compiled anew in every process
            space: dict[str, Any] = {"__name__": name}
            exec(compile(text.replace("cache=True", "cache=False"), name, "exec"), space)
            module = type("module", (), space)
        known = kept and any(path.parent.glob(f"__pycache__/{name}.run-*.nbi"))
        if not known:
            of_kinds, of_model = "all mechanisms of these kinds and methods (a minute)", "this model and its methods (10 to 60 s)"
            once = of_kinds if "@kernel(" in text else of_model
            notice(f"compiling for the GPU, once for {once} ...")
        _modules[name] = module
    return _modules[name].run


def _groups(pieces: Iterable[tuple[int, int]], most: int) -> Iterator[list[tuple[int, int]]]:
    """Neighbouring pieces, as many as are launched together."""
    group: list[tuple[int, int]] = []
    for first, last in pieces:
        if group and (first != group[-1][1] or last - group[0][0] > most):
            yield group
            group = []
        group.append((first, last))
    if group:
        yield group


class Batch:
    """Members launched together, and what they left on the device."""

    def __init__(self, cuda, job: Job, source: Source, run, pieces: list[tuple[int, int]]):
        self.cuda, self.job, self.pieces = cuda, job, pieces
        self.first, self.last = pieces[0][0], pieces[-1][1]
        self.aside = 0
        self.notes: dict[int, list[tuple[str, str]]] = {}
        n = self.last - self.first
        times, nx, nk = job.shape
        starts, own, self.why = self._members(source)
        nev = len(job.program.events)
        log = n if nev else 1
        room = EVENTS_OF_ONE * nev if nev else 1
        self.x, self.k = cuda.device_array((times, nx, n)), cuda.device_array((times, nk, n))
        whole = lambda *shape: cuda.device_array(shape, np.int64)
        self.small = (whole(n), cuda.device_array(n), whole(n), whole(n), whole(n))  # status, reached, steps, rows, ended
        self.log = (
            whole(n), cuda.device_array((log, room)), whole(log, room), cuda.device_array((log, room, nx)),
            cuda.device_array((log, room, nk)),
        )  # fmt: skip
        begin = [np.array([getattr(job.memory, name) for name in RUN.places(kind)], dtype=kind) for kind in (REAL, WHOLE)]
        send = cuda.to_device
        self.run = run
        self.clock = None if _simulated() else (cuda.event(), cuda.event())
        if self.clock:
            self.clock[0].record()
        self._launch(
            n, job.program.tol, max(job.program.tol, LEAST_TOLERANCE), send(starts), send(source.program.common(job.data)),
            send(own), *map(send, begin), send(np.ascontiguousarray(job.program.sp)), send(job.program.atol),
            send(np.array([job.t1])), send(np.array(job.save_t)), self.x, self.k, *self.small, *self.log,
            *map(send, told_of_tables(job, source.program)),
        )  # fmt: skip
        if self.clock:
            self.clock[1].record()

    def _launch(self, n: int, *arguments) -> None:
        with warnings.catch_warnings():  # Numba's remarks on small grids
            warnings.filterwarnings("ignore", message=".*under-utilization.*")
            with indices_as_they_are():  # it is compiled at its first launch
                self.run[_grid(n)](n, *arguments)

    def _members(self, source: Source) -> tuple[np.ndarray, np.ndarray, dict[int, str]]:
        """Starts (unknown, member), own numbers (place, member), and who cannot start."""
        job, first, last = self.job, self.first, self.last
        if source.program.readies:
            alike = len(job.q0) == 1 and len(job.v0) == 1
            to = first + 1 if alike else last
            starts = np.hstack([rows_of(job.q0, first, to), rows_of(job.v0, first, to)])
            own = np.empty((max(1, len(source.program.own)), last - first))
            row = {place: k for k, place in enumerate(source.program.own)}
            for name, values in job.params.items():
                columns = values[first:last].reshape(last - first, -1)
                for i, place in enumerate(range(job.places[name].start, job.places[name].stop)):
                    own[row[place]] = columns[:, i]
            if is_tables(job) and job.program.model.n_invariants:
                at = job.program.model.at_invariants
                own[row[at] : row[at] + job.program.model.n_invariants] = kept_values(job)[:, None]
            return np.ascontiguousarray(starts.T), own, self._refused()
        members = job.members(first, last)
        own = members.data[:, list(source.program.own)].T if source.program.own else np.zeros((1, last - first))
        why = {first + m: text for m, text in members.unable.items()}
        return np.ascontiguousarray(members.starts.T), np.ascontiguousarray(own), why

    def _refused(self) -> dict[int, str]:
        """Members that `simulate` would refuse for what does not lie in their start."""
        job, first, last = self.job, self.first, self.last
        if not job.checks:
            return {}
        starts = np.hstack([rows_of(job.q0, first, last), rows_of(job.v0, first, last)])
        members = Members(job.data_of(first, last), starts, -1)
        job.check(members, first, last)
        return {first + m: text for m, text in members.unable.items()}

    def finish(self, hold: bool) -> None:
        """Wait, and let the processor run what the GPU has left."""
        names = ("status", "reached", "steps", "rows", "ended")
        self.cuda.synchronize()
        self.host = dict(zip(names, (array.copy_to_host() for array in self.small), strict=True))
        if not hold:
            self.host["x"], self.host["k"] = (np.moveaxis(array.copy_to_host(), 2, 0) for array in (self.x, self.k))
        self.events = self._happenings()
        status = self.host["status"]
        for m in self.why:
            status[m - self.first] = DONE  # told by why
        self._tell_stiff(hold)
        left = np.flatnonzero(~np.isin(status, (DONE, EVENT, TOO_MANY_STEPS)))
        self.aside = len(left)
        for begin, end in stretches(left.tolist()):
            chunk = run_all(self.job, self.first + begin, self.first + end)
            for name in names:
                self.host[name][begin:end] = getattr(chunk, name)
            self.why |= chunk.why
            self.notes |= chunk.notes
            others = self.events.among(chunk.first, chunk.last, inside=False)
            self.events = Happenings.joined([others, chunk.events])
            if hold:
                self._patch(begin, chunk)
            else:
                self.host["x"][begin:end], self.host["k"][begin:end] = chunk.x, chunk.k

    def _tell_stiff(self, hold: bool) -> None:
        """Name the members whose steps were limited by stability."""
        many = suspects(self.host["status"], self.host["steps"])
        looked = many[:MOST_LOOKS]
        if not len(looked):
            return
        if hold:
            from .copy_in import take

            times, nx, _ = self.job.shape
            found = self.cuda.device_array((times, nx, len(looked)))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*under-utilization.*")
                take[_grid(len(looked))](self.x, self.cuda.to_device(looked), found)
            x = np.moveaxis(found.copy_to_host(), 2, 0)
        else:
            x = self.host["x"][looked]
        notes, why = remarks(self.job, self.first, x, looked, self.host, many)
        self.notes |= {m: [(StiffnessWarning.__name__, text)] for m, text in notes.items()}
        self.why |= why

    def _patch(self, begin: int, chunk: Chunk) -> None:
        """Enter what the processor computed on the device."""
        from .copy_in import enter

        for target, values in ((self.x, chunk.x), (self.k, chunk.k)):
            given = self.cuda.to_device(np.ascontiguousarray(np.moveaxis(values, 0, 2)))
            count = chunk.last - chunk.first
            enter[_grid(count)](target, given, begin, count)

    def _happenings(self) -> Happenings:
        if not self.job.program.events:
            return Happenings.none(*self.job.shape[1:])
        count, t, which, x, k = (array.copy_to_host() for array in self.log)
        some = np.arange(t.shape[1])[None] < count[:, None]
        member = np.nonzero(some)[0] + self.first
        return Happenings(member, which[some], t[some], x[some], k[some])

    def chunks(self, hold: bool) -> Iterator[Chunk]:
        """The pieces of this batch."""
        times, nx, nk = self.job.shape
        for first, last in self.pieces:
            here = slice(first - self.first, last - self.first)
            events = self.events.among(first, last)
            values = {
                name: np.zeros((0, times, size)) if hold else np.ascontiguousarray(self.host[name][here])
                for name, size in (("x", nx), ("k", nk))
            }
            small = {name: self.host[name][here] for name in ("status", "reached", "steps", "rows", "ended")}
            why, notes = ({m: text for m, text in told.items() if first <= m < last} for told in (self.why, self.notes))
            yield Chunk(first, last, **values, **small, events=events, why=why, notes=notes)
