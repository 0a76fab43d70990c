"""Delta robot from a URDF file: three arms carry a platform that moves and does not turn."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

from .from_bodies import problem_of
from .problem import Problem

if TYPE_CHECKING:
    from ..multibody import Mechanism

# as in the file: radius of the shoulders, lengths of upper arm and forearm, radius of the wrists, m
BASE, UPPER, FOREARM, WRIST = 0.15, 0.2, 0.5, 0.05
CENTRE, RADIUS, RATE = (0.0, 0.0, -0.4), 0.1, 4.0  # of the platform's circle, m and rad/s
LEGS = (1, 2, 3)


def delta_robot(*, t_end: float = 3.0) -> Problem:
    """Return the robot whose shoulders are driven so that the platform moves on a level circle; no freedom is left.

    The file brings three upper arms on motors, with limits and meshes; forearms and platform float in it, because URDF
    knows no loops. Six universal joints, "elbow 1" .. and "wrist 1" .., are closed in Python. `sol["shoulder 1"].effort`
    is what a motor has to give.
    """
    m = delta_robot_mechanism()
    for leg in LEGS:
        m.drive(f"shoulder {leg}", angle=shoulder_angle(leg))
    start = m.assembly.q.reshape(-1, 7)

    def exact(t):
        q = positions(t, start)
        # derivatives by differences of sixth order; they lose three digits of sixteen
        h, weights = 2e-3, {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
        slope = sum(w * (positions(t + k * h, start) - positions(t - k * h, start)) for k, w in weights.items()) / h
        return q.ravel(), np.array([velocity(x, dx) for x, dx in zip(q, slope, strict=True)]).ravel()

    return problem_of(
        m, name="delta-robot", title="Delta robot from URDF", t_end=t_end, exact=exact, source="own, closed form",
        notes="Inverse dynamics of three closed loops in space: 42 velocities, 42 constraints.",
    )  # fmt: skip


def delta_robot_mechanism() -> Mechanism:
    """Return the robot with its loops closed and its motors free: three degrees of freedom."""
    from ..multibody import Mechanism

    folder = files("holonomic.problems")
    with as_file(folder / "delta") as path:
        m = Mechanism.from_urdf(path / "delta.urdf", package_dirs=path.parent)
    for leg in LEGS:
        radial, tangent = directions(leg)
        elbow = (BASE + UPPER) * radial
        wrist = WRIST * radial + np.array(CENTRE)
        across = np.cross((wrist - elbow) / FOREARM, tangent)
        m.close(f"elbow {leg}", f"upper {leg}", f"forearm {leg}", at=elbow, axis=tangent, other=across)
        m.close(f"wrist {leg}", "platform", f"forearm {leg}", at=wrist, axis=tangent, other=across)
    return m


def directions(leg: int):
    """Return the directions from the axis outwards to a leg, and of its shoulder's axis."""
    angle = 2 * np.pi / 3 * (leg - 1)
    return np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([-np.sin(angle), np.cos(angle), 0.0])


def path(t):
    """Return the place of the platform."""
    x, y, z = CENTRE
    return (x + RADIUS * np.cos(RATE * t), y + RADIUS * np.sin(RATE * t), z)


def shoulder_angle(leg: int):
    """Return the angle of a shoulder as a function of time: x cos θ - z sin θ = K in the plane of the leg."""
    (rx, ry, _), (ux, uy, _) = (tuple(part.tolist()) for part in directions(leg))
    base, upper, forearm, wrist = BASE, UPPER, FOREARM, WRIST

    def angle(t):
        px, py, z = path(t)
        x, y = px * rx + py * ry + wrist - base, px * ux + py * uy
        K = (x * x + y * y + z * z + upper**2 - forearm**2) / (2 * upper)
        return np.arctan2(-z, x) - np.arctan2(np.sqrt(x * x + z * z - K * K), K)

    return angle


def positions(t, start) -> np.ndarray:
    """Return the coordinates of all bodies in the order of the mechanism."""
    from ..multibody.space import quaternion

    P = np.array(path(t))
    uppers, forearms = [], []
    for leg in LEGS:
        radial, tangent = directions(leg)
        angle = shoulder_angle(leg)(t)
        up = np.array([0.0, 0.0, 1.0])
        along, normal = np.cos(angle) * radial - np.sin(angle) * up, np.sin(angle) * radial + np.cos(angle) * up
        shoulder = BASE * radial
        elbow, wrist = shoulder + UPPER * along, P + WRIST * radial
        e = (wrist - elbow) / FOREARM
        w = np.cross(e, tangent) / np.linalg.norm(np.cross(e, tangent))
        uppers.append([*(shoulder + elbow) / 2, *quaternion(np.array([along, tangent, normal]).T)])
        forearms.append([*(elbow + wrist) / 2, *quaternion(np.array([e, np.cross(w, e), w]).T)])
    found = np.array([*uppers, [*P, 1.0, 0.0, 0.0, 0.0], *forearms])
    same = np.sum(found[:, 3:] * start[:, 3:], axis=1) > 0  # a quaternion and its negative are one rotation
    found[~same, 3:] *= -1.0
    return found


def velocity(x, dx) -> np.ndarray:
    """Return velocity and angular velocity along the body's axes from coordinates and their rates."""
    a, b, c, d = x[3:]
    e = np.array([[-b, -c, -d], [a, -d, c], [d, a, -b], [-c, b, a]])
    return np.append(dx[:3], 2 * e.T @ dx[3:])
