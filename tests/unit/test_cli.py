"""The shell command: what it prints, where, and with which exit code."""

import json
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import holonomic
from holonomic.cli import run as run_module
from holonomic.cli.cache import size
from holonomic.cli.main import app
from holonomic.cli.methods import KINDS, classes, make, nearest
from holonomic.errors import StepFailed

PENDULUM = """
import numpy as np
from holonomic import System

system = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
t_end, q0, v0 = 0.5, [1.0, 0.0], [0.0, 0.0]
"""


@pytest.fixture
def shell():
    runner = CliRunner()
    return lambda *words: runner.invoke(app, [str(word) for word in words])


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.py"
    path.write_text(PENDULUM, encoding="utf-8")
    return path


@pytest.fixture
def broken_run(monkeypatch):
    """Make every run stop at t = 0.25 with a solution that reaches that far."""
    saved = []
    so_far = SimpleNamespace(
        drift={"position": np.array([[0.0], [-3e-11]])},
        stats={"steps": np.int64(1)},
        end=SimpleNamespace(t=0.25, q=np.array([0.5, -0.8]), v=np.array([np.inf, 1.0])),
        plan=SimpleNamespace(why=lambda: "as asked", model=SimpleNamespace(is_ode=False)),
        plot=lambda *names: SimpleNamespace(savefig=lambda path, **options: saved.append((names, path))),
    )

    def stop(job, options):
        raise StepFailed("the step fell to 1.2e-15 at t = 0.25.", so_far)

    monkeypatch.setattr(run_module, "simulate", stop)
    return saved


def test_version_is_the_package_version(shell):
    result = shell("--version")
    assert result.exit_code == 0
    assert result.stdout == f"holonomic {holonomic.__version__}\n"


def test_no_words_shows_the_commands(shell):
    shown = shell().output
    assert all(command in shown for command in ("run", "methods", "cache"))


def test_run_of_a_named_problem_reports_digits(shell):
    result = shell("run", "seven-body", "--rtol", "1e-8", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["ok"] is True
    # rtol 1e-8 leaves about 6 digits here; 4 still tells a right answer from a wrong one.
    assert found["digits"]["q"] > 4
    # Constraints are kept to 1e-10 as a distance; lengths of this mechanism are below 1.
    assert found["largest_drift"]["position"] < 1e-9


def test_run_of_a_file_prints_the_report_and_no_terminal_codes(shell, pendulum):
    result = shell("run", pendulum)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("pendulum\n")
    assert "drift" in result.stdout
    assert "\x1b" not in result.output
    assert result.stderr == ""


def test_run_takes_tolerances_methods_and_end_from_the_command_line(shell, pendulum):
    words = ("--integrator", "rk4", "--step", "0.01", "--stabilization", "none", "--t-end", "0.2", "--json")
    result = shell("run", pendulum, *words)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["end"]["t"] == pytest.approx(0.2, abs=1e-12)  # the end is hit up to rounding
    assert "RK4" in found["plan"]


def test_quiet_run_prints_nothing(shell, pendulum):
    result = shell("run", pendulum, "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_picture_is_written_where_asked(shell, pendulum, tmp_path):
    picture = tmp_path / "swing.png"
    result = shell("run", pendulum, "--picture", picture)
    assert result.exit_code == 0, result.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_picture_of_unknown_format_is_refused(shell, pendulum, tmp_path):
    result = shell("run", pendulum, "--picture", tmp_path / "swing.nonsense")
    assert result.exit_code == 1
    assert "could not be written" in result.stderr


def test_picture_in_a_missing_folder_is_refused_before_the_run(shell, pendulum, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "simulate", lambda job, options: pytest.fail("it ran"))
    result = shell("run", pendulum, "--picture", tmp_path / "nowhere" / "swing.png")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def test_failed_run_exits_1_with_the_message_on_stderr_and_keeps_the_picture(shell, pendulum, broken_run):
    result = shell("run", pendulum, "--picture", "so-far.png", "--quiet")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "StepFailed: the step fell to 1.2e-15 at t = 0.25.\n"
    assert [str(path) for _, path in broken_run] == ["so-far.png"]


def test_failed_run_in_json_holds_message_and_what_was_computed(shell, pendulum, broken_run):
    result = shell("run", pendulum, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["ok"] is False
    assert found["message"] == "StepFailed: the step fell to 1.2e-15 at t = 0.25."
    assert found["largest_drift"] == {"position": 3e-11}
    # JSON has no infinity
    assert found["end"] == {"t": 0.25, "q": [0.5, -0.8], "v": [None, 1.0]}


def test_unknown_problem_exits_2_and_names_the_nearest(shell):
    result = shell("run", "seven-bodies")
    assert result.exit_code == 2
    assert "seven-body" in result.stderr


def test_missing_file_exits_2(shell):
    result = shell("run", "nowhere.py")
    assert result.exit_code == 2
    assert "nowhere.py" in result.stderr


def test_file_without_the_names_exits_2_and_says_which(shell, tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("t_end = 1.0\n", encoding="utf-8")
    result = shell("run", path)
    assert result.exit_code == 2
    assert "system" in result.stderr


def test_file_with_a_system_that_cannot_be_meant_exits_1_with_our_message_alone(shell, tmp_path):
    path = tmp_path / "constant.py"
    path.write_text(
        "from holonomic import System\nsystem = System(mass=1.0, constraint=3.0)\n", encoding="utf-8"
    )
    result = shell("run", path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{path}: BadArgument: constraint")
    assert "Traceback" not in result.stderr


def test_unknown_integrator_exits_2_and_names_the_nearest(shell, pendulum):
    result = shell("run", pendulum, "--integrator", "DOP835")
    assert result.exit_code == 2
    assert "DOP853" in result.stderr


def test_negative_tolerance_exits_2(shell, pendulum):
    assert shell("run", pendulum, "--rtol", "-1").exit_code == 2


def test_method_with_wrong_numbers_exits_2_and_shows_how_it_is_written(shell, pendulum):
    result = shell("run", pendulum, "--stabilization", "Projection(tolerance=1)")
    assert result.exit_code == 2
    assert "Projection(tol=None" in result.stderr


def test_warning_is_one_line_on_stderr(shell, pendulum, monkeypatch, broken_run):
    stop = run_module.simulate

    def warn_and_stop(job, options):
        warnings.warn("slow but right", UserWarning, stacklevel=2)
        return stop(job, options)

    monkeypatch.setattr(run_module, "simulate", warn_and_stop)
    result = shell("run", pendulum, "--quiet")
    assert result.stderr.splitlines()[0] == "UserWarning: slow but right"


def test_methods_lists_every_method_once(shell):
    result = shell("methods", "--json")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    names = [row["name"] for row in rows]
    assert len(names) == len(set(names))
    assert {"DOP853", "RK4", "Projection", "Baumgarte", "Index1"} <= set(names)
    assert all(row["summary"] for row in rows)


def test_methods_table_shows_every_name_unbroken(shell):
    table = shell("methods").stdout
    for kind in KINDS:
        for name in classes(kind):
            assert name in table


def test_method_text_becomes_an_object_with_its_numbers():
    assert make("stabilization", "baumgarte(alpha=20)").alpha == 20
    assert make("stabilization", "S_pos").on == "position"
    assert make("stabilization", "None") is None
    assert make("integrator", "auto") == "auto"


def test_nearest_falls_back_to_all_names():
    assert nearest("xyz", ["RK4", "DOP853"]) == "There are DOP853, RK4."


def test_cache_shows_and_clears_its_folder(shell, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    entry = tmp_path / "models" / "some.bin"
    entry.parent.mkdir()
    entry.write_bytes(bytes(1500))
    shown = shell("cache").stdout
    assert str(tmp_path) in shown
    assert "1.5 kB" in shown
    result = shell("cache", "--clear")
    assert result.exit_code == 0
    assert "1.5 kB" in result.stdout
    assert not entry.exists()


@pytest.mark.parametrize(
    ("amount", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.5e6, "2.5 MB"), (3e9, "3.0 GB")]
)
def test_sizes_read_well(amount, text):
    assert size(amount) == text
