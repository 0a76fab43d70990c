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

from ..kernels.signatures import Fn
from .tape import Tape, record


@dataclass(frozen=True)
class Expressions:
    """What tracing gives: symbols and the user's functions of them, numbers already in `data`.

    For an ODE, `rhs` is set, q is the whole state and everything mechanical is empty.
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
    outputs: dict[str, SX] = field(default_factory=dict)
    events: dict[str, SX] = field(default_factory=dict)


@dataclass(frozen=True)
class Factors:
    """A symbolic LDLᵀ factorization, and its smallest pivot ratio ρ = min d_i / A_ii."""

    D: SX
    LT: SX
    p: list[int]
    rho: SX

    def solve(self, b: SX) -> SX:
        return casadi.sparsify(casadi.ldl_solve(casadi.densify(b), self.D, self.LT, self.p))


def factor(A: SX) -> Factors:
    """Factor a symmetric positive definite matrix of expressions, ordered for little fill."""
    A = casadi.sparsify(A)
    if A.shape[0] == 0:
        return Factors(SX(0, 1), SX(0, 0), [], SX(1))
    D, LT, p = casadi.ldl(A, True)
    rho = SX(1)
    diagonal = casadi.diag(A)
    for i, pivot in enumerate(p):
        ratio = D[i] / diagonal[pivot] if not diagonal[pivot].is_zero() else SX(0)
        rho = casadi.fmin(ratio, rho)
    return Factors(D, LT, p, rho)


class Derived:
    """Everything that follows from the traced expressions, each computed when first asked for."""

    def __init__(self, expressions: Expressions, rows: tuple[int, ...] | None = None):
        """`rows` selects independent velocity-level rows where some are redundant."""
        self.e = expressions
        self.rows = rows

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

    def _gamma_with(self, gains: bool) -> SX:
        """γ, or with Baumgarte's terms: γ + 2α(Gv + g_t) + β² g, gains being the last two of data."""
        if not gains:
            return self.gamma
        velocity_gain, position_gain = self.e.data[-2], self.e.data[-1]
        gamma = self.gamma + velocity_gain * self.velocity_rows
        n_holonomic = self.position_rows.numel() - self.e.invariants.numel()
        g = casadi.vertcat(self.position_rows[:n_holonomic], SX.zeros(self.n_lam - n_holonomic, 1))
        return gamma + position_gain * g

    def field(self, refined: bool = False, gains: bool = False) -> SX:
        """(q', v', λ, ρ); `refined` adds one step of iterative refinement."""
        if self.is_ode:
            rhs = self.q_dot
            if gains and self.position_rows.numel():
                # continuous stabilization of the invariants: y' = f - gain Hᵀ(HHᵀ)⁻¹ h
                S = factor(self.J @ self.J.T)
                rhs = rhs - self.e.data[-2] * (self.J.T @ S.solve(self.position_rows))
            return casadi.vertcat(rhs, SX(1))
        f, gamma = self.force, self._gamma_with(gains)
        v_dot, lam = self._solve_saddle(f, gamma)
        if refined:
            lost_f = f - self.e.mass @ v_dot - self.G.T @ lam
            lost_gamma = gamma + self.G @ v_dot
            dv, dlam = self._solve_saddle(lost_f, lost_gamma)
            v_dot, lam = v_dot + dv, lam + dlam
        rho = self.mass_factors.rho
        if self.n_lam:
            rho = casadi.fmin(self.saddle["S"].rho, rho)
        return casadi.vertcat(self.q_dot, v_dot, lam, rho)

    def terms(self, gains: bool = False) -> SX:
        """(q', M, f, G, γ), matrices row by row."""
        e = self.e
        flat = [casadi.vec(casadi.densify(matrix).T) for matrix in (e.mass, self.G)]
        return casadi.vertcat(self.q_dot, flat[0], self.force, flat[1], self._gamma_with(gains))

    def residual(self) -> SX:
        return casadi.vertcat(self.position_rows, self.velocity_rows)

    def projector(self, J: SX, weights: SX | None, mass: bool = False) -> Projector:
        """Factor and solves of the shortest way back along W⁻¹Jᵀ, W the metric."""
        X = J.T
        if mass:
            X = self.mass_factors.solve(J.T)
        elif weights is not None:
            X = casadi.sparsify(casadi.diag(1 / weights) @ J.T)
        return Projector(J, X, same=not mass and weights is None)

    def reactions(self, lam: SX) -> SX:
        return -(self.G.T @ lam)


class Projector:
    """Symbolic Δ = W⁻¹Jᵀ (J W⁻¹ Jᵀ)⁻¹ r in two halves: factors stored in a buffer F, and solves from it.

    F holds ρ, 1/‖row‖ for every row, the nonzeros of X = W⁻¹Jᵀ, of J (unless J = Xᵀ), of LT, and D.
    """

    def __init__(self, J: SX, X: SX, same: bool):
        self.J, self.X, self.same = J, X, same
        self.n_rows, self.n_columns = J.shape
        self.factors = factor(J @ X)

    @cached_property
    def buffer(self) -> SX:
        rows = [casadi.norm_2(self.J[i, :]) for i in range(self.n_rows)]
        inverse = [1 / casadi.fmax(row, SX(1e-300)) for row in rows]
        parts = [self.factors.rho, *inverse, _nonzeros(self.X)]
        if not self.same:
            parts.append(_nonzeros(self.J))
        parts += [_nonzeros(self.factors.LT), casadi.densify(self.factors.D)]
        return casadi.vertcat(*parts)

    @property
    def size(self) -> int:
        return self.buffer.numel()

    def _unpack(self, F: SX) -> tuple[SX, SX, Factors]:
        at = 1 + self.n_rows

        def take(sparsity):
            nonlocal at
            count = sparsity.nnz()
            matrix = SX(sparsity, F[at : at + count]) if count else SX(sparsity)
            at += count
            return matrix

        X = take(self.X.sparsity())
        J = X.T if self.same else take(self.J.sparsity())
        LT = take(self.factors.LT.sparsity())
        D = F[at : at + self.n_rows]
        return X, J, Factors(D, LT, self.factors.p, F[0])

    def solve(self, F: SX, r: SX) -> SX:
        X, _, factors = self._unpack(F)
        return X @ factors.solve(r) if self.n_rows else SX.zeros(self.n_columns, 1)

    def tangent(self, F: SX, e: SX) -> SX:
        X, J, factors = self._unpack(F)
        return X @ factors.solve(J @ e) if self.n_rows else SX.zeros(self.n_columns, 1)


def _nonzeros(matrix: SX) -> SX:
    return casadi.vertcat(*matrix.nonzeros()) if matrix.nnz() else SX(0, 1)


def _eye_like(vector: SX) -> SX:
    return SX.eye(vector.numel())


def tapes(d: Derived, wanted: tuple[Fn, ...], metric=None, gains: bool = False) -> dict[Fn, Tape]:
    """Record the wanted model functions. `metric`: None, "mass", or an SX of weights for (q, v)."""
    e = d.e
    nothing = SX.sym("none", 0)
    nq = e.q.numel()
    made: dict[Fn, Tape] = {}
    projectors: dict[str, Projector] = {}

    def projector(level: str) -> Projector:
        if level not in projectors:
            J = {"POS": d.J, "VEL": d.G, "FULL": d.H}[level]
            weights = None
            if isinstance(metric, SX):
                weights = {"POS": metric[:nq], "VEL": metric[nq:], "FULL": metric}[level]
            projectors[level] = d.projector(J, weights, mass=isinstance(metric, str) and level != "FULL")
        return projectors[level]

    for fn in wanted:
        a, b, out = d.x, nothing, None
        if fn is Fn.FIELD:
            out = d.field(gains=gains)
        elif fn is Fn.REFINED:
            out = d.field(refined=True, gains=gains)
        elif fn is Fn.TERMS:
            out = d.terms(gains=gains)
        elif fn is Fn.RESIDUAL:
            out = d.residual()
        elif fn is Fn.ENERGY:
            out = casadi.vertcat(d.kinetic, SX(0) if e.potential is None else e.potential)
        elif fn is Fn.REACTIONS:
            b = SX.sym("lam", d.n_lam)
            out = d.reactions(b)
        elif fn in (Fn.EVENTS, Fn.OUTPUTS):
            named = e.events if fn is Fn.EVENTS else e.outputs
            b = casadi.vertcat(e.a, e.lam)
            out = casadi.vertcat(*(casadi.vec(casadi.densify(value)) for value in named.values()))
        else:
            level, action = fn.name.split("_")
            p = projector(level)
            if action == "FACTOR":
                out = p.buffer
            else:
                a = SX.sym("F", p.size)
                b = SX.sym("r", p.n_rows if action == "SOLVE" else p.n_columns)
                out = p.solve(a, b) if action == "SOLVE" else p.tangent(a, b)
        made[fn] = record(e.t, a, b, e.data, out)
    return made
