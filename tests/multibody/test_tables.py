"""Mechanisms as tables: the same motion as the code that is compiled for all of them, and no limit to their size."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from holonomic import DOP853, RK4, Baumgarte, Event, Index2, PostStabilization, Projection, S_both2, Stepper, load, simulate, sweep
from holonomic.errors import BadArgument, IncompatibleMethods, RedundancyWarning, SingularPosition, StepFailed
from holonomic.kernels.signatures import Fn
from holonomic.model.call_by_name import Names
from holonomic.model.compiled import Model
from holonomic.model.extra_states import Extras
from holonomic.model.model_base import PLAIN, Variant
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, box, disk, plane, rod
from holonomic.planning.offered import metric_of
from holonomic.problems.from_bodies import jansen_mechanism, seven_body_mechanism

from .machines import bricard, four_bar, pendulum, planetary_gear, slider_crank, wheel_pair

FIXED = {"integrator": RK4(), "stabilization": Projection()}


def chain(n, length=0.1, mass=0.1):
    """Rods on pins, drawn level, from a pin of the ground."""
    m, before = Mechanism(), None
    for i in range(n):
        link = m.body(f"link {i}", rod((i * length, 0), ((i + 1) * length, 0), mass=mass))
        m.revolute(f"pin {i}", m.ground if before is None else before, link, at=(i * length, 0))
        before = link
    return m


def everything():
    """A planar machine with every force there is in the plane, functions of the user's, inputs and parameters among them."""
    m = slider_crank()
    m.parameter("drag", 0.3)
    m.input("push", ([0.0, 0.5, 1.0], [0.0, 2.0, -1.0]))
    m.spring("s", "slider", m.ground, at=((1.686, 0), (2.5, 0.2)), stiffness=40.0, length=0.7, damping=2.0)
    m.damper("d", "link", m.ground, at=((0.9, 0.25), (0.9, -1.0)), damping=1.5)
    m.torsion_spring("A", stiffness=3.0, damping=0.1)
    m.motor("O", torque=lambda angle, speed, p: 2.0 * np.sin(angle) - p.drag * speed)
    m.force("wind", "link", value=lambda t, link, u: (u.push, -0.2 * link.velocity[1] + 0.1 * t))
    m.torque("twist", "crank", value=0.4)
    m.friction("guide", coulomb=0.5)
    m.bushing("b", "crank", m.ground, at=(0.1, 0.1), stiffness=(5.0, 4.0, 0.3), damping=0.1)
    m.contact("floor", "link", centre=(0.9, 0.2), radius=0.05, point=(0, 0.2), normal=(0, 1), stiffness=1e3)
    m.output("reach", lambda slider: slider.position[0])
    return m


def geared():
    """Wheels in gear, one of them with a rack, a coupling and a rod of given length."""
    m = wheel_pair()
    bar = m.body("bar", box((0, -0.11), (0.4, 0.02), mass=0.5))
    m.prismatic("slide", m.ground, bar, at=(0, -0.1), axis=(1, 0))
    m.rack_and_pinion("rack", bar, "a", at=((0, -0.1), (0, 0)), axis=(1, 0), radius=0.1)
    arm = m.body("arm", rod((0.5, 0), (0.7, 0), mass=0.3))
    m.revolute("C", m.ground, arm, at=(0.5, 0))
    m.couple("tied", "B", "C", ratio=-0.5)
    end = m.body("end", rod((0.7, 0), (0.9, 0.1), mass=0.2))
    m.revolute("D", arm, end, at=(0.7, 0))
    m.distance("leg", m.ground, end, at=((0.9, 0.6), (0.9, 0.1)), length=lambda t: 0.5 + 0.05 * np.sin(t))
    m.torque("push", "a", value=0.2)
    return m


def ball_chain(n, step=(0.08, 0.0, -0.06)):
    """Rods on ball joints, the first on a hinge."""
    m, before, at = Mechanism(gravity=(0, 0, -9.81)), "ground", np.zeros(3)
    for i in range(n):
        m.body(f"link {i}", rod(at, at + step, mass=0.1, width=0.02))
        if i == 0:
            m.revolute("hinge", before, "link 0", at=at, axis=(0, 1, 0))
        else:
            m.spherical(f"ball {i}", before, f"link {i}", at=at)
        before, at = f"link {i}", at + step
    return m


def arm():
    """Joints in space of every kind that keeps positions, a motor, a spring, a drive and a coupling."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("base", box((0, 0, 0.1), (0.2, 0.2, 0.2), mass=3.0))
    m.revolute("turn", m.ground, "base", at=(0, 0, 0), axis=(0, 0, 1))
    m.body("upper", rod((0, 0, 0.2), (0.5, 0, 0.4), mass=1.0, width=0.05))
    m.universal("shoulder", "base", "upper", at=(0, 0, 0.2), axis=(1, 0, 0), other=(0, 1, 0))
    m.body("tube", box((0.75, 0, 0.5), (0.3, 0.05, 0.05), mass=0.7))
    m.cylindrical("slide", "upper", "tube", at=(0.5, 0, 0.4), axis=(1, 0, 0.4))
    m.body("hand", box((1.0, 0, 0.5), (0.1, 0.1, 0.04), mass=0.3))
    m.prismatic("finger", "tube", "hand", at=(0.9, 0, 0.5), axis=(0, 0, 1))
    m.drive("turn", speed=1.0)
    m.motor("finger", force=lambda position, speed: -20.0 * position - speed)
    m.spring("s", "hand", m.ground, at=((1.0, 0, 0.5), (1.0, 0.4, 1.0)), stiffness=30.0, damping=0.5)
    m.bushing("b", "upper", "tube", at=(0.5, 0, 0.4), axis=(1, 0, 0), stiffness=(50.0, 40.0, 40.0, 2.0, 2.0, 2.0))
    return m


def sleigh():
    """A knife edge and a drive of given speed: constraints of velocities, in the plane."""
    m = Mechanism(gravity=(0, 0))
    m.body("sleigh", box((0, 0), (1.0, 0.3), mass=2.0))
    m.skate("edge", "sleigh", at=(0.3, 0), axis=(1, 0))
    m.body("arm", rod((0, 0), (0, 0.5), mass=0.5))
    m.revolute("A", "sleigh", "arm", at=(0, 0))
    m.drive("A", speed=lambda t: 2.0 * np.cos(3.0 * t))
    return m


def controlled():
    """A crank with a motor that has inductance, a controller of its speed, and a wave of two numbers that pushes the slider."""
    m = slider_crank()
    for name, value in {"wanted": 8.0, "R": 1.0, "L": 0.02, "k": 0.3}.items():
        m.parameter(name, value)
    m.input("voltage", ([0.0, 0.5, 1.0], [12.0, 6.0, 9.0]))
    m.state("current", rate=lambda current, u, p, O: (u.voltage - p.R * current - p.k * O.speed) / p.L, start=0.5)
    for name in ("turned", "travelled"):  # one function, two states: one kind of element
        m.state(name, rate=speed_seen, start=0.1)
    m.state("integral", rate=lambda p, u, slider: p.wanted - slider.velocity[0] + 0.1 * u.current)  # states are seen in u
    m.state("wave", rate=lambda wave, integral: [wave[1], -9.0 * wave[0] + 0.01 * integral], start=[1.0, 0.0])
    m.motor("O", torque=lambda current, p: p.k * current)
    m.spring("coil", m.ground, "slider", at=((2.5, 0), (1.686, 0)), force=lambda stretch, wave: 20.0 * stretch - wave[0])
    m.force("push", "slider", value=lambda u, turned: (u.wave[1] + 0.1 * turned, 0.0))
    m.output("both", lambda wave, current: wave[0] * current)
    return m


def speed_seen(O):
    return O.speed


def warm_arm():
    """A hinge in space whose friction heats it, and slows it less when it is warm."""
    m = ball_chain(3)
    m.state("heat", rate=lambda heat, hinge: 0.05 * hinge.speed**2 - 0.3 * heat, start=0.2)
    m.motor("hinge", torque=lambda speed, heat: -0.02 * speed / (1.0 + heat))
    return m


def both(m, t=0.3):
    """The two models of a mechanism at a state off its constraints, and their data at a time."""
    from holonomic.model.input_tables import InputTables

    extras = Extras(tuple((state.name, len(state.start)) for state in m.states.values()))
    q = np.concatenate([m.assembly.q, *(state.start for state in m.states.values())])
    v = m.assembly.v + 0.3 * np.random.default_rng(5).uniform(-1, 1, len(m.assembly.v))
    models = OperatorModel(m.to_tables(), q, v, 0.0, extras), Model(m.to_system(compile="now")[0], q, v, 0.0, extras)
    data = [model.data() for model in models]
    for model, own in zip(models, data, strict=True):
        InputTables(model).set(own, t, 1.0)
    return models, data, np.concatenate([q, v])


MACHINES = {
    "slider-crank": lambda: slider_crank(speed=10.0), "four-bar": four_bar, "pendulum": pendulum, "wheels": wheel_pair,
    "seven bodies": seven_body_mechanism, "a leg": jansen_mechanism, "every force": everything, "gears": geared,
    "ball chain": lambda: ball_chain(4), "arm": arm, "sleigh": sleigh,
    "states": controlled, "states in space": warm_arm,
}  # fmt: skip


@pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)
def test_tables_give_the_field_the_rows_and_the_energy_of_compiled_code(make):
    (tables, code), data, x = both(make())
    for fn in (Fn.FIELD, Fn.RESIDUAL, Fn.ENERGY):
        found, known = (model.evaluate(fn, 0.3, x, np.zeros(0), own) for model, own in zip((tables, code), data, strict=True))
        if fn is Fn.FIELD:  # without the pivot ratio, which belongs to the order of elimination
            found, known = found[:-1], known[:-1]
        assert found == pytest.approx(known, rel=1e-10, abs=1e-10 * (1.0 + np.abs(known).max())), fn.name
    lam = np.random.default_rng(1).uniform(-1, 1, tables.n_lam)
    if not tables.shared:  # moves onto positions, in the metric of the mechanism
        r = np.random.default_rng(2).uniform(-1, 1, tables.n_constraints + tables.n_invariants)
        moves, variant = [], Variant(metric=metric_of(None, code))
        for model, own, how in ((tables, data[0], PLAIN), (code, data[1], variant)):
            factors = model.evaluate(Fn.POS_FACTOR, 0.3, x, np.zeros(0), own, how)
            moves.append(model.evaluate(Fn.POS_SOLVE, 0.3, factors, r, own, how))
        assert moves[0] == pytest.approx(moves[1], abs=1e-9)
    # dense terms, for single looks; those of states of one's own aside, which code gives elsewhere
    terms = [model.evaluate(Fn.TERMS, 0.3, x, np.zeros(0), own) for model, own in zip((tables, code), data, strict=True)]
    for each in terms:
        each[tables.nc : tables.nq] = 0.0
    assert terms[0] == pytest.approx(terms[1], rel=1e-12, abs=1e-12)
    reactions = [model.evaluate(Fn.REACTIONS, 0.3, x, lam, own) for model, own in zip((tables, code), data, strict=True)]
    assert reactions[0] == pytest.approx(reactions[1], abs=1e-12)


def light():
    """A chain with a link so light that accelerations come from the whole matrix."""
    m = chain(3)
    m.params["link 1.mass"] = 1e-9
    return m


@pytest.mark.parametrize("make", [four_bar, lambda: ball_chain(3), sleigh, controlled, light],
                         ids=["four-bar", "ball chain", "sleigh", "states", "whole matrix"])  # fmt: skip
def test_baumgartes_terms_bend_the_field_as_in_compiled_code(make):
    (tables, code), data, x = both(make())
    plain = tables.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[0])
    for model, own in zip((tables, code), data, strict=True):
        own[model.data_places["gains"].start :][:2] = 7.0, 3.0
    found = tables.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[0])[:-1]
    known = code.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), data[1], Variant(gains=True))[:-1]
    # blocks of a mass matrix whose entries are 1e9 apart leave seven digits; the whole matrix has more
    assert found == pytest.approx(known, rel=1e-6 if make is light else 1e-10, abs=1e-10 * (1.0 + np.abs(known).max()))
    assert np.abs(found - plain[:-1]).max() > 1e-2


def test_runs_with_baumgartes_terms_agree_with_compiled_code():
    for m in (slider_crank(speed=10.0), ball_chain(3)):
        damped = {"stabilization": Baumgarte(alpha=20.0, beta=15.0)}
        sol, known = (simulate(m, 0.1, step=1e-3, compile=how, integrator=RK4(), **damped) for how in ("never", "now"))
        assert sol.q == pytest.approx(known.q, abs=1e-12) and sol.v == pytest.approx(known.v, abs=1e-11)
        how = {"save_at": 5, "integrator": DOP853(), **damped}
        sol, known = (simulate(m, 0.3, compile=tier, **how) for tier in ("never", "now"))
        assert np.abs(sol.q - known.q).max() < 1e-7  # a tenth of rtol


def welded():
    """Two bodies that share inertia: their W⁻¹ is one whole matrix."""
    m = pendulum()
    m.body("bob", at=(1, 0), mass=1.0)
    m.fixed("weld", "rod", "bob")
    return m


METRICS = {
    "weights": lambda q, v: Variant(metric=tuple(1.0 + np.arange(q + v) % 3)), "mass": lambda q, v: Variant(metric="mass"),
    "mass of velocities": lambda q, v: Variant(mass_at="VEL"), "mass of positions": lambda q, v: Variant(mass_at="POS"),
}  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [four_bar, everything, welded, sleigh, controlled, arm],
                         ids=["four-bar", "every force", "welded", "sleigh", "states", "arm"])  # fmt: skip
def test_moves_onto_the_rows_in_a_metric_are_those_of_compiled_code(make, metric):
    (tables, code), data, x = both(make())
    if code.system.kinematics is not None and metric in ("mass", "mass of positions"):
        pytest.skip("in space masses do not measure coordinates")
    variant, random = METRICS[metric](tables.nq, tables.nv), np.random.default_rng(1)
    own = variant if variant.metric is not None else replace(variant, metric=metric_of(None, code))
    sizes = {"VEL": (tables.n_lam, tables.nv), "POS": (tables.n_constraints + tables.n_invariants, tables.nq)}
    for level, (rows, columns) in sizes.items():
        r, e, found = random.uniform(-1, 1, rows), random.uniform(-1, 1, columns), []
        for model, given, how in ((tables, data[0], variant), (code, data[1], own)):
            F = model.evaluate(Fn[f"{level}_FACTOR"], 0.3, x, np.zeros(0), given, how)
            moves = [model.evaluate(Fn[f"{level}_{way}"], 0.3, F, b, given, how) for way, b in (("SOLVE", r), ("TANGENT", e))]
            found.append(np.concatenate([F[1 : 1 + rows], *moves]))
        assert found[0] == pytest.approx(found[1], rel=1e-10, abs=1e-11 * (1.0 + np.abs(found[1]).max()))


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_runs_with_metrics_of_ones_own_agree_with_compiled_code():
    weighed = Projection(metric=np.linspace(1.0, 2.0, 18))
    metrics = [(four_bar(), weighed), (slider_crank(), PostStabilization(metric="mass")),
               (planetary_gear(5.0), Projection(metric="mass"))]  # fmt: skip
    for m, stabilization in metrics:
        how = {"stabilization": stabilization, "integrator": RK4(), "step": 0.025}  # steps so long that a projection has to move
        sol, known = (simulate(m, 0.25, compile=tier, **how) for tier in ("never", "now"))
        assert sol.q == pytest.approx(known.q, abs=1e-12) and sol.v == pytest.approx(known.v, abs=1e-11)
        plain = simulate(m, 0.25, compile="never", **how | {"stabilization": type(stabilization)()})
        assert np.abs(plain.v - sol.v).max() > 1e-10  # it is another metric


def test_bodies_without_inertia_measure_no_moves():
    m = Mechanism()
    m.body("bob", at=(0, -1), mass=2.0)
    for name, x in (("left", -1), ("right", 1)):
        m.body(name, rod((x, 0), (x, -1), mass=1.0))
        m.revolute(f"{name} top", m.ground, name, at=(x, 0))
        m.revolute(f"{name} end", name, "bob", at=(x, -1))
    with pytest.raises(IncompatibleMethods, match=r"^the mechanism as tables measures moves by masses where all bodies have mass"):
        simulate(m, 0.1, compile="never", step=1e-3, integrator=RK4(), stabilization=Projection(metric="mass"))


def test_fixed_steps_agree_with_compiled_code_to_rounding_over_a_hundred_steps():
    for m in (four_bar(), slider_crank(speed=10.0), everything()):
        sol, known = (simulate(m, 0.1, step=1e-3, compile=how, **FIXED) for how in ("never", "now"))
        for name in ("q", "v"):
            assert getattr(sol, name) == pytest.approx(getattr(known, name), abs=1e-11), name  # |v| up to 10
        assert sol.energy.total == pytest.approx(known.energy.total, abs=1e-10)


def test_runs_with_error_control_agree_within_the_tolerance():
    for m in (slider_crank(speed=10.0), everything()):
        sol, known = (simulate(m, 1.0, save_at=21, compile=how, integrator=DOP853()) for how in ("never", "now"))
        assert np.abs(sol.q - known.q).max() < 1e-7  # rtol 1e-6, on |q| up to 10
        assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.drift["velocity"]).max() < 1e-10


def test_runs_in_space_and_with_constraints_of_velocities_agree_with_compiled_code():
    for m in (ball_chain(3), arm(), sleigh()):
        sol, known = (simulate(m, 0.1, step=2e-3, compile=how, **FIXED) for how in ("never", "now"))
        assert sol.q == pytest.approx(known.q, abs=1e-11) and sol.v == pytest.approx(known.v, abs=1e-10)
        assert max(np.abs(sol.drift[level]).max() for level in ("position", "velocity")) < 1e-12


@pytest.mark.parametrize(("make", "count"), [
    (lambda: planetary_gear(5.0), 2), (lambda: four_bar(3), 3), pytest.param(bricard, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_rows_that_repeat_others_share_their_load(make, count):
    m = make()
    with pytest.warns(RedundancyWarning, match=rf"^{count} of \d+ constraint rows are redundant: they are among the") as said:
        sol = simulate(m, 0.3, compile="never", integrator=DOP853(), save_at=4)
    with pytest.warns(RedundancyWarning) as known_said:
        known = simulate(m, 0.3, compile="now", integrator=DOP853(), save_at=4)
    # the same rows; which of them are best left out depends on where one looks
    assert str(said[0].message).partition("leave out")[0] == str(known_said[0].message).partition("leave out")[0]
    assert sol.trail.begin.not_unique == known.trail.begin.not_unique and "not unique" in str(sol)
    assert np.abs(sol.q - known.q).max() < 1e-7
    assert np.abs(sol.lam - known.lam).max() < 1e-6 * (1.0 + np.abs(known.lam).max())  # the smallest, to 1e-16/ε
    assert np.abs(sol.drift["velocity"]).max() < 1e-10


def test_masses_that_are_far_apart_keep_their_digits():
    m = chain(3)
    m.params["link 1.mass"] = 1e-12  # beyond 1e6 accelerations come from the whole matrix
    sol, known = (simulate(m, 0.1, compile=how, integrator=DOP853(), save_at=3) for how in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-7 and np.abs(sol.drift["velocity"]).max() < 1e-10
    m.params["link 1.mass"] = 1e-5
    sol, known = (simulate(m, 0.1, compile=how, integrator=DOP853(), save_at=3) for how in ("never", "now"))
    assert np.abs(sol.q - known.q).max() < 1e-6


def test_a_body_with_many_joints_is_right():
    m = Mechanism()
    m.body("hub", disk((0, 0), 0.5, mass=5.0))
    m.revolute("O", m.ground, "hub", at=(0, 0))
    for i in range(40):
        a = np.array([np.cos(i), np.sin(i)])
        m.body(f"p{i}", rod(0.5 * a, 0.8 * a, mass=0.1))
        m.revolute(f"P{i}", "hub", f"p{i}", at=0.5 * a)
    sol = simulate(m, 0.1, compile="never", rtol=1e-9, atol=1e-12)
    assert np.abs(sol.energy_error).max() < 1e-9 and np.abs(sol.drift["position"]).max() < 1e-10


def test_a_short_chain_of_hinges_beside_a_body_on_threads_has_an_order_of_elimination():
    """Its ends are to go first, and have more rows than any node that is allowed to go beside those of the threads."""
    m = Mechanism(gravity=(0, 0, -9.81))
    for name, before, x in (("a", "ground", 0.5), ("b", "a", 1.5)):
        m.body(name, at=(x, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.revolute(f"{name} hinge", before, name, at=(x - 0.5, 0, 0), axis=(0, 1, 0))
    m.body("hung", at=(0, 3, 0), mass=1.0, inertia=(0.1, 0.1, 0.1))
    for k, x in enumerate((-0.5, 0.0, 0.5)):
        m.distance(f"thread {k}", "ground", "hung", at=((x, 3 + x * x, 1), (x, 3 + x * x, 0)))
    by_tables, by_code = (simulate(m, 0.02, step=1e-3, integrator=RK4(), compile=way) for way in ("never", "now"))
    np.testing.assert_allclose(by_tables.q, by_code.q, atol=1e-12)


def test_a_start_in_a_singular_position_is_refused():
    m = Mechanism()
    P = {"A": (0, 0), "B": (1, 0), "C": (3, 0), "D": (2, 0)}  # a parallelogram that lies flat
    for name, ends in (("a", "AB"), ("b", "BC"), ("c", "DC")):
        m.body(name, rod(P[ends[0]], P[ends[1]], mass=1.0))
    for name, first, second in (("A", m.ground, "a"), ("B", "a", "b"), ("C", "b", "c"), ("D", m.ground, "c")):
        m.revolute(name, first, second, at=P[name])
    with pytest.raises(SingularPosition, match=r"^at t = 0 the start is a singular position of the mechanism as tables: 1 rows "
                       r"repeat others, 0 do so nearby\. Start elsewhere\.$"):  # fmt: skip
        simulate(m, 0.1, compile="never")


def test_results_are_read_by_name_and_the_plan_tells_the_tier():
    m = everything()
    sol, known = (simulate(m, 0.2, step=1e-3, compile=how, **FIXED) for how in ("never", "now"))
    for view in (lambda s: s["A"].force, lambda s: s["slider"].position, lambda s: s["s"].tension, lambda s: s["reach"],
                 lambda s: s["energy"].total, lambda s: s.reactions):  # fmt: skip
        assert view(sol) == pytest.approx(view(known), abs=1e-9)
    assert (sol.plan.tier, known.plan.tier) == ("tables", "code")
    assert "model: tables of 3 bodies and 8 constraints, 14 kinds of elements, nothing compiled for it" in sol.plan.why()
    assert "tables" not in known.plan.why()


def test_the_same_kinds_serve_every_mechanism():
    short, long = (chain(n).to_tables().collection for n in (2, 7))
    assert [len(table.ends) for table in short.tables] == [2, 1, 1] and [len(table.ends) for table in long.tables] == [7, 1, 6]
    assert all(a.kind is b.kind for a, b in zip(short.tables, long.tables, strict=True))


def test_a_point_mass_that_is_welded_shares_the_rotation_of_its_holder():
    m = pendulum()
    m.body("bob", at=(1, 0), mass=1.0)
    m.fixed("weld", "rod", "bob")
    (tables, code), data, x = both(m)
    found, known = (model.evaluate(Fn.FIELD, 0.3, x, np.zeros(0), own) for model, own in zip((tables, code), data, strict=True))
    assert found[:-1] == pytest.approx(known[:-1], abs=1e-11)


def test_many_elements_of_one_kind_all_count():
    """Eight springs of one kind, five of another: forces, rows and energies of all of them."""
    m = chain(8)
    for i in range(8):
        m.torsion_spring(f"pin {i}", stiffness=0.3 + 0.1 * i, angle=0.2)
    for i in range(5):
        m.spring(f"s{i}", f"link {i}", m.ground, at=((0.1 * i + 0.05, 0), (0.1 * i, 0.4)), stiffness=5.0 + i, length=0.3)
    sol, known = (simulate(m, 0.1, step=1e-3, compile=how, **FIXED) for how in ("never", "now"))
    assert sol.q == pytest.approx(known.q, abs=1e-11)
    for name in ("kinetic", "potential", "total"):
        assert getattr(sol.energy, name) == pytest.approx(getattr(known.energy, name), abs=1e-11), name
    assert np.ptp(known.energy.potential) > 0.1


def test_events_save_at_and_other_stabilizations_go_through_tables():
    m = slider_crank(speed=10.0)
    events = {"dead": Event(m.quantity(lambda O: np.sin(O.angle)))}
    sol, known = (simulate(m, 1.0, events=events, save_at=5, compile=how, integrator=DOP853()) for how in ("never", "now"))
    assert len(known.events["dead"].t) == 3
    assert sol.events["dead"].t == pytest.approx(known.events["dead"].t, abs=1e-9)
    assert len(sol.t) == 5
    post = simulate(m, 0.2, compile="never", integrator=RK4(), step=1e-3, stabilization=S_both2())
    assert np.abs(post.drift["position"]).max() < 1e-9


def test_runs_of_tables_are_stepped_saved_pickled_and_gone_on_with(tmp_path):
    m = chain(5)
    known = simulate(m, 0.1, compile="now", integrator=DOP853())
    stepper = Stepper(m, compile="never", integrator=DOP853())
    for _ in range(5):
        stepper.step(0.02)
    assert stepper.plan.tier == "tables" and np.abs(stepper.q - known.q[-1]).max() < 1e-8
    sol = simulate(m, 0.1, compile="never", integrator=DOP853())
    assert np.abs(sol(0.05).q - known(0.05).q).max() < 1e-12
    sol.save(tmp_path / "run.nc")
    for other in (load(tmp_path / "run.nc"), pickle.loads(pickle.dumps(sol))):
        assert np.array_equal(other["pin 0"].force, sol["pin 0"].force)
    on = simulate(m, (0.1, 0.2), q0=sol.end, compile="never")
    assert on.t[0] == 0.1 and np.abs(on.q[0] - sol.q[-1]).max() < 1e-12


def test_members_of_a_sweep_run_as_tables():
    m = four_bar()
    masses = [0.5, 1.0, 2.0]
    runs = sweep(m, 0.2, params={"b.mass": masses}, save_at=3, compile="never", integrator=DOP853(), progress=False)
    known = sweep(m, 0.2, params={"b.mass": masses}, save_at=3, compile="now", integrator=DOP853(), progress=False)
    assert not runs.failed and runs.plan.tier == "tables"
    assert np.abs(runs.q - known.q).max() < 1e-7
    both = {"b.mass": [1.0, 3.0], "b.inertia": [0.5, 0.7]}  # apart: the inertia does not follow the mass
    how = {"save_at": 2, "integrator": DOP853(), "progress": False}
    runs, known = (sweep(m, 0.2, params=both, compile=tier, **how) for tier in ("never", "now"))
    assert np.abs(runs.q - known.q).max() < 1e-7


def test_a_number_that_is_changed_is_changed_in_the_tables():
    m = four_bar()
    first = simulate(m, 0.2, compile="never").q[-1]
    m.params["b.mass"] = 5.0
    assert np.abs(simulate(m, 0.2, compile="never").q[-1] - simulate(m, 0.2, compile="now").q[-1]).max() < 1e-6
    assert np.abs(simulate(m, 0.2, compile="never").q[-1] - first).max() > 1e-3


def test_a_function_that_does_something_else_is_looked_at_again():
    strength = {"k": 1.0}
    m = pendulum()
    m.motor("O", torque=lambda angle: -strength["k"] * angle)
    ends = []
    for k in (1.0, 5.0):
        strength["k"] = k
        sol, known = (simulate(m, 0.3, compile=how, integrator=DOP853()) for how in ("never", "now"))
        assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-8
        ends.append(sol.q[-1])
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


def test_a_large_mechanism_runs_as_tables_by_itself_and_keeps_its_energy():
    m = chain(300)
    sol = simulate(m, 0.05, rtol=1e-9, atol=1e-12)
    assert sol.plan.tier == "tables"
    assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.energy_error).max() < 1e-9
    top = sol["pin 0"].force  # at rest, level, a long chain feels nothing of its own length: m L α / 2 of a few links
    assert top[0] == pytest.approx([0.0, 0.28319], abs=1e-4)


def test_what_needs_all_of_a_mechanism_as_code_has_it_at_any_size():
    from holonomic.model.system import System

    m = chain(101)
    assert isinstance(m.to_system()[0], System) and not isinstance(m.to_system(compile=None)[0], System)
    assert isinstance(chain(100).to_system(compile=None)[0], System)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_chain_is_drawn_with_one_call(dimension):
    m = Mechanism(gravity=(0, -9.81, 0)[:dimension])
    end = (2.0, 0.0, 0.0)[:dimension]
    weight = m.body("weight", box(end, (0.1,) * dimension, mass=1.0))
    links = m.chain("cable", at=((0.0,) * dimension, end), links=120, mass=0.6, first=m.ground, second=weight)
    assert [body.name for body in links[:2]] == ["cable 0", "cable 1"] and len(m.bodies) == 121 and len(m.joints) == 121
    assert sum(body.mass for body in links) == pytest.approx(0.6)
    sol = simulate(m, 0.01)
    assert sol.plan.tier == "tables" and np.abs(sol.drift["position"]).max() < 1e-10
    free = Mechanism(gravity=(0, -9.81, 0)[:dimension])
    assert len(free.chain("rope", at=((0.0,) * dimension, end), links=3, mass=0.6)) == 3 and len(free.joints) == 2


def test_a_chain_that_cannot_be_drawn_says_why():
    m = Mechanism()
    with pytest.raises(BadArgument, match=r"^chain 'c': links=0 is the number of its rods, a whole number from 1 on\.$"):
        m.chain("c", at=((0, 0), (1, 0)), links=0, mass=1.0)
    with pytest.raises(BadArgument, match=r"^chain 'c' has both ends in one place\. Draw them apart\.$"):
        m.chain("c", at=((0, 0), (0, 0)), links=2, mass=1.0)


def test_a_spring_on_a_joint_looks_at_the_bodies_of_that_joint_alone(monkeypatch):
    m, looked = chain(50), []
    monkeypatch.setattr(plane, "drawn", lambda position, angle, own=plane.drawn: looked.append(0) or own(position, angle))
    m.torsion_spring("pin 7", stiffness=1.0)
    assert len(looked) == 2


def test_nothing_grows_faster_than_the_number_of_bodies():
    rooms = [chain(n).to_tables().operators(None) for n in (200, 400)]
    for fn in (Fn.FIELD, Fn.VEL_FACTOR):
        assert rooms[1][fn].length < 2.02 * rooms[0][fn].length


def test_a_large_drawing_that_is_a_little_open_is_closed():
    m = chain(150)
    m.params["link 70.x"] += 1e-9
    q = m.assembly.q
    residual = OperatorModel(m.to_tables(), q, 0 * q).evaluate(Fn.RESIDUAL, 0.0, np.concatenate([q, 0 * q]), np.zeros(0), m_data(m))
    assert np.abs(residual).max() < 1e-11
    driven = chain(150)
    driven.drive("pin 0", speed=2.0)
    assert driven.assembly.v[2] == pytest.approx(2.0, abs=1e-9)


def m_data(m):
    return OperatorModel(m.to_tables(), m.assembly.q, 0 * m.assembly.q).data()


def test_what_tables_do_not_have_is_refused_by_name():
    m = pendulum()
    with pytest.raises(BadArgument, match=r"^compile='later': choose 'now', 'never', or None to leave it to the size of the "
                       r"mechanism\.$"):  # fmt: skip
        simulate(m, 0.1, compile="later")
    from holonomic import System

    with pytest.raises(BadArgument, match=r'^compile="never" is for a Mechanism, whose bodies and joints become tables; '
                       r"System has functions"):  # fmt: skip
        simulate(System(mass=np.eye(1)), 1.0, q0=[0.0], v0=[1.0], compile="never")


def test_disk_mass_names_are_those_of_the_parameters():
    m = Mechanism()
    m.body("wheel", disk((0, 0), 0.3, mass=2.0))
    m.revolute("O", m.ground, "wheel", at=(0, 0))
    system = m.to_tables()
    assert system.params["wheel.size"] == pytest.approx(0.3) and Names(**system.params)["wheel.mass"] == 2.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_corners_and_selects_of_elements_are_those_of_their_values(dimension):
    """Comparisons have modes in the data of compiled code; an element has none, and read what stood at some other place."""
    m = Mechanism(gravity=(0, -9.81) if dimension == 2 else (0, 0, -9.81))
    axis = {} if dimension == 2 else {"axis": (0, 1, 0)}
    at = lambda i: (0.1 * i, 0.0) if dimension == 2 else (0.1 * i, 0.0, 0.0)
    before = m.ground
    for i in range(4):
        link = m.body(f"link {i}", rod(at(i), at(i + 1), mass=0.1, width=0.01))
        m.revolute(f"pin {i}", before, link, at=at(i), **axis)
        m.torsion_spring(f"pin {i}", stiffness=0.3)
        law = lambda angle, speed: np.where(speed > 0.1, -0.02, 0.03) - 0.1 * abs(angle) * np.maximum(speed, 0.2)
        m.motor(f"pin {i}", torque=law)
        before = link
    how = {"step": 1e-3, "integrator": RK4(), "stabilization": Projection()}
    tables, code = (simulate(m, 0.1, compile=compile, **how) for compile in ("never", "now"))
    functions = [each for table in m.to_tables().collection.tables for each in table.kind.functions.values()]
    assert not any(source.kind == "invariant" for each in functions for source in each.sources)
    assert np.allclose(tables.q, code.q, rtol=0, atol=1e-11)


def test_what_falls_on_relaxed_springs_is_no_loss_of_digits():
    """All that rows see there is rounding: gravity cancels in them, and their multipliers are zero."""
    random = np.random.default_rng(7)
    for _ in range(30):
        at = random.uniform(-2, 2, 2)
        middle, end = at + random.uniform(0.2, 1, 2), at + random.uniform(-1, -0.2, 2)
        m = Mechanism()
        m.body("one", rod(at, middle, mass=random.uniform(1, 60)))
        m.body("other", rod(middle, end, mass=random.uniform(0.01, 1)))
        m.revolute("A", "one", "other", at=middle)
        m.spring("s", m.ground, "one", at=(at + random.uniform(0.3, 1, 2), at), stiffness=1000.0)
        sol = simulate(m, 1e-3, compile="never", integrator=DOP853())
        assert np.allclose(sol.a[0][[0, 1, 3, 4]], [0, -9.81] * 2, atol=1e-10)


def test_a_run_of_tables_that_fails_says_why_and_keeps_what_it_has():
    m = Mechanism()
    m.body("a", rod((0, 0), (1, 0), mass=1.0))
    m.torque("T", "a", value=lambda a: 1 + 100 * a.angular_velocity**2)  # no bounds
    with pytest.raises(StepFailed, match=r"^the step fell to .* The largest error is in v\[2\] \('a angle'\)") as told:
        simulate(m, 5.0, compile="never")
    assert told.value.solution.t[-1] == pytest.approx(0.01309, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 12, 553])
def test_accelerations_from_the_whole_matrix_leave_nothing_of_the_equations(seed):
    """Rods of 10 mg to 1 t: pivots that are replaced take more than one solution; 4e-6 N were left over of 553."""
    m, random = Mechanism(gravity=(0, 0, -9.81)), np.random.default_rng(seed)
    ends = [("ground", np.zeros(3))]
    for i in range(15):
        before, at = ends[random.integers(max(0, len(ends) - 6), len(ends))]
        to = at + random.uniform(-1, 1, 3)
        m.body(f"b{i}", rod(at, to, mass=10.0 ** random.uniform(-5, 3), width=0.05))
        kind = random.integers(3)
        if kind == 0:
            m.spherical(f"j{i}", before, f"b{i}", at=at)
        elif kind == 1:
            m.revolute(f"j{i}", before, f"b{i}", at=at, axis=tuple(random.uniform(-1, 1, 3)))
        else:
            m.universal(f"j{i}", before, f"b{i}", at=at, axis=(1, 0, 0), other=(0, 1, 0))
        ends.append((f"b{i}", to))
    for k in range(2):
        name, to = ends[random.integers(1, len(ends))]
        m.distance(f"x{k}", m.ground, name, at=(random.uniform(0, 1, 3), to))
    q, v = m.assembly.q, m.assembly.v
    model = OperatorModel(m.to_tables(), q, v, 0.0)
    moving, data = len(q) + len(v), model.data()
    found = model.evaluate(Fn.FIELD, 0.0, np.concatenate([q, v]), np.zeros(0), data)
    y, slope = np.concatenate([q, v, found[moving:-1]]), np.concatenate([found[:moving], np.zeros(model.n_lam)])
    left = model.evaluate(Fn.EQUATIONS, 0.0, y, slope, data, Variant(formulation=Index2()))[len(q) : moving]
    assert model.system.collection.whole
    assert np.abs(left).max() < 1e-12 * np.abs(found[moving:-1]).max()
