"""Agreement: how far a paper's printed numbers are met, table by table, and what is tested where none are printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..study.table import Table
from .paper import PaperTable
from .report import Entry, Report
from .rules import HOLDS, NOT_THE_PRINT, BlowUp, Spread

ROUNDOFF = 1e-12  # below this a printed number tells its magnitude alone
DIGITS, DOUBLE, TENFOLD, FURTHER, ROUND, BLOWN, WRONG = (
    "two digits", "factor 2", "factor 10", "further off", "roundoff or 0", "blow-up", "print wrong",
)  # fmt: skip
CLASSES = (DIGITS, DOUBLE, TENFOLD, FURTHER, ROUND, BLOWN, WRONG)


def classify(entry: Entry) -> str:
    """Return how close a number comes to the printed one.

    A mantissa of two digits is rounded by up to 5 %, so within 5 % is two digits. Of an ensemble the median counts.
    """
    printed, ours = entry.printed, entry.ours
    if entry.verdict == NOT_THE_PRINT:
        return WRONG
    if isinstance(printed, str):
        return BLOWN if isinstance(ours, BlowUp) else FURTHER
    ours = ours.median if isinstance(ours, Spread) else ours
    if isinstance(ours, BlowUp | str):
        return FURTHER
    if printed == 0.0 or max(abs(printed), abs(ours)) < ROUNDOFF:
        return ROUND
    if abs(ours / printed - 1) <= 0.05:
        return DIGITS
    factor = max(abs(ours / printed), abs(printed / ours)) if ours * printed > 0 else float("inf")
    return DOUBLE if factor <= 2 else TENFOLD if factor <= 10 else FURTHER


def counted(entries: Sequence[Entry]) -> Counter[str]:
    """Return how many printed numbers fall into each class."""
    return Counter(classify(entry) for entry in entries if entry.said == "printed")


def what_it_is(table: PaperTable, entries: Sequence[Entry]) -> str:
    """Return in words what is reproduced of a table, from its counts."""
    counts = counted(entries)
    comparable = sum(counts[name] for name in (DIGITS, DOUBLE, TENFOLD, FURTHER))
    near = counts[DIGITS] + counts[DOUBLE]
    if not comparable:
        text = "no printed numbers to compare"
        text = f"claims of the text, {text}" if any(entry.said for entry in entries) else text
    elif counts[DIGITS] == comparable:
        text = "all others to two digits" if counts[WRONG] else "all to two digits"
    elif 2 * counts[DIGITS] > comparable:
        text = f"{counts[DIGITS]} of {comparable} to two digits"
    elif 2 * near > comparable:
        text = f"magnitude only, {near} of {comparable} within a factor 2 and {counts[DIGITS]} to two digits"
    else:
        text = f"structure only, {near} of {comparable} within a factor 2 and {counts[DIGITS]} to two digits"
    return f"{text}; {table.why}" if table.why else text


def agreement(report: Report) -> Table:
    """Return a row per table: printed numbers by how close they are met, further rules, and what that amounts to."""
    rows = []
    for table in report.tables:
        entries = [entry for entry in report if entry.table == table.id]
        counts = counted(entries)
        further = [entry for entry in entries if entry.said != "printed"]
        held = sum(entry.verdict in (HOLDS, NOT_THE_PRINT) for entry in further)
        cells = [str(counts[name]) if counts[name] else "" for name in CLASSES]
        rows.append((table.title.partition(":")[0], *cells, str(held) if held else "", what_it_is(table, entries)))
    return Table("", ("", *CLASSES, "further rules kept", "what is reproduced"), tuple(rows), ())
