"""Names on their way out: they work, and warn where they are used with the name to use instead."""

import tomllib
import warnings
from pathlib import Path

import pytest

import holonomic
from holonomic import notices

ROOT = Path(__file__).parents[2]


@pytest.fixture
def old_names(monkeypatch):
    monkeypatch.setitem(notices.RENAMED, "integrate", notices.Renamed("simulate", "1.2", "1.4"))
    monkeypatch.setitem(notices.RENAMED, "ensemble", notices.Renamed("sweep", "1.3", "2.0"))


@pytest.mark.parametrize(
    ("old", "new", "since", "gone"), [("integrate", "simulate", "1.2", "1.4"), ("ensemble", "sweep", "1.3", "2.0")]
)
def test_an_old_name_is_the_new_one_and_warns_at_the_line_that_uses_it(old_names, old, new, since, gone):
    with pytest.warns(DeprecationWarning) as caught:
        found = getattr(holonomic, old)
    assert found is getattr(holonomic, new)
    assert str(caught[0].message) == (
        f"holonomic.{old} is deprecated since holonomic {since} and goes with {gone}: use holonomic.{new}."
    )
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning):  # every time, as long as it is used
        getattr(holonomic, old)


def test_old_names_are_not_offered(old_names):
    assert "integrate" not in dir(holonomic) and "integrate" not in holonomic.__all__


def test_an_argument_that_is_deprecated_warns_at_the_line_of_the_call():
    # as a function of the package would: its code has the package's name
    space = {"__name__": "holonomic.somewhere", "deprecated": notices.deprecated}
    text = (
        "def outer(new=1, old=None):\n"
        "    if old is not None:\n"
        "        deprecated('outer(old=)', 'new=', '1.2', '1.4')\n"
        "        new = old\n"
        "    return new\n"
        "def call(**given):\n"
        "    return outer(**given)\n"
    )
    exec(text, space)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert space["call"](new=3) == 3 and not caught
        assert space["call"](old=4) == 4
    assert caught[0].filename == __file__
    assert str(caught[0].message) == "outer(old=) is deprecated since holonomic 1.2 and goes with 1.4: use new=."


def test_what_is_deprecated_exists_under_its_new_name_and_goes_later():
    """Of whatever is in the table now."""
    for old, (new, since, gone) in notices.RENAMED.items():
        assert old not in holonomic.__all__ and new in holonomic.__all__
        assert [int(part) for part in since.split(".")] < [int(part) for part in gone.split(".")]


def test_metadata_workflow_and_docs_name_the_same_versions_of_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith("Programming Language :: Python :: 3.")]
    assert project["requires-python"] == f">={named[0]}"
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert "[" + ", ".join(f'"{version}"' for version in named) + "]" in workflow
    assert f"from {named[0]} to {named[-1]}" in (ROOT / "docs" / "stable.md").read_text(encoding="utf-8")
