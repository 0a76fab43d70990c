"""Plan: does this combination work, and what does it lower to.

A plan is the checked choice of formulation, integrator, stabilization and tolerances for one model, with
every kernel address and every array size the step loop needs. It holds no state of a run, so it is made
once and used for many.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import NEED_PASSAGE, NEED_REFINED, NEED_SWITCHES, NEED_TERMS, BadArgument, IncompatibleMethods
from ..formulations.base import Block
from ..kernels import sizes
from ..kernels.evaluate import evaluate_carefully, judge_field
from ..kernels.memory import SIZE
from ..kernels.newton import least_squares_work
from ..kernels.newton_operators import dense_sizes, own_sizes
from ..kernels.nothing import nothing
from ..kernels.saddle import dense_work
from ..kernels.select import select, select_data, select_work
from ..kernels.signatures import Fn, Method, Model, Slot
from ..kernels.sizes import LENGTH, MULTIPLIER, NONE, OWN, SPEED, SPIN, TURNS, UNIT
from ..kernels.sliding import along_work
from ..loop.event_bounds import curve_work
from ..model.call_by_name import FULL, wanted
from ..model.compiled import Variant
from ..model.dae import Dae
from ..model.extra_states import allowed
from ..passage.alarm import ask_for_passage
from ..passage.branch_gap import room_of_misses
from .choice import OF_SIZE, Choice
from .fit import check_fit
from .offered import along_multipliers, check_offered, check_traced, metric_of
from .words import in_short, methods

# what a kernel asks for by its status
MISSING = {NEED_REFINED: Fn.REFINED, NEED_TERMS: Fn.TERMS, NEED_SWITCHES: Fn.EVENTS, NEED_PASSAGE: Slot.PASSAGE}
# tolerance of Newton's method where steps are fixed; it goes on to 1e-5 of it
OF_COORDINATES = {"angle": TURNS, "quaternion": UNIT}
ENDLESS = 1e200  # the tolerance of what does not count; products of pairs of doubles have no infinity
TIGHT = {"double": 1e-10, "double-double": 1e-25}


class Plan:
    """The checked, lowered choice; `why()` says in words what will run and for what reason."""

    solution: Any = None
    members: tuple[str, ...] = ()

    def __init__(self, model, choice: Choice, events: dict | None, rows: tuple[int, ...] | None = None, switching: bool = False):
        self.model, self.choice, self.events, self.rows = model, choice, events or {}, rows
        check_fit(choice, model)
        self.integrator = choice.integrator.lower()
        if self.integrator.unconstrained is not None and not model.n_lam:
            self.integrator = self.integrator.unconstrained
        if choice.step is not None and self.integrator.fixed is not None:
            self.integrator = self.integrator.fixed
        if choice.step is not None and self.integrator.patient is not None:
            self.integrator = replace(self.integrator, ip=self.integrator.patient)
        if self.integrator.starting_points and self.events:
            raise IncompatibleMethods(
                f"{choice.integrator!r} keeps its steps even and cannot end one on an event. Use BDF(), or a one-step "
                "method such as Trapezoidal()."
            )
        self.switches = model.switches if switching and not self.integrator.starting_points else ()
        self.n_watched = len(self.events) + len(self.switches)
        self.watches = len(self.events) > 0 or any(not switch.sleeps for switch in self.switches)  # from the start
        hopeless = np.inf if choice.step is not None else max(1e4 * choice.kept_rtol, 1e-8)
        own, mass_at = along_multipliers(choice, model)
        lowered = own.lower(choice.constraint_tol, hopeless)
        inside = choice.between_ends(hopeless) if not model.is_ode and model.n_lam else None
        if inside is not None and (model.dense or not model.lacks(inside.needs, choice.formulation)):
            lowered = inside
        self.stabilization = lowered.measured(model.turns)
        check_traced(choice, self.stabilization, model)
        if not model.dense:
            check_offered(choice, self.integrator, self.stabilization, mass_at, self.events, model)
        metric = metric_of(self.stabilization.metric, model)
        implicit = choice.formulation if choice.integrator.takes == "residual" else None
        lowered = self.stabilization
        every = choice.integrator.takes == "ode" and lowered.bend is None and lowered.direction is None and not model.lam_in_force
        self.by_rows = Variant() if rows is None else Variant(kept=rows) if every else Variant(rows=rows)
        self.variant = replace(
            self.by_rows, metric=metric, mass_at=mass_at, gains=lowered.baumgarte, formulation=implicit, bend=lowered.bend,
            direction=lowered.direction,
        )  # fmt: skip
        self.n_lam = model.n_lam if rows is None or every else len(rows)
        self.n_holonomic = model.n_constraints if rows is None else sum(row < model.n_constraints for row in rows)
        lost = model.n_constraints - self.n_holonomic if self.n_lam < model.n_lam else 0
        self.n_position = model.n_constraints + model.n_invariants - lost
        self.blocks = self._blocks(implicit)
        if self.integrator.wants_scales:
            fp = np.concatenate([self._scales(), self.integrator.fp])
            self.integrator = replace(self.integrator, fp=fp)
        self.spare: list = []  # workspaces of finished runs, for the next ones
        self.on_gpu: dict[Any, Any] = {}  # programs of sweeps there
        self.in_short: Plan | None = None  # what a run in which little happens has instead
        self.states_alone: Plan | None = None
        self.slots = self._slots()
        self.fns, self.size = self._functions()

    def __reduce__(self):
        return type(self), (self.model, self.choice, self.events, self.rows, bool(self.switches))

    def _blocks(self, implicit) -> tuple[Block, ...]:
        """The unknowns: q and v, and whatever an implicit formulation adds."""
        nq, nv = self.model.nq, self.model.nv
        if implicit is None:
            return (Block("q", nq), Block("v", nv))
        if self.model.is_ode and (implicit.for_dae or self.model.lam_in_force):
            each = self._n_algebraic
            return implicit.blocks(nq, nv, each, each)
        blocks = implicit.blocks if self.model.dense else implicit.blocks_of_elements
        return blocks(nq, nv, self.n_lam, self.n_position - self.model.n_invariants)

    @property
    def multipliers_of_steps(self) -> bool:
        """Whether multipliers are read as the steps found them: y of a Dae that may have several, because f depends on it.

        All others follow from the state. The λ of a step differs from it by (G M⁻¹ Gᵀ)⁻¹ (G v' + γ), v' being the method's
        own difference quotient, with which errors of index 2 are divided by h and those of index 3 by h².
        """
        return self.model.is_ode and self.model.lam_in_force and not self.choice.integrator.multipliers_in_stages

    @property
    def _n_algebraic(self) -> int:
        """Multipliers, or algebraic unknowns of a Dae, whose constraints are counted once per level."""
        return self.model.n_constraints // self.model.order if self.model.is_ode else self.n_lam

    @property
    def _selected(self) -> tuple[int, int]:
        """Among how many entries selectors choose, and how many constraints these have: v, or x of a Dae."""
        each = self.model.nq // self.model.order if self.model.is_ode else self.model.nv
        return each, self._n_algebraic

    def _scales(self) -> np.ndarray:
        """rtol, Newton's bound, the powers of h for every unknown, and how well constraints are to hold."""
        rtol = self.choice.kept_rtol
        bound = max(10 * np.finfo(float).eps / rtol, min(0.03, rtol**0.5))
        if self.choice.step is not None:  # there is no error to compare with: as far as rounding lets it
            rtol, bound = min(rtol, TIGHT[self.choice.precision]), 1e-5
        keeps = self.variant.formulation is not None and self.variant.formulation.keeps
        return np.concatenate([[rtol, bound], self.powers, [self.choice.constraint_tol if keeps else np.inf]])

    @cached_property
    def powers(self) -> np.ndarray:
        """By how much every unknown is raised above index 1."""
        powers = np.concatenate([np.full(block.size, block.power) for block in self.blocks])
        if self.variant.formulation is not None and isinstance(self.model.system, Dae):  # x^(j): index m - j below y
            m, index = self.model.order, self.choice.formulation.index
            powers[: self.model.nq] = np.repeat([max(0, index - 1 - m + j) for j in range(m)], self.model.nq // m)
        if len(self.model.extras):  # states that follow λ lose one power less than it, algebraic variables what v loses
            nc, ns, nq = self.model.nc, self.model.ns, self.model.nq
            lam = max((block.power for block in self.blocks if block.name == "lam"), default=0)
            powers[nc : nc + ns] = max(0, lam - 1)
            powers[nc + ns : nq] = self.blocks[1].power
        return powers

    @cached_property
    def atol(self) -> np.ndarray:
        """Absolute tolerance of every unknown; below zero: minus a share of sizes."""
        given = np.asarray(self.choice.kept_atol, dtype=float)
        atol = np.full(sum(block.size for block in self.blocks), -OF_SIZE * self.choice.kept_rtol)
        atol[: self.model.nq + self.model.nv] = given
        if self.blocks[1].power:
            atol[self.model.nq : self.model.nq + self.model.nv] = -OF_SIZE * self.choice.kept_rtol
        # of what is raised above index 1 counts what it makes of the others in a step, and that by the largest of these
        atol = np.where((self.powers > 0) & (atol < 0.0), atol / OF_SIZE, atol)
        counts = np.concatenate([np.full(block.size, block.counts) for block in self.blocks])
        return np.where(counts, atol, ENDLESS)

    @cached_property
    def kinds(self) -> np.ndarray:
        """Which size the tolerance of every unknown goes by."""
        model = self.model
        usual = [LENGTH]
        if model.is_ode:  # x and x' of a Dae of order 2 are lengths and speeds
            usual = [LENGTH, SPEED] if isinstance(model.system, Dae) and model.order == 2 else [OWN]
        each = max(1, model.nc // len(usual))
        usual = [usual[min(i // each, len(usual) - 1)] for i in range(model.nc)]
        coordinates = [OF_COORDINATES.get(kind, own) for kind, own in zip(model.coordinate_kinds, usual, strict=True)]
        speeds: list[int] = []
        for kind, many in itertools.groupby(coordinates):
            count = len(list(many))
            speeds += [SPEED if kind == LENGTH else SPIN] * (3 * count // 4 if kind == UNIT else count)
        if len(speeds) != model.nv:  # of kinematics that are told by no kinds
            speeds = [SPEED] * model.nv
        others = [MULTIPLIER if block.name == "lam" else NONE for block in self.blocks[2:] for _ in range(block.size)]
        return np.array([*coordinates, *[OWN] * len(model.extras), *speeds, *others], dtype=np.int64)

    def _slots(self):
        kernels = [self.integrator.slots[name] for name in ("advance", "finish", "accept", "dense", "interpolate")]
        kernels += [self.stabilization.pull, self.stabilization.tangent]
        kernels.append(nothing if self.variant.selector is None else select)
        kernels.append(ask_for_passage)
        if self.model.interpreted:
            return tuple(kernel.py for kernel in kernels)
        table = np.zeros(len(Slot), dtype=np.int64)
        for index, kernel in enumerate(kernels):
            table[index] = kernel.address
        return table

    def _functions(self):
        model, needs = self.model, self.stabilization.needs
        if self.variant.formulation is not None and not model.dense:
            needs = (Fn.EQUATIONS, Fn.LINEARIZED, *needs, *self.integrator.unrolls, *self.integrator.asks_own)
        elif self.variant.formulation is not None:
            needs = (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE, *needs)
            if self.variant.selector is None and not model.interpreted:
                needs += self.integrator.unrolls
        needs = tuple(dict.fromkeys((*needs, *self.integrator.needs, *(self.integrator.asks_dense if model.dense else ()))))
        if self.integrator.asks_turning and model.system.kinematics is not None:
            needs = tuple(dict.fromkeys((*needs, *self.integrator.asks_turning)))
        if len(model.extras) and model.dense and not model.interpreted:
            needs += (Fn.EXTRA_RATES,)
        if model.nw:
            needs += (Fn.SETTLED,)
        fns, lengths = model.table((Fn.FIELD, *needs), self.variant)
        size = SIZE.new()
        nq, nv, nl = model.nq, model.nv, self.n_lam
        ny = sum(block.size for block in self.blocks)
        size.nx, size.ny, size.nq, size.nv, size.nl, size.n_position = ny, ny, nq, nv, nl, self.n_position
        size.nc, size.nw, size.nh = model.nc, model.nw, self.n_position - model.n_invariants
        size.rank, size.rank_nh = nl if self.rows is None else len(self.rows), self.n_holonomic
        size.dense_first = self.integrator.dense_first
        size.nrow, size.nk, size.n_events, size.n_errors = nq + nv + nl + 1, nv + nl, self.n_watched, self.integrator.errors
        size.n_switches, size.at_modes = len(self.switches), model.data_places["modes"].start
        size.n_selects = sum(switch.sleeps for switch in self.switches)
        size.n_timed = sum(switch.timed and not switch.sleeps for switch in self.switches)
        size.n_differential = nq + nv + sum(block.size for block in self.blocks[2:] if block.differential)
        size.n_differential_rows, size.n_equations = size.n_differential, ny
        implicit = self.variant.formulation
        if implicit is not None:
            size.n_differential_rows = implicit.differential_rows(size.n_differential, self._n_algebraic, model.order)
            size.n_differential_rows -= model.nw
            size.n_equations = lengths[Fn.EQUATIONS]
            in_stages = lambda block: block.inner or (implicit.in_stages and block.name == "lam")
            size.n_middle = sum(block.size for block in self.blocks if in_stages(block))
        selector = self.variant.selector
        if selector is not None:
            size.at_selectors, size.selector = len(model.data()), selector
            size.select_nv, size.select_nl = self._selected
            fns = self._with(fns, (Fn.TERMS,), self.by_rows)  # looked at before every step
        size.dense, size.n_velocity = int(model.dense), lengths.get(Fn.VELOCITY, 0)
        size.shared = int(model.shared and self.variant.mass_at is None)
        at = 0
        if model.dense:
            at = dense_work(nq, nv, nl) if selector is None else dense_work(nq, *self._selected)
        elif self.crosses:
            at = room_of_misses(nq, nv, nl, int(size.nh))
        if selector is not None:
            at += select_work(*self._selected)
        size.at_position = at
        if not size.shared:
            at += lengths.get(Fn.POS_FACTOR, 0)
        size.at_velocity = at
        at += lengths.get(Fn.VEL_FACTOR, 0)
        size.at_full = at
        at += lengths.get(Fn.FULL_FACTOR, 0)
        size.at_residual = at
        at += self.n_position + nl + 1
        size.at_correction = at
        at += nq + nv + 1
        size.at_multipliers = at
        at += max(nq + nv, self.n_position + nl) + 1
        size.at_state = at
        size.at_sizes = at + ny
        size.at_newton = size.at_sizes + sizes.work(ny, self.integrator.wants_scales)
        size.raises_speeds = int(self.blocks[1].power > 0)
        size.at_rates = size.at_newton - ny if self.integrator.wants_scales else 0
        size.work_end = size.at_newton
        if size.n_equations > ny and model.dense:
            size.work_end += least_squares_work(ny, int(size.n_equations), int(size.n_equations - size.n_differential_rows))
        elif implicit is not None or self.integrator.needs:
            size.n_linear, size.n_factors, size.n_pair = dense_sizes(ny) if model.dense else own_sizes(lengths)
            size.work_end += self.integrator.work(size)
        if self.switches:
            size.at_sliding, size.may_slide = size.work_end, int(self.choice.integrator.takes == "ode")
            size.work_end += along_work(size.nrow, self.n_watched, len(self.switches))
        if self.n_watched and not model.interpreted:
            size.at_curve, size.slopes = size.work_end, int(self.integrator.nodes is not None)
            size.work_end += curve_work(nq + nv)
        if self.watches:
            fns = self._add_events(fns)
        elif self.switches:
            fns = self._with(fns, (Fn.BOUNDS,), self.with_events)
        if not model.interpreted:
            fns[2 * Fn.CAREFUL] = (evaluate_carefully if model.dense else judge_field).address
        return fns, size

    def for_kernels(self, data: np.ndarray) -> Model:
        """The model with these data, as kernels take it."""
        return Model(self.fns, self.size, data)

    @cached_property
    def method(self) -> Method:
        """The numbers of the methods, as kernels take them; interpreted ones look integers up in a list, which is faster."""
        return self.method_with(self.integrator.ip)

    def method_with(self, ip: np.ndarray) -> Method:
        """The same with other integers of the integrator."""
        return Method(ip.tolist() if self.model.interpreted else ip, self.integrator.fp, self.stabilization.sp)

    def _with(self, fns, more, variant: Variant):
        """Return a table of functions to which those named in `more` have been added, where it had none."""
        added, _ = self.model.table(more, variant)
        if self.model.interpreted:
            pairs = zip(fns[::2], fns[1::2], added[::2], added[1::2], strict=True)
            return tuple(part for f, held, g, other in pairs for part in ((g, other) if f is None else (f, held)))
        return np.where(np.repeat(fns[::2] != 0, 2), fns, added)

    def extended(self, data: np.ndarray) -> np.ndarray:
        """Return data with room for the selectors of this plan."""
        if not self.size.at_selectors:
            return data
        return np.concatenate([data, np.zeros(select_data(*self._selected))])

    def _add_events(self, fns):
        if self.rows is not None:
            self._refuse_multipliers({name: event.f for name, event in self.events.items()})
        wanted_functions = (Fn.EVENTS,) if self.model.interpreted else (Fn.EVENTS, Fn.EVENT_RATES)
        return self._with(fns, wanted_functions, self.with_events)

    @property
    def with_events(self) -> Variant:
        """The variant for which the functions of the events are made."""
        events = {name: event.f for name, event in self.events.items()}
        return replace(self.by_rows, events=events or None, switching=bool(self.switches))

    def _refuse_multipliers(self, watched) -> None:
        for name, function in watched.items():
            if "lam" in wanted(function, f"event {name!r}", allowed(self.model.system, "output", FULL)):
                raise BadArgument(
                    f"event {name!r} watches lam, but constraint rows are redundant and their multipliers not unique. "
                    "Watch a force or an acceleration instead, or remove the redundant rows."
                )

    @cached_property
    def event_field(self) -> bool:
        """Whether an event function asks for accelerations or multipliers."""
        return not self.model.is_ode and any(
            set(wanted(event.f, f"event {name!r}", allowed(self.model.system, "output", FULL))) & {"a", "lam"}
            for name, event in self.events.items()
        )

    @cached_property
    def crosses(self) -> bool:
        """Whether singular positions are passed: explicit stages, adaptive steps, states on the constraints."""
        return (
            self.integrator.nodes is not None and self.integrator.errors > 0 and self.choice.step is None
            and self.n_lam > 0 and self.model.nv > 0 and self.choice.stabilization.passes_singular_positions and self.model.may_pass
        )  # fmt: skip

    @cached_property
    def hands_over(self) -> bool:
        """Whether singular positions are left to another plan: steps chosen by error, constraints, and no passage."""
        return (
            not self.crosses and self.integrator.errors > 0 and self.choice.step is None and self.n_lam > 0
            and self.model.nv > 0 and (self.choice.integrator.implicit or self.choice.stabilization.acts == "step")
            and self.model.may_pass
        )  # fmt: skip

    @property
    def sp(self) -> np.ndarray:
        """Numbers of the stabilization."""
        return self.stabilization.sp

    def add_function(self, missing: Fn | Slot) -> None:
        """Compile what a run asks for in rare cases only: the refined twin, the dense terms, what selects watch, the passage."""
        if isinstance(missing, Slot):
            self.slots = with_passage(self.slots)
            return
        self.fns = self._add_events(self.fns) if missing == Fn.EVENTS else self._with(self.fns, (missing,), self.variant)

    def supplies(self, status: int) -> bool:
        """Compile the function that a kernel misses, if its status says so; tell whether it did."""
        if status not in MISSING or (status == NEED_PASSAGE and not self.crosses):
            return False
        self.add_function(MISSING[status])
        return True

    def data(self) -> np.ndarray:
        """Return the model's data with this plan's gains."""
        data = self.model.data()
        self.enter_gains(data)
        return data

    def enter_gains(self, data: np.ndarray, direction: float = 1.0) -> None:
        """Write Baumgarte's gains to their place in data; what damps forward in time must be turned backward."""
        lowered, places = self.stabilization, self.model.data_places["gains"]
        if lowered.shift is not None:
            data[places.start] = lowered.shift
        if lowered.gains is not None:
            order = self.model.order if lowered.baumgarte else 1
            for level, gain in enumerate(lowered.gains(order)):
                data[places.start + level] = gain * direction ** (order - level)

    def _copy(self, **fields) -> Plan:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **fields)
        return made

    def of_states(self) -> Plan:
        """Return this plan for looking at states (q, v) alone, without what its formulation adds to them; made once."""
        if self.states_alone is None:
            self.states_alone = self._copy(blocks=self.blocks[:2])
        return self.states_alone

    def of_run(self, sol) -> Plan:
        """Return this plan as that of a solution: `why()` then reports its numbers, too."""
        return self._copy(solution=sol)

    def of_members(self, lines: list[str]) -> Plan:
        """Return this plan as that of an ensemble, about whose members `why()` then reports."""
        return self._copy(members=tuple(lines))

    def why(self) -> str:
        """Say in plain words what runs and why, with the numbers of the run."""
        numbers = () if self.solution is None else self.solution.trail.reasons(self.solution)
        return "\n".join([*methods(self, self._earlier), *numbers, *self.members])

    @property
    def tier(self) -> str:
        """As what the model runs: "code" compiled for all of it, "tables" of its elements, or "Python"."""
        return "Python" if self.model.interpreted else "code" if self.model.dense else "tables"

    @property
    def _earlier(self):
        """Plans that ran before in the run that this is the plan of."""
        return () if self.solution is None else self.solution.trail.earlier

    def __repr__(self) -> str:
        return in_short(self, self._earlier)


def with_passage(slots):
    """Return a table of slots with the kernel that passes singular positions."""
    from ..passage.steps import pass_on  # with it come Gauss's rules: most runs never need them

    if isinstance(slots, tuple):
        return (*slots[: Slot.PASSAGE], pass_on.py)
    slots = slots.copy()
    slots[Slot.PASSAGE] = pass_on.address
    return slots
