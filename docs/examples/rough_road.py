"""Suspension on random roads.

A wheel on a trailing arm under a quarter of a car, at 20 m/s over 40 random roads, with twelve dampers: 480 runs, each
with a road of its own as a tabulated input. A soft damper spares the passengers, a firmer one keeps the wheel
on the ground, and too firm a one does neither.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, grid, sweep

car = System(  # q: height of the body, hub of the wheel along the road and in height
    mass=np.diag([320.0, 35.0, 35.0]),
    force=lambda q, v, p, u: np.array([
        -320 * 9.81 + 20e3 * (q[2] - q[0] + 0.45) + p.c * (v[2] - v[0]),
        0.0,
        -35 * 9.81 - 20e3 * (q[2] - q[0] + 0.45) - p.c * (v[2] - v[0]) + 180e3 * np.maximum(0.0, u.road + 0.3 - q[2]),
    ]),
    constraint={"arm": lambda q: q[1] ** 2 + (q[2] - q[0] + 0.35) ** 2 - 0.4**2},
    params={"c": 1500.0}, inputs={"road": (np.array([0.0, 1.0]), np.zeros(2))},
    outputs={"shake": lambda a: a[0], "tyre": lambda q, u: 180e3 * np.maximum(0.0, u.road + 0.3 - q[2])},
)  # fmt: skip
members = grid(c=np.geomspace(200, 6000, 12), seed=np.arange(40))
cycles = np.linspace(0.05, 2.0, 80)  # per metre; a road of class C after ISO 8608
heights = np.sqrt(2 * 256e-6 * (cycles / 0.1) ** -2 * np.gradient(cycles))
times, phases = np.linspace(0, 5, 501), np.random.default_rng(1).uniform(0, 2 * np.pi, (40, 80))
roads = np.einsum("c,sct->st", heights, np.sin(2 * np.pi * 20 * times * cycles[:, None] + phases[:, :, None]))
runs = sweep(car, 5.0, q0=[0.6, 0.38, 0.27], v0=[0, 0, 0], params={"c": members["c"]}, initial="project", rtol=1e-4,
             inputs={"road": (times, roads[members["seed"].astype(int)])}, save_at=501, outputs=["shake", "tyre"])  # fmt: skip
print(runs)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
shake, tyre = (runs[name][:, 100:].std(axis=1).reshape(12, 40) for name in ("shake", "tyre"))
image = ax.scatter(tyre / (355 * 9.81), shake, c=members["c"].reshape(12, 40), s=9, norm="log", cmap="viridis")
ax.plot(tyre.mean(axis=1) / (355 * 9.81), shake.mean(axis=1), "k.-", label="mean over the roads")
ax.set(xlabel="variation of the tyre's load (of its weight)", ylabel="acceleration of the body (m/s², rms)")
figure.colorbar(image, label="damping (N s/m)")
ax.legend()
figure.savefig("rough_road.png", dpi=120)
