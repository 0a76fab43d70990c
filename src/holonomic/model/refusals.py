"""Messages that point at the user's own line.

Functions that cannot be run on symbols: what the function does, the line, the reason, what to write instead. Warnings, however
deep in the package they arise.
"""

from __future__ import annotations

import contextlib
import contextvars
import dis
import itertools
import linecache
import re
import sys
import warnings
from pathlib import Path

from ..errors import UntraceableFunction

OURS = __name__.rpartition(".")[0] + "."  # modules whose frames are not the user's
DECIDES = 16  # in the argument of COMPARE_OP, from Python 3.13 on: the result is made a truth value
WIDTH = 60  # of an expression or a source line quoted in a message
SUBJECT = contextvars.ContextVar("the function being traced", default="the traced function")
PLACE = contextvars.ContextVar("what stands for a line of our own", default="")
REFUSALS = contextvars.ContextVar("refusals of the function being traced", default=None)


@contextlib.contextmanager
def tracing(subject):
    """Name the function being traced in messages, and reword NumPy's complaints about symbols.

    Parameters
    ----------
    subject : str
        How messages call the function, for example ``"constraint()"``.
    """
    token = SUBJECT.set(subject)
    try:
        yield
    except UntraceableFunction:
        raise
    except (TypeError, IndexError) as error:
        advice = next((advice for pattern, advice in _COMPLAINTS if re.search(pattern, str(error))), None)
        if advice is None:
            raise
        raise UntraceableFunction(f"{subject} {advice} NumPy says: {error}.") from error
    finally:
        SUBJECT.reset(token)


BUILD = "Make arrays for NumPy's functions with np.block([...]) instead of np.array([...])."
_COMPLAINTS = (
    ("has no callable|input types|Cannot cast|unsupported in linalg|only boolean masks",
     f"uses a NumPy function on a plain array that holds symbols. {BUILD}"),
    ("used as indices|valid indices",
     "picks entries of an array by a symbol. Use np.where, np.select or np.interp."),
)  # fmt: skip


def user_line():
    """Return the opcode and the quoted source of the innermost frame that is neither ours nor NumPy's."""
    frame = _users_frame()
    return _quoted(frame.f_code, frame.f_lasti, frame.f_lineno)


@contextlib.contextmanager
def said_as(text: str):
    """Let `user_place` give a text in the place of a line of our own, inside."""
    token = PLACE.set(text)
    try:
        yield
    finally:
        PLACE.reset(token)


def user_place() -> tuple[int, str]:
    """Return the number of that line, and its source as it is quoted; "" where there is none."""
    if PLACE.get():
        return 0, PLACE.get()
    frame = _users_frame()
    quoted = _quoted(frame.f_code, frame.f_lasti, frame.f_lineno)[1]
    return frame.f_lineno, quoted[3:-2]  # of ' ("...")'


def _users_frame():
    frame = sys._getframe(2)
    while frame.f_back is not None and not _is_users(frame):
        frame = frame.f_back
    return frame


def line_of(problem):
    """Return the quoted source of the innermost line of the user's code that an exception came through."""
    trace, line = problem.__traceback__, ""
    while trace is not None:
        if _is_users(trace.tb_frame):
            line = _quoted(trace.tb_frame.f_code, trace.tb_lasti, trace.tb_lineno)[1]
        trace = trace.tb_next
    return line


def asked_by_user() -> bool:
    """Tell whether our caller was called by the user's code."""
    return _is_users(sys._getframe(2))


def _is_users(frame):
    module = frame.f_globals.get("__name__", "")
    return not module.startswith(OURS) and module.partition(".")[0] not in ("numpy", "scipy", "numba")


def _quoted(code, lasti, lineno):
    at = max(lasti, 0)
    line = linecache.getline(code.co_filename, lineno)
    text = line.strip().rstrip(":")
    if len(text) > WIDTH:  # then only the expression at fault, where it stands on one line
        first, last, start, end = next(itertools.islice(code.co_positions(), at // 2, None))
        if first == last is not None and end is not None:
            text = line.encode()[start:end].decode()
    opcode = dis.opname[code.co_code[at]]
    if opcode == "COMPARE_OP" and sys.version_info >= (3, 13) and code.co_code[at + 1] & DECIDES:
        opcode = "POP_JUMP_IF_FALSE"  # whose work it does, too
    return opcode, f' ("{short(text)}")' if text else ""


def short(text):
    """A text that fits into a message."""
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def refusal(what, remedy, line=True):
    """The exception for what the function being traced cannot do, with the line."""
    return noted(UntraceableFunction(f"{SUBJECT.get()} {what}{user_line()[1] if line else ''}. {remedy}"))


def noted(error):
    """The same exception, remembered: a function that swallows it is refused all the same."""
    known = REFUSALS.get()
    if known is not None:
        known.append(error)
    return error


# functions that have no derivative, or no meaning without numbers

_ORDER = "which entry comes where would change from one moment to the next"
_PLACE = "which entry it is would change from one moment to the next"
_STEPS = "its value jumps, and between the jumps its derivative is zero"
_FACTORS = "its factors are not unique and have no derivative here"

REASONS = {
    **dict.fromkeys(("sort", "argsort", "partition", "argpartition", "lexsort", "sort_complex", "unique", "median", "percentile",
                     "quantile", "nanmedian"),
                    (_ORDER, "Use np.minimum and np.maximum of the entries, or np.where.")),
    **dict.fromkeys(("argmax", "argmin", "nanargmax", "nanargmin", "nonzero", "flatnonzero", "argwhere", "searchsorted", "digitize",
                     "extract", "compress", "histogram", "bincount"),
                    (_PLACE, "Use np.max or np.min for the value itself, np.where(condition, a, b) or np.interp to choose by it.")),
    **dict.fromkeys(("round", "around", "rint", "fix", "round_"),
                    (_STEPS, "Leave it out, or use np.floor where steps are meant.")),
    **dict.fromkeys(("eig", "eigh", "eigvals", "eigvalsh", "svd", "qr", "cholesky", "matrix_rank", "cond", "slogdet", "expm"),
                    (_FACTORS, "Solve with np.linalg.solve, or write it out by entries.")),
    **dict.fromkeys(("lstsq", "pinv"),
                    ("it is made of singular values, which have no derivative here",
                     "Use np.linalg.solve(A.T @ A, A.T @ b) where the columns of A are independent.")),
}  # fmt: skip


def refuse_named(name: str, called: str) -> None:
    """Refuse a function of NumPy that is known to be impossible on symbols."""
    if name in REASONS:
        why, instead = REASONS[name]
        raise refusal(f"uses {called} on symbols: {why}", instead)


class _Rotation:
    """scipy's Rotation, which takes numbers only."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def made(*args, **kwargs):
            raise refusal(
                "uses scipy's Rotation, which takes numbers only",
                "Write the matrix out, np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) about one axis, or "
                "(w² - u·u) I + 2 u uᵀ + 2 w ũ of a quaternion (w, u).",
            )

        return made


ROTATION = _Rotation()


PACKAGE = str(Path(__file__).resolve().parent.parent)


def warn(text: str, kind: type[Warning]) -> None:
    """Warn where the package was called from."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
