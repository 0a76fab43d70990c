"""Reproduce the tables and numbers of published papers with this package's own methods."""

from __future__ import annotations

from .paper import Paper, papers
from .paper_report import Entry, Report, reproduce

__all__ = ["Entry", "Paper", "Report", "papers", "reproduce"]
