"""Every combination the class attributes allow runs; every one they forbid names a way out that works."""

import importlib
import itertools
import pkgutil
import re

import numpy as np
import pytest

import holonomic
from holonomic import (
    RK4,
    BadArgument,
    Baumgarte,
    IncompatibleMethods,
    Index1,
    Ode,
    PostStabilization,
    Projection,
    S_both,
    S_both2,
    S_full,
    S_pos,
    S_vel,
    System,
    problems,
    simulate,
)
from holonomic.formulations.base import Formulation
from holonomic.integrators.base import Integrator
from holonomic.stabilizations.base import Stabilization, Unstabilized

# what a class needs to be made; all others are made without arguments
ARGUMENTS = {
    "Baumgarte": {"alpha": 5.0},
    "InvariantStabilization": {"gain": 5.0},
    "ForwardEulerStabilization": {"alpha": 0.5},
    "BackwardEulerStabilization": {"alpha": 1.0},
}
STEP = 0.005


def every(base):
    """One object of each class below `base`, families and hidden ones left out."""
    folder = importlib.import_module(base.__module__.rpartition(".")[0])
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    waiting, found = [base], []
    while waiting:
        waiting += (kind := waiting.pop()).__subclasses__()
        family = base is Integrator and kind.order is None
        ours = kind.__module__.startswith(folder.__name__)
        if kind is not base and ours and not family and not kind.__name__.startswith("_"):
            found.append(kind(**ARGUMENTS.get(kind.__name__, {})))
    return sorted(found, key=lambda thing: type(thing).__name__)


FORMULATIONS, INTEGRATORS = every(Formulation), every(Integrator)
# the named members of PostStabilization act differently: each counts
STABILIZATIONS = [*every(Stabilization), S_vel(), S_pos(), S_both(), S_full()]
STABILIZATIONS.append(PostStabilization(metric="mass"))
EXPLICIT = [integrator for integrator in INTEGRATORS if integrator.takes == "ode"]


def fits(formulation, integrator):
    return integrator.takes in formulation.gives


PAIRS = list(itertools.product(FORMULATIONS, INTEGRATORS))


def test_the_walk_finds_what_the_package_exports():
    found = {type(thing) for thing in (*FORMULATIONS, *INTEGRATORS, *STABILIZATIONS)}
    kinds = (Formulation, Integrator, Stabilization)
    exported = [getattr(holonomic, name) for name in holonomic.__all__]
    missing = [thing for thing in exported if isinstance(thing, type) and issubclass(thing, kinds)]
    assert {thing for thing in missing if thing not in found} == set()
    assert {Index1, RK4, Baumgarte, Projection, PostStabilization, Unstabilized} <= found


# those that move the start of a step as its end take symmetric integrators, of which none is explicit; `test_pairs.py` has them
BEHIND = [stabilization for stabilization in STABILIZATIONS if not stabilization.at_both_ends]


@pytest.mark.parametrize("stabilization", BEHIND, ids=repr)
@pytest.mark.parametrize("integrator", EXPLICIT, ids=repr)
def test_every_explicit_integrator_runs_with_every_stabilization(integrator, stabilization):
    problem = problems.pendulum_a01(t_end=0.2)
    sol = simulate(problem, integrator=integrator, stabilization=stabilization, step=STEP)
    assert sol.t[-1] == 0.2
    # Euler's error with this step is 1e-2
    assert sol.q[-1] == pytest.approx(problem.exact(0.2)[0], abs=2e-2)
    assert sol.plan.choice.integrator is integrator and sol.plan.choice.stabilization is stabilization


@pytest.mark.parametrize("stabilization", BEHIND, ids=repr)
@pytest.mark.parametrize("integrator", [i for i in EXPLICIT if i.adaptive], ids=repr)
def test_every_integrator_with_an_estimate_chooses_its_steps(integrator, stabilization):
    problem = problems.pendulum_a01(t_end=0.5)
    sol = simulate(problem, integrator=integrator, stabilization=stabilization, rtol=1e-7)
    assert sol.q[-1] == pytest.approx(problem.exact(0.5)[0], abs=1e-5)


# the slots are those of the test on a System, where all pairs run: here each of them once
ON_AN_ODE = [*((RK4(), stabilization) for stabilization in BEHIND),
             *((integrator, Projection()) for integrator in EXPLICIT if integrator != RK4())]  # fmt: skip


@pytest.mark.parametrize(("integrator", "stabilization"), ON_AN_ODE, ids=repr)
def test_on_an_ode_every_method_runs_or_says_what_does(integrator, stabilization):
    problem = problems.kepler(c=0.8, t_end=0.2)
    run = {"integrator": integrator, "step": STEP}
    keeps_invariants = stabilization.acts != "step" or "position" in stabilization.levels
    if keeps_invariants and getattr(stabilization, "metric", None) != "mass":
        sol = simulate(problem, **run, stabilization=stabilization)
        assert sol.y[-1] == pytest.approx(problem.exact(0.2), abs=2e-2)
        return
    with pytest.raises(IncompatibleMethods) as refusal:
        simulate(problem, **run, stabilization=stabilization)
    for way_out in ways_out(str(refusal.value), problem.system):
        simulate(problem, **run, stabilization=way_out)


def ways_out(message, system):
    """The stabilizations a message offers, made as it writes them."""
    offered = re.findall(r"(S_both2|Projection)\(\)", message)
    if "metric=None" in message:
        return [PostStabilization(metric=None)]
    assert offered, f"no way out in: {message}"
    return [getattr(holonomic, name)() for name in offered]


def another_formulation(message, refused):
    """The first formulation a message offers instead of the refused one."""
    named = [getattr(holonomic, name, None) for name in re.findall(r"(\w+)\(\)", message)]
    offered = [kind for kind in named if isinstance(kind, type) and issubclass(kind, Formulation)]
    offered = [kind for kind in offered if kind is not type(refused)]
    assert offered, f"no way out in: {message}"
    return offered[0]()


def of_each(pairs):
    """The first pair of every formulation, and of every integrator; all of them are in allowed.csv."""
    first = {}
    for pair in pairs:
        for thing in pair:
            first.setdefault(repr(thing), pair)
    return list(dict.fromkeys(first.values()))


@pytest.mark.parametrize(
    ("formulation", "integrator"), of_each([pair for pair in PAIRS if not fits(*pair)]), ids=lambda thing: repr(thing)
)
def test_a_formulation_that_does_not_fit_is_refused_with_one_that_does(formulation, integrator):
    problem = problems.pendulum_a01(t_end=0.1)
    with pytest.raises(IncompatibleMethods) as refusal:
        simulate(problem, formulation=formulation, integrator=integrator, step=STEP)
    message = str(refusal.value)
    assert type(integrator).__name__ in message and type(formulation).__name__ in message
    way_out = another_formulation(message, formulation)
    sol = simulate(problem, formulation=way_out, integrator=integrator, stabilization=None, step=STEP)
    assert sol.t[-1] == 0.1


@pytest.mark.parametrize("integrator", [i for i in EXPLICIT if not i.adaptive], ids=repr)
def test_an_integrator_without_estimate_asks_for_a_step_or_names_one_that_has_it(integrator):
    problem = problems.pendulum_a01(t_end=0.1)
    with pytest.raises(BadArgument, match="no error estimate: give step=") as refusal:
        simulate(problem, integrator=integrator)
    offered = re.findall(r"use (\w+) or (\w+)", str(refusal.value))[0]
    for name in offered:
        simulate(problem, integrator=getattr(holonomic, name)())


@pytest.mark.parametrize("integrator", EXPLICIT, ids=repr)
def test_baumgarte_that_is_too_strong_for_the_step_is_refused_with_a_gain_that_is_not(integrator):
    problem = problems.pendulum_a01(t_end=0.1)
    with pytest.raises(IncompatibleMethods, match=r"α h = 1\.5 > 1") as refusal:
        simulate(problem, integrator=integrator, stabilization=Baumgarte(alpha=300.0), step=STEP)
    alpha = float(re.search(r"alpha <= (\d+)", str(refusal.value))[1])
    simulate(problem, integrator=integrator, stabilization=Baumgarte(alpha=alpha), step=STEP)


FREE_FALL = System(mass=np.eye(2), force=[0, -9.81])
DECAY = Ode(lambda y: -y)


@pytest.mark.parametrize("stabilization", [s for s in STABILIZATIONS if s.acts != "none"], ids=repr)
@pytest.mark.parametrize(
    ("system", "start"), [(FREE_FALL, {"q0": [0, 0], "v0": [1, 2]}), (DECAY, {"y0": [1, 2]})], ids=["System", "Ode"]
)
def test_a_stabilization_with_nothing_to_keep_is_refused(system, start, stabilization):
    with pytest.raises(IncompatibleMethods, match="Pass stabilization=None"):
        simulate(system, 1.0, **start, stabilization=stabilization)
    assert simulate(system, 1.0, **start, stabilization=None).t[-1] == 1.0
    assert simulate(system, 1.0, **start).t[-1] == 1.0


BLADE = {"blade": lambda q, v: np.sin(q[2]) * v[0] - np.cos(q[2]) * v[1]}
SKATE = System(mass=np.diag([1.0, 1.0, 0.3]), force=[0.8, 0, 0], nonholonomic=BLADE)
SKATING = {"q0": [0, 0, 0], "v0": [0.5, 0, 1.5]}


def test_a_system_with_velocity_constraints_alone_cannot_be_corrected_in_position_alone():
    with pytest.raises(IncompatibleMethods, match="position level alone") as refusal:
        simulate(SKATE, 1.0, **SKATING, stabilization=S_pos())
    for way_out in ways_out(str(refusal.value), SKATE):
        simulate(SKATE, 1.0, **SKATING, stabilization=way_out)


@pytest.mark.parametrize("stabilization", [S_vel(), S_both(), S_both2(), S_full(), Projection()], ids=repr)
def test_a_system_with_velocity_constraints_alone_runs_with_what_corrects_velocities(stabilization):
    sol = simulate(SKATE, 1.0, **SKATING, stabilization=stabilization, rtol=1e-8)
    across = np.sin(sol.q[:, 2]) * sol.v[:, 0] - np.cos(sol.q[:, 2]) * sol.v[:, 1]
    assert np.max(np.abs(across)) <= 1e-14  # corrected by a linear solve


SPIN = System(mass=np.eye(1), kinematics=lambda q: np.array([[-q[1]], [q[0]]]), invariants={"norm": lambda q: q @ q}, force=[0.3])


@pytest.mark.parametrize("make", [PostStabilization, Projection])
def test_the_mass_metric_is_refused_where_masses_do_not_measure_positions(make):
    with pytest.raises(IncompatibleMethods, match="metric=None, or weights"):
        simulate(SPIN, 1.0, q0=[1, 0], v0=[1], stabilization=make(metric="mass"))
    sol = simulate(SPIN, 1.0, q0=[1, 0], v0=[1], stabilization=make(metric=(1.0, 2.0, 1.0)))
    assert np.linalg.norm(sol.q, axis=1) == pytest.approx(np.ones(len(sol.t)), abs=1e-9)


@pytest.mark.parametrize("make", [PostStabilization, Projection])
@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("masses", 'choose None, "mass" or weights'),
        ((1.0, 1.0), "metric has 2 weights; q and v have 4 entries"),
        ((1.0, 1.0, 0.0, 1.0), "weights must be positive"),
    ],
)
def test_a_metric_that_cannot_be_meant_is_refused(make, metric, text):
    problem = problems.pendulum_a01(t_end=0.1)
    with pytest.raises(BadArgument, match=text):
        simulate(problem, stabilization=make(metric=metric), integrator=RK4(), step=0.01)


@pytest.mark.parametrize(
    ("role", "given"),
    [("integrator", "RK4"), ("integrator", Projection()), ("stabilization", RK4), ("formulation", RK4()), ("stabilization", 3)],
    ids=repr,
)
def test_what_is_no_method_is_refused_with_an_example(role, given):
    with pytest.raises(BadArgument, match=rf"for example {role}=\w+\(\)"):
        simulate(problems.pendulum_a01(t_end=0.1), step=0.01, **{role: given})


@pytest.mark.parametrize("integrator", [type(i) for i in EXPLICIT], ids=lambda kind: kind.__name__)
def test_a_class_without_brackets_is_the_same_as_its_object(integrator):
    problem = problems.pendulum_a01(t_end=0.1)
    one = simulate(problem, integrator=integrator, stabilization=Projection, step=0.01)
    two = simulate(problem, integrator=integrator(), stabilization=Projection(), step=0.01)
    assert np.array_equal(one.q, two.q) and one.plan is two.plan
