"""lam0 in every call that takes a start: multipliers that are checked, a guess of a Dae's y, what a free run begins with."""

import warnings

import numpy as np
import pytest

from holonomic import BDF, BadArgument, Dae, InconsistentState, Index1, Radau, System, diagnose, gradient, simulate, sweep

SWING = System(mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
REST = {"q0": [0, -1], "v0": [0, 0]}  # λ = g/2
G = np.array([5.0, 9.81, 20.0])


def pin(q):
    return np.array([q[0] - 0.5 * np.cos(q[2]), q[1] - 0.5 * np.sin(q[2])])


TWICE = System(mass=np.diag([2, 2, 2 / 12]), force=[0, -20, 0], constraint={"pin": pin, "again": lambda q: 2.0 * pin(q)})
BAR = {"q0": [0.5, 0, 0], "v0": [0, 0, 0]}


def two_roots(**more):
    """y² - y = 4 - s, s = 1 at the start."""
    return Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 - 4 + x[1], -x[1]]), B=[[1.0], [0.0]], g=lambda x: x[0], **more)


def test_each_member_of_a_sweep_is_checked_against_what_is_expected_of_it():
    runs = sweep(SWING, 0.1, **REST, params={"g": G}, lam0=G[:, None] / 2)
    assert not runs.failed
    runs = sweep(SWING, 0.1, **REST, params={"g": G}, lam0=[4.905])
    words = "lam0 misses the acceleration level: 'rod' needs {:g}, given 4.905. Leave lam0 out; it is computed."
    assert [(each.member, each.why) for each in runs.failed] == [(0, words.format(2.5)), (2, words.format(10))]
    assert runs.lam[1, 0, 0] == pytest.approx(4.905)


@pytest.mark.parametrize("call", [sweep, diagnose])
def test_multipliers_that_cannot_be_meant_are_refused_in_the_words_of_simulate(call):
    given = {"params": {"g": G}} if call is sweep else {}
    for lam0, text in (([1.0, 2.0], "lam0 has 2 entries, expected 1."), ("few", "lam0 must be numbers, got 'few'.")):
        with pytest.raises(BadArgument) as refused:
            call(SWING, 0.1, **REST, **given, lam0=lam0)
        with pytest.raises(BadArgument) as alone:
            simulate(SWING, 0.1, **REST, lam0=lam0)
        assert str(refused.value) == str(alone.value) == text


def test_diagnose_checks_multipliers():
    assert diagnose(SWING, **REST, lam0=[4.905]).rank == 1
    with pytest.raises(InconsistentState) as refused:
        diagnose(SWING, **REST, lam0=[1.0])
    assert str(refused.value) == ("lam0 misses the acceleration level: 'rod' needs 4.905, given 1. Leave lam0 out; it is computed.")
    with pytest.raises(BadArgument, match='lam0 with initial="free" is what a run begins with, and diagnose makes none'):
        diagnose(SWING, **REST, lam0=[1.0], initial="free")


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
@pytest.mark.parametrize("integrator", ["auto", Radau()], ids=["auto", "Radau"])
@pytest.mark.parametrize("way", ["minimum-norm", "drop"])
def test_of_redundant_rows_every_share_is_right_that_gives_the_reaction(way, integrator):
    """The pin carries 5 N. Its rows stand there twice, the second ones with twice the length."""
    given = BAR | {"redundant": way, "integrator": integrator}
    for lam0 in ([0, -1, 0, -2], [0, -5, 0, 0], [0, 0, 0, -2.5]):
        assert simulate(TWICE, 0.1, **given, lam0=lam0).ended == "end"
        assert not sweep(TWICE, 0.1, **given | {"q0": [BAR["q0"]]}, lam0=lam0).failed
        assert diagnose(TWICE, **BAR, lam0=lam0).rank == 2
    with pytest.raises(InconsistentState) as refused:
        simulate(TWICE, 0.1, **given, lam0=[0, -1, 0, -1])
    assert str(refused.value) == (
        "lam0 misses the acceleration level: its reaction on velocity 1 has to be 5, given 3. Leave lam0 out; it is computed."
    )
    assert sweep(TWICE, 0.1, **given | {"q0": [BAR["q0"]]}, lam0=[0, -1, 0, -1]).failed[0].why == str(refused.value)


@pytest.mark.parametrize("integrator", ["auto", BDF()], ids=["auto", "BDF"])
def test_a_guess_chooses_the_solution_of_each_member(integrator):
    guesses, signs = np.array([[2.0], [-1.0], [7.0]]), np.array([1, -1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who has chosen is not warned
        runs = sweep(two_roots(), 1.0, x0=[0.0, 1.0], lam0=guesses, integrator=integrator)
    assert not runs.failed
    np.testing.assert_allclose(runs.y[:, 0, 0], (1 + signs * np.sqrt(13)) / 2, atol=1e-9)
    np.testing.assert_allclose(runs.y[:, 1, 0], (1 + signs * np.sqrt(17 - 4 * np.exp(-1))) / 2, atol=1e-5)


def test_a_guess_that_leads_nowhere_is_told_of_its_member():
    none = Dae(order=1, f=lambda x, y, p: np.array([p.k * y[0] ** 2 + 1]), B=[[1.0]], g=lambda x: x[0], params={"k": -1.0})
    runs = sweep(none, 1.0, x0=[0.0], lam0=[1.0], params={"k": [1.0, -1.0]})  # y² + 1 = y has no solution
    assert [each.member for each in runs.failed] == [0]
    assert runs.failed[0].why.startswith("lam0=[1] leads to no solution of the equations for y at t = 0")
    assert runs.y[1, 1, 0] == pytest.approx((np.sqrt(5) - 1) / 2, abs=1e-9)


def test_diagnose_looks_at_the_solution_that_a_guess_leads_to():
    """y' by s of the two solutions has two signs, and s is fed back: one grows, the other decays."""
    fed = Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 - 4 + x[1], -y[0] * x[1]]), B=[[1.0], [0.0]], g=lambda x: x[0])
    upper, lower = (diagnose(fed, x0=[0.0, 1.0], lam0=[guess]).indicators for guess in (2.0, -1.0))
    assert upper.damped > 1.0 > upper.growing
    assert lower.growing > 1.0 > lower.damped


def test_a_free_run_begins_with_the_multipliers_that_are_given():
    free = {"q0": [1e-4, -1.0001], "v0": [0.999, 0.001], "initial": "free"}
    given = {"formulation": Index1(), "integrator": Radau(), "stabilization": None, "step": 0.005}
    lam0 = np.array([[-1e-4], [3.0]])
    runs = sweep(SWING, 0.05, **free, **given, lam0=lam0, params={"g": [9.81, 9.81]}, save_at=3)
    for m in range(2):
        alone = simulate(SWING, 0.05, **free, **given, lam0=lam0[m], save_at=3)
        np.testing.assert_array_equal(runs.q[m], alone.q)
    with pytest.raises(BadArgument, match='lam0 with initial="free" is where λ is an unknown'):
        sweep(SWING, 0.05, **free, lam0=lam0, params={"g": [9.81, 9.81]})


def test_a_guess_goes_with_a_gradient():
    """y = (1 + sqrt(17 - 4 s))/2 with s = exp(-1) x0[1]: dy/ds = -1/sqrt(17 - 4 s)."""
    found = gradient(lambda sol: sol.y[-1, 0], two_roots(), 1.0, x0=[0.0, 1.0], lam0=[2.0], wrt="x0")
    assert found.value == pytest.approx((1 + np.sqrt(17 - 4 * np.exp(-1))) / 2, abs=1e-8)
    assert found.grad["x0"][1] == pytest.approx(-np.exp(-1) / np.sqrt(17 - 4 * np.exp(-1)), abs=1e-7)
