"""The slider-crank that several files look at."""

from holonomic.multibody import Mechanism
from multibody import machines


def slider_crank() -> Mechanism:
    m = machines.slider_crank(speed=10.0)
    m.point("middle", "link", at=(0.968, 0.2165))
    return m
