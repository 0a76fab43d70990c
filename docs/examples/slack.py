"""A string that goes slack.

Two systems and two events: while the string pulls it is a constraint; when its force falls to zero the ball
flies; when the string is straight again it takes the outward speed away, and the swing goes on.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import Event, System, simulate

weight = lambda q: 9.81 * q[1]
held = System(mass=np.eye(2), potential=weight, constraint={"string": lambda q: q @ q - 1})
free = System(mass=np.eye(2), potential=weight)
slack = {"slack": Event(lambda lam: lam[0], direction="falling", terminal=True)}
straight = {"straight": Event(lambda q: q @ q - 1, direction="rising", terminal=True)}

figure, ax = plt.subplots(figsize=(5.2, 5.0), layout="constrained")
t, q, v = 0.0, np.array([0.0, -1.0]), np.array([6.6, 0.0])
for part in range(9):
    flies = part % 2 == 1
    system, events = (free, straight) if flies else (held, slack)
    sol = simulate(system, (t, 12.0), q0=q, v0=v, events=events, initial="impact")  # the string stops the outward speed
    path = sol(np.linspace(sol.t[0], sol.end.t, 200)).q
    name = ("flies" if flies else "held") if part < 2 else None
    ax.plot(*path.T, color="tab:orange" if flies else "tab:blue", linewidth=1.4, label=name)
    t, q, v = sol.end.t, sol.end.q, sol.end.v
    if sol.ended == "end":
        break
ax.plot(0, 0, "k^")
ax.set_aspect("equal")
ax.legend(loc="upper right")
figure.savefig("slack.png", dpi=120)
