"""Pictures of runs: plots and films by Matplotlib, which is imported nowhere else, and a page for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..model.wrong_calls import says_what_it_takes

FOREIGN = {"duration": "seconds", "length": "seconds", "figsize": "size", "frame_rate": "fps"}


@says_what_it_takes
def view(
    runs, *, path: str | Path | None = None, names: Sequence[str] | None = None, signals: Sequence[str] = (),
    traces: Sequence[str] = (), forces: bool = False, frames: int | None = None, title: str = "",
    style: str = "auto", show: bool | None = None,
):  # fmt: skip
    """Show runs on a page: one solution, a list of them, or {name: solution}; several lie one over the other.

    Parameters
    ----------
    runs : Solution, sequence of Solution, or {str: Solution}
        What to show.
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
        How many times are drawn; by default 1000, more where bodies turn fast.
    title : str
        Title of the page.
    style : {"auto", "light", "dark"}
        "auto" follows the reader's system.
    show : bool, optional
        Open the browser; by default where no path is given, outside notebooks.

    Returns
    -------
    Page
        A notebook shows it in place. `.save(path)`, `.open()`, `.path`.
    """
    from .asked import switch
    from .page import Page, in_notebook
    from .scene import scene_of

    scene = scene_of(runs, names=names, frames=frames, signals=signals, traces=traces, forces=forces, title=title)
    page = Page(scene, style)
    if path is not None:
        page.save(path)
    if (show is not None and switch(show, "show")) or (show is None and path is None and not in_notebook()):
        page.open()
    return page


def animate(
    runs, path: str | Path, *, names: Sequence[str] | None = None, signals: Sequence[str] = (), traces: Sequence[str] = (),
    forces: bool = False, title: str = "", panels: Sequence[str] | None = None, **film_options,
) -> Path:  # fmt: skip
    """Write a film of one run or several; see `Solution.animate`."""
    from .asked import texts
    from .films import film
    from .scene import scene_of

    wanted = texts(signals, "signals", "energy")
    panels = [*wanted, "drift"] if panels is None else texts(panels, "panels", "drift")
    asked = [*wanted, *(name for name in panels if name not in ("drift", "energy") and name not in wanted)]
    scene = scene_of(runs, names=names, signals=asked, traces=traces, forces=forces, title=title)
    return says_what_it_takes(film, "animate", FOREIGN)(scene, path, panels=panels, **film_options)


__all__ = ["animate", "view"]
