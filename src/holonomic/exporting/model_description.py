"""The variables of a functional mock-up unit, and its modelDescription.xml for FMI 2.0 and 3.0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from xml.sax.saxutils import quoteattr

import numpy as np

from .._version import __version__
from ..kernels.signatures import Fn
from ..model.tape import INPUTS
from .c_text import ExportedNames
from .exported_run import ExportedRun


class VariableKind(IntEnum):
    """What a variable is, as unit.h numbers it."""

    TIME = 0
    PARAMETER = 1
    INPUT = 2
    POSITION = 3
    VELOCITY = 4
    MULTIPLIER = 5
    OUTPUT = 6
    JOINT = 7
    DRIFT = 8
    COUNT = 9
    SLOPE = 10


# units that are used, by their powers of kg, m, s and rad
UNITS = {
    "s": {"s": 1}, "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
LENGTHS = {"length": "m", "angle": "rad"}  # units of kinds of coordinates


@dataclass(frozen=True)
class UnitVariable:
    """One number of a unit."""

    name: str
    kind: VariableKind
    index: int
    causality: str
    variability: str = "continuous"
    initial: str | None = None
    start: float | None = None
    unit: str | None = None
    whole: bool = False
    slope_of: int | None = None  # the reference of a state, of its derivative

    @property
    def tunable(self) -> bool:
        """Whether a parameter may be set while the unit runs."""
        return self.variability == "tunable"


def variables_of(run: ExportedRun, names: ExportedNames, exchanges: bool = False) -> list[UnitVariable]:
    """Return all variables of a unit; their value references are their numbers. One that `exchanges` its model has slopes, too."""
    data, x, model = run.run.data, run.ready.x0, run.model
    at_constraints = _read_by_constraints(run)
    given = model.system.coordinates
    kinds = list(given.values()) if isinstance(given, Mapping) else [None] * model.nc
    units = [None if kind is None else LENGTHS.get(kind) for kind in kinds] + [None] * (model.nq - model.nc)
    rates = [None if unit is None else f"{unit}/s" for unit in units] if model.nv == model.nc else [None] * model.nv
    found = [UnitVariable("time", VariableKind.TIME, 0, "independent", unit="s")]
    for k, name in enumerate(names.params):
        variability = "fixed" if k in at_constraints else "tunable"
        found.append(UnitVariable(f"p.{name}", VariableKind.PARAMETER, k, "parameter", variability, "exact", float(data[k])))
    for k, (name, place) in enumerate(zip(names.inputs, run.input_places, strict=True)):
        found.append(UnitVariable(f"u.{name}", VariableKind.INPUT, len(names.params) + k, "input", start=float(data[place])))
    for k, name in enumerate(names.q):
        found.append(UnitVariable(f"q.{name}", VariableKind.POSITION, k, "output", "continuous", "exact", float(x[k]), units[k]))
    for k, name in enumerate(names.v):
        start = float(x[model.nq + k])
        found.append(UnitVariable(f"v.{name}", VariableKind.VELOCITY, k, "output", "continuous", "exact", start, rates[k]))
    calculated = ("continuous", "calculated")
    for k, name in enumerate(names.outputs):
        found.append(UnitVariable(f"y.{name}", VariableKind.OUTPUT, k, "output", *calculated))
    for k, name in enumerate(names.joints):
        unit = "N.m" if " torque" in name else "N"
        found.append(UnitVariable(f"joint.{name}", VariableKind.JOINT, k, "output", *calculated, unit=unit))
    for k, name in enumerate(names.lam):
        found.append(UnitVariable(f"lambda.{name}", VariableKind.MULTIPLIER, k, "local", *calculated))
    if run.n_residuals:
        for k, level in enumerate(("position", "velocity")):
            found.append(UnitVariable(f"drift.{level}", VariableKind.DRIFT, k, "local", *calculated))
    for k, name in enumerate(names.events):
        found.append(UnitVariable(f"events.{name}", VariableKind.COUNT, k, "output", "discrete", "calculated", whole=True))
    if exchanges:
        states = [k for k, each in enumerate(found) if each.kind in (VariableKind.POSITION, VariableKind.VELOCITY)]
        for k, at in enumerate(states):
            found.append(UnitVariable(f"der({found[at].name})", VariableKind.SLOPE, k, "local", *calculated, slope_of=at))
    return _with_own_names(found)


def _with_own_names(variables: list[UnitVariable]) -> list[UnitVariable]:
    """The same with names as a unit may have them: on one line, and each once."""
    names: set[str] = set()
    found = []
    for each in variables:
        name = "".join(letter if letter.isprintable() else " " for letter in each.name)
        while name in names:
            name += "_"
        names.add(name)
        found.append(replace(each, name=name))
    return found


def _read_by_constraints(run: ExportedRun) -> set[int]:
    """Places in data that constraints depend on: another number there moves the start."""
    tape = run.groups.get("start", {}).get(Fn.RESIDUAL)
    if tape is None:
        return set()
    return {node[2] for node in tape.nodes if node[0] == "in" and INPUTS[node[1]] == "data"}


def variable_table(variables: list[UnitVariable]) -> str:
    """The variables as unit.h reads them."""
    return "{" + ", ".join(f"{{{each.kind}, {each.index}, {int(each.tunable)}}}" for each in variables) + "}"


def description(version: str, name: str, token: str, span: tuple[float, float], rtol: float, about: str, variables) -> str:
    """Return modelDescription.xml."""
    return (_of_fmi2 if version == "2.0" else _of_fmi3)(name, token, span, rtol, about, variables)


def _attributes(**given) -> str:
    return "".join(f" {name}={quoteattr(_text(value))}" for name, value in given.items() if value is not None)


def _text(value) -> str:
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def _units(variables) -> list[str]:
    used = [unit for unit in UNITS if unit in {each.unit for each in variables}]
    lines = [f'    <Unit name="{unit}"><BaseUnit{_attributes(**UNITS[unit])}/></Unit>' for unit in used]
    return ["  <UnitDefinitions>", *lines, "  </UnitDefinitions>"] if used else []


def _experiment(span, rtol: float) -> str:
    told = _attributes(startTime=float(span[0]), stopTime=float(span[1]), tolerance=float(rtol))
    return f"  <DefaultExperiment{told}/>"


def _outputs(variables) -> tuple[list[int], list[int]]:
    """References of outputs, and of those that are calculated at the start; derivatives of states are among these."""
    outputs = [k for k, each in enumerate(variables) if each.causality == "output"]
    return outputs, [k for k in outputs if variables[k].initial == "calculated"] + _slopes(variables)


def _slopes(variables) -> list[int]:
    """References of the derivatives of states."""
    return [k for k, each in enumerate(variables) if each.slope_of is not None]


HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def _of_fmi2(name, token, span, rtol, about, variables) -> str:
    lines = [HEAD, "<fmiModelDescription" + _attributes(
        fmiVersion="2.0", modelName=name, guid=token, description=about, generationTool=f"holonomic {__version__}",
        variableNamingConvention="flat", numberOfEventIndicators=0,
    ) + ">"]  # fmt: skip
    stepping = {"canHandleVariableCommunicationStepSize": "true", "canInterpolateInputs": "true"}
    exchanges = bool(_slopes(variables))
    lines.append(f"  <{'ModelExchange' if exchanges else 'CoSimulation'}" + _attributes(
        modelIdentifier=name, **({} if exchanges else stepping), canNotUseMemoryManagementFunctions="true",
        canGetAndSetFMUstate="true", canSerializeFMUstate="true",
    ) + "/>")  # fmt: skip
    lines += _units(variables)
    lines.append('  <LogCategories><Category name="error"/></LogCategories>')
    lines += [_experiment(span, rtol), "  <ModelVariables>"]
    for k, each in enumerate(variables):
        about_it = _attributes(
            name=each.name, valueReference=k, causality=each.causality, variability=each.variability, initial=each.initial
        )
        slope_of = None if each.slope_of is None else each.slope_of + 1
        kind = "<Integer/>" if each.whole else f"<Real{_attributes(unit=each.unit, start=each.start, derivative=slope_of)}/>"
        lines.append(f"    <ScalarVariable{about_it}>{kind}</ScalarVariable>")
    outputs, calculated = _outputs(variables)
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    for part, numbers in (("Outputs", outputs), ("Derivatives", _slopes(variables)), ("InitialUnknowns", calculated)):
        if numbers:
            lines += [f"    <{part}>", *(f'      <Unknown index="{k + 1}"/>' for k in numbers), f"    </{part}>"]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _of_fmi3(name, token, span, rtol, about, variables) -> str:
    lines = [HEAD, "<fmiModelDescription" + _attributes(
        fmiVersion="3.0", modelName=name, instantiationToken=token, description=about,
        generationTool=f"holonomic {__version__}", variableNamingConvention="flat",
    ) + ">"]  # fmt: skip
    stepping = {"canHandleVariableCommunicationStepSize": "true", "hasEventMode": "false"}
    exchanges = bool(_slopes(variables))
    lines.append(f"  <{'ModelExchange' if exchanges else 'CoSimulation'}" + _attributes(
        modelIdentifier=name, canGetAndSetFMUState="true", canSerializeFMUState="true", **({} if exchanges else stepping),
    ) + "/>")  # fmt: skip
    lines += _units(variables)
    lines.append('  <LogCategories><Category name="error"/></LogCategories>')
    lines += [_experiment(span, rtol), "  <ModelVariables>"]
    for k, each in enumerate(variables):
        about_it = _attributes(
            name=each.name, valueReference=k, causality=each.causality, variability=each.variability, initial=each.initial,
            unit=each.unit, start=each.start, derivative=each.slope_of,
        )  # fmt: skip
        lines.append(f"    <{'Int32' if each.whole else 'Float64'}{about_it}/>")
    outputs, calculated = _outputs(variables)
    lines += ["  </ModelVariables>", "  <ModelStructure>"]
    lines += [f'    <Output valueReference="{k}"/>' for k in outputs]
    lines += [f'    <ContinuousStateDerivative valueReference="{k}"/>' for k in _slopes(variables)]
    lines += [f'    <InitialUnknown valueReference="{k}"/>' for k in calculated]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])
