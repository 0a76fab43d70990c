"""The automatic choice: what suits a state, and when to change it on the way.

A run in which the integrator was left open begins with the explicit method of order 8, or of order 5 where so little
happens that order 8 would cross it in a handful of steps, unless the field's fastest rate at the start is far beyond what
the motion needs. On the way the step loop tells when stability, not accuracy, limits the step; an implicit method takes
over from that state, and hands back when explicit steps could be longer. Where steps keep meeting corners of the forces,
order 5 goes on. Deciding costs a dozen evaluations of the field.

Which implicit method: measurements on the problems of this library (docs/automatic-choice.md). Radau was as fast as BDF there
and a hundred times more accurate; BDF is left to constraints that turn far faster than the motion, and to systems so large
that Radau's factorizations cost more. On which formulation: `stiff_forms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import TOO_MANY_STEPS, HolonomicError
from ..formulations.index1 import Index1
from ..integrators.bdf import BDF
from ..integrators.radau import Radau
from ..integrators.runge_kutta import RK45
from ..loop.automatic_looks import (
    DECAYS,
    FAR_BEYOND,
    LONGER,
    LONGEST_LOOK,
    QUIET,
    SEEN,
    SOON,
    STABLE,
    WATCHED,
    WORTH,
    dearness,
    little_happens,
)
from ..loop.fastest_rate import MOVE, look
from ..loop.from_python import NOT_OPENED, look_at_start_compiled
from ..loop.opening import LIMITED, ROUGH
from ..loop.opening import LONGER as NOT_SHORT
from ..model.dae import Dae
from ..native.callbacks import raise_what_was_raised
from ..planning.choice import Choice, make_choice
from ..planning.plan import Plan
from ..planning.words import reason
from ..results.story import Change, Story
from .indicators import accurate_step, moving, rate_by_time
from .on_the_way import first_rates, later_rates, opening_of, room
from .rates import TIGHT, Rates, too_stiff, turns_rapidly
from .stiff_forms import forms_for, look_ahead

# Errors of BDF add up to 3 to 50 times rtol on the stiff problems here, those of DOP853 to less than 1 on the same ones
# (where constraints turn, long steps are found with more than a tenth only)
BDF_SHARE, BDF_TURNING = 0.1, 0.2
# Steps to go from which BDF's errors add up to more than 10 rtol where a vibration lasts beside what decays (Radau's, of
# higher order and with fewer steps, stay below rtol there); radians to go from which on it counts as lasting; BDF's steps in one
# of DOP853
MANY, LASTING, SHORTER = 200, 100.0, 8
LARGE = 60  # positions and velocities above which eigenvalues cost more than they save, and factors of Radau more than BDF
FIRST_LOOK = 25  # steps to the first look at a run that seems short; doubled each time
FOR_SHORT = RK45()  # what a run in which little happens begins with
AS_IMPLICIT = 8 * FIRST_LOOK  # the same after a change to an implicit method
# Of the fastest rate at a change to an implicit method, what is as fast still; by how much stiffer a state has to be than one at
# which an implicit method took short steps, for it to be tried again
STILL_FAST, AGAIN = 0.3, 3.0
FELT = 0.1  # rad in one step: a vibration that steps follow
MOST_CHANGES = 20
# On six stiff problems of benchmarks/stiff_choice.py and seven with corners, friction or relaxation oscillations, order 9 takes 0.5
# to 1.4 times the time of order 5 for an error of 1e-4 (0.2 for van der Pol's with mu = 1000), 0.4 to 1.1 times for 1e-6; beside
# variable order 0.7 to 1.2 times for 1e-6, 0.8 to 1.6 for 1e-8. Tables were not measured: they keep variable order
OF_ORDER_5, OF_ORDER_9, OF_ANY_ORDER = Radau(), Radau(order=9), Radau(order="variable")
FINE, FINER = 3e-5, 3e-8  # rtol from which on the second, and the third, are taken
FINE_IN_SHORT = 3e-6  # the same for the third in short runs, which do without the second


GIVEN = ("model", "given", "t_end", "plan_for", "made", "usual")  # what the call says; all else is seen and decided on the way


class Choosing:
    """Watches one run and says when another plan suits it better.

    Parameters
    ----------
    model : Model
        What runs.
    given : dict
        formulation, integrator and stabilization as the user gave them, "auto" among them.
    choice : Choice
        What was made of it: the explicit plan.
    t_end : float
        Where the run ends, s.
    plan_for : function
        Makes the plan of a choice, or raises.
    made : dict, optional
        Implicit choices that were made for the same `given` and `choice` before.
    """

    def __init__(
        self, model, given: dict[str, Any], choice: Choice, t_end: float, plan_for: Callable[[Choice], Plan],
        made: dict[tuple, Choice] | None = None,
    ):  # fmt: skip
        self.model, self.given, self.t_end, self.plan_for, self.made = model, given, t_end, plan_for, made
        self.usual = self.explicit = choice
        self.changes: list[Change] = []
        self.first: Rates | None = None
        self.opening: Any = None  # what the step loop goes by that looks at an explicit run
        self.interval = AS_IMPLICIT  # steps to the next look at an implicit one
        self._since = (0.0, 0)  # time and steps at the last look
        self._turn = 0.0  # 1/s, of constraints that turn by themselves
        self._corners = False  # whether forces are not smooth
        self._given_up = False  # an implicit method could not go on
        self._in_vain = 0.0  # fastest rate times accurate step at which an implicit method was tried, and took short steps

    def memories(self) -> dict[str, Any]:
        """Return what was seen and decided so far; `recall` takes it over."""
        seen = {name: value for name, value in vars(self).items() if name not in GIVEN}
        return seen | {"explicit": None if self.explicit is self.usual else self.explicit}  # asked for by identity

    def recall(self, known: dict[str, Any]) -> None:
        """Take over what `memories` gave."""
        vars(self).update(known)
        self.explicit = self.explicit or self.usual

    def likely(self, plan: Plan) -> Plan:
        """Return the plan to begin with before anything is known, given the usual one: what suited the model's last run."""
        return self._in_short(plan) if self.model.seemed_short else plan

    def _in_short(self, plan: Plan) -> Plan:
        """Return the plan of a short run beside the usual one; kept there, for calls that are over in 0.1 ms."""
        if plan.in_short is None:
            plan.in_short = self.plan_for(self.in_short())
            plan.in_short.in_short = plan.in_short
        return plan.in_short

    def story(self) -> Story:
        """Return what was seen and changed so far."""
        return Story(self.first, tuple(self.changes))

    def rates(self, run, keep: bool = True) -> Rates:
        """Look at the current state of a run; with `keep`, nothing of it changes. Without, it is the start."""
        model, plan, t, K, found = self.model, run.plan, run.t, run.K, np.zeros(3)
        left = self.t_end - t
        kept = K[:4].copy() if keep else None
        positions = model.nq // model.order if model.is_ode else model.nq
        if not keep:
            look_at_start_compiled(plan.for_kernels(run.data), run.memory, t, run.work.loop, positions, left, found)
        elif run.slope(t, run.x, 0):
            look(plan.for_kernels(run.data), run.memory, t, run.x, run.xe, K, run.W, model.nq, model.nv, positions, left, found)
        raise_what_was_raised()
        if keep:
            K[:4] = kept
        fastest, real, motion = found.tolist()
        accurate = min(abs(left), accurate_step(motion, self.explicit.rtol))
        real *= run.direction
        return Rates(fastest, real, accurate, short=little_happens(fastest, real, motion, abs(left)))

    def _left(self, run) -> float:
        return abs(self.t_end - run.t)

    def at_start(self, run) -> Choice | None:
        """Return another choice where an explicit method is far from what suits the start, or the run short."""
        left = self._left(run)
        rates = self.first = self.rates(run, keep=False)
        if self.model.dense and moving(self.model, run.data) and rates.fastest * rates.accurate < STABLE:
            rate = rate_by_time(self.model, run.t, run.x, run.data, run.direction * rates.accurate)
            rates = rates._replace(turning=rate, short=rates.short and rate * left < QUIET)
        short = self._is_short(run.plan, rates)
        begun_right = (run.plan.choice.integrator == FOR_SHORT) is short
        other = None if begun_right else self.explicit
        if too_stiff(self.model, rates, left, short):
            return self.stiff_start(run) or other
        return self._rapid(run, rates, left) or other

    def stiff_start(self, run) -> Choice | None:
        """Return an implicit choice for a start that was found to be too stiff for an explicit one."""
        return self._change(run, self.first, STABLE / self.first.fastest, "the start is stiff")

    def _is_short(self, plan: Plan, rates: Rates) -> bool:
        """Tell whether little happens in a run, and take the method for it."""
        short = self.model.seemed_short = rates.short and self.explicit.rtol >= TIGHT
        if short:
            self.explicit = self._in_short(plan).choice
        return short

    def _rapid(self, run, rates: Rates, left: float) -> Choice | None:
        """Return an implicit choice where constraints turn far faster than a motion that is not stiff."""
        rate = rates.turning
        if not turns_rapidly(self.model, rates, left, self.explicit.rtol):
            return None
        self._turn, self.first = rate, rates
        return self._change(run, rates, STABLE / rate, "the constraints change much faster than the motion")

    def begun(self, plan: Plan, opening) -> None:
        """Take over what the compiled opening of a run has found, which began with this plan."""
        self.first, self.opening = first_rates(opening), opening
        self._is_short(plan, self.first)

    def watch(self, run) -> None:
        """Let the step loop look at a run on its way, if it is an explicit one."""
        if run.opened is not NOT_OPENED or run.plan.choice.integrator.implicit or len(self.changes) >= MOST_CHANGES:
            return
        if self.opening is None:
            self.opening = opening_of(self.model, self.usual)
            if self.first is not None:
                self.opening.fastest, self.opening.real, self.opening.accurate = self.first[:3]
            self.look_on_the_way(self.opening)
        run.opened = room(run.K.shape[1], self.opening)

    def look_on_the_way(self, opening) -> None:
        """Enter what the looks at an explicit run go by."""
        usual = self.explicit is self.usual
        opening.t_end, opening.looks, opening.corners = self.t_end, not self._given_up, self._corners
        opening.interval = opening.left = WATCHED if usual else FIRST_LOOK
        opening.least = max(SEEN if usual else SOON, AGAIN * self._in_vain)
        opening.is_short, opening.keeps_order = not usual, not usual or self.usual.rtol < TIGHT

    def steps_to_look(self, run) -> int | None:
        """Return the steps to the next look from Python, at an implicit run."""
        return self.interval if run.plan.choice.integrator.implicit else None

    def on_the_way(self, run) -> Choice | None:
        """Return another choice after a stretch of steps, or None to go on."""
        if not run.plan.choice.integrator.implicit:
            return self._called(run)
        self.interval = min(2 * self.interval, LONGEST_LOOK)
        t, steps = self._since
        taken = run.memory.accepted - steps
        self._since = (run.t, run.memory.accepted)
        if len(self.changes) >= MOST_CHANGES:
            return None
        h = max(abs(run.t - t) / max(taken, 1), abs(run.memory.h))  # the first steps are short
        return self._back(run, h) or (self._finer(run, h) if self.interval >= LONGEST_LOOK else None)

    def _called(self, run) -> Choice | None:
        """Return what the looks of the step loop at an explicit run call for.

        Stability, not accuracy, limits the step: the loop tells where steps reach its limit. With a tight tolerance they stay far
        below it: the error of what is stiff, and driven, is of a low order. So steps much shorter than the motion asks for are
        looked at, too, where there are many. Or forces are not smooth; or a run that seemed short has many steps to go.
        """
        verdict, rates, h = self.opening.verdict, later_rates(self.opening), abs(run.memory.h)
        self.opening.verdict = 0
        if verdict == LIMITED:
            return self._change(run, rates, h, "stability, not accuracy, limits the step")
        if verdict == ROUGH:
            self.explicit, self._corners = self.in_short(), True
            reason = "steps meet corners of the forces, where a lower order loses less"
        elif verdict == NOT_SHORT:
            self.explicit, reason = self.usual, "the run is not as short as it seemed"
        else:
            return None
        self._note(run, self.explicit, rates, h, reason)
        return self.explicit

    def _back(self, run, h: float) -> Choice | None:
        if h == 0.0:
            return None
        rates = self.rates(run)
        possible = min(rates.accurate, STABLE / max(rates.fastest, self._turn, 1e-300))
        if possible * dearness(run.memory) < LONGER * h or self._left(run) < WORTH * h:
            return None
        if rates.fastest > STILL_FAST * self.changes[-1].fastest:  # what was fast is so still, and steps have to follow it
            self._in_vain = rates.fastest * rates.accurate
        self._note(run, self.explicit, rates, h, "an explicit method can take longer steps here")
        return self.explicit

    def _finer(self, run, h: float) -> Choice | None:
        """Return Radau's choice where BDF is left with many steps in which errors add up."""
        if not run.plan.choice.integrator.errors_add_up or not self._lasts(run, h):
            return None
        return self._change(run, self.rates(run)._replace(lasts=True), h, "a vibration lasts, and errors of BDF add up")

    def _lasts(self, run, h: float) -> bool:
        """Whether many steps h are to go, and with them a vibration (or growth) that hardly decays."""
        if self._left(run) <= MANY * h:
            return False
        found = self._eigenvalues(run)
        lasting = found[found.real > -DECAYS * np.abs(found)]
        return float(np.max(np.abs(lasting), initial=0.0)) * self._left(run) > LASTING

    def _eigenvalues(self, run) -> np.ndarray:
        """Return those of the field at the current state by one-sided differences: 0.2 ms. None of large systems."""
        size = self.model.nq + self.model.nv
        if size > LARGE:
            return np.zeros(0, complex)
        kept, J = run.K[:2].copy(), np.empty((size, size))
        there = run.slope(run.t, run.x, 0)
        for i in range(size):
            move = MOVE * (1.0 + abs(run.x[i]))
            run.xe[:] = run.x
            run.xe[i] += move
            there = there and run.slope(run.t, run.xe, 1)
            J[:, i] = (run.K[1, :size] - run.K[0, :size]) / move
        run.K[:2] = kept
        return run.direction * np.linalg.eigvals(J) if there and np.all(np.isfinite(J)) else np.zeros(0, complex)

    def failed(self, run, status: int) -> Choice | None:
        """Return the explicit choice where an implicit one of ours could not go on."""
        if not self.changes or not run.plan.choice.integrator.implicit or status == TOO_MANY_STEPS:
            return None
        self._note(run, self.explicit, Rates(0.0, 0.0, 0.0), abs(run.memory.h), reason(status))
        self._given_up = True  # and no more of it
        return self.explicit

    def vibrating(self, run) -> str:
        """Say that a vibration asks for so many steps, where it does."""
        h = abs(run.memory.h_used or run.memory.h)
        rates = self.rates(run)
        if rates.decays or rates.fastest * h < FELT or rates.fastest * rates.accurate < FAR_BEYOND:
            return ""
        return (
            f"Something vibrates there with {rates.fastest:.3g} rad/s and hardly decays, and steps have to follow it: a light "
            "mass between stiff or heavy parts, or a stiff spring. Make that part rigid or heavier, give it damping, or raise "
            "max_steps; Radau() passes over it where it is not part of the motion."
        )

    def _change(self, run, rates: Rates, h: float, reason: str) -> Choice | None:
        for choice in self._candidates(run, rates):
            try:
                self.plan_for(choice)
            except HolonomicError:
                continue
            self._note(run, choice, rates, h, reason)
            return choice
        return None

    def _note(self, run, choice, rates: Rates, h: float, reason: str) -> None:
        self._enter(Change(run.t, choice, rates.fastest, rates.real, h, reason))

    def _enter(self, change: Change) -> None:
        self.changes.append(change)
        self.opening, self.interval, self._since = None, AS_IMPLICIT, (change.t, 0)

    def _candidates(self, run, rates: Rates):
        """Implicit choices in the order in which they are tried."""
        dense = self.model.dense
        slope, turns = None, False
        if self.model.n_lam and dense and not self.model.is_ode:
            slope, turns = look_ahead(self.model, run, rates)
        turns = turns or rates.turning > 0.0
        large = dense and self.model.nq + self.model.nv > LARGE and not rates.short
        straight = (rates.straight or rates.turning > 0.0) and (turns or large)
        straight = straight and not (rates.lasts or self._lasts(run, rates.accurate / SHORTER))
        integrator, share = (BDF(), BDF_TURNING if turns else BDF_SHARE) if straight else (self._radau(rates.short), 1.0)
        ways = forms_for(self.model, run, rates, slope, turns) if self._formulation_open else [(self.explicit.formulation, "auto")]
        yield from self._made(ways, integrator, share)

    def _radau(self, short: bool = False) -> Radau:
        """Return Radau of the order that suits the tolerance; high orders want smooth forces.

        A short run with constraints is crossed by order 9 in 4 to 6 steps whatever the tolerance, so that its error does not follow
        it. Without constraints all members of a sweep take one method, however short they are.
        """
        rtol = self.usual.rtol
        if self._corners or rtol > FINE:
            return OF_ORDER_5
        if short and (self.model.n_lam or isinstance(self.model.system, Dae)):
            return OF_ORDER_5 if rtol > FINE_IN_SHORT else OF_ANY_ORDER
        return OF_ORDER_9 if rtol > FINER and self.model.dense else OF_ANY_ORDER

    @property
    def _formulation_open(self) -> bool:
        asked = self.given["formulation"]
        return isinstance(asked, str) and asked == "auto"

    def _made(self, ways, integrator, share: float):
        """Choices with these formulations and, where they were left to us, stabilizations; to a share of the tolerance."""
        c, asked = self.explicit, self.given["stabilization"]
        for formulation, usual in ways:
            key = formulation, usual, integrator, share
            choice = None if self.made is None else self.made.get(key)
            if choice is None:
                stabilization = usual if isinstance(asked, str) else asked
                made = make_choice(self.model, formulation, integrator, stabilization, None, c.rtol, c.atol, c.constraint_tol)
                choice = replace(made, chosen=c.chosen, share=share)
                if self.made is not None:
                    self.made[key] = choice
            yield choice

    def in_short(self) -> Choice:
        """Return the choice for runs in which little happens."""
        return replace(self.usual, integrator=FOR_SHORT)

    def one_implicit(self) -> Choice | None:
        """Return the implicit choice where it is the same for all states: without constraints, and not large."""
        m = self.model
        if m.n_lam or isinstance(m.system, Dae) or m.nq + m.nv > LARGE:
            return None
        return next(self._made([(Index1() if self._formulation_open else self.explicit.formulation, "auto")], self._radau(), 1.0))
