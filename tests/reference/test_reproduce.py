"""Papers reproduced: every rule of their tables holds, and the judge that says so can say no."""

import json
from importlib import resources

import pytest
from typer.testing import CliRunner

from holonomic.cli.main import app
from holonomic.errors import BadArgument
from holonomic.reproduce import papers, reproduce
from holonomic.reproduce.paper import find_table
from holonomic.reproduce.paper_page import page
from holonomic.reproduce.rules import BlowUp, Spread, judge, rule_text

KEYS = ("ascher-chin-petzold-reich-1995", "ascher-chin-reich-1992")
# ensembles over long times; the others take a second or two each
LONG = {("ascher-chin-petzold-reich-1995", "6.3")}


def tables():
    for key in KEYS:
        for table in papers()[key].tables:
            marks = [pytest.mark.slow] if (key, table) in LONG else []
            yield pytest.param(key, table, id=f"{key} {table}", marks=marks)


@pytest.mark.parametrize(("key", "table"), list(tables()))
def test_every_rule_of_the_table_holds(key, table):
    report = reproduce(key, table)
    broken = [(e.method, e.quantity, e.printed, str(e.ours), e.rule) for e in report.failed]
    assert not broken, "\n".join(map(str, broken))
    assert len(report) > 0


def test_papers_are_in_the_bibliography():
    text = (resources.files("holonomic") / "references.bib").read_text(encoding="utf-8")
    assert set(KEYS) <= set(papers())
    assert all(f"{{{key}," in text for key in papers())


@pytest.mark.parametrize("key", KEYS)
def test_every_entry_has_a_rule_that_can_be_read(key):
    for table in papers()[key].tables.values():
        for row in table.rows:
            entries = [value for value in row.values() if isinstance(value, dict)]
            assert entries
            for expected in entries:
                assert rule_text(expected)
                if "of" in expected:
                    assert isinstance(expected[expected["of"]], float | int)


# (rule, value): verdict; the last digit decides
RELATIVE = {"kind": "relative", "of": "printed", "tol": 0.05, "printed": 2.0}
FACTOR = {"kind": "factor", "of": "printed", "factor": 3.0, "printed": 6.0}


@pytest.mark.parametrize(
    ("rule", "ours", "verdict"),
    [
        (RELATIVE, 2.099, "holds"),
        (RELATIVE, 2.101, "FAILS"),
        (RELATIVE, float("nan"), "FAILS"),
        (RELATIVE, BlowUp(1.0), "FAILS"),
        (FACTOR, 2.01, "holds"),
        (FACTOR, 1.9, "FAILS"),
        (FACTOR, 18.1, "FAILS"),
        (FACTOR, -6.0, "FAILS"),
        ({"kind": "below", "value": 1e-13}, -9e-14, "holds"),
        ({"kind": "below", "value": 1e-13}, -2e-13, "FAILS"),
        ({"kind": "above", "value": 1.0}, 0.9, "FAILS"),
        ({"kind": "absolute", "of": "claimed", "claimed": 4.0, "tol": 0.2}, 4.19, "holds"),
        ({"kind": "absolute", "of": "claimed", "claimed": 4.0, "tol": 0.2}, 4.21, "FAILS"),
        ({**RELATIVE, "print": "wrong"}, 2.0, "print not reproducible"),
        ({**RELATIVE, "print": "wrong"}, 3.0, "FAILS"),
        ({"kind": "blow-up"}, BlowUp(9.2), "holds"),
        ({"kind": "blow-up"}, 0.3, "FAILS"),
        ({"kind": "not testable", "because": "chaos"}, 7.0, "not testable"),
        ({"kind": "shown"}, 7.0, "shown"),
    ],
)
def test_judge(rule, ours, verdict):
    assert judge(rule, ours) == verdict


def test_rule_must_hold_for_the_whole_ensemble():
    assert judge(FACTOR, Spread(2.1, 6.0, 17.9)) == "holds"
    assert judge(FACTOR, Spread(1.9, 6.0, 17.9)) == "FAILS"
    assert judge(FACTOR, Spread(2.1, 6.0, 18.1)) == "FAILS"


def test_rule_on_the_median_leaves_the_extremes_alone():
    rule = {**FACTOR, "over": "median"}
    assert rule_text(rule) == "median within a factor 3 of printed"
    assert judge(rule, Spread(0.1, 6.0, 100.0)) == "holds"
    assert judge(rule, Spread(0.1, 18.1, 100.0)) == "FAILS"
    assert judge(rule, 18.1) == "FAILS"


def test_unknown_paper_or_table_names_those_there_are():
    with pytest.raises(BadArgument, match="There are: ascher-chin-petzold-reich-1995, ascher-chin-reich-1992"):
        reproduce("eich-2093")
    with pytest.raises(BadArgument, match=r"no table '7\.1'\. There are: example-1, 6\.1"):
        reproduce(KEYS[0], "7.1")
    assert find_table(papers()[KEYS[0]], "Table 6.1").id == "6.1"


@pytest.fixture
def shell():
    runner = CliRunner()
    return lambda *words: runner.invoke(app, ["reproduce", *words])


def test_shell_lists_papers_and_tables(shell):
    shown = shell().stdout
    assert all(key in shown for key in KEYS)
    assert "Table 6.4: seven-body mechanism" in shown
    assert [paper["key"] for paper in json.loads(shell("--json").stdout)] == list(papers())


def test_shell_prints_printed_ours_rule_and_verdict(shell):
    result = shell(KEYS[0], "example-1")
    assert result.exit_code == 0
    assert "method" in result.stdout and "within 0.1% of recomputed 0.9418" in result.stdout
    found = json.loads(shell(KEYS[0], "example-1", "--json").stdout)
    assert found["ok"] is True
    assert {"printed", "ours", "rule", "verdict"} <= set(found["entries"][0])


def test_shell_exits_with_1_when_a_rule_is_broken(shell, monkeypatch):
    from holonomic.reproduce import ascher_chin_petzold_reich_1995 as paper

    monkeypatch.setitem(paper.COMPUTE, "example-1", lambda row: {})
    result = shell(KEYS[0], "example-1")
    assert result.exit_code == 1
    assert "not computed" in result.stdout and "FAILS" in result.stdout


def test_shell_refuses_an_unknown_paper(shell):
    result = shell("nobody-1900")
    assert result.exit_code == 2
    assert "There is no paper 'nobody-1900'" in result.stderr


def test_page_shows_every_number():
    report = reproduce(KEYS[0], "example-1")
    text = page([report])
    assert text.startswith("# Reproduced papers")
    assert text.count("| holds") == len(report)
