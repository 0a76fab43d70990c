"""Functions that are not traced (trace=False) against SciPy's solve_ivp on the same right-hand side.

    python benchmarks/interpreted.py

Same method, same tolerances, same function; every time is the best of several, taken in turns. A ratio
below 1 means that we are faster. With a costly right-hand side both take what the function takes.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.integrate import solve_ivp

from holonomic import DOP853, RK45, Ode, System, simulate

REPEATS = 5


def kepler(y):
    """Two bodies in the plane, 4 unknowns."""
    cube = (y[0] * y[0] + y[1] * y[1]) ** 1.5
    return np.array([y[2], y[3], -y[0] / cube, -y[1] / cube])


def chain(y):
    """Seven masses between springs that harden, 14 unknowns."""
    q, v = y[:7], y[7:]
    stretch = np.empty(8)
    stretch[0], stretch[1:7], stretch[7] = q[0], q[1:] - q[:-1], -q[6]
    return np.concatenate([v, stretch[1:] - stretch[:-1] - 0.1 * q**3])


def mass(q):
    """Two rods, hinged to each other and to the ground, in absolute coordinates of their ends."""
    return np.diag([1.0, 1.0, 2.0, 2.0])


def force(q, v):
    return np.array([0.0, -9.81, 0.0, -19.62]) - 0.01 * v


def rods(q):
    d = q[2:] - q[:2]
    return np.array([q[:2] @ q[:2] - 1.0, d @ d - 0.25])


def gradients(q):
    d = q[2:] - q[:2]
    return np.array([[2.0 * q[0], 2.0 * q[1], 0.0, 0.0], [-2.0 * d[0], -2.0 * d[1], 2.0 * d[0], 2.0 * d[1]]])


def bending(v):
    d = v[2:] - v[:2]
    return np.array([2.0 * v[:2] @ v[:2], 2.0 * d @ d])


def accelerations(y):
    """The same equations as one would write them for solve_ivp."""
    q, v = y[:4], y[4:]
    G = gradients(q)
    K = np.zeros((6, 6))
    K[:4, :4], K[:4, 4:], K[4:, :4] = mass(q), G.T, G
    solved = np.linalg.solve(K, np.concatenate([force(q, v), -bending(v)]))
    return np.concatenate([v, solved[:4]])


def best(*calls):
    """Seconds and results of each call, the best of several rounds."""
    seconds, results = [np.inf] * len(calls), [None] * len(calls)
    for _ in range(REPEATS):
        for i, call in enumerate(calls):
            began = time.perf_counter()
            results[i] = call()
            seconds[i] = min(seconds[i], time.perf_counter() - began)
    return seconds, results


def compare(name, theirs, ours, y0, t_end, integrator, rtol):
    """Print one row: times, evaluations and ratios."""
    method = type(integrator).__name__

    def scipy():
        return solve_ivp(lambda t, y: theirs(y), (0.0, t_end), y0, method=method, rtol=rtol, atol=1e-9)

    def holonomic():
        return simulate(ours, t_end, integrator=integrator, rtol=rtol, atol=1e-9, stabilization=None, **start)

    half = len(y0) // 2
    start = {"y0": y0} if isinstance(ours, Ode) else {"q0": y0[:half], "v0": y0[half:]}
    (a, b), (sol_a, sol_b) = best(scipy, holonomic)
    evaluations = sol_b.stats["field evaluations"]
    print(
        f"| {name} | {method} | {rtol:g} | {1e3 * a:.1f} | {sol_a.nfev} | {1e3 * b:.1f} | {evaluations} | "
        f"{b / a:.2f} | {b / evaluations / (a / sol_a.nfev):.2f} |"
    )
    return b / a


def main() -> None:
    """Print the table as Markdown."""
    arm = System(mass, force, rods, trace=False, derivatives={"G": gradients, "gamma": bending})
    cases = [
        ("Kepler, 4 unknowns", kepler, Ode(kepler, trace=False), np.array([0.4, 0.0, 0.0, 2.0]), 60.0),
        ("chain, 14 unknowns", chain, Ode(chain, trace=False), np.r_[np.linspace(-1, 1, 7), np.zeros(7)], 60.0),
        ("two rods, 8 unknowns", accelerations, arm, np.array([1.0, 0.0, 1.0, -0.5, *np.zeros(4)]), 3.0),
    ]
    print("| problem | method | rtol | solve_ivp, ms | calls | trace=False, ms | calls | ratio | per call |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios = [
        compare(*case, integrator, rtol) for case in cases for integrator in (RK45(), DOP853()) for rtol in (1e-4, 1e-6, 1e-9)
    ]
    print(f"\nlargest ratio {max(ratios):.2f}, median {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
