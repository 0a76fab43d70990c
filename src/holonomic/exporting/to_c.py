"""export(): a simulation as a C library that needs no Python."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import Asked, GivenStart, refuse_unknown
from ..errors import BadArgument
from ..files import made_folder, writable, write_bytes
from ..planning.plan import Plan
from . import c_text
from .exported_run import ENDLESS, ExportedRun
from .platforms import Platform, link, platform_of
from .settled import settled
from .step_bound import StepBound, step_bound

RUNTIME = Path(__file__).with_name("c")


@dataclass(frozen=True)
class Exported:
    """What `export` has written.

    Attributes
    ----------
    name : str
        With which all functions of the library begin.
    plan : Plan
        What runs there; `plan.why()` says it in words.
    bound : StepBound or None
        What a step costs at most, where steps are fixed, explicit, and not searched for events; the header says it in words.
    folder, library, header, example, cmake : pathlib.Path
        Where its files are.
    """

    name: str
    plan: Plan
    bound: StepBound | None
    folder: Path
    library: Path
    header: Path
    example: Path
    cmake: Path


def export(
    system, t_end=None, *positional, folder=None, q0=None, v0=None, y0=None, s0=None, w0=None, x0=None, dx0=None, ddx0=None,
    lam0=None, name: str | None = None, platform: str | None = None, integrator="auto", stabilization="auto",
    formulation="auto", rtol=None, atol=None, step=None, constraint_tol=None, events: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None, initial: str = "check", hold=None, redundant: str | None = None,
    max_steps: int = 1_000_000, max_step: float = np.inf, first_step: float | None = None, **unknown,
) -> Exported:  # fmt: skip
    """Write a simulation as a C library: no Python, the same steps as `simulate` takes, bit for bit.

    The folder gets a header, a shared library, an example in C and a CMake file. Methods do not change on the way: with the
    integrator left open, the run is tried once, and the method that took it from start to end is the library's.

    Parameters
    ----------
    system : System, Ode, Problem or Mechanism
        What to simulate. Parameters can be set in C, and so can inputs that are numbers.
    t_end : float or (float, float)
        As for `simulate`; in C a run may go on beyond it. The first step is chosen with it in view.
    folder : str or pathlib.Path
        Where to write; made if it is not there. What an export has written there before is written over.
    q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant
        The start, as in `simulate`, with which an instance begins; C may give another one.
    name : str, optional
        With which functions begin in C; that of the folder. What C cannot spell is spelled otherwise: "π 1" is pi_1.
    platform : str, optional
        "linux-x86-64-v3", "linux-x86-64-v2", "linux-arm64", "windows-x86-64", "macos-arm64" or "macos-x86-64"; this
        computer's if not given. For others the extra `export` brings a compiler. Without the fused multiplications of
        x86-64-v3 and ARM last bits differ.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, events, inputs, max_step, first_step
        Methods, tolerances, events and inputs, as in `simulate`. Maps of events (`then=`) are traced; inputs that are tables follow
        them. Comparisons of an `if` are not located in C: they take `max_step` or `step`.
    max_steps : int
        Steps that one call of `step_to` may try.
    *positional, **unknown
        Nothing: a start without its name is refused, and so is an unknown name.

    Returns
    -------
    Exported
        The paths of what was written.

    Raises
    ------
    BadArgument
        What cannot leave Python: functions that are not traced, methods of yours, a change of method on the way.
    MissingExtra
        There is no C compiler.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, export
    >>> swing = System(mass=np.eye(2), force=lambda p: [0, -p.g], constraint=lambda q: q @ q - 1, params={"g": 9.81})
    >>> made = export(swing, 10.0, q0=[1, 0], v0=[0, 0], folder="swing")  # doctest: +SKIP
    >>> made.library  # doctest: +SKIP
    PosixPath('swing/libswing.so')
    """
    if positional or unknown:
        refuse_unknown(export, positional, unknown, system)
    if folder is None:
        raise BadArgument('export(...) writes files: say where, with folder="swing".')
    folder, target = made_folder(folder, "export"), platform_of(platform)
    name = c_text.library_name(folder.resolve().name if name is None else name)
    files = (target.library.format(name), f"{name}.h", "main.c", "CMakeLists.txt")
    _refuse_to_overwrite(folder / each for each in files[2:])
    start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant)
    asked = Asked(
        formulation, integrator, stabilization, rtol, atol, step, constraint_tol, events=events, inputs=inputs,
        max_steps=max_steps, max_step=max_step, first_step=first_step, progress=False,
    )  # fmt: skip
    ready, t_end = settled("export", system, t_end, start, asked)
    run = ExportedRun(ready, t_end, asked._replace(max_steps=ENDLESS).limits())
    made = Exported(name, run.plan, step_bound(run), folder, *(folder / file for file in files))
    names = c_text.ExportedNames.of(run)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        (place / files[1]).write_text(c_text.header(name, run, names))
        (place / files[2]).write_text(c_text.example(name, run.ready.t0, t_end))
        (place / files[3]).write_text(c_text.cmake(name, files[0]))
        _link(place, name, run, names, target, t_end, asked.limits()["max_steps"])
        for made_file in (*files, *(each.name for each in place.glob(f"{name}.lib"))):
            write_bytes(writable(folder / made_file, "export"), (place / made_file).read_bytes())
    return made


def _refuse_to_overwrite(files: Iterable[Path]) -> None:
    """Leave files alone that have names of ours and are somebody else's."""
    for file in files:
        if file.exists() and c_text.MARK not in file.read_text(errors="replace"):
            raise BadArgument(f"{file} is there already and was not written by an export: give another folder.")


def _link(
    place: Path, name: str, run: ExportedRun, names: c_text.ExportedNames, target: Platform, t_end: float, most_steps: int
) -> None:
    """Link the library, beside its header."""
    parts = place / "parts"
    parts.mkdir()
    for file, code in run.parts.objects(target).items():
        (parts / file).write_bytes(code)
    (place / "model_data.h").write_text(c_text.model_data(name, run, names, t_end, most_steps))
    link(target, [RUNTIME / "runtime.c", *parts.glob("*.o")], place, place / target.library.format(name))
