"""A run that has begun and is to be taken out of Python: its memory in one piece, and the object with all that it calls."""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.bounds import bounded
from ..kernels.evaluate import evaluate_carefully, judge_field
from ..kernels.signatures import N_FUNCTIONS, Fn, Model, Record
from ..loop import outside
from ..loop.batch import Tables
from ..loop.starts import Room
from ..model.dae import Dae
from ..model.state_map import state_map
from ..model.tape import Tape
from ..multibody.joint_frames import COMPONENTS, JointFrame, joint_frames
from ..passage.steps import pass_on
from ..planning.workspace import Workspace
from ..results.solution import Solution
from ..running import failure
from ..running.one_plan import OnePlan
from ..running.run import Run
from ..sweeping.program import MORE, Program
from ..sweeping.start_room import start_memory, start_room
from .exported_events import impacts_of
from .one_object import Arena, Field, Functions, OneObject
from .settled import FRAME

ENDLESS = 2**62  # steps: a loop of one's own has no end


def count(shape: tuple[int, ...]) -> int:
    """How many numbers an array of a shape has."""
    return int(np.prod(shape, dtype=int))


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
        self.run = run = Run(plan, data, t0, x0, t_end, save_t=np.zeros(0), inputs=ready.tables, **limits)
        status = run.begin()
        if status != OK:
            raise failure.explain(status, run, plan, Solution.from_run(run, plan, ready.begin, "failed"))
        run.memory.notes = 0  # of the smallest pivot ratio: told after a run, by Python
        self._place()
        self._entries()

    def _tapes(self) -> dict[str, dict[Fn, Tape]]:
        return {
            group: {Fn[name]: Tape.from_text(text) for name, text in texts.items()} for group, texts in self.program.tapes.items()
        }

    @property
    def input_places(self) -> list[int]:
        """Where inputs that can be set stand in data: those that are numbers."""
        known = self.ready.tables
        return [known.at + 3 * i for i, times, _ in known.tables if len(times) == 1]

    @property
    def settable(self) -> list[str]:
        """Their names."""
        known = self.ready.tables
        return [name for name, (_, times, _) in zip(known.names, known.tables, strict=True) if len(times) == 1]

    @property
    def walks(self) -> bool:
        """Whether there is something between start and end of a call: events, or breaks of tabulated inputs."""
        return bool(self.plan.events) or len(self.ready.tables.breaks) > 0

    @property
    def several(self) -> bool:
        """Whether its method takes several steps together, which end where the state is changed."""
        return not self.plan.integrator.one_step

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
        events = self.plan.events
        self.impacts = impacts_of(events, self.ready.t0, self.plan.size.nx, N_FUNCTIONS, self.several)
        for name in ("fired", "waits", "log_t", "log", "counts", "new"):
            keep(name, getattr(self.impacts, name))
        self.goal = keep("goal", np.zeros(1))
        length = lambda group, fn: len(self.groups[group][fn].outputs) if group in self.groups else 0
        self.n_outputs, self.n_residuals = length("outputs", Fn.OUTPUTS), length("start", Fn.RESIDUAL)
        self.n_shown = sum(count(shape) for name, shape in self.model.output_shapes.items() if not name.startswith(FRAME))
        self.joints = self._joints()
        self.terms = keep("terms", np.zeros(length("start", Fn.TERMS) if self.joints or not self.unique else 0))
        self.shown = keep("shown", np.zeros(0 if self.unique else self.model.nv + self.model.n_lam))
        self.algebraic = keep("algebraic", np.zeros(length("multipliers", Fn.MULTIPLIERS)))
        self.joint_forces = keep("joint_forces", np.zeros(len(self.joints) * self.n_components))
        self.outputs = keep("outputs", np.zeros(self.n_outputs))
        self.residuals = keep("residuals", np.zeros(self.n_residuals))

    def _entries(self) -> None:
        parts, run, plan, work = self.parts, self.run, self.plan, self.run.work
        model = Model(self._functions(), plan.size, run.data)
        nx, nk = plan.size.nx, plan.size.nk
        record = Record(np.zeros(0), np.zeros((0, nx)), np.zeros((0, nk)), np.zeros((0, work.columns)), np.zeros(0))
        state = work.loop.state
        t = Field(run.memory, "t")
        tables, fired = self._tables(), self.impacts.fired
        given = (self._slots(), model, plan.method, run.memory, work.loop, record, work.events)
        started, room = self._start()
        if self.walks:
            parts.entry("hol_walk", outside.walk_there, *given, tables, started, room, self.impacts, self.goal)
        else:
            parts.entry("hol_go_on", outside.go_on, *given)
        parts.entry("hol_begin", outside.begin_there, model, run.memory, work.loop, record, work.events, tables, fired)
        parts.entry("hol_field", outside.field_there, model, run.memory, t, state.x, state.K, 0, state.W)
        if self.n_outputs:
            b = (state.K, self.model.nq) if self.unique else self.shown
            parts.model_entry("hol_outputs", self.groups["outputs"][Fn.OUTPUTS], t, state.x, b, run.data, self.outputs)
        if len(self.algebraic):
            tape = self.groups["multipliers"][Fn.MULTIPLIERS]
            parts.model_entry("hol_multipliers", tape, t, state.x, state.x, run.data, self.algebraic)
        if not self.unique:
            self._smallest_entry()
        if len(self.terms):
            parts.model_entry("hol_terms", self.groups["start"][Fn.TERMS], t, state.x, state.x, run.data, self.terms)
        if self.n_residuals:
            tape = self.groups["start"][Fn.RESIDUAL]
            parts.model_entry("hol_residuals", tape, t, state.x, state.x, run.data, self.residuals)
        if self.readies:
            self._ready_entry(t, started, room)
        parts.constant("hol_image", self.arena.image)

    @property
    def unique(self) -> bool:
        """Whether the multipliers of a step are those that results show: rows are independent, or dependent ones are dropped."""
        return self.plan.rows is None or self.ready.begin.redundant == "drop"

    @property
    def n_components(self) -> int:
        """Numbers of one joint: its force and its torque."""
        resolver = self.model.system.resolver
        return 0 if resolver is None else len(COMPONENTS[resolver.dimension])

    @property
    def lambda_at(self) -> tuple[str, int, int]:
        """Where multipliers are read: which part of the arena, from which number on, and how many there are."""
        model = self.model
        if len(self.algebraic):
            inside = self.program.lam_in_x
            return ("x", inside.start, len(self.algebraic)) if inside is not None else ("algebraic", 0, len(self.algebraic))
        if not self.unique:
            return "shown", model.nv, model.n_lam
        return "K", model.nq + model.nv, self.plan.n_lam

    def _joints(self) -> dict[str, JointFrame]:
        """Joints whose forces follow from multipliers."""
        system = self.model.system
        return {} if system.resolver is None else joint_frames(system.resolver)

    def _smallest_entry(self) -> None:
        """The entry that finds the multipliers which results show: the shortest of those with the same effect."""
        model, keep = self.model, self.arena.keep
        nq, nv, nl = model.nq, model.nv, model.n_lam
        every = self.plan.n_lam == nl
        places = np.arange(nl) if every else np.array(self.plan.rows)
        qr = np.zeros((nl, nv)), np.zeros(min(nl, nv)), np.zeros(nv, np.int64), np.zeros(3 * nv)
        room = np.zeros(max(nl, nv)), np.zeros(nv), np.zeros(nv)
        self._keep_all("smallest_qr", qr)
        for name, each in zip(("smallest_b", "smallest_rows", "smallest_r"), room, strict=True):
            keep(name, each)
        at_G = nq + nv * nv + nv
        given = (self.terms, at_G, self.run.K, places.astype(np.int64), nq, nv, qr, *room, self.shown)
        self.parts.entry("hol_smallest", outside.smallest_there, *given)

    def _functions(self) -> Functions:
        """The model's functions, those for rare cases among them: nothing is compiled later."""
        fns = Functions(2 * (N_FUNCTIONS + len(self.plan.events)))
        for k, (name, event) in enumerate(self.plan.events.items()):
            if event.then is not None:
                tape = state_map("export", self.model, name, event.then, "a library")
                fns.symbols[2 * (N_FUNCTIONS + k)] = self.parts.tape(tape)
        for group in ("run", "select", "events", *MORE.values()):
            for fn, tape in self.groups.get(group, {}).items():
                fns.symbols.setdefault(2 * fn, self.parts.tape(tape))
        events = self.groups.get("events", {}).get(Fn.EVENTS)
        if events is not None:
            fns.symbols[2 * Fn.BOUNDS] = self.parts.kernel(bounded)
            fns.contexts[2 * Fn.BOUNDS + 1] = self.parts.bounds(events)
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
        """Whether another start is made consistent there, or told what invariants are: nothing that Python has to solve for."""
        model = self.model
        return not self.needs_python and model.n_lam + model.n_invariants > 0

    @property
    def needs_python(self) -> bool:
        """Whether another start takes Python: algebraic variables, a Dae, constraints of a system with states of its own."""
        model = self.model
        return model.nw > 0 or isinstance(model.system, Dae) or (len(model.extras) > 0 and model.n_lam > 0)

    def _tables(self) -> Tables:
        """Inputs that are tables, as kernels take them."""
        known = self.ready.tables
        given = [(known.at + 3 * i, times, values) for i, times, values in known.tables if len(times) > 1]
        ends = np.cumsum([0, *(len(times) for _, times, _ in given)])
        joined = lambda parts: np.concatenate([np.zeros(0), *parts])
        return Tables(
            np.array([at for at, _, _ in given], dtype=np.int64), ends.astype(np.int64), joined(times for _, times, _ in given),
            joined(values for _, _, values in given)[None, :], np.array(known.breaks, dtype=float),
        )  # fmt: skip

    def _start(self) -> tuple[Model, Room]:
        """The model and the workspace by which starts and impacts are made consistent."""
        fns = Functions(2 * N_FUNCTIONS)
        texts = self.groups.get("start", {})
        fns.symbols = {2 * fn: self.parts.tape(tape) for fn, tape in texts.items()}
        lengths = {Fn.RESIDUAL: 0} | {fn: len(tape.outputs) for fn, tape in texts.items()}
        if Fn.VEL_FACTOR in texts:
            rank = len(self.groups["rank"][Fn.VEL_FACTOR].outputs)
            lengths[Fn.VEL_FACTOR] = max(lengths[Fn.VEL_FACTOR], rank)
        room = start_room(self.program, np.zeros(self.model.nq, dtype=bool), lengths)
        self._keep_all("room", room)
        return Model(fns, start_memory(self.program, "project"), self.run.data), room

    def _ready_entry(self, t: Field, started: Model, room: Room) -> None:
        """The entry that moves the state onto the constraints, the shortest way."""
        model, keep = self.model, self.arena.keep
        ranked = Functions(2 * N_FUNCTIONS)
        ranked.symbols = {2 * fn: self.parts.tape(tape) for fn, tape in self.groups.get("rank", {}).items()}
        data, found, status = keep("start_data", np.zeros(len(self.run.data))), np.zeros((1, 2)), np.zeros(1, np.int64)
        keep("found", found)
        keep("start_status", status)
        # one row of the run's own arrays: the start is moved where it stands
        X, DATA = (np.zeros((1, n)) for n in (model.nq + model.nv, len(self.run.data)))
        self.arena.same(X, self.run.x)
        self.arena.same(DATA, self.run.data)
        self.parts.entry("hol_ready", outside.ready_there, started._replace(data=data), ranked, t, X, DATA, room, found, status)

    def _keep_all(self, name: str, values: tuple) -> None:
        """Give places to all arrays of a group that are written."""
        for place, value in enumerate(values):
            if isinstance(value, tuple):
                self._keep_all(f"{name}_{place}", value)
            elif not self.arena.has(value):  # the same coordinates may be free in q and v
                self.arena.keep(f"{name}_{place}", value)
