"""Members side by side: what each lane of a vector does, in the words of one member.

The whole life of a member is here as in `batch`: it begins, takes its steps, and leaves its results; then the lane takes the next
one that waits. All lanes try one step in a turn, whatever stage of its run each has come to. A member that needs anything unusual
leaves with the status that says so, and is run again by `batch`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import MORE, OK
from ..kernels.evaluate import evaluate_carefully
from .automatic_looks import GLANCE, hands_over, next_look, turned_stiff
from .batch import HALTED, HANDED_OVER, note, note_events
from .begin import begin
from .drive import drive

BEGINS = -1  # what a lane does next with its member, in the place of a status


class Waiting(NamedTuple):
    """Members that are to run."""

    place: Any  # how many of them have been taken
    members: Any  # their numbers
    data: Any  # (member, entry)
    x: Any  # (member, unknown)
    reals: Any  # memory of a run as every member begins with it
    wholes: Any


def look_carefully(model, run, t, x, K, row, W):
    """Where the unrolled solve is not simply to be trusted: one function for all rows of K. It is printed only."""
    return evaluate_carefully(model, run, t, x, K[row : row + 1], 0, W)


def next_of(place, members):
    """The number of the next member that waits; -1: there is none. Printers write it."""
    raise NotImplementedError


def lane():
    """The number of the lane. Printers write it."""
    raise NotImplementedError


def run_lanes(slots, model, method, run, loop, record, events, looks, halt, stops, run_reals, run_wholes, waiting, results):
    """Run members that wait, until none is left or halt[0] is set."""
    size, data, x, K = model.size, model.data, loop.state.x, loop.state.K
    m = next_of(waiting.place, waiting.members)
    status, ahead = BEGINS, 0
    while m >= 0:
        # the arrays of `record` by the names that a printer gives them: rows of this member
        record_t = results.t[lane()]  # noqa: F841
        record_x = results.x[m]  # noqa: F841
        record_k = results.k[m]  # noqa: F841
        if status == BEGINS:
            for i in range(data.shape[0]):
                data[i] = waiting.data[m, i]
            for i in range(size.nx):
                x[i] = waiting.x[m, i]
            for i in range(run_reals.shape[0]):
                run_reals[i] = waiting.reals[i]
            for i in range(run_wholes.shape[0]):
                run_wholes[i] = waiting.wholes[i]
            for row in range(1, K.shape[0]):
                for i in range(K.shape[1]):
                    K[row, i] = 0.0
            status = begin(model, run, loop, record)
            run.t_stop = stops[0]
            if run.fixed != 0:
                run.t_base = run.t
                run.step_number = 0
            if looks.wanted:
                ahead = looks.steps[m]
            if status == OK:
                status = MORE
        if status == MORE:
            run.quota = 1
            status = drive(slots, model, method, run, loop, record, events)
            if looks.wanted and status == MORE:
                ahead -= 1
                if ahead <= 0:
                    if hands_over(looks, m, stops[0], 0.0, 0, model, run, loop):
                        status = HANDED_OVER
                    else:
                        looks.steps[m] = next_look(looks.why, looks.steps[m])
                        ahead = looks.steps[m]
                elif ahead % GLANCE == 0 and turned_stiff(stops[0], run):
                    status = HANDED_OVER
            if halt[0] != 0 and status == MORE:
                status = HALTED
        if status != MORE:
            results.status[m] = status
            results.reached[m] = run.t
            results.steps[m] = run.accepted + run.rejected
            results.rows[m] = run.rows
            note(m, run, K, results.notes, size.nq + size.nv)
            note_events(m, events.values, 0, results.notes)
            status = BEGINS
            m = next_of(waiting.place, waiting.members)
