"""A user's files: places to write to, files that do not run, functions that fail. Each ends in one line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from ..errors import HolonomicError
from .methods import refuse

FAILED = 1  # exit code of what was understood, but did not work


def check_place(path: Path | None, what: str) -> None:
    """Refuse, before anything is computed, a file that cannot be written."""
    if path is None:
        return
    if not path.resolve().parent.is_dir():
        refuse(f"there is no folder {path.resolve().parent} for the {what}.")
    if path.is_dir():
        refuse(f"{path} is a folder. Give the {what} a file name, such as {path / what}.")


def fail(text: str):
    """Say on stderr what did not work, and exit with the code for that."""
    typer.echo(text, err=True)
    raise typer.Exit(FAILED) from None


def save_picture(figure, path: Path) -> None:
    """Write a figure in the format that the file name asks for."""
    try:
        figure.savefig(path, bbox_inches="tight", dpi=150)
    except (OSError, ValueError) as problem:
        fail(f"the picture {path} could not be written: {problem}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one line why a user's file does not run, and where."""
    try:
        yield
    except HolonomicError as problem:
        fail(f"{path}: {type(problem).__name__}: {problem}")
    except Exception as problem:
        line = problem.lineno if isinstance(problem, SyntaxError) else None
        for frame in traceback.extract_tb(problem.__traceback__):
            if line is None and Path(frame.filename).resolve() == path.resolve():
                line = frame.lineno
        where = "" if line is None else f", line {line}"
        text = problem.msg if isinstance(problem, SyntaxError) else problem
        fail(f"{path}{where}: {type(problem).__name__}: {text}. For the whole traceback run: python {path}")


@contextmanager
def calling() -> Iterator[None]:
    """Say in one line which function of the user's failed; a fault of ours shows its traceback."""
    try:
        yield
    except Exception as problem:
        notes = [note for note in getattr(problem, "__notes__", ()) if note.startswith("raised by ")]
        if isinstance(problem, HolonomicError) or not notes:
            raise
        fail(f"{type(problem).__name__}: {problem}, {notes[0]}.")
