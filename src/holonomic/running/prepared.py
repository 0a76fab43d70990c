"""A run asked for again: all that does not depend on where it starts and ends was settled by the first one.

Methods are chosen and lowered, arguments read, the memory of a run that has not begun is known, byte by byte. What is left is
one call of compiled code (`run_compiled`): it checks the start, begins, looks at the field and takes the first stretch of steps,
with the functions that every other run goes through, so that the numbers are the same, bit for bit. A start that is not plain
is left to the long way, which says what is wrong or chooses otherwise; a run that is not over after its first stretch goes on in
`walk`, like any other.

What was settled lies on the model it was settled for, by the words in which it was asked for. A system whose functions read
something that has changed since has another model (`model_of` looks before every run), so nothing here can be out of date.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import Asked, GivenStart, Opened
from ..automatic.decide import FIRST_LOOK, FOR_SHORT, Choosing, calm_look
from ..automatic.indicators import moving
from ..automatic.rates import TIGHT, Rates
from ..automatic.reasons import reasons
from ..errors import DONE, NearSingularWarning, UnstableWarning
from ..kernels.signatures import Fn
from ..loop.automatic_looks import turned_in_a_step
from ..loop.from_python import BEGIN, CHECK, DRIVE, KEEP, LOOK, run_compiled
from ..loop.opening import ASIDE, OPENING
from ..model.dae import Dae
from ..model.input_tables import InputTables
from ..model.refusals import warn
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..planning.reuse import plan_of
from ..planning.workspace import Workspace
from ..results.solution import Solution
from ..results.story import Story
from ..results.trail import Trail, WrittenRows
from ..starting.initial import LEAST_TOLERANCE, Start
from ..starting.rank import RHO_FULL_RANK
from .detour import Crossing, alarm_of
from .failure import unstable
from .near_singular import passed_singular, without_passage
from .run import DOUBLE, INTERRUPTED, NOTHING, QUOTA, Run, RunState
from .walk import repeated, run_again, walk

MOST = 16  # ways of asking that are remembered for one model
UNHEARD, NEVER = object(), False  # of words: they did not come yet; nothing can be settled for them
SAVE_AT = Asked._fields.index("save_at")


def prepared_for(model, start: GivenStart, asked: Asked) -> Prepared | None:
    """Return what was settled for a run that was asked for in the same words; None: nothing was."""
    words = _words(asked)
    try:
        found = model.prepared.get(words)
    except TypeError:  # arrays and mappings among them
        return None
    return found if found and found.kinds == tuple(map(type, words)) and _plain(start) else None


def _words(asked: Asked) -> tuple:
    """What is asked for apart from the times to keep, which are read for each run."""
    return asked if asked.save_at is None else (*asked[:SAVE_AT], True, *asked[SAVE_AT + 1 :])


def _plain(start: GivenStart) -> bool:
    """Whether a start is to be checked, and nothing else."""
    _, _, _, _, _, _, _, _, lam0, initial, hold, redundant, _ = start
    return lam0 is None and type(initial) is str and initial == "check" and hold is None and redundant is None


def remember(here: Opened, asked: Asked, choice: Choice, sol: Solution, inputs: InputTables) -> None:
    """Settle what later runs have in common with one that has reached its end, if they can be told apart by words alone.

    That takes half as long as a short run: of the words first asked with, it is done at once, of others when they come again.
    """
    plan, model = sol.trail.plan, sol.trail.plan.model
    known, words = model.prepared, _words(asked)
    try:
        before = known.get(words, UNHEARD)
    except TypeError:  # arrays and mappings among them
        return
    if before is UNHEARD:
        _make_room(known)
        if known:
            known[words] = None
            return
        before = None
    forward = 1.0 if here.t1 >= here.t0 else -1.0
    if before is NEVER or (before and before.serves(plan, words, forward)):
        return
    given = asked.events is None and asked.inputs is None and asked.controllers is None and asked.prefer is None
    if not (given and not asked.progress and _is_plain(plan, choice) and asked.choice(model) is choice):
        known[words] = NEVER  # the last of it: a formulation that depends on where a run starts
        return
    whole = _plain(here.start) and sol.ended == "end" and not sol.trail.parts
    if whole and (not choice.integrator_open or plan.choice == choice or plan.choice.integrator == FOR_SHORT):
        known[words] = Prepared(here, asked, choice, plan, inputs)


def _make_room(known: dict) -> None:
    """Forget words where too many are known: at first such as came only once."""
    while len(known) >= MOST:
        ways = list(known.items())
        known.pop(next((words for words, ready in ways if not ready), ways[0][0]), None)


def _is_plain(plan: Plan, choice: Choice) -> bool:
    """Whether runs of a plan open in compiled code, and end without anything that has to be looked at."""
    model = plan.model
    if choice.precision != DOUBLE or model.interpreted or not model.dense or model.outside or isinstance(model.system, Dae):
        return False
    if model.nw or plan.n_watched or plan.rows is not None or not plan.variant.is_ours:
        return False
    if plan.integrator.starting_points or plan.choice.stabilization.may_overshoot:
        return False
    return not (choice.integrator_open and moving(model, model.data()))


class Prepared:
    """What was settled for runs that are asked for in the same words.

    Parameters
    ----------
    here, asked, choice
        A call that was one of them.
    plan : Plan
        What ran, from its start to its end.
    inputs : InputTables
        Of the system.
    """

    def __init__(self, here: Opened, asked: Asked, choice: Choice, plan: Plan, inputs: InputTables):
        model = plan.model
        self.kinds = tuple(map(type, _words(asked)))  # of equal words those are told apart that are of different kinds: 1 and True
        self.choice, self.plan, self.inputs = choice, plan, inputs
        self.forward = 1.0 if here.t1 >= here.t0 else -1.0
        self.size, self.width = model.nq + model.nv, 1 + model.nq + 2 * model.nv + model.n_lam
        data = model.data()
        plan.enter_gains(data, self.forward)
        self.data = plan.extended(data)
        save_t = None if asked.save_at is None else NOTHING
        run = Run(plan, self.data.copy(), here.t0, np.concatenate([here.q, here.v]), here.t1, save_t=save_t, **asked.limits())
        self.unbegun = run.unbegun()
        run.release()
        self.first = run.first
        self.kind: Any = type(run.memory)
        self.forgets = 1 if plan.integrator.remembers else 2 if not plan.integrator.one_step else 0  # rows of K from here on
        self.chooses = choice.integrator_open
        self.given = {"formulation": asked.formulation, "stabilization": asked.stabilization}
        self.stages = (CHECK if model.n_lam else 0) | (KEEP if model.n_invariants else 0) | BEGIN
        self.stages |= (LOOK if self.chooses else 0) | DRIVE
        self.quota = FIRST_LOOK if self.chooses else QUOTA
        self.may_pass = without_passage(model, run.memory.crosses or alarm_of(plan))  # by a singular position, unnoticed
        self.held = model.n_invariants and plan.choice.stabilization.acts == "step"  # what was held at its value is looked at
        self.spare: list[tuple] = []  # what compiled code is given for an opening, of runs that are over
        self.spare.append(self._opened())

    def serves(self, plan: Plan, words: tuple, forward: float) -> bool:
        """Tell whether this is what would be settled for a run of a plan that was asked for so."""
        return self.plan is plan and self.forward == forward and self.kinds == tuple(map(type, words))

    def _opened(self) -> tuple:
        """What compiled code is given for an opening."""
        try:
            return self.spare.pop()
        except IndexError:
            pass
        model, choice, opening = self.plan.model, self.choice, OPENING.new()
        opening.tolerance, opening.independent = max(choice.constraint_tol, LEAST_TOLERANCE), RHO_FULL_RANK
        opening.turn, opening.calm = turned_in_a_step(choice.rtol), calm_look(model)
        opening.positions = model.nq // model.order if model.is_ode else model.nq
        opening.may_be_short, opening.is_short = choice.rtol >= TIGHT, self.plan.choice.integrator == FOR_SHORT
        opening.crosses = self._crosses()
        opening.invariants = model.data_places["invariants"].start
        wanted = (Fn.VEL_FACTOR, Fn.RESIDUAL) if self.stages & CHECK else (Fn.RESIDUAL,) if model.n_invariants else ()
        fns, lengths = model.table(wanted)
        return opening, fns, *(np.empty(lengths.get(fn, 0)) for fn in (Fn.VEL_FACTOR, Fn.RESIDUAL)), np.empty(3)

    def _crosses(self) -> int:
        """How the step loop notices singular positions."""
        return alarm_of(self.plan) or self.kind.from_buffer_copy(self.unbegun).crosses

    def run(self, here: Opened, asked: Asked) -> Solution | None:
        """Run from a start to an end; None: the start is not plain, or the run goes the other way."""
        _, t0, t1, q, v, _, _ = here
        if (t1 - t0) * self.forward < 0.0:
            return None
        plan, size = self.plan, self.size
        save_t = NOTHING if asked.save_at is None else np.ascontiguousarray(asked.times(t0, t1, self.width))
        memory, data, work, opened = self.kind.from_buffer_copy(self.unbegun), self.data.copy(), Workspace.of(plan), self._opened()
        state, opening = work.loop.state, opened[0]
        x, K = state.x, state.K
        x[: len(q)] = q
        x[len(q) : size] = v
        x[size:] = 0.0
        if self.forgets:
            K[self.forgets : -2] = 0.0
        start = x[:size].copy()
        memory.t = memory.t_base = t0
        memory.t_stop, opening.t_stop, opening.quota = t1, t1, self.quota
        if self.inputs.tables:
            self.inputs.begin(data, t0, self.forward)
            opening.t_stop = self.inputs.next_break(t0, t1)
        try:
            status = run_compiled.native(work.given(plan, data, memory, save_t), opened, self.stages)
        except KeyboardInterrupt:
            status = INTERRUPTED
        if status == ASIDE:
            sol = None
        elif status != DONE or memory.t != t1 or self._has_more_to_say(memory):
            return self._walked(here, asked, status, (work, memory, data, start, save_t), opening)
        else:
            sol = self._over(q, v, t0, start, memory, data, work, opening)
        plan.spare.append(work)
        self.spare.append(opened)
        return sol

    def _has_more_to_say(self, memory) -> bool:
        """Tell whether there is something about a run that is over which has to be looked at."""
        return self.held or memory.paths or memory.guided or (memory.is_stiff and not self.chooses)

    def _over(self, q, v, t0: float, start, memory, data, work: Workspace, opening) -> Solution:
        """Return the solution of a run that is over."""
        plan, state, record = self.plan, work.loop.state, WrittenRows()
        record.add(*work.rows, memory.rows, 0)
        memory.rows, stop, at = 0, None, plan.size.nq
        if not (memory.keep_steps and record.t):
            stop = (memory.t, state.x.copy(), state.K[0, at : at + plan.size.nk].copy())
        noted, story = state.K[-2:, : self.size].copy(), Story(self._rates(opening)) if self.chooses else None
        trail = Trail(
            plan, data, memory.keep_steps == 1, Start(q, v), [], memory, noted, record, (t0, start), stop, [], (), story,
            repeat=repeated, again=run_again, first_step=self.first, inputs=self.inputs, reasons=reasons, impacts=[],
        )  # fmt: skip
        sol = Solution(trail, "end")
        grew = unstable(plan, memory, start, state.x) if memory.fixed else None
        if grew is not None:
            warn(grew, UnstableWarning)
        near = passed_singular(sol) if self.may_pass else None
        if near is not None:
            warn(near, NearSingularWarning)
        return sol

    def _rates(self, opening) -> Rates:
        return Rates(opening.fastest, opening.real, opening.accurate, short=bool(opening.little))

    def _walked(self, here: Opened, asked: Asked, status: int, begun: tuple, opening) -> Solution:
        """Go on from behind the first stretch of a run, with this status."""
        _, t0, t1, q, v, _, _ = here
        work, memory, data, start, save_t = begun
        plan, model = self.plan, self.plan.model
        kept = RunState(work.arena.tobytes(), bytes(memory), data.tobytes())
        run = Run(
            plan, data.copy(), t0, start, t1, save_t=None if asked.save_at is None else save_t, inputs=self.inputs, work=work,
            **asked.limits(),
        )  # fmt: skip
        run.restore(kept)
        run.ahead, run.left = status, None
        plan_for = lambda other: plan_of(model, other, {}, None)
        choosing = None
        if self.chooses:
            choosing = Choosing(model, self.given, self.choice, t1, plan_for)
            choosing.begun(plan, self._rates(opening))
            run.left = opening.quota
        return walk(
            run, plan, Start(q, v), t0, t1, None, asked.progress, choosing=choosing, crossing=Crossing(plan_for, t1), begun=True
        )
