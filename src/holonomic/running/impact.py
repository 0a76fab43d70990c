"""What an event's `then` makes of the state: position checked, velocity made consistent as by an impulse."""

from __future__ import annotations

import numpy as np

from ..errors import HolonomicError, InconsistentState, NotFinite, StepFailed, WrongShape
from ..kernels.signatures import Fn
from ..model.call_by_name import call, param_names
from ..model.dae import Dae, state_values
from ..model.given_numbers import floats
from ..starting.impulse import OFF, Impact, impulse
from ..starting.initial import position_jacobian, residuals, with_w_solved


def after_event(model, event, name: str, t: float, x, data, kept=None) -> tuple[np.ndarray, Impact | None]:
    """Apply `then` to x = (q, v); return the new state, and the impulses of the constraints of a System.

    `kept` are the rows that carry impulses where others are dropped.
    """
    nq = model.nq
    role = f"then of event {name!r}"
    values = {"t": t, "p": param_names(data, model.places)}
    values |= state_values(model.system, x[:nq].copy(), x[nq:].copy(), model.extras)
    try:
        result = call(event.then, role, tuple(values), values)
    except HolonomicError:
        raise
    except Exception as problem:
        raise StepFailed(f"{role} failed at t = {t:.6g}: {type(problem).__name__}: {problem}. See error.solution.") from problem
    if result is None:
        raise WrongShape(f"{role} returned nothing at t = {t:.6g}: is a `return` missing?")
    if isinstance(model.system, Dae):  # x alone, or (x, x', ..)
        return _vector(np.concatenate([np.ravel(part) for part in result]), nq, f"{role}: (x, x', ..)", t), None
    if model.is_ode:
        return _vector(result, nq, f"{role}: y", t), None
    whole = isinstance(result, tuple | list) and len(result) == 3 and model.ns > 0
    if not (whole or (isinstance(result, tuple | list) and len(result) == 2)):
        wanted = "(q, v) or (q, v, s)" if model.ns else "(q, v)"
        raise WrongShape(f"{role} must return {wanted}, got {type(result).__name__} at t = {t:.6g}.")
    q, v = _vector(result[0], model.nc, f"{role}: q", t), _vector(result[1], model.nv, f"{role}: v", t)
    q = np.concatenate([q, x[model.nc : nq]])
    if whole:
        q[model.nc : model.nc + model.ns] = _vector(result[2], model.ns, f"{role}: s", t)
    if model.nw:
        q = with_w_solved(model, t, q, v, data)
    if not model.n_lam:
        return np.concatenate([q, v]), Impact(q, np.zeros((0, model.nv)))
    _check_position(model, role, t, x[:nq], q, data)
    v, impact = impulse(model, t, q, v, residuals(model, t, q, v, data)[1], data, kept)
    return np.concatenate([with_w_solved(model, t, q, v, data) if model.nw else q, v]), impact


def _vector(values, n: int, what: str, t: float) -> np.ndarray:
    try:
        vector = floats(values)
    except (TypeError, ValueError):
        raise WrongShape(f"{what} must be numbers, got {values!r} at t = {t:.6g}.") from None
    if vector.ndim > 1:
        raise WrongShape(f"{what} has shape {vector.shape} at t = {t:.6g}, expected ({n},). Return np.ravel() of it.")
    vector = vector.reshape(-1)
    if len(vector) != n:
        raise WrongShape(f"{what} has {len(vector)} entries at t = {t:.6g}, expected {n}.")
    if not np.all(np.isfinite(vector)):
        raise NotFinite(f"{what} is not finite at t = {t:.6g}: {vector}.")
    return vector


def _check_position(model, role: str, t: float, before: np.ndarray, q: np.ndarray, data: np.ndarray) -> None:
    """Refuse a position that is further off the constraints than it was, and than the tolerance."""
    if not model.n_constraints:
        return
    was, here = (_distances(model, t, position, data) for position in (before, q))
    allowed = np.maximum(OFF * max(1.0, float(np.linalg.norm(q[: model.nc]))), 2.0 * was)
    if np.any(~(here <= allowed)):
        worst = int(np.argmax(here / allowed))
        raise InconsistentState(
            f"{role} moves q off constraint {model.constraint_labels[worst]!r} by {here[worst]:.1e} at t = {t:.6g} "
            f"(allowed {allowed[worst]:.1e}). Return a position on the constraints."
        )


def _distances(model, t, q, data) -> np.ndarray:
    """|g_i|/‖∂g_i/∂q‖ of the constraints."""
    g = residuals(model, t, q, np.zeros(model.nv), data)[0][: model.n_constraints]
    if not model.dense:
        F = model.evaluate(Fn.VEL_FACTOR if model.shared else Fn.POS_FACTOR, t, np.append(q, np.zeros(model.nv)), g[:0], data)
        return np.abs(g) * F[1 : 1 + len(g)]
    return np.abs(g) / np.maximum(np.linalg.norm(position_jacobian(model, t, q, data), axis=1), 1e-300)
