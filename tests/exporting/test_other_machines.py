"""Libraries for other processors and systems, run here by QEMU and Wine: the bits of this computer's."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_library import needs_compiler

from holonomic import DOP853, Event, Projection, System, export
from holonomic.exporting.platforms import PLATFORMS, compiler_for

ARM_SYSTEM = Path("/usr/aarch64-linux-gnu")  # Debian: libc6-arm64-cross
WINE = next((path for name in ("wine64", "wine", "/usr/lib/wine/wine64") if (path := shutil.which(name))), None)
HERE = Path(__file__).parent

pytestmark = [
    needs_compiler,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="needs a compiler for others: pip install ziglang"),
    pytest.mark.skipif(not PLATFORMS["linux-x86-64-v3"].is_here(), reason="compares with what Linux with x86-64 gives"),
]


def made_for(platform, folder):
    """The pendulum, and a program that moves it, for a platform; return the program."""
    swing = System(
        mass=lambda p: p.m * np.eye(2), force=lambda p, u: [u.push, -p.m * p.g], constraint={"rod": lambda q, p: q @ q - p.L**2},
        params={"m": 1.0, "g": 9.81, "L": 1.0}, inputs={"push": 0.0}, coordinates=("x", "y"),
        outputs={"angle": lambda q: np.arctan2(q[0], -q[1]) + np.sin(3 * q[0])},
    )  # fmt: skip
    wall = Event(lambda q: q[0] + 0.5, direction="falling", then=lambda q, v: (q, -0.9 * v))
    made = export(
        swing, 10.0, q0=[1.0, 0.0], v0=[0.0, 0.0], integrator=DOP853(), stabilization=Projection(), events={"wall": wall},
        folder=folder, name="swing", platform=platform,
    )  # fmt: skip
    program = made.folder / "driver.exe"
    command = [*compiler_for(PLATFORMS[platform]), "-std=c99", "-O1", f"-I{made.folder}", str(HERE / "other_machines.c")]
    how = [str(made.folder / "swing.lib")] if "windows" in platform else [f"-L{made.folder}", "-lswing", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, *how, "-o", str(program)], check=True, capture_output=True)
    return program


@pytest.fixture(scope="module")
def at_home(tmp_path_factory):
    program = made_for("linux-x86-64-v3", tmp_path_factory.mktemp("home") / "swing")
    told = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert len(told.splitlines()) == 23 and told.splitlines()[19].split()[-1] != "0"  # it has bounced
    return told


@pytest.mark.skipif(shutil.which("qemu-aarch64") is None or not ARM_SYSTEM.exists(), reason="needs qemu-user, libc6-arm64-cross")
def test_a_library_for_arm_gives_the_bits_of_this_computers(at_home, tmp_path):
    program = made_for("linux-arm64", tmp_path / "swing")
    done = subprocess.run(["qemu-aarch64", "-L", ARM_SYSTEM, program], check=True, capture_output=True, text=True)
    assert done.stdout == at_home


@pytest.mark.skipif(WINE is None, reason="needs Wine")
def test_a_library_for_windows_gives_the_bits_of_this_computers(at_home, tmp_path):
    program = made_for("windows-x86-64", tmp_path / "swing")
    around = os.environ | {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}
    done = subprocess.run([WINE, program], check=True, capture_output=True, text=True, env=around)  # writes %a otherwise
    rows = lambda told: np.array([[float.fromhex(each) for each in line.split()] for line in told.splitlines()])
    found, wanted = rows(done.stdout), rows(at_home)
    exact = [0, 1, 2, 3, 4, 5, 7]
    assert (found[:, exact] == wanted[:, exact]).all()
    np.testing.assert_allclose(found[:, 6], wanted[:, 6], rtol=0, atol=5e-16)  # its arcus tangent is that of each system


def test_a_library_for_windows_comes_with_what_its_linkers_want(tmp_path):
    program = made_for("windows-x86-64", tmp_path / "swing")
    assert sorted(each.name for each in program.parent.iterdir() if each.stem != "driver") == [
        "CMakeLists.txt", "main.c", "swing.dll", "swing.h", "swing.lib",
    ]  # fmt: skip
    assert "IMPORTED_IMPLIB" in (program.parent / "CMakeLists.txt").read_text()
