"""Mean, extremes and quantiles over members that pass by once, in bounded memory.

Quantiles come from a sketch per number: buffers of k sorted values whose weights are powers of two; two full ones of one
weight are merged and every other value is kept, with twice the weight. As long as no buffer has been merged, they
are exact; afterwards the rank of an answer is off by no more than `error`, as a share of the members. Members are taken in
their order, so the answer does not depend on which worker was faster.

References
----------
[munro-paterson-1980], [manku-rajagopalan-lindsay-1998] (deterministic, one pass).
"""

from __future__ import annotations

import warnings

import numpy as np

SKETCH_BYTES = 128 << 20  # of all buffers of one sketch together
LEVELS = 12  # weights for which there is room: 2^12 k members


class Summary:
    """Mean, standard deviation, extremes and quantiles of arrays (member, ...) added stretch by stretch."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, cells = shape, int(np.prod(shape))
        self.count = np.zeros(cells, dtype=np.int64)  # values that are not NaN
        self.total, self.squares = np.zeros(cells), np.zeros(cells)  # sums of values, and about the mean
        self.least, self.most = np.full(cells, np.inf), np.full(cells, -np.inf)
        self.sketch = Sketch(cells)

    def add(self, values: np.ndarray) -> None:
        """Take a stretch of members; NaN: a member had ended there."""
        if not len(values):
            return
        flat = np.ascontiguousarray(values.reshape(len(values), -1))
        there = ~np.isnan(flat)
        counted, plain = there.sum(axis=0), np.where(there, flat, 0.0)
        total = plain.sum(axis=0)
        # sums of squares about the mean are joined without cancellation, [chan-golub-leveque-1983]
        mean = total / np.maximum(counted, 1)
        squares = (np.where(there, flat - mean, 0.0) ** 2).sum(axis=0)
        both = np.maximum(self.count + counted, 1)
        gap = np.where(self.count > 0, self.total / np.maximum(self.count, 1), mean) - mean
        self.squares += squares + gap**2 * self.count * counted / both
        self.total += total
        self.count += counted
        self.least = np.minimum(self.least, np.where(there, flat, np.inf).min(axis=0))
        self.most = np.maximum(self.most, np.where(there, flat, -np.inf).max(axis=0))
        self.sketch.add(flat)

    def mean(self) -> np.ndarray:
        return self._out(self.total / np.maximum(self.count, 1))

    def std(self) -> np.ndarray:
        return self._out(np.sqrt(self.squares / np.maximum(self.count, 1)))

    def extremes(self) -> tuple[np.ndarray, np.ndarray]:
        return self._out(self.least), self._out(self.most)

    def quantiles(self, q) -> np.ndarray:
        found = self.sketch.quantiles(q, self.count)
        return np.where(self.count > 0, found, np.nan).reshape(*np.shape(q), *self.shape)

    def _out(self, flat: np.ndarray) -> np.ndarray:
        return np.where(self.count > 0, flat, np.nan).reshape(self.shape)


class Sketch:
    """Quantiles of many columns at once."""

    def __init__(self, cells: int):
        self.k = int(max(64, min(4096, SKETCH_BYTES // (8 * max(1, cells) * LEVELS)))) // 2 * 2
        self.filling = np.empty((self.k, cells))
        self.filled = 0
        self.levels: list[np.ndarray | None] = []  # sorted buffers, of weight 2^level each
        self.turn: list[int] = []  # which of two values is kept next, by level
        self.merges = 0.0  # weight of all merges: the largest error of a rank

    def add(self, rows: np.ndarray) -> None:
        at = 0
        while at < len(rows):
            n = min(self.k - self.filled, len(rows) - at)
            self.filling[self.filled : self.filled + n] = rows[at : at + n]
            self.filled, at = self.filled + n, at + n
            if self.filled == self.k:
                self._rise(np.sort(self.filling, axis=0), 0)  # NaN come last
                self.filled = 0

    def _rise(self, buffer: np.ndarray, level: int) -> None:
        while True:
            if level == len(self.levels):
                self.levels.append(None)
                self.turn.append(0)
            other = self.levels[level]
            if other is None:
                self.levels[level] = buffer
                return
            both = np.sort(np.concatenate([other, buffer]), axis=0)
            buffer = both[self.turn[level] :: 2]
            self.turn[level] = 1 - self.turn[level]
            self.merges += 2.0**level
            self.levels[level] = None
            level += 1

    def quantiles(self, q: np.ndarray, count: np.ndarray) -> np.ndarray:
        """Values at the shares q of `count` members, (q, column)."""
        parts = [(self.filling[: self.filled], 1.0)]
        parts += [(buffer, 2.0**level) for level, buffer in enumerate(self.levels) if buffer is not None]
        values = np.concatenate([part for part, _ in parts])
        if self.merges == 0.0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # columns of nothing but NaN
                return np.nanquantile(values, q, axis=0)
        weights = np.concatenate([np.full(len(part), weight) for part, weight in parts])
        order = np.argsort(values, axis=0, kind="stable")
        values = np.take_along_axis(values, order, axis=0)
        ranks = np.cumsum(weights[order], axis=0)
        out = np.empty((*q.shape, values.shape[1]))
        for index in np.ndindex(q.shape):
            row = np.argmax(ranks >= np.maximum(q[index] * count, 1.0), axis=0)
            out[index] = values[row, np.arange(values.shape[1])]
        return out

    def error(self, count: int) -> float:
        """Largest error of the rank of an answer, as a share of the members."""
        return self.merges / max(count, 1)
