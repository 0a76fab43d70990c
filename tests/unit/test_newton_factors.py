"""Newton's matrix by straight-line code: its solutions, what it says of itself, and dense LU where it does not serve."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
import pytest

import holonomic as h
from holonomic import simulate
from holonomic.errors import DONE, OK
from holonomic.kernels.newton_operators import GROWTH
from holonomic.kernels.signatures import N_FUNCTIONS, Fn
from holonomic.loop.from_python import invoke
from holonomic.model.emit import python_source
from holonomic.model.newton_factors import MOST_PRODUCTS, choose_order, products_of, unrolled
from holonomic.model.sparse_factors import KERNELS, SparseElimination
from holonomic.model.tape import Tape, TapeBuilder
from holonomic.problems import get
from holonomic.running.run import Run

ALL = (Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE)


def as_function(tape):
    space = {"math": math}
    exec(python_source(tape, "made"), space)

    def call(t, a, b):
        out = np.zeros(len(tape.outputs))
        space["made"](t, a, b, None, out)
        return out

    return call


def parts(A, B):
    """Tapes that hand on A and B, zeros left out and ones as constants."""
    made = []
    for M in (A, B):
        builder, outputs = TapeBuilder(), []
        for k, value in enumerate(M.ravel()):
            node = ("const", float(value)) if abs(value) == 1.0 else ("in", 1, k)
            outputs.append(None if value == 0.0 else builder.add(node))
        made.append(Tape(tuple(builder.nodes), tuple(outputs)))
    return made


@pytest.fixture
def saddle():
    """Matrices like those of index 2: q, v and λ, 5 + 5 + 2 unknowns."""
    rng = np.random.default_rng(3)
    M, G, K = np.diag(rng.uniform(1, 3, 5)), rng.normal(size=(2, 5)), rng.normal(size=(5, 5))
    M[0, 1] = M[1, 0] = 0.4
    zero, eye = np.zeros, np.eye
    A = np.block([[zero((5, 5)), -eye(5), zero((5, 2))], [K, zero((5, 5)), G.T], [zero((2, 5)), G, zero((2, 2))]])
    B = np.zeros((12, 12))
    B[:5, :5], B[5:10, 5:10] = eye(5), M
    return A, B


def test_solutions_are_those_of_the_matrix(saddle):
    A, B = saddle
    order = choose_order((A != 0) | (B != 0), [A + w * B for w in (10.0, 1e4)])
    made = {fn: as_function(tape) for fn, tape in unrolled(*parts(A, B), order, ALL).items()}
    both = np.concatenate([A.ravel(), B.ravel()])
    r = np.random.default_rng(4).normal(size=24)
    for w in (3.0, 1e3, 1e6):
        factors = made[Fn.NEWTON_FACTOR](w, both, None)
        known = np.linalg.solve(A + w * B, r[:12])
        # one rounding for each of some 30 operations that an unknown depends on
        assert made[Fn.NEWTON_SOLVE](0.0, factors, r) == pytest.approx(known, rel=1e-11)
        factors = made[Fn.COMPLEX_FACTOR](w, both, np.array([-0.8 * w]))
        known = np.linalg.solve(A + w * (1 - 0.8j) * B, r[:12] + 1j * r[12:])
        assert made[Fn.COMPLEX_SOLVE](0.0, factors, r) == pytest.approx([*known.real, *known.imag], rel=1e-11)
        assert factors[0] < 100.0


def by_lists(A, B, order):
    """The same functions as operators that go by lists."""
    lists = SparseElimination([np.flatnonzero(row).tolist() for row in (A != 0) | (B != 0)], order)
    fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
    for fn in ALL:
        fns[2 * fn], fns[2 * fn + 1] = KERNELS[fn].address, lists.context

    def function(fn):
        def call(t, a, b):
            out = np.zeros(lists.lengths[fn])
            invoke(fns, int(fn), t, a, np.zeros(1) if b is None else b, np.zeros(0), out)
            return out

        return call

    return {fn: function(fn) for fn in ALL} | {"held": lists}


def test_lists_give_the_solutions_and_the_growth_of_straight_line_code(saddle):
    A, B = saddle
    order = choose_order((A != 0) | (B != 0), [A + w * B for w in (10.0, 1e4)])
    code = {fn: as_function(tape) for fn, tape in unrolled(*parts(A, B), order, ALL).items()}
    lists, both = by_lists(A, B, order), np.concatenate([A.ravel(), B.ravel()])
    r = np.random.default_rng(4).normal(size=24)
    for factor, solve, turned in ((ALL[0], ALL[1], None), (ALL[2], ALL[3], np.array([-2.4]))):
        one, two = code[factor](3.0, both, turned), lists[factor](3.0, both, turned)
        assert two[0] == pytest.approx(one[0], rel=1e-12)  # sums of the same numbers
        assert lists[solve](0.0, two, r) == pytest.approx(code[solve](0.0, one, r), rel=1e-11)


def test_lists_solve_with_a_matrix_too_large_for_straight_line_code():
    """A chain of 60 unknowns with ten rows that couple all: some 3000 products; each unknown has an error of some 100 roundings."""
    draw, n = np.random.default_rng(6), 70
    A, B = np.diag(draw.uniform(1, 2, n)), np.diag(draw.uniform(1, 2, n))
    A += np.diag(draw.normal(size=n - 1), 1) + np.diag(draw.normal(size=n - 1), -1)
    A[60:, :] += draw.normal(size=(10, n))
    A[:, 60:] += draw.normal(size=(n, 10))
    pattern = (A != 0) | (B != 0)
    order = choose_order(pattern, [A + w * B for w in (10.0, 1e3)])
    assert products_of(pattern, order) > MOST_PRODUCTS
    assert {len(tape.outputs) for tape in unrolled(*parts(A, B), order, ALL).values()} == {1}  # code refuses
    lists, both, r = by_lists(A, B, order), np.concatenate([A.ravel(), B.ravel()]), draw.normal(size=2 * n)
    factors = lists[Fn.NEWTON_FACTOR](30.0, both, None)
    assert factors[0] < GROWTH
    assert lists[Fn.NEWTON_SOLVE](0.0, factors, r) == pytest.approx(np.linalg.solve(A + 30 * B, r[:n]), rel=1e-9, abs=1e-12)
    factors = lists[Fn.COMPLEX_FACTOR](30.0, both, np.array([-20.0]))
    known = np.linalg.solve(A + (30 - 20j) * B, r[:n] + 1j * r[n:])
    found = lists[Fn.COMPLEX_SOLVE](0.0, factors, r)
    assert found == pytest.approx([*known.real, *known.imag], rel=1e-9, abs=1e-12)


def test_growth_tells_that_a_pivot_has_become_small():
    A, B = np.array([[2.0, 3.0], [4.0, 5.0]]), np.zeros((2, 2))
    order = choose_order(A != 0, [A])
    factor = as_function(unrolled(*parts(A, B), order, ALL[:2])[Fn.NEWTON_FACTOR])
    assert factor(1.0, np.concatenate([A.ravel(), B.ravel()]), None)[0] < 5.0
    A[order[0]] = 1e-7
    assert factor(1.0, np.concatenate([A.ravel(), B.ravel()]), None)[0] > GROWTH
    A[order[0]] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not factor(1.0, np.concatenate([A.ravel(), B.ravel()]), None)[0] <= GROWTH


def test_no_order_where_the_matrix_is_singular_or_large():
    assert choose_order(np.ones((2, 2), dtype=bool), [np.ones((2, 2))]) is None
    assert choose_order(np.ones((2, 2), dtype=bool), [np.full((2, 2), np.nan)]) is None
    assert choose_order(np.eye(2, dtype=bool), [np.full((2, 2), np.nan), np.eye(2)]) is not None
    n = int(np.ceil((3 * MOST_PRODUCTS) ** (1 / 3))) + 1
    full = np.random.default_rng(0).normal(size=(n, n))
    assert choose_order(full != 0, [full]) is None


@pytest.mark.parametrize("integrator", [h.Radau(), h.BDF()], ids=repr)
@pytest.mark.parametrize("formulation", [h.Index1(), h.Index2(), h.GGL(), h.Index3()], ids=repr)
def test_straight_line_code_and_dense_lu_agree(formulation, integrator):
    problem, t_end = get("seven-body"), 0.005
    given = {"formulation": formulation, "integrator": integrator, "stabilization": None}
    straight = simulate(problem, t_end, **given)
    plan = copy(straight.plan)
    assert plan.fns[2 * Fn.NEWTON_FACTOR] != 0
    plan.fns, plan.spare = plan.fns.copy(), []
    plan.fns[2 * Fn.NEWTON_FACTOR] = 0
    start = np.concatenate([straight.q[0], straight.v[0]])
    dense = Run(plan, plan.data(), 0.0, start, t_end, save_t=None, max_steps=10**6, max_step=np.inf, first=None)
    assert dense.begin() == OK
    assert dense.go() == DONE
    t, x, _ = dense.record.joined()
    if integrator == h.BDF():  # which renews factors more often where they are cheap
        assert x[-1, :7] == pytest.approx(straight.q[-1], abs=1e-4)  # ten times what its errors are
        return
    assert len(t) == len(straight.t)
    assert x[-1, :7] == pytest.approx(straight.q[-1], abs=1e-9)  # rounding, over some hundred steps


@pytest.mark.slow
def test_a_mechanism_whose_elimination_is_long_goes_by_lists_and_is_known_to_the_next_model(monkeypatch):
    """Ten links on hinges, GGL: 100 unknowns; as dense matrices the steps are the same to rounding and take five times as long."""
    system, start = chain_of_links(10)
    methods = {"formulation": h.GGL(), "integrator": h.Radau(), "rtol": 1e-6, "atol": 1e-9}
    sol = simulate(system, 0.05, **start, **methods)
    fns = sol.trail.plan.fns
    assert fns[2 * Fn.NEWTON_FACTOR] == KERNELS[Fn.NEWTON_FACTOR].address
    again = simulate(chain_of_links(10)[0], 0.05, **start, **methods)
    assert np.array_equal(again.end.q, sol.end.q)
    monkeypatch.setattr("holonomic.model.newton_factors.choose_order", lambda *given: None)
    plain = simulate(chain_of_links(10, 1.0 + 1e-12)[0], 0.05, **start, **methods)
    assert plain.trail.plan.fns[2 * Fn.NEWTON_FACTOR + 1] == 0
    assert np.max(np.abs(plain.end.q - sol.end.q)) < 1e-7  # both are right to some rtol


def chain_of_links(n, heavy=1.0):
    """Rigid links on hinges in absolute coordinates, hanging to one side, and their start."""

    def ends(q):
        half = 0.05 * np.stack([np.cos(q[2::3]), np.sin(q[2::3])])
        return np.stack([q[0::3], q[1::3]]) - half, np.stack([q[0::3], q[1::3]]) + half

    def hinges(q):
        first, last = ends(q)
        return np.concatenate([first[:, 0], (first[:, 1:] - last[:, :-1]).T.ravel()])

    def force(q, v):
        bend = 2e3 * (q[5::3] - q[2:-1:3]) + 20.0 * (v[5::3] - v[2:-1:3])
        torque = np.concatenate([bend, [0.0]]) - np.concatenate([[0.0], bend])
        return np.stack([np.zeros(n), -0.49 * np.ones(n), torque]).T.ravel()

    M = heavy * np.diag(np.tile([0.05, 0.05, 0.05 * 0.01 / 12], n))
    q0 = np.stack([0.1 * (np.arange(n) + 0.5), np.zeros(n), np.zeros(n)]).T.ravel()
    return h.System(mass=M, force=force, constraint=hinges), {"q0": q0, "v0": np.zeros(3 * n)}
