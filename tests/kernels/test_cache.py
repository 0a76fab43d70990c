"""Compiled code between processes: found again, rebuilt when damaged, done without if it must."""

import ast
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
        [sys.executable, "-c", PROCESS],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
    assert [path for path in (tmp_path / "models").iterdir() if path.name.startswith(".tmp")] == []


class Fresh:
    """Models as a fresh process would make them, in this one; counts what is compiled."""

    def __init__(self, cache, patch):
        self.cache, self.patch, self.compiled = cache / "models", patch, 0
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
    "damage",
    [lambda code: code[:200], lambda code: b"", lambda code: code[:-1] + b"?"],
    ids=["cut", "empty", "bit"],
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
    (path,) = (tmp_path / "kernels").glob("*half_sum*.nbc")
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert leaves() == (3.5, 0)
    assert caplog.messages == [f"holonomic: {path} is damaged; it is built anew."]
    assert leaves() == (3.5, 1)


def test_a_kernel_of_another_signature_is_never_run(leaves, tmp_path):
    (of_row,) = (tmp_path / "kernels").glob("*half_sum*.nbc")
    other = marks.leaf(half_sum)
    other((1, 2, 3))
    (of_tuple,) = set((tmp_path / "kernels").glob("*half_sum*.nbc")) - {of_row}
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
    (path,) = (tmp_path / "kernels").glob("*vectors*.o")
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
    (kept,) = (cache / "models").glob("*.o")
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
        os.chown(tmp_path / "models", 12345, -1)
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
    assert [(tmp_path / "new" / "cache" / kind).stat().st_mode & 0o777 for kind in ("", "models")] == [0o700, 0o700]


def test_what_was_not_used_for_longest_leaves_first(tmp_path, monkeypatch):
    """The folder is looked at once in a process that writes; what is in use stays, however old."""
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    monkeypatch.setattr(cachefolder, "LIMIT_BYTES", 2500)
    monkeypatch.setattr(cachefolder, "_trimmed", True)
    monkeypatch.setattr(cachefolder, "_in_use", set())
    for age, name in enumerate(["d", "c", "b", "a"]):
        cachefolder.write("models", name, bytes(1000))
        os.utime(tmp_path / "models" / name, (1e9 + age, 1e9 + age))
    kernels = tmp_path / "kernels" / "stamp"
    kernels.mkdir(parents=True)
    (kernels / "drive").write_bytes(bytes(1000))
    os.utime(kernels / "drive", (1e8, 1e8))
    cachefolder.hold(kernels)
    assert cachefolder.read("models", "c") is not None  # used now
    monkeypatch.setattr(cachefolder, "_trimmed", False)
    cachefolder.write("models", "e", bytes(100))
    left = sorted(path.name for path, _, _ in cachefolder.entries())
    assert left == ["c", "drive", "e"]
    cachefolder.write("models", "f", bytes(1000))  # looked at once: the rest is for the next process
    assert len(cachefolder.entries()) == 4
