"""Joint forces for those who have multipliers and G alone: an exported model adds them up itself.

What a joint exerts on its second body is linear in -Gᵀλ of its rows, and in λ of its couplings, whose rows other joints feel,
too; the matrix between the two depends on the position, and is an output of the system like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..model.made_functions import maker
from .joint import effort_in, wrench_along
from .lower import with_numbers
from .state_methods import seen

COMPONENTS = {2: ("force x", "force y", "torque"), 3: ("force x", "force y", "force z", "torque x", "torque y", "torque z")}


class JointFrame(NamedTuple):
    """How force and torque of a joint follow from multipliers: frame(q, p) (sign Gᵀλ of `rows` on `columns`; λ of `coupled`)."""

    rows: list[int]
    columns: range
    sign: float
    coupled: list[int]
    frame: Callable


def joint_frames(resolver) -> dict[str, JointFrame]:
    """Return the frames of all joints of a mechanism, by name."""
    found = {}
    n = resolver.kit.NV
    for name, joint in resolver.joints.items():
        rows, k, sign = resolver.acting(name)
        couplings = resolver.couplings_of(joint)
        shares = tuple(f"{drive.name}.ratio" if name == drive.leader else None for drive in couplings)
        frame = wrench_frame(resolver.dimension, k, joint.marks, joint.coordinate, shares)
        coupled = [resolver.layout[drive.name].start for drive in couplings]
        found[name] = JointFrame(rows, range(n * k, n * (k + 1)), sign, coupled, with_numbers(frame, resolver.built_in))
    return found


@maker
def wrench_frame(dimension, k, marks, coordinate, shares):
    """Force and torque at a joint of each generalized force on body k, one after the other, and of λ = 1 of its couplings.

    `shares` are names of ratios, whose joint leads; None where it follows.
    """
    kit = kit_of(dimension)

    def frame(q, p):
        point, found = kit.place(q, p, marks[1])[0], []
        each = [kit.wrench_at(q, k, [float(i == j) for j in range(kit.NV)], point) for i in range(kit.NV)]
        each += [wrench_along(kit, coordinate, marks[0], q, p, -1.0 if ratio is None else p[ratio]) for ratio in shares]
        for force, torque in each:
            found += [*force, *(torque if dimension == 3 else (torque,))]
        return found

    return frame


def joint_efforts(resolver) -> dict[str, Callable]:
    """Efforts of all joints that are driven or have motors, as functions of a System, by name."""
    found = {}
    for name, joint in resolver.joints.items():
        parts = resolver.actuators_of(joint)
        rows = tuple(resolver.layout[part.name].start for part in parts if part.name in resolver.drives)
        acts = tuple(part.act for part in parts if part.name in resolver.forces)
        if parts:
            made = actuators_effort(resolver.dimension, joint.marks[0], joint.coordinate, rows, acts)
            found[name] = seen(with_numbers(made, resolver.built_in), resolver.states)
    return found


@maker
def actuators_effort(dimension, mark, coordinate, rows, acts):
    """What drives of these rows and motors give along an angle or position."""
    kit = kit_of(dimension)

    def effort(t, q, v, p, u, lam):
        total = -sum(lam[row] for row in rows)
        for act in acts:
            _, force, _, torque = act(t, q, v, p, u)[-1]
            total = total + effort_in(kit, coordinate, mark, q, p, force, torque)
        return total

    return effort


def kit_of(dimension: int):
    """The formulas of the plane or of space."""
    from . import plane, space

    return plane if dimension == 2 else space
