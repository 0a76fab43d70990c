"""Consistent initial values of a model without dense terms: checked, or moved by its own operators.

VEL_FACTOR says how independent the rows are and how long, VEL_SOLVE is the shortest way back onto them; POS_FACTOR and POS_SOLVE
the same for positions, where these do not have the same Jacobian.
"""

from __future__ import annotations

import numpy as np

from ..errors import IncompatibleMethods, InconsistentState, NotFinite, RedundancyWarning, RedundantConstraints, SingularPosition
from ..kernels.evaluate import RHO_REFINED
from ..kernels.signatures import Fn
from ..model.model_base import Variant
from ..model.refusals import warn
from .rank import NOTHING, RHO_FULL_RANK, rank_by_rows, redundant_rows, rows_that_repeat, terms, warn_of_redundant

NEARBY = 1e-10  # how near to its constraints such a position has to be
SPREAD = 1e-3  # of coordinates: how far away rank is looked at again
SPREADS = (SPREAD, 1e-2, 3e-2, 1e-1)  # and where that is too near to tell
STEPS = 30  # of Newton's method onto the positions
BOTH = (Fn.VEL_FACTOR, Fn.POS_FACTOR)
DENSE = 100  # rows up to which those that repeat others are told from the whole matrix
ENOUGH = 1e-2  # of what is allowed: what a projection leaves


class Look:
    """The rows at one state: what they leave, by how much that is off, and the shortest way back.

    `kept` are the values of invariants, which stay; `side` is the time for which velocities are looked at, see `side_of`.
    """

    def __init__(
        self, model, t: float, q: np.ndarray, v: np.ndarray, data: np.ndarray, kept: np.ndarray | None = None,
        side: float | None = None,
    ):  # fmt: skip
        n, x, nothing = model.n_constraints + model.n_invariants, np.concatenate([q, v]), np.zeros(0)
        left = model.evaluate(Fn.RESIDUAL, t, x, nothing, data)
        if not np.all(np.isfinite(left)):
            raise NotFinite(f"a constraint is not finite at the start, t = {t:g}, q = {np.array2string(q, threshold=8)}.")
        self.position, self.velocity = left[:n], left[n:]
        if side is not None:
            self.velocity = model.evaluate(Fn.RESIDUAL, side, x, nothing, data)[n:]
        self.kept = self.position[model.n_constraints :].copy() if kept is None else kept
        self.position[model.n_constraints :] -= self.kept
        factors = {fn: self._factors(model, fn, t, x, data) for fn in ((Fn.VEL_FACTOR,) if model.shared else BOTH)}
        by_v = factors[Fn.VEL_FACTOR]
        by_q = by_v if model.shared else factors[Fn.POS_FACTOR]
        self.far, self.fast = np.abs(self.position) * by_q[1 : 1 + n], np.abs(self.velocity) * by_v[1 : 1 + model.n_lam]
        way = Fn.VEL_SOLVE if model.shared else Fn.POS_SOLVE
        self._ways = lambda fn, r: model.evaluate(fn, t, by_v if fn is Fn.VEL_SOLVE else by_q, r, data)
        self._by_q = way

    def _factors(self, model, fn: Fn, t: float, x: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Factors of the rows; how many repeat others is learnt where the system allows that."""
        found = model.evaluate(fn, t, x, np.zeros(0), data)
        if model.system.learn_rank(fn, round(-found[0]) if found[0] < 0.0 else None):
            found = model.evaluate(fn, t, x, np.zeros(0), data)
        if not found[0] > RHO_FULL_RANK:
            raise RedundantConstraints(
                f"at t = {t:g} the rows of {model.name} are dependent (smallest pivot ratio {found[0]:.1e}), which it "
                "does not allow. Leave out rows that repeat others, or start elsewhere."
            )
        return found

    def way_back(self, left: np.ndarray) -> np.ndarray:
        """The shortest move of coordinates that takes a residual away, to first order."""
        return self._ways(self._by_q, left)

    def slower(self) -> np.ndarray:
        """The smallest velocities that take away what the velocity rows leave."""
        return self._ways(Fn.VEL_SOLVE, self.velocity)


def consistent(model, t, side, q, v, data, tol: float, initial: str, redundant: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities on the constraints, or say why not."""
    most, fastest = tol * max(1.0, float(np.linalg.norm(q))), tol * max(1.0, float(np.linalg.norm(v)))
    here = Look(model, t, q, v, data, side=side)
    if initial == "project":
        q = _onto_positions(model, t, q, v, data, most)
        here = Look(model, t, q, v, data, side=side)
        v = v - here.slower()
        _examine(model, t, q, v, data, redundant)  # off the constraints no row repeats others
        return q, v
    _examine(model, t, q, v, data, redundant)
    if not np.max(here.far, initial=0.0) <= most:
        worst, moved = int(np.argmax(here.far)), np.linalg.norm(here.way_back(here.position))
        raise InconsistentState(
            f"q0 misses constraint {model.constraint_labels[worst]!r} by {here.far[worst]:.1e} (allowed {most:.1e}). Correct q0, "
            f'or pass initial="project" to move q0 by about {moved:.1e}.'
        )
    if not np.max(here.fast, initial=0.0) <= fastest:
        worst, moved = int(np.argmax(here.fast)), np.linalg.norm(here.slower())
        raise InconsistentState(
            f"v0 misses the velocity level of constraint {model.row_labels[worst]!r} by {here.fast[worst]:.1e} (allowed "
            f'{fastest:.1e}). Correct v0, or pass initial="project" to move v0 by about {moved:.1e}.'
        )
    return q, v


def _examine(model, t, q, v, data, redundant: str | None) -> None:
    """Look into rank and masses, once for every set of parameters; rows that repeat others are told of by every run."""
    x, count, known = np.concatenate([q, v]), model.system.rank[0], model.examined(data)
    if count > 0:
        if redundant == "drop":
            raise IncompatibleMethods(f'{model.name} keeps all rows: redundant="drop" is not for it. Use redundant="minimum-norm".')
        if not known:
            _refuse_singular(model, t, q, v, data)
        _name_redundant(model, t, q, v, data, count)
    if known:
        return
    rho = float(model.evaluate(Fn.FIELD, t, x, np.zeros(0), data)[-1])
    if 0.0 <= rho <= RHO_REFINED:
        raise IncompatibleMethods(
            f"with masses as different as these, the elimination of {model.name} loses all digits (smallest pivot ratio {rho:.1e}, "
            'though rows are independent). Use compile="now".'
        )
    model.note_examined(data)


def _name_redundant(model, t, q, v, data, count: int) -> None:
    """Warn of rows that repeat others, by their labels: pivots tell them, of few rows those of the whole matrix."""
    known = model.redundancy_of(data)
    gone = model.system.repeating if known is None and model.n_lam > DENSE else None
    if gone is not None:
        known = rows_that_repeat(model.row_labels, model.system.sparse_rows(t, np.concatenate([q, v]), data), gone)
        model.note_redundancy(data, known)
    looks = known is None and model.has_terms and (gone is None or model.n_lam <= 10 * DENSE)
    G = terms(model, t, q, v, data)[2] if looks else np.zeros((0, 0))
    if len(G) and np.linalg.norm(G, axis=1).min() > NOTHING:
        rank, order = rank_by_rows(G)
        known = redundant_rows(model.row_labels, G, tuple(sorted(int(row) for row in order[:rank])))
        model.note_redundancy(data, known)
    if known is not None:
        warn_of_redundant(model.row_labels, known, "minimum-norm" if model.system.shares_loads else "drop")
        return
    given = "the smallest are given" if model.system.shares_loads else "some rows carry none of it"
    warn(
        f"{count} of {model.n_lam} constraint rows are redundant. The motion is unique, the reactions of joints that carry the "
        f"same load are not ({given}).",
        RedundancyWarning,
    )


def _refuse_singular(model, t, q, v, data) -> None:
    """Rows that repeat others here and not nearby: a singular position, which no run may begin at."""
    known, random = model.system.rank, np.random.default_rng(11)
    for spread in SPREADS:
        near = _beside(model, t, q, v, data, spread * random.uniform(-1, 1, len(q)) * (1.0 + np.abs(q)))
        if near is None:
            continue
        model.system.set_rank(-1, -1)
        found = model.evaluate(Fn.VEL_FACTOR, t, np.concatenate([near, v]), np.zeros(0), data)
        model.system.set_rank(*known)
        nearby = max(0, round(-found[0]))
        if nearby < known[0]:
            raise SingularPosition(
                f"at t = {t:g} the start is a singular position of {model.name}: {known[0]} rows repeat others, {nearby} do so "
                "nearby. Start elsewhere."
            )


def _beside(model, t, q, v, data, e: np.ndarray) -> np.ndarray | None:
    """A position on the constraints about e away; None where none is found."""
    factors = model.evaluate(Fn.VEL_FACTOR if model.shared else Fn.POS_FACTOR, t, np.concatenate([q, v]), np.zeros(0), data)
    kept = None
    near = q + e - model.evaluate(Fn.VEL_TANGENT if model.shared else Fn.POS_TANGENT, t, factors, e, data)
    for _ in range(STEPS):
        here = Look(model, t, near, v, data, kept)
        near, kept = near - here.way_back(here.position), here.kept
        if np.max(here.far, initial=0.0) <= NEARBY:
            return near
    return None


def _onto_positions(model, t, q, v, data, most: float) -> np.ndarray:
    """Newton's method along the shortest ways back."""
    kept = None
    for _ in range(STEPS):
        here = Look(model, t, q, v, data, kept)
        kept = here.kept
        if np.max(here.far, initial=0.0) <= ENOUGH * most:
            return q
        q = q - here.way_back(here.position)
    worst = int(np.argmax(here.far))
    raise InconsistentState(
        f"q0 cannot be moved onto the constraints ({STEPS} Newton steps leave {model.row_labels[worst]!r} at "
        f"{here.far[worst]:.1e}). Start closer."
    )


def check_closed(model, t, q, v, data, allowed: float) -> None:
    """Refuse a position off its constraints where an impact is to begin, which changes velocities alone."""
    here = Look(model, t, q, v, data)
    most, far = allowed * max(1.0, float(np.linalg.norm(q[: model.nc]))), here.far[: model.n_constraints]
    if not np.max(far, initial=0.0) <= most:
        worst, moved = int(np.argmax(far)), np.linalg.norm(here.way_back(here.position))
        raise InconsistentState(
            f"q0 misses constraint {model.constraint_labels[worst]!r} by {far[worst]:.1e} (allowed {most:.1e}). Correct q0: an "
            f"impact changes velocities alone. The constraints are met about {moved:.1e} away."
        )


def nearest(model, t, side, q, v, data, held: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The nearest positions and velocities on the constraints, all coordinates weighing alike; those that are held stay.

    A coordinate that is held weighs infinitely: moves along W⁻¹Gᵀ leave it where it is. What is nearest to the given point, not to
    the last iterate, solves J (x - q) = J (x_k - q) - g(x_k).
    """
    weights = np.ones(model.nq + model.nv)
    weights[: model.nq][held] = np.inf
    if model.nv == model.nc:
        weights[model.nq :][held[: model.nc]] = np.inf
    rows = _Weighed(model, Variant(metric=tuple(weights.tolist())), data)
    try:
        there = rows.position(t, q, most, held)
        return there, rows.velocity(side, there, v, held)
    finally:
        rows.forget()


class _Weighed:
    """Moves onto the rows in a metric; with coordinates that are held more rows than otherwise may repeat others."""

    def __init__(self, model, variant: Variant, data: np.ndarray):
        self.model, self.variant, self.data, self.known = model, variant, data, model.system.rank

    def forget(self) -> None:
        """Leave the system as it was."""
        if self.model.system.rank != self.known:
            self.model.system.set_rank(*self.known)

    def _factors(self, level: str, t: float, x: np.ndarray) -> np.ndarray:
        self.level = "VEL" if self.model.shared else level
        F = self._of("FACTOR", t, x)
        if F[0] < 0.0:
            by_v, by_q = self.model.system.rank
            count = round(-F[0])
            self.model.system.set_rank(*((count, by_q) if self.level == "VEL" else (by_v, count)))
            F = self._of("FACTOR", t, x)
        return F

    def _of(self, part: str, t: float, a: np.ndarray, *b: np.ndarray) -> np.ndarray:
        return self.model.evaluate(Fn[f"{self.level}_{part}"], t, a, *(b or (np.zeros(0),)), self.data, self.variant)

    def position(self, t: float, q: np.ndarray, most: float, held: np.ndarray) -> np.ndarray:
        """Newton's method from q."""
        model, still, x = self.model, np.zeros(self.model.nv), q.copy()
        n, kept, free = model.n_constraints + model.n_invariants, None, ~held & (np.arange(model.nq) < model.nc)
        least, best, g, far = np.inf, x, np.zeros(n), np.zeros(n)
        for _ in range(STEPS + 1):
            at = np.concatenate([x, still])
            g = model.evaluate(Fn.RESIDUAL, t, at, np.zeros(0), self.data)[:n]
            if kept is None:
                kept = np.where(np.arange(n) < model.n_constraints, 0.0, g)
            g = g - kept
            F = self._factors("POS", t, at)
            far = np.abs(g) * F[1 : 1 + n]
            if not np.all(np.isfinite(far)):
                break
            if np.max(far, initial=0.0) < least:
                least, best = np.max(far, initial=0.0), x.copy()
            if least <= ENOUGH * most + 1e-15:
                break
            moved = self._of("TANGENT", t, F, x - q) - self._of("SOLVE", t, F, g)
            x[free] = q[free] + moved[free]
        if least <= most:
            return best
        worst = int(np.argmax(far))
        label = [*model.constraint_labels, *model.invariant_labels][worst]
        raise InconsistentState(
            f"q0 cannot be moved onto the constraints {'with the held coordinates ' if held.any() else ''}({STEPS} Gauss-Newton "
            f"steps leave {label!r} at {abs(g[worst]):.1e}). "
            f"{'Hold fewer coordinates, or start closer.' if held.any() else 'Start closer.'}"
        )

    def velocity(self, t: float, q: np.ndarray, v: np.ndarray, held: np.ndarray) -> np.ndarray:
        """One linear step."""
        model, n = self.model, self.model.n_lam
        left = lambda v: model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, v]), np.zeros(0), self.data)[-n:]
        if not n:
            return v
        F = self._factors("VEL", t, np.concatenate([q, v]))
        new = v - self._of("SOLVE", t, F, left(v))
        missed = np.abs(left(new)) * F[1 : 1 + n]
        if not np.max(missed) <= 1e-9 * max(1.0, float(np.linalg.norm(v))):
            worst = model.row_labels[int(np.argmax(missed))]
            way = " with the held coordinates. Hold fewer." if held.any() else ", whatever v0. Check how it depends on t."
            raise InconsistentState(f"the velocity level of constraint {worst!r} cannot be met{way}")
        return new
