"""A loaded run of a mechanism has every name of the live one, with the same numbers."""

import numpy as np
import pytest

from holonomic import System, load, simulate
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, box, cylinder, disk, rod
from holonomic.multibody.views import PartView

from .machines import slider_crank


def everything(sol, name) -> dict:
    """All that can be read of a part: arrays by attribute."""
    part = sol[name]
    if isinstance(part, np.ndarray):
        return {"": part}
    if not isinstance(part, PartView):  # power
        return {"total": part.total, **part.by_name, **{f"kind {key}": value for key, value in part.by_kind.items()}}
    found = {key: getattr(part, key) for key in part._properties() if key != "reaction"}
    if "reaction" in part._properties():
        for body in ("ground", *list(sol.trail.mechanism.bodies)[:2]):
            seen = part.reaction(frame=body)
            found |= {f"force in {body}": seen.force, f"torque in {body}": seen.torque}
    return found


def machine():
    """In the plane: joints, drives of every kind, springs, functions of the user's, states, inputs, frames, outputs."""
    m = Mechanism()
    m.body("crank", rod((0, 0), (0.3, 0.4), mass=1.0))
    m.body("link", rod((0.3, 0.4), (1.5, 0), mass=2.0))
    m.body("slider", at=(1.5, 0), mass=1.0)
    m.body("wheel", disk((0, 2), 0.2, mass=1.0))
    m.body("arm", box((3, 0), (1.0, 0.2), mass=1.5))
    m.revolute("O", m.ground, "crank", at=(0, 0))
    m.revolute("A", "crank", "link", at=(0.3, 0.4))
    m.revolute("B", "link", "slider", at=(1.5, 0))
    m.prismatic("guide", "slider", m.ground, at=(1.5, 0), axis=(1, 0))
    m.rolling("road", m.ground, "wheel", at=((0, 1.8), (0, 2)), axis=(1, 0), radius=0.2)
    m.revolute("P", m.ground, "arm", at=(2.5, 0))
    m.distance("jack", m.ground, "arm", at=((3, -1), (3, 0)), length=lambda t: 1 + 0.1 * np.sin(3 * t))
    m.drive("O", speed=lambda t: 5 + np.sin(t))
    m.input("valve", lambda t: 1.0 + t)
    m.state("flow", rate=lambda flow, u: u.valve - flow)
    m.spring("coil", "ground", "slider", at=((3, 0.5), (1.5, 0)), stiffness=40.0, damping=2.0)
    m.force("push", "wheel", value=lambda wheel, flow: (flow - wheel.velocity[0], np.linalg.norm(wheel.position)))
    m.friction("O", coefficient=0.1, radius=0.02)
    m.torsion_spring("A", stiffness=2.0)
    m.frame("tool", "link", (0.9, 0.2), axis=(0, 1))
    m.point("tip", "crank", (0.3, 0.5))
    m.output("reach", lambda slider: slider.position[0])
    return m


def robot():
    """In space: a joint that slides and turns, with a motor, and a bushing between two bodies."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("a", cylinder((0, 0, 0), (1, 0, 0.2), radius=0.1, mass=2.0))
    m.body("b", box((1.3, 0.2, 0.2), (0.4, 0.2, 0.3), mass=1.0))
    m.cylindrical("O", m.ground, "a", at=(0, 0, 0), axis=(0.2, 1, 0))
    m.motor("O", torque=lambda t, speed: 20.0 - speed)
    m.bushing("pad", "a", "b", at=(1.3, 0.2, 0.2), stiffness=(90, 70, 80, 3, 2, 4), damping=0.3)
    m.frame("tool", "b", (1.5, 0.2, 0.2), axis=(0, 1, 0), other=(0, 0, 1))
    return m


@pytest.mark.parametrize("make", [machine, robot])
def test_every_name_of_a_mechanism_is_there_after_loading_with_the_same_numbers(make, tmp_path):
    sol = simulate(make(), 0.3)
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    names = [*sol.trail.mechanism.names, *sol.plan.model.output_shapes, *sol.plan.model.coordinates, *make().states]
    assert loaded.trail.mechanism.names == sol.trail.mechanism.names
    for name in names:
        live, again = everything(sol, name), everything(loaded, name)
        assert list(again) == list(live), name
        for key, values in live.items():
            # the same formulas on the same bits, but for sums in another order
            np.testing.assert_allclose(again[key], values, rtol=1e-12, atol=1e-12, err_msg=f"{name}.{key}")
        assert repr(loaded[name]) == repr(sol[name])
    some = next(iter(sol.trail.mechanism.joints))
    np.testing.assert_allclose(loaded.reaction(some), sol.reaction(some), atol=1e-10)
    np.testing.assert_array_equal(loaded[f"{some}.force"], loaded[some].force)


def test_a_loaded_run_is_written_as_tables_viewed_and_saved_again_like_the_live_one(tmp_path):
    sol = simulate(slider_crank(speed=5.0), 0.2)
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    sol.to_csv(tmp_path / "live.csv")
    loaded.to_csv(tmp_path / "loaded.csv")
    assert (tmp_path / "loaded.csv").read_text() == (tmp_path / "live.csv").read_text()
    loaded.save(tmp_path / "again.nc")
    np.testing.assert_array_equal(load(tmp_path / "again.nc")["A"].force, sol["A"].force)
    for run, name in ((sol, "live.html"), (loaded, "loaded.html")):
        run.view(path=tmp_path / name, signals=["A.force", "O.angle", "O drive.power", "guide.speed"], show=False)
    signals = [page.read_text().count("O drive.power") for page in (tmp_path / "live.html", tmp_path / "loaded.html")]
    assert signals[0] == signals[1] > 0


def test_between_its_times_a_loaded_run_has_the_forces_of_the_live_one(tmp_path):
    sol = simulate(slider_crank(speed=5.0), 0.2, save_at=201)
    sol.save(tmp_path / "run.nc")
    loaded, there = load(tmp_path / "run.nc"), np.array([0.0373, 0.1234])
    # cubic between times 1e-3 s apart, in a motion whose forces change by 20/s: (20 * 1e-3)^3 of them
    np.testing.assert_allclose(loaded(there)["A"].force, sol(there)["A"].force, rtol=1e-4)
    np.testing.assert_allclose(loaded(there)["O drive"].power, sol(there)["O drive"].power, rtol=1e-4, atol=1e-3)
    assert loaded(0.05)["A"].force.shape == (2,)


def test_impulses_are_saved_too(tmp_path):
    m = Mechanism(gravity=(0, 0))
    m.revolute("P", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=2.0)), at=(0, 0))
    sol = simulate(m, 0.1, v0=[0, -4.0, 0], initial="impact")
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    np.testing.assert_array_equal(loaded["P"].impulse, sol["P"].impulse)
    np.testing.assert_array_equal(loaded.impulses, sol.impulses)
    assert str(loaded).splitlines()[-3].split() == str(sol).splitlines()[-2].split()


def test_reactions_of_single_constraints_of_a_system_are_saved(tmp_path):
    rods = {"first": lambda q: q[:2] @ q[:2] - 1, "second": lambda q: (q[2:] - q[:2]) @ (q[2:] - q[:2]) - 1}
    pair = System(mass=np.eye(4), force=[0, -9.81, 0, -9.81], constraint=rods)
    sol = simulate(pair, 1.0, q0=[1, 0, 2, 0], v0=np.zeros(4))
    sol.save(tmp_path / "run.nc")
    loaded = load(tmp_path / "run.nc")
    for label in rods:
        np.testing.assert_array_equal(loaded.reaction(label), sol.reaction(label))
    with pytest.raises(BadArgument, match="the run did not begin with an impact"):
        loaded.impulses


def test_a_file_without_the_parts_of_its_mechanism_is_refused(tmp_path, monkeypatch):
    """Joints would read as raw multipliers, which have the other sign."""
    sol = simulate(slider_crank(speed=5.0), 0.1)
    monkeypatch.setattr("holonomic.results.acting.entries", lambda sol: ({}, {}))
    sol.save(tmp_path / "run.nc")
    monkeypatch.undo()
    with pytest.raises(BadArgument, match=r"run\.nc was written by an early holonomic, without the parts of its mechanism"):
        load(tmp_path / "run.nc")
