"""What is said when a run cannot start: initial values, rank, mass."""

import numpy as np
import pytest

from holonomic import System, problems, simulate
from holonomic.errors import InconsistentState, NotFinite, RedundantConstraints, SingularMass, SingularPosition

G = 9.81


def point(**more):
    return System(**{"mass": np.eye(2), "force": [0, -G], **more})


def message(kind, system, q0, v0, **more):
    with pytest.raises(kind) as caught:
        simulate(system, 1.0, q0=q0, v0=v0, **more)
    return str(caught.value)


def test_position_off_a_constraint():
    loop = point(constraint={"loop x": lambda q: q @ q - 1})
    assert message(InconsistentState, loop, [1.03, 0], [0, 0]) == (
        "q0 misses constraint 'loop x' by 3.0e-02 (allowed 1.0e-10). Correct q0, or pass initial=\"project\" to move q0 "
        "by about 3.0e-02."
    )


def test_the_remedy_for_a_position_off_a_constraint_works():
    loop = point(constraint={"loop x": lambda q: q @ q - 1})
    sol = simulate(loop, 0.1, q0=[1.03, 0], v0=[0, 0], initial="project")
    assert np.allclose(sol.q[0], [1, 0], atol=1e-12)


def test_the_distance_does_not_depend_on_the_units_of_the_constraint():
    micro = point(constraint={"loop": lambda q: 1e-12 * (q @ q - 1)})
    assert message(InconsistentState, micro, [1.03, 0], [0, 0]).startswith("q0 misses constraint 'loop' by 3.0e-02 ")


def test_position_that_cannot_be_projected_either():
    nowhere = point(constraint={"nowhere": lambda q: q @ q + 1})
    assert message(InconsistentState, nowhere, [1, 0], [0, 0]) == (
        "q0 misses constraint 'nowhere' by 1.0e+00 (allowed 1.0e-10). Correct q0: projecting it does not converge either."
    )


def test_velocity_off_a_constraint():
    rod = point(constraint={"rod": lambda q: q @ q - 1})
    assert message(InconsistentState, rod, [1, 0], [0.1, 2.0]) == (
        "v0 misses the velocity level of constraint 'rod' by 1.0e-01 (allowed 2.0e-10). Correct v0, or pass "
        'initial="project" to move v0 by about 1.0e-01.'
    )


def test_multipliers_off_the_acceleration_level():
    rod = point(constraint={"rod": lambda q: q @ q - 1})
    assert message(InconsistentState, rod, [0, -1], [0, 0], lam0=[1.0]) == (
        "lam0 misses the acceleration level: 'rod' needs 4.905, given 1. Leave lam0 out; it is computed."
    )


def test_redundant_rows_by_name():
    twice = point(constraint={"slider, y": lambda q: q[1], "hinge B, y": lambda q: 2 * q[1]})
    assert message(RedundantConstraints, twice, [1, 0], [0, 0]) == (
        "at t = 0 the constraint Jacobian has rank 1 of 2: 'hinge B, y' repeats 'slider, y'. Remove one, or pass "
        'redundant="minimum-norm" (reactions of these two are then not unique).'
    )


def test_a_row_that_is_made_of_several_others():
    three = System(
        mass=np.eye(3), force=[0, 0, 0], constraint={"a": lambda q: q[0], "b": lambda q: q[1], "sum": lambda q: q[0] + 2 * q[1]}
    )
    text = message(RedundantConstraints, three, [0, 0, 0], [0, 0, 0])
    # which of the three is called redundant depends on the pivots; all three are named
    assert " repeats a combination of " in text
    assert "rank 2 of 3" in text and "reactions of these 3 are then not unique" in text
    assert all(f"'{name}'" in text for name in ("a", "b", "sum"))


def test_singular_start_is_not_called_redundant():
    # a row of four-bars lying flat: rank 3 of 5 there, 5 everywhere around
    flat = problems.four_bars(2)
    q0 = [1, 0, 2, 0, 3, 0]
    assert message(SingularPosition, flat.system, q0, np.zeros(6)) == (
        "the start is a singular position: the constraint Jacobian has rank 3 of 5 there, but 5 nearby. Start from "
        "another position, for example a little further along the motion."
    )


def test_constraint_whose_gradient_vanishes_where_it_holds():
    squared = point(constraint={"rod": lambda q: (np.sqrt(q @ q) - 1) ** 2})
    expected = (
        "the gradient of constraint 'rod' vanishes where the constraint holds ({} at the start, 2.2e-02 nearby), so "
        "its force has no direction. Write it so that it crosses zero, for example |d| - L instead of (|d| - L)**2."
    )
    assert message(SingularPosition, squared, [1, 0], [0, 0]) == expected.format("0.0e+00")
    # neither rounding in q0 nor a projection hides it
    assert message(SingularPosition, squared, [1 + 1e-12, 0], [0, 0]) == expected.format("2.0e-12")
    assert "vanishes where the constraint holds" in message(SingularPosition, squared, [1.1, 0], [0, 0], initial="project")


def test_mass_that_is_not_symmetric():
    skew = System(mass=[[1, 0.2], [0, 1]], force=[0, 0])
    assert message(SingularMass, skew, [1, 0], [0, 0]) == (
        "the mass matrix is not symmetric: M[0,1] = 0.2, M[1,0] = 0 at q = [1., 0.]. Correct mass()."
    )


def test_mass_that_is_singular_on_the_tangent_space():
    expected = (
        "at t = 0 the mass matrix is singular on the tangent space: {} can move and has no mass. Give it mass, or a "
        "constraint that fixes it."
    )
    assert message(SingularMass, System(mass=np.diag([1.0, 0]), force=[0, 0]), [1, 0], [0, 0]) == expected.format("q[1]")
    named = System(mass=np.diag([1.0, 0, 0]), force=[0, 0, 0], constraint={"fixed": lambda q: q[1]}, coordinates=["x", "y", "z"])
    assert message(SingularMass, named, [0, 0, 0], [1, 0, 0]) == expected.format("z")


def test_massless_coordinates_that_constraints_fix_are_fine():
    fixed = System(mass=np.diag([1.0, 0.0]), force=[2.0, 0.0], constraint={"fixed": lambda q: q[1]})
    assert np.allclose(simulate(fixed, 1.0, q0=[0, 0], v0=[0, 0]).q[-1], [1.0, 0.0])


def test_negative_mass():
    assert message(SingularMass, System(mass=np.diag([1.0, -1.0]), force=[0, 0]), [1, 0], [0, 0]) == (
        "at t = 0 the mass matrix is not positive definite: q[1] can move, and the mass of that motion is -1.0e+00 of "
        "its size. Correct mass()."
    )


def test_missing_velocity_in_a_kinetic_energy():
    half = System.from_energies(lambda v: v[0] ** 2 / 2, coordinates=["x", "y"])
    assert "y can move and has no mass" in message(SingularMass, half, [0, 0], [0, 0])


def test_a_constraint_that_is_nan_at_the_start_of_a_known_model():
    curve = point(constraint={"curve": lambda q: q[1] - np.log(q[0])})
    simulate(curve, 0.01, q0=[1, 0], v0=[0, 0])
    assert message(NotFinite, curve, [-1.0, 0], [0, 0]) == ("constraint 'curve' is not finite at the start, t = 0, q = [-1.  0.].")


def test_a_projection_says_which_coordinates_are_in_the_way():
    rod = point(constraint={"rod": lambda q: q @ q - 1})
    assert message(InconsistentState, rod, [2.0, 0], [0, 0], initial="project", hold=[0]) == (
        "q0 cannot be moved onto the constraints with the held coordinates (30 Gauss-Newton steps leave 'rod' at "
        "3.0e+00). Hold fewer coordinates, or start closer."
    )
    assert message(InconsistentState, rod, [1.0, 0], [1.0, 0], initial="project", hold=[0, 1]) == (
        "the velocity level of constraint 'rod' cannot be met with the held coordinates. Hold fewer."
    )
