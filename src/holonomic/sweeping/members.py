"""The members of a sweep: how many there are, and a consistent start for each."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..arguments import GivenStart, Opened, free_multipliers, mapped
from ..errors import BadArgument, HolonomicError, RedundancyWarning
from ..kernels.signatures import Fn, Model
from ..loop import starts
from ..loop.replay import along
from ..model.call_by_name import nearest
from ..model.dae import Dae
from ..model.given_numbers import floats, vector
from ..native.callbacks import raise_what_was_raised
from ..planning.plan import Plan
from ..starting.initial import prepare, side_of
from ..starting.roots import take_root
from .program import Program
from .start_room import start_memory, start_room

STARTS = ("q0", "v0", "y0", "s0", "x0", "dx0", "ddx0", "lam0")  # what may have a row for each member
FEW = 8  # members of a stretch that get a message of their own; looking into each takes milliseconds


@dataclass
class Members:
    """A stretch of members, ready to run."""

    data: np.ndarray  # (member, entry)
    starts: np.ndarray  # (member, unknown)
    at_lam: int  # where λ is to be entered from the field; -1: nowhere
    unable: dict[int, str] = field(default_factory=dict)  # number within the stretch -> why it cannot start


def count(lengths: dict[str, int]) -> int:
    """Return the number of members; all arrays, named here with their lengths, must agree on it."""
    if not lengths:
        raise BadArgument(
            "nothing to sweep over: give params={name: values}, inputs={name: values} or a (member, entry) array of starts."
        )
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise BadArgument(f"all arrays run along the members and must have equal length, got {text}. For products use grid().")
    members = next(iter(lengths.values()))
    if not members:
        raise BadArgument(f"there is nothing to run: {next(iter(lengths))!r} has no members.")
    return members


def check_starts(starts: dict) -> None:
    """Refuse starts that are neither one row nor one row per member."""
    for name, values in starts.items():
        try:
            np.ndim(values)
        except ValueError:
            text = f"{name} has rows of different lengths; expected one row for all members, or (members, entries)."
            raise BadArgument(text) from None
        if values is not None and not isinstance(values, Mapping) and np.ndim(values) > 2:
            raise BadArgument(f"{name} has shape {np.shape(values)}, expected one row for all members, or (members, entries).")


def check_params(system, given) -> dict[str, np.ndarray]:
    """Return the parameters as arrays; refuse those that the system does not have, and those of another shape."""
    params = {}
    for name, values in mapped(given, "params").items():
        try:
            params[name] = floats(values)
        except (TypeError, ValueError):
            raise BadArgument(f"params[{name!r}] must be numbers, one (or one array) per member, got {values!r}.") from None
    for name, values in params.items():
        own = (system.params or {}).get(name)
        if own is None:
            raise BadArgument(f"params={{{name!r}: ...}}: the system has no such parameter. {nearest(name, system.params or {})}")
        if values.ndim != np.ndim(own) + 1 or values.shape[1:] != np.shape(own):
            expected = f"({', '.join(['members', *map(str, np.shape(own))])}{'' if np.shape(own) else ','})"
            one = f" One value for all members is set by {_set_one(name)}." if values.shape == np.shape(own) else ""
            raise BadArgument(f"params[{name!r}] has shape {values.shape}; expected {expected}, one for each member.{one}")
        bad = np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim))))
        if len(bad):
            raise BadArgument(f"params[{name!r}] of member {bad[0]} is not finite: {values[bad[0]]}.")
    return params


def _set_one(name: str) -> str:
    return f"system.with_params({name}=...)" if name.isidentifier() else f"m.params[{name!r}] = ... of the mechanism"


def first_of(values):
    """The first member's start, where each has its own."""
    return values if values is None or isinstance(values, Mapping) or np.ndim(values) < 2 else np.asarray(values)[0]


def all_of(given, first: np.ndarray, name: str) -> np.ndarray:
    """Starts of all members, or one row where all have the same."""
    if np.ndim(given) != 2:
        return first[None]
    try:
        values = floats(given)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"{name} must be numbers, a row for each member, got {given!r}.") from None
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(bad):
        raise BadArgument(f"{name} of member {bad[0]} is not finite: {values[bad[0]]}.")
    return values


def starts_of_members(model, here: Opened, start: GivenStart) -> tuple[np.ndarray, np.ndarray]:
    """Return (q, s, w) and v of all members, or one row where all have the same; `here` is the first member's start."""
    n = model.nc
    if isinstance(here.system, Dae) and start.y0 is None:
        own = [(name, getattr(start, name)) for name in ("x0", "dx0", "ddx0")[: here.system.order]]
    else:
        own = [("q0", start.q0) if start.y0 is None else ("y0", start.y0)]
    parts = [all_of(given, first, name) for (name, given), first in zip(own, np.split(here.q[:n], len(own)), strict=True)]
    parts += [all_of(start.s0, here.q[n : n + model.ns], "s0"), here.q[None, n + model.ns :]]
    rows = max(map(len, parts))
    qs = np.hstack([np.broadcast_to(part, (rows, part.shape[1])) for part in parts])
    return qs, all_of(start.v0, here.v, "v0")


def expected_of_members(plan: Plan, lam0, initial: str) -> np.ndarray | None:
    """Return the multipliers that are given for all members, or one row where all have the same; None: none are."""
    if lam0 is None:
        return None
    first, model = first_of(lam0), plan.model
    if initial == "free":
        return all_of(lam0, free_multipliers(plan, first), "lam0")
    size = model.n_constraints // model.order if isinstance(model.system, Dae) else model.n_lam
    return all_of(lam0, vector(first, "lam0", size), "lam0")


def rows_of(values: np.ndarray, first: int, last: int) -> np.ndarray:
    """Rows of a stretch of members; one row is that of every member."""
    return np.broadcast_to(values, (last - first, values.shape[1])) if len(values) == 1 else values[first:last]


def consistent(program: Program, X0, DATA, t0: float, initial: str, held: np.ndarray, lam0=None, forward: float = 1.0) -> Members:
    """Check or project the start of every member; name those that cannot start. `lam0` are rows of all members, or None.

    Compiled; what the compiled look cannot decide goes through `initial.prepare` where the user's functions are at hand.
    """
    model, members = program.model, Members(DATA, X0, -1)
    if model.is_dae or len(model.extras) or (not model.dense and initial != "check"):
        _by_python(program, members, range(len(X0)), t0, initial, held, lam0, forward)
    elif not (model.is_ode and not model.n_invariants):
        status, found = _assemble(program, X0, DATA, side_of(t0, forward), initial, held)
        off = np.flatnonzero((status == starts.OFF_POSITION) | (status == starts.OFF_VELOCITY))
        shown = off[:FEW]
        for m in off[len(shown) :]:
            members.unable[int(m)] = _off(int(status[m]), found[m], initial)
        unclear = np.flatnonzero(status == starts.UNCLEAR)
        _by_python(program, members, np.union1d(shown, unclear).astype(int), t0, initial, held, forward=forward)
    members.starts, members.at_lam = _with_multipliers(program, DATA, X0, t0, lam0 if initial == "free" else None)
    return members


def _assemble(program: Program, X, DATA, t0, initial, held) -> tuple[np.ndarray, np.ndarray]:
    fns, lengths = program.table("start")
    ranked, of_rank = program.table("rank") if not program.model.is_ode else (fns, {})
    factors = max(lengths.get(Fn.VEL_FACTOR, 0), of_rank.get(Fn.VEL_FACTOR, 0))
    room = start_room(program, held, lengths | {Fn.VEL_FACTOR: factors})
    found, status = np.zeros((len(X), 2)), np.zeros(len(X), dtype=np.int64)
    model_here = Model(fns, start_memory(program, initial), np.empty(DATA.shape[1]))
    rows = np.ascontiguousarray(X)
    starts.assemble(model_here, ranked, t0, rows, np.ascontiguousarray(DATA), room, found, status)
    raise_what_was_raised()
    X[...] = rows
    return status, found


def _off(status: int, found: np.ndarray, initial: str) -> str:
    """Say how far a start is off, where no message of its own was made."""
    what, level = ("q0", "the constraints") if status == starts.OFF_POSITION else ("v0", "the velocity level of the constraints")
    if initial == "project" or (status == starts.OFF_VELOCITY and initial == "impact"):
        return f"{what} cannot be moved onto {level}: {found[status - 1]:.1e} is left."
    if initial == "impact":
        return f"{what} misses {level} by {found[status - 1]:.1e}. Correct it: an impact changes velocities alone."
    return f'{what} misses {level} by {found[status - 1]:.1e}. Correct it, or pass initial="project".'


def _by_python(program: Program, members: Members, which, t0, initial, held, lam0=None, forward: float = 1.0) -> None:
    """Look into single members with all means, and say what is wrong in full."""
    X0, DATA, model = members.starts, members.data, program.plan and program.plan.model
    for m in map(int, which):
        if model is None:
            members.unable[m] = UNDECIDED
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RedundancyWarning)  # the first member has warned of it
                begin = prepare(
                    model, t0, X0[m, : model.nq].copy(), X0[m, model.nq :].copy(), DATA[m], tol=program.tol,
                    initial=initial, hold=np.flatnonzero(held).tolist() or None, redundant=program.redundant, forward=forward,
                )  # fmt: skip
            if lam0 is not None and isinstance(model.system, Dae) and initial != "free":
                take_root(model, t0, begin.q, DATA[m], lam0[m])
        except HolonomicError as problem:
            members.unable[m] = str(problem)
            continue
        kept = [model.n_lam if rows is None else len(rows) for rows in (begin.rows, program.rows)]
        if kept[0] != kept[1]:
            members.unable[m] = (
                f"its constraints have rank {kept[0]}, those of the other members rank {kept[1]}. Run it with simulate()."
            )
            continue
        X0[m] = np.concatenate([begin.q, begin.v])
        if model.n_invariants and initial != "free":
            places = model.data_places["invariants"]
            DATA[m, places] = 0.0
            r = model.evaluate(Fn.RESIDUAL, t0, X0[m], np.zeros(0), DATA[m])
            DATA[m, places] = r[model.n_constraints : model.n_constraints + model.n_invariants]


UNDECIDED = "?"  # a worker without the user's functions leaves these members to the process that has them


def _with_multipliers(program: Program, DATA, X0, t0: float, given=None) -> tuple[np.ndarray, int]:
    """Return starts with room for what a formulation adds, and where λ is to be entered from the field; -1: nowhere.

    `given` are multipliers that runs begin with, whatever the field says.
    """
    at = X0.shape[1]
    X = np.zeros((len(X0), program.size.nx))
    X[:, :at] = X0
    for block in program.blocks[2:]:
        if block.name == "lam" and given is not None:
            X[:, at : at + block.size] = given
            return X, -1
        if block.name == "lam" and not program.model.is_ode:
            return X, at
        if block.name == "lam" and block.size:  # of a Dae
            fns, lengths = program.table("multipliers")
            times, out = np.full(len(X), t0), np.empty((len(X), lengths[Fn.MULTIPLIERS]))
            for m in range(len(X)):
                along(fns, int(Fn.MULTIPLIERS), times, X0, np.zeros((len(X), 0)), DATA[m], m, m + 1, out)
            raise_what_was_raised()
            X[:, at : at + block.size] = out
        at += block.size
    return X, -1
