"""What `simulate` looks into before a run, for every member of a sweep: mass matrix, velocity terms, invariants, gains.

Each is looked at only where it can differ between members: the model knows which numbers its mass matrix depends on. Terms
of all members of a stretch come out of one compiled loop and are judged as arrays; single members are looked into only
where that leaves a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import missed_multipliers
from ..errors import IncompatibleMethods
from ..kernels.signatures import Fn
from ..loop.batch import along_members
from ..loop.replay import along
from ..model.given_numbers import FORGOTTEN_TERMS, SYMMETRIC, asymmetry, numbers_text
from ..native.callbacks import raise_what_was_raised
from ..planning.gains import check_gain
from ..results.trail import all_rows
from ..starting.invariance import AT_THE_END, CANCELS, NEAR_ITS_VALUE, changing, not_invariant
from ..starting.rank import MASSLESS, massless
from .members import UNDECIDED, Members
from .program import Program

NEARBY = (0.05, 0.3)  # as for a single run: how far from the start symmetry and velocity terms are looked at, too
DIFFERENCE = 1e-6  # of central differences of M
FORGOTTEN = 1e-7  # of |M|: velocity terms below are rounding of the differences


@dataclass(frozen=True)
class Checks:
    """What may be different from member to member."""

    mass: bool = False  # the mass matrix
    moves: bool = False  # and whether it changes with position or time
    velocity_terms: bool = False  # whether velocity terms have been forgotten
    invariants: bool = False
    gain: bool = False  # of a stabilization that forward Euler discretizes
    multipliers: bool = False  # whether they are those that were expected

    def __bool__(self) -> bool:
        return self.mass or self.velocity_terms or self.invariants or self.gain or self.multipliers


def needed(plan, params, inputs: bool, starts_differ: bool, initial: str, expects: bool = False) -> Checks:
    """Return what has to be looked at for each member of a sweep over these parameters."""
    model = plan.model
    gain = plan.choice.stabilization.may_overshoot
    if model.is_ode:
        return Checks(invariants=model.n_invariants > 0 and initial != "free", gain=gain)
    expects &= initial != "free"
    places, moves = model.mass_reads
    swept = {i for name in params for i in range(model.places[name][0].start, model.places[name][0].stop)}
    if inputs:
        swept |= set(range(model.data_places["inputs"].start, model.data_places["inputs"].stop))
    mass = bool(swept & set(places)) or (moves and (starts_differ or initial == "project"))
    return Checks(mass, moves, mass and model.may_forget, model.n_invariants > 0 and initial != "free", gain, expects)


def refuse(checks: Checks, program: Program, members: Members, t0: float, initial: str, lam0, look_into) -> None:
    """Enter into `members.unable` those that `simulate` would refuse, and why; `look_into` are inputs, their values and
    the direction of time, `lam0` rows of multipliers that are expected, or None.
    """
    if not checks:
        return
    look = _Look(program, members, t0, *look_into)
    if checks.mass:
        _mass(look, initial, NEARBY if checks.moves else ())
    if checks.velocity_terms:
        _velocity_terms(look)
    if checks.invariants:
        _invariants(look)
    if checks.gain:
        _gains(look)
    if checks.multipliers:
        _multipliers(look, lam0)


class _Look:
    """The members that can start so far, and model functions of all of them."""

    def __init__(self, program: Program, members: Members, t0, tables, values, forward):
        self.program, self.members, self.t0 = program, members, t0
        self.tables, self.forward = tables.for_kernels(values), forward
        self.size = program.model.nq + program.model.nv

    @property
    def able(self) -> np.ndarray:
        fine = np.ones(len(self.members.data), dtype=bool)
        fine[list(self.members.unable)] = False
        return np.flatnonzero(fine)

    def refuse(self, m, why: str) -> None:
        self.members.unable[int(m)] = why

    def terms(self, q_moved=None) -> tuple[np.ndarray, np.ndarray]:
        """M and G of all members, at their starts or at other positions."""
        model = self.program.model
        nq, nv = model.nq, model.nv
        X = self.members.starts[:, None, : self.size].copy()
        if q_moved is not None:
            X[:, 0, :nq] = q_moved
        fns, lengths = self.program.table("start")
        out = np.empty((len(X), 1, lengths[Fn.TERMS]))
        data = np.empty(self.members.data.shape[1])
        nothing = np.zeros((len(X), 1, 0))
        along_members(fns, int(Fn.TERMS), np.array([self.t0]), X, nothing, self.members.data, self.tables, self.forward, data, out)
        raise_what_was_raised()
        M = out[:, 0, nq : nq + nv * nv].reshape(len(X), nv, nv)
        at = nq + nv * nv + nv
        return M, out[:, 0, at : at + model.n_lam * nv].reshape(len(X), model.n_lam, nv)

    def nearby(self, spread: float) -> np.ndarray:
        """Positions near the starts; random, but the same every time."""
        model = self.program.model
        q = self.members.starts[:, : model.nq].copy()
        shift = np.random.default_rng(7).uniform(-1, 1, model.nc)
        q[:, : model.nc] += spread * shift * (0.3 + np.abs(q[:, : model.nc]))
        return q


def _mass(look: _Look, initial: str, nearby: tuple[float, ...]) -> None:
    """Refuse a mass matrix that is not symmetric, or not positive on what the constraints leave free."""
    M, G = look.terms()
    able = look.able
    able = able[np.isfinite(M[able]).all(axis=(1, 2))]  # the run itself reports others
    nc = look.program.model.nc
    places = [(look.members.starts, M), *((q, look.terms(q)[0]) for q in map(look.nearby, nearby))]
    for q, there in places:
        gap = np.abs(there - there.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
        for m in able[gap[able] > SYMMETRIC * np.abs(there[able]).max(axis=(1, 2), initial=1e-300)]:
            text = asymmetry(there[m], f"q = {numbers_text(q[m, :nc])}")
            if text is not None:
                look.members.unable.setdefault(int(m), text)
    if initial == "free":
        return
    able = np.intersect1d(able, look.able)
    for m in able[~_plainly_positive(M[able])]:
        found = massless(look.program.model, M[m], G[m])
        if found is not None:
            look.refuse(m, f"at t = {look.t0:.6g} {found}")


def _plainly_positive(M: np.ndarray) -> np.ndarray:
    """Which of many mass matrices are positive, whatever is free to move."""
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    positive = (diagonal > 0.0).all(axis=1)
    by = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = M * by[:, :, None] * by[:, None, :]
    try:  # all at once, a tenth of the time of eigenvalues
        np.linalg.cholesky(scaled[positive] - MASSLESS * np.eye(M.shape[1]))
    except np.linalg.LinAlgError:
        positive &= np.linalg.eigvalsh(scaled)[:, 0] > MASSLESS
    return positive


def _velocity_terms(look: _Look) -> None:
    """Refuse members whose velocity terms are not zero, where force() has none; see `trace`."""
    model = look.program.model
    v = np.random.default_rng(1).uniform(-1, 1, model.nv)
    for q in (look.members.starts[:, : model.nq], *(look.nearby(spread) for spread in NEARBY)):
        M = look.terms(q)[0]
        change, slope = np.zeros((len(q), model.nv)), np.zeros((len(q), model.nv))
        for i in range(model.nv):
            step = DIFFERENCE * (1.0 + np.abs(q[:, i]))
            move = np.zeros_like(q)
            move[:, i] = step
            by_q = (look.terms(q + move)[0] - look.terms(q - move)[0]) / (2.0 * step[:, None, None])
            change += v[i] * (by_q @ v)
            slope[:, i] = 0.5 * np.einsum("i,mij,j->m", v, by_q, v)
        size = np.abs(change - slope).max(axis=1, initial=0.0)
        able = look.able
        for m in able[size[able] > FORGOTTEN * (np.abs(M[able]).max(axis=(1, 2), initial=0.0) + 1e-300)]:
            look.refuse(m, FORGOTTEN_TERMS)


def _invariants(look: _Look) -> None:
    """Refuse members whose equations change what was stated as an invariant."""
    able, labels = look.able, look.program.model.invariant_labels
    if not len(able):
        return
    times, X = np.full(len(able), look.t0), look.members.starts[able]
    found, rates = _changing(look.program, look.members.data[able], times, X)
    for row in np.flatnonzero(found >= 0):
        look.refuse(able[row], not_invariant(labels[found[row]], look.t0, rates[row]))


def changed_at_end(program: Program, members: Members, ended, times, X) -> tuple[np.ndarray, np.ndarray]:
    """Of members at the end of their runs: the number of an invariant that the equations change (-1: none), and its rate."""
    data = members.data[ended]
    states = np.zeros((len(X), members.starts.shape[1]))
    states[:, : X.shape[1]] = X
    found, rates = _changing(program, data, times, states, AT_THE_END)
    fns, lengths = program.table("start")
    close = np.abs(_along(fns, Fn.RESIDUAL, times, states, data, _invariant_rows(program), lengths[Fn.RESIDUAL])).max(axis=1)
    return np.where(close <= NEAR_ITS_VALUE, found, -1), rates


def _changing(program: Program, data, times, states, cancels: float = CANCELS) -> tuple[np.ndarray, np.ndarray]:
    """`invariance.changing` of members, each with its own data."""
    size = program.model.nq + program.model.nv
    fns, rows = program.table("start")[0], _invariant_rows(program)
    room = max(program.size.nx, program.size.nrow, program.table("start")[1][Fn.RESIDUAL]) + 8
    slopes = _along(program.fns, Fn.FIELD, times, states, data, slice(0, size), room)
    values = lambda t, X: _along(fns, Fn.RESIDUAL, t, X, data, rows, room)
    return changing(values, times, states[:, :size], slopes, cancels)


def _invariant_rows(program: Program) -> slice:
    return slice(program.model.n_constraints, program.model.n_constraints + program.model.n_invariants)


def _along(fns, fn: Fn, times, states, data, part: slice, room: int) -> np.ndarray:
    """Part of what a model function gives at one state of each member."""
    out, nothing, states = np.empty((len(states), room)), np.zeros((len(states), 0)), np.ascontiguousarray(states)
    for m in range(len(states)):
        along(fns, int(fn), times, states, nothing, data[m], m, m + 1, out)
        raise_what_was_raised()
    return out[:, part]


def _multipliers(look: _Look, lam0: np.ndarray) -> None:
    """Refuse members whose multipliers at the start are not those that were expected."""
    program, able = look.program, look.able
    if not len(able):
        return
    room = max(program.size.nx, program.size.nrow) + 8
    part, times = slice(look.size, look.size + program.shape[1] - program.model.nv), np.full(len(able), look.t0)
    found = _along(program.fns, Fn.FIELD, times, look.members.starts[able], look.members.data[able], part, room)
    found = all_rows(found, program.rows or (), program.model.n_lam)
    G = look.terms()[1] if program.rows is not None else None
    for m, lam in zip(able, found, strict=True):
        text = missed_multipliers(program.model.row_labels, lam, lam0[m], None if G is None else G[m])
        if text is not None:
            look.refuse(m, text)


def _gains(look: _Look) -> None:
    """Refuse members at whose start a stabilization by forward Euler is unstable."""
    plan = look.program.plan
    for m in look.able:
        if plan is None:
            look.refuse(m, UNDECIDED)
            continue
        try:
            check_gain(plan, look.t0, look.members.starts[m, : look.size].copy(), look.members.data[m])
        except IncompatibleMethods as problem:
            look.refuse(m, str(problem))
