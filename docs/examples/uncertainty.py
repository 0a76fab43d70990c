"""What if the numbers are not exact?

A slider-crank with spring and damper; stiffness, damping and push are known to 20 %. 512 runs over a
space-filling sample give the band in which the slider moves.
"""

import matplotlib.pyplot as plt

from holonomic import sample, sweep
from holonomic.problems import slider_crank_spring

problem = slider_crank_spring()
design = sample(512, k=(0.8, 1.2), c=(0.8, 1.2), F=(0.8, 1.2))
runs = sweep(problem.system, 10.0, q0=problem.q0, v0=problem.v0, params=design, save_at=300)
print(runs)

low, middle, high = runs.quantiles("x", (0.05, 0.5, 0.95))
least, most = runs.extremes("x")
figure, ax = plt.subplots(figsize=(7.6, 3.6), layout="constrained")
ax.fill_between(runs.t, least, most, color="tab:blue", alpha=0.15, label="all 512 runs", linewidth=0)
ax.fill_between(runs.t, low, high, color="tab:blue", alpha=0.35, label="9 of 10", linewidth=0)
ax.plot(runs.t, middle, color="tab:blue", label="median")
ax.set_xlabel("time (s)")
ax.set_ylabel("position of the slider (m)")
ax.legend()
figure.savefig("uncertainty.png", dpi=120)
