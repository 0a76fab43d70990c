"""Assembling and starts work on one thread of BLAS, and leave it as it was."""

import threading

import numpy as np
import pytest

from holonomic import System, simulate
from holonomic.model import blas_threads
from holonomic.model.blas_threads import one_thread
from holonomic.multibody import Mechanism, equilibrium, rod

known = blas_threads._all()
pytestmark = pytest.mark.skipif(not known, reason="the BLAS of this NumPy is no OpenBLAS")


@pytest.fixture
def threads():
    """Numbers of threads that are there, with two to begin with."""
    get, set_number = known[0]
    before = get()
    set_number(2)
    yield get
    set_number(before)


@pytest.fixture
def seen(monkeypatch, threads):
    """How many threads there were where a matrix was taken apart."""
    found = []
    for name in ("qr", "lstsq", "svd"):
        own = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *given, own=own, **more: (found.append(threads()), own(*given, **more))[1])
    return found


def chain(n):
    m = Mechanism()
    for k in range(n):
        m.body(f"b{k}", rod((k, 0), (k + 1, 0.01), mass=1.0))
        m.revolute(f"J{k}", f"b{k - 1}" if k else "ground", f"b{k}", at=(k, 0))
    return m


def test_assembling_and_rest_take_one_thread(seen, threads):
    m = chain(4)
    m.assemble({"J2": 0.3}, speeds={"J0": 1.0})
    m.mobility()
    equilibrium(m)
    assert len(seen) > 10 and set(seen) == {1} and threads() == 2


def test_starts_take_one_thread(seen, threads):
    pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1.0)
    simulate(pendulum, 0.1, q0=[1.1, 0], v0=[0.2, 1.0], initial="project")
    assert seen and set(seen) == {1} and threads() == 2


def test_what_is_nested_or_fails_or_runs_beside_leaves_it_as_it_was(threads):
    with pytest.raises(ZeroDivisionError), one_thread(3):
        with one_thread(3):
            assert threads() == 1
        assert threads() == 1
        _ = 1 / 0
    assert threads() == 2
    with one_thread(blas_threads.MOST + 1):
        assert threads() == 2
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_thread(3):
            inside.set()
            leave.wait(10)

    beside = threading.Thread(target=other)
    with one_thread(3):
        beside.start()
        inside.wait(10)
    assert threads() == 1
    leave.set()
    beside.join()
    assert threads() == 2
