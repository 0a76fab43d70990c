"""The shell command: what it prints, where, and with which exit code."""

import json
import shutil
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import holonomic
from holonomic.arguments import in_bytes
from holonomic.cli import run as run_module
from holonomic.cli.main import app
from holonomic.cli.methods import KINDS, classes, make, nearest
from holonomic.errors import StepFailed
from holonomic.native import cachefolder

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
    path.write_text("from holonomic import System\nsystem = System(mass=1.0, constraint=3.0)\n", encoding="utf-8")
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


def test_problems_lists_every_problem_with_its_title(shell):
    from holonomic.problems import catalogue

    listed = {row["name"]: row for row in json.loads(shell("problems", "--json").stdout)}
    assert list(listed) == list(catalogue())
    shown = shell("problems").stdout
    assert all(name in shown for name in catalogue()) and "Four-cylinder engine" in shown


def test_run_takes_the_short_spelling_of_a_method_that_compare_takes(shell, pendulum):
    result = shell("run", pendulum, "--integrator", "RK4", "--step", "0.01", "--stabilization", "baumgarte:20")
    assert result.exit_code == 0 and "Baumgarte(alpha=20)" in result.stdout


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
    cachefolder.write("models", "some.o", bytes(1468))
    entry = cachefolder.folder() / "models" / "some.o"
    shown = shell("cache").stdout
    assert str(entry.parents[1]) in shown
    assert "1.5 kB" in shown
    theirs = entry.with_name("trained_for_three_weeks.o")
    theirs.write_text("weights")
    result = shell("cache", "--clear")
    assert result.exit_code == 0
    assert "1.5 kB" in result.stdout
    assert f"1 file there stays, not holonomic's, damaged or not to be removed: {theirs}" in result.stdout
    assert not entry.exists() and theirs.exists()


@pytest.mark.parametrize(("amount", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2.5e6, "2.5 MB"), (3e9, "3.0 GB")])
def test_sizes_read_well(amount, text):
    assert in_bytes(amount) == text


def test_cite_takes_a_paper_by_its_key(shell):
    result = shell("cite", "Eich-1993")
    assert result.exit_code == 0 and result.stdout.startswith("@article{eich-1993,")
    assert "steinbrecher-2003" in shell("cite", "steinbrecher-2003").stdout
    assert shell("cite", "S_both2").stdout.startswith("@")


@pytest.mark.parametrize(("given", "meant"), [("eich1993", "eich-1993"), ("projecton", "Projection"), ("sevenbody", "seven-body")])
def test_cite_suggests_among_problems_methods_and_papers(shell, given, meant):
    result = shell("cite", given)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"holonomic: there is no problem, method or paper '{given}'. Did you mean {meant}")


FAULTY = {
    "syntax": ("def f(:\n", "line 1: SyntaxError: invalid syntax"),
    "raises": ("import math\nx = 1 / 0\n", "line 2: ZeroDivisionError: division by zero"),
    "function": (PENDULUM.replace("[0, -9.81]", "lambda q: q[5]"), "out of bounds for axis 0 with size 2, raised by force() at"),
}


@pytest.mark.parametrize("command", ["run", "compare", "diagnose", "view", "cite"])
@pytest.mark.parametrize("fault", FAULTY)
def test_a_fault_in_a_users_file_is_one_line(shell, tmp_path, command, fault):
    path = tmp_path / "mine.py"
    path.write_text(FAULTY[fault][0], encoding="utf-8")
    result = shell(command, path)
    assert isinstance(result.exception, SystemExit)  # no traceback
    assert result.exit_code == 1 and FAULTY[fault][1] in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("run", "pendulum", "--stabilization", "Baumgarte(alpha='x')"), "Baumgarte's gains are numbers: "),
        (("run", "pendulum", "--save", "."), ". is a folder. Give the run a file name"),
        (("run", "pendulm"), "There is no problem 'pendulm'. Did you mean pendulum"),
        (("compare", "pendulum", "--page", "."), ". is a folder. Give the page a file name"),
        (("diagnose", "pendulum", "--rtol", "-1"), "rtol=-1.0 must be a positive number."),
        (("diagnose", "pendulum", "--rtol", "5"), "rtol=5 must lie between 1e-14 and 1"),
        (("reproduce", "--page", "nowhere/x.md"), "for the page."),
        (("reproduce", "eich-1993", "--page", "x.md"), "--page writes all papers as one page: leave KEY"),
        (("run", "pyproject.toml"), "pyproject.toml is no Python file: give a problem by name, or a FILE.py"),
    ],
)
def test_what_cannot_be_meant_is_one_line(shell, tmp_path, monkeypatch, words, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    result = shell(*words)
    assert isinstance(result.exception, SystemExit) and result.exit_code == 2
    assert text in result.stderr and len(result.stderr.strip().splitlines()) == 1


def test_a_picture_in_a_format_that_does_not_exist(shell, tmp_path):
    for command in ("diagnose", "compare"):
        result = shell(command, "pendulum", "--t-end", "0.1", "--picture", tmp_path / "x.xyz")
        assert result.exit_code == 1 and "could not be written: Format 'xyz' is not supported" in result.stderr


def test_files_of_a_dae_and_of_a_mechanism(shell, tmp_path):
    dae = tmp_path / "dae.py"
    dae.write_text(
        "from holonomic import Dae\n"
        "system = Dae(order=1, f=lambda x: -x, B=[[1.0], [0.0]], g=lambda x: x[0])\nt_end, x0 = 1.0, [0.0, 1.0]\n",
        encoding="utf-8",
    )
    link = tmp_path / "link.py"
    link.write_text(
        "from holonomic.multibody import Mechanism, rod\n"
        "mechanism, t_end = Mechanism(gravity=(0, -9.81)), 0.1\n"
        "link = mechanism.body('link', rod((0, 0), (1, 0), mass=1.0))\n"
        "mechanism.revolute('A', mechanism.ground, link, at=(0, 0))\n",
        encoding="utf-8",
    )
    assert shell("run", dae).exit_code == 0
    assert shell("run", link).exit_code == 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (cc)")
def test_export_writes_a_library_or_a_unit(shell, pendulum, tmp_path):
    done = shell("export", pendulum, "--integrator", "RK45", "-o", tmp_path / "swing")
    assert done.exit_code == 0, done.output
    assert {line.rsplit("/", 1)[-1] for line in done.stdout.split()} >= {"swing.h", "main.c", "CMakeLists.txt"}
    done = shell("export", pendulum, "--integrator", "RK45", "--fmu", "--version", "2.0", "-o", tmp_path / "swing.fmu", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["name"] == "swing" and (tmp_path / "swing.fmu").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--check"], "--check runs a unit: give --fmu, too."),
        (["--platform", "a", "--platform", "b"], "a library has one platform; a unit, with --fmu, may have several."),
        (["--fmu", "--version", "4"], "version='4': there are '2.0' and '3.0'."),
    ],
)
def test_exports_that_cannot_be_meant_exit_2(shell, pendulum, words, text):
    done = shell("export", pendulum, *words)
    assert done.exit_code == 2 and text in done.stderr
