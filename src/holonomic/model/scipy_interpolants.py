"""Interpolants of SciPy on symbols.

SciPy's interpolants take numbers. A traced function calls their stand-ins instead, which hand numbers on to SciPy and
build the same piecewise polynomial on symbols.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from math import factorial

import numpy as np

from .piecewise import Pieces, each, has_symbols, hats
from .refusals import refusal
from .symbol_array import as_array


class StandIn:
    """What a traced function sees of an interpolant: called with symbols it builds expressions, else it is SciPy's."""

    def __init__(self, thing):
        self.thing = thing

    def __getattr__(self, name):
        found = getattr(self.thing, name)
        if name in ("derivative", "antiderivative"):
            return lambda *args, **kwargs: stand_in(found(*args, **kwargs))
        return found


class PolynomialStandIn(StandIn):
    """PPoly and its kind: CubicSpline, PchipInterpolator, Akima1DInterpolator, CubicHermiteSpline."""

    def __call__(self, x, nu=0, extrapolate=None):
        if not has_symbols(x):
            return self.thing(x, nu, extrapolate)
        shown = self.thing.derivative(nu) if nu else self.thing
        return _on_breaks(x, shown.x, shown.c, self.thing.extrapolate if extrapolate is None else extrapolate, shown.axis)


class BSplineStandIn(StandIn):
    """BSpline, as make_interp_spline gives it."""

    def __call__(self, x, nu=0, extrapolate=None):
        if not has_symbols(x):
            return self.thing(x, nu, extrapolate)
        shown = self.thing.derivative(nu) if nu else self.thing
        breaks, coefficients = _spline_pieces(shown.t, shown.c, shown.k)
        return _on_breaks(x, breaks, coefficients, self.thing.extrapolate if extrapolate is None else extrapolate, shown.axis)


class SmoothingStandIn(StandIn):
    """UnivariateSpline and its kind."""

    def __call__(self, x, nu=0, ext=None):
        if not has_symbols(x):
            return self.thing(x, nu, ext)
        shown = self.thing.derivative(nu) if nu else self.thing
        breaks = shown.get_knots()
        powers = np.array([shown.derivatives(b) for b in breaks[:-1]]).T
        coefficients = np.array([row / factorial(j) for j, row in enumerate(powers)])[::-1]
        outside = self.thing.ext if ext is None else ext
        modes = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
        left, right = {0: (None, None), 1: (0.0, 0.0), 2: (np.nan, np.nan), 3: (float(shown(breaks[0])), float(shown(breaks[-1])))}[
            modes[outside]
        ]
        return each(x, Pieces(breaks, coefficients, left=left, right=right).at)


class Interp1dStandIn(StandIn):
    """interp1d of any kind: the polynomials between its points, found from its values there."""

    def __call__(self, x):
        if not has_symbols(x):
            return self.thing(x)
        f, span = self.thing, self.thing.x[-1] - self.thing.x[0]
        axis = f.axis % np.ndim(f.y)

        def values(points):
            return np.moveaxis(np.asarray(f(points), dtype=float), axis, 0)

        breaks, coefficients = _sampled(values, f.x)
        trailing = coefficients.shape[2:]
        # Pieces to both sides: the value at an end (of "previous" and "next" it differs from the piece beside it), or
        # what it extrapolates to.
        left = right = None
        sides = np.zeros((4, 2, *trailing))
        if isinstance(f.fill_value, str):  # "extrapolate"
            away = span * np.array([0.1, 0.4, 0.7, 1.0])
            sides[:, 0] = _moved(_fitted(-away, values(f.x[0] - away)), -span)
            sides[:, 1] = _fitted(away, values(f.x[-1] + away))
        else:
            sides[-1] = values(f.x[[0, -1]])
            given = np.nan if f.bounds_error else f.fill_value
            left, right = (np.broadcast_to(end, trailing) for end in (given if isinstance(given, tuple) else (given, given)))
        coefficients = np.concatenate([sides[:, :1], coefficients, sides[:, 1:]], axis=1)
        breaks = np.concatenate([[f.x[0] - span], breaks, [f.x[-1] + span]])
        # at a jump, the piece on whose side the value is
        missed = np.abs(values(breaks[1:-1]) - coefficients[-1, 1:]).reshape(len(breaks) - 2, -1)
        closed = np.max(missed, axis=1, initial=0.0) <= 1e-9 * np.max(np.abs(f.y), initial=1e-300)
        return each(x, Pieces(breaks, coefficients, closed, left, right, (f.x[0], f.x[-1])).at, trailing, axis)


class GridStandIn(StandIn):
    """RegularGridInterpolator, linear, of one or more numbers."""

    def __call__(self, xi, method=None, **options):
        if not has_symbols(xi):
            return self.thing(xi, method, **options)
        f = self.thing
        kind = f.method if method is None else method
        if kind != "linear":
            raise refusal(
                f"looks up symbols in a RegularGridInterpolator of method {kind!r}",
                'Use method="linear", or RectBivariateSpline(x, y, values).ev(x, y) for a smooth table.',
            )
        xi = as_array(np.stack([as_array(part) for part in xi], axis=-1) if isinstance(xi, tuple) else as_array(xi))
        points = xi.reshape(-1, len(f.grid))
        values = [self._value(point) for point in points]
        result = np.empty((len(points), *f.values.shape[len(f.grid) :]), dtype=object)
        for i, value in enumerate(values):
            result[i] = value
        # a single point gives one value in an array, as SciPy has it
        return as_array(result.reshape(*(xi.shape[:-1] or (1,)), *result.shape[1:]))

    def _value(self, point):
        f = self.thing
        value = as_array(np.asarray(f.values, dtype=float))
        outside = None
        for x, grid in zip(point, f.grid, strict=True):
            weights = Pieces(grid, hats(grid)).at(x)  # of the grid's points: two of them are not zero
            value = np.tensordot(weights, value, axes=(0, 0))
            if f.bounds_error or f.fill_value is not None:
                here = (x < grid[0]) | (x > grid[-1])
                outside = here if outside is None else outside | here
        if outside is not None:
            value = np.where(as_array(outside), np.nan if f.bounds_error else f.fill_value, value)
        return value


class SurfaceStandIn(StandIn):
    """RectBivariateSpline and its kind: Σ c_ij B_i(x) B_j(y), constant outside as SciPy has it."""

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        if not has_symbols(x, y):
            return self.thing(x, y, dx, dy, grid)
        if not grid:
            return self.ev(x, y, dx, dy)
        x, y = (np.atleast_1d(as_array(value)) for value in (x, y))
        return self.ev(x[:, None], y[None, :], dx, dy)

    def ev(self, x, y, dx=0, dy=0):
        """Return the values at points (x, y)."""
        if not has_symbols(x, y):
            return self.thing.ev(x, y, dx, dy)
        f = self.thing
        (tx, ty), (kx, ky) = f.get_knots(), f.degrees
        c = np.reshape(f.get_coeffs(), (len(tx) - kx - 1, len(ty) - ky - 1))
        wx, wy = _weights(tx, kx, dx), _weights(ty, ky, dy)

        def value(x, y):
            x, y = np.minimum(np.maximum(x, tx[0]), tx[-1]), np.minimum(np.maximum(y, ty[0]), ty[-1])
            return wx.at(x) @ c @ wy.at(y)

        x, y = map(as_array, np.broadcast_arrays(as_array(x), as_array(y)))
        result = np.empty(x.shape, dtype=object)
        for place in np.ndindex(x.shape):
            result[place] = value(x[place], y[place])
        return as_array(result) if result.ndim else result[()]


def stand_in(thing):
    """Return what a traced function calls in place of an interpolant of SciPy's; anything else comes back as it is."""
    interpolate = sys.modules.get("scipy.interpolate")
    if interpolate is None or not type(thing).__module__.startswith("scipy.interpolate"):
        return thing
    for kind, made in (
        (interpolate.PPoly, PolynomialStandIn), (interpolate.BSpline, BSplineStandIn),
        (interpolate.UnivariateSpline, SmoothingStandIn), (interpolate.interp1d, Interp1dStandIn),
        (interpolate.RegularGridInterpolator, GridStandIn), (interpolate.RectBivariateSpline, SurfaceStandIn),
    ):  # fmt: skip
        if isinstance(thing, kind):
            return made(thing)
    return thing


# pieces out of what SciPy keeps


def _on_breaks(x, breaks, coefficients, extrapolate, axis):
    trailing = coefficients.shape[2:]
    if isinstance(extrapolate, str):  # "periodic"
        x = breaks[0] + (as_array(x) - breaks[0]) % (breaks[-1] - breaks[0])
        extrapolate = True
    outside = None if extrapolate else np.full(trailing, np.nan)
    return each(x, Pieces(breaks, coefficients, left=outside, right=outside).at, trailing, axis)


def _spline_pieces(t, c, k):
    """Breaks and coefficients of a B-spline within its base interval; c may have further axes."""
    from scipy.interpolate import BSpline

    breaks = t[k : len(t) - k]
    starts = breaks[:-1]
    rows = [BSpline(t, c, k)(starts, nu=j) / factorial(j) for j in range(k, -1, -1)]
    return breaks, np.array(rows)


def _weights(t, k, nu) -> Pieces:
    """All B-splines of these knots, or their derivatives, as one piecewise polynomial with an axis."""
    from scipy.interpolate import BSpline

    spline = BSpline(t, np.eye(len(t) - k - 1), k)
    shown = spline.derivative(nu) if nu else spline
    return Pieces(*_spline_pieces(shown.t, shown.c, shown.k))


def _sampled(values, x):
    """Breaks and cubics of an interpolant, from its values inside the pieces; halved where one cubic does not fit."""
    breaks, cubics = [x[0]], []
    inner = np.array([0.1, 0.35, 0.65, 0.9])
    for a, b in pairwise(x):
        here = values(a + (b - a) * np.append(inner, [0.45, 0.55]))
        fit = _fitted((b - a) * inner, here[:4])
        told = [np.tensordot([(s * (b - a)) ** j for j in (3, 2, 1, 0)], fit, axes=1) for s in (0.45, 0.55)]
        if np.allclose(told, here[4:], rtol=1e-9, atol=1e-9 * max(np.max(np.abs(here)), 1e-300)):
            pieces = [(a, b, fit)]
        else:  # the nearest of two points
            middle = (a + b) / 2
            pieces = [
                (low, high, _fitted((high - low) * inner, values(low + (high - low) * inner)))
                for low, high in ((a, middle), (middle, b))
            ]
        for _, high, fit in pieces:
            breaks.append(high)
            cubics.append(fit)
    return np.array(breaks), np.moveaxis(np.array(cubics), 0, 1)


def _fitted(offsets, values):
    """Coefficients, highest power first, of the cubic through four values; powers that are only rounding are left out."""
    scale = np.max(np.abs(offsets))
    found = np.linalg.solve(np.vander(offsets / scale, 4), values.reshape(4, -1)).reshape(values.shape)
    found[np.abs(found) <= 1e-13 * np.max(np.abs(values), initial=0.0)] = 0.0
    return found / scale ** np.arange(3, -1, -1.0).reshape(-1, *[1] * (values.ndim - 1))


def _moved(coefficients, by):
    """The same cubic with its origin moved."""
    d3, d2, d1, d0 = coefficients
    return np.array([d3, d2 + 3 * d3 * by, d1 + 2 * d2 * by + 3 * d3 * by**2, d0 + d1 * by + d2 * by**2 + d3 * by**3])
