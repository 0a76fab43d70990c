"""A crane and its load.

The trolley moves on a given path, so the rope is a constraint that depends on time. It speeds up, travels and
stops; if speeding up takes just one period of the swing, the load hangs still in between and in the end.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, simulate

rope = 2.25
period = 2 * np.pi * np.sqrt(rope / 9.81)


def trolley(t, ramp):
    """Place of the trolley: 1.5 m/s, reached and left within `ramp` seconds."""
    ramped = lambda s: np.where(s < 0, 0, np.where(s < ramp, s**2 / (2 * ramp), s - ramp / 2))
    return 1.5 * (ramped(t) - ramped(t - 7.5))


crane = System(
    mass=np.eye(2),
    potential=lambda q: 9.81 * q[1],
    constraint={"rope": lambda t, q, p: (q[0] - trolley(t, p.ramp)) ** 2 + q[1] ** 2 - rope**2},
    outputs={"swing": lambda t, q, p: q[0] - trolley(t, p.ramp)},
    params={"ramp": period},
)
figure, axes = plt.subplots(2, 1, figsize=(7.6, 4.6), layout="constrained", sharex=True)
for ramp in (0.6 * period, period):
    sol = simulate(crane.with_params(ramp=ramp), 15.0, q0=[0, -rope], v0=[0, 0], max_step=0.1)
    axes[0].plot(sol.t, sol.q[:, 0], label=f"speeds up in {ramp:.1f} s; a period is {period:.1f} s")
    axes[1].plot(sol.t, sol["swing"])
axes[0].set_ylabel("place of the load (m)")
axes[1].set_ylabel("swing (m)")
axes[1].set_xlabel("time (s)")
axes[0].legend()
figure.savefig("crane.png", dpi=120)
