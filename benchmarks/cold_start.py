"""Fresh processes: import, first use after installation, new model, known model, new numbers.

    python benchmarks/cold_start.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

IMPORT = "import time; t = time.perf_counter(); import holonomic; print(time.perf_counter() - t)"
RUN = """
import time
t = time.perf_counter()
from holonomic import simulate
from holonomic.problems import seven_body
{before}
sol = simulate(seven_body({change}))
print(time.perf_counter() - t)
"""
NO_COMPILING = """
import holonomic.model.machine_code as machine
def refuse(tapes):
    raise SystemExit("something was compiled")
machine._compile = refuse
"""
# a system that is not in the cache while the kernels are
NEW_MODEL = """
import time
t = time.perf_counter()
import numpy as np
from dataclasses import replace
from holonomic import simulate
from holonomic.problems import seven_body
problem = seven_body()
constraint = dict(problem.system.constraint) if hasattr(problem.system.constraint, "items") else problem.system.constraint
old = problem.system.force
system = replace(problem.system, force=lambda q, v, p: old(q, v, p) + 1e-9 * np.tanh(v))
sol = simulate(system, problem.t_end, q0=problem.q0, v0=problem.v0)
print(time.perf_counter() - t)
"""


def timed(code: str, cache: str) -> float:
    """Run code in a fresh process; return the seconds it printed."""
    environment = dict(os.environ, HOLONOMIC_CACHE=cache)
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return float(result.stdout.split()[-1])


def main() -> None:
    """Print seconds as Markdown."""
    with tempfile.TemporaryDirectory() as cache:
        print("| fresh process, from import to the finished seven-body run | s |")
        print("|---|---|")
        print(f"| import alone | {min(timed(IMPORT, cache) for _ in range(3)):.2f} |")
        plain = RUN.format(before="", change="")
        print(f"| very first use after installation (kernels and model compiled) | {timed(plain, cache):.2f} |")
        print(f"| model seen before | {min(timed(plain, cache) for _ in range(3)):.2f} |")
        changed = RUN.format(before=NO_COMPILING, change="mom=0.034")
        print(f"| other parameters (nothing compiled) | {timed(changed, cache):.2f} |")
        print(f"| another model, kernels compiled | {timed(NEW_MODEL, cache):.2f} |")


if __name__ == "__main__":
    main()
