"""sol.provenance: what numbers come from, told by runs, sweeps, files, stores and tables, and made when it is asked for."""

import json
import platform
import time
from datetime import UTC, datetime

import numpy as np
import pytest

import holonomic
from holonomic import RK4, Ode, Radau, System, load, simulate, sweep
from holonomic.multibody import Mechanism, rod
from holonomic.native import processor, sources
from holonomic.native.sources import kernels_stamp
from holonomic.results import provenance as made
from holonomic.results.provenance import Provenance

PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
START = {"q0": [1, 0], "v0": [0, 0]}


def test_it_tells_versions_methods_tolerances_machine_and_date():
    before = time.time()
    found = simulate(PENDULUM, 1.0, **START, rtol=1e-8).provenance
    assert found.versions["holonomic"] == holonomic.__version__ and found.versions["python"] == platform.python_version()
    assert set(found.versions) == {"holonomic", "llvmlite", "numpy", "python"}
    assert (found.formulation, found.integrator, found.stabilization) == ("Index1()", "DOP853()", "Projection()")
    assert found.tolerances == {"rtol": 1e-8, "atol": None, "step": None, "constraint_tol": 1e-10}
    assert (found.tier, found.on, found.kernels, found.changes) == ("compiled", "threads", kernels_stamp(), ())
    assert len(found.kernels) == 16 and len(found.model) == 32
    assert found.processor and found.platform == platform.platform() and "FMA" in found.level
    when = datetime.fromisoformat(found.date)
    assert when.tzinfo == UTC and int(before) <= when.timestamp() <= time.time()


def test_it_reads_well():
    lines = repr(simulate(PENDULUM, 1.0, **START, integrator=RK4(), step=0.01).provenance).splitlines()
    assert lines[0].startswith("Provenance: run on 20")
    assert [line.split()[0] for line in lines[1:]] == [
        "holonomic", "with", "model", "methods", "tolerances", "processor", "platform"
    ]  # fmt: skip
    assert "  methods     Index1() + RK4() + Projection()" in lines
    assert "  tolerances  rtol 1e-06, step 0.01, constraint_tol 1e-10" in lines


def test_equal_equations_have_equal_keys_and_others_do_not():
    def key(system, **start):
        return simulate(system, 0.01, **start or START).provenance.model

    again = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
    other = System(mass=np.eye(2), force=[0, -9.8], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
    assert key(PENDULUM) == key(again) == key(PENDULUM.with_params(g=1.0)) != key(other)
    assert key(System(mass=np.eye(2), trace=False)) == "no key"


def test_tables_and_python_are_told():
    m = Mechanism(gravity=(0, -9.81))
    m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
    assert simulate(m, 0.1, compile="never").provenance.tier == "tables"
    assert simulate(m, 0.1).provenance.tier == "compiled"
    assert simulate(System(mass=np.eye(2), trace=False), 0.1, **START).provenance.tier == "Python"


def test_changes_of_methods_are_told():
    stiff = Ode(lambda y: np.array([y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]]))
    found = simulate(stiff, 100.0, y0=[2, 0]).provenance
    assert found.integrator.startswith("Radau(")
    first, last = found.changes
    assert first.startswith("from t = 0 s: Index1() + DOP853() + ") and last.endswith(f" s: Index1() + {found.integrator} + None")
    assert repr(found).endswith(f"  {first}\n  {last}")


def test_a_state_of_a_run_has_that_of_the_run():
    sol = simulate(PENDULUM, 1.0, **START)
    assert sol(0.5).provenance == sol.provenance


def test_it_is_made_when_it_is_asked_for_and_once(monkeypatch):
    calls = []
    make = made.provenance_of
    monkeypatch.setattr(made, "provenance_of", lambda *given: calls.append(given) or make(*given))
    sol = simulate(PENDULUM, 1.0, **START)
    assert calls == []
    assert sol.provenance is sol.provenance and len(calls) == 1


def test_files_and_tables_bring_it_along(tmp_path):
    sol = simulate(PENDULUM, 1.0, **START)
    sol.save(tmp_path / "run.nc")
    assert load(tmp_path / "run.nc").provenance == sol.provenance
    load(tmp_path / "run.nc").save(tmp_path / "again.nc")
    assert load(tmp_path / "again.nc").provenance == sol.provenance
    pytest.importorskip("xarray", reason="extra xarray")
    assert Provenance.from_dict(json.loads(sol.to_xarray().attrs["provenance"])) == sol.provenance


def test_a_dictionary_of_another_version_can_be_read():
    known = simulate(PENDULUM, 1.0, **START).provenance.to_dict()
    json.dumps(known)
    assert Provenance.from_dict(known).to_dict() == known
    assert Provenance.from_dict(known | {"of tomorrow": 1}).to_dict() == known
    early = Provenance.from_dict({"versions": {"holonomic": "0.0.1"}})
    assert early.model == "not recorded" and "0.0.1" in repr(early)


def test_sweeps_and_stores_tell_it(tmp_path):
    call = {"params": {"g": [1.0, 2.0]}, **START}
    found = sweep(PENDULUM, 1.0, **call).provenance
    assert (found.integrator, found.on, found.model) == ("DOP853()", "threads", simulate(PENDULUM, 1.0, **START).provenance.model)
    pytest.importorskip("zarr", reason="extra store")
    stored = sweep(PENDULUM, 1.0, **call, store=tmp_path / "runs.zarr").provenance
    again = sweep(PENDULUM, 1.0, **call, store=tmp_path / "runs.zarr", resume=True)
    assert again.provenance == stored  # of when it was made
    assert json.loads(again.to_xarray().attrs["provenance"]) == stored.to_dict()


def test_the_hash_of_kernels_follows_their_sources(monkeypatch):
    seen = sources.hashes_of
    changed = lambda name: ["", "other"] if name == "integrators/radau.py" else seen(name)
    monkeypatch.setattr(sources, "hashes_of", changed)
    assert sources.kernels_stamp.__wrapped__() != kernels_stamp()


@pytest.mark.parametrize(
    ("machine", "has", "level"),
    [
        ("x86_64", "sse2", "x86-64-v1 (k), no FMA"),
        ("AMD64", "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3", "x86-64-v2 (k), no FMA"),
        ("x86_64", "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3 avx avx2 bmi bmi2 f16c fma lzcnt movbe", "x86-64-v3 (k), FMA"),
        ("x86_64", "avx2 fma", "x86-64-v1 (k), FMA"),
        ("arm64", "neon", "arm64 (k), FMA"),
    ],
)
def test_levels_of_processors(machine, has, level):
    assert processor.level_of(machine, "k", dict.fromkeys(has.split(), True)) == level


def test_fixed_tolerances_by_component_read_well():
    sol = simulate(PENDULUM, 1.0, **START, atol=[1e-9, 1e-9, 1e-6, 1e-6], integrator=Radau())
    assert "atol 1e-09 to 1e-06 by component" in repr(sol.provenance)
