"""Entering members that were computed elsewhere into arrays on the GPU."""

from __future__ import annotations

from numba import cuda


@cuda.jit
def enter(target, values, begin, count):
    """target[:, :, begin + m] = values[:, :, m]"""
    m = cuda.grid(1)
    if m < count:
        for row in range(values.shape[0]):
            for i in range(values.shape[1]):
                target[row, i, begin + m] = values[row, i, m]
