"""Is a stabilizing term that is discretized by forward Euler stable at the start of a run?

With F = D the residuals h obey h₁ = (I - α H D) h₀ + what the integrator adds; they grow where an eigenvalue of α H D
exceeds 2. H D is found by differences of the residuals along the directions D.
"""

from __future__ import annotations

import numpy as np

from ..errors import IncompatibleMethods
from ..kernels.signatures import Fn

DIFFERENCE = 1e-6  # relative; the eigenvalues are wanted to a few digits
MARGIN = 1e-3
LOOKS = 40  # rows of a run that failed


def check_gain(plan, t: float, z: np.ndarray, data: np.ndarray) -> None:
    """Refuse a stabilization by the old point that corrects too much at the state z: F = D, and α too large."""
    s, h = plan.choice.stabilization, plan.choice.step
    if not s.may_overshoot:
        return
    alpha, largest = largest_factor(plan, t, z, data)
    if alpha * largest >= 2.0 - MARGIN:
        most = 1.0 / largest if s.share(0.0) else 1.0 / (largest * abs(h))  # α itself, or a gain that the step multiplies
        limit = f"{s.strength_setting} <= {most:.2g}"
        raise IncompatibleMethods(
            f"{s!r} is unstable: every step multiplies the residuals by I - α H D, and the largest eigenvalue of α H D is "
            f'{alpha * largest:.3g} >= 2 at the start. Use {limit}, F="1.13", or PostStabilization().'
        )


def growing(plan, sol) -> str | None:
    """Say where on its way a run began to be unstable by such a term, if it did."""
    s = plan.choice.stabilization
    if not s.may_overshoot:
        return None
    rows = np.unique(np.linspace(0, len(sol.t) - 1, LOOKS).astype(int))
    for row in rows:
        z = np.concatenate([sol.q[row], sol.v[row]])
        if not np.all(np.isfinite(z)) or np.max(np.abs(z)) > 1e100:
            return None
        alpha, largest = largest_factor(plan, float(sol.t[row]), z, sol.trail.data)
        if alpha * largest >= 2.0 - MARGIN:
            return (
                f"{s!r} became unstable: the largest eigenvalue of α H D is {alpha * largest:.3g} >= 2 at t = {sol.t[row]:.4g}. "
                f'Use a tenth of it, F="1.13", or PostStabilization(). See error.solution.'
            )
    return None


def largest_factor(plan, t: float, z: np.ndarray, data: np.ndarray) -> tuple[float, float]:
    """Return α and the largest eigenvalue of H D."""
    alpha = plan.choice.stabilization.share(plan.choice.step or 0.0)
    values = np.linalg.eigvals(_residuals_along_directions(plan, t, z, data))
    return alpha, float(np.max(np.abs(values), initial=0.0))


def _residuals_along_directions(plan, t, z, data) -> np.ndarray:
    """H D."""
    model, variant = plan.model, plan.variant
    rows = plan.n_position + plan.n_lam
    step = DIFFERENCE * (1.0 + float(np.max(np.abs(z), initial=0.0)))
    columns = []
    for k in range(rows):
        unit = np.zeros(rows)
        unit[k] = 1.0
        along = model.evaluate(Fn.FULL_SPREAD, t, z, unit, data, variant)[: len(z)]
        size = max(float(np.max(np.abs(along))), 1e-300)
        ends = [model.evaluate(Fn.RESIDUAL, t, z + side * step / size * along, z, data, variant) for side in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) * size / (2.0 * step))
    return np.array(columns).T if columns else np.zeros((0, 0))
