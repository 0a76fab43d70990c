"""Rows that repeat others, named at any size; and batches of steppers that run as tables by their size."""

import re
import time
import warnings

import numpy as np
import pytest

from holonomic import RK4, BatchStepper, Index2, Projection, Radau, Stepper, simulate
from holonomic.errors import RedundancyWarning, SingularPosition
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, rod
from holonomic.starting.rank import rank_by_rows, redundant_rows, rows_that_repeat, terms

from .test_tables import chain

ONCE = {"step": 1e-6, "integrator": RK4()}


def four_bars(n):
    """Four-bars of hinges in space, side by side: three rows of each repeat others."""
    m = Mechanism(gravity=(0, 0, -9.81))
    for k in range(n):
        A, B, C, D = (3.0 * k, 0, 0), (3.0 * k, 0, 1), (3.0 * k + 1, 0, 1.2), (3.0 * k + 1, 0, 0)
        for name, ends in {"arm": (A, B), "bar": (B, C), "rocker": (D, C)}.items():
            m.body(f"{name} {k}", rod(*ends, mass=1.0))
        for name, *pair, at in (
            ("A", m.ground, f"arm {k}", A), ("B", f"arm {k}", f"bar {k}", B), ("C", f"bar {k}", f"rocker {k}", C),
            ("D", m.ground, f"rocker {k}", D),
        ):  # fmt: skip
            m.revolute(f"{name} {k}", *pair, at=at, axis=(0, 1, 0))
    return m


def told(m):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sol = simulate(m, 1e-6, compile="never", **ONCE)
    return sol, [str(each.message) for each in said if each.category is RedundancyWarning]


@pytest.mark.parametrize("n", [3, 6, 110])
def test_rows_that_repeat_others_are_told_by_pivots_as_by_the_whole_matrix(n):
    m = four_bars(n)
    system = m.to_tables()
    model = OperatorModel(system, m.assembly.q, m.assembly.v)
    data, x = model.data(), np.concatenate([m.assembly.q, m.assembly.v])
    system.set_rank(3 * n, 3 * n)
    gone, G = system.repeating, system.sparse_rows(0.0, x, data)
    assert gone.sum() == 3 * n and G.nnz < 120 * n
    kept, involved, repeats = rows_that_repeat(model.row_labels, G, gone)
    assert set(kept) == set(np.flatnonzero(~gone)) and not repeats  # they are not shown
    if n > 6:
        return
    dense = terms(model, 0.0, m.assembly.q, m.assembly.v, data)[2]
    assert G.toarray() == pytest.approx(dense, abs=1e-14)
    assert rank_by_rows(dense[list(kept)])[0] == len(kept) == rank_by_rows(dense)[0]  # the others are independent
    assert set(involved) == set(redundant_rows(model.row_labels, dense, kept)[1])


def test_what_repeats_what_is_told_where_few_rows_do():
    m = Mechanism()
    rods = m.chain("rope", at=((0, 0), (400, 0)), links=400, mass=4.0, first=m.ground)
    m.revolute("again", rods[16], rods[17], at=(17, 0))
    _, (text,) = told(m)
    assert text == (
        "2 of 802 constraint rows are redundant: 'again[x]' repeats 'rope pin 17[x]'; 'again[y]' repeats 'rope pin 17[y]'. Their "
        "reactions are not unique (the smallest are given)."
    )


def test_redundant_rows_of_three_thousand_bodies_are_named_in_half_a_second():
    m = four_bars(1000)
    assert len(m.bodies) == 3000
    assert m.assembly is not None
    begun = time.process_time()
    _, (text,) = told(m)
    taken = time.process_time() - begun
    assert re.match(r"3000 of 20000 constraint rows are redundant: they are among the 12000 rows of 'A 0', 'B 0', ", text)
    assert "leave out 3 of 'C 0', " in text and "and rows of 994 more; " in text
    assert taken < 5.0  # 0.4 s; 0.1 of them for the names
    named = m.mobility().redundant
    assert sum(named.values()) == 3000 and len(named) == 1000


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_rows_that_do_not_repeat_others_are_not_taken_for_such():
    m = four_bars(3)
    system = m.to_tables()
    model = OperatorModel(system, m.assembly.q, m.assembly.v)
    system.set_rank(9, 9)
    gone = system.repeating
    G = system.sparse_rows(0.0, np.concatenate([m.assembly.q, m.assembly.v]), model.data())
    assert rows_that_repeat(model.row_labels, G, gone) is not None
    wrong = gone.copy()
    wrong[0] = True  # a row that the others do not make up
    assert rows_that_repeat(model.row_labels, G, wrong) is None
    system.set_rank(8, 8)
    assert system.repeating is None  # as many as were counted, or none


def test_batches_run_as_tables_beyond_a_hundred_bodies_as_steppers_do():
    m, speeds = chain(120), np.random.default_rng(2).uniform(-0.01, 0.01, (3, 120))
    v0 = np.zeros((3, 360))
    v0[:, 2::3] = speeds
    v0[:, :2] = 0.0
    start = {"v0": np.array([simulate(m, 1e-6, v0=v, initial="project", **ONCE).v[0] for v in v0])}
    batch = BatchStepper(m, 6, workers=2, **start)
    assert batch.plan.tier == "tables" and BatchStepper(chain(5), 2).plan.tier == "code"
    for _ in range(3):
        assert batch.step(0.002) == {}
    for member in range(3):
        alone = Stepper(m, v0=start["v0"][member])
        for _ in range(3):
            alone.step(0.002)
        assert np.array_equal(batch.q[member], alone.q) and np.array_equal(batch.q[member + 3], alone.q)


def test_batches_of_tables_take_inputs_and_implicit_methods():
    how = {"integrator": Radau(), "formulation": Index2(), "stabilization": Projection(), "rtol": 1e-4}

    def pushed():
        m = chain(110)
        m.input("kick", 0.0)
        m.force("push", "link 109", value=lambda u: np.array([0.0, u.kick]))
        return m

    batch = BatchStepper(pushed(), 3, **how)
    assert batch.plan.tier == "tables" and batch.step(0.01, u={"kick": [0.0, 1.0, 2.0]}) == {}
    for member, kick in enumerate([0.0, 1.0, 2.0]):
        alone = Stepper(pushed(), **how)
        alone.step(0.01, u={"kick": kick})
        assert np.array_equal(batch.q[member], alone.q)
    assert batch.q[2, -2] > batch.q[1, -2] > batch.q[0, -2]


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_a_flat_four_bar_in_space_is_singular_beside_its_redundant_rows():
    m = Mechanism(gravity=(0, 0, -9.81))
    for name, ends in {"a": (0, 1), "b": (1, 3), "c": (2, 3)}.items():
        m.body(name, rod((ends[0], 0, 0), (ends[1], 0, 0), mass=1.0))
    for name, *pair, x in (("A", m.ground, "a", 0), ("B", "a", "b", 1), ("C", "b", "c", 3), ("D", m.ground, "c", 2)):
        m.revolute(name, *pair, at=(x, 0, 0), axis=(0, 1, 0))
    with pytest.raises(SingularPosition, match="4 rows repeat others, 3 do so nearby"):
        simulate(m, 1e-6, compile="never", **ONCE)
