"""References of the problems to 20 digits, by runs in double-double, and how far the stored and the published ones are off.

    python benchmarks/reference_digits.py                  # compute all, write the file and the table of the page
    python benchmarks/reference_digits.py seven-body       # compute one and show it
    python benchmarks/reference_digits.py --page           # the table alone, from the file

Every reference is computed three times: by DOP853 at rtol 1e-24 with `Projection`; at rtol 1e-22 with two corrections a step,
S_both2, in the place of the projection; and by RK45 at rtol 1e-19, where that takes less than 20 s. What is written are 24 digits
of the first run, and how many of them the others have: the second says what tolerance and projection leave, the third that nothing
depends on the method.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np

from holonomic import DOP853, RK45, S_both2, simulate
from holonomic.errors import HolonomicError, LimitReached
from holonomic.problems import catalogue
from holonomic.problems.problem import same_time
from holonomic.results.pairs import Pairs

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src" / "holonomic" / "problems" / "exact_references.json"
PAGE = ROOT / "docs" / "reference-digits.md"
MARK = "<!-- table -->"
FINE = {"rtol": 1e-24, "atol": 1e-27}
SECONDS, LONGEST, WRITTEN = 20.0, 120.0, 24
LEVELS = ("q", "v", "lam", "y")

# [ivp-testset] andrews and caraxis, as distributed; the signs of the multipliers of caraxis are turned
PUBLISHED = {
    "seven-body": {"t": 0.03, "q": (
        15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948, 0.5244099658805303, 0.5347301163226948,
        1.048080741042263,
    ), "v": (
        1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385, 0.5735699284790808, -19.29337464421385,
        0.3231791658026955,
    ), "lam": (199.175333373191, -29.75531228015052, 23.06654119098399, 31.45271365475927, 22.64249232082739, 11.61740700019673)},
    "car-axis": {
        "t": 3.0, "q": (0.04934557842754028, 0.49698946023017115, 1.0417425248854215, 0.37391102726536124),
        "v": (-0.07705836840409723, 0.007446866587237785, 0.017556815753723223, 0.7703410437792519),
        "lam": (0.004736886590848933, 0.0011046803312573436),
    },
}  # fmt: skip


def levels_of(problem) -> tuple[str, ...]:
    return ("y",) if problem.y0 is not None else ("q", "v", "lam")


def agreement(one: Pairs, other) -> float:
    """-log10 of the largest |x - y| / max(1, |y|)"""
    other = other if isinstance(other, Pairs) else Pairs(other)
    if not one.high.size:
        return math.inf
    error = np.max(np.abs((one - other).high) / np.maximum(1.0, np.abs(other.high)))
    return float(-np.log10(error)) if error > 0.0 else 32.0


def runs(problem, times):
    """The run at the finer tolerance, and the others by what they are."""
    more = {"precision": "double-double", "save_at": times, "max_steps": 10**9}
    simulate(problem, 1e-6 * max(times), integrator=DOP853(), **FINE, precision="double-double")  # compiled, before time counts
    first = simulate(problem, max(times), integrator=DOP853(), max_time=LONGEST, **FINE, **more)
    coarser = {"stabilization": S_both2(), "rtol": 1e-22, "atol": 1e-25}
    others = {"tolerance": simulate(problem, max(times), integrator=DOP853(), **coarser, **more)}
    try:
        others["RK45"] = simulate(problem, max(times), integrator=RK45(), rtol=1e-19, atol=1e-22, max_time=SECONDS, **more)
    except HolonomicError:
        pass
    return first, others


def computed(name: str) -> list[dict] | str:
    """References of a problem, or why there are none."""
    problem = catalogue()[name]()
    times = sorted({float(known.t) for known in problem.references if known.t > 0.0})
    if not times:
        return "exact solution"
    try:
        first, others = runs(problem, times)
    except LimitReached:
        return f"a run takes more than {LONGEST:g} s"
    except HolonomicError as refused:
        return str(refused).partition(". ")[0].removeprefix('precision="double-double": ')
    found = []
    for k, t in enumerate(times):
        entry = {"t": t, "agreement": {name: {} for name in others}}
        for level in levels_of(problem):
            one = getattr(first.exact, level)[k]
            if one.high.size:
                entry[level] = one.text(WRITTEN)
                for name, other in others.items():
                    entry["agreement"][name][level] = round(agreement(one, getattr(other.exact, level)[k]), 1)
        found.append(entry)
    return found


def stored_digits(problem, entry) -> dict[str, float]:
    """How many digits of the stored reference are right."""
    (known,) = [each for each in problem.references if same_time(each.t, entry["t"])]
    found = {}
    for level in LEVELS:
        values = getattr(known, level)
        if values is None or level not in entry:
            continue
        exact = Pairs.from_exact(entry[level])
        if known.components is not None and level != "lam":
            exact = exact[list(known.components)]
        found[level] = agreement(exact, values)
    return found


def page(known: dict) -> str:
    """The table of the page."""
    word = lambda digits: ", ".join(f"{level} {min(value, 99):.1f}" for level, value in digits.items())
    columns = ("problem", "t", "other tolerance", "other method", "stored, right to", "published, right to")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    without = []
    for name, entries in known.items():
        if isinstance(entries, str):
            if entries != "exact solution":
                without.append(f"| `{name}` | {entries} |")
            continue
        problem = catalogue()[name]()
        for entry in entries:
            printed = PUBLISHED.get(name)
            off = "" if printed is None or printed["t"] != entry["t"] else word(
                {level: agreement(Pairs.from_exact(entry[level]), printed[level]) for level in ("q", "v", "lam")}
            )  # fmt: skip
            others = [word(entry["agreement"].get(other, {})) for other in ("tolerance", "RK45")]
            cells = (f"`{name}`", f"{entry['t']:g}", *others, word(stored_digits(problem, entry)), off)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "Not computed so:", "", "| problem | why |", "|---|---|", *without]) + "\n"


def write_page(known: dict) -> None:
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(MARK)] + MARK + "\n\n" + page(known), encoding="utf-8")


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    names = [name for name in arguments if not name.startswith("--")]
    if "--page" not in arguments:
        for name in names or catalogue():
            known[name] = computed(name)
            print(name, known[name] if names or isinstance(known[name], str) else [
                (entry["t"], entry["agreement"]) for entry in known[name]
            ], flush=True)  # fmt: skip
            if not names or "--keep" in arguments:
                known = {name: known[name] for name in catalogue() if name in known}
                FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    if not names or "--keep" in arguments:
        write_page(known)


if __name__ == "__main__":
    main(sys.argv[1:])
