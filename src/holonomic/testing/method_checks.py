"""Checks for methods, ours and those written elsewhere: does a method do what its class attributes declare?

    from holonomic.testing import check_integrator
    check_integrator(MyMethod())

Every check returns nothing, or raises AssertionError with what was declared and what was found. They run
small problems of three kinds: a System, a System whose constraint moves with time, an Ode with invariants.
"""

from __future__ import annotations

import re

import numpy as np

from ..errors import BadArgument
from ..formulations.base import Formulation
from ..integrators.base import Integrator
from ..integrators.fixed_steps import BackwardEuler
from ..integrators.runge_kutta import DOP853, RK4, Euler, Midpoint
from ..model.system import System
from ..problems.kepler import kepler
from ..problems.pendulum import pendulum_a01, released_from_horizontal
from ..problems.problem import Problem
from ..simulate import simulate
from ..stabilizations.base import Stabilization
from ..stabilizations.projection import Projection
from ..starting.initial import terms
from ..study.order import EPS, ROUNDOFF, drift_sizes, observed_order
from .order_conditions import missed_condition

SLACK = 0.2  # by how much an observed order may stay below the declared one
SPREAD = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # numbers of steps, in multiples of the smallest; three neighbours show the order

# Smallest number of steps on the interval, by order: small enough for the error of twice as many to stay above roundoff. Where
# the leading term does not rule there yet, as with other coefficients of the same order, it does with more steps.
COARSEST = {
    "pendulum-a01": (100, 40, 30, 96, 16, 14, 12, 12),
    "moving-pendulum": (100, 40, 30, 96, 16, 24, 16, 20),
    "kepler": (100, 40, 30, 16, 10, 60, 80, 88),
}
MULTISTEP = 16  # a multistep method looks several steps back: its leading term rules with this many times more steps
# The same for the drift of `bead`, for orders 1, 2 and 4. What is corrected every step has a high order and
# needs large steps to stay above roundoff.
COARSEST_DRIFT = {1: (200, 200), 2: (80, 80), 4: (60, 28)}
DRIFT_SPREAD = (1.0, 1.25, 1.5, 2.0)


def moving_pendulum(*, speed: float = 0.5, rise: float = 2.0, g: float = 9.81, t_end: float = 1.0) -> Problem:
    """Return a pendulum whose support moves as (speed t, rise t²/2): a rheonomic constraint, solved exactly.

    Seen from the support it is a pendulum in the gravity g + rise, released from the horizontal.
    """

    def exact(t):
        q, v = released_from_horizontal(t, g + rise, 1.0, side=1.0)
        return q + np.array([speed * t, rise * t**2 / 2]), v + np.array([speed, rise * t])

    system = System(
        mass=np.eye(2),
        force=lambda p: np.array([0, -p.g]),
        constraint={"rod": lambda t, q, p: (q[0] - p.speed * t) ** 2 + (q[1] - p.rise * t**2 / 2) ** 2 - 1},
        params={"speed": speed, "rise": rise, "g": g},
    )
    title = "Pendulum on a moving support"
    return Problem("moving-pendulum", title, system, t_end, q0=(1.0, 0.0), v0=(speed, 0.0), exact=exact)


def bead(
    *, a: float = 1.5, speed: float = 0.0, rise: float = 0.0, g: float = 5.0, t_end: float = 2.0, heavy: float = 1.0
) -> Problem:
    """Return a bead on an elliptic wire with half axes a and 1, released from its side; the wire may move.

    The direction of G turns along a correction of q, which so changes G v as well; on a circle it would not. Where it is
    `heavy` times as heavy up and down as sideways, M⁻¹Gᵀ and Gᵀ are different directions.
    """
    system = System(
        mass=np.diag([1.0, heavy]),
        force=lambda p: np.array([0, -heavy * p.g]),
        constraint={"wire": lambda t, q, p: ((q[0] - p.speed * t) / p.a) ** 2 + (q[1] - p.rise * t**2 / 2) ** 2 - 1},
        params={"a": a, "speed": speed, "rise": rise, "g": g},
    )
    return Problem("bead", "Bead on an elliptic wire", system, t_end, q0=(a, 0.0), v0=(speed, 0.0))


def _problems(order: int) -> list[Problem]:
    # eighth order needs a smooth orbit and many turns: a short one is exact to roundoff before order shows
    orbit = kepler(c=0.8, t_end=2.0) if order <= 5 else kepler(c=1.2, t_end=4 * np.pi)
    return [pendulum_a01(t_end=1.0), moving_pendulum(), orbit]


def _steps(problem: Problem, order: int, spread=SPREAD, more: int = 1) -> list[float]:
    n = more * COARSEST[problem.name][min(order, 8) - 1]
    return [problem.t_end / round(n * factor) for factor in spread]


def _more(problem: Problem, order: int) -> int:
    """How many times more steps a multistep method needs; on the long orbit more would be roundoff."""
    return MULTISTEP // 2 if order > 5 and problem.y0 is not None else MULTISTEP


def check_integrator(integrator, *, formulation="auto") -> None:
    """Check that an integrator has the order it declares and works wherever an integrator must.

    The order conditions, where there is a tableau. Order on a System, on a rheonomic one and on an Ode, without stabilization and
    with `Projection`: seven step sizes are tried, and the three neighbouring ones that show the highest order count. Equal
    runs give equal bits; running back returns to the start; a state inside a step is as good as one at its
    end; error control follows rtol if the integrator is `adaptive`, and is refused if it is not.

    Parameters
    ----------
    integrator : Integrator
        The object, or its class.
    formulation : Formulation, optional
        One that gives what the integrator takes.
    """
    integrator = _object(integrator, Integrator)
    name = repr(integrator)
    order, adaptive = integrator.order, integrator.adaptive
    _require(isinstance(order, int) and order >= 1, f"{name} must declare order, a number, not {order!r}")
    _require(isinstance(adaptive, bool), f"{name} must declare adaptive, True or False, not {adaptive!r}")
    missed = "" if integrator.tableau is None else missed_condition(integrator.tableau, order)
    _require(not missed, f"{name} declares order {order}, but {missed}")
    lowered = integrator.lower()
    estimates = lowered.errors
    multistep = order > 2 and (lowered.starting_points > 0 or lowered.steers)
    text = f"{name} declares adaptive = {adaptive}, but has {estimates} error estimates"
    _require(adaptive == (estimates > 0), text)
    with_it = {"integrator": integrator, "formulation": formulation}
    for problem in _problems(order):
        if problem.y0 is not None and not (formulation == "auto" or formulation.for_ode):
            continue  # an Ode has one formulation
        steps = _steps(problem, order, more=_more(problem, order) if multistep else 1)
        options = {"formulation": formulation, "roundoff": ROUNDOFF / 10 if order > 5 else ROUNDOFF}
        for stabilization in (None, Projection()):
            study = observed_order(problem, integrator, stabilization, steps, **options)
            _require(
                study.steepest >= order - SLACK,
                f"{name} declares order {order}, but shows {study.steepest:.2f} at best on {problem.title!r}:\n{study}",
            )
        run = {**with_it, "stabilization": Projection(), "step": steps[2]}
        _check_deterministic(name, problem, run)
        _check_backward(name, problem, run)
        _check_inside(name, problem, run, None if integrator.tableau is None else integrator.tableau.dense_order)
        _check_error_control(name, problem, integrator.adaptive, with_it, order)


def check_stabilization(stabilization) -> None:
    """Check that a stabilization keeps the order of an integrator and holds the drift it declares.

    With integrators of order 1, 2 and 4, on a System, on a rheonomic one and, if it acts at position level,
    on an Ode: the order of the solution stays, and `drift_order` is what is observed at both levels. Equal
    runs give equal bits; running back returns to the start; error control works with it.

    Parameters
    ----------
    stabilization : Stabilization or None
        The object, or its class where it needs no arguments.
    """
    if stabilization is not None:
        stabilization = _object(stabilization, Stabilization)
        _require(
            stabilization.acts in ("none", "field", "step"),
            f"{stabilization!r} must declare acts, 'field' or 'step'; found {stabilization.acts!r}",
        )
    name = repr(stabilization)
    on_ode = stabilization is None or _works_on_ode(stabilization)
    for integrator in (Euler(), Midpoint(), RK4()):
        order = integrator.order
        for problem in _problems(order)[: 3 if on_ode else 2]:
            study = observed_order(problem, integrator, stabilization, _steps(problem, order))
            _require(
                study.steepest >= order - SLACK,
                f"{name} lowers the order of {integrator!r} from {order} to {study.steepest:.2f} on {problem.title!r}:\n{study}",
            )
    for integrator in (Euler(), Midpoint(), RK4()):
        _check_drift(name, stabilization, integrator)
    for problem in _problems(4)[: 3 if on_ode else 2]:
        run = {"integrator": RK4(), "stabilization": stabilization, "step": _steps(problem, 4)[2]}
        _check_deterministic(name, problem, run)
        _check_backward(name, problem, run)
        _check_error_control(name, problem, True, {"integrator": DOP853(), "stabilization": stabilization})


def check_formulation(formulation) -> None:
    """Check that a formulation describes the motion of the equations of motion.

    One that gives an ODE: [M Gᵀ; G 0] (v', λ) = (f, -γ) at every point of a run, solved by NumPy; on a pendulum, on a
    rheonomic system, and on a skate, whose constraint is nonholonomic. One that gives a residual: backward Euler
    converges to the motion with order 1 on the first two, and the levels it declares to keep hold at every step.

    Parameters
    ----------
    formulation : Formulation
        An object, or a class that needs no arguments.
    """
    formulation = _object(formulation, Formulation)
    if "ode" not in formulation.gives:
        _check_residual(formulation)
        return
    for problem in (pendulum_a01(t_end=1.0), moving_pendulum(), skate()):
        sol = simulate(problem, formulation=formulation, integrator=RK4(), step=problem.t_end / 20)
        model, data = sol.plan.model, sol.plan.data()
        for row, t in enumerate(sol.t):
            M, f, G, gamma = terms(model, t, sol.q[row], sol.v[row], data)
            matrix = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
            want = np.linalg.solve(matrix, np.concatenate([f, -gamma]))
            found = np.concatenate([sol.a[row], sol.lam[row]])
            # both solves are backward stable: they agree to rounding times the condition of the matrix
            allowed = 100 * EPS * np.linalg.cond(matrix) * max(1.0, float(np.max(np.abs(want))))
            gap = float(np.max(np.abs(found - want)))
            _require(
                gap <= allowed,
                f"{formulation!r} gives (v', λ) = {found} at t = {t:g} of {problem.title!r}; the equations "
                f"of motion give {want} (off by {gap:.1e}, allowed {allowed:.1e})",
            )


def _check_residual(formulation) -> None:
    for problem in (pendulum_a01(t_end=0.5), moving_pendulum(t_end=0.5)):
        truth = simulate(problem, rtol=1e-11, atol=1e-12).end
        errors = []
        for steps in (200, 400):
            sol = simulate(
                problem, formulation=formulation, integrator=BackwardEuler(), step=problem.t_end / steps, stabilization=None
            )
            end = sol.end
            errors.append(max(np.max(np.abs(end.q - truth.q)), np.max(np.abs(end.v - truth.v))))
            for level in formulation.keeps:
                if level in sol.drift:
                    worst = float(np.max(np.abs(sol.drift[level])))
                    # Newton's iteration stops at changes of 1e-12; G and v are of size 1 to 10 here
                    _require(worst <= 1e-9, f"{formulation!r} declares to keep the {level} level, but leaves {worst:.1e}")
        order = float(np.log2(errors[0] / errors[1]))
        _require(
            order >= 1.0 - SLACK,
            f"{formulation!r} with BackwardEuler shows order {order:.2f} on {problem.title!r} (errors {errors[0]:.1e}, "
            f"{errors[1]:.1e}); its equations do not describe the motion",
        )


def skate(t_end: float = 1.0) -> Problem:
    """Return a skate on a slope, q = (x, y, angle): it moves only where its blade points."""
    system = System(
        mass=np.diag([1.0, 1.0, 0.3]),
        force=[0.8, 0.0, 0.0],
        nonholonomic={"blade": lambda q, v: np.sin(q[2]) * v[0] - np.cos(q[2]) * v[1]},
    )
    return Problem("skate", "Skate on a slope", system, t_end, q0=(0.0, 0.0, 0.0), v0=(0.5, 0.0, 1.5))


def promised(drift_order: str, p: int) -> list[float | str]:
    """Read a declared `drift_order`, such as "2(p+1); p", for an integrator of order p.

    Returns one entry per level: a number, infinity for "exact" and "rounding", or "tolerance".
    """
    found: list[float | str] = []
    for part in drift_order.split(";"):
        text = part.replace("(bounded)", "").strip()
        product = re.fullmatch(r"(\d*)(?:\(p\+(\d+)\)|p(?:\+(\d+))?)", text)
        if text in ("exact", "rounding"):
            found.append(np.inf)
        elif text == "below tolerance":
            found.append("tolerance")
        elif product:
            factor, inside, outside = product.groups()
            found.append(float(factor or 1) * (p + float(inside or 0)) + float(outside or 0))
        else:
            raise AssertionError(f"drift_order={drift_order!r} cannot be read; write it like '2(p+1); p+1'")
    if len(found) != 2:
        raise AssertionError(f"drift_order={drift_order!r} must give two orders, of |g| and of |G v + g_t|")
    return found


def _check_drift(name: str, stabilization, integrator) -> None:
    declared = "p; p" if stabilization is None else stabilization.drift_order
    wanted = dict(zip(("position", "velocity"), promised(declared, integrator.order), strict=True))
    fine, coarse = COARSEST_DRIFT[integrator.order]
    for problem in (bead(), bead(speed=0.5, rise=2.0, g=3.0)):
        if integrator.order == 4 and problem.v0 != (0.0, 0.0):
            problem = moving_pendulum()  # smooth enough for tenth order to show above roundoff
            coarse = 20
        for level, want in wanted.items():
            n = coarse if want != "tolerance" and want > integrator.order + 1 else fine
            steps = [problem.t_end / round(n * factor) for factor in DRIFT_SPREAD]
            tol = {"constraint_tol": 1e-10} if want == "tolerance" else {}
            study = observed_order(problem, integrator, stabilization, steps, **tol)
            fit = study.drift[level]
            if want == "tolerance":
                holds = bool(np.all(fit.sizes <= 1e-10))
            else:
                holds = fit.exact if want == np.inf else fit.order >= want - SLACK
            _require(
                holds,
                f"{name} declares drift_order {declared!r}, so {want} at {level} level with {integrator!r}, "
                f"but on {problem.title!r} it shows:\n{study}",
            )


def _check_deterministic(name: str, problem: Problem, run: dict) -> None:
    one, two = simulate(problem, **run), simulate(problem, **run)
    for part in ("t", "q", "v", "lam"):
        _require(
            np.array_equal(getattr(one, part), getattr(two, part)), f"{name}: two equal runs of {problem.title!r} differ in {part}"
        )


def _check_backward(name: str, problem: Problem, run: dict) -> None:
    there = simulate(problem, **run)
    start = {"y0": there.end.y} if problem.y0 is not None else {"q0": there.end.q, "v0": there.end.v}
    # what is not stabilized has drifted, and would not be taken as a start
    back = simulate(problem.system, (problem.t_end, 0.0), **start, **run, initial="project")
    gap = _distance(back, len(back.t) - 1, problem, 0.0)
    error = _distance(there, len(there.t) - 1, problem, problem.t_end)
    # the way back adds an error like that of the way there, carried along by the flow
    _require(
        back.t[-1] == 0.0 and gap <= 20 * error + 1e-9,
        f"{name}: {problem.title!r} run to t = {problem.t_end:g} and back misses its start by {gap:.1e}; the "
        f"error of the way there is {error:.1e}",
    )


def _check_inside(name: str, problem: Problem, run: dict, dense_order: int | None) -> None:
    """States between two steps must not be much worse than those at their ends, or as good as the curve that is declared."""
    worst, at_ends = _inside_and_ends(problem, run)
    if worst <= 100 * at_ends + 1e-9:
        return
    found = f"{name}: inside the steps of {problem.title!r} the error is {worst:.1e}, at the ends {at_ends:.1e}"
    _require(dense_order is not None, found)
    halved, _ = _inside_and_ends(problem, {**run, "step": run["step"] / 2})
    shown = np.log2(worst / halved)
    _require(
        halved <= 1e-9 or shown >= dense_order + 0.5,  # the curve misses by the power dense_order + 1 of the step
        f"{found}; with half the step {halved:.1e}: order {shown:.2f}, where dense_order = {dense_order} is declared",
    )


def _inside_and_ends(problem: Problem, run: dict) -> tuple[float, float]:
    """Largest errors inside the steps and at their ends."""
    ends = simulate(problem, **run)
    between = (ends.t[:-1] + 0.37 * np.diff(ends.t))[:: max(1, len(ends.t) // 20)]
    inside = simulate(problem, **run, save_at=between)
    at_ends = max(_distance(ends, row, problem, t) for row, t in enumerate(ends.t))
    return max(_distance(inside, row, problem, t) for row, t in enumerate(inside.t)), at_ends


def _check_error_control(name: str, problem: Problem, adaptive: bool, run: dict, order: int = 8) -> None:
    if not adaptive:
        try:
            simulate(problem, **run)
        except BadArgument:
            return
        raise AssertionError(f"{name} declares adaptive = False, but runs without step=")
    loose, tight = (simulate(problem, **run, rtol=rtol, atol=rtol / 100) for rtol in (1e-4, 1e-8))
    errors = [_distance(sol, len(sol.t) - 1, problem, problem.t_end) for sol in (loose, tight)]
    # the error of a run is some hundred times its tolerance per step; it must follow the tolerance down. With order 1 it
    # goes with the root of it, with order 2 with its power of 2/3.
    _require(
        errors[1] <= {1: 1e-3, 2: 1e-4}.get(order, 1e-5) and (errors[1] <= 0.1 * errors[0] or errors[0] <= 1e-6),
        f"{name}: on {problem.title!r} rtol = 1e-4 leaves an error of {errors[0]:.1e}, rtol = 1e-8 one of {errors[1]:.1e}",
    )
    drift = max(drift_sizes(tight).values(), default=0.0)
    _require(drift <= (1e-5 if order > 1 else 1e-3), f"{name}: on {problem.title!r} at rtol = 1e-8 the drift is {drift:.1e}")


def _distance(sol, row: int, problem: Problem, t: float) -> float:
    """Largest difference from the exact state at time t, relative where that is above 1."""
    exact = problem.exact(t)
    want = exact if problem.y0 is not None else np.concatenate(exact)
    have = sol.y[row] if problem.y0 is not None else np.concatenate([sol.q[row], sol.v[row]])
    return float(np.max(np.abs(have - want) / np.maximum(1.0, np.abs(want))))


def _works_on_ode(stabilization) -> bool:
    """Tell whether a stabilization can keep invariants: they are position rows, and have no mass matrix."""
    has_level = not stabilization.levels or "position" in stabilization.levels
    return has_level and not stabilization.mechanical


def _object(given, base: type):
    made = given() if isinstance(given, type) and issubclass(given, base) else given
    _require(isinstance(made, base), f"{given!r} is no {base.__name__}")
    return made


def _require(holds: bool, otherwise: str) -> None:
    # raised, not asserted: python -O leaves it in
    if not holds:
        raise AssertionError(otherwise)
