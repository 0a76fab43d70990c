"""What members did where methods were left open, and the warnings about them, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .. import errors
from ..model.warned import warn
from ..planning.plan import Plan
from .job import Job
from .open import ASIDE, STIFF, USUAL

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
