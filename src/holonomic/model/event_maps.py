"""What `then` of an event makes of the state, as a tape: for exported models, and for two processes to compare.

In Python it is called as it is. There is no tape where `then` reaches what cannot be followed, changes objects, or cannot be
run on symbols.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import HolonomicError
from . import make_symbols
from .call_by_name import call
from .dae import state_values
from .symbolics import SX, densify, function_of, vec, vertcat
from .tape import Tape, record
from .trace_stage import CHECK_TOLERANCE, TraceStage, ways_through
from .watch import Watch


def map_tape(stage: TraceStage, then, role: str) -> tuple[Tape | None, list[tuple[int, ...]], str]:
    """Return the tape of `then`, a = x and b = parameters, and the shapes of its parts; or None, and why there is none."""
    watch = Watch(then)
    if watch.unknown is not None:
        return None, [], f"it reaches {watch.unknown}"
    if watch.changes:  # and is not called for comparing alone: a list that it fills is the user's
        return None, [], "it changes objects"
    allowed = ("t", "p", *state_values(stage.system, *stage.points[0]["state"], stage.extras))
    try:
        parts = ways_through(lambda: _parts(call(then, role, allowed, _copied(stage.names))), role)
        with make_symbols.tracing(role):
            traced = [make_symbols.to_sx(part) for part in parts]
        out = vertcat(SX(0, 1), *(vec(densify(part).T) for part in traced))
        tape = record(stage.t_sx, vertcat(stage.q_sx, stage.v_sx), stage.p_sx, SX(0, 1), out)
        agrees = all(_agrees(stage, then, role, allowed, out, point) for point in stage.points)
    except HolonomicError as problem:
        return None, [], str(problem).partition(". ")[0].rstrip(".")
    except Exception as problem:  # whatever a user's function raises on symbols
        return None, [], f"on symbols it gives {type(problem).__name__}: {problem}".rstrip(".")
    if not agrees or not watch.unchanged():
        return None, [], "it gives other values from call to call"
    return tape, [part.shape for part in traced], ""


def map_text(stage: TraceStage, then, role: str) -> tuple[str | None, str]:
    """Return the tape of `then` as text, or None and the reason why there is none."""
    tape, shapes, why = map_tape(stage, then, role)
    return (None, why) if tape is None else (f"{shapes} {tape.text()}", "")


def _parts(result) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


def _copied(names: dict[str, Any]) -> dict[str, Any]:
    """Arrays of one's own: a function may write into its arguments."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in names.items()}


def _agrees(stage: TraceStage, then, role: str, allowed, out: SX, point: dict[str, Any]) -> bool:
    """Whether the tape and the function give the same numbers at a point."""
    evaluate = function_of([stage.t_sx, stage.q_sx, stage.v_sx, stage.p_sx], [out])
    mine = np.array(evaluate(point["t"], *point["state"], stage.flat_params)).reshape(-1)
    with np.errstate(all="ignore"):
        given = _parts(call(then, role, allowed, _copied(point)))
    own = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(part, dtype=float)) for part in given)])
    return mine.shape == own.shape and bool(np.allclose(mine, own, rtol=CHECK_TOLERANCE, atol=CHECK_TOLERANCE, equal_nan=True))
