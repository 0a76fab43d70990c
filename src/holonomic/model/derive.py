"""From M, f and g to everything a method asks for: G, g_t, γ, the solved accelerations, the projections.

All of it is exact and symbolic. The linear solves are unrolled over the known sparsity: LDLᵀ of M, of
S = G M⁻¹ Gᵀ and of the projections' J W⁻¹ Jᵀ become straight-line code.

    q' = Z v,   M v' = f - Gᵀλ,   rows: G v + g_t = 0 and Â v + b = 0,   G v' + γ = 0 for all of them
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi
from casadi import SX

from ..errors import IncompatibleMethods
from ..kernels.signatures import Fn
from .base import N_GAINS, Bend, Direction
from .directions import bent, directed
from .factors import Factors, Projector, factor, factor_general
from .friction import at, depends, solve_multipliers
from .tape import Tape, record


@dataclass(frozen=True)
class Expressions:
    """What tracing gives: symbols and the user's functions of them, numbers already in `data`.

    For an ODE, `rhs` is set, q is the whole state and everything mechanical is empty; for a Dae, `order`.
    """

    t: SX
    q: SX
    v: SX
    a: SX
    lam: SX
    data: SX
    constraint: SX
    invariants: SX  # minus their values at the start, which are in `data`
    mass: SX | None = None
    force: SX | None = None
    rhs: SX | None = None
    kinetic: SX | None = None
    potential: SX | None = None
    kinematics: SX | None = None
    nonholonomic: SX | None = None
    order: int = 0  # of a Dae, with f, B and g
    f: SX | None = None
    B: SX | None = None
    g: SX | None = None
    y: SX | None = None  # symbols of a Dae's algebraic unknowns, where f contains them
    outputs: dict[str, SX] = field(default_factory=dict)
    events: dict[str, SX] = field(default_factory=dict)


class Derived:
    """Everything that follows from the traced expressions, each computed when first asked for."""

    def __init__(self, expressions: Expressions, rows: tuple[int, ...] | None = None):
        """`rows` selects independent velocity-level rows where some are redundant."""
        self.e = expressions
        self.rows = rows
        self.bend: Bend | None = None
        self.given: dict = {}  # directions that are functions of the user's, traced

    @property
    def is_ode(self) -> bool:
        return self.e.rhs is not None

    @cached_property
    def q_dot(self) -> SX:
        e = self.e
        if self.is_ode:
            return e.rhs
        return e.v if e.kinematics is None else e.kinematics @ e.v

    def _along(self, expression: SX) -> SX:
        """Time derivative with v held: what G v + g_t is to g."""
        e = self.e
        return casadi.jtimes(expression, e.q, self.q_dot) + casadi.jtimes(expression, e.t, SX(1))

    @cached_property
    def velocity_rows(self) -> SX:
        """G v + g_t, then Â v + b."""
        e = self.e
        if self.is_ode:
            return SX(0, 1)
        rows = [self._along(e.constraint)] if e.constraint.numel() else []
        if e.nonholonomic is not None:
            rows.append(e.nonholonomic)
        rows = casadi.vertcat(*rows) if rows else SX(0, 1)
        return rows if self.rows is None else rows[list(self.rows)]

    @cached_property
    def G(self) -> SX:
        """Jacobian of the velocity rows by v: ∂g/∂q Z, then Â."""
        if self.is_ode:
            return SX(0, 0)
        return casadi.sparsify(casadi.jacobian(self.velocity_rows, self.e.v))

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
        return casadi.vertcat(g, e.invariants)

    @cached_property
    def J(self) -> SX:
        """Jacobian of the position rows by q."""
        return casadi.sparsify(casadi.jacobian(self.position_rows, self.e.q))

    @cached_property
    def H(self) -> SX:
        """Jacobian of all rows by the whole state (q, v)."""
        rows = casadi.vertcat(self.position_rows, self.velocity_rows)
        return casadi.sparsify(casadi.jacobian(rows, self.x))

    @property
    def H_measured(self) -> SX:
        """What position rows are long by q, velocity rows by v, as where each is corrected by itself."""
        return self.H if self.is_ode else casadi.diagcat(self.J, self.G)

    @cached_property
    def x(self) -> SX:
        return casadi.vertcat(self.e.q, self.e.v)

    @property
    def n_lam(self) -> int:
        return self.velocity_rows.numel()

    @cached_property
    def force(self) -> SX:
        """Applied force: the user's force, minus the gradient of the potential pulled back by Z."""
        e = self.e
        if e.potential is None:
            return e.force
        slope = casadi.jtimes(e.potential, e.q, _eye_like(e.q)).T
        if e.kinematics is not None:
            slope = e.kinematics.T @ slope
        return e.force - slope

    @cached_property
    def lam_in_force(self) -> bool:
        """Whether the force depends on the multipliers."""
        return depends(self.e.force, self.e.lam)

    def force_at(self, lam: SX) -> SX:
        """The force with given multipliers of the rows that are kept; those of dropped rows vanish."""
        if not self.lam_in_force:
            return self.force
        full = lam
        if self.rows is not None:
            entries = [SX(0)] * self.e.lam.numel()
            for i, row in enumerate(self.rows):
                entries[row] = lam[i]
            full = casadi.vertcat(*entries)
        return at(self.force, self.e.lam, full)

    def _multipliers(self, gamma: SX) -> tuple[SX, SX]:
        """λ where the force depends on it, and ρ."""
        lam = SX.sym("lam", self.n_lam)
        start = self._solve_saddle(self.force_at(SX.zeros(self.n_lam, 1)), gamma)[1]
        residual = self.G @ self.mass_factors.solve(self.force_at(lam) - self.G.T @ lam) + gamma
        return solve_multipliers(residual, lam, start, casadi.densify(-(self.G @ self.saddle["X"])))

    @cached_property
    def kinetic(self) -> SX:
        e = self.e
        return e.kinetic if e.kinetic is not None else casadi.dot(e.v, e.mass @ e.v) / 2

    @cached_property
    def mass_factors(self) -> Factors:
        return factor(self.e.mass)

    @cached_property
    def saddle(self) -> dict[str, SX | Factors]:
        """The unrolled solve of [M Gᵀ; G 0](v', λ) = (f, -γ)."""
        M = self.mass_factors
        X = M.solve(self.G.T) if self.n_lam else SX(self.e.v.numel(), 0)
        return {"X": X, "S": factor(self.G @ X)}

    def _solve_saddle(self, f: SX, gamma: SX) -> tuple[SX, SX]:
        M, X, S = self.mass_factors, self.saddle["X"], self.saddle["S"]
        y = M.solve(f)
        if not self.n_lam:
            return y, SX(0, 1)
        lam = S.solve(self.G @ y + gamma)
        return y - X @ lam, lam

    def gain(self, level: int) -> SX:
        """Factor of the residual at a level, out of data; 0 is also the one gain of invariants."""
        return self.e.data[self.e.data.numel() - N_GAINS + level]

    def _gamma_with(self, gains: bool) -> SX:
        """γ, or with Baumgarte's terms: γ + α₁(Gv + g_t) + α₀ g."""
        if not gains:
            return self.gamma
        gamma = self.gamma + self.gain(1) * self.velocity_rows
        n_holonomic = self.position_rows.numel() - self.e.invariants.numel()
        g = casadi.vertcat(self.position_rows[:n_holonomic], SX.zeros(self.n_lam - n_holonomic, 1))
        return gamma + self.gain(0) * g

    def solved(self, refined: bool = False, gains: bool = False) -> tuple[SX, SX, SX]:
        """v', λ, ρ; `refined` adds one step of iterative refinement."""
        f, gamma = self.force, self._gamma_with(gains)
        if self.lam_in_force:
            lam, rho = self._multipliers(gamma)
            v_dot = self.mass_factors.solve(self.force_at(lam) - self.G.T @ lam)
            return v_dot, lam, casadi.fmin(rho, self.mass_factors.rho)
        v_dot, lam = self._solve_saddle(f, gamma)
        if refined:
            lost_f = f - self.e.mass @ v_dot - self.G.T @ lam
            lost_gamma = gamma + self.G @ v_dot
            dv, dlam = self._solve_saddle(lost_f, lost_gamma)
            v_dot, lam = v_dot + dv, lam + dlam
        rho = self.mass_factors.rho
        if self.n_lam:
            rho = casadi.fmin(self.saddle["S"].rho, rho)
        return v_dot, lam, rho

    def velocity(self) -> SX:
        """Velocity rows, and G row by row."""
        return casadi.vertcat(self.velocity_rows, casadi.vec(casadi.densify(self.G).T))

    def half_explicit(self, b: SX) -> SX:
        """(q', v', λ, ρ) with M v' = f - Gᵀλ and Ḡ v' + s = 0; b = (s, Ḡ row by row), Ḡ with the pattern of G."""
        n_lam, nv = self.G.shape
        pattern = casadi.DM(self.G.sparsity(), 1)
        other = casadi.sparsify(casadi.reshape(b[n_lam:], nv, n_lam).T * pattern)
        M, X = self.mass_factors, self.saddle["X"]
        y = M.solve(self.force)
        S = factor_general(other @ X)
        lam = S.solve(other @ y + b[:n_lam])
        return casadi.vertcat(self.q_dot, y - X @ lam, lam, casadi.fmin(S.rho, M.rho))

    def field(self, refined: bool = False, gains: bool = False) -> SX:
        """(q', v', λ, ρ), less what a stabilization of invariants takes away."""
        if self.is_ode:
            return casadi.vertcat(self.q_dot - self.taken(gains), SX(1))
        v_dot, lam, rho = self.solved(refined, gains)
        return casadi.vertcat(casadi.vertcat(self.q_dot, v_dot) - self.taken(), lam, rho)

    def taken(self, gains: bool = False) -> SX:
        """What a stabilization of invariants takes away from (q', v'); with `gains`, Baumgarte's for an ODE."""
        bend = Bend() if gains and self.position_rows.numel() else self.bend
        return SX(self.x.numel(), 1) if bend is None else bent(self, bend)

    def terms(self, gains: bool = False) -> SX:
        """(q', M, f, G, γ), matrices row by row; the solution v' of the saddle point is the bent one."""
        e = self.e
        taken = self.taken()
        dq, dv = taken[: e.q.numel()], taken[e.q.numel() :]
        force, gamma = self.force, self._gamma_with(gains)
        if self.lam_in_force:  # at λ; NaN where there is none
            lam, rho = self._multipliers(gamma)
            force = casadi.if_else(rho > 0, self.force_at(lam), SX.nan(*force.shape))
        f, gamma = force - e.mass @ dv, gamma + self.G @ dv
        flat = [casadi.vec(casadi.densify(matrix).T) for matrix in (e.mass, self.G)]
        return casadi.vertcat(self.q_dot - dq, flat[0], f, flat[1], gamma)

    def curvature(self, dq: SX) -> SX:
        """L Δq, L the Jacobian of the velocity rows by q."""
        return casadi.jtimes(self.velocity_rows, self.e.q, dq)

    def residual_rate(self) -> SX:
        """d/dt of the residuals along the field: H z' + h_t. The velocity rows have none."""
        return casadi.vertcat(self._along(self.position_rows), SX.zeros(self.n_lam, 1))

    def rates(self, values: SX) -> SX:
        """Time derivatives of functions of (t, q, v) along the motion, v' being known; then Σ |∂f/∂x_i x_i'|."""
        slope = casadi.vertcat(self.q_dot, self.e.a)
        parts = casadi.jacobian(values, self.x) @ casadi.diag(slope)
        by_time = casadi.jacobian(values, self.e.t)
        return casadi.vertcat(casadi.sum2(parts) + by_time, casadi.sum2(casadi.fabs(parts)) + casadi.fabs(by_time))

    def residual(self) -> SX:
        return casadi.vertcat(self.position_rows, self.velocity_rows)

    def projector(self, J: SX, weights: SX | None, mass: bool = False) -> Projector:
        """Factor and solves of the shortest way back along W⁻¹Jᵀ, W the metric."""
        X = J.T
        if mass:
            X = self.mass_factors.solve(J.T)
        elif weights is not None:
            X = casadi.sparsify(casadi.diag(1 / weights) @ J.T)
        measured = self.H_measured if J is self.H else None
        return Projector(J, X, same=not mass and weights is None, measured=measured)

    def direction(self, D: str) -> SX:
        """Named directions of an Ode: all its rows are of one level, so there is one block, Hᵀ."""
        if D == "blocks":
            return self.H.T
        raise IncompatibleMethods(f'D="{D}" belongs to constraints; an Ode knows D="orthogonal" and functions of y.')

    def reactions(self, lam: SX) -> SX:
        return -(self.G.T @ lam)


def _eye_like(vector: SX) -> SX:
    return SX.eye(vector.numel())


def graphs(
    d: Derived, wanted: tuple[Fn, ...], metric=None, gains: bool = False, equations=None,
    direction: Direction | None = None,
) -> dict[Fn, tuple[SX, SX, SX, SX, SX]]:  # fmt: skip
    """Return (t, a, b, data, out) of the wanted model functions.

    `metric`: None, "mass", or an SX of weights for (q, v).

    `equations` is what an implicit formulation leaves: R(t, y, y') = 0. `direction` is the way in which whole
    states are corrected.
    """
    e = d.e
    nothing = SX.sym("none", 0)
    nq = e.q.numel()
    data = e.data
    if equations is not None and equations.selectors is not None:
        data = casadi.vertcat(e.data, equations.selectors)
    made: dict[Fn, tuple[SX, SX, SX, SX, SX]] = {}
    projectors: dict[str, Projector] = {}

    def projector(level: str) -> Projector:
        if level == "FULL" and direction is not None:
            projectors.setdefault(level, directed(d, direction))
        if level not in projectors:
            J = {"POS": d.J, "VEL": d.G, "FULL": d.H}[level]
            weights = None
            if isinstance(metric, SX):
                weights = {"POS": metric[:nq], "VEL": metric[nq:], "FULL": metric}[level]
            projectors[level] = d.projector(J, weights, mass=isinstance(metric, str) and level != "FULL")
        return projectors[level]

    for fn in wanted:
        a, b, out = d.x, nothing, None
        if fn in (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE):
            a, b, out = equations.y, equations.slope, equations.residual
            if fn is not Fn.EQUATIONS:
                out = casadi.vec(casadi.densify(casadi.jacobian(out, a if fn is Fn.BY_Y else b)).T)
        elif fn is Fn.FIELD:
            out = d.field(gains=gains)
        elif fn is Fn.REFINED:
            out = d.field(refined=True, gains=gains)
        elif fn is Fn.TERMS:
            out = d.terms(gains=gains)
        elif fn is Fn.CURVATURE:
            b = SX.sym("dq", nq)
            out = d.curvature(b)
        elif fn is Fn.MULTIPLIERS:
            out = d.multipliers(gains)
        elif fn is Fn.KINEMATICS:
            out = d.q_dot
        elif fn is Fn.VELOCITY:
            out = d.velocity()
        elif fn is Fn.HALF_EXPLICIT:
            b = SX.sym("ahead", d.n_lam * (e.v.numel() + 1))
            out = d.half_explicit(b)
        elif fn is Fn.RESIDUAL:
            out = d.residual()
        elif fn is Fn.ENERGY:
            out = casadi.vertcat(d.kinetic, SX(0) if e.potential is None else e.potential)
        elif fn is Fn.REACTIONS:
            b = SX.sym("lam", d.n_lam)
            out = d.reactions(b)
        elif fn is Fn.EVENT_RATES:
            b, out = casadi.vertcat(e.a, e.lam), d.rates(casadi.vertcat(*e.events.values()))
        elif fn in (Fn.EVENTS, Fn.OUTPUTS):
            named = e.events if fn is Fn.EVENTS else e.outputs
            b = casadi.vertcat(e.a, e.lam)
            out = casadi.vertcat(*(casadi.vec(casadi.densify(value)) for value in named.values()))
        else:
            level, action = fn.name.split("_")
            p = projector(level)
            if action == "FACTOR":
                out = p.buffer
            elif action == "SPREAD":
                b = SX.sym("mu", p.n_rows)
                out = p.spread(b)
            else:
                a = SX.sym("F", p.size)
                b = SX.sym("r", p.n_columns if action == "TANGENT" else p.n_rows)
                out = {"SOLVE": p.solve, "TANGENT": p.tangent, "INVERSE": p.inverse}[action](a, b)
        made[fn] = (e.t, a, b, data, out)
    return made


def tapes(d: Derived, wanted: tuple[Fn, ...], *arguments) -> dict[Fn, Tape]:
    """Record the wanted model functions; arguments as for `graphs`."""
    return {fn: record(*graph) for fn, graph in graphs(d, wanted, *arguments).items()}
