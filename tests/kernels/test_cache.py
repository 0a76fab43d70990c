"""Compiled code between processes: found again, rebuilt when damaged, done without if it must."""

import ast
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic import System
from holonomic.kernels.signatures import Fn
from holonomic.kernels.vectors import norm
from holonomic.model import machine_code
from holonomic.model.compiled import Model
from holonomic.native import cachefolder, library, marks, sources

SOURCE = str(Path(holonomic.__file__).parents[1])

# A fresh process that makes a model and uses a leaf; it says what was compiled and how often was differentiated.
PROCESS = """
import numpy as np
from holonomic import System
from holonomic.kernels.signatures import Fn
from holonomic.kernels.vectors import norm
from holonomic.model import derive_dae, machine_code
from holonomic.model.compiled import Model
from holonomic.native import library

compiled = differentiated = made = 0
own_code = library.machine_code

def making(bitcode, target):
    global made
    made += 1
    return own_code(bitcode, target)

library.machine_code = making
own, derive = machine_code._compile, derive_dae.derive

def deriving(*given):
    global differentiated
    differentiated += 1
    return derive(*given)

derive_dae.derive = deriving

def counting(*given):
    global compiled
    compiled += 1
    return own(*given)

machine_code._compile = counting
system = System(np.diag([1.0, 2.0]), [0, -9.81], lambda q: q @ q - 1.0)
model = Model(system, np.array([1.0, 0.0]), np.zeros(2))
fns, _ = model.table((Fn.FIELD,))
assert fns[0] != 0
assert norm(np.array([3.0, 4.0]), 0, 2) == 5.0
print(compiled, differentiated, made)
"""


def start(cache):
    environment = dict(os.environ, HOLONOMIC_CACHE=str(cache), PYTHONPATH=SOURCE)
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    """Return how many models were compiled and differentiated, how many files of kernels were made, and what was said."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return tuple(map(int, out.split())), err


def test_a_second_process_compiles_and_differentiates_nothing(tmp_path):
    assert finish(start(tmp_path))[0] == (1, 1, 1)
    assert finish(start(tmp_path))[0] == (0, 0, 0)


def test_where_nothing_can_be_written_one_line_says_so(tmp_path):
    (tmp_path / "file").write_text("a file where the folder should be")
    counts, err = finish(start(tmp_path / "file" / "cache"))
    assert counts == (1, 1, 1)
    said = [line for line in err.splitlines() if line.startswith("holonomic: compiled code cannot be kept")]
    assert len(said) == 1
    assert "HOLONOMIC_CACHE" in said[0]


@pytest.mark.slow
def test_six_cold_processes_at_once_agree(tmp_path):
    processes = [start(tmp_path) for _ in range(6)]
    assert all(finish(process)[0][0] <= 1 for process in processes)
    assert finish(start(tmp_path))[0] == (0, 0, 0)
    assert [path for path in (tmp_path / cachefolder.NAME / "models").iterdir() if path.name.startswith(".")] == []


class Fresh:
    """Models as a fresh process would make them, in this one; counts what is compiled."""

    def __init__(self, cache, patch):
        self.cache, self.patch, self.compiled = cache / cachefolder.NAME / "models", patch, 0
        patch.setenv("HOLONOMIC_CACHE", str(cache))
        own = machine_code._compile

        def counting(*given):
            self.compiled += 1
            return own(*given)

        patch.setattr(machine_code, "_compile", counting)

    def field(self, gravity=-9.81):
        """v' of a pendulum, from a model that remembers nothing."""
        self.patch.setattr(machine_code, "_loaded", {})
        self.patch.setattr(machine_code, "_memory", {})
        system = System(np.diag([1.0, 2.0]), [0, gravity], lambda q: q @ q - 1.0)
        model = Model(system, np.array([1.0, 0.0]), np.zeros(2))
        model.table((Fn.FIELD,))  # a single look would compile nothing
        return model.evaluate(Fn.FIELD, 0.0, [1.0, 0.0, 0.0, 0.0], [], model.data())[2:4]


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    made = Fresh(tmp_path, monkeypatch)
    np.testing.assert_allclose(made.field(), [0.0, -9.81 / 2])
    assert made.compiled == 1
    return made


def test_other_numbers_use_the_same_machine_code(fresh):
    np.testing.assert_allclose(fresh.field(-1.62), [0.0, -1.62 / 2])
    assert fresh.compiled == 1
    assert len(list(fresh.cache.glob("*.o"))) == 1


@pytest.mark.parametrize(
    "damage", [lambda code: code[:200], lambda code: b"", lambda code: code[:-1] + b"?"], ids=["cut", "empty", "bit"]
)
def test_a_damaged_object_is_rebuilt(fresh, damage):
    (path,) = fresh.cache.glob("*.o")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    np.testing.assert_allclose(fresh.field(), [0.0, -9.81 / 2])
    assert fresh.compiled == 2
    assert path.read_bytes() == whole
    fresh.field()
    assert fresh.compiled == 2


def test_a_damaged_record_is_rebuilt(fresh):
    (path,) = fresh.cache.glob("*.json")
    path.write_bytes(path.read_bytes()[:-5])
    np.testing.assert_allclose(fresh.field(), [0.0, -9.81 / 2])
    assert fresh.compiled == 1  # differentiated again; the object is still there


# the kernels


def half_sum(values):
    """A leaf that is compiled by nobody else."""
    total = 0.0
    for value in values:
        total += value
    return 0.5 * total


@pytest.fixture
def leaves(tmp_path, monkeypatch):
    """Make the leaf as a fresh process would; tell its value, and whether it was found in the cache."""
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    monkeypatch.setattr(cachefolder, "_told", set())

    def made():
        found = marks.leaf(half_sum)
        return found(np.array([3.0, 4.0])), sum(found.native.stats.cache_hits.values())

    assert made() == (3.5, 0)
    assert made() == (3.5, 1)
    return made


def flipped(at):
    def flip(code):
        changed = bytearray(code)
        changed[at % len(code)] ^= 1 << (at % 8)
        return bytes(changed)

    return flip


@pytest.mark.parametrize(
    "damage",
    [lambda code: b"", lambda code: code[:20], lambda code: code[:-1], *(flipped(at) for at in (0, 31, 32, 40, 1777, 4321, -1))],
    ids=["empty", "cut early", "cut late", *"0123456"],
)
def test_a_damaged_kernel_is_compiled_anew_with_one_line_of_notice(leaves, tmp_path, damage, caplog):
    (path,) = (tmp_path / cachefolder.NAME / "kernels").glob("*half_sum*.nbc")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert leaves() == (3.5, 0)
    assert caplog.messages == [f"holonomic: {path} is damaged; it is built anew."]
    assert leaves() == (3.5, 1)


def test_a_kernel_of_another_signature_is_never_run(leaves, tmp_path):
    (of_row,) = (tmp_path / cachefolder.NAME / "kernels").glob("*half_sum*.nbc")
    other = marks.leaf(half_sum)
    other((1, 2, 3))
    (of_tuple,) = set((tmp_path / cachefolder.NAME / "kernels").glob("*half_sum*.nbc")) - {of_row}
    of_tuple.write_bytes(of_row.read_bytes())  # as two processes may leave them that write at once
    again = marks.leaf(half_sum)
    assert again((1, 2, 3)) == 3.0 and not again.native.stats.cache_hits


def test_compiled_functions_of_the_package_stand_where_their_change_is_noticed():
    """Wherever a file of the package marks a function as compiled, it is hashed; elsewhere it is refused."""
    package = Path(holonomic.__file__).resolve().parent
    space = {"__name__": "holonomic.running.somewhere"}
    exec(compile("def f(x):\n    return x", str(package / "running" / "somewhere.py"), "exec"), space)
    for mark in (marks.leaf, marks.inner, marks.part, marks.entry(), marks.kernel(None)):
        with pytest.raises(RuntimeError, match=r"f in .* cannot be compiled there\. Put it into one of formulations, "):
            mark(space["f"])
    stamped = set(sources.stamped_files())
    assert {package / "loop" / "drive.py", package / "integrators" / "radau.py", package / "errors.py"} <= stamped


def test_the_stamp_of_a_file_is_that_of_all_it_imports_and_of_nothing_else(monkeypatch, tmp_path):
    package = tmp_path / "holonomic"
    for name, text in {
        "kernels/vectors.py": "'''Numbers.'''\nEPS = 1",
        "kernels/newton.py": "from .vectors import EPS",
        "loop/drive.py": "def drive():\n    from ..kernels.newton import step",
        "integrators/radau.py": "from ..kernels import newton",
        "integrators/bdf.py": "from math import pi",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    for name in sources._MAKERS:
        (package / "native").mkdir(exist_ok=True)
        (package / "native" / name).write_text("")
    monkeypatch.setattr(sources, "PACKAGE", package)

    def stamps():
        sources.hashes_of.cache_clear()
        sources._imports.cache_clear()
        files = ("loop.drive", "integrators.radau", "integrators.bdf")
        return [sources.stamp(sources.sources_of(f"holonomic.{each}")) for each in files]

    before = stamps()
    (package / "kernels/vectors.py").write_text("'''Numbers.'''\nEPS = 2")
    deep = stamps()
    (package / "integrators/radau.py").write_text("from ..kernels import newton\nORDER = 5")
    own = stamps()
    (package / "native/abi.py").write_text("WORDS = 2")
    made = stamps()
    (package / "kernels/vectors.py").write_text('"""Numbers."""\n\nEPS = 2  # as before\n')
    said = stamps()
    sources.hashes_of.cache_clear()
    sources._imports.cache_clear()
    assert [a == b for a, b in zip(before, deep, strict=True)] == [False, False, True]
    assert [a == b for a, b in zip(deep, own, strict=True)] == [True, False, True]
    assert [a == b for a, b in zip(own, made, strict=True)] == [False, False, False]
    assert made == said  # comments and docstrings are not compiled


@pytest.mark.parametrize("damage", [lambda code: b"", lambda code: code[:-1], flipped(4321)], ids=["empty", "cut", "bit"])
def test_a_damaged_file_of_kernels_is_made_anew_with_one_line_of_notice(tmp_path, monkeypatch, damage, caplog):
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    monkeypatch.setattr(cachefolder, "_told", set())
    monkeypatch.setattr(library, "_asked", {})
    assert library.python_function(norm)(np.array([3.0, 4.0]), 0, 2) == 5.0
    (path,) = (tmp_path / cachefolder.NAME / "kernels").glob("*vectors*.o")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    monkeypatch.setattr(library, "_asked", {})
    assert library.python_function(norm)(np.array([3.0, 4.0]), 0, 2) == 5.0
    assert caplog.messages == [f"holonomic: {path} is damaged; it is built anew."]
    assert path.read_bytes() == whole


def constants_from(path, package):
    """Yield (module file, name) of constants, in capitals, that a file takes from other files of the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in node.names:
                if name.name.isupper() and name.name != "SX":  # a class of expression graphs
                    yield (base.with_suffix(".py") if base.with_suffix(".py").exists() else base / "__init__.py"), name.name


def test_numbers_that_kernels_take_from_other_files_are_noticed_when_they_change():
    package = Path(holonomic.__file__).resolve().parent
    stamped = set(sources.stamped_files())
    taken = [(path, *found) for path in stamped for found in constants_from(path, package)]
    assert len(taken) > 100
    assert [each for each in taken if each[1] not in stamped] == []


# folders of others


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777], ids=oct)
def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch, mode, caplog):
    cache = tmp_path / "cache"
    fresh = Fresh(cache, monkeypatch)
    fresh.field()
    (kept,) = fresh.cache.glob("*.o")
    before = kept.read_bytes()
    cache.chmod(mode)
    monkeypatch.setattr(cachefolder, "_own", set())
    monkeypatch.setattr(cachefolder, "_told", set())
    kept.write_bytes(b"what another user put there")
    np.testing.assert_allclose(fresh.field(), [0.0, -9.81 / 2])
    assert fresh.compiled == 2
    assert caplog.messages == [
        f"holonomic: compiled code cannot be kept in {cache} (others can write to it); set HOLONOMIC_CACHE to a folder that "
        "only you can write to."
    ]
    assert kept.read_bytes() == b"what another user put there"
    cache.chmod(0o700)
    kept.write_bytes(before)
    fresh.field()
    assert fresh.compiled == 2


@pytest.mark.skipif(os.name != "posix", reason="owners of files")
def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch, caplog):
    fresh = Fresh(tmp_path, monkeypatch)
    fresh.field()
    monkeypatch.setattr(cachefolder, "_own", set())
    monkeypatch.setattr(cachefolder, "_told", set())
    monkeypatch.setattr(os, "geteuid", lambda: 54321)  # whoever runs the tests is another user
    if tmp_path.stat().st_uid == 0:  # what root alone can write may be used by all
        os.chown(fresh.cache, 12345, -1)
    fresh.field()
    assert fresh.compiled == 2
    assert "it belongs to another user" in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_folders_are_made_for_their_user_alone_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path / "new" / "cache"))
    before = os.umask(0o002)
    try:
        cachefolder.write("models", "a", b"content")
    finally:
        os.umask(before)
    assert cachefolder.read("models", "a") == b"content"
    cache = tmp_path / "new" / "cache"
    own = [cache, cache / cachefolder.NAME, cache / cachefolder.NAME / "models"]
    assert [each.stat().st_mode & 0o777 for each in own] == [0o700] * 3


# what leaves, and what does not


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache in a folder of its own, in which nothing has been looked at; gives the folder the user named."""
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path / "named"))
    for name, value in {"_trimmed": True, "_in_use": set(), "_told": set(), "_own": set()}.items():
        monkeypatch.setattr(cachefolder, name, value)
    return tmp_path / "named"


def aged(path, age):
    """Set when a file was used last: `age` seconds after a time long ago."""
    os.utime(path, (1e9 + age, 1e9 + age))
    return path


def test_what_was_not_used_for_longest_leaves_first(cache, monkeypatch):
    """The folder is looked at once in a process that writes; what is in use stays, however old."""
    monkeypatch.setattr(cachefolder, "LIMIT_BYTES", 2500)
    for age, name in enumerate(["d.o", "c.o", "b.o", "a.o"]):
        cachefolder.write("models", name, bytes(1000))
        aged(cachefolder.folder() / "models" / name, age)
    cachefolder.write("kernels", "drive.nbc", bytes(1000))
    aged(cachefolder.folder() / "kernels" / "drive.nbc", -1e8)
    cachefolder.hold(cachefolder.folder() / "kernels")
    assert cachefolder.read("models", "c.o") is not None  # used now
    monkeypatch.setattr(cachefolder, "_trimmed", False)
    cachefolder.write("models", "e.o", bytes(100))
    left = sorted(path.name for path, _, _ in cachefolder.entries())
    assert left == ["c.o", "drive.nbc", "e.o"]
    cachefolder.write("models", "f.o", bytes(1000))  # looked at once: the rest is for the next process
    assert len(cachefolder.entries()) == 4


NOT_OURS = [
    "thesis/chapter1.tex", "notes.txt", "models/trained.pt", "models/mine.o", "kernels/seed.json", "kernels/deep/drive.nbc",
    f"{cachefolder.NAME}/models/mine.o", f"{cachefolder.NAME}/models/{'ab' * 16}.o", f"{cachefolder.NAME}/models/.draft-mine",
    f"{cachefolder.NAME}/kernels/weights.nbc", f"{cachefolder.NAME}/kernels/deep/drive.nbc", f"{cachefolder.NAME}/gpu/mine.py",
    f"{cachefolder.NAME}/gpu/gpu_{'ab' * 12}.py", f"{cachefolder.NAME}/gpu/__pycache__/gpu_{'ab' * 12}.run-1.nbi",
    f"{cachefolder.NAME}/thesis/chapter2.tex", f"{cachefolder.NAME}/models/.draft-{'ab' * 32}-x",
]  # fmt: skip


def all_files(place):
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


def test_files_that_are_not_the_caches_own_stay_wherever_they_lie(cache, tmp_path):
    """Beside the cache, in folders that are called like its own, and among its entries under names like theirs."""
    cachefolder.write("models", "a.o", bytes(1000))
    source = cachefolder.folder() / "gpu" / f"gpu_{'0' * 24}.py"
    assert cachefolder.write_source(source, "run = 1\n") and cachefolder.write_source(source, "run = 1\n")
    made = source.parent / "__pycache__" / f"{source.stem}.run-1.py312.nbi"
    made.parent.mkdir()
    made.write_bytes(bytes(100))
    for name in NOT_OURS:
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(b"years of work")
        aged(cache / name, 0)
    outside = tmp_path / "outside"
    (outside / "models").mkdir(parents=True)
    cachefolder.write("models", "b.o", bytes(1000))
    (cachefolder.folder() / "models" / "b.o").rename(outside / "models" / "b.o")  # a link to what would else be an entry
    (cachefolder.folder() / "models" / "link.o").symlink_to(outside / "models" / "b.o")
    (cachefolder.folder() / "models" / "folder.o").symlink_to(outside / "models", target_is_directory=True)
    assert cachefolder.trim(0) == 2
    freed, kept = cachefolder.clear()
    assert freed == 0
    assert all_files(outside) == {"models/b.o"}
    assert set(NOT_OURS) <= all_files(cache)
    assert not source.exists() and not made.exists() and not (cachefolder.folder() / "models" / "a.o").exists()
    here = {str(path.relative_to(cache)) for path in kept}
    assert {each for each in NOT_OURS if each.startswith(cachefolder.NAME)} <= here


@pytest.mark.parametrize("which", ["", "models"])
def test_a_link_in_place_of_a_folder_is_not_followed(cache, tmp_path, which, caplog):
    outside = tmp_path / "outside"
    outside.mkdir()
    place = cachefolder.folder() / which
    if which:
        cachefolder.write("kernels", "a.o", b"content")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside, target_is_directory=True)
    cachefolder.write("models", "a.o", b"content")
    assert cachefolder.read("models", "a.o") is None
    assert f"compiled code cannot be kept in {place} (it is a link)" in caplog.text
    assert list(outside.iterdir()) == []
    (outside / "a.o").write_bytes(hashlib.sha256(b"content").digest() + b"content")
    cachefolder.clear()
    assert (outside / "a.o").exists()


def test_a_folder_that_was_there_before_is_not_taken_for_the_cache(cache, caplog):
    theirs = cachefolder.folder() / "models" / "trained.o"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(hashlib.sha256(b"content").digest() + b"content")
    cachefolder.write("models", "a.o", b"content")
    assert caplog.messages == [
        f"holonomic: compiled code cannot be kept in {cachefolder.folder()} (it holds files of others: there is no CACHEDIR.TAG "
        "of holonomic's); set HOLONOMIC_CACHE to a folder that only you can write to."
    ]
    assert cachefolder.trim(0) == 0 and cachefolder.clear()[0] == 0
    assert all_files(cache) == {f"{cachefolder.NAME}/models/trained.o"}


def test_drafts_of_a_killed_process_leave_with_the_next_look(cache):
    cachefolder.write("models", "a.o", b"content")
    places = [cachefolder.folder() / "models" / f".draft-{hashlib.sha256(b'b').hexdigest()}-{each}" for each in "uvwx"]
    for place, size in zip(places, (0, 10, 32, 33), strict=True):
        place.write_bytes((hashlib.sha256(b"b").digest() + b"b")[:size])
        aged(place, 0)
    os.utime(places[0])  # of one that is still writing
    assert cachefolder.trim() == 3
    assert [place.exists() for place in places] == [True, False, False, False]


def test_two_that_trim_at_once_remove_no_more_than_one(cache, monkeypatch):
    for age in range(6):
        cachefolder.write("models", f"{age}.o", bytes(1000))
        aged(cachefolder.folder() / "models" / f"{age}.o", age)
    found = cachefolder.entries()
    assert cachefolder.trim(3500) == 3
    monkeypatch.setattr(cachefolder, "entries", lambda: found)  # the other one looked before
    cachefolder.trim(3500)
    assert sorted(path.name for path in (cachefolder.folder() / "models").iterdir()) == ["3.o", "4.o", "5.o"]


def test_where_nothing_can_be_removed_nothing_is_said_to_be_gone(cache, monkeypatch):
    cachefolder.write("models", "a.o", bytes(1000))

    def refused(*given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refused)  # as in a folder that can be read alone
    assert cachefolder.trim(0) == 0
    assert cachefolder.clear() == (0, [cachefolder.folder() / "models" / "a.o"])
    monkeypatch.setattr(os, "listdir", refused)  # nor be read
    assert cachefolder.entries() == []
