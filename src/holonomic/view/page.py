"""The page: one HTML file that opens offline and shows a run moving.

Why no library. Plotly's script is 4.8 MB, and its 3-D scene rebuilds every mesh that moves: 50 boxes gave 1 to 4
frames a second in headless Chromium on two cores. Three.js draws as fast as one likes, but has no Python package
that is kept up; it would have to be copied in here, for six kinds of shapes and one light. So the page brings its
own painters, about 90 kB of plain JavaScript under `page/`: a canvas for the plane, WebGL for space, a canvas per
signal. A frame moves places and rotations only; curves are painted once and copied under the cursor. It needs
nothing installed, and no network.

The file is a template, the scene's description as JSON, and all numbers as one base64 text of 32-bit floats
(times with 64).
"""

from __future__ import annotations

import base64
import html
import json
import re
import reprlib
import sys
import tempfile
import webbrowser
import zlib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._version import __version__
from ..errors import BadArgument
from ..files import writable, write_bytes
from ..results.drawn import joint_names
from .scene import Scene, Track
from .signals import Signal
from .styles import LOOKS

# the last one starts the page
SCRIPTS = ("data.js", "look.js", "marks.js", "flat.js", "mesh.js", "solid.js", "panels.js", "phase.js", "main.js")
THEMES = ("auto", "light", "dark")
ALARM = {"light": "#c1121f", "dark": "#ff6b6b"}  # joints that have come apart
FORCE = {"light": "#c2410c", "dark": "#ffb070"}


class Page:
    """A page that shows runs; notebooks show it in place. `save(path)` writes it, `open()` shows it in the browser."""

    def __init__(self, scene: Scene, style: str = "auto", play: bool = True, live: LivePart | None = None):
        if not isinstance(style, str) or style not in THEMES:
            raise BadArgument(f"style={reprlib.repr(style)}: choose {', '.join(map(repr, THEMES))}.")
        self.scene, self.style, self.play, self.live = scene, style, play, live
        self.path: Path | None = None

    @property
    def html(self) -> str:
        """The whole page as text."""
        blob = Blob()
        meta, scripts, engine = _meta(self.scene, blob, self.style, self.play), SCRIPTS, ""
        if self.live is not None:
            scripts = (*SCRIPTS[:-1], "live.js", SCRIPTS[-1])
            meta |= self.live.meta(blob)
            engine = f'<script type="text/plain" id="engine">{deflated(self.live.code(_file("engine.js")))}</script>\n'
            (track,) = meta["tracks"]
            meta["tracks"] = [track | {"name": "recorded", "ghost": True}, *(track | {"name": name} for name in self.live.names)]
        text = json.dumps(meta, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        parts = {
            "theme": self.style if self.style != "auto" else "light", "version": __version__,
            "title": html.escape(self.scene.title), "css": _file("page.css"), "meta": text.replace("<", "\\u003c"),
            "data": blob.text(), "js": "\n".join(map(_file, scripts)), "engine": engine,
        }  # fmt: skip
        # in one pass over the template: what is put in is not looked at again
        return re.sub(r"@@(\w+)@@", lambda found: parts[found.group(1)], _file("page.html"))

    def save(self, path: str | Path) -> Path:
        """Write the page to a file; return its path."""
        write_bytes(writable(path, "save", devices=True), self.html.encode())
        self.path = Path(path)
        return self.path

    def open(self) -> bool:
        """Show the page in the browser; tell whether there is one."""
        if self.path is None:
            handle = tempfile.NamedTemporaryFile(prefix="holonomic-", suffix=".html", delete=False)
            handle.close()
            self.save(handle.name)
        assert self.path is not None
        try:
            return webbrowser.open(self.path.resolve().as_uri())
        except webbrowser.Error:
            return False

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.scene.title)}" '
            'style="width:100%;height:620px;border:1px solid #8884;border-radius:8px" allowfullscreen></iframe>'
        )

    def __repr__(self) -> str:
        n = len(self.scene.tracks)
        where = "not written yet: page.save(path)" if self.path is None else str(self.path)
        return f"Page({self.scene.title!r}, {n} run{'s' * (n > 1)}, {len(self.scene.tracks[0].t)} frames; {where})"


def in_notebook() -> bool:
    """Tell whether what a cell returns is shown by a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


class LivePart(Protocol):
    """What makes a page live: see `live`."""

    @property
    def names(self) -> list[str]: ...  # of the runs that are moved

    def meta(self, blob: Blob) -> dict[str, Any]: ...  # joins the description of the page

    def code(self, engine: str) -> str: ...  # JavaScript that gives the engine


class Blob:
    """All numbers of a page, one after the other, each beginning at a multiple of eight bytes."""

    def __init__(self):
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values, kind: str = "f") -> dict[str, Any]:
        """Keep an array; return where it is."""
        made = np.ascontiguousarray(values, dtype="<f8" if kind == "d" else "<f4")
        raw = made.tobytes()
        ref = {"at": self.size, "shape": list(made.shape), "type": kind}
        raw += bytes(-len(raw) % 8)
        self.parts.append(raw)
        self.size += len(raw)
        return ref

    def text(self) -> str:
        """All of it as base64."""
        return base64.b64encode(b"".join(self.parts)).decode()


def deflated(code: str) -> str:
    """Text as browsers unpack it: raw deflate, base64. A program of a page becomes a quarter of itself."""
    packing = zlib.compressobj(9, wbits=-15)
    return base64.b64encode(packing.compress(code.encode()) + packing.flush()).decode()


@cache
def _file(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _meta(scene: Scene, blob: Blob, style: str, play: bool) -> dict[str, Any]:
    begins, ends = [track.t[0] for track in scene.tracks], [track.t[-1] for track in scene.tracks]
    back = ends[0] < begins[0]
    return {
        "title": scene.title, "theme": style, "play": play, "what": scene.what, "notes": scene.notes,
        "begin": float(max(begins) if back else min(begins)), "end": float(min(ends) if back else max(ends)),
        "phase": scene.phase if _known(scene) else None, "shown": scene.shown, "traces": scene.traces,
        "forces": scene.show_forces,
        "forceful": joint_names(scene.what) if scene.what and scene.tracks[0].forces.shape[1] else [],
        "tracks": [_track(track, blob) for track in scene.tracks], "looks": {name: _look(name) for name in LOOKS},
    }  # fmt: skip


def _known(scene: Scene) -> bool:
    """Whether both quantities of the phase plot are among the signals."""
    names = {"time", *(signal.name for signal in scene.tracks[0].signals)}
    return all(each.rpartition(":")[0] in names for each in scene.phase)


def _track(track: Track, blob: Blob) -> dict[str, Any]:
    with np.errstate(over="ignore"):  # what is beyond 32 bits becomes infinite, and is shown as that
        return {
            "name": track.name, "t": blob.add(track.t, "d"), "poses": blob.add(track.poses),
            "lines": blob.add(track.lines), "forces": blob.add(track.forces),
            "signals": [_signal(signal, blob) for signal in track.signals],
            "heading": track.heading.removeprefix("Solution "), "failure": track.failure,
            "stopped": float(track.t[-1]), "wanted": track.wanted_end,
            "events": [{"name": name, "t": blob.add(times, "d")} for name, times in track.events.items()],
        }  # fmt: skip


def _signal(signal: Signal, blob: Blob) -> dict[str, Any]:
    return {
        "name": signal.name, "group": signal.group, "unit": signal.unit, "labels": signal.labels,
        "values": blob.add(signal.values), "t": None if signal.t is None else blob.add(signal.t, "d"),
        "logarithmic": signal.logarithmic,
    }  # fmt: skip


def _look(name: str) -> dict[str, Any]:
    look = LOOKS[name]
    ink = look.settings["text.color"]
    return {
        "ground": look.ground, "ink": ink, "soft": "#5b6572" if name == "light" else "#9aa4b1",
        "grid": look.settings["grid.color"], "edge": look.settings["axes.edgecolor"], "lines": look.lines,
        "alarm": ALARM[name], "force": FORCE[name],
    }  # fmt: skip
