"""Sets of a model's functions: their addresses in this process, and the names under which their code is kept on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..kernels.signatures import Fn
from ..native import cachefolder


@dataclass(frozen=True)
class CompiledFunctions:
    """Addresses of model functions and of their contexts, and the lengths of what they write; `held` is what contexts lie in."""

    addresses: dict[Fn, int]
    lengths: dict[Fn, int]
    contexts: dict[Fn, int] = field(default_factory=dict)
    held: tuple = ()

    def with_operators(self, made: dict[Fn, Any]) -> CompiledFunctions:
        """Return these and others, each of which has address, context and length."""
        if not made:
            return self
        return CompiledFunctions(
            self.addresses | {fn: each.address for fn, each in made.items()},
            self.lengths | {fn: each.length for fn, each in made.items()},
            self.contexts | {fn: each.context for fn, each in made.items()}, (*self.held, *made.values()),
        )  # fmt: skip


class ModelFile:
    """On disk: the objects that hold the functions of what was traced, and orders of elimination."""

    def __init__(self, name: str, kept: bool = True):
        self._name, self._kept = name, kept  # what calls functions at addresses is known in this process alone
        content = cachefolder.read("models", name) if kept else None
        known = {"objects": {}, "pivots": {}} if content is None else json.loads(content)
        self.objects: dict[str, Any] = known["objects"]
        self.pivots: dict[str, Any] = known["pivots"]

    def write(self) -> None:
        """Keep it for later processes."""
        if self._kept:
            content = json.dumps({"objects": self.objects, "pivots": self.pivots})
            cachefolder.write("models", self._name, content.encode())

    def holding(self, names: set[str], suffix: str) -> list[str]:
        """Return the keys of sets that have all these functions."""
        split = {key: key.partition("|") for key in self.objects}
        return [key for key, (head, _, tail) in split.items() if "|" + tail == suffix and names <= set(head.split(","))]


def with_dense_solves(found: CompiledFunctions, dense: dict[Fn, Fn], sizes: dict[str, int]) -> CompiledFunctions:
    """Return the same functions, and those that solve with the matrices that other ones give; see `dense_solves`."""
    if not dense:
        return found
    from .dense_solves import KERNELS, DenseSolve

    solves = {of: DenseSolve(found.addresses[of], found.contexts.get(of, 0), **sizes) for of in set(dense.values())}
    return CompiledFunctions(
        found.addresses | {fn: KERNELS[fn].address for fn in dense},
        found.lengths | {fn: solves[of].length(fn) for fn, of in dense.items()},
        found.contexts | {fn: solves[of].context for fn, of in dense.items()}, (*found.held, *solves.values()),
    )  # fmt: skip
