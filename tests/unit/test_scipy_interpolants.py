"""Interpolants of SciPy and np.interp on symbols have SciPy's values everywhere, at and beyond their ends, too."""

import numpy as np
import pytest
from scipy import interpolate

from holonomic import UntraceableFunction
from holonomic.model import make_symbols, symbolics
from holonomic.model.scipy_interpolants import stand_in

RANDOM = np.random.default_rng(0)
X = np.sort(RANDOM.uniform(0, 5, 9))
Y = RANDOM.normal(size=9)
ROUND = np.append(Y[:-1], Y[0])
PAIRS = RANDOM.normal(size=(9, 2))
POINTS = np.concatenate([RANDOM.uniform(-1, 6, 200), X])
GX, GY, GRID = np.linspace(0, 2, 7), np.linspace(-1, 1, 5), RANDOM.normal(size=(7, 5))
# Both are piecewise polynomials of values of order 1 in other bases; of degree 5 with pieces of unequal lengths the
# coefficients are of order 1e4.
CLOSE = 1e-11


def compared(table, call, points):
    """Largest difference between a table on symbols and SciPy's on numbers; nan agrees with nan and with a refusal."""
    pairs = [make_symbols.symbol_scalar(name) for name in "xyz"[: points.shape[1]]]
    with make_symbols.tracing("force()"):
        value = make_symbols.to_sx(call(stand_in(table), *(symbol for _, symbol in pairs)))
    function = symbolics.function_of([sx for sx, _ in pairs], [value])
    worst = 0.0
    for point in points:
        try:
            wanted = np.ravel(np.asarray(call(table, *point), dtype=float))
        except ValueError:  # outside, where SciPy refuses
            wanted = np.full(value.numel(), np.nan)
        found = np.ravel(np.array(function(*point).T))
        assert np.array_equal(np.isnan(wanted), np.isnan(found)), point
        worst = np.maximum(worst, np.max(np.abs(wanted - found), where=~np.isnan(wanted), initial=0.0))
    return worst


PLAIN = {
    "CubicSpline": interpolate.CubicSpline(X, Y),
    "CubicSpline of two values": interpolate.CubicSpline(X, PAIRS),
    "CubicSpline along the second axis": interpolate.CubicSpline(X, PAIRS.T, axis=1),
    "CubicSpline that ends": interpolate.CubicSpline(X, Y, extrapolate=False),
    "periodic CubicSpline": interpolate.CubicSpline(X, ROUND, bc_type="periodic"),
    "PchipInterpolator": interpolate.PchipInterpolator(X, Y),
    "Akima1DInterpolator": interpolate.Akima1DInterpolator(X, Y),
    "PPoly": interpolate.PPoly(RANDOM.normal(size=(3, 8)), X),
    "BSpline of two values": interpolate.make_interp_spline(X, PAIRS),
    **{f"BSpline of degree {k}": interpolate.make_interp_spline(X, Y, k=k) for k in (1, 2, 3, 5)},
    **{f"spline, ext={ext}": interpolate.InterpolatedUnivariateSpline(X, Y, ext=ext) for ext in range(4)},
    "UnivariateSpline": interpolate.UnivariateSpline(X, Y, s=1.0),
    "interp1d of two values": interpolate.interp1d(X, PAIRS.T),
    "interp1d along the first axis": interpolate.interp1d(X, PAIRS, axis=0),
}


@pytest.mark.parametrize("name", PLAIN)
def test_spline_on_symbols_is_scipys(name):
    # the period's remainder rounds differently at the very ends of a period
    points = POINTS + 1e-3 if "periodic" in name else POINTS
    assert compared(PLAIN[name], lambda f, x: f(x), points[:, None]) < CLOSE


@pytest.mark.parametrize("options", [{}, {"fill_value": "extrapolate"}, {"bounds_error": False},
                                     {"bounds_error": False, "fill_value": (1.0, 2.0)}])  # fmt: skip
@pytest.mark.parametrize("kind", ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic"])
def test_interp1d_on_symbols_is_scipys(kind, options):
    assert compared(interpolate.interp1d(X, Y, kind=kind, **options), lambda f, x: f(x), POINTS[:, None]) < CLOSE


@pytest.mark.parametrize(
    "call",
    [lambda f, x: f(x, 1), lambda f, x: f.derivative()(x), lambda f, x: f.derivative(2)(x), lambda f, x: f.antiderivative()(x)],
)
@pytest.mark.parametrize("name", ["CubicSpline", "BSpline of degree 3", "UnivariateSpline"])
def test_derivatives_of_splines_are_scipys(name, call):
    # the slopes of these splines reach 1e2, their antiderivatives grow outside
    assert compared(PLAIN[name], call, POINTS[:, None]) < 100 * CLOSE


@pytest.mark.parametrize("options", [{}, {"left": 7.0, "right": 8.0}, {"period": 4.0}])
def test_np_interp_on_symbols_is_numpys(options):
    assert compared(None, lambda _, x: np.interp(x, X, Y, **options), POINTS[:, None]) == 0.0


@pytest.mark.filterwarnings("error")
def test_np_interp_of_a_whole_period_is_numpys_without_a_warning():
    turn = np.linspace(0, 2 * np.pi, 9)  # its ends are one point
    points = np.linspace(-7, 9, 100)[:, None]
    assert compared(None, lambda _, x: np.interp(x, turn, np.sin(turn), period=2 * np.pi), points) < 1e-15


def test_np_interp_takes_symbols_as_values():
    x, p = make_symbols.symbol_scalar("x"), make_symbols.symbol_vector("p", 9)
    function = symbolics.function_of([x[0], p[0]], [make_symbols.to_sx(np.interp(x[1], X, p[1]))])
    for point in POINTS:
        assert function(point, Y).item() == pytest.approx(np.interp(point, X, Y), abs=1e-14)


BOX = np.column_stack([RANDOM.uniform(-0.5, 2.5, 200), RANDOM.uniform(-1.3, 1.3, 200)])


@pytest.mark.parametrize("options", [{}, {"bounds_error": False, "fill_value": 3.0}, {"bounds_error": False, "fill_value": None}])
@pytest.mark.parametrize("call", [lambda f, x, y: f((x, y)), lambda f, x, y: f([x, y]), lambda f, x, y: f([[x, y]])])
def test_grids_on_symbols_are_scipys(call, options):
    assert compared(interpolate.RegularGridInterpolator((GX, GY), GRID, **options), call, BOX) < 1e-14


@pytest.mark.parametrize("call", [lambda f, x, y: f(x, y), lambda f, x, y: f.ev(x, y), lambda f, x, y: f(x, y, grid=False)])
def test_surfaces_on_symbols_are_scipys(call):
    assert compared(interpolate.RectBivariateSpline(GX, GY, GRID), call, BOX) < 1e-13


def test_slopes_of_surfaces_are_scipys_inside():
    inside = BOX[(BOX[:, 0] > 0) & (BOX[:, 0] < 2) & (np.abs(BOX[:, 1]) < 1)]
    surface = interpolate.RectBivariateSpline(GX, GY, GRID)
    assert compared(surface, lambda f, x, y: f.ev(x, y, dx=1), inside) < 1e-12


def test_derivative_of_a_table_is_exact():
    """What is differentiated is the polynomial of the piece, so that the slope of the expression is SciPy's slope."""
    sx, x = make_symbols.symbol_scalar("x")
    spline = interpolate.CubicSpline(X, Y)
    slope = symbolics.function_of([sx], [symbolics.jacobian(make_symbols.to_sx(stand_in(spline)(x)), sx)])
    for point in POINTS:
        assert slope(point).item() == pytest.approx(float(spline(point, 1)), rel=1e-11, abs=1e-11)


def test_numbers_go_to_scipy_itself():
    spline = interpolate.CubicSpline(X, Y)
    assert stand_in(spline)(1.234) == spline(1.234)
    assert stand_in(spline).x is spline.x
    assert stand_in(np.sin) is np.sin


def test_a_table_that_is_too_long_is_refused():
    x = np.linspace(0, 1, 3001)
    with make_symbols.tracing("force()"), pytest.raises(UntraceableFunction, match="table of 3001 points"):
        stand_in(interpolate.CubicSpline(x, np.sin(x)))(make_symbols.symbol_scalar("x")[1])


def test_a_smooth_grid_names_what_to_use_instead():
    grid = interpolate.RegularGridInterpolator((GX, GY), GRID, method="cubic")
    with make_symbols.tracing("force()"), pytest.raises(UntraceableFunction, match="RectBivariateSpline"):
        stand_in(grid)([make_symbols.symbol_scalar("x")[1], 0.0])
