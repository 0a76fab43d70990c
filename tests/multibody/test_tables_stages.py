"""Trapezoidal and midpoint rule, Gauss's and Lobatto's methods on tables: the steps of compiled code, and their orders."""

import numpy as np
import pytest

from holonomic import (
    DOP853,
    GGL,
    RK4,
    GaussLegendre,
    GaussLegendre4,
    ImplicitMidpoint,
    Index1,
    Index2,
    Index3,
    LobattoIIIAB,
    ProjectedInvariants,
    Projection,
    Trapezoidal,
    simulate,
)
from holonomic.errors import IncompatibleMethods, RedundancyWarning
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant
from holonomic.multibody import Mechanism, rod

from .machines import four_bar, planetary_gear, slider_crank
from .test_tables import MACHINES, ball_chain, both, warm_arm
from .test_tables_know_all import WHOLE

MEANS = [(Trapezoidal(), Index2()), (ImplicitMidpoint(), Index2()), (ImplicitMidpoint(), Index3())]
IN_STAGES = [(ImplicitMidpoint("stage"), Index2()), (GaussLegendre4(), Index2()), (GaussLegendre(3), Index2())]

BOTH_LEVELS = [(Trapezoidal(), GGL()), (ImplicitMidpoint(), GGL()), (GaussLegendre4(), GGL()), (GaussLegendre4(), Index1())]


def uneven():
    """Four rods, their masses 1 to 30 apart, on pins; they fall from rest."""
    m, before = Mechanism(), None
    for i, mass in enumerate((1.0, 0.1, 3.0, 0.3)):
        link = m.body(f"link {i}", rod((0.2 * i, 0), (0.2 * i + 0.2, 0.1 * (i % 2)), mass=mass))
        m.revolute(f"pin {i}", m.ground if before is None else before, link, at=(0.2 * i, 0.1 * ((i - 1) % 2) * (i > 0)))
        before = link
    return m


def falling():
    """A planar machine in motion, with states: a slider-crank let go from where it was drawn."""
    m = slider_crank()
    m.state("heat", rate=lambda heat, guide: guide.speed**2 - heat)
    m.motor("O", torque=lambda angle, speed, heat: 2.0 * np.sin(angle) - 0.3 * speed * (1.0 + heat))
    return m


@pytest.mark.parametrize(("integrator", "formulation"), MEANS + IN_STAGES, ids=repr)
@pytest.mark.parametrize("make", [uneven, falling, lambda: ball_chain(2), MACHINES["sleigh"], warm_arm],
                         ids=["chain", "states", "balls", "sleigh", "states in space"])  # fmt: skip
def test_a_hundred_fixed_steps_are_those_of_compiled_code(make, integrator, formulation):
    # with a tolerance below rounding, what ends Newton's method would be rounding, of which the media have another
    how = {"step": 2e-3, "integrator": integrator, "formulation": formulation, "save_at": 11, "atol": 1e-9}
    sol, known = (simulate(make(), 0.2, compile=compiled, **how) for compiled in ("never", "now"))
    assert sol.plan.tier == "tables" and sol.stats["steps"] == known.stats["steps"] == 100
    assert sol.stats["residuals"] == known.stats["residuals"]  # Newton's matrix is the same, too
    # velocities of index 3 are differences of positions over h: rounding of 1e-14 over 2e-3, a hundred times
    assert sol.q == pytest.approx(known.q, abs=1e-12) and sol.v == pytest.approx(known.v, abs=1e-10)
    assert sol.lam == pytest.approx(known.lam, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("integrator", "formulation"), BOTH_LEVELS, ids=repr)
@pytest.mark.parametrize("make", [uneven, lambda: ball_chain(2)], ids=["chain", "balls"])
def test_other_formulations_take_the_steps_of_compiled_code(make, integrator, formulation):
    how = {"step": 2e-3, "integrator": integrator, "formulation": formulation, "save_at": 11}
    sol, known = (simulate(make(), 0.1, compile=compiled, **how) for compiled in ("never", "now"))
    assert sol.plan.tier == "tables" and sol.stats["steps"] == known.stats["steps"] == 50
    assert sol.q == pytest.approx(known.q, abs=1e-12) and sol.v == pytest.approx(known.v, abs=1e-10)


@pytest.mark.parametrize("formulation", [Index1(), ProjectedInvariants("Pa")], ids=repr)
def test_mean_slopes_do_not_go_with_rows_of_accelerations(formulation):
    with pytest.raises(IncompatibleMethods, match="takes the mean slope of a step"):
        simulate(uneven(), 0.1, step=2e-3, compile="never", integrator=Trapezoidal(), formulation=formulation)


@pytest.mark.parametrize(("integrator", "formulation"), [MEANS[0], *MEANS[1:2], IN_STAGES[1]], ids=repr)
@pytest.mark.parametrize("make", [lambda: planetary_gear(5.0), lambda: four_bar(3)], ids=["gear", "four-bar"])
def test_rows_that_repeat_others_are_left_out(make, integrator, formulation):
    how = {"step": 4e-3, "integrator": integrator, "formulation": formulation}
    with pytest.warns(RedundancyWarning):
        sol, known = (simulate(make(), 0.1, compile=compiled, **how) for compiled in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-12 and np.abs(sol.v - known.v).max() < 1e-10
    assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.drift["velocity"]).max() < 1e-10


@pytest.mark.parametrize(("integrator", "formulation", "steps"), [
    (Trapezoidal(), Index2(), (40, 80)), (Trapezoidal(), Index3(), (40, 80)), (ImplicitMidpoint(), Index2(), (40, 80)),
    (ImplicitMidpoint(), Index3(), (40, 80)), (ImplicitMidpoint("stage"), Index2(), (40, 80)),
    (GaussLegendre4(), Index2(), (20, 40)), (GaussLegendre(3), Index2(), (12, 24)),
])  # fmt: skip
def test_orders_are_kept_with_unequal_masses(integrator, formulation, steps):
    known = simulate(uneven(), 0.2, compile="never", integrator=DOP853(), rtol=1e-12, atol=1e-13, save_at=2).end
    how = {"compile": "never", "integrator": integrator, "formulation": formulation, "save_at": 2}
    ends = [simulate(uneven(), 0.2, step=0.2 / n, **how).end for n in steps]
    for name in ("q", "v"):
        coarse, fine = (np.abs(getattr(end, name) - getattr(known, name)).max() for end in ends)
        assert np.log2(coarse / fine) > integrator.order - 0.3, (name, coarse, fine)


def held_twice():
    """A row of arms under a bar that three of them carry: rows that repeat others, in the plane."""
    m = Mechanism()
    m.body("bar", rod((0, -0.5), (1, -0.5), mass=2.0))
    for i, x in enumerate((0.0, 0.4, 1.0)):
        m.body(f"arm {i}", rod((x, 0), (x, -0.5), mass=0.5 + i))
        m.revolute(f"top {i}", m.ground, f"arm {i}", at=(x, 0))
        m.revolute(f"end {i}", f"arm {i}", "bar", at=(x, -0.5))
    m.assemble({"top 0": 0.4})
    return m


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("make", [uneven, four_bar], ids=["chain", "four-bar"])
def test_lobatto_steps_are_those_of_compiled_code(make, stages):
    how = {"step": 2e-3, "integrator": LobattoIIIAB(stages=stages), "save_at": 11}
    sol, known = (simulate(make(), 0.2, compile=compiled, **how) for compiled in ("never", "now"))
    assert sol.plan.tier == "tables" and sol.stats["steps"] == known.stats["steps"] == 100
    assert sol.q == pytest.approx(known.q, abs=1e-11) and sol.v == pytest.approx(known.v, abs=1e-10)
    assert sol.lam == pytest.approx(known.lam, rel=1e-9, abs=1e-9)
    assert np.abs(sol.drift["position"]).max() < 1e-12 and np.abs(sol.drift["velocity"]).max() < 1e-12


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
@pytest.mark.parametrize("stages", [3, 4])
def test_lobatto_leaves_out_rows_that_repeat_others(stages):
    how = {"step": 5e-3, "integrator": LobattoIIIAB(stages=stages), "compile": "never", "save_at": 2}
    sol = simulate(held_twice(), 0.1, **how)
    known = simulate(held_twice(), 0.1, compile="never", integrator=DOP853(), rtol=1e-11, atol=1e-12, save_at=2)
    assert np.abs(sol.end.q - known.end.q).max() < (1e-5 if stages == 3 else 1e-8)
    assert np.abs(sol.drift["position"]).max() < 1e-11 and np.abs(sol.drift["velocity"]).max() < 1e-11


@pytest.mark.parametrize(("stages", "n"), [(2, 40), (3, 20), (4, 10)])
def test_lobatto_has_order_2s_minus_2_with_unequal_masses(stages, n):
    known = simulate(uneven(), 0.2, compile="never", integrator=DOP853(), rtol=1e-12, atol=1e-13, save_at=2).end
    how = {"compile": "never", "integrator": LobattoIIIAB(stages=stages), "save_at": 2}
    ends = [simulate(uneven(), 0.2, step=0.2 / k, **how).end for k in (n, 2 * n)]
    for name in ("q", "v", "lam"):
        coarse, fine = (np.abs(getattr(end, name) - getattr(known, name)).max() for end in ends)
        assert np.log2(coarse / fine) > 2 * stages - 2 - 0.3, (name, coarse, fine)


@pytest.mark.parametrize("make", [uneven, MACHINES["every force"], MACHINES["arm"], MACHINES["sleigh"], warm_arm])
@pytest.mark.parametrize("formulation", [Index2(), Index3()], ids=repr)
def test_algebraic_rows_of_another_point_stand_in_newtons_matrix(make, formulation):
    variant = Variant(formulation=formulation)
    (tables, code), data, x = both(make())
    random = np.random.default_rng(3)
    y, other = (np.concatenate([x + random.uniform(-0.1, 0.1, len(x)), random.uniform(-1, 1, tables.n_lam)]) for _ in range(2))
    n, m, slope = len(y), len(y) - tables.n_lam, random.uniform(-1, 1, len(y))
    at = lambda fn, point: code.evaluate(fn, 0.3, point, slope, data[1], variant).reshape(n, n)
    J = at(Fn.BY_Y, y) + 500.0 * at(Fn.BY_SLOPE, y)
    J[m:] = at(Fn.BY_Y, other)[m:]
    L = np.concatenate([tables.evaluate(Fn.LINEARIZED, 0.3, point, slope, data[0], variant) for point in (y, other)])
    F = tables.evaluate(Fn.ENDS_FACTOR, 500.0, L, np.zeros(1), data[0], variant)
    r = random.uniform(-1, 1, n)
    solved = tables.evaluate(Fn.ENDS_SOLVE, 0.0, F, r, data[0], variant)
    assert F[0] == 1.0
    assert np.abs((J @ solved - r) / (np.abs(J) @ np.abs(solved) + np.abs(r))).max() < 1e-11


@pytest.mark.parametrize("name", ["every force", "ball chain", "arm", "sleigh", "states"])
def test_velocities_are_moved_along_the_masses(name):
    by_mass = Variant(mass_at="VEL")
    (tables, code), data, x = both(MACHINES[name]())
    random = np.random.default_rng(4)
    r, e = random.uniform(-1, 1, tables.n_lam), random.uniform(-1, 1, tables.nv)
    found, known = (
        [model.evaluate(fn, 0.3, factors, given, own, by_mass) for fn, given in ((Fn.VEL_SOLVE, r), (Fn.VEL_TANGENT, e))]
        for model, own in zip((tables, code), data, strict=True)
        for factors in (model.evaluate(Fn.VEL_FACTOR, 0.3, x, np.zeros(1), own, by_mass),)
    )
    for one, other in zip(found, known, strict=True):
        assert one == pytest.approx(other, rel=1e-10, abs=1e-11 * np.abs(other).max())
    plain = tables.evaluate(Fn.VEL_FACTOR, 0.3, x, np.zeros(1), data[0])
    assert np.abs(tables.evaluate(Fn.VEL_SOLVE, 0.3, plain, r, data[0]) - known[0]).max() > 1e-3  # another direction


def test_the_mass_metric_may_be_asked_for():
    how = {"step": 5e-3, "integrator": RK4(), "stabilization": Projection(metric="mass")}
    sol, known = (simulate(uneven(), 0.2, compile=compiled, **how) for compiled in ("never", "now"))
    assert sol.plan.tier == "tables" and np.abs(sol.q - known.q).max() < 1e-13


def test_a_chain_of_two_thousand_links_takes_steps_of_every_kind():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (200, 0)), links=2000, mass=200.0, first=m.ground)
    for integrator, formulation in (*MEANS, *IN_STAGES[:2], (LobattoIIIAB(), Index3())):
        sol = simulate(m, 2e-3, step=1e-3, compile="never", integrator=integrator, formulation=formulation, save_at=2)
        fall = sol.end.v[3 * 1990 + 1]  # far from the pin it falls freely
        assert fall == pytest.approx(-9.81 * 2e-3, rel=1e-6)
        assert sol.plan.size.work_end < 3000 * 2000, integrator  # numbers of workspace: no square of the 16 000 unknowns


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_moves_along_the_masses_need_no_inverse_of_them(make):
    by_mass = Variant(mass_at="VEL")
    (tables, code), data, x = both(make())
    random = np.random.default_rng(4)
    r, e = random.uniform(-1, 1, tables.n_lam), random.uniform(-1, 1, tables.nv)
    nq, nv, n = tables.nq, tables.nv, tables.n_lam
    terms = code.evaluate(Fn.TERMS, 0.3, x, np.zeros(1), data[1])
    M, G = terms[nq : nq + nv * nv].reshape(nv, nv), terms[nq + nv * nv + nv :][: n * nv].reshape(n, nv)
    whole = np.block([[M, G.T], [G, np.zeros((n, n))]])
    factors = tables.evaluate(Fn.VEL_FACTOR, 0.3, x, np.zeros(1), data[0], by_mass)
    assert factors[1 : 1 + n] == pytest.approx(1.0 / np.linalg.norm(G, axis=1), rel=1e-12)
    for fn, given, aim in ((Fn.VEL_SOLVE, r, r), (Fn.VEL_TANGENT, e, G @ e)):
        found = tables.evaluate(fn, 0.3, factors, given, data[0], by_mass)
        known = np.linalg.solve(whole, np.concatenate([np.zeros(nv), aim]))[:nv]
        assert found == pytest.approx(known, rel=1e-11, abs=1e-11 * np.abs(known).max())
    how = {"step": 2e-3, "integrator": GaussLegendre4(), "formulation": Index2()}
    sol, known = (simulate(make(), 0.05, compile=compiled, **how) for compiled in ("never", "now"))
    assert sol.plan.tier == "tables" and "Projection()" in repr(sol.plan)
    assert sol.q == pytest.approx(known.q, abs=1e-11) and sol.v == pytest.approx(known.v, abs=1e-9)


@pytest.mark.parametrize("name", ["friction under reactions", "the same in space"])
def test_forces_that_follow_multipliers_stand_in_newtons_matrix(name):
    how = {"step": 4e-3, "integrator": Trapezoidal(), "formulation": Index2()}
    sol, known = (simulate(WHOLE[name](), 0.1, compile=compiled, **how) for compiled in ("never", "now"))
    # with its columns elsewhere they were 275 and 99 in the plane
    assert sol.stats["residuals"] == pytest.approx(known.stats["residuals"], rel=0.05)
    assert sol.q == pytest.approx(known.q, abs=1e-13) and sol.lam == pytest.approx(known.lam, rel=1e-12, abs=1e-12)
