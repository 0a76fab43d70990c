"""What the constraints say at each level: their rows, derivatives of them, and how the state moves along.

    q' = Z v,   rows: G v + g_t = 0 and Â v + b = 0,   G v' + γ = 0 for all of them

Where there are states s and algebraic variables w, `e.q` is (q, s, w), see `extra_states`; w moves so that its equations hold.
"""

from __future__ import annotations

from functools import cached_property

from .expressions import Expressions
from .factors import factor_general
from .model_base import Bend, Held
from .symbolics import SX, densify, diagcat, horzcat, jacobian, jtimes, sparsify, substitute, vertcat
from .unrolled_newton import solved_for_w


class ConstraintRows:
    """What the constraints say of a traced system, each computed when first asked for."""

    def __init__(
        self, expressions: Expressions, rows: tuple[int, ...] | None = None, held: Held | None = None,
        kept: tuple[int, ...] | None = None,
    ):  # fmt: skip
        """Where some rows are redundant, `rows` selects independent ones of the velocity level, once and for all.

        `kept` are such rows, too, but all rows stay, and solves find out by themselves which of them count, see `redundant_rows`.
        `held` tells that M is singular.
        """
        self.e = expressions
        self.rows, self.kept = rows, kept
        self.held = held
        self.bend: Bend | None = None
        self.given: dict = {}  # directions that are functions of the user's, traced

    @property
    def is_ode(self) -> bool:
        return self.e.rhs is not None

    @property
    def nc(self) -> int:
        """Coordinates: what e.q holds before states and algebraic variables."""
        return self.e.q.numel() - self.e.ns - self.e.nw

    @property
    def w(self) -> SX:
        return self.e.q[self.nc + self.e.ns :]

    @cached_property
    def k_w(self) -> SX:
        return sparsify(jacobian(self.e.algebraic, self.w))

    @cached_property
    def _k_w_factors(self):
        return factor_general(self.k_w)

    @cached_property
    def w_by_q(self) -> SX:
        """How algebraic variables follow the coordinates."""
        return -self._k_w_factors.solve(jacobian(self.e.algebraic, self.e.q[: self.nc]))

    @cached_property
    def settled(self) -> SX:
        """w with k = 0, from the w in e.q on."""
        return solved_for_w(self.e.algebraic, self.k_w, self.w)

    @cached_property
    def q_dot(self) -> SX:
        """Z v, then s' and w'; these may contain the symbols of v' and λ."""
        e = self.e
        if self.is_ode:
            return e.rhs
        rates = [e.v if e.kinematics is None else e.kinematics @ e.v]
        if e.ns:
            rates.append(e.states)
        if e.nw:
            known = vertcat(*rates, SX.zeros(e.nw, 1))
            moved = jtimes(e.algebraic, e.q, known) + jtimes(e.algebraic, e.t, SX(1))
            rates.append(-self._k_w_factors.solve(moved + jtimes(e.algebraic, e.v, e.a)))
        return vertcat(*rates)

    def flow(self, v_dot: SX, lam: SX) -> SX:
        """q' and s' (not w') with given accelerations and multipliers."""
        return self.with_field(self.q_dot[: self.nc + self.e.ns], v_dot, lam)

    def with_field(self, expression: SX, v_dot: SX, lam: SX) -> SX:
        """An expression with accelerations and multipliers of the kept rows entered."""
        if not (self.e.ns or self.e.nw):
            return expression
        symbols, values = vertcat(self.e.a, self.e.lam), vertcat(v_dot, self._all_rows(lam))
        return substitute(expression, symbols, densify(values))

    def through_states(self) -> SX:
        """Rate at which states alone change the constraints."""
        e = self.e
        by_state = SX.zeros(self.nc, 1), e.states if e.ns else SX(0, 1), SX.zeros(e.nw, 1)
        change = vertcat(*by_state)
        if e.nw:
            follows = -self._k_w_factors.solve(jtimes(e.algebraic, e.q, change))
            change = vertcat(change[: self.nc + e.ns], follows)
        return jtimes(e.constraint, e.q, change)

    def by_q(self, rows: SX) -> SX:
        """Jacobian by the coordinates, algebraic variables following; columns of s and w are empty."""
        J = jacobian(rows, self.e.q)
        extra = self.e.ns + self.e.nw
        if extra:
            own = J[:, : self.nc]
            if self.e.nw:
                own = own + J[:, self.nc + self.e.ns :] @ self.w_by_q
            J = horzcat(own, SX(rows.numel(), extra))
        return sparsify(J)

    def _along(self, expression: SX) -> SX:
        """Time derivative with v held: what G v + g_t is to g."""
        e = self.e
        return jtimes(expression, e.q, self.q_dot) + jtimes(expression, e.t, SX(1))

    @cached_property
    def velocity_rows(self) -> SX:
        """G v + g_t, then Â v + b."""
        e = self.e
        if self.is_ode:
            return SX(0, 1)
        rows = [self._along(e.constraint)] if e.constraint.numel() else []
        if e.nonholonomic is not None:
            rows.append(e.nonholonomic)
        rows = vertcat(*rows) if rows else SX(0, 1)
        return rows if self.rows is None else rows[list(self.rows)]

    @cached_property
    def G(self) -> SX:
        """Jacobian of the velocity rows by v: ∂g/∂q Z, then Â."""
        if self.is_ode:
            return SX(0, 0)
        return sparsify(jacobian(self.velocity_rows, self.e.v))

    @cached_property
    def gamma(self) -> SX:
        return self._along(self.velocity_rows) if self.velocity_rows.numel() else SX(0, 1)

    @cached_property
    def position_rows(self) -> SX:
        """g, then the invariants that depend on q alone (all of them for an ODE)."""
        e = self.e
        g = e.constraint
        if self.rows is not None:
            kept = [row for row in self.rows if row < g.numel()]
            g = g[kept] if kept else SX(0, 1)
        return vertcat(g, e.invariants)

    @property
    def holonomic_rows(self) -> SX:
        """g alone."""
        return self.position_rows[: self.position_rows.numel() - self.e.invariants.numel(), :]

    @cached_property
    def J(self) -> SX:
        """Jacobian of the position rows by q."""
        return self.by_q(self.position_rows)

    @cached_property
    def H(self) -> SX:
        """Jacobian of all rows by the whole state (q, v)."""
        rows = vertcat(self.position_rows, self.velocity_rows)
        return horzcat(self.by_q(rows), sparsify(jacobian(rows, self.e.v)))

    @property
    def H_measured(self) -> SX:
        """What position rows are long by q, velocity rows by v, as where each is corrected by itself."""
        return self.H if self.is_ode else diagcat(self.J, self.G)

    @cached_property
    def x(self) -> SX:
        return vertcat(self.e.q, self.e.v)

    @property
    def n_lam(self) -> int:
        return self.velocity_rows.numel()

    def _all_rows(self, lam: SX) -> SX:
        """Multipliers of all rows; those of dropped rows vanish."""
        if self.rows is None:
            return lam
        entries = [SX(0)] * self.e.lam.numel()
        for i, row in enumerate(self.rows):
            entries[row] = lam[i]
        return vertcat(*entries)
