"""The one step loop: propose, attempt, judge, look inside, write.

The loop is resumable. All it knows lives in the memory of the run (see `memory`) and in the arrays
of the state, so it can return at any point between two steps or two rows and be called again; splitting a run
changes no bit of it. It returns

    DONE   the stop time is reached            EVENT  a terminal or mapping event is reached
    MORE   quota used up or buffer full        NEED_… a function has to be compiled first
    or the status it failed with
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.memory import PASSING, STEPPING, WATCHING
from ..native.marks import leaf
from .attempt import attempt, follow_path
from .judge import judge
from .look import look_inside
from .propose import propose
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
                outcome = attempt(slots, model, method, run, loop)
                status = judge(slots, model, method, run, loop, record.save_t, outcome)
                if status != OK:
                    return status
                if run.phase == STEPPING:
                    continue
        if run.phase == PASSING:
            status = follow_path(slots, model, run, loop)
            if status != OK:
                return status
            continue
        if run.phase == WATCHING:
            status = look_inside(slots, model, method, run, loop, events)
            if status != OK:
                return status
            if run.phase == STEPPING:
                continue
        status = write(slots, model, method, run, loop, record)
        if status != OK:
            return status
