"""Bodies drawn anywhere, put where their frames meet those they are joined to.

Rows of joints in space are products of axes, which also vanish where axes point against each other; Newton's method must
begin on the right side. So a body that is joined by a frame of its own is first moved as a whole.
"""

from __future__ import annotations

import numpy as np

from ..errors import InconsistentState

TURNED = 0.5  # rad; less is left to Newton's method
MEETING = ("revolute", "cylindrical", "prismatic", "fixed", "planar", "universal")


def turned_joints(m, k, q):
    """Joints in space between two frames that are turned against each other: (joint, angle)."""
    for joint in m.joints.values() if m.dimension == 3 else ():
        if joint.kind in MEETING and joint.marks[0][4] != joint.marks[1][4]:
            angle = _angle(*(np.array(k.kit.place(q, k.p, mark)[1], dtype=float).T for mark in joint.marks), joint.kind)
            if angle > TURNED:
                yield joint, angle


def _angle(one, other, kind: str) -> float:
    """Angle between two frames, or between their first axes where the joint may turn about these."""
    if kind in ("revolute", "cylindrical", "planar"):
        return float(np.arccos(np.clip(one[:, 0] @ other[:, 0], -1.0, 1.0)))
    return float(np.arccos(np.clip((np.trace(one.T @ other) - 1) / 2, -1.0, 1.0)))


def refuse_turned(m, k, q) -> None:
    """Refuse a drawing whose frames do not meet."""
    for joint, angle in turned_joints(m, k, q):
        raise InconsistentState(
            f"the frames of joint {joint.name!r} are drawn turned by {angle:.3g} rad against each other. Call m.assemble() "
            "to bring them together, or draw the bodies where they belong."
        )


def snapped(m, k, q) -> np.ndarray:
    """Coordinates with turned bodies moved as a whole, in the order of the joints, beginning at the ground."""
    turned = {joint.name for joint, _ in turned_joints(m, k, q)}
    if not turned:
        return q
    q, placed = q.copy(), {-1}
    for joint in m.joints.values():
        first, second = joint.first.index, joint.second.index
        if joint.name in turned and (first in placed) != (second in placed):
            stays, moves = joint.marks if first in placed else joint.marks[::-1]
            (P, A), (Q, B) = (k.kit.place(q, k.p, mark) for mark in (stays, moves))
            turn = np.array(A, dtype=float).T @ np.array(B, dtype=float)
            n = moves[0]
            centre = np.array(P) + turn @ (np.array(k.kit.centre(q, n)) - np.array(Q))
            q[7 * n : 7 * n + 7] = k.kit.drawn(centre, turn @ np.array(k.kit.rotation(q, n), dtype=float))
        if first in placed or second in placed:
            placed |= {first, second}
    return q
