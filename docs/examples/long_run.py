"""Energy over a long time.

A spherical pendulum for 2000 s with steps of 0.05 s, some forty a swing. RK4 with projection stays on its sphere
but loses energy; RATTLE, a symplectic method, lets it swing around the true value and never lose it.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import RATTLE, RK4, Index3, System, simulate

pendulum = System(mass=np.eye(3), potential=lambda q: 9.81 * q[2], constraint={"sphere": lambda q: q @ q - 1})
start = {"q0": [np.sin(1.2), 0, -np.cos(1.2)], "v0": [0, 1.2, 0], "step": 0.05}
runs = {
    "RATTLE": simulate(pendulum, 2000.0, formulation=Index3(), integrator=RATTLE(), stabilization=None, **start),
    "RK4 and projection": simulate(pendulum, 2000.0, integrator=RK4(), **start),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.8), layout="constrained", width_ratios=(1.5, 1))
for name, sol in runs.items():
    left.plot(sol.t, 100 * sol.energy_error, linewidth=0.8, label=name)
left.set_xlabel("time (s)")
left.set_ylabel("change of energy (%)")
left.legend()
q = runs["RATTLE"].q[:1200]
right.plot(q[:, 0], q[:, 1], linewidth=0.6, color="tab:blue")
right.set_aspect("equal")
right.set_title("seen from above, the first minute")
figure.savefig("long_run.png", dpi=120)
