"""The model functions of a system that is not traced, each made of plain Python around the user's own.

The saddle-point system is solved by dense LU with pivoting and refinement, projections by dense Cholesky.
"""

from __future__ import annotations

import numpy as np

from ..errors import OK, IncompatibleMethods
from ..kernels.dense_projection import factor_rows, factors_length, ratio_of_rows, solve_rows, tangent_rows
from ..kernels.saddle import dense_saddle, dense_short, dense_work
from ..kernels.signatures import Fn
from ..kernels.vectors import all_finite
from .massless_coordinates import held_mass
from .model_base import Variant, out_of_domain

NEEDS_TRACE = "differentiates the equations: it works with trace=True only."


class PythonFunctions:
    """Maker of model functions for one variant. States are copied: users may keep what they are given."""

    def __init__(self, model, variant: Variant):
        for chosen in (variant.formulation, variant.bend, variant.direction):
            if chosen is not None:
                raise IncompatibleMethods(f"{chosen!r} {NEEDS_TRACE}")
        self.model, self.variant, self.numeric = model, variant, model.numeric
        self.nq, self.nv = model.nq, model.nv
        self.at_gains = model.data_places["gains"].start
        self.rows = None if variant.rows is None else np.array(variant.rows, dtype=int)
        self.n_lam = model.n_lam if self.rows is None else len(self.rows)
        kept = range(model.n_constraints) if variant.rows is None else variant.rows
        holonomic = [row for row in kept if row < model.n_constraints]
        self.n_holonomic = len(holonomic)
        invariants = range(model.n_constraints, model.n_constraints + model.n_invariants)
        self.position = None if self.rows is None else np.array([*holonomic, *invariants], dtype=int)
        self.n_position = self.n_holonomic + model.n_invariants
        self.rank = self.n_lam if variant.kept is None else len(variant.kept)

    def make(self, fn: Fn):
        """Return f(t, a, b, data, out) and the length of what it writes."""
        makers = {
            Fn.FIELD: self._field, Fn.TERMS: self._terms, Fn.RESIDUAL: self._residual, Fn.KINEMATICS: self._kinematics,
            Fn.VELOCITY: self._velocity, Fn.HALF_EXPLICIT: self._half_explicit, Fn.EXTRA_RATES: self._extra_rates,
            Fn.SETTLED: self._settled, Fn.ALGEBRAIC: self._algebraic, Fn.ENERGY: self._energy, Fn.REACTIONS: self._reactions,
            Fn.OUTPUTS: self._outputs, Fn.EVENTS: self._events,
        }  # fmt: skip
        if fn in makers:
            return makers[fn]()
        level, _, action = fn.name.partition("_")
        of_a_level = {"FACTOR": self._factor, "SOLVE": self._solve, "TANGENT": self._tangent}
        if level not in ("POS", "VEL", "FULL") or action not in of_a_level:
            raise IncompatibleMethods(f"{fn.name} {NEEDS_TRACE}")
        return of_a_level[action]("VEL" if level == "POS" and self.model.shared else level)

    # the rows of this variant

    def _position_rows(self, t, q, v, data) -> np.ndarray:
        rows = self.numeric.position_rows(t, q, v, data)
        n = self.model.n_constraints
        if self.model.n_invariants:
            start = data[self.model.data_places["invariants"]]
            rows = np.concatenate([rows[:n], rows[n:] - start])
        return rows if self.position is None else rows[self.position]

    def _velocity_rows(self, t, q, v, data) -> np.ndarray:
        rows = self.numeric.velocity_rows(t, q, v, data)
        return rows if self.rows is None else rows[self.rows]

    def _G(self, t, q, v, data) -> np.ndarray:
        G = self.numeric.G(t, q, v, data)
        return G if self.rows is None else G[self.rows]

    def _gamma(self, t, q, v, data) -> np.ndarray:
        """γ, with Baumgarte's terms γ + 2α(Gv + g_t) + β² g if this variant has gains."""
        gamma = self.numeric.gamma(t, q, v, data)
        gamma = gamma if self.rows is None else gamma[self.rows]
        if self.variant.gains:
            on_position, on_velocity = data[self.at_gains : self.at_gains + 2]
            gamma = gamma + on_velocity * self._velocity_rows(t, q, v, data)
            gamma[: self.n_holonomic] += on_position * self._position_rows(t, q, v, data)[: self.n_holonomic]
        return gamma

    # model functions

    def _split(self, a):
        x = a[: self.nq + self.nv].copy()
        return x[: self.nq], x[self.nq :]

    def _field(self):
        return self._ode_field() if self.model.is_ode else self._saddle_field()

    def _ode_field(self):
        rhs, n = self.numeric.rhs, self.nq
        none = np.zeros(0)
        if self.variant.gains and self.n_position:
            rhs = self._damped(rhs)

        def field(t, a, b, data, out):
            try:
                out[:n] = rhs(t, a[:n].copy(), none, data)
            except (ArithmeticError, ValueError) as problem:
                _or_raise(problem)
                out[:n] = np.nan
            out[n] = 1.0

        return field, n + 1

    def _damped(self, rhs):
        """y' = f - gain Hᵀ(HHᵀ)⁻¹ h: continuous stabilization of the invariants."""
        factor, length = self._factor("POS")
        solve, _ = self._solve("POS")

        def damped(t, y, v, data):
            F, pull = np.empty(length), np.empty(self.nq)
            factor(t, y, y, data, F)
            solve(t, F, self._position_rows(t, y, v, data), data, pull)
            return rhs(t, y, v, data) - data[self.at_gains] * pull

        return damped

    def _saddle_field(self):
        nq, nv, nl = self.nq, self.nv, self.n_lam
        terms, count = self._terms()
        nc, extra_rates = self.model.nc, self._extra_rates()[0]
        room, size, n = dense_work(nq, nv, nl), nv + nl, nq + nv + nl + 1
        at_G = nq + nv * nv + nv

        def field(t, a, b, data, out):
            W = np.empty(room)
            try:
                terms(t, a, b, data, W)
            except (ArithmeticError, ValueError) as problem:
                _or_raise(problem)
                W[0] = np.nan
            if self.rank < nl:
                _solved_short(W, nq, nv, nl, self.rank, count, out)
            else:
                _solved(W, nq, nv, nl, size, count, at_G, at_G + nl * nv, out)
            if nc < nq:
                extra_rates(t, a, out[nq:], data, out[nc:])

        return field, n

    def _kinematics(self):
        def kinematics(t, a, b, data, out):
            out[: self.nq] = self.numeric.q_dot(t, *self._split(a), data)

        return _nan_outside(kinematics, self.nq), self.nq

    def _velocity(self):
        nl, count = self.n_lam, self.n_lam * (self.nv + 1)

        def velocity(t, a, b, data, out):
            q, v = self._split(a)
            out[:nl] = self._velocity_rows(t, q, v, data)
            out[nl:count] = self._G(t, q, v, data).ravel()

        return _nan_outside(velocity, count), count

    def _half_explicit(self):
        """Field of a half-explicit stage; γ is not asked for, which is its advantage."""
        nq, nv, nl = self.nq, self.nv, self.n_lam
        terms, count = self._terms(gamma=False)
        room, n = dense_work(nq, nv, nl), nq + nv + nl + 1

        def half_explicit(t, a, b, data, out):
            W = np.empty(room + nl * (nv + 1))
            W[room:] = b[: nl * (nv + 1)]
            try:
                terms(t, a, b, data, W)
            except (ArithmeticError, ValueError) as problem:
                _or_raise(problem)
                W[0] = np.nan
            _solved(W, nq, nv, nl, nv + nl, count, room + nl, room, out)

        return half_explicit, n

    def _terms(self, gamma: bool = True):
        numeric, nq, nv, nl = self.numeric, self.nq, self.nv, self.n_lam
        at_f, at_G = nq + nv * nv, nq + nv * nv + nv
        at_gamma = at_G + nl * nv
        count = at_gamma + nl

        def terms(t, a, b, data, out):
            q, v = self._split(a)
            out[:nq] = numeric.q_dot(t, q, v, data)
            out[nq:at_f] = numeric.mass(t, q, v, data).ravel()
            out[at_f:at_G] = numeric.force(t, q, v, data)
            if nl:
                out[at_G:at_gamma] = self._G(t, q, v, data).ravel()
                out[at_gamma:count] = self._gamma(t, q, v, data) if gamma else 0.0

        return terms, count

    def _extra_rates(self):
        nc, nq, nv, nl, every = self.model.nc, self.nq, self.nv, self.n_lam, self.model.n_lam

        def extra_rates(t, a, b, data, out):
            q, v = self._split(a)
            lam = b[nv : nv + nl].copy()
            if self.rows is not None:
                lam = np.zeros(every)
                lam[self.rows] = b[nv : nv + nl]
            out[: nq - nc] = self.numeric.extra_rates(t, q, v, data, b[:nv].copy(), lam)

        return _nan_outside(extra_rates, nq - nc), nq - nc

    def _settled(self):
        nw = self.model.nw

        def settled(t, a, b, data, out):
            out[:nw] = self.numeric.solved(t, *self._split(a), data)

        return _nan_outside(settled, nw), nw

    def _algebraic(self):
        nw = self.model.nw

        def algebraic(t, a, b, data, out):
            k, k_w = self.numeric.algebraic(t, *self._split(a), data)
            out[:nw], out[nw : nw + nw * nw] = k, k_w.ravel()

        return _nan_outside(algebraic, nw + nw * nw), nw + nw * nw

    def _residual(self):
        n_position, count = self.n_position, self.n_position + self.n_lam

        def residual(t, a, b, data, out):
            q, v = self._split(a)
            if n_position:
                out[:n_position] = self._position_rows(t, q, v, data)
            if count > n_position:
                out[n_position:count] = self._velocity_rows(t, q, v, data)

        return _nan_outside(residual, count), count

    def _jacobian(self, level: str):
        """The Jacobian of the rows of a level, and its shape."""
        numeric, nq, nv = self.numeric, self.nq, self.nv
        if level == "VEL":
            return self._G, (self.n_lam, nv)

        def position(t, q, v, data):
            J = numeric.position_jacobian(t, q, v, data)
            return J if self.position is None else J[self.position]

        if level == "POS":
            return position, (self.n_position, nq)
        rows = self.n_position + self.n_lam

        def full(t, q, v, data):
            H = np.zeros((rows, nq + nv))
            H[: self.n_position, :nq] = position(t, q, v, data)
            if self.n_lam:
                by_q = numeric.velocity_by_q(t, q, v, data)
                H[self.n_position :, :nq] = by_q if self.rows is None else by_q[self.rows]
                H[self.n_position :, nq:] = self._G(t, q, v, data)
            return H

        return full, (rows, nq + nv)

    def _over_metric(self, level: str, J, t, q, v, data) -> np.ndarray:
        """X = W⁻¹Jᵀ."""
        metric = self.variant.metric
        if isinstance(metric, str) and level != "FULL":
            X = np.linalg.solve(held_mass(self.numeric.mass(t, q, v, data), self._G(t, q, v, data)), J.T[: self.nv])
            return np.vstack([X, np.zeros((J.shape[1] - self.nv, J.shape[0]))])
        if isinstance(metric, tuple):
            weights = np.array(self.model.weights(metric, data))
            return J.T / {"POS": weights[: self.nq], "VEL": weights[self.nq :], "FULL": weights}[level][:, None]
        return J.T

    def _factor(self, level: str):
        jacobian, (rows, columns) = self._jacobian(level)
        length, droppable = factors_length(rows, columns), self.model.is_ode and not self.model.n_constraints
        short = self._short(level)

        def factor(t, a, b, data, out):
            q, v = self._split(a)
            J = np.ascontiguousarray(jacobian(t, q, v, data))
            X = np.ascontiguousarray(self._over_metric(level, J, t, q, v, data))
            factor_rows(J, X, out, droppable, short)
            if level == "FULL":  # each row is measured by what its level depends on: g by q, G v + g_t by v
                n = self.n_position
                lengths = [*np.linalg.norm(J[:n, : self.nq], axis=1), *np.linalg.norm(J[n:, self.nq :], axis=1)]
                out[1 : 1 + rows] = np.where(out[1 : 1 + rows] > 0.0, 1.0 / np.maximum(lengths, 1e-300), 0.0)

        return _nan_outside(factor, length, np.linalg.LinAlgError), length

    def _short(self, level: str) -> int:
        """By how many rows the rank of a level is short."""
        kept = self.variant.kept
        if kept is None:
            return 0
        on_position = self.n_holonomic - sum(row < self.model.n_constraints for row in kept)
        return {"POS": on_position, "VEL": self.n_lam - len(kept), "FULL": on_position + self.n_lam - len(kept)}[level]

    def _solve(self, level: str):
        _, (rows, columns) = self._jacobian(level)
        short = self._short(level)
        return lambda t, a, b, data, out: solve_rows(a, rows, columns, b, out, short), columns

    def _tangent(self, level: str):
        _, (rows, columns) = self._jacobian(level)
        short = self._short(level)
        return lambda t, a, b, data, out: tangent_rows(a, rows, columns, b, out, short), columns

    def _energy(self):
        numeric = self.numeric

        def energy(t, a, b, data, out):
            q, v = self._split(a)
            out[0] = 0.5 * (v @ numeric.mass(t, q, v, data) @ v)
            out[1] = 0.0 if numeric.potential is None else numeric.potential(t, q, v, data)

        return _nan_outside(energy, 2), 2

    def _reactions(self):
        nl, nv = self.n_lam, self.nv

        def reactions(t, a, b, data, out):
            q, v = self._split(a)
            out[:nv] = -(b[:nl] @ self._G(t, q, v, data)) if nl else 0.0

        return _nan_outside(reactions, nv), nv

    def _outputs(self):
        counts = [int(np.prod(shape)) for shape in self.model.output_shapes.values()]
        return self._named(list(self.model.outputs.values()), counts)

    def _events(self):
        made = self.numeric.events(self.variant.events, self.model.n_lam)
        return self._named(list(made.values()), [1] * len(made))

    def _named(self, functions: list, counts: list[int]):
        """Outputs or events, one after the other; dropped rows carry no multiplier."""
        nv, nl, every = self.nv, self.n_lam, self.model.n_lam
        ends = np.cumsum([0, *counts]).tolist()

        def named(t, a, b, data, out):
            q, v = self._split(a)
            held = b[: nv + nl].copy()
            lam = held[nv:]
            if self.rows is not None:
                lam = np.zeros(every)
                lam[self.rows] = held[nv:]
            for i, f in enumerate(functions):
                out[ends[i] : ends[i + 1]] = f(t, q, v, data, held[:nv], lam).ravel()

        return _nan_outside(named, ends[-1]), ends[-1]


def _solved(W, nq, nv, nl, size, count, at_low, at_gamma, out) -> None:
    """Solve for a row of K; ρ = 0 at a singular position."""
    n = nq + size + 1
    if dense_saddle(W, nq, nv, nl, size, count, at_low, at_gamma, out) == OK:
        out[n - 1] = ratio_of_rows(W, nq + nv * nv + nv, nl, nv, count)
    else:
        out[:n] = np.nan
        if all_finite(W, count):
            out[n - 1] = 0.0


def _solved_short(W, nq, nv, nl, rank, count, out) -> None:
    """The same where rows repeat others; ρ is that of the rows that were taken."""
    n = nq + nv + nl + 1
    if dense_short(W, nq, nv, nl, rank, count, out) == OK:
        out[n - 1] = ratio_of_rows(W, nq + nv * nv + nv, rank, nv, count)
    else:
        out[:n] = np.nan
        if all_finite(W, count):
            out[n - 1] = 0.0


def _or_raise(problem: Exception) -> None:
    if not out_of_domain(problem):
        raise problem


def _nan_outside(function, count: int, *more: type[Exception]):
    """The function, giving NaN where a user's function raises because its argument is outside its domain."""

    def guarded(t, a, b, data, out):
        try:
            function(t, a, b, data, out)
        except (ArithmeticError, ValueError, *more) as problem:
            if not isinstance(problem, more):
                _or_raise(problem)
            out[:count] = np.nan

    return guarded
