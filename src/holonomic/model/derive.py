"""From M, f and g to everything a method asks for: G, g_t, γ, the solved accelerations, the projections.

All of it is exact and symbolic. The linear solves are unrolled over the known sparsity: LDLᵀ of M, of
S = G M⁻¹ Gᵀ and of the projections' J W⁻¹ Jᵀ become straight-line code.

    q' = Z v,   M v' = f - Gᵀλ,   rows: G v + g_t = 0 and Â v + b = 0,   G v' + γ = 0 for all of them

Where there are states s and algebraic variables w, `e.q` is (q, s, w), see `extra_states`.
"""

from __future__ import annotations

from functools import cached_property

from ..errors import IncompatibleMethods
from .constraint_rows import ConstraintRows
from .directions import bent
from .factors import Factors, Projector, factor, factor_general
from .massless_coordinates import holding_weights
from .model_base import N_GAINS, Bend
from .redundant_rows import KeptFactors, ShortFactors, factor_even, factor_short
from .symbolics import (
    SX,
    densify,
    depends_on,
    diag,
    dot,
    fabs,
    fmin,
    if_else,
    jacobian,
    jtimes,
    logic_or,
    norm_inf,
    ones_like,
    reshape,
    row_sums,
    sparsify,
    vec,
    vertcat,
    vertsplit,
)
from .unrolled_newton import at, depends, solve_multipliers

FEWEST_LONG = 60  # velocities and rows, below which a solve is unrolled in any case
NOTHING = 1e-200  # N: a sum that may be zero is divided by
LONGEST_UNROLLED = 500_000  # operations of one: half a minute for LLVM


class Derived(ConstraintRows):
    """Everything that follows from the traced expressions, each computed when first asked for."""

    @cached_property
    def force(self) -> SX:
        """Applied force: the user's force, minus the gradient of the potential pulled back by Z."""
        e = self.e
        if e.potential is None:
            return e.force
        own = e.q[: self.nc]
        slope = jtimes(e.potential, own, SX.eye(self.nc)).T
        if e.kinematics is not None:
            slope = e.kinematics.T @ slope
        return e.force - slope

    @cached_property
    def lam_in_force(self) -> bool:
        """Whether the force depends on the multipliers."""
        return depends(self.e.force, self.e.lam)

    def force_at(self, lam: SX) -> SX:
        """The force with given multipliers of the rows that are kept; those of dropped rows vanish."""
        return at(self.force, self.e.lam, self._all_rows(lam)) if self.lam_in_force else self.force

    def _multipliers(self, gamma: SX) -> tuple[SX, SX]:
        """λ where the force depends on it, and ρ."""
        lam = SX.sym("lam", self.n_lam)
        plain = self.force_at(SX.zeros(self.n_lam, 1))
        start = self._solve_saddle(plain, gamma, self.saddle["S"])[1]
        size = norm_inf(plain) + norm_inf(start) + NOTHING
        residual = self.G @ self.over_M(self.force_at(lam) - self.G.T @ lam, gamma) + gamma
        return solve_multipliers(residual, lam, start, densify(-(self.G @ self.saddle["X"])), size=size)

    @cached_property
    def kinetic(self) -> SX:
        e = self.e
        return e.kinetic if e.kinetic is not None else dot(e.v, e.mass @ e.v) / 2

    @cached_property
    def holding(self) -> SX | None:
        """W of the rows that hold coordinates without mass, see `massless_coordinates`; None where all have mass."""
        return holding_weights(self.e.mass, self.G, self.held)

    @cached_property
    def mass_factors(self) -> Factors:
        """Of M, or of M + GᵀWG."""
        refuse_too_long(self.e.mass, SX(0, self.e.v.numel()))
        return factor(self.e.mass if self.holding is None else self.e.mass + self.G.T @ self.holding @ self.G)

    def over_M(self, f: SX, gamma: SX) -> SX:
        """v' of M v' = f, which is to fulfil G v' + γ = 0 with f - Gᵀλ for f."""
        return self.mass_factors.solve(f if self.holding is None else f - self.G.T @ (self.holding @ gamma))

    @cached_property
    def saddle(self) -> dict[str, SX | Factors | KeptFactors]:
        """The unrolled solve of [M Gᵀ; G 0](v', λ) = (f, -γ)."""
        refuse_too_long(self.e.mass, self.G)
        M = self.mass_factors
        X = M.solve(self.G.T) if self.n_lam else SX(self.e.v.numel(), 0)
        return {"X": X, "S": factor(self.G @ X) if self.kept is None else self._usual_rows(X)}

    def _usual_rows(self, X: SX) -> KeptFactors:
        rows = list(self.kept)
        return KeptFactors(factor(self.G[rows, :] @ X[:, rows]), self.kept, self.n_lam)

    @cached_property
    def _any_rows(self) -> ShortFactors:
        return factor_short(self.G @ self.saddle["X"], self.kept)

    def _solve_saddle(self, f: SX, gamma: SX, S: Factors | KeptFactors | ShortFactors) -> tuple[SX, SX]:
        X = self.saddle["X"]
        y = self.over_M(f, gamma)
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
        g = self.holonomic_rows
        g = vertcat(g, SX.zeros(self.n_lam - g.numel(), 1))
        return gamma + self.gain(0) * g

    def solved(self, refined: bool = False, gains: bool = False) -> tuple[SX, SX, SX]:
        """v', λ, ρ; `refined` adds one step of iterative refinement, and lets redundant rows take the part of others."""
        f, gamma = self.force, self._gamma_with(gains)
        if self.lam_in_force:
            lam, rho = self._multipliers(gamma)
            return self.accelerations(lam, gains), lam, fmin(rho, self.mass_factors.rho)
        S = self._any_rows if refined and self.kept is not None else self.saddle["S"]
        v_dot, lam = self._solve_saddle(f, gamma, S)
        if refined:
            lost_f = f - self.e.mass @ v_dot - self.G.T @ lam
            lost_gamma = gamma + self.G @ v_dot
            dv, dlam = self._solve_saddle(lost_f, lost_gamma, S)
            v_dot, lam = v_dot + dv, lam + dlam
        rho = self.mass_factors.rho
        if self.n_lam:
            rho = fmin(S.rho, rho)
        return v_dot, lam, rho

    def kinematic_rates(self) -> SX:
        """q' = Z v; states and algebraic variables, which must not enter the constraints, stand still."""
        extra = self.e.ns + self.e.nw
        if extra and depends_on(self.velocity_rows, self.e.q[self.nc :]):
            raise IncompatibleMethods(
                "half-explicit integrators take constraints of coordinates alone, but these depend on states or algebraic "
                "variables. Use RK45() with formulation=Index1()."
            )
        return vertcat(self.q_dot[: self.nc], SX.zeros(extra, 1))

    def velocity(self) -> SX:
        """Velocity rows, and G row by row."""
        return vertcat(self.velocity_rows, vec(densify(self.G).T))

    def half_explicit(self, b: SX) -> SX:
        """(q', v', λ, ρ) with M v' = f - Gᵀλ and Ḡ v' + s = 0; b = (s, Ḡ row by row), Ḡ with the pattern of G."""
        n_lam, nv = self.G.shape
        pattern = ones_like(self.G)
        other = sparsify(reshape(b[n_lam:], nv, n_lam).T * pattern)
        M, force = self.mass_factors, self.force
        if self.holding is not None:  # Ḡ v' is what is known here
            M = factor_general(self.e.mass + self.G.T @ self.holding @ other)
            force = force - self.G.T @ (self.holding @ b[:n_lam])
        X, y = M.solve(self.G.T), M.solve(force)
        S = factor_general(other @ X)
        lam = S.solve(other @ y + b[:n_lam])
        v_dot = y - X @ lam
        return vertcat(self.with_field(self.q_dot, v_dot, lam), v_dot, lam, fmin(S.rho, M.rho))

    def field(self, refined: bool = False, gains: bool = False) -> SX:
        """(q', v', λ, ρ), less what a stabilization of invariants takes away."""
        if self.is_ode:
            return vertcat(self.q_dot - self.taken(gains), self.unless_sliding(SX(1)))
        v_dot, lam, rho = self.solved(refined, gains)
        q_dot = self.with_field(self.q_dot, v_dot, lam)
        return vertcat(vertcat(q_dot, v_dot) - self.taken(), lam, self.unless_sliding(rho))

    def unless_sliding(self, rho: SX) -> SX:
        """ρ, or 0 where the mode of a switch is NaN: the motion goes along it, and the field is a mean of two."""
        e, n = self.e, 0 if self.e.switches is None else self.e.switches.numel()
        last = e.data.numel() - N_GAINS - n  # behind them is which are alike
        for mode in vertsplit(e.data[last - n : last]) if n else ():
            rho = if_else(logic_or(mode < 0, mode >= 0), rho, 0)
        return rho

    def accelerations(self, lam: SX, gains: bool = False) -> SX:
        """v' with given multipliers."""
        return self.over_M(self.force_at(lam) - self.G.T @ lam, self._gamma_with(gains))

    def taken(self, gains: bool = False) -> SX:
        """What a stabilization of invariants takes away from (q', v'); with `gains`, Baumgarte's for an ODE."""
        bend = Bend() if gains and self.position_rows.numel() else self.bend
        return SX(self.x.numel(), 1) if bend is None else bent(self, bend)

    def terms(self, gains: bool = False) -> SX:
        """(q', M, f, G, γ), matrices row by row; the solution v' of the saddle point is the bent one.

        s' and w' wait for v' and λ: EXTRA_RATES gives them.
        """
        e = self.e
        taken = self.taken()
        dq, dv = taken[: e.q.numel(), :], taken[e.q.numel() :, :]
        force, gamma = self.force, self._gamma_with(gains)
        if self.lam_in_force:  # at λ; NaN where there is none
            lam, rho = self._multipliers(gamma)
            force = if_else(rho > 0, self.force_at(lam), SX.nan(*force.shape))
        f, gamma = force - e.mass @ dv, gamma + self.G @ dv
        flat = [vec(densify(matrix).T) for matrix in (e.mass, self.G)]
        q_dot = vertcat(self.q_dot[: self.nc], SX.zeros(e.ns + e.nw, 1))
        return vertcat(q_dot - dq, flat[0], f, flat[1], gamma)

    def curvature(self, dq: SX) -> SX:
        """L Δq, L the Jacobian of the velocity rows by q."""
        if self.e.nw:
            dq = vertcat(dq[: self.nc + self.e.ns], self.w_by_q @ dq[: self.nc])
        return jtimes(self.velocity_rows, self.e.q, dq)

    def residual_rate(self) -> SX:
        """d/dt of the residuals along the field: H z' + h_t. The velocity rows have none."""
        return vertcat(self._along(self.position_rows), SX.zeros(self.n_lam, 1))

    def rates(self, values: SX) -> SX:
        """Time derivatives of functions of (t, q, v) along the motion, v' being known; then Σ |∂f/∂x_i x_i'|."""
        return along(values, self.e.t, self.x, vertcat(self.q_dot, self.e.a))

    def residual(self) -> SX:
        return vertcat(self.position_rows, self.velocity_rows)

    def projector(self, J: SX, weights: SX | None, mass: bool = False) -> Projector:
        """Factor and solves of the shortest way back along W⁻¹Jᵀ, W the metric."""
        X = J.T
        if mass:
            X = self.over_mass(J)
        elif weights is not None:
            X = sparsify(diag(1 / weights) @ J.T)
        measured = self.H_measured if J is self.H else None
        same = not mass and weights is None
        factors = None if self.kept is None else factor_even(J @ X, self._short_by(J))
        return Projector(J, X, same=same, measured=measured, droppable=self.invariants_alone, factors=factors)

    def _short_by(self, J: SX) -> int:
        """By how many rows the rank of J is short: of position rows, velocity rows, or both."""
        n = self.e.constraint.numel()
        position, velocity = n - sum(row < n for row in self.kept), self.n_lam - len(self.kept)
        return velocity if J is self.G else position if J is self.J else position + velocity

    @property
    def invariants_alone(self) -> bool:
        """Whether all rows are invariants of an Ode, of which dependent ones may be left out."""
        return self.is_ode and self.position_rows.numel() == self.e.invariants.numel() > 0

    def over_mass(self, J: SX) -> SX:
        """M⁻¹Jᵀ, of rows by v or by q; s and w stay where they are."""
        nv = self.e.v.numel()
        return vertcat(self.mass_factors.solve(J[:, :nv].T), SX(J.shape[1] - nv, J.shape[0]))

    def direction(self, D: str) -> SX:
        """Named directions of an Ode: all its rows are of one level, so there is one block, Hᵀ."""
        if D == "blocks":
            return self.H.T
        raise IncompatibleMethods(f'D="{D}" belongs to constraints; an Ode knows D="orthogonal" and functions of y.')

    def reactions(self, lam: SX) -> SX:
        return -(self.G.T @ lam)


def refuse_too_long(M: SX, G: SX) -> None:
    """Refuse to unroll the solve of [M Gᵀ; G 0] where that is so long that neither deriving nor compiling it comes to an end."""
    if M.shape[0] + G.shape[0] <= FEWEST_LONG:
        return
    from .dense_solves import pattern, unrolled_cost

    operations = unrolled_cost(pattern(M), pattern(G))
    if operations > LONGEST_UNROLLED:
        raise IncompatibleMethods(
            f"M⁻¹ would have to be written out here, which takes about {operations:.1e} operations with {M.shape[0]} coupled "
            "velocities. Use simulate, Stepper or sweep with an explicit integrator and Projection() in its plain metric, or with "
            "Radau() or BDF() and formulation=Index2() or GGL()."
        )


def along(values: SX, t: SX, x: SX, slope: SX) -> SX:
    """Time derivatives of functions of (t, x), x' = slope; then Σ |∂f/∂x_i x_i'|."""
    parts, by_time = jacobian(values, x) @ diag(slope), jacobian(values, t)
    return vertcat(row_sums(parts) + by_time, row_sums(fabs(parts)) + fabs(by_time))
