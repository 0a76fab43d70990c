"""Joint forces for those who have multipliers and G alone: an exported model adds them up itself.

What a joint exerts on its second body is linear in -Gᵀλ of its rows; the matrix between the two depends on the position, and is
an output of the system like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..model.made_functions import maker
from .lower import with_numbers

COMPONENTS = {
    2: ("force x", "force y", "torque"),
    3: ("force x", "force y", "force z", "torque x", "torque y", "torque z"),
}


class JointFrame(NamedTuple):
    """How the force and the torque of a joint follow from multipliers: frame(q, p) (sign Gᵀλ of `rows` on `columns`)."""

    rows: list[int]
    columns: range
    sign: float
    frame: Callable


def joint_frames(resolver) -> dict[str, JointFrame]:
    """Return the frames of all joints of a mechanism, by name."""
    found = {}
    n = resolver.kit.NV
    for name, joint in resolver.joints.items():
        rows, k, sign = resolver.acting(name)
        frame = with_numbers(wrench_frame(resolver.dimension, k, joint.marks[1]), resolver.built_in)
        found[name] = JointFrame(rows, range(n * k, n * (k + 1)), sign, frame)
    return found


@maker
def wrench_frame(dimension, k, mark):
    """Force and torque about a mark, of each of the generalized forces on body k, one after the other."""
    from . import plane, space

    kit = plane if dimension == 2 else space

    def frame(q, p):
        point, found = kit.place(q, p, mark)[0], []
        for i in range(kit.NV):
            force, torque = kit.wrench_at(q, k, [float(i == j) for j in range(kit.NV)], point)
            found += [*force, *(torque if dimension == 3 else (torque,))]
        return found

    return frame
