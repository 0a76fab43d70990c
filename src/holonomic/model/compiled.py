"""Model: a system traced, differentiated and compiled, with its labels and sizes.

Two keys lead to machine code, and both are made of what was traced, never of what Python objects look like. The
content of the traced equations leads to a record (which object holds which functions), so that a known model is not
differentiated again. The content of a tape leads to the object file, shared by all systems that differ only in numbers.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..errors import IncompatibleMethods
from ..kernels.signatures import N_FUNCTIONS, Fn
from ..loop.from_python import invoke
from ..native.callbacks import raise_what_was_raised
from ..notices import notice
from .bounded_tapes import bounds_of
from .call_by_name import flatten_params
from .collector_pause import collector_paused
from .dae import Dae
from .differences import attainable_rtol
from .extra_states import NONE, Extras
from .function_sets import CompiledFunctions, ModelFile, with_dense_solves
from .model_base import PLAIN, Held, ModelBase, Variant
from .newton_factors import UNROLLED, order_at_start, unrolled
from .played_tapes import LONGEST_COMPILED, refuse_unplayed
from .system import Ode, System
from .tape import Tape
from .watch import Watch, alike

FEW = 16  # sets of functions with events that a model keeps
# what a run begins with comes from compiled code, first time or not: the graph rounds otherwise
BEGINNINGS = (Fn.MULTIPLIERS, Fn.ALGEBRAIC, Fn.POS_FACTOR, Fn.POS_SOLVE)
WHOLE = (Fn.FIELD, Fn.REFINED, Fn.TERMS, Fn.EQUATIONS)  # functions with all that was traced in them
SHORT = 3000  # operations, below which what is written out is not looked at
LONGEST_WRITTEN = 200_000  # operations up to which they are handed on as data: a quarter of a minute for LLVM
MANY_LOOKS = 12  # evaluations from Python after which a function is worth compiling
SMALL = 40  # velocities and multipliers up to which dense terms compile in a few hundredths of a second
ANNOUNCE_ABOVE = 5000  # operations from which compiling is announced: it takes about a second


@dataclass(frozen=True)
class TracedSystem:
    """What tracing a system gave, and what its functions reached when that was done."""

    watch: Watch
    traced: Any
    checked: list[float] | None  # parameters, where the checks of the mass matrix depend on them
    # of all models that were made of it, whatever their parameters: names, what is on disk, compiled functions
    names: dict[str, str] = field(default_factory=dict)
    records: dict[str, ModelFile] = field(default_factory=dict)
    functions: dict[str, CompiledFunctions] = field(default_factory=dict)

    def holds(self, params: list[float]) -> bool:
        """Tell whether tracing again, with these parameters, would give the same."""
        return self.checked in (None, params) and self.watch.unchanged()


class Recorded(NamedTuple):
    """Functions of a model before they are compiled."""

    tapes: dict[Fn, Tape]  # those that are solved densely not among them, but what they are solved from
    dense: dict[Fn, Fn]  # of those, from which
    lists: dict | None  # what is kept of an elimination that goes by lists, if there is one
    swept: dict[Fn, Any]  # Jacobians of a tape


class Model(ModelBase):
    """Compiled functions of one system at given sizes."""

    interpreted = False

    def __init__(self, system: System | Ode, q0, v0, t0: float = 0.0, extras: Extras = NONE):
        super().__init__(system, q0, v0, extras)
        self.start = (q0, v0, t0, extras)
        self._given: dict[tuple, tuple[Watch, tuple, CompiledFunctions]] = {}  # with events and directions of the user's
        self._lies_in: dict[int, Any] = {}  # what contexts lie in whose addresses were handed out: a plan holds its model, no more
        self._tables: dict[Any, Any] = {}
        self._graphs: dict[tuple[Fn, Variant], Any] = {}
        self._looks: dict[tuple[Fn, Variant], int] = {}
        self._dense_moves: dict[Variant, bool] = {}
        self._look = self._looked()
        self._functions, self._records = self._look.functions, self._look.records
        traced = self._traced
        self.numbers = traced.numbers
        self.constraint_labels = traced.constraint_labels
        self.nonholonomic_labels = traced.nonholonomic_labels
        self.invariant_labels = traced.invariant_labels
        self.output_shapes = traced.output_shapes
        self.outside, self.switches = traced.outside, traced.switches
        self._limit_rtol()

    def _limit_rtol(self) -> None:
        """Note which rtol makes sense where derivatives of opaque functions enter the equations."""
        known = {f: f.error(times) for part, times in self._differentiated().items() for f in self.outside.get(part, ())}
        known = {f: error for f, error in known.items() if error > 0.0}
        if known:
            self.inexact = sorted({f"derivatives of opaque {f.name!r}" for f in known})
            self.attainable_rtol = attainable_rtol(max(known.values()))
            self.exacter = "Use" if all(f.is_given for f in known) else "Give jac=, or use"

    def _differentiated(self) -> dict[str, int]:
        """How often parts of a system are differentiated in what is integrated."""
        times = {"constraint": 2, "nonholonomic": 1, "potential": 1, "kinetic": 2, "kinematics": 1, "invariants": 1}
        if isinstance(self.system, Dae):
            return times | {"g": self.system.order}
        return times | {"mass": 1} if not self.is_ode and self.system.velocity_terms else times

    def __reduce__(self):
        return type(self), (self.system, *self.start), {"held": self.held}  # addresses mean nothing in another process

    def note_held(self, held: Held) -> None:
        before = self.held
        super().note_held(held)
        if self.held == before:
            return
        for known in (self._functions, self._given, self._tables, self._graphs, self.plans, self.prepared):
            known.clear()  # made as if M were regular

    def is_current(self) -> bool:
        return self._look.watch.unchanged()

    def renewed_by(self, other: ModelBase) -> ModelBase:
        if not isinstance(other, Model) or other.content != self.content:
            return other
        self._look = other._look
        return self

    @cached_property
    @collector_paused()
    def structure(self) -> str:
        """The name of what was traced, numbers apart."""
        names = self._look.names
        if "structure" not in names:
            from .model_key import structure_of

            names["structure"] = structure_of(self._traced)
        return names["structure"]

    @property
    def is_long(self) -> bool:  # type: ignore[override]
        """Whether what was traced has so many operations that functions of it are played."""
        return self._length > LONGEST_COMPILED

    @property
    def _length(self) -> int:
        """How many operations, symbols and numbers were traced."""
        names = self._look.names
        if "length" not in names:
            from .model_key import length_of

            names["length"] = str(length_of(self._traced))
        return int(names["length"])

    @property
    def content(self) -> str:
        """The name of what was traced."""
        return hashlib.sha256(self.structure.encode() + self.numbers.tobytes()).hexdigest()[:32]

    @property
    def _traced(self):
        return self._look.traced

    def _looked(self) -> TracedSystem:
        """Trace the system, or take what another of its family gave that differs in parameters alone."""
        family, params = self.system.made.family, self._params()
        key = (*self._sizes(), tuple((name, np.shape(value)) for name, value in (self.system.params or {}).items()))
        found = family.get(key)
        if found is None or not found.holds(params):
            from .trace import trace

            watch = self.watched()  # before: a function that changes what it reads is seen to do so
            traced = trace(self.system, *self.start)
            found = family[key] = TracedSystem(watch, traced, params if traced.depends else None)
        return found

    def _sizes(self) -> tuple:
        return self.nq, self.nv, self.extras

    def functions(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> CompiledFunctions:
        """Return the compiled functions, compiling what is not known yet."""
        wanted = tuple(self._really(fn, variant) for fn in wanted)
        if not variant.is_ours:
            return self._with_given(wanted, variant)
        key = self._variant_key(wanted, variant)
        if key not in self._functions:
            found = self._among_known(wanted, variant) or self._load(key, wanted, variant)
            make = self._bounds if wanted == (Fn.BOUNDS,) else functools.partial(self._compile, wanted)
            self._functions[key] = found if found is not None else make(variant, key)
        return self._functions[key]

    def _among_known(self, wanted: tuple[Fn, ...], variant: Variant) -> CompiledFunctions | None:
        """Functions of a larger set of this process, some of which are no compiled code and so not on disk."""
        suffix = self._variant_key((), variant)
        return next(
            (
                found for key, found in self._functions.items()
                if found.held and "|" + key.partition("|")[2] == suffix and set(wanted) <= set(found.addresses)
            ),
            None,
        )  # fmt: skip

    def _with_given(self, wanted, variant: Variant) -> CompiledFunctions:
        """Return functions that depend on more than the system: events, directions, a formulation from elsewhere."""
        given = (*(variant.events or {}).items(), *variant.functions)
        key = (wanted, self._variant_key((), variant), tuple(alike(each) for each in given))
        watch, _, found = self._given.get(key, (None, (), None))
        if watch is not None and watch.unchanged():
            return found
        watch = Watch(*given, *((variant.formulation,) if variant.is_foreign else ()))
        found = self._bounds(variant, None) if wanted == (Fn.BOUNDS,) else self._compile(wanted, variant, None)
        if watch.unknown is None:
            while len(self._given) >= FEW:
                del self._given[next(iter(self._given))]
            self._given[key] = watch, given, found
        return found

    def _really(self, fn: Fn, variant: Variant) -> Fn:
        one = self.shared and variant.mass_at is None and fn.name.startswith("POS")
        return Fn[fn.name.replace("POS", "VEL")] if one else fn

    def table(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> tuple[np.ndarray, dict[Fn, int]]:
        """Return the table of addresses that kernels take, and the lengths of the functions' results."""
        if variant.is_ours:
            key = (wanted, variant)
            found = self._tables.get(key)
            if found is None:
                found = self._tables[key] = self._table(wanted, variant)
            return found[0].copy(), found[1]
        return self._table(wanted, variant)

    def _table(self, wanted, variant):
        functions = self.functions(wanted, variant)
        self._lies_in |= {id(each): each for each in functions.held}
        fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
        lengths = {}
        for fn in wanted:
            fns[2 * fn] = functions.addresses[self._really(fn, variant)]
            fns[2 * fn + 1] = functions.contexts.get(self._really(fn, variant), 0)
            lengths[fn] = functions.lengths[self._really(fn, variant)]
        if Fn.EVENTS in wanted:
            fns[2 * Fn.BOUNDS], fns[2 * Fn.BOUNDS + 1] = functions.addresses[Fn.BOUNDS], functions.contexts[Fn.BOUNDS]
        return fns, lengths

    def tapes(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> dict[Fn, Tape]:
        """Return what functions compute as plain data, which another process can compile."""
        from .graphs import tapes

        if set(wanted) & set(WHOLE):
            _refuse_long("the equations are", self._length)
        really = tuple(dict.fromkeys(self._really(fn, variant) for fn in wanted))
        with collector_paused():
            if self._length > SHORT:
                from .long_equations import long_equations

                long = long_equations(self._request(really, variant), really)
                _refuse_long("the equations and their derivatives are about", 0 if long is None else long.operations)
            made = tapes(*self._request(really, variant), order=self._pivots_for(variant))
        return {fn: made[self._really(fn, variant)] for fn in wanted}

    def map_text(self, then, role: str) -> tuple[str | None, str]:
        """Return what `then` of an event does as text that can be compared, or None and why there is none."""
        from .event_maps import map_text

        return map_text(self._traced.stage, then, role)

    def map_tape(self, then, role: str) -> tuple[Tape | None, list[tuple[int, ...]], str]:
        """Return what `then` of an event does as a tape with the shapes of its parts, or None and why there is none."""
        from .event_maps import map_tape

        return map_tape(self._traced.stage, then, role)

    def evaluate(self, fn: Fn, t: float, a, b, data, variant: Variant = PLAIN) -> np.ndarray:
        """Call one function from Python; `a` and `b` as in `signatures.Fn`."""
        fn = self._really(fn, variant)
        if self._is_rare(fn, variant):
            return self._by_graph(fn, float(t), a, b, data, variant)
        fns, lengths = self.table((fn,), variant)
        out = np.empty(lengths[fn])
        invoke(fns, int(fn), float(t), np.ascontiguousarray(a), np.ascontiguousarray(b), data, out)
        raise_what_was_raised()
        return out

    # the walk from functions to machine code

    def _derived(self, variant: Variant):
        from .derive_dae import derive
        from .trace import trace, trace_direction, trace_events

        traced = self._traced
        if variant.events and not isinstance(self.system, Dae):
            traced = trace_events(traced, variant.events)
        elif variant.events:  # they contain multipliers, which are solved for
            traced = trace(self.system, *self.start, events=variant.events, numbers=self.numbers)
        if variant.switching:
            e = traced.expressions
            watched = {f"switch {k}": e.switches[k] for k in range(len(traced.switches))}
            traced = replace(traced, expressions=replace(e, events=e.events | watched))
        derived = derive(traced.expressions, variant.rows, self.held, variant.kept)
        derived.bend = variant.bend
        own = None if variant.formulation is None else variant.formulation.D
        for D in variant.functions:
            shape = None
            if D is own:  # one column per constraint, as long as q (x of a Dae)
                levels = self.order if self.is_ode else 1
                shape = (self.nc // levels, self.n_constraints // levels)
            derived.given[D] = trace_direction(self.system, *self.start, D, derived, self.data_places, shape)
        return derived

    def _request(self, wanted: tuple[Fn, ...], variant: Variant) -> tuple:
        """What `graphs` and `tapes` take."""
        from .symbolics import vertcat

        derived = self._derived(variant)
        metric = variant.metric
        if isinstance(metric, tuple):
            metric = vertcat(*self.weights(metric, derived.e.data))
        equations = None if variant.formulation is None else variant.formulation.equations(derived, variant.gains)
        return derived, wanted, metric, variant.gains, equations, variant.direction, variant.mass_at

    def equation_of_y(self, t: float, x, data) -> Callable:
        """Of a Dae at one state: y -> (what y makes zero, its derivative, where y is looked for first, that there)."""
        from .symbolics import densify, function_of

        d = self._derived(PLAIN)
        known = function_of([d.e.t, d.e.q, d.e.data, d.y], [densify(part) for part in d.equation_of_y()])

        def equation(y):
            r, J, begin, plain = (np.array(part) for part in known(t, x[: self.nq], data[: d.e.data.numel()], y))
            return r.reshape(-1), J, begin.reshape(-1), plain

        return equation

    def _pivots_for(self, variant: Variant) -> Callable:
        """How the order of elimination is chosen: once for a model, so that all its runs round alike."""
        record, key = self._record(UNROLLED), self._variant_key((), variant)

        def pivots(by_y, by_slope):
            if key in record.pivots and variant.is_ours:
                return record.pivots[key]
            q0, v0, t0 = self.start[:3]
            order = order_at_start(by_y, by_slope, t0, np.concatenate([q0, v0]), self.data())
            if variant.is_ours:
                record.pivots[key] = order
                record.write()
            return order

        return pivots

    def _pivots_of(self, long, variant: Variant) -> list:
        """The same for equations that are long."""
        record, key = self._record(UNROLLED), self._variant_key((), variant) + "|long"
        if key not in record.pivots or not variant.is_ours:
            q0, v0, t0 = self.start[:3]
            order = long.order(self.nq, t0, np.concatenate([q0, v0]), self.data())
            if not variant.is_ours:
                return order
            record.pivots[key] = [list(pivot) for pivot in order]
            record.write()
        return record.pivots[key]

    @collector_paused()
    def _by_graph(self, fn: Fn, t: float, a, b, data, variant: Variant) -> np.ndarray:
        """Evaluate on the expression graph: slow, but nothing is compiled for a single look."""
        from .graphs import graphs
        from .symbolics import densify, function_of

        if (fn, variant) not in self._graphs:
            *inputs, out = graphs(*self._request((fn,), variant))[fn]
            self._graphs[fn, variant] = function_of(inputs, [densify(out)])
        look = self._graphs[fn, variant]
        given = [values[: look.numel_in(i)] for i, values in enumerate((a, b, data), 1)]  # arrays may be longer
        return np.array(look(t, *given)).reshape(-1)

    def _is_rare(self, fn: Fn, variant: Variant) -> bool:
        """Whether a function has been asked for from Python only a few times and need not be compiled yet.

        TERMS of a small model is compiled at once: the mass matrix is looked into again for every set of parameters.
        """
        if fn is Fn.TERMS and self.nv + self.n_lam <= SMALL:
            return False
        if not variant.is_ours or fn in BEGINNINGS or (fn in (Fn.FIELD, Fn.REFINED) and self.nv + self.n_lam > SMALL):
            return False  # the graph of a field may be much longer than what is compiled, see `dense_solves`
        known = self._functions.values()
        if ((fn,), variant) in self._tables or any(fn in found.addresses for found in known):
            return False
        if fn.name.startswith("VEL") and self._moves_densely(variant):
            return False
        if self._kept((fn,), variant):
            return False
        self._looks[fn, variant] = self._looks.get((fn, variant), 0) + 1
        return self._looks[fn, variant] <= MANY_LOOKS

    def _moves_densely(self, variant: Variant) -> bool:
        """Whether moves onto the rows are loops over dense matrices: their graph is long, what is compiled is not."""
        if self.nv + self.n_lam <= SMALL or self.is_ode:
            return False
        if variant not in self._dense_moves:
            from .dense_solves import solved_densely

            self._dense_moves[variant] = bool(solved_densely(self._derived(variant), (Fn.VEL_FACTOR,), variant))
        return self._dense_moves[variant]

    def _kept(self, wanted, variant: Variant) -> list[str]:
        """Keys of the compiled sets that have all the wanted functions."""
        return self._record(wanted).holding({fn.name for fn in wanted}, self._variant_key((), variant))

    def _recorded(self, wanted, variant: Variant) -> Recorded:
        """Tapes of the wanted functions, and what takes the place of those that would be too long."""
        from .dense_solves import solved_densely
        from .graphs import tapes
        from .long_equations import long_equations
        from .sparse_factors import Remembering, long_elimination

        request = self._request(tuple(dict.fromkeys(wanted)), variant)
        dense = {} if self.is_ode else solved_densely(request[0], wanted, variant)
        long = long_equations(request, wanted)
        instead = {*dense, *(() if long is None else (Fn.EQUATIONS, *long.jacobians, *UNROLLED))}
        if instead:
            rest = dict.fromkeys((*(fn for fn in wanted if fn not in instead), *dense.values()))
            request = (request[0], tuple(rest), *request[2:])
        if long is not None:
            factors = tuple(fn for fn in UNROLLED if fn in wanted)
            made, lists = tapes(*request) | {Fn.EQUATIONS: long.tape}, None
            if factors and long.is_square:
                lists = {"pattern": long.pattern, "order": self._pivots_of(long, variant)}
            elif factors:
                made |= unrolled(long.tape, long.tape, None, factors)  # which say that they do not serve
            return Recorded(made, dense, lists, long.jacobians)
        order = Remembering(self._pivots_for(variant))
        made = tapes(*request, order=order)
        return Recorded(made, dense, long_elimination(made, order.last), {})

    def _bounds(self, variant: Variant, key: str | None) -> CompiledFunctions:
        """Return BOUNDS alone, which are played: nothing is compiled."""
        from .graphs import tapes

        with collector_paused():
            events = tapes(*self._request((Fn.EVENTS,), variant))[Fn.EVENTS]
        if key is not None:
            record = self._record((Fn.BOUNDS,))
            record.objects[key] = {"name": None, "lengths": {}, "operations": 0, "lists": None, "events": events.text()}
            record.write()
        return CompiledFunctions({}, {}).with_operators(bounds_of(events))

    def _compile(self, wanted, variant: Variant, key: str | None) -> CompiledFunctions:
        from . import machine_code
        from .played_tapes import PlayedTape, is_played
        from .sparse_factors import with_lists

        with collector_paused():
            made, dense, lists, swept = self._recorded(wanted, variant)
        if lists is not None:
            made = {fn: tape for fn, tape in made.items() if fn not in UNROLLED}
        named = {fn.name: tape for fn, tape in made.items() if not is_played(tape, bool(dense or swept))}
        size = sum(len(tape) for tape in named.values())
        if size > LONGEST_WRITTEN:
            refuse_unplayed(named.values(), size)
        if size > ANNOUNCE_ABOVE:
            notice(f"compiling a model of {size} operations ...")
        name = machine_code.compile_tapes(named)
        lengths = {fn.name: len(tape.outputs) for fn, tape in made.items()}
        if key is not None and len(named) == len(made) and not dense and not swept:
            record = self._record(wanted)
            events = made[Fn.EVENTS].text() if Fn.EVENTS in made else None
            record.objects[key] = {"name": name, "lengths": lengths, "operations": size, "lists": lists, "events": events}
            record.write()
        addresses = machine_code.addresses(name, tuple(named))
        if addresses is None:
            raise RuntimeError("compiled machine code could not be loaded")
        long = {fn: PlayedTape(tape) for fn, tape in made.items() if fn.name not in named}
        found = CompiledFunctions(
            {fn: addresses[fn.name] if fn not in long else long[fn].address for fn in made},
            {fn: lengths[fn.name] for fn in made}, {fn: tape.context for fn, tape in long.items()}, tuple(long.values()),
        )  # fmt: skip
        sizes = {"nq": self.nq, "nv": self.nv, "nl": self.n_lam, "nx": self.nq + self.nv, "nd": len(self._data)}
        found = found.with_operators(swept | bounds_of(made.get(Fn.EVENTS)))
        return with_lists(with_dense_solves(found, dense, sizes), wanted, lists)

    def _load(self, key: str, wanted, variant: Variant) -> CompiledFunctions | None:
        """Functions of a set that was compiled before, this one or a larger one."""
        from . import machine_code

        kept = self._kept(wanted, variant)
        if not kept:
            return None
        entry = self._record(wanted).objects[key if key in kept else kept[0]]
        addresses = {} if entry["name"] is None else machine_code.addresses(entry["name"], tuple(entry["lengths"]))
        if addresses is None:
            return None
        found = CompiledFunctions(
            {Fn[name]: addresses[name] for name in entry["lengths"]},
            {Fn[name]: length for name, length in entry["lengths"].items()},
        )
        found = found.with_operators(bounds_of(None if entry["events"] is None else Tape.from_text(entry["events"])))
        if entry["lists"] is None:
            return found
        from .sparse_factors import with_lists

        return with_lists(found, wanted, entry["lists"])

    def _variant_key(self, wanted, variant: Variant) -> str:
        """What a set of functions is made for, in words."""
        names = ",".join(sorted({fn.name for fn in wanted}))
        ways = [
            replace(way, D="G" if way is variant.formulation else "given") if way is not None and callable(way.D) else way
            for way in (variant.bend, variant.direction, variant.formulation)
        ]
        held = "" if self.held is None else f"|{self.held}"
        rows = f"{variant.rows}|{variant.kept}{held}"
        switching = "|switching" if variant.switching else ""
        return f"{names}|{variant.metric}|{variant.mass_at}|{variant.gains}|{rows}|{ways}{switching}"

    @cached_property
    def couples_all(self) -> bool:  # type: ignore[override]
        if self.is_ode or self.nv + self.n_lam <= SMALL:
            return False
        from .dense_solves import solved_densely

        return bool(solved_densely(self._derived(PLAIN), (Fn.FIELD,), PLAIN))

    @cached_property
    def mass_reads(self) -> tuple[list[int], bool]:
        """Which places of data the mass matrix depends on, and whether it changes with position or time."""
        from .trace import mass_reads

        return mass_reads(self._traced.expressions)

    @property
    def may_forget(self) -> bool:
        """Whether velocity terms are left out that vanish with the system's own parameters, and perhaps not with others."""
        return self._traced.stage.forgets

    # the record on disk

    def _params(self) -> list[float]:
        return flatten_params(dict(self.system.params or {})).tolist()

    def _record(self, wanted: tuple[Fn, ...]) -> ModelFile:
        """What is known of functions: those that eliminate in an order found from numbers belong to these numbers.

        Of a long system, whose functions are played, nothing is on disk: to name it takes as long as to trace it.
        """
        if self.is_long:
            name = hashlib.sha256(self.numbers.tobytes()).hexdigest()
            return self._records.setdefault(name, ModelFile(name, False))
        name = self.content if set(UNROLLED) & set(wanted) else self.structure
        if name not in self._records:
            from . import machine_code

            self._records[name] = ModelFile(f"{name}-{machine_code.content_name({})[:8]}.json", not self.outside)
        return self._records[name]


def _refuse_long(what: str, operations: int) -> None:
    """Refuse to hand on so many operations."""
    if operations > LONGEST_WRITTEN:
        raise IncompatibleMethods(
            f"{what} {operations} operations, which are played from lists in this process: written out for a GPU, "
            "another process, a page, an export or double-double they would compile for minutes. Use simulate, Stepper, or "
            'sweep with on="threads".'
        )
