"""From which sources the code of a file of kernels is made: what changes its machine code, and nothing else."""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from pathlib import Path

from .marks import PACKAGE, ROOMS

# what turns sources into machine code
_MAKERS = ("abi.py", "layout.py", "lowering.py", "marks.py", "numba_meaning.py", "types.py")
_SOME = ("eight.py", "eight_meaning.py", "written_out.py")  # of those that import them


def stamped_files() -> list[Path]:
    """Return the sources of the package that kernels are compiled from."""
    makers = [PACKAGE / "native" / name for name in (*_MAKERS, *_SOME)]
    return [*makers, PACKAGE / "errors.py", *(path for room in ROOMS for path in sorted((PACKAGE / room).glob("*.py")))]


FOLDER = PACKAGE / "native" / "bitcode"


@functools.cache
def manifest() -> dict:
    """Return what came compiled: `modules` with their sources and stamp, `files` with the hashes of their content and meaning."""
    file = FOLDER / "manifest.json"
    return {"modules": {}, "files": {}} | (json.loads(file.read_text()) if file.is_file() else {})


def stamp(files: list[str]) -> str:
    """Return the hash of what files mean, by their names inside the package; of one that is missing, of its name."""
    digest = hashlib.sha256()
    for name in files:
        digest.update(f"{name} {hashes_of(name)[1]}\n".encode())
    return digest.hexdigest()[:16]


@functools.cache
def kernels_stamp() -> str:
    """Return the hash of what all kernels mean: equal ones compute the same, but for the processor they run on."""
    return stamp([path.relative_to(PACKAGE).as_posix() for path in stamped_files()])


@functools.cache
def hashes_of(name: str) -> list[str]:
    """Return the hashes of a file's content and of its meaning.

    A file that came with the package is not parsed: its content says that its meaning is the known one.
    """
    path = PACKAGE / name
    if not path.is_file():
        return ["missing", "missing"]
    text = path.read_bytes()
    content, known = _hash(text), manifest()["files"].get(name)
    return known if known is not None and known[0] == content else [content, _hash(meaning(text, name == "errors.py"))]


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]


def meaning(text: bytes, without_classes: bool) -> bytes:
    """Return a source without comments, docstrings and its layout; of errors.py, the numbers: no kernel can hold an exception."""
    tree = ast.parse(text)
    if without_classes:
        tree.body = [node for node in tree.body if not isinstance(node, ast.ClassDef)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
    return ast.dump(tree).encode()


def sources_of(module: str) -> list[str]:
    """Return the files, inside the package, that the kernels of a module are made from."""
    known, todo = set(), [PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")]
    while todo:
        each = todo.pop()
        if each not in known:
            known.add(each)
            todo += _imports(each)
    known.update(PACKAGE / "native" / name for name in _MAKERS)
    return sorted(path.relative_to(PACKAGE).as_posix() for path in known)


@functools.cache
def _imports(file: Path) -> tuple[Path, ...]:
    """Return the stamped files that a file names in its imports."""
    stamped, found = set(stamped_files()), set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if not isinstance(node, ast.ImportFrom) or (node.level == 0 and not (node.module or "").startswith("holonomic")):
            continue
        base = file.parents[node.level - 1] if node.level else PACKAGE.parent
        place = base.joinpath(*(node.module or "").split(".")) if node.module else base
        found.update({place.with_suffix(".py"), place / "__init__.py", *(place / f"{each.name}.py" for each in node.names)})
    return tuple(sorted(found & stamped))
