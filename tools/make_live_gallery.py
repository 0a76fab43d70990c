"""Write docs/live-gallery.md: machines with the commands that made their live pages, and which problems are live.

    python tools/make_live_gallery.py            write the page; it makes a page of every problem, which takes minutes
    python tools/make_live_gallery.py --check    tell whether machines and problems of the page are those of today

The pages themselves are made while the site is built, by `make_pages`, from the same commands.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "live-gallery.md"

# name of the page: (title, command)
LIVE = {
    "live_pendulum": ("A pendulum", "holonomic view pendulum --t-end 10 --sliders g=1:25,L=0.5:2,v0.y=-8:8,rtol=1e-10:1e-2"),
    "live_double_pendulum": ("Two pendulums in a row", "holonomic view double-pendulum --sliders g=1:25,l=0.5:2"),
    "live_chain": ("A chain", "holonomic view chain --sliders g=1:25,m=0.2:4"),
    "live_four_bar": ("A four-bar linkage", "holonomic view four-bar --sliders gravity.y=-20:-1,coupler.mass=0.5:8"),
    "live_slider_crank": ("A slider-crank", "holonomic view slider-crank --live"),
    "live_seven_body": ("The seven-body mechanism", "holonomic view seven-body --live"),
    "live_jansen": ("Jansen's leg", "holonomic view jansen --sliders a=0.36:0.4,l=0.06:0.1,torque=2:20,gravity=0:20"),
    "live_peaucellier": ("Peaucellier's straight line", "holonomic view peaucellier --live"),
    "live_spring_pendulum": ("A pendulum on a spring", "holonomic view spring-pendulum --live"),
    "live_car_axis": ("A car's axis on a bumpy road", "holonomic view car-axis --live"),
    "live_kepler": ("Kepler's orbit", "holonomic view kepler --t-end 20 --live"),
    "live_heavy_top": ("A heavy top", "holonomic view heavy-top --sliders gravity.z=-20:-2,v0[4]=50:300"),
}

HEAD = """# Live gallery

Machines to play with: each page is one file, made by the command above it. Move a slider, and your browser computes the run
again; the recorded run stays in grey. [Live pages](live.md) says how to make one.
"""
FRAME = """
## {title}

```sh
{command}
```

<iframe src="../pages/{name}.html" title="{title}, live" loading="lazy"
style="width:100%;height:640px;border:1px solid #8884;border-radius:8px"></iframe>

[Open it on a page of its own](pages/{name}.html)
"""
TABLE = """
## Which problems are live

`holonomic view NAME --live` of every problem that comes with holonomic. The size is that of the whole page; "start" says whether
sliders may move what the start has to be made consistent with: initial values, lengths, pins.

| problem | live | methods | kB | start |
| --- | --- | --- | --- | --- |
"""


def row(name: str) -> str:
    """What becomes of one problem."""
    from holonomic import HolonomicError
    from holonomic.printing.one_member import can_ready
    from holonomic.problems import get
    from holonomic.view import view

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            page = view(get(name), live=True, show=False)
    except HolonomicError as refused:
        why = str(refused).removeprefix("this run cannot be live: ").rstrip(".")
        return f"| `{name}` | no: {why} | | | |"
    (program,) = page.live.programs
    choice = program.job.plan.choice
    methods = " + ".join(repr(each).removesuffix("()") for each in (choice.integrator, choice.stabilization))
    model = program.job.plan.model
    free = "moves" if can_ready(program.job) or not (model.n_constraints or model.n_lam) else "stays"
    return f"| `{name}` | yes | {methods} | {len(page.html) / 1000:.0f} | {free} |"


def frames() -> str:
    return "".join(FRAME.format(name=name, title=title, command=command) for name, (title, command) in LIVE.items())


def main(check: bool) -> None:
    from holonomic.problems import catalogue

    names = sorted(catalogue())
    if check:
        text = PAGE.read_text(encoding="utf-8")
        told = re.findall(r"^\| `([\w-]+)` \|", text, re.M)
        if told != names or not text.startswith(HEAD + frames() + TABLE):
            sys.exit("docs/live-gallery.md is not that of today")
        return
    rows = []
    for name in names:
        rows.append(row(name))
        print(rows[-1], flush=True)
    PAGE.write_text(HEAD + frames() + TABLE + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
