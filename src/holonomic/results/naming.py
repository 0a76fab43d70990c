"""Names in a solution: which rows a label stands for, and what was meant by a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ..errors import UnknownName

# What SciPy's results have, and where it is here.
ELSEWHERE = {
    "sol": "sol(t)", "t_events": "sol.events[name].t", "y_events": "sol.events[name].q", "nfev": 'sol.stats["field evaluations"]',
    "njev": "sol.stats", "nlu": "sol.stats", "success": "sol.failure, empty where there is none: a run that fails raises",
    "status": "sol.ended", "message": "sol.failure", "invariants": "sol.drift, by name", "x": "sol.q", "velocity": "sol.v",
    "position": "sol.q", "multipliers": "sol.lam", "forces": "sol.reactions", "time": "sol.t", "times": "sol.t",
}  # fmt: skip


def order_of(model) -> int:
    """Return how many levels of its constraints a state holds as rows of their own: m for a Dae, else 1."""
    return model.levels


def is_dae(model) -> bool:
    """Tell whether a model is that of a Dae: its states hold derivatives, its multipliers are called y."""
    return model.is_ode and model.n_constraints > 0


def multiplier_labels(model) -> list[str]:
    """Return the labels of λ: of the rows of a System, of the constraints of a Dae."""
    labels = list(model.constraint_labels)
    return labels[: len(labels) // order_of(model)] if model.is_ode else list(model.row_labels)


def rows_of(label: str, labels: Sequence[str]) -> list[int]:
    """Rows that carry this label: one, or all of a constraint that has several."""
    if not isinstance(label, str):
        return []
    if label in labels:
        return [list(labels).index(label)]
    return [i for i, name in enumerate(labels) if name.startswith(f"{label}[") and name.endswith("]")]


def stems(labels: Sequence[str]) -> list[str]:
    """Names of constraints, each once, however many rows it has."""
    return list(dict.fromkeys(name.partition("[")[0] if name.endswith("]") else name for name in labels))


def unknown(name, what: str, known: dict[str, list[str]]) -> UnknownName:
    every = list(dict.fromkeys(each for names in known.values() for each in names))
    near = difflib.get_close_matches(str(name), every, 3)
    if near:
        hint = f"Did you mean {' or '.join(map(repr, near))}?"
    else:
        hint = "; ".join(f"{kind}: {', '.join(names[:12])}{_rest(names)}" for kind, names in known.items()) or "it has none"
        hint = hint[0].upper() + hint[1:] + "."
    return UnknownName(f"the solution has no {what} {name!r}. {hint}")


def _rest(names: Sequence[str], shown: int = 12) -> str:
    return f" and {len(names) - shown} more" if len(names) > shown else ""
