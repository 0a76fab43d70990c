"""Newton's matrix A + w B of an implicit method, factored and solved by straight-line code.

A = ∂R/∂y and B = ∂R/∂y' are sparse, and where their entries stand is known before any number is. Elimination in one
fixed order then needs neither searching nor loops, and entries that are 1 or -1 cost nothing: of the 20 unknowns of the
seven-body mechanism at index 2, 0.10 µs instead of 1.9 for the factors and 0.03 µs instead of 0.42 for a solution.

The order is chosen once, by numbers at the start of a motion and beside it, for short and long steps: of the pivots
that are large enough in all of them the one that fills least. Whether it still serves is seen at every factorization: the
first number written is the sum of |l_ik| ‖row k‖ / ‖row i‖ over the multipliers of the elimination, each of which would
be at most 1 with pivoting. Where it is large the kernels use dense LU with pivoting.

References
----------
[duff-erisman-reid-2017] Ch. 7 (local pivotal strategies: Markowitz's count with a threshold).
"""

from __future__ import annotations

import math

import numpy as np

from ..kernels.signatures import Fn
from .tape import Tape, TapeBuilder, needed

UNROLLED = (Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE)
WEIGHTS = (1e1, 1e3, 1e5)  # of ∂R/∂y', about 1/h
THRESHOLD = 0.05  # a pivot is at least this part of the largest entry of its column, rows and columns scaled
MOST_PRODUCTS = 1000  # of one factorization: above, compiling takes longer than it gains, and lists are gone by
DENSER = 12  # part of n³ up to which lists are faster than dense LU, whose products take a quarter of their time
MOST_UNKNOWNS = 150  # above, looking for an order takes as long as compiling, see `elimination_order` and `long_equations`

Order = list[tuple[int, int]]  # rows and columns of the pivots


def sample_points(x0: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return y and y' at the start and beside it, where nothing vanishes by chance."""
    y = np.full(size, 0.5)
    y[: len(x0)] = x0
    aside = np.sin(1.0 + np.arange(size))
    return [(y, 0.5 * np.ones(size)), (y + 0.05 * (1.0 + np.abs(y)) * aside, aside)]


def order_at_start(by_y: tuple, by_slope: tuple, t0: float, x0: np.ndarray, data: np.ndarray) -> Order | None:
    """Return the order for two graphs (t, y, y', data, out), by their values at the start and beside it."""
    from .symbolics import densify, function_of

    n = by_y[1].numel()
    if by_y[4].numel() != n * n or n > MOST_UNKNOWNS:  # more equations than unknowns, or many
        return None
    look = function_of(list(by_y[:4]), [densify(by_y[4]), densify(by_slope[4])])
    pattern = np.zeros(n * n, dtype=bool)
    for graph in (by_y, by_slope):
        pattern |= np.array([not graph[4][k].is_zero() for k in range(n * n)])
    matrices = []
    for y, slope in sample_points(x0, n):
        A, B = (np.array(part).reshape(n, n) for part in look(t0, y, slope, data[: by_y[3].numel()]))
        matrices += [A + weight * B for weight in WEIGHTS]
    return choose_order(pattern.reshape(n, n), matrices)


def choose_order(pattern: np.ndarray, matrices: list[np.ndarray]) -> Order | None:
    """Return the pivots in the order of elimination; None where the matrices are singular or the elimination is long.

    Parameters
    ----------
    pattern : (n, n) array of bool
        Entries that may differ from zero.
    matrices : list of (n, n) arrays
        Examples, for all of which the pivots are to be large enough; those that are not finite are left out.
    """
    n = len(pattern)
    filled = pattern.copy()
    matrices = [A for A in matrices if np.all(np.isfinite(A))]
    if not matrices:
        return None
    left = np.array([_scaled(A) for A in matrices])
    rows, columns = np.ones(n, dtype=bool), np.ones(n, dtype=bool)
    order: Order = []
    products = 0
    for _ in range(n):
        open_ = filled & rows[:, None] & columns[None, :]
        size = np.where(open_, np.abs(left), 0.0)
        largest = size.max(axis=1, keepdims=True)
        share = (size / np.where(largest > 0.0, largest, 1.0)).min(axis=0)
        if not share.max() > 1e-6:
            return None
        allowed = share >= min(THRESHOLD, share.max())
        cost = np.outer(open_.sum(axis=1) - 1, open_.sum(axis=0) - 1).astype(float)
        cost[~allowed] = np.inf
        best = np.argwhere(cost == cost.min())
        r, c = best[np.argmax([share[i, j] for i, j in best])]
        rows[r], columns[c] = False, False
        below, right = np.flatnonzero(open_[:, c] & rows), np.flatnonzero(open_[r] & columns)
        products += len(below) * (len(right) + 1)
        if products > max(MOST_PRODUCTS, n**3 / DENSER):
            return None
        filled[np.ix_(below, right)] = True
        factors = left[:, below, c] / left[:, r, c][:, None]
        left[:, below[:, None], right[None, :]] -= factors[:, :, None] * left[:, r, right][:, None, :]
        order.append((int(r), int(c)))
    return order


def _scaled(A: np.ndarray) -> np.ndarray:
    """Rows and columns brought to the size of 1."""
    A = A.copy()
    for _ in range(4):
        for axis in (1, 0):
            size = np.abs(A).max(axis=axis, keepdims=True)
            A /= np.sqrt(np.where(size > 0.0, size, 1.0))
    return A / np.where((size := np.abs(A).max(axis=1, keepdims=True)) > 0.0, size, 1.0)


def products_of(pattern: np.ndarray, order: Order) -> int:
    """How many products eliminating in an order takes."""
    filled, rows, columns, products = pattern.copy(), np.ones(len(order), bool), np.ones(len(order), bool), 0
    for r, c in order:
        rows[r], columns[c] = False, False
        below, right = np.flatnonzero(filled[:, c] & rows), np.flatnonzero(filled[r] & columns)
        filled[np.ix_(below, right)] = True
        products += len(below) * (len(right) + 1)
    return products


def pattern_of(by_y: Tape, by_slope: Tape, n: int) -> np.ndarray:
    """Where Newton's matrix may differ from zero."""
    at = range(n * n)
    return np.array([by_y.outputs[k] is not None or by_slope.outputs[k] is not None for k in at], dtype=bool).reshape(n, n)


def is_long(by_y: Tape, by_slope: Tape, order: Order | None) -> bool:
    """Whether eliminating in an order takes more products than are worth compiling."""
    return order is not None and products_of(pattern_of(by_y, by_slope, len(order)), order) > MOST_PRODUCTS


def unrolled(by_y: Tape, by_slope: Tape, order: Order | None, wanted: tuple[Fn, ...]) -> dict[Fn, Tape]:
    """Return the wanted of `UNROLLED`; without an order, or of a long one, factors that say at once that they do not serve."""
    if order is None or is_long(by_y, by_slope, order):
        refused = Tape((("const", math.inf),), (0,))
        return dict.fromkeys(wanted, refused)
    made = {}
    for kind, factor, solve in ((False, Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE), (True, Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE)):
        if factor in wanted or solve in wanted:
            elimination = Elimination(by_y, by_slope, order, kind)
            made[factor], made[solve] = elimination.factor_tape(), elimination.solve_tape()
    return {fn: made[fn] for fn in wanted}


class Arithmetic:
    """Real or complex numbers on a tape, as pairs of nodes; what is known is computed at once, None is zero."""

    def __init__(self):
        self.builder = TapeBuilder()

    def const(self, value: float) -> int | None:
        return None if value == 0.0 else self.builder.add(("const", float(value)))

    def known(self, x: int | None) -> float | None:
        """The value of a constant; None for anything else."""
        if x is None:
            return 0.0
        node = self.builder.nodes[x]
        return node[1] if node[0] == "const" else None

    def add(self, x: int | None, y: int | None, sign: float = 1.0) -> int | None:
        if y is None:
            return x
        if x is None:
            return y if sign > 0 else self.negative(y)
        a, b = self.known(x), self.known(y)
        if a is not None and b is not None:
            return self.const(a + sign * b)
        return self.builder.add(("add" if sign > 0 else "sub", x, y))

    def negative(self, x: int | None) -> int | None:
        if x is None:
            return None
        a = self.known(x)
        return self.const(-a) if a is not None else self.builder.add(("neg", x))

    def mul(self, x: int | None, y: int | None) -> int | None:
        if x is None or y is None:
            return None
        a, b = self.known(x), self.known(y)
        if a is not None and b is not None:
            return self.const(a * b)
        for value, other in ((a, y), (b, x)):
            if value in (1.0, -1.0):
                return other if value == 1.0 else self.negative(other)
        return self.builder.add(("mul", x, y))

    def inverse(self, x: int) -> int | None:
        a = self.known(x)
        return self.const(1.0 / a) if a is not None else self.builder.add(("inv", x))

    def size(self, x: int | None) -> int | None:
        if x is None:
            return None
        a = self.known(x)
        return self.const(abs(a)) if a is not None else self.builder.add(("fabs", x))

    def total(self, terms: list[int | None]) -> int | None:
        """The sum, by halves: additions that do not wait for each other."""
        terms = [term for term in terms if term is not None]
        while len(terms) > 1:
            terms = [self.add(*terms[i : i + 2]) if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
        return terms[0] if terms else None

    # pairs (re, im)

    def times(self, x, y):
        re = self.add(self.mul(x[0], y[0]), self.mul(x[1], y[1]), -1.0)
        return re, self.add(self.mul(x[0], y[1]), self.mul(x[1], y[0]))

    def minus(self, x, y):
        return self.add(x[0], y[0], -1.0), self.add(x[1], y[1], -1.0)

    def minus_product(self, x, y, z):
        """x - y z, each product subtracted by itself: a product and a difference are one instruction."""
        re = self.add(self.add(x[0], self.mul(y[0], z[0]), -1.0), self.mul(y[1], z[1]))
        return re, self.add(self.add(x[1], self.mul(y[0], z[1]), -1.0), self.mul(y[1], z[0]), -1.0)

    def reciprocal(self, x):
        if x[1] is None:
            return self.inverse(x[0]), None
        by = self.inverse(self.add(self.mul(x[0], x[0]), self.mul(x[1], x[1])))
        return self.mul(x[0], by), self.negative(self.mul(x[1], by))

    def sizes(self, x):
        """|re| + |im|"""
        return self.add(self.size(x[0]), self.size(x[1]))


class Elimination:
    """One elimination as two tapes: factors out of A and B, and a solution out of factors and a right-hand side.

    Factors are written as the growth, then for every pivot its reciprocal, its column of L and its row of U; constants
    are left out and known to both tapes.
    """

    def __init__(self, by_y: Tape, by_slope: Tape, order: Order, is_complex: bool):
        self.order, self.n, self.is_complex = order, len(order), is_complex
        self.a = a = Arithmetic()
        entries = self._matrix(by_y, by_slope)
        rows = [a.total([a.sizes(x) for (i, _), x in entries.items() if i == row]) for row in range(self.n)]
        growth: list[int | None] = []
        self.stored: list[int] = []
        self.pivots, self.below, self.right = [], [], []
        rows_left, columns_left = set(range(self.n)), set(range(self.n))
        for r, c in order:
            rows_left.remove(r)
            columns_left.remove(c)
            inverse = a.reciprocal(entries[r, c])
            right = [(j, entries[r, j]) for j in sorted(columns_left) if (r, j) in entries]
            below = [(i, a.times(entries[i, c], inverse)) for i in sorted(rows_left) if (i, c) in entries]
            for i, factor in below:
                for j, x in right:
                    entries[i, j] = a.minus_product(entries.get((i, j), (None, None)), factor, x)
            shares = [a.mul(a.sizes(factor), a.inverse(rows[i])) for i, factor in below]
            growth.append(a.mul(rows[r], a.total(shares)))
            self.pivots.append(self._store(inverse))
            self.below.append([(i, self._store(x)) for i, x in below])
            self.right.append([(j, self._store(x)) for j, x in right])
        self.growth = a.total(growth)

    def _matrix(self, by_y: Tape, by_slope: Tape) -> dict:
        """Entries of A + (t + i b_0) B that may differ from zero."""
        a, n = self.a, self.n
        entries = {}
        weight = a.builder.add(("in", 0, 0)), a.builder.add(("in", 2, 0)) if self.is_complex else None
        for i in range(n):
            for j in range(n):
                at = i * n + j
                x, y = self._entry(by_y, at, at), self._entry(by_slope, at, at + n * n)
                re, im = a.add(x, a.mul(weight[0], y)), a.mul(weight[1], y)
                if re is not None or im is not None:
                    entries[i, j] = re, im
        return entries

    def _entry(self, tape: Tape, at: int, place: int) -> int | None:
        node = tape.outputs[at]
        if node is None:
            return None
        if tape.nodes[node][0] == "const":
            return self.a.const(tape.nodes[node][1])
        return self.a.builder.add(("in", 1, place))

    def _store(self, x) -> tuple:
        """Where both parts of a number will be found: ("at", place) or ("const", value)."""
        found = []
        for part in x:
            value = self.a.known(part)
            if value is None:
                self.stored.append(part)
                found.append(("at", len(self.stored)))
            else:
                found.append(("const", value))
        return tuple(found)

    def factor_tape(self) -> Tape:
        return needed(Tape(tuple(self.a.builder.nodes), (self.growth, *self.stored)))

    def solve_tape(self) -> Tape:
        a, n = Arithmetic(), self.n

        def taken(x):
            return tuple(a.const(part[1]) if part[0] == "const" else a.builder.add(("in", 1, part[1])) for part in x)

        b = [(a.builder.add(("in", 2, i)), a.builder.add(("in", 2, n + i)) if self.is_complex else None) for i in range(n)]
        for (r, _), below in zip(self.order, self.below, strict=True):
            for i, factor in below:
                b[i] = a.minus_product(b[i], taken(factor), b[r])
        x: list[tuple] = [(None, None)] * n
        for (r, c), pivot, right in reversed(list(zip(self.order, self.pivots, self.right, strict=True))):
            rest = b[r]
            for j, factor in right:
                rest = a.minus_product(rest, taken(factor), x[j])
            x[c] = a.times(rest, taken(pivot))
        parts = [each[0] for each in x] + ([each[1] for each in x] if self.is_complex else [])
        return Tape(tuple(a.builder.nodes), tuple(parts))
