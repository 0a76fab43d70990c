"""Whether two calls ask for the same numbers: what they follow from, hashed part by part, and words for what differs.

Stores of sweeps and checkpoints of runs are gone on with only where nothing differs. What cannot be compared does not count as
equal.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ..errors import BadArgument

WORDS = {
    "version": "another version of holonomic", "kernels": "other kernels of holonomic", "members": "another number of members",
    "chunk": "chunks of another size", "system": "another system: its equations or numbers differ",
    "methods": "other methods, tolerances or limits", "times": "other times to save", "starts": "other starts",
    "inputs": "other inputs", "outputs": "other outputs", "events": "other events",
}  # fmt: skip


OPAQUE = "opaque "  # how systems with opaque functions begin


def differences(stored: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Say in words what is different between what a file was made with and what is asked for now."""
    found = []
    for key, value in ours.items():
        if key == "system" and value.startswith(OPAQUE):  # equal or not: what it stands on may have changed
            name = value.removeprefix(OPAQUE).rpartition(" ")[0]
            found.append(f"opaque {name!r}, of which nobody can tell whether it is the same function")
            continue
        if stored.get(key) == value:
            continue
        if key == "params":
            names = [name for name in {*value, *stored.get(key, {})} if stored.get(key, {}).get(name) != value.get(name)]
            found.append(f"other values of {', '.join(sorted(names))}")
        elif key in ("version", "members", "format"):
            word = WORDS.get(key, "another format")
            found.append(f"{word} ({stored.get(key)} there, {value} here)")
        else:
            found.append(WORDS[key])
    return found


def refuse_other(what: str, stored: dict[str, Any], ours: dict[str, Any], another: str) -> None:
    """Refuse to go on with a file that was made with something else; `what` names it, `another` is what to take instead."""
    if stored.get("format", 0) > ours["format"]:
        raise BadArgument(
            f"{what} was written by a newer holonomic (format {stored['format']}, known up to {ours['format']}). Update holonomic "
            "to go on with it."
        )
    found = differences(stored, ours)
    if found:
        raise BadArgument(
            f"{what} cannot be resumed: it was made with {'; '.join(found)}. Repeat the call it was made with, or take {another}."
        )
    event = _untold(stored, ours)
    if event is not None:
        raise BadArgument(
            f"{what} cannot be resumed: whether then= of event {event[0]!r} is what it was cannot be told ({event[1]}). Take "
            f"{another}; one whose then= is a function of numbers and arrays can be resumed."
        )


def of_equations(outside: str | None, *things) -> str:
    """What equations are, hashed; behind the name of an opaque function, where there is one."""
    return f"{'' if outside is None else OPAQUE + outside + ' '}{hashed(*things)}"


def of_events(plan) -> dict[str, dict[str, str | None]]:
    """Direction of every event and what it does; of a `then` that cannot be compared, why not."""
    found = {}
    for name, event in plan.events.items():
        text, why = plan.model.map_text(event.then, f"then of event {name!r}") if event.then is not None else ("", "")
        found[name] = {"does": None if text is None else hashed(event.sign, event.stops, text), "why": why}
    return found


def _untold(stored: dict[str, Any], ours: dict[str, Any]) -> tuple[str, str] | None:
    """Return an event whose `then` cannot be compared, and why, if there is one: it must not count as equal."""
    for events in (ours["events"], stored.get("events", {})):
        for name, event in events.items():
            if isinstance(event, dict) and event["does"] is None:
                return name, event["why"]
    return None


def hashed(*things) -> str:
    """Return a short hash of arrays, and of things whose repr says all about them."""
    digest = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            digest.update(f"{thing.dtype.str}{thing.shape}".encode())
            digest.update(np.ascontiguousarray(thing).tobytes())
        else:
            digest.update(thing if isinstance(thing, bytes) else repr(thing).encode() + b"\0")
    return digest.hexdigest()[:32]
