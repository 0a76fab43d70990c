"""A wheel for one platform brings the kernels as its machine code: `HOLONOMIC_WHEEL=linux-x86-64 python -m build --wheel`.

Without the variable a wheel suits all platforms, and kernels become machine code when they are first used. Every platform of
`src/holonomic/native/shipped.py` can be built for on any other; "here" is that of this computer. Neither Numba nor a compiler
takes part.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformWheel(BuildHookInterface):
    """Puts objects into a wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What isolated builds install."""
        return ["llvmlite>=0.50", "numpy>=2.0"] if self._wanted() else []

    def initialize(self, version: str, build_data: dict) -> None:
        """Compile what the wheel takes along."""
        if not self._wanted():
            return
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            from holonomic.native.shipped import WHEELS, here, objects_for
        finally:
            sys.path.pop(0)
        name = here() if self._wanted() == "here" else self._wanted()
        if name not in WHEELS:
            raise ValueError(f"HOLONOMIC_WHEEL={name!r} is not known. Known: here, {', '.join(WHEELS)}.")
        self._folder = tempfile.TemporaryDirectory()
        for file, code in objects_for(WHEELS[name]).items():
            path = Path(self._folder.name) / file
            path.write_bytes(code)
            build_data["force_include"][str(path)] = f"holonomic/native/objects/{file}"
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{WHEELS[name].tag}"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """Remove what was compiled."""
        if self._wanted():
            self._folder.cleanup()

    def _wanted(self) -> str:
        return os.environ.get("HOLONOMIC_WHEEL", "") if self.target_name == "wheel" else ""
