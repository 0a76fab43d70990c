"""np.linalg on symbols: solves, inverses and determinants of small matrices as expressions."""

from __future__ import annotations

import math

import numpy as np

from .make_symbols import to_sx
from .refusals import refusal
from .symbol import Symbol
from .symbol_array import as_array, implements
from .symbolics import densify, inv, solve


def _square(a, name):
    a = as_array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise refusal(f"uses np.linalg.{name} on an array of shape {a.shape}", "Give one square matrix.")
    return a


def _from_sx(sx):
    values = as_array([Symbol(entry) for entry in densify(sx).nonzeros()])
    return values.reshape(sx.shape, order="F")


@implements(np.linalg.solve)
def _solve(a, b):
    b = as_array(b)
    return _from_sx(solve(to_sx(_square(a, "solve")), to_sx(b))).reshape(b.shape)


@implements(np.linalg.inv)
def _inv(a):
    return _from_sx(inv(to_sx(_square(a, "inv"))))


@implements(np.linalg.det)
def _det(a):
    a = _square(a, "det")
    if len(a) > 10:
        raise refusal(f"uses np.linalg.det on {len(a)} by {len(a)} symbols", "The limit is 10 by 10.")
    minors = {(): 1.0}  # determinants of the rows so far, by the columns they use
    for row in a:
        larger = {}
        for columns, minor in minors.items():
            for j in set(range(len(a))).difference(columns):
                key = tuple(sorted((*columns, j)))
                term = row[j] * minor if (len(columns) - key.index(j)) % 2 == 0 else -row[j] * minor
                larger[key] = larger[key] + term if key in larger else term
        minors = larger
    return minors[tuple(range(len(a)))]


@implements(np.linalg.norm)
def _norm(x, ord=None, axis=None, keepdims=False):
    x = as_array(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims))
    if ord == 1 and len(axes) == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == math.inf and len(axes) == 1:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    raise refusal(f"uses np.linalg.norm(..., ord={ord!r}) on symbols", "Use ord=None, or ord=1 on a vector.")
