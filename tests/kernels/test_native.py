"""Kernels come compiled: called from Python with checks, current with their sources, without Numba."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic.kernels.dense_projection import factor_rows, factors_length
from holonomic.kernels.sizes import LENGTH, OWN, SPEED, SPIN, TOLERANCES, TURNS
from holonomic.kernels.step_control import error_norm, step_factor
from holonomic.kernels.vectors import copy, norm, row_finite
from holonomic.native import sources
from holonomic.native.build import with_kernels
from holonomic.native.marks import MARKED, Kernel, Leaf, is_ours

SOURCE = str(Path(holonomic.__file__).parents[1])


# what Python calls


def test_a_leaf_gives_what_its_source_gives():
    rng = np.random.default_rng(1)
    E, x, xn, W = rng.normal(size=(2, 6)), rng.normal(size=6), rng.normal(size=6), np.full(TOLERANCES + 6, 1e-3)
    kinds = np.array([LENGTH, TURNS, OWN, SPEED, SPIN, OWN])
    given = (E, x, xn, W, 0, 1e-3, kinds, 1e-3, 2e-3, 3, 6)
    assert error_norm(*given) == pytest.approx(error_norm.py(*given), rel=1e-14)
    assert step_factor(0.3, 0.5, 0.2, 0.04, 0.9, 0.2, 10) == step_factor.py(0.3, 0.5, 0.2, 0.04, 0.9, 0.2, 10)
    assert row_finite(E, 1, 6) is True
    E[1, 2] = np.nan
    assert row_finite(E, np.int64(1), 6) is False
    assert copy(x, xn, 4) is None
    assert (xn[:4] == x[:4]).all() and xn[4] != x[4]


def test_arguments_that_may_be_left_out_have_their_defaults():
    rng = np.random.default_rng(2)
    J = rng.normal(size=(2, 4))
    found = []
    for more in ((), (False,), (False, 0)):
        F = np.zeros(factors_length(2, 4))
        factor_rows(J, np.ascontiguousarray(J.T), F, *more)
        found.append(F)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all() and found[0].any()


ROW = np.zeros(3)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((ROW, ROW), "copy takes other arguments"),
        ((ROW, ROW, 3, 4), "copy takes other arguments"),
        (([0.0], ROW, 1), "copy: argument 1 is no array"),
        ((ROW, np.zeros((3, 3)), 3), "copy: argument 2 has another number of dimensions"),
        ((ROW, np.zeros(6)[::2], 3), "copy: argument 2 is not contiguous"),
        ((np.zeros(3, dtype=np.float32), ROW, 3), "copy: argument 1 has numbers of another kind"),
        ((np.zeros(3, dtype=np.int64), ROW, 3), "copy: argument 1 has numbers of another kind"),
        ((ROW, ROW, 2.5), "'float' object cannot be interpreted as an integer"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_read(arguments, text):
    with pytest.raises(TypeError, match=text):
        copy(*arguments)


def test_groups_and_records_are_taken_apart():
    from holonomic.kernels.consistent import distances
    from holonomic.loop.from_python import evaluate_compiled

    with pytest.raises(TypeError, match="distances: argument 8 has another number of parts"):
        distances(np.zeros(80, dtype=np.int64), 0.0, ROW, ROW, ROW, ROW, ROW, (1, 2))
    with pytest.raises(SystemError, match="bad argument"):
        evaluate_compiled(3, None, 0.0, ROW, ROW, 0, ROW)


def test_machine_code_is_called_in_less_than_a_microsecond():
    from timeit import repeat

    x = np.zeros(4)
    assert min(repeat(lambda: norm(x, 0, 4), number=1000, repeat=20)) < 1e-3


# what came compiled


def test_the_kernels_that_came_compiled_are_those_of_the_sources():
    """If this fails: `python -m holonomic.native --all`, and commit what it writes."""
    came, now = sources.manifest()["modules"], with_kernels()
    stale = [name for name in now if came.get(name, {}).get("sources") != sources.sources_of(name)]
    stale += [name for name in came if sources.stamp(came[name]["sources"]) != came[name]["stamp"]]
    assert sorted(set(stale) | set(came) ^ set(now)) == []
    assert {f"{name.partition('.')[2]}.bc.xz" for name in came} == {file.name for file in sources.FOLDER.glob("*.xz")}


def test_every_kernel_and_typed_leaf_is_in_the_code_of_its_file():
    ours = [mark for mark in MARKED if isinstance(mark, Kernel) and is_ours(mark.py)]
    assert len(ours) > 40
    for kernel in ours:
        assert kernel.address
    typed = [mark for mark in MARKED if isinstance(mark, Leaf) and is_ours(mark.py) and mark.signature is not None]
    assert len(typed) > 12
    for leaf in typed:
        assert type(leaf.native).__name__ == "builtin_function_or_method", leaf.__name__


WITHOUT_NUMBA = """
import json, sys

class NoNumba:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ModuleNotFoundError("No module named 'numba'", name="numba")

sys.meta_path.insert(0, NoNumba())
import numpy as np
import holonomic as h

ends = {}
swing = h.System(mass=np.diag([1.0, 3.0]), force=[0, -29.43], constraint=lambda q: q @ q - 1.0)
plain = h.System(mass=np.diag([1.0, 3.0]), force=[0, -29.43], constraint=lambda q: q @ q - 1.0, trace=False)
for name, system, options in (
    ("chosen", swing, {}),
    ("interpreted", plain, {}),
    ("Radau", swing, {"integrator": h.Radau(), "formulation": h.GGL()}),
    ("BDF", swing, {"integrator": h.BDF(), "formulation": h.Index2()}),
    ("PHEM56", swing, {"integrator": h.PHEM56()}),
    ("event", swing, {"events": {"low": lambda q: q[0] - 0.3}}),
):
    ends[name] = h.simulate(system, 1.0, q0=[1, 0], v0=[0, 0], **options).q[-1].tolist()
ends["sweep"] = np.asarray(h.sweep(swing, 1.0, q0=np.array([[1.0, 0.0]]), v0=[0, 0]).q)[0, -1].tolist()
assert "numba" not in sys.modules
print(json.dumps(ends))
"""


def test_every_kind_of_run_works_without_numba(tmp_path):
    environment = os.environ | {"HOLONOMIC_CACHE": str(tmp_path / "cache"), "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "compiling" not in done.stderr
    ends = json.loads(done.stdout.splitlines()[-1])
    for name, end in ends.items():
        assert end == pytest.approx(ends["chosen"], abs=2e-3 if name == "BDF" else 1e-4), name


def test_a_changed_kernel_is_compiled_and_used(tmp_path):
    """The old code must not be run for new sources."""
    package = tmp_path / "holonomic"
    shutil.copytree(Path(holonomic.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / "kernels" / "vectors.py"
    text = file.read_text()
    changed = text.replace("    return math.sqrt(total)", "    return 2.0 * math.sqrt(total)", 1)
    assert changed != text
    file.write_text(changed)
    script = "import numpy as np; from holonomic.kernels.vectors import norm\nprint(norm(np.array([3.0, 4.0]), 0, 2))"
    environment = os.environ | {"HOLONOMIC_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}
    for said in ("holonomic: compiling holonomic.kernels.vectors, whose sources have changed ...\n", ""):
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("10.0\n", said)


def test_exceptions_are_not_compiled_but_their_numbers_are():
    """A new exception leaves the code as it is; another number of a status does not, nor does a class beside kernels."""
    text = b'"""Errors."""\nOK = 0\nclass Stopped(Exception):\n    """Why."""\n'
    other_class, other_number = text.replace(b"Stopped", b"Halted"), text.replace(b"OK = 0", b"OK = 1")
    assert sources.meaning(text, True) == sources.meaning(other_class, True) != sources.meaning(other_number, True)
    assert sources.meaning(text, False) != sources.meaning(other_class, False)


def test_functions_that_stay_apart_are_not_put_into_those_that_call_them():
    """Machine code of one long function takes more than twice as long as of its parts: a first run waits for it."""
    import llvmlite.binding as llvm

    from holonomic.native.library import bitcode_of

    assert any(getattr(mark, "apart", False) for mark in MARKED)
    functions = [each for each in llvm.parse_bitcode(bitcode_of("holonomic.loop.from_python")).functions if not each.is_declaration]
    sizes = [sum(1 for block in function.blocks for _ in block.instructions) for function in functions]
    assert max(sizes) < 0.55 * sum(sizes)  # 0.5; 0.58 where the step loop had all in one


def test_plain_integers_of_operators_are_those_of_their_names():
    from holonomic.kernels import signatures

    assert all(getattr(signatures, fn.name) == fn.value for fn in signatures.Fn)
    assert [fn.value for fn in signatures.Fn] == list(range(len(signatures.Fn)))
