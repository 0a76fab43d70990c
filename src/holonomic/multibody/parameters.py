"""The numbers of a mechanism under dotted names: "link.mass", "A.x", "spring.stiffness"."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, MutableMapping

import numpy as np

from ..errors import BadArgument, UnknownName
from ..model.given_numbers import LOOKS_LIKE_ONE, TRUTH


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

    def tie(self, mass: str, inertias: tuple[str, ...]) -> None:
        """Let inertias grow with a mass, until one of them is set by itself."""
        self._ties[mass] = inertias

    def tied_to(self, mass: str) -> tuple[str, ...]:
        """Names of the inertias that grow with a mass."""
        return self._ties.get(mass, ())

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
        return {name: self._values[name] for name in self._values if name in self._built_in and name not in varying}

    def as_dict(self) -> dict[str, float]:
        """All numbers by name, at once."""
        return dict(self._values)

    def many(self, names) -> np.ndarray:
        """Numbers by their names, which are known to be there."""
        return np.array([self._values[name] for name in names])

    def drop(self, *names: str) -> None:
        """Take numbers out again."""
        for name in names:
            self._values.pop(name, None)
            self._checks.pop(name, None)

    def __getitem__(self, name: str) -> float:
        if not isinstance(name, str) or name not in self._values:
            raise self._unknown(name)
        return self._values[name]

    def __setitem__(self, name: str, value: float) -> None:
        if not isinstance(name, str) or name not in self._values:
            raise self._unknown(name)
        new = number(name, value)
        if name in self._checks:
            self._checks[name](name, new)
        for tied in self.tied_to(name):
            self._values[tied] *= new / self._values[name]
        own = [mass for mass, inertias in self._ties.items() if name in inertias]
        for mass in own:
            del self._ties[mass]
        self._values[name] = new
        (self._rebuilt if own or name in self._built_in else self._changed)()

    def __delitem__(self, name: str) -> None:
        raise BadArgument(f"a parameter such as {name!r} belongs to its body, joint or force; it cannot be deleted.")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        return "\n".join(f"{name:{width}}  {value:g}" for name, value in self._values.items())

    def _unknown(self, name) -> UnknownName:
        near = difflib.get_close_matches(str(name), self._values, n=3)
        stem = str(name).split(".")[0]
        own = [key for key in self._values if key.startswith(stem + ".")]
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}?"
        else:
            hint = f"{stem!r} has {', '.join(own)}." if own else "m.params lists them all."
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
