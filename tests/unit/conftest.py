"""A run that several files look at."""

import pytest

from holonomic import simulate
from holonomic.problems import pendulum


@pytest.fixture(scope="session")
def swing():
    """The pendulum over one period, every step kept."""
    return simulate(pendulum(), 2.0)
