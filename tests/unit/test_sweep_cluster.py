"""Sweeps on other processes: the same numbers, dead and late workers, and what cannot be sent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import holonomic as h
from holonomic import BadArgument, Event, HolonomicError, System, sweep
from holonomic.multibody import Mechanism, rod
from holonomic.problems import seven_body

LENGTH = 1.0


def make_swing():
    factor = 2.0  # in a closure: nothing that pickle could send
    return System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1],
        constraint={"rod": lambda q, p: q @ q - (LENGTH * p.L) ** 2}, params={"m": 1.0, "g": 9.81, "L": 1.0},
        outputs={"tension": lambda lam, p: factor * p.L * lam[0]}, coordinates=["x", "y"],
    )  # fmt: skip


SWING = make_swing()
CALL = {
    "q0": [0, -1], "v0": [1, 0], "save_at": 5, "events": {"low": lambda q: q[0]},
    "params": {"g": np.linspace(1, 20, 100), "L": np.where(np.arange(100) == 20, 1.5, 1.0)},
}  # fmt: skip
SLOW = {"q0": [0, -1], "v0": [1, 0], "save_at": 2, "params": {"g": np.linspace(1, 20, 400)}}  # to t = 200


@pytest.fixture(scope="module")
def held():
    return sweep(SWING, 2.0, **CALL)


def same(one, other):
    for name in ("q", "v", "lam", "tension"):
        assert np.array_equal(one[name], other[name], equal_nan=True)
    assert one.failed == other.failed
    assert np.array_equal(one.events["low"].t, other.events["low"].t)
    assert np.array_equal(one.events["low"].member, other.events["low"].member)


@pytest.fixture(scope="module")
def pool():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_lambdas_and_closures_run_in_other_processes_with_the_same_numbers(pool, held):
    same(held, sweep(SWING, 2.0, **CALL, on=pool))


def test_members_that_cannot_start_get_the_message_of_a_run_at_home(pool, held):
    runs = sweep(SWING, 2.0, **CALL, on=pool)
    assert [failure.member for failure in runs.failed] == [20]
    assert "misses constraint 'rod'" in runs.failed[0].why


def test_assembled_members_and_chosen_outputs_in_other_processes(pool):
    problem = seven_body()
    rr = problem.system.params["rr"] * np.linspace(0.99, 1.01, 40)
    call = {"q0": problem.q0, "v0": problem.v0, "params": {"rr": rr}, "initial": "project", "outputs": ["q", "lam"]}
    here, there = sweep(problem.system, 0.002, **call), sweep(problem.system, 0.002, **call, on=pool)
    assert np.array_equal(here.q, there.q) and np.array_equal(here.lam, there.lam)


def two_roots():
    return h.Dae(order=1, f=lambda x, y: np.array([y[0] ** 2 - 3.0]), B=[[1.0]], g=lambda x: x[0])  # y² - y = 3


def test_expected_multipliers_guesses_and_impulses_of_members_in_other_processes(pool):
    """70 members in pieces: each has its own numbers with it."""
    masses = np.linspace(0.5, 4.0, 70)
    given = {"q0": [0, -1], "params": {"m": masses}, "on": pool}
    right = masses[:, None] * 9.81 / 2
    right[40] += 1.0
    checked = sweep(SWING, 0.1, **given, v0=[0, 0], lam0=right)
    assert [each.member for each in checked.failed] == [40]
    assert checked.failed[0].why.startswith("lam0 misses the acceleration level: 'rod' needs ")
    runs = sweep(SWING, 0.1, **given, v0=np.stack([masses, masses], axis=1), initial="impact")
    np.testing.assert_allclose(runs.impulses, np.stack([0 * masses, -(masses**2)], axis=1), atol=1e-12)
    guesses = np.where(np.arange(70) % 2, 2.0, -1.0)[:, None]
    roots = sweep(two_roots(), 1.0, x0=[0.0], lam0=guesses, on=ThreadPoolExecutor(1))
    np.testing.assert_allclose(roots.y[:, -1], (1 + np.sqrt(13) * np.sign(guesses)) / 2, rtol=1e-9)


def test_an_executor_of_threads_works_too(held):
    with ThreadPoolExecutor(2) as threads:
        same(held, sweep(SWING, 2.0, **CALL, on=threads))


METHODS = [
    {"integrator": h.Radau(), "formulation": h.GGL()},
    {"integrator": h.BDF(), "formulation": h.StateSpace()},
    {"stabilization": h.Baumgarte(10)},
    {"integrator": h.RK4(), "step": 0.01, "stabilization": h.S_both2()},
]


@pytest.mark.parametrize("methods", METHODS, ids=repr)
def test_all_kinds_of_methods_travel(methods):
    """An executor of threads gets jobs through pickle as well."""
    call = {**CALL, "params": {"g": np.linspace(1, 20, 20)}, **methods}
    with ThreadPoolExecutor(2) as threads:
        same(sweep(SWING, 1.0, **call), sweep(SWING, 1.0, **call, on=threads))


def test_a_dae_and_a_spatial_mechanism_travel():
    pytest.importorskip("cloudpickle", reason="extra cluster")
    circle = h.Dae(
        order=2, f=lambda p: np.array([0.0, -p.g]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1, params={"g": 9.81}
    )
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("link", rod((0, 0, 0), (1, 0, 0), mass=1.0))
    m.spherical("A", m.ground, "link", at=(0, 0, 0))
    with ThreadPoolExecutor(2) as threads:
        call = {"y0": [1.0, 0.0, 0.0, 0.0], "params": {"g": [2.0, 9.81]}, "save_at": 4}
        assert np.array_equal(sweep(circle, 0.5, **call).y, sweep(circle, 0.5, **call, on=threads).y)
        call = {"params": {"link.mass": np.linspace(1, 2, 20)}, "save_at": 5, "outputs": ["A.force"]}
        assert np.array_equal(sweep(m, 0.5, **call)["A.force"], sweep(m, 0.5, **call, on=threads)["A.force"])


def test_events_that_map_the_state_are_sent_as_functions(pool):
    pytest.importorskip("cloudpickle", reason="extra cluster")
    events = {"wall": Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -v))}
    call = {**CALL, "params": {"g": np.linspace(1, 20, 30)}, "events": events}
    here, there = sweep(SWING, 2.0, **call), sweep(SWING, 2.0, **call, on=pool)
    assert np.array_equal(here.q, there.q)
    assert np.array_equal(here.events["wall"].t, there.events["wall"].t)


def test_a_function_that_cannot_be_packed_is_named(pool):
    lock = threading.Lock()

    def guarded(q, v):
        with lock:
            return q, -v

    events = {"wall": Event(lambda q: q[0], then=guarded)}
    with pytest.raises(BadArgument, match=r"then of event 'wall' \(.*guarded\) cannot be sent to workers.*top level"):
        sweep(SWING, 2.0, **{**CALL, "events": events}, on=pool)


def test_a_module_that_workers_do_not_have_is_named(pool, tmp_path, monkeypatch):
    pytest.importorskip("cloudpickle", reason="extra cluster")
    (tmp_path / "only_here.py").write_text("def then(q, v):\n    return q, -v\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import then

    with pytest.raises(HolonomicError, match=r"a worker cannot load the sweep: ModuleNotFoundError.*only_here.*install"):
        sweep(SWING, 2.0, **{**CALL, "events": {"wall": Event(lambda q: q[0], then=then)}}, on=pool)


def test_a_dead_process_of_a_pool_is_an_error_that_keeps_what_was_finished(tmp_path):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        victim = pool.submit(os.getpid).result()

        def kill():
            time.sleep(1.0)
            os.kill(victim, signal.SIGTERM)

        threading.Thread(target=kill).start()
        with pytest.raises(HolonomicError, match="a worker of ProcessPoolExecutor died"):
            while True:
                sweep(SWING, 200.0, **SLOW, on=pool)


@pytest.mark.parametrize(
    ("options", "text"),
    [({"on": "moon"}, "on='moon'"), ({"on": 3}, "on=3"), ({"on": ThreadPoolExecutor(1), "workers": 2}, "workers= goes with")],
)
def test_what_cannot_run_a_sweep_is_refused(options, text):
    with pytest.raises(BadArgument, match=text):
        sweep(SWING, 2.0, **CALL, **options)


# Dask


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="extra cluster")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, worker_dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client


def engines():
    from holonomic.model import machine_code

    return len(machine_code._loaded)


def test_dask_gives_the_same_numbers_and_compiles_once_per_worker(client, held):
    same(held, sweep(SWING, 2.0, **CALL, on=client))
    first = client.run(engines)
    same(held, sweep(SWING, 2.0, **CALL, on=client))
    assert client.run(engines) == first
    assert max(first.values()) >= 1


def test_a_worker_that_is_killed_costs_nothing_but_time(client, cluster):
    whole = sweep(SWING, 200.0, **SLOW)
    pids = list(client.run(os.getpid).values())
    killed = []

    def kill():
        while not any(client.processing().values()):
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(pids[0], signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        killed.append(pids[0])

    thread = threading.Thread(target=kill)
    thread.start()
    runs = sweep(SWING, 200.0, **SLOW, on=client)
    thread.join()
    assert killed and not runs.failed
    assert np.array_equal(runs.q, whole.q)


def test_a_worker_that_joins_late_takes_part(client, cluster):
    client.wait_for_workers(2, timeout=60)
    before = set(client.nthreads())
    timer = threading.Timer(0.1, lambda: cluster.scale(3))
    timer.start()
    sweep(SWING, 200.0, **{**SLOW, "params": {"g": np.linspace(1, 20, 400)}}, on=client)
    timer.join()
    client.wait_for_workers(3, timeout=60)
    late = set(client.nthreads()) - before
    assert late
    sweep(SWING, 200.0, **SLOW, on=client)
    assert all(count >= 1 for worker, count in client.run(engines).items() if worker in late)


def test_a_store_is_filled_from_a_cluster(client, held, tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    same(held, sweep(SWING, 2.0, **CALL, on=client, store=tmp_path / "runs.zarr"))


def test_an_asynchronous_client_is_refused():
    class Client:
        __module__ = "distributed.client"
        asynchronous = True

    Client.__name__ = "Client"
    with pytest.raises(BadArgument, match="asynchronous=False"):
        sweep(SWING, 2.0, **CALL, on=Client())
