"""python -m holonomic: the command line where the `holonomic` command is not on the path."""

from __future__ import annotations

from .cli.main import app

if __name__ == "__main__":
    app(prog_name="holonomic")
