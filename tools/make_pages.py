"""The moving pages of the documentation, and pictures of them.

mkdocs makes the pages while it builds the site: this file is one of its hooks.

    python tools/make_pages.py               pictures of all pages, into docs/images/view
    python tools/make_pages.py walker top    of some of them

Pictures need playwright and Chromium. Whoever runs this looks at every picture before committing it.
"""

from __future__ import annotations

import functools
import re
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from make_live_gallery import LIVE

from holonomic import RK4, Midpoint, Projection, compare, simulate
from holonomic.multibody import Mechanism, cylinder, rod
from holonomic.problems import delta_robot, jansen, jansen_walker, seven_body, two_link_arm
from holonomic.view import view

IMAGES = Path(__file__).parents[1] / "docs" / "images" / "view"
LESSONS = Path(__file__).parents[1] / "docs" / "live-lessons.md"
FRAMES = 400  # pages that are embedded stay small


def slider_crank() -> Mechanism:
    """The mechanism of the first pages."""
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.drive("O", speed=5.0)
    m.assemble(speeds={"O": 5.0})
    return m


def top():
    """The slowest of the three tops of the gallery."""
    tilt = np.radians(40)
    axle = np.array([np.sin(tilt), 0, np.cos(tilt)])
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("top", cylinder(0.095 * axle, 0.105 * axle, radius=0.06, mass=0.5))
    m.spherical("foot", m.ground, "top", at=(0, 0, 0))
    m.point("tip", "top", at=0.15 * axle)
    return simulate(m, 2.0, v0=[0, 0, 0, 150.0, 0, 0])


def shown(runs, title: str, frames: int = FRAMES, **options):
    """The page of a run, or of several by name."""
    return view(runs, title=title, frames=frames, show=False, **options)


def crank_page():
    sol = simulate(slider_crank(), 2 * np.pi / 5 * 2)
    return shown(sol, "Slider-crank", signals="A.force", traces=("A",), forces=True)


def apart_page():
    m, rule = slider_crank(), {"integrator": Midpoint(), "step": 0.06}
    plain, kept = (simulate(m, 5.0, **rule, stabilization=stabilization) for stabilization in (None, Projection()))
    runs = {"without stabilization": plain, "Projection": kept}
    return shown(runs, "Slider-crank, with and without projection")


def drift_page():
    arm = two_link_arm(t_end=10.0)
    found = compare(arm, integrator=RK4(), step=0.1, stabilization=[None, Projection()], repeat=1)
    return found.view(frames=FRAMES, show=False)


def lesson(number: int):
    """A page of the three lessons, by the code that stands there."""
    folder, blocks = Path(tempfile.mkdtemp()), re.findall(r"```python\n(.*?)```", LESSONS.read_text(encoding="utf-8"), re.S)
    made = []
    space = {"view": lambda *given, path, **options: made.append(view(*given, **options, show=False))}
    for block in blocks[: number + 1]:
        exec(compile(block.replace("from holonomic.view import view", ""), str(folder), "exec"), space)
    return made[number]


def by_command(command: str):
    """The page that a command of the live gallery writes."""
    from typer.testing import CliRunner

    from holonomic.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--no-open", "--output", str(path)])
        assert done.exit_code == 0, f"{command}\n{done.output}"
        return SimpleNamespace(html=path.read_text(encoding="utf-8"))


# those with the name of an example are shown below its picture in the gallery
PAGES = {
    "walker": lambda: shown(simulate(jansen_walker()), "Jansen's walker", 600),
    "jansen": lambda: shown(simulate(jansen()), "One leg of Jansen's linkage", signals="bar tension"),
    "slider_crank": crank_page,
    "seven_body": lambda: shown(simulate(seven_body()), "Seven-body mechanism"),
    "delta": lambda: shown(simulate(delta_robot()), "Delta robot, from a URDF file"),
    "top": lambda: shown(top(), "A spinning top", 1500),
    "apart": apart_page,
    "drift": drift_page,
    "lesson_drift": lambda: lesson(0),
    "lesson_gain": lambda: lesson(1),
    "lesson_stiff": lambda: lesson(2),
} | {name: functools.partial(by_command, command) for name, (_, command) in LIVE.items()}


@cache  # `mkdocs serve` builds the site again and again
def page(name: str) -> str:
    """The text of a page."""
    return PAGES[name]().html


def on_files(files, config):
    """Called by mkdocs when it looks for its files: add the pages."""
    from mkdocs.structure.files import File

    for name in PAGES:
        text = page(name).replace("<title>", f'<link rel="icon" href="../{config.theme["favicon"]}">\n<title>', 1)
        files.append(File.generated(config, f"pages/{name}.html", content=text))
    return files


# a slider, and where to
MOVED = """(() => {{ const each = holonomic.live.inputs.find(each => each.slider.name === "{}"); each.input.value = {};
for (const kind of ["input", "change"]) each.input.dispatchEvent(new Event(kind)); }})()"""

# name: (time of the picture, script before it, window)
SHOTS = {
    "walker": (3.2, "", (1280, 800)), "jansen": (0.9, "", (1280, 800)), "delta": (1.1, "", (1280, 800)),
    "slider_crank": (0.75, "holonomic.show.names = true", (1280, 800)), "seven_body": (0.012, "", (1280, 800)),
    "top": (0.62, "", (1280, 800)), "apart": (4.6, "", (1280, 800)), "drift": (7.0, "", (1280, 800)),
    "lesson_drift": (4.0, "", (1280, 860)), "live_pendulum": (3.0, MOVED.format("L", 1.4), (1280, 800)),
}  # fmt: skip


def picture(browser, folder: Path, name: str, ending: str = "", size=None, **look) -> None:
    """Save what the browser shows of a page."""
    path = folder / f"{name}.html"
    path.write_text(page(name), encoding="utf-8")
    t, script, window = SHOTS[name]
    window = size or window
    tab = browser.new_page(viewport={"width": window[0], "height": window[1]}, **look)
    tab.goto(path.as_uri())
    tab.wait_for_function("window.holonomic")
    tab.evaluate(f"holonomic.pause(); {script}; holonomic.seek({t})")
    tab.wait_for_timeout(400)
    tab.screenshot(path=IMAGES / f"{name}{ending}.png")
    tab.close()


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    if not names or "slider_crank" in names:
        sol = simulate(slider_crank(), 2.5)
        sol.plot("A.force", "O.torque", "slider.position", "drift").savefig(IMAGES / "plot.png", dpi=110)
        sol.animate(IMAGES / "crank.gif", fps=20, traces="A", panels=("A.force", "drift"), title="Slider-crank", dpi=90)
    with sync_playwright() as play, tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        )
        for name in names or SHOTS:
            picture(browser, folder, name)
        if not names or "walker" in names:
            picture(browser, folder, "walker", "_dark", color_scheme="dark")
            picture(browser, folder, "walker", "_phone", size=(390, 780))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
