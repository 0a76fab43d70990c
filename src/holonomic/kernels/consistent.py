"""How far a state is from its constraints, and how well these are conditioned: one cheap look."""

from __future__ import annotations

from ..native.marks import leaf
from ..native.types import Group, f8, i8, ints, vec
from .signatures import RESIDUAL, VEL_FACTOR, call_function
from .vectors import norm


@leaf
def distances(fns: ints, t: f8, x: vec, data: vec, F: vec, r: vec, found: vec, sizes: Group(None, (i8, i8, i8, i8, i8, i8))):
    """found = (ρ of G Gᵀ, largest |g_i|/‖G_i‖ over max(1, ‖q‖), largest |(Gv + g_t)_i|/‖G_i‖ over max(1, ‖v‖))."""
    n_constraints, n_position, n_lam, nc, nq, nv = sizes
    call_function(fns, VEL_FACTOR, t, x, 0, x, 0, data, F, 0)
    call_function(fns, RESIDUAL, t, x, 0, x, 0, data, r, 0)
    worst = 0.0
    for i in range(n_constraints):
        value = abs(r[i]) * F[1 + i]
        if not value <= worst:
            worst = value
    found[1] = worst / max(1.0, norm(x, 0, nc))
    worst = 0.0
    for i in range(n_lam):
        value = abs(r[n_position + i]) * F[1 + i]
        if not value <= worst:
            worst = value
    found[2] = worst / max(1.0, norm(x, nq, nv))
    found[0] = F[0]
