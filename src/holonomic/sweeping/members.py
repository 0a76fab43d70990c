"""The members of a sweep: how many there are, their data, and a consistent start for each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..errors import BadArgument, HolonomicError
from ..initial import prepare
from ..kernels.signatures import NX, Fn
from ..plan import Plan


@dataclass
class Members:
    """A stretch of members, ready to run."""

    data: np.ndarray  # (member, entry)
    starts: np.ndarray  # (member, unknown)
    at_lam: int  # where λ is to be entered from the field; -1: nowhere
    unable: dict[int, str] = field(default_factory=dict)  # number within the stretch -> why it cannot start


def count(system, params, starts) -> int:
    """Return the number of members; all arrays must agree on it."""
    lengths = {}
    for name, values in params.items():
        own = (system.params or {}).get(name)
        if own is None:
            known = ", ".join(system.params or {}) or "none"
            raise BadArgument(f"params={{{name!r}: ...}}: the system has no such parameter; known: {known}.")
        if values.ndim != np.ndim(own) + 1 or values.shape[1:] != np.shape(own):
            raise BadArgument(f"params[{name!r}] has shape {values.shape}; expected (members, *{np.shape(own)}).")
        lengths[name] = len(values)
    for name, values in starts.items():
        if values is not None and np.ndim(values) == 2:
            lengths[name] = len(values)
    if not lengths:
        raise BadArgument("nothing to sweep over: give params={name: values} or a (member, entry) array of starts.")
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadArgument(
            f"all arrays run along the members and must have equal length, got {text}. For products use grid()."
        )
    members = next(iter(lengths.values()))
    if not members:
        raise BadArgument(f"there is nothing to run: {next(iter(lengths))!r} has no members.")
    return members


def first_of(values):
    """The first member's start, where each has its own."""
    return values if values is None or np.ndim(values) < 2 else np.asarray(values)[0]


def all_of(given, first: np.ndarray) -> np.ndarray:
    """Starts of all members, or one row where all have the same."""
    return np.asarray(given, dtype=float) if np.ndim(given) == 2 else first[None]


def rows_of(values: np.ndarray, first: int, last: int) -> np.ndarray:
    """Rows of a stretch of members; one row is that of every member."""
    return np.broadcast_to(values, (last - first, values.shape[1])) if len(values) == 1 else values[first:last]


def consistent(plan: Plan, X0, DATA, t0: float, initial: str, hold) -> Members:
    """Check or project the start of every member, in place; name those that cannot start."""
    model, unable = plan.model, {}
    for m in range(len(X0)):
        try:
            begin = prepare(
                model, t0, X0[m, : model.nq].copy(), X0[m, model.nq :].copy(), DATA[m],
                tol=plan.choice.constraint_tol, initial=initial, hold=hold, redundant=None,
            )  # fmt: skip
        except HolonomicError as problem:
            unable[m] = str(problem)
            continue
        X0[m] = np.concatenate([begin.q, begin.v])
        if model.n_invariants:
            places = model.data_places["invariants"]
            DATA[m, places] = 0.0
            r = model.evaluate(Fn.RESIDUAL, t0, X0[m], np.zeros(0), DATA[m])
            DATA[m, places] = r[model.n_constraints : model.n_constraints + model.n_invariants]
    return Members(DATA, *_with_multipliers(plan, DATA, X0, t0), unable)


def _with_multipliers(plan: Plan, DATA, X0, t0: float) -> tuple[np.ndarray, int]:
    """Return starts with room for what a formulation adds, and where λ is to be entered from the field; -1: nowhere."""
    model, at = plan.model, X0.shape[1]
    X = np.zeros((len(X0), int(plan.sizes[NX])))
    X[:, :at] = X0
    for block in plan.blocks[2:]:
        if block.name == "lam" and not model.is_ode:
            return X, at
        if block.name == "lam" and block.size:  # of a Dae
            for m in range(len(X)):
                X[m, at : at + block.size] = model.evaluate(Fn.MULTIPLIERS, t0, X0[m], np.zeros(0), DATA[m])
        at += block.size
    return X, -1
