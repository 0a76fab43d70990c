"""An expression graph as a flat list of operations: what is printed or compiled.

A tape computes `out` from (t, a, b, data). Its nodes are in evaluation order and each is used under its
number: ("in", which, index), ("const", value), or (operation, first, second). Equal nodes are merged, so a
sine that appears in mass, force and constraint is computed once. ("call key m i", ...) is number i of the m that an
outside function gives for its arguments: all of one call are computed together.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

# inputs of every model function, by position
INPUTS = ("t", "a", "b", "data")
CALL = "call "  # how operations begin that call an outside function
COMMUTATIVE = {"add", "mul", "and", "or", "fmin", "fmax", "eq", "ne"}


@dataclass(frozen=True)
class Tape:
    """Operations in evaluation order, and which node goes to which output (None: zero)."""

    nodes: tuple[tuple, ...]
    outputs: tuple[int | None, ...]

    def __len__(self) -> int:
        return sum(1 for node in self.nodes if node[0] not in ("in", "const"))

    def text(self) -> str:
        """Return the tape as text; equal text means equal function."""
        return json.dumps([self.nodes, self.outputs], separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Tape:
        nodes, outputs = json.loads(text)
        return cls(tuple(tuple(node) for node in nodes), tuple(outputs))

    @property
    def calls(self) -> bool:
        """Whether it calls functions at addresses, which mean nothing in another process."""
        return any(node[0].startswith(CALL) for node in self.nodes)

    def content(self) -> str:
        """Return the hash that names this function in the cache."""
        return hashlib.sha256(self.text().encode()).hexdigest()[:32]


class TapeBuilder:
    """Collects nodes, merging equal ones."""

    def __init__(self):
        self.nodes: list[tuple] = []
        self.known: dict[tuple, int] = {}

    def add(self, node: tuple) -> int:
        if node[0] in COMMUTATIVE and node[1] > node[2]:
            node = (node[0], node[2], node[1])
        at = self.known.get(node)
        if at is None:
            at = self.known[node] = len(self.nodes)
            self.nodes.append(node)
        return at


def record(t, a, b, data, out) -> Tape:
    """Record the expression `out` of the symbols t, a, b, data as a tape.

    Divisions by a common divisor become one reciprocal and products: pivots divide many times.
    """
    from .symbolics import densify, operations

    nodes, places = operations([t, a, b, data], densify(out))
    divisors: dict[int, int] = {}
    for node in nodes:
        if node[0] == "div":
            divisors[node[2]] = divisors.get(node[2], 0) + 1
    builder = TapeBuilder()
    add, renamed = builder.add, []
    for node in nodes:
        name = node[0]
        if name in ("in", "const"):
            renamed.append(add(node))
        elif name == "div" and divisors[node[2]] > 1:
            renamed.append(add(("mul", renamed[node[1]], add(("inv", renamed[node[2]])))))
        elif len(node) == 3:
            renamed.append(add((name, renamed[node[1]], renamed[node[2]])))
        else:
            renamed.append(add((name, *(renamed[i] for i in node[1:]))))
    zero = builder.known.get(("const", 0.0))
    outputs = (renamed[place] for place in places)
    return Tape(tuple(builder.nodes), tuple(None if place == zero else place for place in outputs))


def needed(tape: Tape) -> Tape:
    """The same without operations whose results nobody uses."""
    used = {i for i in tape.outputs if i is not None}
    for k in range(len(tape.nodes) - 1, -1, -1):
        if k in used and tape.nodes[k][0] not in ("in", "const"):
            used.update(tape.nodes[k][1:])
    number, nodes = {}, []
    for k, node in enumerate(tape.nodes):
        if k in used:
            number[k] = len(nodes)
            nodes.append(node if node[0] in ("in", "const") else (node[0], *(number[i] for i in node[1:])))
    return Tape(tuple(nodes), tuple(None if i is None else number[i] for i in tape.outputs))
