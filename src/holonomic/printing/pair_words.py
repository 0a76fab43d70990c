"""What `pair_functions` say beside arithmetic: a printer knows them by name; called in Python they do the same with `Pairs`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..results.pairs import Pairs, two_product


def high(x) -> Any:
    """The first double of a pair."""
    return x.high


def low(x) -> Any:
    """The second one."""
    return x.low


def pair(a) -> Any:
    """A double as a pair."""
    return Pairs(a)


def exactly(a, b) -> Any:
    """The product of two doubles as a pair, without rounding."""
    return Pairs(*two_product(a, b))


def nearest(a) -> Any:
    """The whole number next to a double, as a double."""
    return np.rint(a)


def two_to(k) -> Any:
    """2^k for a whole number, as a double."""
    return math.ldexp(1.0, k)


def root(x) -> Any:
    """The root of a pair."""
    return x.sqrt()


def nothing() -> Any:
    """What has no value."""
    return Pairs(math.nan)


def infinity() -> Any:
    """What is beyond all numbers."""
    return Pairs(math.inf)
