"""A Dae whose equations for y have several solutions: which is taken, how another is chosen, what is told of it.

x' = (y² - 4 + s - y, -s), 0 = x: y = (1 ± sqrt(17 - 4 s))/2 with s = exp(-t).
"""

import warnings

import numpy as np
import pytest

from holonomic import BDF, Dae, InconsistentState, OtherSolutionWarning, Radau, SingularPosition, simulate, sweep

UPPER = (1 + np.sqrt(17 - 4 * np.exp(-1.0))) / 2
LOWER = (1 - np.sqrt(17 - 4 * np.exp(-1.0))) / 2


def two_roots(**more):
    return Dae(
        order=1, f=lambda x, y: np.array([y[0] ** 2 - 4 + x[1], -x[1]]), B=lambda x: np.array([[1.0], [0.0]]),
        g=lambda x: x[0], **more,
    )  # fmt: skip


START = {"x0": [0.0, 1.0]}


@pytest.mark.parametrize("way", [{}, {"integrator": Radau()}, {"integrator": BDF()}], ids=["open", "Radau", "BDF"])
@pytest.mark.parametrize(("guess", "wanted"), [([2.0], UPPER), ([5.0], UPPER), ([-1.0], LOWER), ([-7.0], LOWER)])
def test_a_guess_chooses_the_solution_and_the_run_stays_on_its_branch(guess, wanted, way):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # who has chosen is not warned
        sol = simulate(two_roots(), 1.0, **START, lam0=guess, **way)
    assert sol.y[-1, 0] == pytest.approx(wanted, abs=1e-5)
    begins = (1 + np.sign(wanted) * np.sqrt(13.0)) / 2
    assert sol.y[0, 0] == pytest.approx(begins, abs=1e-9)
    assert sol(0.5).y[0] == pytest.approx((1 + np.sign(wanted) * np.sqrt(17 - 4 * np.exp(-0.5))) / 2, abs=1e-4)
    assert f"y = [{begins:.6g}] at the start, by lam0" in repr(sol)


def test_a_second_solution_nearby_is_told():
    with pytest.warns(OtherSolutionWarning) as said:
        sol = simulate(two_roots(), 1.0, **START)
    assert str(said[0].message) == (
        "at t = 0 the equations for y have another solution near the one that is taken, y = [-1.30278]: y = [2.30278]. Pass "
        "lam0=[-1.30278] to take the first, lam0=[2.30278] for the other."
    )
    assert sol.y[-1, 0] == pytest.approx(LOWER, abs=1e-6)
    assert "y = [-1.30278] at the start; another one is [2.30278]" in repr(sol)


def test_one_solution_alone_is_taken_without_a_word():
    """f holds y nine times as strongly as B: the determinant has the other sign, and the one solution is found."""
    for share in (0.5, 10.0):
        dae = Dae(order=1, f=lambda x, y, p: np.array([p.share * y[0] - 2.0]), B=lambda x: np.array([[1.0]]), g=lambda x: x[0],
                  params={"share": share})  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sol = simulate(dae, 1.0, x0=[0.0])
        assert sol.y[-1, 0] == pytest.approx(2.0 / (share - 1.0), rel=1e-9)
    runs = sweep(dae, 1.0, y0=[0.0], params={"share": [10.0, 20.0]}, save_at=2)
    assert not len(runs.failed)


def test_a_guess_that_leads_nowhere_is_refused():
    without = Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 + 4]), B=lambda x: np.array([[1.0]]), g=lambda x: x[0])
    with pytest.raises(InconsistentState) as caught:
        simulate(without, 1.0, x0=[0.0], lam0=[1.0])
    assert str(caught.value) == (
        "lam0=[1] leads to no solution of the equations for y at t = 0: Newton's iteration from there does not converge. Give "
        "another lam0."
    )


def test_where_y_is_unique_a_wrong_guess_is_refused():
    plain = Dae(order=1, f=lambda x: np.array([3.0]), B=lambda x: np.array([[1.0]]), g=lambda x: x[0])
    assert simulate(plain, 1.0, x0=[0.0], lam0=[3.0]).y[-1, 0] == pytest.approx(3.0)
    with pytest.raises(InconsistentState, match=r"lam0=\[2\], but at t = 0 y is \[3\]. Leave lam0 out; it is computed."):
        simulate(plain, 1.0, x0=[0.0], lam0=[2.0])


def test_a_branch_that_ends_is_told_without_blame():
    """y = (1 - sqrt(17 - 16 s))/4 with s = t: there is none behind t = 17/16."""
    ends = Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 - 1 + x[1], 1.0]), B=lambda x: np.array([[0.5], [0.0]]),
               g=lambda x: x[0])  # fmt: skip
    with pytest.raises(SingularPosition) as caught, pytest.warns(OtherSolutionWarning):
        simulate(ends, 3.0, x0=[0.0, 0.0])
    text = str(caught.value)
    assert "Painlevé" not in text and "friction" not in text
    assert text.startswith("near t = 1.06") and text.endswith(
        "the equations for y could not be solved on the branch that the run is on: ∂/∂y of them is singular there or beyond, or "
        "Newton's iteration did not converge. Stop before with an event, or begin on another branch (lam0=). See error.solution."
    )
