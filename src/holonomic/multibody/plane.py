"""Bodies in the plane: where they are, how fast, and what a force does to them.

A body has the coordinates (x, y, angle) of its centre of mass, absolute, and its velocities are their
derivatives. Points and directions of a body are kept as they were drawn; they follow the body by the
rotation since the drawing.

A mark is a place on a body, as plain values: (body, keys of the drawn point, keys of the drawn centre of
mass, drawn angle of the body, keys of a drawn direction or None). Body -1 is the ground. Functions take
components that are numbers, symbols or time series alike.
"""

from __future__ import annotations

import numpy as np

from .small_vectors import cross, dot, is_ground, minus, times, transposed

NQ = NV = 3  # coordinates and velocities of one body
NO_TORQUE = 0.0


def labels(name: str) -> dict[str, str]:
    """Names and kinds of a body's coordinates."""
    return {f"{name} x": "length", f"{name} y": "length", f"{name} angle": "angle"}


def drawn(position, angle) -> tuple:
    """Coordinates of a body as it is drawn."""
    return (*position, angle)


def drawn_series(numbers, series) -> np.ndarray:
    """Coordinates of a series of bodies as they are drawn, body by body; `numbers` gives parameters by their places."""
    return np.column_stack([*(numbers(series.columns.codes(axis)) for axis in series.axes), series.rotation])


def centre(q, k):
    """Centre of mass of body k."""
    return (q[3 * k], q[3 * k + 1])


def turned(q, k, drawn_angle):
    """(cos, sin) of the rotation since the drawing."""
    angle = q[3 * k + 2] - drawn_angle
    return np.cos(angle), np.sin(angle)


def place(q, p, mark):
    """Frame of a mark: position, direction (its own, or that of the body's x axis), angle of the body."""
    k, point, origin, drawn_angle, direction = mark
    P = (p[point[0]], p[point[1]])
    if is_ground(k):
        return P, (1.0, 0.0) if direction is None else (p[direction[0]], p[direction[1]]), 0.0
    c, s = turned(q, k, drawn_angle)
    dx, dy = P[0] - p[origin[0]], P[1] - p[origin[1]]
    x, y = centre(q, k)
    position = (x + c * dx - s * dy, y + s * dx + c * dy)
    if direction is None:
        angle = q[3 * k + 2]
        return position, (np.cos(angle), np.sin(angle)), angle
    ux, uy = p[direction[0]], p[direction[1]]
    return position, (c * ux - s * uy, s * ux + c * uy), q[3 * k + 2]


def motion(q, v, p, mark):
    """Velocity of a mark and angular velocity of its body."""
    k = mark[0]
    if is_ground(k):
        return (0.0, 0.0), 0.0
    r = minus(place(q, p, mark)[0], centre(q, k))
    w = v[3 * k + 2]
    return (v[3 * k] - w * r[1], v[3 * k + 1] + w * r[0]), w


def generalized(q, k, force, point, torque):
    """What a force at a point and a torque do to the velocities of body k."""
    if force is None:
        return (0.0, 0.0, torque)
    return (force[0], force[1], torque + cross(minus(point, centre(q, k)), force))


def wrench_at(q, k, forces, point):
    """The inverse of `generalized`: force, and torque about a point, from generalized forces on body k."""
    force = (forces[0], forces[1])
    return force, forces[2] - cross(minus(point, centre(q, k)), force)


def about(frame, torque):
    """A torque about the axis of a joint."""
    return torque


def around(frame, torque):
    """What a torque is about the axis of a joint."""
    return torque


def along(frame):
    """Unit vector of a joint's direction."""
    u = frame[1]
    return times(1.0 / np.sqrt(dot(u, u)), u)


def spin_arm(w, arm):
    """w × arm: velocity of the end of an arm."""
    return (-w * arm[1], w * arm[0])


def negative(torque):
    """The opposite torque."""
    return -torque


def into_frame(q, k, vector):
    """Components of a vector along the axes of body k."""
    if k < 0:
        return vector
    angle = q[3 * k + 2]
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] + s * vector[1], c * vector[1] - s * vector[0])


def spin_into_frame(q, k, torque):
    """A torque in the plane is the same for every frame of the plane."""
    return torque


def acceleration_of(q, v, a, p, mark):
    """Acceleration of a mark."""
    k = mark[0]
    if k < 0:
        return (0.0, 0.0)
    r = minus(place(q, p, mark)[0], centre(q, k))
    w, dw = v[3 * k + 2], a[3 * k + 2]
    return (a[3 * k] - dw * r[1] - w * w * r[0], a[3 * k + 1] + dw * r[0] - w * w * r[1])


def mass_block(p, keys):
    """Mass matrix of one body; keys are the names of its mass and, unless it is a point mass, of its inertia; see `lower`."""
    m = p[keys[0]]
    J = p[keys[1][0][1]] if keys[1] else 0.0
    J = J if keys[2] is None else J * (m / p[keys[2]])
    return ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, J))


def links(k, other, value, turned=None):
    """Entries of the mass matrix that tie the rotations of two bodies, row, column and value; see `lower`."""
    yield 3 * k + 2, 3 * k + 2, value
    if other >= 0:
        yield 3 * other + 2, 3 * other + 2, value
        yield 3 * k + 2, 3 * other + 2, -value


def gyroscopic(masses):
    """There is none in the plane."""
    return ()


def kinematics(n_bodies):
    """q' = v."""
    return None


def invariants(names):
    """There is none: an angle is free."""
    return None


def weights(size):
    """Weights of q and of v of one body in projections."""
    return (1.0, 1.0, size**2), (1.0, 1.0, size**2)


def moved(q, delta):
    """Coordinates after a small displacement."""
    return q + delta


def directions(q):
    """Z: how coordinates change with velocities."""
    return None


POSE = "(x, y, angle)"


def rotation_between(a, b) -> float:
    """Largest angle between two positions of bodies, row by row."""
    return float(np.max(np.abs(b[:, 2] - a[:, 2])))


def direction(q, k, i):
    """(coordinate, change) of a unit velocity i of body k."""
    return ((3 * k + i, 1.0),)


def body_angle(q, k):
    """Angle of body k."""
    return q[3 * k + 2]


def rotation(q, k):
    """Axes of body k as columns, given by rows."""
    c, s = np.cos(q[3 * k + 2]), np.sin(q[3 * k + 2])
    return ((c, -s), (s, c))


def axes_seen(q, p, mark):
    """Axes of a frame, or of the body of any other mark, as columns, given by rows."""
    if mark[4] is None:
        return ((1.0, 0.0), (0.0, 1.0)) if mark[0] < 0 else rotation(q, mark[0])
    return transposed(axes_at(place(q, p, mark)))


def angular_acceleration(q, a, k):
    """Angular acceleration of body k."""
    return a[3 * k + 2]


def counted(record, joint):
    """Angle of a joint; coordinates count turns by themselves."""
    return joint.value(record.q, record.p)


def axes_at(frame):
    """Axes of a frame, each a vector."""
    u = along(frame)
    return u, (-u[1], u[0])
