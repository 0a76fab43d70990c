"""What all members of a sweep share: methods and tolerances, looked for at the first, the middle and the last of them.

One member whose start is stiff gives all of them an implicit method: it is right for the others, too. Plans do not change
on the way of a member.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..choosing.choosing import Choosing
from ..choosing.preferring import Aim, preferred
from ..errors import OK, HolonomicError
from ..planning.choice import Choice
from ..planning.reuse import model_of, plan_of
from ..running.run import Run
from ..simulate import simulate
from ..starting.initial import prepare


def looked_at(members: int) -> list[int]:
    """Return the numbers of the members that speak for all."""
    return sorted({0, members // 2, members - 1})


def shared_choice(model, given: dict[str, Any], choice: Choice, rows, t0: float, t1: float, starts, explicit_only: bool) -> Choice:
    """Return the choice for all members; `starts` are pairs (state, data) of those that are looked at."""
    direction, found = (1.0 if t1 >= t0 else -1.0), []
    for z0, data in starts:
        plan = plan_of(model, choice, {}, rows)
        plan.enter_gains(data, direction)
        run = Run(plan, plan.extended(data), t0, z0, t1, save_t=None, max_steps=1, max_step=np.inf, first=None)
        if run.begin() == OK:
            choosing = Choosing(model, given, choice, t1, lambda made: plan_of(model, made, {}, rows))
            found.append(choosing.at_start(run) or choice)
            if found[-1].integrator.implicit:
                found[-1] = choosing.explicit if explicit_only else found[-1]
        run.release()
    implicit = [each for each in found if each.integrator.implicit]
    longer = [each for each in found if each == choice]
    return next(iter([*implicit, *longer, *found]), choice)


def consistent_starts(model, choice: Choice, members: int, member, t0: float, options: dict[str, Any]):
    """Yield (state, data) of the members that are looked at, where they can start; member(m) is (q, v, data)."""
    for m in looked_at(members):
        q, v, data = member(m)
        try:
            begin = prepare(model, t0, q, v, data, tol=choice.constraint_tol, **options)
        except HolonomicError:  # told of each member by itself
            continue
        yield np.concatenate([begin.q, begin.v]), data


def shared_aim(prefer: str, system, params: dict, members: int, start, interval, methods, step, rtol, atol) -> Aim:
    """Return what a preference leads to for all members: the smallest tolerance of those that are looked at.

    start(m) is (q, v, extras, arguments of simulate) of a member. Trials take the system's own inputs.
    """
    found = []
    for m in looked_at(members) if prefer == "energy" else [0]:
        values = {name: each[m] if np.ndim(each[m]) else float(each[m]) for name, each in params.items()}
        own = replace(system, params={**system.params, **values}) if values else system
        q, v, extras, given = start(m)
        model = model_of(own, q, v, interval[0], extras)
        found.append(preferred(prefer, simulate, model, interval, given, methods, step, rtol, atol))
    return min(found, key=lambda aim: aim.rtol or 0.0)
