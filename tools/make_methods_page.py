"""Write docs/methods.md, the table of all methods, from the attributes of their classes.

    python tools/make_methods_page.py            write the page
    python tools/make_methods_page.py --check    exit with 1 if it is not up to date
"""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
from pathlib import Path

from holonomic.cli.methods import classes, describe, written
from holonomic.stabilizations import post

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"

HEAD = """# All methods

Made from the attributes of the classes by `tools/make_methods_page.py`; `holonomic methods` shows the same table in
the shell. [Theory](theory.md) has the equations, [Which method should I use?](which-method.md) the advice, the
[API](api.md) all parameters.

A formulation *gives* an ODE or a residual, an integrator *takes* one of them: any two that agree run together, and
almost any stabilization with both. What does not fit is refused before anything runs, with a pair that does.
"""

FOOT = """## Names of the papers

Certain settings of `PostStabilization` have names of their own:

{rows}

## References

{references}
"""


def table(head, rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def called(method: type) -> str:
    """The call with its defaults, as code."""
    text = written(method)
    return f"`{text if len(text) <= 48 else method.__name__ + '(...)'}`"


def keys(found: dict) -> str:
    return ", ".join(f"[{key}](#{anchor(key)})" for key in found["references"])


def anchor(key: str) -> str:
    return key.lower()


def first_line(method: type) -> str:
    """The first paragraph of the docstring, in one line."""
    paragraph = (inspect.getdoc(method) or "").split("\n\n")[0]
    return re.sub(r"([\[_*])", r"\\\1", " ".join(paragraph.split()))  # as text, not as Markdown


def formulations() -> str:
    rows = []
    for method in classes("formulation").values():
        found = describe("formulation", method)
        keeps = ", ".join(method().keeps) or "none"
        gives = " or ".join(found["gives"])
        rows.append([called(method), str(found.get("index", "")), gives, keeps, first_line(method), keys(found)])
    return table(["formulation", "index", "gives", "levels it imposes", "equations", "from"], sorted(rows))


def integrators() -> str:
    rows = []
    for method in classes("integrator").values():
        found = describe("integrator", method)
        steps = "by error or fixed" if found.get("adaptive") else "fixed"
        kind = "implicit" if found.get("implicit") else "explicit"
        rows.append([called(method), str(found["order"]), kind, found["takes"], steps, first_line(method), keys(found)])
    return table(["integrator", "order", "", "takes", "step", "", "from"], sorted(rows, key=lambda row: (row[2], row[0])))


def stabilizations() -> str:
    rows = []
    for name, method in classes("stabilization").items():
        found = describe("stabilization", method)
        acts = {"field": "in the field", "step": "after the step", "none": "not at all"}[found["acts"]]
        label = "`None`" if name == "Unstabilized" else called(method)
        rows.append([label, acts, found.get("drift_order", ""), first_line(method), keys(found)])
    return table(["stabilization", "acts", "drift of g; of G v (integrator of order p)", "", "from"], sorted(rows))


def names() -> str:
    rows = []
    for name, make in vars(post).items():
        if name.startswith("S_") and callable(make):
            what = (inspect.getdoc(make) or "").split("\n")[0].partition(": ")[2]
            rows.append([f"`{name}()`", what, getattr(make(), "drift_order", "")])
    return table(["name", "what", "drift of g; of G v"], rows)


def references(page: str) -> str:
    """The sources that the page names, from the bibliography."""
    from holonomic.results.cite import bibliography

    wanted = sorted(set(re.findall(r"\]\(#([^)]+)\)", page)))
    by_anchor = {anchor(key): (key, entry) for key, entry in bibliography().items()}
    lines = []
    for one in wanted:
        key, entry = by_anchor[one]
        found = re.findall(r"(\w+)\s*=\s*\{(.*?)\}(?=,?\n)", entry, flags=re.DOTALL)
        field = {name.lower(): " ".join(value.split()) for name, value in found}
        authors = field.get("author", "").replace(" and ", "; ").rstrip(".")
        places = [field[name] for name in ("journal", "institution", "publisher", "howpublished") if name in field]
        when = ", ".join(part for part in (*places[:1], field.get("year", "")) if part)
        text = ". ".join(part for part in (authors, field.get("title", ""), when) if part)
        lines.append(f'- <a id="{one}"></a>`{key}`: {plain(text)}.')
    return "\n".join(lines)


def plain(text: str) -> str:
    """BibTeX's accents and braces as letters."""
    for letter in "aouAOU":
        text = text.replace(f'\\"{letter}', unicodedata.normalize("NFC", letter + "\u0308"))
    return re.sub(r"[{}\\]", "", text).replace("--", "-")


def page() -> str:
    """The whole page."""
    parts = {"Formulations": formulations, "Integrators": integrators, "Stabilizations": stabilizations}
    body = HEAD + "".join(f"\n## {title}\n\n{make()}\n" for title, make in parts.items())
    return body + "\n" + FOOT.format(rows=names(), references=references(body))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
