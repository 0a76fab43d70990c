"""An exported library as tests call it, and what they skip for."""

import ctypes
import shutil

import numpy as np
import pytest

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
REAL, WHOLE, ANY, NUMBERS = ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_double)
TYPES = {
    "create": (ANY,), "free": (None, ANY), "reset": (WHOLE, ANY, REAL, ANY, ANY), "get": (REAL, ANY, WHOLE),
    "set": (WHOLE, ANY, WHOLE, REAL), "set_input": (WHOLE, ANY, WHOLE, REAL, REAL), "step_to": (WHOLE, ANY, REAL),
    "time": (REAL, ANY), "steps": (ctypes.c_int64, ANY), "q": (NUMBERS, ANY), "v": (NUMBERS, ANY),
    "accelerations": (NUMBERS, ANY), "lambda": (NUMBERS, ANY), "outputs": (NUMBERS, ANY), "residuals": (NUMBERS, ANY),
    "position_drift": (REAL, ANY), "velocity_drift": (REAL, ANY), "size": (ctypes.c_size_t,), "save": (None, ANY, ANY),
    "events": (WHOLE, ANY, ANY, ANY, WHOLE), "event_count": (ctypes.c_int64, ANY, WHOLE), "joint_forces": (NUMBERS, ANY),
    "restore": (None, ANY, ANY), "create_in": (ANY, ANY), "text": (ctypes.c_char_p, WHOLE),
}  # fmt: skip


class Library:
    """The functions of a library by their names without prefix."""

    def __init__(self, made):
        loaded = ctypes.CDLL(str(made.library))
        for name, (returns, *takes) in TYPES.items():
            function = getattr(loaded, f"{made.name}_{name}")
            function.restype, function.argtypes = returns, takes
            setattr(self, name, function)


class Instance:
    """One simulation of a library."""

    def __init__(self, library):
        self.library, self.at = library, library.create()

    def __getattr__(self, name):
        return lambda *given: getattr(self.library, name)(self.at, *given)

    def numbers(self, name, n):
        """n numbers that a function points to."""
        return np.array(getattr(self, name)()[:n])

    def happened(self, room=64):
        """Times and numbers of the events of the last call."""
        t, which = np.zeros(room), np.zeros(room, dtype=np.intc)
        n = self.events(t.ctypes.data, which.ctypes.data, room)
        return t[:n], which[:n]

    def begin(self, t0=0.0, q0=None, v0=None):
        """Begin again."""
        given = [None if each is None else np.array(each, dtype=float) for each in (q0, v0)]
        return self.reset(t0, *(None if each is None else each.ctypes.data for each in given))
