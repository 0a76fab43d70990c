"""The automatic choice against hand-picked combinations, over every problem of the library; writes docs/automatic-choice.md.

    python benchmarks/automatic_choice.py                   measure what is not known yet, and write the page
    python benchmarks/automatic_choice.py pendulum het      measure these anew (parts of names)
    python benchmarks/automatic_choice.py --page            write the page from what is known
    python benchmarks/automatic_choice.py --known=PATH      keep the numbers in another file, and write no page

κ is the problem's amplification, at least 1: the error of DOP853 with projection at rtol 1e-9, divided by 1e-9. Errors are
the largest |x - ref| / max(1, |ref|) over q and v at all steps of the run. An answer is right where its error is at most
10 κ rtol.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from stamp import stamp

import holonomic as ho
from holonomic import problems
from holonomic.errors import HolonomicError

HERE = Path(__file__).resolve().parent
KNOWN = HERE / "automatic_choice.json"
PAGE = HERE.parent / "docs" / "automatic-choice.md"
STIFF = "<!-- stiff problems -->\n"
RTOL = 1e-6
SWEEP = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
RIGHT = 10.0  # κ rtol
FELT = 0.01  # κ rtol: errors below this do not matter to anybody
CHAOTIC = 1e4  # κ above which the interval is halved: κ rtol shall be below 0.01
MOST_STEPS = 300_000
LARGE = 15  # velocities above which formulations that differentiate eliminated accelerations are left out
SECONDS = 0.25  # spent on repeating one run
DIGITS = 5  # of what is kept
VARIED = ("rapid-pair", "index-2-pair", "heterogeneous-masses", "rapid-constraint", "suspension", "spring-pendulum")


def cases() -> dict:
    """Return all problems by name: the catalogue, and the stiff ones with several parameters."""
    found = {name: make for name, make in problems.catalogue().items() if name not in VARIED}
    for nu in (1.0, 100.0, 1000.0):
        found[f"rapid-pair, nu = {nu:g}"] = lambda nu=nu: problems.rapid_pair(nu=nu)
        found[f"index-2-pair, nu = {nu:g}"] = lambda nu=nu: problems.index2_pair(nu=nu)
        found[f"rapid-constraint, nu = {nu:g}"] = lambda nu=nu: problems.rapid_constraint(nu=nu)
        for damping in (0.0, 1.0, 2.0):  # 0: without f
            name = f"heterogeneous-masses, nu = {nu:g}, damping {damping:g}"
            found[name] = lambda nu=nu, d=damping: problems.heterogeneous_masses(nu=nu, damping=d)
    for k, c in ((1e6, 1e3), (1e8, 1e5), (1e10, 1e7)):
        found[f"suspension, k = {k:g}"] = lambda k=k, c=c: problems.suspension(k=k, c=c)
    for k, c in ((1e4, 0.0), (1e6, 0.0), (1e6, 1e3), (1e8, 1e4)):
        found[f"spring-pendulum, k = {k:g}, c = {c:g}"] = lambda k=k, c=c: problems.spring_pendulum(k=k, c=c)
    return found


def combinations(large: bool) -> dict[str, dict]:
    """Return what a person would pick, by name."""
    found = {
        "DOP853, Projection": {"integrator": ho.DOP853()},
        "DOP853, S_both2": {"integrator": ho.DOP853(), "stabilization": ho.S_both2()},
        "RK45, Projection": {"integrator": ho.RK45()},
        "RK23, Projection": {"integrator": ho.RK23()},
    }
    forms = {"Index1, Projection": {}, "GGL": {"formulation": ho.GGL()}, "Index2": {"formulation": ho.Index2()}}
    if not large:
        forms |= {
            "ProjectedInvariants('Pa')": {"formulation": ho.ProjectedInvariants("Pa")},
            "ProjectedInvariants('Pc')": {"formulation": ho.ProjectedInvariants("Pc")},
            "StateSpace": {"formulation": ho.StateSpace()},
            "StrangenessFree": {"formulation": ho.StrangenessFree()},
        }
    for name, integrator in (("BDF", ho.BDF()), ("Radau", ho.Radau())):
        found |= {f"{name}, {form}": {"integrator": integrator, **given} for form, given in forms.items()}
    return found


def states(sol) -> np.ndarray:
    """Return (q, v) at the times that were kept."""
    return np.hstack([sol.q, sol.v])


def error(sol, reference) -> float:
    """Return the largest error over all steps of a run."""
    known = reference(sol.t)
    return float(np.max(np.abs(states(sol) - known) / np.maximum(1.0, np.abs(known))))


def run(problem, t_end, rtol=RTOL, **options):
    """Simulate quietly."""
    redundant = {} if getattr(problem.system, "redundant", None) else {"redundant": "minimum-norm"}
    return ho.simulate(problem, t_end, rtol=rtol, atol=rtol / 1e3, progress=False, max_steps=MOST_STEPS, **redundant, **options)


def reference(problem, t_end) -> Callable[[np.ndarray], np.ndarray]:
    """Return times -> (q, v): exact, or from a run at a far tighter tolerance, whose steps are short."""
    if problem.exact is not None:

        def exact(times) -> np.ndarray:
            rows = [problem.exact(t) for t in times]
            return np.array([np.concatenate([np.ravel(part) for part in x]) if isinstance(x, tuple) else x for x in rows])

        return exact
    try:
        sol = run(problem, t_end, rtol=1e-13, integrator=ho.DOP853())
    except HolonomicError:
        sol = run(problem, t_end, rtol=1e-11, integrator=ho.Radau())
    return lambda times: states(sol(times))


def measured(problem, t_end, known, **options) -> dict:
    """Return time, error, steps of one combination, or why it gives none."""
    try:
        sol = run(problem, t_end, **options)
        best, began = np.inf, time.perf_counter()
        while time.perf_counter() - began < SECONDS:
            start = time.process_time()
            run(problem, t_end, **options)
            took = time.process_time() - start
            best = min(best, took) if took > 0.0 else best  # the clock may stand still
    except HolonomicError as problem_met:
        return {"refused": f"{type(problem_met).__name__}: {problem_met}"[:160]}
    found = {"ms": 1e3 * best, "error": error(sol, known), "steps": sol.stats["steps"]}
    if not options:
        story = sol.trail.story.changes if sol.trail.story else ()
        changes = [[change.t, repr(change.choice.integrator)] for change in story]
        found |= {"plan": repr(sol.plan), "changes": changes}
    return found


def amplification(problem, t_end, known) -> float:
    """Return κ; implicit where explicit steps would be too many."""
    for integrator, rtol in ((ho.DOP853(), 1e-9), (ho.DOP853(), 1e-8), (ho.Radau(), 1e-9)):
        try:
            return max(1.0, error(run(problem, t_end, rtol=rtol, integrator=integrator), known) / rtol)
        except HolonomicError:
            continue
    return 1.0


def study(make) -> dict:
    """Return everything about one problem."""
    problem = make()
    t_end = problem.t_end
    try:
        known = reference(problem, t_end)
        kappa = amplification(problem, t_end, known)
        while kappa > CHAOTIC:
            t_end /= 2
            known = reference(problem, t_end)
            kappa = amplification(problem, t_end, known)
    except HolonomicError as met:
        auto = measured(problem, t_end, lambda times: 0.0)
        return {"t_end": t_end, "no reference": f"{type(met).__name__}: {met}"[:160], "auto": auto}
    large = len(problem.v0 or ()) > LARGE or problem.name == "wheelset"
    freedom = ho.diagnose(problem).freedom
    found = {"t_end": t_end, "freedom": freedom, "kappa": kappa}
    found |= {"auto": measured(problem, t_end, known), "by hand": {}, "sweep": {}}
    ways = combinations(large)
    for name, options in ways.items():
        found["by hand"][name] = measured(problem, t_end, known, **options)
    time_again(problem, t_end, found, ways)
    for rtol in SWEEP:
        try:
            found["sweep"][f"{rtol:g}"] = error(run(problem, t_end, rtol=rtol), known)
        except HolonomicError as met:
            found["sweep"][f"{rtol:g}"] = f"{type(met).__name__}: {met}"[:160]
    return found


def time_again(problem, t_end, found: dict, ways: dict) -> None:
    """Measure the automatic choice and the fastest three by hand once more, by turns: machines change their pace."""
    limit = RIGHT * found["kappa"] * RTOL
    right = sorted((row["ms"], name) for name, row in found["by hand"].items() if row.get("error", np.inf) <= limit)
    rows = {name: (found["by hand"][name], ways[name]) for _, name in right[:3]}
    if "ms" in found["auto"]:
        rows["auto"] = found["auto"], {}
    for row, _ in rows.values():
        row["ms"] = np.inf
    began, turns = time.perf_counter(), 0
    while turns < 5 or time.perf_counter() - began < 4 * SECONDS:
        turns += 1
        for row, options in rows.values():
            start = time.thread_time()
            run(problem, t_end, **options)
            row["ms"] = min(row["ms"], 1e3 * (time.thread_time() - start))


def best(found: dict) -> tuple[str, float] | None:
    """Return the fastest combination by hand that is right, and its time in ms."""
    limit = RIGHT * found["kappa"] * RTOL
    right = {name: row["ms"] for name, row in found["by hand"].items() if row.get("error", np.inf) <= limit}
    return min(right.items(), key=lambda item: item[1]) if right else None


def slope(found: dict, least: float = 0.0) -> tuple[float, float] | None:
    """Return the log-log slope of error against rtol, and the largest increase when rtol is divided by 10.

    Errors below 1000 ε κ, and below `least` κ rtol, are left out.
    """
    floor, kappa = 1000 * np.finfo(float).eps * found["kappa"], found["kappa"]
    points = [(float(r), e) for r, e in found["sweep"].items() if not isinstance(e, str)]
    points = [(r, e) for r, e in points if e > max(floor, least * kappa * r)]
    if len(points) < 3:
        return None
    x, y = np.log10(np.array(points)).T
    worst = max((b[1] / a[1] for a, b in itertools.pairwise(points)), default=0.0)
    return float(np.polyfit(x, y, 1)[0]), worst


def page(known: dict) -> str:
    """Return the page."""
    rows, times, wrong, refused = [], [], [], []
    slopes, felt, outside, jumps, largest = [], [], [], [], 0.0
    for name, found in known.items():
        auto = found["auto"]
        if "kappa" not in found or "refused" in auto:
            refused.append(f"{name}: {auto.get('refused') or found.get('no reference')}")
            continue
        share = auto["error"] / (found["kappa"] * RTOL)
        if share > RIGHT:
            wrong.append(name)
        by_hand = best(found)
        plan = re.sub(r"Index1\(\) \+ (\w+)\(\) \+ Projection\(\)", r"\1", auto["plan"]).replace(" + None", "")
        if auto["changes"] and auto["changes"][0][0] > 0:
            plan = "changed " + ", ".join(f"at {t:.3g} s to {i}" for t, i in auto["changes"][:3])
        ratio = auto["ms"] / by_hand[1] if by_hand else np.nan
        times.append((name, ratio))
        prescribed = found["freedom"] == 0
        tell = None if prescribed else slope(found)
        slopes.append((name, tell))
        felt.append((name, None if prescribed else slope(found, FELT)))
        errors = [(float(r), e) for r, e in found["sweep"].items() if not isinstance(e, str)]
        largest = max(largest, *(e / (found["kappa"] * r) for r, e in errors))
        if tell is not None:
            if not 0.6 <= tell[0] <= 1.3:
                outside.append(f"{name} ({tell[0]:.2f})")
            if tell[1] > 3:
                jumps.append(f"{name} ({tell[1]:.1f})")
        told = "prescribed" if prescribed else "rounding" if tell is None else f"{tell[0]:.2f}"
        rows.append(
            f"| {name} | {found['kappa']:.1e} | {plan} | {share:.1e} | {auto['ms']:.2f} | "
            f"{by_hand[0] if by_hand else 'none is right'} | {by_hand[1] if by_hand else np.nan:.2f} | {ratio:.2f} | {told} |"
        )
    ratios = np.array([ratio for _, ratio in times])
    valid = ratios[np.isfinite(ratios)]
    slow = [f"{name} ({ratio:.1f})" for name, ratio in times if ratio > 2]
    counted = [tell for _, tell in slopes if tell is not None]
    fit = sum(0.6 <= tell[0] <= 1.3 for tell in counted)
    seen = [(name, tell) for name, tell in felt if tell is not None]
    loud = [f"{name} ({tell[0]:.2f})" for name, tell in seen if not 0.6 <= tell[0] <= 1.3]
    loud_jumps = [f"{name} ({tell[1]:.1f})" for name, tell in seen if tell[1] > 3]
    return TEXT.format(
        count=len(known), right=len(times) - len(wrong), wrong=", ".join(wrong) or "none", refused="; ".join(refused) or "none",
        within2=int(np.sum(valid <= 2)), of=len(valid), percent=100 * np.mean(valid <= 2), most=float(np.max(valid)),
        slow=", ".join(slow) or "none", fit=fit, counted=len(counted), outside=", ".join(outside) or "none",
        jumps=", ".join(jumps) or "none", seen=len(seen), loud=", ".join(loud) or "none", felt=FELT, largest=largest,
        loud_jumps=", ".join(loud_jumps) or "none", rows="\n".join(rows), limit=RIGHT, stamp=stamp(),
    )  # fmt: skip


TEXT = """# The automatic choice, measured

Made by `benchmarks/automatic_choice.py`, {stamp}. Every problem of the library runs once with nothing chosen, and once with
every combination that you might pick: explicit methods with projection; BDF and Radau on every formulation that applies.
Problems of the papers run with ν = 1, 100 and 1000 and with and without the force (damping 0). rtol is 1e-6, atol 1e-9. Times
are in milliseconds, the best of as many runs as fit into a second. The automatic choice and the three fastest by hand run
alternately.

- κ is the problem's own amplification: the error of DOP853 at rtol 1e-9 over 1e-9 (where it fails, DOP853 at 1e-8 or Radau at
  1e-9), at least 1.
- Errors are the largest over all steps of a run, in units of κ rtol in the column *error*. An answer is right if its error is
  at most {limit:g} κ rtol.
- *By hand* is the fastest combination that is right, chosen afterwards with the answer in hand.
- *What ran* is one name if an explicit method ran with Index1 and projection.
- *Slope* is that of log error over log rtol from 1e-4 to 1e-10, as far as the error is above 1000 ε κ. It is "rounding" if
  fewer than three errors are. It is "prescribed" if nothing is free to move: positions then follow from the constraints
  alone, to rounding, whatever rtol.

## What holds

- {count} problems: {right} right, wrong: {wrong}. Without an answer or a reference: {refused}.
- Within a factor of 2 of the best choice by hand: {within2} of {of} ({percent:.0f} %); the worst is {most:.1f}.
  Above 2: {slow}.
- Slope between 0.6 and 1.3: {fit} of {counted}. Outside: {outside}.
- An error that grows by more than 3 when rtol is divided by 10: {jumps}.
- The largest error of all runs from rtol 1e-4 to 1e-10: {largest:.1f} κ rtol.

{seen} problems have errors above {felt:g} κ rtol. With these alone:

- slopes outside: {loud};
- growing by more than 3: {loud_jumps}.

The field of leaving-circle has no bounded derivative. An error is a sum of many, of both signs, and scatters. Over 85 systems
and 25 tolerances each it scatters by a factor of 2 around its straight line, with each of 15 rules for the step. A sum that
happens to be small at one tolerance then grows at the next.

| problem | κ | what ran | error | ms | best by hand | ms | ratio | slope |
| --- | ---: | --- | ---: | ---: | --- | ---: | ---: | ---: |
{rows}
"""


def rounded(value):
    """Return numbers with a few digits, whatever they are in."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def text_of(known: dict) -> str:
    """Return the numbers as JSON, one line per combination, so that a difference can be read."""

    def dumped(value) -> str:
        return json.dumps(value, ensure_ascii=False)

    parts = []
    for name, found in rounded(known).items():
        lines = []
        for key, value in found.items():
            if key == "by hand":
                inside = ",\n".join(f"   {dumped(each)}: {dumped(row)}" for each, row in value.items())
                lines.append(f"  {dumped(key)}: {{\n{inside}\n  }}")
            else:
                lines.append(f"  {dumped(key)}: {dumped(value)}")
        parts.append(f" {dumped(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(words: list[str]) -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    place = next((Path(word.split("=", 1)[1]) for word in words if word.startswith("--known=")), KNOWN)
    known = json.loads(place.read_text()) if place.exists() else {}
    asked = [word for word in words if not word.startswith("-")]
    every = cases()
    for name, make in every.items():
        wanted = any(word in name for word in asked) if asked else name not in known
        if "--page" in words or not wanted:
            continue
        known[name] = study(make)
        auto, hand = known[name]["auto"], best(known[name]) if "kappa" in known[name] else None
        print(f"{name}: {auto.get('plan', auto.get('refused'))} {auto.get('ms', 0):.3f} ms; by hand {hand}", flush=True)
        place.write_text(text_of({each: known[each] for each in every if each in known}))
    if place == KNOWN:
        _, mark, stiff = PAGE.read_text().partition(STIFF)  # what stiff_choice.py has written
        PAGE.write_text(page({name: known[name] for name in every if name in known}) + mark + stiff)


if __name__ == "__main__":
    main(sys.argv[1:])
