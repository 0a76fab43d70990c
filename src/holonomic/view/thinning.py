"""What is left out of a picture of very many bodies, so that it can be looked at: bodies themselves, forces, signals.

A page of 10 000 bodies in the plane has 120 kB a frame. Beyond, every so many bodies are drawn, with what joins two that are.
"""

from __future__ import annotations

from typing import Any

MANY = 1000  # bodies above which forces of joints and signals are drawn where they are asked for
MOST_BODIES = 10_000  # that are drawn


def thinned(what: dict[str, Any], notes: list[str]) -> tuple[dict[str, Any], list[int] | None]:
    """Return a description with at most `MOST_BODIES`, and the numbers of these; None: all are there."""
    count = len(what["bodies"])
    if count <= MOST_BODIES:
        return what, None
    every = -(-count // MOST_BODIES)
    kept = list(range(0, count, every))
    place = {old: new for new, old in enumerate(kept)} | {-1: -1}

    def joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = [part for part in parts if all(body in place for body in part["bodies"])]
        return [part | {"bodies": [place[body] for body in part["bodies"]]} for part in found]

    points = [point | {"body": place[point["body"]]} for point in what["points"] if point["body"] in place]
    notes.append(f"One body of {every} is drawn, {len(kept)} of {count}, with what joins two that are.")
    bodies = [what["bodies"][k] for k in kept]
    return what | {"bodies": bodies, "joints": joined(what["joints"]), "links": joined(what["links"]), "points": points}, kept
