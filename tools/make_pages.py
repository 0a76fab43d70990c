"""Write the moving pages of the documentation, and pictures of them.

    python tools/make_pages.py               all pages into docs/pages, pictures into docs/images/view
    python tools/make_pages.py walker top    some of them

Pictures need playwright and Chromium. Whoever runs this looks at every picture before committing it.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from holonomic import RK4, Midpoint, Projection, compare, simulate
from holonomic.multibody import Mechanism, cylinder, rod
from holonomic.problems import delta_robot, jansen, jansen_walker, seven_body, two_link_arm
from holonomic.view import view

DOCS = Path(__file__).parents[1] / "docs"
PAGES, IMAGES = DOCS / "pages", DOCS / "images" / "view"
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


def page(name: str):
    """One page by name."""
    options = {"frames": FRAMES, "show": False}
    if name == "walker":
        return view(simulate(jansen_walker()), title="Jansen's walker", **options | {"frames": 600})
    if name == "jansen":
        return view(simulate(jansen()), title="One leg of Jansen's linkage", signals="bar tension", **options)
    if name == "slider_crank":
        sol = simulate(slider_crank(), 2 * np.pi / 5 * 2)
        return view(sol, title="Slider-crank", signals="A.force", traces=("A",), forces=True, **options)
    if name == "seven_body":
        return view(simulate(seven_body()), title="Seven-body mechanism", **options)
    if name == "delta":
        return view(simulate(delta_robot()), title="Delta robot, from a URDF file", **options)
    if name == "top":
        return view(top(), title="A spinning top", **options | {"frames": 1500})
    if name == "apart":
        m = slider_crank()
        runs = {
            "without stabilization": simulate(m, 5.0, integrator=Midpoint(), step=0.06, stabilization=None),
            "Projection": simulate(m, 5.0, integrator=Midpoint(), step=0.06, stabilization=Projection()),
        }
        return view(runs, title="Slider-crank, with and without projection", **options)
    found = compare(two_link_arm(t_end=10.0), integrator=RK4(), step=0.1, stabilization=[None, Projection()], repeat=1)
    return found.view(**options)


# name: (time of the picture, script before it, window)
SHOTS = {
    "walker": (3.2, "", (1280, 800)), "jansen": (0.9, "", (1280, 800)), "delta": (1.1, "", (1280, 800)),
    "slider_crank": (0.75, "holonomic.show.names = true", (1280, 800)), "seven_body": (0.012, "", (1280, 800)),
    "top": (0.62, "", (1280, 800)), "apart": (4.6, "", (1280, 800)), "drift": (7.0, "", (1280, 800)),
}  # fmt: skip


def picture(browser, name: str, ending: str = "", size=None, **look) -> None:
    """Save what the browser shows of a page."""
    t, script, window = SHOTS[name]
    window = size or window
    tab = browser.new_page(viewport={"width": window[0], "height": window[1]}, **look)
    tab.goto((PAGES / f"{name}.html").as_uri())
    tab.wait_for_function("window.holonomic")
    tab.evaluate(f"holonomic.pause(); {script}; holonomic.seek({t})")
    tab.wait_for_timeout(400)
    tab.screenshot(path=IMAGES / f"{name}{ending}.png")
    tab.close()


def main(names: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(parents=True, exist_ok=True)
    PAGES.mkdir(exist_ok=True)
    for name in names or SHOTS:
        path = page(name).save(PAGES / f"{name}.html")
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")
    if not names or "slider_crank" in names:
        sol = simulate(slider_crank(), 2.5)
        sol.plot("A.force", "O.torque", "slider.position", "drift").savefig(IMAGES / "plot.png", dpi=110)
        sol.animate(IMAGES / "crank.gif", fps=20, traces="A", panels=("A.force", "drift"), title="Slider-crank", dpi=90)
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"],
        )
        for name in names or SHOTS:
            picture(browser, name)
        if not names or "walker" in names:
            picture(browser, "walker", "_dark", color_scheme="dark")
            picture(browser, "walker", "_phone", size=(390, 780))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
