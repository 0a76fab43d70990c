"""What is said of live pages that cannot be made, word for word."""

import numpy as np
import pytest

import holonomic as h
from holonomic.problems import pendulum
from holonomic.view import view

TWO = h.System(mass=np.eye(2), force=lambda q, p: -p.k * q, params={"k": np.array([1.0, 2.0])})


def live(what=None, **options):
    return view(what or pendulum(), 0.1, show=False, frames=5, **options)


REFUSED = [
    (dict(live={"gg": (0, 1)}), "live={'gg': ...}: there is nothing of this name to move. Did you mean 'g'?"),
    (dict(live={"g": (25, 1)}), "live={'g': (25, 1)}: a range is two numbers, the smaller one first: (0, 25)."),
    (dict(live={"g": 3}), "live={'g': 3}: a range is two numbers, the smaller one first: (0, 25)."),
    (dict(live={"g": (0, 5)}), "live={'g': (0, 5)}: the recorded run has 13.7504. Give a range that holds it."),
    (dict(live=["g"]), """live= is a mapping {name: (low, high)}, such as {"g": (0, 25)}, or True, got ['g']."""),
    (dict(live={"rtol": (0, 1e-3)}), "live={'rtol': (0, 0.001)}: rtol must be positive."),
    (dict(methods=[h.RK45()]), "methods= are those of a live page: give live={name: (low, high)}, too."),
    (
        dict(live=True, methods=["RK45"]),
        "methods= has 'RK45', which is neither an integrator nor a stabilization nor a formulation.",
    ),
    (
        dict(live=True, methods=h.RK45()),
        "methods= is a list of methods, such as [DOP853(), (RK4(), Baumgarte(alpha=20))], got RK45().",
    ),
    (
        dict(live=True, methods=[{"tolerance": 1}]),
        "methods= has 'tolerance'; a choice of methods has formulation, integrator, stabilization, rtol, atol, step.",
    ),
    (
        dict(live=True, integrator=h.Radau(), formulation=h.GGL()),
        "this run cannot be live: Radau() solves equations in every step; pages run explicit integrators.",
    ),
    (
        dict(live=True, events={"hit": h.Event(lambda q: q[0], then=lambda v: {"v": -v})}),
        "view: then of event 'hit' cannot be traced, and a page has no Python: then of event 'hit' returned a dict.",
    ),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=[told[:40] for _, told in REFUSED])
def test_refusals_of_live_pages(options, told):
    with pytest.raises(h.HolonomicError) as refused:
        live(**options)
    assert str(refused.value) == told


def test_an_entry_of_an_array_is_named():
    with pytest.raises(h.BadArgument) as refused:
        live(TWO, q0=[1, 0], v0=[0, 0], live={"k": (0, 5)})
    assert str(refused.value) == "live={'k': ...}: k has 2 entries; name one, from k[0] to k[1]."


def test_a_live_page_shows_one_run():
    sol = h.simulate(pendulum(), 0.1)
    with pytest.raises(h.BadArgument) as refused:
        view([sol, sol], live=True, show=False)
    assert str(refused.value) == "a live page shows one run, or a System, Ode, Problem or Mechanism; got 2 runs."
    with pytest.raises(h.UnknownArgument) as unknown:
        view(sol, show=False, rtol=1e-3)
    assert str(unknown.value) == "view has no argument 'rtol' for runs: it goes with a system, which is simulated first."


def test_a_start_that_the_page_cannot_mend_is_not_moved():
    wound = h.System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, states={"charge": lambda v, s: v[0] - s[0]})
    with pytest.raises(h.BadArgument) as refused:
        live(wound, q0=[0, -1], v0=[1, 0], s0={"charge": 0.0}, live={"v0[0]": (0, 2)})
    assert str(refused.value) == (
        "live={'v0[0]': ...}: it moves the start, and a page cannot make one with further states or held coordinates consistent "
        "again. Leave it out."
    )
