"""Docstrings of what a user imports: every argument is described, and every example runs."""

import doctest
import inspect
import re

import matplotlib
import pytest

import holonomic
import holonomic.multibody


def public() -> list:
    """Functions and classes a user calls, by name; errors and warnings are raised, not called."""
    named = {name: getattr(module, name) for module in (holonomic, holonomic.multibody) for name in module.__all__}
    errors = [thing for thing in named.values() if inspect.isclass(thing) and issubclass(thing, BaseException)]
    return [pytest.param(thing, id=name) for name, thing in named.items() if callable(thing) and thing not in errors]


def sections(doc: str) -> dict[str, str]:
    """The text of a NumPy docstring by section."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


# made by the package and handed to the user, who never calls them
RESULTS = {"Bodies", "Ensemble", "Comparison", "WorkPrecision", "WorkPrecisions", "Diagnosis", "Solution"}


@pytest.mark.parametrize("thing", [param for param in public() if param.id not in RESULTS])
def test_every_argument_is_described(thing):
    asked = [name for name in inspect.signature(thing).parameters if not name.startswith("_")]
    text = sections(inspect.getdoc(thing)).get("Parameters", "")
    lines = re.findall(r"^([\w*, ]+?)(?: :.*)?$", text, flags=re.MULTILINE)
    said = [name.strip(" *") for line in lines for name in line.split(",")]
    assert sorted(asked) == sorted(said)


@pytest.mark.parametrize("thing", [param for param in public() if inspect.isfunction(param.values[0])])
def test_functions_say_what_they_return(thing):
    assert "Returns" in sections(inspect.getdoc(thing))


def methods(*classes) -> list:
    """Methods and functions of classes, by class and name."""
    named = {f"{each.__name__}.{name}": getattr(each, name) for each in classes for name in dir(each) if not name.startswith("_")}
    return [pytest.param(thing, id=name) for name, thing in named.items() if callable(thing)]


def examples() -> list:
    documented = public() + methods(holonomic.multibody.Mechanism, holonomic.Solution)
    found = [doctest.DocTestFinder(recurse=False).find(param.values[0], param.id) for param in documented]
    return [pytest.param(test, id=test.name) for tests in found for test in tests if test.examples]


@pytest.mark.parametrize("example", examples())
def test_example_prints_what_it_says(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, clear_globs=False).failed
    assert not failed, capsys.readouterr().out


def test_the_ways_in_have_examples():
    """Whoever looks up one of these finds how to begin."""
    ways_in = "System Ode Dae Mechanism simulate Event Solution load sweep grid sample"
    ways_in += " compare work_precision diagnose essential_ode"
    mechanism = "body point revolute prismatic distance spring force motor drive assemble"
    solution = "plot phase view animate save to_csv to_dataframe to_xarray reaction cite"
    of = {"Mechanism": mechanism, "Solution": solution}
    wanted = set(ways_in.split()) | {f"{kind}.{name}" for kind, names in of.items() for name in names.split()}
    assert not wanted - {param.id for param in examples()}
