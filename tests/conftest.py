"""What every test shares: slow tests run only when asked for."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", help="run the tests marked slow, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --run-slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)
