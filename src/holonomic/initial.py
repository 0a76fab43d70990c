"""Check or make consistent initial values; find redundant rows.

Position level by Gauss-Newton, velocity level by one linear least-squares step, both over the coordinates
that are not held. Redundant rows are found by pivoted QR of Gᵀ at the start and at perturbed positions
on the constraints: rank low at all of them is redundancy, rank low at the start alone a singular position.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from .errors import (
    BadArgument,
    InconsistentState,
    NotFinite,
    RedundancyWarning,
    RedundantConstraints,
    SingularPosition,
    WrongShape,
)
from .kernels.consistent import distances
from .kernels.signatures import Fn
from .model.dae import Dae, consistent, state_values
from .model.arguments import call, param_names

RANK_TOLERANCE = 1e-9
RHO_FULL_RANK = 1e-10  # pivot ratio of G Gᵀ, about the square of the smallest angle between rows
GAUSS_NEWTON_STEPS = 30
MAPPED_TOLERANCE = 1e-8  # how far off the constraints an event may put the position


@dataclass(frozen=True)
class Start:
    """Consistent initial values, and what it took to get them."""

    q: np.ndarray
    v: np.ndarray
    moved_q: float = 0.0
    moved_v: float = 0.0
    rows: tuple[int, ...] | None = None  # independent rows, where some are redundant
    not_unique: tuple[str, ...] = ()  # labels whose reactions are not unique
    redundant: str | None = None  # "minimum-norm" or "drop", where rows are redundant


def residuals(model, t, q, v, data) -> tuple[np.ndarray, np.ndarray]:
    """Position rows and velocity rows at one state."""
    r = model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, v]), np.zeros(0), data)
    n = model.n_constraints + model.n_invariants
    return r[:n], r[n:]


def terms(model, t, q, v, data) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """M, f, G, γ as arrays."""
    flat = model.evaluate(Fn.TERMS, t, np.concatenate([q, v]), np.zeros(0), data)
    nq, nv, nl = model.nq, model.nv, model.n_lam
    at = nq
    M = flat[at : at + nv * nv].reshape(nv, nv)
    at += nv * nv
    f = flat[at : at + nv]
    at += nv
    G = flat[at : at + nl * nv].reshape(nl, nv)
    return M, f, G, flat[at + nl * nv :]


def position_jacobian(model, t, q, data) -> np.ndarray:
    """∂g/∂q with nq columns, at the constraints alone."""
    if model.shared or (not model.is_ode and model.system.kinematics is None):
        G = terms(model, t, q, np.zeros(model.nv), data)[2]
        return G[: model.n_constraints]
    step = 1e-7
    columns = []
    for i in range(model.nq):
        ahead, behind = q.copy(), q.copy()
        ahead[i] += step * (1 + abs(q[i]))
        behind[i] -= step * (1 + abs(q[i]))
        zero = np.zeros(model.nv)
        difference = residuals(model, t, ahead, zero, data)[0] - residuals(model, t, behind, zero, data)[0]
        columns.append(difference[: model.n_constraints] / (ahead[i] - behind[i]))
    return np.array(columns).T


def prepare(model, t, q, v, data, *, tol: float, initial: str, hold, redundant: str | None) -> Start:
    """Return consistent initial values or say why not."""
    if initial not in ("check", "project", "free"):
        raise BadArgument(f'initial={initial!r}: choose "check", "project" or "free".')
    held = _held(model, hold)
    if hold is not None and initial != "project":
        raise BadArgument('hold= goes with initial="project".')
    if initial == "free":
        return Start(q, v)
    if isinstance(model.system, Dae):
        if hold is not None:
            raise BadArgument("hold= is for a System; a Dae is moved along the shortest way.")
        return Start(consistent(model, t, q, data, tol, initial), v)
    if model.is_ode or model.n_lam == 0:
        return Start(q, v)
    if initial == "check" and _plainly_consistent(model, t, q, v, data, max(tol, 1e-10)):
        return Start(q, v)
    rows, not_unique = _independent_rows(model, t, q, v, data, redundant)
    redundant = None if rows is None else redundant
    n = model.n_constraints
    scale_q = max(1.0, float(np.linalg.norm(q)))
    if initial == "project":
        q1 = _project_position(model, t, q, data, held, tol * scale_q)
        v1 = _project_velocity(model, t, q1, v, data, held)
        return Start(q1, v1, float(np.linalg.norm(q1 - q)), float(np.linalg.norm(v1 - v)), rows, not_unique, redundant)
    g, gv = residuals(model, t, q, v, data)
    g = g[:n]
    if np.any(np.abs(g) > 0.0) or np.any(np.abs(gv) > 0.0):
        G = terms(model, t, q, v, data)[2]
        norms = np.linalg.norm(G, axis=1)
        if n:
            distance = np.abs(g) / np.maximum(norms[:n], 1e-300) / scale_q
            worst = int(np.argmax(distance))
            if not distance[worst] <= max(tol, 1e-10):
                _refuse_position(model, t, q, data, held, worst, g, distance, tol)
        scale_v = max(float(np.linalg.norm(v)), 1.0)
        speed = np.abs(gv) / np.maximum(norms, 1e-300) / scale_v
        worst = int(np.argmax(speed))
        if not speed[worst] <= max(tol, 1e-10):
            moved = np.linalg.norm(_project_velocity(model, t, q, v, data, held) - v)
            raise InconsistentState(
                f"v0 misses the velocity level of constraint {model.row_labels[worst]!r} by {abs(gv[worst]):.1e} "
                f'(allowed {tol:.1e}). Correct v0, or pass initial="project" to move v0 by about {moved:.1e}.'
            )
    return Start(q, v, rows=rows, not_unique=not_unique, redundant=redundant)


def after_event(model, event, name: str, t: float, x: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Apply an event's `then`: the position is checked, the velocity made consistent as by an impulse.

    M (v⁺ - v) + GᵀΛ = 0,  G v⁺ + g_t = 0: the mass metric, because an impulse is -GᵀΛ.
    """
    nq = model.nq
    role = f"then of event {name!r}"
    values = {"t": t, "p": param_names(data, model.places)}
    values |= state_values(model.system, x[:nq].copy(), x[nq:].copy())
    result = call(event.then, role, tuple(values), values)
    if isinstance(model.system, Dae):  # x alone, or (x, x', ..)
        return _mapped_vector(np.concatenate([np.ravel(part) for part in result]), nq, f"{role}: (x, x', ..)", t)
    if model.is_ode:
        return _mapped_vector(result, nq, f"{role}: y", t)
    if not (isinstance(result, tuple | list) and len(result) == 2):
        raise WrongShape(f"{role} must return (q, v), got {type(result).__name__} at t = {t:.6g}.")
    q = _mapped_vector(result[0], nq, f"{role}: q", t)
    v = _mapped_vector(result[1], model.nv, f"{role}: v", t)
    if not model.n_lam:
        return np.concatenate([q, v])
    n = model.n_constraints
    before, here = (_distances(model, t, position, data) for position in (x[:nq], q))
    allowed = np.maximum(MAPPED_TOLERANCE * max(1.0, float(np.linalg.norm(q))), 2.0 * before)
    if n and np.any(~(here <= allowed)):
        worst = int(np.argmax(here / allowed))
        raise InconsistentState(
            f"{role} moves q off constraint {model.constraint_labels[worst]!r} by {here[worst]:.1e} at t = {t:.6g} "
            f"(allowed {allowed[worst]:.1e}). Return a position on the constraints."
        )
    M, _, G, _ = terms(model, t, q, v, data)
    missing = residuals(model, t, q, v, data)[1]
    # scaled to unit diagonal of M and unit rows of G, so that the rank test sees angles, not units
    diagonal = np.diag(M)
    by = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    rows = 1.0 / np.maximum(np.linalg.norm(G * by, axis=1), 1e-300)
    scaled = G * by * rows[:, None]
    saddle = np.block([[M * np.outer(by, by), scaled.T], [scaled, np.zeros((len(G), len(G)))]])
    right = np.concatenate([np.zeros(model.nv), -missing * rows])
    impulse = np.linalg.lstsq(saddle, right, rcond=1e-12)[0]
    return np.concatenate([q, v + by * impulse[: model.nv]])


def _mapped_vector(values, n: int, what: str, t: float) -> np.ndarray:
    try:
        vector = np.array(values, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise WrongShape(f"{what} must be numbers, got {values!r} at t = {t:.6g}.") from None
    if len(vector) != n:
        raise WrongShape(f"{what} has {len(vector)} entries, expected {n}, at t = {t:.6g}.")
    if not np.all(np.isfinite(vector)):
        raise NotFinite(f"{what} is {vector} at t = {t:.6g}: not finite.")
    return vector


def _distances(model, t, q, data) -> np.ndarray:
    """|g_i|/‖∂g_i/∂q‖ of the constraints."""
    g = residuals(model, t, q, np.zeros(model.nv), data)[0][: model.n_constraints]
    return np.abs(g) / np.maximum(np.linalg.norm(position_jacobian(model, t, q, data), axis=1), 1e-300)


def _plainly_consistent(model, t, q, v, data, tol) -> bool:
    """The common case in a few microseconds: full rank, and both levels within tolerance."""
    if model.interpreted:
        return False
    fns, lengths = model.table((Fn.VEL_FACTOR, Fn.RESIDUAL))
    F, r, found = np.empty(lengths[Fn.VEL_FACTOR]), np.empty(lengths[Fn.RESIDUAL]), np.empty(3)
    n_position = model.n_constraints + model.n_invariants
    x = np.concatenate([q, v])
    distances(fns, t, x, data, F, r, found, model.n_constraints, n_position, model.n_lam, model.nq, model.nv)
    return found[0] > RHO_FULL_RANK and found[1] <= tol and found[2] <= tol


def _refuse_position(model, t, q, data, held, worst, g, distance, tol) -> None:
    try:
        moved = np.linalg.norm(_project_position(model, t, q, data, held, tol) - q)
        way = f'Correct q0, or pass initial="project" to move q0 by about {moved:.1e}.'
    except InconsistentState:
        way = "Correct q0: projecting it does not converge either."
    raise InconsistentState(
        f"q0 misses constraint {model.constraint_labels[worst]!r} by {abs(g[worst]):.1e} (allowed {tol:.1e}). {way}"
    )


def _held(model, hold) -> np.ndarray:
    held = np.zeros(model.nq, dtype=bool)
    for name in [hold] if isinstance(hold, str | int) else (hold or ()):
        if isinstance(name, str):
            if name not in model.coordinates:
                raise BadArgument(f"hold={name!r} is no coordinate; known: {', '.join(model.coordinates)}.")
            held[model.coordinates.index(name)] = True
        else:
            held[name] = True
    return held


def _project_position(model, t, q, data, held, tol) -> np.ndarray:
    """Gauss-Newton: the nearest point with g = 0, held coordinates staying."""
    free = ~held
    x = q.copy()
    for _ in range(GAUSS_NEWTON_STEPS):
        g = residuals(model, t, x, np.zeros(model.nv), data)[0]
        G = position_jacobian(model, t, x, data)
        norms = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
        if np.max(np.abs(g[: len(G)]) / norms, initial=0.0) <= tol * 1e-2 + 1e-15:
            return x
        # the point of the linearized constraints nearest to the given q, not to the last iterate
        target = -g[: len(G)] + G[:, free] @ (x - q)[free]
        step = np.linalg.lstsq(G[:, free], target, rcond=1e-12)[0]
        x[free] = q[free] + step
    g = residuals(model, t, x, np.zeros(model.nv), data)[0][: model.n_constraints]
    norms = np.maximum(np.linalg.norm(position_jacobian(model, t, x, data), axis=1), 1e-300)
    distance = np.abs(g) / norms
    worst = int(np.argmax(distance))
    if distance[worst] <= tol:
        return x
    held_text = "with the held coordinates " if held.any() else ""
    raise InconsistentState(
        f"q0 cannot be moved onto the constraints {held_text}({GAUSS_NEWTON_STEPS} Gauss-Newton steps leave "
        f"{model.constraint_labels[worst]!r} at {abs(g[worst]):.1e}). Start closer, or hold fewer coordinates."
    )


def _project_velocity(model, t, q, v, data, held) -> np.ndarray:
    G = terms(model, t, q, v, data)[2]
    gv = residuals(model, t, q, v, data)[1]
    free = ~held if model.nv == model.nq else np.ones(model.nv, dtype=bool)
    new = v.copy()
    new[free] -= np.linalg.lstsq(G[:, free], gv, rcond=1e-12)[0]
    left = residuals(model, t, q, new, data)[1]
    norms = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
    if np.max(np.abs(left) / norms, initial=0.0) > 1e-9 * max(1.0, float(np.linalg.norm(v))):
        worst = int(np.argmax(np.abs(left) / norms))
        raise InconsistentState(
            f"v0 cannot meet the velocity level of {model.row_labels[worst]!r} with the held coordinates. "
            "Hold fewer coordinates."
        )
    return new


def rank_by_rows(G: np.ndarray) -> tuple[int, np.ndarray]:
    """Rank of G, and its rows in the order in which pivoted QR picks them."""
    from scipy.linalg import qr

    norms = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
    _, R, order = qr((G / norms[:, None]).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > RANK_TOLERANCE * max(diagonal[0], 1e-300))) if len(diagonal) else 0
    return rank, order


def _independent_rows(model, t, q, v, data, redundant):
    """Test the rank; return (rows to keep or None, labels that are not unique)."""
    probe = model.evaluate(Fn.VEL_FACTOR, t, np.concatenate([q, v]), np.zeros(0), data)
    norms = 1.0 / probe[1 : 1 + model.n_lam]
    vanishing = np.flatnonzero(norms < 1e-290)
    if len(vanishing):
        raise SingularPosition(
            f"constraint {model.row_labels[vanishing[0]]!r} does not depend on any coordinate at the start: its row "
            "of the Jacobian vanishes. Write it so that its gradient is not zero on the constraint, for example "
            "|d| - L instead of (|d| - L)**2."
        )
    if probe[0] > RHO_FULL_RANK:
        return None, ()
    G = terms(model, t, q, v, data)[2]
    rank, order = rank_by_rows(G)
    m = model.n_lam
    if rank == m:
        return None, ()
    random = np.random.default_rng(5)
    for spread in (1e-3, 1e-2):
        nearby = q + spread * random.uniform(-1, 1, model.nq) * (0.3 + np.abs(q))
        try:
            nearby = _project_position(model, t, nearby, data, np.zeros(model.nq, dtype=bool), 1e-10)
        except InconsistentState:
            continue
        near_rank, near_order = rank_by_rows(terms(model, t, nearby, v, data)[2])
        if near_rank > rank:
            raise SingularPosition(
                f"the start is a singular position: the constraint Jacobian has rank {rank} of {m} there, but "
                f"{near_rank} nearby. Start from another position, for example a little further along the motion."
            )
        order = near_order
    kept, dropped = sorted(order[:rank]), sorted(order[rank:])
    labels = model.row_labels
    partners = {}
    for row in dropped:
        weights = np.linalg.lstsq(G[kept].T, G[row], rcond=None)[0]
        partners[row] = labels[kept[int(np.argmax(np.abs(weights)))]]
    first = dropped[0]
    if redundant is None:
        raise RedundantConstraints(
            f"at t = {t:g} the constraint Jacobian has rank {rank} of {m}: {labels[first]!r} repeats "
            f'{partners[first]!r}. Remove one, or pass redundant="minimum-norm" (reactions of these two are then not '
            "unique)."
        )
    if redundant not in ("minimum-norm", "drop"):
        raise BadArgument(f'redundant={redundant!r}: choose "minimum-norm" or "drop".')
    involved = [labels[row] for row in dropped] + list(dict.fromkeys(partners.values()))
    warnings.warn(
        f"{m - rank} of {m} constraint rows are redundant; reactions of {', '.join(map(repr, involved))} are not "
        f"unique ({'the smallest are given' if redundant == 'minimum-norm' else 'dropped rows carry none'}).",
        RedundancyWarning,
        stacklevel=4,
    )
    return tuple(int(row) for row in kept), tuple(involved)
