"""The first minute of a newcomer: a clone in a fresh folder, a fresh environment, an empty cache; and then every later start.

    python benchmarks/first_minute.py                      measure, print the table
    python benchmarks/first_minute.py --write              and write it into docs/first-minute.md
    python benchmarks/first_minute.py --commit 99d8b16     of another commit than the present one

What is committed is measured, not what lies around, in a clone of this repository; its compiled kernels must be those of its
sources. The wheels come from the index that pip uses, and stay in its own cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import NamedTuple

from speed_page import processor

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "first-minute.md"
BEST_OF = 5

RUN = "from holonomic import simulate; from holonomic.problems import seven_body; simulate(seven_body())"
CLOCK = "import time; t, p = time.perf_counter(), time.process_time()"
READ = "print(time.perf_counter() - t, time.process_time() - p)"
IMPORT = f"{CLOCK}; import holonomic; {READ}"
# Ten links in the plane, 20 coordinates and 10 rods, in a process that has run something else; nothing of it is in the cache.
NEW_SYSTEM = """
import numpy as np
from holonomic import System, simulate
simulate(System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1), 1.0, q0=[1, 0], v0=[0, 0])
{compiled}
def rods(q):
    r = np.concatenate([[0.0, 0.0], q]).reshape(11, 2)
    return np.sum((r[1:] - r[:-1]) ** 2, axis=1) - 1.0

chain = System(mass=np.eye(20), force=np.tile([0.0, -9.81], 10), constraint=rods)
start = dict(q0=np.stack([np.arange(1.0, 11.0), np.zeros(10)], axis=1).ravel(), v0=np.zeros(20))
{clock}
simulate(chain, 1e-3, **start)
{read}
"""
COUNTED = """
import holonomic.model.machine_code as machine
made, compile_ = [], machine._compile
machine._compile = lambda *given: (made.append(given), compile_(*given))[1]
"""
SECOND_CALL = """
made.clear()
simulate(chain, 1e-3, **start)
print(len(made))
"""
BUILD = """
import os, subprocess, sys
command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", {to!r}, {clone!r}]
subprocess.run(command, env=os.environ | {{"HOLONOMIC_WHEEL": "here"}}, check=True, stdout=subprocess.DEVNULL)
"""
SHORT_CALL = """
import sys
sys.path.insert(0, {folder!r})
from short_calls import main
main()
"""


class Measured(NamedTuple):
    """One row: what, the number with its unit, what it should be, and the processor's share of a time."""

    what: str
    value: float
    unit: str
    target: float | None = None
    digits: int = 2
    processor: float | None = None

    def row(self) -> str:
        """Return the row of the table."""
        number = lambda value: "" if value is None else f"{value:.{self.digits}f} {self.unit}".strip()
        target = "" if self.target is None else f"≤ {self.target:g} {self.unit}".strip()
        met = "" if self.target is None else "yes" if self.value <= self.target else "no"
        return f"| {self.what} | {number(self.value)} | {number(self.processor)} | {target} | {met} |"


class Newcomer:
    """A folder with a clone, an environment and a cache of its own."""

    def __init__(self, folder: Path, commit: str):
        self.clone, self.bin = folder / "clone", folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self.wheels, self.caches = folder / "wheels", folder / "caches"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.clone)], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=self.clone, check=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)

    def run(self, *command: str, cache: str = "first") -> tuple[tuple[float, float], str]:
        """Run a command of the environment; return the seconds of the whole process and of the processor, and what it printed."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HOLONOMIC"))}
        environment |= {"HOLONOMIC_CACHE": str(self.caches / cache), "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}"}
        began, used = time.perf_counter(), os.times()
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]], cwd=self.clone.parent if command[0] != "pip" else self.clone,
            env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"{' '.join(command)[:200]} failed:\n{done.stderr[-3000:]}")
        took, now = time.perf_counter() - began, os.times()
        return (took, now.children_user + now.children_system - used.children_user - used.children_system), done.stdout

    def python(self, code: str, cache: str = "first") -> list[float]:
        """Run Python code in a fresh process; return the numbers that it printed last."""
        return [float(number) for number in self.run("python", "-c", code, cache=cache)[1].splitlines()[-1].split()]

    def download(self) -> float:
        """Fetch all wheels; return their MB."""
        self.run("pip", "download", "-q", "-d", str(self.wheels), ".")
        return sum(path.stat().st_size for path in self.wheels.iterdir()) / 1e6

    def of_a_wheel(self) -> tuple[float, float]:
        """Build the wheel for this platform, and return what the first result takes with it; then go back to the other one."""
        self.run("pip", "install", "-q", "build", "hatchling")
        self.run("python", "-c", BUILD.format(clone=str(self.clone), to=str(self.wheels / "own")))
        (wheel,) = (self.wheels / "own").glob("*.whl")
        self.run("pip", "install", "-q", "--no-deps", "--force-reinstall", str(wheel))
        took, _ = self.run("holonomic", "run", "seven-body", cache="wheel")
        self.run("pip", "install", "-q", "--no-deps", "--force-reinstall", ".")
        return took


def measure(folder: Path, commit: str) -> list[Measured]:
    """Go through the first minute, in its order."""
    new = Newcomer(folder, commit)
    total = new.download()
    installed, _ = new.run("pip", "install", "-q", ".")
    first, _ = new.run("holonomic", "run", "seven-body")
    from_wheel = new.of_a_wheel()
    imported = min(new.python(IMPORT) for _ in range(BEST_OF))
    new.run("python", "-c", RUN)
    known = min(new.run("python", "-c", RUN)[0] for _ in range(BEST_OF))
    system = lambda compiled="": NEW_SYSTEM.format(compiled=compiled, clock=CLOCK, read=READ)
    fresh = min(new.python(system(), cache=f"new {k}") for k in range(BEST_OF))
    (again,) = new.python(system(COUNTED) + SECOND_CALL, cache="counted")
    _, said = new.run("python", "-c", SHORT_CALL.format(folder=str(new.clone / "benchmarks")))
    times = lambda pair: {"value": pair[0], "processor": pair[1], "unit": "s"}
    return [
        Measured("download, all wheels", total, "MB", 145, 0),
        Measured("`pip install .` in a clone, wheels at hand", digits=1, **times(installed)),
        Measured("`holonomic run seven-body` then, the first result", target=3, **times(first)),
        Measured("the same with a wheel for one platform", target=1, **times(from_wheel)),
        Measured("`import holonomic`", target=0.25, **times(imported)),
        Measured("a process whose model is known, from its start to its end", target=0.35, **times(known)),
        Measured("a new System of 20 coordinates, 10 constraints: its first call", target=0.1, **times(fresh)),
        Measured("functions that its second call compiles", again, "", 0, 0),
        Measured("a short call, `simulate` over 1 ms from `sol.end`", float(said.split()[-4]), "µs", 25, 0),
    ]


def table(rows: list[Measured]) -> str:
    """Return the rows as Markdown."""
    head = ["| what | measured | of the processor | goal | met |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *(row.row() for row in rows)])


def page(rows: list[Measured], commit: str) -> str:
    """Return the page."""
    python = f"Python {sys.version.split()[0]}"
    load = "" if os.name == "nt" else f" with a load of {os.getloadavg()[0]:.1f} on its {os.cpu_count()} cores at the end"
    return f"""# The first minute

From a clone to the first result, and what every later start takes: a fresh folder, a fresh environment, an empty cache.
`python benchmarks/first_minute.py --write`, measured on commit {commit}, {date.today():%Y-%m-%d}: {processor()}, {python}{load}.
Later starts are the best of {BEST_OF}. Where other work shares the cores, the time of the processor is nearer to what a quiet
machine takes.

{table(rows)}
"""


def main() -> None:
    """Measure, print the table, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write docs/first-minute.md")
    parser.add_argument("--commit", default="HEAD")
    options = parser.parse_args()
    found = subprocess.run(["git", "rev-parse", "--short", options.commit], cwd=ROOT, capture_output=True, text=True, check=True)
    commit = found.stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), commit)
    print(table(rows))
    if options.write:
        PAGE.write_text(page(rows, commit), encoding="utf-8")
        print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
