"""Compile kernels: `python -m holonomic.native --all` writes all bitcode that is stale; without it, what `library` asks for."""

from __future__ import annotations

import sys

from .build import answer, build_all
from .lowering import front_end_only

if __name__ == "__main__":
    front_end_only()
    build_all() if sys.argv[1:] == ["--all"] else answer()
