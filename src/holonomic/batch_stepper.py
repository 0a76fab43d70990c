"""BatchStepper: many steppers of one system that go on together, on threads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from .arguments import Asked, GivenStart, opened, refuse_unknown
from .errors import DONE, MORE, OK, BadArgument
from .kernels.signatures import N_FUNCTIONS, Fn, Record
from .loop.step_batch import Orders, Together, step_batch
from .model.call_by_name import FULL, wanted
from .model.extra_states import allowed
from .model.given_numbers import is_number, is_whole
from .native.callbacks import raise_what_was_raised
from .planning.words import reason
from .planning.workspace import Workspace
from .results.solution import Solution
from .running import failure
from .running.one_plan import one_plan
from .running.run import Run

ROWS = ("q0", "v0", "y0", "s0", "x0", "dx0", "ddx0")  # what may have a row for each start
MOST = 100_000  # steps of the integrator in one step of the batch: one that takes more has come to a place it cannot leave
ENDLESS = 2**62
FEWEST = 32  # members worth a thread: handing work over takes about 30 µs, a member's step 1 µs


class BatchStepper:
    """Many simulations of one system that go on together, step by step, on threads and without Python's lock.

    Every member is a `Stepper` of its own: the same plan, its own state, time and inputs. The numbers do not depend on how many
    there are, nor on the number of threads. Comparisons of an `if` are not located as switches: inside the steps the values
    decide, and `max_step` keeps them from leaping over what is on for less than dt.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        What to simulate. Its functions must be traced, and its inputs be numbers or functions of t.
    count : int
        How many members there are.
    q0, v0, y0, s0, x0, dx0, ddx0 : array_like
        One start, or (start, entry) arrays of several: member m begins with start m, counted round where there are fewer.
    w0, lam0, initial, hold, redundant, compile
        As in `simulate`.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, max_step, first_step, inputs
        As in `simulate`; inputs are numbers.
    workers : int, optional
        Number of threads; all cores if not given.
    *positional, **unknown
        Nothing: a start without its name is refused, and so is an unknown name.

    Attributes
    ----------
    t : numpy.ndarray
        Times of the members.
    q, v : numpy.ndarray
        Positions and velocities, (member, coordinate); of an Ode `q` is y.
    plan : Plan
        What runs.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import BatchStepper, System
    >>> cart = System(mass=np.eye(1), force=lambda q, u: [u.push - q[0]], inputs={"push": 0.0})
    >>> batch = BatchStepper(cart, 4, q0=[[0.1], [0.2], [0.3], [0.4]], v0=[0.0])
    >>> for _ in range(100):
    ...     failed = batch.step(0.01, u={"push": -0.5 * batch.v[:, 0]})
    >>> batch.q.shape, failed
    ((4, 1), {})
    """

    def __init__(
        self, system, count, *positional, q0=None, v0=None, y0=None, s0=None, w0=None, x0=None, dx0=None, ddx0=None, lam0=None,
        integrator="auto", stabilization="auto", formulation="auto", rtol=None, atol=None, step=None, constraint_tol=None,
        initial: str = "check", hold=None, redundant: str | None = None, compile: str | None = None, max_step: float = np.inf,
        first_step: float | None = None, inputs: Mapping[str, Any] | None = None, workers: int | None = None, **unknown,
    ):  # fmt: skip
        if positional or unknown:
            refuse_unknown(BatchStepper, positional, unknown, system)
        if not is_whole(count, 1):
            raise BadArgument(f"BatchStepper: count={count!r} must be a whole number, at least 1.")
        if workers is not None and not is_whole(workers, 1):
            raise BadArgument(f"workers={workers!r} must be a whole number, at least 1.")
        start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant, compile)
        asked = Asked(
            formulation, integrator, stabilization, rtol, atol, step, constraint_tol, None, None, None, ENDLESS, max_step,
            first_step, False, inputs=inputs,
        )  # fmt: skip
        self.count, self._asked = count, (system, asked, start)
        every = _starts(start)
        here = opened("BatchStepper", system, None, every[0], endless=True, by_size=True)
        ready = one_plan("BatchStepper", here, asked)
        if ready.plan.model.interpreted:
            raise BadArgument("BatchStepper needs a compiled system: its functions run as Python, which Stepper can.")
        if len(ready.tables.breaks):
            raise BadArgument("BatchStepper takes inputs as numbers: set those of a table in step(dt, u={...}).")
        self.plan, self._tables = ready.plan, ready.tables
        self._pool = self._begun(every)
        which = np.arange(count) % len(self._pool.x)
        self._batch = Together(*(np.ascontiguousarray(part[which]) for part in self._pool))
        self._prepare(workers)
        self._look(np.arange(count))

    def _begun(self, starts: list[GivenStart]) -> Together:
        """What runs remember that have begun with these starts."""
        kept = [self._begin(start, number) for number, start in enumerate(starts)]
        return Together(*(np.concatenate(rows) for rows in zip(*kept, strict=True)))

    def _begin(self, start: GivenStart, number: int) -> tuple[np.ndarray, ...]:
        system, asked, _ = self._asked
        ready = one_plan("BatchStepper", opened("BatchStepper", system, None, start, endless=True, by_size=True), asked)
        if ready.plan is not self.plan:
            raise BadArgument(f"start {number} needs other methods than the first one: {ready.plan!r}, not {self.plan!r}.")
        run = Run(ready.plan, ready.data, ready.t0, ready.x0, np.inf, save_t=np.zeros(0), inputs=ready.tables, **asked.limits())
        run.memory.t_stop = ready.t0 + 1.0  # from which the first step is chosen, where nothing else is known
        status = run.begin()
        if status != OK:
            sol = Solution.from_run(run, ready.plan, ready.begin, "failed")
            raise failure.explain(status, run, ready.plan, sol)
        run.memory.t_stop = ready.t0
        arrays = tuple(array[None].copy() for array in run.work.loop.state)
        kept = (*arrays, run.data[None].copy(), run.memory.array.copy())
        run.release()
        return kept

    def _prepare(self, workers: int | None) -> None:
        """What steps need beside the members' own memory."""
        plan, n, model = self.plan, self.count, self.plan.model
        names = list(model.inputs)
        self._names = [names[i] for i, *_ in self._tables.tables]
        places = np.array([self._tables.at + 3 * i for i, *_ in self._tables.tables], dtype=np.int64)
        values = np.ascontiguousarray(self._batch.data[:, places])
        reads, width = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), 0
        self._shapes = model.output_shapes
        if self._shapes:
            self._refuse_multipliers()
            reads, lengths = model.table((Fn.OUTPUTS,))
            width = lengths[Fn.OUTPUTS]
        self._orders = Orders(places, values, np.zeros(n), reads, np.zeros((n, width)), np.zeros(n, dtype=np.int64), MOST)
        self._workers = min(workers or os.cpu_count() or 1, max(1, n // FEWEST))
        self._works = [Workspace(plan, paths=0) for _ in range(self._workers)]
        cuts = np.linspace(0, n, self._workers + 1).astype(int)
        self._spans = list(pairwise(cuts.tolist()))
        self._threads = ThreadPoolExecutor(self._workers - 1) if self._workers > 1 else None  # this one works, too

    def _refuse_multipliers(self) -> None:
        if self.plan.rows is None:
            return
        known = allowed(self.plan.model.system, "output", FULL)
        for name, function in (self.plan.model.system.outputs or {}).items():
            if callable(function) and "lam" in wanted(function, f"output {name!r}", known):
                raise BadArgument(
                    f"output {name!r} asks for lam, but constraint rows are redundant and λ is not unique. Leave it out."
                )

    def __len__(self) -> int:
        return self.count

    def __repr__(self) -> str:
        return f"BatchStepper({self.count} members, {type(self.plan.choice.integrator).__name__}, {self._workers} threads)"

    @property
    def t(self) -> np.ndarray:
        """Times; a copy."""
        return self._batch.memory["t"].copy()

    @property
    def q(self) -> np.ndarray:
        """Positions (y of an Ode), (member, coordinate); a copy."""
        return self._batch.x[:, : self.plan.model.nq].copy()

    @property
    def v(self) -> np.ndarray:
        """Velocities, (member, coordinate); a copy."""
        model = self.plan.model
        return self._batch.x[:, model.nq : model.nq + model.nv].copy()

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """The system's outputs where the members stand, by name, member first; of one that failed, where it last stood well."""
        found, at = {}, 0
        for name, shape in self._shapes.items():
            size = int(np.prod(shape))
            found[name] = self._orders.out[:, at : at + size].reshape(self.count, *shape)
            at += size
        return found

    def step(self, dt: float, u: Mapping[str, Any] | None = None, members: np.ndarray | None = None) -> dict[int, str]:
        """Let members go on by a time, with inputs held at these values.

        Parameters
        ----------
        dt : float
            How far, s; above 0.
        u : {name: number or array}, optional
            Inputs from here on, one number for all members or one for each; those that are not named stay as they are.
        members : array of bool, optional
            Those that go on; all, if not given.

        Returns
        -------
        {member: why}
            Members whose step failed; each stands where its last good step ended.
        """
        orders, memory = self._orders, self._batch.memory
        if u is not None:
            self._set(u)
        if not is_number(dt):
            raise BadArgument(f"step(dt): dt must be a number, got {dt!r}.")
        np.add(memory["t"], float(dt), out=orders.stops)
        if not (0.0 < dt < np.inf and np.all(orders.stops > memory["t"])):
            raise BadArgument(f"step(dt): dt must be a time above 0 that changes t, got {dt!r}.")
        orders.status[:] = MORE if members is None else np.where(members, MORE, DONE)
        self._finish()
        return {int(m): reason(int(orders.status[m])) for m in np.flatnonzero(orders.status != DONE)}

    def _finish(self, few: bool = False) -> None:
        """Let the members that are told to go on do so, compiling what they ask for; a few of them on this thread alone."""
        status = self._orders.status
        while np.any(status == MORE):
            others = [] if few or self._threads is None else [self._threads.submit(self._piece, n) for n in range(1, self._workers)]
            self._piece(0, (0, self.count) if few else None)
            for each in others:
                each.result()
            for code in np.unique(status).tolist():
                if self.plan.supplies(code):
                    status[status == code] = MORE

    def _piece(self, number: int, span: tuple[int, int] | None = None) -> None:
        plan, work = self.plan, self._works[number]
        loop = work.loop
        step_batch(
            span or self._spans[number], plan.slots, plan.fns, plan.size, plan.method, self._batch, loop.inside, loop.scale,
            loop.passing, work.events, Record(*work.rows, NO_TIMES), self._orders,
        )  # fmt: skip
        raise_what_was_raised()

    def _set(self, u: Mapping[str, Any]) -> None:
        if not isinstance(u, Mapping):
            raise BadArgument(f"step(u=...) is a mapping {{input: number or array}}, got {u!r}.")
        for name, given in u.items():
            if name not in self._names:
                known = ", ".join(self._names) or "none: declare them with System(..., inputs={name: 0.0})"
                raise BadArgument(f"step(u=...) has no input {name!r} that can be set. Known: {known}.")
            try:
                values = np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                raise BadArgument(f"step(u=...): input {name!r} must be numbers, got {given!r}.") from None
            if values.shape not in ((), (self.count,)):
                text = f"step(u=...): input {name!r} has shape {values.shape}, expected one number, or ({self.count},)."
                raise BadArgument(text)
            if not np.all(np.isfinite(values)):
                raise BadArgument(f"step(u=...): input {name!r} must be finite, got {given!r}.")
            self._orders.inputs[:, self._names.index(name)] = values

    def reset(self, members=None, starts=None) -> None:
        """Let members begin again.

        Parameters
        ----------
        members : array of bool or of int, optional
            Which; all, if not given.
        starts : array of int, optional
            With which of the given starts each of them begins; as at first, if not given.
        """
        chosen = np.arange(self.count) if members is None else np.asarray(members)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        which = chosen % len(self._pool.x) if starts is None else np.asarray(starts, dtype=np.int64)
        for mine, kept in zip(self._batch, self._pool, strict=True):
            mine[chosen] = kept[which]
        self._orders.inputs[chosen] = self._batch.data[np.ix_(chosen, self._orders.places)]
        self._look(chosen)

    def prepare(self, **starts) -> None:
        """Take other starts for `reset`: `q0=`, `v0=` and the like, one start or (start, entry) arrays of several."""
        system, asked, start = self._asked
        if unknown := set(starts) - set(start._fields):
            refuse_unknown(BatchStepper, (), {name: starts[name] for name in unknown}, system)
        start = start._replace(**starts)
        self._pool, self._asked = self._begun(_starts(start)), (system, asked, start)

    @property
    def starts(self) -> int:
        """How many starts there are to begin with."""
        return len(self._pool.x)

    def _look(self, members: np.ndarray) -> None:
        """Read the outputs of members where they stand."""
        orders = self._orders
        if orders.out.shape[1]:
            orders.stops[:] = self._batch.memory["t"]
            orders.status[:] = DONE
            orders.status[members] = MORE
            self._finish(few=True)


NO_TIMES = np.zeros(0)


def _starts(start: GivenStart) -> list[GivenStart]:
    """All starts of a batch, one after the other."""
    rows = {name: np.asarray(getattr(start, name), dtype=float) for name in ROWS if np.ndim(getattr(start, name)) == 2}
    if not rows:
        return [start]
    lengths = {name: len(values) for name, values in rows.items()}
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadArgument(f"all arrays of starts must have equal length, at least 1, got {text}.")
    return [start._replace(**{name: values[i] for name, values in rows.items()}) for i in range(next(iter(lengths.values())))]
