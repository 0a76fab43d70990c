"""opaque: functions that cannot be traced, called with numbers from compiled code.

A call of one on symbols becomes one node of the expression graph, see `outside_functions`: everything around it is traced,
differentiated and compiled as ever. Each way of calling it (shapes of arrays, fixed arguments) is such a function of its own.
"""

from __future__ import annotations

import contextvars
import functools
import math
import sys
from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadArgument
from .call_by_name import Names, known_in
from .opaque_code import code_of

# gives the numbers that expressions have at the points where a function is checked, the start first
AT_POINTS: contextvars.ContextVar[Callable | None] = contextvars.ContextVar("numbers in the place of symbols", default=None)
AGREES = 1e-10  # compiled and from Python, they differ by rounding only


def opaque(f: Any = None, jac: Any = None, *, shape: int | tuple[int, ...] | None = None):
    """Make a function known that cannot be traced: it is called with numbers, and runs beside what is traced.

    Use it for look-ups in files, other libraries and compiled code, in functions of a System, Ode, Dae or mechanism, in events
    and outputs; as a decorator or around a function::

        @opaque
        def drag(speed): return wind_tunnel.look_up(speed)

        law = opaque(library.law, jac=library.slope)
        system = System(mass=np.eye(2), force=lambda q, v: -law(q) - drag(v[0]) * v)

    Compiled functions are called by their address, on all threads of a sweep: those of Numba (`njit`, `cfunc`), of ctypes
    with argtypes and restype, and `scipy.LowLevelCallable`. All others go through Python, one at a time. Explicit and implicit
    methods and sweeps run; a GPU, pages and `export` cannot have them.

    Parameters
    ----------
    f : function
        Of numbers and arrays; it returns a number or an array, always of the same shape, that follows from its arguments alone.
        A C function has the form ``double f(double, ...)``, ``double f(int n, double *x)`` or ``void f(double *x, double *out)``;
        a last ``void *`` is the user data of a `LowLevelCallable`. Integers, truths and texts are passed on as they are.
    jac : function, optional
        Of the same arguments: ∂f/∂(all numbers it takes, one argument after the other), a row for each number of f. Without
        it, differences of order 4, whose steps are measured at the start; second derivatives, where constraints need them,
        are differences in any case.
    shape : int or tuple of int, optional
        Of what a C function writes into ``double *out``.

    Returns
    -------
    Opaque
        To be called like f.

    Notes
    -----
    A function that raises ends the run with what it raised; ``error.solution`` has the run so far. At the start of a run
    the compiled call is compared with the one from Python, and jac with differences.

    Examples
    --------
    >>> import math
    >>> from holonomic import Ode, opaque, simulate
    >>> @opaque
    ... def law(x):
    ...     return float(str(-x))  # nothing that could be traced
    >>> sol = simulate(Ode(lambda y: [law(y[0])]), 1.0, y0=[1.0])
    >>> bool(abs(sol.y[-1, 0] - math.exp(-1)) < 1e-6)
    True
    """
    if f is None:
        return functools.partial(opaque, jac=jac, shape=shape)
    return Opaque(f, jac, shape)


class Opaque:
    """A function that is called with numbers; made by `opaque`."""

    def __init__(self, f, jac=None, shape=None):
        if isinstance(f, Opaque):
            raise BadArgument(f"opaque: {f.name!r} is opaque already.")
        self.shape = None if shape is None else tuple(np.atleast_1d(shape).tolist()) if shape != () else ()
        self.f, self.jac = f, jac.f if isinstance(jac, Opaque) else jac
        self.code = code_of(f)
        self.name = self.code.name
        self.__name__, self.__doc__ = self.name, f.__doc__
        self.__module__, self.__qualname__ = self.code.place
        self._made: dict[tuple, list[_Made]] = {}  # by how it is called; several, where one step of differences does not suit all
        self.version = 0  # how often it was found to be another function than before
        if self.code.signature is not None:
            self.__signature__ = self.code.signature

    def __reduce__(self):
        try:  # a decorated function has its place in a module, where another process finds it
            found = attrgetter(self.__qualname__)(sys.modules[self.__module__])
        except (KeyError, AttributeError):
            found = None
        return self.__qualname__ if found is self else (type(self), (self.f, self.jac, self.shape))

    def __repr__(self) -> str:
        return f"opaque({self.name})"

    def __call__(self, *args, **named):
        if named:
            if self.code.signature is None:
                raise BadArgument(f"opaque {self.name!r} takes its arguments by position.")
            args = self.code.signature.bind(*args, **named).args
        if not any(map(_may_be_symbolic, args)):
            return self._on_numbers(args)
        from .symbol_array import is_symbolic

        plain = [list(known_in(each).values()) if isinstance(each, Names) else each for each in args]
        return self._on_symbols(args) if any(map(is_symbolic, plain)) else self._on_numbers(args)

    def _on_numbers(self, args):
        if self.code.in_python:
            return self.f(*args)
        given = Given(args, self.code.fixes)
        x = np.array(given.flat, dtype=float)
        made = (self._made.get(given.key) or [self._new(given, [x])])[-1]
        values = made.function.on_numbers(x)
        return values.reshape(made.shape) if made.shape else float(values[0])

    def _on_symbols(self, args):
        from .symbol import Symbol, as_sx
        from .symbol_array import SymbolArray
        from .symbolics import call, vertcat, vertsplit

        given = Given(args, self.code.fixes)
        entries = [as_sx(each) for each in given.flat]
        for each, sx in zip(given.flat, entries, strict=True):
            if sx is None:
                raise BadArgument(f"opaque {self.name!r} takes numbers and arrays of them, got {each!r}.")
        expressions = vertcat(*entries)
        at_points = AT_POINTS.get()
        if at_points is None:
            raise BadArgument(f"opaque {self.name!r} is called with symbols, but outside the functions of a system.")
        made = self._suiting(given, at_points(expressions))
        values = np.empty(made.function.m, dtype=object)
        values[:] = [Symbol(value) for value in vertsplit(call(made.function, expressions))]
        return values.reshape(made.shape).view(SymbolArray) if made.shape else values[0]

    def _suiting(self, given: Given, points: list[np.ndarray]) -> _Made:
        """What was made for calls like this one, with steps of differences that suit these points; else made anew."""
        known = self._made.get(given.key, [])
        if not all(map(self._agrees, known)):
            self.version, self.code, known = self.version + 1, code_of(self.f), []
            self._made[given.key] = known
        return next((made for made in known if made.function.suits(points)), None) or self._new(given, points)

    def _new(self, given: Given, points: list[np.ndarray]) -> _Made:
        shape = self.code.shape(given, points, self.shape)
        made = _Made(self._compiled(given, shape, points), shape, points[0], given)
        self._made.setdefault(given.key, []).append(made)
        return made

    def _compiled(self, given: Given, shape, points):
        from .outside_functions import OutsideFunction

        n, m = len(given.flat), int(np.prod(shape))
        jac = None
        if self.jac is not None:
            code = code_of(self.jac)
            jac = OutsideFunction(self.name, n, m * n, code.compiled(given, (m, n), points, f"jac of opaque {self.name!r}"), points)
        made = OutsideFunction(self.name, n, m, self.code.compiled(given, shape, points, f"opaque {self.name!r}"), points, jac)
        gap = self._disagrees(_Made(made, shape, points[0], given))
        if gap is not None:
            raise BadArgument(
                f"opaque {self.name!r} gives {gap[1]:.6g} in entry {gap[0]} when it is called from Python, but {gap[2]:.6g} from "
                "compiled code. Does it use random numbers or something that changes? Leave that out."
            )
        return made

    def _disagrees(self, made: _Made) -> tuple[int, float, float] | None:
        """Where the compiled call and the one from Python differ: entry, theirs, ours."""
        if not self.code.in_python:
            return None
        with np.errstate(all="ignore"):
            theirs = np.ravel(np.asarray(self.f(*made.given.rebuilt(made.x.tolist())), dtype=float))
        mine = made.function.on_numbers(made.x)
        if theirs.size != mine.size:
            return 0, theirs.size, mine.size
        gap = np.abs(theirs - mine) > AGREES * (1.0 + np.abs(theirs))
        gap |= np.isnan(theirs) != np.isnan(mine)
        return None if not gap.any() else (k := int(np.argmax(gap)), float(theirs[k]), float(mine[k]))

    def _agrees(self, made: _Made) -> bool:
        """Whether what was compiled still gives what the function gives; what goes through Python is called as it is."""
        if not self.code.copied:
            return True
        theirs = self.f(*made.given.rebuilt(made.x.tolist()))
        plain = list(theirs) if type(theirs) is tuple else [theirs] if type(theirs) is float else None
        if plain is not None and plain == made.function.on_numbers(made.x).tolist():  # at every run, so it is done in 2 µs
            return True
        return self._disagrees(made) is None

    def is_current(self, version: int) -> bool:
        """Whether what was made of it by then gives what it gives now: a function of Numba may have been compiled anew."""
        return version == self.version and all(self._agrees(made) for known in self._made.values() for made in known)


def _may_be_symbolic(argument) -> bool:
    kind = type(argument)
    return kind not in (float, int, bool, str, np.float64) and not (kind is np.ndarray and argument.dtype.kind in "fiub")


class _Made(NamedTuple):
    """A function for one way of being called."""

    function: Any  # OutsideFunction
    shape: tuple[int, ...]
    x: np.ndarray  # where it was first called
    given: Given


class Given:
    """What a function is called with: numbers one after the other, and how the arguments are made of them.

    Attributes
    ----------
    flat : list
        All numbers or symbols.
    key : tuple
        Equal where arguments are alike but for these numbers.
    forms : list
        For each argument: (), a shape, a dict of names, or what stands for itself.
    """

    def __init__(self, args: tuple, fixes: bool):
        self.flat: list = []
        self.forms = [self._form(each, fixes) for each in args]
        self.key = tuple(map(_key, self.forms))
        self._plain = all(kind == "number" for kind, _ in self.forms)

    def _form(self, argument, fixes: bool) -> tuple[str, Any]:
        if isinstance(argument, Names):
            return "names", {name: self._form(value, False) for name, value in known_in(argument).items()}
        if fixes and isinstance(argument, bool | int | str | np.integer | np.bool_ | None):
            return "fixed", argument
        array = np.asarray(argument, dtype=None if isinstance(argument, np.ndarray) else object)
        if array.dtype.kind in "iub":
            array = array.astype(float)
        self.flat += array.ravel().tolist()
        return "number" if array.ndim == 0 else "array", array.shape

    def rebuilt(self, x) -> list:
        """The arguments with these numbers."""
        if self._plain:
            return x
        numbers = iter(x)
        return [_rebuilt(form, numbers) for form in self.forms]


def _key(form):
    kind, what = form
    if kind == "names":
        return kind, tuple((name, _key(each)) for name, each in what.items())
    return kind, type(what), what


def _rebuilt(form, numbers):
    kind, what = form
    if kind == "fixed":
        return what
    if kind == "names":
        return Names(**{name: _rebuilt(each, numbers) for name, each in what.items()})
    if kind == "number":
        return next(numbers)
    return np.array(list(islice(numbers, math.prod(what)))).reshape(what)
