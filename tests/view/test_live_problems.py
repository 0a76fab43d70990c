"""Every problem that can be live gives in a page's program what it gives in the compiled loop."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from holonomic.errors import IncompatibleMethods
from holonomic.problems import catalogue, get
from holonomic.sweeping.chunk_run import run_all
from holonomic.view import view
from printing.played import NODE, by_node

SMALL = ("rolling-disk",)  # the others take a second or more each to compile and to print
NOT_LIVE = {
    "four-bars": "it passes singular positions, where pages stop",
    "four-bars-from-bodies": "it passes singular positions, where pages stop",
    "heterogeneous-masses": "its equations have to be solved with pivoting (pivot ratio 2.5e-07), which pages do not do",
    "four-bar-spatial": "its constraints are redundant, and pages do not choose among rows",
    "index-2-pair": "the unknowns y of a Dae are found by iterations that pages do not have",
    "rapid-pair": "the unknowns y of a Dae are found by iterations that pages do not have",
    "wheelset": "the unknowns y of a Dae are found by iterations that pages do not have",
}
# Rounding is magnified in these runs: their steps are limited by stability, or the motion itself runs apart. Two runs then
# differ by about their own error (two-link-arm-II: 2e-5 of 1e-3), and by up to a fifth of their steps.
MAGNIFY = (
    "jansen-walker", "rapid-constraint", "seven-body-a03", "seven-body-from-bodies", "spring-pendulum", "suspension",
    "two-link-arm-II", "wheelset-contacts",
)  # fmt: skip
LIVE = sorted(set(catalogue()) - set(NOT_LIVE))


@pytest.mark.skipif(NODE is None, reason="needs node: apt-get install nodejs")
@pytest.mark.parametrize("name", [each if each in SMALL else pytest.param(each, marks=pytest.mark.slow) for each in LIVE])
def test_a_problem_runs_in_a_page_as_it_does_compiled(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = view(get(name), live=True, show=False)
    assert len(page.html) < 1_000_000
    job = page.live.programs[0].job
    compiled = run_all(job, 0, 1)
    told, states = by_node(job)
    assert (told["status"], told["rows"]) == (compiled.status[0], compiled.rows[0])
    end, there = states[-1], compiled.x[0, -1]
    rtol = job.plan.choice.rtol
    steps, tolerances = (0.2 * compiled.steps[0], 30.0) if name in MAGNIFY else (1, 0.1)
    assert abs(told["accepted"] + told["rejected"] - compiled.steps[0]) <= steps
    assert np.max(np.abs(end - there) / (job.program.atol + rtol * np.maximum(1.0, np.abs(there)))) <= tolerances


@pytest.mark.parametrize("name", NOT_LIVE)
@pytest.mark.slow
def test_a_problem_that_cannot_be_live_says_why(name):
    with warnings.catch_warnings(), pytest.raises(IncompatibleMethods) as refused:
        warnings.simplefilter("ignore")
        view(get(name), live=True, show=False)
    assert str(refused.value) == f"this run cannot be live: {NOT_LIVE[name]}."
