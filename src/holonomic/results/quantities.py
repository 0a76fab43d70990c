"""Quantities along a run, found by name or computed from its states: what `Solution` answers with."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadArgument, UnknownName
from ..kernels.signatures import Fn
from . import sampling
from .acting import kept_reaction
from .naming import multiplier_labels, rows_of, stems, unknown
from .states import EventLog, statistics
from .trail import in_all_rows, joined_counters, remembered


def named(sol, name: str) -> np.ndarray:
    """Return an output, coordinate, state, algebraic variable or multiplier of a run; time first."""
    model, resolver = sol.plan.model, sol.trail.mechanism
    if resolver is not None and name in resolver:  # bodies, joints and forces of a mechanism
        return resolver.view(sol, name)
    part, dot, wanted = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if resolver is not None and dot and part in resolver and name not in model.output_shapes:  # "A.force"
        try:
            return getattr(resolver.view(sol, part), wanted)
        except AttributeError as missing:
            raise UnknownName(f"the solution has no quantity {name!r}: {missing}") from None
    if not isinstance(name, str):
        letter, known = "y" if model.is_ode else "q", [each for kind in names(model, resolver).values() for each in kind]
        raise UnknownName(
            f"a solution is read by name, got {name!r}. Rows are sol.{letter}[{name!r}], a state at a time is sol(t); names are "
            f"{', '.join(known)}."
        )
    if name in model.output_shapes:
        return sol.trail.shaped(sampling.outputs(sol)[name])
    if name in model.coordinates:
        return sol.q[..., model.coordinates.index(name)]
    found = model.extras.rows(name)
    if found is not None:
        values = getattr(sol, found[0])[..., found[1]]
        return values[..., 0] if len(found[1]) == 1 else values
    labels = multiplier_labels(model)
    rows = rows_of(name, labels)
    if rows:
        return sol.lam[..., rows[0] if name == labels[rows[0]] else rows]
    if name in model.invariant_labels:
        raise UnknownName(
            f"{name!r} is an invariant: its change along the run is sol.drift[{name!r}]. Name it in outputs=, too, and "
            f"its value is sol[{name!r}]."
        )
    raise unknown(name, "quantity", names(model, resolver))


def names(model, resolver) -> dict[str, list[str]]:
    """The names that `sol[name]` knows, by kind."""
    known = {
        "parts of the mechanism": [] if resolver is None else resolver.names, "outputs": model.output_shapes,
        "coordinates": model.coordinates, "constraints": stems(multiplier_labels(model)),
        "states": model.extras.state_labels, "algebraic variables": model.extras.algebraic_labels,
    }  # fmt: skip
    return {kind: list(each) for kind, each in known.items() if each}


class EventLogs(dict):
    """Where each event happened, by name; asked for another name, it lists those it has."""

    def __getitem__(self, name: str) -> EventLog:
        if not isinstance(name, str) or name not in self:
            raise unknown(name, "event", {"events": list(self)} if self else {})
        return super().__getitem__(name)


@remembered("events")
def event_logs(sol) -> EventLogs:
    """Where each event happened, by name."""
    width, nk = sol.trail.arrays[1].shape[1], sol.trail.arrays[2].shape[1]
    logs = EventLogs()
    for index, name in enumerate(sol.plan.events):
        found = [row for row in sol.trail.events if row[0] == index]
        t = np.array([row[1] for row in found])
        x = np.array([row[2][:width] for row in found]).reshape(len(found), width)
        k = np.array([in_all_rows(sol.plan, row[3]) if sol.trail.parts else row[3] for row in found]).reshape(len(found), nk)
        there = sol.at_rows(t, x, k)
        maps = not sol.plan.model.is_ode and sol.plan.events[name].then is not None
        given = (_impulses(sol, index, t), tuple(sol.plan.model.row_labels)) if maps else ()
        logs[name] = EventLog(t, there.q, there.v, there.lam, there.a, there.s, there.w, *given)
    return logs


def _impulses(sol, index: int, times: np.ndarray) -> list | np.ndarray:
    """-GᵀΛ row by row at the times of an event, (row, nv) each; NaN where it mapped nothing, at the end of a run."""
    model = sol.plan.model
    nothing, found = np.broadcast_to(np.nan, (model.n_lam, model.nv)), []
    left = [(t, impact) for which, t, impact in sol.trail.impacts if which == index]
    for t in times:
        found.append(left.pop(0)[1].by_row if left and left[0][0] == t else nothing)
    if any(not isinstance(each, np.ndarray) for each in found):
        return found
    return np.array(found).reshape(len(found), *nothing.shape)


@remembered("accelerations left")
def accelerations_left(sol) -> np.ndarray:
    """G v' + γ, (time, row)."""
    by_code = sol.source.trail.by_code
    if by_code is not None:  # tables have no matrices of the whole system
        sol = by_code().at_rows(*sol.trail.arrays)
    model = sol.plan.model
    flat = sampling.values_along(sol, Fn.TERMS)
    gamma = flat[:, flat.shape[1] - model.n_lam :]
    return np.einsum("tki,ti->tk", sampling.jacobians(sol, flat), sol.trail.arrays[2][:, : model.nv]) + gamma


@remembered("stats")
def counters(sol) -> dict[str, Any]:
    """Return the counters of a run by name."""
    if sol.trail.parts:
        return joined_counters(sol.trail.parts)
    implicit = sol.plan.choice.integrator.implicit  # their dense output evaluates nothing
    return statistics(sol.trail.memory, 0 if implicit else sol.plan.integrator.rows)


def reaction(sol, rows: list[int]) -> np.ndarray:
    """-Gᵀλ of these rows alone, (time, nv)."""
    if sol.trail.data is None:
        if sol.trail.pairs is None:
            raise BadArgument(
                "the run was too large to be saved with every row's own reaction; reaction(label) needs the model. "
                "Keep fewer times: save_at=."
            )
        return kept_reaction(sol, rows)
    alone = np.zeros_like(sampling.multipliers(sol))
    alone[:, rows] = sampling.multipliers(sol)[:, rows]
    return sampling.values_along(sol, Fn.REACTIONS, alone)


def impact(sol):
    """What happened where a run began with an impact."""
    if sol.trail.impact is None:
        raise BadArgument('the run did not begin with an impact: impulses come with simulate(..., initial="impact").')
    return sol.trail.impact


def impulse(sol, rows: list[int]) -> np.ndarray:
    """-GᵀΛ of these rows alone, (nv,)."""
    return impact(sol).by_row[rows].sum(axis=0)


def rows_of_constraint(sol, label: str) -> list[int]:
    """Rows of a constraint, or one row by its own label."""
    model = sol.plan.model
    rows = rows_of(label, model.row_labels) if not model.is_ode else []
    if not rows:
        raise unknown(label, "constraint", {"constraints": stems(model.row_labels)})
    return rows


def energy_error(sol) -> np.ndarray:
    """Change of the total energy since the beginning of a run, relative to the energy that moves."""
    source = sol.source
    if sol.plan.model.is_ode or not len(sampling.energies(source)):
        return sol.energy.total
    kinetic, potential = sampling.energies(source).T
    return (sol.energy.total - (kinetic[0] + potential[0])) / energy_that_moves(kinetic, potential)


def energy_that_moves(kinetic: np.ndarray, potential: np.ndarray) -> float:
    """Return the largest kinetic energy, or change of the potential one, J; 1 where nothing moves."""
    return float(max(np.max(kinetic), np.max(np.abs(potential - potential[0])))) or 1.0
