"""Functions as people write them, run on symbols: arrays filled by parts, joined, math, helpers, objects."""

import functools
import math
import threading

import helpers_elsewhere
import numpy as np
import pytest
import scipy.linalg
from helpers_elsewhere import Spring, Stiffening, Vector, added, assembled

from holonomic.errors import UntraceableFunction
from holonomic.model import symbolics
from holonomic.model.call_by_name import call
from holonomic.model.make_symbols import symbol_vector, to_sx
from holonomic.model.trace_stage import ways_through

A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
WEIGHT = np.array([0.0, 0.0, -9.81])
spring, stiffening = Spring(2.0), Stiffening(3.0)
LAWS = {"positive": lambda x: np.maximum(x, 0), "decides": lambda x: x if x > 0 else 0.0}
POINTS = np.random.default_rng(0).uniform(0.2, 1.2, (8, 3))


def on_symbols(function, n=3):
    """A function of q as the graph's function of numbers."""
    sx, q = symbol_vector("q", n)
    value = ways_through(lambda: call(function, "force()", ("q",), {"q": q.copy()}), "force()")
    return symbolics.function_of([sx], [symbolics.densify(to_sx(value))])


def gap(function):
    """Largest difference between a function on symbols and on numbers."""
    traced, worst = on_symbols(function), 0.0
    for x in POINTS:
        own = np.asarray(function(x.copy()), dtype=float)
        worst = np.maximum(worst, np.max(np.abs(np.array(traced(x)).reshape(own.shape) - own)))  # NaN stays one
    return float(worst)


def zeros_filled_by_parts(q):
    r = np.zeros(9)
    r[3:6] += q
    r[6:] = 2 * q
    return r


def empty_filled_row_by_row(q):
    r = np.empty((2, 3))
    r[0] = q
    r[1, :] = [q[0], 1, 2]
    return r


def eye_scaled_then_changed(q):
    M = np.eye(3) * 2.0
    M[0, 1] = M[1, 0] = np.cos(q[0])
    return M


def a_default_argument_added_to(q, F=WEIGHT):
    F = F.copy()
    F += q
    return F


def a_global_copied_and_changed(q):
    F = WEIGHT * 1.0
    F += q * 3
    F[2] -= 1
    return F


def full_and_ones(q):
    a, b = np.full(3, 1.5), np.ones_like(WEIGHT)
    a[1] *= q[0]
    b[0] = q[2]
    return a + b


def a_view_writes_through(q):
    r = np.zeros((2, 3))
    row = r[1]
    row[:] = q
    r.T[0] += 1
    return r


def dtypes_of_floats(q):
    return np.array([q[0], 1, q[1]], dtype=float).astype(float) @ np.asarray(A, dtype=np.float64)


def functions_of_math(q):
    return (
        math.sin(q[0]) + math.sqrt(q[1]) + math.hypot(q[0], q[1]) + math.atan2(q[0], q[2]) + math.pi + math.pow(q[0], 2)
        + math.log(q[1], 2) + math.fabs(q[0] - 1) + math.copysign(2, q[1] - 1) + math.erf(q[0]) + math.dist(q, [1, 2, 3])
    )  # fmt: skip


def builtins_on_values(q):
    return [max(q[0], 0.3), min(0.5, q[1]), abs(q[2] - 1), sum(q), float(q[0]), max(q), min([q[0], q[1], 0.2]), pow(q[0], 2),
            *divmod(q[0], 0.3)]  # fmt: skip


def joined_with_a_list(q):
    return np.concatenate([q, [q @ q - 1]])


def joined_in_other_ways(q):
    return np.hstack([np.hstack([q[0], [q[1], 2.0], q]), np.r_[q, q[0] * 2, [1.0, q[1]]], np.append(q, [q[0], 1.0])])


def a_block_of_parts(q):
    return np.block([[A, q[:, None]], [q[None, :], np.zeros((1, 1))]])


def solve_of_a_plain_array(q):
    return np.linalg.solve(np.array([[2 + q[0], 0.1], [0.1, 3.0]]), [q[1], 1.0])


def inverse_and_determinant(q):
    return np.linalg.inv(A + np.diag(q)) @ q + np.linalg.det(np.array([[q[0], 1.0], [2.0, q[1]]]))


def cross_norm_and_dot_of_lists(q):
    return np.cross([q[0], 0, 1], q) * np.linalg.norm([q[0], q[1]]) + np.linalg.norm(q - WEIGHT) + np.dot([q[0], 1], [1, q[1]])


def einsum_of_small_arrays(q):
    return np.einsum("ij,j->i", A, q) + np.einsum("i,i", q, q)


def clip_of_arrays(q):
    return np.clip(q, 0.3, 0.8) + np.clip([q[0], q[1], 3.0], 0.0, 0.7)


def entries_set_by_a_mask(q):
    F = q * 1.0
    F[q > 0.7] = 0.0
    F[q < 0.5] *= 3
    return np.append(F, F[F > 0.5].sum())


def a_helper_of_another_module(q):
    return assembled(q) + helpers_elsewhere.assembled(q) * helpers_elsewhere.STIFFNESS


def a_helper_that_writes_into_its_argument(q):
    F = np.zeros(3)
    for i in range(3):
        added(q[i], F, i)
    return F


def methods_of_objects(q):
    return spring.force(q[0]) + stiffening(q) + Stiffening(q[2]).force(q[0] + 1)


def an_object_with_slots(q):
    return (Vector(q[0], q[1]) + Vector(1, 2)).norm()


def functions_in_a_mapping(q):
    return [f(q[0] - 0.5) for f in LAWS.values()]


def partial_of_a_function(q):
    return functools.partial(np.add, q[0])(2) + functools.partial(zeros_filled_by_parts, q)()[3]


@functools.lru_cache
def remembered(x):
    return np.zeros(2) + x


def a_cached_helper(q):
    return remembered(q[0])


def doubled(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    return wrapper


@doubled
def a_decorated_function(q):
    F = np.zeros(3)
    F[:] = q
    return F


def what_type_it_is(q):
    assert isinstance(q, np.ndarray) and isinstance(q[0], float) and isinstance(q[0], (int, np.floating))
    return np.float64(q[0]) * np.pi


def what_types_numpy_says(q):
    """Where NumPy is asked for types it answers as it does for numbers, of arrays and of their entries."""
    assert np.result_type(q) == np.result_type(*q) == np.result_type(q[0], 1) == np.float64
    assert np.result_type(q > 0).kind == "b" and np.common_type(q) is np.float64
    assert not np.can_cast(q[0], int) and np.can_cast(q, np.float64) and np.can_cast(np.where(q > 0, 1, 2), int)
    assert q[0].dtype == float and q.sum().dtype.kind == "f" and not isinstance(q[0], np.integer)
    return 2.0 * q.astype(np.result_type(q, np.float32)) + np.ones(3, np.result_type(q[1]))


def imports_inside(q):
    from math import sin

    import numpy as np
    import numpy.linalg as la

    return la.norm(q) * sin(q[0]) * np.ones(2)


def entries_unpacked(q):
    x, y, z = q
    (a, b), c = q[:2], q[2]
    return np.array([x * y, z / a, b * c])


def written_by_functions_of_numpy(q):
    M, F = np.zeros((3, 3)), np.zeros(3)
    np.fill_diagonal(M, q)
    M[np.triu_indices(3, 1)] = 5.0
    np.add.at(F, [0, 1, 1], q)
    return M @ F


def a_function_that_calls_itself(q):
    def power(n):
        return 1.0 if n == 0 else q[0] * power(n - 1)

    return power(3)


def a_matrix_by_comprehension(q):
    return np.array([[a * b for a in q] for b in q])


def a_global_matrix_copied_and_added_to(q):
    M = A.copy()
    M[:2, :2] += np.outer(q[:2], q[:2])
    M -= np.identity(3) * q[2]
    return M.T @ M


def lists_and_mappings_inside(q):
    named = {"a": q[0]}
    named["b"] = np.sin(named["a"])
    found = [named["b"]]
    found.extend(q)
    return np.array(found)


@np.vectorize
def one_sided(x):
    return x if x > 0.5 else 0.0


def rarer_names_of_numpy(q):
    M = np.empty((3, 3), dtype=q.dtype)
    M[...] = np.diag(one_sided(q)) + np.nan_to_num(A)
    return np.trapezoid(M, axis=0) + scipy.linalg.norm(q) + np.maximum(one_sided(q), 0.6)


def text_of_values(q):
    assert f"{q[0]:.3f} {q}"
    return q * 2


def arguments_written_into(q):
    q[0] = 2 * q[1]
    q *= 3
    return q


def views_made_by_functions(q):
    r, s = np.zeros(6), np.zeros((2, 3))
    first, second = np.split(r, 2)
    first[:] = q
    second[1:] = q[:2]
    np.reshape(r, (2, 3))[1, 0] = 5.0
    np.transpose(s)[0] = q[:2]
    np.ravel(s)[4] = q[0] * q[1]
    np.flip(s)[0, 0] = q[2]
    np.atleast_2d(r)[0, 5] += 1.0
    np.squeeze(np.expand_dims(r, 0))[0] *= 2.0
    np.swapaxes(s, 0, 1)[2, 0] = 4.0
    return np.concatenate([r, s.ravel()])


def written_into_numbers(q):
    a, b, c, d = np.array([2.0, -3.0]), np.zeros(2), np.zeros((1, 2)), np.array([np.nan, 1.0])
    np.clip(a, -1.0, 1.0, out=a)
    np.dot(np.eye(2) * 3.0, np.ones(2), b)
    np.put_along_axis(c, np.array([[1]]), np.array([[7.0]]), 1)
    np.nan_to_num(d, copy=False, nan=2.0)
    return np.concatenate([a * q[0], b * q[1], c[0] * q[2], d * q[0]])


def options_of_math(q):
    near = math.isclose(1.0, 1.001, rel_tol=1e-2) and math.isclose(q[0], q[0] + 0.1, abs_tol=0.2)
    return math.prod([q[0], 2.0], start=3.0) + (1.0 if near else 0.0)


FUNCTIONS = [
    zeros_filled_by_parts, empty_filled_row_by_row, eye_scaled_then_changed, a_default_argument_added_to,
    a_global_copied_and_changed, full_and_ones, a_view_writes_through, dtypes_of_floats, functions_of_math, builtins_on_values,
    joined_with_a_list, joined_in_other_ways, a_block_of_parts, solve_of_a_plain_array, inverse_and_determinant,
    cross_norm_and_dot_of_lists, einsum_of_small_arrays, clip_of_arrays, entries_set_by_a_mask, a_helper_of_another_module,
    a_helper_that_writes_into_its_argument, methods_of_objects, an_object_with_slots, functions_in_a_mapping,
    partial_of_a_function, a_cached_helper, a_decorated_function, what_type_it_is, imports_inside, entries_unpacked,
    written_by_functions_of_numpy, a_function_that_calls_itself, a_matrix_by_comprehension,
    a_global_matrix_copied_and_added_to, lists_and_mappings_inside, arguments_written_into, rarer_names_of_numpy,
    text_of_values, views_made_by_functions, written_into_numbers, options_of_math,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_on_symbols_means_what_it_means_on_numbers(function):
    assert gap(function) <= 1e-13  # a few dozen roundings of numbers up to 50


def test_nothing_of_the_users_is_changed_by_a_run_on_symbols():
    before = dict(vars(spring)), WEIGHT.copy(), np.zeros, dict(vars(helpers_elsewhere)), dict(vars(math))

    def force(q):
        WEIGHT[0] = 1.0  # a copy of it
        return spring.force(q[0])

    on_symbols(force)
    assert vars(spring) == before[0]
    assert np.array_equal(WEIGHT, before[1]) and np.zeros is before[2]
    assert dict(vars(helpers_elsewhere)) == before[3] and dict(vars(math)) == before[4]


def test_other_threads_notice_nothing_of_a_run_on_symbols():
    kinds, done = set(), threading.Event()

    def elsewhere():
        while not done.is_set():
            kinds.add((type(assembled(np.ones(3))), type(np.zeros(2)), type(math.sin(1.0))))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    for _ in range(50):
        on_symbols(a_helper_of_another_module)
    done.set()
    thread.join()
    assert kinds == {(np.ndarray, np.ndarray, float)}


def test_an_array_of_integers_refuses_what_it_would_cut():
    def force(q):
        F = np.array([0, 0, 1])
        F[0] = q[0]
        return F

    with pytest.raises(UntraceableFunction, match=r"makes a whole number of q\[0\].*an array of integers cuts"):
        on_symbols(force)


def test_an_array_of_single_precision_refuses_what_it_would_round():
    def force(q):
        F = np.zeros(3, dtype=np.float32)
        F[0] = q[0]
        return F

    with pytest.raises(UntraceableFunction, match=r"assigns the symbol q\[0\] into an array of numbers.*in double precision"):
        on_symbols(force)


def test_an_array_of_different_lengths_is_numpys_mistake():
    with pytest.raises(ValueError, match="inhomogeneous"):
        on_symbols(lambda q: np.array([q[0], q]))


def test_an_entry_of_empty_that_is_never_written_is_seen():
    def force(q):
        F = np.empty(3)
        F[:2] = q[:2]
        return F

    assert np.isnan(np.array(on_symbols(force)(POINTS[0]))[2, 0])


def test_a_refusal_that_the_function_swallows_is_raised_all_the_same():
    def force(q):
        try:
            return q * int(q[0])
        except TypeError:
            return q

    with pytest.raises(UntraceableFunction, match="makes a whole number"):
        on_symbols(force)


class Relay:
    def __init__(self):
        self.on, self.calls, self.buffer = False, 0, np.zeros(3)

    def force(self, q):
        """On above 1, off below -1, as it was in between."""
        if q[0] > 1:
            self.on = True
        elif q[0] < -1:
            self.on = False
        return -q if self.on else q

    def counting(self, q):
        self.calls += 1
        self.last = q[0]
        self.buffer[:] = 0
        self.buffer[1] += self.last
        return self.buffer * 2

    def growing(self, q):
        self.buffer += q
        return self.buffer.copy()


def test_a_memory_is_refused_wherever_it_starts():
    with pytest.raises(UntraceableFunction) as caught:
        on_symbols(Relay().force)
    assert str(caught.value) == (
        "force() remembers 'on' of a Relay from one call to the next. Leave that out, or state what it remembers as a state, "
        "System(..., states=...)."
    )
    with pytest.raises(UntraceableFunction, match=r"remembers ('buffer' of a Relay|an array outside itself) from one call"):
        on_symbols(Relay().growing)


def test_a_counter_and_a_buffer_are_no_memory():
    relay = Relay()
    assert np.array_equal(np.array(on_symbols(relay.counting)(POINTS[0])).ravel(), relay.counting(POINTS[0]))


def test_a_list_that_grows_with_every_call_is_refused():
    log = []

    def force(q):
        log.append(q[0])
        return q

    with pytest.raises(UntraceableFunction, match="changes a list outside itself, which compiled code cannot do"):
        on_symbols(force)


def test_rotations_of_scipy_are_refused_with_what_to_write():
    Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    with pytest.raises(UntraceableFunction, match=r"uses scipy's Rotation.*Write the matrix out"):
        on_symbols(lambda q: Rotation.from_rotvec(q).as_matrix() @ q)
