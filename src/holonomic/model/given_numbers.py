"""Numbers that users give, or that their functions return. What cannot be meant is refused, and the message names it."""

from __future__ import annotations

import math
import os
import reprlib

import numpy as np

from ..errors import BadArgument, WrongShape

MANY_STARTS = "Many starts at once are for sweep()"
NO_NUMBERS = "cmMSUV"  # kinds of arrays that NumPy turns into floats, or nearly: complex numbers, dates, text
LOOKS_LIKE_ONE = (str, bytes, np.datetime64, np.timedelta64)  # of which float() makes a number, or nearly
TRUTH = (bool, np.bool_)
FLOAT = np.dtype(float)
ALL = np.logical_and.reduce  # without the calls in Python that .all() makes: every start is read here
STARTS = ("q0", "v0", "y0", "s0", "x0", "dx0", "ddx0")


def floats(values) -> np.ndarray:
    """Return an array of our own; TypeError or ValueError of what only looks like numbers: text, dates, durations, complex ones."""
    found = np.array(values)
    kind = found.dtype.kind
    if kind != "f" and (kind in NO_NUMBERS or (kind == "O" and any(isinstance(each, LOOKS_LIKE_ONE) for each in found.flat))):
        raise TypeError(f"{found.dtype} are no numbers")
    return found if found.dtype is FLOAT else found.astype(float)


def vector(values, what: str, n: int | None = None) -> np.ndarray:
    """Return finite numbers as a flat array of our own, n of them if n is given; a number alone is one of them."""
    try:
        found = floats(values)
    except (TypeError, ValueError, OverflowError):
        if axes(values) < 2 and np.asarray(values).dtype.kind == "c":
            raise BadArgument(f"{what} is complex: {values!r}. Give real and imaginary parts as numbers of their own.") from None
        raise BadArgument(f"{what} must be numbers, got {values!r}.") from None
    if found.ndim != 1:
        found = _flat(found, what, n)
    if n is not None and len(found) != n:
        raise BadArgument(f"{what} has {len(found)} entries, expected {n}.")
    if not (math.isfinite(found.dot(found)) or ALL(np.isfinite(found))):  # the square alone may be too large
        raise BadArgument(f"{what}[{int(np.flatnonzero(~np.isfinite(found))[0])}] is not finite: {found}.")
    return found


def _flat(found: np.ndarray, what: str, n: int | None) -> np.ndarray:
    """Return a number alone as one of them; refuse a table."""
    if found.ndim > 1:
        expected = f"({found.size if n is None else n},)"
        many = f" {MANY_STARTS}." if what in STARTS else ""
        raise BadArgument(
            f"{what} has shape {found.shape}, expected one row of numbers, {expected}. Pass np.ravel({what}) if all its "
            f"entries are meant, in that order.{many}"
        )
    return found.reshape(-1)


def axes(value) -> int:
    """How many axes something has; rows of different lengths count as a table."""
    try:
        return np.ndim(value)
    except ValueError:
        return 2


def as_number(value) -> float:
    """A real number as a float; NaN for anything else, so that every comparison with it fails."""
    if isinstance(value, (*TRUTH, *LOOKS_LIKE_ONE)) or axes(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


def is_number(value) -> bool:
    """Whether a value is a real number, NaN and infinity among them."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, (bool, *LOOKS_LIKE_ONE))


def is_one_of(value, choices) -> bool:
    """Whether a value is one of some texts; arrays and mappings are not."""
    return isinstance(value, str) and value in choices


def is_whole(value, least: int) -> bool:
    """Whether a value is a whole number, and not below the least one."""
    if type(value) is int:
        return value >= least
    if isinstance(value, (*TRUTH, *LOOKS_LIKE_ONE)) or axes(value):
        return False
    try:
        return bool(int(value) == value and value >= least)
    except (TypeError, ValueError, OverflowError):  # of nan and infinity
        return False


def beyond_memory(needed: float) -> str | None:
    """Say how much memory is needed and how much there is, where it does not fit; None: it fits, or nobody knows."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # this system does not say
        return None
    return f"{needed / 1e9:.1f} GB, and this machine has {there / 1e9:.1f} GB of memory" if needed > there else None


def positive(value, name: str, infinite: str | None = None) -> float:
    """Return a positive number; `infinite` says why it may not be infinite, where it may not."""
    number = value if type(value) is float else as_number(value)
    if not number > 0:
        raise BadArgument(f"{name}={value!r} must be a positive number.")
    if infinite is not None and number == np.inf:
        raise BadArgument(f"{name}={value!r} must be finite: {infinite}")
    return number


def not_negative(value, name: str, infinite: str) -> float:
    """Return a number that is zero or more; `infinite` says why it may not be infinite."""
    number = value if type(value) is float else as_number(value)
    if not number >= 0:
        raise BadArgument(f"{name}={value!r} must be a positive number, or 0.")
    if number == np.inf:
        raise BadArgument(f"{name}={value!r} must be finite: {infinite}")
    return number


def refuse_matrix(shape: tuple[int, ...], role: str) -> None:
    """Refuse rows that come as a matrix: the order of its entries is anybody's guess."""
    if sum(length > 1 for length in shape) > 1:
        raise WrongShape(
            f"{role} returned shape {shape}, expected a number or one row of numbers. Return np.ravel(...) of the matrix "
            "if each of its entries is meant, or the entries that are, such as those above the diagonal of a symmetric one."
        )


def refuse_no_numbers(value, role: str) -> None:
    """Refuse what a function has returned and NumPy would take for numbers: None for NaN, complex ones by half, dates, text."""
    if value is None:
        raise WrongShape(f"{role} returned nothing: is a `return` missing?")
    try:
        if np.asarray(value).dtype.kind == "c":
            raise WrongShape(f"{role} returned complex numbers. Return their real parts, np.real(...), if these are meant.")
        floats(value)
    except (TypeError, ValueError) as problem:  # also of rows of different lengths
        if isinstance(problem, WrongShape):
            raise
        raise WrongShape(f"{role} returned {reprlib.repr(value)}. Return real numbers, alone, in a list or in an array.") from None


def refuse_truth(value, role: str) -> None:
    """Refuse an event, constraint or invariant that is True or False: neither crosses zero."""
    if np.asarray(value).dtype == bool:
        if role.startswith("event"):
            how = "which crosses no zero. Return a number that changes its sign there: q[0] - 1 in the place of q[0] > 1."
        else:
            how = "but it is kept as a number: write q @ q - 1 in the place of q @ q == 1."
        raise BadArgument(f"{role} returns True or False, {how}")


def refuse_velocity(role: str, depends: bool) -> None:
    """Refuse a mass matrix or a potential of the velocities."""
    if depends:
        raise BadArgument(
            f"{role} depends on v, but it is a function of t and q. What depends on velocities belongs into force=, or state the "
            "whole kinetic energy with System.from_energies."
        )


def refuse_without_v(role: str) -> None:
    """Refuse the matrix of a nonholonomic constraint in the place of the constraint."""
    raise BadArgument(
        f"{role} does not depend on v: write what is to be zero, Â(t, q) v + b(t, q), for example lambda q, v: "
        "v[0] * np.sin(q[2]) - v[1] * np.cos(q[2])."
    )


def refuse_without_state(role: str, letter: str) -> None:
    """Refuse a constraint or an invariant that is the same whatever the state."""
    raise BadArgument(f"{role} depends on nothing: neither t nor {letter} enters its value.")


def refuse_constant(value: float, role: str) -> None:
    """Refuse an event that depends on nothing that changes."""
    raise BadArgument(
        f"{role} depends on nothing that changes: it is {value:g} throughout, so it never crosses zero. Write it as a function "
        "of t or of the state."
    )


def numbers_text(values) -> str:
    """Numbers as messages show them, four digits of each and the middle left out where they are many."""
    return np.array2string(np.asarray(values), precision=4, threshold=8, separator=", ")


# what mass() gives

SYMMETRIC = 1e-10  # of the largest entry of M
FORGOTTEN_TERMS = (
    "mass() depends on q, but force() has no term quadratic in v, although the Coriolis and centrifugal terms of this mass "
    "matrix are not zero. Pass velocity_terms=True to add them, or velocity_terms=False if force() is meant as it stands."
)


def asymmetry(M: np.ndarray, where: str) -> str | None:
    """Say where a mass matrix is not symmetric; None: it is, or it is not finite."""
    gap = np.abs(M - M.T)
    if not np.max(gap, initial=0.0) > SYMMETRIC * np.max(np.abs(M), initial=1e-300):
        return None
    i, j = np.unravel_index(np.argmax(gap), gap.shape)
    return f"the mass matrix is not symmetric: M[{i},{j}] = {M[i, j]:.6g}, M[{j},{i}] = {M[j, i]:.6g} at {where}. Correct mass()."
