"""Expressions on numbers: one operation after the other, for the few evaluations that are not worth compiling."""

from __future__ import annotations

from typing import Any

import numpy as np

from .matrix import SX
from .nodes import CONST, Node
from .on_numbers import BY_NAME
from .traversal import in_order, nodes_of

Program = tuple[list[Any], list[tuple], list[tuple[tuple[int, int], list[int], list[tuple[int, int]]]]]


def program_of(inputs: list[SX], outputs: list[SX]) -> Program:
    """What `evaluated` follows: inputs, then steps whose results have the places behind them, then where outputs are."""
    number: dict[Node, int] = {}
    for each in inputs:
        for node in each.nodes:
            number[node] = len(number)
    steps: list[tuple] = []
    for node in in_order(nodes_of(*outputs), list(number)):
        number[node] = len(number)
        if node.a is not None:
            operands = (number[node.a],) if node.b is None else (number[node.a], number[node.b])
            steps.append((BY_NAME[node.op], *operands))
        elif node.op is CONST:
            steps.append((node.value,))
        else:
            call, i = node.value
            steps.append((call, i, [number[each] for each in call.arguments], None))
    places = [(each.shape, [number[node] for node in each.nodes], list(each.sparsity().places)) for each in outputs]
    return [each.numel() for each in inputs], steps, places


def evaluated(program: Program, given: tuple) -> list[np.ndarray]:
    """The outputs, given the inputs."""
    sizes, steps, outputs = program
    values: list[float] = []
    for size, each in zip(sizes, given, strict=True):
        numbers = np.asarray(each, dtype=float).ravel().tolist()
        if len(numbers) != size:
            raise ValueError(f"{len(numbers)} numbers where an expression takes {size}")
        values += numbers
    append = values.append
    known: dict[Any, Any] = {}  # calls that have been made
    for step in steps:
        n = len(step)
        if n == 3:
            append(step[0](values[step[1]], values[step[2]]))
        elif n == 2:
            append(step[0](values[step[1]]))
        elif n == 1:
            append(step[0])
        else:
            call, i, arguments, _ = step
            if call not in known:
                known[call] = call.function.on_numbers(np.array([values[k] for k in arguments])).tolist()
            append(known[call][i])
    found = []
    for shape, entries, places in outputs:
        array = np.zeros(shape)
        if len(entries) == array.size:
            array[:] = np.array([values[k] for k in entries]).reshape(shape, order="F")
        else:
            for place, k in zip(places, entries, strict=True):
                array[place] = values[k]
        found.append(array)
    return found
