"""What tables are arranged with: eight elements side by side, places that stand once, room that is used again."""

import numpy as np
import pytest

from holonomic import Index2, Projection, Radau, System, simulate
from holonomic.assembly.collection import BodyLumps, Collection, fitting
from holonomic.assembly.front_program import Fronts, Structure
from holonomic.assembly.newton_tables import NewtonTables
from holonomic.assembly.shelves import in_eights, in_their_order, marked, places, shortened, standing
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import MANY
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, rod
from holonomic.planning.reuse import model_of


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100])
def test_elements_stand_in_eight_pieces(count):
    width = 3
    x = np.arange(count * width).reshape(count, width)
    eights = in_eights(x).ravel()
    place = places(count, width)
    for i in range(width):
        assert np.array_equal(eights[place + 8 * i], x[:, i])
    groups = -(-count // 8)
    for g in range(groups):  # what is not there is a copy of the last that is
        there = [e for e in range(g, count, groups)]
        whole = in_eights(x).reshape(groups, width, 8)[g, 0]
        assert list(whole[len(there) :]) == [x[there[-1], 0]] * (8 - len(there))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 17, 64, 65, 100])
def test_elements_are_numbered_as_they_stand(count):
    own = places(count, 2, start=48)
    assert np.array_equal(standing(count), np.argsort(np.argsort(own)))
    assert np.array_equal(in_their_order(own), np.sort(own))


def test_equal_places_of_eight_stand_once():
    one, other = np.full(8, 77), np.full(8, 5)
    following, mixed = 200 + np.arange(8), np.array([3, 1, 4, 1, 5, 9, 2, 6])
    x = np.stack([one, following, other, mixed, one])[:, None]
    words = shortened(marked(x))
    read = lambda k: words[words[k] : words[k] + 8] if words[k] >= 0 else ~words[k] + np.arange(8)
    for k, eight in enumerate((one, following, other, mixed, one)):
        assert np.array_equal(read(k), eight)
    assert words[0] == words[4] and len(words) == 5 + 3 * 8


def test_whole_numbers_take_half_the_room_where_they_fit():
    assert fitting([np.array([1, -5]), np.array([7])]).dtype == np.int32
    assert np.array_equal(fitting([np.array([2**31]), np.array([-1])]), [2**31, -1])


def collection():
    nothing = lambda which: (np.zeros(0, dtype=np.int64), np.zeros(0))
    return Collection(BodyLumps(np.ones(1, dtype=int), np.zeros(1, dtype=int)), 3, 3, {}, nothing, np.zeros(3), np.zeros(5))


def test_equal_constants_share_a_place_and_keep_their_sign():
    c = collection()
    at = [c.constant(value) for value in (0.0, 1.5, -0.0, 1.5, 0.0)]
    row = c.constants(np.array([4.0, 5.0, 6.0]))
    at += [c.constant(5.0), *c.constants(np.full(2, 1.5)).tolist()]
    c.settle()
    numbers = np.concatenate([c.values, c.numbers])
    assert numbers[at].tolist() == [0.0, 1.5, 0.0, 1.5, 0.0, 5.0, 1.5, 1.5] and np.signbit(numbers[at[2]])
    assert not np.signbit(numbers[at[0]]) and at[1] == at[3] == at[6] and at[0] == at[4]
    assert numbers[row].tolist() == [4.0, 5.0, 6.0]


def test_ends_of_chains_do_not_wait_for_rows_that_wait_for_them():
    # three rows of one distance each hold a body; two hinges in space of five rows make a chain beside it: its ends are no ends
    # of this round, whose fronts are much smaller
    heights, node, lump = np.array([5, 5, 1, 1, 1]), np.array([0, 1, 1, 2, 3, 4]), np.array([0, 0, 1, 2, 2, 2])
    found = Fronts(Structure(heights, node, lump, 3))
    assert sorted(found.own[: len(heights)]) == list(range(5)) and found.many >= 2


def test_what_fronts_leave_lies_apart_until_it_is_taken():
    random = np.random.default_rng(3)
    for _ in range(20):
        fronts = 60
        later = [random.integers(k + 1, fronts) for k in range(fronts - 1)]
        parents = np.array([*np.where(random.random(fronts - 1) < 0.9, later, -1), -1])
        left = np.where(parents < 0, 0, random.integers(1, 5, fronts))
        at, room = NewtonTables._rooms(parents, left)
        used = np.full(room, -1)
        for front in range(fronts):
            mine = slice(at[front], at[front] + left[front] ** 2)
            if parents[front] >= 0:
                assert np.all(used[mine] == -1) and mine.stop <= room
                used[mine] = front
            for child in np.flatnonzero(parents[:front] == front):
                own = slice(at[child], at[child] + left[child] ** 2)
                assert np.all(used[own] == child)
                used[own] = -1


def pendulum():
    return System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)


def test_runs_that_keep_times_alone_keep_no_dense_output():
    how = {"q0": [1, 0], "v0": [0, 0], "integrator": Radau(), "formulation": Index2(), "stabilization": Projection()}
    every, some = simulate(pendulum(), 1.0, **how), simulate(pendulum(), 1.0, save_at=5, **how)
    assert every.trail.dense.shape[1] > 0 and some.trail.dense.shape[1] == 0
    assert np.allclose(every(0.5).q, some.q[2], atol=1e-5)


def test_a_change_of_one_of_many_parameters_is_seen():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (30, 0)), links=300, mass=30.0, first=m.ground)
    simulate(m, 1e-3, step=1e-3, compile="never")
    system, q, v = m.to_system(compile="never")
    model = model_of(system, q, v, 0.0)
    data = model.data()
    assert model._n_params > MANY and model.examined(data)
    data[17] += 1e-12
    assert not model.examined(data)


def test_a_hinge_beside_several_small_joints_is_no_link_whose_rows_stand_side_by_side():
    # five rows of the hinge, five of a ball and two distances beyond it: moves onto the rows fit all of them
    m = Mechanism(gravity=(0, 0, -9.81))
    ends = [(0, 0, 0), (1, 0.1, 0), (2, 0, 0.3), (3, 0.2, 0)]
    for k in range(3):
        m.body(f"b{k}", rod(ends[k], ends[k + 1], mass=1.0, width=0.02))
    m.spherical("first", m.ground, "b0", at=ends[0])
    m.revolute("hinge", "b0", "b1", at=ends[1], axis=(0.2, 1, 0.3))
    m.spherical("second", "b1", "b2", at=ends[2])
    m.distance("one", "b1", "b2", at=((1.5, 0.5, 0), (2.5, 0.1, 0.2)))
    m.distance("other", "b1", "b2", at=((1.4, 0, 0.6), (2.6, -0.4, 0.1)))
    model = OperatorModel(m.to_tables(), m.assembly.q, m.assembly.v)
    data, x, rows = model.data(), np.append(m.assembly.q, m.assembly.v), model.n_constraints + model.n_invariants
    at = lambda move: model.evaluate(Fn.RESIDUAL, 0.0, x + np.append(move, 0 * m.assembly.v), np.zeros(0), data)[:rows].copy()
    along = lambda move: (at(1e-5 * move) - at(-1e-5 * move)) / 2e-5
    r = along(np.random.default_rng(1).uniform(-1, 1, model.nq))
    factors = model.evaluate(Fn.POS_FACTOR, 0.0, x, np.zeros(0), data)
    assert along(model.evaluate(Fn.POS_SOLVE, 0.0, factors, r, data)) == pytest.approx(r, abs=1e-8)
