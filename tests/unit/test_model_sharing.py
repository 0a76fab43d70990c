"""What systems share: one object file for all that differ only in numbers, kept from process to process."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holonomic import RK4, Index1, Radau, System, simulate
from holonomic.kernels.signatures import Fn
from holonomic.model import machine_code, trace
from holonomic.model.compiled import Model
from holonomic.native import cachefolder


def fresh(low=0.3, high=0.9):
    """A number that has not been in any source before, so that nothing can have been compiled for it."""
    return low + (high - low) * int.from_bytes(os.urandom(6), "big") / 2**48


def ellipse(k, a, g, s):
    """Bead on an ellipse; all numbers in the functions themselves."""
    return System(
        mass=np.diag([k, 1.3 * k + a]),
        force=lambda q, v: np.array([-g * v[0] * q[1], -g - s * q[0]]),
        constraint={"wire": lambda q: (q[0] / a) ** 2 + q[1] ** 2 * s - s},
    )


def forbid_compiling(monkeypatch):
    def refuse(tapes):
        raise AssertionError(f"compiled again: {list(tapes)}")

    monkeypatch.setattr(machine_code, "_compile", refuse)


def run(system, a):
    return simulate(system, 0.1, q0=[0.0, 1.0], v0=[0.5, 0.0], integrator=RK4(), step=0.01)


def test_a_system_that_differs_only_in_numbers_compiles_nothing(monkeypatch):
    first = [fresh() for _ in range(4)]
    one = run(ellipse(*first), first[1])
    forbid_compiling(monkeypatch)
    second = [fresh() for _ in range(4)]
    two = run(ellipse(*second), second[1])
    assert not np.allclose(one.q[-1], two.q[-1])
    # and it is its own numbers that it ran with
    assert (two.q[:, 0] / second[1]) ** 2 + two.q[:, 1] ** 2 * second[3] == pytest.approx(np.full(len(two.t), second[3]), abs=1e-9)


def objects_of(model):
    return {entry["name"] for record in model._records.values() for entry in record.objects.values()}


def test_two_systems_that_differ_only_in_numbers_share_machine_code():
    found = []
    for _ in range(2):
        numbers = [fresh() for _ in range(4)]
        model = Model(ellipse(*numbers), np.array([0.0, 1.0]), np.array([0.5, 0.0]))
        found.append(model.functions((Fn.FIELD, Fn.RESIDUAL)))
    assert found[0] == found[1] and all(found[0].addresses.values())


def test_other_parameters_compile_nothing_and_trace_nothing(monkeypatch):
    system = System(
        mass=lambda p: p.m * np.eye(2),
        potential=lambda q, p: p.m * p.g[1] * q[1] + p.g[0] * q[0] ** 2,
        constraint=lambda q, p: q @ q - p.L**2,
        params={"m": 1.0, "g": [0.1, 9.81], "L": 1.0},
    )
    start = {"v0": [0.5, 0.0], "integrator": RK4(), "step": 0.01}
    simulate(system, 0.1, q0=[0.0, -1.0], **start)
    forbid_compiling(monkeypatch)
    monkeypatch.setattr(trace, "trace", lambda *_: pytest.fail("traced again"))
    L = 1 + fresh()
    other = simulate(system.with_params(m=fresh(), g=[fresh(), fresh()], L=L), 0.1, q0=[0.0, -L], **start)
    assert np.sum(other.q**2, axis=1) == pytest.approx(np.full(len(other.t), L**2), abs=1e-9)


def test_numbers_that_are_structure_make_another_model():
    """0 and ±1 decide which operations there are, so they stay in the code."""
    with_number, with_zero = (
        Model(System(mass=np.eye(1), force=lambda q, c=c: c * np.sin(q)), np.zeros(1), np.zeros(1)) for c in (fresh(), 0.0)
    )
    for model in (with_number, with_zero):
        model.functions((Fn.FIELD,))
    assert objects_of(with_number) != objects_of(with_zero)


def test_the_equations_of_someone_elses_formulation_are_not_taken_from_the_cache():
    """Whoever writes one runs it, changes it and runs it again under the same name."""

    def end(stiffness):
        class Mine(Index1):
            def equations(self, d, gains):
                given = super().equations(d, gains)
                rows = given.residual
                rows[1] = rows[1] + stiffness * d.e.q[0]
                return replace(given, residual=rows)

        free = System(mass=np.eye(1), force=lambda q: -q)
        start = {"q0": [1.0], "v0": [0.0], "rtol": 1e-9}
        return simulate(free, 1.0, formulation=Mine(), integrator=Radau(), **start).end.q[0]

    assert [end(0.0), end(3.0)] == pytest.approx([np.cos(1.0), np.cos(2.0)], abs=1e-7)


# the cache


@pytest.fixture
def empty_models(tmp_path, monkeypatch):
    """A cache folder without models; what is compiled of the kernels is taken from the usual one."""
    usual = cachefolder.folder()
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path))
    cachefolder.make(cachefolder.folder() / "kernels")
    if (usual / "kernels").exists():
        shutil.copytree(usual / "kernels", cachefolder.folder() / "kernels", dirs_exist_ok=True, copy_function=shutil.copyfile)
    return cachefolder.folder()


SCRIPT = textwrap.dedent(
    """
    import numpy as np
    from holonomic import RK4, Index1, Radau, System, simulate
    from holonomic.model import derive_dae, machine_code

    compiled = []
    compile_ = machine_code._compile
    machine_code._compile = lambda tapes, *more: compiled.append(list(tapes)) or compile_(tapes, *more)
    differentiated = []
    derive = derive_dae.derive
    derive_dae.derive = lambda *given: differentiated.append(given) or derive(*given)
    pendulum = System(mass=1.7 * np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - NUMBER)
    sol = simulate(pendulum, 0.1, q0=[NUMBER**0.5, 0], v0=[0, 0], integrator=RK4(), step=0.01)
    print(len(compiled), len(differentiated), repr(float(sol.q[-1, 1])))
    """
)


def in_a_process(script):
    source = Path(machine_code.__file__).parents[2]
    env = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    compiled, differentiated, y = done.stdout.split()
    return int(compiled), int(differentiated), y


def test_what_one_process_compiled_the_next_one_loads(empty_models):
    first = in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    second = in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    assert first[0] > 0 and first[1] > 0
    assert second[:2] == (0, 0)  # traced, but neither differentiated nor compiled
    assert second[2] == first[2]  # the same bits


def test_another_process_with_other_numbers_compiles_nothing(empty_models):
    first = in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    other = in_a_process(SCRIPT.replace("NUMBER", "1.69"))
    assert first[0] > 0
    assert other[:2] == (0, 0)
    assert other[2] != first[2]


def test_a_damaged_cache_is_rebuilt(empty_models):
    first = in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    for path in (empty_models / "models").iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    assert again[0] > 0 and again[2] == first[2]


def test_records_hold_the_names_of_objects(empty_models, monkeypatch):
    in_a_process(SCRIPT.replace("NUMBER", "2.25"))
    (path,) = (empty_models / "models").glob("*.json")
    record = json.loads(cachefolder.read("models", path.name))
    assert any("FIELD" in key for key in record["objects"])
    for entry in record["objects"].values():
        assert (empty_models / "models" / f"{entry['name']}.o").exists()
