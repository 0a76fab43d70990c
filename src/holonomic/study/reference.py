"""What a run is measured by: drift by level, energy, and the state it should end in (published, exact, or computed twice)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import Posed, as_code
from ..errors import BadArgument, HolonomicError
from ..integrators.runge_kutta import DOP853, RK45
from ..kernels.signatures import Fn
from ..model.dae import Dae
from ..model.system import Ode, System
from ..simulate import simulate
from ..stabilizations.post import S_both2
from ..stabilizations.projection import Projection


def drift(sol) -> dict[str, np.ndarray]:
    """Return what the constraints leave, by level: arrays (time, row). Invariants are counted as positions."""
    rows = len(sol.t)
    levels = {"position": [name for name in sol.drift if name != "velocity"], "velocity": ["velocity"]}
    return {
        level: np.hstack([sol.drift[name].reshape(rows, -1) for name in names])
        for level, names in levels.items()
        if any(name in sol.drift for name in names)
    }


def largest_drift(sol) -> dict[str, float]:
    """Return the largest |residual| of a solution by level; NaN where one is not a number."""
    return {level: float(np.max(np.abs(rows), initial=0.0)) for level, rows in drift(sol).items()}


def energy_of(sol, t, q, v) -> float:
    """Return the total energy of a state of this solution's system."""
    return float(sum(sol.plan.model.evaluate(Fn.ENERGY, t, np.concatenate([q, v]), np.zeros(0), sol.trail.data)))


def relative_error(x, known) -> float:
    """Return the largest |x - known| / max(1, |known|); infinite where x is not a number."""
    x, known = np.asarray(x, dtype=float), np.asarray(known, dtype=float)
    if not x.size:
        return np.nan
    error = float(np.max(np.abs(x - known) / np.maximum(1.0, np.abs(known))))
    return error if np.isfinite(error) else np.inf


STARTS = ("q0", "v0", "y0", "s0", "w0", "x0")  # where one is given, the problem's own answer does not apply
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


@dataclass(frozen=True, eq=False)
class Truth:
    """A state that errors are measured against.

    `kind` is "stored" (with the problem), "exact", "computed" or "none"; `agreement` is how far two independent
    computations differ (NaN where it was not computed here); `text` says all this in words.
    """

    kind: str
    text: str
    t: float = np.nan
    q: Any = None  # y of an Ode
    v: Any = None
    components: tuple[int, ...] | None = None
    agreement: float = np.nan

    def errors(self, sol) -> tuple[float, float]:
        """Return the errors of a solution's last state in q (y of an Ode) and in v; NaN where nothing is known."""
        if self.q is None:
            return np.nan, np.nan
        q, v = sol.q[-1], sol.v[-1]
        if self.components is not None:
            q, v = q[list(self.components)], v[list(self.components)]
        return relative_error(q, self.q), np.nan if self.v is None else relative_error(v, self.v)


def truth_of(what, system: System | Ode, given: dict[str, Any]) -> Truth:
    """Return the known state at the end of the interval, or compute it.

    `what` is simulated, with `system` as its equations; `given` is what else simulate() takes: t_end, q0, v0, y0 and the like.
    """
    if isinstance(what, Posed) and all(given.get(name) is None for name in STARTS):
        try:
            return _known(what, given.get("t_end"))
        except BadArgument:
            pass  # no reference at this time
    return _computed(what, system, given)


def _known(problem: Posed, t_end) -> Truth:
    if np.ndim(t_end) == 1:
        if t_end[0] != problem.t0:
            raise BadArgument("the run starts elsewhere")
        t_end = t_end[1]
    known = problem.reference(t_end)
    kind = "exact" if known.source.startswith("exact") else "stored"
    q = known.y if known.y is not None else known.q
    text = f"the state of {problem.name} at t = {known.t:g}, {known.source}"
    if kind == "stored" and known.digits:
        text += f"; {min(known.digits.get(name, 16) for name in ('q', 'v', 'y')):g} digits"
    return Truth(kind, text, known.t, q, known.v, known.components)


def _computed(what, system: System | Ode, given) -> Truth:
    """Run twice at tight tolerance, with different integrators and different stabilizations."""
    free, given = _keeps_nothing(system), as_code(what, given)
    methods = (("DOP853", DOP853(), None if free else Projection()), ("RK45", RK45(), None if free else S_both2()))
    ends, reasons = [], []
    for name, integrator, stabilization in methods:
        try:
            sol = simulate(what, **given, integrator=integrator, stabilization=stabilization, **TIGHT)
        except HolonomicError as reason:
            reasons.append(f"{name}: {type(reason).__name__}: {reason}")
            continue
        ends.append((name, sol))
    if not ends:
        return Truth("none", "no reference: both reference runs failed (" + "; ".join(reasons) + ")")
    sol = ends[0][1]
    state = {"t": float(sol.t[-1]), "q": sol.q[-1].copy(), "v": None if sol.plan.model.is_ode else sol.v[-1].copy()}
    if len(ends) == 1:
        return Truth("computed", f"computed here by {ends[0][0]} alone, unchecked ({reasons[0]})", **state)
    apart = [relative_error(getattr(ends[1][1], name)[-1], getattr(sol, name)[-1]) for name in ("q", "v")]
    agreement = float(np.nanmax(apart))
    kept = ("", "") if free else (" + Projection", " + S_both2")
    text = (
        f"computed here by DOP853{kept[0]} at rtol 1e-12; RK45{kept[1]} at the same rtol agrees to {agreement:.1e}, "
        "and errors below that mean nothing"
    )
    return Truth("computed", text, **state, agreement=agreement)


def _keeps_nothing(system: System | Ode) -> bool:
    """Whether a system has nothing that a stabilization could keep."""
    if isinstance(system, Dae):
        return False
    return not (system.invariants or (isinstance(system, System) and (system.constraint or system.nonholonomic)))
