"""Bodies in space: where they are, how fast, and what a force does to them.

A body has the position of its centre of mass and a quaternion (e0, e1, e2, e3) as coordinates, and the
velocity of its centre and the angular velocity along its own axes as velocities: q' = Z(q) v. The rotation
matrix is that of e/|e|, so nothing depends on the length of the quaternion; the length is an invariant.

A mark is a place on a body, as plain values: (body, keys of the drawn point, keys of the drawn centre of
mass, drawn axes of the body by rows, drawn direction of the joint or None). A direction is (keys of the axis, another
vector or its keys, which fixes the second axis). Body -1 is the
ground. A frame is (position, axes of the joint).
"""

from __future__ import annotations

import numpy as np

from ..model.made_functions import maker
from ..model.refusals import warn
from .small_vectors import apply, cross, dot, is_ground, minus, plus, times, transposed

NQ, NV = 7, 6  # coordinates and velocities of one body
NO_TORQUE = (0.0, 0.0, 0.0)
POSE = "(x, y, z, e0, e1, e2, e3)"


def labels(name: str) -> dict[str, str]:
    """Names and kinds of a body's coordinates."""
    return {f"{name} {axis}": "length" for axis in "xyz"} | {f"{name} e{i}": "quaternion" for i in range(4)}


def quaternion(axes) -> tuple[float, ...]:
    """Unit quaternion of a rotation matrix, by its largest component."""
    R = np.asarray(axes, dtype=float)
    squares = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2],
                        1 - R[0, 0] + R[1, 1] - R[2, 2], 1 - R[0, 0] - R[1, 1] + R[2, 2]])  # fmt: skip
    i = int(np.argmax(squares))
    s, (a, b, c) = np.sqrt(squares[i]), (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = ((s * s, a, b, c), (a, s * s, xy, xz), (b, xy, s * s, yz), (c, xz, yz, s * s))
    e = np.array(rows[i]) / (2 * s)
    return tuple((e / np.linalg.norm(e) * (1.0 if e[0] >= 0 else -1.0)).tolist())


def drawn(position, axes) -> tuple:
    """Coordinates of a body as it is drawn."""
    return (*position, *quaternion(axes))


def drawn_series(numbers, series) -> np.ndarray:
    """Coordinates of a series of bodies as they are drawn, body by body; `numbers` gives parameters by their places."""
    axes, of = np.unique(series.rotation.reshape(-1, 9), axis=0, return_inverse=True)  # mostly few
    turned = np.array([quaternion(each.reshape(3, 3)) for each in axes])[of.ravel()]
    return np.column_stack([*(numbers(series.columns.codes(axis)) for axis in series.axes), turned])


def centre(q, k):
    """Centre of mass of body k."""
    return (q[7 * k], q[7 * k + 1], q[7 * k + 2])


def rotation(q, k):
    """Axes of body k as columns, given by rows."""
    a, b, c, d = q[7 * k + 3], q[7 * k + 4], q[7 * k + 5], q[7 * k + 6]
    aa, bb, cc, dd = a * a, b * b, c * c, d * d
    f = 1.0 / (aa + bb + cc + dd)
    g = 2.0 * f
    ab, ac, ad, bc, bd, cd = a * b, a * c, a * d, b * c, b * d, c * d
    return (
        ((aa + bb - cc - dd) * f, (bc - ad) * g, (bd + ac) * g),
        ((bc + ad) * g, (aa - bb + cc - dd) * f, (cd - ab) * g),
        ((bd - ac) * g, (cd + ab) * g, (aa - bb - cc + dd) * f),
    )


def drawn_axes(p, direction):
    """Axes of a joint in the drawing: the first along its axis, the second in the plane of the axis and another one."""
    keys, other = direction
    x = tuple(p[key] for key in keys)
    x = times(1.0 / np.sqrt(dot(x, x)), x)
    y = tuple(p[part] if isinstance(part, str) else part for part in other)
    y = minus(y, times(dot(x, y), x))
    y = times(1.0 / np.sqrt(dot(y, y)), y)
    return x, y, cross(x, y)


def place(q, p, mark):
    """Frame of a mark: its position and the joint's axes (the body's own, if the mark has none)."""
    k, point, origin, drawn, direction = mark
    P = tuple(p[key] for key in point)
    axes = None if direction is None else drawn_axes(p, direction)
    if is_ground(k):
        return P, axes
    R, own = rotation(q, k), transposed(drawn)  # what is drawn is turned to the body's axes first: these do not move in it
    position = plus(centre(q, k), apply(R, apply(own, minus(P, tuple(p[key] for key in origin)))))
    return position, None if axes is None else tuple(apply(R, apply(own, axis)) for axis in axes)


def spin(q, v, k):
    """Angular velocity of body k in the ground frame."""
    return apply(rotation(q, k), (v[6 * k + 3], v[6 * k + 4], v[6 * k + 5]))


def motion(q, v, p, mark):
    """Velocity of a mark and angular velocity of its body, ground frame."""
    k = mark[0]
    if is_ground(k):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    w = spin(q, v, k)
    arm = minus(place(q, p, mark)[0], centre(q, k))
    return plus((v[6 * k], v[6 * k + 1], v[6 * k + 2]), cross(w, arm)), w


def acceleration_of(q, v, a, p, mark):
    """Acceleration of a mark; the derivative of the angular velocity is the same in both frames."""
    k = mark[0]
    if k < 0:
        return (0.0, 0.0, 0.0)
    w, dw = spin(q, v, k), angular_acceleration(q, a, k)
    arm = minus(place(q, p, mark)[0], centre(q, k))
    return plus(plus((a[6 * k], a[6 * k + 1], a[6 * k + 2]), cross(dw, arm)), cross(w, cross(w, arm)))


def angular_acceleration(q, a, k):
    """Angular acceleration of body k in the ground frame."""
    return spin(q, a, k)


def generalized(q, k, force, point, torque):
    """What a force at a point and a torque do to the velocities of body k."""
    whole = torque if force is None else plus(torque, cross(minus(point, centre(q, k)), force))
    return (*((0.0, 0.0, 0.0) if force is None else force), *into_frame(q, k, whole))


def wrench_at(q, k, forces, point):
    """The inverse of `generalized`: force, and torque about a point, from generalized forces on body k."""
    force = tuple(forces[:3])
    return force, minus(apply(rotation(q, k), tuple(forces[3:])), cross(minus(point, centre(q, k)), force))


def about(frame, torque):
    """A torque about the axis of a joint."""
    return times(torque, frame[1][0])


def around(frame, torque):
    """What a torque is about the axis of a joint."""
    return dot(torque, frame[1][0])


def along(frame):
    """Unit vector of a joint's axis."""
    return frame[1][0]


def spin_arm(w, arm):
    """w × arm: velocity of the end of an arm."""
    return cross(w, arm)


def negative(torque):
    """The opposite torque."""
    return times(-1.0, torque)


def into_frame(q, k, vector):
    """Components of a vector along the axes of body k."""
    return vector if k < 0 else apply(transposed(rotation(q, k)), vector)


spin_into_frame = into_frame


def mass_block(p, keys):
    """Mass matrix of one body; keys are the names of its mass and of the entries of its inertia; see `lower`."""
    m = p[keys[0]]
    growth = None if keys[2] is None else m / p[keys[2]]
    block = [[0.0] * 6 for _ in range(6)]
    for i in range(3):
        block[i][i] = m
    for suffix, key in keys[1]:
        i, j = "xyz".index(suffix[1]), "xyz".index(suffix[2])
        block[3 + i][3 + j] = block[3 + j][3 + i] = p[key] if growth is None else p[key] * growth
    return block


def links(k, other, value, turned=None):
    """Entries of the mass matrix that tie the rotations of two bodies, row, column and value; see `lower`.

    Angular velocities are along the axes of each body: `turned` takes those of the other one to those of the first.
    """
    for i in range(3):
        yield 6 * k + 3 + i, 6 * k + 3 + i, value
        if other >= 0:
            yield 6 * other + 3 + i, 6 * other + 3 + i, value
            for j in range(3):
                yield 6 * k + 3 + i, 6 * other + 3 + j, -value * turned[i, j]


def gyroscopic(masses):
    """Functions of (v, p) for -ω × J ω of every body that has inertia."""
    return tuple(_spinning(k, keys) for k, keys in enumerate(masses) if keys[1])


@maker
def _spinning(k, keys):
    def spinning(v, p):
        w = (v[6 * k + 3], v[6 * k + 4], v[6 * k + 5])
        block = mass_block(p, keys)
        momentum = apply([row[3:] for row in block[3:]], w)
        return tuple((6 * k + 3 + i, value) for i, value in enumerate(cross(momentum, w)))

    return spinning


def quaternion_rate(e):
    """Rows of the 4 x 3 matrix that takes angular velocity along the body's axes to e'."""
    a, b, c, d = (0.5 * part for part in e)
    return ((-b, -c, -d), (a, -d, c), (d, a, -b), (-c, b, a))


@maker
def kinematics(n_bodies):
    """Z(q)."""

    def Z(q):
        matrix = [[0.0] * (6 * n_bodies) for _ in range(7 * n_bodies)]
        for k in range(n_bodies):
            for i in range(3):
                matrix[7 * k + i][6 * k + i] = 1.0
            e = (q[7 * k + 3], q[7 * k + 4], q[7 * k + 5], q[7 * k + 6])
            for i, row in enumerate(quaternion_rate(e)):
                for j, value in enumerate(row):
                    matrix[7 * k + 3 + i][6 * k + 3 + j] = value
        return matrix

    return Z


def invariants(names):
    """The squared length of each quaternion."""
    return {f"norm {name}": _norm(k) for k, name in enumerate(names)}


@maker
def _norm(k):
    def norm(q):
        e = (q[7 * k + 3], q[7 * k + 4], q[7 * k + 5], q[7 * k + 6])
        return dot(e, e)

    return norm


def weights(size):
    """Weights of q and of v of one body in projections; a quaternion changes by half the angle."""
    return (1.0,) * 3 + (4 * size**2,) * 4, (1.0,) * 3 + (size**2,) * 3


def directions(q):
    """Z: how coordinates change with velocities."""
    return np.array(kinematics(len(q) // 7)(q), dtype=float)


def moved(q, delta):
    """Coordinates after a small displacement; quaternions of length 1."""
    x = q + directions(q) @ delta
    parts = x.reshape(-1, 7)
    parts[:, 3:] /= np.linalg.norm(parts[:, 3:], axis=1)[:, None]
    return x


def direction(q, k, i):
    """(coordinate, change) of a unit velocity i of body k."""
    if i < 3:
        return ((7 * k + i, 1.0),)
    e = (q[7 * k + 3], q[7 * k + 4], q[7 * k + 5], q[7 * k + 6])
    return tuple((7 * k + 3 + row, values[i - 3]) for row, values in enumerate(quaternion_rate(e)))


def rotation_between(a, b) -> float:
    """Largest angle between two positions of bodies, row by row."""
    return float(2 * np.arccos(np.minimum(1.0, np.abs(np.sum(a[:, 3:] * b[:, 3:], axis=1))).min()))


def body_angle(q, k):
    """A body in space has no one angle."""
    raise AttributeError("a body in space has no angle; it has .rotation and .angular_velocity.")


def axes_seen(q, p, mark):
    """Axes of a frame, or of the body of any other mark, as columns, given by rows."""
    if mark[4] is None:
        return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)) if mark[0] < 0 else rotation(q, mark[0])
    return transposed(axes_at(place(q, p, mark)))


class TurnsWarning(UserWarning):
    """Turns of a joint that cannot be counted, because it turns too far between the times that were kept."""


def counted(record, joint):
    """Angle of a joint over time with its turns: counted by the steps of the run, or where these are gone by kept times."""
    angle = np.array(record.full(joint.value(record.q, record.p)))
    known = record.counted_before(joint)
    if known is not None:
        return angle + TURN * np.round((known - angle) / TURN)
    if record.steps is None:
        return _from_row_to_row(record, joint, angle)
    t, q, v = record.steps
    p = record.p
    along, rates = np.array(joint.value(q, p)), joint.rate(q, v, p)
    forward = 1.0 if t[-1] >= t[0] else -1.0
    along += TURN * np.concatenate([[0.0], np.cumsum(_turns(joint, np.diff(t) * (rates[1:] + rates[:-1]) / 2, np.diff(along)))])
    before = np.clip(np.searchsorted(t * forward, record.t * forward, side="right") - 1, 0, None)
    own = record.full(joint.rate(record.q, record.v, p))
    expected = (record.t - t[before]) * (own + rates[before]) / 2
    return angle + TURN * _turns(joint, expected, angle - along[before])


def _from_row_to_row(record, joint, angle):
    """The same by kept times alone: speeds and accelerations tell how far it turned between two."""
    shape = record.shape or (1,)
    rows = lambda values: record.full(values).reshape(shape)
    speed, rise = (rows(joint.rate(record.q, each, record.p)) for each in (record.v, record.a))
    angle = angle.reshape(shape)
    h = np.diff(record.t.reshape(shape))
    bent = h * h * (rise[..., :-1] - rise[..., 1:]) / 12  # by the trapezoidal rule and its correction
    turns = _turns(joint, h * (speed[..., 1:] + speed[..., :-1]) / 2 + bent, np.diff(angle), bent)
    angle[..., 1:] += TURN * np.cumsum(turns, axis=-1)
    return angle.ravel()


def _turns(joint, expected, change, doubt=0.0):
    """Whole turns that are missing in changes of an angle, beside what is expected of them."""
    missing = (expected - change) / TURN
    turns = np.round(missing)
    if np.any(np.abs(missing - turns) > UNSURE) or np.any(np.abs(doubt) > UNSURE * TURN):
        warn(
            f"joint {joint.name!r} turns too far between the times that were kept to count its turns. Keep more times "
            "(save_at=), or ask the solution for closer ones.",
            TurnsWarning,
        )
    return turns


TURN = 2 * np.pi
UNSURE = 0.3  # of a turn between what the speeds say and the angle: the next turn would fit about as well


def axes_at(frame):
    """Axes of a frame, each a vector."""
    return frame[1]
