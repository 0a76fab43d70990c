"""The compiled functions of this package: which code belongs to its sources, loaded when first asked for.

Kernels come compiled: each file of them as bitcode in `bitcode/`, optimized, for any 64-bit processor. At its first use a file's
bitcode becomes machine code for this processor, in a second at most; that is kept in the user's folder. Wheels for one platform
bring it, see `shipped`. Sources that have been changed since are noticed by what they mean, and compiled anew with Numba in
another process.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import json
import lzma
import os
import subprocess
import sys
import threading

import llvmlite.binding as llvm

from ..notices import notice
from . import cachefolder, host, shipped
from .marks import PACKAGE, Kernel, Leaf
from .sources import FOLDER, manifest, sources_of, stamp

_asked: dict[str, dict[str, int]] = {}  # addresses by module


def address(kernel: Kernel) -> int:
    """Return the address of a slot function."""
    return functions_of(kernel.__module__)[f"slot.{kernel.__name__}"]


def python_function(leaf: Leaf):
    """Return a leaf as Python calls it: its machine code where it has types, else its source."""
    known = functions_of(leaf.__module__)
    at = known.get(f"python.{leaf.__name__}")
    return leaf.py if at is None else host.as_function(leaf.__name__, at)


def functions_of(module: str) -> dict[str, int]:
    """Return the addresses of the functions of a module."""
    if module not in _asked:
        _asked[module] = _loaded(module)
    return _asked[module]


def _loaded(module: str) -> dict[str, int]:
    name, fetch = _bitcode(module)
    host.introduce_python()
    came = shipped.read(name)
    found = None if came is None else _addresses(came)
    if found is not None:
        return found
    kept = f"{name}-{host.short_identity()}.o"
    code = cachefolder.read("kernels", kept)
    if code is not None:
        found = _addresses(code)
        if found is not None:
            return found
    code = machine_code(fetch(), host.machine())
    cachefolder.write("kernels", kept, code)
    found = _addresses(code)
    if found is None:
        raise RuntimeError(f"the compiled kernels of {module} cannot be loaded. Remove {cachefolder.folder() / 'kernels'}.")
    return found


def _addresses(code: bytes) -> dict[str, int] | None:
    names, _, rest = code.partition(b"\n")
    try:
        return host.load(rest, json.loads(names))
    except ValueError:  # cut off
        return None


def machine_code(bitcode: bytes, target) -> bytes:
    """Return an object file for a processor of LLVM's, behind a line with the names of its functions."""
    module = llvm.parse_bitcode(bitcode)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    names = [each.name for each in module.functions if each.name.startswith(("slot.", "python.")) and not each.is_declaration]
    return json.dumps(names).encode() + b"\n" + target.emit_object(module)


def bitcode_of(module: str) -> bytes:
    """Return the optimized bitcode of a module of kernels."""
    return _bitcode(module)[1]()


def _bitcode(module: str):
    """Return a name for the code of a module, and the function that fetches its bitcode."""
    short = module.partition(".")[2]
    came = manifest()["modules"].get(module)
    if came is not None and stamp(came["sources"]) == came["stamp"]:
        return f"{short}-{came['stamp']}", lambda: lzma.decompress((FOLDER / f"{short}.bc.xz").read_bytes())
    now = stamp(sources_of(module))
    return (f"{short}-{now}", lambda: cachefolder.read("kernels", f"{short}-{now}.bc") or _built(module, f"{short}-{now}.bc"))


def _built(module: str, name: str) -> bytes:
    """Compile the kernels of a module in another process."""
    if importlib.util.find_spec("numba") is None:
        raise RuntimeError(
            f"the sources of {module} are not those its compiled kernels were made from, and to compile them anew takes Numba. "
            "Install it with: pip install 'holonomic[methods]'"
        )
    notice(f"compiling {module}, whose sources have changed ...")
    fine, answer = _builder().ask(module)
    if not fine:
        raise RuntimeError(f"{module} does not compile:\n{answer.decode(errors='replace')[-4000:]}")
    code = lzma.decompress(answer)
    cachefolder.write("kernels", name, code)
    return code


@functools.cache
def _builder() -> _Builder:
    return _Builder()


class _Builder:
    """The process that compiles; it ends with this one, and what it has lowered for one module it has for the next."""

    def __init__(self):
        path = os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "holonomic.native"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
        self._lock = threading.Lock()
        atexit.register(self._end)

    def ask(self, module: str) -> tuple[bool, bytes]:
        """Return whether a module was compiled, and its bitcode or what was wrong."""
        with self._lock:
            self._process.stdin.write(module.encode() + b"\n")
            self._process.stdin.flush()
            head = self._process.stdout.readline().split()
            if len(head) != 2:
                return False, b"the process that compiles has ended."
            return head[0] == b"fine", self._process.stdout.read(int(head[1]))

    def _end(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
