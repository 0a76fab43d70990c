"""References for laws of a unit mass: the plain function, integrated along one pattern of decisions after the other.

A step of Kutta's method of order 4 is taken when all its stages decide alike. Else the longest such step is found by bisection on
that truth, to rounding, and the next begins on the other side. Nothing of the package is used. A motion that is held on a surface
of velocities, v = w(t, q), follows it as long as the forces on both sides lead to it. The error is
told by a run with half the step.
"""

import functools

import numpy as np

from .traced import pattern

SAMPLES = 9  # instants at which states are compared, the end among them
NEAR = 1e-11  # so close to a surface a mass may be held there
MOST = 200  # turns from one pattern to another without a step between them


def instants(end):
    """The times at which states are compared."""
    return np.linspace(0.0, end, SAMPLES + 1)[1:]


def _kutta(f, t, q, v, h):
    """One step, and whether all its stages decided alike."""
    a1, way = pattern(f, t, q, v)
    q2, v2 = q + h / 2 * v, v + h / 2 * a1
    a2, way2 = pattern(f, t + h / 2, q2, v2)
    q3, v3 = q + h / 2 * v2, v + h / 2 * a2
    a3, way3 = pattern(f, t + h / 2, q3, v3)
    q4, v4 = q + h * v3, v + h * a3
    a4, way4 = pattern(f, t + h, q4, v4)
    return way == way2 == way3 == way4, q + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def _bisected(holds, h):
    """The longest part of h for which something holds."""
    low, high = 0.0, h
    while high - low > 1e-15 and low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


class Surface:
    """Velocities w(t, q) on which dry friction may hold the mass."""

    def __init__(self, f, w, static):
        self.f, self.w, self.static = f, w, static

    def rate(self, t, q):
        """How fast w changes along the surface."""
        w, d = self.w, 1e-5
        return (w(t + d, q) - w(t - d, q) + w(t, q) * (w(t, q + d) - w(t, q - d))) / (2 * d)

    def holds(self, t, q):
        w, rate = self.w(t, q), self.rate(t, q)
        above, below, on = (self.f(t, q, w + side) - rate for side in (1e-9, -1e-9, 0.0))
        return above <= 0 <= below or (self.static and abs(on) < 1e-12)

    def step(self, t, q, h):
        """Kutta's step of q' = w(t, q)."""
        k1 = self.w(t, q)
        k2 = self.w(t + h / 2, q + h / 2 * k1)
        k3 = self.w(t + h / 2, q + h / 2 * k2)
        return q + h / 6 * (k1 + 2 * k2 + 2 * k3 + self.w(t + h, q + h * k3))


def integrate(law, fine):
    """States at the instants of a law, with steps of `fine` at most."""
    f, surface = law.plain, law.w and Surface(law.plain, law.w, law.static)
    stops = sorted({*instants(law.end), *(edge for edge in law.edges if 0 < edge < law.end)})
    (q, v), t, states, kept = law.start, 0.0, [], set(instants(law.end))
    held, tiny, turns = False, 1e-15, 0
    for stop in stops:
        while t < stop:
            if surface and not held and abs(v - surface.w(t, q)) < NEAR and surface.holds(t, q):
                held = True
            h = min(fine, stop - t)
            if held:
                stays = lambda d, t=t, q=q: surface.holds(t + d, surface.step(t, q, d))
                part = h if stays(h) else _bisected(stays, h)
                q, t = surface.step(t, q, part), t + part
                v, held = surface.w(t, q), part == h
                if not held:  # a little further, where it is no longer held
                    t, q, v = t + tiny, q + tiny * v, v + 1e-12 * np.sign(_pull(surface, t + 1e-9, q))
            else:
                alike, q1, v1 = _kutta(f, t, q, v, h)
                if not alike:
                    here = lambda d, t=t, q=q, v=v: _kutta(f, t, q, v, d)
                    turns += 1
                    if turns > MOST:
                        raise ArithmeticError(f"at t = {t}, q = {q}, v = {v} it turns without end: does it slide?")
                    part = _bisected(lambda d: here(d)[0], h)  # noqa: B023
                    _, q, v = here(part)
                    t += part
                    past = min(tiny, stop - t)
                    a = f(t, q, v)
                    t, q1, v1 = t + past, q + past * v, v + past * a
                    h, tiny = 0.0, min(2 * max(tiny, np.spacing(t)), 1e-12)
                else:
                    tiny, turns = 1e-15, 0
                t, q, v = t + h, q1, v1
            if stop - t < 1e-15 + np.spacing(stop):
                t = stop
        if stop in kept:
            states.append((q, v))
    return np.array(states)


def _pull(surface, t, q):
    """Which way the mass leaves its surface: to the side whose force leads away."""
    above, below = (surface.f(t, q, surface.w(t, q) + side) - surface.rate(t, q) for side in (1e-9, -1e-9))
    return above if above > 0 else min(below, 0.0)


def reference(law):
    """States at the instants of a law, and how accurate they are."""
    coarse, finer = integrate(law, law.fine), integrate(law, law.fine / 2)
    return finer, float(np.max(np.abs(finer - coarse))) + 1e-11


def fingerprint(law):
    """A number by which a law is known again: what it is at some places."""
    places = np.random.default_rng(1).uniform(-1, 1, (40, 3)) * [0.5 * law.end, 1.0, 2.0] + [0.5 * law.end, 0.0, 0.0]
    return round(sum(functools.reduce(lambda x, y: x + y, (np.cos(law.plain(*place)),)) for place in places), 9)
