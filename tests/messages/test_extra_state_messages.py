"""Messages about states and algebraic variables."""

import numpy as np
import pytest

from holonomic import GeneralizedAlpha, Index3, Ode, System, simulate
from holonomic.errors import BadArgument, IncompatibleMethods, InconsistentState, NotFinite, SingularPosition, WrongShape

MACHINE = System(np.eye(2), constraint=lambda q: q @ q - 1, states={"current": lambda current: -current})
START = {"q0": [0, -1], "v0": [0, 0], "s0": {"current": 0.0}}


def said(error, *given, **named) -> str:
    with pytest.raises(error) as caught:
        named.setdefault("q0", [0.0]), named.setdefault("v0", [1.0])
        system = System(np.eye(1), **named.pop("system")) if "system" in named else given[0]
        simulate(system, 1.0, **named)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"s0": None}, "simulate needs s0, the initial values of its states: s0={'current': ...}."),
        ({"s0": {"i": 1}}, "s0 has 'i', which is no state; known: current."),
        ({"s0": {}}, "s0 has no value for 'current'."),
        ({"s0": [np.nan]}, "s0[0] is not finite: [nan]."),
        ({"s0": [0], "w0": [0]}, "w0= is given, but the system has no algebraic variables. State them as algebraic=."),
    ],
)
def test_what_a_start_lacks_is_said(given, text):
    assert said(BadArgument, MACHINE, **(START | given)) == text


def test_several_states_need_a_number_each():
    system = System(np.eye(1), states={"a1": lambda t: 1.0, "b1": lambda t: 1.0})
    assert "s0 has 3 entries for the states a1, b1." in said(BadArgument, system, s0=[1, 2, 3])
    system = System(np.eye(1), states={"a1": lambda t: [1.0, 2.0]})
    assert said(WrongShape, system, s0=[0]) == "state 'a1' returned 2 numbers; it must return one."


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"states": {"q": lambda t: 1.0}}, "states= has the name 'q', which functions use for something else."),
        ({"states": {"z": lambda x: 1.0}}, "state 'z' asks for 'x'; it can have t, q, v, p, u, s, z, a, lam"),
        ({"states": {"z": 1.0}, "algebraic": {"z": 1.0}}, "'z' names a state and an algebraic variable; each needs its"),
    ],
)
def test_names_that_cannot_be_meant(given, text):
    with pytest.raises(BadArgument) as caught:
        System(np.eye(1), **given)
    assert text in str(caught.value)


def test_equations_that_do_not_determine_their_variables_are_refused():
    assert said(BadArgument, system={"algebraic": {"z": lambda q: q[0]}}, w0=[0]) == (
        "the algebraic equations do not determine 'z': nothing in algebraic= depends on 'z'."
    )
    double = {"algebraic": {"z": lambda z, q: (z - 0.3) ** 2 - 0 * q[0]}}
    assert "∂k/∂w is singular" in said(SingularPosition, system=double, w0=[0.3])
    nowhere = {"algebraic": {"z": lambda z: z**2 + 1}}
    assert "cannot be solved from w0 at t = 0: Newton's method leaves 'z' at 1.0e+00" in said(
        InconsistentState, system=nowhere, w0=[0.3]
    )
    assert "is nan at the start" in said(NotFinite, system={"algebraic": {"z": lambda z: np.log(z - 1)}}, w0=[0.3])


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        {"states": {"z": lambda v: v[0]}, "s0": [0]},
        {"states": {"z": lambda lam: lam[0]}, "s0": [0]},
        {"algebraic": {"z": lambda z, v: z - v[0]}, "w0": [0]},
    ],
)
def test_constraints_of_what_changes_with_the_motion_are_refused(given, trace):
    start = {name: given[name] for name in ("s0", "w0") if name in given}
    kinds = {name: given[name] for name in ("states", "algebraic") if name in given}
    text = said(BadArgument, system={"constraint": {"c": lambda q, z: q[0] - z}, "trace": trace, **kinds}, **start)
    assert text.startswith("constraint 'c' uses") and "no longer act along the constraint" in text


def test_methods_for_q_and_v_alone_refuse_states():
    with pytest.raises(IncompatibleMethods, match=r"states= or algebraic= variables\. Use Radau\(\) or BDF\(\)"):
        simulate(MACHINE, 1.0, integrator=GeneralizedAlpha(), formulation=Index3(), step=0.01, **START)


def test_an_ode_has_no_s0():
    with pytest.raises(BadArgument, match="has no states"):
        simulate(Ode(lambda y: -y), 1.0, y0=[1.0], s0=[1.0])
