"""From f, B and g of a differential-algebraic equation to the ODE that is integrated.

    x^(m) = f - B y,  0 = g:   G B y = g^(m) with y = 0,  + Σ α_j g^(j) with Baumgarte's terms

z = (x, x', .., x^(m-1)) is the whole state; g, g', .., g^(m-1) are its rows, all of them position rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from ..errors import IncompatibleMethods
from .derive import Derived
from .expressions import Expressions
from .factors import factor_general
from .model_base import Held
from .symbolics import SX, densify, diagcat, fmin, jacobian, jtimes, norm_2, norm_fro, sparsify, substitute, vec, vertcat
from .unrolled_newton import at, depends, solve_multipliers


def derive(
    expressions: Expressions, rows: tuple[int, ...] | None = None, held: Held | None = None, kept: tuple[int, ...] | None = None
) -> Derived:
    """Return what follows from traced expressions, of whatever kind they are."""
    return DerivedDae(expressions, rows) if expressions.order else Derived(expressions, rows, held, kept)


class DerivedDae(Derived):
    """Everything that follows from f, B and g."""

    @property
    def is_ode(self) -> bool:
        return True

    @property
    def n(self) -> int:
        """Entries of x."""
        return self.e.f.numel()

    @cached_property
    def _levels(self) -> list[SX]:
        """g, g', .., and last g^(m) with y = 0."""
        e, levels = self.e, [self.e.g]
        flow = vertcat(e.q[self.n :, :], e.f)
        for _ in range(e.order):
            rate = jtimes(levels[-1], e.q, flow) + jtimes(levels[-1], e.t, SX(1))
            levels.append(sparsify(rate))
        return levels

    @cached_property
    def _G(self) -> SX:
        return sparsify(jacobian(self.e.g, self.e.q[: self.n]))

    @cached_property
    def _GB(self) -> SX:
        return sparsify(self._G @ self.e.B)

    @cached_property
    def _factors(self):
        """Of G B; ρ is small where a column of B lies along the constraints."""
        B = self.e.B
        sizes = [norm_fro(self._G) * norm_2(B[:, i]) for i in range(B.shape[1])]
        return factor_general(self._GB, sizes)

    def last_level(self, gains: bool) -> SX:
        """g^(m) without B y, + Σ α_j g^(j) with Baumgarte's terms."""
        wanted = self._levels[-1]
        if gains:
            for level, row in enumerate(self._levels[:-1]):
                wanted = wanted + self.gain(level) * row
        return wanted

    @cached_property
    def lam_in_force(self) -> bool:
        return depends(self.e.f, self.y)

    @property
    def y(self) -> SX:
        """Symbols of y."""
        return self.e.lam if self.e.y is None else self.e.y

    def f_at(self, y: SX) -> SX:
        """f with given algebraic unknowns."""
        return at(self.e.f, self.y, y) if self.lam_in_force else self.e.f

    def _solved_for_y(self, gains: bool) -> tuple[SX, SX]:
        """y and ρ: by QR and one step of iterative refinement; by Newton's method where f depends on y."""
        wanted, rho = self.last_level(gains), self._factors.rho
        if not self.lam_in_force:
            y = self._factors.solve(wanted)
            return y + self._factors.solve(wanted - self._GB @ y), rho
        y, root = self.y, self.e.root
        start, sign = self._without_y(gains), SX(1)
        if root is not None:
            start, sign = start + root[:-1], 1 - 2 * root[-1]
        found, converged = solve_multipliers(wanted - self._GB @ y, y, start, -densify(self._GB), sign)
        return found, fmin(rho, converged)

    def _without_y(self, gains: bool) -> SX:
        """y where it has no share in f: where Newton's method begins."""
        return self._factors.solve(at(self.last_level(gains), self.y, SX.zeros(self.y.numel(), 1)))

    def equation_of_y(self) -> tuple[SX, SX, SX, SX]:
        """What y makes zero, its derivative by y, where y is looked for first, and the derivative there."""
        r = self.last_level(gains=False) - self._GB @ self.y
        return r, jacobian(r, self.y), self._without_y(gains=False), -self._GB

    def multipliers(self, gains: bool = False) -> SX:
        """y."""
        return self._solved_for_y(gains)[0]

    def _rhs(self, gains: bool) -> SX:
        y = self.multipliers(gains)
        return vertcat(self.e.q[self.n :, :], self.f_at(y) - self.e.B @ y)

    @cached_property
    def q_dot(self) -> SX:
        return self._rhs(gains=False)

    @cached_property
    def position_rows(self) -> SX:
        return vertcat(*self._levels[:-1], self.e.invariants)

    def field(self, refined: bool = False, gains: bool = False) -> SX:
        return vertcat(self._rhs(gains) - self.taken(), self.unless_sliding(self._solved_for_y(gains)[1]))

    def terms(self, gains: bool = False) -> SX:
        """(z', I, f, G, γ) in the places of a System's (q', M, f, G, γ), for selectors: z' and γ are left at zero."""
        n, rows = self.n, self.e.g.numel()
        flat = [vec(densify(matrix).T) for matrix in (SX.eye(n), self._G)]
        return vertcat(SX.zeros(self.e.q.numel(), 1), flat[0], SX.zeros(n, 1), flat[1], SX.zeros(rows, 1))

    def residual_rate(self) -> SX:
        last = SX.zeros(self.e.g.numel(), 1)  # g^(m) is what y makes zero
        kept = [self._along(self.e.invariants)] if self.e.invariants.numel() else []
        return vertcat(*self._levels[1:-1], last, *kept)

    def direction(self, D: str) -> SX:
        """One block of columns per level: B, or Gᵀ."""
        if self.e.invariants.numel() or D == "mass":
            raise IncompatibleMethods(f'D="{D}" does not say how to move a Dae with its invariants. Use D="orthogonal".')
        block = self.e.B if D == "B" else self._G.T
        return diagcat(*[block] * self.e.order)


def with_multipliers_solved(e: Expressions) -> Expressions:
    """Put the solution for y in its place in outputs and events."""
    y = DerivedDae(e).multipliers()
    named = {
        kind: {name: substitute(value, e.lam, y) for name, value in getattr(e, kind).items()} for kind in ("outputs", "events")
    }
    return replace(e, lam=SX(0, 1), y=e.lam, **named)
