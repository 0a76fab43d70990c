"""A sweep on disk: read by xarray, killed and resumed, never computed twice, never mixed up with another."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from holonomic import BadArgument, Dae, FileFailed, HolonomicError, Ode, System, sweep
from holonomic.sweeping import engines, store_files
from holonomic.sweeping import store as storing

pytest.importorskip("zarr", reason="extra store")
xarray = pytest.importorskip("xarray", reason="extra xarray")

SWING = System(
    mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1],
    constraint={"rod": lambda q, p: q @ q - p.L**2}, params={"m": 1.0, "g": 9.81, "L": 1.0},
    outputs={"tension": lambda lam, p: 2 * p.L * lam[0]}, coordinates=["x", "y"],
)  # fmt: skip
CALL = {
    "q0": [0, -1], "v0": [1, 0], "params": {"g": np.linspace(1, 20, 70), "L": np.where(np.arange(70) == 20, 1.5, 1.0)},
    "save_at": 5, "events": {"low": lambda q: q[0]},
}  # fmt: skip


@pytest.fixture(scope="module")
def held():
    return sweep(SWING, 2.0, **CALL)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "runs.zarr"


@pytest.fixture(scope="module")
def stored(path):
    return sweep(SWING, 2.0, **CALL, store=path)


def same(one, other):
    for name in ("q", "v", "a", "lam", "tension", "x"):
        assert np.array_equal(one[name], other[name], equal_nan=True)
    assert one.failed == other.failed
    assert np.array_equal(one.events["low"].t, other.events["low"].t)
    assert np.array_equal(one.events["low"].member, other.events["low"].member)
    assert np.array_equal(one.steps, other.steps)


def test_a_store_holds_what_memory_would(held, stored):
    assert [failure.member for failure in stored.failed] == [20]
    same(held, stored)
    assert np.allclose(stored.mean("tension"), held.mean("tension"), rtol=1e-14)
    assert np.array_equal(stored.quantiles("q"), held.quantiles("q"))
    assert "runs.zarr" in repr(stored)


def test_stores_of_equations_without_accelerations_are_read(tmp_path):
    """y of an Ode, and of a Dae whose solution each member chooses: nothing is kept beside the states."""
    decay = Ode(lambda y, p: -p.k * y, params={"k": 1.0})
    runs = sweep(decay, 1.0, y0=[1.0], params={"k": [1.0, 2.0]}, store=tmp_path / "ode")
    np.testing.assert_allclose(runs.y[:, -1, 0], np.exp([-1, -2]), rtol=1e-6)
    roots = Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 - 3.0]), B=[[1.0]], g=lambda x: x[0])  # y² - y = 3
    call = {"x0": [0.0], "store": tmp_path / "dae"}
    runs = sweep(roots, 1.0, **call, lam0=[[2.0], [-1.0]])
    np.testing.assert_allclose(runs.y[:, -1, 0], (1 + np.sqrt(13) * np.array([1, -1])) / 2, rtol=1e-9)
    np.testing.assert_array_equal(sweep(roots, 1.0, **call, lam0=[[2.0], [-1.0]], resume=True).y, runs.y)
    with pytest.raises(BadArgument, match="other starts"):
        sweep(roots, 1.0, **call, lam0=[[2.0], [2.0]], resume=True)


def test_xarray_reads_the_store_by_itself(held, stored, path):
    with xarray.open_zarr(path) as data:
        assert data["q"].dims == ("member", "time", "coordinate")
        assert np.array_equal(data["q"].values, held.q, equal_nan=True)
        assert np.array_equal(data["time"].values, held.t)
        assert np.array_equal(data["param_g"].values, held["g"])
        assert data.attrs["holonomic"]["labels"]["coordinate"] == ["x", "y"]
    with stored.to_xarray() as data:
        assert list(data["coordinate"].values) == ["x", "y"]
        assert data["ok"].values.sum() == 69
        assert data["event_count"].sel(event="low").values.sum() == len(held.events["low"])


def test_chosen_outputs_alone_are_stored(held, tmp_path):
    runs = sweep(SWING, 2.0, **CALL, outputs=["tension"], store=tmp_path / "t.zarr")
    assert np.array_equal(runs["tension"], held["tension"], equal_nan=True)
    assert not (tmp_path / "t.zarr" / "q").exists()
    with pytest.raises(BadArgument, match="'q' was not kept"):
        runs.q
    with pytest.raises(BadArgument, match="a store needs this name for itself"):
        sweep(System(mass=np.eye(1), outputs={"time": lambda t: t}), 1.0, q0=[0.0], v0=np.ones((2, 1)), outputs=["time"],
              store=tmp_path / "u.zarr")  # fmt: skip


def test_a_finished_store_is_read_without_computing(held, stored, path, monkeypatch):
    monkeypatch.setattr(engines, "run_piece", None)
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))


def test_an_existing_store_is_never_overwritten(stored, path, tmp_path):
    with pytest.raises(BadArgument, match=r"exists\. Pass resume=True to go on with it"):
        sweep(SWING, 2.0, **CALL, store=path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(BadArgument, match="other things in it"):
        sweep(SWING, 2.0, **CALL, store=tmp_path / "mine", resume=True)
    with pytest.raises(BadArgument, match="give store="):
        sweep(SWING, 2.0, **CALL, resume=True)


def test_a_store_of_others_is_never_cleared(tmp_path):
    import zarr

    group = zarr.create_group(str(tmp_path / "weather.zarr"))
    group.create_array("wind", data=np.arange(5.0))
    with pytest.raises(BadArgument, match=r"weather\.zarr' is a folder with other things in it\. Take another name\.$"):
        sweep(SWING, 2.0, **CALL, store=tmp_path / "weather.zarr", resume=True)
    assert zarr.open_group(str(tmp_path / "weather.zarr"))["wind"][:].sum() == 10


def test_damaged_metadata_are_written_again(held, stored, path, caplog):
    (path / "zarr.json").write_text("{}")
    (path / "q" / "zarr.json").write_text((path / "q" / "zarr.json").read_text().replace("float64", "float32"))
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))
    assert caplog.messages[-1].endswith("runs.zarr damaged (2 files); written again.")
    with xarray.open_zarr(path) as data:
        assert np.array_equal(data["q"].values, held.q, equal_nan=True)


def test_a_damaged_identity_is_told(stored, path):
    record = path / "status" / "journal" / "identity.json"
    kept = record.read_bytes()
    for content in (kept.replace(b"2", b"3", 1), kept[:50], b"", b"[]"):
        record.write_bytes(content)
        with pytest.raises(BadArgument, match=r"cannot be resumed: .*identity\.json is damaged, and what the store was made with"):
            sweep(SWING, 2.0, **CALL, store=path, resume=True)
    record.write_bytes(kept)


def test_a_store_whose_identity_has_no_checksum_goes_on(held, stored, path):
    """As it was written before there was one."""
    record = path / "status" / "journal" / "identity.json"
    kept = record.read_bytes()
    record.write_text(json.dumps(store_files.founded(path)["identity"]))
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))
    record.write_bytes(kept)


def test_a_store_that_cannot_be_made_is_told(tmp_path):
    resource = pytest.importorskip("resource", reason="limits of file sizes are of Unix")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(FileFailed, match=r"runs\.zarr' cannot be made or opened: file too large\.$"):
            sweep(SWING, 2.0, **CALL, store=tmp_path / "runs.zarr")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert sweep(SWING, 2.0, **CALL, store=tmp_path / "runs.zarr", resume=True).ok.sum() == 69


OTHER = System(
    mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1] + q[0] ** 2,
    constraint={"rod": lambda q, p: q @ q - p.L**2}, params={"m": 1.0, "g": 9.81, "L": 1.0},
    outputs={"tension": lambda lam, p: 2 * p.L * lam[0]}, coordinates=["x", "y"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("system", "changes", "text"),
    [
        (OTHER, {}, "another system: its equations or numbers differ"),
        (SWING.with_params(m=2.0), {}, "another system"),
        (SWING, {"params": {"g": np.linspace(1, 21, 70), "L": CALL["params"]["L"]}}, "other values of g"),
        (SWING, {"rtol": 1e-7}, "other methods, tolerances or limits"),
        (SWING, {"save_at": 6}, "other times to save"),
        (SWING, {"v0": [1.1, 0]}, "other starts"),
        (SWING, {"outputs": ["q"]}, "other outputs"),
        (SWING, {"events": {"low": lambda q: q[0] - 0.1}}, "another system"),
    ],
)
def test_a_store_of_something_else_is_refused(stored, path, system, changes, text):
    with pytest.raises(BadArgument, match=f"cannot be resumed: it was made with .*{text}"):
        sweep(system, 2.0, **{**CALL, **changes}, store=path, resume=True)


def test_a_store_of_another_version_is_refused(stored, path):
    record = path / "status" / "journal" / "identity.json"
    kept = record.read_text()
    known = store_files.founded(path)
    known["identity"]["version"] = "0.0.0"
    record.write_bytes(store_files.sealed(json.dumps(known)))
    try:
        with pytest.raises(BadArgument, match=r"another version of holonomic \(0.0.0 there"):
            sweep(SWING, 2.0, **CALL, store=path, resume=True)
    finally:
        record.write_text(kept)


def computed(monkeypatch) -> list[int]:
    """Which pieces are computed from now on."""
    pieces, run = [], engines.run_piece

    def noting(job, first, last, *more):
        pieces.append(first)
        return run(job, first, last, *more)

    monkeypatch.setattr(engines, "run_piece", noting)
    return pieces


def test_damaged_and_half_written_chunks_are_found_and_computed_again(held, tmp_path, monkeypatch, caplog):
    path = tmp_path / "runs.zarr"
    runs = sweep(SWING, 2.0, **CALL, store=path)
    journal, chunk = path / "status" / "journal", runs.job.chunk
    half = path / "q" / "c" / "1" / "0" / "0"
    half.write_bytes(half.read_bytes()[: half.stat().st_size // 2])
    flipped = path / "v" / "c" / "2" / "0" / "0"
    content = bytearray(flipped.read_bytes())
    content[-3] ^= 1
    flipped.write_bytes(content)
    (path / "a" / "c" / "3" / "0" / "0").unlink()
    (journal / "0.json").write_text((journal / "0.json").read_text()[:40])
    pieces = computed(monkeypatch)
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))
    assert sorted(pieces) == [0, chunk, 2 * chunk, 3 * chunk]
    assert "4 chunks of" in caplog.text


def test_a_store_killed_while_it_was_made_is_made_again(held, tmp_path):
    path = tmp_path / "runs.zarr"
    runs = sweep(SWING, 2.0, **CALL, store=path)
    (path / "status" / "journal" / "identity.json").unlink()
    assert runs
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))


def test_what_a_kill_left_half_written_goes_when_the_store_is_resumed(held, tmp_path):
    path = tmp_path / "runs.zarr"
    sweep(SWING, 2.0, **CALL, store=path)
    before = {each for each in path.rglob("*")}
    for name in (f"q/c/0/0/0.{'ab' * 16}.partial", f"zarr.{'ab' * 16}.partial", f"status/journal/.0123abcd-1-{'ab' * 6}.part.json"):
        (path / name).write_bytes(b"half")
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))
    assert {each for each in path.rglob("*")} == before


def test_a_failing_write_says_what_is_kept_and_resume_goes_on(held, tmp_path, monkeypatch):
    path = tmp_path / "runs.zarr"
    write, count = storing.write_bytes, []

    def full(name: Path, content: bytes) -> None:
        count.append(name)
        if len(count) > 5:
            raise OSError(28, "No space left on device")
        write(name, content)

    monkeypatch.setattr(storing, "write_bytes", full)
    with pytest.raises(FileFailed, match=r"the disk is full \(no space left on device\)\. \d+ of 70 members are kept there"):
        sweep(SWING, 2.0, **CALL, store=path)
    monkeypatch.setattr(storing, "write_bytes", write)
    done = {int(name.stem) for name in (path / "status" / "journal").glob("[0-9]*.json")}
    pieces = computed(monkeypatch)
    same(held, sweep(SWING, 2.0, **CALL, store=path, resume=True))
    assert done and not done & set(pieces)


SCRIPT = textwrap.dedent("""
    import sys, resource
    import numpy as np
    from holonomic import System, sweep
    from holonomic.sweeping import engines

    path, limit = sys.argv[1], int(sys.argv[2])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    run = engines.run_piece
    def noting(job, first, last, *more):
        print(first, flush=True)
        return run(job, first, last, *more)
    engines.run_piece = noting
    swing = System(mass=np.eye(2), force=lambda p: np.array([0.0, -p.g]), constraint=lambda q: q @ q - 1, params={"g": 9.81})
    sweep(swing, 60.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 20, 480)}, save_at=100, store=path, resume=True)
    print("finished", flush=True)
""")


def start(path, limit=0):
    src = str(Path(storing.__file__).parents[2])
    env = os.environ | {"PYTHONPATH": os.pathsep.join([src, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", SCRIPT, str(path), str(limit)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(path) -> set[int]:
    return {int(name.stem) for name in (path / "status" / "journal").glob("[0-9]*.json")}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is of Unix")
def test_killed_at_any_moment_nothing_finished_is_lost_or_computed_again(tmp_path):
    path, moments = tmp_path / "runs.zarr", random.Random(11)
    kills, before = 0, set()
    for attempt in range(4):
        process = start(path)
        if attempt < 3:
            target = len(before) + moments.randrange(1, 6)
            while process.poll() is None and len(finished(path)) < target:
                time.sleep(0.001)
            time.sleep(moments.uniform(0.0, 0.03))
            process.send_signal(signal.SIGKILL)
        out, err = process.communicate(timeout=120)
        pieces = {int(line) for line in out.split() if line.isdigit()}
        assert not pieces & before, "a finished chunk was computed again"
        assert before <= finished(path), "a finished chunk was lost"
        before = finished(path)
        kills += process.returncode == -signal.SIGKILL
        if "finished" in out:
            break
        assert process.returncode == -signal.SIGKILL, err
    assert kills >= 1 and "finished" in out, err
    swing = System(mass=np.eye(2), force=lambda p: np.array([0.0, -p.g]), constraint=lambda q: q @ q - 1, params={"g": 9.81})
    whole = sweep(swing, 60.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 20, 480)}, save_at=100)
    with xarray.open_zarr(path) as data:
        assert np.array_equal(data["q"].values, whole.q)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="limits of file sizes are of Unix")
def test_a_disk_that_is_full_in_the_middle_of_a_file(tmp_path):
    """No file may grow beyond a few kilobytes: a write fails halfway, as on a full disk."""
    process = start(tmp_path / "runs.zarr", limit=20_000)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "members are kept there. Make room, and call sweep again with resume=True" in err
    assert start(tmp_path / "runs.zarr").communicate(timeout=120)[0].endswith("finished\n")


def test_two_processes_cannot_write_to_one_store(stored, path):
    pytest.importorskip("fcntl", reason="locks are of Unix")
    holder = storing.Store(stored.job, path, resume=True)
    try:
        with pytest.raises(HolonomicError, match="another process is writing"):
            sweep(SWING, 2.0, **CALL, store=path, resume=True)
    finally:
        holder.close()
