"""A walker of four legs of Jansen's linkage, on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .from_bodies import problem_of
from .jansen import PARAMS
from .problem import Problem, Reference

if TYPE_CHECKING:
    from ..multibody import Mechanism

# point: (bar, from, bar, from, side); the point lies on this side of the line between the two it hangs on
POINTS = {
    "top": ("j", "crank", "b", "hip", -1.0),
    "low": ("k", "crank", "c", "hip", 1.0),
    "back": ("d", "hip", "e", "top", 1.0),
    "knee": ("f", "back", "g", "low", -1.0),
    "foot": ("h", "knee", "i", "low", -1.0),
}
FOOT = 0.02  # radius of a foot, m
LEGS = {"left 1": (-1.0, 0.0), "left 2": (-1.0, np.pi), "right 1": (1.0, 0.0), "right 2": (1.0, np.pi)}


SPEED, FRICTION = -2.0, 0.8


def jansen_walker(*, t_end: float = 6.0, speed: float = SPEED, friction: float = FRICTION) -> Problem:
    """Return a walker that stands on four feet and is driven by one crank; it walks by about 1.4 m a turn.

    Two pairs of mirrored legs hang on two crank pins half a turn apart. Each leg has two rigid triangles, "upper" and
    "lower"; the other four bars are massless rods. The feet are circles on the ground with the compliant contact of
    Hunt and Crossley and friction; forces "left 1 foot" and so on, points of the same places "left 1 toe". The crank is
    driven against the chassis, joint "crank".

    Parameters
    ----------
    t_end : float
        s.
    speed : float
        Of the crank, rad/s; negative walks to the right.
    friction : float
        Coefficient between feet and ground.
    """
    m = jansen_walker_mechanism(speed, friction)
    return problem_of(
        m, name="jansen-walker", title="Jansen's walker on the ground", t_end=t_end,
        references=REFERENCES if (speed, friction) == (SPEED, FRICTION) else (),
        source="Bar lengths: T. Jansen, The Great Pretender, 010 Publishers, 2007; all else: ours",
        notes="30 coordinates, 27 constraints, feet that strike and leave the ground: not smooth.",
    )  # fmt: skip


def jansen_walker_mechanism(speed: float = SPEED, friction: float = FRICTION) -> Mechanism:
    """Return the mechanism itself; see `jansen_walker`."""
    from ..multibody import Mechanism, box, disk

    legs = {name: leg_points(side, phase) for name, (side, phase) in LEGS.items()}
    height = FOOT - min(points["foot"][1] for points in legs.values())
    up = lambda point: (point[0], point[1] + height)
    m = Mechanism(gravity=(0.0, -PARAMS["gravity"]))
    m.body("chassis", box(up((0.0, -PARAMS["l"] / 2)), (2 * PARAMS["a"], 0.12), mass=5.0))
    m.body("crankshaft", disk(up((0.0, 0.0)), PARAMS["m"] + 0.02, mass=1.0))
    m.revolute("crank", "chassis", "crankshaft", at=up((0.0, 0.0)))
    m.drive("crank", speed=speed)
    for name, points in legs.items():
        _add_leg(m, name, {key: up(point) for key, point in points.items()}, friction)
    return m


def leg_points(side: float, phase: float) -> dict[str, tuple[float, float]]:
    """Return the joints of a leg around its axle, for a crank turned by `phase`; side 1 is mirrored to the right."""
    p = PARAMS
    crank = np.pi - phase if side > 0 else phase  # a mirrored leg sees a mirrored crank
    at = {"axle": (0.0, 0.0), "hip": (-p["a"], -p["l"]), "crank": (p["m"] * np.cos(crank), p["m"] * np.sin(crank))}
    for name, (bar, start, other, end, turn) in POINTS.items():
        at[name] = _meeting(at[start], p[bar], at[end], p[other], turn)
    return {name: (-side * x, y) for name, (x, y) in at.items()}


def _meeting(start, r1: float, end, r2: float, side: float) -> tuple[float, float]:
    """Intersection of two circles on one side of the line between their centres."""
    d = np.subtract(end, start)
    far = float(np.hypot(*d))
    along = (r1**2 - r2**2 + far**2) / (2 * far)
    x, y = np.array(start) + along * d / far + side * np.sqrt(r1**2 - along**2) * np.array([-d[1], d[0]]) / far
    return float(x), float(y)


def _add_leg(m: Mechanism, name: str, at, friction: float) -> None:
    """Add one leg: two triangles, four massless rods, a foot."""
    from ..multibody import rod

    p = PARAMS
    for part, corners, bars in (("upper", ("hip", "top", "back"), "bed"), ("lower", ("low", "knee", "foot"), "ghi")):
        ends = list(zip(corners, corners[1:] + corners[:1], strict=True))
        masses = [p["rho"] * p[bar] for bar in bars]
        m.body(f"{name} {part}", *(rod(at[a], at[b], mass=w) for (a, b), w in zip(ends, masses, strict=True)))
    upper, lower = f"{name} upper", f"{name} lower"
    m.revolute(f"{name} hip", "chassis", upper, at=at["hip"])
    for bar, first, second, start, end in (
        ("j", "crankshaft", upper, "crank", "top"), ("k", "crankshaft", lower, "crank", "low"),
        ("c", "chassis", lower, "hip", "low"), ("f", upper, lower, "back", "knee"),
    ):  # fmt: skip
        m.distance(f"{name} {bar}", first, second, at=(at[start], at[end]), length=p[bar])
    m.point(f"{name} toe", lower, at["foot"])
    m.contact(
        f"{name} foot", lower, centre=f"{name} toe", radius=FOOT, point=(0.0, 0.0), normal=(0.0, 1.0), stiffness=1e6,
        damping=1.0, friction=friction, smoothing=2e-2,
    )  # fmt: skip


SOURCE = "own runs of two integrators at three tolerances, agreeing to these digits"
CHASSIS = (0, 1, 2)

REFERENCES = (
    Reference(
        3.0, q=(1.324023059, 0.898378253, 0.006768773243), v=(0.53971081, -0.08188598, -0.07146100),
        digits={"q": 9, "v": 7}, components=CHASSIS, source=SOURCE,
    ),
    Reference(
        6.0, q=(2.6863863487, 0.8988153357, -0.00374643497), v=(0.4291627871, 0.0368559808, -0.0144608515),
        digits={"q": 9, "v": 8}, components=CHASSIS, source=SOURCE,
    ),
)  # fmt: skip
