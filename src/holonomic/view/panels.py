"""What a name stands for in a picture: the numbers over time, their labels and their unit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import BadArgument
from ..results import drawn
from ..results.naming import is_dae, multiplier_labels, order_of, unknown

FLOOR = 1e-17  # smallest residual on a logarithmic axis, where zero has no place; rounding is at 1e-16
UNIT = "SI units"  # of a quantity that the user has not called an angle
WORDS = {
    "q": "Positions q", "v": "Velocities v", "a": "Accelerations v'", "lam": "Multipliers λ",
    "reactions": "Reactions −Gᵀλ", "drift": "Drift", "energy": "Energy", "y": "State y",
    "s": "States s", "w": "Algebraic variables w", "x": "x", "dx": "x'", "ddx": "x''",
}  # fmt: skip
UNITS = {
    "position": "m", "velocity": "m/s", "acceleration": "m/s²", "angle": "rad", "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s²", "force": "N", "torque": "N m", "place": "m", "power": "W", "kinetic": "J",
    "energy": "J", "gravity": "J", "elastic": "J", "total": "J", "tension": "N", "length": "m",
}  # fmt: skip
ALONG = {"speed": ("rad/s", "m/s"), "effort": ("N m", "N")}  # of joints with an angle, and with a position
FIRST = ("force", "position", "total")  # what a body, joint, force or energy shows if nothing else is asked for


@dataclass
class Panel:
    """What one axes shows."""

    title: str
    unit: str
    values: np.ndarray  # (time, line)
    labels: list[str]
    dashes: list[str] = field(default_factory=list)
    is_drift: bool = False

    @property
    def heading(self) -> str:
        """Title and unit in one line."""
        return f"{self.title}  ({self.unit})"


def panel(sol, name: str) -> Panel:
    """Return what a name stands for: an array of the run, a named output, a coordinate, a multiplier, "A.force"."""
    if not isinstance(name, str):
        raise BadArgument(f'quantities are shown by name, such as "q" or "drift", got {name!r}.')
    model = sol.plan.model
    if "." in name and _is_part(sol, name):
        return _part(sol, name)
    angles, coordinates = model.turns[: model.nc], list(model.coordinates)
    if is_dae(model) and name in ("x", "dx", "ddx")[: order_of(model)]:
        values, first = as_columns(sol, getattr(sol, name)), name.count("d") * len(coordinates) // order_of(model)
        return Panel(WORDS[name], UNIT, values, coordinates[first : first + values.shape[1]])
    if name in ("q", "y") and (name == "y") == model.is_ode and not is_dae(model):
        return Panel(WORDS[name], _unit(angles, "rad"), as_columns(sol, sol.q), coordinates)
    if name in ("v", "a", "reactions") and not model.is_ode:
        own = model.nv == model.nc
        labels = [velocity_name(c, name) for c in coordinates] if own else [f"{name}[{i}]" for i in range(model.nv)]
        unit = _unit(angles if own else [False], {"v": "rad/s", "a": "rad/s²", "reactions": "N m"}[name])
        return Panel(WORDS[name], unit, as_columns(sol, getattr(sol, name)), labels)
    if name in ("s", "w") and getattr(model, f"n{name}"):
        labels = model.extras.state_labels if name == "s" else model.extras.algebraic_labels
        return Panel(WORDS[name], UNIT, as_columns(sol, getattr(sol, name)), labels)
    if name == ("y" if is_dae(model) else "lam") and multiplier_labels(model):
        title = "Algebraic unknowns y" if name == "y" else WORDS[name]
        return Panel(title, UNIT, as_columns(sol, sol.lam), multiplier_labels(model))
    if name == "drift" and len(sol.drift):
        return _drift_panel(sol)
    if name == "energy" and not model.is_ode:
        e = sol.energy
        values = np.stack([np.atleast_1d(part) for part in (e.total, e.kinetic, e.potential)], axis=1)
        return Panel(WORDS[name], "J", values, ["total", "kinetic", "potential"], dashes=["-", "--", ":"])
    if name in model.invariant_labels:
        return Panel(f"Change of {name}", UNIT, as_columns(sol, sol.drift[name]), [""])
    if _is_part(sol, name):
        return _part(sol, name)
    values = sol[name]  # where there is no such name, the error lists those there are
    inner = np.shape(values)[0 if sol.trail.single else 1 :]
    labels = [f"[{', '.join(map(str, at))}]" if at else "" for at in np.ndindex(inner)]
    unit = "rad" if name in model.coordinates and angles[model.coordinates.index(name)] else UNIT
    own = name in model.output_shapes or name in model.coordinates or model.extras.rows(name) is not None
    return Panel(name if own else f"λ of {name}", unit, as_columns(sol, values), labels)


def _drift_panel(sol) -> Panel:
    """The largest residual of every level, and every invariant."""
    formulas = {"position": "position  |g|", "velocity": "velocity  |G v + gₜ|"}
    found: dict[str, np.ndarray] = {}
    in_space = bool(drawn.scene(sol)) and drawn.scene(sol)["bodies"]
    for level in sol.drift:
        values = np.abs(as_columns(sol, sol.drift[level])).max(axis=1)
        label = formulas.get(level) or ("unit quaternions" if in_space and level.startswith("norm ") else level)
        found[label] = np.maximum(values, found.get(label, FLOOR))
    parts, labels = list(found.values()), list(found)
    return Panel(WORDS["drift"], "largest row, SI units", np.stack(parts, axis=1), labels, is_drift=True)


# parts of a mechanism, "slider.position"


def _is_part(sol, name: str) -> bool:
    first = name.partition(".")[0]
    if name in sol.plan.model.output_shapes or name in sol.plan.model.coordinates:
        return False
    return sol.trail.mechanism is not None and first in sol.trail.mechanism


def _part(sol, name: str) -> Panel:
    """A property of a body, joint, point or force."""
    first, _, wanted = name.partition(".")
    found = sol[first]
    for key in [wanted] if wanted else FIRST:
        values = _read(found, key)
        if values is not None:
            wanted = key
            break
    else:
        there = [f"{first}.{key}" for key in (*UNITS, *ALONG) if _read(found, key) is not None]
        raise unknown(name, "quantity", {f"of {first!r} there is": there})
    values = np.asarray(values, dtype=float).reshape(np.atleast_1d(sol.t).size, -1)
    labels = list("xyz"[: values.shape[1]]) if 1 < values.shape[1] <= 3 else [""]
    if values.shape[1] > 3:
        labels = [f"[{i // 3}, {i % 3}]" for i in range(values.shape[1])]
    unit = UNITS.get(wanted, UNIT)
    if wanted in ALONG:
        mechanism = sol.trail.mechanism
        part = mechanism.drives.get(first)
        on = part.of if part is not None else mechanism.forces[first].on if first in mechanism.forces else first
        joint = mechanism.joints.get(on)
        unit = ALONG[wanted][joint is not None and joint.coordinate == "position"]
    return Panel(f"{first}: {wanted.replace('_', ' ')}", unit, values, labels)


def _read(found, key: str):
    """A property as numbers over time, or None where there is none."""
    try:
        values = getattr(found, key)
    except (AttributeError, ArithmeticError, ValueError, TypeError):
        return None
    return None if values is None or callable(values) or isinstance(values, dict) else values


# lines and their names


def as_columns(sol, values: np.ndarray) -> np.ndarray:
    """Numbers over time as columns."""
    return np.asarray(values, dtype=float).reshape(np.atleast_1d(sol.t).size, -1)


def _unit(angles, unit: str) -> str:
    if all(angles):
        return unit
    return f"SI units, {unit}" if any(angles) else UNIT


def velocity_name(coordinate: str, letter: str = "v") -> str:
    """v[0] of q[0]; of a named coordinate the name, primed once per derivative."""
    if coordinate.startswith("q[") and letter != "reactions":
        return letter + coordinate[1:]
    return coordinate + {"v": "′", "a": "″"}.get(letter, "")
