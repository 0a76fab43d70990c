"""Impacts on tables: at a start, by events that map the state; and coordinates that are held."""

import numpy as np
import pytest

from holonomic import DOP853, RK4, Event, load, simulate, sweep
from holonomic.errors import InconsistentState
from holonomic.starting.rank import terms

from .machines import four_bar, planetary_gear, slider_crank
from .test_tables import arm, ball_chain, chain, sleigh
from .test_tables_know_all import WHOLE, point_on_two_pins

HOW = {"integrator": DOP853(), "save_at": 3}


def pushed(m):
    """Where a mechanism stands, and velocities that its joints do not allow."""
    return m.assembly.q, m.assembly.v + np.random.default_rng(3).uniform(-1, 1, len(m.assembly.v))


@pytest.mark.parametrize("make", [slider_crank, sleigh, arm, lambda: ball_chain(3), point_on_two_pins],
                         ids=["slider-crank", "sleigh", "arm", "ball chain", "a body without inertia"])  # fmt: skip
def test_impulses_at_a_start_are_those_of_compiled_code(make):
    q, v = pushed(make())
    sol, known = (simulate(make(), 0.05, q0=q, v0=v, initial="impact", compile=tier, **HOW) for tier in ("never", "now"))
    assert sol.v[0] == pytest.approx(known.v[0], abs=1e-12) and sol.impulses == pytest.approx(known.impulses, abs=1e-12)
    for name in make().joints:
        assert sol[name].impulse == pytest.approx(known[name].impulse, abs=1e-12)
    assert np.abs(sol.q - known.q).max() < 1e-7 and sol.plan.tier == "tables"


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_rows_that_repeat_others_share_an_impulse():
    for make in (lambda: planetary_gear(5.0), lambda: four_bar(3)):
        q, v = pushed(make())
        sol, known = (simulate(make(), 0.02, q0=q, v0=v, initial="impact", compile=tier, **HOW) for tier in ("never", "now"))
        assert sol.v[0] == pytest.approx(known.v[0], abs=1e-12) and sol.impulses == pytest.approx(known.impulses, abs=1e-12)
        # the smallest, to 1e-16/ε
        assert sol.trail.impact.by_row.toarray() == pytest.approx(known.trail.impact.by_row, abs=1e-6)


def test_an_impact_moves_no_position():
    q, v = pushed(slider_crank())
    with pytest.raises(InconsistentState, match=r"Correct q0: an impact changes velocities alone\."):
        simulate(slider_crank(), 0.1, q0=q + 1e-3, v0=v, initial="impact", compile="never")


def kicked():
    """A chain whose last link is thrown back where it falls below a height."""

    def back(q, v):
        return q, v * np.where(np.arange(len(v)) == 10, -0.8, 1.0)

    return chain(4, length=0.3), {"floor": Event(lambda q: q[10] + 0.5, direction="falling", then=back)}


def test_events_that_map_the_state_act_as_on_compiled_code(tmp_path):
    m, events = kicked()
    sol, known = (simulate(m, 0.8, events=events, compile=tier, integrator=DOP853(), save_at=9) for tier in ("never", "now"))
    log, other = sol.events["floor"], known.events["floor"]
    assert len(log.t) == len(other.t) >= 3 and log.t == pytest.approx(other.t, abs=1e-8)
    assert log.impulses == pytest.approx(other.impulses, abs=1e-6) and np.abs(sol.q - known.q).max() < 1e-7
    assert np.abs(sol.drift["velocity"]).max() < 1e-10
    sol.save(tmp_path / "run.nc")
    assert np.array_equal(load(tmp_path / "run.nc").events["floor"].impulses, log.impulses)


def test_members_of_a_sweep_of_tables_begin_with_impacts():
    m = four_bar()
    q, v = pushed(m)
    how = {"params": {"b.mass": [0.5, 2.0]}, "q0": q, "v0": v, "initial": "impact", "progress": False} | HOW
    runs, known = (sweep(m, 0.05, compile=tier, **how) for tier in ("never", "now"))
    assert not runs.failed and np.abs(runs.q - known.q).max() < 1e-7
    assert runs.impulses == pytest.approx(known.impulses, abs=1e-12)
    m, events = kicked()
    how = {"params": {"link 3.mass": [0.1, 0.3]}, "events": events, "save_at": 3, "integrator": DOP853(), "progress": False}
    runs, known = (sweep(m, 0.6, compile=tier, **how) for tier in ("never", "now"))
    assert not runs.failed and np.abs(runs.q - known.q).max() < 1e-7


@pytest.mark.parametrize("make", [four_bar, lambda: ball_chain(3)], ids=["four-bar", "ball chain"])
def test_coordinates_that_are_held_stay(make):
    q, v = pushed(make())
    off = q + 1e-3 * np.random.default_rng(0).uniform(-1, 1, len(q))
    how = {"q0": off, "v0": v, "initial": "project", "hold": [2]} | HOW
    sol, known = (simulate(make(), 0.05, compile=tier, **how) for tier in ("never", "now"))
    assert sol.q[0][2] == off[2] and sol.q[0] == pytest.approx(known.q[0], abs=1e-10)
    assert sol.v[0] == pytest.approx(known.v[0], abs=1e-9)


def test_impulses_on_a_thousand_rods_are_those_of_the_masses():
    m = chain(1000)
    q, v = m.assembly.q, np.zeros(3000)
    v[-2] = -1.0  # the tip is hit
    sol = simulate(m, 1e-5, q0=q, v0=v, initial="impact", step=1e-5, integrator=RK4())
    assert sol.plan.tier == "tables" and np.abs(sol.drift["velocity"][0]).max() < 1e-12
    masses = np.concatenate([[m.params[f"link {i}.mass"]] * 2 + [m.params[f"link {i}.inertia"]] for i in range(1000)])
    assert sol.impulses == pytest.approx(masses * (sol.v[0] - v), abs=1e-13)  # -GᵀΛ = M (v⁺ - v)
    assert 2.0 * sol.impulses @ sol.v[0] == pytest.approx(0.0, abs=1e-12)  # it does no work on what the joints allow
    by_joint = np.concatenate([sol[name].impulse for name in list(m.joints)[-2:]])
    assert np.all(np.isfinite(by_joint)) and np.abs(by_joint).max() > 1e-3


def test_events_map_states_of_a_thousand_rods():
    def back(q, v):
        return q, v * np.where(np.arange(len(v)) == 2998, -0.5, 1.0)

    m, events = chain(1000), {"floor": Event(lambda q: q[-2] + 0.002, direction="falling", then=back)}
    sol = simulate(m, 0.03, events=events)
    log = sol.events["floor"]
    assert sol.plan.tier == "tables" and len(log) >= 1 and np.abs(sol.drift["velocity"]).max() < 1e-10
    after = sol.trail.impacts[0][2]
    assert log.impulses[0] == pytest.approx(after.impulses) and log.impulses.shape == (len(log), 3000)
    last = log.impulse(list(m.joints)[-1])[0]
    assert last[-3:] == pytest.approx(log.impulses[0][-3:], abs=1e-15)  # no other joint acts there


def test_held_coordinates_of_a_thousand_bodies_stay():
    m = chain(1000)
    off = m.assembly.q + 1e-4 * np.random.default_rng(0).uniform(-1, 1, 3000)
    sol = simulate(m, 1e-5, q0=off, v0=m.assembly.v, initial="project", hold=[1501], step=1e-5, integrator=RK4())
    assert sol.q[0][1501] == off[1501] and np.abs(sol.drift["position"]).max() < 1e-8 and np.abs(sol.q[0] - off).max() < 1e-2


@pytest.mark.parametrize("make", WHOLE.values(), ids=WHOLE)
def test_impulses_from_the_whole_matrix_balance(make):
    q, v = pushed(make())
    sol = simulate(make(), 1e-4, q0=q, v0=v, initial="impact", compile="never", step=1e-4, integrator=RK4())
    M = terms(sol.plan.model, 0.0, sol.q[0], sol.v[0], sol.trail.data)[0] if sol.plan.model.has_terms else None
    assert np.abs(sol.drift["velocity"][0]).max() < 1e-10 * (1.0 + np.abs(sol.v).max())
    if M is not None:
        assert sol.impulses == pytest.approx(M @ (sol.v[0] - v), rel=1e-9, abs=1e-9 * np.abs(sol.impulses).max())


def test_held_coordinates_that_leave_no_way_are_refused():
    q, v = pushed(four_bar())
    with pytest.raises(InconsistentState, match=r"^q0 cannot be moved onto the constraints with the held coordinates \(30 Gauss"):
        simulate(four_bar(), 0.1, q0=q + 0.01, v0=v, initial="project", hold=[0, 1, 3, 4, 6], compile="never")


@pytest.mark.parametrize("make", [lambda: chain(4), lambda: ball_chain(3), sleigh], ids=["chain", "balls", "sleigh"])
def test_starts_are_projected_to_where_compiled_code_begins(make):
    m = make()
    off = np.linspace(-0.02, 0.02, len(m.assembly.q))
    speeds = np.linspace(0.5, -0.3, len(m.assembly.v))
    starts = []
    for compiled in ("never", "now"):
        sol = simulate(make(), 1e-3, q0=m.assembly.q + off, v0=speeds, initial="project", compile=compiled)
        starts.append(np.concatenate([sol.q[0], sol.v[0]]))
    # both end their iteration within the tolerance of the constraints, 1e-10
    assert starts[0] == pytest.approx(starts[1], abs=1e-9) and np.abs(starts[0][: len(off)] - m.assembly.q).max() > 1e-3


@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_starts_are_projected_where_rows_repeat_others_on_the_constraints_alone():
    q, v = pushed(four_bar(3))  # three rows of hinges repeat others
    off = q + 1e-4 * np.random.default_rng(0).uniform(-1, 1, len(q))
    how = {"q0": off, "v0": v, "initial": "project"} | HOW
    sol = simulate(four_bar(3), 0.01, compile="never", **how)
    assert np.abs(sol.drift["position"]).max() < 1e-9 and np.abs(sol.q[0] - off).max() < 1e-3
