"""Repeated short calls, as in a control loop: simulate over 1 ms spans from sol.end.

python benchmarks/short_calls.py
"""

from __future__ import annotations

import time

import numpy as np

from holonomic import System, simulate


def main(calls: int = 1000) -> None:
    """Print microseconds per call, the best of five rounds."""
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    best = np.inf
    for _ in range(5):
        sol = simulate(pendulum, 0.001, q0=[1, 0], v0=[0, 0])
        began = time.perf_counter()
        for _ in range(calls):
            end = sol.end
            sol = simulate(pendulum, (end.t, end.t + 0.001), q0=end)
        best = min(best, (time.perf_counter() - began) / calls)
    print(f"simulate over 1 ms from sol.end: {best * 1e6:.0f} us per call")


if __name__ == "__main__":
    main()
