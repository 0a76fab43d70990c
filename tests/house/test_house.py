"""The house rules: style, types, layers, and what text files may say."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import holonomic

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "holonomic"
NOT_OURS = {"build", "dist", "site", "__pycache__", "node_modules"}
TEXT = {"", *".py .md .toml .yml .yaml .cff .bib .txt .json .cfg .ini .sh .ipynb".split()}


def text_files():
    for folder, folders, files in os.walk(ROOT):
        inside = Path(folder)
        folders[:] = [
            name for name in folders if name not in NOT_OURS and (not name.startswith(".") or (inside == ROOT and name == ".ci"))
        ]
        for name in files:
            path = inside / name
            if path.suffix in TEXT and name != ".git" and not path.is_symlink():  # .git: a file in a linked worktree
                yield path


@cache
def parsed(path: Path) -> ast.Module:
    """A file of Python, parsed once for all tests that look at it."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in it."""
    return tuple(ast.walk(parsed(path)))


def run(*command):
    """Run a tool from the root of the checkout on this source; its output is what a failure shows."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_ruff_finds_nothing():
    run("-m", "ruff", "check", "--no-cache", ".")


def test_everything_is_formatted():
    run("-m", "ruff", "format", "--check", "--no-cache", ".")


def test_pyright_accepts_the_public_api():
    run("-m", "pyright", "--pythonpath", sys.executable)


def test_imports_follow_the_layers():
    run("-c", "from importlinter.cli import lint_imports_command as main; main(['--no-cache'])")


def test_text_files_name_no_path_of_one_machine():
    own = re.compile(r"(?<![\w.~<-])/(?:work|root|home|Users)/\w|[A-Z]:\\Users\\|\.\./shared\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in text_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if own.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", sorted(holonomic.__all__))
def test_public_name_has_a_docstring(name):
    thing = getattr(holonomic, name)
    if isinstance(thing, str):  # __version__
        return
    doc = thing.__doc__ or ""
    assert doc.strip(), f"holonomic.{name} has no docstring"
    # A dataclass without a docstring gets its own signature as one.
    assert not doc.startswith(f"{name}("), f"holonomic.{name} has only the docstring that dataclass makes"


def test_one_file_imports_expression_graphs():
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "graph"
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and "graph" in (node.module or "").split(".") and node.level
    }
    assert found == {"model/symbolics.py"}


def test_only_view_imports_matplotlib():
    found = [
        str(path.relative_to(ROOT))
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "view"
        if "matplotlib" in imported_when_run(parsed(path))
    ]
    assert not found


def imported_when_run(tree):
    """The libraries that a file imports anywhere but under `if TYPE_CHECKING`."""
    found = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        waiting += ast.iter_child_nodes(node)
    return found


def test_private_names_stay_in_their_file():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name}"
        for folder in ("src", "tests", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "holonomic._version", "_version")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not found, "\n".join(found)


def test_every_function_and_class_is_used_somewhere():
    """What no file names but its own definition can go. A decorator that is called registers what it decorates."""
    folders = [ROOT / name for name in ("src", "tests", "tools", "benchmarks", "docs")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    words = Counter(word for path in paths for word in re.findall(r"\w+", path.read_text(encoding="utf-8")))
    unused = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in SOURCE.rglob("*.py")
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and words[node.name] == 1
        if not any(isinstance(decorator, ast.Call) for decorator in node.decorator_list)
    ]
    assert not unused, "\n".join(unused)


def test_importing_the_package_loads_no_heavy_library_it_may_not_need():
    heavy = ["matplotlib", "llvmlite", "scipy.optimize", "xarray", "pandas", "plotly", "dask"]
    heavy += ["holonomic.sweeping", "holonomic.study", "holonomic.results.saving", "holonomic.model.symbolics"]
    loaded = run("-c", f"import sys, holonomic; print(*[n for n in {heavy!r} if n in sys.modules])")
    assert loaded.split() == []


def test_names_that_are_loaded_when_asked_for_behave_as_the_others():
    assert set(holonomic.__all__) <= set(dir(holonomic))
    assert holonomic.sweep is holonomic.sweep  # the second time without __getattr__
    assert vars(holonomic)["sweep"] is holonomic.sweep
    with pytest.raises(AttributeError, match="module 'holonomic' has no attribute 'swep'"):
        holonomic.swep


def test_every_source_that_is_cited_is_in_the_bibliography():
    bibliography = (SOURCE / "references.bib").read_text(encoding="utf-8")
    keys = re.findall(r"^@\w+\{([^,]+),", bibliography, flags=re.MULTILINE)
    assert len(keys) == len(set(keys))
    missing = {
        f"{path.relative_to(ROOT)}: {key}"
        for path in SOURCE.rglob("*.py")
        for text in strings(path)
        for key in re.findall(r"\[((?:[a-z]+-)+\d{4}|[A-Z]{2,4}\d{2})\]", text)
        if key not in keys
    }
    missing |= {
        f"{path.relative_to(ROOT)}: {key}" for path in SOURCE.rglob("*.py") for key in class_references(path) if key not in keys
    }
    assert not missing, "\n".join(sorted(missing))


def strings(path):
    """All strings in a file, docstrings among them."""
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def class_references(path):
    """The keys that the classes of a file list as `references`, alone or beside other names."""
    for node in nodes(path):
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            if not isinstance(line, ast.Assign):
                continue
            names, values = [line.targets[0]], [line.value]
            if isinstance(names[0], ast.Tuple) and isinstance(values[0], ast.Tuple):
                names, values = names[0].elts, values[0].elts
            for name, value in zip(names, values, strict=True):
                if getattr(name, "id", "") == "references" and isinstance(value, ast.Tuple):
                    yield from (item.value for item in value.elts if isinstance(item, ast.Constant))


def test_citation_file_gives_the_package_version():
    stated = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert stated is not None
    assert stated.group(1) == holonomic.__version__


# Who asks things that are not ours what they have, and why nothing better can be had.
ASKING = {
    "cli/files.py": "any exception, with notes or without",
    "events.py": "functions as SciPy takes them, with terminal and direction written on them",
    "model/from_sympy.py": "SymPy's printers",
    "model/numpy_on_symbols.py": "names that came with later releases of NumPy",
    "model/rebound.py": "users' objects, some without a __dict__",
    "model/opaque_code.py": "users' functions, of Python, Numba, SciPy and C",
    "model/statement.py": "a user's function that may have no name",
    "model/symbol_loops.py": "names that came with later releases of NumPy",
    "model/function_signature.py": "functions that Numba compiled",
    "model/watch.py": "users' objects, some without a __dict__",
    "multibody/views.py": "inside __getattr__: what the class itself has under a name",
    "native/lowering.py": "Numba's own libraries, which hold our texts only where they lower one of our functions",
    "printing/fold.py": "functions of Python and of ours, called alike",
    "printing/javascript.py": "functions of Python and of ours, called alike",
    "printing/lane_machine.py": "kinds of Python's statements, some of which have no code",
    "printing/lane_types.py": "kinds of Python's expressions, likewise",
    "printing/lane_values.py": "kinds of Python's expressions and functions, likewise",
    "printing/pair_machine.py": "kinds of Python's statements, some of which have no code",
    "printing/pair_types.py": "kinds of Python's expressions, likewise, and what stands beside functions of pairs",
    "printing/pair_values.py": "kinds of Python's expressions and functions, likewise",
    "problems/problem.py": "results of other libraries, which may hold less",
    "study/table.py": "a user's function that may have no name",
    "sweeping/engines.py": "executors that may say how many workers they have, and users' things that may have no name",
    "view/page.py": "a notebook, where there is one",
}


def test_our_own_classes_say_what_they_have():
    """Nobody asks them with hasattr or with a default of getattr; only these files ask, and of things that are not ours."""
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "hasattr" or (node.func.id == "getattr" and len(node.args) == 3)
    }
    assert found == set(ASKING)


def test_nothing_is_stuck_on_objects_behind_their_back():
    """A class declares what is kept on it; nobody else writes into its __dict__."""
    write = re.compile(r"(?<!self)(?<!made)\.__dict__(\[|\.(get|setdefault|update)\()")
    # these look into users' objects
    users = {"model/watch.py", "model/branches.py", "model/rebound.py", "model/function_memory.py", "multibody/lower.py"}
    found = [
        f"{path.relative_to(SOURCE).as_posix()}:{number}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).as_posix() not in users
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if write.search(line)
    ]
    assert found == []


def is_own(node: ast.expr) -> bool:
    """Whether something is read of the object, the class or its base that a method stands in."""
    return ast.unparse(node) in ("self", "cls", "super()")


def test_what_a_solution_keeps_to_itself_is_read_nowhere_else():
    """Who computes from a run reads `sol.trail`, whose fields have names."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for folder in ("src", "tests", "tools", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("_")
        if ast.unparse(node.value).rpartition(".")[2] in ("sol", "solution", "trail")
        or (set(path.relative_to(ROOT).parts) & {"results", "view", "cli"} and folder == "src" and not is_own(node.value))
        if node.attr not in ("_attributes", "_Encoding", "_asdict", "_replace")  # of SciPy's files, and of named tuples
    ]
    assert not found, "\n".join(found)


# Names that two classes may have, because both are the same thing seen from two sides.
BOTH_SIDES = {
    "Array": "a type of arguments, and what is known of one in a program that is printed",
    "Events": "as kernels take them",
    "Log": "of the compiled loop over members",
    "Lowered": "what integrators and stabilizations each give to the step loop",
    "Members": "as kernels take them",
    "Model": "as kernels take it",
    "Record": "as kernels take it",
    "Source": "the text of a program, and where values of an ensemble are",
    "State": "as kernels take it",
    "Table": "of functions in a program that is printed, and of numbers that people read",
    "Tables": "as kernels take them",
}
# Files that are called alike because they do the same in each room: what all methods of a kind share, sine and cosine.
ALIKE = {"__init__", "__main__", "base", "trig"}


def test_no_two_classes_have_one_name():
    found = Counter(
        node.name
        for path in SOURCE.rglob("*.py")
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in found.items() if count > 1} <= set(BOTH_SIDES)


def test_no_two_files_have_one_name():
    """A shell command is called as what it runs."""
    found = Counter(path.stem for path in SOURCE.rglob("*.py") if path.parent.name != "cli")
    assert {name for name, count in found.items() if count > 1} - ALIKE == set()
