"""This computer's processor: code for it, and code loaded into this process."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys

import llvmlite
import llvmlite.binding as llvm
import numpy as np

_engines: list = []  # engines own the code of their functions: they live as long as the process


@functools.cache
def machine():
    """Return the target machine of this computer."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="jitdefault"
    )


@functools.cache
def identity() -> str:
    """Return text that tells this computer's code from that of others."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvmlite.__version__} {llvm.get_host_cpu_name()} {llvm.get_default_triple()} {features}"


@functools.cache
def short_identity() -> str:
    """Return the same in eight letters."""
    return hashlib.sha256(identity().encode()).hexdigest()[:8]


def load(code: bytes, names) -> dict[str, int] | None:
    """Load an object file; return the addresses of these functions, or None where it does not have them."""
    machine()
    plain = llvm.Target.from_default_triple().create_target_machine(codemodel="jitdefault")
    try:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), plain)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
    except RuntimeError:
        return None
    found = {name: engine.get_function_address(name) for name in names}
    if not all(found.values()):
        return None
    _engines.append(engine)
    return found


# what code that Python calls has to know of Python and NumPy
_head = ctypes.c_int64(object.__basicsize__)  # bytes before the fields of an object
_ndarray = ctypes.c_void_p(id(np.ndarray))
_int64 = ctypes.c_char(np.dtype(np.int64).char.encode())
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Format", "PyErr_Occurred", "PyObject_IsTrue", "PyFloat_AsDouble",
    "PyLong_AsLongLong", "PyTuple_Size", "PyTuple_GetItem", "PyObject_Type", "Py_DecRef", "PyObject_GetBuffer",
    "PyBuffer_Release", "PyFloat_FromDouble", "PyBool_FromLong", "PyLong_FromLongLong", "Py_BuildValue", "PyTuple_New",
    "PyTuple_SetItem",
)  # fmt: skip


@functools.cache
def introduce_python() -> None:
    """Tell the loader where Python's own functions are, for code that calls them."""
    for name in _PYTHON:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    error = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyExc_TypeError")
    for name, variable in (
        ("holonomic_type_error", error), ("holonomic_head", _head), ("holonomic_ndarray", _ndarray), ("holonomic_int64", _int64),
    ):  # fmt: skip
        llvm.add_symbol(name, ctypes.addressof(variable))


class _Definition(ctypes.Structure):
    """A PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("text", ctypes.c_char_p))


_METH_FASTCALL = 0x80
_definitions: list = []  # Python keeps their addresses


def as_function(name: str, address: int):
    """Return machine code with CPython's calling convention as a function of Python's."""
    definition = _Definition(name.encode(), address, _METH_FASTCALL, None)
    _definitions.append(definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return make(ctypes.addressof(definition), None, None)


if sys.maxsize < 2**62:
    raise ImportError("holonomic runs on 64-bit computers only: its kernels take words of 64 bits.")
