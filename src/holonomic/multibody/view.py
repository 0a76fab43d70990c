"""What all parts of a run that are read by name share: how they show themselves, and what a wrong name is told."""

from __future__ import annotations

import difflib
from typing import Any


class View:
    """A part of a mechanism in a run; its properties are arrays, time first."""

    def _title(self) -> str:
        return "part of the mechanism"

    def _properties(self) -> list[str]:
        """Names that can be read here."""
        return [name for name in dir(type(self)) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<{self._title()} in a run: .{', .'.join(self._properties())}>"

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:
            return own.fget(self)  # it has words of its own for what is not there
        if name.startswith("_"):
            raise AttributeError(name)
        there = self._properties()
        near = difflib.get_close_matches(name, there, 2)
        hint = f"Did you mean .{' or .'.join(near)}?" if near else f"It has .{', .'.join(there)}."
        raise AttributeError(f"the {self._title()} has no {name!r}. {hint}")
