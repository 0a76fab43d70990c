"""Two tiers of a mechanism that takes long to compile: its first runs are made of tables, later ones of code.

    code at once             where compiling takes less than `CHEAP` seconds, by an estimate from the rows of its constraints
    code from the start      where the run would lose more by tables than compiling takes: it is looked at every 50 ms, begun again
    code from the next run   where runs so far have lost that much; or, where a process beside has compiled it meanwhile, less

A run has one tier from its beginning to its end; `sol.plan.tier` says which. What is lost is time on tables less what code takes, a
third of it. Tables are asked first only where nothing has to be said: a run of tables that warns, fails, or has redundant rows is
made again by code, which says it.

The process beside is a copy of this one (a fork, on Linux). It runs the same run as code, which leaves machine code and records in
the folder of compiled models, each of them written whole, and ends. It ends with this process, too, however that ends.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable

from ..errors import Cancelled, HolonomicError, LimitReached
from ..model.machine_code import are_kept, compiled_here
from ..results.solution import Solution

# seconds of compiling for each row of the constraints, in the plane and in space: chains of 8, 20 and 40 rods 0.29, 0.9 and 1.6;
# ten balls and ten hinges in space 2.4 and 4.5, a delta robot (42 rows) 4.7
BY_ROW = {2: 0.022, 3: 0.09}
CHEAP = 0.5  # seconds of compiling that are spent at once, as a run may need them anyway
SLOWER = 3.0  # times that a step of tables takes, of a step of code: 3.6 with 20 rods, 2.4 to 3.3 with 6 to 10 bodies in space
BESIDE = 0.05  # of the time of compiling, that must have been lost before a process beside begins to compile
LONGEST = 900  # seconds that a process beside may take


class WouldPay(HolonomicError):
    """A run by tables goes on for so long that compiling pays."""


class Tiers:
    """As what the next run of one mechanism is made, and what its runs by tables have lost.

    Parameters
    ----------
    rows, dimension : int
        Of its constraints, and of the space they are in.
    """

    def __init__(self, rows: int, dimension: int):
        self.cost = rows * BY_ROW[dimension]  # of compiling, s
        self.lost = 0.0  # so far, s
        self.code = self.cost <= CHEAP  # whether the next run is code
        self.beside: Beside | None = None
        self.outdated = False  # whether the mechanism has been changed since

    def __reduce__(self):
        return _remade, (self.cost,)

    @property
    def by_tables(self) -> bool:
        """Whether the next run is one of tables."""
        if not self.code and self.beside is not None and self.beside.ended:
            self.code = self.beside.succeeded
        if not self.code and self.lost >= self.cost and (self.beside is None or self.beside.ended):
            self.code = True  # there is none that compiles beside
        return not self.code

    def look(self, began: float, t0: float, t: float, t1: float) -> None:
        """Look at a run by tables that has come from t0 to t on its way to t1.

        Raises
        ------
        WouldPay
            What is left of it loses more than compiling takes.
        """
        gone = abs(t - t0)
        if gone > 0.0:
            left = (time.thread_time() - began) * abs(t1 - t) / gone
            if left * (1.0 - 1.0 / SLOWER) > self.cost:
                self.code = True
                raise WouldPay("compiling pays")

    def first(self, run: Callable[[], Solution]) -> Solution | None:
        """Return the solution of a run by tables; None: it is to be made by code."""
        began = time.thread_time()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                sol = run()
            except (LimitReached, Cancelled):
                raise
            except Exception:  # code can do it, or says what is wrong
                sol = None
        if sol is None or said or sol.trail.begin.not_unique:
            self.code = True
            return None
        self.lost += (time.thread_time() - began) * (1.0 - 1.0 / SLOWER)
        return sol

    def compile_beside(self, run: Callable[[], object]) -> None:
        """Let a process beside compile what a run needs, if enough was lost without it, there can be one, and there is none."""
        _all[:] = [one for one in _all if not one.ended]
        if self.beside is None and self.lost >= BESIDE * self.cost and not _all and may_fork():
            self.beside = Beside(run)


def _remade(cost: float) -> Tiers:
    made = Tiers(0, 2)
    made.cost, made.code = cost, cost <= CHEAP
    return made


def may_fork() -> bool:
    """Whether a copy of this process may be made: on Linux, from its main thread."""
    known = os.environ.get("HOLONOMIC_COMPILE_BESIDE", "1")
    return sys.platform == "linux" and known != "0" and threading.current_thread() is threading.main_thread()


class Beside:
    """A copy of this process that makes a run and ends."""

    def __init__(self, run: Callable[[], object]):
        self._ended, self.succeeded, self.owner = False, False, os.getpid()
        self.pid = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's, of threads: the copy does not wait for any
                self.pid = os.fork()
        except OSError:  # no room for another process
            self._ended = True
            return
        if not self.pid:
            _be_beside(run, self.owner)
        atexit.unregister(_end_all)
        atexit.register(_end_all)
        _all.append(self)

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        if not self._ended:
            self._ask()
        return self._ended

    def _ask(self) -> None:
        if os.getpid() != self.owner:  # in a copy of this process: not its child
            self._ended = True
            return
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has waited for it
            pid, status = self.pid, 1
        if pid:
            self._ended, self.succeeded = True, status == 0

    def end(self) -> None:
        """End it, wherever it is."""
        if not self.ended and self.pid:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(self.pid, 0)
            self._ended = True


_all: list[Beside] = []  # those that may be at work; at most one


def _end_all() -> None:
    for one in _all:
        one.end()


def _be_beside(run: Callable[[], object], parent: int) -> None:
    """Be the copy: compile, and end without a word, in the background and with the process that made it."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the parent
        if os.getppid() == parent:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(LONGEST)
            os.nice(10)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for each in (0, 1, 2):
                os.dup2(nowhere, each)
            warnings.simplefilter("ignore")
            before = compiled_here()  # by the parent, which may have had nowhere to keep it
            run()
            code = 0 if are_kept(compiled_here() - before) else 1
    finally:
        os._exit(code)
