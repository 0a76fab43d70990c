"""A function that decides by values: run once for every way its own `if`s can fall, and the results joined by selects.

The first run takes every decision as true; each decision that could have fallen otherwise is one more run. What an earlier
decision implies is not asked again. A helper function is joined by itself, so that ten calls of a function with one `if`
are ten times two runs and not 2¹⁰; unless it writes into what it was given, or returns what cannot be joined: then its
decisions are its caller's. On a way that raises on purpose, or divides by zero, the result is NaN.
"""

from __future__ import annotations

import dis
import functools
import math
from collections.abc import Iterator

import numpy as np

from .function_memory import Written, empty
from .refusals import noted, refusal
from .switchboard import BOARD, PATH
from .symbol import DECIDE, Condition, Symbol, as_sx, chosen
from .symbol_array import SymbolArray, as_array
from .symbolics import is_equal

WAYS = 64  # through one function


class Inline(BaseException):
    """A function that cannot be joined by itself: its decisions belong to its caller. No error of the user's."""

    def __init__(self, code):
        super().__init__(code.co_name)
        self.code = code


class _Raised:
    """What a way ends with that raises on purpose."""

    def __init__(self, problem: Exception):
        self.problem = problem


def ways(run, inline=None):
    """Return what `run()` gives, joined over all ways its decisions can fall.

    Parameters
    ----------
    run : function
        Called once for each way; it must begin from the same things every time.
    inline : callable, optional
        Raises what lets the caller decide instead, where ways raise or cannot be joined.
    """
    found: list[tuple[list, object]] = []
    todo: list[tuple[bool, ...]] = [()]
    while todo:
        first = todo.pop()
        path = _Path(first, len(found) + len(todo), PATH.get())
        tokens = PATH.set(path), DECIDE.set(path.decide)
        try:
            value = run()
        except (ArithmeticError, ValueError, AssertionError, LookupError, RuntimeError) as problem:
            if not _on_purpose(problem) or not path.decisions:
                raise
            if inline is not None:
                inline()
            value = _Raised(problem)
        finally:
            DECIDE.reset(tokens[1])
            PATH.reset(tokens[0])
        found.append((path.decisions, value))
        for k in range(len(first), len(path.decisions)):
            todo.append((*(answer for _, answer in path.decisions[:k]), False))
    if len(found) == 1:
        return found[0][1]
    if all(isinstance(value, _Raised) for _, value in found):
        raise found[0][1].problem
    try:
        return _join(found, 0)
    except _NotJoined:
        if inline is not None:
            inline()
        raise refusal(
            "returns things of different kinds or lengths, depending on values",
            "Return numbers or arrays of the same shape on every way.",
            line=False,
        ) from None


def each_way(function, copies):
    """Return a user's function that joins its own ways when it is called on symbols.

    Where it writes into what is not its own, or returns it on some way, its caller decides: only then is everything as
    if each way had been run alone.
    """
    code = function.__code__

    def leave():
        raise noted(Inline(code))  # and is raised again after the run, if an `except:` of the user's takes it

    @functools.wraps(function)
    def called(*args, **kwargs):
        if any(isinstance(each, Iterator) for each in (*args, *kwargs.values())):
            return function(*args, **kwargs)  # what has been taken from it is gone: its caller decides
        before, mark = Written((args, kwargs, function.__closure__), copies.changeable), copies.mark

        def run():
            value = function(*args, **kwargs)
            if PATH.get().decisions and (before.may_have_changed() or copies.changed_since(mark) or before.holds(value)):
                leave()
            return value

        return ways(run, leave)

    return called


def _on_purpose(problem: Exception) -> bool:
    """Whether a user's `raise` or `assert`, or a division of plain numbers, is behind an exception."""
    if isinstance(problem, ZeroDivisionError | OverflowError) or "math domain error" in str(problem):
        return True
    trace = problem.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


_RAISE = dis.opmap["RAISE_VARARGS"]


class _Path:
    """One way through a function: what is decided beforehand, then true at every decision that is open."""

    def __init__(self, first: tuple[bool, ...], others: int, around: _Path | None):
        self.first, self.others, self.around = first, others, around
        self.decisions: list[tuple[Symbol, bool]] = []
        self.facts: list[tuple[tuple, str, float]] = []

    def decide(self, condition: Symbol) -> bool:
        """Answer a condition: as implied, as planned, or true."""
        if isinstance(condition, Condition) and condition.relation[1] == "~":
            return not self.decide(condition.relation[2])
        what = _compared(condition)
        known = self._implied(*what)
        if known is not None:
            return known
        at = len(self.decisions)
        answer = self.first[at] if at < len(self.first) else True
        if at >= len(self.first) and self.others + at - len(self.first) + 2 > WAYS:
            raise refusal(
                f"decides by values in more than {WAYS} ways",
                "Put the body of a loop that decides into a function of its own, use np.where(condition, a, b), np.maximum "
                "or np.clip, or give an iteration a fixed number of turns.",
            )
        board = BOARD.get()
        self.decisions.append((condition if board is None else board.switched(condition, self.before()), answer))
        self.facts.append((what[0], what[1] if answer else OPPOSITE[what[1]], what[2]))
        return answer

    def before(self) -> list[tuple[Symbol, bool]]:
        """What has been decided so far, by the callers first."""
        return [*([] if self.around is None else self.around.before()), *self.decisions]

    def _implied(self, terms, sign, number) -> bool | None:
        low, high = -math.inf, math.inf  # of the quantity, as far as earlier decisions bound it
        low_open = high_open = False
        path: _Path | None = self
        while path is not None:
            for known, how, bound in path.facts:
                same = _same(known, terms)
                if same is None:
                    continue
                if same < 0:
                    how, bound = FLIPPED[how], -bound
                if how == "!=":
                    if bound == number and sign in ("==", "!="):
                        return sign == "!="
                    continue
                if how in (">", ">=", "==") and (bound, how == ">") > (low, low_open):
                    low, low_open = bound, how == ">"
                if how in ("<", "<=", "==") and (-bound, how == "<") > (-high, high_open):
                    high, high_open = bound, how == "<"
            path = path.around
        below = high < number or (high == number and high_open)  # than the number, surely
        above = low > number or (low == number and low_open)
        if sign in ("<", ">="):
            return (sign == "<") if below else (sign == ">=") if low >= number else None
        if sign in ("<=", ">"):
            return (sign == "<=") if high <= number else (sign == ">") if above else None
        if sign in ("==", "!="):
            return (sign == "!=") if below or above else (sign == "==") if low == high == number else None
        return None


OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def _compared(condition: Symbol) -> tuple[tuple, str, float]:
    """A condition as (terms, sign, number): what is compared, how, and with which number; 0 for two terms."""
    left, sign, right = condition.relation if isinstance(condition, Condition) else (condition, "!=", 0.0)
    if sign not in OPPOSITE:
        return (condition.sx,), "!=", 0.0
    left, right = as_sx(left), as_sx(right)
    if math.inf in (abs(float(side)) for side in (left, right) if side.is_constant()):
        return (condition.sx,), "!=", 0.0  # whether it is a number at all, or finite: nothing else implies that
    if right.is_constant():
        return (left,), sign, float(right)
    if left.is_constant():
        return (right,), FLIPPED[sign], float(left)
    return (left, right), sign, 0.0


def _same(known: tuple, terms: tuple) -> int | None:
    """1 where both are the same, -1 where one is the other's opposite, None otherwise."""
    if len(known) != len(terms):
        return None
    if all(is_equal(a, b) for a, b in zip(known, terms, strict=True)):
        return 1
    if len(known) == 2 and all(is_equal(a, b) for a, b in zip(known, reversed(terms), strict=True)):
        return -1
    return None


# joining


class _NotJoined(Exception):
    """Two outcomes that no select can join."""


def _join(found: list, depth: int):
    """Join the ways that agree in the first `depth` decisions."""
    if len(found) == 1:
        return found[0][1]
    condition = found[0][0][depth][0]
    yes = [each for each in found if each[0][depth][1]]
    no = [each for each in found if not each[0][depth][1]]
    return joined(condition.sx, _join(yes, depth + 1), _join(no, depth + 1))


def joined(condition, a, b):
    """a where the condition holds, b elsewhere; numbers, arrays, and containers of them."""
    if a is b:
        return a
    if isinstance(a, _Raised) or isinstance(b, _Raised):
        if isinstance(a, _Raised) and isinstance(b, _Raised):
            return a
        other = b if isinstance(a, _Raised) else a
        missing = _nan_like(other)
        return joined(condition, *((missing, other) if isinstance(a, _Raised) else (other, missing)))
    if isinstance(a, tuple | list) and type(a) is type(b) and len(a) == len(b):
        parts = [joined(condition, x, y) for x, y in zip(a, b, strict=True)]
        return type(a)(*parts) if isinstance(a, tuple) and type(a) is not tuple else type(a)(parts)
    if isinstance(a, dict) and type(a) is type(b) and list(a) == list(b):  # in this order: values() has it, too
        return {key: joined(condition, a[key], b[key]) for key in a}
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        a, b = as_array(a), as_array(b)
        if a.shape != b.shape:
            raise _NotJoined
        made = np.empty(a.shape, dtype=object)
        for place in np.ndindex(a.shape):
            made[place] = joined(condition, a[place], b[place])
        return made.view(SymbolArray)
    if isinstance(a, np.ndarray) and a.ndim == 0:
        return joined(condition, a.item(), b)
    if isinstance(b, np.ndarray) and b.ndim == 0:
        return joined(condition, a, b.item())
    x, y = as_sx(a), as_sx(b)
    if x is None or y is None:
        if type(a) is not type(b) or isinstance(a, dict):
            raise _NotJoined
        if vars_of(a) is not None:
            made = empty(type(a))
            made.__dict__.update(joined(condition, vars_of(a), vars_of(b)))
            return made
        if a == b:
            return a
        raise _NotJoined
    if is_equal(x, y):
        return a
    sx = chosen(condition, x, y)
    truths = all(isinstance(each, bool | np.bool_ | Condition) for each in (a, b))
    return Condition(sx, (Symbol(sx), "!=", 0.0)) if truths else Symbol(sx)


def vars_of(thing) -> dict | None:
    """The attributes of an instance of a class written in Python, or None."""
    try:
        return object.__getattribute__(thing, "__dict__") if type(thing).__module__ != "builtins" else None
    except AttributeError:
        return None


def _nan_like(value):
    if isinstance(value, tuple | list):
        return type(value)(map(_nan_like, value)) if type(value) in (tuple, list) else type(value)(*map(_nan_like, value))
    if isinstance(value, np.ndarray):
        return as_array(np.full(value.shape, math.nan))
    if isinstance(value, dict):
        return {key: _nan_like(each) for key, each in value.items()}
    return value if as_sx(value) is None else math.nan
