"""The automatic choice: what it sees, what it takes, and that nothing is lost where it changes its mind."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from holonomic import BDF, DOP853, GGL, RK4, RK45, BadArgument, Event, Ode, Radau, System, diagnose, load, problems, simulate
from holonomic.automatic.indicators import indicators_at
from holonomic.cli.main import app
from holonomic.errors import NO_CONVERGENCE, StepFailed
from holonomic.multibody import Mechanism, rod
from holonomic.planning import words
from holonomic.planning.reuse import model_of
from holonomic.running.run import Run


def indicators(problem, **options):
    q = np.array(problem.q0 if problem.y0 is None else problem.y0, dtype=float)
    v = np.array(problem.v0 if problem.y0 is None else (), dtype=float)
    model = model_of(problem.system, q, v, 0.0)
    return indicators_at(model, 0.0, np.concatenate([q, v]), model.data(), longest=problem.t_end, **options)


def relaxing(rate=1e4):
    """A point on a circle in a bath so thick that its speed follows the torque, switched on after half a second."""
    return System(
        mass=np.eye(2),
        force=lambda t, q, v, p: np.array([-q[1], q[0]]) - (1.0 + np.tanh(50 * (t - 0.5))) / 2 * p.rate * v,
        constraint={"rod": lambda q: q @ q - 1},
        params={"rate": rate},
    )


START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


# eigenvalues of [ascher-petzold-1993]: -nu/(2 - t) for examples 2 and 3 with c = 1, -nu² for example 4
@pytest.mark.parametrize(
    ("problem", "rate"),
    [
        (problems.index2_pair(nu=1000.0), 500.0),
        (problems.heterogeneous_masses(nu=1000.0), 500.0),
        (problems.rapid_constraint(nu=100.0), 1e4),
    ],
    ids=["example 2", "example 3", "example 4"],
)
def test_fastest_decay_is_that_of_the_paper(problem, rate):
    assert indicators(problem).damped == pytest.approx(rate, rel=0.01)  # frozen coefficients: 1/nu beside the paper's


def test_first_look_agrees_with_all_eigenvalues():
    for problem in (problems.suspension(), problems.spring_pendulum(k=1e8, c=1e4), problems.spring_pendulum()):
        first = simulate(problem, problem.t_end / 4).plan.solution.trail.story.first
        every = indicators(problem)
        assert first.fastest == pytest.approx(abs(every.fastest), rel=0.02)
        assert first.real == pytest.approx(every.fastest.real, rel=0.02, abs=1e-4 * first.fastest)


def test_a_free_spring_oscillates_with_its_own_frequency():
    found = indicators(problems.spring_pendulum(k=1e6))
    # the upper mass is held along the spring by the rod, so that the lower one swings alone: sqrt(k/m)
    assert found.oscillating == pytest.approx(1e3, rel=0.01) and found.damped < 1e-3


def test_constraint_rates_of_heterogeneous_masses():
    found = indicators(problems.heterogeneous_masses(nu=1000.0))
    # F C' = B (C B)⁻¹ C', B = (2 + t)((2 - t) nu, nu - 1), C B = 4 - t², C' = (0, 1): at t = 0, |B|/2 · ...
    F = 2.0 * np.array([2000.0, 999.0]) / 4.0
    assert found.explicit == pytest.approx(np.linalg.norm(F), rel=1e-3)
    assert found.projected == pytest.approx(np.linalg.norm([1, -2]) / 5.0, rel=1e-3)
    assert found.angle > 89.0 and found.masses > 1e6


def test_smooth_motion_keeps_the_explicit_method():
    for problem in (problems.pendulum_a01(), problems.slider_crank(), problems.kepler()):
        sol = simulate(problem)
        assert isinstance(sol.plan.choice.integrator, DOP853) and not sol.plan.solution.trail.story.changes


@pytest.mark.parametrize(
    "problem",
    [problems.heterogeneous_masses(nu=1000.0), problems.rapid_constraint(nu=1000.0), problems.index2_pair(nu=1000.0)],
    ids=lambda p: p.name,
)
def test_a_stiff_start_is_given_to_an_implicit_method(problem):
    sol = simulate(problem)
    assert isinstance(sol.plan.choice.integrator, BDF if problem.name == "rapid-constraint" else Radau)
    exact = problem.exact(problem.t_end)
    exact = np.concatenate(exact) if isinstance(exact, tuple) else exact
    x = np.concatenate([sol.end.q, sol.end.v])
    assert np.max(np.abs(x - exact) / np.maximum(1.0, np.abs(exact))) < 1e-5  # ten times rtol
    assert sol.stats["steps"] < 60  # 127 to 156 403 explicit ones


SMOOTH_AND_SHORT = [
    problems.rapid_pair(nu=1.0), problems.index2_pair(nu=1.0), problems.rapid_constraint(nu=1.0),
    problems.heterogeneous_masses(nu=1000.0, damping=2.0),
]  # fmt: skip


@pytest.mark.parametrize("problem", SMOOTH_AND_SHORT, ids=lambda problem: problem.name)
def test_the_error_of_a_short_run_follows_rtol(problem):
    rtols = 10.0 ** -np.arange(4.0, 11.0)
    errors = []
    for rtol in rtols:
        sol = simulate(problem, rtol=rtol, atol=1e-3 * rtol)
        assert sol.plan.choice.integrator == RK45() and "short" in sol.plan.why()
        exact = np.hstack(problem.exact(sol.t[-1])[:2])
        errors.append(np.abs(np.hstack([sol.end.q, sol.end.v])[: len(exact)] - exact).max())
    slope = np.polyfit(np.log(rtols), np.log(errors), 1)[0]
    assert 0.6 < slope < 1.3  # DOP853 in 2 to 6 steps: 0.1 to 0.5
    assert np.all(np.array(errors)[1:] < 3.0 * np.array(errors)[:-1])


def test_what_was_short_does_not_decide_about_the_next_run():
    problem = problems.pendulum_a01()
    long = simulate(problem, 5.0)
    assert simulate(problem, 0.1).plan.choice.integrator == RK45()
    again = simulate(problem, 5.0)
    assert again.plan.choice.integrator == DOP853() and np.array_equal(again.q, long.q)


def test_a_run_that_seemed_short_goes_on_with_the_usual_method():
    # at rest until t = 0.2, then it turns with 300 rad/s
    late = Ode(lambda t, y: 300.0 / (1.0 + np.exp(-100.0 * (t - 0.2))) * np.array([y[1], -y[0]]))
    sol = simulate(late, 1.0, y0=[1.0, 0.0])
    kinds = [type(change.choice.integrator) for change in sol.trail.story.changes]
    assert kinds == [DOP853] and "not as short as it seemed" in sol.plan.why()
    angle = 3.0 * (np.logaddexp(0.0, 100.0 * (sol.t - 0.2)) - np.logaddexp(0.0, -20.0))
    assert np.abs(sol.y - np.array([np.cos(angle), -np.sin(angle)]).T).max() < 1e-3  # 240 rad


def test_stiffness_met_on_the_way_changes_the_plan_and_loses_nothing():
    system = relaxing()
    sol = simulate(system, 1.5, **START)
    changes = sol.plan.solution.trail.story.changes
    assert [type(change.choice.integrator) for change in changes] == [Radau] and 0.4 < changes[0].t < 0.7
    reference = simulate(system, 1.5, **START, integrator=DOP853(), rtol=1e-10, atol=1e-12)
    assert np.all(np.diff(sol.t) > 0) and sol.t[0] == 0.0 and sol.t[-1] == 1.5
    assert sol.stats["steps"] == len(sol.t) - 1
    times = np.linspace(0, 1.5, 301)
    assert np.abs(sol(times).q - reference(times).q).max() < 1e-5  # ten times rtol
    seam = changes[0].t
    around = sol(seam + np.array([-1e-9, 0.0, 1e-9]))
    assert np.abs(np.diff(around.q, axis=0)).max() < 1e-8
    # λ is continuous across the seam although one side had it as an unknown and the other had not
    assert np.abs(np.diff(around.lam, axis=0)).max() < 1e-4
    assert np.abs(sol.drift["position"]).max() < 1e-8
    assert sol.lam.shape == (len(sol.t), 1) and sol.a.shape == (len(sol.t), 2)


def test_after_a_change_of_methods_everything_says_what_ran_when(tmp_path):
    sol = simulate(relaxing(), 1.5, **START)
    first, last = (repr(part.trail.plan.choice.integrator) for part in sol.trail.parts)
    t = f"{sol.trail.story.changes[0].t:.6g}"
    sol.save(tmp_path / "run.nc")
    for each in (sol, load(tmp_path / "run.nc")):
        before, changed, after = repr(each.plan).partition(f" until t = {t} s, then ")
        assert changed and f"Index1() + {first} + " in before and f" + {last} + " in after
        for told in (each.plan.why().replace("integrator: ", "integrator "), " ".join(str(each).split())):
            assert f"integrator {first}, " in told and told.index(first) < told.index(f" until t = {t} s, then {last}, ")
        began, went_on = each.provenance.changes
        assert began.startswith("from t = 0 s: ") and first in began
        assert went_on.startswith(f"from t = {t} s: ") and last in went_on
        assert f"{last} + " in str(each.provenance) and " at the end" in str(each.provenance)
    assert repr(sol(1.0).plan) == repr(sol.plan)


def test_of_many_changes_the_first_and_the_last_are_told():
    (start, *_), until = simulate(relaxing(), 1.5, **START).trail.parts, [1.0, 2.0, 3.0, 4.0]
    plans = [start.trail.plan, simulate(relaxing(), 0.1, **START, integrator=RK4(), step=0.01).plan] * 2
    last = simulate(relaxing(), 0.1, **START, integrator=RK45()).plan
    told = words.in_short(last, list(zip(plans, until, strict=True)))
    assert told == f"{start.trail.plan!r} until t = 1 s, then 3 more changes, then {last!r}"
    assert words.in_short(last, [(last, 1.0)]) == repr(last)


def test_the_limit_of_steps_is_the_one_that_was_asked_for_after_a_change_of_plan():
    before = simulate(relaxing(), 1.5, **START).trail.parts[0].stats
    most = before["steps"] + before["rejected"] + 3
    with pytest.raises(StepFailed, match=f"max_steps = {most} steps were used up"):
        simulate(relaxing(), 1.5, **START, max_steps=most)


def test_save_at_and_events_are_right_across_the_seam():
    system, times = relaxing(), np.linspace(0, 1.5, 151)
    events = {"up": Event(lambda q: q[1] - 0.1), "later": Event(lambda t: t - 1.0)}
    kept = simulate(system, 1.5, **START, save_at=times, events=events)
    assert len(kept.plan.solution.trail.story.changes) == 1 and np.array_equal(kept.t, times)
    reference = simulate(system, 1.5, **START, integrator=DOP853(), rtol=1e-10, atol=1e-12, events=events)
    assert np.abs(kept.q - reference(times).q).max() < 1e-5
    for name in events:
        assert kept.events[name].t == pytest.approx(reference.events[name].t, abs=1e-4)
        assert len(kept.events[name]) == 1 and kept.events[name].q.shape == (1, 2)
    assert kept(0.777).q == pytest.approx(reference(0.777).q, abs=1e-5)


def test_a_terminal_event_after_the_seam_ends_the_run():
    sol = simulate(relaxing(), 1.5, **START, events={"stop": Event(lambda t: t - 1.25, terminal=True)})
    assert sol.ended == "stop" and sol.end.t == pytest.approx(1.25, abs=1e-12) and sol.plan.solution.trail.story.changes


def test_a_joined_run_is_saved_and_told(tmp_path):
    sol = simulate(relaxing(), 1.5, **START)
    text = sol.plan.why()
    assert "change: at t = 0." in text and "stability, not accuracy, limits the step" in text and "1/s" in text
    assert "change" in repr(sol)
    sol.save(tmp_path / "run.nc")
    from holonomic import load

    again = load(tmp_path / "run.nc")
    assert np.array_equal(again.q, sol.q) and again.plan.why() == text
    assert "Radau" in again.plan.why()


def test_what_the_user_chose_is_never_overridden():
    problem = problems.rapid_constraint(nu=100.0)
    with pytest.warns(match="limited by stability"):
        sol = simulate(problem, integrator=DOP853())
    assert isinstance(sol.plan.choice.integrator, DOP853) and sol.trail.story is None


def test_why_tells_numbers_with_units():
    text = simulate(problems.heterogeneous_masses(nu=1000.0)).plan.why()
    assert "decays with 49" in text and "‖F C'‖ = 1.12e+03 1/s" in text and "largest over smallest mass 2.5e+07" in text


@pytest.mark.parametrize(
    ("name", "kind", "freedom", "index", "first"),
    [
        ("pendulum", "nonstiff", 1, 3, "DOP853"),
        ("suspension", "stiff", 3, 3, "ProjectedInvariants"),
        ("heterogeneous-masses", "variable-coefficient stiff", 1, 3, "ProjectedInvariants"),
        ("index-2-pair", "variable-coefficient stiff", 1, 2, "ProjectedInvariants"),
        ("rapid-pair", "rapid constraints", 1, 2, "ProjectedInvariants"),
        ("spring-pendulum", "oscillating", 3, 3, "DOP853"),
        ("kepler", "nonstiff", 4, 0, "DOP853"),
    ],
)
def test_diagnosis(name, kind, freedom, index, first):
    found = diagnose(problems.get(name))
    assert (found.kind, found.freedom, found.index) == (kind, freedom, index)
    assert first in found.recommended[0].method and found.recommended[0].source
    assert "recommended" in repr(found)


def test_a_mechanism_with_a_redundant_joint_is_diagnosed_by_name():
    m = Mechanism(gravity=(0, -9.81))
    bar = m.body("bar", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("pin", m.ground, bar, at=(0, 0))
    m.revolute("twin", m.ground, bar, at=(0, 0))
    found = diagnose(m)
    assert found.freedom == 1 and found.rank == 2 and len(found.rows) == 4
    assert any("twin" in label for label in found.redundant) and "twin" in repr(found)


def test_indicators_along_a_run_are_drawn():
    found = diagnose(problems.suspension(), t_end=0.02)
    t, along = found.along()
    assert t[-1] == 0.02 and all(each.damped > 1e4 for each in along)
    assert len(found.plot().axes) == 2


def test_diagnose_in_the_shell():
    runner = CliRunner()
    said = runner.invoke(app, ["diagnose", "suspension", "--json"])
    found = json.loads(said.stdout)
    assert said.exit_code == 0 and found["kind"] == "stiff" and found["indicators"]["damped"] > 1e4
    assert runner.invoke(app, ["diagnose", "pendulum"]).stdout.startswith("pendulum\nSystem with 1 degree of freedom")
    assert runner.invoke(app, ["diagnose", "nothing-like-it"]).exit_code == 2


def test_saved_times_of_a_stiff_start_are_all_there():
    problem, times = problems.heterogeneous_masses(nu=1000.0), np.linspace(0, 1, 11)
    sol = simulate(problem, save_at=times)
    assert np.array_equal(sol.t, times) and sol.q[:, 0] == pytest.approx(np.exp(times), rel=1e-5)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize(
    ("make", "t_end"),
    [(problems.pendulum, 500.0), (problems.double_pendulum, 200.0), (problems.four_bar, 100.0), (problems.heavy_top, 20.0)],
    ids=["pendulum", "double pendulum", "four-bar", "heavy top"],
)
def test_prefer_energy_keeps_it_within_rtol_to_the_end_of_a_long_run(make, t_end, rtol):
    sol = simulate(make(), t_end, prefer="energy", rtol=rtol, save_at=1000)
    assert np.abs(sol.energy_error).max() <= rtol
    # and not by brute force: the tolerance of order 8 costs a factor of 2 to 3, a symplectic step of order 2 hundreds
    usual = simulate(make(), t_end, rtol=rtol, save_at=1000)
    assert sol.stats["steps"] < 4 * usual.stats["steps"]
    assert "should stay within rtol" in sol.plan.why()


def test_prefer_energy_works_where_gravity_is_stated_as_a_force():
    falling = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    sol = simulate(falling, 100.0, q0=[1, 0], v0=[0, 0], prefer="energy")
    total = 0.5 * np.sum(sol.v**2, axis=1) + 9.81 * sol.q[:, 1]
    assert np.abs(total).max() < 1e-6 * 9.81 and sol.stats["steps"] < 5000
    assert "differed from a finer one's by" in sol.plan.why()


def test_prefer_energy_tells_when_rounding_stands_in_the_way():
    sol = simulate(problems.pendulum(), 200.0, prefer="energy", rtol=1e-13)
    assert "is all that can be had" in sol.plan.why() and sol.plan.choice.rtol == 1e-13


def test_prefer_energy_takes_over_what_is_said_about_the_start():
    apart = {"q0": [1.1, 0.0], "v0": [0.0, 0.0], "initial": "project"}
    sol = simulate(problems.pendulum().system, 5.0, **apart, prefer="energy")
    assert "trial of" in sol.plan.why() and np.abs(sol.energy_error).max() <= 1e-6


def test_prefer_accuracy_lowers_the_error():
    problem = problems.pendulum_a01()
    errors = []
    for prefer in ("speed", "accuracy"):
        sol = simulate(problem, prefer=prefer)
        errors.append(np.abs(sol.end.q - problem.reference().q).max())
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"prefer": "beauty"}, "choose 'speed', 'accuracy', 'energy'"),
        ({"prefer": "energy", "integrator": DOP853()}, "integrator= is given"),
        ({"prefer": "energy", "step": 0.1}, "step= is given"),
    ],
    ids=["unknown", "with an integrator", "with a step"],
)
def test_prefer_is_refused_where_it_contradicts(options, text):
    with pytest.raises(BadArgument, match=text):
        simulate(problems.pendulum(), 0.1, **options)


@pytest.mark.parametrize("prefer", ["speed", "accuracy", "energy"])
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rtol": -1}, "rtol=-1 must be a positive number"),
        ({"rtol": 0}, "rtol=0 must be a positive number"),
        ({"rtol": 2}, "rtol=2 must lie between 1e-14 and 1"),
        ({"rtol": True}, "rtol=True must be a positive number"),
        ({"rtol": "a"}, "rtol='a' must be a positive number"),
        ({"atol": -1}, "atol=-1 must be a positive number"),
        ({"atol": {"q": "x"}}, r"atol\['q'\]='x' must be a positive number"),
        ({"atol": {"nobody": 1e-3}}, r"atol\['nobody'\]: known are 'q', 'v'"),
    ],
)
def test_tolerances_beside_prefer_are_checked_as_they_were_given(prefer, options, text):
    with pytest.raises(BadArgument, match=text):
        simulate(problems.pendulum(), 0.1, prefer=prefer, **options)


def test_why_names_the_bound_that_decided_in_a_short_run():
    sol = simulate(problems.heterogeneous_masses(nu=100.0))
    assert isinstance(sol.plan.choice.integrator, Radau)
    # 20 for short runs, times 1.08 for four positions and velocities
    assert "worth an implicit method from 21.6 in a short run): too stiff for explicit steps\n" in sol.plan.why()
    assert "fits" not in sol.plan.why()


def test_an_open_integrator_fits_a_formulation_that_was_chosen():
    sol = simulate(problems.pendulum_a01(), 0.5, formulation=GGL())
    assert isinstance(sol.plan.choice.integrator, Radau) and sol.plan.choice.chosen == ("formulation",)
    assert "GGL(), as asked" in sol.plan.why()


def test_an_implicit_method_that_fails_hands_back_and_the_run_goes_on(monkeypatch):
    problem, go = problems.heterogeneous_masses(nu=1000.0), Run.go

    def failing(run, *arguments):
        if not isinstance(run.plan.choice.integrator, Radau):
            return go(run, *arguments)
        go(run, arguments[0], 5)
        return NO_CONVERGENCE

    monkeypatch.setattr(Run, "go", failing)
    sol = simulate(problem)
    kinds = [type(change.choice.integrator) for change in sol.trail.story.changes]
    assert kinds == [Radau, RK45] and "did not converge" in sol.plan.why()
    assert np.all(np.diff(sol.t) > 0) and sol.end.q == pytest.approx(np.exp([1.0, 1.0]), rel=1e-5)


@pytest.mark.parametrize("y0", [0.0, 1.0], ids=["with a transient", "at rest in the field"])
@pytest.mark.parametrize("rate", [300.0, 1000.0])
def test_moderate_stiffness_is_seen_at_the_start_or_on_the_way(rate, y0):
    # y' = -rate (y - cos t): stability asks explicit methods for 5000 steps and more
    sol = simulate(Ode(lambda t, y: np.array([-rate * (y[0] - np.cos(t))])), 100.0, y0=[y0])
    assert sol.stats["steps"] < 2000 and sol.trail.story.changes[0].t < 3.0
    steady = (rate**2 * np.cos(sol.t) + rate * np.sin(sol.t)) / (rate**2 + 1)
    exact = steady + (y0 - steady[0]) * np.exp(-rate * sol.t)
    assert np.abs(sol.y[:, 0] - exact).max() < 1e-5


def test_stiff_odes_are_right():
    # y' = -λ (y - cos t) - sin t, y = cos t: Prothero and Robinson; van der Pol with mu = 1000 jumps twice
    decay = Ode(lambda t, y: np.array([-1e6 * (y[0] - np.cos(t)) - np.sin(t)]))
    sol = simulate(decay, 10.0, y0=[1.0])
    assert np.abs(sol.y[:, 0] - np.cos(sol.t)).max() < 1e-5 and sol.stats["steps"] < 1000
    pol = Ode(lambda y: np.array([y[1], 1000.0 * (1 - y[0] ** 2) * y[1] - y[0]]))
    sol = simulate(pol, 2000.0, y0=[2.0, 0.0])
    # [HW96] Sec. IV.10: at t = 2000 y = 1.706167732170469, -0.8928097010248125e-3
    assert sol.end.y == pytest.approx([1.706167732170469, -0.8928097010248125e-3], rel=1e-4)
    assert isinstance(sol.trail.story.changes[0].choice.integrator, Radau) and sol.stats["steps"] < 5000


def test_a_run_backward_in_time_is_not_stiff_where_forward_it_decays():
    sol = simulate(problems.heterogeneous_masses(nu=1000.0).system, (0.0, -0.01), q0=[1.0, 1.0], v0=[1.0, 1.0])
    assert not sol.trail.story.changes and sol.end.q == pytest.approx(np.exp([-0.01, -0.01]), rel=1e-6)


def test_indicators_along_a_run_go_as_far_as_is_asked():
    found = diagnose(problems.pendulum(), 0.2)
    assert found.along()[0][-1] == 0.2
    assert found.along(0.1)[0][-1] == 0.1
    with pytest.raises(BadArgument, match=r"how far\? Pass t_end= to diagnose\(\) or to this call\."):
        diagnose(problems.pendulum().system, q0=[1, 0], v0=[0, 0]).along()


def test_what_grows_is_no_decay():
    spread = diagnose(Ode(lambda y: np.array([5.0 * y[0], -2.0 * y[1]])), 0.1, y0=[1.0, 1.0]).indicators
    assert (spread.growing, spread.damped, spread.oscillating) == pytest.approx((5.0, 2.0, 0.0), abs=1e-5)


def test_a_preference_for_accuracy_is_a_tenth_of_both_tolerances():
    choice = simulate(problems.pendulum(), 0.1, prefer="accuracy", rtol=1e-5, atol=1e-8).plan.choice
    assert (choice.rtol, choice.atol) == pytest.approx((1e-6, 1e-9))
