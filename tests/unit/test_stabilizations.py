"""The stabilizations: what they say of themselves, and what they refuse."""

import numpy as np
import pytest

from holonomic import (
    RK4,
    AdamsBashforth2,
    BackwardEulerStabilization,
    BadArgument,
    Baumgarte,
    Euler,
    ForwardEulerStabilization,
    IncompatibleMethods,
    InvariantStabilization,
    Midpoint,
    Ode,
    PostStabilization,
    Projection,
    System,
    simulate,
)
from holonomic.cli.methods import classes, describe
from holonomic.testing import promised

PENDULUM = System(mass=np.diag([1.0, 2.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
CUBIC = Ode(lambda t, y: 3 * t**2 + 0 * y, invariants={"h": lambda t, y: y[0] - t**3})


def test_methods_list_shows_what_each_does():
    known = {name: describe("stabilization", method) for name, method in classes("stabilization").items()}
    for name, acts in (
        ("InvariantStabilization", "field"), ("ForwardEulerStabilization", "step"),
        ("BackwardEulerStabilization", "step"), ("PostStabilization", "step"), ("Baumgarte", "field"),
    ):  # fmt: skip
        assert known[name]["acts"] == acts
        assert len(promised(known[name]["drift_order"], 2)) == 2
        assert "ascher-chin-reich-1992" in known[name]["references"]
    assert not [name for name in known if name.startswith("_")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InvariantStabilization(), "needs gain="),
        (lambda: InvariantStabilization(gain=1, gamma=1), "the same thing"),
        (lambda: InvariantStabilization(gain=1, F="1.15"), "F='1.15': choose"),
        (lambda: InvariantStabilization(gain=1, D="sideways"), "D='sideways': choose"),
        (lambda: InvariantStabilization(gain=1, F="1.8", D="mass"), 'use F="1.14"'),
        (lambda: InvariantStabilization(F="1.14", integral=True), "integral=True needs"),
        (lambda: ForwardEulerStabilization(alpha=2.5), "between 0 and 2"),
        (lambda: BackwardEulerStabilization(alpha=1, gain=1), "give one of them"),
        (lambda: BackwardEulerStabilization(gain=1, F="1.14"), "needs alpha="),
        (lambda: PostStabilization(freeze="now"), "freeze='now': choose"),
        (lambda: PostStabilization(keep=0), "keep=0 must be"),
        (lambda: PostStabilization(D="mass", metric="mass"), "give one of them"),
        (lambda: PostStabilization(F="1.14"), "needs D="),
        (lambda: Projection(at="old"), "at='old': choose"),
        (lambda: Baumgarte(gains=(1, -1)), "must not be negative"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(make, message):
    with pytest.raises(BadArgument, match=message):
        make()


@pytest.mark.parametrize(
    ("stabilization", "run", "message"),
    [
        (PostStabilization(freeze="stage"), {"integrator": Midpoint()}, "Midpoint has none at the end"),
        (InvariantStabilization(gain=300.0), {"integrator": RK4()}, r"γ h = 3 > 2 is unstable with RK4.*gain <= 200"),
        (InvariantStabilization(gain=150.0), {"integrator": AdamsBashforth2()}, "> 1 is unstable"),
    ],
    ids=repr,
)
def test_combinations_that_cannot_work_name_a_way_out(stabilization, run, message):
    with pytest.raises(IncompatibleMethods, match=message):
        simulate(PENDULUM, 1.0, q0=[1, 0], v0=[0, 0], step=0.01, **run, stabilization=stabilization)


def test_directions_of_a_system_are_refused_for_an_ode():
    for stabilization in (PostStabilization(D="mass"), PostStabilization(on="cheap-full"), InvariantStabilization(1.0, F="4.8")):
        with pytest.raises(IncompatibleMethods, match="a System alone has"):
            simulate(CUBIC, 1.0, y0=[0.0], integrator=Euler(), step=0.1, stabilization=stabilization)
    with pytest.raises(IncompatibleMethods, match='D="B" belongs to constraints'):
        simulate(CUBIC, 1.0, y0=[0.0], integrator=Euler(), step=0.1, stabilization=PostStabilization(D="B"))


def test_what_needs_tracing_is_refused_without_it():
    plain = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ q - 1, trace=False)
    with pytest.raises(IncompatibleMethods, match="trace=False"):
        simulate(plain, 1.0, q0=[1, 0], v0=[0, 0], step=0.01, integrator=RK4(), stabilization=InvariantStabilization(1.0))
