"""Measure pages of runs: time to write, size, time to load, frames a second in Chromium without a graphics card.

python tools/measure_view.py [chromium]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

from holonomic import simulate
from holonomic.multibody import Mechanism, rod

BODIES, FRAMES = 50, 1000
CHROMIUM = sys.argv[1] if len(sys.argv) > 1 else "/usr/bin/chromium"


def pendulums(dimension: int) -> Mechanism:
    """Fifty rods, each on a pin of its own."""
    m = Mechanism(gravity=(0.0, 0.0, -9.81) if dimension == 3 else (0.0, -9.81))
    for k in range(BODIES):
        x, y = (k % 10) * 1.2, (k // 10) * 1.2
        pin, end = ((x, y), (x + 0.3 + 0.01 * k, y)) if dimension == 2 else ((x, y, 0.0), (x + 0.3 + 0.01 * k, y, 0.0))
        m.body(f"rod {k}", rod(pin, end, mass=1.0))
        m.revolute(f"pin {k}", m.ground, f"rod {k}", at=pin, **({"axis": (0.0, 1.0, 0.0)} if dimension == 3 else {}))
    return m


def written(dimension: int, path: Path) -> tuple[float, float]:
    """Shortest time from a finished run to a written page, and its size in MB."""
    m, best = pendulums(dimension), np.inf
    for n in range(4):
        sol = simulate(m, 4.0)
        began = time.perf_counter()
        sol.view(path=path, frames=FRAMES, title=f"{BODIES} bodies")
        if n:  # the first compiles what samples the run
            best = min(best, time.perf_counter() - began)
        else:
            print(f"  first page, compiling included: {time.perf_counter() - began:.2f} s")
    return best, path.stat().st_size / 1e6


def watched(path: Path) -> None:
    """Load the page and count its frames for three seconds."""
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        )
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.perf_counter()
        tab.goto(path.as_uri())
        tab.wait_for_function("window.holonomic && holonomic.frames > 0")
        loaded = time.perf_counter() - began
        tab.wait_for_timeout(2500)
        first, start = tab.evaluate("[holonomic.frames, performance.now()]")
        tab.wait_for_timeout(3000)
        last, end = tab.evaluate("[holonomic.frames, performance.now()]")
        tab.evaluate("holonomic.pause()")
        one = tab.evaluate(
            "(() => { const t = performance.now(); for (let k = 0; k < 50; k++) holonomic.draw(); "
            "return (performance.now() - t) / 50; })()"
        )
        rate = 1000 * (last - first) / (end - start)
        print(f"  loads in {loaded:.2f} s, {rate:.0f} frames/s, {one:.1f} ms a frame in the script")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for dimension in (2, 3):
            print(f"{BODIES} bodies in {'the plane' if dimension == 2 else 'space'}, {FRAMES} frames")
            page = Path(folder) / f"page{dimension}.html"
            seconds, size = written(dimension, page)
            print(f"  written in {seconds:.2f} s, {size:.2f} MB")
            watched(page)
