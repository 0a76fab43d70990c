"""The drawing of the house in CONTRIBUTING.md is that of the tree."""

import re
from pathlib import Path

import holonomic

PACKAGE = Path(holonomic.__file__).parent
TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()


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
