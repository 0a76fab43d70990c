"""The events of a run: on which side of zero their functions start, which have happened, and how often."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ..errors import EVENT, NOT_FINITE, OK
from ..kernels.signatures import EVENTS, Events, call_function
from ..loop import event_search
from ..loop.after_events import STILL, UNCLEAR, UNCLEAR_ESTIMATE
from ..loop.events_from_python import arm_switches_compiled, events_compiled, rates_compiled
from ..native.callbacks import raise_what_was_raised
from ..starting.impulse import Impact

DIFFERENCE = 1e-5  # relative step of central differences: truncation 1e-10, rounding 1e-11
MANY_IMPACTS = 50  # in ever shorter order: they accumulate
SHORT_WAIT = 1e-5  # of the longest wait for an impact


def not_followed(name: str, t: float) -> str:
    """Say that an event's function is too fast for the steps, or nothing but rounding."""
    return (
        f"{name} was given up at t = {t:.6g}: its function changes within a thousandth of a step, or is no more than "
        "rounding, and not all of its changes of sign are found. Pass a smaller max_step=, or watch a function that is smooth."
    )


class Watching:
    """What a run knows of its events; `events` is what the step loop keeps of them."""

    def __init__(self, run, events: Events):
        self.run, self.events = run, events
        self.log: list[tuple[int, float, np.ndarray, np.ndarray]] = []  # event, time, x, (v', λ)
        self.impacts: list[tuple[int, float, Impact]] = []  # event, time, impulses where it mapped the state
        self._handled = 0  # events that have been dealt with
        self._waits: dict[int, tuple[float, float, deque]] = {}  # event -> last time, longest wait, last waits

    @property
    def watches(self) -> bool:
        """Whether anything is watched: there are events or comparisons that decide, or a select is awake."""
        return self.run.plan.watches or self.run.memory.awake > 0

    def go_on_from(self, other: Watching) -> None:
        """Take over what another run of the same events has seen."""
        self.log, self.impacts, self._handled, self._waits = other.log, other.impacts, other._handled, other._waits
        self.events.marks[:], self.events.values[:] = other.events.marks, other.events.values

    def memories(self) -> dict[str, Any]:
        """Return what Python remembers of the events; `recall` takes it over."""
        return {"log": self.log, "impacts": self.impacts, "handled": self._handled, "waits": self._waits}

    def recall(self, known: dict[str, Any]) -> None:
        """Take over what `memories` gave."""
        self.log, self.impacts, self._handled, self._waits = (known[name] for name in ("log", "impacts", "handled", "waits"))

    def collect(self, rows: int, at: int) -> None:
        """Write down what the step loop has found, after the first `at` events; doing it twice has no further effect."""
        if rows:
            e = self.events
            self.log[at:] = [(int(e.index[i]), float(e.t[i]), e.x[i].copy(), e.k[i].copy()) for i in range(rows)]

    def _values(self, t: float, x: np.ndarray, row: int) -> np.ndarray:
        """Event functions at (t, x), accelerations and multipliers being in a row of K."""
        run = self.run
        values = np.zeros(run.plan.n_watched)
        at = row * run.K.shape[1] + run.plan.model.nq
        if run.plan.model.interpreted:
            with np.errstate(all="ignore"):
                call_function(run.plan.fns, EVENTS, t, x, 0, run.K, at, run.data, values, 0)
        else:
            events_compiled(run.plan.fns, t, x, run.K, at, run.data, values)
            raise_what_was_raised()
        return values

    def values_here(self) -> np.ndarray:
        """All functions that are watched, where the run stands."""
        return self._values(self.run.t, self.run.x, 0)

    def rates_here(self) -> np.ndarray:
        """Their time derivatives, the field being in the first row of K."""
        return self._rates()

    def _rates(self) -> np.ndarray:
        """Time derivatives of the event functions at the current state; 0 where rounding decides their sign."""
        exact = not self.run.plan.model.interpreted and not self.run.memory.event_field
        rates, sizes = self._exact_rates() if exact else self._estimated_rates()
        return np.where(np.abs(rates) > (UNCLEAR if exact else UNCLEAR_ESTIMATE) * sizes, rates, 0.0)

    def _exact_rates(self) -> tuple[np.ndarray, np.ndarray]:
        run = self.run
        nev = run.plan.n_watched
        out = np.zeros(2 * nev)
        rates_compiled(run.plan.fns, run.t, run.x, run.K, run.plan.model.nq, run.data, out)
        raise_what_was_raised()
        return out[:nev], out[nev:]

    def _estimated_rates(self) -> tuple[np.ndarray, np.ndarray]:
        """By central differences: functions that run as Python, or that use accelerations or multipliers."""
        run = self.run
        n = run.plan.model.nq + run.plan.model.nv
        x, slope = run.x, run.K[0, :n].copy()
        rates, sizes = np.zeros((2, run.plan.n_watched))
        for i in range(-1, n):
            change = 1.0 if i < 0 else slope[i]
            if change == 0.0:
                continue
            step = DIFFERENCE * (1.0 + abs(run.t if i < 0 else x[i]))
            ends = []
            for side in (step, -step):
                t, moved = (run.t + side, x) if i < 0 else (run.t, x.copy())
                if i >= 0:
                    moved[i] += side
                row = 0
                if run.memory.event_field:
                    row = 1
                    if not run.slope(t, moved, row):
                        return np.zeros_like(rates), sizes
                ends.append(self._values(t, moved, row))
            part = change * (ends[0] - ends[1]) / (2.0 * step)
            rates += part
            sizes += np.abs(part)
        return rates, sizes

    def arm(self, fresh: bool, counted: tuple[int, ...] = ()) -> int:
        """Note on which side of zero the event functions start, and where they leave zero, to which side.

        Events that have just been counted start from zero unless their mapping has clearly moved them off it.
        """
        run = self.run
        if not self.watches:
            return OK
        ev, ev_f = self.events.marks, self.events.values
        values, first = self._values(run.t, run.x, 0), len(run.plan.events)
        values[first:][np.isnan(values[first:])] = 0.0  # of a switch: by rounding, at the zero of one around it
        if np.any(np.isnan(values)):
            run.memory.last_status, run.memory.t_failed = NOT_FINITE, run.t
            run.xn[:] = run.x
            return NOT_FINITE
        zero, usual = values == 0.0, np.zeros(len(values))
        for index in counted:
            usual[index] = np.max(np.abs(ev_f[event_search.PIECE + 1 : event_search.END, index]))  # inside the piece that led here
            zero[index] |= abs(values[index]) <= 1e-9 * usual[index] + 4.0 * abs(ev_f[event_search.START, index])
        if fresh:
            ev[event_search.ROUGH], ev_f[event_search.LARGEST], ev_f[event_search.LEFT] = 0, np.abs(values), np.nan
            # the arrays may be those of a run that is over: of switches they still have the steps with which it left them
            ev[event_search.NEXT] = ev[event_search.CAME] = 0
            ev_f[event_search.STEP :] = 0.0
        run.memory.event_past = run.memory.event_reach = 0.0  # the state may have been moved: nothing is known of what follows
        ev[event_search.SIGN], ev[event_search.LEAD], ev_f[event_search.START] = np.sign(values), 0, values
        if np.any(zero):
            ev[event_search.SIGN, zero] = event_search.AT_START if fresh else event_search.COUNTED
            rates = self._rates()
            rates[np.abs(rates * run.memory.h_used) < STILL * usual] = 0.0
            ev[event_search.LEAD, zero] = run.direction * np.sign(rates[zero])
        ev[event_search.FIRED] = 0
        if run.plan.switches:
            arm_switches_compiled(run.plan.for_kernels(run.data), run.memory, run.work.loop, self.events)
        return OK

    def over_a_jump(self) -> int:
        """Look at the event functions where inputs have jumped; EVENT: one that has to be dealt with has jumped over zero."""
        run, found = self.run, OK
        if not self.watches:
            return OK
        ev, ev_f = self.events.marks, self.events.values
        values, first = self._values(run.t, run.x, 0), len(run.plan.events)
        values[first:][np.isnan(values[first:])] = 0.0
        if np.any(np.isnan(values)):
            run.memory.last_status, run.memory.t_failed = NOT_FINITE, run.t
            run.xn[:] = run.x
            return NOT_FINITE
        run.memory.event_past = run.memory.event_reach = 0.0
        nq, nk = run.plan.model.nq, run.plan.size.nk
        for index, value in enumerate(values):
            before, after, wanted = ev[event_search.SIGN, index], np.sign(value), ev[event_search.DIRECTION, index]
            ev_f[event_search.START, index] = value
            if after == 0.0 or before == after:
                continue
            ev[event_search.SIGN, index], ev[event_search.CAME, index] = after, 0
            if before == -after and wanted in (0, after) and index < first:
                self.log.append((index, run.t, run.x.copy(), run.K[0, nq : nq + nk].copy()))
                found = EVENT if ev[event_search.STOPS, index] else found
        if run.plan.switches:
            arm_switches_compiled(run.plan.for_kernels(run.data), run.memory, run.work.loop, self.events)
        return found

    def given_up(self) -> str | None:
        """Say of the first function that could not be followed that not all of its zeros are found; None: all could."""
        plan, since = self.run.plan, self.events.values[event_search.LEFT]
        names = [*(f"event {name!r}" for name in plan.events), *(f"the comparison {switch}" for switch in plan.switches)]
        for k, (name, t) in enumerate(zip(names, since, strict=True)):
            if np.isfinite(t) and (k < len(plan.events) or not plan.switches[k - len(plan.events)].sleeps):
                return not_followed(name, float(t))
        return None

    def happened(self) -> list[int]:
        """Return the events at the current time that have not been dealt with yet."""
        here = [index for index, t, _, _ in self.log[self._handled :] if t == self.run.t and index < len(self.run.plan.events)]
        self._handled = len(self.log)
        return list(dict.fromkeys(here))

    def by_rounding(self, indices: list[int]) -> list[int]:
        """Return those events at the current time whose functions go the other way: rounding alone made them cross."""
        if not indices:
            return []
        came = self.events.marks[event_search.CAME]
        rates = self.run.direction * self._rates()
        return [index for index in indices if came[index] * rates[index] < 0.0]

    def may_pass(self, indices: list[int]) -> None:
        """Let functions of terminal events go on through zero, should the run go on from here: nothing has mapped the state."""
        for index in indices:
            self.events.marks[event_search.LEAD, index] = self.events.marks[event_search.CAME, index]

    def clear_log(self) -> None:
        """Forget what has happened; what is watched goes on."""
        self.log, self.impacts, self._handled = [], [], 0

    def forget(self, indices: list[int]) -> None:
        """Take events at the current time out of the log again."""
        self.log = [row for row in self.log if not (row[0] in indices and row[1] == self.run.t)]
        self._handled = len(self.log)

    def accumulates(self, index: int) -> bool:
        """Note that an event maps the state; tell whether it does so in ever shorter order.

        That is: the last impacts came far faster than the longest wait, and faster and faster. Near the limit
        rounding, not the impacts, decides when the next one comes, so the order need not be strict.
        """
        last, longest, waits = self._waits.get(index, (self.run.start[0], 0.0, deque(maxlen=MANY_IMPACTS)))
        waits.append(abs(self.run.t - last))
        longest = max(longest, waits[-1])
        self._waits[index] = (self.run.t, longest, waits)
        return len(waits) == MANY_IMPACTS and max(waits) <= SHORT_WAIT * longest and waits[-1] <= 0.5 * waits[0]

    def at_the_end(self) -> list[int]:
        """Write down the events whose functions are zero exactly where the run ends; return them."""
        run = self.run
        ev, ev_f = self.events.marks, self.events.values
        here = []
        nq, nk = run.plan.model.nq, run.plan.size.nk
        for index in range(len(run.plan.events)):
            sign, wanted = ev[event_search.SIGN, index], ev[event_search.DIRECTION, index]
            if abs(sign) == 1 and ev_f[event_search.START, index] == 0.0 and wanted in (0, -sign):
                self.log.append((index, run.t, run.x.copy(), run.K[0, nq : nq + nk].copy()))
                here.append(index)
        return here
