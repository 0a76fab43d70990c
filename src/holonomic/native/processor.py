"""Which processor this is, as people call it, and which instructions it has: what bits of results may depend on."""

from __future__ import annotations

import functools
import os
import platform
import re
from pathlib import Path

# what each level of x86-64 adds to the one below, as its ABI defines them
LEVELS = {
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}


@functools.cache
def processor_name() -> str:
    """Return the name of this computer's processor."""
    if os.name == "posix" and Path("/proc/cpuinfo").is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(errors="replace"), re.MULTILINE)
        if found:
            return found.group(1).strip()
    if platform.system() == "Darwin":
        import subprocess

        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip():
            return asked.stdout.strip()
    return platform.processor() or _asked_of_llvm()[0]


@functools.cache
def processor_level() -> str:
    """Return the level of its instructions, and whether it has fused multiply-adds, which round once where others round twice."""
    return level_of(platform.machine(), *_asked_of_llvm())


def _asked_of_llvm() -> tuple[str, dict[str, bool]]:
    """The processor's kind and features; LLVM is loaded when it is first needed."""
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def level_of(machine: str, kind: str, features: dict[str, bool]) -> str:
    """Return the level that follows from features as LLVM names them."""
    if machine.lower() not in ("x86_64", "amd64"):
        return f"{machine} ({kind}), FMA"  # every 64-bit ARM has it
    level = "x86-64-v1"
    for name, needed in LEVELS.items():
        if not all(features.get(each) for each in needed):
            break
        level = name
    return f"{level} ({kind}), {'FMA' if features.get('fma') else 'no FMA'}"
