"""README, documentation and gallery run, and say what there is."""

import logging
import os
import re
import runpy
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from pages import DOCS, ROOT, blocks, pages, run_page

EXAMPLES = sorted((DOCS / "examples").glob("*.py"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder, and pictures without windows; what a page sets up for notices is taken back."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    notices = logging.getLogger("holonomic")
    level, handlers = notices.level, list(notices.handlers)
    yield tmp_path
    notices.setLevel(level)
    notices.handlers = handlers
    from matplotlib import pyplot

    pyplot.close("all")


def name(path):
    return path.relative_to(ROOT).as_posix()


# its pages are made when the site is built, from the same list: here each of its commands would make them again
MADE_ANYWAY = DOCS / "live-gallery.md"


def with_code():
    found = [path for path in pages() if any(block.language in ("python", "sh") for block in blocks(path))]
    return [pytest.param(path, marks=pytest.mark.slow) if path == MADE_ANYWAY else path for path in found]


@pytest.mark.parametrize("path", with_code(), ids=name)
def test_code_of_the_page_runs(path, folder):
    run_page(path, folder)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_leaves_its_picture(path, folder):
    runpy.run_path(str(path), run_name="__main__")
    picture = matplotlib.image.imread(folder / f"{path.stem}.png")
    # a page on which something is drawn: more than one pixel in a hundred differs from the ground
    assert np.mean(np.any(picture != picture[0, 0], axis=2)) > 0.01


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_its_picture_is_there(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 40
    assert (DOCS / "images" / "gallery" / f"{path.stem}.png").exists(), "python tools/make_gallery.py makes it"


def tool(*command):
    """Run a tool in a process of its own: methods that tests define must not appear in its tables."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("program", ["make_methods_page", "make_gallery", "make_measured_page", "make_live_gallery"])
def test_generated_page_is_up_to_date(program):
    done = tool(f"tools/{program}.py", "--check")
    assert done.returncode == 0, f"run python tools/{program}.py\n{done.stderr}"


# pages that are files at the top of the repository
TAKEN_OVER = runpy.run_path(str(ROOT / "tools" / "site_hooks.py"))["TAKEN_OVER"]


def test_navigation_lists_every_page():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^ +- .+: ([\w/-]+\.md)$", settings, flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    listed, there = set(listed), {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(TAKEN_OVER)
    assert listed == there, f"in mkdocs.yml and not in docs: {listed - there}; not in mkdocs.yml: {there - listed}"


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=name)
def test_links_and_pictures_of_the_page_exist(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    # what is in pages/ is made with the site
    missing = [t for t in targets if not re.match(r"\w+:|pages/", t) and t not in TAKEN_OVER and not (path.parent / t).exists()]
    assert not missing


# "abc1234, 2026-11-19" or "(abc1234)"
STAMP = re.compile(r"\b([0-9a-f]{7,10})(?: with changes)?, (\d{4}-\d{2}-\d{2})|\(([0-9a-f]{7,10})\)")


def test_every_commit_that_a_page_names_is_there():
    if not (ROOT / ".git").exists():
        pytest.skip("a copy of the files without their history")
    named = {
        (name(path), stamped or alone, day)
        for path in (ROOT / "README.md", *DOCS.rglob("*.md"))
        for stamped, day, alone in STAMP.findall(path.read_text(encoding="utf-8"))
    }
    assert named
    wrong = []
    for page, commit, day in sorted(named):
        git = ["git", "log", "-1", "--format=%cs", commit, "--"]
        made = subprocess.run(git, cwd=ROOT, capture_output=True, text=True).stdout.strip()
        if not made or (day and day < made):
            wrong.append(f"{page}: {commit} of {made or 'no date: there is no such commit'}, measured {day or 'without a date'}")
    assert not wrong, "\n".join(wrong)


def test_every_table_of_measured_results_has_its_stamp():
    rows = re.findall(r"^\| (?!what|---)(.*) \|$", (DOCS / "measured.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows and all(STAMP.fullmatch(row.rpartition(" | ")[2]) for row in rows)
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Measured")[2].partition("\n## ")[0]
    for table in re.findall(r"(?:^\|.*\n)+", section, flags=re.MULTILINE):
        after = section.partition(table)[2].strip().partition("\n\n")[0]
        assert STAMP.search(after), "the paragraph behind a table names the commit and the date"


def test_a_stamp_is_that_of_the_table_it_stands_beside():
    stamp_beside = runpy.run_path(str(ROOT / "tools" / "make_measured_page.py"))["stamp_beside"]
    page = "Commit aaaaaa1, 2026-01-01.\n\n## One\n\nCommit aaaaaa2, 2026-01-02.\n\nfirst\n\n## Two\n\nsecond\n"
    assert stamp_beside(page, page.index("first")) == ("aaaaaa2", "2026-01-02")
    assert stamp_beside(page, page.index("second")) == ("aaaaaa1", "2026-01-01")
    below = "## One\n\nfirst\n\n## Two\n\ncommit aaaaaa3 with changes, 2026-01-03\n"
    assert stamp_beside(below, 8) == ("aaaaaa3", "2026-01-03")
    assert stamp_beside("first\n\n## Two\n\ncommit aaaaaa1, 2026-01-01\n\ncommit aaaaaa2, 2026-01-02", 0) is None


def test_readme_has_its_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for mark in ("run-command", "test-command"):
        assert re.search(rf"<!-- {mark} -->\n```sh\n[^\n]+\n```\n", text), f"{mark}: one line of code after its mark"


def test_animation_stays_small():
    assert (DOCS / "images" / "jansen.gif").stat().st_size < 1.5e6


def test_site_builds_strictly(tmp_path):
    pytest.importorskip("mkdocs")
    done = tool("-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site"))
    assert done.returncode == 0, done.stderr
    moving = {page for path in pages() for page in re.findall(r"pages/\w+\.html", path.read_text(encoding="utf-8"))}
    site = tmp_path / "site"
    assert moving == {f"pages/{path.name}" for path in (site / "pages").glob("*.html")}
    # a page without an icon makes browsers ask for /favicon.ico, which is not there
    icons = {path: re.search(r'<link rel="icon" href="([^"]+)"', path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    lacking = [path.relative_to(site) for path, icon in icons.items() if not icon]
    assert not lacking
    assert all((path.parent / icon[1]).exists() for path, icon in icons.items() if icon and path.name != "404.html")
