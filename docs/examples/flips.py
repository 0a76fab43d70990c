"""Where a double pendulum ends.

Each pixel is one run: two starting angles, released from rest. The colour is the angle of the lower rod after
four seconds. Neighbours end together at first; where they do not, the motion is chaotic. 5625 runs on all cores,
each on its constraints to 1e-10.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import grid, sweep
from holonomic.problems import double_pendulum

n = 75
starts = grid(upper=np.linspace(-np.pi, np.pi, n), lower=np.linspace(-np.pi, np.pi, n))
a, b = starts["upper"], starts["lower"]
elbow = np.column_stack([np.sin(a), -np.cos(a)])
tip = elbow + np.column_stack([np.sin(b), -np.cos(b)])
runs = sweep(
    double_pendulum().system, 4.0, q0=np.hstack([elbow, tip]), v0=np.zeros((n * n, 4)), rtol=1e-4, initial="project"
)

end = runs.q[:, -1]
angle = np.arctan2(end[:, 2] - end[:, 0], end[:, 1] - end[:, 3]).reshape(n, n)

figure, ax = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
image = ax.imshow(angle.T, origin="lower", cmap="twilight", extent=(-180, 180, -180, 180), vmin=-np.pi, vmax=np.pi)
ax.set_xlabel("starting angle of the upper rod (degrees)")
ax.set_ylabel("of the lower rod")
figure.colorbar(image, label="angle of the lower rod after 4 s (rad)")
figure.savefig("flips.png", dpi=120)
