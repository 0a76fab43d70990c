"""What every test shares: slow tests run only when asked for, and what was not run for want of a browser is counted."""

import pytest

NO_BROWSER = "needs a browser"  # how the reason of such a skip begins


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow, too")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if " at 0x" in item.nodeid:  # another one in every process, which must agree on what they share out
            raise pytest.UsageError(f"{item.nodeid} has an address in its name. Give it a name in ids=.")
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --run-slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", ())
    n = sum(isinstance(report.longrepr, tuple) and NO_BROWSER in report.longrepr[2] for report in skipped)
    if n:
        terminalreporter.write_line(f"{n} browser test{'s were' if n > 1 else ' was'} not run: no Chromium is installed")
