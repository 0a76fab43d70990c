"""What a live page shows of a run: functions of the state as JavaScript, and which of their numbers make a signal.

A page draws what the recorded run has, made anew from the states that its program leaves: x = (q, v, ..), k = (v', λ), and
what energies, residuals and outputs of the model give there. A signal is a few lines, each an entry of one of these arrays,
a sum of entries or the largest of them. A signal that cannot be made anew is not shown at all: an old curve beside a new
picture would be wrong.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..kernels.signatures import Fn
from ..model.call_by_name import Names
from ..model.emit import python_source
from ..model.model_base import PLAIN
from ..model.tape import Tape, needed
from ..multibody.joint_frames import COMPONENTS, JointFrame, joint_efforts, joint_frames
from ..printing.javascript import functions_as_javascript
from ..results.drawn import joint_names
from ..sweeping.job import Job
from .panels import FLOOR
from .scene import Scene
from .signals import HOLD_ROTATIONS

LINES = "lines of the drawing"  # the output under which the corners of a drawing are traced
TURNING = "angle within a turn: "  # and those from which angles in space and torques of joints are made
FRAME = "frame of: "
FUNCTIONS = {"energy": Fn.ENERGY, "residual": Fn.RESIDUAL, "outputs": Fn.OUTPUTS, "jacobian": Fn.VELOCITY}


@dataclass
class Shown:
    """Functions of a model for a page, and what is made of their numbers."""

    code: str
    sizes: dict[str, int]  # function -> numbers that it gives
    signals: dict[str, list[dict[str, Any]]]  # name -> lines
    pictures: dict[str, Any] = field(default_factory=dict)  # poses, lines, forces -> an array and its first entry, or lines


def with_drawing(system):
    """Return a system with more outputs, traced as these are: the corners of its drawing, or what its joints need."""
    more: dict[str, Any] = {}
    if system.resolver is not None:
        more = _joint_coordinates(system.resolver) | _frames(system.resolver)
        more |= {f"{name}.effort": effort for name, effort in joint_efforts(system.resolver).items()}
    elif system.drawing is not None:
        drawing = system.drawing

        def corners(*given, **named):
            made = drawing(*given, **named)
            return np.array([entry for points in made.values() for point in points for entry in point])

        corners.__signature__ = inspect.signature(drawing)  # type: ignore[attr-defined]
        more = {LINES: corners}
    more = {name: function for name, function in more.items() if name not in (system.outputs or {})}
    return replace(system, outputs={**(system.outputs or {}), **more}) if more else system


def _joint_coordinates(resolver) -> dict[str, Any]:
    """Angles, positions and speeds of joints; in space angles within a turn: turns are counted along a whole run."""
    found: dict[str, Any] = {}
    known = resolver.built_in
    for name, joint in resolver.joints.items():
        if joint.of is not None or joint.rate is None:
            continue
        found[f"{name}.speed"] = lambda q, v, p, joint=joint: joint.rate(q, v, Names(**vars(p), **known))
        within = joint.coordinate == "angle" and resolver.dimension == 3
        as_named = f"{TURNING}{name}" if within else f"{name}.{joint.coordinate}"
        found[as_named] = lambda q, p, joint=joint: joint.value(q, Names(**vars(p), **known))
    return found


def _frames(resolver) -> dict[str, Any]:
    """What torques of joints that hold rotations follow from, and forces of joints that are coupled, see `joint_frames`."""
    frames = joint_frames(resolver).items()
    return {FRAME + name: each.frame for name, each in frames if each.coupled or resolver.joints[name].kind in HOLD_ROTATIONS}


def shown_of(job: Job, scene: Scene) -> Shown:
    """Return what a page makes anew of the signals and pictures of a scene.

    The functions of the model see all data; `jacobian` gives those entries of G that are not zero.
    """
    model, program = job.plan.model, job.program
    has = {name: fn for name, fn in FUNCTIONS.items() if _has(model, name)}
    tapes = model.tapes(tuple(has.values()), PLAIN)
    entries: dict[tuple[int, int], int] = {}  # (row, column) of G -> place among those that are not zero
    functions, sizes = [], {}
    for name, fn in has.items():
        tape = tapes[fn]
        if fn is Fn.VELOCITY:
            G = tape.outputs[model.n_lam :]
            entries = {divmod(at, model.nv): k for k, at in enumerate(at for at, node in enumerate(G) if node is not None)}
            tape = needed(Tape(tape.nodes, tuple(node for node in G if node is not None)))
        if not tape.outputs:  # constraints of time alone
            continue
        read = lambda which, index: f"{'D' if which == 'data' else which}[{index}]"
        text = python_source(tape, name, "t, a, b, D, out", read, "out[{}]", "sincos")
        functions.append(ast.parse(text).body[0])
        sizes[name] = len(tape.outputs)
    signals = {"time": []} | _states(model, program) | _residuals(model) | _outputs(model)
    if "energy" in has:
        signals["energy"] = [{"of": "energy", "sum": [0, 1]}, {"of": "energy", "at": 0}, {"of": "energy", "at": 1}]
        if model.has_potential:
            signals["energy change"] = [{"of": "energy", "change": True}]
    lam = signals.get("lam", [])

    def pull(rows, column: int, sign: float = -1.0) -> dict[str, Any]:
        """A line with an entry of -Gᵀλ, or of what some rows of it give."""
        parts = [(entries[row, column], lam[row]["at"]) for row in rows if (row, column) in entries]
        return {"of": "jacobian", "by": lam[0]["of"], "pull": parts, "sign": sign}

    if lam:
        signals["reactions"] = [pull(range(model.n_lam), column) for column in range(model.nv)]
    pictures: dict[str, Any] = {}
    what = scene.what
    if what is not None and what.get("lines"):
        pictures["lines"] = {"of": "outputs", "first": _place(model, LINES)}
    if what is not None and what["bodies"]:
        pictures["poses"] = {"of": "x", "first": 0}
        signals |= _bodies(what, model) | _angles(model) | _torque_lines(model, pull, lam)
        pictures["forces"] = {"rows": [
            pull(joint.rows, joint.columns[axis], joint.sign) | _coupled(model, name, joint, lam, axis)
            for joints in (joint_frames(model.system.resolver),)
            for name, joint in ((name, joints[name]) for name in joint_names(what))
            for axis in range(what["dimension"])
        ]}  # fmt: skip
    return Shown(functions_as_javascript(functions), sizes, signals, pictures)


def _has(model, name: str) -> bool:
    if name == "energy":
        return not model.is_ode
    return bool(model.output_shapes) if name == "outputs" else model.n_constraints + model.n_invariants + model.n_lam > 0


def _row(of: str, first: int, count: int) -> list[dict[str, Any]]:
    return [{"of": of, "at": first + i} for i in range(count)]


def _states(model, program) -> dict[str, list]:
    nq, nv, nl = model.nq, model.nv, model.n_lam
    if model.is_ode:
        return {"y": _row("x", 0, nq)}
    lam = _row("k", nv, nl) if program.lam_in_x is None else _row("x", program.lam_in_x.start, nl)
    return {"q": _row("x", 0, model.nc), "v": _row("x", nq, nv), "a": _row("k", 0, nv), "lam": lam}


def _residuals(model) -> dict[str, list]:
    """Lines of the drift, as `view.panels` has them: the largest row of each level, then of invariants."""
    n, first = model.n_constraints, model.n_constraints + model.n_invariants
    end = first + model.n_lam
    rows = [list(range(n))] * bool(n) + [list(range(first, end))] * bool(model.n_lam)
    norms = [i for i, label in enumerate(model.invariant_labels, start=n) if label.startswith("norm ")]
    together = bool(norms) and model.system.resolver is not None
    rows += [norms] * together
    rows += [[i] for i in range(n, first) if not (together and i in norms)]
    return {"drift": [{"of": "residual", "largest": each, "least": FLOOR} for each in rows]} if rows else {}


def _place(model, name: str) -> int:
    at = 0
    for each, shape in model.output_shapes.items():
        if each == name:
            return at
        at += int(np.prod(shape))
    raise KeyError(name)


def _outputs(model) -> dict[str, list]:
    return {
        name: _row("outputs", _place(model, name), int(np.prod(shape)))
        for name, shape in model.output_shapes.items()
        if name != LINES and not name.startswith((TURNING, FRAME))
    }


def _angles(model) -> dict[str, list]:
    """Angles in space, whose turns the page counts with the speeds."""
    names = [name.removeprefix(TURNING) for name in model.output_shapes if name.startswith(TURNING)]
    return {
        f"{name}.angle": [{"of": "outputs", "at": _place(model, TURNING + name), "rate": _place(model, f"{name}.speed")}]
        for name in names
    }


def _coupled(model, name: str, joint: JointFrame, lam, component: int) -> dict[str, Any]:
    """What couplings add to a component of a joint's force and torque: places of multipliers, and of what these are times."""
    if not joint.coupled:
        return {}
    first, n = _place(model, FRAME + name), len(COMPONENTS[model.system.resolver.dimension])
    places = [first + n * (len(joint.columns) + i) + component for i in range(len(joint.coupled))]
    return {"coupled": [[lam[row]["at"], place] for row, place in zip(joint.coupled, places, strict=True)]}


def _torque_lines(model, pull, lam) -> dict[str, list]:
    """Torques of joints that hold rotations: what their rows exert on a body, by the frame of each."""
    found = {}
    dimension = model.system.resolver.dimension
    n = len(COMPONENTS[dimension])
    for name, joint in joint_frames(model.system.resolver).items():
        if FRAME + name not in model.output_shapes or model.system.resolver.joints[name].kind not in HOLD_ROTATIONS:
            continue
        first = _place(model, FRAME + name)
        pulls = [pull(joint.rows, column, joint.sign) for column in joint.columns]
        found[f"{name}.torque"] = [
            {"of": "jacobian", "by": pulls[0]["by"], "turned": [[each, first + n * i + c] for i, each in enumerate(pulls)]}
            | _coupled(model, name, joint, lam, c) for c in range(dimension, n)
        ]  # fmt: skip
    return found


def _bodies(what, model) -> dict[str, list]:
    found = {}
    n, nv = (2, 3) if what["dimension"] == 2 else (3, 6)
    for k, body in enumerate(what["bodies"]):
        at = model.nq + nv * k
        found[f"{body['name']}.velocity"] = _row("x", at, n)
        if n == 2:
            found[f"{body['name']}.speed"] = _row("x", at + 2, 1)
    return found
