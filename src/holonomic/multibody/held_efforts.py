"""What friction gives while a joint sticks: not what its law says there, but what holds the joint.

A law such as -F sign(x') says nothing of a joint that does not move: the run takes the mean of both its sides. That is found again
from the balance of the bodies, M a = f - Gᵀλ, in which these efforts alone are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .views import mass_block

if TYPE_CHECKING:
    from .results import MechanismRecord

STILL = 1e-9  # of the speed that the effort could give in the time of the run
JUMPS = 1e-6  # of an effort: a law that changes by less where the speed changes its sign is no friction that sticks


def sticks(record: MechanismRecord, force) -> bool:
    """Tell whether a force holds its joint at any time."""
    return bool(np.any(_held(record, force)))


def held_efforts(record: MechanismRecord) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Where forces on joints hold these, and with which effort: two arrays over time for each, by name."""
    found = {force.name: _held(record, force) for force in record.resolver.forces.values()}
    found = {name: where for name, where in found.items() if np.any(where)}
    if not found:
        return {}
    bodies = sorted({mark[0] for name in found for mark in record.resolver.forces[name].marks if mark[0] >= 0})
    missing = np.concatenate([_missing(record, k) for k in bodies])  # (velocity, time)
    units = {name: _unit(record, record.resolver.forces[name]) for name in found}
    ways = {name: np.concatenate([units[name].get(k, np.zeros((record.kit.NV, len(record.t)))) for k in bodies]) for name in found}
    more = {name: np.zeros(len(record.t)) for name in found}
    for row in np.flatnonzero(np.any(list(found.values()), axis=0)):
        names = [name for name, where in found.items() if where[row]]
        matrix = np.stack([ways[name][:, row] for name in names], axis=1)
        for name, value in zip(names, np.linalg.lstsq(matrix, missing[:, row], rcond=1e-12)[0], strict=True):
            more[name][row] = value
    return {name: (where, _effort(record, record.resolver.forces[name], record.v) + more[name]) for name, where in found.items()}


def with_effort(record: MechanismRecord, force, acts, where: np.ndarray, effort: np.ndarray):
    """What a force does to which body, with another effort at some of the times."""
    joint = record.resolver.joints[force.on]
    push, torque = joint.wrench(record.kit, record.q, record.p, np.where(where, effort, 0.0))
    changed = []
    for (k, old_push, point, old_torque), sign in zip(acts, (-1.0, 1.0), strict=True):
        changed.append(
            (k, None if old_push is None else _chosen(where, push, old_push, sign), point, _chosen(where, torque, old_torque, sign))
        )
    return tuple(changed)


def _chosen(where, new, old, sign):
    if isinstance(old, tuple):
        return tuple(np.where(where, sign * a, b) for a, b in zip(new, old, strict=True))
    return np.where(where, sign * new, old)


def _effort(record: MechanismRecord, force, v) -> np.ndarray:
    """The effort that the law gives at other velocities, over time."""
    joint = record.resolver.joints[force.on]
    load = () if force.load is None else (record.lam[record.resolver.layout[force.load]],)
    _, push, _, torque = force.act(record.t, record.q, v, record.p, record.u, *load)[-1]
    return record.full(joint.effort_in(record.kit, record.q, record.p, push, torque))


def _unit(record: MechanismRecord, force) -> dict[int, np.ndarray]:
    """What a unit of the effort does to the velocities of each body, (velocity, time)."""
    joint, kit, q = record.resolver.joints[force.on], record.kit, record.q
    push, torque = joint.wrench(kit, q, record.p, 1.0)
    point = kit.place(q, record.p, joint.marks[1])[0]
    found: dict[int, np.ndarray] = {}
    for mark, sign in zip(joint.marks, (-1.0, 1.0), strict=True):
        if mark[0] >= 0:
            parts = kit.generalized(q, mark[0], push, point, torque)
            found[mark[0]] = found.get(mark[0], 0.0) + sign * np.stack([record.full(part) for part in parts])
    return found


def _held(record: MechanismRecord, force) -> np.ndarray:
    """When the joint of a force stands still, and the law jumps as its speed changes its sign."""
    if force.on is None or force.stores:
        return np.zeros(len(record.t), dtype=bool)
    joint, nv = record.resolver.joints[force.on], record.kit.NV
    unit, span = _unit(record, force), float(np.ptp(record.t)) or 1.0
    size = sum(np.sum(way * way, axis=0) for way in unit.values())
    if not unit or not np.all(size > 0.0):
        return np.zeros(len(record.t), dtype=bool)
    gives = sum(np.sum(way * way / np.maximum(_masses(record, k), 1e-300), axis=0) for k, way in unit.items())
    rate = record.full(joint.rate(record.q, record.v, record.p))
    sides = []
    largest = float(np.max(np.abs(record.v))) or 1.0  # of all speeds: less is lost in their rounding
    for side in (-1.0, 1.0):
        v = np.array(record.v)
        for k, way in unit.items():
            v[nv * k : nv * (k + 1)] += (side * STILL * largest - rate) / size * way
        sides.append(_effort(record, force, v))
    jump = np.abs(sides[1] - sides[0])
    return (jump > JUMPS * (np.abs(sides[0]) + np.abs(sides[1]))) & (np.abs(rate) <= STILL * jump * gives * span)


def _masses(record: MechanismRecord, k: int) -> np.ndarray:
    """The diagonal of the mass matrix of one body, a column."""
    _, block = mass_block(record, record.resolver.bodies.by_number(k))
    return np.array([[np.mean(block[i][i])] for i in range(record.kit.NV)])


def _missing(record: MechanismRecord, k: int) -> np.ndarray:
    """M a of one body less all that acts on it by its law, (velocity, time)."""
    kit, resolver, n = record.kit, record.resolver, len(record.t)
    nv, (keys, block) = kit.NV, mass_block(record, resolver.bodies.by_number(k))
    a, total = record.a[nv * k : nv * (k + 1)], np.zeros((nv, n))
    for i in range(nv):
        total[i] = sum(block[i][j] * a[j] for j in range(nv))
    given: list[Any] = []
    weight = tuple(block[0][0] * record.p[key] for key in resolver.gravity)
    given.append(kit.generalized(record.q, k, weight, kit.centre(record.q, k), kit.NO_TORQUE))
    for force in resolver.forces.values():
        if any(mark[0] == k for mark in force.marks):
            given += [kit.generalized(record.q, k, *how) for at, *how in record.by_law(force) if at == k]
    for part in (*resolver.joints.values(), *resolver.drives.values()):
        if any(mark[0] == k for mark in part.marks):
            given.append(record.generalized_reaction(part, k))
    for parts in given:
        for i, value in enumerate(parts):
            total[i] -= value
    for spin in kit.gyroscopic((*[((), ())] * k, keys)):
        for at, value in spin(record.v, record.p):
            total[at - nv * k] -= value
    return total
