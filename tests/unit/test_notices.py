"""Notices go through Python's logging: programs decide where, and who has decided nothing sees them on stderr."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holonomic
from holonomic.cli.main import app
from holonomic.notices import notice

PACKAGE = Path(holonomic.__file__).parent


def said(script: str) -> str:
    """What a program of its own writes to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_program_that_has_not_set_up_logging_sees_a_line_on_stderr():
    assert said("from holonomic.notices import notice; notice('something')") == "holonomic: something\n"


def test_a_program_decides_where_notices_go():
    set_up = "import logging; logging.basicConfig(format='%(name)s %(levelname)s'); "
    call = "from holonomic.notices import notice; notice('something')"
    assert said(set_up + call) == "holonomic WARNING\n"
    assert said("import logging; logging.getLogger('holonomic').setLevel(logging.ERROR); " + call) == ""


def test_a_notice_names_the_line_it_comes_from(caplog):
    notice("here")
    record = caplog.records[-1]
    assert (record.name, record.levelno, record.filename) == ("holonomic", logging.WARNING, Path(__file__).name)


def test_logging_is_not_imported_without_a_notice():
    assert said("import sys; import holonomic; print('logging' in sys.modules, file=sys.stderr)") == "False\n"


def test_nothing_but_the_command_line_prints():
    """What a library has to say goes through warnings, errors or notices."""
    allowed = {"cli", "native/build.py"}  # a command of its own: python -m holonomic.native
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
        if name not in allowed and name.partition("/")[0] not in allowed:
            assert not re.search(r"^\s*print\(", code, re.MULTILINE), name


def test_commands_in_a_shell_show_notices(monkeypatch):
    runner = pytest.importorskip("typer.testing").CliRunner()
    logger = logging.getLogger("holonomic")
    before = list(logger.handlers)
    monkeypatch.setattr("holonomic.native.cachefolder.clear", lambda: notice("seen in the shell") or 0)
    try:
        result = runner.invoke(app, ["cache", "--clear"])
    finally:
        logger.handlers[:] = before
    assert result.stderr == "holonomic: seen in the shell\n"
