"""Which joints stay as they are while others are moved: all that share no loop with one of these.

Two joints share a loop if a closed walk over bodies, which passes each of them once, goes through both. Such classes of joints
are those of the fundamental cycles of a spanning tree that share a joint. A coupling joins the classes of its two joints. Bodies
between which all joints stay move as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .joint import Drive, follows_time
from .small_vectors import apply, dot, minus, transposed

GROUND = -1
SECOND = "[second]"  # names have no brackets
BESIDE = ("x", "y", "z", "turn 1", "turn 2", "turn 3")  # labels of rows


class Classes:
    """Sets of things that are joined pair by pair."""

    def __init__(self):
        self._above = {}

    def of(self, thing):
        """The one that stands for all of a thing's class."""
        while (above := self._above.get(thing, thing)) != thing:
            self._above[thing] = self._above.get(above, above)
            thing = above
        return thing

    def join(self, things: Iterable) -> None:
        """Make one class of those of all things."""
        first, *others = [self.of(thing) for thing in things]
        for other in others:
            self._above[other] = first


def bodies_of(m, part) -> list[int]:
    """Bodies whose places a joint or drive ties; the ground among them where it drives a point, or is the housing of a gear."""
    housing = part.kind == "gear" and f"{part.name}.ratio" in m.params if part.name in m.joints else part.of in m.points
    return [mark[0] for mark in part.marks] + [GROUND] * housing


def ends_of(m) -> dict[str, tuple[int, int]]:
    """Bodies between which joints and driven points are, by name; between three bodies there are two, of which one has a mark."""
    found = {}
    for part in (*m.joints.values(), *m.drives.values()):
        if part.level == "position" and (part.name in m.joints or part.of in m.points):
            *pair, last = dict.fromkeys(bodies_of(m, part))
            found[part.name] = (pair[0], last)
            if len(pair) == 2:
                found[part.name + SECOND] = (pair[1], last)
    return found


def loops(ends: dict[str, tuple[int, int]]) -> Iterator[list[str]]:
    """Joints of the fundamental cycles of a spanning tree of the bodies."""
    beside: dict[int, list[tuple[str, int]]] = {}
    for name, (a, b) in ends.items():
        beside.setdefault(a, []).append((name, b))
        beside.setdefault(b, []).append((name, a))
    above: dict[int, tuple[str | None, int]] = {}  # joint and body next to the root
    depth: dict[int, int] = {}
    for root in beside:
        if root in above:
            continue
        above[root], depth[root], todo = (None, root), 0, [root]
        for body in todo:
            for name, other in beside[body]:
                if other not in above:
                    above[other], depth[other] = (name, body), depth[body] + 1
                    todo.append(other)
    tree = {name for name, _ in above.values()}
    for name, (a, b) in ends.items():
        if name not in tree:
            found = [name]
            while a != b:
                if depth[a] < depth[b]:
                    a, b = b, a
                joint, a = above[a]
                found.append(joint)
            yield found


def together(m, moved: Iterable[str]) -> tuple[list[list[int]], set[str]]:
    """Bodies that move as one while these joints are moved, the ground first where it is among them; joints that are in no loop."""
    ends, alike = ends_of(m), Classes()
    for loop in loops(ends):
        alike.join(loop)
    for drive in m.drives.values():
        if drive.leader is not None:
            alike.join((drive.of, drive.leader))
    for name in ends:
        alike.join((name, name.removesuffix(SECOND)))
    moving = {alike.of(name) for name in moved}
    moving |= {alike.of(part.name) for part in (*m.joints.values(), *m.drives.values()) if part.name in ends and follows_time(part)}
    bodies, groups = Classes(), {}
    for name, pair in ends.items():
        if alike.of(name) not in moving:
            bodies.join(pair)
    for body in range(GROUND, len(m.bodies)):
        groups.setdefault(bodies.of(body), []).append(body)
    classes = [alike.of(name) for name in ends]
    free = {name for name in ends if classes.count(alike.of(name)) == 1}
    return [group for group in groups.values() if len(group) > 1], free


def held_together(m, k, q: np.ndarray, joints: list, moved: Iterable[str]) -> list:
    """Rows to close while joints are moved: of joints that may move, and of bodies that keep their places beside each other."""
    moved = list(moved)
    groups, free = together(m, moved)
    group_of = {body: i for i, group in enumerate(groups) for body in group}
    inside = lambda part: len({group_of.get(body, (body,)) for body in bodies_of(m, part)}) == 1
    names, kept = list(m.bodies), []
    for first, *others in groups:
        for body in others:
            name = f"{names[body]} beside what holds it"
            kept.append(Drive(name, name, ((first,), (body,)), beside_rows(k.kit, first, body, q), BESIDE[: k.kit.NV]))
            k.names[name] = ("q",)
    for name in moved:
        for what, (value, _) in m.joints[name].more.items() if name in free else ():  # one that turns does not slide
            kept.append(Drive(f"{name} {what}", name, m.joints[name].marks, still_rows(value, value(q, k.p)), (what,)))
            k.names[kept[-1].name] = ("q", "p")
    return [*(joint for joint in joints if not inside(joint)), *kept]


def still_rows(value, start: float):
    """Rows that vanish while a coordinate of a joint keeps its value."""
    return lambda q, p: (value(q, p) - start,)


def beside_rows(kit, one: int, other: int, q0: np.ndarray):
    """Rows that vanish while a body keeps its place and its turn beside another one."""
    place = lambda q: _beside(kit, one, other, q)
    offset, turned = place(q0)
    start = [float(value) for value in offset]

    def rows(q):
        offset, now = place(q)
        moved = [a - b for a, b in zip(offset, start, strict=True)]
        if len(moved) == 2:
            return (*moved, now - turned)
        # columns of the turn of the other body, as they were, along those that they are: the axes of two frames that coincide
        dots = lambda i, j: dot([row[i] for row in turned], [row[j] for row in now])
        return (*moved, dots(0, 1), dots(0, 2), dots(1, 2))

    return rows


def _beside(kit, one: int, other: int, q):
    """Where a body is along the axes of another one, and how it is turned against it: an angle, or a matrix by rows."""
    flat = kit.NV == 3
    if one < 0:
        centre = kit.centre(q, other)
        return centre, kit.body_angle(q, other) if flat else kit.rotation(q, other)
    back = transposed(kit.rotation(q, one))
    offset = apply(back, minus(kit.centre(q, other), kit.centre(q, one)))
    if flat:
        return offset, kit.body_angle(q, other) - kit.body_angle(q, one)
    columns = [apply(back, column) for column in transposed(kit.rotation(q, other))]
    return offset, transposed(columns)
