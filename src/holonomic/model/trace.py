"""Run the user's functions on symbols, check the result against the functions themselves, free the numbers.

The numbers that appear in the user's functions leave the expressions and become entries of `data`
(0, 1, -1 and small integers and halves stay: they are structure), so that systems which differ only in
numbers share one compiled model.

data = (parameters, numbers, inputs: value, slope, time for each, invariants at the start, root of a Dae, modes of
switches, which of them are alike, gains)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import BadArgument, ForgottenVelocityTerms, NotFinite, SingularMass
from .call_by_name import call
from .collector_pause import collector_paused
from .dae import Dae, asks_for_y, level_labels
from .derive import Derived
from .derive_dae import with_multipliers_solved
from .expressions import Expressions
from .extra_states import NONE, Extras
from .given_numbers import (
    FORGOTTEN_TERMS,
    SYMMETRIC,
    asymmetry,
    numbers_text,
    refuse_constant,
    refuse_truth,
    refuse_velocity,
    refuse_without_state,
    refuse_without_v,
)
from .model_base import N_GAINS, role_of
from .statement import labelled, row_names
from .symbolics import (
    SX,
    calls_in,
    densify,
    depends_on,
    dot,
    function_of,
    jacobian,
    jacobian_sparsity,
    jtimes,
    sparsify,
    substitute,
    vec,
    vertcat,
    with_numbers_replaced,
)
from .system import Ode, System
from .trace_stage import ANY, TraceStage
from .unrolled_newton import check_rules

STRUCTURE = {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 0.5, -0.5}  # numbers that stay in the source


@dataclass(frozen=True)
class Traced:
    """Expressions with freed numbers, the numbers, and the labels of rows and outputs."""

    expressions: Expressions
    numbers: np.ndarray
    constraint_labels: list[str]
    nonholonomic_labels: list[str]
    invariant_labels: list[str]
    output_shapes: dict[str, tuple[int, ...]]
    depends: bool = False  # whether checks of the mass matrix might end otherwise with other parameters
    stage: TraceStage | None = None
    symbols: SX | None = None  # of the numbers
    outside: dict[str, tuple] = field(default_factory=dict)  # opaque functions by the part of the system they are in
    switches: tuple = ()  # names of comparisons that have a mode in data


@collector_paused()
def trace(
    system: System | Ode, q0, v0, t0: float, extras: Extras = NONE, events: Mapping[str, Any] | None = None, numbers=None
) -> Traced:
    """Trace a system at sizes len(q0), len(v0), q0 with the extras; events are functions like outputs.

    With `numbers` from an earlier trace, only these leave the expressions, so that data keep their layout.
    """
    stage = TraceStage(system, q0, v0, t0, extras)
    nv, nc = len(v0), len(q0) - len(extras)
    parts: dict[str, Any] = {}
    labels: dict[str, list[str]] = {"constraint": [], "nonholonomic": [], "invariants": [], "g": []}

    def rows(name: str, singular: str) -> SX:
        found = []
        for label, function in labelled(getattr(system, name), singular).items():
            value = stage.run(function, f"{singular} {label!r}" if label != singular else f"{singular}()", None, stage.seen(name))
            role = role_of(label, singular)
            refuse_truth(call(function, role, stage.seen(name), stage.points[0]), role)
            if name == "nonholonomic" and not depends_on(value, stage.v_sx):
                refuse_without_v(role)
            if jacobian(value, vertcat(stage.t_sx, stage.q_sx, stage.v_sx)).nnz() == 0:
                refuse_without_state(f"{singular} {label!r}", stage.letter)
            if name == "constraint" and jacobian(value, stage.v_sx).nnz():
                raise BadArgument(
                    f"constraint {label!r} depends on velocities; constraint= is for positions. Give it as nonholonomic=, or "
                    "give the constraint on positions that it comes from."
                )
            if singular == "constraint" and jacobian(value, stage.q_sx).nnz() == 0:
                raise BadArgument(f"constraint {label!r} depends on no coordinate: only t enters its value.")
            found.append(value)
            count = value.numel()
            labels[name] += [label] if count == 1 else [f"{label}[{i}]" for i in row_names(function, count)]
        return vertcat(*found) if found else SX(0, 1)

    invariants = rows("invariants", "invariant")
    if isinstance(system, Dae):
        g = rows("g", "constraint")
        stage.with_multipliers(g.numel())
        parts |= _dae_parts(system, stage, g, len(q0) // system.order)
        labels["constraint"] = level_labels(labels.pop("g"), system.order)
    elif stage.is_ode:
        parts["rhs"] = stage.run(system.rhs, "rhs()", (len(q0), 1), switching=True)
        parts["constraint"] = SX(0, 1)
    else:
        parts["constraint"] = rows("constraint", "constraint")
        nonholonomic = rows("nonholonomic", "nonholonomic")
        parts["nonholonomic"] = nonholonomic if nonholonomic.numel() else None
        if nonholonomic.numel() and jacobian(jacobian(nonholonomic, stage.v_sx), stage.v_sx).nnz():
            raise BadArgument("nonholonomic constraints must be linear in v: Â(t, q) v + b(t, q).")
        n_lam = parts["constraint"].numel() + nonholonomic.numel()
        if system.kinematics is not None:
            parts["kinematics"] = stage.run(system.kinematics, "kinematics()", (nc, nv))
        elif nc != nv:
            raise BadArgument(f"q has {nc} entries but v has {nv}; give kinematics=Z(q) where q' = Z v.")
        if system.potential is not None:
            parts["potential"] = stage.run(system.potential, "potential()", (1, 1), stage.seen("potential"), True)
            refuse_velocity("potential()", depends_on(parts["potential"], stage.v_sx))
        stage.with_multipliers(n_lam)
        parts |= _mass_and_force(system, stage, nv) | _extra_parts(system, stage)
    parts["invariants"] = invariants
    full = (*stage.allowed, "y") if stage.is_dae else stage.allowed if stage.is_ode else stage.seen("output")
    outputs, shapes = {}, {}
    for name, function in (system.outputs or {}).items():
        role = f"output {name!r}"
        outputs[name] = stage.run(function, role, ANY, full).T  # transposed: row by row on the tape
        shapes[name] = np.shape(call(function, role, full, stage.points[0]))
    switches = stage.board.kept_in(vertcat(*(vec(part) for part in parts.values() if part is not None)))
    if switches.unused.numel():
        by_values = SX.zeros(switches.unused.numel(), 1)
        parts = {name: None if part is None else substitute(part, switches.unused, by_values) for name, part in parts.items()}
    if len(switches):
        parts["switches"] = switches.watched
    freed, numbers, numbers_sx = _free_numbers(parts, outputs, watched(stage, events or {}, full), numbers)
    start_sx = SX.sym("h0", invariants.numel())
    if invariants.numel():
        freed["invariants"] = freed["invariants"] - start_sx
    root = None
    if isinstance(system, Dae) and asks_for_y(system):
        root = SX.sym("root", stage.lam_sx.numel() + 1)
    data = vertcat(
        stage.p_sx,
        numbers_sx,
        stage.u_sx,
        start_sx,
        SX(0, 1) if root is None else root,
        switches.modes,
        SX.sym("alike", len(switches)),
        SX.sym("gain", N_GAINS),
    )
    lam = SX(0, 1) if stage.lam_sx is None else stage.lam_sx
    expressions = Expressions(
        t=stage.t_sx, q=stage.q_sx, v=stage.v_sx, a=stage.a_sx, lam=lam, data=data,
        order=system.order if isinstance(system, Dae) else 0, root=root, ns=extras.ns, nw=extras.nw, **freed,
    )  # fmt: skip
    if len(extras):
        check_rules(Derived(expressions), labels["constraint"], labels["nonholonomic"], extras.algebraic_labels)
    if stage.is_dae:
        expressions = with_multipliers_solved(expressions)
    return Traced(
        expressions, numbers, labels["constraint"], labels["nonholonomic"], labels["invariants"], shapes,
        stage.depends, stage, numbers_sx, _outside(freed), switches.names,
    )  # fmt: skip


def _outside(parts: Mapping[str, Any]) -> dict[str, tuple]:
    """Functions that are no expressions, by the part of the system that calls them."""
    found = {}
    for name, value in parts.items():
        values = list(value.values()) if isinstance(value, Mapping) else [] if value is None else [value]
        calls = calls_in(*values)
        if calls:
            found[name] = tuple({made.function.key: made.function for made in calls}.values())
    return found


def trace_events(traced: Traced, events: Mapping[str, Any]) -> Traced:
    """Trace events of a System or an Ode that has been traced without them."""
    stage = traced.stage
    found = watched(stage, events, stage.allowed if stage.is_ode else stage.seen("output"))
    freed = _free_numbers({}, {}, found, traced.numbers, traced.symbols)[0]
    return replace(traced, expressions=replace(traced.expressions, events=freed["events"]))


def watched(stage: TraceStage, events: Mapping[str, Any], full) -> dict[str, SX]:
    """Event functions as expressions."""
    found = {}
    for name, function in events.items():
        role = f"event {name!r}"
        found[name] = stage.run(function, role, (1, 1), full)
        value = call(function, role, full, stage.points[0])
        refuse_truth(value, role)
        if not depends_on(found[name], stage.changing):
            refuse_constant(float(np.ravel(value)[0]), role)
    return found


def _dae_parts(system: Dae, stage: TraceStage, g: SX, n: int) -> dict[str, SX]:
    """f, B and g of x^(m) = f - B y, 0 = g."""
    f = stage.run(system.f, "f()", (n, 1), (*stage.allowed, "y"), switching=True)
    B = stage.run(system.B, "B()", (n, g.numel()), switching=True)
    return {"f": f, "B": B, "g": g, "constraint": SX(0, 1)}


def _extra_parts(system: System, stage: TraceStage) -> dict[str, SX]:
    """Rates of the states, and the equations of the algebraic variables."""
    found = {}
    for kind, sizes, word in (
        ("states", stage.extras.states, "state"), ("algebraic", stage.extras.algebraic, "algebraic equation"),
    ):  # fmt: skip
        rows = [
            stage.run(getattr(system, kind)[name], f"{word} {name!r}", (n, 1), stage.seen(kind), kind == "states")
            for name, n in sizes
        ]
        if rows:
            found[kind] = vertcat(*rows)
    return found


def trace_direction(system, q0, v0, t0: float, extras, D, derived, places: dict[str, slice], shape=None) -> SX:
    """Trace a user's direction D in the symbols of a derived model: one column per row that is kept."""
    stage = TraceStage(system, q0, v0, t0, extras)
    e, rows = derived.e, derived.H.shape[0]
    whole = shape is None
    traced = stage.run(D, "D()", (derived.nc + e.v.numel(), rows) if whole else shape)
    if whole and len(extras):  # states and algebraic variables stay
        nc = derived.nc
        traced = vertcat(traced[:nc, :], SX(len(extras), rows), traced[nc:, :])
    inputs = places["inputs"]
    own = [stage.t_sx, stage.q_sx, stage.v_sx, stage.p_sx, stage.u_sx]
    there = [e.t, e.q, e.v, e.data[: stage.p_sx.numel()], e.data[inputs.start : inputs.stop]]
    return sparsify(substitute(traced, vertcat(*own), vertcat(*there)))


def _mass_and_force(system: System, stage: TraceStage, nv: int) -> dict[str, SX]:
    """M and f, from the user's functions or from the kinetic energy, with the checks on both."""
    q, v, t = stage.q_sx[: len(stage.points[0]["q"])], stage.v_sx, stage.t_sx
    force = SX.zeros(nv, 1)
    if system.force is not None:
        force = stage.run(system.force, "force()", (nv, 1), (*stage.seen("force"), "lam"), True)
    if system.kinetic is not None:
        T = stage.run(system.kinetic, "kinetic()", (1, 1), switching=True)
        momentum = jacobian(T, v).T
        M = jacobian(momentum, v)
        q_dot = v if system.kinematics is None else stage.run(system.kinematics, "kinematics()", (len(stage.points[0]["q"]), nv))
        slope = jacobian(T, q).T
        if system.kinematics is not None:
            q_dot, slope = q_dot @ v, q_dot.T @ slope
        change = jtimes(momentum, q, q_dot) + jtimes(momentum, t, SX(1))
        return {"mass": sparsify(M), "force": force + slope - change, "kinetic": T}
    M = stage.run(system.mass, "mass()", (nv, nv), stage.seen("mass"), True)
    refuse_velocity("mass()", depends_on(M, v))
    _check_symmetric(M, stage)
    coriolis = _coriolis(M, q[:nv], v) if system.kinematics is None else SX.zeros(nv, 1)
    if system.velocity_terms:
        return {"mass": M, "force": force - coriolis}
    if system.velocity_terms is None and coriolis.nnz() and system.kinematics is None:
        quadratic = jacobian(jacobian(force, v), v).nnz()
        if not quadratic and _vanishes(coriolis, stage, stage.flat_params):
            stage.depends = stage.forgets = True  # with other parameters they may not vanish
        elif not quadratic:
            raise ForgottenVelocityTerms(FORGOTTEN_TERMS)
    return {"mass": M, "force": force}


def mass_reads(e: Expressions) -> tuple[list[int], bool]:
    """Which places of data the mass matrix depends on, and whether it changes with position or time."""
    if e.mass is None:
        return [], False
    M = vec(densify(e.mass))
    columns = np.diff(jacobian_sparsity(M, e.data).colind())
    return np.flatnonzero(columns).tolist(), jacobian_sparsity(M, vertcat(e.t, e.q)).nnz() > 0


def _coriolis(M: SX, q: SX, v: SX) -> SX:
    """d/dt(M v) - M v' - ∂/∂q(½ vᵀM v): what Lagrange's equations subtract from the force."""
    momentum = M @ v
    return sparsify(jtimes(momentum, q, v) - jacobian(dot(v, momentum) / 2, q).T)


def _vanishes(expression: SX, stage: TraceStage, params) -> bool:
    evaluate = function_of([stage.t_sx, stage.q_sx, stage.v_sx, stage.p_sx, stage.u_sx, stage.board.modes], [expression])
    random = np.random.default_rng(1)
    for point in stage.points:
        v = random.uniform(-1, 1, len(point["v"]))
        value = evaluate(point["t"], point["state"][0], v, params, stage.flat_inputs(point), stage.no_modes)
        if np.max(np.abs(np.array(value)), initial=0.0) > 1e-12:
            return False
    return True


def _check_symmetric(M: SX, stage: TraceStage) -> None:
    evaluate = function_of([stage.t_sx, stage.q_sx, stage.v_sx, stage.p_sx, stage.u_sx, stage.board.modes], [M])
    for point in stage.points:
        value = np.array(evaluate(point["t"], *point["state"], stage.flat_params, stage.flat_inputs(point), stage.no_modes))
        if not np.all(np.isfinite(value)):
            if point is stage.points[0]:
                i, j = np.argwhere(~np.isfinite(value))[0]
                raise NotFinite(
                    f"mass() is {value[i, j]} in M[{i},{j}] at the start, t = {point['t']:g}, q = "
                    f"{numbers_text(point['q'])}. Correct mass(), or the parameters it uses."
                )
            continue
        for other in stage.other_params():
            there = np.array(evaluate(point["t"], *point["state"], other, stage.flat_inputs(point), stage.no_modes))
            gap_there = np.max(np.abs(there - there.T), initial=0.0)
            stage.depends |= not gap_there <= SYMMETRIC * np.max(np.abs(there), initial=0.0)
        skewed = asymmetry(value, f"q = {numbers_text(point['q'])}")
        if skewed is not None:
            raise SingularMass(skewed)


def _free_numbers(parts, outputs, events, given=None, symbols_given=None) -> tuple[dict[str, Any], np.ndarray, SX]:
    """Replace the numbers in all expressions by symbols; return expressions, numbers and symbols."""
    names = [name for name, value in parts.items() if value is not None]
    everything = [parts[name] for name in names] + list(outputs.values()) + list(events.values())
    values: list[float] = [] if given is None else [float(value) for value in given]
    known: dict[float, SX] = {
        value: SX.sym(f"c{i}") if symbols_given is None else symbols_given[i] for i, value in enumerate(values)
    }

    def freed(value: float) -> SX | None:
        if value in STRUCTURE or not np.isfinite(value) or (given is not None and value not in known):
            return None
        if value not in known:
            known[value] = SX.sym(f"c{len(values)}")
            values.append(value)
        return known[value]

    rebuilt = with_numbers_replaced(everything, freed)
    made: dict[str, Any] = dict(zip(names, rebuilt, strict=False))
    at = len(names)
    made["outputs"] = dict(zip(outputs, rebuilt[at : at + len(outputs)], strict=True))
    made["events"] = dict(zip(events, rebuilt[at + len(outputs) :], strict=True))
    numbers_sx = vertcat(*known.values()) if known else SX(0, 1)
    return made, np.array(values), numbers_sx
