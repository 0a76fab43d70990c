"""State space: as many differential equations as there are degrees of freedom, the rest from the constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import refuses_unknown
from ..model.freeze import check_constant
from ..model.given_numbers import is_one_of
from .base import Block, Formulation, Unknowns
from .strangeness_free import selected, selector_kind, selector_symbols

KINDS = {"partition": "rows", "tangent": "constant"}


@refuses_unknown
@dataclass(frozen=True, eq=True, repr=False)
class StateSpace(Formulation):
    """R q' = R v,   R v' = R v̂(t, q, v),   0 = g,   0 = G v + g_t,   v̂ the accelerations of index 1.

    u = R q are the independent coordinates; the constraints give the others. R is kept until a monitor,
    which looks before every step, finds it badly placed; the unknowns are q and v throughout, so that a change
    needs no restart. For a `Dae`: R x^(m) = R (f - B ŷ) with ŷ eliminated, and all levels of g.

    Parameters
    ----------
    kind : {"partition", "tangent"}
        R = rows of the identity (coordinate partitioning), or a basis of the tangent space at a reference
        point.
    R : array, optional
        A constant R of your own, one row per degree of freedom. Nothing watches it: where (R; G) becomes singular
        the equations are unstable.

    References
    ----------
    [wehage-haug-1982], [potra-rheinboldt-1991]; [ascher-petzold-1993] Sec. 2, (3.17).
    """

    kind: str = "tangent"
    R: tuple | None = None
    gives = ("residual",)
    no_sum = "its coordinates are chosen by the Jacobian of the whole system"
    index = 1
    for_dae = True
    keeps = ("position", "velocity")
    references = ("wehage-haug-1982", "potra-rheinboldt-1991", "ascher-petzold-1993")

    def __post_init__(self):
        if not is_one_of(self.kind, KINDS):
            raise BadArgument(f"kind={self.kind!r}: choose {' or '.join(map(repr, KINDS))}.")
        if self.R is not None:
            rows = np.atleast_2d(check_constant(self.R, "R="))
            if rows.ndim != 2 or not rows.size:
                raise BadArgument(f"R= has shape {rows.shape}; it is a matrix, a row for each equation that is kept.")
            object.__setattr__(self, "R", tuple(tuple(row) for row in rows.tolist()))

    @property
    def selector(self) -> int | None:  # type: ignore[override]
        return selector_kind(KINDS[self.kind]) if self.R is None else None

    def differential_rows(self, unknowns, n_lam, order):
        return unknowns - order * n_lam

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv))

    def equations(self, d, gains):
        from ..model.symbolics import SX, diagcat

        u = Unknowns(d)
        if d.e.order:
            R, _, symbols = selector_symbols(d, "StateSpace")
            if self.R is not None:
                R, symbols = self._given(d.n, d.e.g.numel()), None
            all_R = diagcat(*[R] * d.e.order)
            return u.equations(all_R @ (u.q_slope - d.q_dot), SX(0, 1), *d._levels[:-1], selectors=symbols)
        R, _, symbols = selector_symbols(d, "StateSpace")
        if self.R is not None:
            R, symbols = self._given(d.nc, d.n_lam), None
        Z = d.e.kinematics if self.R is None else None
        v_hat, lam, _ = d.solved()
        return u.equations(
            selected(R, u.q_slope - d.flow(v_hat, lam), Z), R @ (u.v_slope - v_hat),
            d.position_rows, d.velocity_rows, selectors=symbols,
        )  # fmt: skip

    def _given(self, nq: int, n_lam: int):
        from ..model.symbolics import matrix_of

        R = matrix_of(self.R)  # type: ignore[union-attr]
        if R.shape != (nq - n_lam, nq):
            raise BadArgument(f"R has the shape {R.shape}; {nq} coordinates and {n_lam} constraints need {(nq - n_lam, nq)}.")
        return R
