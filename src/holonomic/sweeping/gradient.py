"""Derivatives of what a run gives, by parameters and by its start: differences of whole runs, extrapolated twice."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import Asked, Assembling, GivenStart, Posed, brought, check_kind, refuse_unknown
from ..errors import BadArgument, StepFailed
from ..model.call_by_name import nearest, says_what_it_takes
from ..model.given_numbers import floats, positive
from ..results.states import State
from .sweep import AskedMembers, run_members, sweep

OFFSETS = np.array([-4.0, -2.0, -1.0, 1.0, 2.0, 4.0])  # of the members around a value, in steps
STARTS = ("q0", "v0", "y0", "x0", "dx0", "ddx0")
KINDS = (GivenStart, Asked, AskedMembers)
RTOL = 1e-10  # errors of the runs come back divided by the distance of the members


@dataclass(frozen=True)
class Gradient:
    """A value and its derivatives by name, `value, grad = ...`; `error` says how far each of them may be off."""

    value: Any
    grad: dict[str, Any]
    error: dict[str, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.grad))


@says_what_it_takes
def gradient(
    loss: Callable, system, t_end=None, *positional, wrt: str | Sequence[str], nearby: float = 1e-3, rtol: float = RTOL, **given
) -> Gradient:
    """Differentiate what a run gives with respect to parameters of the system and to its start.

    For every number that is named, six runs beside the one in question give central differences D(h), D(2h) and D(4h);
    extrapolated to h = 0 their error is of order h⁶. All runs are members of one `sweep`, at a tight tolerance.

    Parameters
    ----------
    loss : function of a run
        Returns a number or an array: `lambda sol: sol["tension"].max()`. Of times, a run has those of `save_at`.
    system, t_end
        As for `sweep`.
    wrt : str or sequence of str
        Names of parameters, and "q0", "v0" (of an `Ode` "y0", of a `Dae` "x0", "dx0", "ddx0") for the entries of the
        start. With constraints a start that was moved is projected back, so entries that lead off the constraints count as
        far as they lead along them.
    nearby : float
        Distance h of the nearest runs, relative to the value; absolute where the value is 0.
    rtol : float
        Relative tolerance of the runs.
    *positional, **given
        Nothing without a name. As for `sweep`: q0, v0, save_at, integrator, initial, ... Where a parameter moves the
        constraints, say `initial="project"`; `initial="impact"` differentiates through an impact at the start.

    Returns
    -------
    Gradient
        `value, grad = gradient(...)`: the loss, and its derivatives by name (shape of the loss, then that of the parameter).
        Its attribute `error` holds by how much the last extrapolation changed them: where that is not small, the loss is
        not smooth, or `nearby` is too large for it.

    Raises
    ------
    BadArgument
        A name in `wrt` that does not exist, or a loss that is not finite.
    StepFailed
        One of the runs failed; the message says which.

    Examples
    --------
    >>> from holonomic import Ode, gradient
    >>> decay = Ode(lambda y, p: -p.rate * y, params={"rate": 0.5})
    >>> value, grad = gradient(lambda sol: sol.y[-1, 0], decay, 2.0, y0=[3.0], wrt=["rate", "y0"])
    >>> round(value, 6), round(grad["rate"], 6), grad["y0"].round(6)  # 3 e^-1, -2 * 3 e^-1, e^-1
    (1.103638, -2.207277, array([0.367879]))
    """
    refuse_unknown(gradient, positional, given, system, passed_on=sweep)
    _check_loss(loss)
    names = _names(wrt)
    nearby = positive(nearby, "nearby", "it is the distance of the nearest runs.")
    if "params" in given:
        raise BadArgument("gradient varies the parameters itself. Set other values in the system: system.with_params(...).")
    usual = {"save_at": 2} | ({"initial": "project"} if set(names) & set(STARTS) else {})
    given = usual | given | {"rtol": rtol}
    start, asked, many = (kind(**{name: given[name] for name in kind._fields if name in given}) for kind in KINDS)
    base, start = _base(system, t_end, names, start)
    steps = {name: nearby * np.where(value == 0.0, 1.0, np.abs(value)) for name, value in base.items()}
    count = 1 + len(OFFSETS) * sum(value.size for value in base.values())
    members = {name: np.repeat(value[None], count, axis=0) for name, value in base.items()}
    at, rows = 1, {name: [] for name in names}
    for name in names:
        for place in np.ndindex(base[name].shape):
            members[name][(slice(at, at + len(OFFSETS)), *place)] += OFFSETS * steps[name][place]
            rows[name].append((place, at))
            at += len(OFFSETS)
    start = start._replace(**{name: members[name] for name in names if name in STARTS})
    own = {name: members[name] for name in names if name not in STARTS}
    runs = run_members("gradient", system, t_end, start, asked, many._replace(params=own or None))
    values = _values(loss, runs, rows)
    found, errors = {}, {}
    for name in names:
        pairs = {place: _extrapolated(values[i : i + len(OFFSETS)], steps[name][place]) for place, i in rows[name]}
        found[name], errors[name] = (_shaped([pair[k] for pair in pairs.values()], base[name], values) for k in (0, 1))
    return Gradient(_plain(values[0]), found, errors)


def _check_loss(loss) -> None:
    """Refuse what cannot be called with a run."""
    try:
        if callable(loss):
            inspect.signature(loss).bind(None)
            return
    except ValueError:  # Python cannot tell what it takes
        return
    except TypeError:
        pass
    raise BadArgument(f"loss={loss!r} must be a function of a run, for example lambda sol: sol.q[-1, 0].")


def _names(wrt) -> list[str]:
    """The names to differentiate by."""
    names = [wrt] if isinstance(wrt, str) else list(wrt) if isinstance(wrt, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        given = "" if isinstance(wrt, Iterable) and not names else f", got {wrt!r}"
        raise BadArgument(f"gradient needs wrt=: names of parameters, or of a start such as 'v0'{given}.")
    return names


def _base(system, t_end, names, start: GivenStart) -> tuple[dict[str, np.ndarray], GivenStart]:
    """Return the values around which to vary, of parameters, and of starts wherever these come from; and the whole start."""
    stated = system.system if isinstance(system, Posed) else system
    if not isinstance(stated, Assembling):
        check_kind("gradient", stated)
    params = dict(stated.params or {})
    starts = {}
    if set(names) & set(STARTS):
        found = brought(system, t_end, start)[2]
        starts = {name: value for name in STARTS if (value := getattr(found, name)) is not None}
        if any(isinstance(value, State) for value in starts.values()):
            raise BadArgument("gradient by a start needs its numbers: q0=sol.end.q, v0=sol.end.v.")
        start = start._replace(**starts)
    for name in names:
        if name not in params and name not in starts:
            raise BadArgument(f"wrt={name!r} is no parameter and no start here. {nearest(name, [*params, *starts])}")
    return {name: floats((params | starts)[name]) for name in names}, start


def _values(loss, runs, rows) -> np.ndarray:
    """The loss of every member; a member that failed, or has none, is named by what it varied."""
    place = {i + k: (name, OFFSETS[k]) for name, each in rows.items() for _, i in each for k in range(len(OFFSETS))}

    def called(member: int) -> str:
        if member not in place:
            return "the run itself"
        name, offset = place[member]
        return f"the run with {name} moved by {offset:+g} steps of nearby"

    if runs.failed:
        first = runs.failed[0]
        raise StepFailed(f"gradient: {called(first.member)} failed at t = {first.t:.6g}: {first.why}")
    found = []
    for i in range(len(runs)):
        given = loss(runs[i])
        try:
            found.append(floats(given))
        except (TypeError, ValueError):
            what = "must be a number or an array of numbers"
            raise BadArgument(f"gradient: the loss of {called(i)} {what}, got {given!r}.") from None
        if found[i].shape != found[0].shape:
            raise BadArgument(
                f"gradient: the loss of {called(i)} has shape {found[i].shape}, that of the run itself {found[0].shape}. Return "
                "as many numbers of every run."
            )
    for i, value in enumerate(found):
        if not np.all(np.isfinite(value)):
            raise BadArgument(f"gradient: the loss of {called(i)} is {value}. It must be finite, at the times of save_at= too.")
    return np.array(found)


def _extrapolated(values: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Richardson's extrapolation of central differences over h, 2h and 4h, and its last change."""
    wide, middle, near = ((values[5 - i] - values[i]) / (2.0 * h * OFFSETS[5 - i]) for i in range(3))
    once = (4.0 * near - middle) / 3.0, (4.0 * middle - wide) / 3.0
    last = (16.0 * once[0] - once[1]) / 15.0
    return last, np.abs(last - once[0])


def _shaped(parts, base, values):
    """Shape of the loss first, then that of what is varied."""
    return _plain(np.stack(parts, axis=-1).reshape(values.shape[1:] + base.shape))


def _plain(value):
    return float(value) if np.ndim(value) == 0 else value
