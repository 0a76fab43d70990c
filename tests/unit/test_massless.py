"""Coordinates without mass that constraints hold: the same motion as without them, in every method, by name if asked for.

A bar swings on a pin. At its end hangs a point without mass, on which all forces act: gravity, drag and a spring. Without
the point it is one equation for the angle, with which everything is compared.
"""

import functools
import warnings

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    PHEM56,
    RATTLE,
    RK4,
    BackwardEuler,
    Baumgarte,
    Event,
    GaussLegendre4,
    GeneralizedAlpha,
    IncompatibleMethods,
    Index1,
    Index2,
    Index3,
    Ode,
    Overdetermined,
    PostStabilization,
    ProjectedInvariants,
    Projection,
    Radau,
    SingularMass,
    StateSpace,
    StepFailed,
    StrangenessFree,
    System,
    Trapezoidal,
    UnderlyingODE,
    essential_ode,
    simulate,
    sweep,
)
from holonomic.planning.reuse import model_of
from holonomic.starting.rank import terms

M, J, L = 2.0, 0.4, 1.3  # of the bar, whose centre is in its middle
PLACES = ["x", "y", "angle", "X", "Y"]
START = {"q0": [L / 2, 0, 0, L, 0], "v0": np.zeros(5)}


def pins(q):
    x, y, a, X, Y = q
    half = L / 2 * np.array([np.cos(a), np.sin(a)])
    return np.concatenate([np.array([x, y]) - half, np.array([X, Y]) - np.array([x, y]) - half])


def on_the_point(X, Y, vx, vy):
    return np.array([-3.0 * X - 0.4 * vx, -9.81 - 0.4 * vy])


def force(q, v):
    push = on_the_point(q[3], q[4], v[3], v[4])
    return np.array([0.0, 0.0, 0.0, push[0], push[1]])


def bar(kind="structure", **more):
    """The bar with its point: without mass as a number, as a parameter, or as a sum that no single entry shows."""
    if kind == "structure":
        return System(np.diag([M, M, J, 0, 0]), force, pins, coordinates=PLACES, **more)
    if kind == "parameter":
        mass = lambda p: np.diag(np.array([M, M, J, p.end, p.end]))
        return System(mass, force, pins, coordinates=PLACES, params={"end": 0.0}, **more)
    A = np.diag([M, M, J, 0, 0])
    for one, other in ((0, 3), (1, 4)):  # the kinetic energy of 3 x - X, of which the pins make x
        A[np.ix_([one, other], [one, other])] = M * np.array([[9.0, -3.0], [-3.0, 1.0]])
    return System(A, force, pins, coordinates=PLACES, **more)


@functools.cache
def angle(t_end, push=on_the_point):
    """The angle and its speed by the one equation that is left."""

    def rhs(y):
        c, s = np.cos(y[0]), np.sin(y[0])
        f = push(L * c, L * s, -L * s * y[1], L * c * y[1])
        return np.array([y[1], L * (c * f[1] - s * f[0]) / (J + M * L**2 / 4)])

    return simulate(Ode(rhs), t_end, y0=[0.0, 0.0], rtol=1e-12, atol=1e-13, integrator=DOP853()).y[-1]


METHODS = {
    "left open": {},
    "DOP853": dict(integrator=DOP853()),
    "RK4": dict(integrator=RK4(), step=1e-3),
    "PHEM56": dict(integrator=PHEM56()),
    "Baumgarte": dict(integrator=DOP853(), stabilization=Baumgarte(alpha=10)),
    "post-stabilization": dict(integrator=DOP853(), stabilization=PostStabilization()),
    "projection along M": dict(integrator=DOP853(), stabilization=Projection(metric="mass")),
    "Radau": dict(integrator=Radau()),
    "Radau GGL": dict(integrator=Radau(), formulation=GGL()),
    "Radau Index2": dict(integrator=Radau(), formulation=Index2()),
    "Radau ProjectedInvariants": dict(integrator=Radau(), formulation=ProjectedInvariants()),
    "Radau ProjectedInvariants along M": dict(integrator=Radau(), formulation=ProjectedInvariants(D="mass")),
    "Radau StrangenessFree": dict(integrator=Radau(), formulation=StrangenessFree()),
    "Radau StateSpace": dict(integrator=Radau(), formulation=StateSpace()),
    "Radau UnderlyingODE": dict(integrator=Radau(), formulation=UnderlyingODE(), stabilization=Projection()),
    "BDF": dict(integrator=BDF()),
    "BDF Index3": dict(integrator=BDF(), formulation=Index3()),
    "Gauss": dict(integrator=GaussLegendre4(), step=2e-3),
    "trapezoidal rule": dict(integrator=Trapezoidal(), step=2e-3),
    "generalized alpha": dict(integrator=GeneralizedAlpha(), step=1e-3),
    "BackwardEuler Overdetermined": dict(integrator=BackwardEuler(), formulation=Overdetermined(), step=1e-3),
}
ORDER = {"BackwardEuler Overdetermined": 2e-2, "trapezoidal rule": 3e-5, "generalized alpha": 3e-5}  # of fixed steps


@pytest.mark.parametrize("method", METHODS)
def test_a_point_without_mass_moves_as_if_it_were_eliminated(method):
    given = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = simulate(bar(), 0.5, **START, **({} if "step" in given else {"rtol": 1e-7, "atol": 1e-10}), **given)
    wanted, allowed = angle(0.5), ORDER.get(method, 2e-6)
    assert sol.q[-1, 2] == pytest.approx(wanted[0], abs=allowed)
    assert sol.v[-1, 2] == pytest.approx(wanted[1], abs=10 * allowed)
    assert sol.q[-1, 3:] == pytest.approx(L * np.array([np.cos(wanted[0]), np.sin(wanted[0])]), abs=2 * allowed)
    # the pin at the point carries what acts on it: λ is exact whatever the weights of the rows are
    push = np.array([force(q, v)[3:] for q, v in zip(sol.q, sol.v, strict=True)])
    assert sol.lam[0, 2:] == pytest.approx(push[0], abs=1e-9)
    assert sol.lam[-1, 2:] == pytest.approx(push[-1], abs=1e3 * allowed)
    if "integrator" in given:
        assert type(sol.plan.choice.integrator) is type(given["integrator"]) and not sol.trail.parts


@pytest.mark.parametrize("kind", ["parameter", "sum"])
@pytest.mark.parametrize("method", ["left open", "projection along M", "Radau", "Radau ProjectedInvariants", "BDF", "Gauss"])
def test_a_mass_matrix_that_only_numbers_show_to_be_singular_is_no_singular_position(kind, method):
    given = METHODS[method]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = simulate(bar(kind), 0.5, **START, **({} if "step" in given else {"rtol": 1e-7, "atol": 1e-10}), **given)
    assert sol.q[-1, 2] == pytest.approx(angle(0.5)[0], abs=2e-6)
    assert "singular position" not in str(sol) and not sol.trail.parts
    if "integrator" in given:
        assert type(sol.plan.choice.integrator) is type(given["integrator"])


def test_without_tracing_the_same():
    for given in ({}, {"stabilization": Projection(metric="mass")}):
        sol = simulate(bar(trace=False), 0.3, **START, **given)
        assert sol.q[-1, 2] == pytest.approx(angle(0.3)[0], abs=1e-5)


def test_the_limit_of_small_masses_is_reached():
    """Runs with masses 1e-3 and 1e-4 at the point, extrapolated to none."""
    of = lambda end: simulate(bar("parameter").with_params(end=end), 0.5, **START, rtol=1e-10, atol=1e-12).q[-1, 2]
    first, second = of(1e-3), of(1e-4)
    assert (10 * second - first) / 9 == pytest.approx(of(0.0), abs=1e-6)  # what is left is a tenth of the square
    assert abs(first - of(0.0)) > 1e-4


def test_a_sweep_runs_through_no_mass():
    runs = sweep(bar("parameter"), 0.5, **START, params={"end": [0.0, 1e-2, 0.0]}, save_at=2, rtol=1e-8, atol=1e-11)
    assert not len(runs.failed)
    assert runs.q[[0, 2], -1, 2] == pytest.approx(angle(0.5)[0], abs=1e-6)
    one = simulate(bar("parameter").with_params(end=1e-2), 0.5, **START, rtol=1e-8, atol=1e-11)
    assert runs.q[1, -1, 2] == pytest.approx(one.q[-1, 2], abs=1e-6)


@pytest.mark.parametrize("ends", [[0.0, 0.0], [1e-2, 0.0]])
def test_implicit_methods_sweep_the_same(ends):
    runs = sweep(bar("parameter"), 0.5, **START, params={"end": ends}, save_at=2, rtol=1e-7, integrator=Radau())
    assert not len(runs.failed)
    assert runs.q[-1, -1, 2] == pytest.approx(angle(0.5)[0], abs=2e-6)
    one = simulate(bar("parameter").with_params(end=ends[0]), 0.5, **START, rtol=1e-9, atol=1e-12)
    assert runs.q[0, -1, 2] == pytest.approx(one.q[-1, 2], abs=2e-6)


@pytest.mark.parametrize("method", ["left open", "Radau GGL", "Radau ProjectedInvariants", "BDF Index3"])
def test_a_mass_that_vanishes_on_the_way_is_no_singular_position(method):
    """M is regular at the start and singular at t = 0.25 s: no other method takes the place of one that was named."""
    end = lambda t: 0.3 * (t - 0.25) ** 2
    system = System(lambda t: np.diag(np.array([M, M, J, end(t), end(t)])), force, pins)

    def rhs(t, y):
        c, s = np.cos(y[0]), np.sin(y[0])
        f = on_the_point(L * c, L * s, -L * s * y[1], L * c * y[1])
        return np.array([y[1], L * (c * f[1] - s * f[0]) / (J + (M / 4 + end(t)) * L**2)])

    wanted = simulate(Ode(rhs), 0.5, y0=[0.0, 0.0], rtol=1e-11, atol=1e-13, integrator=DOP853()).y[-1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = simulate(system, 0.5, **START, rtol=1e-7, atol=1e-10, **METHODS[method])
    assert sol.q[-1, 2] == pytest.approx(wanted, abs=1e-5) and not sol.trail.parts


def test_where_a_method_stops_at_a_mass_that_vanishes_the_mass_is_named_and_the_remedy_runs():
    """A point that is held to a bob has the mass (t - 0.5)²."""
    mass = lambda t: (t - 0.5) ** 2
    system = System(
        lambda t: np.diag(np.array([1.0, 1.0, mass(t), mass(t)])), lambda t: np.array([0, -9.81, 0, -9.81 * mass(t)]),
        {"rod": lambda q: q[:2] @ q[:2] - 1, "held": lambda q: q[2:] - 2 * q[:2]}, coordinates=["x", "y", "px", "py"],
    )  # fmt: skip
    start = {"q0": [1, 0, 2, 0], "v0": [0, 0, 0, 0], "integrator": Radau()}
    with pytest.raises(StepFailed) as said:
        simulate(system, 1.0, **start, formulation=Index1())
    text = str(said.value)
    assert text.startswith("Newton's iteration did not converge in a step of ") and "from t = 0.5. There the mass of 'px'" in text
    assert text.endswith("0.25 at the start). Index1() does not pass that here: use formulation=GGL(). See error.solution.")
    through = simulate(system, 1.0, **start, formulation=GGL())
    np.testing.assert_allclose(through.end.q, simulate(system, 1.0, **start | {"integrator": DOP853()}).end.q, atol=1e-5)


def test_impulses_go_through_a_point_without_mass():
    """At a stop the point is caught: the impulse on it is what the bar gives, and half of the speed is sent back."""
    back = Event(lambda q: q[2] + 0.3, direction="falling", then=lambda q, v: (q, np.array([0, 0, 0, 0, -0.5 * v[4]])))
    with pytest.raises(StepFailed, match="'stop' becomes a lasting contact") as caught:
        simulate(bar(), 1.0, **START, rtol=1e-9, atol=1e-12, events={"stop": back})
    sol = caught.value.solution
    before = sol(sol.events["stop"].t[0] - 1e-9)
    # in the mass metric a point without mass has no share: its own speed after the impact is forgotten, the bar's (none) stays,
    # so that it rests at the stop
    assert np.abs(sol.v[-1]).max() < 1e-6 < abs(before.v[4])


def test_energy_is_that_of_the_bar():
    system = System(np.diag([M, M, J, 0, 0]), None, pins, potential=lambda q: 9.81 * 3.0 * q[4])
    sol = simulate(system, 1.0, **START, rtol=1e-9, atol=1e-12)
    total = sol.energy.total
    assert np.abs(total - total[0]).max() < 1e-7 * np.abs(sol.energy.kinetic).max()


def test_a_method_that_divides_by_the_mass_matrix_says_so():
    system = System(np.diag([M, M, J, 0, 0]), None, pins, potential=lambda q: q[4], coordinates=PLACES)
    with pytest.raises(IncompatibleMethods) as caught:
        simulate(system, 1.0, **START, integrator=RATTLE(), step=1e-3)
    assert str(caught.value) == (
        "RATTLE divides by the mass matrix, but X has no mass (the constraints hold it). Use GeneralizedAlpha() or Radau()."
    )


def test_the_essential_ode_of_a_point_without_mass_is_that_of_the_bar():
    linear = lambda q: np.array([0.0, 0.0, 0.0, -3.0 * q[3], -9.81])
    of = lambda mass: essential_ode(simulate(System(mass, linear, pins), 0.2, **START))
    found, light = of(np.diag([M, M, J, 0, 0])), of(np.diag([M, M, J, 1e-9, 1e-9]))
    assert found.frozen == pytest.approx(light.frozen, rel=1e-3)


def test_friction_may_follow_the_load_of_a_point_without_mass():
    rough = lambda q, v, lam: force(q, v) - 0.05 * np.sqrt(lam[2:] @ lam[2:]) * np.array([0, 0, 1.0, 0, 0]) * v[2]
    sol = simulate(System(np.diag([M, M, J, 0, 0]), rough, pins), 0.5, **START, rtol=1e-8, atol=1e-11)

    def push(y):
        c, s = np.cos(y[0]), np.sin(y[0])
        f = on_the_point(L * c, L * s, -L * s * y[1], L * c * y[1])
        rub = 0.05 * np.sqrt(f @ f) * y[1]
        return np.array([y[1], (L * (c * f[1] - s * f[0]) - rub) / (J + M * L**2 / 4)])

    wanted = simulate(Ode(push), 0.5, y0=[0.0, 0.0], rtol=1e-11, atol=1e-13).y[-1, 0]
    assert sol.q[-1, 2] == pytest.approx(wanted, abs=1e-6)


def test_a_free_motion_without_mass_is_named_with_what_to_do():
    loose = lambda q: pins(q)[:3]  # Y of the point is not held
    with pytest.raises(SingularMass) as caught:
        simulate(System(np.diag([M, M, J, 0, 0]), force, loose, coordinates=PLACES), 1.0, **START)
    assert str(caught.value) == (
        "at t = 0 the mass matrix is singular on the tangent space: Y can move and has no mass. Give it mass, or a "
        "constraint that fixes it."
    )


@functools.cache
def chain(count=33):
    """A chain of rods, each pinned to the last, and a point without mass at its end that is pulled; and its start."""

    def held(q):
        rows, before = [], np.zeros(2)
        for k in range(count):
            x, y, a = q[3 * k : 3 * k + 3]
            half = 0.5 * np.array([np.cos(a), np.sin(a)])
            rows.append(np.array([x, y]) - half - before)
            before = np.array([x, y]) + half
        return np.concatenate([*rows, q[3 * count :] - before])

    def pulled(v):
        return np.array([0.0] * 3 * count + [5.0 - 0.1 * v[-2], -9.81])

    angles = -0.2 - 0.01 * np.arange(count)
    ends = np.cumsum([[np.cos(a), np.sin(a)] for a in angles], axis=0)
    centres = ends - 0.5 * np.array([[np.cos(a), np.sin(a)] for a in angles])
    q0 = np.concatenate([np.column_stack([centres, angles]).ravel(), ends[-1]])
    mass = np.diag([1.0, 1.0, 1.0 / 12.0] * count + [0.0, 0.0])
    return System(mass, pulled, held), q0


def test_a_long_chain_with_a_point_without_mass_is_solved_to_rounding():
    system, q0 = chain()
    sol = simulate(system, 0.05, q0=q0, v0=np.zeros(len(q0)))
    model = model_of(system, sol.q[0], sol.v[0], 0.0)
    M_, _, G, _ = terms(model, sol.t[-1], sol.q[-1], sol.v[-1], model.data())
    K = np.block([[M_, G.T], [G, np.zeros((len(G), len(G)))]])
    found = np.concatenate([sol.a[-1], sol.lam[-1]])
    f = np.array([0.0] * 99 + [5.0 - 0.1 * sol.v[-1, -2], -9.81])
    left = K[: len(M_)] @ found - f
    assert np.abs(left).max() < 1e-9 * np.abs(sol.lam[-1]).max()
    assert np.abs(sol.drift["position"]).max() < 1e-10


REDUNDANT = {  # rows that say again what the pins say: of the point alone, of the bar alone, of both
    "point": {"again": lambda q: q[3] - L * np.cos(q[2]), "round": lambda q: q[3] ** 2 + q[4] ** 2 - L**2},
    "bar": {"again": lambda q: q[0] ** 2 + q[1] ** 2 - L**2 / 4},
    "both": {"again": lambda q: pins(q)},
}
WAYS = [{}, {"integrator": Radau()}, {"integrator": Radau(), "formulation": GGL()}, {"integrator": PHEM56()}]


@pytest.mark.parametrize("rows", REDUNDANT)
@pytest.mark.parametrize("redundant", ["minimum-norm", "drop"])
def test_redundant_rows_on_a_point_without_mass_change_neither_motion_nor_balance(rows, redundant):
    """M v' = f + reactions holds in the rows without mass, too: all of the force goes into the rows."""
    M_ = np.diag([M, M, J, 0, 0])
    system = System(M_, force, {"pins": pins} | REDUNDANT[rows], coordinates=PLACES)
    alone = simulate(bar(), 1.0, **START, rtol=1e-7)
    for how in WAYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sol = simulate(system, 1.0, **START, rtol=1e-7, redundant=redundant, **how)
        assert sol.end.q == pytest.approx(alone.end.q, abs=1e-6)  # ten times rtol, of lengths of 1 m
        left = sol.a @ M_ - np.array([force(q, v) for q, v in zip(sol.q, sol.v, strict=True)]) - sol.reactions
        assert np.abs(left).max() < 1e-11  # rounding of forces of 10 N


def test_redundant_rows_on_a_point_without_mass_in_space():
    """A mass of 2 kg on a rod; a point without mass twice as far out, on which all forces act, held twice over."""
    push = lambda x, v: np.array([-3.0 * x[0] - 0.4 * v[0], 0.5 * x[0] - 0.4 * v[1], -9.81 - 0.4 * v[2]])
    q, v = np.array([0.6, 0.0, -0.8]), np.array([0.0, 1.0, 0.0])
    alone = System(2 * np.eye(3), lambda q, v: 2 * push(2 * q, 2 * v), lambda q: q @ q - 1)
    rows = {
        "rod": lambda q: q[:3] @ q[:3] - 1, "point": lambda q: q[3:] - 2 * q[:3], "round": lambda q: q[3:] @ q[3:] - 4,
        "again": lambda q: q[3:] - 2 * q[:3], "both": lambda q: q[3:] @ q[:3] - 2,
    }  # fmt: skip
    held = System(np.diag([2.0] * 3 + [0.0] * 3), lambda q, v: np.concatenate([np.zeros(3), push(q[3:], v[3:])]), rows)
    wanted = simulate(alone, 1.0, q0=q, v0=v, rtol=1e-7).end.q
    for how in WAYS[:2]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sol = simulate(held, 1.0, q0=[*q, *2 * q], v0=[*v, *2 * v], rtol=1e-7, redundant="minimum-norm", **how)
        assert sol.end.q[:3] == pytest.approx(wanted, abs=1e-6)  # ten times rtol
