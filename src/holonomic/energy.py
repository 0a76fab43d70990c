"""prefer="energy": a method whose energy does not creep, with a step that was tried.

RATTLE is symplectic: the energy of a conservative system swings by an amount of order h² and does not drift. Its step is
chosen by two short trials, so that the swing is about a hundred times rtol. Where RATTLE does not apply (forces that
depend on v, a mass matrix that changes, no holonomic constraint), a method of high order at a hundredth of rtol keeps the
energy better than symmetric methods of low order do; see docs/which-method.md, "Long runs and energy".
"""

from __future__ import annotations

import warnings

import numpy as np

from .errors import HolonomicError
from .formulations.index3 import Index3
from .integrators.rattle import RATTLE
from .integrators.runge_kutta import DOP853
from .telling import of_start

SWING = 100.0  # of rtol: the swing of the energy that is aimed at
TIGHTER = 0.01
TRIAL = 10.0  # periods of the fastest motion
SAMPLES = 64
TURN = 0.5  # rad of the fastest vibration in one step; RATTLE is stable up to 2
MOST = 20_000  # steps of a trial


def energy_choice(simulate, model, t0: float, t1: float, start: dict, rtol: float) -> tuple[dict, str]:
    """Return options for `simulate`, and why.

    Parameters
    ----------
    simulate : function
        Runs the system for the trials: simulate(interval, **start, **options).
    model : Model
        Of the system.
    t0, t1 : float
        Interval in seconds.
    start : dict
        q0 and v0.
    rtol : float
        Relative tolerance that the user thinks of.
    """
    why_not = _unsuited(model)
    if why_not is None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                step, swing, trial = _step(simulate, t0, t1, start, SWING * rtol)
        except HolonomicError as problem:
            why_not = f"its trial failed ({problem})"
        else:
            text = (
                f"RATTLE with steps of {step:.3g} s, whose energy swung by {swing:.1e} of the moving energy in a trial of "
                f"{trial:.3g} s and does not creep"
            )
            return {"integrator": RATTLE(), "formulation": Index3(), "stabilization": None, "step": step}, text
    text = f"RATTLE cannot be used: {why_not}; order 8 at {TIGHTER:g} of rtol lets the energy creep the least"
    return {"integrator": DOP853(), "rtol": TIGHTER * rtol}, text


def _unsuited(model) -> str | None:
    if model.is_ode or not model.n_constraints:
        return "it is for Systems with holonomic constraints"
    if model.interpreted:
        return "it needs exact derivatives, which trace=False does not have"
    if model.system.kinematics is not None or model.system.nonholonomic is not None or len(model.extras):
        return "it is for holonomic constraints and q' = v"
    if not model.has_constant_mass:
        return "the mass matrix changes"
    if model.has_velocity_forces:
        return "a force depends on v"
    return None


def _step(simulate, t0: float, t1: float, start: dict, target: float) -> tuple[float, float, float]:
    """Return a step, the swing of the energy with it, and the length of the trial."""
    forward = 1.0 if t1 >= t0 else -1.0
    period, fastest = abs(t1 - t0), 0.0
    for _ in range(2):  # a first look at the motion, then at some periods of it
        length = min(abs(t1 - t0), TRIAL * period)
        sol = simulate((t0, t0 + forward * length), **start, integrator=DOP853(), save_at=SAMPLES)
        if not fastest:  # a vibration that the motion does not show is felt by the step all the same
            seen = of_start(sol)
            fastest = 0.0 if seen is None else abs(seen.fastest)
        period = 2.0 * np.pi / max(_rate(sol), 1e-300)
    length = min(abs(t1 - t0), TRIAL * period)
    longest = min(length / 4, TURN / fastest if fastest else np.inf)
    step = min(np.sqrt(24.0 * target) * period / (2.0 * np.pi), longest)  # x'' = -ω² x swings by (h ω)²/24, about
    swing = 0.0
    for _ in range(3):
        step = min(max(step, length / MOST), longest)
        trial = simulate(
            (t0, t0 + forward * length), **start, integrator=RATTLE(), formulation=Index3(), stabilization=None,
            step=float(step),
        )  # fmt: skip
        swing = float(np.max(np.abs(trial.energy_error)))
        if 0.3 * target <= swing <= target or swing == 0.0 or step <= length / MOST:
            break
        step *= np.clip(0.85 * np.sqrt(target / swing), 0.1, 4.0)
        step = min(step, longest)
    whole = max(1, int(np.ceil(abs(t1 - t0) / step - 1e-9)))
    return abs(t1 - t0) / whole, swing, length


def _rate(sol) -> float:
    """Fastest rate along a run: how fast positions and velocities turn, rad/s."""
    q, v, a = np.atleast_2d(sol.q), np.atleast_2d(sol.v), np.atleast_2d(sol.a)
    size = float(np.max(np.abs(q - q[0]))) or float(np.max(np.abs(q))) or 1.0
    speed, pull = float(np.max(np.abs(v))), float(np.max(np.abs(a)))
    return max(speed / size, np.sqrt(pull / size), pull / speed if speed > 0.0 else 0.0)
