"""Equilibrium of a mechanism, and small motions around it.

At rest the applied forces and the reactions balance: f(q, 0) - Gᵀλ = 0, g(q) = 0. Around it, on the tangent
q = q₀ + N y of the constraints (G N = 0),

    NᵀM N y'' + NᵀC N y' + NᵀK N y = 0,   C = -∂f/∂v,   K = -∂(f - Gᵀλ)/∂q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadArgument, InconsistentState, UntraceableFunction
from ..model.blas_threads import one_thread
from ..model.call_by_name import Names, call, flatten_params
from ..model.input_tables import input_table, values_at
from .assemble import Kinematics, beginning, close, numbers_by_name, rows_by_qr
from .mechanism import Mechanism
from .rest_by_tables import Resting, none_found, rest_by_tables
from .results import MechanismRecord, Resolver

STEPS = 100
HALVED = 8  # times that a step is, after which joints cannot be closed
LARGE = 40  # bodies, beyond which rest is found by tables: 30 links take 30 ms then, 0.1 s by matrices of all
NO_REST = 1e-6  # forces left over beside those that act, with which a mechanism does not rest where no step helps any more
BALANCED = 1e-10  # forces left over, relative to those that act


class Balance(NamedTuple):
    """Multipliers, what they leave over of the forces, G, and the largest force that acts; forces on rotations per length."""

    lam: np.ndarray
    left: np.ndarray
    G: np.ndarray
    acting: float


class TracedAtRest(NamedTuple):
    """Functions of the traced system at rest: (g, G, f) of q; -∂(f - Gᵀλ)/∂q along the velocities and -∂f/∂v of (q, λ)."""

    level: Callable[..., list[np.ndarray]]
    slopes: Callable[..., list[np.ndarray]]


def refuse_states(m) -> None:
    """Refuse what has no rest that forces alone decide, and what is no mechanism."""
    if not isinstance(m, Mechanism):
        raise BadArgument(f"rest and small motions are those of a Mechanism, got {type(m).__name__}.")
    if m.states:
        raise BadArgument(
            f"rest and small motions are found for forces alone, not with states ({', '.join(m.states)}). Simulate "
            "until it rests, or state the forces that act there without them."
        )


def inputs_of(system) -> dict[str, float]:
    """Inputs of a system at t = 0, by name."""
    given = {"t": 0.0, "p": Names(**dict(system.params))}
    return {
        name: float(call(value, name, ("t", "p"), given) if callable(value)
                    else values_at(*input_table(name, value), np.zeros(())) if isinstance(value, tuple) else value)
        for name, value in (system.inputs or {}).items()
    }  # fmt: skip


class Statics(Kinematics):
    """Forces and masses of a mechanism as numbers, at t = 0."""

    def __init__(self, m):
        super().__init__(m)
        self.system = m.to_system()[0]
        self.p = numbers_by_name(m)
        self.own = Names(**dict(self.system.params))  # what the system's functions take
        self.u = Names(**inputs_of(self.system))

    def mass(self) -> np.ndarray:
        return np.array(self.system.mass(p=self.own), dtype=float)

    def force(self, q, v, lam=None) -> np.ndarray:
        """All applied forces, those of potentials included; friction under reactions only where these are given."""
        total = np.zeros(self.nv)
        if self.system.force is not None:
            lam = np.zeros(len(self.labels)) if lam is None else lam
            given = {"t": 0.0, "q": q, "v": v, "p": self.own, "u": self.u, "lam": lam}
            total += np.array(call(self.system.force, "force()", tuple(given), given), dtype=float)
        if self.system.potential is not None:
            V = lambda x: np.array([self.system.potential(q=x, p=self.own)])
            total -= self.slope(V, 0.0, q, range(self.nv))[0]
        return total

    def forces_and_rows(self, q) -> tuple[np.ndarray, np.ndarray]:
        """f at rest, and G."""
        if self.traced is None:
            return self.force(q, np.zeros(self.nv)), self.jacobian(0.0, q)
        _, G, f = self.traced.level(q)
        return f[:, 0], G

    def rows_and_jacobian(self, q, parts):
        """Rows of all parts at position level, and their derivatives."""
        if self.traced is None:
            return super().rows_and_jacobian(q, parts)
        g, G, _ = self.traced.level(q)
        return g[:, 0], G[: len(g)]

    @cached_property
    def traced(self) -> TracedAtRest | None:
        """The same with exact derivatives, at rest; None of what cannot be traced."""
        from ..model.derive import Derived
        from ..model.symbolics import SX, function_of, jacobian, substitute
        from ..model.trace import trace

        try:
            found = trace(self.system, self.m.assembly.q, np.zeros(self.nv), 0.0)
        except UntraceableFunction:
            return None
        e, d = found.expressions, Derived(found.expressions)
        inputs = [number for value in vars(self.u).values() for number in (value, 0.0, 0.0)]
        data = np.zeros(e.data.numel())  # what stands behind the inputs enters neither rows nor forces
        known = np.concatenate([flatten_params(dict(self.system.params)), found.numbers, inputs])
        data[: len(known)] = known
        at_rest = substitute(d.force, e.lam, SX.zeros(e.lam.numel(), 1)) if d.lam_in_force else d.force
        K = -jacobian(at_rest - d.G.T @ e.lam, e.q)
        K = K if e.kinematics is None else K @ e.kinematics
        symbols, rest, free = [e.t, e.q, e.v, e.lam, e.data], np.zeros(self.nv), np.zeros(e.lam.numel())
        level = function_of(symbols, [e.constraint, d.G, at_rest])
        slopes = function_of(symbols, [K, -jacobian(d.force, e.v)])
        return TracedAtRest(lambda q: list(level(0.0, q, rest, free, data)), lambda q, lam: list(slopes(0.0, q, rest, lam, data)))

    def stiffness(self, q, lam) -> np.ndarray:
        """-∂(f - Gᵀλ)/∂q along the velocities; of what cannot be traced, by central differences."""
        if self.traced is not None:
            return self.traced.slopes(q, lam)[0]
        left = lambda x: self.force(x, np.zeros(self.nv)) - self.jacobian(0.0, x).T @ lam
        columns = []
        for j in range(self.nv):
            step = np.zeros(self.nv)
            step[j] = h = 1e-5 * self.size / self.scale[j]
            columns.append((left(self.kit.moved(q, -step)) - left(self.kit.moved(q, step))) / (2 * h))
        return np.array(columns).T

    def damping(self, q, lam) -> np.ndarray:
        """-∂f/∂v at rest; of what cannot be traced, by central differences."""
        if self.traced is not None:
            return self.traced.slopes(q, lam)[1]
        if self.system.force is None:
            return np.zeros((self.nv, self.nv))
        columns = []
        for j in range(self.nv):
            step = np.zeros(self.nv)
            step[j] = h = 1e-6 * self.size / self.scale[j]
            columns.append((self.force(q, -step, lam) - self.force(q, step, lam)) / (2 * h))
        return np.array(columns).T

    def balance(self, q) -> Balance:
        """The smallest λ that balances best; forces on rotations count per length."""
        f, G = self.forces_and_rows(q)
        scaled, acting = G / self.scale, f / self.scale
        found = rows_by_qr(scaled) if len(G) else None
        if found is None:
            lam = np.linalg.lstsq(scaled.T, acting, rcond=1e-10)[0]
        else:
            lam = np.linalg.solve(found[1], found[0].T @ acting)
        return Balance(lam, acting - scaled.T @ lam, G, max(float(np.max(np.abs(acting))), 1e-300))


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A position at rest. Results are read by name: `eq["A"].force`, `eq["link"].position`.

    Parameters
    ----------
    q, lam : array
        Coordinates and multipliers.
    stable : bool or None
        Whether the stiffness on the tangent of the constraints is positive; None without freedom, and of more than 40 bodies where
        forces have no potential.
    left : float
        Largest force left over, N.
    """

    q: np.ndarray
    lam: np.ndarray
    stable: bool | None
    left: float
    _record: MechanismRecord = field(repr=False)

    def __str__(self) -> str:
        kind = {True: "stable", False: "not stable", None: "without freedom"}[self.stable]
        forces = ", ".join(f"{name} {_vector(self[name].force)}" for name in self._record.resolver.joints)
        return f"at rest ({kind}), forces left over {self.left:.1e} N; forces on the joints' second bodies, N: {forces or 'none'}"

    def __getitem__(self, name: str) -> Any:
        """Return a body, joint, point or force by name."""
        resolver = self._record.resolver
        if name not in resolver:
            raise BadArgument(f"there is no {name!r}. There are: {', '.join(resolver.names)}.")
        return resolver.view_of(self._record, name)


def _vector(values) -> str:
    return "(" + ", ".join(f"{x + 0.0:.4g}" for x in np.ravel(values)) + ")"


def _moved(s: Statics, q: np.ndarray, step: np.ndarray, parts) -> np.ndarray:
    """Return the closed position after a step; where the joints cannot be closed so far away, after a half, a fourth and so on."""
    for halved in range(HALVED):
        try:
            return close(s, s.kit.moved(q, step / 2**halved), parts, {}, "")
        except InconsistentState:
            continue
    return close(s, s.kit.moved(q, step / 2**HALVED), parts, {}, "")


def equilibrium(m, near=None) -> Equilibrium:
    """Find a position of rest, with the reactions there.

    Newton's method on the tangent of the constraints, downhill where the energy allows; drives stand where they
    are at t = 0, inputs at their value then.

    Parameters
    ----------
    m : Mechanism
        What to bring to rest.
    near : optional
        Where to begin, as for `Mechanism.assemble`; where the mechanism stands if not given.

    Returns
    -------
    Equilibrium
        Raises `StepFailed` if there is none in reach.
    """
    refuse_states(m)
    ways = [_rest_by_matrices, lambda m, near: rest_by_tables(m, near, inputs_of)]  # None: not found, or not to be had
    if len(m.bodies) > LARGE:
        ways.reverse()
    with one_thread(m.kit.NV * len(m.bodies)):
        found = ways[0](m, near) or ways[1](m, near)
    if found is None:
        raise none_found()
    zero = np.zeros(len(m.bodies) * m.kit.NV)
    record = MechanismRecord(Resolver(m), 0.0, found.q, zero, zero, found.lam, numbers_by_name(m), m.inputs)
    return Equilibrium(found.q, found.lam, found.stable, found.left, record)


def _rest_by_matrices(m, near) -> Resting | None:
    """Where a mechanism rests, by matrices of all of it; None where that is not found."""
    s = Statics(m)
    parts = [part for part in s.parts if part.level == "position"]
    q = m.assembly.q if near is None else close(s, beginning(m, s, near), parts, {}, "")
    for _ in range(STEPS):
        lam, left, G, acting = s.balance(q)
        N = tangent(s, G)
        if not N.shape[1] or np.max(np.abs(left)) <= BALANCED * acting:
            break
        K = N.T @ s.stiffness(q, lam) @ N
        step = N @ _downhill(K, N.T @ (left * s.scale), 0.1 * s.size)
        largest = float(np.max(np.abs(step * s.scale)))
        step *= min(1.0, 0.1 * s.size / max(largest, 1e-300))
        q = _moved(s, q, step, parts)
        if largest <= 1e-13 * s.size:
            lam, left, G, acting = s.balance(q)
            break
    else:
        return None
    N = tangent(s, G)
    if N.shape[1] and np.max(np.abs(left)) > NO_REST * acting:
        return None
    stable = None
    if N.shape[1]:
        K = N.T @ s.stiffness(q, lam) @ N
        values = np.linalg.eigvalsh((K + K.T) / 2)
        stable = bool(values[0] > -1e-7 * np.max(np.abs(values)))
    return Resting(q, lam, stable, float(np.max(np.abs(left))))


def _downhill(K, slope, most: float) -> np.ndarray:
    """Newton's step, turned downhill where the stiffness is negative and limited where it vanishes."""
    if np.abs(K - K.T).max() > 1e-6 * np.abs(K).max():  # forces without a potential: no hill to speak of
        return np.linalg.lstsq(K, slope, rcond=1e-10)[0]
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    along = vectors.T @ slope
    return vectors @ (along / np.maximum(np.maximum(np.abs(values), np.abs(along) / most), 1e-300))


def tangent(s: Kinematics, G) -> np.ndarray:
    """Velocities that the constraints leave free, as columns."""
    if not len(G):
        return np.eye(s.nv)
    scaled = G / s.scale
    scaled = scaled / np.maximum(np.linalg.norm(scaled, axis=1), 1e-300)[:, None]
    found = rows_by_qr(scaled, "complete")
    if found is not None:
        return found[0][:, len(G) :] / s.scale[:, None]
    _, values, rows = np.linalg.svd(scaled)
    rank = int(np.sum(values > 1e-8 * values[0]))
    return rows[rank:].T / s.scale[:, None]


@dataclass(frozen=True, eq=False)
class Modes:
    """Small motions around an equilibrium.

    Parameters
    ----------
    eigenvalues : array of complex
        All of them, 1/s; in pairs where the motion oscillates.
    frequencies : array
        Undamped eigenfrequencies |s|/2π of the oscillating modes in Hz, growing.
    damping : array
        Damping ratio -Re s/|s| of each.
    modes : array, (coordinate, mode)
        Velocities of the bodies' coordinates in each mode, largest displacement 1.
    M, C, K : array
        Mass, damping and stiffness on the tangent of the constraints.
    """

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    modes: np.ndarray
    M: np.ndarray
    C: np.ndarray
    K: np.ndarray

    def __str__(self) -> str:
        lines = [f"{f:.6g} Hz, damping {100 * d + 0.0:.3g} %" for f, d in zip(self.frequencies, self.damping, strict=True)]
        return "\n".join(lines) or "no oscillating mode"


def linearize(m, at: Equilibrium | None = None) -> Modes:
    """Return eigenfrequencies, damping and modes of small motions on the constraints.

    Parameters
    ----------
    m : Mechanism
        What to linearize.
    at : Equilibrium, optional
        Where; the equilibrium nearest to where the mechanism stands if not given.

    Returns
    -------
    Modes
        Frequencies in Hz, damping ratios, and shapes as columns of velocities.
    """
    refuse_states(m)
    at = equilibrium(m) if at is None else at
    if not isinstance(at, Equilibrium):
        raise BadArgument(f"linearize: at= is what equilibrium(m) returned, got {at!r}.")
    with one_thread(m.kit.NV * len(m.bodies)):
        return _linearized(Statics(m), at)


def _linearized(s: Statics, at: Equilibrium) -> Modes:
    N = tangent(s, s.jacobian(0.0, at.q))
    n = N.shape[1]
    if n == 0:
        raise BadArgument("the mechanism has no degree of freedom: nothing can vibrate. Leave out a drive or a joint.")
    M, C, K = (N.T @ matrix @ N for matrix in (s.mass(), s.damping(at.q, at.lam), s.stiffness(at.q, at.lam)))
    inverse = np.linalg.inv(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
    eigenvalues, vectors = np.linalg.eig(A)
    order = np.lexsort((-eigenvalues.imag, np.abs(eigenvalues)))
    eigenvalues, vectors = eigenvalues[order], vectors[:, order]
    scale = np.abs(eigenvalues).max()
    up = [i for i, s_ in enumerate(eigenvalues) if s_.imag > 1e-9 * scale]
    shapes = N @ vectors[:n, up]
    shapes = shapes / np.array([column[np.argmax(np.abs(column))] for column in shapes.T] or [1.0])
    if not np.any(np.abs(shapes.imag) > 1e-9):
        shapes = shapes.real
    found = eigenvalues[up]
    return Modes(eigenvalues, np.abs(found) / (2 * np.pi), -found.real / np.abs(found), shapes, M, C, K)
