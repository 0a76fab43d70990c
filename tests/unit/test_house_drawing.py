"""The drawing of the house in CONTRIBUTING.md is that of the tree."""

import re
import tomllib
from pathlib import Path

import pytest

import holonomic
from holonomic.entries import ENTRIES, entry

PACKAGE = Path(holonomic.__file__).parent
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]


def section(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_room_is_in_the_drawing_and_every_room_of_it_exists():
    drawn = {name for row in re.findall(r"^\| (`.*?) \|", section("The layers"), re.M) for name in re.findall(r"`(\w+)`", row)}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} | {path.stem for path in PACKAGE.glob("*.py")}
    assert drawn == rooms - {"__init__", "__main__", "_version"}


def test_the_walk_of_a_call_names_files_that_exist():
    named = re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", section("The walk of one call"))
    assert len(named) > 10
    assert [name for name in named if not (PACKAGE / name).exists()] == []


def test_the_drawing_has_the_layers_that_are_checked_in_their_order():
    drawn = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| (`.*?) \|", section("The layers"), re.M)]
    assert drawn == [re.findall(r"\((\w+)\)", layer) for layer in LAYERS["layers"]]


def test_no_two_rooms_may_know_each_other_and_only_pictures_are_imported_upwards():
    assert [layer for layer in LAYERS["layers"] if ":" in layer] == []
    upward = [rule.partition(" -> ")[2] for rule in LAYERS["ignore_imports"]]
    assert [target for target in upward if not re.fullmatch(r"holonomic\.view(\.\w+)?", target)] == []
    assert LAYERS["unmatched_ignore_imports_alerting"] == "error"


@pytest.mark.parametrize("name", ENTRIES)
def test_what_is_found_by_name_is_there(name):
    assert callable(entry(name))
