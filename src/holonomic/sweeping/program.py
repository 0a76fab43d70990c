"""Program: everything that members run on, as data that can travel to another process.

In the process that made it, a program stands on its plan. What is sent elsewhere holds no function of the user's: the
traced and differentiated equations travel as tapes and are compiled where they arrive, once per process, or found there
in the cache. So functions that cannot be pickled (lambdas, closures, those typed at a prompt) are no obstacle. Only
where members call them on the way (`then` of an event, opaque functions) or at the start (a Dae) the system itself is sent.
"""

from __future__ import annotations

import importlib
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..kernels.evaluate import evaluate_carefully
from ..kernels.nothing import nothing
from ..kernels.select import select
from ..kernels.signatures import N_FUNCTIONS, Fn, Method, Model, Slot
from ..model import machine_code
from ..model.bounded_tapes import bounds_of
from ..model.dae import Dae
from ..model.extra_states import Extras
from ..model.model_base import PLAIN, Variant
from ..model.outside_functions import KNOWN
from ..model.tape import CALL, Tape
from ..native.marks import Kernel
from ..passage.alarm import ask_for_passage
from ..planning.plan import Plan, with_passage
from ..running.detour import alarm_of

MORE = {Fn.REFINED: "refined", Fn.TERMS: "terms"}  # what the loop may ask for


@dataclass(frozen=True)
class Facts:
    """Sizes of a model, and where things lie in its data."""

    nq: int
    nv: int
    n_lam: int
    n_constraints: int
    n_invariants: int
    is_ode: bool
    is_dae: bool
    dense: bool
    exact: bool  # whether TERMS holds ∂g/∂q
    turns: tuple[int, ...]
    at_invariants: int
    output_shapes: dict[str, tuple[int, ...]]
    coordinates: tuple[str, ...]
    extras: Extras
    invariant_labels: tuple[str, ...]
    row_labels: tuple[str, ...]

    @property
    def nc(self) -> int:
        return self.nq - len(self.extras)


class Program:
    """Kernels, model functions, sizes and numbers of one plan."""

    def __init__(self, plan: Plan, redundant: str | None):
        model = plan.model
        self.plan: Plan | None = plan
        self.redundant = redundant
        self.model = Facts(
            model.nq, model.nv, model.n_lam, model.n_constraints, model.n_invariants, model.is_ode,
            isinstance(model.system, Dae), model.dense,
            not model.is_ode and model.system.kinematics is None and not model.n_invariants,
            tuple(int(turn) for turn in model.turns), model.data_places["invariants"].start, dict(model.output_shapes),
            tuple(model.coordinates), model.extras, tuple(model.invariant_labels),
            () if model.is_ode else tuple(model.row_labels),
        )  # fmt: skip
        lowered = plan.integrator
        self.size, self.atol, self.kinds = plan.size, plan.atol, plan.kinds
        self.blocks, self.rows = plan.blocks, plan.rows
        self.sp, self.told, self.tol = plan.stabilization.sp, plan.stabilization.told, plan.choice.constraint_tol
        self.rtol = plan.choice.rtol
        self.integrator = SimpleNamespace(
            rows=lowered.rows, errors=lowered.errors, ip=lowered.ip, fp=lowered.fp, remembers=lowered.remembers,
            nodes=lowered.nodes, dense_rows=0,
        )  # fmt: skip
        self.alarm = alarm_of(plan)  # of singular positions that another plan leads over
        self.crosses, self.integrator_name = plan.crosses, type(plan.choice.integrator).__name__
        self.lam_in_x = lam_in_x(plan)
        self.keeps = plan.model.n_invariants > 0 and plan.choice.stabilization.acts == "step"  # invariants, at their values
        # of an event, its function is among the model's
        self.events = {name: SimpleNamespace(sign=e.sign, stops=e.stops) for name, e in plan.events.items()}
        self.switches, self.n_watched = plan.switches, plan.n_watched
        self.by_python = lowered.starting_points > 0 or any(e.then is not None for e in plan.events.values())
        # what members need of the user's functions themselves: `then` of an event, starts that Python makes consistent
        self.needs_functions = self.by_python or self.model.is_dae or len(model.extras) > 0
        self.event_field = plan.event_field if plan.events else False
        self.operations: int | None = None  # of the functions of a run, where it is known
        self._slots = self._fns = None
        self._tables: dict[str, tuple[np.ndarray, dict[Fn, int]]] = {}
        self._lock = threading.RLock()

    def for_kernels(self, data: np.ndarray) -> Model:
        """The model with these data, as kernels take it."""
        return Model(self.fns, self.size, data)

    @property
    def method(self) -> Method:
        """The numbers of the methods, as kernels take them."""
        return Method(self.integrator.ip, self.integrator.fp, self.sp)

    @property
    def fns(self) -> np.ndarray:
        """Addresses of the model functions that the loop calls."""
        if self.plan is not None:
            return self.plan.fns
        if self._fns is None:
            fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
            for group in ("run", "select", "events"):
                if group in self._tapes:
                    fns = np.where(fns != 0, fns, self.table(group)[0])
            fns[2 * Fn.CAREFUL] = evaluate_carefully.address
            self._fns = fns
        return self._fns

    @property
    def slots(self) -> np.ndarray:
        """Addresses of the methods' functions."""
        if self.plan is not None:
            return self.plan.slots
        if self._slots is None:
            self._slots = np.array([_kernel(*name).address for name in self._kernels], dtype=np.int64)
        return self._slots

    def add(self, fn: Fn | Slot) -> None:
        """Compile a function that the loop asks for in rare cases only."""
        with self._lock:
            if self.plan is not None:
                self.plan.add_function(fn)
            elif isinstance(fn, Slot):
                self._slots = with_passage(self.slots)
            else:
                self._fns = np.where(self.fns != 0, self.fns, self.table(MORE[fn])[0])

    def table(self, group: str) -> tuple[np.ndarray, dict[Fn, int]]:
        """Return addresses and lengths of a group of functions, see `groups`."""
        with self._lock:
            if group not in self._tables:
                if self.plan is not None:
                    self._tables[group] = self.plan.model.table(*self.groups()[group])
                else:
                    self._tables[group] = _compiled(self._tapes[group])
            return self._tables[group]

    def groups(self) -> dict[str, tuple[tuple[Fn, ...], Variant]]:
        """Functions by what they serve, and the variant they are made for."""
        assert self.plan is not None
        plan, model = self.plan, self.plan.model
        groups: dict[str, tuple[tuple[Fn, ...], Variant]] = {"run": (tuple(fn for fn in Fn if self._in_run(fn)), plan.variant)}
        if plan.size.at_selectors:
            groups["select"] = ((Fn.TERMS,), plan.by_rows)
        if plan.n_watched:
            groups["events"] = ((Fn.EVENTS, Fn.EVENT_RATES), plan.with_events)
        if not model.dense:
            groups["start"] = ((Fn.RESIDUAL, Fn.VEL_FACTOR), PLAIN)
            groups["rank"] = ((Fn.VEL_FACTOR,), PLAIN)
        elif not model.is_ode:
            groups |= {name: ((fn,), plan.variant) for fn, name in MORE.items()}
            groups["start"] = ((Fn.RESIDUAL, Fn.TERMS, Fn.VEL_FACTOR), PLAIN)
            groups["rank"] = ((Fn.VEL_FACTOR,), plan.by_rows)
        else:
            groups["start"] = ((Fn.RESIDUAL,), PLAIN)
        if self.model.output_shapes:
            groups["outputs"] = ((Fn.OUTPUTS,), PLAIN)
        if self.model.is_dae:
            groups["multipliers"] = ((Fn.MULTIPLIERS,), PLAIN)
        return groups

    def _in_run(self, fn: Fn) -> bool:
        from_elsewhere = {Fn.CAREFUL, Fn.EVENTS, Fn.EVENT_RATES, Fn.BOUNDS, *MORE}
        return bool(self.plan.fns[2 * fn]) and fn not in from_elsewhere

    # travelling

    @cached_property
    def tapes(self) -> dict[str, dict[str, str]]:
        """All model functions as text, by group and name."""
        return {
            group: {fn.name: tape.text() for fn, tape in self.plan.model.tapes(*what).items()}
            for group, what in self.groups().items()
        }

    def opaque(self, *groups: str) -> str | None:
        """The name of an opaque function among those of these groups; of all, where none is named."""
        if not KNOWN:
            return None
        texts = (text for group in groups or self.tapes for text in self.tapes.get(group, {}).values())
        found = next(filter(None, (re.search(f'"{CALL}(\\w+) ', text) for text in texts)), None)
        return None if found is None else KNOWN[found[1]].name

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in UNSENT}
        sent = self.needs_functions or (self.plan is not None and self.opaque() is not None)
        state["plan"], state["_tables"] = self.plan if sent else None, {}
        if state["plan"] is None and self.plan is not None:
            state["_tapes"] = self.tapes
            state["_kernels"] = [_kernel_name(kernel, self.plan) for kernel in self.slot_kernels()]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._slots, self._fns = threading.RLock(), None, None

    def slot_kernels(self) -> list[Kernel]:
        """The kernels of the methods, in the order of `Slot`."""
        plan = self.plan
        names = ("advance", "finish", "accept", "dense", "interpolate")
        return [
            *(plan.integrator.slots[name] for name in names), plan.stabilization.pull, plan.stabilization.tangent,
            nothing if plan.variant.selector is None else select, ask_for_passage,
        ]  # fmt: skip

    @property
    def shape(self) -> tuple[int, int]:
        """Unknowns in x and numbers in k at one saved time."""
        return self.size.nx, self.size.nk


UNSENT = ("plan", "_slots", "tapes", "_lock", "_tables", "_fns")


def lam_in_x(plan: Plan) -> slice | None:
    """Where multipliers are to be read in x; None: they follow from the state, see `sampling.multipliers`."""
    at = plan.model.nq + plan.model.nv
    for block in plan.blocks[2:]:
        if block.name == "lam" and block.size and plan.multipliers_of_steps:
            return slice(at, at + block.size)
        at += block.size
    return None


_held: dict[str, Any] = {}  # what contexts of this process lie in, by the tape


def _compiled(texts: dict[str, str]) -> tuple[np.ndarray, dict[Fn, int]]:
    """Compile tapes; return the table of their addresses, and the lengths of what they write."""
    tapes = {name: Tape.from_text(text) for name, text in texts.items()}
    same: dict[str, str] = {}  # text -> name under which it is compiled
    for name, text in texts.items():
        same.setdefault(text, name)
    own = {name: tapes[name] for name in same.values()}
    found = machine_code.addresses(machine_code.compile_tapes(own), tuple(own))
    if found is None:
        raise RuntimeError("compiled machine code could not be loaded")
    fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
    for name, text in texts.items():
        fns[2 * Fn[name]] = found[same[text]]
    for fn, bounds in bounds_of(tapes.get(Fn.EVENTS.name)).items():
        fns[2 * fn], fns[2 * fn + 1] = bounds.address, bounds.context
        _held[texts[Fn.EVENTS.name]] = bounds
    return fns, {Fn[name]: len(tape.outputs) for name, tape in tapes.items()}


def _kernel_name(kernel: Kernel, plan: Plan) -> tuple[str, str]:
    """Where other processes find a kernel; refuses those they cannot find."""
    module, name = kernel.__module__, kernel.__qualname__
    try:
        if module != "__main__" and _kernel(module, name) is kernel:
            return module, name
    except (ImportError, AttributeError):
        pass
    raise BadArgument(
        f"kernel {name!r} of {plan!r} is defined in {module!r}, where other processes cannot find it. Move it to the top "
        'level of a module that the workers can import, or use on="threads".'
    )


def _kernel(module: str, name: str) -> Kernel:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
