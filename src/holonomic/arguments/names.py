"""Arguments that a call does not have, or that came without a name: the message gives the name used here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import BadArgument, UnknownArgument
from ..model.call_by_name import nearest
from ..model.dae import DERIVATIVES, Dae
from ..model.system import Ode, System
from .asked import Asked
from .start import GivenStart, Posed

FOREIGN = {
    "method": "integrator", "t_span": "t_end (a number, or a pair (t0, t_end))", "t_eval": "save_at",
    "dt": "step", "h": "step", "max_step_size": "max_step", "y_0": "y0",
    "dense_output": "nothing: sol(t) always works", "args": "params of the System or Ode", "jac": "nothing: derivatives "
    "are exact", "tol": "rtol and atol", "n_steps": "max_steps", "h0": "first_step", "vectorized": "nothing",
}  # fmt: skip
OF_SWEEPS = {
    "n_jobs": "workers", "threads": "workers", "num_workers": "workers", "device": "on", "backend": "on", "path": "store",
    "checkpoint": "store", "every": "nothing: a store is written piece by piece", "first_step": "nothing: it is chosen",
}  # fmt: skip
OF_EXPORTS = {
    "save_at": "nothing: who calls it asks for times", "controllers": "nothing: who calls it is the controller",
    "compile": "nothing: mechanisms are compiled", "prefer": "nothing: it has the methods it is given",
}  # fmt: skip
OF_LOOKS = {"tol": "rtol"}
SHARED = {*GivenStart._fields, *Asked._fields}  # what a run can be told; a call that makes none does not take all of it
NO_RUN = "nothing: it looks at the start, and makes no run"


def refuse_unknown(
    function: Callable, positional: tuple, given: Mapping[str, Any], system, passed_on: Callable | None = None
) -> None:
    """Refuse what came without its name, and names that do not exist; the message gives the names used here.

    Parameters
    ----------
    function : function
        What was called.
    positional : tuple
        What came without a name where a name is needed.
    given : mapping
        What came with a name that is not in the function's own signature.
    system : System, Ode or Posed
        What was to be simulated: it says how its start is written.
    passed_on : function, optional
        The function to which this one passes on what it does not name itself.
    """
    if positional:
        _refuse_positional(positional, function.__name__, system.system if isinstance(system, Posed) else system)
    known = list(dict.fromkeys(_names(function) + ([] if passed_on is None else _names(passed_on))))
    for name in given:
        if name not in known:
            raise UnknownArgument(f"{function.__name__} has no argument {name!r}{_meant(name, known)}")


def _names(function: Callable) -> list[str]:
    """The arguments of a function that have a name."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def _meant(name: str, known: list[str]) -> str:
    """What was meant by a name that a call does not have, as the end of a sentence."""
    foreign = FOREIGN | (OF_SWEEPS if "workers" in known else {}) | (OF_LOOKS if "integrator" not in known else {})
    if {"platform", "platforms"} & set(known):
        foreign = foreign | OF_EXPORTS
    there = foreign.get(name, NO_RUN if name in SHARED else None)
    if there in SHARED and there not in known:
        there = foreign.get(there, NO_RUN)
    if there is None:
        return f". {nearest(name, known)}"
    if there is NO_RUN and "integrator" in known:
        return ": it is one of simulate's."
    if there.startswith("nothing"):
        return f" and needs none{there.removeprefix('nothing')}."
    return f"; here it is called {there}."


def _refuse_positional(positional: tuple, mine: str, system) -> None:
    """Say how the start is written: solve_ivp(f, t_span, y0) has it in the third place."""
    if isinstance(system, Dae):
        names = [f"{name}0" for name in DERIVATIVES[: system.order]]
    elif isinstance(system, Ode) or (callable(system) and not isinstance(system, type)):
        names = ["y0"]
    else:
        names = ["q0", "v0"]
    start = ", ".join(f"{name}=..." for name in names)
    hint = "" if isinstance(system, System | Ode) or not callable(system) else " For y' = f(t, y) also write Ode(f)."
    first = "loss, " if mine == "gradient" else ""
    if "Stepper" in mine:
        raise BadArgument(
            f"{mine} takes system without a name, and goes on as far as each step() says; {len(positional)} more "
            f"{'was' if len(positional) == 1 else 'were'} given. Write {mine}(system, {start}), and step=... for fixed steps."
        )
    raise BadArgument(
        f"{mine} takes {first}system and t_end without a name; {len(positional)} more "
        f"{'was' if len(positional) == 1 else 'were'} given. Write the start with its name: "
        f"{mine}({first}system, t_end, {start}).{hint}"
    )
