"""Algebraic variables: 0 = k(t, q, v, s, w) solved for w, and how w follows the others.

Newton's method is unrolled into straight-line code from where w was last; it is quadratic, so a few steps are enough
or the step of the integrator is too long. Derivatives come from the implicit function theorem,

    w_q = -k_w⁻¹ k_q,    w' = -k_w⁻¹ (k_q q' + k_v v' + k_s s' + k_t)
"""

from __future__ import annotations

from ..errors import BadArgument
from .casadi_door import (
    SX,
    densify,
    function_of,
    if_else,
    jacobian,
    norm_inf,
    ones_like,
    sprank,
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
