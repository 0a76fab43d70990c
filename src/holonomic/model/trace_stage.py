"""Where a system's functions are run on symbols: which symbol stands for what, and the numbers they are checked with."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError, NotFinite, UntraceableFunction, WrongShape
from . import make_symbols
from .branches import Inline, ways
from .call_by_name import BASIC, Names, UnknownParameter, call, flatten_params, param_names, param_slices
from .dae import Dae, needs_tracing, state_values
from .extra_states import NONE, Extras, allowed
from .function_memory import Remembered
from .function_signature import COPIES
from .given_numbers import numbers_text, refuse_matrix, refuse_no_numbers
from .input_tables import input_table
from .opaque import AT_POINTS
from .rebound import Rebound
from .refusals import REFUSALS, line_of, tracing
from .switchboard import Switchboard
from .symbolics import SX, densify, function_of, operations, reshape, vertcat
from .system import Ode, System
from .watch import Watch

ANY = ()  # shape of an output: what it returns
CHECK_TOLERANCE = 1e-10  # traced and own function differ by rounding only


def ways_through(run, role: str):
    """Return what `run()` gives with copies in the place of the user's functions, joined over all ways they can decide."""
    inline: frozenset = frozenset()  # functions that decide with their caller
    memory = Remembered()

    def once():
        copies = Rebound(inline, memory)
        memory.begin()
        tokens = COPIES.set(copies), REFUSALS.set([])
        try:
            value = run()
            for swallowed in REFUSALS.get():  # by an `except` in the function: it went on without its value
                raise swallowed
        finally:
            REFUSALS.reset(tokens[1])
            COPIES.reset(tokens[0])
        copies.look_back()
        return value

    with tracing(role):
        while True:
            try:
                value = ways(once)
                if memory.marked:
                    memory.check(value)
                if not memory.kept - memory.marked:
                    return value
                memory = Remembered(memory.kept | memory.marked, written=memory.written)
            except Inline as found:
                inline |= {found.code}


class TraceStage:
    """The symbols of one system, and the numeric points at which the user's functions are checked."""

    def __init__(self, system: System | Ode, q0: np.ndarray, v0: np.ndarray, t0: float, extras: Extras = NONE):
        self.system, self.extras = system, extras
        self.points: list[dict[str, Any]] = []
        self._start = (t0, q0, v0)
        self.lam_sx: SX | None = None  # known from `with_multipliers` on
        self.depends = False  # whether checks of the mass matrix might end otherwise with other parameters
        self.is_ode = isinstance(system, Ode)
        self.is_dae = isinstance(system, Dae)
        self.letter = "x" if self.is_dae else "y" if self.is_ode else "q"  # of the state, in messages
        nq, nv = len(q0), len(v0)
        self.t_sx, t = make_symbols.symbol_scalar("t")
        self.q_sx, q = make_symbols.symbol_vector(self.letter, nq)
        self.v_sx, v = make_symbols.symbol_vector("v", nv)
        self.a_sx, a = make_symbols.symbol_vector("a", nv)
        params = dict(system.params or {})
        self.places = param_slices(params)
        self.flat_params = flatten_params(params)
        self.p_sx, p = make_symbols.symbol_vector("p", len(self.flat_params))
        p.flags.writeable = self.flat_params.flags.writeable = False  # all functions share them
        names = {"t": t, "p": param_names(p, self.places)}
        self.board = Switchboard(self.t_sx, vertcat(self.q_sx, self.v_sx), SX(0, 1) if self.is_ode else self.a_sx)
        inputs = dict(system.inputs or {})
        self.u_sx, u = make_symbols.symbol_vector("u", 3 * len(inputs))
        self.inputs = inputs
        symbolic_inputs = {}
        for i, (name, given) in enumerate(inputs.items()):
            if callable(given):
                symbolic_inputs[name] = self._on_symbols(given, f"input {name!r}", ("t", "p"), names, not self.is_dae)
            else:
                symbolic_inputs[name] = u[3 * i] + u[3 * i + 1] * (t - u[3 * i + 2])
        names["u"] = Names(**symbolic_inputs)
        names |= state_values(system, q, v, extras) | ({} if self.is_ode else {"a": a})
        self.names = names
        self.allowed = system.names if isinstance(system, Ode) else BASIC
        self.forgets = False  # whether velocity terms vanish with these parameters alone
        self.points = self._points(q0, v0, t0)

    def _points(self, q0, v0, t0) -> list[dict[str, Any]]:
        """The start and two points near it; random, but the same every time."""
        random = np.random.default_rng(7)
        points = []
        for spread in (0.0, 0.05, 0.3):
            q = q0 + spread * random.uniform(-1, 1, len(q0)) * (0.3 + np.abs(q0))
            v = v0 + spread * random.uniform(-1, 1, len(v0)) * (1.0 + np.abs(v0))
            point = {"t": t0 + spread, "a": random.uniform(-1, 1, len(v0)), "lam": None, "state": (q, v)}
            point |= state_values(self.system, q, v, self.extras)
            point["p"] = param_names(self.flat_params, self.places)
            point["u"] = Names(**{name: self._input_at(name, given, point) for name, given in self.inputs.items()})
            points.append(point)
        return points

    def _input_at(self, name, given, point):
        if callable(given):
            return call(given, f"input {name!r}", ("t", "p"), point)
        return float(np.interp(point["t"], *input_table(name, given)))

    def seen(self, role: str) -> tuple[str, ...]:
        """What a function in this role may name."""
        return allowed(self.system, role, self.allowed)

    def run(self, function, role: str, shape, allowed=None, switching: bool = False) -> SX:
        """Run one function on the symbols, check its shape and its values at the numeric points.

        shape: (rows, columns), ANY, or None for one row of numbers, however many. With `switching` its comparisons become
        switches.
        """
        allowed = allowed or self.allowed
        try:
            with make_symbols.tracing(role):
                result = make_symbols.to_sx(self._on_symbols(function, role, allowed, self.names, switching))
            self._refuse_other(function, role, allowed, result, switching)
        except UnknownParameter as problem:
            raise BadArgument(f"{role} uses {problem}") from None
        except HolonomicError:
            raise
        except Exception as problem:
            if self._fails_on_numbers(function, role, allowed):  # a mistake that has nothing to do with symbols
                t, (q, _) = self.points[0]["t"], self.points[0]["state"]
                problem.add_note(f"raised by {role} at the start, t = {t:g}, {self.letter} = {numbers_text(q)}")
                raise
            text = next(iter(str(problem).splitlines()), "")
            raise UntraceableFunction(
                f"{role} cannot be run on symbols{line_of(problem)}: {type(problem).__name__}: {text.rstrip('.')}. "
                "Write it with NumPy functions of its arguments, or call what needs numbers through opaque(f)."
            ) from problem
        if shape is not None and shape != ANY and result.shape != shape:
            if shape[1] == 1 and result.shape == (shape[1], shape[0]):
                result = result.T
            elif shape == (1, 1):
                raise WrongShape(f"{role} returned {result.numel()} numbers; it must return one.")
            else:
                raise WrongShape(
                    f"{role} returned shape {_shape(result.shape)}, expected {_shape(shape)}{self._why(result.shape, shape)}"
                )
        if shape is None:
            refuse_matrix(result.shape, role)
            result = reshape(result, result.numel(), 1)
        if callable(function):
            self._check(function, role, allowed, result)
        return result

    def _refuse_other(self, function, role: str, allowed, result: SX, switching: bool) -> None:
        """Refuse a function that gives something else when it is run again: random numbers, the time, a counter somewhere.

        Only one that reaches what cannot be followed is run again; it would also be seen in numbers, but only where the start
        leads to it.
        """
        if not callable(function) or Watch(function).unknown is None:
            return
        with make_symbols.tracing(role):
            again = make_symbols.to_sx(self._on_symbols(function, role, allowed, self.names, switching))
        first, second = (repr(operations(self._free, densify(each))) for each in (result, again))  # as text nan is nan
        if first != second:
            raise UntraceableFunction(
                f"{role} is another function when it is called again. Does it use random numbers, the time, or something that "
                f"changes? Leave that out{self._or_in_python()}."
            )

    def _or_in_python(self) -> str:
        """The other remedy, where it is one."""
        return "" if needs_tracing(self.system) else ", or pass trace=False"

    def _on_symbols(self, function, role: str, allowed, names, switching: bool):
        """Call a function on symbols, every way its decisions can fall; a constant stands for itself."""
        token = AT_POINTS.set(self._at_points)
        try:
            if switching:
                with self.board.collecting():
                    return ways_through(lambda: call(function, role, allowed, _fresh(names)), role)
            return ways_through(lambda: call(function, role, allowed, _fresh(names)), role)
        finally:
            AT_POINTS.reset(token)

    def _at_points(self, expressions: SX) -> list[np.ndarray]:
        """The numbers that a column of expressions has at the start and near it, where it has any."""
        evaluate = function_of(self._free, [densify(expressions)])
        found = []
        for point in self.points or [None]:  # functions of inputs, of t and p alone, come before there are points
            with contextlib.suppress(Exception):  # of an opaque function in them, outside its domain
                found.append(np.array(evaluate(*self._given(point))).ravel())
        return found

    def _why(self, found: tuple[int, int], shape: tuple[int, int]) -> str:
        """Where an expected shape comes from, and what may be meant where it is not met."""
        if shape[0] == shape[1] and sorted(found) in ([1, 1], [1, shape[0]]):
            return f". Is np.eye({shape[0]}) times it meant?" if found == (1, 1) else ". Is np.diag(...) of it meant?"
        start = "x0" if self.is_dae else "y0" if self.is_ode else "v0"
        entries = len(self.points[0]["state"][not self.is_ode])
        return f", as {start} has {entries} entries." if entries == shape[0] else "."

    def _fails_on_numbers(self, function, role: str, allowed) -> bool:
        try:
            with np.errstate(all="ignore"):
                call(function, role, allowed, _fresh(self.points[0]))
        except Exception:
            return True
        return False

    def _check(self, function, role: str, allowed, traced: SX) -> None:
        """Compare the traced function with the user's own at numeric points."""
        evaluate = function_of(self._free, [densify(traced)])
        values: dict[int, np.ndarray] = {}  # of the traced function
        for index, point in enumerate([*self.points, self.points[0]]):  # the start twice: nothing may be remembered
            with np.errstate(all="ignore"):
                try:
                    own = call(function, role, allowed, _fresh(point))
                except Exception as problem:
                    if index == 0:
                        raise UntraceableFunction(f"{role} fails on numbers: {type(problem).__name__}: {problem}") from problem
                    continue  # a point outside the function's domain proves nothing
            refuse_no_numbers(own, role)
            own = np.asarray(own, dtype=float)
            position = point["state"][0]
            if index == 0 and not np.all(np.isfinite(own)):
                raise NotFinite(
                    f"{role} is {own.ravel()[~np.isfinite(own.ravel())][0]} at the start, t = {point['t']:g}, "
                    f"{self.letter} = {numbers_text(position)}."
                )
            if id(point) not in values:
                values[id(point)] = np.array(evaluate(*self._given(point))).reshape(-1)
            mine, own = values[id(point)], own.reshape(-1)
            if mine.size != own.size:
                raise WrongShape(f"{role} returned {own.size} numbers, but {mine.size} symbols.")
            scale = CHECK_TOLERANCE * (1.0 + np.max(np.abs(own[np.isfinite(own)]), initial=0.0))
            off = np.isfinite(own) & ~(np.abs(own - mine) <= scale)
            if np.any(off):
                entry = int(np.argmax(off))
                raise UntraceableFunction(
                    f"{role} gives {own[entry]:.6g} in entry {entry} on numbers, but {mine[entry]:.6g} when "
                    f"traced on symbols (t = {point['t']:g}, {self.letter} = "
                    f"{numbers_text(position)}). Does it use random numbers or mutable state? Leave that out"
                    f"{self._or_in_python()}."
                )

    @property
    def _free(self) -> list[SX]:
        """All symbols that functions are given."""
        known = [self.t_sx, self.q_sx, self.v_sx, self.a_sx, self.p_sx, self.u_sx, self.board.modes]
        return known if self.lam_sx is None else [*known, self.lam_sx]

    def _given(self, point: dict[str, Any] | None) -> list:
        """What these are at a point, or at the start as far as it is known."""
        if point is None:
            return [*self._start, np.zeros(len(self._start[2])), self.flat_params, np.zeros(self.u_sx.numel()), self.no_modes]
        known = [point["t"], *point["state"], point["a"], self.flat_params, self.flat_inputs(point), self.no_modes]
        return known if self.lam_sx is None else [*known, point["lam"]]

    @property
    def no_modes(self) -> np.ndarray:
        """Modes of all switches that let the values decide."""
        return np.zeros(len(self.board))

    def other_params(self) -> list[np.ndarray]:
        """Return parameters near the given ones: what also holds with them is not a coincidence of single numbers."""
        if not len(self.flat_params):
            return []
        random = np.random.default_rng(2)
        sizes = 0.1 + 0.1 * np.abs(self.flat_params)
        return [self.flat_params + sizes * random.uniform(-1, 1, len(sizes)) for _ in range(2)]

    def flat_inputs(self, point) -> np.ndarray:
        """Inputs at a point as they lie in data."""
        flat = np.zeros(3 * len(self.inputs))
        for i, name in enumerate(self.inputs):
            if not callable(self.inputs[name]):
                flat[3 * i] = point["u"][name]
                flat[3 * i + 2] = point["t"]
        return flat

    @property
    def changing(self) -> SX:
        """Everything that changes along a run."""
        known = [self.t_sx, self.q_sx, self.v_sx, self.a_sx]
        return vertcat(*known, *([] if self.lam_sx is None else [self.lam_sx]))

    def with_multipliers(self, n: int) -> None:
        """Make lam (y of a Dae) known to outputs and events."""
        name = "y" if self.is_dae else "lam"
        self.lam_sx, self.names[name] = make_symbols.symbol_vector(name, n)
        self.board.leave_out(self.lam_sx)
        random = np.random.default_rng(3)
        for point in self.points:
            point["lam"] = point[name] = random.uniform(-1, 1, n)


def _fresh(names: dict[str, Any]) -> dict[str, Any]:
    """Arrays of one's own: a function may write into its arguments."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in names.items()}


def _shape(shape) -> str:
    return f"({shape[0]},)" if shape[1] == 1 else f"{shape}"
