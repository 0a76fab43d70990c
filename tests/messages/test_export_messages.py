"""What is said of runs that cannot leave Python, word for word."""

import sys

import numpy as np
import pytest

import holonomic as h
from holonomic.exporting import platforms
from holonomic.model.operators import Operators
from holonomic.problems import pendulum

SEEN = []
START = {"q0": [1.0], "v0": [0.0]}


def spring(**more):
    return h.System(mass=np.eye(1), force=lambda q, p: -p.k * q, params={"k": 4.0}, **more)


class Own(Operators):
    interpreted, n_coordinates, constraint_labels, params = True, 1, [], {}


REFUSED = [
    (dict(save_at=10), "export has no argument 'save_at' and needs none: who calls it asks for times."),
    (dict(compile="now"), "export has no argument 'compile' and needs none: mechanisms are compiled."),
    (dict(dt=0.1), "export has no argument 'dt'; here it is called step."),
    (dict(system=Own()), "export takes equations that can be traced, and Own brings operators or tables that are not."),
    (dict(folder=None), 'export(...) writes files: say where, with folder="swing".'),
    (
        dict(platform="amiga"),
        "platform='amiga' is not known. Known: linux-x86-64-v3, linux-x86-64-v2, linux-arm64, windows-x86-64, macos-arm64, "
        "macos-x86-64.",
    ),
    (dict(t_end=(1.0, 0.0)), "export: t_end = 0 lies before the start at 1; exported runs go forward in time."),
    (dict(initial="free"), 'export: initial="free" is for watching a stabilization in Python; exported runs begin consistent.'),
    (dict(system=spring(trace=False)), "export takes equations that can be traced, and these run as Python: trace=False."),
    (
        dict(events={"hit": h.Event(lambda q: q[0], then=lambda q, v: SEEN.append(q) or (q, v))}, integrator=h.RK45()),
        "export: then of event 'hit' cannot be traced, and a library has no Python: it changes objects.",
    ),
    (
        dict(events={"hit": h.Event(lambda q: q[0], then=lambda q, v: q)}, integrator=h.RK45()),
        "export: then of event 'hit' must return (q, v).",
    ),
    (
        dict(integrator=h.FixedBDF(), step=0.01),
        "FixedBDF(order=2) begins with steps of another method: take one that starts by itself.",
    ),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=[told[:40] for _, told in REFUSED])
def test_refusals_of_exports(options, told, tmp_path):
    given = {"system": spring(), "t_end": 1.0, "folder": tmp_path, **START} | options
    with pytest.raises(h.HolonomicError) as refused:
        h.export(given.pop("system"), given.pop("t_end"), **given)
    assert str(refused.value) == told
    assert list(tmp_path.iterdir()) == []


REFUSED_UNITS = [
    (dict(path=None), 'export_fmu(...) writes a file: say where, with path="swing.fmu".'),
    (dict(kind="model"), "kind='model': there are 'cosimulation' and 'model-exchange'."),
    (dict(version="1.0"), "version='1.0': there are '2.0' and '3.0'."),
    (dict(platforms="linux-arm64"), "platforms= is a list of names, such as ['linux-arm64'], got 'linux-arm64'."),
    (dict(platforms=[]), "platforms=[]: a unit needs one at least."),
    (dict(platforms=["linux-arm64"], version="2.0"), 'FMI 2.0 has no place for linux-arm64. Take version="3.0".'),
    (
        dict(platforms=["linux-x86-64-v3", "linux-x86-64-v2"]),
        "platforms= has two for x86_64-linux, where a unit has one: linux-x86-64-v3 and linux-x86-64-v2.",
    ),
]


@pytest.mark.parametrize(("options", "told"), REFUSED_UNITS, ids=[told[:40] for _, told in REFUSED_UNITS])
def test_refusals_of_units(options, told, tmp_path):
    with pytest.raises(h.HolonomicError) as refused:
        h.export_fmu(spring(), 1.0, **START, **({"path": tmp_path / "spring.fmu"} | options))
    assert str(refused.value) == told
    assert list(tmp_path.iterdir()) == []


def test_a_check_without_fmpy_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fmpy", None)
    with pytest.raises(h.MissingExtra) as refused:
        h.export_fmu(spring(), 1.0, **START, integrator=h.RK45(), path=tmp_path / "spring.fmu", check=True)
    assert str(refused.value) == "check=True runs the unit with FMPy. Install it with: pip install 'holonomic[fmu]'"


def test_a_change_of_method_on_the_way_is_refused_by_name(tmp_path):
    """Van der Pol's equation with μ = 1000 is smooth at first, and stiff after that."""
    oscillator = h.Ode(lambda y: [y[1], 1000.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])
    with pytest.raises(h.BadArgument) as refused:
        h.export(oscillator, 1500.0, y0=[2.0, 0.0], folder=tmp_path)
    assert str(refused.value).startswith("export: with the integrator left open, the run goes over from ")
    assert str(refused.value).endswith(", and a library has one method. Name it: integrator=Radau().")


def test_a_missing_compiler_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(platforms.shutil, "which", lambda name: None)
    monkeypatch.setattr(platforms.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(h.MissingExtra) as refused:
        h.export(pendulum(), 0.1, integrator=h.RK45(), folder=tmp_path)
    assert str(refused.value) == (
        "to link a library takes a C compiler, and none is found (cc, gcc, clang, or the one that CC names). Install one of the "
        "system's, or: pip install 'holonomic[export]'"
    )
    with pytest.raises(h.MissingExtra) as refused:
        h.export(pendulum(), 0.1, integrator=h.RK45(), folder=tmp_path, platform="windows-x86-64")
    assert str(refused.value) == (
        "to link for windows-x86-64 on this computer takes a compiler that knows it. Install one with: "
        "pip install 'holonomic[export]'"
    )


def test_a_method_of_ones_own_is_refused_by_name(tmp_path):
    from dataclasses import dataclass, replace

    from holonomic.integrators.base import Integrator
    from holonomic.kernels.signatures import ADVANCE
    from holonomic.native.marks import kernel

    @kernel(ADVANCE)
    def my_step(model, method, run, t, h, state):
        return 0

    @dataclass(frozen=True)
    class Mine(h.RK4):
        def lower(self):
            made = super().lower()
            return replace(made, slots={**made.slots, "advance": my_step})

    assert issubclass(Mine, Integrator)
    with pytest.raises(h.BadArgument) as refused:
        h.export(spring(), 1.0, **START, integrator=Mine(), step=0.1, folder=tmp_path)
    assert str(refused.value).endswith("is a method of your own, which has no bitcode.")
