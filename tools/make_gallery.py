"""Run the examples of the gallery and write its page.

python tools/make_gallery.py             run all examples, then write docs/gallery.md
python tools/make_gallery.py kepler      run one of them, then write docs/gallery.md
python tools/make_gallery.py --page      write docs/gallery.md only
python tools/make_gallery.py --check     exit with 1 if docs/gallery.md is not up to date
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from make_pages import PAGES

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
IMAGES = ROOT / "docs" / "images" / "gallery"
PAGE = ROOT / "docs" / "gallery.md"

# what comes first on the page; the rest follows by name
FIRST = ("pendulum", "jansen", "walker", "seven_body", "slider_crank", "top", "drift", "kepler", "slack", "bouncing")

HEAD = """# Gallery

Each picture was made by the script below it, which is run by the tests. Each is complete: copy it, run it,
and it leaves the picture in the folder where you are.
"""


def examples() -> list[Path]:
    """All examples in the order of the page."""
    by_name = {path.stem: path for path in sorted(EXAMPLES.glob("*.py"))}
    return [by_name.pop(name) for name in FIRST] + list(by_name.values())


def entry(path: Path) -> str:
    """One example as Markdown: title and text from its docstring, picture, code."""
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    title, _, text = doc.partition("\n")
    title = title.rstrip(".")
    return (
        f"## {title}\n\n{text.strip()}\n\n![{title}](images/gallery/{path.stem}.png)\n\n{moving(path.stem, title)}"
        f'??? example "[`{path.name}`](examples/{path.name})"\n\n'
        f'    ```python\n    --8<-- "docs/examples/{path.name}"\n    ```\n'
    )


def moving(name: str, title: str) -> str:
    """A page on which the example moves, where there is one."""
    if name not in PAGES:
        return ""
    return (
        f'??? abstract "See it move"\n\n    <iframe src="../pages/{name}.html" title="{title}, moving" loading="lazy" '
        f'style="width:100%;height:620px;border:1px solid #8884;border-radius:8px"></iframe>\n\n'
        f"    [Open it on a page of its own](pages/{name}.html)\n\n"
    )


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(entry(path) for path in examples())])


def main(names: list[str]) -> None:
    if names == ["--check"]:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    if names != ["--page"]:
        for path in [EXAMPLES / f"{name}.py" for name in names] or examples():
            env = os.environ | {"MPLBACKEND": "Agg"}
            subprocess.run([sys.executable, str(path)], cwd=IMAGES, env=env, check=True, stdout=subprocess.DEVNULL)
            print(f"{path.stem}.png: {(IMAGES / path.stem).with_suffix('.png').stat().st_size / 1000:.0f} kB")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
