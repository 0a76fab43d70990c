"""A crane and its load.

The trolley follows a given path (an input from a table, as a constraint that moves with time); the load swings on
its rope. Two ways to travel 4 m in 4 s: at once, and with the speed shaped so that the swing cancels itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, simulate


def crane(path):
    return System(
        mass=np.eye(2),
        potential=lambda q: 9.81 * q[1],
        constraint={"rope": lambda t, q: (q[0] - path(t)) ** 2 + q[1] ** 2 - 2.25**2},
        outputs={"swing": lambda t, q: q[0] - path(t)},
    )


part = lambda t: np.clip(t / 4, 0, 1)
paths = {
    "constant speed": lambda t: 4 * part(t),
    "smooth": lambda t: 4 * part(t) ** 3 * (10 - 15 * part(t) + 6 * part(t) ** 2),
}
figure, axes = plt.subplots(2, 1, figsize=(7.6, 4.6), layout="constrained", sharex=True)
for name, path in paths.items():
    start = [0.5, 0] if name == "constant speed" else [0, 0]
    sol = simulate(crane(path), 9.0, q0=[0, -2.25], v0=[0, 0] if name == "smooth" else [1, 0], max_step=0.05)
    axes[0].plot(sol.t, sol.q[:, 0], label=name)
    axes[1].plot(sol.t, sol["swing"])
axes[0].set_ylabel("place of the load (m)")
axes[1].set_ylabel("swing (m)")
axes[1].set_xlabel("time (s)")
axes[0].legend()
figure.savefig("crane.png", dpi=120)
