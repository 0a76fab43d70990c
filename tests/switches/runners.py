"""Every way in which a law can be run, and the verdict on a run beside a reference: right, wrong, or refused with a reason."""

import itertools
import warnings
from dataclasses import dataclass

import numpy as np

from holonomic import BDF, DOP853, RK4, RK45, GeneralizedAlpha, Ode, Radau, Stepper, System, simulate, sweep
from holonomic.errors import HolonomicError, StepFailed
from holonomic.multibody import Mechanism

from .reference import instants
from .traced import pattern, traced_math

LIMIT = {"max_time": 20.0, "max_steps": 200_000}


@dataclass
class Ran:
    """States at the instants, and what was kept on the way: (t, q, v, a), where a run keeps steps."""

    states: np.ndarray
    kept: tuple | None = None


def system(law):
    f = law.f
    return System(mass=np.eye(1), force=lambda t, q, v: [f(t, q[0], v[0])])


def guided(law):
    """The same mass on a guide, for methods that want a constraint."""
    f = law.f
    return System(mass=np.eye(2), force=lambda t, q, v: [f(t, q[0], v[0]), 0.0], constraint=lambda q: [q[1]])


def mechanism(*laws):
    """A cart for each law, side by side."""
    m = Mechanism(gravity=(0, 0))
    for k, law in enumerate(laws):
        f, at = law.f, (0, k)
        m.body(f"cart{k or ''}", at=at, mass=1.0, inertia=1.0)
        m.prismatic(f"rail{k or ''}", "ground", f"cart{k or ''}", at=at, axis=(1, 0))
        m.motor(f"rail{k or ''}", force=lambda t, position, speed, f=f: f(t, position, speed))
    return m


def side_by_side(laws, tier):
    """The states of several laws in one mechanism, of each at those of its instants that all get to."""
    end = min(law.end for law in laws)
    q0 = np.concatenate([[law.start[0], k, 0.0] for k, law in enumerate(laws)])
    v0 = np.concatenate([[law.start[1], 0.0, 0.0] for law in laws])
    sol = simulate(mechanism(*laws), end, q0=q0, v0=v0, compile=tier, **LIMIT)
    for k, law in enumerate(laws):
        at = sol(np.array([min(t, end) for t in instants(law.end) if t <= end * (1.0 + 1e-12)]))
        yield np.stack([at.q[:, 3 * k], at.v[:, 3 * k]], axis=1)


def whole(law, sol):
    at = sol(instants(law.end))
    return Ran(np.stack([at.q[:, 0], at.v[:, 0]], axis=1), (sol.t, sol.q[:, 0], sol.v[:, 0], sol.a[:, 0]))


def started(law, size=1):
    return {"q0": [law.start[0], 0.0, 0.0][:size], "v0": [law.start[1], 0.0, 0.0][:size]}


def simulated(**how):
    return lambda law, more: whole(law, simulate(system(law), law.end, **started(law), **LIMIT, **how, **more))


def on_a_guide(law, more):
    how = {"integrator": GeneralizedAlpha(), "step": 1e-3}
    return whole(law, simulate(guided(law), law.end, **started(law, 2), **LIMIT, **how))


def as_bodies(tier):
    return lambda law, more: whole(law, simulate(mechanism(law), law.end, **started(law, 3), **LIMIT, compile=tier, **more))


def as_input(law, more):
    f = law.law
    driven = System(mass=np.eye(1), force=lambda u: [u.f], inputs={"f": lambda t: f(t)})
    return whole(law, simulate(driven, law.end, **started(law), **LIMIT, **more))


def as_ode(law, more):
    f = law.f
    ode = Ode(lambda t, y: [y[1], f(t, y[0], y[1])])
    sol = simulate(ode, law.end, y0=list(law.start), **LIMIT, **more)
    return Ran(sol(instants(law.end)).y)


def swept(law, more):
    starts = {"q0": [[law.start[0]]] * 3, "v0": [[law.start[1]]] * 3}
    limit = {"max_steps": LIMIT["max_steps"], "max_time": LIMIT["max_time"]}
    runs = sweep(system(law), law.end, **starts, save_at=instants(law.end), on="threads", progress=False, **limit, **more)
    if runs.failed:
        raise StepFailed(runs.failed[0].why)
    return Ran(np.stack([runs.q[1, :, 0], runs.v[1, :, 0]], axis=1))


def stepped(law, more):
    stepper, states = Stepper(system(law), **started(law), **more), []
    for t in instants(law.end):
        stepper.step(t - stepper.t)
        states.append([stepper.q[0], stepper.v[0]])
    return Ran(np.array(states))


LOOSE, TIGHT = {"rtol": 1e-6}, {"rtol": 1e-10, "atol": 1e-12}
RUNNERS = {  # how, with which tolerances, and the error that is allowed of the size of what moves
    "automatic": (simulated(), LOOSE, 5e-4),
    "automatic, tight": (simulated(), TIGHT, 3e-7),
    "RK45": (simulated(integrator=RK45()), LOOSE, 5e-4),
    "RK45, tight": (simulated(integrator=RK45()), TIGHT, 3e-7),
    "DOP853": (simulated(integrator=DOP853()), LOOSE, 5e-4),
    "DOP853, tight": (simulated(integrator=DOP853()), TIGHT, 3e-7),
    "Radau": (simulated(integrator=Radau()), LOOSE, 5e-4),
    "Radau, tight": (simulated(integrator=Radau()), TIGHT, 3e-7),
    "BDF": (simulated(integrator=BDF()), LOOSE, 1e-3),
    "BDF, tight": (simulated(integrator=BDF()), TIGHT, 3e-6),
    "RK4": (simulated(integrator=RK4(), step=1e-3), {}, 1e-2),
    "generalized alpha": (on_a_guide, {}, 1e-2),
    "sweep": (swept, LOOSE, 5e-4),
    "Stepper": (stepped, LOOSE, 5e-4),
    "mechanism": (as_bodies("now"), LOOSE, 5e-4),
    "tables": (as_bodies("never"), LOOSE, 5e-4),
    "input": (as_input, LOOSE, 5e-4),
    "Ode": (as_ode, LOOSE, 5e-4),
    "Ode, tight": (as_ode, TIGHT, 3e-7),
}


def fits(law, runner):
    """Whether a law can be asked for in that way."""
    return runner != "input" or law.wants == ("t",)


def error_of(states, right):
    """The largest error of position and of velocity, each as a part of how large it gets."""
    return float(np.max(np.abs(states - right) / (1.0 + np.max(np.abs(right), axis=0))))


def misplaced(law, kept, near):
    """The first kept step whose acceleration is not the law's, unless that changes so near; None where all are."""
    sides = list(itertools.product((-near, 0.0, near), repeat=3))
    with traced_math(law.law.__globals__):
        for t, q, v, a in np.stack(kept, axis=1):
            value, way = pattern(law.plain, t, q, v)
            if abs(value - a) <= 1e-6 * (1.0 + abs(value)):
                continue
            around = ((t + i, q + j * (1 + abs(q)), v + k * (1 + abs(v))) for i, j, k in sides)
            if all(pattern(law.plain, *place)[1] == way for place in around):
                return f"at t = {t:.9g} it moves with {a:.6g}, the law says {value:.6g}"
    return None


def verdict(law, runner, right, accuracy):
    """("right", ""), ("wrong", how), ("refused", why) or ("broken", what)."""
    run, more, allowed = RUNNERS[runner]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ran = run(law, more)
    except HolonomicError as error:
        return "refused", f"{type(error).__name__}: {error}"
    except Exception as error:  # no user should ever see it
        return "broken", f"{type(error).__name__}: {error}"
    error = error_of(ran.states, right)
    if not error <= allowed + 10 * accuracy:
        return "wrong", f"error {error:.1e}, allowed {allowed + 10 * accuracy:.1e}"
    found = ran.kept and misplaced(law, ran.kept, max(1e-8, more.get("rtol", 1e-6)))
    return ("wrong", found) if found else ("right", f"{error:.1e}")
