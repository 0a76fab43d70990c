"""What is exported, settled: a traced model, one plan from start to end, or the reason why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..arguments import Asked, GivenStart, opened
from ..errors import BadArgument
from ..model.operators import Operators
from ..multibody.joint_frames import joint_frames
from ..native.marks import is_ours
from ..planning.reuse import UntraceableEvent, traced_model
from ..planning.switchless import refuse_comparisons
from ..running.one_plan import OnePlan, one_plan
from ..simulate import simulate
from ..sweeping.program import Program

PLACES = {"export": "in a library", "export_fmu": "in a unit"}


def settled(call: str, system, t_end, start: GivenStart, asked: Asked, exchanges: bool = False) -> tuple[OnePlan, float]:
    """Return the plan that is exported with its start, and the end of the run; `exchanges`: others take its steps."""
    start = start._replace(compile="now")  # tables of a mechanism are memory of this process
    here = opened(call, system, t_end, start)
    if here.t1 < here.t0:
        raise BadArgument(f"{call}: t_end = {here.t1:g} lies before the start at {here.t0:g}; exported runs go forward in time.")
    if start.initial == "free":
        raise BadArgument(f'{call}: initial="free" is for watching a stabilization in Python; exported runs begin consistent.')

    def refusal(why: str) -> str:
        return f"{call} takes equations that can be traced, and these run as Python: {why or 'trace=False.'}"

    if isinstance(here.system, Operators):
        kind = type(here.system).__name__
        raise BadArgument(f"{call} takes equations that can be traced, and {kind} brings operators or tables that are not.")
    here = here._replace(system=with_frames(here.system))
    model = traced_model(here.system, here.q, here.v, here.t0, here.extras, refusal)
    if not exchanges:
        refuse_comparisons(PLACES[call], model.switches, asked.step, asked.limits()["max_step"])
    if asked.integrator == "auto":
        asked = asked._replace(**_tried(call, system, t_end, start, asked))
    try:
        ready = one_plan(call, here, asked)
    except UntraceableEvent as problem:
        raise BadArgument(refusal(str(problem))) from problem
    program = Program(ready.plan, None)
    outside = program.opaque()
    if outside is not None:
        raise BadArgument(f"{call} cannot have opaque {outside!r}: it is code of this process, which a library does not have.")
    for kernel in program.slot_kernels():
        if not is_ours(kernel.py):
            raise BadArgument(f"{call}: {kernel.__qualname__!r} of {ready.plan!r} is a method of your own, which has no bitcode.")
    return ready, here.t1


FRAME = "joint frame: "  # what outputs are called by which joint forces are found


def with_frames(system):
    """A mechanism with the frames of its joints among its outputs, see `joint_frames`; others as they are."""
    if system.resolver is None:
        return system
    frames = {FRAME + name: each.frame for name, each in joint_frames(system.resolver).items()}
    return replace(system, outputs={**(system.outputs or {}), **frames})


def _tried(call: str, system, t_end, start: GivenStart, asked: Asked) -> dict[str, Any]:
    """Methods that take the run from start to end, found by running it."""
    given = asked._replace(save_at=2, max_steps=Asked().max_steps, progress=False)._asdict()
    sol = simulate(system, t_end, **start._asdict(), **given)
    # one without a step was the first choice alone
    parts = [part for part in sol.trail.parts if part.trail.final[0] > part.trail.start[0]]
    if len(parts) > 1:
        first, second = (type(part.plan.choice.integrator).__name__ for part in parts[:2])
        raise BadArgument(
            f"{call}: with the integrator left open, the run goes over from {first} to {second} at t = "
            f"{parts[0].trail.final[0]:.6g}, and a library has one method. Name it: integrator={second}()."
        )
    choice = parts[0].plan.choice if parts else sol.plan.choice
    return {name: getattr(choice, name) for name in asked.methods}
