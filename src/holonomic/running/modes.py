"""The modes of switches where Python moves the state: at the start, after an event that maps it, where inputs jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels.signatures import Fn
from ..kernels.sliding import ASLEEP
from ..loop.events_from_python import arm_switches_compiled, enter_modes_compiled
from ..loop.sides import ALONG, CODES
from ..native.callbacks import raise_what_was_raised


def keep_modes(run) -> None:
    """Let a run that goes on from another follow the modes of its data: where a switch has just changed, its sign is rounding."""
    if run.plan.switches:
        modes = run.data[run.plan.model.data_places["modes"]]  # a view
        equal = np.array([switch.equality for switch in run.plan.switches], dtype=bool)
        decided = ~np.isnan(modes) & ~sleeping(run.plan, modes) & ~(equal & (modes < 0))  # what goes along its zero goes on so
        modes[decided] = np.copysign(np.inf, modes[decided])  # where values decided in an attempt, signs were left of them
        modes[sleeping(run.plan, modes)] = 0.0  # what another method could not follow may wake again
        run.modes = modes.copy()
        run.memory.awake = awake_in(run.plan, modes)
        know_selects(run)


def awake_in(plan, modes: np.ndarray) -> int:
    """How many selects are followed like switches."""
    return sum(switch.sleeps for switch in plan.switches) - int(np.sum(sleeping(plan, modes)))


def know_selects(run) -> None:
    """Compile what is watched of selects, for a run that goes on with some of them awake."""
    if run.memory.awake and not run.plan.fns[2 * Fn.EVENTS]:
        run.plan.add_function(Fn.EVENTS)


def sleeping(plan, modes: np.ndarray) -> np.ndarray:
    """Tell which of the modes are those of selects that sleep."""
    return np.array([switch.sleeps for switch in plan.switches], dtype=bool) & (np.abs(modes) < ASLEEP)


def counting(run) -> np.ndarray:
    """Tell which switches count where the run stands: of the others what is watched is the sign of their mode."""
    if not run.plan.switches or not run.watching.watches:
        return np.zeros(len(run.plan.switches), dtype=bool)
    modes, first = run.data[run.plan.model.data_places["modes"]], len(run.plan.events)  # a view
    here, found = modes.copy(), np.zeros(len(modes), dtype=bool)
    for j in range(len(modes)):
        sides = []
        for modes[j] in (-np.inf, np.inf):
            sides.append(run.watching.values_here()[first + j])
        found[j] = sides[0] == sides[1]
        modes[j] = here[j]
    return found


def enter_modes(run, counted: Callable[[], np.ndarray] | None = None) -> None:
    """Give every switch the mode it has where the run stands, and write down which have changed.

    `counted()` tells which did count before the state or the inputs jumped: one that does so on both sides has changed there, any
    other one has only come to count, or no longer counts.
    """
    plan = run.plan
    if not plan.switches:
        return
    modes = run.data[plan.model.data_places["modes"]]  # a view
    before = modes.copy()
    given, again = (run.memory, run.work.loop, run.work.events), int(run.modes is not None)
    while plan.supplies(enter_modes_compiled(plan.for_kernels(run.data), *given, again)):
        pass
    raise_what_was_raised()
    if run.modes is None:
        run.modes = modes.copy()
        return
    k = run.K[0, plan.model.nq :][: plan.size.nk]
    changed = np.flatnonzero((modes != before) & ~(np.isnan(modes) & np.isnan(before)))
    jumped = counting(run) & counted() if len(changed) and counted is not None else np.zeros(len(modes), dtype=bool)
    for j in changed:
        how = int(modes[j] > 0.0) if jumped[j] else 2 + int(modes[j] > 0.0)
        code = plan.n_watched + CODES * j + (ALONG if np.isnan(modes[j]) else how)
        run.watching.log.append((code, run.t, run.x.copy(), k.copy()))


def enter_numbers(run, numbers: dict[int, float]) -> None:
    """Enter inputs that jump where a run stands, by place in data; switches get the modes that they have behind the jump."""
    before = run.data.copy()
    for at, number in numbers.items():
        run.data[at] = number
    run.field_changed()
    if run.plan.switches and run.watching.watches:
        enter_modes(run, lambda: _counting_with(run, before))
        arm_switches_compiled(run.plan.for_kernels(run.data), run.memory, run.work.loop, run.work.events)


def _counting_with(run, data: np.ndarray) -> np.ndarray:
    """Tell which switches counted where the run stands, with the data it had."""
    here = run.data.copy()
    run.data[:] = data
    found = counting(run)
    run.data[:] = here
    return found


def modes_here(run) -> np.ndarray:
    """The modes with which a run stands where it is."""
    return run.data[run.plan.model.data_places["modes"]].copy()
