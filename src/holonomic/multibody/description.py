"""What a mechanism is made of, in words: bodies, joints and forces by kind, freedom, and how it runs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ..errors import HolonomicError
from .lower import masses_of_bodies

SHOWN = 4  # names of a kind that are written out
AS_DRAWN = 1e-12  # m, or rad


def description(m, unrolled: int) -> str:
    """The text of `Mechanism.describe`; beyond `unrolled` bodies nothing is compiled."""
    kind = "planar" if m.dimension == 2 else "spatial"
    gravity = ", ".join(f"{m.params[key]:g}" for key in m._gravity)
    lines = [f"{kind} mechanism, gravity ({gravity}) m/s²"]
    if not m.bodies:
        return f"{lines[0]}\n  empty: m.body(...) adds the first body"
    lines.append(_line("bodies", len(m.bodies), _first(m.bodies), f"{masses_of_bodies(m).sum():.6g} kg in all"))
    for title, parts in (("joint", m.joints), ("force", m.forces)):
        for name, (count, first) in sorted(_by_kind(parts).items()):
            lines.append(_line(name if name == title else f"{name} {title}{'s' if count > 1 else ''}", count, first))
    for title, parts in (
        ("drives", m.drives), ("points", m.points), ("states", m.states), ("inputs", m.inputs), ("outputs", m.outputs),
    ):  # fmt: skip
        if parts:
            lines.append(_line(title, len(parts), _first(parts)))
    lines.append(_line("numbers", len(m.params), _first(m.params), "in m.params"))
    try:
        lines.append(f"  {'freedom':<20}{m.mobility()}")
        here = m.assembly
        drawn = max(here.moved, here.turned) <= AS_DRAWN and not here.gaps
        lines.append(f"  {'stands':<20}{'as it is drawn' if drawn else here}")
    except HolonomicError as problem:
        lines.append(f"  {'does not assemble':<20}{problem}")
    tiers = m.tiers()
    if len(m.bodies) > unrolled:
        runs = f"tables, as it has more than {unrolled} bodies: nothing is compiled for it"
    else:
        runs = "code, compiled for it" if tiers is None or not tiers.by_tables else "tables at first, code once that pays"
    lines.append(f"  {'runs as':<20}{runs}")
    return "\n".join(lines)


def _by_kind(parts) -> dict[str, tuple[int, list[str]]]:
    """How many parts of each kind there are, and the names of the first ones."""
    found: dict[str, tuple[int, list[str]]] = {}
    for each in parts.in_order:
        alone = isinstance(each, dict)
        for kind, count, names in ((part.kind, 1, [name]) for name, part in each.items()) if alone else [
            (each.whole.kind, each.count, _first(each.names.all()))
        ]:  # fmt: skip
            known, first = found.get(kind, (0, []))
            found[kind] = known + count, (first + names)[: SHOWN + 1]
    return found


def _first(names: Iterable[str]) -> list[str]:
    return list(islice(names, SHOWN + 1))


def _line(title: str, count: int, first: list[str], more: str = "") -> str:
    names = ", ".join(first[:SHOWN]) + (", ..." if count > SHOWN else "")
    return f"  {title:<20}{count}{f', {more}' if more else ''}: {names}"
