"""Plan: does this combination work, and what does it lower to.

A plan is the checked choice of formulation, integrator, stabilization and tolerances for one model, with
every kernel address and every array size the step loop needs. It holds no state of a run, so it is made
once and used for many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .errors import BadArgument, IncompatibleMethods
from .formulations.base import Block, Formulation
from .formulations.index1 import Index1
from .formulations.index2 import Index2
from .formulations.underlying_ode import UnderlyingODE
from .integrators.base import Integrator
from .integrators.radau import Radau
from .integrators.runge_kutta import DOP853
from .kernels.evaluate import dense_work, evaluate_carefully
from .kernels.newton import least_squares_work
from .kernels.select import nothing, select, select_data, select_work
from .kernels.signatures import (
    MIDDLE,
    N_SIZES,
    NC,
    ND,
    NDR,
    NERR,
    NEV,
    NK,
    NL,
    NP,
    NQ,
    NR,
    NROW,
    NV,
    NW,
    NX,
    NY,
    SELECT,
    SELECT_KIND,
    SELECT_NL,
    SELECT_NV,
    SHARED,
    WD,
    WE,
    WF,
    WM,
    WN,
    WP,
    WR,
    WV,
    WX,
    Fn,
    Slot,
)
from .model.arguments import FULL, wanted
from .model.compiled import Variant
from .model.dae import Dae
from .model.extra import allowed
from .stabilizations.base import Stabilization
from .stabilizations.baumgarte import Baumgarte
from .stabilizations.invariant import InvariantStabilization
from .stabilizations.none import Unstabilized
from .stabilizations.projection import Projection

TIGHT = 1e-10  # tolerance of Newton's method where steps are fixed; it goes on to a ten-thousandth of it


@dataclass(frozen=True)
class Choice:
    """What the user chose, with defaults filled in; equal choices share one plan."""

    formulation: Formulation
    integrator: Integrator
    stabilization: Stabilization
    step: float | None
    rtol: float
    atol: Any  # number, or tuple of numbers per state component
    constraint_tol: float
    chosen: tuple[str, ...]  # which of the three the user named himself


class Plan:
    """The checked, lowered choice; `why()` says in words what will run and for what reason."""

    solution: Any = None

    def __init__(self, model, choice: Choice, events: dict | None, rows: tuple[int, ...] | None = None):
        self.model, self.choice, self.events, self.rows = model, choice, events or {}, rows
        check_fit(choice, model)
        self.integrator = choice.integrator.lower()
        if self.integrator.unconstrained is not None and not model.n_lam:
            self.integrator = self.integrator.unconstrained
        if choice.step is not None and self.integrator.patient is not None:
            self.integrator = replace(self.integrator, ip=self.integrator.patient)
        if self.integrator.starting_points and self.events:
            raise IncompatibleMethods(
                f"{choice.integrator!r} keeps its steps even and cannot end one on an event. Use BDF(), or a one-step "
                "method such as Trapezoidal()."
            )
        hopeless = np.inf if choice.step is not None else max(1e4 * choice.rtol, 1e-8)
        self.stabilization = choice.stabilization.lower(choice.constraint_tol, hopeless).measured(model.turns)
        check_traced(choice, self.stabilization, model)
        metric = _metric(self.stabilization.metric, model)
        implicit = choice.formulation if choice.integrator.takes == "residual" else None
        lowered = self.stabilization
        self.variant = Variant(
            metric=metric, gains=lowered.baumgarte, rows=rows, formulation=implicit, bend=lowered.bend,
            direction=lowered.direction,
        )  # fmt: skip
        self.n_lam = model.n_lam if rows is None else len(rows)
        lost = 0 if rows is None else model.n_constraints - sum(row < model.n_constraints for row in rows)
        self.n_position = model.n_constraints + model.n_invariants - lost
        self.blocks = self._blocks(implicit)
        if self.integrator.wants_scales:
            fp = np.concatenate([self._scales(), self.integrator.fp])
            self.integrator = replace(self.integrator, fp=fp)
        self.spare: list = []  # workspaces of finished runs, for the next ones
        self.slots = self._slots()
        self.fns, self.sizes = self._functions()

    def __reduce__(self):
        return type(self), (self.model, self.choice, self.events, self.rows)

    def _blocks(self, implicit) -> tuple[Block, ...]:
        """The unknowns: q and v, and whatever an implicit formulation adds."""
        nq, nv = self.model.nq, self.model.nv
        if implicit is None:
            return (Block("q", nq), Block("v", nv))
        if self.model.is_ode and (implicit.for_dae or self.model.lam_in_force):
            each = self._n_algebraic
            return implicit.blocks(nq, nv, each, each)
        return implicit.blocks(nq, nv, self.n_lam, self.n_position - self.model.n_invariants)

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
        """rtol, Newton's bound, atol and the powers of h for every unknown."""
        rtol, atol = self.choice.rtol, self.atol
        bound = max(10 * np.finfo(float).eps / rtol, min(0.03, rtol**0.5))
        if self.choice.step is not None:  # there is no error to compare with: as far as rounding lets it
            rtol, bound = min(rtol, TIGHT), 1e-4
            atol = np.where(np.isfinite(atol), np.minimum(atol, TIGHT), atol)
        powers = np.concatenate([np.full(block.size, block.power) for block in self.blocks])
        if isinstance(self.model.system, Dae):  # x^(j) is of an index m - j below that of y
            m, index = self.model.order, self.variant.formulation.index
            powers[: self.model.nq] = np.repeat([max(0, index - 1 - m + j) for j in range(m)], self.model.nq // m)
        if len(self.model.extras):  # states that follow λ lose one power less than it, algebraic variables what v loses
            nc, ns, nq = self.model.nc, self.model.ns, self.model.nq
            lam = max((block.power for block in self.blocks if block.name == "lam"), default=0)
            powers[nc : nc + ns] = max(0, lam - 1)
            powers[nc + ns : nq] = self.blocks[1].power
        return np.concatenate([[rtol, bound], atol, powers])

    @cached_property
    def atol(self) -> np.ndarray:
        """Absolute tolerance of every unknown; multipliers get that of the last velocity."""
        given = np.asarray(self.choice.atol, dtype=float)
        n = sum(block.size for block in self.blocks)
        if given.ndim == 0:
            atol = np.full(n, float(given))
        else:
            atol = np.concatenate([given, np.full(n - len(given), given[-1])])
        counts = np.concatenate([np.full(block.size, block.counts) for block in self.blocks])
        return np.where(counts, atol, np.inf)

    def _slots(self):
        kernels = [self.integrator.slots[name] for name in ("advance", "finish", "accept", "dense", "interpolate")]
        kernels += [self.stabilization.pull, self.stabilization.tangent]
        kernels.append(nothing if getattr(self.variant.formulation, "selector", None) is None else select)
        if self.model.interpreted:
            return tuple(kernel.py for kernel in kernels)
        table = np.zeros(len(Slot), dtype=np.int64)
        for index, kernel in enumerate(kernels):
            table[index] = kernel.address
        return table

    def _functions(self):
        model, needs = self.model, self.stabilization.needs
        if self.variant.formulation is not None:
            needs = (Fn.EQUATIONS, Fn.BY_Y, Fn.BY_SLOPE, *needs)
        needs = tuple(dict.fromkeys((*needs, *self.integrator.needs)))
        if len(model.extras) and not model.interpreted:
            needs += (Fn.EXTRA_RATES,)
        if model.nw:
            needs += (Fn.SETTLED,)
        fns, lengths = model.table((Fn.FIELD, *needs), self.variant)
        n = np.zeros(N_SIZES, dtype=np.int64)
        nq, nv, nl = model.nq, model.nv, self.n_lam
        ny = sum(block.size for block in self.blocks)
        n[NX], n[NY], n[NQ], n[NV], n[NL], n[NP] = ny, ny, nq, nv, nl, self.n_position
        n[NC], n[NW] = model.nc, model.nw
        n[NROW], n[NK], n[NEV], n[NERR] = nq + nv + nl + 1, nv + nl, len(self.events), self.integrator.errors
        n[ND] = nq + nv + sum(block.size for block in self.blocks[2:] if block.differential)
        n[NDR], n[NR] = n[ND], ny
        implicit = self.variant.formulation
        if implicit is not None:
            n[NDR] = implicit.differential_rows(int(n[ND]), self._n_algebraic, model.order) - model.nw
            n[NR] = lengths[Fn.EQUATIONS]
            n[MIDDLE] = sum(block.size for block in self.blocks if block.name == "lam") if implicit.in_stages else 0
        selector = getattr(implicit, "selector", None)
        if selector is not None:
            n[SELECT], n[SELECT_KIND] = len(model.data()), selector
            n[SELECT_NV], n[SELECT_NL] = self._selected
            fns = self._with_terms(fns)
        n[SHARED] = int(model.shared)
        at = dense_work(nq, nv, nl) if selector is None else dense_work(nq, *self._selected)
        if selector is not None:
            at += select_work(*self._selected)
        n[WP] = at
        if not model.shared:
            at += lengths.get(Fn.POS_FACTOR, 0)
        n[WV] = at
        at += lengths.get(Fn.VEL_FACTOR, 0)
        n[WF] = at
        at += lengths.get(Fn.FULL_FACTOR, 0)
        n[WR] = at
        at += self.n_position + nl + 1
        n[WD] = at
        at += nq + nv + 1
        n[WM] = at
        at += max(nq + nv, self.n_position + nl) + 1
        n[WX] = at
        n[WN] = at + ny + 2
        n[WE] = n[WN]
        if n[NR] > ny:
            n[WE] += least_squares_work(ny, int(n[NR]), int(n[NR] - n[NDR]))
        elif implicit is not None or self.integrator.needs:
            n[WE] += self.integrator.work(ny)
        if self.events:
            fns = self._add_events(fns)
        if not model.interpreted:
            fns[2 * Fn.CAREFUL] = evaluate_carefully.address
        return fns, n

    def _with_terms(self, fns):
        """Selectors look at G and M before every step."""
        more, _ = self.model.table((Fn.TERMS,), Variant(rows=self.rows))
        return np.where(fns != 0, fns, more)

    def extended(self, data: np.ndarray) -> np.ndarray:
        """Return data with room for the selectors of this plan."""
        if not self.sizes[SELECT]:
            return data
        model = self.model
        return np.concatenate([data, np.zeros(select_data(model.nq, *self._selected))])

    def _add_events(self, fns):
        watched = {name: event.f for name, event in self.events.items()}
        if self.rows is not None:
            self._refuse_multipliers(watched)
        variant = Variant(rows=self.rows, events=watched)
        wanted_functions = (Fn.EVENTS,) if self.model.interpreted else (Fn.EVENTS, Fn.EVENT_RATES)
        more, _ = self.model.table(wanted_functions, variant)
        if self.model.interpreted:
            return tuple(b if a is None else a for a, b in zip(fns, more, strict=True))
        return np.where(fns != 0, fns, more)

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

    def add_function(self, fn: Fn) -> None:
        """Compile one more model function: the refined twin or the dense terms, when a run asks for them."""
        more, _ = self.model.table((fn,), self.variant)
        self.fns = np.where(self.fns != 0, self.fns, more)

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
        """Return this plan for looking at states (q, v) alone, without what its formulation adds to them."""
        return self._copy(blocks=self.blocks[:2])

    def of_run(self, sol) -> Plan:
        """Return this plan as that of a solution: `why()` then tells its numbers, too."""
        return self._copy(solution=sol)

    def why(self) -> str:
        """Say in plain words what runs and why, with the numbers of the run."""
        if self.solution is None:
            return self.summary()
        from .telling import reasons

        return "\n".join([self.summary(), *reasons(self.solution)])

    def summary(self) -> str:
        """Say in plain words what runs."""
        c = self.choice
        named = {
            "formulation": repr(c.formulation), "integrator": repr(c.integrator),
            "stabilization": repr(c.stabilization),
        }  # fmt: skip
        model = self.model
        solved = "algebraic unknowns are" if model.is_ode else "accelerations are"
        if model.n_lam:
            solved = "accelerations and multipliers are"
        reasons = {
            "formulation": f"{solved} solved for at every point" if isinstance(c.formulation, Index1) else (
                f"index {c.formulation.index}, constraints are among the equations"
            ),
            "integrator": _PRAISE.get(type(c.integrator).__name__, "chosen by us"),
            "stabilization": "the constraints hold to the tolerance after every step",
        }
        if model.is_ode and not model.n_constraints:
            reasons["formulation"] = "the equations are integrated as they stand"
        if not (model.n_lam or model.n_constraints or model.n_invariants):
            reasons["stabilization"] = "there is no constraint and no invariant to keep"
        elif c.stabilization.acts == "none":
            reasons["stabilization"] = "the formulation keeps the constraints itself"
            if "velocity" not in c.formulation.keeps:
                reasons["stabilization"] = "the formulation keeps positions; velocities miss by no more than a step's error"
        lines = []
        for role, text in named.items():
            lines.append(f"{role}: {text}, {'as asked' if role in c.chosen else reasons[role]}")
        if c.step is not None:
            lines.append(f"step: {c.step:g}, fixed")
        else:
            lines.append(f"step: chosen by error, rtol {c.rtol:g}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        c = self.choice
        return f"{c.formulation!r} + {c.integrator!r} + {c.stabilization!r}"


_PRAISE = {
    "DOP853": "order 8 with error control: the fewest evaluations for smooth motion",
    "BDF": "implicit, orders 1 to 5: long steps where fast motion has decayed",
    "Radau": "implicit, order 5: long steps where the equations are stiff, high accuracy or oscillation",
    "RATTLE": "symplectic: the energy swings and does not creep",
    "ImplicitMidpoint": "symmetric: the energy hardly creeps",
}


def make_choice(model, formulation, integrator, stabilization, step, rtol, atol, constraint_tol) -> Choice:
    """Fill in what was left to us: Index1 + DOP853 + Projection; Radau for a formulation that is no ODE."""
    chosen = tuple(
        role
        for role, given in (
            ("formulation", formulation), ("integrator", integrator), ("stabilization", stabilization),
        )
        if not (isinstance(given, str) and given == "auto")
    )  # fmt: skip
    is_ode = "ode" in getattr(formulation, "gives", ("ode",))
    integrator = _resolve(integrator, Integrator, "integrator", DOP853 if is_ode else Radau)
    natural = Index2 if integrator.takes == "half-explicit" else Index1
    formulation = _resolve(formulation, Formulation, "formulation", natural)
    keeps_nothing = model.n_lam == 0 and model.n_constraints == 0 and model.n_invariants == 0
    kept = integrator.takes == "residual" and {"position", "velocity"} <= set(formulation.keeps)
    # Index3: velocities miss their constraints by h^s only, and that error is along M⁻¹Gᵀ; projecting them along Gᵀ would
    # turn it into one along the constraints, which adds up (seven-body mechanism, 640 steps of Radau: 1e-5, not 4e-9)
    kept = kept or (integrator.takes == "residual" and formulation.index == 3)
    default = Unstabilized if keeps_nothing or (kept and not model.n_invariants) else Projection
    stabilization = Unstabilized() if stabilization is None else stabilization
    stabilization = _resolve(stabilization, Stabilization, "stabilization", default)
    if keeps_nothing and stabilization.acts != "none":
        raise IncompatibleMethods(
            f"{stabilization!r} has nothing to pull back to: the system has no constraints and no invariants. "
            "Pass stabilization=None."
        )
    return Choice(formulation, integrator, stabilization, step, rtol, atol, constraint_tol, chosen)


def _resolve(given, base: type, role: str, default: type):
    if isinstance(given, str) and given == "auto":
        return default()
    if isinstance(given, type) and issubclass(given, base):
        return given()
    if isinstance(given, base):
        return given
    known = {kind.__name__: kind for kind in _kinds(base)}
    example = f"{role}={given if isinstance(given, str) and given in known else default.__name__}()"
    if isinstance(given, str):
        raise BadArgument(f"{role}={given!r}: pass an object, for example {example}.")
    article = "an" if role[0] in "aeiou" else "a"
    raise BadArgument(f"{role}={given!r} is not {article} {role}; for example {example}.")


def _kinds(base: type) -> list[type]:
    """All classes below one."""
    return [kind for child in base.__subclasses__() for kind in (child, *_kinds(child))]


def _metric(metric, model):
    """Return the metric of a stabilization: None, "mass", or a tuple of weights for (q, v)."""
    if metric is None:  # a mechanism brings its own: rotations weigh as the lengths they move
        return getattr(model.system, "metric", None)
    if isinstance(metric, str):
        if metric != "mass":
            raise BadArgument(f'metric={metric!r}: choose None, "mass" or weights for q and v.')
        if model.is_ode or model.system.kinematics is not None:
            why = "an Ode has no mass matrix" if model.is_ode else "with kinematics= M does not measure q"
            raise IncompatibleMethods(f'metric="mass" cannot be used: {why}. Pass metric=None, or weights.')
        return metric
    weights = tuple(float(value) for value in metric)
    if len(weights) != model.nc + model.nv:
        raise BadArgument(f"metric has {len(weights)} weights; q and v have {model.nc + model.nv} entries.")
    if not min(weights) > 0.0:
        raise BadArgument(f"metric={weights}: weights must be positive.")
    return weights[: model.nc] + (1.0,) * len(model.extras) + weights[model.nc :]


def check_fit(choice: Choice, model) -> None:
    """Refuse combinations that do not fit, naming a way out."""
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    if i.takes == "half-explicit":
        _check_half_explicit(f, i, model)
    if i.takes not in f.gives:
        raise IncompatibleMethods(
            f"{type(i).__name__} integrates ODEs, but {f!r} leaves algebraic unknowns. With {f!r} use Radau or BDF; to "
            f"keep {type(i).__name__} use formulation=Index1()."
        )
    if i.indices is not None and f.index not in i.indices:
        raise IncompatibleMethods(
            f"{type(i).__name__} takes equations of index {' or '.join(map(str, i.indices))}, but {f!r} has index "
            f"{f.index}. Use formulation=Index{i.indices[-1]}(), or Radau or BDF with {f!r}."
        )
    if i.takes == "residual":
        _check_implicit(f, i, model)
    there = {"position": model.n_constraints + model.n_invariants, "velocity": model.n_lam}
    if s.acts == "step" and not any(there[level] for level in s.levels):
        raise IncompatibleMethods(
            f"{s!r} corrects the {' and '.join(s.levels)} level alone, where "
            f"{'an Ode' if model.is_ode else 'this system'} keeps nothing. Use S_both2() or Projection()."
        )
    if choice.step is None and not i.adaptive:
        raise BadArgument(f"{type(i).__name__} has no error estimate: give step=, or use RK45 or DOP853.")
    if isinstance(s, Baumgarte) and choice.step is not None and not i.implicit:
        alpha = s.rate
        if alpha * abs(choice.step) > 1.0:
            raise IncompatibleMethods(
                f"Baumgarte with α h = {alpha * abs(choice.step):.3g} > 1 is unstable with an explicit integrator. "
                f"Use alpha <= {1 / abs(choice.step):.3g}, a smaller step, or stabilization=Projection()."
            )
    if getattr(s, "needs_stage", False) and not i.stage_at_end:
        raise IncompatibleMethods(
            f'{s!r} takes its factors from the last stage, but {type(i).__name__} has none at the end of the step. Use '
            'RK4, RK45 or DOP853, or freeze="predicted".'
        )
    if s.mechanical and model.is_ode and getattr(s, "metric", None) != "mass":  # a metric has a message of its own
        raise IncompatibleMethods(
            f"{s!r} takes levels apart or needs a mass matrix, which a System alone has. Use D=\"orthogonal\" or "
            'D="blocks".'
        )
    if s.acts == "field" and i.takes != "ode" and not isinstance(f, Index1) and not _plain_ode(model):
        raise IncompatibleMethods(
            f"{s!r} changes the field, which {f!r} does not use. Use formulation=Index1(), or stabilization=None."
        )
    if i.takes == "residual":
        _check_pull(f, i, s, choice.step)
    if isinstance(s, InvariantStabilization):
        if choice.step is not None and not i.implicit and s.rate * abs(choice.step) > i.damping_limit:
            raise IncompatibleMethods(
                f"{s!r} with γ h = {s.rate * abs(choice.step):.3g} > {i.damping_limit:g} is unstable with "
                f"{type(i).__name__}. Use gain <= {i.damping_limit / abs(choice.step):.3g}, a smaller step, or "
                "stabilization=PostStabilization()."
            )


def _check_pull(f, i, s, step) -> None:
    """What an implicit step does not bear after it."""
    index_3 = f.index == 3 and not i.constant_mass  # RATTLE leaves nothing at either level
    turns = i.turns_residuals and bool(f.keeps)
    if s.couples and (index_3 or turns or isinstance(f, UnderlyingODE)):
        if index_3:
            why = f"{f!r} takes velocities from differences of positions, so that a move δ of a position returns as δ/h"
        elif turns:
            why = f"{i!r} changes the sign of what is left in every step, so that the moves do not cancel"
        else:
            why = f"the multipliers that {f!r} integrates stay where they are"
        raise IncompatibleMethods(
            f"{s!r} moves positions by what the velocities leave, but {why}: errors grow from step to step. Use Projection() "
            "or PostStabilization(), which correct level by level, or formulation=GGL()."
        )
    if s.at_old_point and (index_3 or turns):
        what = f"{f!r}, whose velocities carry it along" if index_3 else f"{i!r}, which changes its sign every step"
        raise IncompatibleMethods(
            f"{s!r} subtracts what the constraints left one step ago; with {what}, that adds up instead of dying "
            "out. Use Projection() or PostStabilization(), which correct the new point."
        )
    if s.at_old_point and not {"position", "velocity"} <= set(f.keeps):
        alpha = s.alpha if s.alpha is not None else s.gain * abs(step or 0.0)
        if alpha > i.old_point_limit:
            raise IncompatibleMethods(
                f"{s!r} with {i!r}: a formula that looks back bears a correction by the old point only up to α = "
                f"{i.old_point_limit:g}. Use alpha={i.old_point_limit / 2:g}, an order of at most 3, or Projection()."
            )


def _plain_ode(model) -> bool:
    """Whether the model is an Ode, which has one formulation."""
    return model.is_ode and not isinstance(model.system, Dae)


def _check_half_explicit(f, i, model) -> None:
    """What half-explicit integrators ask of a system."""
    name = type(i).__name__
    if i.takes not in f.gives:
        raise IncompatibleMethods(
            f"{name} takes the constraints at velocity level, which {f!r} does not give. With {name} use "
            f"formulation=Index2(), or leave it out; with {f!r} use {'RK45' if 'ode' in f.gives else 'Radau or BDF'}."
        )
    if isinstance(model.system, Dae):
        raise IncompatibleMethods(f"{name} is for a System or an Ode, not for a Dae. Use RK45() with formulation=Index1().")
    if model.lam_in_force:
        raise IncompatibleMethods(
            f"{name} solves linear equations for the multipliers, but force() depends on them. Use RK45() with "
            "formulation=Index1(), or Radau()."
        )


def _check_implicit(f, i, model) -> None:
    """What implicit formulations and integrators ask of a system."""
    name = type(i).__name__
    if model.interpreted:
        raise IncompatibleMethods(f"{name} needs exact Jacobians, which trace=False does not have. Use trace=True.")
    if model.is_ode and not isinstance(f, Index1) and not (f.for_dae and isinstance(model.system, Dae)):
        what = "a Dae of its order" if isinstance(model.system, Dae) else "an Ode"
        raise IncompatibleMethods(f"{f!r} is for a System; it does not know {what}. Use formulation=Index1().")
    if f.index > i.highest_index:
        raise IncompatibleMethods(
            f"with {i!r} and {f!r} velocities and multipliers do not converge: the constraints hold in the stages alone. "
            f"Use GGL() or Index2() with Projection(), or Radau() with {f!r}."
        )
    if f.overdetermined and not i.overdetermined and model.n_lam:
        raise IncompatibleMethods(
            f"{f!r} has more equations than unknowns, which {name} does not take. Use BackwardEuler(), FixedBDF(), "
            f"Trapezoidal() or ImplicitMidpoint() with a step, or StrangenessFree() with {name}."
        )
    if i.plain and not f.plain:
        raise IncompatibleMethods(
            f"{name} has a place for λ and one level of the constraints, but {f!r} has further unknowns. Use "
            f"formulation=Index{(i.indices or (3,))[-1]}(), or Radau or BDF with {f!r}."
        )
    if getattr(i, "max_order", 0) > 5 and not isinstance(f, Index1 | UnderlyingODE):
        raise IncompatibleMethods(
            f"{i!r}: order 6 is unstable with changing steps where constraints are among the equations, as in {f!r}. Use "
            "BDF(), or formulation=Index1() with Projection()."
        )
    if i.indices is None:
        return
    if len(model.extras):
        raise IncompatibleMethods(f"{name} knows q and v alone, no states and algebraic variables. Use Radau or BDF.")
    if not model.n_lam or model.system.kinematics is not None or model.system.nonholonomic is not None:
        raise IncompatibleMethods(f"{name} is for holonomic constraints and q' = v. Use Radau or BDF.")
    if i.constant_mass and not model.has_constant_mass:
        raise IncompatibleMethods(f"{name} needs a constant mass matrix. Use GeneralizedAlpha() or Radau().")
    if i.conservative and model.has_velocity_forces:
        raise IncompatibleMethods(
            f"{name} is of order 2 for forces of t and q alone, but force() depends on v. Use GeneralizedAlpha() or Radau()."
        )


def check_traced(choice: Choice, lowered, model) -> None:
    """Refuse what needs derivatives that only a traced system has."""
    known = {Fn.RESIDUAL} | {fn for fn in Fn if fn.name.endswith(("_FACTOR", "_SOLVE", "_TANGENT"))}
    more = lowered.bend or lowered.direction or set(lowered.needs) - known
    if model.interpreted and more:
        raise IncompatibleMethods(
            f"{choice.stabilization!r} needs derivatives that a system with trace=False does not have. Use "
            "Projection(), PostStabilization() or Baumgarte()."
        )
