"""Passing a position in which rows of G become dependent at an instant.

There two or more branches of motion meet. The solution that goes straight on is smooth, but the field around it is not:
off the constraints by δ, at the time τ from the position, it is wrong by δ/τ. So the position is passed on one
polynomial: Gauss collocation of high order, every stage projected onto the constraints before the field is evaluated,
and no stage near the position. Both sides then determine the motion between them.

What goes straight on must be told from a narrow miss, where the branches do not meet and the motion turns sharply from
one into the other. Where the independent rows hold, the dependent ones miss zero by the distance between the branches
squared: rounding, or a miss, which is left to short steps.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import norm

from .errors import OK, InconsistentState
from .gauss_path import BACK, Path, rule
from .ground import Ground
from .initial import position_jacobian, residuals
from .kernels import state as s
from .kernels.control import error_norm
from .kernels.drive import MAX_DODGES
from .kernels.locate import LANDING
from .kernels.signatures import NL, NROW, NV
from .stabilizations.projection import Projection

STAGES = (12, 11, 13, 10, 14)  # numbers of collocation points, the usual one first
SWEEPS = 40
LOOKS = 5  # tries to put the position between two points
NOISE = 1e-11  # of the size of a state: what rounding leaves near a singular position
MISS = 1e-12  # of the size of q: where branches are closer than this, rounding decides that they meet
MISSES = 60  # how often a step is halved to follow the turn of a narrow miss
BENT = 0.3  # of its size: by so much √ρ may leave two straight lines and still be called a passage


class NoPassage(Exception):
    """A singular position cannot be passed from here."""


class Nothing(NoPassage):
    """There is none."""


class Miss(NoPassage):
    """Two branches nearly meet."""


def find_path(ground: Ground, t: float, x: np.ndarray, slope: np.ndarray, h: float, distance: float, reach: float,
              atol, rtol, turns) -> Path:  # fmt: skip
    """Return the path from (t, x) over the singular position expected at t + `distance`, or raise `NoPassage`.

    Parameters
    ----------
    slope : array
        Field at the start.
    h : float
        A usual step.
    reach : float
        How far the run goes: a position behind that need not be passed. The path may be longer.
    """
    sign, distance = np.sign(h), abs(distance)
    for _ in range(LOOKS):
        length = max(2.0 * distance, abs(h))
        m, clear = best_points(distance / length)
        X, F, sigma = first_guess(ground, t, sign * length, x, slope, m)
        where = singular_at(rule(m).c, sigma)
        distance = where * length
        if where <= 0.0 or distance > 1.05 * reach:
            raise Nothing("no singular position within reach")
        if 0.0 < where < 1.0 and np.min(np.abs(rule(m).c - where)) > 0.6 * clear:
            break
    else:
        if where >= 1.0:
            raise Nothing("the singular position is far ahead")
        raise NoPassage("the singular position cannot be placed between stages")
    path, sigma = collocate(ground, t, sign * length, x, X, F, m, atol, rtol, turns)
    path.where = where = singular_at(rule(m).c, sigma)
    if not 0.0 < where * length < reach or where >= 1.0:
        raise Nothing("no singular position within reach")
    path.clear = float(np.min(np.abs(rule(m).c - where)))
    refuse_miss(ground, path)
    return path


def best_points(where: float) -> tuple[int, float]:
    """Number of points whose gap around θ is widest, and half that gap; the usual number unless another is better."""
    gaps = {m: float(np.min(np.abs(rule(m).c - where))) for m in STAGES}
    best = max(gaps, key=gaps.get)
    m = STAGES[0] if gaps[STAGES[0]] > 0.8 * gaps[best] else best
    return m, gaps[m]


def first_guess(ground, t, h, x, slope, m):
    """States, slopes and √ρ at the points, each extrapolated from those before."""
    used = rule(m)
    known = [slope]
    X, F, sigma = np.empty((m, ground.size)), np.empty((m, ground.size)), np.empty(m)
    for i in range(m):
        X[i] = x + h * (used.guesses[i] @ np.array(known[-BACK:]))
        status = ground.settle(t + used.c[i] * h, X[i])
        if status != OK:
            raise NoPassage(f"status {status} at a point")
        F[i], sigma[i] = ground.row[: ground.size], np.sqrt(max(ground.rho, 0.0))
        known.append(F[i].copy())
    return X, F, sigma


def collocate(ground, t, h, x, X, F, m, atol, rtol, turns) -> tuple[Path, np.ndarray]:
    """Iterate to the polynomial whose slopes at the points are the field there; with it √ρ at the points."""
    used = rule(m)
    size = np.maximum(np.abs(x), np.max(np.abs(X), axis=0))
    scale = atol[: ground.size] + rtol * size
    noise = NOISE * (1.0 + float(np.max(size)))
    sigma, before = np.empty(m), np.inf
    for sweep in range(SWEEPS):
        new = x + h * (used.integrals @ F)
        for i in range(m):
            status = ground.settle(t + used.c[i] * h, new[i])
            if status != OK:
                raise NoPassage(f"status {status} at a point")
            F[i], sigma[i] = ground.row[: ground.size], np.sqrt(max(ground.rho, 0.0))
        moved = np.abs(new - X)
        change = float(np.max(moved / np.maximum(scale, noise)))
        X = new
        stays = change >= 0.5 * before and (change <= 1.0 or np.max(moved) <= 10.0 * noise)
        if change <= 1e-3 or stays:
            break
        if not change <= (1e3 if sweep < 4 else 0.7) * before:
            raise NoPassage("the iteration does not converge")
        before = change
    else:
        raise NoPassage("the iteration does not converge")
    coefficients = used.coefficients @ F
    last, fall = coefficients[-1] / (2 * m - 1), norm(coefficients[-1]) / max(norm(coefficients[-2]), 1e-300)
    E = np.ascontiguousarray(h * min(1.0, fall) * last[None, :])  # the first coefficient that is left out
    E[np.abs(E) < noise] = 0.0
    err = error_norm(E, 1, x, X[-1], atol, rtol, turns, ground.plan.model.nq, ground.size)
    if not err <= 1.0:
        raise NoPassage(f"the error is {err:.1e} times what is allowed")
    return Path(t, h, x.copy(), coefficients), sigma


def singular_at(c: np.ndarray, sigma: np.ndarray) -> float:
    """θ where σ = √ρ, which is straight on both sides of a singular position, vanishes; above 1 it is a forecast."""
    least = int(np.argmin(sigma))
    best, found = np.inf, 0.5
    for split in (least, least + 1):
        near = slice(max(0, split - 2), split + 2)
        if len(c[near]) < 2:
            continue
        signed = np.where(np.arange(len(c)) < split, sigma, -sigma)[near]
        slope, offset = np.polyfit(c[near], signed, 1)
        left = float(np.max(np.abs(slope * c[near] + offset - signed)))
        if slope < 0.0 and left < best:
            best, found = left, -offset / slope
        size = float(np.max(sigma[near]))
    if not best <= BENT * size:
        raise Nothing("ρ has no zero")
    return float(found)


def refuse_miss(ground: Ground, path: Path) -> None:
    """Tell a singular position from a narrow miss by what dependent rows leave where the independent ones hold."""
    model, data = ground.plan.model, ground.data[: len(ground.plan.model.data())]
    t, nq = path.t + path.where * path.h, model.nq
    ends = [_scaled_rows(model, path.t + theta * path.h, path.state(theta)[:nq], data)[1] for theta in (0.0, 1.0)]
    usual = np.minimum(*(np.linalg.svd(J, compute_uv=False) for J in ends))
    q = path.state(path.where)[:nq]
    for _ in range(4):
        g, J = _scaled_rows(model, t, q, data)
        U, values, V = np.linalg.svd(J, full_matrices=False)
        rank = int(np.sum(values > 0.05 * usual))
        step = V[:rank].T @ ((U[:, :rank].T @ g) / values[:rank])
        q = q - step
    left = float(np.max(np.abs(_scaled_rows(model, t, q, data)[0]), initial=0.0))
    off = float(np.max(np.abs(q - path.state(path.where)[:nq])))
    if left > MISS * max(1.0, float(np.linalg.norm(q))) + off**2:
        raise Miss(f"branches miss each other by {left:.1e}")


def _scaled_rows(model, t, q, data):
    """Residuals and Jacobian of the position rows, each row of length 1."""
    n = model.n_constraints
    try:
        J = position_jacobian(model, t, q, data)
    except InconsistentState:
        raise NoPassage("no Jacobian") from None
    lengths = np.maximum(np.linalg.norm(J, axis=1), 1e-300)
    return residuals(model, t, q, np.zeros(model.nv), data)[0][:n] / lengths, J / lengths[:, None]


class Passages:
    """How a run passes singular positions: where the step loop sees one, it asks here for the next steps."""

    def __init__(self, run):
        self.run = run
        self.paths: list[Path] = []
        self.ends: list[float] = []  # θ at which the steps along the current path end
        self._ground: Ground | None = None

    @property
    def possible(self) -> bool:
        """Whether the run's methods allow it: explicit stages, adaptive steps, states on the constraints."""
        plan = self.run.plan
        return (
            plan.integrator.nodes is not None and plan.integrator.errors > 0 and not self.run.I[s.FIXED]
            and bool(plan.sizes[NL]) and bool(plan.sizes[NV]) and isinstance(plan.choice.stabilization, Projection)
        )  # fmt: skip

    def leave(self) -> None:
        """The state, or the field, is another one: the path is of no use any more."""
        self.ends = []
        self.run.I[s.GUIDED] = self.run.I[s.ALARM] = 0

    def attend(self) -> None:
        """Supply the next step along a path, or find one; else let the loop go on as it is, or with a shorter step."""
        run, I, S = self.run, self.run.I, self.run.S
        if not I[s.GUIDED]:
            try:
                self._begin()
            except NoPassage as problem:
                limit = MISSES if isinstance(problem, Miss) else MAX_DODGES
                if isinstance(problem, Nothing):
                    limit = 0
                elif I[s.ALARM] == s.AHEAD:
                    limit = 2 * (not isinstance(problem, Miss))  # from closer by, perhaps
                if I[s.DODGES] < limit:
                    I[s.DODGES] += 1
                    I[s.REJECTED] += 1
                    I[s.AFTER_REJECT] = 1
                    I[s.RETAKE] = I[s.TRIES] = I[s.ALARM] = 0
                    S[s.H] = 0.5 * S[s.H_USED]
                else:
                    if I[s.ALARM] == s.AHEAD:
                        S[s.RHO_ASKED] = run.K[I[s.LAST], run.plan.sizes[NROW] - 1]
                    I[s.ALARM] = s.ANSWERED
                return
        self._supply()

    def _begin(self) -> None:
        run, S, I = self.run, self.run.S, self.run.I
        plan, h, left = run.plan, float(S[s.H_USED]), float(S[s.T_STOP] - S[s.T])
        rho = int(plan.sizes[NROW]) - 1
        last = int(I[s.LAST])
        start, end = (np.sqrt(max(run.K[row, rho], 0.0)) for row in (0, last))
        distance = 0.5 * h
        if I[s.ALARM] == s.INSIDE:
            distance = h * plan.integrator.nodes[1 + np.argmin(run.K[1:last, rho])]
        elif I[s.ALARM] == s.AHEAD:
            distance = h * start / (start - end)
        if self._ground is None:
            self._ground = Ground(plan, run.data, run.W)
        reach = abs(h) if I[s.RETAKE] else abs(left)
        size = plan.model.nq + plan.model.nv
        path = find_path(
            self._ground, run.t, run.x[:size].copy(), run.K[0, :size].copy(), h, distance, reach, run.atol,
            float(S[s.RTOL]), run.turns,
        )  # fmt: skip
        self.paths.append(path)
        last = min(1.0, abs(left / path.h))
        self.ends = [*(end for end in pieces(path, abs(h)) if end < last), last]
        I[s.ALARM] = I[s.DODGES] = 0
        S[s.H], S[s.RHO_ASKED] = h, 1e300

    def _supply(self) -> None:
        """Write the next step along the path into the loop's arrays, as if it had been taken."""
        run, S, I, path, plan = self.run, self.run.S, self.run.I, self.paths[-1], self.run.plan
        size = plan.model.nq + plan.model.nv
        begin = (run.t - path.t) / path.h
        end = begin + float(S[s.H]) / path.h if I[s.RETAKE] else self.ends[0]
        while self.ends and self.ends[0] <= end:
            del self.ends[0]
        t_new = path.t + end * path.h
        I[s.HIT] = abs(S[s.T_STOP] - t_new) <= 1e-14 * max(abs(t_new), abs(path.h))
        run.xn[:size] = path.state(end)
        ground, last = self._ground, int(I[s.LAST])
        row = ground.row
        if ground.settle(t_new, run.xn) != OK or not ground.rho > LANDING / S[s.RTOL]:
            # an end on the position itself: the path knows better
            run.xn[:size] = path.state(end)
            if ground.evaluate(t_new, run.xn) != OK:
                row[size : len(row) - 1] = np.nan
            row[:size] = path.slope(end)[0]
        nodes = plan.integrator.nodes
        slopes = path.slope(begin + nodes * (end - begin))
        run.K[1 : len(nodes), :size] = slopes[1:]
        run.K[last, : len(row)] = row
        path.used = end
        S[s.H_USED] = t_new - run.t
        S[s.T_NEW] = S[s.T_STOP] if I[s.HIT] else t_new
        S[s.RHO_LEAST] = min(S[s.RHO_LEAST], row[-1])
        I[s.DENSE_READY], I[s.PHASE], I[s.ALONG], I[s.GUIDED] = 1, s.WATCHING, 1, bool(self.ends)


def pieces(path: Path, h: float) -> list[float]:
    """θ at which the steps along a path end: about h long, one of them around the singular position."""
    usual = min(1.0, h / abs(path.h))
    half = max(0.5 * usual, 2.0 * path.clear)
    low, high = path.where - half, path.where + half
    cuts = []
    if low > 0.1 * usual:
        parts = int(np.ceil(low / usual))
        cuts += [low * (i + 1) / parts for i in range(parts)]
    if high < 1.0 - 0.1 * usual:
        parts = int(np.ceil((1.0 - high) / usual))
        cuts += [high + (1.0 - high) * i / parts for i in range(parts)]
    return [*cuts, 1.0]
