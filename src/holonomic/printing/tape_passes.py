"""Fewer operations in a tape, where a GPU has to count them.

Two rewritings, exact but for rounding: what follows from numbers that all members share is worked out beforehand, and
the least of several fractions needs one division, which costs as much as fifteen products there.
"""

from __future__ import annotations

import math

import numpy as np

from ..model.emit import python_source
from ..model.tape import INPUTS, Tape, TapeBuilder, needed

DATA = INPUTS.index("data")


def settle(tape: Tape, own: frozenset[int], at: int) -> tuple[Tape, Tape]:
    """Part a tape in what follows from shared numbers alone, and the rest, which finds that in data from `at` on."""
    settled: list[bool] = []
    for node in tape.nodes:
        if node[0] == "in":
            settled.append(node[1] == DATA and node[2] not in own)
        else:
            settled.append(node[0] == "const" or all(settled[i] for i in node[1:]))
    asked = dict.fromkeys(i for node in tape.nodes if node[0] not in ("in", "const") for i in node[1:])
    asked |= dict.fromkeys(i for i in tape.outputs if i is not None)
    users = {i for k, node in enumerate(tape.nodes) if node[0] not in ("in", "const") and not settled[k] for i in node[1:]}
    users |= {i for i in tape.outputs if i is not None}
    front = [i for i in asked if i in users and settled[i] and tape.nodes[i][0] not in ("in", "const")]
    before = needed(Tape(tape.nodes, tuple(front)))
    place = {i: at + k for k, i in enumerate(front)}
    nodes = tuple(("in", DATA, place[k]) if k in place else node for k, node in enumerate(tape.nodes))
    return before, needed(Tape(nodes, tape.outputs))


def evaluate(tape: Tape, data: np.ndarray) -> np.ndarray:
    """Values of a tape that depends on data alone."""
    if not tape.outputs:
        return np.zeros(0)
    space = {"math": math}
    exec(python_source(tape, "settled"), space)
    out = np.empty(len(tape.outputs))
    space["settled"](0.0, (), (), data.tolist(), out)  # type: ignore[operator]
    return out


def one_division(tape: Tape) -> Tape:
    """The least of fractions, min(a/b, c/d, ...), by products: (a, b) is less than (c, d) if a d < c b; b, d > 0."""
    uses: dict[int, int] = {}
    for node in tape.nodes:
        if node[0] not in ("in", "const"):
            for i in node[1:]:
                uses[i] = uses.get(i, 0) + 1
    for i in tape.outputs:
        if i is not None:
            uses[i] = uses.get(i, 0) + 2  # an output stays

    def fraction(i: int) -> bool:
        return tape.nodes[i][0] == "div" and uses[i] == 1

    ends = [k for k, node in enumerate(tape.nodes) if node[0] == "fmin"]
    inside = {i for k in ends for i in tape.nodes[k][1:] if tape.nodes[i][0] == "fmin" and uses[i] == 1}
    chains = {k: _chain(tape, k, inside) for k in ends if k not in inside}
    chains = {k: parts for k, parts in chains.items() if sum(map(fraction, parts)) > 1}
    builder, renamed = TapeBuilder(), []
    for k, node in enumerate(tape.nodes):
        if k not in chains:
            same = node if node[0] in ("in", "const") else (node[0], *(renamed[i] for i in node[1:]))
            renamed.append(builder.add(same))
            continue
        fractions = [tape.nodes[i][1:] for i in chains[k] if fraction(i)]
        (above, below), *rest = [tuple(renamed[i] for i in pair) for pair in fractions]
        for a, b in rest:
            less = builder.add(("lt", builder.add(("mul", a, below)), builder.add(("mul", above, b))))
            above = builder.add(("choose", less, a, above))
            below = builder.add(("choose", less, b, below))
        least = builder.add(("div", above, below))
        for i in chains[k]:
            if not fraction(i):
                least = builder.add(("fmin", renamed[i], least))
        renamed.append(least)
    return needed(Tape(tuple(builder.nodes), tuple(None if i is None else renamed[i] for i in tape.outputs)))


def _chain(tape: Tape, k: int, inside: set[int]) -> list[int]:
    """Everything the least is taken of."""
    parts: list[int] = []
    for i in tape.nodes[k][1:]:
        parts += _chain(tape, i, inside) if i in inside else [i]
    return parts
