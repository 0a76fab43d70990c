"""Checkpoints: a run goes on from a file with the numbers of one that was never interrupted, whatever it was in the middle of."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic import (
    BDF,
    DOP853,
    GGL,
    PHEM56,
    RATTLE,
    RK4,
    AdamsBashforth2,
    BadArgument,
    Baumgarte,
    Cancelled,
    Controller,
    Dae,
    Event,
    FixedBDF,
    GeneralizedAlpha,
    HolonomicError,
    Index2,
    InvariantStabilization,
    LimitReached,
    Ode,
    ProjectedInvariants,
    Projection,
    Radau,
    StepFailed,
    System,
    compare,
    files,
    problems,
    simulate,
    sweep,
)
from holonomic.running import plain_text
from holonomic.running.run import Run

PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
START = {"q0": [1, 0], "v0": [0, 0]}
BARS = problems.four_bars(2)
TWO = {"q0": BARS.q0, "v0": BARS.v0}
PUSHED = System(
    mass=[[1.0]], force=lambda q, v, u: u.push - q - 0.1 * v, inputs={"push": (np.linspace(0, 9, 10), [0, 1, -1] * 3 + [0])}
)
BALL = System(mass=[[1.0]], force=[-9.81])
BOUNCE = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (0 * q, -0.95 * v))}
STIFF = Ode(lambda y: np.array([y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]]))
CIRCLE = Dae(order=2, f=lambda x: np.array([0.0, -9.81]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1)
LAG = System(
    [[1.0]], lambda pull: [-pull], states={"z": lambda z, q: q[0] - z}, algebraic={"pull": lambda pull, z, q: pull - q[0] - z}
)
KEPLER = Ode(
    lambda y: np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5]), invariants={"L": lambda y: y[0] * y[3] - y[1] * y[2]}
)
RUNS = {
    "every step": (PENDULUM, 10.0, START),
    "chosen times": (PENDULUM, 10.0, START | {"save_at": 50}),
    "backwards": (PENDULUM, (0.0, -5.0), START),
    "events": (PENDULUM, 10.0, START | {"events": {"low": lambda q: q[0], "slack": lambda lam: lam[0] - 3}}),
    "terminal event": (PENDULUM, 10.0, START | {"events": {"high": Event(lambda q, v, t: t - 7.7, terminal=True)}}),
    "tables of inputs": (PUSHED, 9.0, {"rtol": 1e-10, "q0": [1.0], "v0": [0.0]}),
    "inputs of the call": (PUSHED, 9.0, {"q0": [1.0], "v0": [0.0], "inputs": {"push": (range(10), [0, 2] * 5)}, "rtol": 1e-10}),
    "impacts": (BALL, 8.0, {"q0": [1.0], "v0": [0.0], "events": BOUNCE}),
    "free": (PENDULUM, 5.0, {"q0": [1.1, 0], "v0": [0, 0], "initial": "free", "stabilization": Baumgarte(alpha=5)}),
    "Radau": (PENDULUM, 5.0, START | {"integrator": Radau(), "formulation": GGL()}),
    "BDF": (PENDULUM, 5.0, START | {"integrator": BDF(), "formulation": Index2()}),
    "generalized alpha": (PENDULUM, 5.0, START | {"integrator": GeneralizedAlpha(), "step": 0.05}),
    "half-explicit": (PENDULUM, 5.0, START | {"integrator": PHEM56()}),
    "RATTLE": (PENDULUM, 5.0, START | {"integrator": RATTLE(), "step": 0.01}),
    "fixed steps": (PENDULUM, 5.0, START | {"integrator": RK4(), "step": 0.013}),
    "starting points": (STIFF, 1.0, {"y0": [2, 0], "integrator": FixedBDF(order=3), "step": 0.01}),
    "looking back": (PENDULUM, 2.0, START | {"integrator": AdamsBashforth2(), "step": 0.005}),
    "a change of methods": (STIFF, 3e3, {"y0": [2, 0]}),
    "singular positions": (BARS.system, 3.0, TWO | {"integrator": DOP853(), "rtol": 1e-8, "atol": 1e-11}),
    "led over them": (BARS.system, 3.0, TWO | {"integrator": Radau(), "formulation": GGL(), "events": {"x": lambda q: q[0]}}),
    "a Dae": (CIRCLE, 9.0, {"x0": [1, 0], "dx0": [0, 0]}),
    "states": (LAG, 30.0, {"q0": [1.0], "v0": [0.0], "s0": [0.0], "w0": [1.0]}),
    "invariants": (KEPLER, 20.0, {"y0": [0.4, 0, 0, 2], "stabilization": Projection()}),
}


ROOMS = ("formulations", "integrators", "stabilizations")


class After:
    """Is set after so many looks."""

    def __init__(self, looks: int):
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.fixture
def short_stretches(monkeypatch):
    """A look every few steps, in the middle of whatever goes on."""
    make = Run.__init__

    def short(self, *given, **more):
        make(self, *given, **more)
        self._quota = 5

    monkeypatch.setattr(Run, "__init__", short)


def in_pieces(path, looks, system, t_end, **given):
    """A run that is cancelled after so many looks and gone on with until it ends; and how often."""
    for count in range(2000):
        try:
            return simulate(system, t_end, **given, checkpoint=path, resume=True, cancel=After(looks)), count
        except Cancelled:
            continue
    raise AssertionError("it does not come to an end")


def assert_same(one, other):
    for mine, theirs in zip(one.trail.arrays, other.trail.arrays, strict=True):
        assert np.array_equal(mine, theirs)
    # what is evaluated in an attempt counts twice where it asks for a function that has to be compiled first
    counted = ("steps", "rejected", "failed attempts", "taken again for events", "Jacobians", "factorizations")
    assert [one.stats[name] for name in counted] == [other.stats[name] for name in counted]
    assert one.ended == other.ended and one.end.t == other.end.t
    for name, log in other.events.items():
        assert np.array_equal(one.events[name].t, log.t) and np.array_equal(one.events[name].q, log.q)
        assert np.array_equal(one.events[name].by_row, log.by_row)  # impulses, or None for both


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_in_pieces_has_the_bits_of_the_whole_one(kind, tmp_path, short_stretches):
    system, t_end, given = RUNS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same for both
        whole = simulate(system, t_end, **given)
        sol, count = in_pieces(tmp_path / "run", 3, system, t_end, **given)
    assert count >= 2
    assert_same(sol, whole)
    middle = np.linspace(*sorted(whole.span), 12)[1:-1]
    assert np.array_equal(sol(middle).q, whole(middle).q)
    assert sol.plan.why() == whole.plan.why()


def test_warnings_come_at_the_end_as_without_checkpoints(tmp_path, short_stretches):
    system, t_end, given = RUNS["led over them"]
    with pytest.warns(holonomic.HandedOverWarning) as whole:
        simulate(system, t_end, **given)
    with pytest.warns(holonomic.HandedOverWarning) as pieces:
        in_pieces(tmp_path / "run", 6, system, t_end, **given)
    assert str(pieces[-1].message) == str(whole[-1].message)


LONG = """
import sys, numpy as np
from holonomic import System, simulate
pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})
simulate(pendulum, 1e7, q0=[1, 0], v0=[0, 0], max_steps=10**9, save_at=100_000, checkpoint=sys.argv[1], every=0.1)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_was_written_survives_being_killed(tmp_path):
    path = tmp_path / "run"
    environment = os.environ | {"PYTHONPATH": str(Path(holonomic.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", LONG, str(path)], env=environment)
    seen: set[int] = set()
    for _ in range(3000):
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        if len(seen) >= 4:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = time.time()
    (tmp_path / f".{files._computer()}-{process.pid}-{'ab' * 6}.part").write_bytes(b"half of one")
    assert killed - path.stat().st_mtime < 1.0  # the interval of 0.1 s, and a machine that has other things to do
    system = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})
    given = START | {"max_steps": 10**9, "save_at": 100_000}
    with pytest.raises(Cancelled) as caught:
        simulate(system, 1e7, **given, checkpoint=path, resume=True, cancel=After(0))
    sol = caught.value.solution
    attempts = sol.stats["steps"] + sol.stats["rejected"]
    with pytest.raises(StepFailed, match="max_steps") as ends_there:
        simulate(system, 1e7, **given | {"max_steps": attempts})
    assert len(sol.t) > 1 and np.array_equal(ends_there.value.solution.q, sol.q)
    assert [each.name for each in tmp_path.iterdir()] == ["run"]  # nor is there what was being written when it was killed


def test_a_finished_run_is_read_and_not_run_again(tmp_path, monkeypatch):
    path = tmp_path / "run"
    whole = simulate(PENDULUM, 3.0, **START, checkpoint=path)
    written = path.read_bytes()
    monkeypatch.setattr(Run, "go", None)
    assert_same(simulate(PENDULUM, 3.0, **START, checkpoint=path, resume=True), whole)
    assert path.read_bytes() == written


def test_a_limit_writes_down_where_it_stopped(tmp_path):
    path = tmp_path / "run"
    given = START | {"max_steps": 10**9}
    with pytest.raises(LimitReached) as caught:
        simulate(PENDULUM, 1e6, **given, checkpoint=path, max_time=0.1)
    sol = caught.value.solution
    assert str(caught.value) == (
        f"max_time = 0.1 s were used up at t = {sol.t[-1]:.6g} of 1e+06, after {sol.stats['steps']} steps. Call again with "
        f"resume=True to go on from {path}. See error.solution."
    )
    with pytest.raises(Cancelled) as again:
        simulate(PENDULUM, 1e6, **given, checkpoint=path, resume=True, cancel=After(0))
    assert_same(again.value.solution, sol)
    assert str(again.value) == (
        f"the run was cancelled at t = {sol.t[-1]:.6g} of 1e+06, after {sol.stats['steps']} steps. Call again with resume=True "
        f"to go on from {path}. See error.solution."
    )


def test_a_run_that_failed_can_be_looked_at_from_its_last_checkpoint(tmp_path, short_stretches):
    blows_up = Ode(lambda y: y**2)
    path = tmp_path / "run"
    for resume in (False, True):  # y = 1 / (1 - t)
        with pytest.raises(StepFailed):
            simulate(blows_up, 2.0, y0=[1.0], checkpoint=path, every=1e-9, resume=resume)


def refused(**given) -> str:
    with pytest.raises(BadArgument) as caught:
        simulate(**{"system": PENDULUM, "t_end": 3.0} | START | given)
    return str(caught.value)


@pytest.fixture
def checkpoint(tmp_path) -> Path:
    simulate(PENDULUM, 3.0, **START, checkpoint=tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"system": System(mass=2 * np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})},
         "another system: its equations or numbers differ"),
        ({"system": PENDULUM.with_params(g=9.0)}, "other values of g"),
        ({"t_end": 4.0}, "other times to save"),
        ({"save_at": 10}, "other times to save"),
        ({"q0": [0, -1]}, "other starts"),
        ({"rtol": 1e-8}, "other methods, tolerances or limits"),
        ({"integrator": RK4(), "step": 0.01, "q0": [0, -1]}, "other methods, tolerances or limits; other starts"),
        ({"events": {"low": lambda q: q[0]}}, "another system: its equations or numbers differ; other events"),
    ],
)  # fmt: skip
def test_a_checkpoint_of_another_call_is_refused_by_name(checkpoint, given, words):
    assert refused(checkpoint=checkpoint, resume=True, **given) == (
        f"checkpoint={str(checkpoint)!r} cannot be resumed: it was made with {words}. Repeat the call it was made with, or take "
        "another file."
    )


def test_another_version_and_other_kernels_are_refused(checkpoint, monkeypatch):
    monkeypatch.setattr("holonomic.running.checkpoints.__version__", "9.9")
    monkeypatch.setattr("holonomic.running.checkpoints.kernels_stamp", lambda: "others")
    words = f"another version of holonomic ({holonomic.__version__} there, 9.9 here); other kernels of holonomic"
    assert words in refused(checkpoint=checkpoint, resume=True)
    monkeypatch.setattr("holonomic.running.checkpoints.FORMAT", 0)
    assert refused(checkpoint=checkpoint, resume=True) == (
        f"checkpoint={str(checkpoint)!r} was written by a newer holonomic (format 1, known up to 0). Update holonomic to go on "
        "with it."
    )


def test_files_that_are_damaged_or_something_else_are_refused(checkpoint):
    whole = checkpoint.read_bytes()
    for place in (40, len(whole) // 2, len(whole) - 1):
        checkpoint.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert refused(checkpoint=checkpoint, resume=True) == (
            f"checkpoint={str(checkpoint)!r} is damaged: its content is not what was written. Put it back from a copy, or begin "
            "again with another name."
        )
    for length in (37, 60, len(whole) - 9):
        checkpoint.write_bytes(whole[:length])
        assert "is damaged" in refused(checkpoint=checkpoint, resume=True)
    for content in (b"", b"something else", whole[1:]):
        checkpoint.write_bytes(content)
        assert refused(checkpoint=checkpoint, resume=True) == (
            f"checkpoint={str(checkpoint)!r} is no checkpoint of a run. Take another name."
        )


def test_arguments_that_cannot_be_meant_are_told(checkpoint, tmp_path):
    assert refused(checkpoint=checkpoint) == (
        f"checkpoint={str(checkpoint)!r} exists. Pass resume=True to go on with it, or take another name."
    )
    assert refused(resume=True) == "resume=True goes with checkpoint=, the path of a file."
    assert refused(every=10) == "every= goes with checkpoint=, the path of a file."
    assert refused(checkpoint=tmp_path / "other", every=0) == "every=0 must be a positive number."
    assert refused(checkpoint=tmp_path / "other", resume="yes") == "resume='yes': choose True or False."
    assert refused(checkpoint=tmp_path) == f"{tmp_path} is a folder: give the name of a file in it."
    python = System(mass=np.eye(2), force=[0, -9.81], trace=False)
    assert refused(system=python, checkpoint=tmp_path / "other") == (
        "checkpoint= does not go with a system that runs as plain Python: nobody can tell whether it is what it was."
    )
    opaque = System(mass=np.eye(2), force=holonomic.opaque(lambda q: -np.asarray(q)))
    assert refused(system=opaque, checkpoint=tmp_path / "other") == (
        "checkpoint= does not go with opaque functions: nobody can tell whether it is what it was."
    )
    law = {"push": Controller(lambda q: -q[0], period=0.1)}
    with pytest.raises(BadArgument) as caught:
        simulate(PUSHED, 1.0, q0=[1.0], v0=[0.0], controllers=law, checkpoint=tmp_path / "other")
    assert str(caught.value) == (
        "checkpoint= does not go with controllers=: of their laws nobody can tell whether they are what they were, and what they "
        "remember is theirs. Use a Stepper, which has state() and restore()."
    )
    counted = []
    counting = {"low": Event(lambda q: q[0], then=lambda q, v: (counted.append(1), (q, v))[1])}
    simulate(PENDULUM, 0.5, **START, events=counting, checkpoint=tmp_path / "then")
    assert refused(t_end=0.5, events=counting, checkpoint=tmp_path / "then", resume=True).endswith(
        "Take another file; one whose then= is a function of numbers and arrays can be resumed."
    )
    with pytest.raises(BadArgument, match="compare makes several runs, and a checkpoint is of one"):
        compare(PENDULUM, 1.0, **START, checkpoint=tmp_path / "many")
    with pytest.raises(HolonomicError, match="sweep has no argument 'checkpoint'; here it is called store"):
        sweep(PENDULUM, 1.0, **START, params={"g": [1.0]}, checkpoint=tmp_path / "many")


def test_every_method_is_read_as_it_was_written():
    """Settings that a constructor turns into others, too, such as an order that varies."""
    kinds = [each for each in vars(holonomic).values() if isinstance(each, type) and each.__module__.split(".")[1] in ROOMS]
    methods = [kind() for kind in kinds if kind not in (Baumgarte, InvariantStabilization)]
    methods += [Radau(order="variable"), ProjectedInvariants("Pc"), Baumgarte(alpha=3.0), Projection(tol=1e-12)]
    assert len(methods) >= 35
    pack = plain_text.Packing(simulate(PENDULUM, 0.01, **START).plan.choice)
    texts = json.loads(json.dumps([pack(method) for method in methods]))
    unpack = plain_text.Unpacking(pack.given, memoryview(b"".join(bytes(array) for array in pack.arrays)), None)
    assert [repr(unpack(text)) for text in texts] == list(map(repr, methods))
    assert [vars(unpack(text)) for text in texts] == [vars(method) for method in methods]


def test_a_file_cannot_name_classes_of_others():
    unpack = plain_text.Unpacking(None, memoryview(b""), None)
    for module, name in (("os", "stat_result"), ("subprocess", "Popen"), ("holonomic.files", "words")):
        with pytest.raises(ValueError, match="is no record of holonomic"):
            unpack(["record", [module, name, {}]])
