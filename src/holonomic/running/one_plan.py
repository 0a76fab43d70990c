"""A run whose methods do not change on the way: all that is settled before its first step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arguments import Asked, Opened, choice_at_start, inputs_of_run
from ..errors import BadArgument
from ..model.dae import Dae
from ..model.input_tables import InputTables
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


def one_plan(call: str, here: Opened, asked: Asked) -> OnePlan:
    """Return what a run of one plan begins with; with the integrator left open, it is the one that suits the start.

    `call` is the function that was called, for messages.
    """
    system, t0, _, q, v, extras, start = here
    model = model_of(system, q, v, t0, extras)
    choice, watched = asked.choice(model), asked.watched(system)
    data, tables = model.data(), inputs_of_run(call, model, asked.inputs)
    tables.begin(data, t0, 1.0)
    begin = prepare(
        model, t0, q, v, data, tol=choice.constraint_tol, initial=start.initial, hold=start.hold,
        redundant=system.redundant if start.redundant is None else start.redundant,
    )  # fmt: skip
    if start.initial != "free" and isinstance(system, Dae):
        begin = begin._replace(root=take_root(model, t0, begin.q, data, start.lam0))
    choice = choice_at_start(choice, model, t0, begin.q, data)
    plan = plan_of(model, choice, watched, begin.rows)
    if plan.integrator.starting_points:
        raise BadArgument(f"{choice.integrator!r} begins with steps of another method: take one that starts by itself.")
    plan.enter_gains(data, 1.0)
    x0 = np.concatenate([begin.q, begin.v])
    if start.initial != "free" and model.n_invariants:
        set_invariants(model, t0, x0, data)
        check_invariants(model, t0, x0, data)
    data = plan.extended(data)
    check_gain(plan, t0, x0, data)
    return OnePlan(plan, begin, data, t0, x0, tables)
