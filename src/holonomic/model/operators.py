"""Systems that come as operators instead of functions to be traced, and their model.

Tables of many bodies with an elimination of their own, or equations that another program has compiled: whoever has operators
f(context, mode, t, a, b, data, out) -> status (see `kernels.signatures`) gives them through the class `Operators`. No matrix of
the whole system is asked for. What methods need beyond what is offered is refused by name.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import OK, BadArgument, IncompatibleMethods
from ..kernels.evaluate import judge_field
from ..kernels.signatures import N_FUNCTIONS, Fn, call_function
from ..loop.from_python import invoke
from .bounded_tapes import bounds_of
from .call_by_name import FULL, call, nearest, param_names
from .extra_states import NONE, Extras
from .model_base import PLAIN, ModelBase, Variant
from .names_in_order import NamesInOrder, NumbersInOrder
from .system import MadeModels
from .tape import Tape

# what runs and results cannot do without: the field, the rows, moves onto them, energies and reactions
LEAST = (Fn.FIELD, Fn.RESIDUAL, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT, Fn.ENERGY, Fn.REACTIONS)
MOST_TO_PASS = 600  # velocities up to which singular positions are passed: 8 MB of matrices then
POSITION = (Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT)  # and these, where they are not those of velocity rows


class Operator(NamedTuple):
    """One operator of a model."""

    function: Any  # a Python function, or the address of a compiled one
    context: Any  # what it is called with: any object, or an address; read by many runs at once, so nobody writes it
    length: int  # numbers that it writes


class Operators:
    """A mechanical system that comes as operators: what it has to offer.

    Inherit from it, say the attributes without a value and `operators`; `simulate`, `sweep` and results take it as a System.

    Attributes
    ----------
    interpreted : bool
        Whether the operators are Python functions; otherwise they are addresses of machine code.
    n_coordinates : int
        Entries of q, and of v unless `n_velocities` says otherwise: then `kinematics` is not None.
    constraint_labels : sequence of str
        What the constraints are called, one by one. Their rows have to be independent, unless `redundant` is "minimum-norm": then
        VEL_FACTOR and POS_FACTOR say how many repeat others by a negative ρ, and `learn_rank` is told that.
    nonholonomic_labels, invariant_labels : sequence of str
        The same of constraints of velocities, and of invariants, which are further rows at position level.
    numbers : array
        They follow the parameters in data.
    formulations : tuple of classes
        Those whose equations R(t, y, y') = 0 it has, for implicit integrators; y has their `blocks_of_elements`.
    params : mapping of numbers
        They stand first in data, in this order, arrays row by row; a sweep changes them there.
    coordinates : sequence of str, optional
        Names of the coordinates.
    takes_metrics : bool
        Whether `moves` gives moves onto the rows in other metrics.
    takes_gains : bool
        Whether FIELD has γ + α₁ (G v + g_t) + α₀ g in the place of γ, with (α₀, α₁) where `ModelBase.data_places` has gains.
    has_constant_mass, has_velocity_forces : bool
        Whether the mass matrix never changes, and whether forces depend on velocities; symplectic methods ask.
    """

    interpreted: bool
    n_coordinates: int
    constraint_labels: Sequence[str]
    formulations: tuple[type, ...] = ()
    params: Mapping[str, Any] | None = None
    coordinates: Sequence[str] | Mapping[str, str] | None = None
    n_velocities: int | None = None
    nonholonomic_labels: Sequence[str] = ()
    invariant_labels: Sequence[str] = ()
    numbers: np.ndarray = np.zeros(0)
    on_request: tuple[Fn, ...] = ()  # operators that are made only where a method asks for one of them
    tier: str = "operators"  # how its equations run, in a word
    inputs: Mapping[str, Any] | None = None
    outputs: Mapping[str, Any] | None = None
    resolver: Any = None
    of_moves: tuple[Fn, ...] = ()  # operators of further moves, which `further_moves` makes where a method asks for one
    directions: tuple[str, ...] = ()  # named ones, other than those of a metric, that these know for the whole state
    without_terms: str = ""  # where it has no TERMS, in words
    takes_metrics: bool = False
    takes_gains: bool = False
    has_constant_mass: bool = False
    has_velocity_forces: bool = True
    kinematics: Any = None
    nonholonomic: Any = None
    invariants: Any = None
    switches: tuple = ()  # names of comparisons that have a mode in data, behind inputs and invariants

    def operators(self, formulation) -> dict[Fn, Operator]:
        """Return all operators there are: of the states, and with a formulation (one of `formulations`) those of its equations.

        `LEAST` has to be among them, for a formulation EQUATIONS, LINEARIZED, NEWTON_FACTOR and NEWTON_SOLVE. Radau and Gauss's
        methods take COMPLEX_FACTOR and COMPLEX_SOLVE, BDF GRADIENTS, the midpoint rule ENDS_FACTOR and ENDS_SOLVE, generalized-α
        MOTION_FACTOR, MOTION_TIMES and, unless q' = v, KINEMATICS, half-explicit methods KINEMATICS, VELOCITY and HALF_EXPLICIT;
        with TERMS there are impacts, held coordinates and passages over singular positions. Where q' = v and all constraints are
        holonomic, position rows have the Jacobian of velocity rows, and its factors: VEL_FACTOR, VEL_SOLVE and VEL_TANGENT serve
        both, in a metric of the operators' own; elsewhere there are POS_FACTOR, POS_SOLVE and POS_TANGENT, too.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what its operators are")

    def has_equations(self, formulation) -> bool:
        """Tell whether it has the equations of a formulation, which may have settings of its own."""
        return isinstance(formulation, self.formulations)

    def requested(self, wanted: set[Fn], formulation) -> dict[Fn, Operator]:
        """Return those operators of `on_request` that are wanted, perhaps with others; of a formulation or of none."""
        return {}

    def watching(self, events: dict[Fn, Operator]) -> dict[Fn, Operator]:
        """Return EVENTS and EVENT_RATES of events, whose operators are given where there are any, and behind them of switches."""
        raise NotImplementedError(f"{type(self).__name__} does not say what is watched of its switches")

    def moves(self, metric: str | tuple[float, ...] | None, mass_at: str | None) -> dict[Fn, Operator | None]:
        """Return the operators of moves onto the rows, POS_* and VEL_*, in another metric; None for those that there are not.

        `metric`: None, that of the operators' own; "mass"; or weights of (q, v). At the level `mass_at`, "POS" or "VEL", it is
        "mass" in any case.
        """
        raise NotImplementedError(f"{type(self).__name__} has one metric")

    def further_moves(self, metric, mass_at: str | None, direction: str | None) -> dict[Fn, Operator]:
        """Return the operators of `of_moves`, in a metric as for `moves`, or along a direction."""
        return {}

    def bent(self, bend) -> dict[Fn, Operator]:
        """Return the field less what a stabilization of invariants takes away, γ being the first of the gains."""
        raise IncompatibleMethods(f"{self.name} does not offer terms inside the field. Use stabilization=Projection().")

    def rates(self, stage):
        """Return q' and the rates of states on the symbols of a `TraceStage`; v, where there is nothing else."""
        return stage.v_sx

    # what it has in common with a System

    letter: ClassVar[str] = "q"
    mass: ClassVar[None] = None
    force: ClassVar[None] = None
    constraint: ClassVar[None] = None
    potential: ClassVar[None] = None
    kinetic: ClassVar[None] = None
    states: ClassVar[None] = None
    algebraic: ClassVar[None] = None
    redundant: ClassVar[str | None] = None
    metric: ClassVar[None] = None
    drawing: ClassVar[None] = None
    trace: ClassVar[bool] = True  # of functions that are watched

    @property
    def name(self) -> str:
        """How messages call it."""
        return type(self).__name__

    @property
    def contents(self) -> str:
        """What its tables have, in words."""
        return f"{self.n_coordinates} coordinates and {len(self.constraint_labels)} constraints"

    @property
    def content(self) -> str | None:
        """A name of the equations: equal names, equal equations. None where nothing can be told."""
        return None

    @property
    def measures_by_mass(self) -> bool:
        """Whether `moves` knows the metric "mass"."""
        return self.takes_metrics

    @property
    def along_mass(self) -> tuple[str | None, str | None] | None:
        """`metric` and `mass_at` of moves of velocities along M⁻¹Gᵀ that have an INVERSE; None: impulses are solved from TERMS."""
        return None

    @property
    def repeating(self) -> np.ndarray | None:
        """Which rows repeat others, as many as do so, such that all others are independent; None where that is not known."""
        return None

    def sparse_rows(self, t: float, x: np.ndarray, data: np.ndarray):
        """Return G as a sparse array; asked for beside `along_mass` and `repeating`."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse rows")

    def sparse_gradients(self, t: float, x: np.ndarray, data: np.ndarray):
        """Return rows of positions, then those of velocities, by (q, v), as a sparse array; asked for with these rows."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse rows")

    def sparse_mass(self, t: float, x: np.ndarray, data: np.ndarray):
        """Return M as a sparse array; asked for with these rows."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse masses")

    @property
    def ratio_tells(self) -> bool:
        """Whether the pivot ratio of FIELD falls with the square of the distance from a singular position, and nowhere else."""
        return not any(self.rank)

    @property
    def rank(self) -> tuple[int, int]:
        """How many rows repeat others: of velocities, of positions."""
        return 0, 0

    @property
    def shares_loads(self) -> bool:
        """Whether rows that repeat others carry the smallest multipliers; else some of them carry none."""
        return True

    def set_rank(self, by_v: int, by_q: int) -> None:
        """Set these; -1: not known."""

    def learn_rank(self, fn: Fn, count: int | None) -> bool:
        """Take note of how many rows repeat others, as VEL_FACTOR or POS_FACTOR has told by -ρ; None: no more than are known.

        Return whether factors are others now.
        """
        return False

    def is_current(self) -> bool:
        """Tell whether its operators are those that its model has."""
        return True

    @cached_property
    def made(self) -> MadeModels:
        """Models that were made of it; they go when it goes."""
        return MadeModels()

    def with_params(self, **changes) -> Operators:
        """Return the same with some parameters changed."""
        known = {} if self.params is None else self.params
        unknown = sorted(name for name in changes if name not in known)
        if unknown:
            raise BadArgument(f"unknown parameter {unknown[0]!r}. {nearest(unknown[0], known)}")
        other = copy.copy(self)
        other.params = known.changed(changes) if isinstance(known, NumbersInOrder) else {**known, **changes}
        vars(other).pop("made", None)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "made"}


class OperatorModel(ModelBase):
    """A model of operators that were given."""

    dense = False
    system: Any  # Operators
    mass_reads = ((), False)  # only the operators know about masses
    may_forget = False

    def __init__(self, system: Operators, q0, v0, t0: float = 0.0, extras: Extras = NONE):
        speeds = system.n_coordinates if system.n_velocities is None else system.n_velocities
        for name, given, n, what in (("q0", q0, system.n_coordinates, "coordinates"), ("v0", v0, speeds, "velocities")):
            if len(given) != n:
                what = "coordinates" if n == system.n_coordinates else what
                raise BadArgument(f"{name} has {len(given)} entries, {type(system).__name__} {n} {what}.")
        super().__init__(system, q0, v0, extras)
        self.tier = "Python" if system.interpreted else system.tier
        self.interpreted, self.start, self.switches = system.interpreted, (q0, v0, t0, extras), system.switches
        self.numbers, self.output_shapes, self.has_potential = system.numbers, {}, True
        self.constraint_labels, self.nonholonomic_labels, self.invariant_labels = (
            labels if isinstance(labels, NamesInOrder) else list(labels)
            for labels in (system.constraint_labels, system.nonholonomic_labels, system.invariant_labels)
        )
        self._offered: dict[Any, dict[Fn, Operator]] = {}
        self._outputs: dict[Fn, Operator] = {}
        self._held: set = set()  # what contexts lie in
        least = LEAST if self.shared else (*LEAST, *POSITION)
        if system.outputs:
            self._outputs, self.output_shapes = compiled_outputs(system, self.start, self.n_lam)
        missing = [fn.name for fn in least if fn not in self.offered(None)]
        if missing:
            raise BadArgument(f"{self.name} lacks {', '.join(missing)}: without them there is no run.")

    def __reduce__(self):
        return type(self), (self.system, *self.start)

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.system.name

    @property
    def formulations(self) -> tuple[type, ...]:
        """Those whose equations there are."""
        return self.system.formulations

    def has_equations(self, formulation) -> bool:
        """Whether a formulation, with its settings, is one of them."""
        return self.system.has_equations(formulation)

    @property
    def content(self) -> str | None:
        return self.system.content

    @property
    def has_constant_mass(self) -> bool:
        return self.system.has_constant_mass

    @property
    def has_velocity_forces(self) -> bool:
        return self.system.has_velocity_forces

    def is_current(self) -> bool:
        return self.system.is_current()

    @property
    def has_terms(self) -> bool:  # type: ignore[override]
        return Fn.TERMS in self.offered(None)

    @property
    def has_impulses(self) -> bool:
        """Whether impulses of constraints can be had."""
        return self.has_terms or self.system.along_mass is not None

    @property
    def may_pass(self) -> bool:  # type: ignore[override]
        return self.has_terms and self.nv <= MOST_TO_PASS and self.system.ratio_tells

    def offered(self, formulation) -> dict[Fn, Operator]:
        """The operators there are, of the states or with those of a formulation."""
        if formulation not in self._offered:
            self._offered[formulation] = self.system.operators(formulation) | self._outputs
        return self._offered[formulation]

    def lacks(self, wanted: tuple[Fn, ...], formulation) -> list[str]:
        """Names of the wanted operators that there are not."""
        there = self.offered(formulation)
        made = (*self.system.on_request, *self.system.of_moves)
        return [fn.name for fn in wanted if self._really(fn) not in there and fn not in made]

    def table(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN):
        """Return the table of operators that kernels take, and the lengths of what they write."""
        there = dict(self.offered(variant.formulation))
        asked = set(self.system.on_request) & set(wanted) - set(there)
        if asked:
            there |= self.system.requested(asked, variant.formulation)
            self._offered[variant.formulation] = dict(there)
        if variant.metric is not None or variant.mass_at is not None:
            there |= self.system.moves(variant.metric, variant.mass_at)
        if set(self.system.of_moves) & set(wanted):
            along = None if variant.direction is None else variant.direction.D
            there |= self.system.further_moves(variant.metric, variant.mass_at, along)
        if variant.bend is not None:
            there |= self.system.bent(variant.bend)
            there.pop(Fn.TERMS, None)  # of a field that is not bent
        if variant.events or variant.switching:
            events = self._watching(variant.events) if variant.events else {}
            there |= self.system.watching(events) if variant.switching else events
        missing = [fn.name for fn in wanted if there.get(self._really(fn, variant)) is None]
        if missing:
            raise IncompatibleMethods(f"{self.name} does not offer {', '.join(missing)}, which is needed here.")
        fns: list = [None if self.interpreted else 0] * (2 * N_FUNCTIONS)
        lengths = {}
        for fn in (*wanted, *((Fn.BOUNDS,) if Fn.EVENTS in wanted and Fn.BOUNDS in there else ())):
            fns[2 * fn], fns[2 * fn + 1], lengths[fn] = there[self._really(fn, variant)]
        if not self.interpreted:
            return np.array(fns, dtype=np.int64), lengths
        fns[2 * Fn.CAREFUL] = judge_field.py
        return tuple(fns), lengths

    def _really(self, fn: Fn, variant: Variant = PLAIN) -> Fn:
        """Position rows have the factors of velocity rows, where all of them are the same."""
        shared = self.shared and variant.mass_at is None
        return Fn[fn.name.replace("POS_", "VEL_")] if shared and fn.name.startswith("POS_") else fn

    def tapes(self, wanted, variant: Variant = PLAIN):
        """Refused: addresses mean nothing on a GPU or in another process."""
        raise IncompatibleMethods(
            f"{self.name} is made of operators of this process, which neither a GPU nor a page nor another process has. Use "
            'simulate, or sweep with on="threads".'
        )

    def event_tapes(self, events: Mapping[str, Callable]) -> dict[Fn, Tape]:
        """Functions of events as plain data: they are traced like those of any system."""
        return traced_events(self.system, self.start, self.n_lam, events)

    def evaluate(self, fn: Fn, t: float, a, b, data, variant: Variant = PLAIN) -> np.ndarray:
        fns, lengths = self.table((fn,), variant)
        out = np.empty(lengths[fn])
        a, b = (np.ascontiguousarray(part, dtype=float) for part in (a, b))
        if self.interpreted:
            with np.errstate(all="ignore"):
                call_function(fns, fn, float(t), a, 0, b, 0, data, out, 0)
        else:
            invoke(fns, int(fn), float(t), a, b, data, out)
        return out

    def blame(self, t: float, x: np.ndarray, data: np.ndarray) -> str | None:
        """Nobody: there are no functions of a user's."""
        return None

    def _watching(self, events: Mapping[str, Callable]) -> dict[Fn, Operator]:
        """Events are functions like those of any system: called as they are, or traced and compiled."""
        if self.interpreted:
            return {Fn.EVENTS: Operator(watch, (self.nq, self.places, events), len(events))}
        traced = traced_events(self.system, self.start, self.n_lam, events)
        bounds = bounds_of(traced[Fn.EVENTS])
        self._held.update(bounds.values())  # their addresses are in use
        return _compiled(traced) | {fn: Operator(each.address, each.context, each.length) for fn, each in bounds.items()}


def watch(context, mode, t, a, b, data, out):
    """The operator of events that are Python functions."""
    n, places, events = context
    values = {"t": t, "q": a[:n].copy(), "v": a[n : 2 * n].copy(), "a": b[:n].copy(), "lam": b[n:].copy()}
    values["p"] = param_names(data, places)
    for i, (name, function) in enumerate(events.items()):
        out[i] = call(function, f"event {name!r}", FULL, values)
    return OK


def traced_events(system: Operators, start: tuple, n_lam: int, events: Mapping[str, Callable]) -> dict[Fn, Tape]:
    """Tapes of functions of (t, q, v, a, λ, p, u), and of their time derivatives along q' and v' = a."""
    from .derive import along
    from .symbolics import vertcat
    from .trace import watched

    stage = _stage(system, start, n_lam)
    values = vertcat(*watched(stage, events, stage.seen("output")).values())
    x = vertcat(stage.q_sx, stage.v_sx)
    rates = along(values, stage.t_sx, x, vertcat(system.rates(stage), stage.a_sx))
    return _tapes(system, stage, {Fn.EVENTS: values, Fn.EVENT_RATES: rates})


def compiled_outputs(system: Operators, start: tuple, n_lam: int) -> tuple[dict[Fn, Operator], dict[str, tuple[int, ...]]]:
    """Trace and compile named outputs; also return their shapes."""
    from .symbolics import densify, vec, vertcat
    from .trace_stage import ANY

    stage = _stage(system, start, n_lam)
    full, values, shapes = stage.seen("output"), [], {}
    for name, function in (system.outputs or {}).items():
        role = f"output {name!r}"
        values.append(vec(densify(stage.run(function, role, ANY, full).T)))  # transposed: row by row
        shapes[name] = np.shape(call(function, role, full, stage.points[0]))
    return _compiled(_tapes(system, stage, {Fn.OUTPUTS: vertcat(*values)})), shapes


def _stage(system: Operators, start: tuple, n_lam: int):
    from .trace_stage import TraceStage

    stage = TraceStage(system, *start)  # type: ignore[arg-type]
    stage.with_multipliers(n_lam)
    return stage


def _tapes(system: Operators, stage, values: Mapping[Fn, Any]) -> dict[Fn, Tape]:
    """Tapes of what was traced; data are parameters, numbers that nobody asks for here, and inputs."""
    from .graphs import angles_by_parts
    from .symbolics import SX, vertcat
    from .tape import record

    x, b = vertcat(stage.q_sx, stage.v_sx), vertcat(stage.a_sx, stage.lam_sx)
    data = vertcat(stage.p_sx, SX.sym("numbers", len(system.numbers)), stage.u_sx)
    return {fn: angles_by_parts(record(stage.t_sx, x, b, data, out)) for fn, out in values.items()}


def _compiled(made: Mapping[Fn, Tape]) -> dict[Fn, Operator]:
    """Operators of tapes."""
    from . import machine_code

    named = {fn.name: tape for fn, tape in made.items()}
    found = machine_code.addresses(machine_code.compile_tapes(named), tuple(named))
    if found is None:
        raise RuntimeError("compiled machine code could not be loaded")
    return {fn: Operator(found[fn.name], 0, len(tape.outputs)) for fn, tape in made.items()}
