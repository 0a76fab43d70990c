"""One description of what is drawn of runs, for the page, for films and for anything else that draws.

A Scene holds plain data: what there is (bodies, joints, springs, lines; see `multibody.drawing` and `drawn`),
and for each run a Track: its frames, the places of bodies in them, the forces of joints and the signals that go
beside the picture. Nothing here knows how it will be drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError
from ..results import drawn, report
from ..results.drawn import joint_names
from ..results.naming import is_dae, order_of
from ..results.solution import Solution
from .page_arguments import switch, text, texts, whole
from .signals import Signal, signals_of
from .thinning import MANY, thinned

FRAMES = 1000
FINE = 0.25  # rad; a body should turn by no more from one frame to the next
MOST_FRAMES = 6000
MOST_NUMBERS = 6_000_000  # of places of bodies in all runs together: 24 MB


@dataclass
class Track:
    """One run: where everything is in each frame."""

    name: str
    t: np.ndarray
    poses: np.ndarray  # (frame, body, 3 or 7)
    lines: np.ndarray  # (frame, point, 2 or 3)
    forces: np.ndarray  # (frame, joint, 2 or 3)
    signals: list[Signal]
    heading: str
    facts: list[tuple[str, str]]
    failure: str = ""
    wanted_end: float | None = None
    events: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass
class Scene:
    """What is drawn, and how it moves in each run."""

    title: str
    what: dict[str, Any] | None  # None: nothing but numbers
    tracks: list[Track]
    notes: list[str]
    phase: tuple[str, str]  # signals across which a run without a picture is drawn
    shown: list[str]  # signals asked for
    traces: list[str]  # points asked for
    show_forces: bool = False

    @property
    def dimension(self) -> int:
        """2 or 3; 0 where there is no picture."""
        return 0 if self.what is None else int(self.what["dimension"])


def scene_of(
    runs, *, names: Sequence[str] | None = None, frames: int | None = None, signals: Sequence[str] = (),
    traces: Sequence[str] = (), forces: bool = False, title: str = "",
) -> Scene:  # fmt: skip
    """Return what is drawn of one run or several: a Solution, a list of them, or {name: Solution}."""
    runs, names = _named(runs, names)
    first = runs[0]
    wanted, traces = texts(signals, "signals", "energy"), texts(traces, "traces", "A")
    forces, title = switch(forces, "forces"), text(title, "title")
    what = drawn.scene(first)
    notes: list[str] = []
    for sol, name in zip(runs[1:], names[1:], strict=True):
        if drawn.scene(sol) != what and not _alike(drawn.scene(sol), what):
            raise BadArgument(f"{name} shows another mechanism than {names[0]}; runs side by side need the same bodies.")
    count = _frame_count(runs, frames, notes)
    bodies = None
    if what is not None:
        if len(what["bodies"]) > MANY and not forces:
            notes.append("Forces of joints are left out of so many; forces=True draws them.")
        what, bodies = thinned(what, notes)
    tracks = [_track(sol, name, count, wanted, notes, what, bodies, forces) for sol, name in zip(runs, names, strict=True)]
    what = None if what is None else _even_widths(what)
    known = [part["name"] for part in (*what["points"], *what["bodies"], *what["joints"])] if what else []
    known += [line["name"] for line in what.get("lines", ())] if what else []
    for name in traces:
        if name not in known:
            raise BadArgument(f"there is no point, body or joint {name!r} to trace. There are: {', '.join(known) or 'none'}.")
    if what is not None and not traces:
        traces = [point["name"] for point in what["points"]]
        traces += [line["name"] for line in what.get("lines", ()) if line["count"] == 1]
        if not traces and len(what["bodies"]) <= 2:  # one or two bodies alone: where they go is what one looks for
            traces = [body["name"] for body in what["bodies"]]
    _count_bad(tracks, notes)
    return Scene(title or _title(first), what, tracks, notes, _phase(first), wanted, traces, forces)


def _named(runs, names) -> tuple[list[Solution], list[str]]:
    if isinstance(runs, Mapping):
        names, runs = list(runs), list(runs.values())
    elif isinstance(runs, Solution):
        runs = [runs]
    else:
        runs = list(runs) if isinstance(runs, Iterable) else [runs]
    for sol in runs:
        if not isinstance(sol, Solution):
            hint = " A file to write to is path=." if isinstance(sol, str | Path) else ""
            raise BadArgument(f"view shows solutions of simulate() or load(), got {type(sol).__name__}.{hint}")
        if not np.size(sol.t):
            raise BadArgument("there is nothing to view: the run has no times.")
    if not runs:
        raise BadArgument("there is nothing to view: no runs were given.")
    names = _names_of(runs) if names is None else texts(names, "names", "run 1")
    if len(names) != len(runs):
        raise BadArgument(f"names= has {len(names)} names for {len(runs)} runs.")
    return runs, names


def _names_of(runs: list[Solution]) -> list[str]:
    """What tells the runs apart: the choices in which they differ."""
    if len(runs) == 1:
        return ["run"]
    said = [dict(line.split(": ", 1) for line in report.facts(sol)["summary"].splitlines() if ": " in line) for sol in runs]
    differ = [key for key in said[0] if len({each.get(key) for each in said}) > 1]
    # of several choices the shortest that tells all of them apart; a plain choice begins with its name
    texts = [[each.get(key, "").split(";")[0].split(",")[0].split(" (")[0].strip() for key in differ] for each in said]
    names = [" + ".join(filter(None, parts)) for parts in texts]
    if len(set(names)) < len(names) or not all(0 < len(name) <= 60 for name in names):
        return [f"run {i + 1}" for i in range(len(runs))]
    return names


def _alike(one, other) -> bool:
    """Whether two descriptions have the same bodies and lines; sizes may differ."""
    if one is None or other is None or one["dimension"] != other["dimension"]:
        return False
    same = [body["name"] for body in one["bodies"]] == [body["name"] for body in other["bodies"]]
    return same and one.get("lines") == other.get("lines")


def _title(sol) -> str:
    what = drawn.scene(sol)
    if what is None or not what["bodies"]:
        return "A Dae" if is_dae(sol.plan.model) else "An Ode" if sol.plan.model.is_ode else "A run"
    n = len(what["bodies"])
    return f"{'Planar' if what['dimension'] == 2 else 'Spatial'} mechanism, {n} {'body' if n == 1 else 'bodies'}"


def _frame_count(runs, frames, notes) -> int:
    if frames is not None:
        return whole(frames, "frames", 2, 100_000)
    what = drawn.scene(runs[0])
    # without bodies a run is a curve: two frames a step show how it bends
    count = FRAMES if what is not None and what["bodies"] else max(FRAMES, *(min(2 * np.size(sol.t), 4000) for sol in runs))
    width = 3
    if what is not None and what["bodies"]:
        width = 3 if what["dimension"] == 2 else 7
        count = max(count, *(_needed(sol, what) for sol in runs))
    most = max(50, MOST_NUMBERS // (len(runs) * width * max(1, len(what["bodies"]) if what else 1)))
    if count > min(most, MOST_FRAMES):
        count = min(most, MOST_FRAMES)
        if most < FRAMES:
            notes.append(f"{count} frames, so that the page stays small; frames= asks for more.")
    return count


def _needed(sol, what) -> int:
    """Frames for which no body turns too far from one to the next; the mean over the run."""
    q = np.atleast_2d(sol.q)
    if what["dimension"] == 2:
        turned = np.abs(np.diff(q[:, 2::3], axis=0)).sum(axis=0) if len(q) > 1 else np.zeros(1)
    else:
        e = q.reshape(len(q), -1, 7)[:, :, 3:]
        turned = 2 * np.linalg.norm(np.diff(e, axis=0), axis=2).sum(axis=0) if len(q) > 1 else np.zeros(1)
    largest = float(np.nanmax(turned, initial=0.0))
    return int(min(largest / FINE, 1e6)) if np.isfinite(largest) else FRAMES


def _sampled(sol, count: int) -> Solution:
    """The run at equally spaced times, or at its own where it kept chosen ones or cannot be asked in between."""
    t0, t1 = sol.span
    own = np.atleast_1d(sol.t)
    if sol.trail.parent is not None or sol.trail.single or len(own) < 2 or t0 == t1:
        return sol
    if sol.trail.data is None and sol.trail.frames:
        return sol(sol.trail.frames["time"])
    ready = sol.trail.data is None or sol.trail.looks_inside
    if not ready:
        return sol  # asking in between would run it all again
    try:
        return sol(np.linspace(t0, t1, count))
    except HolonomicError:
        return sol


def _track(
    sol,
    name: str,
    count: int,
    wanted: list[str],
    notes: list[str],
    drawn_now: dict[str, Any] | None,
    kept_bodies: list[int] | None,
    forces: bool,
) -> Track:
    """The frames of a run; of its bodies those that are drawn now, by number, None: all."""
    fine = _sampled(sol, count)
    t, keep = np.unique(np.atleast_1d(fine.t), return_index=True)
    if sol.span[1] < sol.span[0]:
        t, keep = t[::-1], keep[::-1]
    what = drawn.scene(sol)
    n = len(np.atleast_1d(fine.t))
    dimension = what["dimension"] if what else 2
    width = 3 if dimension == 2 else 7
    bodies = len(what["bodies"]) if what else 0
    source = sol.source
    kept = source.trail.frames if sol is source and source.trail.data is None else {}  # exact, where sol(t) is cubic
    poses = np.atleast_2d(kept.get("q", fine.q))[:, : width * bodies].reshape(n, bodies, width)[keep]
    if kept_bodies is not None:
        poses = poses[:, kept_bodies]
    if dimension == 3 and bodies:
        poses = _same_side(poses)
    moving = {key: kept.get(key, values).reshape(n, -1, dimension)[keep] for key, values in drawn.arrays(fine).items()}
    if drawn_now is not None and bodies > MANY:
        moving.pop("forces", None)
        if forces:
            moving["forces"] = fine.trail.mechanism.joint_forces(fine, joint_names(drawn_now)).reshape(n, -1, dimension)[keep]
    none = np.zeros((len(t), 0, dimension))
    stopped = source.trail.stopped
    return Track(
        name, t, poses, moving.get("lines", none), moving.get("forces", none),
        signals_of(sol, fine, keep, wanted, notes), report.heading(source), report.report_lines(source),
        failure=sol.failure, wanted_end=stopped[1] if stopped else None,
        events={key: np.asarray(log.t) for key, log in source.events.items() if len(log)},
    )  # fmt: skip


def _same_side(poses: np.ndarray) -> np.ndarray:
    """Quaternions e and -e are the same rotation: take the one nearest to the frame before."""
    e = poses[:, :, 3:]
    signs = np.sign(np.einsum("tbi,tbi->tb", e[1:], e[:-1]))
    signs = np.cumprod(np.vstack([np.ones((1, e.shape[1])), np.where(signs == 0, 1, signs)]), axis=0)
    return np.concatenate([poses[:, :, :3], e * signs[:, :, None]], axis=2)


def _phase(sol) -> tuple[str, str]:
    """Two quantities across which a run without a picture is drawn: (signal, line) twice, as "q:0" and "q:1"."""
    model = sol.plan.model
    dae = model.is_ode and model.n_constraints
    letter = "x" if dae else "y" if model.is_ode else "q"
    size = model.nq // order_of(model) if dae else model.nq
    if size >= 2:
        return f"{letter}:0", f"{letter}:1"
    return ("time:0", f"{letter}:0") if model.is_ode else ("q:0", "v:0")


def _even_widths(what: dict[str, Any]) -> dict[str, Any]:
    """Rods that were given no width are a fifteenth of their length wide; drawn side by side they get one width."""
    rods = [s for body in what["bodies"] for s in body["shapes"] if s["kind"] == "rod" and _default_width(s)]
    if not rods:
        return what
    width = float(np.median([shape["width"] for shape in rods]))
    width = min(width, 2.5 * min(shape["width"] for shape in rods))
    bodies = [
        body | {"shapes": [s | {"width": width} if s["kind"] == "rod" and _default_width(s) else s for s in body["shapes"]]}
        for body in what["bodies"]
    ]
    return what | {"bodies": bodies}


def _default_width(shape) -> bool:
    return abs(shape["width"] - shape["length"] / 15) < 1e-12 * shape["length"]


def _count_bad(tracks: list[Track], notes: list[str]) -> None:
    for track in tracks:
        bad = ~np.isfinite(track.poses).all(axis=(1, 2)) | ~np.isfinite(track.lines).all(axis=(1, 2))
        for signal in track.signals:
            if signal.t is None and len(signal.values) == len(bad) and signal.group == "Run":
                bad = bad | np.isnan(signal.values).any(axis=1)
        if bad.any():
            where = track.t[np.flatnonzero(bad)[0]]
            who = "" if len(tracks) == 1 else f"{track.name}: "
            notes.append(f"{who}{bad.sum()} of {len(bad)} frames have numbers that are not finite, from t = {where:.6g} s on.")
