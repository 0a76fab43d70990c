"""The coefficients of explicit methods have 34 digits: order conditions of all rooted trees, in 60 digits of mpmath."""

from functools import lru_cache

import mpmath
import numpy as np
import pytest

from holonomic.integrators.tableaus import TABLEAUS, Tableau

LEFT = 3e-34  # by rounding to 36 digits of coefficients up to 545


@lru_cache
def trees(nodes: int) -> tuple:
    """All rooted trees with so many nodes, each the tuple of its branches."""
    if nodes == 1:
        return ((),)
    found = []

    def branches(left, most, chosen):
        if left == 0:
            found.append(tuple(chosen))
        for size in range(min(left, most[0]), 0, -1):
            for i, tree in enumerate(trees(size)):
                if (size, i) <= most:
                    branches(left - size, (size, i), [*chosen, tree])

    branches(nodes - 1, (nodes, 0), [])
    return tuple(found)


def order(tree) -> int:
    return 1 + sum(map(order, tree))


def density(tree) -> int:
    """γ of a tree"""
    product = order(tree)
    for branch in tree:
        product *= density(branch)
    return product


class Weights:
    """Elementary weights of a tableau with its stage at the end and its extra stages."""

    def __init__(self, tableau: Tableau):
        exact = {name: np.vectorize(in_digits, otypes=[object])(values) for name, values in tableau.exact.items() if values.size}
        s, extra = tableau.n_stages, tableau.n_extra
        self.A = np.full((s + 1 + extra, s + 1 + extra), mpmath.mpf(0), dtype=object)
        self.A[:s, :s], self.A[s, :s] = exact["A"], exact["b"]
        if extra:
            self.A[s + 1 :] = exact["extra_A"]
        self.exact, self.known = exact, {}

    def __getitem__(self, tree):
        if tree not in self.known:
            value = np.full(len(self.A), mpmath.mpf(1), dtype=object)
            for branch in tree:
                value = value * self.A.dot(self[branch])
            self.known[tree] = value
        return self.known[tree]


def in_digits(value):
    return mpmath.mpf(value.numerator) / value.denominator


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def test_there_are_as_many_trees_as_the_book_says():
    assert [len(trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


@pytest.mark.parametrize("name", sorted(TABLEAUS))
def test_order_conditions_hold_to_34_digits(name):
    tableau = TABLEAUS[name]
    weights, s = Weights(tableau), tableau.n_stages
    b = weights.exact["b"]
    for tree in (tree for nodes in range(1, tableau.order + 1) for tree in trees(nodes)):
        assert abs(b.dot(weights[tree][:s]) - mpmath.mpf(1) / density(tree)) < LEFT
    assert max(abs(row.sum() - c) for row, c in zip(weights.A[:s], weights.exact["c"], strict=True)) < LEFT
    # the conditions of the next order do not all hold: the test sees orders
    rest = [abs(b.dot(weights[tree][:s]) - mpmath.mpf(1) / density(tree)) for tree in trees(tableau.order + 1)]
    assert max(rest) > 1e-8


@pytest.mark.parametrize(("name", "orders"), [("RK23", (2,)), ("RK45", (4,)), ("DOP853", (5, 3))])
def test_estimates_vanish_up_to_their_order(name, orders):
    tableau = TABLEAUS[name]
    weights, s = Weights(tableau), tableau.n_stages
    for row, nodes in zip(weights.exact["error"], orders, strict=True):
        for tree in (tree for n in range(1, nodes + 1) for tree in trees(n)):
            assert abs(row.dot(weights[tree][: s + 1])) < LEFT


BUMPS = [[0, 1, -2, 1, 0, 0, 0], [0, 0, 1, -2, 1, 0, 0], [0, 0, 1, -3, 3, -1, 0], [0, 0, 0, 1, -3, 3, -1]]


@pytest.mark.parametrize("name", ["RK4", "RK23", "RK45", "DOP853"])
def test_dense_output_has_its_order(name):
    tableau = TABLEAUS[name]
    weights, s = Weights(tableau), tableau.n_stages
    P = np.full((len(weights.A), 7), mpmath.mpf(0), dtype=object)
    for i in range(len(tableau.D)):
        P += np.outer(weights.exact["D"][i], BUMPS[i])
    P[:s, 1] += 3 * weights.exact["b"]
    P[:s, 2] -= 2 * weights.exact["b"]
    P[0, :3] += np.array([1, -2, 1])
    P[s, 1:3] += np.array([-1, 1])
    for tree in (tree for n in range(1, tableau.dense_order + 1) for tree in trees(n)):
        wanted = np.array([mpmath.mpf(k + 1 == order(tree)) / density(tree) for k in range(7)])
        beside = 1 + abs(P).T.dot(abs(weights[tree]))  # terms of up to 545 cancel
        assert max(abs(P.T.dot(weights[tree]) - wanted) / beside) < 2 * LEFT


def test_doubles_are_those_next_to_the_exact_numbers():
    for tableau in TABLEAUS.values():
        for name in ("A", "b", "c", "D", "extra_A", "extra_c"):
            assert np.array_equal(getattr(tableau, name), tableau.exact[name].astype(float))


def test_a_tableau_of_doubles_has_no_exact_numbers():
    tableau = Tableau("mine", order=2, A=[[0, 0], [0.5, 0]], b=[0, 1.0], c=[0, 0.5])
    assert not tableau.is_exact and tableau.exact is None and tableau.A[1, 0] == 0.5
