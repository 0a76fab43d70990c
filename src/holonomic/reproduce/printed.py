"""How close our numbers come to those in print: to two digits, within a factor, or not; whatever rule they are judged by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .rules import NOT_THE_PRINT, BlowUp, Spread

if TYPE_CHECKING:
    from .paper_report import Entry

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


def in_words(entries: Sequence[Entry]) -> str:
    """Say how many of the printed numbers that can be compared are met, and how closely; "" where there are none."""
    counts = counted(entries)
    said = {DIGITS: "to two digits", DOUBLE: "within a factor 2", TENFOLD: "within a factor 10", FURTHER: "further off"}
    total = sum(counts[name] for name in said)
    met = ", ".join(f"{counts[name] or 'none'} {how}" for name, how in said.items())
    return f"of {total} printed numbers to compare {met}" if total else ""
