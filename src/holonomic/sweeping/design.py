"""grid() and sample(): which parameters the members of a sweep have."""

from __future__ import annotations

import itertools
import warnings

import numpy as np

from ..errors import BadArgument


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
    for name, values in axes.items():
        if np.ndim(values) != 1 or not len(values):
            raise BadArgument(f"grid({name}={values!r}): give a list of values, at least one.")
    if not axes:
        raise BadArgument("grid needs the values of a parameter, for example g=[5, 10, 15].")
    columns = zip(*itertools.product(*(np.asarray(values) for values in axes.values())), strict=True)
    return {name: np.array(column) for name, column in zip(axes, columns, strict=True)}


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
    if method not in makers:
        raise BadArgument(f"method={method!r}: choose {', '.join(map(repr, makers))}.")
    if n != int(n) or n < 1:
        raise BadArgument(f"sample(n={n!r}): the number of members must be a whole number, at least 1.")
    for name, bounds in ranges.items():
        if np.shape(bounds) != (2,) or not np.isfinite(bounds).all() or bounds[0] > bounds[1]:
            raise BadArgument(f"{name}={bounds!r}: give the two bounds of each parameter, (low, high).")
    if not ranges:
        raise BadArgument("sample needs the bounds of a parameter, for example g=(5, 15).")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The balance properties")  # of Sobol points, for n not a power of 2
        points = makers[method](d=len(ranges), rng=np.random.default_rng(seed)).random(n)
    return {name: low + (high - low) * points[:, i] for i, (name, (low, high)) in enumerate(ranges.items())}
