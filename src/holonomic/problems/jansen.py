"""One leg of Theo Jansen's walking linkage, in the air, driven at its crank."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

# Jansen's "holy numbers" a..m in m, one of his units taken as a centimetre; then kg/m, m/s², N m, N m s
PARAMS = {
    "a": 0.380, "b": 0.415, "c": 0.393, "d": 0.401, "e": 0.558, "f": 0.394, "g": 0.367, "h": 0.657,
    "i": 0.490, "j": 0.500, "k": 0.619, "l": 0.078, "m": 0.150,
    "rho": 1.0, "gravity": 9.81, "torque": 10.0, "damping": 1.5,
}  # fmt: skip

JOINTS = ("crank", "top", "low", "back", "knee", "foot")

# bar: (from, to); "axle" is the origin, "hip" the fixed pivot (-a, -l)
BARS = {
    "m": ("axle", "crank"),
    "j": ("crank", "top"),
    "b": ("hip", "top"),
    "k": ("crank", "low"),
    "c": ("hip", "low"),
    "d": ("hip", "back"),
    "e": ("top", "back"),
    "f": ("back", "knee"),
    "g": ("low", "knee"),
    "h": ("knee", "foot"),
    "i": ("low", "foot"),
}

# crank pointing along +x; circle intersections, rounded from 18 digits
Q0 = (
    0.15,
    0.0,
    -0.240135350971277907,
    0.312720974548426806,
    -0.269521070315729602,
    -0.455151701700811681,
    -0.747943653809360534,
    0.081431702058961433,
    -0.59231514961415004,
    -0.280529302307477673,
    -0.431601105241047233,
    -0.917569329261232238,
)


def jansen(*, t_end: float = 2.0, **params: float) -> Problem:
    """Return one leg of Jansen's linkage: eleven uniform bars, six moving joints, one degree of freedom.

    q holds x and y of the joints crank, top, low, back, knee, foot; each bar is one distance
    constraint. A bar between two moving joints adds 1/3 of its mass to their diagonals and 1/6 to the
    coupling; its weight acts by halves at its ends. The frame is fixed, the foot touches nothing, and the
    crank is driven by torque - damping × speed, which gives about one turn a second. Outputs: 'foot',
    'crank speed' in rad/s, and 'bar tension', the constraint force along each bar in N.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        Lengths a..m (a and l place the fixed pivot, m is the crank), rho mass per length, gravity, torque,
        damping. With another length the start is no longer consistent.
    """
    params, published = choose(PARAMS, params, "jansen")
    return Problem(
        name="jansen",
        title="One leg of Jansen's walking linkage",
        system=System(
            mass=mass,
            force=drive,
            potential=weight,
            constraint={f"bar {name}": bar(name) for name in BARS},
            coordinates=[f"{joint} {axis}" for joint in JOINTS for axis in "xy"],
            outputs={
                "foot": lambda q: np.array([q[10], q[11]]),
                "crank speed": lambda q, v, p: crank_speed(q, v, p),
                "bar tension": lambda lam, p: np.array([2 * getattr(p, name) * lam[n] for n, name in enumerate(BARS)]),
            },
            params=params,
            drawing=lambda q, p: {f"bar {name}": ends(name, q, p) for name in BARS} | {"foot": [q[10:12]]},
        ),
        t_end=t_end,
        q0=Q0,
        v0=(0.0,) * 12,
        references=REFERENCES if published else (),
        source="Bar lengths: T. Jansen, The Great Pretender, 010 Publishers, 2007; masses and drive: ours",
        notes="The inertia felt at the crank varies by a factor of eight over a turn.",
    )


def ends(name, q, p):
    """Return the coordinates (x, y) of both ends of a bar."""
    places = {"axle": (0.0, 0.0), "hip": (-p.a, -p.l)}
    for n, joint in enumerate(JOINTS):
        places[joint] = (q[2 * n], q[2 * n + 1])
    start, end = BARS[name]
    return places[start], places[end]


def bar(name):
    """Return the constraint that keeps one bar's length."""

    def length(q, p):
        (x1, y1), (x2, y2) = ends(name, q, p)
        return (x2 - x1) ** 2 + (y2 - y1) ** 2 - getattr(p, name) ** 2

    return length


def mass(p):
    """Return the constant mass matrix of the bars, joint by joint and the same for x and y."""
    joints = {}
    for name, (start, end) in BARS.items():
        m = p.rho * getattr(p, name)
        for one, other, share in ((start, start, 3), (end, end, 3), (start, end, 6), (end, start, 6)):
            joints[one, other] = joints.get((one, other), 0) + m / share
    size = range(2 * len(JOINTS))
    return np.array([[joints.get((JOINTS[i // 2], JOINTS[j // 2]), 0) if i % 2 == j % 2 else 0 for j in size] for i in size])


def weight(q, p):
    """Return the potential of all bars."""
    total = 0
    for name in BARS:
        (_, y1), (_, y2) = ends(name, q, p)
        total = total + p.rho * getattr(p, name) * p.gravity * (y1 + y2) / 2
    return total


def crank_speed(q, v, p):
    """Return the angular velocity of the crank."""
    return (q[0] * v[1] - q[1] * v[0]) / p.m**2


def drive(q, v, p):
    """Return the crank torque as a force on the crank pin, at right angles to the crank."""
    pull = (p.torque - p.damping * crank_speed(q, v, p)) / p.m**2
    return np.array([-pull * q[1], pull * q[0], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])


SOURCE = (
    "own extrapolation runs in 80-bit arithmetic on the equation of motion of the crank angle alone, "
    "joints by circle intersection, two step sizes and orders"
)

REFERENCES = (
    Reference(
        1.0,
        q=(
            0.14688807679231796,
            -0.0303956065288078,
            -0.22291691401667788,
            0.30612225150068595,
            -0.29674416175693573,
            -0.46208002473240485,
            -0.74049821263230743,
            0.09761901573836377,
            -0.61248428073132413,
            -0.27500469960896945,
            -0.47673056726378114,
            -0.91782654839739717,
        ),
        v=(
            0.2037724978429865,
            0.98473936629475935,
            -0.5045641331254045,
            0.20633663058620484,
            0.9595864561927007,
            0.2080065862125382,
            -0.23068451798920595,
            -0.4735327553648714,
            0.7567742255125148,
            -0.13429380964229214,
            1.4536706921989713,
            0.01287959996319586,
        ),
        lam=(
            4.47211013495503,
            6.4327775343628,
            -22.60124637806483,
            -2.76643401602408,
            17.36714698631033,
            -26.17995551872345,
            13.78273022666188,
            13.35027920743722,
            -1.95109207582247,
            3.95951571267723,
            0.32781533557352,
        ),
        digits={"q": 14, "v": 14, "lam": 12},
        source=SOURCE,
    ),
    Reference(
        2.0,
        q=(
            0.148993785775902,
            -0.0173450799987957,
            -0.229900788151015,
            0.3089046737922838,
            -0.2844913829305569,
            -0.4592179220150628,
            -0.7436202762248278,
            0.091060032882346,
            -0.6030698856208371,
            -0.2770182029603422,
            -0.4574508657281565,
            -0.9176773175021515,
        ),
        v=(
            0.1149507734543934,
            0.9874241523260359,
            -0.5511635528241797,
            0.2138232502283245,
            0.8933375766320403,
            0.2238127632334206,
            -0.2408338143106319,
            -0.5179938545549373,
            0.6674413133025349,
            -0.1711696972676816,
            1.4617482463418739,
            0.0093728010090698,
        ),
        lam=(
            1.2505284973087,
            6.492814159651,
            -22.3266585422636,
            -1.8916705334101,
            16.0371953732224,
            -25.6408706483959,
            13.5655632171847,
            13.0346849906408,
            -1.2418013908744,
            3.6773559114401,
            0.5868991700986,
        ),
        digits={"q": 14, "v": 14, "lam": 12},
        source=SOURCE,
    ),
)
