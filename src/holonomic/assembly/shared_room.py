"""Room for numbers that all contexts of a mechanism share: one call at a time has it, and what data decide is kept there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .collection import Collection, Context

LINE = 8  # numbers in a line of the processor's memory, at which everything begins


class Places(NamedTuple):
    """Places in data of the numbers of some elements: how many each has, the first, and behind the last."""

    each: int
    first: int
    end: int


class SharedRoom:
    """The room, laid out while contexts are arranged; `open` makes it.

    In front lies what a call works with, behind it the settled numbers of all contexts (elements have them once for all functions
    that settle the same ones), then the data that they were made of.
    """

    def __init__(self):
        self._contexts: list[Context] = []
        self._known = [1 << 62, 0]  # the part of data that is read
        self._places: dict[tuple, int] = {}  # of settled numbers
        self._size = self._call = 0

    def numbers(self, key: tuple, seen: Places, size: int) -> int:
        """Place of so many settled numbers of some elements, made of what stands at these places in data."""
        if key not in self._places:
            self._places[key] = self._size + LINE  # in front is when they were made
            self._size += LINE + size
        self._known = [min(self._known[0], seen.first), max(self._known[1], seen.end)]
        return self._places[key]

    def numbers_of_call(self, context: Context, sizes) -> None:
        """Lay out what a call of a context works with, part by part."""
        at = 0
        for name, size in sizes:
            setattr(context.memory, name, at)
            at += -(-size // LINE) * LINE
        self._call = max(self._call, at)
        self._contexts.append(context)

    def open(self, c: Collection) -> None:
        """Make the room, and tell the contexts. Constants, which nobody changes, are not looked at again."""
        first, end = len(c.values), self._known[1]
        known = max(0, (first if first <= end <= first + len(c.numbers) else end) - self._known[0])
        at_known = self._call + self._size + LINE
        room = at_known + known + 2 * LINE
        own = np.empty(room)
        begin = -own.ctypes.data % (8 * LINE) // 8  # see `in_line`
        # which no data are, nor a time of making; what nobody calls is never touched
        own[begin + at_known] = own[[begin + self._call + place - LINE for place in self._places.values()]] = np.nan
        own[begin + at_known - LINE] = 0.0
        spare = np.array([own.ctypes.data + 8 * begin])
        for context in self._contexts:
            head = context.memory
            head.at_numbers, head.at_known, head.room = self._call, at_known, room
            head.first_known, head.n_known = self._known[0], known
            context.keep(own)
            head.own_room, head.spare = int(spare[0]), context.keep(spare)
