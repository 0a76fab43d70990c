"""Pictures of runs: plots and films by Matplotlib, which is imported nowhere else, and a page for the browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..arguments import Assembling, Posed
from ..errors import BadArgument, UnknownArgument
from ..model.call_by_name import says_what_it_takes
from ..model.system import Ode, System
from ..simulate import simulate

FOREIGN = {"duration": "seconds", "length": "seconds", "figsize": "size", "frame_rate": "fps"}


def view(
    what, t_end=None, *, live=None, methods: Sequence[Any] | Mapping[str, Any] | None = None,
    side_by_side: bool = False,
    path: str | Path | None = None, names: Sequence[str] | None = None, signals: Sequence[str] = (),
    traces: Sequence[str] = (), forces: bool = False, frames: int | None = None, title: str = "", style: str = "auto",
    show: bool | None = None, **simulated,
):  # fmt: skip
    """Show runs on a page: solutions, or a system that is simulated first; with `live=` the page itself simulates.

    Parameters
    ----------
    what : Solution, sequence of Solution, {str: Solution}, System, Ode, Problem or Mechanism
        What to show; several runs lie one over the other.
    t_end : float or (float, float)
        When a system's run ends, as for `simulate`.
    live : {str: (float, float)} or True, optional
        Sliders with their ranges: parameters ("g", "k[0]"), initial values ("v0.y", "q0[1]"), "rtol", "step", or the strength
        of a stabilization ("alpha"). Whoever reads the page moves them, and the model runs again in the browser. True
        chooses a few.
    methods : list or {str: ..}, optional
        Methods to choose from on a live page, by names of yours or by their own; each an integrator, a stabilization, a
        tuple of these, or a mapping {"integrator": .., "stabilization": .., "formulation": .., "rtol": .., "atol": ..,
        "step": ..}. The first one is that of the recorded run.
    side_by_side : bool
        Let all methods of a live page run at once, one picture over the other, instead of one that is chosen.
    path : str or Path, optional
        Write the page here and do not open it.
    names : sequence of str, optional
        What the runs are called; by default what tells their methods apart.
    signals : sequence of str
        What to show beside the picture, as for `sol.plot`: "A.force", "tension"; drift and energy come by themselves.
    traces : sequence of str
        Points, bodies or joints whose paths are drawn; by default the mechanism's named points.
    forces : bool
        Draw the forces of joints from the start; the page has a switch.
    frames : int, optional
        How many times are drawn; by default 1000, more where bodies turn fast; 401 of a live page.
    title : str
        Title of the page.
    style : {"auto", "light", "dark"}
        "auto" follows the reader's system.
    show : bool, optional
        Open the browser; by default where no path is given, outside notebooks.
    **simulated
        Of a system: q0, v0, integrator, stabilization, rtol, step and whatever else `simulate` takes.

    Returns
    -------
    Page
        A notebook shows it in place. `.save(path)`, `.open()`, `.path`.

    Raises
    ------
    IncompatibleMethods
        A live page that no browser could run: implicit integrators, tables of inputs, `then=` of events, redundant constraints.
    """
    from .page import Page, in_notebook
    from .page_arguments import switch, whole
    from .scene import scene_of

    shown = {"names": names, "frames": frames, "signals": signals, "traces": traces, "forces": forces, "title": title}
    side = switch(side_by_side, "side_by_side")
    if live is not None:
        from .live import live_page, one_of

        if frames is not None:
            shown["frames"] = whole(frames, "frames", 2, 10_000)
        page = live_page(one_of(what), t_end, live, methods, side, simulated, shown, style)
    else:
        if methods is not None or side:
            of = "methods= are those" if methods is not None else "side_by_side=True lets methods run together"
            raise BadArgument(f"{of} of a live page: give live={{name: (low, high)}}, too.")
        page = Page(scene_of(_run(what, t_end, simulated), **shown), style)
    if path is not None:
        page.save(path)
    if (show is not None and switch(show, "show")) or (show is None and path is None and not in_notebook()):
        page.open()
    return page


def _run(what, t_end, simulated: dict[str, Any]):
    """Runs as they are; a system is simulated first."""
    if isinstance(what, System | Ode | Posed | Assembling):
        return simulate(what, t_end, **simulated)
    if t_end is not None or simulated:
        name = "t_end" if t_end is not None else next(iter(simulated))
        raise UnknownArgument(f"view has no argument {name!r} for runs: it goes with a system, which is simulated first.")
    return what


def animate(
    runs, path: str | Path, *, names: Sequence[str] | None = None, signals: Sequence[str] = (), traces: Sequence[str] = (),
    forces: bool = False, title: str = "", panels: Sequence[str] | None = None, **film_options,
) -> Path:  # fmt: skip
    """Write a video of one run or several; see `Solution.animate`."""
    from .films import film
    from .page_arguments import texts
    from .scene import scene_of

    wanted = texts(signals, "signals", "energy")
    panels = [*wanted, "drift"] if panels is None else texts(panels, "panels", "drift")
    asked = [*wanted, *(name for name in panels if name not in ("drift", "energy") and name not in wanted)]
    scene = scene_of(runs, names=names, signals=asked, traces=traces, forces=forces, title=title)
    return says_what_it_takes(film, "animate", FOREIGN)(scene, path, panels=panels, **film_options)


__all__ = ["animate", "view"]
