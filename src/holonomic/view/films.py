"""Films of runs: GIF by Pillow, which Matplotlib brings, and MP4 by ffmpeg."""

from __future__ import annotations

import reprlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..errors import BadArgument, MissingExtra
from ..files import as_path, writable, written
from .flat import Flat
from .page_arguments import number
from .scene import Scene
from .signals import Signal
from .solid import Solid
from .styles import colours, style_of

LONGEST, SHORTEST = 20.0, 2.0  # s; a run that takes less or more time is not shown in real time
USUAL = 8.0  # s; what it takes instead
MOST = 3000  # frames of a film
COLOURS = 128  # of a GIF; line drawings need few


def film(
    scene: Scene, path: str | Path, *, seconds: float | None = None, fps: float | None = None,
    panels: Sequence[str] = ("drift",), size: tuple[float, float] | None = None, dpi: float = 110, style: str = "light",
) -> Path:  # fmt: skip
    """Write a film of a scene; see `Solution.animate`."""
    path = as_path(path, "animate")
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise BadArgument(f"{path.name}: films are written as .gif or .mp4. Name the file film.gif or film.mp4.")
    target = writable(path, "animate")
    fps = None if fps is None else number(fps, "fps", 0, 100, "frames a second")
    seconds = None if seconds is None else number(seconds, "seconds", 0, 3600)
    size, dpi = None if size is None else _lengths(size), number(dpi, "dpi", 10, 1000)
    program = ffmpeg() if kind == ".mp4" else None
    rate = fps or (30.0 if program else 25.0)
    taken = abs(scene.tracks[0].t[-1] - scene.tracks[0].t[0])
    seconds = seconds or (taken if SHORTEST <= taken <= LONGEST else USUAL)
    count = max(2, round(rate * seconds))
    if count > MOST:
        raise BadArgument(f"{count} frames are too many for a film (at most {MOST}). Pass a smaller seconds= or fps=.")
    with matplotlib.rc_context(style_of(style).settings):
        picture = FilmPicture(scene, panels, size, dpi, style)
        frames = picture.frames(np.linspace(0.0, 1.0, count))
        with written(target) as draft:
            if program:
                _write_mp4(draft, frames, picture.pixels, rate, program)
            else:
                _write_gif(draft, frames, rate)
    return path


def _lengths(size) -> tuple[float, float]:
    """Width and height in inches."""
    if not isinstance(size, list | tuple | np.ndarray) or len(size) != 2:
        raise BadArgument(f"size={reprlib.repr(size)}: give width and height in inches, such as (8, 4.5).")
    return number(size[0], "size[0]", 0.5, 100, "inches"), number(size[1], "size[1]", 0.5, 100, "inches")


def ffmpeg() -> str:
    """Return the path of an ffmpeg, the system's or the one of the extra."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg
    except ImportError:
        raise MissingExtra(
            'films as .mp4 need ffmpeg: pip install "holonomic[view]", or install ffmpeg itself; a .gif needs neither.'
        ) from None
    return imageio_ffmpeg.get_ffmpeg_exe()


class FilmPicture:
    """A figure with the mechanism and panels beside it, drawn frame by frame."""

    def __init__(self, scene: Scene, panels: Sequence[str], size, dpi: float, style: str):
        self.scene, self.look = scene, style_of(style)
        chosen = [self._signal(name) for name in panels if name != "drift" or self._has(name)]
        size = size or ((8.0, 4.5) if chosen else (5.6, 4.5))
        even = [2 * int(length * dpi / 2) / dpi for length in size]  # films need even numbers of pixels
        self.figure = Figure(figsize=even, dpi=dpi, layout="constrained")
        self.canvas = FigureCanvasAgg(self.figure)
        wide = [1.5, 1] if chosen else [1]
        grid = self.figure.add_gridspec(max(1, len(chosen)), len(wide), width_ratios=wide)
        main = self.figure.add_subplot(grid[:, 0])
        self.figure.suptitle(scene.title.replace("$", r"\$"), x=0.01, ha="left", fontsize=11, fontweight="bold")
        self.clock = self.figure.text(0.012, 0.02, "", fontsize=9.5)
        self.cursors = []
        for k, signal in enumerate(chosen):
            self.cursors.append(self._panel(self.figure.add_subplot(grid[k, 1]), signal, last=k == len(chosen) - 1))
        if scene.dimension:
            self.painter: Any = (Flat if scene.dimension == 2 else Solid)(main, scene, self.look, scene.show_forces)
            main.set_xticks([])
            main.set_yticks([])
            main.grid(False)
            for side in main.spines.values():
                side.set_visible(False)
        else:
            self.painter = Phase(main, scene, self.look)

    def _has(self, name: str) -> bool:
        return any(signal.name == name for signal in self.scene.tracks[0].signals)

    def _signal(self, name: str) -> str:
        if not self._has(name):
            there = ", ".join(signal.name for signal in self.scene.tracks[0].signals)
            raise BadArgument(f"panels= has {name!r}, which is not among the signals: {there}.")
        return name

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height."""
        return self.canvas.get_width_height()

    def _panel(self, axes, name: str, last: bool):
        several = len(self.scene.tracks) > 1
        first = next(signal for signal in self.scene.tracks[0].signals if signal.name == name)
        for n, track in enumerate(self.scene.tracks):
            signal = next((each for each in track.signals if each.name == name), None)
            if signal is not None:
                self._curves(axes, signal, track, n, several)
        axes.set_title(f"{first.name}  ({first.unit})".replace("$", r"\$"), loc="left", fontsize=9)
        if first.logarithmic:
            axes.set_yscale("log")
        axes.margins(x=0)
        axes.tick_params(labelbottom=last)
        if last:
            axes.set_xlabel("time t  (s)")
        handles, labels = axes.get_legend_handles_labels()
        if any(labels) and len(labels) <= 6:
            axes.legend(handles, labels, loc="upper left", fontsize=7, frameon=False, ncols=2)
        return axes.axvline(self.scene.tracks[0].t[0], color=self.look.settings["text.color"], linewidth=0.9)

    def _curves(self, axes, signal: Signal, track, n: int, several: bool) -> None:
        t = track.t if signal.t is None else signal.t
        shades = colours(self.look, max(len(self.scene.tracks), signal.values.shape[1]))
        for k, values in enumerate(signal.values.T):
            label = (track.name if several else signal.labels[k]).replace("$", r"\$")
            axes.plot(
                t, values, color=shades[n if several else k], linestyle=("-", "--", ":")[k % 3] if several else "-",
                linewidth=1.1, label="_" if several and k else label, drawstyle="steps-post" if signal.logarithmic else "default",
            )  # fmt: skip

    def frames(self, parts: np.ndarray):
        """Yield the picture at parts of the run, 0 to 1, as arrays of bytes."""
        begins = [track.t[0] for track in self.scene.tracks]
        ends = [track.t[-1] for track in self.scene.tracks]
        longest = self.scene.tracks[int(np.argmax(np.abs(np.subtract(ends, begins))))].t
        digits = max(0, min(9, 3 - int(np.floor(np.log10(abs(longest[-1] - longest[0]) or 1.0)))))
        moving = sorted([*self.painter.moving, self.clock, *self.cursors], key=lambda artist: artist.get_zorder())
        for artist in moving:
            artist.set_animated(True)
        self.canvas.draw()  # what stays still, painted once
        still = self.canvas.copy_from_bbox(self.figure.bbox)
        for part in parts:
            t = longest[0] + part * (longest[-1] - longest[0])
            at = int(np.argmin(np.abs(longest - t)))
            self.painter.draw(at)
            self.clock.set_text(f"t = {longest[at]:.{digits}f} s")
            for cursor in self.cursors:
                cursor.set_xdata([longest[at]] * 2)
            self.canvas.restore_region(still)
            for artist in moving:
                self.figure.draw_artist(artist)
            yield np.asarray(self.canvas.buffer_rgba())


class Phase:
    """A run without a picture: one quantity over another."""

    def __init__(self, axes, scene: Scene, look):
        self.paths = []
        for n, track in enumerate(scene.tracks):
            x, y = (_column(track, each) for each in scene.phase)
            colour = look.lines[n % len(look.lines)]
            axes.plot(x, y, color=colour, linewidth=0.8, alpha=0.35)
            (past,) = axes.plot([], [], color=colour, linewidth=1.5)
            (point,) = axes.plot([], [], "o", color=colour, markersize=7)
            self.paths.append((np.stack([x, y]), past, point))
        self.moving = [artist for _, *both in self.paths for artist in both]
        axes.set_xlabel(scene.phase[0].replace(":", " "))
        axes.set_ylabel(scene.phase[1].replace(":", " "))
        axes.margins(0.06)

    def draw(self, at: int) -> None:
        """Move the points."""
        for path, past, point in self.paths:
            past.set_data(path[:, : at + 1])
            point.set_data(path[:, min(at, path.shape[1] - 1)][:, None])


def _column(track, name: str) -> np.ndarray:
    signal, _, line = name.rpartition(":")
    if signal == "time":
        return track.t
    return next(each for each in track.signals if each.name == signal).values[:, int(line)]


def _write_gif(path: Path, frames, rate: float) -> None:
    from PIL import Image

    images: list[Any] = []
    for frame in frames:
        image = Image.fromarray(frame[:, :, :3].copy())
        # one palette for all frames, without dithering: still parts stay still, and the file small
        images.append(
            image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE)
            if not images
            else image.quantize(palette=images[0], dither=Image.Dither.NONE)
        )
    images[0].save(path, save_all=True, append_images=images[1:], duration=max(20, round(1000 / rate)), loop=0, optimize=True)


def _write_mp4(path: Path, frames, pixels: tuple[int, int], rate: float, program: str) -> None:
    import subprocess

    size = f"{pixels[0]}x{pixels[1]}"
    command = [
        program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", size, "-r", f"{rate:g}", "-i", "-",
        "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart", str(path),
    ]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stderr is not None
        try:
            for frame in frames:
                running.stdin.write(frame.tobytes())
            running.stdin.close()
        except BrokenPipeError:
            pass
        said = running.stderr.read().decode(errors="replace")
    if running.returncode:
        raise BadArgument(f"ffmpeg could not write the film: {said.strip() or running.returncode}. Write a .gif instead.")
