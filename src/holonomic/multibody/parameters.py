"""The numbers of a mechanism under dotted names: "link.mass", "A.x", "spring.stiffness"."""

from __future__ import annotations

import bisect
import difflib
import itertools
from collections.abc import Callable, Iterator, MutableMapping

import numpy as np

from ..errors import BadArgument, UnknownName
from ..model.given_numbers import LOOKS_LIKE_ONE, TRUTH
from ..model.names_in_order import NamesInOrder, NumberedNames, NumbersInOrder, numbers_in


class Columns:
    """Numbers of many parts alike, by what their names end with: those of "rope 17" are "rope 17.x" and so on.

    Parameters
    ----------
    stem : str
        What names begin with, before the number.
    first : int
        The first number.
    values : {str: array}
        By suffix.
    checks : {str: function}
        What refuses numbers that cannot be meant.
    built_in : set of str
        Suffixes of numbers of the structure.
    """

    def __init__(self, stem: str, first: int, values: dict[str, np.ndarray], checks=None, built_in=()):
        self.stem, self.first, self.values = stem, first, values
        self.count = len(next(iter(values.values())))
        self.checks, self.built_in = dict(checks or {}), set(built_in)
        self.ties: dict[str, tuple[str, ...]] = {}  # suffix of the mass -> of the inertias that grow with it
        self.loose: set[int] = set()  # those of which an inertia was set by itself
        self.start = 0  # place of the first of its numbers among those of all columns

    @property
    def names(self) -> NumberedNames:
        """All names, column by column."""
        return NumberedNames(self.stem, self.first, self.count, tuple(self.values), True)

    def codes(self, suffix: str) -> np.ndarray:
        """Places of a column among the numbers of all columns."""
        return self.start + self.count * list(self.values).index(suffix) + np.arange(self.count)


class Parameters(MutableMapping):
    """Every number of a mechanism by its dotted name; setting one changes the mechanism.

    Points are where they are drawn: moving "A.x" moves the joint on both of its bodies. The inertia of shapes is tied to the
    mass: setting "link.mass" scales "link.inertia". An inertia that was given, or set, stays as it is.
    """

    def __init__(self, changed: Callable[[], None], rebuilt: Callable[[], None]):
        self._values: dict[str, float] = {}
        self._built_in: set[str] = set()  # numbers of the structure; see `lower`
        self._rebuilt = rebuilt
        self._checks: dict[str, Callable[[str, float], None]] = {}
        self._changed = changed
        self._ties: dict[str, tuple[str, ...]] = {}  # names of masses -> of the inertias that grow with them
        self.columns: list[Columns] = []  # numbers of many parts alike
        self._stems: dict[str, list[Columns]] = {}
        self._flat: np.ndarray | None = None  # numbers of all columns
        self.version = 0  # how often a number was set

    def tie(self, mass: str, inertias: tuple[str, ...]) -> None:
        """Let inertias grow with a mass, until one of them is set by itself."""
        self._ties[mass] = inertias

    def tied_to(self, mass: str) -> tuple[str, ...]:
        """Names of the inertias that grow with a mass."""
        found = None if mass in self._ties else self._find(mass)
        if found is not None:
            columns, which, suffix = found
            tied = () if which in columns.loose else columns.ties.get(suffix, ())
            return tuple(f"{columns.stem}{columns.first + which}{each}" for each in tied)
        return self._ties.get(mass, ())

    @property
    def alone(self) -> dict[str, float]:
        """Numbers that stand by themselves."""
        return self._values

    def add_columns(self, columns: Columns) -> Columns:
        """Enter numbers of many parts alike."""
        columns.start = sum(each.names.size for each in self.columns)
        self.columns.append(columns)
        self._stems.setdefault(columns.stem, []).append(columns)
        self._flat = None
        return columns

    def flat(self) -> np.ndarray:
        """Numbers of all columns, one column after the other."""
        if self._flat is None:
            self._flat = np.concatenate([np.zeros(0), *(each for columns in self.columns for each in columns.values.values())])
            for columns in self.columns:  # which keep no numbers beside these
                each = self._flat[columns.start :][: columns.names.size].reshape(-1, columns.count)
                columns.values.update(zip(columns.values, each, strict=True))
        return self._flat

    def in_order(self) -> NumbersInOrder:
        """All numbers as they are now: one by one first, then columns."""
        names = NamesInOrder([list(self._values), *(columns.names for columns in self.columns)])
        return NumbersInOrder(names, np.concatenate([np.array(list(self._values.values()), dtype=float), self.flat()]))

    def by_code(self, codes: np.ndarray) -> np.ndarray:
        """Numbers by their places among all columns; those that stand by themselves have negative ones, see `code_of`."""
        flat, codes = self.flat(), np.asarray(codes)
        if codes.size and codes.min() >= 0:
            return flat[codes]
        own = np.array(list(self._values.values()), dtype=float)
        return np.concatenate([flat, own[::-1]])[codes]

    def code_of(self, name: str) -> int:
        """Place of a number that stands by itself, before its turn: ~p for the p-th of them."""
        return ~list(self._values).index(name)

    def place_of_code(self, codes: np.ndarray) -> np.ndarray:
        """Places among all numbers, see `in_order`."""
        codes = np.asarray(codes)
        return np.where(codes < 0, ~codes, codes + len(self._values))

    def name_at(self, code: int) -> str:
        """The name of a number by its place among all columns."""
        if code < 0:
            return next(itertools.islice(self._values, ~code, None))
        at = bisect.bisect_right(self.columns, code, key=lambda columns: columns.start) - 1
        return self.columns[at].names.name(code - self.columns[at].start)

    def columns_of(self, name) -> Columns | None:
        """The columns in which a number stands, if it does."""
        found = None if name in self._values else self._find(name)
        return None if found is None else found[0]

    def _find(self, name) -> tuple[Columns, int, str] | None:
        """Columns, which of their parts, and suffix."""
        for stem, number, suffix in numbers_in(name) if self._stems and isinstance(name, str) else ():
            for columns in self._stems.get(stem, ()):
                if suffix in columns.values and 0 <= number - columns.first < columns.count:
                    return columns, number - columns.first, suffix
        return None

    def add(self, name: str, value: float, check: Callable[[str, float], None] | None = None) -> str:
        """Enter a new number and return its name."""
        self._values[name] = number(name, value)
        if check is not None:
            check(name, self._values[name])
            self._checks[name] = check
        return name

    def add_point(self, name: str, values) -> tuple[str, ...]:
        """Enter the components of a point or a direction and return their names."""
        return tuple(self.add(f"{name}.{axis}", value) for axis, value in zip("xyz", values, strict=False))

    def build_in(self, *names: str) -> None:
        """Make numbers part of the structure: zeros among them leave the equations."""
        self._built_in.update(names)

    def built_in(self, varying=()) -> dict[str, float]:
        """Numbers of the structure, but for those that are to vary."""
        found = {name: self._values[name] for name in self._values if name in self._built_in and name not in varying}
        for columns in self.columns:
            for suffix in columns.values if columns.built_in else ():
                if suffix in columns.built_in:
                    values = columns.values[suffix].tolist()
                    found |= {f"{columns.stem}{columns.first + i}{suffix}": value for i, value in enumerate(values)}
        return {name: value for name, value in found.items() if name not in varying} if varying else found

    def as_dict(self) -> dict[str, float]:
        """All numbers by name, at once."""
        return dict(self.in_order()) if self.columns else dict(self._values)

    def many(self, names) -> np.ndarray:
        """Numbers by their names, which are known to be there."""
        if self.columns:
            return np.array([self[name] for name in names], dtype=float)
        return np.array([self._values[name] for name in names])

    def put(self, name: str, value: float) -> None:
        """Set a number that follows from the position: the mechanism stays as it is assembled."""
        self._values[name] = value
        self.version += 1

    def drop(self, *names: str) -> None:
        """Take numbers out again."""
        for name in names:
            self._values.pop(name, None)
            self._checks.pop(name, None)

    def __getitem__(self, name: str) -> float:
        if not isinstance(name, str) or name not in self._values:
            found = self._find(name)
            if found is None:
                raise self._unknown(name)
            columns, which, suffix = found
            return float(columns.values[suffix][which])
        return self._values[name]

    def __setitem__(self, name: str, value: float) -> None:
        if not isinstance(name, str) or name not in self._values:
            found = self._find(name)
            if found is None:
                raise self._unknown(name)
            self._set_in(*found, name, value)
            return
        new = number(name, value)
        if name in self._checks:
            self._checks[name](name, new)
        for tied in self.tied_to(name):
            self._values[tied] *= new / self._values[name]
        own = [mass for mass, inertias in self._ties.items() if name in inertias]
        for mass in own:
            del self._ties[mass]
        self._values[name] = new
        self.version += 1
        (self._rebuilt if own or name in self._built_in else self._changed)()

    def _set_in(self, columns: Columns, which: int, suffix: str, name: str, value: float) -> None:
        """Set one of the numbers of columns."""
        new = number(name, value)
        if suffix in columns.checks:
            columns.checks[suffix](name, new)
        values = columns.values
        values[suffix] = values[suffix].copy()
        tied = () if which in columns.loose else columns.ties.get(suffix, ())
        for other in tied:
            values[other] = values[other].copy()
            values[other][which] *= new / values[suffix][which]
        own = any(suffix in inertias for inertias in columns.ties.values()) and which not in columns.loose
        if own:
            columns.loose.add(which)
        values[suffix][which] = new
        self._flat = None
        self.version += 1
        (self._rebuilt if own or suffix in columns.built_in else self._changed)()

    def __delitem__(self, name: str) -> None:
        raise BadArgument(f"a parameter such as {name!r} belongs to its body, joint or force; it cannot be deleted.")

    def __iter__(self) -> Iterator[str]:
        return itertools.chain(self._values, *(columns.names.all() for columns in self.columns))

    def __len__(self) -> int:
        return len(self._values) + sum(columns.names.size for columns in self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._values or self._find(name) is not None

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        lines = [f"{name:{width}}  {value:g}" for name, value in self._values.items()]
        for columns in self.columns:
            last = columns.first + columns.count - 1
            lines += [
                f"{columns.stem}{columns.first}{suffix} .. {columns.stem}{last}{suffix}  {values.min():g} to {values.max():g}"
                for suffix, values in columns.values.items()
            ]
        return "\n".join(lines)

    def _unknown(self, name) -> UnknownName:
        near = difflib.get_close_matches(str(name), self._values, n=3)
        stem = str(name).split(".")[0]
        own = [key for key in self._values if key.startswith(stem + ".")]
        for columns in self.columns:
            own += [f"{stem}{suffix}" for suffix in columns.values if self._find(f"{stem}{suffix}") is not None]
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}?"
        else:
            hint = f"{stem!r} has {', '.join(dict.fromkeys(own))}." if own else "m.params lists them all."
        return UnknownName(f"there is no parameter {name!r}. {hint}")


def positive(name: str, value: float) -> None:
    """Refuse a number that must be positive and is not."""
    if not value > 0.0:
        raise BadArgument(f"{name} = {value:g} must be positive.")


def not_negative(name: str, value: float) -> None:
    """Refuse a negative number."""
    if not value >= 0.0:
        raise BadArgument(f"{name} = {value:g} must not be negative.")


def number(name: str, value) -> float:
    """A finite number, or what is wrong with it."""
    if type(value) is float and -1e300 < value < 1e300:  # nearly all, of thousands
        return value
    try:
        if isinstance(value, (*TRUTH, *LOOKS_LIKE_ONE)):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        shown = "one of more digits than a float has" if isinstance(value, int) and value.bit_length() > 1000 else repr(value)
        raise BadArgument(f"{name} must be a number, got {shown}.") from None
    if not np.isfinite(found):
        raise BadArgument(f"{name} must be finite, got {found}.")
    return found
