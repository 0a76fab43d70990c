"""A unit as others run it: loaded by FMPy, compared with `simulate` and with itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ..errors import HolonomicError, MissingExtra
from ..results.solution import Solution

if TYPE_CHECKING:
    from .to_fmu import ExportedUnit

STEPS = (0.31, 0.02, 0.17, 0.09, 0.41)  # communication steps, as shares of the run; the third ends where the state is saved
STEPPED = 0.01  # by how much inputs step between communication points, in 1 + their size
NEAR = 1e3  # how far ends may be apart, in rtol, where processors round otherwise


class UnitDiffers(HolonomicError):
    """A unit that does not do what `simulate` does, or that is not valid."""


def check_unit(
    made: ExportedUnit, span: tuple[float, float], simulated: Callable[..., Solution], inputs: dict[str, float], same_bits: bool
) -> None:
    """Run a unit with FMPy; raise where it is not valid, ends elsewhere than `simulate`, or forgets something in its states.

    `simulated(held)` gives the run with other tables in the place of `inputs`, the values of those that can be set.
    """
    described, folder = read_by_fmpy(made)
    try:
        # the second time: a first run may compile a function on the way, and implicit methods take that step in another way
        allowed = 0.0 if same_bits else NEAR * made.plan.choice.kept_rtol
        with _loaded(made, described, folder, span[0]) as unit:
            unit.step(span[0], span[1] - span[0])
            _demand(made, "the end", *_ends(unit, [simulated() for _ in range(2)][1]), allowed)
        if inputs:
            between = span[0] + STEPS[0] * (span[1] - span[0])
            stepped = {name: value + STEPPED * (1.0 + abs(value)) for name, value in inputs.items()}
            held = {name: ([span[0], between], [inputs[name], value], "hold") for name, value in stepped.items()}
            with _loaded(made, described, folder, span[0]) as unit:
                unit.step(span[0], between - span[0])
                unit.set(stepped)
                unit.step(between, span[1] - between)
                _demand(made, "the end after a step of its inputs", *_ends(unit, simulated(held)), allowed)
        _compare(made, described, folder, span, inputs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read_by_fmpy(made: ExportedUnit):
    """Return what FMPy reads of a valid unit, and the folder in which it has been unpacked."""
    try:
        from fmpy import extract, read_model_description
        from fmpy.validation import validate_fmu
    except ImportError:
        raise MissingExtra("check=True runs the unit with FMPy. Install it with: pip install 'holonomic[fmu]'") from None
    if problems := validate_fmu(str(made.path)):
        raise UnitDiffers(f"{made.path.name} is not valid: {problems[0]}")
    return read_model_description(str(made.path)), extract(str(made.path))


def _ends(unit: _Instance, sol: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of a unit and of a run, at their ends."""
    wanted = np.concatenate([sol.q[-1], sol.v[-1]]) if sol.v is not None else sol.q[-1]
    return unit.state()[: len(wanted)], wanted


def _compare(made: ExportedUnit, described, folder: str, span: tuple[float, float], inputs: dict[str, float]) -> None:
    """Two instances at once, in unequal communication steps with other inputs in each, on from saved and serialized states."""
    t0, t1 = span
    moved = lambda k: {name: value + STEPPED * k * (1.0 + abs(value)) for name, value in inputs.items()}
    with _loaded(made, described, folder, t0) as first, _loaded(made, described, folder, t0) as second:
        times = t0 + np.cumsum([0.0, *STEPS]) * (t1 - t0)
        for k in range(3):
            for unit in (first, second):
                unit.set(moved(k))
                unit.step(times[k], times[k + 1] - times[k])
        kept, bytes_of_it, over = first.keep()
        for k in range(3, len(STEPS)):
            first.set(moved(k))
            first.step(times[k], times[k + 1] - times[k])
        end = first.state()
        first.go_back(kept, over)
        second.read(bytes_of_it, over)
        for unit, what in ((first, "a restored state"), (second, "a serialized state in another instance")):
            for k in range(3, len(STEPS)):
                unit.set(moved(k))
                unit.step(times[k], times[k + 1] - times[k])
            _demand(made, what, unit.state(), end, 0.0)


def _demand(made: ExportedUnit, what: str, found, wanted, allowed: float) -> None:
    far = float(np.max(np.abs(np.asarray(found) - wanted) / np.maximum(1.0, np.abs(wanted)), initial=0.0))
    if not far <= allowed:
        raise UnitDiffers(f"{made.path.name}: {what} differs by {far:.1e} from what simulate gives (allowed {allowed:.1e}).")


@contextmanager
def _loaded(made: ExportedUnit, described, folder: str, t0: float):
    """An instance after its initialization."""
    from fmpy.fmi2 import FMU2Slave
    from fmpy.fmi3 import FMU3Slave

    given = {"guid": described.guid, "unzipDirectory": folder, "modelIdentifier": made.name, "instanceName": made.name}
    slave = (FMU2Slave if made.version == "2.0" else FMU3Slave)(**given)
    slave.instantiate()
    try:
        yield _Instance(slave, made, t0)
    finally:
        slave.freeInstance()


class _Instance:
    """The same calls for both versions of FMI."""

    def __init__(self, slave, made: ExportedUnit, t0: float):
        self._slave, self._old = slave, made.version == "2.0"
        self._inputs = {name.removeprefix("u."): k for k, name in enumerate(made.variables) if name.startswith("u.")}
        self._shown = [k for k, name in enumerate(made.variables) if name.startswith(("q.", "v.", "y.", "joint."))]
        if self._old:
            slave.setupExperiment(startTime=t0)
            slave.enterInitializationMode()
        else:
            slave.enterInitializationMode(startTime=t0)
        slave.exitInitializationMode()
        self._over = False

    def step(self, t: float, h: float) -> None:
        """Take a communication step; behind a terminal event there is none."""
        if self._over:
            return
        if self._old:
            try:
                self._slave.doStep(currentCommunicationPoint=t, communicationStepSize=h)
            except Exception:  # FMPy's own, for a discarded step
                from fmpy.fmi2 import fmi2Terminated

                self._over = bool(self._slave.getBooleanStatus(fmi2Terminated))
                if not self._over:
                    raise
        else:
            _, self._over, _, _ = self._slave.doStep(t, h)

    def set(self, inputs: dict[str, float]) -> None:
        """Enter inputs, which are held from here on."""
        if not self._over and inputs:
            enter = self._slave.setReal if self._old else self._slave.setFloat64
            enter([self._inputs[name] for name in inputs], list(inputs.values()))

    def state(self) -> np.ndarray:
        """Positions, velocities, outputs."""
        get = self._slave.getReal if self._old else self._slave.getFloat64
        return np.array(get(self._shown))

    def keep(self):
        """Save the state; return it, the same as bytes, and whether the run is over."""
        slave = self._slave
        kept = slave.getFMUstate() if self._old else slave.getFMUState()
        return kept, slave.serializeFMUstate(kept) if self._old else slave.serializeFMUState(kept), self._over

    def go_back(self, kept, over: bool) -> None:
        """Restore a state of its own."""
        self._over = over
        self._slave.setFMUstate(kept) if self._old else self._slave.setFMUState(kept)

    def read(self, bytes_of_it, over: bool) -> None:
        """Take over a state that was serialized elsewhere."""
        slave = self._slave
        self._over = over
        if self._old:
            slave.setFMUstate(slave.deSerializeFMUstate(bytes_of_it))
        else:
            slave.setFMUState(slave.deserializeFMUState(bytes_of_it))
