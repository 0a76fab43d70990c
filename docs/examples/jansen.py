"""Jansen's walking linkage.

One leg in the air, driven at its crank: eleven bars, each one constraint. The multipliers are the forces in the
bars; the foot walks on a flat line for half of the turn.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import Event, simulate
from holonomic.problems import jansen
from holonomic.problems.jansen import BARS

sol = simulate(jansen(t_end=3.1), events={"turn": Event(lambda q: q[1], direction="rising")})
begin, end = sol.events["turn"].t[-2:]
turn = sol(np.linspace(begin, end, 300))
p = sol.plan.model.system.params

figure, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
for k in range(0, 300, 25):
    at = {"axle": (0, 0), "hip": (-p["a"], -p["l"])}
    at |= {name: turn.q[k, 2 * n : 2 * n + 2] for n, name in enumerate(("crank", "top", "low", "back", "knee", "foot"))}
    for start, stop in BARS.values():
        ax.plot(*zip(at[start], at[stop], strict=True), color=plt.cm.viridis(k / 300), linewidth=1.0, alpha=0.8)
ax.plot(*turn["foot"].T, color="black", linewidth=2)
ax.set_aspect("equal")
ax.set_title("one turn of the crank, and the path of the foot")
figure.savefig("jansen.png", dpi=120)
