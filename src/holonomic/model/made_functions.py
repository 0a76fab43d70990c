"""Functions made by functions, that can be pickled: what is kept of them is who made them, and of what.

A closure cannot be sent to another process; the name of its maker and the maker's arguments can.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any


class MadeFunction:
    """A function that its maker can make again from the same arguments; what is written on it later travels along."""

    row_names: Sequence[str] | None = None  # of a constraint's rows, where they have names

    def __init__(self, maker, args: tuple, function):
        self.maker, self.args, self.function = maker, args, function
        self.__wrapped__ = function  # whose signature this one has

    def __call__(self, *args, **named):
        return self.function(*args, **named)

    @property
    def notes(self) -> dict[str, Any]:
        """What was written on the function after it was made."""
        return {name: value for name, value in vars(self).items() if name not in OWN}

    def __reduce__(self):
        return self.maker, self.args, self.notes

    def __repr__(self) -> str:
        return f"<{self.maker.__name__}{self.args}>"


OWN = ("maker", "args", "function", "__wrapped__")


def maker(make):
    """Decorate a function of a module that returns an inner function, so that the inner one can be pickled."""

    @functools.wraps(make)
    def made(*args):
        return MadeFunction(made, args, make(*args))

    return made
