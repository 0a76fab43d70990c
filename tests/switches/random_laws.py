"""Random laws with branches as text, by a seed: conditions that jump, lie flat, turn periodically or fast, masked and nested."""

import math
import random

import numpy as np

from .laws import Law

COUNT = 1000
PHASES = [
    "{x} % {P}", "math.fmod({x}, {P})", "({x} - {P} * math.floor({x} / {P}))", "divmod({x}, {P})[1]", "np.mod({x}, {P})",
    "{P} * ({x} / {P} - np.floor({x} / {P}))", "({x} - {x} // {P} * {P})",
]  # fmt: skip
FLATS = [
    "max(0.0, {d})", "np.maximum({d}, 0.0)", "np.clip({d}, 0.0, 2.0)", "-min(0.0, -({d}))", "({d}) * ({d} > 0)",
    "(abs({d}) + ({d}))",
]  # fmt: skip
SIGNS = ["np.sign(v)", "(1.0 if v > 0 else -1.0)", "np.where(v > 0, 1.0, -1.0)", "(1.0 * (v > 0) - 1.0 * (v < 0))"]
PULSES = [
    "abs(t - {a}) < {w}", "{a} - {w} < t < {a} + {w}", "max(0.0, {w} - abs(t - {a})) > 0",
    "{w} - t + {a} > 0 and t - {a} > -{w}",
]  # fmt: skip


class _Writer:
    """Parts of a law, by a seed."""

    def __init__(self, seed):
        self.r = random.Random(f"law {seed}")
        self.edges = []
        self.rubs = self.r.random() < 0.3
        self.w = 0.0 if self.rubs else None  # the slope in t of the one velocity on which the mass may be held

    def number(self, low, high):
        return round(self.r.uniform(low, high), 2)

    def threshold(self):
        """A smooth function that is positive here and negative there."""
        c = self.number(0.2, 0.9)
        smooth = [
            f"q - {c - 0.4:.2f}", f"{c - 0.4:.2f} - q", f"t - {2 * c:.2f}", f"{2 * c:.2f} - t", f"q - {c / 2:.2f} * t",
            f"q * q + 0.3 * q * t - {c / 2:.2f}", f"v - {c} * t",
        ]  # fmt: skip
        chosen = self.r.choice(smooth if self.w is None else smooth[:-1])
        if chosen is smooth[-1]:
            self.w = c
        return chosen

    def jumping(self):
        x, period = self.r.choice([("t", self.number(0.25, 1.1)), ("t", self.number(0.25, 1.1)), ("q", self.number(0.3, 0.8))])
        phase = self.r.choice(PHASES if x == "t" else PHASES[:1] + PHASES[2:]).format(x=x, P=period)
        return f"{phase} {self.r.choice(['<', '>', '<=', '>='])} {round(period * self.r.uniform(0.25, 0.75), 3)}"

    def flat(self):
        return f"{self.r.choice(FLATS).format(d=self.threshold())} {self.r.choice(['> 0', '> 0', '<= 0', '> 0.05'])}"

    def periodic(self):
        wave, rate = self.r.choice(["sin", "cos"]), self.number(3, 15)
        return f"math.{wave}({rate} * {self.r.choice(['t', 't', 'q'])}) > {self.number(-0.6, 0.6)}"

    def fast(self):
        at, width = self.number(0.2, 1.8), self.r.choice([1e-2, 1e-3, 1e-4])
        self.edges += [at - width, at, at + width]
        return self.r.choice(PULSES).format(a=at, w=width), round(0.2 / width, 3)

    def condition(self, depth=0):
        kind = self.r.choice(["jumping", "flat", "periodic", "plain", "joined"][: 4 if depth else 5])
        if kind == "joined":
            return f"({self.condition(1)}) {self.r.choice(['and', 'or'])} ({self.condition(1)})"
        return f"{self.threshold()} > 0" if kind == "plain" else getattr(self, kind)()

    def branch(self, lines, indent="    ", depth=0):
        """A term of the force that is there under a condition, in one of several spellings."""
        value, other = (self.r.choice([-1, 1]) * self.number(0.8, 2.5) for _ in range(2))
        way = self.r.choice(["if", "else", "where", "mask", "fast", "nested"][: 5 if depth else 6])
        if way == "fast":
            condition, push = self.fast()
            lines += [f"{indent}if {condition}:", f"{indent}    a += {push}"]
        elif way == "where":
            lines.append(f"{indent}a += np.where({self.condition(1)}, {value}, {other})")
        elif way == "mask":
            lines.append(f"{indent}a += {value} * ({self.condition(1)})")
        else:
            lines += [f"{indent}if {self.condition()}:", f"{indent}    a += {value}"]
            if way == "nested":
                self.branch(lines, indent + "    ", 1)
            if way != "if":
                lines += [f"{indent}else:", f"{indent}    a += {other}"]

    def friction(self, lines):
        grip = self.number(1.0, 2.5)
        sign = self.r.choice(SIGNS)
        brakes = ["t < {a} or t > {b}", "t % {a} < 0.4", "abs(t - {b}) > 0.5", "q < {a}", "math.sin(5 * t) > 0", "True"]
        brake = self.r.choice(brakes).format(a=self.number(0.5, 0.9), b=self.number(1.1, 1.5))
        lines += [f"    if {brake}:", f"        a -= {grip} * {sign}"]


def text_of(seed):
    """The text of a law, and who wrote it."""
    made = _Writer(seed)
    lines = [
        "def law(t, q, v):",
        f"    a = {made.number(0.5, 2.0)} * math.sin({made.number(1, 4)} * t + {made.number(0, 6)}) - {made.number(2, 9)} * q",
    ]
    if made.rubs:
        made.friction(lines)
    for _ in range(made.r.randint(1, 2 if made.rubs else 3)):
        made.branch(lines)
    return "\n".join([*lines, "    return a", ""]), made


def random_law(seed):
    """The law of a seed."""
    text, made = text_of(seed)
    names = {"math": math, "np": np}
    exec(text, names)
    start = random.Random(f"start {seed}")
    start = (round(start.uniform(-0.3, 0.3), 2), round(start.uniform(-1, 1), 2))
    kind = "friction" if made.rubs else "branches"
    w = None if made.w is None else lambda t, q: made.w * t
    return Law(kind, f"random {seed}", names["law"], 2.0, start, w, edges=tuple(made.edges), fine=2e-3)
