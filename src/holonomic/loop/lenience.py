"""Steps that a mode does not let pass its switch.

A mode may have no field beyond its switch: `if d > 0: f = k * d**1.5` is NaN for d < 0, and a step that ends there fails. Such a
step is tried once more with the values deciding, as they do in plain Python: of the modes the signs remain, and so tiny a number
decides nothing. The switch is found in it like any other, and the step taken again to end there.
"""

from __future__ import annotations

import math

from ..errors import NO_CONVERGENCE, NOT_FINITE, SINGULAR
from ..kernels.sliding import is_equality, sleeps
from ..native.marks import inner

NO_MODE = 1e-290  # added to a number it changes nothing


@inner
def loosen(model, run, status):
    """Let values decide in the next attempt, where this one failed for want of numbers; tell whether that is new."""
    if run.lenient != 0 or not (status == NOT_FINITE or status == SINGULAR or status == NO_CONVERGENCE):
        return False
    at = model.size.at_modes
    for j in range(model.size.n_switches):
        holds = is_equality(model, j) and model.data[at + j] > 0.0
        if model.data[at + j] == model.data[at + j] and not sleeps(model, j) and not holds:
            model.data[at + j] = NO_MODE if model.data[at + j] > 0.0 else -NO_MODE
    run.lenient = 1
    run.failed += 1
    run.evaluated = 0
    return True


@inner
def be_strict(model, run):
    """Let modes decide again."""
    at = model.size.at_modes
    for j in range(model.size.n_switches):
        if model.data[at + j] == model.data[at + j] and not sleeps(model, j) and not is_equality(model, j):
            model.data[at + j] = math.inf if model.data[at + j] > 0.0 else -math.inf
    run.lenient = 0
