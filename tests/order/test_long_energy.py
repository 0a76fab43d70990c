"""Energy over many periods: no trend beyond its uncertainty, with the fit and the motions of benchmarks/energy.py."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "energy.py"


@pytest.fixture(scope="module")
def energy():
    spec = importlib.util.spec_from_file_location("energy", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(PATH.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PATH.parent))
    return module


def without_trend(energy, case, periods, names):
    for method in energy.METHODS:
        name = energy.named(method)
        if name in names and method.steps[case.name]:
            found = energy.measured(case, method, periods)
            assert not energy.creeps(found, method.steps[case.name], periods), (name, found)


KEEP = ("`RATTLE()`", "`RATTLE(order=4)`", "`RATTLE(order=6)`", "`GaussLegendre4()`, `SymmetricProjection()`")


def test_a_pendulum_over_2000_periods_keeps_its_energy(energy):
    without_trend(energy, energy.pendulum(), 2000, KEEP)


def test_a_plain_projection_is_seen_to_lose_it(energy):
    method = next(each for each in energy.METHODS if not each.keeps)
    found = energy.measured(energy.pendulum(), method, 2000)
    assert energy.creeps(found, method.steps["pendulum"], 2000) and found.slope < -1e-7, found


def test_the_fit_tells_a_trend_from_what_swings(energy):
    at = np.linspace(0.0, 1000.0, 5000)
    chance = np.random.default_rng(1).normal(size=5000)
    slope, uncertainty, _ = energy.line(at, 1e-6 * np.sin(3.7 * at) + 1e-8 * chance)
    assert abs(slope) < 4.0 * uncertainty
    slope, uncertainty, _ = energy.line(at, 1e-6 * np.sin(3.7 * at) + 1e-8 * chance + 1e-10 * at)
    assert abs(slope - 1e-10) < 4.0 * uncertainty < 0.5e-10


@pytest.mark.slow
def test_a_pendulum_over_100000_periods_keeps_its_energy(energy):
    without_trend(energy, energy.pendulum(), 100_000, KEEP)


@pytest.mark.slow
def test_a_heavy_top_over_100000_periods_keeps_its_energy(energy):
    without_trend(energy, energy.heavy_top(), 100_000, ("`RATTLE(order=4)`",))
