"""Make the pictures of the README and of the documentation's pages, in docs/images.

python tools/make_pictures.py               all of them
python tools/make_pictures.py seven-body    one of them
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from drawing import (
    BLUE,
    GOLD,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PINK,
    bar,
    bare,
    draw_jansen,
    draw_seven_body,
    jansen_points,
    pin,
    prepare,
    seven_body_points,
)
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from holonomic import (
    BDF,
    DOP853,
    RATTLE,
    RK4,
    RK45,
    Baumgarte,
    Event,
    GaussLegendre,
    GaussLegendre4,
    GeneralizedAlpha,
    Ode,
    Projection,
    Radau,
    S_both,
    S_both2,
    System,
    problems,
    simulate,
    work_precision,
)
from holonomic.problems import jansen, seven_body, two_link_arm
from holonomic.problems.jansen import BARS
from holonomic.problems.jansen import PARAMS as JANSEN
from holonomic.problems.seven_body import PARAMS as SEVEN

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def log_axis(ax, low, high):
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ax.yaxis.set_major_locator(LogLocator(numticks=9))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="y", which="minor", left=False)


def envelope(t, values, parts=150):
    """The largest |value| of each stretch of time: residuals swing over many powers of ten within a step."""
    sizes = np.maximum(np.max(np.abs(values), axis=1), 1e-17)
    cuts = np.unique(np.linspace(0, len(t), min(parts, len(t)) + 1).astype(int))[:-1]
    return t[cuts], np.maximum.reduceat(sizes, cuts)


def seven_body_picture() -> Figure:
    """The mechanism at several instants, beside its drift with and without projection."""
    problem = seven_body()
    t_end, h = 0.06, 1e-4
    runs = {
        "none": simulate(problem, t_end, integrator=RK4(), step=h, stabilization=None),
        "Baumgarte(alpha=500)": simulate(problem, t_end, integrator=RK4(), step=h, stabilization=Baumgarte(alpha=500)),
        "Projection()": simulate(problem, t_end, integrator=RK4(), step=h, stabilization=Projection()),
    }
    fine = simulate(problem, t_end, rtol=1e-9)
    figure = Figure(figsize=(10.4, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.05))
    path = np.array([seven_body_points(q, SEVEN)["E"] for q in fine(np.linspace(0, t_end, 1500)).q])
    left.plot(*path.T, color=PALE, linewidth=1.0, zorder=0)
    for t in (0.0133, 0.0152, 0.0168, 0.0182):
        draw_seven_body(left, fine(t).q, SEVEN, alpha=0.2, pins=False, width=2.5)
    at = draw_seven_body(left, fine(0.0).q, SEVEN, width=4.5)
    for name, (dx, dy), text in (
        ("F", (0.0035, -0.0015), "motor drives this crank"), ("C", (0.005, -0.001), "spring"),
        ("E", (0.0035, -0.0068), "three loops meet here"),
    ):  # fmt: skip
        left.text(at[name][0] + dx, at[name][1] + dy, text, fontsize=9, color=INK)
    bare(left)
    left.set_title("Seven bodies, three loops, one degree of freedom", loc="left")
    for (name, sol), color in zip(runs.items(), (ORANGE, GOLD, BLUE), strict=True):
        t, size = envelope(sol.t, sol.drift["position"], 30)
        t, size = np.append(t, t_end), np.append(size, size[-1])
        right.plot(1e3 * t, size, color=color, linewidth=1.5, drawstyle="steps-post")
        height = 1e-13 if name == "Projection()" else size[-1]
        right.annotate(
            name, (1e3 * t[-1], height), (4, 0), textcoords="offset points", color=color, fontsize=9, va="center",
            annotation_clip=False,
        )  # fmt: skip
    log_axis(right, 1e-18, 1e-4)
    right.set_xlim(0, 1e3 * t_end)
    right.set_xlabel("time (ms)")
    right.set_title("How far the loops come open, |g| in m: RK4, steps of 0.1 ms", loc="left")
    return figure


def pendulum_picture() -> Figure:
    """Five lines: motion, force of the rod, drift."""
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    sol = simulate(pendulum, 10.0, q0=[1, 0], v0=[0, 0])
    figure = Figure(figsize=(10.4, 4.3), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.35))
    ax = left.subplots()
    swing = sol(np.linspace(0, 1.184, 13))
    for k, (q, force) in enumerate(zip(swing.q, swing.reactions, strict=True)):
        shade = 0.18 + 0.5 * k / 12
        bar(ax, (0, 0), q, PALE, 1.4, 0.4 + 0.6 * shade)
        ax.plot(*q, "o", color=BLUE, markersize=9, alpha=0.25 + 0.75 * k / 12, zorder=3)
        if np.linalg.norm(force) > 0.5:
            tip = q + force / 60
            arrow = {"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", tip, q, arrowprops=arrow, zorder=4)
    pin(ax, (0, 0), fixed=True, size=5)
    bare(ax, (-1.15, 1.15), (-1.15, 0.25))
    ax.set_title("Half a swing, and the force of the rod", loc="left")
    sol.plot("q", "reactions", "drift", ax=(axes := right.subplots(3, 1, sharex=True)))
    for each in axes[:-1]:
        each.set_xlabel("")
    axes[0].set_xlim(0, 10)
    return figure


def drift_picture() -> Figure:
    """Stabilizations on the two-link arm whose tip follows a parabola, by level."""
    problem = two_link_arm(t_end=40.0)
    methods = {
        "none": (None, ORANGE), "Baumgarte(alpha=20)": (Baumgarte(alpha=20), GOLD), "S_both()": (S_both(), PINK),
        "S_both2()": (S_both2(), GREEN), "Projection()": (Projection(), BLUE),
    }  # fmt: skip
    figure = Figure(figsize=(11.4, 4.2), layout="constrained")
    left, *axes = figure.subplots(1, 3, width_ratios=(0.85, 1.0, 1.0))
    fine = simulate(problem, 5.0)
    x = np.linspace(-0.95, 0.95, 100)
    left.plot(x, x**2 - problem.system.params["beta"], color=PALE, linewidth=1.5, linestyle=(0, (4, 2)))
    for k, q in enumerate(fine((0.0, 0.6, 0.95)).q):
        elbow = np.array([np.cos(q[0]), np.sin(q[0])])
        tip = elbow + [np.cos(q.sum()), np.sin(q.sum())]
        alpha = 1.0 if k == 0 else 0.2
        bar(left, (0, 0), elbow, BLUE, 5, alpha)
        bar(left, elbow, tip, GREEN, 5, alpha)
        for place in (elbow, tip):
            pin(left, place, alpha=1.0 if k == 0 else 0.3, size=4.5 if k == 0 else 3)
    pin(left, (0, 0), fixed=True, size=5)
    left.text(0.35, -0.85, "the tip stays on\nthis parabola", color="#6b7480", fontsize=9, va="center")
    bare(left, (-1.1, 1.1), (-1.0, 1.1))
    left.set_title("Two-link arm", loc="left")
    for name, (method, color) in methods.items():
        sol = simulate(problem, integrator=RK4(), step=0.02, stabilization=method)
        for ax, level in zip(axes, ("position", "velocity"), strict=True):
            t, size = envelope(sol.t, sol.drift[level], 50)
            ax.plot(t, size, color=color, linewidth=1.5, label=name)
    for ax, title in zip(axes, ("Position level, |g|", "Velocity level, |G v|"), strict=True):
        log_axis(ax, 1e-16, 1e-1)
        ax.set_xlim(0, 40)
        ax.set_xlabel("time t  (s)")
        ax.set_title(title, loc="left")
        ax.set_title("RK4, steps of 0.02 s", loc="right", fontweight="normal", fontsize=8.5)
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure


def kepler_picture() -> Figure:
    """An orbit with and without its angular momentum and energy kept."""

    def rhs(y):
        return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])

    momentum = lambda y: y[0] * y[3] - y[1] * y[2]
    energy = lambda y: (y[2] ** 2 + y[3] ** 2) / 2 - 1 / np.sqrt(y[0] ** 2 + y[1] ** 2)
    given = {"y0": [0.4, 0, 0, 2], "integrator": RK4(), "step": 0.1}
    cases = {
        "nothing kept": (None, ORANGE), "momentum kept": ({"momentum": momentum}, GREEN),
        "momentum and energy kept": ({"momentum": momentum, "energy": energy}, BLUE),
    }  # fmt: skip
    figure = Figure(figsize=(10.2, 3.6), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for ax, (name, (kept, color)) in zip(axes, cases.items(), strict=True):
        sol = simulate(Ode(rhs, invariants=kept), 200.0, **given)
        y = sol(np.linspace(0, 200, 8000)).y
        ax.plot(y[:, 0], y[:, 1], color=color, linewidth=0.5, alpha=0.8)
        ax.plot(0, 0, "o", color=INK, markersize=5)
        ax.set_title(name, loc="left")
        ax.set_aspect("equal")
        ax.set_xlim(-1.9, 0.95)
        ax.set_ylim(-1.3, 1.3)
        ax.set_xticks([-1, 0])
        ax.set_yticks([-1, 0, 1])
        change = abs(np.array([energy(state) for state in sol.y]) - energy(sol.y[0])).max() / 0.5
        ax.text(0.98, 0.02, f"energy changes by {100 * change:.2g} %", transform=ax.transAxes, ha="right", fontsize=8.5)
    return figure


def events_picture() -> Figure:
    """A ball that bounces: each impact is found inside a step, maps the velocity, and the run goes on."""
    ball = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1])
    floor = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q, v * np.array([1.0, -0.8])))
    sol = simulate(ball, 3.6, q0=[0, 1], v0=[1, 0], events={"floor": floor})
    figure = Figure(figsize=(9.4, 3.9), layout="constrained")
    top, bottom = figure.subplots(2, 1, height_ratios=(1.5, 1), sharex=True)
    parts = np.flatnonzero(np.diff(sol.t) == 0) + 1
    for first, last in zip([0, *parts], [*parts, len(sol.t)], strict=True):
        t = np.linspace(sol.t[first], sol.t[last - 1] - 1e-9, 80)
        inside = sol(t)
        top.plot(inside.q[:, 0], inside.q[:, 1], color=BLUE, linewidth=1.4)
        bottom.plot(inside.q[:, 0], inside.v[:, 1], color=GREEN, linewidth=1.4)
    flash = sol(np.arange(0.0, 3.6, 0.05))
    top.plot(*flash.q.T, "o", color=BLUE, markersize=5, alpha=0.35)
    hits = sol.events["floor"]
    label = f"{len(hits)} impacts, located inside their steps"
    top.plot(hits.q[:, 0], hits.q[:, 1], "o", color=ORANGE, markersize=5, zorder=5, label=label)
    top.plot(sol.q[:, 0], sol.q[:, 1], "|", color=GREY, markersize=9, label="ends of steps")
    top.axhline(0, color=INK, linewidth=1.2)
    top.set_ylabel("height (m)")
    top.legend(loc="upper right")
    bottom.set_ylabel("vertical speed (m/s)")
    bottom.set_xlabel("distance (m); the ball moves at 1 m/s")
    bottom.set_xlim(0, 3.63)
    return figure


def jansen_picture() -> Figure:
    """The linkage, the path of its foot, and the forces in its bars."""
    sol = simulate(jansen(t_end=3.1), events={"turn": Event(lambda q: q[1], direction="rising")})
    begin, end = sol.events["turn"].t[-2:]
    turn = sol(np.linspace(begin, end, 400))
    figure = Figure(figsize=(9.8, 4.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    foot = turn["foot"]
    left.plot(*foot.T, color=BLUE, linewidth=2.0, zorder=1)
    for k in (0, 250, 330):
        draw_jansen(left, turn.q[k], JANSEN, width=1.5, alpha=0.12, pins=False)
    at = 130
    tension = turn["bar tension"]
    norm = TwoSlopeNorm(0.0, -80, 80)
    colors = matplotlib.colormaps["RdYlBu"](norm(np.clip(tension[at], -80, 80)) * 0.96 + 0.02)
    draw_jansen(left, turn.q[at], JANSEN, colors=[INK] * 11, width=6.0)
    draw_jansen(left, turn.q[at], JANSEN, colors=colors, width=4.2)
    bare(left)
    left.set_title("One leg of Jansen's linkage and its foot's path", loc="left")
    scale = matplotlib.cm.ScalarMappable(norm, "RdYlBu")
    colorbar = figure.colorbar(scale, ax=left, orientation="horizontal", shrink=0.6, pad=0.01, aspect=35)
    colorbar.set_label("pushed   ←   force in the bar (N)   →   pulled")
    turned = np.linspace(0, 1, 400)
    for name, color in zip("jkh", (BLUE, ORANGE, GREEN), strict=True):
        right.plot(turned, tension[:, "mjbkcdefghi".index(name)], color=color, linewidth=1.5, label=f"bar {name}")
    right.axhline(0, color=PALE, linewidth=0.8)
    right.axvline(turned[at], color=PALE, linewidth=0.8, linestyle="--")
    right.set_xlim(0, 1)
    right.set_xlabel("turns of the crank")
    right.set_title("Forces in three bars (N)", loc="left")
    right.legend(loc="upper left")
    return figure


def jansen_animation(path: Path) -> None:
    """Two runs with the same steps: without stabilization bars change their lengths, with it they do not."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    h, t_end = 0.03, 5.1
    problem = jansen(t_end=t_end)
    given = {"integrator": RK4(), "step": h}
    runs = [simulate(problem, stabilization=None, **given), simulate(problem, stabilization=Projection(), **given)]
    titles = ("RK4, no stabilization", "RK4, the same steps, Projection()")
    lengths = np.array([JANSEN[name] for name in BARS])
    figure = Figure(figsize=(7.2, 3.9), dpi=100)
    canvas = FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.02, top=0.9, wspace=0.0)
    axes = figure.subplots(1, 2)
    times = np.arange(0.0, t_end - 1e-9, 0.05)
    shown = [sol(times) for sol in runs]
    fine = np.linspace(0.0, t_end, 600)
    paths = [sol(fine)["foot"] for sol in runs]

    def draw(k):
        for ax, sol, path, title in zip(axes, shown, paths, titles, strict=True):
            ax.clear()
            at = jansen_points(sol.q[k], JANSEN)
            now = np.array([np.linalg.norm(at[a] - at[b]) for a, b in BARS.values()])
            wrong = np.abs(now / lengths - 1.0)
            colors = [ORANGE if part > 0.01 else INK for part in wrong]
            ax.plot(*path[fine <= times[k]].T, color=BLUE, linewidth=1.2, zorder=1)
            draw_jansen(ax, sol.q[k], JANSEN, colors=colors, width=3.0)
            bare(ax, (-1.17, 0.28), (-1.02, 0.5))
            ax.set_title(title, loc="center", fontsize=10)
            largest = 100 * wrong.max()
            text = f"bars are off by up to {largest:.1f} %" if largest > 1e-3 else "bars keep their lengths"
            ax.text(-1.13, -0.99, text, fontsize=8.5, color=ORANGE if largest > 1 else INK)
        axes[0].text(0.27, 0.44, f"t = {times[k]:4.2f} s", fontsize=8.5, ha="right")

    frames = []
    for k in range(len(times)):
        draw(k)
        canvas.draw()
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3]))
    palette = frames[-1].quantize(colors=24, method=Image.Quantize.MEDIANCUT)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=60, loop=0, optimize=True)


def work_precision_picture() -> Figure:
    """Error over time: six problems, five methods, medians over eight starts."""
    chosen = [problems.pendulum(), problems.seven_body(), problems.heavy_top(), problems.two_link_arm(), problems.car_axis(),
              problems.four_bar()]  # fmt: skip
    methods = [RK45(), DOP853(), Radau(), Radau(order="variable"), BDF()]
    return work_precision(chosen, integrator=methods, starts=8, repeat=3).plot()


def energy_methods_picture() -> Figure:
    """Error over time: three problems, six methods with fixed steps that keep energy, medians over four starts."""
    chosen = [problems.pendulum(t_end=2.0), problems.double_pendulum(t_end=2.0), problems.chain(4)]
    methods = [RATTLE(), RATTLE(order=4), RATTLE(order=6), GeneralizedAlpha(1.0), GaussLegendre4(), GaussLegendre(stages=4)]
    return work_precision(chosen, integrator=methods, steps=[100, 200, 400, 800, 1600], starts=4, repeat=3).plot()


PICTURES = {
    "work-precision": work_precision_picture,
    "work-precision-energy": energy_methods_picture,
    "seven-body": seven_body_picture,
    "pendulum": pendulum_picture,
    "drift": drift_picture,
    "kepler": kepler_picture,
    "events": events_picture,
    "jansen": jansen_picture,
}


def main(names) -> None:
    prepare()
    for name in names or (*PICTURES, "jansen-gif"):
        path = IMAGES / ("jansen.gif" if name == "jansen-gif" else f"{name}.png")
        if name == "jansen-gif":
            jansen_animation(path)
        else:
            PICTURES[name]().savefig(path, dpi=130)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
