"""What the constraints leave free at a position: rank, redundant rows, singular positions, missing mass.

That rows are redundant is found by pivoted QR of Gᵀ at the start and at perturbed positions on the constraints: rank low
at all of them is redundancy, rank low at the start alone a singular position. How a run solves with them: `model.redundant_rows`.

Which rows to count, where some are redundant, cannot be told from one position: in a planetary gear those that pivoted QR
picks at the start leave 2e-6 of each other half a turn later, and a choice with 2e-2 all around exists. So positions are looked
at along the motion that begins, then along random ones, and rows that take part in the dependence at all of them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import BadArgument, InconsistentState, RedundancyWarning, RedundantConstraints, SingularMass, SingularPosition
from ..kernels.signatures import Fn
from ..model.given_numbers import asymmetry, numbers_text
from ..model.massless_coordinates import held_in
from ..model.refusals import warn
from ..model.statement import by_part, rows_in_short

RANK_TOLERANCE = 1e-9
RHO_FULL_RANK = 1e-10  # pivot ratio of G Gᵀ, about the square of the smallest angle between rows
VANISHING = 1e-6  # a row this much smaller at the start than around it vanishes there
NOTHING = 1e-290  # norms below this are zero
MASSLESS = 1e-12  # of the masses of single coordinates
CLEARLY = 1e-6  # least angle between rows that are independent beyond doubt
LEFT = 1e-2  # of the distance from a singular position: the least angle between rows there
SMALLEST = 1e-12  # positions below this are zero, their size says nothing about the system
RETURNED = 1e-2  # of the distance at which a position was looked for: it has come back
SHARE = 0.1  # of a free motion: coordinates with less do not lead it
SPREADS = (1e-3, 1e-2, 3e-2, 1e-1)  # how far, relatively, perturbed positions lie
FEW = 6  # rows that are named one by one


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


def rank_by_rows(G: np.ndarray, tolerance: float = RANK_TOLERANCE) -> tuple[int, np.ndarray]:
    """Rank of G, and its rows in the order in which pivoted QR picks them."""
    from scipy.linalg import qr

    norms = np.maximum(np.linalg.norm(G, axis=1), 1e-300)
    R, order = qr((G / norms[:, None]).T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > tolerance * max(diagonal[0], 1e-300))) if len(diagonal) else 0
    return rank, order


def perturbed(q: np.ndarray, random, spread: float) -> np.ndarray:
    """A position near q: `spread` is relative to each coordinate and, for small ones, to the largest, at most 1."""
    return q + spread * random.uniform(-1, 1, len(q)) * (0.3 * _usual(q) + np.abs(q))


def _usual(q: np.ndarray) -> float:
    """Size of the largest coordinate, at most 1."""
    largest = float(np.max(np.abs(q), initial=0.0))
    return min(1.0, largest) if largest > SMALLEST else 1.0


def refuse_vanishing(model, t, q, v, data) -> None:
    """Refuse a constraint without a gradient where it holds, such as (|d| - L)²: its force has no direction."""
    random = np.random.default_rng(3)
    here = _row_norms(model, t, q, v, data)
    around = np.max([_row_norms(model, t, perturbed(q, random, 1e-2), v, data) for _ in range(3)], axis=0)
    with np.errstate(invalid="ignore"):
        vanishing = np.flatnonzero(~(here > VANISHING * around) & np.isfinite(here))
    if not len(vanishing):
        return
    label = model.row_labels[vanishing[0]]
    if not around[vanishing[0]] > NOTHING:
        raise SingularPosition(
            f"constraint {label!r} depends on no coordinate: its row of the Jacobian vanishes. Write it as a function of q."
        )
    size = here[vanishing[0]] if here[vanishing[0]] > NOTHING else 0.0
    raise SingularPosition(
        f"the gradient of constraint {label!r} vanishes where the constraint holds ({size:.1e} at the start, "
        f"{around[vanishing[0]]:.1e} nearby), so its force has no direction. Write it so that it crosses zero, for "
        "example |d| - L instead of (|d| - L)**2."
    )


def _row_norms(model, t, q, v, data) -> np.ndarray:
    """‖G_i‖ of every row."""
    F = model.evaluate(Fn.VEL_FACTOR, t, np.concatenate([q, v]), np.zeros(0), data)
    return 1.0 / F[1 : 1 + model.n_lam]


def independent_rows(model, t, q, v, data, redundant: str | None, project):
    """Test the rank; return (as many independent rows, or None where all are, labels that are not unique).

    `project(position, held=None, at=t, tol=1e-13)` moves a position onto the constraints of a time, one coordinate staying,
    or raises `InconsistentState`.
    """
    m = model.n_lam
    probe = model.evaluate(Fn.VEL_FACTOR, t, np.concatenate([q, v]), np.zeros(0), data)
    if probe[0] > RHO_FULL_RANK and np.all(probe[1 : 1 + m] < 1.0 / NOTHING):
        return None, ()
    G = terms(model, t, q, v, data)[2]
    rank = rank_by_rows(G)[0]
    if rank == m:
        return None, ()
    known = model.redundancy_of(data)
    if known is None or len(known[0]) != rank or rank_by_rows(G[list(known[0])], CLEARLY)[0] != rank:
        # another start of the same system has the same redundant rows, unless its own rank says otherwise
        known = _redundancy(model, t, q, v, data, G, rank, project)
        model.note_redundancy(data, known)
    kept, involved, repeats = known
    many = len(involved) > FEW
    if redundant is None:
        remove = "Remove one" if m - rank == 1 else f"Remove {m - rank}"
        these = "these two" if len(involved) == 2 else f"these {len(involved)}"
        listed = f"{m - rank} of {rows_in_short(involved)} repeat others" if many else "; ".join(repeats)
        away = f", for example {_most(model.row_labels, kept)}" if many else ""
        raise RedundantConstraints(
            f"at t = {t:g} the constraint Jacobian has rank {rank} of {m}: {listed}. {remove}{away}, or pass "
            f'redundant="minimum-norm" (reactions of {these} are then not unique).'
        )
    warn_of_redundant(model.row_labels, known, redundant)
    return kept, involved


def warn_of_redundant(labels, known: tuple, redundant: str) -> None:
    """Warn of rows that repeat others; `known` is what `redundant_rows` gives."""
    kept, involved, repeats = known
    how = "the smallest are given" if redundant == "minimum-norm" else "as many rows as are redundant carry none"
    if len(involved) > FEW:
        text = (
            f"they are among {rows_in_short(involved)}. The motion is unique, the reactions there are not ({how}). Where you "
            f"need them, leave out {_most(labels, kept)}; diagnose() lists all rows."
        )
    else:
        text = f"{'; '.join(repeats)}. Their reactions are not unique ({how})."
    warn(f"{len(labels) - len(kept)} of {len(labels)} constraint rows are redundant: {text}", RedundancyWarning)


def _most(labels, kept) -> str:
    """The rows that repeat others, by what they belong to."""
    counts = by_part(set(range(len(labels))) - set(kept), labels)
    named = [f"{count} of {name!r}" for name, count in counts.items()]
    return _and(named if len(named) <= FEW else [*named[:FEW], f"rows of {len(named) - FEW} more"])


def _and(names) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _redundancy(model, t, q, v, data, G, rank: int, project) -> tuple[tuple[int, ...], tuple[str, ...], list[str]]:
    """Rows to keep, labels that are not unique, and what repeats what, unless the start is a singular position."""
    m = model.n_lam
    for nearby, spread in _neighbours(model, q, G, project):
        # where rows are redundant, a position meets them to the square of its distance from their branch: an angle
        # between rows that comes from there is far smaller than one that comes from leaving a singular position
        near_rank = rank_by_rows(terms(model, t, nearby, v, data)[2], LEFT * spread)[0]
        if near_rank > rank:
            raise SingularPosition(
                f"the start is a singular position: the constraint Jacobian has rank {rank} of {m} there, but "
                f"{near_rank} nearby. Start from another position, for example a little further along the motion."
            )
    return redundant_rows(model.row_labels, G, lasting_rows(model, t, q, v, data, rank, project))


def redundant_rows(labels, G: np.ndarray, kept: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[str, ...], list[str]]:
    """The rows that are kept, labels of those whose multipliers are not unique, and what repeats what."""
    dropped = sorted(set(range(len(G))) - set(kept))
    partners = dict(zip(dropped, _partners(G, dropped, kept), strict=True))
    repeats = [_repeats(labels, row, others) for row, others in partners.items()]
    concerned = sorted({*dropped, *(other for others in partners.values() for other in others)})
    return kept, tuple(labels[row] for row in concerned), repeats


def rows_that_repeat(labels, G, gone: np.ndarray) -> tuple[tuple[int, ...], tuple[str, ...], list[str]] | None:
    """What `redundant_rows` gives, of a sparse G whose other rows are independent; None where these are not all.

    Kept rows make up one that is gone, or a random sum of them all, by weights w, Gₖᵀ w = g, from [I Gₖᵀ; Gₖ 0] (x, w) = (g, 0).
    Where many rows are concerned, what repeats what is not looked for: the list is not shown.
    """
    from scipy.sparse import block_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    norms = np.sqrt((G * G).sum(axis=1))
    if not norms.min(initial=1.0) > NOTHING:
        return None
    scaled = (diags_array(1.0 / norms) @ G).tocsr()
    kept, left_out = np.flatnonzero(~gone), np.flatnonzero(gone)
    own, nv = scaled[kept], G.shape[1]
    try:
        factors = splu(block_array([[eye_array(nv), own.T], [own, None]], format="csc"))
    except RuntimeError:  # singular
        return None

    def weights(g: np.ndarray) -> np.ndarray | None:
        found = factors.solve(np.concatenate([g, np.zeros(len(kept))]))
        return found[nv:] if np.linalg.norm(found[:nv]) <= CLEARLY * np.linalg.norm(g) else None

    sums = [1.0 + np.random.default_rng(13).uniform(size=len(left_out))]
    if len(left_out) <= FEW:
        sums += list(np.eye(len(left_out)))
    found = [weights(scaled[left_out].T @ each) for each in sums]
    if any(each is None for each in found):
        return None
    ranked = [[int(kept[i]) for i in _by_weight(np.abs(each))] for each in found]
    concerned = sorted({*left_out.tolist(), *ranked[0]})
    repeats = [_repeats(labels, row, others) for row, others in zip(left_out.tolist(), ranked[1:], strict=False)]
    return tuple(kept.tolist()), tuple(labels[row] for row in concerned), repeats


def _repeats(labels, row: int, others: list[int]) -> str:
    return f"{labels[row]!r} repeats {'' if len(others) == 1 else 'a combination of '}{_listed(labels, others)}"


def _by_weight(own: np.ndarray) -> list[int]:
    """Rows that take part, the most important first."""
    return [int(i) for i in np.argsort(-own, kind="stable") if own[i] > 1e-6 * np.max(own)]


def _neighbours(model, q, G, project) -> Iterator[tuple[np.ndarray, float]]:
    """Positions on the constraints near q, and how far, relatively, they were looked for.

    At a singular position the nearest point of the constraints may be q itself, wherever one starts. Then single coordinates
    are moved as the rows let them and held there, so that the others have to follow a branch of the motion.
    """
    random = np.random.default_rng(5)
    found = False
    for spread in SPREADS:
        near = perturbed(q, random, spread)
        try:
            nearby = project(near)
        except InconsistentState:
            continue
        if np.linalg.norm(nearby - q) > RETURNED * np.linalg.norm(near - q):
            found = True
            yield nearby, spread
    if found or model.nv != model.nc:
        return
    _, values, turned = np.linalg.svd(G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None])
    free = turned[int(np.sum(values > RANK_TOLERANCE * max(values[0], 1e-300))) :]
    for spread in SPREADS[:2]:
        for coordinate in np.flatnonzero(np.linalg.norm(free, axis=0) > SHARE):
            near = q.copy()
            near[: model.nc] += spread * _usual(q) * (free.T @ free[:, coordinate])
            try:
                yield project(near, int(coordinate)), spread
            except InconsistentState:
                continue


def check_redundant(redundant) -> None:
    """Refuse a value of redundant= that does not exist."""
    if redundant is not None and (not isinstance(redundant, str) or redundant not in ("minimum-norm", "drop")):
        raise BadArgument(f'redundant={redundant!r}: choose "minimum-norm" or "drop".')


def _partners(G: np.ndarray, rows: list[int], kept: tuple[int, ...]) -> list[list[int]]:
    """The kept rows of which each of some others is made, the most important first."""
    from scipy.linalg import solve_triangular

    scaled = G / np.linalg.norm(G, axis=1)[:, None]
    Q, R = np.linalg.qr(scaled[list(kept)].T)  # they are independent
    weights, found = solve_triangular(R, Q.T @ scaled[rows].T), []
    for own in np.abs(weights.T):
        found.append([kept[i] for i in _by_weight(own)])
    return found


def _listed(labels, rows) -> str:
    return _and(repr(labels[row]) for row in rows)


def refuse_massless(model, t, q, v, data) -> None:
    """Refuse a mass matrix that is not positive definite on what the constraints leave free; note one that is there alone."""
    M, _, G, _ = terms(model, t, q, v, data)
    skewed = asymmetry(M, f"q = {numbers_text(q[: model.nc])}")
    if skewed is not None:
        raise SingularMass(skewed)
    held = held_in(M)
    if held is None and np.all(np.diag(M) > 0.0):
        return
    found = massless(model, M, G)
    if found is not None:
        raise SingularMass(f"at t = {t:.6g} {found}")
    if model.n_lam and held is not None:
        model.note_held(held)


def massless(model, M: np.ndarray, G: np.ndarray, least: float = MASSLESS) -> str | None:
    """Name the free motion that has no mass, or none that is positive; None where all have more than `least`."""
    if not (np.all(np.isfinite(M)) and np.all(np.isfinite(G))) or not len(M):
        return None
    diagonal = np.diag(M)
    by = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    free = np.eye(len(M))
    if len(G):
        _, values, turned = np.linalg.svd(G * by)
        free = turned[int(np.sum(values > RANK_TOLERANCE * max(values[0], 1e-300))) :].T
    if not free.shape[1]:
        return None
    values, motions = np.linalg.eigh(free.T @ (M * np.outer(by, by)) @ free)
    if values[0] > least:
        return None
    at = int(np.argmax(np.abs(by * (free @ motions[:, 0]))))
    name = model.coordinates[at] if model.nv == model.nc else f"v[{at}]"
    if values[0] < -least:
        return (
            f"the mass matrix is not positive definite: {name} can move, and the mass of that motion is "
            f"{values[0]:.1e} of its size. Correct mass()."
        )
    return (
        f"the mass matrix is singular on the tangent space: {name} can move and has no mass. Give it mass, or a "
        "constraint that fixes it."
    )


LEGS, PACES = 3, 16  # directions tried, and positions in each
PACE = 0.5  # of a radian, or of the size of the system
LOOSE = 1e-7  # of the size: how well positions on the way fulfil the constraints
TELLING = 0.03  # of the largest: where the last singular value is below, the position says nothing
ABOUT = 0.5  # of the largest part in the dependence: rows with so much serve as well


def lasting_rows(model, t, q, v, data, rank: int, project) -> tuple[int, ...]:
    """Rows, as many as the rank, that are independent at all positions of a walk from q.

    `project(position, at, tol)` moves a position onto the constraints of a time, or raises `InconsistentState`.
    """
    met = [_dependence(model, t, q, v, data, rank)]
    random = np.random.default_rng(7)
    for leg in range(LEGS):
        here, now = q.copy(), t
        heading = v if leg == 0 and np.any(v) else random.uniform(-1.0, 1.0, model.nv)
        for _ in range(PACES):
            rate, pace = _ahead(model, now, here, heading, data, rank, driven=leg == 0)
            if not pace > 0.0:
                break
            if leg == 0:
                now = now + pace
            try:
                here = project(here + pace * rate, at=now, tol=LOOSE * max(1.0, float(np.max(np.abs(here)))))
            except InconsistentState:
                break
            met.append(_dependence(model, now, here, v, data, rank))
    largest = max(value for _, value, _ in met)
    return _spread(np.array([null for null, value, _ in met if value >= TELLING * largest]), met[0][2])


def _parts(model, t, q, v, data) -> tuple[np.ndarray, np.ndarray]:
    """G with rows of length 1, in coordinates in which single masses are 1; and these coordinates' units."""
    flat = model.evaluate(Fn.TERMS, t, np.concatenate([q, v]), np.zeros(0), data)
    nq, nv, nl = model.nq, model.nv, model.n_lam
    masses = np.diag(flat[nq : nq + nv * nv].reshape(nv, nv))
    by = np.where(masses > 0.0, 1.0 / np.sqrt(np.where(masses > 0.0, masses, 1.0)), 1.0)
    at = nq + nv * nv + nv
    G = flat[at : at + nl * nv].reshape(nl, nv) * by
    return G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None], by


def _dependence(model, t, q, v, data, rank: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Combinations of rows that vanish, (row, combination), the last singular value, how many rows each one meets."""
    G, _ = _parts(model, t, q, v, data)
    turned, values, _ = np.linalg.svd(G)
    touches = (np.abs(G) > 1e-12).astype(float)
    return turned[:, rank:], float(values[rank - 1]), np.count_nonzero(touches @ touches.T, axis=1)


def _ahead(model, t, q, heading, data, rank: int, driven: bool) -> tuple[np.ndarray, float]:
    """q' of the motion that the constraints allow next to `heading`, and the time for one pace of it."""
    G, by = _parts(model, t, q, heading, data)
    turned = np.linalg.svd(G)[2]
    allowed = by * (turned[rank:].T @ (turned[rank:] @ (heading / by)))
    if driven:  # what the constraints themselves ask for as time goes on
        still = model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, 0.0 * heading]), np.zeros(0), data)[-model.n_lam :]
        full = model.evaluate(Fn.TERMS, t, np.concatenate([q, heading]), np.zeros(0), data)
        at = model.nq + model.nv**2 + model.nv
        J = full[at : at + model.n_lam * model.nv].reshape(model.n_lam, model.nv)
        allowed = allowed - by * np.linalg.lstsq(J * by, still, rcond=1e-9)[0]
    rate = model.evaluate(Fn.TERMS, t, np.concatenate([q, allowed]), np.zeros(0), data)[: model.nq]
    rate[model.nc :] = 0.0
    turns = np.array(model.turns, dtype=bool)
    size = max(float(np.max(np.abs(q[~turns]), initial=0.0)), 1e-12)
    fastest = float(np.max(np.abs(rate) / np.where(turns, 1.0, size), initial=0.0))
    return rate, PACE / fastest if fastest > 1e-9 else 0.0


def _spread(nulls: np.ndarray, meets: np.ndarray) -> tuple[int, ...]:
    """Rows to count: all but those that have a part in the dependence at every position; of equals, the densest go."""
    left, gone = nulls.copy(), []
    for _ in range(nulls.shape[2]):
        part = np.min(np.sum(left**2, axis=2), axis=0)
        part[gone] = -1.0
        good = np.flatnonzero(part >= ABOUT * np.max(part))[::-1]  # later ones repeat earlier ones
        row = int(good[np.argmax(meets[good])])
        gone.append(row)
        along = left[:, row] / np.maximum(np.linalg.norm(left[:, row], axis=1), 1e-300)[:, None]
        left = left - np.einsum("pmk,pk,pj->pmj", left, along, along)
    return tuple(row for row in range(nulls.shape[1]) if row not in gone)
