"""Stepper: the step loop in a loop of one's own, for controllers, learning and hardware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arguments import Asked, GivenStart, given_controllers, opened, refuse_unknown
from .errors import DONE, EVENT, MORE, OK, BadArgument
from .loop.from_python import DRIVE, NOT_OPENED, run_compiled
from .native.callbacks import raise_what_was_raised
from .planning.plan import Plan
from .planning.reuse import UntraceableEvent, as_python
from .results.solution import Solution
from .results.trail import WrittenRows
from .running import failure
from .running.modes import enter_numbers, modes_here
from .running.one_plan import one_plan
from .running.run import Run, RunState
from .running.sampled import EndlessSampling, laws_of_run
from .running.walk import happened
from .starting.initial import Start

MOST_SPARE = 64  # arrays of copies that are no more which are kept for others
ENDLESS = 2**62  # steps: a loop of one's own has no end
QUOTA = 2**40  # attempts in one call of the compiled loop: a step of a Stepper is short


class RunInUse:
    """A run that a stepper works with, and what the compiled loop is given of it; afterwards its copies may have it."""

    __slots__ = ("given", "run", "spare")

    def __init__(self, run: Run, given: tuple, spare: list[tuple[Run, tuple]]):
        self.run, self.given, self.spare = run, given, spare

    def __del__(self):
        if len(self.spare) < MOST_SPARE:
            self.spare.append((self.run, self.given))


class Stepper:
    """A simulation that goes on step by step, when your loop asks for the next one.

    It runs on the compiled step loop, with the same methods and the same drift as `simulate`: each call of `step` takes as many
    steps of the integrator as the tolerance asks for (with `step=`: as the fixed step does), and ends exactly dt later.
    Methods do not change on the way: with the integrator left open, it is the one that suits the start.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        What to simulate.
    q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant, compile
        The start, as in `simulate`; it begins at t = 0, or at the time of `q0=sol.end`.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, events, max_step, first_step, inputs, controllers
        Methods, tolerances, events, inputs and controllers, as in `simulate`. Inputs that follow tables or are set by controllers
        are theirs; the others can be set in every step.
    *positional, **unknown
        Nothing: a start without its name is refused, and so is an unknown name.

    Attributes
    ----------
    t : float
        Time.
    q, v : numpy.ndarray
        Positions and velocities; of an Ode `q` is y.
    now : Solution
        The present state as a run of one time: `now.lam`, `now.reactions`, `now["joint"]`, `now.energy`, `now.drift`.
    plan : Plan
        What runs.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import Stepper, System
    >>> cart = System(mass=np.eye(1), force=lambda q, u: u.push - q, inputs={"push": 0.0})
    >>> stepper = Stepper(cart, q0=[1.0], v0=[0.0])
    >>> for _ in range(100):
    ...     events = stepper.step(0.01, u={"push": -0.5 * stepper.v[0]})
    >>> round(stepper.t, 12), bool(abs(stepper.q[0]) < 1.0)
    (1.0, True)
    """

    plan: Plan

    def __init__(
        self, system, *positional, q0=None, v0=None, y0=None, s0=None, w0=None, x0=None, dx0=None, ddx0=None, lam0=None,
        integrator="auto", stabilization="auto", formulation="auto", rtol=None, atol=None, step=None, constraint_tol=None,
        events: Mapping[str, Any] | None = None, initial: str = "check", hold=None, redundant: str | None = None,
        compile: str | None = None, max_step: float = np.inf, first_step: float | None = None,
        inputs: Mapping[str, Any] | None = None, controllers: Mapping[str, Any] | None = None, **unknown,
    ):  # fmt: skip
        if positional or unknown:
            refuse_unknown(Stepper, positional, unknown, system)
        start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant, compile)
        self._asked = Asked(
            formulation, integrator, stabilization, rtol, atol, step, constraint_tol, None, None, events, ENDLESS, max_step,
            first_step, False, inputs=inputs, controllers=controllers,
        )  # fmt: skip
        self._here = opened("Stepper", system, None, start, endless=True, by_size=True)
        try:
            self._begin()
        except UntraceableEvent as problem:
            with as_python(problem):
                self._begin()

    def _begin(self) -> None:
        plan, begin, data, t0, x0, self._inputs = one_plan("Stepper", self._here, self._asked, switching=True)
        given = given_controllers(plan.model.inputs, self._asked.controllers or {}, self._asked.inputs, t0, np.inf)
        self._laws, self._begun = laws_of_run(plan.model, given), (t0, x0)
        self._enter(plan, begin, data, t0, x0)

    def _enter(self, plan: Plan, begin: Start, data: np.ndarray, t0: float, x0: np.ndarray) -> None:
        """Begin a run of a plan."""
        self.plan, self._start, self._at, self._kept = plan, begin, None, None
        self._spare: list[tuple[Run, tuple]] = []  # what copies that are no more have worked with
        self._work_with(self._new_run(data, t0, x0))
        run = self._run
        self._plain = not (plan.model.interpreted or plan.events or len(self._inputs.breaks) or self._laws)
        self._tells, self._noted = not self._plain or bool(plan.switches), 0  # changes of switches in the log
        self._sampling = EndlessSampling(self._laws, t0)
        for law in self._laws:
            law.refuse_multipliers(plan.rows)
        self._memory.t_stop = t0 + 1.0  # from which the first step is chosen, where nothing else is known
        status = run.begin()
        if status != OK:
            raise self._failed(status)
        if self._controllers_look():
            enter_numbers(run, {})
        self._first, self._modes = self.state(), run.modes
        self._bytes = len(self._first.arena)

    def _new_run(self, data: np.ndarray, t0: float, x0: np.ndarray) -> Run:
        return Run(self.plan, data, t0, x0, np.inf, save_t=np.zeros(0), inputs=self._inputs, **self._asked.limits())

    def _work_with(self, run: Run, given: tuple | None = None) -> None:
        self._run, self._memory, self._data = run, run.memory, run.data
        self._given = self._for_kernels() if given is None else given
        self._in_use = RunInUse(run, self._given, self._spare)

    def _wake(self) -> None:
        """Make of a copy that has only been kept one that can go on."""
        kept, self._kept = self._kept, None
        try:
            self._work_with(*self._spare.pop())
        except IndexError:
            self._work_with(self._new_run(np.frombuffer(kept.data).copy(), *self._begun))
            self._run.modes = self._modes
        if self._laws:
            self._sampling = EndlessSampling(self._laws, self._begun[0])
        self.restore(kept)

    def _for_kernels(self) -> tuple:
        """What the compiled loop is given; made anew where functions have been compiled on the way."""
        run = self._run
        return run.work.given(self.plan, self._data, run.memory, run.save_t)

    def __repr__(self) -> str:
        return f"Stepper(t={self.t:.6g}, {type(self.plan.choice.integrator).__name__})"

    @property
    def t(self) -> float:
        """Time."""
        if self._kept is not None:
            self._wake()
        return self._memory.t

    @property
    def q(self) -> np.ndarray:
        """Positions (y of an Ode); a copy."""
        if self._kept is not None:
            self._wake()
        return self._run.x[: self.plan.model.nq].copy()

    @property
    def v(self) -> np.ndarray:
        """Velocities; a copy."""
        if self._kept is not None:
            self._wake()
        model = self.plan.model
        return self._run.x[model.nq : model.nq + model.nv].copy()

    @property
    def lam(self) -> np.ndarray:
        """Multipliers at the present state."""
        return self.now.lam[-1]

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """The system's outputs at the present state, by name."""
        now = self.now
        return {name: now[name][-1] for name in self.plan.model.output_shapes}

    @property
    def now(self) -> Solution:
        """The present state as a run of one time."""
        if self._kept is not None:
            self._wake()
        run, model = self._run, self.plan.model
        if not self._memory.evaluated and not run.slope(self.t, run.x, 0):
            raise self._failed(self._memory.last_status)
        row = WrittenRows()
        row.write(self.t, run.x, run.K[0, model.nq :][: self.plan.size.nk], run.work.columns)
        sol = self._solution("end")
        sol.trail.record = row
        return sol

    def _solution(self, ended: str) -> Solution:
        """The run so far, with memory of its own: the stepper goes on."""
        run, plan = self._run, self.plan
        if self._plain:
            self._note_switches()
            self._memory.event_rows = 0
        sol = Solution.from_run(run, plan, self._start, ended)
        sol.trail.memory, sol.trail.noted = self._memory.copy(), run.noted.copy()
        if not plan.switches:
            sol.trail.data = self._data.copy()
        elif run.watching.watches:
            sol.trail.modes = modes_here(run)
        return sol

    def step(self, dt: float, u: Mapping[str, float] | None = None) -> tuple[str, ...]:
        """Go on by a time, with inputs held at these values; return the names of the events that happened.

        Parameters
        ----------
        dt : float
            How far, s; above 0.
        u : {name: number}, optional
            Inputs from here on; those that are not named stay as they are.

        Returns
        -------
        tuple of str
            In the order in which they happened. At a terminal event the step ends: `t` tells where.
        """
        if self._kept is not None:
            self._wake()
        memory = self._memory
        if self._tells:
            self._tell_from_here()
        if u is not None:
            self._set(u)
        if dt.__class__ is not float:  # one of 32 bits would make the time one, too
            dt = _number(dt, "step(dt): dt")
        t_stop = memory.t + dt
        if not memory.t < t_stop < np.inf:
            raise BadArgument(f"step(dt): dt must be a time above 0 that changes t = {self.t:.6g}, got {dt!r}.")
        if self._plain:
            memory.t_stop = t_stop
            if memory.fixed:
                memory.t_base, memory.step_number = memory.t, 0
            self._drive()
            return ()
        while self._stretch(self._sampling.next_stop(self._inputs.next_break(memory.t, t_stop))) and memory.t != t_stop:
            pass
        names = list(self.plan.events)
        return tuple(names[k] for k, *_ in self._run.watching.log if k < len(names))  # behind them are switches

    def _drive(self) -> None:
        """Go on to the stop time, where nothing is watched and everything is compiled."""
        memory = self._memory
        memory.quota = QUOTA
        status = run_compiled(self._given, NOT_OPENED, DRIVE)
        raise_what_was_raised()
        while status != DONE:
            if not (self.plan.supplies(status) or status == MORE):
                raise self._failed(status)
            self._given = self._in_use.given = self._for_kernels()
            memory.quota, memory.paths = QUOTA, 0  # paths over singular positions, whose buffer may be full, are not asked for here
            self._note_switches()
            memory.event_rows = 0
            status = run_compiled(self._given, NOT_OPENED, DRIVE)
            raise_what_was_raised()

    def _note_switches(self) -> None:
        """Take over the changes of switches that the compiled loop has written down."""
        watching = self._run.watching
        watching.collect(self._memory.event_rows, self._noted)
        self._noted = len(watching.log)

    def _stretch(self, t_stop: float) -> bool:
        """Go on to a time and enter the inputs that begin there; False: a terminal event came before."""
        run = self._run
        run.stop_at(t_stop)
        status = MORE
        while status != DONE:
            status = self._happened(run.go())
            if status == EVENT:
                return False
        if self._controllers_look() or run.inputs.jumps(run.t):
            return self._happened(run.inputs_jump()) != EVENT
        if len(run.inputs.breaks):
            run.inputs.set(self._data, run.t, 1.0)
            run.field_changed()
        return True

    def _controllers_look(self) -> bool:
        """Let the controllers look at the state that is reached; tell whether an input has changed."""
        changed = bool(self._laws) and self._sampling.look(self._run)
        if changed:
            self._run.field_changed()
        return changed

    def _happened(self, status: int) -> int:
        """Deal with the events of a status: EVENT is left of it where a terminal one ends the step."""
        if status == EVENT:
            ended, status = happened(self._run, self._start, [], None)
            if ended is not None:
                return EVENT
        if status not in (OK, DONE):
            raise self._failed(status)
        return status

    def _set(self, u: Mapping[str, float]) -> None:
        places, data = self._places, self._data
        changed: dict[int, float] = {}
        if not isinstance(u, Mapping):
            raise BadArgument(f"step(u=...) is a mapping {{input: number}}, got {u!r}.")
        for name, value in u.items():
            at = places.get(name)
            if at is None:
                known = ", ".join(places) or "none: declare them with System(..., inputs={name: 0.0})"
                raise BadArgument(f"step(u=...) has no input {name!r} that can be set. Known: {known}.")
            number = value if value.__class__ is float else _number(value, f"step(u=...): input {name!r}")
            if not -np.inf < number < np.inf:
                raise BadArgument(f"step(u=...): input {name!r} must be finite, got {value!r}.")
            if data[at] != number:
                changed[at] = number
        if changed:
            enter_numbers(self._run, changed)
            self._noted = len(self._run.watching.log)

    @property
    def _places(self) -> dict[str, int]:
        """Where inputs that can be set stand in data."""
        if self._at is None:
            names, owned = list(self.plan.model.inputs), {name for law in self._laws for name in law.inputs}
            self._at = {
                names[i]: self._inputs.at + 3 * i
                for i, times, _ in self._inputs.tables
                if len(times) == 1 and names[i] not in owned
            }
        return self._at

    def state(self) -> RunState:
        """Return everything the next step depends on; `restore` goes back to it."""
        if self._kept is not None:
            return self._kept
        kept = self._run.state()
        return kept._replace(controllers=self._sampling.memory()) if self._laws else kept

    def restore(self, kept: RunState) -> None:
        """Go back to a state of this stepper, or of a copy of it."""
        if not isinstance(kept, RunState) or len(kept.arena) != self._bytes:
            raise BadArgument("restore(state) takes what state() of this stepper gave, or of a copy of it.")
        if self._kept is not None:
            self._kept = kept
            return
        self._run.restore(kept)
        if self._laws:
            self._sampling.restore(kept.controllers)
        if self._tells:
            self._tell_from_here()

    def _tell_from_here(self) -> None:
        """Forget which events and changes of switches there were."""
        self._memory.event_rows = self._noted = 0
        self._run.watching.clear_log()

    def copy(self) -> Stepper:
        """Return another stepper that goes on from here by itself.

        A copy is a state and no more until it is asked for something; then it gets arrays of its own, of copies that are no more
        where there are such.
        """
        other = object.__new__(Stepper)
        own = self.__dict__.copy()
        own["_kept"] = self.state()
        own["_in_use"] = own["_run"] = None
        other.__dict__ = own
        return other

    def __copy__(self) -> Stepper:
        return self.copy()

    def __deepcopy__(self, known) -> Stepper:
        return self.copy()

    def __reduce__(self):
        raise BadArgument("a Stepper stays in its process: send q, v and t, and make another one with q0= and v0= there.")

    def reset(self, **start) -> None:
        """Go back to the start; with `q0=`, `v0=` or other names of a start, begin there at t = 0.

        The methods are chosen again for another start.
        """
        if not start:
            self.restore(self._first)
            return
        given = self._here.start._asdict()
        if unknown := set(start) - set(given):
            refuse_unknown(Stepper, (), {name: start[name] for name in unknown}, self._here.system)
        self._here = opened("Stepper", self._here.system, None, GivenStart(**(given | start)), endless=True)
        self._begin()

    def _failed(self, status: int) -> Exception:
        return failure.explain(status, self._run, self.plan, self._solution("failed"))


def _number(given, what: str) -> float:
    """A real number of any kind as a float."""
    if not isinstance(given, str | bytes) and not np.iscomplexobj(given):
        try:
            return float(given)
        except (TypeError, ValueError):
            pass
    raise BadArgument(f"{what} must be a number, got {given!r}.")
