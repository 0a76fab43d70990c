"""A run asked for again: all that does not depend on where it starts and ends was settled by the first one.

Methods are chosen and lowered, arguments read, the memory of a run that has not begun is known, byte by byte (`leg`). What is left
is one call of compiled code (`run_compiled`): it checks the start, begins, looks at the field and takes the first stretch of steps,
with the functions that every other run goes through, so that the numbers are the same, bit for bit. Where the start is stiff, or
steps are found to be limited on the way, a second call begins with an implicit plan, of which as much is known. A start that is not
plain is left to the long way, which says what is wrong or chooses otherwise; a run that is not over then goes on in `walk`, like
any other.

What was settled lies on the model it was settled for, by the words in which it was asked for. A system whose functions read
something that has changed since has another model (`model_of` looks before every run), so nothing here can be out of date.
"""

from __future__ import annotations

import numpy as np

from ..arguments import Asked, GivenStart, Opened
from ..automatic.decide import FIRST_LOOK, FOR_SHORT, Choosing
from ..automatic.indicators import moving
from ..automatic.on_the_way import first_rates
from ..automatic.reasons import reasons
from ..errors import DONE, NearSingularWarning, UnstableWarning
from ..kernels.signatures import Fn
from ..kernels.sizes import OFTEN
from ..loop.automatic_looks import SEEN, SOON, WATCHED
from ..loop.from_python import BEGIN, CHECK, DRIVE, KEEP, LOOK, run_compiled
from ..loop.opening import ASIDE, LIMITED, STIFF
from ..model.dae import Dae
from ..model.input_tables import InputTables
from ..model.refusals import warn
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..planning.reuse import plan_of
from ..results.solution import Solution
from ..results.story import Story
from ..results.trail import join
from ..starting.initial import LEAST_TOLERANCE, Start
from ..starting.rank import RHO_FULL_RANK
from .detour import Crossing
from .failure import unstable
from .leg import Leg, Part
from .near_singular import passed_singular
from .run import DOUBLE, INTERRUPTED, NOTHING, QUOTA, Run
from .walk import repeated, run_again, take_over, tell_of_invariants, walk

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
    model = sol.trail.plan.model
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
    if before is NEVER:
        return
    plan, forward = _begun_with(sol, choice), 1.0 if here.t1 >= here.t0 else -1.0
    if before and before.serves(plan, words, forward):
        return
    given = asked.events is None and asked.inputs is None and asked.controllers is None and asked.prefer is None
    if not (given and not asked.progress and _is_plain(plan, choice) and asked.choice(model) is choice):
        known[words] = NEVER  # the last of it: a formulation that depends on where a run starts
        return
    whole = _plain(here.start) and sol.ended == "end"
    if whole and (not choice.integrator_open or plan.choice == choice or plan.choice.integrator == FOR_SHORT):
        known[words] = Prepared(here, asked, choice, plan, inputs)


def _begun_with(sol: Solution, choice: Choice) -> Plan:
    """Return the plan that a run was opened with; where its start was stiff, the explicit one that was left at once."""
    plan = sol.trail.parts[0].trail.plan if sol.trail.parts else sol.trail.plan
    if choice.integrator_open and plan.choice.integrator.implicit:
        plan = plan_of(plan.model, choice, {}, None, bool(plan.switches))
        return plan.in_short if plan.model.seemed_short and plan.in_short is not None else plan
    return plan


def _make_room(known: dict) -> None:
    """Forget words where too many are known: at first such as came only once."""
    while len(known) >= MOST:
        ways = list(known.items())
        known.pop(next((words for words, ready in ways if not ready), ways[0][0]), None)


def _is_plain(plan: Plan, choice: Choice) -> bool:
    """Whether runs of a plan open in compiled code, and end without anything that has to be looked at."""
    model = plan.model
    if choice.precision != DOUBLE or model.interpreted or not model.dense or isinstance(model.system, Dae):
        return False
    if any(function.calls_python for functions in model.outside.values() for function in functions):
        return False  # it may raise
    if model.nw or plan.watches or plan.rows is not None or not plan.variant.is_ours:
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
        What ran at first.
    inputs : InputTables
        Of the system.
    """

    def __init__(self, here: Opened, asked: Asked, choice: Choice, plan: Plan, inputs: InputTables):
        model = plan.model
        self.kinds = tuple(map(type, _words(asked)))  # of equal words those are told apart that are of different kinds: 1 and True
        self.choice, self.plan, self.inputs = choice, plan, inputs
        self.forward = 1.0 if here.t1 >= here.t0 else -1.0
        self.width = 1 + model.nq + 2 * model.nv + model.n_lam
        self.chooses = choice.integrator_open
        self.given = {"formulation": asked.formulation, "stabilization": asked.stabilization}
        self.stages = (CHECK if model.n_lam else 0) | (KEEP if model.n_invariants else 0) | BEGIN
        self.stages |= (LOOK if self.chooses else 0) | DRIVE
        self._limits, self._every = asked.limits(), asked.save_at is None
        self._legs: dict[Choice, Leg] = {}
        self._made: dict[tuple, Choice] = {}  # choices of implicit methods
        self.first = FirstLeg(plan, choice, self.stages, here.t0, here.t1, self._limits, self._every)

    def serves(self, plan: Plan, words: tuple, forward: float) -> bool:
        """Tell whether this is what would be settled for a run that began with a plan and was asked for so."""
        return self.plan is plan and self.forward == forward and self.kinds == tuple(map(type, words))

    def run(self, here: Opened, asked: Asked) -> Solution | None:
        """Run from a start to an end; None: the start is not plain, or the run goes the other way."""
        _, t0, t1, q, v, _, _ = here
        if (t1 - t0) * self.forward < 0.0:
            return None
        first = self.first
        save_t = NOTHING if asked.save_at is None else np.ascontiguousarray(asked.times(t0, t1, self.width))
        part = Part(first, first.data.copy(), save_t)
        x = part.x
        x[: len(q)] = q
        x[len(q) : first.size] = v
        t_stop = t1
        if self.inputs.tables:
            self.inputs.begin(part.data, t0, self.forward)
            t_stop = self.inputs.next_break(t0, t1)
        part.begins(t0, t1, t_stop, QUOTA)
        status, choosing, parts = _opened(part, self.stages), None, []
        verdict = part.opened[0].verdict if self.chooses else 0
        if verdict == STIFF or verdict == LIMITED:
            choosing = self._choosing(t1, part.opened[0])
            other = choosing.stiff_start(part) if verdict == STIFF else choosing.on_the_way(part)
            if verdict == LIMITED and (other is None or part.memory.awake):
                return self._walked(here, asked, None, part, parts, choosing, other)
            if other is None:
                part.release()
                return None
            before, part = part, part.handed_to(self._leg(other, t0, t1), t1, self.inputs, choosing.interval, verdict == LIMITED)
            if verdict == LIMITED:
                parts.append(before.over(Start(q, v), self.inputs, first.first, "changed"))
            else:
                before.release()
            status = _opened(part, BEGIN | DRIVE)
        elif status == ASIDE:
            part.release()
            return None
        memory = part.memory
        # what has to be looked at; rows of events are those of selects that have woken
        more = memory.paths or memory.guided or memory.event_rows or (memory.is_stiff and not self.chooses)
        more = more or OFTEN * memory.rounded > memory.accepted
        if more or status != DONE or memory.t != t1:
            return self._walked(here, asked, status, part, parts, choosing)
        return self._over(part, parts, Start(q, v), choosing)

    def _over(self, part: Part, parts: list[Solution], begin: Start, choosing: Choosing | None) -> Solution:
        """Return the solution of a run that is over."""
        story = None
        if self.chooses:
            story = Story(first_rates(part.opened[0])) if choosing is None else choosing.story()
        model = part.plan.model
        sol = part.over(begin, self.inputs, None if parts else self.first.first, "end", None if parts else story)
        memory = sol.trail.memory
        whole = sol
        if parts:
            whole = join([*parts, sol])
            whole.trail.story, whole.trail.reasons = story, reasons
            whole.trail.repeat, whole.trail.again = repeated, run_again
        if model.n_invariants and part.plan.choice.stabilization.acts == "step":
            tell_of_invariants(whole, model, *sol.trail.final[:2], part.data, warn)
        if memory.fixed:
            grew = unstable(part.plan, memory, part.start[1], sol.trail.final[1])
            if grew is not None:
                warn(grew, UnstableWarning)
        if self.first.may_pass or part.leg.may_pass:
            near = next(filter(None, map(passed_singular, [*parts, sol])), None)
            if near is not None:
                warn(near, NearSingularWarning)
        return whole

    def _choosing(self, t1: float, opening) -> Choosing:
        """Return the automatic choice of a run that was opened so."""
        choosing = Choosing(self.plan.model, self.given, self.choice, t1, self._plan_for, self._made)
        choosing.begun(self.plan, opening)
        return choosing

    def _plan_for(self, choice: Choice) -> Plan:
        leg = self._legs.get(choice)
        return plan_of(self.plan.model, choice, {}, None, bool(self.plan.switches)) if leg is None else leg.plan

    def _leg(self, choice: Choice, t0: float, t1: float) -> Leg:
        """Return what is settled for a plan that takes over."""
        found = self._legs.get(choice)
        if found is None:
            found = self._legs[choice] = Leg(self._plan_for(choice), t0, t1, self._limits, self._every)
        return found

    def _walked(
        self,
        here: Opened,
        asked: Asked,
        status: int | None,
        part: Part,
        parts: list[Solution],
        choosing: Choosing | None,
        other: Choice | None = None,
    ) -> Solution:
        """Go on from behind the first stretch of a part, with this status; None: it was dealt with, or `other` is to take over."""
        _, t0, t1, q, v, _, _ = here
        plan, opening = part.plan, part.opened[0]
        kept = part.kept()
        run = Run(
            plan, part.data.copy(), part.start[0], part.start[1], t1, save_t=None if self._every else part.save_t,
            inputs=self.inputs, work=part.work, **(asked.limits() | ({"first": None} if parts else {})),
        )  # fmt: skip
        run.restore(kept)
        run.modes = part.leg.data[plan.model.data_places["modes"]].copy()  # of selects alone, which slept
        run.ahead, run.left = status, None
        if self.chooses:
            if choosing is None:
                choosing = self._choosing(t1, opening)
            run.left = None if status is None else choosing.steps_to_look(run)
        if other is not None:
            run.collect()
            run, status = take_over(run, other, choosing, Start(q, v), parts)
            run.ahead = status or None
            plan = run.plan
        crossing = Crossing(self._plan_for, t1)
        return walk(
            run, plan, Start(q, v), t0, t1, None, asked.progress, choosing=choosing, crossing=crossing, begun=True, parts=parts
        )


class FirstLeg(Leg):
    """The first one: the start is checked and looked at."""

    def __init__(self, plan: Plan, choice: Choice, stages: int, *settled):
        self.choice, self.stages = choice, stages
        super().__init__(plan, *settled)
        if choice.integrator_open:
            self.interval = FIRST_LOOK if plan.choice.integrator == FOR_SHORT else WATCHED

    def new_opening(self, width: int) -> tuple:
        model, choice = self.plan.model, self.choice
        opening, _, _, _, *more = super().new_opening(width)
        opening.tolerance, opening.independent = max(choice.constraint_tol, LEAST_TOLERANCE), RHO_FULL_RANK
        if choice.integrator_open:
            opening.is_short = self.plan.choice.integrator == FOR_SHORT
            opening.looks, opening.least = 1, SOON if opening.is_short else SEEN
            opening.keeps_order = opening.is_short or opening.keeps_order
        wanted = (Fn.VEL_FACTOR, Fn.RESIDUAL) if self.stages & CHECK else (Fn.RESIDUAL,) if model.n_invariants else ()
        fns, lengths = model.table(wanted)
        return opening, fns, *(np.empty(lengths.get(fn, 0)) for fn in (Fn.VEL_FACTOR, Fn.RESIDUAL)), *more


def _opened(part: Part, stages: int) -> int:
    """Let compiled code open a part; return its status."""
    try:
        return run_compiled.native(part.work.given(part.plan, part.data, part.memory, part.save_t), part.opened, stages)
    except KeyboardInterrupt:
        return INTERRUPTED
