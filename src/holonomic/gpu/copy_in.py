"""Members that are entered into arrays on the GPU, or taken out of them."""

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


@cuda.jit
def take(source, members, values):
    """values[:, :, j] = source[:, :, members[j]]"""
    j = cuda.grid(1)
    if j < members.shape[0]:
        for row in range(values.shape[0]):
            for i in range(values.shape[1]):
                values[row, i, j] = source[row, i, members[j]]
