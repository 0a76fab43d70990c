"""A run that has begun and is to be taken out of Python: its memory in one piece, and the object with all that it calls."""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.evaluate import evaluate_carefully, judge_field
from ..kernels.signatures import N_FUNCTIONS, Fn, Model, Record
from ..loop import outside
from ..model.tape import Tape
from ..passage.steps import pass_on
from ..planning.workspace import Workspace
from ..results.solution import Solution
from ..running import failure
from ..running.one_plan import OnePlan
from ..running.run import Run
from ..sweeping.program import MORE, Program
from ..sweeping.start_room import start_memory, start_room
from .one_object import Arena, Field, Functions, OneObject

ENDLESS = 2**62  # steps: a loop of one's own has no end


class ExportedRun:
    """The run just begun, with places for everything that C reads and writes.

    Attributes
    ----------
    arena : Arena
        Its memory.
    parts : OneObject
        What its library is linked from.
    """

    def __init__(self, ready: OnePlan, t_end: float, limits: dict):
        plan, data, t0, x0 = ready.plan, ready.data, ready.t0, ready.x0
        self.plan, self.model, self.ready = plan, plan.model, ready
        self.program = Program(plan, ready.begin.redundant)
        self.arena, self.groups = Arena(), self._tapes()
        self.parts = OneObject(self.arena)
        plan.spare.append(Workspace(plan, paths=0))  # with nothing in it of runs before, and no room for what Python reads
        self.run = run = Run(plan, data, t0, x0, t_end, save_t=np.zeros(0), **limits)
        status = run.begin()
        if status != OK:
            raise failure.explain(status, run, plan, Solution.from_run(run, plan, ready.begin, "failed"))
        run.memory.notes = 0  # of the smallest pivot ratio: told after a run, by Python
        self._place()
        self._entries()

    def _tapes(self) -> dict[str, dict[Fn, Tape]]:
        return {
            group: {Fn[name]: Tape.from_text(text) for name, text in texts.items()}
            for group, texts in self.program.tapes.items()
        }

    def _place(self) -> None:
        """Give everything that changes a place in the arena; all else becomes constants."""
        keep, run, work = self.arena.keep, self.run, self.run.work
        keep("run", run.memory)
        keep("data", run.data)
        for name, array in zip(work.loop.state._fields, work.loop.state, strict=True):
            keep(name, array)
        keep("xe", work.loop.inside.x)
        keep("ke", work.loop.inside.K)
        keep("path", work.loop.passing.path)
        for name, array in zip(work.events._fields, work.events, strict=True):
            keep(f"event_{name}", array)
        length = lambda group, fn: len(self.groups[group][fn].outputs) if group in self.groups else 0
        self.n_outputs, self.n_residuals = length("outputs", Fn.OUTPUTS), length("start", Fn.RESIDUAL)
        self.outputs = keep("outputs", np.zeros(self.n_outputs))
        self.residuals = keep("residuals", np.zeros(self.n_residuals))

    def _entries(self) -> None:
        parts, run, plan, work = self.parts, self.run, self.plan, self.run.work
        model = Model(self._functions(), plan.size, run.data)
        nx, nk = plan.size.nx, plan.size.nk
        record = Record(np.zeros(0), np.zeros((0, nx)), np.zeros((0, nk)), np.zeros((0, work.columns)), np.zeros(0))
        state = work.loop.state
        t = Field(run.memory, "t")
        parts.entry("hol_go_on", outside.go_on, self._slots(), model, plan.method, run.memory, work.loop, record, work.events)
        parts.entry("hol_begin", outside.begin_there, model, run.memory, work.loop, record, work.events)
        parts.entry("hol_field", outside.field_there, model, run.memory, t, state.x, state.K, 0, state.W)
        if self.n_outputs:
            b = (state.K, self.model.nq)
            parts.model_entry("hol_outputs", self.groups["outputs"][Fn.OUTPUTS], t, state.x, b, run.data, self.outputs)
        if self.n_residuals:
            tape = self.groups["start"][Fn.RESIDUAL]
            parts.model_entry("hol_residuals", tape, t, state.x, state.x, run.data, self.residuals)
        if self.readies:
            self._ready_entry(t)
        parts.constant("hol_image", self.arena.image)

    def _functions(self) -> Functions:
        """The model's functions, those for rare cases among them: nothing is compiled later."""
        fns = Functions(2 * N_FUNCTIONS)
        for group in ("run", "select", "events", *MORE.values()):
            for fn, tape in self.groups.get(group, {}).items():
                fns.symbols.setdefault(2 * fn, self.parts.tape(tape))
        fns.symbols[2 * Fn.CAREFUL] = self.parts.kernel(evaluate_carefully if self.model.dense else judge_field)
        return fns

    def _slots(self) -> Functions:
        kernels = self.program.slot_kernels()
        if self.plan.crosses:
            kernels[-1] = pass_on
        slots = Functions(len(kernels))
        slots.symbols = {place: self.parts.kernel(kernel) for place, kernel in enumerate(kernels)}
        return slots

    @property
    def readies(self) -> bool:
        """Whether another start can be made consistent there: dense terms, and nothing that Python has to solve for."""
        model = self.model
        return model.dense and not model.is_ode and not len(model.extras) and model.n_lam > 0

    def _ready_entry(self, t: Field) -> None:
        """The entry that moves the state onto the constraints, the shortest way."""
        model, keep = self.model, self.arena.keep
        tables = {}
        for group in ("start", "rank"):
            tables[group] = Functions(2 * N_FUNCTIONS)
            tables[group].symbols = {2 * fn: self.parts.tape(tape) for fn, tape in self.groups[group].items()}
        lengths = {fn: len(tape.outputs) for fn, tape in self.groups["start"].items()}
        lengths[Fn.VEL_FACTOR] = max(lengths[Fn.VEL_FACTOR], len(self.groups["rank"][Fn.VEL_FACTOR].outputs))
        room = start_room(self.program, np.zeros(model.nq, dtype=bool), lengths)
        self._keep_all("room", room)
        data, found, status = keep("start_data", np.zeros(len(self.run.data))), np.zeros((1, 2)), np.zeros(1, np.int64)
        keep("found", found)
        keep("start_status", status)
        # one row of the run's own arrays: the start is moved where it stands
        X, DATA = (np.zeros((1, n)) for n in (model.nq + model.nv, len(self.run.data)))
        self.arena.same(X, self.run.x)
        self.arena.same(DATA, self.run.data)
        here = Model(tables["start"], start_memory(self.program, "project"), data)
        self.parts.entry("hol_ready", outside.ready_there, here, tables["rank"], t, X, DATA, room, found, status)

    def _keep_all(self, name: str, values: tuple) -> None:
        """Give places to all arrays of a group that are written."""
        for place, value in enumerate(values):
            if isinstance(value, tuple):
                self._keep_all(f"{name}_{place}", value)
            elif not self.arena.has(value):  # the same coordinates may be free in q and v
                self.arena.keep(f"{name}_{place}", value)
