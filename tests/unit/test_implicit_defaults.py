"""What implicit runs do about constraints when nothing is said: they hold, and accuracy is not paid for it."""

import numpy as np
import pytest

from holonomic import BDF, GGL, Index3, Projection, Radau, StateSpace, StrangenessFree, problems, simulate
from holonomic.errors import BadArgument, IncompatibleMethods

TOL = 1e-10  # the default constraint_tol


def largest(sol, level):
    """The largest residual as a distance; rows of these problems are 1 to 3 long."""
    return abs(sol.drift[level]).max()


@pytest.mark.parametrize("formulation", [GGL(), StrangenessFree(), StateSpace()], ids=repr)
@pytest.mark.parametrize("name", ["pendulum", "slider-crank"])
def test_radau_holds_both_levels_to_the_tolerance(name, formulation):
    problem = problems.get(name)
    sol = simulate(problem, 1.0, integrator=Radau(), formulation=formulation)
    assert largest(sol, "position") < TOL and largest(sol, "velocity") < TOL
    alone = simulate(problem, 1.0, integrator=Radau(), formulation=formulation, stabilization=None)
    assert largest(alone, "position") > 0.1 * TOL  # what Newton's method leaves, 2e-11 to 3e-9: else there is nothing to test
    exact = simulate(problem, 1.0, rtol=1e-11, atol=1e-13).q[-1]
    error, before = (abs(each.q[-1] - exact).max() for each in (sol, alone))
    assert error < 1e-6 and before < 1e-6  # rtol; measured: 1e-8 to 2e-7
    assert len(sol.t) <= 1.1 * len(alone.t) + 1  # measured: 0.93 to 1.05, but for the last step, which may be taken in two


def test_steps_of_one_length_need_no_projection():
    sol = simulate(problems.pendulum(), 1.0, integrator=Radau(), formulation=GGL(), step=0.01)
    assert sol.plan.choice.stabilization.acts == "none"
    assert largest(sol, "position") < 1e-13  # Newton's method goes on to rounding


def test_errors_of_radau_with_ggl_still_follow_the_tolerance():
    """err ~ tol: a third-order estimate chooses steps, h ~ tol^1/4, of a method of order 5; at least tol itself."""
    problem = problems.pendulum()
    exact = simulate(problem, 2.0, rtol=1e-13, atol=1e-14).q[-1]
    rtol = np.array([1e-4, 1e-6, 1e-8])
    errors = [
        abs(simulate(problem, 2.0, integrator=Radau(), formulation=GGL(), rtol=r, atol=1e-3 * r).q[-1] - exact).max() for r in rtol
    ]
    slope = np.polyfit(np.log(rtol), np.log(errors), 1)[0]
    assert slope > 0.95  # measured: 1.28


@pytest.mark.parametrize(("name", "t_end", "bound"), [("heavy-top", 0.1, 1e-8), ("four-bar-spatial", 1.0, 1e-9)])
def test_index_3_of_quaternions_leaves_velocities_alone(name, t_end, bound):
    """Projecting velocities too, as before, gave 5e-5 and 9e-7; without any, 7e-10 and 9e-11."""
    problem = problems.get(name)
    sol = simulate(problem, t_end, integrator=Radau(), formulation=Index3(), rtol=1e-8, atol=1e-11)
    exact = simulate(problem, t_end, rtol=1e-12, atol=1e-13)
    assert sol.plan.choice.stabilization == Projection(on="positions")
    assert abs(sol.q[-1] - exact.q[-1]).max() < bound  # measured: 1.5e-9 and 8e-11
    assert largest(sol, "position") < TOL
    for label in sol.plan.model.invariant_labels:
        assert abs(sol.drift[label]).max() < 1e-12


def test_bdf_of_index_3_pulls_positions_only_where_there_are_invariants():
    top, plane = problems.get("heavy-top"), problems.pendulum()
    assert simulate(top, 0.01, integrator=BDF(), formulation=Index3()).plan.choice.stabilization.on == "positions"
    assert simulate(plane, 0.1, integrator=BDF(), formulation=Index3()).plan.choice.stabilization.acts == "none"


def test_projection_of_positions_says_what_it_is_for():
    with pytest.raises(BadArgument, match="leave D= and at= out"):
        Projection(on="positions", at="new")
    assert repr(Projection(on="positions")) == "Projection(on='positions')"
    assert Projection(on="positions") != Projection()
    with pytest.raises((BadArgument, IncompatibleMethods)):
        simulate(problems.get("rolling-disk"), 0.1, stabilization=Projection(on="velocities"))
