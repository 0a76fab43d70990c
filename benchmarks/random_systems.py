"""Random closed linkages and random spring-mass-constraint systems: right, refused with a reason, or wrong.

    python benchmarks/random_systems.py [--count 1000] [--seed 1] [--only KIND] [--first 0] [--workers 2] [--verbose]

Every member is drawn from its own number: `--first 137 --count 1 --verbose` repeats one of them. It is simulated
with nothing chosen at rtol = 1e-6 and judged at 17 times against a run at 1e-11 by another method: implicit where the run
was explicit, and the other way round; where implicit methods fail, RK45 with post-stabilization or projection; at 1e-9 where
rounding allows no more. An answer is right as long as its error is at most 10 κ rtol, κ >= 1 being the error of DOP853 with
projection at rtol = 1e-9, against itself at 1e-11, divided by 1e-9, up to
that time (at 1e-8 where it fails at 1e-9; against the judge where it fails at 1e-11). Above that it is wrong: there is
no second bound.
Where no other method comes to its end, DOP853 at 1e-11 judges; these are counted.
Times with κ rtol > 0.01 are not judged (the motion is chaotic there). Errors are relative to the largest position and
velocity of the run.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from holonomic import BDF, DOP853, GGL, RK45, HolonomicError, ProjectedInvariants, Projection, Radau, S_both2, simulate

sys.path.insert(0, str(Path(__file__).resolve().parent))
from random_members import KINDS, LINKAGES, Member, member  # noqa: F401

RTOL, FINE, FINEST = 1e-6, 1e-9, 1e-11
TIMES = 17
CHAOTIC = 0.01
MOST_STEPS = 60_000


@dataclass
class Verdict:
    """What became of one member."""

    kind: str
    number: int
    word: str  # right, refused, wrong, not judged
    error: float = np.nan
    allowed: float = np.nan
    kappa: float = np.nan
    why: str = ""
    seconds: float = 0.0
    judge: str = ""  # which method judged, at which rtol


# a method, and how often MOST_STEPS it may use up; implicit methods have no use for the mechanism's own metric of the
# projection, which is part of the compiled code
SAME = {"DOP853": ({"integrator": DOP853(), "stabilization": Projection()}, 5)}
IMPLICIT = {
    "Radau": ({"integrator": Radau(), "formulation": ProjectedInvariants()}, 1),
    "Radau with GGL": ({"integrator": Radau(), "formulation": GGL()}, 1),
    "BDF": ({"integrator": BDF(), "formulation": ProjectedInvariants()}, 1),
}
LOWER = {
    "RK45 with S_both2": ({"integrator": RK45(), "stabilization": S_both2()}, 10),
    "RK45": ({"integrator": RK45(), "stabilization": Projection()}, 10),
}


def states(one: Member, rtol: float, way: tuple = ({}, 1)):
    """States at the judged times."""
    choice, patience = way
    times = np.linspace(0.0, one.t_end, TIMES)
    own = "formulation" not in choice or one.system.metric is None
    system = one.system if own else replace(one.system, metric=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sol = simulate(
            system, one.t_end, q0=one.q0, v0=one.v0, rtol=rtol, atol=rtol * 1e-2, save_at=times,
            max_steps=MOST_STEPS * patience, **one.options, **choice,
        )  # fmt: skip
    return sol.q, sol.v, sol


def first_of(one: Member, tries):
    """The first of (rtol, name, way) that comes to its end: its states, its rtol and its name; or three times None."""
    for rtol, name, way in tries:
        try:
            return states(one, rtol, way), rtol, name
        except HolonomicError:
            continue
    return None, None, None


def distance(a, b) -> np.ndarray:
    """Relative distance of two runs at each time."""
    parts = [np.max(np.abs(x - y), axis=1) / max(1.0, float(np.max(np.abs(y)))) for x, y in zip(a[:2], b[:2], strict=True)]
    return np.maximum(*parts)


def judge(one: Member, **choice) -> Verdict:
    """Simulate one member, with nothing chosen unless something is given, and say what became of it."""
    began = time.perf_counter()
    verdict = Verdict(one.kind, one.number, "right")
    try:
        found = states(one, RTOL, (choice, 1))
    except HolonomicError as problem:
        verdict.word, verdict.why = "refused", f"{type(problem).__name__}: {problem}"
        verdict.seconds = time.perf_counter() - began
        return verdict
    verdict.seconds = time.perf_counter() - began
    explicit = not found[2].plan.choice.integrator.implicit
    others = [IMPLICIT, LOWER] if explicit else [SAME, LOWER]
    tries = [(rtol, name, way) for rtol in (FINEST, FINE) for ways in others for name, way in ways.items()]
    reference, finest, name = first_of(one, [*tries, *((FINEST, *each) for each in SAME.items())])
    if reference is None:
        verdict.word, verdict.why = "not judged", "no reference run came to its end"
        return verdict
    verdict.judge = f"{name} at {finest:g}"
    # the error of DOP853 at 1e-9 is known from itself at 1e-11 better than from a method of lower order
    exact, _, _ = first_of(one, [(FINEST, *each) for each in SAME.items()])
    fineness = 10 * FINE if exact is None and finest != FINEST else FINE
    tries = [(rtol, *each) for rtol in (fineness, 10 * FINE) for each in SAME.items()]
    fine, fineness, _ = first_of(one, [*tries, *((fineness, *each) for each in IMPLICIT.items())])
    kappa = np.ones(TIMES)
    if fine is not None:
        away = distance(fine, reference if exact is None else exact)
        kappa = np.maximum(1.0, np.maximum.accumulate(away) / fineness)
    error = distance(found, reference)
    judged = kappa * RTOL <= CHAOTIC
    ratio = np.where(judged, error / (10.0 * kappa * RTOL), 0.0)
    at = int(np.argmax(ratio))
    verdict.error, verdict.allowed, verdict.kappa = float(error[at]), float(10 * kappa[at] * RTOL), float(kappa[at])
    if ratio[at] > 1.0:
        verdict.word = "wrong"
        verdict.why = f"at t = {at * one.t_end / (TIMES - 1):.3g}; {found[2].plan.choice.integrator!r}"
    elif np.sum(judged) <= 3:
        verdict.word, verdict.why = "not judged", "chaotic from the start"
    return verdict


def judged_number(seed: int, only: str, number: int) -> Verdict | None:
    """Draw and judge one member, unless it is of a kind that is left out."""
    one = member(number, seed)
    return judge(one) if only in one.kind else None


def study(numbers, seed: int, only: str = "", verbose: bool = False, workers: int = 1) -> list[Verdict]:
    """Judge members by number, in several processes if wished."""
    work = partial(judged_number, seed, only)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            return told(pool.map(work, numbers, chunksize=2), verbose)
    return told(map(work, numbers), verbose)


def told(verdicts, verbose: bool) -> list[Verdict]:
    """Print what is worth it, as it comes."""
    found = []
    for verdict in verdicts:
        if verdict is None:
            continue
        found.append(verdict)
        if verbose or verdict.word in ("wrong", "not judged"):
            print(
                f"{verdict.number:5d} {verdict.kind:25s} {verdict.word:10s} error {verdict.error:.1e} allowed "
                f"{verdict.allowed:.1e} κ {verdict.kappa:.1e} {verdict.seconds:.2f} s {verdict.judge} {verdict.why[:150]}",
                flush=True,
            )
    return found


WORDS = ("right", "refused", "wrong", "not judged")


def table(found: list[Verdict]) -> str:
    """The counts by kind, in Markdown."""
    groups: dict[str, Counter] = {}
    for verdict in found:
        kind = verdict.kind if verdict.kind in LINKAGES else "springs and masses, " + verdict.kind.split(", ")[1]
        groups.setdefault(kind, Counter())[verdict.word] += 1
    rows = ["| kind | members | " + " | ".join(WORDS) + " |", "| --- |" + " ---: |" * 5]
    for kind, counts in sorted(groups.items()):
        rows.append(f"| {kind} | {counts.total()} | " + " | ".join(str(counts[word]) for word in WORDS) + " |")
    total = sum(groups.values(), Counter())
    rows.append(f"| all | {total.total()} | " + " | ".join(str(total[word]) for word in WORDS) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    began = time.perf_counter()
    numbers = range(given.first, given.first + given.count)
    found = study(numbers, given.seed, given.only, given.verbose, given.workers)
    print(table(found))
    reasons = Counter(verdict.why.split(":")[0] for verdict in found if verdict.word == "refused")
    for verdict in found:
        if verdict.word == "refused":
            print(f"{verdict.number} {verdict.kind}: {verdict.why[:200]}")
    for verdict in sorted(found, key=lambda each: -each.error / each.allowed if each.word == "wrong" else 0.0):
        if verdict.word == "wrong":
            print(
                f"| {verdict.number} | {verdict.kind} | {verdict.error:.1e} | {verdict.kappa:.1e} | "
                f"{verdict.error / verdict.allowed:.1f} | {verdict.judge} | {verdict.why} |"
            )
    most = sorted((verdict.error / verdict.allowed for verdict in found if verdict.word in ("right", "wrong")), reverse=True)
    print("largest error / allowed:", " ".join(f"{value:.2f}" for value in most[:20]))
    print("judged by:", dict(Counter(verdict.judge for verdict in found)))
    print(dict(reasons), f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
