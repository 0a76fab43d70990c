"""A mechanism that takes long to compile answers from tables first; later runs are code, compiled in a process beside."""

import os
import pickle
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest

from holonomic import RK4, BadArgument, Event, LimitReached, NearSingularWarning, gradient, simulate, sweep
from holonomic.model import machine_code
from holonomic.multibody import Mechanism, rod
from holonomic.running import tiers
from holonomic.running.tiers import Tiers


def chain(links: int, first: float = 0.1) -> Mechanism:
    """Rods of different masses, so that each number of links and first mass is a model of its own."""
    m, before, at = Mechanism(gravity=(0, -9.81)), None, (0.0, 0.0)
    for i in range(links):
        end = (at[0] + 0.1, 0.01 * (i % 2))
        body = m.body(f"rod {i}", rod(at, end, mass=first * (1 + 0.01 * i)))
        m.revolute(f"pin {i}", m.ground if before is None else before, body, at=at)
        before, at = body, end
    return m


@pytest.fixture(autouse=True)
def nothing_beside(monkeypatch):
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "0")


def test_what_compiles_in_half_a_second_is_code_at_once():
    assert simulate(chain(3), 0.1).plan.tier == "code"


def test_a_new_mechanism_of_twenty_rods_answers_from_tables():
    m = chain(20)
    sol = simulate(m, 0.1)
    assert sol.plan.tier == "tables" and "nothing compiled for it" in str(sol) and sol.provenance.tier == "tables"
    assert simulate(m, 0.1).plan.tier == "tables"
    assert simulate(m, 0.001, compile="now").plan.tier == "code"
    assert simulate(m, 0.1).plan.tier == "code"  # it is there


def test_both_tiers_take_the_same_fixed_steps():
    m = chain(13)
    given = {"integrator": RK4(), "step": 1e-3}
    tables, code = simulate(m, 0.1, **given), simulate(m, 0.1, **given, compile="now")
    assert (tables.plan.tier, code.plan.tier) == ("tables", "code") and tables.stats["steps"] == 100
    for name in ("q", "v"):
        one, other = getattr(tables, name), getattr(code, name)
        assert abs(one - other).max() < 1e-12 * max(1.0, abs(other).max())


def test_a_long_run_is_compiled_before_it_has_lost_more():
    m = chain(14)
    assert m.tiers().by_tables
    assert simulate(m, 200.0, save_at=2).plan.tier == "code"


def test_runs_that_have_lost_the_time_of_compiling_lead_to_code():
    m = chain(15)
    simulate(m, 0.1)
    state = m.tiers()
    assert state.by_tables and 0.0 < state.lost < state.cost
    state.lost = state.cost
    assert simulate(m, 0.1).plan.tier == "code"


def test_what_tables_would_warn_of_is_left_to_code():
    state = Tiers(1000, 2)

    def warns():
        warnings.warn("near", NearSingularWarning, stacklevel=1)
        return simulate(chain(3), 0.01, compile="never")

    assert state.by_tables and state.first(warns) is None and not state.by_tables


def test_what_tables_cannot_do_is_left_to_code():
    m = chain(16)
    stop = Event(lambda t: t - 0.05, terminal=True)
    assert simulate(m, 0.1, events={"stop": stop}).plan.tier == "code"
    redundant = chain(16, 0.2)
    redundant.revolute("again", redundant.ground, "rod 0", at=(0.0, 0.0))
    assert simulate(redundant, 0.01).plan.tier == "code"


def test_limits_of_a_call_hold_for_tables():
    m = chain(17)
    with pytest.raises(LimitReached):
        simulate(m, 50.0, max_time=0.05)


def test_sweeps_and_gradients_are_code():
    m = chain(12, 0.3)
    runs = sweep(m, 0.01, params={"rod 0.mass": [0.3, 0.4]})
    assert runs.plan.tier == "code"
    gradient(lambda sol: sol.q[-1, 0], m, 0.01, wrt=["rod 0.mass"], save_at=2)


def test_a_run_of_tables_has_all_that_a_run_of_code_has(tmp_path):
    m = chain(13, 0.4)
    sol = simulate(m, 0.2)
    assert sol.plan.tier == "tables"
    assert abs(sol.drift["acceleration"]).max() < 1e-10
    sol.view(path=tmp_path / "page.html", live={"rod 0.mass": (0.1, 1.0)}, show=False)
    again = pickle.loads(pickle.dumps(sol))
    assert np.array_equal(again.q, sol.q)


def test_what_needs_code_of_a_mechanism_that_has_changed_is_refused():
    m = chain(13, 0.5)
    sol = simulate(m, 0.1)
    m.params["rod 0.mass"] = 0.7
    with pytest.raises(BadArgument, match=r'changed since.*compile="now"'):
        sol.drift["acceleration"]
    sol = simulate(m, 0.1)
    m.point("tip", "rod 12", (1.3, 0.0))
    with pytest.raises(BadArgument, match="changed since"):
        sol.drift["acceleration"]


beside = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux alone")


def wait(what, seconds: float = 120.0):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    assert what()


@beside
def test_a_process_beside_compiles_for_the_next_run(monkeypatch):
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "1")
    monkeypatch.setattr(tiers, "BESIDE", 0.0)
    m = chain(12, 0.6)
    assert simulate(m, 0.1).plan.tier == "tables"
    state = m.tiers()
    wait(lambda: state.beside.ended)
    assert state.beside.succeeded
    began = time.process_time()
    sol = simulate(m, 0.1)
    assert sol.plan.tier == "code" and time.process_time() - began < state.cost
    with pytest.raises(ChildProcessError):  # it is no zombie
        os.waitpid(state.beside.pid, os.WNOHANG)


SCRIPT = """
    import os, signal, sys
    sys.path.insert(0, {folder!r})
    from test_tiers import chain, simulate, tiers
    tiers.BESIDE = 0.0
    m = chain(40, {mass})
    simulate(m, 0.01)
    print(m.tiers().beside.pid, flush=True)
    {end}
"""


@beside
@pytest.mark.parametrize(("end", "mass"), [("pass", 0.71), ("os.kill(os.getpid(), signal.SIGKILL)", 0.72), ("os._exit(3)", 0.73)])
def test_a_process_beside_ends_with_its_parent(end, mass):
    script = textwrap.dedent(SCRIPT.format(folder=os.path.dirname(__file__), end=end, mass=mass))
    environment = os.environ | {"HOLONOMIC_COMPILE_BESIDE": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120)
    pid = int(done.stdout)

    def over() -> bool:
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"  # of a container without an init
        except FileNotFoundError:
            return True

    wait(over, 10.0)


@beside
def test_there_is_one_process_beside_at_a_time(monkeypatch):
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "1")
    one, other = Tiers(1000, 2), Tiers(1000, 2)
    one.lost = other.lost = one.cost / 2
    one.compile_beside(lambda: time.sleep(60.0))
    other.compile_beside(lambda: None)
    assert not one.beside.ended and other.beside is None and other.by_tables
    one.beside.end()
    assert one.beside.ended and not one.beside.succeeded
    other.compile_beside(lambda: None)
    wait(lambda: other.beside.ended)
    assert other.beside.succeeded


@beside
def test_what_was_not_kept_before_is_no_failure_of_a_process_beside(monkeypatch):
    """Models with opaque functions are compiled in every process: after one of them no process beside succeeded."""
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "1")
    monkeypatch.setitem(machine_code._memory, "of an opaque function", b"")
    one = Tiers(1000, 2)
    one.lost = one.cost / 2
    one.compile_beside(lambda: None)
    wait(lambda: one.beside.ended)
    assert one.beside.succeeded


@beside
def test_a_process_beside_that_fails_is_not_asked_again(monkeypatch):
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "1")
    state = Tiers(1000, 2)
    state.lost = state.cost / 2

    def fails():
        raise RuntimeError("no")

    state.compile_beside(fails)
    wait(lambda: state.beside.ended)
    assert not state.beside.succeeded and state.by_tables
    first = state.beside
    state.compile_beside(fails)
    assert state.beside is first
    state.lost = state.cost
    assert not state.by_tables
    monkeypatch.setenv("HOLONOMIC_COMPILE_BESIDE", "0")
    assert not tiers.may_fork()
