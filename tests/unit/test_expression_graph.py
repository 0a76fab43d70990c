"""Expression graphs: nodes by content, what is simplified, derivatives, patterns, eliminations, walks."""

import gc
import math
import weakref

import mpmath
import numpy as np
import pytest

from holonomic.graph import nodes
from holonomic.graph.derivative_rules import CHOOSING, OF_ONE, OF_TWO
from holonomic.graph.matrix import SX
from holonomic.graph.on_numbers import BY_NAME
from holonomic.graph.sparsity import Sparsity
from holonomic.model import symbolics as g
from holonomic.model.collector_pause import collector_paused
from holonomic.model.emit import PYTHON

RANDOM = np.random.default_rng(11)
INF, NAN = math.inf, math.nan


def on(expression, symbols, *numbers):
    """The number that an expression has."""
    return g.function_of([g.vertcat(*symbols)], [g.densify(expression)])(numbers)


def pair():
    return SX.sym("x"), SX.sym("y")


# nodes


def test_what_is_equal_is_one_node():
    x, y = pair()
    both = [(x + y) * g.unary("sin")(x) for _ in range(2)]
    assert both[0].nodes[0] is both[1].nodes[0] and g.is_equal(*both)
    assert not g.is_equal(x, SX.sym("x"))  # two symbols of one name are two
    assert SX(0.1 + 0.2).nodes[0] is SX(0.30000000000000004).nodes[0]
    assert g.is_equal(x * y, y * x) and not g.is_equal(x - y, y - x)


def test_nodes_live_no_longer_than_what_they_are_made_of():
    x = SX.sym("x")
    made = (x + 1.5) * 3.25
    seen = weakref.ref(made.nodes[0])
    del x, made
    gc.collect()
    assert seen() is None


def test_a_node_depends_on_its_operands_alone_and_not_on_what_was_done_before():
    def tape(first):
        x, y = SX.sym("x"), SX.sym("y")
        if first:  # other operations that might get in the way
            _ = y * x, x * y, (x + y) * (y + x), g.jacobian(x * y / (x + 2.0), x)
        return g.operations([x, y], g.vertcat(x * y + y * x, g.jacobian(g.unary("exp")(x * y) / x, g.vertcat(x, y)).T))

    assert tape(False) == tape(True)


def test_what_holds_for_all_numbers_is_simplified():
    x, y = pair()
    sin, cos, log, exp, sqrt = map(g.unary, ("sin", "cos", "log", "exp", "sqrt"))
    for made, expected in (
        (x + 0, x), (0 + x, x), (x - 0, x), (0 - x, -x), (x * 1, x), (1 * x, x), (x * -1, -x), (x / 1, x), (x / -1, -x),
        (x - x, SX(0)), (x / x, SX(1)), (x * 0, SX(0)), (0 / x, SX(0)), (0 - (-x), x), (x + -y, x - y), (x - (-y), x + y),
        (-x + y, y - x), (-x * -y, x * y), ((x + y) - y, x), ((x - y) + y, x), (x * y / y, x), (x / y * y, x), (x * x / x, x),
        (-(x - y), y - x), (1 / (1 / x), x), (x * (1 / y), x / y), (sin(x) ** 2 + cos(x) ** 2, SX(1)), (log(exp(x)), x),
        (sqrt(x * x), g.fabs(x)), (sqrt(x) * sqrt(x), x), (x + x, 2 * x), (2 * x - x, x), ((2 * x) / (2 * y), x / y),
        (x**0, SX(1)), (x**1, x), (x**0.5, sqrt(x)), (g.fmax(x, x), x), (g.if_else(SX(1), x, y), x), (g.if_else(SX(0), x, y), y),
    ):  # fmt: skip
        assert g.is_equal(made, expected), f"{made} is not {expected}"


def test_operations_on_constants_are_those_of_floating_point():
    for value, expected in (
        (SX(1) / 0, INF), (SX(-1) / 0, -INF), (SX(0) / 0, NAN), (SX(INF) - INF, NAN), (SX(1e308) * 10, INF), (SX(2) ** 0.5, 2**0.5),
        (g.unary("sqrt")(SX(-1)), NAN), (g.unary("log")(SX(0)), -INF), (g.unary("exp")(SX(1e4)), INF), (SX(NAN) + 1, NAN),
        (g.fmin(SX(NAN), 1), NAN), (g.fmax(1, SX(NAN)), NAN), (SX(-0.0), 0.0), (g.unary("floor")(SX(-1.5)), -2.0),
        (g.if_else(SX(0), SX(NAN), SX(3)), 3.0), (SX(0) * INF, 0.0),
    ):  # fmt: skip
        assert float(value) == expected or (math.isnan(expected) and math.isnan(float(value)))
    assert math.copysign(1.0, float(SX(-0.0))) == 1.0


def test_nan_and_infinity_keep_their_ways_through_symbols():
    x, y = pair()
    quotient = on(x / y, (x, y), 1.0, 0.0).item()
    assert quotient == INF and math.isnan(on(x / y, (x, y), 0.0, 0.0).item())
    assert on(g.if_else(x > 0, g.unary("sqrt")(x), y), (x, y), -1.0, 2.0).item() == 2.0  # what is not taken may be NaN
    assert math.isnan(on(x * 0 + y * INF, (x, y), NAN, 0.0).item())
    assert not bool(on(g.fabs(x) < INF, (x,), NAN).item())  # is not folded: how users ask for NaN


def test_every_operation_that_compiled_code_knows_has_numbers_and_a_derivative():
    assert set(BY_NAME) == set(PYTHON) - {"choose"}
    assert set(OF_ONE) | set(OF_TWO) | set(CHOOSING) == set(BY_NAME)


def test_whole_powers_are_products():
    x = SX.sym("x")
    for p in (2, 3, 5, 8, 16, -1, -3):
        names = {name for name, *_ in g.operations([x], x**p)[0]}
        assert names <= {"in", "const", "sq", "mul", "inv"}
        assert on(x**p, (x,), 1.3).item() == pytest.approx(1.3**p, rel=1e-15)


# derivatives

AT = {  # points inside the domain
    "acosh": (1.7,), "log": (0.6,), "sqrt": (0.6,), "log1p": (0.4,), "pow": (1.3, 0.7), "constpow": (1.3, 0.7), "div": (0.9, 1.4),
    "fmod": (2.9, 0.8), "atan2": (0.4, -0.9), "hypot": (0.4, -0.9), "inv": (0.7,), "copysign": (0.4, -0.9),
}  # fmt: skip
MP = {
    "neg": lambda x: -x, "twice": lambda x: 2 * x, "assign": lambda x: x, "sq": lambda x: x * x, "inv": lambda x: 1 / x,
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y, "constpow": lambda x, y: x**y, "fabs": abs, "sign": mpmath.sign, "fmod": mpmath.fmod,
    "copysign": lambda x, y: abs(x) * mpmath.sign(y), "fmin": min, "fmax": max, "if_else_zero": lambda x, y: y if x != 0 else 0,
    "log1p": mpmath.log1p, "expm1": mpmath.expm1, "floor": mpmath.floor, "ceil": mpmath.ceil, "not": lambda x: float(x == 0),
    "lt": lambda x, y: float(x < y), "le": lambda x, y: float(x <= y), "eq": lambda x, y: float(x == y),
    "ne": lambda x, y: float(x != y), "and": lambda x, y: float(x != 0 and y != 0), "or": lambda x, y: float(x != 0 or y != 0),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_derivative_of_each_operation(name):
    """Against differences of 50 digits, forward, backward and along a direction."""
    two = name in OF_TWO or name in CHOOSING
    point = AT.get(name, (0.45, 0.8) if two else (0.45,))
    exact = MP.get(name) or getattr(mpmath, name)
    symbols = [SX.sym("x"), SX.sym("y")][: len(point)]
    f = (g.binary if two else g.unary)(name)(*symbols)
    with mpmath.workdps(50):
        for i in range(len(point)):
            if name == "constpow" and i == 1:
                continue
            order = [int(k == i) for k in range(len(point))]
            at = tuple(map(mpmath.mpf, point))
            slope = mpmath.diff(exact, at, tuple(order)) if two else mpmath.diff(exact, at[0])
            x = g.vertcat(*symbols)
            direction = g.vertcat(*map(float, order))
            for made in (g.jacobian(f, x)[i], g.jtimes(f, x, direction), g.jacobian(g.vertcat(f, f, f), symbols[i])[0]):
                assert on(made, symbols, *point).item() == pytest.approx(float(slope), rel=1e-13, abs=1e-30)


def expression_of(random, symbols, count=60):
    """A chain of random operations on symbols, none of which leaves the domain of the others."""
    sin, cos, exp, sqrt = map(g.unary, ("sin", "cos", "exp", "sqrt"))
    known = list(symbols)
    for _ in range(count):
        a, b = (known[k] for k in random.integers(0, len(known), 2))
        known.append(
            (a + b, a - 2.5 * b, a * b / 3.0, sin(a), cos(a) * b, a / (1.0 + b * b), sqrt(1.0 + a * a), exp(-a * a), g.fmax(a, b))[
                random.integers(9)
            ]
        )
    return g.vertcat(*known[-8:])


@pytest.mark.parametrize("seed", range(8))
def test_jacobians_of_random_expressions(seed):
    """By complex steps where there is no maximum, else by differences; both ways through the graph give them."""
    random = np.random.default_rng(seed)
    x = SX.sym("x", 6)
    y = expression_of(random, g.vertsplit(x))
    point = random.uniform(-1, 1, 6)
    J = g.function_of([x], [g.densify(g.jacobian(y, x))])(point)
    look = g.function_of([x], [g.densify(y)])
    for j in range(6):
        moved = [look(point + s * 1e-3 * np.eye(6)[j])[:, 0] for s in (-2, -1, 1, 2)]
        slope = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / 12e-3
        assert np.allclose(J[:, j], slope, rtol=1e-7, atol=1e-7 * (1 + np.max(np.abs(slope))))
    rows = np.vstack([g.function_of([x], [g.densify(g.jacobian(y[i], x))])(point) for i in range(8)])
    assert np.allclose(rows, J, rtol=1e-12, atol=1e-12)
    d = random.uniform(-1, 1, 6)
    assert np.allclose(g.function_of([x], [g.densify(g.jtimes(y, x, SX(d)))])(point)[:, 0], J @ d, rtol=1e-12, atol=1e-12)
    D = random.uniform(-1, 1, (6, 3))
    assert np.allclose(g.function_of([x], [g.densify(g.jtimes(y, x, SX(D)))])(point), J @ D, rtol=1e-12, atol=1e-12)
    pattern = np.zeros((8, 6), dtype=bool)
    pattern[tuple(np.array(list(g.jacobian_sparsity(y, x).places)).T)] = True
    assert not np.any(J[~pattern]) and g.jacobian(y, x).sparsity() == g.jacobian_sparsity(y, x)


def test_a_branch_that_is_not_taken_has_no_share_in_derivatives():
    x, y = pair()
    f = g.if_else(x > 0, g.unary("sqrt")(x) * y, 3 * x) + g.fmax(x, y) + g.fmin(g.unary("log")(x), y)
    slope = on(g.jacobian(f, g.vertcat(x, y)), (x, y), -1.0, 2.0)
    assert slope.tolist() == [[3.0, 2.0]]


def test_gradients_of_long_sums_stay_short():
    """Backward, a gradient takes a few times as many operations as its function, however many symbols there are."""
    x = SX.sym("x", 200)
    f = g.unary("sin")(g.dot(x, x)) * x[0]
    assert len(g.operations([x], f)[0]) < 700 and len(g.operations([x], g.jacobian(f, x))[0]) < 1400


# patterns and matrices


def test_matrices_behave_as_numpys():
    A, B = (RANDOM.uniform(-1, 1, (4, 4)) * (RANDOM.uniform(0, 1, (4, 4)) < 0.5) for _ in range(2))
    X, Y = g.sparsify(SX(A)), g.sparsify(SX(B))
    assert X.nnz() == np.count_nonzero(A)
    for made, expected in (
        (X @ Y, A @ B), (X + Y, A + B), (X - Y, A - B), (X * Y, A * B), (X.T, A.T), (3 * X, 3 * A), (X + 1, A + 1), (-X, -A),
        (X[1, :], A[1:2]), (X[:, 2], A[:, 2:3]), (X[[0, 3], :], A[[0, 3]]), (X[1:3, 2:], A[1:3, 2:]), (X[-1, -1], A[-1:, -1:]),
        (g.vertcat(X, Y), np.vstack([A, B])), (g.horzcat(X, Y), np.hstack([A, B])), (g.vec(X), A.reshape(-1, 1, order="F")),
        (g.reshape(X, 2, 8), A.reshape(2, 8, order="F")), (g.diag(X), np.diag(A)[:, None]),
        (g.diag(g.vec(X)[:3]), np.diag(A[:3, 0])),
        (g.row_sums(X), A.sum(axis=1)[:, None]), (g.mirrored(X), np.triu(A) + np.triu(A, 1).T), (X / 2.0, A / 2),
        (g.fmax(X, Y), np.maximum(A, B)), (X < Y, (A < B).astype(float)), (g.norm_fro(X), [[np.linalg.norm(A)]]),
        (g.norm_inf(g.vec(X)), [[np.max(np.abs(A))]]), (X @ SX(2.0), 2 * A), (g.ones_like(X), (A != 0).astype(float)),
    ):  # fmt: skip
        assert np.allclose(made.full(), expected, rtol=1e-14, atol=0) and made.shape == np.shape(expected)
    corners = np.zeros((8, 8))
    corners[:4, :4], corners[4:, 4:] = A, B
    assert np.array_equal(g.diagcat(X, Y).full(), corners)
    assert g.vertcat(SX(0, 1), SX(3, 1)).shape == (3, 1) and g.vertcat().shape == (0, 1)
    assert [float(each) for each in g.vertsplit(SX([1, 2, 3]))] == [1, 2, 3]


def test_what_does_not_fit_is_refused():
    x = SX.sym("x", 3)
    for wrong in (
        lambda: x + SX.sym("y", 2), lambda: SX.eye(2) @ x, lambda: g.reshape(x, 2, 2), lambda: SX(Sparsity.dense(2, 1), x),
        lambda: g.vertcat(SX.eye(2), SX.eye(3)), lambda: g.horzcat(x, SX.sym("y", 2)), lambda: g.solve(SX.eye(2), x),
        lambda: g.function_of([x], [SX.sym("z")]), lambda: g.operations([x], SX.sym("z")), lambda: g.function_of([x], [x])([1.0]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"\w"):
            wrong()
    for wrong in (lambda: x[3], lambda: x[-4], lambda: SX.eye(2)[2, 0]):
        with pytest.raises(IndexError):
            wrong()
    with pytest.raises(TypeError, match="no number"):
        float(x[0])


def test_patterns_know_ranks_blocks_and_orders():
    assert g.sprank(SX.eye(4)) == 4 and g.sprank(SX(3, 3)) == 0
    for _ in range(30):
        full = RANDOM.uniform(0, 1, (7, 7)) < 0.25
        A = g.sparsify(SX(np.where(full, RANDOM.uniform(1, 2, (7, 7)), 0.0)))
        numbers = [np.where(full, RANDOM.uniform(1, 2, (7, 7)), 0.0) for _ in range(2)]
        assert g.sprank(A) == max(map(np.linalg.matrix_rank, numbers))
        if g.sprank(A) == 7:
            seen: set[int] = set()
            for rows, columns in A.sparsity().blocks():
                assert {j for i in rows for j in np.flatnonzero(full[i])} <= seen | set(columns)
                seen |= set(columns)
            assert seen == set(range(7))
    arrow = np.eye(6)
    arrow[0], arrow[:, 0] = 1, 1
    order = g.sparsify(SX(arrow)).sparsity().amd()
    assert sorted(order) == list(range(6)) and 0 in order[-2:]  # without fill


# eliminations


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_eliminations_solve(n):
    for density in (0.3, 1.0):
        A = np.where(RANDOM.uniform(0, 1, (n, n)) < density, RANDOM.uniform(-1, 1, (n, n)), 0.0) + 3 * np.eye(n)
        A = A[RANDOM.permutation(n)]
        symmetric = A.T @ A
        b = RANDOM.uniform(-1, 1, (n, 2))
        a = SX.sym("A", n, n)
        made = SX.of(Sparsity.dense(n, n), [node if A[k % n, k // n] else nodes.ZERO for k, node in enumerate(a.nodes)])
        solved = g.function_of([a], [g.densify(g.solve(g.sparsify(made), SX(b)))])(A.ravel(order="F"))
        assert np.allclose(solved, np.linalg.solve(A, b), rtol=1e-10, atol=1e-12)
        Q, R = (part.full() for part in g.qr(g.sparsify(SX(A))))
        assert np.allclose(Q @ R, A, atol=1e-13) and np.allclose(Q.T @ Q, np.eye(n), atol=1e-12) and not np.any(np.tril(R, -1))
        assert np.allclose(g.inv(SX(A)).full(), np.linalg.inv(A), rtol=1e-9, atol=1e-11)
        D, LT, p = g.ldl(g.sparsify(SX(symmetric)))
        U = LT.full() + np.eye(n)
        assert np.allclose(U.T @ np.diag(D.full()[:, 0]) @ U, symmetric[np.ix_(p, p)], rtol=1e-12, atol=1e-12)
        assert np.allclose(g.ldl_solve(SX(b), D, LT, p).full(), np.linalg.solve(symmetric, b), rtol=1e-9, atol=1e-10)
    if n < 4:
        assert float(g.det(SX(A))) == pytest.approx(np.linalg.det(A), rel=1e-12)


# walks


def test_substitution_and_symbols():
    x, y = pair()
    f = g.unary("sin")(x) * y + x
    assert [each.name() for each in g.symvar(f)] == ["x", "y"] and g.depends_on(f, y) and not g.depends_on(x * 2, y)
    moved = g.substitute(f, g.vertcat(x, y), g.vertcat(y, x))  # at once, not one after the other
    assert on(moved, (x, y), 0.3, 0.7).item() == math.sin(0.7) * 0.3 + 0.7
    assert g.is_equal(g.substitute(f, x, SX(0)), SX(0))
    named: dict[float, SX] = {}
    freed = g.with_numbers_replaced([3.7 * x + 2.0, SX(5.5)], lambda v: None if v == 2.0 else named.setdefault(v, SX.sym(f"c{v}")))
    assert set(named) == {3.7, 5.5} and {each.name() for each in g.symvar(freed[0])} == {"x", "c3.7"}


def test_very_deep_expressions_are_no_trouble():
    x = SX.sym("x")
    f = x
    for _ in range(20_000):
        f = g.unary("sin")(f) + x
    assert math.isfinite(on(g.jacobian(f, x), (x,), 0.1).item())
    assert str(f).endswith("...") and len(str(f)) < 1000


def test_expressions_read_as_people_write_them():
    x, y = pair()
    for made, text in (
        (x + y, "(x+y)"), (2 * x, "(2*x)"), (-x, "(-x)"), (x / y, "(x/y)"), (1 / x, "(1/x)"), (x**2.2, "pow(x,2.2)"),
        (x < y, "(x<y)"), (g.unary("sin")(x), "sin(x)"), (x * x, "sq(x)"), (SX(0.25), "0.25"),
    ):  # fmt: skip
        assert str(made) == text


def test_the_collector_waits_and_goes_on():
    was = gc.isenabled()
    gc.enable()
    try:
        with collector_paused():
            assert not gc.isenabled()
            with collector_paused():
                pass
            assert not gc.isenabled()
        assert gc.isenabled()
        with pytest.raises(ZeroDivisionError), collector_paused():
            1 / 0
        assert gc.isenabled()
        gc.disable()
        with collector_paused():
            pass
        assert not gc.isenabled()  # off before, off behind
    finally:
        (gc.enable if was else gc.disable)()
