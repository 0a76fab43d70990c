"""How a kernel is compiled, kept on disk, and called through its address.

`@leaf` marks small loops over components: always compiled, callable from Python and from kernels.
`@inner` marks what kernels share: compiled inside compiled kernels, plain Python in interpreted ones.
`@kernel(SIGNATURE)` marks a slot function (a step, a pull): it keeps the plain Python function for
interpreted and GPU runs and compiles, when first asked for, to a machine address. The step loop calls its
slots through these addresses (about 5 ns a call), so any pairing of methods runs without compiling.

Nothing is compiled at import. What Numba compiles is kept in our own folder, stamped with a hash of the file it
stands in and of all kernel sources that one imports: Numba's own stamp looks at one file only and would miss a change in a
leaf it calls. A function of ours that stands anywhere else is refused when it is defined, as a change of it would go unnoticed.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import pickle
import sys
from pathlib import Path

import numba
from numba.core import caching, cgutils
from numba.core.serialize import dumps
from numba.extending import intrinsic, overload, register_jitable

from . import cachefolder

_PACKAGE = Path(__file__).resolve().parent.parent
# Where compiled functions stand, and errors.py, whose status codes they hold as numbers.
STAMPED = (
    "kernels/*.py", "passage/*.py", "loop/*.py", "integrators/*.py", "stabilizations/*.py", "formulations/*.py", "errors.py",
)  # fmt: skip
# contract: a product and a sum may be rounded once instead of twice; nothing else is relaxed.
# _nrt=False: no reference is counted, and a kernel that would allocate does not compile at all.
OPTIONS = {"error_model": "numpy", "nogil": True, "fastmath": {"contract"}, "_nrt": False}


@functools.cache
def kernel_stamp(file: Path | None = None) -> str:
    """Return the hash of every source that the kernels of a file may come from (of all files: None), and of the compiler."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for path in stamped_files() if file is None else sorted(_with_imports(file)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the stamped files that a file names in its imports."""
    stamped, found = set(stamped_files()), set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if not isinstance(node, ast.ImportFrom) or (node.level == 0 and not (node.module or "").startswith("holonomic")):
            continue
        parts = (node.module or "").split(".") if node.module else []
        base = file.parents[node.level - 1] if node.level else _PACKAGE.parent
        place = base.joinpath(*parts)
        found.update({place.with_suffix(".py"), place / "__init__.py", *(place / f"{each.name}.py" for each in node.names)})
    return tuple(found & stamped)


def _with_imports(file: Path) -> set[Path]:
    """Return a file and the stamped files it imports, and those they import."""
    known, todo = set(), [file]
    while todo:
        each = todo.pop()
        if each not in known:
            known.add(each)
            todo += _imports(each)
    return known


def stamped_files() -> list[Path]:
    """Return the sources of the package that kernels are compiled from."""
    return [path for pattern in STAMPED for path in sorted(_PACKAGE.glob(pattern))]


_STAMPED_FOLDERS = {_PACKAGE / pattern.partition("/")[0] for pattern in STAMPED if "/" in pattern}


def _known_place(function):
    """Refuse a function of the package whose source is not stamped: edited, its old machine code would be used."""
    path = Path(function.__code__.co_filename).resolve()
    if _PACKAGE in path.parents and path.parent not in _STAMPED_FOLDERS:
        places = ", ".join(sorted(folder.name for folder in _STAMPED_FOLDERS))
        raise RuntimeError(f"{function.__qualname__} in {path} cannot be compiled there. Put it into one of {places}.")
    return function


def _neighbours(py_file: str) -> bytes:
    """Return the hash of the folder a kernel of a user's comes from: the leaves it calls stand there."""
    path = Path(py_file).resolve()
    if path.suffix != ".py" or _PACKAGE in path.parents:  # ours are all in the stamp
        return b""
    digest = hashlib.sha256()
    for each in sorted(path.parent.glob("*.py")):
        digest.update(each.read_bytes())
    return digest.digest()


class _Locator(caching._CacheLocator):
    """Puts a kernel's compiled code into our folder, under the stamp of all kernel sources."""

    def __init__(self, py_func, py_file):
        self._name = f"{Path(py_file).stem}-{py_func.__code__.co_firstlineno}"
        source = inspect.getsource(py_func) if Path(py_file).suffix == ".py" else py_func.__qualname__
        path = Path(py_file).resolve()
        self._stamp = kernel_stamp(path if _PACKAGE in path.parents else None)
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

    def any(self) -> bool:
        """Tell whether there is a version of the function."""
        return any(self._place.glob(f"{self._base}.*.nbc"))

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


class _AtFirstUse:
    """The cache of a function, made when it is first asked for: reading sources and folders is a third of the import."""

    def __init__(self, py_func):
        self._py_func = py_func

    @functools.cached_property
    def _made(self):
        try:
            return _KernelCache(self._py_func)
        except RuntimeError:  # no folder to write to: compiled anew in every process
            return caching.NullCache()

    def __getattr__(self, name: str):
        return getattr(self._made, name)


def _cached(dispatcher):
    dispatcher._cache = _AtFirstUse(dispatcher.py_func)
    return dispatcher


def leaf(function):
    """Compile a loop over components on first use; it stays compiled even in interpreted runs."""
    return _cached(numba.njit(**OPTIONS)(_known_place(function)))


def is_compiled(dispatcher) -> bool:
    """Tell whether a leaf is compiled already, in this process or on disk."""
    if dispatcher.signatures:
        return True
    kept = getattr(dispatcher._cache, "_cache_file", None)
    return kept is not None and kept.any()


def inner(function):
    """Mark a function that kernels call and that calls model functions: compiled in compiled kernels only."""
    return register_jitable(**OPTIONS)(_known_place(function))


def part(function):
    """Mark a function that is called from one place: its code is put there, and what it is given is not passed.

    A call passes every array in seven words; the parts of the loop took a third of the time of small steps to be called.
    """
    return register_jitable(forceinline=True, **OPTIONS)(_known_place(function))


class Kernel:
    """A slot function: plain Python source plus, on request, its machine address."""

    def __init__(self, function, signature):
        self.py = _known_place(function)
        self.signature = signature
        functools.update_wrapper(self, function)

    @functools.cached_property
    def compiled(self):
        """The Numba dispatcher, compiled for the slot's signature."""
        dispatcher = _cached(numba.njit(**OPTIONS)(self.py))
        dispatcher.compile(self.signature)
        return dispatcher

    @functools.cached_property
    def address(self) -> int:
        """The address the step loop calls."""
        result = self.compiled.overloads[self.signature.args]
        return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)

    def __call__(self, *args):
        return self.py(*args)


def kernel(signature):
    """Mark a slot function of this signature."""
    return lambda function: Kernel(function, signature)


def slot_caller(signature, index: int):
    """Make the function by which the loop calls slot number `index` of a table of slots.

    Interpreted, the table is a sequence of Python functions. Compiled, it is an int64 array of addresses.
    """

    @intrinsic
    def at_address(typingctx, address, arguments):
        def codegen(context, builder, outer, args):
            values = cgutils.unpack_tuple(builder, args[1])
            values = [
                context.cast(builder, value, have, want)
                for value, have, want in zip(values, outer.args[1].types, signature.args, strict=True)
            ]
            function_type = context.call_conv.get_function_type(signature.return_type, signature.args)
            pointer = builder.inttoptr(args[0], function_type.as_pointer())
            status, result = context.call_conv.call_function(
                builder, pointer, signature.return_type, signature.args, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return result

        return signature.return_type(address, arguments), codegen

    def call(slots, *arguments):
        return slots[index](*arguments)

    @overload(call)
    def compiled(slots, *arguments):
        def through_address(slots, *arguments):
            return at_address(slots[index], arguments)

        return through_address

    call.slot = index
    return call
