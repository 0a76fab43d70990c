"""Eight elements side by side: their code gives what the code of one gives, and a whole mechanism in groups of eight is right."""

import ctypes

import numpy as np
import pytest

from holonomic import DOP853, RK4, Projection, opaque, simulate
from holonomic.assembly.front_program import Fronts, Structure
from holonomic.assembly.shelves import in_eights, marked, places, shortened
from holonomic.errors import RedundancyWarning
from holonomic.kernels.lone_front import ALONE
from holonomic.kernels.signatures import Fn
from holonomic.model import emit, machine_code
from holonomic.model.compiled import Model
from holonomic.model.emit import PYTHON
from holonomic.model.graphs import tapes
from holonomic.model.model_base import PLAIN
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, rod
from holonomic.planning.reuse import model_of
from holonomic.problems import seven_body

from .test_emit import ANY, DOMAIN, call, one_operation


@pytest.fixture(scope="module")
def operations():
    named = {f"do_{name}": one_operation(name) for name in PYTHON}
    found = [machine_code.addresses(machine_code.compile_tapes(named, lanes), tuple(named)) for lanes in (1, 8)]
    return found


@pytest.mark.parametrize("name", PYTHON)
def test_every_operation_on_eight_numbers_is_that_on_one(name, operations):
    one, eight = operations
    random = np.random.default_rng(sum(map(ord, name)))
    for _ in range(20):
        a, b = random.uniform(*DOMAIN.get(name, ANY), (2, 8))
        if name in ("eq", "ne", "le", "lt", "and", "or", "not", "if_else_zero", "sign", "choose"):
            a, b = np.round(a / 10.0), np.round(b / 10.0)
        known, found = np.zeros(8), np.zeros(8)
        for k in range(8):
            call(one, f"do_{name}", 0.0, a[k : k + 1], b[k : k + 1], a, known[k : k + 1])
        call(eight, f"do_{name}", 0.0, a, b, a, found)
        np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("piece", [100, 500])  # in several pieces, in one
def test_code_for_eight_tells_them_apart_also_where_it_is_long_and_where_angles_are_huge(piece, monkeypatch):
    monkeypatch.setattr(emit, "PIECE", piece)
    problem = seven_body()
    q, v = np.asarray(problem.q0, dtype=float), np.asarray(problem.v0, dtype=float)
    model = Model(problem.system, q, v)
    tape = tapes(model._derived(PLAIN), (Fn.FIELD,))[Fn.FIELD]
    name = f"in_{piece}"
    one, eight = (machine_code.addresses(machine_code.compile_tapes({name: tape}, lanes), (name,)) for lanes in (1, 8))
    data, random = model.data(), np.random.default_rng(3)
    x = np.concatenate([q, v]) + 0.1 * random.uniform(-1, 1, (8, 14))
    x[3, 2] += 2e5 * np.pi  # for the mathematics library
    known, found = np.zeros((8, len(tape.outputs))), np.zeros((len(tape.outputs), 8))
    for k in range(8):
        call(one, name, 0.0, x[k].copy(), x[k].copy(), data, known[k])
    side_by_side = np.ascontiguousarray(x.T)
    call(eight, name, 0.0, side_by_side, side_by_side, np.ascontiguousarray(np.repeat(data[:, None], 8, axis=1)), found)
    np.testing.assert_allclose(found.T, known, rtol=1e-9, atol=1e-11 * np.abs(known).max())


def test_a_function_of_outside_is_called_once_for_elements_that_give_it_the_same():
    calls = []

    def pull(y):
        calls.append(1)
        return -3.0 * np.asarray(y)

    law, m, counts = opaque(pull), Mechanism(), []
    for i in range(3):
        m.body(f"b{i}", rod((i, 0), (i + 0.3, -0.3 - 0.1 * i), mass=1.0))
        m.revolute(f"j{i}", m.ground, f"b{i}", at=(i, 0))
    m.force("wind", "b0", value=lambda b0: (law(b0.position)[0], 0.0))
    for how in ("never", "now"):
        calls.clear()
        sol = simulate(m, 0.1, compile=how, integrator=RK4(), stabilization=Projection(), step=0.01)
        counts.append(len(calls))
    assert sol.stats["field evaluations"] <= counts[0] <= counts[1] + 2  # an evaluation calls once, not eight times


def test_places_fill_the_last_eight_with_its_last_and_name_rows_that_follow_one_another():
    assert places(10, 3, 104).tolist() == [104, 128, 105, 129, 106, 130, 107, 131, 108, 132]
    table = in_eights(np.arange(18).reshape(9, 2))
    assert table.shape == (2, 2, 8)
    assert table[0, 0].tolist() == [0, 4, 8, 12, 16, 16, 16, 16]
    assert table[1].tolist() == [[2, 6, 10, 14, 14, 14, 14, 14], [3, 7, 11, 15, 15, 15, 15, 15]]
    assert marked(np.arange(5, 13))[0] == ~5
    assert marked(np.array([0, 2, 1, 3, 4, 5, 6, 7]))[0] == 0
    copied = np.array([[8, 9, 10, 10, 10, 10, 10, 10], [11, 12, 12, 12, 12, 12, 12, 12]])
    assert marked(copied, 5)[:, 0].tolist() == [~8, 11]  # where all eight places are its own
    assert marked(copied)[:, 0].tolist() == [8, 11]


def test_eight_places_that_follow_one_another_take_one_word():
    eights = np.array([[5, 6, 7, 8, 9, 10, 11, 12], [0, 2, 1, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15], [3] * 8])
    words = shortened(marked(eights))
    assert words[:4].tolist() == [~5, 4, ~8, 12]
    assert words[4:12].tolist() == eights[1].tolist()
    assert words[12:].tolist() == [3] * 8
    assert shortened(np.zeros((0, 8), dtype=np.int64)).size == 0


def structure(n, edges, height=2):
    """Nodes with these heights, of which each edge is a lump."""
    touches = np.array([(node, lump) for lump, nodes in enumerate(edges) for node in nodes], dtype=np.int64)
    node, lump = (np.ascontiguousarray(column) for column in touches.T)
    return Structure(np.full(n, height, dtype=np.int64), node, lump, len(edges))


def test_of_a_chain_every_second_goes_at_once_and_levels_grow_with_the_logarithm():
    fronts = Fronts(structure(1000, [(k, k + 1) for k in range(999)]))
    assert sorted(fronts.own[:1000].tolist()) == list(range(1000))
    assert fronts.levels.max() <= 10
    assert np.count_nonzero(fronts.levels == 0) >= 499


def test_nodes_of_one_front_never_touch_those_of_another_of_the_same_level():
    random = np.random.default_rng(4)
    edges = [tuple(random.choice(60, size=random.integers(2, 4), replace=False)) for _ in range(90)]
    fronts = Fronts(structure(60, edges))
    assert sorted(fronts.own[:60].tolist()) == list(range(60))
    front_of = np.empty(60, dtype=int)
    for f in range(fronts.many):
        front_of[fronts.own[fronts.own_first[f] : fronts.own_first[f + 1]]] = f
    # what fill couples: an elimination of the pattern, front after front
    coupled = [set() for _ in range(60)]
    for edge in edges:
        for node in edge:
            coupled[node] |= set(edge) - {node}
    for node in fronts.own[:60]:
        rest = [other for other in coupled[node] if fronts.when[other] > fronts.when[node]]
        for other in rest:
            same = front_of[other] == front_of[node]
            assert same or fronts.levels[front_of[other]] > fronts.levels[front_of[node]]
            coupled[other] |= set(rest) - {other}


def test_a_random_tree_of_unequal_bodies_keeps_its_energy_and_its_joints():
    m, random, ends = Mechanism(), np.random.default_rng(7), [("ground", np.zeros(2))]
    for i in range(37):
        before, at = ends[random.integers(max(0, len(ends) - 6), len(ends))]
        to = at + random.uniform(-0.2, 0.2, 2)
        m.body(f"b{i}", rod(at, to, mass=random.uniform(0.05, 0.5)))
        m.revolute(f"j{i}", before, f"b{i}", at=at)
        if i % 3 == 0:
            m.torsion_spring(f"j{i}", stiffness=random.uniform(0.1, 1.0))
        ends.append((f"b{i}", to))
    sol = simulate(m, 0.3, compile="never", integrator=DOP853(), stabilization=Projection(), rtol=1e-9, save_at=4)
    assert np.abs(sol.energy_error).max() < 1e-8
    assert max(np.abs(sol.drift[level]).max() for level in ("position", "velocity")) < 1e-10


def test_bodies_whose_inertia_is_a_whole_matrix_stand_beside_others():
    m = Mechanism(gravity=(0, 0, -9.81))
    before, whole = "ground", [[2e-4, 5e-5, 0], [5e-5, 3e-4, 2e-5], [0, 2e-5, 4e-4]]
    for i in range(11):
        at = np.array([0.1 * i, 0.0, 0.0])
        given = {"inertia": whole if i % 3 == 1 else (2e-4, 3e-4, 4e-4)}
        m.body(f"b{i}", at=at + (0.05, 0, 0), mass=0.1, **given)
        m.spherical(f"j{i}", before, f"b{i}", at=at)
        before = f"b{i}"
    sol = simulate(m, 0.2, compile="never", integrator=DOP853(), stabilization=Projection(), rtol=1e-9, save_at=3)
    assert np.abs(sol.energy_error).max() < 1e-8


def net(n, diagonals):
    """Points on rods, held at one corner; with diagonals there are more rods than it takes to hold it."""
    m = Mechanism()
    for i in range(n):
        for j in range(n):
            m.body(f"p{i}-{j}", at=(0.1 * i, -0.1 * j), mass=0.01 + 0.001 * ((3 * i + j) % 5))
    steps = [(1, 0), (0, 1), (1, 1), (1, -1)] if diagonals else [(1, 0), (0, 1)]
    for i in range(n):
        for j in range(n):
            for k, l in ((i + di, j + dj) for di, dj in steps):
                if k < n and 0 <= l < n:
                    ends = ((0.1 * i, -0.1 * j), (0.1 * k, -0.1 * l))
                    m.distance(f"r{i}-{j}-{k}-{l}", f"p{i}-{j}", f"p{k}-{l}", at=ends)
    m.revolute("held", m.ground, "p0-0", at=(0, 0))
    return m


@pytest.mark.parametrize("diagonals", [False, True])
def test_large_fronts_solve_the_equations_of_a_net_also_where_rods_repeat_others(diagonals):
    m = net(12 if diagonals else 20, diagonals)
    system, q, v = m.to_system(compile="never")
    model = OperatorModel(system, q, v)
    if diagonals:
        with pytest.warns(RedundancyWarning):
            simulate(m, 1e-4, compile="never", integrator=RK4(), stabilization=Projection(), step=1e-4)
        system, q, v = m.to_system(compile="never")
        model = model_of(system, q, v, 0.0)
    field = system.operators(None)[Fn.FIELD].context
    head = next(context.memory for context in system._arranged[0].by_v if context.address == field)
    order = np.ctypeslib.as_array((ctypes.c_int64 * head.groups).from_address(head.order))
    words = np.ctypeslib.as_array((ctypes.c_int64 * (int(order[-1]) + 2)).from_address(head.program))
    own, rows = words[order], words[order + 1]
    assert rows.max() >= ALONE
    assert (rows - own).max() >= ALONE or not diagonals  # and what one large front leaves to another
    x, data = np.concatenate([q + 1e-3 * np.sin(np.arange(len(q))), 0 * v]), model.data()
    out = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), data)
    nv, n = len(v), model.n_lam
    slope, lam = out[len(q) : len(q) + nv], out[len(q) + nv : -1]
    pull = model.evaluate(Fn.REACTIONS, 0.0, x, lam, data)
    masses = np.array([m.params[f"{name}.mass"] for name in m.bodies])
    weight = np.array([0.0, -9.81])
    rest = masses[:, None] * (slope.reshape(-1, 3)[:, :2] - weight) - pull.reshape(-1, 3)[:, :2]
    assert np.abs(rest).max() < 1e-9 * np.abs(pull).max()
    # G v', a row at a time: -(-Gᵀ e) v'
    rows = [model.evaluate(Fn.REACTIONS, 0.0, x, row, data) @ slope for row in np.eye(n)]
    if not diagonals:  # off the constraints rows that repeat others disagree
        assert np.abs(rows).max() < 1e-9 * np.abs(slope).max()
