"""Systems whose coupling leaves an unrolled solve too long: dense loops and played tapes in its place."""

import mpmath
import numpy as np
import pytest

from holonomic import BDF, RK45, Index2, Projection, Radau, RedundantConstraints, System, simulate, sweep
from holonomic.kernels.signatures import Fn
from holonomic.model import dense_solves, played_tapes
from holonomic.model.compiled import Model
from holonomic.model.dense_solves import elimination, unrolled_cost
from holonomic.model.played_tapes import PlayedTape
from holonomic.model.tape import Tape

N, ROWS = 45, 6


def coupled(n=N, rows=ROWS, seed=0, params=None):
    """n coordinates that are coupled by mass, force and constraints, all with all."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, n))
    M = K @ K.T / n + np.eye(n)
    A = rng.normal(size=(rows, n)) / np.sqrt(n)
    system = System(
        mass=M,
        force=lambda q, v, p: -p.k * (K @ np.sin(q)) - 0.1 * v,
        constraint=lambda q: A @ (q + 0.1 * np.sin(q)),
        params={"k": 1.0} if params is None else params,
    )
    return system, np.zeros(n), rng.normal(size=n)


def model_of(system, q, v):
    return Model(system, q, v)


def values(model, fn, a, b=()):
    return model.evaluate(fn, 0.0, a, np.asarray(b, dtype=float), model.data())


def all_of(model, x):
    """Field and projection at x, in one set, as a plan asks for them."""
    wanted = (Fn.FIELD, Fn.RESIDUAL, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT, Fn.VEL_INVERSE)
    functions = model.functions(wanted)
    F = values(model, Fn.VEL_FACTOR, x)
    rng = np.random.default_rng(3)
    r, e = rng.normal(size=model.n_lam), rng.normal(size=model.nv)
    found = {
        "field": values(model, Fn.FIELD, x)[:-1], "solve": values(model, Fn.VEL_SOLVE, F, r),
        "tangent": values(model, Fn.VEL_TANGENT, F, e), "inverse": values(model, Fn.VEL_INVERSE, F, r),
        "lengths": F[1 : 1 + model.n_lam], "residual": values(model, Fn.RESIDUAL, x),
    }  # fmt: skip
    return functions, found


def test_dense_and_played_functions_give_what_unrolled_ones_give(monkeypatch):
    system, q, v = coupled(32, 26)
    x = np.concatenate([q + 0.1 * v, v])
    functions, found = all_of(model_of(system, q, v), x)
    assert {Fn.FIELD, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.TERMS} <= set(functions.contexts)
    monkeypatch.setattr(dense_solves, "SMALLEST", 10**9)
    monkeypatch.setattr(played_tapes, "LONGEST_COMPILED", 10**9)
    system, q, v = coupled(32, 26)
    plain, expected = all_of(model_of(system, q, v), x)
    assert not plain.contexts
    for name, theirs in expected.items():
        np.testing.assert_allclose(found[name], theirs, rtol=0, atol=1e-12 * max(1.0, np.max(np.abs(theirs))), err_msg=name)


def test_a_run_is_the_same_either_way(monkeypatch):
    runs = []
    for smallest in (dense_solves.SMALLEST, 10**9):
        monkeypatch.setattr(dense_solves, "SMALLEST", smallest)
        system, q, v = coupled()
        runs.append(simulate(system, 1.0, q0=q, v0=v, initial="project", integrator=RK45(), rtol=1e-8, save_at=11))
    one, other = runs
    assert one.stats["steps"] == other.stats["steps"]
    for name in ("q", "v", "lam"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=1e-11)
    assert one.drift.max()["position"] < 1e-10 and one.drift.max()["velocity"] < 1e-10


def test_coupled_coordinates_compile_little(caplog):
    system, q, v = coupled(100, 20)
    sol = simulate(system, 0.1, q0=q, v0=v, initial="project")
    assert sol.stats["steps"] >= 1 and sol.drift.max()["position"] < 1e-10
    # unrolled, the solve of 100 coupled coordinates and 20 rows is some 560 000 operations
    assert not [each for each in caplog.messages if "compiling a model" in each]


def test_sparse_systems_stay_unrolled():
    n = 60

    def rods(q):
        p = q.reshape(n, 2)
        d = p - np.vstack([np.zeros((1, 2)), p[:-1]])
        return (d * d).sum(axis=1) - 0.01

    system = System(mass=np.eye(2 * n), force=lambda q: np.tile([0.0, -9.81], n), constraint=rods)
    q0 = np.zeros((n, 2))
    q0[:, 0] = 0.1 * np.arange(1, n + 1)
    model = model_of(system, q0.ravel(), np.zeros(2 * n))
    functions = model.functions((Fn.FIELD, Fn.RESIDUAL, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT))
    assert not functions.contexts


def test_members_of_a_sweep_share_the_matrices():
    system, q, v = coupled()
    start = simulate(system, 0.1, q0=q, v0=v, initial="project").end
    runs = sweep(system, (0.0, 0.3), q0=start.q, v0=start.v, params={"k": [0.5, 1.0, 2.0]}, integrator=RK45(), workers=2)
    assert not len(runs.failed)
    for k, row in zip((0.5, 1.0, 2.0), runs.q, strict=True):
        other, _, _ = coupled(params={"k": k})
        alone = simulate(other, (0.0, 0.3), q0=start.q, v0=start.v, integrator=RK45())
        np.testing.assert_array_equal(row[-1], alone.q[-1])


@pytest.mark.parametrize("methods", [{"integrator": Radau(), "formulation": Index2()}, {"integrator": BDF()}])
def test_implicit_methods_run_on_them(methods):
    system, q, v = coupled(24, 4)
    exact = simulate(system, 0.5, q0=q, v0=v, initial="project", rtol=1e-10, atol=1e-12).end
    sol = simulate(system, 0.5, q0=q, v0=v, initial="project", stabilization=Projection(), rtol=1e-6, **methods)
    np.testing.assert_allclose(sol.end.q, exact.q, atol=2e-4)


def test_rows_that_say_the_same_are_found():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 40))
    A[5] = A[0] + A[1]
    K = rng.normal(size=(40, 40))
    system = System(mass=K @ K.T + np.eye(40), force=lambda q: -q, constraint=lambda q: A @ (q + 0.01 * q**3))
    with pytest.raises(RedundantConstraints, match=r"rank 5 of 6|repeats|redundant"):
        simulate(system, 0.1, q0=np.zeros(40), v0=np.zeros(40))


def test_rows_that_nearly_say_the_same_go_to_the_pivoted_solve():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(6, 40)) / 6
    A[5] = A[0] + 1e-5 * A[5]  # a pivot ratio of 1e-10
    K = rng.normal(size=(40, 40))
    M = K @ K.T / 40 + np.eye(40)
    f = rng.normal(size=40)
    system = System(mass=M, force=f, constraint=lambda q: A @ q)
    sol = simulate(system, 1e-3, q0=np.zeros(40), v0=np.zeros(40), integrator=RK45())
    saddle = np.block([[M, A.T], [A, np.zeros((6, 6))]])
    with mpmath.workdps(40):  # NumPy's solution is wrong by 7e-7 here
        exact = mpmath.lu_solve(mpmath.matrix(saddle.tolist()), mpmath.matrix(np.concatenate([f, np.zeros(6)]).tolist()))
    np.testing.assert_allclose(sol.a[0], np.array([float(x) for x in exact[:40]]), atol=1e-10)


def test_costs_are_those_of_elimination():
    n = 30
    operations, entries, labels = elimination(np.ones((n, n), dtype=bool))
    assert entries.sum() == n * (n - 1) / 2 and labels.max() == 0
    assert operations == sum(k * (k + 3) for k in range(n))
    chain = np.eye(n, dtype=bool) | np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    assert elimination(chain)[1].sum() == n - 1  # no fill
    apart = np.kron(np.eye(10, dtype=bool), np.ones((3, 3), dtype=bool))
    assert elimination(apart)[2].max() == 9
    assert unrolled_cost(apart, np.eye(30, dtype=bool)[:3]) < unrolled_cost(np.ones((n, n), dtype=bool), np.eye(30, dtype=bool)[:3])


def test_places_of_results_are_used_again():
    nodes = [("in", 1, 0)]
    for k in range(1000):
        nodes.append(("add", k, 0))
    played = PlayedTape(Tape(tuple(nodes), (1000, None)))
    assert played.memory.registers < 10
    assert played.memory.operations == 1000
