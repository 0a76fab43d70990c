"""Platforms that a model is exported for: processors as LLVM knows them, and what compiles C and links there."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform as this
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm

from ..errors import BadArgument, FileFailed, MissingExtra


@dataclass(frozen=True)
class Platform:
    """A system and a processor."""

    name: str
    triple: str
    cpu: str
    zig: str  # how zig calls it; glibc 2.17 is that of CentOS 7
    library: str  # name of a shared library, with {} for that of the model
    fmi2: str | None  # folder in a unit of FMI 2.0, which has none for ARM
    fmi3: str

    def machine(self):
        """Return LLVM's machine for it, without anything that only this computer has."""
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(cpu=self.cpu, opt=2, reloc="pic", codemodel="default")

    @property
    def system(self) -> str:
        """Linux, Windows or macOS."""
        return self.name.split("-")[0]

    def is_here(self) -> bool:
        """Tell whether it is that of this computer, as far as linking goes."""
        here = {"x86_64": "x86-64", "AMD64": "x86-64", "arm64": "arm64", "aarch64": "arm64"}.get(this.machine(), "")
        return f"{this.system().lower().replace('darwin', 'macos')}-{here}" == self.name.split("-v")[0]


PLATFORMS = {
    each.name: each
    for each in (
        Platform("linux-x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "x86_64-linux-gnu.2.17", "lib{}.so", "linux64",
                 "x86_64-linux"),
        Platform("linux-x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", "x86_64-linux-gnu.2.17", "lib{}.so", "linux64",
                 "x86_64-linux"),
        Platform("linux-arm64", "aarch64-unknown-linux-gnu", "generic", "aarch64-linux-gnu.2.17", "lib{}.so", None,
                 "aarch64-linux"),
        Platform("windows-x86-64", "x86_64-pc-windows-gnu", "x86-64-v3", "x86_64-windows-gnu", "{}.dll", "win64",
                 "x86_64-windows"),
        Platform("macos-arm64", "arm64-apple-macosx11.0.0", "apple-m1", "aarch64-macos", "lib{}.dylib", None,
                 "aarch64-darwin"),
        Platform("macos-x86-64", "x86_64-apple-macosx11.0.0", "x86-64-v2", "x86_64-macos", "lib{}.dylib", "darwin64",
                 "x86_64-darwin"),
    )
}  # fmt: skip


def platform_of(name: str | None) -> Platform:
    """Return a platform by its name; None: this computer's, with the instructions that its processor has."""
    if name is None:
        return _this_one()
    if name not in PLATFORMS:
        raise BadArgument(f"platform={name!r} is not known. Known: {', '.join(PLATFORMS)}.")
    return PLATFORMS[name]


@functools.cache
def _this_one() -> Platform:
    flags = llvm.get_host_cpu_features()
    newer = all(flags.get(each, False) for each in ("avx2", "fma", "bmi2"))
    for each in PLATFORMS.values():
        if each.is_here() and (newer or each.cpu != "x86-64-v3"):
            return each
    here = sysconfig.get_platform()
    raise BadArgument(f"this computer ({here}) is none that models are exported for. Name one: {', '.join(PLATFORMS)}.")


def compiler_for(platform: Platform) -> list[str]:
    """Return the command that compiles C and links for a platform, or say what to install."""
    if importlib.util.find_spec("ziglang") is not None and not (platform.is_here() and _own()):
        return [sys.executable, "-m", "ziglang", "cc", "-target", platform.zig, "-fno-sanitize=all"]
    if not platform.is_here():
        raise MissingExtra(
            f"to link for {platform.name} on this computer takes a compiler that knows it. Install one with: "
            "pip install 'holonomic[export]'"
        )
    if not (own := _own()):
        raise MissingExtra(
            "to link a library takes a C compiler, and none is found (cc, gcc, clang, or the one that CC names). Install one "
            "of the system's, or: pip install 'holonomic[export]'"
        )
    return own


def _own() -> list[str]:
    """The system's own compiler, if there is one."""
    given = os.environ.get("CC", "").split()
    if given and not shutil.which(given[0]):
        raise MissingExtra(f"the environment names {given[0]!r} as compiler (CC), which is not found. Install it, or unset CC.")
    for each in [given] if given else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(each[0]):
            return each
    return []


def link(platform: Platform, sources: list[Path], includes: Path, to: Path, *flags: str) -> None:
    """Compile C files, and link them with objects to a shared library; on Windows with what others link it by beside it."""
    command = [*compiler_for(platform), "-std=c99", "-O2", "-shared", "-fvisibility=hidden", f"-I{includes}", *flags]
    if platform.system != "windows":
        command.append("-fPIC")
    command += [*map(str, sources), "-o", str(to)]
    if platform.system == "windows":
        command.append(f"-Wl,--out-implib,{to.with_suffix('.lib')}")
    else:
        command.append("-lm")
    command.append(f"-Wl,-install_name,@rpath/{to.name}" if platform.system == "macos" else "-Wl,-s")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip()[-2000:] or "nothing"
        raise FileFailed(f"{to.name} could not be linked. {command[0]} ended with status {done.returncode} and says:\n{said}")
