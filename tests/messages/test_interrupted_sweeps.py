"""Ctrl-C in a sweep: finished members are kept, and it stops within a second."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from holonomic import BDF, RK45, Event, System, sweep
from holonomic.sweeping import engines

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

SWING = System(mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
BALL = System(mass=[[1.0]], force=lambda p: [-p.g], params={"g": 9.81})
START = {"q0": [1, 0], "v0": [0, 0], "max_steps": 10**9}
FLOOR = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (0 * q, -v))}
# the first members are short, the others would take minutes: their gravity makes them swing a thousand times faster
G = np.where(np.arange(200) < 40, 1e-3, 1e3)
KINDS = {
    "compiled": (SWING, 3e3, START | {"integrator": RK45()}),
    "left open": (SWING, 3e3, START),
    "implicit": (SWING, 300.0, START | {"integrator": BDF()}),
    "through Python": (BALL, 300.0, {"q0": [1.0], "v0": [0.0], "max_steps": 10**9, "events": FLOOR}),
}


@pytest.fixture(autouse=True)
def keyboard():
    """Ctrl-C as in a terminal: a shell starts what runs behind it so that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pressed(call, ready, number=signal.SIGINT):
    """Call, press Ctrl-C when it is ready, and return what comes back and the seconds from the press."""
    moment: list[float] = []

    def press():
        ready()
        moment.append(time.perf_counter())
        os.kill(os.getpid(), number)

    finger = threading.Thread(target=press)
    finger.start()
    try:
        found = call()
    except KeyboardInterrupt as error:
        found = error
    after = time.perf_counter()
    finger.join()
    return found, after - moment[0]


@pytest.fixture
def one_chunk(monkeypatch):
    """Waits until a chunk is finished, and a little longer."""
    finished, run = threading.Event(), engines.run_piece

    def noting(*arguments):
        chunk = run(*arguments)
        finished.set()
        return chunk

    monkeypatch.setattr(engines, "run_piece", noting)
    return lambda: (finished.wait(300), time.sleep(0.2))


@pytest.mark.parametrize("kind", KINDS)
def test_finished_members_are_kept_and_it_stops_within_a_second(kind, one_chunk, caplog):
    system, t_end, call = KINDS[kind]
    before = signal.getsignal(signal.SIGINT)
    runs, seconds = pressed(lambda: sweep(system, t_end, **call, params={"g": G}, workers=2), one_chunk)
    assert seconds < 1.0
    assert signal.getsignal(signal.SIGINT) is before
    done = int(runs.ok.sum())
    assert 16 <= done < 60, done  # at least a chunk, and not those that take minutes
    assert np.isfinite(runs.q[runs.ok]).all()
    assert np.isnan(runs.q[~runs.ok, -1]).all()
    assert {failure.why for failure in runs.failed} == {
        "not finished: the sweep was interrupted", "not run: the sweep was interrupted"
    }  # fmt: skip
    assert caplog.messages[-1] == f"holonomic: interrupted after {done} of 200 runs; the members so far are returned."


def test_members_that_finished_have_the_numbers_of_a_whole_sweep(one_chunk):
    runs, _ = pressed(lambda: sweep(SWING, 3e3, **START, params={"g": G}, workers=2), one_chunk)
    whole = sweep(SWING, 3e3, **START, params={"g": G[:40]})
    here = np.flatnonzero(runs.ok[:40])
    assert len(here) >= 16 and np.array_equal(runs.q[here], whole.q[here])


def test_a_press_that_another_handler_throws_is_taken_too(one_chunk):
    """As in programs that have a handler of their own."""

    def throw(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, throw)
    try:
        runs, seconds = pressed(lambda: sweep(SWING, 3e3, **START, params={"g": G}, workers=2), one_chunk, signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seconds < 1.0 and runs.ok.sum() >= 16


def test_a_store_keeps_whole_chunks_and_what_is_raised_carries_them(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    path, call = tmp_path / "runs.zarr", {**START, "params": {"g": G}, "workers": 2}

    def one_record():
        while not list((path / "status" / "journal").glob("[0-9]*.json")):
            time.sleep(0.01)

    error, seconds = pressed(lambda: sweep(SWING, 3e3, **call, store=path), one_record)
    assert isinstance(error, KeyboardInterrupt) and seconds < 1.0
    runs = error.solution
    kept = int(runs.ok.sum())
    assert kept and kept % runs.job.chunk == 0
    assert np.isfinite(runs.q[runs.ok]).all()
    assert runs.failed[-1].why == "not run: the sweep was interrupted"
    journal = {int(each.stem) for each in (path / "status" / "journal").glob("[0-9]*.json")}
    assert kept == len(journal) * runs.job.chunk
