"""Where results are written: whole or not at all, links and devices left alone, and plain words where it cannot be."""

import errno
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import netcdf_file

from holonomic import BadArgument, FileFailed, HolonomicError, files, load, simulate
from holonomic.problems import pendulum
from holonomic.results import saving

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and devices of POSIX")
NOBODY = 65534  # a user without rights, on most systems


@pytest.fixture(scope="module")
def sol():
    return simulate(pendulum(), 0.1)


WRITERS = {
    "save": lambda sol, path: sol.save(path.with_suffix(".nc")),
    "to_csv": lambda sol, path: sol.to_csv(path.with_suffix(".csv")),
    "view": lambda sol, path: sol.view(path=path.with_suffix(".html"), show=False),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_of_the_umask(sol, tmp_path, name, umask, mode):
    before = os.umask(umask)
    try:
        WRITERS[name](sol, tmp_path / "run")
    finally:
        os.umask(before)
    [path] = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_file_that_is_replaced_keeps_its_mode(sol, tmp_path):
    path = tmp_path / "run.nc"
    path.touch(mode=0o640)
    path.chmod(0o640)
    sol.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_stays_a_link(sol, tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    suffix = {"save": ".nc", "to_csv": ".csv", "view": ".html"}[name]
    link = (tmp_path / "run").with_suffix(suffix)
    link.symlink_to(tmp_path / "elsewhere" / "there")
    for _ in range(2):  # to nothing yet, then to a file
        WRITERS[name](sol, tmp_path / "run")
        assert link.is_symlink()
        assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["there"]
        assert (tmp_path / "elsewhere" / "there").stat().st_size > 100


def test_devices_and_pipes_are_not_replaced(sol, tmp_path):
    pipe = tmp_path / "pipe.nc"
    os.mkfifo(pipe)
    with pytest.raises(BadArgument, match=r"pipe\.nc is a device or a pipe, no file\. Write to a file\.$"):
        sol.save(pipe)
    with pytest.raises(BadArgument, match=r"^/dev/null is a device or a pipe, no file\. Write to a file\.$"):
        sol.save("/dev/null")
    with pytest.raises(BadArgument, match=r"pipe\.nc is a device or a pipe, no file\.$"):
        load(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    sol.to_csv("/dev/null")  # text can be written to a device
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_link_to_itself_is_told(sol, tmp_path):
    path = tmp_path / "run.nc"
    path.symlink_to(path)
    for call in (sol.save, load):
        with pytest.raises(FileFailed, match=r"run\.nc cannot be (written|read): "):
            call(path)


def test_a_full_disk_is_told_in_plain_words(sol, tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_text("kept", encoding="utf-8")

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(netcdf_file, "createVariable", full)
    with pytest.raises(FileFailed) as told:
        sol.save(path)
    assert str(told.value) == (
        f"{path} cannot be written: the disk is full (no space left on device), and what was there before is unchanged. Make "
        "room, or take another disk."
    )
    assert isinstance(told.value, OSError) and isinstance(told.value, HolonomicError)
    assert path.read_text(encoding="utf-8") == "kept"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_breaks_off_leaves_nothing(sol, tmp_path, name):
    """A limit on the size of files stands for a disk that is full after 64 bytes."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(FileFailed, match=r"cannot be written: file too large\.$"):
            WRITERS[name](sol, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_drafts_that_a_kill_has_left_go_when_something_is_written_there_again(sol, tmp_path, monkeypatch):
    """Of processes that are no more; not of one that runs, not of another computer's of today, and nothing that is no draft."""
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    monkeypatch.setattr(files, "_looked_at", set())
    here, end = files._computer(), f"{'ab' * 6}.part"
    gone = [f".{here}-{killed.pid}-{end}", f".{here}-{killed.pid}-{end}.nc", f".00000000-{os.getpid()}-{end}.csv"]
    stay = [f".{here}-{os.getpid()}-{end}.nc", f".00000000-{killed.pid}-{end}", f".{here}-mine.part", f"{here}-{killed.pid}-{end}"]
    for name in (*gone, *stay):
        (tmp_path / name).write_text("half")
    os.utime(tmp_path / gone[2], (1e9, 1e9))  # of another computer, long ago
    (tmp_path / f".{here}-{killed.pid}-{'cd' * 6}.part").symlink_to(tmp_path / stay[2])
    sol.save(tmp_path / "run.nc")
    assert {path.name for path in tmp_path.iterdir()} == {*stay, "run.nc", f".{here}-{killed.pid}-{'cd' * 6}.part"}
    (tmp_path / gone[0]).write_text("half")
    sol.save(tmp_path / "run.nc")  # looked for once
    assert (tmp_path / gone[0]).exists()


@pytest.fixture
def without_rights():
    """A folder of a user who is not root, and for as long as the test runs we are that user."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield Path(folder)
        finally:
            os.seteuid(os.getuid())
            os.chmod(folder, 0o755)


def test_what_may_not_be_written_or_read_is_told(sol, without_rights):
    path = without_rights / "run.nc"
    sol.save(path)
    assert load(path).ended == "end"
    path.chmod(0o444)
    with pytest.raises(FileFailed, match=r"run\.nc cannot be written: permission denied\.$"):
        sol.save(path)
    path.chmod(0o000)
    with pytest.raises(FileFailed, match=r"run\.nc cannot be read: permission denied\.$"):
        load(path)
    without_rights.chmod(0o555)
    with pytest.raises(FileFailed, match=r"new\.nc cannot be written: permission denied\.$"):
        sol.save(without_rights / "new.nc")


@pytest.mark.parametrize("name", ["save", "to_csv", "animate"])
@pytest.mark.parametrize("path", [None, 3, b"run.nc", 2.5, ["run.nc"]])
def test_what_is_no_path_is_told(sol, name, path):
    with pytest.raises(BadArgument, match=rf"^{name}\(.*\): give the path of a file, as text or Path\.$"):
        getattr(sol, name)(path)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (None, "load(None): give the path of a file, as text or Path."),
        (0, "load(0): give the path of a file, as text or Path."),
        ("", "load(''): this is no name of a file."),
        ("a\0b", "load('a\\x00b'): this is no name of a file."),
        ("/", "/ is a folder, no file."),
        ("no/such.nc", "there is no file no/such.nc."),
    ],
)
def test_what_cannot_be_loaded_is_told(path, text):
    with pytest.raises(BadArgument) as told:
        load(path)
    assert str(told.value) == text


def test_files_without_a_checksum_still_load(sol, tmp_path, monkeypatch):
    """As they were written before there was one."""
    path = tmp_path / "old.nc"
    monkeypatch.setattr(saving, "FORMAT", saving.WITHOUT_CHECKSUM)
    monkeypatch.setattr(saving.checksum, "reserve", lambda file: None)
    monkeypatch.setattr(saving.checksum, "seal", lambda path: None)
    sol.save(path)
    monkeypatch.undo()
    assert b"checksum" not in path.read_bytes()
    assert np.array_equal(load(path).q, sol.q)


def test_a_file_whose_checksum_is_gone_is_refused(sol, tmp_path):
    path = tmp_path / "run.nc"
    sol.save(path)
    path.write_bytes(path.read_bytes().replace(b"checksum_sha256", b"checksum_sha257"))
    with pytest.raises(BadArgument, match=r"is damaged: its checksum is missing\. Save the run again with sol\.save\(path\)\.$"):
        load(path)
