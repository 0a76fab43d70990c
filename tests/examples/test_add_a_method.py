"""The page on adding methods is true: its changes, made in a copy of the package, give what stands below them."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from pages import DOCS, ROOT, blocks

PAGE = DOCS / "add-a-method.md"
PACKAGE = "src/holonomic/"


def sections():
    """Blocks with a title by the heading they stand under."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    headings = [(number, line[3:]) for number, line in enumerate(lines, 1) if line.startswith("## ")]
    found = {}
    for block in blocks(PAGE):
        if block.title:
            found.setdefault([name for number, name in headings if number < block.line][-1], []).append(block)
    return found


def patched(text, diff):
    """A text with the lines of a block added that begin with +, and those taken out that begin with -."""
    for hunk in re.split(r"^\.\.\.\n", diff, flags=re.MULTILINE):
        lines = [(line[:1] or " ", line[1:]) for line in hunk.splitlines()]
        before = "".join(f"{line}\n" for mark, line in lines if mark != "+")
        after = "".join(f"{line}\n" for mark, line in lines if mark != "-")
        assert text.count(before) == 1, f"these lines stand {text.count(before)} times in the file:\n{before}"
        text = text.replace(before, after)
    return text


def test_the_page_adds_one_of_each():
    assert list(sections()) == ["An implicit integrator", "A stabilization", "A joint", "A model function", "A problem"]


@pytest.mark.parametrize("section", sections())
def test_what_the_page_adds_runs(section, tmp_path):
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    *changes, program = sections()[section]
    assert program.title == "then"
    for block in changes:
        path = tmp_path / block.title
        assert block.title.startswith(PACKAGE) and path.exists() is (block.language == "diff"), block.title
        text = patched(path.read_text(encoding="utf-8"), block.text) if block.language == "diff" else block.text
        path.write_text(text, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", program.text], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
