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
    """Record the expression `out` of the symbols t, a, b, data as a tape."""
    from .casadi_door import densify, instructions

    builder = TapeBuilder()
    work: dict[int, int] = {}
    outputs: list[int | None] = [None] * out.numel()
    for name, source, target, number in instructions([t, a, b, data], [densify(out)]):
        if name == "const":
            work[target[0]] = builder.add(("const", number))
        elif name == "input":
            work[target[0]] = builder.add(("in", source[0], source[1]))
        elif name == "output":
            node = work[source[0]]
            outputs[target[1]] = None if builder.nodes[node] == ("const", 0.0) else node
        elif name == "call":
            given = [work[i] for i in source]
            for i, place in enumerate(target):
                work[place] = builder.add((f"{CALL}{number.key} {number.m} {i}", *given))
        else:
            work[target[0]] = builder.add((name, *(work[i] for i in source)))
    return _share_reciprocals(Tape(tuple(builder.nodes), tuple(outputs)))


def _share_reciprocals(tape: Tape) -> Tape:
    """Replace divisions by a common divisor with one reciprocal and products: pivots divide many times."""
    divisors: dict[int, int] = {}
    for node in tape.nodes:
        if node[0] == "div":
            divisors[node[2]] = divisors.get(node[2], 0) + 1
    builder = TapeBuilder()
    renamed: list[int] = []
    for node in tape.nodes:
        if node[0] in ("in", "const"):
            renamed.append(builder.add(node))
        elif node[0] == "div" and divisors[node[2]] > 1:
            reciprocal = builder.add(("inv", renamed[node[2]]))
            renamed.append(builder.add(("mul", renamed[node[1]], reciprocal)))
        else:
            renamed.append(builder.add((node[0], *(renamed[i] for i in node[1:]))))
    outputs = tuple(None if node is None else renamed[node] for node in tape.outputs)
    return Tape(tuple(builder.nodes), outputs)


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
