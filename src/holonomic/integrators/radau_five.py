"""The stages of a Radau step of order 5: their number is known when this is compiled, which saves a tenth of a short step."""

from __future__ import annotations

from ..kernels.signatures import ADVANCE
from ..native.marks import kernel
from .radau_dense import controls_of
from .radau_stages import solve_stages


@kernel(ADVANCE)
def advance_five(model, method, run, t, h, state):
    """Solve for three stages."""
    controls_of(state.K).stages = 3.0
    return solve_stages(model, method, run, t, h, state, 3, 3)
