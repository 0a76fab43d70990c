"""Fronts with loops written out give what the general ones give; what is kept of data is made anew when data change."""

import ctypes

import numpy as np
import pytest

from holonomic.assembly.settled_numbers import cut
from holonomic.assembly.shelves import in_eights, places, turned
from holonomic.kernels.signatures import Fn
from holonomic.model.tape import Tape
from holonomic.multibody import Mechanism, rod
from holonomic.native.written_out import entries, running, written_out
from holonomic.planning.reuse import model_of

HEAD, FORM = 9, 8


def chain(kind: str, n: int, branch: int = 7) -> Mechanism:
    """Unequal links on pins, balls or hinges, with branches."""
    m = Mechanism() if kind == "pins" else Mechanism(gravity=(0, 0, -9.81))
    random, before, at = np.random.default_rng(n), m.ground, np.zeros(2 if kind == "pins" else 3)
    for i in range(n):
        to = at + random.uniform(0.05, 0.15, len(at))
        m.body(f"b{i}", rod(at, to, mass=random.uniform(0.05, 0.2), **({} if kind == "pins" else {"width": 0.01})))
        if kind == "balls":
            m.spherical(f"j{i}", before, f"b{i}", at=at)
        else:
            m.revolute(f"j{i}", before, f"b{i}", at=at, **({} if kind == "pins" else {"axis": random.uniform(-1, 1, 3)}))
        if i % branch:
            before, at = f"b{i}", to
    return m


def field_of(m: Mechanism, whole: bool = False):
    """The model of a mechanism as tables, a state that is not at rest, and own rows of links group by group, 0 where there is none.

    `whole`: accelerations come from the whole matrix.
    """
    system, q, v = m.to_system(compile="never")
    system.collection.whole |= whole
    model = model_of(system, q, v, 0.0)
    random = np.random.default_rng(0)
    x = np.concatenate([q + 0.1 * random.uniform(-1, 1, len(q)), random.uniform(-1, 1, len(v))])
    if whole:
        return model, x, None
    head = system._arranged[0].by_v[1].memory  # that of the field
    order = np.ctypeslib.as_array((ctypes.c_int64 * head.groups).from_address(head.order))
    words = np.ctypeslib.as_array((ctypes.c_int64 * (int(order[-1]) + HEAD)).from_address(head.program))
    return model, x, words[order + FORM]


@pytest.mark.parametrize("kind, height", [("pins", 2), ("balls", 3), ("hinges", 5)])
@pytest.mark.parametrize("n, branch", [(9, 7), (30, 50), (100, 7), (100, 200), (171, 200)])
def test_links_of_a_chain_give_what_the_whole_matrix_gives(kind, height, n, branch):
    model, x, links = field_of(chain(kind, n, branch))
    from_ends = kind == "hinges" and n < 16  # short chains of hinges have ends alone
    assert (links == 0).any() and (np.abs(links) == height).any() == (not from_ends)
    assert (np.abs(links) == 10 + height).any() or (n < 30 and not from_ends)  # ends
    assert n < 100 or branch < n or (links == -height).any()  # where all stands side by side
    found = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), model.data())
    whole, *_ = field_of(chain(kind, n, branch), whole=True)
    known = whole.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), whole.data())
    np.testing.assert_allclose(found[:-1], known[:-1], rtol=0, atol=1e-8 * np.abs(known).max())  # off the constraints
    assert 0.0 < found[-1] <= 1.0


def test_what_is_settled_of_data_is_made_anew_when_they_change_and_bits_come_back():
    m = chain("pins", 40)
    model, x, *_ = field_of(m)
    given = model.data()
    first = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), given)
    heavier = given.copy()
    heavier[list(m.params.as_dict()).index("b3.mass")] *= 3.0
    changed = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), heavier)
    assert np.abs(changed - first).max() > 1e-3 * np.abs(first).max()
    fresh, *_ = field_of(chain("pins", 40))
    np.testing.assert_array_equal(changed, fresh.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), heavier))
    np.testing.assert_array_equal(first, model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), given))


def contexts_by_name(system):
    """The context of each operator, of those that were arranged first."""
    arranged = system._arranged[0]
    by_address = {context.address: context for context in (*arranged.by_v, *arranged.by_q, *arranged.others)}
    return {fn: by_address[operator.context] for fn, operator in arranged.operators.items()}


def contexts_of(m: Mechanism):
    """The model of a mechanism as tables, a state, and the contexts of its operators."""
    system, q, v = m.to_system(compile="never")
    model = model_of(system, q, v, 0.0)
    return model, np.concatenate([q, v]), contexts_by_name(system)


def test_contexts_of_a_mechanism_share_one_room_and_leave_each_other_what_is_settled():
    m = chain("balls", 30)
    model, x, contexts = contexts_of(m)
    heads = [context.memory for context in contexts.values()]
    assert len({head.own_room for head in heads}) == len({head.spare for head in heads}) == 1
    heavier = model.data()
    heavier[list(m.params.as_dict()).index("b3.mass")] *= 3.0
    known, some = {}, 1 + model.n_lam  # of factors ρ and the rows' lengths: behind them are places that nobody writes
    for fn in (Fn.FIELD, Fn.RESIDUAL, Fn.ENERGY, Fn.VEL_FACTOR):
        fresh, *_ = contexts_of(chain("balls", 30))
        known[fn] = [fresh.evaluate(fn, 0.0, x, np.zeros(0), data) for data in (model.data(), heavier)]
    for data, which in ((model.data(), 0), (heavier, 1), (heavier, 1), (model.data(), 0)):
        for fn, numbers in known.items():
            end = some if fn is Fn.VEL_FACTOR else None
            np.testing.assert_array_equal(model.evaluate(fn, 0.0, x, np.zeros(0), data)[:end], numbers[which][:end])
    assert np.abs(known[Fn.ENERGY][0] - known[Fn.ENERGY][1]).max() > 0.0


@pytest.mark.parametrize("kind", ["pins", "balls"])
def test_a_call_that_finds_the_room_taken_works_in_one_of_its_own_and_gives_the_same_bits(kind):
    model, x, contexts = contexts_of(chain(kind, 60))
    functions = (Fn.FIELD, Fn.RESIDUAL, Fn.ENERGY)
    known = [model.evaluate(fn, 0.0, x, np.zeros(0), model.data()) for fn in functions]
    head = contexts[Fn.FIELD].memory
    spare = ctypes.c_int64.from_address(head.spare)
    assert spare.value == head.own_room
    spare.value = 0  # as while another thread has it
    for fn, numbers in zip(functions, known, strict=True):
        np.testing.assert_array_equal(model.evaluate(fn, 0.0, x, np.zeros(0), model.data()), numbers)
    assert spare.value == 0
    spare.value = head.own_room


def test_what_tables_keep_of_a_long_chain_is_a_kilobyte_a_body():
    n, m = 4000, Mechanism()
    m.chain("rope", at=((0, 0), (0.1 * n, 0)), links=n, mass=0.1 * n, first=m.ground)
    *_, contexts = contexts_of(m)
    held = {id(array): array.nbytes for context in contexts.values() for array in context._held}
    assert sum(held.values()) < 1100 * n  # 2.4 kB when every context had a room, and eight places eight words


def test_a_tape_is_cut_where_the_state_comes_in_and_calls_stay_behind():
    nodes = (
        ("in", 3, 0), ("in", 3, 1), ("in", 1, 0), ("mul", 0, 1), ("add", 3, 2), ("const", 2.0), ("mul", 5, 4), ("mul", 0, 2),
        ("call law 1 0", 3), ("sub", 0, 1),
    )  # fmt: skip
    settling, rest = cut(Tape(nodes, (6, 7, 8, 9, None)))
    assert settling.nodes == (("in", 3, 0), ("in", 3, 1), ("mul", 0, 1), ("sub", 0, 1))
    assert settling.outputs == (2, 0, 3)
    assert rest.nodes == (
        ("in", 3, 1), ("in", 1, 0), ("in", 3, 0), ("add", 2, 1), ("const", 2.0), ("mul", 4, 3), ("mul", 0, 1),
        ("call law 1 0", 2), ("in", 3, 2),
    )  # fmt: skip
    assert rest.outputs == (5, 6, 7, 8, None)
    assert cut(Tape((("in", 3, 0), ("in", 1, 0), ("mul", 0, 1)), (2,))) is None


def triangle(m, x, out):
    f = entries()
    n = 2 * m
    for i in range(n):
        for j in range(i + 1):
            f[i, j] = x[i] * x[j]
            if i == j and i >= m:
                f[i, j] = f[i, j] + 1.0
    for i in range(n):
        for j in range(i + 1):
            out[i * n + j] = f[i, j]


def test_loops_are_written_out_with_a_name_for_every_entry():
    from holonomic.native.marks import MARKED

    (placeholder,) = written_out(triangle, 2)
    mark = MARKED.pop()
    assert mark.function is placeholder
    with pytest.raises(NotImplementedError, match="compiled kernels alone call triangle"):
        placeholder([], [])
    x, out = [2.0, 3.0, 5.0, 7.0], [0.0] * 16
    mark.replacement(x, out)
    known = np.tril(np.outer(x, x)) + np.diag([0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(np.reshape(out, (4, 4)), known)
    assert not mark.replacement.__code__.co_names and "f_3_2" in mark.replacement.__code__.co_varnames


def sums_by_row(m, x, n, out):
    f = entries()
    for i in running(n):
        for p in range(m):
            f[p] = x[m * i + p]
        total = 0.0
        for p in range(m):
            total += f[p] * (p + 1)
        out[i] = total


def test_of_a_loop_that_goes_on_running_the_inside_is_written_out():
    from holonomic.native.marks import MARKED

    written_out(sums_by_row, 3)
    out = [0.0] * 4
    one = MARKED.pop().replacement
    one(list(range(12)), 4, out)
    assert out == [8.0, 26.0, 44.0, 62.0] and one.__code__.co_names == ("range",)


def test_a_loop_whose_end_is_not_known_is_refused_where_loops_are_written_out():
    from holonomic.native.marks import MARKED

    def endless(m, x, n):
        for i in range(n):
            x[i] = 0.0

    written_out(endless, 2)
    with pytest.raises(ValueError, match="'n' is not known where loops are written out"):
        _ = MARKED.pop().replacement


@pytest.mark.parametrize("n", [5, 8, 63, 64, 100, 1000])
@pytest.mark.parametrize("width", [2, 3, 6])
def test_marked_blocks_take_neighbours_of_eight_pieces(n, width):
    into = in_eights(np.arange(n * width).reshape(n, width)).ravel()
    marked = turned(into)
    blocks, whole = marked[: len(into) // 64 * 64].reshape(-1, 8, 8), into[: len(into) // 64 * 64].reshape(-1, 8, 8)
    for block, known in zip(blocks, whole, strict=True):
        if block[0, 0] < 0:
            np.testing.assert_array_equal(np.where(np.arange(8) == 0, ~block[0], block[0]) + np.arange(8)[:, None], known)
        else:
            np.testing.assert_array_equal(block, known)
    if n == 1000:
        assert (blocks[:, 0, 0] < 0).all()
    back = places(n, width)[:, None] + 8 * np.arange(width)
    np.testing.assert_array_equal(into[back.ravel()], np.arange(n * width))
