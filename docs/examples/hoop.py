"""A bead on a turning hoop.

A constraint and a kinetic energy: the system comes from energies, in Cartesian coordinates that turn with the hoop.
Below a certain speed the bead rests at the bottom, above it the bottom becomes unstable; each line is one run of a
sweep over the speed, with a little friction.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, sweep

hoop = System.from_energies(
    kinetic=lambda q, v, p: (v @ v + (p.speed * q[0]) ** 2) / 2,
    potential=lambda q: 9.81 * q[1],
    constraint={"hoop": lambda q: q @ q - 1},
    force=lambda v: -0.8 * v,
    params={"speed": 1.0},
)
speeds = np.linspace(0.5, 8.0, 40)
start = np.array([np.sin(0.1), -np.cos(0.1)])
runs = sweep(hoop, 25.0, q0=start, v0=[0, 0], params={"speed": speeds}, save_at=400)
angle = np.degrees(np.arctan2(runs.q[:, :, 0], -runs.q[:, :, 1]))

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
left.plot(runs.t, angle[::4].T, linewidth=0.9)
left.set_xlabel("time (s)")
left.set_ylabel("angle from the bottom (degrees)")
right.plot(speeds, angle[:, -1], "o", label="simulated")
rest = np.degrees(np.arccos(np.minimum(1, 9.81 / speeds**2)))
right.plot(speeds, rest, "k-", linewidth=0.8, label="arccos(g / speed²)")
right.set_xlabel("speed of the hoop (rad/s)")
right.legend()
figure.savefig("hoop.png", dpi=120)
