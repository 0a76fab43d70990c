"""Whether the equations keep what was stated as an invariant: dh/dt = h_t + H x' along the motion.

A stabilization holds any function at its value, also one that the exact flow changes; the answer is then that of other
equations, and nothing in drift or error control tells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import BadArgument
from ..kernels.signatures import Fn

DIFFERENCE = 1e-5  # of central differences, beside the size of the state
SUSPECT = 1e-8  # of a rate, in units of the invariant per second: what is below is not looked at twice
LOOKS = 30  # states of a run at which dependent invariants are looked for
AT_THE_END, NEAR_ITS_VALUE = 1e-3, 1e-8  # at a computed state more may pass than CANCELS; states further off prove nothing
CANCELS = 1e-4  # of the parts of a rate: those of an invariant cancel to rounding and the error of differences, 1e-9


def check_invariants(model, t: float, x: np.ndarray, data: np.ndarray) -> None:
    """Refuse an invariant that the equations change; a model that passed once is not checked again."""
    if not model.n_invariants or model.invariants_are_checked:
        return
    found = not_kept(model, t, x, data)
    if found is not None:
        raise BadArgument(not_invariant(found[0], t, found[1]))
    model.invariants_are_checked = True


def not_invariant(label: str, t: float, rate: float) -> str:
    """Say that the equations change what was stated as an invariant."""
    return (
        f"invariant {label!r} is none: at the start, t = {t:g}, the equations change it by {rate:.3g} per second. Correct it or "
        "the equations, leave it out (as an entry of outputs= it is watched, not kept), or pass "
        'initial="free" if it is meant to be pulled to zero.'
    )


def was_kept(label: str, rate: float, t: float) -> str:
    """Say that an invariant was held at its value although the equations change it."""
    return (
        f"invariant {label!r} was kept, but the equations change it: by {rate:.3g} per second at t = {t:.6g}. The result is not "
        "that of the equations. Correct the invariant, or leave it out."
    )


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
    found, rates = changing(
        lambda times, states: _values(model, float(times[0]), states[0], data)[None], np.array([t]), x[None, :n], slope[None],
        cancels,
    )  # fmt: skip
    return None if found[0] < 0 else (model.invariant_labels[found[0]], float(rates[0]))


def changing(
    values: Callable[[np.ndarray, np.ndarray], np.ndarray], t: np.ndarray, X: np.ndarray, slopes: np.ndarray,
    cancels: float = CANCELS,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Of many states and their slopes: the number of the invariant that changes most (-1: none does), and its rate.

    `values(times, states)` are the invariants, a row for each state.
    """
    n = X.shape[1]
    none = np.full(len(X), -1), np.zeros(len(X))
    usable = np.isfinite(slopes).all(axis=1)
    slopes = np.where(usable[:, None], slopes, 0.0)
    h = DIFFERENCE * (1.0 + np.abs(X).max(axis=1, initial=0.0)) / (1.0 + np.abs(slopes).max(axis=1, initial=0.0))

    def rate(dt: float, dx) -> np.ndarray:
        """Derivatives of the invariants in the direction (dt, dx)."""
        ends = [values(t + side * h * dt, X + (side * h)[:, None] * dx) for side in (-1.0, 1.0)]
        return (ends[1] - ends[0]) / (2.0 * h)[:, None]

    along = rate(1.0, slopes)
    if not np.any(np.abs(along[usable]) > SUSPECT):
        return none
    parts = np.abs(rate(1.0, np.zeros_like(X)))
    for i in np.flatnonzero(slopes.any(axis=0)):
        parts += np.abs(rate(0.0, np.where(np.arange(n) == i, slopes, 0.0)))
    beside = np.abs(along) / np.maximum(parts, 1e-300)
    worst = np.argmax(beside, axis=1)
    here = np.arange(len(X))
    bad = usable & (np.abs(along[here, worst]) > SUSPECT) & (beside[here, worst] > cancels)
    return np.where(bad, worst, -1), along[here, worst]


def _values(model, t, x, data) -> np.ndarray:
    r = model.evaluate(Fn.RESIDUAL, t, x, np.zeros(0), data)
    return r[model.n_constraints : model.n_constraints + model.n_invariants]
