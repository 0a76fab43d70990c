"""Programs of one member, run by Python itself and by Node: what pages run, without a page."""

from __future__ import annotations

import ast
import json
import math
import shutil
import subprocess

import numpy as np

from holonomic.arguments import Asked, GivenStart
from holonomic.kernels.memory import RUN
from holonomic.native.layout import REAL, WHOLE
from holonomic.printing.in_page import GIVEN, page_program
from holonomic.printing.javascript import prelude
from holonomic.printing.one_member import REALS, WHOLES
from holonomic.printing.trig import sincos
from holonomic.sweeping.sweep import AskedMembers, job_of

NODE = shutil.which("node")


def job(problem, t_end, moved: dict, saved: int, start: GivenStart | None = None, **options):
    """A job of one member, as a page has it, whose parameters `moved` are told to the program."""
    params = {name: np.array([value]) for name, value in moved.items()}
    start = GivenStart(initial="project") if start is None else start
    return job_of("view", problem, t_end, start, Asked(save_at=saved, **options), AskedMembers(params=params), True)


def by_python(made) -> tuple[dict, np.ndarray]:
    """Run the program of a job in Python, operation by operation; return what it left and the saved states."""
    printed = page_program(made)
    program, numbers = printed.program, printed.numbers(made)
    space = {"math": math, "inf": math.inf, "nan": math.nan, "sincos": sincos}
    for text in program.models.values():
        exec(text, space)
    for function in program.functions:
        exec(ast.unparse(ast.fix_missing_locations(function)), space)
    times, nx, nk = made.shape
    given = {name: np.zeros(shape) for name, (shape, _) in program.local.items()}
    given["state_x"][:] = numbers["x0"]
    given[REALS][:], given[WHOLES][:] = numbers["REALS0"], numbers["WHOLES0"]
    given = {name: Numbers(each) if each.ndim == 1 else Rows(map(Numbers, each)) for name, each in given.items()}
    given[WHOLES] = Wholes(given[WHOLES])
    given |= {
        "m": 0, "model_data": (Numbers(numbers["C"]), Numbers(numbers["P"])), "method_sp": Numbers(numbers["sp"]),
        "scale_atol": Numbers(numbers["atol"]), "tables_stops": Numbers(numbers["stops"]), "record_t": Numbers(np.zeros(times)),
        "record_x": Rows([Numbers(np.zeros(nx)) for _ in range(times)]), "record_save_t": Numbers(numbers["save_t"]),
        "record_k": Rows([Numbers(np.zeros(nk)) for _ in range(times)]), "log_ended": Numbers([-1.0]), "log_count": Numbers([0.0]),
        "tol": numbers["tol"], "least": numbers["least"],
    }  # fmt: skip
    given[f"REALS0[{RUN.places(REAL)['t']}]"] = float(numbers["REALS0"][RUN.places(REAL)["t"]])
    *checks, (name, left) = program.calls
    for check, arguments in checks:
        assert space[check](*(given[each] for each in arguments)), check
    status = space[name](*(given[each] for each in left))
    places = RUN.places(WHOLE)
    told = {"status": status, "accepted": given[WHOLES][places["accepted"]], "rejected": given[WHOLES][places["rejected"]]}
    return told, np.array([list(row) for row in given["record_x"]])


class Numbers(list):
    """An array of one axis whose entries are Python's floats, and divide by zero as IEEE has it: not at all here."""

    def __init__(self, values):
        super().__init__(float(value) for value in values)
        self.shape = (len(self),)


class Wholes(list):
    """The same for whole numbers."""

    def __init__(self, values):
        super().__init__(int(value) for value in values)
        self.shape = (len(self),)


class Rows(list):
    """A matrix."""

    @property
    def shape(self):
        return len(self), len(self[0])

    def __getitem__(self, at):
        return super().__getitem__(at[0])[at[1]] if isinstance(at, tuple) else super().__getitem__(at)

    def __setitem__(self, at, value):
        super().__getitem__(at[0])[at[1]] = value


def by_node(made, x0=None, moved=(), repeat: int = 1) -> tuple[dict, np.ndarray]:
    """Run the program of a job in Node; return what it left and the saved states."""
    printed = page_program(made)
    numbers = printed.numbers(made)
    for place, value in moved:
        numbers["P"][place] = value
    times, nx, nk = made.shape
    if x0 is not None:
        numbers["x0"] = x0
    names = ", ".join(f"N.{name.strip()}" if "OUT" not in name else name for name in GIVEN.split(","))
    script = f"""{prelude()}
    const number = v => typeof v === "string" ? Number(v) : v;
    const N = {json.dumps({name: plain(value) for name, value in numbers.items()})};
    for (const name in N) N[name] = Array.isArray(N[name]) ? Float64Array.from(N[name], number) : number(N[name]);
    const OUT_X = matrix({times}, {nx}), OUT_K = matrix({times}, {nk}), run = ({printed.text})(N.C, N.P);
    let told;
    for (let k = 0; k < {repeat}; k++) told = run({names});
    console.log(JSON.stringify({{ told, x: OUT_X.map(row => Array.from(row)) }}));"""
    done = subprocess.run([NODE, "-"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    return found["told"], np.array(found["x"], dtype=float)


def plain(value):
    """Numbers as JSON has them; what it has not, as text."""
    if np.ndim(value):
        return [plain(each) for each in np.asarray(value).tolist()]
    value = float(value)
    return value if math.isfinite(value) else "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
