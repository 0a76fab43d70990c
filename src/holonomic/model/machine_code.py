"""Machine code of model functions: compiled once, kept by content, loaded in milliseconds."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import llvmlite.binding as llvm
from llvmlite import ir

from ..native import cachefolder, host
from .emit import FLAGS, llvm_function
from .tape import Tape


@functools.cache
def _makers() -> bytes:
    """Return the hash of what turns a tape into machine code."""
    digest = hashlib.sha256(f"{host.identity()} {FLAGS}".encode())
    for name in ("emit.py", "lines.py", "sines.py", "machine_code.py", "newton_factors.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.digest()


def content_name(tapes: dict[str, Tape], lanes: int = 1) -> str:
    """Return the cache name of a set of functions on this machine, for one element or several at once."""
    digest = hashlib.sha256(_makers())
    if lanes > 1:
        digest.update(f"{lanes} lanes".encode())
    for name in sorted(tapes):
        digest.update(name.encode())
        digest.update(tapes[name].text().encode())
    return digest.hexdigest()[:32]


def compile_tapes(tapes: dict[str, Tape], lanes: int = 1) -> str:
    """Compile the tapes into one object file in the cache; return its content name.

    Returns at once when the object is there already.
    """
    name = content_name(tapes, lanes)
    if name in _loaded or _kept(name) is not None:
        return name
    code = _compile(tapes, lanes)
    if not any(tape.calls for tape in tapes.values()):
        cachefolder.write("models", name + ".o", code)
    _memory[name] = code
    return name


def _kept(name: str) -> bytes | None:
    """Return an object from the cache; None where it is missing or damaged."""
    return cachefolder.read("models", name + ".o")


_memory: dict[str, bytes] = {}  # objects compiled in this process, for when nothing can be written
_loaded: dict[str, dict[str, int]] = {}


def addresses(name: str, functions: tuple[str, ...]) -> dict[str, int] | None:
    """Return the address of each function of a compiled object, or None when it is not in the cache."""
    if name in _loaded:
        return _loaded[name]
    code = _memory.get(name) or _kept(name)
    if code is None:
        return None
    found = host.load(code, functions)
    if found is not None:  # unreadable means rebuilt
        _loaded[name] = found
    return found


def compiled_here() -> frozenset[str]:
    """Return the names of what this process, or the one that it is a copy of, has compiled."""
    return frozenset(_memory)


def are_kept(names: frozenset[str]) -> bool:
    """Whether all of these are in the cache."""
    return all(_kept(name) is not None for name in names)


def _compile(tapes: dict[str, Tape], lanes: int) -> bytes:
    machine = host.machine()
    return machine.emit_object(module_of(tapes, machine, lanes))


def module_of(tapes: dict[str, Tape], machine, lanes: int = 1, own_times=False) -> llvm.ModuleRef:
    """Return tapes as optimized functions under their names, for a processor of LLVM's."""
    module = ir.Module("model")
    module.triple = machine.triple
    for function, tape in tapes.items():
        llvm_function(module, tape, function, lanes, own_times)
    compiled = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(speed_level=1)  # more finds nothing in straight-line code
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(compiled, builder)
    return compiled


def assembly(tapes: dict[str, Tape]) -> str:
    """Return the machine code as text, for people."""
    machine = host.machine()
    module = ir.Module("model")
    module.triple = llvm.Target.from_default_triple().triple
    for function, tape in tapes.items():
        llvm_function(module, tape, function)
    return machine.emit_assembly(llvm.parse_assembly(str(module)))
