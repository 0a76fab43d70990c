"""What numbers of an element decide by themselves: computed once for given data, not in every evaluation.

Arms in a body's axes are products of what is drawn, inverse masses quotients. A function of (t, a, b, data) is cut where the state
comes in: the one part makes *settled* numbers of data, the other takes these for its data.
"""

from __future__ import annotations

from ..model.tape import CALL, Tape, needed

DATA = 3  # which input of a tape that is


def cut(tape: Tape) -> tuple[Tape, Tape] | None:
    """Return both parts of a tape; None where data alone decide nothing."""
    alone = []  # of each node, whether data alone decide it
    for node in tape.nodes:
        if node[0] == "in":
            alone.append(node[1] == DATA)
        elif node[0] == "const":
            alone.append(True)
        else:
            alone.append(not node[0].startswith(CALL) and all(alone[i] for i in node[1:]))
    computed = [own and node[0] not in ("in", "const") for own, node in zip(alone, tape.nodes, strict=True)]
    if not any(computed):
        return None
    asked: dict[int, int] = {}  # number of each settled one
    for own, node in zip(alone, tape.nodes, strict=True):
        for i in node[1:] if not own and node[0] != "in" else ():
            if alone[i] and tape.nodes[i][0] != "const":
                asked.setdefault(i, len(asked))
    for i in tape.outputs:
        if i is not None and alone[i] and tape.nodes[i][0] != "const":
            asked.setdefault(i, len(asked))
    settling, rest = Numbered(), Numbered()
    for k, node in enumerate(tape.nodes):
        if node[0] == "const":
            settling.add(k, node)
            rest.add(k, node)
        elif alone[k]:
            settling.add(k, node)
            if k in asked:
                rest.add(k, ("in", DATA, asked[k]))
        else:
            rest.add(k, node)
    return settling.tape(asked), rest.tape(tape.outputs)


class Numbered:
    """Nodes of a tape, numbered anew."""

    def __init__(self):
        self.nodes: list[tuple] = []
        self.number: dict[int, int] = {}

    def add(self, k: int, node: tuple) -> None:
        self.number[k] = len(self.nodes)
        known = node if node[0] in ("in", "const") else (node[0], *(self.number[i] for i in node[1:]))
        self.nodes.append(known)

    def tape(self, outputs) -> Tape:
        return needed(Tape(tuple(self.nodes), tuple(None if i is None else self.number[i] for i in outputs)))
