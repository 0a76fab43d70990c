"""Reproduce the tables and numbers of published papers with this package's own methods."""

from __future__ import annotations

from .paper import Paper, papers
from .report import Entry, Report
from .run import reproduce

__all__ = ["Entry", "Paper", "Report", "papers", "reproduce"]
