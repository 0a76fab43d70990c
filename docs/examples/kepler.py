"""Kepler's problem, with invariants kept.

An ordinary differential equation with two invariants. The same integrator with the same steps: the orbit shrinks
when nothing is kept, and closes when momentum and energy are.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import RK4, Ode, simulate


def rhs(y):
    return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])


invariants = {
    "momentum": lambda y: y[0] * y[3] - y[1] * y[2],
    "energy": lambda y: (y[2] ** 2 + y[3] ** 2) / 2 - 1 / np.sqrt(y[0] ** 2 + y[1] ** 2),
}
figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.9), layout="constrained", sharex=True, sharey=True)
for ax, kept in zip(axes, (None, invariants), strict=True):
    sol = simulate(Ode(rhs, invariants=kept), 200.0, y0=[0.4, 0, 0, 2], integrator=RK4(), step=0.12)
    y = sol(np.linspace(0, 200, 6000)).y
    ax.plot(y[:, 0], y[:, 1], linewidth=0.6)
    ax.plot(0, 0, "ko")
    ax.set_aspect("equal")
    ax.set_title("nothing kept" if kept is None else "momentum and energy kept")
figure.savefig("kepler.png", dpi=120)
