"""Jacobians swept back through a tape, and Newton's matrices whose elimination ends in dense LU: where equations are long."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    BackwardEuler,
    GeneralizedAlpha,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    Ode,
    Overdetermined,
    Radau,
    System,
    export,
    opaque,
    simulate,
)
from holonomic.kernels.signatures import N_FUNCTIONS, Fn
from holonomic.loop.from_python import invoke
from holonomic.model import compiled, derive, long_equations, played_tapes
from holonomic.model.compiled import Model
from holonomic.model.elimination_order import coordinates_alone, sparse_order
from holonomic.model.model_base import Variant
from holonomic.model.played_jacobians import SweptTape, is_swept
from holonomic.model.sparse_factors import KERNELS, SparseElimination
from holonomic.model.tape import record


def take_all_as_long(monkeypatch):
    """Every Jacobian is swept, every elimination goes by lists, nothing compiled before is read."""
    monkeypatch.setattr(long_equations, "SHORT", -1)
    monkeypatch.setattr(long_equations, "LONGEST_DERIVED", -1)
    monkeypatch.setattr(Model, "_load", lambda self, key, wanted, variant: None)


def coupled(n=8, rows=0, seed=0):
    """Coordinates coupled all with all, by a mass matrix that depends on them, too."""
    rng = np.random.default_rng(seed)
    C, K = rng.normal(size=(2, n)) / np.sqrt(n), rng.normal(size=(n, n))
    K = 20 * K @ K.T / n + np.eye(n)
    A = rng.normal(size=(rows, n)) / np.sqrt(n)

    def mass(q):
        M = np.eye(n)
        for c in C:
            w = c * (1 + 0.3 * np.sin(q))
            M = M + np.outer(w, w)
        return M

    system = System(
        mass=mass, force=lambda q, v: -K @ np.tanh(q) - 0.1 * np.abs(v) * v, velocity_terms=True,
        constraint=(lambda q: A @ (q + 0.1 * q**2)) if rows else None,
    )  # fmt: skip
    v = rng.normal(size=n)
    if rows:
        v -= np.linalg.pinv(A) @ A @ v
    return system, np.zeros(n), v


def rods(n=5):
    """A chain of rods, its bodies' coordinates all there are."""
    m, half = 1.0 / n, 0.5 / n

    def pins(q):
        x, y, c, s = q[0::3], q[1::3], half * np.cos(q[2::3]), half * np.sin(q[2::3])
        ends = np.concatenate([[0.0], (x + c)[:-1]]), np.concatenate([[0.0], (y + s)[:-1]])
        return np.concatenate([x - c - ends[0], y - s - ends[1]])

    q = np.zeros(3 * n)
    q[0::3] = 2 * half * (np.arange(n) + 0.5)
    mass = np.diag(np.tile([m, m, m * half**2 / 3], n))
    return System(mass=mass, force=np.tile([0.0, -9.81 * m, 0.0], n), constraint=pins), q, np.zeros(3 * n)


def numbers_of(model, fn, formulation, y, slope):
    return model.evaluate(fn, 0.2, y, slope, model.data(), Variant(formulation=formulation))


def test_swept_rows_are_those_of_the_derivatives():
    from holonomic.model.symbolics import SX, binary, densify, function_of, if_else, jacobian, unary, vec, vertcat

    a, b, t, data = SX.sym("a", 4), SX.sym("b", 2), SX.sym("t", 1), SX.sym("d", 1)
    names = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh fabs sign floor ceil expm1 log1p"
    one = [unary(name)(a[0] / 3) for name in names.split()]
    two = [binary(name)(a[1], b[0] + a[2]) for name in "add sub mul div pow atan2 fmin fmax constpow hypot fmod copysign".split()]
    rest = [if_else(a[0] < b[0], a[3] ** 2, a[3] * b[1]), a[0] * a[0] + a[0], -a[1], 1 / a[2], 2 * a[3], a[3], SX(3.0), t * data]
    out = vertcat(*one, *two, *rest, one[3] * two[2])
    tape = record(t, a, b, data, out)
    assert is_swept(tape)
    swept, rng = SweptTape(tape), np.random.default_rng(0)
    for which, symbols in (("a", a), ("b", b)):
        made = swept.jacobian(which, symbols.numel(), 10**6)
        known = function_of([t, a, b, data], [vec(densify(jacobian(out, symbols)).T)])
        pattern = np.zeros((out.numel(), symbols.numel()), dtype=bool)
        pattern[made.rows, made.columns] = True
        for _ in range(5):
            at = 0.5, rng.uniform(0.2, 1.0, 4), rng.uniform(0.2, 1.0, 2), np.array([0.7])
            fns, found = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), np.full(made.length, np.nan)
            fns[:2] = made.address, made.context
            invoke(fns, 0, *at, found)
            expected = np.array(known(*at)).ravel()
            np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)
            assert not np.any(expected.reshape(pattern.shape)[~pattern])
    assert swept.jacobian("a", 4, 3) is None  # more than there is room for


@pytest.mark.parametrize("made", [lambda: coupled(), lambda: coupled(rows=3), rods])
@pytest.mark.parametrize("formulation", [Index2(), GGL(), Index1(), Index3()])
def test_long_equations_have_the_same_jacobians(made, formulation, monkeypatch):
    system, q, v = made()
    wanted = (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE)
    plain = Model(system, q, v)
    plain.functions(wanted, Variant(formulation=formulation))
    take_all_as_long(monkeypatch)
    system, q, v = made()
    other = Model(system, q, v)
    assert Fn.BY_Y in other.functions(wanted, Variant(formulation=formulation)).contexts
    n, rng = plain.functions(wanted, Variant(formulation=formulation)).lengths[Fn.EQUATIONS], np.random.default_rng(2)
    y, slope = rng.normal(size=n), rng.normal(size=n)
    for fn in wanted:
        known = numbers_of(plain, fn, formulation, y, slope)
        np.testing.assert_allclose(numbers_of(other, fn, formulation, y, slope), known, rtol=0, atol=1e-12 * np.abs(known).max())


CASES = [
    (coupled, Radau(), None), (coupled, BDF(), None),
    (lambda: coupled(rows=3), Radau(), Index2()), (lambda: coupled(rows=3), BDF(), GGL()),
    (lambda: coupled(rows=3), Radau(order=9), GGL()), (lambda: coupled(rows=3), GeneralizedAlpha(), Index3()),
    (lambda: coupled(rows=3), Radau(), Index1()), (rods, Radau(), Index2()), (rods, BDF(), Index2()), (rods, BDF(), GGL()),
    (rods, GeneralizedAlpha(), Index3()),
]  # fmt: skip


@pytest.mark.parametrize(("made", "integrator", "formulation"), CASES)
def test_runs_are_the_same_either_way(made, integrator, formulation, monkeypatch):
    runs = []
    for _ in range(2):
        system, q, v = made()
        methods = {"integrator": integrator} | ({} if formulation is None else {"formulation": formulation})
        runs.append(simulate(system, 0.05, q0=q, v0=v, rtol=1e-7, atol=1e-9, **methods))
        take_all_as_long(monkeypatch)
    one, other = runs
    assert one.stats["steps"] == other.stats["steps"]
    np.testing.assert_allclose(other.q[-1], one.q[-1], rtol=0, atol=1e-10)  # the same steps, rounded otherwise
    np.testing.assert_allclose(other.v[-1], one.v[-1], rtol=0, atol=1e-8)


def test_more_equations_than_unknowns_go_the_same_way(monkeypatch):
    runs = []
    for _ in range(2):
        system, q, v = rods(2)
        methods = {"integrator": BackwardEuler(), "formulation": Overdetermined(), "step": 1e-3}
        runs.append(simulate(system, 0.02, q0=q, v0=v, **methods))
        take_all_as_long(monkeypatch)
    np.testing.assert_allclose(runs[1].q[-1], runs[0].q[-1], rtol=0, atol=1e-12)


def test_an_ode_goes_the_same_way(monkeypatch):
    take_all_as_long(monkeypatch)
    n = 12
    A = np.random.default_rng(0).normal(size=(n, n))

    def rhs(y):
        return -100 * y + A @ np.sin(y) + 0.3 * y * y

    y0 = np.linspace(0, 1, n)
    found = simulate(Ode(rhs), 0.5, y0=y0, integrator=Radau(), rtol=1e-8, atol=1e-10)
    exact = simulate(Ode(rhs), 0.5, y0=y0, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.y[-1], exact.y[-1], rtol=1e-6, atol=1e-8)


def factored(A, B, order, w, turned, r):
    """Solutions of A + w B and of A + (w + i turned) B by lists."""
    n = len(A)
    pattern = [np.flatnonzero(row).tolist() for row in (A != 0) | (B != 0)]
    lists = SparseElimination(pattern, order)
    fns, both = np.zeros(2 * N_FUNCTIONS, dtype=np.int64), np.concatenate([A.ravel(), B.ravel()])
    for fn, kernel in KERNELS.items():
        fns[2 * fn], fns[2 * fn + 1] = kernel.address, lists.context
    found = []
    for factor, solve, b in ((Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, r[:n]), (Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE, r)):
        F, x = np.empty(lists.lengths[factor]), np.empty(lists.lengths[solve])
        invoke(fns, int(factor), w, both, np.array([turned]), np.zeros(0), F)
        if np.isfinite(F[0]):  # nobody solves with others
            invoke(fns, int(solve), 0.0, F, b, np.zeros(0), x)
        found.append((F[0], x))
    return found


@pytest.mark.parametrize("eliminated", [0, 5, 9, 14])
def test_what_is_left_of_an_elimination_goes_by_dense_lu(eliminated):
    rng = np.random.default_rng(eliminated)
    n = 14
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    A[rng.uniform(size=A.shape) < 0.5], B[rng.uniform(size=B.shape) < 0.5] = 0.0, 0.0
    A, B = A + 3 * np.eye(n), B + 3 * np.eye(n)
    order = list(zip(rng.permutation(n)[:eliminated].tolist(), rng.permutation(n)[:eliminated].tolist(), strict=True))
    order = [(i, i) for i, _ in order]
    r = rng.normal(size=2 * n)
    (growth, x), (_, z) = factored(A, B, order, 2.0, -0.7, r)
    assert np.isfinite(growth)
    assert x == pytest.approx(np.linalg.solve(A + 2.0 * B, r[:n]), rel=1e-9)
    known = np.linalg.solve(A + (2.0 - 0.7j) * B, r[:n] + 1j * r[n:])
    assert z == pytest.approx([*known.real, *known.imag], rel=1e-9)


def test_a_singular_rest_says_so():
    A = np.diag([1.0, 1.0, 0.0, 1.0])
    (growth, _), (complex_growth, _) = factored(A, np.zeros((4, 4)), [(0, 0)], 1.0, 1.0, np.ones(8))
    assert growth == np.inf
    assert complex_growth == np.inf


def test_orders_follow_the_pattern():
    n = 60
    chain = np.eye(n) * 4 + np.eye(n, k=1) + np.eye(n, k=-1)
    rows, columns = np.nonzero(chain)
    order = sparse_order(n, 0, rows, columns, chain[rows, columns][None, :])
    assert len(order) >= n - 5  # no fill: all but the last few
    assert len({i for i, _ in order}) == len({j for _, j in order}) == len(order)
    q, K = 6, np.random.default_rng(0).normal(size=(6, 6))
    full = np.block([[np.eye(q), -np.eye(q)], [K, K]])
    assert coordinates_alone(q, *np.nonzero(full)) == [(i, i) for i in range(q)]
    full[2, 3] = 1.0  # the rate of one follows two
    assert [i for i, _ in coordinates_alone(q, *np.nonzero(full))] == [0, 1, 3, 4, 5]


def test_long_equations_need_no_long_compilation(caplog):
    n = 100
    K = np.random.default_rng(0).normal(size=(n, n))
    K = K @ K.T + 100 * np.eye(n)
    system = System(mass=np.eye(n), force=lambda q: -K @ (q + 0.1 * np.sin(q)))
    v = np.linspace(0, 1, n)
    sol = simulate(system, 0.1, q0=np.zeros(n), v0=v, integrator=Radau())
    assert not [each for each in caplog.messages if "compiling a model" in each]
    exact = simulate(system, 0.1, q0=np.zeros(n), v0=v, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(sol.q[-1], exact.q[-1], atol=1e-5)


def test_what_is_too_long_to_be_written_out_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(Model, "_load", lambda self, key, wanted, variant: None)
    monkeypatch.setattr(derive, "FEWEST_LONG", 5)
    monkeypatch.setattr(derive, "LONGEST_UNROLLED", 100)
    system, q, v = coupled(rows=3)
    with pytest.raises(IncompatibleMethods, match=r"M⁻¹ would have to be written out .* with 8 coupled velocities. Use simulate"):
        simulate(system, 0.1, q0=q, v0=v, integrator=Radau(), formulation=Index1())
    monkeypatch.setattr(derive, "LONGEST_UNROLLED", 10**9)
    monkeypatch.setattr(compiled, "LONGEST_WRITTEN", 100)
    system, q, v = coupled(seed=4)
    with pytest.raises(IncompatibleMethods, match=r'played from lists in this process: .* sweep with on="threads"'):
        export(system, 0.1, q0=q, v0=v, folder=tmp_path)
    with pytest.raises(IncompatibleMethods, match="or double-double they would compile for minutes"):
        simulate(system, 0.1, q0=q, v0=v, precision="double-double")


def test_derivatives_count_among_what_is_written_out(monkeypatch, tmp_path):
    n = 60
    A = np.random.default_rng(0).normal(size=(n, n))
    ode, y = Ode(lambda y: -100 * y + A @ np.tanh(A @ np.sin(y))), np.linspace(0, 1, n)
    monkeypatch.setattr(compiled, "LONGEST_WRITTEN", 50_000)  # more than its operations, less than those of its derivatives
    with pytest.raises(IncompatibleMethods, match=r"^the equations and their derivatives are about \d{6} operations, which are pl"):
        export(ode, 0.1, y0=y, folder=tmp_path, integrator=Radau())


def test_what_is_long_and_cannot_be_played_is_refused(monkeypatch):
    n = 20
    A, square = np.random.default_rng(0).normal(size=(n, n)), opaque(lambda x: x * x)
    monkeypatch.setattr(compiled, "LONGEST_WRITTEN", 500)
    monkeypatch.setattr(played_tapes, "LONGEST_COMPILED", 500)
    how = {"y0": np.linspace(0, 1, n), "integrator": Radau()}
    for law, name in ((lambda y: square(y[0]), "opaque functions"), (lambda y: np.arccosh(2 + y[0] ** 2), "acosh")):
        with pytest.raises(IncompatibleMethods, match=rf"^with {name} the equations and their derivatives are compiled, \d+ op"):
            simulate(Ode(lambda y, law=law: -100 * y + A @ np.tanh(y) + law(y)), 0.1, **how)
    assert simulate(Ode(lambda y: -100 * y + A @ np.hypot(y, 1.0)), 0.1, **how).t[-1] == 0.1


def test_coupled_rows_are_given_to_implicit_methods_at_the_level_of_velocities():
    system, q, v = coupled(45, rows=6)
    assert str(simulate(system, 1e-3, q0=q, v0=v, integrator=Radau()).plan).startswith("Index2()")
    system, q, v = coupled(8, rows=3)
    assert str(simulate(system, 1e-3, q0=q, v0=v, integrator=Radau()).plan).startswith("Index1()")


@pytest.mark.slow
@pytest.mark.parametrize("integrator", [Radau(), BDF(), GeneralizedAlpha()])
def test_three_hundred_coordinates_coupled_all_with_all(integrator):
    rng, n = np.random.default_rng(1), 300
    K, A = rng.normal(size=(n, n)) / np.sqrt(n), rng.normal(size=(30, n)) / np.sqrt(n)
    system = System(
        mass=K @ K.T + np.eye(n), force=lambda q, v: -100 * (K @ np.sin(q)) - v, constraint=lambda q: A @ (q + 0.1 * np.sin(q))
    )
    v = rng.normal(size=n)
    v -= np.linalg.pinv(A) @ (A @ v)
    sol = simulate(system, 0.05, q0=np.zeros(n), v0=v, integrator=integrator)
    exact = simulate(system, 0.05, q0=np.zeros(n), v0=v, rtol=1e-9, atol=1e-11, integrator=DOP853())
    np.testing.assert_allclose(sol.q[-1], exact.q[-1], atol=1e-5)
    assert sol.drift.max()["position"] < 1e-9
