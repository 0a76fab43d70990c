"""A unit for model exchange as others run it: loaded by FMPy, its derivatives compared with those of the model."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.signatures import Fn
from .checked_unit import UnitDiffers, read_by_fmpy
from .exported_run import ExportedRun

if TYPE_CHECKING:
    from .to_fmu import ExportedUnit

PLACES = 20  # times and states at which derivatives are compared
FAR = 0.1  # how far these lie from the start, in 1 + its size
NEAR = 1e-12  # how far derivatives may be apart where processors round otherwise


def check_exchange(made: ExportedUnit, run: ExportedRun, same_bits: bool) -> None:
    """Load a unit for model exchange; raise where it is not valid, or its states or derivatives are not those of the model."""
    described, folder = read_by_fmpy(made)
    try:
        unit = _instance(made, described, folder)
        try:
            _compare(made, unit, run, 0.0 if same_bits else NEAR)
        finally:
            unit.freeInstance()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _instance(made: ExportedUnit, described, folder: str):
    """An instance between two steps of an integrator."""
    from fmpy.fmi2 import FMU2Model
    from fmpy.fmi3 import FMU3Model

    kind = FMU2Model if made.version == "2.0" else FMU3Model
    unit = kind(guid=described.guid, unzipDirectory=folder, modelIdentifier=made.name, instanceName=made.name)
    unit.instantiate()
    t0 = float(described.defaultExperiment.startTime)
    if made.version == "2.0":
        unit.setupExperiment(startTime=t0)
        unit.enterInitializationMode()
    else:
        unit.enterInitializationMode(startTime=t0)
    unit.exitInitializationMode()
    unit.enterContinuousTimeMode()
    return unit


def _compare(made: ExportedUnit, unit, run: ExportedRun, allowed: float) -> None:
    model, t0, x0 = run.model, run.ready.t0, run.ready.x0
    n = model.nq + model.nv
    x0 = np.array(x0[:n])
    _demand(made, "the state at the start", _given(made, unit, "ContinuousStates", n), x0, 0.0)
    random = np.random.default_rng(1)
    for k in range(PLACES):
        t = t0 + FAR * k
        x = x0 + (k > 0) * FAR * (1.0 + np.abs(x0)) * random.standard_normal(n)
        wanted = model.evaluate(Fn.FIELD, t, x, np.zeros(0), run.ready.data)[:n]
        unit.setTime(t)
        _enter(unit, x)
        if np.all(np.isfinite(wanted)):
            name = "Derivatives" if made.version == "2.0" else "ContinuousStateDerivatives"
            _demand(made, f"the derivatives at t = {t:g}", _given(made, unit, name, n), wanted, allowed)


def _enter(unit, x: np.ndarray) -> None:
    import ctypes

    unit.setContinuousStates((ctypes.c_double * len(x))(*x), len(x))


def _given(made: ExportedUnit, unit, name: str, n: int) -> np.ndarray:
    import ctypes

    room = (ctypes.c_double * n)()
    getattr(unit, f"get{name}")(room, n)
    return np.array(room)


def _demand(made: ExportedUnit, what: str, found: np.ndarray, wanted: np.ndarray, allowed: float) -> None:
    far = float(np.max(np.abs(found - wanted) / np.maximum(1.0, np.abs(wanted)), initial=0.0))
    if not far <= allowed:
        raise UnitDiffers(f"{made.path.name}: {what} differ by {far:.1e} from those of the model (allowed {allowed:.1e}).")
