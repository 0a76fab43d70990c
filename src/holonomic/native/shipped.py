"""Kernels as machine code that came with the package: wheels for one platform have it, for some levels of its processors.

Without it, in a wheel for all platforms or a checkout, machine code is made of the bitcode at the first use of a file of kernels,
a second and a half for the first run. Objects are named by what their sources mean, as those kept in the user's folder, so that
code of other sources is never loaded.
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass

import llvmlite.binding as llvm

from .marks import PACKAGE
from .processor import LEVELS

FOLDER = PACKAGE / "native" / "objects"


@dataclass(frozen=True)
class WheelPlatform:
    """A platform that wheels are built for.

    Parameters
    ----------
    triple : str
        As LLVM knows it.
    tag : str
        As wheels are named.
    levels : tuple of str
        Processors, the newest first.
    """

    triple: str
    tag: str
    levels: tuple[str, ...]


# code for x86-64-v4, which LLVM tunes for another processor, took 1.1 times as long with Radau on an AMD EPYC as that for v3
WHEELS = {
    "linux-x86-64": WheelPlatform("x86_64-unknown-linux-gnu", "manylinux_2_17_x86_64", ("x86-64-v3", "x86-64-v2")),
    "linux-arm64": WheelPlatform("aarch64-unknown-linux-gnu", "manylinux_2_17_aarch64", ("generic",)),
    "macos-arm64": WheelPlatform("arm64-apple-macosx11.0.0", "macosx_11_0_arm64", ("apple-m1",)),
    "macos-x86-64": WheelPlatform("x86_64-apple-macosx11.0.0", "macosx_11_0_x86_64", ("x86-64-v3", "x86-64-v2")),
    "windows-x86-64": WheelPlatform("x86_64-pc-windows-msvc", "win_amd64", ("x86-64-v3", "x86-64-v2")),
}


def read(name: str) -> bytes | None:
    """Return the object of this name for this processor, or None where none came with the package."""
    if not FOLDER.is_dir():
        return None
    for level in _own_levels():
        file = FOLDER / f"{name}-{level}.o"
        if file.is_file():
            return file.read_bytes()
    return None


@functools.cache
def _own_levels() -> tuple[str, ...]:
    """Levels whose code runs here, the newest first."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return ("apple-m1", "generic") if platform.system() == "Darwin" else ("generic",)
    features, found = dict(llvm.get_host_cpu_features()), []
    for level, needed in LEVELS.items():
        if not all(features.get(each) for each in needed):
            break
        found.append(level)
    return tuple(reversed(found))


def here() -> str:
    """Return the name of this computer's platform among those that wheels are built for."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    processor = "x86-64" if platform.machine().lower() in ("x86_64", "amd64") else "arm64"
    return f"{system}-{processor}"


def objects_for(wheel: WheelPlatform) -> dict[str, bytes]:
    """Return all kernels that came as bitcode as objects for a platform, by the names of their files."""
    import lzma

    from .library import machine_code
    from .sources import FOLDER as BITCODE
    from .sources import manifest

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made = {}
    for level in wheel.levels:
        machine = llvm.Target.from_triple(wheel.triple).create_target_machine(cpu=level, opt=2, reloc="pic", codemodel="jitdefault")
        for module, known in manifest()["modules"].items():
            short = module.partition(".")[2]
            bitcode = lzma.decompress((BITCODE / f"{short}.bc.xz").read_bytes())
            made[f"{short}-{known['stamp']}-{level}.o"] = machine_code(bitcode, machine)
    return made
