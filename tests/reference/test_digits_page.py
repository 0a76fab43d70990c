"""The page on digits says what runs give: some of its cells computed again."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("digits", ROOT / "benchmarks" / "digits.py")
assert spec is not None and spec.loader is not None
digits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(digits)


def on_the_page(name: str, label: str) -> list[str]:
    """Return a row of the page."""
    text = (ROOT / "docs" / "digits.md").read_text(encoding="utf-8")
    part = text.partition(f"## {digits.PROBLEMS[name]}\n")[2].partition("\n## ")[0]
    (line,) = (line for line in part.splitlines() if line.startswith(f"| {label} |"))
    return [cell.strip() for cell in line.split("|")[2:-1]]


@pytest.mark.filterwarnings("ignore::holonomic.errors.NearSingularWarning")
@pytest.mark.parametrize(
    ("name", "form", "way"),
    [
        ("seven-body", "Index1 + Projection", "DOP853"),
        ("four-bars", "Index1 + Projection", "DOP853"),
        ("four-bars", "Index1", "DOP853"),  # fails at the finer tolerances
        ("four-bars", "Index1 + Projection", "Radau"),  # comes through its ten singular positions
        ("pendulum-a01", "GGL", "BDF"),
    ],
)
def test_the_page_shows_what_runs_give(name, form, way, monkeypatch):
    monkeypatch.setattr(digits, "SECONDS", float("inf"))  # on a busy machine nothing is left out
    cells, _ = digits.row(name, *digits.FORMULATIONS[form], digits.INTEGRATORS[way])
    shown = on_the_page(name, f"{form}, {way}")
    for ours, cell in zip(cells, shown, strict=True):
        if "fails" in (ours, cell):
            assert ours == cell
        else:  # errors at the end scatter from version to version, by a factor of ten at most
            assert abs(float(ours) - float(cell)) < 1.0


def test_what_is_gained_is_counted_over_all_methods_of_an_integrator():
    rows = {"car-axis": {"Index1, BDF": ["3.0", "5.0", "fails", "9.0"], "GGL, BDF": ["5.0", "6.0", "7.0", "not tried"]}}
    assert digits.gained(rows, lambda label: label.endswith("BDF")) == [
        "+0.0 (-1.0 to +1.0)", "-0.5 (-1.0 to +0.0)", "-1.0 (-1.0 to -1.0)", "-1.0 (-1.0 to -1.0)",
    ]  # fmt: skip
