"""Functions of time and how fast they change, exactly: by running them on a symbol, as a model does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SPREADS = (0.0, 0.05, 0.3)  # s: where a model looks at functions, too


def value_and_rate(function: Callable, role: str, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what a function of time gives, and its derivative; where it has a corner at t, that of the side on which t lies."""
    from . import make_symbols  # brings expression graphs: not where nothing follows time
    from .opaque import AT_POINTS
    from .symbolics import densify, function_of, jacobian
    from .trace_stage import ways_through

    sx, symbol = make_symbols.symbol_scalar("t")

    def numbers(expressions) -> list[np.ndarray]:
        evaluate = function_of([sx], [densify(expressions)])
        return [np.array(evaluate(t + spread)).ravel() for spread in SPREADS]

    token = AT_POINTS.set(numbers)
    try:
        with make_symbols.tracing(role):
            made = make_symbols.to_sx(ways_through(lambda: function(symbol), role))
    finally:
        AT_POINTS.reset(token)
    value, rate = function_of([sx], [densify(made), densify(jacobian(made, sx))])(t)
    return np.array(value).ravel(), np.array(rate).ravel()
