"""Provenance: what numbers come from, so that somebody else, or oneself in a year, can tell why they are what they are."""

from __future__ import annotations

import functools
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..native.processor import processor_level, processor_name
from ..native.sources import kernels_stamp
from ..planning.choice import OF_SIZE
from .trail import remembered

if TYPE_CHECKING:
    from .solution import Solution

NOT_RECORDED = "not recorded"  # by files from before there was a provenance


@dataclass(frozen=True)
class Provenance:
    """What the numbers of a run or a sweep follow from; `to_dict()` gives it as JSON takes it.

    Attributes
    ----------
    versions : mapping
        Of holonomic, numpy, llvmlite and python.
    kernels : str
        Hash of the sources of all kernels: equal ones compute the same.
    model : str
        Key of the equations and their numbers, parameters and inputs apart: equal keys mean equal equations. "no key" where they
        were not traced.
    tier : str
        How the equations ran: "compiled", "tables", "operators" or "Python".
    on : str
        Where: "threads" of this process, "cuda", an "executor" or "dask"; other machines than this one are not described.
    formulation, integrator, stabilization : str
        What ran; where methods changed on the way, what was running at the end, and `changes` has what ran before.
    tolerances : mapping
        rtol, atol, step, constraint_tol. An atol that is None was left to the size of the motion.
    changes : tuple of str
        Where methods changed on the way: all that ran, each with the time from which it did, in words.
    processor, level, platform : str
        Name of the processor, level of its instructions with or without FMA, and the operating system.
    date : str
        When the run ended, UTC.
    """

    versions: Mapping[str, str]
    kernels: str = NOT_RECORDED
    model: str = NOT_RECORDED
    tier: str = NOT_RECORDED
    on: str = "threads"
    formulation: str = NOT_RECORDED
    integrator: str = NOT_RECORDED
    stabilization: str = NOT_RECORDED
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    processor: str = NOT_RECORDED
    level: str = NOT_RECORDED
    platform: str = NOT_RECORDED
    date: str = NOT_RECORDED

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as text, numbers, lists and mappings."""
        return asdict(self) | {"changes": list(self.changes)}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Provenance:
        """Return what `to_dict` gave, here or in another version: names that are not known here are left out."""
        fields = {name: known[name] for name in cls.__dataclass_fields__ if name in known}
        return cls(**fields | {"changes": tuple(known.get("changes", ()))})

    def __repr__(self) -> str:
        others = ", ".join(f"{name} {version}" for name, version in self.versions.items() if name != "holonomic")
        tolerances = dict(self.tolerances)
        if tolerances.get("atol", 0.0) is None and tolerances.get("step") is None:
            tolerances["atol"] = by_size(tolerances["rtol"])
        given = ", ".join(f"{name} {_short(value)}" for name, value in tolerances.items() if value is not None)
        at_end = " at the end" if self.changes else ""
        lines = {
            "holonomic": f"{self.versions['holonomic']}, kernels {self.kernels}", "with": others,
            "model": f"{self.tier}, on {self.on}, {self.model}",
            "methods": f"{self.formulation} + {self.integrator} + {self.stabilization}{at_end}", "tolerances": given,
            "processor": f"{self.processor}, {self.level}", "platform": self.platform,
        }  # fmt: skip
        told = [f"  {name:<10}  {text}" for name, text in lines.items() if text]
        return "\n".join([f"Provenance: run on {self.date}", *told, *(f"  {text}" for text in self.changes)])


def _short(value) -> str:
    if isinstance(value, int | float | str):
        return value if isinstance(value, str) else f"{value:g}"
    given = [each for each in value if each is not None]
    return f"{min(given):g} to {max(given):g} by component"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    import llvmlite

    return {
        "holonomic": __version__, "llvmlite": llvmlite.__version__, "numpy": np.__version__,
        "python": platform.python_version(),
    }  # fmt: skip


def provenance_of(plan, when: float, changes: tuple[str, ...] = (), on: str = "threads") -> Provenance:
    """Return where the numbers of a plan come from that ran here, `when` in seconds since 1970."""
    choice, model = plan.choice, plan.model
    return Provenance(
        versions(), kernels_stamp(), model.content or "no key", model.tier, on, repr(choice.formulation),
        repr(choice.integrator), repr(choice.stabilization), tolerances(plan), changes, processor_name(), processor_level(),
        platform.platform(), datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def by_size(rtol: float) -> str:
    """Say what an absolute tolerance is that was not given."""
    return f"{OF_SIZE * rtol:.0e} of the size of the motion"


def tolerances(plan) -> dict[str, Any]:
    """Return what steps and constraints were held to."""
    choice = plan.choice
    atol = [float(value) if value >= 0.0 else None for value in choice.atol] if isinstance(choice.atol, tuple) else choice.atol
    return {"rtol": choice.rtol, "atol": atol, "step": choice.step, "constraint_tol": plan.stabilization.tol}


@remembered("provenance")
def provenance(sol: Solution) -> Provenance:
    """Return where the numbers of a run come from; a loaded run brings it along."""
    story = sol.trail.story
    earlier, changes = sol.trail.earlier, () if story is None else story.changes
    ran = [(sol.trail.first[0], plan.choice) for plan, _ in earlier[:1]] + [(change.t, change.choice) for change in changes]
    told = tuple(f"from t = {t:.6g} s: {c.formulation!r} + {c.integrator!r} + {c.stabilization!r}" for t, c in ran)
    return provenance_of(sol.trail.plan, sol.trail.when, told)
