"""What is chosen before a step where nothing is to be chosen: a file of its own, of which most runs need the machine code."""

from __future__ import annotations

from ..errors import OK
from ..native.marks import kernel
from .signatures import PREPARE


@kernel(PREPARE)
def nothing(model, run, t, x, W):
    """Nothing to look at."""
    return OK
