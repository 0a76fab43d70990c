"""What cannot be traced runs as plain Python, with one warning; trace=True refuses it, trace=False says nothing."""

import warnings

import numpy as np
import pytest

from holonomic import Dae, Event, Ode, Radau, System, UntracedWarning, diagnose, simulate, sweep
from holonomic.errors import BadArgument, IncompatibleMethods, UntraceableFunction

START = {"q0": [1.0], "v0": [0.0]}


def stepped(q):
    return -q * float(round(100 * q[0]) / 100)


REASON = (
    'force() rounds (100*q[0]) ("return -q * float(round(100 * q[0]) / 100)"). Its value jumps, and between the jumps its '
    "derivative is zero. Leave it out, or use np.floor where steps are meant."
)


def test_a_function_that_cannot_be_traced_runs_with_one_warning():
    system = System(mass=np.eye(1), force=stepped)
    with pytest.warns(UntracedWarning) as told:
        sol = simulate(system, 1.0, **START)
    assert [str(one.message) for one in told] == [
        f"{REASON} Until then the system runs as plain Python, about 50 times slower than compiled, without implicit methods and "
        "sweeps, and a long step may leap over a short change: max_step= bounds steps. "
        "trace=False asks for that without a warning, trace=True refuses it."
    ]
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = simulate(system, 1.0, **START)
        asked = simulate(System(mass=np.eye(1), force=stepped, trace=False), 1.0, **START)
    assert np.array_equal(sol.q, again.q) and np.array_equal(sol.q, asked.q)
    with pytest.raises(UntraceableFunction) as caught:
        simulate(System(mass=np.eye(1), force=stepped, trace=True), 1.0, **START)
    assert str(caught.value) == REASON


def test_a_memory_runs_as_plain_python_would():
    seen = []

    def rhs(y):
        seen.append(y[0])
        return -y

    with pytest.warns(UntracedWarning, match="changes a list outside itself"):
        sol = simulate(Ode(rhs), 1.0, y0=[1.0])
    assert len(seen) >= len(sol.t) and abs(sol.y[-1, 0] - np.exp(-1)) < 1e-6
    assert all(isinstance(value, float) for value in seen)


def test_an_event_that_cannot_be_traced_takes_its_run_alone_to_python():
    system = System(mass=np.eye(1), force=lambda q: -q)
    with pytest.warns(UntracedWarning, match="event 'half' rounds"):
        sol = simulate(system, 3.0, **START, events={"half": Event(lambda q: round(q[0]) - 0.5)})
    assert abs(sol.events["half"].t[0] - np.pi / 3) < 1e-4  # cos t = 1/2, where it jumps
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not simulate(system, 1.0, **START).plan.model.interpreted


@pytest.mark.filterwarnings("ignore::holonomic.errors.UntracedWarning")
def test_what_plain_python_cannot_do_says_why():
    system = System(mass=np.eye(1), force=stepped)
    with pytest.raises(IncompatibleMethods) as caught:
        simulate(system, 1.0, **START, integrator=Radau)
    assert str(caught.value) == (
        f"Radau needs exact Jacobians, which plain Python does not have: {REASON} Or use an explicit integrator such as RK45() "
        "or DOP853()."
    )
    with pytest.raises(BadArgument) as caught:
        sweep(system, 1.0, q0=[[1.0], [2.0]], v0=[0.0], save_at=3)
    assert str(caught.value) == (f"sweep needs a compiled system: {REASON} Or run its members one at a time, with simulate.")
    with pytest.raises(BadArgument) as caught:
        diagnose(system, **START)
    assert str(caught.value) == f"diagnose() needs exact derivatives, which plain Python does not have: {REASON}"


def test_what_must_be_traced_is_refused():
    rows = {"B": lambda x: 2 * x[:, None], "g": lambda x: x @ x - 1}
    with pytest.raises(UntraceableFunction, match=r"f\(\) rounds x\[0\].*A Dae is differentiated .* cannot run as plain Python"):
        simulate(Dae(order=1, f=lambda x: np.array([0.0, round(x[0])]), **rows), 1.0, x0=[1.0, 0.0])
    pendulum = {"mass": np.eye(2), "constraint": lambda q: q @ q - 1}
    with pytest.raises(UntraceableFunction, match=r"force\(\) rounds .*force\(\) asks for lam, so the system cannot"):
        simulate(System(**pendulum, force=lambda q, lam: -q * round(lam[0])), 1.0, q0=[1, 0], v0=[0, 0])
    energies = System.from_energies(lambda v: 0.5 * v @ v * round(v[0] + 2), lambda q: q[0])
    with pytest.raises(UntraceableFunction, match=r"kinetic\(\) rounds .*state mass= and force= for that"):
        simulate(energies, 1.0, **START)


def test_trace_is_one_of_three():
    for make in (lambda: System(mass=np.eye(1), trace="no"), lambda: Ode(lambda y: -y, trace=1)):
        with pytest.raises(BadArgument, match=r'^trace=(\'no\'|1): choose "auto", True or False\.'):
            make()
