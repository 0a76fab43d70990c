"""Formulations with accelerations among the unknowns of tables: projected invariants Pb and Pc, and the overdetermined form."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    BackwardEuler,
    FixedBDF,
    GaussLegendre,
    GaussLegendre4,
    ImplicitMidpoint,
    Overdetermined,
    ProjectedInvariants,
    Projection,
    Radau,
    Stepper,
    Trapezoidal,
    simulate,
    sweep,
)
from holonomic.errors import RedundancyWarning
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant

from .machines import four_bar, planetary_gear, slider_crank
from .test_tables import MACHINES, ball_chain, both, chain, everything
from .test_tables_formulations import MAKES, as_both, largest
from .test_tables_implicit import ONE_OF_EACH, of_newton, pieces, star, stiff_chain
from .test_tables_know_all import WHOLE

PROJECTED = [ProjectedInvariants("Pb"), ProjectedInvariants("Pc")]
ALL = [*PROJECTED, Overdetermined()]
FIXED = [BackwardEuler(), FixedBDF(3), Trapezoidal(), ImplicitMidpoint(), ImplicitMidpoint("stage")]
MORE = [GaussLegendre4(), GaussLegendre(3), Radau(), BDF(max_order=2)]
FEW = {"plane": lambda: slider_crank(speed=10.0), "forces": everything, "space": lambda: ball_chain(2), "chain": lambda: chain(5)}


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("formulation", ALL, ids=repr)
def test_equations_are_those_of_compiled_code(formulation, name):
    (tables, code), data, x = both(MAKES[name]())
    random, (nq, nv), (n, first) = np.random.default_rng(3), (tables.nq, tables.nv), (tables.n_lam, tables.n_constraints)
    slope, field = random.uniform(-1, 1, len(x)), code.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[1])
    v_dot, lam = field[nq : nq + nv], field[nq + nv : nq + nv + n]
    tau, mu, least = random.uniform(-1, 1, n), random.uniform(-1, 1, first), isinstance(formulation, Overdetermined)
    y = np.concatenate([x, v_dot, lam] if least else [x, tau, mu, v_dot, lam])
    plain = np.concatenate([x, lam] if least else [x, mu, tau])
    left = lambda model, own, y: model.evaluate(
        Fn.EQUATIONS, 0.3, y, np.append(slope, np.zeros(len(y) - len(x))), own, Variant(formulation=formulation)
    )
    found, known = left(tables, data[0], y), left(code, data[1], plain)
    moving, by_v, by_q, inner = np.split(found, np.cumsum([nq + nv, n, first]))
    rows = [moving, by_q, by_v] + ([inner[nv:]] if least else [])
    assert np.concatenate(rows) == pytest.approx(known, rel=1e-11, abs=1e-12 * (1.0 + largest(known)))
    assert largest(inner) < 1e-11 * (1.0 + largest(field))  # M w = f - Gᵀλ and G w + γ = 0


def differences(left, y, slope):
    """∂R/∂y and ∂R/∂y'."""
    rows = len(left(y, slope))
    A, B = np.empty((rows, len(y))), np.empty((rows, len(y)))
    for j, e in enumerate(np.eye(len(y))):
        d = 1e-4 * (1.0 + abs(y[j]))
        near, far = (left(y + k * d * e, slope) - left(y - k * d * e, slope) for k in (1, 2))
        A[:, j] = (8.0 * near - far) / (12.0 * d)
        B[:, j] = (left(y, slope + e) - left(y, slope - e)) / 2.0  # linear
    return A, B


def at_random(name, formulation):
    """A model of tables, its data, and unknowns and slopes at random; then R and its derivatives there."""
    (tables, _), data, x = both(MAKES[name]())
    random, variant = np.random.default_rng(5), Variant(formulation=formulation)
    blocks = formulation.blocks_of_elements(tables.nq, tables.nv, tables.n_lam, tables.n_constraints)
    sizes = [block.size for block in blocks]
    y, slope = np.append(x, random.uniform(-1, 1, sum(sizes) - len(x))), random.uniform(-1, 1, sum(sizes))
    left = lambda y, slope: tables.evaluate(Fn.EQUATIONS, 0.3, y, slope, data[0], variant)
    return tables, data[0], y, slope, variant, sizes, differences(left, y, slope)


@pytest.mark.parametrize("name", MAKES)
@pytest.mark.parametrize("formulation", PROJECTED, ids=repr)
def test_newtons_matrix_of_projected_invariants_is_exact(formulation, name):
    tables, data, y, slope, variant, sizes, (A, B) = at_random(name, formulation)
    random, n = np.random.default_rng(6), len(y)
    for c, imaginary in ((10.0, 0.0), (1e3, 0.0), (1e6, 0.0), (10.0, -8.0), (1e3, 500.0), (1e6, 1e6)):
        r = random.uniform(-1, 1, n) + (1j * random.uniform(-1, 1, n) if imaginary else 0.0)
        factors, solved = of_newton(tables, data, c, imaginary, r, y, slope, variant)
        J = A + (c + 1j * imaginary) * B
        scales = np.concatenate([np.full(len(kind), largest(kind)) for kind in np.split(solved, np.cumsum(sizes)[:-1])])
        assert factors[0] == 1.0  # growth
        assert largest((J @ solved - r) / (np.abs(J) @ scales + np.abs(r))) < 1e-9  # differences are known to 1e-12, see index 1
    moving, shown = tables.nq + tables.nv, tables.n_lam + tables.n_constraints
    L = tables.evaluate(Fn.LINEARIZED, 0.3, y, slope, data, variant)
    lengths = tables.evaluate(Fn.GRADIENTS, 0.0, L, np.zeros(1), data, variant)[moving:]
    assert lengths[:shown] == pytest.approx(1.0 / (A[moving : moving + shown, :moving] ** 2).sum(axis=1), rel=1e-9)
    assert not lengths[shown:].any()  # accelerations are no level that a method holds


@pytest.mark.parametrize("name", MAKES)
def test_steps_of_the_overdetermined_form_are_constrained_least_squares(name):
    tables, data, y, slope, variant, _, (A, B) = at_random(name, Overdetermined())
    random, moving = np.random.default_rng(6), tables.nq + tables.nv
    for c in (10.0, 1e3, 1e5):
        r = random.uniform(-1, 1, len(A))
        r[moving:] *= 1e-3
        _, solved = of_newton(tables, data, c, 0.0, r, y, slope, variant)
        J = A + c * B
        D, C = J[:moving], J[moving:]
        exact = C @ solved - r[moving:]
        assert largest(exact / (np.abs(C) @ np.abs(solved) + np.abs(r[moving:]))) < 1e-8
        # what is left of the differential equations cannot be made smaller where the others hold: it is orthogonal to their moves
        left, null = D @ solved - r[:moving], np.linalg.svd(C)[2][len(C) :]
        assert null.shape[0] >= tables.nv - tables.n_lam
        moves = D @ null.T
        assert largest((moves.T @ left) / (np.linalg.norm(moves, axis=0) * (np.linalg.norm(left) + np.linalg.norm(r)))) < 1e-8


@pytest.mark.parametrize("stabilization", [None, Projection()], ids=repr)
@pytest.mark.parametrize("formulation", ALL, ids=repr)
@pytest.mark.parametrize("name", FEW)
def test_a_hundred_fixed_steps_agree_with_compiled_code(name, formulation, stabilization):
    for integrator in FIXED if isinstance(formulation, Overdetermined) else [*FIXED, *MORE]:
        how = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
        sol, known = as_both(FEW[name], 0.1, step=1e-3, **how)
        assert sol.plan.tier == "tables" and known.plan.tier == "code"
        scale = 5e-12 if isinstance(integrator, GaussLegendre4 | Radau) else 1e-12  # Newton's method ends a little sooner there
        assert largest(sol.q - known.q) < scale and largest(sol.v - known.v) < scale * (1.0 + largest(known.v)), repr(integrator)
        assert sol.stats["residuals"] <= 1.8 * known.stats["residuals"]  # w is found by Newton's method, too


@pytest.mark.parametrize("integrator", [Radau(), BDF(), Radau(order=9)], ids=repr)
@pytest.mark.parametrize("formulation", PROJECTED, ids=repr)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_of_projected_invariants_agree_with_compiled_code(name, formulation, integrator):
    how = {"formulation": formulation, "integrator": integrator, "stabilization": Projection(), "save_at": 5, "atol": 1e-9}
    sol, known = as_both(MACHINES[name], 0.1, **how)
    speed = 1.0 + largest(known.v)
    # Newton's method, which has other unknowns in tables, limits long steps of order 9: up to 5 more, counted on all machines
    more = 5 if integrator == Radau(order=9) else 2
    assert sol.plan.tier == "tables" and sol.stats["steps"] <= 1.3 * known.stats["steps"] + more
    # a tenth of the error that may be made in a step; errors of BDF, and of long steps of order 9, are ten times as large
    bound = 1e-7 if integrator == Radau() else 1e-6
    assert largest(sol.q - known.q) < bound * (1.0 + largest(known.q))
    exact = simulate(MACHINES[name](), 0.1, rtol=1e-11, atol=1e-13, save_at=5, integrator=DOP853()).v
    # first steps differ with the unknowns; series of other steps differ by no more than their errors, which BDF adds up
    assert largest(sol.v - known.v) < bound * speed + (largest(known.v - exact) if integrator == BDF() else 0.0)
    assert largest(sol.v - exact) < bound * speed + 2.0 * largest(known.v - exact)
    assert largest(sol.lam - known.lam) < bound * (1.0 + largest(known.lam))
    assert largest(sol.drift["position"]) < 1e-10 and largest(sol.drift["velocity"]) < 1e-10
    assert set(sol.unknowns) == {"tau", "mu", "a", "lam"} and set(known.unknowns) == {"tau", "mu"}


@pytest.mark.parametrize("formulation", ALL, ids=repr)
@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_friction_under_reactions_and_bodies_without_inertia_are_known(make, formulation):
    least = isinstance(formulation, Overdetermined)
    how = {"integrator": FixedBDF(3), "step": 2e-4} if least else {"integrator": Radau()}
    sol = simulate(make(), 0.1, compile="never", formulation=formulation, save_at=4, **how)
    known = simulate(make(), 0.1, compile="never", save_at=4, rtol=1e-9)
    bound = 1e-6 if least else 1e-7  # errors of 500 steps of order 3
    assert sol.plan.tier == "tables" and largest(sol.q - known.q) < bound
    assert largest(sol.lam - known.lam) < 10 * bound * (1 + largest(known.lam))


@pytest.mark.parametrize("make", [pieces, lambda: star(40)], ids=["pieces", "star"])
@pytest.mark.parametrize("formulation", ALL, ids=repr)
def test_bodies_that_nothing_holds_and_bodies_with_many_joints_are_known(make, formulation):
    least = isinstance(formulation, Overdetermined)
    how = {"integrator": FixedBDF(3), "step": 2e-4} if least else {"integrator": Radau(), "rtol": 1e-8}
    sol = simulate(make(), 0.1, compile="never", save_at=3, formulation=formulation, **how)
    known = simulate(make(), 0.1, compile="never", save_at=3, rtol=1e-9, integrator=DOP853())
    assert largest(sol.q - known.q) < 1e-7


@pytest.mark.parametrize("formulation", ALL, ids=repr)
@pytest.mark.parametrize(("make", "count"), [(lambda: planetary_gear(5.0), 2), (lambda: four_bar(3), 3)])
def test_rows_that_repeat_others_are_left_out(make, count, formulation):
    least = isinstance(formulation, Overdetermined)
    how = {"integrator": FixedBDF(2), "step": 1e-3} if least else {"integrator": Radau(), "rtol": 1e-8}
    with pytest.warns(RedundancyWarning):
        sol, known = as_both(make, 0.05, formulation=formulation, save_at=3, **how)
    assert largest(sol.q - known.q) < 1e-8 and largest(sol.v - known.v) < 1e-7 * (1.0 + largest(known.v))
    gone = np.abs(sol.unknowns["lam"][1:]).max(axis=0) < 1e-12 * (1.0 + largest(sol.lam))  # at the start they are the smallest
    assert gone.sum() >= count


@pytest.mark.parametrize("formulation", PROJECTED, ids=repr)
def test_they_are_stepped_and_swept_as_tables(formulation):
    m, how = stiff_chain(5), {"integrator": Radau(), "formulation": formulation}
    known = simulate(m, 0.1, compile="now", **how)
    stepper = Stepper(m, compile="never", **how)
    for _ in range(5):
        stepper.step(0.02)
    assert largest(stepper.q - known.q[-1]) < 1e-7
    runs = sweep(m, 0.05, params={"link 2.mass": [0.05, 0.2]}, save_at=3, compile="never", progress=False, **how)
    for mass, q in zip([0.05, 0.2], runs.q, strict=True):
        m.params["link 2.mass"] = mass
        assert largest(q - simulate(m, 0.05, save_at=3, compile="now", **how).q) < 1e-7


@pytest.mark.parametrize("formulation", ALL, ids=repr)
def test_their_numbers_grow_with_the_number_of_bodies_alone(formulation):
    def lengths(n):
        return {fn: operator.length for fn, operator in stiff_chain(n).to_tables().operators(formulation).items()}

    few, many = lengths(100), lengths(200)
    for fn in (Fn.LINEARIZED, Fn.NEWTON_FACTOR, Fn.COMPLEX_FACTOR):
        assert many[fn] < 2.02 * few[fn]


@pytest.mark.parametrize("formulation", ALL, ids=repr)
def test_they_run_beyond_a_hundred_bodies_unasked(formulation):
    sol = simulate(chain(150), 0.01, step=1e-3, formulation=formulation, integrator=BackwardEuler())
    assert sol.plan.tier == "tables" and largest(sol.drift["position"]) < 1e-10 and largest(sol.drift["velocity"]) < 1e-10
