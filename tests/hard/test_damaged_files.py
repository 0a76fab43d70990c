"""Files that are damaged, cut, foreign or no files: never other numbers in silence, never a raw error."""

import gzip
import json
import os
import sys

import numpy as np
import pytest

from holonomic import BadArgument, FileFailed, System, load, simulate, sweep

SWING = System(
    mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81},
    outputs={"height": lambda q: q[1] + 1},
)  # fmt: skip
SEED = 20


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    sol = simulate(SWING, 0.5, q0=[1, 0], v0=[0, 0], events={"low": lambda q: q[0]})
    path = tmp_path_factory.mktemp("saved") / "run.nc"
    sol.save(path)
    return path.read_bytes(), sol


def damaged(whole: bytes, rng) -> bytes:
    """One damage of the kinds that disks, cables and editors do."""
    content, at, length = bytearray(whole), int(rng.integers(len(whole))), int(rng.integers(1, 600))
    kind = rng.integers(8)
    if kind <= 2:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        content[at] = (content[at] + int(rng.integers(1, 256))) % 256
    elif kind == 4:
        del content[at:]
    elif kind == 5:
        del content[at : at + length]
    elif kind == 6:
        content[at:at] = rng.bytes(length)
    else:
        content[at : at + length] = bytes(len(content[at : at + length]))
    return bytes(content)


def check_damaged(saved, path, count, seed) -> None:
    whole, sol = saved
    rng, refused = np.random.default_rng(seed), 0
    for _ in range(count):
        content = damaged(whole, rng)
        path.write_bytes(content)
        try:
            back = load(path)
        except BadArgument as problem:
            assert str(path) in str(problem)
            refused += 1
            continue
        assert content == whole  # zeros put where zeros were
        assert np.array_equal(back.q, sol.q)
    assert refused > 0.9 * count  # more than that are changed by these damages


def test_a_damaged_file_never_loads_other_numbers(saved, tmp_path):
    check_damaged(saved, tmp_path / "run.nc", 200, SEED)


@pytest.mark.slow
def test_many_damaged_files_never_load_other_numbers(saved, tmp_path):
    check_damaged(saved, tmp_path / "run.nc", 5000, SEED + 1)


@pytest.mark.slow
def test_every_flipped_byte_of_a_file_is_noticed(saved, tmp_path):
    whole, _ = saved
    path = tmp_path / "run.nc"
    for at in range(len(whole)):
        content = bytearray(whole)
        content[at] ^= 255
        path.write_bytes(content)
        with pytest.raises(BadArgument, match=r"run\.nc"):
            load(path)


FOREIGN = {
    "empty": b"",
    "text": b"t, q\n0, 1\n",
    "json": json.dumps({"run": {}, "holonomic_format": 1}).encode(),
    "zip": b"PK\x03\x04" + bytes(60),
    "gzip": gzip.compress(b"t, q"),
    "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(200),
    "magic alone": b"CDF\x01",
    "magic and zeros": b"CDF\x02" + bytes(500),
    "magic and ones": b"CDF\x02" + b"\xff" * 500,
    "noise": np.random.default_rng(SEED).bytes(5000),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_no_run(tmp_path, name):
    path = tmp_path / "run.nc"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(BadArgument, match=r"run\.nc"):
        load(path)


# stores

CALL = {"q0": [0, -1], "v0": [1, 0], "params": {"g": np.linspace(1, 20, 40)}, "save_at": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    pytest.importorskip("zarr", reason="extra store")
    path = tmp_path_factory.mktemp("stored") / "runs.zarr"
    runs = sweep(SWING, 0.5, **CALL, store=path)
    return path, runs.q, runs["height"]


def files_of(path):
    return sorted(each for each in path.rglob("*") if each.is_file() and each.name != "lock")


def check_store(store, count, seed) -> None:
    """Damage a file of a store, go on with it, and mend it again."""
    path, q, height = store
    rng, files = np.random.default_rng(seed), files_of(store[0])
    whole = {each: each.read_bytes() for each in files}
    for i in range(count):
        file = files[i % len(files)]
        file.write_bytes(damaged(whole[file], rng) if whole[file] else b"?")
        try:
            runs = sweep(SWING, 0.5, **CALL, store=path, resume=True)
            assert np.array_equal(runs.q, q) and np.array_equal(runs["height"], height), file
        except (BadArgument, FileFailed) as problem:
            assert str(path) in str(problem), file
        for each in files_of(path):
            if each not in whole:
                each.unlink()
        for each, content in whole.items():
            each.parent.mkdir(parents=True, exist_ok=True)
            if not each.exists() or each.read_bytes() != content:
                each.write_bytes(content)


def test_a_damaged_store_never_gives_other_numbers(store):
    check_store(store, len(files_of(store[0])), SEED)


@pytest.mark.slow
def test_a_store_damaged_often_never_gives_other_numbers(store):
    check_store(store, 10 * len(files_of(store[0])), SEED + 1)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_what_is_no_folder_is_no_store(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "nothing").symlink_to(tmp_path / "gone")
    for name in ("file", "pipe", "loop", "file/below"):
        for resume in (False, True):
            with pytest.raises((BadArgument, FileFailed), match=name):
                sweep(SWING, 0.5, **CALL, store=tmp_path / name, resume=resume)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
    assert sweep(SWING, 0.5, **CALL, store=tmp_path / "nothing").ok.all()
    assert (tmp_path / "nothing").is_symlink() and (tmp_path / "gone").is_dir()
