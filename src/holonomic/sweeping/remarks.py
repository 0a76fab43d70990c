"""Warnings about members that reached their end, and what members did where methods were left open, in words.

Stiffness met by an explicit method, singular positions near by, fixed steps that blew up, invariants that changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .. import errors
from ..errors import (
    DONE,
    EVENT,
    TOO_MANY_STEPS,
    EventWarning,
    InvariantWarning,
    NearSingularWarning,
    RoundingWarning,
    StiffnessWarning,
    UnstableWarning,
)
from ..loop.batch import AT_LEAST, LEAST, LEFT_AT, LEFT_EVENT, MOST_RATIO, NOTED, STEP_LEAST, STIFF_SINCE, UNKNOWN
from ..model.refusals import warn
from ..planning.plan import Plan
from ..planning.words import reason
from ..running.failure import BOUND, below_rounding, burst, stiff_since
from ..running.near_singular import WORTH_A_LOOK, near_singular
from ..running.watching import not_followed
from ..starting.invariance import was_kept
from .checks import changed_at_end
from .job import Chunk, Job
from .members import Members
from .open import ASIDE, STIFF, USUAL
from .program import Program

REACHED = (DONE, EVENT)
FEW = 8  # members of a stretch that are looked into; each takes milliseconds


def tell(job: Job, program: Program, members: Members, noted: np.ndarray, ran: np.ndarray, chunk: Chunk) -> None:
    """Enter notes on the members of a chunk, and why some failed, from what the loop has written down."""
    if job.open is None:  # otherwise stiff members are handed over
        for m in ran[~np.isnan(noted[ran, STIFF_SINCE])].tolist():
            since = noted[m, STIFF_SINCE]
            if chunk.status[m] in REACHED:
                _note(chunk, chunk.first + m, StiffnessWarning, stiff_since(since, program.integrator_name))
            elif chunk.status[m] == TOO_MANY_STEPS:
                chunk.why[chunk.first + m] = USED_UP.format(job.limits["max_steps"], since, program.integrator_name)
    for m in ran[np.isfinite(noted[ran, UNKNOWN]) & np.isin(chunk.status[ran], REACHED)].tolist():
        _note(chunk, chunk.first + m, RoundingWarning, below_rounding(float(noted[m, UNKNOWN]), program.rtol))
    for m in ran[np.isfinite(noted[ran, LEFT_AT])].tolist() if program.events else ():
        if chunk.status[m] in REACHED:
            name = list(program.events)[int(noted[m, LEFT_EVENT])]
            _note(chunk, chunk.first + m, EventWarning, not_followed(f"event {name!r}", float(noted[m, LEFT_AT])))
    _tell_ends(job, program, members, ran[np.isin(chunk.status[ran], REACHED)], chunk)
    if noted.shape[1] == NOTED:
        look_closer(job, chunk)
        return
    size = program.model.nq + program.model.nv
    near = (noted[ran, STEP_LEAST] != 0.0) & (noted[ran, LEAST] < WORTH_A_LOOK * noted[ran, MOST_RATIO])
    for m in ran[near].tolist():
        x, slope = noted[m, NOTED : NOTED + size].copy(), noted[m, NOTED + size :].copy()
        place = float(noted[m, AT_LEAST]), abs(float(noted[m, STEP_LEAST])), x, slope
        share = float(noted[m, LEAST] / noted[m, MOST_RATIO])
        chunk.near[chunk.first + m] = share, place, members.starts[m].copy(), members.data[m].copy()
    look_closer(job, chunk)


def _tell_ends(job: Job, program: Program, members: Members, ended: np.ndarray, chunk: Chunk) -> None:
    """Look at the last saved states of members that reached their end: did a fixed step blow up, were invariants changed?"""
    ended = ended[chunk.rows[ended] > 0]
    if not len(ended) or not (job.memory.fixed or (program.keeps and job.initial != "free")):
        return
    size = program.model.nq + program.model.nv
    rows = chunk.rows[ended] - 1
    X, times = chunk.x[ended, rows, :size], job.save_t[rows]
    if job.memory.fixed:
        first, last = (np.abs(x).max(axis=1, initial=0.0) for x in (members.starts[ended, :size], X))
        for i in np.flatnonzero(last > BOUND * (1.0 + first)):
            chunk.grown[chunk.first + int(ended[i])] = float(first[i]), float(last[i])
    if program.keeps and job.initial != "free":
        found, rates = changed_at_end(program, members, ended, times, X)
        for i in np.flatnonzero(found >= 0):
            text = was_kept(program.model.invariant_labels[found[i]], float(rates[i]), float(times[i]))
            _note(chunk, chunk.first + int(ended[i]), InvariantWarning, text)


def look_closer(job: Job, chunk: Chunk) -> None:
    """Tell which members went by a singular position without a passage over it, where the user's functions are at hand."""
    if job.program.plan is None:
        return
    for number, (first, last) in chunk.grown.items():
        _note(chunk, number, UnstableWarning, burst(job.plan, first, last, job.memory.h_fixed))
    chunk.grown = {}
    found = 0
    for i, (number, (share, place, start, data)) in enumerate(sorted(chunk.near.items())):
        if i < FEW:
            text = near_singular(job.plan, (job.t0, start), place, data)
            found += text is not None
        else:  # where those that were looked into passed none, small pivots have other reasons
            text = LIKELY.format(place[0], share) if found else None
        status = int(chunk.status[number - chunk.first])
        if text is not None and status in REACHED:
            _note(chunk, number, NearSingularWarning, text)
        elif text is not None:
            chunk.why[number] = f"{reason(status)}; {text}"
    chunk.near = {}


def _note(chunk: Chunk, number: int, kind: type, text: str) -> None:
    chunk.notes.setdefault(number, []).append((kind.__name__, text))


USED_UP = (
    "max_steps = {} steps were used up: the step is limited by stability, not accuracy, since t = {:.4g}, the problem is stiff "
    "for {}. Leave integrator= open, or use Radau()."
)
LIKELY = (
    "the run may have gone by a singular position near t = {:.6g}, as others of this sweep did: its pivot ratio fell to {:.1e} "
    "of the largest. It was not looked into; simulate() tells more."
)


# warnings by the names under which chunks carry them
KINDS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, UserWarning)}
AT_START = {STIFF: "the start is stiff"}


@dataclass(frozen=True)
class MemberChange:
    """One change of methods of one member: when (s), to what, and why."""

    member: int
    t: float
    to: str
    why: str


@dataclass(frozen=True)
class Note:
    """A warning about one member that reached its end."""

    member: int
    kind: str  # of warning, as `simulate` gives it
    text: str


def changes(job: Job, found: dict[int, list]) -> list[MemberChange]:
    """All changes on the way, in order of members."""
    return [MemberChange(m, float(t), to, why) for m, each in sorted(found.items()) for t, to, why in each if t != job.t0]


def notes(found: dict[int, list]) -> list[Note]:
    """All notes, in order of members."""
    return [Note(m, kind, text) for m, each in sorted(found.items()) for kind, text in each]


def begun(job: Job, way: np.ndarray, found: dict[int, list], ran: np.ndarray) -> Counter[tuple[str, str]]:
    """How many members began with which methods, and why not with the usual ones."""
    count: Counter[tuple[str, str]] = Counter()
    if job.open is None:
        return Counter({(repr(job.plan), ""): int(ran.sum())})
    own = {m: (each[0][1], each[0][2]) for m, each in found.items() if each[0][0] == job.t0}
    for number in np.unique(way[ran]).tolist():
        members = np.flatnonzero(ran & (way == number))
        apart = [own[m] for m in members.tolist() if m in own]
        count.update(apart)
        made = job.open.way(job, number) if number != ASIDE else None
        words = repr(job.plan if made is None else made.program.plan or job.plan)
        why = "" if number == USUAL else AT_START.get(number, "the run is short")
        count[words, why] += len(members) - len(apart)
    return +count


def plan_of_most(job: Job, count: Counter[tuple[str, str]]) -> Plan:
    """The plan that most members began with."""
    if job.open is None or not count:
        return job.plan
    return job.open.plan_like(job, count.most_common(1)[0][0][0]) or job.plan


def lines(job: Job, count: Counter[tuple[str, str]], changed: list[MemberChange]) -> list[str]:
    """Lines for `runs.plan.why()`: with what members began, and which changed on the way."""
    if job.open is None:
        return []
    parts = [f"{n} begin with {what}{f', because {why}' if why else ''}" for (what, why), n in count.most_common()]
    found = [f"members: {'; '.join(parts)}"]
    members = len({change.member for change in changed})
    if members:
        reasons = Counter(change.why for change in changed)
        one = changed[0]
        told = "; ".join(f"{n} times because {why}" for why, n in reasons.most_common())
        found.append(
            f"changes: {members} member{'s' * (members > 1)} changed methods on the way, {told}. Member {one.member}: at "
            f"t = {one.t:.6g} s to {one.to}. All: runs.changed"
        )
    return found


def warn_of(noted: list[Note], members: int) -> None:
    """Give one warning of each kind for all members that it is about."""
    for kind in dict.fromkeys(note.kind for note in noted):
        mine = [note for note in noted if note.kind == kind]
        more = "" if len(mine) == 1 else " See runs.noted for the others."
        text = f"{len(mine)} of {members} members. Member {mine[0].member}: {mine[0].text}{more}"
        warn(text, KINDS[kind])
