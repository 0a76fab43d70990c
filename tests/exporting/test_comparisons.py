"""Comparisons where no switch is located: refused by line in exports, live pages and on a GPU, unless steps have a bound."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_library import Instance, Library, needs_compiler

import holonomic
from holonomic import DOP853, RK4, RK45, Ode, Radau, System, export, export_fmu, simulate, sweep
from holonomic.arguments import Asked, GivenStart
from holonomic.errors import BadArgument
from holonomic.gpu import engine
from holonomic.multibody import Mechanism
from holonomic.sweeping.sweep import AskedMembers, job_of
from holonomic.view import view


def pulse(t):
    if 1.0 < t < 1.3:
        return [1.0]
    return [0.0]


def square_wave(t):
    return [1.0 if t % 1.0 < 0.3 else 0.0]


PULSED = System(mass=np.eye(1), force=pulse)
START = {"q0": [0.0], "v0": [0.0]}
LINE = pulse.__code__.co_firstlineno + 1
TOLD = (
    f'the comparison "if 1.0 < t < 1.3" in force(), line {LINE} and 1 more are located in simulate and not WHERE: a step there '
    "may leap over all that it turns on and off. Pass max_step=, a third of the shortest time between two changes, or step=; "
    "inside such steps the values decide"
)


def on_cuda(system, **options):
    """Look at a sweep as the engine on a GPU does, where there may be none."""
    many = AskedMembers(on="cuda")
    start = GivenStart(q0=np.array([[0.0], [1.0]]), v0=np.zeros(1))
    return engine.check(job_of("sweep", system, 5.0, start, Asked(save_at=2, **options), many, explicit_only=True))


RUNNERS = {
    "in a library": lambda folder, **more: export(PULSED, 5.0, **START, folder=folder, **more),
    "in a unit": lambda folder, **more: export_fmu(PULSED, 5.0, **START, path=folder / "pulse.fmu", **more),
    "on a page": lambda folder, **more: view(PULSED, 5.0, **START, live={"v0[0]": (-1, 1)}, show=False, **more),
    "on a GPU": lambda folder, **more: on_cuda(PULSED, **more),
}


@pytest.mark.parametrize("where", RUNNERS)
def test_a_comparison_is_refused_by_its_line_where_it_is_not_located(where, tmp_path):
    with pytest.raises(BadArgument) as told:
        RUNNERS[where](tmp_path)
    instead = '; on="threads" locates it' if where == "on a GPU" else ""
    assert str(told.value) == TOLD.replace("WHERE", where) + f"{instead}."
    assert list(tmp_path.iterdir()) == []


@needs_compiler
@pytest.mark.parametrize("bound", [{"max_step": 0.1}, {"step": 0.01, "integrator": RK4()}], ids=repr)
@pytest.mark.parametrize("where", RUNNERS)
def test_a_bound_of_the_steps_is_accepted(where, bound, tmp_path):
    RUNNERS[where](tmp_path, **bound)


@needs_compiler
@pytest.mark.parametrize("law", [pulse, square_wave])
@pytest.mark.parametrize(
    "options",
    [
        {"integrator": DOP853(), "max_step": 0.1}, {"integrator": RK45(), "max_step": 0.1},
        {"integrator": Radau(), "max_step": 0.05}, {"integrator": RK4(), "step": 0.01},
    ],
    ids=lambda options: repr(options["integrator"]),
)  # fmt: skip
def test_steps_with_a_bound_leap_over_no_pulse(law, options, tmp_path):
    """The impulse is the length of all pulses; a fixed step is off by the one in which a pulse begins or ends."""
    made = export(System(mass=np.eye(1), force=law), 5.0, **START, folder=tmp_path / "pulse", stabilization=None, **options)
    one = Instance(Library(made))
    assert one.step_to(5.0) == 0
    want = 0.3 if law is pulse else 1.5
    assert one.numbers("v", 1)[0] == pytest.approx(want, abs=0.05 if "step" in options else 1e-3)


def test_what_simulate_leaves_to_its_values_is_not_refused(tmp_path):
    for force in (
        lambda t: [np.where(t > 1.0, 1.0, 0.0)], lambda v: [-abs(v[0]) * v[0]], lambda q, p: [-p.k * q[0] if p.k > 0 else 0.0],
    ):  # fmt: skip
        on_cuda(System(mass=np.eye(1), force=force, params={"k": 1.0}))


def test_units_for_model_exchange_refuse_comparisons_whatever_the_step(tmp_path):
    switched = Ode(lambda t, y: [1.0 if t > 1.0 else -y[0]])
    for more in ({}, {"max_step": 0.1}):
        with pytest.raises(BadArgument, match=r'nothing of the comparison .*Take kind="cosimulation"'):
            export_fmu(switched, 5.0, y0=[0.0], path=tmp_path / "one.fmu", kind="model-exchange", **more)


def test_mechanisms_and_their_tables_are_looked_at_too():
    def driven():
        m = Mechanism(gravity=(0, 0))
        m.body("x", at=(0, 0), mass=1.0, inertia=1.0)
        m.prismatic("P", "ground", "x", at=(0, 0), axis=(1, 0))
        m.motor("P", force=lambda t: 1.0 if 1.0 < t < 1.3 else 0.0)
        return m

    for mode in ("now", "never"):
        start, many = GivenStart(compile=mode), AskedMembers(on="cuda", params={"x.mass": [1.0, 2.0]})
        for more in ({"max_step": 0.1}, {}):
            job = job_of("sweep", driven(), 5.0, start, Asked(save_at=2, integrator=RK45(), **more), many, explicit_only=True)
            if more:
                engine.check(job)
                continue
            with pytest.raises(BadArgument, match=r'the comparison "m\.motor\(.*" in .* located in simulate and not on a GPU'):
                engine.check(job)


def test_a_page_of_a_run_keeps_the_longest_step_of_the_run():
    held = simulate(PULSED, 5.0, **START, integrator=RK45(), max_step=0.1)
    page = held.view(live={"v0[0]": (-1, 1)}, show=False)
    assert page.live.programs[0].job.limits["max_step"] == 0.1
    with pytest.raises(BadArgument, match="located in simulate and not on a page"):
        simulate(PULSED, 5.0, **START, integrator=RK45()).view(live={"v0[0]": (-1, 1)}, show=False)


SIMULATED = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_comparisons import PULSED
from holonomic import RK45, sweep
runs = sweep(PULSED, 5.0, q0=[[0.0], [1.0]], v0=[0.0], save_at=2, on="cuda", integrator=RK45(), max_step=0.1, progress=False)
print(*runs.v[:, -1, 0])
"""


def test_members_on_a_gpu_with_bounded_steps_leap_over_no_pulse():
    pytest.importorskip("numba_cuda", reason="needs the extra gpu")
    source = str(Path(holonomic.__file__).parents[1])
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert [float(each) for each in done.stdout.split()] == pytest.approx([0.3, 0.3], abs=1e-3)


def test_members_with_comparisons_do_not_go_side_by_side(monkeypatch):
    """On threads switches are followed, also where lanes would be made at once."""
    monkeypatch.setattr("holonomic.sweeping.side_by_side.WHEN", "at once")
    for law, want in ((pulse, 0.3), (lambda t: [1.0 if np.sin(2.0 * np.pi * t) > 0.5 else 0.0], 5.0 / 3.0)):
        given = {"q0": np.zeros((100, 1)), "v0": [0.0], "save_at": 2, "integrator": DOP853(), "max_step": 0.2}
        runs = sweep(System(mass=np.eye(1), force=law), 5.0, **given)
        assert runs.v[:, -1, 0] == pytest.approx(want, abs=1e-9)
