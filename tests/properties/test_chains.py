"""What must hold for any chain: projection, drift, relabelling, units, energy, reversal of time."""

import numpy as np
import pytest
from chains import QUICK, chain, numbers, start, swinging_chains
from hypothesis import given
from hypothesis import strategies as st

from holonomic import DOP853, RK4, RK45, Projection, S_both2, simulate
from holonomic.errors import OK
from holonomic.kernels.memory import RUN
from holonomic.kernels.signatures import Fn
from holonomic.loop.from_python import pull_compiled
from holonomic.study.order import drift_sizes


def pulled(sol, t, x):
    """x after one pull of this solution's stabilization, called as the step loop calls it."""
    plan = sol.plan
    moved, W = x.copy(), np.zeros(plan.size.work_end + 8)
    status = pull_compiled(plan.slots, plan.for_kernels(sol.trail.data), plan.stabilization.sp, RUN.new(), t, moved, W)
    assert status == OK
    return moved


@QUICK
@given(swinging_chains(), st.integers(0, 2**32 - 1), st.floats(-7, -2))
def test_projecting_twice_is_projecting_once(case, seed, exponent):
    system, q, v = case
    tol = 1e-12
    sol = simulate(system, 1e-3, q0=q, v0=v, integrator=RK4(), stabilization=Projection(tol), step=1e-3)
    x = np.concatenate([q, v])
    off = x + 10.0**exponent * np.random.default_rng(seed).uniform(-1, 1, len(x))
    once = pulled(sol, 0.0, off)
    twice = pulled(sol, 0.0, once)
    assert np.max(np.abs(once - off)) > 0.0
    # what is left is below the tolerance, so the second time moves nothing further than that, velocities
    # by their rounding times the size of v over the shortest rod
    nq = len(q)
    assert np.max(np.abs(twice - once)[:nq]) <= tol * max(1.0, np.linalg.norm(q))
    assert np.max(np.abs(twice - once)[nq:]) <= 1e-12 * max(1.0, np.linalg.norm(once[nq:]))


@QUICK
@given(swinging_chains(), st.integers(0, 2**32 - 1), st.floats(-7, -3))
def test_projection_moves_no_further_than_needed(case, seed, exponent):
    """The way back is shortest: to first order it is at right angles to all directions left free."""
    system, q, v = case
    sol = simulate(system, 1e-3, q0=q, v0=v, integrator=RK4(), stabilization=Projection(1e-13), step=1e-3)
    nq = len(q)
    size = 10.0**exponent
    off = np.concatenate([q + size * np.random.default_rng(seed).uniform(-1, 1, nq), v])
    back = pulled(sol, 0.0, off)[:nq] - off[:nq]
    G = constraint_rows(sol, q, v)
    free = np.linalg.svd(G)[2][len(G) :]
    # G turns by size/length over the way, and the way is at most about size/(smallest singular value)
    least = np.linalg.svd(G, compute_uv=False)[-1]
    bend = np.max(np.abs(free @ back), initial=0.0)
    assert bend <= 100 * (size * np.linalg.norm(G) / least) ** 2 / np.linalg.norm(G) + 1e-14


def constraint_rows(sol, q, v):
    model = sol.plan.model
    flat = model.evaluate(Fn.TERMS, 0.0, np.concatenate([q, v]), np.zeros(0), sol.trail.data)
    nq, nv, nl = model.nq, model.nv, model.n_lam
    at = nq + nv * nv + nv
    return flat[at : at + nl * nv].reshape(nl, nv)


@QUICK
@given(swinging_chains(), st.sampled_from([1e-3, 1e-6, 1e-9, 1e-12]), st.sampled_from([DOP853(), RK45()]))
def test_drift_is_never_above_its_tolerance(case, rtol, integrator):
    system, q, v = case
    sol = simulate(system, 1.0, q0=q, v0=v, integrator=integrator, rtol=rtol, atol=rtol / 100)
    drift = drift_sizes(sol)
    # the norms of rows in the kernel are those of the point before its last Newton step
    assert drift["position"] <= 1.001 * min(1e-10, rtol / 10)
    assert drift["velocity"] <= 1e-13


@QUICK
@given(swinging_chains(), st.sampled_from([1e-4, 1e-7]))
def test_drift_at_times_between_the_steps_is_not_above_its_tolerance_either(case, rtol):
    system, q, v = case
    sol = simulate(system, 1.0, q0=q, v0=v, rtol=rtol, save_at=17)
    drift = drift_sizes(sol)
    assert drift["position"] <= 1.001 * min(1e-10, rtol / 10)
    assert drift["velocity"] <= 1e-13


@st.composite
def relabelled(draw):
    """A chain, and the same chain with coordinates and constraints in another order."""
    n = draw(st.integers(2, 3))
    order = draw(st.permutations(range(2 * n)))
    rows = draw(st.permutations(range(n)))
    params = {"length": draw(numbers(0.5, 2.0, n)), "mass": draw(numbers(0.2, 5.0, n))}
    q, v = start(params["length"], draw(numbers(-1.5, 1.5, n)), draw(numbers(-2.0, 2.0, n)))
    other = chain(n, tuple(order), tuple(rows)).with_params(**params)
    return chain(n).with_params(**params), other, order, rows, q, v


@QUICK
@given(relabelled(), st.sampled_from([None, Projection(1e-13), S_both2()]))
def test_relabelling_changes_nothing_but_roundoff(case, stabilization):
    """1e-11: rounding in another order, times what a second of swinging makes of it (1e-14 is usual)."""
    one, other, order, rows, q, v = case
    order, rows = list(order), list(rows)
    run = {"integrator": RK4(), "stabilization": stabilization, "step": 0.01}
    plain = simulate(one, 1.0, q0=q, v0=v, **run)
    mixed = simulate(other, 1.0, q0=q[order], v0=v[order], **run)
    assert mixed.q == pytest.approx(plain.q[:, order], abs=1e-11)
    assert mixed.v == pytest.approx(plain.v[:, order], abs=1e-11)
    assert mixed.lam == pytest.approx(plain.lam[:, rows], rel=1e-9, abs=1e-9)


@QUICK
@given(swinging_chains(), st.floats(-6, 6), st.floats(-6, 6))
def test_units_of_a_constraint_do_not_matter(case, first, last):
    """Positions agree to 10 times the constraint tolerance, the multipliers scale with the rows."""
    system, q, v = case
    n = len(q) // 2
    scale = np.ones(n)
    scale[0], scale[-1] = 10.0**first, 10.0**last
    tol = 1e-10
    run = {"integrator": RK4(), "stabilization": Projection(tol), "step": 0.01}
    plain = simulate(system, 0.5, q0=q, v0=v, **run)
    scaled = simulate(system.with_params(scale=scale), 0.5, q0=q, v0=v, **run)
    assert np.max(np.abs(scaled.q - plain.q)) <= 10 * tol
    assert scaled.lam * scale == pytest.approx(plain.lam, rel=1e-6, abs=1e-6 * np.max(np.abs(plain.lam)))


def energies(sol):
    rows = zip(sol.t, sol.q, sol.v, strict=True)
    evaluate = sol.plan.model.evaluate
    return np.array([evaluate(Fn.ENERGY, t, np.concatenate([q, v]), np.zeros(0), sol.trail.data) for t, q, v in rows])


@QUICK
@given(swinging_chains(), st.sampled_from([1e-5, 1e-7, 1e-9]))
def test_energy_is_kept_in_proportion_to_the_tolerance(case, rtol):
    """The error per step is rtol, and a motion of this length makes a few of it."""
    system, q, v = case
    sol = simulate(system, 2.0, q0=q, v0=v, rtol=rtol, atol=rtol / 100)
    kinetic, potential = energies(sol).T
    scale = np.max(kinetic) + np.ptp(potential)
    lost = np.max(np.abs(kinetic + potential - kinetic[0] - potential[0]))
    assert lost <= 100 * rtol * scale + 1e-13 * np.max(np.abs(potential))  # the last term is its rounding


@QUICK
@given(swinging_chains(most=2), st.sampled_from([1e-8, 1e-10]))
def test_reversing_time_returns_to_the_start(case, rtol):
    """Two ways of one second, each with an error of some rtol in q and some ten rtol in v."""
    system, q, v = case
    there = simulate(system, 1.0, q0=q, v0=v, rtol=rtol, atol=rtol / 100)
    back = simulate(system, (1.0, 0.0), q0=there.end.q, v0=there.end.v, rtol=rtol, atol=rtol / 100)
    assert back.t[-1] == 0.0
    assert np.max(np.abs(back.q[-1] - q)) <= 1e3 * rtol
    assert np.max(np.abs(back.v[-1] - v)) <= 1e4 * rtol


@QUICK
@given(swinging_chains())
def test_running_back_equals_running_the_mirrored_motion(case):
    """For a conservative system (q, v) at -t is (q, -v) at t; the same steps give it to the last bits."""
    system, q, v = case
    run = {"integrator": RK4(), "stabilization": S_both2(), "step": 0.01}
    back = simulate(system, (0.0, -0.3), q0=q, v0=v, **run)
    mirrored = simulate(system, (0.0, 0.3), q0=q, v0=-v, **run)
    assert back.q == pytest.approx(mirrored.q, abs=1e-12)
    assert back.v == pytest.approx(-mirrored.v, abs=1e-11)
