"""What a run keeps: quantities by name, in memory or in a store, and of large systems the ends alone."""

import csv
import importlib
import threading

import numpy as np
import pytest

from holonomic import BadArgument, Cancelled, Event, LimitReached, Ode, Radau, System, UnknownName, simulate
from holonomic.multibody import Mechanism, rod
from holonomic.problems import pendulum
from holonomic.results import report
from holonomic.running import keeping

SWING = System(
    mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint={"rod": lambda q: q @ q - 1},
    outputs={"tension": lambda lam: 2 * lam[0], "place": lambda q: q[:, None] * q},
)  # fmt: skip
START = {"q0": [1, 0], "v0": [0, 0]}


def rope(links: int = 5) -> Mechanism:
    m = Mechanism(gravity=(0, -9.81))
    m.chain("rope", at=((0, 0), (0.1 * links, 0)), links=links, mass=0.1 * links, first=m.ground)
    return m


@pytest.fixture
def small_pieces(monkeypatch):
    """Let rows be taken a few at a time, as from a run that is larger than memory."""
    monkeypatch.setattr(keeping, "WHOLE_BYTES", 100)
    monkeypatch.setattr("holonomic.running.run.QUOTA", 7)


@pytest.mark.parametrize("compile", ["never", "now"])
def test_quantities_kept_by_name_are_those_of_the_whole_run(compile, small_pieces):
    m = rope()
    whole = simulate(m, 1.0, compile=compile)
    some = simulate(m, 1.0, compile=compile, keep=["rope 4", "rope pin 4.force", "rope 2 x", "v", "energy", "reactions"])
    assert np.array_equal(some.t, whole.t)
    for name in ("position", "velocity", "angle", "acceleration", "rotation", "kinetic"):
        assert np.array_equal(getattr(some["rope 4"], name), getattr(whole["rope 4"], name))
    assert np.array_equal(some["rope pin 4.force"], whole["rope pin 4"].force)
    assert np.array_equal(some["rope pin 4"].force, whole["rope pin 4"].force)
    assert np.array_equal(some["rope 2 x"], whole["rope 2 x"])
    assert np.array_equal(some.v, whole.v) and np.array_equal(some.reactions, whole.reactions)
    assert np.array_equal(some.energy.total, whole["energy"].total)
    assert abs(some.energy_error).max() < 1e-6
    assert np.array_equal(some.end.q, whole.end.q) and some.end.t == 1.0
    assert some.stats["steps"] == whole.stats["steps"]


def test_chosen_times_and_names_go_together():
    whole = simulate(SWING, 2.0, **START, save_at=33)
    some = simulate(SWING, 2.0, **START, save_at=33, keep="tension")
    assert np.array_equal(some.t, whole.t) and np.array_equal(some["tension"], whole["tension"])


def test_other_times_are_those_of_the_run_made_again():
    whole, some = (simulate(SWING, 2.0, **START, keep=keep) for keep in (None, ["tension", "place"]))
    assert np.array_equal(some["place"], whole["place"])
    assert abs(some(0.77).q - whole(0.77).q).max() < 1e-12


def test_a_run_that_changes_its_method_keeps_one_row_where_it_does(small_pieces):
    stiff = Ode(lambda y: np.array([-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2,
                                    3e7 * y[1] ** 2]))  # fmt: skip
    given = {"y0": [1, 0, 0], "rtol": 1e-4, "atol": 1e-8}
    whole, some = simulate(stiff, 40.0, **given), simulate(stiff, 40.0, **given, keep=["y"])
    assert np.array_equal(whole.t, some.t) and np.array_equal(whole.y, some.y)


def test_parts_of_several_plans_are_joined():
    four_bar = Mechanism(gravity=(0, -9.81))
    points = [(0, 0), (0.3, 0.4), (1.3, 0.4), (1.0, 0.0)]
    names = ["a", "b", "c"]
    for name, first, second in zip(names, points, points[1:], strict=False):
        four_bar.body(name, rod(first, second, mass=1.0))
    for name, pair, at in zip("ABCD", [("ground", "a"), ("a", "b"), ("b", "c"), ("c", "ground")], points, strict=True):
        ends = [four_bar.ground if each == "ground" else four_bar.bodies[each] for each in pair]
        four_bar.revolute(name, *ends, at=at)
    given = {"integrator": Radau()}
    whole, some = simulate(four_bar, 0.5, **given), simulate(four_bar, 0.5, **given, keep=["b", "B"])
    assert np.array_equal(whole.t, some.t)
    assert np.array_equal(whole["b"].position, some["b"].position) and np.array_equal(whole["B"].force, some["B"].force)


def test_events_are_whole_beside_names(small_pieces):
    bounce = Event(lambda q: q[1] + 0.5, then=lambda q, v: (q, -0.5 * v))
    given = {"events": {"floor": bounce}}
    whole, some = simulate(SWING, 1.0, **START, **given), simulate(SWING, 1.0, **START, **given, keep=["q", "lam"])
    assert len(whole.events["floor"]) > 1
    assert np.array_equal(some.t, whole.t) and np.array_equal(some.q, whole.q) and np.array_equal(some.lam, whole.lam)
    assert np.array_equal(some.events["floor"].q, whole.events["floor"].q)


def test_what_was_not_kept_is_refused_with_a_way_to_it():
    some = simulate(rope(), 0.2, compile="never", keep=["rope 4", "rope pin 1.force"])
    for read in (lambda: some.q, lambda: some.lam, lambda: some.drift, lambda: some.energy, lambda: some.reaction("rope pin 1")):
        with pytest.raises(BadArgument, match="not kept"):
            read()
    with pytest.raises(UnknownName, match=r"no quantity 'rope 3'.*keep= or\s+save_at="):
        some["rope 3"]
    with pytest.raises(AttributeError, match=r"kept \.acceleration"):
        some["rope 4"].force
    with pytest.raises(BadArgument, match="whole states"):
        some.save("run.nc")
    with pytest.raises(BadArgument, match="whole states"):
        some.view()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"keep": ["tipp"]}, "no quantity 'tipp'"), ({"keep": ["rope 4.colour"]}, "no 'colour'"), ({"keep": 3}, "give names"),
        ({"keep": []}, "give names"), ({"keep": ["q", 1]}, "give names"), ({"keep": ["drift"]}, "whole states"),
        ({"keep": ["power"]}, r"power\.total"), ({"keep": ["q"], "error": True}, r"error=True does not go with keep="),
        ({"keep": ["q"], "checkpoint": "c"}, r"checkpoint= does not go with keep="),
        ({"keep": ["q"], "precision": "double-double"}, "does not go with keep="), ({"store": 3}, "store="),
    ],
)  # fmt: skip
def test_names_that_cannot_be_kept_are_refused_before_the_run(given, said):
    with pytest.raises((BadArgument, UnknownName), match=said):
        simulate(rope(), 0.2, compile="never", **given)


def test_a_run_that_stops_has_what_was_kept():
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled) as cancelled:
        simulate(SWING, 2.0, **START, keep=["tension"], cancel=cancel)
    assert len(cancelled.value.solution["tension"]) == len(cancelled.value.solution.t) >= 1
    with pytest.raises(LimitReached, match="Keep fewer"):
        simulate(SWING, 2.0, **START, keep=["tension"], save_at=10_000, max_memory=1000)


def test_names_are_tables_and_curves(tmp_path):
    some = simulate(rope(), 0.2, compile="never", keep=["rope 4.position", "q"])
    some.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["t", "rope 4.position x", "rope 4.position y"]
    assert [float(row[1]) for row in rows[1:]] == some["rope 4.position"][:, 0].tolist()
    figure = some.plot("rope 4.position", "q")
    assert len(figure.axes) == 2
    assert "rope 4.position, q" in str(some) and "drift" in str(some)


def test_names_are_a_dataset():
    pytest.importorskip("xarray")
    some = simulate(rope(), 0.2, compile="never", keep=["rope 4.position", "q"])
    data = some.to_xarray()
    assert data["q"].dims == ("time", "coordinate") and data["coordinate"].values[0] == "rope 0 x"
    assert np.array_equal(data["rope 4.position"].values, some["rope 4.position"])


@pytest.mark.parametrize("named", [True, False])
def test_a_store_has_the_numbers_of_a_run_in_memory(named, tmp_path, small_pieces, monkeypatch):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("zarr", reason="extra store")
    monkeypatch.setattr("holonomic.results.run_store.CHUNK_BYTES", 1000)
    m, path = rope(), tmp_path / "run.zarr"
    whole = simulate(m, 1.0, compile="never")
    kept = simulate(m, 1.0, compile="never", store=path, **({"keep": ["rope 4", "q"]} if named else {}))
    assert "run.zarr" in str(kept)
    with xarray.open_zarr(path) as data:
        assert np.array_equal(data["time"].values, whole.t) and np.array_equal(data["q"].values, whole.q)
        assert data.attrs["holonomic"]["ended"] == "end" and data.attrs["holonomic"]["provenance"]["tier"] == "tables"
    assert np.array_equal(kept["rope 4"].position, whole["rope 4"].position)
    assert np.array_equal(kept.to_xarray()["q"].values, whole.q)
    if not named:  # what follows from states can be read of them
        assert np.array_equal(kept["rope pin 3"].force, whole["rope pin 3"].force)
    with pytest.raises(BadArgument, match="exists"):
        simulate(m, 1.0, compile="never", store=path)


def test_above_many_coordinates_the_ends_are_kept_and_print_says_so(monkeypatch):
    monkeypatch.setattr(importlib.import_module("holonomic.simulate"), "KEPT_WHOLE", 10)
    m = rope()
    sol = simulate(m, 0.5, compile="never")
    assert sol.t.tolist() == [0.0, 0.5] and report.ENDS_ALONE in str(sol)
    every = simulate(m, 0.5, compile="never", keep="all")
    assert len(every.t) > 10 and np.array_equal(every.end.q, sol.end.q) and report.ENDS_ALONE not in str(every)
    assert np.array_equal(sol(every.t[7]).q, every.q[7])
    times = simulate(m, 0.5, compile="never", save_at=7)
    assert len(times.t) == 7 and report.ENDS_ALONE not in str(times)


def test_small_systems_keep_every_step():
    sol = simulate(pendulum(), 1.0)
    assert len(sol.t) == sol.stats["steps"] + 1


def test_a_part_with_the_name_of_an_array_is_not_taken_for_it(tmp_path):
    m = Mechanism()
    m.body("a", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("q", m.ground, "a", at=(0, 0))
    with pytest.raises(BadArgument, match=r"^keep='a' is an array of every run and a part of this mechanism\. Name a quantity"):
        simulate(m, 0.1, keep=["a"])
    whole = simulate(m, 0.1)
    assert np.array_equal(simulate(m, 0.1, keep=["a.position"])["a"].position, whole["a"].position)
    stored = simulate(m, 0.1, store=tmp_path / "run.zarr")
    assert np.array_equal(stored["a"].position, whole["a"].position) and np.array_equal(stored.a, whole.a)
