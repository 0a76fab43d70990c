"""A real browser for the pages, and runs to look at."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from cranks import slider_crank
from matplotlib.image import imread

from holonomic import simulate
from holonomic.multibody import Mechanism, disk, rod

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def launch():
    """Start Chromium without a window and without a graphics card, with further arguments."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'holonomic[test]'")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    with driver.sync_playwright() as play:
        # software rendering only: a graphics card would make the numbers depend on the machine
        started = []

        def make(*more: str):
            started.append(play.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu", *more]))
            return started[-1]

        yield make
        for each in started:
            each.close()


@pytest.fixture(scope="session")
def browser(launch):
    """Chromium that draws in space with its own software."""
    return launch("--enable-unsafe-swiftshader")


@pytest.fixture(scope="session")
def browser_without_webgl(launch):
    """Chromium as it is where there is no WebGL at all."""
    return launch("--disable-3d-apis")


class Opened:
    """A page in the browser, and what the browser complained of."""

    def __init__(self, browser, path: Path, size=(1280, 800), before: str = "", **more):
        self.tab = browser.new_page(viewport={"width": size[0], "height": size[1]}, **more)
        self.tab.add_init_script(before)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.goto(path.resolve().as_uri())
        self.tab.wait_for_function("window.holonomic", timeout=30_000)
        self.frame()

    def __call__(self, script: str):
        return self.tab.evaluate(script)

    def frame(self) -> None:
        """Wait until everything that was asked for is painted."""
        self("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def seek(self, t: float) -> None:
        self(f"holonomic.pause(); holonomic.seek({t!r})")
        self.frame()

    def where(self, name: str, run: int = 0) -> np.ndarray:
        """Where a point, body or joint is drawn, m."""
        return np.array(self(f"holonomic.where('{name}', {run})"))

    @property
    def banner(self) -> str:
        return self.tab.inner_text("#banner") if self.tab.is_visible("#banner") else ""

    def painted(self) -> np.ndarray:
        """The picture of the mechanism as pixels (rows, columns, red green blue), the way a reader sees it."""
        return imread(BytesIO(self.tab.screenshot(clip=self.tab.locator("#stage").bounding_box())))[..., :3]

    def inked(self, selector: str = "#ink") -> float:
        """The part of a canvas on which something is drawn."""
        return self(
            f"""(() => {{ const c = document.querySelector("{selector}"), d = document.createElement("canvas");
            d.width = c.width; d.height = c.height; const g = d.getContext("2d"); g.drawImage(c, 0, 0);
            const p = g.getImageData(0, 0, d.width, d.height).data; let n = 0;
            for (let k = 3; k < p.length; k += 4) if (p[k] > 0) n++; return 4 * n / p.length; }})()"""
        )


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page; the tabs are closed afterwards."""
    tabs: list[Opened] = []

    def make(page, within=browser, **options) -> Opened:
        tabs.append(Opened(within, page.save(tmp_path / f"page{len(tabs)}.html"), **options))
        return tabs[-1]

    yield make
    for each in tabs:
        each.tab.close()


@pytest.fixture(scope="session")
def crank():
    return simulate(slider_crank(), 2.0)


@pytest.fixture(scope="session")
def top():
    m = Mechanism(gravity=(0, 0, -9.81))
    wheel = m.body("wheel", disk((0.3, 0, 0.2), 0.15, mass=1.0, axis=(1, 0, 0)), rod((0, 0, 0.2), (0.3, 0, 0.2), mass=0.1))
    m.spherical("foot", m.ground, wheel, at=(0, 0, 0.2))
    m.point("rim", wheel, at=(0.3, 0.15, 0.2))
    system, q, _ = m.to_system()
    return simulate(system, 1.0, q0=q, v0=[0, 0, 0, 60.0, 0, 0])
