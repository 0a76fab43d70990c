"""Piecewise polynomials on symbols: the value on the piece that x lies in.

    f(x) = Σ_j c_j(x) (x - b(x))^j        b(x) the break to the left of x, c_j(x) the coefficients of its piece

c and b are picked by a sum over the pieces of (x is in this piece) · number, in which exactly one term is not zero, so
nothing is rounded; their derivatives vanish, and f' is that of the polynomial. The numbers are data of the model:
tables of the same breaks share compiled code. A table costs some (degree + 2) · 2 operations a piece.

Steps are as long as the error lets them be, and could leap over what a table does between two of its points. So a few breaks are
selects (see `switchboard`), at which a step ends: the ends of pieces that are much shorter than the ones beside them, as at the
edge of a pulse, and where x may jump, as t % 1 does, one in the middle and one near the start, so that no round passes unnoticed.
"""

from __future__ import annotations

import numpy as np

from .refusals import refusal
from .symbol import COMPARISONS, SWITCHED, Symbol, as_sx
from .symbol_array import as_array
from .symbolics import SX, operations, symvar

MOST_PIECES = 2000  # some 20 000 operations for a cubic
UNEVEN = 10.0  # times the length of a piece beside it: what was given so is sharp there
MOST_UNEVEN = 20  # breaks of a table where more pieces are so: it was not meant
JUMPS = frozenset({"floor", "ceil", "fmod"})  # others that jump have modes of their own


class Pieces:
    """A piecewise polynomial of one number.

    Parameters
    ----------
    breaks : array (m + 1,)
        Ends of the pieces, increasing.
    coefficients : array (k + 1, m, ...)
        Of (x - break)^j, the highest power first, as SciPy keeps them; further axes are those of the value.
    closed : array of bool (m - 1,), optional
        Which inner breaks belong to the piece on their right; all of them otherwise.
    left, right : array (...), optional
        Values outside; otherwise the first and the last piece go on.
    ends : (float, float), optional
        Where outside begins, if not at the first and the last break.
    """

    def __init__(self, breaks, coefficients, closed=None, left=None, right=None, ends=None):
        full = np.diff(breaks) > 0  # SciPy repeats the ends of a spline
        self.breaks = np.append(breaks[:-1][full], breaks[-1])
        self.coefficients = np.asarray(coefficients, dtype=float)[:, full]
        self.closed = np.ones(len(self.breaks) - 2, dtype=bool) if closed is None else closed
        self.left, self.right = left, right
        self.ends = (self.breaks[0], self.breaks[-1]) if ends is None else ends
        if len(self.breaks) - 1 > MOST_PIECES:
            raise refusal(
                f"looks up a symbol in a table of {len(self.breaks)} points",
                f"Tables of more than {MOST_PIECES} pieces are not built into a model; give a coarser one, or look it up in a "
                "function that is called with numbers, opaque(f).",
            )

    def at(self, x) -> np.ndarray:
        """Return the value at one symbol, with the further axes of the coefficients."""
        x, breaks = as_sx(x), self.breaks
        watched = self._watched(x)
        places = zip(breaks[1:-1], self.closed, strict=True)
        beyond = [_compared(x, "greater_equal" if closed else "greater", b, k in watched) for k, (b, closed) in enumerate(places)]
        inside = [a - b for a, b in zip([SX(1), *beyond], [*beyond, SX(0)], strict=True)]
        offset = x - _picked(inside, breaks[:-1])
        shape = self.coefficients.shape[2:]
        flat = self.coefficients.reshape(*self.coefficients.shape[:2], -1)
        values = np.empty(flat.shape[2], dtype=object)
        for i in range(flat.shape[2]):
            value = SX(0)
            for row in flat[:, :, i]:
                value = value * offset + _picked(inside, row)
            values[i] = Symbol(value)
        return self._with_ends(x, values.reshape(shape))

    def _watched(self, x: SX) -> set[int]:
        """The inner breaks at which a step is to end."""
        length, inner = np.diff(self.breaks), len(self.closed)
        shorter = np.flatnonzero(length[1:] * UNEVEN < length[:-1]) + 1, np.flatnonzero(length[:-1] * UNEVEN < length[1:])
        found = {k for piece in np.concatenate(shorter).tolist() for k in (piece - 1, piece) if 0 <= k < inner}
        found = found if len(found) <= MOST_UNEVEN else set()
        if inner and any(name in JUMPS for name, *_ in operations(symvar(x), x)[0]):
            found |= {inner // 8, inner // 2}
        return found

    def _with_ends(self, x: SX, values: np.ndarray) -> np.ndarray:
        at_ends = self.coefficients[-1, 0], np.polyval(self.coefficients[:, -1], self.breaks[-1] - self.breaks[-2])
        for place, given, sign, at_end in zip(self.ends, (self.left, self.right), ("less", "greater"), at_ends, strict=True):
            if given is not None:
                outside = _compared(x, sign, place, not np.allclose(given, at_end))
                values = np.where(as_array(Symbol(outside)), given, as_array(values))
        return as_array(values)


def _compared(x: SX, name: str, place: float, watched: bool) -> SX:
    """Whether x is less than a place, or greater; a step ends there where that is `watched`."""
    sign, build = COMPARISONS[name]
    switched = SWITCHED.get() if watched else None
    return build(x, SX(float(place))) if switched is None else switched.compared(x, sign, SX(float(place)), build)


def _picked(inside: list[SX], numbers: np.ndarray) -> SX:
    """The number of the piece that x is in."""
    if np.all(numbers == numbers[0]):
        return SX(float(numbers[0]))
    total = SX(0)
    for here, number in zip(inside, numbers, strict=True):
        if number != 0:
            total = total + here * float(number)
    return total


def each(x, value_of, trailing: tuple[int, ...] = (), axis: int = 0):
    """`value_of` for every entry of x; the axes of x take the place of the axis that was interpolated."""
    x = as_array(x)
    result = np.empty(x.shape + trailing, dtype=object)
    for place in np.ndindex(x.shape):
        result[place] = as_array(value_of(x[place])).view(np.ndarray)[()]
    if axis:
        order = [*range(x.ndim, x.ndim + axis), *range(x.ndim), *range(x.ndim + axis, result.ndim)]
        result = result.transpose(order)
    return as_array(result) if result.ndim else result[()]


def has_symbols(*values) -> bool:
    """Tell whether anything in these values is not known yet."""
    return any(isinstance(entry, Symbol) for value in values for entry in np.ravel(np.asarray(value, dtype=object)))


def hats(grid) -> np.ndarray:
    """Coefficients of the piecewise linear functions that are 1 at one point of a grid and 0 at the others."""
    m = len(grid) - 1
    found = np.zeros((2, m, m + 1))
    with np.errstate(divide="ignore"):  # two points in one place make a piece that nothing lies in
        slope = 1 / np.diff(grid)
    at = np.arange(m)
    found[0, at, at], found[0, at, at + 1] = -slope, slope
    found[1, at, at] = 1.0
    return found


def interp(x, xp, fp, left=None, right=None, period=None):
    """np.interp on symbols; the values may be symbols, too, the points may not."""
    if has_symbols(xp):
        raise refusal("gives symbols as the x values of np.interp", "These must be numbers.")
    xp, fp, x = np.asarray(xp, dtype=float), as_array(fp), as_array(x)
    if period is not None:
        order = np.argsort(xp % period)
        xp, fp = (xp % period)[order], fp[order]
        xp, fp = np.concatenate([[xp[-1] - period], xp, [xp[0] + period]]), np.concatenate([fp[-1:], fp, fp[:1]])
        x, left, right = x % period, None, None
    left, right = fp[0] if left is None else left, fp[-1] if right is None else right
    if len(xp) == 1:
        return each(x, lambda one: np.where(one < xp[0], left, np.where(one > xp[0], right, fp[0])))
    if has_symbols(fp):  # values that are parameters: weights of the points
        weights = Pieces(xp, hats(xp))
        value = lambda one: weights.at(one) @ fp
        return each(x, lambda one: np.where(one < xp[0], left, np.where(one > xp[-1], right, value(one))))
    fp = np.asarray(fp, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):  # as in `hats`
        slope = np.diff(fp) / np.diff(xp)
    return each(x, Pieces(xp, [slope, fp[:-1]], left=left, right=right).at)
