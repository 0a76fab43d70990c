"""Warnings that point at the line of the user's own file, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parent.parent)


def warn(text: str, kind: type[Warning]) -> None:
    """Warn where the package was called from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
