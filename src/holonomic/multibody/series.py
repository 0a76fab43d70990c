"""Many parts alike, held as columns: a series of bodies, joints or forces, whose parts are made when somebody asks for one.

A series is drawn like one part whose numbers are arrays. Its joint is a `Joint` whose marks have arrays of body numbers, and
names of parameters such as "pin [].x" that stand for columns; the same functions that take one joint take all of it at once. Part
17 is made from it by taking number 17 of every array.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.made_functions import MadeFunction
from ..model.names_in_order import NamesInOrder, NumberedNames, numbers_in
from .body import Body
from .element_reader import is_mark
from .joint import Force, Joint
from .parameters import Columns
from .shapes import Shape


class Series:
    """What series have in common: names by number, and parts that are kept only while somebody has them.

    Parameters
    ----------
    stem : str
        What the names of its parts begin with.
    first : int
        The first number.
    count : int
        How many parts.
    suffix : str
        What their names end with.
    """

    def __init__(self, stem: str, first: int, count: int, suffix: str = ""):
        self.stem, self.first, self.count, self.suffix = stem, first, count, suffix
        self._made: Any = weakref.WeakValueDictionary()

    @property
    def names(self) -> NumberedNames:
        """Names of its parts."""
        return NumberedNames(self.stem, self.first, self.count, (self.suffix,))

    def part(self, which: int) -> Any:
        """One of its parts."""
        found = self._made.get(which)
        if found is None:
            found = self._made[which] = self._make(which)
        return found

    def _make(self, which: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what its parts are")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_made"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._made = weakref.WeakValueDictionary()


class BodySeries(Series):
    """Bodies alike.

    Parameters
    ----------
    mechanism : Mechanism
    start : int
        Number of the first among all bodies.
    columns : Columns
        Their numbers: mass, inertia, centre.
    rotation : array
        Drawn angles, or drawn axes as columns.
    size : array
        Largest distance of a shape from the centre.
    shapes : function
        Shapes of one of them.
    point_mass : bool
        Whether they have no inertia of their own.
    """

    def __init__(
        self, stem: str, mechanism, start: int, columns: Columns, rotation: np.ndarray, size: np.ndarray,
        shapes: Callable[[int], tuple[Shape, ...]], point_mass: bool,
    ):  # fmt: skip
        super().__init__(stem, columns.first, columns.count)
        self.mechanism, self.start, self.columns = mechanism, start, columns
        self.rotation, self.size, self.shapes, self.point_mass = rotation, size, shapes, point_mass
        self.axes = tuple("." + axis for axis in "xyz"[: mechanism.dimension])

    def _make(self, which: int) -> Body:
        name = self.names.name(which)
        rotation = float(self.rotation[which]) if self.rotation.ndim == 1 else self.rotation[which]
        return Body(
            name, self.start + which, self.mechanism, rotation, self.shapes(which), float(self.size[which]), self.point_mass,
            tuple(name + axis for axis in self.axes),
        )  # fmt: skip

    def inertias(self) -> tuple[str, ...]:
        """What follows "body.inertia" in the names of its inertias."""
        return tuple(suffix.removeprefix(".inertia") for suffix in self.columns.values if suffix.startswith(".inertia"))


class ElementSeries(Series):
    """Joints or forces alike.

    Parameters
    ----------
    whole : Joint or Force
        All of them: arrays in the place of numbers.
    codes : {str: array}
        Places of the parameters that `whole` names, see `Parameters.by_code`.
    mechanism : Mechanism
    """

    def __init__(
        self, stem: str, first: int, count: int, whole: Joint | Force, codes: Mapping[str, np.ndarray], mechanism, suffix: str = ""
    ):
        super().__init__(stem, first, count, suffix)
        self.whole, self.codes, self.mechanism = whole, dict(codes), mechanism

    @property
    def key(self) -> str:
        """A name that no part has."""
        return f"{self.stem}[{self.first}]{self.suffix}"

    def _make(self, which: int) -> Joint | Force:
        codes, params = self.codes, self.mechanism.params
        name_of = lambda text: params.name_at(int(codes[text][which])) if text in codes else text
        end = lambda body: body.part(which) if isinstance(body, Ends) else body
        return self._with(name_of, lambda array: array[which].item(), end, self.first + which)

    def some(self, which: np.ndarray) -> tuple[Any, dict[str, np.ndarray]]:
        """Some of them as one, and the places of their parameters."""
        taken: dict[int, np.ndarray] = {}  # an array that stands in many places stays one
        some = lambda array: taken.setdefault(id(array), array[which])
        end = lambda body: Ends(body.bodies[which], body.name) if isinstance(body, Ends) else body
        return self._with(lambda text: text, some, end), {key: codes[which] for key, codes in self.codes.items()}

    def _with(self, name_of, number_of, end, number: int | None = None) -> Any:
        own: dict[str, Any] = {}
        for key, value in vars(self.whole).items():
            if key in ("name", "on"):
                own[key] = value if value is None or number is None else value.replace("[]", str(number))
            elif key in ("first", "second"):
                own[key] = end(value)
            elif key in ("kind", "labels", "level", "coordinate"):
                own[key] = value
            else:
                own[key] = walked(value, name_of, None, number_of)
        return type(self.whole)(**own)

    def given(self) -> Mapping[str, Any]:
        """Parameters that `whole` names, as columns."""
        params = self.mechanism.params
        return _Given(params, {key: params.by_code(codes) for key, codes in self.codes.items()})


class _Given(Mapping):
    """Columns by the names that a series has for them, and all other parameters."""

    def __init__(self, params, columns: dict[str, np.ndarray]):
        self._params, self._columns = params, columns

    def __getitem__(self, name: str) -> Any:
        found = self._columns.get(name)
        return self._params[name] if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def walked(part: Any, name_of, mark_of, number_of) -> Any:
    """Functions made anew with other names, marks and numbers in the place of their arrays."""
    kind = type(part)
    if kind is str:
        return name_of(part)
    if kind is np.ndarray:
        return number_of(part)
    if kind is tuple and mark_of is not None and is_mark(part):
        return mark_of(part)
    if kind is tuple or kind is list:
        return kind(walked(each, name_of, mark_of, number_of) for each in part)
    if kind is dict:
        return {key: walked(each, name_of, mark_of, number_of) for key, each in part.items()}
    if kind is MadeFunction:
        made = part.maker(*(walked(each, name_of, mark_of, number_of) for each in part.args))
        for name, value in part.notes.items():
            setattr(made, name, value)
        return made
    return part


class Ends:
    """Bodies at one end of a series of elements, as a body whose numbers are arrays."""

    is_ground = False

    def __init__(self, bodies: Bodies, name: str):
        m = bodies.mechanism
        self.bodies, self.name, self.mechanism = bodies, name, m
        self.index = bodies.numbers
        codes, self.rotation = m.bodies.drawn(bodies.numbers)
        self.origin = tuple(f"{name}.{axis}" for axis in "xyz"[: m.dimension])
        self.codes = dict(zip(self.origin, codes, strict=True))

    @property
    def position(self) -> tuple[np.ndarray, ...]:
        """Centres of mass in the drawing."""
        return tuple(self.mechanism.params.by_code(codes) for codes in self.codes.values())

    def part(self, which: int) -> Body:
        """One of them."""
        return self.bodies[int(which)]


class DrawnParts(MutableMapping):
    """Bodies, joints or forces of a mechanism by name, in the order in which they were drawn: one by one, and series."""

    def __init__(self):
        self._own: dict[str, Any] = {}
        self._order: list[dict[str, Any] | Series] = []
        self.series: list[Any] = []  # the series among them

    @property
    def alone(self) -> dict[str, Any]:
        """Those that were drawn one by one."""
        return self._own

    @property
    def in_order(self) -> list[dict[str, Any] | Series]:
        """Series, and between them those that were drawn one by one."""
        return self._order

    def names(self) -> NamesInOrder | list[str]:
        """All names, in order."""
        if not self.series:
            return list(self._own)
        return NamesInOrder([each.names if isinstance(each, Series) else list(each) for each in self._order])

    def copy(self) -> DrawnParts:
        """The same parts, to which others may be added apart."""
        made = type(self)()
        made._own = dict(self._own)
        made._order = [each if isinstance(each, Series) else dict(each) for each in self._order]
        made.series = list(self.series)
        return made

    def add(self, series: Series) -> None:
        """Add a series behind all others."""
        self._order.append(series)
        self.series.append(series)

    def find(self, name: Any) -> tuple[Series, int] | None:
        """The series in which a name stands, and which of its parts that is."""
        if not self.series or not isinstance(name, str):
            return None
        for stem, number, suffix in numbers_in(name):
            for series in self.series:
                if series.stem == stem and series.suffix == suffix and 0 <= number - series.first < series.count:
                    return series, number - series.first
        return None

    def __getitem__(self, name: str) -> Any:
        found = self._own.get(name)
        if found is not None:
            return found
        place = self.find(name)
        if place is None:
            raise KeyError(name)
        return place[0].part(place[1])

    def __setitem__(self, name: str, part: Any) -> None:
        if name not in self._own:
            if not self._order or isinstance(self._order[-1], Series):
                self._order.append({})
            self._order[-1][name] = part  # pyright: ignore
        else:
            next(each for each in self._order if not isinstance(each, Series) and name in each)[name] = part
        self._own[name] = part

    def __delitem__(self, name: str) -> None:
        if name not in self._own:
            raise KeyError(name)
        del self._own[name]
        for each in self._order:
            if not isinstance(each, Series):
                each.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._own or (bool(self.series) and self.find(name) is not None)

    def __iter__(self) -> Iterator[str]:
        for each in self._order:
            yield from each.names.all() if isinstance(each, Series) else each

    def __len__(self) -> int:
        return len(self._own) + sum(each.count for each in self.series)

    def values(self):
        """All parts; those of series are made one after the other."""
        if not self.series:
            return self._own.values()
        return _Values(self)

    def but(self, series: Sequence[Series]) -> Iterator[Any]:
        """All parts but those of some series."""
        for each in self._order:
            if isinstance(each, Series):
                yield from () if each in series else map(each.part, range(each.count))
            else:
                yield from each.values()

    def items(self):
        """Names and parts."""
        return super().items() if self.series else self._own.items()

    def __repr__(self) -> str:
        shown = [repr(name) for name in self._own] + [f"{s.stem + str(s.first)!r} .. {s.count}" for s in self.series]
        return f"{{{', '.join(shown)}}}"


class _Values(Sequence):
    """Parts one after the other."""

    def __init__(self, parts: DrawnParts):
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Any]:
        for each in self._parts.in_order:
            if isinstance(each, Series):
                yield from map(each.part, range(each.count))
            else:
                yield from each.values()

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at]


class DrawnBodies(DrawnParts):
    """Bodies of a mechanism: by name, and as columns in the order of their numbers."""

    def __init__(self):
        super().__init__()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __setitem__(self, name: str, part: Any) -> None:
        self._count += name not in self._own
        super().__setitem__(name, part)

    def add(self, series: Series) -> None:
        super().add(series)
        self._count += series.count

    def copy(self) -> DrawnBodies:
        made: Any = super().copy()
        made._count = self._count
        return made

    def by_number(self, number: int) -> Body:
        """A body by its number."""
        at = 0
        for each in self._order:
            count = each.count if isinstance(each, Series) else len(each)
            if number < at + count:
                return each.part(number - at) if isinstance(each, Series) else list(each.values())[number - at]
            at += count
        raise IndexError(number)

    def columns(self, of_body: Callable[[Body], Any], of_series: Callable[[BodySeries], Any], kind: Any = float) -> np.ndarray:
        """Something of every body, in the order of their numbers."""
        found = [
            np.asarray(of_series(each)) if isinstance(each, BodySeries)
            else np.array([of_body(body) for body in each.values()], dtype=kind) for each in self._order
        ]  # fmt: skip
        found = [each for each in found if len(each)]
        return np.concatenate(found) if found else np.zeros(0, dtype=kind)

    def drawn(self, numbers: np.ndarray) -> tuple[list[np.ndarray], Any]:
        """Places of the centres of some bodies, coordinate by coordinate, and drawn rotations, as a mark has them."""
        bodies = self._order
        dimension = next(iter(self.values())).mechanism.dimension if not self.series else self.series[0].mechanism.dimension
        codes = np.empty((dimension, len(numbers)), dtype=np.int64)
        rotations = np.empty(len(numbers) if dimension == 2 else (len(numbers), 3, 3))
        at = 0
        for each in bodies:
            count = each.count if isinstance(each, Series) else len(each)
            here = np.flatnonzero((numbers >= at) & (numbers < at + count))
            if isinstance(each, BodySeries):
                for i, axis in enumerate(each.axes):
                    codes[i, here] = each.columns.codes(axis)[numbers[here] - at]
                rotations[here] = each.rotation[numbers[here] - at]
            elif len(here):
                own = list(each.values())
                places = {name: i for i, name in enumerate(own[0].mechanism.params.alone)}
                for k in here:
                    body = own[numbers[k] - at]
                    codes[:, k] = [~places[name] for name in body.origin]
                    rotations[k] = body.rotation
            at += count
        if dimension == 2:
            return list(codes), rotations
        return list(codes), tuple(tuple(np.ascontiguousarray(rotations[:, i, j]) for j in range(3)) for i in range(3))


class Several(Sequence):
    """Parts of a series, or some of them: made when one is asked for."""

    def __init__(self, mechanism, numbers):
        self.mechanism, self.numbers = mechanism, np.asarray(numbers, dtype=np.int64)

    def _part(self, number: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what its parts are")

    def _some(self, numbers) -> Any:
        return type(self)(self.mechanism, numbers)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> Any:
        if (not isinstance(at, slice) and np.asarray(at).dtype.kind not in "iub") or np.ndim(at) > 1 or isinstance(at, tuple):
            raise BadArgument(f"{self!r} takes a number, a slice or a row of numbers in brackets, got {at!r}.")
        found = self.numbers[at]
        return self._part(int(found)) if np.ndim(found) == 0 else self._some(found)

    def __repr__(self) -> str:
        n = len(self)
        shown = f"{self[0].name!r} .. {self[-1].name!r}" if n > 1 else repr(self[0].name) if n else ""
        return f"{type(self).__name__}({shown}: {n})"


class Bodies(Several):
    """Bodies in a row, such as those of a chain: `rods[17]` is a Body, `rods[1:]` are all but the first.

    Joints, springs and dampers take them where they take a body, and draw one element for each.
    """

    def _part(self, number: int) -> Body:
        return self.mechanism.bodies.by_number(number)

    @property
    def position(self) -> np.ndarray:
        """Centres of mass in the drawing, m: (body, axis)."""
        m = self.mechanism
        return np.stack([m.params.by_code(codes) for codes in m.bodies.drawn(self.numbers)[0]], axis=1)


class PartRow(Several):
    """Joints or forces in a row."""

    def __init__(self, series: ElementSeries, numbers=None):
        super().__init__(series.mechanism, np.arange(series.count) if numbers is None else numbers)
        self.series = series

    def _part(self, number: int) -> Any:
        return self.series.part(number)

    def _some(self, numbers) -> PartRow:
        return PartRow(self.series, numbers)
