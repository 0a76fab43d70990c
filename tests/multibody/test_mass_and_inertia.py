"""The inertia of shapes grows with their mass, in a mechanism, a system, a sweep and a derivative; one's own inertia does not."""

import numpy as np
import pytest

from holonomic import gradient, load, simulate, sweep
from holonomic.multibody import Mechanism, box, equilibrium, rod


def swing(mass=2.0):
    """A rod on a torsion spring in a field without weight: its period is that of its inertia alone."""
    m = Mechanism(gravity=(0, 0))
    m.revolute("O", m.ground, m.body("link", rod((0, 0), (1, 0), mass=mass)), at=(0, 0))
    m.torsion_spring("O", stiffness=5.0, angle=0.5)
    return m


def own():
    """The same, its inertia given in numbers."""
    m = Mechanism(gravity=(0, 0))
    m.revolute("O", m.ground, m.body("link", at=(0.5, 0), mass=2.0, inertia=2.0 / 12), at=(0, 0))
    m.torsion_spring("O", stiffness=5.0, angle=0.5)
    return m


def test_a_rod_with_another_mass_is_a_rod_drawn_with_that_mass():
    m = swing()
    m.params["link.mass"] = 6.0
    assert m.params["link.inertia"] == pytest.approx(6.0 / 12)
    runs = [simulate(each, 1.0, save_at=4) for each in (m, swing(6.0))]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    np.testing.assert_allclose(runs[0]["link"].kinetic, runs[1]["link"].kinetic, atol=1e-12)
    np.testing.assert_allclose(runs[0]["link"].kinetic, runs[0].energy.kinetic, atol=1e-12)


def test_a_sweep_over_masses_draws_every_member_with_its_mass():
    masses = np.array([1.0, 2.0, 8.0])
    runs = sweep(swing(), 1.0, params={"link.mass": masses}, save_at=4)
    for member, mass in enumerate(masses):
        alone = simulate(swing(mass), 1.0, save_at=4)
        np.testing.assert_allclose(runs["O"].angle[member], alone["O"].angle, atol=1e-9)
        np.testing.assert_allclose(runs["link"].kinetic[member], alone["link"].kinetic, atol=1e-9)
    system, q, v = swing().to_system()
    alone = simulate(system.with_params(**{"link.mass": 8.0}), 1.0, q0=q, v0=v, save_at=4)
    np.testing.assert_allclose(alone["O"].angle, runs["O"].angle[2], atol=1e-9)


def test_where_mass_and_inertia_are_both_swept_each_is_what_it_is_said_to_be():
    masses, inertias = np.array([1.0, 4.0]), np.array([0.3, 0.2])
    runs = sweep(swing(), 1.0, params={"link.mass": masses, "link.inertia": inertias}, save_at=4)
    for member in range(2):
        m = own()
        m.params["link.mass"], m.params["link.inertia"] = masses[member], inertias[member]
        np.testing.assert_allclose(runs["O"].angle[member], simulate(m, 1.0, save_at=4)["O"].angle, atol=1e-9)


def test_the_derivative_by_a_mass_moves_the_inertia_too():
    """Acceleration at the start is 5 * 0.5/(m l²/3): its derivative by m is -1/m of it."""
    value, grad = gradient(lambda sol: sol["link"].angular_acceleration[0], swing(), 0.1, wrt="link.mass", save_at=2)
    assert value == pytest.approx(3.75)
    assert grad["link.mass"] == pytest.approx(-3.75 / 2)


def test_an_inertia_that_was_given_or_set_stays():
    m = own()
    m.params["link.mass"] = 6.0
    assert m.params["link.inertia"] == 2.0 / 12
    other = swing()
    other.params["link.inertia"] = 2.0 / 12
    other.params["link.mass"] = 6.0
    assert other.params["link.inertia"] == 2.0 / 12
    runs = [simulate(each, 1.0, save_at=4) for each in (m, other)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    swept = [sweep(each, 1.0, params={"link.mass": [1.0, 3.0]}, save_at=4) for each in (own(), other)]
    np.testing.assert_allclose(swept[0].q, swept[1].q, atol=1e-9)


def test_in_space_every_entry_grows_and_a_loaded_run_knows_it(tmp_path):
    m = Mechanism(gravity=(0, 0, 0))
    m.body("brick", box((0, 0, 0), (1, 0.5, 0.2), mass=3.0), at=(0, 0, 0), angle=np.eye(3))
    before = {key: value for key, value in m.params.items() if "inertia" in key}
    m.params["brick.mass"] = 1.5
    assert all(m.params[key] == pytest.approx(value / 2) for key, value in before.items())
    sol = simulate(m.to_system()[0].with_params(**{"brick.mass": 6.0}), 0.2, q0=m.assembly.q, v0=[1, 0, 0, 2, 3, 1])
    wanted = 3.0 + sum(2 * before[f"brick.inertia.{axis}{axis}"] * w**2 for axis, w in zip("xyz", (2, 3, 1), strict=True)) / 2
    assert sol["brick"].kinetic[0] == pytest.approx(wanted)
    sol.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(load(tmp_path / "run.nc")["brick"].kinetic, sol["brick"].kinetic)


def test_equilibrium_reads_masses_that_were_set():
    m = Mechanism()
    m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=2.0)), at=(0, 0))
    m.params["bar.mass"] = 4.0
    assert equilibrium(m)["O"].force == pytest.approx([0, 4 * 9.81])
