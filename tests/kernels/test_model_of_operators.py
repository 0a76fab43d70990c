"""The contract of models that come as operators: a chain of tables runs through the same loop and methods as any System."""

import numpy as np
import pytest

import holonomic as h
from holonomic import BDF, DOP853, Event, Index2, Index3, Projection, Radau, simulate, sweep
from holonomic.errors import (
    OK,
    SINGULAR,
    BadArgument,
    IncompatibleMethods,
    InconsistentState,
    NearSingularWarning,
    NotFinite,
    RedundantConstraints,
    SingularPosition,
    StepFailed,
)
from holonomic.kernels.signatures import NO_MODE, Fn
from holonomic.model.operators import Operator

from .chain_of_tables import Chain, chain, machine_code

MANY, FEW = 50, 3
EXPLICIT = {"integrator": DOP853(), "stabilization": Projection()}
IMPLICIT = {"integrator": Radau(), "formulation": Index2()}


@pytest.fixture(scope="module")
def code():
    return machine_code()


@pytest.fixture(scope="module", params=["compiled", "interpreted"])
def few(request, code):
    """Three bodies, as machine code and as Python."""
    return Chain(FEW, code if request.param == "compiled" else None)


@pytest.fixture(scope="module")
def many(code):
    return Chain(MANY, code)


def stated(n):
    """The same chain as a System of functions."""

    def pins(q):
        bodies = q.reshape(-1, 3)
        half = 0.05 * np.column_stack([np.cos(bodies[:, 2]), np.sin(bodies[:, 2])])
        before = np.concatenate([np.zeros((1, 2)), bodies[:-1, :2] + half[:-1]])
        return (bodies[:, :2] - half - before).ravel()

    return h.System(
        mass=np.diag(np.tile([0.1, 0.1, 0.1 * 0.1**2 / 12], n)), potential=lambda q, p: 0.1 * p.g * np.sum(q[1::3]),
        constraint=pins, params={"g": 9.81},
    )  # fmt: skip


def go(system, t_end, start, **methods):
    q, v = start
    return simulate(system, t_end, q0=q, v0=v, **methods)


def test_a_chain_of_tables_moves_as_the_same_system_of_functions(few):
    methods = {"integrator": h.RK4(), "stabilization": Projection(), "step": 0.005}
    sol, known = (go(system, 0.2, few.start(), **methods) for system in (few, stated(FEW)))
    for name in ("q", "v", "a", "lam", "reactions"):  # another order of elimination, over forty steps
        assert getattr(sol, name) == pytest.approx(getattr(known, name), rel=1e-11, abs=1e-11), name
    assert sol.energy.total == pytest.approx(known.energy.total, abs=1e-13)
    assert np.abs(sol(0.123).q - known(0.123).q).max() < 1e-12
    assert "40" in repr(sol) and "RK4" in sol.plan.why()


def test_fifty_bodies_with_dop853_and_projection(many):
    sol = go(many, 0.2, many.start(0.05), **EXPLICIT)
    assert sol.ended == "end" and np.abs(sol.drift["position"]).max() < 1e-10
    assert np.abs(sol.energy_error).max() < 1e-6  # rtol
    assert sol.plan.fns[2 * Fn.TERMS] == sol.plan.fns[2 * Fn.BY_Y] == sol.plan.fns[2 * Fn.BY_SLOPE] == 0


def test_half_explicit_steps_take_the_rows_in_the_form_of_the_tables(few):
    methods = {"integrator": h.PHEM56(), "stabilization": Projection(), "step": 0.005}
    sol, known = (go(system, 0.1, few.start(), **methods) for system in (few, stated(FEW)))
    assert np.abs(sol.q - known.q).max() < 1e-12 and np.abs(sol.lam - known.lam).max() < 1e-10


@pytest.mark.parametrize("integrator", [h.BackwardEuler(), h.FixedBDF(3), BDF(max_order=2)], ids=repr)
def test_fixed_steps_of_implicit_methods_are_those_of_the_same_system(code, integrator):
    few, methods = Chain(FEW, code), {"integrator": integrator, "formulation": Index2(), "step": 0.002}
    sol, known = (go(system, 0.02, few.start(), **methods) for system in (few, stated(FEW)))
    assert np.abs(sol.q - known.q).max() < 1e-11  # Newton's method goes on to rounding
    assert np.abs(sol.lam - known.lam).max() < 1e-8


@pytest.mark.parametrize(
    "integrator", [h.Trapezoidal(), h.ImplicitMidpoint("stage"), h.GaussLegendre4(), h.GaussLegendre(3)], ids=repr
)
def test_means_and_gauss_ask_for_no_matrix_of_the_whole_system(few, integrator):
    methods = {"integrator": integrator, "formulation": Index2(), "step": 0.002, "stabilization": None}
    sol, known = (go(system, 0.02, few.start(), **methods) for system in (few, stated(FEW)))
    assert np.abs(sol.q - known.q).max() < 1e-11  # Newton's method goes on to rounding
    assert np.abs(sol.v - known.v).max() < 1e-10
    positions = methods | {"stabilization": Projection(on="positions")}  # the remedy that refusals name
    assert np.abs(go(few, 0.02, few.start(), **positions).drift["position"]).max() < 1e-10


@pytest.mark.parametrize("integrator", [Radau(), BDF()], ids=repr)
def test_implicit_methods_solve_with_the_elimination_of_the_tables(few, integrator):
    start, methods = few.start(), {"integrator": integrator, "formulation": Index2(), "rtol": 1e-7}
    sol, known = go(few, 0.05, start, **methods), go(stated(FEW), 0.05, start, **methods)
    assert abs(sol.stats["steps"] - known.stats["steps"]) <= 1  # which are chosen by error
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-8  # the error itself is the same
    assert np.abs(sol.lam[-1] - known.lam[-1]).max() < 1e-5


def test_fifty_bodies_with_radau_and_index_2(many):
    start = many.start(0.05)
    sol, known = go(many, 0.1, start, rtol=1e-7, **IMPLICIT), go(many, 0.1, start, rtol=1e-9, atol=1e-12, **EXPLICIT)
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-6
    assert sol.stats["factorizations"] > 0 and np.abs(sol.drift["position"]).max() < 1e-10


def test_events_are_plain_functions(few):
    start, tight = few.start(), EXPLICIT | {"rtol": 1e-9, "atol": 1e-12}
    events = {"low": Event(lambda q, p: q[-2] + p.g / 50.0, direction="falling"), "pull": Event(lambda lam: lam[1] + 3.0)}
    sol, known = go(few, 0.3, start, events=events, **tight), go(stated(FEW), 0.3, start, events=events, **tight)
    for name in events:
        assert len(known.events[name].t) > 0
        assert sol.events[name].t == pytest.approx(known.events[name].t, abs=1e-9)
    ended = go(few, 0.3, start, events={"low": Event(events["low"].f, terminal=True)}, **tight)
    assert ended.ended == "low" and ended.t[-1] == pytest.approx(sol.events["low"].t[0], abs=1e-9)


@pytest.mark.parametrize("methods", [EXPLICIT, IMPLICIT], ids=["DOP853", "Radau"])
def test_members_of_a_sweep_are_runs_of_the_chain(many, methods):
    (q, v), gravity = many.start(0.05), np.array([1.62, 3.71, 9.81, 24.8])
    runs = sweep(many, 0.05, q0=q, v0=v, params={"g": gravity}, save_at=3, on="threads", progress=False, **methods)
    assert not runs.failed
    for m, g in enumerate(gravity):
        alone = simulate(many.with_params(g=g), 0.05, q0=q, v0=v, save_at=3, **methods)
        assert np.array_equal(runs.q[m], alone.q)


def test_a_sweep_needs_machine_code():
    few = Chain(FEW)
    q, v = few.start()
    with pytest.raises(BadArgument, match=r"sweep needs a compiled system: the operators of Chain are Python functions\. Or run "
                       r"its members one at a time, with simulate\."):  # fmt: skip
        sweep(few, 0.05, q0=q, v0=v, params={"g": [1.0]}, save_at=3)


def test_room_grows_with_the_number_of_bodies_alone(code):
    def room(n, **methods):
        one = Chain(n, code)
        return go(one, 1e-4, one.start(0.05), **methods).plan.size.work_end

    for methods in (EXPLICIT, IMPLICIT):
        assert room(2 * MANY, **methods) < 2.01 * room(MANY, **methods)


def test_operators_get_their_context_and_mode_and_their_status_counts():
    seen = []

    class Watched(Chain):
        failing = None

        def operators(self, formulation):
            def one(context, mode, t, a, b, data, out):
                seen.append((int(context[0]), mode))
                status = chain(context, mode, t, a, b, data, out)
                return 1 if context[0] == self.failing else status

            return {fn: Operator(one, *operator[1:]) for fn, operator in super().operators(formulation).items()}

    few = Watched(FEW)
    assert go(few, 0.01, few.start(), **IMPLICIT).ended == "end"
    assert {mode for _, mode in seen} == {NO_MODE} and {Fn.FIELD, Fn.NEWTON_FACTOR, Fn.COMPLEX_SOLVE} <= {fn for fn, _ in seen}
    few = Watched(FEW)
    few.failing = Fn.NEWTON_FACTOR
    with pytest.raises(StepFailed):
        go(few, 0.01, few.start(), **IMPLICIT)


class Fading(Chain):
    """A chain whose field says that it comes close to a singular position, between 0.02 and 0.03 s, or that it fails."""

    ratio, status = 1.0, OK

    def operators(self, formulation):
        def field(context, mode, t, a, b, data, out):
            status = chain(context, mode, t, a, b, data, out)
            out[8 * FEW] = self.ratio if 0.02 < t < 0.03 else 0.3
            return self.status if 0.02 < t < 0.03 else status

        there = super().operators(formulation)
        return there | {Fn.FIELD: Operator(field, *there[Fn.FIELD][1:])}


def test_singular_positions_stop_a_run_or_are_warned_of():
    few, methods = Fading(FEW), {"integrator": h.RK4(), "step": 0.002, "stabilization": Projection()}
    few.ratio = 1e-9  # below 1e-8 the solve is not trusted
    with pytest.raises(SingularPosition, match=r"singular position"):
        go(few, 0.05, few.start(), **methods)
    few = Fading(FEW)
    few.status = SINGULAR  # whatever the numbers
    with pytest.raises(SingularPosition, match=r"singular position"):
        go(few, 0.05, few.start(), **methods)
    few = Fading(FEW)
    few.ratio = 1e-5
    with pytest.warns(NearSingularWarning, match=r"near t = 0\.02\d* the smallest pivot ratio of Fading fell to 1\.0e-05, from "
                      r"3\.0e-01\. Either masses are very different, or a singular position is near, where branches"):  # fmt: skip
        go(few, 0.05, few.start(), **methods)


def test_a_field_that_is_not_finite_ends_the_run(code):
    few = Chain(FEW, code)
    few.contexts[Fn.FIELD][2] = np.nan  # a mass
    with pytest.raises(NotFinite):
        go(few, 0.1, few.start(), **EXPLICIT)


def test_starts_are_checked_and_moved_by_the_operators(few):
    q, v = few.start()
    off = q.copy()
    off[3] += 1e-3
    with pytest.raises(InconsistentState, match=r"q0 misses constraint 'pin 1 x' by 7\.1e-04 \(allowed 1\.2e-10\)\. Correct q0, or "
                       r'pass initial="project" to move q0 by about 1\.0e-03\.'):  # fmt: skip
        simulate(few, 0.1, q0=off, v0=v)
    turned = v.copy()
    turned[2] = 1.0
    with pytest.raises(InconsistentState, match=r"v0 misses the velocity level of constraint 'pin 0 [xy]'"):
        simulate(few, 0.1, q0=q, v0=turned)
    sol = simulate(few, 0.01, q0=off, v0=turned, initial="project", **EXPLICIT)
    assert np.abs(sol.drift["position"]).max() < 1e-10 and 1e-4 < np.abs(sol.q[0] - off).max() < 1e-3
    with pytest.raises(BadArgument, match=r'initial="impact" needs the mass matrix, which Chain does not offer\.'):
        simulate(few, 0.1, q0=q, v0=v, initial="impact")
    with pytest.raises(BadArgument, match=r"hold= needs the Jacobian of the constraints, which Chain does not offer\."):
        simulate(few, 0.1, q0=off, v0=v, initial="project", hold=["x0"])
    with pytest.raises(BadArgument, match=r"q0 has 3 entries, Chain 9 coordinates\."):
        simulate(few, 0.1, q0=q[:3], v0=v[:3])


def test_dependent_rows_are_refused():
    class Twice(Chain):
        """Says that its rows are dependent."""

        def operators(self, formulation):
            def factor(context, mode, t, a, b, data, out):
                status = chain(context, mode, t, a, b, data, out)
                out[0] = 1e-12
                return status

            there = super().operators(formulation)
            return there | {Fn.VEL_FACTOR: Operator(factor, *there[Fn.VEL_FACTOR][1:])}

    few = Twice(FEW)
    with pytest.raises(RedundantConstraints, match=r"at t = 0 the rows of Twice are dependent \(smallest pivot ratio 1\.0e-12\), "
                       r"which it does not allow\. Leave out rows that repeat others, or start elsewhere\."):  # fmt: skip
        go(few, 0.1, few.start())


REFUSED = [
    ({"integrator": h.ImplicitMidpoint(), "step": 0.01, "formulation": Index2()},
     r"ImplicitMidpoint\(\) asks for ENDS_FACTOR, ENDS_SOLVE, which Chain does not offer\."),
    ({"integrator": h.GaussLegendre4(), "step": 0.01, "formulation": Index2()},
     r"Projection\(\) behind GaussLegendre4\(\) with Index2\(\) goes along M⁻¹Gᵀ, which Chain does not offer\. Use "
     r"stabilization=Projection\(on=\"positions\"\), or None\."),
    ({"integrator": h.GeneralizedAlpha(), "step": 0.01, "formulation": Index2()},
     r"GeneralizedAlpha\(rho=0\.8\) asks for MOTION_FACTOR, MOTION_TIMES, which Chain does not offer\."),
    ({"integrator": h.RATTLE(), "step": 0.01}, r"Chain does not have the equations of Index3\(\), which RATTLE solves\."),
    ({"integrator": h.LobattoIIIAB(), "step": 0.01}, r"Chain does not have the equations of Index3\(\), which Lobatto"),
    ({"integrator": Radau(), "formulation": h.StateSpace()}, r"equations of StateSpace\(\) are no sum over elements, as Chain"),
    ({"integrator": Radau(), "formulation": h.StrangenessFree()}, r"equations of StrangenessFree\(\) are no sum over elements, as"),
    ({"integrator": Radau(), "formulation": Index3()},
     r"Chain does not have the equations of Index3\(\), which Radau solves\. Use formulation=Index2\(\), or DOP853\(\)\."),
    ({"stabilization": h.Baumgarte(alpha=5)},
     r"Baumgarte\(alpha=5\) has terms inside the field, which Chain does not offer\. Use stabilization=Projection\(\)\."),
    ({"stabilization": Projection(metric="mass")}, r"has a metric of its own, which Chain does not offer"),
    ({"stabilization": Projection(on="full")},
     r"asks for FULL_FACTOR, FULL_SOLVE, FULL_TANGENT, which Chain does not offer\. Use stabilization=Projection\(\)\."),
    ({"events": {"low": Event(lambda q: q[-2], then=lambda q, v: (q, -v))}},
     r"event 'low' has then=, and what constraints give velocities at once takes the mass matrix, which Chain does not offer\. "
     r"Let it end the run, and begin a new one with q0 and v0\."),
    ({"integrator": Radau(), "formulation": h.Overdetermined()}, r"Chain does not have the equations of Overdetermined\(\), which"),
]  # fmt: skip


@pytest.mark.parametrize(("methods", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_methods_that_need_more_than_there_is_are_refused_by_name(methods, message):
    few = Chain(FEW)
    with pytest.raises(IncompatibleMethods, match=message):
        go(few, 0.1, few.start(), **methods)


def test_operators_that_a_model_lacks_are_named():
    class Explicit(Chain):
        def operators(self, formulation):
            there = super().operators(formulation)
            return {fn: operator for fn, operator in there.items() if fn not in (Fn.VELOCITY, Fn.GRADIENTS)}

    few = Explicit(FEW)
    with pytest.raises(IncompatibleMethods, match=r"PHEM56\(\) asks for VELOCITY, which Explicit does not offer\. Use "
                       r"integrator=DOP853\(\)\."):  # fmt: skip
        go(few, 0.1, few.start(), integrator=h.PHEM56())
    with pytest.raises(IncompatibleMethods, match=r"BDF\(\) asks for GRADIENTS, which Explicit does not offer\."):
        go(few, 0.1, few.start(), integrator=BDF(), formulation=Index2())


def test_equations_of_accelerations_do_not_go_with_mean_slopes():
    class First(Chain):
        formulations = (h.Index1, Index2)

    few = First(FEW)
    with pytest.raises(IncompatibleMethods, match=r"^Trapezoidal\(\) takes the mean slope of a step, with which First has other "
                       r"accelerations than those of its end in Index1\(\)\. With Index1\(\) use .*; with Trapezoidal use "
                       r"formulation=Index2\(\)\.$"):  # fmt: skip
        go(few, 0.1, few.start(), integrator=h.Trapezoidal(), formulation=h.Index1(), step=0.01)


def test_a_model_without_the_least_operators_is_refused():
    class Less(Chain):
        def operators(self, formulation):
            return {fn: operator for fn, operator in super().operators(formulation).items() if fn is not Fn.RESIDUAL}

    few = Less(FEW)
    with pytest.raises(BadArgument, match=r"Less lacks RESIDUAL: without them there is no run\."):
        go(few, 0.1, few.start())


def test_a_diagnosis_is_refused(code):
    few = Chain(FEW, code)
    q, v = few.start()
    with pytest.raises(IncompatibleMethods, match=r"diagnose looks at matrices of the whole system, which Chain does not "
                       r"offer\. Use simulate: it says by itself where a run is stiff, or near a singular position\."):  # fmt: skip
        h.diagnose(few, 0.1, q0=q, v0=v)


def test_what_is_left_to_us_is_explicit_with_projection(few):
    """The automatic choice looks at the field of compiled operators: this run is short. Interpreted ones it leaves as they are."""
    sol = go(few, 0.05, few.start())
    assert repr(sol.plan) == f"Index1() + {'DOP853' if few.interpreted else 'RK45'}() + Projection()"
