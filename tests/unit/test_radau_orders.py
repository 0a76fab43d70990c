"""Radau of orders 5, 9 and 13: coefficients by their equations, orders over whole runs, errors, change of order."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest

import holonomic as h
from holonomic import DOP853, GGL, BadArgument, Index1, Index2, Ode, Radau, System, UnderlyingODE, simulate
from holonomic.integrators.radau_more import add_more, extrapolate_more, slope_more, to_eigenvectors_more
from holonomic.integrators.radau_nodes import NODES, stage_weight, table
from holonomic.integrators.radau_three import add_three, arguments_three, extrapolate_three, slope_three, to_eigenvectors_three
from holonomic.problems import get, pendulum
from holonomic.testing import bead

ORDERS = {5: 3, 9: 5, 13: 7}
EVERY = [Radau(), Radau(order=9), Radau(order=13), Radau(order="variable")]


# coefficients


@pytest.mark.parametrize("stages", NODES)
def test_nodes_are_zeros_of_the_radau_polynomial_to_33_digits(stages):
    """d^(s-1)/dθ^(s-1) θ^(s-1) (θ - 1)^s, whose sum of sizes of terms is below 1e5 on [0, 1]."""
    with localcontext() as context:
        context.prec = 50
        for node in map(Decimal, NODES[stages]):
            total = Decimal(0)
            for k in range(stages + 1):
                factor = comb(stages, k) * (-1) ** (stages - k)
                for j in range(stages - 1):
                    factor *= stages - 1 + k - j
                total += factor * node**k
            size = Decimal(comb(2 * stages, stages)) * 720
            assert abs(total) < size * Decimal("1e-33")


@pytest.mark.parametrize("stages", NODES)
def test_tables_fulfil_their_defining_equations(stages):
    numbers, s = table(stages), stages
    c, at_start = numbers[:s], numbers[s : 2 * s]
    a, T, inverse = numbers[2 * s : 2 * s + 3 * s * s].reshape(3, s, s)
    gamma, *pairs = numbers[2 * s + 3 * s * s : 3 * s + 3 * s * s]
    left_out = np.polynomial.Polynomial(numbers[3 * s + 3 * s * s : 4 * s + 2 + 3 * s * s])
    A = np.linalg.inv(a)
    for k in range(1, s + 1):  # stage order s, and derivatives of polynomials at the start
        assert A @ c ** (k - 1) == pytest.approx(c**k / k, abs=1e-14)
        assert at_start @ c**k == pytest.approx(float(k == 1), abs=1e-12)
    for k in range(1, 2 * s):  # order 2 s - 1 at the end
        assert A[-1] @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)
    blocks = np.zeros((s, s))
    blocks[0, 0] = gamma
    for k, (alpha, beta) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
        blocks[2 * k + 1 : 2 * k + 3, 2 * k + 1 : 2 * k + 3] = [[alpha, beta], [-beta, alpha]]
    assert T @ blocks @ inverse == pytest.approx(a, rel=1e-9, abs=1e-9)  # Newton's method needs no more
    # y = t^(s+1): stages and the estimate of y' = f(t) are off by ν between start and end, and not there
    stages_of = A @ ((s + 1) * c**s)
    estimate = -(at_start @ stages_of) / gamma
    for theta in (0.0, 0.3, 0.7, 1.0):
        curve = np.polynomial.Polynomial.fit([0, *c], [0, *stages_of], s, domain=[-1, 1])
        assert curve(theta) + left_out(theta) * estimate == pytest.approx(theta ** (s + 1), abs=1e-12)
        weights = np.array([stage_weight.py(numbers, 0, s, j, theta) for j in range(s)])
        for k in range(1, s + 1):
            assert weights @ c**k == pytest.approx(theta**k, abs=1e-13)


def test_loops_over_three_stages_are_products_with_their_matrices():
    """Each is a product of 3 by 3 numbers, or a sum of squares, of numbers of size 1: rounding leaves some 1e-15."""
    fp, ny, h_step, ratio, draw = table(3), 5, 0.3, 1.7, np.random.default_rng(3)
    c, at_start, (a, T, inverse) = fp[:3], fp[3:6], fp[6:33].reshape(3, 3, 3)
    K, x, old, z = draw.normal(size=(8, 7)), draw.normal(size=7), 1, 4
    extrapolate_three.py(K, old, z, fp, 0, 0, ratio, ny)
    for i, node in enumerate(c):
        weights = [stage_weight.py(fp, 0, 3, j, 1.0 + node * ratio) for j in range(3)]
        assert K[z + i, :ny] == pytest.approx(weights @ K[old : old + 3, :ny] - K[old + 2, :ny], rel=1e-13)
    W, Z = draw.normal(size=60), K[z : z + 3, :ny].copy()
    for i in range(3):
        arguments_three.py(W, 2, x, K, z, fp, 6 + 3 * i, i, h_step, ny)
        assert W[2 : 2 + ny] == pytest.approx(x[:ny] + Z[i], rel=1e-14)
        assert W[2 + ny : 2 + 2 * ny] == pytest.approx(a[i] @ Z / h_step, rel=1e-13)
    slope_three.py(W, 2, K, z, fp, 3, h_step, ny)
    assert W[2 : 2 + ny] == pytest.approx(at_start @ Z / h_step, rel=1e-13)
    given = W[20 : 20 + 3 * ny].reshape(3, ny).copy()
    to_eigenvectors_three.py(W, 20, 40, fp, 24, ny)
    assert W[40 : 40 + 3 * ny].reshape(3, ny) == pytest.approx(-inverse @ given, rel=1e-13)
    given, weights = W[40 : 40 + 3 * ny].reshape(3, ny).copy(), W[:ny].copy()
    size = add_three.py(W, 40, 0, K, z, fp, 15, 1, 4, ny)
    step = (T @ given)[:, 1:4]
    assert K[z : z + 3, 1:4] == pytest.approx(Z[:, 1:4] + step, rel=1e-13)
    assert np.array_equal(K[z : z + 3, [0, 4]], Z[:, [0, 4]])
    assert size == pytest.approx(np.sum((step * weights[1:4]) ** 2), rel=1e-13)


@pytest.mark.parametrize("old_stages", [5, 7])
@pytest.mark.parametrize("stages", [5, 7])
def test_loops_over_five_and_seven_stages_are_products_with_their_matrices(stages, old_stages):
    """As above, with sums of up to 49 products and matrices of size 20: rounding leaves some 1e-14."""
    fp, s, ny, h_step, ratio = np.concatenate([table(stages), table(old_stages)]), stages, 5, 0.3, 1.2
    draw = np.random.default_rng(5)
    c, old_c, at_start, T_at = fp[:s], len(table(s)), fp[s : 2 * s], 2 * s + s * s
    T, inverse = fp[T_at : T_at + 2 * s * s].reshape(2, s, s)
    K, old, z = draw.normal(size=(16, 7)), 1, 9
    extrapolate_more.py(K, old, z, fp, 0, s, old_c, old_stages, ratio, ny)
    for i, node in enumerate(c):
        weights = [stage_weight.py(fp, old_c, old_stages, j, 1.0 + node * ratio) for j in range(old_stages)]
        expected = weights @ K[old : old + old_stages, :ny] - K[old + old_stages - 1, :ny]
        assert K[z + i, :ny] == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(weights).max())
    W, Z = draw.normal(size=120), K[z : z + s, :ny].copy()
    slope_more.py(W, 2, K, z, fp, s, s, h_step, ny)
    assert W[2 : 2 + ny] == pytest.approx(at_start @ Z / h_step, rel=1e-12, abs=1e-12)
    given = W[20 : 20 + s * ny].reshape(s, ny).copy()
    to_eigenvectors_more.py(W, 20, 60, fp, T_at + s * s, s, ny)
    assert W[60 : 60 + s * ny].reshape(s, ny) == pytest.approx(-inverse @ given, rel=1e-12, abs=1e-12)
    given, weights = W[60 : 60 + s * ny].reshape(s, ny).copy(), W[:ny].copy()
    size = add_more.py(W, 60, 0, K, z, fp, T_at, s, 1, 4, ny)
    step = (T @ given)[:, 1:4]
    assert K[z : z + s, 1:4] == pytest.approx(Z[:, 1:4] + step, rel=1e-12, abs=1e-11)
    assert np.array_equal(K[z : z + s, [0, 4]], Z[:, [0, 4]])
    assert size == pytest.approx(np.sum((step * weights[1:4]) ** 2), rel=1e-12)


# orders


@pytest.fixture(scope="module")
def wire():
    """A bead that is five times as heavy up and down as sideways, with its motion at 21 times."""
    problem = bead(heavy=5.0, t_end=2.0)
    return problem, simulate(problem, integrator=DOP853(), rtol=1e-13, atol=1e-14, save_at=21)


# steps: few enough for errors of the finer run to stay above rounding, many enough for the leading term to rule
STEPS = {5: (40, 80), 9: (20, 40), 13: (20, 30)}


@pytest.mark.parametrize("formulation", [Index1(), Index2(), GGL()], ids=repr)
@pytest.mark.parametrize("order", ORDERS)
def test_fixed_steps_have_their_order_over_the_whole_run(wire, order, formulation):
    problem, known = wire
    off = []
    for n in STEPS[order]:
        sol = simulate(problem, integrator=Radau(order=order), formulation=formulation, stabilization=None, step=2.0 / n)
        at = np.arange(0, n + 1, n // 10)
        off.append([np.abs(getattr(sol, part)[at] - getattr(known, part)[::2]).max() for part in ("q", "v", "lam")])
    coarse, fine = np.array(off)
    found = np.log(coarse / fine) / np.log(STEPS[order][1] / STEPS[order][0])
    assert np.all(found >= order - 0.5), (found, coarse, fine)
    assert np.all(fine > 1e-13)


@pytest.mark.parametrize("order", ORDERS)
def test_dense_output_of_fixed_steps_is_better_than_the_curve_through_the_stages(wire, order):
    """That is wrong by h^(s+1). With the estimate q is better, by one power where its leading term rules."""
    problem, s = wire[0], ORDERS[order]
    times = np.linspace(0.4, 1.6, 97)
    known = simulate(problem, integrator=DOP853(), rtol=1e-13, atol=1e-14, save_at=times)
    off, (few, many) = [], {5: (20, 120), 9: (10, 56), 13: (10, 40)}[order]
    for n in (few, many):
        sol = simulate(problem, integrator=Radau(order=order), formulation=Index1(), stabilization=None, step=2.0 / n)
        seen = sol(times)
        off.append([np.abs(getattr(seen, part) - getattr(known, part)).max() for part in ("q", "v", "lam")])
    coarse, fine = np.array(off)
    found = np.log(coarse / fine) / np.log(many / few)
    assert found[0] > s + 1.3 and np.all(found > s + 0.8), (found, coarse, fine)


# errors and tolerances


@pytest.mark.parametrize("integrator", EVERY, ids=repr)
@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("name", ["seven-body", "car-axis", "pendulum-a01"])
def test_errors_of_runs_are_near_the_tolerance(name, rtol, integrator):
    problem = get(name)
    sol = simulate(problem, integrator=integrator, formulation=GGL(), rtol=rtol, atol=rtol)
    known = problem.reference()
    error = np.max(np.abs(sol.q[-1] - known.q) / (1 + np.abs(known.q)))
    assert error < 10 * rtol  # 0.003 to 5.7 were found
    if integrator == Radau():
        assert error > 0.01 * rtol  # with the estimate alone 0.03 to 1e-3 at 1e-10, for 2.4 times the steps


@pytest.mark.parametrize("order", [5, 9, 13, "variable"])
@pytest.mark.parametrize("stiffness", [1e1, 1e3, 1e6])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_a_driven_stiff_equation_is_solved_to_its_tolerance(stiffness, rtol, order):
    """Its order is reduced: what the estimate leaves to the stiff part must not be weighed less."""
    driven = Ode(lambda t, y, p: np.array([-p.r * (y[0] - np.cos(t)) - np.sin(t)]), params={"r": stiffness})
    sol = simulate(driven, 10.0, y0=[1.0], integrator=Radau(order=order), rtol=rtol, atol=1e-3 * rtol, save_at=201)
    assert np.max(np.abs(sol.y[:, 0] - np.cos(sol.t))) < 5 * rtol  # s to s + 2 times the estimate, where it is stiff at all


def test_what_newtons_method_leaves_does_not_add_up():
    """Multipliers start far off, so that the first fall of the changes is no rate: 320 rtol, once."""
    sol = simulate(get("pendulum-a01"), integrator=Radau(), formulation=Index1(), rtol=1e-10, atol=1e-10)
    assert np.max(np.abs(sol.q[-1] - get("pendulum-a01").reference().q)) < 20e-10


@pytest.mark.parametrize("integrator", EVERY, ids=repr)
@pytest.mark.parametrize("name", ["seven-body", "heavy-top"])
def test_states_between_steps_are_as_good_as_steps(name, integrator):
    problem, rtol = get(name), 1e-8
    given = {"integrator": integrator, "formulation": GGL(), "rtol": rtol, "atol": rtol}
    steps, saved = simulate(problem, **given), simulate(problem, **given, save_at=101)
    known = simulate(problem, integrator=DOP853(), rtol=1e-13, atol=1e-14, save_at=101)
    seen = steps(known.t)
    for part in ("q", "v", "lam"):
        exact = getattr(known, part)
        size = np.abs(exact).max()
        for found in (seen, saved):
            assert np.max(np.abs(getattr(found, part) - exact)) < 10 * rtol * max(1.0, size)  # 6.4 at most
    assert saved.stats["steps"] < 2 * steps.stats["steps"]


# change of order


def cart_pole(mass):
    """A pole of 1 kg on a cart that weighs next to nothing: fast whenever the pole lies."""
    return System(mass=np.diag([mass, 1.0, 1.0]), force=[0, 0, -9.81], constraint=lambda q: (q[1] - q[0]) ** 2 + q[2] ** 2 - 1.0)


def test_high_orders_take_few_steps_at_tight_tolerances():
    start = {"q0": [0, np.sin(0.5), -np.cos(0.5)], "v0": [0, 0, 0], "formulation": GGL(), "rtol": 1e-10, "atol": 1e-10}
    five, changing = (simulate(cart_pole(1e-3), 1.0, integrator=way, **start) for way in (Radau(), Radau(order="variable")))
    assert changing.stats["steps"] < five.stats["steps"] / 6
    assert changing.stats["residuals"] < five.stats["residuals"] / 1.5
    assert np.max(np.abs(changing.q[-1] - five.q[-1])) < 100e-10


def test_the_metric_of_a_projection_matters_to_order_5_beside_a_light_mass_and_hardly_to_high_orders():
    """What docs/which-method.md says, over half its time: 1.40 and 1.08 times the steps; their errors agree to a factor of 2."""
    start = {"q0": [0, np.sin(0.5), -np.cos(0.5)], "v0": [0, 0, 0], "formulation": Index1(), "rtol": 1e-10, "atol": 1e-11}
    steps = {
        (order, metric): simulate(
            cart_pole(1e-3), 1.0, integrator=Radau(order=order), stabilization=h.Projection(metric=metric), **start
        ).stats["steps"]
        for order in (5, "variable") for metric in (None, "mass")
    }  # fmt: skip
    assert steps[5, None] > 1.25 * steps[5, "mass"]
    assert steps["variable", None] < 1.15 * steps["variable", "mass"]


def stages_of(sol):
    """How many stages each step had, as the steps left it."""
    from holonomic.integrators.radau_dense import CONTROLS
    from holonomic.loop.kept_steps import AT_ROWS

    return sol.trail.dense[1:, AT_ROWS + CONTROLS.at("stages")[0]].astype(int)  # the first row that is kept


def test_order_follows_the_tolerance_and_goes_back_where_newtons_method_is_the_limit():
    arm = {"integrator": Radau(order="variable"), "formulation": GGL()}
    loose, tight = (simulate(get("two-link-arm"), 2.0, rtol=rtol, atol=rtol, **arm) for rtol in (1e-3, 1e-10))
    assert np.mean(stages_of(loose) == 7) < 0.3 < 0.5 < np.mean(stages_of(tight) == 7)  # 3 of 18 steps, and 31 of 37
    assert stages_of(loose)[0] == stages_of(tight)[0] == 3
    cart = simulate(cart_pole(1e-3), 1.0, q0=[0, np.sin(0.5), -np.cos(0.5)], v0=[0, 0, 0], rtol=1e-5, atol=1e-5, **arm)
    assert np.any(np.diff(stages_of(cart)) > 0) and np.any(np.diff(stages_of(cart)) < 0)


def test_two_choices_of_orders_are_two_methods():
    assert Radau() == Radau(order=5) and hash(Radau()) == hash(Radau(order=5))
    assert len({Radau(), Radau(order=9), Radau(order=13), Radau(order="variable")}) == 4
    assert [repr(way) for way in EVERY] == ["Radau()", "Radau(order=9)", "Radau(order=13)", "Radau(order='variable')"]
    assert all(eval(repr(way), vars(h)) == way for way in EVERY)
    assert Radau(order="variable").order == 13


@pytest.mark.parametrize("order", [7, 5.0, True, "high", None, (5, 9)])
def test_other_orders_are_refused(order):
    with pytest.raises(BadArgument) as refused:
        Radau(order=order)
    assert str(refused.value) == f'order={order!r}: Radau has order 5, 9, 13, or "variable", which goes from one to another.'


@pytest.mark.parametrize("order", [9, 13])
def test_multipliers_that_are_integrated_follow_what_a_projection_makes_of_the_state(order):
    """Left where they were, they departed from it ever faster: errors of 0.03 at rtol 1e-10, in silence."""
    problem = pendulum()
    known = simulate(problem, integrator=DOP853(), rtol=1e-12, atol=1e-12)
    sol = simulate(problem, formulation=UnderlyingODE(), integrator=Radau(order=order), rtol=1e-8)
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-7
    assert sol.stats["failed attempts"] < 10
    field = simulate(problem, 1e-3, q0=sol.q[-1], v0=sol.v[-1], rtol=1e-8)  # λ(q, v) at that state
    assert sol.unknowns["lam"][-1] == pytest.approx(field.lam[0], rel=1e-9)


def test_order_rises_where_integrated_multipliers_follow_the_state():
    """It stayed with 5: 3448 steps. Without a stabilization their errors stay, and it still does."""
    problem = get("seven-body")
    methods = {"formulation": UnderlyingODE(), "integrator": Radau(order="variable"), "rtol": 1e-10}
    known = simulate(problem, integrator=DOP853(), rtol=1e-12, atol=1e-12)
    sol = simulate(problem, **methods)
    assert sol.stats["steps"] < 150
    assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-9
    assert simulate(problem, 0.003, **methods, stabilization=None).stats["steps"] > sol.stats["steps"]
