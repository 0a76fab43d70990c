"""Phase portrait of the pendulum.

Many swings at once: one system, one start per line, run by `sweep`. Below the energy of the upright position the
pendulum swings, above it turns over; the line between the two is the separatrix.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, sweep

pendulum = System(
    mass=np.eye(2),
    potential=lambda q: 9.81 * q[1],
    constraint={"rod": lambda q: q @ q - 1},
)
top = 2 * np.sqrt(9.81)  # speed at the bottom that just reaches the upright position
speeds = np.concatenate([np.linspace(0.12, 0.98, 9), np.linspace(1.03, 1.3, 4)]) * top
v0 = np.column_stack([speeds, 0 * speeds])
runs = sweep(pendulum, 4.0, q0=[0, -1], v0=v0, save_at=1200)

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for q, v, speed in zip(runs.q, runs.v, speeds, strict=True):
    angle = np.arctan2(q[:, 0], -q[:, 1])
    rate = v[:, 1] * q[:, 0] - v[:, 0] * q[:, 1]
    angle[1:][abs(np.diff(angle)) > np.pi] = np.nan  # no line across the cut at 180 degrees
    color = plt.cm.viridis(0.85 * speed / speeds[-1])
    for side in (1, -1):
        ax.plot(side * angle, side * rate, color=color, linewidth=1.2)
ax.set_xlabel("angle (rad)")
ax.set_ylabel("rate (rad/s)")
ax.set_xlim(-np.pi, np.pi)
figure.savefig("pendulum.png", dpi=120)
