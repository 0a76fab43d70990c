"""Chaplygin's sleigh.

A constraint on velocities alone: the blade may slide along its own direction and turn, not move sideways. The
centre of mass lies ahead of the blade. Pushed backwards and turned a little, the sleigh swings round and ends on a
straight line, centre of mass first.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, simulate

a, J = 0.3, 0.2  # distance from the centre of mass to the blade, moment of inertia

sleigh = System(
    mass=np.diag([1.0, 1.0, J]),
    nonholonomic={"blade": lambda q, v: -np.sin(q[2]) * v[0] + np.cos(q[2]) * v[1] - a * v[2]},
    coordinates={"x": "length", "y": "length", "heading": "angle"},
)
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for turn in np.linspace(-4, 4, 9):
    sol = simulate(sleigh, 8.0, q0=[0, 0, 0], v0=[-1.0, a * turn, turn])
    q = sol(np.linspace(0, 8, 800)).q
    ax.plot(q[:, 0], q[:, 1], linewidth=1.4, label=f"{turn:g} rad/s")
ax.set_aspect("equal")
ax.set_title("path of the centre of mass, by the turn it starts with")
ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
figure.savefig("sleigh.png", dpi=120)
