"""Many runs that go on step by step, side by side: what a batch of steppers calls, without Python's lock."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import DONE, MORE, OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import PASSING, RUN, SIZE, STEPPING
from ..kernels.signatures import EVENT_ARRAYS, METHOD, OUTPUTS, RECORD, Inside, Loop, Model, Passing, Scale, State, call_function
from ..native.marks import entry, inner
from ..native.types import Array, Group, cube, i8, ints, mat, vec
from .drive import drive

PLENTY = 1 << 62


class Together(NamedTuple):
    """What the members of a batch remember, member first; see `signatures.State`."""

    x: Any
    xn: Any
    xs: Any
    K: Any
    E: Any
    W: Any
    data: Any
    memory: Any


class Orders(NamedTuple):
    """What is asked of the members."""

    places: Any  # of inputs in data
    inputs: Any  # (member, input)
    stops: Any  # times to go on to
    reads: Any  # model functions for outputs; all 0: none are asked for
    out: Any  # (member, number)
    status: Any  # MORE for members that are to go on
    most: Any  # steps that may be tried on the way


TOGETHER = Group(Together, (mat, mat, mat, cube, cube, mat, mat, Array(RUN.type, 1)))
ORDERS = Group(Orders, (ints, mat, vec, ints, mat, ints, i8))


@inner
def enter_inputs(m, run, state, data, orders):
    """Enter the inputs of a member; where one has changed, the field is another one."""
    changed = False
    for j in range(orders.places.shape[0]):
        at = orders.places[j]
        if data[at] != orders.inputs[m, j]:
            data[at] = orders.inputs[m, j]
            changed = True
    if changed:
        run.evaluated = 0
        if run.remembers != 0:
            for row in range(1, state.K.shape[0] - 2):  # the last two hold what is noted
                for i in range(state.K.shape[1]):
                    state.K[row, i] = 0.0
    if changed or run.guided != 0:  # a path over a singular position is not kept from step to step
        run.guided = 0
        run.alarm = 0
        if run.phase == PASSING:
            run.phase = STEPPING


@entry(
    Group(None, (i8, i8)), ints, ints, SIZE.type, METHOD, TOGETHER, Group(Inside, (vec, mat)), Group(Scale, (vec, ints)),
    Group(Passing, (mat, mat, vec, vec)), EVENT_ARRAYS, RECORD, ORDERS,
)  # fmt: skip
def step_batch(span, slots, fns, size, method, batch, inside, scale, passing, events, record, orders):
    """Let members span[0] .. span[1]-1 go on to their times, and read their outputs there."""
    status = orders.status
    for m in range(span[0], span[1]):
        if status[m] != MORE:
            continue
        run = batch.memory[m]
        state = State(batch.x[m], batch.xn[m], batch.xs[m], batch.K[m], batch.E[m], batch.W[m])
        model = Model(fns, size, batch.data[m])
        enter_inputs(m, run, state, model.data, orders)
        if run.t_stop != orders.stops[m]:  # not where a function had to be compiled on the way
            run.t_stop = orders.stops[m]
            run.t_base = run.t
            run.step_number = 0
            run.limit = run.accepted + run.rejected + run.failed + run.retaken + orders.most
        while status[m] == MORE:
            run.quota = PLENTY
            status[m] = drive(slots, model, method, run, Loop(state, inside, scale, passing), record, events)
        if status[m] == DONE and orders.out.shape[1] > 0:
            if run.evaluated == 0:
                found = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
                if found != OK:
                    status[m] = found
                    continue
                run.evaluated = 1
            call_function(
                orders.reads, OUTPUTS, run.t, state.x, 0, state.K, size.nq, model.data, orders.out, m * orders.out.shape[1]
            )
