"""Jansen's walker on the ground.

Four legs hang on one crank; the feet are circles that strike the ground and leave it again, with friction. Nothing else
holds the walker: each step is what the contact forces make of the crank's turning.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import simulate
from holonomic.problems import jansen_walker
from holonomic.problems.jansen_walker import LEGS

sol = simulate(jansen_walker())
figure, (ax, below) = plt.subplots(2, 1, figsize=(8.4, 5.6), height_ratios=(3, 1), layout="constrained")

for t in (0.3, 5.8):
    now = sol(t)
    shapes = now.plan.model.system.resolver.drawing()
    for body, parts in shapes.items():
        turn, at = now[body].rotation, now[body].position
        for part in parts:
            angle, centre = part["axes"], at + turn @ part["centre"]
            color = "tab:red" if body in ("chassis", "crankshaft") else "tab:blue" if "1" in body else "tab:cyan"
            if part["kind"] == "rod":
                half = part["outline"]["length"] / 2 * turn @ (np.cos(angle), np.sin(angle))
                ax.plot(*np.array([centre - half, centre + half]).T, color=color, linewidth=1.5)
            elif part["kind"] == "disk":
                ax.add_patch(plt.Circle(centre, part["outline"]["radius"], fill=False, color=color))
            else:
                corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) / 2 * part["outline"]["size"]
                ax.plot(*(centre + corners @ turn.T).T, color=color)
    for name in LEGS:  # the massless rods
        for bar in "jkcf":
            rod = now[f"{name} {bar}"]
            ax.plot(*np.array(rod.ends).T, color="0.6", linewidth=1.0)

t = np.linspace(0, 6, 1200)
steps = sol(t)
for name, color in zip(LEGS, ("tab:blue", "tab:cyan", "tab:blue", "tab:cyan"), strict=True):
    style = "-" if "left" in name else "--"
    ax.plot(*steps[f"{name} toe"].position.T, color=color, linewidth=0.6, alpha=0.7)
    below.plot(t, steps[f"{name} foot"].force[:, 1], style, color=color, linewidth=0.8, label=name)
ax.axhline(0.0, color="black")
ax.set_aspect("equal")
ax.set_title("almost two turns of the crank: 2.7 m")
below.set(xlabel="time in s", ylabel="N", title="vertical force on each foot")
below.set_ylim(0, 400)
below.legend(ncols=4, fontsize="small")
figure.savefig("walker.png", dpi=120)
