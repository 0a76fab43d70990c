"""Symbols: NumPy code run on them means the same as on numbers, or says why it cannot."""

import math

import numpy as np
import pytest

from holonomic.errors import UntraceableFunction, WrongShape
from holonomic.model import numpy_linalg, symbolics  # noqa: F401  np.linalg on symbols
from holonomic.model.make_symbols import Condition, Symbol, SymbolArray, symbol_scalar, symbol_vector, to_sx, tracing

A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
B = np.array([[2.0, 0.1], [0.3, 1.0]])
X, Y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0, 5.0])

ARITHMETIC = """
q + 1; 1 + q; q - A[0]; A[0] - q; q * q; q[0] * q[1]; q / q[::-1]; 2 / q; -q; +q; abs(q - 1)
q[0] + np.float64(2); np.float64(2) - q[0]; np.arange(3) * q[0]; q[0] / np.arange(1, 4); True * q[0]
q**2; q**3; q**0; q**1; q**16; q**17; q**0.5; q**1.5; q**2.5; q**-1; q**-2; q**-0.5; q**-1.5
q**7.5; q**2.2; q**-0.3; 2**q; q**q; q[0] ** q[1]; q // 0.3; q % 0.3; (q - 1) % 0.3; (q - 1) // 0.3
q[0] % -0.3; q[0] // -0.3; 5 % q; 5 // q; 1.0 % (0.1 + 0 * q[0]); 1.0 // (0.1 + 0 * q[0])
A @ q; q @ A; q @ A @ q; q @ q; A @ (q * A); q.dot(A); A.dot(q); np.eye(3) * q[0]
"""
ELEMENTWISE = """
np.sin(q); np.cos(q); np.tan(q); np.arcsin(q / 2); np.arccos(q / 2); np.arctan(q); np.sinh(q)
np.cosh(q); np.tanh(q); np.arcsinh(q); np.arccosh(q + 1); np.arctanh(q / 2); np.sin(q[0]); np.exp(q)
np.expm1(q); np.exp2(q); np.log(q); np.log1p(q); np.log10(q); np.log2(q); np.sqrt(q); np.cbrt(q - 1)
np.square(q); np.reciprocal(q); np.sign(q - 1); np.floor(3 * q); np.ceil(3 * q); np.trunc(6 * q - 3)
np.abs(q - 1); np.fabs(q - 1); np.conjugate(q); np.degrees(q); np.radians(q); np.deg2rad(q)
np.rad2deg(q); np.power(q, 1.5); np.float_power(q, 2); np.arctan2(q - 1, A[0]); np.arctan2(q[0], q[1])
np.hypot(q, q[0]); np.copysign(q, q - 1); np.fmod(q - 1, 0.3); np.remainder(q - 1, 0.3)
np.floor_divide(q - 1, 0.3); np.logaddexp(q, 1.0); np.negative(q); np.real(q); np.imag(q)
math.floor(3 * q[0]); math.ceil(3 * q[0]); math.trunc(3 * q[0]); q[0].real; q[0].imag; q[0].T; q[0].item()
np.vectorize(np.sin)(q); np.polyval([1.0, 2.0, 3.0], q); np.sinc(q); np.sin(np.concatenate([q, [1.0]]))
np.reciprocal(np.concatenate([q, [2]])); np.power(np.concatenate([q, [2]]), -1)
"""
CHOICES = """
np.maximum(q, 1.0); np.maximum(q[0], 0.0); np.maximum(q[0], [1.0, 0.2]); np.minimum(1.0, q)
np.fmax(q, q[::-1]); np.fmin(q, 0.7); np.maximum(np.array([q[0], 1.0]), q[:2]); np.max(q); q.min()
np.heaviside(q - 1, 0.5); np.heaviside(q - q, 0.3); np.where(q > 1, q, -q); np.where(q[0] > 1, q[1], 0.0)
np.where(q[0] > 1, q, A[0]); np.where([True, False, True], q, 0.0); np.where(q[0] - q[0] > 1, q, 2.0)
np.clip(q, 0.5, 1.0); q.clip(0.5, 1.0); np.clip(q[0], None, 0.7); np.clip(q, q[1], 1.2); q.clip(max=1)
np.select([q < 0.5, q < 1], [2 * q, 3 * q], default=q); np.select([q[0] < 1], [q[1]], 5.0)
np.piecewise(q, [q < 1], [lambda x: x**2, lambda x: 2 * x])
np.piecewise(q, [q < 0.5, q > 1], [1.0, lambda x: 2 * x])
np.interp(2 * q[0], X, Y); np.interp(4 * q - 1, X, Y); np.interp(4 * q - 1, X, Y, left=-1, right=9)
np.interp(X[1], X, Y * q[0]); np.interp(q, [0.5], [2.0]); np.interp(q - q + 4.0, X, Y)
(q > 1) * q; (q >= 1) * 1.0; (q < 1) * 1.0; (q <= 1) * 1.0; (q == q[0]) * 1.0; (q != q[0]) * 1.0
((q > 0.5) & (q < 1)) * q; ((q > 1) | (q < 0.5)) * 1.0; ((q > 0.5) ^ (q < 1)) * 1.0; (~(q > 1)) * 1.0
np.where((q[0] > 0.5) & (q[1] < 1), 1.0, 2.0); np.where(~(q[0] > 1), q[0], 2.0); np.float64(1) < q[0]
np.logical_and(q > 0.5, q < 1) * 1.0; np.logical_or(q > 1, False) * 1.0; np.logical_not(q > 1) * 1.0
np.any(q > 1.2) * 1.0; np.all(q > 0.5) * 1.0; np.sum(q > 1); True & (q[0] > 1)
"""
ALGEBRA = """
np.einsum("i,ij,j", q, A, q); np.einsum("ij,j->i", A, q); np.einsum("ij,jk,k->i", A, A, q, optimize=True)
np.outer(q, q); np.outer(A[0], q); np.inner(q, A[0]); np.dot(q, A); np.dot(A, q); np.matmul(A, q)
np.vdot(q, A[1]); np.tensordot(A, q, 1); np.tensordot(np.outer(q, q), A); np.kron(q, A); np.kron(A, q)
np.diag(q); np.diag(np.outer(q, A[0])); np.diag([q[0], 1.0]); np.trace(np.outer(q, q)); np.vecdot(q, A[0])
np.block([[np.diag(q), A], [A, np.outer(q, q)]]); np.block([[q[0], 1.0], [0.0, q[1]]]); np.block([q[0], 1.0])
np.cross(q, A[0]); np.cross(A[0], q); np.cross(q, q[::-1]); np.cross([q[0], q[1], 0.0], [0.0, 0.0, 1.0])
np.linalg.norm(q); np.linalg.norm(q, 2, keepdims=True); np.linalg.norm(A * q); np.linalg.norm(A * q, axis=1)
np.linalg.norm(A * q, "fro"); np.linalg.norm(A * q, axis=(0, 1)); np.linalg.norm(q, 1)
np.linalg.norm(q, np.inf); np.linalg.norm(np.array([q[0], 2.0])); np.linalg.det(A * q)
np.linalg.det(np.kron(A + np.outer(q, q), B)); np.linalg.matrix_power(A * q, 2)
"""
SOLVES = """
np.linalg.solve(A * q, A[0]); np.linalg.solve(A, q); np.linalg.solve(A * q, A)
np.linalg.solve(np.kron(A + np.outer(q, q), B), np.arange(6.0)); np.linalg.inv(A + np.outer(q, q))
np.linalg.inv(np.kron(A + np.outer(q, q), B))
"""
SHAPES = """
np.concatenate([q, [1.0], A[0]]); np.stack([q, A[0]]); np.stack([q[0], 1.0]); np.hstack([q[0], q, 1.0])
np.vstack([q, A]); np.column_stack([q, A[0]]); np.reshape(A * q, -1); (A * q).ravel(); np.ravel(A * q)
np.sum(q); q.sum(); np.sum(A * q, axis=0); np.prod(q); np.cumsum(q); np.cumprod(q); np.mean(q); q.mean()
np.mean(A * q, axis=1); np.diff(q); np.var(q); np.std(q); sum(q); math.prod(q); q[:0].sum(); q[:0] @ q[:0]
np.zeros_like(q); np.ones_like(q) * q; np.full_like(q, q[0]); np.full_like(q, 2, shape=(2, 2)); np.copy(q)
np.transpose(A * q); (A * q).T; np.roll(q, 1); np.flip(q); np.tile(q, 2); np.repeat(q, 2); q.astype(float)
np.broadcast_to(q, (2, 3)); np.append(q, 1.0); np.append(q, q[0]); np.insert(q, 1, q[0]); np.delete(q, 1)
np.r_[q, 1.0]; np.c_[q, q]; np.triu(A * q); np.split(q, 3)[1]; np.expand_dims(q, 1); np.atleast_2d(q)
q[[0, 2]]; q[::-1]; q[np.array([True, False, True])]; np.take(q, [0, 2]); np.full(2, q[0]); np.array(q) * 2
np.add.outer(q, q); np.maximum.reduce(q); np.multiply.accumulate(q); np.average(q, weights=A[1])
[q[0], 2 * q[1], 1.0]; (q[0], q[1] ** 2); [[q[0], 0], [1, q[1]]]; [q, A[0]]; list(q)
np.array([q[0], 1.0]) ** 2
np.array([[q[0], 1.0], [0.0, q[1]]]) @ np.array([1.0, q[2]]); [q[0], np.array(2.0)]; 3; []; A
"""


def each(text):
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


def gap(text, points):
    """Largest difference between the traced function and NumPy itself, over its largest value."""
    function = eval(f"lambda q: {text}")
    sx, q = symbol_vector("q", 3)
    value = function(q)
    traced = symbolics.function_of([sx], [symbolics.densify(to_sx(value))])
    worst = 0.0
    for x in points:
        own = np.asarray(function(x), dtype=float)
        assert np.shape(value) == own.shape
        mine = np.array(traced(x)).reshape(own.shape)
        scale = np.max(np.abs(own), initial=1e-3)
        worst = np.maximum(worst, np.max(np.abs(mine - own), initial=0.0) / scale)
    return worst


POINTS = np.random.default_rng(0).uniform(0.2, 1.6, (6, 3))


@pytest.mark.parametrize("text", each(ARITHMETIC + ELEMENTWISE + CHOICES + ALGEBRA + SHAPES))
def test_traced_expression_has_numpys_value(text):
    # a few dozen roundings, in the graph's order and in NumPy's
    assert gap(text, POINTS) <= 1e-14


@pytest.mark.parametrize("text", each(SOLVES))
def test_traced_linear_solve_has_numpys_value(text):
    # rounding times the condition number, which stays below 100 at these points
    assert gap(text, POINTS) <= 1e-12


ARRAYS = """
A @ q; q @ A; np.sin(q); A[0] * q[0]; q[0] * A; q[1:]; np.stack([q[0], 1.0])
np.block([[q[0], 1.0], [0.0, q[1]]])
np.array([q[0], 1.0]) * q[0]; np.where(q > 0, q, 0.0); np.zeros_like(q, dtype=float); np.linalg.inv(A * q)
"""
SCALARS = """
q[0]; q @ q; q.sum(); np.float64(2) * q[0]; q[0] * np.array(2.0); np.sin(q[0]); np.maximum(q[0], 0)
np.where(q[0] > 0, 1.0, 2.0); np.linalg.norm(q); np.linalg.det(A * q); np.interp(q[0], X, Y)
"""


@pytest.mark.parametrize("text", each(ARRAYS))
def test_arrays_of_symbols_know_that_they_are(text):
    assert type(eval(text, globals() | {"q": symbol_vector("q", 3)[1]})) is SymbolArray


@pytest.mark.parametrize("text", each(SCALARS))
def test_one_number_is_a_symbol(text):
    assert type(eval(text, globals() | {"q": symbol_vector("q", 3)[1]})) is Symbol


def test_comparison_of_symbols_is_a_condition():
    _, q = symbol_vector("q", 2)
    assert type(q[0] > 0) is Condition
    assert type((q[0] > 0) & (q[1] < 1) | ~(q[0] == 2)) is Condition
    assert (q[0] == None) is False  # noqa: E711
    assert q[0] not in ("a", None)


@pytest.mark.parametrize("power", [2, 3, 8, 0.5, 1.5, 2.5, -1, -2, -0.5, -1.5, np.float64(1.5), np.int64(2)])
def test_small_powers_are_products_and_roots(power):
    _, x = symbol_scalar("x")
    assert "pow" not in str(x**power)


def test_other_powers_stay_powers():
    _, x = symbol_scalar("x")
    assert str(x**2.2) == "pow(x,2.2)"


def test_contact_law_has_a_derivative_where_it_is_off():
    sx, d = symbol_scalar("d")
    force = to_sx(np.maximum(d, 0.0) ** 1.5)
    slope = symbolics.function_of([sx], [symbolics.jacobian(force, sx), symbolics.jacobian(symbolics.jacobian(force, sx), sx)])
    for x in (-1.0, 0.0):
        assert slope(x)[0].item() == pytest.approx(0.0, abs=1e-90)  # sqrt(1e-200) is what is left at 0
    assert slope(-1.0)[1].item() == 0.0
    assert slope(4.0)[0].item() == pytest.approx(3.0, rel=1e-15)


def test_interpolation_hands_on_a_nan():
    sx, x = symbol_scalar("x")
    assert math.isnan(symbolics.function_of([sx], [to_sx(np.interp(x, X, Y))])(math.nan).item())


def test_branch_not_taken_does_not_spoil_value_or_derivative():
    sx, x = symbol_scalar("x")
    y = to_sx(np.where(x > 0, np.sqrt(x), 3.0 * x))
    value, slope = symbolics.function_of([sx], [y, symbolics.jacobian(y, sx)])(-1.0)
    assert (value.item(), slope.item()) == (-3.0, 3.0)


def test_mass_matrix_may_be_filled_entry_by_entry_in_an_object_array():
    _, q = symbol_vector("q", 2)
    own, like = np.zeros((2, 2), dtype=object), np.zeros_like(q, shape=(2, 2))
    for M in (own, like):
        M[0, 0] = M[1, 1] = np.cos(q[0])
        M[0, 1] += q[1]
        np.add.at(M, (0, 1), 2.0)
    expected = to_sx([[np.cos(q[0]), q[1] + 2.0], [0.0, np.cos(q[0])]])
    for M in (own, like):
        assert symbolics.is_equal(to_sx(M), expected)


def test_symbols_that_are_constant_count_as_numbers():
    _, x = symbol_scalar("x")
    a = np.zeros(2)
    a[0] = 0 * x + 2
    assert a[0] == 2.0
    assert float(x - x) == 0.0
    assert bool(x == x)
    assert [5, 6][x / x] == 6


# Collecting the result


def test_vector_and_scalar_carry_names_for_messages():
    sx, q = symbol_vector("q", 2)
    assert sx.shape == (2, 1) and q.shape == (2,)
    assert [str(entry) for entry in q] == ["q[0]", "q[1]"]
    assert symbolics.is_equal(sx[1], q[1].sx)
    assert str(symbol_scalar("t")[1]) == "t"
    assert symbol_vector("u", 0)[0].shape == (0, 1) and symbol_vector("u", 0)[1].shape == (0,)


def test_exact_zeros_leave_the_pattern():
    _, q = symbol_vector("q", 2)
    M = to_sx([[q[0], 0, 0 * q[1]], [0.0, q[1] - q[1], np.float64(1)]], (2, 3))
    assert M.shape == (2, 3)
    assert list(M.sparsity().places) == [(0, 0), (1, 2)]
    assert to_sx(symbolics.vertcat(q[0].sx, 0)).nnz() == 1


@pytest.mark.parametrize(
    ("value", "shape"),
    [(2.0, (1, 1)), ([1, 2], (2, 1)), ([[1, 2]], (1, 2)), ([], (0, 1)), (np.zeros((0, 3)), (0, 3)),
     (True, (1, 1)), (np.ones((2, 1)), (2, 1)),
     (symbolics.SX.sym("x", 2, 3), (2, 3)), ([symbolics.SX.sym("x"), 1.0], (2, 1)),
     (symbolics.SX([1, 2]), (2, 1)), (np.float32(1), (1, 1)), (np.arange(3), (3, 1))],
)  # fmt: skip
def test_result_is_a_matrix_and_one_axis_a_column(value, shape):
    assert to_sx(value).shape == shape


def test_wrong_shape_says_both():
    with tracing("force()"), pytest.raises(WrongShape) as caught:
        to_sx([1.0, 2.0, 3.0], (2,))
    assert str(caught.value) == "force() returned shape (3, 1), but shape (2,) is needed here."
    with pytest.raises(WrongShape, match="3 axes"):
        to_sx(np.zeros((2, 2, 2)))
    assert to_sx(1.0, ()).shape == to_sx([1.0], ()).shape == (1, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [(None, "force() returned nothing: is a `return` missing?"),
     ("x", "force() returned a str."), ({"x": 1}, "force() returned a dict."),
     (abs, "force() returned a builtin_function_or_method."),
     ([1.0, None], "force() returned None at [1]."), ([[1.0], [1j]], "force() returned a complex at [1, 0]."),
     ([1.0, [2.0]], "force() returned an array inside an array at [1]. Join the parts with np.concatenate."),
     ([np.zeros(2), np.zeros(3)], "force() returned an array inside an array at [0]."),
     ([np.zeros((2, 2)), np.zeros((2, 3))], "force() returned rows of different lengths.")],
)  # fmt: skip
def test_result_that_is_no_matrix_is_refused(value, message):
    with tracing("force()"), pytest.raises(UntraceableFunction) as caught:
        to_sx(value)
    assert str(caught.value).startswith(message)


# Messages


def refusal(function, n=3):
    with pytest.raises(UntraceableFunction) as caught, tracing("constraint()"):
        function(symbol_vector("q", n)[1])
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


def test_if_is_refused_with_the_line_and_the_remedy():
    def constraint(q):
        if q[0] > 0:
            return q[0]

    assert refusal(constraint) == (
        'constraint() compares q[0] with a number ("if q[0] > 0"), so its derivative cannot be formed. '
        "Use np.where(q[0] > 0, a, b), or an Event for a change of regime."
    )


@pytest.mark.parametrize(
    ("function", "start", "remedy"),
    [
        (lambda q: 1.0 if q[0] >= q[1] else 0.0, "compares q[0] with q[1] (", "np.where(q[0] >= q[1], a, b)"),
        (lambda q: 0 < q[0] < 1, "compares q[0] with a number (", "np.where(q[0] > 0, a, b)"),
        (lambda q: q[0] > 0.5 or q[1], "compares q[0] with a number (", "np.where(q[0] > 0.5, a, b)"),
        (lambda q: not q[0], "decides by the value of q[0] (", "np.where(q[0] != 0, a, b)"),
        (lambda q: 1 if (q[0] > 0) & ~(q[1] < 2) else 2, "decides by (q[0] > 0) & (~ (q[1] < 2)) (",
         "np.where((q[0] > 0) & (~ (q[1] < 2)), a, b)"),
        (lambda q: 1 if q > 0 else 2, "decides by an array of symbols (", "np.where(condition, a, b)"),
        (lambda q: max(q[0], 0.0), "compares q[0] with a number (", "Use np.maximum"),
        (lambda q: sorted(q), "compares q[1] with q[0] (", "Use np.maximum"),
        (lambda q: np.argmax(q), "uses np.argmax on symbols: which entry it is would change", "Use np.max or np.min"),
        (lambda q: q.argmax(), "uses array.argmax() on symbols: which entry it is would change", "Use np.max or np.min"),
        (lambda q: np.sort(q), "uses np.sort on symbols: which entry comes where would change", "np.minimum and np.maximum"),
        (lambda q: q.sort(), "uses array.sort() on symbols: which entry comes where would change", "np.minimum and np.maximum"),
        (lambda q: np.round(q), "uses np.round on symbols: its value jumps", "np.floor"),
        (lambda q: round(q[0], 2), "rounds q[0] (", "between the jumps its derivative is zero"),
        (lambda q: np.linalg.lstsq(A * q, q), "uses np.linalg.lstsq on symbols: it is made of singular", "np.linalg.solve(A.T @ A"),
        (lambda q: np.maximum(np.array([q[0], 1]), 0.0), "compares q[0] with a number (", "np.block([...])"),
        (lambda q: np.array([q[0], 1.0]) > 0, "compares q[0] with a number (", "np.block([...])"),
        (lambda q: np.sign(np.array([q[0], 1.0])), "compares q[0] with a number (", "np.block([...])"),
        (lambda q: np.where(np.array([q[0] > 0]), 1, 2), "compares q[0] with a number (", "np.block([...])"),
        (lambda q: np.sin(np.array([q[0], 1.0])), "uses a NumPy function on a plain", "np.block([...])"),
        (lambda q: np.heaviside(np.array([q[0]]), 0.5), "uses a NumPy function on", "np.block([...])"),
        (lambda q: np.linalg.solve(np.array([[q[0]]]), [1.0]), "uses a NumPy function on", "np.block([...])"),
        (lambda q: np.interp(np.array([q[0]]), X, Y), "uses a NumPy function on", "np.block([...])"),
        (lambda q: math.sin(q[0]), 'needs the value of the symbol q[0] ("', "functions of NumPy or math"),
        (lambda q: complex(q[0]), "needs the value of the symbol q[0] (", "functions of NumPy or math"),
        (lambda q: int(q[0]), "makes a whole number of q[0] (", "Leave out int, make the array of floats"),
        (lambda q: np.array([q[0], 1], dtype=int), "makes a whole number of q[0] (", "an array of integers cuts"),
        (lambda q: range(q[0]), "uses the symbol q[0] as an index or a count (", "np.interp"),
        (lambda q: [1, 2][q[0]], "uses the symbol q[0] as an index or a count (", "np.interp"),
        (lambda q: X[q[0]], "picks entries of an array by a symbol", "np.interp"),
        (lambda q: np.sin(q[q > 0]) @ q, "calculates with entries picked by a mask (", "np.where"),
        (lambda q: np.isnan(q), "uses np.isnan on symbols (", "np.where"),
        (lambda q: np.linalg.svd(A * q), "uses np.linalg.svd on symbols: its factors", "np.linalg.solve"),
        (lambda q: np.linalg.norm(A * q, 2), "uses np.linalg.norm(..., ord=2) on symbols (", "Use ord=None"),
        (lambda q: np.linalg.solve(q, q), "uses np.linalg.solve on an array of shape (3,) (", "square"),
        (lambda q: np.linalg.det(np.eye(11) * q[0]), "uses np.linalg.det on 11 by 11 symbols (", "10 by 10"),
        (lambda q: np.interp(0.5, q, [1, 2, 3]), "gives symbols as the x values of np.interp (", "numbers"),
        (lambda q: np.where(q > 0), "uses np.where(condition) to find indices (", "np.where(condition, a"),
    ],
)  # fmt: skip
def test_what_needs_a_number_is_refused_with_a_remedy(function, start, remedy):
    message = refusal(function)
    assert message.startswith("constraint() " + start)
    assert remedy in message


def assign_entry(q):
    a = np.zeros(3)
    a[0] = q[0]


def assign_slice(q):
    a = np.zeros((2, 3))
    a[1] = q


def assign_list(q):
    a = np.zeros(2)
    a[:] = [q[0], 1.0]


def add_in_place(q):
    a = np.zeros(3)
    a += q


def scale_in_place(q):
    a = np.ones(3)
    a *= q[0]


def add_at(q):
    np.add.at(np.zeros(3), [0, 1, 0], q)


@pytest.mark.parametrize("function", [assign_entry, assign_slice, assign_list])
def test_assigning_into_floats_raises_and_stores_nothing(function):
    message = refusal(function)
    assert message.startswith("constraint() assigns the symbol q[0] into an array of numbers (")
    assert "Make the array anew inside the function" in message


@pytest.mark.parametrize("function", [add_in_place, scale_in_place, add_at])
def test_changing_floats_in_place_raises(function):
    assert refusal(function).startswith("constraint() changes an array of floats in place by a symbol (")


def test_long_expressions_and_lines_are_shortened():
    message = refusal(lambda q: math.sin(np.sin(q[0]) + np.sin(q[1]) + np.sin(q[2]) + q[0] ** 2 * np.cos(q[1] + q[2])))
    symbol, line = message.split("symbol ")[1].split(' ("')
    assert len(symbol) == 60 and symbol.endswith("...")
    assert line.startswith("math.sin(np.sin(q[0])") and line.split('")')[0].endswith("...")


def test_function_without_source_is_refused_without_a_quotation():
    function = eval(compile("lambda q: 1 if q[0] > 0 else 2", "<nowhere>", "eval"))
    assert refusal(function).startswith("constraint() compares q[0] with a number, so its derivative")


def test_without_a_name_the_message_speaks_of_the_traced_function():
    _, q = symbol_vector("q", 1)
    with pytest.raises(UntraceableFunction, match=r"^the traced function needs the value"):
        float(q[0])


def test_errors_that_are_not_about_symbols_pass_unchanged():
    with pytest.raises(ValueError, match="cannot reshape"), tracing("force()"):
        np.reshape(symbol_vector("q", 3)[1], (2, 2))
    with pytest.raises(TypeError, match="unsupported operand"), tracing("force()"):
        symbol_vector("q", 1)[1][0] + "1"
