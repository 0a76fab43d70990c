"""In real time.

A pendulum turns as fast as on the table: each millisecond a controller's answer, a step, and a wait for the clock. The loop
reports how long steps took and which deadlines were missed; after one that is missed it goes on with the next tick.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from holonomic import RK4, Stepper, System

pendulum = System(
    mass=np.eye(2), force=lambda q, u: [-u.torque * q[1], u.torque * q[0] - 9.81],
    constraint=lambda q: q @ q - 1, inputs={"torque": 0.0},
)  # fmt: skip
stepper = Stepper(pendulum, q0=[0, -1], v0=[0.5, 0], integrator=RK4, step=0.001)
period, worked, late, deadline = 0.001, [], [], time.perf_counter() + 0.001
while stepper.t < 1.0:
    began = time.perf_counter()
    angle = np.arctan2(stepper.q[0], -stepper.q[1])  # of a device: read its sensors here, and
    stepper.step(period, u={"torque": 5.0 * np.sin(angle)})  # send the answer to its motors there
    worked.append(time.perf_counter() - began)
    left = deadline - time.perf_counter()
    if left > 0.0002:
        time.sleep(left - 0.0002)  # sleeping is coarse: the rest is waited for awake
    while time.perf_counter() < deadline:
        pass
    late.append(time.perf_counter() - deadline)
    deadline += period * max(1, np.ceil(late[-1] / period))
missed = np.array(late) > 0.1 * period
print(f"{len(late)} steps of {period * 1e3:g} ms: {np.median(worked) * 1e6:.0f} µs of work, {np.max(worked) * 1e6:.0f} at most;")
print(f"{missed.sum()} deadlines missed by more than a tenth, by {np.max(late) * 1e3:.2f} ms at most")
plt.hist([np.array(worked) * 1e6, np.array(late) * 1e6], bins=np.geomspace(0.1, 1e4, 60), label=["work", "late by"])
plt.gca().set(xscale="log", yscale="log", xlabel="time (µs)", ylabel="steps")
plt.legend()
plt.savefig("real_time.png", dpi=120)
