"""Learning to balance a four-bar leg.

A load on two legs, a closed four-bar linkage, stands on a cart and would fall. A linear policy pushes the cart; its four numbers
are found by the cross-entropy method: 64 policies at a time, four random starts each, in 256 environments on threads.
"""

import matplotlib.pyplot as plt
import numpy as np

from holonomic import Controller, make_vector_env, simulate
from holonomic.multibody import Mechanism, rod

m, (A, B, C, D) = Mechanism(gravity=(0, -9.81)), ((-0.2, 0), (0.2, 0), (-0.15, 0.8), (0.15, 0.8))
bodies = {name: m.body(name, rod(*ends, mass=mass)) for name, ends, mass in
          (("cart", (A, B), 2.0), ("left", (A, C), 0.2), ("right", (B, D), 0.2), ("top", (C, D), 1.0))}  # fmt: skip
m.prismatic("rail", m.ground, bodies["cart"], at=(0, 0), axis=(1, 0))
for one, other, at in (("cart", "left", A), ("cart", "right", B), ("left", "top", C), ("right", "top", D)):
    m.revolute(f"{one} {other}", bodies[one], bodies[other], at=at)
m.input("push", 0.0)
m.motor("rail", force=lambda u: u.push)
m.output("seen", lambda cart, top: [cart.position[0], cart.velocity[0], top.position[0] - cart.position[0], top.velocity[0]])
q, along = m.to_system()[1], np.tile([1.0, 0.0, 0.0], 4)  # where all bodies stand, and which coordinates go along the rail
envs = make_vector_env(
    m, 256, actions={"push": (-60.0, 60.0)}, period=0.04, episode=250, observations=["seen"], starts=128, rtol=1e-4,
    reward=lambda cart, top: np.exp(-2 * cart.position[0] ** 2 - 10 * top.velocity[0] ** 2), initial="project",
    reset=lambda r: {"q0": q + r.uniform(-1, 1) * along, "v0": r.normal(0, 0.1, 12)}, terminated=lambda top: top.position[1] < 0.6)
random, mean, spread, scores = np.random.default_rng(0), np.zeros(4), np.full(4, 40.0), []
for generation in range(14):
    policies, total, alive = np.repeat(random.normal(mean, spread, (64, 4)), 4, axis=0), np.zeros(256), np.full(256, True)
    seen = envs.reset(seed=generation)[0]
    while np.any(alive):
        seen, reward, fell, late, _ = envs.step(np.clip(np.sum(policies * seen, axis=1, keepdims=True), -60, 60))
        total, alive = total + reward * alive, alive & ~fell & ~late
    best, scores = policies[::4][np.argsort(total.reshape(64, 4).mean(axis=1))[-10:]], [*scores, total.mean()]
    mean, spread = best.mean(axis=0), best.std(axis=0) + 8 / (1 + generation)
sol = simulate(m, 20.0, q0=q - along, v0=0 * along, controllers={"push": Controller(lambda seen: mean @ seen, period=0.04)})
plt.plot(sol.t, sol["seen"][:, [0, 2]], label=["cart (m)", "load before the cart (m)"])
plt.legend(title=f"mean reward {scores[0]:.0f}, then {scores[-1]:.0f} of 250")
plt.savefig("balance.png", dpi=120)
