"""What kernels are given, and the signature of each slot.

A kernel takes about six things, all by name:

`slots`   the methods' functions, see `Slot`: one address each
`model`   a `Model`: the model's operators, see `Fn` (function and context, two entries each), the sizes of the plan, and data
`method`  a `Method`: the numbers of the methods
`run`     what the run remembers, see `memory.RUN`
`state`   a `State`: the arrays a step works on; in the loop a `Loop`, which has it and everything else a run needs
`record`, `events`   what is written, and what is watched

An operator is

    status = f(context, mode, t, a, b, data, out)

on flat arrays. The context is what it needs beside its arguments, such as tables of bodies: it is read, never written, as
many runs share it. The mode is an integer whose bits are reserved for switches, the branches of a model that runs piece by
piece; no model has any today, so that it is `NO_MODE`. The status is 0, or SINGULAR or NOT_FINITE where the operator cannot give
its numbers. It is looked at for fields and factors; all others put NaN into the first of their numbers, too, by which kernels
find it.

Compiled, functions and contexts are addresses. In interpreted runs both are Python objects in a tuple, and records are
structures; the source of the kernels is the same.

A state is x = (q, v), flat. A stage row is K = (q', v', λ, ρ): what the field gives at one point.
"""

from __future__ import annotations

from enum import IntEnum, auto, unique
from typing import Any, NamedTuple

from ..native.marks import call_model_at, compiled_as, inner, slot_caller
from ..native.types import Group, f8, i8, int_mat, ints, mat, vec
from .memory import RUN, SIZE


class InOrder(IntEnum):
    """Names with the numbers 0, 1, 2 and so on, by `auto()`."""

    @staticmethod
    def _generate_next_value_(name, start, count, last_values) -> int:
        return count


@unique
class Fn(InOrder):
    """Operators of a model, by what they take and write. Kernels use the plain integers below, of the same names.

    Those that give matrices of the whole system (TERMS, BY_Y, BY_SLOPE, ALGEBRAIC) are services of models of one element: no
    method takes them for granted that does not say so in its class.
    """

    FIELD = auto()  # a = x -> (q', v', λ, ρ)
    REFINED = auto()  # the same with one step of iterative refinement
    TERMS = auto()  # a = x -> (q', M, f, G, γ), dense, row by row: a service
    RESIDUAL = auto()  # a = x -> (position rows, velocity rows)
    POS_FACTOR = auto()  # a = x -> F: ρ, 1/‖rows‖, factors of J W⁻¹ Jᵀ, J = position rows by q
    POS_SOLVE = auto()  # a = F, b = r -> W⁻¹Jᵀ (J W⁻¹ Jᵀ)⁻¹ r
    POS_TANGENT = auto()  # a = F, b = e -> W⁻¹Jᵀ (J W⁻¹ Jᵀ)⁻¹ J e
    VEL_FACTOR = auto()  # the same for velocity rows by v
    VEL_SOLVE = auto()
    VEL_TANGENT = auto()
    FULL_FACTOR = auto()  # the same for all rows by x
    FULL_SOLVE = auto()
    FULL_TANGENT = auto()
    EVENTS = auto()  # a = x, b = (v', λ) -> event values
    OUTPUTS = auto()  # a = x, b = (v', λ) -> named outputs
    ENERGY = auto()  # a = x -> kinetic, potential
    REACTIONS = auto()  # a = x, b = λ -> -Gᵀλ
    CAREFUL = auto()  # no model function: the kernel that takes over when FIELD cannot be trusted
    EQUATIONS = auto()  # a = y, b = y' -> R(t, y, y'), what a formulation leaves to an implicit integrator
    BY_Y = auto()  # a = y, b = y' -> ∂R/∂y, dense, row by row: a service
    BY_SLOPE = auto()  # a = y, b = y' -> ∂R/∂y', likewise
    CURVATURE = auto()  # a = x, b = Δq -> L Δq, L = velocity rows by q
    POS_INVERSE = auto()  # a = F, b = r -> (J D)⁻¹ r, the first half of POS_SOLVE, D = W⁻¹Jᵀ or another direction
    VEL_INVERSE = auto()
    FULL_INVERSE = auto()
    POS_SPREAD = auto()  # a = x, b = μ -> D(x) μ, its second half with D at another point
    VEL_SPREAD = auto()
    FULL_SPREAD = auto()
    MULTIPLIERS = auto()  # a = x -> algebraic unknowns y of a Dae
    EVENT_RATES = auto()  # a = x, b = (v', λ) in a stage row, behind q' -> rates of events, then the sums of their parts' sizes
    KINEMATICS = auto()  # a = x -> q'
    VELOCITY = auto()  # a = x -> velocity rows, then G in the model's own form (row by row, where terms are dense)
    HALF_EXPLICIT = auto()  # a = x, b = (s, Ḡ), Ḡ of VELOCITY -> (q', v', λ, ρ) with M v' = f - Gᵀλ and Ḡ v' + s = 0
    EXTRA_RATES = auto()  # a = x, b = (v', λ) -> s', w': what rides behind the coordinates in q
    SETTLED = auto()  # a = x -> w that solves its equations, from the w in x on
    ALGEBRAIC = auto()  # a = x -> (k, ∂k/∂w row by row), w as it is in x: a service, for starts and messages
    NEWTON_FACTOR = auto()  # a = LINEARIZED -> growth, factors of ∂R/∂y + t ∂R/∂y'
    NEWTON_SOLVE = auto()  # a = these, b = r -> solution
    COMPLEX_FACTOR = auto()  # the same of ∂R/∂y + (t + i b) ∂R/∂y'
    COMPLEX_SOLVE = auto()  # real parts, then imaginary parts
    LINEARIZED = auto()  # a = y, b = y' -> ∂R/∂y, ∂R/∂y' in the model's own form; without it (BY_Y, BY_SLOPE) take its place
    GRADIENTS = auto()  # a = LINEARIZED -> 1 / length² of the gradients in q and v of algebraic equations, in their places
    MOTION_FACTOR = auto()  # a = LINEARIZED, b = (s,) -> NEWTON_FACTOR where δq = s Z δv holds in the place of the equations of q'
    MOTION_TIMES = auto()  # a = these factors, b = x -> the matrix times x; zero in the rows of q'
    ENDS_FACTOR = auto()  # a = LINEARIZED at two points, one behind the other -> NEWTON_FACTOR with algebraic rows of the second
    ENDS_SOLVE = auto()  # a = these, b = r -> solution
    BOUNDS = auto()  # a = states along a piece of a step, b = the piece -> what EVENTS can be there, and its rates: see `bounds`


N_FUNCTIONS = len(Fn)
NO_MODE = 0  # bits of switches, of which there are none yet
# the same as plain integers, for kernels; in the order of the class
(
    FIELD, REFINED, TERMS, RESIDUAL, POS_FACTOR, POS_SOLVE, POS_TANGENT, VEL_FACTOR, VEL_SOLVE, VEL_TANGENT, FULL_FACTOR,
    FULL_SOLVE, FULL_TANGENT, EVENTS, OUTPUTS, ENERGY, REACTIONS, CAREFUL, EQUATIONS, BY_Y, BY_SLOPE, CURVATURE, POS_INVERSE,
    VEL_INVERSE, FULL_INVERSE, POS_SPREAD, VEL_SPREAD, FULL_SPREAD, MULTIPLIERS, EVENT_RATES, KINEMATICS, VELOCITY,
    HALF_EXPLICIT, EXTRA_RATES, SETTLED, ALGEBRAIC, NEWTON_FACTOR, NEWTON_SOLVE, COMPLEX_FACTOR, COMPLEX_SOLVE, LINEARIZED,
    GRADIENTS, MOTION_FACTOR, MOTION_TIMES, ENDS_FACTOR, ENDS_SOLVE, BOUNDS,
) = map(int, Fn)  # fmt: skip


@unique
class Slot(InOrder):
    """Method functions of a plan."""

    ADVANCE = auto()  # integrator: stages and the new point
    FINISH = auto()  # integrator: the stage at the (stabilized) new point, and the error vectors
    ACCEPT = auto()  # integrator: make the new point the old one
    DENSE = auto()  # integrator: extra stages for the dense output
    INTERPOLATE = auto()  # integrator: the state inside the step
    PULL = auto()  # stabilization: move a state towards the constraints
    TANGENT = auto()  # stabilization: the same for error vectors
    PREPARE = auto()  # formulation: what has to be chosen before a step
    PASSAGE = auto()  # the next step over a singular position


class Model(NamedTuple):
    """A model as kernels take it."""

    fns: Any  # functions by number
    size: Any  # record of `memory.SIZE`
    data: Any  # numbers of the user's functions, parameters, gains


class Method(NamedTuple):
    """Numbers of the methods."""

    ip: Any  # integers of the integrator
    fp: Any  # its coefficients
    sp: Any  # numbers of the stabilization


class State(NamedTuple):
    """What a step works on."""

    x: Any  # unknowns at its beginning
    xn: Any  # at its end
    xs: Any  # argument of the last stage
    K: Any  # stage rows, and what an integrator keeps
    E: Any  # error vectors
    W: Any  # workspace, see the places in `memory.SIZE`


class Inside(NamedTuple):
    """A point inside a step."""

    x: Any
    K: Any  # the field there, one row


class Scale(NamedTuple):
    """How errors are measured."""

    atol: Any  # by unknown; below zero: minus the share of the size of its kind
    kinds: Any  # of unknowns, see `sizes`


class Passing(NamedTuple):
    """The path over a singular position; arrays without rows where none is passed."""

    path: Any
    kept: Any  # those of a run, until Python takes them
    sp: Any  # numbers of projections on it
    nodes: Any  # of a step


class Loop(NamedTuple):
    """All that the step loop works on."""

    state: State
    inside: Inside
    scale: Scale
    passing: Passing


class Record(NamedTuple):
    """Rows that are written, and the times that are asked for."""

    t: Any
    x: Any
    k: Any  # (v', λ)
    dense: Any  # of the step that ends there, see `loop.kept_steps`; no columns: it can be taken again
    save_t: Any


class Kept(NamedTuple):
    """Rows of a finished run."""

    t: Any
    x: Any
    dense: Any


class Events(NamedTuple):
    """Event functions and what was found of them, see `loop.event_search`."""

    marks: Any  # rows by meaning, one column per event
    values: Any  # of the event functions, at points of the step
    rates: Any  # time derivatives, then the sums of their parts' sizes
    theta: Any  # crossings in this step
    found: Any  # whose
    t: Any  # rows that are written
    index: Any
    x: Any
    k: Any


MODEL = Group(Model, (ints, SIZE.type, vec))
METHOD = Group(Method, (ints, vec, vec))
STATE = Group(State, (vec, vec, vec, mat, mat, vec))
LOOP = Group(Loop, (STATE, Group(Inside, (vec, mat)), Group(Scale, (vec, ints)), Group(Passing, (mat, mat, vec, vec))))
RECORD = Group(Record, (vec, mat, mat, mat, vec))
KEPT = Group(Kept, (vec, mat, mat))
EVENT_ARRAYS = Group(Events, (int_mat, mat, vec, vec, ints, vec, ints, mat, mat))

ADVANCE = FINISH = DENSE = i8(MODEL, METHOD, RUN.type, f8, f8, STATE)  # t, h
ACCEPT = i8(MODEL, METHOD, RUN.type, f8, STATE)  # h
INTERPOLATE = i8(MODEL, METHOD, f8, f8, STATE, vec)  # theta, h, out
PULL = i8(MODEL, vec, RUN.type, f8, f8, vec, vec, vec, vec)  # sp, t, h, old, stage, x, W
# t is the time of x, the state to be moved; old the state at t - h, stage the argument of the integrator's last
# stage. Inside a step (dense output, events) h is 0 and there is neither.
TANGENT = i8(MODEL, vec, mat, i8, vec)  # sp, E, row, W
PREPARE = i8(MODEL, RUN.type, f8, vec, vec)  # t, x, W
PASSAGE = i8(ints, MODEL, RUN.type, LOOP)
CAREFULLY = i8(MODEL, RUN.type, f8, vec, mat, i8, vec)  # t, x, K, row, W

call_advance = slot_caller(ADVANCE, Slot.ADVANCE.value)
call_finish = slot_caller(FINISH, Slot.FINISH.value)
call_accept = slot_caller(ACCEPT, Slot.ACCEPT.value)
call_dense = slot_caller(DENSE, Slot.DENSE.value)
call_interpolate = slot_caller(INTERPOLATE, Slot.INTERPOLATE.value)
call_pull = slot_caller(PULL, Slot.PULL.value)
call_tangent = slot_caller(TANGENT, Slot.TANGENT.value)
call_prepare = slot_caller(PREPARE, Slot.PREPARE.value)
call_passage = slot_caller(PASSAGE, Slot.PASSAGE.value)
call_careful = slot_caller(CAREFULLY, 2 * CAREFUL)


def call_function(fns, which, t, a, at_a, b, at_b, data, out, at_out):
    """Call operator `which` at time t; a, b and out are read and written from the given offsets. Return its status.

    Offsets instead of slices: a slice counts references, which costs more than the call.
    """
    return fns[2 * which](fns[2 * which + 1], NO_MODE, t, _from(a, at_a), _from(b, at_b), data, _from(out, at_out))


def _from(array, offset):
    return array if offset == 0 and array.ndim == 1 else array.reshape(-1)[offset:]


@compiled_as(call_function)
def _through_address(fns, which, t, a, at_a, b, at_b, data, out, at_out):
    return call_model_at(fns[2 * which], fns[2 * which + 1], NO_MODE, t, a, at_a, b, at_b, data, out, at_out)


@inner
def call_model(model, which, t, a, at_a, b, at_b, out, at_out):
    """Call operator `which` of a model, with its data. Return its status."""
    return call_function(model.fns, which, t, a, at_a, b, at_b, model.data, out, at_out)


def call_field(model, which, t, x, K, row):
    """Call FIELD or REFINED at (t, x) into a row of K. Return its status."""
    return model.fns[2 * which](model.fns[2 * which + 1], NO_MODE, t, x, x, model.data, K[row])


@compiled_as(call_field)
def _field_through_address(model, which, t, x, K, row):
    return call_function(model.fns, which, t, x, 0, x, 0, model.data, K, row * K.shape[1])


def has_function(model, which):
    """Tell whether operator `which` is there."""
    return model.fns[2 * which] is not None


@compiled_as(has_function)
def _has_address(model, which):
    return model.fns[2 * which] != 0
