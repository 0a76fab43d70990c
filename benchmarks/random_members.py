"""Random closed linkages and random spring-mass-constraint systems, each drawn from its own number and a seed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holonomic import System
from holonomic.multibody import Mechanism, rod


@dataclass
class Member:
    """One drawn system."""

    kind: str
    number: int
    system: Any
    q0: np.ndarray
    v0: np.ndarray
    t_end: float
    options: dict = field(default_factory=dict)


# closed linkages


def spread(rng, low, high, size=None):
    """Numbers evenly spread in their logarithm."""
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def masses(rng, count):
    """Masses of rods: near each other, or spread over twelve decades."""
    return spread(rng, 1e-6, 1e6, count) if rng.random() < 0.3 else spread(rng, 0.1, 10.0, count)


def point(rng, x, y, size=0.3):
    """A point near (x, y)."""
    return (x + size * rng.uniform(-1, 1), y + size * rng.uniform(-1, 1))


def linked(rng, places, bars, ground, *, rigid=()):
    """Return the mechanism of rods between named places; where several meet, the first is hinged to the others."""
    made = Mechanism(gravity=(0.0, -9.81))
    meeting: dict[str, list[str]] = {place: ["ground"] for place in ground}
    for (name, ends), mass in zip(bars.items(), masses(rng, len(bars)), strict=True):
        made.body(name, rod(places[ends[0]], places[ends[-1]], mass=float(mass)))
        for end in ends:
            meeting.setdefault(end, []).append(name)
    hinges = []
    for place, (first, *others) in meeting.items():
        for i, other in enumerate(others):
            hinges.append(f"{place}{i}" if i else place)
            made.revolute(hinges[-1], first, other, at=places[place])
    return made, hinges


def fitted(rng, made, places, bars, first, fast=4.0):
    """Add a spring or a damper at random, give the first joint a speed."""
    names = list(bars)
    if rng.random() < 0.4:
        a = names[-1]
        at = ((places[bars[a][0]][0] + 1.0, -1.0), places[bars[a][-1]])
        made.spring("spring", made.ground, a, at=at, stiffness=float(spread(rng, 1.0, 1e5)), length=float(rng.uniform(0.2, 2)))
        if rng.random() < 0.5:
            made.damper("damper", made.ground, a, at=at, damping=float(spread(rng, 0.01, 1e3)))
    made.assemble(speeds={first: float(rng.uniform(-fast, fast))})


def four_bar(rng):
    places = {"O": (0.0, 0.0), "A": point(rng, 0.0, 0.5), "B": point(rng, 1.2, 1.0), "C": point(rng, 1.2, 0.0, 0.2)}
    bars = {"crank": ("O", "A"), "coupler": ("A", "B"), "rocker": ("B", "C")}
    made, _ = linked(rng, places, bars, ("O", "C"))
    fitted(rng, made, places, bars, "O")
    return made


def slider_crank(rng):
    places = {"O": (0.0, 0.0), "A": point(rng, 0.2, 0.4, 0.15)}
    B = (places["A"][0] + float(rng.uniform(0.8, 1.5)), float(rng.uniform(-0.2, 0.2)))
    made = Mechanism(gravity=(0.0, -9.81))
    m = masses(rng, 3)
    made.body("crank", rod((0.0, 0.0), places["A"], mass=float(m[0])))
    made.body("link", rod(places["A"], B, mass=float(m[1])))
    made.body("slider", at=B, mass=float(m[2]), inertia=float(m[2]) * 0.01)
    made.revolute("O", made.ground, "crank", at=(0.0, 0.0))
    made.revolute("A", "crank", "link", at=places["A"])
    made.revolute("B", "link", "slider", at=B)
    made.prismatic("guide", made.ground, "slider", at=B, axis=(1.0, 0.0))
    if rng.random() < 0.5:
        at = ((3.0, B[1]), B)
        made.spring("spring", made.ground, "slider", at=at, stiffness=float(spread(rng, 1.0, 1e6)), length=1.0)
    made.assemble(speeds={"O": float(rng.uniform(-6, 6))})
    return made


def five_bar(rng):
    places = {
        "O": (0.0, 0.0), "A": point(rng, -0.3, 0.6, 0.2), "B": point(rng, 0.5, 1.3, 0.2), "C": point(rng, 1.3, 0.6, 0.2),
        "D": (1.0, 0.0),
    }  # fmt: skip
    bars = {"a": ("O", "A"), "b": ("A", "B"), "c": ("B", "C"), "d": ("C", "D")}
    made, _ = linked(rng, places, bars, ("O", "D"))
    fitted(rng, made, places, bars, "O", 2.0)
    return made


def six_bar(rng):
    places = {
        "O": (0.0, 0.0), "A": point(rng, 0.0, 0.5, 0.15), "B": point(rng, 1.2, 1.0, 0.15), "C": (1.3, 0.0),
        "E": point(rng, 2.2, 1.2, 0.15), "F": (2.5, 0.1),
    }  # fmt: skip
    bars = {"crank": ("O", "A"), "coupler": ("A", "B"), "rocker": ("B", "C"), "link": ("B", "E"), "last": ("E", "F")}
    made, _ = linked(rng, places, bars, ("O", "C", "F"))
    fitted(rng, made, places, bars, "O", 3.0)
    return made


def parallelogram(rng):
    """Flat twice in a turn: singular positions, exact up to rounding."""
    w, l, angle = rng.uniform(0.5, 2.0), rng.uniform(0.3, 1.0), rng.uniform(0.3, 2.8)
    up = (l * np.cos(angle), l * np.sin(angle))
    places = {"O": (0.0, 0.0), "A": up, "B": (w + up[0], up[1]), "C": (w, 0.0)}
    bars = {"crank": ("O", "A"), "coupler": ("A", "B"), "rocker": ("B", "C")}
    made, _ = linked(rng, places, bars, ("O", "C"))
    made.assemble(speeds={"O": float(rng.choice([-1, 1]) * rng.uniform(2.0, 8.0))})
    return made


def three_legs(rng):
    """A platform on three parallel legs: one of them is redundant."""
    w, l, angle = rng.uniform(0.5, 2.0), rng.uniform(0.5, 1.0), rng.uniform(0.9, 2.2)
    up, part = (l * np.cos(angle), l * np.sin(angle)), rng.uniform(0.3, 0.7)
    feet = {"O": (0.0, 0.0), "P": (part * w, 0.0), "C": (w, 0.0)}
    tops = {"A": feet["O"], "Q": feet["P"], "B": feet["C"]}
    places = {**feet, **{name: (foot[0] + up[0], up[1]) for name, foot in tops.items()}}
    bars = {"platform": ("A", "Q", "B"), "first": ("O", "A"), "second": ("P", "Q"), "third": ("C", "B")}
    made, _ = linked(rng, places, bars, ("O", "P", "C"))
    made.assemble(speeds={"O": float(rng.uniform(-1.0, 1.0))})
    return made


LINKAGES = {
    "four-bar": four_bar, "slider-crank": slider_crank, "five-bar": five_bar, "six-bar": six_bar,
    "parallelogram": parallelogram, "three legs (redundant)": three_legs,
}  # fmt: skip


def linkage(kind, rng, number):
    made = LINKAGES[kind](rng)
    system, q, v = made.to_system()
    options = {"redundant": "minimum-norm"} if "redundant" in kind else {}
    return Member(kind, number, system, q, v, 1.5, options)


# masses, springs and distances in the plane

SHAPES = {  # bodies, distances between pairs (-1: the ground), springs
    "chain": (3, ((-1, 0), (0, 1), (1, 2)), ((-1, 2), (0, 2))),
    "triangle": (3, ((0, 1), (1, 2), (0, 2)), ((-1, 0), (-1, 1))),
    "loop": (4, ((-1, 0), (0, 1), (1, 2), (2, 3)), ((-1, 3), (0, 2), (1, 3))),
    "star": (4, ((-1, 0), (0, 1), (0, 2), (0, 3)), ((1, 2), (2, 3), (-1, 3))),
    "pairs": (4, ((0, 1), (2, 3)), ((-1, 0), (1, 2), (-1, 3), (0, 3))),
}
FLAVOURS = ("plain", "stiff", "heterogeneous", "badly scaled", "redundant")


def of_shape(shape, flavour):
    """Return the system of a shape; numbers are parameters, so that members share its model."""
    bodies, rods, springs = SHAPES[shape]
    end = lambda q, i: np.array([0.0, 0.0]) if i < 0 else q[2 * i : 2 * i + 2]

    def potential(q, p):
        total = sum(9.81 * p.m[i] * q[2 * i + 1] for i in range(bodies))
        for k, (i, j) in enumerate(springs):
            d = end(q, j) - end(q, i)
            total = total + 0.5 * p.k[k] * (np.sqrt(d @ d) - p.free[k]) ** 2
        return total

    def force(q, v, p):
        out = [0.0] * (2 * bodies)
        for k, (i, j) in enumerate(springs):  # dampers along the springs
            d, w = end(q, j) - end(q, i), end(v, j) - end(v, i)
            pull = p.c[k] * (d @ w) / (d @ d) * d
            for at, sign in ((i, 1.0), (j, -1.0)):
                if at >= 0:
                    out[2 * at], out[2 * at + 1] = out[2 * at] + sign * pull[0], out[2 * at + 1] + sign * pull[1]
        return np.array(out)

    def distance(k):
        i, j = rods[k]
        return lambda q, p: p.scale[k] * ((end(q, j) - end(q, i)) @ (end(q, j) - end(q, i)) - p.length[k] ** 2)

    rows = {f"rod {k}": distance(k) for k in range(len(rods))}
    if flavour == "redundant":  # a repeated row, and a combination of two
        first, second = distance(0), distance(1)
        rows["again"] = lambda q, p: p.twice * first(q, p)
        rows["both"] = lambda q, p: first(q, p) - p.twice * second(q, p)
    ones = {"m": np.ones(bodies), "k": np.ones(len(springs)), "free": np.ones(len(springs)), "c": np.zeros(len(springs))}
    return System(
        mass=lambda p: np.array([[p.m[a // 2] if a == b else 0.0 for b in range(2 * bodies)] for a in range(2 * bodies)]),
        potential=potential, force=force, constraint=rows,
        params={**ones, "scale": np.ones(len(rods)), "length": np.ones(len(rods)), "twice": 2.0},
    )  # fmt: skip


MADE: dict = {}


def spring_mass(kind, rng, number):
    shape, flavour = kind.split(", ")
    if kind not in MADE:
        MADE[kind] = of_shape(shape, flavour)
    bodies, rods, springs = SHAPES[shape]
    q = np.array([c for i in range(bodies) for c in (0.8 * (i + 1) + rng.uniform(-0.3, 0.3), rng.uniform(-0.8, 0.8))])
    end = lambda i: np.zeros(2) if i < 0 else q[2 * i : 2 * i + 2]
    m = spread(rng, 1e-6, 1e6, bodies) if flavour == "heterogeneous" else spread(rng, 0.1, 10.0, bodies)
    size = float(np.exp(np.mean(np.log(m))))
    if flavour == "stiff":
        k, c = spread(rng, 1e3, 1e8, len(springs)), spread(rng, 1e1, 1e5, len(springs))
    elif flavour == "heterogeneous":  # frequencies that a second of time can hold
        least = np.array([min([m[i] for i in pair if i >= 0]) for pair in springs])
        k, c = least * spread(rng, 1.0, 1e3, len(springs)), least * spread(rng, 1e-3, 1.0, len(springs))
    else:
        k, c = size * spread(rng, 1.0, 300.0, len(springs)), size * spread(rng, 1e-3, 1.0, len(springs))
    scale = spread(rng, 1e-6, 1e6, len(rods)) if flavour == "badly scaled" else np.ones(len(rods))
    system = replace(
        MADE[kind],
        params={
            "m": m, "k": k, "c": c, "scale": scale, "twice": float(rng.uniform(0.5, 3.0)),
            "free": np.array([np.linalg.norm(end(j) - end(i)) for i, j in springs]) * rng.uniform(0.8, 1.2),
            "length": np.array([np.linalg.norm(end(j) - end(i)) for i, j in rods]),
        },
    )  # fmt: skip
    v = rng.uniform(-1.0, 1.0, len(q))
    J = np.zeros((len(rods), len(q)))
    for row, (i, j) in enumerate(rods):
        d = end(j) - end(i)
        for at, sign in ((i, -1.0), (j, 1.0)):
            if at >= 0:
                J[row, 2 * at : 2 * at + 2] = sign * d
    v -= np.linalg.lstsq(J, J @ v, rcond=None)[0]
    options = {"redundant": "minimum-norm"} if flavour == "redundant" else {}
    return Member(kind, number, system, q, v, 1.0, options)


KINDS = {**{name: linkage for name in LINKAGES}, **{f"{shape}, {flavour}": spring_mass for shape in SHAPES for flavour in FLAVOURS}}


def member(number: int, seed: int) -> Member:
    """Draw one member: half of them linkages, half springs and masses."""
    names = list(LINKAGES) if number % 2 == 0 else [name for name in KINDS if name not in LINKAGES]
    kind = names[(number // 2) % len(names)]
    return KINDS[kind](kind, np.random.default_rng([seed, number]), number)
