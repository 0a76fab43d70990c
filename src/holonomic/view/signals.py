"""Signals: what a run offers to be shown over time beside its picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import HolonomicError
from ..results import drawn
from ..results.drawn import joint_names
from .panels import FLOOR, Panel, panel
from .thinning import MANY

MOST_SIGNALS = 2_000_000  # numbers of signals that nobody has asked for: 8 MB
HOLD_ROTATIONS = ("prismatic", "fixed")  # joints whose torques are of interest
DRIFT_POINTS = 400  # stretches of time, of each of which the drift shows its largest value


@dataclass
class Signal:
    """Numbers over time to be shown beside the picture."""

    name: str
    group: str
    unit: str
    labels: list[str]
    values: np.ndarray  # (time, line)
    t: np.ndarray | None = None  # the frames' times if None
    logarithmic: bool = False


def signals_of(sol, fine, keep, wanted: list[str], notes: list[str]) -> list[Signal]:
    """Drift and energy first, then what was asked for, then whatever else there is room for."""
    model = sol.plan.model
    source = sol.source
    found: list[Signal] = []
    if len(source.drift):
        found.append(_drift(source))
    if not model.is_ode:
        found.append(_from(panel(fine, "energy"), "energy", "Run", keep))
        if model.has_potential:
            change = np.atleast_1d(fine.energy_error)[:, None]
            found.append(Signal("energy change", "Run", "relative to the energy that moves", [""], change[keep]))
    found += [_from(panel(fine, name), name, "Chosen", keep) for name in wanted if name not in ("drift", "energy")]
    room, left = MOST_SIGNALS, 0
    for name, group in _offered(sol):
        size = len(keep)
        if any(signal.name == name for signal in found):
            continue
        if room < size:
            left += 1
            continue
        try:
            made = _from(panel(fine, name), name, group, keep)
        except (HolonomicError, AttributeError, ArithmeticError):
            continue
        room -= made.values.size
        found.append(made)
    for made in _velocities(sol, fine, keep):
        if not any(signal.name == made.name for signal in found):
            left += room < made.values.size
            found += [made] if room >= made.values.size else []
            room -= made.values.size
    what = drawn.scene(sol)
    if what is not None and len(what["bodies"]) > MANY:
        notes.append("Signals of bodies and joints are left out of so many; signals= asks for some by name.")
    if left:
        notes.append(f"{left} signals are left out, so that the page stays small; signals= asks for some by name.")
    return found


def _offered(sol) -> list[tuple[str, str]]:
    """Names of what may be shown, by group."""
    model = sol.plan.model
    found = [(name, "Outputs") for name in model.output_shapes]
    what = drawn.scene(sol)
    if what is not None and len(what["bodies"]) > MANY:
        return found
    if what is not None and what["bodies"]:
        holding = {joint["name"] for joint in what["joints"] if joint["kind"] in HOLD_ROTATIONS}
        for joint in what["joints"]:
            part = sol.trail.mechanism.joints[joint["name"]]
            keys = [part.coordinate, "speed"] if part.coordinate else []
            keys += ["effort"] if sol.trail.mechanism.actuators_of(part) else []
            found += [(f"{part.name}.{key}", "Joints") for key in keys]
        found += [(f"{name}.torque", "Joints") for name in joint_names(what) if name in holding]
        return found
    letters = ("x", "dx", "ddx", "y") if model.is_ode and model.n_constraints else ("y",) if model.is_ode else (
        "q", "v", "a", "lam", "reactions",
    )  # fmt: skip
    return found + [(name, "Run") for name in letters]


def _velocities(sol, fine, keep) -> list[Signal]:
    """Velocities of bodies, straight from the columns of v; in the plane their angular speed, too."""
    what = drawn.scene(sol)
    found = []
    for k, body in enumerate(what["bodies"] if what and len(what["bodies"]) <= MANY else ()):
        n, nv = (2, 3) if what["dimension"] == 2 else (3, 6)
        v = np.atleast_2d(fine.v)[keep, nv * k : nv * (k + 1)]
        found.append(Signal(f"{body['name']}.velocity", "Bodies", "m/s", list("xyz"[:n]), v[:, :n]))
        if n == 2:
            found.append(Signal(f"{body['name']}.speed", "Bodies", "rad/s", [""], v[:, 2:]))
    return found


def _from(made: Panel, name: str, group: str, keep) -> Signal:
    values = made.values[keep] if len(made.values) >= len(keep) else made.values
    return Signal(name, group, made.unit, list(made.labels), values)


def _drift(source) -> Signal:
    made = panel(source, "drift")
    t = np.atleast_1d(source.t)
    values = np.where(np.isfinite(made.values), made.values, np.nan)
    if len(t) > DRIFT_POINTS:
        cuts = np.linspace(0, len(t), DRIFT_POINTS + 1).astype(int)[:-1]
        t, values = t[cuts], np.fmax.reduceat(values, cuts, axis=0)
    return Signal("drift", "Run", made.unit, list(made.labels), np.maximum(values, FLOOR), t=t, logarithmic=True)
