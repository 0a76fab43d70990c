"""Kernels and leaves of others: compiled by Numba in this process, when first asked for.

One's own method is written with the same marks as ours and runs beside them. What Numba makes of it is kept in the user's folder,
each file with a digest, stamped with the sources of the package, of the function and of the files beside it.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import sys
from pathlib import Path

import numba
from numba.core import caching
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from . import abi, cachefolder, numba_meaning
from .marks import PACKAGE, Kernel, Leaf
from .sources import hashes_of, stamped_files


def dispatcher(marked: Leaf | Kernel):
    """Return what Numba calls a function by."""
    numba_meaning.teach()
    made = numba_meaning.dispatcher(marked)
    if isinstance(made._cache, caching.NullCache):
        made._cache = _cache(made.py_func)
    return made


def address(kernel: Kernel) -> int:
    """Return the address of a slot function."""
    made = dispatcher(kernel)
    wanted = tuple(abi.numba_type(kind) for kind in kernel.signature.arguments)
    made.compile(wanted)
    result = made.overloads[wanted]
    with global_compiler_lock:
        library = result.library.codegen.create_library(f"slot.{kernel.__name__}")
        module = library.create_ir_module("slot")
        abi.define_slot(result.target_context, module, f"slot.{kernel.__qualname__}", result.fndesc, kernel.signature)
        library.add_ir_module(module)
        library.add_linking_library(result.library)
        library.finalize()
    _libraries.append(library)
    return library.get_pointer_to_function(f"slot.{kernel.__qualname__}")


_libraries: list = []  # they own the code


@functools.cache
def _package_stamp() -> str:
    """Return the hash of every source of the package that a kernel may come from, and of the compiler's version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in stamped_files():
        digest.update(hashes_of(path.relative_to(PACKAGE).as_posix())[1].encode())
    return digest.hexdigest()[:16]


def _neighbours(py_file: str) -> bytes:
    """Return the hash of the folder a kernel of a user's comes from: the leaves it calls stand there."""
    path = Path(py_file).resolve()
    if path.suffix != ".py":
        return b""
    digest = hashlib.sha256()
    for each in sorted(path.parent.glob("*.py")):
        digest.update(each.read_bytes())
    return digest.digest()


class _Locator(caching._CacheLocator):
    """Puts compiled code into our folder, under the stamp of all kernel sources of the package."""

    def __init__(self, py_func, py_file):
        self._name = f"{Path(py_file).stem}-{py_func.__code__.co_firstlineno}"
        source = inspect.getsource(py_func) if Path(py_file).suffix == ".py" else py_func.__qualname__
        self._stamp = _package_stamp()
        self._own = hashlib.sha256(self._stamp.encode() + source.encode() + _neighbours(py_file)).hexdigest()[:12]

    def get_cache_path(self):
        return str(cachefolder.folder() / "kernels")

    def ensure_cache_path(self):
        path = Path(self.get_cache_path())
        cachefolder.make(path)
        cachefolder.hold(path)

    def get_source_stamp(self):
        return self._stamp + self._own

    def get_disambiguator(self):
        return f"{self._name}-{self._own}"

    @classmethod
    def from_function(cls, py_func, py_file):
        try:
            locator = cls(py_func, py_file)
            locator.ensure_cache_path()
        except OSError as problem:
            cachefolder.tell_unusable(problem)
            return None
        return locator


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  a list in Numba's own class too


class _Kept:
    """Compiled versions of one function on disk: a file for each signature, with its digest.

    Numba's own files have neither a digest (a flipped bit is run as machine code) nor the signature beside the code: two
    processes that compile two signatures at once may write both under one number.
    """

    def __init__(self, place: str, base: str, stamp: str):
        self._place, self._base, self._stamp = Path(place), base, stamp

    def _path(self, key) -> Path:
        return self._place / f"{self._base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def save(self, key, data) -> None:
        cachefolder.write_checked(self._path(key), dumps((self._stamp, key, data)))

    def load(self, key):
        content = cachefolder.read_checked(self._path(key))
        if content is None:
            return None
        stamp, known, data = pickle.loads(content)
        return data if (stamp, known) == (self._stamp, key) else None


class _KernelCache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def __init__(self, py_func):
        super().__init__(py_func)
        self._cache_file = _Kept(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())


def _cache(py_func):
    """Return the cache of a function."""
    try:
        return _KernelCache(py_func)
    except RuntimeError:  # no folder to write to: compiled anew in every process
        return caching.NullCache()
