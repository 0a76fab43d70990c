"""Comparisons: the product of choices, references, reasons, tables and pictures."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from holonomic import (
    DOP853,
    RK4,
    RK45,
    BadArgument,
    Baumgarte,
    Heun,
    Ode,
    PostStabilization,
    Projection,
    S_both,
    S_both2,
    System,
    compare,
    problems,
    simulate,
    work_precision,
)
from holonomic.cli.compare import parts_of
from holonomic.cli.main import app
from holonomic.cli.methods import spelled
from holonomic.study.error_curves import crossing
from holonomic.study.reference import relative_error
from holonomic.study.table import Table, escape, short_name, show
from holonomic.view.study_plots import envelope


@pytest.fixture(scope="module")
def arm():
    """The two-link arm over a short time: four stabilizations, two steps."""
    return compare(
        problems.two_link_arm(t_end=5.0),
        integrator=RK4(),
        step=[2e-2, 1e-2],
        stabilization=[None, Baumgarte(alpha=10), S_both2(), Projection()],
    )


@pytest.fixture(scope="module")
def pendulum():
    return System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)


def test_every_combination_is_a_row_in_the_order_given(arm):
    assert [(row.stabilization, row.step) for row in arm] == [
        (name, step) for name in ("none", "Baumgarte(alpha=10)", "S_both2", "Projection") for step in (2e-2, 1e-2)
    ]
    assert all(row.ok and row.steps == round(5 / row.step) for row in arm)


def test_drift_and_error_fall_with_the_step_as_theory_says(arm):
    rows = {(row.stabilization, row.step): row for row in arm}
    # RK4 without stabilization: both of order 4; 12 to 20 for the factor 16 leaves room for the next term
    for column in ("error_q", "drift_position"):
        ratio = getattr(rows["none", 2e-2], column) / getattr(rows["none", 1e-2], column)
        assert 12 < ratio < 20
    # S_both2 leaves order 2(p+1) = 10: at roundoff, far below the unstabilized drift
    assert rows["S_both2", 1e-2].drift_position < 1e-13
    assert rows["Projection", 1e-2].drift_velocity < 1e-13
    assert rows["S_both2", 1e-2].error_q < rows["none", 1e-2].error_q


def test_error_is_that_of_the_problems_own_digits(arm):
    problem = problems.two_link_arm(t_end=5.0)
    for row in arm:
        assert -np.log10(row.error_q) == pytest.approx(problem.digits(row.solution)["q"], abs=1e-9)


def test_energy_error_is_relative_to_the_energy_that_moves(arm):
    row = arm[0]
    # the arm is conservative, so the change since the start is the error
    assert row.energy_error == pytest.approx(abs(row.solution.energy_error[-1]), rel=1e-6)


def test_stored_reference_is_named_in_the_table(arm):
    assert arm.reference.kind == "stored"
    assert "reference: the state of two-link-arm at t = 5" in repr(arm)


def test_own_system_gets_a_reference_by_two_independent_methods(pendulum):
    found = compare(pendulum, 2.0, q0=[1, 0], v0=[0, 0], rtol=[1e-5, 1e-8])
    assert found.reference.kind == "computed"
    # the mechanical pendulum is not chaotic: rtol 1e-12 leaves both runs ten digits
    assert found.reference.agreement < 1e-10
    assert "computed here by DOP853 + Projection at rtol 1e-12; RK45 + S_both2" in repr(found)
    assert found[1].error_q < found[0].error_q < 1e-3


def test_computed_reference_agrees_with_the_exact_solution():
    problem = problems.pendulum_a01(t_end=3.0)
    found = compare(problem.system, 3.0, q0=problem.q0, v0=problem.v0, rtol=1e-6)
    q, _ = problem.exact(3.0)
    assert np.abs(found.reference.q - q).max() < 1e-10


def test_changed_start_does_not_use_the_stored_reference():
    found = compare(problems.pendulum_a01(), 1.0, q0=[0, -1], v0=[0.1, 0], rtol=1e-6)
    assert found.reference.kind == "computed"


def test_what_does_not_apply_is_a_row_with_the_reason():
    found = compare(problems.pendulum_a01(t_end=1.0), integrator=[RK4(), RK45()], rtol=1e-6)
    assert not found[0].ok and found[1].ok
    assert found[0].reason.startswith("BadArgument: RK4 has no error estimate")
    assert "[1] BadArgument: RK4 has no error estimate" in repr(found)
    assert np.isnan(found[0].error_q) and found[0].steps is None


def test_run_that_blows_up_is_a_row_with_the_reason_and_what_it_reached():
    found = compare(problems.two_link_arm("II"), integrator=Heun(), step=0.01, stabilization=[None, S_both()])
    assert not found[0].ok and found[1].ok
    assert "the state grew from" in found[0].reason and "nothing keeps the constraints" in found[0].reason
    assert 8 < found[0].solution.t[-1] < 10  # printed as '*' in the paper's Table 6.2
    assert found.plot() is not None


def test_ode_is_compared_in_y_without_velocities():
    found = compare(problems.kepler(t_end=2 * np.pi), integrator=RK4(), step=0.01, stabilization=[None, Projection()])
    assert "error y" in found.table().columns and "error v" not in found.table().columns
    assert found[1].drift_position < found[0].drift_position
    assert np.isnan(found[0].energy_error)


def test_ode_without_invariants_is_compared_without_stabilization():
    spring = Ode(lambda y: np.array([y[1], -y[0]]))
    found = compare(spring, 1.0, y0=[1.0, 0.0], integrator=[RK4(), RK45()], step=0.1, stabilization=None)
    assert all(row.ok for row in found)
    assert found[1].error_q < found[0].error_q < 1e-5
    assert found.reference.text.startswith("computed here by DOP853 at rtol 1e-12")


def test_a_row_is_the_run_that_simulate_makes():
    """With the tolerances that are given, and its own where they are not."""
    given = {"integrator": [RK45()], "stabilization": S_both2()}
    for more in ({}, {"rtol": 1e-4}, {"rtol": 1e-9}, {"rtol": 1e-5, "atol": 1e-7}, {"atol": 1e-6}, {"step": 1e-2}):
        (row,) = compare(problems.pendulum_a01(t_end=0.2), **given, **more, repeat=1)
        sol = simulate(problems.pendulum_a01(t_end=0.2), integrator=RK45(), stabilization=S_both2(), **more)
        assert row.solution.plan.choice == sol.plan.choice
        assert np.array_equal(row.solution.q, sol.q)


def test_atol_follows_rtol():
    found = compare(problems.pendulum_a01(t_end=1.0), rtol=[1e-4, 1e-9])
    plans = [row.solution.plan for row in found]
    largest = [-plan.atol[:2].max() / plan.choice.share for plan in plans]  # below zero: shares of the size of the motion
    assert largest == pytest.approx([1e-7, 1e-12]) and all(plan.choice.atol is None for plan in plans)


def test_empty_list_is_refused():
    with pytest.raises(BadArgument, match="must not be empty"):
        compare(problems.pendulum_a01(t_end=1.0), integrator=[])


def test_dataframe_has_a_row_per_run_and_the_reasons(arm):
    frame = arm.to_dataframe()
    assert len(frame) == len(arm)
    assert {"integrator", "error_q", "drift_velocity", "reason"} <= set(frame.columns)


def test_latex_has_a_line_per_run_and_escaped_names(arm):
    text = arm.to_latex()
    assert text.count(r"\\") == len(arm) + 1
    assert r"S\_both2" in text and r"\cdot 10^{" in text


def test_html_escapes_what_users_write():
    shown = Table("<b>", ("a",), (("<script>",),)).html()
    assert "<script>" not in shown and "&lt;script&gt;" in shown


def test_picture_has_a_line_per_run_and_a_panel_per_level(arm, tmp_path):
    figure = arm.plot()
    assert [len(ax.lines) for ax in figure.axes] == [8, 8]
    assert all(ax.get_yscale() == "log" for ax in figure.axes)
    figure.savefig(tmp_path / "drift.png")
    assert len(arm.plot("velocity").axes) == 1
    with pytest.raises(BadArgument, match="no drift at level 'acceleration'"):
        arm.plot("acceleration")


def test_long_curves_are_drawn_by_their_largest_values():
    t, rows = np.linspace(0, 1, 5000), np.zeros((5000, 1))
    rows[1234] = -3.0
    _, drawn = envelope(t, rows, most=100)
    assert len(drawn) == 100
    assert drawn.max() == 3.0


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (None, "none"),
        ("auto", "auto"),
        (RK4, "RK4"),
        (DOP853(), "DOP853"),
        (Baumgarte(alpha=20), "Baumgarte(alpha=20)"),
        (Baumgarte(gains=(12, 70)), "Baumgarte(gains=(12.0, 70.0))"),
        (PostStabilization(), "S_both2"),
        (PostStabilization("both", 1), "S_both"),
        (PostStabilization("both", 3), "PostStabilization(sweeps=3)"),
        (Projection(metric="mass"), "Projection(metric='mass')"),
    ],
)
def test_short_name_leaves_out_defaults(method, name):
    assert short_name(method) == name


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (np.nan, ""), (0.0, "0"), (12, "12"), (0.0123, "0.0123"), (1.5e-7, "1.50e-07"), (np.inf, "inf")]
)
def test_cells_show_three_figures(value, text):
    assert show(value) == text


def test_escape_leaves_nothing_that_latex_would_read():
    assert escape("a_b & 5%") == r"a\_b \& 5\%"


def test_work_precision_gives_adaptive_methods_tolerances_and_the_others_steps():
    found = work_precision(
        problems.pendulum_a01(t_end=2.0), integrator=[RK45, RK4], stabilization=Projection(),
        rtol=[1e-4, 1e-7], step=[0.05, 0.02], repeat=1,
    )  # fmt: skip
    assert {name: [row.rtol or row.step for row in rows] for name, rows in found.curves().items()} == {
        "RK45": [1e-4, 1e-7],
        "RK4": [0.05, 0.02],
    }
    assert all(rows[0].error_q > rows[1].error_q for rows in found.curves().values())
    assert all(rows[0].evaluations < rows[1].evaluations for rows in found.curves().values())
    figure = found.plot()
    assert [len(ax.lines) for ax in figure.axes] == [2, 2]
    with pytest.raises(BadArgument, match="no cost 'money'"):
        found.plot(costs="money")


def test_cost_at_an_error_is_interpolated_between_runs():
    # error 1e-4 at cost 10 and 1e-8 at cost 1000: 1e-6 lies halfway in both logarithms
    assert crossing([1e-4, 1e-8], [10, 1000], 1e-6) == pytest.approx(100)
    assert np.isnan(crossing([1e-4, 1e-8], [10, 1000], 1e-9))


@pytest.fixture
def shell():
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


def test_shell_compares_lists_of_methods(shell, tmp_path):
    picture = tmp_path / "drift.png"
    result = shell(
        "compare", "pendulum-a01", "--integrator", "RK4,dop853", "--stabilization", "none,baumgarte:20,s_both2",
        "--step", "1e-2,5e-3", "--t-end", "1", "--json", "--picture", picture,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert len(rows) == 2 * 3 * 2
    assert rows[2]["stabilization"] == "Baumgarte(alpha=20)"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_shell_prints_the_table_and_fails_when_no_run_works(shell):
    result = shell("compare", "pendulum-a01", "--integrator", "RK4", "--rtol", "1e-6", "--t-end", "1")
    assert result.exit_code == 1
    assert "RK4 has no error estimate" in result.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--integrator", "RK5"], "no integrator is called 'RK5'"),
        (["--step", "a,b"], "must be numbers with commas between them"),
        (["--integrator", "RK4,,RK45"], "empty place between its commas"),
        (["--picture", "no/such/folder/x.png"], "there is no folder"),
    ],
)
def test_shell_refuses_what_cannot_be_meant(shell, words, text):
    result = shell("compare", "pendulum-a01", *words)
    assert result.exit_code == 2
    assert text in result.stderr


def test_commas_inside_brackets_do_not_part_methods():
    assert parts_of("none, Baumgarte(gains=(12, 70)),S_both2") == ["none", "Baumgarte(gains=(12, 70))", "S_both2"]
    assert spelled("baumgarte:20") == "baumgarte(20)"


def test_an_error_that_is_no_number_is_endless():
    assert relative_error([1.0, np.nan], [1.0, 1.0]) == np.inf
    assert relative_error([1.0, np.inf], [1.0, 1.0]) == np.inf
    assert relative_error([10.0, 0.5], [8.0, 0.0]) == 0.5  # beside what is known, or beside 1
