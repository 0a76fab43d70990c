"""A simulation as a C library: the bits of simulate, and nothing of Python."""

import ctypes
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from c_library import TYPES, Instance, Library, needs_compiler

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RK4,
    Baumgarte,
    Index2,
    Ode,
    PostStabilization,
    Projection,
    Radau,
    Stepper,
    System,
    export,
    problems,
    simulate,
    sweep,
)
from holonomic.errors import HolonomicError, MissingExtra
from holonomic.exporting.c_text import library_name

pytestmark = needs_compiler
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
METHODS = {"integrator": DOP853(), "stabilization": Projection()}
M, G, L, PUSH = range(4)  # places of parameters and of the input


def pendulum():
    return System(
        mass=lambda p: p.m * np.eye(2), force=lambda p, u: [u.push, -p.m * p.g], constraint={"rod": lambda q, p: q @ q - p.L**2},
        params={"m": 1.0, "g": 9.81, "L": 1.0}, inputs={"push": 0.0}, coordinates=("x", "y"),
        outputs={"tension": lambda lam, q: 2 * lam[0] * np.sqrt(q @ q)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def swing(tmp_path_factory):
    return export(pendulum(), 10.0, **START, **METHODS, folder=tmp_path_factory.mktemp("out") / "swing")


@pytest.fixture(scope="module")
def library(swing):
    return Library(swing)


def same_end(sol, m):
    nq, nv = sol.q.shape[1], 0 if sol.v is None else sol.v.shape[1]
    return (m.numbers("q", nq) == sol.q[-1]).all() and (m.numbers("v", nv) == sol.v[-1]).all()


def test_one_call_takes_the_steps_of_simulate_bit_for_bit(library):
    m, sol = Instance(library), simulate(pendulum(), 10.0, **START, **METHODS)
    assert m.step_to(10.0) == 0
    assert m.time() == 10.0 and m.steps() == sol.stats["steps"]
    assert same_end(sol, m)
    assert (m.numbers("lambda", 1) == sol.lam[-1]).all() and (m.numbers("accelerations", 2) == sol.a[-1]).all()
    assert m.outputs()[0] == sol["tension"][-1]
    assert m.position_drift() == abs(sol.drift["position"][-1]).max()
    assert m.velocity_drift() == abs(sol.drift["velocity"][-1]).max()


def test_many_calls_take_the_steps_of_a_stepper_bit_for_bit(tmp_path):
    methods = {"integrator": RK4(), "stabilization": Projection(), "step": 0.01}
    m = Instance(Library(export(pendulum(), 1.0, **START, **methods, folder=tmp_path)))
    stepper = Stepper(pendulum(), **START, **methods)
    for k in range(1, 201):
        stepper.step(0.05 * k - stepper.t, u={"push": 0.1 * (k % 7)})
        assert m.set(PUSH, 0.1 * (k % 7)) == m.step_to(stepper.t) == 0
    assert (m.numbers("q", 2) == stepper.q).all() and (m.numbers("v", 2) == stepper.v).all()
    assert (m.numbers("lambda", 1) == stepper.lam).all() and m.outputs()[0] == stepper.outputs["tension"]


@pytest.mark.parametrize("methods", [METHODS, {"integrator": RK4(), "stabilization": PostStabilization(), "step": 1e-4}])
def test_seven_body_ends_where_simulate_ends_bit_for_bit(methods, tmp_path):
    problem = problems.seven_body()
    m, sol = Instance(Library(export(problem, **methods, folder=tmp_path))), simulate(problem, **methods)
    assert m.step_to(sol.t[-1]) == 0
    assert m.steps() == sol.stats["steps"] and same_end(sol, m)


@pytest.mark.parametrize(
    "methods",
    [
        {"integrator": Radau(), "formulation": GGL()},
        pytest.param({"integrator": BDF(), "formulation": Index2()}, marks=pytest.mark.slow),
        pytest.param({"integrator": RK4(), "stabilization": Baumgarte(alpha=5.0), "step": 0.01}, marks=pytest.mark.slow),
    ],
    ids=["Radau", "BDF", "Baumgarte"],
)
def test_every_plan_of_kernels_ends_where_simulate_ends_bit_for_bit(methods, tmp_path):
    made = export(pendulum(), 1.0, **START, **methods, folder=tmp_path / "1 of 2")
    assert made.name == "m_1_of_2"
    m, sol = Instance(Library(made)), simulate(pendulum(), 1.0, **START, **methods)
    assert m.step_to(1.0) == 0
    assert m.steps() == sol.stats["steps"] and same_end(sol, m)


def test_methods_left_open_are_those_that_took_the_run_to_its_end(tmp_path):
    made = export(pendulum(), 10.0, **START, folder=tmp_path)
    chosen = {name: getattr(made.plan.choice, name) for name in ("integrator", "stabilization", "formulation")}
    m, sol = Instance(Library(made)), simulate(pendulum(), 10.0, **START, **chosen)
    assert m.step_to(10.0) == 0 and same_end(sol, m)
    assert f"integrator: {chosen['integrator']!r}" in made.header.read_text()


@pytest.mark.slow
def test_an_ode_with_invariants_ends_where_simulate_ends_bit_for_bit(tmp_path):
    kepler = Ode(
        lambda y: np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5]),
        invariants={"momentum": lambda y: y[0] * y[3] - y[1] * y[2]},
    )
    options = {"y0": [0.4, 0.0, 0.0, 2.0], "integrator": RK4(), "step": 0.05}
    m, sol = Instance(Library(export(kepler, 5.0, **options, folder=tmp_path))), simulate(kepler, 5.0, **options)
    assert m.step_to(5.0) == 0
    assert (m.numbers("q", 4) == sol.y[-1]).all()
    other = options | {"y0": [0.5, 0.0, 0.0, 1.5]}  # its momentum is kept at another value
    assert m.begin(0.0, other["y0"]) == m.step_to(5.0) == 0
    assert (m.numbers("q", 4) == simulate(kepler, 5.0, **other).y[-1]).all()


@pytest.mark.slow
def test_a_start_with_algebraic_variables_is_left_to_python(tmp_path):
    loaded = System(mass=np.eye(1), force=lambda load: [-load], algebraic={"load": lambda q, load: load + load**3 - q[0]})
    options = {"q0": [1.0], "v0": [0.0], "w0": {"load": 0.5}, "integrator": DOP853()}
    m, sol = Instance(Library(export(loaded, 2.0, **options, folder=tmp_path))), simulate(loaded, 2.0, **options)
    assert m.step_to(2.0) == 0 and m.numbers("q", 1)[0] == sol.q[-1, 0]
    assert b"cannot be made consistent" in m.library.text(m.begin(0.0, [2.0, 0.5]))
    assert m.begin() == 0 and m.time() == 0.0


def test_other_parameters_begin_projected_as_members_of_a_sweep_do(library):
    m = Instance(library)
    assert m.set(L, 2.0) == m.set(G, 1.62) == 0
    assert m.get(L) == 2.0 and m.get(M) == 1.0
    assert m.begin() == 0
    assert m.numbers("q", 2) == pytest.approx([2.0, 0.0], abs=1e-12)
    assert m.step_to(10.0) == 0
    told = {"params": {"L": [2.0], "g": [1.62]}, "initial": "project", "save_at": 2}
    runs = sweep(pendulum(), 10.0, **START, **METHODS, **told)
    assert (m.numbers("q", 2) == runs.q[0, -1]).all() and (m.numbers("v", 2) == runs.v[0, -1]).all()


def test_another_start_is_projected_and_the_first_one_comes_back(library):
    m = Instance(library)
    assert m.begin(2.0, [0.0, -1.5], [1.0, 3.0]) == 0
    assert m.time() == 2.0
    assert m.numbers("q", 2) == pytest.approx([0.0, -1.0], abs=1e-12)
    assert m.numbers("v", 2) == pytest.approx([1.0, 0.0], abs=1e-12)
    assert m.position_drift() < 1e-12
    assert m.begin() == 0
    assert (m.numbers("q", 2) == START["q0"]).all() and m.time() == 0.0
    assert m.step_to(10.0) == 0
    assert same_end(simulate(pendulum(), 10.0, **START, **METHODS), m)


def test_a_start_that_cannot_be_projected_says_so(library):
    m = Instance(library)
    status = m.begin(0.0, [0.0, 0.0], [0.0, 0.0])
    assert b"cannot be made consistent" in library.text(status)


def test_an_input_may_follow_a_line(library):
    ramp = System(
        mass=np.eye(2), force=lambda u: [u.push, -9.81], constraint=lambda q: q @ q - 1.0, inputs={"push": lambda t: 2 * t}
    )
    m = Instance(library)
    assert m.set_input(PUSH, 0.0, 2.0) == m.step_to(1.0) == 0
    assert m.get(PUSH) == pytest.approx(2.0)
    np.testing.assert_allclose(m.numbers("q", 2), simulate(ramp, 1.0, **START, rtol=1e-10).q[-1], atol=1e-5)  # rtol 1e-6


def test_a_saved_state_goes_on_as_the_first_did(library):
    m = Instance(library)
    m.step_to(3.3)
    room = ctypes.create_string_buffer(library.size())
    m.save(room)
    m.step_to(7.0)
    first = m.numbers("q", 2)
    other = Instance(library)
    other.restore(room)
    assert other.time() == 3.3
    other.step_to(7.0)
    assert (other.numbers("q", 2) == first).all()


def test_instances_in_threads_do_not_see_each_other(library):
    ends, apart = {}, {}

    def go(g, found):
        m = Instance(library)
        m.set(G, g)
        for k in range(1, 201):
            m.step_to(0.05 * k)
        found[g] = m.numbers("q", 2)
        m.free()

    many = [threading.Thread(target=go, args=(float(g), ends)) for g in range(1, 9)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()
    for g in ends:
        go(g, apart)
        assert (ends[g] == apart[g]).all()
    assert len({tuple(end) for end in ends.values()}) == 8


def test_what_cannot_be_meant_is_said_in_words(library):
    m = Instance(library)
    m.step_to(1.0)
    assert library.text(m.step_to(0.5)) == library.text(m.step_to(np.nan))
    assert b"time goes forward" in library.text(m.step_to(np.inf))
    assert b"no such parameter" in library.text(m.set(9, 1.0))
    assert b"no such parameter" in library.text(m.set(G, np.nan))
    assert np.isnan(m.get(-1)) and m.time() == 1.0
    assert library.text(0) == b"fine"


def test_two_exports_live_in_one_process(library, tmp_path):
    other = Library(export(pendulum(), 10.0, q0=[0, -1], v0=[3, 0], **METHODS, folder=tmp_path / "other"))
    m, n = Instance(library), Instance(other)
    assert m.step_to(1.0) == n.step_to(1.0) == 0
    assert n.numbers("q", 2) == pytest.approx(simulate(pendulum(), 1.0, q0=[0, -1], v0=[3, 0], rtol=1e-9).q[-1], abs=1e-5)


def test_the_example_compiles_without_a_warning_and_prints_the_run(swing, tmp_path):
    program = tmp_path / "example"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{swing.folder}"]
    libraries = [f"-L{swing.folder}", f"-l{swing.name}", f"-Wl,-rpath,{swing.folder}"]
    subprocess.run(["cc", *flags, swing.example, "-o", program, *libraries], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    rows = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    assert rows.shape == (100, 5)
    exact = simulate(pendulum(), 10.0, **START, rtol=1e-10, save_at=rows[:, 0])
    np.testing.assert_allclose(rows[:, 1:3], exact.q, atol=2e-4)  # a hundred short steps at rtol 1e-6
    assert "drift" in done.stderr


def test_the_library_needs_c_and_nothing_else(swing):
    told = subprocess.run(["nm", "-D", swing.library], capture_output=True, text=True, check=True).stdout
    needed = {line.split()[-1].partition("@")[0] for line in told.splitlines() if " U " in line or " w " in line}
    mathematics = {"exp", "log", "pow", "sin", "cos", "fabs", "sqrt", "frexp", "ldexp"}
    system = {"malloc", "free", "memcpy", "memset", "memmove", "__cxa_finalize", "__gmon_start__", "__stack_chk_fail"}
    assert needed <= mathematics | system | {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    shown = {line.split()[-1] for line in told.splitlines() if " T " in line}
    assert shown == {f"{swing.name}_{name}" for name in TYPES}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("π 1", "pi_1"),
        ("3d arm", "m_3d_arm"),
        ("for", "m_for"),
        ("main", "m_main"),
        ("memcpy", "m_memcpy"),
        ("hol", "m_hol"),
        ("Σ-é", "sigma_e"),
        ("i", "m_i"),
        ("unit", "m_unit"),
        ("hol_run", "m_hol_run"),
        ("pendulum", "pendulum"),  # words of our own C files, too
    ],
)
def test_a_name_that_c_cannot_spell_is_spelled_otherwise(given, name, tmp_path):
    assert library_name(given) == name


def test_odd_names_give_a_header_that_compiles(tmp_path):
    odd = System(
        mass=np.eye(2), force=lambda p, u: [p.π * p.k + p.K + u.λ, -9.81 * vars(p)["for"] - u.double],
        constraint={"rod */ \n two": lambda q: q @ q - 1.0}, params={"for": 1.0, "π": 0.1, "k": 1.0, "K": 2.0},
        inputs={"λ": 0.0, "double": 0.0}, coordinates=("x y", "π"), outputs={"tension N": lambda lam: lam[0], "Σ": lambda q: q[0]},
    )  # fmt: skip
    made = export(odd, 1.0, **START, integrator=RK4(), step=0.01, folder=tmp_path / "printf")
    assert made.name == "m_printf"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", f"-I{made.folder}"]
    subprocess.run(["cc", *strict, made.example], check=True)
    m, sol = Instance(Library(made)), simulate(odd, 1.0, **START, integrator=RK4(), step=0.01)
    assert m.step_to(1.0) == 0 and same_end(sol, m)
    header = made.header.read_text()
    for word in ("P_FOR", "P_PI", "P_K", "P_K_", "U_LAMBDA", "U_DOUBLE", "Q_X_Y", "LAM_ROD_TWO", "Y_TENSION_N", "Y_SIGMA"):
        assert f" M_PRINTF_{word} = " in header


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folder": 5}, r"^export\(5\): give the path of a folder, as text or Path\.$"),
        ({"folder": ""}, r"^export\(''\): give the path of a folder, as text or Path\.$"),
        ({"folder": __file__}, r"test_to_c\.py is a file, no folder\.$"),
        ({"folder": f"{__file__}/below"}, r"^the folder .*below cannot be made: not a directory\.$"),
        ({"name": 5}, r'^name= is a text, such as name="swing", got 5\.$'),
        ({"platform": "amiga"}, r"^platform='amiga' is not known\. Known: linux-x86-64-v3, "),
        ({"controllers": {}}, r"^export has no argument 'controllers' and needs none: who calls it is the controller\.$"),
    ],
)
def test_what_cannot_be_meant_by_an_export_is_said(given, said, tmp_path):
    with pytest.raises(HolonomicError, match=said):
        export(pendulum(), 1.0, **START, **METHODS, **({"folder": tmp_path} | given))
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    with pytest.raises(HolonomicError, match=r"main\.c is there already and was not written by an export: give another folder\.$"):
        export(pendulum(), 1.0, **START, **METHODS, folder=tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["main.c"]
    assert (tmp_path / "main.c").read_text() == "int main(void) { return 0; }"
    made = [export(pendulum(), 1.0, **START, **METHODS, folder=tmp_path / "ours") for _ in range(2)][1]
    assert len(list(made.folder.iterdir())) == 4


def test_a_compiler_that_is_not_there_or_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    with pytest.raises(MissingExtra, match=r"^the environment names 'no-such-compiler' as compiler \(CC\), which is not found\."):
        export(pendulum(), 1.0, **START, **METHODS, folder=tmp_path)
    monkeypatch.setenv("CC", "false")
    with pytest.raises(HolonomicError, match=r"^libswing\.so could not be linked\. false ended with status 1 and says:\nnothing$"):
        export(pendulum(), 1.0, **START, **METHODS, folder=tmp_path, name="swing")
    assert list(tmp_path.iterdir()) == []


CHANGE = ("jansen-walker", "wheelset", "wheelset-contacts")  # their methods change on the way
LARGE = ("delta-robot", "double-wishbone", "four-bar-spatial", "stewart-platform", "seven-body-from-bodies", "peaucellier")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in problems.catalogue() if name not in CHANGE + LARGE])
@pytest.mark.filterwarnings("ignore")
def test_problems_that_come_with_us_end_where_simulate_ends_bit_for_bit(name, tmp_path):
    problem = problems.get(name)
    made = export(problem, folder=tmp_path)
    chosen = {each: getattr(made.plan.choice, each) for each in ("integrator", "stabilization", "formulation")}
    m, sol = Instance(Library(made)), simulate(problem, **chosen)
    assert m.step_to(sol.t[-1]) == 0
    assert m.steps() == sol.stats["steps"] and (m.numbers("q", sol.q.shape[1]) == sol.q[-1]).all()


COUNTING = """
#include <stdio.h>
#include <stdlib.h>

#include "swing.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static long calls;
void *malloc(size_t n) { calls++; return __libc_malloc(n); }
void *calloc(size_t k, size_t n) { calls++; return __libc_calloc(k, n); }
void *realloc(void *p, size_t n) { calls++; return __libc_realloc(p, n); }

int main(void) {
    swing *m = swing_create();
    void *kept = malloc(swing_size());
    const long before = calls;
    for (int k = 1; k <= 1000; k++) {
        if (k == 500) { swing_set(m, SWING_P_L, 2.0); if (swing_reset(m, 0.0, NULL, NULL)) return 1; }
        swing_set_input(m, SWING_U_PUSH, 0.1, 0.01);
        if (swing_step_to(m, swing_time(m) + 0.01)) return 2;
        swing_save(m, kept);
        swing_restore(m, kept);
        if (!swing_lambda(m) || !swing_outputs(m) || swing_position_drift(m) > 1e-9) return 3;
    }
    const long after = calls;
    swing_free(m);
    free(kept);
    printf("%ld %ld\\n", before, after - before);
    return 0;
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the calls of glibc's malloc")
def test_nothing_is_allocated_after_create(swing, tmp_path):
    (tmp_path / "count.c").write_text(COUNTING)
    program = tmp_path / "count"
    linked = [f"-I{swing.folder}", f"-L{swing.folder}", f"-l{swing.name}", f"-Wl,-rpath,{swing.folder}", "-rdynamic"]
    subprocess.run(["cc", "-O0", "-fno-builtin", tmp_path / "count.c", "-o", program, *linked], check=True)
    told = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert int(told[0]) >= 2 and told[1] == "0"  # the instance and the room for its state are counted, no more follow


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
@pytest.mark.slow
def test_cmake_builds_the_example(swing, tmp_path):
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True)
    run("cmake", "-S", swing.folder, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    assert len(run(tmp_path / "build" / f"{swing.name}_example").stdout.splitlines()) == 100
