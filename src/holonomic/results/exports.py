"""The ways out of a solution: plots, pages, films, files and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .solution import Solution


class Exports:
    """What a `Solution` can be turned into, as the run left it. Each way is imported when it is taken."""

    as_written: Any

    def _as_written(self, others: Sequence) -> list:
        return [each.as_written if isinstance(each, Exports) else each for each in (self, *others)]

    def plot(
        self, *names: str, ax: Axes | Sequence[Axes] | None = None, style: str = "light", points: int = 2000, **line
    ) -> Figure:
        """Plot quantities over time, one axes per name.

        Parameters
        ----------
        *names : str
            "q", "v", "a", "lam", "reactions", "drift", "energy", or what `sol[name]` knows; if left out, "q"
            and "drift".
        ax : Axes or sequence of Axes, optional
            Where to draw; a new figure if not given.
        style : {"light", "dark"}
            Colours of a new figure, and of the lines.
        points : int
            Number of points of a curve; those between steps come from `sol(t)`.
        **line
            Further properties of the lines, as for Matplotlib's `Axes.plot`.

        Returns
        -------
        matplotlib.figure.Figure

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> figure = sol.plot("q", "reactions", "drift")
        >>> figure.savefig("pendulum.png")
        >>> len(figure.axes)
        3
        """
        from ..view.plot import plot

        return plot(self.as_written, names, ax=ax, style=style, points=points, **line)

    def phase(self, *names: str, ax: Axes | None = None, style: str = "light", points: int = 2000, **line) -> Figure:
        """Plot a coordinate's velocity over it, or a second quantity over the first.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.phase("x").savefig("phase.png")  # v over x, by the name of a coordinate
        """
        from ..view.plot import phase

        return phase(self.as_written, names, ax=ax, style=style, points=points, **line)

    def view(self, *others: Solution, **options):
        """Show the run moving, on a page in the browser or in the notebook; others lie over it.

        Options are those of `holonomic.view.view`: path, names, signals, traces, forces, frames, title, style, show; `live` with
        ranges of what is to be moved, such as {"g": (0, 25)}, makes a page that simulates again, and `methods` gives it others.
        Mechanisms show their bodies and joints, systems with `drawing=` their lines, others one coordinate over another.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> page = sol.view(path="pendulum.html", signals="energy", show=False)
        """
        from ..view import view

        return view(self._as_written(others), **options)

    def animate(self, path: str | Path, *others: Solution, **options) -> Path:
        """Write a video of the run: .gif, or .mp4, which needs ffmpeg. Others lie over it.

        Parameters
        ----------
        path : str or Path
            Where to write; the ending says which.
        *others : Solution
            Further runs of the same system.
        **options
            seconds and fps of the video; panels beside it, such as ("drift", "energy"), () for none; traces, forces, names,
            signals, title as for `view`; size in inches, dpi; style "light" or "dark".

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> path = sol.animate("pendulum.gif", seconds=0.2, fps=10, panels=("energy",))
        """
        from ..view import animate

        return animate(self._as_written(others), path, **options)

    def save(self, path: str | Path) -> None:
        """Write the run to a NetCDF-3 file: arrays, labels, events, and what ran. `load` reads it again.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.save("pendulum.nc")
        >>> from holonomic import load
        >>> bool((load("pendulum.nc").q == sol.q).all())
        True
        """
        from .saving import save

        save(self.as_written, path)

    @staticmethod
    def load(path: str | Path) -> Solution:
        """Read a run that was saved. It holds the arrays but no model: `sol(t)` is cubic in between."""
        from .saving import load

        return load(path)

    def to_xarray(self):
        """Return an xarray Dataset with dimensions time, coordinate and constraint, and their labels.

        Of a mechanism also force and torque of every joint, drive and force, as "A.force" over time and axis.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.to_xarray()["q"].dims
        ('time', 'coordinate')
        """
        from .tables import to_xarray

        return to_xarray(self.as_written)

    def to_dataframe(self, *names: str):
        """Return a pandas DataFrame: one row per time, one column per component.

        Parameters
        ----------
        *names : str
            What to take: "q", "lam", or what `sol[name]` knows, such as "A.force". If left out, everything; of a
            mechanism that includes force and torque of every joint, drive and force.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.to_dataframe("q").shape
        (11, 2)
        """
        from .tables import to_dataframe

        return to_dataframe(self.as_written, names)

    def to_csv(self, path: str | Path, *names: str) -> None:
        """Write the table of `to_dataframe` as comma-separated text, every digit kept: `sol.to_csv("A.csv", "A.force")`.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.problems import pendulum
        >>> sol = simulate(pendulum(), 1.0, save_at=11)
        >>> sol.to_csv("pendulum.csv", "q", "reactions")
        >>> open("pendulum.csv").readline().count(",")
        4
        """
        from .tables import to_csv

        to_csv(self.as_written, path, names)
