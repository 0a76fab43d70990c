"""A table of laws with branches, as users write them: forces on a unit mass, of t, q and v as they are named.

Kinds: what is compared jumps, lies flat at the threshold, turns periodically or fast; comparisons are masked, nested, chained or
equalities; dry friction works under other conditions. Every branch that is missed moves the mass by a thousandth or more.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Law:
    """A law and the motion it is tried on."""

    kind: str
    name: str
    law: Callable
    end: float = 3.0
    start: tuple = (0.0, 0.0)
    w: Callable | None = None  # velocities, of t and q, on which friction may hold the mass
    static: bool = False  # it is held there by the law at that velocity itself
    edges: tuple = ()  # times at which the reference ends a step: of pulses that are shorter than one
    fine: float = 5e-4  # its longest step
    same: Callable | None = None  # the same law for the reference, where it cannot write down how an array decides

    @property
    def wants(self):
        return tuple(inspect.signature(self.law).parameters)

    @property
    def plain(self):
        """The law that the reference computes, of (t, q, v)."""
        return self.of_all(self.same or self.law)

    @property
    def f(self):
        """The law as a plain function of (t, q, v)."""
        return self.of_all(self.law)

    def of_all(self, law):
        return {
            ("t",): lambda t, q, v: law(t), ("q",): lambda t, q, v: law(q), ("v",): lambda t, q, v: law(v),
            ("t", "q"): lambda t, q, v: law(t, q), ("t", "v"): lambda t, q, v: law(t, v),
            ("q", "v"): lambda t, q, v: law(q, v), ("t", "q", "v"): law,
        }[self.wants]  # fmt: skip


TABLE: dict[str, Law] = {}


def laws(kind, named, **more):
    for name, law in named.items():
        key = f"{kind}: {name}"
        assert key not in TABLE, key
        TABLE[key] = Law(kind, name, law, **more)


PHASES = {  # of a period of one second
    "t % 1": lambda t: t % 1.0,
    "fmod": lambda t: math.fmod(t, 1.0),
    "t - floor": lambda t: t - math.floor(t),
    "divmod": lambda t: divmod(t, 1.0)[1],
    "np.mod": lambda t: np.mod(t, 1.0),
    "np.fmod": lambda t: np.fmod(t, 1.0),
    "t - np.floor": lambda t: t - np.floor(t),
    "t - np.trunc": lambda t: t - np.trunc(t),
    "t - t // 1": lambda t: t - t // 1.0,
    "ceil": lambda t: 1.0 + t - math.ceil(t),
    "(2 t) % 2": lambda t: (2.0 * t) % 2.0 / 2.0,
    "1 - (-t) % 1": lambda t: 1.0 - (-t) % 1.0,
    "arctan2": lambda t: np.arctan2(np.sin(2 * np.pi * t), np.cos(2 * np.pi * t)) % (2 * np.pi) / (2 * np.pi),
}


def pulses(phase):
    """The three ways in which a phase decides."""

    def by_if(t, q):
        if phase(t) < 0.3:
            return 2.0 - q
        return -q

    return {
        "if": by_if,
        "where": lambda t, q: np.where(phase(t) < 0.3, 2.0, 0.0) - q,
        "mask": lambda t, q: 2.0 * (phase(t) < 0.3) - q,
    }


for _name, _phase in PHASES.items():
    laws("jumping", {f"{way}, {_name}": law for way, law in pulses(_phase).items()}, end=4.2)


def gait(t):
    phase = t % 0.8
    if phase < 0.2:
        return 2.0
    elif phase < 0.4:
        return 0.0
    elif phase < 0.7:
        return -1.5
    return 0.5


def two_valves(t, q):
    force = -4.0 * q
    if t % 0.7 < 0.3:
        force += 1.0
    if t % 1.1 < 0.5:
        force -= 2.0
    return force


def crank(q, v):
    angle = q % (2 * math.pi)
    if angle < 1.0:
        return 4.0
    if angle > 5.0:
        return -4.0
    return -0.1 * v


def way_back(t):
    period, phase = divmod(t, 0.9)
    if period % 2 == 0:
        return 1.0 if phase < 0.45 else -1.0
    return -1.0 if phase < 0.45 else 2.0


laws("jumping", {
    "int(10 t) % 10": lambda t: 1.0 if int(t * 10) % 10 < 3 else 0.0,
    "floor(10 t) % 10": lambda t: 1.0 if math.floor(t * 10) % 10 < 3 else 0.0,
    "round(t) % 2": lambda t: 2.0 if round(t) % 2 < 0.5 else -1.0, "heaviside": lambda t: np.heaviside(t % 1.0 - 0.5, 1.0),
    "interp": lambda t: np.interp(t % 1.0, [0.0, 0.3, 0.31, 1.0], [1.0, 1.0, 0.0, 0.0]),
    "interp saw": lambda t: np.interp(t % 0.5, [0.0, 0.4, 0.5], [2.0, -1.0, -1.0]),
    "select": lambda t: np.select([t % 1.0 < 0.3, t % 1.0 < 0.6], [2.0, -1.0], 0.5),
    "piecewise": lambda t: np.piecewise(t % 1.0, [t % 1.0 < 0.3, t % 1.0 >= 0.6], [2.0, -1.0, 0.5]),
    "sign": lambda t: np.sign(t % 1.0 - 0.4), "copysign": lambda t: math.copysign(1.5, t % 1.0 - 0.4),
    "clip": lambda t: np.clip(20 * (t % 1.0) - 8.0, 0.0, 1.0), "saw itself": lambda t, q: 3.0 * (t % 0.5) - q,
    "stairs": lambda t: np.floor(2.0 * t), "stairs of q": lambda q: -9.0 * np.floor(4.0 * q) / 4.0,
    "even floor": lambda t: 1.0 if math.floor(2 * t) % 2 > 0.5 else -0.5,
    "t // 0.5": lambda t: 1.0 if (t // 0.5) % 2 < 1 else 0.0,
    "triangle": lambda t, q: (2.0 if abs(t % 2.0 - 1.0) < 0.3 else 0.0) - q,
    "gait": gait,
    "shifted": lambda t: 3.0 if (t - 0.25) / 0.5 - math.floor((t - 0.25) / 0.5) > 0.6 else -1.0,
    "two valves": two_valves, "way back": way_back,
    "minus phase": lambda t: 1.0 if (-t) % 1.0 < 0.3 else 0.0, "phase of 0.1": lambda t: 5.0 if t % 0.1 < 0.03 else 0.0,
    "phase or end": lambda t: 1.0 if t % 1.0 < 0.2 or t % 1.0 > 0.8 else 0.0,
    "phase and q": lambda t, q: 3.0 if t % 0.5 < 0.25 and q < 0.3 else -4.0 * q,
    "not phase": lambda t: 0.0 if not t % 1.0 < 0.3 else 1.0, "phase of square": lambda t: 2.0 if (t * t) % 1.0 < 0.4 else 0.0,
    "floor twice": lambda t: 1.0 if math.floor(t) - 2 * math.floor(t / 2) < 1 else 0.0,
    "max of phase": lambda t: 4.0 * max(t % 1.0 - 0.5, 0.0),
}, end=3.3)  # fmt: skip
laws("jumping", {
    "ruled floor": lambda q, v: (2.0 if q % 0.5 < 0.2 else 0.0) - 0.2 * v,
    "ruled, fmod": lambda q, v: (2.0 if math.fmod(q, 0.5) < 0.2 else 0.0) - 0.2 * v,
    "floor of q": lambda q, v: (1.0 if math.floor(3 * q) % 2 < 1 else -1.0) - 0.1 * v,
    "round(q, 1)": lambda q: 1.0 - 2.0 * np.round(q, 1),
    "crank": crank,
    "teeth": lambda q: 3.0 * ((4.0 * q) % 1.0) - 1.4, "pole pairs": lambda q: np.where((3 * q) % (2 * np.pi) < np.pi, 1.5, -1.0),
    "quantized speed": lambda v: 1.0 - 0.25 * np.floor(4.0 * v),
    "gear of speed": lambda v: 3.0 / (1.0 + v // 1.0) if v > 0 else 3.0,
}, start=(0.05, 1.0), end=4.0)  # fmt: skip

K, G, C = 1e3, 9.81, 5.0


def shared_contact(depth, v):
    """Of a depth that is zero in the air."""
    if depth > 0:
        return -G + K * depth - C * v
    return -G


DEPTHS = {
    "max": lambda q: max(0.0, -q),
    "np.maximum": lambda q: np.maximum(0.0, -q),
    "-min": lambda q: -min(q, 0.0),
    "-np.minimum": lambda q: -np.minimum(q, 0.0),
    "clip": lambda q: np.clip(-q, 0.0, 1.0),
    "-clip": lambda q: -np.clip(q, -1.0, 0.0),
    "abs - q": lambda q: 0.5 * (abs(q) - q),
    "np.abs - q": lambda q: (np.abs(q) - q) / 2,
    "where": lambda q: np.where(q < 0, -q, 0.0),
    "if": lambda q: -q if q < 0 else 0.0,
    "mask": lambda q: -q * (q < 0),
    "heaviside": lambda q: -q * np.heaviside(-q, 0.0),
    "fmax": lambda q: np.fmax(0.0, -q),
    "select": lambda q: np.select([q < 0], [-q], 0.0),
    "sum of masks": lambda q: 0.5 * (-q) * (q < 0) + 0.5 * (-q) * (q <= 0),
    "max of max": lambda q: max(0.0, max(-q, -0.5)),
}


def on_ground(depth):
    return lambda q, v: shared_contact(depth(q), v)


FALL = {"start": (0.5, 0.6), "end": 2.0, "fine": 2.5e-4}
for _name, _depth in DEPTHS.items():
    laws("flat", {f"depth, {_name}": on_ground(_depth)}, **FALL)


def no_pull(q, v):
    depth = max(0.0, -q)
    if depth > 0:
        push = K * depth - 20.0 * v
        if push > 0:
            return push - G
    return -G


def two_layers(q, v):
    depth = np.maximum(-q, 0.0)
    force = -G
    if depth > 0:
        force += K * depth - C * v
    if depth > 0.05:
        force += 2e3 * (depth - 0.05)
    return force


laws("flat", {
    "no pull": no_pull, "two layers": two_layers,
    "gap": lambda q, v: -G - K * q - C * v if max(q, 0.0) <= 0 else -G,
    "landed": lambda q, v: -G - K * q - C * v if not min(max(q, 0.0), 10.0) > 0 else -G,
    "depth != 0": lambda q, v: -G + K * max(0.0, -q) - C * v if max(0.0, -q) != 0 else -G,
    "depth == 0": lambda q, v: -G if max(0.0, -q) == 0 else -G + K * max(0.0, -q) - C * v,
    "min < 0": lambda q, v: -G - K * q - C * v if min(q, 0.0) < 0 else -G,
    "sqrt": lambda q, v: -G + K * max(0.0, -q) - C * v if math.sqrt(max(0.0, -q)) > 0 else -G,
    "tiny depth": lambda q, v: -G + K * max(0.0, -q) - C * v if max(0.0, -q) > 1e-9 else -G,
    "where of where": lambda q, v: -G + np.where(np.where(q < 0, -q, 0.0) > 0, -K * q - C * v, 0.0),
    "mask of mask": lambda q, v: -G + (np.maximum(0.0, -q) > 0) * (-K * q - C * v),
}, **FALL)  # fmt: skip
laws("flat", {
    "hertz": lambda q, v: -G + 3e4 * max(0.0, -q) ** 1.5 * (1.0 - 0.1 * v) if max(0.0, -q) > 0 else -G,
}, **FALL | {"fine": 1e-4})  # fmt: skip


def backlash(q, v):
    play = max(abs(q) - 0.2, 0.0)
    if play > 0:
        return -40.0 * play * (1.0 if q > 0 else -1.0) + 2.0
    return -0.3 * v


SWING = {"start": (0.3, 1.2), "end": 3.0}
laws("flat", {
    "backlash": backlash,
    "deadband": lambda q, v: -20.0 * q - 0.3 * v if (q if abs(q) > 0.2 else 0.0) != 0 else 1.0,
    "late": lambda t, q: (3.0 * math.exp(1.0 - t) if max(0.0, t - 1.0) > 0 else 0.0) - q,
    "saturated": lambda q, v: -6.0 * q + (1.0 if np.clip(v, -0.5, 0.5) >= 0.5 else 0.0),
    "min at 0.3": lambda q: 3.0 - 4.0 * q if min(q, 0.3) >= 0.3 else 1.0 - 4.0 * q,
    "q (t > 1)": lambda t, q: -4.0 * q + (2.0 if q * (t > 1) > 0.1 else 0.0),
    "max of sine": lambda t, q: -q + (2.0 if max(0.0, math.sin(3 * t)) > 0 else -1.0),
    "min(t, 1) < 1": lambda t, q: (2.0 if min(t, 1.0) < 1 else -2.0) - q,
    "clip(t, 1, 2)": lambda t, q: (2.0 if np.clip(t, 1.0, 2.0) > 1 else -2.0) - q,
    "clip(t, 1, 2) < 2": lambda t, q: (2.0 if np.clip(t, 1.0, 2.0) < 2 else -2.0) - q,
    "both masks": lambda q, v: -4.0 * q + (1.5 if (q > 0) * (v > 0) > 0.5 else 0.0),
    "sign > 0": lambda q: -4.0 * q + (1.5 if np.sign(q - 0.1) > 0 else 0.0),
    "if of if": lambda q: -4.0 * q + (1.5 if (q if q > 0.1 else -1.0) > 0 else 0.0),
    "heaviside > 0": lambda q: -4.0 * q + (1.5 if np.heaviside(q - 0.1, 0.0) > 0.5 else 0.0),
    "flat cube": lambda q: -4.0 * q + (1.5 if (q - 0.1) ** 3 > 0 else 0.0),
    "interp flat": lambda q: -4.0 * q + (1.5 if np.interp(q, [0.0, 0.1, 0.2], [0.0, 0.0, 1.0]) > 0 else 0.0),
    "flat between": lambda q, v: -4.0 * q + (1.0 if 0.0 < max(q, 0.0) < 0.4 else -0.5) - 0.1 * v,
}, **SWING)  # fmt: skip


laws("flat", {"masked speed": lambda q, v: -3.0 if v * (q > 0.1) > 0.2 else 1.0 - q}, **SWING, w=lambda t, q: 0.2)


laws("periodic", {
    "sine of t": lambda t: 1.0 if math.sin(2 * math.pi * t) > 0.5 else 0.0,
    "cosine of t": lambda t, q: (2.0 if math.cos(5 * t) < -0.9 else 0.0) - q,
    "product": lambda t, q: (2.0 if math.cos(5 * t) * math.sin(3 * t) > 0.2 else 0.0) - q,
    "sum": lambda t: 2.0 if math.sin(7 * t) + math.sin(11 * t) > 1.2 else -0.3,
    "abs of sine": lambda t, q: (3.0 if abs(math.sin(4 * t)) > 0.95 else 0.0) - q,
    "chirp": lambda t: 1.0 if math.sin(6 * t * t) > 0 else -0.5,
    "sine of q": lambda q, v: (2.0 if math.sin(8 * q) > 0 else -1.0) - 0.1 * v,
    "cosine of q": lambda q, v: (6.0 if math.cos(8 * q) > 0.95 else 0.0) - 0.1 * v,
    "sine of v": lambda v: 3.0 if math.sin(10 * v) > 0.5 else 0.5,
    "square of sine": lambda t: 2.0 if math.sin(9 * t) ** 2 < 0.05 else 0.0, "sign of sine": lambda t: np.sign(np.sin(9 * t)),
    "where of cosine": lambda t, q: np.where(np.cos(13 * t) > 0.8, 4.0, 0.0) - q,
    "mask of sine": lambda t: 4.0 * (np.sin(13 * t) > 0.8), "max of sine": lambda t: 4.0 * max(math.sin(13 * t) - 0.5, 0.0),
    "tan": lambda t: 1.0 if math.tan(2.1 * t) > 0.7 else -1.0,
    "phase of two": lambda t: 1.0 if math.sin(6 * t) > math.cos(4 * t) else -0.7,
    "pwm": lambda t, q: (4.0 if (5 * t) % 1.0 < 0.5 + 0.4 * math.sin(t) else -4.0) - q,
    "ellipse": lambda q, v: (0.5 if q * q + v * v < 0.9 else -0.5) - 4.0 * q,
}, **SWING)  # fmt: skip


def short(width, push):
    """A pulse every 0.4 s."""
    edges = tuple(x for k in range(6) for x in (0.4 * k, 0.4 * k + width))
    return {"edges": edges, "fine": 1e-3}, lambda t, q: (push if t % 0.4 < width else 0.0) - q


for _width in (1e-2, 1e-3, 1e-4, 1e-5):
    _how, _law = short(_width, 0.2 / _width)
    laws("fast", {f"pulses of {_width:g} s": _law}, end=2.0, **_how)


def once(width, at=1.234):
    return {"edges": (at - width, at, at + width), "fine": 1e-3, "end": 2.0}


def single(width, at=1.234):
    push = 0.3 / width

    def bell(t, q):
        if math.exp(-(((t - at) / width) ** 2)) > 0.5:
            return push - q
        return -q

    return {
        "abs": lambda t, q: (push if abs(t - at) < width else 0.0) - q,
        "chained": lambda t, q: (push if at - width < t < at + width else 0.0) - q,
        "where": lambda t, q: np.where(abs(t - at) < width, push, 0.0) - q,
        "max": lambda t, q: (push if max(0.0, width - abs(t - at)) > 0 else 0.0) - q,
        "bell": bell,
    }


for _width in (1e-2, 1e-3, 1e-5):
    laws("fast", {f"one of {_width:g} s, {way}": law for way, law in single(_width).items()}, **once(_width))

laws("fast", {
    "sin(300 t)": lambda t: 10.0 if math.sin(300 * t) > 0.95 else 0.0,
    "sin(300 t), where": lambda t: np.where(np.sin(300 * t) > 0.95, 10.0, 0.0),
    "cos(50 t)": lambda t, q: (40.0 if math.cos(50 * t) > 0.99 else 0.0) - q,
    "1000 t % 100": lambda t: 50.0 if (1000 * t) % 100 < 4 else 0.0,
    "teeth of q": lambda q: 30.0 if (q + 0.005) % 0.25 < 1e-2 else 0.0,
    "rail joints": lambda q, v: (60.0 if math.sin(40 * q) > 0.99 else 0.0) - 0.5 * v,
    "light gate": lambda q: (80.0 if abs(q - 0.35) < 2e-3 else 0.0) - 4.0 * q,
    "light gate, max": lambda q: (80.0 if max(0.0, 2e-3 - abs(q - 0.35)) > 0 else 0.0) - 4.0 * q,
    "two lines": lambda q, v: (60.0 if 0.2 < q < 0.21 and v < 0 else 0.0) - 4.0 * q,
    "short bump": lambda q, v: -4.0 * q - (1e5 * (q - 0.66) if q > 0.66 else 0.0),
    "stiff stop": lambda q: -4.0 * q - 1e6 * max(0.0, q - 0.6),
}, start=(0.3, 1.2), end=2.0, fine=1e-4)  # fmt: skip
laws("fast", {
    "speed window": lambda q, v: (40.0 if 0.5 < v < 0.505 else 0.0) - 4.0 * q,
}, start=(0.3, 1.2), end=2.0, fine=1e-4, w=lambda t, q: 0.505)  # fmt: skip


def nested(t, q, v):
    if t > 0.5:
        if q > 0.2:
            return -3.0 if v > 0.1 else -1.0
        if t % 1.0 < 0.6:
            return 2.0
    return -q


def several(t, q, v):
    x = np.array([q, v])
    force = np.zeros(2)
    force[x > 0.3] = 1.0
    return force.sum() - 4.0 * q


def several_one_by_one(t, q, v):
    return (1.0 if q > 0.3 else 0.0) + (1.0 if v > 0.3 else 0.0) - 4.0 * q


laws("masked", {
    "nested": nested,
    "valves": lambda t, q: np.where((t > 0.4) & (t < 1.3) | (t > 2.0), 2.0, 0.0) - q,
    "chained": lambda t, q: (2.0 if 0.5 < t < 0.9 else -1.0 if 1.2 <= t <= 1.9 else 0.0) - q,
    "chained of q": lambda q, v: (2.0 if -0.2 < q < 0.3 else 0.0) - 4.0 * q - 0.1 * v,
    "chained with a phase": lambda t, q: (2.0 if 0.2 < t % 0.6 < 0.4 else 0.0) - q,
    "or": lambda t, q: (2.0 if q < -0.1 or t > 1.5 else 0.0) - 4.0 * q, "q < t": lambda t, q: 3.0 if q < 0.5 * t else -3.0 * q,
    "v > sin t": lambda t, q, v: (-0.5 if v > math.sin(2 * t) else 1.0) - 4.0 * q - 3.0 * (v > 2.0),
    "q v > 0": lambda q, v: (-1.0 if q * v > 0 else 0.5) - 4.0 * q, "t q": lambda t, q: (1.0 if t * q > 0.3 else -0.5) - 4.0 * q,
    "power": lambda q, v: (1.0 if q * v * v > 0.1 else -0.3) - 4.0 * q,
    "ratio": lambda t, q: (1.0 if q / (1.0 + t) > 0.1 else 0.0) - 4.0 * q,
    "select of masks": lambda q, v: np.select([(q > 0.2) & (v > 0), (q < -0.2) | (v > 0.9)], [-2.0, 1.0], 0.3) - 4.0 * q,
    "where in where": lambda t, q: np.where(t % 1.0 < 0.5, np.where(q > 0.1, -2.0, 1.0), 0.5) - 4.0 * q,
    "mask of not": lambda t, q: 2.0 * np.logical_not((t > 0.5) & (t < 2.0)) - 4.0 * q,
    "times a mask": lambda t, q: (2.0 * (t % 0.8 < 0.4)) * (q < 0.3) - 4.0 * q,
    "mask > 0.5": lambda t, q: (2.0 if 1.0 * (t % 0.8 < 0.4) > 0.5 else 0.0) - 4.0 * q,
    "if of a select": lambda t, q: (2.0 if np.where(t % 0.8 < 0.4, q, -1.0) > 0.1 else 0.0) - 4.0 * q,
    "any": lambda t, q: (2.0 if any([t % 1.0 < 0.2, q < -0.1]) else 0.0) - 4.0 * q,
    "all": lambda t, q: (2.0 if all([t % 1.0 < 0.7, q > 0.1]) else 0.0) - 4.0 * q,
}, **SWING)  # fmt: skip
laws("masked", {"and": lambda t, q, v: (3.0 if q > 0.1 and v < 0.5 and t > 0.3 else 0.0) - 4.0 * q}, **SWING, w=lambda t, q: 0.5)
laws("masked", {
    "energy": lambda q, v: (-1.5 if 0.5 * v * v + 2.0 * q * q > 0.6 and v > 0.1 else 0.4) - 4.0 * q,
}, **SWING, w=lambda t, q: math.sqrt(max(1.2 - 4.0 * q * q, 0.0)))  # fmt: skip
laws("masked", {"array": several}, **SWING, same=several_one_by_one)


def station(t, q):
    where = math.floor(2 * t) % 3
    if where == 0:
        return 2.0 - q
    if where == 1:
        return -2.0 - q
    return -q


laws("equal", {
    "floor % 3": station,
    "floor == 1": lambda t, q: (2.0 if math.floor(t) == 1 else 0.0) - q,
    "np.floor == 1": lambda t, q: np.where(np.floor(t) == 1, 2.0, 0.0) - q,
    "sign == 1": lambda q: (1.0 if np.sign(q - 0.1) == 1 else -1.0) - 4.0 * q,
    "min(t, 1) == 1": lambda t, q: (2.0 if min(t, 1.0) == 1 else 0.0) - q,
    "max(q, .3) == q": lambda q: (-1.0 if max(q, 0.3) == q else 1.0) - 4.0 * q,
    "truths": lambda t, q: (2.0 if (t > 0.5) == (q > 0.2) else -0.5) - 4.0 * q,
    "clip == q": lambda q: 1.0 - 4.0 * q if np.clip(q, -0.3, 0.3) == q else -8.0 * q,
    "t // 1 == 2": lambda t, q: (3.0 if t // 1.0 == 2 else 0.5) - q,
    "only at a point": lambda t, q: (5.0 if t == 1.0 else 0.5) - q,
    "int in list": lambda t, q: (2.0 if math.floor(2 * t) in [1, 4] else 0.0) - q,
}, **SWING)  # fmt: skip
laws("equal", {"sign != sign": lambda q, v: (1.5 if np.sign(q) != np.sign(v) else 0.0) - 4.0 * q}, **SWING, w=lambda t, q: 0.0)

MU = 2.0


def pedal(t):
    return t < 1 or t > 2


def brake(t, v):
    if t < 1 or t > 2:
        if v > 0:
            return 1.0 - MU
        if v < 0:
            return 1.0 + MU
        return 0.0
    return 1.0


def stribeck(q, v):
    slip = v - 0.5
    level = 1.0 + 0.5 * np.exp(-((slip / 0.1) ** 2))
    return -9.0 * q - np.sign(slip) * level


def static_belt(q, v):
    slip = v - 0.5
    if slip == 0:
        return -9.0 * q + min(max(9.0 * q, -1.5), 1.5)
    return -9.0 * q - 1.0 * np.sign(slip)


def two_brakes(t, v):
    force = 1.0
    if pedal(t):
        force += -MU if v > 0 else MU
    if t % 1.0 > 0.7:
        force += -1.5 if v > 0 else 1.5
    return force


REST = {"end": 4.0, "w": lambda t, q: 0.0}
laws("friction", {
    "brake": brake, "two brakes": two_brakes,
    "brake first": lambda t, v: 1.0 + (-MU if v > 0 else MU) * pedal(t),
    "in one line": lambda t, v: 1.0 - (MU if v > 0 else -MU) if t < 1 or t > 2 else 1.0,
    "sign times": lambda t, v: 1.0 - MU * np.sign(v) * (1.0 if t < 1 or t > 2 else 0.0),
    "sign of mask": lambda t, v: 1.0 - MU * np.sign(v) * ((t < 1) | (t > 2)),
    "select": lambda t, v: np.select([(t > 1) & (t < 2), v > 0], [1.0, 1.0 - MU], 1.0 + MU),
    "where": lambda t, v: np.where((t > 1) & (t < 2), 1.0, np.where(v > 0, 1.0 - MU, 1.0 + MU)),
    "masks": lambda t, v: 1.0 - MU * (1.0 * (v > 0) - 1.0 * (v < 0)) * (abs(t - 1.5) > 0.5),
    "copysign": lambda t, v: 1.0 - (math.copysign(MU, v) if pedal(t) else 0.0),
    "every second": lambda t, v: 1.0 - (MU * np.sign(v) if t % 1.0 < 0.6 else 0.0),
    "by a sine": lambda t, v: 1.0 - (MU * np.sign(v) if math.sin(4 * t) > 0 else 0.0),
    "growing": lambda t, v: t - MU * np.sign(v), "grip of t": lambda t, v: 1.0 - max(0.0, 2.5 - t) * np.sign(v),
    "grip that returns": lambda t, v: 1.0 - max(0.0, abs(t - 2.0) - 0.5) * (2.0 if v > 0 else -2.0),
    "stops once": lambda t, v: 1.0 if t < 1 else -MU if v > 0 else MU if v < 0 else 0.0,
}, **REST)  # fmt: skip
laws("friction", {
    "pushed to and fro": lambda t, v: 3.0 * math.sin(2 * t) - MU * np.sign(v),
    "to and fro, if": lambda t, v: 3.0 * math.sin(2 * t) + (-MU if v > 0 else MU),
    "square pushes": lambda t, v: (3.0 if t % 1.5 < 0.5 else -3.0 if t % 1.5 < 1.0 else 1.0) - MU * np.sign(v),
    "with a spring": lambda q, v: -30.0 * q - MU * np.sign(v),
    "spring and pulses": lambda t, q, v: -30.0 * q - MU * np.sign(v) + (4.0 if t % 1.0 < 0.3 else 0.0),
    "rough zones": lambda q, v: (-MU if v > 0 else MU) if q < 0.4 or q > 0.9 else 0.0,
    "rough and smooth": lambda q, v: 1.0 - (3.0 if q % 0.5 < 0.2 else 0.5) * np.sign(v),
    "other each way": lambda t, v: 3.0 * math.sin(3 * t) + (-2.5 if v > 0 else 1.0),
    "load that grows": lambda t, q, v: 2.0 * math.sin(3 * t) - (1.0 + abs(q)) * np.sign(v),
}, start=(0.0, 1.5), end=4.0, w=lambda t, q: 0.0)  # fmt: skip
laws("friction", {
    "stribeck": stribeck, "belt": lambda q, v: -9.0 * q + (-1.5 if v - 0.5 > 0 else 1.5),
    "shaken belt": lambda t, q, v: -4.0 * q - 1.5 * np.sign(v - 0.5),
}, end=5.0, w=lambda t, q: 0.5)  # fmt: skip
laws("friction", {"static": static_belt}, end=5.0, w=lambda t, q: 0.5, static=True)
laws("friction", {
    "moving belt": lambda t, q, v: -2.0 * q + (-1.5 if v > 0.5 * math.sin(2 * t) else 1.5),
}, end=4.0, w=lambda t, q: 0.5 * math.sin(2 * t))  # fmt: skip
laws("friction", {
    "sliding mode": lambda q, v: -2.0 if v + 2.0 * q > 0 else 2.0,
    "sliding by a sign": lambda q, v: -3.0 * np.sign(v + 2.0 * q) - q,
}, start=(0.4, 0.5), end=3.0, w=lambda t, q: -2.0 * q)  # fmt: skip


CAM = (np.linspace(0.0, 0.7, 73), 0.3 * (np.arange(73) % 9))
laws("jumping", {
    "cam": lambda t, q: 3.0 * np.interp(t % 0.7, *CAM) - 4.0 * q,
    "part of a table": lambda t: np.interp(0.2 * (t % 1.0), [0.0, 0.05, 0.1, 0.5, 1.0], [2.0, 2.0, 0.0, 0.0, 0.0]),
    "ends of a table": lambda t: np.interp(t, [0.5, 1.0, 1.3], [1.0, 3.0, 2.0], left=0.0, right=-1.0),
})  # fmt: skip
laws("jumping", {
    "interp of q": lambda q: np.interp(q % 0.3, [0.0, 0.1, 0.11, 0.3], [1.0, 1.0, -1.0, -1.5]) - 4.0 * q,
}, start=(0.0, 2.0))  # fmt: skip
laws("fast", {"pulse in a table": lambda t, q: np.interp(t, [0.0, 1.0, 1.0001, 1.0002, 4.0], [0.0, 0.0, 2e4, 0.0, 0.0]) - q})


def one_way(rubs):
    """Friction that holds against one side only, by a function of the sliding speed that lies flat on the other one."""
    return lambda t, q, v: 3.0 * math.sin(3 * t) - np.where(rubs(v - 0.2 * t), 2.36, 0.0)


laws("friction", {
    "one way, if": lambda t, q, v: 3.0 * math.sin(3 * t) - (2.36 if max(v - 0.2 * t, 0.0) > 0 else 0.0),
    "one way, if abs": lambda t, q, v: 3.0 * math.sin(3 * t) - (2.36 if abs(v - 0.2 * t) + (v - 0.2 * t) > 0 else 0.0),
    "one way, abs": one_way(lambda d: abs(d) + d > 0), "one way, max": one_way(lambda d: max(0.0, d) > 0),
    "one way, product": one_way(lambda d: d * (d > 0) > 0), "one way, clip": one_way(lambda d: np.clip(d, 0.0, 2.0) > 0),
    "one way, min": one_way(lambda d: -min(0.0, -d) > 0), "one way, not flat": one_way(lambda d: not max(d, 0.0) <= 0),
    "one way, scaled": one_way(lambda d: np.maximum(3.0 * d, 0.0) > 0),
    "one way, where": one_way(lambda d: np.where(d > 0, d, 0) > 0),
}, start=(0.1, -0.5), end=3.0, w=lambda t, q: 0.2 * t)  # fmt: skip
