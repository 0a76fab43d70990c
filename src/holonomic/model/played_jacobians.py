"""Tapes laid out for `kernels.row_sweeps`: the Jacobian of long equations without a derivative being derived."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..kernels.played import OPERATIONS, PLACE, SECOND
from ..kernels.row_sweeps import SWEPT, find_entries, mark_active, swept
from .played_tapes import NUMBER
from .tape import INPUTS, Tape, TapeBuilder, record

PLAIN = ("add", "sub", "mul", "neg", "twice", "assign")  # their derivatives are operands, or 1, -1 and 2
LOW = (1 << SECOND) - 1
MOST_ENTRIES = 100_000_000  # of both Jacobians together: 0.8 GB, and half a second for each of them


@cache
def slopes_of(name: str, of_two: bool) -> tuple[Tape, ...]:
    """Derivatives of an operation by its operands, as tapes of a = (x, y); one without outputs where it vanishes."""
    from .symbolics import SX, slopes

    given, nothing = SX.sym("operand", 1 + of_two), SX.sym("none", 0)
    return tuple(record(nothing, given, nothing, nothing, slope) if slope.nnz() else Tape((), ()) for slope in slopes(name, given))


class SweptTape:
    """A tape whose Jacobians by a and by b are swept back; what both have in common.

    Parameters
    ----------
    tape : Tape
        What is differentiated; all its operations have to be played ones.
    """

    def __init__(self, tape: Tape):
        builder = TapeBuilder()
        builder.nodes = list(tape.nodes)
        rare = {node[0] for node in tape.nodes} - {*PLAIN, "in"}
        builder.known = {node: k for k, node in enumerate(tape.nodes) if node[0] in rare or node[0] == "const"}
        self.one, minus, two = (builder.add(("const", value)) for value in (1.0, -1.0, 2.0))
        first, second, by_first, by_second = (np.full(len(tape.nodes), -1) for _ in range(4))
        for k, node in enumerate(tape.nodes):
            name = node[0]
            if name in ("in", "const"):
                continue
            first[k] = x = node[1]
            if len(node) > 2:
                second[k] = y = node[2]
            if name == "mul":
                by_first[k], by_second[k] = y, x
            elif name in ("add", "sub"):
                by_first[k], by_second[k] = self.one, self.one if name == "add" else minus
            elif name in PLAIN:
                by_first[k] = {"neg": minus, "twice": two, "assign": self.one}[name]
            else:
                by = [_inlined(builder, each, node[1:]) for each in slopes_of(name, len(node) > 2)]
                by_first[k], by_second[k] = (*by, -1)[:2]
        self.nodes, self.outputs = builder.nodes, tape.outputs
        self._operands, self._weights = (first, second), (by_first, by_second)
        self._lay_out()

    def _lay_out(self) -> None:
        """Code, constants and inputs: every node has the register of its number."""
        code, constants, inputs = [], [], []
        for k, node in enumerate(self.nodes):
            name = node[0]
            if name == "const":
                constants.append((k, node[1]))
            elif name == "in":
                inputs.append((k, node[1], 0 if INPUTS[node[1]] == "t" else node[2]))
            else:
                code += (NUMBER[name] | k << PLACE, node[1] | (node[2] if len(node) > 2 else 0) << SECOND)
        self.code = np.array(code, dtype=np.int64)
        self.at_constants = np.array([k for k, _ in constants], dtype=np.int64)
        self.constants = np.array([value for _, value in constants], dtype=float)
        self.inputs = np.array(inputs, dtype=np.int64).reshape(-1, 3)

    def jacobian(self, which: str, width: int, room: int) -> SweptJacobian | None:
        """By "a" or "b" of so many numbers; None where it takes more than `room` entries."""
        n, last = len(self.nodes), len(self._operands[0])
        of = self.inputs[self.inputs[:, 1] == INPUTS.index(which)]
        active = np.zeros(n + 1, dtype=np.int64)
        active[of[:, 0]] = 1
        operands = [np.full(n + 1, n) for _ in range(2)]
        weights = [np.full(n + 1, self.one) for _ in range(2)]
        for k in range(2):
            there = self._weights[k] >= 0
            operands[k][:last][there] = self._operands[k][there]
            weights[k][:last][there] = self._weights[k][there]
        both = operands[0] | operands[1] << SECOND
        mark_active(both, active, last)
        for each in operands:
            each[active[each] == 0] = n
        both = operands[0] | operands[1] << SECOND
        roots = np.array([-1 if k is None or not active[k] else k for k in self.outputs], dtype=np.int64)
        first, stack, seen = (np.zeros(k, dtype=np.int64) for k in (len(roots) + 1, n + 1, n + 1))
        count = find_entries(both, active, roots, first, np.zeros(1, dtype=np.int64), seen, stack, 0)
        if count > room:
            return None
        list_ = np.zeros(max(1, count), dtype=np.int64)
        seen[:] = 0
        find_entries(both, active, roots, first, list_, seen, stack, count)
        column = np.full(n + 1, -1)
        column[of[:, 0]] = of[:, 2]
        return SweptJacobian(self, (both, weights[0] | weights[1] << SECOND), roots, first, list_, column, width)


class SweptJacobian:
    """One of them, as the context of its operator.

    Attributes
    ----------
    address, context : int
        The operator.
    rows, columns : array
        Where it may differ from zero.
    entries : int
        Operations gone back through, of all rows.
    """

    def __init__(self, tape: SweptTape, edges, roots, first, list_, column, width: int):
        row_of = np.repeat(np.arange(len(roots)), np.diff(first))
        symbol = column[list_] >= 0 if first[-1] else np.zeros(0, dtype=bool)
        self.rows, self.columns = row_of[symbol], column[list_[: first[-1]][symbol]]
        places = self.columns << SECOND | list_[: first[-1]][symbol]
        first_column = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=len(roots)))])
        inner = ~symbol
        kept = list_[: first[-1]][inner]
        first_kept = np.concatenate([[0], np.cumsum(np.bincount(row_of[inner], minlength=len(roots)))])
        self.entries, self.length = len(kept), len(roots) * width
        inputs = tape.inputs
        most = [int(inputs[inputs[:, 1] == k, 2].max(initial=-1)) + 1 for k in range(4)]
        arrays = {
            "code": tape.code, "at_constants": tape.at_constants, "constants": tape.constants,
            "inputs": inputs[:, 1] << SECOND | inputs[:, 2], "at_inputs": np.ascontiguousarray(inputs[:, 0]), "operands": edges[0],
            "weights": edges[1], "roots": roots, "first": first_kept, "list": kept, "first_column": first_column, "columns": places,
        }  # fmt: skip
        self.memory = SWEPT.new()
        self._held = tuple(arrays.values())
        for name, array in arrays.items():
            setattr(self.memory, name, array.ctypes.data)
        for name, value in {
            "operations": len(tape.code) // 2, "registers": len(tape.nodes), "n_constants": len(tape.constants),
            "n_inputs": len(inputs), "na": most[1], "nb": most[2], "nd": most[3], "rows": len(roots), "width": width,
        }.items():  # fmt: skip
            setattr(self.memory, name, value)
        self.address, self.context = swept.address, self.memory.array.ctypes.data


def is_swept(tape: Tape) -> bool:
    """Whether all operations of a tape, and their derivatives, are played ones."""
    known = {node[0] for node in tape.nodes}
    if not known <= NUMBER.keys() | {"in", "const"}:
        return False
    slopes = {each[0] for name in known & set(OPERATIONS) - set(PLAIN) for two in _arities(tape, name) for part in
              slopes_of(name, two) for each in part.nodes}  # fmt: skip
    return slopes <= NUMBER.keys() | {"in", "const"}


def _arities(tape: Tape, name: str) -> set[bool]:
    return {len(node) > 2 for node in tape.nodes if node[0] == name}


def _inlined(builder: TapeBuilder, slope: Tape, operands) -> int:
    """Put a derivative on a tape; -1: it vanishes."""
    if not slope.outputs or slope.outputs[0] is None:
        return -1
    at = []
    for node in slope.nodes:
        if node[0] == "in":
            at.append(operands[node[2]])
        elif node[0] == "const":
            at.append(builder.add(node))
        else:
            at.append(builder.add((node[0], *(at[k] for k in node[1:]))))
    return at[slope.outputs[0]]
