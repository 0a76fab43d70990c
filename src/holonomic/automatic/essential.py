"""The essential underlying ODE as a diagnostic: which formulation a stiff method needs, by numbers.

With R B = 0 and x = S u - F r the constraint is solved for, and what is left is an ODE in as many unknowns u = R x as
there are degrees of freedom, for order 2

    u'' = (R A₂ + 2 R')(S u)' + (R A₁ + R'') S u + ...,   A₁ = M⁻¹ ∂f/∂q,  A₂ = M⁻¹ ∂f/∂v

Its eigenvalues, and four more rates, say what a discretization with a step h has to cope with:

    frozen       largest eigenvalue without the parts that come from a constraint that moves
    explicit     ‖F C'‖, F = B (C B)⁻¹: what direct index-2 forms treat as an explicit method does
    turning      ‖C'‖ / ‖C‖: how fast the constraint changes its direction
    projected    ‖Cᵀ (C Cᵀ)⁻¹ C'‖: the same part where corrections go along Cᵀ

C = ∂g/∂x, B = M⁻¹Cᵀ for a System, ' along the motion.

References
----------
[ascher-petzold-1993] Sec. 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument
from ..kernels.signatures import Fn
from ..model.call_by_name import call, param_names
from ..model.dae import Dae, state_values
from ..model.given_numbers import as_number
from ..model.massless_coordinates import held_mass
from ..results.solution import Solution
from ..starting.rank import terms

DIFFERENCE = 1e-5  # of central differences, beside 1 + |x|: derivatives to about 1e-10
LONGER = 1e-5  # s: of differences along the motion, second ones too; good to about 1e-5 of their size


@dataclass(frozen=True, eq=False)
class Essential:
    """Rates of one state, 1/s; `eigenvalues` are those of the essential underlying ODE."""

    t: float
    eigenvalues: np.ndarray
    stiffness: float  # largest eigenvalue
    frozen: float
    explicit: float
    turning: float
    projected: float
    masses: float  # largest over smallest eigenvalue of M, 1 for a Dae

    def advice(self, step: float) -> str:
        """Say which formulation fits a step of this length."""
        h = abs(step)
        if h * self.explicit > 1.0:
            both = "" if h * self.turning <= 1.0 else ', or "Pc" where velocities must hold, too'
            return f'ProjectedInvariants("Pa"){both}, with BDF or Radau: the constraint changes fast along M⁻¹Gᵀ.'
        if h * self.turning > 1.0:
            return 'ProjectedInvariants("Pa") or Index2 with BDF or Radau: the constraint turns fast.'
        if h * max(self.stiffness, self.frozen) > 1.0:
            return "GGL or Index2 with BDF or Radau: the motion along the constraints is stiff."
        return "Index1 with an explicit integrator and Projection: nothing is fast for this step."

    def __repr__(self) -> str:
        return (
            f"t = {self.t:g} s: stiffness {self.stiffness:.3g}, frozen {self.frozen:.3g}, explicit {self.explicit:.3g}, "
            f"turning {self.turning:.3g}, projected {self.projected:.3g} 1/s, ratio of masses {self.masses:.3g}"
        )


def essential_ode(sol, t: float | None = None) -> Essential:
    """Return the rates of a solution at one of its times.

    Parameters
    ----------
    sol : Solution
        Of a System with constraints and q' = v, or of a Dae.
    t : float, optional
        Time in seconds; the end if not given.

    Returns
    -------
    Essential
        Eigenvalues and rates in 1/s; `.advice(step)` says which formulation fits a step.

    Raises
    ------
    BadArgument
        Not a solution, or one without constraints.

    Examples
    --------
    >>> from holonomic import essential_ode, simulate
    >>> from holonomic.problems import pendulum
    >>> essential_ode(simulate(pendulum(), 1.0)).advice(step=0.01)
    'Index1 with an explicit integrator and Projection: nothing is fast for this step.'
    """
    if not isinstance(sol, Solution):
        raise BadArgument(f"essential_ode reads the solution of simulate(), got {type(sol).__name__}.")
    if t is not None and np.isnan(as_number(t)):
        raise BadArgument(f"t={t!r} must be one time, s.")
    at = sol(sol.t[-1] if t is None else t)
    return essential_at(sol.plan.model, float(at.t), at.q, at.v, sol.trail.data, sol.plan.rows)


def essential_at(model, t: float, q, v, data, rows=None) -> Essential:
    """Return the rates of a model at one state; `rows` are the independent ones, where some are redundant."""
    now = t
    if isinstance(model.system, Dae):
        found = of_dae(model, now, q, data)
    elif model.is_ode or not model.n_lam or model.system.kinematics is not None or len(model.extras):
        raise BadArgument("essential_ode needs constraints: a System with q' = v and no states, or a Dae.")
    else:
        found = _of_system(model, now, q, v, data, slice(None) if rows is None else list(rows))
    C, B, masses = found.frame(0.0)
    rate = (found.frame(LONGER)[0] - found.frame(-LONGER)[0]) / (2 * LONGER)
    left = np.linalg.svd(B.T)[2][B.shape[1] :]
    frames = [_coordinates(*found.frame(side * LONGER)[:2], left) for side in (-1, 0, 1)]
    R, dR, ddR = _derivatives([frame[0] for frame in frames])
    S, dS, _ = _derivatives([frame[1] for frame in frames])
    if len(found.A) == 1:
        moving, still = [(R @ found.A[0] + dR) @ S], [R @ found.A[0] @ S]
    else:
        last = R @ found.A[1] + 2 * dR
        moving = [last @ dS + (R @ found.A[0] + ddR) @ S, last @ S]
        still = [R @ A @ S for A in found.A]
    eigenvalues, frozen = _eigenvalues(moving), _eigenvalues(still)
    return Essential(
        t=now,
        eigenvalues=eigenvalues,
        stiffness=float(np.abs(eigenvalues).max(initial=0.0)),
        frozen=float(np.abs(frozen).max(initial=0.0)),
        explicit=float(np.linalg.norm(B @ np.linalg.solve(C @ B, rate), 2)),
        turning=float(np.linalg.norm(rate, 2) / np.linalg.norm(C, 2)),
        projected=float(np.linalg.norm(np.linalg.pinv(C) @ rate, 2)),
        masses=masses,
    )


@dataclass(frozen=True)
class _Found:
    """A_1 .. A_m at a state, and C, B and the ratio of masses a short time from it."""

    A: tuple[np.ndarray, ...]
    frame: Callable[[float], tuple[np.ndarray, np.ndarray, float]]


def _coordinates(C, B, rows) -> tuple[np.ndarray, np.ndarray]:
    """R with R B = 0 and S with C S = 0, R S = I.

    R is unique up to a factor from the left; R rowsᵀ = I, with orthonormal `rows` that are R at the state itself,
    keeps it from turning or growing.
    """
    left = np.linalg.svd(B.T)[2][B.shape[1] :]
    R = np.linalg.solve(left @ rows.T, left)
    n = len(R)
    return R, np.linalg.inv(np.vstack([R, C]))[:, :n]


def _derivatives(values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    before, now, after = values
    return now, (after - before) / (2 * LONGER), (after - 2 * now + before) / LONGER**2


def _eigenvalues(blocks) -> np.ndarray:
    """Eigenvalues of u^(m) = blocks[0] u + .. + blocks[m-1] u^(m-1)."""
    n, order = len(blocks[0]), len(blocks)
    companion = np.zeros((order * n, order * n))
    companion[:-n, n:] = np.eye((order - 1) * n)
    companion[-n:] = np.hstack(blocks)
    return np.linalg.eigvals(companion)


def _differences(function, x) -> np.ndarray:
    """Derivative of a function of x by central differences, one column per entry."""
    columns = []
    for i in range(len(x)):
        step = DIFFERENCE * (1.0 + abs(x[i])) * (np.arange(len(x)) == i)
        columns.append((function(x + step) - function(x - step)) / (2 * step[i]))
    return np.array(columns).T


def _of_system(model, t, q, v, data, rows) -> _Found:
    M, _, G, _ = terms(model, t, q, v, data)
    inverse = np.linalg.inv(held_mass(M, G[rows]))
    A1 = inverse @ _differences(lambda x: terms(model, t, x, v, data)[1], q)
    A2 = inverse @ _differences(lambda x: terms(model, t, q, x, data)[1], v)
    n = model.nq + model.nv
    a = model.evaluate(Fn.FIELD, t, np.concatenate([q, v]), np.zeros(0), data)[model.nq : n]

    def frame(s):
        M, _, G, _ = terms(model, t + s, q + s * v + s * s / 2 * a, v + s * a, data)
        G = G[rows]
        M = held_mass(M, G)
        sizes = np.linalg.eigvalsh(M)
        return G, np.linalg.solve(M, G.T), float(sizes[-1] / sizes[0])

    return _Found((A1, A2), frame)


def of_dae(model, t, z, data) -> _Found:
    """The essential underlying ODE of a Dae at one state."""
    system = model.system
    if system.inputs or system.order > 2:
        raise BadArgument("essential_ode knows Daes of order 1 and 2, without inputs.")
    n, rows = len(z) // system.order, model.n_constraints // system.order
    named = system.g if isinstance(system.g, Mapping) else {"g": system.g}

    def ask(function, role, t, z):
        values = {"t": t, "p": param_names(data, model.places), "y": np.zeros(rows)}
        given = call(function, role, (*system.names, "y"), values | state_values(system, z, z[:0]))
        return np.asarray(given, dtype=float)

    def residual(t, x):
        whole = np.concatenate([x, z[n:]])
        return np.concatenate([np.atleast_1d(ask(g, "g()", t, whole)) for g in named.values()])

    A = _differences(lambda x: ask(system.f, "f()", t, x), z)
    slope = model.evaluate(Fn.FIELD, t, z, np.zeros(0), data)[: len(z)]
    bend = slope[n:] if system.order == 2 else np.zeros(n)

    def frame(s):
        x = z[:n] + s * slope[:n] + s * s / 2 * bend
        C = _differences(lambda other: residual(t + s, other), x)
        return C, ask(system.B, "B()", t + s, np.concatenate([x, z[n:]])).reshape(n, rows), 1.0

    return _Found(tuple(np.hsplit(A, system.order)), frame)
