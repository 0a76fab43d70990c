"""Every mechanism of the library runs as tables, explicitly and implicitly; what is refused stands here and may only shrink."""

import numpy as np
import pytest

import holonomic as h
from holonomic import BDF, DOP853, PHEM56, Index2, Projection, Radau, simulate
from holonomic.automatic.indicators import indicators_at
from holonomic.errors import BadArgument, IncompatibleMethods, RedundancyWarning
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism, disk, rod
from holonomic.problems import catalogue
from holonomic.starting.initial import prepare

from .machines import bricard, four_bar, planetary_gear, slider_crank, wheel_pair
from .test_tables import MACHINES, ball_chain, both, chain, everything
from .test_tables_implicit import IMPLICIT, star, stiff_chain

PROBLEMS = [
    "jansen-walker", "four-bar", "four-bar-spatial", "scotch-yoke", "peaucellier", "inline-engine", "heavy-top",
    "double-wishbone", "stewart-platform", "delta-robot", "rolling-disk", "pendulum-from-bodies", "four-bars-from-bodies",
    "seven-body-from-bodies",
]  # fmt: skip
# of methods that a mechanism as compiled code takes
REFUSED = {"integrators": set(), "formulations": {"StateSpace", "StrangenessFree", "UnderlyingODE"}, "stabilizations": set()}


def mechanism_of(name, monkeypatch):
    """The mechanism that a problem is made of."""
    found = []

    class Enough(Exception):
        pass

    def to_system(self, *given, **named):
        found.append(self)
        raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(Mechanism, "to_system", to_system)
        with pytest.raises(Enough):
            catalogue()[name]()
    return found[0]


def test_the_list_of_problems_is_whole(monkeypatch):
    found = []
    own = Mechanism.to_system
    monkeypatch.setattr(Mechanism, "to_system", lambda self, *given, **named: found.append(self) or own(self, *given, **named))
    small = [name for name in catalogue() if not name.startswith("wheelset") and name not in ("delta-robot", "jansen-walker")]
    assert [name for name in small if not found.clear() and catalogue()[name]() and found] == [
        name for name in PROBLEMS if name in small
    ]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_every_problem_of_bodies_runs_as_tables_with_methods_of_every_kind(name, monkeypatch):
    m = mechanism_of(name, monkeypatch)
    known = simulate(m, 0.01, compile="never", integrator=DOP853(), save_at=3, rtol=1e-9, atol=1e-12)
    assert known.plan.tier == "tables"
    for integrator, more in ((Radau(), IMPLICIT), (BDF(), IMPLICIT), (PHEM56(), {"stabilization": Projection()})):
        sol = simulate(m, 0.01, compile="never", integrator=integrator, save_at=3, rtol=1e-8, atol=1e-11, **more)
        assert np.abs(sol.q - known.q).max() < 1e-6, integrator
        assert np.abs(sol.drift["position"]).max() < 1e-10 and np.abs(sol.drift["velocity"]).max() < 1e-10


def rubbing():
    m = slider_crank(speed=10.0)
    m.friction("guide", coefficient=0.2, smoothing=0.05)
    m.friction("A", coefficient=0.1, radius=0.02, smoothing=0.1)
    return m


def rubbing_in_space():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", rod((0, 0, 0), (0.5, 0, 0), mass=1.0, width=0.05))
    m.revolute("O", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    m.friction("O", coefficient=0.2, radius=0.03, smoothing=0.1)
    return m


def point_on_two_pins():
    """A point mass whose rotation two arms hold by its position alone."""
    m = Mechanism()
    m.body("bob", at=(0, -1), mass=2.0)
    for name, x in (("left", -1), ("right", 1)):
        m.body(name, rod((x, 0), (x, -1), mass=1.0))
        m.revolute(f"{name} top", m.ground, name, at=(x, 0))
        m.revolute(f"{name} end", name, "bob", at=(x, -1))
    m.assemble({"left top": 0.3})
    return m


def point_in_space():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("rod", rod((0, 0, 0), (1, 0, 0), mass=1.0, width=0.02))
    m.revolute("O", m.ground, "rod", at=(0, 0, 0), axis=(0, 1, 0))
    m.body("bob", at=(1, 0, 0.2), mass=2.0)
    m.fixed("weld", "rod", "bob", at=(1, 0, 0))
    return m


def light_link():
    m = chain(4)
    m.params["link 1.mass"] = 1e-12
    return m


WHOLE = {
    "friction under reactions": rubbing, "the same in space": rubbing_in_space, "a point on two pins": point_on_two_pins,
    "a point welded in space": point_in_space, "masses 1e11 apart": light_link,
}  # fmt: skip


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_what_blocks_of_the_mass_matrix_cannot_do_is_right_from_the_whole(make):
    assert make().to_tables().collection.whole
    for integrator, more in ((DOP853(), {}), (Radau(), IMPLICIT), (BDF(), IMPLICIT)):
        sol, known = (simulate(make(), 0.1, compile=how, integrator=integrator, save_at=4, **more) for how in ("never", "now"))
        assert sol.plan.tier == "tables" and np.abs(sol.q - known.q).max() < 1e-7
        assert np.abs(sol.lam - known.lam).max() < 1e-6 * (1 + np.abs(known.lam).max())


@pytest.mark.parametrize("name", [*MACHINES, "gear"])
@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_half_explicit_steps_are_those_of_compiled_code(name):
    make = (lambda: planetary_gear(5.0)) if name == "gear" else MACHINES[name]
    sol, known = (
        simulate(make(), 0.02, compile=how, integrator=PHEM56(), stabilization=Projection(), step=1e-3) for how in ("never", "now")
    )
    assert np.abs(sol.q - known.q).max() < 1e-11 and np.abs(sol.v - known.v).max() < 1e-9


def test_the_whole_matrix_gives_the_field_of_blocks():
    from holonomic.kernels.signatures import Fn

    for make in (everything, lambda: chain(9), MACHINES["arm"]):
        m = make()
        (tables, _), data, x = both(m)
        whole = tables.system._of_fronts(tables.system.collection).field()
        found = np.empty(whole.length)
        fns = np.zeros(2 * len(Fn), dtype=np.int64)
        fns[:2] = whole.function, whole.context
        from holonomic.loop.from_python import invoke

        invoke(fns, 0, 0.3, x, x, data[0], found)
        known = tables.evaluate(Fn.FIELD, 0.3, x, x, data[0])
        assert found[:-1] == pytest.approx(known[:-1], rel=1e-10, abs=1e-10 * np.abs(known).max())


def test_a_hub_with_hundreds_of_joints_is_no_dense_block():
    system = star(150).to_tables()
    assert system.collection.whole and not star(40).to_tables().collection.whole
    fronts = system._of_fronts(system.collection)
    assert fronts._whole.words[:, 1].max() == 8  # a pendulum, its pin and the hub
    sol = simulate(star(150), 0.02, compile="never", integrator=DOP853(), rtol=1e-9, atol=1e-12, save_at=3)
    assert np.abs(sol.energy_error).max() < 1e-9 and np.abs(sol.drift["velocity"]).max() < 1e-10


def test_a_body_without_inertia_that_may_turn_is_refused():
    m = Mechanism()
    m.body("bob", at=(1, 0), mass=1.0)
    m.revolute("O", m.ground, "bob", at=(1, 0))
    m.motor("O", torque=1.0)
    with pytest.raises(BadArgument, match=r"^body .bob. has no inertia, but its joints let it turn\. Give inertia="):
        simulate(m, 0.1, compile="never")


def test_friction_under_a_load_that_is_shared_is_refused():
    m = four_bar(3)
    m.friction("A", coefficient=0.1, radius=0.02)
    with pytest.raises(BadArgument, match=r"^'A friction' follows the reaction of joint 'A', which is not unique"):
        simulate(m, 0.1, compile="never")


def test_methods_that_tables_refuse_are_these():
    def refuses(**methods) -> bool:
        m = four_bar()
        if not getattr(methods.get("integrator"), "adaptive", True):
            methods["step"] = 1e-4
        try:
            simulate(m, 2e-4, compile="never", **methods)
        except IncompatibleMethods as error:
            return any(text in str(error) for text in ("does not offer", "does not have", "no sum over elements"))
        return False

    implicit = {"formulation": Index2(), "stabilization": Projection()}
    integrators = [kind() for kind in (
        h.RK4, h.RK45, h.DOP853, h.PHEM56, h.Radau, h.BDF, h.FixedBDF, h.BackwardEuler, h.Trapezoidal, h.ImplicitMidpoint,
        h.GaussLegendre4, h.GaussLegendre, h.GeneralizedAlpha,
    )]  # fmt: skip
    of_index_3 = [h.RATTLE(), h.LobattoIIIAB()]
    found = {
        "integrators": {type(i).__name__ for i in integrators if refuses(integrator=i, **(implicit if i.implicit else {}))}
        | {type(i).__name__ for i in of_index_3 if refuses(integrator=i)},
        "formulations": {
            type(f).__name__
            for f in (h.GGL(), h.Index1(), h.Index2(), h.Index3(), h.Overdetermined(), h.StateSpace(), h.StrangenessFree(),
                      h.UnderlyingODE(), *map(h.ProjectedInvariants, ("Pa", "Pb", "Pc")))
            if refuses(integrator=h.BackwardEuler(), formulation=f)
        },
        "stabilizations": {
            name for name, s in {"Projection": Projection(), "S_both2": h.S_both2(), "Baumgarte": h.Baumgarte(alpha=5.0),
                                 "InvariantStabilization": h.InvariantStabilization(gain=5.0), "S_full": h.S_full(),
                                 "mass": Projection(metric="mass"), "weights": Projection(metric=[1.0] * 18),
                                 "PostStabilization": h.PostStabilization()}.items()
            if refuses(integrator=h.RK4(), stabilization=s)
        },
    }  # fmt: skip
    assert found == REFUSED


@pytest.mark.parametrize("name", ["four-bar", "every force", "ball chain", "states", "gear"])
def test_tables_are_diagnosed_as_compiled_code_is(name):
    m = planetary_gear(5.0) if name == "gear" else MACHINES[name]()
    states = {state.name: state.start for state in m.states.values()} or None
    found, known = h.diagnose(m.to_tables(), q0=m.assembly.q, v0=m.assembly.v, s0=states), h.diagnose(m)
    for what in ("rows", "rank", "freedom", "index", "kind", "redundant"):
        assert getattr(found, what) == getattr(known, what), what
    sizes, others = (np.sort(np.abs(each.indicators.eigenvalues)) for each in (found, known))
    # zeros of many fold are found to the root of rounding
    assert sizes == pytest.approx(others, rel=1e-5, abs=1e-4 * (1.0 + others.max()))
    assert [each.method for each in found.recommended] == [each.method for each in known.recommended]


def test_a_large_mechanism_is_diagnosed_and_what_tables_lack_is_not_recommended():
    found = h.diagnose(chain(110), 1.0)
    assert found.freedom == 110 and found.rank == 220 and found.recommended[0].method == "Index1() + DOP853() + Projection()"
    m = chain(110)
    for i in range(110):
        m.torsion_spring(f"pin {i}", stiffness=1e3, damping=1e3)
    taken = "Index2()", 'ProjectedInvariants("Pa")'
    stiff = {f"{formulation} + {integrator}() + Projection()" for formulation in taken for integrator in ("Radau", "BDF")}
    assert {each.method for each in h.diagnose(m, 1.0).recommended} <= stiff


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
@pytest.mark.parametrize("make", [lambda: chain(30), lambda: ball_chain(8), lambda: stiff_chain(12), four_bar, lambda: four_bar(3)],
                         ids=["chain", "balls", "stiff", "plane", "redundant"])  # fmt: skip
def test_indicators_by_operators_are_those_of_whole_matrices(make, monkeypatch):
    m = make()
    model = OperatorModel(m.to_tables(), m.assembly.q, m.assembly.v)
    speeds = np.random.default_rng(1).uniform(-1, 1, len(m.assembly.v))
    data = model.data()
    begin = prepare(model, 0.0, m.assembly.q, speeds, data, tol=1e-10, initial="project", hold=None, redundant="minimum-norm")
    x, shared = np.concatenate([begin.q, begin.v]), model.redundancy_of(data)
    rows = None if shared is None else shared[0]
    known = indicators_at(model, 0.0, x, data, rows)
    monkeypatch.setattr(OperatorModel, "has_terms", False)
    found = indicators_at(model, 0.0, x, data, rows)
    for name in ("margin", "singular_in", "turning", "projected", "explicit", "angle", "rank", "freedom", "step"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-5), name
    few = min(4, known.freedom)  # the fastest ones; both are known to differences
    assert np.sort_complex(found.eigenvalues[:few]) == pytest.approx(np.sort_complex(known.eigenvalues[:few]), rel=1e-4, abs=1e-4)
    assert found.damped == pytest.approx(known.damped, rel=1e-3, abs=1e-3)


def test_a_mechanism_beyond_three_hundred_bodies_is_diagnosed_by_its_operators():
    m = stiff_chain(400)
    found = h.diagnose(m, 1.0)
    assert found.freedom == 400 and found.rank == 800 and found.indicators.condition is None
    assert "rates  " in str(found) and "smallest singular value of G" in str(found)
    found = h.diagnose(stiff_chain(400, stiffness=10.0, damping=10.0), 1.0)
    assert found.kind in ("stiff", "variable-coefficient stiff") and "Index2()" in found.recommended[0].method


def test_no_element_is_refused_by_tables():
    for make in (wheel_pair, bricard):
        make().to_tables()
    m = Mechanism()
    m.body("free", disk((0, 0), 0.1, mass=1.0))
    assert simulate(m, 0.1, compile="never").plan.tier == "tables"
    with pytest.warns(RedundancyWarning):
        simulate(four_bar(3), 1e-3, compile="never", integrator=PHEM56(), stabilization=Projection())


def test_friction_under_a_reaction_that_vanishes():
    """Two bodies fall: their multipliers are rounding, and so was each change of them, which was taken for none found."""
    a, b, c = np.array([[0.3, 0.1], [0.67, 0.91], [0.47, 1.68]])
    m = Mechanism()
    m.body("one", rod(a, b, mass=1.3))
    m.body("other", rod(b, c, mass=0.7))
    m.revolute("A", "one", "other", at=b)
    m.friction("A", coefficient=0.1, radius=0.03)
    sol, known = (simulate(m, 0.2, compile=how, rtol=1e-9) for how in ("never", "now"))
    assert sol.plan.tier == "tables" and np.abs(sol.q[-1] - known.q[-1]).max() < 1e-9
    assert np.abs(sol["A"].force).max() < 1e-12


def test_point_masses_that_hold_each_others_rotation_alone():
    """None of them has inertia, all of them together turn by where they are."""
    m = Mechanism()
    for k, at in enumerate([(0, 0), (0.4, 0.1), (0.7, 0.5)]):
        m.body(f"p {k}", at=at, mass=1.0 + k)
        m.spring(f"s {k}", m.ground, f"p {k}", at=((at[0] + 0.5, 1.0), at), stiffness=30.0)
    m.fixed("one", "p 0", "p 1", at=(0.4, 0.1))
    m.fixed("other", "p 1", "p 2", at=(0.7, 0.5))
    sol, known = (simulate(m, 0.3, compile=how, rtol=1e-9, atol=1e-11) for how in ("never", "now"))
    assert sol.plan.tier == "tables" and np.abs(sol.q[-1] - known.q[-1]).max() < 1e-8


def test_where_reactions_are_not_the_smallest_the_warning_does_not_say_so():
    m = Mechanism()
    m.body("rod", rod((0, 0), (1, 0), mass=1.0))
    for name in ("O", "twice"):
        m.revolute(name, m.ground, "rod", at=(0, 0))
    with pytest.warns(RedundancyWarning, match=r"not unique \(the smallest are given\)\.$"):
        simulate(m, 0.01, compile="never")
    m.body("bob", at=(1, -1), mass=1.0)  # its rotation is held by where it is pinned
    m.body("other", rod((1, 0), (1, -1), mass=1.0))
    m.revolute("A", "rod", "other", at=(1, 0))
    m.revolute("B", "other", "bob", at=(1, -0.5))
    m.distance("across", "rod", "bob", at=((0.5, 0), (1, -1.2)))
    assert m.to_tables().collection.whole
    with pytest.warns(RedundancyWarning, match=r"not unique \(as many rows as are redundant carry none\)\.$"):
        simulate(m, 0.01, compile="never")
