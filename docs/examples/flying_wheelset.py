"""A wheelset that flies.

In index-1 form the wheels of this railway wheelset lift off the rails: the accelerations are right, but small errors of
each step add up in the positions, and nothing brings them back. Coordinate projection after every step of BDF keeps the
wheels where they are, to rounding. The effect is Eich's (1993), the wheelset that of the test set.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import BDF, Index1, Projection, simulate
from holonomic.problems import wheelset

fig, (above, below) = plt.subplots(2, 1, figsize=(8, 6.4), sharex=True, layout="constrained")
runs = [(1e-5, None, "#e8a06a"), (1e-6, None, "#d55e00"), (1e-6, Projection(), "#0072b2")]
for tol, stabilization, color in runs:
    sol = simulate(wheelset(), formulation=Index1(), integrator=BDF(), stabilization=stabilization, rtol=tol, atol=tol)
    gap = -sol.drift["position"]  # the two constraints say that there is none
    label = "index 1 + projection" if stabilization else "index 1"
    above.plot(sol.t, 1e6 * gap.mean(axis=1), color=color, label=f"{label}, tolerance {tol:g}")
    below.semilogy(sol.t, np.maximum(np.abs(gap).max(axis=1), 1e-18), color=color, linewidth=1)
    print(f"{label}, {tol:g}: {1e6 * gap[-1].mean():.2g} µm above the rails after {sol.t[-1]:g} s")
above.set(ylabel="height above the rails, µm", title="Index 1 flies, projection keeps the wheels on the rails")
above.legend()
below.set(xlabel="time, s", ylabel="largest gap, m")
fig.savefig("flying_wheelset.png", dpi=120)
