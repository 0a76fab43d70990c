"""Forces that depend on the multipliers, such as friction: the equations for λ are then nonlinear.

    r(λ) = G M⁻¹ (f(t, q, v, λ) - Gᵀλ) + γ = 0

is solved by Newton's method, unrolled into straight-line code from the multipliers without friction on. Its matrix
∂r/∂λ is not symmetric. Where its determinant has another sign than without friction, λ is not unique or does not exist
(Painlevé's paradox); ρ = 0 then says so, and also where the iteration has not converged.
"""

from __future__ import annotations

import casadi
from casadi import SX

from .factors import factor_general

ITERATIONS = 6  # quadratic from where friction is a moderate change; a force of |λ| needs two or three
CONVERGED = 1e-9  # last change of λ, relative to 1 + |λ|
LARGEST_DETERMINANT = 3  # more multipliers: only singular matrices are noticed


def depends(force: SX | None, lam: SX) -> bool:
    """Tell whether a force contains multipliers."""
    return force is not None and lam.numel() > 0 and casadi.jacobian(force, lam).nnz() > 0


def at(expression: SX, lam: SX, values: SX) -> SX:
    """An expression with other multipliers in it."""
    return casadi.substitute(expression, lam, values)


def solve_multipliers(residual: SX, lam: SX, start: SX, plain: SX, sign: SX | float = 1.0) -> tuple[SX, SX]:
    """Return λ with residual(λ) = 0, and ρ.

    Parameters
    ----------
    residual : SX
        In terms of `lam`.
    lam : SX
        Its symbols.
    start : SX
        λ without friction.
    plain : SX
        ∂r/∂λ without friction.
    sign : SX, optional
        -1 where the determinant of ∂r/∂λ has another sign than without friction, on the branch that is wanted.
    """
    jacobian = casadi.densify(casadi.jacobian(residual, lam))
    others = [symbol for symbol in casadi.symvar(casadi.vertcat(residual, casadi.vec(jacobian)))]
    inside = {str(symbol) for symbol in casadi.vertsplit(lam)}
    others = casadi.vertcat(*(symbol for symbol in others if str(symbol) not in inside))
    step = casadi.Function("step", [lam, others], [residual, jacobian])
    values, change = start, SX(1)
    for _ in range(ITERATIONS):
        r, J = step(values, others)
        factors = factor_general(J)
        move = factors.solve(r)
        values = values - move
        change = casadi.norm_inf(move) / (1 + casadi.norm_inf(values))
    rho = factors.rho
    if lam.numel() <= LARGEST_DETERMINANT:
        rho = casadi.if_else(sign * casadi.det(J) * casadi.det(plain) > 0, rho, 0)
    return values, casadi.if_else(change < CONVERGED, rho, 0)
