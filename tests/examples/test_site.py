"""The site as readers use it: a search finds what they type, and the API has every public name once."""

import importlib
import json
import re
from pathlib import Path

import pytest
from pages import DOCS, ROOT
from test_docs import tool
from test_prose import FORBIDDEN

import holonomic
import holonomic.multibody


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site without the pages that move, which take most of the time and are not searched."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    hooks = ROOT / "tools" / "site_hooks.py"
    (folder / "mkdocs.yml").write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {DOCS}\nhooks: [{hooks}]\n", encoding="utf-8")
    # not strict: links to the pages that are left out lead nowhere
    where = ("--config-file", str(folder / "mkdocs.yml"), "--site-dir", str(folder / "site"))
    done = tool("-m", "mkdocs", "build", "--no-strict", *where)
    assert done.returncode == 0, done.stderr
    return folder / "site"


# what people type: the page that answers it
ANSWERS = {
    "PID": "tutorials/controllers",
    "CSV": "faq",
    "to_csv": "api/results",
    "Excel": "faq",
    "MATLAB": "faq",
    "pandas": "faq",
    "video": "view",
    "mp4": "view",
    "animation": "view",
    "Jupyter": "view",
    "offline": "view",
    "STL": "view",
    "MJCF": "tutorials/urdf",
    "ROS": "tutorials/urdf",
    "CAD": "tutorials/urdf",
    "Lagrangian": "coming-from",
    "Kane": "tutorials/sympy",
    "LQR": "tutorials/controllers",
    "inverted pendulum": "tutorials/controllers",
    "initial conditions": "quickstart",
    "time step": "quickstart",
    "Jacobian": "coming-from",
    "custom integrator": "add-a-method",
    "inverse dynamics": "mechanisms",
    "modal analysis": "mechanisms",
    "equilibrium": "mechanisms",
    "degrees of freedom": "mechanisms",
    "gear": "mechanisms",
    "friction": "mechanisms",
    "motor": "mechanisms",
    "SI units": "mechanisms",
    "flexible bodies": "limits",
    "collision": "limits",
    "contact": "limits",
    "PyTorch": "limits",
    "event detection": "tutorials/events",
    "impact": "tutorials/events",
    "bouncing": "gallery",
    "parallel": "tutorials/sweep",
    "GPU": "tutorials/sweep",
    "Monte Carlo": "tutorials/sweep",
    "sensitivity": "tutorials/sweep",
    "optimization": "tutorials/sweep",
    "reinforcement learning": "tutorials/learning",
    "FMU": "tutorials/export",
    "Simulink": "tutorials/export",
    "real time": "tutorials/export",
    "checkpoint": "long-runs",
    "DAE": "api/systems",
    "index reduction": "coming-from",
    "stiff": "tutorials/stiff",
    "conda": "install",
    "Windows": "install",
    "BibTeX": "citing",
}


def unanswered(site: Path, answers: dict[str, str]) -> list[str]:
    """What is typed and not found in the page that should answer: a section has a word that begins so for each that is typed."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    apart = index["config"]["separator"]
    sections: dict[str, list[set[str]]] = {}
    for entry in index["docs"]:
        text = re.sub(r"<[^>]*>", " ", f"{entry['title']} {entry['text']}").lower()
        sections.setdefault(entry["location"].partition("#")[0].rstrip("/"), []).append(set(re.split(apart, text)))

    def found(typed: str, page: str) -> bool:
        parts = [part for part in re.split(apart, typed.lower()) if part]
        return any(all(any(word.startswith(part) for word in words) for part in parts) for words in sections[page])

    return [f"{typed!r} in {page}" for typed, page in answers.items() if not found(typed, page)]


def test_search_finds_what_people_type(site):
    assert not unanswered(site, ANSWERS)
    assert unanswered(site, {"flux capacitor": "faq"}) == ["'flux capacitor' in faq"]


def test_measurements_and_the_changelog_come_late_in_a_search(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    weights = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in index["docs"]}
    late = {page for page, weight in weights.items() if weight < 1}
    assert {"speed/", "digits/", "reproduction/", "changelog/"} <= late
    assert not late & {"measured/", *(f"{page}/" for page in ANSWERS.values())}


def test_every_public_name_is_on_exactly_one_page_of_the_api(site):
    where: dict[str, set[str]] = {}
    for page in [site / "api" / "index.html", *(site / "api").glob("*/index.html")]:
        for path in re.findall(r'<h\d id="(holonomic[\w.]*)"', page.read_text(encoding="utf-8")):
            where.setdefault(path, set()).add(page.parent.name)
    things: dict[int, set[str]] = {}
    for path, pages in where.items():
        above, _, name = path.rpartition(".")
        try:
            thing = getattr(importlib.import_module(above), name)
        except ModuleNotFoundError:  # a member of a class
            continue
        things.setdefault(id(thing), set()).update(pages)
    modules = (holonomic, holonomic.multibody)
    public = {name: getattr(module, name) for module in modules for name in module.__all__ if name != "__version__"}
    assert len(public) > 100
    wrong = {name: pages for name, thing in public.items() if len(pages := things.get(id(thing), set())) != 1}
    assert not wrong
    large = {"multibody.Mechanism": holonomic.multibody.Mechanism, "Solution": holonomic.Solution, "Ensemble": holonomic.Ensemble}
    for path, kind in large.items():
        members = [name for name in dir(kind) if not name.startswith("_") and name != "from_run"]  # which only the package calls
        assert len(members) > 20
        wrong = {name: pages for name in members if len(pages := where.get(f"holonomic.{path}.{name}", set())) != 1}
        assert not wrong, path


def test_the_api_is_plain_english(site):
    """Docstrings are pages, too: no words of the workshop."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    wrong = []
    for entry in index["docs"]:
        if entry["location"].startswith("api/"):
            read = " ".join(re.sub(r"<code.*?</code>|<[^>]*>", " ", entry["text"], flags=re.DOTALL).lower().split())
            wrong += [f"{entry['location']}: {phrase}" for phrase in FORBIDDEN if re.search(rf"\b{re.escape(phrase)}\b", read)]
    assert not wrong


def test_numbers_and_stamps_in_tables_do_not_break(site):
    for page, pattern in (("speed", r"\d\.\de-\d+"), ("measured", r"[0-9a-f]{7}, \d{4}-\d\d-\d\d"), (".", r"\d[\d.]* ms")):
        html = (site / page / "index.html").read_text(encoding="utf-8")
        cells = re.findall(rf"<td([^>]*)>{pattern}</td>", html)
        assert len(cells) > 9 and all('class="number"' in attributes for attributes in cells), page
