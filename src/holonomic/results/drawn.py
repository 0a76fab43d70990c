"""What a run shows besides numbers: a description of what is drawn, and the arrays that move it.

A mechanism describes itself by its bodies and joints. A System, Ode or Dae may bring `drawing=`, a function that
returns lines by name: {"rod": [(0, 0), q]}.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError
from ..model.call_by_name import call, param_names
from ..model.dae import state_values
from .trail import remembered

FRAMES = 600  # of a drawing in a file
MOST_NUMBERS = 2_000_000  # of places in such frames
MANY_JOINTS = 1000  # above which forces are drawn where they are asked for
NOTHING = {"gravity": None, "bodies": [], "ground": [], "joints": [], "links": [], "points": []}


@remembered("scene")
def scene(sol) -> dict[str, Any] | None:
    """Return what is drawn, as plain data; None where the system says nothing about how it looks."""
    if sol.trail.parent is not None:
        return scene(sol.trail.parent)
    model = sol.plan.model
    resolver = sol.trail.mechanism
    if resolver is not None:
        return resolver.description(param_names(sol.trail.data, model.places))
    if model.system.drawing is None or not len(sol.trail.arrays[0]):
        return None
    lines, at = [], 0
    made = _lines(sol, 0)
    for name, points in made.items():
        lines.append({"name": name, "first": at, "count": len(points)})
        at += len(points)
    return NOTHING | {"dimension": next(iter(made.values())).shape[1], "lines": lines}


@remembered("drawn")
def arrays(sol) -> dict[str, np.ndarray]:
    """Return what moves the drawing, by name, time first: forces of joints, corners of lines; not of very many joints."""
    what = scene(sol)
    if what is None:
        return {}
    if what.get("lines"):
        rows = [np.concatenate(list(_lines(sol, row).values())) for row in range(len(sol.trail.arrays[0]))]
        if len({row.shape for row in rows}) != 1:
            raise BadArgument("drawing() must return the same number of points at all times.")
        return {"lines": np.stack(rows)}
    if len(joint_names(what)) > MANY_JOINTS:
        return {}
    return {"forces": sol.trail.mechanism.joint_forces(sol, joint_names(what))}


def frames(sol, count: int = FRAMES) -> dict[str, np.ndarray]:
    """Return what is drawn at equally spaced times, for a file: between its own times a loaded run is only cubic.

    Nothing where the run has no drawing, kept as many times itself, or cannot be asked in between.
    """
    if sol.trail.data is None:
        return sol.trail.frames
    few = sol.plan.model.nq * count <= MOST_NUMBERS
    if not few or scene(sol) is None or len(sol.trail.arrays[0]) >= count or not sol.trail.looks_inside:
        return {}
    try:
        there = sol(np.linspace(*sol.span, count))
        return {"time": there.trail.arrays[0], "q": there.q, **arrays(there)}
    except HolonomicError:
        return {}


def joint_names(what: dict[str, Any]) -> list[str]:
    """Names of all joints whose forces are drawn: joints, then rods of fixed length."""
    return [part["name"] for part in (*what["joints"], *what["links"]) if part["kind"] not in ("spring", "damper")]


def _lines(sol, row: int) -> dict[str, np.ndarray]:
    model = sol.plan.model
    t, x, _ = sol.trail.arrays
    values = {"t": float(t[row]), "p": param_names(sol.trail.data, model.places)}
    values |= state_values(model.system, x[row, : model.nq], x[row, model.nq : model.nq + model.nv], model.extras)
    made = call(model.system.drawing, "drawing()", tuple(values), values)
    try:
        found = {str(name): np.array([[float(c) for c in point] for point in points]) for name, points in made.items()}
    except (AttributeError, TypeError, ValueError):
        found = {}
    sizes = {points.shape[1:] for points in found.values() if points.ndim == 2}
    if len(sizes) != 1 or not sizes <= {(2,), (3,)} or any(points.ndim != 2 for points in found.values()):
        raise BadArgument(
            "drawing() must return lines by name, each a list of points with two or three numbers, such as "
            '{"rod": [(0, 0), (q[0], q[1])]}.'
        )
    return found
