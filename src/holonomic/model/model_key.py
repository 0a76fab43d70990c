"""What was traced, as a name: the only key under which anything about a model is kept.

Equal names mean equal tapes and equal numbers, whatever Python objects the user's functions stood on, in whatever process.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from pathlib import Path

from .._version import __version__
from .expressions import Expressions
from .symbolics import SX, count, densify, symvar, vec, vertcat
from .tape import record
from .trace import Traced

_SYMBOLS = ("t", "q", "v", "a", "lam", "data", "y")


@functools.cache
def source_stamp() -> str:
    """Return the hash of the sources that turn expressions into functions: other sources, other functions."""
    digest = hashlib.sha256(__version__.encode())
    package = Path(__file__).parents[1]
    for place in ("graph", "model", "formulations"):
        for path in sorted((package / place).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def structure_of(traced: Traced) -> str:
    """Return the name of what was traced but for the numbers, which are arguments: its tape and its labels."""
    e = traced.expressions
    symbols = [getattr(e, name) for name in _SYMBOLS if getattr(e, name) is not None]
    parts = _parts(e)
    described = [
        source_stamp(), _tape(symbols, list(parts.values())),
        {name: [value.sparsity().row(), value.sparsity().colind(), *value.shape] for name, value in parts.items()},
        [[symbol.name() for symbol in group.nonzeros()] for group in symbols], [e.order, e.ns, e.nw],
        len(traced.numbers), traced.constraint_labels, traced.nonholonomic_labels, traced.invariant_labels,
        {name: list(shape) for name, shape in traced.output_shapes.items()},
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:32]


def length_of(traced: Traced) -> int:
    """Return how many operations, symbols and numbers were traced."""
    return count(*_parts(traced.expressions).values())


def _parts(e: Expressions) -> dict[str, SX]:
    """All expressions by name: those of the equations, outputs, events."""
    given = {field.name: getattr(e, field.name) for field in dataclasses.fields(e) if field.name not in _SYMBOLS}
    parts = {name: value for name, value in given.items() if isinstance(value, SX)}
    for kind in ("outputs", "events"):
        parts |= {f"{kind} {name}": value for name, value in given[kind].items()}
    return parts


def _tape(symbols: list[SX], values: list[SX]) -> str:
    """The tape of expressions, the symbols numbered in their order."""
    out = vertcat(SX(0, 1), *(vec(densify(value)) for value in values))
    known = symvar(vertcat(*symbols, out))
    nothing = SX(0, 1)
    return record(vertcat(*known), nothing, nothing, nothing, out).text() + repr([each.name() for each in known])
