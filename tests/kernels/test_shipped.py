"""Machine code that comes with wheels for one platform: for every platform, loaded where it fits, never where it is stale."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from holonomic.kernels import vectors
from holonomic.native import library, shipped, sources
from holonomic.native.processor import LEVELS

ROOT = Path(__file__).parents[2]
FORMAT = {"linux": b"\x7fELF", "macos": b"\xcf\xfa\xed\xfe", "windows": b"\x64\x86"}
ONE = "holonomic.kernels.vectors"


@pytest.fixture
def one_module(monkeypatch):
    """A package of a single file of kernels."""
    known = sources.manifest()["modules"][ONE]
    monkeypatch.setattr(sources, "manifest", lambda: {"modules": {ONE: known}, "files": {}})
    return f"kernels.vectors-{known['stamp']}"


@pytest.mark.parametrize("name", shipped.WHEELS)
def test_objects_are_made_for_every_platform(name, one_module):
    wheel = shipped.WHEELS[name]
    made = shipped.objects_for(wheel)
    assert set(made) == {f"{one_module}-{level}.o" for level in wheel.levels}
    for code in made.values():
        names, _, rest = code.partition(b"\n")
        assert b"python.norm" in names and rest.startswith(FORMAT[name.split("-")[0]])


@pytest.fixture
def came(monkeypatch, tmp_path, one_module):
    """Objects for this computer, as a wheel has them."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    for file, code in shipped.objects_for(shipped.WHEELS[shipped.here()]).items():
        (tmp_path / file).write_bytes(code)
    return tmp_path


def test_what_came_is_loaded_without_making_anything(came, monkeypatch, one_module):
    def never(*_):
        raise AssertionError("machine code was made")

    monkeypatch.setattr(library, "machine_code", never)
    monkeypatch.setattr(library.cachefolder, "read", never)
    found = library._loaded(ONE)
    assert found["python.norm"] and found.keys() == library.functions_of(vectors.__name__).keys()


def test_code_of_other_sources_and_damaged_code_is_not_used(came, one_module):
    assert shipped.read(one_module) is not None
    assert shipped.read("kernels.vectors-0123456789abcdef") is None
    for file in came.iterdir():
        file.write_bytes(file.read_bytes()[:200])
    assert library._loaded(ONE)["python.norm"]  # made of the bitcode instead


@pytest.mark.skipif(shipped.here().endswith("arm64"), reason="levels of x86-64")
def test_the_best_level_that_runs_here_is_taken(came, monkeypatch, one_module):
    def taken(features):
        shipped._own_levels.cache_clear()
        monkeypatch.setattr(shipped.llvm, "get_host_cpu_features", lambda: features)
        return shipped.read(one_module)

    code = {level: (came / f"{one_module}-{level}.o").read_bytes() for level in ("x86-64-v2", "x86-64-v3")}
    v2 = dict.fromkeys(LEVELS["x86-64-v2"], True)
    v3 = v2 | dict.fromkeys(LEVELS["x86-64-v3"], True)
    v4 = v3 | dict.fromkeys(LEVELS["x86-64-v4"], True)
    assert taken(v2) == code["x86-64-v2"] and taken(v3) == taken(v4) == code["x86-64-v3"]
    assert taken({}) is None
    assert taken(v2 | {"fma": True, "avx512f": True}) == code["x86-64-v2"]
    shipped._own_levels.cache_clear()


@pytest.mark.slow
def test_a_wheel_for_this_platform_runs_without_making_kernels(tmp_path):
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, env=os.environ | {"HOLONOMIC_WHEEL": "here"}, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith(f"-py3-none-{shipped.WHEELS[shipped.here()].tag}.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "there")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    env = os.environ | {"PYTHONPATH": str(tmp_path / "there"), "HOLONOMIC_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "holonomic", "run", "seven-body"], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "correct digits" in done.stdout
    assert {path.name for path in cache.iterdir()} == {"models"}


def test_an_unknown_platform_is_refused(monkeypatch):
    hook = pytest.importorskip("hatchling.builders.hooks.plugin.interface")
    import importlib.util

    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.PlatformWheel(str(ROOT), {}, None, None, str(ROOT), "wheel")
    assert isinstance(made, hook.BuildHookInterface)
    monkeypatch.setenv("HOLONOMIC_WHEEL", "amiga")
    with pytest.raises(ValueError, match=r"'amiga' is not known\. Known: here, linux-x86-64"):
        made.initialize("standard", {"force_include": {}})
    monkeypatch.delenv("HOLONOMIC_WHEEL")
    data = {"force_include": {}}
    made.initialize("standard", data)
    assert data == {"force_include": {}} and made.dependencies() == []
