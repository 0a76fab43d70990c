"""Indicators: what a state says about the methods that suit it, in rates (1/s) and ratios.

With J the Jacobian of (q, v)' = field on the tangent of the constraints, C = G (∂g/∂x of a Dae), B = M⁻¹Gᵀ (B of a
Dae), ' along the motion, and h the step that accuracy alone would allow:

    damped        h max(-Re λ(J)): a large one is stiffness, the fast motion decays
    oscillating   h max|Im λ(J)|: a large one is a vibration that the step does not resolve
    explicit      h ‖F C'‖, F = B (C B)⁻¹: what direct index-2 forms treat as an explicit method does
    projected     h ‖Cᵀ(C Cᵀ)⁻¹C'‖: the same part where corrections go along Cᵀ
    turning       h ‖C'‖, rows of C of length 1: how fast the constraints change their direction

These are the quantities that [ascher-petzold-1993] Sec. 3 to 5 decide by. Derivatives of the exact field are taken by
central differences, good to about 1e-9 of their size.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from ..kernels.signatures import Fn
from ..loop.automatic_looks import turned_in_a_step
from ..loop.fastest_rate import ALONG, RESTS, motion, turning_by_time
from ..loop.varying import UNSURE, YES, constraints_alter
from ..model.dae import Dae
from ..model.massless_coordinates import held_mass
from ..model.model_base import Variant
from ..starting.rank import rank_by_rows, terms
from .large_indicators import fastest, of_constraints

DIFFERENCE = 1e-5  # of central differences, beside 1 + |x|
SHORT = 1e-3  # of the accurate step: differences along the motion
BRIEF = 1e-6  # of it: differences in time alone
STILL = 1e-7  # change of a unit vector that differences can tell from none
TANGENT = 1e-6  # singular values of constraint gradients below this share of the largest count as zero
NOTHING = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Rates of one state in 1/s, and how constraints and masses lie to each other; None where it does not apply."""

    t: float
    step: float  # s: what accuracy alone would allow
    eigenvalues: np.ndarray  # of the field on the tangent of the constraints, 1/s
    rows: int
    rank: int
    freedom: int  # degrees of freedom: velocities that the constraints leave free
    margin: float | None = None  # smallest singular value of G with rows of length 1
    singular_in: float | None = None  # s until it vanishes at its present rate; inf where it does not shrink
    explicit: float | None = None
    projected: float | None = None
    turning: float | None = None
    angle: float | None = None  # degrees, between the spaces of M⁻¹Gᵀ and Gᵀ
    masses: float | None = None  # largest over smallest eigenvalue of M
    condition: float | None = None  # of [M Gᵀ; G 0], scaled to unit diagonal and rows
    at_rest: bool = False  # nothing moves yet: rates along the motion are those of the speed one accurate step later

    @property
    def damped(self) -> float:
        """Fastest decay, 1/s."""
        return float(np.max(-self.eigenvalues.real, initial=0.0))

    @property
    def oscillating(self) -> float:
        """Fastest vibration, rad/s."""
        return float(np.max(np.abs(self.eigenvalues.imag), initial=0.0))

    @property
    def growing(self) -> float:
        """Fastest growth, 1/s."""
        return float(np.max(self.eigenvalues.real, initial=0.0))

    @cached_property
    def fastest(self) -> complex:
        """The largest eigenvalue by size, 1/s."""
        if not len(self.eigenvalues):
            return 0j
        return complex(self.eigenvalues[np.argmax(np.abs(self.eigenvalues))])

    def times(self, name: str) -> float:
        """Return a rate times the accurate step; 0 where it does not apply."""
        return float((getattr(self, name) or 0.0) * self.step)

    def as_dict(self) -> dict:
        """Return all numbers, eigenvalues as pairs of real and imaginary part."""
        found = asdict(self)
        found["eigenvalues"] = [[float(z.real), float(z.imag)] for z in self.eigenvalues]
        return found | {name: getattr(self, name) for name in ("damped", "oscillating", "growing")}


def indicators_at(model, t: float, x, data, rows=None, *, rtol: float = 1e-6, longest: float = np.inf, direction: float = 1.0):
    """Return the indicators of one state.

    Parameters
    ----------
    model : Model
        Of a System, an Ode or a Dae.
    t, x, data
        Time in s, (q, v), and the model's data there.
    rows : tuple of int, optional
        Independent rows, where some are redundant.
    rtol, longest : float
        Relative tolerance that the accurate step is meant for; its upper bound, s.
    direction : float
        -1 for a run backward in time, where what decays grows.
    """
    variant = Variant(rows=rows)
    size = model.nq + model.nv
    x, data = np.array(x[:size], dtype=float), data[: len(model.data())]

    def field(t, x):
        with np.errstate(all="ignore"):
            return direction * model.evaluate(Fn.FIELD, t, x, NOTHING, data, variant)[:size]

    f = field(t, x)
    apart = min(1e-3, ALONG * (1.0 + largest(x)) / (1e-300 + largest(f)))
    ahead = field(t + direction * apart, x + apart * f)
    step = min(accurate_step(motion(np.array([f, ahead]), apart, x, model.nq, model.nv), rtol), longest)
    step = step if np.isfinite(step) else 1.0  # at rest, and no interval known
    if not model.dense and not model.has_terms:
        return _of_large(model, t, x, f, data, rows, step, field)
    T = _tangent(model, t, x, data)
    if model.dense:
        J = _jacobian(lambda at: field(t, at), x) @ T
    else:  # with rows that repeat others tables know accelerations on the constraints alone
        J = _jacobian(lambda way: field(t, x + T @ way), np.zeros(T.shape[1])).reshape(-1, T.shape[1])
    eigenvalues = np.linalg.eigvals(T.T @ J) if np.all(np.isfinite(J)) and T.shape[1] else np.zeros(0, complex)
    order = np.argsort(-np.abs(eigenvalues))
    common = {"t": float(t), "step": step, "eigenvalues": eigenvalues[order]}
    if isinstance(model.system, Dae):
        each = model.n_constraints // model.order
        found = {"rows": each, "rank": each, "freedom": model.nq // model.order - each}
        return Indicators(**common, **found, **_of_dae(model, t, x, data, step))
    if model.is_ode:
        return Indicators(**common, rows=0, rank=0, freedom=model.nq)
    f, rests = _at_speed(model, t, x, f, step, field)
    return Indicators(**common, **_of_system(model, t, x, f, data, rows, step), at_rest=rests)


def _at_speed(model, t: float, x, f, step: float, field) -> tuple[np.ndarray, bool]:
    """The motion, at rest that of one step later, and whether it rests: G turns with the speed, so that nothing could be seen."""
    rests = largest(f[: model.nq]) < RESTS * step * largest(f[model.nq :])
    if rests:
        f = np.concatenate([field(t, np.concatenate([x[: model.nq], step * f[model.nq :]]))[: model.nq], f[model.nq :]])
    return f, rests


def _of_large(model, t: float, x, f, data, rows, step: float, field) -> Indicators:
    """The same of a large mechanism, with its fastest eigenvalues alone."""
    values = fastest(model, t, x, data, rows, field)
    f, rests = _at_speed(model, t, x, f, step, field)
    return Indicators(float(t), step, values, **of_constraints(model, t, x, f, data, rows, SHORT * step), at_rest=rests)


def accurate_step(motion: float, rtol: float) -> float:
    """Return the step that a method of order 8 could take for the accuracy of a motion of this rate (1/s); s."""
    return turned_in_a_step(rtol) / motion if 0.0 < motion < np.inf else np.inf


def largest(values) -> float:
    """Return the largest |entry|, 0 of nothing."""
    return float(np.abs(values).max(initial=0.0))


def _jacobian(function, x) -> np.ndarray:
    columns = []
    for i in range(len(x)):
        move = np.zeros(len(x))
        move[i] = DIFFERENCE * (1.0 + abs(x[i]))
        columns.append((function(x + move) - function(x - move)) / (2 * move[i]))
    return np.array(columns).T


def _gradients(model, t, x, data) -> np.ndarray:
    """Rows of all constraints, differentiated by the state; each of length 1."""
    n = model.n_constraints

    def residual(at):
        r = model.evaluate(Fn.RESIDUAL, t, at, NOTHING, data)
        return np.concatenate([r[:n], r[n + model.n_invariants :]])

    return _unit(_jacobian(residual, x))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]


def _tangent(model, t, x, data) -> np.ndarray:
    """Orthonormal directions in which a state may move without leaving the constraints, as columns."""
    if not (model.n_constraints or model.n_lam) or len(model.extras):
        return np.eye(len(x))
    R = _gradients(model, t, x, data)
    if not np.all(np.isfinite(R)):
        return np.eye(len(x))
    _, sizes, turned = np.linalg.svd(R)
    return turned[int(np.sum(sizes > TANGENT * sizes[0])) :].T


def moving(model, data) -> bool:
    """Whether constraints change their direction with time where nothing else moves; looked at once for the same parameters.

    A member of a sweep may turn them where the system as it stands does not. How fast they turn in a run, `rate_by_time`
    tells.
    """
    if not (isinstance(model.system, Dae) or (model.n_constraints and not model.is_ode)):
        return False
    parameters = data[: model.data_places["inputs"].start]
    looked, key = model.moving, parameters.tobytes()
    if key not in looked:
        looked[key] = _moves(model, parameters)
    return looked[key]


def _moves(model, parameters) -> bool:
    q, v, t = model.start[:3]
    x, data = np.concatenate([q, v]), model.data()
    data[: len(parameters)] = parameters
    rows = [_gradients(model, t + later, x, data)[: model.n_constraints] for later in (0.0, 0.01, 0.37)]
    gaps = [largest(other[:, : model.nq] - rows[0][:, : model.nq]) for other in rows[1:]]
    return bool(np.all(np.isfinite(gaps)) and max(gaps) > STILL)


def rate_by_time(model, t: float, x, data, step: float) -> float:
    """How fast the directions of constraints change with time alone, 1/s; `step` is the step that accuracy allows, s."""
    n, nq, size = model.n_constraints, model.nq, model.nq + model.nv
    fns, lengths = model.table((Fn.RESIDUAL,))
    x, y, now, moved = np.array(x[:size]), np.empty(size), np.empty(lengths[Fn.RESIDUAL]), np.empty(lengths[Fn.RESIDUAL])
    rate = turning_by_time(fns, t, BRIEF * step, x, y, data, n, nq, now, moved, np.empty((2, n, nq)))
    return rate if np.isfinite(rate) else 0.0


def _of_system(model, t, x, f, data, rows, step) -> dict:
    nq = model.nq
    M, _, G, _ = terms(model, t, x[:nq], x[nq:], data)
    kept = slice(None) if rows is None else list(rows)
    sizes = np.abs(np.linalg.eigvalsh(M))
    found = {"masses": float(sizes[-1] / max(sizes[0], 1e-300)), "rows": len(G), "rank": 0, "freedom": model.nv}
    if not len(G):
        return found
    found["rank"] = rank_by_rows(G)[0]
    found["freedom"] = model.nv - found["rank"]

    def frame(s):
        at = x + s * f
        M, _, G, _ = terms(model, t + s, at[:nq], at[nq:], data)
        return M, G[kept]

    s = SHORT * step
    (_, C0), (_, C), (_, C1) = frame(-s), frame(0.0), frame(s)
    found |= _frame(C0, C, C1, _solved(M, C), s)
    found["condition"] = _condition(M, C)
    return found


def constraints_vary(model, t: float, x, slope, data, rows, step: float) -> bool:
    """Whether the change of the constraints' direction matters to a step as long as accuracy allows: `varies` alone.

    All indicators take the Jacobian of the field by differences and its eigenvalues: 1.4 ms with 9 coordinates, 3.4 with 30.
    This takes the constraints at three places along `slope`, the motion, from compiled code: 0.01 ms.
    """
    nq, nv, size, s = model.nq, model.nv, model.nq + model.nv, SHORT * step
    rooms = model.rooms.setdefault(rows, [])
    try:
        room = rooms.pop()
    except IndexError:
        room = _room_to_vary(model, rows)
    fns, kept, found, spare, y = room
    answer = constraints_alter(fns, t, s, x[:size], slope[:size], data, kept, (nq, nv), 2 * SHORT, found, spare, y)
    rooms.append(room)
    return _vary(model, t, x[:size], slope[:size], data, kept, s) if answer == UNSURE else answer == YES


def _room_to_vary(model, rows) -> tuple:
    """Return what compiled code is given to tell whether constraints vary."""
    nv, (fns, lengths) = model.nv, model.table((Fn.TERMS,))
    kept = np.arange(model.n_lam) if rows is None else np.array(rows, dtype=np.int64)
    n = len(kept)
    spare = (np.empty((nv, nv)), np.empty((n, n)), np.empty((n, nv)), np.empty((nv, n)), np.empty(max(n, nv), dtype=np.int64))
    return fns, kept, np.empty((3, lengths[Fn.TERMS])), spare, np.empty(model.nq + nv)


def _vary(model, t: float, x, slope, data, kept, s: float) -> bool:
    """The same with singular values, and where masses vanish."""
    nq = model.nq

    def frame(s):
        at = x + s * slope
        M, _, G, _ = terms(model, t + s, at[:nq], at[nq:], data)
        return M, G[kept]

    (_, C0), (M, C), (_, C1) = frame(-s), frame(0.0), frame(s)
    with np.errstate(all="ignore"):
        if _above(_unit(C1) - _unit(C0), 2 * SHORT):
            return True
        try:
            B = np.linalg.solve(M if np.all(np.diag(M) > 0.0) else held_mass(M, C), C.T)
            return _above(B @ np.linalg.solve(C @ B, C1 - C0), 2 * SHORT)
        except np.linalg.LinAlgError:  # a singular position, or masses that vanish in some other direction
            return False


def _above(A: np.ndarray, limit: float) -> bool:
    """Whether ‖A‖, the largest singular value, is above a limit: mostly the sum of squares tells. False where A is not finite."""
    total = np.sum(A * A)
    if not limit * limit < total < np.inf:
        return False
    return bool(total > limit * limit * min(A.shape) or np.linalg.norm(A, 2) > limit)


def _of_dae(model, t, z, data, step) -> dict:
    from .essential import of_dae

    try:
        frame = of_dae(model, t, z, data).frame
        s = SHORT * step
        C0, C, C1 = (frame(side * s)[0] for side in (-1, 0, 1))
        return _frame(C0, C, C1, frame(0.0)[1], s)
    except (ValueError, np.linalg.LinAlgError):  # order 3 or inputs: no such rates
        return {}


def _solved(M, C) -> np.ndarray | None:
    try:
        return np.linalg.solve(held_mass(M, C), C.T)
    except np.linalg.LinAlgError:  # a singular position
        return None


def _frame(C0, C, C1, B, s) -> dict:
    """What the constraint's Jacobian at three times, and B, say."""
    with np.errstate(all="ignore"):
        unit = [_unit(part) for part in (C0, C, C1)]
        rate = (C1 - C0) / (2 * s)
        smallest = [np.linalg.svd(part, compute_uv=False)[-1] for part in unit]
        shrinking = (smallest[0] - smallest[2]) / (2 * s)
        found = {
            "margin": float(smallest[1]),
            "singular_in": float(smallest[1] / shrinking) if shrinking > 1e-9 * smallest[1] / s else np.inf,
            "turning": float(np.linalg.norm((unit[2] - unit[0]) / (2 * s), 2)),
            "projected": float(np.linalg.norm(np.linalg.pinv(C) @ rate, 2)),
        }
        if B is None:
            return found
        try:
            found["explicit"] = float(np.linalg.norm(B @ np.linalg.solve(C @ B, rate), 2))
        except np.linalg.LinAlgError:
            return found
        # rows of the same length first: the angle is one between spaces, but rounding is not
        Q1, Q2 = (np.linalg.qr(A / np.maximum(np.linalg.norm(A, axis=0), 1e-300))[0] for A in (B, C.T))
        cosine = np.linalg.svd(Q1.T @ Q2, compute_uv=False)[-1]
        found["angle"] = float(np.degrees(np.arccos(np.clip(cosine, 0.0, 1.0))))
    return found


def _condition(M, C) -> float | None:
    """Condition of the saddle-point matrix, scaled as it is when it is solved."""
    diagonal = np.diag(M)
    by = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    A, G = M * np.outer(by, by), C * by
    G = G / np.maximum(np.max(np.abs(G), axis=1), 1e-300)[:, None]
    K = np.block([[A, G.T], [G, np.zeros((len(G), len(G)))]])
    return float(np.linalg.cond(K)) if np.all(np.isfinite(K)) else None


__all__ = ["Indicators", "accurate_step", "constraints_vary", "indicators_at", "largest", "moving", "rate_by_time"]
