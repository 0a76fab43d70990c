"""State space: as many differential equations as there are degrees of freedom, the rest from the constraints."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Block, Formulation, Unknowns
from .strangeness_free import selector_kind, selector_symbols

KINDS = {"partition": "rows", "tangent": "constant"}


@dataclass(frozen=True, eq=True)
class StateSpace(Formulation):
    """R q' = R v,   R v' = R v̂(t, q, v),   0 = g,   0 = G v + g_t,   v̂ the accelerations of index 1.

    u = R q are the independent coordinates; the constraints give the others. R is kept until a monitor,
    which looks before every step, finds it badly placed; the unknowns are q and v throughout, so that a change
    needs no restart.

    Parameters
    ----------
    kind : {"partition", "tangent"}
        R = rows of the identity (coordinate partitioning), or a basis of the tangent space at a reference
        point.

    References
    ----------
    [wehage-haug-1982], [potra-rheinboldt-1991]; [ascher-petzold-1993] Sec. 2.
    """

    kind: str = "tangent"
    gives = ("residual",)
    index = 1
    keeps = ("position", "velocity")
    references = ("wehage-haug-1982", "potra-rheinboldt-1991", "ascher-petzold-1993")

    def __post_init__(self):
        selector_kind(KINDS.get(self.kind, self.kind))

    @property
    def selector(self) -> int:  # type: ignore[override]
        return selector_kind(KINDS.get(self.kind, self.kind))

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv))

    def equations(self, d, gains):
        u = Unknowns(d)
        R, _, symbols = selector_symbols(d, "StateSpace")
        v_hat = d._solve_saddle(d.force, d.gamma)[0]
        return u.equations(
            R @ (u.q_slope - d.q_dot), R @ (u.v_slope - v_hat), d.position_rows, d.velocity_rows, selectors=symbols
        )
