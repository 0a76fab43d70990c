"""What is said when a run has to stop, and that everything up to there is kept."""

import re

import numpy as np
import pytest

from holonomic import GGL, RK4, RK23, RK45, Baumgarte, Event, Ode, PostStabilization, Projection, System, problems, simulate
from holonomic.errors import IncompatibleMethods, SingularMass, SingularPosition, StepFailed, StiffnessWarning

G = 9.81
ROD = {"rod": lambda q: q @ q - 1}


def stopped(kind, system, t_end, **more):
    with pytest.raises(kind) as caught:
        simulate(system, t_end, **more)
    sol = caught.value.solution
    assert sol.ended == "failed"
    assert len(sol.t) > 1 and np.all(np.isfinite(sol.t)) and np.all(np.isfinite(sol.q))
    return str(caught.value), sol


def over_stretched():
    """An elbow whose hand is led away: both arms are in line at t = 0.5, and there is no way on."""
    arm = System(
        mass=np.eye(2), force=[0, -G],
        constraint={"upper arm": lambda q: q @ q - 1, "forearm": lambda t, q: (q[0] - 1.5 - t) ** 2 + q[1] ** 2 - 1},
        coordinates=["elbow x", "elbow y"],
    )  # fmt: skip
    x, y = 0.75, np.sqrt(1 - 0.75**2)
    v0 = np.linalg.solve([[2 * x, 2 * y], [2 * (x - 1.5), 2 * y]], [0, 2 * (x - 1.5)])
    return arm, {"q0": [x, y], "v0": v0}


FELL = (
    r"the step fell to \d\.\de-1\d at t = 0\.5\. The largest error is in [qv]\[[01]\] \('elbow [xy]'\) and λ grew a millionfold "
    r"in \d+ steps: the mechanism is near a singular position\. See error\.solution\."
)
LOST = (
    r"singular position at t = 0\.5: the row of '(upper arm|forearm)' becomes a combination of the others \(smallest singular "
    r"value of the scaled G \d\.\de-\d\d\)\. Multipliers are not defined there\. See error\.solution\."
)


@pytest.mark.parametrize(
    "more", [{}, {"integrator": RK45()}, {"integrator": RK23()}, {"stabilization": PostStabilization()}, {"rtol": 1e-9}]
)
def test_a_dead_end_is_called_a_singular_position(more):
    arm, start = over_stretched()
    text, sol = stopped(StepFailed, arm, 1.0, **start, **more)
    # which of the two comes first, the smallest step or the smallest pivot, is decided by rounding
    assert re.fullmatch(FELL, text) or re.fullmatch(LOST, text), text
    assert np.isclose(sol.t[-1], 0.5, atol=1e-6)


@pytest.mark.parametrize("slope", [0.0, 0.5])  # λ stays zero, or grows in proportion to the force
def test_a_force_without_bounds_is_not_called_a_singular_position(slope):
    falling = System(mass=np.eye(2), force=lambda q: [0, -1 / (q[1] + 1) ** 2], constraint={"wall": lambda q: q[0] - slope * q[1]})
    text, _ = stopped(StepFailed, falling, 10.0, q0=[0, 0], v0=[0, 0])
    assert "singular position" not in text and "λ grew" not in text
    assert re.search(r"in v\[[01]\]\. The force has grown \de\+\d\d times since the start", text), text


def test_a_run_that_drifts_until_it_bursts_is_told_what_keeps_it():
    pendulum = System(mass=np.eye(2), potential=lambda q: G * q[1], constraint=ROD)
    text, _ = stopped(StepFailed, pendulum, 60.0, q0=[1, 0], v0=[0, 0], integrator=RK4(), step=0.05, stabilization=None)
    assert re.fullmatch(
        r"the run stopped at t = [\d.]+: the state grew from 1\.0e\+00 to \d\.\de\+\d+: RK4\(\) with step 0\.05 is unstable here, "
        r"and nothing keeps the constraints\. Use stabilization=Projection\(\), or a smaller step\. See error\.solution\.",
        text,
    ), text


def test_the_step_is_said_to_fall_where_the_multipliers_grow():
    # at one of these tolerances at least the step falls before the last pivot does
    arm, start = over_stretched()
    texts = [stopped(StepFailed, arm, 1.0, **start, rtol=rtol)[0] for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)]
    assert any(re.fullmatch(FELL, text) for text in texts)


def test_a_fixed_step_that_ends_near_a_singular_position():
    arm, start = over_stretched()
    text, sol = stopped(StepFailed, arm, 1.0, **start, integrator=RK4(), step=1e-3)
    assert "near a singular position" in text
    assert np.isclose(sol.t[-1], 0.5, atol=2e-3)


def test_a_solution_that_grows_beyond_all_bounds():
    text, sol = stopped(StepFailed, Ode(lambda y: y**2), 2.0, y0=[1.0])
    assert text.startswith("the step fell to ")
    assert text.endswith(
        " at t = 1. The largest error is in y[0]. The solution may have a singularity there, or rhs() a jump; see error.solution."
    )
    assert np.isclose(sol.t[-1], 1.0, atol=1e-6)


def test_a_mass_matrix_that_becomes_singular_on_the_way():
    # two coordinates that become one and the same at t = 1
    merging = System(mass=lambda t: np.array([[1.0, t], [t, 1.0]]), force=[1.0, -1.0], coordinates=["x", "y"])
    text, sol = stopped((SingularMass, StepFailed), merging, 2.0, q0=[0, 0], v0=[0, 0])
    assert "the mass matrix is singular on the tangent space: " in text
    assert text.endswith(" can move and has no mass. Give it mass, or a constraint that fixes it. See error.solution.")
    assert np.isclose(sol.t[-1], 1.0, atol=1e-6)


def test_max_steps():
    pendulum = System(mass=np.eye(2), force=[0, -G], constraint=ROD)
    text, sol = stopped(StepFailed, pendulum, 100.0, q0=[1, 0], v0=[0, 0], max_steps=20)
    start, _, rest = text.partition(" at t = ")
    assert start == "max_steps = 20 steps were used up"
    assert rest.startswith(f"{sol.t[-1]:.6g} of 100 (last step ")
    assert rest.endswith("). Raise max_steps, or loosen rtol. See error.solution.")
    assert len(sol.t) <= 21


def test_max_steps_counts_over_the_breaks_of_inputs():
    pushed = Ode(lambda u: np.array([u.push]), inputs={"push": (np.arange(100.0), np.arange(100.0) % 2)})
    text, sol = stopped(StepFailed, pushed, 99.0, y0=[0.0], max_steps=50)
    assert "max_steps = 50 steps were used up" in text
    assert sol.stats["steps"] + sol.stats["rejected"] <= 50


def test_failures_keep_the_events_so_far():
    pendulum = System(mass=np.eye(2), force=[0, -G], constraint=ROD)
    _, sol = stopped(StepFailed, pendulum, 100.0, q0=[1, 0], v0=[0, 0], max_steps=60, events={"bottom": Event(lambda q: q[0])})
    assert len(sol.events["bottom"].t) == np.sum(np.diff(np.sign(sol.q[:, 0])) != 0) > 1


def test_failures_keep_the_last_state_between_saved_times():
    sol = stopped(StepFailed, Ode(lambda y: y**2), 2.0, y0=[1.0], save_at=[0.0, 0.5, 0.9, 1.5])[1]
    assert sol.t.tolist() == [0.0, 0.5, 0.9]
    assert np.isclose(sol.end.t, 1.0, atol=1e-6)
    assert np.allclose(sol.y[:, 0], 1 / (1 - sol.t), rtol=1e-5)


def test_a_singular_position_is_named_where_multipliers_are_not_defined():
    # without a stabilization the row of four-bars creeps off its branch and into a flat position
    row = problems.four_bars(2)
    with pytest.raises((SingularPosition, StepFailed)) as caught:
        simulate(row, rtol=1e-10, stabilization=None)
    text = str(caught.value)
    assert "singular position" in text or "the step fell to" in text
    if isinstance(caught.value, SingularPosition):
        assert "becomes a combination of the others (smallest singular value of the scaled G " in text


def test_stiffness_is_said_once_and_the_result_is_right():
    relaxing = Ode(lambda y: -1e5 * (y - 1))
    with pytest.warns(StiffnessWarning, match=r"limited by stability, not accuracy, since t = 0\.0\d+.*RK45"):
        sol = simulate(relaxing, 0.1, y0=[0.0], integrator=RK45())
    assert np.allclose(sol.y[-1], 1.0, atol=1e-5)


def test_stabilization_without_anything_to_keep():
    with pytest.raises(IncompatibleMethods) as caught:
        simulate(Ode(lambda y: -y), 1.0, y0=[1.0], stabilization=Projection())
    assert str(caught.value) == (
        "Projection() has nothing to pull back to: the system has no constraints and no invariants. Pass stabilization=None."
    )


def test_baumgarte_too_strong_for_the_step():
    pendulum = System(mass=np.eye(2), force=[0, -G], constraint=ROD)
    with pytest.raises(IncompatibleMethods) as caught:
        simulate(pendulum, 1.0, q0=[1, 0], v0=[0, 0], integrator=RK4(), step=0.1, stabilization=Baumgarte(alpha=20))
    assert str(caught.value) == (
        "Baumgarte with α h = 2 > 1 is unstable with an explicit integrator. Use alpha <= 10, a smaller step, or "
        "stabilization=Projection()."
    )


def test_formulation_and_integrator_that_do_not_fit():
    pendulum = System(mass=np.eye(2), force=[0, -G], constraint=ROD)
    with pytest.raises(IncompatibleMethods) as caught:
        simulate(pendulum, 1.0, q0=[1, 0], v0=[0, 0], integrator=RK4(), step=0.01, formulation=GGL())
    assert str(caught.value) == (
        "RK4 integrates ODEs, but GGL() leaves algebraic unknowns. With GGL() use Radau or BDF; to keep RK4 use "
        "formulation=Index1()."
    )
