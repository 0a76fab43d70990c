"""Solution: the record of one run. It refers to what the run wrote and computes the rest when asked."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadArgument
from . import quantities, report, sampling
from .controls import ControlLogs, Samples
from .drift import Drift
from .error_estimate import ErrorEstimate
from .exports import Exports
from .naming import ELSEWHERE, is_dae, order_of
from .states import Energy, EventLog, State
from .switching import SwitchLog, switch_logs
from .trail import Trail

if TYPE_CHECKING:
    from .exact import Exact

if TYPE_CHECKING:
    from .provenance import Provenance


PLAIN = frozenset((bool, int, float, str))  # of a mapping of these a deep copy takes 10 µs, a tenth of a run


def _copied(found: Any) -> Any:
    """Return a copy into which a reader may write."""
    if type(found) is dict and PLAIN.issuperset(map(type, found.values())):
        return found.copy()
    return copy.deepcopy(found)


if TYPE_CHECKING:
    handed_out = property
else:

    def handed_out(compute):
        """Make a property whose arrays are the reader's: made once, and what is written into them changes nothing else."""

        name = compute.__name__

        @functools.wraps(compute)
        def read(self):
            handed = self.__dict__.get("_handed")
            return handed[name] if handed and name in handed else self._hand_out(name, lambda: compute(self))

        return property(read)


class Solution(Exports):
    """What a run computed. Time is the first axis of every array.

    Arrays are yours: what you write into `sol.q` stays there, and changes neither `sol(t)` nor anything else that follows from the
    run, copies and files among it. Each array is copied when it is first asked for. `sol.as_written` has them as the run left them.

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

    trail: Trail  # what the run left behind: what everything here is read from
    ended: str  #: "end", "interrupted", "failed", or the name of the event that ended the run
    _copies = True  # arrays that it hands out

    def __init__(self, trail: Trail, ended: str, copies: bool = True):
        self.trail, self.ended = trail, ended
        if not copies:
            self._copies = False

    @classmethod
    def from_run(cls, run, plan, begin, ended: str) -> Solution:
        """Keep what a run wrote; nothing is computed."""
        kept = bool(run.memory.keep_steps)
        stop = None
        if not (kept and run.record.t):
            # the last state is not among the kept ones; the run's arrays will be used again
            nq = plan.model.nq
            stop = run.record.as_last(run.t, run.x, run.K[0, nq : nq + plan.size.nk])
        data, modes = run.data, run.modes
        if plan.switches and not plan.watches and not any(code >= plan.n_watched for code, *_ in run.watching.log):
            modes = None  # all slept
        if plan.switches:  # its modes are those of the end; without any, comparisons go by the values
            data = run.data.copy()
            data[plan.model.data_places["modes"]] = 0.0
        trail = Trail(
            plan, data, kept, begin, run.watching.log, run.memory, run.noted, run.record, run.start, stop, run.passages.paths,
            impacts=run.watching.impacts, first_step=run.first, lam0=run.lam0, inputs=run.inputs,
            sizes_before=run.sizes_before, sizes=run.work.sizes.copy(),
            controls=run.sampling, modes=modes,
        )  # fmt: skip
        return cls(trail, ended)

    @cached_property
    def plan(self) -> Any:
        """What ran; `plan.why()` gives the numbers behind the choice."""
        return self.trail.plan if self.trail.story is None else self.trail.plan.of_run(self)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("plan", "as_written", "drift", "_handed"):  # they tell of this very solution, and are made anew
            state.pop(name, None)
        return state

    def _hand_out(self, name: Hashable, compute: Callable[[], Any]) -> Any:
        """Return what was handed out by this name before, or a copy of what is computed now; a reader's name is checked before."""
        if not self._copies:
            found = compute()
            if isinstance(found, np.ndarray):
                found = found.view()
                found.flags.writeable = False
            return found
        handed = self.__dict__.setdefault("_handed", {})
        if name not in handed:
            handed[name] = _copied(compute())
        return handed[name]

    @cached_property
    def as_written(self) -> Solution:
        """This solution without what was written into arrays that it handed out; its own are those of the run, to be read only."""
        if not self._copies:
            return self
        return type(self)(self.trail, self.ended, copies=False)

    @property
    def source(self) -> Solution:
        """The run itself, also where this is a part of it at other times."""
        return self if self.trail.parent is None else self.trail.parent

    @handed_out
    def t(self) -> np.ndarray:
        """Times, s."""
        return self.trail.shaped(self.trail.arrays[0])

    @handed_out
    def q(self) -> np.ndarray:
        """Positions, (time, coordinate)."""
        return self.trail.shaped(self.trail.arrays[1][:, : self.plan.model.nc])

    @handed_out
    def s(self) -> np.ndarray:
        """States beside positions and velocities, (time, state)."""
        model = self.plan.model
        return self.trail.shaped(self.trail.arrays[1][:, model.nc : model.nc + model.ns])

    @handed_out
    def w(self) -> np.ndarray:
        """Algebraic variables, (time, variable)."""
        return self.trail.shaped(sampling.algebraic_variables(self))

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, (time, component); algebraic unknowns of a Dae, (time, row)."""
        return self.lam if is_dae(self.plan.model) else self.q

    def _part(self, name: str) -> np.ndarray:
        model, level = self.plan.model, ("x", "dx", "ddx").index(name)
        if not is_dae(model) or level >= order_of(model):
            raise BadArgument(f"sol.{name} belongs to a Dae of order {level + 1} or more. A System has q and v, an Ode y.")
        n = model.nq // order_of(model)
        return self._hand_out(name, lambda: self.trail.shaped(self.trail.arrays[1][:, level * n : (level + 1) * n]))

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

    @handed_out
    def v(self) -> np.ndarray:
        """Velocities, (time, coordinate)."""
        nq, nv = self.plan.model.nq, self.plan.model.nv
        return self.trail.shaped(self.trail.arrays[1][:, nq : nq + nv])

    @handed_out
    def a(self) -> np.ndarray:
        """Accelerations v', (time, coordinate)."""
        return self.trail.shaped(self.trail.arrays[2][:, : self.plan.model.nv])

    @handed_out
    def lam(self) -> np.ndarray:
        """Multipliers λ(q, v), (time, row): constraints, then nonholonomic ones, redundant rows included.

        Whatever the method, they are those that the states determine, so that M v' = f - Gᵀλ holds with `sol.a`.
        """
        return self.trail.shaped(sampling.multipliers(self))

    @handed_out
    def unknowns(self) -> dict[str, np.ndarray]:
        """What the formulation itself solved for beside q and v, by name: "lam" (its own λ), "mu", "tau"; empty if nothing."""
        return {name: self.trail.shaped(values) for name, values in sampling.unknowns(self).items()}

    @cached_property
    def exact(self) -> Exact:
        """The rows of a run with precision="double-double", with all their digits."""
        from .exact import Exact

        return Exact(self)

    @property
    def span(self) -> tuple[float, float]:
        """Beginning and end of the run, s."""
        if self.trail.parent is not None:
            return self.trail.parent.span
        return self.trail.first[0], self.trail.final[0]

    @handed_out
    def end(self) -> State:
        """The last state; the start of the next run."""
        t, x, k = self.trail.final
        plan, model = self.trail.plan, self.trail.plan.model
        nq, nv = model.nq, model.nv
        lam, nc, ns = k[nv:], model.nc, model.ns
        if self.trail.data is not None and (plan.rows is not None or is_dae(model)):
            lam = self.at_rows(np.array([t]), x[None], k[None]).lam[0]
        return State(t, x[:nc], x[nq : nq + nv], lam, k[:nv], x[nc : nc + ns], x[nc + ns : nq])

    def at_rows(self, t, x, k, single: bool = False) -> Solution:
        """Return a Solution of other rows of this run, as `trail` has them; `single`: one, read without a time axis."""
        own = self.trail
        trail = Trail(
            self.plan, own.data, own.steps_kept, own.begin, own.events, own.memory, own.noted, parent=self.source,
            impacts=own.impacts, rows=(t, x, k), single=single, inputs=own.inputs,
        )  # fmt: skip
        return Solution(trail, self.ended)

    def __call__(self, t) -> Solution:
        """Return the solution at time t, or at several times, of any order; s.

        The step that contains t is taken again and its dense output used, stabilized like the step itself,
        so the state is as accurate as the run and on the constraints. At recorded times it is the recorded
        state; where a time was recorded twice, the later one. With `save_at=` the run is made again, once.
        A number gives arrays without a time axis.
        """
        source = self.source
        if source.trail.data is None:  # loaded: there is no model
            from .loaded import between

            return between(source, t)
        return source.at_rows(*sampling.states_at(source, t), single=np.ndim(t) == 0)

    def with_times_between(self, points: int) -> Solution:
        """All rows, both of every jump too, and others between them for a smooth curve."""
        between, at = sampling.times_between(self.trail.arrays[0], points)
        if not len(between):
            return self
        there = self(between)

        def join(mine: np.ndarray, new: np.ndarray) -> np.ndarray:
            return np.insert(mine, at, new, axis=0)

        t, x, k = map(join, self.trail.arrays, there.trail.arrays)
        fine = self.at_rows(t, x, k)
        if self.trail.data is None:
            from .loaded import hold_beside_states

            hold_beside_states(fine, self, there, join)
        return fine

    @handed_out
    def events(self) -> dict[str, EventLog]:
        """Where each event happened, by name."""
        return quantities.event_logs(self)

    @handed_out
    def switches(self) -> dict[str, SwitchLog]:
        """When each comparison of the system's functions changed, by name; files do not have it."""
        return switch_logs(self.source)

    @handed_out
    def controls(self) -> dict[str, Samples]:
        """What each controller measured and answered, by name; files do not have it."""
        controls = self.source.trail.controls
        return ControlLogs() if controls is None else controls.log

    @property
    def error(self) -> ErrorEstimate | None:
        """Estimated global errors along a run with error=True: `error.q`, `.v`, `.lam`, `.digits`; else None, as in files."""
        return self.trail.known.get("error")

    @handed_out
    def stats(self) -> dict[str, Any]:
        """Counters of the run."""
        return quantities.counters(self)

    @property
    def provenance(self) -> Provenance:
        """Where the numbers come from: versions, kernels, model, methods, processor, date; files of runs keep it."""
        from .provenance import provenance

        return provenance(self.source)

    @property
    def failure(self) -> str:
        """Why a run that failed had to stop; empty for one that did not."""
        stopped = self.source.trail.stopped
        return stopped[0] if stopped else ""

    @handed_out
    def reactions(self) -> np.ndarray:
        """-Gᵀλ, (time, nv): the force that all constraints together exert on the system.

        A mass hanging at rest reads +m g.
        """
        return self.trail.shaped(sampling.forces(self))

    def reaction(self, label: str) -> np.ndarray:
        """-Gᵀλ of one constraint alone, (time, nv): the force it exerts on the system.

        Parameters
        ----------
        label : str
            A constraint's name, for all of its rows, or the name of one row, such as "pin[0]".

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.reaction("rod").shape  # of one constraint, by its label
        (11, 2)
        """
        rows = quantities.rows_of_constraint(self, label)
        return self._hand_out(("reaction", label), lambda: self.trail.shaped(quantities.reaction(self, rows)))

    @handed_out
    def impulses(self) -> np.ndarray:
        """-GᵀΛ, (nv,): the impulse that all constraints together gave the system at a start with initial="impact"; N s, N m s.

        M v⁺ = M v⁻ + impulses. Signs and places are those of `reactions`.
        """
        return quantities.impact(self).impulses

    def impulse(self, label: str) -> np.ndarray:
        """-GᵀΛ of one constraint alone, (nv,), at a start with initial="impact"; labels are those of `reaction`."""
        rows = quantities.rows_of_constraint(self, label)
        return self._hand_out(("impulse", label), lambda: quantities.impulse(self, rows))

    @cached_property
    def drift(self) -> Drift:
        """Residuals of the constraints by level, and of the invariants by name."""
        return Drift(self.as_written)

    @handed_out
    def energy(self) -> Energy:
        """Kinetic, potential and total energy of a System; J."""
        if self.plan.model.is_ode:
            raise BadArgument("an Ode has no energy of its own. State it as an output or an invariant of the Ode.")
        kinetic, potential = sampling.energies(self).T
        return Energy(*(self.trail.shaped(part) for part in (kinetic, potential, kinetic + potential)))

    @handed_out
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
        found = quantities.named(self.as_written, name)
        return self._hand_out(("name", name), lambda: found) if isinstance(found, np.ndarray) else found

    def __repr__(self) -> str:
        return report.as_text(self)

    def _repr_html_(self) -> str:
        return report.as_html(self)

    def cite(self, software: bool = False) -> str:
        """Return BibTeX entries of the methods that this run used; of Numba too, if asked for.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.cite().count("@") > 0
        True
        """
        if not isinstance(software, bool):
            raise BadArgument(f"cite(software={software!r}): choose True or False.")
        return report.bibtex(report.keys_of_run(self) + (report.SOFTWARE if software else ()))


__all__ = ["Energy", "EventLog", "Solution", "State"]
