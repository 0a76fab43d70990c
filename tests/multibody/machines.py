"""Small machines that several tests share."""

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
