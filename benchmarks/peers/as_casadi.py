"""Expressions of ours as CasADi's, for peers that take them or code that it writes."""

from __future__ import annotations

import casadi

from holonomic.model.symbolics import SX, densify, operations


def as_casadi(inputs: list[SX], outputs: list[SX]) -> tuple[list[casadi.SX], list[casadi.SX]]:
    """Return symbols for the inputs, and the outputs made of them."""
    symbols = [casadi.SX.sym(f"x{k}", each.numel()) for k, each in enumerate(inputs)]
    return symbols, [_one(inputs, symbols, densify(each)) for each in outputs]


def _one(inputs, symbols, output):
    tape, places = operations(inputs, output)
    made: list[casadi.SX] = []
    for name, *operands in tape:
        if name == "const":
            made.append(casadi.SX(operands[0]))
        elif name == "in":
            made.append(symbols[operands[0]][operands[1]])
        else:
            build = casadi.SX.unary if len(operands) == 1 else casadi.SX.binary
            made.append(build(getattr(casadi, f"OP_{name.upper()}"), *(made[k] for k in operands)))
    return casadi.sparsify(casadi.reshape(casadi.vertcat(casadi.SX(0, 1), *(made[k] for k in places)), *output.shape))
