"""The terms of the equations on numbers, for models that run as plain Python.

What the equations need beyond the user's functions is taken from `derivatives=` or made by differences:

    G = ∂g/∂q Z,   g_t,   γ = d/ds (G v + g_t) along (1, Z v),   ∂V/∂q,   H = ∂h/∂q of the invariants h
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadArgument, ForgottenVelocityTerms, SingularMass, WrongShape
from .call_by_name import wanted
from .differences import Differences
from .extra_states import allowed, check_uses
from .functions_on_numbers import FunctionsOnNumbers
from .given_numbers import FORGOTTEN_TERMS, asymmetry, refuse_no_numbers, refuse_velocity
from .model_base import ModelBase
from .system import NO_DERIVATIVES

DERIVATIVES = ("G", "g_t", "gamma", "potential", "H")
NEWTON_STEPS, SETTLED = 20, 1e-9
WRONG_DERIVATIVE = 1e-4  # a given derivative further than this from differences is a mistake, not rounding


class TermsOnNumbers(FunctionsOnNumbers):
    """What a field, a residual or a projection is made of; each a function of (t, q, v, data).

    Given derivatives: "G" = ∂g/∂q (nq columns), "g_t", "gamma" = γ of the constraints and then the nonholonomic
    ones, "potential" = ∂V/∂q, "H" = ∂h/∂q of the invariants.
    """

    def __init__(self, model: ModelBase, q0: np.ndarray, v0: np.ndarray, t0: float):
        super().__init__(model, q0, v0, t0)
        self.inexact: list[str] = []  # what comes from differences and enters the accelerations
        self.error = 0.0  # of that, relative
        given = dict(self.system.derivatives or {})
        known = ("H",) if model.is_ode else DERIVATIVES
        for name in given:
            if name not in known:
                raise BadArgument(f"derivatives= has no {name!r}; known: {', '.join(known)}.")
        self.g = self.nonholonomic = self.Z = None
        self.nc = model.nc
        if len(model.extras):
            self._extras(given)
        self.invariants = self.rows("invariants", "invariant")
        if model.is_ode:
            self.rhs = self.checked(self.system.rhs, "rhs()", (self.nq,))
        else:
            self._mechanics(given)
        if self.invariants is not None:
            self._invariant_derivatives(given)

    def _extras(self, given: dict[str, Any]) -> None:
        """Rates of states, equations of algebraic variables, and whether constraints may use them."""
        check_uses(self.system, given)
        self.rates = []
        for name, size in self.model.extras.states:
            role, known = f"state {name!r}", allowed(self.system, "states", self.allowed)
            function = self.system.states[name]
            if callable(function) and not {"a", "lam"} & set(wanted(function, role, known)):  # these are not known yet
                still = np.zeros(self.nv), np.zeros(0)
                refuse_no_numbers(self.at_start(self.caller(function, role, known, True, True, plain=True), role, *still), role)
            self.rates.append((role, size, self.caller(function, role, known, extended=True)))
        rows = [
            self.checked(self.system.algebraic[name], f"algebraic equation {name!r}", (size,), "algebraic", raw=True)
            for name, size in self.model.extras.algebraic
        ]
        self.k = lambda t, q, v, data: np.concatenate([np.atleast_1d(f(t, q, v, data)) for f in rows])
        self._last: tuple[Any, np.ndarray] = (None, np.zeros(0))

    def _mechanics(self, given: dict[str, Any]) -> None:
        system, nq, nv = self.system, self.nc, self.nv
        self.gamma: Callable | None = None  # not known yet, nor how many multipliers there are
        if system.kinetic is not None:
            raise BadArgument(NO_DERIVATIVES)
        if system.kinematics is not None:
            self.Z = self.checked(system.kinematics, "kinematics()", (nq, nv))
        elif nq != nv:
            raise BadArgument(f"q has {nq} entries but v has {nv}; give kinematics=Z(q) where q' = Z v.")
        self.mass = self.checked(system.mass, "mass()", (nv, nv), "mass")
        refuse_velocity("mass()", self.depends_on_v(self.mass))
        self.constant_mass = not callable(system.mass)
        self._check_symmetric()
        force = np.zeros(nv) if system.force is None else system.force
        self.own_force = self.checked(force, "force()", (nv,), "force")
        self.potential = self._gradient = None
        if system.potential is not None:
            self.potential = self.checked(system.potential, "potential()", (), "potential")
            refuse_velocity("potential()", self.depends_on_v(self.potential))
            self._potential_derivative(given)
        self._mass_steps: Differences | None = None
        if not self.constant_mass and self.Z is None and system.velocity_terms is not False:
            self._velocity_terms()
        self.g = self.rows("constraint", "constraint")
        self.nonholonomic = self.rows("nonholonomic", "nonholonomic")
        error = 0.0  # of γ by differences
        if self.g is not None:
            error = self._constraint_derivatives(given)
        if self.nonholonomic is not None:
            self._check_linear()
            self._nonholonomic_steps = self._differences(self.nonholonomic, True)
            error = max(error, self._nonholonomic_steps.error)
        n_lam = len(self.labels["constraint"]) + len(self.labels["nonholonomic"])
        self.gamma = self._given(given, "gamma", (n_lam,), self._gamma_by_differences)
        if self.gamma is None:
            self.gamma = self._gamma_by_differences
            if n_lam:
                self._by_differences("gamma", error)

    # derivatives

    def _differences(self, f, timed: bool) -> Differences:
        v = self.points[-1][2] + 0.5  # not zero
        with np.errstate(all="ignore"):
            points = [(t, q) for t, q, _ in self.points[:2]]
            return Differences(lambda t, q: f(t, q, v, self.data), points, timed, self.nq - self.model.nw)

    def _by_differences(self, name: str, error: float) -> None:
        if name not in self.inexact:
            self.inexact.append(name)
        self.error = max(self.error, error)

    def _given(self, given, name: str, shape, by_differences):
        """The derivative as the user gave it, compared with differences; or None."""
        if name not in given:
            return None
        role = f"derivatives[{name!r}]"
        own = self.checked(given[name], role, shape)
        for t, q, v in self.points[:2]:
            with np.errstate(all="ignore"):
                theirs, mine = own(t, q, v, self.data), by_differences(t, q, v, self.data)
            gap, size = np.abs(theirs - mine), max(1.0, float(np.max(np.abs(mine), initial=0.0)))
            if np.all(np.isfinite(gap)) and np.max(gap, initial=0.0) > WRONG_DERIVATIVE * size:
                at = np.unravel_index(np.argmax(gap), gap.shape)
                raise BadArgument(
                    f"{role} gives {theirs[at]:.6g} in entry [{', '.join(map(str, at))}], but differences "
                    f"give {mine[at]:.6g} (t = {t:g}, {self.where(q)}). Correct it, or leave it out."
                )
        return own

    def _potential_derivative(self, given: dict[str, Any]) -> None:
        V = self.potential
        steps = self._differences(V, False)

        def slope(t, q, v, data):
            return steps.by_q(lambda t, q: V(t, q, v, data), t, q)[: self.nc]

        self._gradient = self._given(given, "potential", (self.nc,), slope)
        if self._gradient is None:
            self._gradient = slope
            self._by_differences("potential", steps.error)

    def _invariant_derivatives(self, given: dict[str, Any]) -> None:
        h = self.invariants
        steps = self._differences(h, False)

        def slope(t, q, v, data):
            return steps.by_q(lambda t, q: h(t, q, v, data), t, q)

        self.H = self._given(given, "H", (len(self.labels["invariants"]), self.nq), slope) or slope

    def _constraint_derivatives(self, given: dict[str, Any]) -> float:
        """Set G and g_t; return the error of γ by differences."""
        g, count = self.g, len(self.labels["constraint"])
        timed = self.timed("constraint") or (self.model.nw > 0 and self.timed("algebraic"))
        steps = self._steps = self._differences(g, timed)
        still = np.zeros(count)

        def by_q(t, q, v, data):
            return steps.by_q(lambda t, q: g(t, q, v, data), t, q)[:, : self.nc]

        def by_t(t, q, v, data):
            return steps.by_t(lambda t, q: g(t, q, v, data), t, q) if timed else still

        self._check_depends(by_q, by_t)
        own = self._given(given, "G", (count, self.nc), by_q)
        self.exact_G = own is not None
        self.jacobian = own or by_q
        own = self._given(given, "g_t", (count,), by_t)
        self.g_t = own or by_t
        if timed and own is None:
            self._by_differences("g_t", steps.error)
        if not self.exact_G:
            self._by_differences("G", steps.error)
        return steps.error if self.exact_G else steps.error_second

    def _gamma_by_differences(self, t, q, v, data) -> np.ndarray:
        """γ of all velocity rows: of rows that are known exactly the first difference, of g the second."""
        q_dot = self.q_dot(t, q, v, data)
        rows = []
        if self.g is not None and self.exact_G:
            rows.append(self._steps.along(lambda t, q: self.holonomic_velocity(t, q, v, data), t, q, q_dot))
        elif self.g is not None:
            bend = 0.0
            if self.Z is not None or self.model.ns:
                bend = self._steps.along(lambda t, q: self.q_dot(t, q, v, data), t, q, q_dot)
            rows.append(self._steps.twice_along(lambda t, q: self.g(t, q, v, data), t, q, q_dot, bend))
        if self.nonholonomic is not None:
            steps = self._nonholonomic_steps
            rows.append(steps.along(lambda t, q: self.nonholonomic(t, q, v, data), t, q, q_dot))
        return _stacked(rows, (0,))

    # checks

    def _check_depends(self, by_q, by_t) -> None:
        size = np.zeros(len(self.labels["constraint"]))
        for t, q, v in self.points:
            with np.errstate(all="ignore"):
                size = np.fmax(size, np.max(np.abs(by_q(t, q, v, self.data)), axis=1, initial=0.0))
                size = np.fmax(size, np.abs(by_t(t, q, v, self.data)))
        for label, value in zip(self.labels["constraint"], size, strict=True):
            if value == 0.0:
                raise BadArgument(f"constraint {label!r} depends on nothing: neither t nor q enters its value.")

    def _check_symmetric(self) -> None:
        for t, q, v in self.points:
            with np.errstate(all="ignore"):
                M = self.mass(t, q, v, self.data)
            skewed = asymmetry(M, self.where(q)) if np.all(np.isfinite(M)) else None
            if skewed is not None:
                raise SingularMass(skewed)

    def _check_linear(self) -> None:
        r = self.nonholonomic
        for t, q, v in self.points:
            v = v + 0.5  # not zero
            with np.errstate(all="ignore"):
                none, once, twice = (r(t, q, k * v, self.data) for k in (0.0, 1.0, 2.0))
            bent = np.abs(twice - 2.0 * once + none)
            if np.all(np.isfinite(bent)) and np.max(bent) > 1e-10 * (1.0 + np.max(np.abs(twice))):
                raise BadArgument("nonholonomic constraints must be linear in v: Â(t, q) v + b(t, q).")

    def _velocity_terms(self) -> None:
        """What follows from M(q): added, refused as forgotten, or nothing."""
        steps = self._mass_steps = self._differences(self.mass, False)
        t, q, _ = self.points[1]
        v = np.random.default_rng(1).uniform(-1, 1, self.nv)
        size = np.max(np.abs(self.mass(t, q, v, self.data)))
        vanish = np.max(np.abs(self.coriolis(t, q, v, self.data))) <= 1e-9 * size  # what differences can tell
        if vanish or not self.system.velocity_terms:
            self._mass_steps = None
        else:
            self._by_differences("velocity terms", steps.error)
        f = lambda v: self.own_force(t, q, v, self.data)
        bent = np.abs(f(v) + f(-v) - 2.0 * f(0.0 * v))
        linear = np.max(bent) <= 1e-12 * (1.0 + np.max(np.abs(f(v))))
        if self.system.velocity_terms is None and linear and not vanish:
            raise ForgottenVelocityTerms(FORGOTTEN_TERMS)

    # the terms

    def coriolis(self, t, q, v, data) -> np.ndarray:
        """d/dt(M v) - M v' - ∂/∂q(½ vᵀM v): what Lagrange's equations subtract from the force."""
        slope = self._mass_steps.by_q(lambda t, q: self.mass(t, q, v, data) @ v, t, q)[:, : self.nc]  # ∂(M v)/∂q
        return slope @ v - 0.5 * (v @ slope)

    def q_dot(self, t, q, v, data) -> np.ndarray:
        """Z v, then s' without accelerations and multipliers, then zeros for w, which is solved for."""
        own = v if self.Z is None else self.Z(t, q, v, data) @ v
        if self.nc == self.nq:
            return own
        still = np.zeros(self.nv), np.zeros(self.model.n_lam) if self.gamma is not None else np.zeros(0)
        return np.concatenate([own, self.state_rates(t, q, v, data, *still), np.zeros(self.model.nw)])

    def state_rates(self, t, q, v, data, a, lam) -> np.ndarray:
        """s'"""
        found = [np.zeros(0)]
        for role, size, f in self.rates:
            found.append(np.atleast_1d(f(t, q, v, data, a, lam)))
            if found[-1].shape != (size,):
                raise WrongShape(f"{role} returned shape {found[-1].shape}, expected {(size,)}.")
        return np.concatenate(found)

    def solved(self, t, q, v, data) -> np.ndarray:
        """Algebraic variables at a state, by Newton's method from those in q on; NaN where there are none."""
        key = (t, q.tobytes(), v.tobytes(), data.tobytes())
        if self._last[0] != key:
            self._last = (key, self._newton(t, q, v, data))
        return self._last[1].copy()

    def _newton(self, t, q, v, data) -> np.ndarray:
        at = self.nq - self.model.nw
        x = q.copy()
        for _ in range(NEWTON_STEPS):
            k, k_w = self.algebraic(t, x, v, data)
            try:
                move = np.linalg.solve(k_w, k)
            except np.linalg.LinAlgError:
                break
            x[at:] -= move
            change = np.max(np.abs(move) / (1.0 + np.abs(x[at:])))
            if change <= 1e-13 or not np.isfinite(change):
                break
        return x[at:] if change <= SETTLED else np.full(self.model.nw, np.nan)

    def algebraic(self, t, q, v, data) -> tuple[np.ndarray, np.ndarray]:
        """k and ∂k/∂w, w as it is in q."""
        at, columns = self.nq - self.model.nw, []
        for i in range(at, self.nq):
            step = 1e-5 * (1.0 + abs(q[i])) * (np.arange(self.nq) == i)
            columns.append((self.k(t, q + step, v, data) - self.k(t, q - step, v, data)) / (2 * step[i]))
        return self.k(t, q, v, data), np.array(columns).T

    def extra_rates(self, t, q, v, data, a, lam) -> np.ndarray:
        """s' and w' with accelerations and multipliers known; w' by differences along the motion."""
        rates = self.state_rates(t, q, v, data, a, lam)
        if not self.model.nw:
            return rates
        along = np.concatenate([self.q_dot(t, q, v, data)[: self.nc], rates, np.zeros(self.model.nw)])
        s = 1e-5 / max(1.0, float(np.max(np.abs(along), initial=0.0)), float(np.max(np.abs(a), initial=0.0)))
        ends = [self.solved(t + side, q + side * along, v + side * a, data) for side in (s, -s)]
        return np.concatenate([rates, (ends[0] - ends[1]) / (2 * s)])

    def force(self, t, q, v, data) -> np.ndarray:
        """Applied force: the user's, minus the gradient of the potential pulled back by Z."""
        f = self.own_force(t, q, v, data)
        if self._gradient is not None:
            slope = self._gradient(t, q, v, data)
            f = f - (slope if self.Z is None else slope @ self.Z(t, q, v, data))
        if self._mass_steps is not None:
            f = f - self.coriolis(t, q, v, data)
        return f

    def holonomic_velocity(self, t, q, v, data) -> np.ndarray:
        """G v + g_t"""
        q_dot = self.q_dot(t, q, v, data)
        if self.exact_G:
            return self.jacobian(t, q, v, data) @ q_dot[: self.nc] + self.g_t(t, q, v, data)
        return self._steps.along(lambda t, q: self.g(t, q, v, data), t, q, q_dot)

    def velocity_rows(self, t, q, v, data) -> np.ndarray:
        """G v + g_t, then Â v + b."""
        rows = [] if self.g is None else [self.holonomic_velocity(t, q, v, data)]
        if self.nonholonomic is not None:
            rows.append(self.nonholonomic(t, q, v, data))
        return _stacked(rows, (0,))

    def G(self, t, q, v, data) -> np.ndarray:
        """Jacobian of the velocity rows by v: ∂g/∂q Z, then Â (exact, since its rows are linear in v)."""
        rows = []
        if self.g is not None:
            J = self.jacobian(t, q, v, data)
            rows.append(J if self.Z is None else J @ self.Z(t, q, v, data))
        if self.nonholonomic is not None:
            none = self.nonholonomic(t, q, np.zeros(self.nv), data)
            columns = [self.nonholonomic(t, q, unit, data) - none for unit in np.eye(self.nv)]
            rows.append(np.stack(columns, axis=1))
        return _stacked(rows, (0, self.nv))

    def position_rows(self, t, q, v, data) -> np.ndarray:
        """g, then the invariants (with their values at the start)."""
        return _stacked([f(t, q, v, data) for f in (self.g, self.invariants) if f is not None], (0,))

    def position_jacobian(self, t, q, v, data) -> np.ndarray:
        """Jacobian of the position rows by q."""
        rows = [] if self.g is None else [self.jacobian(t, q, v, data)]
        if self.invariants is not None:
            rows.append(self.H(t, q, v, data)[:, : self.nc])
        return self._padded(_stacked(rows, (0, self.nc)))

    def _padded(self, J: np.ndarray) -> np.ndarray:
        """Rows by q with empty columns for states and algebraic variables."""
        return J if self.nc == self.nq else np.hstack([J, np.zeros((len(J), self.nq - self.nc))])

    def velocity_by_q(self, t, q, v, data) -> np.ndarray:
        """Jacobian of the velocity rows by q, for corrections that couple both levels."""
        steps = self._steps if self.g is not None else self._nonholonomic_steps
        return self._padded(steps.by_q(lambda t, q: self.velocity_rows(t, q, v, data), t, q)[:, : self.nc])


def _stacked(rows: list[np.ndarray], empty: tuple[int, ...]) -> np.ndarray:
    if len(rows) == 1:
        return rows[0]
    return np.concatenate(rows) if rows else np.zeros(empty)
