"""Bodies in space by their axes: what an element gives is derived from entries of rotation matrices, not of quaternions.

    q = (x, e),  R = R(e)      becomes      (x, R),   x' = v,   R' = R ω̂

with the angular velocity ω along the body's own axes. Rows are polynomials of that; by e, whose length divides, their second
derivatives are several times as long. R(e) is entered when everything is derived.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..model.expressions import Expressions
from ..model.symbolics import SX, depends_on, substitute, vertcat

NQ, NV = 7, 6  # coordinates and velocities of one body: its place, its quaternion


class ByAxes(NamedTuple):
    """An element by the axes of its bodies."""

    expressions: Expressions
    symbols: SX  # entries of rotation matrices, body after body and row after row
    values: SX  # what they are of the element's coordinates

    def entered(self, expression: SX) -> SX:
        """An expression by the element's own coordinates again."""
        return substitute(expression, self.symbols, self.values)


def by_axes(e: Expressions, rotation: Callable) -> ByAxes | None:
    """Return an element by the axes of its bodies; None where it looks at their quaternions otherwise."""
    n = e.q.numel() // NQ
    values = vertcat(*(entry for k in range(n) for row in rotation(e.q, k) for entry in row))
    symbols = SX.sym("axes", 9 * n)
    seen = {
        name: substitute(getattr(e, name), values, symbols)
        for name in ("constraint", "nonholonomic", "force", "potential")
        if getattr(e, name) is not None
    }
    quaternions = vertcat(*(e.q[NQ * k + 3 : NQ * k + 7] for k in range(n)))
    if any(depends_on(each, quaternions) for each in seen.values()):
        return None
    places = [e.q[NQ * k : NQ * k + 3] for k in range(n)]
    rates = SX.zeros(12 * n, NV * n)
    for k in range(n):
        for i in range(3):
            rates[12 * k + i, NV * k + i] = 1
            for j in range(3):  # R'_ij = R_il ω_m - R_im ω_l, (j, l, m) in cyclic order
                l, m = (j + 1) % 3, (j + 2) % 3
                rates[12 * k + 3 + 3 * i + j, NV * k + 3 + m] = symbols[9 * k + 3 * i + l]
                rates[12 * k + 3 + 3 * i + j, NV * k + 3 + l] = -symbols[9 * k + 3 * i + m]
    q = vertcat(*(part for k in range(n) for part in (places[k], symbols[9 * k : 9 * k + 9])))
    return ByAxes(replace(e, q=q, kinematics=rates, **seen), symbols, values)
