"""reproduce(): compute a paper's numbers and judge them."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Mapping

from ..errors import HolonomicError
from .paper import Paper, PaperTable, find, find_table
from .report import Entry, Report
from .rules import FAILS, judge, rule_text


def reproduce(key: str, table: str | None = None, *, tell: Callable[[str], None] | None = None) -> Report:
    """Compute every number of a paper, or of one of its tables, with this package's public methods.

    Parameters
    ----------
    key : str
        Author-year key, such as "ascher-chin-petzold-reich-1995"; see `papers()`.
    table : str, optional
        A table's id, such as "6.1".
    tell : callable, optional
        Called with each table's title before it is computed.

    Returns
    -------
    Report
        `print` shows method, printed value, ours, rule and verdict; `report.ok` is False when a rule is broken.
    """
    paper = find(key)
    tables = list(paper.tables.values()) if table is None else [find_table(paper, table)]
    compute = _computations(paper)
    began = time.perf_counter()
    entries = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stiffness is part of some of the claims
        for one in tables:
            if tell is not None:
                tell(one.title)
            entries += _entries(one, compute[one.id])
    return Report(paper, tables, entries, time.perf_counter() - began)


def _computations(paper: Paper) -> Mapping[str, Callable]:
    module = importlib.import_module(f"{__package__}.{paper.key.replace('-', '_')}")
    return module.COMPUTE


def _entries(table: PaperTable, compute: Callable) -> list[Entry]:
    found = []
    for row in table.rows:
        expected = {name: value for name, value in row.items() if isinstance(value, dict)}
        try:
            ours = compute(row)
        except HolonomicError as problem:
            ours = dict.fromkeys(expected, f"{type(problem).__name__}: {problem}")
        for quantity, rule in expected.items():
            value = ours.get(quantity, "not computed")
            verdict = FAILS if isinstance(value, str) else judge(rule, value)
            note = " ".join(part for part in (rule.get("note", ""), row.get("note", "")) if part)
            said = next((word for word in ("printed", "claimed") if word in rule), "")
            stated = (table.id, _label(row), quantity, rule.get(said), rule.get("recomputed"))
            found.append(Entry(*stated, value, rule_text(rule), verdict, note, said))
    return found


def _label(row: Mapping) -> str:
    """Return a row's settings in words: the method, then what else is set."""
    rest = {name: value for name, value in row.items() if name not in ("method", "note")}
    rest = {name: value for name, value in rest.items() if not isinstance(value, dict)}
    parts = [f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}" for name, value in rest.items()]
    return ", ".join([str(row.get("method", "")), *parts]).strip(", ")
