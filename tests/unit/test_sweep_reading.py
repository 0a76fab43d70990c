"""What is kept of a sweep and how it is read: chosen quantities, summaries over members, labels, progress."""

from __future__ import annotations

import re

import numpy as np
import pytest

from holonomic import BadArgument, System, grid, sample, simulate, sweep
from holonomic.multibody import Mechanism, rod
from holonomic.running.progress import Tally
from holonomic.sweeping import sweep as sweeping
from holonomic.sweeping.backpressure import Ahead
from holonomic.sweeping.chunk_run import run_piece
from holonomic.sweeping.ensemble_sources import Whole
from holonomic.sweeping.sketch import Sketch, Summary

START = {"q0": [0, -1], "v0": [1, 0], "save_at": 7}


@pytest.fixture(scope="module")
def swing():
    return System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1],
        constraint={"rod": lambda q, p: q @ q - p.L**2}, params={"m": 1.0, "g": 9.81, "L": 1.0},
        outputs={"tension": lambda lam, p: 2 * p.L * lam[0], "place": lambda q: 2 * q}, coordinates=["x", "y"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(swing):
    return sweep(swing, 1.0, params=sample(100, g=(5.0, 15.0), m=(0.5, 2.0)), **START)


def test_chosen_outputs_are_those_of_the_whole_state(swing, whole):
    names = ["tension", "q", "x", "place", "lam"]
    runs = sweep(swing, 1.0, params=whole.params, outputs=names, **START)
    for name in names:
        assert np.array_equal(runs[name], whole[name])
    assert np.array_equal(runs["g"], whole["g"])
    with pytest.raises(BadArgument, match="'v' was not kept; kept: tension, q, x, place, lam"):
        runs.v
    assert "kept: tension, q" in repr(runs)


def test_summaries_equal_those_of_all_trajectories(swing, whole):
    runs = sweep(swing, 1.0, params=whole.params, outputs=["tension", "q"], keep="summary", **START)
    for name in ("tension", "q"):
        assert np.allclose(runs.mean(name), whole[name].mean(axis=0), rtol=1e-13, atol=1e-15)
        assert np.allclose(runs.std(name), whole[name].std(axis=0), rtol=1e-10, atol=1e-14)
        assert np.array_equal(runs.extremes(name)[1], whole[name].max(axis=0))
        assert np.array_equal(runs.quantiles(name, 0.3), np.quantile(whole[name], 0.3, axis=0))  # few: exact
        assert runs.quantile_error(name) == 0.0
    with pytest.raises(BadArgument, match="keeps no trajectories"):
        runs.q


def test_a_summary_does_not_depend_on_the_number_of_workers(swing):
    params = sample(500, g=(5.0, 15.0), L=(0.9, 1.1))
    found = [
        sweep(swing, 1.0, params=params, outputs=["q"], keep="summary", initial="project", workers=workers, **START)
        for workers in (1, 3)
    ]
    assert np.array_equal(found[0].mean("q"), found[1].mean("q"))
    assert np.array_equal(found[0].quantiles("q"), found[1].quantiles("q"))


def test_a_summary_leaves_failed_members_out(swing):
    runs = sweep(swing, 1.0, params={"L": [1.0, 1.5, 1.0], "g": [5.0, 5.0, 9.0]}, outputs=["x"], keep="summary", **START)
    assert len(runs.failed) == 1
    assert np.isfinite(runs.mean("x")).all()


def test_a_sketch_of_quantiles_keeps_its_bound():
    random = np.random.default_rng(4)
    values = random.normal(size=(20_000, 3)) ** 3
    sketch = Sketch(3)
    sketch.k = 64
    sketch.filling = np.empty((64, 3))
    for part in np.array_split(values, 77):
        sketch.add(part)
    assert 0 < sketch.error(len(values)) < 0.1  # log2(20000/64)/(2*64)
    assert sum(buffer is not None for buffer in sketch.levels) * 64 < 1000
    for q in (0.0, 0.05, 0.5, 0.9, 1.0):
        got = sketch.quantiles(np.array(q), np.full(3, len(values)))
        rank = (values < got).mean(axis=0)
        assert np.all(np.abs(rank - q) <= sketch.error(len(values)) + 1e-4)


def test_a_summary_counts_only_members_that_are_there():
    random = np.random.default_rng(5)
    values = random.normal(size=(300, 4)) + 1e8
    values[::3, 2] = np.nan
    values[:, 3] = np.nan
    summary = Summary((4,))
    for part in np.array_split(values, 7):
        summary.add(part)
    assert np.allclose(summary.mean()[:3], np.nanmean(values[:, :3], axis=0), rtol=1e-15)
    assert np.allclose(summary.std()[:3], np.nanstd(values[:, :3], axis=0), rtol=1e-6)  # no cancellation beside 1e8
    assert np.array_equal(summary.quantiles([0.5])[0, :3], np.nanquantile(values[:, :3], 0.5, axis=0))
    assert np.isnan(summary.mean()[3]) and np.isnan(summary.extremes()[0][3])


def test_quantities_of_a_mechanism_can_be_kept_by_name():
    m = Mechanism(gravity=(0, -9.81))
    link = m.body("link", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("A", m.ground, link, at=(0, 0))
    masses = np.array([1.0, 2.0])
    runs = sweep(m, 0.5, params={"link.mass": masses}, outputs=["A.force", "link.position"], save_at=5)
    whole = sweep(m, 0.5, params={"link.mass": masses}, save_at=5)
    assert np.array_equal(runs["A.force"], whole["A"].force)
    assert np.array_equal(whole["A.force"], whole["A"].force)
    assert whole.mean("link.position").shape == (5, 2)
    with pytest.raises(BadArgument, match="name one, for example"):
        whole.mean("A")


def test_forces_of_a_mechanism_follow_the_inputs_of_each_member():
    m = Mechanism(gravity=(0, 0))
    sled = m.body("sled", at=(0, 0), mass=2.0, inertia=1.0)
    m.prismatic("rail", m.ground, sled, at=(0, 0), axis=(1, 0))
    m.input("push", 0.0)
    m.force("hand", sled, at=(0, 0), value=lambda u: (u.push, 0.0))
    times, pushes = np.array([0.0, 1.0]), np.array([[0.0, 4.0], [2.0, 2.0]])
    runs = sweep(m, 1.0, inputs={"push": (times, pushes)}, save_at=3)
    assert np.allclose(runs["hand.force"][:, :, 0], [[0.0, 2.0, 4.0], [2.0, 2.0, 2.0]])
    assert np.allclose(runs["sled"].position[:, -1, 0], [4.0 / 12, 0.5], atol=1e-6)  # t³/3 and t²/2 times push/2


def test_chunks_stay_below_their_bound(swing):
    job = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"g": np.full(20, 9.81)}, save_at=50_000).job
    assert job.chunk * 50_000 * 8 * sum(job.shape[1:]) <= 8 << 20


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"outputs": ["tensoin"]}, "no such quantity; there is: q, v, a, lam, x, y, tension"),
        ({"outputs": [3]}, "give names"),
        ({"keep": "summary"}, "needs outputs="),
        ({"keep": "some"}, 'choose "all" or "summary"'),
        ({"workers": 0}, "workers=0 must be a whole number"),
        ({"params": {"g": [1.0, np.inf]}}, r"params\['g'\] of member 1 is not finite"),
        ({"v0": np.array([[1.0, 0.0], [np.nan, 0.0]])}, "v0 of member 1 is not finite"),
    ],
)
def test_bad_choices_are_named(swing, options, text):
    with pytest.raises(BadArgument, match=text):
        sweep(swing, 1.0, **{"params": {"g": [1.0, 2.0]}, **START, **options})


def test_to_xarray_says_how_members_ended_and_which_events_they_had(swing):
    pytest.importorskip("xarray", reason="extra xarray")
    runs = sweep(swing, 1.0, params={"L": [1.0, 2.0, 1.0]}, events={"low": lambda q: q[0]}, **START)
    data = runs.to_xarray()
    assert data["ok"].values.tolist() == [True, False, True]
    assert data["event_count"].dims == ("member", "event")
    assert data["tension"].dims == ("member", "time")
    assert list(data["event"].values) == ["low"]


def test_events_at_the_start_of_a_member_are_those_of_a_single_run(swing):
    runs = sweep(swing, 1.0, params={"g": [9.81]}, events={"low": lambda q: q[0]}, **START)
    alone = simulate(swing, 1.0, events={"low": lambda q: q[0]}, **START)
    assert np.array_equal(runs.events["low"].t, alone.events["low"].t)


def test_the_tally_says_rate_and_time_left(capsys):
    tally = Tally(1000, True)
    tally.began -= 2.0
    tally.add(100)
    assert "100 of 1000 runs" in tally.text()
    assert re.search(r" (50|[34]\d) a second", tally.text())  # the machine may be busy
    assert re.search(r"0:00:(1\d|2\d) left", tally.text())
    tally.close()


class Interrupted:
    """An engine that is stopped after two chunks."""

    name, halts, whole = "test", False, Whole
    tables_beyond = None

    def __init__(self, problem):
        self.problem = problem

    def chunks(self, job, pieces):
        for number, piece in enumerate(pieces):
            if number == 2:
                raise self.problem
            yield run_piece(job, *piece)


def test_ctrl_c_returns_the_members_so_far(swing, monkeypatch, caplog):
    monkeypatch.setattr(sweeping, "engine_of", lambda on, workers: Interrupted(KeyboardInterrupt()))
    runs = sweep(swing, 1.0, params={"g": np.linspace(1, 20, 70)}, **START)
    done = 2 * runs.job.chunk
    assert runs.ok.sum() == done and runs.ok[:done].all()
    assert "not run: the sweep was interrupted" in runs.failed[0].why
    assert np.isnan(runs.q[done:]).all()
    assert f"interrupted after {done} of 70 runs; the members so far are returned" in caplog.text


def test_an_engine_that_fails_does_not_lose_what_was_finished(swing, monkeypatch):
    monkeypatch.setattr(sweeping, "engine_of", lambda on, workers: Interrupted(OSError("the network is down")))
    with pytest.raises(OSError, match="network") as caught:
        sweep(swing, 1.0, params={"g": np.linspace(1, 20, 70)}, outputs=["q"], keep="summary", **START)
    assert caught.value.solution.ok.sum() == 2 * caught.value.solution.job.chunk
    assert np.isfinite(caught.value.solution.mean("q")).all()


def test_results_larger_than_memory_are_refused_before_anything_runs(swing):
    with pytest.raises(BadArgument, match=r"take \d+.\d GB, and this machine has .* stream them to store="):
        sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"g": np.full(100_000, 9.81)}, save_at=1_000_000)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sample(0, g=(1, 2)), "at least 1"),
        (lambda: sample(4, g=3), "two bounds"),
        (lambda: sample(4, g=(2, 1)), "two bounds"),
        (lambda: sample(4), "needs the bounds"),
        (lambda: grid(g=3), "a list of values"),
        (lambda: grid(), "needs the values"),
    ],
)
def test_designs_that_cannot_be_meant_are_refused(make, text):
    with pytest.raises(BadArgument, match=text):
        make()


def test_pieces_far_ahead_wait_for_a_slow_one():
    ahead = Ahead([(i, i + 1) for i in range(100)])
    handed = [piece for piece, _ in ahead.hand_out(lambda piece: piece, 2)]
    while ahead.running and len(handed) < 90:
        for key in [key for key in ahead.running if key[0] != 0]:  # the first one never ends
            del ahead.running[key]
        more = [piece for piece, _ in ahead.hand_out(lambda piece: piece, 2)]
        if not more:
            break
        handed += more
    assert handed == list(range(16))


def test_a_member_is_read_as_a_solution_is(swing, whole):
    third = whole[3]
    sol = simulate(swing.with_params(**third.params), 1.0, **START)
    # a sweep plans one explicit method for all; both runs keep rtol 1e-6
    assert np.allclose(third.q, sol.q, atol=1e-5) and third.q.shape == (7, 2)
    assert np.array_equal(third["tension"], whole["tension"][3]) and np.array_equal(third.lam, whole.lam[3])
    assert third["g"] == whole["g"][3] and third.ok and third.failure == "" and third.ended == "end"
    assert np.array_equal(whole[-1].v, whole.v[99])
    assert [run.number for run in whole[10:40:10]] == [10, 20, 30]
    assert sum(run.ok for run in whole) == 100
    assert "member 3 of 100: g = " in repr(third)


def test_a_member_keeps_what_the_sweep_kept(swing, whole):
    runs = sweep(swing, 1.0, params={"g": [5.0, 6.0]}, outputs=["tension"], **START)
    assert np.array_equal(runs[1]["tension"], runs["tension"][1])
    with pytest.raises(BadArgument, match="'q' was not kept; kept: tension"):
        runs[1].q
    with pytest.raises(AttributeError, match=r"has no 'drift'.*simulate it again with its params"):
        runs[1].drift


def test_what_is_no_member_says_what_to_do(whole):
    with pytest.raises(IndexError, match="there is no member 100: the ensemble has 100, 0 to 99"):
        whole[100]
    with pytest.raises(BadArgument, match=r"member by member \(runs\[3\]\), got ndarray.*runs.q\[mask\]"):
        whole[whole.ok]


def test_a_member_that_failed_says_why(swing):
    runs = sweep(swing, 1.0, params={"L": [1.0, 1.5]}, events={"low": lambda q: q[0]}, **START)
    assert not runs[1].ok and "q0 misses constraint 'rod'" in runs[1].failure
    assert "failed at t = 0" in repr(runs[1])
    assert len(runs[1].events["low"]) == 0
    assert np.array_equal(runs[0].events["low"].t, runs.events["low"].t)


def test_a_joint_of_one_member():
    m = Mechanism(gravity=(0, -9.81))
    link = m.body("link", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("A", m.ground, link, at=(0, 0))
    runs = sweep(m, 0.5, params={"link.mass": [1.0, 2.0]}, save_at=5)
    assert np.array_equal(runs[1]["A"].force, runs["A"].force[1])
    assert np.array_equal(runs[1]["A.force"], runs["A"].force[1])


@pytest.mark.parametrize("kept", ["in memory", "in a store"])
def test_names_of_ones_own_come_before_the_arrays_that_are_called_alike(kept, tmp_path):
    """A coordinate "v" is runs["v"], as of a single run; runs.v are the velocities all the same."""
    system = System(mass=np.eye(2), force=[1.0, 2.0], coordinates=["v", "a"])
    store = {"store": tmp_path / "runs.zarr"} if kept == "in a store" else {}
    runs = sweep(system, 1.0, q0=[[3.0, 0.0], [4.0, 1.0]], v0=[0.0, 0.0], save_at=2, **store)
    for number, run in enumerate(runs):
        sol = simulate(system, 1.0, q0=[3.0 + number, number], v0=[0.0, 0.0], save_at=2)
        for name in ("q", "v", "a"):
            assert getattr(runs, name)[number] == pytest.approx(getattr(sol, name), abs=1e-12)
            assert getattr(run, name) == pytest.approx(getattr(sol, name), abs=1e-12)
        for name in ("v", "a"):
            assert runs[name][number] == pytest.approx(sol[name], abs=1e-12)
            assert run[name] == pytest.approx(sol[name], abs=1e-12)


def test_a_part_of_a_mechanism_is_found_whatever_its_name():
    m = Mechanism()
    m.body("q", at=(0, 0), mass=1.0, inertia=1.0)
    m.spring("s", "ground", "q", at=((0, 1), (0, 0)), stiffness=10.0)
    runs, sol = sweep(m, 0.2, params={"q.mass": [1.0, 2.0]}, save_at=3), simulate(m, 0.2, save_at=3)
    assert runs["s"].force[0] == pytest.approx(sol["s"].force, abs=1e-9)
    assert runs[0]["q"].position == pytest.approx(sol["q"].position, abs=1e-9)
    assert runs.q[0] == pytest.approx(sol.q, abs=1e-9) and runs[0].q == pytest.approx(sol.q, abs=1e-9)
