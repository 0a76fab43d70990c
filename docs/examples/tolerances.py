"""Manufacturing tolerances.

The seven-body mechanism with every length off by up to 1 %: 4096 mechanisms, each assembled from its own parts with the
crank where it was, then run. Left, how far the crank is from where the drawing says; right, which length is to blame.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import sample, simulate, sweep
from holonomic.problems import seven_body

problem = seven_body()
lengths = ("rr", "d", "ss", "e", "zt", "zf", "u", "xa", "ya", "xb", "yb")
design = sample(4096, **{name: (0.99, 1.01) for name in lengths})
params = {name: problem.system.params[name] * factor for name, factor in design.items()}
start = {"q0": problem.q0, "v0": problem.v0, "initial": "project", "hold": [0], "save_at": 200}
runs = sweep(problem.system, 0.03, params=params, outputs=["q"], **start)
print(runs)

nominal = simulate(problem.system, 0.03, **start).q[:, 0]
turns = np.degrees(runs.q[:, :, 0] - nominal)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=[2, 1], layout="constrained")
for share, shade in ((1.0, 0.15), (0.9, 0.3), (0.5, 0.5)):
    low, high = np.nanquantile(turns, [0.5 - share / 2, 0.5 + share / 2], axis=0)
    left.fill_between(1e3 * runs.t, low, high, color="tab:blue", alpha=shade, linewidth=0, label=f"{share:.0%} of them")
left.set_xlabel("time (ms)")
left.set_ylabel("crank against the drawing (degrees)")
left.legend(loc="lower left")
blame = [np.corrcoef(design[name][runs.ok], turns[runs.ok, -1])[0, 1] ** 2 for name in lengths]
right.barh(lengths, blame, color="tab:orange")
right.invert_yaxis()
right.set_xlabel("share of the spread at the end")
figure.savefig("tolerances.png", dpi=120)
