"""Forces on joints: springs, motors, friction and stops along a joint's angle or position.

An effort is a function of (x, rate, t, p, u): the angle or position, its rate, time, parameters and inputs. It is the
torque or force on the joint's second body. Friction that follows the joint's own reaction takes its multipliers, too.
"""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.made_functions import maker
from ..model.refusals import said_as
from .small_vectors import arctan2, times
from .users_functions import answered


@maker
def on_angle(torque, value, rate, place, about, first, second):
    """A torque on a revolute joint; torque(angle, speed, t, p, u) acts on the second body about the axis."""

    def force(t, q, v, p, u, *load):
        T = torque(value(q, p), rate(q, v, p), t, p, u, *load)
        here = place(q, p, first)
        return ((first[0], None, None, about(here, -T)), (second[0], None, None, about(here, T)))

    return force


@maker
def on_position(thrust, value, rate, place, along, first, second, none):
    """A force along a sliding joint; thrust(position, speed, t, p, u) acts on the second body.

    Both forces act at the second body's point, so that they are in balance.
    """

    def force(t, q, v, p, u, *load):
        here = place(q, p, first)
        F = times(thrust(value(q, p), rate(q, v, p), t, p, u, *load), along(here))
        Q = place(q, p, second)[0]
        return ((first[0], times(-1.0, F), Q, none), (second[0], F, Q, none))

    return force


REACH = np.pi - 0.2  # rad on both sides of a centre; nearer to half a turn a step could go over to the other side


def near(angle, centre: float, joint: str):
    """The angle of a joint in space, which counts no turns, as the one nearest to a centre.

    Half a turn away from the centre it would jump by a turn, and a spring's torque with it: before that numbers are refused,
    and symbols give NaN, at which a run stops.
    """
    cosine = np.cos(angle - centre)
    found, beyond = centre + arctan2(np.sin(angle - centre), cosine), np.real(cosine) < np.cos(REACH)
    if isinstance(beyond, bool | np.bool_ | np.ndarray):
        if np.any(beyond):
            raise BadArgument(
                f"joint {joint!r} turns more than {REACH:.2f} rad away from {centre:.4g} rad, but joints in space count no turns"
            )
        return found
    return np.where(beyond, np.nan * found, found)  # times NaN: its derivative is NaN, too


@maker
def about(effort, centre, joint):
    """An effort on the angle of a joint in space that is not the same a turn further: of the angle near a centre."""

    def effort_there(x, *more):
        return effort(near(x, centre, joint), *more)

    return effort_there


@maker
def linear_effort(stiffness, rest, damping=None):
    """-k (x - x0) - c x'."""

    def effort(x, rate, t, p, u):
        pull = -(p[stiffness] * (x - p[rest]))
        return pull if damping is None else pull - p[damping] * rate

    return effort


@maker
def effort_energy(value, stiffness, rest, centre=None, joint=""):
    """k (x - x0)²/2."""

    def energy(q, p):
        x = value(q, p)
        stretch = (x if centre is None else near(x, centre, joint)) - p[rest]
        return p[stiffness] * stretch * stretch / 2.0

    return energy


@maker
def damping_effort(damping):
    """-c x'."""

    def effort(x, rate, t, p, u):
        return -(p[damping] * rate)

    return effort


@maker
def constant_effort(key):
    """The same at all times."""

    def effort(x, rate, t, p, u):
        return p[key]

    return effort


@maker
def curve_effort(rates, efforts):
    """A torque-speed curve: linear between its points, constant outside; both are keys of parameters."""

    def effort(x, rate, t, p, u):
        value = p[efforts[0]]
        for i in range(len(rates) - 1):
            low, high = p[rates[i]], p[rates[i + 1]]
            slope = (p[efforts[i + 1]] - p[efforts[i]]) / (high - low)
            value = value + slope * (np.minimum(np.maximum(rate, low), high) - low)
        return value

    return effort


@maker
def user_effort(function, names, role, first, second, rest=None):
    """A user's function of angle or position, speed, t, p and u; with a rest, of the stretch from there, too."""

    def effort(x, rate, t, p, u):
        given = {first: x, second: rate, "t": t, "p": p, "u": u}
        if rest is not None:
            given["stretch"] = x - p[rest]
        return answered(function, names, given, role, 1)

    return effort


def stribeck_level(rate, p, coulomb, static, stribeck, smoothing):
    """(c + (s - c) exp(-(x'/x_s)²)) tanh(x'/ε): regularized Coulomb friction with Stribeck's peak."""
    ratio = rate / p[stribeck]
    level = p[coulomb] + (p[static] - p[coulomb]) * np.exp(-(ratio * ratio))
    return level * np.tanh(rate / p[smoothing])


def friction_level(rate, p, sliding, static, stribeck, smoothing):
    """Friction with the sign of the rate: smoothed, or with sticking where there is no smoothing."""
    if smoothing is None:
        return level_that_holds(rate, p, sliding, static, stribeck)
    return stribeck_level(rate, p, sliding, static, stribeck, smoothing)


def level_that_holds(rate, p, sliding, static, stribeck):
    """Static friction while nothing slides, up to which it holds; else that of sliding, with Stribeck's peak if there is one."""
    slides = p[sliding]
    if stribeck is not None:
        ratio = rate / p[stribeck]
        slides = slides + (p[static] - slides) * np.exp(-(ratio * ratio))
    with said_as("speed == 0 of a friction that holds"):
        level = np.where(rate == 0, p[static], slides)
    with said_as("speed > 0 of a friction that holds"):
        return level * np.sign(rate)


@maker
def friction_effort(coulomb, static, stribeck, viscous, smoothing):
    """Friction of a known size against the rate, and viscous damping."""

    def effort(x, rate, t, p, u):
        return -friction_level(rate, p, coulomb, static, stribeck, smoothing) - p[viscous] * rate

    return effort


@maker
def loaded_friction(rows, arm, coefficient, static, stribeck, viscous, smoothing):
    """Friction of a joint under its own reaction: coefficient x arm x |force of the given rows|, against the rate.

    The rate of an angle times the arm is the speed of sliding; a slide has no arm.
    """

    def effort(x, rate, t, p, u, load):
        squares = LEAST_LOAD * LEAST_LOAD
        for row in rows:
            squares = squares + load[row] * load[row]
        reach = 1.0 if arm is None else p[arm]
        level = friction_level(reach * rate, p, coefficient, static, stribeck, smoothing)
        return -(reach * np.sqrt(squares) * level) - p[viscous] * rate

    return effort


LEAST_LOAD = 1e-120  # N; a force that vanishes has the derivative zero. No load is near it, so |force| is exact in any units


@maker
def stop_effort(lower, upper, stiffness, damping):
    """Compliant stops: k δ (1 + c δ') beyond a limit, never pulling back; Hunt and Crossley's law, exponent 1."""

    def effort(x, rate, t, p, u):
        low, high = p[lower] - x, x - p[upper]
        up = np.maximum(low, 0.0) * np.maximum(1.0 - p[damping] * rate, 0.0)
        down = np.maximum(high, 0.0) * np.maximum(1.0 + p[damping] * rate, 0.0)
        return p[stiffness] * (up - down)

    return effort
