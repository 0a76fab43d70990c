"""Model: a system traced, differentiated and compiled, with its labels and sizes.

Two keys lead to machine code. The fingerprint of the user's functions leads to a record (numbers, labels,
content names), so that a known system needs neither tracing nor CasADi. The content name leads to the
object file, shared by all systems that differ only in numbers.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numba
import numpy as np

from .._version import __version__
from ..kernels import cachefolder
from ..kernels.calling import invoke
from ..kernels.signatures import N_FUNCTIONS, Fn
from . import machine
from .arguments import flatten_params
from .base import PLAIN, Held, ModelBase, Variant
from .dae import Dae
from .extra import NONE, Extras
from .fingerprint import fingerprint
from .newton_factors import order_at_start
from .system import Ode, System
from .tape import Tape
from .watch import Watch

UNKEYED = ("params", "resolver", "metric", "drawing")  # fields of a system that do not enter the compiled functions
# what a run begins with comes from compiled code, first time or not: the graph rounds otherwise
BEGINNINGS = (Fn.MULTIPLIERS, Fn.ALGEBRAIC, Fn.POS_FACTOR, Fn.POS_SOLVE)
MANY_LOOKS = 12  # evaluations from Python after which a function is worth compiling
SMALL = 40  # velocities and multipliers up to which dense terms compile in a few hundredths of a second
PACKAGE = __name__.partition(".")[0] + "."
ANNOUNCE_ABOVE = 5000  # operations from which compiling is announced: it takes about a second


@dataclass(frozen=True)
class Functions:
    """Addresses of compiled model functions, and the lengths of what they write."""

    addresses: dict[Fn, int]
    lengths: dict[Fn, int]


@functools.cache
def source_stamp() -> str:
    """Return the hash of the sources that turn a system into functions: other sources, other functions."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for place in ("model", "formulations"):
        for path in sorted((package / place).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class Model(ModelBase):
    """Compiled functions of one system at given sizes."""

    interpreted = False

    def __init__(self, system: System | Ode, q0, v0, t0: float = 0.0, extras: Extras = NONE):
        super().__init__(system, q0, v0, extras)
        self._start = (q0, v0, t0, extras)
        self._functions: dict[str, Functions] = {}
        self._tables: dict[Any, Any] = {}
        self._graphs: dict[tuple[Fn, Variant], Any] = {}
        self._looks: dict[tuple[Fn, Variant], int] = {}
        self._watch = self._watched()
        self._key = self._fingerprint()
        self._record = self._read_record()
        if self._record is None:
            self._record = self._make_record()
            self._write_record()
        elif self._record["checked"] not in (None, self._params()):
            self._traced  # noqa: B018  the checks of the mass matrix depend on the parameters: once more
        record = self._record
        self.numbers = np.array(record["numbers"])
        self.examined_with = record.get("examined")
        if self.examined_with == self._params() and record.get("held"):
            self.held = Held(tuple(record["held"][0]), record["held"][1])
        self.constraint_labels = record["constraint_labels"]
        self.nonholonomic_labels = record["nonholonomic_labels"]
        self.invariant_labels = record["invariant_labels"]
        self.output_shapes = {name: tuple(shape) for name, shape in record["output_shapes"].items()}

    def __reduce__(self):
        return type(self), (self.system, *self._start), {"held": self.held}  # addresses mean nothing in another process

    def note_held(self, held: Held) -> None:
        before = self.held
        super().note_held(held)
        if self.held == before:
            return
        for known in (self._functions, self._tables, self._graphs, self.__dict__.get("_plans", {})):
            known.clear()  # made as if M were regular

    def outdated(self) -> bool:
        """Tell whether the system's functions would do something else now: a global or a table has changed."""
        if not self._watch.changed():
            return False
        self._watch = self._watched()
        key = self._fingerprint()
        return key is None or key != self._key

    def functions(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> Functions:
        """Return the compiled functions, compiling what is not known yet."""
        wanted = tuple(self._really(fn, variant) for fn in wanted)
        named = (variant.events, variant.functions)
        events_key = fingerprint(*named) if any(named) else ""
        if not type(variant.formulation or self).__module__.startswith(PACKAGE):
            events_key = None  # a formulation of someone else's: its name does not tell its equations
        ours = self._variant_key(wanted, variant, events_key)
        if ours in self._functions and events_key is not None:
            return self._functions[ours]
        found = None
        if events_key is not None:
            found = self._within(wanted, variant, events_key) or self._load(ours)
        if found is None:
            found = self._compile(wanted, variant, ours if events_key is not None else None)
        self._functions[ours] = found
        return found

    def _really(self, fn: Fn, variant: Variant) -> Fn:
        one = self.shared and variant.mass_at is None and fn.name.startswith("POS")
        return Fn[fn.name.replace("POS", "VEL")] if one else fn

    def table(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> tuple[np.ndarray, dict[Fn, int]]:
        """Return the table of addresses that kernels take, and the lengths of the functions' results."""
        if variant.events is None:
            if (wanted, variant) not in self._tables:
                self._tables[wanted, variant] = self._table(wanted, variant)
            fns, lengths = self._tables[wanted, variant]
            return fns.copy(), lengths
        return self._table(wanted, variant)

    def _table(self, wanted, variant):
        functions = self.functions(wanted, variant)
        fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
        lengths = {}
        for fn in wanted:
            fns[2 * fn] = functions.addresses[self._really(fn, variant)]
            lengths[fn] = functions.lengths[self._really(fn, variant)]
        return fns, lengths

    def tapes(self, wanted: tuple[Fn, ...], variant: Variant = PLAIN) -> dict[Fn, Tape]:
        """Return what functions compute as plain data, which another process can compile."""
        from .graphs import tapes

        really = tuple(dict.fromkeys(self._really(fn, variant) for fn in wanted))
        made = tapes(*self._request(really, variant), order=self._pivots_for(variant))
        return {fn: made[self._really(fn, variant)] for fn in wanted}

    def evaluate(self, fn: Fn, t: float, a, b, data, variant: Variant = PLAIN) -> np.ndarray:
        """Call one function from Python; `a` and `b` as in `signatures.Fn`."""
        fn = self._really(fn, variant)
        if self._is_rare(fn, variant):
            return self._by_graph(fn, float(t), a, b, data, variant)
        fns, lengths = self.table((fn,), variant)
        out = np.empty(lengths[fn])
        invoke(fns, int(fn), float(t), np.ascontiguousarray(a), np.ascontiguousarray(b), data, out)
        return out

    def note_examined(self, data: np.ndarray) -> None:
        super().note_examined(data)
        if self._record.get("examined") is None:
            self._record["examined"] = self.examined_with
            self._record["held"] = None if self.held is None else [list(self.held.coordinates), self.held.all_rows]
            self._write_record()

    # the walk from functions to machine code

    @cached_property
    def _traced(self):
        from .trace import trace

        return trace(self.system, *self._start)

    def _derived(self, variant: Variant):
        from .derive_dae import derive
        from .trace import trace, trace_direction, trace_events

        traced = self._traced
        if variant.events and not isinstance(self.system, Dae):
            traced = trace_events(traced, variant.events)
        elif variant.events:  # they contain multipliers, which are solved for
            traced = trace(self.system, *self._start, events=variant.events, numbers=self.numbers)
        derived = derive(traced.expressions, variant.rows, self.held, variant.kept)
        derived.bend = variant.bend
        for D in variant.functions:
            shape = None
            if D is getattr(variant.formulation, "D", None):  # one column per constraint, as long as q (x of a Dae)
                levels = self.order if self.is_ode else 1
                shape = (self.nc // levels, self.n_constraints // levels)
            derived.given[D] = trace_direction(self.system, *self._start, D, derived, self.data_places, shape)
        return derived

    def _request(self, wanted: tuple[Fn, ...], variant: Variant) -> tuple:
        """What `graphs` and `tapes` take."""
        import casadi

        derived = self._derived(variant)
        metric = variant.metric
        if isinstance(metric, tuple):
            metric = casadi.SX(casadi.vertcat(*self.weights(metric, derived.e.data)))  # plain numbers alone would stay a DM
        equations = None if variant.formulation is None else variant.formulation.equations(derived, variant.gains)
        return derived, wanted, metric, variant.gains, equations, variant.direction, variant.mass_at

    def _pivots_for(self, variant: Variant) -> Callable:
        """How the order of elimination is chosen: once for a model, so that all its runs round alike."""
        known, key = self._record.setdefault("pivots", {}), self._variant_key((), variant, None)
        named = not variant.functions and type(variant.formulation).__module__.startswith(PACKAGE)

        def pivots(by_y, by_slope):
            if key in known and named:
                return known[key]
            q0, v0, t0 = self._start[:3]
            known[key] = order_at_start(by_y, by_slope, t0, np.concatenate([q0, v0]), self.data())
            self._write_record()
            return known[key]

        return pivots

    def _by_graph(self, fn: Fn, t: float, a, b, data, variant: Variant) -> np.ndarray:
        """Evaluate on the expression graph: slow, but nothing is compiled for a single look."""
        import casadi

        from .graphs import graphs

        if (fn, variant) not in self._graphs:
            *inputs, out = graphs(*self._request((fn,), variant))[fn]
            self._graphs[fn, variant] = casadi.Function("look", inputs, [casadi.densify(out)])
        look = self._graphs[fn, variant]
        given = [values[: look.numel_in(i)] for i, values in enumerate((a, b, data), 1)]  # arrays may be longer
        return np.array(look(t, *given)).reshape(-1)

    def _is_rare(self, fn: Fn, variant: Variant) -> bool:
        """Whether a function has been asked for from Python only a few times and need not be compiled yet.

        TERMS of a small model is compiled at once: the mass matrix is looked into again for every set of parameters, and
        a model that is known from the cache has no graph to look at.
        """
        if fn is Fn.TERMS and self.nv + self.n_lam <= SMALL:
            return False
        if "_traced" not in self.__dict__ or variant.events is not None or variant.functions or fn in BEGINNINGS:
            return False
        known = self._functions.values()
        if ((fn,), variant) in self._tables or any(fn in found.addresses for found in known):
            return False
        self._looks[fn, variant] = self._looks.get((fn, variant), 0) + 1
        return self._looks[fn, variant] <= MANY_LOOKS

    def _within(self, wanted, variant: Variant, events_key) -> Functions | None:
        """A compiled set that has all the wanted functions and more."""
        names = {fn.name for fn in wanted}
        suffix = self._variant_key((), variant, events_key)
        for key in self._record["objects"]:
            head, _, tail = key.partition("|")
            if "|" + tail == suffix and names < set(head.split(",")):
                return self._load(key)
        return None

    def _compile(self, wanted, variant: Variant, key: str | None) -> Functions:
        from .graphs import tapes

        made = tapes(*self._request(tuple(dict.fromkeys(wanted)), variant), order=self._pivots_for(variant))
        named = {fn.name: tape for fn, tape in made.items()}
        size = sum(len(tape) for tape in made.values())
        if size > ANNOUNCE_ABOVE:
            print(f"holonomic: compiling a model of {size} operations ...", file=sys.stderr, flush=True)
        name = machine.compile_tapes(named)
        lengths = {fn.name: len(tape.outputs) for fn, tape in made.items()}
        if key is not None:
            self._record["objects"][key] = {"name": name, "lengths": lengths, "operations": size}
            self._write_record()
        addresses = machine.addresses(name, tuple(named))
        if addresses is None:
            raise RuntimeError("compiled machine code could not be loaded")
        return Functions(
            {fn: addresses[fn.name] for fn in made}, {fn: lengths[fn.name] for fn in made}
        )

    def _load(self, key: str) -> Functions | None:
        entry = self._record["objects"].get(key)
        if entry is None:
            return None
        addresses = machine.addresses(entry["name"], tuple(entry["lengths"]))
        if addresses is None:
            return None
        return Functions(
            {Fn[name]: addresses[name] for name in entry["lengths"]},
            {Fn[name]: length for name, length in entry["lengths"].items()},
        )

    def _variant_key(self, wanted, variant: Variant, events_key) -> str:
        names = ",".join(sorted({fn.name for fn in wanted}))
        ways = [
            replace(way, D="G" if way is variant.formulation else "given") if callable(getattr(way, "D", None)) else way
            for way in (variant.bend, variant.direction, variant.formulation)  # functions are in events_key
        ]
        held = "" if self.held is None else f"|{self.held}"
        rows = f"{variant.rows}|{variant.kept}{held}"
        return f"{names}|{variant.metric}|{variant.mass_at}|{variant.gains}|{rows}|{ways}|{events_key}"

    # the record on disk

    def _described(self) -> dict[str, Any]:
        """What the compiled functions follow from, numbers that are arguments left out."""
        s = self.system
        described = {name: getattr(s, name) for name in s.__dataclass_fields__ if name not in UNKEYED}
        if described.get("inputs"):
            described["inputs"] = {
                name: given if callable(given) else "value" for name, given in described["inputs"].items()
            }
        return described

    def _watched(self) -> Watch:
        """A look at what the system's functions read; all else in a system is its own."""
        given = self._described().values()
        listed = (each if isinstance(each, Mapping) else {"": each} for each in given)
        return Watch(*(function for each in listed for function in each.values() if callable(function)))

    def _fingerprint(self) -> str | None:
        s, described = self.system, self._described()
        shapes = {name: np.shape(value) for name, value in (s.params or {}).items()}
        versions = (__version__, numba.__version__, machine.content_name({}), source_stamp())
        sizes = (self.nq, self.nv, self.extras.states, self.extras.algebraic)
        return fingerprint(type(s).__name__, described, shapes, sizes, versions)

    def _read_record(self) -> dict | None:
        if self._key is None:
            return None
        content = cachefolder.read("models", self._key + ".json")
        try:
            return None if content is None else json.loads(content)
        except ValueError:
            return None  # unreadable means rebuilt

    def _make_record(self) -> dict:
        from .trace import mass_reads

        traced = self._traced
        return {
            "numbers": traced.numbers.tolist(),
            "constraint_labels": traced.constraint_labels,
            "nonholonomic_labels": traced.nonholonomic_labels,
            "invariant_labels": traced.invariant_labels,
            "output_shapes": {name: list(shape) for name, shape in traced.output_shapes.items()},
            "objects": {},
            "checked": self._params() if traced.depends else None,
            "forgets": traced.scene.forgets,
            "mass": mass_reads(traced.expressions),
        }

    @property
    def mass_reads(self) -> tuple[list[int], bool]:
        """Which places of data the mass matrix depends on, and whether it changes with position or time."""
        places, moves = self._record["mass"]
        return places, moves

    @property
    def may_forget(self) -> bool:
        """Whether velocity terms are left out that vanish with the system's own parameters, and perhaps not with others."""
        return self._record["forgets"]

    def _params(self) -> list[float]:
        return flatten_params(dict(self.system.params or {})).tolist()

    def _write_record(self) -> None:
        if self._key is not None:
            cachefolder.write("models", self._key + ".json", json.dumps(self._record).encode())
