"""The loop of one plan for members side by side: written by the `Specializer`, printed by `lane_machine`, kept by content."""

from __future__ import annotations

import ast
import ctypes
import functools
import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from ..errors import NEED_TERMS
from ..kernels.memory import FIXED, RUN
from ..kernels.saddle import dense_saddle, dense_short
from ..kernels.signatures import CAREFUL, REFINED, TERMS, Fn
from ..loop.automatic_looks import ROWS
from ..loop.batch import Results
from ..loop.lanes import Waiting, lane, look_carefully, next_of, run_lanes
from ..model import emit
from ..model.tape import Tape
from ..native import cachefolder, host, layout
from ..sweeping.job import Job
from .fold import Array, Known, Parts, Place, Table
from .lane_code import ENTRY, compiled
from .lane_memory import LANES, REAL, SHARED, WHOLE, LaneArray
from .one_member import REALS, WHOLES, bound_of, local_of
from .specialize import Specializer

# arrays that all lanes share, by name: kind and axes
SHARED_ARRAYS = {
    "method_sp": (REAL, 1), "scale_atol": (REAL, 1), "record_save_t": (REAL, 1), "looks_steps": (WHOLE, 1),
    "looks_expected": (REAL, 1), "halt": (WHOLE, 1),
    "stops": (REAL, 1), "waiting_place": (WHOLE, 1), "waiting_members": (WHOLE, 1), "waiting_data": (REAL, 2),
    "waiting_x": (REAL, 2), "waiting_reals": (REAL, 1), "waiting_wholes": (WHOLE, 1), "results_t": (REAL, 2),
    "results_x": (REAL, 3), "results_k": (REAL, 3), "results_status": (WHOLE, 1), "results_reached": (REAL, 1),
    "results_steps": (WHOLE, 1), "results_rows": (WHOLE, 1), "results_notes": (REAL, 2),
}  # fmt: skip
VIEWS = ("record_t", "record_x", "record_k")  # of the results of a lane's member, made by the program
LINE = 64  # bytes of a line of the cache, and of the longest vector


@dataclass(frozen=True)
class LaneProgram:
    """Machine code of one plan, and the memory that its lanes need."""

    function: Any
    width: int
    local: dict[str, tuple[tuple[int, ...], str]]  # shape of one lane, and type, of each array

    def run(self, shared: dict[str, np.ndarray]) -> None:
        """Run members that wait; `shared` are the arrays of that name."""
        rooms = [aligned(math.prod(shape) * self.width, kind) for shape, kind in self.local.values()]
        words = [room.ctypes.data for room in rooms]
        for name, (kind, _) in SHARED_ARRAYS.items():
            array = shared[name]
            assert array.dtype == (np.float64 if kind == REAL else np.int64) and array.flags.c_contiguous, name
            words += [array.ctypes.data, *array.shape]
        told = np.array(words, dtype=np.int64)
        self.function(told.ctypes.data)


def aligned(count: int, kind: str) -> np.ndarray:
    """Zeros that begin where a line of the cache does."""
    line = LINE // 8
    room = np.zeros(count + line, dtype=kind)
    first = (-room.ctypes.data // 8) % line
    return room[first : first + count]


@functools.cache
def width_here() -> int:
    """Members side by side: as many doubles as fit a register of this processor, four at least."""
    return 8 if dict(llvm.get_host_cpu_features()).get("avx512f") else 4


def program_here(job: Job, why: int, looked: bool) -> LaneProgram:
    """Return the program of a job for this processor."""
    return program_of(job, why, looked, width_here())


def program_of(job: Job, why: int, looked: bool, width: int) -> LaneProgram:
    """Return the program of a job, from the cache where it is there; `why` and `looked` say which looks are taken."""
    groups = job.program.tapes
    tapes: dict[int, Tape] = {
        Fn[name]: Tape.from_text(text) for group in ("run", "refined", "terms") for name, text in groups.get(group, {}).items()
    }
    size = job.program.size
    local = local_of(job, size)
    rows, columns = local["state_K"][0]
    local |= {
        "state_K": ((rows + 2, columns), "float64"),  # the last two for what is noted, as for one member
        "looks_spare": ((ROWS + 1, columns), "float64"), "model_data": ((len(job.data),), "float64"),
    }  # fmt: skip
    bound = bound_of(job, size, local) | _bound(job, why, looked, local)
    careful = {2 * CAREFUL: look_carefully} | {fn: True for fn in (REFINED, TERMS) if fn in tapes}
    bound["model"] = Parts(bound["model"].fields | {"fns": Table(careful), "data": Array(local["model_data"][0], {}, "model_data")})
    writer = Specializer({dense_saddle: NEED_TERMS, dense_short: NEED_TERMS}, words=(next_of, lane))  # pivoting is left to others
    entry, left = writer.function(run_lanes, bound)
    given = [each for each in dict.fromkeys(left) if each not in VIEWS]
    writer.functions[-1].args.args = [ast.arg(each) for each in given]
    functions = {each.name: ast.fix_missing_locations(each) for each in writer.functions}
    used = {f"model_{number}": tapes[number] for number in sorted(writer.calls)}
    arrays = {name: LaneArray(WHOLE if kind == "int64" else REAL, LANES, shape) for name, (shape, kind) in local.items()} | {
        name: LaneArray(kind, SHARED, (None,) * axes) for name, (kind, axes) in SHARED_ARRAYS.items()
    }
    content = _content(functions, used, arrays, width)
    if content not in _loaded:
        code = cachefolder.read("models", content + ".o")
        found = None if code is None else host.load(code, (ENTRY,))
        if found is None:
            code = compiled(functions, used, entry, given, arrays, width)
            cachefolder.write("models", content + ".o", code)
            found = host.load(code, (ENTRY,))
            if found is None:
                raise RuntimeError("compiled machine code could not be loaded")
        _loaded[content] = LaneProgram(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found[ENTRY]), width, local)
    return _loaded[content]


_loaded: dict[str, LaneProgram] = {}


def _bound(job: Job, why: int, looked: bool, local) -> dict[str, Any]:
    """What is known of the parameters of `run_lanes` beyond what a member's program knows."""
    fields: dict[str, Any] = {}
    for kind, array in ((layout.REAL, REALS), (layout.WHOLE, WHOLES)):
        fields |= {name: Place(array, place) for name, place in RUN.places(kind).items()}
    apart = lambda kind: Parts({name: Array(None, {}, f"{kind.__name__.lower()}_{name}") for name in kind._fields})
    positions = 0 if job.open is None else job.open.positions(job.program.model)
    return {
        "run": Parts(fields, {name: Known(getattr(job.memory, name)) for name in FIXED if name != "uneven"}),
        "run_reals": Array(local[REALS][0], {}, REALS), "run_wholes": Array(local[WHOLES][0], {}, WHOLES),
        "looks": Parts({
            "wanted": Known(looked), "why": Known(why), "positions": Known(positions), "steps": Array(None, {}, "looks_steps"),
            "expected": Array(None, {}, "looks_expected"), "spare": Array(local["looks_spare"][0], {}, "looks_spare"),
        }),
        "halt": Array((1,), {}, "halt"), "stops": Array((1,), {}, "stops"), "waiting": apart(Waiting), "results": apart(Results),
    }  # fmt: skip


@functools.cache
def _makers() -> bytes:
    """The hash of what turns functions and tapes into machine code."""
    digest = hashlib.sha256(host.identity().encode())
    model = Path(emit.__file__)
    for path in (*sorted(Path(__file__).parent.glob("lane_*.py")), *map(model.with_name, ("emit.py", "lines.py", "sines.py"))):
        digest.update(path.read_bytes())
    return digest.digest()


def _content(functions, tapes: dict[str, Tape], arrays, width: int) -> str:
    digest = hashlib.sha256(_makers())
    for function in functions.values():
        digest.update(ast.unparse(function).encode())
    for name, tape in tapes.items():
        digest.update(f"{name} {tape.text()}".encode())
    digest.update(repr((arrays, width)).encode())
    return digest.hexdigest()[:32]
