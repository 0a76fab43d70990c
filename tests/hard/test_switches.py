"""Stiff springs that are switched on and off, and switching without end: right answers, or a reason."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, GGL, Event, SingularPosition, StepFailed, System, problems, simulate

G = 9.81


def ball(k):
    """A unit mass on a vertical guide above a spring that only pushes."""
    return System(
        mass=np.eye(2),
        force=lambda q, p: np.array([0.0, -G - p.k * np.where(q[1] < 0, q[1], 0.0)]),
        constraint={"guide": lambda q: q[0]},
        params={"k": k},
    )


def period(k):
    """From height 1 and back: two falls and one contact."""
    speed, w = np.sqrt(2 * G), np.sqrt(k)
    return 2 * speed / G + (np.pi + 2 * np.arctan(G / (w * speed))) / w


@pytest.mark.parametrize("k", [1e2, 1e4, 1e6, 1e8, 1e10])
def test_a_stiff_spring_switched_by_contact(k):
    for rtol in (1e-6, 1e-9):
        sol = simulate(ball(k), 5 * period(k), q0=[0, 1], v0=[0, 0], rtol=rtol, atol=rtol / 1000, integrator=DOP853())
        # five contacts, each entered and left inside a step; a relative error of the speed is one of the height, and
        # an error of position at the switch is magnified by w = √k
        assert abs(sol.q[-1, 1] - 1.0) < 2e3 * rtol, rtol


@pytest.mark.parametrize("k", [1e4, 1e8])
def test_a_stiff_spring_switched_by_events(k):
    falling = System(mass=np.eye(2), force=[0.0, -G], constraint={"guide": lambda q: q[0]})
    pushed = System(
        mass=np.eye(2), force=lambda q, p: np.array([0.0, -G - p.k * q[1]]), constraint={"guide": lambda q: q[0]}, params={"k": k}
    )
    t, q, v, end = 0.0, [0.0, 1.0], [0.0, 0.0], 3 * period(k)
    touch = {"touch": Event(lambda q: q[1], direction="falling", terminal=True)}
    leave = {"leave": Event(lambda q: q[1], direction="rising", terminal=True)}
    for turn in range(7):
        system, events = (falling, touch) if turn % 2 == 0 else (pushed, leave)
        sol = simulate(system, (t, end), q0=q, v0=v, rtol=1e-9, atol=1e-12, events=events, integrator=DOP853(), initial="project")
        t, q, v = float(sol.t[-1]), sol.q[-1], sol.v[-1]
    assert sol.ended == "end"
    assert abs(q[1] - 1.0) < 1e-7  # κ rtol: nothing is lost at the switches


def block(sign):
    """A mass on a floor, pushed with 1 N against dry friction of 2 N."""
    return System(
        mass=np.eye(2), force=lambda v: np.array([1.0 - 2.0 * sign(v[0]), 0.0]), constraint={"floor": lambda q: q[1]},
        coordinates=["x", "y"],
    )  # fmt: skip


def test_dry_friction_that_cannot_be_followed_is_called_chattering():
    jump = lambda v: 2.0 * np.floor(1.0 + v / (1e-300 + v * v) ** 0.5 / 2.0) - 1.0  # a sign that is no switch
    with pytest.raises(StepFailed) as caught:
        simulate(block(jump), 3.0, q0=[0, 0], v0=[1, 0], max_steps=20_000, integrator=DOP853())
    text = str(caught.value)
    assert "the acceleration of x jumps between -1 and 3" in text
    assert "chattering" in text
    sol = caught.value.solution
    assert abs(sol.t[-1] - 1.0) < 1e-2  # where it comes to rest
    assert abs(sol.q[-1, 0] - 0.5) < 1e-5


@pytest.mark.parametrize("sign", [np.sign, lambda v: np.where(v > 0, 1.0, -1.0)], ids=["sign", "where"])
def test_dry_friction_by_a_sign_stays_at_rest(sign):
    sol = simulate(block(sign), 3.0, q0=[0, 0], v0=[1, 0], integrator=DOP853())
    assert sol.q[-1, 0] == pytest.approx(0.5, abs=1e-6) and abs(sol.v[-1, 0]) < 1e-12 and sol.stats["steps"] < 40


@pytest.mark.parametrize("e", [0.9, 0.5, 0.0])
def test_impacts_without_end_stop_where_they_accumulate(e):
    hit = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q, np.array([v[0], -e * v[1]])))
    above = System(mass=np.eye(2), force=[0.0, -G], constraint={"guide": lambda q: q[0]})
    with pytest.raises(StepFailed, match="event 'hit' becomes a lasting contact") as caught:
        simulate(above, 20.0, q0=[0, 1], v0=[0, 0], events={"hit": hit}, integrator=DOP853())
    fall = np.sqrt(2 / G)
    assert abs(caught.value.solution.t[-1] - fall * (1 + e) / (1 - e)) < 1e-6  # a geometric series


def test_implicit_methods_name_the_singular_position_they_cannot_pass():
    problem = problems.four_bars(2)
    # a free start need not be on the constraints, so nobody leads over the position
    free = {"initial": "free", "integrator": BDF(), "formulation": GGL(), "stabilization": None}
    with pytest.raises(SingularPosition) as caught:
        simulate(problem.system, 2.0, q0=problem.q0, v0=problem.v0, rtol=1e-7, **free)
    text = str(caught.value)
    assert "singular position close to t = 0.71" in text
    assert "the row of 'bar" in text
    assert "Use DOP853() with Projection()" in text
