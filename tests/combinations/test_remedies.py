"""What a refusal recommends is never refused in its turn, whatever the kind of system."""

import re

import numpy as np
import pytest
from catalogue import KINDS, START, model_for
from test_combinations import FORMULATIONS, INTEGRATORS

import holonomic
from holonomic import PHEM56, BadArgument, Baumgarte, IncompatibleMethods, Index1, Radau, System, simulate
from holonomic.arguments import Asked
from holonomic.formulations.base import Formulation
from holonomic.integrators.base import Integrator
from holonomic.planning.fit import check_fit


def refusal(model, formulation, integrator):
    """What is said of two methods; None: they fit."""
    try:
        choice = Asked(formulation, integrator, step=None if integrator.adaptive else 1e-3).choice(model)
        check_fit(choice, model)
    except IncompatibleMethods as problem:
        return str(problem)


def recommended(text, formulation, integrator):
    """Pairs of methods that a message recommends."""
    known = lambda base, part: [
        getattr(holonomic, name)() for name in re.findall(r"\w+", part)
        if isinstance(getattr(holonomic, name, None), type) and issubclass(getattr(holonomic, name), base)
    ]  # fmt: skip
    advice = text.partition(". ")[2]
    if "Leave formulation= out" in advice:
        yield "auto", integrator
    for part in re.split(r"; |, or ", advice):
        formulations, integrators = known(Formulation, part.partition("formulation=")[2]), known(Integrator, part)
        if re.match("with .* use", part, re.IGNORECASE) and "formulation=" not in part:
            yield from ((formulation, other) for other in integrators)
        elif re.match("Use |an explicit integrator", part) and integrators:
            yield from ((formulations[0] if formulations else "auto", other) for other in integrators)
        elif formulations:
            yield from ((other, integrator) for other in formulations)


@pytest.mark.parametrize("kind", KINDS)
def test_no_remedy_is_refused(kind):
    model = model_for(*KINDS[kind])
    told = 0
    for integrator in INTEGRATORS:
        for formulation in ["auto", *FORMULATIONS]:
            text = refusal(model, formulation, integrator)
            if text is None:
                continue
            ways = list(recommended(text, formulation, integrator))
            assert ways, f"no way out in: {text}"
            for way in ways:
                assert refusal(model, *way) is None, f"{text} -> {way}: {refusal(model, *way)}"
            told += 1
    assert told > 20


@pytest.mark.parametrize(
    ("kind", "integrator", "text"),
    [
        ("free", "RATTLE", "without constraints. Use GaussLegendre4() or ImplicitMidpoint(), which are symplectic, too."),
        ("Ode", "RATTLE", "not for an Ode. Use GaussLegendre4() or ImplicitMidpoint()"),
        ("Dae", "RATTLE", "not for a Dae. Use GaussLegendre4() or ImplicitMidpoint()."),
        ("skate", "GeneralizedAlpha", "not for a system with nonholonomic constraints. Use Radau() or BDF()."),
        ("states", "GeneralizedAlpha", "not for a system with states= or algebraic= variables. Use Radau() or BDF()."),
        ("Dae", "PHEM56", "PHEM56 is for a System or an Ode, not for a Dae."),
        ("plain Python", "Radau", "Use trace=True, or an explicit integrator such as RK45()"),
    ],
)
def test_a_system_that_an_integrator_does_not_know_is_named(kind, integrator, text):
    method = getattr(holonomic, integrator)()
    assert text in refusal(model_for(*KINDS[kind]), "auto", method)


def test_half_explicit_without_constraints_says_that_a_formulation_is_not_needed():
    text = refusal(model_for(*KINDS["free"]), holonomic.Index1(), holonomic.PHEM56())
    assert text.startswith("PHEM56 needs no Index1() here: without constraints it is a Runge-Kutta method")


def test_gauss_takes_index_3_where_there_are_no_multipliers():
    system, start = KINDS["free"]
    methods = {"formulation": holonomic.Index3(), "integrator": holonomic.GaussLegendre4()}
    sol = simulate(system, 1.0, **start, **methods, step=0.01)
    assert sol.q[-1, 0] == pytest.approx(np.cos(np.sqrt(2)), abs=1e-8)  # order 4: 0.01⁴ times a small constant


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
def test_one_invariant_and_no_constraint_add_no_equation(formulation):
    """No rows of a single one were once stacked as a zero; Overdetermined then wrote beyond its memory."""
    system, start = KINDS["top"]
    integrator = holonomic.BackwardEuler() if formulation.overdetermined else holonomic.Radau()
    step = {} if integrator.adaptive else {"step": 1e-3}
    if formulation.selector is not None:
        pytest.skip("asks for as many coordinates as velocities")
    sol = simulate(system, 0.1, **start, integrator=integrator, formulation=formulation, **step)
    exact = simulate(system, 0.1, **start, integrator=holonomic.DOP853(), rtol=1e-10)
    assert np.allclose(sol.q[-1], exact.q[-1], atol=1e-3 if step else 1e-6)  # BackwardEuler: h times a small constant


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
def test_one_coordinate_without_constraints_runs_in_every_formulation(formulation):
    integrator = holonomic.BackwardEuler() if formulation.overdetermined else holonomic.Radau()
    step = {} if integrator.adaptive else {"step": 1e-3}
    mass = System(mass=[[1.0]], potential=lambda q: 0.5 * q @ q)
    sol = simulate(mass, 1.0, q0=[1.0], v0=[0.0], integrator=integrator, formulation=formulation, **step)
    assert sol.q[-1, 0] == pytest.approx(np.cos(1.0), abs=1e-3 if step else 1e-5)


def test_a_stabilization_of_the_field_names_methods_that_have_one():
    with pytest.raises(IncompatibleMethods, match=r"Use DOP853 or Radau with formulation=Index1\(\), or stabilization=None"):
        simulate(
            KINDS["pendulum"][0], 1.0, **START, integrator=holonomic.RATTLE(), step=0.01, stabilization=holonomic.Baumgarte(alpha=5)
        )
    with pytest.raises(BadArgument, match="RK4 has no error estimate"):
        simulate(KINDS["pendulum"][0], 1.0, **START, integrator=holonomic.RK4())


def test_a_gain_too_large_is_not_told_where_its_term_cannot_act_at_all():
    """Another alpha would lead to the next refusal; what is recommended runs."""
    given = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "step": 0.01, "stabilization": Baumgarte(alpha=200.0)}
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    with pytest.raises(IncompatibleMethods) as said:
        simulate(pendulum, 0.1, **given, integrator=PHEM56())
    assert str(said.value) == (
        "Baumgarte(alpha=200.0) changes the field, which Index2() does not use. Use Radau with formulation=Index1(), or "
        "stabilization=None."
    )
    assert simulate(pendulum, 0.1, **given, integrator=Radau(), formulation=Index1()).ended == "end"
    assert simulate(pendulum, 0.1, **given | {"stabilization": None}, integrator=PHEM56()).ended == "end"
