"""The wheelset as it is posed, with contact variables and a state, against its reference and its closed form."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, GGL, Index1, Index2, Projection, problems, simulate
from holonomic.problems.wheelset import I1, I2, MR, contact, normal_row, posed_loads, touching

# problem wheel of the test set, computed again at rtol 1e-13 with the contacts eliminated: x, y, z, theta, phi, their
# rates, beta, psi and xi right, psi and xi left, multipliers in 1e4 N left and right; 8 digits
AT_10 = np.array([
    0.008635538258835014, 1.3038341162530846e-05, -9.363581168138769e-05, -0.013642295914610773,
    0.0015292894228062434, -0.07698523970428625, -0.0002515106335867404, 0.0020541148299270317, -0.2390484046780571,
    -0.013633444644943633, -0.24421370456272606, -0.0003366674247574185, -0.1594942563819101, 0.00037839603494421194,
    0.14173215008923284, -0.010124045009754374, -0.005628562892900305,
])  # fmt: skip
POSED = problems.wheelset_contacts()


def unknowns(end):
    """All 17 of them, in the order of the test set."""
    return np.concatenate([end.q, end.v, end.s, end.w, -end.lam / 1e4])


def test_first_accelerations_are_those_of_the_test_set():
    q = np.array([0.0014941, 4.0089e-07, 1.1241e-06, -0.00028573, 0.00026459])
    lam = np.array([83.593, 74.144])  # five digits, as printed with them
    left, right = (POSED.w0[side] for side in ("left", "right"))
    rows = np.array([normal_row(touching(q, *left, 1.0)), normal_row(touching(q, *right, -1.0))])
    force = np.array(posed_loads(q, np.zeros(5), 0.0, left, right, lam))
    force[:5] -= lam @ rows
    found = force / [MR, MR, MR, I2 * np.cos(q[4]), I2, I1]
    found[5] -= np.sin(q[4]) * found[3]
    known = [-1.975258894011285, -0.0010898297102811276, 0.07885508362614259, -5.533362821731549,
             -0.3487021489546511, -2.132968724380927]  # fmt: skip
    np.testing.assert_allclose(found, known, rtol=1e-10)  # 1e-13 of the forces, of which the second is a difference


def test_guess_of_the_contacts_is_made_consistent():
    """The printed contacts have 16 digits; a guess with one digit leads to the same ones."""
    near = simulate(POSED, 1e-6, q0=POSED.q0, v0=POSED.v0, s0=POSED.s0, w0={"right": (0, -0.1), "left": (0, 0.1)})
    for side, which in (("right", -1.0), ("left", 1.0)):
        c = contact(near.q[0], which)
        assert near[side][0] == pytest.approx([c["psi"], c["xi"]], abs=1e-14)


@pytest.mark.parametrize(
    "method",
    [{"formulation": Index1(), "integrator": BDF(), "stabilization": Projection()}, {"formulation": GGL(), "integrator": BDF()}],
    ids=["projection", "GGL"],
)
def test_bdf_reaches_the_reference(method):
    """At 1e-7, in 15 000 steps, the smallest velocity is off by 3e-4 of itself, all that is large by 3e-5."""
    sol = simulate(POSED, rtol=1e-7, atol=1e-7, **method)
    error = np.abs(unknowns(sol.end) / AT_10 - 1)
    assert error.max() < 1e-3 and error[[0, 3, 4, 10, *range(11, 17)]].max() < 2e-4
    assert sol.drift.max()["position"] < 1e-8  # what Newton's method leaves of GGL; projection leaves 1e-14
    digits = POSED.digits(sol)  # beside 1
    assert min(digits["q"], digits["w"]) > 5.5 and min(digits["v"], digits["s"]) > 4.0


def test_index_2_drifts_off_the_rails_in_its_original_form():
    """What the test set integrates: the velocity level alone."""
    sol = simulate(POSED, 2.0, formulation=Index2(), integrator=BDF(), stabilization=None, rtol=1e-6, atol=1e-6)
    off = np.abs(sol.drift["position"])
    # the velocity level holds to what Newton's method leaves, a share of the tolerance
    assert 1e-10 < off.max() < 1e-6 and np.abs(sol.drift["velocity"]).max() < 1e-6


def test_closed_form_and_algebraic_variables_move_alike():
    given = {"integrator": DOP853(), "rtol": 1e-9, "atol": 1e-12}
    posed, closed = simulate(POSED, 0.5, **given), simulate(problems.wheelset(t_end=0.5), **given)
    # the same equations: what is left are the errors of both runs
    np.testing.assert_allclose(posed.end.q, closed.x[-1][:5], atol=1e-9)
    np.testing.assert_allclose(posed.end.s[0], closed.dx[-1][5], atol=1e-7)
    np.testing.assert_allclose(-posed.end.lam / 1e4, closed.y[-1], rtol=1e-6)
