"""`holonomic view` and `holonomic cite`: what they print, where, and with which exit code."""

import json

import pytest
from typer.testing import CliRunner

from holonomic.cli.main import app


@pytest.fixture
def shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def saved(crank, tmp_path):
    crank.save(tmp_path / "crank.nc")
    return tmp_path / "crank.nc"


def test_view_writes_a_page_of_a_saved_run_and_prints_its_path_alone(shell, saved, tmp_path):
    done = shell("view", saved, "--output", "page.html", "--signals", "A.force", "--traces", "A", "--forces")
    assert done.exit_code == 0, done.output
    assert done.stdout == "page.html\n"
    assert "<canvas" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_view_simulates_a_problem_first(shell):
    done = shell("view", "pendulum", "--t-end", "0.5", "--json", "--no-open", "--output", "p.html")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["dimension"] == 2
    assert told["runs"] == [{"name": "run", "frames": 1000, "end": 0.5, "failure": None}]
    assert told["bytes"] < 6e6


def test_view_writes_a_live_page(shell, tmp_path):
    sliders = ("--sliders", "g=1:25, v0.y=-8:8")
    done = shell("view", "pendulum", "--t-end", "0.5", *sliders, "--frames", "11", "--json", "-o", "live.html")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["bytes"] < 1e6
    assert 'id="engine"' in (tmp_path / "live.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["pendulum", "--sliders", "g=1-25"], "--sliders g=1-25: write a name and its range, g=1:25."),
        (["crank.nc", "--live"], "--live shows one problem or one file of yours: a saved run has no model."),
        (["pendulum", "--sliders", "gg=1:25"], "live={'gg': ...}: there is nothing of this name to move. Did you mean 'g'?"),
    ],
    ids=["range", "saved", "name"],
)
def test_view_says_what_is_wrong_with_a_live_page(shell, saved, words, told):
    done = shell("view", *words)
    assert done.exit_code == 2
    assert told in " ".join(done.stderr.split())


def test_view_puts_runs_one_over_the_other(shell, crank, saved, tmp_path):
    crank.save(tmp_path / "again.nc")
    done = shell("view", saved, "again.nc", "--json", "-o", "both.html")
    assert [run["name"] for run in json.loads(done.stdout)["runs"]] == ["crank", "again"]


def test_view_of_a_failing_run_writes_the_page_and_fails(shell, tmp_path):
    (tmp_path / "root.py").write_text(
        "import numpy as np\nfrom holonomic import System\n"
        "system = System(mass=np.eye(1), force=lambda q: [-1 / np.sqrt(q[0])])\nt_end, q0, v0 = 10.0, [1.0], [0.0]\n",
        encoding="utf-8",
    )
    done = shell("view", "root.py", "-o", "root.html")
    assert done.exit_code == 1
    assert "NotFinite" in done.stderr
    assert "NotFinite" in (tmp_path / "root.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "missing"])
def test_files_that_cannot_be_read_are_named(shell, saved, tmp_path, damage):
    bad = tmp_path / "bad.nc"
    if damage == "cut":
        bad.write_bytes(saved.read_bytes()[:3000])
    elif damage == "text":
        bad.write_text("no run at all", encoding="utf-8")
    elif damage == "empty":
        bad.write_bytes(b"")
    done = shell("view", bad, "-o", "bad.html")
    assert done.exit_code == 1
    assert "bad.nc" in done.stderr
    assert not (tmp_path / "bad.html").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("view",),
        ("view", "nonsense"),
        ("view", "pendulum", "--t-end", "0.1", "-o", "no/where.html"),
        ("view", "pendulum", "--style", "x", "--t-end", "0.1"),
    ],
)
def test_bad_usage_exits_with_two(shell, words):
    assert shell(*words).exit_code == 2


def test_cite_prints_the_methods_of_a_saved_run(shell, crank, saved):
    done = shell("cite", saved)
    assert done.exit_code == 0
    assert done.stdout == crank.cite()


def test_cite_knows_what_a_run_would_use(shell):
    keys = json.loads(shell("cite", "pendulum", "--integrator", "Radau", "--json").stdout)["keys"]
    other = json.loads(shell("cite", "pendulum", "--integrator", "RK4", "--step", "0.01", "--json").stdout)["keys"]
    assert keys != other
    assert json.loads(shell("cite", "Projection", "--json").stdout)["keys"]


def test_cite_knows_a_run_that_ends_within_its_first_step(shell, tmp_path):
    (tmp_path / "short.py").write_text(
        "from holonomic import Ode\nsystem, y0, t_end = Ode(lambda y: -y), [1.0], 1e-6\n", encoding="utf-8"
    )
    done = shell("cite", "short.py")
    assert done.exit_code == 0 and done.stdout.startswith("@")


def test_cite_adds_the_software_if_asked(shell, saved):
    assert "lam-2015" not in shell("cite", saved).stdout
    assert "lam-2015" in shell("cite", saved, "--software").stdout


def test_cite_refuses_what_does_not_exist(shell, tmp_path):
    assert shell("cite", "nonsense").exit_code == 2
    assert shell("cite", "missing.nc").exit_code == 1


def test_run_saves_what_view_shows(shell, tmp_path):
    done = shell("run", "pendulum", "--t-end", "0.2", "--save", "run.nc", "--quiet")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert (tmp_path / "run.nc").exists()
    assert shell("run", "pendulum", "--save", "no/run.nc").exit_code == 2


@pytest.mark.parametrize("command", ["view", "cite"])
def test_help_has_examples(shell, command):
    assert f"holonomic {command} run.nc" in shell(command, "--help").stdout
