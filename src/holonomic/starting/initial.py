"""Check or make consistent initial values.

Position level by Gauss-Newton, velocity level by one linear least-squares step, both over the coordinates
that are not held. What the rank of the constraints says about a start stands in `rank`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import BadArgument, InconsistentState, NotFinite, SingularPosition
from ..kernels.consistent import distances
from ..kernels.signatures import Fn
from ..model.blas_threads import one_thread
from ..model.dae import Dae, consistent
from ..model.given_numbers import axes
from . import by_operators
from .impulse import OFF, Impact, impulse
from .rank import RHO_FULL_RANK, check_redundant, independent_rows, rank_by_rows, refuse_massless, refuse_vanishing, terms

GAUSS_NEWTON_STEPS = NEWTON_STEPS = 30
DAMPING = (1.0, 0.5, 0.25, 0.1, 0.02)  # shares of a Newton step that are tried, until the equations get smaller
SETTLED = 1e-9  # last Newton step, beside 1 + |w|: the next would be its square
LEAST_SINGULAR_VALUE = 1e-12  # of ∂k/∂w with rows of size 1: below, w is not determined
LEAST_TOLERANCE = 1e-10  # initial values typed by hand need not be better than this
INITIAL = ("check", "project", "impact", "free")  # what can be done about initial values
__all__ = ["Start", "position_jacobian", "prepare", "rank_by_rows", "residuals", "terms"]


class Start(NamedTuple):
    """Consistent initial values, and what it took to get them."""

    q: np.ndarray
    v: np.ndarray
    moved_q: float = 0.0
    moved_v: float = 0.0
    rows: tuple[int, ...] | None = None  # independent rows, where some are redundant
    not_unique: tuple[str, ...] = ()  # labels whose reactions are not unique
    redundant: str | None = None  # "minimum-norm" or "drop", where rows are redundant
    moved_w: float = 0.0  # how far off the guess of the algebraic variables was
    impact: Impact | None = None  # what initial="impact" gave
    root: str = ""  # which solution for y of a Dae is taken, where there may be several


def residuals(model, t, q, v, data) -> tuple[np.ndarray, np.ndarray]:
    """Position rows and velocity rows at one state."""
    r = model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, v]), np.zeros(0), data)
    n = model.n_constraints + model.n_invariants
    return r[:n], r[n:]


def side_of(t: float, forward: float) -> float:
    """The next time on the side to which a run goes: a law of time that begins at t has the rate there with which it begins."""
    return float(np.nextafter(t, forward * np.inf))


def position_jacobian(model, t, q, data, invariants: bool = False) -> np.ndarray:
    """∂g/∂q with nq columns; with the invariants below, if asked for."""
    n = model.n_constraints + (model.n_invariants if invariants else 0)
    if model.system.kinematics is None and n == model.n_constraints:
        J = terms(model, t, q, np.zeros(model.nv), data)[2][:n]
        return np.hstack([J, np.zeros((n, len(model.extras)))]) if len(model.extras) else J
    step = 1e-6 * (1.0 + np.abs(q)) * (np.arange(model.nq) < model.nc)
    columns = []
    for i in range(model.nq):
        if i >= model.nc:
            columns.append(np.zeros(n))
            continue
        move = np.where(np.arange(model.nq) == i, step, 0.0)
        ends = [residuals(model, t, q + side * move, np.zeros(model.nv), data)[0][:n] for side in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step[i]))
    return np.array(columns).T


def check_initial(model, initial: str, hold, redundant: str | None) -> np.ndarray:
    """Check initial= and hold=; return which coordinates are held."""
    if not isinstance(initial, str) or initial not in INITIAL:
        raise BadArgument(f'initial={initial!r}: choose "check", "project", "impact" or "free".')
    if redundant is not None:
        check_redundant(redundant)
    if initial == "impact" and model.is_ode:
        what = "a Dae" if isinstance(model.system, Dae) else "an Ode"
        raise BadArgument(f'initial="impact" is for a System or a Mechanism: {what} has no mass that an impulse could move.')
    if hold is None:
        return np.zeros(model.nq, dtype=bool)
    if initial != "project":
        raise BadArgument('hold= goes with initial="project".')
    if isinstance(model.system, Dae):
        raise BadArgument("hold= is for a System; a Dae is moved along the shortest way.")
    return _held_coordinates(model, hold)


def prepare(model, t, q, v, data, *, tol: float, initial: str, hold, redundant: str | None, forward: float = 1.0) -> Start:
    """Return consistent initial values, of the side to which the run goes, or raise with the reason why there are none."""
    side = side_of(t, forward)
    held = check_initial(model, initial, hold, redundant)
    guess, moved_w = q, 0.0
    if model.nw:
        q = with_w_solved(model, t, q, v, data)
        moved_w = float(np.linalg.norm((q - guess)[model.nq - model.nw :]))
    if initial == "free":
        return Start(q, v, moved_w=moved_w)
    if isinstance(model.system, Dae):
        return Start(consistent(model, t, q, data, tol, initial), v)
    if model.is_ode:
        return Start(q, v)
    if not model.dense:
        with one_thread(max(model.nq, model.n_lam)):
            return _by_operators(model, t, side, q, v, data, tol, initial, held, redundant)
    examined = model.examined(data)
    if model.n_lam and examined and initial == "check" and _plainly_consistent(model, side, q, v, data, tol):
        return Start(q, v, moved_w=moved_w)
    with one_thread(max(model.nq, model.n_lam)):
        start = _prepared(model, t, side, q, v, data, tol, initial, held, redundant, examined)
    if model.nw:
        q = with_w_solved(model, t, start.q, start.v, data)
        start = start._replace(q=q, moved_w=float(np.linalg.norm((q - guess)[model.nq - model.nw :])))
    if not examined:  # true of the system, so looked at once
        refuse_massless(model, t, start.q, start.v, data)
        model.note_examined(data)
    return start


def _by_operators(model, t, side, q, v, data, tol, initial, held, redundant) -> Start:
    """The same by the operators of a model; matrices are looked at where these know no metric but their own."""
    free, tol, impact, measured = v, max(tol, LEAST_TOLERANCE), None, model.system.takes_metrics
    lacking = {
        "hold= needs the Jacobian of the constraints": held.any() and not (model.has_terms or measured),
        'initial="impact" needs the mass matrix': initial == "impact" and not model.has_impulses,
    }
    for what in (what for what, is_so in lacking.items() if is_so):
        way = "Leave it out." if held.any() else 'Use initial="project".'
        raise BadArgument(f"{what}, which {model.name} does not offer{model.system.without_terms}. {way}")
    if initial == "impact" and measured:
        by_operators.check_closed(model, t, q, v, data, OFF)
    elif initial == "impact":
        _check_position(model, t, q, v, data, OFF)
    q1, v1 = by_operators.consistent(model, t, side, q, v, data, tol, "project" if initial == "impact" else initial, redundant)
    if held.any() or (initial == "project" and (_moved(q1, q, tol) or _moved(v1, v, tol))):  # as of code
        most = tol * max(1.0, float(np.linalg.norm(q[: model.nc])))
        if measured:
            q1, v1 = by_operators.nearest(model, t, side, q, v, data, held, most)
        elif model.has_terms:
            q1 = _project_position(model, t, q, data, held, most)
            v1 = _project_velocity(model, side, q1, v, data, held)
    if initial == "impact":
        v1, impact = v, Impact(q1, np.zeros((0, model.nv)))
        if model.n_lam:
            v1, impact = impulse(model, t, q1, v, residuals(model, side, q1, v, data)[1], data)
    known = model.redundancy_of(data)
    shared = {} if known is None else {"not_unique": known[1], "redundant": "minimum-norm"}
    return Start(q1, v1, float(np.linalg.norm(q1 - q)), float(np.linalg.norm(v1 - free)), impact=impact, **shared)


def with_w_solved(model, t, q, v, data) -> np.ndarray:
    """Return (q, s, w) with w solved from its equations by damped Newton steps, or say why it cannot be.

    Raises
    ------
    SingularPosition, InconsistentState, NotFinite
    """
    nw, x = model.nw, np.concatenate([q, v])
    where, labels = slice(model.nq - nw, model.nq), model.extras.algebraic_labels
    k, K = _algebraic(model, t, x, data)
    if not (np.all(np.isfinite(k)) and np.all(np.isfinite(K))):
        culprit = model.blame(t, x, data) or "an algebraic equation or its derivative"
        raise NotFinite(f"{culprit} is not finite at t = {t:.6g} with w = {x[where]}. Give another w0.")
    for _ in range(NEWTON_STEPS):
        sizes = np.maximum(np.max(np.abs(K), axis=1), 1e-300)  # rows to the size of 1: equations have units
        least = np.linalg.svd(K / sizes[:, None], compute_uv=False)[-1]
        if least < LEAST_SINGULAR_VALUE:
            raise SingularPosition(
                f"the algebraic equations do not determine {', '.join(map(repr, labels))} at t = {t:.6g}: ∂k/∂w is "
                f"singular (smallest singular value of its scaled rows {least:.1e}). Give another w0, or other equations."
            )
        move = np.linalg.solve(K, k)
        if np.max(np.abs(move) / (1.0 + np.abs(x[where]))) <= SETTLED:
            x[where] -= move
            return x[: model.nq]
        for share in DAMPING:
            tried = x.copy()
            tried[where] -= share * move
            k_new, K_new = _algebraic(model, t, tried, data)
            shrinks = np.linalg.norm(k_new / sizes) <= (1.0 - 0.25 * share) * np.linalg.norm(k / sizes)
            if np.all(np.isfinite(K_new)) and shrinks:
                break
        else:
            break
        x, k, K = tried, k_new, K_new
    worst = int(np.argmax(np.abs(k)))
    raise InconsistentState(
        f"the algebraic equations cannot be solved from w0 at t = {t:.6g}: Newton's method leaves {labels[worst]!r} at "
        f"{abs(k[worst]):.1e}. Give a w0 closer to the solution."
    )


def _algebraic(model, t, x, data) -> tuple[np.ndarray, np.ndarray]:
    """k and ∂k/∂w."""
    flat = model.evaluate(Fn.ALGEBRAIC, t, x, np.zeros(0), data)
    return flat[: model.nw], flat[model.nw :].reshape(model.nw, model.nw)


def _prepared(model, t, side, q, v, data, tol, initial, held, redundant, examined) -> Start:
    if not model.n_lam:
        return Start(q, v, impact=Impact(q, np.zeros((0, model.nv))) if initial == "impact" else None)
    if not all(np.all(np.isfinite(part)) for part in residuals(model, t, q, v, data)):
        culprit = model.blame(t, np.concatenate([q, v]), data) or "a constraint"
        raise NotFinite(f"{culprit} is not finite at the start, t = {t:g}, q = {np.array2string(q, threshold=8)}.")
    q1, v1, impact = q, v, None
    if initial == "project":
        q1 = _project_position(model, t, q, data, held, tol * max(1.0, float(np.linalg.norm(q[: model.nc]))))
        v1 = _project_velocity(model, side, q1, v, data, held)
    elif initial == "impact":
        _check_position(model, t, q, v, data, OFF)
        q1 = _project_position(model, t, q, data, held, tol * max(1.0, float(np.linalg.norm(q[: model.nc]))))
        v1, impact = impulse(model, t, q1, v, residuals(model, side, q1, v, data)[1], data)
    else:
        _check_position(model, t, q, v, data, max(tol, LEAST_TOLERANCE))
        _check_velocity(model, side, q, v, data, max(tol, LEAST_TOLERANCE))
    if not examined:
        refuse_vanishing(model, t, q1, v1, data)

    def project(near, held=None, at=t, tol=1e-13):
        return _project_position(model, at, near, data, np.arange(model.nq) == (-1 if held is None else held), tol)

    rows, not_unique = independent_rows(model, t, q1, v1, data, redundant, project)
    if impact is not None and rows is not None and redundant == "drop":
        v1, impact = impulse(model, t, q1, v, residuals(model, side, q1, v, data)[1], data, rows)
    moved = (float(np.linalg.norm(new - old)) for new, old in ((q1, q), (v1, v)))
    return Start(q1, v1, *moved, rows, not_unique, None if rows is None else redundant, impact=impact)


def _row_norms(model, t, q, v, data) -> np.ndarray:
    """‖G_i‖ of every row; 1 where it vanishes."""
    norms = np.linalg.norm(terms(model, t, q, v, data)[2], axis=1)
    norms[norms == 0.0] = 1.0
    return norms


def _check_position(model, t, q, v, data, allowed: float) -> None:
    """Refuse a position off its constraints; an impact does not move it, either."""
    n = model.n_constraints
    far = np.abs(residuals(model, t, q, v, data)[0][:n]) / _row_norms(model, t, q, v, data)[:n]
    most = allowed * max(1.0, float(np.linalg.norm(q[: model.nc])))
    if n and not np.max(far) <= most:
        worst = int(np.argmax(far))
        try:
            moved = np.linalg.norm(_project_position(model, t, q, data, np.zeros(model.nq, dtype=bool), most) - q)
            way = f'Correct q0, or pass initial="project" to move q0 by about {moved:.1e}.'
            if allowed == OFF:
                way = f"Correct q0: an impact changes velocities alone. The constraints are met about {moved:.1e} away."
        except InconsistentState:
            way = "Correct q0: projecting it does not converge either."
        raise InconsistentState(
            f"q0 misses constraint {model.constraint_labels[worst]!r} by {far[worst]:.1e} (allowed {most:.1e}). {way}"
        )


def _check_velocity(model, t, q, v, data, allowed: float) -> None:
    """Refuse a velocity off its constraints."""
    fast = np.abs(residuals(model, t, q, v, data)[1]) / _row_norms(model, t, q, v, data)
    most = allowed * max(1.0, float(np.linalg.norm(v)))
    if not np.max(fast) <= most:
        worst = int(np.argmax(fast))
        moved = np.linalg.norm(_project_velocity(model, t, q, v, data, np.zeros(model.nq, dtype=bool)) - v)
        raise InconsistentState(
            f"v0 misses the velocity level of constraint {model.row_labels[worst]!r} by {fast[worst]:.1e} (allowed "
            f'{most:.1e}). Correct v0, or pass initial="project" to move v0 by about {moved:.1e}.'
        )


def _plainly_consistent(model, t, q, v, data, tol) -> bool:
    """The common case in a few microseconds: full rank, and both levels within tolerance."""
    if model.interpreted:
        return False
    tol = max(tol, LEAST_TOLERANCE)
    fns, lengths = model.table((Fn.VEL_FACTOR, Fn.RESIDUAL))
    F, r, found = np.empty(lengths[Fn.VEL_FACTOR]), np.empty(lengths[Fn.RESIDUAL]), np.empty(3)
    n_position = model.n_constraints + model.n_invariants
    x = np.concatenate([q, v])
    sizes = (model.n_constraints, n_position, model.n_lam, model.nc, model.nq, model.nv)
    distances(fns, t, x, data, F, r, found, sizes)
    return found[0] > RHO_FULL_RANK and found[1] <= tol and found[2] <= tol


def _moved(new: np.ndarray, old: np.ndarray, tol: float) -> bool:
    """Whether a part of a state has been moved by more than the tolerance."""
    return bool(np.linalg.norm(new - old) > tol * max(1.0, float(np.linalg.norm(old))))


def _held_coordinates(model, hold) -> np.ndarray:
    """Which coordinates stay: by name, by number, or several of either."""
    held = np.zeros(model.nq, dtype=bool)
    for name in [hold] if isinstance(hold, str) or axes(hold) == 0 else hold:
        if isinstance(name, str) and name in model.coordinates:
            held[model.coordinates.index(name)] = True
        elif isinstance(name, int | np.integer) and -model.nc <= name < model.nc:
            held[: model.nc][name] = True
        else:
            known = ", ".join(model.coordinates)
            raise BadArgument(f"hold={name!r} is no coordinate; known: {known}, or 0 to {model.nc - 1}.")
    return held


def _project_position(model, t, q, data, held, tol) -> np.ndarray:
    """Gauss-Newton: the nearest point with g = 0, held coordinates staying and invariants keeping their values."""
    free = ~held & (np.arange(model.nq) < model.nc)
    kept = residuals(model, t, q, np.zeros(model.nv), data)[0]
    kept[: model.n_constraints] = 0.0
    x = q.copy()
    for _ in range(GAUSS_NEWTON_STEPS + 1):
        g = residuals(model, t, x, np.zeros(model.nv), data)[0] - kept
        J = position_jacobian(model, t, x, data, invariants=True)
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(J))):
            break
        distance = np.abs(g) / np.maximum(np.linalg.norm(J, axis=1), 1e-300)
        if np.max(distance, initial=0.0) <= tol * 1e-2 + 1e-15:
            return x
        # the point of the linearized constraints nearest to the given q, not to the last iterate
        target = -g + J[:, free] @ (x - q)[free]
        x[free] = q[free] + np.linalg.lstsq(J[:, free], target, rcond=1e-12)[0]
        if model.nw:
            x = with_w_solved(model, t, x, np.zeros(model.nv), data)
    if np.all(np.isfinite(g)) and np.max(distance) <= tol:
        return x
    worst = int(np.argmax(np.abs(g)))
    held_text = "with the held coordinates " if held.any() else ""
    label = (model.constraint_labels + model.invariant_labels)[worst]
    raise InconsistentState(
        f"q0 cannot be moved onto the constraints {held_text}({GAUSS_NEWTON_STEPS} Gauss-Newton steps leave {label!r} "
        f"at {abs(g[worst]):.1e}). {'Hold fewer coordinates, or start closer.' if held.any() else 'Start closer.'}"
    )


def _project_velocity(model, t, q, v, data, held) -> np.ndarray:
    """The nearest velocity with G v + g_t = 0, that of held coordinates staying."""
    G = terms(model, t, q, v, data)[2]
    gv = residuals(model, t, q, v, data)[1]
    free = ~held[: model.nc] if model.nv == model.nc else np.ones(model.nv, dtype=bool)
    norms = np.linalg.norm(G, axis=1)
    norms[norms == 0.0] = 1.0
    new = v.copy()
    new[free] -= np.linalg.lstsq(G[:, free] / norms[:, None], gv / norms, rcond=1e-12)[0]
    left = np.abs(residuals(model, t, q, new, data)[1]) / norms
    if not np.max(left, initial=0.0) <= 1e-9 * max(1.0, float(np.linalg.norm(v))):
        worst = model.row_labels[int(np.argmax(left))]
        way = " with the held coordinates. Hold fewer." if held.any() else ", whatever v0. Check how it depends on t."
        raise InconsistentState(f"the velocity level of constraint {worst!r} cannot be met{way}")
    return new
