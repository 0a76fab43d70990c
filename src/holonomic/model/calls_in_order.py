"""Operations of a graph in which functions are called, put in an order in which they can be computed.

The graph is walked with the results of all calls as one more input and their arguments as one more output. Each call is put after
what it is given and before what needs its results; every value has a place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Step = tuple[str, list[int], list[int], Any]  # operation, sources, targets, number: see `casadi_door.instructions`


def in_order(walk: Iterator[Step], at_results: int, functions: list) -> Iterator[Step]:
    """Operations with the calls among them.

    Parameters
    ----------
    walk : iterator of operations
        Output 0 are the arguments of all calls, one after the other.
    at_results : int
        The input that stands for the results of all calls.
    functions : list
        What is called, with n arguments and m results, in the order of evaluation.
    """
    now: dict[int, int] = {}  # place in the walk -> ours
    steps: list[tuple[str, list[int], Any]] = []  # what is in each place of ours
    given: dict[int, int] = {}  # number of a result -> its place
    handed: dict[int, int] = {}  # number of an argument -> its place
    ends = []
    for name, source, target, number in walk:
        if name == "output":
            if target[0] == 0:
                handed[target[1]] = now[source[0]]
            else:
                ends.append((now[source[0]], [target[0] - 1, target[1]]))
            continue
        if name == "input" and source[0] == at_results:
            given[source[1]] = len(steps)
        steps.append((name, source if name == "input" else [now[each] for each in source], number))
        now[target[0]] = len(steps) - 1
    written = set(given.values())
    argument = result = 0
    for function in functions:
        wanted = [handed[argument + i] for i in range(function.n)]
        yield from _before(steps, wanted, written)
        # results that nobody reads have places behind all others
        yield "call", wanted, [given.get(result + i, len(steps) + result + i) for i in range(function.m)], function
        argument, result = argument + function.n, result + function.m
    for place, target in ends:
        yield from _before(steps, [place], written)
        yield "output", [place], target, None


def _before(steps: list, wanted: list[int], written: set[int]) -> Iterator[Step]:
    """What has to be computed before some places are known, in order; `written` grows with it."""
    needed, waiting = set(), [place for place in wanted if place not in written]
    while waiting:
        place = waiting.pop()
        if place not in needed:
            needed.add(place)
            name, source, _ = steps[place]
            waiting += [] if name == "input" else [each for each in source if each not in written]
    for place in sorted(needed):
        name, source, number = steps[place]
        yield name, source, [place], number
    written |= needed
