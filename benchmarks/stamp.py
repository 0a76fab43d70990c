"""Which code was measured, and when: what every page of measurements carries."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]


def stamp() -> str:
    """Return the commit whose code runs here and today's date, as pages say it; "with changes" where it is not that alone."""

    def git(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = " with changes" if git("status", "--porcelain", "src") else ""
    return f"commit {git('rev-parse', '--short', 'HEAD')}{changed}, {date.today():%Y-%m-%d}"
