"""Runs as files and tables: nothing is lost, and what is not a run is refused with a reason."""

import csv
import sys

import numpy as np
import pytest
from scipy.io import netcdf_file

import holonomic
from holonomic import DOP853, BadArgument, Event, MissingExtra, Ode, Solution, System, load, simulate
from holonomic.problems import kepler, pendulum, seven_body


def jumping():
    """A bouncing ball with a matrix output, two events (one never happens) and jumps."""
    system = System(
        mass=np.eye(2),
        potential=lambda q: 9.81 * q[1],
        coordinates=["x", "höhe über y"],
        outputs={"two by two": lambda q, v: np.array([[q[0], q[1]], [v[0], v[1]]]), "time": lambda t: 2 * t},
    )
    bounce = Event(lambda q: q[1], direction="falling", then=lambda q, v: (q * [1, 0], v * [1, -0.8]))
    events = {"bounce": bounce, "never": lambda q: q[1] - 5}
    return simulate(system, 1.5, q0=[0, 1], v0=[1, 0], events=events)


def top():
    """A quaternion: q' is not v."""

    def rates(q):
        w, x, y, z = q
        return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]])

    system = System(mass=np.eye(3), kinematics=rates, invariants={"norm": lambda q: q @ q})
    return simulate(system, 1.0, q0=[1, 0, 0, 0], v0=[0.3, 0.1, 4.0])


RUNS = {
    "pendulum": lambda: simulate(pendulum(), 1.0),
    "seven-body": lambda: simulate(seven_body(), 0.01),
    "kepler": lambda: simulate(kepler(), 3.0),
    "kept times": lambda: simulate(pendulum(), 1.0, save_at=[0.25, 0.5]),
    "backward": lambda: simulate(pendulum(), (1.0, 0.0)),
    "jumps": jumping,
    "quaternion": top,
}


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", RUNS)
def test_a_saved_run_comes_back_bit_for_bit(name, tmp_path):
    sol = RUNS[name]()
    sol.save(tmp_path / "run.nc")
    back = Solution.load(tmp_path / "run.nc")
    for part in ("t", "q", "v", "a", "lam"):
        assert same_bits(getattr(back, part), getattr(sol, part)), part
    assert list(back.drift) == list(sol.drift)
    assert all(same_bits(back.drift[level], sol.drift[level]) for level in sol.drift)
    assert all(same_bits(back[output], sol[output]) for output in sol.plan.model.output_shapes)
    if not sol.plan.model.is_ode:
        assert same_bits(back.reactions, sol.reactions)
        assert same_bits(back.energy.total, sol.energy.total)
        assert same_bits(back.energy_error, sol.energy_error)
    assert back.span == sol.span
    assert same_bits(back.end.q, sol.end.q) and back.end.t == sol.end.t
    assert back.stats == sol.stats and back.ended == sol.ended
    assert list(back.events) == list(sol.events)
    for event, log in sol.events.items():
        assert all(same_bits(getattr(back.events[event], part), getattr(log, part)) for part in ("t", "q", "v", "lam"))
    assert back.plan.why() == sol.plan.why()
    assert back.cite() == sol.cite()
    # the same report, and one line that says what is missing
    lines = str(back).splitlines()
    assert [line for line in lines if "cubic Hermite" not in line] == str(sol).splitlines()
    assert any("cubic Hermite in (q, v), (v, a)" in line for line in lines)


def test_a_loaded_run_saves_again_to_the_same_bits(tmp_path):
    jumping().save(tmp_path / "a.nc")
    holonomic.load(tmp_path / "a.nc").save(tmp_path / "b.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "b.nc").read_bytes()


def test_a_loaded_run_is_cubic_between_its_times(tmp_path):
    errors = []
    t = np.linspace(0, 1, 83)
    exact = np.array([pendulum().exact(s)[0] for s in t])
    for kept in (51, 101):
        simulate(pendulum(), 1.0, rtol=1e-10, atol=1e-12, save_at=kept).save(tmp_path / "run.nc")
        there = holonomic.load(tmp_path / "run.nc")(t)
        errors.append(np.max(np.abs(there.q - exact)))
        # |h⁴ q⁗ / 384| with h = 0.02 and |q⁗| < 5e3 on this swing
    assert errors[0] < 2.5e-6
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.3)


def test_a_loaded_run_at_its_own_times_is_what_was_saved(tmp_path):
    sol = jumping()
    sol.save(tmp_path / "run.nc")
    back = holonomic.load(tmp_path / "run.nc")
    once = np.append(np.diff(sol.t) != 0, True)  # of two rows at one time the later one
    there = back(sol.t[once])
    assert same_bits(there.v, sol.v[once])
    assert same_bits(there["two by two"], sol["two by two"][once])
    bounce = sol.events["bounce"].t[0]
    # parabolas are cubics: exact on both sides of the jump, up to rounding
    assert back(bounce - 1e-3).v == pytest.approx(sol(bounce - 1e-3).v, abs=1e-11)
    assert back(bounce + 1e-3).v == pytest.approx(sol(bounce + 1e-3).v, abs=1e-11)
    assert back(0.3).q.shape == (2,) and back(0.3)["two by two"].shape == (2, 2)
    with pytest.raises(BadArgument, match=r"covers 0 to 1\.5 s"):
        back(1.6)


def test_interpolation_of_an_ode_uses_its_slopes(tmp_path):
    simulate(kepler(), 3.0, rtol=1e-9, atol=1e-12, save_at=301).save(tmp_path / "run.nc")
    sol = simulate(kepler(), 3.0, rtol=1e-9, atol=1e-12)
    t = np.linspace(0, 3, 47)
    # h⁴/384 max|y⁗| with h = 0.01 and |y⁗| below 400 near the centre: 1e-8; a chord would miss by 1e-4
    assert np.max(np.abs(holonomic.load(tmp_path / "run.nc")(t).y - sol(t).y)) < 1e-7


def test_a_loaded_run_says_what_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr("holonomic.results.acting.MOST", 5)  # rows times times, beyond which reactions are not split
    simulate(seven_body(), 0.002).save(tmp_path / "run.nc")
    back = holonomic.load(tmp_path / "run.nc")
    with pytest.raises(BadArgument, match=r"reaction\(label\) needs the model"):
        back.reaction("loop 1 x")
    with pytest.raises(KeyError, match="Did you mean 'beta'"):
        back["betta"]


def test_files_cut_short_are_refused(tmp_path):
    path = tmp_path / "run.nc"
    simulate(pendulum(), 0.2).save(path)
    whole = path.read_bytes()
    for length in [0, 3, 7, 40, 200, len(whole) // 3, len(whole) // 2, len(whole) - 9]:
        path.write_bytes(whole[:length])
        with pytest.raises(BadArgument, match=r"run\.nc"):
            holonomic.load(path)


def test_foreign_files_are_refused(tmp_path):
    with pytest.raises(BadArgument, match="there is no file"):
        holonomic.load(tmp_path / "missing.nc")
    text = tmp_path / "notes.nc"
    text.write_text("t, q\n0, 1\n", encoding="utf-8")
    with pytest.raises(BadArgument, match="no NetCDF-3 file"):
        holonomic.load(text)
    other = tmp_path / "weather.nc"
    with netcdf_file(other, "w") as file:
        file.createDimension("time", 3)
        file.createVariable("time", "d", ("time",))[:] = [0.0, 1.0, 2.0]
    with pytest.raises(BadArgument, match="not a run saved by holonomic"):
        holonomic.load(other)
    newer = tmp_path / "newer.nc"
    with netcdf_file(newer, "w") as file:
        file.holonomic_format = np.int32(99)
        file.run = b"{}"
    with pytest.raises(BadArgument, match="newer holonomic"):
        holonomic.load(newer)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_text("kept", encoding="utf-8")
    sol = simulate(pendulum(), 0.1)

    def full(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(netcdf_file, "createVariable", full)
    with pytest.raises(OSError, match="no space"):
        sol.save(path)
    assert path.read_text(encoding="utf-8") == "kept"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    sol = simulate(pendulum(), 0.1)
    with pytest.raises(BadArgument, match=r"^there is no folder .*missing to write run.nc in\.$"):
        sol.save(tmp_path / "missing" / "run.nc")


def test_a_part_of_a_run_is_not_saved(tmp_path):
    with pytest.raises(BadArgument, match="save the run itself"):
        simulate(pendulum(), 0.1)([0.0, 0.05]).save(tmp_path / "run.nc")


def test_a_run_is_not_saved_under_the_name_of_another_format(tmp_path):
    with pytest.raises(BadArgument, match=r"save writes NetCDF, which run.csv does not look like. Name it run.nc; .*sol.to_csv"):
        simulate(pendulum(), 0.1).save(tmp_path / "run.csv")


def test_xarray_has_dimensions_and_labels():
    pytest.importorskip("xarray")
    sol = simulate(seven_body(), 0.005, integrator=DOP853())
    data = sol.to_xarray()
    assert data.q.dims == ("time", "coordinate")
    assert np.array_equal(data.q.sel(coordinate="beta"), sol["beta"])
    assert np.array_equal(data.lam.sel(constraint="loop 2 y"), sol["loop 2 y"])
    assert np.array_equal(data["force at E"], sol["force at E"])
    assert np.array_equal(data.drift_position.sel(constraint="loop 1 x"), sol.drift.position[:, 0])
    assert data.time.attrs["units"] == "s"
    assert "DOP853" in data.attrs["plan"]


def test_xarray_opens_a_saved_file_by_itself(tmp_path):
    xarray = pytest.importorskip("xarray")
    sol = simulate(seven_body(), 0.005)
    sol.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as data:
        labels = [name.decode() if isinstance(name, bytes) else str(name) for name in data.coordinate.values]
        assert labels == sol.plan.model.coordinates
        assert np.array_equal(data.q.values, sol.q)


def test_xarray_of_other_shapes():
    pytest.importorskip("xarray")
    assert top().to_xarray().v.dims == ("time", "speed")
    ball = jumping().to_xarray()
    assert ball["two by two"].shape[1:] == (2, 2)
    assert "output time" in ball  # `time` is the name of an axis
    orbit = simulate(kepler(), 1.0).to_xarray()
    assert orbit.y.dims == ("time", "coordinate")
    assert orbit.drift_invariant.dims == ("time", "invariant")


def test_dataframe_has_a_column_per_component():
    pytest.importorskip("pandas")
    sol = simulate(seven_body(), 0.005)
    frame = sol.to_dataframe()
    assert frame.index.name == "t"
    assert np.array_equal(frame["beta"], sol["beta"])
    assert np.array_equal(frame["v[beta]"], sol.v[:, 0])
    assert np.array_equal(frame["lam[loop 1 x]"], sol.lam[:, 0])
    assert np.array_equal(frame["F[1]"], sol["F"][:, 1])
    plain = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1]).to_dataframe()
    assert list(plain) == ["q[0]", "v[0]", "a[0]"]


def test_csv_keeps_every_digit(tmp_path):
    sol = jumping()
    sol.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head[:5] == ["t", "x", "höhe über y", "v[x]", "v[höhe über y]"]
    assert head[-5:-1] == [f"two by two[{i},{j}]" for i in (0, 1) for j in (0, 1)]
    numbers = np.array(rows, dtype=float)
    assert same_bits(numbers[:, 0].copy(), sol.t)
    assert same_bits(np.ascontiguousarray(numbers[:, 1:3]), np.ascontiguousarray(sol.q))


@pytest.mark.parametrize("library, method", [("xarray", "to_xarray"), ("pandas", "to_dataframe")])
def test_a_missing_extra_is_named(library, method, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    sol = simulate(pendulum(), 0.1)
    with pytest.raises(MissingExtra, match=r'pip install "holonomic\[xarray\]"'):
        getattr(sol, method)()


def test_a_saved_run_holds_states_and_algebraic_variables(tmp_path):
    """A filter follows a spring's end; the cubic root of a position is solved for."""
    extra = {"states": {"slow": lambda slow, q: q[0] - slow}, "algebraic": {"root": lambda root, q: root**3 + root - q[0]}}
    system = System(np.eye(1), potential=lambda q: 0.5 * q[0] ** 2, **extra)
    sol = simulate(system, 0.3, q0=[1], v0=[0], s0=[0], w0=[0.5], events={"e": lambda t: t - 0.2})
    sol.save(tmp_path / "run.nc")
    read = Solution.load(tmp_path / "run.nc")
    for name in ("q", "v", "s", "w"):
        assert np.array_equal(getattr(read, name), getattr(sol, name))
        assert np.array_equal(getattr(read.events["e"], name), getattr(sol.events["e"], name))
        assert getattr(read(0.17), name) == pytest.approx(getattr(sol(0.17), name), abs=1e-2)  # a cubic between steps
        assert np.array_equal(getattr(read.end, name), getattr(sol.end, name))
    assert {"slow", "root"} <= set(read.to_dataframe().columns)


def test_between_the_times_of_a_loaded_run_switches_are_corners(tmp_path):
    """The row at a switch has the slope behind it, by which velocities before were off by 0.3."""
    pushed = System(mass=np.eye(1), force=lambda t: [5.0 if t > 0.3 else -5.0])
    fading = Ode(lambda t, y: [1.0 if t > 0.3 else -y[0]])
    times = np.linspace(0, 3, 61)
    for system, start, name, within in ((pushed, {"q0": [0], "v0": [0]}, "v", 1e-12), (fading, {"y0": [1]}, "y", 1e-3)):
        sol = simulate(system, 3.0, **start)
        sol.save(tmp_path / "run.nc")
        loaded = load(tmp_path / "run.nc")
        assert np.abs(getattr(loaded(times), name) - getattr(sol(times), name)).max() < within
