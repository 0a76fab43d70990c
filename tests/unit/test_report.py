"""What a solution says of itself, and what it cites."""

import re

import numpy as np
import pytest

from holonomic import DOP853, RK4, Baumgarte, Index1, Ode, Projection, StepFailed, System, simulate
from holonomic.problems import pendulum, seven_body


def test_report_speaks_of_a_change_of_energy_only_where_there_is_a_total(swing):
    """The work of force= is not counted: what it changes is no error."""
    assert re.search(r"energy +changes by \S+ J, \S+ relative", str(swing))
    pushed = simulate(System(mass=1.0, force=2.0), 3.0, q0=[0.0], v0=[0.0])
    assert "energy         kinetic 0 J at first, 18 J at last; without potential= there is no total" in str(pushed)


def test_report_says_what_is_solved_for():
    """An Ode has no accelerations and no multipliers, a System without constraints no multipliers."""
    ode = simulate(Ode(lambda y: -y), 1.0, y0=[1.0])
    assert "formulation    Index1(), the equations are integrated as they stand" in str(ode)
    free = simulate(System(mass=1.0, force=2.0), 1.0, q0=[0.0], v0=[0.0])
    assert "Index1(), accelerations are solved for at every point" in str(free)


def test_report_says_what_ran_and_how_well():
    sol = simulate(seven_body(), 0.01, integrator=DOP853())
    text = str(sol)
    assert text == repr(sol)
    assert text.startswith("Solution from t = 0 to 0.01 s, reached its end")
    said = ["Index1()", "DOP853()", "Projection(", "rtol 1e-06", "atol 1e-09", "kept to 1e-10", "rejected"]
    said += ["pivot ratio", "drift", "velocity", "energy", "holonomic", "llvmlite", "numpy"]
    for part in said:
        assert part in text, part
    assert re.search(r"position \d.\de-\d+ \('loop \d [xy]' at t = ", text)
    assert f"{sol.stats['steps']}, {sol.stats['rejected']} rejected" in text


def test_html_report_has_the_same_lines_escaped():
    sol = simulate(System(mass=np.eye(1)), 1.0, q0=[0], v0=[1], events={"a<b": lambda q: q[0] - 0.5})
    page = sol._repr_html_()
    assert "a&lt;b 1" in page and "a<b" not in page
    assert page.count("<tr>") == len(str(sol).splitlines()) - 1


def test_report_tells_of_moved_starts_and_failures():
    moved = simulate(pendulum(), 0.1, q0=[1.1, 0], v0=[0, 0], initial="project")
    assert "moved onto the constraints, by 1.0e-01 in q" in str(moved)
    with pytest.raises(StepFailed) as caught:
        simulate(pendulum(), 2.0, max_steps=5)
    assert caught.value.solution.ended == "failed"
    assert "stopped by a failure" in str(caught.value.solution)


def test_states_at_times_show_themselves(swing):
    assert str(swing(0.25)).startswith("Solution at t = 0.25 s\n  q ")
    assert str(swing([0.1, 0.2])).startswith("Solution at 2 times from 0.1 to 0.2 s")
    assert "<pre>" in swing(0.25)._repr_html_()


def test_cite_gives_exactly_the_methods_used():
    def keys(sol, **options):
        return set(re.findall(r"^@\w+\{([^,]+),", sol.cite(**options), flags=re.MULTILINE))

    sol = simulate(pendulum(), 5.0)
    assert keys(sol) == {*Index1.references, *DOP853.references, *Projection.references}
    assert "prince-dormand-1981" in keys(sol)
    assert keys(sol, software=True) - keys(sol) == {"lam-2015"}
    free = simulate(System(mass=np.eye(1)), 0.1, q0=[0], v0=[1], integrator=RK4(), step=0.01)
    assert keys(free) == {"HNW93"}
    held = simulate(pendulum(), 5.0, stabilization=Baumgarte(alpha=5))
    assert keys(held) == {*Index1.references, *DOP853.references, *Baumgarte.references}
