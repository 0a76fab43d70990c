"""Rules that a reproduced number must meet, and what a run that blew up is called."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HOLDS, FAILS, NOT_TESTABLE, SHOWN = "holds", "FAILS", "not testable", "shown"
NOT_THE_PRINT = "print not reproducible"  # what we get is as recomputed elsewhere, and not as printed


@dataclass(frozen=True)
class BlowUp:
    """A run whose state left all bounds (not a number, or beyond 1e8) at time t."""

    t: float

    def __str__(self) -> str:
        return f"blows up at t = {self.t:.4g}"


@dataclass(frozen=True)
class Spread:
    """A number over an ensemble of runs; a rule must hold for each of them, or says that it is on their median."""

    least: float
    median: float
    most: float

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g} to {self.most:.3g})"


def rule_text(expected: Mapping[str, Any]) -> str:
    """Return the rule of an entry in words."""
    text = _rule_text(expected)
    return f"median {text}" if expected.get("over") == "median" else text


def _rule_text(expected: Mapping[str, Any]) -> str:
    kind = expected["kind"]
    against = f"recomputed {expected['recomputed']:g}" if expected.get("of") == "recomputed" else expected.get("of")
    if kind == "relative":
        return f"within {100 * expected['tol']:g}% of {against}"
    if kind == "factor":
        return f"within a factor {expected['factor']:g} of {against}"
    if kind == "absolute":
        return f"{expected[expected['of']]:g} ± {expected['tol']:g}"
    if kind in ("below", "above"):
        return f"{kind} {expected['value']:g}"
    if kind == "blow-up":
        return "not finite, or beyond 1e8, before the end"
    return {"not testable": "none: " + expected.get("because", ""), "shown": "none"}[kind]


def judge(expected: Mapping[str, Any], ours) -> str:
    """Return whether a number meets its rule.

    holds, FAILS, not testable, shown (no rule), or, where an entry says that the paper's own number is wrong and
    ours meets the recomputed one, print not reproducible.
    """
    verdict = _verdict(expected, ours)
    return NOT_THE_PRINT if verdict == HOLDS and expected.get("print") == "wrong" else verdict


def _verdict(expected: Mapping[str, Any], ours) -> str:
    kind = expected["kind"]
    if kind in (NOT_TESTABLE, SHOWN):
        return kind
    if kind == "blow-up":
        return HOLDS if isinstance(ours, BlowUp) else FAILS
    if isinstance(ours, Spread):
        if expected.get("over") == "median":
            return _verdict(expected, ours.median)
        each = {_verdict(expected, value) for value in (ours.least, ours.most)}
        return HOLDS if each == {HOLDS} else FAILS
    if not isinstance(ours, int | float) or math.isnan(ours):
        return FAILS
    return HOLDS if _meets(expected, float(ours)) else FAILS


def _meets(expected: Mapping[str, Any], ours: float) -> bool:
    kind = expected["kind"]
    if kind == "below":
        return abs(ours) < expected["value"]
    if kind == "above":
        return abs(ours) > expected["value"]
    known = expected[expected["of"]]
    if kind == "absolute":
        return abs(ours - known) <= expected["tol"]
    if kind == "relative":
        return abs(ours - known) <= expected["tol"] * abs(known)
    if kind == "factor":
        return ours * known > 0 and 1 / expected["factor"] <= ours / known <= expected["factor"]
    raise ValueError(f"unknown rule {kind!r}")
