"""Live pages: the model and the step loop in the browser, beside the picture of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import Assembling, GivenStart, Posed, brought
from ..errors import (
    ACCUMULATES,
    DONE,
    EVENT,
    MANY_CROSSINGS,
    NEED_PASSAGE,
    NEED_REFINED,
    NEED_TERMS,
    NOT_FINITE,
    PULL_FAILED,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
    BadArgument,
    IncompatibleMethods,
)
from ..kernels.evaluate import RHO_PLAIN, RHO_WEIGHED
from ..kernels.saddle import HETEROGENEOUS, kinematic_scales
from ..kernels.signatures import Fn
from ..loop.after_events import MAP_FAILED
from ..loop.batch import BY_PYTHON, MANY_EVENTS, UNREADY
from ..model.system import Ode, System
from ..printing.javascript import prelude
from ..results.drawn import joint_names
from ..results.solution import Solution
from ..simulate import simulate
from .live_programs import METHODS, MOST_STEPS, LiveProgram, Making, choices_of, chosen_in, labels_of, settled
from .live_shapes import following
from .live_shown import LINES, Shown, shown_of, with_drawing
from .live_sliders import Slider, read_sliders, settings_of, strength_of
from .page import Blob, Page
from .scene import Scene, scene_of

FRAMES = 401  # times of a run that are drawn
STARTS = ("q0", "v0", "y0", "s0", "w0", "x0", "dx0", "ddx0", "initial", "hold", "redundant")
NEAR_SINGULAR = "the position is singular, or so close to it that the equations have to be solved with more care than a page has"
WORDS = {
    UNREADY: "with these values no start could be found near the recorded one: lengths that do not fit, or a singular position",
    NOT_FINITE: "the equations gave a number that is not finite",
    PULL_FAILED: "the stabilization found no way back to the constraints",
    STEP_COLLAPSED: "the step fell to nothing",
    TOO_MANY_STEPS: f"{MOST_STEPS:,} steps were not enough".replace(",", " "),
    MANY_EVENTS: "there were more events than a page has room for",
    MANY_CROSSINGS: "there were more events in one step than a page has room for",
    ACCUMULATES: "impacts come in ever shorter order: a contact that lasts, which events cannot follow",
    MAP_FAILED: "the map of an event leaves the constraints, or no velocity is consistent there",
    BY_PYTHON: "an event begins at zero, which Python has to look into",
} | dict.fromkeys((NEED_REFINED, NEED_TERMS, NEED_PASSAGE, SINGULAR), NEAR_SINGULAR)


def live_page(what, t_end, live, methods, side_by_side: bool, options: dict[str, Any], shown: dict[str, Any], style: str) -> Page:
    """Return a page with sliders; `options` are those of `simulate`, `shown` those of a scene."""
    if side_by_side and (methods is None or len(methods) < 2):
        raise BadArgument("side_by_side=True needs methods=, two of them at least.")
    names = tuple(name for name in live if isinstance(name, str)) if isinstance(live, Mapping) else ()
    told = {name: options.pop(name) for name in METHODS if name in options}
    start = GivenStart(**{name: options.pop(name) for name in STARTS if name in options})
    choices, labels = choices_of(methods, told)
    if isinstance(what, Solution):
        if what.trail.by_code is not None:
            what = what.trail.by_code()
        system, sol = with_drawing(what.plan.model.system), what
        if methods is None:
            choices = [chosen_in(what)]
        options = {"events": dict(what.plan.events), "max_step": what.trail.limits["max_step"]} | options
        title = ""
    else:
        title = what.title if isinstance(what, Posed) else ""
        system, t_end, start = brought(what, t_end, start, varying=tuple(name for name in names if name in _params(what)))
        system = with_drawing(system)
        choices[0] |= settled(system, t_end, start, options, choices[0])
        sol = simulate(system, t_end, **start._asdict(), **choices[0], **options)
    refuse_singular(sol)
    inputs = options["inputs"] = numbers_of_inputs(sol)
    making = Making(system, sol, t_end, start.hold, options)
    jobs = [making.job(choice) for choice in choices]
    sliders = read_sliders(live, system, sol.plan.model, making.start, inputs, settings_of([job.plan.choice for job in jobs]))
    frames = shown.pop("frames", None) or FRAMES
    labels = labels_of(jobs) if labels is None else labels
    programs = [making.program(label, choice, sliders, frames) for label, choice in zip(labels, choices, strict=True)]
    scene = scene_of(sol, **{"title": title} | {name: each for name, each in shown.items() if each}, frames=frames)
    found = shown_of(programs[0].job, scene)
    scene = _only_live(scene, found)
    moves: list[dict[str, Any]] = []
    if scene.what is not None:
        what_is_drawn, moves = following(scene.what, sol, sliders)
        scene = replace(scene, what=what_is_drawn)
    part = Live(making, sliders, programs, found, scene, moves, side_by_side)
    return Page(part.scene, style, live=part)


def one_of(what):
    """The one run, or what is to be simulated, of a live page."""
    found = list(what.values()) if isinstance(what, Mapping) else list(what) if isinstance(what, list | tuple) else [what]
    if len(found) != 1 or not isinstance(found[0], Solution | System | Ode | Posed | Assembling):
        kind = f"{len(found)} runs" if len(found) != 1 else type(found[0]).__name__
        raise BadArgument(f"a live page shows one run, or a System, Ode, Problem or Mechanism; got {kind}.")
    if isinstance(found[0], Solution) and found[0].trail.data is None:
        raise BadArgument("a run that was loaded from a file has no model, which a live page needs. View the system itself.")
    return found[0]


def refuse_singular(sol) -> None:
    """Refuse a run that needs more care than a page has: paths over singular positions, solves with pivoting."""
    model, rho = sol.plan.model, sol.stats["smallest pivot ratio"]
    if len(sol.trail.paths):
        raise IncompatibleMethods("this run cannot be live: it passes singular positions, where pages stop.")
    uneven = False
    if rho <= RHO_WEIGHED and model.n_lam:  # light parts between heavy ones, see `kernels.evaluate`
        nq, nv, nl = model.nq, model.nv, model.n_lam
        x0 = np.atleast_2d(sol.trail.arrays[1])[0, : nq + nv]
        terms = model.evaluate(Fn.TERMS, sol.span[0], x0, np.zeros(0), sol.trail.data)
        uneven = kinematic_scales(terms, nq, nq + nv * nv + nv, nv, nl, np.zeros(nv + nl)) > HETEROGENEOUS
    if rho <= RHO_PLAIN or uneven:
        raise IncompatibleMethods(
            f"this run cannot be live: its equations have to be solved with pivoting (pivot ratio {rho:.1e}), which pages do "
            "not do."
        )


def numbers_of_inputs(sol) -> dict[str, float]:
    """Inputs of a run that are numbers, with their values; refuses what a page would have to follow in time."""
    if sol.trail.controls:
        raise IncompatibleMethods("this run cannot be live: its controllers run as Python.")
    known = sol.trail.inputs
    found = {}
    for name, (_, times, values) in zip(known.names, known.tables, strict=True) if known is not None else ():
        if len(times) > 1:
            raise IncompatibleMethods("this run cannot be live: an input is a table; pages take numbers and functions of t.")
        found[name] = float(values[0])
    return found


def _params(what) -> Mapping[str, Any]:
    return (what.system.params if isinstance(what, Posed) else what.params) or {}


def _gain(program: LiveProgram) -> dict[str, Any] | None:
    """The strength of a stabilization that a fixed step bounds, as `simulate` does; None: nothing is bounded."""
    choice = program.job.plan.choice
    strength, limit = strength_of(choice.stabilization), choice.stabilization.rate_limit
    if choice.step is None or strength is None or limit is None:
        return None
    return {"name": strength[0], "value": strength[1], "step": abs(choice.step), "limit": limit}


def _only_live(scene: Scene, shown: Shown) -> Scene:
    """The scene without what the page cannot make anew."""
    (track,) = scene.tracks
    kept = [signal for signal in track.signals if signal.name in shown.signals and signal.name != LINES]
    derived = [f"{part['name']}.{word}" for part in (scene.what or {}).get("bodies", ()) for word in ("position", "angle")]
    derived += [f"{name}.force" for name in joint_names(scene.what)] if scene.what else []
    for name in scene.shown:
        if name not in shown.signals and name not in derived:
            there = ", ".join([*(each for each in shown.signals if each != "time"), *derived])
            raise BadArgument(f"signals={name!r}: a live page cannot make it anew. It has: {there}.")
    forces = track.forces if "forces" in shown.pictures else np.zeros((len(track.t), 0, track.forces.shape[2]))
    return replace(scene, tracks=[replace(track, signals=kept, forces=forces)])


@dataclass
class Live:
    """What makes a page live: programs, sliders and what is shown of a run."""

    making: Making
    sliders: list[Slider]
    programs: list[LiveProgram]
    shown: Shown
    scene: Scene
    moves: list[dict[str, Any]]  # numbers of the description that follow sliders
    side_by_side: bool

    @property
    def names(self) -> list[str]:
        """Names of the runs that are moved: one, or one for each choice of methods."""
        return [program.label for program in self.programs] if self.side_by_side else ["moved"]

    def code(self, engine: str) -> str:
        """JavaScript that gives the engine."""
        programs = ",\n".join(program.printed.text for program in self.programs)
        names = ", ".join(self.shown.sizes)
        parts = [prelude(), self.shown.code, f"const MODEL = {{ {names} }};", f"const PROGRAMS = [{programs}];", engine]
        return "\n".join(["(() => {", *parts, "return makeEngine;", "})()"])

    def meta(self, blob: Blob) -> dict[str, Any]:
        """The live part of the description of the page."""
        job = self.programs[0].job
        (track,) = self.scene.tracks
        sizes = {"poses": track.poses, "lines": track.lines, "forces": track.forces}
        pictures = {
            name: given if "rows" in given else given | {"count": int(np.prod(sizes[name].shape[1:]))}
            for name, given in self.shown.pictures.items()
        }
        names = [signal.name for signal in track.signals]
        init = {
            "frames": job.shape[0], "sizes": self.shown.sizes, "signals": {name: self.shown.signals[name] for name in names},
            "pictures": pictures, "good": [DONE, EVENT], "invariants": self._invariants(),
        }  # fmt: skip
        begin, end = self.making.span
        return {"begin": begin, "end": end, "live": {
            "init": init, "sliders": [self._slider(number, slider) for number, slider in enumerate(self.sliders)],
            "programs": [self._program(program, blob) for program in self.programs], "events": list(job.program.events),
            "side": self.side_by_side, "moves": self.moves, "words": {str(code): text for code, text in WORDS.items()},
        }}  # fmt: skip

    def _program(self, program: LiveProgram, blob: Blob) -> dict[str, Any]:
        arrays = ("x0", "C", "P", "D", "REALS0", "WHOLES0", "sp", "atol", "stops", "save_t")
        numbers = {name: blob.add(program.numbers[name], "d") for name in arrays}
        numbers |= {name: program.numbers[name] for name in ("tol", "least")}
        nx, nk = program.job.program.shape
        return {"label": program.label, "nx": nx, "nk": nk, "numbers": numbers, "gain": _gain(program)}

    def _slider(self, number: int, slider: Slider) -> dict[str, Any]:
        found: dict[str, Any] = {"name": slider.name, "low": slider.low, "high": slider.high, "value": slider.value}
        place = slider.place_in(self.programs[0].job.plan.model)
        if place is not None:
            found |= {"place": place, "own": [program.printed.program.own.index(place) for program in self.programs]}
        if slider.start is not None:
            found["start"] = slider.start
        if slider.setting is not None:
            found |= {"values": slider.positions, "first": slider.positions.index(slider.value)}
            found["entries"] = [program.numbers["entries"][number] for program in self.programs]
        return found

    def _invariants(self) -> dict[str, Any] | None:
        """Where invariants are kept, in data and among a program's own numbers, and their rows among the residuals."""
        job = self.programs[0].job
        facts, own = job.program.model, self.programs[0].printed.program.own
        if not facts.n_invariants:
            return None
        places = range(facts.at_invariants, facts.at_invariants + facts.n_invariants)
        return {"at": facts.at_invariants, "own": [own.index(place) for place in places], "row": facts.n_constraints}
