"""Basins of a magnetic pendulum.

A bob on a rod swings over three magnets until friction stops it. Each pixel is one run: where it was let go, coloured by
the magnet at which it came to rest, darker the longer it took. Every run stays on its sphere; an event ends it when the bob
is too slow to leave.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from holonomic import Event, System, grid, sweep

n, length, angles = 150, 4.0, 2 * np.pi * (np.arange(3) / 3 + 0.25)
magnets = np.stack([np.cos(angles), np.sin(angles), np.full(3, -length - 0.35)], axis=1)


def potential(q):
    return 2.0 * q[2] - sum(0.9 / np.sqrt(np.sum((q - magnet) ** 2)) for magnet in magnets)


bob = System(mass=np.eye(3), force=lambda v: -0.2 * v, potential=potential, constraint=lambda q: q @ q - length**2)
rest = Event(lambda q, v: v @ v / 2 + potential(q) + 2.0 * length + 2.75, direction="falling", terminal=True)
xy = grid(x=np.linspace(-2.4, 2.4, n), y=np.linspace(-2.4, 2.4, n))
q0 = np.column_stack([xy["x"], xy["y"], -np.sqrt(length**2 - xy["x"] ** 2 - xy["y"] ** 2)])
runs = sweep(bob, 60.0, q0=q0, v0=[0, 0, 0], rtol=1e-4, events={"rest": rest}, save_at=[60.0])
print(runs)

end, time = q0.copy(), np.zeros(n * n)  # those let go where they are too slow to leave stay
end[runs.events["rest"].member], time[runs.events["rest"].member] = runs.events["rest"].q, runs.events["rest"].t
nearest = np.argmin(np.linalg.norm(end[:, None] - magnets, axis=2), axis=1)
colours = np.array([to_rgb(name) for name in ("tab:blue", "tab:orange", "tab:green")])
image = colours[nearest] * np.exp(-time / 30.0)[:, None]
figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
ax.imshow(image.reshape(n, n, 3).swapaxes(0, 1), origin="lower", extent=(-2.4, 2.4, -2.4, 2.4))
ax.plot(*magnets[:, :2].T, "wo", markersize=4)
ax.set(xlabel="where it was let go: x (m)", ylabel="y (m)")
figure.savefig("magnets.png", dpi=120)
