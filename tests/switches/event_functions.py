"""Random event functions, by a seed, with all their changes of sign: sines, chirps, pulses down to 1e-9 s, `%`, floor, `if`."""

import random
from dataclasses import dataclass

import numpy as np

from .intervals import Touches, changes_of_sign

COUNT = 1000
END = 3.0
MOTIONS = {  # force, start, and the motion as functions of time
    "flight": (lambda q: 0.0 * q, (0.13, 0.7), lambda t: 0.13 + 0.7 * t, lambda t: 0.7 + 0.0 * t),
    "swing": (
        lambda q: -4.0 * q, (1.0, 0.6), lambda t: np.cos(2 * t) + 0.3 * np.sin(2 * t),
        lambda t: 0.6 * np.cos(2 * t) - 2.0 * np.sin(2 * t),
    ),
}  # fmt: skip


@dataclass
class EventFunction:
    """A function of (t, q, v), the motion it is watched on, and when it changes its sign."""

    kind: str
    text: str
    f: object
    motion: str
    times: list


class _Writer:
    def __init__(self, seed):
        self.r = random.Random(f"event {seed}")
        self.motion = self.r.choice(list(MOTIONS))

    def number(self, low, high):
        return float(f"{self.r.uniform(low, high):.12g}")

    def x(self):
        """What is watched, and a value that it takes on the way."""
        at = {"t": (0.1, 2.9), "q": (0.2, 2.1) if self.motion == "flight" else (-0.8, 0.8), "v": (-1.5, 1.5)}
        name = self.r.choice(["t", "t", "q"] if self.motion == "flight" else ["t", "t", "q", "v"])
        return name, self.number(*at[name])

    def width(self):
        return float(f"{10 ** self.r.uniform(-9, -1):.3g}")

    def sines(self, x="t"):
        wave = lambda: f"{self.number(0.3, 1)} * np.sin({self.number(2, 40)} * {x} + {self.number(0, 6)})"
        return " + ".join(wave() for _ in range(self.r.randint(1, 5)))

    def fourier(self):
        return f"    return {self.sines(self.x()[0])} + {self.number(-0.5, 0.5)}"

    def chirp(self):
        return f"    return np.sin({self.number(3, 25)} * t * t + {self.number(0, 6)}) + {self.number(-0.5, 0.5)}"

    def bell(self):
        x, a = self.x()
        return f"    return np.exp(-((({x} - {a}) / {self.width()}) ** 2)) - 0.5"

    def tent(self):
        x, a = self.x()
        return f"    return {self.width()} - abs({x} - {a})"

    def two_bells(self):
        a, b, w = self.number(0.1, 1.4), self.number(1.5, 2.9), self.width()
        return f"    return np.exp(-(((t - {a}) / {w}) ** 2)) + np.exp(-(((t - {b}) / {w}) ** 2)) - 0.3"

    def wave_with_bell(self):
        a, w = self.number(0.1, 2.9), self.width()
        return f"    return {self.sines()} + {self.number(2, 5)} * np.exp(-(((t - {a}) / {w}) ** 2))"

    def comb(self):
        period, width = self.number(0.15, 0.8), self.width() / 10
        return f"    return {width} - abs(t % {period} - {0.5 * period})"

    def saw(self):
        (x, _), period = self.x(), self.number(0.1, 0.9)
        phase = self.r.choice(["{x} % {p}", "({x} - {p} * np.floor({x} / {p}))"])
        return f"    return {phase.format(x=x, p=period)} - {self.number(0.2, 0.8) * period}"

    def stairs(self):
        x, a = self.x()
        return f"    return np.floor({self.number(3, 20)} * ({x} - {a})) + 0.5"

    def odd_floor(self):
        return f"    return np.floor({self.number(2, 30)} * {self.x()[0]}) % 2.0 - 0.5"

    def branches(self):
        (x, a), (y, b) = self.x(), self.x()
        period = self.number(0.2, 0.9)
        return (
            f"    if {x} > {a}:\n        return {self.sines()}\n    if t % {period} < {0.4 * period}:\n"
            f"        return {y} - {b}\n    return {self.r.choice([-1, 1])} * ({self.number(1.1, 2)} + np.sin(3 * t))"
        )

    def square_wave(self):
        return f"    return 1.0 if np.sin({self.number(5, 60)} * t) > {self.number(-0.9, 0.99)} else -1.0"

    def inside_a_pulse(self):
        a, w = self.number(0.1, 2.9), self.width()
        return f"    if {a} < t < {a + w}:\n        return -1.0\n    return 1.0 + 0.5 * np.sin(5 * t)"

    def greater(self):
        return f"    return max({self.sines()}, {self.sines()}) - {self.number(0.2, 0.8)}"


KINDS = [name for name in vars(_Writer) if name[0] != "_" and name not in ("number", "x", "width", "sines")]


def event_function(seed):
    """The event function of a seed; one that touches zero gives way to the next."""
    for turn in range(20):
        made = _Writer(f"{seed}.{turn}")
        kind = KINDS[seed % len(KINDS)]
        text = f"def event(t, q, v):\n{getattr(made, kind)()}\n"
        names = {"np": np}
        exec(text, names)
        f, (_, _, q, v) = names["event"], MOTIONS[made.motion]
        try:
            times = changes_of_sign(lambda t, f=f, q=q, v=v: f(t, q(t), v(t)), 0.0, END)
        except Touches:
            continue
        if all(1e-6 < t < END - 1e-6 for t in times):
            return EventFunction(kind, text, f, made.motion, times)
    raise AssertionError(f"no event function for seed {seed}")
