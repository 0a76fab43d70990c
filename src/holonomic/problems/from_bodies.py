"""Published problems built out of bodies and joints; the answers are those of the equations written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .four_bars import parallel_motion
from .jansen import BARS, JOINTS
from .jansen import PARAMS as LEG
from .jansen import Q0 as LEG_START
from .pendulum import released_from_horizontal
from .problem import Problem, Reference, choose
from .seven_body import PARAMS, Q0, REFERENCES

if TYPE_CHECKING:
    from ..multibody import Mechanism

ANGLES = ("K1", "K2", "K3", "K4", "K5", "K6", "K7")


def problem_of(m: Mechanism, **about) -> Problem:
    """Return a mechanism as a problem that starts where it is assembled."""
    system, q, v = m.to_system()
    return Problem(system=system, q0=tuple(q.tolist()), v0=tuple(v.tolist()), **about)


def pendulum_from_bodies(*, m: float = 1.0, g: float = 9.81, L: float = 1.0, t_end: float = 10.0) -> Problem:
    """Return the simple pendulum A01 as a point mass on a massless rod, released from (-L, 0).

    Parameters are those of `pendulum_a01`. Read `sol["bob"].position` and `sol["rod"].force`.
    """
    from ..multibody import Mechanism

    made = Mechanism(gravity=(0.0, -g))
    made.body("bob", at=(-L, 0.0), mass=m)
    made.distance("rod", made.ground, "bob", at=((0.0, 0.0), (-L, 0.0)))

    def exact(t):
        q, v = released_from_horizontal(t, g, L, side=-1.0)
        return np.append(q, 0.0), np.append(v, 0.0)

    return problem_of(
        made, name="pendulum-from-bodies", title="Simple pendulum (IFToMM A01) from bodies", t_end=t_end, exact=exact,
        source="[iftomm-benchmarks] A01", notes="The bob is a point mass: its rotation stays where it is.",
    )  # fmt: skip


def four_bars_from_bodies(
    n: int = 2, *, m: float = 1.0, l: float = 1.0, g: float = 9.81, speed: float = 1.0, t_end: float = 10.0
) -> Problem:
    """Return the row of n four-bar linkages A02 as 2 n + 1 rods and 4 n + 2 - n hinges.

    Parameters are those of `four_bars`. Bodies are "upright 0" .. and "bar 1" ..; joints "A0" .. on the ground,
    "B0" .. between the first rod at an upper joint and each other one.
    """
    from ..multibody import Mechanism, rod

    made = Mechanism(gravity=(0.0, -g))
    for i in range(n + 1):
        made.body(f"upright {i}", rod((i * l, 0.0), (i * l, l), mass=m))
        made.revolute(f"A{i}", made.ground, f"upright {i}", at=(i * l, 0.0))
    for i in range(n):
        made.body(f"bar {i + 1}", rod((i * l, l), ((i + 1) * l, l), mass=m))
        made.revolute(f"B{i} right", f"upright {i}", f"bar {i + 1}", at=(i * l, l))
        made.revolute(f"B{i + 1} left", f"bar {i + 1}", f"upright {i + 1}", at=((i + 1) * l, l))
    made.assemble(speeds={"A0": -speed / l})

    def exact(t):
        q, v = parallel_motion(t, n, l, g, speed)
        x, y, dx, dy = q[0], q[1], v[0], v[1]
        turn = winding(t, n, l, g, speed, x, y)
        rate = -(dx * y - dy * x) / l**2
        positions, rates = [], []
        for i in range(n + 1):
            positions += [i * l + x / 2, y / 2, np.pi / 2 - turn]
            rates += [dx / 2, dy / 2, rate]
        for i in range(n):
            positions += [(i + 0.5) * l + x, y, 0.0]
            rates += [dx, dy, 0.0]
        return np.array(positions), np.array(rates)

    return problem_of(
        made, name="four-bars-from-bodies", title=f"Row of {n} four-bar linkages (IFToMM A02) from bodies", t_end=t_end,
        exact=exact, source="[iftomm-benchmarks] A02",
        notes="The uprights lie flat twice in a turn: G loses rank n there.",
    )  # fmt: skip


def winding(t, n, l, g, speed, x, y) -> float:
    """Angle of the uprights from the vertical, whole turns included, from the period of the motion."""
    from scipy.special import ellipkm1

    kappa = g / l * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    w = speed / l
    s = 4 * kappa / w**2
    period = 2 * ellipkm1(1 / (1 + s)) / (np.sqrt(1 + s) * w / 2)  # of a whole turn
    part = np.arctan2(x, y) % (2 * np.pi)
    return 2 * np.pi * np.round(t / period - part / (2 * np.pi)) + part


def jansen_mechanism(*, torque: float | None = None, speed: float | None = None) -> Mechanism:
    """Return one leg of Jansen's linkage as eleven rods and sixteen hinges, drawn in the start of `jansen`.

    Bars are called as in `jansen`, "bar m" and so on; where several meet, the first is hinged to each of the others.
    The point "tip" is the foot.

    Parameters
    ----------
    torque : float, optional
        Of the motor at the crank, N m, less the damping of `jansen` times the speed; as there if not given.
    speed : float, optional
        Instead: crank driven at this speed, rad/s.
    """
    from ..multibody import Mechanism, rod

    p = LEG
    places = {"axle": (0.0, 0.0), "hip": (-p["a"], -p["l"])}
    for n, joint in enumerate(JOINTS):
        places[joint] = LEG_START[2 * n : 2 * n + 2]
    made = Mechanism(gravity=(0.0, -p["gravity"]))
    meeting: dict[str, list[str]] = {"axle": ["ground"], "hip": ["ground"]}
    for name, ends in BARS.items():
        made.body(f"bar {name}", rod(*(places[end] for end in ends), mass=p["rho"] * p[name]))
        for end in ends:
            meeting.setdefault(end, []).append(f"bar {name}")
    for joint, (first, *others) in meeting.items():
        for number, other in enumerate(others, start=1):
            made.revolute(f"{joint} {number}", first, other, at=places[joint])
    made.point("tip", "bar h", places["foot"])
    if speed is not None:
        made.drive("axle 1", speed=speed)
    else:
        pull, damping = p["torque"] if torque is None else torque, p["damping"]
        made.motor("axle 1", torque=lambda speed: pull - damping * speed)
    return made


def seven_body_from_bodies(*, t_end: float = 0.03, **params: float) -> Problem:
    """Return the seven-body mechanism as seven bodies in absolute coordinates, ten hinges and a spring.

    Parameters are those of `seven_body`. The bodies are "K1" .. "K7" as in the publications; joints "O", "A5",
    "A7" and "B" on the ground, "F", "G", "H" between two bodies, and "E3", "E4", "E6" where four of them meet.
    """
    params, published = choose(PARAMS, params, "seven-body-from-bodies")
    made = seven_body_mechanism(params)
    return problem_of(
        made, name="seven-body-from-bodies", title="Seven-body mechanism (Andrews' squeezer) from bodies", t_end=t_end,
        references=tuple(absolute_reference(known, params) for known in REFERENCES) if published else (),
        source="[ivp-testset] andrews; [HW96] Sec. VII.7; [iftomm-benchmarks] A03",
        notes="21 coordinates and 20 constraints instead of 7 and 6.",
    )  # fmt: skip


def seven_body_mechanism(params=PARAMS) -> Mechanism:
    """Return the mechanism itself, drawn in the published start."""
    from ..multibody import Mechanism

    made = Mechanism(gravity=(0.0, 0.0))
    places = absolute(Q0, params)
    for k, name in enumerate(ANGLES):
        x, y, angle = places[3 * k : 3 * k + 3]
        made.body(name, at=(x, y), angle=angle, mass=params[f"m{k + 1}"], inertia=params[f"I{k + 1}"])
    P = pins(Q0, params)
    A, B, O = (params["xa"], params["ya"]), (params["xb"], params["yb"]), (0.0, 0.0)
    for name, first, second, at in (
        ("O", "ground", "K1", O), ("F", "K1", "K2", P["F"]), ("E3", "K2", "K3", P["E"]), ("E4", "K2", "K4", P["E"]),
        ("E6", "K2", "K6", P["E"]), ("B", "ground", "K3", B), ("A5", "ground", "K5", A), ("A7", "ground", "K7", A),
        ("H", "K5", "K4", P["H"]), ("G", "K7", "K6", P["G"]),
    ):  # fmt: skip
        made.revolute(name, first, second, at=at)
    C = (params["xc"], params["yc"])
    made.spring("spring", made.ground, "K3", at=(C, P["D"]), stiffness=params["c0"], length=params["l0"])
    made.motor("O", torque=params["mom"])
    return made


def pins(q, p):
    """Return the joints that move, and D, where the spring is fixed."""
    be, th, ga, _, de, _, ep = q
    return {
        "F": (p["rr"] * np.cos(be), p["rr"] * np.sin(be)),
        "E": (p["rr"] * np.cos(be) - p["d"] * np.cos(be + th), p["rr"] * np.sin(be) - p["d"] * np.sin(be + th)),
        "H": (p["xa"] + p["zt"] * np.cos(de), p["ya"] + p["zt"] * np.sin(de)),
        "G": (p["xa"] + p["u"] * np.sin(ep), p["ya"] - p["u"] * np.cos(ep)),
        "D": (p["xb"] + p["sc"] * np.sin(ga) + p["sd"] * np.cos(ga), p["yb"] - p["sc"] * np.cos(ga) + p["sd"] * np.sin(ga)),
    }


def absolute(q, p):
    """Return x, y and angle of all bodies from the seven published angles."""
    be, th, ga, ph, de, om, ep = q
    cos, sin = np.cos, np.sin
    h4, h6 = p["e"] - p["ea"], p["zf"] - p["fa"]
    F, H, G = (pins(q, p)[name] for name in "FHG")
    return np.array([
        p["ra"] * cos(be), p["ra"] * sin(be), be,
        F[0] - p["da"] * cos(be + th), F[1] - p["da"] * sin(be + th), be + th,
        p["xb"] + p["sa"] * sin(ga) + p["sb"] * cos(ga), p["yb"] - p["sa"] * cos(ga) + p["sb"] * sin(ga), ga,
        H[0] + h4 * sin(ph + de), H[1] - h4 * cos(ph + de), ph + de,
        p["xa"] + p["ta"] * cos(de) - p["tb"] * sin(de), p["ya"] + p["ta"] * sin(de) + p["tb"] * cos(de), de,
        G[0] + h6 * cos(om + ep), G[1] + h6 * sin(om + ep), om + ep,
        p["xa"] + p["ua"] * sin(ep) - p["ub"] * cos(ep), p["ya"] - p["ua"] * cos(ep) - p["ub"] * sin(ep), ep,
    ])  # fmt: skip


def absolute_reference(known: Reference, p) -> Reference:
    """Return a published state in absolute coordinates; velocities by a complex step, which loses no digits."""
    step = 1e-30
    v = np.imag(absolute(np.asarray(known.q) + 1j * step * np.asarray(known.v), p)) / step
    digits = {name: known.digits[name] - 1 for name in ("q", "v")}  # sums of angles
    return Reference(known.t, q=absolute(known.q, p), v=v, digits=digits, source=known.source)
