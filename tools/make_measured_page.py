"""Write docs/measured.md: what was measured in one page, each number read from the page that has the whole table.

python tools/make_measured_page.py            write the page
python tools/make_measured_page.py --check    exit with 1 if it is not up to date
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "measured.md"

HEAD = """# Measured

Each line has the main number of one measurement. Its page has the whole table and the command that makes it. The stamp names
the commit that was measured, or the one that brought the numbers. Times are those of one core of an AMD EPYC unless the table
says otherwise. `tools/make_measured_page.py` reads the lines from these pages.

| what | main result | table | commit, date |
| --- | --- | --- | --- |
"""
STAMP = re.compile(r"[Cc]ommit ([0-9a-f]{7,})(?: with changes)?, (\d{4}-\d{2}-\d{2})")


def stamp_beside(text: str, position: int) -> tuple[str, str] | None:
    """Return commit and date of the table at a position: of its section, of the head of the page, or the only ones there are."""
    starts = [0, *(match.start() for match in re.finditer(r"^## ", text, flags=re.MULTILINE)), len(text)]
    begin, end = next((a, b) for a, b in pairwise(starts) if a <= position < b)
    for part in (text[begin:end], text[: starts[1]], text):
        found = set(STAMP.findall(part))
        if found:
            return found.pop() if len(found) == 1 else None
    return None


@dataclass(frozen=True)
class Result:
    """One line: what it is, the page it comes from, what is looked for there, and how that is said."""

    what: str
    page: str
    found: tuple[str, ...]  # regular expressions; their groups fill the sentence in order
    sentence: str

    def line(self) -> str:
        """Return the row of the table."""
        text = (DOCS / f"{self.page}.md").read_text(encoding="utf-8")
        groups, places = [], []
        for pattern in self.found:
            match = re.search(pattern, text)
            if match is None:
                raise SystemExit(f"docs/{self.page}.md has nothing that looks like {pattern}")
            groups += match.groups()
            places.append(match.end())
        title = text.partition("\n")[0].lstrip("# ")
        stamps = {stamp_beside(text, place) for place in places or [0]}
        if len(stamps) != 1 or None in stamps:
            raise SystemExit(f"docs/{self.page}.md does not say which commit was measured, and when: {self.what}: {stamps}")
        ((commit, day),) = stamps
        return f"| {self.what} | {self.sentence.format(*groups)} | [{title}]({self.page}.md) | {commit}, {day} |"


RESULTS = (
    Result(
        "The first minute, in processor time",
        "first-minute",
        (
            r"the first result \| [^|]+ \| ([\d.]+ s) \|",
            r"`import holonomic` \| [^|]+ \| ([\d.]+ s) \|",
            r"whose model is known[^|]+\| [^|]+ \| ([\d.]+ s) \|",
        ),
        "first result after installation {}; import {}; a later process with a known model {}",
    ),
    Result(
        "One evaluation of the seven-body mechanism",
        "speed",
        (r"\| holonomic, emitted from NumPy \| (\d+) \|", r"\| C, structured \| (\d+) \|", r"\| C, dense \| (\d+) \|"),
        "{} ns from NumPy functions; C written by hand for this mechanism {} ns, with dense LU {} ns",
    ),
    Result(
        "A whole run with projection, tolerance 1e-9",
        "speed",
        (r"holonomic, DOP853, Projection \(([\d.]+) of C with projection\) \| 1e-09 \| ([\d.]+) \| ([\d.e-]+)",),
        "{1} ms with an error of {2}: {0} of the time of DOPRI5 with projection in C",
    ),
    Result(
        "Beside other packages: seven-body, error below 1e-6, constraints below 1e-10",
        "speed",
        (
            r"(?s)P2, g and Gv.*?\| holonomic \| [^|]+ \| ([\d.]+) ms",
            r"(?s)P2, g and Gv.*?\| scipy \| [^|]+ \| ([\d.]+) ms",
            r"(?s)P2, g and Gv.*?\| SUNDIALS C \| [^|]+ \| ([\d.]+) ms",
        ),
        "{} ms; SciPy with a projection of its own {} ms, SUNDIALS in C {} ms",
    ),
    Result(
        "Implicit methods beside other packages, at equal error",
        "implicit-speed",
        (r"The fastest variant of each peer takes, over all problems and errors: ([^.]+?)\.(?:\s|$)",),
        "slower than ours: {}",
    ),
    Result(
        "Threads",
        "many-speed",
        (r"\| with projection \| (\d+) \| (\d+) \| ([\d.]+) \|",),
        "{} runs of the seven-body mechanism a second on one thread, {} on two",
    ),
    Result(
        "Mechanisms of any size, without compiling",
        "scale",
        (r"\| planar chain \| 100 \| ([^|]+?) \| (\d+) \|", r"\| planar chain \| 1000 \| ([^|]+?) \| (\d+) \| ([^|]+?) \|"),
        "chain of 100 rods: first result after {0}; of 1000: after {2}, a second of motion in {4}; "
        "one evaluation {1} and {3} ns a body",
    ),
    Result(
        "Whole sweeps on a GPU (H200)",
        "gpu",
        (r"\| no stabilization \| [\d.]+ \| ([\d.]+) \|", r"\| Projection \| [\d.]+ \| ([\d.]+) \|"),
        "{} million runs of the seven-body mechanism a second without stabilization, {} with projection",
    ),
    Result(
        "Digits reached against digits asked",
        "digits",
        (r"\| DOP853 \| [^|]+ \| ([+-][\d.]+) ", r"\| Radau \| [^|]+ \| ([+-][\d.]+) ", r"\| BDF \| [^|]+ \| ([+-][\d.]+) "),
        "at 1e-6, median over all problems: DOP853 {}, Radau {}, BDF {}",
    ),
    Result(
        "The automatic choice",
        "automatic-choice",
        (
            r"- (\d+) problems: (\d+) right",
            r"Within a factor of 2 of the best choice by hand: (\d+ of \d+) .*the worst is ([\d.]+)\.",
        ),
        "{1} of {0} problems right; within a factor of 2 of the best choice by hand {2}, the worst {3}",
    ),
    Result(
        "Order and drift with each stabilization",
        "order-and-drift",
        (r"(The order of the solution stays p) whatever is corrected", r"\| DOP853 \| S_both2 \| \d+ \| ([\d.]+) \|"),
        "{}; a step of DOP853 with S_both2 takes {} of one without",
    ),
    Result(
        "Orders of implicit methods",
        "orders",
        (r"\| `GGL\(\)` (?:\|[^|]*){8}\| ([\d.]+) ([\d.]+) ",),
        "as theory says for all formulations; Radau on GGL {} and {} for q and v",
    ),
    Result(
        "Accuracy of the solve",
        "accuracy",
        (r"The plain solve lost at most (\w+) times ε/ρ",),
        "the plain solve loses at most {} times ε/ρ; ρ and the rows of the constraints decide who solves",
    ),
)


def reproduction() -> str:
    """Return the row of the reproduced papers: numbers that hold and fail, summed over them."""
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    counts = re.findall(r"^- \[.*\): (\d+) numbers, (\d+) rules hold, (\d+) fail", text, flags=re.MULTILINE)
    numbers, hold, fail = (sum(map(int, column)) for column in zip(*counts, strict=True))
    said = f"{numbers} numbers, {hold} meet their rule, {fail} break it"
    return Result("Five papers reproduced", "reproduction", (), said).line()


def page() -> str:
    """Return the page."""
    rows = [*(result.line() for result in RESULTS), reproduction()]
    foot = "[Hard places](hard-places.md) and [limits](limits.md) say what is hard, and where it ends.\n"
    return HEAD + "\n".join([*rows, "", foot])


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
