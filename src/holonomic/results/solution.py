"""Solution: the record of one run. It refers to what the run wrote and computes the rest when asked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..kernels.signatures import Fn
from . import cite, drawn, joined, quantities, report, sampling
from .drift import Drift
from .exports import Exports
from .naming import ELSEWHERE, is_dae, order_of
from .states import Energy, EventLog, State, statistics


class Solution(Exports):
    """What a run computed. Time is the first axis of every array.

    `sol(t)` is a Solution at other times, on the constraints like the recorded ones. `sol[name]` is a named
    output, a coordinate, or the multiplier of a constraint. `print(sol)` says what ran and why.

    After an event that maps the state, the record holds its time twice: before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, simulate
    >>> hanging = System(mass=2 * np.eye(2), force=[0, -2 * 9.81], constraint={"rod": lambda q: q @ q - 1})
    >>> sol = simulate(hanging, 1.0, q0=[0, -1], v0=[0, 0], save_at=5)
    >>> sol.t, sol.q.shape, sol(0.3).q.shape
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), (5, 2), (2,))
    >>> sol.reactions[-1].round(6) + 0.0  # the rod carries + m g
    array([ 0.  , 19.62])
    """

    _plan: Any
    ended: str  #: "end", "interrupted", "failed", or the name of the event that ended the run
    _data: Any
    _record: Any
    _start: Any
    _stop: Any
    _events: Any
    _memory: Any
    _noted: Any
    _begin: Any
    _steps_kept: bool
    _paths: Any = ()  # over singular positions
    _parent: Solution | None = None
    _stopped: tuple[str, float] | None = None  # why the run failed, and the end it was to reach
    _parts: tuple[Solution, ...] = ()  # runs of several plans, one after the other
    _story: Any = None  # where the integrator was left open: what was seen, and the changes of plan
    _frames: dict[str, np.ndarray]  # of a loaded run: what is drawn at equally spaced times
    _kept: dict[str, np.ndarray]  # of a loaded run: what acts in it, time first
    _pairs: np.ndarray | None  # of a loaded run: which row acts on which velocity
    _unknowns: dict[str, np.ndarray] | None  # of a loaded run: what its formulation solved for; None in early files
    _single = False  # one time, given as a number: arrays without a time axis

    @classmethod
    def from_run(cls, run, plan, begin, ended: str) -> Solution:
        """Keep what a run wrote; nothing is computed."""
        kept = bool(run.memory.keep_steps)
        stop = None
        if not (kept and run.record.t):
            # the last state is not among the kept ones; the run's arrays will be used again
            nq = plan.model.nq
            stop = (run.t, run.x.copy(), run.K[0, nq : nq + plan.size.nk].copy())
        return cls._of(
            _plan=plan, _data=run.data, _record=run.record, _events=run.watching.log, _begin=begin, ended=ended,
            _start=run.start, _stop=stop, _memory=run.memory, _noted=run.noted, _steps_kept=kept, _paths=run.passages.paths,
        )  # fmt: skip

    @cached_property
    def plan(self) -> Any:
        """What ran; `plan.why()` says the numbers that led there."""
        return self._plan if self._story is None else self._plan.of_run(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "_plan" in state:
            state.pop("plan", None)  # it tells of this very solution, and is made anew
        return state

    @classmethod
    def _of(cls, **fields) -> Solution:
        made = cls.__new__(cls)
        made.__dict__.update(fields)
        return made

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """t, x = (q, v) and k = (v', λ of the rows that were simulated), time first."""
        if self._parts:
            return joined.arrays(self._parts)
        if self._record.t:
            return self._record.joined()
        return np.zeros(0), np.zeros((0, len(self._stop[1]))), np.zeros((0, len(self._stop[2])))

    @cached_property
    def _first(self) -> tuple[float, np.ndarray]:
        return float(self._start[0]), self._start[1]

    @cached_property
    def _final(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Where the run stands at its end, which need not be a time that was kept."""
        t, x, k = self._arrays
        if len(t) and (self._steps_kept or self._parent is not None):
            return float(t[-1]), x[-1], k[-1]
        return self._stop

    @property
    def _limits(self) -> dict[str, Any]:
        return {"max_steps": self._memory.limit, "max_step": self._memory.h_max}

    @property
    def _source(self) -> Solution:
        """The run itself, also where this is a part of it at other times."""
        return self if self._parent is None else self._parent

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[0] if self._single else values

    @property
    def t(self) -> np.ndarray:
        """Times, s."""
        return self._shaped(self._arrays[0])

    @property
    def q(self) -> np.ndarray:
        """Positions, (time, coordinate)."""
        return self._shaped(self._arrays[1][:, : self.plan.model.nc])

    @property
    def s(self) -> np.ndarray:
        """States beside positions and velocities, (time, state)."""
        model = self.plan.model
        return self._shaped(self._arrays[1][:, model.nc : model.nc + model.ns])

    @property
    def w(self) -> np.ndarray:
        """Algebraic variables, (time, variable)."""
        return self._shaped(self._settled)

    @cached_property
    def _settled(self) -> np.ndarray:
        model = self.plan.model
        return sampling.values_along(self, Fn.SETTLED) if model.nw else np.zeros((len(self._arrays[0]), 0))

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, (time, component); algebraic unknowns of a Dae, (time, row)."""
        return self.lam if is_dae(self.plan.model) else self.q

    def _part(self, name: str) -> np.ndarray:
        model, level = self.plan.model, ("x", "dx", "ddx").index(name)
        if not is_dae(model) or level >= order_of(model):
            raise BadArgument(
                f"sol.{name} belongs to a Dae of order {level + 1} or more. A System has q and v, an Ode y."
            )
        n = model.nq // order_of(model)
        return self._shaped(self._arrays[1][:, level * n : (level + 1) * n])

    @property
    def x(self) -> np.ndarray:
        """x of a Dae, (time, component)."""
        return self._part("x")

    @property
    def dx(self) -> np.ndarray:
        """x' of a Dae of order 2 or 3."""
        return self._part("dx")

    @property
    def ddx(self) -> np.ndarray:
        """x'' of a Dae of order 3."""
        return self._part("ddx")

    @property
    def v(self) -> np.ndarray:
        """Velocities, (time, coordinate)."""
        nq, nv = self.plan.model.nq, self.plan.model.nv
        return self._shaped(self._arrays[1][:, nq : nq + nv])

    @property
    def a(self) -> np.ndarray:
        """Accelerations v', (time, coordinate)."""
        return self._shaped(self._arrays[2][:, : self.plan.model.nv])

    @cached_property
    def _multipliers(self) -> np.ndarray:
        return sampling.multipliers(self)

    @property
    def lam(self) -> np.ndarray:
        """Multipliers λ(q, v), (time, row): constraints, then nonholonomic ones, redundant rows included.

        Whatever the method, they are those that the states determine, so that M v' = f - Gᵀλ holds with `sol.a`.
        """
        return self._shaped(self._multipliers)

    @property
    def unknowns(self) -> dict[str, np.ndarray]:
        """What the formulation itself solved for beside q and v, by name: "lam" (its own λ), "mu", "tau"; empty if nothing."""
        return {name: self._shaped(values) for name, values in sampling.unknowns(self).items()}

    @property
    def span(self) -> tuple[float, float]:
        """Beginning and end of the run, s."""
        if self._parent is not None:
            return self._parent.span
        return self._first[0], self._final[0]

    @property
    def end(self) -> State:
        """The last state; the start of the next run."""
        t, x, k = self._final
        model = self.plan.model
        nq, nv = model.nq, model.nv
        lam, nc, ns = k[nv:], model.nc, model.ns
        if self._data is not None and (self.plan.rows is not None or is_dae(model)):
            lam = self._rows(np.array([t]), x[None], k[None]).lam[0]
        return State(t, x[:nc], x[nq : nq + nv], lam, k[:nv], x[nc : nc + ns], x[nc + ns : nq])

    def _rows(self, t, x, k, single=False) -> Solution:
        """A Solution at other times of this run."""
        return self._of(
            plan=self.plan, _data=self._data, _arrays=(t, x, k), _events=self._events, _begin=self._begin,
            ended=self.ended, _steps_kept=self._steps_kept, _memory=self._memory, _noted=self._noted, _single=single,
            _parent=self._source,
        )  # fmt: skip

    def __call__(self, t) -> Solution:
        """Return the solution at time t, or at several times, of any order; s.

        The step that contains t is taken again and its dense output used, stabilized like the step itself,
        so the state is as accurate as the run and on the constraints. At recorded times it is the recorded
        state; where a time was recorded twice, the later one. With `save_at=`, the run is repeated from the
        kept time before.
        A number gives arrays without a time axis.
        """
        source = self._source
        if source._data is None:  # loaded: there is no model
            from .saving import between

            return between(source, t)
        return source._rows(*sampling.states_at(source, t), single=np.ndim(t) == 0)

    def _with_times_between(self, points: int) -> Solution:
        """All rows, both of every jump too, and others between them for a smooth curve."""
        between, at = sampling.times_between(self._arrays[0], points)
        if not len(between):
            return self
        there = self(between)

        def join(mine: np.ndarray, new: np.ndarray) -> np.ndarray:
            return np.insert(mine, at, new, axis=0)

        t, x, k = map(join, self._arrays, there._arrays)
        fine = self._rows(t, x, k)
        if self._data is None:
            from .saving import hold

            hold(fine, self, there, join)
        return fine

    @cached_property
    def events(self) -> dict[str, EventLog]:
        """Where each event happened, by name."""
        return quantities.event_logs(self)

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Counters of the run."""
        if self._parts:
            return joined.stats(self._parts)
        implicit = self.plan.choice.integrator.implicit  # their dense output evaluates nothing
        return statistics(self._memory, 0 if implicit else self.plan.integrator.rows)

    @cached_property
    def _jumps(self) -> np.ndarray:
        return sampling.jump_times(self) if self._parent is None else self._parent._jumps

    @cached_property
    def _kept_invariants(self) -> np.ndarray:
        return sampling.kept_invariants(self) if self._parent is None else self._parent._kept_invariants

    # what is computed along the run when asked for; kept as (time, ...) arrays

    @cached_property
    def _forces(self) -> np.ndarray:
        return sampling.values_along(self, Fn.REACTIONS, self._multipliers)

    @cached_property
    def _outputs(self) -> dict[str, np.ndarray]:
        return quantities.outputs(self)

    @cached_property
    def _residuals(self) -> np.ndarray:
        return sampling.values_along(self, Fn.RESIDUAL)

    @cached_property
    def _accelerations_left(self) -> np.ndarray:
        return quantities.accelerations_left(self)

    @cached_property
    def _energies(self) -> np.ndarray:
        return sampling.values_along(self, Fn.ENERGY)

    @cached_property
    def _scene(self) -> dict[str, Any] | None:
        return drawn.describe(self) if self._parent is None else self._parent._scene

    @cached_property
    def _drawn(self) -> dict[str, np.ndarray]:
        return drawn.arrays(self)

    @property
    def failure(self) -> str:
        """Why a run that failed had to stop; empty for one that did not."""
        stopped = self._source._stopped
        return stopped[0] if stopped else ""

    @property
    def reactions(self) -> np.ndarray:
        """-Gᵀλ, (time, nv): the force that all constraints together exert on the system.

        A mass hanging at rest reads +m g.
        """
        return self._shaped(self._forces)

    def reaction(self, label: str) -> np.ndarray:
        """-Gᵀλ of one constraint alone, (time, nv): the force it exerts on the system.

        Parameters
        ----------
        label : str
            A constraint's name, for all of its rows, or the name of one row, such as "pin[0]".
        """
        return self._shaped(quantities.reaction(self, label))

    @cached_property
    def _mechanism(self) -> Any:
        """What the names of a mechanism mean here; None where the run is not of one."""
        return self.plan.model.system.resolver if self._parent is None else self._parent._mechanism

    @cached_property
    def _impact(self) -> Any:
        return self._begin.impact if self._parent is None else self._parent._impact

    @property
    def impulses(self) -> np.ndarray:
        """-GᵀΛ, (nv,): the impulse that all constraints together gave the system at a start with initial="impact"; N s, N m s.

        M v⁺ = M v⁻ + impulses. Signs and places are those of `reactions`.
        """
        return quantities.impact(self).impulses

    def impulse(self, label: str) -> np.ndarray:
        """-GᵀΛ of one constraint alone, (nv,), at a start with initial="impact"; labels are those of `reaction`."""
        return quantities.impulse(self, label)

    @property
    def drift(self) -> Drift:
        """Residuals of the constraints by level, and of the invariants by name."""
        return Drift(self)

    @property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy of a System; J."""
        if self.plan.model.is_ode:
            raise BadArgument(
                "an Ode has no energy of its own. State it as an output or an invariant of the Ode."
            )
        kinetic, potential = self._energies[:, 0], self._energies[:, 1]
        return Energy(*(self._shaped(part) for part in (kinetic, potential, kinetic + potential)))

    @property
    def energy_error(self) -> np.ndarray:
        """Change of the total energy since the beginning, relative to the energy that moves.

        That is the largest kinetic energy, or the largest change of the potential one: the total may be zero.
        """
        return quantities.energy_error(self)

    def __getattr__(self, name: str):
        if name in ELSEWHERE:
            raise AttributeError(f"a Solution has no {name!r}; here it is {ELSEWHERE[name]}.")
        return object.__getattribute__(self, name)  # the error that led here

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a named output, coordinate, state or algebraic variable, or the multiplier of a constraint; time first."""
        return quantities.named(self, name)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return report.facts(self)

    def __repr__(self) -> str:
        return report.as_text(self)

    def _repr_html_(self) -> str:
        return report.as_html(self)

    def _references(self) -> tuple[str, ...]:
        if self._data is None:
            return tuple(self.__dict__["_facts"]["references"])
        plans = [part._plan for part in self._parts] or [self.plan]
        return tuple(dict.fromkeys(key for plan in plans for key in cite.keys(plan)))

    def cite(self, software: bool = False) -> str:
        """Return BibTeX entries of the methods that this run used; of CasADi and Numba too, if asked for."""
        if not isinstance(software, bool):
            raise BadArgument(f"cite(software={software!r}): choose True or False.")
        return cite.entries(self._references() + (cite.SOFTWARE if software else ()))


__all__ = ["Energy", "EventLog", "Solution", "State"]
