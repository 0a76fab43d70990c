"""Tables of elements: what there is of them, and their numbers one element after the other; `eights` takes eight at once.

A lump is what one block of the mass matrix belongs to: a body, or some that share inertia; or a state of one's own.
"""

from __future__ import annotations

from ..native.marks import leaf

BODY, FORCE, ROWS, SPEEDS, NORMS = 0, 1, 2, 3, 4
STATE = -1  # a state of one's own with its rate, a lump of coordinates alone
# words of a lump: place and number of its q, of its v, of its columns; place of W⁻¹, whether that is a whole matrix
LUMP = 8


@leaf
def gather(order, x, at_x, K, at, n):
    """Numbers of the model in the order of the tables."""
    for i in range(n):
        K[at + i] = x[at_x + order[i]]


@leaf
def scatter(order, K, at, out, at_out, n, factor):
    """Numbers of the tables in the order of the model, times a factor."""
    for i in range(n):
        out[at_out + order[i]] = factor * K[at + i]


@leaf
def arguments(lumps, ends, first, many, T, at_q, at_v, at):
    """(q, v) of an element's ends, and their numbers, from `at` on."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_q + lumps[own]
        for i in range(lumps[own + 1]):
            T[at] = T[start + i]
            at += 1
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_v + lumps[own + 2]
        for i in range(lumps[own + 3]):
            T[at] = T[start + i]
            at += 1


@leaf
def numbers(places, first, many, data, D):
    """An element's own numbers."""
    for i in range(many):
        D[i] = data[places[first + i]]


@leaf
def clear(x, at, n):
    """x = 0"""
    for i in range(n):
        x[at + i] = 0.0
