"""Sine and cosine of one angle together, as functions of a GPU.

Unlike the functions of the CUDA library those of `printing.trig` read no tables: about 35 instructions for both instead of 70.
Where they are not good enough, the library takes over.
"""

from __future__ import annotations

import math

from numba import cuda

from ..printing import trig
from .inlining import copied, stay_apart

FAR = trig.FAR
near_sincos = copied(trig.near_sincos)


@cuda.jit(device=True)
def far_sincos(x):
    """For large or bad arguments: the library's."""
    stay_apart()
    return math.sin(x), math.cos(x)


@copied
def sincos(x):
    """(sin x, cos x)"""
    if not abs(x) <= FAR:
        return far_sincos(x)
    return near_sincos(x)
