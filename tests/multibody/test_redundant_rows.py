"""Rows that repeat others: the motion of independent rows, whichever rows depend on which along the way."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest

import holonomic.starting.rank as rank
from holonomic import BDF, GGL, Event, Index2, PostStabilization, Radau, RedundancyWarning, diagnose, load, simulate, sweep
from holonomic.kernels.dense_projection import factor_rows, factors_length
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant
from holonomic.model.redundant_rows import factor_even
from holonomic.model.symbolics import SX, function_of
from holonomic.multibody import Mechanism, rod
from holonomic.starting.initial import rank_by_rows, terms

from .machines import bricard, planetary_gear

SPEEDS = np.linspace(5.0, 150.0, 30)
pytestmark = pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")


def change(sol) -> float:
    """Largest change of the energy, of the largest kinetic energy."""
    return float(np.max(np.abs(sol.energy.total - sol.energy.total[0])) / np.max(sol.energy.kinetic))


def same_as_by_hand(speed: float, planets: int) -> None:
    found = simulate(planetary_gear(speed, planets), 3.0, rtol=1e-8)
    hand = simulate(planetary_gear(speed, planets, by_hand=True), 3.0, rtol=1e-8)
    assert found.ended == "end"
    assert len(found.t) <= 1.02 * len(hand.t)
    # what DOP853 loses at rtol 1e-8 in 3 s, up to 1.1e-8 in 72 turns of the carrier: rows add nothing to it
    assert abs(change(found) - change(hand)) < 1e-9
    assert all(np.max(found.drift[level]) < 1e-10 for level in ("position", "velocity"))
    assert not found.trail.paths  # no singular position was seen


@pytest.mark.parametrize("speed", [SPEEDS[0], SPEEDS[12]])
def test_a_coasting_gear_goes_on_as_with_independent_rows(speed):
    same_as_by_hand(speed, 3)


def test_energy_of_the_fastest_gear_is_as_good_as_is_asked_for():
    """72 turns of the carrier: what is lost is the error of the integration, which follows rtol; rows add nothing to it."""
    loose, tight = (simulate(planetary_gear(150.0), 3.0, rtol=rtol, atol=1e-3 * rtol) for rtol in (1e-8, 1e-10))
    assert change(loose) > 50 * change(tight)  # 7.0e-9 and 4.5e-11
    assert change(simulate(planetary_gear(150.0), 3.0, rtol=1e-9, prefer="energy")) < 1e-9  # 6e-12


@pytest.mark.slow
@pytest.mark.parametrize("planets", [3, 4])
def test_all_coasting_gears_go_on_as_with_independent_rows(planets):
    for speed in SPEEDS:
        same_as_by_hand(speed, planets)


@pytest.mark.slow
@pytest.mark.parametrize("planets", [3, 4])
def test_redundant_rows_cost_little_more_than_those_left_out_by_hand(planets):
    machines = [planetary_gear(150.0, planets, by_hand=way) for way in (False, True)]
    least = [np.inf, np.inf]
    for _ in range(9):  # by turns, so that what else the machine does falls on both
        for i, machine in enumerate(machines):
            began = time.process_time()
            simulate(machine, 12.0, rtol=1e-8, save_at=[12.0])
            least[i] = min(least[i], time.process_time() - began)
    assert least[0] < 1.3 * least[1]  # 1.0 with three planets, 1.1 with four


def rows_of_the_start(model, t, q, v, data, count, project):
    """What pivoted QR takes at the start, which leaves 2e-6 of each other half a turn later."""
    return tuple(sorted(int(row) for row in rank_by_rows(terms(model, t, q, v, data)[2])[1][:count]))


def test_rows_that_become_dependent_on_the_way_leave_their_part_to_others(monkeypatch):
    monkeypatch.setattr(rank, "lasting_rows", rows_of_the_start)
    found = simulate(planetary_gear(51.0), 3.0, rtol=1e-8)
    hand = simulate(planetary_gear(51.0, by_hand=True), 3.0, rtol=1e-8)
    assert len(found.t) <= 1.02 * len(hand.t)
    assert abs(change(found) - change(hand)) < 1e-9
    # 24 turns at rtol 1e-8
    assert np.allclose(found["p1"].position[-1], hand["p1"].position[-1], atol=1e-9)


def model_of_gear(turned: float = 0.0):
    sol = simulate(planetary_gear(10.0), 0.1, save_at=[turned], rtol=1e-10)
    return sol.plan, sol.trail.data, np.concatenate([sol.q[-1], sol.v[-1]])


def test_accelerations_beside_the_constraints_are_off_by_the_distance_only():
    plan, data, x = model_of_gear(0.05)
    model, nq, nv = plan.model, plan.model.nq, plan.model.nv
    random = np.random.default_rng(0)
    on = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), data, plan.variant)[nq : nq + nv]
    for distance in (1e-8, 1e-6, 1e-4):
        beside = x.copy()
        beside[:nq] += distance * 0.05 * random.uniform(-1, 1, nq)
        for fn in (Fn.FIELD, Fn.REFINED):
            off = model.evaluate(fn, 0.0, beside, np.zeros(0), data, plan.variant)[nq : nq + nv]
            assert np.max(np.abs(off - on)) < 200 * distance * np.max(np.abs(on)), (fn.name, distance)


def test_the_twin_agrees_with_the_minimum_norm_at_every_position_whatever_rows_it_is_given():
    plan, data, x = model_of_gear(0.03)
    model, nq, nv = plan.model, plan.model.nq, plan.model.nv
    M, f, G, gamma = terms(model, 0.0, x[:nq], x[nq:], data)
    whole = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    wanted = np.linalg.lstsq(whole, np.concatenate([f, -gamma]), rcond=1e-10)[0][:nv]
    random, count = np.random.default_rng(1), len(plan.rows)
    for _ in range(4):
        rows = tuple(sorted(random.choice(len(G), count, replace=False).tolist()))
        out = model.evaluate(Fn.REFINED, 0.0, x, np.zeros(0), data, Variant(kept=rows))
        assert out[-1] >= 1e-3  # the part that rows leave of each other
        assert np.count_nonzero(out[nq + nv : -1] == 0.0) >= len(G) - count
        assert np.allclose(out[nq : nq + nv], wanted, atol=1e-9 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("redundant", ["minimum-norm", "drop"])
def test_multipliers_are_the_smallest_or_zero_where_dropped(redundant):
    machine = planetary_gear(20.0)
    machine.motor("C", torque=0.3)
    sol = simulate(machine, 0.5, save_at=9, redundant=redundant)
    model, short = sol.plan.model, sol.plan.model.n_lam - len(sol.plan.rows)
    for i, t in enumerate(sol.t):
        M, f, G, _ = terms(model, t, sol.q[i], sol.v[i], sol.trail.data)
        least = np.linalg.pinv(G.T, rcond=1e-9) @ (f - M @ sol.a[i])
        assert np.allclose(G.T @ sol.lam[i], G.T @ least, atol=1e-8 * np.linalg.norm(least))
        if redundant == "drop":
            assert np.count_nonzero(sol.lam[i] == 0.0) >= short
        else:
            assert np.linalg.norm(sol.lam[i]) <= 1.001 * np.linalg.norm(least)


def parallelogram(dimension: int) -> Mechanism:
    """Crank and rocker of the same length: it goes through its flat position, where branches meet."""
    pins = {"A": (0, 0), "B": (0.6, 0.8), "C": (2.6, 0.8), "D": (2, 0)}
    P = {name: (*place, 0.0)[:dimension] for name, place in pins.items()}
    m = Mechanism(gravity=(0, -9.81, 0)[:dimension])
    m.body("crank", rod(P["A"], P["B"], mass=1.0))
    m.body("coupler", rod(P["B"], P["C"], mass=2.0))
    m.body("rocker", rod(P["D"], P["C"], mass=1.5))
    for name, first, second in (
        ("A", "ground", "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker"), ("D", "ground", "rocker"),
    ):  # fmt: skip
        m.revolute(name, first, second, at=P[name])
    m.assemble(speeds={"A": -4.0})
    return m


def test_a_singular_position_is_seen_among_redundant_rows():
    flat, space = (simulate(parallelogram(dimension), 1.0, rtol=1e-8) for dimension in (2, 3))
    assert flat.trail.paths and space.trail.paths
    t = np.linspace(0.0, 1.0, 20)
    # two runs at rtol 1e-8
    assert np.allclose(flat(t)["coupler"].position, space(t)["coupler"].position[:, :2], atol=1e-7)


def test_the_indicator_of_singular_positions_does_not_depend_on_the_order_of_rows():
    """ρ of projections beside the smallest eigenvalue that is not zero, 1/Σ(1/s) lying between that over their number and it."""
    plan, data, x = model_of_gear(0.07)
    model = plan.model
    G = terms(model, 0.0, x[: model.nq], x[model.nq :], data)[2]
    random, short = np.random.default_rng(2), len(G) - len(plan.rows)
    for angle in (1.0, 1e-2, 1e-3):  # one more row closer and closer to another
        closer = np.vstack([G, G[0] + angle * np.linalg.norm(G[0]) * random.uniform(-1, 1, G.shape[1])])
        unit = closer / np.linalg.norm(closer, axis=1)[:, None]
        values = np.linalg.eigvalsh(unit @ unit.T)[short:]
        found = []
        for _ in range(4):
            rows = unit[random.permutation(len(unit))]
            A = SX.sym("A", len(unit), len(unit))
            found.append(function_of([A], [factor_even(A, short).rho])(rows @ rows.T).item())
            F = np.empty(factors_length(*rows.shape))
            factor_rows(rows, np.ascontiguousarray(rows.T), F, False, short)
            assert np.isclose(F[0], found[-1], rtol=1e-3)  # as in interpreted models
        # rounding over the number on the diagonal, 1e-16/1e-8, beside 1 - share of 1e-3 and more
        assert np.allclose(found, found[0], rtol=1e-4)
        assert 0.9 / len(values) < found[0] / values[0] < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("redundant", ["minimum-norm", "drop"])
def test_every_row_of_a_bricard_linkage_keeps_to_the_tolerance(redundant):
    sol = simulate(bricard(), 3.0, rtol=1e-8, redundant=redundant)
    assert np.max(sol.drift["position"]) < 1e-12 and np.max(sol.drift["velocity"]) < 1e-12
    assert change(sol) < 1e-8


@pytest.mark.slow
def test_two_coupled_bricard_linkages_run():
    sol = simulate(bricard(two=True), 2.0, rtol=1e-8)
    assert sol.plan.model.n_lam - len(sol.plan.rows) == 2
    assert np.max(sol.drift["position"]) < 1e-12 and np.max(sol.drift["velocity"]) < 1e-11
    assert change(sol) < 1e-8


@pytest.mark.parametrize("stabilization", [PostStabilization(), PostStabilization("full", 1)])
def test_post_stabilization_pulls_all_rows(stabilization):
    sol = simulate(planetary_gear(30.0), 1.0, rtol=1e-8, stabilization=stabilization)
    assert sol.ended == "end"
    assert np.max(sol.drift["position"]) < 1e-10 and np.max(sol.drift["velocity"]) < 1e-8
    assert change(sol) < 1e-8


@pytest.mark.parametrize(
    "methods",
    [
        {"integrator": Radau(), "formulation": Index2()},
        pytest.param({"integrator": Radau(), "formulation": GGL()}, marks=pytest.mark.slow),
        pytest.param({"integrator": BDF()}, marks=pytest.mark.slow),
    ],
)
def test_implicit_methods_keep_rows_that_last(methods):
    sol = simulate(planetary_gear(15.0), 1.0, **methods, rtol=1e-6)
    explicit = simulate(planetary_gear(15.0), 1.0, rtol=1e-8)
    assert sol.ended == "end"
    # 2.4 turns of the carrier at rtol 1e-6
    assert np.allclose(sol["p0"].position[-1], explicit["p0"].position[-1], atol=2e-5)


def test_sweeps_of_gears_go_on_and_give_the_smallest_multipliers():
    runs = sweep(planetary_gear(40.0), 3.0, params={"sun.mass": [1.0, 1.5]}, save_at=5, rtol=1e-8, on="threads")
    alone = simulate(planetary_gear(40.0), 3.0, save_at=5, rtol=1e-8)
    assert not len(runs.failed)
    assert np.allclose(runs.q[0], alone.q, atol=1e-8)
    assert np.allclose(runs.lam[0], alone.lam, atol=1e-6 * np.max(np.abs(alone.lam)))


def test_the_warning_says_how_many_where_and_what_to_do():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        simulate(planetary_gear(3.0), 0.01)
    (text,) = (str(each.message) for each in told if each.category is RedundancyWarning)
    assert text == (
        "2 of 18 constraint rows are redundant: they are among the 17 rows of 'S', 'C', 'R', 'P0', 'sp0', 'pr0' and 6 more. "
        "The motion is unique, the reactions there are not (the smallest are given). Where you need them, leave out "
        "1 of 'pr1' and 1 of 'pr2'; diagnose() lists all rows."
    )
    assert len(diagnose(planetary_gear(3.0)).redundant) == 17


def three_legs():
    """A platform on three parallel legs, one of them redundant; it comes to lie flat on the way, which is a singular position."""
    m = Mechanism(gravity=(0, -9.81))
    up = np.array([0.5, 0.8])
    feet = {"O": (0.0, 0.0), "P": (0.6, 0.0), "C": (1.4, 0.0)}
    platform = m.body("platform", rod(up, up + feet["C"], mass=2.0))
    for name, foot in feet.items():
        leg = m.body(f"leg {name}", rod(foot, up + foot, mass=1.0))
        m.revolute(name, m.ground, leg, at=foot)
        m.revolute(f"top {name}", leg, platform, at=up + foot)
    return m


@pytest.mark.filterwarnings("ignore::holonomic.HandedOverWarning")
@pytest.mark.parametrize(
    "given, redundant", [({"integrator": Radau(), "formulation": GGL()}, "minimum-norm"), ({"integrator": BDF()}, "drop")],
    ids=["Radau", "BDF"],
)  # fmt: skip
def test_implicit_methods_that_are_led_over_a_singular_position_have_multipliers_of_all_rows(given, redundant, tmp_path):
    """They solve for independent rows, the method that leads them for all of them: one run has both."""
    m, half = three_legs(), Event(lambda t: t - 0.5)
    asked = {"redundant": redundant, "events": {"half": half}, "rtol": 1e-8}
    sol, known = simulate(m, 1.5, **asked, **given), simulate(m, 1.5, **asked)
    assert len(sol.trail.parts) > 1 and len({part.trail.arrays[2].shape[1] for part in sol.trail.parts}) == 2
    n = len(sol.plan.model.row_labels)
    assert sol.lam.shape == (len(sol.t), n) and sol.end.lam.shape == (n,) and sol.events["half"].lam.shape == (1, n)
    between = np.linspace(0.1, 1.4, 14)
    np.testing.assert_allclose(sol(between).q, known(between).q, atol=2e-6)
    away = np.abs(known(between).reactions).max()
    np.testing.assert_allclose(sol(between).reactions, known(between).reactions, atol=1e-4 * away)
    sol.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(load(tmp_path / "run.nc").lam, sol.lam)


@pytest.mark.filterwarnings("ignore::holonomic.HandedOverWarning")
def test_members_that_are_led_over_a_singular_position_have_the_multipliers_of_all_rows():
    masses, events = [1.0, 3.0], {"before": Event(lambda t: t - 0.3), "on the way": Event(lambda t: t - 0.5)}
    asked = {"redundant": "minimum-norm", "rtol": 1e-8, "save_at": 7, "events": events}
    runs = sweep(three_legs(), 1.5, params={"leg P.mass": masses}, integrator=Radau(), formulation=GGL(), **asked)
    assert not runs.failed
    for member, mass in enumerate(masses):
        m = three_legs()
        m.params["leg P.mass"] = mass
        known = simulate(m, 1.5, **asked)
        np.testing.assert_allclose(runs.q[member], known.q, atol=2e-6)
        np.testing.assert_allclose(runs.lam[member], known.lam, atol=1e-4 * np.abs(known.lam).max())
        for name in events:
            np.testing.assert_allclose(runs.events[name].of_member(member).q, known.events[name].q, atol=2e-6)


@pytest.mark.parametrize("compile", ["now", "never"])
@pytest.mark.parametrize("bodies", [1, 2, 4, 7])
def test_a_mechanism_that_cannot_move_and_repeats_its_rows_stands_still(bodies, compile):
    """Three pins from body to body: the pivots of the tables leave it open how many rows are independent, their matrix does not."""
    m = Mechanism()
    for i in range(bodies):
        m.body(f"b{i}", at=(i + 0.5, 0.0), mass=1.0, inertia=0.1)
    m.revolute("L", "ground", "b0", at=(0, 0)), m.revolute("M", "ground", "b0", at=(0.5, 0))
    for i in range(bodies - 1):
        for k in range(3):
            m.revolute(f"J{i}{k}", f"b{i}", f"b{i + 1}", at=(i + 1, 0.1 * k))
    m.revolute("R", "ground", f"b{bodies - 1}", at=(bodies, 0))
    rows = 2 * 3 * bodies
    with pytest.warns(RedundancyWarning, match=f"{rows - 3 * bodies} of {rows} constraint rows are redundant"):
        sol = simulate(m, 0.1, compile=compile)
    assert np.abs(sol.q - sol.q[0]).max() < 1e-12
    weight = 9.81 * bodies
    carried = sol["L"].force[-1] + sol["M"].force[-1] + sol["R"].force[-1]
    assert carried == pytest.approx([0.0, weight], abs=1e-9)
