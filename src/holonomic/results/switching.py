"""The switches of a run: when its functions decided otherwise, and in which mode each of its steps was taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..loop.sides import ALONG, CODES, TO_SLEEP
from .naming import unknown
from .trail import remembered

LISTED = 3  # in a report


@dataclass(frozen=True)
class SwitchLog:
    """When one comparison of a system's functions changed."""

    role: str  #: the function it is in, such as "force()"
    line: int  #: the line of source it stands in
    text: str  #: that line, or the comparison
    t: np.ndarray  #: times at which it changed, s
    true: np.ndarray  #: whether it holds from there on
    along: np.ndarray  #: times from which the motion went along it, until it changed, s

    def __len__(self) -> int:
        return len(self.t)


class SwitchLogs(dict):
    """When each comparison changed, by name; asked for another name, it lists those it has."""

    def __getitem__(self, name: str) -> SwitchLog:
        if not isinstance(name, str) or name not in self:
            raise unknown(name, "switch", {"switches": list(self)} if self else {})
        return super().__getitem__(name)


@remembered("switches")
def switch_logs(sol) -> SwitchLogs:
    """When each comparison changed, by name; one that only counts or no longer counts has not changed."""
    logs = SwitchLogs()
    if sol.trail.modes is None:
        return logs
    plan = sol.plan
    for j, switch in enumerate(plan.switches):
        if switch.equality:  # those of its function say when the motion goes along it
            continue
        if switch.sleeps and not any(CODES * j <= row[0] - plan.n_watched < CODES * (j + 1) for row in sol.trail.events):
            continue
        changes = [row for row in sol.trail.events if row[0] - plan.n_watched in (CODES * j, CODES * j + 1)]
        times, true = [row[1] for row in changes], [(row[0] - plan.n_watched) % CODES == 1 for row in changes]
        along = [row[1] for row in sol.trail.events if row[0] - plan.n_watched == CODES * j + ALONG]
        name, copies = str(switch), 1
        while name in logs:
            copies += 1
            name = f"{switch} ({copies})"
        when, true, along = (np.array(given, dtype=kind) for given, kind in ((times, float), (true, bool), (along, float)))
        logs[name] = SwitchLog(switch.role, switch.line, switch.text, when, true, along)
    return logs


def in_words(switches: SwitchLogs) -> dict[str, dict]:
    """The same as numbers and texts, as a file keeps it."""
    return {
        name: {"role": log.role, "line": log.line, "text": log.text}
        | {part: getattr(log, part).tolist() for part in ("t", "true", "along")}
        for name, log in switches.items()
    }


def out_of_words(kept: dict[str, dict]) -> SwitchLogs:
    """Return what `in_words` was given."""
    logs = SwitchLogs()
    for name, log in kept.items():
        t, true, along = np.array(log["t"], float), np.array(log["true"], bool), np.array(log["along"], float)
        logs[name] = SwitchLog(log["role"], log["line"], log["text"], t, true, along)
    return logs


def told(switches: dict[str, SwitchLog]) -> str:
    """How many changes there were, and where most of them."""
    logs = {name: len(log) for name, log in switches.items() if len(log)}
    most = sorted(logs, key=lambda name: -logs[name])
    listed = ", ".join(f"{logs[name]} at {name}" for name in most[:LISTED])
    return f"{sum(logs.values())}" + (f": {listed}" if listed else "") + (", ..." if len(most) > LISTED else "")


@remembered("modes")
def mode_history(sol) -> tuple[np.ndarray, np.ndarray]:
    """Times from which on modes hold, and these, (time, switch); the first ones hold from the start."""
    if sol.trail.parent is not None:
        return mode_history(sol.trail.parent)
    n_watched, modes, start = sol.plan.n_watched, sol.trail.modes.copy(), sol.trail.first[0]
    times, found = [start], [modes.copy()]
    forward = 1.0 if sol.trail.final[0] >= start else -1.0
    for code, t, *_ in sol.trail.events:
        if code >= n_watched and (t - start) * forward >= 0.0:  # what another method did before stands there, too
            j, how = divmod(code - n_watched, CODES)
            modes[j] = np.nan if how == ALONG else 0.0 if how == TO_SLEEP else np.inf if how % 2 else -np.inf
            if t != times[-1]:
                times.append(t)
                found.append(modes)
            found[-1] = modes.copy()
    return np.array(times), np.array(found)
