"""What a mechanism is as tables: lumps of bodies, and one table per kind of element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .front_program import Fronts
from .kinds import Function, Kind

if TYPE_CHECKING:
    from ..model.switchboard import SwitchName

SMALL = np.iinfo(np.int32).max
MOST_SWITCHES = 100  # of a mechanism that are followed
SWITCHED_NUMBERS = 4_000_000  # switches times numbers of a state: rows of events, for which there is room, are 64 for each


class BodyLumps(Sequence):
    """Bodies of each lump; mostly each has one.

    Parameters
    ----------
    sizes : array
        How many bodies each lump has.
    bodies : array
        Those of one lump after the other.
    """

    def __init__(self, sizes: np.ndarray, bodies: np.ndarray):
        self.sizes, self.bodies = sizes, bodies
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, lump: Any) -> tuple[int, ...]:
        return tuple(self.bodies[self.starts[lump] : self.starts[lump + 1]].tolist())

    def of(self, lumps: np.ndarray) -> np.ndarray:
        """Bodies of lumps of one size, row by row."""
        return self.bodies[self.starts[lumps][:, None] + np.arange(self.sizes[lumps[0]])]


def fitting(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Whole numbers, one after the other, in the half of the room where they fit."""
    small = all(part.max(initial=0) <= SMALL and part.min(initial=0) >= -SMALL for part in parts)
    return np.concatenate([part.astype(np.int32 if small else np.int64) for part in parts])


class KindTable:
    """All elements of one kind.

    Attributes
    ----------
    kind : Kind
    ends : (elements, ends) array of int
        BodyLumps at the ends of each element.
    slots : (elements, numbers) array of int
        Places in data of its own numbers.
    first : (elements,) array of int
        First row of each, of constraints.
    switches : (elements, switches) array of int
        Numbers of the switches of each, -1 of one that is not followed; None: there is none that is.
    """

    def __init__(self, kind: Kind):
        self.kind = kind
        self.switches: np.ndarray | None = None
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._single: tuple[list, list, list] = ([], [], [])

    def add(self, ends, slots, first: int) -> None:
        """One more element."""
        for column, value in zip(self._single, (ends, slots, first), strict=True):
            column.append(value)

    def add_many(self, ends: np.ndarray, slots: np.ndarray, first: np.ndarray) -> None:
        """More elements, one to a row."""
        self._close()
        self._parts.append((ends, slots, first))

    def _close(self) -> None:
        ends, slots, first = self._single
        if ends:
            n = len(ends)
            whole = lambda x: np.array(x, dtype=np.int64)
            self._parts.append((whole(ends).reshape(n, -1), whole(slots).reshape(n, -1), whole(first)))
            self._single = ([], [], [])

    def settle(self) -> None:
        """Put all elements into one table."""
        self._close()
        self.ends, self.slots, self.first = (fitting(each) for each in zip(*self._parts, strict=True))
        self._parts.clear()


@dataclass
class Collection:
    """A mechanism as tables.

    Parameters
    ----------
    lumps : BodyLumps
        Bodies of each lump; lumps of states are counted behind these.
    nq, nv : int
        Coordinates and velocities of one body.
    params : mapping
        Places of parameters in data, by name.
    weigh : function
        Places and factors by what each coordinate (0) or velocity (1) is weighed in projections: the factor times the square of
        what stands at the place in data, -1: 1.
    start, values : array
        Coordinates at which it was drawn; parameters at that time.

    Attributes
    ----------
    tables : list of KindTable
        Bodies first; then forces and rows.
    states : tuple of int
        Numbers of each state, which stand behind the coordinates of bodies.
    norms : KindTable, optional
        Rows that keep lengths of quaternions, by q.
    numbers : array
        Constants, which follow the parameters.
    """

    lumps: BodyLumps
    nq: int
    nv: int
    params: Mapping[str, int]
    weigh: Callable[[int], tuple[np.ndarray, np.ndarray]]
    start: np.ndarray  # coordinates at which it was drawn
    values: np.ndarray  # parameters at that time
    tables: list[KindTable] = field(default_factory=list)
    states: tuple[int, ...] = ()
    norms: KindTable | None = None
    massless: bool = False  # whether some bodies have no inertia of their own, nor of what they share it with
    whole: bool = False  # accelerations come from the whole matrix, not from blocks of M⁻¹
    n_inputs: int = 0
    n_constraints: int = 0
    n_speeds: int = 0  # rows of velocities alone
    redundant: int = -1  # rows that repeat others; -1: not known yet
    redundant_q: int = -1  # the same of rows by q, those of invariants with them
    orders: list[Fronts] = field(default_factory=list)  # of elimination, that have been found while contexts are arranged
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shared: Shared = field(default_factory=lambda: Shared())
    made: dict[Any, Any] = field(default_factory=dict)  # what several contexts are made of, until they are arranged
    watched: dict[Any, Any] = field(default_factory=dict)  # operators that watch switches, and their contexts
    switches: tuple[SwitchName, ...] = ()  # that are followed, element after element
    _constants: list[Any] = field(default_factory=list)
    _n_constants: int = 0
    _places: dict[Any, int] = field(default_factory=dict)  # of constants that stand by themselves

    @property
    def n_rows(self) -> int:
        """Rows at velocity level."""
        return self.n_constraints + self.n_speeds

    @property
    def n_bodies(self) -> int:
        return len(self.lumps.bodies)

    @property
    def n_states(self) -> int:
        """Numbers of all states."""
        return sum(self.states)

    @property
    def at_gains(self) -> int:
        """Place in data of the gains of a stabilization: behind inputs, invariants, modes of switches, which of these are alike."""
        norms = 0 if self.norms is None else len(self.norms.ends) * self.norms.kind.rows
        return len(self.values) + len(self.numbers) + 3 * self.n_inputs + norms + 2 * len(self.switches)

    def weights_of(self, by: str) -> tuple[np.ndarray, np.ndarray]:
        """Places and factors of the metric of columns: velocities, coordinates, or the whole state."""
        if by != "x":
            return self.weigh(int(by == "v"))
        places, factors = (np.concatenate(each) for each in zip(self.weigh(0), self.weigh(1), strict=True))
        return places, factors

    @property
    def n_lumps(self) -> int:
        return len(self.lumps) + len(self.states)

    def order(self, each: int) -> np.ndarray:
        """Place in the model of every coordinate of bodies, lump by lump; each body has so many."""
        return (each * self.lumps.bodies[:, None] + np.arange(each)).ravel()

    def places_of_coordinates(self) -> np.ndarray:
        """Place in the model of every coordinate, lump by lump."""
        bodies = self.order(self.nq)
        return np.concatenate([bodies, len(bodies) + np.arange(self.n_states)])

    def state_places(self, lump: int) -> np.ndarray:
        """Places in the model of the numbers of a state."""
        k = lump - len(self.lumps)
        return self.nq * self.n_bodies + sum(self.states[:k]) + np.arange(self.states[k])

    def of(self, *what: int) -> list[KindTable]:
        """Tables of these kinds of elements."""
        return [table for table in self.tables if table.kind.what in what]

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made once for all contexts."""
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def forget(self) -> None:
        """Let go of what arranging needed, once it is done."""
        self.made.clear()
        self.orders.clear()

    def constant(self, value: float) -> int:
        """Place in data of a constant; equal ones share one."""
        key = value or repr(value)  # zeros have a sign
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.values) + self._n_constants
            self._constants.append(float(value))
            self._n_constants += 1
        return place

    def constants(self, values: np.ndarray) -> np.ndarray:
        """Places in data of many constants; equal ones share one."""
        if len(values) and np.all(values == values[0]):
            return np.full(len(values), self.constant(float(values[0])))
        self._constants.append(values)
        self._n_constants += len(values)
        return len(self.values) + self._n_constants - len(values) + np.arange(len(values))

    def places(self, table: KindTable, function: Function) -> np.ndarray:
        """Place in data of every number of every element, row by row."""
        found = np.empty((len(table.ends), len(function.sources)), dtype=np.int64)
        behind = len(self.values) + len(self.numbers)
        modes = behind + 3 * self.n_inputs + self.n_invariants
        for i, source in enumerate(function.sources):
            if source.kind == "slot":
                found[:, i] = table.slots[:, source.which]
            elif source.kind == "param":
                found[:, i] = self.params[source.which]
            elif source.kind == "number":
                found[:, i] = self._shared[source.which]
            elif source.kind == "input":
                found[:, i] = behind + source.which
            elif source.kind == "mode":
                own = -1 if table.switches is None else table.switches[:, source.which]
                found[:, i] = np.where(own < 0, self._by_values, modes + own)
            else:  # the value at the start of an invariant
                found[:, i] = behind + 3 * self.n_inputs - self.n_constraints + table.first
        return found

    @property
    def n_invariants(self) -> int:
        """Lengths of quaternions that are kept."""
        return 0 if self.norms is None else len(self.norms.ends) * self.norms.kind.rows

    def _number_switches(self) -> None:
        """Number the switches: those of `if`s first, then selects that jump, then mere corners.

        Each of these groups is followed whole, or left to its values: where there are so many that steps would end on one all the
        time, or where the rows of events would take more than 2 GB.
        """
        names: list[SwitchName] = []
        shared: dict[str, int] = {}
        tables = [table for table in self.tables if table.kind.switches]
        numbers = [np.full((len(table.ends), len(table.kind.switches)), -1) for table in tables]
        room = min(MOST_SWITCHES, SWITCHED_NUMBERS // ((self.nq + self.nv) * self.n_bodies + self.n_states))
        for group in range(3):
            more: list[SwitchName] = []
            given = [each.copy() for each in numbers]
            others = 0  # numbers of likeness before those of a table: switches of different elements are not alike
            for table, own in zip(tables, given, strict=True):
                most = max(abs(name.alike) for name in table.kind.switches)
                for j, (name, key) in enumerate(zip(table.kind.switches, table.kind.shared_by, strict=True)):
                    if name.sleeps + name.corner != group:
                        continue
                    count, at = len(own) if key is None else int(key not in shared), len(names) + len(more)
                    own[:, j] = at + np.arange(len(own)) if key is None else shared.setdefault(key, at)
                    more += [name.behind(others + e * most) for e in range(count)]
                others += len(own) * most
            if len(names) + len(more) > room:
                break
            names, numbers = names + more, given
        for table, own in zip(tables, numbers, strict=True):
            table.switches = own if np.any(own >= 0) else None
        self._by_values = self.constant(0.0) if any(np.any(own < 0) for own in numbers) else -1
        self.switches = tuple(names)

    def settle(self) -> None:
        """Settle the tables, and give the constants inside functions their places, once all kinds are known."""
        self._shared: dict[float, int] = {}
        for table in (*self.tables, *([self.norms] if self.norms else [])):
            table.settle()
            for value in table.kind.numbers:
                if value not in self._shared:
                    self._shared[value] = self.constant(value)
        self._number_switches()
        alike = itertools.groupby(self._constants, lambda value: type(value) is float)
        runs = [[np.array(list(some))] if single else list(some) for single, some in alike]
        self.numbers = np.concatenate([np.zeros(0), *itertools.chain.from_iterable(runs)])
        self._constants.clear()
        self._places.clear()


class Shared:
    """Arrays that nobody writes: of equal ones, contexts share the first."""

    def __init__(self):
        self._known: dict[tuple, np.ndarray] = {}
        self._those: set[int] = set()  # which arrays these are

    def one(self, array: np.ndarray) -> np.ndarray:
        """This array, or one that is equal to it."""
        if id(array) in self._those:
            return array
        flat = array.reshape(-1).view(np.int64)
        key = (array.dtype.char, array.shape, int(np.bitwise_xor.reduce(flat)), int(flat.sum()))
        known = self._known.setdefault(key, array)
        self._those.add(id(known))
        return known if known is array or np.array_equal(known, array) else array


class Context:
    """Memory of a layout, and everything that it refers to by address.

    Attributes
    ----------
    address : int
        Of the memory.
    length : int
        Numbers that lie in K: what kinds write, W⁻¹ and panels.
    """

    def __init__(self, layout, shared: Shared | None = None):
        self.memory = layout.new()
        self.length = 0
        self._held: list[np.ndarray] = []  # as long as their addresses are in use
        self._shared = shared

    @property
    def address(self) -> int:
        return self.memory.array.ctypes.data

    def keep(self, array: np.ndarray) -> int:
        """Keep an array itself, and return its address."""
        self._held.append(array)
        return array.ctypes.data

    def hold(self, values, kind: Any = np.int64, shared: bool = True) -> int:
        """Keep an array, or one that is equal to it where it may be `shared`, and return its address."""
        array = np.ascontiguousarray(values, dtype=kind)
        if not array.size:
            array = np.zeros(8, dtype=kind)
        self._held.append(self._shared.one(array) if shared and self._shared is not None else array)
        return self._held[-1].ctypes.data
