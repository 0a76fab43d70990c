"""What all members of a sweep share, looked for at the first, the middle and the last of them: what is left open to each,
the explicit method of all on a GPU, and the tolerance that a preference leads to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..choosing.choosing import Choosing
from ..choosing.indicators import moving
from ..choosing.preferring import Aim, preferred
from ..errors import OK, HolonomicError
from ..planning.choice import Choice
from ..planning.reuse import model_of, plan_of
from ..running.run import Run
from ..simulate import simulate
from ..starting.initial import prepare
from .open import Open


def looked_at(members: int) -> list[int]:
    """Return the numbers of the members that speak for all."""
    return sorted({0, members // 2, members - 1})


def left_open(model, given: dict[str, Any], choice: Choice, starts) -> Open:
    """Return what is left open for every member; `starts` are pairs (state, data) of those that are looked at."""
    turning = [moving(model, data) for _, data in starts]  # with the parameters of members, not with the system's own
    return Open(given, any(turning), model.order if model.is_ode else 1, choice.rtol)


def shared_explicit(model, given: dict[str, Any], choice: Choice, rows, t0: float, t1: float, starts) -> Choice:
    """Return the explicit choice for all members; `starts` are pairs (state, data) of those that are looked at."""
    direction, found = (1.0 if t1 >= t0 else -1.0), []
    for z0, data in starts:
        plan = plan_of(model, choice, {}, rows)
        plan.enter_gains(data, direction)
        run = Run(plan, plan.extended(data), t0, z0, t1, save_t=None, max_steps=1, max_step=np.inf, first=None)
        if run.begin() == OK:
            choosing = Choosing(model, given, choice, t1, lambda made: plan_of(model, made, {}, rows))
            choosing.at_start(run)
            found.append(choosing.explicit)
        run.release()
    return next(iter([*(each for each in found if each == choice), *found]), choice)


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
    for m in looked_at(members) if isinstance(prefer, str) and prefer == "energy" else [0]:
        values = {name: each[m] if np.ndim(each[m]) else float(each[m]) for name, each in params.items()}
        own = system.with_params(**values) if values else system
        q, v, extras, given = start(m)
        model = model_of(own, q, v, interval[0], extras)
        found.append(preferred(prefer, simulate, model, interval, given, methods, step, rtol, atol))
    return min(found, key=lambda aim: aim.rtol or 0.0)
