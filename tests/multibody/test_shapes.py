"""Shapes: inertia, centres, composition, placement."""

import numpy as np
import pytest

from holonomic.multibody import Mechanism, box, cylinder, disk, plate, polygon, rod, sphere


def sampled(inside, low, high, n=60):
    """Second moments per unit mass of a region, by its cells."""
    axes = [np.linspace(a, b, n, endpoint=False) + (b - a) / n / 2 for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    points = points[inside(*points.T)]
    squares = np.mean(points**2, axis=0)
    return squares.sum() - squares if len(low) == 3 else squares.sum()


def test_planar_inertia_is_the_second_moment():
    assert box((3, 1), (0.4, 0.2), mass=1.0).inertia == pytest.approx(0.2 / 12)
    ring = sampled(lambda x, y: (np.hypot(x, y) < 0.5) & (np.hypot(x, y) > 0.2), (-0.5, -0.5), (0.5, 0.5), 400)
    assert disk((0, 0), 0.5, mass=1.0, inner=0.2).inertia == pytest.approx(ring, rel=1e-3)  # cells of 1/400
    assert rod((0, 0), (3, 4), mass=1.0).inertia == pytest.approx(25 / 12)


def test_a_polygon_is_what_it_outlines():
    square = polygon([(1, 1), (1.4, 1), (1.4, 1.2), (1, 1.2)], mass=1.0)
    same = box((1.2, 1.1), (0.4, 0.2), mass=1.0)
    assert square.centre == pytest.approx(same.centre)
    assert square.inertia == pytest.approx(same.inertia)
    turned = polygon([(1, 1.2), (1.4, 1.2), (1.4, 1), (1, 1)], mass=1.0)  # the other way round
    assert turned.inertia == pytest.approx(same.inertia)


def test_spatial_inertia_is_the_second_moment():
    bar = cylinder((0, 0, -0.4), (0, 0, 0.4), 0.3, mass=1.0)
    x, y, z = sampled(lambda x, y, z: np.hypot(x, y) < 0.3, (-0.3, -0.3, -0.4), (0.3, 0.3, 0.4))
    assert np.diag(bar.inertia) == pytest.approx([z, x, y], rel=1e-2)  # cells of 1/60; its own axis first
    ball = sphere((0, 0, 0), 0.3, mass=1.0)
    assert ball.inertia[0, 0] == pytest.approx(
        sampled(lambda x, y, z: x**2 + y**2 + z**2 < 0.09, (-0.3,) * 3, (0.3,) * 3)[0], rel=1e-2
    )
    assert np.diag(box((0, 0, 0), (1, 2, 3), mass=1.0).inertia) == pytest.approx([13 / 12, 10 / 12, 5 / 12])
    assert np.diag(plate((0, 0, 0), (1, 2), mass=1.0).inertia) == pytest.approx([4 / 12, 1 / 12, 5 / 12])


def test_several_shapes_make_one_body_by_parallel_axes():
    m = Mechanism()
    m.body("hammer", rod((0, 0), (1, 0), mass=1.0), box((1.1, 0), (0.2, 0.1), mass=3.0))
    centre = (0.5 + 3 * 1.1) / 4
    assert m["hammer"].position == pytest.approx((centre, 0))
    wanted = 1 / 12 + (centre - 0.5) ** 2 + 3 * (0.05 / 12 + (1.1 - centre) ** 2)
    assert m.params["hammer.inertia"] == pytest.approx(wanted)
    assert m.params["hammer.mass"] == pytest.approx(4.0)


def test_a_spatial_body_of_two_shapes_has_the_inertia_of_both():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("dumbbell", sphere((-1, 0, 0), 0.1, mass=1.0), sphere((1, 0, 0), 0.1, mass=1.0))
    own = 2 * 2 / 5 * 0.01
    assert [m.params[f"dumbbell.inertia.{axis}"] for axis in ("xx", "yy", "zz")] == pytest.approx([own, own + 2, own + 2])


def test_a_body_may_be_placed_by_a_point_an_angle_or_two_points():
    m = Mechanism()
    bar = rod((0, 0), (2, 0), mass=1.0)
    m.body("a", bar, at=(1, 1), angle=np.pi / 2)
    m.body("b", bar, at=((1, 1), (1, 5)))
    for name in "ab":
        assert m[name].position == pytest.approx((1, 2))
        assert m[name].rotation == pytest.approx(np.pi / 2)
    space = Mechanism(gravity=(0, 0, -9.81))
    space.body("c", rod((0, 0, 0), (2, 0, 0), mass=1.0), at=((1, 1, 1), (1, 1, 9)))
    assert space["c"].position == pytest.approx((1, 1, 2))


def test_inertia_may_be_stated_about_another_point():
    m = Mechanism()
    m.body("a", at=(5, 5), mass=2.0, inertia=3.0, com=(0.5, 0), about=(0, 0))
    assert m["a"].position == pytest.approx((5.5, 5))
    assert m.params["a.inertia"] == pytest.approx(3.0 - 2.0 * 0.25)


def test_a_shape_may_get_its_mass_from_the_body():
    m = Mechanism()
    m.body("a", rod((0, 0), (1, 0)), mass=6.0)
    assert m.params["a.inertia"] == pytest.approx(0.5)
