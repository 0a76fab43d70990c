"""export_fmu(): a simulation as a functional mock-up unit for co-simulation, or an ODE for model exchange."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import Asked, GivenStart, refuse_unknown
from ..errors import BadArgument
from ..files import as_path, made_folder, writable, written
from ..integrators.runge_kutta import RK45
from ..planning.plan import Plan
from ..planning.switchless import followed
from ..planning.words import methods
from ..running.one_plan import OnePlan
from ..simulate import simulate
from . import c_text
from .exported_run import ENDLESS, ExportedRun
from .model_description import description, variable_table, variables_of
from .platforms import Platform, link, platform_of
from .settled import settled
from .to_c import RUNTIME

VERSIONS = ("2.0", "3.0")
KINDS = ("cosimulation", "model-exchange")
NO_MODEL_EXCHANGE = (
    'kind="model-exchange" hands the equations to an integrator that knows nothing of constraints: a pendulum drifts off its rod '
    'by 1e-4 in ten seconds at rtol 1e-6. Take kind="cosimulation", where steps and projections are those of simulate.'
)


@dataclass(frozen=True)
class ExportedUnit:
    """What `export_fmu` has written.

    Attributes
    ----------
    path : pathlib.Path
        The unit.
    name : str
        Its model identifier.
    version : str
        Of FMI.
    plan : Plan
        What runs there; `plan.why()` says it in words.
    variables : list of str
        Names of all variables; their value references are their places.
    """

    path: Path
    name: str
    version: str
    plan: Plan
    variables: list[str]


def export_fmu(
    system, t_end=None, *positional, path=None, version: str = "3.0", kind: str = "cosimulation",
    platforms: Sequence[str] | None = None, check: bool = False, q0=None, v0=None, y0=None, s0=None, w0=None, x0=None, dx0=None,
    ddx0=None, lam0=None, name: str | None = None, integrator="auto", stabilization="auto", formulation="auto", rtol=None,
    atol=None, step=None, constraint_tol=None, events: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None, initial: str = "check", hold=None, redundant: str | None = None,
    max_steps: int = 1_000_000, max_step: float = np.inf, first_step: float | None = None, **unknown,
) -> ExportedUnit:  # fmt: skip
    """Write a simulation as a functional mock-up unit (FMU) for co-simulation: the same kernels and the same steps as `simulate`.

    An ODE can be a unit for model exchange instead.

    Outputs are positions and velocities (`q.`, `v.`), outputs of the system (`y.`), forces of joints (`joint.`) and how often
    events have happened (`events.`). Inputs are called `u.`, parameters `p.`; those that constraints depend on are set before the
    end of initialization, where the start is moved onto the constraints. States can be saved, restored and serialized.

    Parameters
    ----------
    system, t_end, q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant
        What to simulate and where it starts, as for `export`; t_end is the stop time that the unit suggests.
    path : str or pathlib.Path
        Where to write, such as "swing.fmu".
    version : {"3.0", "2.0"}
        Of FMI. With 2.0, inputs may come with a slope.
    kind : {"cosimulation", "model-exchange"}
        Model exchange gives derivatives to an integrator of others: for an `Ode`, and a System without constraints. It is refused
        where there are constraints or invariants, which would drift, events, or inputs that are tables.
    platforms : sequence of str, optional
        As for `export`, one or several; this computer's if not given.
    check : bool
        Run the unit with FMPy (`pip install 'holonomic[fmu]'`): it is valid, ends where `simulate` ends bit for bit, with inputs as
        they are and with steps of them, and goes on alike from saved states and beside another instance. Raises what differs.
    name : str, optional
        Model identifier; that of the file.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, events, inputs, max_steps, max_step, first_step
        As for `export`.
    *positional, **unknown
        Nothing: a start without its name is refused, and so is an unknown name.

    Returns
    -------
    ExportedUnit
        Where the unit is, and what is in it.
    """
    if positional or unknown:
        refuse_unknown(export_fmu, positional, unknown, system)
    if path is None:
        raise BadArgument('export_fmu(...) writes a file: say where, with path="swing.fmu".')
    if kind not in KINDS:
        raise BadArgument(f"kind={kind!r}: there are {' and '.join(map(repr, KINDS))}.")
    if version not in VERSIONS:
        raise BadArgument(f"version={version!r}: there are {' and '.join(map(repr, VERSIONS))}.")
    as_path(path, "export_fmu")
    path, targets = Path(path), targets_of(version, platforms)
    if check and not any(each.is_here() for each in targets):
        names = ", ".join(each.name for each in targets)
        raise BadArgument(f"check=True runs the unit on this computer, and it is for {names} alone: name this one, too.")
    made_folder(path.parent, "export_fmu")
    target = writable(path, "export_fmu")
    name = c_text.library_name(path.stem if name is None else name)
    start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant)
    asked = Asked(
        formulation, integrator, stabilization, rtol, atol, step, constraint_tol, events=events, inputs=inputs,
        max_steps=max_steps, max_step=max_step, first_step=first_step, progress=False,
    )  # fmt: skip
    exchanges = kind == "model-exchange"
    if exchanges and asked.integrator == "auto":
        asked = asked._replace(integrator=RK45())  # any: it begins the run, and takes no step of it
    ready, t_end = settled("export_fmu", system, t_end, start, asked, exchanges)
    if exchanges:
        _refuse_exchange(ready)
    run = ExportedRun(ready, t_end, asked._replace(max_steps=ENDLESS).limits())
    names = c_text.ExportedNames.of(run)
    variables = variables_of(run, names, exchanges)
    about = "derivatives, for an integrator of others" if exchanges else "; ".join(methods(run.plan))
    token = hashlib.sha256(f"{name} {about} {[vars(each) for each in variables]}".encode() + run.arena.image).hexdigest()[:32]
    span, rtol = (ready.t0, t_end), run.plan.choice.kept_rtol
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        data = c_text.model_data(
            name, run, names, t_end, asked.limits()["max_steps"], HOL_TOKEN=f'"{token}"', HOL_N_VARIABLES=len(variables),
            HOL_VARIABLES=variable_table(variables), HOL_EXCHANGES=int(exchanges),
        )  # fmt: skip
        (place / "model_data.h").write_text(f"#define {name.upper()}_API\n{data}")
        (place / f"{name}.h").write_text(c_text.header(name, run, names))
        binaries = {_place_in(version, each, name): _linked(run, each, version, place) for each in targets}
        with written(target) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as unit:
            unit.writestr("modelDescription.xml", description(version, name, token, span, rtol, about, variables))
            for inside, library in binaries.items():
                unit.writestr(inside, library)
    made = ExportedUnit(path, name, version, run.plan, [each.name for each in variables])
    if check and exchanges:
        from .checked_exchange import check_exchange

        check_exchange(made, run, platform_of(None) in targets)
    elif check:
        from .checked_unit import check_unit

        asked = asked._replace(**{each: getattr(run.plan.choice, each) for each in asked.methods})
        given = start._asdict() | asked._asdict() | {"save_at": None}
        begun = {each.name.removeprefix("u."): each.start for each in variables if each.causality == "input"}

        def simulated(held=None):
            return simulate(system, span, **given | {"inputs": {**(given["inputs"] or {}), **(held or {})} or None})

        check_unit(made, span, simulated, begun, platform_of(None) in targets)
    return made


def _refuse_exchange(ready: OnePlan) -> None:
    """Refuse model exchange where an integrator that sees derivatives alone would go wrong."""
    model = ready.plan.model
    if model.n_lam or model.n_invariants or model.nw:
        raise BadArgument(NO_MODEL_EXCHANGE)
    for each in followed(model.switches):
        raise BadArgument(
            f'kind="model-exchange" tells an integrator of others nothing of the comparison {each}, which simulate locates: its '
            'steps may leap over all that it turns on and off. Take kind="cosimulation" with max_step= or step=.'
        )
    for what, there in (("events=", bool(ready.plan.events)), ("inputs that are tables", len(ready.tables.breaks) > 0)):
        if there:
            raise BadArgument(f'kind="model-exchange" has no {what}: leave that to who integrates, or take kind="cosimulation".')


def targets_of(version: str, platforms: Sequence[str] | None) -> list[Platform]:
    """Return the platforms of a unit; FMI 2.0 has no place for ARM."""
    if platforms is not None and (isinstance(platforms, str) or not isinstance(platforms, Iterable)):
        such = platforms if isinstance(platforms, str) else "linux-arm64"
        raise BadArgument(f"platforms= is a list of names, such as [{such!r}], got {platforms!r}.")
    targets = [platform_of(each) for each in platforms] if platforms is not None else [platform_of(None)]
    if not targets:
        raise BadArgument("platforms=[]: a unit needs one at least.")
    for each in targets:
        if version == "2.0" and each.fmi2 is None:
            raise BadArgument(f'FMI 2.0 has no place for {each.name}. Take version="3.0".')
    places = [each.fmi3 for each in targets]
    for k, each in enumerate(targets):
        if places.index(each.fmi3) != k:
            first = targets[places.index(each.fmi3)].name
            raise BadArgument(f"platforms= has two for {each.fmi3}, where a unit has one: {first} and {each.name}.")
    return targets


def _place_in(version: str, platform: Platform, name: str) -> str:
    folder = platform.fmi2 if version == "2.0" else platform.fmi3
    ending = {"windows": "dll", "macos": "dylib"}.get(platform.system, "so")
    return f"binaries/{folder}/{name}.{ending}"


def _linked(run: ExportedRun, platform: Platform, version: str, place: Path) -> bytes:
    """The library of a unit for a platform."""
    folder = place / platform.name
    folder.mkdir()
    for file, code in run.parts.objects(platform).items():
        (folder / file).write_bytes(code)
    library = folder / "unit"
    sources = [RUNTIME / "runtime.c", RUNTIME / f"fmi{version[0]}.c", *sorted(folder.glob("*.o"))]
    link(platform, sources, place, library)
    return library.read_bytes()
