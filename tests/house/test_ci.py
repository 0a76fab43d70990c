"""Continuous integration has a browser, or says what was not run without one."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def machine(tmp_path):
    """A machine on which only some commands exist; `id` and `apt-get` are played."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("bash", "env", "mktemp", "rm", "tail", "timeout"):
        (bin_ / name).symlink_to(shutil.which(name))

    def command(name, text):
        path = bin_ / name
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(ci="true", user=0, apt="exit 0", browser=False):
        command("id", f"echo {user}")
        command("apt-get", f'echo "$@" >> {tmp_path}/asked; {apt}')
        if browser:
            command("chromium", "exit 0")
        told = subprocess.run(
            [ROOT / ".ci" / "browser"], env={"PATH": str(bin_), "CI": ci}, capture_output=True, text=True, timeout=60
        )
        asked = tmp_path / "asked"
        return told.returncode, told.stdout, asked.read_text().splitlines() if asked.exists() else []

    return run


def test_chromium_is_installed_in_continuous_integration_as_root(machine):
    code, said, asked = machine()
    assert code == 0 and said.startswith("installed chromium for the browser tests in")
    assert asked == ["-q update", "-q install -y --no-install-recommends chromium"]


@pytest.mark.parametrize("where", [{"ci": ""}, {"user": 1000}])
def test_elsewhere_nothing_is_installed_and_that_is_said(machine, where):
    code, said, asked = machine(**where)
    assert code == 0 and asked == []
    assert said.startswith("no browser is installed: the browser tests will not be run")


def test_a_browser_that_is_there_is_left_alone(machine):
    assert machine(browser=True) == (0, "", [])


def test_an_installation_that_fails_is_told_and_does_not_fail(machine):
    code, said, asked = machine(apt="echo E: Unable to locate package >&2; exit 100")
    assert code == 0 and asked == ["-q update"]
    assert "chromium could not be installed" in said and "E: Unable to locate package" in said


def test_browser_tests_that_were_not_run_are_counted(tmp_path):
    reason = "needs a browser: none of chromium"
    assert "needs a browser: none of" in (ROOT / "tests" / "view" / "conftest.py").read_text(encoding="utf-8")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    body = f"import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_page(n):\n    n and pytest.skip({reason!r})\n"
    (tmp_path / "test_pages.py").write_text(body)
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path], cwd=tmp_path, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert "3 browser tests were not run: no Chromium is installed" in told.stdout
