"""Dotted names: every number can be read, set and swept, and means what is drawn."""

import numpy as np
import pytest

from holonomic import simulate, sweep
from holonomic.multibody import Mechanism, rod

from .machines import four_bar, slider_crank


def test_every_number_has_a_dotted_name():
    m = four_bar()
    m.spring("s", m.ground, "b", at=((1, 3), (1, 1.5)), stiffness=40.0)
    m.friction("D", coulomb=0.1)
    names = ["gravity.y", "a.mass", "a.inertia", "a.x", "B.x", "B.y", "s.stiffness", "s.length", "s.first.x", "D friction.coulomb"]
    assert set(names) <= set(m.params)
    assert m.params["s.length"] == pytest.approx(1.5)


def test_setting_a_mass_is_building_with_that_mass():
    m, other = four_bar(), four_bar()
    m.params["b.mass"] = 5.0
    heavy = Mechanism()
    P = {"A": (0, 0), "B": (0, 1), "C": (2, 2), "D": (2.5, 0)}
    bodies = [heavy.ground]
    for name, first, last, mass in (("a", "A", "B", 1.0), ("b", "B", "C", 5.0), ("c", "D", "C", 1.5)):
        bodies.append(heavy.body(name, rod(P[first], P[last], mass=mass)))
    for name, i, j in (("A", 0, 1), ("B", 1, 2), ("C", 2, 3), ("D", 0, 3)):
        heavy.revolute(name, bodies[i], bodies[j], at=P[name])
    runs = [simulate(each, 1.0, save_at=3) for each in (m, heavy, other)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    assert np.abs(runs[0].q - runs[2].q).max() > 1e-3


def test_moving_a_joint_is_drawing_it_elsewhere():
    m = slider_crank(speed=3.0)
    m.params["A.x"] += 0.05
    redrawn = Mechanism()
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    crank, link = redrawn.body("crank", rod(O, A, mass=1.0)), redrawn.body("link", rod(A, B, mass=2.0))
    slider = redrawn.body("slider", at=B, mass=1.0)
    redrawn.revolute("O", redrawn.ground, crank, at=O)
    redrawn.revolute("A", crank, link, at=(0.30, 0.433))
    redrawn.revolute("B", link, slider, at=B)
    redrawn.prismatic("guide", redrawn.ground, slider, at=B, axis=(1, 0))
    redrawn.drive("O", speed=3.0)
    runs = [simulate(each, 1.0, save_at=5) for each in (m, redrawn)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)


def test_the_system_takes_dotted_names_too():
    system, q, v = slider_crank().to_system()
    heavy = system.with_params(**{"slider.mass": 7.0})
    sol = simulate(heavy, 0.1, q0=q, v0=v)
    assert sol["slider"].kinetic[-1] == pytest.approx(3.5 * sol["slider"].velocity[-1, 0] ** 2)
    assert system.params["slider.mass"] == 1.0


def test_mechanisms_that_differ_in_numbers_share_one_compiled_model():
    m = slider_crank()
    simulate(m, 0.1)
    first = m.to_system()[0]
    m.params["link.mass"] = 4.0
    simulate(m, 0.1)
    second = m.to_system()[0]
    assert first is not second
    models = [next(iter(system.made.models.values())) for system in (first, second)]
    assert models[0].structure == models[1].structure


def test_linkages_drawn_elsewhere_and_larger_run_on_the_same_machine_code():
    random = np.random.default_rng(3)
    codes = set()
    for size in (0.01, 0.3, 1.0, 7.0):  # sizes of bodies are weights of the projection: data, not code
        pins = size * random.uniform(-1, 1, (4, 2))
        m = Mechanism()
        for name, (i, j) in {"a": (0, 1), "b": (1, 2), "c": (3, 2)}.items():
            m.body(name, rod(pins[i], pins[j], mass=random.uniform(1, 3)))
        for name, pair, pin in zip("OABC", (("ground", "a"), ("a", "b"), ("b", "c"), ("ground", "c")), pins, strict=True):
            m.revolute(name, *pair, at=pin)
        model = simulate(m, 0.01).plan.model
        codes.add(frozenset(entry["name"] for record in model._records.values() for entry in record.objects.values()))
    assert len(codes) == 1


def test_an_unknown_parameter_proposes_near_ones():
    m = slider_crank()
    with pytest.raises(KeyError, match=r"there is no parameter 'link.mas'. Did you mean 'link.mass'"):
        m.params["link.mas"] = 1.0
    with pytest.raises(ValueError, match=r"link.mass = 0 must be positive"):
        m.params["link.mass"] = 0.0


def test_a_sweep_over_dotted_names_reads_forces_by_name():
    m = slider_crank(speed=10.0)
    masses, places = np.array([1.0, 2.0, 4.0]), np.array([0.25, 0.24, 0.26])
    runs = sweep(m, 0.5, params={"link.mass": masses, "A.x": places}, save_at=6)
    assert not runs.failed
    for member, (mass, place) in enumerate(zip(masses, places, strict=True)):
        m.params["link.mass"], m.params["A.x"] = mass, place
        alone = simulate(m, 0.5, save_at=6)
        np.testing.assert_allclose(runs["A"].force[member], alone["A"].force, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(runs["slider"].position[member], alone["slider"].position, atol=1e-8)
