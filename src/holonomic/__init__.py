"""Simulate constrained mechanical systems so that the answer stays on its constraints."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import notices
from ._version import __version__
from .controllers import Controller
from .diagnose import Diagnosis, diagnose
from .errors import (
    BadArgument,
    Cancelled,
    EventWarning,
    FileFailed,
    ForgottenVelocityTerms,
    HandedOverWarning,
    HolonomicError,
    IncompatibleMethods,
    InconsistentState,
    InvariantWarning,
    LimitReached,
    MissingExtra,
    NearSingularWarning,
    NotFinite,
    OtherSolutionWarning,
    RedundancyWarning,
    RedundantConstraints,
    RoundingWarning,
    SingularMass,
    SingularPosition,
    StepFailed,
    StiffnessWarning,
    UnknownArgument,
    UnknownName,
    UnstableWarning,
    UntraceableFunction,
    UntracedWarning,
    WrongShape,
)
from .events import Event
from .formulations.ggl import GGL
from .formulations.index1 import Index1
from .formulations.index2 import Index2
from .formulations.index3 import Index3
from .formulations.overdetermined import Overdetermined
from .formulations.projected_invariants import ProjectedInvariants
from .formulations.state_space import StateSpace
from .formulations.strangeness_free import StrangenessFree
from .formulations.underlying_ode import UnderlyingODE
from .integrators.adams import AdamsBashforth2
from .integrators.bdf import BDF
from .integrators.fixed_steps import BackwardEuler, FixedBDF, ImplicitMidpoint, Trapezoidal
from .integrators.gauss import GaussLegendre, GaussLegendre4
from .integrators.generalized_alpha import GeneralizedAlpha
from .integrators.half_explicit import PHEM56
from .integrators.lobatto import LobattoIIIAB
from .integrators.radau import Radau
from .integrators.rattle import RATTLE
from .integrators.runge_kutta import DOP853, RK4, RK23, RK45, Euler, Heun, Midpoint
from .model.dae import Dae
from .model.opaque import opaque
from .model.system import Ode, System
from .results.error_estimate import ErrorEstimateWarning
from .results.solution import Solution
from .simulate import simulate
from .stabilizations.baumgarte import Baumgarte
from .stabilizations.euler_pulls import BackwardEulerStabilization, ForwardEulerStabilization
from .stabilizations.invariant import InvariantStabilization
from .stabilizations.post import PostStabilization, S_both, S_both2, S_full, S_pos, S_vel
from .stabilizations.projection import Projection
from .stabilizations.symmetric import SymmetricProjection

if TYPE_CHECKING:
    from .automatic.essential import essential_ode
    from .batch_stepper import BatchStepper
    from .environments import make_env, make_vector_env
    from .exporting.to_c import export
    from .exporting.to_fmu import export_fmu
    from .results.saving import load
    from .stepper import Stepper
    from .study.compare import Comparison, compare
    from .study.error_curves import WorkPrecision, WorkPrecisions
    from .study.work_precision import work_precision
    from .sweeping.design import grid, sample
    from .sweeping.ensemble import Ensemble
    from .sweeping.gradient import gradient
    from .sweeping.sweep import sweep

# Many runs, experiments and files: a fifth of the time that importing the package would take, and most programs need none.
_LOADED_WHEN_ASKED_FOR = {
    "essential_ode": "automatic.essential",
    "export": "exporting.to_c",
    "export_fmu": "exporting.to_fmu",
    "load": "results.saving",
    "Comparison": "study.compare",
    "compare": "study.compare",
    "WorkPrecision": "study.error_curves",
    "WorkPrecisions": "study.error_curves",
    "work_precision": "study.work_precision",
    "grid": "sweeping.design",
    "sample": "sweeping.design",
    "Ensemble": "sweeping.ensemble",
    "gradient": "sweeping.gradient",
    "sweep": "sweeping.sweep",
    "Stepper": "stepper",
    "BatchStepper": "batch_stepper",
    "make_env": "environments",
    "make_vector_env": "environments",
}

__all__ = [
    "sweep",
    "sample",
    "grid",
    "Ensemble",
    "AdamsBashforth2",
    "BDF",
    "BackwardEuler",
    "BackwardEulerStabilization",
    "BadArgument",
    "BatchStepper",
    "Baumgarte",
    "Cancelled",
    "Comparison",
    "Controller",
    "DOP853",
    "Dae",
    "Euler",
    "Event",
    "ErrorEstimateWarning",
    "EventWarning",
    "FileFailed",
    "FixedBDF",
    "ForgottenVelocityTerms",
    "ForwardEulerStabilization",
    "GGL",
    "GaussLegendre",
    "GaussLegendre4",
    "GeneralizedAlpha",
    "Heun",
    "HandedOverWarning",
    "HolonomicError",
    "ImplicitMidpoint",
    "IncompatibleMethods",
    "InconsistentState",
    "Index1",
    "Index2",
    "Index3",
    "InvariantStabilization",
    "InvariantWarning",
    "LimitReached",
    "LobattoIIIAB",
    "Midpoint",
    "MissingExtra",
    "NearSingularWarning",
    "NotFinite",
    "Ode",
    "OtherSolutionWarning",
    "Overdetermined",
    "PostStabilization",
    "ProjectedInvariants",
    "Projection",
    "PHEM56",
    "RATTLE",
    "RK23",
    "RK4",
    "RK45",
    "Radau",
    "RedundancyWarning",
    "RoundingWarning",
    "RedundantConstraints",
    "S_both",
    "S_both2",
    "S_full",
    "S_pos",
    "S_vel",
    "SingularMass",
    "SingularPosition",
    "Solution",
    "StateSpace",
    "StepFailed",
    "Stepper",
    "StiffnessWarning",
    "StrangenessFree",
    "SymmetricProjection",
    "System",
    "Trapezoidal",
    "UnderlyingODE",
    "UnknownArgument",
    "UnknownName",
    "UnstableWarning",
    "UntraceableFunction",
    "UntracedWarning",
    "WorkPrecision",
    "WorkPrecisions",
    "WrongShape",
    "__version__",
    "compare",
    "Diagnosis",
    "diagnose",
    "essential_ode",
    "export",
    "export_fmu",
    "gradient",
    "load",
    "make_env",
    "make_vector_env",
    "opaque",
    "simulate",
    "work_precision",
]


def __getattr__(name: str):
    """Load a name that is not needed by every program; afterwards it is an attribute like the others. Old names warn."""
    if name in notices.RENAMED:
        new, since, gone = notices.RENAMED[name]
        notices.deprecated(f"{__name__}.{name}", f"{__name__}.{new}", since, gone)
        return globals()[new] if new in globals() else __getattr__(new)
    if name not in _LOADED_WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_LOADED_WHEN_ASKED_FOR[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
