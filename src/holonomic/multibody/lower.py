"""From bodies, joints and forces to a System: absolute coordinates, one constraint per joint.

Everything that enters the System closes over plain values and functions, and every number is a parameter, so
mechanisms that differ in numbers share one compiled model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import Names
from ..model.function_signature import in_run
from ..model.made_functions import maker
from ..model.refusals import warn
from ..model.system import System
from .body import check_inertia
from .small_vectors import dot
from .state_methods import seen

INERTIAS = ("", ".xx", ".yy", ".zz", ".xy", ".xz", ".yz")  # what follows "body.inertia", in the plane and in space


class UnitsWarning(UserWarning):
    """Lengths that look like millimetres where metres are meant."""


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
    applied = tuple(
        (force.applied, resolver.rows_of(force.load)) for force in m.forces.values() if force.applied is not None
    )
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
            given["p"] = type(given["p"])(**given["p"].__dict__, **dict(numbers))
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
        for one, other, value in links:
            M[one][one] += value
            if other >= 0:
                M[other][other] += value
                M[one][other] -= value
                M[other][one] -= value
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

    A body without inertia makes M singular in its rotation. Where a joint keeps its rotation equal to
    another body's, D (ω - ω')²/2 is added to the kinetic energy for some D > 0: it is zero in every motion, so
    accelerations and multipliers do not change at all. Where nothing turns it, any inertia does. Otherwise M
    stays singular; the saddle-point matrix is not, if the joints hold the rotation, but it is solved more slowly.
    """
    if not any(body.point_mass for body in m.bodies.values()):
        return
    sizes, joints = body_sizes(m), {}
    for joint in m.joints.values():
        for end in {joint.first.index, joint.second.index}:
            joints.setdefault(end, []).append(joint)
    for body in m.bodies.values():
        if not body.point_mass:
            continue
        own = joints.get(body.index, [])
        size = max(sizes[body.name], 1e-6)
        nominal = body.mass * size**2
        holding = next((joint for joint in own if joint.holds_rotation), None)
        if holding is not None:
            other = holding.first if holding.second is body else holding.second
            yield from m.kit.links(body.index, other.index, nominal)
            continue
        if not _may_turn(m, body, own):
            yield from m.kit.links(body.index, -1, nominal)


def _may_turn(m, body, joints) -> bool:
    """Whether something may turn a point mass: a joint or a force away from its centre, or a torque."""
    centre = np.array(body.position)
    names = {joint.name for joint in joints}
    parts = [*joints, *(force for force in m.forces.values() if body.index in (mark[0] for mark in force.marks))]
    for part in parts:
        place = next(mark[1] for mark in part.marks if mark[0] == body.index)
        away = np.linalg.norm(np.array([m.params[key] for key in place]) - centre)
        if away > 1e-9 * (1.0 + np.linalg.norm(centre)) or part.on is not None:
            return True
        if part.kind in ("gear", "rolling", "rack-and-pinion", "bushing", "skate"):
            return True
    return any(drive.of in names for drive in m.drives.values())


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


def drawn_points(m) -> tuple[np.ndarray, np.ndarray]:
    """All points of the drawing, centres, joints, forces, and which body each belongs to; -1 is the ground."""
    owners = [body.index for body in m.bodies.values()]
    names = [name for body in m.bodies.values() for name in body.origin]
    for part in (*m.joints.values(), *m.forces.values(), *m.points.values()):
        for mark in part.marks:
            owners.append(mark[0])
            names += mark[1]
    return np.array(owners), m.params.many(names).reshape(-1, m.dimension)


def extent(m, points: np.ndarray) -> float:
    """Largest extent of points and bodies, m."""
    reach = max((2 * body.size for body in m.bodies.values()), default=0.0)
    return max(float(np.max(np.ptp(points, axis=0))), reach) or 1.0


def mechanism_size(m) -> float:
    """Largest extent of the drawing, m."""
    return extent(m, drawn_points(m)[1])


def body_sizes(m) -> dict[str, float]:
    """Largest distance of a drawn point of each body from its centre of mass, m."""
    owners, points = drawn_points(m)
    whole, n = extent(m, points), len(m.bodies)
    sizes = np.array([body.size for body in m.bodies.values()], dtype=float)
    of_bodies = owners >= 0
    owners, points = owners[of_bodies], points[of_bodies]
    np.maximum.at(sizes, owners, np.linalg.norm(points - points[:n][owners], axis=1))  # centres come first
    return dict(zip(m.bodies, np.where(sizes > 1e-6 * whole, sizes, whole).tolist(), strict=True))


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
        names = [name for body in m.bodies if (name := f"{body}.inertia") in m.params]
        if np.all(m.params.many(names) > 0.0):
            return
    elif not inertia_in_doubt(m):
        return
    for body in m.bodies.values():
        check_inertia(body.name, inertia_of(m, body))


def inertia_in_doubt(m) -> bool:
    """Whether an inertia in space may be wrong: all are looked at together."""
    pairs = [(i, j, f".{'xyz'[i]}{'xyz'[j]}") for i in range(3) for j in range(i, 3)]
    known = [f"{body}.inertia" for body in m.bodies if f"{body}.inertia.xx" in m.params]
    J = np.zeros((len(known), 3, 3))
    for i, j, suffix in pairs:
        own = [k for k, stem in enumerate(known) if stem + suffix in m.params]
        J[own, i, j] = J[own, j, i] = m.params.many(known[k] + suffix for k in own)
    values = np.linalg.eigvalsh(J)
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
