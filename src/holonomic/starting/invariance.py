"""Whether the equations keep what was stated as an invariant: dh/dt = h_t + H x' along the motion.

A stabilization holds any function at its value, also one that the exact flow changes; the answer is then that of other
equations, and nothing in drift or error control tells.
"""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..kernels.signatures import Fn

DIFFERENCE = 1e-5  # of central differences, beside the size of the state
SUSPECT = 1e-8  # of a rate, in units of the invariant per second: what is below is not looked at twice
LOOKS = 30  # states of a run at which dependent invariants are looked for
CANCELS = 1e-4  # of the parts of a rate: those of an invariant cancel to rounding and the error of differences, 1e-9


def check_invariants(model, t: float, x: np.ndarray, data: np.ndarray) -> None:
    """Refuse an invariant that the equations change; a model that passed once is not asked again."""
    if not model.n_invariants or model.__dict__.get("_invariants_checked"):
        return
    found = not_kept(model, t, x, data)
    if found is not None:
        raise BadArgument(
            f"invariant {found[0]!r} is none: at the start, t = {t:g}, the equations change it by {found[1]:.3g} per second. "
            "Correct it or the equations, leave it out (as an entry of outputs= it is watched, not kept), or pass "
            'initial="free" if it is meant to be pulled to zero.'
        )
    model.__dict__["_invariants_checked"] = True


def left_out(model, times, states, data) -> str | None:
    """Say which invariants a stabilization leaves out, where gradients depend on each other; None: nowhere."""
    if not model.is_ode or model.n_constraints or model.n_invariants < 2:
        return None
    chosen = np.unique(np.linspace(0, len(times) - 1, min(LOOKS, len(times))).astype(int))
    seen = np.array([
        model.evaluate(Fn.POS_FACTOR, float(times[i]), states[i], np.zeros(0), data)[1 : 1 + model.n_invariants] == 0.0
        for i in chosen
    ])  # fmt: skip
    if not seen.any():
        return None
    rows = np.flatnonzero(seen.any(axis=0))
    first = float(times[chosen[int(np.argmax(seen.any(axis=1)))]])
    names = ", ".join(repr(model.invariant_labels[row]) for row in rows)
    which = f"invariant {names} is" if len(rows) == 1 else f"invariants {names} are"
    return (
        f"{which} not corrected where gradients of invariants depend on each other (from t = {first:.6g} on, at "
        f"{int(seen.any(axis=1).sum())} of {len(chosen)} states looked at). The exact solution keeps all of them; sol.drift "
        "tells how well this one does. Keep fewer to be sure which are corrected."
    )


def not_kept(
    model, t: float, x: np.ndarray, data: np.ndarray, cancels: float = CANCELS, within: float = np.inf
) -> tuple[str, float] | None:
    """Return the label and the rate of the invariant that changes most along the motion from here, if one does.

    Some are invariants where they have their value only, and change a little beside it: at a computed state more is let
    pass (`cancels`), and states that miss a value by more than `within` prove nothing.
    """
    n = model.nq + model.nv
    if not np.max(np.abs(_values(model, t, x[:n], data))) <= within:
        return None
    slope = model.evaluate(Fn.FIELD, t, x[:n], np.zeros(0), data)[:n]
    if not np.all(np.isfinite(slope)):
        return None
    h = DIFFERENCE * (1.0 + np.max(np.abs(x[:n]))) / (1.0 + np.max(np.abs(slope)))
    rate = _rate(model, t, x[:n], data, 1.0, slope, h)
    if not np.max(np.abs(rate)) > SUSPECT:
        return None
    parts = np.abs(_rate(model, t, x[:n], data, 1.0, np.zeros(n), h))
    for i in np.flatnonzero(slope):
        parts += np.abs(_rate(model, t, x[:n], data, 0.0, np.where(np.arange(n) == i, slope, 0.0), h))
    beside = np.abs(rate) / np.maximum(parts, 1e-300)
    worst = int(np.argmax(beside))
    if not (np.abs(rate[worst]) > SUSPECT and beside[worst] > cancels):
        return None
    return model.invariant_labels[worst], float(rate[worst])


def _values(model, t, x, data) -> np.ndarray:
    r = model.evaluate(Fn.RESIDUAL, t, x, np.zeros(0), data)
    return r[model.n_constraints : model.n_constraints + model.n_invariants]


def _rate(model, t, x, data, dt: float, dx, h: float) -> np.ndarray:
    """Return the derivatives of the invariants in the direction (dt, dx)."""
    ends = [_values(model, t + side * h * dt, x + side * h * dx, data) for side in (-1, 1)]
    return (ends[1] - ends[0]) / (2 * h)
