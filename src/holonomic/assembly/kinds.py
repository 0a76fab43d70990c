"""Kinds of elements: a small System each, traced and differentiated as any other, compiled once for all that are alike.

A body is a System of one body, a force one of the bodies it acts on, a joint one of the bodies it joins, with unit masses in
the way of its own. From them come W⁻¹, f, g, g', γ, G, energies: no formula of a joint or a force is written a second time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..kernels.elements import BODY, FORCE, NORMS, ROWS, STATE
from ..kernels.newton_memory import LOADED
from ..model import machine_code
from ..model.bounded_tapes import BoundedTape
from ..model.extra_states import NONE, Extras
from ..model.system import System
from ..model.tape import Tape, needed
from .acceleration_kinds import ACCELERATIONS, AccelerationKind, acceleration_kind
from .kind_switches import followed_switches
from .newton_kinds import Levels, NewtonKind, levels_of, newton_kind
from .settled_numbers import cut

if TYPE_CHECKING:
    from ..model.switchboard import SwitchName

SLOT = "element."  # names of an element's own numbers begin with it, then comes which


class Source(NamedTuple):
    """Where a number of a function comes from: an element's own, a parameter, a constant, an input, an invariant, a mode."""

    kind: str  # "slot", "param", "number", "input", "invariant", its value at the start, or "mode", of one of its switches
    which: Any


class Function:
    """A function of a kind, compiled when it is first asked for: how much it writes, and where its data come from."""

    def __init__(self, tape: Tape, sources: tuple[Source, ...]):
        self._tape, self.sources, self.length = tape, sources, len(tape.outputs)

    @property
    def calls(self) -> bool:
        """Whether it calls functions of outside, which copies of an element are not to call again."""
        return self._tape.calls

    @property
    def text(self) -> str:
        """Equal texts mean equal functions of numbers that come from equal places."""
        return f"{self._tape.text()} {self.sources}"

    @property
    def is_shared(self) -> bool:
        """Whether it gives the same for all elements of all kinds."""
        own = any(node[0] == "in" and node[1] in (1, 2) for node in self._tape.nodes)
        return not own and all(source.kind in ("param", "number", "input") for source in self.sources)

    @cached_property
    def address(self) -> int:
        """Of its code for one element."""
        return _compiled(self._tape, 1)

    @cached_property
    def bounds(self) -> BoundedTape:
        """What bounds it, for one element."""
        return BoundedTape(self._tape)

    @cached_property
    def _cut(self) -> tuple[Tape, Tape] | None:
        return cut(self._tape)

    @cached_property
    def eight(self) -> int:
        """Of its code for eight elements side by side, which takes settled numbers."""
        return _compiled(self._tape if self._cut is None else self._cut[1], 8)

    @cached_property
    def settling(self) -> int:
        """Of the code that makes settled numbers, for eight elements; 0: its numbers are these."""
        return 0 if self._cut is None else _compiled(self._cut[0], 8)

    @property
    def tapes(self) -> tuple[Tape | None, Tape]:
        """What makes settled numbers, None where its numbers are these; and what takes them."""
        return (None, self._tape) if self._cut is None else self._cut

    @property
    def settled(self) -> int:
        """How many settled numbers there are."""
        return len(self.sources) if self._cut is None else len(self._cut[0].outputs)


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of element.

    Parameters
    ----------
    what : int
        BODY, FORCE, ROWS, SPEEDS, NORMS or STATE.
    widths : tuple of (int, int)
        Coordinates and velocities of each of its ends.
    rows : int
        Of constraints.
    full : bool
        Whether W⁻¹ of a body is a whole matrix.
    rates : bool
        Whether a body, or a state, writes q'.
    functions : dict
        "main", see `kernels.eights`; "rows", g and g' alone; "energy", where it has one; "position", rows by q, where q' is not v;
        "switches", what is watched of them, and "rates", see `derive.along`.
    numbers : tuple of float
        All constants of its functions.
    derive : function
        Derives and compiles what implicit methods need with constraints at some levels, when that is first asked for.
    own : int
        Which of its ends a body or a state is itself: the ends of a state are bodies that its rate sees, itself, other states.
    switches : tuple of SwitchName
        Comparisons of each element that have a mode in data.
    shared_by : tuple of str or None
        Of those that see neither the state nor an element's own numbers, what is watched: equal ones are one switch.
    """

    what: int
    widths: tuple[tuple[int, int], ...]
    rows: int
    full: bool
    rates: bool
    functions: dict[str, Function]
    numbers: tuple[float, ...]
    derive: Callable[[Levels], Any]
    own: int = 0
    switches: tuple[SwitchName, ...] = ()
    shared_by: tuple[str | None, ...] = ()
    derive_whole: Callable[[], Function] | None = None  # of rows: "whole" among the functions, rows by the whole state

    def function(self, name: str) -> Function:
        """One of its functions; "whole" is derived when it is first asked for."""
        if name == "whole" and name not in self.functions and self.derive_whole is not None:
            self.functions[name] = self.derive_whole()
        return self.functions[name]

    def height(self, name: str) -> int:
        """Rows that a function writes: "whole" has those of positions, then those of velocities."""
        return 2 * self.rows if name == "whole" and self.what == ROWS else self.rows

    @cached_property
    def _derived(self) -> dict[Levels, Any]:
        return {}

    def newton(self, levels: Levels) -> Any:
        """What implicit methods need of equations with constraints at these levels."""
        levels = levels_of(self.what, levels)
        if levels not in self._derived:
            self._derived[levels] = self.derive(levels)
        return self._derived[levels]


def make_kind(
    what: int, system: System, q0: np.ndarray, v0: np.ndarray, widths, energy: bool, rotation=None, extras: Extras = NONE,
    t0: float = 0.0,
) -> Kind:  # fmt: skip
    """Trace the System of one element and compile what its kind needs.

    `rotation` gives rotation matrices of bodies in space; `extras` are the states that the element sees.
    """
    from ..model.derive import Derived, along
    from ..model.factors import factor
    from ..model.graphs import angles_by_parts
    from ..model.symbolics import SX, densify, diag, reshape, row_sums, substitute, vec, vertcat, vertsplit
    from ..model.tape import record
    from ..model.trace import trace
    from .axes import by_axes

    traced = trace(system, q0, v0, t0, extras)
    e = traced.expressions
    d = Derived(e)
    axes = None if rotation is None or what in (BODY, NORMS) else by_axes(e, rotation)
    own, entered = (d, lambda x: x) if axes is None else (Derived(axes.expressions), axes.entered)
    made: dict[str, Any] = {}
    full, rates, rows = False, e.kinematics is not None, d.n_lam
    if what == BODY:
        nv = len(v0)
        full = e.mass.nnz() > nv
        if full:
            inverse = vec(densify(factor(e.mass).solve(SX.eye(nv))))
        else:  # without inertia there is none, and nobody asks for it
            inverse = vertcat(*(mass if mass.is_zero() else 1 / mass for mass in vertsplit(diag(densify(e.mass)))))
        made["main"] = vertcat(inverse, densify(d.force), *([densify(d.q_dot)] if rates else []))
    elif what == FORCE:
        made["main"] = entered(densify(own.force))
    elif what == STATE:
        made["main"] = densify(e.states[: extras.states[0][1]])
    elif what == LOADED:
        pass  # accelerations with it come from the whole matrix
    elif what == NORMS:
        rows = e.invariants.numel()
        made["position"] = vertcat(e.invariants, SX.zeros(2 * rows, 1), reshape(densify(d.J).T, rows * len(q0), 1))
    else:
        g = e.constraint if e.constraint.numel() else SX.zeros(rows, 1)
        G = reshape(densify(own.G).T, rows * len(v0), 1)
        made["main"] = vertcat(g, entered(vertcat(own.velocity_rows, own.gamma, G)))
        made["rows"] = vertcat(g, entered(own.velocity_rows))
        if rates and e.constraint.numel():
            zero = SX.zeros(2 * rows, 1)
            made["position"] = vertcat(g, zero, reshape(densify(d.J).T, rows * len(q0), 1))
    if energy:
        kinetic = d.kinetic if what == BODY else SX(0)
        made["energy"] = vertcat(kinetic, SX(0) if e.potential is None else e.potential)
    params = list(system.params or {})
    n_inputs = 3 * len(system.inputs or {})
    none = SX.sym("none", 0)
    followed = followed_switches(what, traced)
    names, modes = followed.names, followed.left_out
    switched = followed if names and what == LOADED else None
    if names:
        slope = SX.sym("slope", len(q0) + len(v0))
        if what != LOADED:
            made["main"] = followed.unless_along(made["main"])
        made["switches"] = followed.watched

    def function(out, b=none) -> Function:
        plain = substitute(densify(out), modes, SX.zeros(modes.numel(), 1)) if modes.numel() else densify(out)
        tape = needed(angles_by_parts(record(e.t, vertcat(e.q, e.v), b, e.data, plain)))
        tape, read = own_data(tape)
        sources = tuple(_source(index, params, traced.numbers, n_inputs, e.invariants.numel()) for index in read)
        return Function(tape, sources)

    functions = {name: function(out) for name, out in made.items()}
    shared_by: list[str | None] = []
    if names:
        functions["rates"] = function(along(followed.watched, e.t, vertcat(e.q, e.v), slope), slope)
        alone = [function(each) for each in vertsplit(followed.watched)]
        shared_by = [f"{name} {each.text}" if each.is_shared else None for name, each in zip(names, alone, strict=True)]

    def whole() -> Function:
        """Rows, squares of their lengths where each level is measured by itself, zeros, and H, end by end: by q, then by v."""
        values = vertcat(d.position_rows, d.velocity_rows)
        measured, columns, at_q, at_v = densify(d.H_measured), [], 0, len(q0)
        for wide, fast in widths:
            columns += [*range(at_q, at_q + wide), *range(at_v, at_v + fast)]
            at_q, at_v = at_q + wide, at_v + fast
        H, n = densify(d.H)[:, columns], values.numel()
        return function(vertcat(values, row_sums(measured * measured), SX.zeros(n, 1), reshape(H.T, n * len(columns), 1)))

    def derived(levels: Levels) -> NewtonKind | AccelerationKind:
        states = [size for _, size in extras.states]
        if levels[0] == ACCELERATIONS:
            return acceleration_kind(what, d, function, levels, states, widths, switched)
        return newton_kind(what, d, rates, function, levels, states, switched)

    return Kind(
        what, tuple(widths), rows if what >= ROWS else 0, full, what == STATE or (rates and what == BODY),
        functions, tuple(map(float, traced.numbers)),
        derived,
        len(widths) - len(extras.states) if what == STATE else 0, names, tuple(shared_by),
        whole if what >= ROWS and what != LOADED else None,
    )  # fmt: skip


def _source(index: int, params: list[str], numbers: np.ndarray, n_inputs: int, n_invariants: int) -> Source:
    """What stands at a place in the data of a System."""
    if index < len(params):
        name = params[index]
        return Source("slot", int(name.removeprefix(SLOT))) if name.startswith(SLOT) else Source("param", name)
    index -= len(params)
    if index < len(numbers):
        return Source("number", float(numbers[index]))
    index -= len(numbers)
    if index < n_inputs:
        return Source("input", index)
    index -= n_inputs
    return Source("invariant", index) if index < n_invariants else Source("mode", index - n_invariants)


def own_data(tape: Tape) -> tuple[Tape, list[int]]:
    """The tape with the data that it reads numbered one after the other, and what they were."""
    read: dict[int, int] = {}
    nodes = []
    for node in tape.nodes:
        if node[0] == "in" and node[1] == 3:
            node = ("in", 3, read.setdefault(node[2], len(read)))
        nodes.append(node)
    return Tape(tuple(nodes), tape.outputs), list(read)


def _compiled(tape: Tape, lanes: int) -> int:
    name = machine_code.compile_tapes({"element": tape}, lanes)
    found = machine_code.addresses(name, ("element",))
    if found is None:
        raise RuntimeError("compiled machine code could not be loaded")
    return found["element"]
