"""A falling chain.

32 links, pinned at one end and released from the horizontal. 64 coordinates, 32 constraints; near the end of its
first fall the tip moves much faster than free fall, like a whip.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import simulate
from holonomic.problems import chain

sol = simulate(chain(32, t_end=0.75))
print(sol)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 4.2), layout="constrained")
times = np.linspace(0, 0.75, 16)
for t, q in zip(times, sol(times).q, strict=True):
    left.plot([0, *q[0::2]], [0, *q[1::2]], color=plt.cm.viridis(t / 0.8), linewidth=1.4)
left.plot(*sol(np.linspace(0, 0.75, 600))["tip"].T, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
left.set_aspect("equal")
left.set_title("every 0.05 s, and the path of the tip")
t = np.linspace(0, 0.75, 600)
right.plot(t, np.linalg.norm(sol(t).v[:, -2:], axis=1), label="tip of the chain")
right.plot(t, 9.81 * t, "--", color="0.5", label="free fall")
right.set_xlabel("time (s)")
right.set_ylabel("speed (m/s)")
right.legend()
figure.savefig("chain.png", dpi=120)
