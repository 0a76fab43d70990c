"""The methods of Mechanism that draw many parts at once: rods, copies, chains, nets and repeated units.

One call draws any number of parts, which are held as columns (`series`). Their names are the given one and a number: "rope 0".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import is_whole
from . import shapes as sh
from .body import combine
from .drafts import HERE, column, draw_elements, how_many, new_stem, points_of, springs_on
from .memory_needed import refuse_beyond
from .parameters import Columns, number, positive
from .repeated import Repeated
from .series import Bodies, BodySeries, PartRow
from .series_shapes import NoShapes, PlacedShapes, RodShapes


class SeriesMethods:
    """Many parts by one call: `rope = m.chain("rope", at=(A, B), links=1000, mass=5.0)`. All return `Bodies`."""

    dimension: int
    params: Any
    bodies: Any
    joints: Any
    forces: Any
    points: Any
    kit: Any

    def rods(self, name: str, start, end, mass, *, width=None) -> Bodies:
        """Add slender rods, bodies "name 0", "name 1" and so on, as `m.body(name, rod(start, end, mass))` adds one.

        Parameters
        ----------
        name : str
            What their names begin with.
        start, end : array, (n, axes)
            Their ends in the drawing, m. A point alone is that of all.
        mass : float or array
            Of each, kg.
        width : float, optional
            They are drawn with, m; a fifteenth of the length if not given. In space it gives the inertia about their own axes.

        Returns
        -------
        Bodies
            `rods[17]` is a Body, `rods[1:]` are all but the first. Joints, springs and dampers take them where they take a body.
        """
        ends = points_of(self, f"start of {name!r}", start), points_of(self, f"end of {name!r}", end)
        n = how_many(name, *ends)
        start, end = (np.broadcast_to(each, (n, self.dimension)) for each in ends)
        length = np.linalg.norm(end - start, axis=1)
        if not np.all(length > 0.0):
            k = int(np.flatnonzero(~(length > 0.0))[0])
            raise BadArgument(f"body '{name} {k}': both ends of this rod are at {tuple(start[k].tolist())}. Draw them apart.")
        masses = column(f"mass of '{name} {HERE}'", mass, n, positive)
        widths = length / 15 if width is None else column(f"width of '{name} {HERE}'", width, n, positive)
        along, across = (end - start) / length[:, None], length**2 / 12
        if self.dimension == 2:
            rotation, inertia = np.arctan2(along[:, 1], along[:, 0]), {".inertia": masses * across}
        else:
            rotation = _axes_along(along)
            inertia = {f".inertia.{2 * 'xyz'[i]}": masses * (widths**2 / 8 if i == 0 else across) for i in range(3)}
        shapes = RodShapes(start, end, masses, None if width is None else widths)
        return self._enter_bodies(name, n, masses, inertia, (start + end) / 2, rotation, length / 2, shapes)

    def copies(self, name: str, *shapes: sh.Shape, at, angle=None, mass=None, inertia=None) -> Bodies:
        """Add bodies of one form at many places, "name 0", "name 1" and so on, as `m.body` adds one.

        Parameters
        ----------
        name : str
            What their names begin with.
        *shapes : Shape
            What each is made of, stated in its own frame, or nothing: point masses.
        at : array, (n, axes)
            Origins of their frames in the drawing.
        angle : float or array, optional
            Angles of their frames in the plane, rad.
        mass : float or array
            Of each, kg, where no shape gives it.
        inertia : float, three floats or 3 x 3 array, optional
            Of each, kg m², about its centre. Without it and without a shape they are point masses.

        Returns
        -------
        Bodies
        """
        origins = points_of(self, f"at of {name!r}", at)
        n = how_many(name, origins)
        given = None if mass is None else column(f"mass of '{name} {HERE}'", mass, n, positive)
        own = None if mass is None else float(given[0])
        made = combine(name, self.dimension, shapes, (0.0,) * self.dimension, None, own, inertia, None, None)
        masses = np.full(n, made.mass) if given is None else np.array(given)
        follows = masses / made.mass if shapes else np.ones(n)  # the inertia of shapes grows with their mass
        if self.dimension == 2:
            turned = np.broadcast_to(column(f"angle of '{name} {HERE}'", 0.0 if angle is None else angle, n), n)
            c, s = np.cos(turned), np.sin(turned)
            x, y = made.centre
            centres = origins + np.column_stack([c * x - s * y, s * x + c * y])
            rotation = made.rotation + turned
        else:
            if angle is not None:
                raise BadArgument(f"copies {name!r}: angle= is for the plane; in space all copies are turned alike.")
            centres, turned = origins + made.centre, None
            rotation = np.broadcast_to(np.asarray(made.rotation, dtype=float), (n, 3, 3))
        columns: dict[str, np.ndarray] = {}
        if made.inertia is not None and self.dimension == 2:
            columns[".inertia"] = made.inertia * follows
        elif made.inertia is not None:
            scale = np.abs(made.inertia).max()
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
                if i == j or abs(made.inertia[i, j]) > 1e-14 * scale:
                    columns[f".inertia.{'xyz'[i]}{'xyz'[j]}"] = made.inertia[i, j] * follows
        placed = PlacedShapes(made.shapes, origins, turned) if shapes else NoShapes()
        size = np.full(n, made.size)
        return self._enter_bodies(name, n, masses, columns, centres, rotation, size, placed, ties=bool(shapes))

    def chain(self, name: str, *, at, links: int, mass: float, first=None, second=None, width: float | None = None) -> Bodies:
        """Add a chain of equal rods, drawn straight; bodies "name 0" .. and joints "name pin 0" .. between them.

        Joints are hinges in the plane and balls in space. `simulate(m, ...)` takes chains of any length: beyond 100 bodies a
        mechanism runs as tables.

        Parameters
        ----------
        name : str
            What the names of its bodies and joints begin with.
        at : pair of points
            Its ends in the drawing.
        links : int
            How many rods.
        mass : float
            Of all of it, kg.
        first, second : Body or str, optional
            What its first and its last end are joined to, m.ground perhaps; a free end if not given.
        width : float, optional
            Of the rods, m; in space a twentieth of their length if not given, as a rod without width could spin without effort.

        Returns
        -------
        Bodies
            From the first end to the last; its pins are `m.joints["rope pin 1"]` and so on.
        """
        if not is_whole(links, 1):
            raise BadArgument(f"chain {name!r}: links={links!r} is the number of its rods, a whole number from 1 on.")
        refuse_beyond(int(links), self.dimension, f"chain {name!r}", drawn=True)
        m: Any = self
        first, second = (None if end is None else m._body(end) for end in (first, second))
        start, end = (np.array(m._drawn(place, name)) for place in m._two_places(f"chain {name}", at))
        step = (end - start) / links
        if not np.any(step):
            raise BadArgument(f"chain {name!r} has both ends in one place. Draw them apart.")
        width = float(np.linalg.norm(step)) / 20 if width is None and self.dimension == 3 else width
        places = start + np.arange(links + 1)[:, None] * step
        join = m.revolute if self.dimension == 2 else m.spherical
        kind = "revolute" if self.dimension == 2 else "spherical"
        rods = self.rods(name, places[:-1], places[1:], number(f"mass of chain {name!r}", mass) / links, width=width)
        if first is not None:
            join(f"{name} pin 0", first, rods[0], at=tuple(places[0].tolist()))
        if links > 1:
            draw_elements(m, kind, f"{name} pin", (rods[:-1], rods[1:]), {"at": places[1:-1]}, first=1)
        if second is not None:
            join(f"{name} pin {links}", rods[-1], second, at=tuple(places[-1].tolist()))
        return rods

    def net(self, name: str, *, at, size: tuple[int, int], mass: float, stiffness=None, damping=None) -> Bodies:
        """Add a net of point masses in rows and columns, each tied to the next in both directions.

        They are tied by massless rods, joints "name rod 0" .., or, with `stiffness`, by springs, forces "name spring 0" ..

        Parameters
        ----------
        name : str
            Point masses are the bodies "name 0" .., row by row.
        at : three points
            Its first corner, the end of its first column and the end of its first row in the drawing.
        size : pair of int
            Rows and columns.
        mass : float
            Of all of it, kg.
        stiffness, damping : float, optional
            Of each spring, N/m and N s/m.

        Returns
        -------
        Bodies
            Row by row: `knots[i * columns + j]`.
        """
        if not (isinstance(size, Sequence) and len(size) == 2 and all(is_whole(each, 1) for each in size)):
            raise BadArgument(f"net {name!r}: size={size!r} is a pair of whole numbers from 1 on, rows and columns.")
        rows, columns = map(int, size)
        refuse_beyond(rows * columns, self.dimension, f"net {name!r}", drawn=True)
        if rows * columns < 2:
            raise BadArgument(f"net {name!r}: a net of one point is a body; write m.body({name!r}, at=point, mass={mass!r}).")
        if damping is not None and stiffness is None:
            raise BadArgument(f"net {name!r}: damping= goes with stiffness=; rods do not give.")
        corners = points_of(self, f"at of net {name!r}", at)
        if len(corners) != 3:
            raise BadArgument(f"net {name!r}: at= is three points, its corner, the end of its first column and of its first row.")
        i, j = np.divmod(np.arange(rows * columns), columns)
        down, along = (corners[1] - corners[0]) / max(1, rows - 1), (corners[2] - corners[0]) / max(1, columns - 1)
        if (rows > 1 and not np.any(down)) or (columns > 1 and not np.any(along)):
            raise BadArgument(f"net {name!r} has a row or a column without extent. Draw its three corners apart.")
        places = corners[0] + i[:, None] * down + j[:, None] * along
        knots = self.copies(name, at=places, mass=number(f"mass of net {name!r}", mass) / len(places))
        knot = np.arange(len(places))
        ties = np.stack([np.where(i + 1 < rows, knot + columns, -1), np.where(j + 1 < columns, knot + 1, -1)], axis=1)
        one, other = np.repeat(knot, 2)[ties.ravel() >= 0], ties.ravel()[ties.ravel() >= 0]
        ends = {"at": (places[one], places[other])}
        m: Any = self
        if stiffness is None:
            m.distance(f"{name} rod", knots[one], knots[other], **ends)
        else:
            m.spring(f"{name} spring", knots[one], knots[other], stiffness=stiffness, damping=damping, **ends)
        return knots

    def repeat(self, name: str, unit: Any, *, times: int, step) -> dict[str, Bodies]:
        """Add copies of another mechanism, each moved on by a step: its bodies, joints and forces.

        Body "arm" of the unit becomes the bodies "name arm 0", "name arm 1" and so on; its ground is the ground here. Join copies
        to each other by joints between their `Bodies`.

        Parameters
        ----------
        name : str
            What names begin with.
        unit : Mechanism
            What is repeated, as it is drawn; of bodies, joints and forces.
        times : int
            How often.
        step : point
            By how much each copy is moved from the one before, m.

        Returns
        -------
        {str: Bodies}
            Bodies by their names in the unit.

        Examples
        --------
        >>> from holonomic.multibody import Mechanism, rod
        >>> unit = Mechanism()
        >>> _ = unit.body("arm", rod((0, 0), (0, -1), mass=1.0)), unit.body("bar", rod((0, -1), (1, -1), mass=1.0))
        >>> _ = unit.revolute("A", unit.ground, "arm", at=(0, 0)), unit.revolute("B", "arm", "bar", at=(0, -1))
        >>> m = Mechanism()
        >>> row = m.repeat("row", unit, times=400, step=(1, 0))
        >>> pins = m.revolute("C", row["bar"][:-1], row["arm"][1:], at=[(i + 1, -1) for i in range(399)])
        >>> len(m.bodies), len(pins), m.bodies["row arm 17"].position
        (800, 399, (17.0, -0.5))
        """
        if not (isinstance(unit, SeriesMethods) and unit.dimension == self.dimension and unit is not self):
            raise BadArgument(f"repeat {name!r} needs another Mechanism of {self.dimension} dimensions to copy, got {unit!r}.")
        if not is_whole(times, 1):
            raise BadArgument(f"repeat {name!r}: times={times!r} is a whole number from 1 on.")
        for what in ("drives", "states", "inputs", "outputs"):
            if getattr(unit, what):
                raise BadArgument(
                    f"repeat {name!r}: {next(iter(getattr(unit, what)))!r} is one of the unit's {what}, which are not repeated. "
                    "Add them to each copy."
                )
        if unit.bodies.series or unit.joints.series or unit.forces.series:
            raise BadArgument(f"repeat {name!r}: the unit has parts in series; repeat parts that were drawn one by one.")
        if not unit.bodies:
            raise BadArgument(f"repeat {name!r}: the unit has no bodies.")
        refuse_beyond(int(times) * len(unit.bodies), self.dimension, f"repeat {name!r}", drawn=True)
        move = np.arange(times)[:, None] * np.array(sh.point(step, f"step of {name!r}", self.dimension))
        return Repeated(self, name, unit, times, move).bodies

    def bodies_in(self, name: str) -> Bodies:
        """Return the bodies that were drawn together under a name: "rope" of "rope 0", "rope 1" and so on."""
        numbers = [series.start + np.arange(series.count) for series in self.bodies.series if series.stem == f"{name} "]
        if not numbers:
            known = sorted({series.stem.strip() for series in self.bodies.series})
            raise BadArgument(f"there are no bodies in a row called {name!r}. There are: {', '.join(known) or 'none'}.")
        return Bodies(self, np.concatenate(numbers))

    def _in_row(self, method: str, name: str, first, second, **how) -> PartRow:
        """One element for each of many bodies."""
        return draw_elements(self, method, name, (first, second), how)

    def _springs_on(self, joints: PartRow, **how) -> PartRow:
        return springs_on(self, joints, how)

    def _enter_bodies(
        self, name: str, n: int, mass: np.ndarray, inertia: dict[str, np.ndarray], centre: np.ndarray, rotation, size, shapes,
        ties: bool = True,
    ) -> Bodies:  # fmt: skip
        """Enter a series of bodies."""
        m: Any = self
        stem = new_stem(m, name, "body", 0, n)
        axes = {f".{axis}": np.ascontiguousarray(centre[:, i]) for i, axis in enumerate("xyz"[: self.dimension])}
        checks = {".mass": positive} | {suffix: positive for suffix in inertia if suffix[-2:] not in ("xy", "xz", "yz")}
        columns = Columns(stem, 0, {".mass": np.ascontiguousarray(mass), **inertia, **axes}, checks)
        if inertia and ties:
            columns.ties[".mass"] = tuple(inertia)
        self.params.add_columns(columns)
        start = len(self.bodies)
        self.bodies.add(BodySeries(stem, self, start, columns, rotation, size, shapes, not inertia))
        m._changed()
        return Bodies(self, np.arange(start, start + n))


def _axes_along(along: np.ndarray) -> np.ndarray:
    """Axes as columns whose first has given directions, see `shapes.axes_from`."""
    if not np.ptp(along, axis=0).any():
        return np.broadcast_to(sh.axes_from(along[0]), (len(along), 3, 3))
    return np.array([sh.axes_from(each) for each in along])
