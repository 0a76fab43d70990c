"""Models that run as plain Python: their functions equal the traced ones, their limits and messages."""

import math

import numpy as np
import pytest

from holonomic import RK4, Event, Ode, Projection, System, simulate
from holonomic.errors import BadArgument, ForgottenVelocityTerms, IncompatibleMethods, NotFinite, SingularMass, WrongShape
from holonomic.kernels.signatures import Fn
from holonomic.model.compiled import Model
from holonomic.model.interpreted import InterpretedModel
from holonomic.model.model_base import Variant

# Two points on rods, the first rod's end moving with time; gravity as a potential, damping as a force.
ARM = dict(
    mass=lambda p: np.diag([p.m[0], p.m[0], p.m[1], p.m[1]]),
    force=lambda v, p: -p.c * v,
    potential=lambda q, p: 9.81 * (p.m[0] * q[1] + p.m[1] * q[3]),
    constraint={
        "upper": lambda t, q: (q[0] - 0.1 * np.sin(t)) ** 2 + q[1] ** 2 - 1.0,
        "lower": lambda q, p: (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - p.L**2,
    },
    params={"m": [1.0, 2.0], "c": 0.1, "L": 0.5},
    outputs={"tip": lambda q: q[2:], "pull": lambda lam, a: lam[0] + a[1]},
)
ARM_DERIVATIVES = {
    "G": lambda t, q: np.array(
        [
            [2.0 * (q[0] - 0.1 * np.sin(t)), 2.0 * q[1], 0.0, 0.0],
            [2.0 * (q[0] - q[2]), 2.0 * (q[1] - q[3]), 2.0 * (q[2] - q[0]), 2.0 * (q[3] - q[1])],
        ]
    ),
    "g_t": lambda t, q: np.array([-0.2 * np.cos(t) * (q[0] - 0.1 * np.sin(t)), 0.0]),
    "gamma": lambda t, q, v: np.array(
        [
            2.0 * (v[0] - 0.1 * np.cos(t)) ** 2 + 2.0 * v[1] ** 2 + 0.2 * np.sin(t) * (q[0] - 0.1 * np.sin(t)),
            2.0 * (v[2] - v[0]) ** 2 + 2.0 * (v[3] - v[1]) ** 2,
        ]
    ),
    "potential": lambda p: 9.81 * np.array([0.0, p.m[0], 0.0, p.m[1]]),
}


def spin(q):
    """q' = Z(q) v for a quaternion q and the angular velocity v."""
    w, x, y, z = q
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])


BODY = dict(  # a body held so that one of its axes stays in a plane, driven by a torque u
    mass=np.diag([1.0, 2.0, 3.0]),
    force=lambda v, u: np.array([v[1] * v[2], -2.0 * v[0] * v[2], v[0] * v[1] + u.torque]),
    constraint={"plane": lambda q: 2.0 * (q[1] * q[3] + q[0] * q[2])},
    kinematics=spin,
    invariants={"length": lambda q: q @ q},
    inputs={"torque": lambda t: np.sin(t)},
)
SLED = dict(  # moves along its blade only
    mass=lambda q: np.diag([2.0, 2.0, 0.3]),
    force=[0.1, -0.2, 0.3],
    nonholonomic={"blade": lambda t, q, v: v[0] * np.sin(q[2]) - v[1] * np.cos(q[2]) - 0.1 * np.cos(t)},
)
SLED_DERIVATIVES = {"gamma": lambda t, q, v: np.array([(v[0] * np.cos(q[2]) + v[1] * np.sin(q[2])) * v[2] + 0.1 * np.sin(t)])}
KEPLER = dict(
    rhs=lambda y: np.array([y[2], y[3], *(-y[:2] / (y[0] ** 2 + y[1] ** 2) ** 1.5)]),
    invariants={
        "momentum": lambda y: y[0] * y[3] - y[1] * y[2],
        "energy": lambda y: 0.5 * (y[2] ** 2 + y[3] ** 2) - 1.0 / np.sqrt(y[0] ** 2 + y[1] ** 2),
    },
)
CASES = {
    "arm": (System, ARM, ARM_DERIVATIVES, [0.3, -0.9, 0.5, -1.3], [0.5, 0.2, -1.0, 0.3]),
    "arm by differences": (System, ARM, None, [0.3, -0.9, 0.5, -1.3], [0.5, 0.2, -1.0, 0.3]),
    "body": (System, BODY, None, [0.7, 0.2, 0.4, -0.3], [0.3, -1.0, 0.7]),
    "sled": (System, SLED, SLED_DERIVATIVES, [0.1, 0.2, 0.6], [1.0, 0.5, -0.4]),
    "sled by differences": (System, SLED, None, [0.1, 0.2, 0.6], [1.0, 0.5, -0.4]),
    "kepler": (Ode, KEPLER, None, [0.8, 0.3, -0.2, 1.1], []),
}


def pair(case):
    kind, functions, derivatives, q, v = CASES[case]
    q, v = np.array(q), np.array(v)
    traced = Model(kind(**functions), q, v, 0.3)
    plain = InterpretedModel(kind(**functions, trace=False, derivatives=derivatives), q, v, 0.3)
    return traced, plain, np.concatenate([q, v])


def assert_close(a, b, case):
    """Rounding where derivatives are given; where they are differences, the error they are good for."""
    tolerance = 1e-12 if case in ("arm", "sled") else 1e-9
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1.0 + np.max(np.abs(b), initial=0.0)))


def datas(traced, plain):
    """Data of both models, invariants and gains in place; their layouts differ in numbers."""
    made = [traced.data(), plain.data()]
    for model, data in zip((traced, plain), made, strict=True):
        data[model.data_places["invariants"]] = 0.2
        data[model.data_places["gains"]] = np.arange(1.0, 1.0 + len(data[model.data_places["gains"]]))
    return made


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("gains", [False, True])
def test_functions_equal_the_traced_ones(case, gains):
    traced, plain, x = pair(case)
    data, own = datas(traced, plain)
    variant = Variant(gains=gains)
    wanted = [Fn.FIELD, Fn.RESIDUAL] + ([] if traced.is_ode else [Fn.TERMS, Fn.ENERGY])
    for fn in wanted:
        theirs = traced.evaluate(fn, 0.7, x, [0.0], data, variant)
        mine = plain.evaluate(fn, 0.7, x, [0.0], own, variant)
        if fn is Fn.FIELD:  # the pivot ratio of another factorization
            theirs, mine = theirs[:-1], mine[:-1]
        assert_close(mine, theirs, case)
    lam = np.arange(1.0, 1.0 + traced.n_lam)
    if traced.n_lam:
        both = [m.evaluate(Fn.REACTIONS, 0.7, x, lam, d) for m, d in ((plain, own), (traced, data))]
        assert_close(*both, case)
    if traced.output_shapes:
        b = np.concatenate([np.arange(float(traced.nv)), lam])
        both = [m.evaluate(Fn.OUTPUTS, 0.7, x, b, d) for m, d in ((plain, own), (traced, data))]
        assert_close(*both, case)
        assert plain.output_shapes == traced.output_shapes


LEVELS = {  # where a case has rows
    "arm": ("POS", "VEL", "FULL"), "arm by differences": ("POS", "VEL", "FULL"),
    "body": ("POS", "VEL", "FULL"), "sled": ("VEL", "FULL"), "kepler": ("POS", "FULL"),
}  # fmt: skip
MASS = ("arm", "arm by differences", "sled")  # where M measures positions as well as velocities
PROJECTIONS = [
    (case, level, metric)
    for case, levels in LEVELS.items()
    for level in levels
    for metric in ("identity", "weights", "mass")
    if metric != "mass" or (case in MASS and level != "FULL")
]


@pytest.mark.parametrize(("case", "level", "metric"), PROJECTIONS)
def test_projections_equal_the_traced_ones(case, level, metric):
    traced, plain, x = pair(case)
    position, velocity = traced.n_constraints + traced.n_invariants, traced.n_lam
    rows = {"POS": position, "VEL": velocity, "FULL": position + velocity}[level]
    weights = {"identity": None, "mass": "mass", "weights": tuple(np.linspace(1.0, 2.0, len(x)))}[metric]
    variant = Variant(metric=weights)
    data, own = datas(traced, plain)
    columns = {"POS": traced.nq, "VEL": traced.nv, "FULL": len(x)}[level]
    results = []
    for model, d in ((plain, own), (traced, data)):
        F = model.evaluate(Fn[f"{level}_FACTOR"], 0.7, x, [], d, variant)
        assert F[0] > 1e-6
        r, e = np.arange(1.0, 1.0 + rows), np.linspace(-1.0, 1.0, columns)
        moved = model.evaluate(Fn[f"{level}_SOLVE"], 0.7, F, r, d, variant)
        lost = model.evaluate(Fn[f"{level}_TANGENT"], 0.7, F, e, d, variant)
        results.append(np.concatenate([F[1 : 1 + rows], moved, lost]))
    assert_close(*results, case)


def test_redundant_rows_are_left_out():
    twice = dict(ARM, constraint={**ARM["constraint"], "again": ARM["constraint"]["lower"]})
    q, v = (np.array(values) for values in CASES["arm"][3:])
    traced, plain = Model(System(**twice), q, v), InterpretedModel(System(**twice, trace=False), q, v)
    data, own = datas(traced, plain)
    x, variant = np.concatenate([q, v]), Variant(rows=(0, 1))
    for fn in (Fn.FIELD, Fn.RESIDUAL, Fn.TERMS):
        theirs = traced.evaluate(fn, 0.7, x, [], data, variant)
        mine = plain.evaluate(fn, 0.7, x, [], own, variant)
        assert mine.shape == theirs.shape
        assert_close(mine[:-1], theirs[:-1], "by differences")


def test_rows_that_repeat_others_stay():
    """Accelerations, and what projections move, as traced models have them; multipliers may belong to other rows."""
    twice = dict(ARM, constraint={**ARM["constraint"], "again": ARM["constraint"]["lower"]})
    q, v = (np.array(values) for values in CASES["arm"][3:])
    traced, plain = Model(System(**twice), q, v), InterpretedModel(System(**twice, trace=False), q, v)
    data, own = datas(traced, plain)
    x, variant = np.concatenate([q, v]), Variant(kept=(0, 1))
    for fn in (Fn.FIELD, Fn.RESIDUAL, Fn.TERMS):
        theirs = traced.evaluate(fn, 0.7, x, [], data, variant)
        mine = plain.evaluate(fn, 0.7, x, [], own, variant)
        assert mine.shape == theirs.shape
        assert_close(mine[: len(x)], theirs[: len(x)], "by differences")
    results = []
    for model, d in ((traced, data), (plain, own)):
        F = model.evaluate(Fn.VEL_FACTOR, 0.7, x, [], d, variant)
        r, e = np.array([1.0, 2.0, 2.0]), np.linspace(-1.0, 1.0, len(v))
        moved = model.evaluate(Fn.VEL_SOLVE, 0.7, F, r, d, variant)
        lost = model.evaluate(Fn.VEL_TANGENT, 0.7, F, e, d, variant)
        results.append((F[0], np.concatenate([F[1:4], moved]), lost))
    mine, theirs = results
    assert np.isclose(mine[0], theirs[0], rtol=1e-4)  # rounding over the number on the diagonal, 1e-8
    assert_close(mine[1], theirs[1], "by differences")
    assert np.allclose(mine[2], theirs[2], atol=1e-7)  # estimates are solved for once in traced models


def test_all_redundant_rows_are_found_and_simulated():
    rod = lambda q: q @ q - 1.0
    system = System(np.eye(2), [0, -9.81], {"rod": rod, "again": rod}, trace=False)
    with pytest.warns(UserWarning, match="redundant"):
        sol = simulate(system, 0.5, q0=[1, 0], v0=[0, 0], redundant="drop")
    single = simulate(System(np.eye(2), [0, -9.81], rod), 0.5, q0=[1, 0], v0=[0, 0])
    np.testing.assert_allclose(sol.q[-1], single.q[-1], atol=1e-6)  # both to rtol 1e-6


def test_singular_position_is_reported_as_singular_and_nan_as_not_finite():
    q, v = np.array([1.0, 0.0]), np.zeros(2)
    constraint = {"a": lambda q: q[0] - 1.0, "b": lambda q: (q[0] - 1.0) * (1.0 + q[1])}
    model = InterpretedModel(System(np.eye(2), [0, -1], constraint, trace=False), q + 0.1, v)
    field = model.evaluate(Fn.FIELD, 0.0, np.concatenate([q, v]), [], model.data())
    assert np.all(np.isnan(field[:-1]))
    assert field[-1] == 0.0
    domain = lambda q: np.array([0.0, np.sqrt(q[1])])
    model = InterpretedModel(System(np.eye(2), domain, trace=False), np.array([0.0, 1.0]), v)
    field = model.evaluate(Fn.FIELD, 0.0, np.array([0.0, -1.0, 0.0, 0.0]), [], model.data())
    assert np.all(np.isnan(field))


# accuracy of differences, and what is refused for it

PENDULUM = dict(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1.0})
EXACT = {"G": lambda q: 2.0 * q[None, :], "gamma": lambda v: np.array([2.0 * v @ v])}


def test_rtol_below_what_differences_allow_is_refused_with_the_way_out():
    with pytest.raises(BadArgument, match=r"G and gamma come from differences, good to 1e-09.*ives=\{'G'"):
        simulate(System(**PENDULUM, trace=False), 1.0, q0=[1, 0], v0=[0, 0], rtol=1e-12)


def test_given_derivatives_allow_every_rtol_and_reach_the_traced_answer():
    start = dict(q0=[1, 0], v0=[0, 0], rtol=1e-12, atol=1e-12)
    plain = simulate(System(**PENDULUM, trace=False, derivatives=EXACT), 1.0, **start)
    traced = simulate(System(**PENDULUM), 1.0, **start)
    np.testing.assert_allclose(plain.q[-1], traced.q[-1], rtol=0, atol=1e-11)  # tolerance per step times 10


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_differences_find_the_scale_of_a_mechanism(size):
    # a rod as a distance, not its square: third derivatives grow as 1/size²
    rod = lambda q: np.sqrt(q @ q) - size
    q, v = size * np.array([0.6, -0.8]), size * np.array([0.8, 0.6])
    model = InterpretedModel(System(np.eye(2), [0, -1], rod, trace=False), q, v)
    terms = model.evaluate(Fn.TERMS, 0.0, np.concatenate([q, v]), [], model.data())
    np.testing.assert_allclose(terms[-3:-1], [0.6, -0.8], rtol=1e-10)  # G, first differences
    np.testing.assert_allclose(terms[-1], size, rtol=1e-7)  # γ = v²/size, second differences
    assert 1e-9 <= model.attainable_rtol <= 1e-6


def test_a_wrong_derivative_is_refused_by_name_and_entry():
    with pytest.raises(BadArgument, match=r"derivatives\['G'\] gives 1 in entry \[0, 0\], but diff.* give 2"):
        derivatives = {"G": lambda q: q[None, :]}
        simulate(System(**PENDULUM, trace=False, derivatives=derivatives), 1.0, q0=[1, 0], v0=[0, 0])


def test_an_unknown_derivative_is_refused():
    with pytest.raises(BadArgument, match="derivatives= has no 'K'; known: G, g_t, gamma, potential, H"):
        simulate(System(**PENDULUM, trace=False, derivatives={"K": 1}), 1.0, q0=[1, 0], v0=[0, 0])


# refusals at the start

REFUSED = {
    "short force": (dict(mass=np.eye(2), force=lambda q: q[:1]), WrongShape, r"force\(\) returned shape \(1"),
    "large mass": (dict(mass=lambda q: np.eye(3)), WrongShape, r"mass\(\) returned shape \(3, 3\), expected"),
    "mass not symmetric": (dict(mass=np.array([[1.0, 0.5], [0.0, 1.0]])), SingularMass, r"M\[0,1\] = 0.5"),
    "NaN": (dict(mass=np.eye(2), force=lambda q: q / 0.0), NotFinite, r"force\(\) is (inf|nan) at the start"),
    "constant": (dict(mass=np.eye(2), constraint={"rod": lambda q: 0 * q[0]}), BadArgument, "'rod' depends"),
    "quadratic": (dict(mass=np.eye(2), nonholonomic=lambda v: v @ v), BadArgument, "must be linear in v"),
    "no velocity terms": (dict(mass=lambda q: np.eye(2) * (1.0 + q[0] ** 2)), ForgottenVelocityTerms, "velocity_terms=True"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_the_start(case):
    functions, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        simulate(System(**functions, trace=False), 1.0, q0=[1, 0], v0=[0, 0])


def test_an_exception_of_a_function_says_which_function_and_where():
    def force(q):
        raise KeyError("table")

    with pytest.raises(KeyError) as caught:
        simulate(System(np.eye(1), force, trace=False), 1.0, q0=[1], v0=[0])
    assert caught.value.__notes__ == ["raised by force() at the start, t = 0, q = [1.]"]


def test_velocity_terms_from_the_mass_matrix_equal_the_traced_ones():
    mass = lambda q: np.array([[2.0, 1.0], [1.0, 1.0]]) + np.cos(q[1]) * np.array([[1.0, 0.5], [0.5, 0.0]])
    x = np.array([0.1, 0.7, 1.0, -2.0])
    models = [
        kind(System(mass, [0.1, 0.2], velocity_terms=True, **more), x[:2], x[2:])
        for kind, more in ((Model, {}), (InterpretedModel, {"trace": False}))
    ]
    fields = [model.evaluate(Fn.FIELD, 0.0, x, [], model.data())[:-1] for model in models]
    np.testing.assert_allclose(fields[1], fields[0], rtol=1e-10)  # first differences of order 4


def test_methods_that_differentiate_are_refused():
    model = InterpretedModel(System(**PENDULUM, trace=False), np.array([1.0, 0.0]), np.zeros(2))
    with pytest.raises(IncompatibleMethods, match="works with trace=True only"):
        model.table((Fn.EQUATIONS,))


# runs


def test_branches_inputs_outputs_and_events_work():
    def force(q, v, p, u):
        if q[0] > 0.0:  # a branch on a value cannot be traced
            return np.array([-p.k * q[0] + u.push])
        return np.array([u.push])

    system = System(
        np.eye(1), force, params={"k": 4.0}, inputs={"push": ([0.0, 1.0, 2.0], [0.0, 1.0, 0.0])},
        outputs={"spring": lambda q, p: p.k * max(q[0], 0.0), "first": lambda a: a[0]}, trace=False,
    )  # fmt: skip
    sol = simulate(system, 2.0, q0=[1], v0=[0], rtol=1e-9, events={"through": Event(lambda q: q[0])})
    assert 1.0 in sol.t  # steps end on the breaks of an input
    np.testing.assert_allclose(sol["spring"], 4.0 * np.maximum(sol.q[:, 0], 0.0), rtol=1e-14)
    np.testing.assert_allclose(sol["first"], sol.a[:, 0], rtol=1e-14)
    # -4 q + t: q = cos 2t + (t - sin(2t)/2)/4 until it is zero for the first time
    t = sol.events["through"].t[0]
    assert abs(np.cos(2 * t) + (t - np.sin(2 * t) / 2) / 4) < 1e-8  # the run's error, rtol 1e-9


def test_functions_may_keep_and_change_what_they_are_given():
    seen = []

    def rhs(y):
        seen.append(y)
        dy = -y
        y *= 0.0
        return dy

    def clean(y):
        return -y

    kept = simulate(Ode(rhs, trace=False), 1.0, y0=[1.0, 2.0])
    np.testing.assert_array_equal(kept.y, simulate(Ode(clean, trace=False), 1.0, y0=[1.0, 2.0]).y)
    assert len({id(y) for y in seen}) == len(seen)


def test_invariants_of_an_interpreted_ode_are_kept():
    sol = simulate(Ode(**KEPLER, trace=False), 10.0, y0=[0.4, 0, 0, 2], stabilization=Projection())
    momentum = sol.y[:, 0] * sol.y[:, 3] - sol.y[:, 1] * sol.y[:, 2]
    assert np.ptp(momentum) < 1e-9  # constraint tolerance 1e-10, scaled by the gradient


# whom to blame


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize("how", [{}, {"integrator": RK4(), "step": 0.1}], ids=["adaptive", "fixed"])
def test_a_function_that_leaves_its_domain_is_named(trace, how):
    system = System(np.eye(1), lambda q: np.array([1.0 + np.sqrt(1.0 - q[0])]), trace=trace)
    with pytest.raises(NotFinite, match=r"force\(\) gives NaN or infinity near t = 1.*q = \[1\.") as caught:
        simulate(system, 10.0, q0=[0], v0=[0], **how)
    # q'' = 1 + √(1 - q) reaches q = 1 before t = √2, when it would with q'' = 1
    assert 0.9 < caught.value.solution.t[-1] < 1.42


@pytest.mark.parametrize("trace", [True, False])
def test_a_constraint_that_leaves_its_domain_is_named(trace):
    # slides down y = -√(1 - x) and reaches its end
    ramp = {"ramp": lambda q: q[1] + np.sqrt(1.0 - q[0])}
    system = System(np.eye(2), [1.0, 0.0], ramp, trace=trace)
    with pytest.raises(NotFinite, match=r"constraint 'ramp' gives NaN or infinity"):
        simulate(system, 10.0, q0=[0, -1], v0=[0, 0], integrator=RK4(), step=0.05, stabilization=Projection())


@pytest.mark.parametrize("trace", [True, False])
def test_a_derivative_that_is_infinite_is_named(trace):
    kind = Model if trace else InterpretedModel
    rod = {"rod": lambda q: np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0}
    model = kind(System(np.eye(2), [0, -1], rod, trace=trace), np.array([1.0, 0.0]), np.zeros(2))
    said = model.blame(0.0, np.zeros(4), model.data())
    if trace:  # differences straddle the corner and do not see it
        assert said == "the derivative of constraint 'rod'"
    assert model.blame(0.0, np.array([1.0, 0.0, 0.0, 0.0]), model.data()) is None


def test_an_exception_outside_the_domain_counts_as_nan():
    system = System(np.eye(1), lambda q: np.array([1.0 + math.sqrt(1.0 - q[0])]), trace=False)
    with pytest.raises(NotFinite, match=r"force\(\) gives NaN"):
        simulate(system, 10.0, q0=[0], v0=[0])


@pytest.mark.parametrize("trace", [True, False])
def test_an_event_that_leaves_its_domain_is_named(trace):
    system = System(np.eye(1), [1.0], trace=trace)
    with pytest.raises(NotFinite, match=r"event 'far' gives NaN or infinity near t = 2"):
        simulate(system, 10.0, q0=[0], v0=[0], events={"far": Event(lambda q: np.sqrt(2.0 - q[0]) - 3.0)})


def test_a_rate_that_is_not_finite_is_named():
    system = System(mass=np.eye(2), states={"charge": lambda: np.nan}, trace=False)
    with pytest.raises(NotFinite, match="state 'charge'"):
        simulate(system, 0.01, q0=[1.0, 0.0], v0=[0.0, 0.0], s0=[1.0])
