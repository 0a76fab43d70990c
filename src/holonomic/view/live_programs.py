"""The programs of a live page: methods as they were asked for, a job for each choice of them, and what it prints to."""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import Asked, GivenStart, given_again
from ..errors import BadArgument, IncompatibleMethods
from ..formulations.base import Formulation
from ..integrators.base import Integrator
from ..kernels.signatures import Fn
from ..model.model_base import PLAIN
from ..model.tape import INPUTS
from ..planning.switchless import refuse_comparisons
from ..printing.in_page import PageProgram, page_program, why_not_in_page
from ..printing.javascript import Untranslatable
from ..printing.one_member import can_ready
from ..stabilizations.base import Stabilization
from ..sweeping.common import with_methods
from ..sweeping.job import Job
from ..sweeping.sweep import AskedMembers, job_of
from .live_sliders import Slider, entries, settings_of, strength_of

MOST_STEPS = 200_000  # of a run in a page: about a second, with a mechanism of ten bodies
METHODS = ("formulation", "integrator", "stabilization", "rtol", "atol", "step")


@dataclass
class LiveProgram:
    """One choice of methods: its job, its program, and the numbers that this is called with."""

    label: str
    job: Job
    printed: PageProgram
    numbers: dict[str, Any]


def choices_of(methods, told: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str] | None]:
    """Options of `simulate` for every choice of methods, and their names where these are given."""
    if methods is None:
        return [dict(told)], None
    if isinstance(methods, Mapping) and methods:
        return [told | _options(each) for each in methods.values()], [str(name) for name in methods]
    if not isinstance(methods, Sequence) or isinstance(methods, str) or not methods:
        raise BadArgument(
            f"methods= is a list of methods, such as [DOP853(), (RK4(), Baumgarte(alpha=20))], got {reprlib.repr(methods)}."
        )
    return [told | _options(each) for each in methods], None


def labels_of(jobs: list[Job]) -> list[str]:
    """What tells choices of methods apart: integrators where they differ, stabilizations where they do."""
    integrators = [repr(job.plan.choice.integrator).removesuffix("()") for job in jobs]
    stabilizations = [_shown(job.plan.choice.stabilization) for job in jobs]
    parts = [part for part in (integrators, stabilizations) if len(set(part)) > 1]
    found = [" + ".join(each) for each in zip(*parts, strict=True)] if parts else integrators
    numbered = len(set(found)) < len(found)
    return [f"{number}: {label}" if numbered else label for number, label in enumerate(found, start=1)]


def _shown(stabilization) -> str:
    strong = strength_of(stabilization) is not None
    name = type(stabilization).__name__ if strong else repr(stabilization).removesuffix("()")
    return "no stabilization" if name == "None" else name


def _options(given) -> dict[str, Any]:
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in METHODS]
        if unknown:
            raise BadArgument(f"methods= has {unknown[0]!r}; a choice of methods has {', '.join(METHODS)}.")
        return dict(given)
    found: dict[str, Any] = {}
    for each in given if isinstance(given, tuple) else (given,):
        made = each() if isinstance(each, type) else each
        kinds = {"formulation": Formulation, "integrator": Integrator, "stabilization": Stabilization}
        name = "stabilization" if made is None else next((name for name, kind in kinds.items() if isinstance(made, kind)), None)
        if name is None:
            raise BadArgument(
                f"methods= has {reprlib.repr(each)}, which is neither an integrator nor a stabilization nor a formulation."
            )
        found[name] = made
    return found


def chosen_in(sol) -> dict[str, Any]:
    choice = sol.plan.choice
    found = {"formulation": choice.formulation, "integrator": choice.integrator, "stabilization": choice.stabilization}
    if choice.step is not None:
        return found | {"step": choice.step}
    return found | {"rtol": choice.rtol, "atol": given_again(sol.plan.model, choice.atol)}


def settled(system, t_end, start: GivenStart, options, choice) -> dict[str, Any]:
    """Methods that were left open, as a page takes them: explicit ones."""
    if "auto" not in [choice.get(name, "auto") for name in METHODS[:3]]:
        return {}
    given = {name: value for name, value in start._asdict().items() if value is not None}
    many = {
        name: np.asarray(given[name], dtype=float)[None]
        for name in ("q0", "y0", "x0")
        if name in given and np.ndim(given[name]) == 1
    }
    job = job_of(
        "view", system, t_end, start._replace(**many), Asked(save_at=2, **choice, **_looked(options)), AskedMembers(), True
    )
    found = job.plan.choice
    return {"formulation": found.formulation, "integrator": found.integrator, "stabilization": found.stabilization}


def _looked(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in ("events", "constraint_tol", "max_step", "inputs")}


class Making:
    """What all programs of a page share: the system, where it starts, and how its jobs are made."""

    def __init__(self, system, sol, t_end, hold, options):
        self.system, self.options = system, _looked(options)
        # where the recorded run should have gone, however far it came
        wanted = sol.span[1] if sol.trail.stopped is None else sol.trail.stopped[1]
        self.span = (sol.span[0], wanted if t_end is None else float(np.ravel(t_end)[-1]))
        model = sol.plan.model
        first = lambda values: np.atleast_2d(values)[:1]
        if model.is_ode:
            self.given = GivenStart(y0=first(sol.q), initial="project")
            self.start = first(sol.q)[0]
        else:
            s0 = first(sol.s) if model.ns else None
            w0 = {name: np.atleast_2d(sol[name])[0] for name in model.system.algebraic} if model.nw else None
            redundant = sol.plan.model.system.redundant
            self.given = GivenStart(
                q0=first(sol.q), v0=first(sol.v), s0=s0, w0=w0, initial="project", hold=hold, redundant=redundant
            )
            parts = [first(values)[0] for values in (sol.q, sol.s, sol.w) if values is not None and np.size(values)]
            self.start = np.concatenate([*parts, first(sol.v)[0]])

    def asked(self, choice: dict[str, Any], frames: int) -> Asked:
        """What is asked of a run in the page."""
        return Asked(save_at=frames, max_steps=MOST_STEPS, **self.options, **choice)

    def job(self, choice: dict[str, Any], params=None, frames: int = 2) -> Job:
        """One member with these methods, whose parameters `params` are inputs of its program."""
        asked = self.asked(choice, frames)
        job = job_of("view", self.system, self.span, self.given, asked, AskedMembers(params=params), explicit_only=True)
        refuse_comparisons("on a page", job.plan.model.switches, job.plan.choice.step, job.limits["max_step"])
        why = why_not_in_page(job)
        if why is not None:
            raise IncompatibleMethods(f"this run cannot be live: {why}.")
        return job

    def params(self, sliders: list[Slider]) -> dict[str, np.ndarray]:
        """Parameters with a slider, one member each."""
        names = [slider.param[0] for slider in sliders if slider.param is not None]
        return {name: np.array([self.system.params[name]], dtype=float) for name in names}

    @staticmethod
    def begins_elsewhere(job: Job, sliders: list[Slider]) -> bool:
        """Whether sliders move the start, or what has to hold there; refused where the page could not see to that."""
        model = job.plan.model
        if not (model.n_constraints or model.n_lam):
            return False
        (tape,) = model.tapes((Fn.RESIDUAL,), PLAIN).values()
        read = {node[2] for node in tape.nodes if node[0] == "in" and INPUTS[node[1]] == "data"}
        moving = [each for each in sliders if each.start is not None or each.place_in(model) in read]
        if moving and not can_ready(job):
            raise BadArgument(
                f"live={{{moving[0].name!r}: ...}}: it moves the start, and a page cannot make one with further states or "
                "held coordinates consistent again. Leave it out."
            )
        return bool(moving)

    def program(self, label: str, choice: dict[str, Any], sliders: list[Slider], frames: int) -> LiveProgram:
        """The program of a choice of methods."""
        params = self.params(sliders)
        job = self.job(choice, params, frames)
        strong = any(_has(job, slider) and slider.setting not in ("rtol", "step") for slider in sliders)
        places = job.plan.model.data_places["gains"] if strong else slice(0, 0)
        moved = [*range(places.start, places.stop), *(each.place for each in sliders if each.place is not None)]
        try:
            printed = page_program(job, tuple(moved), self.begins_elsewhere(job, sliders))
        except Untranslatable as problem:
            raise IncompatibleMethods(f"this run cannot be live: {problem} is not known to pages.") from None
        numbers = printed.numbers(job)

        def at(slider: Slider, value: float) -> dict[str, Any]:
            return printed.numbers(with_methods(job, self.asked(_with(choice, job, slider, value), frames)))

        numbers["entries"] = [
            entries(slider, numbers, job.program.told, functools.partial(at, slider)) if _has(job, slider) else []
            for slider in sliders
        ]
        return LiveProgram(label, job, printed, numbers)


def _has(job: Job, slider: Slider) -> bool:
    """Whether a setting means something to the methods of a job."""
    return slider.setting in settings_of([job.plan.choice])


def _with(choice: dict[str, Any], job: Job, slider: Slider, value: float) -> dict[str, Any]:
    """The same methods with another setting."""
    found = job.plan.choice
    choice = choice | {"formulation": found.formulation, "integrator": found.integrator, "stabilization": found.stabilization}
    if slider.setting in ("rtol", "step"):
        return choice | {slider.setting: value}
    return choice | {"stabilization": replace(job.plan.choice.stabilization, **{slider.setting: value})}
