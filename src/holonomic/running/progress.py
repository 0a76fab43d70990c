"""Progress bars for long runs and for sweeps in a terminal; silent otherwise."""

from __future__ import annotations

import sys
import time

from ..notices import notice

PATIENCE = 2.0  # seconds before a bar is shown without being asked for


class Progress:
    """Shows how far a run has come."""

    def __init__(self, t0: float, t1: float, wanted: bool | None):
        self.t0, self.t1, self.wanted = t0, t1, wanted
        self.began = time.perf_counter()
        self.bar = None
        self.silent = wanted is False or (wanted is None and not sys.stderr.isatty())

    def tell(self, t: float) -> None:
        """Show that the run has come to t."""
        if self.silent:
            return
        if self.bar is None:
            if self.wanted is None and time.perf_counter() - self.began < PATIENCE:
                return
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %")
            from rich.console import Console

            self.bar = Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("simulating", total=1.0)
        done = (t - self.t0) / (self.t1 - self.t0)
        self.bar.update(self.task, completed=done, description=f"t = {t:.4g}")

    def interrupted(self, t: float) -> None:
        """Say that Ctrl-C ended the run and that nothing is lost."""
        self.close()
        notice(f"interrupted at t = {t:.6g} of {self.t1:.6g}; the solution so far is returned.")

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None


class Tally:
    """Shows how many runs of a sweep are done, how many come in a second, and how long the rest will take."""

    def __init__(self, total: int, wanted: bool | None, done: int = 0):
        self.total, self.done, self.before, self.wanted = total, done, done, wanted
        self.began = time.perf_counter()
        self.bar = None
        self.silent = wanted is False or (wanted is None and not sys.stderr.isatty())

    @property
    def rate(self) -> float:
        """Runs per second since the beginning."""
        return (self.done - self.before) / max(time.perf_counter() - self.began, 1e-9)

    def add(self, count: int) -> None:
        """Show that so many more runs are done."""
        self.done += count
        if self.silent or (self.wanted is None and time.perf_counter() - self.began < PATIENCE):
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = BarColumn(), TextColumn("{task.percentage:.0f} %"), TextColumn("{task.description}")
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("", total=float(self.total))
        self.bar.update(self.task, completed=float(self.done), description=self.text())

    def text(self) -> str:
        """Say how far the sweep has come."""
        left = (self.total - self.done) / max(self.rate, 1e-9)
        clock = f"{int(left // 3600)}:{int(left // 60 % 60):02d}:{int(left % 60):02d}"
        rate = f"{self.rate:.0f}" if self.rate >= 10 else f"{self.rate:.2g}"
        return f"{self.done} of {self.total} runs, {rate} a second, {clock} left"

    def interrupted(self, what: str) -> None:
        """Say that Ctrl-C ended the sweep, and what became of the runs."""
        self.close()
        notice(f"interrupted after {self.done} of {self.total} runs; {what}.")

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
