"""Small machines that several tests share."""

import numpy as np

from holonomic.multibody import Mechanism, disk, rod

O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)


def slider_crank(**drive):
    """The slider-crank of the documentation."""
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    if drive:
        m.drive("O", **drive)
    return m


def four_bar(dimension=2):
    """A four-bar linkage; in space its hinges have parallel axes, so three of their rows repeat others."""
    m = Mechanism(gravity=(0, -9.81, 0)[:dimension])
    P = {"A": (0, 0, 0), "B": (0, 1, 0), "C": (2, 2, 0), "D": (2.5, 0, 0)}
    P = {name: place[:dimension] for name, place in P.items()}
    a = m.body("a", rod(P["A"], P["B"], mass=1.0))
    b = m.body("b", rod(P["B"], P["C"], mass=2.0))
    c = m.body("c", rod(P["D"], P["C"], mass=1.5))
    for name, first, second in (("A", m.ground, a), ("B", a, b), ("C", b, c), ("D", m.ground, c)):
        m.revolute(name, first, second, at=P[name])
    return m


def pendulum(mass=2.0, length=1.0):
    """A rod hung at its end, drawn level."""
    m = Mechanism()
    m.revolute("O", m.ground, m.body("rod", rod((0, 0), (length, 0), mass=mass)), at=(0, 0))
    return m


def wheel_pair(radii=(0.1, 0.2), masses=(1.0, 2.0), inside=False):
    """Two wheels in gear, their centres on the ground."""
    m = Mechanism(gravity=(0, 0))
    r1, r2 = radii
    apart = r2 - r1 if inside else r1 + r2
    a, b = m.body("a", disk((0, 0), r1, mass=masses[0])), m.body("b", disk((apart, 0), r2, mass=masses[1]))
    m.revolute("A", m.ground, a, at=(0, 0))
    m.revolute("B", m.ground, b, at=(apart, 0))
    m.gear("mesh", a, b, at=((0, 0), (apart, 0)), radii=(r1, -r2 if inside else r2))
    return m


def planetary_gear(carrier, planets=3, by_hand=False):
    """A gear without load, sun and carrier turning: one mesh per planet after the first repeats others, or is left out by hand."""
    sun, planet, ring = 0.03, 0.02, 0.07
    m = Mechanism(gravity=(0, 0))
    m.body("sun", disk((0, 0), sun, mass=1.0))
    m.body("ring", disk((0, 0), 1.1 * ring, mass=2.0, inner=ring))
    m.body("carrier", disk((0, 0), 0.05, mass=0.5))
    for name, body in (("S", "sun"), ("C", "carrier"), ("R", "ring")):
        m.revolute(name, "ground", body, at=(0, 0))
    for i in range(planets):
        center = 0.05 * np.array([np.cos(2 * np.pi * i / planets), np.sin(2 * np.pi * i / planets)])
        m.body(f"p{i}", disk(center, planet, mass=0.2))
        m.revolute(f"P{i}", "carrier", f"p{i}", at=center)
        m.gear(f"sp{i}", "sun", f"p{i}", at=((0, 0), center), radii=(sun, planet))
        if i == 0 or not by_hand:
            m.gear(f"pr{i}", f"p{i}", "ring", at=(center, (0, 0)), radii=(planet, -ring))
    m.assemble(speeds={"S": 3 * carrier, "C": carrier})
    return m


def _hinged_ring(m, points, base, name):
    """Six links between six hinges, each hinge along the common perpendicular of its links; the first link is `base`."""
    edges = np.roll(points, -1, axis=0) - points
    axes = np.cross(np.roll(edges, 1, axis=0), edges)
    links = [base] + [m.body(f"{name}{i}", rod(points[i], points[(i + 1) % 6], mass=1.0)) for i in range(1, 6)]
    for i in range(6):
        m.revolute(f"{name}h{i}", links[i - 1], links[i], at=points[i], axis=axes[i] / np.linalg.norm(axes[i]))
    return links


def bricard(two=False):
    """Bricard's linkage of six hinges, each at right angles to the next, which by its rows could not move; or two, joined.

    Points on a hexagon, up and down by √2/4 of its radius: the axes of neighbours are then orthogonal.
    """
    points = np.array([(np.cos(k * np.pi / 3), np.sin(k * np.pi / 3), 8**-0.5 * (-1) ** k) for k in range(6)])
    m = Mechanism(gravity=(0, 0, -9.81))
    links = _hinged_ring(m, points, m.ground, "a")
    if two:  # the mirror image beyond the fourth link, which both share
        middle = (points[3] + points[4]) / 2
        normal = middle / np.linalg.norm(middle)
        other = points - 2 * np.outer((points - middle) @ normal, normal)
        _hinged_ring(m, np.roll(other, -3, axis=0), links[3], "b")
    m.assemble()
    return m
