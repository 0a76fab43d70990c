"""Copies of a mechanism in another one, each moved on: its bodies, joints and forces become series."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.made_functions import MadeFunction
from .body import Body
from .drafts import HERE, Draft, new_stem
from .element_reader import is_mark
from .joint import Force, Joint
from .series import Bodies, Ends, walked
from .series_shapes import MovedShapes, NoShapes


class Repeated:
    """Copies of a unit, entered into a mechanism."""

    def __init__(self, m, name: str, unit, times: int, move: np.ndarray):
        self.m, self.name, self.unit, self.times, self.move = m, name, unit, times, move
        m._new(name, "body")
        self.bodies = {own: self._body(body) for own, body in unit.bodies.items()}
        self.codes: dict[str, tuple[Draft, str]] = {}  # of the unit's parameters: where copies were drawn, their name there
        for parts, what in ((unit.joints, "joint"), (unit.forces, "force")):
            for own, part in parts.items():
                self._element(own, part, what)

    def _body(self, body: Body) -> Bodies:
        params, n, stem = self.unit.params, self.times, f"{body.name}.inertia"
        inertia = {
            key.removeprefix(body.name): np.full(n, value) for key, value in params.alone.items()
            if key == stem or key.startswith(f"{stem}.")
        }  # fmt: skip
        centre = np.array(body.position) + self.move
        rotation = np.broadcast_to(np.asarray(body.rotation, dtype=float), (n, *np.shape(body.rotation)))
        shapes = MovedShapes(body.shapes, self.move) if body.shapes else NoShapes()
        tied = bool(params.tied_to(f"{body.name}.mass"))
        mass, size = np.full(n, body.mass), np.full(n, body.size)
        return self.m._enter_bodies(f"{self.name} {body.name}", n, mass, inertia, centre, rotation, size, shapes, ties=tied)

    def _element(self, own: str, part: Joint | Force, what: str) -> None:
        """One joint or force of the unit, for all copies."""
        on = part.on
        name, suffix = (f"{self.name} {own}", "") if on is None else (f"{self.name} {on}", own.removeprefix(on))
        new_stem(self.m, name, what, 0, self.times, suffix, known=on is not None)
        draft = Draft(self.m, name, self.times, 0, suffix)
        whole = _Copied(self, own, part, draft).whole()
        (draft.joints if what == "joint" else draft.forces)[draft.name] = whole
        draft.entered(what)


PLAIN = ("kind", "labels", "level", "coordinate", "holds_rotation", "kept", "gap")  # of an element, the same for all copies


class _Copied:
    """An element of a unit as the series of its copies: with names of their parameters and numbers of their bodies."""

    def __init__(self, copies: Repeated, own: str, part: Joint | Force, draft: Draft):
        self.copies, self.own, self.part, self.draft = copies, own, part, draft
        unit, self.ends = copies.unit, [Ends(bodies, f"{body}{HERE}") for body, bodies in copies.bodies.items()]
        self.origins: dict[str, str] = {}  # names of the unit's centres -> of those of the copies
        for end, body in zip(self.ends, unit.bodies.values(), strict=True):
            self.origins |= dict(zip(body.origin, end.origin, strict=True))
            draft.codes |= end.codes
        self.entered: dict[str, str] = {}
        self.moved: set[str] = set()  # coordinates of points
        self._note(tuple(vars(part).values()))

    def whole(self) -> Any:
        """All copies as one."""
        values: dict[str, Any] = {}
        for key, value in vars(self.part).items():
            if key == "name":
                values[key] = self.draft.name
            elif key in ("first", "second"):
                values[key] = self.copies.m.ground if value.is_ground else self.ends[value.index]
            elif key in ("on", "load", "of"):
                if value is not None and key != "on":
                    raise BadArgument(
                        f"repeat {self.copies.name!r}: {self.own!r} follows {value!r}, which is not repeated. Add it to each copy."
                    )
                values[key] = None if value is None else f"{self.copies.name} {value} {HERE}"
            else:
                values[key] = value if key in PLAIN else walked(value, self._name, self._mark, lambda array: array)
        made = type(self.part)(**values)
        if isinstance(self.part, Joint):
            made.rows.row_names = self.part.rows.row_names
        built_in = self.copies.unit.params.built_in()
        self.draft.params.build_in(*(name for text, name in self.entered.items() if text in built_in))
        self.copies.codes.update({text: (self.draft, name) for text, name in self.entered.items()})
        return made

    def _note(self, each: Any) -> None:
        """Take note of what are coordinates of points."""
        if is_mark(each):
            self.moved.update(each[1])
        elif isinstance(each, tuple):
            for inner in each:
                self._note(inner)
        elif isinstance(each, MadeFunction):
            self._note(each.args)

    def _name(self, text: str) -> str:
        """What a parameter of the unit is called in the series."""
        copies, params = self.copies, self.copies.unit.params
        if text in self.origins or text not in params.alone:
            return self.origins.get(text, text)
        if text in copies.codes:  # of an element before this one
            draft, name = copies.codes[text]
            self.draft.codes[f"{text}{HERE}"] = draft.codes[name]
            return f"{text}{HERE}"
        if text not in self.entered:
            axis = "xyz".find(text[-1]) if text in self.moved else -1
            values = np.full(copies.times, params[text]) + (copies.move[:, axis] if axis >= 0 else 0.0)
            suffix = text.removeprefix(self.own) if text.startswith(f"{self.own}.") else f".{text}"
            self.entered[text] = self.draft.params.add(f"{self.draft.name}{suffix}", values)
        return self.entered[text]

    def _mark(self, mark: tuple) -> tuple:
        keys, direction = tuple(map(self._name, mark[1])), walked(mark[4], self._name, None, lambda array: array)
        if mark[0] < 0:
            return (-1, keys, mark[2], mark[3], direction)
        end = self.ends[mark[0]]
        return (end.index, keys, end.origin, end.rotation, direction)
