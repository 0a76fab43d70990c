"""The program one thread runs: the whole life of a member, from its start to its last saved row."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from ..kernels import state as s
from ..kernels.batch import run_member
from ..kernels.evaluate import dense_work, evaluate_carefully
from ..kernels.signatures import (
    CAREFUL,
    NL,
    NQ,
    NROW,
    NV,
    NX,
    WD,
    WE,
    WF,
    WM,
    WN,
    WP,
    WR,
    WV,
    WX,
    Fn,
    Slot,
)
from ..model.emit import python_source
from ..model.tape import INPUTS, Tape
from ..plan import Plan
from ..stabilizations.base import GAIN, HOPELESS, TOL
from .shorten import evaluate, one_division, settle
from .specialize import Array, Known, Specializer, Table

# What a run is told at its start: tolerances and times. All else in S and I that never changes is part of the program.
TOLD = (s.T, s.T_STOP, s.T_BASE, s.RTOL, s.H, s.H_FIXED, s.H_MAX)
FIXED_FLOATS = (s.EXPONENT, s.BETA, s.SAFETY, s.FAC_MIN, s.FAC_MAX, s.STAY)
FIXED_INTS = (s.FIXED, s.LAST, s.KEEP_STEPS, s.STEERS, s.EVENT_FIELD)
TOLD_OF_PULL = (TOL, HOPELESS, GAIN)

HEAD = '''"""One thread, one member. Made by holonomic; changes here are lost."""

import math

from numba import cuda, float64, int64

from holonomic.gpu.apart import stay_apart
from holonomic.gpu.trig import sincos

inf, nan = math.inf, math.nan
'''


@dataclass(frozen=True)
class Program:
    """Source of a program, whose entry is `run(members, ...)`, and what it wants worked out beforehand."""

    source: str
    own: tuple[int, ...]  # places in data that differ between members
    settled: tuple[Tape, ...]

    def common(self, data: np.ndarray) -> np.ndarray:
        """Numbers that all members share: data, and what follows from it."""
        return np.concatenate([data, *(evaluate(tape, data) for tape in self.settled)])


def program_of(plan: Plan, S0, I0, own: tuple[int, ...], order: int) -> Program:
    """Write the program of a plan.

    `own` are the places in data that differ between members; `S0`, `I0` the loop's memory at the start of a run.
    """
    n = _sizes(plan)
    lowered, pulled = plan.integrator, plan.stabilization
    slots = {Slot[name.upper()].value: kernel for name, kernel in lowered.slots.items()}
    slots |= {Slot.PULL.value: pulled.pull, Slot.TANGENT.value: pulled.tangent}
    nx, nrow = int(n[NX]), int(n[NROW])
    rows, width = lowered.rows, max(nx, nrow, 8)
    S_known = {i: float(S0[i]) for i in FIXED_FLOATS}
    S_known[s.STIFF_BOUND] = 0.0  # nobody is told of stiffness here
    local = {
        "S": (s.N_FLOATS,), "I": (s.N_INTS,), "x": (nx,), "xn": (nx,), "xs": (nx,), "K": (rows, width),
        "E": (max(1, lowered.errors), nx), "W": (int(n[WX]) + nx + 2,), "xe": (nx,), "ke": (1, nrow),
    }  # fmt: skip
    sp_known = {i: float(value) for i, value in enumerate(pulled.sp) if i not in TOLD_OF_PULL}
    bound = {
        "slots": Table(slots), "fns": Table({2 * CAREFUL: evaluate_carefully}), "n": Known(n),
        "ip": Known(np.asarray(lowered.ip)), "fp": Known(np.asarray(lowered.fp)),
        "sp": Array((len(pulled.sp),), sp_known), "order": Known(order), "at_lam": Known(-1),
        "turns": Known(np.concatenate([plan.model.turns, np.zeros(nx - plan.model.nq, dtype=np.int64)])),
    }  # fmt: skip
    bound |= {name: Array(shape) for name, shape in local.items()}
    bound["S"] = Array(local["S"], S_known)
    bound["I"] = Array(local["I"], {i: int(I0[i]) for i in FIXED_INTS})
    program = Specializer()
    name, left = program.function(run_member, bound)
    tapes = plan.model.tapes(tuple(Fn(number) for number in sorted(program.calls)), plan.variant)
    parts, settled, at = [HEAD], [], len(plan.model.data())
    for fn, tape in tapes.items():
        before, tape = settle(one_division(tape), frozenset(own), at)
        settled.append(before)
        at += len(before.outputs)
        parts.append("@cuda.jit(device=True)\n" + _model(fn, tape, own, program.calls[int(fn)]))
    parts += ["@cuda.jit(device=True, forceinline=True)\n" + source + "\n" for source in program.sources()]
    parts.append(_entry(name, left, local, nx))
    return Program("\n\n".join(parts), own, tuple(settled))


def _sizes(plan: Plan) -> np.ndarray:
    """Sizes and offsets without room for the dense solve, which the processor does."""
    n = plan.sizes.copy()
    n[[WP, WV, WF, WR, WD, WM, WX, WN, WE]] -= dense_work(int(n[NQ]), int(n[NV]), int(n[NL]))
    return n


PARAMETERS = ("t", "a", "at_a", "b", "at_b", "data", "out", "at_out")


def _model(fn: Fn, tape: Tape, own: tuple[int, ...], calls: list[ast.Call]) -> str:
    """A model function with the parameters it needs; calls lose the others."""
    used = {INPUTS[node[1]] for node in tape.nodes if node[0] == "in"} | {"out"}
    kept = []
    for i, name in enumerate(PARAMETERS):
        if name.startswith("at_"):
            needed = name[3:] in used and any(ast.unparse(call.args[i]) != "0" for call in calls)
        else:
            needed = name in used
        kept += [i] if needed else []
    for call in calls:
        call.args = [call.args[i] for i in kept]
    head = [PARAMETERS[i] for i in kept]
    place = {index: k for k, index in enumerate(own)}

    def read(which: str, index: int) -> str:
        if which == "data":
            return f"data[1][{place[index]}]" if index in place else f"data[0][{index}]"
        return f"{which}[at_{which} + {index}]" if f"at_{which}" in head else f"{which}[{index}]"

    write = "out[at_out + {}]" if "at_out" in head else "out[{}]"
    source = python_source(tape, f"model_{int(fn)}", ", ".join(head), read, write, "sincos")
    first, rest = source.split("\n", 1)
    return f"{first}\n    stay_apart()\n{rest}"


def _entry(name: str, left: list[str], local: dict[str, tuple], nx: int) -> str:
    """The kernel: memory of a thread, its member's numbers, the run, and what it leaves behind."""
    given = {"data": "(common, OWN[:, m])", "rec_t": "save_t", "rec_x": "OUT_X[:, :, m]", "rec_k": "OUT_K[:, :, m]"}
    lines = [
        "@cuda.jit",
        "def run(members, X0, common, OWN, S0, I0, sp, atol, save_t, OUT_X, OUT_K, STATUS, REACHED, STEPS, ROWS):",
        "    m = cuda.grid(1)",
        "    if m >= members:",
        "        return",
    ]
    for array, shape in local.items():
        kind = "int64" if array == "I" else "float64"
        lines.append(f"    {array} = cuda.local.array({shape if len(shape) > 1 else shape[0]}, {kind})")
    lines += [
        f"    for i in range({nx}):", "        x[i] = X0[i, m]",
        f"    for i in range({s.N_FLOATS}):", "        S[i] = S0[i]",
        f"    for i in range({s.N_INTS}):", "        I[i] = I0[i]",
        f"    STATUS[m] = {name}({', '.join(given.get(each, each) for each in left)})",
        f"    REACHED[m] = S[{s.T}]",
        f"    STEPS[m] = I[{s.ACCEPTED}] + I[{s.REJECTED}]",
        f"    ROWS[m] = I[{s.ROWS}]",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
