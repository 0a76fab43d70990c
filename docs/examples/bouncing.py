"""A bouncing ball.

Down a flight of stairs: every impact is found inside its step and maps the velocity, then the run goes on. The
record holds both velocities, before and after.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import Event, System, simulate

ball = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1])
stairs = Event(
    lambda q: q[1] + 0.4 * np.floor(q[0]),  # steps of 0.4 m, one every metre
    direction="falling",
    then=lambda q, v: (q, v * np.array([1.0, -0.75])),
)
sol = simulate(ball, 4.2, q0=[0.1, 0.7], v0=[1.4, 0], events={"hit": stairs}, max_step=0.02)
print(sol)

figure, ax = plt.subplots(figsize=(8.4, 3.8), layout="constrained")
x = np.linspace(0, 6.2, 2000)
ax.fill_between(x, -0.4 * np.floor(x), -3, color="0.88")
ax.plot(*sol.q.T, linewidth=1.3)
ax.plot(*sol.events["hit"].q.T, "o", markersize=5, color="tab:orange", label=f"{len(sol.events['hit'])} impacts")
ax.set_xlim(0, 6.1)
ax.set_ylim(-2.7, 0.8)
ax.set_aspect("equal")
ax.legend()
figure.savefig("bouncing.png", dpi=120)
