"""Write docs/methods.md, the table of all methods, from the attributes of their classes.

python tools/make_methods_page.py            write the page
python tools/make_methods_page.py --check    exit with 1 if it is not up to date
"""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np

from holonomic import System
from holonomic.arguments import Asked
from holonomic.cli.methods import classes, describe, written
from holonomic.errors import BadArgument, IncompatibleMethods
from holonomic.formulations.base import Formulation
from holonomic.integrators.base import Integrator
from holonomic.planning.fit import check_fit
from holonomic.planning.reuse import model_of
from holonomic.stabilizations.base import Stabilization
from holonomic.study.table import named_stabilizations

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"

HEAD = """---
hide: [toc] # room for wide tables
---

# All methods

`tools/make_methods_page.py` makes this page from the attributes of the classes; `holonomic methods` shows the same table in
the shell. [Theory](theory.md) has the equations, [Which method should I use?](which-method.md) the advice, the
[API](api.md) all parameters.

A formulation *gives* an ODE or a residual, and an integrator *takes* one of them. Any two that agree run together, and
almost any stabilization with both. A pair that does not fit is refused before anything runs, and the message names one that does.
[What goes together](#what-goes-together) shows all pairs, and [capabilities](#capabilities) the reasons.
"""

PAIRS = """This table is for a `System` of q and v with q' = v, holonomic constraints, a constant mass matrix and forces of
positions, such as a pendulum. Methods have their default settings, and the stabilization is open. The table comes from the
checks that a run makes. Other properties of a system narrow it: [limits](limits-of-runners.md#methods).

{pairs}

The same with each stabilization, `Baumgarte` and `InvariantStabilization` with a gain of 5 and steps of 1 ms: *all*
integrators that go with the formulation, or which of them do not.

{thirds}
"""

CAPABILITIES = """The package asks these questions of a method; the default is the answer if its class says nothing. A method
of your own that derives from one of the three base classes says what is different, in class attributes or properties ([how to
add a method](add-a-method.md)).
"""

BASES = {"formulation": Formulation, "integrator": Integrator, "stabilization": Stabilization}
STEP = 1e-3
GAIN = 5.0

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
    return as_text(" ".join(paragraph.split()))


def as_text(words: str) -> str:
    """Words as they are, not as Markdown; code stays code."""
    return "`".join(re.sub(r"([\[_*])", r"\\\1", part) if n % 2 == 0 else part for n, part in enumerate(words.split("`")))


def formulations() -> str:
    rows = []
    for method in classes("formulation").values():
        found = describe("formulation", method)
        keeps = ", ".join(method().keeps) or "none"
        gives = " or ".join(found["gives"])
        tables = "✓" if method().levels else ""
        rows.append([called(method), str(found.get("index", "")), gives, keeps, tables, first_line(method), keys(found)])
    tables = "implicit [on tables](mechanisms.md#tables)"
    return table(["formulation", "index", "gives", "levels it imposes", tables, "equations", "from"], sorted(rows))


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


def made(method):
    """A method as it is by default; one that has to be told how strong it is gets a gain."""
    try:
        return method()
    except BadArgument:
        return method(**{method.strength_setting: GAIN})


@cache
def every(kind: str) -> list:
    return [made(method) for method in classes(kind).values()]


@cache
def pendulum():
    """A system that every method can be asked to run."""
    system = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda q: q @ q - 1)
    return model_of(system, np.array([1.0, 0.0]), np.zeros(2), 0.0)


def fit(formulation, integrator, stabilization="auto") -> bool:
    """Whether a run with these methods would begin."""
    step = None if integrator.adaptive else STEP
    try:
        check_fit(Asked(formulation, integrator, stabilization, step=step).choice(pendulum()), pendulum())
    except IncompatibleMethods:
        return False
    return True


def label(method) -> str:
    return f"`{type(method).__name__ if repr(method) != 'None' else 'None'}`"


def pairs() -> str:
    """Which integrator goes with which formulation; integrators that go with the same ones in one row."""
    rows: dict[tuple, list[str]] = {}
    for integrator in every("integrator"):
        rows.setdefault(tuple(fit(each, integrator) for each in every("formulation")), []).append(label(integrator))
    cells = [[", ".join(names), *("✓" if fits else "" for fits in row)] for row, names in rows.items()]
    return table(["integrator", *map(label, every("formulation"))], cells)


def thirds() -> str:
    """Which stabilization goes with the pairs of a formulation."""
    lines = []
    for stabilization in sorted(every("stabilization"), key=label):
        cells = []
        for formulation in every("formulation"):
            there = [each for each in every("integrator") if fit(formulation, each)]
            refused = [label(each) for each in there if not fit(formulation, each, stabilization)]
            cells.append("all" if not refused else "" if len(refused) == len(there) else f"not {', '.join(refused)}")
        lines.append([label(stabilization), *cells])
    return table(["stabilization", *map(label, every("formulation"))], lines)


def going_together() -> str:
    return PAIRS.format(pairs=pairs(), thirds=thirds()).rstrip()


def meanings(base: type) -> dict[str, tuple[str, str]]:
    """What each attribute of a base class means, as said beside it, and the answer where a method says nothing."""
    found = {}
    for name, default, meaning in re.findall(r"^    (\w+)\s*: .+? = (.+?)  # (.+)$", inspect.getsource(base), re.MULTILINE):
        found[name] = meaning, TO_BE_SAID if name in REQUIRED else default
    for name, value in vars(base).items():
        if isinstance(value, property):
            meaning = (inspect.getdoc(value) or "").split("\n")[0]
            found[name] = meaning.removeprefix("Whether it ").rstrip("."), FOLLOWS
    return found


BY_SETTINGS = "by settings"
WORDS = TO_BE_SAID, FOLLOWS = "has to be said", "follows from others"
REQUIRED = {"gives", "index", "order", "adaptive", "acts"}
IN_WORDS = {"references", "chosen_for", "drift_order"}  # shown above, or texts


def otherwise(name: str, base: type, methods: list) -> str:
    """Methods whose answer is not that of their base, with it where it is more than yes or no."""
    usual = False if isinstance(vars(base)[name], property) else vars(base)[name]
    answers: dict[str, list[str]] = {}
    for method in methods:
        value = getattr(method, name)
        if by_settings(name, base, type(method)) and name not in REQUIRED:
            answers.setdefault(BY_SETTINGS, []).append(label(method))
        elif value != usual:
            shown = "" if isinstance(value, bool) and isinstance(usual, bool) else plain_value(value)
            answers.setdefault(shown, []).append(label(method))
    last = sorted(answers.items(), key=lambda item: (item[0] == BY_SETTINGS, item[0]))
    return "; ".join(", ".join(names) + (f": {shown}" if shown else "") for shown, names in last)


def by_settings(name: str, base: type, method) -> bool:
    """Whether an answer depends on the arguments of a method: an argument itself, a property, or set when they are read."""
    found = inspect.getattr_static(method, name)
    if not is_dataclass(method) or (found is vars(base)[name] and isinstance(found, property)):
        return False
    is_set = re.search(rf'__setattr__\(self, "{name}"', inspect.getsource(method))
    return name in {each.name for each in fields(method)} or isinstance(found, property) or is_set is not None


def plain_value(value) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def capabilities() -> str:
    parts = [CAPABILITIES.rstrip()]
    for kind, base in BASES.items():
        rows = [
            [f"`{name}`", as_text(meaning), usual if usual in WORDS else f"`{usual}`", otherwise(name, base, every(kind))]
            for name, (meaning, usual) in meanings(base).items()
            if name not in IN_WORDS
        ]
        parts.append(f"### Of {kind}s\n\n" + table(["attribute", "meaning", "default", "otherwise"], rows))
    return "\n\n".join(parts)


def names() -> str:
    rows = []
    for name, make in named_stabilizations().items():
        what = (inspect.getdoc(make) or "").split("\n")[0].partition(": ")[2]
        rows.append([f"`{name}()`", what, make().drift_order])
    return table(["name", "what", "drift of g; of G v"], rows)


def references(page: str) -> str:
    """The sources that the page names, from the bibliography."""
    from holonomic.results.report import bibliography

    wanted = sorted(set(re.findall(r"\]\(#([^)]+)\)", page.partition("\n## ")[2])))  # the head refers to sections
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
    parts = {
        "Formulations": formulations, "Integrators": integrators, "Stabilizations": stabilizations,
        "What goes together": going_together, "Capabilities": capabilities,
    }  # fmt: skip
    body = HEAD + "".join(f"\n## {title}\n\n{make()}\n" for title, make in parts.items())
    return body + "\n" + FOOT.format(rows=names(), references=references(body))


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
