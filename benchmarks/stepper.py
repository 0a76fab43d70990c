"""What calls of a Stepper cost, in microseconds of processor time, from Python: `python benchmarks/stepper.py`."""

import time
from collections.abc import Callable

import numpy as np

from holonomic import RK4, Stepper, System
from holonomic.problems import seven_body

ROUNDS = 7  # the quickest counts


def pendulum() -> System:
    """The pendulum of docs/tutorials/in-the-loop.md."""
    return System(
        mass=np.eye(2), force=lambda q, u: [-u.torque * q[1], u.torque * q[0] - 9.81], constraint={"rod": lambda q: q @ q - 1.0},
        inputs={"torque": 0.0},
    )  # fmt: skip


def cost(call: Callable, times: int) -> float:
    """Microseconds of processor time of a call."""
    best = np.inf
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            call()
        best = min(best, (time.process_time() - began) / times)
    return 1e6 * best


def rows(stepper: Stepper, dt: float, times: int) -> dict[str, float]:
    """All calls of a stepper."""
    stepper.step(dt)
    kept = stepper.state()
    found = {"step": cost(lambda: stepper.step(dt), times)}
    stepper.restore(kept)
    return found | {
        "state": cost(stepper.state, 20_000), "restore": cost(lambda: stepper.restore(kept), 20_000),
        "copy": cost(stepper.copy, 20_000), "copy, step, drop": cost(lambda: stepper.copy().step(dt), 5_000),
    }  # fmt: skip


if __name__ == "__main__":
    for name, stepper, dt, times in (
        ("pendulum, 1 ms", Stepper(pendulum(), q0=[0, -1], v0=[0.1, 0]), 1e-3, 10_000),
        ("pendulum, 1 ms, RK4", Stepper(pendulum(), q0=[0, -1], v0=[0.1, 0], integrator=RK4(), step=1e-3), 1e-3, 10_000),
        ("seven-body, 10 µs", Stepper(seven_body()), 1e-5, 200),
    ):
        print(f"{name:20}", "  ".join(f"{what} {number:.2f}" for what, number in rows(stepper, dt, times).items()))
