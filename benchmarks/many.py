"""Many runs at once: threads, other packages, a Dask cluster, a store larger than memory.

    python benchmarks/many.py [threads] [lanes] [peers] [dask] [stiff] [store] [--venvs DIR] [--page]

Each table comes from one run of one command, so that its rows saw the same machine; `--page` puts those that were run into
docs/many-speed.md and leaves the others there as they are. The seven-body mechanism goes to t = 0.03 with rtol 1e-5,
members differing by up to 5 % in the torque of the motor, the end state being kept. JAX and diffrax run in a virtual
environment DIR/diffrax.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import numpy as np
import stiff_sweeps
from stamp import stamp

from holonomic import RK45, __version__, sweep
from holonomic.native import cachefolder
from holonomic.native.marks import leaf
from holonomic.printing import lane_program
from holonomic.problems import pendulum, seven_body
from holonomic.sweeping import side_by_side

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "many-speed.md"
RTOL = 1e-5


def torques(members: int) -> np.ndarray:
    """The torque of the motor, up to 5 % from its published value."""
    return 0.033 * np.linspace(0.95, 1.05, members)


def run(members: int, **options):
    """The sweep that is measured."""
    problem = seven_body()
    options = {"rtol": RTOL, **options}
    return sweep(problem.system, 0.03, q0=problem.q0, v0=problem.v0, params={"mom": torques(members)}, **options)


def table(head: list[str], rows: list[list]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def seconds(go, repeat: int = 5) -> float:
    """The shortest of several times: what else runs on the machine only adds to it."""
    best = np.inf
    for _ in range(repeat):
        began = time.perf_counter()
        go()
        best = min(best, time.perf_counter() - began)
    return best


@leaf
def spin(x, count):
    """Work that needs nothing but a core."""
    for _ in range(count):
        x[0] = x[0] * 0.999 + 1e-3
    return x[0]


def two_cores() -> float:
    """How much more two threads do than one when they share nothing: the most that a sweep can gain."""
    x = np.zeros((2, 64))
    spin(x[0], 10)

    def both():
        others = [threading.Thread(target=spin, args=(x[i], 40_000_000)) for i in range(2)]
        for other in others:
            other.start()
        for other in others:
            other.join()

    ratios = [2 * seconds(lambda: spin(x[0], 40_000_000), 1) / seconds(both, 1) for _ in range(7)]
    return max(ratios)


def measure_threads() -> str:
    """1000 runs on one thread and on two, in turns."""
    rows = []
    for label, options in (("without stabilization", {"stabilization": None}), ("with projection", {})):
        run(1000, **options)
        walls, works = [], []
        for _ in range(9):
            both = [timed(lambda n=n, o=options: run(1000, workers=n, progress=False, **o)) for n in (1, 2)]
            walls.append([wall for wall, _ in both])
            works.append([work for _, work in both])
        (one, two), (alone, shared) = np.min(walls, axis=0), np.min(works, axis=0)
        rows.append([label, f"{1000 / one:.0f}", f"{1000 / two:.0f}", f"{one / two:.2f}", f"{2 * alone / shared:.2f}"])
    head = ["1000 seven-body runs", "runs/s, 1 thread", "runs/s, 2 threads", "ratio", "ratio by processor time"]
    return table(head, rows) + (
        f"\n\nTwo threads that share nothing at all did {two_cores():.2f} times the work of one on this machine then. The last "
        "column is what two free cores would give: twice the processor time of one thread over that of two."
    )


def timed(go) -> tuple[float, float]:
    """Time on the clock, and processor time of all threads."""
    clock, work = time.perf_counter(), time.process_time()
    go()
    return time.perf_counter() - clock, time.process_time() - work


def measure_lanes(members: int = 4096) -> str:
    """One thread, one by one and side by side in turns, by processor time; and what the program costs to make."""
    swing = pendulum()
    mechanism = lambda **options: run(members, **options)
    pendulums = lambda **options: sweep(
        swing.system, 10.0, q0=swing.q0, v0=swing.v0, params={"g": np.linspace(5.0, 15.0, members)}, **options
    )
    rows = []
    for label, go, options in (
        ("seven-body mechanism, rtol 1e-5", mechanism, {}),
        ("the same without stabilization", mechanism, {"stabilization": None}),
        ("the same with RK45", mechanism, {"integrator": RK45()}),
        ("pendulum over 10 s", pendulums, {}),
        ("the same, 100 times saved", pendulums, {"save_at": 100}),
    ):
        options = options | {"workers": 1, "progress": False}
        side_by_side.WHEN = "never"
        go(**options)
        side_by_side.WHEN = "at once"
        side_by_side.forget()
        with patch.object(cachefolder, "read", lambda *where: None):  # as where nothing is kept on disk
            began = time.process_time()
            lane_program._loaded.clear()
            go(**options)
            made = time.process_time() - began
        works = []
        for _ in range(5):
            both = []
            for beside in (False, True):
                side_by_side.WHEN = "at once" if beside else "never"
                both.append(timed(lambda go=go, options=options: go(**options))[1])
            works.append(both)
        alone, beside = np.min(works, axis=0) / members * 1e6
        rows.append([label, f"{alone:.1f}", f"{beside:.1f}", f"{alone / beside:.2f}", f"{made - beside * members * 1e-6:.1f}"])
    side_by_side.WHEN = "worth it"
    width = lane_program.width_here()
    head = [f"{members} members", "µs, one by one", f"µs, {width} side by side", "ratio", "s to make the program"]
    return table(head, rows)


def scipy_run(factor: float) -> float:
    """One member as one writes it with SciPy: the accelerations solved in the right-hand side, in NumPy."""
    import common
    from scipy.integrate import solve_ivp

    common.mom = 0.033 * factor
    return solve_ivp(common.andrews_ode, (0, 0.03), common.P2_Y0, method="DOP853", rtol=RTOL, atol=1e-9).y[0, -1]


def numba_run(_factor: float) -> float:
    """The same with a right-hand side in Numba; all members with the published torque, which is compiled in."""
    import common
    import numba_rhs
    from scipy.integrate import solve_ivp

    return solve_ivp(numba_rhs.andrews_ode_nb, (0, 0.03), common.P2_Y0, method="DOP853", rtol=RTOL, atol=1e-9).y[0, -1]


def measure_peers(venvs: Path) -> str:
    """Runs per second on two cores, beside processes with SciPy and vmap of JAX."""
    import multiprocessing

    sys.path.insert(0, str(HERE / "peers"))
    exact = run(8, rtol=1e-11).q[:, -1, 0]
    rows = []
    for label, options in (("holonomic, without stabilization", {"stabilization": None}), ("holonomic, with projection", {})):
        run(2000, **options)
        speed = 2000 / seconds(lambda o=options: run(2000, workers=2, progress=False, **o))
        error = np.max(np.abs(run(8, **options).q[:, -1, 0] - exact))
        rows.append([label, speed, error])
    with multiprocessing.Pool(2) as pool:
        for label, function, count in (
            ("SciPy in 2 processes, NumPy", scipy_run, 40), ("SciPy in 2 processes, Numba", numba_run, 400),
        ):  # fmt: skip
            pool.map(function, [1.0] * 4)
            speed = count / seconds(lambda f=function, n=count: pool.map(f, np.linspace(0.95, 1.05, n)), 3)
            error = np.max(np.abs(pool.map(scipy_run, np.linspace(0.95, 1.05, 8)) - exact)) if function is scipy_run else None
            rows.append([label, speed, error])
    python = venvs / "diffrax" / "bin" / "python"
    missing = ""
    if python.exists():
        done = subprocess.run([str(python), str(HERE / "peers" / "diffrax_many.py")], capture_output=True, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for row in found:
            rows.append([row["label"], row["speed"], float(np.max(np.abs(np.array(row["ends"]) - exact)))])
        if not found:
            missing = f"\n\ndiffrax failed: {done.stderr.strip().splitlines()[-1:]}"
    else:
        missing = "\n\ndiffrax was not there."
    ours = rows[0][1]
    shown = [[label, f"{ours / speed:.1f}", "" if error is None else f"{error:.0e}"] for label, speed, error in rows]
    return table(["on two cores", "time beside ours", "largest error of the crank (rad)"], shown) + missing


def measure_dask() -> str:
    """Overhead per chunk, throughput with one and two workers, and a worker killed in the middle."""
    from distributed import Client, LocalCluster

    members, rows, many = 20_000, [], 400
    problem = seven_body()
    short = {"q0": problem.q0, "v0": problem.v0, "params": {"mom": torques(16 * many)}}
    alone = seconds(lambda: run(members, workers=1, progress=False), 2)
    rows.append(["threads, 1 thread", f"{members / alone:.0f}", ""])
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        run(200, on=client)
        one = seconds(lambda: run(members, on=client, progress=False), 2)
        rows.append(["Dask, 1 worker", f"{members / one:.0f}", f"{alone / one:.2f}"])

        def tiny(on):
            from holonomic.sweeping import job

            job.MOST = 16  # many small chunks
            try:
                return seconds(lambda: sweep(problem.system, 1e-9, **short, on=on), 2)
            finally:
                job.MOST = 4096

        each = (tiny(client) - tiny("threads")) / many
        cluster.scale(2)
        client.wait_for_workers(2)
        run(200, on=client)
        two = seconds(lambda: run(members, on=client, progress=False), 2)
        rows.append(["Dask, 2 workers", f"{members / two:.0f}", f"{alone / two:.2f}"])
        victim = next(iter(client.run(os.getpid).values()))
        timer = threading.Timer(0.4 * two, os.kill, (victim, 9))
        timer.start()
        disturbed = seconds(lambda: run(members, on=client, progress=False), 1)
        rows.append(["Dask, 2 workers, one killed on the way", f"{members / disturbed:.0f}", f"{alone / disturbed:.2f}"])
    return table([f"{members} seven-body runs", "runs/s", "times one thread"], rows) + (
        f"\n\nA chunk costs {1e3 * each:.1f} ms of scheduling and transport ({many} chunks of 16 runs that end at once). The "
        f"killed worker cost {disturbed - two:.1f} s, the time in which another one was started included; no run was lost."
    )


LARGE = """
import resource, sys, time
import numpy as np
from holonomic import System, sweep
swing = System(mass=np.eye(2), force=lambda p: np.array([0.0, -p.g]), constraint=lambda q: q @ q - 1, params={"g": 9.81})
members = int(sys.argv[2])
sweep(swing, 10.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 20, 64)}, save_at=1000)
began = time.perf_counter()
runs = sweep(swing, 10.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 20, members)}, save_at=1000, store=sys.argv[1])
wrote = time.perf_counter() - began
began = time.perf_counter()
runs.mean("q")
read = time.perf_counter() - began
print(wrote, read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, len(runs.failed))
"""


def measure_store(members: int) -> str:
    """Many runs with 1000 saved times each, streamed to disk in a process whose memory is watched."""
    import xarray

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.zarr"
        done = subprocess.run([sys.executable, "-c", LARGE, str(path), str(members)], capture_output=True, text=True, check=True)
        wrote, read, memory, failed = map(float, done.stdout.split())
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        with xarray.open_zarr(path) as data:
            sizes = dict(data.sizes)
            radius = np.linalg.norm(data["q"].isel(member=members // 2).values, axis=1)
    plain = 8 * 7 * 1000 * members
    assert not failed and abs(radius - 1).max() < 1e-9
    return table(
        ["", ""],
        [
            ["runs x saved times", f"{members} x 1000"],
            ["numbers kept", f"{plain / 1e9:.1f} GB (q, v, a, λ)"],
            ["on disk", f"{size / 1e9:.1f} GB"],
            ["largest memory of the process", f"{memory:.0f} MB"],
            ["time to compute and write", f"{wrote:.0f} s, {members / wrote:.0f} runs/s"],
            ["time to read all and reduce", f"{read:.0f} s"],
            ["as xarray sees it", ", ".join(f"{name} {count}" for name, count in sizes.items())],
        ],
    )


TITLES = {
    "threads": ("Threads", "`python benchmarks/many.py threads`"),
    "lanes": (
        "Side by side in lanes",
        "A register of a processor holds two to eight numbers. In a long sweep on threads as many members go through the "
        "step loop side by side, each with its own time and step. A lane whose member has ended takes the next one. The "
        "numbers are the same bits; to check this, the first members run both ways.\n\n"
        "The loop of one plan is printed for lanes and compiled in the background of the sweep, which takes two seconds "
        "of one thread, and longer for long models. The sweep makes the program if the members that are left would take "
        "longer than that on every thread (for the mechanism of this page from 25 000 members for each thread on). It "
        "stays on disk, and a process that has it uses it at once.\n\n"
        "Lanes are for explicit methods. Members with events, tables of inputs or switches, models with opaque functions, "
        "models that are not compiled, and other engines go one by one. The table has processor time of one thread for "
        "whole calls, measured alternately. `python benchmarks/many.py lanes`",
    ),
    "peers": (
        "Beside other ways",
        "The same members with `multiprocessing` over SciPy's DOP853, the accelerations solved in the right-hand side "
        "without any stabilization, and with `vmap` of JAX over diffrax on the CPU. Times are wall times of whole calls, "
        "relative to the first row. `python benchmarks/many.py peers`",
    ),
    "dask": ("A Dask cluster", "Worker processes of one thread each on the same machine. `python benchmarks/many.py dask`"),
    "stiff": (
        "Members that turn stiff",
        "If you leave the integrator open, each member does what `simulate` would do with it. Members that change methods "
        "run through Python, the others in the compiled loop. The table compares this with the same members one after the "
        "other with `simulate`, which gives the same numbers bit for bit, and with one explicit method for all, at most "
        "200 000 steps each. Errors are relative to the largest value of each component, rtol is 1e-6. `python "
        "benchmarks/many.py stiff`",
    ),
    "store": ("Larger than memory", "A pendulum over 10 s, streamed to a Zarr store. `python benchmarks/many.py store`"),
}


def processor() -> str:
    """Name the processor, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_page(found: dict[str, str]) -> None:
    """Put measured parts into the page, each with its date; parts that were not measured stay."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = ["# Speed of many runs", INTRODUCTION]
    for name, (title, text) in TITLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if name in found:
            packages = ", ".join(f"{package} {version(package)}" for package in ("numpy", "numba", "scipy"))
            where = f"{processor()}, {os.cpu_count()} cores, holonomic {__version__}, {packages}"
            measured = f"Measured on {stamp()}, with a load of {os.getloadavg()[1]:.1f}: {where}."
            inside = f"{found[name]}\n\n{measured}"
        else:
            inside = old.partition(begin)[2].partition(end)[0].strip() or "Not measured yet."
        parts.append(f"## {title}\n\n{text}\n\n{begin}\n{inside}\n{end}")
    PAGE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


INTRODUCTION = (
    "The seven-body mechanism to t = 0.03 s with rtol 1e-5, the members differing by up to 5 % in the torque of the motor, the "
    "end state being kept. Each table comes from one run of one command, so that its rows saw the same machine; on a shared "
    "one a time may be off by a factor of two. How to run sweeps: [Many runs](tutorials/sweep.md)."
)


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*TITLES, []], help="what to measure; all if left out")
    parser.add_argument("--venvs", type=Path, default=HERE / "peers" / "venvs")
    parser.add_argument("--members", type=int, default=100_000, help="of the large store")
    parser.add_argument("--page", action="store_true", help="write docs/many-speed.md")
    options = parser.parse_args()
    measures = {
        "threads": measure_threads, "lanes": measure_lanes, "peers": lambda: measure_peers(options.venvs), "dask": measure_dask,
        "stiff": lambda: table(*stiff_sweeps.measure()), "store": lambda: measure_store(options.members),
    }  # fmt: skip
    found = {}
    for name in options.parts or list(TITLES):
        found[name] = measures[name]()
        print(f"\n{TITLES[name][0]}\n\n{found[name]}", flush=True)
    if options.page:
        write_page(found)


if __name__ == "__main__":
    main()
