"""A tumbling body.

Spun about its middle axis a body turns over, again and again (Dzhanibekov's effect). The attitude is a quaternion:
four coordinates for three angular velocities, q' = Z(q) v, and its length is an invariant that is kept.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import System, simulate

inertia = np.array([1.0, 2.0, 3.0])


def rates(q):
    """Z(q): quaternion rates from angular velocities in the body's frame."""
    w, x, y, z = q
    return np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2


body = System(
    mass=np.diag(inertia),
    force=lambda v: -np.cross(v, inertia * v),
    kinematics=rates,
    invariants={"length": lambda q: q @ q},
    velocity_terms=False,
)
sol = simulate(body, 40.0, q0=[1, 0, 0, 0], v0=[0.01, 2.0, 0.0])
t = np.linspace(0, 40, 2000)
figure, ax = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
for k, name in enumerate(("smallest", "middle", "largest")):
    ax.plot(t, sol(t).v[:, k], label=f"about the axis of {name} inertia")
ax.set_xlabel("time (s)")
ax.set_ylabel("angular velocity (rad/s)")
ax.legend(loc="upper right", fontsize=8)
figure.savefig("tumbling.png", dpi=120)
