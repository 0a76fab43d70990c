"""Problems out of bodies: references, and the same numbers as the equations written by hand."""

import warnings

import numpy as np
import pytest

from holonomic import RedundancyWarning, StiffnessWarning, problems, simulate
from holonomic.multibody.assemble import Kinematics
from holonomic.problems.delta_robot import delta_robot_mechanism, path, shoulder_angle
from holonomic.problems.from_bodies import jansen_mechanism
from holonomic.problems.jansen_walker import LEGS

FROM_BODIES = ["four-bar", "scotch-yoke", "peaucellier", "inline-engine", "heavy-top", "rolling-disk", "stewart-platform",
               "double-wishbone", "pendulum-from-bodies", "seven-body-from-bodies"]  # fmt: skip


@pytest.mark.parametrize("name", FROM_BODIES)
def test_a_run_meets_the_reference(name):
    problem = problems.get(name)
    sol = simulate(problem, rtol=1e-10, atol=1e-12)
    found = problem.digits(sol)
    # global errors exceed the tolerance per step by the stability of the motion, at most a few hundred times here
    assert found["q"] > 7.5
    assert found["v"] > 7.0


def test_the_spatial_four_bar_meets_the_planar_reference():
    problem = problems.four_bar_spatial(t_end=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundancyWarning)
        sol = simulate(problem, rtol=1e-10, atol=1e-12)
    assert problem.digits(sol)["q"] > 8.5


@pytest.mark.parametrize("name", [*FROM_BODIES, "four-bar-spatial", "four-bars-from-bodies"])
def test_start_and_exact_solution_agree(name):
    problem = problems.get(name)
    if problem.exact is None:
        assert problem.references
        return
    q, v = problem.exact(0.0)
    np.testing.assert_allclose(problem.q0, q, atol=1e-14)
    np.testing.assert_allclose(problem.v0, v, atol=1e-12)  # speeds up to 300


def test_the_pendulum_is_that_written_by_hand():
    by_hand, built = problems.pendulum_a01(), problems.pendulum_from_bodies()
    T = np.linspace(0, 3, 13)
    runs = [simulate(problem, 3.0, rtol=1e-13, atol=1e-14, save_at=T) for problem in (by_hand, built)]
    np.testing.assert_allclose(runs[1]["bob"].position, runs[0].q, atol=1e-10)
    tension = np.linalg.norm(runs[1]["rod"].force, axis=1)
    np.testing.assert_allclose(tension, np.abs(runs[0]["tension"]), atol=1e-10)


def test_the_row_of_four_bars_is_that_written_by_hand():
    by_hand, built = problems.four_bars(2), problems.four_bars_from_bodies(2)
    T = np.linspace(0, 0.6, 7)  # up to the first singular position at 0.71 s
    runs = [simulate(problem, 0.6, rtol=1e-13, atol=1e-14, save_at=T) for problem in (by_hand, built)]
    np.testing.assert_allclose(runs[1]["B1 left"].place, runs[0].q[:, 2:4], atol=1e-10)


def test_the_row_of_four_bars_passes_its_singular_positions():
    problem = problems.four_bars_from_bodies(2)
    sol = simulate(problem, rtol=1e-6, atol=1e-8)
    assert problem.digits(sol)["q"] > 3.5  # ten passages, each of which costs accuracy


def test_the_seven_body_mechanism_is_that_written_by_hand():
    by_hand, built = problems.seven_body(), problems.seven_body_from_bodies()
    runs = [simulate(problem, rtol=1e-13, atol=1e-14, save_at=[0.01, 0.02, 0.03]) for problem in (by_hand, built)]
    angle = {k: runs[1][f"K{k}"].angle for k in range(1, 8)}
    seven = np.stack(
        [angle[1], angle[2] - angle[1], angle[3], angle[4] - angle[5], angle[5], angle[6] - angle[7], angle[7]], axis=-1
    )
    np.testing.assert_allclose(seven, runs[0].q, atol=1e-10)
    # the three branches' forces on the coupler at E
    together = -(runs[1]["E3"].force + runs[1]["E4"].force + runs[1]["E6"].force)
    np.testing.assert_allclose(together, runs[0]["force at E"], rtol=1e-8)


def test_the_tip_of_peaucelliers_linkage_moves_on_a_line():
    sol = simulate(problems.peaucellier())
    x, y = sol["tip"].position.T
    assert np.ptp(x) < 1e-9
    assert np.ptp(y) > 0.7


def test_jansens_leg_is_that_written_by_hand():
    by_hand, built = problems.jansen(), jansen_mechanism()
    T = np.linspace(0, 0.5, 6)
    runs = [simulate(problem, 0.5, rtol=1e-11, atol=1e-12, save_at=T) for problem in (by_hand, built)]
    np.testing.assert_allclose(runs[1]["tip"].position, runs[0]["foot"], atol=1e-9)
    np.testing.assert_allclose(runs[1]["axle 1"].speed, runs[0]["crank speed"], atol=1e-8)


def test_the_legs_of_the_stewart_platform_carry_its_weight_and_inertia():
    sol = simulate(problems.stewart_platform(), save_at=11)
    total = sum(sol[f"leg {number}"].force for number in range(1, 7))
    np.testing.assert_allclose(total[:, 2], 50.0 * (9.81 + sol["platform"].acceleration[:, 2]), rtol=1e-9)
    np.testing.assert_allclose(total[:, :2], 0.0, atol=1e-8)


def test_the_first_order_forces_of_the_engine_balance():
    sol = simulate(problems.inline_engine(), 0.1, rtol=1e-9, save_at=np.linspace(0, 2 * np.pi / 300, 65)[:-1])
    shaking = np.fft.rfft(sol["main"].force[:, 1] + sum(sol[f"bore {n}"].force[:, 1] for n in range(1, 5)))
    # the pistons move by cos φ and r/(4 l) cos 2φ: opposite pairs cancel the first and add the second
    assert np.abs(shaking[1]) < 1e-6 * np.abs(shaking[2])


def test_the_walker_walks_upright_and_its_feet_carry_it():
    problem = problems.jansen_walker()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffnessWarning)  # feet that stand are stiff
        sol = simulate(problem, rtol=1e-8)
    found = problem.digits(sol)
    assert found["q"] > 6.0  # feet strike and leave: not smooth
    assert np.abs(sol["chassis"].angle).max() < 0.03
    assert sol["chassis"].position[-1, 0] > 2.6
    feet = [f"{name} foot" for name in LEGS]
    even = sol(np.linspace(2.0, 5.0, 3001))  # after the start, about one turn of the crank
    lift = sum(even[foot].force[:, 1] for foot in feet)
    weight = 9.81 * sum(value for name, value in even.plan.model.system.params.items() if name.endswith(".mass"))
    assert np.mean(lift) == pytest.approx(weight, rel=0.01)  # it neither rises nor falls for long
    assert min(np.min(even[foot].force[:, 1]) for foot in feet) >= 0.0


def test_the_delta_robot_has_three_freedoms_limits_and_meshes():
    m = delta_robot_mechanism()
    found = m.mobility()
    assert (found.dof, found.rank, found.redundant) == (3, 39, {})
    assert m.limits["shoulder 2"] == {"lower": -0.6, "upper": 1.4, "effort": 40.0, "velocity": 12.0}
    assert [shape.kind for shape in m["platform"].shapes] == ["mesh"]
    assert m.assembly.moved < 1e-12  # the file is drawn closed


def test_the_closed_form_of_the_delta_robot_meets_every_joint():
    problem = problems.delta_robot()
    m, (q, v) = delta_robot_mechanism(), problem.exact(0.7)
    k = Kinematics(m)
    assert np.abs(k.residual(0.0, q)).max() < 1e-13
    assert np.abs(k.jacobian(0.0, q) @ v).max() < 1e-11  # v by differences of sixth order
    limits = m.limits["shoulder 1"]
    angles = shoulder_angle(1)(np.linspace(0, 2, 200))
    assert limits["lower"] < angles.min() < angles.max() < limits["upper"]


@pytest.mark.slow
def test_the_delta_robot_follows_its_circle_and_its_motors_pay_for_it():
    """Slow: 45 000 operations are compiled, once."""
    problem = problems.delta_robot()
    sol = simulate(problem, rtol=1e-10, atol=1e-12, save_at=601)
    found = problem.digits(sol)
    assert found["q"] > 11
    np.testing.assert_allclose(sol["platform"].position, np.array([path(t) for t in sol.t]), atol=1e-10)
    power = sum(sol[f"shoulder {leg} drive"].power for leg in (1, 2, 3))
    change = np.gradient(sol["energy"].total, sol.t, edge_order=2)
    np.testing.assert_allclose(power[1:-1], change[1:-1], atol=1e-3 * np.abs(power).max())  # differences of order 2
