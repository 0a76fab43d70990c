"""Run the benchmarks and write docs/speed.md.

    python benchmarks/speed_page.py [--venvs DIR]

Every ratio on the page comes from one run of one script on one machine, named at the top.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from stamp import stamp

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "speed.md"


def processor() -> str:
    """Name the processor, where the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def measured_on() -> str:
    """Name the machine and the versions."""
    from holonomic import __version__

    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))
    python = f"Python {platform.python_version()}"
    return f"{processor()}, {platform.system()}, {python}, holonomic {__version__}, {packages}."


def printed(*command: str) -> str:
    """Return what a benchmark prints."""
    done = subprocess.run([sys.executable, *command], cwd=HERE, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.strip()


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venvs", default=str(HERE / "peers" / "venvs"))
    options = parser.parse_args()
    parts = [
        "# Speed",
        f"Measured on {stamp()}: {measured_on()} One core. Each table comes from one run of one command, so that "
        "its rows saw the same machine; on a shared one a time may be off by a factor of two and a ratio by half of that.",
        "## Against hand-written C",
        "The seven-body mechanism (7 angles, 6 loop equations), written in NumPy, against C that was written by hand "
        "for this one mechanism (`gcc -O3 -march=native -ffast-math`): a dense pivoted LU of the 13 x 13 saddle-point "
        "matrix, and an elimination that uses the structure of its loops. `python benchmarks/seven_body.py`",
        printed("seven_body.py"),
        "Whole runs are complete calls of `simulate` from Python, checks and result included. With projection, max g "
        "and max Gv are the largest residuals of the constraints and their derivatives at any step.",
        "## Beside other packages",
        "P1: the pendulum in Cartesian coordinates over 50 periods; error of the whole state at the end. P2: the "
        "seven-body mechanism to t = 0.03 s; error of the angles. Each cell is the fastest run of that package that "
        "reaches the error. `python benchmarks/peers/run.py`",
        printed("peers/run.py", "--venvs", options.venvs),
        "## Starting up and short calls",
        "[The first minute](first-minute.md) has the times of a first run, of later processes and of a short call.",
        "## Interpreted",
        "`trace=False` runs plain Python functions through the same step loop; ratio of its time to "
        "`scipy.integrate.solve_ivp` on the same right-hand side, `python benchmarks/interpreted.py`:",
        printed("interpreted.py"),
    ]
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
