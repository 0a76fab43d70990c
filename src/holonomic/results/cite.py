"""The references behind a plan, from references.bib."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

SOFTWARE = ("andersson-2019", "lam-2015")  # CasADi differentiates, Numba compiles


@cache
def bibliography() -> dict[str, str]:
    """Return the entries of references.bib by key."""
    text = (files("holonomic") / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^(?=@)", text, flags=re.MULTILINE)[1:]
    return {re.match(r"@\w+\{([^,]+),", entry).group(1): entry.strip() for entry in entries}  # type: ignore[union-attr]


def keys(plan) -> tuple[str, ...]:
    """Return the keys of the methods a plan uses, in the order formulation, integrator, stabilization."""
    choice, model = plan.choice, plan.model
    # without constraints the formulation does nothing
    used = [choice.formulation] if model.n_lam else []
    used += [choice.integrator, choice.stabilization]
    return tuple(dict.fromkeys(key for method in used for key in method.references))


def keys_of_run(sol) -> tuple[str, ...]:
    """Return the keys of all methods that a run used."""
    if sol.trail.data is None:
        return tuple(sol.trail.known["facts"]["references"])
    plans = [part.trail.plan for part in sol.trail.parts] or [sol.plan]
    return tuple(dict.fromkeys(key for plan in plans for key in keys(plan)))


def entries(wanted: tuple[str, ...]) -> str:
    """Return BibTeX entries."""
    known = bibliography()
    return "\n\n".join(known[key] for key in wanted) + "\n"
