"""What the package says beside its results: notices, through Python's `logging`, and names that are on their way out.

Notices go to the logger "holonomic" as warnings. A program that has not set up logging sees them on stderr, one line each, as
Python does by itself; one that has decides where they go: `logging.getLogger("holonomic").setLevel(logging.ERROR)` silences
them. Logging is imported with the first notice: most runs have none.
"""

from __future__ import annotations

import sys
import warnings
from typing import NamedTuple

LOGGER = "holonomic"
PACKAGE = __name__.partition(".")[0]


class Renamed(NamedTuple):
    """Where a public name has gone."""

    new: str  # of the package, such as "simulate"
    since: str  # version
    gone: str  # version that does not have the old name any more


# Old names of the package that still work, see docs/stable.md. An argument that is renamed stays in its signature as long, and
# the function calls `deprecated` where it is given.
RENAMED: dict[str, Renamed] = {}


def deprecated(old: str, new: str, since: str, gone: str) -> None:
    """Warn, at the line of the user's own code, that a name will go, and name the one to use."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(
        f"{old} is deprecated since holonomic {since} and goes with {gone}: use {new}.", DeprecationWarning, stacklevel=level + 1
    )


def notice(text: str) -> None:
    """Say something that is neither an error nor a warning about an answer."""
    import logging

    logging.getLogger(LOGGER).warning("holonomic: %s", text, stacklevel=2)


def show_notices() -> None:
    """Show notices on stderr, whatever else is set up: for commands in a shell."""
    import logging

    shown = logging.lastResort  # it writes to what stderr is at that moment
    if shown is not None:
        logging.getLogger(LOGGER).addHandler(shown)
