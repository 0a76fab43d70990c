"""Elements between many bodies, drawn as one whose numbers are arrays.

The methods of `Mechanism` that draw a joint or a spring draw it on a `Draft` here; what they make has arrays in the place of
numbers, and stands for all elements of a series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import floats
from .force_methods import ForceMethods
from .joint import Joint
from .joint_methods import JointMethods
from .named_parts import NamedParts
from .parameters import Columns, number
from .series import Bodies, DrawnParts, ElementSeries, Ends, PartRow

HERE = "[]"  # stands for the number in names of a series; parts have no brackets in theirs


class Draft(NamedParts, JointMethods, ForceMethods):
    """A sheet on which one element is drawn whose numbers are arrays: the series of all of them."""

    def __init__(self, m, name: str, count: int, first: int, suffix: str = ""):
        self.m, self.stem, self.count, self.number, self.suffix = m, f"{name} ", count, first, suffix
        self.dimension, self.kit, self.points, self.ground = m.dimension, m.kit, m.points, m.ground
        self.name = f"{name} {HERE}{suffix}"
        self.joints, self.forces, self.bodies, self.states = {}, {}, m.bodies, m.states
        self.codes: dict[str, np.ndarray] = {}
        self.params: Any = DraftNumbers(self)

    def _new(self, name: str, what: str) -> None:
        pass  # its names were looked at

    def _changed(self) -> None:
        pass

    def _which(self, name: str, wrong) -> str:
        return self.name.replace(HERE, str(self.number + int(np.flatnonzero(wrong)[0])))

    def _unknown(self, name, what: str, known=None) -> BadArgument:
        return self.m._unknown(name, what, known)

    def _body(self, given) -> Any:
        return given if isinstance(given, Ends) else self.m._body(given)

    def _joint(self, given, role: str, coordinate: str | None = None) -> Any:
        if isinstance(given, Joint) and HERE in given.name:
            return self._that_moves(given, role, coordinate)
        return self.m._joint(given, role, coordinate)

    def _mark(self, body, keys, direction=None) -> tuple:
        if not isinstance(body, Ends):
            return self.m._mark(body, keys, direction)
        return (body.index, tuple(keys), body.origin, body.rotation, direction)

    def _one_place(self, given, what: str):
        """A place of each element: columns."""
        points = points_of(self.m, what, given)
        if len(points) not in (1, self.count):
            raise BadArgument(f"{what} has {len(points)} points for {self.count} elements. Give one for each.")
        return tuple(np.broadcast_to(points[:, i], self.count) for i in range(self.dimension))

    def _is_pair(self, at) -> bool:
        return isinstance(at, tuple | list) and len(at) == 2 and np.ndim(at[0]) > 0

    def _two_places(self, name: str, at):
        if not self._is_pair(at):
            raise BadArgument(
                f"{self.stem.strip()!r} needs two rows of points: at=(points on the first bodies, points on the second)."
            )
        return tuple(self._one_place(end, f"at of {self.stem.strip()!r}") for end in at)

    def _places(self, name: str, at):
        if isinstance(at, tuple) and len(at) == 2 and all(isinstance(end, tuple) for end in at):
            return tuple(self.params.add_point(f"{name}.{side}", end) for side, end in zip(("first", "second"), at, strict=True))
        if isinstance(at, tuple) and isinstance(at[0], np.ndarray) and at[0].ndim == 1 and len(at) == self.dimension:
            points = at  # centres of the second bodies, where a weld is
        elif np.ndim(at) == 3:
            return self._places(name, self._two_places(name, at))
        else:
            points = self._one_place(at, f"at of {self.stem.strip()!r}")
        keys = self.params.add_point(name, points)
        return keys, keys

    def _drawn(self, end, name):
        return end

    def _framed(self, end):
        return None

    def _apart(self, ends, name: str) -> np.ndarray:
        return np.linalg.norm(np.stack([b - a for a, b in zip(*ends, strict=True)]), axis=0)

    def _value_as_drawn(self, joint: Joint) -> Any:
        numbers = {key: self.m.params.by_code(codes) for key, codes in self.codes.items()}
        value = joint.value(self.m._drawn_position(), _Either(numbers, self.m.params))
        return np.broadcast_to(value, self.count)

    def _centre(self, joint: Joint, wanted) -> Any:
        return wanted if self.dimension == 3 and joint.coordinate == "angle" else None

    def _enter(self, force):
        self.forces[force.name] = force
        return force

    def entered(self, what: str) -> PartRow:
        """The series that was drawn, entered into its mechanism."""
        m = self.m
        parts = m.joints if what == "joint" else m.forces
        (whole,) = (self.joints if what == "joint" else self.forces).values()
        columns = self.params.columns()
        if columns is not None:
            m.params.add_columns(columns)
            self.codes |= {f"{self.stem}{HERE}{suffix}": columns.codes(suffix) for suffix in columns.values}
        series = ElementSeries(self.stem, self.number, self.count, whole, self.codes, m, self.suffix)
        parts.add(series)
        m._changed()
        return PartRow(series)


class _Either:
    """Numbers of a series, and of its mechanism."""

    def __init__(self, own, others):
        self._own, self._others = own, others

    def __getitem__(self, name: str):
        return self._own[name] if name in self._own else self._others[name]


class DraftNumbers:
    """Numbers of the elements of a series, column by column."""

    def __init__(self, draft: Draft):
        self._draft = draft
        self._values: dict[str, np.ndarray] = {}
        self._checks: dict[str, Any] = {}
        self._built_in: set[str] = set()

    def add(self, name: str, value, check=None) -> str:
        d = self._draft
        suffix = name.removeprefix(f"{d.stem}{HERE}")
        self._values[suffix] = np.array(np.broadcast_to(column(f"{name!r}", value, d.count, check, d.number), d.count))
        if check is not None:
            self._checks[suffix] = check
        return name

    def add_point(self, name: str, values) -> tuple[str, ...]:
        return tuple(self.add(f"{name}.{axis}", value) for axis, value in zip("xyz", values, strict=False))

    def build_in(self, *names: str) -> None:
        self._built_in.update(name.removeprefix(f"{self._draft.stem}{HERE}") for name in names)

    def __getitem__(self, name: str):
        suffix = name.removeprefix(f"{self._draft.stem}{HERE}")
        return self._values[suffix] if suffix in self._values else self._draft.m.params[name]

    def columns(self) -> Columns | None:
        """As the mechanism keeps them."""
        d = self._draft
        return Columns(d.stem, d.number, self._values, self._checks, self._built_in) if self._values else None


def draw_elements(m, method: str, name: str, ends: tuple, how: dict[str, Any], first: int = 0) -> PartRow:
    """Draw an element for each of some bodies."""
    what = "joint" if method in vars(JointMethods) else "force"
    many = [end for end in ends if isinstance(end, Bodies)]
    count = how_many(name, *many)
    if any(end.mechanism is not m for end in many):
        raise BadArgument(f"{what} {name!r}: its bodies belong to another mechanism.")
    new_stem(m, name, what, first, count)
    draft, drawn = Draft(m, name, count, first), []
    for end, word in zip(ends, ("first", "second"), strict=True):
        if not isinstance(end, Bodies):
            drawn.append(m._body(end))
            continue
        drawn.append(Ends(end if len(end) == count else end[np.zeros(count, dtype=np.int64)], f"{word}{HERE}"))
        draft.codes |= drawn[-1].codes
    same = np.broadcast_to(np.equal(drawn[0].index, drawn[1].index), count)
    if same.any():
        k = int(np.flatnonzero(same)[0])
        body = drawn[0].part(k) if isinstance(drawn[0], Ends) else drawn[0]
        raise BadArgument(f"{what} '{name} {first + k}' joins body {body.name!r} with itself. Name two bodies, or m.ground.")
    try:
        getattr(draft, method)(draft.name, *drawn, **how)
    except BadArgument as problem:  # it knows no number
        raise type(problem)(str(problem).replace(f" {HERE}", "")) from None
    return draft.entered(what)


def springs_on(m, joints: PartRow, how: dict[str, Any]) -> PartRow:
    """Add a torsion spring to each of some joints in a row."""
    series, which = joints.series, joints.numbers
    if series.mechanism is not m or not isinstance(series.whole, Joint):
        raise BadArgument("springs on joints need joints of this mechanism.")
    if not len(which) or np.any(np.diff(which) != 1):
        raise BadArgument(
            f"joints of {series.stem.strip()!r} are taken as they stand in their row: all, or a slice such as pins[2:9]."
        )
    name, suffix, first = series.stem[:-1], " spring", series.first + int(which[0])
    new_stem(m, name, "force", first, len(which), suffix, known=True)
    draft = Draft(m, name, len(which), first, suffix)
    whole, draft.codes = series.some(which)
    try:
        draft.torsion_spring(whole, **how)
    except BadArgument as problem:  # it knows no number
        raise type(problem)(str(problem).replace(f" {HERE}", "")) from None
    return draft.entered("force")


def new_stem(m, name: str, what: str, first: int, count: int, suffix: str = "", known: bool = False) -> str:
    """What names of a new series begin with; refuse a name that is used already, `known`: but for the stem itself."""
    if not known:
        m._new(name, what)
    stem = f"{name} "
    for kind, parts in m._kinds().items():
        for series in parts.series if isinstance(parts, DrawnParts) else ():
            last = min(first + count, series.first + series.count)
            if series.stem == stem and series.suffix == suffix and max(first, series.first) < last:
                taken = f"{stem}{max(first, series.first)}{suffix}"
                raise BadArgument(f"the name {taken!r} is used twice: there is a {kind} {taken!r} already.")
        for own in parts.alone if isinstance(parts, DrawnParts) else parts:
            if own.startswith(stem) and own.endswith(suffix):
                inside = own[len(stem) : len(own) - len(suffix)]
                if inside.isascii() and inside.isdigit() and first <= int(inside) < first + count and str(int(inside)) == inside:
                    raise BadArgument(f"the name {own!r} is used twice: there is a {kind} {own!r} already.")
    return stem


def points_of(m, what: str, given) -> np.ndarray:
    """Points in the drawing, one to a row."""
    try:
        found = floats(given)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"{what}: points stand in an array, one to a row, got {given!r}.") from None
    if found.ndim == 1 and len(found) == m.dimension:
        found = found[None, :]
    if found.ndim != 2 or found.shape[1] != m.dimension:
        raise BadArgument(
            f"{what}: an array of shape {found.shape}; points of {m.dimension} numbers stand in one of (n, {m.dimension})."
        )
    if not np.all(np.isfinite(found)):
        k = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise BadArgument(f"{what}: point {k} is not finite, {tuple(found[k].tolist())}.")
    return found


def how_many(name: str, *given) -> int:
    """How many parts; one of something is for all."""
    counts = sorted({len(each) for each in given})
    if counts and counts[0] == 0:
        raise BadArgument(f"{name!r}: there are none. Give at least one.")
    more = [count for count in counts if count > 1]
    if len(more) > 1:
        raise BadArgument(f"{name!r}: {more[0]} of one and {more[1]} of the other. Give as many of both.")
    return more[0] if more else 1


def column(what: str, given, n: int, check=None, first: int = 0) -> np.ndarray:
    """A number for each of n parts; one is for all."""
    all_of_them = what.replace(f" {HERE}", "")
    if np.ndim(given) == 0:
        found = np.full(n, number(all_of_them, given))
    else:
        try:
            found = floats(given)
        except (TypeError, ValueError, OverflowError):
            raise BadArgument(f"{all_of_them}: a number, or an array of {n}, got {given!r}.") from None
        if found.shape != (n,):
            raise BadArgument(f"{all_of_them}: an array of shape {found.shape} for {n} parts. Give one number for each.")
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise BadArgument(f"{what.replace(HERE, str(first + int(wrong[0])))} must be finite, got {found[wrong[0]]}.")
    if check is not None:
        worst = int(np.argmin(found))  # checks are bounds from below
        check(what.replace(HERE, str(first + worst)), float(found[worst]))
    return found
