"""Tapes laid out for `kernels.played`, and what takes the place of long functions."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import numpy as np

from ..errors import IncompatibleMethods
from ..kernels.played import OPERATIONS, PLACE, PLAYED, SECOND, played
from ..native.layout import Memory
from .tape import CALL, INPUTS, Tape

# reads, operations and results of one function, above which it is played: compiling takes some 75 µs for each of them
LONGEST_COMPILED = 100_000
BESIDE_DENSE = 5_000  # the same beside solves with dense matrices, which take most of the time
NUMBER = {name: number for number, name in enumerate(OPERATIONS)}


def is_played(tape: Tape, beside_dense: bool = False) -> bool:
    """Whether a tape is played: it is long, and has nothing that can only be compiled."""
    longest = BESIDE_DENSE if beside_dense else LONGEST_COMPILED
    return len(tape.nodes) + len(tape.outputs) > longest and not lacks(tape)


def lacks(tape: Tape) -> set[str]:
    """Operations of a tape that are not played."""
    return {node[0] for node in tape.nodes} - NUMBER.keys() - {"in", "const"}


def refuse_unplayed(tapes: Iterable[Tape], size: int) -> None:
    """Refuse to compile so many operations, which are so many because some of them are not played."""
    found = set().union(*(lacks(tape) for tape in tapes if len(tape) > LONGEST_COMPILED))
    if found:
        names = sorted({"opaque functions" if name.startswith(CALL) else name for name in found} - {"choose"})
        raise IncompatibleMethods(
            f"with {' and '.join(names) or 'cases'} the equations and their derivatives are compiled, {size} operations of them, "
            "which takes minutes; others as long are played from lists. Write those without, or use an explicit integrator."
        )


class PlayedTape:
    """A tape in memory, as an operator's context.

    Attributes
    ----------
    address, context : int
        The operator.
    """

    def __init__(self, tape: Tape):
        self._held, self.memory = _laid_out(tape)
        self.address = played.address
        self.context = self.memory.array.ctypes.data


def _laid_out(tape: Tape) -> tuple[list[np.ndarray], Memory]:
    nodes = tape.nodes
    constants = [node[1] for node in nodes if node[0] == "const"]
    zero = len(constants)
    constants.append(0.0)  # of outputs that are nothing
    read = {which: 0 for which in INPUTS}
    for node in nodes:
        if node[0] == "in":
            which = INPUTS[node[1]]
            read[which] = max(read[which], 1 if which == "t" else node[2] + 1)
    begin, at = {"t": len(constants)}, len(constants) + 1
    for which in ("a", "b", "data"):
        begin[which] = at
        at += read[which]
    last = [0] * len(nodes)  # who needs a result last
    for k, node in enumerate(nodes):
        if node[0] not in ("in", "const"):
            for i in node[1:]:
                last[i] = k
    for i in tape.outputs:
        if i is not None:
            last[i] = len(nodes)
    place, free, code, constant = [0] * len(nodes), [], [], 0
    for k, node in enumerate(nodes):
        name = node[0]
        if name == "const":
            place[k] = constant
            constant += 1
        elif name == "in":
            which = INPUTS[node[1]]
            place[k] = begin[which] + (0 if which == "t" else node[2])
        else:
            x = place[node[1]]
            y = place[node[2]] if len(node) > 2 else 0
            for i in set(node[1:]):
                if last[i] == k and nodes[i][0] not in ("in", "const"):
                    heapq.heappush(free, place[i])
            if free:
                place[k] = heapq.heappop(free)
            else:
                place[k], at = at, at + 1
            code += (NUMBER[name] | place[k] << PLACE, x | y << SECOND)
    held = [
        np.array(code, dtype=np.int64), np.array(constants, dtype=float),
        np.array([zero if i is None else place[i] for i in tape.outputs], dtype=np.int64),
    ]  # fmt: skip
    memory = PLAYED.new()
    memory.code, memory.constants, memory.places = (each.ctypes.data for each in held)
    memory.operations, memory.n_constants, memory.outputs = len(code) // 2, len(constants), len(tape.outputs)
    memory.na, memory.nb, memory.nd, memory.registers = read["a"], read["b"], read["data"], at
    return held, memory
