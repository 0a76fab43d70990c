"""The guard: twenty numbers of this checkout against a recorded commit, measured by turns in one run.

    python benchmarks/guard.py                        everything but the test suite
    python benchmarks/guard.py --only pendulum sweep  numbers whose names contain one of these words
    python benchmarks/guard.py --slow                 the whole test suite, too; --gpu: rates of sweeps on a GPU
    python benchmarks/guard.py --baseline COMMIT      against another commit; --record writes HEAD as the baseline

Speed is a ratio in one run: each number is measured in pairs (this tree, the baseline; the order changes from pair to pair), at
least thirty of them in five pairs of processes, and the ratio of a pair is what counts. "worse" is said only where the 95 %
interval of the median ratio lies above 1.03, "better" where it lies below 0.97; otherwise "same" if the interval lies within
both, else "not resolved". Counts (steps, evaluations) must agree exactly, frames of a call may not grow. The load of the
machine stands beside each number.

Exit 1 if anything is worse or a count differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
FILE = HERE / "guard.json"
PAIRS = 30
ROUNDS = 5  # pairs of processes: the same code was seen to differ by 30 % from process to process, for as long as they lived
WORSE, BETTER = 1.03, 0.97

# ---- what is measured inside one process: name -> (repetitions, function that returns counts) -----------------


def pendulum():
    import numpy as np

    from holonomic import System

    return System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda q: q @ q - 1)


def measurements() -> dict:
    """Name -> a function without arguments that does the work once and returns what can be counted of it."""
    import warnings

    import numpy as np

    import holonomic as h
    from holonomic import problems

    warnings.simplefilter("ignore")

    def counted(sol) -> dict:
        return {name: int(sol.stats[name]) for name in ("steps", "rejected", "field evaluations", "factorizations")}

    swing, seven, found = pendulum(), problems.seven_body(), {}
    for rtol in (1e-4, 1e-7, 1e-10):
        found[f"pendulum, 10 s, rtol {rtol:g}"] = lambda rtol=rtol: counted(
            h.simulate(swing, 10.0, q0=[1, 0], v0=[0, 0], rtol=rtol, atol=rtol / 1000)
        )
        found[f"seven-body, rtol {rtol:g}"] = lambda rtol=rtol: counted(h.simulate(seven, rtol=rtol, atol=rtol / 1000))

    def short_call() -> dict:
        sol = h.simulate(swing, 0.001, q0=[1, 0], v0=[0, 0])
        for _ in range(100):
            sol = h.simulate(swing, 0.001, q0=[1, 0], v0=[0, 0])
        return counted(sol)

    found["short call (a hundred)"] = short_call
    found["saved times, 1000"] = lambda: counted(h.simulate(swing, 10.0, q0=[1, 0], v0=[0, 0], save_at=1000))
    events = {"low": h.Event(lambda q: q[0]), "fast": h.Event(lambda v: v @ v - 4.0)}
    found["events"] = lambda: counted(h.simulate(swing, 10.0, q0=[1, 0], v0=[0, 0], events=events))
    for name, method, formulation, t_end in (
        ("car-axis", h.Radau(), h.GGL(), 1.0), ("suspension", h.Radau(), h.Index2(), None),
        ("seven-body", h.BDF(), h.Index2(), None),
    ):  # fmt: skip
        problem = problems.get(name)
        found[f"stiff set: {name}, {method}, {formulation}"] = lambda p=problem, m=method, f=formulation, t=t_end: counted(
            h.simulate(p, t, integrator=m, formulation=f, rtol=1e-5)
        )
    robertson = h.Ode(
        lambda y: np.array([-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])
    )
    found["stiff set: Robertson, Radau"] = lambda: counted(
        h.simulate(robertson, 1e4, y0=[1.0, 0.0, 0.0], integrator=h.Radau(), atol=1e-10)
    )
    torque = 0.033 * np.linspace(0.95, 1.05, 2000)

    def swept() -> dict:
        runs = h.sweep(
            seven.system, 0.03, q0=seven.q0, v0=seven.v0, params={"mom": torque}, save_at=[0.03], on="threads", progress=False,
            integrator=h.RK45(), rtol=1e-5,
        )  # fmt: skip
        return {"steps": int(np.sum(runs.steps))}

    found["sweep on threads, 2000 seven-body runs"] = swept
    plain = h.System(mass=np.eye(2), force=lambda q: np.array([0, -9.81]), constraint=lambda q: q @ q - 1, trace=False)
    found["interpreted pendulum, 1 s"] = lambda: counted(h.simulate(plain, 1.0, q0=[1, 0], v0=[0, 0]))
    return found


def frames_of_a_call() -> dict:
    """Python calls and files that the second call of simulate walks through."""
    from holonomic import simulate

    system, calls, files = pendulum(), 0, set()
    simulate(system, 0.001, q0=[1, 0], v0=[0, 0])

    def look(frame, event, _):
        nonlocal calls
        if event == "call" and "holonomic" in frame.f_code.co_filename:
            calls += 1
            files.add(frame.f_code.co_filename)

    sys.setprofile(look)
    simulate(system, 0.001, q0=[1, 0], v0=[0, 0])
    sys.setprofile(None)
    return {"frames": calls, "files": len(files)}


def work() -> None:
    """The worker: reads names from standard input, writes seconds and counts; repeats short work to fill 5 ms."""
    found, repeats = measurements(), {}
    print(json.dumps(list(found)), flush=True)
    for line in sys.stdin:
        name = json.loads(line)
        if name == "frames":
            print(json.dumps([0.0, frames_of_a_call()]), flush=True)
            continue
        run = found[name]
        if name not in repeats:
            counts, shortest = run(), 1.0  # compiles what is missing
            for _ in range(5):  # the second call still does what the later ones need not
                began = time.perf_counter()
                run()
                shortest = min(shortest, time.perf_counter() - began)
            repeats[name] = max(1, round(0.005 / shortest))
        began = time.perf_counter()
        for _ in range(repeats[name]):
            counts = run()
        print(json.dumps([(time.perf_counter() - began) / repeats[name], counts]), flush=True)


# ---- what is measured in fresh processes: name -> (pairs, code that prints seconds) ----------------------------

KNOWN_MODEL = """
import time
began = time.perf_counter()
from holonomic import simulate
from holonomic.problems import seven_body
simulate(seven_body())
print(time.perf_counter() - began)
"""
NEW_MODEL = """
import sys, time
import numpy as np
from holonomic import System, simulate

def force(q):  # the digits of the argument make it a model that nobody has seen
    x = -q
    for digit in bin(int(sys.argv[1])):
        x = np.sin(x) - q[::-1] if digit == "1" else np.cos(x) - q
    return x

began = time.perf_counter()
simulate(System(mass=np.eye(20), force=force), 0.1, q0=np.ones(20), v0=np.zeros(20))
print(time.perf_counter() - began)
"""
FRESH = {
    "import": (PAIRS, "import time; t = time.perf_counter(); import holonomic; print(time.perf_counter() - t)"),
    "process with a known model": (PAIRS, KNOWN_MODEL),
    "process with a new model of 20 coordinates": (10, NEW_MODEL),
}


class Tree:
    """One of the two sources that are compared, with a cache and a worker of its own."""

    def __init__(self, root: Path, cache: Path):
        self.root, self.cache = root, cache
        self.worker: subprocess.Popen | None = None

    def environment(self, cache: Path | None = None) -> dict:
        return os.environ | {"PYTHONPATH": str(self.root / "src"), "HOLONOMIC_CACHE": str(cache or self.cache), "MPLBACKEND": "Agg"}

    def start(self) -> list[str]:
        """Start the worker; return the names it can measure."""
        self.stop()
        command = [sys.executable, str(HERE / "guard.py"), "--worker"]
        self.worker = subprocess.Popen(
            command, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        return json.loads(self.worker.stdout.readline())

    def stop(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.stdin.close()
            self.worker.wait()
            self.worker = None

    def measured(self, name: str) -> tuple[float, dict]:
        self.worker.stdin.write(json.dumps(name) + "\n")
        self.worker.stdin.flush()
        return tuple(json.loads(self.worker.stdout.readline()))

    def fresh(self, code: str, *arguments: str, cache: Path | None = None) -> float:
        """Seconds that the code prints in a process of its own."""
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, env=self.environment(cache), capture_output=True, text=True, check=True)
        return float(done.stdout.split()[-1])

    def gpu_rates(self) -> dict[str, float]:
        """Runs per second of the seven-body sweep on a GPU, by stabilization."""
        command = [sys.executable, str(HERE / "gpu.py")]
        done = subprocess.run(command, cwd=ROOT, env=self.environment(), capture_output=True, text=True, check=True)
        return {row["stabilization"]: row["kernel runs/s"] for row in json.loads(done.stdout)["ours"]}

    def tested(self) -> float:
        """Seconds of the whole test suite."""
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2"], cwd=self.root, env=self.environment(), capture_output=True
        )
        return time.perf_counter() - began


def interval(ratios) -> tuple[float, float, float]:
    """Median of the ratios and its 95 % interval, by order statistics (binomial, without a distribution assumed)."""
    import numpy as np
    from scipy.stats import binom

    ordered = np.sort(ratios)
    n = len(ordered)
    low = int(binom.ppf(0.025, n, 0.5))
    return float(np.median(ordered)), float(ordered[max(0, low - 1)]), float(ordered[min(n - 1, n - low)])


def verdict(low: float, high: float) -> str:
    if low > WORSE:
        return "WORSE"
    if high < BETTER:
        return "better"
    return "same" if low >= BETTER and high <= WORSE else "not resolved"


def by_turns(pairs: int, now, before):
    """Pairs of measurements, the order changing from pair to pair: (ratios, seconds now, seconds before)."""
    ratios, mine, theirs = [], [], []
    for k in range(pairs):
        a, b = (now(), before()) if k % 2 == 0 else tuple(reversed((before(), now())))
        ratios.append(a / b)
        mine.append(a)
        theirs.append(b)
    return ratios, min(mine), min(theirs)


def line(name: str, ratios, mine: float, theirs: float, told: list) -> str:
    """One row of the table; what is worse is also put into `told`."""
    middle, low, high = interval(ratios)
    said = verdict(low, high)
    if said == "WORSE":
        told.append(name)
    return (
        f"| {name} | {mine * 1e3:.3g} | {theirs * 1e3:.3g} | {middle:.3f} | {low:.3f}-{high:.3f} | {len(ratios)} | "
        f"{os.getloadavg()[0]:.1f} | {said} |"
    )


def counts_line(name: str, mine: dict, theirs: dict, told: list) -> str | None:
    if mine == theirs:
        return None
    told.append(f"counts of {name}")
    return f"| counts of {name} | {mine} | {theirs} | | | | | DIFFER |"


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--baseline", help="commit to compare with; that of guard.json otherwise")
    parser.add_argument("--record", action="store_true", help="write HEAD into guard.json as the baseline, and stop")
    parser.add_argument("--only", nargs="+", default=[""], help="words; numbers whose names contain one of them")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--slow", action="store_true", help="run the test suite, too")
    parser.add_argument("--gpu", action="store_true", help="rates of sweeps on a GPU, too")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def commit_of(name: str) -> str:
    return subprocess.run(["git", "rev-parse", name], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    options = asked()
    if options.worker:
        work()
        return 0
    if options.record:
        FILE.write_text(json.dumps({"baseline": commit_of("HEAD"), "date": time.strftime("%Y-%m-%d")}, indent=1) + "\n")
        return 0
    baseline = commit_of(options.baseline or json.loads(FILE.read_text())["baseline"])
    told: list[str] = []

    def wanted(name: str) -> bool:
        return any(word in name for word in options.only)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "tree").mkdir()
        archive = subprocess.run(["git", "archive", baseline], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(place / "tree")], input=archive, check=True)
        now, before = Tree(ROOT, place / "cache now"), Tree(place / "tree", place / "cache before")
        print(
            f"This tree ({commit_of('HEAD')[:9]} and what is not committed) against {baseline[:9]}; seconds are the least, in ms.\n"
        )
        print(
            "| number | now | before | ratio | 95 % | pairs | load | |\n| --- | ---: | ---: | ---: | --- | ---: | ---: | --- |",
            flush=True,
        )
        if wanted("first use"):
            caches = iter(range(100))
            pairs = by_turns(
                3, lambda: now.fresh(KNOWN_MODEL, cache=place / f"n{next(caches)}"),
                lambda: before.fresh(KNOWN_MODEL, cache=place / f"b{next(caches)}"),
            )  # fmt: skip
            print(line("first use (kernels compiled)", *pairs, told), flush=True)
        measured: dict[str, list] = {}
        for _ in range(ROUNDS):
            both = [set(tree.start()) for tree in (now, before)]
            for name in (name for name in measurements() if name in both[0] & both[1] and wanted(name)):
                counts = [tree.measured(name)[1] for tree in (now, before)]  # also compiles
                pairs = by_turns(
                    max(2, options.pairs // ROUNDS),
                    lambda name=name: now.measured(name)[0],
                    lambda name=name: before.measured(name)[0],
                )
                measured.setdefault(name, []).append((counts, *pairs))
        for name, rounds in measured.items():
            ratios = [ratio for _, found, _, _ in rounds for ratio in found]
            print(line(name, ratios, min(r[2] for r in rounds), min(r[3] for r in rounds), told), flush=True)
            if row := counts_line(name, *rounds[-1][0], told):
                print(row, flush=True)
        if wanted("frames of a call"):
            frames = [tree.measured("frames")[1] for tree in (now, before)]
            more = {key: value for key, value in frames[0].items() if value > frames[1][key]}
            told.extend(f"{key} of a call" for key in more)
            print(
                f"| frames and files of a short call | {frames[0]} | {frames[1]} | | | | | {'MORE' if more else 'same or fewer'} |"
            )
        for name, (most, code) in FRESH.items():
            if wanted(name):
                mine, theirs = (iter(range(1024, 2048)) for _ in range(2))  # both see the same models
                pairs = by_turns(
                    min(most, options.pairs), lambda code=code, of=mine: now.fresh(code, str(next(of))),
                    lambda code=code, of=theirs: before.fresh(code, str(next(of))),
                )  # fmt: skip
                print(line(name, *pairs, told), flush=True)
        for tree in (now, before):
            tree.stop()
        if options.gpu:
            mine, theirs = now.gpu_rates(), before.gpu_rates()
            for name, rate in mine.items():  # one long kernel each: its rate hardly scatters, so a single pair decides
                ratio = theirs[name] / rate
                told.extend([f"GPU, {name}"] * (ratio > WORSE))
                print(f"| GPU, {name} | {rate:.3g} runs/s | {theirs[name]:.3g} runs/s | {ratio:.3f} | | 1 | | |", flush=True)
        if options.slow:
            print(line("test suite", *by_turns(1, now.tested, before.tested), told), flush=True)
    print(f"\n{'Worse: ' + ', '.join(told) if told else 'Nothing is worse.'}")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
