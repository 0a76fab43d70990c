"""Equations of a Dae x^(m) = f - B y, 0 = g with y an unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import IncompatibleMethods
from .base import Unknowns

if TYPE_CHECKING:
    from .base import Equations


def dae_equations(d, index: int) -> Equations:
    """Return the equations with 0 = g^(m + 1 - index)."""
    import casadi

    order = d.e.order
    if index > order + 1:
        raise IncompatibleMethods(
            f"a Dae of order {order} has index {order + 1}, not {index}. Use formulation=Index{order + 1}() or Index1()."
        )
    u = Unknowns(d, ("lam", d.e.g.numel()))
    (y,) = u.extra
    flow = casadi.vertcat(d.e.q[d.n :], d.e.f - d.e.B @ y)
    return u.equations(u.q_slope - flow, casadi.SX(0, 1), d._levels[order + 1 - index])
