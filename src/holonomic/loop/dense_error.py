"""Steps that are looked into, by saved times or events, are kept short enough for their dense output.

An implicit method may take steps that are right at their ends and wrong between them, where a stiff part is at rest. Its
dense output says how wrong, in tolerances. Steps that nobody looks into are left as they are; one that holds saved
times ends on the first of them, or is kept so short that its dense output is right.
"""

from __future__ import annotations

import math

from ..kernels.step_control import step_factor
from ..native.marks import inner, leaf

# SAFE: of the step for which dense output is just right; ALMOST: of the tolerance, up to which a step keeps its length and
# its factors. On y' = -r (y - cos t) - sin t, r = 1e3 to 1e6, rtol 1e-4 to 1e-8, the largest error is then 2.1 rtol; without
# ALMOST it takes 1.7 times as many factorizations
SAFE, ALMOST = 0.8, 0.7


@leaf
def saves_inside(save_t, row, t, h):
    """Tell whether a time is to be saved before the end of a step."""
    return row < save_t.shape[0] and abs(save_t[row] - t) < abs(h)


@leaf
def sure_step(h, sure, watched, save_t, row, t):
    """The step, h at most, whose dense output is right where it is asked for; `sure` is 0 where nothing is known."""
    if sure == 0.0 or abs(h) <= sure:
        return h
    if not watched and not saves_inside(save_t, row, t, h):
        return h
    if not watched and abs(save_t[row] - t) > sure:
        return save_t[row] - t
    return math.copysign(sure, h)


@inner
def may_be_asked(run, save_t):
    """Tell whether this method estimates the error of its dense output, and anybody may look between its steps."""
    return run.doubts != 0 and (run.watched != 0 or run.saved < save_t.shape[0])


@inner
def in_doubt(run, save_t, t, h):
    """Tell whether the dense output of a step is too wrong for what is asked of it; note how long the next one may be."""
    factor = step_factor(run.doubt, 1.0, run.doubt_exponent, 0.0, SAFE, run.factor_min, run.factor_max)
    if factor <= run.keeps_below and (factor >= 1.0 or run.doubt <= ALMOST):
        factor = 1.0
    run.h_sure = abs(h) * factor
    asked = run.watched != 0 or saves_inside(save_t, run.saved, t, h)
    return asked and not run.doubt <= 1.0 and run.retake == 0
