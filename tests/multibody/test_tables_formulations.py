"""Formulations on tables beside those of index 2 and 3: GGL, whose μ moves coordinates, index 1, and projected invariants."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    BackwardEuler,
    FixedBDF,
    Index1,
    ProjectedInvariants,
    Projection,
    Radau,
    Stepper,
    simulate,
    sweep,
)
from holonomic.errors import RedundancyWarning
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant

from .machines import four_bar, planetary_gear, slider_crank
from .test_tables import MACHINES, ball_chain, both, chain, everything
from .test_tables_implicit import ONE_OF_EACH, of_newton, pieces, star, stiff_chain
from .test_tables_know_all import WHOLE

OF_INDEX_1, OF_PA = Variant(formulation=Index1()), Variant(formulation=ProjectedInvariants("Pa"))
MAKES = {"stiff chain": lambda: stiff_chain(12), "star": lambda: star(9), "pieces": pieces} | MACHINES


def as_both(make, end, **how):
    """The same run by tables and by compiled code."""
    return (simulate(make(), end, compile=tier, **how) for tier in ("never", "now"))


def largest(x):
    return np.abs(x).max(initial=0.0)


@pytest.mark.parametrize("integrator", [Radau(), BDF(), Radau(order=9)], ids=repr)
@pytest.mark.parametrize("stabilization", [None, Projection()], ids=repr)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_of_ggl_agree_with_compiled_code_and_keep_both_levels(name, stabilization, integrator):
    how = {"formulation": GGL(), "integrator": integrator, "stabilization": stabilization, "save_at": 5}
    sol, known = as_both(MACHINES[name], 0.1, **how)
    speed = 1.0 + largest(known.v)
    assert sol.plan.tier == "tables" and abs(sol.stats["steps"] - known.stats["steps"]) <= 1
    assert largest(sol.q - known.q) < 1e-7 and largest(sol.v - known.v) < 1e-7 * speed  # a tenth of rtol
    assert largest(sol.lam - known.lam) < 1e-7 * (1.0 + largest(known.lam))
    bound = 1e-10 if stabilization is not None else 1e-7 * speed  # Newton's method ends there
    assert largest(sol.drift["position"]) < bound and largest(sol.drift["velocity"]) < bound
    mu = sol.unknowns["mu"]
    assert mu.shape[1] == len(sol.plan.model.constraint_labels) and largest(mu) < 1e-3  # it vanishes for exact solutions


@pytest.mark.parametrize("integrator", [BackwardEuler(), FixedBDF(3), BDF(max_order=2), Radau()], ids=repr)
def test_fixed_steps_of_ggl_agree_with_compiled_code(integrator):
    for make in (lambda: slider_crank(speed=10.0), everything, lambda: ball_chain(2)):
        sol, known = as_both(make, 0.02, step=1e-3, integrator=integrator, formulation=GGL())
        assert sol.q == pytest.approx(known.q, abs=1e-10) and sol.v == pytest.approx(known.v, abs=1e-8)
        assert largest(sol.drift["position"]) < 1e-10 and largest(sol.drift["velocity"]) < 1e-9


def test_ggl_keeps_the_order_of_an_integrator_on_a_chain_of_fifty_links():
    def end(step):
        return simulate(chain(50), 0.2, step=step, save_at=2, compile="never", integrator=FixedBDF(2), formulation=GGL()).q[-1]

    known = simulate(chain(50), 0.2, compile="never", save_at=2, rtol=1e-9, atol=1e-11).q[-1]
    errors = [largest(end(step) - known) for step in (1e-3, 5e-4, 2.5e-4)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 2.0) < 0.25), errors


@pytest.mark.parametrize("formulation", [GGL(), Index1(), ProjectedInvariants("Pa")], ids=repr)
@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_friction_under_reactions_and_bodies_without_inertia_are_known(make, formulation):
    how = {"integrator": Radau(), "formulation": formulation, "save_at": 4}
    # compiled code divides by masses but with GGL: half a million steps of index 1 where these are 1e11 apart
    other = {**how, "formulation": GGL()} if make is WHOLE["masses 1e11 apart"] else how
    sol, known = simulate(make(), 0.1, compile="never", **how), simulate(make(), 0.1, compile="now", **other)
    assert sol.plan.tier == "tables" and largest(sol.q - known.q) < 1e-7
    assert largest(sol.lam - known.lam) < 1e-6 * (1 + largest(known.lam))


@pytest.mark.parametrize("make", [pieces, lambda: star(40)], ids=["pieces", "star"])
@pytest.mark.parametrize("formulation", [GGL(), Index1(), ProjectedInvariants("Pa")], ids=repr)
def test_bodies_that_nothing_holds_and_bodies_with_many_joints_are_known(make, formulation):
    sol, known = (
        simulate(make(), 0.1, compile="never", save_at=3, rtol=1e-8, **how)
        for how in ({"integrator": Radau(), "formulation": formulation}, {"integrator": DOP853()})
    )
    assert largest(sol.q - known.q) < 1e-7


def test_ggl_is_stepped_and_swept_as_tables():
    m, how = stiff_chain(5), {"integrator": Radau(), "formulation": GGL()}
    known = simulate(m, 0.1, compile="now", **how)
    stepper = Stepper(m, compile="never", **how)
    for _ in range(5):
        stepper.step(0.02)
    assert largest(stepper.q - known.q[-1]) < 1e-7
    masses = [0.05, 0.1, 0.2]
    runs = sweep(m, 0.05, params={"link 2.mass": masses}, save_at=3, compile="never", progress=False, **how)
    for mass, q in zip(masses, runs.q, strict=True):
        m.params["link 2.mass"] = mass
        assert largest(q - simulate(m, 0.05, save_at=3, compile="now", **how).q) < 1e-7


def test_numbers_of_ggl_grow_with_the_number_of_bodies_alone():
    def lengths(n):
        system = stiff_chain(n).to_tables()
        return {fn: operator.length for fn, operator in system.operators(GGL()).items()}

    few, many = lengths(100), lengths(200)
    for fn in (Fn.LINEARIZED, Fn.NEWTON_FACTOR, Fn.COMPLEX_FACTOR):
        assert many[fn] < 2.02 * few[fn]


@pytest.mark.parametrize("name", MAKES)
def test_equations_of_index_1_are_those_of_compiled_code_and_their_matrix_is_exact(name):
    (tables, code), data, x = both(MAKES[name]())
    random, v = np.random.default_rng(3), slice(tables.nq, tables.nq + tables.nv)
    y = np.concatenate([x, random.uniform(-1, 1, tables.n_lam)])
    n, slope = len(y), random.uniform(-1, 1, len(y))

    def left(model, own, y, slope):
        return model.evaluate(Fn.EQUATIONS, 0.3, y, slope, own, OF_INDEX_1)

    by_slope = code.evaluate(Fn.BY_SLOPE, 0.3, y, slope, data[1], OF_INDEX_1).reshape(n, n)
    slope[v] -= np.linalg.solve(by_slope[v, v], left(code, data[1], y, slope)[v])  # where M v' = f - Gᵀλ rows are the same
    found, known = left(tables, data[0], y, slope), left(code, data[1], y, slope)
    assert found == pytest.approx(known, rel=1e-11, abs=1e-12 * (1.0 + largest(known)))
    check_matrix(tables, data[0], y, slope, OF_INDEX_1)


def check_matrix(tables, data, y, slope, variant):
    """Newton's matrix beside differences of the equations."""
    n, random = len(y), np.random.default_rng(4)
    A, B = np.empty((n, n)), np.empty((n, n))
    left = lambda y, slope: tables.evaluate(Fn.EQUATIONS, 0.3, y, slope, data, variant)
    for j, e in enumerate(np.eye(n)):
        d = 1e-4 * (1.0 + abs(y[j]))
        near, far = (left(y + k * d * e, slope) - left(y - k * d * e, slope) for k in (1, 2))
        A[:, j] = (8.0 * near - far) / (12.0 * d)
        B[:, j] = (left(y, slope + e) - left(y, slope - e)) / 2.0  # linear
    for c, imaginary in ((10.0, 0.0), (1e3, 0.0), (1e6, 0.0), (10.0, -8.0), (1e3, 500.0), (1e6, 1e6)):
        r = random.uniform(-1, 1, n) + (1j * random.uniform(-1, 1, n) if imaginary else 0.0)
        factors, solved = of_newton(tables, data, c, imaginary, r, y, slope, variant)
        J = A + (c + 1j * imaginary) * B
        assert factors[0] == 1.0  # growth
        # differences are known to 1e-12; of the seven bodies some δv are 1e-6 of others: beside the largest of its kind
        kinds = np.split(solved, np.cumsum([tables.nq, tables.nv, tables.n_lam]))
        sizes = np.concatenate([np.full(len(kind), largest(kind)) for kind in kinds])
        assert largest((J @ solved - r) / (np.abs(J) @ sizes + np.abs(r))) < 1e-10
    L, moving = tables.evaluate(Fn.LINEARIZED, 0.3, y, slope, data, variant), tables.nq + tables.nv
    lengths = tables.evaluate(Fn.GRADIENTS, 0.0, L, np.zeros(1), data, variant)[moving:]
    assert not lengths[: tables.n_lam].any()  # accelerations are no level that a method holds
    assert lengths[tables.n_lam :] == pytest.approx(1.0 / (A[moving + tables.n_lam :, :moving] ** 2).sum(axis=1), rel=1e-9)


@pytest.mark.parametrize("name", MAKES)
def test_equations_of_projected_invariants_are_those_of_compiled_code_and_their_matrix_is_exact(name):
    (tables, code), data, x = both(MAKES[name]())
    random, nq, nv, n_lam = np.random.default_rng(3), tables.nq, tables.nv, tables.n_lam
    mu, slope = random.uniform(-1, 1, tables.n_constraints), random.uniform(-1, 1, len(x))
    field = code.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[1])
    slope[nq:], lam = field[nq : nq + nv], field[nq + nv : nq + nv + n_lam]  # then v' = v̂ with these λ
    y, zero = np.concatenate([x, lam, mu]), np.zeros(n_lam + len(mu))
    found = tables.evaluate(Fn.EQUATIONS, 0.3, y, np.append(slope, zero), data[0], OF_PA)
    known = code.evaluate(Fn.EQUATIONS, 0.3, np.append(x, mu), np.append(slope, zero[n_lam:]), data[1], OF_PA)
    scale = 1e-10 * (1.0 + largest(field))
    assert found[:nq] == pytest.approx(known[:nq], abs=1e-12 * (1.0 + largest(known)))
    assert largest(found[nq : nq + nv + n_lam]) < scale and largest(known[nq : nq + nv]) < scale
    assert found[nq + nv + n_lam :] == pytest.approx(known[nq + nv :], abs=1e-12)
    y[nq + nv :], slope = random.uniform(-1, 1, n_lam + len(mu)), random.uniform(-1, 1, len(y))
    check_matrix(tables, data[0], y, slope, OF_PA)


@pytest.mark.parametrize("stabilization", [None, Projection()], ids=repr)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_of_projected_invariants_agree_with_compiled_code(name, stabilization):
    how = {"formulation": ProjectedInvariants("Pa"), "stabilization": stabilization}
    for integrator in (Radau(), FixedBDF(2)):
        sol, known = as_both(MACHINES[name], 0.02, step=1e-3, integrator=integrator, **how)
        assert sol.q == pytest.approx(known.q, abs=1e-9) and sol.v == pytest.approx(known.v, abs=1e-7)
    sol, known = as_both(MACHINES[name], 0.1, integrator=Radau(), save_at=5, **how)
    # λ, eliminated in compiled code, is an unknown that Newton's method ends by, too
    assert sol.plan.tier == "tables" and sol.stats["steps"] <= known.stats["steps"] + 2
    assert largest(sol.q - known.q) < 3e-7 * (1.0 + largest(known.q)) and largest(sol.v - known.v) < 3e-7 * (1.0 + largest(known.v))
    assert largest(sol.drift["position"]) < (1e-6 if stabilization is None else 1e-10)
    assert set(sol.unknowns) == {"lam", "mu"} and set(known.unknowns) == {"mu"}


@pytest.mark.parametrize(
    ("integrator", "stabilization"), [(Radau(), None), *((i, Projection()) for i in (Radau(), BDF(), Radau(order=9)))], ids=repr
)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_of_index_1_agree_with_compiled_code(name, integrator, stabilization):
    how = {"formulation": Index1(), "integrator": integrator, "stabilization": stabilization, "save_at": 5, "atol": 1e-9}
    sol, known = as_both(MACHINES[name], 0.1, **how)
    speed = 1.0 + largest(known.v)
    # rows have v' in the place of M⁻¹(f - Gᵀλ), so that Newton's method ends elsewhere: a fifth of rtol, BDF's own errors being
    # ten times as large; they may take fewer steps
    assert sol.plan.tier == "tables" and sol.stats["steps"] <= known.stats["steps"] + 2
    assert largest(sol.q - known.q) < 2e-7 * (1.0 + largest(known.q)) and largest(sol.v - known.v) < 2e-7 * speed
    assert largest(sol.lam - known.lam) < 1e-6 * (1.0 + largest(known.lam))
    if stabilization is not None:
        assert largest(sol.drift["position"]) < 1e-10 and largest(sol.drift["velocity"]) < 1e-10


@pytest.mark.parametrize("integrator", [BackwardEuler(), FixedBDF(3), BDF(max_order=2), Radau()], ids=repr)
def test_fixed_steps_of_index_1_agree_with_compiled_code(integrator):
    for make in (lambda: slider_crank(speed=10.0), everything, lambda: ball_chain(2)):
        sol, known = as_both(make, 0.02, step=1e-3, integrator=integrator, formulation=Index1(), stabilization=Projection())
        assert sol.q == pytest.approx(known.q, abs=1e-9) and sol.v == pytest.approx(known.v, abs=1e-7)


@pytest.mark.parametrize(("make", "count"), [(lambda: planetary_gear(5.0), 2), (lambda: four_bar(3), 3)])
def test_rows_that_repeat_others_are_left_out_of_index_1(make, count):
    with pytest.warns(RedundancyWarning):
        sol, known = as_both(make, 0.1, integrator=Radau(), formulation=Index1(), save_at=3, rtol=1e-8)
    assert largest(sol.q - known.q) < 1e-8
    (tables, _), data, x = both(make())
    y = np.concatenate([x, np.random.default_rng(1).uniform(1, 2, tables.n_lam)])
    rows = tables.evaluate(Fn.EQUATIONS, 0.3, y, 0 * y, data[0], OF_INDEX_1)[len(x) :]
    assert (rows == y[len(x) :]).sum() == count  # there the equation is λ = 0


def test_an_implicit_integrator_alone_runs_as_tables_with_the_formulation_of_compiled_code():
    sol = simulate(chain(3), 0.01, compile="never", integrator=Radau())
    assert repr(sol.plan) == "Index1() + Radau() + Projection()" and sol.plan.tier == "tables"
