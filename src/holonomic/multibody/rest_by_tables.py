"""Rest of a large mechanism by its tables: no matrix of the whole mechanism is made.

At rest R = f(q, 0) - Gᵀλ vanishes. A step δ and the multipliers λ + δλ that belong to it solve

    (K + κ M) δ + Gᵀ δλ = R,   G δ = 0,   K = -∂(f - Gᵀλ)/∂q,

by the elimination that implicit methods have. With κ = 0 that is Newton's method; with κ > 0 a step of backward Euler's method of
length κ^(-1/2) from rest, which goes downhill where κ is large enough. κ is raised until the forces do work along the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import HolonomicError, StepFailed, UntraceableFunction
from ..formulations.index2 import Index2
from ..kernels.signatures import Fn
from ..model.model_base import Variant
from .assemble import CLOSED, Kinematics, beginning
from .closing_tables import TableKinematics

SLOWED = 1e9  # 1/s by which K counts beside damping, ∂f/∂v, which stands in the same matrix
STEPS = 2000
NEAR = 1e-10  # of the size of the mechanism: a step, after which no other is taken
BALANCED = 1e-10  # R beside the largest force
NO_REST = 1e-6  # R beside the largest force, with which a mechanism does not rest where κ alone makes steps short
FADED = 1e-3  # of the largest force at the start: what forces count that fade on the way, as that of a spring that relaxes
LARGEST = 0.1  # of the size: a step
DOWN = 0.1  # of the work that forces do along a step by what they are at its start: what they have to do at least
SAME = 1e-8  # of the largest force that joints exert: by how much two sets of multipliers may differ
CLOSING = 12  # steps of Newton's method that may close the joints; where it takes more, a shorter step is cheaper
UPHILL = 40  # times that κ is raised tenfold before that is given up
LEAST = 1e-7  # κ beside its first: what it falls to. Without it no body could be eliminated before the joints that hold it
LOOKS = 24  # vectors of Lanczos's method
APART = 4.0  # κ of one look at stability beside that of the next
APART_BY = 1e-3  # of κ θ from what stable motions have
UNEVEN = 1e-6  # of two products of K with vectors: by how much they may differ where forces have a potential
FLAT = 1e-7  # of the largest stiffness: what counts as none
VARIANT = Variant(formulation=Index2())


class Resting(NamedTuple):
    """A position at rest, its multipliers, whether it is stable, and the largest force left over."""

    q: np.ndarray
    lam: np.ndarray
    stable: bool | None
    left: float


class Linear:
    """K, M and G at a position, by what elements write of them."""

    def __init__(self, tables: TableKinematics, q: np.ndarray, lam: np.ndarray):
        self.tables, model = tables, tables.model
        self.nq, self.nv = model.nq, model.nv
        self.y = np.concatenate([q, tables.rest, lam])
        self.numbers = self._asked(Fn.LINEARIZED, 0.0, self.y, np.zeros(len(self.y)))

    def _asked(self, fn: Fn, t: float, a, b) -> np.ndarray:
        return self.tables.model.evaluate(fn, t, a, b, self.tables.data, VARIANT)

    def factors(self, kappa: float, stiffness: float = SLOWED) -> np.ndarray:
        """Factors of stiffness K + κ M - ∂f/∂v."""
        return self._asked(Fn.MOTION_FACTOR, kappa, self.numbers, np.array([stiffness]))

    def solve(self, factors: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """δ and δλ for a force on the velocities."""
        found = self._asked(Fn.NEWTON_SOLVE, 0.0, factors, self._force(force))
        return found[self.nq : self.nq + self.nv], found[self.nq + self.nv :]

    def times(self, factors: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The factored matrix times a vector of velocities, in the rows of forces."""
        return self._asked(Fn.MOTION_TIMES, 0.0, factors, self._force(x))[self.nq : self.nq + self.nv]

    def _force(self, x: np.ndarray) -> np.ndarray:
        b = np.zeros(len(self.y))
        b[self.nq : self.nq + self.nv] = x
        return b


def rest_by_tables(m, near, inputs: Callable[[Any], dict[str, float]]) -> Resting | None:
    """Where a large mechanism rests; None of one that is not made of tables.

    Parameters
    ----------
    m : Mechanism
    near
        As for `equilibrium`.
    inputs : function
        Inputs at t = 0 by name, of a system.
    """
    k = Kinematics(m)
    begin = m.assembly.q if near is None else beginning(m, k, near)
    try:
        tables = TableKinematics(m, begin, k)
    except UntraceableFunction:
        return None
    model = tables.model  # modes of switches in its data are 0: the values decide
    tables.data[model.data_places["inputs"]] = [each for value in inputs(model.system).values() for each in (value, 0.0, 0.0)]
    descent = Descent(m, tables, k)
    q, lam, left = descent.from_(tables.closed(begin, descent.closed, k.size))
    rigid = model.nv <= model.n_lam - max(0, model.system.rank[0])
    stable = None if rigid else is_stable(Linear(tables, q, lam))
    if stable is False and descent.went:  # to a saddle: it goes on beside it
        try:
            q, lam, left = descent.from_(descent.beside(q, lam))
            stable = is_stable(Linear(tables, q, lam))
        except StepFailed:
            pass
    return Resting(q, _smallest(tables, q, lam), stable, float(np.max(np.abs(left))))


class Descent:
    """The way downhill of one mechanism."""

    def __init__(self, m, tables: TableKinematics, k: Kinematics):
        self.m, self.tables, self.size, self.scale, self.closed = m, tables, k.size, k.scale, CLOSED * k.size
        self.went, self.least = False, 0.0

    def from_(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, multipliers and what they leave over at rest, from a closed position on."""
        size, scale = self.size, self.scale
        acting = _left(self.tables, q, np.zeros(self.tables.model.n_lam))
        rates, lam = self._unhindered(q, acting)
        most = 10.0 * float(np.max(np.abs(rates * scale))) / (LARGEST * size)  # κ of a first step of a hundredth of the size
        self.least = LEAST * most
        floor = FADED * float(np.max(np.abs(acting / scale)))
        left, kappa, long, used, raised = _left(self.tables, q, lam), most, np.inf, most, False
        for _ in range(STEPS):
            over, short = self._beside_what_acts(q, left, floor), long <= NEAR * size
            if over <= BALANCED or (short and (used <= self.least or (raised and over <= NO_REST))):
                return self._settled(q, lam, left)
            if short and raised:  # nothing but κ keeps it here, as where a force jumps
                break
            here = Linear(self.tables, q, lam)
            raised = False
            for _ in range(UPHILL):
                step, more = here.solve(here.factors(SLOWED * kappa), SLOWED * left)
                long, work = float(np.max(np.abs(step * scale))), float(step @ left)
                if long <= LARGEST * size and work >= 0.0:
                    there, loads = self._closed(self.m.kit.moved(q, step)), lam + more / SLOWED
                    after = left if there is None else _left(self.tables, there, loads)
                    if there is not None and (long <= NEAR * size or work + step @ after >= DOWN * work):
                        break
                kappa *= 10.0
                raised = True
            else:
                break
            q, lam, left, used, self.went = there, loads, after, kappa, True
            if not raised:
                kappa = max(0.1 * kappa, self.least)
        raise none_found(float(np.max(np.abs(left))))

    def _settled(self, q: np.ndarray, lam: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A last step of Newton's method, where it leaves less."""
        here = Linear(self.tables, q, lam)
        step, more = here.solve(here.factors(SLOWED * self.least), SLOWED * left)
        if np.max(np.abs(step * self.scale)) <= 1e-3 * self.size:
            there, loads = self._closed(self.m.kit.moved(q, step)), lam + more / SLOWED
            if there is not None:
                after = _left(self.tables, there, loads)
                if np.max(np.abs(after)) <= np.max(np.abs(left)):
                    return there, loads, after
        return q, lam, left

    def _beside_what_acts(self, q: np.ndarray, left: np.ndarray, floor: float) -> float:
        """The largest force left over beside the largest that acts here, which counts as no less than `floor`."""
        acting = _left(self.tables, q, np.zeros(self.tables.model.n_lam))
        largest = max(float(np.max(np.abs(acting / self.scale))), floor, 1e-300)
        return float(np.max(np.abs(left / self.scale))) / largest

    def beside(self, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """A closed position a thousandth of the size away, anywhere."""
        here, random = Linear(self.tables, q, lam), np.random.default_rng(7)
        away, _ = here.solve(here.factors(1.0, 0.0), random.standard_normal(here.nv))
        moved = self._closed(self.m.kit.moved(q, away * (1e-3 * self.size / np.max(np.abs(away * self.scale)))))
        return q if moved is None else moved

    def _unhindered(self, q: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations at rest, drives standing, and their multipliers."""
        here = Linear(self.tables, q, np.zeros(self.tables.model.n_lam))
        return here.solve(here.factors(1.0, 0.0), force)

    def _closed(self, q: np.ndarray) -> np.ndarray | None:
        """The position with its joints closed; None where that is too far away."""
        try:
            found, q = self.tables.nearest(q, self.closed, self.size, CLOSING)
        except HolonomicError:  # at a singular position
            return None
        return q if found else None


def none_found(left: float | None = None) -> StepFailed:
    """What is said where there is no equilibrium."""
    found = "" if left is None else f": a force of {left:.2g} N is left over"
    return StepFailed(
        f"no equilibrium near the start{found}. Does something keep the mechanism from falling or sliding away? Begin elsewhere "
        "with near=."
    )


def _left(tables: TableKinematics, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """f - Gᵀλ at rest."""
    y, model = np.concatenate([q, tables.rest, lam]), tables.model
    R = model.evaluate(Fn.EQUATIONS, 0.0, y, np.zeros(len(y)), tables.data, VARIANT)
    return -R[model.nq : model.nq + model.nv]


def _smallest(tables: TableKinematics, q: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """The smallest multipliers, where rows repeat others: those of the field at rest, if they do the same to all bodies.

    They do not where drives, which stand at rest, begin to move faster.
    """
    model, x = tables.model, np.concatenate([q, tables.rest])
    if not any(model.system.rank):
        return lam
    found = model.evaluate(Fn.FIELD, 0.0, x, np.zeros(0), tables.data)[model.nq + model.nv : -1]
    pulls, others = (model.evaluate(Fn.REACTIONS, 0.0, x, each, tables.data) for each in (lam, found))
    return found if np.max(np.abs(pulls - others)) <= SAME * np.max(np.abs(pulls)) else lam


def is_stable(here: Linear) -> bool | None:
    """Whether K is positive on the tangent of the constraints; None where forces have no potential, so that K is not symmetric.

    Of M x = (K + κ M) x / θ on the tangent the stable motions have θ between 0 and 1/κ; an unstable one has another θ, and the more
    so the nearer κ is to its own. κ falls from the largest stiffness by M on; the largest θ in size is looked at each time.
    """
    random = np.random.default_rng(5)
    once, twice, stiff = here.factors(1.0, 0.0), here.factors(2.0, 0.0), here.factors(1.0, 1.0)
    mass = lambda x: here.times(twice, x) - here.times(once, x)  # damping stands in all of them
    stiffness = lambda x: here.times(stiff, x) - here.times(once, x)
    rates = lambda force: here.solve(once, force)[0]
    x, y = (rates(random.standard_normal(here.nv)) for _ in range(2))
    if not np.any(x):
        return None  # nothing is free
    uneven = lambda x, y: abs(y @ stiffness(x) - x @ stiffness(y)) > UNEVEN * np.linalg.norm(x) * np.linalg.norm(stiffness(y))
    if uneven(x, y):
        return None
    largest = np.max(np.abs(_ritz(lambda x: rates(stiffness(x)), mass, x)))
    kappa = largest
    while kappa > FLAT * largest:
        factors = here.factors(SLOWED * kappa)
        softened = lambda x, factors=factors: here.solve(factors, SLOWED * mass(x))[0]
        if uneven(softened(x), softened(y)):  # seen where what is stiffer hardly moves
            return None
        theta = kappa * _ritz(softened, mass, x)
        if theta.min() < -APART_BY or theta.max() > 1.0 + APART_BY:
            return False
        kappa /= APART
    return True


def _ritz(times, mass, x: np.ndarray) -> np.ndarray:
    """Eigenvalues that Lanczos's method sees of a map that is symmetric in the metric of `mass`."""
    basis, weighed, alpha, beta = [], [], [], []
    for _ in range(LOOKS):
        w = mass(x)
        long = np.sqrt(max(float(x @ w), 0.0))
        if not long > 0.0 or (beta and long <= 1e-10 * max(np.abs(alpha).max(), np.abs(beta).max())):
            break
        if basis:
            beta.append(long)
        x, w = x / long, w / long
        basis.append(x)
        weighed.append(w)
        x = times(x)
        alpha.append(float(w @ x))
        for _ in range(2):
            for each, along in zip(basis, weighed, strict=True):
                x = x - (along @ x) * each
    n = len(alpha)
    return np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta[: n - 1], 1) + np.diag(beta[: n - 1], -1)) if n else np.zeros(1)
