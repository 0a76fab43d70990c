"""reproduce(): compute a paper's numbers, judge them, and report each: what it should be, what it is here, the verdict."""

from __future__ import annotations

import importlib
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import HolonomicError
from ..study.table import Table, show
from .paper import Drawing, Paper, PaperTable, find, find_table
from .printed import in_words
from .rules import FAILS, HOLDS, NOT_TESTABLE, NOT_THE_PRINT, SHOWN, Spread, judge, rule_text


@dataclass(frozen=True)
class Entry:
    """One number: where it stands, what is printed, what we get, the rule and the verdict.

    `printed` is what the paper prints or claims (None where it gives no number; `said` tells which), `recomputed` what
    was found when the entry was made, by another program. `ours` is a number, an ensemble, a blow-up or, where the run
    could not be made, the reason.
    """

    table: str
    method: str
    quantity: str
    printed: Any
    recomputed: Any
    ours: Any
    rule: str
    verdict: str
    note: str = ""
    said: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON holds it."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        ours = self.ours
        if isinstance(ours, Spread):
            found["ours"] = {"least": ours.least, "median": ours.median, "most": ours.most}
        elif not isinstance(ours, int | float) or not math.isfinite(ours):
            found["ours"] = str(ours)
        return found


class Report(Sequence[Entry]):
    """All entries of a paper, or of some of its tables. `ok` is True when no rule is broken."""

    def __init__(self, paper: Paper, tables: Sequence[PaperTable], entries: Sequence[Entry], seconds: float):
        self.paper, self.tables, self.entries, self.seconds = paper, list(tables), list(entries), seconds

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index):
        return self.entries[index]

    @property
    def ok(self) -> bool:
        """True when no rule is broken."""
        return not self.failed

    @property
    def failed(self) -> list[Entry]:
        """The entries whose rule is broken."""
        return [entry for entry in self if entry.verdict == FAILS]

    def summary(self) -> str:
        """Return in one line how many rules hold, how many printed numbers are met, and the time."""
        words = {
            HOLDS: "rules hold", FAILS: "fail", NOT_THE_PRINT: "as recomputed where the print cannot be reproduced",
            NOT_TESTABLE: "not testable", SHOWN: "shown without a rule",
        }  # fmt: skip
        counts = {verdict: sum(entry.verdict == verdict for entry in self) for verdict in words}
        parts = [f"{len(self)} numbers"]
        parts += [f"{n} {words[verdict]}" for verdict, n in counts.items() if n or verdict in (HOLDS, FAILS)]
        return "; ".join(part for part in (", ".join(parts), in_words(self.entries), f"{self.seconds:.1f} s") if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {
            "paper": self.paper.key, "title": self.paper.title, "ok": self.ok, "seconds": round(self.seconds, 2),
            "entries": [entry.to_dict() for entry in self],
        }  # fmt: skip

    @property
    def drawings(self) -> list[Drawing]:
        """The figures of the paper that are drawn again."""
        module = importlib.import_module(f"{__package__}.{self.paper.key.replace('-', '_')}")
        return module.DRAWINGS

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Draw the paper's figures anew, as PNG files in a folder; return their paths."""
        from ..view.study_plots import paper_figure

        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stiffness is part of some of the claims
            for drawing in self.drawings:
                paths.append(folder / self.file_of(drawing))
                paper_figure(drawing.panels()).savefig(paths[-1], dpi=100)
        return paths

    def file_of(self, drawing: Drawing) -> str:
        """Return the name of a drawing's file."""
        return f"{self.paper.key}-{drawing.name}.png"

    def table_of(self, table: PaperTable) -> Table:
        """Return one table's entries; remarks are numbered below it."""
        entries = [entry for entry in self if entry.table == table.id]
        notes = {note: n for n, note in enumerate(dict.fromkeys(e.note for e in entries if e.note), 1)}
        rows = tuple(
            (e.method, e.quantity, _cell(e.printed), _cell(e.ours), e.rule, e.verdict + (f" [{notes[e.note]}]" if e.note else ""))
            for e in entries
        )
        columns = ("method", "quantity", "printed", "ours", "rule", "verdict")
        return Table("", columns, rows, tuple(f"[{n}] {note}" for note, n in notes.items()))

    def __repr__(self) -> str:
        parts = [f"{self.paper.title} [{self.paper.key}]"]
        for table in self.tables:
            parts.append(f"\n{table.title}\n  {table.settings}\n")
            parts.append(self.table_of(table).text())
        return "\n".join([*parts, "", self.summary()])

    def to_markdown(self, *above: str) -> str:
        """Return the report as a section of a Markdown page, with further parts above the tables."""
        parts = [f"## {self.paper.title}", f"`{self.paper.key}`: {self.summary().rpartition(';')[0]}.", *above]
        for table in self.tables:
            shown = self.table_of(table)
            parts += [f"### {table.title}", table.settings, table.status, shown.markdown()]
            parts += ["\n".join(f"{line}  " for line in shown.footer)] if shown.footer else []
        return "\n\n".join(part for part in parts if part)


def _cell(value) -> str:
    if value is None:
        return ""
    return show(value) if isinstance(value, int | float) else str(value)


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
