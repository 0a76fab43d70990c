"""Implicit methods on tables: Newton's matrix in fronts, and the same motion as code that is compiled for all of it."""

import re

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    PHEM56,
    RATTLE,
    BackwardEuler,
    FixedBDF,
    GeneralizedAlpha,
    Index2,
    Index3,
    ProjectedInvariants,
    Projection,
    Radau,
    StateSpace,
    Stepper,
    StrangenessFree,
    UnderlyingODE,
    simulate,
    sweep,
)
from holonomic.assembly.saddle_order import saddle_order
from holonomic.errors import IncompatibleMethods, RedundancyWarning
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, disk, rod

from .machines import bricard, four_bar, planetary_gear, slider_crank
from .test_tables import MACHINES, arm, ball_chain, both, chain, controlled, everything, sleigh

OF_INDEX_2, OF_INDEX_3, OF_GGL = (Variant(formulation=form()) for form in (Index2, Index3, GGL))
IMPLICIT = {"formulation": Index2(), "stabilization": Projection()}
ONE_OF_EACH = ["slider-crank", "four-bar", "every force", "gears", "ball chain", "arm", "sleigh", "states", "states in space"]


def stiff_chain(n, stiffness=1.0, damping=1e-3):
    m = chain(n)
    for i in range(n):
        m.torsion_spring(f"pin {i}", stiffness=stiffness, damping=damping)
    return m


def star(n):
    """A hub that carries n pendulums."""
    m = Mechanism()
    m.body("hub", disk((0, 0), 0.5, mass=5.0))
    m.revolute("O", m.ground, "hub", at=(0, 0))
    for i in range(n):
        a = np.array([np.cos(i), np.sin(i)])
        m.body(f"p{i}", rod(0.5 * a, 0.8 * a, mass=0.1))
        m.revolute(f"P{i}", "hub", f"p{i}", at=0.5 * a)
    return m


def pieces():
    """Two chains that know nothing of each other, and bodies on springs or on nothing."""
    m = chain(4)
    before = m.ground
    for i in range(3):
        link = m.body(f"other {i}", rod((0.1 * i, -1), (0.1 * (i + 1), -1), mass=0.2))
        m.revolute(f"knee {i}", before, link, at=(0.1 * i, -1))
        before = link
    m.body("hung", disk((2, 0), 0.1, mass=1.0))
    m.spring("s", "hung", m.ground, at=((2.05, 0), (2, 1)), stiffness=200.0, damping=1.0)
    m.body("free", disk((3, 0), 0.1, mass=1.0))
    return m


def of_newton(model, data, c, imaginary, r, y, slope, variant=OF_INDEX_2):
    """Solutions with the model's own factors, and what they begin with."""
    L = model.evaluate(Fn.LINEARIZED, 0.3, y, slope, data, variant)
    if not imaginary:
        F = model.evaluate(Fn.NEWTON_FACTOR, c, L, np.zeros(1), data, variant)
        return F, model.evaluate(Fn.NEWTON_SOLVE, 0.0, F, r.real, data, variant)
    F = model.evaluate(Fn.COMPLEX_FACTOR, c, L, np.array([imaginary]), data, variant)
    x = model.evaluate(Fn.COMPLEX_SOLVE, 0.0, F, np.concatenate([r.real, r.imag]), data, variant)
    return F, x[: len(r)] + 1j * x[len(r) :]


@pytest.mark.parametrize(
    "make", [*MACHINES.values(), lambda: stiff_chain(12), lambda: star(9), pieces], ids=[*MACHINES, "stiff chain", "star", "pieces"]
)
@pytest.mark.parametrize("variant", [OF_INDEX_2, OF_INDEX_3, OF_GGL], ids=["index 2", "index 3", "GGL"])
def test_newtons_matrix_in_fronts_is_the_one_of_compiled_code(make, variant):
    (tables, code), data, x = both(make())
    random, sizes = np.random.default_rng(3), (tables.nq, tables.nv, tables.n_lam, tables.n_constraints)
    y = np.concatenate([x, random.uniform(-1, 1, sum(block.size for block in variant.formulation.blocks(*sizes)[2:]))])
    n, slope = len(y), random.uniform(-1, 1, len(y))
    found, known = (
        model.evaluate(Fn.EQUATIONS, 0.3, y, slope, own, variant) for model, own in zip((tables, code), data, strict=True)
    )
    assert found == pytest.approx(known, rel=1e-12, abs=1e-12 * (1.0 + np.abs(known).max()))
    by_y, by_slope = (code.evaluate(fn, 0.3, y, slope, data[1], variant).reshape(n, n) for fn in (Fn.BY_Y, Fn.BY_SLOPE))
    for c, imaginary in ((10.0, 0.0), (1e3, 0.0), (1e6, 0.0), (10.0, -8.0), (1e3, 500.0), (1e6, 1e6)):
        r = random.uniform(-1, 1, n) + (1j * random.uniform(-1, 1, n) if imaginary else 0.0)
        factors, solved = of_newton(tables, data[0], c, imaginary, r, y, slope, variant)
        J = by_y + (c + 1j * imaginary) * by_slope
        assert factors[0] == 1.0  # growth
        # with index 3 the condition grows with c², to 6e17 in space
        bound = 1e-11 if variant is not OF_INDEX_3 or c < 1e6 else 1e-7
        missed, by_lu = (np.abs((J @ x - r) / (np.abs(J) @ np.abs(x) + np.abs(r))).max() for x in (solved, np.linalg.solve(J, r)))
        assert missed < max(bound, 10.0 * by_lu)  # with GGL that of the seven bodies is 2e-10: μ is 1e4 times larger than all else
    L = tables.evaluate(Fn.LINEARIZED, 0.3, y, slope, data[0], variant)
    lengths = tables.evaluate(Fn.GRADIENTS, 0.0, L, np.zeros(1), data[0], variant)[len(x) :]
    assert lengths == pytest.approx(1.0 / (by_y[len(x) :] ** 2).sum(axis=1), rel=1e-12)
    if not len(tables.extras) and variant.formulation.plain:  # where δq = s Z δv, for s of a method's own
        check_motion(tables, data[0], by_y, by_slope, L, variant)


def check_motion(tables, data, by_y, by_slope, L, variant):
    n, nq, nv, s = len(by_y), tables.nq, tables.nv, 0.3
    b = slice(nq, None)
    Z = -by_y[:nq, nq : nq + nv]
    random = np.random.default_rng(4)
    for c in (1.0, 1e4):
        F = tables.evaluate(Fn.MOTION_FACTOR, c, L, np.array([s]), data, variant)
        J = by_y[b, b] + c * by_slope[b, b]
        J[:, :nv] += s * by_y[b, :nq] @ Z
        x = random.uniform(-1, 1, n)
        x[:nq] = 0.0
        times = tables.evaluate(Fn.MOTION_TIMES, 0.0, F, x, data, variant)
        assert times[b] == pytest.approx(J @ x[b], rel=1e-12, abs=1e-11 * np.abs(J).max()) and not times[:nq].any()
        r = random.uniform(-1, 1, n)
        r[:nq] = 0.0
        solved = tables.evaluate(Fn.NEWTON_SOLVE, 0.0, F, r, data, variant)[b]
        assert np.abs((J @ solved - r[b]) / (np.abs(J) @ np.abs(solved) + np.abs(r[b]))).max() < 1e-11


@pytest.mark.parametrize("integrator", [Radau(), BDF(), Radau(order=9)], ids=repr)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_runs_agree_with_compiled_code_within_a_tenth_of_the_tolerance(name, integrator):
    sol, known = (
        simulate(MACHINES[name](), 0.1, compile=how, integrator=integrator, save_at=5, **IMPLICIT) for how in ("never", "now")
    )
    assert sol.plan.tier == "tables"
    assert np.abs(sol.q - known.q).max() < 1e-7 and np.abs(sol.v - known.v).max() < 1e-7 * (1 + np.abs(known.v).max())
    assert abs(sol.stats["steps"] - known.stats["steps"]) <= 1
    assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.drift["velocity"]).max() < 1e-10


@pytest.mark.parametrize("integrator", [BackwardEuler(), FixedBDF(3), BDF(max_order=2), Radau()], ids=repr)
def test_fixed_steps_agree_with_compiled_code(integrator):
    for make in (lambda: slider_crank(speed=10.0), everything, lambda: ball_chain(2)):
        sol, known = (simulate(make(), 0.02, step=1e-3, compile=how, integrator=integrator, **IMPLICIT) for how in ("never", "now"))
        assert sol.q == pytest.approx(known.q, abs=1e-10) and sol.v == pytest.approx(known.v, abs=1e-8)


@pytest.mark.parametrize(("make", "count"), [
    (lambda: planetary_gear(5.0), 2), (lambda: four_bar(3), 3), pytest.param(bricard, 1, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("variant", [OF_INDEX_2, OF_GGL], ids=["index 2", "GGL"])
def test_rows_that_repeat_others_are_left_out(make, count, variant):
    with pytest.warns(RedundancyWarning):
        sol, known = (
            simulate(
                make(), 0.1, compile=how, integrator=Radau(), save_at=3, rtol=1e-8, formulation=variant.formulation,
                stabilization=Projection(),
            ) for how in ("never", "now")
        )  # fmt: skip
    assert np.abs(sol.q - known.q).max() < 1e-8
    (tables, _), data, x = both(make())
    multipliers = np.random.default_rng(1).uniform(1, 2, tables.n_lam if variant is OF_INDEX_2 else 2 * tables.n_lam)
    y = np.concatenate([x, multipliers])
    rows = tables.evaluate(Fn.EQUATIONS, 0.3, y, 0 * y, data[0], variant)[len(x) :]
    assert (rows == multipliers).sum() == count * (1 if variant is OF_INDEX_2 else 2)  # there the equation is λ = 0, and μ = 0
    assert np.abs(sol.drift["position"]).max() < 1e-9 and np.abs(sol.drift["velocity"]).max() < 1e-9


def test_a_stiff_chain_of_a_thousand_links_takes_few_steps():
    m = stiff_chain(1000, stiffness=5e3, damping=50.0)
    how = {"compile": "never", "save_at": 2, "rtol": 1e-4}
    sol = simulate(m, 1e-3, integrator=Radau(), **how, **IMPLICIT)
    explicit = simulate(m, 1e-3, integrator=DOP853(), **how)
    assert sol.stats["steps"] < 0.1 * explicit.stats["steps"]
    assert np.abs(sol.q - explicit.q).max() < 1e-5


def test_numbers_grow_with_the_number_of_bodies_alone():
    def lengths(make, n):
        system = make(n).to_tables()
        return {fn: operator.length for fn, operator in system.operators(Index2()).items()}

    for make in (stiff_chain, star, ball_chain):
        few, many = lengths(make, 100), lengths(make, 200)
        for fn in (Fn.LINEARIZED, Fn.NEWTON_FACTOR, Fn.COMPLEX_FACTOR):
            assert many[fn] < 2.02 * few[fn]
    assert lengths(chain, 100)[Fn.NEWTON_FACTOR] < 80 * 100


def test_a_body_with_many_joints_goes_when_these_have_gone():
    sol, known = (
        simulate(star(40), 0.1, compile="never", integrator=integrator, save_at=2, rtol=1e-8, **how)
        for integrator, how in ((Radau(), IMPLICIT), (DOP853(), {}))
    )
    assert np.abs(sol.q - known.q).max() < 1e-7
    n = 300  # lumps; a row of two for each but the first
    pairs = np.array([(0, n + i) for i in range(n)] + [(i, n + i) for i in range(1, n)])
    held = 2 * n * pairs[:, 0] + pairs[:, 1]
    fronts = saddle_order(np.repeat([3, 2], n), pairs, np.full(n, 3), held, np.zeros(2 * n, dtype=bool))
    assert max(np.diff(fronts.own_first) + np.diff(fronts.border_first)) == 3
    assert fronts.own[fronts.own_first[-2]] == 0


def test_pieces_that_know_nothing_of_each_other_run_together():
    sol, known = (
        simulate(pieces(), 0.5, compile="never", integrator=integrator, save_at=4, rtol=1e-8, **how)
        for integrator, how in ((Radau(), IMPLICIT), (DOP853(), {}))
    )
    assert np.abs(sol.q - known.q).max() < 1e-6


def test_masses_far_apart_keep_their_digits():
    m = chain(5)
    m.params["link 2.mass"] = 1e-5
    sol, known = (simulate(m, 0.1, compile=how, integrator=Radau(), save_at=3, rtol=1e-8, **IMPLICIT) for how in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-8
    m.params["link 2.mass"] = 0.1
    m.params["link 4.mass"] = 1e7  # an anchor at the end of a light chain
    (tables, _), data, x = both(m)
    y = np.concatenate([x, np.ones(tables.n_lam)])
    factors, _ = of_newton(tables, data[0], 1e3, 0.0, np.ones(len(y)), y, np.ones(len(y)))
    assert factors[0] == 1.0


def test_tables_are_stepped_and_swept_with_implicit_methods():
    m = stiff_chain(5)
    known = simulate(m, 0.1, compile="now", integrator=Radau(), **IMPLICIT)
    stepper = Stepper(m, compile="never", integrator=Radau(), **IMPLICIT)
    for _ in range(5):
        stepper.step(0.02)
    assert np.abs(stepper.q - known.q[-1]).max() < 1e-7
    masses = [0.05, 0.1, 0.2]
    runs = sweep(
        m, 0.05, params={"link 2.mass": masses}, save_at=3, compile="never", integrator=Radau(), progress=False, **IMPLICIT
    )
    for mass, q in zip(masses, runs.q, strict=True):
        m.params["link 2.mass"] = mass
        alone = simulate(m, 0.05, save_at=3, compile="now", integrator=Radau(), **IMPLICIT)
        assert np.abs(q - alone.q).max() < 1e-7
    m.params["link 0.mass"] = 0.3
    assert isinstance(OperatorModel(m.to_tables(), m.assembly.q, 0 * m.assembly.q).formulations, tuple)


def test_formulations_that_tables_do_not_have_are_named():
    said = {
        UnderlyingODE(): "λ' is that of the multipliers of all joints at once",
        StateSpace(): "its coordinates are chosen by the Jacobian of the whole system",
        StrangenessFree(): "its selectors are chosen by the Jacobian of the whole system",
    }
    for formulation, why in said.items():
        text = f"^the equations of {formulation!r} are no sum over elements, as the mechanism as tables has them: {why}. With "
        with pytest.raises(IncompatibleMethods, match=text.replace("(", r"\(").replace(")", r"\)")):
            simulate(chain(3), 0.1, compile="never", integrator=Radau(), formulation=formulation)
    known = r"Use formulation=Index2\(\) or Index3\(\) or Index1\(\) or GGL\(\) or ProjectedInvariants\(\), or DOP853\(\)\.$"
    for formulation in (GGL(D="mass"), GGL(D="unit"), ProjectedInvariants("Pb", D="mass"), ProjectedInvariants("Pa", D="mass")):
        text = re.escape(f"the mechanism as tables does not have the equations of {formulation!r}, which Radau solves.")
        with pytest.raises(IncompatibleMethods, match=f"{text} {known}"):
            simulate(chain(3), 0.1, compile="never", integrator=Radau(), formulation=formulation)


@pytest.mark.parametrize("integrator", [Radau(), BDF(), GeneralizedAlpha(), GeneralizedAlpha(rho=1.0)], ids=repr)
@pytest.mark.parametrize("how", [{"step": 1e-3}, {"rtol": 1e-5, "save_at": 5}], ids=["fixed", "chosen"])
def test_index_3_and_generalized_alpha_agree_with_compiled_code(integrator, how):
    makes = [four_bar, lambda: slider_crank(speed=10.0), everything]
    makes += [] if isinstance(integrator, GeneralizedAlpha) else [controlled, arm, sleigh]
    for make in makes:
        for formulation in (Index3(), Index2()) if isinstance(integrator, GeneralizedAlpha) else (Index3(),):
            sol, known = (
                simulate(make(), 0.05, compile=compiled, integrator=integrator, formulation=formulation, **how)
                for compiled in ("never", "now")
            )
            assert sol.plan.tier == "tables"
            assert np.abs(sol.q - known.q).max() < 1e-7 and np.abs(sol.v - known.v).max() < 1e-5  # of tolerances of 1e-5
            assert np.abs(sol.lam - known.lam).max() < 1e-6 * (1.0 + np.abs(known.lam).max())


def test_rattle_agrees_with_compiled_code_and_keeps_energy():
    how = {"step": 4e-3, "save_at": 6, "formulation": Index3()}
    for make in (four_bar, lambda: chain(5)):
        for order in (2, 4, 6):
            sol, known = (simulate(make(), 0.4, compile=c, integrator=RATTLE(order=order), **how) for c in ("never", "now"))
            assert sol.plan.tier == "tables" and sol.stats["steps"] == known.stats["steps"]
            assert np.abs(sol.q - known.q).max() < 1e-11 and np.abs(sol.v - known.v).max() < 1e-9
            assert np.abs(sol.lam - known.lam).max() < 1e-9 * (1.0 + np.abs(known.lam).max())
    long = chain(120)  # by itself as tables
    for i in range(120):
        long.torsion_spring(f"pin {i}", stiffness=0.05)
    sol = simulate(long, 0.3, step=1e-3, integrator=RATTLE(), formulation=Index3(), save_at=4)
    assert sol.plan.tier == "tables" and np.abs(sol.energy_error).max() < 1e-3
    assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.drift["velocity"]).max() < 1e-10
    with pytest.raises(IncompatibleMethods, match=r"^RATTLE is of order 2 for forces of t and q alone, but here"):
        simulate(everything(), 0.1, compile="never", step=1e-3, integrator=RATTLE(), formulation=Index3())


def test_generalized_alpha_keeps_order_2_on_a_chain_of_fifty_links():
    def end(step):
        how = {"integrator": GeneralizedAlpha(), "stabilization": Projection(), "formulation": Index2(), "compile": "never"}
        return simulate(chain(50), 0.2, step=step, save_at=2, **how).q[-1]

    known = simulate(chain(50), 0.2, compile="never", save_at=2, rtol=1e-9, atol=1e-11).q[-1]
    errors = [np.abs(end(step) - known).max() for step in (4e-3, 2e-3, 1e-3)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 2.0) < 0.25), errors


def test_the_automatic_choice_sees_what_is_stiff_in_tables():
    m = stiff_chain(200, stiffness=5e3, damping=50.0)
    sol = simulate(m, 0.02, compile="never", save_at=3)
    assert repr(sol.plan) == "Index2() + Radau(order='variable') + Projection()" and sol.stats["steps"] < 100
    assert "too stiff for explicit steps" in sol.plan.why()
    known = simulate(m, 0.02, compile="never", integrator=Radau(), save_at=3, rtol=1e-9, **IMPLICIT)
    assert np.abs(sol.q - known.q).max() < 1e-6
    easy = simulate(chain(200), 0.1, compile="never")
    assert not easy.plan.choice.integrator.implicit


def test_a_long_chain_whose_tension_was_foreseen_wrongly_has_its_matrix_renewed():
    m = Mechanism()
    m.chain("rope", at=((0, 0), (400, 0)), links=4000, mass=400.0, first=m.ground)
    how = {"compile": "never", "save_at": 2, "integrator": Radau(), **IMPLICIT}
    sol = simulate(m, 0.2, rtol=1e-3, atol=1e-2, **how)
    known = simulate(m, 0.2, rtol=1e-4, atol=1e-3, **how)
    stats = sol.stats
    # with Jacobians of the foreseen middle alone 46 attempts, 12 of them in vain
    assert stats["steps"] + stats["failed attempts"] + stats["rejected"] < 30
    assert stats["failed attempts"] < 8
    scale = 1e-2 + 1e-3 * np.abs(known.q)
    assert np.sqrt(np.mean(((sol.q - known.q) / scale) ** 2)) < 0.1


def twice_tied(*, first=0.7, offset=0.4):
    """A slider-crank beside a linkage with a rod across, one pin of which is drawn twice."""
    m, random = Mechanism(), np.random.default_rng(2)
    ends, before = [np.zeros(2)], m.ground
    for i in range(6):
        angle = first + offset * i + random.uniform(-1, 1)
        ends.append(ends[-1] + random.uniform(0.3, 1.0) * np.array([np.cos(angle), np.sin(angle)]))
        link = m.body(f"link {i}", rod(ends[-2], ends[-1], mass=1.0))
        m.revolute(f"pin {i}", before, link, at=ends[-2])
        before = link
    m.distance("across", "link 1", "link 5", at=(ends[2], ends[6]))
    m.revolute("twice", "link 2", "link 3", at=ends[3])
    return m


@pytest.mark.parametrize(
    "how",
    [{"integrator": Radau(), **IMPLICIT}, {"integrator": BDF(), "formulation": Index3()},
     {"integrator": PHEM56(), "stabilization": Projection(), "step": 1e-3}],
    ids=["Radau", "BDF, index 3", "PHEM56"],
)  # fmt: skip
@pytest.mark.parametrize("offset", [0.4, 0.9, 1.7])
def test_of_rows_that_repeat_others_those_are_left_out(how, offset):
    """Others were, in silence, where rows had changed places while pivots were looked at."""
    more = {} if "step" in how else {"rtol": 1e-8, "atol": 1e-10}
    sols = {}
    for name, given in (("known", {"rtol": 1e-10, "atol": 1e-12, "compile": "now"}), ("sol", {**how, **more, "compile": "never"})):
        with pytest.warns(RedundancyWarning):
            sols[name] = simulate(twice_tied(offset=offset), 0.1, **given)
    assert np.abs(sols["sol"].q[-1] - sols["known"].q[-1]).max() < 1e-5
    of = next(made for tables, made in sols["sol"].plan.model.system._fronts)
    labels = sols["sol"].plan.model.system.constraint_labels
    left_out = {labels[k].split("[")[0] for k in np.flatnonzero(of.dropped)}
    assert of.dropped.sum() == 2 and left_out <= {"twice", "pin 3"}


def test_every_run_tells_of_redundant_rows():
    m = twice_tied()
    for how in ({}, {}, {"integrator": Radau(), **IMPLICIT}):
        with pytest.warns(RedundancyWarning, match=r"^2 of 15 constraint rows are redundant: "):
            simulate(m, 1e-3, compile="never", **how)
