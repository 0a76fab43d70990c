"""The one step loop: propose, attempt, judge, look inside, write; and where a step ends on a switch, change its mode.

The loop is resumable. All it knows lives in the memory of the run (see `memory`) and in the arrays
of the state, so it can return at any point between two steps or two rows and be called again; splitting a run
changes no bit of it. It returns

    DONE   the stop time is reached            EVENT  a terminal or mapping event is reached
    MORE   quota used up or buffer full        NEED_… a function has to be compiled first
    or the status it failed with
"""

from __future__ import annotations

from ..errors import EVENT, OK
from ..kernels.memory import JUDGING, PASSING, STEPPING, SWITCHING, WATCHING
from ..native.marks import leaf
from .ahead import end_at_change
from .attempt import attempt, follow_path
from .judge import go_on_judging, judge
from .look import look_inside
from .propose import propose
from .switches import change_modes, go_on_in_mode
from .write import write


@leaf
def drive(slots, model, method, run, loop, record, events):
    """Take steps until Python has to know of something."""
    while True:
        if run.phase == STEPPING:
            status = propose(slots, model, run, loop.state, record.save_t)
            if status != OK:
                return status
            if run.phase == STEPPING:
                if model.size.n_timed > 0:
                    end_at_change(model, run, loop, events)
                status = attempt(slots, model, method, run, loop)
                status = judge(slots, model, method, run, loop, record, events, status)
                if status != OK:
                    return status
                if run.phase == STEPPING:
                    continue
        if run.phase == JUDGING:
            run.phase = STEPPING
            status = go_on_judging(slots, model, method, run, loop, record, events)
            if status != OK:
                return status
            if run.phase == STEPPING:
                continue
        if run.phase == PASSING:
            status = follow_path(slots, model, run, loop)
            if status != OK:
                return status
            continue
        if model.size.n_switches > 0 and run.phase == SWITCHING:
            status = go_on_in_mode(model, run, loop, record, events)
            if status != OK:
                return status
            continue
        status = OK
        if run.phase == WATCHING:
            status = look_inside(slots, model, method, run, loop, events)
        if status == OK and run.phase != STEPPING:
            status = write(slots, model, method, run, loop, record)
        if model.size.n_switches > 0 and status == EVENT:
            status = change_modes(model, run, loop, events)
        if status != OK:
            return status
