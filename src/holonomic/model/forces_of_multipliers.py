"""Forces that depend on the multipliers, such as friction: the equations for λ are then nonlinear.

    r(λ) = G M⁻¹ (f(t, q, v, λ) - Gᵀλ) + γ = 0

is solved by Newton's method, unrolled into straight-line code from the multipliers without friction on. Its matrix
∂r/∂λ is not symmetric. Where its determinant has another sign than without friction, λ is not unique or does not exist
(Painlevé's paradox); ρ = 0 then says so, and also where the iteration has not converged.
"""

from __future__ import annotations

from .casadi_door import (
    SX,
    densify,
    det,
    function_of,
    if_else,
    jacobian,
    norm_inf,
    substitute,
    symvar,
    vec,
    vertcat,
    vertsplit,
)
from .factors import factor_general

ITERATIONS = 6  # quadratic from where friction is a moderate change; a force of |λ| needs two or three
CONVERGED = 1e-9  # last change of λ, relative to 1 + |λ|
LARGEST_DETERMINANT = 3  # more multipliers: only singular matrices are noticed


def depends(force: SX | None, lam: SX) -> bool:
    """Tell whether a force contains multipliers."""
    return force is not None and lam.numel() > 0 and jacobian(force, lam).nnz() > 0


def at(expression: SX, lam: SX, values: SX) -> SX:
    """An expression with other multipliers in it."""
    return substitute(expression, lam, values)


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
    by_lam = densify(jacobian(residual, lam))
    others = [symbol for symbol in symvar(vertcat(residual, vec(by_lam)))]
    inside = {str(symbol) for symbol in vertsplit(lam)}
    others = vertcat(*(symbol for symbol in others if str(symbol) not in inside))
    step = function_of([lam, others], [residual, by_lam])
    values, change = start, SX(1)
    for _ in range(ITERATIONS):
        r, J = step(values, others)
        factors = factor_general(J)
        move = factors.solve(r)
        values = values - move
        change = norm_inf(move) / (1 + norm_inf(values))
    rho = factors.rho
    if lam.numel() <= LARGEST_DETERMINANT:
        rho = if_else(sign * det(J) * det(plain) > 0, rho, 0)
    return values, if_else(change < CONVERGED, rho, 0)
