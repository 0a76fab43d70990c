"""grid() and sample(): which parameters the members of a sweep have."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import beyond_memory, is_whole

MOST_POINTS = 2**30  # as many as SciPy's Sobol points count by default


def grid(**axes) -> dict[str, np.ndarray]:
    """Return all combinations of the given values, as arrays of equal length for `sweep`.

    Parameters
    ----------
    **axes : array_like
        Values by name, at least one each.

    Returns
    -------
    dict of str to numpy.ndarray
        One array per name, one entry per combination; the last name varies fastest.

    Raises
    ------
    BadArgument
        No parameter, or one without a list of values.

    Examples
    --------
    >>> from holonomic import grid
    >>> grid(g=[5, 10], L=[1, 2, 3])
    {'g': array([ 5,  5,  5, 10, 10, 10]), 'L': array([1, 2, 3, 1, 2, 3])}
    """
    if not axes:
        raise BadArgument("grid needs the values of a parameter, for example g=[5, 10, 15].")
    few = ": give a list of values, at least one."
    lists = {name: _numbers(values, f"grid({name}={values!r}){few}") for name, values in axes.items()}
    total = math.prod(len(values) for values in lists.values())
    too_much = beyond_memory(8.0 * total * len(lists))
    if too_much is not None:
        raise BadArgument(f"grid: {total} combinations take {too_much}. Give fewer values, or draw some of them with sample().")
    found, before, after = {}, 1, total
    for name, values in lists.items():
        after //= len(values)
        found[name] = np.tile(np.repeat(values, after), before)
        before *= len(values)
    return found


def _numbers(values, otherwise: str) -> np.ndarray:
    """A row of finite numbers, as they were given."""
    try:
        found = np.asarray(values)
        good = found.ndim == 1 and len(found) > 0 and found.dtype.kind in "iuf" and bool(np.isfinite(found).all())
    except (TypeError, ValueError):  # rows of different lengths
        good = False
    if not good:
        raise BadArgument(otherwise)
    return found


def sample(n: int, method: str = "sobol", seed: int = 0, **ranges) -> dict[str, np.ndarray]:
    """Draw n points of a space-filling design, each parameter between its two bounds.

    Parameters
    ----------
    n : int
        Number of members.
    method : {"sobol", "latin-hypercube"}
        Design, from `scipy.stats.qmc`.
    seed : int
        The same seed draws the same points.
    **ranges : (low, high)
        Bounds by name.

    Returns
    -------
    dict of str to numpy.ndarray
        One array of n values per name.

    Raises
    ------
    BadArgument
        No parameter, bounds that are none, or another design.

    Examples
    --------
    >>> from holonomic import sample
    >>> points = sample(8, g=(5, 15), L=(1, 2))
    >>> points["g"].shape, bool(points["g"].min() >= 5), bool(points["L"].max() <= 2)
    ((8,), True, True)
    """
    from scipy.stats import qmc

    makers = {"sobol": qmc.Sobol, "latin-hypercube": qmc.LatinHypercube}
    if not isinstance(method, str) or method not in makers:
        raise BadArgument(f"method={method!r}: choose {', '.join(map(repr, makers))}.")
    if not is_whole(n, 1):
        raise BadArgument(f"sample(n={n!r}): the number of members must be a whole number, at least 1.")
    if not is_whole(seed, 0):
        raise BadArgument(f"sample(seed={seed!r}): give a whole number, at least 0.")
    n, seed, known = int(n), int(seed), {}
    for name, bounds in ranges.items():
        text = f"{name}={bounds!r}: give the two bounds of each parameter, (low, high)."
        known[name] = _numbers(bounds, text)
        if known[name].shape != (2,) or known[name][0] > known[name][1]:
            raise BadArgument(text)
    too_much = beyond_memory(8.0 * n * max(1, len(ranges)))
    if too_much is not None or n > MOST_POINTS:
        reason = f"at most {MOST_POINTS} can be drawn" if too_much is None else f"they take {too_much}"
        raise BadArgument(f"sample(n={n}): {reason}. Draw fewer.")
    if not ranges:
        raise BadArgument("sample needs the bounds of a parameter, for example g=(5, 15).")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The balance properties")  # of Sobol points, for n not a power of 2
        points = makers[method](d=len(ranges), rng=np.random.default_rng(seed)).random(n)
    return {name: low + (high - low) * points[:, i] for i, (name, (low, high)) in enumerate(known.items())}
