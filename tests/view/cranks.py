"""The slider-crank that several files look at."""

from holonomic.multibody import Mechanism, rod


def slider_crank() -> Mechanism:
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.point("middle", link, at=(0.968, 0.2165))
    m.drive("O", speed=10.0)
    return m
