"""The estimate of the global error against the error itself, on random linkages and systems of springs and masses.

    python benchmarks/global_error.py [--count 1000] [--seed 1] [--first 0] [--workers 2]

Each member is simulated with nothing chosen at rtol = 1e-6 and error=True, and again by DOP853 with projection at 1e-11. What
counts is estimate over error, of the state relative to its largest position and velocity, both at their largest along the run.
Members whose runs part, by the estimate, are chaotic at this tolerance and counted by themselves, and so are those of which a run
fails or which are exact to rounding.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from holonomic import DOP853, HolonomicError, Projection, simulate

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_members import member

ROUNDING = 1e-12
LEAST, MOST = 0.5, 20.0


def ratio(number: int, seed: int) -> tuple[str, float, float, float]:
    """Return what became of a member, estimate over error, and time and evaluations of the call over those without error=."""
    one = member(number, seed)
    given = {"q0": one.q0, "v0": one.v0, "rtol": 1e-6, "atol": 1e-9, "max_steps": 200_000, **one.options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plain = simulate(one.system, one.t_end, **given)
            began = time.process_time()
            plain = simulate(one.system, one.t_end, **given)
            alone = time.process_time() - began
            simulate(one.system, one.t_end, **given, error=True)
            began = time.process_time()
            sol = simulate(one.system, one.t_end, **given, error=True)
            longer = (time.process_time() - began) / alone
            if sol.error is None:
                return "failed", np.nan, np.nan, np.nan
            times, rows = np.unique(sol.t, return_inverse=True)
            exact = {"integrator": DOP853(), "stabilization": Projection(), "rtol": 1e-11, "atol": 1e-14, "save_at": times}
            true = simulate(one.system, one.t_end, **given | exact)
        except HolonomicError:
            return "failed", np.nan, np.nan, np.nan
    if sol.error.parted is not None:
        return "parted", np.nan, np.nan, np.nan
    error = estimate = 0.0
    for name in ("q", "v"):
        right = getattr(true, name)
        size = np.max(np.abs(right))
        error = max(error, np.max(np.abs(getattr(sol, name) - right[rows])) / size)
        estimate = max(estimate, np.max(getattr(sol.error, name)) / size)
    if error < ROUNDING:
        return "exact", np.nan, np.nan, np.nan
    evaluations = 1 + sol.error.companion.stats["field evaluations"] / plain.stats["field evaluations"]
    return "judged", estimate / error, longer, evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("--count", 1000), ("--seed", 1), ("--first", 0), ("--workers", 2)):
        parser.add_argument(name, type=int, default=value)
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.count)
    with ProcessPoolExecutor(asked.workers) as pool:
        found = list(pool.map(partial(ratio, seed=asked.seed), numbers, chunksize=4))
    judged = np.array([each[1:] for each in found if each[0] == "judged"])
    ratios = judged[:, 0]
    outside = [
        (number, round(each[1], 3)) for number, each in zip(numbers, found, strict=True)
        if each[0] == "judged" and not LEAST <= each[1] <= MOST
    ]  # fmt: skip
    words = [each[0] for each in found]
    print(f"{len(found)} members:", *(f"{words.count(word)} {word}" for word in ("judged", "parted", "exact", "failed")))
    shares = [0, 0.01, 0.1, 0.5, 0.9, 0.99, 1]
    print("estimate / error, least, 1 %, 10 %, median, 90 %, 99 %, most:", *np.quantile(ratios, shares).round(2))
    print(f"within {LEAST} to {MOST:g}: {100 * (1 - len(outside) / len(judged)):.1f} %; outside: {outside}")
    longer, evaluations = np.median(judged[:, 1:], axis=0)
    print(f"the call, in runs without error=: {longer:.2f} times the time, {evaluations:.2f} times the evaluations")


if __name__ == "__main__":
    main()
