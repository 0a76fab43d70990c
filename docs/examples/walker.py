"""Jansen's walker on the ground.

Four legs hang on one crank; the feet are circles that strike the ground and leave it again, with friction. Nothing
else holds the walker: each step is what the contact forces make of the crank's turning.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import simulate
from holonomic.problems import jansen_walker
from holonomic.problems.jansen_walker import LEGS

sol = simulate(jansen_walker())
t = np.linspace(0, 6, 1200)
steps, shapes = sol(t), sol.plan.model.system.resolver.drawing()
turn = np.linspace(0, 2 * np.pi, 60)
lines = {
    "rod": lambda outline: np.array([(-0.5, 0), (0.5, 0)]) * outline["length"],
    "box": lambda outline: np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) / 2 * outline["size"],
    "disk": lambda outline: np.column_stack([np.cos(turn), np.sin(turn)]) * outline["radius"],
}
figure, (ax, below) = plt.subplots(2, 1, figsize=(8.4, 5.6), height_ratios=(3, 1), layout="constrained")
for now in (sol(0.3), sol(5.8)):
    for body, part in ((body, part) for body, parts in shapes.items() for part in parts):
        c, s = np.cos(part["axes"]), np.sin(part["axes"])
        line = part["centre"] + lines[part["kind"]](part["outline"]) @ [[c, s], [-s, c]]
        color = "tab:cyan" if "2" in body else "tab:blue" if "1" in body else "tab:red"
        ax.plot(*(now[body].position + line @ now[body].rotation.T).T, color=color)
    for name in (f"{leg} {bar}" for leg in LEGS for bar in "jkcf"):  # massless rods
        ax.plot(*now[name].ends.T, color="0.6", linewidth=1.0)
for leg, style in zip(LEGS, ("b-", "c-", "b--", "c--"), strict=True):
    ax.plot(*steps[f"{leg} toe"].position.T, style[0], linewidth=0.5)
    below.plot(t, steps[f"{leg} foot"].force[:, 1], style, linewidth=0.8, label=leg)
ax.set(aspect="equal", title="almost two turns of the crank: 2.7 m")
below.set(xlabel="time in s", ylabel="N", ylim=(0, 400), title="vertical force on each foot")
below.legend(ncols=4, fontsize="small")
figure.savefig("walker.png", dpi=120)
