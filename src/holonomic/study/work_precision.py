"""work_precision(): error against time and evaluations, over tolerances or steps, of one problem or of many."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, NamedTuple

from ..arguments import Assembling, Opened, Posed, refuse_unknown
from ..errors import BadArgument
from ..integrators.base import Integrator
from ..model.given_numbers import axes, is_whole
from ..running.progress import Tally
from ..simulate import simulate
from .close_starts import starts_of
from .compare import Row, as_list, measured, name_of, quietly, refuse_for_all
from .error_curves import Measured, WorkPrecision, WorkPrecisions
from .reference import STARTS, Truth, truth_of

TOLERANCES = tuple(10.0**-k for k in range(3, 11))
MOST_WORKERS = 1024


def work_precision(
    system,
    t_end=None,
    *positional,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    rtol=TOLERANCES,
    step=(),
    steps=(),
    atol=None,
    repeat: int = 5,
    starts: int = 1,
    spread: float = 1e-3,
    seed: int = 0,
    workers: int | None = None,
    **given,
) -> WorkPrecision | WorkPrecisions:
    """Measure error against cost for several methods, on one problem or on several.

    Integrators with error control run at every `rtol`, the others with every `step`; the rest is as in
    `compare`. Time is the shortest of `repeat` runs without compiling.

    The error of one run is partly chance: a sum of errors of both signs. With `starts` every method runs from that many starts
    close to the given one, each with a reference of its own, and curves and costs come with the range of 80 % of them.

    Parameters
    ----------
    system, t_end, integrator, stabilization, formulation, repeat
        As in `compare`. Several problems or mechanisms, in a sequence or by name in a mapping, make a study of all of them.
    rtol : sequence of float
        Tolerances for integrators with error control, 1e-3 to 1e-10.
    step : sequence of float
        Steps for integrators without, seconds.
    steps : sequence of int
        The same as numbers of equal steps over the interval, which suit problems of different lengths.
    atol : float, optional
        Absolute tolerance of all runs with error control; a thousandth of each one's rtol if not given.
    starts : int
        How many starts: the given one, and others around it.
    spread : float
        By how much these differ: q0 and v0 (y0) move by that share of max(1, \\|x\\|) times normal numbers, and go back onto the
        constraints.
    seed : int
        Of the random numbers.
    workers : int, optional
        How many threads measure side by side, a start of a problem at a time; one if not given. With more than one, time is the
        processor time of the thread, so that they do not disturb one another.
    *positional, **given
        Nothing without a name. What else simulate takes: q0, v0, y0, ...

    Returns
    -------
    WorkPrecision or WorkPrecisions
        Of one problem, with `.plot()`, `.cost_at(error)` and all that a `Comparison` has; of several, one of them for each name,
        with `.plot()`, `.cost_at(error)`, `.to_csv(path)` for all.

    Raises
    ------
    HolonomicError
        Arguments that no run can be made of.

    Examples
    --------
    >>> from holonomic import DOP853, RK45, work_precision
    >>> from holonomic.problems import pendulum
    >>> found = work_precision(pendulum(), 2.0, integrator=[RK45(), DOP853()], rtol=[1e-5, 1e-8], repeat=1)
    >>> [bool(row.error_q < 100 * row.rtol) for row in found]
    [True, True, True, True]
    """
    refuse_unknown(work_precision, positional, given, system, passed_on=simulate)
    choices = [as_list(choice) for choice in (formulation, integrator, stabilization)]
    sizes, numbers, tolerances = (_listed(each) for each in (step, steps, rtol))
    for n in numbers:
        if not is_whole(n, 1):
            raise BadArgument(f"steps={n!r} must be whole numbers of steps, 1 or more.")
    workers = 1 if workers is None else workers
    if not is_whole(workers, 1) or workers > MOST_WORKERS:
        raise BadArgument(f"workers={workers!r} must be a whole number of threads, from 1 to {MOST_WORKERS}.")
    several = isinstance(system, Mapping | Sequence) and not isinstance(system, str | bytes)
    named = _named(system, given) if several else {name_of(system): system}
    jobs = []
    for name, what in named.items():
        here = refuse_for_all("work_precision", what, t_end, given, choices, sizes, tolerances, atol, repeat)
        own = {"t_end": t_end, **given}
        fixed = [*sizes, *(abs(here.t1 - here.t0) / n for n in numbers)]
        for number, start in enumerate(starts_of(what, here, own, starts, spread, seed)):
            job = StudyRun(name, what, here, own | start, number, fixed, tolerances, atol, repeat)
            jobs.append(job)
    found = run_jobs(jobs, choices, workers, given.get("progress"))
    studies = {}
    for name in named:
        of_it = [each for job, each in zip(jobs, found, strict=True) if job.name == name]
        studies[name] = WorkPrecision(name, [row for _, rows in of_it for row in rows], [truth for truth, _ in of_it])
    return WorkPrecisions(studies) if several else next(iter(studies.values()))


class StudyRun(NamedTuple):
    """All runs from one start of one problem."""

    name: str
    what: Any
    here: Opened
    start: dict[str, Any]
    number: int
    steps: list[float]
    tolerances: list
    atol: Any
    repeat: int


def run_jobs(jobs: list[StudyRun], choices, workers: int, progress: bool | None) -> list[tuple[Truth, list[Measured]]]:
    """Run all jobs, on so many threads; Ctrl-C ends those under way."""
    bar = Tally(len(jobs), progress)

    def done(job: StudyRun, clock: Callable[[], float]):
        found = run_job(job, choices, clock)
        bar.add(1)
        return found

    with quietly():
        try:
            if workers == 1:
                return [done(job, time.perf_counter) for job in jobs]
            halt = Event()
            jobs = [job._replace(start={"cancel": halt} | job.start) for job in jobs]
            pool = ThreadPoolExecutor(workers)
            try:
                return list(pool.map(lambda job: done(job, time.thread_time), jobs))
            except BaseException:
                halt.set()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
        finally:
            bar.close()


def run_job(job: StudyRun, choices, clock: Callable[[], float]) -> tuple[Truth, list[Measured]]:
    """Find what the start leads to, and measure every method against it; only runs from the given start are kept."""
    truth = truth_of(job.what, job.here.system, job.start)
    rows = []
    for methods in itertools.product(*choices):
        for size in _sizes(methods[1], job.tolerances, job.steps) or [{}]:
            atol = size["rtol"] / 1000 if job.atol is None and "rtol" in size else job.atol
            row = measured(job.what, truth, job.start, *methods, size, atol, job.repeat, clock)
            said = {name: getattr(row, name) for name in Row.__dataclass_fields__}
            kept = {"solution": row.solution if job.number == 0 else None, "problem": job.name, "start": job.number}
            rows.append(Measured(**said | kept))
    return truth, rows


def _named(systems, given: dict[str, Any]) -> dict[str, Any]:
    """Return problems by name; refuse what brings no start of its own."""
    own = [name for name in STARTS if given.get(name) is not None]
    if own:
        raise BadArgument(f"{own[0]}= is the start of one system; of several, each problem brings its own.")
    if not len(systems):
        raise BadArgument("there is no problem to measure: the sequence is empty.")
    named: dict[str, Any] = {}
    for key, what in systems.items() if isinstance(systems, Mapping) else ((None, what) for what in systems):
        if not isinstance(what, Posed | Assembling):
            raise BadArgument(
                f"of several systems, each has to bring its start: problems or mechanisms, got {type(what).__name__}. "
                "Give a System alone, with q0= and v0=."
            )
        name = (what.name if isinstance(what, Posed) else name_of(what)) if key is None else str(key)
        if name in named:
            raise BadArgument(f"two problems are called {name!r}. Name them: work_precision({{'first': ..., 'second': ...}}, ...).")
        named[name] = what
    return named


def _listed(sizes) -> list:
    return [] if axes(sizes) == 1 and not len(sizes) else as_list(sizes)


def _sizes(integrator, tolerances, steps) -> list[dict[str, float]]:
    fixed = isinstance(integrator, Integrator | type) and not integrator.adaptive
    if fixed and steps:
        return [{"step": float(h)} for h in steps]
    return [{"rtol": float(tol)} for tol in tolerances]
