"""What is settled before the first step of a run: a consistent start, what its methods choose there, and the data it goes by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import Asked, Opened, choice_at_start, inputs_of_run
from ..errors import BadArgument
from ..model.dae import Dae
from ..model.input_tables import InputTables
from ..planning.choice import Choice
from ..planning.gains import check_gain
from ..planning.plan import Plan
from ..planning.reuse import model_of, plan_of
from ..starting.initial import Start, prepare
from ..starting.invariance import check_invariants
from ..starting.roots import take_root
from .walk import set_invariants


class OnePlan(NamedTuple):
    """A plan, and the consistent start that it begins with."""

    plan: Plan
    begin: Start
    data: np.ndarray
    t0: float
    x0: np.ndarray
    tables: InputTables


def consistent_start(
    model, here: Opened, choice: Choice, tables: InputTables, forward: float = 1.0
) -> tuple[Start, Choice, np.ndarray, Any]:
    """Return the start, the choice with what depends on it, the data there, and what is still to be made of lam0."""
    system, t0, _, q, v, _, start = here
    data, lam0 = model.data(), start.lam0
    tables.begin(data, t0, forward)
    begin = prepare(
        model, t0, q, v, data, tol=choice.constraint_tol, initial=start.initial, hold=start.hold,
        redundant=system.redundant if start.redundant is None else start.redundant, forward=forward,
    )  # fmt: skip
    if start.initial != "free" and isinstance(system, Dae):
        begin, lam0 = begin._replace(root=take_root(model, t0, begin.q, data, lam0)), None
    return begin, choice_at_start(choice, model, t0, begin.q, data), data, lam0


def filled_data(
    plan: Plan, begin: Start, data: np.ndarray, t0: float, free: bool, forward: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the data of a run with what its plan adds, gains and invariants entered, and the state it starts from."""
    model, x0 = plan.model, np.concatenate([begin.q, begin.v])
    plan.enter_gains(data, forward)
    if not free and model.n_invariants:
        set_invariants(model, t0, x0, data)
        check_invariants(model, t0, x0, data)
    data = plan.extended(data)
    check_gain(plan, t0, x0, data)
    return data, x0


def one_plan(call: str, here: Opened, asked: Asked, switching: bool = False) -> OnePlan:
    """Return what a run of one plan begins with; with the integrator left open, it is the one that suits the start.

    `call` is the function that was called, for messages. With `switching` the run follows the switches of the system.
    """
    system, t0, _, q, v, extras, start = here
    model = model_of(system, q, v, t0, extras)
    choice, watched = asked.choice(model), asked.watched(system)
    tables = inputs_of_run(call, model, asked.inputs)
    begin, choice, data, _ = consistent_start(model, here, choice, tables)
    plan = plan_of(model, choice, watched, begin.rows, switching)
    if plan.integrator.starting_points:
        raise BadArgument(f"{choice.integrator!r} begins with steps of another method: take one that starts by itself.")
    data, x0 = filled_data(plan, begin, data, t0, start.initial == "free")
    return OnePlan(plan, begin, data, t0, x0, tables)
