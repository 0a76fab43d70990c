"""bench(): one's own method through all checks, and beside ours on problems with known answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadArgument, HolonomicError
from ..formulations.base import Formulation
from ..formulations.ggl import GGL
from ..formulations.index1 import Index1
from ..formulations.index2 import Index2
from ..integrators.base import Integrator
from ..integrators.bdf import BDF
from ..integrators.fixed_steps import BackwardEuler, ImplicitMidpoint
from ..integrators.half_explicit import PHEM56
from ..integrators.radau import Radau
from ..integrators.runge_kutta import DOP853, RK4, RK45, Midpoint
from ..problems import heavy_top, pendulum, seven_body, two_link_arm
from ..stabilizations.base import Stabilization
from ..stabilizations.post import S_both2
from ..stabilizations.projection import Projection
from ..study.error_curves import WorkPrecisions
from ..study.table import short_name
from ..study.work_precision import TOLERANCES, work_precision
from .method_checks import check_formulation, check_integrator, check_stabilization

KINDS = {"integrator": Integrator, "stabilization": Stabilization, "formulation": Formulation}
CHECKS: dict[str, Callable[[Any], None]] = {
    "integrator": check_integrator, "stabilization": check_stabilization, "formulation": check_formulation,
}  # fmt: skip
STEPS = tuple(100 * 2**k for k in range(10))  # equal steps over a problem, for methods without error control
ERRORS = (1e-3, 1e-6, 1e-9)


class Check(NamedTuple):
    """One method of yours: its kind, and what is wrong with it; "" if it does what it declares."""

    name: str
    kind: str
    fault: str


@dataclass(frozen=True, eq=False)
class Bench:
    """What `bench` found: a `Check` for each method, and `studies`, work and precision beside our methods, by kind."""

    checks: tuple[Check, ...]
    studies: dict[str, WorkPrecisions] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True where every method does what it declares."""
        return not any(check.fault for check in self.checks)

    def __repr__(self) -> str:
        parts = [f"{check.kind} {check.name}: {check.fault or 'does what it declares'}" for check in self.checks]
        for kind, study in self.studies.items():
            parts.append("\n\n".join([f"{kind}s", *(study.cost_at(error).text() for error in ERRORS)]))
        return "\n\n".join(parts)

    def save(self, folder) -> Path:
        """Write `bench.md` with the tables, and a picture (.png) and all runs (.csv) of each kind; return the folder."""
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise BadArgument(f"the folder {target} cannot be made: {problem.strerror or problem}.") from None
        lines = ["# Bench", ""]
        lines += [f"- {check.kind} `{check.name}`: {check.fault or 'does what it declares'}" for check in self.checks]
        for kind, study in self.studies.items():
            study.to_csv(target / f"{kind}s.csv")
            study.plot().savefig(target / f"{kind}s.png", dpi=150)
            lines += ["", f"## {kind.capitalize()}s", "", f"![Error over time]({kind}s.png)"]
            for error in ERRORS:
                table = study.cost_at(error)
                lines += ["", f"{table.title}:", "", table.markdown(), "", *table.footer]
        (target / "bench.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return target


def bench(methods, problems=None, *, check: bool = True, rtol=TOLERANCES, steps=STEPS, starts: int = 3, workers: int = 1,
          repeat: int = 3, progress: bool | None = None) -> Bench:  # fmt: skip
    """Put methods of yours through the checks for their kind, and measure them beside ours.

    Parameters
    ----------
    methods : Integrator, Stabilization, Formulation, or a sequence of them
        Objects, or classes that need no arguments.
    problems : sequence of Problem, optional
        On which they are measured; pendulum, seven-body, heavy top and two-link arm if not given.
    check : bool
        Whether the checks of `holonomic.testing` are made; they take seconds for a method.
    rtol, steps, starts, workers, repeat
        As of `work_precision`.
    progress : bool, optional
        Whether to show how far it is; in a terminal after two seconds if not given.

    Returns
    -------
    Bench
        `print` shows it, `.save(folder)` writes it down.

    Raises
    ------
    BadArgument
        What is no method, and arguments that `work_precision` refuses.

    Examples
    --------
    >>> from holonomic import RK23
    >>> from holonomic.problems import pendulum
    >>> found = bench(RK23(), [pendulum(t_end=1.0)], check=False, rtol=[1e-4, 1e-6], starts=1, repeat=1)
    >>> sorted({row.integrator for row in found.studies["integrator"].rows})
    ['DOP853', 'RK23', 'RK45']
    """
    given = [methods] if isinstance(methods, type) or not isinstance(methods, Sequence) else list(methods)
    if not given:
        raise BadArgument("there is no method to measure: the sequence is empty.")
    known = [_method(each) for each in given]
    chosen = [pendulum(), seven_body(), heavy_top(), two_link_arm()] if problems is None else problems
    checks = tuple(Check(short_name(method), kind, _fault(kind, method) if check else "not checked") for kind, method in known)
    options = {"rtol": rtol, "steps": steps, "starts": starts, "workers": workers, "repeat": repeat, "progress": progress}
    studies = {}
    for kind in KINDS:
        own = [method for each, method in known if each == kind]
        if own:
            studies[kind] = _measured(kind, own, chosen, options)
    return Bench(checks, studies)


def _method(given) -> tuple[str, Any]:
    """Return the kind of a method, and the object."""
    for kind, base in KINDS.items():
        if isinstance(given, base):
            return kind, given
        if isinstance(given, type) and issubclass(given, base):
            try:
                return kind, given()
            except (TypeError, HolonomicError) as problem:
                raise BadArgument(f"{given.__name__} cannot be made without arguments ({problem}): give an object of it.") from None
    raise BadArgument(f"{given!r} is no method: give objects or classes of Integrator, Stabilization or Formulation.")


def _fault(kind: str, method) -> str:
    try:
        CHECKS[kind](method)
    except (AssertionError, HolonomicError) as problem:
        return str(problem)
    return ""


def _measured(kind: str, own: list, problems, options: dict[str, Any]) -> WorkPrecisions:
    """Measure methods of one kind beside ours of that kind."""
    choices = {"integrator": _integrators, "stabilization": _stabilizations, "formulation": _formulations}[kind](own)
    found = work_precision(problems, **choices, **options)
    assert isinstance(found, WorkPrecisions)
    return found


def _integrators(own: list[Integrator]) -> dict[str, Any]:
    beside = dict.fromkeys(peer for method in own for peer in peers_of(method))
    return {"integrator": _joined(own, list(beside))}


def peers_of(method: Integrator) -> list[Integrator]:
    """Return our integrators that do the same work: they take the same, with or without error control."""
    if method.takes == "half-explicit":
        return [PHEM56()]
    if method.takes == "residual":
        return [Radau(), BDF()] if method.adaptive else [BackwardEuler(), ImplicitMidpoint()]
    return [RK45(), DOP853()] if method.adaptive else [Midpoint(), RK4()]


def _stabilizations(own: list[Stabilization]) -> dict[str, Any]:
    return {"integrator": DOP853(), "stabilization": _joined(own, [Projection(), S_both2()])}


def _formulations(own: list[Formulation]) -> dict[str, Any]:
    explicit = all("ode" in method.gives for method in own)
    beside = [Index1()] if explicit else [Index2(), GGL()]
    return {"integrator": DOP853() if explicit else Radau(), "formulation": _joined(own, beside)}


def _joined(own: list, ours: list) -> list:
    names = {short_name(method) for method in own}
    return [*own, *(each for each in ours if short_name(each) not in names)]
