"""Studies over several problems and from several starts, and the bench for methods of one's own."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from holonomic import (
    DOP853,
    RK4,
    RK23,
    RK45,
    BadArgument,
    Baumgarte,
    Dae,
    GeneralizedAlpha,
    ImplicitMidpoint,
    Index2,
    Projection,
    System,
    WorkPrecisions,
    simulate,
    work_precision,
)
from holonomic.cli.main import app
from holonomic.integrators.runge_kutta import RungeKutta
from holonomic.integrators.tableaus import Tableau
from holonomic.problems import heavy_top, kepler, pendulum, two_link_arm
from holonomic.study.close_starts import starts_of
from holonomic.study.error_curves import over_starts
from holonomic.testing import bench

RTOL = [1e-4, 1e-6, 1e-8]


@pytest.fixture(scope="module")
def study():
    return work_precision(
        [pendulum(t_end=2.0), heavy_top(t_end=0.5), kepler(t_end=3.0)],
        integrator=[RK45(), DOP853(), RK4()], rtol=RTOL, steps=[50, 100, 200], starts=3, repeat=1,
    )  # fmt: skip


def test_every_problem_method_size_and_start_is_a_row(study):
    assert isinstance(study, WorkPrecisions) and list(study) == ["pendulum", "heavy-top", "kepler"]
    assert len(study.rows) == 3 * 3 * 3 * 3
    for one in study.values():
        assert {row.start for row in one} == {0, 1, 2} and all(row.ok for row in one)
        assert all((row.solution is not None) == (row.start == 0) for row in one)


def test_fixed_steps_are_shares_of_each_interval(study):
    for name, length in (("pendulum", 2.0), ("heavy-top", 0.5), ("kepler", 3.0)):
        found = {row.step for row in study[name] if row.integrator == "RK4"}
        assert found == {length / 50, length / 100, length / 200}


def test_first_start_is_the_given_one(study):
    alone = work_precision(heavy_top(t_end=0.5), integrator=DOP853(), rtol=RTOL, repeat=1)
    of_study = [row for row in study["heavy-top"] if row.start == 0 and row.integrator == "DOP853"]
    assert [row.error_q for row in alone] == [row.error_q for row in of_study]


def test_bands_are_medians_with_what_80_percent_have(study):
    rows = [row for row in study["kepler"] if row.integrator == "RK45" and row.rtol == 1e-6]
    errors = sorted(row.error_q for row in rows)
    band = study["kepler"].bands("error_q")
    label = next(label for label in band if label.startswith("RK45"))
    found = band[label][1]
    assert found.middle == errors[1] and errors[0] <= found.low < found.middle < found.high <= errors[2]
    assert errors[0] != errors[2]  # other starts, other errors


def test_what_fewer_than_half_of_the_starts_reach_is_not_known():
    assert np.isnan(over_starts([]).middle) and np.isnan(over_starts([None, np.nan]).low)
    study = work_precision(pendulum(t_end=2.0), integrator=RK45(), rtol=[1e-4, 1e-6], starts=2, repeat=1, max_steps=30)
    assert [row.ok for row in study] == [True, False] * 2
    (band,) = study.bands("error_q").values()
    assert np.isfinite(band[0].middle) and np.isnan(band[1].middle)
    assert "stopped" in study.table().columns


def test_costs_are_compared_with_the_best_on_each_problem(study):
    table = study.cost_at(1e-6, "evaluations")
    assert table.columns == ("method", "pendulum", "heavy-top", "kepler", "times the best", "reached")
    rows = {row[0]: row for row in table.rows}
    best = [min(row[k] for row in rows.values() if np.isfinite(row[k])) for k in (1, 2, 3)]
    for row in rows.values():
        ratios = [row[k] / best[k - 1] for k in (1, 2, 3) if np.isfinite(row[k])]
        assert row[5] == f"{len(ratios)} of 3"
        if ratios:
            assert row[4] == pytest.approx(np.prod(ratios) ** (1 / len(ratios)))
    with pytest.raises(BadArgument, match="cost='money'"):
        study.cost_at(1e-6, "money")


def test_threads_measure_the_same_errors():
    one, two = (
        work_precision([pendulum(t_end=2.0), kepler(t_end=3.0)], integrator=[RK45(), DOP853()], rtol=RTOL, starts=2,
                       repeat=1, workers=workers)
        for workers in (1, 2)
    )  # fmt: skip
    assert [row.error_q for row in one.rows] == [row.error_q for row in two.rows]
    assert all(row.seconds > 0 for row in two.rows)


def test_moved_starts_are_consistent_and_as_far_as_asked_for():
    from holonomic.arguments import GivenStart, opened

    problem = two_link_arm()
    here = opened("test", problem, None, GivenStart())
    starts = starts_of(problem, here, {}, 20, 1e-3, 0)
    assert starts[0] == {}
    moved = [np.max(np.abs(each["q0"] - here.q)) for each in starts[1:]]
    assert 1e-4 < np.median(moved) < 1e-2
    for each in starts[1:]:
        simulate(problem, 0.01, **each)  # an inconsistent one would be refused
    again = starts_of(problem, here, {}, 20, 1e-3, 0)
    assert all(np.array_equal(a["q0"], b["q0"]) for a, b in zip(starts[1:], again[1:], strict=True))
    other = starts_of(problem, here, {}, 20, 1e-3, 1)
    assert not np.array_equal(starts[1]["q0"], other[1]["q0"])


def test_quaternions_keep_their_length():
    from holonomic.arguments import GivenStart, opened

    problem = heavy_top()
    here = opened("test", problem, None, GivenStart())
    for each in starts_of(problem, here, {}, 4, 1e-2, 0)[1:]:
        np.testing.assert_allclose(each["q0"], here.q, atol=1e-9)
        assert not np.allclose(each["v0"], here.v, atol=1e-9)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"starts": 0}, "starts=0 must be a whole number, from 1 to 1000"),
        ({"starts": 2.5}, "starts=2.5"),
        ({"starts": 2, "spread": -1}, "spread"),
        ({"starts": 2, "seed": "x"}, "seed='x'"),
        ({"starts": 2, "initial": "free"}, "initial='free' goes with starts=1"),
        ({"workers": 0}, "workers=0"),
        ({"steps": [1.5]}, r"steps=1\.5 must be whole numbers"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, said):
    with pytest.raises(BadArgument, match=said):
        work_precision(pendulum(t_end=1.0), integrator=RK45(), rtol=[1e-4], **options)


def test_several_systems_bring_their_starts():
    system = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    with pytest.raises(BadArgument, match="each has to bring its start"):
        work_precision([system], 1.0)
    with pytest.raises(BadArgument, match="q0= is the start of one system"):
        work_precision([pendulum()], 1.0, q0=[1, 0], v0=[0, 0])
    with pytest.raises(BadArgument, match="there is no problem"):
        work_precision([], 1.0)
    with pytest.raises(BadArgument, match="two problems are called 'pendulum'"):
        work_precision([pendulum(), pendulum(t_end=1.0)])
    with pytest.raises(KeyError, match="'x' is not in this study; there is: short"):
        work_precision({"short": pendulum(t_end=0.1)}, integrator=RK45(), rtol=[1e-4], repeat=1)["x"]


def test_the_start_of_a_dae_is_not_moved():
    dae = Dae(order=1, f=lambda t: [np.cos(t)], B=[[1.0]], g=lambda t, x: x[0] - np.sin(t))
    with pytest.raises(BadArgument, match="of a Dae are tied by its equations"):
        work_precision(dae, 1.0, x0=[0.0], starts=2, integrator=RK45(), rtol=[1e-4])


def test_rows_are_written_with_every_digit(study, tmp_path):
    study.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["error_q"]) for row in rows] == [row.error_q for row in study.rows]
    assert rows[0]["step"] == "" and rows[0]["problem"] == "pendulum"
    assert len(study.to_dataframe()) == len(study.rows)
    with pytest.raises(BadArgument, match="there is no folder"):
        study.to_csv(tmp_path / "nowhere" / "runs.csv")


def test_picture_has_a_panel_per_problem_and_bands(study):
    figure = study.plot()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in shown] == list(study)
    assert all(len(ax.lines) == 3 and len(ax.collections) == 3 for ax in shown)
    colours = [[line.get_color() for line in ax.lines] for ax in shown]
    assert colours[0] == colours[1] == colours[2] and len(set(colours[0])) == 3
    assert len(study["kepler"].plot(costs="seconds").axes) == 1
    with pytest.raises(BadArgument, match="there is no cost 'money'"):
        study.plot(cost="money")
    with pytest.raises(BadArgument, match="columns=0"):
        study.plot(columns=0)


class Ralston(RungeKutta):
    """Ralston's method, order 2, fixed step."""

    order, adaptive, references = 2, False, ("HNW93",)
    tableau = Tableau("Ralston", order=2, A=[[0, 0], [2 / 3, 0]], b=[1 / 4, 3 / 4], c=[0, 2 / 3], dense_order=2)


class Wrong(RungeKutta):
    """Not of order 2."""

    order, adaptive, references = 2, False, ()
    tableau = Tableau("Wrong", order=2, A=[[0, 0], [2 / 3, 0]], b=[0.3, 0.7], c=[0, 2 / 3], dense_order=2)


def test_bench_tells_a_right_method_from_a_wrong_one():
    found = bench([Ralston, Wrong()], [pendulum(t_end=1.0)], steps=[100, 200, 400], starts=1, repeat=1)
    right, wrong = found.checks
    assert right == ("Ralston", "integrator", "") and not found.ok
    assert wrong.fault.startswith("Wrong() declares order 2, but its tableau has order 1: ")
    errors = {row.integrator: row.error_q for row in found.studies["integrator"].rows if row.step == 1.0 / 400}
    assert set(errors) == {"Ralston", "Wrong", "Midpoint", "RK4"}
    assert errors["RK4"] < errors["Ralston"] < errors["Wrong"]


def test_bench_measures_each_kind_beside_ours(tmp_path):
    own = [Baumgarte(alpha=20), Index2(), RK23(), GeneralizedAlpha(), ImplicitMidpoint()]
    found = bench(own, [pendulum(t_end=0.5)], check=False, rtol=[1e-3, 1e-5], steps=[50, 100], starts=1, repeat=1)
    assert found.ok is False and {check.fault for check in found.checks} == {"not checked"}
    named = {kind: {getattr(row, kind) for row in study.rows} for kind, study in found.studies.items()}
    assert named["stabilization"] == {"Baumgarte(alpha=20)", "Projection", "S_both2"}
    assert named["formulation"] == {"Index2", "GGL"}
    assert {"RK23", "RK45", "DOP853", "GeneralizedAlpha", "BDF", "ImplicitMidpoint", "BackwardEuler"} <= named["integrator"]
    folder = found.save(tmp_path / "bench")
    assert {path.name for path in folder.iterdir()} == {"bench.md", *(f"{kind}s.{end}" for kind in named for end in ("csv", "png"))}
    assert "| Index1 + RK23 + Projection |" in (folder / "bench.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "given, said", [([], "there is no method"), (3, "3 is no method"), ([Projection, "RK4"], "'RK4' is no method")]
)
def test_bench_refuses_what_is_no_method(given, said):
    with pytest.raises(BadArgument, match=said):
        bench(given, [pendulum()])


def test_the_command_finds_the_methods_of_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from holonomic.integrators.runge_kutta import RungeKutta, RK4\n"
        "from holonomic.integrators.tableaus import Tableau\n"
        "class Mine(RungeKutta):\n"
        '    """Mine."""\n'
        "    order, adaptive, references = 2, False, ()\n"
        "    tableau = Tableau('Mine', order=2, A=[[0, 0], [0.5, 0]], b=[0, 1], c=[0, 0.5], dense_order=2)\n",
        encoding="utf-8",
    )
    run = CliRunner().invoke(
        app, ["bench", str(file), "--problems", "unit-circle", "--starts", "1", "--output", str(tmp_path / "out")]
    )
    assert run.exit_code == 0, run.output
    assert "integrator Mine: does what it declares" in run.output and (tmp_path / "out" / "bench.md").is_file()
    file.write_text("x = 1\n", encoding="utf-8")
    run = CliRunner().invoke(app, ["bench", str(file)])
    assert run.exit_code == 2 and "defines no method" in run.output
