"""A spinning top.

A disk, held at the foot of its axle by a spherical joint: a spatial mechanism, its attitude a quaternion. Released
from rest it nods as it goes round; the faster it spins, the smaller the nods and the slower the way round.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import simulate
from holonomic.multibody import Mechanism, cylinder

tilt = np.radians(40)
axle = np.array([np.sin(tilt), 0, np.cos(tilt)])
m = Mechanism(gravity=(0, 0, -9.81))
m.body("top", cylinder(0.095 * axle, 0.105 * axle, radius=0.06, mass=0.5))
m.spherical("foot", m.ground, "top", at=(0, 0, 0))
m.point("tip", "top", at=0.15 * axle)

figure = plt.figure(figsize=(9.0, 3.3), layout="constrained")
for k, spin in enumerate((150.0, 250.0, 400.0)):
    sol = simulate(m, 2.0, v0=[0, 0, 0, spin, 0, 0])  # the body's x axis runs along the axle
    tip = sol(np.linspace(0, 2, 1500))["tip"].position
    ax = figure.add_subplot(1, 3, k + 1, projection="3d")
    ax.plot(*tip.T, linewidth=1.0)
    ax.plot(*np.array([(0, 0, 0), 0.15 * axle]).T, "k", linewidth=2)
    ax.set_xlim(-0.1, 0.1)
    ax.set_ylim(-0.1, 0.1)
    ax.set_zlim(0.02, 0.14)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_zticks([])
    ax.set_title(f"{spin:g} rad/s")
figure.savefig("top.png", dpi=120)
