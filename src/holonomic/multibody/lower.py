"""From bodies, joints and forces to a System: absolute coordinates, one constraint per joint.

Everything that enters the System closes over plain values and functions, and every number is a parameter, so
mechanisms that differ in numbers share one compiled model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import Names, with_more
from ..model.function_signature import in_run
from ..model.made_functions import maker
from ..model.refusals import warn
from ..model.system import System
from .body import check_inertia
from .joint import Drive, Joint
from .small_vectors import dot
from .state_methods import seen

INERTIAS = ("", ".xx", ".yy", ".zz", ".xy", ".xz", ".yz")  # what follows "body.inertia", in the plane and in space


class UnitsWarning(UserWarning):
    """Lengths that look like millimetres, where metres are expected."""


@dataclass(frozen=True, eq=False, repr=False)
class AssembledSystem(System):
    """The System of a mechanism; results are read by the names of its bodies, joints and forces.

    `metric` weighs lengths by 1 and rotations by the squared size of the body when the state is projected; sizes are
    parameters such as "link.size", so that linkages of other lengths share the compiled model.
    """

    resolver: Any = field(default=None, kw_only=True, repr=False)
    redundant: str = field(default="minimum-norm", kw_only=True, repr=False)
    metric: tuple | None = field(default=None, kw_only=True, repr=False)


def lower(m, varying=()) -> AssembledSystem:
    """Return the equations of a mechanism; numbers of its structure are built in, but for those that vary."""
    from .results import Resolver

    kit, built_in = m.kit, m.params.built_in(varying)
    _check_units(m)
    bodies = tuple(m.bodies.values())
    masses = tuple(mass_keys(body.name, m.params, m.params.tied_to(f"{body.name}.mass"), varying) for body in bodies)
    links = tuple(held_point_masses(m))
    coordinates: dict[str, str] = {}
    for body in bodies:
        coordinates |= kit.labels(body.name)
    level = {"position": {}, "velocity": {}}
    for part in (*m.joints.values(), *m.drives.values()):
        level[part.level][part.name] = with_numbers(part.rows, built_in)
    resolver = Resolver(m, built_in)
    applied = tuple((force.applied, resolver.rows_of(force.load)) for force in m.forces.values() if force.applied is not None)
    energies = tuple(force.energy for force in m.forces.values() if force.energy is not None)
    weights = tuple((k, body[0]) for k, body in enumerate(masses))
    spins = kit.gyroscopic(masses)
    sizes = {f"{name}.size": size for name, size in body_sizes(m).items()} | shape_masses(m)
    layout = m._state_layout()
    states = {
        name: seen(with_numbers(m._named(state.rate, f"rate of state {name!r}"), built_in), layout)
        for name, state in m.states.items()
    }
    return AssembledSystem(
        mass=mass_function(kit.mass_block, kit.NV, masses, links),
        force=seen(with_numbers(_force(kit, len(bodies), applied, spins), built_in), layout),
        constraint=level["position"] or None,
        nonholonomic=level["velocity"] or None,
        potential=with_numbers(potential_function(kit.centre, m._gravity, weights, energies), built_in),
        kinematics=kit.kinematics(len(bodies)),
        invariants=kit.invariants(tuple(body.name for body in bodies)),
        states=states or None,
        params={name: value for name, value in m.params.items() if name not in built_in} | sizes,
        inputs=dict(m.inputs) or None,
        outputs=dict(m.outputs) or None,
        coordinates=coordinates,
        resolver=resolver,
        metric=metric(m, bodies),
    )


def with_numbers(function, numbers: dict[str, float]):
    """Return a function of p in which some parameters have fixed numbers."""
    if function is None or not numbers:
        return function
    made = held(function, tuple(numbers.items()))
    made.row_names = function.row_names
    return made


@maker
def held(function, numbers):
    """The function with p that also has these numbers."""

    def with_numbers(**given):
        if "p" in given:
            given["p"] = with_more(given["p"], dict(numbers))
        return in_run(function)(**given)

    with_numbers.__wrapped__ = function  # asked for the same names
    return with_numbers


@maker
def mass_function(block, nv, masses, links):
    """M: one block per body; `links` tie the rotation of a point mass to the body that holds it."""

    def mass(p):
        n = nv * len(masses)
        M = [[0.0] * n for _ in range(n)]
        for k, keys in enumerate(masses):
            for i, row in enumerate(block(p, keys)):
                for j, value in enumerate(row):
                    M[nv * k + i][nv * k + j] = value
        for row, column, value in links:
            M[row][column] += value
            if row != column:
                M[column][row] += value
        return M

    return mass


def _force(kit, n_bodies, applied, spins):
    """The force, of the multipliers only where one of the forces follows them: their solve costs more."""
    if not applied and not spins:
        return None
    loaded = any(rows is not None for _, rows in applied)
    return (loaded_function if loaded else force_function)(kit.generalized, kit.NV, n_bodies, applied, spins)


def total_force(generalized, nv, n_bodies, applied, spins, t, q, v, p, u, lam):
    """f: what all forces do to the bodies, and the gyroscopic torques in space."""
    total = [0.0] * (nv * n_bodies)
    for act, rows in applied:
        for k, push, point, torque in act(t, q, v, p, u) if rows is None else act(t, q, v, p, u, lam[slice(*rows)]):
            if k >= 0:
                for i, value in enumerate(generalized(q, k, push, point, torque)):
                    total[nv * k + i] = total[nv * k + i] + value
    for spin in spins:
        for at, value in spin(v, p):
            total[at] = total[at] + value
    return total


@maker
def force_function(generalized, nv, n_bodies, applied, spins):
    """f of (t, q, v, p, u)."""

    def force(t, q, v, p, u):
        return total_force(generalized, nv, n_bodies, applied, spins, t, q, v, p, u, None)

    return force


@maker
def loaded_function(generalized, nv, n_bodies, applied, spins):
    """f where friction follows the reactions."""

    def force(t, q, v, p, u, lam):
        return total_force(generalized, nv, n_bodies, applied, spins, t, q, v, p, u, lam)

    return force


@maker
def potential_function(centre, gravity, weights, energies):
    """V: gravity and everything elastic."""

    def potential(q, p):
        g = tuple(p[key] for key in gravity)
        total = 0.0
        for k, mass in weights:
            total = total - p[mass] * dot(g, centre(q, k))
        for energy in energies:
            total = total + energy(q, p)
        return total

    return potential


def mass_keys(body: str, params, tied=(), varying=()) -> tuple:
    """Names of a body's mass, of its inertia (none of a point mass) and, where that grows with the mass, of the mass it is for."""
    stem, mass = f"{body}.inertia", f"{body}.mass"
    inertia = tuple((suffix, stem + suffix) for suffix in INERTIAS if stem + suffix in params)
    follows = tied and not (mass in varying and set(tied) & set(varying))
    return (mass, inertia, f"{body}.shape mass" if follows else None)


def shape_masses(m) -> dict[str, float]:
    """The masses for which inertias that grow with them are stated, as parameters of the System."""
    return {f"{name}.shape mass": m.params[f"{name}.mass"] for name in m.bodies if m.params.tied_to(f"{name}.mass")}


def held_point_masses(m):
    """Tie the rotation of each point mass to the body that holds it, or let it be.

    A body without inertia makes M singular in its rotation. Where a joint keeps its rotation as it is drawn beside
    another body's, D (ω - ω')²/2 is added to the kinetic energy for some D > 0: it is zero in every motion, so
    accelerations and multipliers do not change at all. Where nothing turns it, any inertia does. Otherwise M
    stays singular; the saddle-point matrix is not, if the joints hold the rotation, but it is solved more slowly.
    """
    bodies, others, nominal = ties_of_point_masses(m)
    axes = lambda number: np.asarray(m.bodies.by_number(number).rotation, dtype=float)
    for body, other, value in zip(bodies.tolist(), others.tolist(), nominal.tolist(), strict=True):
        turned = axes(body).T @ axes(other) if other >= 0 and m.dimension == 3 else None
        yield from m.kit.links(body, other, value, turned)


def masses_of_bodies(m) -> np.ndarray:
    """Masses of all bodies, kg."""
    return m.bodies.columns(lambda body: body.mass, lambda series: series.columns.values[".mass"])


def point_masses(m) -> np.ndarray:
    """Which bodies have no inertia of their own."""
    return m.bodies.columns(lambda body: body.point_mass, lambda series: np.full(series.count, series.point_mass), bool)


def ties_of_point_masses(m) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Point masses whose rotation is tied; to which body, -1: the ground; and with how much inertia. See `held_point_masses`."""
    light = point_masses(m)
    none = np.zeros(0, dtype=np.int64)
    if not light.any():
        return none, none, np.zeros(0)
    sizes = sizes_of_bodies(m)
    holding, turned = _held_by(m, light)
    tied = light & ((holding >= -1) | ~turned)
    bodies = np.flatnonzero(tied)
    masses = masses_of_bodies(m)
    return bodies, np.maximum(holding[bodies], -1), masses[bodies] * np.maximum(sizes[bodies], 1e-6) ** 2


def _as_drawn(m, joint: Joint) -> bool:
    """Whether a joint keeps the rotation that is drawn: frames in space may bring another one together."""
    return m.dimension == 2 or joint.marks[0][4] == joint.marks[1][4]


TURNING = ("gear", "rolling", "rack-and-pinion", "bushing", "skate")  # they turn a body at whose centre they act, too
LETTING = {2: ("revolute", "distance", "pin-in-slot"), 3: ("spherical", "distance", "pin-in-slot")}  # joints that do not


def _turns(m, part, end: int) -> bool:
    """Whether a joint, a force or a drive turns the body at one of its ends also where it acts at the centre."""
    if isinstance(part, Joint):
        slot = part.kind == "pin-in-slot" and end == 0  # the pin pushes it where it is
        return slot or part.kind not in LETTING[m.dimension]
    if isinstance(part, Drive):
        return part.of not in m.points
    rubs = part.kind == "contact" and m.params[f"{part.name}.friction"] > 0.0
    return rubs or part.turns or part.on is not None or part.kind in TURNING


def _held_by(m, light: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of point masses: the body whose rotation they keep, -2: there is none; and whether something may turn them.

    That is a joint or a force away from the centre, a joint that lets them not turn freely, a torque, or a drive.
    """
    holding, turned = np.full(len(light), -2), np.zeros(len(light), dtype=bool)
    centres = drawn_centres(m)
    away = lambda points, at: np.linalg.norm(points - at, axis=-1) > 1e-9 * (1.0 + np.linalg.norm(at, axis=-1))
    for part in (*m.joints.alone.values(), *m.forces.alone.values(), *m.drives.values()):
        if isinstance(part, Joint) and part.holds_rotation and _as_drawn(m, part):
            for one, other in ((part.first.index, part.second.index), (part.second.index, part.first.index)):
                if one >= 0 and light[one] and holding[one] == -2:
                    holding[one] = other
        for end, mark in enumerate(part.marks):
            k = mark[0]
            if k >= 0 and light[k] and not turned[k]:
                turned[k] = _turns(m, part, end) or bool(away(m.params.many(mark[1]), centres[k]))
    for series in (*m.joints.series, *m.forces.series):
        part, given = series.whole, series.given()
        if isinstance(part, Joint) and part.holds_rotation and _as_drawn(m, part):
            ends = [np.broadcast_to(end.index, series.count) for end in (part.first, part.second)]
            for one, other in (ends, ends[::-1]):
                own = (one >= 0) & light[one] & (holding[one] == -2)
                holding[one[own]] = other[own]
        for end, mark in enumerate(part.marks):
            k = np.broadcast_to(mark[0], series.count)
            points = np.stack([np.broadcast_to(given[key], series.count) for key in mark[1]], axis=1)
            turned[k[(k >= 0) & (_turns(m, part, end) | away(points, centres[k]))]] = True
    return holding, turned


def check_masses(m, system, q) -> None:
    """Refuse a mechanism whose point masses can turn freely: M must be positive on what the joints leave free."""
    from .assemble import Kinematics
    from .statics import tangent

    if not any(body.point_mass for body in m.bodies.values()):
        return
    k = Kinematics(m)
    N = tangent(k, k.jacobian(0.0, q))
    M = np.array(system.mass(Names(**system.params)), dtype=float)
    values, vectors = np.linalg.eigh(N.T @ M @ N) if N.shape[1] else (np.ones(1), None)
    if values[0] > 1e-12 * values[-1]:
        return
    moving = np.abs(N @ vectors[:, 0]) * k.scale
    worst = list(m.bodies)[int(np.argmax(moving)) // m.kit.NV]
    raise BadArgument(f"body {worst!r} has no inertia, but its joints let it turn. Give inertia=, or a shape.")


def drawn_centres(m) -> np.ndarray:
    """Centres of mass of all bodies in the drawing."""
    many = lambda series: np.column_stack([series.columns.values[axis] for axis in series.axes])
    alone = [name for body in m.bodies.alone.values() for name in body.origin]
    if not m.bodies.series:
        return m.params.many(alone).reshape(-1, m.dimension)
    return m.bodies.columns(lambda body: body.position, many).reshape(-1, m.dimension)


def drawn_points(m) -> tuple[np.ndarray, np.ndarray]:
    """All points of the drawing, centres, joints, forces, and which body each belongs to; -1 is the ground."""
    owners, names = [], []
    for part in (*m.joints.alone.values(), *m.forces.alone.values(), *m.points.values()):
        for mark in part.marks:
            owners.append(mark[0])
            names += mark[1]
    whose = [np.arange(len(m.bodies)), np.array(owners, dtype=np.int64)]
    points = [drawn_centres(m), m.params.many(names).reshape(-1, m.dimension)]
    for series in (*m.joints.series, *m.forces.series):
        given = series.given()
        for mark in series.whole.marks:
            whose.append(np.broadcast_to(mark[0], series.count))
            points.append(np.column_stack([np.broadcast_to(given[key], series.count) for key in mark[1]]))
    return np.concatenate(whose), np.concatenate(points)


def shape_sizes(m) -> np.ndarray:
    """Largest distance of a shape of each body from its centre, m."""
    return m.bodies.columns(lambda body: body.size, lambda series: series.size)


def extent(m, points: np.ndarray) -> float:
    """Largest extent of points and bodies, m."""
    reach = 2 * float(np.max(shape_sizes(m), initial=0.0))
    return max(*(float(np.ptp(column)) for column in points.T), reach) or 1.0


def mechanism_size(m) -> float:
    """Largest extent of the drawing, m."""
    return extent(m, drawn_points(m)[1])


def sizes_of_bodies(m) -> np.ndarray:
    """Largest distance of a drawn point of each body from its centre of mass, m."""
    owners, points = drawn_points(m)
    whole, n = extent(m, points), len(m.bodies)
    sizes = np.array(shape_sizes(m), dtype=float)
    of_bodies = owners >= 0
    owners, points = owners[of_bodies], points[of_bodies]
    np.maximum.at(sizes, owners, np.linalg.norm(points - points[:n][owners], axis=1))  # centres come first
    return np.where(sizes > 1e-6 * whole, sizes, whole)


def body_sizes(m) -> dict[str, float]:
    """The same by name."""
    return dict(zip(m.bodies, sizes_of_bodies(m).tolist(), strict=True))


def metric(m, bodies) -> tuple:
    """Weights of (q, v) in projections: 1 for lengths, for rotations the squared body size times a factor of the kit."""
    one, two = m.kit.weights(1.0), m.kit.weights(2.0)
    found = []
    for by_one, by_two in zip(one, two, strict=True):
        for body in bodies:
            found += [
                (f"{body.name}.size", a) if a != b else a for a, b in zip(by_one, by_two, strict=True)
            ]  # what grows with the size is a rotation
    return tuple(found)


def check_inertias(m) -> None:
    """Refuse inertia that no body has; parameters may have been set since the bodies were made."""
    if m.dimension == 2:  # numbers by themselves, looked at one by one only where one is wrong
        alone = m.params.alone
        names = [name for body in m.bodies.alone if (name := f"{body}.inertia") in alone]
        many = [series.columns.values[".inertia"] for series in m.bodies.series if not series.point_mass]
        if np.all(np.array([alone[name] for name in names]) > 0.0) and all(np.all(values > 0.0) for values in many):
            return
    elif not inertia_in_doubt(m):
        return
    for body in m.bodies.values():
        check_inertia(body.name, inertia_of(m, body))


def inertia_in_doubt(m) -> bool:
    """Whether an inertia in space may be wrong: all are looked at together."""
    pairs = [(i, j, f".{'xyz'[i]}{'xyz'[j]}") for i in range(3) for j in range(i, 3)]
    alone = m.params.alone
    known = [f"{body}.inertia" for body in m.bodies.alone if f"{body}.inertia.xx" in alone]
    J = np.zeros((len(known), 3, 3))
    for i, j, suffix in pairs:
        own = [k for k, stem in enumerate(known) if stem + suffix in alone]
        J[own, i, j] = J[own, j, i] = [alone[known[k] + suffix] for k in own]
    every = [J]
    for series in m.bodies.series:
        if not series.point_mass:
            J = np.zeros((series.count, 3, 3))
            for i, j, suffix in pairs:
                if f".inertia{suffix}" in series.columns.values:
                    J[:, i, j] = J[:, j, i] = series.columns.values[f".inertia{suffix}"]
            every.append(J if np.ptp(J, axis=0).any() else J[:1])
    values = np.linalg.eigvalsh(np.concatenate(every))
    return not np.all((values[:, 0] > 0.0) & (values[:, 2] <= (values[:, 0] + values[:, 1]) * (1 + 1e-9)))


def inertia_of(m, body):
    """Inertia of a body out of its parameters: a number, a matrix, or None."""
    keys = dict(mass_keys(body.name, m.params)[1])
    if m.dimension == 2 or not keys:
        return m.params[keys[""]] if keys else None
    J = np.zeros((3, 3))
    for suffix, key in keys.items():
        i, j = "xyz".index(suffix[1]), "xyz".index(suffix[2])
        J[i, j] = J[j, i] = m.params[key]
    return J


def _check_units(m) -> None:
    for name, size in body_sizes(m).items():
        mass = m.bodies[name].mass
        # no machine part of 5 m weighs less than 50 g a metre, and few of 50 m less than 1 kg a metre
        if (size > 5.0 and mass < 0.05 * size) or (size > 50.0 and mass < size):
            warn(
                f"body {name!r} reaches {size:.3g} m from its centre and weighs {mass:.3g} kg. Lengths are in metres: "
                "multiply millimetres by 1e-3.",
                UnitsWarning,
            )
            return
