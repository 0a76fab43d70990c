"""What a lower room uses of a higher one when it is asked for, found by name.

Importing it would turn the layers round and load what most calls never need. A new engine for sweeps, or another kind of
system whose saved runs hold more than arrays, adds its line here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

ENTRIES = {
    "engine: cuda": "gpu.engine:Cuda",  # sweep(on="cuda")
    "members side by side": "printing.lane_program:program_here",  # sweeps on threads
    "run: double-double": "precision.pair_run:PairRun",  # simulate(precision="double-double")
    "parts of a loaded run: mechanism": "multibody.saved_parts:KeptResolver",  # load(path) of a mechanism's run
}


def entry(name: str) -> Any:
    """Return the class or function that stands under this name, importing its room."""
    module, _, made = ENTRIES[name].partition(":")
    return getattr(import_module(f".{module}", __package__), made)
