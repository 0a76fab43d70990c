"""Joint forces of a slider-crank.

A mechanism drawn with bodies, joints and a drive. The force in the crank pin over one turn, at three speeds: slow,
it carries the weight; fast, it carries the inertia of rod and slider.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import simulate
from holonomic.multibody import Mechanism, rod

figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 4.0), layout="constrained")
for speed in (2.0, 5.0, 10.0):
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.drive("O", speed=speed)
    m.assemble(speeds={"O": speed})
    sol = simulate(m, 2 * np.pi / speed)
    turn = sol(np.linspace(0, sol.end.t, 400))
    left.plot(*turn["A"].force.T, label=f"{speed:g} rad/s")
    right.plot(np.linspace(0, 360, 400), turn["O drive"].torque, label=f"{speed:g} rad/s")
left.set_title("force of the crank on the rod (N): x and y")
left.set_aspect("equal", adjustable="datalim")
right.set_title("torque of the drive (N m)")
right.set_xlabel("degrees turned")
left.legend()
figure.savefig("slider_crank.png", dpi=120)
