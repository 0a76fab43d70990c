"""Sweeps of tables begin and go on with the methods that `simulate` takes, implicit ones, too."""

import numpy as np
import pytest

from holonomic import BDF, BadArgument, Event, Index2, Projection, Radau, simulate, sweep
from holonomic.multibody import Mechanism

MASSES = [0.1, 0.2, 0.4]


def rope(links: int, damping: float = 0.0) -> Mechanism:
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * links, 0)), links=links, mass=0.1 * links, first=m.ground)
    for i in range(links if damping else 0):
        m.torsion_spring(f"rope pin {i}", stiffness=100 * damping, damping=damping)
    return m


def agree(m: Mechanism, t_end: float, **given):
    """Run three members in a sweep and one by one; return the ensemble."""
    name = "rope 0.mass"
    runs = sweep(m, t_end, params={name: MASSES}, compile="never", **given)
    assert not runs.failed and runs.plan.tier == "tables"
    for mass, q in zip(MASSES, runs.q, strict=True):
        m.params[name] = mass
        assert np.array_equal(simulate(m, t_end, compile="never", save_at=2, **given).q, q)
    return runs


@pytest.mark.parametrize("integrator", [Radau(), BDF()])
def test_implicit_methods_that_are_named(integrator):
    agree(rope(6), 0.1, rtol=1e-5, integrator=integrator, formulation=Index2(), stabilization=Projection())


def test_stiff_members_are_implicit_by_themselves():
    runs = agree(rope(8, damping=50.0), 0.1, rtol=1e-4)
    assert "Radau" in repr(runs.plan) and max(runs.steps) < 200


def test_calm_members_are_explicit_by_themselves():
    assert "DOP853" in repr(agree(rope(8), 0.1, rtol=1e-6).plan)


def test_threads_give_the_same_numbers():
    m = rope(8, damping=50.0)
    params = {"rope 0.mass": np.linspace(0.1, 0.4, 9)}
    one, two = (sweep(m, 0.1, rtol=1e-4, params=params, compile="never", workers=workers) for workers in (1, 3))
    assert np.array_equal(one.q, two.q)


def test_stores_of_tables_are_resumed_by_tables_alone(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    params = {"rope 0.mass": MASSES}
    runs = sweep(rope(5), 0.05, params=params, compile="never")
    stored = sweep(rope(5), 0.05, params=params, compile="never", store=tmp_path / "runs")
    assert np.array_equal(stored.q, runs.q) and stored.provenance.tier == "tables"
    again = sweep(rope(5), 0.05, params=params, compile="never", store=tmp_path / "runs", resume=True)
    assert np.array_equal(again.q, runs.q)
    for other, given in ((rope(5), "now"), (rope(5, damping=1.0), "never"), (rope(6), "never")):
        with pytest.raises(BadArgument, match=r"cannot be resumed: it was made with .*another system"):
            sweep(other, 0.05, params=params, compile=given, store=tmp_path / "runs", resume=True)


def test_a_store_is_refused_where_equations_cannot_be_told(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    loaded, watched, told = rope(3), rope(3), rope(3)
    loaded.friction("rope pin 1", coefficient=0.1, radius=0.01)
    told.output("twice", lambda t: 2.0 * t)
    stop = {"stop": Event(lambda t: t - 0.005, terminal=True)}
    for m, given in ((loaded, {}), (watched, {"events": stop}), (told, {})):
        with pytest.raises(BadArgument, match=r'store= needs to tell .*compile="now"'):
            sweep(m, 0.01, params={"rope 0.mass": MASSES}, compile="never", store=tmp_path / "runs", **given)


@pytest.mark.parametrize("compile", ["now", "never"])
def test_members_of_a_mechanism_without_joints_are_read_by_name_as_runs_are(compile):
    def hanging(mass):
        m = Mechanism()
        m.body("b", at=(0, 0), mass=mass, inertia=1.0)
        m.spring("tie", "ground", "b", at=((0, 1), (0, 0)), stiffness=10.0)
        return m

    runs = sweep(hanging(1.0), 0.2, params={"b.mass": [1.0, 2.0]}, save_at=3, compile=compile)
    for number, mass in enumerate([1.0, 2.0]):
        sol = simulate(hanging(mass), 0.2, save_at=3, compile=compile)
        for name in ("energy.kinetic", "b.position", "b.velocity", "tie.force"):
            part, _, quantity = name.partition(".")
            want = getattr(sol[part], quantity)
            assert runs[name][number] == pytest.approx(want, abs=1e-9)
            assert getattr(runs[part], quantity)[number] == pytest.approx(want, abs=1e-9)
            assert getattr(runs[number][part], quantity) == pytest.approx(want, abs=1e-9)
