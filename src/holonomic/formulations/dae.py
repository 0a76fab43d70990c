"""Equations of a Dae x^(m) = f - B y, 0 = g with y an unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import IncompatibleMethods
from .base import Unknowns

if TYPE_CHECKING:
    from .base import Equations


def dae_equations(d, index: int, gains: bool = False) -> Equations:
    """Return the equations with 0 = g^(m + 1 - index); `gains` adds Baumgarte's terms to index 1."""
    from ..model.casadi_door import SX, substitute, vertcat

    order = d.e.order
    if index > order + 1:
        raise IncompatibleMethods(
            f"a Dae of order {order} has index {order + 1}, not {index}. Use formulation=Index{order + 1}() or Index1()."
        )
    u = Unknowns(d, ("lam", d.e.g.numel()))
    (y,) = u.extra
    flow = vertcat(d.e.q[d.n :, :], d.f_at(y) - d.e.B @ y)
    if index == 1:
        level = substitute(d.last_level(gains), d.y, y) - d._GB @ y
    else:
        level = d._levels[order + 1 - index]
    return u.equations(u.q_slope - flow, SX(0, 1), level)
