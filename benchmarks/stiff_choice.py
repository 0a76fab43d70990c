"""The automatic choice on stiff problems outside the library: time at equal error, beside the best choice by hand.

    python benchmarks/stiff_choice.py                measure all, and write its part of docs/automatic-choice.md
    python benchmarks/stiff_choice.py beam crane     measure these alone (parts of names), and print
    python benchmarks/stiff_choice.py --looks        print what the look at the start costs, and how often methods change

Every method runs at rtol 1e-2 to 1e-11; the time at an error is interpolated between two neighbouring tolerances, or that of the
fastest run with a smaller error. Errors are the largest |x - ref| / max |ref| over all unknowns and steps. Times are the shortest
of several of this thread, whatever else the machine does; the automatic choice and the best of the others by turns.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from stamp import stamp

import holonomic as h
from holonomic.errors import HolonomicError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "automatic-choice.md"
ERRORS = (1e-3, 1e-6, 1e-9)
TOLERANCES = tuple(10.0**-k for k in range(2, 12))
ALLOWED = 1.5
MOST_STEPS = 100_000
LARGE = 15  # velocities above which formulations that differentiate eliminated accelerations are left out
SLOW = 0.2  # s: a method is not tried at tighter tolerances than the one that takes longer
BEGIN = "<!-- stiff problems -->\n"  # from here on the page is made here, before it by automatic_choice.py


def four_bar_on_a_bushing() -> dict:
    """A four-bar linkage of three bodies in absolute coordinates, its last joint a stiff, damped bushing: 9 coordinates."""
    L = np.array([1.0, 3.0, 2.0])
    m = np.array([1.0, 3.0, 2.0])
    A, D = np.zeros(2), np.array([3.0, 0.0])

    def along(q, body, share):
        x, y, angle = q[3 * body : 3 * body + 3]
        return np.array([x + share * L[body] * np.cos(angle), y + share * L[body] * np.sin(angle)])

    def speed(q, v, body, share):
        angle, turn = q[3 * body + 2], v[3 * body + 2]
        off = share * L[body] * turn
        return np.array([v[3 * body] - off * np.sin(angle), v[3 * body + 1] + off * np.cos(angle)])

    def bushing(q, v):
        F = -1e7 * (along(q, 2, 0.5) - D) - 3e4 * speed(q, v, 2, 0.5)
        angle, arm = q[8], 0.5 * L[2]
        weight = [9.81 * each for each in m]
        return np.array([
            0.0, -weight[0], 4.0, 0.0, -weight[1], 0.0,
            F[0], -weight[2] + F[1], arm * (np.cos(angle) * F[1] - np.sin(angle) * F[0]),
        ])  # fmt: skip

    def pins(q):
        return np.concatenate([along(q, 0, -0.5) - A, along(q, 0, 0.5) - along(q, 1, -0.5), along(q, 1, 0.5) - along(q, 2, -0.5)])

    mass = np.diag(np.ravel([[mk, mk, mk * Lk**2 / 12] for mk, Lk in zip(m, L, strict=True)]))
    crank = 1.0
    B = np.array([np.cos(crank), np.sin(crank)])
    apart = np.linalg.norm(D - B)
    to_D = np.arctan2(D[1] - B[1], D[0] - B[0])
    coupler = to_D + np.arccos((L[1] ** 2 + apart**2 - L[2] ** 2) / (2 * L[1] * apart))
    C = B + L[1] * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(D[1] - C[1], D[0] - C[0])
    q0 = np.concatenate([[*(A + B) / 2, crank], [*(B + C) / 2, coupler], [*(C + D) / 2, rocker]])
    system = h.System(mass=mass, force=bushing, constraint=pins)
    return {"system": system, "t_end": 2.0, "q0": q0, "v0": np.zeros(9)}


def beam() -> dict:
    """A hanging beam of ten rigid links with stiff, damped hinges, in absolute coordinates: 30 coordinates."""
    n, length, mass = 10, 0.1, 0.05

    def ends(q):
        angle = q[2::3]
        half = 0.5 * length * np.stack([np.cos(angle), np.sin(angle)])
        return np.stack([q[0::3], q[1::3]]) - half, np.stack([q[0::3], q[1::3]]) + half

    def hinges(q):
        first, last = ends(q)
        return np.concatenate([first[:, 0], (first[:, 1:] - last[:, :-1]).T.ravel()])

    def force(q, v):
        angle, turn = q[2::3], v[2::3]
        bend = 2e3 * (angle[1:] - angle[:-1]) + 20.0 * (turn[1:] - turn[:-1])
        torque = np.concatenate([bend, [0.0]]) - np.concatenate([[0.0], bend])
        return np.stack([np.zeros(n), -9.81 * mass * np.ones(n), torque]).T.ravel()

    M = np.diag(np.tile([mass, mass, mass * length**2 / 12], n))
    x = length * (np.arange(n) + 0.5)
    q0 = np.stack([x, np.zeros(n), np.zeros(n)]).T.ravel()
    return {"system": h.System(mass=M, force=force, constraint=hinges), "t_end": 1.0, "q0": q0, "v0": np.zeros(3 * n)}


def crane() -> dict:
    """A trolley on a rail, held by a stiff spring without damping, with a load on a rope: a vibration that never dies out."""
    system = h.System(
        mass=np.diag([5.0, 1.0, 2.0, 2.0]),
        force=lambda q: np.array([-2e6 * (q[0] - q[1]), 2e6 * (q[0] - q[1]) - 40.0 * q[1], 0.0, -2.0 * 9.81]),
        constraint=lambda q: (q[2] - q[1]) ** 2 + q[3] ** 2 - 1.0,
    )
    return {"system": system, "t_end": 1.0, "q0": [0.0, 0.0, np.sin(0.4), -np.cos(0.4)], "v0": [0.2, 0.2, 0.2, 0.0]}


def driven_slider() -> dict:
    """A slider-crank whose crank is turned by a motor law, its rod a stiff, damped strut: a constraint that moves with time."""

    def pin(t):
        angle = 10.0 * t
        return np.array([np.cos(angle), np.sin(angle)])

    def force(q, v):
        apart, speed = np.array([q[2] - q[0], -q[1]]), np.array([v[2] - v[0], -v[1]])
        length = np.sqrt(apart @ apart)
        strut = (5e6 * (length - 2.0) + 2e4 * (apart @ speed) / length) * apart / length
        return np.array([strut[0], strut[1] - 9.81, -strut[0] - 30.0 * v[2]])

    system = h.System(mass=np.diag([1.0, 1.0, 3.0]), force=force, constraint=lambda t, q: q[:2] - pin(t))
    return {"system": system, "t_end": 2.0, "q0": [1.0, 0.0, 3.0], "v0": [0.0, 10.0, 0.0]}


def brake() -> dict:
    """A pendulum on a shaft whose brake grips late and hard: not stiff for two thirds of the run, then very."""

    def force(t, q, v):
        grip = 0.5 * (1.0 + np.tanh(40.0 * (t - 2.0)))
        return np.array([0.0, -9.81, 2.0 - 1e5 * grip * (v[2] - 0.1 * q[0])])

    system = h.System(mass=np.diag([1.0, 1.0, 0.5]), force=force, constraint=lambda q: q[0] ** 2 + q[1] ** 2 - 1.0)
    return {"system": system, "t_end": 3.0, "q0": [np.sin(1.0), -np.cos(1.0), 0.0], "v0": [0.0, 0.0, 0.0]}


def robertson() -> dict:
    """Robertson's reaction."""
    system = h.Ode(
        lambda y: np.array([-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])
    )
    return {"system": system, "t_end": 1e4, "y0": [1.0, 0.0, 0.0], "atol": 1e-4}


def hires() -> dict:
    """The high irradiance response of plants, [HW96] Sec. IV.10."""

    def rate(y):
        meets = 280.0 * y[5] * y[7]
        return np.array([
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -meets + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            meets - 1.81 * y[6], -meets + 1.81 * y[6],
        ])  # fmt: skip

    return {"system": h.Ode(rate), "t_end": 321.8122, "y0": [1.0, *[0.0] * 6, 0.0057]}


PROBLEMS = {
    "four-bar on a bushing": four_bar_on_a_bushing, "beam": beam, "crane": crane, "driven slider": driven_slider,
    "brake": brake, "Robertson": robertson, "HIRES": hires,
}  # fmt: skip


def by_hand(velocities: int) -> dict[str, dict]:
    """What a person might pick, by name; of the velocities of a constrained system, 0 where it has none."""
    found = {"DOP853": {"integrator": h.DOP853()}, "RK45": {"integrator": h.RK45()}}
    integrators = {"Radau": h.Radau(), "Radau 9": h.Radau(order=9), "Radau 13": h.Radau(order=13), "BDF": h.BDF()}
    integrators["Radau variable"] = h.Radau(order="variable")
    forms = {"": h.Index1()}
    if velocities:
        forms |= {", GGL": h.GGL(), ", Index2": h.Index2()}
    if 0 < velocities <= LARGE:
        forms |= {", Pa": h.ProjectedInvariants("Pa"), ", Pc": h.ProjectedInvariants("Pc")}
    for form, formulation in forms.items():
        found |= {name + form: {"integrator": integrator, "formulation": formulation} for name, integrator in integrators.items()}
    return found


def states(sol) -> np.ndarray:
    """All unknowns of the motion, time first."""
    return np.hstack([sol.q, sol.v])


class Case:
    """One problem with its reference."""

    def __init__(self, make):
        given = dict(make())
        self.system, self.t_end = given.pop("system"), given.pop("t_end")
        self.atol = given.pop("atol", 1e-3)
        self.start = given
        self.constrained = "q0" in given
        reference = {"integrator": h.Radau(order=13), "formulation": h.GGL() if self.constrained else "auto"}
        self.exact = self.run(1e-11, 1_000_000, **reference)
        self.top = np.max(np.abs(states(self.exact)), axis=0)
        self.top[self.top == 0.0] = 1.0

    def run(self, rtol: float, most: int = MOST_STEPS, **options):
        """Simulate; where constraints hold, rounding leaves no less than some 1e-13 of unknowns of size 1."""
        atol = max(rtol * self.atol, 1e-12 if self.constrained else 0.0)
        return h.simulate(self.system, self.t_end, **self.start, rtol=rtol, atol=atol, progress=False, max_steps=most, **options)

    def error(self, sol) -> float:
        """The largest error over a run."""
        return float(np.max(np.abs(states(sol) - states(self.exact(sol.t))) / self.top))

    def points(self, turns: int, **options) -> list[tuple[float, float, float]]:
        """(rtol, error, seconds) at every tolerance that is reached."""
        found = []
        for rtol in TOLERANCES:
            try:
                sol = self.run(rtol, **options)
            except HolonomicError:
                continue
            best = shortest(lambda: self.run(rtol, **options), turns)  # noqa: B023
            found.append((rtol, self.error(sol), best))
            if best > SLOW:
                break
        return found


def shortest(work, turns: int) -> float:
    """Shortest time of several, s."""
    found = np.inf
    for _ in range(turns):
        began = time.thread_time()
        work()
        found = min(found, time.thread_time() - began)
    return found


def time_at(points, error: float) -> float:
    """Time at an error, interpolated in logarithms between neighbouring tolerances; infinite where it is not reached."""
    found = [took for _, off, took in points if off <= error]
    for (_, loose, less), (_, tight, more) in itertools.pairwise(points):
        if loose > error >= tight > 0.0:
            share = np.log(loose / error) / np.log(loose / tight)
            found.append(float(np.exp(np.log(less) + share * np.log(more / less))))
    return min(found, default=np.inf)


def measured(name: str) -> dict:
    """Times at the errors, by method, the automatic choice among them, and what was chosen."""
    case = Case(PROBLEMS[name])
    ways = {"left to us": {}} | by_hand(len(case.start.get("v0", ())))
    points = {way: case.points(3, **options) for way, options in ways.items()}
    # once more, the automatic choice and the best of the others by turns; six calls each, because of so many ways of asking few are
    # remembered, and a call that changes methods knows all of its plans the fourth time
    near = {min((way for way in ways if way != "left to us"), key=lambda way: time_at(points[way], error)) for error in ERRORS}
    for _ in range(5):
        for way in ("left to us", *near):
            for k, (rtol, off, took) in enumerate(points[way]):
                again = shortest(lambda: case.run(rtol, **ways[way]), 6)  # noqa: B023
                points[way][k] = (rtol, off, min(took, again))
    return {"points": points, "chosen": chosen(case, points["left to us"])}


def chosen(case: Case, points) -> dict[float, str]:
    """What ran, and how often it changed, at the tolerance that comes nearest to each error."""
    found = {}
    for error in ERRORS:
        rtol = min(points, key=lambda point: abs(np.log(max(point[1], 1e-16) / error)))[0]
        sol = case.run(rtol)
        changes = [change for change in sol.trail.story.changes] if sol.trail.story else []
        found[error] = f"{short(sol)}, {len(changes)} changes" if len(changes) > 1 else short(sol)
    return found


def short(sol) -> str:
    """The plan that ended a run, in a few words."""
    words = repr(sol.plan).replace("()", "").replace("ProjectedInvariants", "Pa").replace("Pa(kind='Pc')", "Pc")
    return words.replace("Index1 + ", "").replace(" + Projection", "").replace(" + None", "").replace(" + ", " ")


def rows_of(name: str, found: dict) -> list[str]:
    """Rows of the table."""
    rows = []
    for error in ERRORS:
        times = {way: time_at(points, error) for way, points in found["points"].items()}
        ours = times.pop("left to us")
        best = min(times, key=times.get)
        rows.append(
            f"| {name} | {error:g} | {1e3 * ours:.3g} | {found['chosen'][error]} | {1e3 * times[best]:.3g} | {best} | "
            f"{ours / times[best]:.2f} |"
        )
    return rows


HEAD = "| problem | error | chosen for you, ms | what ran | best by hand, ms | which | ratio |\n|---|---|---|---|---|---|---|"


def look_costs(name: str) -> str:
    """What is spent on the look at the start, and how often methods change."""
    from holonomic.automatic import decide

    case, spent = Case(PROBLEMS[name]), []
    usual = decide.Choosing.at_start

    def timed(self, run):
        began = time.thread_time()
        choice = usual(self, run)
        spent.append(time.thread_time() - began)
        return choice

    decide.Choosing.at_start = timed
    told = []
    for rtol in (1e-3, 1e-6, 1e-9):
        try:
            for _ in range(5):
                sol = case.run(rtol)
        except HolonomicError as met:
            told.append(f"{rtol:g}: {type(met).__name__}")
            continue
        changes = [f"{c.t:.3g} s {c.choice.integrator!r}" for c in sol.trail.story.changes]
        told.append(f"{rtol:g}: {1e3 * min(spent[-5:]):.3f} ms, {short(sol)}, {changes[:6]}")
    decide.Choosing.at_start = usual
    return "\n".join(f"{name:22} {each}" for each in told)


def main() -> int:
    """Measure what is asked for."""
    warnings.simplefilter("ignore")
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    names = [name for name in PROBLEMS if not words or any(word in name for word in words)]
    if "--looks" in sys.argv:
        for name in names:
            print(look_costs(name), flush=True)
        return 0
    rows = []
    print(HEAD)
    for name in names:
        found = measured(name)
        rows += rows_of(name, found)
        print("\n".join(rows[-len(ERRORS) :]), flush=True)
        if words:
            for way, points in found["points"].items():
                print(f"  {way:22}", "  ".join(f"{time_at(points, error) * 1e3:9.3f}" for error in ERRORS))
    if words:
        return 0
    before, _, _ = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + page(rows))
    return 0


def page(rows: list[str]) -> str:
    """Return the part of the page."""
    ratios = [float(row.split("|")[-2]) for row in rows]
    within = sum(ratio <= ALLOWED for ratio in ratios)
    told = [" at ".join(part.strip() for part in row.split("|")[1:3]) for row in rows]
    above = [f"{name} ({ratio:.1f})" for name, ratio in zip(told, ratios, strict=True) if ratio > ALLOWED]
    return TEXT.format(
        stamp=stamp(), head=HEAD, rows="\n".join(rows), within=within, count=len(rows), most=max(ratios), allowed=ALLOWED,
        above=", ".join(above) or "none",
    )  # fmt: skip


TEXT = """
## Stiff problems outside the library

Made by `benchmarks/stiff_choice.py`, {stamp}. The problems are:

- a four-bar linkage whose last joint is a stiff bushing (9 coordinates);
- a hanging beam of ten rigid links with stiff hinges (30 coordinates);
- a trolley on a stiff spring without damping, and a slider on a stiff strut whose crank is driven;
- a pendulum on a shaft whose brake grips late, and two reactions.

Times are those of whole calls, of the thread alone, the shortest of several, at equal error. Every method runs at rtol 1e-2
to 1e-11, and the time at an error is interpolated between two of them. Errors are the largest over all unknowns and steps,
beside the largest value of the unknown. By hand means DOP853, RK45, BDF and Radau of order 5, 9, 13 and variable. The last
five have `Index1`, `GGL`, `Index2` and both `ProjectedInvariants` (the beam without these).

Within {allowed:g} times the best by hand: {within} of {count}; the most is {most:.1f}. Above: {above}.
Most of these take a tenth of a millisecond. The looks and the change of plans take 12 to 25 µs of it.
Those above the limit begin with explicit steps, or are crossed fastest by order 9 at an error where order 5 suits most others.

{head}
{rows}
"""

if __name__ == "__main__":
    sys.exit(main())
