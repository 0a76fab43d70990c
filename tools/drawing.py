"""Shared by the pictures of the documentation: lettering, colours, and mechanisms drawn as bars and pins."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib.patches import Circle, Polygon

from holonomic.problems.jansen import BARS, JOINTS
from holonomic.view.styles import LOOKS

LOOK = LOOKS["light"]
BLUE, ORANGE, GREEN, PINK, SKY, GOLD, GREY = LOOK.lines
INK, PALE = "#20242b", "#b9c0ca"


def prepare() -> None:
    """Set the lettering and colours that the package's own plots have."""
    matplotlib.rcParams.update(LOOK.settings)


def bar(ax, start, end, color=INK, width=4.0, alpha=1.0, zorder=2):
    """Draw a bar with round ends."""
    line = ax.plot(*zip(start, end, strict=True), color=color, linewidth=width, alpha=alpha, zorder=zorder)
    return line[0]


def pin(ax, at, fixed=False, size=4.5, color=INK, alpha=1.0):
    """Draw a pin; a fixed one on a small triangle."""
    if fixed:
        ax.plot(*at, marker="^", markersize=2.4 * size, color=PALE, zorder=1, markeredgecolor=INK, markeredgewidth=0.8)
    edge = {"markeredgecolor": color, "markeredgewidth": 1.2}
    ax.plot(*at, marker="o", markersize=size, color="white", zorder=4, alpha=alpha, **edge)


def spring(ax, start, end, turns=7, width=0.0022, color=GREEN, alpha=1.0):
    """Draw a zigzag between two points."""
    start, end = np.array(start), np.array(end)
    along = end - start
    across = np.array([-along[1], along[0]]) / np.linalg.norm(along) * width
    part = np.concatenate([[0.0], np.linspace(0.12, 0.88, 2 * turns + 1), [1.0]])
    side = np.concatenate([[0.0], [0.0 if k in (0, 2 * turns) else (-1.0) ** k for k in range(2 * turns + 1)], [0.0]])
    points = start + part[:, None] * along + side[:, None] * across
    ax.plot(*points.T, color=color, linewidth=1.3, alpha=alpha, zorder=2)


def bare(ax, xlim=None, ylim=None):
    """A drawing to scale, without axes."""
    ax.set_aspect("equal")
    ax.set_axis_off()
    if xlim is not None:
        ax.set_xlim(xlim)
        ax.set_ylim(ylim)


def seven_body_points(q, p) -> dict[str, np.ndarray]:
    """Return the pins of the seven-body mechanism at one position; p are its parameters."""
    beta, theta, gamma, _, delta, _, epsilon = q
    at = {"O": (0.0, 0.0), "A": (p["xa"], p["ya"]), "B": (p["xb"], p["yb"]), "C": (p["xc"], p["yc"])}
    at = {name: np.array(place) for name, place in at.items()}
    turn = lambda angle: np.array([np.cos(angle), np.sin(angle)])
    at["F"] = p["rr"] * turn(beta)
    at["E"] = at["F"] - p["d"] * turn(beta + theta)
    at["D"] = at["B"] + p["sc"] * turn(gamma - np.pi / 2) + p["sd"] * turn(gamma)
    at["G"] = at["A"] + p["zt"] * turn(delta)
    at["H"] = at["A"] + p["u"] * turn(epsilon - np.pi / 2)
    return at


def draw_seven_body(ax, q, p, alpha=1.0, pins=True, width=4.0):
    """Draw the seven bodies and the spring."""
    at = seven_body_points(q, p)
    for (start, end), color in {
        ("O", "F"): ORANGE, ("F", "E"): BLUE, ("A", "G"): PINK, ("G", "E"): SKY, ("A", "H"): GOLD, ("H", "E"): GREY,
    }.items():  # fmt: skip
        bar(ax, at[start], at[end], color, width, alpha)
    ax.add_patch(Polygon([at["B"], at["E"], at["D"]], facecolor=GREEN, edgecolor=GREEN, alpha=0.35 * alpha, zorder=1))
    if pins:
        for start, end in (("B", "E"), ("E", "D"), ("D", "B")):
            bar(ax, at[start], at[end], GREEN, 1.6, alpha)
        spring(ax, at["D"], at["C"], alpha=alpha)
        for name in "OABC":
            pin(ax, at[name], fixed=True)
        for name in "FEDGH":
            pin(ax, at[name])
    return at


def jansen_points(q, p) -> dict[str, np.ndarray]:
    """Return the joints of Jansen's linkage at one position."""
    at = {"axle": np.zeros(2), "hip": np.array([-p["a"], -p["l"]])}
    return at | {name: np.asarray(q[2 * n : 2 * n + 2]) for n, name in enumerate(JOINTS)}


def draw_jansen(ax, q, p, colors=None, width=3.5, alpha=1.0, pins=True):
    """Draw the eleven bars; its two stiff triangles are filled."""
    at = jansen_points(q, p)
    for corners in (("hip", "top", "back"), ("low", "knee", "foot")):
        ax.add_patch(Polygon([at[name] for name in corners], closed=True, facecolor=SKY, alpha=0.18 * alpha, zorder=1))
    for n, (start, end) in enumerate(BARS.values()):
        bar(ax, at[start], at[end], colors[n] if colors is not None else INK, width, alpha)
    if pins:
        ax.add_patch(Circle((0, 0), p["m"], fill=False, edgecolor=PALE, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0))
        pin(ax, at["axle"], fixed=True)
        pin(ax, at["hip"], fixed=True)
        for name in JOINTS:
            pin(ax, at[name], size=4.0)
    return at
