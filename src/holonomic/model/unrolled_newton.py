"""Nonlinear equations inside a model, solved by Newton's method unrolled into straight-line code.

Algebraic variables, 0 = k(t, q, v, s, w) solved for w from where w was last: the method is quadratic, so a few steps are
enough or the step of the integrator is too long. Derivatives come from the implicit function theorem,

    w_q = -k_w⁻¹ k_q,    w' = -k_w⁻¹ (k_q q' + k_v v' + k_s s' + k_t)

Multipliers where forces depend on them, such as friction,

    r(λ) = G M⁻¹ (f(t, q, v, λ) - Gᵀλ) + γ = 0

from the multipliers without friction on. The matrix ∂r/∂λ is not symmetric. Where its determinant has another sign than without
friction, λ is not unique or does not exist (Painlevé's paradox); ρ = 0 then says so, and also where the iteration has not
converged.
"""

from __future__ import annotations

from ..errors import BadArgument
from .factors import factor_general
from .symbolics import (
    SX,
    densify,
    det,
    function_of,
    if_else,
    jacobian,
    norm_inf,
    ones_like,
    sprank,
    substitute,
    symvar,
    vec,
    vertcat,
    vertsplit,
)

ITERATIONS = 4  # from 0.1 off: 1e-2, 1e-4, 1e-8, rounding
CONVERGED = 1e-7  # last change, beside 1 + |w|: what is left is its square


def solved_for_w(k: SX, k_w: SX, w: SX) -> SX:
    """Return w with k = 0 as an expression that contains w, the value to begin with; NaN where there is none."""
    from .factors import factor_general

    inside = {str(symbol) for symbol in vertsplit(w)}
    others = [symbol for symbol in symvar(vertcat(k, vec(k_w))) if str(symbol) not in inside]
    others = vertcat(*others) if others else SX(0, 1)
    look = function_of([w, others], [k, k_w])
    values, change = w, SX(1)
    for _ in range(ITERATIONS):
        r, J = look(values, others)
        move = densify(factor_general(J).solve(r))
        values = values - move
        change = norm_inf(move) / (1 + norm_inf(values))
    return if_else(change < CONVERGED, densify(values), SX.nan(w.numel(), 1))


def check_rules(d, constraint_labels: list[str], nonholonomic_labels: list[str], algebraic_labels: list[str]) -> None:
    """Refuse what has no meaning: w that no equation determines, constraints that states turn into something else.

    Constraint forces act along Gᵀ, G = ∂g/∂q; so what a constraint takes from states and algebraic variables must not
    change with v, v' or λ at the level where it would enter G or γ.
    """
    e = d.e
    if e.nw and sprank(d.k_w) < e.nw:
        pattern = ones_like(d.k_w).full()
        empty = [name for name, column in zip(algebraic_labels, pattern.T, strict=True) if not column.any()]
        which = f"nothing in algebraic= depends on {empty[0]!r}" if empty else "they determine some of their variables twice"
        raise BadArgument(f"the algebraic equations do not determine {', '.join(map(repr, algebraic_labels))}: {which}.")
    labels = constraint_labels + nonholonomic_labels
    if not labels:
        return
    n = e.constraint.numel()
    through = d.through_states()
    unknown = vertcat(e.a, e.lam)
    for rows, other, why in (
        (through, vertcat(e.v, unknown), "a state or an algebraic variable that changes with v, v' or λ"),
        (d.velocity_rows[:n], unknown, "an algebraic variable that depends on velocities"),
        (d.gamma, unknown, "a state or an algebraic variable that changes with v' or λ"),
    ):
        bad = {row for row in jacobian(rows, other).sparsity().row()} if rows.numel() else set()
        if bad:
            raise BadArgument(
                f"constraint {labels[min(bad)]!r} uses {why}: its force would no longer act along the constraint. Write "
                "it with q and t, or give that variable an equation without them."
            )


LAM_ITERATIONS = 7  # quadratic from where friction is a moderate change; a force of |λ| needs two or three
LAM_CONVERGED = 1e-5  # last change of λ, beside its size: what is left is its square
LARGEST_DETERMINANT = 3  # more multipliers: only singular matrices are noticed


def depends(force: SX | None, lam: SX) -> bool:
    """Tell whether a force contains multipliers."""
    return force is not None and lam.numel() > 0 and jacobian(force, lam).nnz() > 0


def at(expression: SX, lam: SX, values: SX) -> SX:
    """An expression with other multipliers in it."""
    return substitute(expression, lam, values)


def solve_multipliers(residual: SX, lam: SX, start: SX, plain: SX, sign: SX | float = 1.0, size: SX | float = 1.0) -> tuple[SX, SX]:
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
    size : SX, optional
        Of what λ balances: a λ that is small beside it need not be known to as many digits.
    """
    by_lam = densify(jacobian(residual, lam))
    others = [symbol for symbol in symvar(vertcat(residual, vec(by_lam)))]
    inside = {str(symbol) for symbol in vertsplit(lam)}
    others = vertcat(*(symbol for symbol in others if str(symbol) not in inside))
    step = function_of([lam, others], [residual, by_lam])
    values, change = start, SX(1)
    for _ in range(LAM_ITERATIONS):
        r, J = step(values, others)
        factors = factor_general(J)
        move = factors.solve(r)
        values = values - move
        change = norm_inf(move) / (size + norm_inf(values))
    rho = factors.rho
    if lam.numel() <= LARGEST_DETERMINANT:
        rho = if_else(sign * det(J) * det(plain) > 0, rho, 0)
    return values, if_else(change < LAM_CONVERGED, rho, 0)
