"""What the package says beside its results: notices, through Python's `logging`, and names that are on their way out.

Notices go to the logger "holonomic" as warnings. A program that has not set up logging sees them on stderr, one line each, as
Python does by itself; one that has decides where they go: `logging.getLogger("holonomic").setLevel(logging.ERROR)` silences
them. Logging is imported with the first notice: most runs have none.
"""

from __future__ import annotations

LOGGER = "holonomic"


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
