"""Eight numbers side by side: what compiled kernels compute with where the same is done for eight elements, one vector of LLVM.

In memory the first numbers of eight elements stand side by side, then their second ones. A *place* is the index of the first number
of one element; eight places are eight whole numbers, and where the elements follow one another the first of them is written as
its complement, ~p. `eight_meaning` says what these are to Numba; Python itself calls none of them.
Sums, differences, products and quotients of two, or of one with a number, are written as usual.
"""

from __future__ import annotations

ONLY = "compiled kernels alone compute with eight numbers"


def eight(x, at):
    """Return the eight numbers x[at:at + 8]."""
    raise NotImplementedError(ONLY)


def put(x, at, value):
    """x[at:at + 8] = value"""
    raise NotImplementedError(ONLY)


def spread(value):
    """Return one number eight times."""
    raise NotImplementedError(ONLY)


def lesser(a, b):
    """Return the lesser of each two; NaN where a is NaN."""
    raise NotImplementedError(ONLY)


def greater(a, b):
    """Return the greater of each two; NaN where a is NaN."""
    raise NotImplementedError(ONLY)


def size_of(a):
    """Return absolute values."""
    raise NotImplementedError(ONLY)


def root_of(a):
    """Return square roots."""
    raise NotImplementedError(ONLY)


def none_below(a, least):
    """Tell whether all are `least` at least, none NaN."""
    raise NotImplementedError(ONLY)


def first_of(a, count):
    """Return the first `count` of eight, and zero in the place of the others."""
    raise NotImplementedError(ONLY)


def pick(x, at, places, first):
    """Return x[at + places[first]], x[at + places[first + 1]], ... of eight places as they are."""
    raise NotImplementedError(ONLY)


def turn(x, at, places, first, to, at_to):
    """to[at_to + 8 i + k] = x[at + place k + i], i, k < 8, for the eight places at places[first:], the first a complement."""
    raise NotImplementedError(ONLY)


def turn_back(x, at, places, first, to, at_to):
    """to[at_to + place k + i] = x[at + 8 i + k], the reverse of `turn`, the last of eight first."""
    raise NotImplementedError(ONLY)


def same(x, at, y, at_y):
    """Tell whether x[at:at + 8] and y[at_y:at_y + 8] are the same bits."""
    raise NotImplementedError(ONLY)


def collect(x, places, at, start, many, to, at_to):
    """to[at_to + 8 i ...] = x[start + place + 8 i] for the eight places at places[at:], i < many."""
    raise NotImplementedError(ONLY)


def distribute(x, places, at, start, many, given, at_given, count):
    """x[start + place + 8 i] = given[at_given + 8 i ...] for the first `count` of eight, the reverse of `collect`."""
    raise NotImplementedError(ONLY)


def add_to(x, places, at, start, many, given, at_given, count):
    """x[start + place + 8 i] += given[at_given + 8 i ...] for the first `count` of eight, one after the other."""
    raise NotImplementedError(ONLY)


def exchange(words, at, value):
    """Put a whole number in the place of words[at] and return what stood there, as if no other thread ran in between."""
    raise NotImplementedError(ONLY)


def teach() -> None:
    """Tell Numba of these."""
    from .eight_meaning import teach

    teach()
